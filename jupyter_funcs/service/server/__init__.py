"""The commands `serve`, `token` and `admin`. May import everything of the service."""

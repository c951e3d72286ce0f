"""The configuration file and a team's own data. May import `web` and below."""

"""The built-in functions and the demo's synthetic data. May import `web` and below."""

"""The widget. May import `records` and below."""

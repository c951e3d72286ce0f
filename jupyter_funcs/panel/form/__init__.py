"""The form of the panel, and its controls."""

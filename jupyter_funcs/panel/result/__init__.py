"""The result of a run in the panel, tab by tab."""

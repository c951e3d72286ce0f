"""The chart of a result, and its code."""

"""A Python callable as a catalog entry: its parameters, its values and its result. May import `core`."""

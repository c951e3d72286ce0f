"""History, presets, favourites and the lock. May import `sweeps` and below."""

"""A reply becomes a DataFrame; export, Parquet, comparison, display. May import `core`."""

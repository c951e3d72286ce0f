"""Where queries run: DuckDB, and other engines by URL. May import nothing else of the service."""

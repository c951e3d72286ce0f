"""Where queries run: DuckDB, and other engines by URL. May import `service.messages`."""

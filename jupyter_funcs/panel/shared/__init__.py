"""What several parts of the panel use."""

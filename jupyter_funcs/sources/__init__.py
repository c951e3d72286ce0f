"""Where a catalog comes from and where its functions run. May import `connection`, `catalog`, `frames` and below."""

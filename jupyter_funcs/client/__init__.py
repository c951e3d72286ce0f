"""One catalog, one function, one job; listed choices and the cache. May import `sources` and below."""

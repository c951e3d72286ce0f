"""The HTTP interface: requests, limits, runs, the OpenAPI document. May import `publishing` and below."""

"""Many runs of one function, and one table. May import `client` and below."""

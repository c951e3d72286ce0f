"""Published functions: parameters, notebooks, results. May import `accounts`, `engine` and below."""

"""`%funcs`, `%%funcs` and Tab. May import `api` and below."""

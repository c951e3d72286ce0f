"""Who may call what: users, grants, passwords, API keys, tokens. May import nothing else of the service."""

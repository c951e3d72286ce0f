"""`jupyter funcs`: the commands, stubs, the MCP server. May import `api`, `service` and below."""

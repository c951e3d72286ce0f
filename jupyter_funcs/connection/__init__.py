"""Where requests go and with which token; one request out, one reply in; retries. Imports only `core`."""

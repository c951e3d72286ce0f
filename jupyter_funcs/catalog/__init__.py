"""A listing becomes functions, parameters, fields, forms and arguments. May import `core`."""

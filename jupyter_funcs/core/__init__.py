"""Errors, text, files, the background loop and JSON decoding. Imports no other package of jupyter_funcs."""

"""The error for a bad set-up of the service."""


class SetupError(Exception):
    """
    A configuration, folder, port, engine or account that can't be used as it is.

    The message has one to three lines: what is wrong, with the value, and what to do next.
    """

"""What an operator must mend before the service can start, or before a command of its can do its work."""

from __future__ import annotations


class SetupError(Exception):
    """
    A configuration, folder, port, engine or account that cannot be used as it is.

    Its text is one to three lines: what is wrong, with the value, and what to do next.
    """

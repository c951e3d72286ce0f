"""Asking the person for what they alone know; in a notebook, a terminal, and where there is nobody to ask."""

from __future__ import annotations

import getpass
import sys
import warnings
from typing import TYPE_CHECKING

from jupyter_funcs.errors import ConfigError
from jupyter_funcs.secret import Hidden

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.errors import FuncsError


def ask(prompt: str, what: str, otherwise: FuncsError | None = None) -> str:
    """
    Ask for a text that may be seen.

    Parameters
    ----------
    prompt
        What is shown before it.
    what
        What is asked for, for messages.
    otherwise
        What is raised where there is nobody to ask.

    Raises
    ------
    FuncsError
        There is nobody to ask, or they gave nothing.
    """
    return _asked(lambda: input(prompt), what, otherwise).reveal().strip()


def ask_hidden(prompt: str, what: str, otherwise: FuncsError | None = None) -> Hidden:
    """Ask for a text that is not shown; as `ask`."""
    # By its module: ipykernel puts its own in place there while a cell runs.
    return _asked(lambda: getpass.getpass(prompt), what, otherwise)


def _asked(show: Callable[[], str], what: str, otherwise: FuncsError | None) -> Hidden:
    try:
        with warnings.catch_warnings():
            # Where it cannot be hidden it is not asked for.
            warnings.simplefilter("error", getpass.GetPassWarning)
            given = Hidden(show())
    except (EOFError, OSError, NotImplementedError, getpass.GetPassWarning):  # the front end's refusal is the third
        given = None
    if given is None:
        raise otherwise or ConfigError(
            f"There is nobody here to ask for {what}.", "Give the token in another way, as by token_env in the profile."
        )
    if not given.reveal().strip():
        raise ConfigError(f"Nothing was given for {what}.", "Try again.")
    return given


def password_of(who: str) -> Hidden:
    """Ask for the password, or read it from the first line of a standard input that is no terminal's."""
    if sys.stdin is not None and not sys.stdin.isatty():
        given = Hidden(sys.stdin.readline().rstrip("\r\n"))
        if given.reveal():
            return given
    return ask_hidden(f"Password of {who}: ", f"the password of {who}")

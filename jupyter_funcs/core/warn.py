"""Warnings that point at the user's line and never contain a token."""

from __future__ import annotations

import sys
import threading
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Applied to each warning; set to mask the token while a reply that may repeat it is read.
redactor: ContextVar[Callable[[str], str]] = ContextVar("redactor", default=str)
_collected: ContextVar[list[UserWarning] | None] = ContextVar(
    "_collected", default=None
)
_format_lock = threading.Lock()


class MissingRowsWarning(UserWarning):
    """Rows of a result are missing, or may be; ``%funcs -q`` shows it too."""


@contextmanager
def collect_warnings(warned: list[UserWarning]) -> Iterator[None]:
    """Append warnings to `warned` instead of showing them, also those of tasks and threads started here."""
    token = _collected.set(warned)
    try:
        yield
    finally:
        _collected.reset(token)


def warn_all(warned: list[UserWarning]) -> None:
    """Show collected warnings and remove them from the list."""
    while warned:
        warn(warned.pop(0))


def warn(warning: str | UserWarning) -> None:
    """Warn at the line that called this package, or add the warning to those being collected."""
    category = UserWarning
    if isinstance(warning, UserWarning):
        category = type(warning)
    text = redactor.get()(str(warning))
    collected = _collected.get()
    if collected is not None:
        collected.append(category(text))
        return

    # `skip_file_prefixes` does this from Python 3.12 on.
    level = 1
    frame = sys._getframe()  # noqa: SLF001  # as the warnings module does
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in {
        "jupyter_funcs",
        "IPython",
    }:
        level += 1
        frame = frame.f_back

    if (
        frame.f_globals.get("__name__") != "__main__"
        or "get_ipython" not in frame.f_globals
    ):
        warnings.warn(text, category, stacklevel=level)
        return

    # In a notebook the cell is right above; the name of its temporary file and its translated line only add noise.
    with _format_lock:
        before = warnings.formatwarning
        warnings.formatwarning = format_short
        try:
            warnings.warn(text, category, stacklevel=level)
        finally:
            warnings.formatwarning = before


def format_short(
    message: Warning | str, category: type[Warning], *_: object, **__: object
) -> str:
    """Format a warning without its file and line; replaces `warnings.formatwarning`."""
    return f"{category.__name__}: {message}\n"

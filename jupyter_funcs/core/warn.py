"""Warnings, said at the line of the person's that they are about, and never with a token."""

from __future__ import annotations

import sys
import threading
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What a warning goes through that quotes a reply; whoever knows the token takes it out.
cleaned: ContextVar[Callable[[str], str]] = ContextVar("cleaned", default=str)
_kept: ContextVar[list[str] | None] = ContextVar("_kept", default=None)
_said_plainly = threading.Lock()


@contextmanager
def kept_in(texts: list[str]) -> Iterator[None]:
    """Keep the warnings of what is started within, on whatever thread it goes on, for the one who waits for it."""
    before = _kept.set(texts)
    try:
        yield
    finally:
        _kept.reset(before)


def say(texts: list[str]) -> None:
    """Warn of each of the texts, and take it out."""
    while texts:
        warn(texts.pop(0))


def warn(text: str) -> None:
    """Warn at the line that called this package, since Python shows a warning once a line; or keep it for that."""
    text = cleaned.get()(text)
    kept = _kept.get()
    if kept is not None:
        kept.append(text)
        return
    level, frame = 1, sys._getframe()  # noqa: SLF001  # as warnings does, which cannot skip a package before 3.12
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in {__package__, "IPython"}:
        level, frame = level + 1, frame.f_back
    if frame.f_globals.get("__name__") != "__main__" or "get_ipython" not in frame.f_globals:
        warnings.warn(text, UserWarning, stacklevel=level)
        return
    # A cell stands above what it shows: its file's made-up name, and what IPython made of its line, say nothing more.
    with _said_plainly:
        before, warnings.formatwarning = warnings.formatwarning, plain
        try:
            warnings.warn(text, UserWarning, stacklevel=level)
        finally:
            warnings.formatwarning = before


def plain(message: Warning | str, category: type[Warning], *_: object, **__: object) -> str:
    """Give a warning without the line of code that it is about, as `warnings.formatwarning`."""
    return f"{category.__name__}: {message}\n"

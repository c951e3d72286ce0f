"""
What the error messages of functions and of the service are made of: quoted values and suggestions.

Unlike the texts of `core.text`, which a person reads in a notebook, they go to other programs: white space stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_funcs.core.text import clip, meant, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST_QUOTED = 60


def quoted(value: object) -> str:
    """Return a value in single quotes, with control characters escaped; a long one is cut."""
    return f"'{inert(clip(str(value), _LONGEST_QUOTED))}'"


def inert(text: str) -> str:
    """Escape control characters and all else that a terminal wouldn't print; white space stays as it is."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def listed(values: Iterable[object]) -> str:
    """Join quoted values: ``'a', 'b', 'c'``."""
    return ", ".join(map(quoted, values))


def did_you_mean(value: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` with a leading space, or an empty string when no known name is close."""
    near = nearest(value, known, 1)
    return f" {meant(near)}" if near else ""

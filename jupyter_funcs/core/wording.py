"""What the error messages of functions and of the service are made of: quoted values and suggestions."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Comparing two long strings takes quadratic time, and a caller may send a megabyte.
_LONGEST_COMPARED = 100
_LONGEST_QUOTED = 60


def quoted(value: object) -> str:
    """Return a value in single quotes, with control characters escaped; a long one is cut."""
    text = str(value)
    shown = inert(text[:_LONGEST_QUOTED])
    return f"'{shown}…'" if len(text) > _LONGEST_QUOTED else f"'{shown}'"


def inert(text: str) -> str:
    """Escape control characters and all else that a terminal wouldn't print."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def listed(values: Iterable[object]) -> str:
    """Join quoted values: ``'a', 'b', 'c'``."""
    return ", ".join(quoted(value) for value in values)


def did_you_mean(value: str, known: Sequence[str]) -> str:
    """Return `` Did you mean 'x'?`` with a leading space, or an empty string when no known name is close."""
    if len(value) > _LONGEST_COMPARED:
        return ""
    by_folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(value.casefold(), by_folded, n=1, cutoff=0.6)
    return f" Did you mean {quoted(by_folded[near[0]])}?" if near else ""

"""Examples: how many of them a property is tried on, and how a row of a table is named."""

from __future__ import annotations

import os
import re

# A tenth of the examples is tried usually, all of them with FUNCS_EXAMPLES=all.
_ADDRESS = re.compile(" at 0x[0-9a-f]+")
_ALL = os.environ.get("FUNCS_EXAMPLES") == "all"


def examples(number: int) -> int:
    """Return how many of a number of examples this run tries, at least ten."""
    return number if _ALL else min(number, max(10, number // 10))


def row_id(value: object) -> str:
    """Return a name for a row of a table: its text, or how Python writes it, in ASCII, a long one shortened."""
    text = value if isinstance(value, str) else _ADDRESS.sub("", repr(value))
    text = text.encode("unicode_escape").decode("ascii")
    if len(text) > 60:
        return f"{text[:40]}..{text[-18:]}"
    return text or "nothing"

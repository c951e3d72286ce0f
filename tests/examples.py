"""How many examples a property is tried on: a tenth of them usually, all of them with ``FUNCS_EXAMPLES=all``."""

from __future__ import annotations

import os

_ALL = os.environ.get("FUNCS_EXAMPLES") == "all"


def examples(number: int) -> int:
    """Return how many of a number of examples this run tries, at least ten."""
    return number if _ALL else min(number, max(10, number // 10))

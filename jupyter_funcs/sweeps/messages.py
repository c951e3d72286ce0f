"""Texts about a sweep: its progress, its failed runs, and how to continue."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from jupyter_funcs.client.status import span
from jupyter_funcs.core.progress import Progress, SweepProgress

if TYPE_CHECKING:
    import pandas as pd

_MAX_ITEMS = 20


def cached_text(number: int, oldest: float | str | None) -> str:
    """Return how many results are from the cache, and the age of the oldest (seconds since 1970, or an ISO time)."""
    if isinstance(oldest, str):
        import datetime as dt

        oldest = dt.datetime.fromisoformat(oldest).timestamp()
    age = f" ({span(time.time() - oldest)} old)" if oldest else ""
    return f"{number:,} from the cache{age}"


def one_cached_text(frame: pd.DataFrame) -> str:
    """Return the age of a single run's cached result; empty if it isn't from the cache."""
    since = frame.attrs.get("funcs", {}).get("cached")
    return cached_text(1, since).removeprefix("1 ") if isinstance(since, str) else ""


def stopped_text(progress: Progress) -> str:
    """Return what a cancelled run or sweep has done."""
    if not isinstance(progress, SweepProgress):
        return "Cancelled. The service may still finish the run."
    text = f"Cancelled after {progress.done:,} of {progress.total:,} runs."
    return text + " Press Run to continue." * (progress.done > 0)


def asks_text(runs: int, most: int) -> str:
    """Return the question before a large sweep."""
    text = f"This is {runs:,} runs, more than {most:,}." if most else f"This changes data, in {runs:,} runs."
    return f"{text} Press Run again to continue, or sweep fewer values."


def value_text(value: Any) -> str:
    """Return an argument as text; of a long list, the first values and how many more there are."""
    if not isinstance(value, list):
        return "" if value is None else str(value)
    shown = [f"[{', '.join(map(str, item))}]" if isinstance(item, list) else str(item) for item in value[:_MAX_ITEMS]]
    more = [f"and {len(value) - _MAX_ITEMS:,} more"] * (len(value) > _MAX_ITEMS)
    return ", ".join([*shown, *more])

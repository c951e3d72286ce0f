"""Texts about a sweep: its progress, its failed runs, and how to continue."""

from __future__ import annotations

import html
import time
from typing import TYPE_CHECKING, Any

from jupyter_funcs.client.status import span
from jupyter_funcs.core.text import clip, inert
from jupyter_funcs.frames.display import shape_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from jupyter_funcs.core.progress import SweepProgress

_MAX_FAILED = 50
_MAX_ITEMS = 20
_MAX_CHARACTERS = 200
# Seconds before a rate is meaningful.
_FIRST_RATE = 1.0


def going_html(progress: SweepProgress, elapsed: float, name: str) -> str:
    """Return a sweep's progress bar and numbers."""
    ended = progress.done + progress.failed
    parts = [f"Running{f' {name}' if name else ''}… {ended:,} of {progress.total:,} runs"]
    parts += [f"{progress.failed:,} failed"] * (progress.failed > 0)
    parts += [cached_text(progress.cached, progress.oldest)] * (progress.cached > 0)
    answered = ended - progress.cached
    if answered and elapsed >= _FIRST_RATE:
        rate = answered / elapsed
        parts.append(f"{rate:,.1f}/s" if rate >= 1 else f"{60 * rate:,.1f}/min")
        parts.append(f"{duration_text((progress.total - ended) / rate)} left")
    else:
        parts.append(f"{elapsed:.0f} s")
    bar = f'<progress class="jf-progress" max="{progress.total}" value="{ended}" aria-label="Runs"></progress>'
    waiting = progress.waiting
    why = f'<br><span class="jf-bad">{_escaped(waiting[:1].upper() + waiting[1:])}</span>' if waiting else ""
    return f"{bar}{html.escape(' · '.join(parts))}{why}"


def ended_text(frame: pd.DataFrame, elapsed: float) -> str:
    """Return the shape, runs and duration of a finished sweep."""
    about = frame.attrs.get("funcs", {})
    runs, cached = about.get("runs", 0), about.get("cached", {})
    parts = [f"{shape_text(frame)} from {runs:,} run{'s' * (runs != 1)}", f"{elapsed:.2f} s"]
    if number := cached.get("runs", 0):
        parts.append(cached_text(number, cached.get("oldest")))
    return " · ".join(parts)


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


def failed_html(frame: pd.DataFrame, variable: str) -> str:
    """Return a collapsed table of the failed runs, with their arguments and errors."""
    errors, about = frame.attrs.get("errors", []), frame.attrs.get("funcs", {})
    if not errors:
        return ""
    swept: Sequence[str] = about.get("swept", ())
    head = "".join(f'<th scope="col">{_escaped(name)}</th>' for name in (*swept, "Why", "Attempts"))
    rows = "".join(
        "<tr>"
        + "".join(f"<td>{_escaped(value_text(error['args'].get(name)))}</td>" for name in swept)
        + f'<td>{_escaped(error["error"])}</td><td class="jf-n">{error["attempts"]:,}</td></tr>'
        for error in errors[:_MAX_FAILED]
    )
    more = len(errors) - _MAX_FAILED
    rest = f"<p>And {more:,} more.</p>" if more > 0 else ""
    total = about.get("runs", len(errors))
    return (
        f'<details class="jf-details jf-failed"><summary><span class="jf-bad">{len(errors):,} of {total:,} runs '
        "failed</span>: see which and why</summary>"
        f'<div class="jf-scroll" tabindex="0" role="region" aria-label="Runs that failed">'
        f'<table class="jf-table"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{rest}'
        f"<p><code>{html.escape(variable)}.attrs[&quot;errors&quot;]</code> lists them. "
        "Run repeats all runs whose results aren't in the cache.</p></details>"
    )


def stopped_text(progress: SweepProgress) -> str:
    """Return what a cancelled sweep has done."""
    text = f"Cancelled after {progress.done:,} of {progress.total:,} runs."
    return text + " Press Run to continue." * (progress.done > 0)


def asks_text(runs: int, most: int) -> str:
    """Return the question before a large sweep."""
    text = f"This is {runs:,} runs, more than {most:,}." if most else f"This changes data, in {runs:,} runs."
    return f"{text} Press the Run button again to continue, or sweep fewer values."


def duration_text(seconds: float) -> str:
    """Return a duration: ``12 s``, ``3 min``, ``1 h 5 min``."""
    if seconds < 99.5:  # from here on, rounding shows minutes
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60:,} h {minutes % 60} min"


def value_text(value: Any) -> str:
    """Return an argument as text; of a long list, the first values and how many more there are."""
    if not isinstance(value, list):
        return "" if value is None else str(value)
    shown = [f"[{', '.join(map(str, item))}]" if isinstance(item, list) else str(item) for item in value[:_MAX_ITEMS]]
    more = [f"and {len(value) - _MAX_ITEMS:,} more"] * (len(value) > _MAX_ITEMS)
    return ", ".join([*shown, *more])


def _escaped(text: object) -> str:
    return html.escape(clip(inert(str(text)), _MAX_CHARACTERS))

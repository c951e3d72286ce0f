"""What a panel says of a sweep: how far it has come, which of its runs failed, and how to go on."""

from __future__ import annotations

import html
import time
from typing import TYPE_CHECKING, Any

from jupyter_funcs.status import span
from jupyter_funcs.text import clip, inert
from jupyter_funcs.view import shape_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from jupyter_funcs.progress import SweepProgress

_MOST_FAILED = 50
_MOST_ITEMS = 20
_LONGEST = 200
# Before so many seconds have passed a rate says nothing.
_FIRST_RATE = 1.0


def going_html(progress: SweepProgress, elapsed: float, name: str) -> str:
    """
    Say how far a sweep has come.

    Parameters
    ----------
    progress
        How far that is.
    elapsed
        Seconds since it began.
    name
        The function's, where another one is on the screen.
    """
    ended = progress.done + progress.failed
    said = [f"Running{f' {name}' if name else ''}… {ended:,} of {progress.total:,} runs"]
    said += [f"{progress.failed:,} failed"] * (progress.failed > 0)
    said += [cached_text(progress.cached, progress.oldest)] * (progress.cached > 0)
    answered = ended - progress.cached
    if answered and elapsed >= _FIRST_RATE:
        rate = answered / elapsed
        said.append(f"{rate:,.1f} a second" if rate >= 1 else f"{60 * rate:,.1f} a minute")
        said.append(f"{duration_text((progress.total - ended) / rate)} left")
    else:
        said.append(f"{elapsed:.0f} s")
    bar = f'<progress class="jf-progress" max="{progress.total}" value="{ended}" aria-label="Runs"></progress>'
    why = f'<br><span class="jf-bad">{_shown(_sentence(progress.waiting))}</span>' if progress.waiting else ""
    return f"{bar}{html.escape(' · '.join(said))}{why}"


def ended_text(frame: pd.DataFrame, elapsed: float) -> str:
    """Say what came of a sweep whose table this is."""
    told = frame.attrs.get("funcs", {})
    runs, cached = told.get("runs", 0), told.get("cached", {})
    said = [f"{shape_text(frame)} from {runs:,} run{'s' * (runs != 1)}", f"{elapsed:.2f} s"]
    if number := cached.get("runs", 0):
        said.append(cached_text(number, cached.get("oldest")))
    return " · ".join(said)


def cached_text(number: int, oldest: float | str | None) -> str:
    """Say how many results came from the cache, and how old the oldest is: from 1970, or as an ISO time."""
    if isinstance(oldest, str):
        import datetime as dt  # noqa: PLC0415  # for this alone

        oldest = dt.datetime.fromisoformat(oldest).timestamp()
    age = f" ({span(time.time() - oldest)} old)" if oldest else ""
    return f"{number:,} from the cache{age}"


def one_cached_text(frame: pd.DataFrame) -> str:
    """Say that the result of a single run came from the cache, and how old it is; empty where it did not."""
    since = frame.attrs.get("funcs", {}).get("cached")
    return cached_text(1, since).removeprefix("1 ") if isinstance(since, str) else ""


def failed_html(frame: pd.DataFrame, variable: str) -> str:
    """
    Give the runs that failed as a table to unfold: which arguments, and why.

    Parameters
    ----------
    frame
        The table of the sweep.
    variable
        What holds it, as code.
    """
    errors, told = frame.attrs.get("errors", []), frame.attrs.get("funcs", {})
    if not errors:
        return ""
    swept: Sequence[str] = told.get("swept", ())
    head = "".join(f'<th scope="col">{_shown(name)}</th>' for name in (*swept, "Why", "Attempts"))
    rows = "".join(
        "<tr>"
        + "".join(f"<td>{_shown(value_text(error['args'].get(name)))}</td>" for name in swept)
        + f'<td>{_shown(error["error"])}</td><td class="jf-n">{error["attempts"]:,}</td></tr>'
        for error in errors[:_MOST_FAILED]
    )
    more = len(errors) - _MOST_FAILED
    rest = f"<p>And {more:,} more.</p>" if more > 0 else ""
    total = told.get("runs", len(errors))
    return (
        f'<details class="jf-details jf-failed"><summary><span class="jf-bad">{len(errors):,} of {total:,} runs '
        "failed</span>: see which and why</summary>"
        f'<div class="jf-scroll" tabindex="0" role="region" aria-label="Runs that failed">'
        f'<table class="jf-table"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{rest}'
        f"<p><code>{html.escape(variable)}.attrs[&quot;errors&quot;]</code> holds them. "
        "Run sends them again; what is in the cache by now is not sent again.</p></details>"
    )


def stopped_text(progress: SweepProgress) -> str:
    """Say what is left of a sweep that was cancelled."""
    came = f"{progress.done:,} of {progress.total:,} runs have come"
    return f"Cancelled: {came} and are kept. Run goes on from there." if progress.done else f"Cancelled: {came}."


def asks_text(runs: int, most: int) -> str:
    """Ask about a sweep of very many runs."""
    return f"These are {runs:,} runs, more than {most:,}. Press Run {runs:,} times once more to go on, or sweep fewer."


def duration_text(seconds: float) -> str:
    """Give a time in words: ``12 s``, ``3 min``, ``1 h 5 min``."""
    if seconds < 99.5:  # then it reads as minutes
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60:,} h {minutes % 60} min"  # as above


def value_text(value: Any) -> str:
    """Give an argument as people read it: of several values how many, and the first."""
    if not isinstance(value, list):
        return "" if value is None else str(value)
    shown = [f"[{', '.join(map(str, item))}]" if isinstance(item, list) else str(item) for item in value[:_MOST_ITEMS]]
    more = [f"and {len(value) - _MOST_ITEMS:,} more"] * (len(value) > _MOST_ITEMS)
    return ", ".join([*shown, *more])


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _shown(text: object) -> str:
    return html.escape(clip(inert(str(text)), _LONGEST))

"""What is known of a run: what was asked, when, how long it took, how much came, and what the columns are."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core.text import clip, inert, size_text
from jupyter_funcs.frames.display import shape_text
from jupyter_funcs.sweeps.messages import cached_text, one_cached_text, value_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from jupyter_funcs.panel.shared.outcome import Outcome

_MOST_COLUMNS = 200
_LONGEST = 400
# Beyond so many values the memory of texts is an estimate: each would be looked at.
_MOST_MEASURED = 5_000_000


def facts_html(facts: Iterable[tuple[str, str]]) -> str:
    """Give facts as a table, each with its name."""
    rows = "".join(f'<tr><th scope="row">{_shown(name)}</th><td>{_shown(text)}</td></tr>' for name, text in facts)
    return f'<table class="jf-facts"><tbody>{rows}</tbody></table>'


def about_html(outcome: Outcome) -> str:
    """Give what is known of a run as two tables: the facts, and the columns with their types."""
    frame, told = outcome.frame, outcome.frame.attrs.get("funcs", {})
    is_measured = frame.size <= _MOST_MEASURED
    memory = size_text(int(frame.memory_usage(deep=is_measured).sum()))
    facts: list[tuple[str, str]] = [
        ("Function", outcome.function.name),
        *((f"· {name}", _argument(name, outcome)) for name in outcome.args),
        ("Service", outcome.function.session.service + " · synthetic data" * outcome.function.synthetic),
        ("Started", f"{outcome.started:%Y-%m-%d %H:%M:%S} UTC"),
        ("Took", f"{outcome.elapsed:.2f} s"),
    ]
    if outcome.swept:
        facts.append(("Runs", _runs(frame)))
    elif said := one_cached_text(frame):
        facts.append(("Result of", f"{told['cached']}, {said}"))
    if isinstance(attempts := told.get("attempts"), int):
        facts.append(("Attempts", str(attempts)))
    size = told.get("bytes", None if outcome.reply is None else len(outcome.reply))
    if isinstance(size, int):
        facts.append(("Reply", size_text(size)))
    facts += [
        ("Result", f"{shape_text(frame)}, {'' if is_measured else 'at least '}{memory} in memory"),
        *((name.capitalize(), value_text(told[name])) for name in ("shape", "retrievalTime") if name in told),
    ]
    for warning in told.get("warnings", ()):
        facts.append(("Warning", str(warning)))
    if outcome.variable:
        facts.append(("Variable", outcome.variable))
    return facts_html(facts) + _columns(frame)


def _columns(frame: pd.DataFrame) -> str:
    if not frame.shape[1]:
        return ""
    lines = []
    measured = frame.size <= _MOST_MEASURED
    for at in range(min(frame.shape[1], _MOST_COLUMNS)):
        column: pd.Series[Any] = frame.iloc[:, at]
        size = size_text(int(column.memory_usage(index=False, deep=measured)))
        known = f"{int(column.notna().sum()):,}"
        lines.append(
            f"<tr><td>{_shown(frame.columns[at])}</td><td>{_shown(column.dtype)}</td>"
            f'<td class="jf-n">{known}</td><td class="jf-n">{size}</td></tr>'
        )
    hidden = frame.shape[1] - len(lines)
    more = f'<div class="jf-quiet">… {hidden:,} more columns</div>' if hidden else ""
    head = '<th scope="col">Column</th><th scope="col">Type</th>'
    head += '<th scope="col" class="jf-n">Not null</th><th scope="col" class="jf-n">Memory</th>'
    table = f'<table class="jf-table"><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table>'
    return f'<div class="jf-scroll" tabindex="0" role="region" aria-label="Columns">{table}</div>{more}'


def _argument(name: str, outcome: Outcome) -> str:
    value = outcome.args[name]
    return f"{len(value):,} values: {value_text(value)}" if name in outcome.swept else value_text(value)


def _runs(frame: pd.DataFrame) -> str:
    told = frame.attrs.get("funcs", {})
    said = [f"{told.get('runs', 0):,}", f"{told.get('failed', 0):,} failed"]
    cached = told.get("cached", {})
    if number := cached.get("runs", 0):
        said.append(cached_text(number, cached.get("oldest")))
    return ", ".join(said)


def _shown(value: object) -> str:
    return html.escape(clip(inert(str(value)[: 4 * _LONGEST]), _LONGEST))

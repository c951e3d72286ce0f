"""The words for a run of the history: its line, what is known of it, how it differs from another. No widget here."""

from __future__ import annotations

import datetime as dt
import html
from typing import TYPE_CHECKING, Any

import pandas as pd

from jupyter_funcs.comparing import CHANGE, diff
from jupyter_funcs.each import Each
from jupyter_funcs.errors import ArgumentError
from jupyter_funcs.fields import Kind
from jupyter_funcs.text import clip, inert, listed
from jupyter_funcs.view import bad_html, shape_text, table_html

if TYPE_CHECKING:
    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.outcome import Outcome
    from jupyter_funcs.run import Run

_LONGEST_NAME, _LONGEST_VALUE = 40, 200
_MOST_ITEMS = 20


def line_of(run: Run) -> str:
    """Give a run in one line: number, time, function, what became of it, and the arguments, which may be long."""
    began = run.started.astimezone()
    when = f"{began:%H:%M:%S}" if began.date() == dt.datetime.now().astimezone().date() else f"{began:%Y-%m-%d %H:%M}"
    rows = [f"{run.rows:,} row{'s' * (run.rows != 1)}"] if run.rows is not None else []
    ended = [*rows, f"{run.elapsed:.2f} s"] if run.status == "done" else [run.status]
    failed = [inert(run.error).rstrip(".")] if run.status == "done" and run.error else []
    times = f" {run.runs:,} times" if run.is_sweep else ""
    name = f"{clip(inert(run.function), _LONGEST_NAME)}{times}"
    said = [run.label, when, name, *ended, *failed, inert(run.arguments)]
    return " · ".join(part for part in said if part)


def run_html(run: Run) -> str:
    """Give what is known of a run as a table of facts."""
    facts: list[tuple[str, str]] = [
        (f"Run {run.label}", run.function + (f", {run.runs:,} runs" if run.is_sweep else "")),
        *((f"· {name}", _value(value)) for name, value in run.args.items()),
        ("Started", f"{run.started:%Y-%m-%d %H:%M:%S} UTC"),
    ]
    if run.status == "done":
        facts.append(("Took", f"{run.elapsed:.2f} s"))
        if run.rows is not None:
            held = f", held by {run.variable}" if run.variable else ""
            facts.append(("Result", f"{run.rows:,} row{'s' * (run.rows != 1)}{held}"))
    else:
        facts.append(("Ended", run.status) if run.status != "running" else ("", "running"))
    if run.error:
        facts.append(("Error", run.error))
    rows = "".join(f'<tr><th scope="row">{_shown(name)}</th><td>{_shown(text)}</td></tr>' for name, text in facts)
    return f'<table class="jf-facts"><tbody>{rows}</tbody></table>'


def trouble_with(run: Run, frame: Any, outcome: Outcome) -> str:
    """Say why a run cannot be compared with the result that is shown; empty where it can."""
    if run.function != outcome.function.name:
        return f"Run {run.label} is of {run.function}, and the result shown of {outcome.function.name}."
    if frame is None:
        what = "gave no result" if run.status != "done" else "has a result that is no longer held"
        return f"Run {run.label} {what}: run it again, and compare what it gives then."
    if frame is outcome.frame:
        return f"Run {run.label} gave the result that is shown: choose another one."
    if not isinstance(frame, pd.DataFrame) or not isinstance(outcome.frame, pd.DataFrame):
        return "A dataset in a folder is not compared here: read from it what is to be compared by jf.diff."
    return ""


def _connected(outcome: Outcome) -> str:
    # As it can be pasted: a notebook need have no session under a name of its own.
    where = outcome.function.session.where
    return f"jf.connect({where!r})" if where else "jf.connect()"


def compared_html(run: Run, frame: pd.DataFrame, outcome: Outcome) -> str:
    """Say how the earlier of two results differs from the later one: in numbers, and as a table of the rows."""
    is_before = run.started <= outcome.started
    shown = "the result shown"
    names = (f"run {run.label}", shown) if is_before else (shown, f"run {run.label}")
    before, after = (frame, outcome.frame) if is_before else (outcome.frame, frame)
    args = (run.args, outcome.args) if is_before else (outcome.args, run.args)
    said = [f"From {names[0]} to {names[1]}: "]
    if other := _differing(*args):
        said.append(f"other arguments ({other}); ")
    held = f"{_connected(outcome)}.history.get({run.number if run.label == str(run.number) else run.label!r}).frame"
    pair = (held, outcome.variable or "panel.result()")
    code = f"import jupyter_funcs as jf; jf.diff({', '.join(pair if is_before else pair[::-1])})"
    try:
        changes = diff(before, after)
    except ArgumentError as error:
        hint = f"<br><code>{html.escape(code[:-1])}, keys=[…])</code> compares them by the columns that you name."
        return bad_html([error.what]) + hint
    counts = changes[CHANGE].value_counts()
    kinds = [kind for kind in ("added", "removed", "changed") if kind in counts]
    found = [f"{counts[kind]:,} {kind}" for kind in kinds]
    if not found:
        said.append(f"no difference, {shape_text(after)}.")
        return f'<div class="jf-quiet">{html.escape("".join(said))}</div>'
    rows = f"row{'s' * (counts[kinds[0]] != 1)} {kinds[0]}"  # 3 rows added, 1 removed and 2 changed
    found[0] = found[0].replace(kinds[0], rows)
    said.append(f"{listed(found, 'and')}, of {len(before):,} before and {len(after):,} after.")
    table = f'<div class="jf-scroll" tabindex="0" role="region" aria-label="Differences">{table_html(changes)}</div>'
    all_of_it = f'<div class="jf-quiet"><code>{html.escape(code)}</code> gives these as a DataFrame.</div>'
    return f"<div>{html.escape(''.join(said))}</div>{table}{all_of_it}"


def values_of(run: Run, function: RemoteFunction) -> dict[str, Any]:
    """
    Give the values with which a form runs a run again: of a sweep, several for each swept parameter.

    Raises
    ------
    ArgumentError
        No form can: it was a sweep of pairs or of a table, or its arguments were not kept.
    """
    again = f"%funcs again {run.label} runs it."
    if not run.is_whole:
        raise ArgumentError(f"The arguments of run {run.label} were not kept.", "Give them anew.")
    if not run.is_sweep:
        return dict(run.args)
    lists = {field.name for field in function.fields if field.kind is Kind.LIST}
    values: dict[str, Any] = {}
    runs = 1
    for name, value in run.args.items():
        swept = isinstance(value, list) and (name not in lists or any(isinstance(item, list) for item in value))
        values[name] = Each(tuple(value)) if swept else value
        runs *= len(value) if swept else 1
    if run.pairs or runs != run.runs:
        raise ArgumentError(f"Run {run.label} took its values in pairs or from a table; a form cannot.", again)
    return values


def _differing(before: dict[str, Any], after: dict[str, Any]) -> str:
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return "; ".join(
        f"{clip(inert(name), _LONGEST_NAME)}: {_value(before.get(name))}, then {_value(after.get(name))}"
        for name in names
    )


def _value(value: Any) -> str:
    if value is None:
        return "not sent"
    if not isinstance(value, list):
        return clip(inert(str(value)), _LONGEST_VALUE)
    more = f" and {len(value) - _MOST_ITEMS:,} more" * (len(value) > _MOST_ITEMS)
    return clip(", ".join(_value(item) for item in value[:_MOST_ITEMS]), _LONGEST_VALUE) + more


def _shown(value: object) -> str:
    return html.escape(clip(inert(str(value)), 2 * _LONGEST_VALUE))

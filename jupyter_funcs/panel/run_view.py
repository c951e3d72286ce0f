"""A run in the panel: how far it is, what came of it, why it failed, and what stays of it in a saved notebook."""

from __future__ import annotations

import html
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from jupyter_funcs.catalog.values import Each, Variable, only
from jupyter_funcs.client import snippets
from jupyter_funcs.core.errors import ArgumentError, FuncsError
from jupyter_funcs.core.progress import SweepProgress
from jupyter_funcs.core.text import clip, inert
from jupyter_funcs.frames.display import ends, shape_text, table_html
from jupyter_funcs.panel.chart_svg import svg
from jupyter_funcs.sweeps.job import status_text
from jupyter_funcs.sweeps.messages import cached_text, one_cached_text, stopped_text, value_text

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from jupyter_funcs.catalog.form import Form
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.client.jobs import Job
    from jupyter_funcs.panel.result_view import Outcome, ResultView

_MOST_FAILED = 100
_MOST_IN_CODE = 1_000  # values
_LONGEST, _LONGEST_DETAILS = 300, 4_000
# Of a result in the saved notebook: rows at the top, and as many at the end; columns; characters.
_MOST_KEPT, _MOST_COLUMNS, _LONGEST_TABLE, _LONGEST_VALUE = 5, 12, 60_000, 400


def running_view(job: Job) -> dict[str, Any]:
    """Return how far a run is; the page counts the seconds on."""
    progress = job.progress
    sweep = progress if isinstance(progress, SweepProgress) else None
    alone = f"attempt {progress.attempts}" if progress.attempts > 1 else progress.said
    return {
        "name": clip(inert(job.function), _LONGEST),
        # The same all through the first second, or the run and the result before it would be sent again.
        "elapsed": round(job.elapsed, 1) if job.elapsed >= 1 else 0.0,
        "bytes": progress.received if job.elapsed >= 1 else 0,
        "done": sweep.done + sweep.failed if sweep else 0,
        "of": sweep.total if sweep else 1,
        "note": status_text(sweep) if sweep else alone,
    }


def about_result(job: Job, frame: pd.DataFrame) -> dict[str, Any]:
    """Return what is said of a result: its summary in one line, the runs that have failed, and its warnings."""
    cached = one_cached_text(frame)
    if isinstance(job.progress, SweepProgress):
        told = frame.attrs.get("funcs", {}).get("cached", {})
        cached = cached_text(told["runs"], told.get("oldest")) if told.get("runs") else ""
    return {
        "summary": " · ".join(filter(None, [shape_text(frame), f"{job.elapsed:.2f} s", cached])),
        "partial": _partial(frame, job),
        "warnings": [clip(inert(text), _LONGEST) for text in job.notes],
    }


def _partial(frame: pd.DataFrame, job: Job) -> dict[str, Any] | None:
    """Return which runs of a sweep have failed, and why; `None` if none has."""
    errors = frame.attrs.get("errors")
    if not errors:
        return None
    swept = frame.attrs.get("funcs", {}).get("swept", [])
    rows = []
    for each in errors[:_MOST_FAILED]:
        args = {name: value_text(value) for name, value in each.get("args", {}).items() if name in swept}
        label = ", ".join(args.values() if len(args) == 1 else (f"{name} = {text}" for name, text in args.items()))
        rows.append({"label": clip(inert(label), _LONGEST), "error": clip(inert(str(each.get("error", ""))), _LONGEST)})
    total = job.progress.total if isinstance(job.progress, SweepProgress) else len(errors)
    return {"failed": len(errors), "of": total, "rows": rows}


def error_view(error: BaseException, redact: Callable[[str], str], job: Job | None = None) -> dict[str, Any]:
    """Return why a run failed: what happened, what to do, and the details behind it; never a token."""
    request = f"Request {job.progress.request_id}" if job is not None and job.progress.request_id else ""
    what, *hint = lines_of(error)
    details = "" if isinstance(error, FuncsError) else "".join(traceback.format_exception(error))
    kept = "\n".join(filter(None, [request, details]))
    return {
        "what": clip(inert(redact(what)), _LONGEST),
        "hint": clip(inert(redact("\n".join(hint))), _LONGEST),
        "details": clip(redact(kept), _LONGEST_DETAILS),
        "retry": not isinstance(error, ArgumentError),
    }


def cancelled_text(job: Job) -> str:
    """Return what a person who has cancelled should know."""
    progress = job.progress
    alone = "Cancelled. The service may still finish the run."
    return stopped_text(progress) if isinstance(progress, SweepProgress) else alone


def code_view(function: RemoteCall, form: Form, where: str, variable: str = "df") -> dict[str, Any]:
    """Return what the form holds as code: the magic, Python, and the request of the first run; no token in it."""
    args, swept = form.args, form.swept
    if (many := sum(len(args.get(name, ())) for name in swept)) > _MOST_IN_CODE:
        note = f"{many:,} values are too many to write out. Keep them in a variable of the notebook."
        return {"blocks": [{"name": "python", "code": "", "note": note}]}
    sweeps, held = bool(swept), dict(form.values)  # a copy, since a person may change it now
    alone = {name: only(one) if isinstance(one, Each) and len(one) == 1 else one for name, one in held.items()}
    named = {name: one.name for name, one in alone.items() if isinstance(one, Variable)}
    line = snippets.magic(function, args, sweeps=sweeps, result=variable)
    setup, _, call = snippets.python(function, args, where, named, sweeps=sweeps).partition("\ndf = ")
    blocks = [
        {"name": "magic", "code": line, "note": "a line of a notebook"},
        {"name": "python", "code": f"{setup}\n{variable} = {call}", "note": "a script or a notebook"},
    ]
    with suppress(FuncsError):  # values that give no request
        command = snippets.curl(function, form.first)
        note = "the first of the runs, in a shell" if sweeps else "a shell; the token comes from the environment"
        note = note if command else "a run isn't a single HTTP request, so there is no curl command"
        blocks.append({"name": "curl", "code": command, "note": note})
    return {"blocks": blocks}


def lines_of(error: BaseException) -> list[str]:
    """Return what a person reads of an error, whole: a secret that was cut could no longer be masked."""
    if isinstance(error, FuncsError):
        return error.lines
    return [f"Something failed inside jupyter_funcs: {type(error).__name__}: {error}"]


def still_html(name: str = "", result: ResultView | None = None) -> str:
    """Return what is shown where there is no panel: how to open it, its last result, and the chart as drawn last."""
    what = "run this cell to open the panel. Without a kernel, or where the page blocks its script, you see this text."
    kept = "" if result is None else _result_html(result.outcome, result.held_as)
    picture = svg(result.picture) if result and result.picture else ""
    head = f"<p><b>{_shown(name) if name else 'Functions'}</b>: {what}</p>"
    return f'<div class="jf-still">{head}{kept}{picture}</div>'


def _result_html(outcome: Outcome, variable: str) -> str:
    """Return function, arguments, time, variable and rows of a result."""
    frame = outcome.frame
    args = ", ".join(f"{_shown(name)} = {_shown(value_text(value))}" for name, value in outcome.args.items())
    session = outcome.function.session
    said = [
        f"<b>{_shown(outcome.function.name)}</b>{f' with {args}' if args else ''}",
        f"{shape_text(frame)}, {outcome.started:%Y-%m-%d %H:%M} UTC, {_shown(session.service)}"
        + ", synthetic data" * outcome.function.synthetic,
    ]
    if variable:
        said.append(f"The DataFrame was kept as <code>{_shown(variable)}</code>.")
    again = snippets.magic(outcome.function, outcome.args, sweeps=outcome.sweep is not None)
    command = f"df = %funcs {'sweep' if outcome.sweep else 'call'}"
    if again.startswith(command) and len(again) <= _LONGEST_VALUE:  # a long one would be cut, and open nothing
        filled = again.replace(command, "%funcs panel", 1)
        said.append(f"<code>{_shown(filled)}</code> opens the panel with these values.")
    shown = ends(frame.iloc[:, :_MOST_COLUMNS], 2 * _MOST_KEPT)
    what = [f"the first and last {_MOST_KEPT} rows"] * (len(shown) < len(frame))
    what += [f"the first {_MOST_COLUMNS} columns"] * (frame.shape[1] > _MOST_COLUMNS)
    said += [f"Of the result: {' and '.join(what)}."] * bool(what)
    # On the cells: a page's own style for cells would win over one around them.
    table = table_html(shown).replace("<td", '<td style="white-space: nowrap"')
    table = table if len(table) <= _LONGEST_TABLE else "<p>Its rows are too long to be kept here.</p>"
    table = f'<div style="overflow-x: auto">{table}</div>'
    return f'<div class="jf-kept"><p>{"<br>".join(said)}</p>{table}</div>'


def _shown(text: str) -> str:
    return html.escape(clip(inert(text), _LONGEST_VALUE))

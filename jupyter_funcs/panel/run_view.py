"""A run in the panel: how far it is, what came of it, and why it failed, as the page shows it."""

from __future__ import annotations

import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from jupyter_funcs.catalog.values import Each, Variable, only
from jupyter_funcs.client import snippets
from jupyter_funcs.core.errors import ArgumentError, FuncsError
from jupyter_funcs.core.progress import SweepProgress
from jupyter_funcs.core.text import clip, inert
from jupyter_funcs.frames.display import shape_text
from jupyter_funcs.sweeps.messages import cached_text, one_cached_text, stopped_text, value_text

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from jupyter_funcs.catalog.form import Args, Form
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.client.jobs import Job

_MOST_FAILED = 100
_MOST_IN_CODE = 1_000  # values
_LONGEST, _LONGEST_DETAILS = 300, 4_000


def running_view(name: str, job: Job) -> dict[str, Any]:
    """Return how far a run is; the page counts the seconds on."""
    progress = job.progress
    swept = isinstance(progress, SweepProgress)
    return {
        "name": clip(inert(name), _LONGEST),
        "elapsed": round(job.elapsed, 1),
        "bytes": progress.received,
        "done": progress.done + progress.failed if isinstance(progress, SweepProgress) else 0,
        "of": progress.total if isinstance(progress, SweepProgress) else 1,
        "note": _note(progress) if swept else f"attempt {progress.attempts}" if progress.attempts > 1 else "",
    }


def _note(progress: Any) -> str:
    failed = f"{progress.failed:,} failed" if progress.failed else ""
    return " · ".join(filter(None, [failed, progress.waiting]))


def summary_text(job: Job, frame: pd.DataFrame) -> str:
    """Return a result in one line: rows, columns, seconds, and whether it is an earlier one."""
    cached = one_cached_text(frame)
    if isinstance(job.progress, SweepProgress):
        told = frame.attrs.get("funcs", {}).get("cached", {})
        cached = cached_text(told["runs"], told.get("oldest")) if told.get("runs") else ""
    return " · ".join(filter(None, [shape_text(frame), f"{job.elapsed:.2f} s", cached]))


def about_result(job: Job, frame: pd.DataFrame) -> dict[str, Any]:
    """Return what is said of a result: its summary, the runs that have failed, and its warnings."""
    return {
        "summary": summary_text(job, frame),
        "partial": partial_view(frame, job),
        "warnings": [clip(inert(text), _LONGEST) for text in job.notes],
    }


def partial_view(frame: pd.DataFrame, job: Job) -> dict[str, Any] | None:
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
    if isinstance(job.progress, SweepProgress):
        return stopped_text(job.progress)
    return "Cancelled. The service may still finish the run."


def code_view(function: RemoteCall, form: Form, where: str, variable: str = "df") -> dict[str, Any]:
    """Return what the form holds as code: the magic, Python, and the request of the first run; no token in it."""
    args, swept, named = form.args, form.swept, _variables(form)
    if (many := sum(len(args.get(name, ())) for name in swept)) > _MOST_IN_CODE:
        note = f"{many:,} values are too many to write out. Keep them in a variable of the notebook."
        return {"blocks": [{"name": "python", "code": "", "note": note}]}
    sweeps = bool(swept)
    first: Args = {name: value[0] if name in swept else value for name, value in args.items()}
    line = snippets.magic(function, args, sweeps=sweeps, result=variable)
    setup, _, call = snippets.python(function, args, where, named, sweeps=sweeps).partition("\ndf = ")
    blocks = [
        {"name": "magic", "code": line, "note": "a line of a notebook"},
        {"name": "python", "code": f"{setup}\n{variable} = {call}", "note": "a script or a notebook"},
    ]
    with suppress(FuncsError):  # values that give no request
        command = snippets.curl(function, first)
        note = "the first of the runs, in a shell" if sweeps else "a shell; the token comes from the environment"
        note = note if command else "a run isn't a single HTTP request, so there is no curl command"
        blocks.append({"name": "curl", "code": command, "note": note})
    return {"blocks": blocks}


def _variables(form: Form) -> dict[str, str]:
    """Return the variables that stand for the whole of a value, by wire name."""
    found: dict[str, str] = {}
    for name, held in dict(form.values).items():  # a copy, since a person may change it now
        alone = only(held) if isinstance(held, Each) and len(held) == 1 else held
        if isinstance(alone, Variable):
            found[name] = alone.name
    return found


def lines_of(error: BaseException) -> list[str]:
    """Return what a person reads of an error, whole: a secret that was cut could no longer be masked."""
    if isinstance(error, FuncsError):
        return error.lines
    return [f"Something failed inside jupyter_funcs: {type(error).__name__}: {error}"]

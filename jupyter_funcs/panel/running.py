"""One run of a panel, or a sweep where its form's values are several: how it begins, and what is said of its end."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from jupyter_funcs import calls
from jupyter_funcs.each import Each, only
from jupyter_funcs.progress import SweepProgress
from jupyter_funcs.sweep_words import asks_text, ended_text, failed_html, one_cached_text, stopped_text
from jupyter_funcs.variables import Variable
from jupyter_funcs.view import code_html, done_html, shape_text

if TYPE_CHECKING:
    import pandas as pd

    from jupyter_funcs.forms import Args, Form
    from jupyter_funcs.jobs import Job
    from jupyter_funcs.visit import Visit

_MOST_IN_CODE = 1000


def begun(visit: Visit, args: Args) -> Job:
    """
    Start what a form holds: one run, whose reply is kept, or a run for each combination of the values that are several.

    Parameters
    ----------
    visit
        Whose form it is.
    args
        What the form has checked.

    Raises
    ------
    ArgumentError
        These are more runs than a sweep begins with unasked.
    """
    if not visit.form.swept:
        return visit.function.start(args, keep=True)
    most = visit.function.options.most_runs
    if visit.asked == args:
        most = max(most, visit.form.runs)
    # A panel shows a DataFrame of every combination, whatever else the function's own sweeps give.
    function = visit.function.with_options(pairs=False, to=None, most_runs=most)
    return function.start_sweep(args)


def asked(visit: Visit) -> str:
    """Ask about very many runs, once; empty where there is nothing to ask, or a person was asked already."""
    args, runs, most = visit.form.args, visit.form.runs, visit.function.options.most_runs
    if runs <= most or visit.form.errors or visit.asked == args:
        return ""
    visit.asked = args
    return asks_text(runs, most)


def as_code(visit: Visit, where: str) -> str:
    """Give what a form holds as a program, folded away; of thousands of values, which are sent with each key, none."""
    form = visit.form
    args, swept = form.args, form.swept
    if sum(len(args.get(name, ())) for name in swept) > _MOST_IN_CODE:
        return ""
    return code_html(calls.python(visit.function, args, where, _named(form), sweeps=bool(swept)))


def _named(form: Form) -> dict[str, str]:
    """Give the variables that stand for the whole of a value, by wire name."""
    found: dict[str, str] = {}
    for name, held in dict(form.values).items():  # a copy, since a person may change it now
        alone = only(held) if isinstance(held, Each) and len(held) == 1 else held
        if isinstance(alone, Variable):
            found[name] = alone.name
    return found


def swept_by(job: Job, frame: pd.DataFrame) -> tuple[str, ...]:
    """Give the names of the arguments that differ from run to run; none of one run."""
    return tuple(frame.attrs["funcs"]["swept"]) if isinstance(job.progress, SweepProgress) else ()


async def ended(job: Job) -> pd.DataFrame:
    """Give the result of a run that has ended, with its warnings; that runs of a sweep failed is said by the panel."""
    frame = job.future.result()
    return frame if frame.attrs.get("errors") else await job


def is_vain(job: Job, frame: pd.DataFrame) -> bool:
    """Say whether each run of a sweep has failed."""
    return isinstance(job.progress, SweepProgress) and not job.progress.done and bool(frame.attrs["errors"])


def came_html(job: Job, frame: pd.DataFrame, recipe: str) -> str:
    """Say what came of a run or a sweep; `recipe` is the code that gives its DataFrame."""
    if not isinstance(job.progress, SweepProgress):
        said = [shape_text(frame), f"{job.elapsed:.2f} s", one_cached_text(frame)]
        return done_html(" · ".join(filter(None, said)), recipe)
    return done_html(ended_text(frame, job.elapsed), recipe) + failed_html(frame, recipe)


def told_html(job: Job) -> str:
    """Say what a person should know of a run besides, as that its function has changed since it was locked."""
    return "".join(f"<br>{html.escape(text)}" for text in job.notes)


def cancelled_html(job: Job) -> str:
    """Say what a person who has cancelled has to know."""
    if not isinstance(job.progress, SweepProgress):
        return "Cancelled; the service may still finish the run."
    return html.escape(stopped_text(job.progress))

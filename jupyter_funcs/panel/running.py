"""Runner: one run of a panel at a time, begun once and watched to its end, on the background loop."""

from __future__ import annotations

import asyncio
import html
import threading
import time
import weakref
from typing import TYPE_CHECKING

from jupyter_funcs.catalog.values import Each, Variable, only
from jupyter_funcs.client import snippets
from jupyter_funcs.core import background
from jupyter_funcs.core.progress import SweepProgress
from jupyter_funcs.frames.display import code_html, done_html, shape_text
from jupyter_funcs.sweeps.job import start_sweep
from jupyter_funcs.sweeps.messages import asks_text, ended_text, failed_html, one_cached_text, stopped_text

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future
    from typing import Any

    import pandas as pd

    from jupyter_funcs.catalog.form import Args, Form
    from jupyter_funcs.client.jobs import Job
    from jupyter_funcs.client.notebook import Cell
    from jupyter_funcs.panel.visits import Visit


_TICK_SECONDS = 0.5
# A front end holds a change back while it waits for the one before to be taken, and a click overtakes it: for so long
# after a change, a click waits so long for another one.
_CHANGED_LATELY, _SETTLED = 1.0, 0.25
_runners: weakref.WeakSet[Runner] = weakref.WeakSet()


class Runner:
    """The runs of a panel."""

    def __init__(
        self, on_tick: Callable[[Visit], None], on_end: Callable[[Visit, Job], Coroutine[Any, Any, None]], cell: Cell
    ) -> None:
        self.number = 0
        self.running: Visit | None = None
        self.changed = -_CHANGED_LATELY
        self._on_tick = on_tick
        self._on_end = on_end
        self._pressed: Future[None] | None = None
        self.cell = cell
        # A run is begun by any thread, and ends on the loop.
        self._lock = threading.Lock()
        for other in list(_runners):
            if cell.is_rerun_of(other.cell):
                other.cancel()
        _runners.add(self)

    def press(self, run: Callable[[], object]) -> bool:
        """Run on a click or on Enter; once, however often a person presses. Give whether it will."""
        if self.running is not None or (self._pressed is not None and not self._pressed.done()):
            return False
        self._pressed = background.start(self._settled(run))
        return True

    def wait(self) -> None:
        """Wait until what was pressed last has begun."""
        if self._pressed is not None:
            background.wait(self._pressed)

    def start(self, visit: Visit, begin: Callable[[], Job]) -> Job:
        """Start a run, or a sweep; one that goes on is cancelled."""
        with self._lock:
            self.cancel()
            job = begin()
            self.number += 1
            visit.job = job
            self.running = visit
            visit.shown = background.start(self._follow(visit, job, self.number))
        return job

    def cancel(self) -> None:
        """Stop waiting for the run that goes on, if one does."""
        if self.running is not None and self.running.job is not None:
            self.running.job.cancel()

    async def _settled(self, run: Callable[[], object]) -> None:
        while time.monotonic() - (before := self.changed) < _CHANGED_LATELY:
            await asyncio.sleep(_SETTLED)
            if self.changed == before:
                break
        run()

    async def _follow(self, visit: Visit, job: Job, number: int) -> None:
        ended = asyncio.wrap_future(job.future)
        while not ended.done():
            if number == self.number:
                self._on_tick(visit)
            await asyncio.wait([ended], timeout=_TICK_SECONDS)
        _ = ended.cancelled() or ended.exception()  # looked at, or asyncio would print it
        with self._lock:
            if number == self.number:
                self.running = None
        if visit.job is job:
            await self._on_end(visit, job)


_MOST_IN_CODE = 1000


def begun(visit: Visit, args: Args) -> Job:
    """Start what a form holds: one run, or one per combination where fields have several values."""
    if not visit.form.swept:
        return visit.function.start(args, keep_reply=True)
    confirmed = {"most_runs": visit.form.runs} if visit.asked == args else {}
    if visit.function.function.changes_data:
        visit.asked = None  # the next press is another change
    # A panel shows a DataFrame of every combination, whatever else the function's own sweeps give.
    function = visit.function.with_options(pairs=False, to=None, **confirmed)
    return start_sweep(function, None, args, warns=False)  # the form shows them


def asked(visit: Visit) -> str:
    """Ask about very many runs, once; empty where there is nothing to ask, or a person was asked already."""
    args, runs, most = visit.form.args, visit.form.runs, visit.function.most_runs
    if runs <= max(most, 1) or visit.form.errors or visit.asked == args:
        return ""
    visit.asked = args
    return asks_text(runs, most)


def as_code(visit: Visit, where: str) -> str:
    """Give what a form holds as a program, folded away; of thousands of values, which are sent with each key, none."""
    form = visit.form
    args, swept = form.args, form.swept
    if sum(len(args.get(name, ())) for name in swept) > _MOST_IN_CODE:
        return ""
    return code_html(snippets.python(visit.function, args, where, _named(form), sweeps=bool(swept)))


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

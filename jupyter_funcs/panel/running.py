"""Runner: one run of a panel at a time, begun once and watched to its end, on the background loop."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from jupyter_funcs.core import background
from jupyter_funcs.core.progress import SweepProgress
from jupyter_funcs.sweeps.job import start_sweep
from jupyter_funcs.sweeps.messages import asks_text

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    import pandas as pd

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.client.jobs import Job
    from jupyter_funcs.panel.visits import Visit


_TICK_SECONDS = 0.5


class Runner:
    """The runs of a panel."""

    def __init__(
        self, on_tick: Callable[[Visit], None], on_end: Callable[[Visit, Job], Coroutine[Any, Any, None]]
    ) -> None:
        self.number = 0
        self.running: Visit | None = None
        self._on_tick = on_tick
        self._on_end = on_end
        # A run is begun by any thread, and ends on the loop.
        self._lock = threading.Lock()

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

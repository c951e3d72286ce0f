"""A sweep as a Job: start it, wait for it with a progress bar, stop it without losing results."""

from __future__ import annotations

import datetime as dt
import time
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any

from jupyter_funcs.catalog.values import constant_of
from jupyter_funcs.client.jobs import Job, ResultFuture
from jupyter_funcs.client.status import span
from jupyter_funcs.connection.login import ask
from jupyter_funcs.core import background
from jupyter_funcs.core.background import Progress, SweepProgress
from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.text import clip
from jupyter_funcs.sweeps.combinations import TooManyRunsError, combos
from jupyter_funcs.sweeps.memory_results import results_for
from jupyter_funcs.sweeps.sweep import Sweep

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pandas as pd

    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.core.json_decoding import Values
    from jupyter_funcs.sweeps.sweep import RunFunction

# Seconds that an interrupt waits for results to be stored.
_STORING_SECONDS = 60.0
_REFRESH_SECONDS = 0.1
_MAX_STATUS = 100  # characters next to the bar
_MAX_ITEMS = 20  # of a swept argument that is shown


def sweep(
    function: RemoteCall, table: pd.DataFrame | None, values: Values
) -> pd.DataFrame:
    """Start a sweep and wait for its table; ask the user first if it has more than ``most_runs`` runs."""
    job = None
    try:
        if function.options.progress:
            # Before the first run: a process that an executor forks during this import would wait for it forever.
            import tqdm.auto  # noqa: F401  # imports ipywidgets in a notebook

        try:
            job = start_sweep(function, table, values)
        except TooManyRunsError as error:
            job = start_sweep(_confirmed(function, error), table, values)
        return _wait(job, shows_bar=function.options.progress)
    except KeyboardInterrupt:
        if job is None:
            raise
        job.cancel()
        wait([job.future], _STORING_SECONDS)
        text = f"Stopped the sweep of {function.name} after {_done_text(job.progress)}."
        if job.resumes:
            text += " Run the same again to continue."
        raise StoppedSweep(text) from None


def start_sweep(
    function: RemoteCall,
    table: pd.DataFrame | None,
    values: Mapping[str, Any],
    *,
    warns: bool = True,
) -> SweepJob:
    """Start a sweep, and tell the function's client about it."""
    options = function.options
    function.refuse_options(values, ".sweep")
    runs = combos(function, table, values)
    if warns:
        function.warn_of(runs.warnings)
    results = results_for(function, runs)
    run_function: RunFunction = function.fetch
    if options.executor is not None:
        from jupyter_funcs.sweeps.executors import ExecutorRunner

        run_function = ExecutorRunner(function, options.executor)

    job = SweepJob(Sweep(function, runs, run_function, results))
    function.notify_started(job)
    return job


def _confirmed(function: RemoteCall, error: TooManyRunsError) -> RemoteCall:
    if function.function.changes_data:  # not by a prompt, which Run All would wait at
        raise error
    prompt = f"This is {error.number:,} runs of {function.name}. Type the number to continue: "
    if ask(prompt, "the number of runs", error).replace(",", "") != str(error.number):
        raise error
    return function.with_options(most_runs=error.number)


class SweepJob(Job):
    """
    A sweep that was started; its result is the table of all runs.

    Attributes
    ----------
    pairs
        Whether the lists in `args` are combined in pairs.
    """

    progress: SweepProgress

    def __init__(self, sweep: Sweep) -> None:
        self.pairs = sweep.combos.pairs
        self._sweep = sweep
        super().__init__(
            sweep.function.name,
            sweep.combos.args,
            sweep.run(),
            sweep.progress,
            _SweepFuture(sweep),
        )

    @property
    def resumes(self) -> bool:
        """Whether the same sweep would continue from all results so far."""
        return self._sweep.earlier.resumes

    def retry(self, errors: Collection[int] = ()) -> SweepJob:
        """
        Start the runs that failed again; the others keep their results.

        Parameters
        ----------
        errors
            Positions in the result's ``.attrs["errors"]``: only these; all by default.

        Raises
        ------
        ArgumentError
            There is no such position.
        """
        failed = self.progress.failed
        if not all(0 <= at < failed for at in errors):
            raise ArgumentError(f"There is no such failed run: {failed:,} failed.")
        return self._again(errors)

    def so_far(self) -> SweepJob:
        """Return the results before the sweep was cancelled, as a job; ``.attrs["errors"]`` has the other runs."""
        return self._again((), sends=False)

    def _again(self, errors: Collection[int], *, sends: bool = True) -> SweepJob:
        function = self._sweep.function
        job = SweepJob(
            self._sweep.again(
                results_for(function, self._sweep.combos), errors, sends=sends
            )
        )
        function.notify_started(job)
        return job

    def _facts(self) -> list[str]:
        failed = f"{self.progress.failed:,} failed" if self.progress.failed else ""
        return [
            *filter(None, [self.status, _done_text(self.progress), failed]),
            f"{self.elapsed:.1f} s",
        ]


class _SweepFuture(ResultFuture):
    """The future of a sweep: cancelled, it ends once all results so far are stored."""

    def __init__(self, sweep: Sweep) -> None:
        super().__init__()
        self._sweep = sweep

    def cancel(self) -> bool:
        if self.done():
            return False
        if self._sweep.ended:
            return super().cancel()
        self._sweep.stop()
        return True


class StoppedSweep(KeyboardInterrupt):
    """An interrupted sweep; IPython shows it in one line, because nothing went wrong."""

    def _render_traceback_(self) -> list[str]:
        return [f"KeyboardInterrupt: {self}"]


def _wait(job: SweepJob, *, shows_bar: bool) -> pd.DataFrame:
    """Wait for a sweep, with tqdm's bar in a notebook or terminal."""
    progress = job.progress
    if not shows_bar or progress.total < 2:
        return job.result()
    background.forbid_on_loop()
    from tqdm.auto import tqdm

    class Bar(tqdm):  # type: ignore[type-arg]  # generic in tqdm's stubs only
        monitor_interval = 0  # no thread that writes from elsewhere

    # disable=None: only notebooks and terminals show the bar, log files don't.
    with Bar(
        total=progress.total,
        desc=job.function,
        unit="run",
        miniters=1,
        smoothing=0,
        disable=None,
    ) as bar:
        while True:
            is_done = bool(wait([job.future], _REFRESH_SECONDS).done)
            done = progress.done + progress.failed
            # Cached results say nothing about how fast the other runs are.
            bar.initial = progress.cached
            bar.set_postfix_str(status_text(progress), refresh=False)
            bar.update(done - bar.n)
            bar.refresh()
            if is_done:
                break

    return job.result()  # after the bar, so that warnings appear below it


def status_text(progress: SweepProgress) -> str:
    """Return what the bar shows next to the numbers: failed and cached runs, or why the sweep waits."""
    parts = []
    if progress.failed:
        parts.append(f"{progress.failed:,} failed")
    if progress.waiting:  # instead of cached runs, because a terminal's line is short
        parts.append(progress.waiting.rstrip("."))
    elif progress.cached:
        parts.append(cached_text(progress.cached, progress.oldest))

    return clip(", ".join(parts), _MAX_STATUS)


def cached_text(number: int, oldest: float | str | None) -> str:
    """Return how many results are from the cache, and the age of the oldest (seconds since 1970, or an ISO time)."""
    if isinstance(oldest, str):
        oldest = dt.datetime.fromisoformat(oldest).timestamp()
    age = f" ({span(time.time() - oldest)} old)" if oldest else ""
    return f"{number:,} from the cache{age}"


def result_cached_text(frame: pd.DataFrame) -> str:
    """Return how much of a result is from the cache, and its age; empty if nothing is."""
    cached = frame.attrs.get("funcs", {}).get("cached")
    if isinstance(cached, dict):  # of a sweep
        if cached.get("runs"):
            return cached_text(cached["runs"], cached.get("oldest"))
        return ""

    if isinstance(cached, str):
        return cached_text(1, cached).removeprefix("1 ")
    return ""


def stopped_text(progress: Progress) -> str:
    """Return what a cancelled run or sweep has done."""
    if not isinstance(progress, SweepProgress):
        return "Cancelled. The service may still finish the run."
    more = " Press Run to continue." if progress.done else ""
    return f"Cancelled after {_done_text(progress)}.{more}"


def _done_text(progress: SweepProgress) -> str:
    return f"{progress.done:,} of {progress.total:,} runs"


def asks_text(runs: int, most: int) -> str:
    """Return the question before a large sweep."""
    if most:
        text = f"This is {runs:,} runs, more than {most:,}."
    else:
        text = f"This changes data, in {runs:,} runs."
    return f"{text} Press Run again to continue, or sweep fewer values."


def value_text(value: Any) -> str:
    """Return an argument as text; of a long list, the first values and how many more there are."""
    if constant := constant_of(value):
        return constant
    if not isinstance(value, list):
        return str(value)
    texts = [
        f"[{', '.join(map(str, item))}]" if isinstance(item, list) else str(item)
        for item in value[:_MAX_ITEMS]
    ]
    if len(value) > _MAX_ITEMS:
        texts.append(f"and {len(value) - _MAX_ITEMS:,} more")
    return ", ".join(texts)

"""A sweep as a Job: starting one, asking about a large one, waiting for it, stopping it with what has come kept."""

from __future__ import annotations

import html
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any

from jupyter_funcs.bar import load, watched
from jupyter_funcs.combos import TooManyRunsError, combos
from jupyter_funcs.gathering import gathering
from jupyter_funcs.jobs import Job
from jupyter_funcs.options import DASK
from jupyter_funcs.prompts import ask
from jupyter_funcs.sweep import Sweep, Taker

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.progress import SweepProgress

# Seconds that an interrupt waits for what has come to be kept.
_LONGEST_KEEPING = 60.0


class SweepJob(Job):
    """
    A sweep that was started; its result is the table of all runs.

    Attributes
    ----------
    pairs
        Whether the lists in `args` are taken in pairs.
    """

    progress: SweepProgress

    def __init__(self, sweep: Sweep) -> None:
        self.pairs = sweep.combos.pairs
        self._sweep = sweep
        super().__init__(sweep.function.name, sweep.combos.given, sweep.run(), sweep.progress, _Stoppable(sweep))

    @property
    def resumes(self) -> bool:
        """Whether the same sweep goes on from all that has come."""
        return self._sweep.resumes

    def __repr__(self) -> str:
        """Say which sweep it is, and how far it has come."""
        return f"<Sweep {self.function}: {', '.join(self._facts())}>"

    def _repr_html_(self) -> str:
        return f"<b>{html.escape(self.function)}</b> · {' · '.join(self._facts())}"

    def _facts(self) -> list[str]:
        progress = self.progress
        failed = [f"{progress.failed:,} failed"] * bool(progress.failed)
        came = f"{progress.done:,} of {progress.total:,} runs"
        return [self.status, came, *failed, f"{self.elapsed:.1f} s"]


class _Stoppable(Future[Any]):
    """The future of a sweep: cancelled, it ends when what has come is kept."""

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


def started(function: RemoteFunction, table: pd.DataFrame | None, values: Mapping[str, Any]) -> SweepJob:
    """
    Start a sweep.

    Raises
    ------
    ArgumentError
        As `combos`.
    """
    options = function.options
    function.refuse_options(values, ".sweep")
    runs = combos(function, table, values, pairs=options.pairs, most=options.most_runs, validate=options.validate)
    if options.to == DASK:
        from jupyter_funcs.on_dask import OnDask  # noqa: PLC0415  # only where it is asked for

        on_dask = OnDask(function, runs)
        return SweepJob(Sweep(function, runs, on_dask, on_dask))
    if options.executor is None:
        take: Taker = function.take
    else:
        from jupyter_funcs.executors import taker  # noqa: PLC0415  # only where one is given

        take = taker(function, options.executor)
    return SweepJob(Sweep(function, runs, take, gathering(function, runs)))


class StoppedSweep(KeyboardInterrupt):
    """An interrupt of a sweep; IPython shows it in one line, since nothing has gone wrong."""

    def _render_traceback_(self) -> list[str]:
        return [f"KeyboardInterrupt: {self}"]


def waited(function: RemoteFunction, table: pd.DataFrame | None, values: Mapping[str, Any]) -> Any:
    """
    Start a sweep and wait for its table; a person is asked first about more runs than ``most_runs``.

    Raises
    ------
    KeyboardInterrupt
        An interrupt came; by then what has come is kept.
    """
    job = None
    try:
        if function.options.progress:
            load()
        try:
            job = function.start_sweep(values, table)
        except TooManyRunsError as error:
            job = _allowed(function, error).start_sweep(values, table)
        return watched(job, shown=function.options.progress)
    except KeyboardInterrupt:
        if job is None:
            raise
        job.cancel()
        wait([job.future], _LONGEST_KEEPING)
        came = f"{job.progress.done:,} of {job.progress.total:,} runs"
        goes_on = "The same call goes on from there." * job.resumes
        said = f"Stopped the sweep of {function.name}: {came} have come. {goes_on}"
    raise StoppedSweep(said)


def _allowed(function: RemoteFunction, error: TooManyRunsError) -> RemoteFunction:
    prompt = f"This is {error.number:,} runs of {function.name}. Type the number to go on: "
    if ask(prompt, "the number of runs", error).replace(",", "") != str(error.number):
        raise error
    return function.with_options(most_runs=error.number)

"""Run: one run that was started, with what, and what became of it."""

from __future__ import annotations

import datetime as dt
import sys
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_funcs import keeping
from jupyter_funcs.dataset_words import told_of
from jupyter_funcs.progress import SweepProgress
from jupyter_funcs.text import clip, inert

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from jupyter_funcs.catalog import Function
    from jupyter_funcs.jobs import Job
    from jupyter_funcs.options import Options

_MOST_ITEMS = 3
_LONGEST_ITEM, _LONGEST_ARGUMENTS = 60, 120
_LONGEST_ERROR = 300
_HIDDEN = ("status", "elapsed", "rows", "error")
# Of a kernel that has ended, or of another one that goes on: nothing tells which.
_NOT_ENDED = "not ended"


@dataclass(slots=True, eq=False, repr=False)
class Run:
    """
    One run.

    The result itself is not held: it can be had again while a variable or a cell of the notebook holds it, or the
    cache keeps it.

    Attributes
    ----------
    number
        By which the history finds it; the first of the kernel is 1.
    function, args
        The function's wire name, and what was sent; of a sweep a list for each swept argument.
    started
        When, in UTC.
    service, where
        What the service is called, and what `connect` is given to come there.
    is_sweep, runs
        Whether it is a sweep, and of how many runs.
    pairs
        Whether the lists of a sweep are taken in pairs.
    to
        The folder that holds the results of a sweep; ``None`` for none.
    failed
        How many runs of a sweep failed.
    kernel
        The number of the earlier kernel it is of; 0 for this one.
    is_whole
        Whether its arguments are all here; those of an earlier kernel that were too long were not kept.
    in_cache
        Whether its result went to the cache, or came from there.
    listed, options
        The function as it was listed then, and how it was run; of this kernel's runs alone.
    kept
        Gives its result from where else it may be, when nothing in the notebook holds it.
    """

    number: int
    function: str
    args: dict[str, Any]
    started: dt.datetime
    service: str = ""
    where: str = ""
    is_sweep: bool = False
    runs: int = 1
    pairs: bool = False
    to: str | None = None
    kernel: int = 0
    is_whole: bool = True
    in_cache: bool = False
    failed: int = 0
    listed: Function | None = None
    options: Options | None = None
    kept: Callable[[Run], pd.DataFrame | None] | None = None
    _status: str = ""
    _elapsed: float = 0.0
    _rows: int | None = None
    _error: str = ""
    _job: Job | None = None
    _frame: weakref.ref[pd.DataFrame] | None = None

    def begin(self, job: Job) -> None:
        """Follow a job to its end."""
        progress = job.progress
        self._job = job
        if isinstance(progress, SweepProgress):
            self.is_sweep, self.runs, self.pairs = True, progress.total, bool(getattr(job, "pairs", False))

    def end(self) -> None:
        """Note how it ended, if it has; the job is let go, and with it the result."""
        job = self._job
        if job is None or job.status == "running":
            return
        progress = job.progress
        if isinstance(progress, SweepProgress) and progress.failed:
            self.failed = progress.failed
            self._error = f"{progress.failed:,} of {progress.total:,} runs failed."
        if job.status == "done":
            self._hold(job.future.result())
        elif job.status == "failed":
            self._error = clip(inert(str(job.error())), _LONGEST_ERROR)
        self._elapsed, self._status, self._job = job.elapsed, job.status, None

    def _hold(self, frame: Any) -> None:
        # A sweep may give a dataset of files, which says how many rows it has, or of Dask, which would compute them.
        if type(frame).__module__.partition(".")[0] == "pandas":
            self._rows = len(frame)
        else:
            self._rows = told_of(frame).get("rows")
        try:
            self._frame = weakref.ref(frame)
        except TypeError:
            self._frame = None

    @property
    def label(self) -> str:
        """By which `History.get` finds it: ``3``, or ``14/3`` for the third run of an earlier kernel."""
        return f"{self.kernel}/{self.number}" if self.kernel else str(self.number)

    # Who waits for a job may be told of its end before the history is: each of these looks for itself.

    @property
    def status(self) -> str:
        """``running``, ``done``, ``failed`` or ``cancelled``; ``not ended`` where an earlier kernel did not say."""
        self.end()
        return self._status or (_NOT_ENDED if self.kernel else "running")

    @property
    def rows(self) -> int | None:
        """How many rows its result has; ``None`` where it has none."""
        self.end()
        return self._rows

    @property
    def error(self) -> str:
        """What it failed with, in words; of a sweep how many of its runs failed."""
        self.end()
        return self._error

    @property
    def elapsed(self) -> float:
        """Seconds from its start to its end, or to now."""
        self.end()
        job = self._job
        return self._elapsed if job is None else job.elapsed

    @property
    def ended(self) -> dt.datetime:
        """When it ended, in UTC, or now."""
        return self.started + dt.timedelta(seconds=self.elapsed)

    @property
    def frame(self) -> pd.DataFrame | None:
        """Its result, where that is still there."""
        frame = self._held()
        if frame is None and self.in_cache and self.kept is not None and self._status == "done":
            frame = self.kept(self)
            self._frame = None if frame is None else weakref.ref(frame)
        return frame

    @property
    def variable(self) -> str:
        """The name under which the notebook holds its result now; empty where it does not."""
        frame = self._held()
        if frame is None or "IPython" not in sys.modules:
            return ""
        held = list(keeping.variables().items())  # a copy: a cell may define one at this moment
        return next((name for name, value in held if value is frame and not name.startswith("_")), "")

    def _held(self) -> pd.DataFrame | None:
        self.end()
        return None if self._frame is None else self._frame()

    @property
    def arguments(self) -> str:
        """Its arguments in a few words: ``PanelName=Card Spend, Symbol=[500 values]``."""
        if not self.is_whole:
            return "not kept"
        said = ", ".join(f"{name}={_short(value)}" for name, value in self.args.items())
        return clip(said, _LONGEST_ARGUMENTS)

    def plain(self) -> dict[str, Any]:
        """Give what is kept of it for later kernels: plain JSON values, and nothing of its result."""
        return {
            "number": self.number,
            "function": self.function,
            "args": self.args,
            "started": self.started.isoformat(),
            "is_sweep": self.is_sweep,
            "runs": self.runs,
            "pairs": self.pairs,
            "to": self.to,
            "rows": self.rows,
            "error": self.error,
            "failed": self.failed,
            "is_whole": self.is_whole,
            "in_cache": self.in_cache,
            "status": self._status,
            "elapsed": round(self.elapsed, 3),
        }

    @classmethod
    def from_plain(cls, kernel: int, kept: dict[str, Any]) -> Run:
        """
        Give a run of an earlier kernel.

        Raises
        ------
        KeyError, TypeError, ValueError
            It is none that `plain` gave.
        """
        shown = {name: value for name, value in kept.items() if name not in _HIDDEN}
        hidden = {f"_{name}": kept[name] for name in _HIDDEN}
        return cls(**shown | {"started": dt.datetime.fromisoformat(kept["started"])}, kernel=kernel, **hidden)

    def __repr__(self) -> str:
        """Say which run it is, and how it stands."""
        rows = "" if self.rows is None else f", {self.rows:,} row{'s' * (self.rows != 1)}"
        return f"<Run {self.label}: {self.function}({self.arguments}), {self.status}, {self.elapsed:.1f} s{rows}>"


def _short(value: Any) -> str:
    if isinstance(value, list):
        return f"[{len(value):,} values]" if len(value) > _MOST_ITEMS else f"[{', '.join(map(_short, value))}]"
    return "" if value is None else clip(inert(str(value)), _LONGEST_ITEM)

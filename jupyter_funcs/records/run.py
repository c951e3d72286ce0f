"""A run in the history: what was run, with which arguments, and how it ended."""

from __future__ import annotations

import datetime as dt
import sys
import weakref
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_funcs.client import notebook
from jupyter_funcs.connection.secrets import redacted_all
from jupyter_funcs.core.background import SweepProgress
from jupyter_funcs.core.json_decoding import JsonObject, only, read_object
from jupyter_funcs.core.line import Sent
from jupyter_funcs.core.text import clip, inert, plural

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from jupyter_funcs.catalog.listing import Function
    from jupyter_funcs.client.jobs import Job
    from jupyter_funcs.client.options import CallOptions

_MOST_ITEMS = 3
_LONGEST_ITEM = 60
_LONGEST_ARGUMENTS = 120
_LONGEST_ERROR = 300
_SAVED = (
    "number",
    "function",
    "args",
    "is_sweep",
    "runs",
    "pairs",
    "to",
    "rows",
    "error",
    "failed",
    "is_whole",
    "in_cache",
    "is_typed",
)
# The status of an earlier kernel's run that may still be running or have died with its kernel.
_NOT_ENDED = "not ended"


@dataclass(eq=False, repr=False)
class Run:
    """
    One run. It keeps no result alive: `frame` returns it as long as the notebook or the cache has it.

    Attributes
    ----------
    number
        Its number in the history; the first run of a kernel is 1.
    function, args
        The function's wire name, and the arguments; in a sweep, a list for each swept argument.
    started
        When it started, in UTC.
    service, where
        The name of the service, and the argument with which `connect` uses it again.
    is_sweep, runs, failed
        Whether it is a sweep, of how many runs, and how many of them failed.
    pairs
        Whether the lists of a sweep are combined in pairs.
    to
        The folder with the results of a sweep, or ``None``.
    kernel
        The number of an earlier kernel; 0 for this one.
    is_whole
        Whether `args` is complete: a token in it is masked, and very long arguments are not saved.
    is_typed
        Whether `args` have their types; 0.1.0 saved texts.
    in_cache
        Whether its result went to the cache or came from it.
    entry, options
        The function's entry in the catalog when it ran, and its options; only for runs of this kernel.
    load_cached
        Returns the result from the cache.
    kept_id
        Its id on a service that can keep runs. A run that only the service has is number 0.
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
    is_typed: bool = True
    failed: int = 0
    entry: Function | None = None
    options: CallOptions | None = None
    load_cached: Callable[[Run], pd.DataFrame | None] | None = None
    kept_id: str = ""
    _status: str = ""
    _elapsed: float = 0.0
    _rows: int | None = None
    _error: str = ""
    _job: Job | None = None
    _frame: weakref.ref[pd.DataFrame] | None = None
    _reply: pd.DataFrame | None = None  # as it came, while the frame lives

    def begin(self, job: Job) -> None:
        """Follow a job to its end."""
        progress = job.progress
        self._job = job
        self.kept_id = job.id
        if isinstance(progress, SweepProgress):
            self.is_sweep = True
            self.runs = progress.total
            self.pairs = bool(getattr(job, "pairs", False))

    def end(self) -> None:
        """Note how the job ended, if it has, and release it."""
        job = self._job
        if job is None or job.status == "running":
            return
        progress = job.progress
        self.kept_id = job.id
        if isinstance(progress, SweepProgress) and progress.failed:
            self.failed = progress.failed
            self._error = f"{progress.failed:,} of {progress.total:,} runs failed."

        if job.status == "done":
            self._refer_to(job.future.result(), job.future.reply)
        elif job.status == "failed":
            self._error = clip(redacted_all(inert(str(job.error))), _LONGEST_ERROR)

        self._elapsed = job.elapsed
        self._status = job.status
        self._job = None

    def _refer_to(self, result: Any, reply: pd.DataFrame | None) -> None:
        # A sweep may return an Arrow dataset, whose metadata has the number of rows, or a Dask frame, which would have
        # to be computed to count them.
        self._rows = _sweep_metadata(result).get("rows")
        if reply is not None:
            self._rows = len(reply)
        with suppress(TypeError):
            self._frame = weakref.ref(result, self._forget)
            self._reply = reply

    def _forget(self, ended: weakref.ref[pd.DataFrame]) -> None:
        if ended is self._frame:
            self._reply = None

    @property
    def label(self) -> str:
        """Its number for `History.get`, ``3``, or ``14/3`` if an earlier kernel ran it; else its id on the service."""
        if not self.number:
            return self.kept_id
        if self.kernel:
            return f"{self.kernel}/{self.number}"
        return str(self.number)

    # A job's waiter may continue before the callback that ends this run, so each of these properties calls `end`.

    @property
    def status(self) -> str:
        """``running``, ``done``, ``failed`` or ``cancelled``; ``not ended`` if an earlier kernel noted no end."""
        self.end()
        if self.kernel:
            return self._status or _NOT_ENDED
        return self._status or "running"

    @property
    def rows(self) -> int | None:
        """The number of rows of its result, if known."""
        self.end()
        return self._rows

    @property
    def error(self) -> str:
        """Its error in words; for a sweep, how many of its runs failed."""
        self.end()
        return self._error

    @property
    def elapsed(self) -> float:
        """Seconds from its start to its end, or until now."""
        self.end()
        job = self._job
        if job is None:
            return self._elapsed
        return job.elapsed

    @property
    def ended(self) -> dt.datetime:
        """When it ended, in UTC, or now."""
        return self.started + dt.timedelta(seconds=self.elapsed)

    @property
    def frame(self) -> pd.DataFrame | None:
        """Its result as it came, if the notebook or the cache still has it; a copy if the notebook changed its own."""
        frame = self.in_memory
        if (
            frame is None
            and self.in_cache
            and self.load_cached
            and self._status == "done"
        ):
            frame = self.load_cached(self)
            if frame is not None:
                self._refer_to(frame, frame.copy(deep=False))

        if frame is None:
            return None
        return as_it_came(frame, self._reply)

    @property
    def variable(self) -> str:
        """The variable that holds its result in the notebook, or an empty text."""
        frame = self.in_memory
        if frame is None or "IPython" not in sys.modules:
            return ""
        # A copy, because a running cell may add one.
        for name, value in list(notebook.variables().items()):
            if value is frame and not name.startswith("_"):
                return name

        return ""

    @property
    def in_memory(self) -> pd.DataFrame | None:
        """Its result, if the notebook or a panel still holds it."""
        self.end()
        if self._frame is None:
            return None
        return self._frame()

    @property
    def arguments(self) -> str:
        """Its arguments in short: ``PanelName=Card Spend, Symbol=[500 values]``."""
        if not self.is_whole and not self.args:
            return "not saved"
        shown = redacted_all(
            ", ".join(
                f"{inert(name)}={_short(value)}" for name, value in self.args.items()
            )
        )
        return clip(shown, _LONGEST_ARGUMENTS)

    def to_json(self) -> JsonObject:
        """Return what later kernels may know of it, as plain JSON values; nothing of its result."""
        saved = {name: getattr(self, name) for name in _SAVED}
        ended = {"status": self._status, "elapsed": round(self.elapsed, 3)}
        return saved | ended | {"started": self.started.isoformat()}

    @classmethod
    def from_json(cls, kernel: int, values: JsonObject) -> Run:
        """Return a run of an earlier kernel, from what `to_json` returned there."""
        public = cls.__dataclass_fields__
        saved = {
            name if name in public else f"_{name}": value
            for name, value in values.items()
        }
        if not saved.setdefault("is_typed", False):
            saved["args"] = {
                name: _sent(value) for name, value in values["args"].items()
            }

        saved["started"] = dt.datetime.fromisoformat(values["started"])
        return cls(**saved, kernel=kernel)

    @classmethod
    def from_service(cls, kept: JsonObject) -> Run:
        """Return a run as the service describes it."""
        return cls(
            number=0,
            function=kept["FunctionName"],
            args=kept["Args"],
            started=dt.datetime.fromisoformat(kept["made"]),
            kept_id=kept["id"],
            _status=kept["state"],
            _elapsed=kept["seconds"] or 0.0,
            _rows=kept["rows"],
            _error=kept["note"] or "",
        )

    def __repr__(self) -> str:
        rows = ""
        if self.rows is not None:
            rows = f", {plural(self.rows, 'row')}"
        call = f"{inert(self.function)}({self.arguments})"
        return f"<Run {self.label}: {call}, {self.status}, {self.elapsed:.1f} s{rows}>"


def _sent(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_sent, value))
    if isinstance(value, str):
        return Sent(value)
    return value


def as_it_came(frame: pd.DataFrame, reply: pd.DataFrame | None) -> pd.DataFrame:
    """Return a result itself if it still equals the reply, else a copy of the reply."""
    if reply is None or frame.equals(reply):
        return frame
    return reply.copy(deep=False)


def _short(value: Any) -> str:
    if isinstance(value, list):
        if len(value) > _MOST_ITEMS:
            return f"[{len(value):,} values]"
        return f"[{', '.join(map(_short, value))}]"

    if value is None:
        return ""
    return clip(inert(str(value)), _LONGEST_ITEM)


def dataset_text(dataset: Any) -> str:
    """Describe the dataset of a sweep and how to read it; return the repr of any other dataset."""
    about = _sweep_metadata(dataset)
    if not {"rows", "runs", "function", "folder"} <= about.keys():
        return repr(dataset)
    shape = f"{plural(about['rows'], 'row')} × {plural(len(dataset.schema.names), 'column')}"
    source = f"{plural(about['runs'], 'run')} of {inert(about['function'])}"
    if about.get("failed"):
        source += f", {about['failed']:,} failed"
    usage = "Use .to_table().to_pandas() to get a DataFrame."
    return f"<Dataset: {shape} from {source}, in {inert(about['folder'])}>\n{usage}"


def _sweep_metadata(dataset: object) -> JsonObject:
    """Return what a sweep wrote into the schema of its dataset; nothing for other objects."""
    metadata = only(dict, getattr(getattr(dataset, "schema", None), "metadata", None))
    return read_object(only(bytes, metadata.get(b"funcs")))

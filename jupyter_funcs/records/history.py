"""The runs of this kernel and of earlier ones, how to run one of them again, and a client that records its runs."""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import re
import threading
import uuid
import weakref
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_funcs.catalog.changes import drift
from jupyter_funcs.catalog.fields import fields_named
from jupyter_funcs.client.client import Client
from jupyter_funcs.connection.secrets import redacted_values
from jupyter_funcs.core import background
from jupyter_funcs.core.background import SweepProgress
from jupyter_funcs.core.errors import ArgumentError, FuncsError, NotFoundError
from jupyter_funcs.core.files import own_path
from jupyter_funcs.core.text import clip, plain, plural, quote
from jupyter_funcs.core.warn import warn
from jupyter_funcs.records.favourites import Favourites
from jupyter_funcs.records.lock import LockChecker
from jupyter_funcs.records.presets import Presets, presets_file
from jupyter_funcs.records.run import Run
from jupyter_funcs.sweeps.combinations import combos
from jupyter_funcs.sweeps.resuming import EarlierResults
from jupyter_funcs.sweeps.sweep import sweep_facts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pandas as pd

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.catalog.listing import Catalog
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.client.jobs import Job
    from jupyter_funcs.records.history_file import HistoryFile

CallT_co = TypeVar("CallT_co", bound="RemoteCall", covariant=True)

_MOST_RUNS = 10_000  # per kernel; the oldest are forgotten
_MOST_SHOWN = 200  # rows of its table
_LONGEST_ERROR = 60  # characters in its table; a run has the whole
_LEAST_AGE = 0.001  # seconds
_CLOCK_SLACK = 0.01  # seconds by which two clocks of one machine may differ
_KEPT_ID = re.compile(r"(?a)[\w-]{8,64}")
_EMPTY = "Nothing has been run yet."
_COLUMNS = [
    "number",
    "time",
    "function",
    "arguments",
    "rows",
    "elapsed",
    "status",
    "variable",
    "error",
]


class History:
    """The runs on one service, of all sessions in this kernel."""

    def __init__(self, session: Client[RemoteCall]) -> None:
        self._session = session
        self._load_cached = partial(_load_cached, weakref.ref(session))
        self._log = _logs.setdefault(
            (session.address, session.where), _Log(session.address or "demo")
        )

    @property
    def path(self) -> Path:
        """The file for saved runs, whether or not it exists."""
        return own_path("history.sqlite")

    @property
    def runs(self) -> list[Run]:
        """The runs of this kernel, oldest first."""
        return list(self._log.runs)

    @property
    def earlier(self) -> list[Run]:
        """The saved runs of other kernels, oldest first. None are saved unless you switch that on."""
        if (file := self._log.file()) is None:
            return []
        runs = []
        for kernel, run in file.runs(self._log.service, self._log.key):
            with suppress(KeyError, TypeError, ValueError):  # another version saved it
                runs.append(Run.from_json(kernel, json.loads(run)))
                runs[-1].load_cached = self._load_cached

        return runs

    def get(self, number: int | str) -> Run:
        """
        Return a run by its number: ``3``, ``"14/3"`` for the third run of an earlier kernel, or its id on the service.

        Raises
        ------
        NotFoundError
            There is no run with this number.
        """
        label = str(number).strip()
        runs = self.runs
        hint = "See %funcs history."
        nothing = _EMPTY
        if "/" in label:
            runs = self.earlier
            hint = "See %funcs history --all."
            nothing = "No runs are saved."
        elif _KEPT_ID.fullmatch(label):
            runs = self.on_service

        for run in runs:
            if run.label == label:
                return run

        if not runs:
            hint = nothing
        raise NotFoundError(f"There is no run {quote(label)} in the history.", hint)

    @property
    def on_service(self) -> list[Run]:
        """The runs that the service keeps, oldest first, without those of this kernel; none if it can't say."""
        try:
            if self._session.kind in {"service", ""}:
                self._session.catalog  # noqa: B018  # its reply says whether runs are kept
            kept = background.run(self._session.remote.keeper.look())["runs"]
        except FuncsError:
            return []

        own = {run.kept_id for run in self.runs}
        return [Run.from_service(run) for run in reversed(kept) if run["id"] not in own]

    def add(self, function: RemoteCall, job: Job) -> Run:
        """Add a run that has started; its end is recorded later."""
        session = function.session
        args = redacted_values(job.args)
        run = Run(
            number=next(self._log.numbers),
            function=function.name,
            args=args,
            is_whole=_is_whole(args, job.args),
            started=dt.datetime.now(dt.UTC),
            service=session.service,
            where=session.where,
            to=None if function.options.to is None else os.fspath(function.options.to),
            in_cache=function.may_cache(
                is_sweep=isinstance(job.progress, SweepProgress)
            ),
            entry=function.function,
            options=function.options,
            load_cached=self._load_cached,
        )
        self._log.begin(run, job)
        self._log.warn()
        return run

    def again(self, number: int | str) -> pd.DataFrame:
        """
        Run a run again, with the function as it is listed now, and wait for the DataFrame.

        Raises
        ------
        FuncsError
            There is no such run; its function no longer exists or takes other arguments; or the run failed.
        """
        from jupyter_funcs.sweeps.job import sweep

        run = self.get(number)
        function = self.function(run)
        if run.is_sweep:
            return sweep(function, None, run.args)
        return function(**run.args)

    def function(self, run: Run) -> RemoteCall:
        """Return the function of a run as it is listed now, with the run's options; warn if it has changed."""
        if not run.is_whole:
            raise ArgumentError(
                f"The arguments of run {run.label} were not saved.", "Enter them again."
            )

        if self._session.catalog.peek(run.function) is None:
            raise NotFoundError(
                f"{run.function} is no longer in your catalog.", "See %funcs find."
            )

        function = self._session[run.function]
        if run.entry and (changed := drift(run.entry, function.function)):
            _check_arguments(function, run, changed)
            warn(changed)

        repeated = function.with_options()
        repeated.options = replace(
            run.options or function.options, pairs=run.pairs, to=run.to
        )
        # A single run is repeated instead of read from the cache. A sweep uses the cache as it did before.
        if run.status == "done" and not run.is_sweep:
            age = (dt.datetime.now(dt.UTC) - run.ended).total_seconds()
            return repeated.with_options(max_age=max(age, _LEAST_AGE))

        return repeated

    def save(self, *, on: bool) -> None:
        """
        Turn saving on or off: whether runs of this and later kernels are saved to a file.

        Functions, arguments, times and numbers of rows are saved; results and tokens never are.
        """
        if (file := self._log.file(create=on)) is None:
            return
        file.switch(on=on)
        self._log.warned_of = ""
        if on:
            for run in self._log.runs:
                self._log.save(run)

        file.wait()
        self._log.warn()

    def clear(self) -> int:
        """Delete the saved runs of all kernels and services, and return their number. This kernel's history stays."""
        if (file := self._log.file()) is None:
            return 0
        return file.clear()

    def table(self, *, earlier: bool = False) -> pd.DataFrame:
        """
        Return the runs as a table, with those that the service keeps.

        Parameters
        ----------
        earlier
            Whether to include the saved runs of other kernels.

        Returns
        -------
        DataFrame
            One row per run, oldest first: number, time (local), function, arguments, rows, elapsed (seconds), status,
            variable; and error, if any run failed.
        """
        from jupyter_funcs.frames.text_tables import Listing

        runs = [*self.on_service, *self.runs]
        if earlier:
            runs = [*self.earlier, *runs]
        table = Listing(list(map(_row, runs)), columns=_COLUMNS)
        if all(run.number and not run.kernel for run in runs):
            table["number"] = table["number"].astype("int64")
        table["rows"] = table["rows"].astype("Int64")
        if not any(table["error"]):
            del table["error"]
        table.nothing = _EMPTY
        table.latest = _MOST_SHOWN
        return table

    def __len__(self) -> int:
        return len(self._log.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        html: str = self.table()._repr_html_()  # type: ignore[operator]  # pandas types it as a property
        return html


class _Log:
    """The runs on one service, of all its sessions; it doesn't keep those sessions alive."""

    warned_of = ""

    def __init__(self, service: str) -> None:
        self.service = service
        self.key = uuid.uuid4().hex
        self.numbers = count(1)
        self.runs: list[Run] = []

    def file(self, *, create: bool = False) -> HistoryFile | None:
        """Return the file of saved runs, if it exists or is to be created."""
        path = own_path("history.sqlite")
        with suppress(OSError):  # the home directory is not accessible
            if create or path.exists():
                from jupyter_funcs.records.history_file import at

                return at(path)

        return None

    def begin(self, run: Run, job: Job) -> None:
        run.begin(job)
        self.runs.append(run)
        del self.runs[:-_MOST_RUNS]
        self.save(run)
        job.add_done_callback(partial(self._end, run))

    def _end(self, run: Run, _: Job) -> None:
        run.end()
        self.save(run)

    def save(self, run: Run) -> None:
        if (file := self.file()) is not None:
            file.save(self.key, self.service, run.to_json())

    def warn(self) -> None:
        """Warn of trouble with the file once; from the main thread, because no cell shows warnings of the loop."""
        trouble = getattr(self.file(), "trouble", "")
        is_main = threading.current_thread() is threading.main_thread()
        if trouble and trouble != self.warned_of and is_main:
            self.warned_of = trouble
            warn(f"{trouble} This kernel's history still has its runs.")


# By service: a notebook's own session and the session of the magic share a history.
_logs: dict[tuple[str, str], _Log] = {}
if hasattr(os, "register_at_fork"):
    # Another process has its own history.
    os.register_at_fork(after_in_child=_logs.clear)


def _check_arguments(function: RemoteCall, run: Run, changed: str) -> None:
    """Raise an `ArgumentError` that says what changed, if the function no longer takes the arguments of the run."""
    form = function.form()
    try:
        if run.is_sweep:
            form.update(dict.fromkeys(run.args))
        else:
            form.update(run.args)
            form.check()
    except ArgumentError as error:
        raise ArgumentError(
            changed,
            f"Run it with new arguments. The old ones were {run.arguments}.",
            error.errors,
        ) from None


def _row(run: Run) -> tuple[object, ...]:
    arguments = run.arguments
    if run.is_sweep:
        arguments = f"{plural(run.runs, 'run')}: {arguments}"
    return (
        run.label,
        run.started.astimezone().replace(tzinfo=None, microsecond=0),
        run.function,
        arguments,
        run.rows,
        round(run.elapsed, 2),
        run.status,
        run.variable,
        clip(run.error, _LONGEST_ERROR),
    )


def _load_cached(
    reference: weakref.ref[Client[RemoteCall]], run: Run
) -> pd.DataFrame | None:
    """Return the result of a run if the cache still has it as the run left it; sends nothing."""
    session = reference()
    if session is None:
        return None
    try:
        return _cached_result(session, run)
    except (
        FuncsError,
        RuntimeError,
    ):
        # No listing, no such function, no token or other parameters; or on the loop.
        return None


def _cached_result(session: Client[RemoteCall], run: Run) -> pd.DataFrame | None:
    from jupyter_funcs.sweeps.stacking import stacked

    background.forbid_on_loop()
    function = session[run.function].with_options(
        cache=True, to=None, max_age=math.inf, pairs=run.pairs, most_runs=run.runs
    )
    if run.options:
        function = function.with_options(schema=run.options.schema)
    sweep = None
    runs = [run.args]
    if run.is_sweep:
        sweep = combos(function, None, run.args)
        runs = sweep.runs

    earlier = EarlierResults(function, runs)
    latest = run.ended.timestamp() + _CLOCK_SLACK
    times = {
        at: written
        for at, written in background.run(earlier.find()).items()
        if written <= latest
    }
    frames = {}
    if len(times) == run.runs - run.failed:
        frames = earlier.read(sorted(times))
    if not frames or len(frames) < len(times):
        return None
    if sweep is None:
        return frames[0]
    swept = fields_named(function.fields, sweep.swept)
    frame = stacked(((runs[at], frames[at]) for at in sorted(frames)), swept)
    progress = SweepProgress(
        total=run.runs,
        failed=run.failed,
        cached=len(frames),
        oldest=min(times.values()),
    )
    facts = sweep_facts(function, sweep, progress, run.started.timestamp(), run.elapsed)
    columns: dict[str, Any] = {}
    for part in frames.values():
        columns |= part.attrs.get("funcs", {}).get("columns", {})
    if columns:
        facts["columns"] = columns
    frame.attrs["funcs"] = facts
    return frame


def _is_whole(saved: Args, args: Args) -> bool:
    """Return whether arguments can be saved: none is an object or has a secret in it."""
    try:
        return bool(saved == plain(args))
    except TypeError:
        return False


class RecordedClient(Client[CallT_co]):
    """A client with records, which is what a panel needs of a session: its runs are in the history."""

    @cached_property
    def lock_checker(self) -> LockChecker:
        """Compares the functions that run with ``funcs.lock``."""
        return LockChecker(self.address or "demo")

    @property
    def history(self) -> History:
        """The runs on this service in this kernel: ``funcs.history.get(3)``, ``funcs.history.again(3)``."""
        return History(self)

    @cached_property
    def favourites(self) -> Favourites:
        """The favourite and recent functions."""
        return Favourites(self.address or "demo", own_path("favourites.json"))

    @cached_property
    def presets(self) -> Presets:
        """The presets of this profile: named values for forms."""
        profile = self.service
        if self._connection.synthetic:
            profile = "demo"
        return Presets(profile, presets_file())

    def kept(self, id_: str) -> Job:
        """
        Return the job of a run that the service keeps, by its id; it may be of another kernel.

        Raises
        ------
        NotFoundError
            You have no such run.
        """
        self.catalog  # noqa: B018  # lists the functions, which says whether the service keeps runs
        if not _KEPT_ID.fullmatch(id_):
            raise NotFoundError(
                f"You have no kept run {quote(id_)}.", "See %funcs history."
            )
        run = background.run(self.remote.keeper.look(id_))
        function = self[str(run["FunctionName"])]
        return function.kept(id_, run["Args"], has_ended=run["ended"] is not None)

    def on_run(self, function: RemoteCall, job: Job) -> None:
        """Add a run that has started to the history; note how its function differs from the lock."""
        self.history.add(function, job)
        if note := self.lock_checker.check(function.function):
            job.note(note)

    def _replace_catalog(self, catalog: Catalog) -> None:
        super()._replace_catalog(catalog)
        self.__dict__.pop("lock_checker", None)

"""History: the runs of this kernel, those that earlier ones have kept, and the way to run one of them again."""

from __future__ import annotations

import datetime as dt
import os
import threading
import uuid
import weakref
from dataclasses import fields
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from jupyter_funcs.config import history_file
from jupyter_funcs.drift import drift
from jupyter_funcs.errors import ArgumentError, FuncsError, NotFoundError
from jupyter_funcs.notices import warn
from jupyter_funcs.progress import SweepProgress
from jupyter_funcs.run import Run
from jupyter_funcs.text import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import pandas as pd

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.history_file import HistoryFile
    from jupyter_funcs.jobs import Job
    from jupyter_funcs.options import Options
    from jupyter_funcs.session import Session

_MOST_RUNS = 10_000  # of a kernel; the oldest are forgotten
_LEAST_AGE = 0.001  # seconds
_NOTHING = "Nothing was run yet."


class _Log:
    """The runs with one service, of all sessions with it; it holds none of those sessions."""

    def __init__(self, service: str) -> None:
        self.service = service
        self.key = uuid.uuid4().hex
        self.numbers = count(1)
        self.runs: list[Run] = []
        self.said = ""  # of the trouble with the file

    def file(self, *, is_made: bool = False) -> HistoryFile | None:
        """Give the file of what is kept; ``None`` where there is none, unless it is to be made."""
        path = history_file(os.environ)
        try:
            if not is_made and not path.exists():
                return None
        except OSError:  # a home folder that may not even be looked at
            return None
        from jupyter_funcs.history_file import at  # noqa: PLC0415  # SQLite, for those who have switched it on

        return at(path)

    def begin(self, run: Run, job: Job) -> None:
        run.begin(job)
        self.runs.append(run)
        del self.runs[:-_MOST_RUNS]
        self.keep(run)
        job.add_done_callback(partial(self._end, run))

    def _end(self, run: Run, _: Job) -> None:
        run.end()
        self.keep(run)

    def keep(self, run: Run) -> None:
        if (file := self.file()) is not None:
            file.note(self.key, self.service, run.plain())

    def warn(self) -> None:
        """Warn of trouble with the file: once, and not on the loop, whose warnings no cell shows."""
        file = self.file()
        trouble = "" if file is None else file.trouble
        if trouble and trouble != self.said and threading.current_thread() is threading.main_thread():
            self.said = trouble
            warn(f"{trouble} The runs of this kernel are in its own history all the same.")


# By where the service is: a notebook may have a session of its own beside that of the magic, and means both.
_logs: dict[tuple[str, str], _Log] = {}
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_logs.clear)  # another process has a history of its own


class History:
    """
    The runs with the service of a session, of all the sessions of this kernel with it.

    Parameters
    ----------
    session
        With which a run is run again.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._log = _logs.setdefault((session.address, session.where), _Log(session.address or "demo"))

    @property
    def path(self) -> Path:
        """The file in which runs are kept, where that is switched on."""
        return history_file(os.environ)

    @property
    def runs(self) -> list[Run]:
        """The runs of this kernel, the oldest first."""
        return list(self._log.runs)

    @property
    def earlier(self) -> list[Run]:
        """
        The runs that other kernels have kept, the oldest first; none unless that was switched on.

        Raises
        ------
        ConfigError
            The file they are kept in cannot be read.
        """
        file = self._log.file()
        runs = [] if file is None else [Run.from_plain(*kept) for kept in file.runs(self._log.service, self._log.key)]
        for run in runs:
            run.kept = partial(_recalled, weakref.ref(self._session))
        return runs

    def get(self, number: int | str) -> Run:
        """
        Give a run by its number: ``3``, or ``"14/3"`` for the third run of an earlier kernel.

        Raises
        ------
        NotFoundError
            There is none of this number.
        """
        label = str(number).strip()
        runs = self.earlier if "/" in label else self.runs
        for run in runs:
            if run.label == label:
                return run
        more = " --all" * ("/" in label)
        hint = f"See %funcs history{more}." if runs else "Nothing was run yet." if not more else "None are kept."
        raise NotFoundError(f"There is no run {quote(label)} in the history.", hint)

    def add(self, function: RemoteFunction, job: Job) -> Run:
        """Note a run that was started, and its end when that comes."""
        session = function.session
        run = Run(
            number=next(self._log.numbers),
            function=function.name,
            args=dict(job.args),
            started=dt.datetime.now(dt.UTC),
            service=session.service,
            where=session.where,
            to=None if function.options.to is None else os.fspath(function.options.to),
            in_cache=_goes_to_the_cache(function.options, is_sweep=isinstance(job.progress, SweepProgress)),
            listed=function.function,
            options=function.options,
            kept=partial(_recalled, weakref.ref(self._session)),
        )
        self._log.begin(run, job)
        self._log.warn()
        return run

    def again(self, number: int | str) -> pd.DataFrame:
        """
        Run a run of the history again, with the function as it is listed now, and wait for the DataFrame.

        Parameters
        ----------
        number
            As of `get`.

        Raises
        ------
        FuncsError
            There is no such run, its function is there no longer or takes other arguments now, or the run failed.
        """
        run = self.get(number)
        function = self.function(run)
        return function.sweep(**run.args) if run.is_sweep else function(**run.args)

    def function(self, run: Run) -> RemoteFunction:
        """
        Give the function of a run as it is listed now, with the options of the run.

        Results of the cache are taken only where they are newer than the run; of one that did not end well, all are,
        and so are those of a folder, which never has a run repeated.

        Raises
        ------
        NotFoundError
            It is there no longer.
        ArgumentError
            It takes other arguments now, or those of the run were not kept.

        Warns
        -----
        UserWarning
            It has changed since, in a way that leaves the arguments of the run valid.
        """
        if not run.is_whole:
            raise ArgumentError(f"The arguments of run {run.label} were not kept.", "Give them anew.")
        if self._session.catalog.peek(run.function) is None:
            raise NotFoundError(f"{run.function} is not in your catalog any more.", "See %funcs find.")
        function = self._session[run.function]
        said = drift(run.listed, function.function) if run.listed is not None else ""
        if said:
            _check(function, run, said)
            warn(said)
        as_then = run.options or function.options
        options = {option.name: getattr(as_then, option.name) for option in fields(as_then)}
        options |= {"pairs": run.pairs, "to": run.to}
        if run.status == "done" and not run.error:
            options["max_age"] = max((dt.datetime.now(dt.UTC) - run.ended).total_seconds(), _LEAST_AGE)
        return function.with_options(**options)

    def keep(self, *, on: bool) -> None:
        """
        Keep the runs of this kernel and of later ones for those that follow, or no longer.

        Kept are the function, the arguments, when, how long and how many rows: never a result, and never a token.

        Raises
        ------
        ConfigError
            The file cannot be written.
        """
        if (file := self._log.file(is_made=on)) is None:
            return
        file.switch(on=on)
        self._log.said = ""
        for run in self._log.runs if on else ():
            self._log.keep(run)
        file.wait()
        self._log.warn()

    def clear(self) -> int:
        """
        Delete the runs that are kept, of all kernels and services; give how many those were. This kernel's own stay.

        Raises
        ------
        ConfigError
            The file cannot be written.
        """
        file = self._log.file()
        return 0 if file is None else file.clear()

    def table(self, *, earlier: bool = False) -> pd.DataFrame:
        """
        Give the runs as a table.

        Parameters
        ----------
        earlier
            Also those that other kernels have kept.

        Returns
        -------
        DataFrame
            One row a run, the oldest first: number, time (local), function, arguments, rows, elapsed (seconds),
            status, variable; and error, where any failed.

        Raises
        ------
        ConfigError
            As `earlier`.
        """
        from jupyter_funcs.view import Latest  # noqa: PLC0415  # pandas takes a quarter of a second

        table = Latest(_columns([*(self.earlier if earlier else ()), *self.runs]))
        table.nothing = _NOTHING
        return table

    def __len__(self) -> int:
        """Give the number of runs of this kernel."""
        return len(self._log.runs)

    def __iter__(self) -> Iterator[Run]:
        """Go through the runs of this kernel, the oldest first."""
        return iter(self.runs)

    def __repr__(self) -> str:
        """Give the table."""
        return repr(self.table()) if len(self) else _NOTHING

    def _repr_html_(self) -> str | None:
        html: str | None = self.table()._repr_html_() if len(self) else None  # type: ignore[operator]  # pandas types it as a property
        return html


def _goes_to_the_cache(options: Options, *, is_sweep: bool) -> bool:
    return options.to is None and (options.cache is not False if is_sweep else options.cache is True)


def _recalled(session: weakref.ref[Session], run: Run) -> pd.DataFrame | None:
    from jupyter_funcs.recalled import recalled  # noqa: PLC0415  # what reads results, on first use

    connected = session()
    try:
        if connected is None or connected.catalog.peek(run.function) is None:
            return None
    except (FuncsError, RuntimeError):  # it cannot be listed; or not now, on the loop
        return None
    function = connected[run.function]
    schema = run.options.schema if run.options is not None else None
    return recalled(function if schema is None else function.with_options(schema=schema), run)


def _check(function: RemoteFunction, run: Run, said: str) -> None:
    form = function.form()
    try:
        form.update(dict.fromkeys(run.args) if run.is_sweep else run.args)
        if not run.is_sweep:
            form.check()
    except ArgumentError as error:
        errors = error.errors
    else:
        return
    raise ArgumentError(said, f"Run it with what it takes now; then it was {run.arguments}.", errors)


def _columns(runs: Iterable[Run]) -> dict[str, Any]:
    import pandas as pd  # noqa: PLC0415  # as above

    runs = list(runs)
    has_earlier = any(run.kernel for run in runs)
    columns = {
        "number": [run.label if has_earlier else run.number for run in runs],
        "time": [run.started.astimezone().replace(tzinfo=None, microsecond=0) for run in runs],
        "function": [run.function for run in runs],
        "arguments": [
            f"{run.runs:,} run{'s' * (run.runs != 1)}: {run.arguments}" if run.is_sweep else run.arguments
            for run in runs
        ],
        "rows": pd.array([run.rows for run in runs], dtype="Int64"),
        "elapsed": [round(run.elapsed, 2) for run in runs],
        "status": [run.status for run in runs],
        "variable": [run.variable for run in runs],
    }
    return columns | ({"error": [run.error for run in runs]} if any(run.error for run in runs) else {})

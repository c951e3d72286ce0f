"""
The records of kept runs: a row for each in the database of the accounts, and a file for each result.

A row tells of its file before the file gets its name, so that whatever is interrupted, the two can be brought in line.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.core.files import (
    create_locked,
    finish,
    lock,
    open_regular,
    remove_abandoned,
)
from jupyter_funcs.core.text import size_text

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from jupyter_funcs.core.json_decoding import Values
    from jupyter_funcs.service.accounts.database import Database

WAITING = "waiting"
RUNNING = "running"
DONE = "done"
FAILED = "failed"
CANCELLED = "cancelled"
LOST = "lost"
STATES = (WAITING, RUNNING, DONE, FAILED, CANCELLED, LOST)

Key = tuple[int, str]
"""A user and their own id of a run."""

_DAY_SECONDS = 86_400
# The most that the records' clock advances at once, whatever the system's does; `prune` is called more often.
_MOST_STEP = 3600
_MOST_LISTED = 1000
_MOST_UNFINISHED = 1000
# Of the target of a link, in bytes; some file systems allow no more.
_LONGEST_TARGET = 1000
_LOST = (
    "The service ended before {:%Y-%m-%d %H:%M} UTC, and before the run did. It isn't started again by itself, "
    "because it may have changed data."
)


class KeptLimits(NamedTuple):
    """How long results are kept, and how many bytes of them: of all users, and of each."""

    days: float = 7
    size: int = 10 * 10**9
    size_a_user: int = 10**9


class KeptRun(NamedTuple):
    """A kept run; times are Unix times in seconds, `size` is that of the file of its result."""

    number: int
    user: int
    user_name: str
    id: str
    function: str
    args: str
    state: str
    made: float
    form: Any = None
    typed: int = 0
    address: str | None = None
    owner: str = ""
    starts: int = 0
    wants_cancel: int = 0
    began: float | None = None
    ended: float | None = None
    seconds: float | None = None
    status: int | None = None
    media_type: str | None = None
    warning: str | None = None
    rows: int | None = None
    size: int | None = None
    note: str | None = None

    @property
    def key(self) -> Key:
        return self.user, self.id

    @property
    def has_ended(self) -> bool:
        return self.state not in {WAITING, RUNNING}


class KeptRecords:
    """The records of one service in one process; others may share the database and the folder."""

    def __init__(self, database: Database, folder: Path, limits: KeptLimits) -> None:
        self.limits = limits
        self._database = database
        self._folder = folder
        folder.mkdir(mode=0o700, exist_ok=True)
        # Locked as long as this process runs: others see whether the runs that it owns still do.
        self._owner = secrets.token_hex(8)
        self._claim = create_locked(folder / f"{self._owner}.lock", 0o600)
        # A link for each run without a row, to the name of its owner and, until it ends, to the values of the row.
        self._begun = folder / "begun"
        self._begun.mkdir(mode=0o700, exist_ok=True)
        self._clean()

    def close(self) -> None:
        """Leave the runs that wait to others."""
        with suppress(OSError):
            Path(self._claim.name).unlink()
        self._claim.close()

    def path(self, number: int) -> Path:
        """Return the file of the result of a run."""
        return self._folder / str(number)

    def find(self, user: int, id_: str) -> KeptRun | None:
        return next(iter(self._runs("r.user = ? AND r.id = ?", user, id_)), None)

    def of_user(self, user: int, state: str | None, since: float) -> list[KeptRun]:
        """Return a user's runs, the newest first."""
        condition = """r.user = ? AND r.state = coalesce(?, r.state) AND r.made >= ?
            ORDER BY r.number DESC LIMIT ?"""
        return self._runs(condition, user, state, since, _MOST_LISTED)

    def positions(self) -> dict[int, int]:
        """Return the places of the runs that wait, from 1, by number: users take turns."""
        query = """SELECT number, row_number() OVER (ORDER BY turn, number) FROM (
            SELECT number, row_number() OVER (PARTITION BY user ORDER BY number) AS turn
            FROM kept_runs WHERE state = 'waiting')"""
        return dict(self._database.read(query))

    def has_room(self, user: int) -> bool:
        """Return whether another run of a user can be kept, as far as their unfinished runs say."""
        query = "SELECT count(*) FROM kept_runs WHERE user = ? AND state IN ('waiting', 'running')"
        return bool(self._database.read(query, user)[0][0] < _MOST_UNFINISHED)

    def add(
        self,
        user: int,
        id_: str,
        *values: Any,
        state: str,
        owner: str = "",
        made: float = 0.0,
    ) -> int:
        """Add a run with its function, arguments, form, types and address; return its number, 0 if it is there."""
        made = made or time.time()
        begun = (made, 1) if state == RUNNING else (None, 0)
        with self._database.change() as sql:
            rows = sql.execute(
                _INSERT,
                (user, id_, *values, state, owner or self._owner, made, *begun),
            )
            return next((int(number) for (number,) in rows), 0)

    def begin(self, number: int) -> None:
        """Note that a run begins, before it does: it isn't started twice."""
        self._change(
            "state = 'running', began = ?, starts = starts + 1", time.time(), number
        )

    def _change(self, columns: str, *values: float) -> None:
        with self._database.change() as sql:
            sql.execute(f"UPDATE kept_runs SET {columns} WHERE number = ?", values)  # noqa: S608 - ours

    def end(self, number: int, about: Values, content: bytes | None) -> str | None:
        """Note how a run ended, and write its result into a file; return why that isn't kept, if so."""
        note = None
        size = None if content is None else len(content)
        values = {**about, "kept": self._days, "number": number}
        with self._database.change() as sql:
            if size is not None and (note := self._make_room(sql, number, size)):
                size = None
            values |= {"size": size, "note": note}
            if not sql.execute(_ANNOUNCE, values).rowcount:
                return None  # it was forgotten meanwhile

        if content is not None and size is not None:
            try:
                self._write(number, content)
            except OSError as error:
                note = f"Its result isn't kept: {error.strerror}."
                values |= {"size": None, "note": note}

        with self._database.change() as sql:
            if not sql.execute(_END, values).rowcount:
                self._remove([number])

        return note

    def note_fetched(self, run: KeptRun) -> None:
        """Note that a result was fetched: if there is no room for others, it goes first."""
        with suppress(SetupError):
            self._change("is_fetched = 1", run.number)

    def claim(self, user: int, id_: str, *values: Any) -> bool:
        """Note that a run without a row is this process's, with what `add` takes; False if it is another one's."""
        target = f"{self._owner} {json.dumps(values)}"
        if len(target) > _LONGEST_TARGET:
            target = self._owner
        try:
            self._place(user, id_).symlink_to(target)
        except OSError as error:  # on a full disk, it runs anyway
            return not isinstance(error, FileExistsError)
        return True

    def note_reply(self, user: int, id_: str) -> None:
        """Note that a run without a row has ended: it isn't lost if this process is killed."""
        ended = self._place(user, f"{id_}.ended")
        with suppress(OSError):  # the disk is full
            ended.symlink_to(self._owner)
            ended.replace(self._place(user, id_))

    def release(self, user: int, id_: str) -> None:
        """Note that a run has a row now, or that nothing is left of it."""
        for name in (id_, f"{id_}.wanted"):
            self._place(user, name).unlink(missing_ok=True)

    def demand(self, user: int, id_: str) -> bool:
        """Ask for a row of a run without one; return whether there may be one soon."""
        place = self._place(user, id_)
        owner, values = _claimed(place)
        if not self._is_alive(owner):
            return self._adopted(place, owner, values)
        with suppress(OSError):  # the disk is full
            self._place(user, f"{id_}.wanted").touch()
        return True

    def _adopted(self, place: Path, owner: str, values: str) -> bool:
        """Write the row of a run whose process was killed, if its link says enough; remove the link."""
        if values:
            user, id_ = place.name.split(".")
            # The user may have been removed.
            with suppress(SetupError, OSError):
                self.add(
                    int(user),
                    id_,
                    *json.loads(values),
                    state=RUNNING,
                    owner=owner,
                    made=place.lstat().st_mtime,
                )

        place.unlink(missing_ok=True)
        return bool(values)

    def demanded(self, keys: Iterable[Key]) -> list[Key]:
        """Return the runs of this process, of some users and ids, that another one has asked for."""
        return [
            (user, id_)
            for user, id_ in keys
            if self._place(user, f"{id_}.wanted").exists()
        ]

    def _place(self, user: int, name: str) -> Path:
        return self._begun / f"{user}.{name}"

    def ask_to_cancel(self, run: KeptRun) -> None:
        self._change("wants_cancel = 1", run.number)

    def to_cancel(self) -> list[KeptRun]:
        """Return the runs of this process that are to be cancelled."""
        return self._runs(
            f"r.wants_cancel AND r.owner = ? AND {_UNFINISHED}", self._owner
        )

    def forget(self, run: KeptRun) -> None:
        """Delete a run and its result."""
        with self._database.change() as sql:
            sql.execute("DELETE FROM kept_runs WHERE number = ?", (run.number,))
        self._remove([run.number])

    def orphans(self, read_only: Iterable[str]) -> list[KeptRun]:
        """
        Take over the runs of processes that have ended; return those that are to be started now.

        A run of one of the `read_only` functions is started again once. A run of another function that was running is
        lost, unless its result is there.
        """
        owners = self._database.read(
            f"SELECT DISTINCT owner FROM kept_runs r WHERE owner <> ? AND {_UNFINISHED}",  # noqa: S608 - ours
            self._owner,
        )
        ended = [owner for (owner,) in owners if not self._is_alive(owner)]
        if not ended:
            return []
        safe = set(read_only)
        started = []
        with self._database.change() as sql:
            for run in self._runs(_UNFINISHED):
                if run.owner not in ended:
                    continue
                state, note = self._after(run, safe)
                about = {
                    "state": state,
                    "owner": self._owner,
                    "note": note,
                    "number": run.number,
                    "now": time.time(),
                    "kept": self._days,
                }
                sql.execute(_TAKE_OVER if state == WAITING else _SETTLE, about)
                if state == WAITING:
                    started.append(run)

        remove_abandoned(self._folder.glob("*.lock"))
        return started

    def prune(self) -> None:
        """Advance the clock of the records, and delete what was kept long enough."""
        with self._database.change() as sql:
            sql.execute(_TICK, {"wall": time.time(), "step": _MOST_STEP})
            rows = sql.execute(
                "DELETE FROM kept_runs WHERE expires < (SELECT now FROM kept_clock) RETURNING number"
            ).fetchall()

        self._remove(number for (number,) in rows)

    @property
    def _days(self) -> float:
        return self.limits.days * _DAY_SECONDS

    def _after(self, run: KeptRun, safe: set[str]) -> tuple[str, str | None]:
        """Return what becomes of a run whose process has ended, and a note on it."""
        # All but its row was written.
        if run.size is not None and self.path(run.number).exists():
            return (DONE if run.status == 200 else FAILED), None
        if run.wants_cancel:
            return CANCELLED, None
        if run.state == WAITING or (run.function in safe and run.starts < 2):
            return WAITING, None
        return LOST, _LOST.format(datetime.now(UTC))

    def _make_room(self, sql: sqlite3.Connection, number: int, size: int) -> str | None:
        """Delete results that were fetched, the oldest first, until another one fits; else return why it doesn't."""
        own = "user = (SELECT user FROM kept_runs WHERE number = ?)"
        for most, whose, values in (
            (self.limits.size_a_user, own, (number,)),
            (self.limits.size, "1", ()),
        ):
            query = f"""SELECT number, size, is_fetched FROM kept_runs
                WHERE size AND {whose} ORDER BY number"""  # noqa: S608 - ours
            rows = sql.execute(query, values).fetchall()
            excess = sum(row[1] for row in rows) + size - most
            for other, taken, is_fetched in rows:
                if excess > 0 and is_fetched:
                    sql.execute("DELETE FROM kept_runs WHERE number = ?", (other,))
                    self._remove([other])
                    excess -= taken
            if excess > 0:
                of = "your kept results" if values else "the kept results of all users"
                return (
                    f"Its result isn't kept: {size_text(size)} more would exceed the "
                    f"{size_text(most)} that {of} may take. Delete some of them."
                )

        return None

    def _write(self, number: int, content: bytes) -> None:
        path = self.path(number)
        temporary = path.with_suffix(".part")
        temporary.unlink(missing_ok=True)  # of an earlier start
        try:
            with create_locked(temporary, 0o600) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                finish(file, path)
        finally:
            temporary.unlink(missing_ok=True)

        if os.name == "posix":
            folder = os.open(self._folder, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)

    def _remove(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.path(number).unlink(missing_ok=True)

    def _clean(self) -> None:
        """Bring rows and files in line, and remove what processes that were killed have left."""
        remove_abandoned(self._folder.glob("*.part"))
        # The files first: a row is there before its file.
        files = {
            int(path.name) for path in self._folder.iterdir() if path.name.isdecimal()
        }
        with self._database.change() as sql:
            query = f"SELECT number, size AND NOT ({_UNFINISHED}) FROM kept_runs r"  # noqa: S608 - ours
            rows = dict(sql.execute(query))
            for number in rows.keys() - files:
                if rows[number] and not self.path(number).exists():
                    sql.execute("DELETE FROM kept_runs WHERE number = ?", (number,))

        self._remove(files - rows.keys())
        for place in self._begun.iterdir():
            owner, values = _claimed(place)
            if not self._is_alive(owner):
                self._adopted(place, owner, values)

    def _is_alive(self, owner: str) -> bool:
        try:
            with open_regular(self._folder / f"{owner}.lock") as file:
                return lock(file, waits=False) is False
        except OSError:
            return False

    def _runs(self, condition: str, *values: Any) -> list[KeptRun]:
        query = f"SELECT {_COLUMNS} FROM kept_runs r JOIN users u ON u.id = r.user WHERE {condition}"  # noqa: S608 - ours
        return [KeptRun(*row) for row in self._database.read(query, *values)]


def _claimed(place: Path) -> tuple[str, str]:
    """Return the owner that a link names, and the values of a row; nothing if it isn't there."""
    target = ""
    with suppress(OSError):
        target = os.readlink(place)  # noqa: PTH115 - a path would lose slashes
    owner, _, values = target.partition(" ")
    return owner, values


_UNFINISHED = "r.state IN ('waiting', 'running')"
_COLUMNS = ", ".join(
    "u.name" if name == "user_name" else f"r.{name}" for name in KeptRun._fields
)
_INSERT = """INSERT INTO kept_runs
    (user, id, function, args, form, typed, address, state, owner, made, began, starts)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING number"""
_ANNOUNCE = """UPDATE kept_runs
    SET status = :status, media_type = :media_type, warning = :warning, rows = :rows,
        size = :size, note = :note, seconds = :seconds
    WHERE number = :number"""
_END = """UPDATE kept_runs SET state = :state, ended = :ended, size = :size, note = :note,
    expires = (SELECT now FROM kept_clock) + :kept WHERE number = :number"""
# The file that a row tells of may not have come.
_SETTLE = """UPDATE kept_runs SET state = :state, owner = :owner, note = :note, ended = :now,
    size = CASE WHEN :state IN ('done', 'failed') THEN size END,
    expires = (SELECT now FROM kept_clock) + :kept WHERE number = :number"""
_TAKE_OVER = """UPDATE kept_runs SET state = :state, owner = :owner, note = :note, began = NULL,
    status = NULL, size = NULL WHERE number = :number"""
# A clock of its own, which neither jumps nor goes back: results aren't deleted early because the system's does.
_TICK = """UPDATE kept_clock SET wall = :wall,
    now = now + min(max(:wall - wall, 0), :step)"""

"""
One SQLite file that several processes may read and change at once: each change is whole or not at all.

SQLite and not DuckDB, for `admin` changes accounts while `serve` runs, and DuckDB lets one process open a file for
writing; nor does it need a server of its own. In WAL mode a reader never waits for a writer.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

from .errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

# Written into the file, so that another program's database is not taken for one of accounts: "jfun".
_APPLICATION = 0x6A66756E
# STRICT tables came with it.
_OLDEST_SQLITE = (3, 37)

_ADVICE = {
    sqlite3.SQLITE_BUSY: "Another process is changing it; try again when that is done.",
    sqlite3.SQLITE_LOCKED: "Another process is changing it; try again when that is done.",
    sqlite3.SQLITE_NOTADB: "Move the file away to begin anew, or name another state folder in FUNCS_STATE_DIR.",
    sqlite3.SQLITE_CORRUPT: "Move the file away and put a copy of an earlier day in its place.",
}
_OTHERWISE = "See that the disk has room, and that you may write the file and its folder."


class Database:
    """
    A database, in a file or in memory, that any number of threads may use.

    Parameters
    ----------
    path
        Where the file is or will be, readable by its owner alone; `None` keeps everything in memory.
    wait
        How long to wait for another process's change, in seconds.

    Raises
    ------
    SetupError
        By every method too: the file is no database, cannot be written, or is locked for too long.
    """

    def __init__(self, path: Path | None, *, wait: float = 5.0) -> None:
        self._path = path
        self._wait = wait
        self._changing = threading.RLock()
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            raise SetupError(f"SQLite is {sqlite3.sqlite_version}; accounts need 3.37 or newer. Update Python.")
        if path is not None:
            self._make_private(path)
        with self._translated():
            self._writer = self._connect()
            # In memory there is one connection; in a file a second one reads while the first changes.
            self._reader, self._reading = self._writer, self._changing
            weakref.finalize(self, self._writer.close)
            self._version()  # another program's database stays as it is
            if path is not None:
                self._use_wal()
                self._reader, self._reading = self._connect(), threading.RLock()
                weakref.finalize(self, self._reader.close)

    def read(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Give the rows of a query as they were last committed."""
        with self._reading, self._translated():
            return self._reader.execute(query, values).fetchall()

    @contextlib.contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """
        Give a connection for one change, which is committed at the end and undone when anything is raised.

        A change inside of a change is part of it.
        """
        with self._changing, self._translated():
            if self._writer.in_transaction:
                yield self._writer
                return
            # The lock is taken before anything is read: what a change decides by stays true until its end.
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.commit()
            finally:
                self._writer.rollback()  # of what was not committed

    def upgrade(self, schema: Sequence[Sequence[str]], fill: Callable[[], None]) -> None:
        """
        Bring the tables to their newest version.

        Parameters
        ----------
        schema
            The statements that make version 1 of an empty database, then those that make each next one.
        fill
            Called when the database was empty, within the change that makes the tables.

        Raises
        ------
        SetupError
            The database is another program's, or of a newer version.
        """
        if self._version() == len(schema):
            return
        with self.change() as sql:
            version = self._version()
            if version > len(schema):
                raise SetupError(
                    f"{self._path} is of version {version}; this release knows {len(schema)}.\nUpdate jupyter-funcs."
                )
            for number, statements in enumerate(schema[version:], version + 1):
                for statement in statements:
                    sql.execute(statement)
                sql.execute(f"PRAGMA user_version = {number}")
            sql.execute(f"PRAGMA application_id = {_APPLICATION}")
            if version == 0:
                fill()

    def close(self) -> None:
        """Close the file; nothing may be asked afterwards."""
        with self._changing, self._reading:
            self._reader.close()
            self._writer.close()

    def _connect(self) -> sqlite3.Connection:
        name = ":memory:" if self._path is None else str(self._path)
        connection = sqlite3.connect(name, timeout=self._wait, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    def _make_private(self, path: Path) -> None:
        try:
            # Not opened where it exists: closing it would end the locks that this process has on the file.
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            with contextlib.suppress(PermissionError):  # another's file: whether it can be used, SQLite says
                path.chmod(0o600)
        except OSError as error:
            raise SetupError(f"{path} cannot be made: {error.strerror}.\n{_OTHERWISE}") from None

    def _use_wal(self) -> None:
        # SQLite does not wait when two processes do this to a new file at the same moment.
        end = time.monotonic() + self._wait
        while True:
            try:
                self._writer.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
                time.sleep(0.01)
            else:
                return

    def _version(self) -> int:
        with self._translated():
            # In one statement: another process may be creating the tables.
            ((application, version, tables),) = self._writer.execute(
                """SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)
                FROM pragma_application_id, pragma_user_version"""
            )
        if application != _APPLICATION and (application or version or tables):
            raise SetupError(f"{self._path} is a database of another program.\n{_ADVICE[sqlite3.SQLITE_NOTADB]}")
        return int(version)

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            advice = _ADVICE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, _OTHERWISE)
            raise SetupError(f"{self._path or 'The database'} cannot be used: {error}.\n{advice}") from None

"""
A SQLite file that several processes can read and change at once, in transactions.

SQLite because `admin` changes accounts while `serve` runs: DuckDB lets only one process write a file. In WAL mode,
readers never wait for a writer.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core.errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

# "jfun", written into the file to tell it from another program's database.
_APPLICATION_ID = 0x6A66756E
# The first with STRICT tables.
_OLDEST_SQLITE = (3, 37)

_ADVICE = {
    sqlite3.SQLITE_BUSY: "Another process is changing it; try again when it has finished.",
    sqlite3.SQLITE_LOCKED: "Another process is changing it; try again when it has finished.",
    sqlite3.SQLITE_NOTADB: "Move the file away to start over, or set FUNCS_STATE_DIR to another state folder.",
    sqlite3.SQLITE_CORRUPT: "Move the file away and restore a backup.",
}
_CLOSE_SECONDS = 2.0
_OTHER_ADVICE = "Check the free disk space, and that you have write access to the file and its folder."


class Database:
    """A database in a file or in memory, for any number of threads."""

    def __init__(self, path: Path | None, *, wait: float = 5.0) -> None:
        self.path = path
        self._wait = wait
        self._changing = threading.RLock()
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            raise SetupError(
                f"SQLite is {sqlite3.sqlite_version}; accounts need 3.37 or newer. Update Python."
            )

        if path:
            self._make_private(path)
        with self._translated():
            self._writer = self._connect()
            # A file gets a second connection, which reads while the first one writes.
            self._reader = self._writer
            self._reading = self._changing
            weakref.finalize(self, _close, self._writer, self._changing)
            # Before anything is written: refuses another program's database.
            self._version()
            if path:
                self._use_wal()
                self._reader = self._connect()
                self._reading = threading.RLock()
                weakref.finalize(self, _close, self._reader, self._reading)

    def read(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query over the committed state."""
        with self._reading, self._translated():
            return self._reader.execute(query, values).fetchall()

    @contextlib.contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """
        Open a transaction: committed at the end, rolled back on any exception.

        A nested change joins the outer transaction.
        """
        with self._changing, self._translated():
            if self._writer.in_transaction:
                yield self._writer
                return
            # Take the lock before the first read, so that what the change has read stays true until it commits.
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.commit()
            finally:
                self._writer.rollback()  # does nothing after a commit

    def check(self) -> None:
        """Raise `SetupError` unless a change can be written."""
        with self.change() as sql:
            sql.execute(f"PRAGMA user_version = {self._version()}")

    def upgrade(
        self, schema: Sequence[Sequence[str]], fill: Callable[[], None]
    ) -> None:
        """Migrate the tables to the newest version of the schema; `fill` adds the first rows of a new database."""
        if self._version() == len(schema):
            return
        with self.change() as sql:
            version = self._version()
            if version > len(schema):
                raise SetupError(
                    f"{self.path} has version {version}; this release supports {len(schema)}.\nUpdate jupyter-funcs."
                )
            for number, statements in enumerate(schema[version:], version + 1):
                for statement in statements:
                    sql.execute(statement)
                sql.execute(f"PRAGMA user_version = {number}")
            sql.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            if version == 0:
                fill()

    def close(self) -> None:
        with self._changing, self._reading:
            self._reader.close()
            self._writer.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path or ":memory:",
            timeout=self._wait,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    def _make_private(self, path: Path) -> None:
        try:
            # Never open an existing file: closing it would release this process's locks on it.
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            # Somebody else's file: SQLite reports whether it can be used.
            with contextlib.suppress(PermissionError):
                path.chmod(0o600)
        except OSError as error:
            raise SetupError(
                f"{path} cannot be created: {error.strerror}.\n{_OTHER_ADVICE}"
            ) from None

    def _use_wal(self) -> None:
        # SQLite doesn't wait when two processes switch a new file to WAL at the same moment.
        end = time.monotonic() + self._wait
        while True:
            try:
                self._writer.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if (
                    error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY
                    or time.monotonic() > end
                ):
                    raise
                time.sleep(0.01)
            else:
                return

    def _version(self) -> int:
        with self._translated():
            # One statement, because another process may be creating the tables.
            ((application, version, tables),) = self._writer.execute(
                """SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)
                FROM pragma_application_id, pragma_user_version"""
            )

        if application != _APPLICATION_ID and (application or version or tables):
            raise SetupError(
                f"{self.path} is the database of another program.\n{_ADVICE[sqlite3.SQLITE_NOTADB]}"
            )

        return int(version)

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            advice = _ADVICE.get(
                getattr(error, "sqlite_errorcode", 0) & 0xFF, _OTHER_ADVICE
            )
            raise SetupError(
                f"{self.path or 'The database'} cannot be used: {error}.\n{advice}"
            ) from None


def _close(connection: sqlite3.Connection, lock: threading.RLock) -> None:
    """Close a connection, unless a thread is inside of it: SQLite would crash the process."""
    if lock.acquire(timeout=_CLOSE_SECONDS):
        connection.close()
        lock.release()

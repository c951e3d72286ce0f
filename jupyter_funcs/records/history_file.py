"""
The saved runs of all kernels, in a small SQLite file. It exists only if a user switched saving on.

One thread writes it, so that a slow or locked file delays no run. It never has results or tokens.
"""

from __future__ import annotations

import atexit
import json
import os
import sqlite3
import threading
from concurrent import futures
from contextlib import closing, contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as as_uri

from jupyter_funcs.connection.secrets import known_secrets
from jupyter_funcs.core.errors import ConfigError
from jupyter_funcs.core.text import clip, inert

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_Run = dict[str, Any]
_Waiting = dict[tuple[str, int], tuple[str, _Run]]
_BUSY_SECONDS = 5.0
_MOST_RUNS = 10_000  # older runs are deleted
_LONGEST_RUN = 2**20  # characters; a longer run is saved without its arguments
# Marks the file as ours, so that no other file is changed if FUNCS_HISTORY names one.
_MARK = 0x66756E63
_VERSION = 1
_SCHEMA = f"""
BEGIN;
PRAGMA application_id = {_MARK};
PRAGMA user_version = {_VERSION};
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS kernels (
  id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE NOT NULL, service TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS runs (
  kernel INTEGER NOT NULL, number INTEGER NOT NULL, started TEXT NOT NULL, run TEXT NOT NULL,
  PRIMARY KEY (kernel, number)
);
COMMIT;
"""
_OTHER_FILE = "Move the file, or name another one in FUNCS_HISTORY."


class HistoryFile:
    """The file of saved runs, which exists, except before `switch`."""

    trouble = ""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writer = futures.ThreadPoolExecutor(1, "jupyter_funcs_history")
        self._lock = threading.Lock()
        # The latest state of each run that is not written yet.
        self._waiting: _Waiting = {}
        self._pid = os.getpid()
        atexit.register(self._write_rest)  # called after the writer has ended

    def switch(self, *, on: bool) -> None:
        """Save runs from now on, or stop; saved runs stay."""
        self.wait()
        self._create()
        with self._connected() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO settings VALUES ('on', ?)", (str(int(on)),)
            )

        self.trouble = ""

    def clear(self) -> int:
        """Delete all saved runs, and return their number."""
        self.wait()
        with self._connected() as connection:
            # Overwrite the deleted rows.
            connection.execute("PRAGMA secure_delete = ON")
            number = connection.execute("DELETE FROM runs").rowcount
            connection.execute("DELETE FROM kernels")

        return int(number)

    def runs(self, service: str, except_kernel: str) -> list[tuple[int, str]]:
        """Return the saved runs of the other kernels, oldest first, as JSON, each with the number of its kernel."""
        query = (
            "SELECT kernels.id, runs.run FROM runs JOIN kernels ON kernels.id = runs.kernel "
            "WHERE kernels.service = ? AND kernels.key != ? ORDER BY runs.started, runs.kernel, runs.number"
        )
        with self._connected() as connection:
            return list(connection.execute(query, (service, except_kernel)))

    def save(self, kernel: str, service: str, run: _Run) -> None:
        """Save the state of a run in the background, replacing an earlier state."""
        with self._lock:
            self._waiting[kernel, run["number"]] = (service, run)
        with suppress(RuntimeError):  # the process is ending, and starts no more work
            self._writer.submit(self._write)

    def wait(self) -> None:
        """Wait until all runs are written, or cannot be."""
        self._writer.submit(self._write).result()

    def _write(self) -> None:
        with self._lock:
            pending = self._waiting
            self._waiting = {}

        try:
            if pending:
                with self._connected() as connection:
                    _save(connection, pending)
        except ConfigError as error:
            with self._lock:  # the next run tries again
                self._waiting = pending | self._waiting
                self.trouble = error.what

    def _write_rest(self) -> None:
        # A forked process has a copy of what its parent writes.
        if self._pid == os.getpid():
            self._write()

    def _create(self) -> None:
        is_new = not self.path.exists()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Only for this user.
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise ConfigError(
                f"Runs cannot be saved in {self.path}: {error.strerror or type(error).__name__}.",
                "Name another file in FUNCS_HISTORY.",
            ) from None

        try:
            with self._connected(is_new=True) as connection:
                connection.executescript(_SCHEMA)
        except ConfigError:
            if is_new:
                self.path.unlink(missing_ok=True)
            raise

    @contextmanager
    def _connected(self, *, is_new: bool = False) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction, if it exists and is ours."""
        # Without a write-ahead log, which needs shared memory and two more files.
        try:
            uri = f"file:{as_uri(str(self.path.absolute()))}?mode=rw"
            with (
                closing(
                    sqlite3.connect(uri, timeout=_BUSY_SECONDS, uri=True)
                ) as connection,
                connection,
            ):
                [mark] = connection.execute("PRAGMA application_id").fetchone()
                [version] = connection.execute("PRAGMA user_version").fetchone()
                has_tables = connection.execute(
                    "SELECT 1 FROM sqlite_master"
                ).fetchone()
                if mark != _MARK and (has_tables or not is_new):
                    raise ConfigError(
                        f"{self.path} isn't a history of jupyter_funcs.", _OTHER_FILE
                    )
                if version > _VERSION:
                    raise ConfigError(
                        f"{self.path} was written by a newer jupyter_funcs.",
                        _OTHER_FILE,
                    )
                yield connection
        except sqlite3.Error as error:
            wrong = clip(inert(str(error)))
            raise ConfigError(
                f"The history in {self.path} cannot be used: {wrong}.", _OTHER_FILE
            ) from None


# Not "OR IGNORE", which uses up a number.
_NEW_KERNEL = """
INSERT INTO kernels (key, service) SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM kernels WHERE key = ?)
"""
_OLDEST = """
DELETE FROM runs WHERE rowid IN (SELECT rowid FROM runs ORDER BY started DESC, number DESC LIMIT -1 OFFSET ?)
"""


def _save(connection: sqlite3.Connection, pending: _Waiting) -> None:
    is_on = connection.execute(
        "SELECT 1 FROM settings WHERE name = 'on' AND value = '1'"
    ).fetchone()
    tokens = known_secrets()
    for (key, number), (service, run) in pending.items():
        text = _json(run, tokens)
        if is_on:
            connection.execute(_NEW_KERNEL, (key, service, key))
            saved = "INSERT OR REPLACE INTO runs SELECT id, ?, ?, ? FROM kernels WHERE key = ?"
            connection.execute(saved, (number, run["started"], text, key))
        else:  # only note the end of runs that are saved already
            ended = "UPDATE runs SET run = ? WHERE number = ? AND kernel = (SELECT id FROM kernels WHERE key = ?)"
            connection.execute(ended, (text, number, key))

    if is_on:
        connection.execute(_OLDEST, (_MOST_RUNS,))


def _json(run: _Run, tokens: list[str]) -> str:
    """Return a run as JSON, without its arguments if they are too long or contain a token."""
    text = json.dumps(run)
    if len(text) <= _LONGEST_RUN and not any(
        json.dumps(token)[1:-1] in text for token in tokens
    ):
        return text

    return json.dumps({**run, "args": {}, "is_whole": False, "error": ""})


@cache
def at(path: Path) -> HistoryFile:
    """Return the history at a path; always the same object for a path."""
    return HistoryFile(path)


if hasattr(os, "register_at_fork"):
    # The parent's thread doesn't exist here.
    os.register_at_fork(after_in_child=at.cache_clear)

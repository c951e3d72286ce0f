"""
The history of earlier kernels: a small SQLite file of arguments, which a person switches on.

It is written by one thread, so that a file that is locked or slow holds up no run. Never in it: a result, a token.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from concurrent import futures
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as as_uri

from jupyter_funcs.errors import ConfigError
from jupyter_funcs.secret import in_use
from jupyter_funcs.text import clip, inert

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BUSY_SECONDS = 5.0
_MOST_RUNS = 10_000  # the oldest are deleted
_LONGEST_RUN = 2**20  # characters: the arguments of a longer one are not kept
# Marks the file as ours: whatever else a variable of the environment names is left as it is.
_MARK, _VERSION = 0x66756E63, 1
_MADE = f"""
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
"""
_NO_LONGER = "Move it away, or name another file in FUNCS_HISTORY."


class HistoryFile:
    """
    The runs of all kernels of a user who has switched that on.

    Parameters
    ----------
    path
        The file; it need not exist.

    Attributes
    ----------
    trouble
        Why runs are not kept although they should be, in words; empty while they are.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trouble = ""
        self._writer: futures.ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        # What is to be written: of each run how it stands last.
        self._waiting: dict[tuple[str, int], tuple[str, dict[str, Any]]] = {}
        self._writing: futures.Future[None] | None = None

    @property
    def is_on(self) -> bool:
        """
        Whether runs are kept.

        Raises
        ------
        ConfigError
            The file cannot be read.
        """
        if not self.path.exists():
            return False
        with self._connected() as connection:
            return _is_on(connection)

    def switch(self, *, on: bool) -> None:
        """
        Keep runs from now on, or no longer; those that are kept already stay.

        Raises
        ------
        ConfigError
            The file cannot be written.
        """
        if not on and not self.path.exists():
            return
        self.wait()
        self._make()
        with self._connected() as connection:
            connection.execute("INSERT OR REPLACE INTO settings VALUES ('on', ?)", (str(int(on)),))
        self.trouble = ""

    def clear(self) -> int:
        """
        Delete what is kept; give how many runs that were.

        Raises
        ------
        ConfigError
            The file cannot be written, or is no history.
        """
        self.wait()
        if not self.path.exists():
            return 0
        with self._connected() as connection:
            connection.execute("PRAGMA secure_delete = ON")  # overwritten, not only left out
            number = connection.execute("DELETE FROM runs").rowcount
            connection.execute("DELETE FROM kernels")
        return int(number)

    def runs(self, service: str, besides: str) -> list[tuple[int, dict[str, Any]]]:
        """
        Give the runs that are kept, the oldest first, each with the number of its kernel.

        Parameters
        ----------
        service
            Where they were run.
        besides
            The key of a kernel whose runs are left out.

        Raises
        ------
        ConfigError
            The file cannot be read.
        """
        if not self.path.exists():
            return []
        asked = (
            "SELECT kernels.id, runs.run FROM runs JOIN kernels ON kernels.id = runs.kernel "
            "WHERE kernels.service = ? AND kernels.key != ? ORDER BY runs.started, runs.kernel, runs.number"
        )
        with self._connected() as connection:
            found = connection.execute(asked, (service, besides)).fetchall()
        return [(int(kernel), json.loads(run)) for kernel, run in found]

    def note(self, key: str, service: str, run: dict[str, Any]) -> None:
        """Keep how a run stands, in the background; one that was noted before is overwritten."""
        if not self.path.exists():  # never switched on: the usual case costs no thread
            return
        with self._lock:
            self._waiting[key, run["number"]] = (service, run)
            if self._writing is None or self._writing.done():
                self._writer = self._writer or futures.ThreadPoolExecutor(1, "jupyter_funcs_history")
                self._writing = self._writer.submit(self._write)

    def wait(self) -> None:
        """Wait until all that was noted is written, or cannot be."""
        with self._lock:
            writing = self._writing
        if writing is not None:
            futures.wait([writing])

    def _write(self) -> None:
        while True:
            with self._lock:
                taken = dict(self._waiting)
                if not taken:
                    self._writing = None
                    return
            try:
                with self._connected() as connection:
                    _keep(connection, taken, is_on=_is_on(connection))
            except ConfigError as error:
                with self._lock:
                    self.trouble = error.what
                    self._writing = None
                return  # they wait for the next one
            with self._lock:
                self._waiting = {at: run for at, run in self._waiting.items() if taken.get(at) is not run}

    def _make(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))  # for its user alone
        except OSError as error:
            raise ConfigError(
                f"No history can be kept in {self.path}: {error.strerror or type(error).__name__}.",
                "Name another file in FUNCS_HISTORY.",
            ) from None
        with self._connected(is_new=True) as connection:
            connection.executescript(_MADE)

    @contextmanager
    def _connected(self, *, is_new: bool = False) -> Iterator[sqlite3.Connection]:
        """Give the file for one transaction; only one that is there, and ours."""
        # Without a write-ahead log, which needs shared memory and two files more: what is written here is a line.
        try:
            uri = f"file:{as_uri(str(self.path.absolute()))}?mode=rw"
            with closing(sqlite3.connect(uri, timeout=_BUSY_SECONDS, uri=True)) as connection, connection:
                (mark,), (version,) = (connection.execute(f"PRAGMA {name}").fetchone() for name in _OURS)
                has_tables = connection.execute("SELECT 1 FROM sqlite_master").fetchone() is not None
                if mark != _MARK and (has_tables or not is_new):
                    raise ConfigError(f"{self.path} is no history of jupyter_funcs.", _NO_LONGER)
                if version > _VERSION:
                    raise ConfigError(f"{self.path} is of a newer jupyter_funcs.", _NO_LONGER)
                yield connection
        except sqlite3.Error as error:
            wrong = clip(inert(str(error)))
            raise ConfigError(f"The history in {self.path} cannot be used: {wrong}.", _NO_LONGER) from None


_OURS = ("application_id", "user_version")
_KERNEL = "INSERT INTO kernels (key, service) VALUES (?, ?)"
_IS_KEPT = "SELECT 1 FROM runs WHERE kernel = ? AND number = ?"
_OLDEST = """
DELETE FROM runs WHERE rowid IN (SELECT rowid FROM runs ORDER BY started DESC, number DESC LIMIT -1 OFFSET ?)
"""


def _is_on(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT value FROM settings WHERE name = 'on'").fetchone() == ("1",))


def _keep(
    connection: sqlite3.Connection, taken: dict[tuple[str, int], tuple[str, dict[str, Any]]], *, is_on: bool
) -> None:
    tokens = in_use()
    for (key, number), (service, run) in taken.items():
        found = connection.execute("SELECT id FROM kernels WHERE key = ?", (key,)).fetchone()
        if not is_on and not (found and connection.execute(_IS_KEPT, (found[0], number)).fetchone()):
            continue  # but a run that is kept gets its end
        kernel = found[0] if found else connection.execute(_KERNEL, (key, service)).lastrowid
        row = (kernel, number, run["started"], _written(run, tokens))
        connection.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?)", row)
    if is_on:
        connection.execute(_OLDEST, (_MOST_RUNS,))


def _written(run: dict[str, Any], tokens: list[str]) -> str:
    """Give a run as JSON; without its arguments where they are too long, or hold a token."""
    text = json.dumps(run)
    if len(text) <= _LONGEST_RUN and not any(json.dumps(token)[1:-1] in text for token in tokens):
        return text
    return json.dumps({**run, "args": {}, "is_whole": False, "error": ""})


_files: dict[Path, HistoryFile] = {}


def at(path: Path) -> HistoryFile:
    """Give the history in a file; one for all that name it."""
    return _files.setdefault(path, HistoryFile(path))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_files.clear)  # the thread stays behind in the parent

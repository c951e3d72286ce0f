"""Account and audit records, the database schema, and how names compare."""

from __future__ import annotations

import contextlib
import getpass
import logging
import os
import time
import unicodedata
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.core.text import exact

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

    from jupyter_funcs.service.accounts.database import Database

log = logging.getLogger(__name__)

LONGEST_NAME = 200
"""The most characters of a name or an email."""

_LONGEST_TEXT = 4096
# More wait to be written only while the disk is full or another process holds the database.
_MOST_PENDING = 10_000
# Records are written together with those of this time: a thread and a transaction for each would cost more than a run.
_WRITE_SECONDS = 0.05
# Of a million records it takes a tenth of a second to find the old ones.
_BETWEEN_PRUNINGS = 1000


class Asset(NamedTuple):
    """A group of functions that users are granted together."""

    id: int
    name: str
    organisation: str
    is_shared: bool


class User(NamedTuple):
    """A user as a request sees them."""

    id: int
    name: str


class Account(NamedTuple):
    """A user as the operator sees them; `made` is a Unix time in seconds."""

    name: str
    email: str | None
    organisation: str
    is_disabled: bool
    has_password: bool
    made: float


class Grant(NamedTuple):
    """The right of a user to run the functions of an asset."""

    user: str
    asset: str
    organisation: str


class ApiKey(NamedTuple):
    """An API key without its secret; `made` and `ends` (`None`: never) are Unix times in seconds."""

    id: int
    user: str
    label: str
    made: float
    ends: float | None


class AuditRecord(NamedTuple):
    """Something that was done or refused; `time` in ISO 8601 (UTC), `seconds` the duration of a run."""

    time: str
    user: str | None
    action: str
    target: str | None
    detail: str | None = None
    address: str = "shell"
    outcome: str = "ok"
    seconds: float | None = None
    rows: int | None = None


SCHEMA = (
    (
        """CREATE TABLE organisations (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL,
            folded TEXT NOT NULL UNIQUE
        ) STRICT""",
        """CREATE TABLE assets (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            organisation INTEGER NOT NULL REFERENCES organisations,
            name TEXT NOT NULL,
            folded TEXT NOT NULL UNIQUE,
            is_shared INTEGER NOT NULL CHECK (is_shared IN (0, 1)),
            UNIQUE (organisation, id)
        ) STRICT""",
        """CREATE TABLE users (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            organisation INTEGER NOT NULL REFERENCES organisations,
            name TEXT NOT NULL,
            folded TEXT NOT NULL UNIQUE,
            email TEXT,
            folded_email TEXT UNIQUE,
            password TEXT,
            is_disabled INTEGER NOT NULL DEFAULT 0 CHECK (is_disabled IN (0, 1)),
            made REAL NOT NULL,
            valid_from REAL NOT NULL,
            UNIQUE (organisation, id)
        ) STRICT""",
        # Both foreign keys include the organisation, so that only its own users can get a grant.
        """CREATE TABLE grants (
            user INTEGER NOT NULL,
            asset INTEGER NOT NULL,
            organisation INTEGER NOT NULL,
            PRIMARY KEY (user, asset),
            FOREIGN KEY (organisation, user) REFERENCES users (organisation, id) ON DELETE CASCADE,
            FOREIGN KEY (organisation, asset) REFERENCES assets (organisation, id) ON DELETE CASCADE
        ) STRICT, WITHOUT ROWID""",
        "CREATE INDEX grants_by_asset ON grants (asset)",
        """CREATE TABLE keys (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            user INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
            label TEXT NOT NULL,
            hash BLOB NOT NULL,
            made REAL NOT NULL,
            ends REAL
        ) STRICT""",
        "CREATE INDEX keys_by_user ON keys (user)",
        """CREATE VIEW users_at AS
            SELECT u.*, o.name AS at FROM users u JOIN organisations o ON o.id = u.organisation""",
        """CREATE VIEW assets_at AS
            SELECT a.*, o.name AS at FROM assets a JOIN organisations o ON o.id = a.organisation""",
    ),
    (
        # Names, not ids: a record outlives the account.
        """CREATE TABLE audit (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            time TEXT NOT NULL,
            user TEXT,
            action TEXT NOT NULL,
            target TEXT,
            detail TEXT,
            address TEXT NOT NULL,
            outcome TEXT NOT NULL,
            seconds REAL,
            rows INTEGER
        ) STRICT""",
        "CREATE INDEX audit_by_time ON audit (time)",
        "CREATE INDEX audit_by_action ON audit (action)",
    ),
    (
        # A number isn't used again: it names the file of a result.
        """CREATE TABLE kept_runs (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            user INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
            id TEXT NOT NULL,
            function TEXT NOT NULL,
            args TEXT NOT NULL,
            form TEXT NOT NULL,
            typed INTEGER NOT NULL,
            address TEXT,
            state TEXT NOT NULL,
            owner TEXT NOT NULL,
            starts INTEGER NOT NULL DEFAULT 0,
            wants_cancel INTEGER NOT NULL DEFAULT 0,
            is_fetched INTEGER NOT NULL DEFAULT 0,
            made REAL NOT NULL,
            began REAL,
            ended REAL,
            expires REAL,
            seconds REAL,
            status INTEGER,
            media_type TEXT,
            warning TEXT,
            rows INTEGER,
            size INTEGER,
            note TEXT,
            UNIQUE (user, id)
        ) STRICT""",
        "CREATE INDEX kept_runs_by_state ON kept_runs (state)",
        "CREATE TABLE kept_clock (now REAL NOT NULL, wall REAL NOT NULL) STRICT",
        "INSERT INTO kept_clock VALUES (0, 0)",
    ),
)
"""One group of statements per version of the database; the first creates it, the others migrate it."""


def folded(name: str) -> str | None:
    """Return the form in which names are compared; `None` for an invalid name, which SQL never finds equal."""
    if not name.isprintable() or len(name) > LONGEST_NAME:
        return None
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


class Audit:
    """
    What was done in a service: by whom, when, from where, and with which outcome.

    A change of the accounts is recorded in its own transaction. A thread records the rest, so that no run waits.
    """

    def __init__(self, database: Database) -> None:
        self.days: float = 90
        self.rows = 1_000_000
        self._database = database
        self._pending: deque[AuditRecord] = deque(maxlen=_MOST_PENDING)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="write the audit")
        self._is_due = False
        self._until_pruning = 0

    def change(
        self, action: str, target: str | None, detail: str | None = None
    ) -> None:
        """Record a change by the user of this process, in the open transaction if there is one."""
        with self._database.change() as sql:
            sql.execute(_INSERT, _record(_operator(), action, target, detail))

    def record(self, action: str, user: str | None, *others: Any) -> None:
        """Record an event soon, with the other columns in order; never raises or waits."""
        if not self._database.path:  # nobody could read it
            return
        self._pending.append(_record(user, action, *others))
        if not self._is_due:
            self._is_due = True
            with contextlib.suppress(RuntimeError):  # the process is ending
                self._writer.submit(self._write, _WRITE_SECONDS)

    def served(self, config: str | None) -> list[str]:
        """Record a start with a configuration file; return the others that were served with this database."""
        with self._database.change() as sql:
            query = "SELECT DISTINCT target FROM audit WHERE action = 'serve' AND target <> ?"
            others = [path for (path,) in sql.execute(query, (config,))]
            self.change("serve", config)
        return others

    def published(self, sources: Mapping[str, str]) -> None:
        """Record which functions are new, changed or gone since the last start, by the description of their source."""
        with self._database.change() as sql:
            before: dict[str, str] = dict(sql.execute(_PUBLISHED))
            for name, source in sources.items():
                if before.pop(name, None) != source:
                    self.change("publish", name, source)
            for name, source in before.items():
                self.change("unpublish", name, source)

    def find(self, *filters: str | int | None, limit: int) -> list[AuditRecord]:
        """Return the newest records, oldest first; filters: user, action or its first word, outcome, since, until."""
        return [
            AuditRecord(*row)
            for row in reversed(self._database.read(_FIND, *filters, limit))
        ]

    def close(self) -> None:
        """Write the records that wait."""
        self._writer.shutdown()
        self._write()

    def _write(self, wait: float = 0) -> None:
        time.sleep(wait)  # in the writer's own thread
        # Before the records are taken: a later one asks for another write.
        self._is_due = False
        records = []
        if not self._pending:
            return
        try:
            with self._database.change() as sql:
                records += [self._pending.popleft() for _ in range(len(self._pending))]
                sql.executemany(_INSERT, records)
                self._until_pruning -= len(records)
                if self._until_pruning <= 0:
                    self._prune(sql)
        except SetupError as error:
            self._pending.extendleft(reversed(records))
            log.warning(
                "%s audit records are not written yet: %s", len(self._pending), error
            )

    def _prune(self, sql: sqlite3.Connection) -> None:
        self._until_pruning = _BETWEEN_PRUNINGS
        oldest = utc(datetime.now(UTC) - timedelta(days=self.days))
        # What is served and published is remembered: the next start compares with it.
        sql.execute(
            "DELETE FROM audit WHERE time < ? AND action NOT IN ('serve', 'publish', 'unpublish')",
            (oldest,),
        )
        # Each kind on its own: a flood of logins or runs displaces no record of another kind.
        kinds = ("run", "login", "token use", "serve")
        sql.executemany(
            _PRUNE, [{"action": action, "rows": self.rows} for action in kinds]
        )


_COLUMNS = ", ".join(AuditRecord._fields)
_INSERT = f"INSERT INTO audit ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - no value is in it
_FIND = f"""WITH wanted (who, what, how, since, until) AS (VALUES (?, ?, ?, ?, ?))
    SELECT {_COLUMNS} FROM audit, wanted
    WHERE (who IS NULL OR who COLLATE NOCASE IN (user, target))
    AND (what IS NULL OR action = what OR action LIKE what || ' %')
    AND (how IS NULL OR outcome = how)
    AND (since IS NULL OR time >= since) AND (until IS NULL OR time < until)
    ORDER BY id DESC LIMIT ?"""  # noqa: S608 - no value is in it
_PRUNE = """DELETE FROM audit WHERE action = :action
    AND id <= (SELECT id FROM audit WHERE action = :action ORDER BY id DESC LIMIT 1 OFFSET :rows)"""
_PUBLISHED = """SELECT target, detail FROM audit WHERE action = 'publish'
    AND id IN
        (SELECT max(id) FROM audit WHERE action IN ('publish', 'unpublish') GROUP BY target)"""


def utc(time: datetime) -> str:
    """Return a time as the audit has it: in UTC, in microseconds, and so in the order of text."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def _record(*values: Any) -> AuditRecord:
    """Return a record of now, with texts that no terminal or database stumbles over."""
    safe: list[Any] = [
        exact(value[:_LONGEST_TEXT]) if isinstance(value, str) else value
        for value in values
    ]
    return AuditRecord(utc(datetime.now(UTC)), *safe)


def _operator() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container's user may have no name
        return str(os.getuid())

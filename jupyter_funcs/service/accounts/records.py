"""What is kept of accounts: the records that come out of the database, its tables, and the rules of names."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import SetupError
from .words import did_you_mean, quoted

if TYPE_CHECKING:
    import sqlite3

_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Asset:
    """What functions belong to; whoever is shown one may run its functions."""

    id: int
    name: str
    organisation: str
    is_shared: bool


@dataclass(frozen=True, slots=True)
class User:
    """Who asks."""

    id: int
    name: str
    email: str | None
    organisation: str


@dataclass(frozen=True, slots=True)
class Account:
    """A user as the operator sees them; `made` is in seconds since 1970."""

    name: str
    email: str | None
    organisation: str
    is_disabled: bool
    has_password: bool
    made: float


@dataclass(frozen=True, slots=True)
class Grant:
    """That a user may run the functions of an asset."""

    user: str
    asset: str
    organisation: str


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key without its secret; times are in seconds since 1970, and a key without an end has none."""

    id: int
    user: str
    label: str
    made: float
    ends: float | None


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
        # Both keys hold the organisation: an asset of another one than the user's cannot be granted at all.
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
)
"""The statements that make version 1 of the database, then those that make each next one."""

_NAMED = {
    "user": ("SELECT id, name FROM users WHERE folded = ?", "SELECT name FROM users"),
    "asset": ("SELECT id, name FROM assets WHERE folded = ?", "SELECT name FROM assets"),
}


def folded(name: str) -> str | None:
    """Give what names are compared by; `None` for what cannot be one, which SQL finds equal to nothing."""
    if not name.isprintable() or len(name) > _LONGEST_NAME:
        return None
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def check_name(what: str, name: str) -> None:
    """Refuse what is no name with a `SetupError`."""
    if not name or name != name.strip() or not name.isprintable() or len(name) > _LONGEST_NAME:
        raise SetupError(
            f"{quoted(name)} cannot be the name of {what}.\n"
            f"A name has 1 to {_LONGEST_NAME} characters, none of them a control character, and no blank at its ends."
        )


def check_email(email: str) -> None:
    """Refuse what is no email address with a `SetupError`."""
    before, _, after = email.partition("@")
    if not (before and after) or not email.isprintable() or " " in email or len(email) > _LONGEST_NAME:
        raise SetupError(f"{quoted(email)} is no email address. Write it as name@example.org.")


def found(sql: sqlite3.Connection, kind: str, name: str) -> tuple[int, str]:
    """Give the id of a user or asset and its name as it is spelled; raises `SetupError` that names the nearest."""
    one, every = _NAMED[kind]
    row = sql.execute(one, (folded(name),)).fetchone()
    if row is None:
        near = did_you_mean(name, [known for (known,) in sql.execute(every)])
        raise SetupError(f"No {kind} {quoted(name)}.{near}\n'jupyter funcs admin {kind}s list' shows all of them.")
    return int(row[0]), str(row[1])


def organisation_id(sql: sqlite3.Connection, name: str) -> int:
    """Give the id of an organisation, which is made when it is not there yet."""
    check_name("an organisation", name)
    row = sql.execute("SELECT id FROM organisations WHERE folded = ?", (folded(name),)).fetchone()
    if row is None:
        made = "INSERT INTO organisations (name, folded) VALUES (?, ?) RETURNING id"
        row = sql.execute(made, (name, folded(name))).fetchone()
    return int(row[0])


def drop_empty_organisations(sql: sqlite3.Connection) -> None:
    """Remove organisations that have neither users nor assets left."""
    sql.execute(
        """DELETE FROM organisations WHERE id NOT IN (SELECT organisation FROM users)
        AND id NOT IN (SELECT organisation FROM assets)"""
    )


def refuse_taken(sql: sqlite3.Connection, login: str) -> None:
    """Refuse a name or email that is another user's name or email: one could log in as the other."""
    row = sql.execute(
        "SELECT name, folded FROM users WHERE folded = ? OR folded_email = ?", (folded(login), folded(login))
    ).fetchone()
    if row is not None:
        name, is_name = quoted(row[0]), row[1] == folded(login)
        what = f"There is a user {name} already" if is_name else f"{quoted(login)} is the email of {name}"
        raise SetupError(f"{what}. Choose another name or email.")

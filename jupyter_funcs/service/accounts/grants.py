"""
Accounts: organisations own assets; a user belongs to one organisation and sees its granted and shared assets.

Names are unique within the service, compared without case, and keep their spelling. Changes take effect on the next
request, in every process.
"""

from __future__ import annotations

import logging
import math
import secrets
import shlex
import time
from typing import TYPE_CHECKING, Any, Literal

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.core.text import quoted, suggestion
from jupyter_funcs.service.accounts import passwords
from jupyter_funcs.service.accounts.account_records import (
    LONGEST_NAME,
    SCHEMA,
    Account,
    ApiKey,
    Asset,
    Audit,
    Grant,
    User,
    folded,
)
from jupyter_funcs.service.accounts.database import Database

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from pathlib import Path

log = logging.getLogger(__name__)

_DAY_SECONDS = 86_400
_LONGEST_DAYS = 36_525
_SECRET_BYTES = 32


class Grants:
    """Users, assets, grants and API keys, and an audit; for any number of threads and processes at once."""

    def __init__(
        self, path: Path | None = None, seed: Callable[[Grants], None] | None = None
    ) -> None:
        self.database = Database(path)
        self.audit = Audit(self.database)
        self.database.upgrade(SCHEMA, lambda: seed(self) if seed else None)

    def close(self) -> None:
        self.audit.close()
        self.database.close()

    def check(self) -> None:
        """Raise `SetupError` unless accounts can be changed."""
        self.database.check()

    # Looked up for each request.

    def user(self, name: str, issued_at: float) -> User | None:
        """Return the user of a token; `None` if unknown or disabled, or if the token was revoked."""
        return self._enabled("folded = ? AND valid_from < ?", folded(name), issued_at)

    def user_of_key(self, key: str) -> User | None:
        """Return the user of an API key; `None` if it is unknown or expired, or the user is disabled."""
        start, number, secret = (*key.split("_", 2), "", "")[:3]
        if start != "jf" or not number.isdecimal():
            return None
        # The number as text, because SQLite refuses integers above 64 bits.
        of_key = "id = (SELECT user FROM keys WHERE id = ? AND hash = ? AND (ends IS NULL OR ends > ?))"
        return self._enabled(of_key, number, passwords.secret_hash(secret), time.time())

    def _enabled(self, condition: str, *values: Any) -> User | None:
        rows = self.database.read(
            f"SELECT id, name FROM users WHERE NOT is_disabled AND {condition}",  # noqa: S608 - ours
            *values,
        )
        return User(*rows[0]) if rows else None

    def name_of(self, login: str) -> str | None:
        """Return the name of the user with a name or email, disabled or not."""
        rows = self.database.read(
            "SELECT name FROM users WHERE folded = ? OR folded_email = ?",
            folded(login),
            folded(login),
        )
        return rows[0][0] if rows else None

    def user_of_password(self, login: str, password: str) -> User | None:
        """Return the user of an email or name and a password; equally slow where the user is unknown."""
        query = """SELECT password, id, name FROM users
            WHERE (folded = ? OR folded_email = ?) AND NOT is_disabled"""
        rows = self.database.read(query, folded(login), folded(login))
        stored, *user = rows[0] if rows else (None,)
        is_right, renewed = passwords.verified(password, stored)
        if renewed:
            self._renew_hash(user[0], stored, renewed)
        return User(*user) if is_right else None

    def assets(self, user: User) -> tuple[Asset, ...]:
        """Return the assets that are granted to a user or shared in their organisation, by id."""
        query = """SELECT a.id, a.name, a.at, a.is_shared
            FROM users u JOIN assets_at a ON a.organisation = u.organisation
            WHERE u.id = ? AND (a.is_shared OR EXISTS
                (SELECT 1 FROM grants WHERE user = u.id AND asset = a.id))
            ORDER BY a.id"""
        return tuple(_asset(*row) for row in self.database.read(query, user.id))

    # Users.

    def users(self) -> list[Account]:
        """Return all users, by organisation and name."""
        rows = self.database.read(
            """SELECT name, email, at, is_disabled, password IS NOT NULL, made FROM users_at
            ORDER BY organisation, folded"""
        )
        return [
            Account(name, email, at, bool(off), bool(has), made)
            for name, email, at, off, has, made in rows
        ]

    def active_user(self, name: str) -> User:
        user = self.user(name, math.inf)
        if not user:
            spelling = self.spelling(name)
            command = f"jupyter funcs admin users enable {shlex.quote(spelling)}"
            raise SetupError(
                f"{quoted(spelling)} is disabled.\nTo change that: {command}"
            )

        return user

    def spelling(self, name: str) -> str:
        """Return the name of a user as it was entered."""
        with self.database.change() as sql:
            return _find_named(sql, "user", name)[1]

    def add_user(
        self, name: str, *, organisation: str, email: str | None = None
    ) -> User:
        """Add a user without a password; a new organisation is created."""
        _check_name("a user", name)
        if email is not None:
            _check_email(email)
        now = time.time()
        with self.database.change() as sql:
            for login in filter(None, (name, email)):
                _refuse_duplicate(sql, login)
            # `valid_from` is now: tokens of a removed user with the same name stay invalid.
            (number,) = sql.execute(
                """INSERT INTO users (organisation, name, folded, email, folded_email, made, valid_from)
                VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id""",
                (
                    _organisation_id(sql, organisation),
                    name,
                    folded(name),
                    email,
                    email and folded(email),
                    now,
                    now,
                ),
            ).fetchone()
            self.audit.change("users add", name, organisation)
            return User(number, name)

    def set_password(self, name: str, password: str) -> str:
        """Set the password of a user and revoke their tokens."""
        return self._change_user("password", name, passwords.hashed(password))

    def revoke(self, name: str, *, is_disabled: bool | None = None) -> str:
        """Revoke the tokens of a user, and from now on refuse (or accept again) their API keys and password too."""
        action = {True: "disable", False: "enable", None: "revoke"}[is_disabled]
        return self._change_user(action, name, None, is_disabled=is_disabled)

    def _change_user(
        self,
        action: str,
        name: str,
        password: str | None,
        *,
        is_disabled: bool | None = None,
    ) -> str:
        with self.database.change() as sql:
            number, spelled = _find_named(sql, "user", name)
            # Never earlier, even if the clock was set back: a revoked token stays revoked.
            sql.execute(
                """UPDATE users SET is_disabled = coalesce(?, is_disabled),
                password = coalesce(?, password), valid_from = max(valid_from, ?) WHERE id = ?""",
                (is_disabled, password, time.time(), number),
            )
            self.audit.change(f"users {action}", spelled)
            return spelled

    # Assets and grants.

    def organisations(self) -> list[str]:
        return [
            name
            for (name,) in self.database.read(
                "SELECT name FROM organisations ORDER BY id"
            )
        ]

    def all_assets(self) -> list[Asset]:
        """Return all assets, by organisation and name."""
        query = "SELECT id, name, at, is_shared FROM assets_at ORDER BY organisation, folded"
        return [_asset(*row) for row in self.database.read(query)]

    def add_asset(
        self, name: str, *, organisation: str, is_shared: bool = False
    ) -> Asset:
        """Add an asset, shared with its whole organisation if `is_shared`."""
        _check_name("an asset", name)
        with self.database.change() as sql:
            taken = sql.execute(
                "SELECT name, at FROM assets_at WHERE folded = ?", (folded(name),)
            ).fetchone()
            if taken:
                raise SetupError(
                    f"An asset {quoted(taken[0])} already exists in {quoted(taken[1])}. Choose another name."
                )
            (number,) = sql.execute(
                """INSERT INTO assets (organisation, name, folded, is_shared) VALUES (?, ?, ?, ?)
                RETURNING id""",
                (_organisation_id(sql, organisation), name, folded(name), is_shared),
            ).fetchone()
            self.audit.change("assets add", name, "shared" if is_shared else None)
            return _asset_of(sql, number)

    def share(self, name: str, *, is_shared: bool) -> Asset:
        """Share an asset with its whole organisation, or only with those to whom it is granted."""
        with self.database.change() as sql:
            number, spelled = _find_named(sql, "asset", name)
            sql.execute(
                "UPDATE assets SET is_shared = ? WHERE id = ?", (is_shared, number)
            )
            self.audit.change(
                "assets share" if is_shared else "assets unshare", spelled
            )
            return _asset_of(sql, number)

    def grants(self) -> list[Grant]:
        """Return all grants, by user and asset; shared assets need none."""
        query = """SELECT u.name, a.name, u.at
            FROM grants g JOIN users_at u ON u.id = g.user JOIN assets a ON a.id = g.asset
            ORDER BY u.folded, a.folded"""
        return [Grant(*row) for row in self.database.read(query)]

    def grant(self, user: str, asset: str) -> Grant:
        """Let a user run the functions of an asset of their own organisation."""
        with self.database.change() as sql:
            user_id, user_name = _find_named(sql, "user", user)
            asset_id, asset_name = _find_named(sql, "asset", asset)
            home, user_at = sql.execute(
                "SELECT organisation, at FROM users_at WHERE id = ?", (user_id,)
            ).fetchone()
            asset_at = _asset_of(sql, asset_id).organisation
            if user_at != asset_at:
                raise SetupError(
                    f"{quoted(asset_name)} belongs to {quoted(asset_at)}, but {quoted(user_name)} to "
                    f"{quoted(user_at)}.\nGrant an asset of the user's own organisation."
                )
            sql.execute(
                "INSERT INTO grants VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (user_id, asset_id, home),
            )
            self.audit.change("grants add", user_name, asset_name)
            return Grant(user_name, asset_name, user_at)

    def withdraw(self, user: str, asset: str) -> tuple[str, Asset]:
        """Remove a grant; return the user's name as it was entered, and the asset."""
        with self.database.change() as sql:
            user_id, user_name = _find_named(sql, "user", user)
            asset_id, asset_name = _find_named(sql, "asset", asset)
            if not sql.execute(
                "DELETE FROM grants WHERE user = ? AND asset = ?", (user_id, asset_id)
            ).rowcount:
                raise SetupError(
                    f"{quoted(asset_name)} is not granted to {quoted(user_name)}.\n"
                    "'jupyter funcs admin grants list' shows who has what."
                )
            self.audit.change("grants remove", user_name, asset_name)
            return user_name, _asset_of(sql, asset_id)

    def remove(self, kind: Literal["user", "asset"], name: str) -> str:
        """Remove a user with API keys, or an asset, with their grants; return the name as it was entered."""
        with self.database.change() as sql:
            number, spelled = _find_named(sql, kind, name)
            sql.execute(f"DELETE FROM {kind}s WHERE id = ?", (number,))  # noqa: S608 - 'user' or 'asset'
            self.audit.change(f"{kind}s remove", spelled)
            # Organisations without users and assets go too.
            sql.execute(
                """DELETE FROM organisations WHERE id NOT IN (SELECT organisation FROM users)
                AND id NOT IN (SELECT organisation FROM assets)"""
            )
            return spelled

    # API keys.

    def api_keys(self) -> list[ApiKey]:
        """Return all API keys, including expired ones, without their secrets."""
        query = """SELECT k.id, u.name, k.label, k.made, k.ends
            FROM keys k JOIN users u ON u.id = k.user ORDER BY k.id"""
        return [ApiKey(*row) for row in self.database.read(query)]

    def add_key(self, user: str, *, label: str = "", days: float | None = None) -> str:
        """Create an API key for a user, valid for some days or for ever; only its hash is stored."""
        if label:
            _check_name("a key", label)
        if days is not None and not 0 < days <= _LONGEST_DAYS:
            raise SetupError(
                f"A key is valid for more than 0 and at most {_LONGEST_DAYS} days, not {days:g}."
            )

        secret = secrets.token_urlsafe(_SECRET_BYTES)
        made = time.time()
        ends = None if days is None else made + days * _DAY_SECONDS
        with self.database.change() as sql:
            user_id, user_name = _find_named(sql, "user", user)
            (number,) = sql.execute(
                """INSERT INTO keys (user, label, hash, made, ends) VALUES (?, ?, ?, ?, ?)
                RETURNING id""",
                (user_id, label, passwords.secret_hash(secret), made, ends),
            ).fetchone()
            self.audit.change("keys add", user_name, f"key {number}")

        return f"jf_{number}_{secret}"

    def remove_key(self, number: int) -> None:
        with self.database.change() as sql:
            # As text, because SQLite refuses integers above 64 bits.
            delete = """DELETE FROM keys WHERE id = ?
                RETURNING (SELECT name FROM users WHERE id = keys.user)"""
            owner = sql.execute(delete, (str(number),)).fetchone()
            if not owner:
                raise SetupError(
                    f"No API key {number}.\n'jupyter funcs admin keys list' shows all of them."
                )
            self.audit.change("keys remove", owner[0], f"key {number}")

    def _renew_hash(self, user_id: int, stored: str, renewed: str) -> None:
        try:
            with self.database.change() as sql:
                # The WHERE keeps a password that was changed meanwhile.
                sql.execute(
                    "UPDATE users SET password = ? WHERE id = ? AND password = ?",
                    (renewed, user_id, stored),
                )
        except SetupError as error:
            log.warning("The hash of a password was not renewed: %s", error)


def _asset(number: int, name: str, organisation: str, is_shared: int) -> Asset:
    return Asset(number, name, organisation, is_shared=bool(is_shared))


def _asset_of(sql: sqlite3.Connection, number: int) -> Asset:
    return _asset(
        *sql.execute(
            "SELECT id, name, at, is_shared FROM assets_at WHERE id = ?", (number,)
        ).fetchone()
    )


def _check_name(what: str, name: str) -> None:
    if (
        not name
        or name != name.strip()
        or not name.isprintable()
        or len(name) > LONGEST_NAME
    ):
        raise SetupError(
            f"{quoted(name)} cannot be the name of {what}.\n"
            f"A name has 1 to {LONGEST_NAME} characters, without control characters or spaces at either end."
        )


def _check_email(email: str) -> None:
    before, _, after = email.partition("@")
    if (
        not (before and after)
        or not email.isprintable()
        or " " in email
        or len(email) > LONGEST_NAME
    ):
        raise SetupError(
            f"{quoted(email)} is not an email address. Write it as name@example.org."
        )


def _find_named(sql: sqlite3.Connection, kind: str, name: str) -> tuple[int, str]:
    """Return the id and name of a user or asset; raises `SetupError` with the closest name."""
    find = f"SELECT id, name FROM {kind}s"  # noqa: S608 - 'user' or 'asset'
    row = sql.execute(f"{find} WHERE folded = ?", (folded(name),)).fetchone()
    if not row:
        names = [other for _, other in sql.execute(find)]
        raise SetupError(
            f"No {kind} {quoted(name)}.{suggestion(name, names)}\n'jupyter funcs admin {kind}s list' shows all of them."
        )

    return row[0], row[1]


def _organisation_id(sql: sqlite3.Connection, name: str) -> int:
    """Return the id of an organisation; create it if it doesn't exist."""
    _check_name("an organisation", name)
    row = sql.execute(
        "SELECT id FROM organisations WHERE folded = ?", (folded(name),)
    ).fetchone()
    if not row:
        row = sql.execute(
            "INSERT INTO organisations (name, folded) VALUES (?, ?) RETURNING id",
            (name, folded(name)),
        ).fetchone()

    return int(row[0])


def _refuse_duplicate(sql: sqlite3.Connection, login: str) -> None:
    """Raise `SetupError` for a name or email that another user has: one could log in as the other."""
    row = sql.execute(
        """SELECT name, folded = :login FROM users
        WHERE folded = :login OR folded_email = :login""",
        {"login": folded(login)},
    ).fetchone()
    if row:
        name, is_name = row
        what = f"{quoted(login)} is the email of {quoted(name)}"
        if is_name:
            what = f"A user {quoted(name)} already exists"
        raise SetupError(f"{what}. Choose another name or email.")

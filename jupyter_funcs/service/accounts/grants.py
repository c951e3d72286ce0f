"""
Accounts: organisations hold assets, users belong to one organisation and see what was granted or is shared there.

Names are unique over the service and compare without case; they keep their spelling. What an operator changes takes
effect on the next request, in every process.
"""

from __future__ import annotations

import logging
import math
import shlex
import time
from typing import TYPE_CHECKING

from . import passwords
from .accounts import (
    SCHEMA,
    Account,
    ApiKey,
    Asset,
    Grant,
    User,
    check_email,
    check_name,
    drop_empty_organisations,
    folded,
    found,
    organisation_id,
    refuse_taken,
)
from .database import Database
from .errors import SetupError
from .words import quoted

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from pathlib import Path

log = logging.getLogger(__name__)

_DAY = 86_400
_LONGEST_DAYS = 36_525
# Of the largest integer that SQLite holds.
_DIGITS = 19


class Grants:
    """
    Who there is and who may run what; any number of threads and processes may use it at once.

    Parameters
    ----------
    path
        The file; `None` keeps everything in memory.
    seed
        Fills accounts that did not exist yet, in the same change that creates them.

    Raises
    ------
    SetupError
        By every method too: the file cannot be used, or an account is not as it would have to be.
    """

    def __init__(self, path: Path | None = None, seed: Callable[[Grants], None] | None = None) -> None:
        self._database = Database(path)
        self._database.upgrade(SCHEMA, lambda: seed(self) if seed else None)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    # Asked for each request.

    def user(self, name: str, issued_at: float) -> User | None:
        """Give the user of a token; `None` if unknown, disabled, or it was issued before what ended their tokens."""
        rows = self._database.read(
            "SELECT id, name, email, at FROM users_at WHERE folded = ? AND NOT is_disabled AND valid_from < ?",
            folded(name),
            issued_at,
        )
        return User(*rows[0]) if rows else None

    def user_of_key(self, key: str) -> User | None:
        """Give the user of an API key; `None` if it is unknown or has ended, or the user is disabled."""
        start, number, secret = (*key.split("_", 2), "", "")[:3]
        if start != "jf" or not (number.isascii() and number.isdigit() and len(number) < _DIGITS):
            return None
        rows = self._database.read(
            """SELECT k.hash, u.id, u.name, u.email, u.at FROM keys k JOIN users_at u ON u.id = k.user
            WHERE k.id = ? AND NOT u.is_disabled AND (k.ends IS NULL OR k.ends > ?)""",
            int(number),
            time.time(),
        )
        return User(*rows[0][1:]) if rows and passwords.is_secret(secret, rows[0][0]) else None

    def user_of_password(self, login: str, password: str) -> User | None:
        """Give the user of an email or name and a password; slow on purpose, and as slow where there is no user."""
        rows = self._database.read(
            """SELECT password, id, name, email, at FROM users_at
            WHERE (folded = ? OR folded_email = ?) AND NOT is_disabled""",
            folded(login),
            folded(login),
        )
        stored, *user = rows[0] if rows else (None,)
        is_right, renewed = passwords.verified(password, stored)
        if renewed:
            self._renew_hash(user[0], stored, renewed)
        return User(*user) if is_right else None

    def assets(self, user: User) -> tuple[Asset, ...]:
        """Give the assets whose functions a user may run, granted or shared in their organisation, by id."""
        rows = self._database.read(
            """SELECT a.id, a.name, a.at, a.is_shared FROM users u JOIN assets_at a ON a.organisation = u.organisation
            WHERE u.id = ? AND (a.is_shared OR EXISTS (SELECT 1 FROM grants WHERE user = u.id AND asset = a.id))
            ORDER BY a.id""",
            user.id,
        )
        return tuple(_asset(row) for row in rows)

    # Users.

    def users(self) -> list[Account]:
        """Give all users, by organisation and name."""
        rows = self._database.read(
            """SELECT name, email, at, is_disabled, password IS NOT NULL, made FROM users_at
            ORDER BY organisation, folded"""
        )
        return [Account(name, email, at, bool(off), bool(has), made) for name, email, at, off, has, made in rows]

    def active_user(self, name: str) -> User:
        """Give a user who is not disabled."""
        user = self.user(name, math.inf)
        if user is None:
            spelling = self.spelling(name)
            command = f"jupyter funcs admin users enable {shlex.quote(spelling)}"
            raise SetupError(f"{quoted(spelling)} is disabled.\nTo change that: {command}")
        return user

    def spelling(self, name: str) -> str:
        """Give the name of a user in its spelling."""
        with self._database.change() as sql:
            return found(sql, "user", name)[1]

    def add_user(self, name: str, *, organisation: str, email: str | None = None) -> User:
        """Add a user, who has no password yet; an organisation comes into being with its first user or asset."""
        check_name("a user", name)
        if email is not None:
            check_email(email)
        now = time.time()
        with self._database.change() as sql:
            refuse_taken(sql, name)
            if email is not None:
                refuse_taken(sql, email)
            home = organisation_id(sql, organisation)
            # The tokens of a removed user of this name are older, and stay invalid.
            (number,) = sql.execute(
                """INSERT INTO users (organisation, name, folded, email, folded_email, made, valid_from)
                VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id""",
                (home, name, folded(name), email, email and folded(email), now, now),
            ).fetchone()
            return User(*sql.execute("SELECT id, name, email, at FROM users_at WHERE id = ?", (number,)).fetchone())

    def remove_user(self, name: str) -> str:
        """Remove a user with their grants and API keys; gives the name in its spelling, as the next ones do."""
        with self._database.change() as sql:
            number, spelled = found(sql, "user", name)
            sql.execute("DELETE FROM users WHERE id = ?", (number,))
            drop_empty_organisations(sql)
            return spelled

    def disable_user(self, name: str) -> str:
        """Refuse a user's API keys and password from now on, and end their tokens."""
        return self._end_tokens(name, is_disabled=True)

    def enable_user(self, name: str) -> str:
        """Accept a disabled user again; tokens of before stay ended."""
        return self._end_tokens(name, is_disabled=False)

    def set_password(self, name: str, password: str) -> str:
        """Give a user a password, and end the tokens that they have."""
        return self._end_tokens(name, password=passwords.hashed(password))

    def revoke(self, name: str) -> str:
        """End the tokens that a user has."""
        return self._end_tokens(name)

    # Assets and grants.

    def organisations(self) -> list[str]:
        """Give the names of all organisations."""
        return [name for (name,) in self._database.read("SELECT name FROM organisations ORDER BY id")]

    def has_organisation(self, name: str) -> bool:
        """Say whether there is an organisation of that name."""
        return bool(self._database.read("SELECT 1 FROM organisations WHERE folded = ?", folded(name)))

    def all_assets(self) -> list[Asset]:
        """Give all assets, by organisation and name."""
        rows = self._database.read("SELECT id, name, at, is_shared FROM assets_at ORDER BY organisation, folded")
        return [_asset(row) for row in rows]

    def add_asset(self, name: str, *, organisation: str, is_shared: bool = False) -> Asset:
        """Add an asset, shared with its whole organisation or with nobody yet."""
        check_name("an asset", name)
        with self._database.change() as sql:
            taken = sql.execute("SELECT name, at FROM assets_at WHERE folded = ?", (folded(name),)).fetchone()
            if taken:
                raise SetupError(
                    f"There is an asset {quoted(taken[0])} already, of {quoted(taken[1])}. Choose another name."
                )
            (number,) = sql.execute(
                "INSERT INTO assets (organisation, name, folded, is_shared) VALUES (?, ?, ?, ?) RETURNING id",
                (organisation_id(sql, organisation), name, folded(name), is_shared),
            ).fetchone()
            return _asset_of(sql, number)

    def remove_asset(self, name: str) -> str:
        """Remove an asset with its grants."""
        with self._database.change() as sql:
            number, spelled = found(sql, "asset", name)
            sql.execute("DELETE FROM assets WHERE id = ?", (number,))
            drop_empty_organisations(sql)
            return spelled

    def share(self, name: str, *, is_shared: bool) -> Asset:
        """Share an asset with its whole organisation, or only with those to whom it is granted."""
        with self._database.change() as sql:
            number, _ = found(sql, "asset", name)
            sql.execute("UPDATE assets SET is_shared = ? WHERE id = ?", (is_shared, number))
            return _asset_of(sql, number)

    def grants(self) -> list[Grant]:
        """Give all grants, by user and asset; what is shared needs none."""
        rows = self._database.read(
            """SELECT u.name, a.name, u.at
            FROM grants g JOIN users_at u ON u.id = g.user JOIN assets a ON a.id = g.asset
            ORDER BY u.folded, a.folded"""
        )
        return [Grant(*row) for row in rows]

    def grant(self, user: str, asset: str) -> Grant:
        """Let a user run the functions of an asset of their own organisation."""
        with self._database.change() as sql:
            (user_id, user_name), (asset_id, asset_name) = found(sql, "user", user), found(sql, "asset", asset)
            home, user_at = sql.execute("SELECT organisation, at FROM users_at WHERE id = ?", (user_id,)).fetchone()
            asset_at = _asset_of(sql, asset_id).organisation
            if user_at != asset_at:
                raise SetupError(
                    f"{quoted(asset_name)} is an asset of {quoted(asset_at)}, and {quoted(user_name)} belongs to "
                    f"{quoted(user_at)}.\nGrant an asset of the user's own organisation."
                )
            sql.execute("INSERT INTO grants VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (user_id, asset_id, home))
            return Grant(user_name, asset_name, user_at)

    def withdraw(self, user: str, asset: str) -> tuple[str, Asset]:
        """Undo a grant; gives the user's name in its spelling, and the asset."""
        with self._database.change() as sql:
            (user_id, user_name), (asset_id, asset_name) = found(sql, "user", user), found(sql, "asset", asset)
            undone = sql.execute("DELETE FROM grants WHERE user = ? AND asset = ?", (user_id, asset_id)).rowcount
            if not undone:
                raise SetupError(
                    f"{quoted(asset_name)} is not granted to {quoted(user_name)}.\n"
                    "'jupyter funcs admin grants list' shows who has what."
                )
            return user_name, _asset_of(sql, asset_id)

    # API keys.

    def api_keys(self) -> list[ApiKey]:
        """Give all API keys, those that have ended too, without their secrets."""
        rows = self._database.read(
            "SELECT k.id, u.name, k.label, k.made, k.ends FROM keys k JOIN users u ON u.id = k.user ORDER BY k.id"
        )
        return [ApiKey(*row) for row in rows]

    def add_key(self, user: str, *, label: str = "", days: float | None = None) -> str:
        """Make an API key of a user, which ends after some days or never; only its hash is kept."""
        if label:
            check_name("a key", label)
        if days is not None and not 0 < days <= _LONGEST_DAYS:
            raise SetupError(f"A key lasts more than 0 and at most {_LONGEST_DAYS} days, not {days:g}.")
        secret, now = passwords.new_secret(), time.time()
        with self._database.change() as sql:
            user_id, _ = found(sql, "user", user)
            (number,) = sql.execute(
                "INSERT INTO keys (user, label, hash, made, ends) VALUES (?, ?, ?, ?, ?) RETURNING id",
                (user_id, label, passwords.secret_hash(secret), now, None if days is None else now + days * _DAY),
            ).fetchone()
        return f"jf_{number}_{secret}"

    def remove_key(self, number: int) -> None:
        """Remove an API key by its id."""
        with self._database.change() as sql:
            # As text, for SQLite takes no integer of more than 64 bits.
            if not sql.execute("DELETE FROM keys WHERE id = ?", (str(number),)).rowcount:
                raise SetupError(f"No API key {number}.\n'jupyter funcs admin keys list' shows all of them.")

    def _end_tokens(self, name: str, *, is_disabled: bool | None = None, password: str | None = None) -> str:
        with self._database.change() as sql:
            number, spelled = found(sql, "user", name)
            # Never backwards, as a clock may be set: a token that has ended stays so.
            sql.execute(
                """UPDATE users SET is_disabled = coalesce(?, is_disabled), password = coalesce(?, password),
                valid_from = max(valid_from, ?) WHERE id = ?""",
                (is_disabled, password, time.time(), number),
            )
            return spelled

    def _renew_hash(self, user_id: int, stored: str, renewed: str) -> None:
        try:
            with self._database.change() as sql:
                # Unless the password has just been changed.
                sql.execute("UPDATE users SET password = ? WHERE id = ? AND password = ?", (renewed, user_id, stored))
        except SetupError as error:
            log.warning("The hash of a password was not renewed: %s", error)


def _asset(row: tuple[int, str, str, int]) -> Asset:
    number, name, organisation, is_shared = row
    return Asset(number, name, organisation, bool(is_shared))


def _asset_of(sql: sqlite3.Connection, number: int) -> Asset:
    return _asset(sql.execute("SELECT id, name, at, is_shared FROM assets_at WHERE id = ?", (number,)).fetchone())

"""The state folder, which has the accounts and signing keys of a service."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.accounts.grants import Grants
from jupyter_funcs.service.accounts.signing_keys import (
    VARIABLE,
    SigningKeys,
    refuse_access_of_others,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

log = logging.getLogger(__name__)


def folder(configured: Path | None, *, demo: bool) -> Path:
    """
    Return the state folder, created for its owner only; one that others may use is refused.

    `FUNCS_STATE_DIR` overrides the configuration; the default is the system's folder for user data. The demo uses the
    subfolder `demo`.
    """
    import platformdirs

    variable = os.environ.get("FUNCS_STATE_DIR")
    default = platformdirs.user_data_path("jupyter_funcs") / "service"
    home = Path(variable).expanduser() if variable else configured or default
    path = home / "demo" if demo else home
    reason = ""
    try:
        # With `parents`, only the last folder gets the mode.
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
        if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            reason = "permission denied"
    except OSError as error:
        reason = error.strerror or "it failed"

    if reason:
        raise SetupError(
            f"The state folder {path} is not writable: {reason}.\nSet FUNCS_STATE_DIR to another one."
        )

    advice = "\nOr set FUNCS_STATE_DIR to another one."
    for directory in (home, path):
        # Of a link: its own owner too.
        for status in (directory.lstat(), directory.stat()):
            refuse_access_of_others(
                f"The state folder {directory} is", directory, status, advice
            )

    return path


def warn_of_others(path: Path, opened: ExitStack) -> None:
    """Warn of other services that run with a state folder, and let them know of this one until `opened` closes."""
    # SQLite locks files on every system, and until a process ends, however it does.
    claim = sqlite3.connect(path / "serving.sqlite", timeout=0, isolation_level=None)
    opened.callback(claim.close)
    try:
        claim.execute("BEGIN EXCLUSIVE")
        claim.execute("ROLLBACK")
    except sqlite3.OperationalError:
        log.warning(
            "Another service is running with the state folder %s, and so with the same users, grants and keys. To "
            "separate the two, set another one with state in the configuration, or with FUNCS_STATE_DIR.",
            path,
        )

    with contextlib.suppress(sqlite3.OperationalError):
        claim.execute("BEGIN")
        claim.execute("SELECT name FROM sqlite_master").fetchall()


def open_grants(path: Path, seed: Callable[[Grants], None] | None = None) -> Grants:
    """Open the accounts of a state folder; `seed` fills new ones."""
    return Grants(path / "accounts.sqlite", seed)


def open_keys(path: Path) -> SigningKeys:
    """Return the signing keys of `FUNCS_SIGNING_KEY`, else of a state folder."""
    text = os.environ.get(VARIABLE)
    if text is None:
        return SigningKeys.open(path / "signing-keys.json")
    return SigningKeys.from_text(text)

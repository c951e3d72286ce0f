"""The demo: its accounts, its numbers as a file in the user's cache, and the service embedded in a process."""

from __future__ import annotations

import atexit
import logging
import os
import secrets
import shutil
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_funcs.core.files import create_locked, finish, remove_abandoned
from jupyter_funcs.service.accounts.auth import Auth
from jupyter_funcs.service.accounts.grants import Grants
from jupyter_funcs.service.accounts.signing_keys import SigningKeys
from jupyter_funcs.service.builtin import card_functions, companies
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine
from jupyter_funcs.service.engine.tables import Cards
from jupyter_funcs.service.publishing.registry import PublishedFunction, Registry
from jupyter_funcs.service.web.app import create_app
from jupyter_funcs.service.web.hosts import Hosts
from jupyter_funcs.service.web.runs import Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.applications import Starlette

log = logging.getLogger(__name__)

# A notebook may stay open for weeks. The token is useless after the process ends: so does its key.
_TOKEN_HOURS = 30 * 24
# The only caller has limits of its own for concurrency and time.
_LIMITS = Limits(run_seconds=24 * 3600, concurrent_runs=100_000)

AUTHOR = "demo"
_NOTE = "(synthetic demo data)"

ORGANISATION = "Demo (synthetic)"
PANEL_DATA = "Demo panel data"
REPORTS = "Demo reports"
# Without passwords: `jupyter funcs token` issues their tokens.
_GRANTS = {"analyst": (PANEL_DATA, REPORTS), "guest": (PANEL_DATA,)}

VERSION = 4
"""Increase this with every change to the numbers or the file, so that older files aren't used."""

_END = b"PAR1"  # of a Parquet file


@dataclass(frozen=True, slots=True)
class Embedded:
    """
    The embedded service of this process.

    Attributes
    ----------
    app
        The ASGI application.
    token
        A bearer token that it accepts, valid for 30 days.
    name
        What to call the service; it says that the data is synthetic.
    """

    app: Starlette
    token: str = field(repr=False)
    name: str


_lock = threading.Lock()
_embedded: list[Embedded] = []


def embedded() -> Embedded:
    """
    Return the demo service of this process.

    There is only one per process. It is cheap to make: the first run generates or opens the data.
    """
    with _lock:
        if not _embedded:
            grants = Grants(seed=add_accounts)
            auth = Auth(SigningKeys.in_memory(), grants)
            registry = Registry(published(), author=AUTHOR)
            engine = DuckDBEngine(companies.reference(), cards)
            app = create_app(
                registry, auth, grants, engine, limits=_LIMITS, hosts=Hosts(names=["*"])
            )
            _embedded.append(
                Embedded(
                    app,
                    auth.issue("analyst", _TOKEN_HOURS),
                    "demo service (synthetic data)",
                )
            )
        return _embedded[0]


def published(
    asset: str = PANEL_DATA, reports_asset: str | None = REPORTS
) -> Sequence[PublishedFunction]:
    """Return the demo's functions, in the given assets."""
    return card_functions.published(
        companies.reference(), asset=asset, reports_asset=reports_asset, note=_NOTE
    )


def add_accounts(grants: Grants) -> None:
    """Add the demo's accounts: `analyst` with every asset, and `guest` with one."""
    for asset in (PANEL_DATA, REPORTS):
        grants.add_asset(asset, organisation=ORGANISATION)
    for user, assets in _GRANTS.items():
        grants.add_user(user, organisation=ORGANISATION)
        for asset in assets:
            grants.grant(user, asset)


def cards() -> Cards:
    """Return where the demo's card spend is; the first time, this takes seconds to generate it."""
    return Cards.parquet(spend_file())


def spend_file() -> Path:
    """Return the demo's file in the user's cache (`FUNCS_CACHE_DIR`), or a temporary one if that isn't writable."""
    import platformdirs

    home = Path(
        os.environ.get("FUNCS_CACHE_DIR")
        or platformdirs.user_cache_path("jupyter_funcs")
    )
    try:
        return _cached(home)
    except OSError as error:
        log.warning(
            "The cache folder %s cannot be written (%s); using a temporary one.",
            home,
            error,
        )

    temporary = Path(tempfile.mkdtemp(prefix="jupyter_funcs."))
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return _cached(temporary)


def _cached(home: Path) -> Path:
    """Return the file in a folder, built if need be; it is always complete, even if several processes build it."""
    path = home / f"demo-{VERSION}.parquet"
    if _is_complete(path):
        return path
    home.mkdir(parents=True, exist_ok=True)
    remove_abandoned(home.glob("demo-*.part"))
    from jupyter_funcs.service.builtin import synthesis

    part = home / f"demo-{secrets.token_hex(4)}.part"
    try:
        with create_locked(part) as file:
            synthesis.write(part)
            if not _is_complete(path):  # another process may have been first
                finish(file, path)
    finally:
        part.unlink(missing_ok=True)

    return path


def _is_complete(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            file.seek(-len(_END), os.SEEK_END)
            return file.read() == _END
    except OSError:
        return False

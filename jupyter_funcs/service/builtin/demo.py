"""The embedded demo service: the built-in functions over synthetic data, with a token in memory."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jupyter_funcs.service.accounts.auth import Auth
from jupyter_funcs.service.accounts.grants import Grants
from jupyter_funcs.service.accounts.signing_keys import SigningKeys
from jupyter_funcs.service.builtin import companies, demo_accounts, functions
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine
from jupyter_funcs.service.engine.tables import Cards
from jupyter_funcs.service.publishing.registry import PublishedFunction, Registry
from jupyter_funcs.service.web.app import create_app
from jupyter_funcs.service.web.hosts import Hosts
from jupyter_funcs.service.web.runs import Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.applications import Starlette


# A notebook may stay open for weeks. The token is useless after the process ends: so does its key.
_TOKEN_HOURS = 30 * 24
# The only caller has limits of its own for concurrency and time.
_LIMITS = Limits(run_seconds=24 * 3600, concurrent_runs=100_000)

AUTHOR = "demo"
_NOTE = "(synthetic demo data)"


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
            grants = Grants(seed=demo_accounts.add_to)
            auth = Auth(SigningKeys.in_memory(), grants)
            registry = Registry(published(), author=AUTHOR)
            engine = DuckDBEngine(companies.reference(), cards)
            app = create_app(registry, auth, grants, engine, limits=_LIMITS, hosts=Hosts(names=["*"]))
            _embedded.append(Embedded(app, auth.issue("analyst", _TOKEN_HOURS), "demo service (synthetic data)"))
        return _embedded[0]


def published(
    asset: str = demo_accounts.PANEL_DATA, reports_asset: str | None = demo_accounts.REPORTS
) -> Sequence[PublishedFunction]:
    """Return the demo's functions, in the given assets."""
    return functions.published(companies.reference(), asset=asset, reports_asset=reports_asset, note=_NOTE)


def cards() -> Cards:
    """Return where the demo's card spend is; the first time, this takes seconds to generate it."""
    from jupyter_funcs.service.builtin import demo_files

    return Cards.parquet(demo_files.cards())

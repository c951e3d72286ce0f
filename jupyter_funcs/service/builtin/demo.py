"""The embedded demo service: the built-in functions over synthetic data, with a token in memory."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from . import companies, functions, state
from .app import create_app
from .auth import Auth
from .dataset import Cards
from .engine import DuckDBEngine
from .grants import Grants
from .hosts import Hosts
from .keys import SigningKeys
from .limits import Limits
from .registry import Registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.applications import Starlette

    from .registry import Function

# A notebook may stay open for weeks; the token ends with the process anyhow, for its key does.
_TOKEN_HOURS = 30 * 24
# There is one caller, who bounds what it does at once and how long it waits.
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
        What to call the service; says that its data are synthetic.
    """

    app: Starlette
    token: str = field(repr=False)
    name: str


_lock = threading.Lock()
_embedded: list[Embedded] = []


def embedded() -> Embedded:
    """
    Give the demo service of this process; cheap, for the data are generated or opened by the first run.

    There is one a process, whichever thread asks first: two would hold the data twice.
    """
    with _lock:
        if not _embedded:
            grants = Grants(seed=state.seed_demo)
            auth = Auth(SigningKeys.in_memory(), grants)
            registry = Registry(published(), author=AUTHOR)
            engine = DuckDBEngine(companies.reference(), cards)
            app = create_app(registry, auth, grants, engine, limits=_LIMITS, hosts=Hosts(names=["*"]))
            _embedded.append(Embedded(app, auth.issue("analyst", _TOKEN_HOURS), "demo service (synthetic data)"))
        return _embedded[0]


def published(asset: str = state.DEMO_PANEL_DATA, reports_asset: str | None = state.DEMO_REPORTS) -> Sequence[Function]:
    """Give the demo's functions, as of other assets on demand."""
    return functions.published(companies.reference(), asset=asset, reports_asset=reports_asset, note=_NOTE)


def cards() -> Cards:
    """Say where the demo's card spend lies; the first time it takes some seconds to make it."""
    from . import demo_files  # noqa: PLC0415 - loads numpy and pyarrow, which a listing does without

    return Cards.parquet(demo_files.folder() / demo_files.CARDS)

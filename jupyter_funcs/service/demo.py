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
    from starlette.applications import Starlette

    from .engine import Engine

# A notebook may stay open for weeks; the token ends with the process anyhow, for its key does.
_TOKEN_HOURS = 30 * 24
# There is one caller, who bounds what it does at once and how long it waits.
_LIMITS = Limits(run_seconds=24 * 3600, concurrent_runs=100_000)


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
            app = create_app(registry(), auth, grants, engine(), limits=_LIMITS, hosts=Hosts(names=["*"]))
            _embedded.append(Embedded(app, auth.issue("analyst", _TOKEN_HOURS), "demo service (synthetic data)"))
        return _embedded[0]


def registry() -> Registry:
    """Give the demo's catalog."""
    built_in = functions.published(
        companies.reference(),
        asset=state.DEMO_PANEL_DATA,
        reports_asset=state.DEMO_REPORTS,
        note="(synthetic demo data)",
    )
    return Registry(built_in, author="demo")


def engine() -> Engine:
    """Give an engine over the demo's data."""
    return DuckDBEngine(companies.reference(), _cards)


def _cards() -> Cards:
    from . import demo_files  # noqa: PLC0415 - loads numpy and pyarrow, which a listing does without

    return Cards.parquet(demo_files.folder() / demo_files.CARDS)

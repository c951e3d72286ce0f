"""The embedded demo service: the built-in functions over synthetic data, with a token in memory."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from . import companies, functions
from .app import create_app
from .auth import Auth
from .engine import DuckDBEngine
from .grants import Grants
from .keys import SigningKeys
from .registry import Registry
from .state import seed_demo

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.applications import Starlette

# A notebook may stay open for weeks; the token ends with the process anyhow, for its key does.
_TOKEN_HOURS = 30 * 24


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
            grants = Grants(seed=seed_demo)
            auth = Auth(SigningKeys.in_memory(), grants)
            app = create_app(registry(), auth, grants, DuckDBEngine(companies.reference(), _cards))
            _embedded.append(Embedded(app, auth.issue("analyst", _TOKEN_HOURS), "demo service (synthetic data)"))
        return _embedded[0]


def registry() -> Registry:
    """Give the demo's catalog."""
    built_in = functions.published(
        companies.reference(), asset="Demo panel data", reports_asset="Demo reports", note="(synthetic demo data)"
    )
    return Registry(built_in, author="demo")


def _cards() -> Path:
    from . import demo_files  # noqa: PLC0415 - loads numpy and pyarrow, which a listing does without

    return demo_files.folder() / demo_files.CARDS

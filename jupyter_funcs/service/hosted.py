"""A service put together from its settings: accounts, functions, data and engine, checked before the first request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import demo, state
from .app import create_app
from .auth import Auth
from .hosts import Hosts
from .limits import Limits

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.applications import Starlette

    from .engine import Engine
    from .grants import Grants
    from .settings import Server, Settings


@dataclass(frozen=True, slots=True)
class Hosted:
    """
    A service that is ready to be served.

    Attributes
    ----------
    app
        The ASGI application.
    about
        What it serves, for a person.
    folder
        Where its accounts and keys are.
    """

    app: Starlette
    about: str
    folder: Path
    engine: Engine
    grants: Grants

    def close(self) -> None:
        """Let go of the data and the accounts."""
        self.engine.close()
        self.grants.close()


def build(settings: Settings, *, is_demo: bool) -> Hosted:
    """
    Put a service together.

    Parameters
    ----------
    settings
        Of the configuration, and of the command's options.
    is_demo
        Whether there is no configuration: the demo's functions, data and accounts are served.

    Raises
    ------
    SetupError
        Whatever it is that cannot be used as it is.
    """
    folder = state.folder(settings.state, demo=is_demo)
    grants = state.open_grants(folder, demo=is_demo)
    auth = Auth(state.open_keys(folder), grants)
    registry, engine = demo.registry(), demo.engine()
    app = create_app(registry, auth, grants, engine, limits=_limits(settings.server), hosts=_hosts(settings.server))
    return Hosted(app, "the demo, whose data are synthetic", folder, engine, grants)


def _limits(server: Server) -> Limits:
    return Limits(
        run_seconds=server.run_seconds, concurrent_runs=server.concurrent_runs, runs_a_user=server.runs_a_user
    )


def _hosts(server: Server) -> Hosts:
    names = (server.host, *server.allowed_hosts)
    return Hosts(names=names, origins=server.allowed_origins, behind_proxy=server.behind_proxy)

"""A service put together from its settings: accounts, functions, data and engine, checked before the first request."""

from __future__ import annotations

import logging
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import companies, demo, publish, state
from . import functions as built_in_functions
from .accounts import folded
from .app import create_app
from .auth import Auth
from .engines import IN_MEMORY, connect_engine
from .hosts import Hosts
from .limits import Limits
from .registry import Registry
from .words import did_you_mean, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from starlette.applications import Starlette

    from .engine import Engine
    from .grants import Grants
    from .registry import Function
    from .settings import Server, Settings

log = logging.getLogger(__name__)


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


def build(settings: Settings, config: Path | None) -> Hosted:
    """
    Put a service together.

    Parameters
    ----------
    settings
        Of the configuration, and of the command's options.
    config
        The configuration's file; without one, the demo's functions, data and accounts are served.

    Raises
    ------
    SetupError
        Whatever it is that cannot be used as it is.
    """
    is_demo = config is None
    folder = state.folder(settings.state, demo=is_demo)
    if is_demo:
        functions, engine = demo.published(), connect_engine(settings.engine, companies.reference(), demo.cards)
    else:
        functions, engine = _own(settings)
    registry = Registry(functions, author=demo.AUTHOR if is_demo else settings.organisation)
    grants = state.open_grants(folder, demo=is_demo)
    _name_absent(functions, grants, config)
    _name_absent_lists(functions)
    auth = Auth(state.open_keys(folder), grants)
    app = create_app(registry, auth, grants, engine, limits=_limits(settings.server), hosts=_hosts(settings.server))
    count = "1 function" if len(functions) == 1 else f"{len(functions)} functions"
    whose = settings.organisation if settings.data else "the demo, which are synthetic,"
    return Hosted(app, f"{count} over the data of {whose}", folder, engine, grants)


def _own(settings: Settings) -> tuple[Sequence[Function], Engine]:
    """Give the functions and the engine of a configuration; what it says of the data is held against them."""
    asset, limit = settings.functions.asset, settings.memory_limit
    if settings.data is None:
        built_in = demo.published(asset, None)
        engine = connect_engine(settings.engine, companies.reference(), demo.cards, memory_limit=limit)
    else:
        from . import own_data  # noqa: PLC0415 - loads ibis, which the demo does without until its first run

        reference, cards = own_data.load(settings)
        built_in = built_in_functions.published(reference, asset=asset)
        engine = connect_engine(settings.engine, reference, cards, memory_limit=limit)
    published = publish.load(
        settings.functions.folders, entry_points=settings.functions.entry_points, default_asset=asset
    )
    if settings.data is not None or settings.engine != IN_MEMORY:
        engine.open()
    return [*(built_in if settings.functions.builtin else ()), *published], engine


def _name_absent(functions: Sequence[Function], grants: Grants, config: Path | None) -> None:
    """Tell the operator of functions that nobody can see."""
    known = {folded(asset.name) for asset in grants.all_assets()}
    for asset in dict.fromkeys(each.asset for each in functions if folded(each.asset) not in known):
        names = listed(each.name for each in functions if each.asset == asset)
        command = ["jupyter", "funcs", "admin", "assets", "add", asset, *(["--config", str(config)] if config else [])]
        log.warning(
            "Nobody may run %s: there is no asset %s yet. To add it: %s", names, quoted(asset), shlex.join(command)
        )


def _name_absent_lists(functions: Sequence[Function]) -> None:
    """Tell the operator of parameters whose values a function lists that is not published."""
    known = {each.name.casefold(): each.name for each in functions}
    for function in functions:
        for parameter in function.parameters:
            if parameter.source and parameter.source.function.casefold() not in known:
                log.warning(
                    "The values of %s of %s are listed by no function: %s is not published.%s",
                    parameter.name,
                    quoted(function.name),
                    quoted(parameter.source.function),
                    did_you_mean(parameter.source.function, list(known.values())),
                )


def _limits(server: Server) -> Limits:
    return Limits(
        run_seconds=server.run_seconds, concurrent_runs=server.concurrent_runs, runs_a_user=server.runs_a_user
    )


def _hosts(server: Server) -> Hosts:
    names = (server.host, *server.allowed_hosts)
    return Hosts(names=names, origins=server.allowed_origins, behind_proxy=server.behind_proxy)

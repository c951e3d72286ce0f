"""Applications served over real HTTP on a free port of this machine, and the demo service with accounts of its own."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import uvicorn
from argon2 import PasswordHasher
from argon2.profiles import CHEAPEST

from jupyter_funcs.service.accounts import passwords
from jupyter_funcs.service.accounts.auth import Auth
from jupyter_funcs.service.accounts.grants import Grants
from jupyter_funcs.service.accounts.signing_keys import SigningKeys
from jupyter_funcs.service.builtin import companies, demo
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine
from jupyter_funcs.service.publishing.registry import Registry
from jupyter_funcs.service.web.app import create_app

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_funcs.service.web.runs import Limits


class _Server(uvicorn.Server):
    """A server that stops at once, not at its next check a tenth of a second later, twice."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.end: Future[None] = Future()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await asyncio.wrap_future(self.end)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if (
            self.server_state.connections
            or self.server_state.tasks
            or self.config.lifespan == "on"
        ):
            await super().shutdown(sockets)
        for listener in [*self.servers, *(sockets or [])]:
            listener.close()


@contextlib.contextmanager
def serving(
    app: Any, listening: socket.socket | None = None, **options: Any
) -> Iterator[str]:
    """Serve an ASGI application over real HTTP, on a free port or a listening socket; yield its address."""
    # With its protocol, without which asyncio does not switch Nagle's algorithm off: 40 ms a request.
    with listening or socket.socket(
        socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP
    ) as own:
        if listening is None:
            own.bind(("127.0.0.1", 0))
        options = {"lifespan": "off", **options}
        server = _Server(uvicorn.Config(app, log_level="error", ws="none", **options))
        thread = threading.Thread(
            target=server.run, kwargs={"sockets": [own]}, daemon=True
        )
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.005)
        try:
            yield f"http://127.0.0.1:{own.getsockname()[1]}"
        finally:
            server.end.set_result(None)
            thread.join(60)


class Service(NamedTuple):
    """A service with accounts of its own."""

    url: str
    auth: Auth
    grants: Grants
    app: Any


@contextlib.contextmanager
def serving_accounts(limits: Limits | None = None) -> Iterator[Service]:
    """Serve the demo's functions over HTTP with the demo's users, whose accounts a test may change."""
    grants = Grants(seed=demo.add_accounts)
    auth = Auth(SigningKeys.in_memory(), grants)
    engine = DuckDBEngine(companies.reference(), demo.cards)
    registry = Registry(demo.published(), author=demo.AUTHOR)
    app = create_app(registry, auth, grants, engine, limits=limits)
    with cheap_hashes(), serving(app) as url:
        yield Service(url, auth, grants, app)


real_hasher = passwords._hasher


@contextlib.contextmanager
def cheap_hashes() -> Iterator[None]:
    """Hash passwords at argon2's lowest cost: the real one takes a tenth of a second and 64 MiB each time."""
    hasher = PasswordHasher.from_parameters(CHEAPEST)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_hasher", lambda: (hasher, hasher.hash(b"")))
        yield

"""A service with the function F, which returns its argument; and a session configured by the environment."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

import jupyter_funcs as jf
from tests.faults.canary import CANARY
from tests.faults.server import LISTING, Connection, Faulty, faulty

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

    from jupyter_funcs.api import Session
    from tests.faults.server import Act


def giving(rows: Callable[[str], object]) -> Act:
    """Answer a run with what `rows` returns for its argument; an error fails it, and `held` is never answered."""

    def act(connection: Connection) -> None:
        while True:
            body = LISTING
            if b"ListUserFunctions" not in connection.request():
                if connection.argument() == "held":
                    connection.hold()
                    return
                echoed = rows(connection.argument())
                failed = str(echoed) if isinstance(echoed, Exception) else None
                body = json.dumps(
                    {"error": failed, "body": None if failed else json.dumps(echoed)}
                ).encode()
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            connection.send(head % len(body) + body)

    return act


def echo(argument: str) -> object:
    """Return the argument; there is no `bad`."""
    return ValueError("no such number") if argument == "bad" else [{"n": argument}]


@contextmanager
def echoing() -> Iterator[Faulty]:
    """Serve F."""
    with faulty(otherwise=giving(echo)) as server:
        yield server


@contextmanager
def by_environment(
    server: Faulty, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Session]:
    """Connect by the environment, which other processes have too."""
    monkeypatch.setenv("FUNCS_BASE_URL", server.url)
    monkeypatch.setenv("FUNCS_TOKEN", CANARY)
    session = jf.connect()
    assert session.names == ["F"]
    session.close()  # what a test makes of the server is for new connections
    yield session
    session.close()

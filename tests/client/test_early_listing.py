"""`jf.connect` lists the functions in the background: once, silently, and only if no user has to be asked."""

from __future__ import annotations

import gc
import itertools
import json
import os
import subprocess
import sys
import threading
import warnings
import weakref
from subprocess import PIPE
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import jupyter_funcs as jf
from jupyter_funcs.client import client, remote
from tests.conftest import wait_until
from tests.faults.canary import CANARY
from tests.faults.server import LISTING, Connection, Faulty, faulty, healthy, reply
from tests.faults.test_cancelling import Watched, interrupted_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from jupyter_funcs.api import Session


@pytest.fixture
def server() -> Iterator[Faulty]:
    with faulty() as server:
        yield server


def slowly(seconds: float) -> Callable[[Connection], None]:
    def act(connection: Connection) -> None:
        connection.server.stopping.wait(seconds)
        healthy(connection)

    return act


def test_the_functions_are_known_before_the_first_use(
    server: Faulty, capfd: pytest.CaptureFixture[str]
) -> None:
    """Connecting lists them once; the first use sends nothing more, and `refresh` lists them again."""
    session = jf.connect(server.url, token=CANARY)
    wait_until(lambda: session.listed)
    assert "f" in dir(session)
    assert session._ipython_key_completions_() == ["F"]
    assert "1 function>" in repr(session)
    assert session.names == ["F"]
    assert len(server.requests) == 1
    session.refresh()
    assert len(server.requests) == 2
    assert not any(capfd.readouterr())
    session.close()


PROFILES = """
[profiles.env]
url = "{url}"
token_env = "OF_TESTS"
[profiles.file]
url = "{url}"
token_file = "{folder}/token"
[profiles.public]
url = "{url}/openapi.json"
[profiles.command]
url = "{url}"
token_command = ["echo", "a-token-of-the-tests"]
[profiles.keyring]
url = "{url}"
token_keyring = "ann"
[profiles.login]
url = "{url}"
login = "ann@x.example"
[profiles.tools]
kind = "mcp"
command = ["false"]
[profiles.module]
kind = "python"
module = "this"
"""


@pytest.mark.parametrize(
    ("where", "starts"),
    [
        ("env", True),
        ("file", True),
        ("public", True),
        ([len], True),
        (ModuleType("empty"), True),
        ("command", False),
        ("keyring", False),
        ("login", False),
        ("tools", False),
        ("module", False),
        ("python:this", False),
    ],
)
def test_it_starts_only_if_nobody_is_asked_and_no_code_runs(
    where: Any,
    starts: bool,
    server: Faulty,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not for commands, keyrings, logins, functions that return a token, or modules to import; nor with a transport."""
    (tmp_path / "token").touch(0o600)
    (tmp_path / "token").write_text(CANARY)
    (tmp_path / "profiles.toml").write_text(
        PROFILES.format(url=server.url, folder=tmp_path)
    )
    monkeypatch.setenv("FUNCS_CONFIG", str(tmp_path / "profiles.toml"))
    monkeypatch.setenv("OF_TESTS", CANARY)
    session = jf.connect(where)
    assert (session._early is not None) is starts
    assert "this" not in sys.modules
    session.close()


def test_a_function_or_a_transport_of_the_user_is_not_called(
    server: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function that returns a token and a transport are called at the first use; a sweep's worker lists nothing."""
    monkeypatch.setenv("FUNCS_BASE_URL", server.url)
    monkeypatch.setenv("FUNCS_TOKEN", CANARY)

    def refuse(*_: object) -> Any:
        raise AssertionError

    sessions = [
        jf.connect(server.url, token=refuse),
        jf.connect(server.url, token=CANARY, transport=httpx.MockTransport(refuse)),
        jf.api.Session.reconnect(None),
    ]
    assert [session._early for session in sessions] == [None] * 3
    assert not server.requests


def test_a_failure_costs_nothing_and_is_shown_at_the_first_use(server: Faulty) -> None:
    """It is sent once; then the first use lists again, with its own retries, and raises its own error."""
    server.tell(*[reply(b"", "503 Busy")] * 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session = jf.connect(server.url, token=CANARY)
        wait_until(session._early.done)  # type: ignore[union-attr]
    health = session.remote.transport._health
    assert (
        len(server.requests),
        health.budget.left,
        len(health.breaker._failures),
    ) == (1, 50, 0)
    assert session.listed is None
    with pytest.raises(jf.ServerError) as caught:
        _ = session.names
    assert (caught.value.attempts, len(server.requests)) == (3, 4)
    assert session.names == ["F"]
    session.close()


def test_nothing_is_sent_while_requests_are_paused(server: Faulty) -> None:
    """Neither during the pause nor as the request that ends it."""
    first = jf.connect(server.url, token=lambda: CANARY)
    breaker = first.remote.transport._health.breaker
    for _ in range(5):
        breaker.failed(0.0, breaker.admit(0.0))
    breaker._probe_at = 0.0  # long ago
    session = jf.connect(server.url, token=CANARY)
    wait_until(session._early.done)  # type: ignore[union-attr]
    assert not server.requests
    assert breaker.is_open
    assert session.names == ["F"]  # the request that ends the pause
    assert not breaker.is_open
    session.close()


def test_the_first_use_joins_it(server: Faulty) -> None:
    """Also from several threads; an interrupt of the wait leaves it alone."""
    listing = reply(LISTING)
    go = threading.Event()

    class Late(Connection):
        def send(self, data: bytes) -> None:
            go.wait(60)
            super().send(data)

    server.tell(lambda connection: listing(Late(connection.socket, server)))
    session = jf.connect(server.url, token=CANARY)
    with (
        interrupted_once(lambda: server.connections == 1),
        pytest.raises(KeyboardInterrupt),
    ):
        _ = session.names
    names: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: names.append(session.names)) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    threading.Timer(0.1, go.set).start()
    assert session.names == ["F"]
    for thread in threads:
        thread.join()
    assert names == [["F"]] * 3
    assert len(server.requests) == 1
    session.close()


@pytest.mark.slow
def test_a_service_that_hangs_takes_no_longer_than_before(
    server: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait of the first use, 19.7 s by the test's clock, is subtracted from its own limit of 20 s."""
    monkeypatch.setattr(remote, "LIST_SECONDS", 0.3)
    monkeypatch.setattr(client, "_MIN_LEFT", 0.1)
    times = itertools.count(0, 19.7)
    monkeypatch.setattr(client, "time", SimpleNamespace(monotonic=lambda: next(times)))
    server.tell(*[lambda connection: connection.request() and connection.hold()] * 3)
    session = jf.connect(server.url, token=CANARY)
    left: list[float | None] = []
    listing = session.remote.listing

    def note(seconds: float | None = None, *, is_early: bool = False) -> Any:
        if not is_early:
            left.append(seconds)
        return listing(seconds, is_early=is_early)

    monkeypatch.setattr(session.remote, "listing", note)
    with pytest.raises(
        jf.DeadlineError, match=r"did not finish within (.|\n)*Try again\."
    ):
        _ = session.names
    assert left == [pytest.approx(0.3)]
    session.close()


def test_closing_or_dropping_the_session_ends_it(server: Faulty) -> None:
    """Its connection is closed at once, without a message about a pending task."""
    for end in ("close", "drop"):
        watched = Watched(Connection.hold)
        server.tell(watched)
        session = jf.connect(server.url, token=CANARY)
        assert watched.begun.wait(60)
        if end == "close":
            session.close()
            assert session.names == ["F"]
            session.close()
        else:
            alive = weakref.ref(session)
            del session
            gc.collect()
            assert alive() is None
        assert watched.closed.wait(60)


PROGRAM = """
import sys, time, os
import jupyter_funcs as jf
from jupyter_funcs.client import remote
remote.LIST_SECONDS = 600
session = jf.connect({url!r}, token="a-token-of-the-tests")
{then}
"""
FORK = """
sys.stdin.readline()  # the listing has begun: a child of a process that is still importing has half of what it needs
child = os.fork()
if child == 0:
    os._exit(1 + len(session.names))
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
sys.exit(10 * code + len(session.names))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("then", "code"),
    [
        ("sys.stdin.readline()", 0),
        ("", 0),
        pytest.param(
            FORK, 21, marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="")
        ),
    ],
)
def test_another_process_neither_waits_for_it_nor_hears_of_it(
    server: Faulty, then: str, code: int
) -> None:
    """A script that ends meanwhile ends silently, without waiting for it; a forked child lists for itself."""
    server.tell(slowly(3 if code else 600))
    server.otherwise = healthy
    program = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        PROGRAM.format(url=server.url, then=then),
    ]
    with subprocess.Popen(
        program, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True
    ) as process:
        if then:
            wait_until(lambda: server.connections == 1)
        output = process.communicate("\n", timeout=120)
    assert (process.returncode, *output) == (code, "", "")


def test_its_warnings_are_shown_at_the_first_use(server: Faulty) -> None:
    """Once, for the user's line; nothing is shown for Tab and in the background."""
    body = json.dumps([{"name": "F", "params": [{"name": "a", "type": 77}]}]).encode()
    server.tell(reply(body))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session = jf.connect(server.url, token=CANARY)
        wait_until(lambda: session.listed)
    with pytest.warns(UserWarning, match="type code 77") as caught:
        assert session.names == ["F"]
    assert caught[0].filename == __file__
    assert session.names == ["F"]
    session.close()


def test_python_functions_are_listed_too() -> None:
    """Only for functions that were passed as objects, whose modules are already imported."""

    def daily_total(symbol: str) -> str:
        return symbol

    session = jf.connect([daily_total])
    wait_until(lambda: session.listed)
    assert "daily_total" in dir(session)
    assert session.daily_total(symbol="x") is not None


def test_the_listing_is_that_of_the_service(server: Faulty) -> None:
    """A reply that isn't a listing is dropped, and the first use raises its error."""
    # As a service, twice as an MCP server, and as a document.
    server.tell(*[reply(b"<html>", Content_Type="text/html")] * 4, reply(LISTING))
    session: Session = jf.connect(server.url, token=CANARY)
    wait_until(session._early.done)  # type: ignore[union-attr]
    assert session.names == ["F"]
    assert len(server.requests) == 5
    session.close()

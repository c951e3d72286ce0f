"""Retries in the transport: its lanes, breaker and budget, and what is never sent twice."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import jupyter_funcs as jf
from jupyter_funcs.connection import http, retries
from jupyter_funcs.connection.http import Lanes
from jupyter_funcs.core import background
from tests.conftest import tasks, wait_until
from tests.echoing import echoing
from tests.faults.canary import CANARY
from tests.faults.server import ROWS, Connection, Faulty, faulty, reply
from tests.faults.test_transport_faults import broken, listed
from tests.sources.test_openapi import document, operation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="module")
def server() -> Iterator[Faulty]:
    """A service that each test scripts."""
    with faulty() as server:
        yield server


class Client:
    """A lane's client, without a network."""

    def __init__(self) -> None:
        self.is_closed = False
        self.closing = asyncio.Event()
        self.may_close = asyncio.Event()
        self.may_close.set()

    async def aclose(self) -> None:
        self.closing.set()
        await self.may_close.wait()
        self.is_closed = True


class Uses:
    """Requests through lanes that end on demand."""

    def __init__(self) -> None:
        self.lanes = Lanes(Client)  # type: ignore[arg-type]  # all of a client that lanes use

    async def begin(
        self, number: int
    ) -> list[tuple[asyncio.Task[None], Client, asyncio.Event]]:
        begun = [await self._begin() for _ in range(number)]
        return [(task, got.result(), end) for task, got, end in begun if got.done()]

    async def _begin(
        self,
    ) -> tuple[asyncio.Task[None], asyncio.Future[Client], asyncio.Event]:
        got: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        end = asyncio.Event()

        async def use() -> None:
            async with self.lanes.client() as (client, _):
                got.set_result(client)  # type: ignore[arg-type]  # as above
                await end.wait()

        task = asyncio.ensure_future(use())
        self.tasks = [*getattr(self, "tasks", []), task]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return task, got, end


async def settled(*tasks: asyncio.Task[None]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


def test_a_lane_that_is_spoilt_is_closed_by_the_last_that_uses_it() -> None:
    """A request is cancelled: the others of its lane finish, it gets no new ones, and nothing stays open."""

    async def go() -> None:
        uses = Uses()
        (first, client, _), (other, same, end) = await uses.begin(2)
        assert client is same
        first.cancel()
        await settled(first)
        assert not client.is_closed
        ((new, fresh, new_end),) = await uses.begin(1)
        assert fresh is not client
        end.set()
        await settled(other)
        assert client.is_closed
        assert not other.cancelled()
        assert not fresh.is_closed
        new_end.set()
        await settled(new)
        await uses.lanes.close()
        assert fresh.is_closed

    asyncio.run(go())


def test_closing_lets_what_is_under_way_end() -> None:
    """Its connections close afterwards; later requests open new ones."""

    async def go() -> None:
        uses = Uses()
        ((task, client, end),) = await uses.begin(1)
        await uses.lanes.close()
        assert not client.is_closed
        ((new, fresh, new_end),) = await uses.begin(1)
        assert fresh is not client
        end.set()
        await settled(task)
        assert client.is_closed
        new_end.set()
        await settled(new)

    asyncio.run(go())


def test_who_is_cancelled_twice_leaves_no_connection_open() -> None:
    """A second cancel, for instance by a deadline, arrives while the connections are being closed."""

    async def go() -> None:
        uses = Uses()
        ((task, client, _),) = await uses.begin(1)
        client.may_close.clear()
        task.cancel()
        await client.closing.wait()
        task.cancel()
        await settled(task)
        assert task.cancelled()
        client.may_close.set()
        for _ in range(3):
            await asyncio.sleep(0)
        assert client.is_closed

    asyncio.run(go())


def test_a_connection_that_cannot_be_closed_hides_no_cancel() -> None:
    """An error while closing a connection is ignored."""

    async def go() -> None:
        uses = Uses()
        ((task, client, _),) = await uses.begin(1)
        client.aclose = _fail  # type: ignore[method-assign]
        task.cancel()
        await settled(task)
        assert task.cancelled()

    asyncio.run(go())


async def _fail() -> None:
    raise OSError


def test_who_stops_waiting_for_a_place_takes_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A wait for a place is cancelled, before and after one is free; no place is lost."""
    monkeypatch.setattr(http, "_LANES", 1)

    async def go() -> None:
        uses = Uses()
        places = await uses.begin(http.CONNECTIONS)
        assert not await uses.begin(2)
        waiting, other = uses.tasks[-2:]
        waiting.cancel()
        await settled(waiting)
        # Its place goes to the other, which is cancelled at the same moment.
        places[0][2].set()
        other.cancel()
        await settled(other, places[0][0])
        for _, _, end in places:
            end.set()
        await settled(*(task for task, _, _ in places))
        again = await uses.begin(http.CONNECTIONS)
        assert len(again) == http.CONNECTIONS
        for _, _, end in again:
            end.set()
        await settled(*(task for task, _, _ in again))

    asyncio.run(go())


def test_a_session_that_is_closed_during_a_run_sends_it_once(server: Faulty) -> None:
    """The run finishes, and then its connection closes."""
    go = threading.Event()
    gone = threading.Event()

    def late(connection: Connection) -> None:
        connection.request()
        go.wait(60)
        connection.send(
            b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(ROWS) + ROWS
        )
        connection.hold()
        gone.set()

    session = listed(server)
    server.tell(late)
    job = session.f.submit(a="1")
    wait_until(lambda: len(server.requests) == 1)
    session.close()
    go.set()
    frame = job.result(60)
    assert frame.attrs["funcs"]["attempts"] == len(server.requests) == 1
    assert gone.wait(60)


@pytest.mark.fault(2, 4)
def test_a_change_is_sent_again_only_if_it_was_never_sent() -> None:
    """After a reset, a 408 or a 503 it may have been made; after a refused connection it can't have been."""
    described = document({"/f": {"post": operation(operationId="f")}})
    with faulty() as server:
        server.tell(reply(json.dumps(described).encode()))
        session = jf.connect(f"{server.url}/openapi.json")
        change = session["f"]
        for act in (
            broken(Connection.reset),
            reply(b"", "408 Late"),
            reply(b"", "503 Busy", Retry_After="0"),
        ):
            session.close()
            server.tell(act)
            with pytest.raises(jf.FuncsError) as caught:
                change()
            assert caught.value.attempts == len(server.requests) == 1
        session.close()
    with pytest.raises(jf.ServiceConnectionError, match="Cannot reach") as caught:
        change()
    assert caught.value.attempts == 3


def opened(server: Faulty, **options: Any) -> jf.Session:
    """Return a session whose breaker is open and would allow a probe now."""
    session = listed(server, **options)
    breaker = session.remote.transport._health.breaker
    for _ in range(breaker.max_failures):
        breaker.failed(0.0, retries.Admission(0.0))
    assert breaker.is_open
    return session


def test_a_probe_that_is_cancelled_is_no_failure_and_the_next_run_is_the_probe(
    server: Faulty,
) -> None:
    """All others have to wait for the probe; once it is cancelled, the next run is sent."""
    before = tasks()
    session = opened(server)
    server.tell(broken(Connection.hold))
    probe = session.f.submit(a="1")
    wait_until(lambda: len(server.requests) == 1)
    with pytest.raises(jf.CircuitOpenError):
        session.f(a="2")
    probe.cancel()
    wait_until(lambda: tasks() <= before)
    assert len(session.f(a="3")) == 2
    assert not session.remote.transport._health.breaker.is_open
    session.close()


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(RuntimeError("of the keyring"), id="the keyring fails"),
        pytest.param(jf.AuthenticationError("no token"), id="no token"),
    ],
)
def test_a_probe_that_is_not_sent_lets_the_next_run_be_it(
    server: Faulty, error: Exception
) -> None:
    """If the token source raises, no run waits for the probe."""
    sources: list[Exception] = []

    session = opened(server)
    transport = session.remote.transport
    secret = transport.secret

    async def failing(*source: Any) -> Any:
        if sources:
            raise sources.pop()
        return await secret(*source)

    transport.secret = failing  # type: ignore[method-assign]  # also what no source should raise
    sources.append(error)
    server.tell()
    with pytest.raises(type(error)):
        session.f(a="1")
    assert server.requests == []
    assert len(session.f(a="2")) == 2
    session.close()


@pytest.mark.slow
def test_a_deadline_counts_as_a_failure_and_a_cancel_does_not(server: Faulty) -> None:
    """Five runs that reach their deadline open the breaker; five that are cancelled don't."""
    before = tasks()
    session = listed(server)
    breaker = session.remote.transport._health.breaker
    server.tell(*[broken(Connection.hold)] * 10)
    for _ in range(5):
        job = session.f.submit(a="1")
        wait_until(lambda: len(server.requests) == 1)
        server.requests.clear()
        job.cancel()
        wait_until(lambda: tasks() <= before)
    assert not breaker.is_open
    for job in [session.f.with_options(timeout=1).submit(a="1") for _ in range(5)]:
        with pytest.raises(jf.DeadlineError, match="may still be running"):
            job.result()
    assert breaker.is_open
    with pytest.raises(jf.CircuitOpenError):
        session.f(a="1")
    session.close()


def test_a_deadline_before_anything_is_sent_says_so_and_counts_for_nothing(
    server: Faulty,
) -> None:
    """A token source that doesn't answer isn't a failure of the service."""
    stop = threading.Event()
    hangs: list[bool] = []

    def source() -> str:
        if hangs:
            stop.wait(60)
        return CANARY

    session = listed(server, token=source)
    hangs.append(True)
    server.tell()
    for _ in range(5):
        with pytest.raises(
            jf.DeadlineError,
            match=r"F was not sent within 0.05 s: no token was available",
        ) as caught:
            session.f.with_options(timeout=0.05)(a="1")
        assert len(caught.value.lines) == 2
    assert server.requests == []
    stop.set()
    hangs.clear()
    assert len(session.f(a="1")) == 2
    session.close()


@pytest.mark.slow
def test_a_deadline_in_a_second_try_says_that_it_was_one(server: Faulty) -> None:
    """The error is a DeadlineError and says how often it was tried."""
    session = listed(server)
    server.tell(broken(Connection.reset), broken(Connection.hold))
    with pytest.raises(
        jf.DeadlineError, match=r"within 3 s; it may still be running\. Tried 2 times"
    ) as caught:
        session.f.with_options(timeout=3)(a="1")
    assert caught.value.attempts == len(server.requests) == 2
    session.close()


@pytest.mark.slow
def test_a_sleep_that_outlasts_the_time_ends_in_the_failure_before_it(
    server: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine wakes with less than a second left: the earlier failure is raised, nothing is resent."""
    session = listed(server)
    server.tell(*[reply(b"{}", "503 Busy")] * 3)
    sleep = asyncio.sleep

    async def oversleep(seconds: float) -> None:
        await sleep(0.5)

    monkeypatch.setattr("jupyter_funcs.connection.transport.asyncio.sleep", oversleep)
    with pytest.raises(jf.ServerError, match="503") as caught:
        session.f.with_options(timeout=1.3)(a="1")
    assert caught.value.attempts == len(server.requests) == 1
    session.close()


def test_the_wish_of_a_failing_service_is_told(server: Faulty) -> None:
    """After more than 30 s there is no retry; the error says how long to wait (FAULTS 36, 39)."""
    session = listed(server)
    server.tell(reply(b"{}", "503 Busy", Retry_After="90"))
    with pytest.raises(jf.ServerError, match="Try again in 90 s") as caught:
        session.f(a="1")
    assert caught.value.attempts == len(server.requests) == 1
    session.close()


def test_two_sessions_of_one_service_share_its_budget(server: Faulty) -> None:
    """They spend one budget; a session with another service has its own (FAULTS 100)."""
    session = listed(server)
    other = listed(server, "another-token-of-the-tests")
    server.otherwise = reply(b"{}", "503 Busy")
    tried = []
    for funcs in (session, other, session, other, session, other):
        with pytest.raises(jf.ServerError) as caught:
            funcs.f.with_options(force=True)(a="1")
        tried.append(caught.value.attempts)
    assert tried == [3, 3, 3, 3, 3, 1]
    server.otherwise = None
    with faulty() as elsewhere:
        elsewhere.script = [reply(b"{}", "503 Busy")]
        assert jf.connect(elsewhere.url, token=CANARY).names == ["F"]
        assert len(elsewhere.requests) == 2
    session.close()
    other.close()


def token_of(request: bytes) -> str:
    lines = request.split(b"\r\n")
    return (
        next(line for line in lines if line.lower().startswith(b"authorization"))
        .split()[-1]
        .decode()
    )


@pytest.mark.fault(24, 25)
def test_a_token_is_renewed_once_whatever_comes_between(server: Faulty) -> None:
    """A 401, a 503 and another 401: the source is asked for one new token, without a loop."""
    session = listed(server)
    number = iter(range(100))
    session.close()
    renewing = jf.connect(server.url, token=lambda: f"token-{next(number)}")
    assert renewing.names == ["F"]
    renewing.close()
    refused = reply(b"{}", "401 Who")
    busy = reply(b"{}", "503 Busy")
    server.tell(refused, busy, refused, refused, refused)
    with pytest.raises(jf.AuthenticationError) as caught:
        renewing.f(a="1")
    assert [token_of(request) for request in server.requests] == [
        "token-1",
        "token-2",
        "token-3",
    ]
    assert caught.value.attempts == 2
    renewing.close()


@pytest.mark.fault(43)
def test_a_login_page_asks_for_no_new_token(server: Faulty) -> None:
    """It isn't a 401: the request may have been accepted, so it isn't sent again."""
    number = iter(range(100))
    session = jf.connect(server.url, token=lambda: f"token-{next(number)}")
    server.tell()
    assert session.names == ["F"]
    session.close()
    server.tell(reply(b"<html><title>Sign in</title></html>", Content_Type="text/html"))
    with pytest.raises(jf.AuthenticationError, match="login page"):
        session.f(a="1")
    assert len(server.requests) == 1
    session.close()


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(broken(Connection.reset), id="reset"),
        pytest.param(reply(b"{}", "503 Busy"), id="503"),
        pytest.param(reply(b"{}", "429 Busy"), id="429"),
    ],
)
def test_a_login_is_sent_once(
    server: Faulty, act: Callable[[Connection], None]
) -> None:
    """Repeating a password could lock the account."""
    server.tell(*[act] * 3)
    session = jf.connect(server.url, token=lambda: CANARY)  # listed at the first use
    transport = session.remote.transport
    from jupyter_funcs.connection.secrets import Hidden  # only here

    with pytest.raises(jf.FuncsError):
        background.run(
            transport.login("someone@example.com", Hidden("a-password-of-the-tests"))
        )
    assert len(server.requests) == 1
    session.close()


@pytest.mark.fault(47)
def test_an_arguments_name_repeats_no_token(server: Faulty) -> None:
    """In a 422 the names are masked like the texts."""
    session = listed(server)
    body = b'{"error": "no", "arguments": {"%s": ["is bad"]}}' % CANARY.encode()
    server.tell(reply(body, "422 No"))
    with pytest.raises(jf.ArgumentError) as caught:
        session.f(a="1")
    assert CANARY not in repr(vars(caught.value))
    session.close()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks only")
def test_a_forked_child_reads_its_replies_whatever_its_parent_read() -> None:
    """The parent forks while it reads a reply: the child doesn't wait for it (FAULTS 104)."""
    program = """
import os, sys
import jupyter_funcs as jf
from jupyter_funcs.core import background
session = jf.connect(sys.argv[1], token="a-token-of-the-tests")
assert len(session.f(a="1")) == 1
background.run(session.remote.transport.turn.acquire())
child = os.fork()
if child == 0:
    os._exit(10 + len(session.f.with_options(timeout=60)(a="2")))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    with echoing() as server:
        command = [sys.executable, "-W", "ignore", "-c", program, server.url]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 11, done.stderr


def test_a_late_interrupt_finds_no_run_that_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An interrupt just as the run is handed to the loop still cancels it."""
    before = tasks()
    with faulty() as server:
        session = listed(server)
        server.tell(*[broken(Connection.hold)] * 2)
        start = background.start

        def interrupted(*args: Any) -> Any:
            future = start(*args)
            if len(args) == 1:  # of a session that is thrown away
                return future
            time.sleep(0.05)
            raise KeyboardInterrupt

        monkeypatch.setattr(background, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            session.f(a="1")
        with pytest.raises(KeyboardInterrupt):
            session.refresh()
        monkeypatch.undo()
        wait_until(lambda: tasks() <= before)

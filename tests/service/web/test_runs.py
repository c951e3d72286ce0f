"""Limits on the number and time of runs; refusals say what to do (FAULTS.md 114-120, 134)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import time
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.builtin import companies, demo
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine
from jupyter_funcs.service.publishing.registry import (
    PublishedFunction,
    Registry,
    function,
)
from jupyter_funcs.service.web import app
from jupyter_funcs.service.web.middleware import RequestError
from jupyter_funcs.service.web.runs import Limits, Places, Runs, Work
from tests.service.conftest import LIST, RUN, Wire, becomes, published, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import httpx

    from jupyter_funcs.service.engine.tables import Cards


QUICK = published("Quick", list)


class Held:
    """A function that ignores cancellation until it is released, and counts its running calls."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.begun = threading.Semaphore(0)
        self.running = self.most = self.total = 0
        self._lock = threading.Lock()

    def published(self) -> PublishedFunction:
        def wait() -> list[Any]:
            """Wait."""
            with self._lock:
                self.running += 1
                self.total += 1
                self.most = max(self.most, self.running)
            self.begun.release()
            self.go.wait(60)
            with self._lock:
                self.running -= 1
            return []

        return function(asset="a", name="Held")(wait)

    async def has_begun(self, times: int = 1) -> None:
        for _ in range(times):
            assert await asyncio.to_thread(self.begun.acquire, timeout=60)


def endless() -> PublishedFunction:
    def python(call: Any) -> Any:
        """Join every row with every other."""
        cards = call.table("cards")
        pairs = cards.cross_join(cards.view())
        return pairs.agg(n=(pairs.spend_cents % pairs.cards_right).sum())

    return function(asset="a", name="Endless")(python)


@asynccontextmanager
async def calling(
    wire: Wire,
) -> AsyncIterator[Callable[..., asyncio.Task[httpx.Response]]]:
    """Return a function that starts a run; runs that are left at the end are cancelled."""
    async with wire.client() as client:
        tasks = []

        def call(name: str, token: str = "") -> asyncio.Task[httpx.Response]:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            tasks.append(
                asyncio.create_task(
                    client.post(RUN, json={"FunctionName": name}, headers=headers)
                )
            )
            return tasks[-1]

        yield call
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def assert_busy(reply: httpx.Response, status: int) -> None:
    assert reply.status_code == status, reply.text
    assert reply.json()["body"] is None
    assert 1 <= int(reply.headers["retry-after"]) <= 30


def test_a_query_over_its_time_is_stopped_with_a_message(
    publish: Callable[..., Wire],
) -> None:
    """FAULTS.md 114: 504 names the limit; the thread is free again."""
    wire = publish(endless(), QUICK, limits=Limits(run_seconds=0.5, engine_threads=2))
    wire.rows("Quick")
    assert wire.call("Endless").status_code == 504  # loads what the first query needs
    assert becomes(lambda: wire.app.state.runs.busy_threads == 0)
    reply = wire.call("Endless")
    assert reply.status_code == 504
    assert "0.5 seconds" in reply.json()["error"]
    assert becomes(lambda: wire.app.state.runs.busy_threads == 0)
    assert wire.rows("Quick") == []


def test_who_leaves_interrupts_their_query(publish: Callable[..., Wire]) -> None:
    wire = publish(endless(), QUICK, limits=Limits(engine_threads=2))
    runs = wire.app.state.runs

    async def check() -> None:
        async with calling(wire) as call:
            left = call("Endless")
            assert await asyncio.to_thread(becomes, lambda: runs.busy_threads == 1)
            await asyncio.sleep(0.3)  # until the query runs
            left.cancel()
            assert await asyncio.to_thread(becomes, lambda: runs.busy_threads == 0)
            assert (await call("Quick")).status_code == 200

    asyncio.run(check())


@pytest.mark.slow
def test_a_function_that_ignores_cancellation_keeps_its_thread_and_is_logged(
    publish: Callable[..., Wire], caplog: pytest.LogCaptureFixture
) -> None:
    gate = Held()
    wire = publish(
        gate.published(), QUICK, limits=Limits(run_seconds=1, engine_threads=2)
    )

    async def check() -> None:
        async with calling(wire) as call:
            assert (await call("Held")).status_code == 504
            # The only thread is taken. Waiting callers are told to try again, because none of their runs has begun.
            assert_busy(await call("Quick"), 429)
            warning = "A cancelled run is still running: its function ignores cancellation. Its place stays taken."
            assert await asyncio.to_thread(becomes, lambda: warning in caplog.text)
            [record] = [
                record for record in caplog.records if record.levelname == "WARNING"
            ]
            assert (record.message, record.function) == (warning, "Held")
            gate.go.set()
            assert (await call("Quick")).status_code == 200

    asyncio.run(check())
    assert gate.total == 1


def test_no_more_run_at_once_than_there_are_threads_and_the_others_wait(
    publish: Callable[..., Wire],
) -> None:
    gate = Held()
    wire = publish(gate.published(), limits=Limits(engine_threads=6))

    async def check() -> None:
        async with calling(wire) as call:
            replies = [call("Held") for _ in range(10)]
            await gate.has_begun(3)
            await asyncio.sleep(0.1)
            assert gate.running == 3
            gate.go.set()
            assert {(await reply).status_code for reply in replies} == {200}

    asyncio.run(check())
    assert (gate.most, gate.total) == (3, 10)


def test_beyond_what_may_wait_a_run_is_refused_at_once_and_others_are_answered(
    publish: Callable[..., Wire],
) -> None:
    """Listings and health checks aren't delayed, and running calls aren't lost."""
    gate = Held()
    wire = publish(
        gate.published(),
        limits=Limits(engine_threads=4, concurrent_runs=5, runs_a_user=5),
    )

    async def check() -> None:
        async with calling(wire) as call:
            replies = [call("Held") for _ in range(5)]
            await gate.has_begun(2)
            refused = await asyncio.gather(*(call("Held") for _ in range(20)))
            for reply in refused:
                assert_busy(reply, 429)
            async with wire.client() as client:
                listing = await asyncio.wait_for(client.post(LIST), 60)
                assert [entry["name"] for entry in listing.json()] == ["Held"]
                assert (
                    await asyncio.wait_for(client.get("/healthz"), 60)
                ).status_code == 200
            gate.go.set()
            assert {(await reply).status_code for reply in replies} == {200}
            assert (await call("Held")).status_code == 200

    asyncio.run(check())
    assert gate.total == 6


@pytest.mark.parametrize(
    ("limits", "share"),
    [
        (Limits(engine_threads=8, runs_a_user=2), 2),
        (Limits(engine_threads=2, concurrent_runs=4), 3),
    ],
    ids=["as configured", "all but a quarter"],
)
def test_a_user_over_their_share_is_429_and_others_go_on(
    publish: Callable[..., Wire], limits: Limits, share: int
) -> None:
    """FAULTS.md 134: no user gets every place."""
    gate = Held()
    wire = publish(gate.published(), QUICK, limits=limits)

    async def check() -> None:
        async with calling(wire) as call:
            replies = [call("Held") for _ in range(share)]
            await gate.has_begun(min(share, limits.engine_threads // 2))
            assert_busy(await call("Quick"), 429)
            assert (
                await asyncio.wait_for(call("Quick", wire.auth.issue("u", 1)), 60)
            ).status_code == 200
            gate.go.set()
            assert {(await reply).status_code for reply in replies} == {200}
            assert (await call("Quick")).status_code == 200

    try:
        asyncio.run(check())
    finally:
        gate.go.set()


@pytest.mark.slow
def test_who_starts_runs_and_leaves_keeps_nobody_else_from_running(
    publish: Callable[..., Wire],
) -> None:
    """FAULTS.md 134: a run holds its place and its thread until its work has ended, and a user has only a share."""
    gate = Held()
    wire = publish(gate.published(), QUICK, limits=Limits(engine_threads=4))
    other = wire.auth.issue("u", 1)

    async def check() -> None:
        async with calling(wire) as call:
            for _ in range(10):
                left = call("Held")
                await asyncio.sleep(0.05)
                left.cancel()
            await gate.has_begun(2)
            assert await asyncio.to_thread(
                becomes, lambda: wire.app.state.runs.admitted == 2
            )
            assert (await asyncio.wait_for(call("Quick", other), 60)).status_code == 200
            assert gate.running == 2
            gate.go.set()
            assert (await asyncio.wait_for(call("Quick"), 60)).status_code == 200
            assert await asyncio.to_thread(
                becomes, lambda: wire.app.state.runs.admitted == 0
            )

    try:
        asyncio.run(check())
    finally:
        gate.go.set()
    assert gate.total == 2


def test_readyz_is_about_ability_and_not_about_load(
    publish: Callable[..., Wire],
) -> None:
    """FAULTS.md 165: 200 while all places are taken and runs are refused; it needs no token."""
    gate = Held()
    wire = publish(gate.published(), limits=Limits(engine_threads=2, concurrent_runs=3))
    other = wire.auth.issue("u", 1)

    async def check() -> None:
        async with calling(wire) as call, wire.client(None) as client:
            replies = [call("Held"), call("Held", other), call("Held")]
            await gate.has_begun(2)
            assert_busy(await call("Held", other), 429)
            assert (await client.get("/readyz")).json() == {"status": "ok"}
            assert (await client.get("/healthz")).status_code == 200
            gate.go.set()
            assert {(await reply).status_code for reply in replies} == {200}
            wire.app.state.runs.stop()
            assert_busy(await client.get("/readyz"), 503)

    try:
        asyncio.run(check())
    finally:
        gate.go.set()


@pytest.mark.fault(165)
def test_users_get_places_in_turn() -> None:
    """Not first come, first served; the runs of one user stay in order, and none has more than half of the places."""
    places = Places(3)
    begun: list[str] = []

    def ask(user: int, name: str) -> None:
        places.ask(user, lambda: begun.append(name) is None)

    for number in range(4):
        ask(1, f"a{number}")
    ask(2, "b0")
    assert begun == ["a0", "a1", "b0"], (
        "one place is free for others than the first user"
    )
    ask(2, "b1")
    ask(3, "c0")
    for user in (1, 2, 1):
        places.give_back(user)
    assert begun[3:] == ["a2", "b1", "c0"]
    places.give_back(1)
    assert (begun[6:], places.busy) == (["a3"], 3)


def test_readyz_says_what_is_missing_and_nothing_else(
    publish: Callable[..., Wire],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Why is in the log."""
    monkeypatch.setattr(app, "_CHECK_SECONDS", 0)
    problems = [SetupError("/secret/cards.parquet cannot be read.")]

    def cards() -> Cards:
        if problems:
            raise problems[0]
        return demo.cards()

    wire = serving(
        Registry([QUICK], author="t"), DuckDBEngine(companies.reference(), cards)
    )
    reply = wire.request("GET", "/readyz", token=None)
    assert_busy(reply, 503)
    assert reply.json()["error"] == "The data cannot be read."
    assert "/secret/cards.parquet" in caplog.text
    problems.clear()
    assert wire.request("GET", "/readyz", token=None).status_code == 200
    wire.grants.close()
    assert (
        wire.request("GET", "/readyz", token=None).json()["error"]
        == "The accounts cannot be changed."
    )
    assert wire.request("GET", "/healthz", token=None).status_code == 200


def test_a_run_whose_caller_leaves_before_it_has_a_thread_never_begins(
    publish: Callable[..., Wire],
) -> None:
    gate = Held()
    wire = publish(
        gate.published(),
        limits=Limits(engine_threads=2, concurrent_runs=3, runs_a_user=3),
    )

    async def check() -> None:
        async with calling(wire) as call:
            first = call("Held")
            await gate.has_begun()
            waiting = [call("Held"), call("Held")]
            assert await asyncio.to_thread(
                becomes, lambda: wire.app.state.runs.admitted == 3
            )
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            assert wire.app.state.runs.admitted == 1
            gate.go.set()
            assert (await first).status_code == 200

    asyncio.run(check())
    assert gate.total == 1


@pytest.mark.slow
def test_the_time_to_wait_grows_with_what_is_under_way(
    publish: Callable[..., Wire],
) -> None:
    def slow() -> list[Any]:
        """Take a while."""
        time.sleep(0.4)
        return []

    gate = Held()
    limits = Limits(engine_threads=2, concurrent_runs=40, runs_a_user=40)
    wire = publish(
        function(asset="a", name="Slow")(slow), gate.published(), limits=limits
    )

    async def check() -> None:
        async with calling(wire) as call:
            await asyncio.gather(*(call("Slow") for _ in range(5)))
            for _ in range(40):
                call("Held")
            assert await asyncio.to_thread(
                becomes, lambda: wire.app.state.runs.admitted == 40
            )
            reply = await call("Slow")
            assert_busy(reply, 429)
            assert int(reply.headers["retry-after"]) > 3
            assert reply.headers["retry-after"] in reply.json()["error"]

    try:
        asyncio.run(check())
    finally:
        gate.go.set()


def test_the_time_to_wait_is_at_least_that_of_a_run() -> None:
    """However many places there are: it was that of the threads for queries, and far less than a run takes."""

    async def check() -> RequestError:
        runs = Runs(Limits(runs_a_user=1, workers=100))
        runs._mean_seconds = 6
        places = runs._in_workers
        running = Future[Any]()
        work = Work(None, lambda: running, waits=True)  # type: ignore[arg-type]
        runs._admitted(1, work, lambda: None)
        with pytest.raises(RequestError) as caught:
            runs._admitted(1, work, lambda: None)
        assert places.busy == 1
        running.set_result(None)
        return caught.value

    refused = asyncio.run(check())
    assert (refused.status_code, refused.headers) == (429, {"Retry-After": "6"})


def test_stopping_ends_every_run_with_a_message_and_admits_no_more(
    publish: Callable[..., Wire],
) -> None:
    gate = Held()
    wire = publish(gate.published(), endless(), limits=Limits(engine_threads=4))

    async def check() -> None:
        async with calling(wire) as call:
            replies = [call("Held"), call("Endless"), call("Held")]
            await gate.has_begun()
            wire.app.state.runs.stop()
            *begun, waiting = [await asyncio.wait_for(reply, 60) for reply in replies]
            assert_busy(waiting, 503)
            for reply in begun:  # nobody should send it again by itself
                assert reply.status_code == 500
                assert "had begun" in reply.json()["error"]
                assert "retry-after" not in reply.headers
            assert_busy(await call("Held"), 503)

    asyncio.run(check())
    gate.go.set()
    assert gate.total == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks only")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_runs_go_on_in_a_forked_process(publish: Callable[..., Wire]) -> None:
    """A fork doesn't inherit threads; the child starts its own."""
    wire = publish(QUICK, limits=Limits(engine_threads=2))
    assert wire.rows("Quick") == []
    child = os.fork()
    if not child:
        signal.alarm(20)
        answered = 1
        try:
            answered = 0 if wire.rows("Quick") == [] else 1
        finally:
            os._exit(answered)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.slow
@pytest.mark.parametrize("field", ["FunctionName", "Args"])
def test_a_thousand_refusals_leave_nothing_behind(
    publish: Callable[..., Wire], field: str
) -> None:
    wire = publish(QUICK, limits=Limits(engine_threads=4))
    before = threading.active_count()
    body: dict[str, Any] = {"FunctionName": "Quick", "Args": {}} | {
        field: {"x": json.dumps([1])}
    }

    async def check() -> None:
        async with wire.client() as client:
            for _ in range(1000):
                reply = await client.post(RUN, json=body)
                assert reply.status_code in {400, 422}

    asyncio.run(check())
    assert wire.app.state.runs.admitted == 0
    assert threading.active_count() <= before + 2

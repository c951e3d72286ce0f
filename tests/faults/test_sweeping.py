"""Sweeps on a service with faults: no result is lost, and nothing is sent twice."""

from __future__ import annotations

import itertools
import json
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import pytest

import jupyter_funcs as jf
from jupyter_funcs.connection import retries
from jupyter_funcs.core.errors import AuthenticationError, ConfigError
from jupyter_funcs.sweeps import pacing
from tests.conftest import tasks, wait_until
from tests.faults.canary import CANARY, leaks
from tests.faults.server import LISTING, Connection, Faulty, faulty
from tests.faults.test_cancelling import interrupted_once
from tests.faults.test_transport_faults import kept, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd

    from jupyter_funcs.api import Session

    # What a run is answered with, by its argument and how often that came: a status, headers and a body.
    Answer = Callable[[str, int], tuple[str, dict[str, str], Any]]


def well(argument: str, _time: int) -> tuple[str, dict[str, str], Any]:
    return "200 OK", {}, {"error": None, "body": json.dumps([{"n": int(argument)}])}


def refusing(status: str, times: int = 1, wished: str | None = None) -> Answer:
    """Refuse each run a number of times, then accept it."""

    def answer(argument: str, time: int) -> tuple[str, dict[str, str], Any]:
        headers = {} if wished is None else {"Retry-After": wished}
        return (status, headers, {}) if time <= times else well(argument, time)

    return answer


class Service:
    """A service that answers each run by its argument and counts runs, in total and at a time."""

    def __init__(self) -> None:
        self.answer: Answer = well
        self.came: Counter[str] = Counter()
        self.at_once = self.most_at_once = 0
        self.holding = threading.Event()
        self.held: set[str] = set()
        self.lock = threading.Lock()

    def __call__(self, connection: Connection) -> None:
        while True:
            if b"ListUserFunctions" in connection.request():
                send(connection, "200 OK", {}, LISTING)
                continue
            argument = connection.argument()
            with self.lock:
                self.came[argument] += 1
                time = self.came[argument]
                self.at_once += 1
                self.most_at_once = max(self.most_at_once, self.at_once)
            if argument in self.held:
                self.holding.set()
                connection.hold()
            status, headers, body = self.answer(argument, time)
            with self.lock:
                self.at_once -= 1
            if body is None:
                connection.reset()
                return
            send(connection, status, headers, json.dumps(body).encode())


def send(
    connection: Connection, status: str, headers: dict[str, str], body: bytes
) -> None:
    lines = {
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        **headers,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    connection.send(f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body)


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def server(service: Service) -> Iterator[Faulty]:
    with faulty(otherwise=service) as server:
        yield server


@pytest.fixture
def session(server: Faulty) -> Iterator[Session]:
    before = kept()
    tasks_before = tasks()
    session = jf.connect(server.url, token=CANARY)
    yield session
    session.close()
    wait_until(lambda: tasks() <= tasks_before and kept().sockets <= before.sockets)


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of hundredths of a second in place of seconds."""
    monkeypatch.setattr(pacing, "_FIRST_PAUSE", 0.01)
    monkeypatch.setattr(pacing, "_LONGEST_PAUSE", 0.05)
    monkeypatch.setattr(retries.Breaker, "first_pause", 0.05)
    monkeypatch.setattr(retries.Breaker, "max_pause", 0.1)


def sweep(session: Session, number: int = 40, **options: Any) -> pd.DataFrame:
    return session.f.with_options(progress=False, **options).sweep(
        a=list(map(str, range(number)))
    )


def check(frame: pd.DataFrame, places: Any) -> None:
    """Check that each run has its own result, in the order of the arguments."""
    assert list(frame.columns) == ["a", "n"]
    assert frame["n"].tolist() == list(places)
    assert frame["a"].tolist() == list(map(str, places))
    assert not leaks(repr(frame.attrs))


@pytest.mark.slow
@pytest.mark.parametrize("cache", [True, False])
def test_a_refused_run_is_sent_again_and_is_no_failure(
    session: Session, service: Service, cache: Any
) -> None:
    """429 without Retry-After: all 40 results arrive, in order, none failed (FAULTS 33)."""
    service.answer = refusing("429 Too Many Requests")
    frame = sweep(session, cache=cache)
    check(frame, range(40))
    assert frame.attrs["errors"] == []
    told = frame.attrs["funcs"]
    assert told["failed"] == 0
    assert told["attempts"] == sum(service.came.values()) == 80


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "wished"),
    [
        ("429 Too Many Requests", "1"),
        ("429 Too Many Requests", None),
        ("503 Busy", "0"),
        ("503 Busy", None),
    ],
)
def test_all_wait_as_the_service_asks(
    session: Session, service: Service, status: str, wished: str | None
) -> None:
    """With Retry-After and without: nothing is sent meanwhile, and no run fails (FAULTS 34, 39)."""
    together = threading.Barrier(3)
    refused = Counter[str]()
    times: list[float] = []

    def answer(argument: str, time: int) -> tuple[str, dict[str, str], Any]:
        times.append(monotonic())
        if len(times) <= 3:
            together.wait(60)  # all that may be under way are
            refused[argument] += 1
            return refusing(status, 1, wished)(argument, 1)
        return well(argument, time)

    service.answer = answer
    frame = sweep(session, 20, concurrency=3)
    check(frame, range(20))
    assert frame.attrs["errors"] == []
    assert {argument for argument, count in service.came.items() if count == 2} == set(
        refused
    )
    assert times[3] - times[2] >= float(wished or 0)


def test_a_refusal_slows_the_sweep(session: Session, service: Service) -> None:
    """Afterwards one run is sent first, then half as many as before, plus one per ten results."""
    together = threading.Barrier(8)
    later = itertools.count()

    def answer(argument: str, time: int) -> tuple[str, dict[str, str], Any]:
        if int(argument) < 8 and time == 1:
            together.wait(60)
            service.most_at_once = 0
            return "429 Too Many Requests", {}, {}
        if next(later):  # the first one comes alone
            wait_until(lambda: service.most_at_once >= 3)
        sleep(0.02)  # so that those under way together are here together
        return well(argument, time)

    service.answer = answer
    check(sweep(session, 19, concurrency=8), range(19))
    assert 3 <= service.most_at_once <= 5


@pytest.mark.slow
def test_a_wish_beyond_five_minutes_ends_the_sweep(
    session: Session, service: Service
) -> None:
    """Results so far are returned; the rest say when to continue, and the same call does (FAULTS 36)."""

    def answer(argument: str, time: int) -> tuple[str, dict[str, str], Any]:
        return (
            well(argument, time)
            if int(argument) < 10
            else refusing("429 Too Many", 9, "9999")(argument, time)
        )

    service.answer = answer
    with pytest.warns(
        UserWarning, match="30 of 40 runs of F failed, all listed in .* First error: "
    ):
        frame = sweep(session, concurrency=4)
    check(frame, range(10))
    rows = frame.attrs["errors"]
    assert [row["args"] for row in rows] == [
        {"a": str(number)} for number in range(10, 40)
    ]
    assert {row["type"] for row in rows} == {"RateLimitError"}
    assert "Run the same sweep again in 9,9" in rows[-1]["error"]
    assert rows[-1]["attempts"] == 0
    assert json.loads(json.dumps(frame.attrs)) == frame.attrs

    service.answer = well
    sent = service.came.copy()
    again = sweep(session)
    check(again, range(40))
    assert again.attrs["funcs"]["cached"]["runs"] == 10
    assert all(service.came[str(number)] == sent[str(number)] for number in range(10))


def refused_then(answer: Answer) -> Answer:
    return lambda argument, time: (
        ("429 Too Many Requests", {}, {}) if time == 1 else answer(argument, time)
    )


@pytest.mark.parametrize(
    ("then", "types"),
    [
        (("200 OK", {}, {"error": "no data", "body": None}), {"FunctionError"}),
        (("", {}, None), {"ServiceConnectionError", "RateLimitError"}),
    ],
    ids=["failures", "cuts"],
)
def test_only_an_answer_shows_that_the_service_takes_runs(
    session: Session,
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
    then: Any,
    types: set[str],
) -> None:
    """A failed run was accepted; if connections keep breaking instead, the sweep gives up."""
    monkeypatch.setattr(pacing, "LONGEST", 0.1)
    service.answer = refused_then(lambda *_: then)
    with pytest.warns(UserWarning, match="40 of 40 runs of F failed"):
        frame = sweep(session, concurrency=1)
    assert {row["type"] for row in frame.attrs["errors"]} == types


@pytest.mark.slow
def test_a_breaker_that_opens_pauses_the_sweep(
    session: Session, service: Service
) -> None:
    """Five failures in a row are five rows; the runs paused by them still arrive (FAULTS 37)."""
    service.answer = lambda argument, time: (
        ("500 Broken", {}, {"error": "broken"})
        if 5 <= int(argument) < 10
        else well(argument, time)
    )
    with pytest.warns(
        UserWarning,
        match="5 of 40 runs of F failed, all listed in .* First error: The service failed",
    ):
        frame = sweep(session, concurrency=1)
    check(frame, [*range(5), *range(10, 40)])
    assert [row["args"]["a"] for row in frame.attrs["errors"]] == [
        "5",
        "6",
        "7",
        "8",
        "9",
    ]
    assert {row["attempts"] for row in frame.attrs["errors"]} == {1}
    assert max(service.came.values()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("executor", [False, True], ids=["here", "in threads"])
@pytest.mark.parametrize("wished", ["0", None])
def test_a_service_that_is_busy_for_a_while_loses_no_run(
    session: Session, service: Service, wished: str | None, executor: bool
) -> None:
    """All requests and probes meet 503 and the breaker opens; afterwards all 50 arrive (FAULTS 39)."""
    from concurrent.futures import ThreadPoolExecutor

    busy = iter(range(12))

    def answer(argument: str, time: int) -> tuple[str, dict[str, str], Any]:
        return (
            well(argument, time)
            if next(busy, None) is None
            else refusing("503 Busy", 99, wished)(argument, time)
        )

    service.answer = answer
    with ThreadPoolExecutor(8) as pool:
        frame = sweep(
            session, 50, concurrency=8, **({"executor": pool} if executor else {})
        )
    check(frame, range(50))
    assert frame.attrs["errors"] == []
    assert sum(service.came.values()) == 62


@pytest.mark.parametrize("executor", [False, True], ids=["here", "in threads"])
def test_one_of_ten_that_fails_is_a_row(
    session: Session, service: Service, executor: bool
) -> None:
    """With its arguments, message and attempts; the same call runs only this one again."""
    from concurrent.futures import ThreadPoolExecutor

    service.answer = lambda argument, time: (
        ("200 OK", {}, {"error": f"no data for {argument}", "body": None})
        if argument.endswith("7") and time == 1
        else well(argument, time)
    )
    with ThreadPoolExecutor(4) as pool:
        options = {"executor": pool} if executor else {}
        with pytest.warns(
            UserWarning,
            match="4 of 40 runs of F failed, all listed in .* First error: The function failed: no data for 7",
        ):
            frame = sweep(session, **options)
        check(frame, [number for number in range(40) if number % 10 != 7])
        assert frame.attrs["errors"][1] == {
            "args": {"a": "17"},
            "error": "The function failed: no data for 17\nCheck its arguments first.",
            "type": "FunctionError",
            "attempts": 1,
        }
        assert frame.attrs["funcs"]["failed"] == 4
        before = sum(service.came.values())
        check(sweep(session, **options), range(40))
    assert sum(service.came.values()) == before + 4


@pytest.mark.slow
def test_connections_that_break_are_tried_again(
    session: Session, service: Service
) -> None:
    """Once per run; a run whose connections all break is a row with its attempts."""

    def answer(argument: str, time: int) -> tuple[str, dict[str, str], Any]:
        cut = time == 1 and int(argument) % 8 == 0
        return ("", {}, None) if cut or argument == "13" else well(argument, time)

    service.answer = answer
    with pytest.warns(
        UserWarning,
        match="1 of 40 runs of F failed, all listed in .* First error: The connection to",
    ):
        frame = sweep(session, concurrency=4)
    check(frame, [number for number in range(40) if number != 13])
    assert frame.attrs["errors"][0]["attempts"] == 2
    assert frame.attrs["errors"][0]["type"] == "ServiceConnectionError"


def test_a_token_that_is_refused_ends_the_sweep(
    session: Session, service: Service
) -> None:
    """Without any result the error is raised, after one run instead of forty."""
    service.answer = lambda *_: ("401 Unauthorized", {}, {"error": "bad token"})
    with pytest.raises(
        AuthenticationError, match="does not accept the token"
    ) as caught:
        sweep(session, concurrency=2)
    assert not leaks(shown(caught.value))
    assert sum(service.came.values()) <= 2


def test_a_token_that_ends_on_the_way_loses_nothing(
    session: Session, service: Service
) -> None:
    """Results so far are returned; the rest are rows that weren't sent."""
    service.answer = lambda argument, time: (
        well(argument, time) if int(argument) < 10 else ("401 Unauthorized", {}, {})
    )
    with pytest.warns(
        UserWarning,
        match="30 of 40 runs of F failed, all listed in .* First error: The service does not accept the token",
    ):
        frame = sweep(session, concurrency=1)
    check(frame, range(10))
    assert [row["attempts"] for row in frame.attrs["errors"]] == [1] + [0] * 29
    assert sum(service.came.values()) == 11


def test_an_address_that_takes_no_runs_ends_the_sweep(
    session: Session, service: Service
) -> None:
    """Every run would fail the same way."""
    service.answer = lambda *_: ("405 Method Not Allowed", {}, {})
    with pytest.raises(ConfigError):
        sweep(session, concurrency=1)
    assert sum(service.came.values()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.fault(96)
def test_an_interrupt_keeps_what_came_and_the_same_call_goes_on(
    session: Session, service: Service, cache: bool
) -> None:
    """KeyboardInterrupt says how many arrived; on disk or in memory, none of them is sent again."""
    service.held = {str(number) for number in range(10, 40)}
    with (
        interrupted_once(lambda: sum(service.came.values()) == 14),
        pytest.raises(KeyboardInterrupt) as caught,
    ):
        sweep(session, cache=cache, concurrency=4)
    assert (
        str(caught.value)
        == "Stopped the sweep of F after 10 of 40 runs. Run the same again to continue."
    )
    assert not leaks(shown(caught.value))
    service.held = set()
    # A further sweep loses none of them.
    session.f.with_options(cache=False).sweep(a=["50", "51"])
    frame = sweep(session, cache=cache)
    check(frame, range(40))
    assert frame.attrs["funcs"]["cached"]["runs"] == 10
    assert all(service.came[str(number)] == 1 for number in range(10))
    if not cache:  # a sweep that has ended holds nothing
        assert sweep(session, cache=False).attrs["funcs"]["cached"]["runs"] == 0


@pytest.mark.slow
def test_a_job_that_is_cancelled_ends_when_all_is_kept(
    session: Session, service: Service
) -> None:
    """Its status is running until then; afterwards the same sweep continues where it stopped."""
    service.held = {"30"}
    job = session.f.with_options(concurrency=1).start_sweep({"a": list(range(40))})
    assert service.holding.wait(60)
    assert job.cancel()
    with pytest.raises(jf.RunCancelledError):
        job.result(60)
    assert job.status == "cancelled"
    assert job.progress.done == 30
    assert not job.cancel()
    service.held = set()
    assert sweep(session).attrs["funcs"]["cached"]["runs"] == 30


def stopped(text: str) -> int:
    """Return how many results had arrived when it was stopped."""
    match = re.search(
        r"Stopped the sweep of F after (\d+) of 40 runs. Run the same again to continue.",
        text,
    )
    assert match, text
    assert 1 <= int(match[1]) <= 25
    return int(match[1])


PROGRAM = """
import sys
import jupyter_funcs as jf
f = jf.connect({url!r}, token={token!r}).f
try:
    print("swept", f.sweep(a=list(range(40))).attrs["funcs"]["cached"]["runs"])
except KeyboardInterrupt as error:
    print("interrupted:", error)
"""


@pytest.mark.slow
@pytest.mark.fault(96)
def test_a_process_that_is_interrupted_has_kept_what_came(
    server: Faulty, service: Service
) -> None:
    """The next process reads it from disk: KeyboardInterrupt is raised after the cache is written."""
    service.held = {str(number) for number in range(25, 40)}
    program = [sys.executable, "-c", PROGRAM.format(url=server.url, token=CANARY)]
    with subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert service.holding.wait(60)
        wait_until(lambda: sum(service.came.values()) == 40)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    came = stopped(out.removeprefix("interrupted: "))
    assert not leaks(out + err)
    service.held = set()
    done = subprocess.run(
        program, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == f"swept {came}\n"
    assert done.stderr == ""  # no terminal, no bar

"""
Many runs among many faults: exact data or a named error, and nothing left behind; run with -m slow.

The sizes here are for every check. Those that the guide gives figures of are run by ``FUNCS_SOAK=1 pytest -m slow
tests/faults/test_chaos.py``, in some ten minutes; -s prints the figures.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import psutil
import pytest

import jupyter_funcs as jf
from jupyter_funcs.connection import retries
from tests.conftest import tasks, wait_until
from tests.faults.canary import CANARY, leaks
from tests.faults.server import LISTING, Faulty, faulty
from tests.faults.test_transport_faults import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from jupyter_funcs.api import Session
    from tests.faults.server import Connection

pytestmark = pytest.mark.slow

LONG = "FUNCS_SOAK" in os.environ
RUNS = 10_000 if LONG else 1_000
SOAK = 100_000 if LONG else 5_000
INTERRUPTS = 500
MANY_THREADS = 200
RUNS_A_THREAD = 50 if LONG else 10
KILLS = 50 if LONG else 5
FAULTY_PART = 0.2


def tell(figures: str) -> None:
    """Print the counts, for `pytest -s` and the guide."""
    print(f"\n{figures}")  # noqa: T201  # as above


def rows(argument: str) -> bytes:
    """Return the reply for an argument, different for each argument."""
    number = int(argument)
    table = [
        {"n": number, "square": number * number, "text": f"é{number}"} for _ in range(3)
    ]
    return json.dumps({"error": None, "body": json.dumps(table)}).encode()


def is_exact(frame: Any, argument: str) -> bool:
    number = int(argument)
    wanted = {"n": number, "square": number * number, "text": f"é{number}"}
    return bool(frame.to_dict("records") == [wanted] * 3)


def head(length: int, status: str = "200 OK", more: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{more}\r\n".encode()


def reset_at_once(connection: Connection, body: bytes) -> None:
    connection.reset()


def reset_in_body(connection: Connection, body: bytes) -> None:
    connection.send(head(len(body)) + body[:20])
    connection.reset()


def short(connection: Connection, body: bytes) -> None:
    connection.send(head(len(body)) + body[:-1])
    connection.socket.close()


def garbage(connection: Connection, body: bytes) -> None:
    connection.send(b"\x00\x01\x02 junk\r\n\r\n")
    connection.socket.close()


def cut_json(connection: Connection, body: bytes) -> None:
    connection.send(head(len(body) - 5) + body[:-5])


def failing(connection: Connection, body: bytes) -> None:
    failed = b'{"error": "the function failed", "body": null}'
    connection.send(head(len(failed)) + failed)


def login_page(connection: Connection, body: bytes) -> None:
    page = b"<html><title>Sign in</title></html>"
    connection.send(head(len(page)).replace(b"application/json", b"text/html") + page)


def stalled(connection: Connection, body: bytes) -> None:
    connection.hold()


def answering(status: str, more: str = "") -> Callable[[Connection, bytes], None]:
    def act(connection: Connection, body: bytes) -> None:
        connection.send(head(2, status, more) + b"{}")

    return act


BROKEN = [
    reset_at_once,
    reset_in_body,
    short,
    garbage,
    cut_json,
    failing,
    login_page,
    stalled,
    *[answering(f"{status} Status") for status in (400, 403, 408, 500, 502, 504, 599)],
    *[answering(f"{status} Status", "Retry-After: 0\r\n") for status in (429, 503)],
]


class Chaotic:
    """A service that answers some requests with a random fault, and holds those below zero."""

    def __init__(self, part: float, seed: int) -> None:
        self.part = part
        self.drawn = random.Random(seed)
        self.lock = threading.Lock()
        self.faults: Counter[str] = Counter()
        self.runs = 0

    def __call__(self, connection: Connection) -> None:
        while True:
            connection.server.requests.clear()
            if b"ListUserFunctions" in connection.request():
                connection.send(head(len(LISTING)) + LISTING)
                continue
            if connection.argument().startswith("-"):
                connection.hold()
                return
            with self.lock:
                self.runs += 1
                fault = (
                    self.drawn.choice(BROKEN)
                    if self.drawn.random() < self.part
                    else None
                )
                self.faults[getattr(fault, "__name__", "none")] += 1
            body = rows(connection.argument())
            if fault is None:
                connection.send(head(len(body)) + body)
            else:
                fault(connection, body)
                if fault in {reset_at_once, reset_in_body, short, garbage, stalled}:
                    return


@pytest.fixture
def chaotic() -> Iterator[tuple[Chaotic, Faulty]]:
    """A chaotic service with its own seed."""
    chaos = Chaotic(FAULTY_PART, seed=int(os.environ.get("FUNCS_SEED", "7")))
    with faulty(otherwise=chaos) as server:
        yield chaos, server


def open_files() -> int:
    return psutil.Process().num_fds() if hasattr(psutil.Process, "num_fds") else 0


def test_runs_among_faults_give_exact_data_or_a_named_error(
    chaotic: tuple[Chaotic, Faulty],
) -> None:
    """At least 3 in 4 return data, never another run's; at most 1.2 requests per run; no token is shown."""
    at_first = tasks()
    chaos, server = chaotic
    session = jf.connect(server.url, token=CANARY)
    assert session.names == ["F"]
    function = session.f.with_options(timeout=5)
    outcomes: Counter[str] = Counter()
    leaked: list[str] = []

    def run(number: int) -> None:
        try:
            frame = function(a=str(number))
        except jf.FuncsError as error:
            outcomes[type(error).__name__] += 1
            leaked.extend(leaks(shown(error)))
        else:
            outcomes["data"] += 1
            assert is_exact(frame, str(number))

    with ThreadPoolExecutor(16) as pool:
        for done in [pool.submit(run, number) for number in range(RUNS)]:
            done.result(600)
    session.close()
    tell(
        f"{RUNS} runs, {chaos.runs} requests: {dict(outcomes)}; faults: {dict(chaos.faults)}"
    )
    assert sum(outcomes.values()) == RUNS
    assert not leaked
    assert outcomes["FuncsError"] == 0  # every class has a name of its own
    assert outcomes["data"] >= 0.75 * RUNS
    assert chaos.runs <= 1.2 * RUNS
    wait_until(lambda: tasks() <= at_first)


def test_many_threads_get_each_its_own_rows() -> None:
    """Threads that share a session each get the rows of their own arguments."""
    at_first = tasks()
    with faulty(otherwise=Chaotic(0, seed=1)) as server:
        session = jf.connect(server.url, token=CANARY)
        assert session.names == ["F"]
        wrong: list[str] = []

        def use(first: int) -> None:
            numbers = map(str, range(first, first + RUNS_A_THREAD))
            wrong.extend(
                number
                for number in numbers
                if not is_exact(session.f(a=number), number)
            )

        threads = [
            threading.Thread(target=use, args=(at * RUNS_A_THREAD,))
            for at in range(MANY_THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(600)
        assert not wrong
        assert not any(thread.is_alive() for thread in threads)
        session.close()
        wait_until(lambda: tasks() <= at_first)


# Python itself drops an interrupt that comes within the callback of a weak reference, and says so.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupts_at_any_moment_end_the_wait_and_leave_nothing() -> None:
    """An interrupt raises KeyboardInterrupt, closes the socket and ends the task; the next run works."""
    at_first = tasks()
    drawn = random.Random(11)
    waiting = False

    def interrupt(_number: int, _frame: object) -> None:
        if waiting:
            raise KeyboardInterrupt

    before_handler = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    with faulty(otherwise=Chaotic(0, seed=1)) as server:
        session = jf.connect(server.url, token=CANARY)
        assert session.names == ["F"]
        for _ in range(20):
            session.f(a="1")
        threads = threading.active_count()
        files = open_files()
        for number in range(INTERRUPTS):
            # Now and then the service holds the run, so that nothing but the interrupt ends it.
            is_held = number % 4 == 0
            # Again after a second: the first may come before the wait has begun, or where Python drops it.
            signal.setitimer(signal.ITIMER_REAL, drawn.uniform(0.0005, 0.05), 1)
            try:
                waiting = True
                frame = session.f(a=f"-{number}" if is_held else str(number))
                waiting = False
            except KeyboardInterrupt:
                waiting = False
                interrupted += 1
            else:
                assert not is_held
                assert is_exact(frame, str(number))
            signal.setitimer(signal.ITIMER_REAL, 0)
        wait_until(
            lambda: (
                tasks() <= at_first
                and open_files() <= files + 2
                and threading.active_count() <= threads + 2
            )
        )
        tell(
            f"{INTERRUPTS} interrupts, {interrupted} of them while a run was waited for"
        )
        assert interrupted >= INTERRUPTS // 4
        session.close()
        assert is_exact(session.f(a="5"), "5")
        session.close()
    signal.signal(signal.SIGALRM, before_handler)


def test_many_runs_keep_nothing() -> None:
    """Memory grows by at most 5 MiB, files and threads not at all, however many runs there are."""
    at_first = tasks()

    async def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("ListUserFunctions"):
            return httpx.Response(200, content=LISTING)
        return httpx.Response(
            200, content=rows(json.loads(request.content)["Args"]["a"])
        )

    session = jf.connect(
        "https://service.example", token=CANARY, transport=httpx.MockTransport(answer)
    )
    process = psutil.Process()

    def use(times: int) -> None:
        for number in range(times):
            assert len(session.f(a=str(number))) == 3

    use(2_000)  # allocators and caches have grown to their size
    gc.collect()
    memory = process.memory_info().rss
    threads = threading.active_count()
    files = open_files()
    use(SOAK)
    gc.collect()
    grown = process.memory_info().rss - memory
    tell(f"{SOAK} runs: {grown / 2**20:+.1f} MiB")
    assert grown <= 5 * 2**20
    wait_until(
        lambda: (
            threading.active_count() <= threads
            and open_files() <= files
            and tasks() <= at_first
        )
    )


def test_a_service_that_is_down_gets_few_requests() -> None:
    """A dead service sees ten retries, and after five failures almost no requests."""
    with faulty(otherwise=Chaotic(0, seed=1)) as server:
        session = jf.connect(server.url, token=CANARY)
        assert session.names == ["F"]
        session.close()
        server.otherwise = answer_503
        outcomes = Counter(
            type(error_of(session, number)).__name__ for number in range(200)
        )
        assert set(outcomes) == {"ServerError", "CircuitOpenError"}
        assert outcomes["ServerError"] == retries.Breaker.max_failures
        assert server.connections <= 1 + 5 * 3
        session.close()


def answer_503(connection: Connection) -> None:
    connection.request()
    # It closes the connection: otherwise a client may send the next request on it.
    answering("503 Service Unavailable", "Connection: close\r\n")(connection, b"")


def error_of(session: Session, number: int) -> Exception:
    with pytest.raises(jf.FuncsError) as caught:
        session.f(a=str(number))
    return caught.value


# An operator who adds accounts one after the other, and says each as soon as it is there.
OPERATOR = """
import sys
from pathlib import Path
from jupyter_funcs.service.accounts.state_folder import open_grants
from jupyter_funcs.service.builtin.demo import ORGANISATION, PANEL_DATA, add_accounts
grants, number = open_grants(Path(sys.argv[1]), add_accounts), int(sys.argv[2])
while True:
    name = f"user{number}"
    grants.add_user(name, organisation=ORGANISATION)
    grants.grant(name, PANEL_DATA)
    print(name, grants.add_key(name), flush=True)
    number += 1
"""


def test_a_service_that_is_killed_at_any_moment_loses_nothing_that_was_committed(
    tmp_path: Path,
) -> None:
    """
    While it runs functions and accounts are added, the service and the operator's process are killed.

    Every account, grant and API key that was said to be there is there for the service that starts next, and so is
    the key that signs tokens; the file is whole. FAULTS 118.
    """
    from tests.service.conftest import GET_ALL, PANELS, RUN  # a world of its own
    from tests.service.server.test_serving import Served  # as above

    environment = os.environ | {"FUNCS_STATE_DIR": str(tmp_path)}
    command = [
        sys.executable,
        "-m",
        "jupyter_funcs.cli.main",
        "token",
        "--user",
        "guest",
    ]
    token = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    bearer = {"Authorization": f"Bearer {token.stdout.strip()}"}
    drawn = random.Random(5)
    keys: dict[str, str] = {}
    lost: list[str] = []
    for kill in range(KILLS + 1):
        service = Served(environment, ())
        with contextlib.ExitStack() as ends:
            # From below: a pipe that somebody reads is closed once its process has ended.
            for pipe in (service.process.stdout, service.process.stderr):
                ends.enter_context(pipe)  # type: ignore[arg-type]  # both are pipes
            ends.callback(service.process.wait)
            ends.callback(service.process.kill)
            address = service.says(r"export FUNCS_BASE_URL=(\S+)")[1]
            assert httpx.get(address + GET_ALL, headers=bearer).status_code == 200
            for name, key in keys.items():
                listed = httpx.get(address + GET_ALL, headers={"X-Api-Key": key})
                if listed.status_code != 200 or not listed.json():
                    lost.append(name)
            with contextlib.closing(
                sqlite3.connect(tmp_path / "demo" / "accounts.sqlite")
            ) as accounts:
                assert accounts.execute("PRAGMA integrity_check").fetchall() == [
                    ("ok",)
                ]
            if kill == KILLS:
                break
            arguments = [
                sys.executable,
                "-c",
                OPERATOR,
                str(tmp_path / "demo"),
                str(kill * 100_000),
            ]
            operator = subprocess.Popen(
                arguments, env=environment, stdout=subprocess.PIPE, text=True
            )
            assert operator.stdout is not None
            lines = [operator.stdout.readline()]
            runs = [
                threading.Thread(target=try_run, args=(address + RUN, bearer, PANELS))
                for _ in range(4)
            ]
            for run in runs:
                run.start()
            time.sleep(drawn.uniform(0, 0.2))
            for process in drawn.sample([service.process, operator], 2):
                process.kill()
            lines += operator.stdout.read().splitlines(keepends=True)
            operator.stdout.close()
            operator.wait()
            for run in runs:
                run.join(60)
            # A line that was cut short was not said. Of all accounts those said last, and some others.
            keys |= dict(line.split() for line in lines if line.endswith("\n"))
            names = [*drawn.sample(list(keys), min(len(keys), 100)), *list(keys)[-50:]]
            keys = {name: key for name, key in keys.items() if name in names}
    tell(f"{KILLS} kills, {len(lost)} accounts lost")
    assert not lost


def try_run(address: str, headers: dict[str, str], body: object) -> None:
    with contextlib.suppress(httpx.HTTPError):
        for _ in range(1000):
            httpx.post(address, headers=headers, json=body, timeout=60)

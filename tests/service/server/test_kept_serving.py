"""Kept runs over restarts and kills of a real service, and behind a real nginx (FAULTS.md 164)."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import jupyter_funcs as jf
from tests.service.conftest import becomes, free_port
from tests.service.server.test_serving import Served, bearer, command, with_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.fault(164)]

LONG = "FUNCS_SOAK" in os.environ
RUNS, KILLS = (1000, 24) if LONG else (60, 3)
NAPS = '''
import time

from jupyter_funcs.service import function


@function(asset="Naps", read_only=True)
def nap(seconds: float = 0.0, n: int = 0) -> list[dict[str, int]]:
    """Wait."""
    time.sleep(seconds)
    return [{"n": n}]


@function(asset="Naps")
def change(seconds: float = 0.0, n: int = 0) -> list[dict[str, int]]:
    """Wait, and change something."""
    time.sleep(seconds)
    return [{"n": n}]
'''


class Restarted:
    """A service with two functions on one port, which a test ends and starts again."""

    def __init__(self, folder: Path) -> None:
        (folder / "functions").mkdir()
        (folder / "functions" / "naps.py").write_text(NAPS)
        self.config = config = folder / "service.toml"
        config.write_text('[functions]\nbuiltin = false\nfolders = ["functions"]\n')
        self.environment = with_state(folder)
        self.options = ("--config", str(config))
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.database = folder / "state" / "accounts.sqlite"
        add = ("--organisation", "Team", *self.options)
        command(self.environment, "admin", "assets", "add", "Naps", "--shared", *add)
        command(self.environment, "admin", "users", "add", "ann", *self.options)
        token = command(
            self.environment, "token", "--user", "ann", "--hours", "8", *self.options
        )
        self.token = token.strip()
        self.served: Served | None = None

    def start(self) -> None:
        self.served = Served(
            self.environment, ("--port", str(self.port), *self.options)
        )
        self.served.says("FUNCS_TOKEN")

    def end(self, how: int = signal.SIGKILL) -> None:
        assert self.served
        served = self.served
        self.served = None
        served.end(how)
        for stream in (served.process.stdout, served.process.stderr):
            assert stream
            stream.close()

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request until it is answered."""
        options["headers"] = bearer(self.token)
        while True:
            with contextlib.suppress(httpx.HTTPError):
                reply = httpx.request(method, self.url + path, timeout=30, **options)
                if reply.status_code != 429:
                    return reply
            time.sleep(0.1)

    def connect(self, url: str = "") -> jf.Session:
        return jf.connect(url or self.url, token=self.token)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Restarted]:
    restarted = Restarted(tmp_path)
    restarted.start()
    yield restarted
    if restarted.served:
        restarted.end()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_outlives_the_service_if_it_changes_nothing(
    service: Restarted, how: int
) -> None:
    funcs = service.connect()
    job = funcs.nap.with_options(keep=True).submit(seconds=15, n=7)
    other = funcs.change.with_options(keep=True).submit(seconds=15)
    keeps = {"headers": bearer(service.token), "timeout": 30}
    runs = f"{service.url}/api/runs"
    assert becomes(
        lambda: (
            {run["state"] for run in httpx.get(runs, **keeps).json()["runs"]}
            == {"running"}
            and len(httpx.get(runs, **keeps).json()["runs"]) == 2
        )
    )
    service.end(how)
    service.start()
    assert job.result(120)["n"].tolist() == [7]
    with pytest.raises(jf.ServerError, match="was lost") as caught:
        other.result(120)
    assert "UTC" in caught.value.what
    assert _starts(service, "Change") == [1]


def test_a_run_whose_service_is_killed_soon_is_lost_or_started_again(
    service: Restarted,
) -> None:
    """Within the seconds in which it isn't kept yet."""
    funcs = service.connect()
    job = funcs.nap.submit(seconds=4, n=7)
    other = funcs.change.submit(seconds=4)
    begun = service.database.parent / "runs" / "begun"
    assert becomes(lambda: len([*begun.iterdir()]) == 2)
    service.end()
    service.start()
    assert job.result(120)["n"].tolist() == [7]
    with pytest.raises(jf.ServerError, match="was lost"):
        other.result(120)
    assert _starts(service, "Change") == [1]


def test_runs_that_wait_are_started_by_the_next_service(service: Restarted) -> None:
    service.end()
    service.config.write_text(
        f"[server]\nruns_a_user = 2\n{service.config.read_text()}"
    )
    service.start()
    funcs = service.connect()
    jobs = [
        funcs.change.with_options(keep=True).submit(seconds=0.2, n=n) for n in range(20)
    ]
    assert becomes(lambda: len(_starts(service, "Change")) == len(jobs))
    service.end()
    service.start()
    ended = 0
    for n, job in enumerate(jobs):
        with contextlib.suppress(jf.ServerError):  # it was running
            assert job.result(120)["n"].tolist() == [n]
            ended += 1
    assert ended > 0
    assert set(_starts(service, "Change")) == {1}


@pytest.mark.soak
def test_no_kept_result_is_lost_when_the_service_is_killed_again_and_again(
    service: Restarted,
) -> None:
    """Runs are started, looked at and fetched while the service is killed; the guide has the long form."""
    draw = random.Random(1)
    waits = [draw.choice([0, 0.05, 0.5]) for _ in range(RUNS)]
    over = threading.Event()

    def kill() -> None:
        for _ in range(KILLS):
            time.sleep(draw.uniform(1, 5))
            service.end()
            service.start()
        over.set()

    killer = threading.Thread(target=kill)
    killer.start()

    def start(number: int) -> None:
        args = {"seconds": str(waits[number]), "n": str(number)}
        name = "Nap" if number % 4 else "Change"
        body = {"FunctionName": name, "Args": args, "key": f"key-{number:08d}"}
        assert service.ask("POST", "/api/runs", json=body).status_code == 202
        if not over.is_set():
            time.sleep(10 * KILLS / RUNS)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(start, range(RUNS)))
        killer.join(600)
        assert over.is_set()
        states = list(pool.map(partial(_checked_end, service), range(RUNS)))
    assert states.count("done") + states.count("lost") == RUNS
    # Nothing that may have changed data was started twice; the rest was, and is lost if it was killed twice.
    assert set(_starts(service, "Change")) == {1}
    assert set(_starts(service, "Nap", "lost")) <= {2}


def _checked_end(service: Restarted, number: int) -> str:
    """Wait for the end of a run, check its result, and return its state."""
    path = f"/api/runs/key-{number:08d}"
    state = "waiting"
    while state in {"waiting", "running"}:
        state = service.ask("GET", f"{path}?wait=20").json()["state"]
    if state == "done":
        reply = service.ask("GET", f"{path}/result")
        assert reply.json() == {"error": None, "body": f'[{{"n":{number}}}]'}
    return state


def _starts(service: Restarted, name: str, state: str = "%") -> list[int]:
    """Return how often each run of a function was started."""
    query = "SELECT starts FROM kept_runs WHERE function = ? AND state LIKE ?"
    with contextlib.closing(sqlite3.connect(service.database)) as database:
        return [starts for (starts,) in database.execute(query, (name, state))]


NGINX = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1;
events {{ }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://127.0.0.1:{upstream}; proxy_set_header Host 127.0.0.1;
      proxy_read_timeout {seconds}s;
    }}
  }}
}}
"""


@pytest.fixture
def nginx(tmp_path: Path, service: Restarted) -> Iterator[Callable[[int], str]]:
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("nginx isn't installed: apt-get install nginx")
    with contextlib.ExitStack() as ends:

        def start(seconds: int) -> str:
            port = free_port()
            config = tmp_path / "nginx.conf"
            facts = {"folder": tmp_path, "port": port, "upstream": service.port}
            config.write_text(NGINX.format(**facts, seconds=seconds))
            proxy = subprocess.Popen(
                [program, "-c", config, "-e", tmp_path / "error.log"]
            )
            ends.callback(proxy.wait, 30)
            ends.callback(proxy.terminate)
            url = f"http://127.0.0.1:{port}"

            def answers() -> bool:
                with contextlib.suppress(httpx.HTTPError):
                    return httpx.get(f"{url}/healthz").status_code == 200
                return False

            assert becomes(answers)
            return url

        yield start


@pytest.mark.parametrize("seconds", [3, 60])
def test_a_long_run_comes_through_a_proxy(
    service: Restarted, nginx: Callable[[int], str], seconds: int
) -> None:
    """One that waits as long as most do, and one that waits for less than the client asks for."""
    funcs = service.connect(nginx(seconds))
    job = funcs.change.submit(seconds=14, n=3)
    assert job.result(120)["n"].tolist() == [3]
    with contextlib.closing(sqlite3.connect(service.database)) as database:
        [[state, starts]] = database.execute(
            "SELECT state, starts FROM kept_runs"
        ).fetchall()
    assert (state, starts) == ("done", 1)


def test_a_restart_behind_a_proxy_is_waited_for(
    service: Restarted, nginx: Callable[[int], str]
) -> None:
    """Meanwhile the proxy answers 502."""
    funcs = service.connect(nginx(60))
    job = funcs.nap.with_options(keep=True).submit(seconds=3, n=3)
    assert becomes(lambda: _starts(service, "Nap") == [1])
    service.end()
    time.sleep(3)
    service.start()
    assert job.result(120)["n"].tolist() == [3]

"""``jupyter funcs serve --processes 2``: one port, one state folder, and each process answers as the other does."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from jupyter_funcs.service.config import settings
from jupyter_funcs.service.engine import sandbox
from jupyter_funcs.service.server import hosted
from tests.service.conftest import LIST, LOGIN, PANELS, RUN, becomes
from tests.service.server.test_serving import (
    Served,
    bearer,
    command,
    in_this_process,
    refused,
    with_state,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

if not Path("/proc/self/stat").exists():
    pytest.skip(
        "the children of a process are read from /proc", allow_module_level=True
    )

CONFIGURATION = """
organisation = "Acme"
[server]
processes = 2
{server}
[functions]
folders = ["published"]
"""
PUBLISHED = """
from jupyter_funcs.service import function

@function(asset="Panel data")
def {name}(call):
    return [{{"n": 1}}]
"""


def children(parent: int) -> list[int]:
    """Return the processes that a process has started, the oldest first."""
    pids = Path(f"/proc/{parent}/task/{parent}/children").read_text("ascii")
    return sorted(map(int, pids.split()))


@contextlib.contextmanager
def started(folder: Path, *arguments: str) -> Iterator[Served]:
    service = Served(with_state(folder), arguments)
    try:
        service.address = service.says(r"export FUNCS_BASE_URL=(http[\w:/.]+)")[1]
        service.says("FUNCS_TOKEN")
        yield service
    finally:
        service.process.kill()
        service.process.wait()
        for pipe in (service.process.stdout, service.process.stderr):
            assert pipe is not None
            service._reader.join(60)
            pipe.close()


@contextlib.contextmanager
def alone(service: Served, number: int) -> Iterator[None]:
    """Let only one of the processes answer."""
    others = children(service.process.pid)
    del others[number]
    for process in others:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in others:
            os.kill(process, signal.SIGCONT)


def of_each(service: Served, ask: Callable[[], Any]) -> list[Any]:
    """Return what each process answers."""
    answers = []
    for number in range(2):
        with alone(service, number):
            answers.append(ask())
    return answers


@pytest.mark.slow
def test_two_processes_serve_one_port_and_one_that_is_killed_is_replaced(
    tmp_path: Path,
) -> None:
    """A signal ends all of them, once they have ended their runs."""
    with started(tmp_path, "--processes", "2") as service:
        token = command(
            with_state(tmp_path), "token", "--user", "analyst", "--hours", "1"
        )

        def run() -> int:
            url = service.address + RUN
            return httpx.post(
                url, json=PANELS, headers=bearer(token), timeout=60
            ).status_code

        assert of_each(service, run) == [200, 200]
        assert service.output.count("Serving 7 functions") == 1
        assert "Another service is running" not in service.output
        first, second = children(service.process.pid)
        os.kill(first, signal.SIGKILL)
        assert becomes(lambda: len(children(service.process.pid)) == 2)
        assert run() == 200
        service.says("Process 0 of the service has ended .-9.; another one starts")
        assert becomes(lambda: service.output.count("Process 0") == 1)
        third = max(children(service.process.pid))
        assert service.end() == 0
        assert becomes(
            lambda: not any(Path(f"/proc/{it}").exists() for it in (second, third))
        )


@pytest.mark.slow
def test_the_processes_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    with started(tmp_path, "--processes", "2") as service:
        processes = children(service.process.pid)
        service.process.kill()
        service.process.wait()
        assert becomes(
            lambda: not any(Path(f"/proc/{it}").exists() for it in processes)
        )


@pytest.mark.slow
def test_a_service_that_can_not_start_says_so_once(tmp_path: Path) -> None:
    """The first process says why, and none is started after it."""
    config = tmp_path / "service.toml"
    config.write_text(CONFIGURATION.format(server=""), encoding="utf-8")
    folder = tmp_path / "published"
    folder.mkdir()
    (folder / "wrong.py").write_text("import no_such_module\n")
    service = Served(with_state(tmp_path), ("--config", str(config)))
    assert service.process.wait(120) == 1
    service._reader.join(60)
    assert service.output.count("no_such_module") == 1, service.output
    for pipe in (service.process.stdout, service.process.stderr):
        assert pipe is not None
        pipe.close()


@pytest.mark.slow
def test_accounts_files_and_kept_runs_are_the_same_in_each_process(
    tmp_path: Path,
) -> None:
    """Every process sees what a command or a file changes, and the runs that another process did."""
    config = tmp_path / "service.toml"
    environment = with_state(tmp_path)
    config.write_text(CONFIGURATION.format(server=""), encoding="utf-8")
    (tmp_path / "published").mkdir()
    own = tmp_path / "published" / "own.py"
    own.write_text(PUBLISHED.format(name="first"))
    admin = ("--config", str(config))
    with started(tmp_path, "--config", str(config), "--reload") as service:
        for words in (
            ("assets", "add", "Panel data", "--shared"),
            ("users", "add", "ann"),
        ):
            command(environment, "admin", *words, *admin)
        token = command(environment, "token", "--user", "ann", "--hours", "1", *admin)
        client = {"headers": bearer(token), "timeout": 60}

        def names() -> list[str]:
            listed = httpx.post(service.address + LIST, **client)  # type: ignore[arg-type]
            assert listed.status_code == 200, listed.text
            return sorted(function["name"] for function in listed.json())

        names_of_one, names_of_other = of_each(service, names)
        assert names_of_one == names_of_other
        assert "First" in names_of_one
        own.write_text(PUBLISHED.format(name="second"))
        assert becomes(
            lambda: all("Second" in listed for listed in of_each(service, names))
        )

        runs = service.address + "/api/runs"
        with alone(service, 0):
            begun = httpx.post(
                runs, json={**PANELS, "key": "a-key-of-the-test"}, **client
            )  # type: ignore[arg-type]
            assert begun.status_code == 202, begun.text
            at = f"{runs}/{begun.json()['id']}"
            assert httpx.get(f"{at}?wait=20", **client).json()["state"] == "done"  # type: ignore[arg-type]
        looks = of_each(service, lambda: httpx.get(f"{at}/result", **client).json())  # type: ignore[arg-type]
        assert looks[0] == looks[1]
        assert looks[0]["error"] is None

        command(environment, "admin", "users", "disable", "ann", *admin)
        refused_by = of_each(
            service, lambda: httpx.post(service.address + LIST, **client)
        )  # type: ignore[arg-type]
        assert [reply.status_code for reply in refused_by] == [401, 401]


@pytest.mark.slow
def test_all_processes_together_check_as_many_wrong_passwords_as_one_would(
    tmp_path: Path,
) -> None:
    with started(tmp_path, "--processes", "2") as service:
        wrong = {"email": "analyst@demo.example", "password": "wrong"}

        def checked() -> list[int]:
            post = httpx.Client(base_url=service.address, timeout=120)
            with post as client:
                return [client.post(LOGIN, json=wrong).status_code for _ in range(8)]

        first, second = of_each(service, checked)
    statuses = first + second
    assert statuses.count(401) == 10
    assert statuses.count(429) == 6


def test_limits_are_shared_among_the_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each process gets its share of them, rounded up, and of DuckDB's memory."""
    monkeypatch.setenv("FUNCS_STATE_DIR", str(tmp_path / "state"))
    config = tmp_path / "service.toml"
    config.write_text(
        CONFIGURATION.format(
            server="concurrent_runs = 9\nruns_a_user = 3\nrun_seconds = 60"
        ).replace('folders = ["published"]', ""),
        encoding="utf-8",
    )
    read = settings.load(config).model_copy(update={"memory_limit": 10**9})
    service = hosted.build(read, config)
    with contextlib.closing(service.ends):
        limits = service.runs._limits
        assert (limits.concurrent_runs, limits.runs_a_user, limits.run_seconds) == (
            5,
            2,
            60,
        )
        assert (limits.wrong_logins_per_name, limits.wrong_logins_per_address) == (
            5,
            15,
        )
    _, engine = hosted._built_in(read, is_demo=False)
    with contextlib.closing(engine), engine.cursor() as cursor:
        assert sandbox.memory_limit(cursor) == pytest.approx(5e8, rel=0.001)


@pytest.mark.parametrize("number", ["0", "-1", "65", "two"])
def test_a_number_of_processes_that_makes_no_sense_is_refused(
    tmp_path: Path, number: str
) -> None:
    code, _, error = in_this_process(
        with_state(tmp_path), "serve", f"--processes={number}"
    )
    assert code
    assert "is not a number of processes: use a number from 1 to 64" in error


def test_a_system_that_can_not_fork_serves_in_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "fork")
    error = refused(with_state(tmp_path), "--port", "0", "--processes", "2")
    assert "can't fork" in error

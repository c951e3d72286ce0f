"""What killed services and their workers have left is removed by the next service, and nothing of a running one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from jupyter_funcs.service.publishing.confinement import WorkerSetup
from jupyter_funcs.service.publishing.worker_pool import Workers

if TYPE_CHECKING:
    from collections.abc import Iterator

# Says where it runs.
FUNCTIONS = """
import os
from jupyter_funcs.service import function

@function
def hold() -> str:
    return os.getcwd()
"""
SERVICE = """
import json, os, sys
from pathlib import Path
from jupyter_funcs.core import background
from jupyter_funcs.service.publishing.confinement import WorkerSetup
from jupyter_funcs.service.publishing.worker_pool import Workers

if __name__ == "__main__":
    workers = Workers(WorkerSetup((Path(sys.argv[1]),), default_asset="a"))
    [hold] = workers.load()

    class Call:
        cancelled = False

    body = background.run(hold.body(Call(), 1, "json", {}, typed=False)).content
    print(json.loads(json.loads(bytes(body))["body"]), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files, of the tests' process and of those that they start."""
    path = tmp_path / "temporary"
    path.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("not a worker's")
    (tmp_path / "functions").mkdir()
    (tmp_path / "functions" / "hold.py").write_text(FUNCTIONS)
    monkeypatch.setattr("tempfile.tempdir", str(path))
    monkeypatch.setenv("TMPDIR", str(path))
    return path


@pytest.fixture
def services(temporary: Path) -> Iterator[list[tuple[psutil.Process, Path]]]:
    """Two running services, each with a worker that has written to its folder."""
    command = [
        sys.executable,
        "-W",
        "error",
        "-c",
        SERVICE,
        str(temporary.parent / "functions"),
    ]
    started = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    try:
        yield [
            (psutil.Process(process.pid), Path(process.stdout.readline().strip()))
            for process in started
            if process.stdout
        ]
    finally:
        for process in started:
            process.kill()
            process.communicate()


def kill(service: psutil.Process) -> None:
    """Kill a service and all its processes, as when the machine runs out of memory."""
    workers = service.children(recursive=True)
    for process in (service, *workers):
        process.suspend()
    for process in (service, *workers):
        os.kill(process.pid, signal.SIGKILL)
    psutil.wait_procs([service, *workers], timeout=60)


@pytest.mark.slow
@pytest.mark.fault(154)
@pytest.mark.skipif(sys.platform == "win32", reason="needs locks of folders")
def test_the_next_service_removes_what_killed_workers_have_left(
    temporary: Path, services: list[tuple[psutil.Process, Path]]
) -> None:
    """At once, however recent it is. Another running service keeps its folder, and targets of links stay."""
    (dead, left), (_, kept) = services
    for folder in (left, kept):
        (folder / "locked" / "inner").mkdir(parents=True)
        (folder / "locked" / "link").symlink_to(temporary.parent / "outside")
        (folder / "locked" / "inner").chmod(0)
    assert left.parents[2] == kept.parents[2] == temporary
    kill(dead)
    assert left.is_dir()
    Workers(WorkerSetup((temporary.parent / "functions",), default_asset="a")).close()
    assert {path.name for path in temporary.iterdir()} == {kept.parents[1].name}
    assert (kept / "locked").is_dir()
    assert (temporary.parent / "outside" / "file").exists()


@pytest.mark.slow
@pytest.mark.fault(154)
def test_a_service_that_ends_leaves_nothing(temporary: Path) -> None:
    workers = Workers(WorkerSetup((temporary.parent / "functions",), default_asset="a"))
    assert [function.name for function in workers.load()] == ["Hold"]
    assert len([*temporary.iterdir()]) == 1
    workers.close()
    assert [*temporary.iterdir()] == []

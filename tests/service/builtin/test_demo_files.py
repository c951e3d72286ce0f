"""The demo's file in the cache is complete or absent, whatever happens while it is built."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jupyter_funcs.service.builtin import demo, synthesis

if TYPE_CHECKING:
    from pathlib import Path

NAME = f"demo-{demo.VERSION}.parquet"


def write(path: Path, text: str = "whole") -> None:
    pq.write_table(pa.table({"text": [text]}), path)


def text_in(path: Path) -> str:
    return str(pq.read_table(path)["text"][0])


def never(_path: Path) -> None:
    raise AssertionError("built again")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUNCS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(synthesis, "write", write)
    return tmp_path / "cache"


def test_the_file_is_built_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert demo.spend_file() == home / NAME
    monkeypatch.setattr(synthesis, "write", never)
    assert demo.spend_file() == home / NAME
    assert text_in(home / NAME) == "whole"
    assert [path.name for path in home.iterdir()] == [NAME]


def test_another_version_is_another_file(monkeypatch: pytest.MonkeyPatch) -> None:
    first = demo.spend_file()
    monkeypatch.setattr(demo, "VERSION", demo.VERSION + 1)
    assert demo.spend_file() != first


def test_the_users_cache_folder_is_the_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("FUNCS_CACHE_DIR")
    monkeypatch.setattr(
        "platformdirs.user_cache_path", lambda name: tmp_path / "user" / name
    )
    assert demo.spend_file() == tmp_path / "user" / "jupyter_funcs" / NAME


def test_a_build_that_fails_leaves_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> None:
        write(path)
        raise MemoryError

    monkeypatch.setattr(synthesis, "write", fail)
    with pytest.raises(MemoryError):
        demo.spend_file()
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("damage", ["cut", "empty", "other text"])
def test_a_damaged_file_is_built_again(home: Path, damage: str) -> None:
    path = demo.spend_file()
    path.write_bytes(
        {
            "cut": path.read_bytes()[:-20],
            "empty": b"",
            "other text": b"in the way" * 100,
        }[damage]
    )
    assert demo.spend_file() == path
    assert text_in(path) == "whole"
    assert [path.name for path in home.iterdir()] == [NAME]


def test_if_another_process_is_first_its_file_is_used(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(path: Path) -> None:
        write(path, "late")
        # Meanwhile another process finishes first.
        monkeypatch.setattr(synthesis, "write", write)
        demo.spend_file()

    monkeypatch.setattr(synthesis, "write", slow)
    assert demo.spend_file() == home / NAME
    assert text_in(home / NAME) == "whole"
    assert [path.name for path in home.iterdir()] == [NAME]


@pytest.mark.slow
def test_processes_at_once_all_get_the_file(home: Path) -> None:
    code = """
import time
import pyarrow as pa
import pyarrow.parquet as pq
from jupyter_funcs.service.builtin import demo, synthesis
def build(path):
    pq.write_table(pa.table({"text": ["whole"]}), path)
    time.sleep(0.3)
synthesis.write = build
print(demo.spend_file())
"""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    outputs = [process.communicate(timeout=60)[0].strip() for process in processes]
    assert outputs == [str(home / NAME)] * 3
    assert [path.name for path in home.iterdir()] == [NAME]


def test_threads_at_once_all_get_the_file(home: Path) -> None:
    paths: list[Path] = []
    threads = [
        threading.Thread(target=lambda: paths.append(demo.spend_file()))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert paths == [home / NAME] * 8
    assert [path.name for path in home.iterdir()] == [NAME]


@pytest.mark.parametrize(
    "obstacle", ["a file is in the way", "a folder has its name", "the disk is full"]
)
def test_a_temporary_folder_replaces_a_cache_that_cannot_be_written(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    obstacle: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def build(path: Path) -> None:
        if obstacle == "the disk is full" and home in path.parents:
            raise OSError(28, "No space left on device")
        write(path)

    monkeypatch.setattr(synthesis, "write", build)
    if obstacle == "a file is in the way":
        home.write_text("")
    elif obstacle == "a folder has its name":
        (home / NAME).mkdir(parents=True)
    path = demo.spend_file()
    assert home not in path.parents
    assert text_in(path) == "whole"
    assert "cannot be written" in caplog.text
    assert home.is_file() or not [
        file for file in home.iterdir() if file.suffix == ".part"
    ]


@pytest.mark.slow
@pytest.mark.fault(154)
@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")
def test_what_a_killed_process_has_left_is_removed_at_the_next_start(
    home: Path,
) -> None:
    """The file that it began; not the file of a process that is still running."""
    code = """
import sys, time
from jupyter_funcs.service.builtin import demo, synthesis
synthesis.write = lambda path: (path.write_text("half"), print("begun", flush=True), time.sleep(60))
demo.spend_file()
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == b"begun\n"
    processes[0].kill()
    processes[0].communicate()
    demo.spend_file()
    left = len(list(home.glob("*.part")))
    processes[1].kill()
    processes[1].communicate()
    assert left == 1

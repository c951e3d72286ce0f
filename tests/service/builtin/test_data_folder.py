"""The cache folder is complete or absent, whatever happens while it is built."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from jupyter_funcs.service.builtin import data_folder

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path) -> None:
    (folder / "data").write_text("whole")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUNCS_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def never(_folder: Path) -> None:
    raise AssertionError("built again")


def test_a_folder_is_built_once(home: Path) -> None:
    assert data_folder.cached("demo-1", write) == home / "demo-1"
    assert data_folder.cached("demo-1", never) == home / "demo-1"
    assert (home / "demo-1" / "data").read_text() == "whole"
    assert [path.name for path in home.iterdir()] == ["demo-1"]


def test_another_version_is_another_folder(home: Path) -> None:
    assert data_folder.cached("demo-1", write) != data_folder.cached("demo-2", write)


def test_the_users_cache_folder_is_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FUNCS_CACHE_DIR")
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / "user" / name)
    assert data_folder.cached("demo-1", write) == tmp_path / "user" / "jupyter_funcs" / "demo-1"


def test_a_build_that_fails_leaves_nothing(home: Path) -> None:
    def fail(folder: Path) -> None:
        write(folder)
        raise MemoryError

    with pytest.raises(MemoryError):
        data_folder.cached("demo-1", fail)
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("damage", ["cut", "removed", "no manifest", "odd manifest", "empty folder", "a file"])
def test_a_damaged_folder_is_built_again(home: Path, damage: str) -> None:
    folder = data_folder.cached("demo-1", write)
    match damage:
        case "cut":
            (folder / "data").write_text("who")
        case "removed":
            (folder / "data").unlink()
        case "no manifest":
            (folder / "manifest.json").unlink()
        case "odd manifest":
            (folder / "manifest.json").write_text("[]")
        case _:
            for path in folder.iterdir():
                path.unlink()
    if damage == "a file":
        folder.rmdir()
        folder.write_text("in the way")
    assert data_folder.cached("demo-1", write) == folder
    assert (folder / "data").read_text() == "whole"
    assert [path.name for path in home.iterdir()] == ["demo-1"]


def test_if_another_process_is_first_its_folder_is_used(home: Path) -> None:
    def slow(folder: Path) -> None:
        (folder / "data").write_text("late!")
        # Meanwhile another process finishes first.
        data_folder.cached("demo-1", write)

    assert data_folder.cached("demo-1", slow) == home / "demo-1"
    assert (home / "demo-1" / "data").read_text() == "whole"
    assert [path.name for path in home.iterdir()] == ["demo-1"]


def test_processes_at_once_all_get_the_folder(home: Path) -> None:
    code = """
import sys, time
from typing import TYPE_CHECKING
from jupyter_funcs.service.builtin import data_folder as cache
def build(folder):
    (folder / "data").write_text("whole")
    time.sleep(0.3)
print(cache.cached("demo-1", build))
"""
    processes = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [process.communicate(timeout=30)[0].strip() for process in processes]
    assert outputs == [str(home / "demo-1")] * 3
    assert [path.name for path in home.iterdir()] == ["demo-1"]


def test_threads_at_once_all_get_the_folder(home: Path) -> None:
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(data_folder.cached("demo-1", write))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [home / "demo-1"] * 8
    assert [path.name for path in home.iterdir()] == ["demo-1"]


@pytest.mark.parametrize("obstacle", ["a file is in the way", "the disk is full"])
def test_a_temporary_folder_replaces_a_cache_that_cannot_be_written(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, obstacle: str, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def build(folder: Path) -> None:
        if obstacle == "the disk is full" and home in folder.parents:
            raise OSError(28, "No space left on device")
        write(folder)

    if obstacle == "a file is in the way":
        home.write_text("")
    folder = data_folder.cached("demo-1", build)
    assert home not in folder.parents
    assert (folder / "data").read_text() == "whole"
    assert "cannot be written" in caplog.text
    assert home.is_file() or list(home.iterdir()) == []


def test_old_leftovers_are_removed_but_not_what_may_still_be_written(home: Path) -> None:
    home.mkdir()
    old, new = home / "demo-1.old.part", home / "demo-1.new.part"
    old.mkdir()
    new.mkdir()
    os.utime(old, (time.time() - 7200,) * 2)
    data_folder.cached("demo-1", write)
    assert sorted(path.name for path in home.iterdir()) == ["demo-1", "demo-1.new.part"]

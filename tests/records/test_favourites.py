"""Recent and favourite functions: what is kept, where, and what happens if the file can't be written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from jupyter_funcs.core.files import own_path
from jupyter_funcs.records.favourites import Favourites

if TYPE_CHECKING:
    from pathlib import Path


def test_the_last_five_are_recent_the_newest_first(tmp_path: Path) -> None:
    """A function used again moves to the top and is listed once; nothing is written."""
    favourites = Favourites("s", tmp_path / "f.json")
    for name in ("a", "b", "c", "d", "e", "f", "c"):
        favourites.add_recent(name)
    assert favourites.recent == ["c", "f", "e", "d", "b"]
    assert not list(tmp_path.iterdir())


def test_favourites_are_kept_for_each_service(tmp_path: Path) -> None:
    """Another kernel finds them in order; each service has its own; an unmarked one is gone."""
    path = tmp_path / "new" / "f.json"
    favourites = Favourites("https://a", path)
    for name in ("x", "y", "é\ud800", "x"):
        favourites.mark(name, is_favourite=True)
    Favourites("https://b", path).mark("z", is_favourite=True)
    assert Favourites("https://a", path).names == ["y", "é\ud800", "x"]
    Favourites("https://a", path).mark("y", is_favourite=False)
    assert Favourites("https://a", path).names == ["é\ud800", "x"]
    assert Favourites("https://b", path).names == ["z"]
    assert list(path.parent.iterdir()) == [path]


def test_two_notebooks_do_not_undo_each_other(tmp_path: Path) -> None:
    """A mark is added to the file as it is now, not as it was first read."""
    first = Favourites("s", tmp_path / "f.json")
    second = Favourites("s", tmp_path / "f.json")
    assert first.names == second.names == []
    first.mark("a", is_favourite=True)
    second.mark("b", is_favourite=True)
    assert first.names == ["a"]
    assert second.names == Favourites("s", tmp_path / "f.json").names == ["a", "b"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1]",
        '"x"',
        '{"s": 1}',
        '{"s": {"a": 1}}',
        "[" * 100_000,
        '{"s": [1, null]}',
        "\udcff",
        f'{{"s": ["{"x" * 2**20}"]}}',
    ],
    ids=lambda text: text[:8],
)
def test_a_file_that_is_none_of_ours_holds_no_favourites(
    tmp_path: Path, text: str
) -> None:
    """Whatever the file contains, the panel opens and the next mark is saved."""
    path = tmp_path / "f.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    favourites = Favourites("s", path)
    assert favourites.names == []
    favourites.mark("a", is_favourite=True)
    assert Favourites("s", path).names == ["a"]


def test_where_nothing_can_be_written_favourites_are_in_memory(tmp_path: Path) -> None:
    """With an unwritable home directory, marks work until the kernel ends, and a message says so."""
    (tmp_path / "file").write_text("no folder")
    favourites = Favourites("s", tmp_path / "file" / "f.json")
    favourites.mark("a", is_favourite=True)
    favourites.mark("b", is_favourite=True)
    favourites.mark("a", is_favourite=False)
    assert favourites.names == ["b"]
    assert (
        favourites.trouble == "Favourites are lost when this kernel ends: File exists."
    )
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_not_more_than_fifty_are_kept(tmp_path: Path) -> None:
    """The oldest marks are dropped, so that the list stays short."""
    path = tmp_path / "f.json"
    favourites = Favourites("s", path)
    for number in range(55):
        favourites.mark(str(number), is_favourite=True)
    assert favourites.names == [str(number) for number in range(5, 55)]
    assert json.loads(path.read_text()) == {"s": favourites.names}


def test_where_the_file_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """FUNCS_FAVOURITES names the file; else it is in the user's data folder, never in one named ~."""
    monkeypatch.setenv("FUNCS_FAVOURITES", "/x/y.json")
    assert own_path("favourites.json").as_posix() == "/x/y.json"
    monkeypatch.delenv("FUNCS_FAVOURITES")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert own_path("favourites.json").name == "favourites.json"
    assert own_path("favourites.json").is_absolute()

"""Recent and favourite functions: what is kept, where, and what happens where nothing can be kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from jupyter_funcs.config import favourites_file
from jupyter_funcs.shelf import Shelf

if TYPE_CHECKING:
    from pathlib import Path


def test_the_last_five_are_recent_the_newest_first(tmp_path: Path) -> None:
    """A function that is used again comes to the top and is not there twice; nothing is written."""
    shelf = Shelf("s", tmp_path / "f.json")
    for name in ("a", "b", "c", "d", "e", "f", "c"):
        shelf.use(name)
    assert shelf.recent == ["c", "f", "e", "d", "b"]
    assert not list(tmp_path.iterdir())


def test_favourites_are_kept_for_each_service(tmp_path: Path) -> None:
    """Another kernel finds them, in their order; another service has its own; one unmarked is gone."""
    path = tmp_path / "new" / "f.json"
    shelf = Shelf("https://a", path)
    for name in ("x", "y", "é\ud800", "x"):
        shelf.mark(name, is_favourite=True)
    Shelf("https://b", path).mark("z", is_favourite=True)
    assert Shelf("https://a", path).favourites == ["y", "é\ud800", "x"]
    Shelf("https://a", path).mark("y", is_favourite=False)
    assert Shelf("https://a", path).favourites == ["é\ud800", "x"]
    assert Shelf("https://b", path).favourites == ["z"]
    assert list(path.parent.iterdir()) == [path]


def test_two_notebooks_do_not_undo_each_other(tmp_path: Path) -> None:
    """A mark is added to what the file holds now, not to what was read at first."""
    one, other = Shelf("s", tmp_path / "f.json"), Shelf("s", tmp_path / "f.json")
    assert one.favourites == other.favourites == []
    one.mark("a", is_favourite=True)
    other.mark("b", is_favourite=True)
    assert one.favourites == ["a"]
    assert other.favourites == Shelf("s", tmp_path / "f.json").favourites == ["a", "b"]


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
def test_a_file_that_is_none_of_ours_holds_no_favourites(tmp_path: Path, text: str) -> None:
    """Whatever stands in the file, the panel opens, and the next mark is kept."""
    path = tmp_path / "f.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    shelf = Shelf("s", path)
    assert shelf.favourites == []
    shelf.mark("a", is_favourite=True)
    assert Shelf("s", path).favourites == ["a"]


def test_where_nothing_can_be_written_favourites_are_in_memory(tmp_path: Path) -> None:
    """On a home folder that cannot be written the marks work until the kernel ends, and that is said."""
    (tmp_path / "file").write_text("no folder")
    shelf = Shelf("s", tmp_path / "file" / "f.json")
    shelf.mark("a", is_favourite=True)
    shelf.mark("b", is_favourite=True)
    shelf.mark("a", is_favourite=False)
    assert shelf.favourites == ["b"]
    assert shelf.trouble == "Favourites end with this kernel: File exists."
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_not_more_than_fifty_are_kept(tmp_path: Path) -> None:
    """The oldest marks give way, so that the list stays one to look at."""
    path = tmp_path / "f.json"
    shelf = Shelf("s", path)
    for number in range(55):
        shelf.mark(str(number), is_favourite=True)
    assert shelf.favourites == [str(number) for number in range(5, 55)]
    assert json.loads(path.read_text()) == {"s": shelf.favourites}


def test_where_the_file_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """FUNCS_FAVOURITES names the file; else it lies in the user's folder for data, never in one that is named ~."""
    assert favourites_file({"FUNCS_FAVOURITES": "/x/y.json"}).as_posix() == "/x/y.json"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert favourites_file({}).name == "favourites.json"
    assert favourites_file({}).is_absolute()

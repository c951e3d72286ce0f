"""What stands below a run: tabs that are filled as they are opened, and a file that is never overwritten unasked."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any, ClassVar

import comm
import httpx
import ipywidgets as w
import numpy as np
import pandas as pd
import pytest
from comm.base_comm import BaseComm

from jupyter_funcs.client.notebook import Cell, ResultVariable
from jupyter_funcs.core import background
from jupyter_funcs.panel.result.results import Results
from jupyter_funcs.panel.result.save_bar import SaveBar
from jupyter_funcs.panel.shared.outcome import Outcome
from jupyter_funcs.panel.shared.parts import Parts
from jupyter_funcs.panel.visits import Visit
from tests.panel.test_controls import wait_until
from tests.panel.test_panel import guard, hidden

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jupyter_funcs.api import RemoteFunction, Session

SHOWN: list[tuple[str, Outcome | None]] = []


class First(w.VBox):
    """A tab that notes what it is asked to show."""

    title: ClassVar[str] = "First"

    def __init__(self, _guard: Any, _parts: Any) -> None:
        super().__init__()

    async def show(self, outcome: Outcome | None) -> None:
        SHOWN.append((self.title, outcome))


class Second(First):
    title = "Second"


class Broken(First):
    title = "Broken"

    async def show(self, _outcome: Outcome | None) -> None:
        raise ZeroDivisionError("<b>")


@pytest.fixture
def function(answering: Callable[..., Session]) -> RemoteFunction:
    return answering(lambda _: httpx.Response(200, json=[{"name": "Get It"}]))["Get It"]


def outcome_of(function: RemoteFunction, frame: pd.DataFrame | None = None) -> Outcome:
    frame = pd.DataFrame({"a": [1]}) if frame is None else frame
    return Outcome(function, {}, frame, b"[]", dt.datetime.now(dt.UTC), 0.5, "", "")


def visit_of(function: RemoteFunction) -> Visit:
    visit = Visit(function, function.form(), ResultVariable(function.slug, Cell("", 0)))
    visit.outcome = outcome_of(function)
    return visit


def show(results: Results, visit: Visit) -> None:
    background.start(results.show(visit)).result(10)


def test_a_tab_is_filled_when_it_is_opened_and_emptied_when_it_is_out_of_date(function: RemoteFunction) -> None:
    """Only the opened tab shows a run; another one does once it is opened, and holds no earlier run meanwhile."""
    SHOWN.clear()
    visit = visit_of(function)
    results = Results(lambda: None, guard, Parts(), {tab.title: tab for tab in (First, Second, Broken)})
    assert not results.children
    show(results, visit)
    assert SHOWN[:] == [("First", visit.outcome)]
    results._box.selected_index = 1
    wait_until(lambda: len(SHOWN) == 2)
    assert SHOWN[1] == ("Second", visit.outcome)
    assert [len(holder.children) for holder in results._box.children] == [1, 1, 0]
    results._box.selected_index = 0
    show(results, visit)
    assert len(SHOWN) == 2
    earlier, visit.outcome = visit.outcome, outcome_of(function)
    show(results, visit)
    assert SHOWN[2:] == [("First", visit.outcome), ("Second", None)]
    visit.outcome = None
    show(results, visit)
    assert hidden(results)
    assert SHOWN[4:] == [("First", None)]
    visit.outcome = earlier
    show(results, visit)
    assert not hidden(results)


def test_a_tab_that_fails_says_so_and_stops_nothing(function: RemoteFunction) -> None:
    """An error of one tab stands above it, inert; the file and the variable are there all the same."""
    results = Results(lambda: None, guard, Parts(), {tab.title: tab for tab in (Broken, First)})
    show(results, visit_of(function))
    wait_until(lambda: "Broken cannot be shown: ZeroDivisionError" in results._said.value)
    assert not hidden(results)
    assert results.save_bar.file.value


@pytest.fixture
def bar(function: RemoteFunction, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SaveBar:
    monkeypatch.chdir(tmp_path)
    bar = SaveBar(guard, Parts())
    bar.show(outcome_of(function))
    return bar


def press(bar: SaveBar) -> None:
    bar.button.click()
    if bar.saving is not None:
        bar.saving.result(30)


def test_a_file_is_named_by_the_function_and_the_day(bar: SaveBar, tmp_path: Path) -> None:
    """Save writes where the notebook is, and says where and how large."""
    name = f"get_it-{dt.datetime.now().astimezone():%Y-%m-%d}.csv"
    assert bar.file.value == name
    press(bar)
    assert (tmp_path / name).read_text() == "a\n1\n"
    assert f"Saved: {tmp_path / name} · 4 bytes" in bar.said.value


@pytest.mark.parametrize("form", ["xlsx", "parquet", "json"])
def test_each_format_has_its_ending(bar: SaveBar, tmp_path: Path, form: str) -> None:
    """The name follows the format, also one that a person wrote."""
    pytest.importorskip({"xlsx": "xlsxwriter", "parquet": "pyarrow"}.get(form, "json"))
    bar.file.value = "mine.v2.csv"
    bar.format.value = form
    assert bar.file.value == f"mine.v2.{form}"
    press(bar)
    assert (tmp_path / f"mine.v2.{form}").stat().st_size > 5


@pytest.mark.parametrize(
    ("name", "form"), [("x.parquet", "parquet"), ("my.X.JSON", "json"), ("x.txt", "csv"), ("x", "csv")]
)
def test_a_name_that_is_written_chooses_the_format(bar: SaveBar, name: str, form: str) -> None:
    """A file is never of another format than its ending says; an ending that is none leaves both as they are."""
    bar.file.value = name
    assert (bar.format.value, bar.file.value.lower()) == (form, name.lower())


def test_a_file_that_is_there_is_replaced_only_after_a_question(bar: SaveBar, tmp_path: Path) -> None:
    """The first click asks, the second replaces; another name in between is another question."""
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("own")
    bar.file.value = "one.csv"
    press(bar)
    assert (tmp_path / "one.csv").read_text() == "own"
    assert "one.csv is there already." in bar.said.value
    assert bar.button.description == "Replace it"
    bar.file.value = "two.csv"
    assert bar.button.description == "Save"
    press(bar)
    assert (tmp_path / "two.csv").read_text() == "own"
    press(bar)
    assert (tmp_path / "two.csv").read_text() == "a\n1\n"
    assert bar.button.description == "Save"
    press(bar)
    assert "two.csv is there already." in bar.said.value


@pytest.mark.parametrize(
    ("name", "said"),
    [("absent/a.csv", "No such file"), (".", "is a folder"), ("a\0b.csv", ""), ("x" * 300, "too long")],
)
def test_a_place_that_cannot_be_written_is_said(bar: SaveBar, tmp_path: Path, name: str, said: str) -> None:
    """A name that leads nowhere is an error in words at the button, which can be pressed again."""
    bar.file.value = name
    press(bar)
    assert "jf-bad" in bar.said.value
    assert said in bar.said.value
    assert not bar.button.disabled
    assert not list(tmp_path.iterdir())


def test_a_file_needs_a_name(bar: SaveBar) -> None:
    """Without a name nothing is saved, and that is said at the button, where a person looks."""
    bar.file.value = "  "
    press(bar)
    assert "There is no name to save under." in bar.said.value
    assert not bar.button.disabled


def test_the_same_result_under_another_name_keeps_what_was_said(bar: SaveBar, function: RemoteFunction) -> None:
    """A rename of the variable leaves the name of the file and the last word; a new run takes the word back."""
    outcome = outcome_of(function)
    bar.show(outcome)
    bar.file.value = "mine.csv"
    press(bar)
    said = bar.said.value
    assert said
    bar.show(Outcome(function, {}, outcome.frame, None, outcome.started, 0.5, "", "renamed"))
    assert (bar.said.value, bar.file.value) == (said, "mine.csv")
    bar.show(outcome_of(function))
    assert (bar.said.value, bar.file.value) == ("", "mine.csv")


@pytest.mark.slow
def test_a_million_rows_send_little(function: RemoteFunction, monkeypatch: pytest.MonkeyPatch) -> None:
    """A result of a million rows and fifty columns opens with less than half a megabyte to the page."""
    sent: list[int] = []

    class Counted(BaseComm):
        def publish_msg(self, _type: str, data: Any = None, *_: Any, **__: Any) -> None:
            sent.append(len(json.dumps(data)))

    monkeypatch.setattr(comm, "create_comm", Counted)
    visit = visit_of(function)
    frame = pd.DataFrame(np.zeros((1_000_000, 50)), columns=[f"column {at}" for at in range(50)])
    visit.outcome = outcome_of(function, frame)
    results = Results(lambda: None, guard, Parts())
    show(results, visit)
    assert sum(sent) < 500_000
    assert not hidden(results)


@pytest.mark.parametrize(
    "frame", [pd.DataFrame(), pd.DataFrame(index=range(3)), pd.DataFrame({"a": []})], ids=["nothing", "rows", "columns"]
)
def test_an_empty_result_is_shown(function: RemoteFunction, frame: pd.DataFrame) -> None:
    """No rows, no columns or neither is a result in every tab."""
    visit = visit_of(function)
    visit.outcome = outcome_of(function, frame)
    results = Results(lambda: None, guard, Parts())
    show(results, visit)
    for at in range(len(results._kinds)):
        results._box.selected_index = at
        background.start(results._fill()).result(30)
        assert "cannot be shown" not in results._said.value

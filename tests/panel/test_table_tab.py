"""The table of a run without a front end: what is sent to a browser, short or to sort and search in."""

from __future__ import annotations

import html
import json
import re
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from ipywidgets.widgets.widget import _instances

from jupyter_funcs.frames.display import format_of
from jupyter_funcs.panel.result import table_tab
from jupyter_funcs.panel.result.table_tab import TableTab
from tests.panel.test_controls import wait_until
from tests.tabs import made, outcome, show

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

with_itables = pytest.mark.skipif(
    not table_tab.is_there(), reason="itables is not installed: pip install itables[widget]"
)

FRAME = pd.DataFrame(
    {
        "Date": pd.to_datetime(["2025-01-02", None, "2024-01-02"]),
        "Spend": [1234567.5, 5.0, None],
        "Spend Growth": [0.5, -0.25, 2.0],
        "Year": [2025, 2024, 2023],
        "name": ["<b>x</b>", 'a "&amp;"', "z"],
    }
)


@pytest.fixture
def tab() -> Iterator[TableTab]:
    """A table that shows nothing yet; the choice of the viewer is as at first afterwards."""
    yield made(TableTab)
    TableTab.viewer = "Simple"


def choose(tab: TableTab, viewer: str) -> None:
    tab._switch.value = viewer


def test_the_first_rows_and_the_last_are_shown_at_once(tab: TableTab) -> None:
    """The table is short and plain at first, and says how much of the frame it is."""
    show(tab, outcome(pd.DataFrame({"a": range(10_956)})))
    assert "First 50 and last 50 of 10,956 rows" in tab._said.value
    assert tab._simple.value.count("<tr>") == 101
    show(tab, outcome(FRAME))
    assert "3 rows × 5 columns" in tab._said.value


def test_an_empty_table_says_what_to_do(tab: TableTab) -> None:
    """Before a run, after one that gave no rows, and without columns, the table is a sentence."""
    for run, said in (
        (None, "Run the function to see its table."),
        (outcome(pd.DataFrame(columns=["<a>"])), "No rows. Columns: &lt;a&gt;."),
        (outcome(pd.DataFrame(index=range(2))), "2 rows, and no columns."),
    ):
        show(tab, run)
        assert said in tab._simple.value


def test_without_itables_there_is_nothing_to_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is not asked for: without it the tab is the table alone."""
    monkeypatch.setitem(sys.modules, "itables", None)
    plain = made(TableTab)
    show(plain, outcome(FRAME))
    assert plain._switch is None
    assert "jf-table" in plain._simple.value


def test_an_itables_that_shows_markup_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A version from before it escaped what it shows is as good as none."""
    told = tmp_path / "itables-2.3.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: itables\nVersion: 2.3.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert not table_tab.is_there()


@with_itables
def test_an_itables_that_fails_leaves_the_simple_table(tab: TableTab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the extra is broken the table that needs none is shown, and why."""
    show(tab, outcome(FRAME))
    monkeypatch.setitem(sys.modules, "itables.widget", None)
    choose(tab, "Interactive")
    wait_until(lambda: "itables failed (ModuleNotFoundError)" in tab._said.value)
    assert "jf-table" in tab._simple.value
    assert tab._simple in tab.children


def cells(made_grid: Any) -> list[list[Any]]:
    return json.loads(table_tab.widget(made_grid)._dt_args["data_json"])


@with_itables
def test_the_interactive_table_reads_as_the_simple_one() -> None:
    """Each value has the same text in both; markup is text; and numbers are sorted by their values."""
    given = table_tab.grid_of(FRAME)
    shown = cells(given)
    for at, name in enumerate(FRAME):
        form = format_of(FRAME[name])
        assert [html.unescape(row[at]) for row in shown] == [form.text(value) for value in FRAME[name]]
    assert "<" not in table_tab.widget(given)._dt_args["data_json"]
    order = {each["targets"]: each.get("orderData") for each in given.options["columnDefs"][:5]}
    assert order == {0: None, 1: [5], 2: [6], 3: [7], 4: None}
    assert [row[5:] for row in shown] == [[2, 2, 3], [1, 1, 2], [0, 3, 1]]
    assert given.options["columnDefs"][-1] == {"targets": [5, 6, 7], "visible": False, "searchable": False}


ODD = {
    "nested": [[{"a": [1, None]}, 2], "x"],
    "mixed": pd.Series([1, "1"], dtype=object),
    "integers": pd.array([2**53 + 1, None], dtype="Int64"),
    "huge": pd.Series([2**70, 2**70 + 1], dtype=object),
    "decimal": pd.Series([Decimal("1.10"), None], dtype=object),
    "bytes": pd.Series([b"\xff", b"a"], dtype=object),
    "zoned": pd.to_datetime(["2025-01-02T00:00:00+01:00", "2025-01-01T23:30:00Z"], utc=True).tz_convert("Asia/Tokyo"),
    "infinite": [float("inf"), float("nan")],
    "complex": [1j, 2j],
    "duration": pd.to_timedelta([1, 86_400], unit="s"),
    "flag": pd.array([True, None], dtype="boolean"),
    "kind": pd.Categorical(["b", "a"], categories=["b", "a"], ordered=True),
    "number": pd.Categorical([2, 1]),
    "___NaN___": ["___NaN___", "___Infinity___"],
}


@with_itables
@pytest.mark.parametrize("name", ODD)
def test_a_column_of_any_type_is_shown(name: str) -> None:
    """What itables itself would not take is text like the rest, and its order is that of its values."""
    frame = pd.DataFrame({name: ODD[name]})
    given = table_tab.grid_of(frame)
    form = format_of(frame[name])
    assert [html.unescape(row[0]) for row in cells(given)] == [form.text(value) for value in frame[name]]


@with_itables
def test_numbers_beyond_those_of_a_browser_are_in_their_order() -> None:
    """A browser's numbers end at 2**53; the ranks by which it sorts do not."""
    frame = pd.DataFrame(
        {"n": pd.array([2**53 + 1, 2**53, None], dtype="Int64"), "zoned": ODD["zoned"].append(ODD["zoned"][:1])}
    )
    given = table_tab.grid_of(frame)
    assert [row[2:] for row in cells(given)] == [[2, 1], [1, 2], [0, 1]]


@with_itables
def test_columns_are_told_by_their_place() -> None:
    """Two columns of one name, an index of two levels, and names of markup are each there."""
    index = pd.MultiIndex.from_tuples([("x", 1)], names=["<i>", None])
    frame = pd.DataFrame([[1, "y"]], columns=["a", "a"], index=index)
    given = table_tab.grid_of(frame)
    assert cells(given)[0][:4] == ["x", "1", "1", "y"]
    header = re.findall("<th>(.*?)</th>", table_tab.widget(given)._dt_args["table_html"])
    assert header[:4] == ["&lt;i&gt;", "", "a", "a"]


@pytest.mark.slow
@with_itables
@pytest.mark.parametrize(
    ("rows", "columns", "value", "said"),
    [
        (1_000_000, 1, 0, "of 1,000,000 rows; sorting and searching see these"),
        (10, 1000, 0, "100 of 1,000 columns; sorting and searching see these"),
        (2000, 20, "x" * 10_000, "of 2,000 rows; sorting and searching see these"),
        (3, 3, "x", ""),
    ],
)
def test_what_is_sent_is_bounded_and_honest(rows: int, columns: int, value: object, said: str) -> None:
    """However large the frame, some megabytes are sent, and what is left out is said."""
    frame = pd.DataFrame(np.full((rows, columns), value, dtype=object if isinstance(value, str) else "int64"))
    given = table_tab.grid_of(frame)
    assert given.said.endswith(said) if said else not given.said
    assert len(table_tab.widget(given)._dt_args["data_json"]) < 4_000_000
    assert 2 <= len(given.frame) <= rows


@with_itables
def test_a_choice_is_kept_and_a_new_run_is_put_in_place(tab: TableTab) -> None:
    """The interactive table shows the next run too, with other columns, in this panel and in the next."""
    show(tab, outcome(FRAME))
    choose(tab, "Interactive")
    wait_until(lambda: tab._grid is not None and tab._grid in tab.children)
    first = tab._grid
    show(tab, outcome(pd.DataFrame({"other": ["y"]})))
    assert tab._grid is first
    assert json.loads(first._dt_args["data_json"]) == [["y"]]
    assert first._dt_args["columnDefs"] == [{"targets": 0, "type": "string"}]
    another = made(TableTab)
    assert another._switch.value == "Interactive"
    show(another, outcome(FRAME))
    assert another._grid is not None
    choose(tab, "Simple")
    wait_until(lambda: tab._grid is None)
    assert "other" in tab._simple.value


@with_itables
def test_a_table_that_goes_leaves_no_model(tab: TableTab) -> None:
    """The interactive table is closed with its layout when the simple one, or no run at all, takes its place."""
    show(tab, outcome(FRAME))
    before = set(_instances)
    for _ in range(3):
        choose(tab, "Interactive")
        wait_until(lambda: tab._grid is not None and tab._grid in tab.children)
        show(tab, None)
        assert tab._grid is None
        assert set(_instances) == before
        choose(tab, "Simple")
        show(tab, outcome(FRAME))


@with_itables
def test_what_a_user_has_set_for_their_own_tables_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """itables' options that show markup, or fewer rows, are those of a user's tables and not of this one."""
    from itables import options

    for name, value in (("allow_html", True), ("maxRows", 1), ("maxBytes", 10), ("showIndex", True)):
        monkeypatch.setattr(options, name, value)
    shown = cells(table_tab.grid_of(FRAME))
    assert len(shown) == 3
    assert shown[0][4] == "&lt;b&gt;x&lt;/b&gt;"

"""The history of the panel: rows that say what differs, results that are held, and two runs compared."""

from __future__ import annotations

import gc
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.panel.history_view import Held, HistoryView

if TYPE_CHECKING:
    from collections.abc import Iterator

DAYS = pd.date_range("2024-01-01", periods=60)


def sales(region: str = "all", factor: float = 1.0) -> pd.DataFrame:
    """Sales by day and shop."""
    shops = ["North", "South"] if region == "all" else [region]
    rows = [(day, shop, factor * (at + 1) * 100.0) for day in DAYS for at, shop in enumerate(shops)]
    return pd.DataFrame(rows, columns=["Date", "Shop", "Sales"])


def stock(region: str = "all") -> pd.DataFrame:
    """Stock of all shops."""
    return pd.DataFrame({"Shop": ["North", "South"], "Items": [3, 4]})


@pytest.fixture
def funcs() -> Iterator[Any]:
    session = jf.connect([sales, stock])
    yield session
    session.history._log.runs.clear()


@pytest.fixture
def view(funcs: Any) -> HistoryView:
    return HistoryView(funcs.history, Held(), lambda _: {"factor": "Factor"})


def test_rows_say_what_differs_from_the_neighbours(funcs: Any, view: HistoryView) -> None:
    """Arguments that a run of the same function beside it has too are left out; the newest run comes first."""
    kept = [funcs.sales(), funcs.stock(), funcs.sales(factor=2.0), funcs.sales(factor=2.0, region="North")]
    rows = view.rows()
    assert json.loads(json.dumps(rows)) == rows
    assert [row["function"] for row in rows] == ["Sales", "Sales", "Stock", "Sales"]
    assert rows[0]["differs"] == [{"name": "region", "value": "North"}]
    assert rows[1]["differs"] == [{"name": "Factor", "value": "2.0"}]
    assert [row["rows"] for row in rows] == [60, 120, 2, 120]
    assert all(row["held"] for row in rows)
    del kept
    gc.collect()
    assert not view.rows()[-1]["held"]


def test_the_last_results_are_held_by_memory(funcs: Any) -> None:
    """What is held can be compared though no variable has it; the oldest ones go when there are too many bytes."""
    held = Held(most=3)
    view = HistoryView(funcs.history, held)
    for factor in (1.0, 2.0, 3.0, 4.0):
        held.keep(funcs.sales(factor=factor))
    gc.collect()
    assert [row["held"] for row in view.rows()] == [True, True, True, False]
    small = Held(most_bytes=100_000)
    for _ in range(3):
        small.keep(pd.DataFrame({"a": np.zeros(6_000)}))
    assert (len(small), small.size <= 100_000) == (2, True)
    texts = Held(most_bytes=100_000)
    texts.keep(pd.DataFrame({"a": pd.Series(["x" * 1000] * 1000, dtype=object)}))
    assert len(texts) == 0


def test_two_runs_are_compared(funcs: Any, view: HistoryView) -> None:
    """Arguments, joined rows with delta and percent, sums by category, both lines, and the code of the same."""
    kept = [funcs.sales(), funcs.sales(factor=2.0)]
    before, after = (run.number for run in funcs.history.runs)
    shown = view.compare(before, after)
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
    assert shown["args"] == [{"name": "Factor", "before": "", "after": "2.0"}]
    assert shown["said"] == "120 changed, of 120 rows before and 120 after."
    names = [column["name"] for column in shown["columns"]]
    assert names[:3] == ["Change", "Date", "Shop"]
    assert names[3:] == [f"Sales ({which})" for which in ("before", "after", "delta", "percent")]
    assert (len(shown["rows"]), shown["total"]) == (50, 120)
    assert shown["rows"][0][:3] == ["changed", "2024-01-01", "North"]
    assert view.compare(before, after, 100)["rows"][-1][1] == "2024-02-29"
    assert shown["totals"]["rows"] == [["South", 12000.0, 24000.0], ["North", 6000.0, 12000.0]]
    assert [(line["name"], line["colour"]) for line in shown["chart"]["series"]] == [("Before", -2), ("After", 0)]
    assert len(shown["chart"]["x"]["values"]) == len(shown["chart"]["series"][0]["values"])
    assert shown["code"].startswith("import jupyter_funcs as jf\n\njf.diff(")
    assert view.compare(after, before)["args"][0]["before"] == "2.0"
    assert len(kept) == 2


def test_what_is_no_longer_in_memory_is_run_again(funcs: Any, view: HistoryView) -> None:
    """Only where that is asked for; else the reply says which runs are gone."""
    funcs.sales()
    kept = funcs.sales(factor=2.0)
    gc.collect()
    before, after = (run.number for run in funcs.history.runs)
    shown = view.compare(before, after)
    assert (shown["gone"], shown["rows"]) == ([str(before)], [])
    assert shown["said"] == f"The result of run {before} is no longer in memory."
    assert len(funcs.history.runs) == 2
    again = view.compare(before, after, again=True)
    assert (again["gone"], again["total"]) == ([], 120)
    assert len(kept) == 120


def test_runs_of_two_functions_name_what_they_share(funcs: Any, view: HistoryView) -> None:
    """They are joined by common columns where these identify the rows; else one sentence says why not."""
    kept = [funcs.sales(region="North"), funcs.stock(region="North")]
    before, after = (run.number for run in funcs.history.runs)
    shown = view.compare(before, after)
    assert shown["same"] == "region North"
    assert shown["said"].startswith("Sales and Stock share Shop. Shop does not identify the rows of the first result")
    assert (shown["columns"], shown["chart"]) == ([], None)
    assert len(kept) == 2


def test_what_cannot_be_compared_is_said(funcs: Any, view: HistoryView) -> None:
    """The same result, equal results, and runs that aren't there."""
    kept = [funcs.sales(), funcs.sales()]
    before, after = (run.number for run in funcs.history.runs)
    assert view.compare(before, after)["said"] == "No difference, of 120 rows before and 120 after."
    assert view.compare(after, after)["said"] == "Both runs have the same result."
    with pytest.raises(jf.NotFoundError, match="no run '99999'"):
        view.compare(before, 99_999)
    with pytest.raises(jf.ArgumentError):
        view.compare(before, after, 1000)
    assert len(kept) == 2

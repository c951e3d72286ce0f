"""The history of the panel: rows that say what differs, results that stay in memory, and comparisons of two runs."""

from __future__ import annotations

import dataclasses
import gc
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.panel.history_view import Held, HistoryView
from tests.conftest import PANEL, wait_until
from tests.growth import assert_linear
from tests.shells import interactive_shell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DAYS = pd.date_range("2024-01-01", periods=60)


def sales(region: str = "all", factor: float = 1.0) -> pd.DataFrame:
    """Sales by day and shop."""
    shops = ["North", "South"] if region == "all" else [region]
    rows = [
        (day, shop, factor * (at + 1) * 100.0)
        for day in DAYS
        for at, shop in enumerate(shops)
    ]
    return pd.DataFrame(rows, columns=["Date", "Shop", "Sales"])


def stock(region: str = "all") -> pd.DataFrame:
    """Stock of all shops."""
    return pd.DataFrame({"Shop": ["North", "South"], "Items": [3, 4]})


RESULTS: list[pd.DataFrame] = []
KEPT: list[pd.DataFrame] = []


def prepared() -> pd.DataFrame:
    """Return the next of two results."""
    return RESULTS.pop(0)


def broken() -> pd.DataFrame:
    """Fail."""
    raise ValueError("no stock today")


@pytest.fixture
def funcs() -> Iterator[Any]:
    session = jf.connect([sales, stock, prepared, broken])
    yield session
    session.history._log.runs.clear()
    KEPT.clear()


def numbers(funcs: Any, *frames: pd.DataFrame) -> tuple[int, int]:
    """Return the numbers of the last two runs; the results of these are in memory until the test ends."""
    KEPT.extend(frames)
    gc.collect()
    return tuple(run.number for run in funcs.history.runs[-2:])  # type: ignore[return-value]


def echo(value: Any = 0) -> pd.DataFrame:
    """The value that it was called with."""
    return pd.DataFrame({"Value": [repr(value)]})


@pytest.fixture
def typed() -> Iterator[Any]:
    session = jf.connect([echo])
    yield session
    session.history._log.runs.clear()
    KEPT.clear()


@pytest.fixture
def view(funcs: Any) -> HistoryView:
    return HistoryView(funcs, Held())


def test_rows_say_what_differs_between_the_runs_of_a_function(
    funcs: Any, view: HistoryView
) -> None:
    """Arguments that all runs of the same function share are left out; the newest run comes first."""
    kept = [
        funcs.sales(),
        funcs.stock(),
        funcs.sales(factor=2.0),
        funcs.sales(factor=2.0, region="North"),
    ]
    rows = view.rows(earlier=False)
    assert json.loads(json.dumps(rows)) == rows
    assert [row["function"] for row in rows] == ["Sales", "Sales", "Stock", "Sales"]
    assert rows[0]["differs"] == [
        {"name": "Factor", "value": "2.0"},
        {"name": "Region", "value": "North"},
    ]
    assert rows[1]["differs"] == [{"name": "Factor", "value": "2.0"}]
    assert [row["rows"] for row in rows] == [60, 120, 2, 120]
    assert all(row["held"] for row in rows)
    del kept
    gc.collect()
    assert not view.rows(earlier=False)[-1]["held"]
    _ = (
        funcs["Sales"].sweep(factor=[1.0, 2.0, 3.0, 4.0]),
        funcs["Sales"].sweep(factor=[1.0, 2.0]),
    )
    few, many = (row["differs"] for row in view.rows(earlier=False)[:2])
    assert many == [{"name": "Factor", "value": "4 values"}]  # which are its runs
    assert few == [
        {"name": "Factor", "value": "1.0, 2.0"},
        {"name": "runs", "value": "2"},
    ]


ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"value": 5}, "5"),
    ({"value": "5"}, "5"),
    ({"value": None}, "null"),
    ({"value": ""}, "empty text"),
]
ARGUMENTS += [
    ({"value": []}, "empty list"),
    ({"value": " x"}, "' x'"),
    ({"value": True}, "True"),
    ({"value": 1}, "1"),
]


def test_rows_and_comparisons_tell_null_and_types_apart(typed: Any) -> None:
    """Null, an empty text and white space have names; 5 and "5" differ, and so do True and 1."""
    for args, _ in ARGUMENTS:
        KEPT.append(typed.echo(**args))
    KEPT.append(typed.echo())
    view = HistoryView(typed, Held())
    shown = [
        [item["value"] for item in row["differs"]] for row in view.rows(earlier=False)
    ]
    assert shown[::-1] == [*([text] for _, text in ARGUMENTS), []]
    first = typed.history.runs[0].number
    pairs = [
        (0, 1, "5", "'5'"),
        (6, 7, "True", "1"),
        (2, 3, "null", "empty text"),
        (2, 8, "null", ""),
    ]
    for before, after, old, new in pairs:
        compared = view.compare(first + before, first + after)
        assert compared["args"] == [{"name": "Value", "before": old, "after": new}]
    assert view.compare(first + 2, first + 2)["same"] == "Value null"


def test_the_last_results_are_held_by_memory(funcs: Any) -> None:
    """20 are in memory, before and after garbage collection, though no variable has them; fewer if they are large."""
    results = Held()
    view = HistoryView(funcs, results)
    gc.disable()
    try:
        for factor in range(22):
            results.keep(funcs.sales(factor=float(factor)))
        assert [row["held"] for row in view.rows(earlier=False)][:20] == [True] * 20
    finally:
        gc.enable()
    gc.collect()
    assert [row["held"] for row in view.rows(earlier=False)] == [True] * 20 + [
        False
    ] * 2
    small = Held(most_bytes=100_000)
    for _ in range(3):
        small.keep(pd.DataFrame({"a": np.zeros(6_000)}))
    assert (len(small), small.size <= 100_000) == (2, True)
    texts = Held(most_bytes=100_000)
    texts.keep(pd.DataFrame({"a": pd.Series(["x" * 1000] * 1000, dtype=object)}))
    assert len(texts) == 0


def test_two_runs_are_compared(funcs: Any, view: HistoryView) -> None:
    """Arguments, joined rows with delta and percent, sums by category, both lines, and the code of the same."""
    before, after = numbers(funcs, funcs.sales(), funcs.sales(factor=2.0))
    shown = view.compare(before, after)
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
    assert shown["args"] == [{"name": "Factor", "before": "", "after": "2.0"}]
    assert (
        shown["said"] == "120 in both, of 120 rows of no Factor and 120 of Factor 2.0."
    )
    names = [column["name"] for column in shown["columns"]]
    assert names[:3] == ["Where", "Date", "Shop"]
    assert names[3:] == [
        f"Sales ({which})" for which in ("no Factor", "Factor 2.0", "delta", "percent")
    ]
    assert (len(shown["rows"]), shown["total"]) == (50, 120)
    assert shown["rows"][0][:3] == ["in both", "2024-01-01", "North"]
    assert view.compare(before, after, 100)["rows"][-1][1] == "2024-02-29"
    assert shown["totals"]["rows"] == [
        ["South", 12000.0, 24000.0],
        ["North", 6000.0, 12000.0],
    ]
    lines = [(line["name"], line["colour"]) for line in shown["chart"]["series"]]
    assert lines == [("no Factor", 0), ("Factor 2.0", 1)]
    assert len(shown["chart"]["x"]["values"]) == len(
        shown["chart"]["series"][0]["values"]
    )
    assert shown["code"].startswith("import jupyter_funcs as jf\n\njf.diff(")
    assert view.compare(after, before)["args"][0]["before"] == "2.0"


def test_a_result_that_the_notebook_changed_is_compared_as_it_came(
    funcs: Any, view: HistoryView
) -> None:
    """The code takes it from the history, because the variable has other values now."""
    with interactive_shell() as shell:
        shell.push({"mine": funcs.sales(), "double": funcs.sales(factor=2.0)})
        before, after = numbers(funcs)
        same = view.compare(before, after)
        assert "jf.diff(mine, double, names=(" in same["code"]
        shell.run_cell("mine['Sales'] = 0.0; mine['Extra'] = 1")
        changed = HistoryView(funcs, Held()).compare(before, after)
        assert f".history.get({before}).frame, double, names=(" in changed["code"]
        assert changed | {"code": ""} == same | {"code": ""}


def test_what_is_no_longer_in_memory_is_run_again(
    funcs: Any, view: HistoryView
) -> None:
    """Only on request; else the reply says which runs are gone."""
    funcs.sales()
    before, after = numbers(funcs, funcs.sales(factor=2.0))
    # A thread of the run may still be finishing.
    wait_until(lambda: funcs.history.get(before).in_memory is None)
    shown = view.compare(before, after)
    assert (shown["gone"], shown["rows"]) == ([str(before)], [])
    assert shown["said"] == f"No longer in memory: the result of run {before}."
    assert len(funcs.history.runs) == 2
    again = view.compare(before, after, again=True)
    assert (again["gone"], again["total"]) == ([], 120)


def test_runs_of_two_functions_name_what_they_share(
    funcs: Any, view: HistoryView
) -> None:
    """They are joined by common columns if these identify the rows; else one sentence says why not."""
    shown = view.compare(
        *numbers(funcs, funcs.sales(region="North"), funcs.stock(region="North"))
    )
    assert shown["same"] == "Region North"
    assert shown["said"].startswith(
        "Sales and Stock share Shop. Shop does not identify the rows of the first result"
    )
    assert (shown["columns"], shown["chart"]) == ([], None)


def pair(funcs: Any, before: pd.DataFrame, after: pd.DataFrame) -> tuple[int, int]:
    """Run a function whose results are these, and return the numbers of the runs."""
    RESULTS[:] = [before, after]
    return numbers(funcs, funcs.prepared(), funcs.prepared())


ROWS = pd.DataFrame({"Key": ["a", "b"], "N": [1, 2]})


@pytest.mark.parametrize(
    ("before", "after", "text", "columns"),
    [
        (ROWS, ROWS, "No difference, of 2 rows before and 2 after.", ["Change", "Key"]),
        (
            ROWS,
            ROWS.iloc[:0],
            "2 removed, of 2 rows before and 0 after.",
            ["Change", "Key", "N (before)", "N (after)"],
        ),
        (
            ROWS.iloc[:0],
            ROWS.iloc[:0],
            "No difference, of 0 rows before and 0 after.",
            ["Change", "Key"],
        ),
        (
            ROWS,
            ROWS.assign(M=3.5),
            "No difference, of 2 rows before and 2 after. Only after, so not compared: M.",
            ["Change", "Key"],
        ),
        (
            ROWS.assign(M=3.5, L=1),
            ROWS,
            "No difference, of 2 rows before and 2 after. Only before, so not compared: M and L.",
            ["Change"],
        ),
        (
            ROWS,
            ROWS.assign(N=["x", "y"]),
            "2 changed, of 2 rows before and 2 after.",
            ["Change", "Key"],
        ),
        (
            ROWS.assign(T=["x", None]),
            ROWS.assign(T=["x", "z"]),
            "2 rows before and 2 after.",
            ["Change", "Key"],
        ),
        (ROWS[["N"]], ROWS[["N"]] + 1, "Nothing identifies the rows", []),
        (
            ROWS.assign(Key="a"),
            ROWS,
            "Key does not identify the rows of the first result",
            [],
        ),
        (
            ROWS,
            ROWS.rename(columns={"Key": "K", "N": "M"}),
            "Nothing identifies the rows",
            [],
        ),
        (ROWS.set_axis(["A", "A"], axis=1), ROWS, "has two columns named 'A'", []),
        (
            ROWS.assign(Key=[[1], [2]]),
            ROWS.assign(Key=[[1], [3]]),
            "Nothing identifies the rows",
            [],
        ),
        (pd.DataFrame(), pd.DataFrame(), "Nothing identifies the rows", []),
    ],
    ids=[
        "equal",
        "emptied",
        "empty",
        "column",
        "columns",
        "types",
        "text",
        "no key",
        "doubled",
        "others",
        "names",
        "lists",
        "none",
    ],
)
def test_results_of_any_shape_are_compared(
    funcs: Any,
    view: HistoryView,
    before: pd.DataFrame,
    after: pd.DataFrame,
    text: str,
    columns: list[str],
) -> None:
    """Other columns, other types, no rows, and rows that nothing tells apart; a reason says what a cell can do."""
    shown = view.compare(*pair(funcs, before, after))
    json.dumps(shown, allow_nan=False)
    assert text in shown["said"]
    assert [column["name"] for column in shown["columns"]][: len(columns)] == columns
    assert shown["gone"] == []
    if not columns:
        assert "jf.diff takes keys=[…]" in shown["said"]


def quarters(
    symbol: str, region: str = "all", shown: str = "Yes", start: str = ""
) -> pd.DataFrame:
    """Spend of a company by quarter."""
    factor = len(region) * len(symbol[:1]) * ord(symbol[0])
    labels = (
        ["FQ1 2021", "FQ2 2021", "FQ1 2022"]
        if symbol[:1] == "B"
        else ["FQ1 2021", "FQ1 2022", "FQ2 2022"]
    )
    spend = [factor * 1.5, factor * 2.5, factor * 2.0]
    company = {"Symbol": symbol, "Name": f"{symbol} Inc."}
    return pd.DataFrame(
        {**company, "PeriodLabel": labels, "Region": region, "Spend": spend}
    )


BVQS = {"symbol": "BVQS"}


@pytest.mark.parametrize(
    ("before", "after", "sides"),
    [
        (BVQS, {"symbol": "MCHQ"}, ("BVQS", "MCHQ")),
        (BVQS, {"symbol": "MCHQ", "region": "East"}, ("BVQS, no Region", "MCHQ, East")),
        (BVQS | {"shown": "Yes"}, BVQS | {"shown": "No"}, ("Shown Yes", "Shown No")),
        (BVQS, BVQS | {"start": "2022-01-01"}, ("no Start", "Start 2022-01-01")),
        (BVQS | {"start": ""}, BVQS, ("Start empty text", "no Start")),
        (BVQS, BVQS | {"region": "delta"}, ("run 1", "run 2")),
        ({"symbol": "B" * 50}, {"symbol": "B" * 51}, ("run 1", "run 2")),
        (BVQS, BVQS, ("Before", "After")),
    ],
)
def test_runs_are_called_by_what_differs(
    before: dict[str, str], after: dict[str, str], sides: tuple[str, str]
) -> None:
    """By the values that are names, else with the label; only two times of the same run are Before and After."""
    funcs = jf.connect([quarters])
    frames = [funcs.quarters(**values) for values in (before, after)]
    view = HistoryView(funcs, Held())
    first, second = (run.number for run in funcs.history.runs)
    shown = view.compare(first, second)
    if sides[0] == "run 1":
        sides = (f"run {first}", f"run {second}")
    assert (tuple(shown["sides"]), shown["neutral"]) == (sides, before != after)
    assert json.loads(json.dumps(shown)) == json.loads(
        json.dumps(view.compare(first, second))
    )
    del frames


def test_two_companies_are_joined_by_what_they_share() -> None:
    """Not by symbols and names, nor by other columns that have one value in each; the code returns the same rows."""
    funcs = jf.connect([quarters])
    with interactive_shell() as shell:
        shell.push(
            {symbol: funcs.quarters(symbol=symbol) for symbol in ("BVQS", "MCHQ")}
        )
        shown = HistoryView(funcs, Held()).compare(
            *(run.number for run in funcs.history.runs)
        )
        shell.run_cell(shown["code"].replace("jf.diff", "changes = jf.diff"))
        changes = shell.user_ns["changes"]
    names = [
        "Where",
        "PeriodLabel",
        "Region",
        *(f"Spend ({name})" for name in ("BVQS", "MCHQ", "delta", "percent")),
    ]
    assert (
        [column["name"] for column in shown["columns"]] == names == [*changes.columns]
    )
    joined = [
        ["in both", "FQ1 2021"],
        ["in both", "FQ1 2022"],
        ["only in MCHQ", "FQ2 2022"],
        ["only in BVQS", "FQ2 2021"],
    ]
    assert (
        [row[:2] for row in shown["rows"]]
        == joined
        == changes.iloc[:, :2].to_numpy().tolist()
    )
    assert (
        shown["said"]
        == "2 in both, 1 only in MCHQ and 1 only in BVQS, of 3 rows of BVQS and 3 of MCHQ."
    )
    assert shown["chart"]["x"]["labels"] == [
        "FQ1 2021",
        "FQ2 2021",
        "FQ1 2022",
        "FQ2 2022",
    ]
    assert '.drop(columns=["Symbol", "Name"])' in shown["code"]


def test_totals_and_lines_are_of_the_same_steps_and_measures(
    funcs: Any, view: HistoryView
) -> None:
    """Results of other lengths share their points, each with its own values; single rows are left to the table."""
    shown = view.compare(*pair(funcs, sales(), sales(factor=2.0).iloc[:40]))
    before, after = (line["values"] for line in shown["chart"]["series"])
    assert (len(before), before[0], after[0], after[-1]) == (60, 300.0, 600.0, None)
    assert shown["totals"]["rows"] == [
        ["South", 12000.0, 8000.0],
        ["North", 6000.0, 4000.0],
    ]
    row = pd.DataFrame({"Low": [3.0], "High": [5.0]})
    shown = view.compare(*pair(funcs, row, row * 2))
    assert (shown["totals"], shown["chart"]) == (None, None)


def test_fiscal_quarters_of_two_companies_are_compared_as_lines(
    funcs: Any, view: HistoryView
) -> None:
    """Their days are said to differ; a flag is no category, and bars of the same quarters would say nothing new."""
    demo = jf.connect()
    frames = [
        demo.get_panel_fq(PanelName=PANEL, Symbol=symbol)
        for symbol in ("NVRA US EQUITY", "BKQU US EQUITY")
    ]
    numbers = [run.number for run in demo.history.runs][-2:]
    shown = HistoryView(demo, Held()).compare(*numbers)
    assert shown["chart"]["notes"] == [
        "Fiscal quarters of companies end on different days."
    ]
    assert shown["totals"] is None
    both = pd.concat(
        [
            frame.assign(Symbol=symbol)
            for frame, symbol in zip(frames, "NB", strict=True)
        ]
    )
    twice = view.compare(*pair(funcs, both, both.iloc[1:]))
    assert twice["chart"]["notes"].count(shown["chart"]["notes"][0]) == 1


def test_a_run_without_a_result_is_said_to_have_none(
    funcs: Any, view: HistoryView
) -> None:
    """A run that failed is not called gone, and isn't offered to be run again; its row says why it failed."""
    KEPT.append(funcs.sales())
    with pytest.raises(jf.FuncsError):
        funcs.broken()
    done, failed = numbers(funcs)
    shown = view.compare(done, failed, again=True)
    assert (shown["said"], shown["gone"]) == (
        f"Run {failed} has no result: failed.",
        [],
    )
    assert (
        view.compare(failed, failed)["said"] == f"Run {failed} has no result: failed."
    )
    [row, _] = view.rows(earlier=False)
    assert (row["status"], row["held"], row["rows"]) == ("failed", False, None)
    assert "no stock today" in row["error"]
    assert len(funcs.history.runs) == 2


def test_a_sweep_is_run_again_without_a_question_or_a_bar(
    funcs: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """However many runs it has, since the user asked for them. Nothing is printed."""
    results = Held()
    view = HistoryView(funcs, results)
    few = funcs["Sales"].with_options(most_runs=5, progress=False, cache=False)
    few.sweep(factor=[1.0, 2.0, 3.0])
    shown = view.compare(*numbers(funcs, few.sweep(factor=[1.0, 2.0, 4.0])), again=True)
    before = "Factor 1.0, 2.0, 3.0"
    after = "Factor 1.0, 2.0, 4.0"
    rows = f"120 only in {after} and 120 only in {before}"
    assert shown["said"] == f"{rows}, of 360 rows of {before} and 360 of {after}."
    assert (len(results), capsys.readouterr().out) == (1, "")


def test_a_result_that_is_too_large_lets_go_of_no_other() -> None:
    """A result that exceeds the bound alone isn't kept; Arrow text is counted once."""
    results = Held(most_bytes=100_000)
    results.keep(small := pd.DataFrame({"a": np.zeros(1_000)}))
    results.keep(pd.DataFrame({"a": np.zeros(100_000)}))
    results.keep(small)
    assert (len(results), results.size) == (1, 8_132)
    text = pd.DataFrame({"a": pd.Series(["x" * 100] * 500, dtype="string[pyarrow]")})
    results.keep(text)
    assert results.size < 8_132 + 60_000


def test_runs_of_earlier_kernels_are_below_those_of_this_one(
    funcs: Any, view: HistoryView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the history is saved, they are named by kernel and run, and can be run again to be compared."""
    monkeypatch.setenv("FUNCS_HISTORY", str(tmp_path / "history.sqlite"))
    funcs.history.save(on=True)
    funcs.sales(factor=2.0)
    wait_until(lambda: [run.status for run in funcs.history.runs] == ["done"])
    funcs.history.save(on=True)  # waits until all is written
    funcs.history._log.runs.clear()
    funcs.history._log.key = "another kernel"
    KEPT.append(funcs.sales(factor=4.0))
    [now, then] = view.rows()
    assert [row["number"] for row in view.rows(earlier=False)] == [now["number"]]
    assert "/" in then["number"]
    assert (then["differs"], then["held"]) == (
        [{"name": "Factor", "value": "2.0"}],
        False,
    )
    assert view.compare(then["number"], now["number"])["gone"] == [then["number"]]
    assert view.compare(then["number"], now["number"], again=True)["said"].startswith(
        "120 in both"
    )


def test_thousands_of_runs_are_listed_in_linear_time(
    funcs: Any, view: HistoryView
) -> None:
    """The view has the 200 newest."""
    funcs.stock()
    [run] = funcs.history.runs
    runs = [dataclasses.replace(run, number=number) for number in range(1, 10_001)]

    def show(number: int) -> None:
        funcs.history._log.runs[:] = runs[:number]
        rows = view.rows(earlier=False)
        assert (len(rows), rows[0]["number"]) == (200, number)

    assert_linear(show, 2500, start=500)
    show(10_000)


def test_what_cannot_be_compared_is_said(funcs: Any, view: HistoryView) -> None:
    """The same result, equal results, and runs that aren't there."""
    before, after = numbers(funcs, funcs.sales(), funcs.sales())
    assert (
        view.compare(before, after)["said"]
        == "No difference, of 120 rows before and 120 after."
    )
    assert view.compare(after, after)["said"] == "Both runs have the same result."
    with pytest.raises(jf.NotFoundError, match="no run '99999'"):
        view.compare(before, 99_999)
    with pytest.raises(jf.ArgumentError):
        view.compare(before, after, 1000)

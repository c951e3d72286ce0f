"""Pivots and computed columns are tables like any other, and equal what their code computes with pandas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.frames.roles import read
from jupyter_funcs.panel.chart_view import CALENDARS_DIFFER
from jupyter_funcs.panel.requests import Computed, OneOf, Pivot, Range, Sort, TableQuery
from jupyter_funcs.panel.table import TableView
from tests.panel.test_table import run

ALL = TableQuery()
QUARTERS = [f"FQ{quarter} {year}" for year in (2023, 2024) for quarter in (1, 2, 3, 4)]
HOWS = ["sum", "mean", "count", "share", "first", "last"]


def drawn(seed: int) -> pd.DataFrame:
    """Return a frame with keys of several types, empty cells among them, and measures."""
    draw = np.random.default_rng(seed)
    rows = int(draw.integers(1, 60))

    def some(values: list[Any]) -> Any:
        return pd.Series(
            draw.choice(np.array([*values, None], dtype=object), rows)
        ).infer_objects()

    return pd.DataFrame(
        {
            "Region": some(["South", "North", "É"]).astype("str"),
            "Quarter": some(QUARTERS).astype("str"),
            "Day": pd.to_datetime(some(["2024-01-02", "2023-12-31", "2024-02-03"])),
            "Flag": draw.choice([True, False], rows),
            "Class": some(["b", "a"]).astype("category"),
            "Spend": pd.Series(draw.normal(100, 50, rows)).mask(
                draw.random(rows) < 0.2
            ),
            "Orders": draw.integers(1, 9, rows),
            "Growth": draw.normal(0, 0.1, rows),
            "name": some(["x", "y"]).astype("str"),
        }
    )


def by_pandas(frame: pd.DataFrame, wish: Pivot) -> pd.DataFrame:
    """Return the pivot that a person would write."""
    rows = list(wish.rows)
    columns = wish.columns
    measure = wish.measure
    keys = [*rows, *([columns] if columns else [])]
    if columns == "Day":
        frame = frame.assign(Day=frame["Day"].dt.strftime("%Y-%m-%d"))
    groups = frame.groupby(keys, dropna=False, observed=True)[measure]
    values: Any = groups.sum(min_count=1) if wish.how in {"sum", "share"} else None
    values = groups.agg(wish.how) if values is None else values
    table = values.unstack() if columns else values.to_frame()  # noqa: PD010
    return table / table.sum() if wish.how == "share" else table


def cells(frame: pd.DataFrame, keys: int) -> dict[tuple[str, ...], float]:
    """Return the numbers by the texts of their rows and columns, whatever the order."""
    texts = {}
    for row in frame.itertuples(index=False):
        for name, value in zip(frame.columns[keys:], row[keys:], strict=True):
            if not pd.isna(value):
                texts[(*map(str, row[:keys]), str(name))] = float(value)
    return texts


@pytest.mark.parametrize(
    "seed",
    [
        *range(10),
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(10, 50)),
    ],
)
def test_a_pivot_is_that_of_pandas_and_of_its_code(seed: int) -> None:
    """On frames, keys, measures and functions of all kinds; the rows are also in the order of the code's."""
    frame = drawn(seed)
    draw = np.random.default_rng(seed)
    keys = list(draw.permutation(["Region", "Quarter", "Day", "Flag", "Class", "name"]))
    count = int(draw.integers(1, 4))
    columns = str(keys[-1]) if draw.random() < 0.7 else ""
    measure = str(draw.choice(["Spend", "Orders", "Growth"]))
    how = str(draw.choice(HOWS))
    how = "mean" if measure == "Growth" and how in {"sum", "share"} else how
    wish = Pivot([str(key) for key in keys[:count]], columns, measure, how)  # type: ignore[arg-type]
    table = TableView(frame).made([wish])
    shown = table.frame(ALL)

    wanted = by_pandas(frame, wish).reset_index(allow_duplicates=True)
    if not columns:
        wanted = wanted.set_axis(list(shown.columns), axis=1)
    assert cells(shown, count) == pytest.approx(cells(wanted, count))
    computed = run(table.code(ALL, "df"), frame)
    pd.testing.assert_frame_equal(computed, shown, check_names=False)
    table.chart.view()


SALES = pd.DataFrame(
    {
        "Symbol": ["B", "A", "B", "A", "A"],
        "PeriodLabel": ["FQ1 2024", "FQ1 2024", "FQ4 2023", "FQ4 2023", "FQ4 2023"],
        "Spend": [10.0, 30.0, 20.0, 6.0, 4.0],
        "Transactions": [2, 3, 4, 0, 2],
        "Spend per Transaction": [5.0, 10.0, 5.0, None, 2.0],
        "Spend Growth": [0.1, 0.2, 0.3, 0.4, 0.5],
    }
)


def pivoted(**wish: Any) -> tuple[dict[str, Any], list[list[str | None]]]:
    shape = TableView(SALES).made([Pivot(**wish)]).shape()
    return shape["pivot"], shape["table"]["page"]["rows"]


def test_a_pivot_is_chosen_by_the_roles_of_the_columns() -> None:
    """A few periods in rows and in their order, names in columns, and the sum of the first measure that adds up."""
    chosen, rows = pivoted()
    assert (chosen["rows"], chosen["columns"]) == (["PeriodLabel"], "Symbol")
    assert (chosen["measure"], chosen["how"]) == ("Spend", "sum")
    assert rows == [["FQ4 2023", "10.00", "20.00"], ["FQ1 2024", "30.00", "10.00"]]
    shape = TableView(SALES).made([Pivot()]).shape()
    assert [column["name"] for column in shape["table"]["columns"]] == [
        "PeriodLabel",
        "A",
        "B",
    ]
    assert shape["table"]["page"]["sums"] == {"1": "40.00", "2": "30.00"}


PERIODS = pd.DataFrame(
    {
        "PeriodLabel": ["FQ1 2024", "FQ2 2024", "FQ3 2024"],
        "PeriodStartDate": pd.to_datetime(["2024-01-01", "2024-04-01", "2024-07-01"]),
        "PeriodEndDate": pd.to_datetime(["2024-03-31", "2024-06-30", "2024-09-30"]),
        "IsCurrentQuarter": [False, False, True],
        "Symbol": ["A", "A", "A"],
        "Spend": [1.0, 2.0, 3.0],
    }
)


@pytest.mark.parametrize(
    ("frame", "rows", "across"),
    [
        pytest.param(PERIODS, "PeriodLabel", "", id="one company"),
        pytest.param(
            PERIODS.assign(Symbol=list("ABC")), "PeriodLabel", "Symbol", id="several"
        ),
        pytest.param(
            PERIODS.drop(columns=["PeriodLabel"]),
            "PeriodStartDate",
            "",
            id="dates alone",
        ),
        pytest.param(
            PERIODS[["IsCurrentQuarter", "Symbol", "Spend"]],
            "IsCurrentQuarter",
            "",
            id="nothing else",
        ),
        pytest.param(
            pd.DataFrame(
                {
                    "Day": pd.date_range("2024", periods=30),
                    "Region": list("abc") * 10,
                    "Spend": 1.0,
                }
            ),
            "Region",
            "",
            id="many days",
        ),
    ],
)
def test_a_pivot_begins_with_one_time_and_what_varies_beside_it(
    frame: pd.DataFrame, rows: str, across: str
) -> None:
    """Never a flag or a constant if there are others, nor a second time, which only makes a diagonal."""
    chosen = TableView(frame).made([Pivot()]).shape()["pivot"]
    assert (chosen["rows"], chosen["columns"]) == ([rows], across)


@pytest.mark.parametrize(
    ("expression", "adds_up"),
    [
        ("Spend / Transactions", False),
        ("Spend / Transactions * 100", False),
        ("share(Spend) * 100", False),
        ("change(Spend)", False),
        ("rolling(Spend, 2)", False),
        ("log(Spend)", False),
        ("Spend > 5", False),
        ("`Spend Growth` * 100", False),
        ("Spend - Transactions", True),
        ("-abs(Spend) / 1000", True),
        ("Transactions * `Spend per Transaction`", True),
    ],
)
def test_what_is_computed_is_summed_only_if_it_adds_up(
    expression: str, adds_up: bool
) -> None:
    """Below the table, in a pivot and in a chart, whatever its name; a ratio of sums remains a ratio of sums."""
    table = TableView(SALES).made([Computed("ticket", expression)])
    at = len(SALES.columns)
    assert (str(at) in table.shape()["table"]["page"]["sums"]) is adds_up
    shape = table.made([Pivot(["Symbol"], "", "ticket")]).shape()
    assert ("sum" in shape["pivot"]["hows"]) is adds_up
    if expression == "Spend / Transactions":
        assert shape["pivot"]["how"] == "ratio"
    drawn = {column.name: column.additive for column in read(table.flat, "", 20)}
    assert drawn["ticket"] is adds_up


def test_a_period_and_its_part_are_not_counted_twice() -> None:
    """Rows to date are left out beside whole periods, with a note, unless the pivot separates them."""
    frame = pd.DataFrame(
        {"Symbol": ["A", "A"], "PeriodToDate": [False, True], "Spend": [7, 3]}
    )
    table = TableView(frame)
    shape = table.made([Pivot(["Symbol"], "")]).shape()
    assert shape["table"]["page"]["rows"] == [["A", "7"]]
    assert "PeriodToDate rows are left out." in shape["pivot"]["note"]
    code = table.made([Pivot(["Symbol"], "")]).code(ALL, "df")
    assert run(code, frame)["Spend"].tolist() == [7]
    both = table.made([Pivot(["Symbol", "PeriodToDate"], "")]).shape()["table"]["page"][
        "rows"
    ]
    assert both == [["A", "False", "7"], ["A", "True", "3"]]
    only = TableQuery(filters=[OneOf(1, ["True"])])
    rows = table.made([Pivot(["Symbol"], "", of=only)]).shape()["table"]["page"]["rows"]
    assert rows == [["A", "3"]]


@pytest.mark.parametrize(
    ("end", "filters", "is_said"),
    [
        ("2024-04-30", [], True),
        ("2024-03-31", [], False),
        ("2024-04-30", [OneOf(0, ["A"])], False),
    ],
)
def test_quarters_of_one_name_that_are_of_other_days_are_said_to_be(
    end: str, filters: list[OneOf], is_said: bool
) -> None:
    """If the pivot groups companies by that name, among its own rows."""
    frame = pd.DataFrame(
        {
            "Symbol": ["A", "B"],
            "PeriodLabel": ["FQ1 2024", "FQ1 2024"],
            "PeriodEndDate": pd.to_datetime(["2024-03-31", end]),
            "Spend": [7, 3],
        }
    )

    def note(rows: str) -> str:
        wish = Pivot([rows], "", "Spend", of=TableQuery(filters=[*filters]))
        return str(TableView(frame).made([wish]).shape()["pivot"]["note"])

    assert (CALENDARS_DIFFER in note("PeriodLabel")) is is_said
    assert CALENDARS_DIFFER not in note("Symbol")


@pytest.mark.parametrize(
    ("measure", "how", "hows", "cells"),
    [
        (
            "Spend Growth",
            "mean",
            ["mean", "count", "first", "last"],
            ["+45.0%", "+20.0%"],
        ),
        (
            "Spend per Transaction",
            "ratio",
            ["ratio", "mean", "count", "first", "last"],
            ["5.00", "10.00"],
        ),
        ("", "count", ["count"], ["2", "1"]),
    ],
)
def test_what_does_not_add_up_is_never_added(
    measure: str, how: str, hows: list[str], cells: list[str]
) -> None:
    """A ratio whose parts are in the frame is computed from their sums; growth is averaged. Neither has totals."""
    chosen, rows = pivoted(
        rows=["Symbol"], columns="PeriodLabel", measure=measure, how="sum"
    )
    assert (chosen["how"], chosen["hows"]) == (how, hows)
    assert rows[0] == ["A", *cells]
    shape = TableView(SALES).made([Pivot(measure=measure)]).shape()
    assert bool(shape["table"]["page"]["sums"]) is (measure == "")


def test_a_pivot_is_of_the_filtered_rows_and_is_filtered_and_sorted_itself() -> None:
    """The code has all steps, in order."""
    only = OneOf(0, ["A"])
    wish = Pivot(
        ["PeriodLabel"], "", "Transactions", "sum", of=TableQuery(filters=[only])
    )
    query = TableQuery([Sort(1, descending=True)], [Range(1, "3", "")])
    table = TableView(SALES).made([wish])
    assert table.page(query, 0, 9, [0, 1])["rows"] == [["FQ1 2024", "3"]]
    pd.testing.assert_frame_equal(
        run(table.code(query, "df"), SALES).astype({"PeriodLabel": "str"}),
        table.frame(query).astype({"PeriodLabel": "str"}),
    )
    chart = TableView(SALES).made([Pivot()]).chart.view()
    assert {line["name"]: line["values"] for line in chart["series"]} == {
        "A": [10, 30],
        "B": [20, 10],
    }


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("Spend / Transactions", [5.0, 10.0, 5.0, None, 2.0]),
        ("Spend ÷ `Transactions` × 2 − 1", [9.0, 19.0, 9.0, None, 3.0]),
        ("-(Spend - `Spend per Transaction`)", [-5.0, -20.0, -15.0, None, -2.0]),
        ("share(Spend)", [1 / 7, 3 / 7, 2 / 7, 6 / 70, 4 / 70]),
        ("share(Spend, PeriodLabel)", [0.25, 0.75, 2 / 3, 0.2, 4 / 30]),
        ("change(Spend)", [None, 2.0, -1 / 3, -0.7, -1 / 3]),
        ("change(Spend, 1, Symbol)", [None, None, 1.0, -0.8, -1 / 3]),
        ("rolling(Spend, 2)", [None, 20.0, 25.0, 13.0, 5.0]),
        ("rolling(Spend + 0, 2, Symbol)", [None, None, 15.0, 18.0, 5.0]),
        ("abs(Spend - 10) / 2", [0.0, 10.0, 5.0, 2.0, 3.0]),
        ("log(Transactions - 3)", [None, None, 0.0, None, None]),
        ("(Spend > 6) * 1", [1.0, 1.0, 1.0, 0.0, 0.0]),
    ],
)
def test_a_computed_column_has_the_values_of_its_expression(
    expression: str, values: list[float | None]
) -> None:
    """In the table, and by the code; dividing by zero gives an empty cell."""
    table = TableView(SALES).made([Computed("New one", expression)])
    for frame in (table.frame(ALL), run(table.code(ALL, "df"), SALES)):
        new = [None if pd.isna(value) else value for value in frame["New one"]]
        assert new == [
            value if value is None else pytest.approx(value) for value in values
        ]


def test_steps_follow_each_other() -> None:
    """A pivot sums a computed column, and its own columns can be computed with."""
    steps = [
        Computed("Double Spend", "Spend * 2"),
        Pivot(
            ["Symbol"],
            None,
            "Double Spend",
            of=TableQuery(filters=[Range(6, "10", "")]),
        ),
        Computed("Growth", "`FQ1 2024` / `FQ4 2023` - 1"),
    ]
    table = TableView(SALES).made(steps)
    assert table.page(ALL, 0, 9, range(4))["rows"] == [
        ["A", "12", "60", "+400.0%"],
        ["B", "40", "20", "−50.0%"],
    ]
    exact = run(table.code(ALL, "panel_fq").replace("panel_fq", "df"), SALES)
    pd.testing.assert_frame_equal(exact, table.frame(ALL), check_names=False)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("Spnd * 2", "The table has no column 'Spnd'.\nDid you mean 'Spend'?"),
        ("1 + 2", "The expression names no column."),
        ("Spend / 0", "The expression divides by zero."),
        ("Symbol + 1", "'Symbol' holds no numbers."),
        ("__import__('os')", "This isn't an expression"),
        ("open(Spend)", "'open' can't be called here."),
        ("Spend.sum()", "This isn't an expression"),
        ("Spend[0]", "This isn't an expression"),
        ("[x for x in Spend]", "This isn't an expression"),
        ("lambda: Spend", "This isn't an expression"),
        ("Spend ** 9", "This isn't an expression"),
        ("Spend if Spend else 1", "This isn't an expression"),
        ("rolling(Spend, 0)", "rolling looks back 1 row or more, not 0."),
        ("share(Spend, 'x')", "share takes columns after its values."),
        ("'a'", "This isn't an expression"),
        ("Spend +", "This isn't an expression"),
        ("", "This isn't an expression"),
        ("(" * 900, "This isn't an expression"),
        ("-" * 900 + "Spend", ""),
        ("Spend\0", "This isn't an expression"),
        ("(Spend > 1) - (Spend > 2)", "This isn't an expression"),
        ("9" * 900 + " * Spend", ""),
    ],
)
def test_what_an_expression_may_not_be_is_said(expression: str, message: str) -> None:
    """Only columns, numbers, operators and five functions are allowed."""
    try:
        TableView(SALES).made([Computed("x", expression)])
    except ArgumentError as error:
        assert message in "\n".join(error.lines)  # noqa: PT017
        return
    assert not message


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Computed("Spend", "Spend"), "There is a column 'Spend'."),
        (Computed(" ", "Spend"), "The column has no name."),
        (Pivot(["Regio"]), "The table has no column 'Regio'."),
        (Pivot(measure="Other"), "The table has no column 'Other'."),
    ],
)
def test_a_step_that_cannot_be_is_refused(step: Any, message: str) -> None:
    """The error names the column that exists already, or that doesn't exist."""
    with pytest.raises(ArgumentError, match=message):
        TableView(SALES).made([step])


def test_too_many_values_are_no_columns() -> None:
    """Nor is a frame without categories grouped."""
    many = pd.DataFrame(
        {"a": [f"v{at}" for at in range(300)], "b": ["x"] * 300, "n": range(300)}
    )
    with pytest.raises(ArgumentError, match="'a' has 300 values"):
        TableView(many).made([Pivot(["b"], "a")])
    with pytest.raises(ArgumentError, match="There is nothing to group by"):
        TableView(many[["n"]]).made([Pivot()])

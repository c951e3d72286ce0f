"""The chart of the panel: it draws what its code computes, and its notes are true."""

from __future__ import annotations

import datetime as dt
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.panel import chart_svg
from jupyter_funcs.panel.chart_plan import POINTS_OF_A_LINE
from jupyter_funcs.panel.chart_svg import svg
from jupyter_funcs.panel.chart_view import Chart
from jupyter_funcs.panel.requests import (
    ChartPoints,
    ChartWish,
    OneOf,
    Range,
    TableQuery,
    read,
)
from jupyter_funcs.panel.table import TableView
from tests.growth import assert_linear

if TYPE_CHECKING:
    from collections.abc import Callable

    View = dict[str, Any]

DAYS = pd.date_range("2023-01-02", periods=730)  # from a Monday


def daily(
    regions: int = 3, days: pd.DatetimeIndex = DAYS, seed: int = 1
) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    rows = [(day, f"R{region}") for day in days for region in range(regions)]
    frame = pd.DataFrame(rows, columns=["Date", "Region"])
    size = 1.0 / (1 + frame["Region"].str[1:].astype(int))
    frame["Spend"] = (random.uniform(900, 1100, len(frame)) * size).round(2)
    frame["Share"] = random.uniform(0, 1, len(frame))
    frame["Cards"] = random.integers(0, 50, len(frame))
    return frame


def drawn(view: View) -> Any:
    return np.array([line["values"] for line in view["series"]], dtype=float).T


def choice(view: View, name: str) -> dict[str, bool]:
    """The values of a choice, and whether each can be chosen."""
    setting = next(setting for setting in view["choices"] if setting["name"] == name)
    return {
        option["value"]: not option.get("disabled") for option in setting["options"]
    }


def table_of(code: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Run the code of a chart as far as the table of its points."""
    names: dict[str, Any] = {"df": frame, "np": np}
    lines = code.removeprefix("import matplotlib.pyplot as plt").partition("\nax =")[0]
    lines = lines.partition("\nfigure,")[0].partition("\nplt.")[0]
    exec(compile(lines, "a chart's", "exec"), names)
    table: pd.DataFrame = names["table"]
    return table


def generated(seed: int) -> tuple[pd.DataFrame, ChartWish]:
    """A frame of any shape that a function may return, with every pair of points and show that a user may choose."""
    random = np.random.default_rng(seed)
    times = {
        "days": pd.date_range("2022-03-05", periods=int(random.integers(3, 900))),
        "work days": pd.bdate_range("2022-03-05", periods=int(random.integers(3, 700))),
        "weeks": pd.date_range(
            "2022-03-05", periods=int(random.integers(3, 150)), freq="W"
        ),
        "months": pd.date_range(
            "2018-03-01", periods=int(random.integers(3, 60)), freq="ME"
        ),
        "hours": pd.date_range(
            "2022-03-05 05:00", periods=int(random.integers(3, 2000)), freq="h"
        ),
        "any": pd.Timestamp("2022-01-01")
        + pd.to_timedelta(np.sort(random.integers(0, 40_000_000, 300)), "s"),
        "rows": pd.Index(range(int(random.integers(3, 2000)))).astype(float) + 0.5,
        "quarters": pd.Index(
            [f"FQ{part} {year}" for year in range(2019, 2024) for part in range(1, 5)],
            dtype="string",
        ),
        "names": pd.Index(
            [f"n{number}" for number in range(int(random.integers(2, 80)))]
        ),
    }
    name = str(random.choice([*times]))
    labels = [
        f"line {number}" for number in range(int(random.choice([1, 2, 3, 12, 60])))
    ]
    labels = labels[:1] if name == "rows" else labels
    rows = pd.MultiIndex.from_product(
        [times[name], labels, range(int(random.integers(1, 3)))]
    ).to_frame(index=False)
    frame = pd.DataFrame({"When": rows[0], "Brand": rows[1].astype("string")})
    frame["Spend"] = random.normal(100, 40, len(frame)).round(2)
    frame["Share"] = random.uniform(0, 0.9, len(frame))
    frame["Count"] = random.integers(0, 1000, len(frame))
    for column in ("When", "Brand", "Spend", "Share"):
        if random.random() < 0.3:
            frame.loc[random.random(len(frame)) < 0.1, column] = None
    frame = frame.sample(frac=float(random.uniform(0.5, 1)), random_state=seed)
    wish = ChartWish(
        kind="bar" if seed % 10 == 9 else "line",
        measure=str(random.choice(["Spend", "Share", "Count"])),
        colour="" if random.random() < 0.3 else None,
        points=[None, "day", "week", "month", "quarter", "year", "hour"][seed % 7],
        show=[None, "value", "sum", "average", "index", "growth"][seed % 6],
        all=bool(random.random() < 0.3),
    )
    return frame.reset_index(drop=True), wish


SEEDS = [
    pytest.param(seed, marks=[pytest.mark.slow] * (seed >= 8)) for seed in range(50)
]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_code_computes_the_points_that_are_drawn(seed: int) -> None:
    """On 50 generated frames. Every view is plain JSON."""
    frame, wish = generated(seed)
    zoom = None if seed % 3 else (19_200.0, 19_300.0)
    mask = None if seed % 2 else np.random.default_rng(seed).random(len(frame)) < 0.8
    source = (
        "df"
        if mask is None
        else f"df[np.random.default_rng({seed}).random(len(df)) < 0.8]"
    )
    rows = None if mask is None else np.flatnonzero(mask)
    view = Chart(frame).view(wish, zoom=zoom, rows=rows, source=source)
    assert json.loads(json.dumps(view, allow_nan=False)) == view
    if view["why"]:
        assert not view["series"]
        return
    before = frame.copy()
    table = table_of(view["code"], frame)
    pd.testing.assert_frame_equal(frame, before)
    assert [str(name) for name in table.columns] == [
        line["name"] for line in view["series"]
    ]
    np.testing.assert_allclose(
        table.to_numpy(dtype=float),
        drawn(view),
        rtol=1e-5,
        atol=1e-2 if view["format"] == "money" else 1e-6,
    )
    if view["x"]["type"] == "time":
        shown = pd.to_timedelta(view["x"]["values"], "D") + pd.Timestamp(0)
        assert abs(shown - table.index).max() < pd.Timedelta(seconds=1)
    else:
        assert view["x"]["labels"] == [*map(str, table.index)]
    assert len(table) <= POINTS_OF_A_LINE
    assert table.size <= 24_000 + table.shape[1]


def test_the_default_is_the_finest_line_that_a_reader_can_see() -> None:
    """Two years of days become 105 weekly means, and a note says so; the largest line has the first colour."""
    view = Chart(daily(2), "in EUR").view()
    heading = [view[name] for name in ("kind", "title", "unit", "step")]
    assert heading == ["line", "Spend by region", "EUR a day on average", "week"]
    assert view["notes"] == ["Each point is the mean of the days of a week."]
    assert [(line["name"], line["colour"]) for line in view["series"]] == [
        ("R0", 0),
        ("R1", 1),
    ]
    assert len(view["x"]["values"]) == 105
    assert choice(view, "points") == {
        "day": False,
        "week": True,
        "month": True,
        "quarter": True,
    }
    assert choice(view, "show") == {
        "value": True,
        "sum": True,
        "average": True,
        "index": True,
        "growth": True,
    }
    labels = {
        option["value"]: option["label"]
        for choice in view["choices"][-3:]
        for option in choice["options"]
    }
    assert [labels[value] for value in ("value", "day", "week")] == [
        "Mean per day",
        "Day (zoom in)",
        "Week",
    ]
    assert Chart(daily(1, DAYS[:200])).view()["step"] == "day"


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York", "UTC+05:30"])
@pytest.mark.parametrize("freq", ["60min", "7s", "1234ms"])
def test_times_are_those_of_the_table(unit: Any, zone: str | None, freq: str) -> None:
    """To the millisecond, the unit of a page; a zoom from one point to another shows both."""
    times = pd.date_range("2026-01-01", periods=200, freq=freq, tz=zone).as_unit(unit)
    frame = pd.DataFrame({"At": times, "Load": np.arange(200.0)})
    days = Chart(frame).view()["x"]["values"]
    assert [round(day * 86_400_000) for day in days] == [
        *times.tz_localize(None).as_unit("ms").asi8
    ]
    assert Chart(frame).view(zoom=(days[5], days[8]))["x"]["values"] == days[5:9]


def test_a_zoom_shows_finer_points() -> None:
    """Within a zoom to 100 days each day is a point, and only those days; days can be chosen then."""
    chart = Chart(daily(2))
    first = (DAYS[300] - pd.Timestamp(0)).days
    view = chart.view(zoom=(first, first + 99.0))
    assert view["step"] == "day"
    assert view["x"]["values"] == [*range(first, first + 100)]
    assert choice(view, "points")["day"]
    assert (
        chart.view(ChartWish(points="month"), zoom=(first, first + 99.0))["step"]
        == "month"
    )
    # A zoom to an empty range shows everything.
    assert chart.view(zoom=(0.0, 1.0))["step"] == "week"


@pytest.mark.parametrize(
    ("show", "unit", "shown"),
    [
        ("value", "a day on average", [10.0, 20.0, 30.0]),
        ("sum", "a month", [20.0 * 28, 30.0 * 31]),
        ("index", "first point = 100", [100.0, 150.0]),
    ],
)
def test_an_incomplete_month_is_left_out_of_sums(
    show: str, unit: str, shown: list[float]
) -> None:
    """A mean per day also describes an incomplete month; its sum would look like a fall."""
    days = pd.date_range("2023-01-16", "2023-03-31")
    view = Chart(pd.DataFrame({"Date": days, "Spend": days.month * 10.0})).view(
        ChartWish(points="month", show=show)
    )
    assert (drawn(view)[:, 0].tolist(), view["unit"]) == (shown, unit)
    assert ("Left out, because incomplete: the first month." in view["notes"]) == (
        show != "value"
    )


def test_no_named_period_is_left_out() -> None:
    """Draws 676 weeks, which are more than the points of an axis of times."""
    weeks = [
        f"{year}-W{week:02}" for year in range(2012, 2025) for week in range(1, 53)
    ]
    view = Chart(pd.DataFrame({"Week": weeks, "Spend": np.arange(676.0)})).view()
    assert (view["x"]["labels"], drawn(view)[:, 0].tolist()) == (weeks, [*range(676)])


def test_a_column_with_too_many_values_for_colours_is_named() -> None:
    """Says why it can't be chosen, and how many values can."""
    days = pd.date_range("2025-01-01", periods=3).repeat(1_001)
    frame = pd.DataFrame(
        {"Date": days, "Name": [f"N{at % 1_001}" for at in range(3_003)], "Spend": 1.0}
    )
    assert (
        "The sum over Name (1,001 values; Colour by takes 1,000)."
        in Chart(frame).view()["notes"]
    )


@pytest.mark.parametrize("year", ["0005", "1700", "9000"])
def test_months_of_any_year_are_summed(year: str) -> None:
    """Also outside the range of pandas' nanoseconds."""
    days = np.datetime64(f"{year}-01-01", "us") + np.arange(99) * np.timedelta64(1, "D")
    view = Chart(pd.DataFrame({"Date": days, "Spend": 1.0})).view(
        ChartWish(points="month", show="sum")
    )
    assert drawn(view)[:, 0].tolist() == [31.0, 28.0, 31.0]


def test_growth_compares_with_the_same_day_of_the_week_a_year_before() -> None:
    """Weeks are compared with the one 52 weeks before, months and quarters with those of the year before."""
    frame = pd.DataFrame(
        {"Date": DAYS, "Spend": np.where(DAYS[364] > DAYS, 100.0, 110.0)}
    )
    view = Chart(frame).view(ChartWish(show="growth"))
    assert (view["unit"], view["format"], view["zero"]) == ("%", "percent", True)
    assert drawn(view)[0, 0] == pytest.approx(0.1)
    assert view["x"]["values"][0] == (DAYS[364] - pd.Timestamp(0)).days
    names = [f"FQ{part} {year}" for year in (2023, 2024) for part in (1, 2, 3, 4)]
    quarters = pd.DataFrame({"Period": names, "Spend": [1, 2, 3, 4, 2, 4, 6, 8]})
    view = Chart(quarters).view(ChartWish(show="growth"))
    assert (view["x"]["labels"], drawn(view)[:, 0].tolist()) == (names[4:], [1.0] * 4)


def test_many_lines_are_grey_but_the_largest() -> None:
    """Eight have colours; the others are sent up to 40, and up to 200 on demand, in coarser points."""
    frame = daily(250, DAYS[:100])
    view = Chart(frame).view()
    assert [line["colour"] for line in view["series"]] == [*range(8), *[-1] * 32]
    assert view["hidden"] == 210
    every = Chart(frame).view(ChartWish(all=True))
    assert (len(every["series"]), every["hidden"]) == (200, 50)
    assert min(line["colour"] for line in every["series"]) == 0
    assert len(json.dumps(every)) < 500_000


def test_a_line_keeps_its_colour_under_filters() -> None:
    """The rows of the table after its filters are drawn."""
    frame = daily(12)
    rows = np.flatnonzero(frame["Region"].isin(["R1", "R5", "R11"]))
    chart = Chart(frame)
    view = chart.view(rows=rows)
    assert [(line["name"], line["colour"]) for line in view["series"]] == [
        ("R1", 1),
        ("R5", 5),
        ("R11", 0),
    ]
    assert view["rows"] == len(rows)
    nothing = chart.view(rows=rows[:0])
    assert (nothing["why"], nothing["series"]) == (
        "No row matches the filters of the table.",
        [],
    )
    assert nothing["choices"]


def test_the_code_begins_with_the_filters_of_the_table() -> None:
    """The last line of the filters is the drawn rows; their other lines come before it."""
    frame = daily(4)
    rows = np.flatnonzero(frame["Region"].isin(["R1", "R2"]))
    filters = "chosen = ['R1', 'R2']\ndf[df['Region'].isin(chosen)]"
    view = Chart(frame).view(rows=rows, source=filters)
    np.testing.assert_allclose(
        table_of(view["code"], frame).to_numpy(), drawn(view), atol=0.01
    )


def test_rows_with_labels_are_drawn_as_the_table_shows_them() -> None:
    """Labels of rows and columns without a name of their own can be drawn, filtered and copied."""
    frame = (
        daily(4)
        .set_axis(["Date", "Region", "Spend", "Spend", 5], axis=1)
        .set_index(["Region", "Date"])
    )
    table = TableView(frame)
    query = TableQuery([], [OneOf(0, ["R1", "R2"]), Range(3, "", "0.5")])
    view = Chart(table.flat).view(
        rows=table.positions(query), source=table.code(query, "df")
    )
    assert (view["title"], choice(view, "measure")) == (
        "Spend by region",
        dict.fromkeys(["Spend", "Spend (2)", "5"], True),
    )
    np.testing.assert_allclose(
        table_of(view["code"], frame).to_numpy(), drawn(view), atol=0.01
    )


def test_the_code_is_short() -> None:
    """The code has few lines, and the call that returns the frame appears once."""
    view = Chart(daily(2, DAYS[:60])).view(source="panel.result()")
    assert view["code"].splitlines() == [
        "import matplotlib.pyplot as plt",
        "import pandas as pd",
        "",
        "frame = panel.result()",
        "data = pd.DataFrame({",
        '    "Date": frame["Date"],',
        '    "Region": frame["Region"],',
        '    "Spend": frame["Spend"],',
        "})",
        'lines = ["R0", "R1"]',
        'table = data.pivot_table("Spend", "Date", columns="Region", aggfunc="sum", observed=True)[lines]',
        "ax = table.plot.line(title='Spend by region', figsize=(9, 4), xlabel='', ylabel='')",
        "plt.show()",
    ]


def test_bars_are_sums_by_category() -> None:
    """The largest bar comes first; a share is averaged."""
    frame = daily(3)
    view = Chart(frame).view(ChartWish(kind="bar"))
    assert (view["kind"], view["title"], view["unit"]) == ("bar", "Spend by region", "")
    sums = frame.groupby("Region")["Spend"].sum().sort_values(ascending=False)
    assert (view["x"]["labels"], drawn(view)[:, 0].tolist()) == (
        [*sums.index],
        pytest.approx(sums.tolist()),
    )
    assert (
        Chart(frame).view(ChartWish(kind="bar", measure="Share"))["format"] == "percent"
    )


OF_DAYS = "Each point is the mean of the days of a month."
OF_ROWS = OF_DAYS.replace("the days", "all rows")
COMPUTED = OF_DAYS.replace("Each point is", "Computed from")
COUNTED = "The number of rows over Region."


@pytest.mark.parametrize(
    ("measure", "wish", "unit", "notes"),
    [
        ("Spend", {"kind": "bar"}, "", "The sum of all rows."),
        ("Share", {"kind": "bar"}, "%", "The mean of all rows."),
        ("", {"kind": "bar"}, "", "The number of rows."),
        ("Spend", {}, "a day on average", f"{OF_DAYS} The sum over Region."),
        (
            "Share",
            {},
            "%",
            f"{OF_ROWS} The mean over Region, each row counting the same.",
        ),
        ("", {}, "a day on average", f"{OF_DAYS} {COUNTED}"),
        (
            "Spend",
            {"show": "sum"},
            "a month",
            "Each point is the sum of a month. The sum over Region.",
        ),
        (
            "",
            {"show": "sum"},
            "a month",
            f"Each point is the number of rows of a month. {COUNTED}",
        ),
        (
            "",
            {"show": "average"},
            "a day on average",
            f"Each point is the mean of 7 days. {COUNTED}",
        ),
        ("", {"show": "index"}, "first point = 100", f"{COMPUTED} {COUNTED}"),
        (
            "",
            {"show": "growth"},
            "%",
            f"{COMPUTED} Each month against the one a year before. {COUNTED}",
        ),
    ],
)
def test_it_is_said_what_a_point_is_of_its_rows(
    measure: str, wish: Any, unit: str, notes: str
) -> None:
    """A sum, a mean, or a number of rows where nothing is measured, for each way to show it."""
    frame = daily(3, pd.date_range("2022-01-01", "2023-12-31"))
    frame = frame[["Date", "Region", *([measure] if measure else [])]]
    view = Chart(frame).view(
        ChartWish(
            **{"points": "month", "colour": "Region" if "kind" in wish else "", **wish}
        )
    )
    assert (view["unit"], " ".join(view["notes"])) == (unit, notes)


def test_rows_are_counted_at_irregular_times_too() -> None:
    """A month is the number of its rows, however it is shown: their mean would always be 1."""
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(900) ** 2 * 7, "s")
    for show in ("value", "sum"):
        wish = ChartWish(points="month", colour="", show=show)
        view = Chart(pd.DataFrame({"At": days, "Name": list("ab") * 450})).view(wish)
        assert (drawn(view)[:2, 0].tolist(), view["unit"]) == ([619, 242], "a month")


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (pd.DataFrame(), "The result has no columns: there is nothing to draw."),
        (pd.DataFrame({"a": []}), "The result has no rows: there is nothing to draw."),
        (
            pd.DataFrame({"a": [1], "b": [2]}),
            "The result is one row: a chart of it would show less than the table does.",
        ),
        (
            pd.DataFrame({"Spend": [np.nan, np.nan]}),
            "There is nothing to draw: no column holds measured values or categories.",
        ),
        (
            pd.DataFrame({"a": [[1], {}]}),
            "There is nothing to draw: no column holds measured values or categories.",
        ),
    ],
)
def test_where_there_is_nothing_to_draw_it_is_said(
    frame: pd.DataFrame, why: str
) -> None:
    """One sentence says so, and no code is offered."""
    view = Chart(frame).view()
    assert (view["why"], view["series"], view["code"]) == (why, [], "")


ODD: dict[str, tuple[dict[str, Any], list[float]]] = {
    "Decimal": (
        {"Date": DAYS[:3], "Spend": [Decimal("1.5"), None, Decimal(2)]},
        [1.5, 2],
    ),
    "integers beyond a float": ({"Date": DAYS[:3], "Spend": [1, 10**400, 2]}, [1, 2]),
    "the largest integers": (
        {"Date": DAYS[:2], "Spend": pd.array([2**64 - 1] * 2, dtype="uint64")},
        [2.0**64] * 2,
    ),
    "nullable": (
        {"Date": DAYS[:3], "Spend": pd.array([1, None, 2], dtype="Int64")},
        [1, 2],
    ),
    "of mixed kinds": ({"Date": DAYS[:4], "Spend": [1, "n/a", 2.5, True]}, [1, 2.5]),
    "infinite": ({"Date": DAYS[:3], "Spend": [1, np.inf, 2]}, [1, 2]),
    "too large for an axis": (
        {"Date": DAYS[:4], "Spend": [1, 1e308, -1e308, 2]},
        [1, 2],
    ),
    "beside lists": (
        {"Date": DAYS[:2], "Tags": [[1], {"a": 2}], "Spend": [1, 2]},
        [1, 2],
    ),
    "with a zone": (
        {"Date": DAYS[:2].tz_localize("Europe/Berlin"), "Spend": [1, 2]},
        [1, 2],
    ),
    "dates as texts": ({"Date": ["2024-01-02", "2024-01-01"], "Spend": [2, 1]}, [1, 2]),
    "times as texts": (
        {
            "Date": ["2024-01-01T10:00:00Z", "2024-01-01T10:00:00+02:00"],
            "Spend": [2, 1],
        },
        [1, 2],
    ),
    "dates of Python": (
        {"Date": [dt.date(9999, 1, 1), dt.date(2024, 1, 1)], "Spend": [2, 1]},
        [1, 2],
    ),
    "times of year 1": (
        {
            "Date": np.array(["0001-01-01", "9999-12-31"], "datetime64[s]"),
            "Spend": [1, 2],
        },
        [1, 2],
    ),
    "quarters as texts": (
        {"Q": ["2025Q2", "2025Q1", "2024Q4"], "Spend": [3, 2, 1]},
        [1, 2, 3],
    ),
    "other quarters": ({"Q": ["Q1 FY25", "Q4 FY24"], "Spend": [2, 1]}, [1, 2]),
    "years": ({"Year": [2025, 2024], "Spend": [2, 1]}, [1, 2]),
    "periods": (
        {"P": pd.period_range("2024", periods=2, freq="Q"), "Spend": [1, 2]},
        [1, 2],
    ),
    "missing times": ({"Date": [None, *DAYS[:2]], "Spend": [9, 1, 2]}, [1, 2]),
    "no time, no category": ({"Spend": [1, 2]}, [1, 2]),
    "named in another script": ({"是": [True, False], "Spend": [1, 2]}, [2, 1]),
    "one day": ({"Date": [DAYS[0]] * 2, "Region": ["a", "b"], "Spend": [1, 2]}, [2, 1]),
    "counted": ({"Sector": list("aabbbc")}, [3, 2, 1]),
    "counted beside a column of the same name": ({"Rows": list("aabbbc")}, [3, 2, 1]),
    "all 0": ({"Sector": list("aba"), "Spend": [0.0] * 3}, [0, 0]),
    "called as what is missing": (
        {"Brand": ["(none)", None, "", "(none)"], "Spend": [1, 2, 4, 8]},
        [9, 4],
    ),
    "markup": ({"<script>": ["<b>", "</svg>"] * 2, "Spend": [-1, 2, 3, 4]}, [6, 2]),
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_columns_are_drawn_or_left_out(odd: str) -> None:
    """Whatever the types of numbers and times, the points are those that can be drawn, and equal the code's."""
    columns, values = ODD[odd]
    frame = pd.DataFrame(columns)
    view = Chart(frame).view()
    assert drawn(view)[:, 0].tolist() == values
    table = table_of(view["code"], frame)
    assert table.iloc[:, 0].tolist() == values
    assert view["x"]["labels"] in ([], [*map(str, table.index)])
    assert "<b>" not in svg(view)


# Frames with a number of columns, or fifty times as many rows or letters.
WIDE: dict[str, Callable[[int], pd.DataFrame]] = {
    "numbers": lambda number: pd.DataFrame(np.ones((50, number))).assign(
        Date=DAYS[:50]
    ),
    "texts": lambda number: pd.DataFrame(
        {f"c{at}": [f"x{at * row % 7}" for row in range(50)] for at in range(number)}
    ).assign(Spend=1),
    "dates": lambda number: pd.DataFrame(
        {f"c{at}": DAYS[at % 9 : at % 9 + 50] for at in range(number)}
    ).assign(Spend=1.0),
    "names": lambda number: pd.DataFrame(
        {
            "k": [f"k{at % (49 * number)}" for at in range(50 * number)],
            "Spend": range(50 * number),
        }
    ),
    "more names": lambda number: pd.DataFrame(
        {
            "k": [f"k{at}" for at in range(50 * number + 1)],
            "Spend": range(50 * number + 1),
        }
    ),
    "long names": lambda number: pd.DataFrame(
        {"k": ["y" * 50 * number, "z"] * 3, "Spend": range(6)}
    ),
    "empty and equal names": lambda _: pd.DataFrame(
        [[1, 2.0, "x", 3]] * 2, columns=["", "", "a", "a"]
    ),
}


def draw(frame: pd.DataFrame) -> list[str]:
    """Draw a frame with several wishes, in messages of a few kilobytes each; return the notes."""
    chart = Chart(frame)
    for wish in (
        ChartWish(),
        ChartWish(kind="bar"),
        ChartWish(show="growth", points="second"),
        ChartWish(measure="", colour="gone", x="gone", all=True),
    ):
        view = chart.view(wish)
        assert view["series"]
        assert svg(view)
        assert len(json.dumps(view, allow_nan=False)) < 40_000
    return [*view["notes"]]


@pytest.mark.slow
@pytest.mark.parametrize("name", WIDE)
def test_large_frames_are_drawn(name: str) -> None:
    """2,000 columns and 100,000 categories, for any wish."""
    frame = WIDE[name](2000)
    notes = draw(frame)
    assert (frame.shape[1] < 2000) != any("more columns" in note for note in notes)


@pytest.mark.slow
@pytest.mark.parametrize("name", WIDE)
def test_large_frames_are_drawn_in_linear_time(name: str) -> None:
    """Whether rows, columns, categories or letters make them large."""
    assert_linear(lambda number: draw(WIDE[name](number)), 500, start=250)


def test_what_is_left_out_is_said() -> None:
    """Rows that no point shows, and values that aren't numbers, are counted."""
    frame = pd.DataFrame(
        {
            "Date": [None, *DAYS[:4]],
            "Spend": pd.Series([1, 2, "n/a", None, 3], dtype=object),
        }
    )
    assert Chart(frame).view()["notes"] == [
        "Left out: 1 row without Date.",
        "Left out: 2 rows without a value of Spend.",
        "1 of the values of Spend can't be drawn as numbers.",
    ]


def test_growth_is_never_averaged_over_a_flag() -> None:
    """Rows with different flags are drawn separately, or as separate lines."""
    days = pd.date_range("2025-01-01", periods=3).repeat(2)
    flags = [False, True, False, True, False, False]
    growth = [0.1, 9.0, 0.2, 9.0, 0.3, 0.3]
    frame = pd.DataFrame({"Date": days, "IsEstimate": flags, "Growth": growth})
    view = Chart(frame).view()
    assert drawn(view)[:, 0].tolist() == [0.1, 0.2, 0.3]
    assert "IsEstimate rows are left out." in view["notes"]
    apart = Chart(frame).view(ChartWish(colour="IsEstimate"))
    assert len(apart["series"]) == 2


def test_a_period_to_date_is_never_added_to_a_whole_one() -> None:
    """Rows to date are separate lines, or left out with a note; fiscal quarters are in order of time."""
    columns = {
        "PeriodLabel": ["FQ2 2024", "FQ1 2024"] * 4,
        "PeriodToDate": [False, False, True, False] * 2,
        "Region": list("aaaabbbb"),
        "Spend": [20, 10, 2, 1, 40, 30, 4, 3],
    }
    chart = Chart(pd.DataFrame(columns))
    whole = chart.view(ChartWish(colour=""))
    assert (whole["x"]["labels"], drawn(whole)[:, 0].tolist()) == (
        ["FQ1 2024", "FQ2 2024"],
        [44, 60],
    )
    assert whole["notes"] == ["The sum over Region.", "PeriodToDate rows are left out."]
    assert choice(whole, "points") == {"period:PeriodLabel": True}
    apart = chart.view(ChartWish(colour="PeriodToDate"))
    assert [line["values"] for line in apart["series"]] == [[44, 60], [None, 6]]
    alone = chart.view(ChartWish(colour=""), rows=np.array([2, 6]))
    assert (drawn(alone)[:, 0].tolist(), alone["notes"]) == (
        [6],
        ["The sum over Region."],
    )
    columns["PeriodToDate"] = [False, False, True, True] * 2
    asked_for = Chart(pd.DataFrame(columns)).view(ChartWish(colour=""))
    assert drawn(asked_for)[:, 0].tolist() == [4, 6]
    assert asked_for["notes"][1] == "Only PeriodToDate rows are drawn."
    assert asked_for["title"] == "Spend"
    region = chart.view(ChartWish(colour="Region"), rows=np.array([4, 5]))
    assert region["title"] == "Spend · b", "one line has no legend"


@pytest.mark.parametrize(
    "wish", [ChartWish(), ChartWish(colour=""), ChartWish(kind="bar", colour="Quarter")]
)
@pytest.mark.parametrize("column", ["PeriodStartDate", "PeriodEndDate"])
def test_fiscal_quarters_that_end_on_different_days_are_noted(
    wish: ChartWish, column: str
) -> None:
    """Not those of one company, nor because a quarter to date ends before the whole one."""
    note = "Fiscal quarters of companies end on different days."
    ends = pd.date_range("2024-03-31", periods=6, freq="QE")
    names = [f"FQ{1 + at % 4} {2024 + at // 4}" for at in range(6)]
    rows = [
        pd.DataFrame({"Quarter": names, "Symbol": name, column: ends, "Spend": 1.5})
        for name in ("A", "B")
    ]
    frame = pd.concat(rows, ignore_index=True).assign(PeriodToDate=False)
    frame.loc[12] = [names[0], "A", ends[0] - pd.Timedelta("20D"), 0.5, True]
    assert note not in Chart(frame).view(wish)["notes"]
    frame.loc[frame["Symbol"] == "B", column] += pd.Timedelta("31D")
    assert note in Chart(frame).view(wish)["notes"]
    assert (
        note
        not in Chart(frame).view(wish, rows=np.flatnonzero(frame["Symbol"] == "A"))[
            "notes"
        ]
    )
    assert note not in Chart(frame).view(ChartWish(points="month"))["notes"]


@pytest.mark.parametrize(
    ("freq", "unit"),
    [
        ("QE", "a quarter"),
        ("MS", "a month"),
        ("W-SUN", "a week"),
        ("h", "an hour"),
        ("50D", ""),
    ],
)
def test_a_unit_is_of_the_times_that_there_are(freq: str, unit: str) -> None:
    """Spend at the ends of quarters isn't labelled as daily, nor is spend on a few days of a year."""
    times = pd.date_range("2023-01-01", periods=20, freq=freq)
    assert Chart(pd.DataFrame({"At": times, "Spend": 1.5})).view()["unit"] == unit


@pytest.mark.parametrize("name", ["Growth %", "Spend Growth"])
def test_growth_that_is_in_percent_already_stays(name: str) -> None:
    """If the name, description or values say percent, growth isn't multiplied by 100."""
    frame = pd.DataFrame({"Date": DAYS[:5], name: [12.5, 9.1, 8, 7, 11]})
    assert Chart(frame).view()["format"] == "number"
    fractions = frame.assign(**{name: 0.1})
    assert Chart(fractions, "Growth is in percent.").view()["format"] == "number"
    assert Chart(fractions).view()["format"] == ("number" if "%" in name else "percent")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["line", "bar"])
def test_the_code_draws_with_matplotlib(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program runs as it is, names with dollars included."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)
    before = mpl.rcParams.copy()
    plt.switch_backend("agg")
    some = daily(1, DAYS[:9])
    close = [
        some[["Share"]] / 50,
        some[["Date", "Spend"]].assign(Spend=50_000 + some["Spend"] / 1000),
    ]
    for frame in (
        daily(12, DAYS[:90]),
        daily().rename(columns={"Spend": "$\\frac{$"}),
        some[["Share"]],
        *close,
    ):
        for show in ("value", "growth"):
            names: dict[str, Any] = {"df": frame}
            view = Chart(frame).view(ChartWish(kind=kind, show=show))  # type: ignore[arg-type]
            exec(compile(view["code"], "a chart's", "exec"), names)
            names["ax"].figure.canvas.draw()
            assert names["ax"].get_title() == view["title"]
            axis = names["ax"].xaxis if view["kind"] == "bar" else names["ax"].yaxis
            labels = [label.get_text() for label in axis.get_ticklabels()]
            assert len(set(labels)) == len(labels)
    plt.close("all")
    mpl.rcParams.update(before)


@pytest.mark.slow
def test_the_picture_is_small_and_well_formed() -> None:
    """One picture of eight coloured and 32 grey lines is XML without script, below 200 kB; usual ones below 30 kB."""
    for frame, most in (
        (daily(250, DAYS[:100]), 200_000),
        (daily(6), 30_000),
        (daily(1, DAYS[:5]), 5_000),
    ):
        for wish in (ChartWish(), ChartWish(kind="bar"), ChartWish(show="growth")):
            picture = svg(Chart(frame).view(wish))
            assert len(picture) < most
            texts = [
                element.text
                for element in ET.fromstring(picture).iter(
                    "{http://www.w3.org/2000/svg}text"
                )
            ]
            # Each tick and line has a text of its own.
            assert len(texts) == len(set(texts)) or wish.kind == "bar"
            assert "script" not in picture


@pytest.mark.parametrize("name", ["Spend", "Spend Growth", "Ratio"])
@pytest.mark.parametrize(
    "size",
    [1e-9, 3e-6, 0.001, 0.017, 0.4, 1.9, 25, 9_000, 640_000.0, 3.3e7, 8e10, 4e16],
)
@pytest.mark.parametrize("first", [0, -0.7, 3, -40])
def test_the_picture_labels_its_axis_exactly(
    name: str, size: float, first: float
) -> None:
    """Labels at equal distances say numbers at equal distances, which include the values."""
    frame = pd.DataFrame(
        {"Date": DAYS[:3], name: np.array([first, first + 0.3, first + 1]) * size}
    )
    picture = ET.fromstring(svg(Chart(frame).view()))
    labels = [
        str(element.text)
        for element in picture.iter("{http://www.w3.org/2000/svg}text")
        if element.get("text-anchor") == "end"
    ]
    units = {"k": "e3", "M": "e6", "B": "e9", "T": "e12", "%": "e-2"}
    plain = [label.replace("−", "-").replace(",", "") for label in labels]
    numbers = np.array(
        [float(label[:-1] + units.get(label[-1], label[-1])) for label in plain]
    )
    assert np.diff(numbers) == pytest.approx(numbers[1] - numbers[0], rel=1e-5)
    assert numbers[0] <= frame[name].min() + size * 1e-6
    assert numbers[-1] >= frame[name].max() - size * 1e-6
    assert (
        len(
            {
                len(label.partition(".")[2].rstrip("".join(units)).partition("e")[0])
                for label in labels
            }
        )
        == 1
    )


def test_the_first_measure_holds_numbers_throughout() -> None:
    """A column with other values among its numbers can be chosen, but comes last."""
    frame = pd.DataFrame(
        {
            "Date": DAYS[:4],
            "Odd": [1, "n/a", 2.5, 3],
            "Spend": [1.5, 2, 3, 4],
            "Cards": range(4),
        }
    )
    view = Chart(frame).view(ChartWish())
    assert view["title"].startswith("Spend")
    assert list(choice(view, "measure")) == ["Spend", "Cards", "Odd"]


def sectors() -> pd.DataFrame:
    """Six regions of two sectors, each run by a company."""
    frame = daily(6)
    frame["Sector"] = np.where(frame["Region"] < "R3", "East", "West")
    return frame.assign(**{"Company Name": "Company " + frame["Region"]})


KINDS = [
    {"kind": "area"},
    {"kind": "stack", "show": "sum", "points": "month"},
    {"kind": "stack", "split": "Sector", "colour": "Region"},
    {"kind": "line", "split": "Sector", "colour": ""},
    {"kind": "line", "split": "Sector", "show": "growth"},
    {"kind": "bar", "split": "Sector", "colour": "Region"},
    {"kind": "scatter", "colour": ""},
    {
        "kind": "scatter",
        "measure": "Share",
        "x": "Cards",
        "split": "Sector",
        "colour": "Region",
    },
    {"kind": "histogram", "measure": "Share"},
    {"kind": "histogram", "split": "Sector"},
    {"kind": "bar", "scale": "log"},
    {"kind": "line", "scale": "log"},
]


@pytest.mark.parametrize("wish", KINDS, ids=str)
def test_each_kind_draws_what_its_code_computes(wish: Any) -> None:
    """The same values in the view, in the table of the code, in its picture, and as a table of points."""
    frame = sectors()
    chosen = ChartWish(**wish)
    view = Chart(frame).view(chosen)
    assert (view["kind"], view["log"]) == (wish["kind"], wish.get("scale") == "log")
    assert view["panels"] == (["East", "West"] if "split" in wish else [])
    table = table_of(view["code"], frame)
    shown = [
        value
        for line in view["series"]
        for value in line["values"]
        if value is not None
    ]
    values = (
        table[view["title"].split(" against")[0]]
        if wish["kind"] == "scatter"
        else table
    )
    assert sorted(shown) == pytest.approx(
        sorted(pd.Series(values.to_numpy().ravel()).dropna()), abs=0.01
    )
    assert ET.fromstring(svg(view)).tag.endswith("svg")
    made = TableView(frame).made([ChartPoints(chosen)])
    assert (made.rows, made.view()["rows"]) == (len(table), len(table))
    *lines, last = made.code(TableQuery(), "df").splitlines()
    names: dict[str, Any] = {"df": frame}
    exec("\n".join(lines), names)
    computed = eval(last, names).astype(object)
    pd.testing.assert_frame_equal(computed, made.flat.astype(object), check_dtype=False)


@pytest.mark.slow
@pytest.mark.parametrize("wish", KINDS, ids=str)
def test_the_code_of_each_kind_draws_with_matplotlib(
    wish: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One panel for each value of a column that splits the chart."""
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)
    plt.switch_backend("agg")
    view = Chart(sectors()).view(ChartWish(**wish))
    names: dict[str, Any] = {"df": sectors()}
    exec(compile(view["code"], "a chart's", "exec"), names)
    names["ax"].figure.canvas.draw()
    titles = [ax.get_title() for ax in names["ax"].figure.axes]
    assert [*filter(None, titles)] == (view["panels"] or [view["title"]])
    plt.close("all")


REFUSED = {
    "ratios": (
        {"kind": "stack", "measure": "Share"},
        "line",
        "Stacked areas add values up, and Share doesn't add up.",
    ),
    "no second measure": (
        {"kind": "scatter"},
        "line",
        "Scatter plots need two columns of numbers.",
    ),
    "no numbers": (
        {"kind": "histogram"},
        "line",
        "Histograms need a column of numbers.",
    ),
    "another result's": (
        {"colour": "Brand"},
        "line",
        "The result has no column 'Brand'.",
    ),
    "a change below 0": (
        {"scale": "log", "show": "growth"},
        "line",
        "A logarithmic axis needs values above 0; the smallest is",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_drawn_is_said(name: str) -> None:
    """The default chart is drawn instead: a setting can outlive the run that it was made for."""
    columns = {"no second measure": ["Spend"], "no numbers": []}.get(
        name, ["Spend", "Share"]
    )
    wish, kind, sentence = REFUSED[name]
    view = Chart(daily(2)[["Date", "Region", *columns]]).view(ChartWish(**wish))
    assert (view["kind"], view["why"], view["log"]) == (kind, "", False)
    assert any(note.startswith(sentence) for note in view["notes"])


def test_values_below_zero_are_not_stacked() -> None:
    """Nor is there a histogram of rows without a number."""
    frame = daily(2, DAYS[:9])
    losses = frame.assign(Spend=-frame["Spend"])
    assert (
        Chart(losses).view(ChartWish(kind="stack"))["why"]
        == "Values below 0 can't be stacked."
    )
    empty = Chart(pd.concat([frame, frame.assign(Spend=np.nan)], ignore_index=True))
    nothing = empty.view(
        ChartWish(kind="histogram"), rows=np.arange(len(frame), 2 * len(frame))
    )
    assert nothing["why"] == "These rows have no values of this measure."
    with pytest.raises(ArgumentError, match="can't be stacked"):
        TableView(losses).made([ChartPoints(ChartWish(kind="stack"))])


def test_a_setting_that_no_chart_has_is_refused_in_words() -> None:
    """An unknown kind, field or axis of a page gets an error, never a traceback."""
    query = {"sort": [], "filters": [], "find": "", "hidden": []}
    request = {
        "v": 1,
        "id": 1,
        "kind": "chart",
        "run": 1,
        "low": None,
        "high": None,
        "query": query,
    }
    assert read(request | {"wish": {"kind": "stack", "scale": "log", "split": ""}})[1][
        "wish"
    ]
    for wish in ({"kind": "pie"}, {"scale": "cubic"}, {"axis": 3}, {"split": 7}):
        with pytest.raises(ArgumentError, match="can't read the request chart"):
            read(request | {"wish": wish})


def test_companies_are_named_beside_their_symbols() -> None:
    """From a column of names that is determined by the colour's column."""
    view = Chart(sectors()).view(ChartWish(colour="Region"))
    assert view["names"]["R4"] == "Company R4"
    assert (
        Chart(sectors()).view(ChartWish(kind="bar", colour="Region"))["names"]
        == view["names"]
    )
    assert Chart(sectors()).view(ChartWish(colour="Company Name"))["names"] == {}
    assert Chart(sectors()).view(ChartWish(colour="Sector"))["names"] == {}
    unsafe = sectors()
    unsafe["Company Name"] += "\u202e"
    assert (
        Chart(unsafe).view(ChartWish(colour="Region"))["names"]["R4"]
        == "Company R4\\u202e"
    )


def test_a_picture_has_the_colours_of_the_page() -> None:
    """The light colours, or with the variables of its style sheet the dark ones."""
    sheet = (Path(chart_svg.__file__).parent / "front/src/css/palette.css").read_text(
        "utf-8"
    )
    assert sheet == chart_svg.palette()
    light = re.findall(r"(--s\d): (#\w{6})", sheet)[:8]
    picture = svg(Chart(daily(8, DAYS[:20])).view())
    assert all(f"var({name},{colour})" in picture for name, colour in light)


def test_a_single_point_is_seen_in_the_picture() -> None:
    """A line of one or two points has dots."""
    days = Chart(daily(2, DAYS[:2])).view(ChartWish(kind="line"))
    assert svg(days).count("<circle") == 4
    assert "<circle" not in svg(Chart(daily(2)).view())

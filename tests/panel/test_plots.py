"""Which chart a frame gets, and its points: always a chart or a reason in one sentence."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from jupyter_funcs.frames.roles import Role, read
from jupyter_funcs.panel.chart.drawing import evenly, short
from jupyter_funcs.panel.chart.plot import NO_WISH, Plot, Points, Wish, points, suggest
from tests.conftest import PANEL, SYMBOL

if TYPE_CHECKING:
    from jupyter_funcs.api import Session

DAYS = pd.date_range("2024-01-01", periods=5)
CALL = {"PanelName": PANEL, "Symbol": SYMBOL}


def drawn(frame: pd.DataFrame, wish: Wish = NO_WISH) -> tuple[Plot, Points]:
    plot = suggest(read(frame), wish)
    assert isinstance(plot, Plot), plot
    return plot, points(plot)


def names(plot: Plot) -> tuple[str, str, str]:
    return plot.measure, plot.x.name if plot.x else "", plot.colour.name if plot.colour else ""


@pytest.fixture(scope="module")
def frames(funcs: Session) -> dict[str, pd.DataFrame]:
    return {
        "daily": funcs.get_panel_daily(**CALL),
        "by region": funcs.get_panel_daily(**CALL, Dimensions=["Region"]),
        "by both": funcs.get_panel_daily(**CALL, Dimensions=["Region", "Age Group"]),
        "growth": funcs.get_panel_daily(**CALL, PoPGrowth="Yes"),
        "quarters": funcs.get_panel_fq(**CALL),
        "to date": funcs.get_panel_fq(**CALL, PeriodToDate="Yes", Dimensions=["Region"]),
        "universe": funcs.get_universe(),
        "kpis": funcs.get_kpis(Symbol=SYMBOL),
    }


@pytest.mark.slow
def test_spend_by_day_is_a_line_over_time_of_weekly_means(frames: dict[str, pd.DataFrame]) -> None:
    """1,826 days are more than a line has pixels: each point is the mean of a week, and it is said; days on demand."""
    plot, made = drawn(frames["daily"])
    assert (plot.kind, names(plot), plot.every) == ("line", ("Spend", "Date", ""), "week")
    assert "Each point is the mean of a week." in made.notes
    first = frames["daily"].set_index("Date")["Spend"].loc["2020-11-16":"2020-11-22"]
    assert made.table.iloc[0, 0] == pytest.approx(first.mean())
    every, all_days = drawn(frames["daily"], Wish(every=""))
    assert (every.every, len(all_days.table), all_days.notes) == ("", 1826, [])


def test_a_dimension_is_the_colour(frames: dict[str, pd.DataFrame]) -> None:
    """Spend by Region has a line for each region, and one line of their sum on demand, which says that it is one."""
    plot, made = drawn(frames["by region"])
    assert names(plot) == ("Spend", "Date", "Region")
    assert made.table.shape[1] == frames["by region"]["Region"].nunique()
    whole, one = drawn(frames["by region"], Wish(colour="", every="month"))
    assert one.table.shape[1] == 1
    assert "The sum over Region." in one.notes
    assert whole.title == "Spend"
    by_day = frames["by region"].groupby("Date")["Spend"].sum()
    assert one.table.iloc[1, 0] == pytest.approx(by_day.loc["2020-12"].mean())


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        ("Spend", "The sum over Age Group."),
        ("Transaction Count", "The sum over Age Group."),
        ("Spend per Card", "The mean over Age Group, each row counting the same."),
        ("Cardholder Count", "The mean over Age Group, each row counting the same."),
    ],
)
def test_what_lies_upon_each_other_is_brought_together(
    frames: dict[str, pd.DataFrame], measure: str, said: str
) -> None:
    """Several rows a day and region are one point: money and counts add up, ratios and people do not; it is said."""
    plot, made = drawn(frames["by both"], Wish(measure=measure, every="month"))
    assert names(plot) == (measure, "Date", "Region")
    assert said in made.notes
    by_day = frames["by both"].groupby(["Date", "Region"])[measure].agg("sum" if "sum" in said else "mean")
    december = by_day.loc["2020-12-01":"2020-12-31", "Pacific"]
    assert made.table.loc["2020-12-01", "Pacific"] == pytest.approx(december.mean())


def test_growth_is_percent(frames: dict[str, pd.DataFrame]) -> None:
    """A growth column is a fraction, shown as percent; the year without a comparison is left out and said."""
    plot, made = drawn(frames["growth"], Wish(measure="Spend Growth"))
    assert plot.percent
    assert not drawn(frames["growth"])[0].percent
    assert "364 rows without a value of Spend Growth are left out." in made.notes
    assert made.table.notna().all(axis=None)


def test_fiscal_quarters_are_bars_in_the_order_of_time(frames: dict[str, pd.DataFrame]) -> None:
    """Named periods are on x, and not their first or last days; the label is their order, wherever they stand."""
    plot, made = drawn(frames["quarters"].sample(frac=1, random_state=1))
    assert (plot.kind, names(plot)) == ("bar", ("Spend", "PeriodLabel", ""))
    assert list(made.table.index) == list(frames["quarters"]["PeriodLabel"])
    assert "colour" not in [name for name, found in plot.choices.items() if "IsCurrentQuarter" in found]


def test_a_period_to_date_is_never_added_to_a_whole_one(frames: dict[str, pd.DataFrame]) -> None:
    """Rows to date are bars of their own, or left out and said so; never part of a sum."""
    frame = frames["to date"]
    whole = frame[~frame["PeriodToDate"]].groupby("PeriodLabel", sort=False)["Spend"].sum()
    _, by_region = drawn(frame)
    assert "Rows of PeriodToDate are left out." in by_region.notes
    assert by_region.table.sum(axis=1).to_list() == pytest.approx(whole.to_list())
    apart, both = drawn(frame, Wish(colour="PeriodToDate", kind="bar"))
    assert both.table["False"].dropna().to_list() == pytest.approx(whole.to_list())
    assert not apart.stacked
    # Along the last days, where rows to date have places of their own: a line through both would be a zigzag.
    _, ends = drawn(frame, Wish(x="PeriodEndDate", colour=""))
    assert "Rows of PeriodToDate are left out." in ends.notes
    assert ends.table.iloc[:, 0].to_list() == pytest.approx(whole.to_list())
    plot, _ = drawn(frame, Wish(x="PeriodEndDate"))
    assert plot.choices["colour"] == ["PeriodToDate", "Region"]


def test_without_time_there_are_bars(frames: dict[str, pd.DataFrame]) -> None:
    """A frame of categories counts its rows; with numbers and no time, a bar for each category, the largest first."""
    plot, made = drawn(frames["universe"])
    assert (plot.kind, names(plot)) == ("bar", ("Rows", "Sector", ""))
    assert made.table.iloc[:, 0].sum() == len(frames["universe"])
    plot, made = drawn(pd.DataFrame({"Id": [1, 2, 3], "Brand": ["a", "b", "c"], "Spend": [1.5, 3, 2]}))
    assert names(plot) == ("Spend", "Brand", "")
    assert list(made.table.index) == ["b", "c", "a"]


def test_identifiers_are_no_measures(frames: dict[str, pd.DataFrame]) -> None:
    """Whole numbers that name something are not drawn as amounts; years are time."""
    assert suggest(read(frames["kpis"])).startswith("There is nothing to draw: no column holds measured numbers")  # type: ignore[union-attr]
    roles = {column.name: column.role for column in read(pd.DataFrame({"KpiId": [1, 2], "Year": [2024, 2025]}))}
    assert roles == {"KpiId": Role.DIMENSION, "Year": Role.PERIOD}
    paid = read(pd.DataFrame({"Paid": [1, 2], "Number of stores": [3, 4]}))
    assert {column.role for column in paid} == {Role.MEASURE}


def test_two_hundred_colours_are_the_largest_eight() -> None:
    """The largest are drawn, and the others left out or summed as Other, and it is said which."""
    rows = [(day, f"s{n}", n + 1.0) for day in DAYS for n in range(200)]
    frame = pd.DataFrame(rows, columns=["Date", "Symbol", "Spend"])
    _, lines = drawn(frame)
    assert list(lines.table.columns) == [f"s{n}" for n in range(199, 191, -1)]
    assert "The 8 largest of 200 by Spend. The rest is left out." in lines.notes
    _, bars = drawn(frame, Wish(kind="bar"))
    assert list(bars.table.columns) == [*(f"s{n}" for n in range(199, 192, -1)), "Other"]
    assert bars.table.sum(axis=1).to_list() == [20100.0] * 5
    assert "The 7 largest of 200 by Spend. Other is the sum of the rest." in bars.notes


def test_one_row_is_bars_of_what_compares_or_a_reason() -> None:
    """Measures of one row stand beside each other when they are of one kind; else the table says more."""
    plot, made = drawn(pd.DataFrame({"Spend": [2e6], "Spend Growth": [0.1], "Cards Growth": [-0.02]}))
    assert plot.percent
    assert made.table.iloc[:, 0].to_list() == [0.1, -0.02]
    reason = suggest(read(pd.DataFrame({"Date": DAYS[:1], "Spend": [2e6], "Spend per Card": [12.5]})))
    assert reason == "The result is one row: a chart of it would show less than the table does."


@pytest.mark.slow
def test_a_million_rows_are_few_points() -> None:
    """However long the frame, no line has more points than pixels, and the means say so."""
    size = 1_000_000
    at = pd.date_range("2020", periods=size, freq="min")
    frame = pd.DataFrame({"At": at, "Symbol": np.arange(size) % 200, "Spend": np.ones(size)})
    plot, made = drawn(frame)
    assert plot.every == "week"
    assert made.table.size <= 600
    plot, made = drawn(frame[["Spend"]])
    assert made.notes == [
        "In the order of the rows: there is no time and no category.",
        "Each point is the mean of 1,667 rows.",
    ]
    assert made.table.size <= 600
    # So many names would take seconds in the kernel, and are no categories.
    names_only, _ = drawn(pd.DataFrame({"Name": np.arange(150_000).astype(str), "Spend": 1.0}))
    assert names(names_only) == ("Spend", "", "")


ODD: dict[str, tuple[dict[str, Any], str]] = {
    "no columns": ({}, "The result has no columns: there is nothing to draw."),
    "no rows": ({"Spend": []}, "The result has no rows: there is nothing to draw."),
    "no values": ({"Date": DAYS, "Spend": [None] * 5}, "There is nothing to draw: Spend has no values."),
    "nested": ({"a": [{"b": 1}, [2]]}, "There is nothing to draw: no column holds measured numbers"),
    "bytes": ({"a": [b"1", b"2"]}, "There is nothing to draw: no column holds measured numbers"),
    "complex": ({"a": [1j, 2]}, "There is nothing to draw: no column holds measured numbers"),
}


@pytest.mark.parametrize("odd", ODD)
def test_what_cannot_be_drawn_has_a_reason(odd: str) -> None:
    """A frame without anything to draw is a sentence."""
    columns, reason = ODD[odd]
    assert str(suggest(read(pd.DataFrame(columns)))).startswith(reason)


DRAWN: dict[str, tuple[dict[str, Any], list[float]]] = {
    "Decimal": ({"Date": DAYS[:3], "Spend": [Decimal("1.5"), None, Decimal(2)]}, [1.5, 2]),
    "integers beyond a float": ({"Date": DAYS[:3], "Spend": [1, 10**400, 2]}, [1, 2]),
    "nullable": ({"Date": DAYS[:3], "Spend": pd.array([1, None, 2], dtype="Int64")}, [1, 2]),
    "of mixed kinds": ({"Date": DAYS[:4], "Spend": [1, "n/a", 2.5, True]}, [1, 2.5]),
    "infinite": ({"Date": DAYS[:3], "Spend": [1, np.inf, 2]}, [1, 2]),
    "too large for an axis": ({"Date": DAYS[:4], "Spend": [1, 1e308, -1e308, 2]}, [1, 2]),
    "with a zone": ({"Date": DAYS[:2].tz_localize("Europe/Berlin"), "Spend": [1, 2]}, [1, 2]),
    "dates as texts": ({"Date": ["2024-01-02", "2024-01-01"], "Spend": [2, 1]}, [1, 2]),
    "times as texts": ({"Date": ["2024-01-01T10:00:00Z", "2024-01-01T10:00:00+02:00"], "Spend": [2, 1]}, [1, 2]),
    "dates of Python": ({"Date": [dt.date(9999, 1, 1), dt.date(2024, 1, 1)], "Spend": [2, 1]}, [1, 2]),
    "quarters as texts": ({"Q": ["2025Q2", "2025Q1", "2024Q4"], "Spend": [3, 2, 1]}, [1, 2, 3]),
    "other quarters": ({"Q": ["Q1 FY25", "Q4 FY24"], "Spend": [2, 1]}, [1, 2]),
    "periods": ({"P": pd.period_range("2024", periods=2, freq="Q"), "Spend": [1, 2]}, [1, 2]),
    "missing times": ({"Date": [None, *DAYS[:2]], "Spend": [9, 1, 2]}, [1, 2]),
    "no time, no category": ({"Spend": [1, 2]}, [1, 2]),
    "named in another script": ({"是": [True, False], "Spend": [1, 2]}, [2, 1]),
    "one day": ({"Date": [DAYS[0]] * 2, "Region": ["a", "b"], "Spend": [1, 2]}, [2, 1]),
}


@pytest.mark.parametrize("odd", DRAWN)
def test_odd_columns_are_drawn(odd: str) -> None:
    """Whatever numbers and times are made of, the points are the ones that can be drawn, in the order of time."""
    columns, values = DRAWN[odd]
    _, made = drawn(pd.DataFrame(columns))
    assert made.table.iloc[:, 0].to_list() == values


def test_what_is_left_out_is_said() -> None:
    """Rows that no point shows are counted in the caption."""
    frame = pd.DataFrame({"Date": [None, *DAYS[:4]], "Spend": pd.Series([1, 2, "n/a", None, 3], dtype=object)})
    assert drawn(frame)[1].notes == [
        "1 row without Date is left out.",
        "2 rows without a value of Spend are left out.",
        "1 of them holds something else than a number.",
    ]


def test_columns_of_one_name_are_told_apart() -> None:
    """Two columns of one name are two choices, and each is drawn as what it is."""
    frame = pd.DataFrame([[DAYS[0], 1, 10], [DAYS[1], 2, 20]], columns=["Date", "Spend", "Spend"])
    plot, made = drawn(frame, Wish(measure="Spend (2)"))
    assert plot.choices["measure"] == ["Spend", "Spend (2)"]
    assert made.table.iloc[:, 0].to_list() == [10, 20]


def test_labels_in_the_index_are_drawn() -> None:
    """An index that holds labels is a column like any other."""
    plot, made = drawn(pd.DataFrame({"Spend": [1, 2]}, index=["a", "b"]))
    assert names(plot) == ("Spend", "index", "")
    assert list(made.table.index) == ["b", "a"]


def test_a_wish_that_the_frame_cannot_give_is_passed_over() -> None:
    """What was chosen for another frame does no harm to this one."""
    wish = Wish(measure="Gone", x="Gone", colour="Gone", kind="bar", every="year")
    plot, _ = drawn(pd.DataFrame({"Date": DAYS, "Spend": range(5)}), wish)
    assert names(plot) == ("Spend", "Date", "")
    assert plot.every == ""


def test_the_frame_stays_as_it_is(frames: dict[str, pd.DataFrame]) -> None:
    """Nothing of a chart is written into the user's frame."""
    before = frames["by both"].copy(deep=True)
    drawn(frames["by both"], Wish(colour="Age Group"))
    pd.testing.assert_frame_equal(frames["by both"], before)


def test_growth_that_is_in_percent_already_stays() -> None:
    """A description, a name or values that say percent are believed: no factor of a hundred too much."""
    frame = pd.DataFrame({"Date": DAYS, "Spend Growth": [0.1, 0.2, 0.1, 0.3, 0.2]})
    (growth,) = (column for column in read(frame, "Growth is in percent.") if column.role is Role.MEASURE)
    assert not growth.percent
    assert not drawn(frame.rename(columns={"Spend Growth": "Growth %"}))[0].percent
    assert not drawn(frame.assign(**{"Spend Growth": [12.5, 9.1, 8, 7, 11]}))[0].percent


@pytest.mark.parametrize(
    ("values", "percent", "texts"),
    [
        ([0, 500_000, 1_000_000], False, ["0", "0.5M", "1.0M"]),
        ([0, 5_000], False, ["0", "5,000"]),
        ([0, 20_000, 40_000], False, ["0", "20k", "40k"]),
        ([-0.05, 0, 0.025], True, ["\u22125.0%", "0%", "2.5%"]),
        ([1.09, 1.095, 1.1], False, ["1.090", "1.095", "1.100"]),
        ([2e20], False, ["2.00e+20"]),
        ([0, 0], False, ["0", "0"]),
    ],
)
def test_numbers_on_an_axis(values: list[float], percent: bool, texts: list[str]) -> None:
    """An axis has one unit and just the decimals that tell its numbers apart."""
    assert evenly(values, percent=percent) == texts


@pytest.mark.parametrize(
    ("value", "percent", "text"),
    [
        (1_829_301_233, False, "1.83B"),
        (783_100_000, False, "783M"),
        (17, False, "17"),
        (0.0965, True, "9.65%"),
        (-0.5, True, "\u221250.0%"),
        (1.0939, False, "1.09"),
        (0.00123, False, "0.00123"),
        (45_600, False, "45.6k"),
        (0, False, "0"),
    ],
)
def test_a_number_beside_a_bar(value: float, percent: bool, text: str) -> None:
    """A number has three digits or so, in its own unit."""
    assert short(value, percent=percent) == text


def test_values_that_are_called_as_what_is_added_are_drawn() -> None:
    """A value of the frame may be called Other, (none) or nothing at all; each is there once, and none is lost."""
    several = ["Other", "(none)", "", None, *"abcdefghij"]
    rows = [(day, name, 1.0 + at) for day in DAYS for at, name in enumerate(several)]
    frame = pd.DataFrame(rows, columns=["Date", "Brand", "Spend"])
    for part, kind in ((frame, "bar"), (frame[frame["Brand"].isin(several[:4])], "bar"), (frame, "line")):
        _, made = drawn(part, Wish(kind=kind))  # type: ignore[arg-type]
        assert made.table.columns.is_unique
        if kind == "bar":
            whole = part.groupby("Date")["Spend"].sum()
            assert made.table.sum(axis=1).to_list() == whole.to_list()

"""Plot: which chart of a frame is to be drawn, and the points that it has. No picture here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from jupyter_funcs.roles import Role
from jupyter_funcs.text import listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jupyter_funcs.roles import Column

Kind = Literal["line", "bar"]

POINTS_OF_A_LINE = 600  # about as many as it has pixels
MOST_COLOURS = 8
MOST_PERIODS = 200
MOST_CATEGORIES = 20
OTHER, NO_VALUE = "Other", "(none)"
# What a point can be the mean of, by pandas' codes: of a fixed length, or of the calendar.
_FIXED = {"second": "s", "minute": "min", "hour": "h", "day": "D"}
_CALENDAR = {"week": "W", "month": "M", "quarter": "Q", "year": "Y"}


@dataclass(frozen=True, slots=True, eq=False)
class Plot:
    """
    A chart of a frame, and what else it could be.

    Attributes
    ----------
    kind
        Lines, else bars.
    x
        Time, or categories; ``None`` for the rows in their order, and for the measures of one row.
    y
        The measure; ``None`` for the number of rows, and for the measures of one row.
    colour
        The dimension with a line, or a bar, for each value.
    every
        What each point is the mean of, such as ``week``; the empty string where no point is one.
    measures
        What the bars of one row show; empty for any other chart.
    how
        How the rows of one point are brought together; empty where each point has one row.
    over
        The names of the columns that `how` goes over.
    without
        The column whose true rows are left out: what is true of a period to date does not add up with whole ones.
    top
        The values of `colour` that have a line of their own, the largest first; empty for all.
    ranked_by
        What `top` is the largest by.
    stacked
        Whether bars of several colours stand on each other, as the parts of a sum do.
    choices
        By the names of a `Wish`: what could be wished for.
    """

    kind: Kind
    x: Column | None = None
    y: Column | None = None
    colour: Column | None = None
    every: str = ""
    measures: tuple[Column, ...] = ()
    how: Literal["", "sum", "mean", "size"] = ""
    over: tuple[str, ...] = ()
    without: Column | None = None
    top: tuple[str, ...] = ()
    ranked_by: str = ""
    stacked: bool = False
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def has_other(self) -> bool:
        """Whether what is not in `top` is drawn, as one sum. As a line it would press all others to the ground."""
        return bool(self.top) and self.stacked and self.kind == "bar"

    @property
    def adds_up(self) -> bool:
        """Whether the values of several colours add up to that of the whole."""
        return not self.measures and (self.y is None or self.y.additive)

    @property
    def percent(self) -> bool:
        """Whether the values are fractions, to be shown as percent."""
        return all(each.percent for each in self.measures) if self.measures else self.y is not None and self.y.percent

    @property
    def measure(self) -> str:
        """What is drawn, in words."""
        if self.measures:
            return "Growth" if self.percent else "Measures"
        return self.y.name if self.y else "Rows"

    @property
    def title(self) -> str:
        """What the chart shows, in words."""
        category = self.x if self.x and self.x.role is Role.DIMENSION else None
        by = listed([column.name for column in (category, self.colour) if column], "and")
        return f"{self.measure} by {by}" if by else self.measure


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """
    What a chart draws.

    Attributes
    ----------
    table
        A row for each place on x, in order; a column for each colour; NaN where there is no value.
    notes
        What was brought together or left out, a sentence each.
    """

    table: pd.DataFrame
    notes: list[str]


def cells(x: Column | None, y: Column | None, colour: Column | None, without: Column | None) -> pd.DataFrame:
    """Give the rows that a chart draws, as the columns ``x``, ``y`` and ``colour``."""
    shown = [column.data for column in (x, y) if column is not None]
    data = pd.DataFrame(
        {
            "x": x.data if x else range(len(shown[0])),
            "y": y.data if y else 1.0,
            "colour": named(colour) if colour else "",
        }
    )
    kept = data["x"].notna() & data["y"].notna()
    if without is not None:
        kept &= without.data != "True"
    return data[kept]


def named(colour: Column) -> pd.Series[Any]:
    """Give the values of a dimension, with a text for those that are missing."""
    values = colour.data
    if not values.isna().any():
        return values
    if NO_VALUE not in values.cat.categories:  # as a value may be called
        values = values.cat.add_categories([NO_VALUE])
    return values.fillna(NO_VALUE)


def points(plot: Plot) -> Points:
    """Bring the rows of a chart together to its points."""
    if plot.measures:
        values = [float(column.data.iloc[0]) for column in plot.measures]
        table = pd.DataFrame({"": values}, index=[column.name for column in plot.measures])
        return Points(table, ["The measures of the only row."])
    data = cells(plot.x, plot.y, plot.colour, plot.without)
    if plot.x is None:
        return _by_row(plot, data)
    if plot.top:
        own = data["colour"].isin(plot.top)
        data = data.assign(colour=data["colour"].astype(object).where(own, OTHER))[own | plot.has_other]
    how = "sum" if plot.adds_up else "mean"  # of one row it is the row's value
    long = data.groupby(["x", "colour"], observed=True, sort=True)["y"].agg(how)
    long, every = _mean(long, plot)
    table = long.unstack("colour")  # noqa: PD010  # each point is there once
    order = plot.top or (list(plot.colour.data.cat.categories) if plot.colour else [])
    table = table[[name for name in dict.fromkeys((*order, NO_VALUE, OTHER, "")) if name in table.columns]]
    table, shortened = _shortened(table, plot)
    table.index.name, table.columns.name = plot.x.name, plot.colour.name if plot.colour else None
    return Points(table, [*_brought_together(plot), *every, *shortened, *_left_out(plot)])


def _by_row(plot: Plot, data: pd.DataFrame) -> Points:
    each = rows_of_a_point(len(data))
    place = pd.RangeIndex(len(data)) // each * each
    table = pd.DataFrame({"": data["y"].groupby(place).mean()})
    table.index.name = "Row"
    means = [f"Each point is the mean of {each:,} rows."] * (each > 1)
    return Points(table, ["In the order of the rows: there is no time and no category.", *means, *_left_out(plot)])


def rows_of_a_point(rows: int) -> int:
    """Give how many rows one point is the mean of, where there is no time."""
    return -(-rows // POINTS_OF_A_LINE)


def _mean(long: pd.Series[Any], plot: Plot) -> tuple[pd.Series[Any], list[str]]:
    """Give the means over the periods of `every`, each at its first day."""
    if not plot.every:
        return long, []
    times = pd.DatetimeIndex(long.index.get_level_values("x"))
    if plot.every in _FIXED:
        place = times.floor(_FIXED[plot.every])
    else:
        place = times.to_period(_CALENDAR[plot.every]).to_timestamp()
    means = long.groupby([place, long.index.get_level_values("colour")], observed=True).mean()
    return means, [f"Each point is the mean of a{'n' * (plot.every == 'hour')} {plot.every}."]


def _shortened(table: pd.DataFrame, plot: Plot) -> tuple[pd.DataFrame, list[str]]:
    """Leave out what a reader could not tell apart: small categories, periods long gone."""
    if plot.x is None or plot.x.role is Role.TIME or (plot.x.role is Role.PERIOD and len(table) <= MOST_PERIODS):
        return table, []
    if plot.x.role is Role.PERIOD:
        return table.tail(MOST_PERIODS), [f"The last {MOST_PERIODS:,} of {len(table):,} periods."]
    size = table.sum(axis=1) if plot.adds_up else table.mean(axis=1)
    largest = size.sort_values(ascending=False, kind="stable").index[:MOST_CATEGORIES]
    said = f"The {MOST_CATEGORIES} largest of {len(table):,} by {plot.measure}."
    return table.loc[largest], [said] * (len(table) > MOST_CATEGORIES)


def _brought_together(plot: Plot) -> list[str]:
    notes = []
    same = listed([column.name for column in (plot.x, plot.colour) if column], "and")
    over = f"over {listed(plot.over, 'and')}" if plot.over else f"of the rows with the same {same}"
    if plot.how == "sum":
        notes.append(f"The sum {over}.")
    elif plot.how == "mean":
        notes.append(f"The mean {over}, each row counting the same.")
    if plot.top and plot.colour:
        rest = "Other is the sum of the rest." if plot.has_other else "The rest is left out."
        notes.append(f"The {len(plot.top)} largest of {plot.colour.distinct:,} by {plot.ranked_by}. {rest}")
    return notes


def _left_out(plot: Plot) -> list[str]:
    notes = []
    if plot.without is not None:
        notes.append(f"Rows of {plot.without.name} are left out.")
    for column, what in ((plot.x, "without"), (plot.y, "without a value of")):
        missing = int(column.data.isna().sum()) if column else 0
        if column and missing:
            rows, are = ("row", "is") if missing == 1 else ("rows", "are")
            notes.append(f"{missing:,} {rows} {what} {column.name} {are} left out.")
    if plot.y is not None and plot.y.skipped:
        notes.append(f"{plot.y.skipped:,} of them hold{'s' * (plot.y.skipped == 1)} something else than a number.")
    if plot.x is not None and plot.x.zone:
        notes.append(f"Times are those of {plot.x.zone}.")
    return notes

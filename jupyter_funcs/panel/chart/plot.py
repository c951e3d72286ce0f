"""Plot: which chart of a frame is to be drawn, and the points that it has. No picture here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from jupyter_funcs.core.text import folded, listed
from jupyter_funcs.frames.roles import Role, is_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from jupyter_funcs.frames.roles import ChartColumn


Kind = Literal["line", "bar"]

POINTS_OF_A_LINE = 600  # about as many as it has pixels
MOST_COLOURS = 8
MOST_PERIODS = 200
MOST_CATEGORIES = 20
OTHER, NO_VALUE = "Other", "(none)"
# What a point can be the mean of: about how many seconds it has, and pandas' code of what begins with it.
PERIODS = {
    "second": (1.0, "s"),
    "minute": (60.0, "min"),
    "hour": (3600.0, "h"),
    "day": (86400.0, "D"),
    "week": (604800.0, "W-MON"),
    "month": (2629800.0, "MS"),
    "quarter": (7889400.0, "QS"),
    "year": (31557600.0, "YS"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Plot:
    """A chart of a frame, and what else it could be."""

    kind: Kind
    x: ChartColumn | None = None
    y: ChartColumn | None = None
    colour: ChartColumn | None = None
    every: str = ""
    measures: tuple[ChartColumn, ...] = ()
    how: Literal["", "sum", "mean", "size"] = ""
    over: tuple[str, ...] = ()
    without: ChartColumn | None = None
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
    """What a chart draws."""

    table: pd.DataFrame
    notes: list[str]


def cells(
    x: ChartColumn | None, y: ChartColumn | None, colour: ChartColumn | None, without: ChartColumn | None
) -> pd.DataFrame:
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


def named(colour: ChartColumn) -> pd.Series[Any]:
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
    table = long.unstack("colour")  # noqa: PD010  # each point is there once
    every = []
    if plot.every:
        table = table.resample(PERIODS[plot.every][1], label="left", closed="left").mean().dropna(how="all")
        every = [f"Each point is the mean of a{'n' * (plot.every == 'hour')} {plot.every}."]
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


_MOST_POINTS = 4000
_USUAL_POINTS = 2400
_MOST_BARS = 60
_USUAL_BARS = 40
_MOST_GROUPS = 1000
# One row's measures stand side by side while the smallest can be seen beside the largest.
_COMPARABLE = 50


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person wants of a chart; what a frame cannot give is passed over."""

    measure: str = ""
    x: str = ""
    colour: str | None = None
    kind: Kind | Literal[""] = ""
    every: str | None = None


NO_WISH = Wish()


def suggest(columns: Sequence[ChartColumn], wish: Wish = NO_WISH) -> Plot | str:
    """Give the chart that suits a frame's columns and a person's wish; a reason in one sentence where none does."""
    if not columns:
        return "The result has no columns: there is nothing to draw."
    rows = len(columns[0].data)
    if not rows:
        return "The result has no rows: there is nothing to draw."
    measures = [column for column in columns if column.role is Role.MEASURE and column.data.notna().any()]
    if rows == 1:
        return _of_one_row(measures)
    dimensions = [column for column in columns if column.role is Role.DIMENSION and column.distinct > 1]
    if measures:
        # What names the rows comes last: it says the least about them.
        named = sorted(dimensions, key=lambda column: is_key(column.name))
        times = _times(columns)
        return _plot(
            [*times, *(column for column in named if not (times and _is_flag(column)))], dimensions, measures, wish
        )
    repeating = [column for column in dimensions if column.distinct <= min(rows / 2, _MOST_GROUPS)]
    return _plot(repeating, repeating, [], wish) if repeating else _no_measure(columns)


def _of_one_row(measures: Sequence[ChartColumn]) -> Plot | str:
    if not measures:
        return "The result is one row without measured numbers: there is nothing to draw."
    for percent in (True, False):
        several = [column for column in measures if column.percent is percent]
        sizes = [abs(float(column.data.iloc[0])) for column in several]
        if len(several) > 1 and (percent or max(sizes) <= _COMPARABLE * min(sizes)):
            return Plot("bar", measures=tuple(several))
    return "The result is one row: a chart of it would show less than the table does."


def _no_measure(columns: Iterable[ChartColumn]) -> str:
    empty = [column.name for column in columns if column.role is Role.MEASURE]
    if empty:
        return f"There is nothing to draw: {listed(empty[:5], 'and')} {'has' if len(empty) == 1 else 'have'} no values."
    return "There is nothing to draw: no column holds measured numbers, and none is a category to count the rows by."


def _times(columns: Iterable[ChartColumn]) -> list[ChartColumn]:
    """Give the columns of time, named periods first, each that tells rows apart in another way than those before it."""
    found: list[ChartColumn] = []
    for role in (Role.PERIOD, Role.TIME):
        for column in columns:
            if column.role is role and column.distinct > 1 and not any(_same(column, other) for other in found):
                found.append(column)
    return found


def _same(one: ChartColumn, other: ChartColumn) -> bool:
    return _follows(one, other) and _follows(other, one)


def _follows(column: ChartColumn, other: ChartColumn) -> bool:
    """Whether all rows with one value of `other` have one value of `column`."""
    pairs = pd.DataFrame({"other": other.data, "column": column.data}).dropna().drop_duplicates()
    return not bool(pairs["other"].duplicated().any())


def _is_flag(column: ChartColumn) -> bool:
    return set(column.data.cat.categories) <= {"True", "False"}


def _wished(columns: Iterable[ChartColumn], name: str | None) -> ChartColumn | None:
    return next((column for column in columns if column.name == name), None)


def _plot(
    axes: Sequence[ChartColumn], dimensions: Sequence[ChartColumn], measures: Sequence[ChartColumn], wish: Wish
) -> Plot:
    y = _wished(measures, wish.measure) or next(iter(measures), None)
    x = _wished(axes, wish.x) or next(iter(axes), None)
    choices = {"measure": [column.name for column in measures] or ["Rows"], "x": [column.name for column in axes]}
    if x is None:
        return Plot("line", y=y, choices=choices)
    # What is another value in rows with the same x: it is drawn in colours, or brought together.
    varying = [column for column in dict.fromkeys([*dimensions, *axes]) if column is not x and not _follows(column, x)]
    # Where each row has a time of its own, a dimension says something though all of it follows from the time.
    telling = [column for column in dimensions if not _is_flag(column) and column.distinct <= x.distinct / 2]
    # A period to date is another value than the whole one, also where it ends on another day.
    to_date = next((column for column in dimensions if folded(column.name) == "periodtodate"), None)
    shown = {*varying, *telling, to_date} - {x}
    colours = [column for column in dimensions if column in shown and column.distinct <= _MOST_GROUPS]
    colour = _wished(colours, wish.colour)
    if wish.colour is None or (wish.colour and colour is None):
        # Bars without time are read one by one: a few colours at most, and none where rows are only counted.
        usual = [column for column in colours if column in varying or column is to_date]
        usual = [column for column in usual if x.is_time or (y is not None and column.distinct <= MOST_COLOURS)]
        colour = next(iter(sorted(usual, key=lambda column: column is to_date)), None)
    without = to_date if to_date not in {colour, x} else None
    data = cells(x, y, colour, without)
    lines = min(colour.distinct, MOST_COLOURS) if colour else 1
    adds_up = y is None or y.additive
    stacked = colour not in {None, to_date} and adds_up and bool((data["y"] >= 0).all())
    everies, every, places = _everies(data["x"], lines, wish.every) if x.role is Role.TIME else ([], "", x.distinct)
    kinds = _kinds(x, places, places if stacked else places * lines)
    few = x.role is not Role.TIME and lines <= 2 and places * lines <= _USUAL_BARS
    kind: Kind = wish.kind if wish.kind and wish.kind in kinds else "bar" if few and "bar" in kinds else kinds[0]
    top, ranked_by = _top(colour, y, measures, MOST_COLOURS - (kind == "bar" and stacked)) if colour else ((), "")
    several = y is None or bool(data.duplicated(["x", "colour"]).any())
    over = [column.name for column in varying if column is not colour and column is not without]
    return Plot(
        kind=kind,
        x=x,
        y=y,
        colour=colour,
        every=every,
        how="" if not several else "size" if y is None else "sum" if y.additive else "mean",
        over=tuple(over) if several else (),
        without=without,
        top=top,
        ranked_by=ranked_by,
        stacked=stacked,
        choices={**choices, "colour": [column.name for column in colours], "kind": list(kinds), "every": everies},
    )


def _kinds(x: ChartColumn, places: int, bars: int) -> list[Kind]:
    if x.role is Role.DIMENSION or places < 2:
        return ["bar"]
    return ["line", "bar"] if bars <= _MOST_BARS else ["line"]


def _top(
    colour: ChartColumn, y: ChartColumn | None, measures: Iterable[ChartColumn], room: int
) -> tuple[tuple[str, ...], str]:
    """Give the largest values of a dimension with too many of them, and what they are the largest by."""
    if colour.distinct <= MOST_COLOURS:
        return (), ""
    by = y if y is None or y.additive else next((column for column in measures if column.additive), None)
    sizes = by.data.abs() if by else pd.Series(1.0, index=colour.data.index)
    total = sizes.groupby(colour.data, observed=True).sum().sort_values(ascending=False, kind="stable")
    return tuple(total.index[:room]), by.name if by else "number of rows"


def _everies(times: pd.Series[Any], lines: int, wished: str | None) -> tuple[list[str], str, int]:
    """Give what points can be the means of, the finest first; the one to take; how many places on x that makes."""
    distinct = int(times.nunique())
    span = float((times.max() - times.min()).total_seconds()) if distinct else 0.0
    places = {"": distinct, **{every: int(span / seconds) + 1 for every, (seconds, _) in PERIODS.items()}}
    found = [every for every in PERIODS if 3 <= places[every] < 0.7 * distinct]
    found = [every for every in ("", *found) if places[every] * lines <= _MOST_POINTS] or found[-1:] or [""]
    clear = [every for every in found if places[every] <= min(POINTS_OF_A_LINE, _USUAL_POINTS / lines)]
    every = wished if wished in found else next(iter(clear), found[-1])
    return found, every, min(places[every], distinct)

"""Which chart suits a frame, and a person's wish."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from jupyter_funcs.plots import MOST_COLOURS, POINTS_OF_A_LINE, Kind, Plot, cells
from jupyter_funcs.roles import Role, is_key
from jupyter_funcs.text import folded, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jupyter_funcs.roles import Column

_MOST_POINTS = 4000
_USUAL_POINTS = 2400
_MOST_BARS = 60
_USUAL_BARS = 40
_MOST_GROUPS = 1000
# One row's measures stand side by side while the smallest can be seen beside the largest.
_COMPARABLE = 50
_SECONDS = {
    "second": 1.0,
    "minute": 60.0,
    "hour": 3600.0,
    "day": 86400.0,
    "week": 604800.0,
    "month": 2629800.0,
    "quarter": 7889400.0,
    "year": 31557600.0,
}


@dataclass(frozen=True, slots=True)
class Wish:
    """
    What a person wants of a chart; what a frame cannot give is passed over.

    Attributes
    ----------
    measure, x
        Names of columns; the empty string leaves the choice.
    colour
        The name of a dimension, the empty string for one line only; ``None`` leaves the choice.
    kind
        The empty string leaves the choice.
    every
        What each point is the mean of, such as ``week``, the empty string for every point; ``None`` leaves the choice.
    """

    measure: str = ""
    x: str = ""
    colour: str | None = None
    kind: Kind | Literal[""] = ""
    every: str | None = None


NO_WISH = Wish()


def suggest(columns: Sequence[Column], wish: Wish = NO_WISH) -> Plot | str:
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


def _of_one_row(measures: Sequence[Column]) -> Plot | str:
    if not measures:
        return "The result is one row without measured numbers: there is nothing to draw."
    for percent in (True, False):
        several = [column for column in measures if column.percent is percent]
        sizes = [abs(float(column.data.iloc[0])) for column in several]
        if len(several) > 1 and (percent or max(sizes) <= _COMPARABLE * min(sizes)):
            return Plot("bar", measures=tuple(several))
    return "The result is one row: a chart of it would show less than the table does."


def _no_measure(columns: Iterable[Column]) -> str:
    empty = [column.name for column in columns if column.role is Role.MEASURE]
    if empty:
        return f"There is nothing to draw: {listed(empty[:5], 'and')} {'has' if len(empty) == 1 else 'have'} no values."
    return "There is nothing to draw: no column holds measured numbers, and none is a category to count the rows by."


def _times(columns: Iterable[Column]) -> list[Column]:
    """Give the columns of time, named periods first, each that tells rows apart in another way than those before it."""
    found: list[Column] = []
    for role in (Role.PERIOD, Role.TIME):
        for column in columns:
            if column.role is role and column.distinct > 1 and not any(_same(column, other) for other in found):
                found.append(column)
    return found


def _same(one: Column, other: Column) -> bool:
    return _follows(one, other) and _follows(other, one)


def _follows(column: Column, other: Column) -> bool:
    """Whether all rows with one value of `other` have one value of `column`."""
    pairs = pd.DataFrame({"other": other.data, "column": column.data}).dropna().drop_duplicates()
    return not bool(pairs["other"].duplicated().any())


def _is_flag(column: Column) -> bool:
    return set(column.data.cat.categories) <= {"True", "False"}


def _wished(columns: Iterable[Column], name: str | None) -> Column | None:
    return next((column for column in columns if column.name == name), None)


def _plot(axes: Sequence[Column], dimensions: Sequence[Column], measures: Sequence[Column], wish: Wish) -> Plot:
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


def _kinds(x: Column, places: int, bars: int) -> list[Kind]:
    if x.role is Role.DIMENSION or places < 2:
        return ["bar"]
    return ["line", "bar"] if bars <= _MOST_BARS else ["line"]


def _top(colour: Column, y: Column | None, measures: Iterable[Column], room: int) -> tuple[tuple[str, ...], str]:
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
    places = {"": distinct, **{every: int(span / seconds) + 1 for every, seconds in _SECONDS.items()}}
    found = [every for every in _SECONDS if 3 <= places[every] < 0.7 * distinct]
    found = [every for every in ("", *found) if places[every] * lines <= _MOST_POINTS] or found[-1:] or [""]
    clear = [every for every in found if places[every] <= min(POINTS_OF_A_LINE, _USUAL_POINTS / lines)]
    every = wished if wished in found else next(iter(clear), found[-1])
    return found, every, min(places[every], distinct)

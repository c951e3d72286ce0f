"""Choose the chart of a frame: its x axis, measure and colours, the period of each point, and the other choices."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from jupyter_funcs.core.text import inert, quote
from jupyter_funcs.frames.roles import (
    ChartColumn,
    Role,
    is_key,
    is_label,
    is_to_date,
    period_parts,
    read,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from jupyter_funcs.panel.requests import ChartWish, Json

    Array = np.ndarray[Any, np.dtype[Any]]
    Zoom = tuple[float, float] | None

POINTS_OF_A_LINE = 600  # about as many as it has pixels
_MOST_VALUES = 24_000  # of all lines
_MOST_COLUMNS = 100  # of one type, to choose from
_SAMPLE = 1_000_000  # rows by which columns are compared
_MOST_LINES = 200
_USUAL_LINES = 40
COLOURS = 8
MOST_PANELS = 12
_MOST_GROUPS = 1000  # categories by which to colour
_MOST_AXES = 8  # columns of times and periods to compare with each other
_MOST_CELLS = 5_000_000  # of the table of sums
_MOST_TIMES = 200_000  # distinct ones; more count as irregular
DAY = 86_400  # seconds
_TICKS = 86_400_000_000  # microseconds of a day
_SHOWN = {
    "value": "Value",
    "sum": "Sum",
    "average": "7-day average",
    "index": "Index, first = 100",
    "growth": "Change from a year before",
}
ROWS_APART = {"scatter", "histogram"}  # kinds that bring no rows together


class ChartKind(NamedTuple):
    """A kind of chart: its label, what it needs, and what draws its table with pandas."""

    label: str
    needs: str
    draw: str


KINDS = {
    "line": ChartKind("Lines", "times, periods or numbers", ".plot.line"),
    "bar": ChartKind("Bars", "categories or periods", "[::-1].plot.barh"),
    "area": ChartKind("Areas", "times or periods", ".plot.area"),
    "stack": ChartKind(
        "Stacked areas", "times or periods, and categories", ".plot.area"
    ),
    "scatter": ChartKind("Scatter plots", "two columns of numbers", ".plot.scatter"),
    "histogram": ChartKind("Histograms", "a column of numbers", ".plot.bar"),
}


class Step(NamedTuple):
    """A period that a point can cover: its length in seconds, its pandas period and rule, and its number in a year."""

    seconds: int
    period: str
    rule: str
    year: int

    def periods(self, days: float) -> float:
        """Return the number of its periods in so many days."""
        return days * DAY / self.seconds + 1


STEPS = {
    "second": Step(1, "s", "s", 0),
    "minute": Step(60, "min", "min", 0),
    "hour": Step(3600, "h", "h", 364 * 24),
    "day": Step(DAY, "D", "D", 364),  # the same day of the week
    "week": Step(604_800, "W", "W-MON", 52),
    "month": Step(2_629_800, "M", "MS", 12),
    "quarter": Step(7_889_400, "Q", "QS", 4),
    "year": Step(31_557_600, "Y", "YS", 1),
}


def days_of(times: Any) -> list[float]:
    """Return times as days since 1970."""
    days: list[float] = (
        np.asarray(times, "datetime64[us]").astype(np.int64) / _TICKS
    ).tolist()
    return days


def time_of(day: float) -> pd.Timestamp:
    """Return the time so many days after the start of 1970."""
    day = max(-719_000, min(day, 2_900_000))  # a zoom may ask for more
    return pd.Timestamp(np.datetime64(round(day * _TICKS), "us"))


class Times:
    """The times of a column: their step, and the periods they cover."""

    def __init__(self, column: ChartColumn) -> None:
        self.data = column.data
        self.days = days_of([self.data.min(), self.data.max()])
        self.span = self.days[1] - self.days[0]

    @cached_property
    def distinct(self) -> pd.DatetimeIndex | None:
        """The distinct times in order; ``None`` if there are too many."""
        times = pd.DatetimeIndex(self.data.dropna().unique())
        if len(times) > _MOST_TIMES:
            return None
        return times.sort_values()

    @cached_property
    def base(self) -> str:
        """The step from one time to the next; empty if they are irregular."""
        times = self.distinct
        if times is None or len(times) < 2:
            return ""

        clock = ("day", "hour", "minute", "second")
        exact = (step for step in clock if times.equals(times.floor(STEPS[step].rule)))
        finest = next(exact, "")
        if finest == "day":
            for step in ("year", "quarter", "month", "week"):
                periods = times.to_period(STEPS[step].period)
                count = periods.asi8[-1] - periods.asi8[0] + 1
                if periods.is_unique and len(times) >= max(3, 0.8 * count):
                    return step

        if finest and len(times) < 0.1 * STEPS[finest].periods(self.span):
            return ""
        return finest

    def steps(self, lines: int, most: int, zoom: Zoom) -> tuple[str, dict[str, bool]]:
        """Return the step of the times, and each step that points can have, with whether that makes too many points."""
        low, high = zoom or self.days
        shown = min(high, self.days[1]) - max(low, self.days[0])
        if shown <= 0:
            shown = self.span
        distinct = math.inf
        if self.distinct is not None:
            distinct = len(self.distinct)
        base = ""
        if self._fits(self.base, lines):
            base = self.base
        steps = {}
        if not base and distinct <= most:
            steps[""] = False
        names = list(STEPS)
        for name in names[names.index(base or names[0]) :]:
            count = STEPS[name].periods(shown)
            if name == base or (3 <= count < distinct and self._fits(name, lines)):
                steps[name] = min(count, distinct) > most

        return base, steps

    def _fits(self, step: str, lines: int) -> bool:
        return step in STEPS and STEPS[step].periods(self.span) * lines <= _MOST_CELLS

    def incomplete(self, step: str) -> dict[str, pd.Timestamp]:
        """Return the starts of the first and last periods, if the times cover only part of them."""
        is_whole = step in {"", self.base} or STEPS[step].seconds < DAY
        if self.distinct is None or is_whole:
            return {}

        days: Any = self.distinct.normalize().unique()
        counts = days.to_period(STEPS[step].period).value_counts(sort=False)
        if len(counts) < 3:
            return {}

        usual = 0.9 * counts.iloc[1:-1].median()
        gap = pd.Series(days).diff().quantile(0.99)
        first, last = counts.index[[0, -1]]
        parts = {}
        if counts.iloc[0] < usual or days[0] - first.start_time >= gap:
            parts["first"] = first.start_time
        if counts.iloc[-1] < usual or last.end_time.normalize() - days[-1] >= gap:
            parts["last"] = last.start_time
        return parts


@dataclass(slots=True, eq=False)
class Plan:
    """What to draw; without `x`, the rows in order."""

    kind: str
    x: ChartColumn | None
    y: ChartColumn
    colour: ChartColumn | None = None
    # The column of the colours, if its values are lines.
    lines: ChartColumn | None = None
    times: Times | None = None  # of `x`
    step: str = ""
    base: str = ""
    show: str = "value"
    year: int = 0  # its number of points
    counts: bool = False  # counts rows, because no column is a measure
    # Tells whole periods from periods to date; they are never added up.
    to_date: ChartColumn | None = None
    over: Sequence[str] = ()
    most_lines: int = _USUAL_LINES
    most_points: int = POINTS_OF_A_LINE
    split: ChartColumn | None = None  # each of its values has a panel
    choices: list[Json] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def is_over_time(self) -> bool:
        return self.kind in {"line", "area", "stack"}

    @property
    def keeps(self) -> str:
        """Which values of `to_date` to keep: who asks for periods to date gets one for each whole period."""
        if not self.to_date:
            return "False"
        return str((self.to_date.data == "True").mean() >= 0.5)

    @property
    def starts_at_zero(self) -> bool:
        """Whether the axis of values begins at zero, as it must for amounts and changes."""
        if self.kind == "scatter":
            return False
        if self.show == "growth" or self.y.percent:
            return True
        return self.y.additive and self.show != "index"

    @property
    def how(self) -> str:
        """How the values of several rows become one."""
        if self.counts:
            return "number of rows"
        if self.y.additive:
            return "sum"
        return "mean"

    @property
    def aggregation(self) -> tuple[str, bool]:
        """The step by which rows are aggregated first, and whether they are summed; a mean of these sums may follow."""
        if self.show == "average":
            return "day", self.y.additive

        is_irregular = self.times and self.step and not self.base
        of_rows = is_irregular and self.show == "value" and not self.counts
        sums = bool(self.x) and self.y.additive and not of_rows
        if sums and self.base and self.show != "sum":
            return self.base, sums
        return self.step, sums

    def offer(
        self,
        name: str,
        label: str,
        value: str,
        options: Mapping[str, str],
        off: Sequence[str] = (),
    ) -> None:
        offered = [
            {"value": option, "label": text, "disabled": option in off}
            for option, text in options.items()
        ]
        self.choices.append(
            {"name": name, "label": label, "value": value, "options": offered}
        )


class Planner:
    """The columns of a frame, by their roles in a chart."""

    def __init__(self, frame: pd.DataFrame, about: str) -> None:
        self.about = about
        self.columns = read(frame, about, _MOST_COLUMNS)
        self.left_out = frame.shape[1] - len(self.columns)
        self.measures = [
            column for column in self._of(Role.MEASURE) if column.data.notna().any()
        ]
        name = "Rows"
        if _chosen(self.columns, name):
            name = "Number of rows"
        self._ones = ChartColumn(
            name,
            Role.MEASURE,
            pd.Series(np.ones(len(frame), np.int8)),
            additive=True,
            made="1",
        )
        self._dimensions = sorted(
            self._of(Role.DIMENSION),
            key=lambda column: (_is_flag(column), is_key(column.name)),
        )
        self._follows = cache(_follows)
        self._times_of = cache(Times)
        self.ranked = cache(self._largest_first)
        axes = self._axes()
        self._periods = {
            f"period:{axis.name}": axis for axis in axes if axis.role is Role.PERIOD
        }
        self._times = [axis for axis in axes if axis.role is Role.TIME]
        to_date = (column for column in self._dimensions if is_to_date(column.name))
        self._to_date = next(to_date, None)

    @cached_property
    def _categories(self) -> list[ChartColumn]:
        """The dimensions; without a measure those of which rows can be counted, because several have one value."""
        if self.measures:
            return self._dimensions
        most = len(self._ones.data) / 2
        return [column for column in self._dimensions if column.distinct <= most]

    def _axes(self) -> list[ChartColumn]:
        """Return the columns of periods and times that tell rows apart in different ways."""
        axes: list[ChartColumn] = []
        follows = self._follows
        columns = [*self._of(Role.PERIOD), *self._of(Role.TIME)]
        for column in columns[:_MOST_AXES]:
            if not any(
                follows(column, other) and follows(other, column) for other in axes
            ):
                axes.append(column)

        return axes

    def _of(self, role: Role) -> list[ChartColumn]:
        return [
            column
            for column in self.columns
            if column.role is role and (role is Role.MEASURE or column.varies)
        ]

    def plan(self, wish: ChartWish, zoom: Zoom) -> Plan | str:
        """Return the plan for the user's wish, or a sentence that says why there is nothing to draw."""
        if why := self._nothing():
            return why

        measures = self.measures or [self._ones]
        y = _chosen(measures, wish.measure) or measures[0]
        along = self._along(wish)
        kinds = self._kinds(along)
        plan = Plan("", along, y, counts=not self.measures, notes=self._lacking(wish))
        plan.kind = _possible(plan, wish.kind or kinds[0], kinds)
        labels = {kind: KINDS[kind].label for kind in kinds}
        plan.offer("kind", "Kind of chart", plan.kind, labels)
        plan.offer("measure", "Measure", y.name, _names(measures))
        self._group(plan, wish)
        if plan.is_over_time and along:
            self._place_in_time(plan, along, wish, zoom)
        elif plan.kind == "scatter":
            self._oppose(plan, wish)
        return plan

    def _nothing(self) -> str:
        if not self.columns:
            return "The result has no columns: there is nothing to draw."

        rows = len(self._ones.data)
        if not rows:
            return "The result has no rows: there is nothing to draw."
        if rows == 1:
            return "The result is one row: a chart of it would show less than the table does."
        if not self.measures and not self._categories:
            return "There is nothing to draw: no column holds measured values or categories."
        return ""

    def _kinds(self, along: ChartColumn | None) -> list[str]:
        """Return the kinds of charts that the columns can be drawn as, the usual one first."""
        can = {
            "line": along or not self._categories,
            "bar": self._categories or self._of(Role.PERIOD),
            "area": along,
            "stack": along and self._categories,
            "scatter": len(self.measures) > 1,
            "histogram": self.measures,
        }
        return [kind for kind in KINDS if can[kind]]

    def _lacking(self, wish: ChartWish) -> list[str]:
        """Return a sentence for each column that the result lacks: another one had it."""
        names = {column.name for column in (*self.columns, self._ones)}
        wanted = dict.fromkeys(filter(None, (wish.measure, wish.colour, wish.split)))
        return [
            f"The result has no column {quote(name)}."
            for name in wanted
            if name not in names
        ]

    def _group(self, plan: Plan, wish: ChartWish) -> None:
        """Choose the columns of colours and panels, and what is left out of each point."""
        x = plan.x
        varying = [
            column
            for column in self._categories
            if not x or not self._follows(column, x)
        ]
        to_date = self._telling_apart(plan, varying)
        lines = [*self._groups_of_lines({*varying, to_date})]
        colour = self._coloured(plan, wish, lines, varying)
        splits = [column for column in lines if column not in {colour, x}]
        split = _chosen(splits, wish.split)
        if splits:
            plan.offer("split", "Split by", _name(split), {"": "None"} | _names(splits))

        plan.colour = colour
        plan.split = split
        plan.over = [*map(_counted, self._varying_within(varying, (colour, split)))]
        if to_date not in {colour, split, x}:
            plan.to_date = to_date
        if plan.kind == "bar":
            plan.x = colour
        else:
            plan.lines = colour
        if plan.kind == "histogram":
            plan.x = None
        if split:
            plan.most_lines = COLOURS
        elif wish.all:
            plan.most_lines = _MOST_LINES

    def _groups_of_lines(
        self, telling: Collection[ChartColumn | None]
    ) -> Iterator[ChartColumn]:
        """Yield the columns that may colour lines: of flags only those that tell rows apart."""
        for column in self._categories:
            if column.distinct <= _MOST_GROUPS and (
                not _is_flag(column) or column in telling
            ):
                yield column

    def _telling_apart(
        self, plan: Plan, varying: Iterable[ChartColumn]
    ) -> ChartColumn | None:
        """Return the column that tells rows apart which are never brought together: of means any flag."""
        if self._to_date or plan.y.additive or plan.kind in ROWS_APART:
            return self._to_date
        return next(filter(_is_flag, varying), None)

    def _coloured(
        self,
        plan: Plan,
        wish: ChartWish,
        lines: list[ChartColumn],
        varying: list[ChartColumn],
    ) -> ChartColumn | None:
        """Choose the column of the colours, or of the bars."""
        if plan.kind == "bar":
            groups = [*self._categories, *self._of(Role.PERIOD)]
            groups.sort(key=_is_flag)
            bars = _chosen(groups, wish.colour) or groups[0]
            plan.offer("colour", "Bars for", bars.name, _names(groups))
            return bars

        if (
            plan.kind == "histogram"
            or not lines
            or not (plan.x or plan.kind == "scatter")
        ):
            return None

        colour = _chosen(lines, wish.colour)
        if wish.colour != "" and not colour:
            usual = (
                column for column in lines if column in varying and not _is_flag(column)
            )
            colour = next(usual, None)

        plan.offer(
            "colour", "Colour by", _name(colour), _names(lines) | {"": "Nothing"}
        )
        return colour

    def _varying_within(
        self, varying: Iterable[ChartColumn], drawn: Iterable[ChartColumn | None]
    ) -> Iterator[ChartColumn]:
        """Yield the columns of which the rows of a point have several values."""
        for column in varying:
            is_drawn = any(other and self._follows(column, other) for other in drawn)
            if not is_drawn and not _is_flag(column):
                yield column

    def _oppose(self, plan: Plan, wish: ChartWish) -> None:
        """Choose the measure that another one is drawn against."""
        others = [measure for measure in self.measures if measure is not plan.y]
        plan.x = _chosen(others, wish.x) or others[0]
        plan.offer("x", "Against", plan.x.name, _names(others))

    def labels(
        self, column: ChartColumn | None, names: Sequence[str]
    ) -> dict[str, str]:
        """Return what a column beside this one calls its values: companies beside their symbols."""
        if not column or is_label(column.name):
            return {}

        beside = (other for other in self._dimensions if is_label(other.name))
        label = next((other for other in beside if self._follows(other, column)), None)
        if not label:
            return {}

        pairs = pd.DataFrame({"name": column.data, "label": label.data}).dropna()
        pairs = pairs[pairs["name"].isin(names)].drop_duplicates("name")
        return dict(pairs.astype(str).map(inert).to_numpy().tolist())

    def _along(self, wish: ChartWish) -> ChartColumn | None:
        """Return the column for the x axis: the finer of period and time, unless it is finer only for a few rows."""
        if period := self._periods.get(wish.points or ""):
            return period

        period = next(iter(self._periods.values()), None)
        time = _chosen(self._times, wish.x) or next(iter(self._times), None)
        if not time or not period or wish.points in STEPS or wish.x:
            return time or period

        distinct = self._times_of(time).distinct
        if distinct is None or len(distinct) > 2.5 * period.distinct:
            return time
        return period

    def _place_in_time(
        self, plan: Plan, x: ChartColumn, wish: ChartWish, zoom: Zoom
    ) -> None:
        """Choose the period of each point, and how to show its value."""
        lines = _count(plan.colour, plan.most_lines) * _count(plan.split, MOST_PANELS)
        plan.most_points = min(POINTS_OF_A_LINE, _MOST_VALUES // lines)
        axis = x if x.role is Role.TIME else next(iter(self._times), None)
        base = ""
        steps: dict[str, bool] = {}
        if axis:
            base, steps = self._times_of(axis).steps(lines, plan.most_points, zoom)
        if x.role is Role.PERIOD:
            plan.year = _periods_of_a_year(x)
        else:
            plan.times = self._times_of(x)
            plan.base = base
            _choose_step(plan, wish, steps)

        ways = _ways(plan)
        _choose_way(plan, wish, ways)
        self._offer_points(plan, x, steps)
        if len(self._times) > 1:
            plan.offer("x", "Along", _name(axis), _names(self._times))
        shown = dict(_SHOWN)
        if ways["sum"] and plan.base:
            shown["value"] = f"Mean per {plan.base}"
        off = [way for way in shown if not ways[way]]
        plan.offer("show", "Show as", plan.show, shown, off)

    def _offer_points(
        self, plan: Plan, x: ChartColumn, steps: Mapping[str, bool]
    ) -> None:
        """Offer the columns of periods and the steps of times, of which those that need a zoom are off."""
        labels = {name: _label(period) for name, period in self._periods.items()}
        off = []
        for step, makes_too_many in steps.items():
            labels[step] = step.capitalize() or "Every time"
            if makes_too_many:
                labels[step] += " (zoom in)"
                off.append(step)

        if plan.show == "average":
            labels = {"day": "Day"}
        plan.offer("points", "Points", plan.step or f"period:{x.name}", labels, off)

    def calendars_differ(self, x: ChartColumn | None, rows: Any) -> bool:
        """Return whether quarters of the same name differ; `rows` are those drawn."""
        if not x or x.role is not Role.PERIOD:
            return False

        periods = x.data
        if self._to_date:
            periods = periods.mask(self._to_date.data == "True")
        dates = [column.data.iloc[rows] for column in self._of(Role.TIME)]
        return calendars_differ(periods.iloc[rows], dates)

    def _largest_first(self, colour: ChartColumn) -> list[str]:
        """Return the categories of a column, largest first: by the first measure that adds up, or else by rows."""
        adding = (measure for measure in self.measures if measure.additive)
        by = next(adding, self._ones)
        sums = by.data.abs().groupby(colour.filled, observed=True).sum()
        return list(sums.sort_values(ascending=False, kind="stable").index)


def calendars_differ(periods: pd.Series[Any], dates: Iterable[pd.Series[Any]]) -> bool:
    """Return whether fiscal quarters of the same name start or end on different days."""
    if "Q" not in str(next(iter(periods.dropna()), "")).upper():
        return False
    ends = [days for days in dates if {"start", "end"} & {*words(str(days.name))}]
    return any(
        days.groupby(periods, observed=True).nunique().max() > 1 for days in ends
    )


def _possible(plan: Plan, kind: str, kinds: Sequence[str]) -> str:
    """Return a kind of chart, or if it isn't possible the usual one, and note why."""
    if kind == "stack" and kind in kinds and not plan.y.additive:
        plan.notes.append(
            f"Stacked areas add values up, and {plan.y.name} doesn't add up."
        )
        return "line"

    if kind not in kinds:
        plan.notes.append(f"{KINDS[kind].label} need {KINDS[kind].needs}.")
        return kinds[0]

    return kind


def _choose_step(plan: Plan, wish: ChartWish, steps: Mapping[str, bool]) -> None:
    possible = [step for step in steps if not steps[step]]
    plan.step = [*possible, "year"][0]
    if wish.points in possible:
        plan.step = wish.points
    if plan.base and plan.times and plan.times.span > 400:
        plan.year = STEPS[plan.step].year


def _choose_way(plan: Plan, wish: ChartWish, ways: Mapping[str, bool]) -> None:
    show = wish.show
    if not show and not plan.base:
        show = "sum"
    if show and ways.get(show):
        plan.show = show
    if plan.show == "average":
        plan.step = "day"


def _count(column: ChartColumn | None, most: int) -> int:
    if not column:
        return 1
    return min(column.distinct, most)


def _ways(plan: Plan) -> dict[str, bool]:
    """Return the ways to show values, and whether these can be shown so."""
    times = plan.times
    is_fine = plan.base != "" and STEPS[plan.base].seconds <= DAY
    compares = not plan.y.percent and plan.kind != "stack"
    return {
        "value": True,
        "sum": plan.y.additive and plan.step not in {"", plan.base},
        "average": times is not None and times.span >= 14 and is_fine,
        "index": compares,
        "growth": compares and plan.year > 0,
    }


def _periods_of_a_year(x: ChartColumn) -> int:
    """Return the number of named periods in a year; 0 if any is missing."""
    periods = [period_parts(str(name)) or (0, "") for name in x.data.cat.categories]
    letters = {part[:1] for _, part in periods}
    count = {"": 1, "H": 2, "Q": 4}.get("".join(letters), 0)
    places = [year * count + int(part[1:] or 1) for year, part in periods]
    if len(places) > count and set(np.diff(places)) == {1}:
        return count
    return 0


def _follows(column: ChartColumn, other: ChartColumn) -> bool:
    """Return whether rows with the same value of `other` have the same value of `column`."""
    pairs = pd.DataFrame({"other": other.data, "column": column.data}).dropna()
    pairs = pairs[:: max(1, len(pairs) // _SAMPLE)].drop_duplicates()
    return not bool(pairs["other"].duplicated().any())


def _label(period: ChartColumn) -> str:
    if str(period.data.cat.categories[0]).startswith("FQ"):
        return "Fiscal quarter"
    return period.name


def _chosen(columns: Iterable[ChartColumn], name: str | None) -> ChartColumn | None:
    return next((column for column in columns if column.name == name), None)


def _name(column: ChartColumn | None) -> str:
    if not column:
        return ""
    return column.name


def _names(columns: Iterable[ChartColumn]) -> dict[str, str]:
    return {column.name: column.name for column in columns}


def _counted(column: ChartColumn) -> str:
    """Return the name of a column; with the number of its values if it has too many to colour by."""
    if column.distinct <= _MOST_GROUPS:
        return column.name
    return (
        f"{column.name} ({column.distinct:,} values; Colour by takes {_MOST_GROUPS:,})"
    )


def _is_flag(column: ChartColumn) -> bool:
    return column.distinct <= 2 and set(column.data.cat.categories) <= {"True", "False"}

"""Choose the chart of a frame: its x axis, measure and colours, the period of each point, and the other choices."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from jupyter_funcs.frames.roles import (
    ChartColumn,
    Role,
    is_key,
    is_to_date,
    period_parts,
    read,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from jupyter_funcs.panel.requests import ChartWish, Json

    Array = np.ndarray[Any, np.dtype[Any]]
    Zoom = tuple[float, float] | None

POINTS_OF_A_LINE = 600  # about as many as it has pixels
_MOST_VALUES = 24_000  # of all lines
_MOST_COLUMNS = 100  # of one type, to choose from
_SAMPLE = 1_000_000  # rows by which columns are compared
_MOST_LINES = 200
_USUAL_LINES = 40
_MOST_GROUPS = 1000  # categories by which to colour
_MOST_AXES = 8  # columns of times and periods to compare with each other
_MOST_CELLS = 5_000_000  # of the table of sums
_MOST_TIMES = 200_000  # distinct ones; more count as irregular
_DAY = 86_400_000_000  # microseconds
_SHOWN = {
    "value": "Value",
    "sum": "Sum",
    "average": "7-day average",
    "index": "Index, first = 100",
    "growth": "Change from a year before",
}


class Step(NamedTuple):
    """A period that a point can cover: its length in seconds, its pandas period and rule, and its number in a year."""

    seconds: int
    period: str
    rule: str
    year: int

    def periods(self, days: float) -> float:
        """Return the number of its periods in so many days."""
        return days * 86_400 / self.seconds + 1


STEPS = {
    "second": Step(1, "s", "s", 0),
    "minute": Step(60, "min", "min", 0),
    "hour": Step(3600, "h", "h", 364 * 24),
    "day": Step(86_400, "D", "D", 364),  # the same day of the week
    "week": Step(604_800, "W", "W-MON", 52),
    "month": Step(2_629_800, "M", "MS", 12),
    "quarter": Step(7_889_400, "Q", "QS", 4),
    "year": Step(31_557_600, "Y", "YS", 1),
}


def days_of(times: Any) -> list[float]:
    """Return times as days since 1970."""
    days: list[float] = (np.asarray(times, "datetime64[us]").astype(np.int64) / _DAY).tolist()
    return days


def time_of(day: float) -> pd.Timestamp:
    """Return the time so many days after the start of 1970."""
    return pd.Timestamp(np.datetime64(round(max(-719_000, min(day, 2_900_000)) * _DAY), "us"))


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
        return times.sort_values() if len(times) <= _MOST_TIMES else None

    @cached_property
    def base(self) -> str:
        """The step from one time to the next; empty if they are irregular."""
        times = self.distinct
        if times is None or len(times) < 2:
            return ""
        clock = ("day", "hour", "minute", "second")
        exact = next((step for step in clock if times.equals(times.floor(STEPS[step].rule))), "")
        for step in ("year", "quarter", "month", "week") if exact == "day" else ():
            periods = times.to_period(STEPS[step].period)
            if (
                len(times) >= max(3, 0.8 * (periods.asi8[-1] - periods.asi8[0] + 1))
                and periods.is_unique
            ):
                return step
        return exact if exact and len(times) >= 0.1 * STEPS[exact].periods(self.span) else ""

    def steps(self, lines: int, most: int, zoom: Zoom) -> tuple[str, dict[str, bool]]:
        """Return the step of the times, and each step that points can have, with whether that makes too many points."""
        low, high = zoom or self.days
        low = max(low, self.days[0])
        high = min(high, self.days[1])
        shown = high - low if low < high else self.span
        distinct = math.inf if self.distinct is None else len(self.distinct)
        base = self.base
        names = list(STEPS)
        if base and STEPS[base].periods(self.span) * lines > _MOST_CELLS:
            base = ""
        steps = {"": False} if not base and distinct <= most else {}
        for name in names[names.index(base or names[0]) :]:
            step = STEPS[name]
            count = step.periods(shown)
            if name == base or (
                count >= 3 and step.periods(self.span) * lines <= _MOST_CELLS and count < distinct
            ):
                steps[name] = min(count, distinct) > most
        return base, steps

    def incomplete(self, step: str) -> dict[str, pd.Timestamp]:
        """Return the starts of the first and last periods, if the times cover only part of them."""
        if (
            self.distinct is None
            or step in {"", self.base}
            or STEPS[step].seconds < STEPS["day"].seconds
        ):
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


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What to draw; without `x`, the rows in order."""

    kind: str
    x: ChartColumn | None
    y: ChartColumn
    colour: ChartColumn | None = None
    lines: ChartColumn | None = None  # the column of the colours, if its values are lines
    times: Times | None = None  # of `x`
    step: str = ""
    base: str = ""
    show: str = "value"
    year: int = 0  # its number of points
    counts: bool = False  # counts rows, because no column is a measure
    to_date: ChartColumn | None = (
        None  # tells whole periods from periods to date; they are never added up
    )
    keeps: str = "False"  # which of its values to keep
    over: tuple[str, ...] = ()
    most_lines: int = _USUAL_LINES
    most_points: int = POINTS_OF_A_LINE
    choices: list[Json] = field(default_factory=list)

    @property
    def how(self) -> str:
        """How the values of several rows become one."""
        if self.counts:
            return "number of rows"
        return "sum" if self.y.additive else "mean"

    @property
    def first(self) -> tuple[str, bool]:
        """The step by which rows are aggregated first, and whether they are summed; a mean of these sums may follow."""
        if self.show == "average":
            return "day", self.y.additive
        of_rows = (
            bool(self.times and self.step)
            and not self.base
            and self.show == "value"
            and not self.counts
        )
        totals = self.y.additive and not of_rows and bool(self.x)
        return (self.base if totals and self.base and self.show != "sum" else self.step), totals

    def offer(
        self, name: str, label: str, value: str, options: Mapping[str, str], off: Sequence[str] = ()
    ) -> None:
        offered = [
            {"value": option, "label": text, "disabled": option in off}
            for option, text in options.items()
        ]
        self.choices.append({"name": name, "label": label, "value": value, "options": offered})


class Planner:
    """The columns of a frame, by their roles in a chart."""

    def __init__(self, frame: pd.DataFrame, about: str) -> None:
        self.columns = read(frame, about, _MOST_COLUMNS)
        self.left_out = frame.shape[1] - len(self.columns)
        self.measures = [column for column in self._of(Role.MEASURE) if column.data.notna().any()]
        name = "Number of rows" if any(column.name == "Rows" for column in self.columns) else "Rows"
        self._count = ChartColumn(
            name, Role.MEASURE, pd.Series(np.ones(len(frame), np.int8)), additive=True, made="1"
        )
        self._dimensions = sorted(
            self._of(Role.DIMENSION), key=lambda column: (_is_flag(column), is_key(column.name))
        )
        self._follows = cache(_follows)
        self._times_of = cache(Times)
        self.ranked = cache(self._largest_first)
        axes: list[ChartColumn] = []  # columns that tell rows apart in different ways
        for column in [*self._of(Role.PERIOD), *self._of(Role.TIME)][:_MOST_AXES]:
            if not any(
                self._follows(column, axis) and self._follows(axis, column) for axis in axes
            ):
                axes.append(column)
        self._periods = {f"period:{axis.name}": axis for axis in axes if axis.role is Role.PERIOD}
        self._times = [axis for axis in axes if axis.role is Role.TIME]
        self._to_date = next(
            (column for column in self._dimensions if is_to_date(column.name)), None
        )

    def _of(self, role: Role) -> list[ChartColumn]:
        return [
            column
            for column in self.columns
            if column.role is role and (role is Role.MEASURE or column.varies)
        ]

    def plan(self, wish: ChartWish, zoom: Zoom) -> Plan | str:
        """Return the plan for the user's wish, or a sentence that says why there is nothing to draw."""
        rows = len(self._count.data)
        if not self.columns or not rows:
            return f"The result has no {'rows' if self.columns else 'columns'}: there is nothing to draw."
        measures = self.measures or [self._count]
        y = _chosen(measures, wish.measure) or measures[0]
        # Counting rows makes sense only if categories have several.
        dimensions = [
            column for column in self._dimensions if self.measures or column.distinct <= rows / 2
        ]
        if not self.measures and not dimensions:
            return "There is nothing to draw: no column holds measured values or categories."
        x = self._along(wish)
        to_date = self._to_date
        varying = [column for column in dimensions if not x or not self._follows(column, x)]
        if not y.additive:  # what a flag tells apart has no mean
            to_date = to_date or next(filter(_is_flag, varying), None)
        groups = usual = [*dimensions, *self._of(Role.PERIOD)]
        kinds = {"line": "Lines"} if x or not dimensions else {}
        kinds |= {"bar": "Bars"} if groups else {}
        kind = wish.kind if wish.kind in kinds else next(iter(kinds))
        if kind == "line":
            groups = _groups_of_lines(dimensions, {*varying, to_date}) if x else []
            usual = [column for column in groups if column in varying and not _is_flag(column)]
            usual = usual if wish.colour != "" else []
        colour = _chosen(groups, wish.colour) or next(iter(usual), None)
        plan = Plan(
            kind,
            colour if kind == "bar" else x,
            y,
            colour,
            colour if kind == "line" else None,
            counts=not self.measures,
            to_date=to_date if to_date not in {colour, x} else None,
            # A user who asks for periods to date gets one for each whole period.
            keeps=str(bool(to_date and (to_date.data == "True").mean() >= 0.5)),
            over=tuple(
                _named(column)
                for column in varying
                if column is not colour and not _is_flag(column)
            ),
            most_lines=_MOST_LINES if wish.all else _USUAL_LINES,
        )
        plan.offer("kind", "Kind of chart", kind, kinds)
        plan.offer("measure", "Measure", y.name, _names(measures))
        if groups:
            label = "Bars for" if kind == "bar" else "Colour by"
            nothing = {} if kind == "bar" else {"": "Nothing"}
            plan.offer("colour", label, colour.name if colour else "", _names(groups) | nothing)
        return self._stepped(plan, x, wish, zoom) if kind == "line" and x else plan

    def _along(self, wish: ChartWish) -> ChartColumn | None:
        """Return the column for the x axis: the finer of period and time, unless it is finer only for a few rows."""
        if period := self._periods.get(wish.points or ""):
            return period
        periods = list(self._periods.values())
        time = _chosen(self._times, wish.x) or next(iter(self._times), None)
        if not time or not periods or wish.points in STEPS or wish.x:
            return time or next(iter(periods), None)
        distinct = self._times_of(time).distinct
        return time if distinct is None or len(distinct) > 2.5 * periods[0].distinct else periods[0]

    def _stepped(self, plan: Plan, x: ChartColumn, wish: ChartWish, zoom: Zoom) -> Plan:
        """Choose the period of each point, and how to show its value."""
        times = self._times_of(x) if x.role is Role.TIME else None
        axis = x if times else next(iter(self._times), None)
        lines = min(plan.colour.distinct, plan.most_lines) if plan.colour else 1
        most = min(POINTS_OF_A_LINE, _MOST_VALUES // lines)
        base, steps = self._times_of(axis).steps(lines, most, zoom) if axis else ("", {})
        labels = {name: _label(period) for name, period in self._periods.items()}
        for step, are_many in steps.items():
            labels[step] = (step.capitalize() or "Every time") + " (zoom in)" * are_many
        off = [step for step in steps if steps[step]]
        if times:
            can = [step for step in steps if step not in off]
            step = wish.points if wish.points in can else next(iter(can), "year")
            year = STEPS[step].year if base and times.span > 400 else 0
        else:
            base = ""
            step = f"period:{x.name}"
            year = _periods_of_a_year(x)
        can_show = {
            "value": True,
            "sum": times and plan.y.additive and step not in {"", base},
            "average": times and times.span >= 14 and base in {"day", "hour", "minute", "second"},
            "index": not plan.y.percent,
            "growth": year and not plan.y.percent,
        }
        show = wish.show or ("value" if base else "sum")
        show = show if can_show.get(show) else "value"
        if show == "average":
            step = "day"
            labels = {"day": "Day"}
        plan = replace(
            plan,
            times=times,
            step=step if times else "",
            base=base,
            show=show,
            year=year,
            most_points=most,
        )
        plan.offer("points", "Points", step, labels, off)
        if axis and len(self._times) > 1:
            plan.offer("x", "Along", axis.name, _names(self._times))
        shown = _SHOWN | ({"value": f"Mean per {base}"} if can_show["sum"] and base else {})
        plan.offer("show", "Show as", show, shown, [way for way in shown if not can_show[way]])
        return plan

    def calendars_differ(self, x: ChartColumn | None, rows: Any) -> bool:
        """Return whether quarters of the same name start or end on different days; `rows` are those drawn."""
        if not x or x.role is not Role.PERIOD or "Q" not in str(x.data.cat.categories[0]).upper():
            return False
        whole = x.data
        if self._to_date:
            whole = whole.mask(self._to_date.data == "True")
        dates = [
            column.data
            for column in self._of(Role.TIME)
            if {"start", "end"} & {*words(column.name)}
        ]
        return any(
            days.iloc[rows].groupby(whole.iloc[rows], observed=True).nunique().max() > 1
            for days in dates
        )

    def _largest_first(self, colour: ChartColumn) -> list[str]:
        """Return the categories of a column, largest first: by the first measure that adds up, or else by rows."""
        by = next((measure for measure in self.measures if measure.additive), self._count).data
        sums = by.abs().groupby(colour.filled, observed=True).sum()
        return list(sums.sort_values(ascending=False, kind="stable").index)


def _periods_of_a_year(x: ChartColumn) -> int:
    """Return the number of named periods in a year; 0 if any is missing."""
    periods = [period_parts(str(name)) or (0, "") for name in x.data.cat.categories]
    count = {"": 1, "H": 2, "Q": 4}.get("".join({part[:1] for _, part in periods}), 0)
    places = [year * count + int(part[1:] or 1) for year, part in periods]
    return count if len(places) > count and set(np.diff(places)) == {1} else 0


def _follows(column: ChartColumn, other: ChartColumn) -> bool:
    """Return whether rows with the same value of `other` have the same value of `column`."""
    pairs = pd.DataFrame({"other": other.data, "column": column.data}).dropna()
    pairs = pairs[:: max(1, len(pairs) // _SAMPLE)].drop_duplicates()
    return not bool(pairs["other"].duplicated().any())


def _label(period: ChartColumn) -> str:
    return "Fiscal quarter" if str(period.data.cat.categories[0]).startswith("FQ") else period.name


def _chosen(columns: Iterable[ChartColumn], name: str | None) -> ChartColumn | None:
    return next((column for column in columns if column.name == name), None)


def _names(columns: Iterable[ChartColumn]) -> dict[str, str]:
    return {column.name: column.name for column in columns}


def _named(column: ChartColumn) -> str:
    many = f" ({column.distinct:,} values; Colour by takes {_MOST_GROUPS:,})"
    return column.name + many * (column.distinct > _MOST_GROUPS)


def _groups_of_lines(
    dimensions: Sequence[ChartColumn], telling: Collection[ChartColumn | None]
) -> list[ChartColumn]:
    """Return the columns that may colour lines: of flags only those that tell rows apart."""
    return [
        column
        for column in dimensions
        if column.distinct <= _MOST_GROUPS and (not _is_flag(column) or column in telling)
    ]


def _is_flag(column: ChartColumn) -> bool:
    return column.distinct <= 2 and set(column.data.cat.categories) <= {"True", "False"}

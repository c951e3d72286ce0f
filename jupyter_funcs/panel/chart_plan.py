"""Choose the chart of a frame: its x axis, measure and colours, the period of each point, and the other choices."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from jupyter_funcs.frames.roles import ChartColumn, Role, is_key, is_to_date, period_parts, read, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jupyter_funcs.panel.requests import ChartWish, Json

    Array = np.ndarray[Any, np.dtype[Any]]
    Zoom = tuple[float, float] | None

POINTS_OF_A_LINE = 600  # about as many as it has pixels
_MOST_VALUES = 24_000  # of all lines
_MOST_COLUMNS = 100  # of one type, to choose from
_SAMPLE = 1_000_000  # rows by which columns are compared
_MOST_LINES, _USUAL_LINES = 200, 40
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


def day_of(time: Any) -> float:
    """Return a time as days since 1970; whole days as integers."""
    days = int(pd.Timestamp(time).to_datetime64().astype("datetime64[us]").astype(np.int64)) / _DAY
    return int(days) if days == int(days) else days


def time_of(day: float) -> pd.Timestamp:
    """Return the time so many days after the start of 1970."""
    return pd.Timestamp(np.datetime64(round(max(-719_000, min(day, 2_900_000)) * _DAY), "us"))


class Times:
    """The times of a column: their step, and the periods they cover."""

    def __init__(self, column: ChartColumn) -> None:
        self.data = column.data
        self.days = day_of(self.data.min()), day_of(self.data.max())
        self.span = self.days[1] - self.days[0]

    @cached_property
    def distinct(self) -> pd.DatetimeIndex | None:
        """The distinct times in order; ``None`` if there are too many."""
        found = pd.DatetimeIndex(self.data.dropna().unique())
        return found.sort_values() if len(found) <= _MOST_TIMES else None

    @cached_property
    def base(self) -> str:
        """The step from one time to the next; empty if they are irregular."""
        times = self.distinct
        if times is None or len(times) < 2:
            return ""
        clock = ("day", "hour", "minute", "second")
        exact = next((step for step in clock if times.equals(times.floor(STEPS[step].rule))), "")
        for step in ("year", "quarter", "month", "week") * (exact == "day"):
            periods = times.to_period(STEPS[step].period)
            if len(times) >= max(3, 0.8 * (periods.asi8[-1] - periods.asi8[0] + 1)) and periods.is_unique:
                return step
        return exact if exact and len(times) >= 0.1 * (self.span * 86_400 // STEPS[exact].seconds + 1) else ""

    def steps(self, lines: int, most: int, zoom: Zoom) -> tuple[str, dict[str, bool]]:
        """Return the step of the times, and each step that points can have, with whether that makes too many points."""
        low, high = (max(zoom[0], self.days[0]), min(zoom[1], self.days[1])) if zoom else self.days
        seconds, shown = self.span * 86_400, (high - low if low < high else self.span) * 86_400
        known = math.inf if self.distinct is None else len(self.distinct)
        base = self.base if not self.base or seconds / STEPS[self.base].seconds * lines <= _MOST_CELLS else ""
        steps = {"": False} if not base and known <= most else {}
        for step in list(STEPS)[list(STEPS).index(base) if base else 0 :]:
            count, whole = (each / STEPS[step].seconds + 1 for each in (shown, seconds))
            if step == base or (count >= 3 and whole * lines <= _MOST_CELLS and count < known):
                steps[step] = min(count, known) > most
        return base, steps

    def incomplete(self, step: str) -> dict[str, pd.Timestamp]:
        """Return the starts of the first and last periods, if the times cover only part of them."""
        if self.distinct is None or step in {"", self.base} or STEPS[step].seconds < STEPS["day"].seconds:
            return {}
        days: Any = self.distinct.normalize().unique()
        counts = days.to_period(STEPS[step].period).value_counts(sort=False)
        if len(counts) < 3:
            return {}
        usual, gap = 0.9 * counts.iloc[1:-1].median(), pd.Series(days).diff().quantile(0.99)
        starts, ends = counts.index.to_timestamp(), (counts.index + 1).to_timestamp() - pd.Timedelta(days=1)
        parts = {"first": starts[0]} if counts.iloc[0] < usual or days[0] - starts[0] >= gap else {}
        return parts | ({"last": starts[-1]} if counts.iloc[-1] < usual or ends[-1] - days[-1] >= gap else {})


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
    to_date: ChartColumn | None = None  # tells whole periods from periods to date; they are never added up
    keeps: str = "False"  # which of its values to keep
    over: tuple[str, ...] = ()
    most_lines: int = _USUAL_LINES
    most_points: int = POINTS_OF_A_LINE
    choices: list[Json] = field(default_factory=list)

    @property
    def how(self) -> str:
        """How the values of several rows become one."""
        return "number of rows" if self.counts else "sum" if self.y.additive else "mean"

    @property
    def first(self) -> tuple[str, bool]:
        """The step by which rows are aggregated first, and whether they are summed; a mean of these sums may follow."""
        if self.show == "average":
            return "day", self.y.additive
        of_rows = bool(self.times and self.step) and not self.base and self.show == "value" and not self.counts
        totals = self.y.additive and not of_rows and self.x is not None
        return (self.base if totals and self.base and self.show != "sum" else self.step), totals

    def offer(self, name: str, label: str, value: str, options: Mapping[str, str], off: Sequence[str] = ()) -> None:
        offered = [{"value": each, "label": text, "disabled": each in off} for each, text in options.items()]
        self.choices.append({"name": name, "label": label, "value": value, "options": offered})


class Planner:
    """The columns of a frame, by their roles in a chart."""

    def __init__(self, frame: pd.DataFrame, about: str) -> None:
        self.columns = read(frame, about, _MOST_COLUMNS)
        self.left_out = frame.shape[1] - len(self.columns)
        self.measures = [each for each in self._of(Role.MEASURE) if each.data.notna().any()]
        name = "Rows" if "Rows" not in {each.name for each in self.columns} else "Number of rows"
        self._count = ChartColumn(name, Role.MEASURE, pd.Series(np.ones(len(frame), np.int8)), additive=True, made="1")
        self._dimensions = sorted(self._of(Role.DIMENSION), key=lambda each: (_is_flag(each), is_key(each.name)))
        self._follows, self._times_of, self.ranked = cache(_follows), cache(Times), cache(self._largest_first)
        axes: list[ChartColumn] = []  # columns that tell rows apart in different ways
        for each in [*self._of(Role.PERIOD), *self._of(Role.TIME)][:_MOST_AXES]:
            if not any(self._follows(each, other) and self._follows(other, each) for other in axes):
                axes.append(each)
        self._periods = {f"period:{each.name}": each for each in axes if each.role is Role.PERIOD}
        self._times = [each for each in axes if each.role is Role.TIME]

    def _of(self, role: Role) -> list[ChartColumn]:
        return [each for each in self.columns if each.role is role and (role is Role.MEASURE or each.varies)]

    def plan(self, wish: ChartWish, zoom: Zoom) -> Plan | str:
        """Return the plan for the user's wish, or a sentence that says why there is nothing to draw."""
        rows = len(self._count.data)
        if not self.columns or not rows:
            return f"The result has no {'rows' if self.columns else 'columns'}: there is nothing to draw."
        measures = {each.name: each for each in self.measures or [self._count]}
        y = measures.get(wish.measure or "", next(iter(measures.values())))
        # Counting rows makes sense only if categories have several.
        dimensions = [each for each in self._dimensions if self.measures or each.distinct <= rows / 2]
        if not self.measures and not dimensions:
            return "There is nothing to draw: no column holds measured values or categories."
        x = self._along(wish)
        to_date = next((each for each in dimensions if is_to_date(each.name)), None)
        varying = [each for each in dimensions if x is None or not self._follows(each, x)]
        kinds = {"line": "Lines"} if x is not None or not dimensions else {}
        kinds |= {"bar": "Bars"} if dimensions or self._of(Role.PERIOD) else {}
        kind = wish.kind if wish.kind in kinds else next(iter(kinds))
        if kind == "bar":
            groups = usual = [*dimensions, *self._of(Role.PERIOD)]
        else:
            groups = [each for each in dimensions if x is not None and each.distinct <= _MOST_GROUPS]
            groups = [each for each in groups if not _is_flag(each) or each in {*varying, to_date}]
            usual = [each for each in groups if each in varying and not _is_flag(each)]
        chosen = [each for each in groups if each.name == wish.colour] or usual * (kind == "bar" or wish.colour != "")
        colour = next(iter(chosen), None)
        plan = Plan(
            kind,
            colour if kind == "bar" else x,
            y,
            colour,
            colour if kind == "line" else None,
            counts=not self.measures,
            to_date=to_date if to_date not in {None, colour, x} else None,
            # A user who asks for periods to date gets one for each whole period.
            keeps=str(to_date is not None and bool((to_date.data == "True").mean() >= 0.5)),
            over=tuple(_named(each) for each in varying if each is not colour and not _is_flag(each)),
            most_lines=_MOST_LINES if wish.all else _USUAL_LINES,
        )
        plan.offer("kind", "Kind of chart", kind, kinds)
        plan.offer("measure", "Measure", y.name, {name: name for name in measures})
        if groups:
            colours = {each.name: each.name for each in groups} | ({} if kind == "bar" else {"": "Nothing"})
            label = "Bars for" if kind == "bar" else "Colour by"
            plan.offer("colour", label, colour.name if colour else "", colours)
        return self._stepped(plan, wish, zoom) if kind == "line" and x is not None else plan

    def _along(self, wish: ChartWish) -> ChartColumn | None:
        """Return the column for the x axis: the finer of period and time, unless it is finer only for a few rows."""
        if period := self._periods.get(wish.points or ""):
            return period
        periods, times = [*self._periods.values()], sorted(self._times, key=lambda each: each.name != wish.x)
        if not times or not periods or wish.points in STEPS or wish.x:
            return next(iter([*times, *periods]), None)
        known = self._times_of(times[0]).distinct
        return times[0] if known is None or len(known) > 2.5 * periods[0].distinct else periods[0]

    def _stepped(self, plan: Plan, wish: ChartWish, zoom: Zoom) -> Plan:
        """Choose the period of each point, and how to show its value."""
        assert plan.x is not None
        periods, axes = self._periods, self._times
        axis = plan.x if plan.x.role is Role.TIME else next(iter(axes), None)
        times = self._times_of(axis) if axis is not None else None
        lines = min(plan.colour.distinct, plan.most_lines) if plan.colour else 1
        most = min(POINTS_OF_A_LINE, _MOST_VALUES // lines)
        base, steps = times.steps(lines, most, zoom) if times is not None else ("", {})
        can = [step for step, are_many in steps.items() if not are_many]
        fiscal = [name for name, each in periods.items() if str(each.data.cat.categories[0])[:2] == "FQ"]
        labels = {name: each.name for name, each in periods.items()} | dict.fromkeys(fiscal, "Fiscal quarter")
        labels |= {step: (step.capitalize() or "Every time") + " (zoom in)" * (step not in can) for step in steps}
        if times is not None and axis is plan.x:
            step = wish.points if wish.points in can else next(iter(can), "year")
            year = STEPS[step].year if base and times.span > 400 else 0
        else:
            step, base, times, year = f"period:{plan.x.name}", "", None, _periods_of_a_year(plan.x)
        can_show = {
            "value": True,
            "sum": times is not None and plan.y.additive and step not in {"", base},
            "average": times is not None and times.span >= 14 and base in {"day", "hour", "minute", "second"},
            "index": not plan.y.percent,
            "growth": year > 0 and not plan.y.percent,
        }
        show = wish.show or ("sum" if can_show["sum"] and not base else "value")
        show = show if can_show.get(show) else "value"
        if show == "average":
            step, labels = "day", {"day": "Day"}
        plan = replace(plan, times=times, step=step if times else "", base=base, show=show, year=year, most_points=most)
        plan.offer("points", "Points", step, labels, [each for each in steps if each not in can])
        if axis is not None and len(axes) > 1:
            plan.offer("x", "Along", axis.name, {each.name: each.name for each in axes})
        shown = _SHOWN | ({"value": f"Mean per {base}"} if can_show["sum"] and base else {})
        plan.offer("show", "Show as", show, shown, [each for each in shown if not can_show[each]])
        return plan

    def calendars_differ(self, x: ChartColumn | None, rows: Any) -> bool:
        """Return whether quarters of the same name start or end on different days; `rows` are those drawn."""
        parts = period_parts(str(x.data.cat.categories[0])) if x is not None and x.role is Role.PERIOD else None
        if x is None or parts is None or not parts[1].startswith("Q"):
            return False
        dates = [each.data for each in self._of(Role.TIME) if not {"start", "end"}.isdisjoint(words(each.name))]
        to_date = [each.data == "True" for each in self._dimensions if is_to_date(each.name)]
        whole = x.data.mask(to_date[0]) if to_date else x.data
        return any(each.iloc[rows].groupby(whole.iloc[rows], observed=True).nunique().max() > 1 for each in dates)

    def _largest_first(self, colour: ChartColumn) -> list[str]:
        """Return the categories of a column, largest first: by the first measure that adds up, or else by rows."""
        by = next((each for each in self.measures if each.additive), self._count).data
        sums = by.abs().groupby(colour.filled, observed=True).sum()
        return list(sums.sort_values(ascending=False, kind="stable").index)


def _periods_of_a_year(x: ChartColumn) -> int:
    """Return the number of named periods in a year; 0 if any is missing."""
    parts = [period_parts(str(name)) for name in x.data.cat.categories]
    for letter, count in (("", 1), ("H", 2), ("Q", 4)):
        places = [part[0] * count + int(part[1][1:] or 1) for part in parts if part and part[1][:1] == letter]
        if len(places) == len(parts) > count and set(np.diff(places)) == {1}:
            return count
    return 0


def _follows(column: ChartColumn, other: ChartColumn) -> bool:
    """Return whether rows with the same value of `other` have the same value of `column`."""
    pairs = pd.DataFrame({"other": other.data, "column": column.data}).dropna()
    pairs = pairs[:: max(1, len(pairs) // _SAMPLE)].drop_duplicates()
    return not bool(pairs["other"].duplicated().any())


def _named(column: ChartColumn) -> str:
    many = f" ({column.distinct:,} values; Colour by takes {_MOST_GROUPS:,})"
    return column.name + many * (column.distinct > _MOST_GROUPS)


def _is_flag(column: ChartColumn) -> bool:
    return column.distinct <= 2 and set(column.data.cat.categories) <= {"True", "False"}

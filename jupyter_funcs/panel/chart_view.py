"""The chart of a frame: which one suits it, its points, and code that draws the same with pandas and matplotlib."""

from __future__ import annotations

import hashlib
import math
import re
import threading
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from jupyter_funcs.core.text import folded, listed
from jupyter_funcs.frames.display import MONEY
from jupyter_funcs.frames.roles import ChartColumn, Role, has_labels, is_key, period_parts, read, words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Array = np.ndarray[Any, np.dtype[Any]]
    View = dict[str, Any]  # ChartView of protocol.d.ts
    Zoom = tuple[float, float] | None

POINTS_OF_A_LINE = 600  # about as many as it has pixels
COLOURS = 8
_MOST_LINES, _USUAL_LINES = 200, 40
_MOST_VALUES = 24_000  # of all lines
_MOST_BARS = 50
_MOST_GROUPS = 1000  # categories by which to colour
_MOST_CELLS = 5_000_000  # of the table of sums
_MOST_TIMES = 200_000  # distinct ones, beyond which times are taken as irregular
_CHUNK = 1_000_000  # rows at a time, so that a large frame needs little memory
_MOST_VIEWS = 16  # kept
_COMPARABLE = 50  # measures of a single row are drawn while the largest is at most so many times the smallest
NO_VALUE = "(none)"
_CURRENCY = re.compile(r"\b(USD|EUR|GBP|CHF|JPY|CAD|AUD|CNY|INR)\b")
_DAY = 86_400_000_000  # microseconds


class Step(NamedTuple):
    """What a point can stand for: its length in seconds, the rule of pandas, and how many make about a year."""

    seconds: float
    rule: str
    year: int


STEPS = {
    "second": Step(1, "s", 0),
    "minute": Step(60, "min", 0),
    "hour": Step(3600, "h", 364 * 24),
    "day": Step(86_400, "D", 364),  # the same day of the week
    "week": Step(604_800, "W-MON", 52),
    "month": Step(2_629_800, "MS", 12),
    "quarter": Step(7_889_400, "QS", 4),
    "year": Step(31_557_600, "YS", 1),
}
_SHOWN = {
    "value": "Value",
    "sum": "Sum",
    "average": "7-day average",
    "index": "Index, first = 100",
    "growth": "Change from a year before",
}


def _places(times: Array, step: str) -> Array:
    """Return the numbers of the periods that times are in; times are microseconds since 1970."""
    if step in {"month", "quarter", "year"}:
        months = times.view("datetime64[us]").astype("datetime64[M]").astype(np.int64)
        return months // {"month": 1, "quarter": 3, "year": 12}[step]
    if step == "week":  # weeks begin on Mondays; 1970 began on a Thursday
        return (times // _DAY + 3) // 7
    return times // int(STEPS[step].seconds * 1e6)


def _starts(places: Array, step: str) -> pd.DatetimeIndex:
    """Return when numbered periods start."""
    if step in {"month", "quarter", "year"}:
        months = places * {"month": 1, "quarter": 3, "year": 12}[step]
        starts = months.astype("datetime64[M]").astype("datetime64[us]")
    else:
        starts = (places * 7 - 3) * _DAY if step == "week" else places * int(STEPS[step].seconds * 1e6)
    return pd.DatetimeIndex(starts.view("datetime64[us]"))


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """What is drawn; without `x` the rows in their order, without `y` how many there are."""

    kind: str
    x: ChartColumn | None
    y: ChartColumn | None
    colour: ChartColumn | None = None
    step: str = ""
    base: str = ""
    show: str = "value"
    without: ChartColumn | None = None
    over: tuple[str, ...] = ()
    choices: list[View] = field(default_factory=list)

    @property
    def additive(self) -> bool:
        return self.y is None or self.y.additive

    @property
    def percent(self) -> bool:
        return self.y is not None and self.y.percent

    @property
    def is_time(self) -> bool:
        return self.x is not None and self.x.role is Role.TIME

    @property
    def measure(self) -> str:
        return self.y.name if self.y else "Rows"

    @property
    def first(self) -> tuple[str, bool]:
        """What rows are brought together by, and whether as a sum; a mean of several such sums may follow."""
        if self.show == "average":
            return "day", self.additive
        of_rows = self.is_time and bool(self.step) and not self.base and self.show == "value"
        totals = self.additive and not of_rows and self.x is not None
        return (self.base if totals and self.base and self.show != "sum" else self.step), totals

    @property
    def title(self) -> str:
        by = self.colour.name if self.colour else ""
        return f"{self.measure} by {by.lower() if by.istitle() else by}" if by else self.measure


class Chart:
    """The charts of one frame, from any thread; its columns are read once, and the last views are kept."""

    def __init__(self, frame: pd.DataFrame, about: str = "") -> None:
        self._frame, self._about = frame, about
        self._lock = threading.RLock()
        self._views: dict[Any, View] = {}
        self._known: dict[Any, Any] = {}

    def view(
        self,
        wish: Mapping[str, Any] | None = None,
        *,
        rows: Array | None = None,
        zoom: Zoom = None,
        variable: str = "df",
        filters: str = "",
    ) -> View:
        """
        Return a chart as a ``ChartView``, or why there is none.

        The zoom is the first and last day shown, counted from 1970; rows are a mask or positions. The code names the
        frame by `variable`, or begins with `filters`, whose last line is the rows.
        """
        mask = rows
        if rows is not None and rows.dtype != bool:
            mask = np.zeros(len(self._frame), dtype=bool)
            mask[rows] = True
        seen = None if mask is None else hashlib.blake2b(np.packbits(mask).tobytes()).digest()
        key = (repr(sorted((wish or {}).items())), seen, zoom, variable, filters)
        with self._lock:
            if key not in self._views:
                self._views[key] = self._made(wish or {}, mask, zoom, variable, filters)
                for old in list(self._views)[:-_MOST_VIEWS]:
                    del self._views[old]
            return self._views[key]

    @cached_property
    def columns(self) -> list[ChartColumn]:
        """The columns of the frame with their roles."""
        return read(self._frame, self._about)

    def _role(self, *roles: Role) -> list[ChartColumn]:
        return [
            each for each in self.columns if each.role in roles and (each.role is Role.MEASURE or each.distinct > 1)
        ]

    @cached_property
    def _measures(self) -> list[ChartColumn]:
        return [each for each in self._role(Role.MEASURE) if each.data.notna().any()]

    @cached_property
    def _axes(self) -> list[ChartColumn]:
        """Named periods and times, each of which tells rows apart in another way than those before it."""
        found: list[ChartColumn] = []
        for each in [*self._role(Role.PERIOD), *self._role(Role.TIME)]:
            if not any(self._follows(each, other) and self._follows(other, each) for other in found):
                found.append(each)
        return found

    def _once(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def _follows(self, column: ChartColumn, other: ChartColumn) -> bool:
        """Whether all rows with one value of `other` have one value of `column`."""

        def find() -> bool:
            one, two = (each.data if each.role is Role.TIME else each.data.cat.codes for each in (column, other))
            both = column.data.notna().to_numpy() & other.data.notna().to_numpy()
            kept = np.flatnonzero(both)[:: max(1, int(both.sum()) // _CHUNK)]
            pairs = pd.DataFrame({"other": two.to_numpy()[kept], "column": one.to_numpy()[kept]}).drop_duplicates()
            return not bool(pairs["other"].duplicated().any())

        return bool(self._once(("follows", column.name, other.name), find))

    def _times(self, column: ChartColumn) -> Array | None:
        """Return the distinct times of a column in order, in microseconds; ``None`` if there are very many."""

        def find() -> Array | None:
            times = column.data.to_numpy().view(np.int64)
            missing = column.data.isna().to_numpy()
            found = np.empty(0, dtype=np.int64)
            for start in range(0, len(times), _CHUNK):
                part = slice(start, start + _CHUNK)
                found = pd.unique(np.concatenate([found, times[part][~missing[part]]]))
                if len(found) > _MOST_TIMES:
                    return None
            return np.sort(found)

        return self._once(("times", column.name), find)  # type: ignore[no-any-return]  # as it was made

    def _base(self, column: ChartColumn) -> str:
        """Return the step at which the times of a column come, or nothing if they are irregular."""

        def find() -> str:
            times = self._times(column)
            if times is None or len(times) < 2:
                return ""
            for step in ("day", "hour", "minute", "second"):
                size = int(STEPS[step].seconds * 1e6)
                if not (times % size).any():
                    dense = len(times) >= 0.1 * ((times[-1] - times[0]) // size + 1)
                    if step != "day":
                        return step if dense else ""
                    for longer in ("year", "month", "week"):
                        places = _places(times, longer)
                        dense = len(times) >= max(3, 0.8 * (places[-1] - places[0] + 1))
                        if dense and (np.diff(places) > 0).all():
                            return longer
                    return step
            return ""

        return str(self._once(("base", column.name), find))

    def _ranked(self, colour: ChartColumn) -> list[str]:
        """Return the categories of a column, the largest by the first measure that adds up, or else by rows, first."""

        def find() -> list[str]:
            sums = next((each for each in self._measures if each.additive), None)
            codes = colour.data.cat.codes.to_numpy()
            names = [*map(str, colour.data.cat.categories), NO_VALUE]
            totals = np.zeros(len(names))
            for start in range(0, len(codes), _CHUNK):
                part = slice(start, start + _CHUNK)
                weights = None if sums is None else np.nan_to_num(np.abs(sums.data.to_numpy(dtype=float)[part]))
                totals += np.bincount(codes[part] % len(names), weights, len(names))  # -1 is the last
            has_none = bool((codes == -1).any()) and NO_VALUE not in names[:-1]
            order = np.argsort(-totals, kind="stable")
            return [names[at] for at in order if at < len(names) - 1 or has_none]

        return self._once(("ranked", colour.name), find)  # type: ignore[no-any-return]  # as it was made

    def _plan(self, wish: Mapping[str, Any], zoom: Zoom) -> _Plan | str:
        """Return what suits the frame and a person's wish, or in one sentence why there is nothing to draw."""
        if not self.columns or not len(self._frame):
            return f"The result has no {'rows' if self.columns else 'columns'}: there is nothing to draw."
        measures = {each.name: each for each in self._measures}
        y = measures.get(wish.get("measure") or "", next(iter(measures.values()), None))
        dimensions = sorted(self._role(Role.DIMENSION), key=lambda each: (_is_flag(each), is_key(each.name)))
        if y is None:  # rows are counted, where a category has several
            dimensions = [each for each in dimensions if each.distinct <= len(self._frame) / 2]
        if y is None and not dimensions:
            empty = [each.name for each in self.columns if each.role is Role.MEASURE]
            have = f"{listed(empty[:5], 'and')} {'has' if len(empty) == 1 else 'have'} no values."
            return f"There is nothing to draw: {have if empty else 'no column holds measured numbers or categories.'}"
        x = self._axis(wish)
        to_date = next((each for each in dimensions if folded(each.name) == "periodtodate"), None)
        varying = [each for each in dimensions if x is None or not self._follows(each, x)]
        kinds = {"line": "Lines"} if x is not None or not dimensions else {}
        kinds |= {"bar": "Bars"} if dimensions or self._role(Role.PERIOD) else {}
        kind = str(wish["kind"] if wish.get("kind") in kinds else next(iter(kinds)))
        if kind == "bar":
            groups = usual = [*dimensions, *self._role(Role.PERIOD)]
        else:
            groups = [each for each in dimensions if x is not None and each.distinct <= _MOST_GROUPS]
            groups = [each for each in groups if not _is_flag(each) or each in {*varying, to_date}]
            usual = [each for each in groups if each in varying and not _is_flag(each)]
        colour = next((each for each in groups if each.name == wish.get("colour")), None)
        if colour is None and (kind == "bar" or wish.get("colour") != ""):
            colour = next(iter(usual), None)
        without = to_date if to_date not in {None, colour, x} else None
        over = tuple(each.name for each in varying if each is not colour and not _is_flag(each))
        plan = _Plan(kind, colour if kind == "bar" else x, y, colour, without=without, over=over)
        colours = {each.name: each.name for each in groups} | ({} if kind == "bar" else {"": "Nothing"})
        label = "Bars for" if kind == "bar" else "Colour by"
        plan.choices.append(_choice("kind", "Kind of chart", kind, kinds))
        plan.choices.append(_choice("measure", "Measure", plan.measure, {name: name for name in measures or ["Rows"]}))
        if groups:
            plan.choices.append(_choice("colour", label, colour.name if colour else "", colours))
        return self._along(plan, wish, zoom) if kind == "line" and x is not None else plan

    def _of_one_row(self, variable: str) -> View:
        """Return the measures of the only row as bars, where the smallest can be seen beside the largest."""
        for percent in (True, False):
            several = [each for each in self._measures if each.percent is percent]
            values = [float(each.data.iloc[0]) for each in several]
            if len(several) < 2 or not (percent or max(map(abs, values)) <= _COMPARABLE * min(map(abs, values))):
                continue
            lines, variable = _prelude(variable, labelled=has_labels(self._frame))
            rows = [f"    {each.name!r}: {each.code(variable)}," for each in several]
            lines += ["table = pd.DataFrame({", *rows, "}).T", "ax = table[::-1].plot.barh(legend=False)", "plt.show()"]
            names = [each.name for each in several]
            return _nothing("") | {
                "kind": "bar",
                "title": "Growth" if percent else "Measures",
                "rows": 1,
                "code": "\n".join(lines),
                "format": "percent" if percent else "number",
                "notes": ["The measures of the only row."],
                "x": {"type": "category", "values": list(range(len(names))), "labels": names},
                "series": [{"name": "Value", "colour": 0, "values": values}],
            }
        return _nothing("The result is one row: a chart of it would show less than the table does.")

    def _axis(self, wish: Mapping[str, Any]) -> ChartColumn | None:
        """Return the period or time along which to draw: the finer one, unless it is finer for a few rows only."""
        periods = [each for each in self._axes if each.role is Role.PERIOD]
        times = [each for each in self._axes if each.role is Role.TIME]
        times.sort(key=lambda each: each.name != wish.get("x"))
        points = str(wish.get("points") or "")
        if period := next((each for each in periods if f"period:{each.name}" == points), None):
            return period
        if not times or not periods or points in STEPS or wish.get("x"):
            return next(iter([*times, *periods]), None)
        return times[0] if times[0].distinct > 2.5 * periods[0].distinct else periods[0]

    def _along(self, plan: _Plan, wish: Mapping[str, Any], zoom: Zoom) -> _Plan:
        """Choose what a point stands for, and as what it is shown."""
        assert plan.x is not None
        lines = min(plan.colour.distinct, _MOST_LINES if wish.get("all") else _USUAL_LINES) if plan.colour else 1
        periods = {f"period:{each.name}": each for each in self._axes if each.role is Role.PERIOD}
        times = [each for each in self._axes if each.role is Role.TIME]
        time = plan.x if plan.is_time else next(iter(times), None)
        base, steps, span = ("", {}, 0.0) if time is None else self._steps(time, lines, zoom)
        labels = {
            name: "Fiscal quarter" if str(each.data.cat.categories[0])[:2] == "FQ" else each.name
            for name, each in periods.items()
        } | {name: name.capitalize() or "Every time" for name in steps}
        can = [name for name, is_many in steps.items() if not is_many]
        step = str(wish.get("points") or "")
        if not plan.is_time:
            step = f"period:{plan.x.name}"
        elif step not in can:
            step = next(iter(can), "year")
        growing = (base and span > 400) if plan.is_time else _periods_of_a_year(plan.x)
        can_show = {
            "value": True,
            "sum": plan.is_time and plan.additive and step not in {"", base},
            "average": plan.is_time and base in {"day", "hour", "minute", "second"} and span >= 14,
            "index": not plan.percent,
            "growth": bool(growing) and not plan.percent,
        }
        show = str(wish.get("show") or ("sum" if can_show["sum"] and not base else "value"))
        show = show if can_show.get(show) else "value"
        if show == "average":
            step, labels = "day", {"day": "Day"}
        plan = replace(plan, step="" if step in periods else step, base=base if plan.is_time else "", show=show)
        plan.choices.append(_choice("points", "Points", step, labels, [name for name in steps if name not in can]))
        if len(times) > 1:
            plan.choices.append(
                _choice("x", "Along", time.name if time else "", {each.name: each.name for each in times})
            )
        shown = _SHOWN | ({"value": f"Mean per {base}"} if can_show["sum"] and base else {})
        plan.choices.append(_choice("show", "Show as", show, shown, [name for name in shown if not can_show[name]]))
        return plan

    def _steps(self, time: ChartColumn, lines: int, zoom: Zoom) -> tuple[str, dict[str, bool], float]:
        """Return at which step times come, which steps points can have and whether these are too many, and the span."""
        limit = min(POINTS_OF_A_LINE, _MOST_VALUES // lines)
        base, days, distinct = self._base(time), self._days(time), self._times(time)
        low, high = (max(zoom[0], days[0]), min(zoom[1], days[1])) if zoom else days
        low, high = (low, high) if low < high else days
        known = math.inf if distinct is None else len(distinct)
        if base and (days[1] - days[0]) * 86_400 / STEPS[base].seconds * lines > _MOST_CELLS:
            base = ""
        steps = {"": False} if not base and known <= limit else {}
        for step in list(STEPS)[list(STEPS).index(base) if base else 0 :]:
            count, whole = ((to - of) * 86_400 / STEPS[step].seconds + 1 for of, to in ((low, high), days))
            if step == base or (count >= 3 and whole * lines <= _MOST_CELLS and count < known):
                steps[step] = min(count, known) > limit
        return base, steps, days[1] - days[0]

    def _days(self, column: ChartColumn) -> tuple[float, float]:
        """Return the first and last time of a column in days since 1970."""
        return self._once(  # type: ignore[no-any-return]  # as it was made
            ("days", column.name), lambda: (day_of(column.data.min()), day_of(column.data.max()))
        )

    def _reduced(self, plan: _Plan, lines: Sequence[str], mask: Array | None) -> tuple[pd.DataFrame, dict[str, int]]:
        """Bring the rows together, a part of them at a time; also count those without a value, by column."""
        step, totals = plan.first
        rows = len(self._frame)
        labels, places = self._placed(plan.x, step, mask)
        take = np.full(1, 0, dtype=np.int64)
        if plan.colour is not None and plan.kind == "line":
            at = {name: number for number, name in enumerate(lines)}
            take = np.array([at.get(str(name), -1) for name in (*plan.colour.data.cat.categories, NO_VALUE)])
        width, size = len(lines), len(labels) * len(lines)
        sums, counts, missing = np.zeros(size), np.zeros(size, dtype=np.int64), {"": 0}
        left_out = None if plan.without is None else (plan.without.data == "True").to_numpy()
        for start in range(0, rows, _CHUNK):
            part = slice(start, start + _CHUNK)
            place = places(part)
            kept = np.ones(len(place), dtype=bool) if mask is None else mask[part].copy()
            if left_out is not None:
                kept &= ~left_out[part]
            missing[""] += int(kept.sum())
            for column in [each for each in (plan.x, plan.y) if each is not None]:
                gone = kept & column.data.iloc[part].isna().to_numpy()
                missing[column.name] = missing.get(column.name, 0) + int(gone.sum())
                kept &= ~gone
            line = np.zeros(len(place), dtype=np.int64)
            if plan.colour is not None and plan.kind == "line":
                line = take[plan.colour.data.cat.codes.to_numpy()[part]]
                kept &= line >= 0
            flat = place[kept] * width + line[kept]
            values = None if plan.y is None else plan.y.data.to_numpy()[part][kept].astype(float)
            counted = np.bincount(flat, None, size)
            counts += counted
            sums += counted if values is None else np.bincount(flat, values, size)
        with np.errstate(invalid="ignore", divide="ignore"):
            cells = np.where(counts > 0, sums if totals else sums / counts, np.nan)
        return pd.DataFrame(cells.reshape(len(labels), width), index=labels, columns=list(lines)), missing

    def _placed(
        self, x: ChartColumn | None, step: str, mask: Array | None
    ) -> tuple[pd.Index[Any], Callable[[slice], Array]]:
        """Return the labels of all points, and what numbers the points of some rows."""
        if x is None:
            count = len(self._frame) if mask is None else int(mask.sum())
            each = max(1, -(-count // POINTS_OF_A_LINE))
            rows = (np.arange(count) if mask is None else (np.cumsum(mask) - 1).clip(0)) // each
            return pd.RangeIndex(0, max(count, 1), each), lambda part: rows[part]
        if x.role is not Role.TIME:
            codes = x.data.cat.codes.to_numpy()
            return pd.Index([*map(str, x.data.cat.categories)], dtype=object), lambda part: codes[part].astype(np.int64)
        times = x.data.to_numpy().view(np.int64)
        if not step:
            distinct = self._times(x)
            assert distinct is not None
            labels = pd.DatetimeIndex(distinct.view("datetime64[us]"))
            return labels, lambda part: np.searchsorted(distinct, times[part]).clip(0, len(distinct) - 1)
        first, last = (
            int(_places(np.array([value], dtype="datetime64[us]").view(np.int64), step)[0])
            for value in (x.data.min(), x.data.max())
        )
        return _starts(np.arange(first, last + 1), step), lambda part: (_places(times[part], step) - first).clip(
            0, last - first
        )

    def _parts(self, plan: _Plan) -> tuple[int, int]:
        """Return how many periods at the start and at the end the times of the frame cover in part only."""
        times = self._times(plan.x) if plan.x is not None and plan.is_time and plan.step else None
        if times is None or plan.step == plan.base or STEPS[plan.step].seconds < STEPS["day"].seconds:
            return 0, 0
        days = np.unique(times // _DAY)
        places = _places(days * _DAY, plan.step)
        found, counts = np.unique(places, return_counts=True)
        if len(found) < 3:
            return 0, 0
        usual = float(np.median(counts[1:-1]))
        gap = float(np.quantile(np.diff(days), 0.99))
        starts, ends = (
            _starts(np.array([place]), plan.step).to_numpy().view(np.int64)[0] // _DAY
            for place in (found[0], found[-1] + 1)
        )
        early, late = days[0] - starts, ends - 1 - days[-1]
        return int(counts[0] < 0.9 * usual or early >= gap), int(counts[-1] < 0.9 * usual or late >= gap)

    def _made(self, wish: Mapping[str, Any], mask: Array | None, zoom: Zoom, variable: str, filters: str) -> View:
        if len(self._frame) == 1 and self.columns:
            return self._of_one_row(variable)
        plan = self._plan(wish, zoom)
        if isinstance(plan, str):
            return _nothing(plan)
        ranked = there = [plan.measure]
        if plan.colour and plan.kind == "line":
            ranked = there = self._ranked(plan.colour)
            if mask is not None:
                names = np.array([*map(str, plan.colour.data.cat.categories), NO_VALUE], dtype=object)
                found = set(names[np.unique(plan.colour.data.cat.codes.to_numpy()[mask])])
                there = [name for name in ranked if name in found]
        table, missing = self._reduced(plan, there[: _MOST_LINES if wish.get("all") else _USUAL_LINES], mask)
        hidden = len(there) - table.shape[1]
        table = table.dropna(axis=1, how="all").dropna(how="all")
        work = _Work(plan, table, missing)
        if not table.empty:
            work.points(self._parts(plan), zoom)
        if work.table.empty:
            why = "These rows have no values of this measure." if table.empty else "No value can be shown this way."
            no_row = mask is not None and not mask.any()
            return _nothing("No row matches the filters of the table." if no_row else why, plan.choices)
        return _chart(work, ranked, all_lines=bool(wish.get("all"))) | {
            "hidden": hidden,
            "unit": _unit(plan, self._about),
            "code": _program(work, variable, filters, labelled=has_labels(self._frame)),
        }


class _Work:
    """A table of points on its way from sums to what is drawn: each step with its code."""

    def __init__(self, plan: _Plan, table: pd.DataFrame, missing: Mapping[str, int]) -> None:
        self.plan, self.table, self.missing = plan, table, missing
        self.code: list[str] = []
        self.notes: list[str] = []

    def do(self, table: pd.DataFrame, code: str) -> None:
        self.table = table
        self.code.append(f"table = {code}")

    def cut(self, first: int, last: int, why: str = "") -> None:
        low, high = self.table.index[first], self.table.index[last]
        self.do(self.table.loc[low:high], f"table.loc[{_when(low)}:{_when(high)}]{why}")

    def points(self, parts: tuple[int, int], zoom: Zoom) -> None:
        """Take means, leave out what is not whole, show it in another way, and cut it to the zoom."""
        plan, step = self.plan, self.plan.step
        if plan.kind == "bar":
            self.bars()
            return
        if step and plan.first[0] != step:
            rule = STEPS[step].rule
            side: Any = "left" if step == "week" else None
            means = self.table.resample(rule, closed=side, label=side).mean()
            self.do(means, f"table.resample({rule!r}{f', closed={side!r}, label={side!r}' if side else ''}).mean()")
            self.notes.append(f"Each point is the mean of the {plan.base}s of a {step}.")
        elif step not in {"", plan.base} and plan.show != "average":
            how = "sum of" if plan.first[1] else "mean of all rows of"
            self.notes.append(f"Each point is the {how} a{'n' * (step == 'hour')} {step}.")
        if plan.show in {"sum", "index", "growth"} and any(parts):
            self.cut(parts[0], -1 - parts[1], f"  # whole {step}s")
            which = listed(["first"] * parts[0] + ["last"] * parts[1], "and")
            self.notes.append(f"The {which} {step} {'are' if all(parts) else 'is'} incomplete and left out.")
        self.show()
        if zoom is not None and plan.is_time:
            low, high = map(time_of, zoom)
            inside = np.flatnonzero((self.table.index >= low) & (self.table.index <= high))
            if 0 < len(inside) < len(self.table):
                self.cut(inside[0], inside[-1])
        every = max(-(-len(self.table) // POINTS_OF_A_LINE), -(-self.table.size // _MOST_VALUES))
        if plan.show == "average" and every > 1:
            self.do(self.table.iloc[::every], f"table.iloc[::{every}]")
        elif not plan.is_time and len(self.table) > POINTS_OF_A_LINE:
            self.do(self.table.tail(POINTS_OF_A_LINE), f"table.tail({POINTS_OF_A_LINE})")
        if self.table.isna().all(axis=1).any():
            self.do(self.table.dropna(how="all"), "table.dropna(how='all')")

    def show(self) -> None:
        plan, table = self.plan, self.table
        if plan.show == "average":
            self.do(table.rolling("7D").mean(), "table.rolling('7D').mean()")
            self.notes.append("Each point is the mean of 7 days.")
        elif plan.show == "index":
            first = table.bfill().iloc[0]
            self.code.append("first = table.bfill().iloc[0]")
            self.do(table / first.where(first > 0) * 100, "table / first.where(first > 0) * 100")
        elif plan.show == "growth":
            back = STEPS[plan.step].year if plan.is_time else _periods_of_a_year(plan.x)
            if plan.is_time:
                rule = STEPS[plan.step].rule
                self.do(table.asfreq(rule), f"table.asfreq({rule!r})")
            before = self.table.shift(back)
            self.code.append(f"before = table.shift({back})")
            self.do(self.table / before.where(before > 0) - 1, "table / before.where(before > 0) - 1")
            self.notes.append(f"Each {plan.step or 'period'} against the one a year before.")

    def bars(self) -> None:
        plan, many = self.plan, len(self.table) > _MOST_BARS
        self.notes.append(f"The {'sum' if plan.additive else 'mean'} of all rows.")
        if plan.x is not None and plan.x.role is Role.PERIOD:
            self.do(self.table.tail(_MOST_BARS), f"table.tail({_MOST_BARS})")
            self.notes += [f"The last {_MOST_BARS} periods."] * many
            return
        self.notes += [f"The {_MOST_BARS} largest of {len(self.table):,}."] * many
        by: dict[str, Any] = {"by": self.table.columns[0], "ascending": False, "kind": "stable"}
        code = f"table.sort_values({by['by']!r}, ascending=False, kind='stable').head({_MOST_BARS})"
        self.do(self.table.sort_values(**by).head(_MOST_BARS), code)

    def said(self) -> list[str]:
        """Return what was brought together or left out, in sentences."""
        plan, notes = self.plan, self.notes
        if plan.x is None:
            each = -(-self.missing[""] // POINTS_OF_A_LINE)
            notes = [*notes, "In the order of the rows: there is no time and no category."]
            notes += [f"Each point is the mean of {each:,} rows."] * (each > 1)
        if plan.over and plan.kind == "line" and plan.x is not None:
            how = "The sum over {}." if plan.additive else "The mean over {}, each row counting the same."
            notes = [*notes, how.format(listed(plan.over, "and"))]
        if plan.without is not None:
            notes = [*notes, f"Rows of {plan.without.name} are left out."]
        for column, what in ((plan.x, "without"), (plan.y, "without a value of")):
            if column is not None and (count := self.missing.get(column.name, 0)):
                rows = "row {} is" if count == 1 else "rows {} are"
                notes = [*notes, f"{count:,} {rows.format(f'{what} {column.name}')} left out."]
        return [*notes, f"Times are those of {plan.x.zone}."] if plan.x is not None and plan.x.zone else notes


def _chart(work: _Work, ranked: Sequence[str], *, all_lines: bool) -> View:
    """Return what is drawn of a chart."""
    plan, table, names = work.plan, work.table, list(work.table.columns)
    rank = {name: at for at, name in enumerate(ranked)}
    colours = {name: rank[name] for name in names[:COLOURS] if rank[name] < COLOURS}
    free = [at for at in range(COLOURS) if at not in colours.values()]
    colours |= {name: free.pop(0) for name in names[:COLOURS] if name not in colours}
    rest = {name: rank[name] % COLOURS if all_lines else -1 for name in names[COLOURS:]}
    written = _written(plan)
    size = max(float(table.abs().max().max()), 1e-9)
    digits = min(9 - math.floor(math.log10(size)), 2 if written == "money" and size >= 100 else 12)
    cells = table.round(max(digits, 0)).astype(object).where(table.notna(), None)
    labels = [] if plan.is_time else [*map(str, table.index)]
    values = [*map(day_of, table.index)] if plan.is_time else list(range(len(table)))
    return {
        "kind": plan.kind,
        "title": plan.title,
        "why": "",
        "format": written,
        "step": plan.step if plan.is_time else "",
        "rows": work.missing[""],
        "notes": work.said(),
        "adds": plan.additive and len(names) > 1 and plan.show in {"value", "sum", "average"},
        "x": {"type": "time" if plan.is_time else "category", "values": values, "labels": labels},
        "series": [{"name": name, "colour": (colours | rest)[name], "values": cells[name].tolist()} for name in names],
        "zero": plan.show == "growth" or plan.percent or (plan.additive and plan.show != "index"),
        "choices": plan.choices,
    }


def _nothing(why: str, choices: Sequence[View] = ()) -> View:
    nothing = {"kind": "line", "title": "", "unit": "", "format": "number", "step": "", "adds": False, "rows": 0}
    empty = {"x": {"type": "category", "values": [], "labels": []}, "series": [], "zero": False, "notes": []}
    return nothing | empty | {"why": why, "choices": list(choices), "hidden": 0, "code": ""}


def _written(plan: _Plan) -> str:
    """Return how the values of a chart are written."""
    if plan.percent or plan.show == "growth":
        return "percent"
    if plan.show == "index" or plan.y is None:
        return "index" if plan.show == "index" else "count"
    if _is_money(plan.measure):
        return "money"
    return "count" if plan.additive and bool((plan.y.data.iloc[:10_000].dropna() % 1 == 0).all()) else "number"


def _is_money(name: str) -> bool:
    found = words(name)
    return not MONEY.isdisjoint(found[-1:] + found[:1] * ("per" in found))  # spend per card


def _unit(plan: _Plan, about: str) -> str:
    """Return the unit at an axis: ``USD a day``, ``%``."""
    written = _written(plan)
    if written in {"percent", "index"}:
        return "%" if written == "percent" else "first point = 100"
    found = _CURRENCY.search(plan.measure) or (_CURRENCY.search(about) if written == "money" else None)
    unit = found[0] if found else ""
    of_base = plan.show == "value" and plan.base
    each = "day" if plan.show == "average" else plan.base if of_base else plan.step if plan.first[1] else ""
    return f"{unit} a{'n' * (each == 'hour')} {each}".strip() if plan.additive and each else unit


def _prelude(variable: str, filters: str = "", *, labelled: bool) -> tuple[list[str], str]:
    """Return the first lines of a program, and the name of the frame after them."""
    lines = ["import matplotlib.pyplot as plt", "import pandas as pd", ""]
    if filters:
        *before, last = filters.splitlines()
        lines += [*before, f"shown = {last}"]
        variable = "shown"
    if not labelled and variable.isidentifier():
        return lines, variable
    return [*lines, f"frame = {variable}{'.reset_index(allow_duplicates=True)' * labelled}"], "frame"


def _program(work: _Work, variable: str, filters: str, *, labelled: bool) -> str:
    """Return code that computes the points from the frame and draws them."""
    plan, table = work.plan, work.table
    lines, variable = _prelude(variable, filters, labelled=labelled)
    if "$" in f"{plan.title}{list(table.columns)}{list(table.index[:_MOST_BARS])}":
        lines.append("plt.rcParams['text.parse_math'] = False  # a dollar sign is one")
    lines += [*_sums(work, variable), *work.code]
    percent = _written(plan) == "percent"
    draw = "table[::-1].plot.barh" if plan.kind == "bar" else "table.plot.line"
    if plan.kind == "line" and bool((table.isna() & table.ffill().notna() & table.bfill().notna()).any(axis=None)):
        draw = "table.interpolate(limit_area='inside').plot.line"
    options = [f"title={plan.title!r}", "figsize=(9, 4)", "xlabel=''", "ylabel=''"]
    options += ["legend=False"] * (len(table.columns) == 1)
    if (others := len(table.columns) - COLOURS) > 0:
        options.append(f"color=[*plt.cm.tab10.colors[:{COLOURS}], *['lightgray'] * {others}]")
    lines.append(f"ax = {draw}({', '.join(options)})")
    if percent or float(table.abs().max().max()) >= 1e4:
        axis, form = "x" if plan.kind == "bar" else "y", "{x:.0%}" if percent else "{x:,.0f}"
        lines.append(f"ax.{axis}axis.set_major_formatter({form!r})")
    return "\n".join([*lines, "plt.show()"])


def _sums(work: _Work, variable: str) -> list[str]:
    """Return the code that brings the rows of a frame together."""
    plan, columns, y = work.plan, list(work.table.columns), work.plan.measure
    used = dict.fromkeys([plan.x, plan.colour, plan.y, plan.without])
    made = {each.name: each.code(variable) for each in used if each} | ({} if plan.y else {y: "1"})
    lines = ["data = pd.DataFrame({", *(f"    {name!r}: {code}," for name, code in made.items()), "})"]
    if plan.without is not None:
        lines.append(f"data = data[data[{plan.without.name!r}].astype(str) != 'True']")
    step, totals = plan.first
    how = "sum(min_count=1)" if totals else "mean()"
    if plan.x is None:
        each = max(1, -(-work.missing[""] // POINTS_OF_A_LINE))
        lines.append("data = data.reset_index(drop=True)")
        return [*lines, f"table = data.groupby(data.index // {each} * {each})[[{y!r}]].mean().dropna()"]
    if known := [name for name in made if work.missing.get(name)]:
        lines.append(f"data = data.dropna(subset={known!r})")
    by = repr(plan.x.name)
    if step:
        rule = f"{STEPS[step].rule!r}" + ", closed='left', label='left'" * (step == "week")
        by = f"pd.Grouper(key={plan.x.name!r}, freq={rule})"
    if plan.colour is None or plan.kind == "bar":
        lines.append(f"table = data.groupby({by})[[{y!r}]].{how}.dropna()")
    else:
        if NO_VALUE in columns:
            lines.append(f"data[{plan.colour.name!r}] = data[{plan.colour.name!r}].fillna({NO_VALUE!r})")
        groups = f"data.groupby([{by}, {plan.colour.name!r}])[{y!r}].{how}.unstack()"
        lines += [f"lines = {columns!r}", f"table = {groups}[lines].dropna(how='all')"]
    if plan.x.role is Role.PERIOD:
        order = [*map(str, plan.x.data.cat.categories)]
        lines.append(f"table = table.reindex({order!r}).dropna(how='all')")
    return lines


def _choice(name: str, label: str, value: str, options: Mapping[str, str], off: Sequence[str] = ()) -> View:
    offered = [
        {"value": each, "label": text} | ({"disabled": True} if each in off else {}) for each, text in options.items()
    ]
    return {"name": name, "label": label, "value": value, "options": offered}


def _is_flag(column: ChartColumn) -> bool:
    return set(column.data.cat.categories) <= {"True", "False"}


def _periods_of_a_year(x: ChartColumn | None) -> int:
    """Return how many named periods make a year, if none of them is missing; else 0."""
    parts = [period_parts(str(name)) for name in x.data.cat.categories] if x else []
    for letter, count in (("", 1), ("H", 2), ("Q", 4)):
        places = [part[0] * count + int(part[1][1:] or 1) for part in parts if part and part[1][:1] == letter]
        if len(places) == len(parts) > count and set(np.diff(places)) == {1}:
            return count
    return 0


def day_of(time: pd.Timestamp) -> float:
    """Return a time as days since 1970; whole days as integers."""
    days = int(time.to_datetime64().astype("datetime64[us]").astype(np.int64)) / _DAY
    return int(days) if days == int(days) else round(days, 7)


def time_of(day: float) -> pd.Timestamp:
    """Return the time that is so many days after 1970."""
    return pd.Timestamp(np.datetime64(int(max(-719_000, min(day, 2_900_000)) * _DAY), "us"))


def _when(time: pd.Timestamp) -> str:
    return repr(str(time)[:10] if time == time.normalize() else str(time))

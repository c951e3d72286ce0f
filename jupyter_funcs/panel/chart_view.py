"""The chart of a frame: its points, and code that draws the same chart with pandas and matplotlib."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from jupyter_funcs.core.coded import Coded, literal
from jupyter_funcs.core.text import inert, listed, plural
from jupyter_funcs.frames.display import MONEY, with_minus
from jupyter_funcs.frames.roles import FRAME, NO_VALUE, Role, flat, words
from jupyter_funcs.panel.chart_plan import (
    COLOURS,
    DAY,
    KINDS,
    MOST_PANELS,
    POINTS_OF_A_LINE,
    ROWS_APART,
    STEPS,
    Plan,
    Planner,
    days_of,
    time_of,
)
from jupyter_funcs.panel.chart_svg import ticks
from jupyter_funcs.panel.derived import Pivoted
from jupyter_funcs.panel.requests import ChartWish, Json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from jupyter_funcs.frames.roles import ChartColumn
    from jupyter_funcs.panel.chart_plan import Array, Zoom

CALENDARS_DIFFER = "Fiscal quarters of companies end on different days."
_MOST_BARS = 50
_MOST_DOTS = 1_000
_USUAL_BINS = 24
_AS_IT_SUITS = ChartWish()
_CURRENCY = re.compile(r"\b(USD|EUR|GBP|CHF|JPY|CAD|AUD|CNY|INR)\b")
_OPTIONS = {
    "area": ["stacked=False", "xlabel=''", "ylabel=''"],
    "scatter": [],
    "histogram": ["width=0.95"],
}
_PANDAS = Coded(pd, "pd")
_NUMPY = Coded(np, "np")


class Chart:
    """The charts of one frame, for any thread. Reads its columns once."""

    def __init__(self, frame: pd.DataFrame, about: str = "") -> None:
        self._planner = Planner(flat(frame), about)

    def view(
        self,
        wish: ChartWish = _AS_IT_SUITS,
        *,
        rows: Array | None = None,
        zoom: Zoom = None,
        source: str = "df",
    ) -> Json:
        """Return a chart of the rows at these positions, zoomed to a range of days; `source` is their code."""
        points = self.points(wish, rows, zoom)
        if not isinstance(points, Points):
            return points

        planner = self._planner
        plan = points.plan
        if planner.calendars_differ(plan.x, points.drawn):
            points.notes.append(CALENDARS_DIFFER)
        if planner.left_out > 0:
            points.notes.append(
                f"{planner.left_out:,} more columns of the result can't be chosen here."
            )

        points.offer_scale(wish.scale)
        names = points.shown.get("lines", [])
        if plan.kind == "bar":
            names = [*points.table.index]
        return _chart(points, all_lines=wish.all) | {
            "log": points.is_log,
            "names": planner.labels(plan.colour, names),
            "hidden": points.hidden,
            "unit": _unit(plan, planner.about),
            "code": _program(points, source.splitlines()),
        }

    def points(self, wish: ChartWish, rows: Array | None, zoom: Zoom) -> Points | Json:
        """Return the points of a chart, or a view that says why there are none."""
        plan = self._planner.plan(wish, zoom)
        if isinstance(plan, str):
            return _nothing(plan)

        drawn = slice(None) if rows is None else np.sort(rows)
        points = Points(plan, self._planner.ranked, drawn)
        if why := points.make(zoom):
            return _nothing(why, plan.choices)
        return points


class Points:
    """A table of points, with one row per x value and one column per line, and the code that computes it."""

    def __init__(
        self, plan: Plan, ranked: Callable[[ChartColumn], Sequence[str]], rows: Any
    ) -> None:
        """Leave the column of periods to date aside if it would keep none of the rows."""
        self._keeps = plan.keeps
        if plan.to_date and not (plan.to_date.data.iloc[rows] == self._keeps).any():
            plan.to_date = None
        self.plan = plan
        self.drawn = rows
        self.notes = plan.notes
        self.left_out: list[str] = []  # what is said of rows that no point shows
        self.hidden = 0  # lines
        self.is_log = False
        self.shown: dict[str, list[str]] = {}  # names of panels and of lines
        self.ranked = ranked
        self._code = ["data = pd.DataFrame({"]
        self.edges: list[float] = []  # of a histogram
        self.rows = 0
        self.coded = Coded(pd.DataFrame(), "table")

    def code(self, source: Sequence[str]) -> list[str]:
        """Return the code that computes the table; `source` are the lines of the rows, the last one an expression."""
        *lines, rows = source
        variable = rows
        if not rows.isidentifier():
            variable = "frame"
            lines.append(f"frame = {rows}")

        return lines + [line.replace(FRAME, variable) for line in self._code]

    def _data(self) -> Coded:
        """Return the columns that are drawn."""
        plan = self.plan
        columns = filter(None, (plan.x, plan.colour, plan.split, plan.y, plan.to_date))
        values = {}
        for column in dict.fromkeys(columns):
            self._code.append(f"    {literal(column.name)}: {column.made},")
            values[column.name] = column.data

        self._code.append("})")
        values |= {column.name: column.filled for column in self.apart.values()}
        data = Coded(pd.DataFrame(values, copy=False).iloc[self.drawn], "data")
        if plan.to_date:
            data = self.do("data", data[data[plan.to_date.name] == self._keeps])
        return data

    @property
    def apart(self) -> dict[str, ChartColumn]:
        """The columns whose values are panels and lines."""
        columns = {"panels": self.plan.split, "lines": self.plan.lines}
        return {what: column for what, column in columns.items() if column}

    def _without_gaps(self, data: Coded) -> Coded:
        for column, without in (
            (self.plan.x, "without"),
            (self.plan.y, "without a value of"),
        ):
            if not column:
                continue
            name = column.name
            missing = int(data.value[name].isna().sum())
            if missing:
                self.left_out.append(
                    f"Left out: {plural(missing, 'row')} {without} {name}."
                )
                data = self.do("data", data.dropna(subset=[name]))

        return data

    def make(self, zoom: Zoom) -> str:
        """Make the table, or return why there is none."""
        data = self._data()
        self.rows = len(data.value)
        if not self.rows:
            return "No row matches the filters of the table."

        data = self._without_gaps(data)
        if data.value.empty:
            return "These rows have no values of this measure."

        self.rows_of_a_point = max(1, -(-len(data.value) // POINTS_OF_A_LINE))

        kind = self.plan.kind
        if kind == "histogram":
            self._count(data)
        elif kind == "scatter":
            self._take(data)
        else:
            self._bring_together(data)
            if kind == "bar":
                self.bars()
            else:
                self.reshape(zoom)

        if kind == "stack" and bool((self.table < 0).any(axis=None)):
            return "Values below 0 can't be stacked."
        if self.table.empty:
            return "No value can be shown this way."
        return ""

    def _largest(self, data: Coded) -> Coded:
        """Keep the rows of the panels and lines that are drawn."""
        most = {"panels": MOST_PANELS, "lines": self.plan.most_lines}
        for what, column in self.apart.items():
            name = column.name
            names = set(data.value[name].unique())
            if NO_VALUE in names:
                data = self.do("data", data.fillna({name: NO_VALUE}))
            ranked = [name for name in self.ranked(column) if name in names]
            shown = ranked[: most[what]]
            self.shown[what] = shown
            coded = self.do(what, Coded(shown, literal(shown)))
            hidden = len(names) - len(shown)
            if hidden:
                data = self.do("data", data[data[name].isin(coded)])
            if what == "lines":
                self.hidden = hidden
            elif hidden:
                self.notes.append(
                    f"The {len(shown)} largest of {len(names):,} have a chart."
                )

        return data

    def _ordered(self, table: Coded) -> Coded:
        """Return a table with the largest of its columns first."""
        if len(self.shown) != 1:
            return table
        what, names = next(iter(self.shown.items()))
        return table[Coded(names, what)]

    def _bring_together(self, data: Coded) -> None:
        """Aggregate the rows of each point."""
        plan = self.plan
        step, sums = plan.aggregation
        data = self._largest(data)
        # Times up to a day are the starts of their own periods.
        is_longer = bool(step) and (step != plan.base or STEPS[step].seconds > DAY)
        by: Any
        if not plan.x:
            data = self.do("data", data.reset_index(drop=True))
            by = data.index // self.rows_of_a_point * self.rows_of_a_point
        elif is_longer:
            by = data[plan.x.name].dt.to_period(STEPS[step].period)
        else:
            by = plan.x.name

        how = "sum" if sums else "mean"
        table = data.pivot_table(
            plan.y.name, by, **self._columns(), aggfunc=how, observed=True
        )
        self.set(self._ordered(table))
        if is_longer:
            self.set(self.coded.to_timestamp())
        elif plan.x and plan.x.role is Role.PERIOD:
            periods = list(plan.x.data.cat.categories)
            self.set(self.coded.reindex(periods).dropna(how="all"))

    def _columns(self) -> Json:
        """Return the columns of the table, as an option of ``pivot_table``."""
        match [column.name for column in self.apart.values()]:
            case []:
                return {}
            case [name]:
                return {"columns": name}
            case names:
                return {"columns": names}

    def _take(self, data: Coded) -> None:
        """Take each row as a point, of many every so many."""
        every = -(-len(data.value) // _MOST_DOTS)
        if every > 1:
            data = self.do("data", data.iloc[::every])
            self.notes.append(f"One row in every {every:,} is drawn.")

        data = self._largest(data)
        columns = [self.plan.x, self.plan.y, *self.apart.values()]
        names = [column.name for column in columns if column]
        self.set(data[names].reset_index(drop=True))

    def _count(self, data: Coded) -> None:
        """Count the rows between round numbers."""
        data = self._largest(data)
        values = data[self.plan.y.name]
        count = min(_USUAL_BINS, values.value.nunique())
        ends = ticks(values.value.min(), values.value.max(), count)
        edges = self.do("edges", _NUMPY.linspace(ends[0], ends[-1], len(ends)))
        bins = _PANDAS.cut(values, edges, labels=edges[:-1], include_lowest=True)
        bins = self.do("bins", bins)
        if split := self.plan.split:
            table = _PANDAS.crosstab(bins, data[split.name], dropna=False)
            self.set(self._ordered(table))
        else:
            self.set(bins.value_counts(sort=False).to_frame("Rows"))

        self.edges = edges.value.tolist()

    @property
    def table(self) -> pd.DataFrame:
        table: pd.DataFrame = self.coded.value
        return table

    @property
    def measured(self) -> pd.DataFrame:
        """The values of the measure."""
        if self.plan.kind == "scatter":
            return self.table[[self.plan.y.name]]
        return self.table

    @property
    def axis(self) -> str:
        return "x" if self.plan.kind == "bar" else "y"

    @property
    def pivoted(self) -> Pivoted | None:
        """What the columns of a table of the points are."""
        plan = self.plan
        if plan.kind == "scatter":
            return None

        step, sums = plan.aggregation
        label = plan.y.name
        if plan.kind == "histogram":
            label = "Rows"
        elif plan.show in {"index", "growth"}:
            label = f"{label} ({plan.show})"
        elif not sums or step != plan.step:
            label = f"{label} (mean)"

        across = " ".join(column.name for column in self.apart.values())
        rows = [str(name) for name in self.table.index.names if name]
        return Pivoted([], label, rows, across, {})

    def place(self, key: Any) -> tuple[str, str]:
        """Return the panel and the line that a column of the table, or a group of its rows, belongs to."""
        if not self.plan.split:
            return "", key
        if not self.plan.lines:
            return key, self.plan.y.name
        panel, line = key
        return panel, line

    def offer_scale(self, wanted: str | None) -> None:
        """Offer a logarithmic axis, and choose it where it is wanted and possible."""
        if self.plan.kind == "stack":
            return

        low = float(np.nanmin(self.measured.to_numpy(float)))
        options = {"linear": "Linear", "log": "Logarithmic"}
        scale = "linear"
        off = []
        if low <= 0:
            off = ["log"]
            options["log"] += " (needs values above 0)"
        if wanted == "log":
            if low > 0:
                scale = "log"
                self.is_log = True
            else:
                smallest = with_minus(f"{low:,.4g}")
                self.notes.append(
                    f"A logarithmic axis needs values above 0; the smallest is {smallest}."
                )

        self.plan.offer("scale", "Axis", scale, options, off)

    @property
    def title(self) -> str:
        """The measure and what it is split by; for a single line its name, because it has no legend."""
        plan = self.plan
        name = plan.y.name
        if plan.kind == "histogram":
            return f"Rows by {name}"

        if plan.kind == "scatter" and plan.x:
            name = f"{name} against {plan.x.name}"
        elif plan.lines and not plan.split and len(self.table.columns) == 1:
            return f"{name} · {self.table.columns[0]}"

        by = plan.colour.name if plan.colour else ""
        if by.istitle():
            by = by.lower()
        return f"{name} by {by}" if by else name

    def do(self, name: str, step: Coded, why: str = "") -> Coded:
        """Assign the result of a step to a variable of the code."""
        self._code.append(f"{name} = {step.code}{why}")
        return Coded(step.value, name)

    def set(self, table: Coded, why: str = "") -> None:
        self.coded = self.do("table", table, why)

    def cut(self, inside: Array, why: str = "") -> None:
        """Keep the rows from the first to the last one inside."""
        table = self.table[inside]
        if inside.all() or table.empty:
            self.coded = Coded(table, "table")
            return

        low, high = (
            str(time).removesuffix(" 00:00:00") for time in table.index[[0, -1]]
        )
        self.set(self.coded.truncate(low, high), why)

    def reshape(self, zoom: Zoom) -> None:
        """Average the points, leave out incomplete periods, convert the values, and cut to the zoom."""
        plan = self.plan
        self._average()
        self._keep_whole_periods()
        if self.table.empty:
            return

        self._convert()
        if zoom and plan.times:
            low, high = map(time_of, zoom)
            inside = (self.table.index >= low) & (self.table.index <= high)
            if inside.any():
                self.cut(inside)

        every = -(-len(self.table) // plan.most_points)
        if plan.show == "average" and every > 1:
            self.set(self.coded.iloc[::every])
        if self.table.isna().all(axis=1).any():
            self.set(self.coded.dropna(how="all"))

    def _average(self) -> None:
        plan = self.plan
        step = plan.step
        first, sums = plan.aggregation
        of = "Each point is" if plan.show in {"value", "sum"} else "Computed from"
        if step and first != step:
            periods = self.coded.index.to_period(STEPS[step].period)
            self.set(self.coded.groupby(periods).mean().to_timestamp())
            self.notes.append(f"{of} the mean of the {plan.base}s of a {step}.")
        elif step not in {"", plan.base} and plan.show != "average":
            how = plan.how if sums else "mean of all rows"
            self.notes.append(f"{of} the {how} of {_a(step)}.")

    def _keep_whole_periods(self) -> None:
        """Leave out incomplete periods, whose sums would look like a fall."""
        plan = self.plan
        if not plan.times or plan.show not in {"sum", "index", "growth"}:
            return

        parts = plan.times.incomplete(plan.step)
        if not parts:
            return

        is_whole = ~self.table.index.isin([*parts.values()])
        self.cut(is_whole, f"  # whole {plan.step}s")
        self.notes.append(
            f"Left out, because incomplete: the {listed(parts, 'and')} {plan.step}."
        )

    def _convert(self) -> None:
        plan = self.plan
        if plan.show == "average":
            self.set(self.coded.rolling("7D").mean())
            self.notes.append("Each point is the mean of 7 days.")
        elif plan.show == "index":
            first = self.do("first", self.coded.bfill().iloc[0])
            self.set(self.coded / first.where(first > 0) * 100)
        elif plan.show == "growth":
            if plan.times:
                self.set(self.coded.asfreq(STEPS[plan.step].rule))
            before = self.coded.where(self.coded > 0).shift(plan.year)
            self.set(self.coded / before - 1)
            self.notes.append(
                f"Each {plan.step or 'period'} against the one a year before."
            )

    def bars(self) -> None:
        plan = self.plan
        count = len(self.table)
        how = plan.how
        if not plan.counts:
            how += " of all rows"
        self.notes.append(f"The {how}.")
        if plan.x and plan.x.role is Role.PERIOD:
            note = f"The last {_MOST_BARS} periods."
            self.set(self.coded.tail(_MOST_BARS))
        else:
            note = f"The {_MOST_BARS} largest of {count:,}."
            sums = self.coded.sum(axis=1).sort_values(ascending=False, kind="stable")
            self.set(self.coded.loc[sums.index].head(_MOST_BARS))

        if count > _MOST_BARS:
            self.notes.append(note)

    def sentences(self) -> list[str]:
        """Return sentences about what was aggregated or left out."""
        plan = self.plan
        notes = list(self.notes)
        if not plan.x and plan.is_over_time:
            notes.append(
                "In the order of the rows, since no column has times or categories."
            )
            if self.rows_of_a_point > 1:
                notes.append(
                    f"Each point is the mean of {self.rows_of_a_point:,} rows."
                )
        elif plan.over and plan.is_over_time:
            over = listed(plan.over, "and")
            if not plan.y.additive:
                over += ", each row counting the same"
            notes.append(f"The {plan.how} over {over}.")

        if plan.to_date:
            name = plan.to_date.name
            if self._keeps == "False":
                notes.append(f"{name} rows are left out.")
            else:
                notes.append(f"Only {name} rows are drawn.")

        notes += self.left_out
        return notes + [
            column.note for column in (plan.y, plan.x) if column and column.note
        ]


def _chart(points: Points, *, all_lines: bool) -> Json:
    """Return the view of some points, without what depends on the frame."""
    plan = points.plan
    panels = points.shown.get("panels", [""])
    lines = _dots(points) if plan.kind == "scatter" else _lines(points)
    series = sorted(lines, key=lambda line: panels.index(line["panel"]))
    drawn = {line["name"] for line in series}
    names = [name for name in points.shown.get("lines", [plan.y.name]) if name in drawn]
    colours = _colours(points, names, all_lines=all_lines)
    for line in series:
        line["colour"] = colours.get(line["name"], 0)
        line["name"] = inert(line["name"])
        line["panel"] = inert(line["panel"])

    adds = plan.y.additive and plan.is_over_time and len(names) > 1
    return _nothing("", plan.choices) | {
        "kind": plan.kind,
        "title": inert(points.title),
        "format": _format_of(plan),
        "step": plan.step,
        "rows": points.rows,
        "notes": points.sentences(),
        "adds": adds and plan.show in {"value", "sum", "average"},
        "x": _axis(points),
        "panels": [*map(inert, points.shown.get("panels", ()))],
        "series": series,
        "zero": plan.starts_at_zero,
    }


def _colours(
    points: Points, names: Sequence[str], *, all_lines: bool
) -> dict[str, int]:
    """Return the colours of lines, which they keep under filters; -1 for those that have none."""
    lines = points.plan.lines
    order = points.ranked(lines) if lines else names
    ranks = [*map(order.index, names)]
    free = iter(sorted({*range(COLOURS)}.difference(ranks[:COLOURS])))
    colours = dict.fromkeys(names, -1)
    for at, name in enumerate(names):
        if at < COLOURS <= ranks[at]:
            colours[name] = next(free)
        elif at < COLOURS or all_lines:
            colours[name] = ranks[at] % COLOURS

    return colours


def _axis(points: Points) -> Json:
    """Return the axis of times, categories or numbers."""
    plan = points.plan
    table = points.table
    if plan.kind in ROWS_APART:
        column = plan.x or plan.y
        ends = points.edges or [*table[column.name].agg(["min", "max"])]
        about = {"title": inert(column.name), "format": _column_format(column)}
        return about | {"type": "number", "values": ends, "labels": []}

    if plan.times:
        return {"type": "time", "values": days_of(table.index), "labels": []}
    labels = [inert(str(label)) for label in table.index]
    return {"type": "category", "values": list(range(len(table))), "labels": labels}


def _lines(points: Points) -> Iterator[Json]:
    """Yield the values of each column of the table."""
    table = points.table
    cells = (
        _rounded(table, _format_of(points.plan))
        .astype(object)
        .where(table.notna(), None)
    )
    for at, (panel, name) in enumerate(map(points.place, cells)):
        yield {"panel": panel, "name": name, "values": cells.iloc[:, at].tolist()}


def _dots(points: Points) -> Iterator[Json]:
    """Yield the points of each panel and colour, each with a place of its own."""
    plan = points.plan
    keys = [column.name for column in points.apart.values()]
    groups: Iterable[Any] = [((plan.y.name,), points.table)]
    if keys:
        groups = points.table.groupby(keys, observed=True)

    for key, rows in groups:
        panel, name = points.place(key if len(key) > 1 else key[0])
        xs, ys = (
            _rounded(rows[column.name], _column_format(column)).tolist()
            for column in (plan.x, plan.y)
            if column
        )
        yield {"panel": panel, "name": name, "values": ys, "xs": xs}


def _rounded(values: Any, format_: str) -> Any:
    """Round to nine digits, and large amounts to cents: the page is sent every digit."""
    size = max(float(np.nanmax(np.abs(values.to_numpy(float)))), 1e-9)
    most = 2 if format_ == "money" and size >= 100 else 12
    return values.round(min(max(9 - math.floor(math.log10(size)), 0), most))


def _nothing(why: str, choices: Sequence[Json] = ()) -> Json:
    return {
        "kind": "line",
        "title": "",
        "unit": "",
        "format": "number",
        "step": "",
        "adds": False,
        "rows": 0,
        "x": {"type": "category", "values": [], "labels": []},
        "series": [],
        "zero": False,
        "notes": [],
        "panels": [],
        "names": {},
        "log": False,
        "why": why,
        "choices": list(choices),
        "hidden": 0,
        "code": "",
    }


def _format_of(plan: Plan) -> str:
    """Return the format of the values of a chart."""
    if plan.kind == "histogram":
        return "count"
    if plan.show == "index":
        return "index"
    if plan.show == "growth":
        return "percent"
    return _column_format(plan.y)


def _column_format(column: ChartColumn) -> str:
    """Return the format of the values of a column."""
    if column.percent:
        return "percent"

    name = words(column.name)
    telling = name[-1:]
    if "per" in name:  # spend per card
        telling += name[:1]
    if not MONEY.isdisjoint(telling):
        return "money"
    sample = column.data.iloc[:10_000].dropna()
    if column.additive and (sample % 1 == 0).all():
        return "count"
    return "number"


def _unit(plan: Plan, about: str) -> str:
    """Return the unit of an axis: ``USD a day``, ``USD a day on average``, ``%``."""
    format_ = _format_of(plan)
    if plan.kind == "histogram":
        return "rows"
    if format_ == "percent":
        return "%"
    if format_ == "index":
        return "first point = 100"

    if format_ != "money":
        about = ""
    unit = ""
    if currency := _CURRENCY.search(f"{plan.y.name} {about}"):
        unit = currency[0]
    step, sums = plan.aggregation
    if not (step and sums):
        return unit

    unit = f"{unit} {_a(step)}".strip()
    if step != plan.step or plan.show == "average":
        unit += " on average"
    return unit


def _a(step: str) -> str:
    if step == "hour":
        return "an hour"
    return f"a {step}"


def _program(points: Points, source: Sequence[str]) -> str:
    """Return the program that draws the same chart with matplotlib."""
    plan = points.plan
    table = points.table
    lines = ["import matplotlib.pyplot as plt"]
    if plan.kind == "histogram":
        lines.append("import numpy as np")
    lines += ["import pandas as pd", "", *points.code(source)]
    if "$" in f"{points.title}{list(table.columns)}{list(table.index[:_MOST_BARS])}":
        lines.append("plt.rcParams['text.parse_math'] = False  # a dollar sign is one")
    draw = f"{_filled(points)}{KINDS[plan.kind].draw}"
    if plan.split:
        high = -(-len(points.shown["panels"]) // 3)
        part = "table[panel]"
        if plan.kind == "scatter":
            part = f"table[table[{literal(plan.split.name)}] == panel]"
        options = ", ".join(["ax=ax", "title=panel", *_options(points, "part")])
        lines += [
            f"figure, axes = plt.subplots({high}, 3, figsize=(9, {3 * high}), sharey=True, squeeze=False)",
            "for panel, ax in zip(panels, axes.flat):",
            f"    part = {part}",
            f"    part{draw}({options})",
        ]
        indent = "    "
    else:
        title = f"title={points.title!r}"
        options = ", ".join([title, "figsize=(9, 4)", *_options(points, "table")])
        lines.append(f"ax = table{draw}({options})")
        indent = ""

    if numbers := _formatter(points):
        lines.append(f"{indent}ax.{points.axis}axis.set_major_formatter({numbers})")
    return "\n".join([*lines, "plt.show()"])


def _options(points: Points, table: str) -> list[str]:
    """Return how a table is drawn, as options of pandas."""
    plan = points.plan
    options = [*_OPTIONS.get(plan.kind, ["xlabel=''", "ylabel=''"])]
    if plan.kind == "scatter" and plan.x:
        options += [f"x={literal(plan.x.name)}", f"y={literal(plan.y.name)}"]
        if plan.lines:
            of = f"{table}[{literal(plan.lines.name)}]"
            options += [
                f"c=[lines.index(name) for name in {of}]",
                'colormap="tab10"',
                "colorbar=False",
            ]
    elif not plan.split:
        count = len(points.table.columns)
        if count == 1:
            options.append("legend=False")
        if count > COLOURS:
            options.append(
                f"color=[*plt.cm.tab10.colors[:{COLOURS}], *['lightgray'] * {count - COLOURS}]"
            )

    if points.is_log:
        options.append(f"log{points.axis}=True")
    return options


def _filled(points: Points) -> str:
    """Return what draws a line over points without a value, as the panel does."""
    table = points.table
    if points.plan.kind not in {"line", "area"}:
        return ""

    holes = table.isna() & table.ffill().notna() & table.bfill().notna()
    if holes.any(axis=None):
        return ".interpolate(limit_area='inside')"
    return ""


def _formatter(points: Points) -> str:
    """Return how an axis writes its numbers; empty if that needs nothing."""
    if _format_of(points.plan) == "percent":
        return "plt.matplotlib.ticker.PercentFormatter(1)"
    if float(points.measured.abs().max().max()) >= 1e4:
        return "'{x:,.15g}'"
    return ""

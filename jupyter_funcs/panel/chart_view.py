"""The chart of a frame: its points, and code that draws the same chart with pandas and matplotlib."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from jupyter_funcs.core.coded import Coded, literal
from jupyter_funcs.core.text import inert, listed
from jupyter_funcs.frames.display import MONEY
from jupyter_funcs.frames.roles import NO_VALUE, Role, flat, words
from jupyter_funcs.panel.chart_plan import POINTS_OF_A_LINE, STEPS, Plan, Planner, days_of, time_of
from jupyter_funcs.panel.requests import ChartWish, Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_funcs.panel.chart_plan import Array, Zoom

_COLOURS = 8
_MOST_BARS = 50
_AS_IT_SUITS = ChartWish()
_CURRENCY = re.compile(r"\b(USD|EUR|GBP|CHF|JPY|CAD|AUD|CNY|INR)\b")


class Chart:
    """The charts of one frame, for any thread. Reads its columns once."""

    def __init__(self, frame: pd.DataFrame, about: str = "") -> None:
        self._frame = flat(frame.copy(deep=False))
        self._about = about

    @cached_property
    def _planner(self) -> Planner:
        return Planner(self._frame, self._about)

    def view(
        self,
        wish: ChartWish = _AS_IT_SUITS,
        *,
        rows: Array | None = None,
        zoom: Zoom = None,
        source: str = "df",
    ) -> Json:
        """Return a chart of the rows at these positions, zoomed to a range of days; `source` is their code."""
        if len(self._frame) == 1 and self._planner.columns:
            return _nothing(
                "The result is one row: a chart of it would show less than the table does."
            )
        plan = self._planner.plan(wish, zoom)
        if isinstance(plan, str):
            return _nothing(plan)
        order = self._planner.ranked(plan.lines) if plan.lines else [plan.y.name]
        before, variable = _prelude(source)
        drawn = slice(None) if rows is None else np.sort(rows)
        points = _Points(plan, order, drawn, variable)
        was_empty = points.table.empty
        if not was_empty:
            points.bars() if plan.kind == "bar" else points.reshape(zoom)
        if points.table.empty:
            why = (
                "These rows have no values of this measure."
                if was_empty
                else "No value can be shown this way."
            )
            return _nothing(
                why if points.rows else "No row matches the filters of the table.", plan.choices
            )
        if self._planner.calendars_differ(plan.x, drawn):
            points.notes.append("Fiscal quarters of companies end on different days.")
        if (count := self._planner.left_out) > 0:
            points.notes.append(f"{count:,} more columns of the result can't be chosen here.")
        view = _chart(points, order, all_lines=wish.all)
        return view | {
            "hidden": points.hidden,
            "unit": _unit(plan, self._about),
            "code": _program(points, before),
        }


class _Points:
    """A table of points, with one row per x value and one column per line, and the code that computes it."""

    def __init__(self, plan: Plan, order: Sequence[str], rows: Any, variable: str) -> None:
        """Aggregate the rows, and count those without a value by column."""
        if plan.to_date and not (plan.to_date.data.iloc[rows] == plan.keeps).any():
            plan = replace(plan, to_date=None)
        self.plan = plan
        self.notes: list[str] = []
        self.left_out: list[str] = []  # what is said of rows that no point shows
        self.hidden = 0  # lines
        columns = {
            column.name: column for column in (plan.x, plan.colour, plan.y, plan.to_date) if column
        }
        made = [
            f"    {literal(name)}: {column.code(variable)}," for name, column in columns.items()
        ]
        self.code = ["data = pd.DataFrame({", *made, "})"]
        values = {name: column.data for name, column in columns.items()}
        if plan.lines:
            values[plan.lines.name] = plan.lines.filled
        data = Coded(pd.DataFrame(values, copy=False).iloc[rows], "data")
        if plan.to_date:
            data = self.do("data", data[data[plan.to_date.name] == plan.keeps])
        self.rows = len(data.value)
        for column, without in ((plan.x, "without"), (plan.y, "without a value of")):
            if column and (missing := int(data.value[column.name].isna().sum())):
                row, are = ("row", "is") if missing == 1 else ("rows", "are")
                self.left_out.append(f"{missing:,} {row} {without} {column.name} {are} left out.")
                data = self.do("data", data.dropna(subset=[column.name]))
        self.rows_of_a_point = max(1, -(-len(data.value) // POINTS_OF_A_LINE))
        self.coded = Coded(pd.DataFrame(), "table")
        if len(data.value):
            self._bring_together(data, order)

    def _bring_together(self, data: Coded, order: Sequence[str]) -> None:
        plan = self.plan
        step, totals = plan.first
        by: Any = plan.x.name if plan.x else None
        if plan.lines:
            colour = plan.lines.name
            names = set(data.value[colour].unique())
            if NO_VALUE in names:
                data = self.do("data", data.fillna({colour: NO_VALUE}))
            shown = [name for name in order if name in names][: plan.most_lines]
            lines = self.do("lines", Coded(shown, literal(shown)))
            self.hidden = len(names) - len(shown)
            if self.hidden:
                data = self.do("data", data[data[colour].isin(lines)])
        if by is None:
            data = self.do("data", data.reset_index(drop=True))
            by = data.index // self.rows_of_a_point * self.rows_of_a_point
        # Times up to a day are the starts of their own periods.
        is_longer = bool(step) and (step != plan.base or STEPS[step].seconds > STEPS["day"].seconds)
        if is_longer:
            by = data[by].dt.to_period(STEPS[step].period)
        columns = {"columns": plan.lines.name} if plan.lines else {}
        table = data.pivot_table(
            plan.y.name, by, **columns, aggfunc="sum" if totals else "mean", observed=True
        )
        self.set(table[lines] if plan.lines else table)
        if is_longer:
            self.set(self.coded.to_timestamp())
        elif plan.x and plan.x.role is Role.PERIOD:
            self.set(self.coded.reindex(list(plan.x.data.cat.categories)).dropna(how="all"))

    @property
    def table(self) -> pd.DataFrame:
        table: pd.DataFrame = self.coded.value
        return table

    @property
    def title(self) -> str:
        """The measure and what it is split by; for a single line its name, because it has no legend."""
        name = self.plan.y.name
        colour = self.plan.colour
        if self.plan.lines and len(self.table.columns) == 1:
            return f"{name} · {self.table.columns[0]}"
        by = colour.name if colour else ""
        return f"{name} by {by.lower() if by.istitle() else by}" if by else name

    def do(self, name: str, step: Coded, why: str = "") -> Coded:
        """Assign the result of a step to a variable of the code."""
        self.code.append(f"{name} = {step.code}{why}")
        return Coded(step.value, name)

    def set(self, table: Coded, why: str = "") -> None:
        self.coded = self.do("table", table, why)

    def cut(self, inside: Array, why: str = "") -> None:
        """Keep the rows from the first to the last one inside."""
        table = self.table[inside]
        if inside.all() or table.empty:
            self.coded = Coded(table, "table")
            return
        low, high = (str(time).removesuffix(" 00:00:00") for time in table.index[[0, -1]])
        self.set(self.coded.truncate(low, high), why)

    def reshape(self, zoom: Zoom) -> None:
        """Average the points, leave out incomplete periods, convert the values, and cut to the zoom."""
        plan = self.plan
        step = plan.step
        of = "Each point is" if plan.show in {"value", "sum"} else "Computed from"
        if step and plan.first[0] != step:
            periods = self.coded.index.to_period(STEPS[step].period)
            self.set(self.coded.groupby(periods).mean().to_timestamp())
            self.notes.append(f"{of} the mean of the {plan.base}s of a {step}.")
        elif step not in {"", plan.base} and plan.show != "average":
            how = plan.how if plan.first[1] else "mean of all rows"
            self.notes.append(f"{of} the {how} of {_a(step)}.")
        if (
            plan.times
            and plan.show in {"sum", "index", "growth"}
            and (parts := plan.times.incomplete(step))
        ):
            self.cut(~self.table.index.isin([*parts.values()]), f"  # whole {step}s")
            are = "are" if len(parts) > 1 else "is"
            self.notes.append(f"The {listed(parts, 'and')} {step} {are} incomplete and left out.")
        if self.table.empty:
            return
        self.show()
        if zoom and plan.times:
            low, high = map(time_of, zoom)
            inside = (self.table.index >= low) & (self.table.index <= high)
            if inside.any():
                self.cut(inside)
        if plan.show == "average" and (every := -(-len(self.table) // plan.most_points)) > 1:
            self.set(self.coded.iloc[::every])
        if self.table.isna().all(axis=1).any():
            self.set(self.coded.dropna(how="all"))

    def show(self) -> None:
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
            self.set(self.coded / self.coded.where(self.coded > 0).shift(plan.year) - 1)
            self.notes.append(f"Each {plan.step or 'period'} against the one a year before.")

    def bars(self) -> None:
        plan = self.plan
        count = len(self.table)
        self.notes.append(f"The {plan.how}." if plan.counts else f"The {plan.how} of all rows.")
        if plan.x and plan.x.role is Role.PERIOD:
            note = f"The last {_MOST_BARS} periods."
            self.set(self.coded.tail(_MOST_BARS))
        else:
            note = f"The {_MOST_BARS} largest of {count:,}."
            self.set(
                self.coded.sort_values(plan.y.name, ascending=False, kind="stable").head(_MOST_BARS)
            )
        if count > _MOST_BARS:
            self.notes.append(note)

    def said(self) -> list[str]:
        """Return sentences about what was aggregated or left out."""
        plan = self.plan
        notes = list(self.notes)
        if not plan.x:
            notes.append("In the order of the rows, since no column has times or categories.")
            if self.rows_of_a_point > 1:
                notes.append(f"Each point is the mean of {self.rows_of_a_point:,} rows.")
        elif plan.over and plan.kind == "line":
            how = "" if plan.y.additive else ", each row counting the same"
            notes.append(f"The {plan.how} over {listed(plan.over, 'and')}{how}.")
        if plan.to_date:
            name = plan.to_date.name
            notes.append(
                f"{name} rows are left out."
                if plan.keeps == "False"
                else f"Only {name} rows are drawn."
            )
        return (
            notes
            + self.left_out
            + [column.note for column in (plan.y, plan.x) if column and column.note]
        )


def _chart(points: _Points, order: Sequence[str], *, all_lines: bool) -> Json:
    plan = points.plan
    table = points.table
    names = list(table.columns)
    ranks = [*map(order.index, names)]
    colours = [rank % _COLOURS if all_lines else -1 for rank in ranks]
    free = iter(sorted({*range(_COLOURS)}.difference(ranks[:_COLOURS])))
    colours[:_COLOURS] = [rank if rank < _COLOURS else next(free) for rank in ranks[:_COLOURS]]
    written = _written(plan)
    size = max(float(table.abs().max().max()), 1e-9)
    digits = min(9 - math.floor(math.log10(size)), 2 if written == "money" and size >= 100 else 12)
    cells = table.round(max(digits, 0)).astype(object).where(table.notna(), None)
    return _nothing("", plan.choices) | {
        "kind": plan.kind,
        "title": inert(points.title),
        "format": written,
        "step": plan.step if plan.times else "",
        "rows": points.rows,
        "notes": points.said(),
        "adds": plan.y.additive and len(names) > 1 and plan.show in {"value", "sum", "average"},
        "x": {
            "type": "time" if plan.times else "category",
            "values": days_of(table.index) if plan.times else list(range(len(table))),
            "labels": [] if plan.times else [inert(str(label)) for label in table.index],
        },
        "series": [
            {"name": inert(name), "colour": colour, "values": cells[name].tolist()}
            for name, colour in zip(names, colours, strict=True)
        ],
        "zero": plan.show == "growth"
        or plan.y.percent
        or (plan.y.additive and plan.show != "index"),
    }


def _nothing(why: str, choices: Sequence[Json] = ()) -> Json:
    nothing = {
        "kind": "line",
        "title": "",
        "unit": "",
        "format": "number",
        "step": "",
        "adds": False,
        "rows": 0,
    }
    empty = {
        "x": {"type": "category", "values": [], "labels": []},
        "series": [],
        "zero": False,
        "notes": [],
    }
    return nothing | empty | {"why": why, "choices": list(choices), "hidden": 0, "code": ""}


def _written(plan: Plan) -> str:
    """Return the format of the values of a chart."""
    if plan.y.percent or plan.show in {"growth", "index"}:
        return "index" if plan.show == "index" else "percent"
    name = words(plan.y.name)
    if not MONEY.isdisjoint(name[-1:] + name[:1] * ("per" in name)):  # spend per card
        return "money"
    return (
        "count"
        if plan.y.additive and bool((plan.y.data.iloc[:10_000].dropna() % 1 == 0).all())
        else "number"
    )


def _unit(plan: Plan, about: str) -> str:
    """Return the unit of an axis: ``USD a day``, ``USD a day on average``, ``%``."""
    written = _written(plan)
    if written in {"percent", "index"}:
        return "%" if written == "percent" else "first point = 100"
    currency = _CURRENCY.search(f"{plan.y.name} {about if written == 'money' else ''}")
    unit = currency[0] if currency else ""
    step, totals = plan.first
    if not (step and totals):
        return unit
    mean = " on average" * (step != plan.step or plan.show == "average")
    return f"{unit} {_a(step)}{mean}".strip()


def _a(step: str) -> str:
    return f"an {step}" if step == "hour" else f"a {step}"


def _prelude(source: str) -> tuple[list[str], str]:
    """Return the first lines of a program, and the name of the frame after them."""
    *before, last = source.splitlines()
    lines = ["import matplotlib.pyplot as plt", "import pandas as pd", "", *before]
    return (lines, last) if last.isidentifier() else ([*lines, f"frame = {last}"], "frame")


def _program(points: _Points, prelude: Sequence[str]) -> str:
    plan = points.plan
    table = points.table
    lines = list(prelude)
    if "$" in f"{points.title}{list(table.columns)}{list(table.index[:_MOST_BARS])}":
        lines.append("plt.rcParams['text.parse_math'] = False  # a dollar sign is one")
    percent = _written(plan) == "percent"
    draw = "table[::-1].plot.barh" if plan.kind == "bar" else "table.plot.line"
    if plan.kind == "line" and bool(
        (table.isna() & table.ffill().notna() & table.bfill().notna()).any(axis=None)
    ):
        draw = "table.interpolate(limit_area='inside').plot.line"
    options = [f"title={points.title!r}", "figsize=(9, 4)", "xlabel=''", "ylabel=''"]
    if len(table.columns) == 1:
        options.append("legend=False")
    if (others := len(table.columns) - _COLOURS) > 0:
        options.append(f"color=[*plt.cm.tab10.colors[:{_COLOURS}], *['lightgray'] * {others}]")
    lines += [*points.code, f"ax = {draw}({', '.join(options)})"]
    if percent or float(table.abs().max().max()) >= 1e4:
        axis = "xaxis" if plan.kind == "bar" else "yaxis"
        form = "plt.matplotlib.ticker.PercentFormatter(1)" if percent else "'{x:,.15g}'"
        lines.append(f"ax.{axis}.set_major_formatter({form})")
    return "\n".join([*lines, "plt.show()"])

"""Tables made of a table: one with a computed column, whose expression is parsed and never run, or a pivot."""

from __future__ import annotations

import ast
import re
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from jupyter_funcs.core.coded import Coded, literal, step
from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.text import did_you_mean, plural, quote
from jupyter_funcs.panel.table_column import TROUBLE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from jupyter_funcs.core.coded import Operation
    from jupyter_funcs.panel.requests import Json, Pivot
    from jupyter_funcs.panel.table_column import TableColumn

    Columns = dict[str, TableColumn]

_SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_SPELT = str.maketrans("×÷−–", "*/--")
_QUOTED = re.compile(r"`([^`]*)`")
_SUCH = (
    "Write one such as share(Spend), rolling(Spend, 4, Symbol) or Spend / `Transaction Count`: a name of several words "
    "stands in backticks."
)
_MOST_ROWS = 1_000_000  # that a function looks back

_KEYS = {"text", "id", "bool", "date"}  # types of columns whose values are groups
_MOST_ACROSS = 200  # values of a pivot's columns
_USUALLY_ACROSS = 24
_NOTES = {"mean": "Each row counts the same.", "share": "Shares of each column."}
_SAMPLE = 1_000  # rows by which a ratio is told
_MOST_MEASURES = 12  # of which ratios are looked for


class Expression:
    """An expression over columns: numbers, ``+ - * / ( )``, comparisons, and calls of a few functions."""

    def __init__(self, text: str, columns: Columns) -> None:
        self._columns = columns
        self._quoted: list[str] = []
        plain = _QUOTED.sub(self._hold, text.translate(_SPELT)).strip()
        try:
            node = ast.parse(plain, mode="eval").body
            self.result = self._of(node)
            self.adds_up = self._adds_up(node)
            is_column = isinstance(self.result.value, pd.Series)
        except ArgumentError:
            raise
        except (SyntaxError, MemoryError, RecursionError, *TROUBLE):
            raise ArgumentError(
                "This isn't an expression of columns and numbers.", _SUCH
            ) from None

        if not is_column:
            raise ArgumentError("The expression names no column.", _SUCH)

    def _hold(self, match: re.Match[str]) -> str:
        self._quoted.append(match[1])
        return f" _quoted_{len(self._quoted) - 1}_ "

    def _of(self, node: ast.AST) -> Coded:
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(
                number, bool
            ):
                return Coded(float(number), literal(number))
            case ast.Name(id=name):
                return self._number(self._column(name))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                positive = self._of(operand)
                return Coded(-positive.value, f"-{positive.part}", "-")
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return _ratio(self._of(left), self._of(right))
            case (
                ast.BinOp(left=left, op=sign, right=right)
                | ast.Compare(left=left, ops=[sign], comparators=[right])
            ) if type(sign) in _SIGNS:
                return self._of(left).joined(_SIGNS[type(sign)], self._of(right))
            case ast.Call(func=ast.Name(id=name), args=[first, *rest], keywords=[]):
                return self._called(name, self._of(first), rest)

        raise SyntaxError  # `__init__` says what it wants, as for those of `ast.parse`

    def _adds_up(self, node: ast.AST) -> bool:
        """Return whether the values can be summed: those of a ratio, a change or a mean can't."""
        match node:
            case ast.Name(id=name):
                return self._column(name).adds_up
            case (
                ast.UnaryOp(operand=inner)
                | ast.Call(func=ast.Name(id="abs"), args=[inner, *_])
            ):
                return self._adds_up(inner)
            case ast.BinOp(left=left, op=ast.Div(), right=ast.Constant()):
                return self._adds_up(left)
            case ast.BinOp(
                left=left, op=ast.Add() | ast.Sub() | ast.Mult() as sign, right=right
            ):
                columns = [
                    part for part in (left, right) if not isinstance(part, ast.Constant)
                ]
                adding = map(self._adds_up, columns)
                if isinstance(sign, ast.Mult):  # an amount times a ratio is an amount
                    return any(adding)
                return all(adding)

        return False

    def _column(self, name: str) -> TableColumn:
        if name.startswith("_quoted_"):
            name = self._quoted[int(name.split("_")[2])]
        return column_of(name, self._columns)

    def _number(self, column: TableColumn) -> Coded:
        if column.kind != "number":
            raise ArgumentError(f"{quote(column.name)} holds no numbers.", _SUCH)
        return _floats(Coded(column.data, column.ref))

    def _called(self, name: str, values: Coded, rest: Sequence[ast.AST]) -> Coded:
        """Call a function of values, perhaps a number of rows, and the columns that it is by."""
        if name not in _FUNCTIONS:
            raise ArgumentError(
                f"{quote(name)} can't be called here.",
                f"There are {', '.join(_FUNCTIONS)}.",
            )

        count = 1
        match rest:
            case [ast.Constant(value=int(count)), *rest]:
                if not 0 < count <= _MOST_ROWS:
                    raise ArgumentError(
                        f"{name} looks back 1 row or more, not {count:,}.", _SUCH
                    )

        by = [self._column(other.id) for other in rest if isinstance(other, ast.Name)]
        if len(by) < len(rest):
            raise ArgumentError(f"{name} takes columns after its values.", _SUCH)

        groups = values
        if by:
            keys = Coded(
                [column.data for column in by], f"[{', '.join(c.ref for c in by)}]"
            )
            groups = values.groupby(keys, dropna=False, observed=True)

        return _FUNCTIONS[name](values, groups, count)


def column_of(name: str, columns: Columns) -> TableColumn:
    """Return a column by its name."""
    if name not in columns:
        hint = did_you_mean(name, columns) or _SUCH
        raise ArgumentError(f"The table has no column {quote(name)}.", hint)
    return columns[name]


def _floats(values: Coded) -> Coded:
    return values if values.value.dtype == float else values.astype(float)


def _ratio(values: Coded, divisor: Coded) -> Coded:
    """Divide, by a zero to null."""
    if isinstance(divisor.value, pd.Series):
        divisor = _floats(divisor).replace(0, np.nan)
    elif not divisor.value:
        raise ArgumentError("The expression divides by zero.", _SUCH)
    return values.joined("/", divisor)


def _share(values: Coded, groups: Coded, _: int) -> Coded:
    if groups is values:
        return _ratio(values, values.sum())
    return _ratio(values, groups.transform("sum"))


def _rolling(values: Coded, groups: Coded, count: int) -> Coded:
    if groups is values:
        return values.rolling(count).mean()
    mean = Coded(
        lambda part: part.rolling(count).mean(),
        f"lambda part: part.rolling({count}).mean()",
    )
    return groups.transform(mean)


_FUNCTIONS: dict[str, Callable[[Coded, Coded, int], Coded]] = {
    "share": _share,
    "change": lambda values, groups, count: _ratio(values, groups.shift(count)).joined(
        "-", 1
    ),
    "rolling": _rolling,
    "log": lambda values, _, __: Coded(np, "np").log(values.where(values > 0)),
    "abs": lambda values, _, __: values.abs(),
}


class Pivoted(NamedTuple):
    """A pivot: the steps that make it of a flat frame, and what the table says of it."""

    steps: list[Operation]
    measure: str  # what its values are
    rows: list[str]
    across: str
    chosen: Json
    read: Collection[str] = ()  # the columns that the steps need

    def note(self, text: str) -> None:
        self.chosen["note"] = f"{self.chosen['note']} {text}".strip()

    @property
    def melted(self) -> list[Operation]:
        """What makes a row of each value, for the chart."""
        if not self.across:
            return []
        return [step("melt", self.rows, var_name=self.across, value_name=self.measure)]


def pivot(columns: Columns, wish: Pivot) -> Pivoted:
    """Complete what a person chose by the roles of the columns."""
    for name in filter(None, (*wish.rows, wish.columns, wish.measure)):
        column_of(name, columns)
    keys = [name for name, column in columns.items() if column.type in _KEYS]
    if not keys:
        raise ArgumentError(
            "There is nothing to group by: no column has categories or dates."
        )

    rows, across = _axes(keys, columns, wish)
    measures = [
        name
        for name, column in columns.items()
        if column.right and column.kind == "number"
    ]
    adding = [name for name in measures if columns[name].adds_up]
    measure = wish.measure
    if measure is None:
        measure = [*adding, *measures, ""][0]
    parts = _parts_of(measure, adding, columns)
    hows = _hows(measure, adding, parts)
    how = str(wish.how)
    if how not in hows:
        how = hows[0]
    chosen = {"rows": rows, "columns": across, "measure": measure, "how": how}
    label = _label(measure, how)
    steps = [*_ordered(columns, rows, across), *_grouped(chosen, parts, label)]
    chosen |= {
        "keys": keys,
        "measures": measures,
        "hows": hows,
        "note": _note(how, parts),
    }
    read = {*rows, across, measure, *parts}
    return Pivoted(steps, label, rows, across, chosen, read)


def _axes(keys: list[str], columns: Columns, wish: Pivot) -> tuple[list[str], str]:
    """Return the columns that name the rows, and the one whose values become columns, if any."""
    rows = list(dict.fromkeys(wish.rows))
    across = wish.columns
    if not rows or across is None:
        usual, beside = _usual_axes(keys, columns)
        rows = rows or [usual]
        if across is None:
            across = next((name for name in (beside, usual) if name not in rows), "")

    if across in {"", *rows}:
        return rows, ""
    if columns[across].distinct > _MOST_ACROSS:
        count = plural(columns[across].distinct, "value")
        raise ArgumentError(f"{quote(across)} has {count}.", "Use it for rows.")

    return rows, across


def _usual_axes(keys: list[str], columns: Columns) -> tuple[str, str]:
    """Return a column for rows and one for columns: a few periods go down, beside a label that varies."""
    times = [name for name in keys if columns[name].is_time]
    dates_last = sorted(times, key=lambda name: columns[name].type == "date")
    time = _first_varying(dates_last, columns)
    labels = [
        name for name in keys if name not in times and columns[name].type != "bool"
    ]
    label = _first_varying(labels, columns)
    if not (time and label):
        return time or label or keys[0], ""
    if columns[time].distinct > _USUALLY_ACROSS:
        return label, ""
    if columns[label].distinct > _USUALLY_ACROSS:
        return label, time
    return time, label


def _first_varying(names: Sequence[str], columns: Columns) -> str:
    """Return the first column whose values differ; the others aren't factorized, which takes long."""
    return next((name for name in names if columns[name].distinct > 1), "")


def _hows(measure: str, adding: Sequence[str], parts: Sequence[str]) -> list[str]:
    """Return the ways to bring the values of a measure together, the best first."""
    if not measure:
        return ["count"]

    usual = ["mean", "count", "first", "last"]
    if measure in adding:
        return ["sum", "share", *usual]
    return ["ratio", *usual] if parts else usual


def _label(measure: str, how: str) -> str:
    if not measure:
        return "Rows"
    if how == "sum":
        return measure
    return f"{measure} ({how})"


def _note(how: str, parts: Sequence[str]) -> str:
    if how == "ratio":
        return f"The sum of {parts[0]} by that of {parts[1]}."
    return _NOTES.get(how, "")


def _parts_of(measure: str, adding: Sequence[str], columns: Columns) -> list[str]:
    """Return the two measures of which one by the other is this measure, as a sample of the rows tells."""
    if not measure or measure in adding:
        return []

    names = [measure, *adding[:_MOST_MEASURES]]
    every = max(1, len(columns[measure].data) // _SAMPLE)
    floats = pd.DataFrame(
        {name: columns[name].floats()[::every] for name in names}
    ).dropna()
    for name, other in permutations(names[1:], 2):
        product = floats[measure] * floats[other]
        if len(floats) > 1 and np.allclose(product, floats[name], rtol=1e-3):
            return [name, other]

    return []


def _ordered(columns: Columns, rows: Sequence[str], across: str) -> list[Operation]:
    """Return what puts named periods in the order of time, and makes texts of the dates of columns."""
    steps = []
    for name in filter(None, [*rows, across]):
        column = columns[name]
        if name == across and column.type == "date":
            change = step("dt.strftime", "%Y-%m-%d")
        elif column.of_time:
            periods = list(column.codes.uniques)
            ordered = Coded(pd, "pd").CategoricalDtype(periods, ordered=True)
            change = step("astype", ordered)
        else:
            continue
        function = Coded(
            lambda df, name=name, change=change: change(df[name]),
            f"lambda df: {change.code(f'df[{literal(name)}]')}",
        )
        steps.append(step("assign", **{name: function}))

    return steps


def _grouped(chosen: Json, parts: list[str], label: str) -> list[Operation]:
    """Return what brings the rows of each group together."""
    across = chosen["columns"]
    keys = [*filter(None, [*chosen["rows"], across])]
    steps = [
        step("groupby", keys, observed=True, dropna=False),
        *_joined(chosen, parts),
    ]
    if across:
        steps.append(step("unstack"))
    if chosen["how"] == "share":
        share = Coded(lambda sums: sums / sums.sum(), "lambda sums: sums / sums.sum()")
        steps.append(step("pipe", share))
    if not across:
        return [*steps, step("reset_index", name=label)]
    texts = step("rename", columns=str)
    return [*steps, texts, step("reset_index", allow_duplicates=True)]


def _joined(chosen: Json, parts: list[str]) -> list[Operation]:
    """Return what makes one value of those of each group."""
    how = chosen["how"]
    if how == "ratio":
        name, other = map(literal, parts)
        ratio = Coded(
            lambda sums: sums[parts[0]] / sums[parts[1]].replace(0, np.nan),
            f'lambda sums: sums[{name}] / sums[{other}].replace(0, float("nan"))',
        )
        return [step("[]", parts), step("sum", min_count=1), step("pipe", ratio)]

    if not chosen["measure"]:
        return [step("size")]
    joined = step(how)
    if how in {"sum", "share"}:
        joined = step("sum", min_count=1)
    return [step("[]", chosen["measure"]), joined]

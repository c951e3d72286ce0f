"""Display a DataFrame in HTML: the format of each column, a short table, and the texts around it."""

from __future__ import annotations

import datetime as dt
import html
import json
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
from pandas.api.types import (
    infer_dtype,
    is_bool_dtype,
    is_datetime64_any_dtype,
    is_scalar,
)

from jupyter_funcs.core.text import clip, inert, plural
from jupyter_funcs.frames.media import file_of
from jupyter_funcs.frames.roles import (
    are_days,
    flat,
    is_fraction,
    is_growth,
    is_identifier,
    is_key,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.frames.columns import Series

LONGEST_CELL = 120

_MOST_COLUMNS = 40
MONEY = {
    "spend",
    "revenue",
    "revenues",
    "sales",
    "price",
    "amount",
    "cost",
    "costs",
    "turnover",
    "income",
    "profit",
}
NUMBERS = {"money", "count", "number", "percent"}
NUMBERS_OF_PYTHON = {"decimal", "floating", "integer", "mixed-integer-float"}
UNITS = ((1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "B"), (1e12, "T"))
_SAMPLE = 1000  # values to look at first
# On each cell, because JupyterLab's style for the cells of any table says right.
_LEFT = ' style="text-align: left"'
_RIGHT = ' style="text-align: right"'


def table_html(
    frame: pd.DataFrame, *, rows: int = 100, columns: int = _MOST_COLUMNS
) -> str:
    """Return the first and last rows of a frame as an HTML table that says how much it leaves out."""
    if frame.empty:
        return f"<div>{html.escape(_nothing(frame))}</div>"
    frame = flat(frame)
    top = rows - rows // 2
    part = frame
    if len(frame) > rows:
        part = frame.iloc[[*range(top), *range(len(frame) - rows // 2, len(frame))]]
    head = ""
    table: list[list[str]] = []  # the cells of each column
    for (name, column), (_, shown) in islice(
        zip(frame.items(), part.items(), strict=True), columns
    ):
        form = format_of(column)
        style = _LEFT
        if form.type in NUMBERS:
            style = _RIGHT
        head += f'<th scope="col"{style}>{html.escape(short_text(name))}</th>'
        texts = map(form.text, shown.tolist())
        table.append([f"<td{style}>{html.escape(text)}</td>" for text in texts])

    if frame.shape[1] > columns:
        head += (
            f'<th scope="col"{_LEFT}>… {frame.shape[1] - columns:,} more columns …</th>'
        )
        table.append([f"<td{_LEFT}></td>"] * len(part))

    lines = [f"<tr>{''.join(row)}</tr>" for row in zip(*table, strict=True)]
    if len(part) < len(frame):
        hidden = f"… {len(frame) - rows:,} more rows …"
        lines.insert(top, f'<tr><td colspan="{len(table)}"{_LEFT}>{hidden}</td></tr>')

    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    )


def _nothing(frame: pd.DataFrame) -> str:
    """Describe a frame without values."""
    if len(frame):
        return f"{plural(len(frame), 'row')}, and no columns."
    if frame.columns.empty:
        return "No rows."
    names = ", ".join(map(short_text, frame.columns[:_MOST_COLUMNS]))
    if frame.shape[1] > _MOST_COLUMNS:
        names += f" and {frame.shape[1] - _MOST_COLUMNS:,} more"
    return f"No rows. Columns: {names}."


def shape_text(frame: pd.DataFrame) -> str:
    """Return the size of a result in words: ``1,826 rows × 7 columns``; the type and the size of a file."""
    if file := file_of(frame):
        return file.about
    rows, columns = frame.shape
    return f"{plural(rows, 'row')} × {plural(columns, 'column')}"


def short_text(value: object) -> str:
    """Return the beginning of a value as text on one line."""
    return clip(inert(str(value)[: 4 * LONGEST_CELL]), LONGEST_CELL)


def short_number(value: float) -> str:
    """Return a number in three digits: ``124k``, ``62.5``."""
    for size, unit in UNITS:
        if abs(value) < 999.5 * size:
            return with_minus(f"{value / size:.3g}{unit}")
    return with_minus(f"{value:.3g}")


def with_minus(number: str) -> str:
    """Return the text of a number with the minus sign of the screen; copies, files and code keep the hyphen."""
    return number.replace("-", "−")


class ColumnFormat(NamedTuple):
    """How a column is written: the type that it reads as, and the text of a value."""

    type: str
    text: Callable[[Any], str]


def format_of(column: Series, about: str = "") -> ColumnFormat:
    """Return the format of a column."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return format_of(pd.Series(dtype.categories, name=column.name), about)
    if dtype.kind in "iuf":
        return _format(*_number_format(column, about))
    if is_datetime64_any_dtype(dtype):
        if are_days(column):
            return _format("date", lambda time: time.isoformat()[:10])
        return _format("datetime", lambda time: time.isoformat(sep=" "))

    if is_bool_dtype(dtype):
        return _format("bool", str)
    kind = infer_dtype(column.dropna().head(_SAMPLE))
    plain = is_identifier(column.name)
    named = "text"
    if kind in NUMBERS_OF_PYTHON:
        named = "number"
    elif kind == "string" and is_key(column.name):
        named = "id"

    return _format(named, lambda value: _object_text(value, plain=plain))


def _format(named: str, text: Callable[[Any], str]) -> ColumnFormat:
    def written(value: Any) -> str:
        if is_empty(value):
            return ""
        shown = short_text(text(value))
        if named in NUMBERS and not isinstance(value, str):
            return with_minus(shown)
        return shown

    return ColumnFormat(named, written)


def is_empty(value: Any) -> bool:
    return is_scalar(value) and bool(pd.isna(value))


# By the kind of numbers and the type that they read as.
_PATTERNS = {
    ("i", "id"): "{}",
    ("i", "money"): "{:,}",
    ("i", "count"): "{:,}",
    ("f", "id"): "{:.0f}",
    ("f", "money"): "{:,.2f}",
    ("f", "count"): "{:,.0f}",
}
# Of numbers with a fraction, by the largest of the column.
_BY_SIZE = ((1e15, "{:.6g}"), (100, "{:,.2f}"), (0.01, "{:,.4f}"), (0, "{:.4g}"))


def _number_format(column: Series, about: str) -> tuple[str, Callable[[Any], str]]:
    present = column.dropna()
    kind = column.dtype.kind.replace("u", "i")
    largest = float(present.abs().max()) if len(present) else 0.0
    is_whole = kind == "i" or (
        largest < 2**53 and _are_whole(present.head(_SAMPLE)) and _are_whole(present)
    )
    named = _number_type(present, about, is_whole=is_whole)
    if named == "number":
        pattern = next(pattern for least, pattern in _BY_SIZE if largest >= least)
    elif named != "percent":
        pattern = _PATTERNS[kind, named]
    elif is_growth(column.name):
        pattern = "{:+,.1%}"
    else:
        pattern = "{:,.1%}"

    return named, pattern.format


def _number_type(present: Series, about: str, *, is_whole: bool) -> str:
    name = present.name
    if is_whole and is_identifier(name):
        return "id"
    if is_fraction(present, name, about):
        return "percent"
    if not MONEY.isdisjoint(words(name)) and not is_growth(name):
        return "money"
    if is_whole:
        return "count"
    return "number"


def _are_whole(numbers: Series) -> bool:
    return bool((numbers % 1 == 0).all())


def _object_text(value: Any, *, plain: bool) -> str:
    if isinstance(value, str):
        return value
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if is_number and not plain:
        return _grouped(value)
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, bytes):
        value = value[: 4 * LONGEST_CELL]
        text: str = value.decode(errors="ignore")
        if text.encode() == value:
            return text

    if isinstance(value, dict | list | tuple):
        return nested_text(value)
    return str(value)


def _grouped(value: float | Decimal) -> str:
    try:
        return f"{value:,}"
    except ValueError:  # Python refuses to convert integers with thousands of digits
        return "a number with too many digits to show"


def nested_text(value: Any) -> str:
    """Return the beginning of a nested value as JSON, without reading the rest."""
    text = ""
    try:
        for chunk in json.JSONEncoder(ensure_ascii=False, default=str).iterencode(
            value
        ):
            text += chunk
            if len(text) > LONGEST_CELL:
                break
    except (ValueError, RecursionError):  # it contains itself, or is nested too deeply
        text += "…"

    return text

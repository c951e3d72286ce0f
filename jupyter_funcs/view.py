"""HTML for people: the panel's look, a DataFrame as a short table, a field's note. No widget here."""

from __future__ import annotations

import html
import re
from importlib import resources
from typing import TYPE_CHECKING, Any

import pandas as pd

from jupyter_funcs.fields import Kind
from jupyter_funcs.text import clip, inert

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jupyter_funcs.fields import Field

LABEL_WIDTH = "210px"

_MOST_ROWS = 100
_MOST_COLUMNS = 40
_LONGEST_CELL = 120
# Whole numbers that name something are shown as they are: 2025, not 2,025.
_IDENTIFIES = re.compile(r"(?:id|year|code|key|number|no)$", re.IGNORECASE)


class Listing(pd.DataFrame):
    """A table of texts to read: each is shown whole, at the left, without row numbers; its parts are plain frames."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def _repr_html_(self) -> str:
        with pd.option_context("display.max_colwidth", None, "display.max_rows", None):
            table = str(self._inert().to_html(index=False, border=0))
        return table.replace("<td>", _CELL_OF_TEXT).replace("<th>", _CELL_OF_TEXT.replace("td", "th"))

    def __repr__(self) -> str:
        with pd.option_context("display.max_colwidth", 60, "display.max_columns", None, "display.max_rows", None):
            return str(self._inert())

    def _inert(self) -> pd.DataFrame:
        return pd.DataFrame(self).map(lambda value: inert(str(value)))


_CELL_OF_TEXT = '<td style="text-align: left; vertical-align: top; white-space: normal">'


def table_html(frame: pd.DataFrame) -> str:
    """
    Give the first and last rows of a frame as an HTML table.

    Numbers stand to the right with as many decimals as their size asks for; every text is escaped and inert. At most
    100 rows and 40 columns are shown.
    """
    if frame.empty:
        columns = ", ".join(_escaped(column) for column in frame.columns)
        return f'<div class="jf-empty">No rows.{f" Columns: {columns}." if columns else ""}</div>'
    half = _MOST_ROWS // 2
    long = len(frame) > _MOST_ROWS
    part = frame.iloc[[*range(half), *range(len(frame) - half, len(frame))]] if long else frame
    table: list[tuple[str, str, list[str]]] = []  # class, name and cells of each column
    if not isinstance(frame.index, pd.RangeIndex):
        table.append(("", _escaped(frame.index.name or ""), [_escaped(label) for label in part.index]))
    for at in range(min(frame.shape[1], _MOST_COLUMNS)):
        column = frame.iloc[:, at]
        form = _formatter(column)
        kind = ' class="jf-n"' if pd.api.types.is_numeric_dtype(column.dtype) else ""
        table.append((kind, _escaped(frame.columns[at]), [_cell(value, form) for value in part.iloc[:, at]]))
    head = "".join(f"<th{kind}>{name}</th>" for kind, name, _ in table)
    rows = [
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for (kind, _, _), cell in zip(table, row, strict=True)) + "</tr>"
        for row in zip(*(cells for _, _, cells in table), strict=True)
    ]
    if long:
        hidden = f"… {len(frame) - _MOST_ROWS:,} more rows …"
        rows.insert(half, f'<tr class="jf-gap"><td colspan="{len(table)}">{hidden}</td></tr>')
    return f'<table class="jf-table"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def shape_text(frame: pd.DataFrame) -> str:
    """Give the size of a frame in words: ``1,826 rows × 7 columns``."""
    rows, columns = frame.shape
    return f"{rows:,} row{'s' * (rows != 1)} × {columns} column{'s' * (columns != 1)}"


def head_html(service: str, *, synthetic: bool) -> str:
    """Give the panel's look and its head: what it is, which service it asks, and whether the data are invented."""
    badge = _escaped(service + " · synthetic data" * synthetic)
    css = resources.files(__package__).joinpath("panel.css").read_text("utf-8")
    style = f"<style>.jf-panel {{ --jf-label: {LABEL_WIDTH}; }}\n{css}</style>"
    return f'{style}<div class="jf-head"><b>Functions</b><span class="jf-badge">{badge}</span></div>'


def title_html(name: str, description: str) -> str:
    """Give a function's name and description."""
    return f'<div class="jf-title">{_escaped(name)}</div><div class="jf-about">{html.escape(inert(description))}</div>'


def note_html(field: Field, errors: Iterable[str], waiting: str) -> str:
    """Give what stands below a control: the errors, the help, and what the field waits for."""
    wrong = "".join(f'<div class="jf-bad" role="alert">{html.escape(text)}</div>' for text in errors)
    said = html.escape(inert(field.brief))
    if field.kind is Kind.LIST and not field.options:
        said += " Add them one by one."
    if waiting:
        said += f" <i>{html.escape(waiting)}</i>"
    return f'<div class="jf-note">{wrong}{said.strip()}</div>' if wrong or said else ""


def done_html(caption: str, recipe: str) -> str:
    """Give the size and the time of a result, and the code that gives its DataFrame."""
    said = f'<span class="jf-quiet"> · <code>{html.escape(recipe)}</code> gives the DataFrame</span>'
    return html.escape(caption) + said


def result_html(table: str, old: str) -> str:
    """Give a table to scroll in; one of earlier values is dimmed, with the caption `old` that it had."""
    if not table:
        return ""
    said = f'<div class="jf-quiet">Of earlier values: {html.escape(old)}</div>' if old else ""
    return f'{said}<div class="jf-scroll{" jf-old" * bool(old)}">{table}</div>'


def code_html(program: str) -> str:
    """Give a program, folded away; one click on it selects the whole."""
    return f'<details class="jf-code"><summary>The same as code</summary><pre>{html.escape(program)}</pre></details>'


def bad_html(lines: Iterable[str]) -> str:
    """Give the lines of an error."""
    return "<br>".join(f'<span class="jf-bad">{html.escape(line)}</span>' for line in lines)


def _formatter(column: pd.Series[Any]) -> Callable[[Any], str]:
    if pd.api.types.is_float_dtype(column.dtype):
        pattern = "{:,.2f}" if column.abs().max() >= 100 else "{:,.4f}"
        return pattern.format
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        known = column.dropna()
        pattern = "%Y-%m-%d" if bool((known == known.dt.normalize()).all()) else "%Y-%m-%d %H:%M:%S"
        return lambda value: str(value.strftime(pattern))
    if pd.api.types.is_integer_dtype(column.dtype) and not _IDENTIFIES.search(str(column.name)):
        return "{:,}".format
    return _escaped


def _cell(value: Any, form: Callable[[Any], str]) -> str:
    return "" if pd.api.types.is_scalar(value) and pd.isna(value) else form(value)


def _escaped(value: object) -> str:
    return html.escape(clip(inert(str(value)), _LONGEST_CELL))

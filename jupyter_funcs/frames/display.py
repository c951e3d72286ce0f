"""HTML for people: a DataFrame as a short table, and the words around it. No widget here."""

from __future__ import annotations

import html
import re
from itertools import cycle
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from jupyter_funcs.formats import LONGEST_CELL, format_of
from jupyter_funcs.text import clip, inert
from jupyter_funcs.wrapping import table_text, terminal_width

if TYPE_CHECKING:
    from collections.abc import Iterable

LABEL_WIDTH = "160px"

_MOST_LATEST = 200
_MOST_ROWS = 100
_MOST_COLUMNS = 40
_UNFOLDED, _LONGEST_ABOUT = 400, 10_000  # characters of a description


class Listing(pd.DataFrame):
    """
    A table to read: texts whole and at the left, numbers at the right, no row numbers; its parts are plain frames.

    Attributes
    ----------
    nothing
        What is said in place of a table without rows.
    """

    _metadata: ClassVar[list[str]] = ["nothing"]
    nothing = "Nothing to list."

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def _repr_html_(self) -> str:
        if self.empty:
            return f"<div>{html.escape(inert(self.nothing))}</div>"
        with pd.option_context("display.max_colwidth", None, "display.max_rows", None):
            table = str(self._inert().to_html(index=False, border=0))
        # Every text is escaped, so that these are the cells and nothing else, row by row.
        styles = cycle(map(_style_of, self.dtypes))
        return re.sub("<(t[dh])>", lambda cell: f'<{cell[1]} style="{next(styles)}">', table)

    def __repr__(self) -> str:
        if self.empty:
            return inert(self.nothing)
        texts = [[str(name), *column] for name, column in self._inert().items()]
        return table_text(texts, [_is_number(dtype) for dtype in self.dtypes], terminal_width())

    def _inert(self) -> pd.DataFrame:
        shown = pd.DataFrame(self._shown())
        texts = [column.map(_TEXT_OF.get(str(column.dtype), _text)) for _, column in shown.items()]
        return pd.concat(texts, axis="columns").astype(object)

    def _shown(self) -> pd.DataFrame:
        return self


class Latest(Listing):
    """A listing that may be very long, the latest rows of which are shown."""

    def _repr_html_(self) -> str:
        return f"{html.escape(self._hidden())}{super()._repr_html_()}"

    def __repr__(self) -> str:
        hidden = self._hidden()
        return f"{hidden}\n{super().__repr__()}" if hidden else super().__repr__()

    def _hidden(self) -> str:
        number = len(self) - _MOST_LATEST
        return f"The latest {_MOST_LATEST} of {len(self):,}; all of them are in the DataFrame." if number > 0 else ""

    def _shown(self) -> pd.DataFrame:
        return self.tail(_MOST_LATEST)


def _style_of(dtype: Any) -> str:
    side = "right" if _is_number(dtype) else "left"
    spaces = "nowrap" if side == "right" or pd.api.types.is_datetime64_any_dtype(dtype) else "normal"
    return f"text-align: {side}; vertical-align: top; white-space: {spaces}"


def _is_number(dtype: Any) -> bool:
    return bool(pd.api.types.is_numeric_dtype(dtype))


def _text(value: object) -> str:
    return inert(str(value))


def _count(value: object) -> str:
    return "" if value is pd.NA else f"{value:,}"


# A run's number is neither: it is written as it is typed.
_TEXT_OF = {"Int64": _count, "float64": "{:,.2f}".format}


def table_html(frame: pd.DataFrame, about: str = "") -> str:
    """
    Give the first and last rows of a frame as an HTML table.

    Each column reads as `formats` has it; every text is escaped and inert. At most 100 rows and 40 columns are shown,
    and the table says how many are not.

    Parameters
    ----------
    frame
        Any frame: also of a million rows, a thousand columns, or none.
    about
        The description of the function that gave it.
    """
    if frame.empty:
        return f'<div class="jf-empty">{html.escape(_nothing(frame))}</div>'
    half = _MOST_ROWS // 2
    long = len(frame) > _MOST_ROWS
    part = frame.iloc[[*range(half), *range(len(frame) - half, len(frame))]] if long else frame
    table: list[tuple[str, str, list[str]]] = []  # class, name and cells of each column
    for level in [] if isinstance(frame.index, pd.RangeIndex) else range(frame.index.nlevels):
        labels = pd.Series(part.index.get_level_values(level))
        form = format_of(labels)
        table.append(("", _escaped(frame.index.names[level] or ""), [*map(html.escape, map(form.text, labels))]))
    for at in range(min(frame.shape[1], _MOST_COLUMNS)):
        form = format_of(frame.iloc[:, at], about)
        kind = ' class="jf-n"' if form.right else ""
        cells = [html.escape(form.text(value)) for value in part.iloc[:, at].tolist()]
        table.append((kind, _escaped(frame.columns[at]), cells))
    if frame.shape[1] > _MOST_COLUMNS:
        hidden = f"… {frame.shape[1] - _MOST_COLUMNS:,} more columns …"
        table.append((' class="jf-more"', hidden, [""] * len(part)))
    head = "".join(f'<th scope="col"{kind}>{name}</th>' for kind, name, _ in table)
    rows = [
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for (kind, _, _), cell in zip(table, row, strict=True)) + "</tr>"
        for row in zip(*(cells for _, _, cells in table), strict=True)
    ]
    if long:
        hidden = f"… {len(frame) - _MOST_ROWS:,} more rows …"
        rows.insert(half, f'<tr class="jf-gap"><td colspan="{len(table)}">{hidden}</td></tr>')
    return f'<table class="jf-table"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def shown_text(frame: pd.DataFrame) -> str:
    """Say how much of a frame `table_html` shows; nothing when that is all of it."""
    half = _MOST_ROWS // 2
    said = [f"First {half} and last {half} of {len(frame):,} rows"] * (len(frame) > _MOST_ROWS)
    said += [f"{_MOST_COLUMNS} of {frame.shape[1]:,} columns"] * (frame.shape[1] > _MOST_COLUMNS)
    return "; ".join(said) if not frame.empty else ""


def _nothing(frame: pd.DataFrame) -> str:
    """Say of what a frame without a value has none."""
    if len(frame):
        return f"{len(frame):,} row{'s' * (len(frame) != 1)}, and no columns."
    columns = [clip(inert(str(column)), LONGEST_CELL) for column in frame.columns[:_MOST_COLUMNS]]
    more = f" and {frame.shape[1] - len(columns):,} more" * (frame.shape[1] > len(columns))
    return f"No rows. Columns: {', '.join(columns)}{more}." if columns else "No rows."


def shape_text(frame: pd.DataFrame) -> str:
    """Give the size of a frame in words: ``1,826 rows × 7 columns``."""
    rows, columns = frame.shape
    return f"{rows:,} row{'s' * (rows != 1)} × {columns} column{'s' * (columns != 1)}"


def title_html(name: str, description: str) -> str:
    """Give a function's name and its description, of which no more than some lines stand there unfolded."""
    about = inert(description[:_LONGEST_ABOUT])
    first = about if len(about) <= _UNFOLDED else clip(about, _UNFOLDED)
    said = html.escape(first)
    if first != about:
        said = f"<details><summary>{said}</summary>{html.escape(about[len(first) - 1 :])}</details>"
    return f'<div class="jf-title">{_escaped(name)}</div><div class="jf-about">{said}</div>'


def done_html(caption: str, recipe: str) -> str:
    """Give the size and the time of a result, and the code that gives its DataFrame."""
    said = f'<span class="jf-quiet"> · <code>{html.escape(recipe)}</code> gives the DataFrame</span>'
    return html.escape(caption) + said


def code_html(program: str) -> str:
    """Give a program, folded away; one click on it selects the whole."""
    return f'<details class="jf-code"><summary>The same as code</summary><pre>{html.escape(program)}</pre></details>'


def bad_html(lines: Iterable[str]) -> str:
    """Give the lines of an error."""
    return "<br>".join(f'<span class="jf-bad">{html.escape(line)}</span>' for line in lines)


def _escaped(value: object) -> str:
    return html.escape(clip(inert(str(value)[: 4 * LONGEST_CELL]), LONGEST_CELL))

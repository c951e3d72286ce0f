"""Tables to read: DataFrames that show their texts in full, in HTML or wrapped to the width of a terminal."""

from __future__ import annotations

import datetime as dt
import html
import re
import shutil
import sys
import textwrap
from itertools import compress, cycle, zip_longest
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd
from pandas.api.types import is_datetime64_any_dtype, is_numeric_dtype

from jupyter_funcs.core.text import inert

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jupyter_funcs.frames.columns import Series

_GAP = "  "
_DEFAULT_WIDTH = 80  # without a terminal, as in a kernel
_LEAST_WIDTH = 8


class Listing(pd.DataFrame):
    """
    A DataFrame showing texts in full, numbers right-aligned and no row numbers; its slices are plain DataFrames.

    `nothing` is shown if it is empty, and `note` above the table; only the `latest` rows are shown, if set.
    """

    _metadata: ClassVar[list[str]] = ["nothing", "latest", "note"]
    nothing = "Nothing to list."
    note = ""
    latest: int | None = None

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def _repr_html_(self) -> str:
        if self.empty:
            return f"<div>{html.escape(inert(self.nothing))}</div>"
        options: list[Any] = ["display.max_colwidth", None, "display.max_rows", None]
        options += ["display.html.use_mathjax", False]
        with pd.option_context(*options):
            table = self._inert().to_html(index=False, border=0)
        # Texts are escaped, so only the cells match, row by row.
        styles = cycle(map(_style_of, self.dtypes))
        return self._hidden() + re.sub(
            "<(t[dh])>", lambda cell: f'<{cell[1]} style="{next(styles)}">', table
        )

    def __repr__(self) -> str:
        if self.empty:
            return inert(self.nothing)
        width = terminal_width()
        texts = [[str(name), *column] for name, column in self._inert().items()]
        right = [_is_number(dtype) for dtype in self.dtypes]
        if sum(max(map(len, column)) + len(_GAP) for column in texts) > width:
            # What is empty takes no room from the others.
            is_shown = [any(column[1:]) for column in texts]
            texts = [*compress(texts, is_shown)]
            right = [*compress(right, is_shown)]
        table = table_text(texts, right, width)
        if hidden := self._hidden():
            return f"{hidden}\n{table}"
        return table

    def _hidden(self) -> str:
        if self.latest is not None and len(self) > self.latest:
            return f"Showing the latest {self.latest} of {len(self):,} rows."
        return self.note

    def _inert(self) -> pd.DataFrame:
        shown = self.tail(self.latest or len(self))
        # As objects, because `map` of pandas 2 turns nullable integers into floats.
        texts = [
            column.astype(object).map(_text_of(column)) for _, column in shown.items()
        ]
        return pd.concat(texts, axis="columns").astype(object).rename(columns=_text)


def _style_of(dtype: Any) -> str:
    side = "left"
    spaces = "normal"
    if _is_number(dtype):
        side = "right"
    if _is_number(dtype) or is_datetime64_any_dtype(dtype):
        spaces = "nowrap"
    return f"text-align: {side}; vertical-align: top; white-space: {spaces}"


def _is_number(dtype: Any) -> bool:
    return bool(is_numeric_dtype(dtype))


def _text(value: object) -> str:
    return inert(str(value))


# Plain int64, such as the number of a run, is shown as it is typed.
_TEXT_OF: dict[str, Callable[[Any], str]] = {
    "Int64": lambda count: "" if count is pd.NA else f"{count:,}",
    "float64": "{:,.2f}".format,
}


def _text_of(column: Series) -> Callable[[Any], str]:
    today = dt.date.today()  # noqa: DTZ011  # where the reader is
    is_time = is_datetime64_any_dtype(column.dtype)
    if is_time and (column.dt.date == today).all():
        return "{:%H:%M:%S}".format
    return _TEXT_OF.get(str(column.dtype), _text)


def terminal_width() -> int:
    """Return the width of the terminal in characters; 80 without one."""
    if sys.stdout is not None and sys.stdout.isatty():
        return shutil.get_terminal_size((_DEFAULT_WIDTH, 24)).columns
    return _DEFAULT_WIDTH


def table_text(
    columns: Sequence[Sequence[str]], right: Sequence[bool], width: int
) -> str:
    """Return a table as lines of at most `width` characters, unless there are too many columns."""
    widths = _widths(columns, width - len(_GAP) * (len(columns) - 1))
    alignments = [str.rjust if at_right else str.ljust for at_right in right]
    lines = []
    for row in zip(*columns, strict=True):
        cells = [
            [text]
            if len(text) <= size
            else textwrap.wrap(text, size, break_on_hyphens=False)
            for text, size in zip(row, widths, strict=True)
        ]
        for parts in zip_longest(*cells, fillvalue=""):
            aligned = (
                align(*cell)
                for align, *cell in zip(alignments, parts, widths, strict=True)
            )
            lines.append(_GAP.join(aligned).rstrip())

    return "\n".join(lines)


def _widths(columns: Sequence[Sequence[str]], width: int) -> list[int]:
    """Divide the width between the columns so that rows take few lines."""
    whole = [max(1, *map(len, column)) for column in columns]
    widths = [
        max((len(word) for text in column for word in text.split()), default=1)
        for column in columns
    ]
    # The first column, which names the row, stays on one line if that takes a quarter at most; its words are cut last.
    widths[0] = max(1, min(widths[0], width // 2), min(whole[0], width // 4))
    while sum(widths) > width and max(widths) > _LEAST_WIDTH:
        widest = max(widths[1:], default=0)
        at = 0
        if widest > _LEAST_WIDTH:
            at = widths.index(widest, 1)
        widths[at] -= 1

    for _ in range(min(width, sum(whole)) - sum(widths)):
        # As many lines as the longest text takes; those that fit on one can't take fewer.
        lines = [
            size / place * (place < size)
            for size, place in zip(whole, widths, strict=True)
        ]
        widths[lines.index(max(lines))] += 1

    return widths

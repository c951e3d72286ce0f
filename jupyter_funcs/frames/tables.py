"""Columns of text for a terminal: nothing is cut, and what is wider than the terminal is wrapped."""

from __future__ import annotations

import shutil
import sys
import textwrap
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_GAP = "  "
_PLAIN_WIDTH = 80  # of what is no terminal, as a kernel's
_LEAST_WIDTH = 8


def terminal_width() -> int:
    """Give how many columns the terminal has that is written to; 80 where it is none."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    return shutil.get_terminal_size((_PLAIN_WIDTH, 24)).columns if is_terminal else _PLAIN_WIDTH


def table_text(columns: Sequence[Sequence[str]], right: Sequence[bool], width: int) -> str:
    """
    Give a table as lines of at most so many characters, as far as each column can have a few.

    Parameters
    ----------
    columns
        Each with its heading first; of texts without line breaks.
    right
        Whether a column stands at the right.
    width
        In characters.
    """
    widths = _widths(columns, width - len(_GAP) * (len(columns) - 1))
    lines = []
    for row in zip(*columns, strict=True):
        cells = [
            [text] if len(text) <= size else textwrap.wrap(text, size) for text, size in zip(row, widths, strict=True)
        ]
        for parts in zip_longest(*cells, fillvalue=""):
            sized = zip(parts, widths, right, strict=True)
            lines.append(
                _GAP.join(part.rjust(size) if at_right else part.ljust(size) for part, size, at_right in sized)
            )
    return "\n".join(line.rstrip() for line in lines)


def _widths(columns: Sequence[Sequence[str]], room: int) -> list[int]:
    """Share the room so that the rows become low: what takes most lines gets the next character."""
    whole = [max(1, *map(len, column)) for column in columns]
    widths = [max((len(word) for text in column for word in text.split()), default=1) for column in columns]
    # What a row is called stays on one line where that leaves enough to the others.
    widths[0] = max(widths[0], min(whole[0], room // 4))
    while sum(widths) > room and max(widths) > _LEAST_WIDTH:
        widths[widths.index(max(widths))] -= 1
    for _ in range(min(room, sum(whole)) - sum(widths)):
        lines = [size / given if given < size else 0.0 for size, given in zip(whole, widths, strict=True)]
        widths[lines.index(max(lines))] += 1
    return widths

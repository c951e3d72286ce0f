"""The table of a run: a short one that always works, and itables' to sort and search in where that is installed."""

from __future__ import annotations

import asyncio
import html
import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

import ipywidgets as w
import pandas as pd

from jupyter_funcs.core import background
from jupyter_funcs.frames.display import bad_html, ends, format_of, shape_text, short_text, shown_text, table_html
from jupyter_funcs.panel.shared.parts import lines_of

if TYPE_CHECKING:
    from jupyter_funcs.frames.display import ColumnFormat
    from jupyter_funcs.panel.shared.outcome import Outcome
    from jupyter_funcs.panel.shared.parts import Guard, Parts


_SAFE = (2, 4)  # before it, itables showed the markup of a text as markup
_MOST_CHARACTERS = 2_500_000
_MOST_ROWS = 50_000
_MOST_COLUMNS = 100
# What a user has set for their own tables must not undo what makes this one safe and whole.
_OPTIONS: dict[str, Any] = {
    "allow_html": False,
    "showIndex": False,
    "show_dtypes": False,
    "maxBytes": 0,
    "maxRows": 0,
    "maxColumns": 0,
    "format_floats_in_python": False,
    "column_filters": False,
    "text_in_header_can_be_selected": False,
    "classes": "display compact nowrap",
    "style": "table-layout:auto;width:auto;margin:0",
    "pageLength": 25,
    "lengthMenu": [10, 25, 100],
    "order": [],
    "layout": {"topStart": "pageLength", "topEnd": "search", "bottomStart": "info", "bottomEnd": "paging"},
}
_SAMPLE = 50  # rows from both ends, whose length says how many fit


@dataclass(frozen=True, slots=True)
class Grid:
    """What `ITable` is given."""

    frame: pd.DataFrame
    options: dict[str, Any]
    said: str


def is_there() -> bool:
    """Say whether itables is installed, with what a widget needs, in a version that escapes what it shows."""
    if find_spec("itables") is None or find_spec("anywidget") is None:
        return False
    try:
        first, second, *_ = map(int, re.findall(r"[0-9]+", version("itables")))
    except (PackageNotFoundError, ValueError):
        return False
    return (first, second) >= _SAFE


def widget(grid: Grid) -> Any:
    """Give a new ITable."""
    from itables.widget import ITable

    return ITable(grid.frame, **grid.options)


def grid_of(frame: pd.DataFrame, about: str = "") -> Grid:
    """Give the first and last rows of a frame, as many as some two megabytes of text hold, 50,000 at most."""
    # Now and not when it is shown: the import takes a while, and this runs in a thread.
    from itables.widget import ITable as _  # noqa: F401  # see above

    levels = [] if isinstance(frame.index, pd.RangeIndex) else range(frame.index.nlevels)
    columns = [pd.Series(frame.index.get_level_values(level)) for level in levels]
    columns += [frame.iloc[:, at] for at in range(min(frame.shape[1], _MOST_COLUMNS))]
    names = [frame.index.names[level] or "" for level in levels] + list(frame.columns[:_MOST_COLUMNS])
    formats = [format_of(column, about) for column in columns]
    rows = _rows_that_fit(columns, formats, len(frame))
    shown: list[Any] = []
    ranks: list[Any] = []
    definitions: list[dict[str, Any]] = []
    for at, (column, form) in enumerate(zip(columns, formats, strict=True)):
        part = ends(column, rows)
        shown.append([form.text(value) for value in part.tolist()])
        definition: dict[str, Any] = {"targets": at, "type": "string"}
        if (rank := _ranks(part, form)) is not None:
            definition["orderData"] = [len(columns) + len(ranks)]
            ranks.append(rank)
        if form.right:
            definition["className"] = "dt-right"
        definitions.append(definition)
    if ranks:
        hidden = [len(columns) + place for place in range(len(ranks))]
        definitions.append({"targets": hidden, "visible": False, "searchable": False})
    grid = pd.DataFrame(dict(enumerate([*(pd.Series(each, dtype=object) for each in shown), *ranks])))
    grid.columns = pd.Index([*map(short_text, names), *[""] * len(ranks)], dtype=object)
    return Grid(grid, {**_OPTIONS, "columnDefs": definitions}, _said(frame, rows))


def _rows_that_fit(columns: list[pd.Series[Any]], formats: list[ColumnFormat], rows: int) -> int:
    texts = [
        form.text(value)
        for column, form in zip(columns, formats, strict=True)
        for value in ends(column, 2 * _SAMPLE).tolist()
    ]
    # A cell takes its text, two quotes and a comma; a rank some digits more.
    characters = sum(map(len, texts)) + 10 * len(texts)
    return min(rows, _MOST_ROWS, max(2, _MOST_CHARACTERS * min(rows, 2 * _SAMPLE) // characters))


def _ranks(column: pd.Series[Any], form: ColumnFormat) -> pd.Series[Any] | None:
    """Give the places of the values in their order, 0 for what is missing; nothing where the texts sort as well."""
    # Times with an offset or durations, as the text has them, are in no order; days are.
    if not (form.right or isinstance(column.dtype, pd.DatetimeTZDtype) or column.dtype.kind == "m"):
        return None
    try:
        return column.rank(method="dense").fillna(0).astype("int64").reset_index(drop=True)
    except (TypeError, ValueError):  # values that cannot be compared
        return None


def _said(frame: pd.DataFrame, rows: int) -> str:
    said = []
    if rows < len(frame):
        said.append(f"first {rows - rows // 2:,} and last {rows // 2:,} of {len(frame):,} rows")
    if frame.shape[1] > _MOST_COLUMNS:
        said.append(f"{_MOST_COLUMNS} of {frame.shape[1]:,} columns")
    return "; ".join(said) + "; sorting and searching see these" if said else ""


_SIMPLE, _INTERACTIVE = "Simple", "Interactive"


class TableTab(w.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """The frame of a run as a table."""

    # What was chosen last, for every panel of this kernel.
    viewer: ClassVar[str] = _SIMPLE

    def __init__(self, guard: Guard, parts: Parts) -> None:
        self._outcome: Outcome | None = None
        self._turn = asyncio.Lock()
        layout = parts.layout
        self._said, self._simple = parts.html(), parts.html()
        self._grid: Any = None
        self._switch: Any = None
        bar: list[Any] = [self._said]
        if is_there():
            self._switch = w.ToggleButtons(
                options=[_SIMPLE, _INTERACTIVE],
                value=self.viewer,
                tooltips=["The first and last rows", "Sort, filter and search in the browser"],
                layout=layout,
                _dom_classes=("jf-viewer",),
            )
            self._switch.observe(guard(lambda change: self._choose(change["new"])), "value")
            bar.append(self._switch)
        self._bar = w.HBox(bar, layout=layout, _dom_classes=("jf-bar", "jf-apart"))
        super().__init__([self._bar, self._simple], layout=layout, _dom_classes=("jf-table-tab",))

    async def show(self, outcome: Outcome | None) -> None:
        """Show a run; ``None`` empties it. On the background loop, which does all its writes."""
        self._outcome = outcome
        async with self._turn:
            await self._fill()

    def _choose(self, viewer: str) -> None:
        type(self).viewer = viewer
        background.start(self._show_again())

    async def _show_again(self) -> None:
        try:
            await self.show(self._outcome)
        except Exception as error:  # noqa: BLE001  # an exception on the loop is seen by nobody
            self._said.value = bad_html(lines_of(error))

    async def _fill(self) -> None:
        outcome = self._outcome
        if outcome is None:
            self._put_simple('<div class="jf-empty">Run the function to see its table.</div>', "")
            return
        frame, about = outcome.frame, outcome.function.function.description
        note = ""
        if self._switch is not None and self._switch.value == _INTERACTIVE and not frame.empty:
            try:
                await self._put_grid(frame, about)
            except Exception as error:  # noqa: BLE001  # whatever fails in an extra, there is the table that needs none
                note = f"itables failed ({type(error).__name__}): "
            else:
                return
        table = await asyncio.to_thread(table_html, frame, about)
        scrolls = f'<div class="jf-scroll" tabindex="0" role="region" aria-label="Table">{table}</div>'
        self._put_simple(scrolls, note + (shown_text(frame) or shape_text(frame)))

    async def _put_grid(self, frame: pd.DataFrame, about: str) -> None:
        made = await asyncio.to_thread(grid_of, frame, about)
        if self._grid is None:
            self._grid = widget(made)
            self._grid.add_class("jf-grid")
        else:
            self._grid.update(made.frame, **made.options)
        self._say(made.said or shape_text(frame))
        self._simple.value = ""
        self.children = [self._bar, self._grid]

    def _put_simple(self, table: str, said: str) -> None:
        self._say(said)
        self._simple.value = table
        self.children = [self._bar, self._simple]
        made, self._grid = self._grid, None
        if made is not None:
            made.layout.close()
            made.close()

    def _say(self, text: str) -> None:
        self._said.value = f'<span class="jf-quiet jf-shown">{html.escape(text)}</span>' if text else ""

"""The table of a run: a short one that always works, and itables' to sort and search in where that is installed."""

from __future__ import annotations

import asyncio
import html
from typing import TYPE_CHECKING, Any, ClassVar

import ipywidgets as w
from ipywidgets.widgets.widget_string import HTMLStyle

from jupyter_funcs import grid, loop
from jupyter_funcs.guard import lines_of
from jupyter_funcs.view import bad_html, shape_text, shown_text, table_html

if TYPE_CHECKING:
    import pandas as pd

    from jupyter_funcs.guard import Guard
    from jupyter_funcs.outcome import Outcome

_SIMPLE, _INTERACTIVE = "Simple", "Interactive"


class TableTab(w.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """
    The frame of a run as a table.

    Parameters
    ----------
    guard
        Wraps a callback, so that what it raises is seen.
    """

    title: ClassVar[str] = "Table"
    # What was chosen last, for every panel of this kernel.
    viewer: ClassVar[str] = _SIMPLE

    def __init__(self, guard: Guard) -> None:
        self._outcome: Outcome | None = None
        self._turn = asyncio.Lock()
        layout, texts = w.Layout(), HTMLStyle()
        self._said, self._simple = w.HTML(layout=layout, style=texts), w.HTML(layout=layout, style=texts)
        self._grid: Any = None
        self._switch: Any = None
        bar: list[Any] = [self._said]
        if grid.is_there():
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
            await self._fill(self._outcome)

    def _choose(self, viewer: str) -> None:
        type(self).viewer = viewer
        loop.start(self._show_again())

    async def _show_again(self) -> None:
        try:
            await self.show(self._outcome)
        except Exception as error:  # noqa: BLE001  # an exception on the loop is seen by nobody
            self._said.value = bad_html(lines_of(error))

    async def _fill(self, outcome: Outcome | None) -> None:
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
        made = await asyncio.to_thread(grid.grid_of, frame, about)
        if self._grid is None:
            self._grid = grid.widget(made)
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

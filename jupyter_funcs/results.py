"""The last result of a function: its tabs, its variable, its file; what no person has opened is not made or sent."""

from __future__ import annotations

import asyncio
import html
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import ipywidgets as w

from jupyter_funcs import loop
from jupyter_funcs.keep_bar import KeepBar
from jupyter_funcs.parts import hide
from jupyter_funcs.save_bar import SaveBar
from jupyter_funcs.view import bad_html, shape_text, table_html

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.guard import Guard
    from jupyter_funcs.outcome import Outcome
    from jupyter_funcs.parts import Parts
    from jupyter_funcs.visit import Visit


class Tab(Protocol):
    """One way to look at a run; a box."""

    title: ClassVar[str]

    def __init__(self, guard: Guard) -> None: ...

    async def show(self, outcome: Outcome | None) -> None:
        """Show a run; ``None`` empties it. On the background loop, which does all its writes."""


class _Table(w.VBox):  # type: ignore[misc]  # ipywidgets has no types
    title = "Table"

    def __init__(self, _guard: Guard) -> None:
        self._html = w.HTML()
        super().__init__([self._html])

    async def show(self, outcome: Outcome | None) -> None:
        table = "" if outcome is None else await asyncio.to_thread(table_html, outcome.frame)
        self._html.value = f'<div class="jf-scroll">{table}</div>'


# In the order of the screen.
TABS: tuple[type[Tab], ...] = (_Table,)


class Results(w.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """
    The last result of the function on the screen; made with the first one.

    Parameters
    ----------
    on_rename
        Called when a person has given the result's variable another name.
    guard
        Wraps a callback, so that what it raises is seen.
    parts
        What its small widgets are made of.
    tabs
        Which tabs, in their order.
    """

    def __init__(
        self, on_rename: Callable[[], None], guard: Guard, parts: Parts, tabs: tuple[type[Tab], ...] = TABS
    ) -> None:
        self._on_rename = on_rename
        self._guard = guard
        self._parts = parts
        self._kinds = tabs
        self._outcome: Outcome | None = None
        self._shown: dict[int, Outcome | None] = {}  # by tab, what it shows
        self._trouble: dict[str, str] = {}  # by a tab's title, why it shows nothing
        self._old = ""
        self._turn = asyncio.Lock()
        self._tabs: list[Any] = []
        super().__init__(layout=parts.layout, _dom_classes=("jf-results", "jf-hidden"))

    async def show(self, visit: Visit) -> None:
        """Show the result of a function in the opened tab, and in the others as they are opened; on the loop."""
        self._outcome = outcome = visit.outcome
        if outcome is None:
            hide(self)
            await self._fill()  # what is not seen is not held either
            return
        if not self._tabs:
            self._make()
        await self._fill()
        if self._outcome is not outcome or self.comm is None:  # another one is asked for by now
            return
        said = f"Of an earlier run: {shape_text(outcome.frame)} · {outcome.elapsed:.2f} s"
        self._old = f'<div class="jf-quiet">{html.escape(said)}</div>' if visit.is_old else ""
        self._say()
        (self._box.add_class if visit.is_old else self._box.remove_class)("jf-old")
        self.keep_bar.show(visit.keeper, visit.note)
        self.save_bar.show(outcome)
        hide(self, hidden=False)

    def _make(self) -> None:
        self._tabs = [kind(self._guard) for kind in self._kinds]
        parts = self._parts
        self._said = parts.html()
        titles = [kind.title for kind in self._kinds]
        self._box = w.Tab(self._tabs, titles=titles, selected_index=0, layout=parts.layout)
        self._box.observe(self._guard(lambda _: loop.start(self._fill())), "selected_index")
        self.keep_bar = KeepBar(self._on_rename, self._guard, parts)
        self.save_bar = SaveBar(self._guard, parts)
        below = w.HBox([self.keep_bar, self.save_bar], layout=parts.layout, _dom_classes=("jf-row", "jf-below"))
        self.children = [self._said, self._box, below]

    async def _fill(self) -> None:
        """Show in the opened tab what there is, and empty the others of what was there before."""
        async with self._turn:  # what was asked for last is what all see
            opened = self._box.selected_index if self._tabs else None
            for at, tab in enumerate(self._tabs):
                outcome = self._outcome if at == opened else None
                shows = self._shown.get(at)
                if shows is not None and shows is self._outcome and outcome is None:
                    continue  # it was opened before and is right
                if shows is not outcome:
                    await self._show(tab, outcome)
                    self._shown[at] = outcome

    async def _show(self, tab: Any, outcome: Outcome | None) -> None:
        self._trouble.pop(tab.title, None)
        try:
            await tab.show(outcome)
        except Exception as error:  # noqa: BLE001  # an exception on the loop is seen by nobody
            self._trouble[tab.title] = f"{tab.title} cannot be shown: {type(error).__name__}."
        self._say()

    def _say(self) -> None:
        self._said.value = self._old + bad_html(self._trouble.values())

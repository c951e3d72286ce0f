"""The results of a run as tabs; what no person has opened is neither made nor sent."""

from __future__ import annotations

import asyncio
import html
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import ipywidgets as w

from jupyter_funcs import loop
from jupyter_funcs.view import shape_text

if TYPE_CHECKING:
    from jupyter_funcs.guard import Guard
    from jupyter_funcs.outcome import Outcome


class Tab(Protocol):
    """One way to look at a run; a box."""

    title: ClassVar[str]

    def __init__(self, guard: Guard) -> None: ...

    async def show(self, outcome: Outcome | None) -> None:
        """Show a run; ``None`` empties it. On the background loop, which does all its writes."""


# In the order of the screen.
TABS: tuple[type[Tab], ...] = ()


class Results(w.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """
    The tabs of a run, made with the first one.

    Parameters
    ----------
    guard
        Wraps a callback, so that what it raises is seen.
    tabs
        Which tabs, in their order.
    """

    def __init__(self, guard: Guard, tabs: tuple[type[Tab], ...] = TABS) -> None:
        self._guard = guard
        self._kinds = tabs
        self._tabs: list[Any] = []
        self._shown: dict[int, Outcome | None] = {}  # by tab, what it shows
        self._outcome: Outcome | None = None
        self._turn = asyncio.Lock()
        self._said = w.HTML()
        self._box: Any = None
        super().__init__([self._said])
        self.add_class("jf-results")

    async def show(self, outcome: Outcome | None, *, old: bool) -> None:
        """
        Show a run in the opened tab, and in the others as they are opened; on the background loop.

        Parameters
        ----------
        outcome
            The run; ``None`` for a function that has none yet.
        old
            Whether the form holds other values by now.
        """
        self._outcome = outcome
        if outcome is not None and self._box is None:
            self._make()
        await self._fill()
        caption = f"{shape_text(outcome.frame)} · {outcome.elapsed:.2f} s" if outcome is not None else ""
        self._said.value = f'<div class="jf-quiet">Of earlier values: {html.escape(caption)}</div>' if old else ""
        if self._box is not None:
            self._box.layout.display = "none" if outcome is None else ""
            (self._box.add_class if old else self._box.remove_class)("jf-old")

    def _make(self) -> None:
        self._tabs = [kind(self._guard) for kind in self._kinds]
        self._box = w.Tab(self._tabs, titles=[kind.title for kind in self._kinds], selected_index=0)
        self._box.observe(self._guard(lambda _: loop.start(self._fill())), "selected_index")
        self.children = [self._said, self._box]

    async def _fill(self) -> None:
        async with self._turn:  # what was asked for last is what all see
            at = self._box.selected_index if self._box is not None else None
            if at is not None and self._shown.get(at) is not self._outcome:
                outcome = self._outcome
                await self._tabs[at].show(outcome)
                self._shown[at] = outcome

"""The last result of a function: its tabs, its variable, its file; what no person has opened is not made or sent."""

from __future__ import annotations

import asyncio
import html
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import ipywidgets as w

from jupyter_funcs.core import background
from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.frames.display import bad_html, shape_text
from jupyter_funcs.panel.result.about_tab import about_html
from jupyter_funcs.panel.result.chart_tab import ChartTab
from jupyter_funcs.panel.result.code_tab import code_blocks
from jupyter_funcs.panel.result.json_tab import JsonTab
from jupyter_funcs.panel.result.save_bar import SaveBar
from jupyter_funcs.panel.result.table_tab import TableTab
from jupyter_funcs.panel.shared.parts import hide, status_html

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jupyter_funcs.client.notebook import ResultVariable
    from jupyter_funcs.panel.shared.outcome import Outcome
    from jupyter_funcs.panel.shared.parts import Guard, Parts
    from jupyter_funcs.panel.visits import Visit


class KeepBar(w.HBox):  # type: ignore[misc]  # ipywidgets has no types
    """The variable's name; a name that holds something else is taken only after a question."""

    def __init__(self, on_rename: Callable[[], None], guard: Guard, parts: Parts) -> None:
        self._on_rename = on_rename
        self._keeper: ResultVariable | None = None
        self._shows = ""
        self.name = parts.text("Kept as", "jf-variable", tooltip="The notebook's variable that holds the DataFrame")
        self.sure = parts.button("Use it anyway", "jf-sure", guard(lambda _: self._rename()), button_style="warning")
        hide(self.sure)
        self.said = parts.html()
        super().__init__([self.name, self.sure, self.said], layout=parts.layout, _dom_classes=("jf-row", "jf-keep"))
        self.name.observe(guard(lambda _: self._ask()), "value")

    def show(self, keeper: ResultVariable, said: str = "") -> None:
        """Show the variable of a result, and what there is to say of it."""
        self._keeper, self._shows = keeper, keeper.name
        self.name.value = keeper.name
        hide(self, hidden=not keeper.name)
        self._say(html.escape(said))

    def _ask(self) -> None:
        """Take a free name at once, ask about any other, and say why one cannot be taken."""
        name = self.name.value.strip()
        if self._keeper is None or name == self._shows:
            self._say("")
            return
        if not name:
            self.show(self._keeper)
            return
        try:
            question = self._keeper.conflict(name)
        except ArgumentError as error:
            self._say(bad_html(error.lines))
            return
        if question:
            self._say(html.escape(question), sure=True)
        else:
            self._rename()

    def _rename(self) -> None:
        if self._keeper is not None:
            self._keeper.rename(self.name.value.strip())
            self.show(self._keeper)
            self._on_rename()

    def _say(self, said: str, *, sure: bool = False) -> None:
        hide(self.sure, hidden=not sure)
        self.said.value = status_html(said)


class Tab(Protocol):
    """One way to look at a run; a box."""

    async def show(self, outcome: Outcome | None) -> None:
        """Show a run; ``None`` empties it. On the background loop, which does all its writes."""


class TextTab(w.HTML):  # type: ignore[misc]  # ipywidgets has no types
    """A run as one text."""

    def __init__(self, css_class: str, what: str, text: Callable[[Outcome], str], _: Guard, parts: Parts) -> None:
        self._what = what
        self._text = text
        super().__init__(layout=parts.layout, _dom_classes=(css_class,))

    async def show(self, outcome: Outcome | None) -> None:
        """Show a run; ``None`` empties it. On the background loop, which does all its writes."""
        empty = f'<div class="jf-empty">Run the function to see {self._what}.</div>'
        self.value = empty if outcome is None else await asyncio.to_thread(self._text, outcome)


TabType: TypeAlias = "Callable[[Guard, Parts], Tab]"
# By what stands on them, in the order of the screen.
TABS: dict[str, TabType] = {
    "Table": TableTab,
    "Chart": ChartTab,
    "JSON": JsonTab,
    "Code": partial(TextTab, "jf-code-tab", "its code", code_blocks),
    "About": partial(TextTab, "jf-about-tab", "what is known of its run", about_html),
}


class Results(w.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """The last result of the function on the screen; made with the first one."""

    def __init__(
        self, on_rename: Callable[[], None], guard: Guard, parts: Parts, tabs: Mapping[str, TabType] = TABS
    ) -> None:
        self._on_rename = on_rename
        self._guard = guard
        self._parts = parts
        self._kinds, self._titles = list(tabs.values()), list(tabs)
        self._outcome: Outcome | None = None
        self._shown: dict[int, Outcome | None] = {}  # by tab, what it shows
        self._trouble: dict[str, str] = {}  # by a tab's title, why it shows nothing
        self._old = ""
        self._turn = asyncio.Lock()
        self._tabs: dict[int, Any] = {}  # those that were opened
        self._box: Any = None
        self._looks_back = False  # at the tabs of a function that has no result yet
        super().__init__(layout=parts.layout, _dom_classes=("jf-results", "jf-hidden"))

    async def show(self, visit: Visit) -> None:
        """Show the result of a function in the opened tab, and in the others as they are opened; on the loop."""
        self._outcome = outcome = visit.outcome
        looked_back, self._looks_back = self._looks_back, False
        if outcome is None:
            hide(self)
            await self._fill()  # what is not seen is not held either
            return
        if self._box is None:
            self._make()
        if looked_back:
            self._box.selected_index = 0
        await self._fill()
        if self._outcome is not outcome or self.comm is None:  # another one is asked for by now
            return
        said = f"Of an earlier run: {shape_text(outcome.frame)} · {outcome.elapsed:.2f} s"
        self._old = f'<div class="jf-quiet">{html.escape(said)}</div>' if visit.is_old else ""
        self._say()
        (self._box.add_class if visit.is_old else self._box.remove_class)("jf-old")
        self.keep_bar.show(visit.keeper, visit.note)
        self.save_bar.show(outcome)
        hide(self._below, hidden=False)
        hide(self, hidden=False)

    async def look_back(self, title: str) -> None:
        """Open this tab while there is no result, or close what was opened so; on the loop."""
        if self._outcome is not None or self.comm is None:
            return
        self._looks_back = not self._looks_back
        if self._looks_back:
            if self._box is None:
                self._make()
            hide(self._below)
            self._old = ""
            self._box.remove_class("jf-old")
            self._box.selected_index = self._titles.index(title)
            await self._fill()
        hide(self, hidden=not self._looks_back)

    def _make(self) -> None:
        parts = self._parts
        self._said = parts.html()
        # A holder for each, so that the page keeps the others as one is made.
        holders = [w.VBox(layout=parts.layout) for _ in self._kinds]
        self._box = w.Tab(holders, titles=self._titles, selected_index=0, layout=parts.layout)
        self._box.observe(self._guard(lambda _: background.start(self._fill())), "selected_index")
        self.keep_bar = KeepBar(self._on_rename, self._guard, parts)
        self.save_bar = SaveBar(self._guard, parts)
        self._below = w.HBox([self.keep_bar, self.save_bar], layout=parts.layout, _dom_classes=("jf-row", "jf-below"))
        self.children = [self._said, self._box, self._below]

    async def _fill(self) -> None:
        """Show in the opened tab what there is, and empty the others of what was there before."""
        async with self._turn:  # what was asked for last is what all see
            if self._box is None or self.comm is None:
                return
            opened = self._box.selected_index
            for at in sorted({opened, *self._tabs}):
                shows = self._shown.get(at)
                wanted = self._outcome if at == opened or shows is self._outcome else None
                if shows is not wanted or at not in self._tabs:
                    await self._show(at, wanted)
                    self._shown[at] = wanted

    async def _show(self, at: int, outcome: Outcome | None) -> None:
        title = self._titles[at]
        self._trouble.pop(title, None)
        try:
            if at not in self._tabs:
                self._tabs[at] = self._kinds[at](self._guard, self._parts)
                self._box.children[at].children = (self._tabs[at],)
            await self._tabs[at].show(outcome)
        except Exception as error:  # noqa: BLE001  # an exception on the loop is seen by nobody
            self._trouble[title] = f"{title} cannot be shown: {type(error).__name__}."
        self._say()

    def _say(self) -> None:
        self._said.value = self._old + bad_html(self._trouble.values())

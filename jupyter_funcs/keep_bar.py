"""The variable's name of a result, to read and to change."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import ipywidgets as w

from jupyter_funcs.errors import ArgumentError
from jupyter_funcs.parts import hide
from jupyter_funcs.view import bad_html

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.guard import Guard
    from jupyter_funcs.keeping import Keeper
    from jupyter_funcs.parts import Parts


class KeepBar(w.HBox):  # type: ignore[misc]  # ipywidgets has no types
    """
    The variable's name; a name that holds something else is taken only after a question.

    Parameters
    ----------
    on_rename
        Called when the result has another name.
    guard
        Wraps a callback, so that what it raises is seen.
    parts
        What it is made of.
    """

    def __init__(self, on_rename: Callable[[], None], guard: Guard, parts: Parts) -> None:
        self._on_rename = on_rename
        self._keeper: Keeper | None = None
        self._shows = ""
        self.name = parts.text("Kept as", "jf-variable", tooltip="The notebook's variable that holds the DataFrame")
        self.sure = parts.button(
            "Use it all the same", "jf-sure", guard(lambda _: self._rename()), button_style="warning"
        )
        hide(self.sure)
        self.said = parts.html()
        super().__init__([self.name, self.sure, self.said], layout=parts.layout, _dom_classes=("jf-row", "jf-keep"))
        self.name.observe(guard(lambda _: self._ask()), "value")

    def show(self, keeper: Keeper, said: str = "") -> None:
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
            question = self._keeper.question(name)
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
        self.said.value = f'<div class="jf-quiet" role="status">{said}</div>' if said else ""

"""The variable's name of a result, to read and to change."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import ipywidgets as w

from jupyter_funcs.errors import ArgumentError
from jupyter_funcs.view import bad_html

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.guard import Guard
    from jupyter_funcs.keeping import Keeper


class KeepBar(w.HBox):  # type: ignore[misc]  # ipywidgets has no types
    """
    The variable's name; a name that holds something else is taken only after a question.

    Parameters
    ----------
    on_rename
        Called when the result has another name.
    guard
        Wraps a callback, so that what it raises is seen.
    """

    def __init__(self, on_rename: Callable[[], None], guard: Guard) -> None:
        self._on_rename = on_rename
        self._keeper: Keeper | None = None
        self._shows = ""
        self.name = w.Text(
            description="Kept as",
            continuous_update=False,
            tooltip="The notebook's variable that holds the DataFrame",
            layout=w.Layout(width="260px"),
            style={"description_width": "initial"},
        )
        self.name.add_class("jf-variable")
        self.sure = w.Button(
            description="Use it all the same", button_style="warning", layout=w.Layout(width="auto", display="none")
        )
        self.sure.add_class("jf-sure")
        self.said = w.HTML()
        super().__init__([self.name, self.sure, self.said], layout=w.Layout(flex_flow="row wrap"))
        self.add_class("jf-keep")
        self.name.observe(guard(lambda _: self._ask()), "value")
        self.sure.on_click(guard(lambda _: self._rename()))

    def show(self, keeper: Keeper, said: str = "") -> None:
        """Show the variable of a result, and what there is to say of it."""
        self._keeper, self._shows = keeper, keeper.name
        self.name.value = keeper.name
        self.layout.display = "" if keeper.name else "none"
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
        self.sure.layout.display = "" if sure else "none"
        self.said.value = f'<div class="jf-quiet" role="status">{said}</div>' if said else ""

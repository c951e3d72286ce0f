"""The name of the function on the screen, what it does, its star, and its presets where a person has some."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import ipywidgets as w

from jupyter_funcs.chooser import Star
from jupyter_funcs.errors import FuncsError
from jupyter_funcs.head import listed_again
from jupyter_funcs.parts import hide, is_hidden
from jupyter_funcs.preset_bar import PresetBar
from jupyter_funcs.view import bad_html, title_html

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.forms import Form
    from jupyter_funcs.guard import Guard
    from jupyter_funcs.parts import Parts
    from jupyter_funcs.session import Session

_GONE = "This function is no longer in your catalog. What you entered is kept; it can come back with a Refresh."


class Heading(w.HBox):  # type: ignore[misc]  # ipywidgets has no types
    """
    What stands above a form.

    Parameters
    ----------
    session
        Which functions are favourites, and which presets there are.
    on_star
        Called when a person has marked the function, or taken the mark away.
    guard
        Wraps a callback, so that what it raises is seen.
    parts
        What it is made of.
    """

    def __init__(self, session: Session, on_star: Callable[[], None], guard: Guard, parts: Parts) -> None:
        self._presets = session.presets
        self._guard = guard
        self._parts = parts
        self._shown: tuple[RemoteFunction, Form] | None = None
        self.title = parts.html()
        self.star = Star(session.shelf, on_star, guard, parts)
        self.fold = parts.button(
            "Presets",
            "jf-open-presets",
            guard(lambda _: self._turn()),
            tooltip="Fill the form with values that were saved, or save these",
        )
        hide(self.fold)
        self.bar: PresetBar | None = None
        super().__init__([self.title, self.fold, self.star], layout=parts.layout, _dom_classes=("jf-heading",))

    def invite(self, invitation: str) -> None:
        """Say what can be done while no function is chosen."""
        self.title.value = f'<div class="jf-quiet">{html.escape(invitation)}</div>'

    def show(self, function: RemoteFunction, form: Form) -> None:
        """Say which function is shown, and whether it is still listed; offer its presets where there are some."""
        about = function.function.description or ("" if function.fields else "It takes no parameters.")
        gone = "" if listed_again(function) else bad_html([_GONE])
        self.title.value = title_html(function.name, about) + gone
        self.star.show(function.name)
        self._shown = function, form
        hide(self.fold, hidden=not function.fields)
        if self._has_some(function):
            self._unfold()
        elif self.bar is not None:
            hide(self.bar)

    def follow(self) -> None:
        """Show which preset the form holds by now."""
        if self.bar is not None and not is_hidden(self.bar):
            self.bar.follow()

    def _has_some(self, function: RemoteFunction) -> bool:
        try:
            return bool(function.fields and self._presets.names(function.name))
        except FuncsError:  # a broken file is told of when a person asks for presets
            return False

    def _turn(self) -> None:
        if self.bar is None or is_hidden(self.bar):
            self._unfold()
        else:
            hide(self.bar)

    def _unfold(self) -> None:
        if self._shown is None:
            return
        if self.bar is None:
            self.bar = PresetBar(self._presets, self._guard, self._parts)
            self.children = [self.title, self.fold, self.star, self.bar]
        self.bar.show(*self._shown)
        hide(self.bar, hidden=False)

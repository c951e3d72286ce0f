"""The name of the function on the screen, what it does, and its star."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import ipywidgets as w

from jupyter_funcs.chooser import Star
from jupyter_funcs.head import listed_again
from jupyter_funcs.view import bad_html, title_html

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.guard import Guard
    from jupyter_funcs.parts import Parts
    from jupyter_funcs.shelf import Shelf

_GONE = "This function is no longer in your catalog. What you entered is kept; it can come back with a Refresh."


class Heading(w.HBox):  # type: ignore[misc]  # ipywidgets has no types
    """
    What stands above a form.

    Parameters
    ----------
    shelf
        Which functions are favourites.
    on_star
        Called when a person has marked the function, or taken the mark away.
    guard
        Wraps a callback, so that what it raises is seen.
    parts
        What it is made of.
    """

    def __init__(self, shelf: Shelf, on_star: Callable[[], None], guard: Guard, parts: Parts) -> None:
        self.title = parts.html()
        self.star = Star(shelf, on_star, guard, parts)
        super().__init__([self.title, self.star], layout=parts.layout, _dom_classes=("jf-heading",))

    def invite(self, invitation: str) -> None:
        """Say what can be done while no function is chosen."""
        self.title.value = f'<div class="jf-quiet">{html.escape(invitation)}</div>'

    def show(self, function: RemoteFunction) -> None:
        """Say which function is shown, and whether it is still listed."""
        about = function.function.description or ("" if function.fields else "It takes no parameters.")
        gone = "" if listed_again(function) else bad_html([_GONE])
        self.title.value = title_html(function.name, about) + gone
        self.star.show(function.name)

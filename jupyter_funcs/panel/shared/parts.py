"""The panel's own texts, buttons and rows; they share the largest part of a widget, its layout, and their styles."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import ipywidgets as w
from ipywidgets.widgets.widget_string import HTMLStyle, TextStyle

if TYPE_CHECKING:
    from collections.abc import Callable

_HIDDEN = "jf-hidden"


class Parts:
    """
    What the small widgets of one panel share. Where they stand and how wide they are is the style sheet's, by class.

    Attributes
    ----------
    layout
        The layout of them all.
    """

    def __init__(self) -> None:
        self.layout = w.Layout()
        self._html = HTMLStyle()
        self._button = w.ButtonStyle()

    @cached_property
    def text_style(self) -> TextStyle:
        return TextStyle(description_width="initial")

    def html(self, css_class: str = "jf-text") -> w.HTML:
        """Give a text; whoever writes to it escapes what is not to be markup."""
        return w.HTML(layout=self.layout, style=self._html, _dom_classes=(css_class,))

    def button(self, text: str, css_class: str, on_click: Callable[..., None], **traits: Any) -> w.Button:
        """Give a button."""
        made = w.Button(description=text, layout=self.layout, style=self._button, _dom_classes=(css_class,), **traits)
        made.on_click(on_click)
        return made

    def text(self, label: str, css_class: str, **traits: Any) -> w.Text:
        """Give a field for one line, which tells its value when a person leaves it or presses Enter."""
        traits = {"description": label, "continuous_update": False, **traits}
        return w.Text(layout=self.layout, style=self.text_style, _dom_classes=(css_class,), **traits)


def is_hidden(widget: w.DOMWidget) -> bool:
    """Say whether a widget was taken from the page."""
    return _HIDDEN in widget._dom_classes  # noqa: SLF001  # ipywidgets gives no other way to ask


def hide(widget: w.DOMWidget, *, hidden: bool = True) -> None:
    """Take a widget from the page, or put it back."""
    if hidden != is_hidden(widget):
        (widget.add_class if hidden else widget.remove_class)(_HIDDEN)

"""The panel's own texts, buttons and rows; they share the largest part of a widget, its layout, and their styles."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeAlias

import ipywidgets as w
from ipywidgets.widgets.widget_string import HTMLStyle, TextStyle

from jupyter_funcs.core import background
from jupyter_funcs.core.errors import ArgumentError, FuncsError
from jupyter_funcs.core.text import clip, inert

_HIDDEN = "jf-hidden"
_SETTLED_SECONDS = 0.25


class Parts:
    """What the small widgets of one panel share; the style sheet places them by class."""

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

    def dropdown(self, label: str, css_class: str, **traits: Any) -> w.Dropdown:
        """Give a choice of one."""
        traits = {"description": label, **traits}
        return w.Dropdown(layout=self.layout, style=self.text_style, _dom_classes=(css_class,), **traits)


def on_enter(box: w.Text, does: Callable[[Any], object]) -> None:
    """Call back when a person presses Enter in a text."""
    box.on_msg(lambda _, message, __: does(None) if message.get("event") == "submit" else None)


def on_settled_enter(box: w.Text, guarded: Callable[..., None]) -> None:
    """Call back on Enter, once what was typed before it is there: a front end holds it back, and Enter overtakes it."""

    async def settle() -> None:
        typed = None
        while typed != (typed := box.value):  # noqa: ASYNC110  # no event says it
            await asyncio.sleep(_SETTLED_SECONDS)
        await asyncio.to_thread(guarded, None)

    on_enter(box, lambda _: background.start(settle()))


def is_hidden(widget: w.DOMWidget) -> bool:
    """Say whether a widget was taken from the page."""
    return _HIDDEN in widget._dom_classes  # noqa: SLF001  # ipywidgets gives no other way to ask


def hide(widget: w.DOMWidget, *, hidden: bool = True) -> None:
    """Take a widget from the page, or put it back."""
    if hidden != is_hidden(widget):
        (widget.add_class if hidden else widget.remove_class)(_HIDDEN)


def status_html(said: str) -> str:
    """Give what there is to say beside a control, as HTML that is read out."""
    return f'<div class="jf-quiet" role="status">{said}</div>' if said else ""


class Writing(threading.local):
    """True in a thread while it changes widgets by program: what they tell then is no choice of a person."""

    _depth = 0

    def __enter__(self) -> None:
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1

    def __bool__(self) -> bool:
        return self._depth > 0


Guard: TypeAlias = Callable[[Callable[[Any], object]], Callable[..., None]]


def guarding(show: Callable[[Exception], None]) -> Guard:
    """Give what wraps a widget's callback, so that what it raises is shown."""

    def guard(callback: Callable[[Any], object]) -> Callable[..., None]:
        def guarded(*told: Any) -> None:  # ipywidgets tells a change, a button, or a widget and its message
            try:
                callback(told[1] if len(told) > 1 else told[0])
            except ArgumentError as error:
                if not error.errors:
                    show(error)
            except Exception as error:  # noqa: BLE001  # see above
                show(error)

        return guarded

    return guard


def lines_of(error: BaseException) -> list[str]:
    """Give what a person reads of an error, in one to three lines; one of our own making says that it is ours."""
    if isinstance(error, FuncsError):
        return error.lines
    return [f"Something failed inside jupyter_funcs: {type(error).__name__}: {clip(inert(str(error)))}"]

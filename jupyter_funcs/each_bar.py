"""Run for each: which fields of a form have several values; beside Run, with a button for each that ends it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from jupyter_funcs.parts import hide
from jupyter_funcs.text import clip, inert
from jupyter_funcs.widgets import reoffer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jupyter_funcs.guard import Guard
    from jupyter_funcs.parts import Parts

_NONE = ""  # not None, which ipywidgets takes for no option at all
_LONGEST = 60
_ABOUT = "Give a field several values: the function runs once for each of them, and gives one table"


class EachBar(w.HBox):  # type: ignore[misc]  # ipywidgets has no types
    """
    Which fields have several values.

    Parameters
    ----------
    on_choice
        Called with the names of all that are to have several, when a person has chosen.
    guard
        Wraps a callback, so that what it raises is seen.
    parts
        What it is made of.
    """

    def __init__(self, on_choice: Callable[[list[str]], object], guard: Guard, parts: Parts) -> None:
        self._on_choice = on_choice
        self._guard = guard
        self._parts = parts
        self._lock = threading.RLock()
        self._each: list[str] = []
        self._tags: dict[str, w.Button] = {}
        self._box = w.Dropdown(
            description="Run for each",
            tooltip=_ABOUT,
            layout=parts.layout,
            style=parts.text_style,
            options=[("", _NONE)],
        )
        self._box.observe(guard(self._choose), "value")
        super().__init__([self._box], layout=parts.layout, _dom_classes=("jf-each", "jf-hidden"))

    def show(self, fields: Sequence[str], each: Sequence[str]) -> None:
        """Offer these fields, of which some have several values."""
        with self._lock:  # a person's choice and the news of a list both show what there is
            self._show(fields, each)

    def _show(self, fields: Sequence[str], each: Sequence[str]) -> None:
        first = ("another field…" if each else "choose a field…", _NONE)
        self._each = list(each)
        reoffer(self._box, [first, *((_shown(name), name) for name in fields if name not in each)])
        if list(self._tags) != self._each:
            gone = [self._tags.pop(name) for name in list(self._tags) if name not in each]
            self._tags = {name: self._tags.get(name) or self._tag(name) for name in each}
            self.children = [self._box, *self._tags.values()]
            for button in gone:
                button.close()
        hide(self, hidden=not fields)

    def _tag(self, name: str) -> w.Button:
        # The style sheet shows the title with a cross in place of these words, which are what is read out.
        says = f"One value for {_shown(name)} again"
        return self._parts.button(says, "jf-tag", self._guard(lambda _: self._end(name)), tooltip=_shown(name))

    def _choose(self, change: Any) -> None:
        if name := change["new"]:
            self._box.value = _NONE
            self._on_choice([*self._each, name])

    def _end(self, name: str) -> None:
        self._on_choice([other for other in self._each if other != name])
        self._box.focus()  # the button that had the keyboard is gone


def _shown(name: str) -> str:
    return clip(inert(name), _LONGEST)

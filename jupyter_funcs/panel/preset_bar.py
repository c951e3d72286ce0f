"""The presets of the function on the screen: one to choose, what the form holds to save, one to delete."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from jupyter_funcs.core.errors import FuncsError
from jupyter_funcs.core.text import clip, inert, listed, quote
from jupyter_funcs.frames.display import bad_html
from jupyter_funcs.panel.form.controls import reoffer
from jupyter_funcs.panel.shared.parts import Writing, hide, on_settled_enter, status_html
from jupyter_funcs.records.presets import check_name, fill, form_values

if TYPE_CHECKING:
    from jupyter_funcs.catalog.form import Form
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.panel.shared.parts import Guard, Parts
    from jupyter_funcs.records.presets import Presets

_LONGEST_SHOWN = 40
_NONE = ("Choose…", "")


class PresetBar(w.HBox):  # type: ignore[misc]  # ipywidgets has no types
    """One line: the preset that the form holds, a name to save under, and what there is to say."""

    def __init__(self, presets: Presets, function: RemoteCall, form: Form, guard: Guard, parts: Parts) -> None:
        self._presets = presets
        self._function = function
        self._form = form
        self._known: dict[str, dict[str, Any]] = {}  # by preset, what a form holds that it has filled
        self._writing = Writing()  # the line, or the form
        self._asked: tuple[w.Button, str] | None = None  # the button and the name that a person was asked about
        self.choice = parts.dropdown("Preset", "jf-preset", options=[_NONE])
        self.delete = parts.button(
            "Delete", "jf-preset-delete", guard(lambda _: self._try(self._delete)), tooltip="Delete this preset"
        )
        self.name = parts.text(
            "Save as", "jf-preset-name", placeholder="a name", tooltip=f"Kept in {inert(str(presets.path))}"
        )
        self.save = parts.button(
            "Save", "jf-preset-save", guard(lambda _: self._try(self._save)), tooltip="Save what the form holds"
        )
        self.said = parts.html()
        super().__init__(
            [self.choice, self.delete, self.name, self.save, self.said],
            layout=parts.layout,
            _dom_classes=("jf-row", "jf-presets"),
        )
        self.choice.observe(guard(lambda change: self._try(self._choose, change["new"])), "value")
        self.name.observe(guard(lambda _: self._reset()), "value")
        on_settled_enter(self.name, guard(lambda _: self._try(self._save)))

    def show(self, function: RemoteCall, form: Form) -> None:
        """Show the presets of a function, and which of them its form holds."""
        self._function, self._form = function, form
        self.name.value = ""
        self._reset()
        self._try(self._list)

    def follow(self) -> None:
        """Show which preset the form holds by now; none where a person has changed a value of it."""
        if not self._writing:
            self._show_choice(self._held())
            if self.said.value:
                self._reset()

    def _held(self) -> str:
        """Give the preset that the form holds: the chosen one before others of the same values."""
        if not self._known:
            return ""
        holds = form_values(self._form)
        names = [self.choice.value, *self._known]
        return next((name for name in names if name in self._known and _alike(self._known[name], holds)), "")

    def _list(self) -> None:
        self._known = {}
        try:
            for name in self._presets.names(self._function.name):
                form = self._function.form()
                form.variables = self._form.variables
                fill(form, self._presets.get(self._function.name, name))
                self._known[name] = form_values(form)
        finally:
            with self._writing:
                shown = [(clip(inert(name), _LONGEST_SHOWN), name) for name in self._known]
                reoffer(self.choice, [_NONE, *shown])
            self._show_choice(self._held())
            hide(self.choice, hidden=not self._known)

    def _show_choice(self, name: str) -> None:
        with self._writing:
            self.choice.value = name
        hide(self.delete, hidden=not name)

    def _choose(self, name: str) -> None:
        if self._writing or not name:
            return
        values = self._presets.get(self._function.name, name)
        with self._writing:
            unknown = fill(self._form, values)
        self.name.value = name
        self._reset()
        hide(self.delete, hidden=False)
        if unknown:
            gone = f"Without {listed(map(quote, unknown), 'and')}: {self._function.name} has no such parameter."
            self._say(html.escape(gone))

    def _save(self) -> None:
        name, values = check_name(self.name.value), form_values(self._form)
        self._list()  # another notebook may have saved, too
        is_there = name in self._known
        is_same = is_there and _alike(self._known[name], values)
        if is_there and not is_same and self._asked != (self.save, name):
            self._ask(self.save, name, "Replace it")
            self._say(html.escape(f"{quote(name, _LONGEST_SHOWN)} is there already, with other values."))
            return
        if not is_same:  # what a person wrote in other words stays as it is written
            self._presets.save(self._function.name, name, values)
            self._list()
        self._show_choice(name)
        self._reset()
        self._say(html.escape(f"Saved: {clip(name, _LONGEST_SHOWN)}"))

    def _delete(self) -> None:
        name = self.choice.value
        if not name:
            return
        if self._asked != (self.delete, name):
            self._ask(self.delete, name, "Delete it")
            self._say(html.escape(f"Once more to delete {quote(name, _LONGEST_SHOWN)}; the form keeps its values."))
            return
        self._presets.remove(self._function.name, name)
        self.name.value = ""
        self._list()
        self._reset()
        self._say(html.escape(f"Deleted: {clip(inert(name), _LONGEST_SHOWN)}"))

    def _try(self, does: Any, *told: Any) -> None:
        """Say what goes wrong here, beside what was pressed."""
        try:
            does(*told)
        except FuncsError as error:
            self._reset()
            self._say(bad_html(error.lines))

    def _ask(self, button: w.Button, name: str, text: str) -> None:
        self._reset()
        self._asked = button, name
        button.description, button.button_style = text, "warning"

    def _reset(self) -> None:
        """Forget the question: it was about something else."""
        self._asked = None
        for button, text in ((self.save, "Save"), (self.delete, "Delete")):
            button.description, button.button_style = text, ""
        self._say("")

    def _say(self, said: str) -> None:
        self.said.value = status_html(said)


def _alike(some: dict[str, Any], others: dict[str, Any]) -> bool:
    try:
        return bool(some == others)
    except ValueError:  # of an array, which no preset holds
        return False

"""A form on the screen: a control and a note for each field, the valid values asked for in the background."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from jupyter_funcs import loop
from jupyter_funcs.errors import FuncsError, NotFoundError
from jupyter_funcs.fields import Kind, listing_args
from jupyter_funcs.text import folded, inert, listed
from jupyter_funcs.view import note_html
from jupyter_funcs.widgets import Control, Look, control

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future

    from jupyter_funcs.callables import Choice, RemoteFunction
    from jupyter_funcs.fields import Field
    from jupyter_funcs.forms import Form


class FormBox(w.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """
    The controls and notes of one form.

    Parameters
    ----------
    function
        Whose form it is; its listing functions give the valid values.
    form
        What the controls show, and where their values go.
    on_change
        Called after a value has changed.
    guard
        Wraps a callback, so that what it raises is seen.
    """

    def __init__(
        self,
        function: RemoteFunction,
        form: Form,
        on_change: Callable[[], None],
        guard: Callable[[Callable[[Any], None]], Callable[..., None]],
    ) -> None:
        super().__init__()
        self.add_class("jf-form")
        self._function = function
        self._form = form
        self._look = Look(len(form.fields))
        self._on_change = on_change
        self._guard = guard
        self._controls: dict[str, Control] = {}
        self._notes: dict[str, w.HTML] = {}
        self._fills: dict[str, Future[None]] = {}
        self._waiting: dict[str, str] = {}
        self._typed: set[str] = set()  # the fields whose values could not be listed
        # Which fields each field's values are listed by, and the fields whose errors are shown.
        self._listed_by: dict[str, list[str]] = {}
        self._touched: set[str] = set()
        self._refused: dict[str, list[str]] = {}
        self._asked = False  # whether a run was, so that every error is shown
        self._taking = ""  # the field whose control is being read
        self._showing: set[int] = set()  # the threads that change controls: that is no choice of a person

        for field in form.fields:
            if field.name in self._controls:  # a repeated name has one value, and so one control
                continue
            self._listed_by[field.name] = self._needed(field)
            self._notes[field.name] = w.HTML(layout=self._look.note, style=self._look.html)
            self._place(field if self._lists(field) else replace(field, source=None))
        self._arrange()
        self.show_notes()
        for field in form.fields:
            self._fill(field)
        form.watchers.append(self._on_form)

    def refuse(self, errors: Mapping[str, Sequence[str]]) -> None:
        """Show the errors of every field from now on, and those that the service found."""
        self._asked = True
        self._touched = {field.name for field in self._form.fields}
        self._refused = {name: list(texts) for name, texts in errors.items() if name in self._touched}
        self.show_notes()

    def clear(self) -> None:
        """Clear every field."""
        self._form.clear()
        for field in self._form.fields:  # also what was typed and not taken
            self._show(field, self._controls[field.name])
        self._asked, self._touched, self._refused = False, set(), {}
        self.show_notes()

    def show_notes(self) -> None:
        """Show each field's errors and help."""
        errors = self._form.errors
        for field in self._form.fields:
            texts = list(self._refused.get(field.name, []))
            if field.name in self._touched:
                texts += errors.get(field.name, [])
            if self._asked and field.rule and not any(name in self._form.values for name in field.rule.names):
                texts.append(f"Give {listed(field.rule.names)}.")
            waiting = self._waiting.get(field.name, "")
            self._notes[field.name].value = note_html(field, dict.fromkeys(texts), waiting)

    def close(self) -> None:
        """Stop asking and close every model of the form."""
        if self.comm is None:  # closed already: ipywidgets closes once more when it disposes of the object
            return
        self._form.watchers.remove(self._on_form)
        for fill in self._fills.values():
            fill.cancel()
        for made in self._controls.values():
            made.close()
        for note in self._notes.values():
            note.close()
        self._controls.clear()
        self._look.close()
        self.layout.close()
        super().close()

    def _place(self, field: Field) -> None:
        made = control(field, self._look)
        made.box.add_class(f"jf-field-{folded(field.name)}")
        self._show(field, made)
        made.watch(self._guard(lambda _: self._take(field, made)))
        if earlier := self._controls.get(field.name):
            earlier.close()
        self._controls[field.name] = made

    def _arrange(self) -> None:
        self.children = [part for name, made in self._controls.items() for part in (made.box, self._notes[name])]

    def _show(self, field: Field, made: Control, choices: Sequence[Choice] | None = None) -> None:
        self._showing.add(threading.get_ident())
        try:
            if choices is not None:
                made.offer(choices)
            # As it would be sent where it is valid (True as the Yes of the options), else as it was set.
            made.show(self._form.args.get(field.name, self._form[field.name]))
        finally:
            self._showing.discard(threading.get_ident())

    def _take(self, field: Field, made: Control) -> None:
        if threading.get_ident() in self._showing:
            return
        value = made.read()
        held = self._form[field.name]
        # The type first: what code has set may be an array, which is equal to nothing as a whole.
        if self._controls.get(field.name) is not made or (type(value) is type(held) and value == held):
            return
        self._taking = field.name
        try:
            self._form[field.name] = value
        finally:
            self._taking = ""

    def _on_form(self, name: str) -> None:
        """Follow a change of the form, by a person or by code."""
        if name != self._taking:
            self._show(self._form.field(name), self._controls[name])
        self._touched.add(name)
        self._refused.pop(name, None)
        self.show_notes()
        self._on_change()
        for other in self._form.fields:
            if name in self._listed_by[other.name] and other.name != name:
                self._fill(other)

    def _lists(self, field: Field) -> bool:
        try:
            return field.source is not None and bool(self._function.session[field.source])
        except NotFoundError:
            return False

    def _needed(self, field: Field) -> list[str]:
        if field.source is None or not self._lists(field):
            return []
        needed = {folded(name) for name in listing_args(field, self._function.session[field.source].fields, {})[1]}
        return [other.name for other in self._form.fields if folded(other.name) in needed]

    def _fill(self, field: Field) -> None:
        """Ask for a field's valid values; the latest question wins."""
        if field.kind is Kind.CHOICE or not self._lists(field):
            return
        if earlier := self._fills.pop(field.name, None):
            earlier.cancel()
        self._fills[field.name] = loop.start(self._ask(field))

    async def _ask(self, field: Field) -> None:
        made = self._controls[field.name]
        try:
            choices, missing = await self._function.choices(field, self._form.args)
        except Exception as error:  # noqa: BLE001  # an exception on the loop is seen by nobody
            # Without the list the value can still be typed.
            reason = error.what if isinstance(error, FuncsError) else f"{type(error).__name__}: {error}"
            self._waiting[field.name] = f"The valid values could not be listed: {inert(reason)}"
            self._place(replace(field, source=None))
            self._arrange()
            self._typed.add(field.name)
        else:
            if self._controls.get(field.name) is not made:
                return
            if field.name in self._typed:
                self._typed.discard(field.name)
                self._place(field)
                self._arrange()
                made = self._controls[field.name]
            self._show(field, made, choices)
            self._waiting[field.name] = f"Fill in {listed(missing, 'and')} to see the values." if missing else ""
        self.show_notes()

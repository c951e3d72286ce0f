"""A form on the screen: a control a field, its messages, and the valid values, asked for in the background."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from jupyter_funcs.catalog.fields import Kind, by_name
from jupyter_funcs.catalog.values import Each, has_variable, only, several
from jupyter_funcs.core import background
from jupyter_funcs.core.text import listed, quote
from jupyter_funcs.panel.form import messages as notes
from jupyter_funcs.panel.form.controls import (
    ChoiceControl,
    Control,
    DateControl,
    JsonControl,
    SearchControl,
    lean,
    synced,
)
from jupyter_funcs.panel.form.list_controls import AddControl, EachLines, EachPick, LinesControl, PickControl
from jupyter_funcs.panel.form.sources import FieldSource, SourceLine, has_source
from jupyter_funcs.panel.shared.parts import Writing, on_enter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future

    from jupyter_funcs.catalog.fields import Field
    from jupyter_funcs.catalog.form import Args, Form
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.panel.shared.parts import Guard


# So many values can be looked through in a dropdown, and so many in one that adds.
MOST_TO_CHOOSE = 200
MOST_TO_ADD = 20

BY_KIND: dict[Kind, type[Control]] = {
    Kind.CHOICE: ChoiceControl,
    Kind.YES_NO: ChoiceControl,
    Kind.INTEGER: Control,
    Kind.NUMBER: Control,
    Kind.TEXT: Control,
    Kind.DATE: DateControl,
    Kind.LIST: LinesControl,
    Kind.SYMBOL: Control,
    Kind.PANEL: Control,
    Kind.JSON: JsonControl,
}


def control_type(field: Field, source: FieldSource | None, *, each: bool = False) -> type[Control]:
    """Give the kind of control for a field."""
    usual = _of_one(field, source)
    return usual if not each else EachPick if usual is ChoiceControl else EachLines


def may_change(field: Field, source: FieldSource | None) -> bool:
    """
    Say whether what stands at a field may become more, less or another while a person is at another field.

    These are tags, and what follows from the values that a source gives.
    """
    if source is None:
        return field.kind is Kind.LIST and bool(field.options)
    return field.kind in {Kind.LIST, Kind.PANEL} or bool(source.needs)


def _of_one(field: Field, source: FieldSource | None) -> type[Control]:
    are_many = len(field.options) > MOST_TO_CHOOSE
    if field.kind is Kind.LIST and field.options:
        return AddControl if are_many else PickControl
    if source is None:
        usual = BY_KIND[field.kind]
        return SearchControl if usual is ChoiceControl and are_many else usual
    number = len(source.offers)
    if field.kind is Kind.LIST:
        if source.trouble:
            return LinesControl
        return PickControl if source.known and 0 < number <= MOST_TO_ADD else AddControl
    # Panels are few, and chosen from a list once that is there; while it is slow to come they are typed.
    soon = source.asking and not source.slow and number <= MOST_TO_CHOOSE
    if field.kind is Kind.PANEL and (soon or (source.known and 0 < number <= MOST_TO_CHOOSE)):
        return ChoiceControl
    return SearchControl


# So long a pause in typing, in seconds, asks again for the values that depend on what is typed.
_PAUSE = 0.4
_MINUTE = 60.0
_SECOND = 1.0
# A front end that is still drawing a control, as Voila while its page loads, shows an error where its model is gone.
_STAY = 10.0


class FormBox(w.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """The controls and messages of one form."""

    def __init__(
        self,
        function: RemoteCall,
        form: Form,
        on_change: Callable[[], None],
        guard: Guard,
        on_submit: Callable[[], object],
    ) -> None:
        self._form = form
        # A repeated name has one value, and so one control.
        self._fields = by_name(form.fields)
        self._at = {name: at for at, name in enumerate(self._fields)}
        self._on_change = on_change
        self._on_submit = on_submit
        self._guard = guard
        self._told = args = form.args  # those of the last change that was told
        self._errors: dict[str, list[str]] = form.errors
        self._warnings = form.warnings_of(args, compare_listed=False)
        # The fields whose errors are shown, those that the service found, and what else is to be said.
        self._touched = {name for name in self._fields if name in form.values}
        self._refused: dict[str, list[str]] = {}
        self._dropped: dict[str, str] = {}
        self._asked = False  # whether a run was, so that every error is shown
        self._taking = ""  # the field whose control is being read
        self._lock = threading.RLock()  # news of a source may come while the form is closed, or a control made again
        self._replaced: dict[Control, Future[None]] = {}  # others stand in place of these, which are closed soon
        self._writing = Writing()

        self._sources = {
            name: FieldSource(field, function, form, guard(self._on_news))
            for name, field in self._fields.items()
            if has_source(field, function)
        }
        self._controls: dict[str, Control] = {name: self._make(name, args) for name in self._fields}
        self._lines: dict[str, SourceLine] = {}
        # A front end draws again what stands behind a change in a box, and whoever types there loses the keyboard.
        self._places: dict[str, w.VBox] = {}
        for name, field in self._fields.items():
            if may_change(field, self._sources.get(name)) or isinstance(self._form[name], Each):
                self._places[name] = self._place(name)
        self._said = lean(w.HTML, "jf-notes", value=self._said_html())
        self._help = lean(w.HTML, "jf-notes", value=notes.help_html(list(self._fields.values())))
        super().__init__(self._arranged(), keys=synced(w.VBox), _dom_classes=("jf-form",))
        form.watchers.append(self._on_form)
        for source in self._sources.values():
            if source.asking:
                source.ask()
        self._clock: Future[None] | None = background.start(self._grow_old()) if self._sources else None
        self._variables: Future[None] | None = None
        self._follow_variables()

    @property
    def valid(self) -> bool:
        """Whether the form can be run."""
        return not self._errors

    @property
    def summary(self) -> str:
        """What is missing for a run, in one line of text; empty when nothing is."""
        return notes.summary(self._form, self._errors)

    @property
    def messages(self) -> dict[str, list[str]]:
        """The errors that stand at the fields, by wire name."""
        return {name: errors for name, field in self._fields.items() if (errors := self._messages(field)[0])}

    def recheck(self) -> None:
        """Read the form again: a variable that it names may have another value than before."""
        self._errors = self._form.errors
        # Of a listing, `notes.unlisted` speaks, once a value is no longer being typed.
        self._warnings = self._form.warnings_of(self._form.args, compare_listed=False)
        self._said.value = self._said_html()

    @property
    def each(self) -> list[str]:
        """The wire names of the fields that have several values, a run for each."""
        return [name for name in self._fields if isinstance(self._form[name], Each)]

    def run_for_each(self, names: Sequence[str]) -> None:
        """Give these fields several values, and each of the others one again."""
        for name in self._fields:
            held = self._form[name]
            if (name in names) != isinstance(held, Each):
                self._form[name] = several(held) if name in names else only(held)
                if not self._form.is_set(name):  # nobody has had the time to fill it
                    self._touched.discard(name)
                    self.recheck()

    def refuse(self, errors: Mapping[str, Sequence[str]]) -> None:
        """Show the errors of every field from now on, and those that the service found."""
        self._asked = True
        self._touched = set(self._fields)
        self._refused = {name: list(texts) for name, texts in errors.items() if name in self._fields}
        self.recheck()

    def clear(self) -> None:
        """Clear every field; one with several values is left with none of them."""
        for name, held in list(self._form.values.items()):
            self._form[name] = Each(()) if isinstance(held, Each) else None
        for name in self._fields:  # also what was typed and not taken
            self._show(name)
        self._asked, self._touched, self._refused, self._dropped = False, set(), {}, {}
        self._arrange()
        self.recheck()

    def close(self) -> None:
        """Stop asking and close every model of the form."""
        if self.comm is None:  # closed already: ipywidgets closes once more when it disposes of the object
            return
        with self._lock:
            self._form.watchers.remove(self._on_form)
            for future in (self._clock, self._variables, *self._replaced.values()):
                if future is not None:
                    future.cancel()
            for source in self._sources.values():
                source.stop()
            shown = (*self._lines.values(), *self._places.values(), self._said, self._help)
            for closing in (*self._replaced, *self._controls.values(), *shown):
                closing.close()
            self._controls.clear()
            super().close()

    def _make(self, name: str, args: Args) -> Control:
        field = self._fields[name]
        source = self._sources.get(name)
        made = self._kind(name)(field, self._at[name])
        if source is not None and len(source.offers):
            made.offer(source.offers)
        made.show(self._value(name, args))
        made.watch(self._guard(lambda _: self._take(name, made)))
        if made.entry is not None:
            on_enter(made.entry, self._guard(lambda _: made.enter() or self._on_submit()))
        return made

    def _kind(self, name: str) -> type[Control]:
        is_each = isinstance(self._form[name], Each)
        return control_type(self._fields[name], self._sources.get(name), each=is_each)

    def _make_again(self, name: str) -> None:
        made = self._controls[name]
        self._controls[name] = self._make(name, self._form.args)
        if name not in self._places:
            self._places[name] = self._place(name)
        self._arrange()
        self._replaced[made] = background.start(self._close_later(made))

    async def _close_later(self, made: Control) -> None:
        await asyncio.sleep(_STAY)
        with self._lock:
            if self._replaced.pop(made, None) is not None:
                made.close()

    def _place(self, name: str) -> w.VBox:
        return lean(w.VBox, "jf-place", children=self._parts(name))

    def _parts(self, name: str) -> tuple[w.Widget, ...]:
        """Give what stands at a field, from above."""
        parts, source = self._controls[name].parts(), self._sources.get(name)
        if source is None or source.waits:  # which is said in a message
            return parts
        if name not in self._lines:
            line = self._lines[name] = SourceLine(source, self._at[name])
            line.on_click(self._guard(lambda _: self._ask(source, again=True)))
        return (*parts, self._lines[name])

    def _arranged(self) -> tuple[w.Widget, ...]:
        placed: list[w.Widget] = []
        for name in self._controls:
            placed += (self._places[name],) if name in self._places else self._parts(name)
        return (*placed, self._said, self._help)

    def _arrange(self) -> None:
        with self._lock:
            if self._controls:
                for name, place in self._places.items():
                    place.children = self._parts(name)
                self.children = self._arranged()

    def _value(self, name: str, args: Args) -> Any:
        # As it would be sent where it is valid (True as the Yes of the options), else as it was set.
        held = self._form.values.get(name)
        return held if isinstance(held, Each) or has_variable(held) else args.get(name, held)

    def _show(self, name: str) -> None:
        with self._writing:
            self._controls[name].show(self._value(name, self._form.args))

    def _take(self, name: str, made: Control) -> None:
        if self._writing:
            return
        value = made.read()
        held = self._form[name]
        # The type first: what code has set may be an array, which is equal to nothing as a whole.
        if self._controls.get(name) is not made or (type(value) is type(held) and value == held):
            self._arrange()
            return
        self._taking = name
        try:
            self._form[name] = value
        finally:
            self._taking = ""

    def _on_form(self, name: str) -> None:
        """Follow a change of the form, by a person or by code."""
        typed_in = name == self._taking and self._controls[name].is_typed_in
        if isinstance(self._form[name], Each) != isinstance(self._controls[name], (EachLines, EachPick)):
            with self._lock:  # news of its source may make it again too
                self._make_again(name)
        elif name != self._taking:
            self._show(name)
        self._arrange()
        self._touched.add(name)
        self._refused.pop(name, None)
        self._dropped.pop(name, None)
        for source in self._sources.values():
            if name in source.needs:
                self._ask(source, after=_PAUSE if typed_in else 0.0)
        self.recheck()
        self._tell()
        self._follow_variables()

    def _tell(self) -> None:
        self._told = self._form.args
        self._on_change()

    def _follow_variables(self) -> None:
        has_one = any(map(has_variable, self._form.values.values()))
        if has_one and (self._variables is None or self._variables.done()):
            self._variables = background.start(self._look_at_variables())

    async def _look_at_variables(self) -> None:
        """Follow the variables that are values, while there are some; a variable tells nobody that it has changed."""

        def follow(_: object) -> None:
            self.recheck()
            self._tell()

        while any(map(has_variable, self._form.values.values())):
            await asyncio.sleep(_SECOND)
            if (self._errors, self._told) != (self._form.errors, self._form.args):
                self._guard(follow)(None)

    def _ask(self, source: FieldSource, *, again: bool = False, after: float = 0.0) -> None:
        source.ask(again=again, after=after)
        self._show_line(source)

    def _on_news(self, source: FieldSource) -> None:
        """Show what a source has given; on the background loop."""
        name = source.field.name
        with self._lock:
            made = self._controls.get(name)
            if made is None:  # closed meanwhile
                return
            if type(made) is not self._kind(name) and not made.is_typed_in:
                self._make_again(name)
            elif not source.asking:
                with self._writing:
                    made.offer(source.offers)
                    made.show(self._value(name, self._form.args))
            if source.known:
                self._drop(source)
            self.recheck()
            self._show_line(source)

    def _show_line(self, source: FieldSource) -> None:
        self._arrange()
        if line := self._lines.get(source.field.name):
            line.show()

    def _drop(self, source: FieldSource) -> None:
        """Take away what the source had listed before and lists no more, and say so."""
        name = source.field.name
        held = self._form[name]
        items = list(held.values) if isinstance(held, Each) else held if isinstance(held, list) else [held]
        gone = [item for item in items if isinstance(item, str) and source.lists_no_more(item)]
        if gone:
            kept = [item for item in items if item not in gone]
            self._form[name] = Each(tuple(kept)) if isinstance(held, Each) else kept if isinstance(held, list) else None
            where = source.field.source
            self._dropped[name] = f"Taken away, since {where} lists no {listed(map(quote, gone))} any more."

    async def _grow_old(self) -> None:
        while True:
            await asyncio.sleep(_MINUTE)
            for line in self._lines.values():
                line.show()

    def _said_html(self) -> str:
        return notes.said_html(self._messages(field) for field in self._fields.values())

    def _messages(self, field: Field) -> tuple[list[str], list[str]]:
        name = field.name
        errors = list(self._refused.get(name, []))
        words = [self._dropped[name]] if name in self._dropped else []
        if name in self._touched:
            errors += self._errors.get(name, [])
            sent = " It is sent as given." * self._form.is_set(name)
            words += [f"{text}{sent}" for text in self._warnings.get(name, []) if not errors]
        if field.rule and not any(map(self._form.is_set, field.rule.names)):
            (errors if self._asked else words).append(f"Give {listed(field.rule.names)}.")
        if name in self._controls and (word := self._controls[name].word):
            words.append(word)
        if (source := self._sources.get(name)) and source.waits:
            words.append(source.line)
        # Of a value that is wrong it is not said that it is sent as it is.
        if source and not errors:
            words += notes.unlisted(self._form[name], source.offers)
        return list(dict.fromkeys(errors)), words

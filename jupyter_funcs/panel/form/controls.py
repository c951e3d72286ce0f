"""Field -> control: one row of a table for each kind. A control shows a value and holds nothing else."""

from __future__ import annotations

import datetime as dt
import json
from functools import cache
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from jupyter_funcs.catalog.suggestions import Choice, Offers
from jupyter_funcs.catalog.values import Variable, spelled, typed
from jupyter_funcs.core.text import clip, folded, inert
from jupyter_funcs.panel.form import messages
from jupyter_funcs.panel.shared.parts import hide

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jupyter_funcs.catalog.fields import Field

# What stands for "not sent" in a control with options; not None, which ipywidgets takes for no option at all.
NOT_SENT = ""
_LONGEST_OPTION = 120
_LONGEST_TEXT = 10_000


@cache
def synced(kind: type[w.Widget]) -> tuple[str, ...]:
    """
    Give the traits that a widget of a form sends.

    All but its layout and its style, each a model and a message of its own: the style sheet does their work, and front
    ends do without (https://github.com/jupyter-widgets/ipywidgets/issues/1620).
    """
    return tuple(name for name in kind.class_trait_names(sync=True) if name not in {"layout", "style"})


def lean(kind: type[w.DOMWidget], *classes: str, **traits: Any) -> w.DOMWidget:
    """Make a widget of a form; its classes go with it, and not in a message of their own."""
    return kind(_dom_classes=classes, keys=synced(kind), **traits)  # type: ignore[arg-type]  # each class is hashable


class Control:
    """One field on the screen."""

    def __init__(self, field: Field, at: int) -> None:
        self.field = field
        self.at = at
        self._shown = ""  # the text that `show` has put into the box
        self.box = self.make()

    def make(self) -> w.DescriptionWidget:
        """Make the box."""
        return self.described(w.Text, placeholder=messages.unset(self.field))

    def described(self, kind: type[w.DescriptionWidget], **traits: Any) -> w.DescriptionWidget:
        """Make a widget that carries the field's name."""
        return lean(
            kind,
            *(f"jf-at-{self.at}", f"jf-field-{folded(self.field.name)[:60]}"),
            description=messages.label(self.field),
            tooltip=messages.tooltip(self.field),
            **traits,
        )

    def parts(self) -> tuple[w.Widget, ...]:
        """Give what is placed in the form, from above."""
        return (self.box,)

    def watch(self, callback: Callable[[Any], None]) -> None:
        """Call back whenever a person changes what `read` gives."""
        self.box.observe(callback, "value")

    def read(self) -> Any:
        """Give the value for the form; ``None`` when nothing is set."""
        return typed(self.box.value) or None

    def show(self, value: Any) -> None:
        """Show a value of the form; one that cannot be shown leaves the box empty."""
        text = "" if value is None else spelled(value)
        self.box.value = self._shown = text if isinstance(value, str) else clip(text, _LONGEST_TEXT)

    def offer(self, offers: Offers) -> None:
        """Take the values that a listing function gave; show the value again afterwards."""

    @property
    def entry(self) -> w.Text | None:
        """Where a person types and presses Enter."""
        return self.box if isinstance(self.box, w.Text) else None

    def enter(self) -> bool:
        """Take what was typed, on Enter; say whether Enter was for the control, and so does not run the form."""
        return False

    @property
    def word(self) -> str:
        """What is to be said of the value that the control does not show."""
        return ""

    @property
    def is_typed_in(self) -> bool:
        """Whether something stands in the box that a person has typed, and may go on with."""
        return self.entry is not None and self.entry.value not in {"", self._shown}

    def close(self) -> None:
        """Close the models."""
        for part in self.parts():
            for widget in (*below(part), part):
                widget.close()


class JsonControl(Control):
    """Any JSON value, as its text."""

    def make(self) -> w.DescriptionWidget:
        """Make the box."""
        return self.described(w.Textarea, placeholder=f"{messages.unset(self.field)}: JSON", rows=3)

    def show(self, value: Any) -> None:
        """Show a value as JSON."""
        super().show(value if value is None else json_text(value))


def json_text(value: Any) -> Any:
    """Give a value as JSON; a text or a variable as it is."""
    return value if isinstance(value, (str, Variable)) else json.dumps(value, default=str, ensure_ascii=False)


class DateControl(Control):
    """
    A day, from a calendar, with a button that empties it while there is one, and names a value that is no day.

    A day whose parts are all deleted with keys is not told by ipywidgets 8: the button says what is still held.
    """

    def __init__(self, field: Field, at: int) -> None:
        self._button = lean(w.Button, "jf-line", f"jf-at-{at}", "jf-hidden", icon="times")
        self._other: Any = None  # a value that no calendar shows
        super().__init__(field, at)
        self.box.observe(lambda _: self._follow(), "value")

    def watch(self, callback: Callable[[Any], None]) -> None:
        """Call back whenever a day is chosen, or the value is cleared."""
        super().watch(callback)

        def clear(_: object) -> None:
            is_other = self._other is not None
            self.show(None)
            if is_other:  # the box stays as it was
                callback(None)

        self._button.on_click(clear)

    def make(self) -> w.DescriptionWidget:
        """Make the box."""
        return self.described(w.DatePicker)

    def parts(self) -> tuple[w.Widget, ...]:
        """Give the box, and the button below it."""
        return (self.box, self._button)

    def read(self) -> Any:
        """Give the day, or the value that is none."""
        return self._other if self.box.value is None else self.box.value

    def show(self, value: Any) -> None:
        """Show a day."""
        try:
            self.box.value = dt.date.fromisoformat(str(value))
        except ValueError:
            self.box.value = None
            self._follow(value)

    def _follow(self, other: Any = None) -> None:
        self._other = other
        held = self.read()
        with self._button.hold_sync():  # one message
            self._button.description = "" if held is None else f"Clear {clip(inert(str(held)), _LONGEST_OPTION)}"
            hide(self._button, hidden=held is None)


class ChoiceControl(Control):
    """One of a few options, or none."""

    def make(self) -> w.DescriptionWidget:
        """Make the box."""
        return self.described(w.Dropdown, options=[self._first, *as_options(self.field.options)])

    @property
    def _first(self) -> tuple[str, Any]:
        return ("Choose…" if self.field.required else messages.unset(self.field), NOT_SENT)

    def read(self) -> Any:
        """Give the option."""
        return None if self.box.value == NOT_SENT else self.box.value

    def show(self, value: Any) -> None:
        """Show a value; one that isn't an option becomes one, for what the form holds is what is shown."""
        if value is None:
            self.box.value = NOT_SENT
            return
        known = {str(option): option for _, option in self.box.options if option != NOT_SENT}
        option = known.get(str(value))
        if option is None:
            option = value if isinstance(value, Variable) else str(value)
            said = clip(inert(str(value)), _LONGEST_OPTION)
            said += "" if isinstance(value, Variable) else " (not listed)"
            self.box.options = [*self.box.options, (said, option)]
        self.box.value = option

    def offer(self, offers: Offers) -> None:
        """Take these for the options."""
        reoffer(self.box, [self._first, *offers.items()])


class SearchControl(Control):
    """A text with suggestions; of many values those that hold what is typed."""

    def __init__(self, field: Field, at: int) -> None:
        self.offers = Offers()
        super().__init__(field, at)
        self.box.observe(lambda _: narrow(self.box, self.offers), "value")
        if field.options:  # too many for a list of them
            self.offer(Offers([Choice(option) for option in field.options]))

    def make(self) -> w.DescriptionWidget:
        """Make the box."""
        return self.described(w.Combobox, placeholder=messages.unset(self.field))

    def read(self) -> Any:
        """Give the value that is spelt in the box."""
        return self.listed_or_typed() or None

    def listed_or_typed(self) -> str | Variable:
        """Give the listed value that stands in the box, else what was typed."""
        listed = self.offers.value(self.box.value)
        return typed(self.box.value) if listed is None else listed

    def show(self, value: Any) -> None:
        """Show a value as the listing spells it."""
        if isinstance(value, str) and value in self.offers:
            self.box.value = self._shown = self.offers.text(value)
        else:
            super().show(value)

    def offer(self, offers: Offers) -> None:
        """Suggest these."""
        self.offers = offers
        narrow(self.box, offers)

    @property
    def word(self) -> str:
        """How many options there are, where they are too many to be seen."""
        number = len(self.field.options)
        return f"{number:,} options: type to search them." if number else ""


def narrow(box: w.Combobox, offers: Offers) -> None:
    """Send the page of suggestions that fits what is typed, where it is another one."""
    page = tuple(offers.page(box.value))
    if box.options != page:
        box.options = page


def as_options(values: Sequence[str]) -> list[tuple[str, Any]]:
    """Give values as a dropdown takes them: what is shown, and the value."""
    return [(clip(inert(value), _LONGEST_OPTION), value) for value in values]


def reoffer(box: w.Dropdown, options: list[tuple[str, Any]]) -> None:
    """Give a dropdown other options, where they are others."""
    if list(box.options) != options:
        with box.hold_sync():  # one message
            box.options = options


def below(widget: w.Widget) -> list[w.Widget]:
    """Give every widget inside a box, the innermost first."""
    return [found for child in getattr(widget, "children", ()) for found in (*below(child), child)]

"""Field -> control: one row of a table for each kind. A control shows a value and holds nothing else."""

from __future__ import annotations

import datetime as dt
import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ipywidgets as w
from ipywidgets.widgets.widget_bool import ToggleButtonStyle
from ipywidgets.widgets.widget_description import DescriptionStyle
from ipywidgets.widgets.widget_string import HTMLStyle, TextStyle

from jupyter_funcs.callables import Choice
from jupyter_funcs.fields import Kind
from jupyter_funcs.text import listed
from jupyter_funcs.view import LABEL_WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jupyter_funcs.fields import Field

# A list of at most so many options is shown as toggles, in a form of at most so many fields: each is a widget of its
# own. Any other list is typed or picked one by one.
_MOST_TOGGLES = 6
_MOST_FIELDS_WITH_TOGGLES = 20
# A browser is sent at most so many options; more are searched here, and so many hits are sent.
_MOST_OPTIONS = 1000
_HITS = 50


class Look:
    """
    The layouts and styles that the controls of one form share: a Layout is the largest part of a widget.

    Parameters
    ----------
    fields
        How many fields the form has; a long one has plainer controls.
    """

    def __init__(self, fields: int) -> None:
        self.most_toggles = _MOST_TOGGLES if fields <= _MOST_FIELDS_WITH_TOGGLES else 0
        self.control = w.Layout(width="auto", max_width="640px")
        self.note = w.Layout()
        self.label = w.Layout(flex=f"0 0 {LABEL_WIDTH}", margin="2px 8px 2px 2px")
        self.several = w.Layout(flex_flow="row wrap", max_width="640px")
        self.chosen = w.Layout(flex_flow="row wrap", margin=f"0 0 0 calc({LABEL_WIDTH} + 8px)", max_width="430px")
        self.toggle = w.Layout(width="auto")
        self.button_style = w.ButtonStyle()
        self.toggle_style = ToggleButtonStyle()
        self.text = TextStyle(description_width=LABEL_WIDTH)
        self.plain = DescriptionStyle(description_width=LABEL_WIDTH)
        self.toggles = w.ToggleButtonsStyle(description_width=LABEL_WIDTH, button_width="auto")
        self.html = HTMLStyle()

    def close(self) -> None:
        """Close the models."""
        for model in vars(self).values():
            if isinstance(model, w.Widget):
                model.close()


@dataclass(frozen=True, slots=True)
class Control:
    """
    One field on the screen.

    Attributes
    ----------
    box
        What is placed in the form.
    watch
        Calls back whenever a person changes what `read` gives.
    read
        Gives the value for the form; ``None`` when nothing is set.
    show
        Shows a value of the form; one that it cannot show leaves it empty.
    offer
        Takes the valid values that a listing function gave; show the value again afterwards.
    """

    box: w.Widget
    watch: Callable[[Callable[[Any], None]], None]
    read: Callable[[], Any]
    show: Callable[[Any], None]
    offer: Callable[[Sequence[Choice]], None]

    def close(self) -> None:
        """Close the models."""
        for widget in (*below(self.box), self.box):
            widget.close()


def below(widget: w.Widget) -> list[w.Widget]:
    """Give every widget inside a box, the innermost first."""
    return [found for child in getattr(widget, "children", ()) for found in (*below(child), child)]


def control(field: Field, look: Look) -> Control:
    """Make the control of a field, by its kind."""
    if field.kind is Kind.LIST and 0 < len(field.options) <= look.most_toggles:
        return _several(field, look)
    return (_LISTED_BY_KIND if field.source else _BY_KIND)[field.kind](field, look)


def _unset(field: Field) -> str:
    """Say in a control what happens when nothing is set."""
    if field.default is not None:
        return f"default: {field.default}"
    if field.rule:
        return f"or give {listed(name for name in field.rule.names if name != field.name)}"
    return "required" if field.required else "not sent"


def _label(field: Field) -> str:
    return field.label + (" *" if field.required else "")


def _tooltip(field: Field) -> str:
    return f"{field.name}: {field.help}" if field.help else field.name


def _as_text(value: Any) -> str:
    return "" if value is None else str(value)


def _watching(*inputs: w.ValueWidget) -> Callable[[Callable[[Any], None]], None]:
    def watch(callback: Callable[[Any], None]) -> None:
        for widget in inputs:
            widget.observe(callback, "value")

    return watch


def _take_no_offer(_: Sequence[Choice]) -> None:
    """Leave the options as the description lists them."""


def _text(field: Field, look: Look) -> Control:
    box = w.Text(
        description=_label(field),
        placeholder=_unset(field),
        continuous_update=False,
        tooltip=_tooltip(field),
        layout=look.control,
        style=look.text,
    )

    def show(value: Any) -> None:
        box.value = _as_text(value)

    return Control(box, _watching(box), lambda: box.value or None, show, _take_no_offer)


def _date(field: Field, look: Look) -> Control:
    box = w.DatePicker(description=_label(field), tooltip=_tooltip(field), layout=look.control, style=look.plain)

    def show(value: Any) -> None:
        try:
            box.value = dt.date.fromisoformat(str(value))
        except ValueError:
            box.value = None

    return Control(box, _watching(box), lambda: box.value, show, _take_no_offer)


# What stands for "not sent" in a control with options; not None, which ipywidgets takes for no option at all.
_NOT_SENT = ""


def _choice(field: Field, look: Look) -> Control:
    first = ("Choose…" if field.required else _unset(field), _NOT_SENT)
    box = w.Dropdown(
        options=[first, *((option, option) for option in field.options)],
        description=_label(field),
        tooltip=_tooltip(field),
        layout=look.control,
        style=look.plain,
    )

    def show(value: Any) -> None:
        text = _as_text(value)
        known = {option.casefold(): option for _, option in box.options}
        if text.casefold() not in known:  # not listed, but what the form holds is what is shown
            box.options = [*box.options, (text, text)]
        box.value = known.get(text.casefold(), text)

    def offer(choices: Sequence[Choice]) -> None:
        # So many cannot be looked through, and would be a load for the browser.
        box.options = [first, *((_spelled(choice), choice.value) for choice in choices[:_MOST_OPTIONS])]

    return Control(box, _watching(box), lambda: box.value or None, show, offer)


def _yes_no(field: Field, look: Look) -> Control:
    unset = [] if field.required else [(_unset(field), _NOT_SENT)]
    box = w.ToggleButtons(
        options=[*unset, *((option, option) for option in field.options)],
        value=_NOT_SENT if unset else None,
        description=_label(field),
        tooltip=_tooltip(field),
        layout=look.control,
        style=look.toggles,
    )
    known = {option.casefold(): option for option in field.options}

    def show(value: Any) -> None:
        box.value = known.get(_as_text(value).casefold(), _NOT_SENT if unset else None)

    return Control(box, _watching(box), lambda: box.value or None, show, _take_no_offer)


def _several(field: Field, look: Look) -> Control:
    toggles = {
        option: w.ToggleButton(description=option, tooltip=_tooltip(field), layout=look.toggle, style=look.toggle_style)
        for option in field.options
    }
    box = w.HBox([_side_label(field, look), *toggles.values()], layout=look.several)
    chosen: list[str] = []  # in the order of the clicks, which is the order of the columns

    def on_click(change: Any) -> None:
        chosen[:] = [option for option in chosen if option != change["owner"].description]
        if change["new"]:
            chosen.append(change["owner"].description)

    for toggle in toggles.values():
        toggle.observe(on_click, "value")

    def show(value: Any) -> None:
        wanted = [item.casefold() for item in _items(value)]
        for option, toggle in sorted(toggles.items(), key=lambda pair: _position(pair[0].casefold(), wanted)):
            toggle.value = False
            toggle.value = option.casefold() in wanted

    return Control(box, _watching(*toggles.values()), lambda: list(chosen) or None, show, _take_no_offer)


def _position(item: str, items: Sequence[str]) -> int:
    return items.index(item) if item in items else len(items)


def _side_label(field: Field, look: Look) -> w.HTML:
    # For a control that takes no description of its own.
    text = f'<label class="jf-label">{html.escape(_label(field))}</label>'
    return w.HTML(text, layout=look.label, style=look.html)


class _Suggestions:
    """The valid values that a text box suggests, with their labels; of very many only those that fit what was typed."""

    def __init__(self, box: w.Combobox, options: Sequence[str] = ()) -> None:
        self._box = box
        self._values: dict[str, str] = {}
        self.offer([Choice(option) for option in options])
        box.observe(lambda _: self._narrow(), "value")

    def offer(self, choices: Sequence[Choice]) -> None:
        """Suggest these."""
        self._values = {_spelled(choice): choice.value for choice in choices}
        self._narrow()

    def value(self, text: str) -> str:
        """Give the value that a text stands for: the one suggested, else the text itself."""
        text = text.strip()
        if found := self._values.get(text):
            return found
        return {value.casefold(): value for value in self._values.values()}.get(text.casefold(), text)

    def spelled(self, value: str) -> str:
        """Give the text that stands for a value."""
        return next((spelled for spelled, known in self._values.items() if known == value), value)

    def _narrow(self) -> None:
        found = list(self._values)
        if len(found) > _MOST_OPTIONS:
            words = self._box.value.casefold().split()
            found = [text for text in found if all(word in text.casefold() for word in words)][:_HITS]
        self._box.options = tuple(found)


def _search(field: Field, look: Look) -> Control:
    box = w.Combobox(
        description=_label(field),
        placeholder=_unset(field),
        tooltip=_tooltip(field),
        layout=look.control,
        style=look.text,
    )
    suggestions = _Suggestions(box)

    def show(value: Any) -> None:
        box.value = suggestions.spelled(_as_text(value))

    return Control(box, _watching(box), lambda: suggestions.value(box.value) or None, show, suggestions.offer)


def _many(field: Field, look: Look) -> Control:
    """Give a box to type or pick values in, one by one, above a button for each that is chosen, which takes it away."""
    entry = w.Combobox(
        description=_label(field),
        placeholder=_unset(field),
        continuous_update=False,  # a value is taken when it is picked, on Enter, or as the box is left
        tooltip=_tooltip(field),
        layout=look.control,
        style=look.text,
    )
    suggestions = _Suggestions(entry, field.options)
    buttons = w.HBox(layout=look.chosen)
    box = w.VBox([entry, buttons], layout=look.note)
    chosen: list[str] = []
    callbacks: list[Callable[[Any], None]] = []

    def show(value: Any) -> None:
        chosen[:] = dict.fromkeys(_items(value))
        earlier, buttons.children = buttons.children, tuple(map(make_button, chosen))
        for button in earlier:
            button.close()

    def make_button(item: str) -> w.Button:
        button = w.Button(
            description=item, icon="times", tooltip=f"Take {item} away", layout=look.toggle, style=look.button_style
        )
        button.on_click(lambda _: change([other for other in chosen if other != item]))
        return button

    def change(items: list[str]) -> None:
        show(items)
        for callback in callbacks:
            callback(None)

    def add(_: Any) -> None:
        if text := suggestions.value(entry.value):
            entry.value = ""
            change([*chosen, text])

    entry.observe(add, "value")
    return Control(box, callbacks.append, lambda: list(chosen) or None, show, suggestions.offer)


def _spelled(choice: Choice) -> str:
    return f"{choice.value} — {choice.label}" if choice.label else choice.value


def _items(value: Any) -> list[str]:
    if value is None:
        return []
    return [value] if isinstance(value, str) or not hasattr(value, "__iter__") else [str(item) for item in value]


_BY_KIND: dict[Kind, Callable[[Field, Look], Control]] = {
    Kind.CHOICE: _choice,
    Kind.YES_NO: _yes_no,
    Kind.INTEGER: _text,
    Kind.NUMBER: _text,
    Kind.TEXT: _text,
    Kind.DATE: _date,
    Kind.LIST: _many,
    Kind.SYMBOL: _text,
    Kind.PANEL: _text,
}
# What a kind looks like when a function lists its values: panel data sets are few, anything else may be many.
_LISTED_BY_KIND: dict[Kind, Callable[[Field, Look], Control]] = {
    **_BY_KIND,
    Kind.TEXT: _search,
    Kind.SYMBOL: _search,
    Kind.PANEL: _choice,
}

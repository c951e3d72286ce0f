"""Controls of a list: picked or typed one by one, each with a button that takes it away, or a line each in a text."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from jupyter_funcs.catalog.fields import Kind
from jupyter_funcs.catalog.suggestions import Offers
from jupyter_funcs.catalog.values import Each, Variable, several, spelled, typed
from jupyter_funcs.core.text import clip, inert
from jupyter_funcs.panel.form import messages
from jupyter_funcs.panel.form.controls import (
    NOT_SENT,
    Control,
    SearchControl,
    as_options,
    json_text,
    lean,
    narrow,
    reoffer,
)
from jupyter_funcs.panel.shared.parts import Writing, on_enter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jupyter_funcs.catalog.fields import Field


_LONGEST_TAG = 60
_MOST_TAGS = 50
# What a spreadsheet puts between cells; a comma may belong to a value (SERVICE.md 3).
_BETWEEN = re.compile(r"[\r\n\t]+")


class _Tagged(Control):
    """What the two controls with tags share: the items, in the order in which they were taken."""

    def __init__(self, field: Field, at: int) -> None:
        self.items: list[Any] = []
        self._tags: w.HBox | None = None  # made when there is something to show in it
        self._buttons: dict[str, w.Button] = {}
        self.tell: Callable[[Any], None] = lambda _: None
        super().__init__(field, at)

    def parts(self) -> tuple[w.Widget, ...]:
        """Give the box, and the tags below it."""
        return (self.box,) if self._tags is None else (self.box, self._tags)

    def watch(self, callback: Callable[[Any], None]) -> None:
        """Call back whenever an item comes or goes."""
        self.tell = callback

    def read(self) -> Any:
        """Give the items, in the order in which they were taken."""
        return _one_variable(self.items)

    def show(self, value: Any) -> None:
        """Show a tag for each item."""
        self._set(_items(value))

    @property
    def word(self) -> str:
        """How many there are, where not all have a tag."""
        number = len(self.items)
        return f"{number:,} values; the first {_MOST_TAGS} are shown." if number > _MOST_TAGS else super().word

    def take(self, items: Sequence[Any]) -> None:
        """Add items that a person has given, each once, and tell."""
        self._set([*self.items, *items])
        self.tell(None)

    def _set(self, items: Sequence[Any]) -> None:
        self.items = list(dict.fromkeys(items))
        shown = {spelled(item): item for item in self.items[:_MOST_TAGS]}
        if self._tags is None:
            if not shown:
                return
            self._tags = lean(w.HBox, "jf-tags", f"jf-at-{self.at}")
        gone = [self._buttons.pop(text) for text in list(self._buttons) if text not in shown]
        for text, item in shown.items():
            if text not in self._buttons:
                self._buttons[text] = self._make_button(text, item)
        self._tags.children = [self._buttons[text] for text in shown]
        for button in gone:
            button.close()

    def _make_button(self, text: str, item: Any) -> w.Button:
        said = clip(inert(text), _LONGEST_TAG)
        # The style sheet shows the title with a cross in place of these words, which are what is read out.
        button = lean(w.Button, "jf-tag", description=f"Remove {said}", tooltip=said)
        button.on_click(lambda _: self._remove(item))
        return button

    def _remove(self, item: Any) -> None:
        if item not in self.items:  # a second click, sent before the first had taken it away
            return
        at = self.items.index(item)
        self._set([other for other in self.items if other != item])
        self.tell(None)
        # The button that had the keyboard is gone: on to the next.
        near = self.items[at : at + 1] or self.items[-1:]
        button = self._buttons.get(spelled(near[0])) if near else None
        (button or self.box).focus()


class PickControl(_Tagged):
    """A list whose items are picked from a few options."""

    def make(self) -> w.DescriptionWidget:
        """Make the box."""
        self._options = as_options(self.field.options)
        return self.described(w.Dropdown, options=self._offered())

    def __init__(self, field: Field, at: int) -> None:
        super().__init__(field, at)
        self.box.observe(self._pick, "value")

    def offer(self, offers: Offers) -> None:
        """Take these for the options."""
        self._options = offers.items()
        reoffer(self.box, self._offered())

    def _offered(self) -> list[tuple[str, Any]]:
        unset = "required" if self.field.required else messages.unset(self.field)
        return [("Add…" if self.items else f"Add… ({unset})", NOT_SENT), *self._options]

    def _set(self, items: Sequence[Any]) -> None:
        super()._set(items)
        reoffer(self.box, self._offered())

    def _pick(self, change: Any) -> None:
        if (option := change["new"]) not in {NOT_SENT, None}:
            self.box.value = NOT_SENT
            self.take([option])


class AddControl(_Tagged, SearchControl):
    """
    A list whose items are typed or picked from suggestions.

    What stands in the box counts as an item, so that nothing that a person sees there is left out.
    """

    def __init__(self, field: Field, at: int) -> None:
        super().__init__(field, at)
        self._writing = Writing()
        self.box.observe(self._follow, "value")

    def make(self) -> w.DescriptionWidget:
        """Make the box."""
        return self.described(w.Combobox, placeholder=f"{messages.unset(self.field)}; Enter adds")

    def read(self) -> Any:
        """Give the items, and what stands in the box."""
        return _one_variable([*self.items, *self._typed()])

    def show(self, value: Any) -> None:
        """Show a tag for each item, but for what stands in the box already."""
        items = _items(value)
        waiting = self._typed()
        if waiting and items[-1:] == waiting:
            self._set(items[:-1])
        else:
            self._empty()
            self._set(items)

    def enter(self) -> bool:
        """Make an item of what was typed."""
        if items := self._typed():
            self._empty()
            self.take(items)
        return True

    def _typed(self) -> list[Any]:
        value = self.listed_or_typed()
        return [value] if str(value).strip() else []

    def _empty(self) -> None:
        with self._writing:
            self.box.value = ""

    def _follow(self, _: Any) -> None:
        if self._writing:
            return
        if picked := self.offers.picked(self.box.value):
            self._empty()
            self.take(picked)
        else:
            self.tell(None)


class LinesControl(Control):
    """A list of texts, a line each: typed, or a pasted column."""

    def make(self) -> w.DescriptionWidget:
        """Make the box."""
        said = f"{messages.unset(self.field)}: one a line, or a pasted column"
        return self.described(w.Textarea, placeholder=said, rows=2)

    def read(self) -> Any:
        """Give the lines that hold something."""
        lines = (line.strip() for line in _BETWEEN.split(self.box.value))
        return _one_variable(list(dict.fromkeys(typed(line) for line in lines if line)))

    def show(self, value: Any) -> None:
        """Show a line for each item."""
        items = _items(value)
        if items != _items(self.read()):  # else as it was typed
            self.box.value = "\n".join(map(spelled, items))

    @property
    def word(self) -> str:
        """How many there are, as a check of what was pasted."""
        return _counted(len(_items(self.read())), "value")

    @property
    def is_typed_in(self) -> bool:
        """Whether something stands in the box."""
        return bool(self.box.value)


def _items(value: Any) -> list[Any]:
    """Give the items of a list of the form, each as a text or a variable."""
    return [] if value is None else [_text(item) for item in (value if _is_list(value) else [value])]


def _is_list(value: Any) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, (str, Variable))


def _text(item: Any) -> Any:
    return item if isinstance(item, (str, Variable)) else str(item)


def _one_variable(items: list[Any]) -> Any:
    """Give a variable that stands alone as itself: it may hold the whole list."""
    return items[0] if len(items) == 1 and isinstance(items[0], Variable) else items or None


# What a spreadsheet puts between cells; a comma may belong to a name, but to no date and to no number (SERVICE.md 3).
_BETWEEN_NUMBERS = re.compile(r"[\s,;]+")
_BETWEEN_LISTED = re.compile(r"[,;]")
_UNAMBIGUOUS = {Kind.INTEGER, Kind.NUMBER, Kind.DATE}
_IN_QUOTES = re.compile(r'[,"\t]|^[\s\[]|[\s\]]$')
_ALL = object()


class EachPick(PickControl):
    """Several values, picked from a few options or all of them taken at once."""

    def read(self) -> Any:
        """Give the values, in the order in which they were taken."""
        return Each(tuple(self.items))

    def show(self, value: Any) -> None:
        """Show a tag for each value."""
        self._set(_values(value))

    def _offered(self) -> list[tuple[str, Any]]:
        every = [(f"Add all {len(self._options):,}", _ALL)] * (len(self._options) > 1)
        return [super()._offered()[0], *every, *self._options]

    def _pick(self, change: Any) -> None:
        if change["new"] is not _ALL:
            super()._pick(change)
        else:
            self.box.value = NOT_SENT
            self.take([option for _, option in self._options])


class EachLines(LinesControl):
    """Several values, a line each: typed, a pasted column, or added from a search where the values are listed."""

    def __init__(self, field: Field, at: int) -> None:
        self.offers = Offers()
        self._search: w.Combobox | None = None
        super().__init__(field, at)

    def make(self) -> w.DescriptionWidget:
        """Make the box."""
        how = _HOW.get(self.field.kind, _HOW_ELSE)
        if self.field.kind is Kind.LIST and len(self.field.options) > 1:
            how += f", as {_line(self.field.options[:2])}"
        return self.described(w.Textarea, placeholder=clip(inert(how), 200), rows=3)

    def parts(self) -> tuple[w.Widget, ...]:
        """Give the lines, and the search below them."""
        return (self.box,) if self._search is None else (self.box, self._search)

    def read(self) -> Any:
        """Give what stands in the lines that hold something."""
        return Each(tuple(self._lines()))

    def show(self, value: Any) -> None:
        """Show a line for each value."""
        values = [*map(json_text, several(value).values)] if self.field.kind is Kind.JSON else _values(value)
        if values != self._lines():  # else as it was typed
            self.box.value = "\n".join(map(_line, values))

    def offer(self, offers: Offers) -> None:
        """Offer a search of these; whole lists are typed."""
        self.offers = offers
        if self.field.kind is Kind.LIST or not len(offers):
            return
        if self._search is None:
            search = self._search = lean(
                w.Combobox,
                *(f"jf-at-{self.at}", "jf-add"),
                description=f"Add to {clip(inert(self.field.label), 60)}",
                placeholder="type to search, Enter adds",
            )
            search.observe(lambda _: self._follow(search), "value")
            on_enter(search, lambda _: self._on_enter(search))
        narrow(self._search, offers)

    @property
    def word(self) -> str:
        """How many there are, and that what stands in the search is none of them."""
        waiting = self._search is not None and self._search.value.strip()
        said = [f"{clip(inert(waiting), 60)} is not added yet: press Enter there."] if waiting else []
        return " ".join([_counted(len(self._lines()), "list" if self.field.kind is Kind.LIST else "value"), *said])

    def _lines(self) -> list[Any]:
        text = self.box.value
        if self.field.kind is Kind.LIST:
            return [_each_items(line.strip()) for line in text.splitlines() if line.strip()]
        between = _BETWEEN_NUMBERS if self.field.kind in _UNAMBIGUOUS else _BETWEEN
        lines = [line.strip() for line in between.split(text)]
        return list(dict.fromkeys(value for line in lines if line for value in self._in(line)))

    def _in(self, line: str) -> list[Any]:
        """Give the listed value of a line; or several, where only what stands between its commas is listed."""
        for parts in ([line], _BETWEEN_LISTED.split(line)):
            values = [self.offers.value(part.strip()) for part in parts]
            if None not in values:
                return values
        return [typed(line)]

    def _follow(self, search: w.Combobox) -> None:
        if picked := self.offers.picked(search.value):
            self._add(search, picked)
        narrow(search, self.offers)

    def _on_enter(self, search: w.Combobox) -> None:
        if text := search.value.strip():
            value = self.offers.value(text)
            self._add(search, [typed(text) if value is None else value])

    def _add(self, search: w.Combobox, values: Sequence[Any]) -> None:
        search.value = ""
        lines = self._lines()
        new = [_line(value) for value in values if value not in lines]
        if new:
            self.box.value = "\n".join([*filter(None, [self.box.value.rstrip()]), *new])


_HOW = {
    Kind.LIST: "one list a line, with commas",
    Kind.DATE: "one a line, as 2024-01-31",
    Kind.INTEGER: "one a line, or with commas",
    Kind.NUMBER: "one a line, or with commas",
    Kind.JSON: "one a line, as JSON",
}
_HOW_ELSE = "one a line, or a pasted column"


def _values(value: Any) -> list[Any]:
    """Give the values as a control of them reads them: texts, variables, and lists of both."""
    return [_items(item) if _is_list(item) else _text(item) for item in several(value).values]


def _each_items(line: str) -> Any:
    """Read a list as people write one: ``Region, "a, b"``, also in brackets, or cells; a variable may be all of it."""
    if line.startswith("[") and line.endswith("]"):
        line = line[1:-1]
    try:
        cells = line.split("\t") if "\t" in line else next(csv.reader([line], skipinitialspace=True), [])
    except csv.Error:  # longer than any list
        cells = [line]
    items = [typed(cell.strip()) for cell in cells if cell.strip()]
    return items[0] if len(items) == 1 and isinstance(items[0], Variable) else items


def _line(value: Any) -> str:
    if isinstance(value, (str, Variable)):
        return spelled(value)
    return ", ".join(map(_in_line, map(spelled, value)))


def _in_line(text: str) -> str:
    return '"{}"'.format(text.replace('"', '""')) if _IN_QUOTES.search(text) else text


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}s." if number > 1 else ""

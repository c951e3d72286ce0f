"""Controls of several values, a run for each: picked from a few, or a line each in a text."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from jupyter_funcs.each import Each, several
from jupyter_funcs.fields import Kind
from jupyter_funcs.lists import LinesControl, PickControl
from jupyter_funcs.offers import Offers
from jupyter_funcs.text import clip, inert
from jupyter_funcs.variables import Variable, spelled, typed
from jupyter_funcs.widgets import NOT_SENT, lean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_funcs.fields import Field

# What a spreadsheet puts between cells; a comma may belong to a name, but to no date and to no number (SERVICE.md 3).
_BETWEEN = re.compile(r"[\r\n\t]+")
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
        values = _values(value)
        if values != self._lines():  # else as it was typed
            self.box.value = "\n".join(map(_line, values))

    def offer(self, offers: Offers) -> None:
        """Offer a search of these; whole lists are typed."""
        self.offers = offers
        if self.field.kind is Kind.LIST or not len(offers):
            return
        if self._search is None:
            self._search = lean(
                w.Combobox,
                *(f"jf-at-{self.at}", "jf-add"),
                description=f"Add to {clip(inert(self.field.label), 60)}",
                placeholder="type to search, Enter adds",
            )
            self._search.observe(lambda _: self._follow(), "value")
            self._search.on_msg(lambda _, message, __: self._on_message(message))
        self._narrow()

    @property
    def word(self) -> str:
        """How many there are, and that what stands in the search is none of them."""
        waiting = self._search is not None and self._search.value.strip()
        said = [f"{clip(inert(waiting), 60)} is not added yet: press Enter there."] if waiting else []
        return " ".join([_counted(len(self._lines()), "list" if self.field.kind is Kind.LIST else "value"), *said])

    def _lines(self) -> list[Any]:
        text = self.box.value
        if self.field.kind is Kind.LIST:
            return [_items(line.strip()) for line in text.splitlines() if line.strip()]
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

    def _follow(self) -> None:
        if self._search is not None and (picked := self.offers.picked(self._search.value)):
            self._add(picked)
        self._narrow()

    def _on_message(self, message: Any) -> None:
        if message.get("event") == "submit" and self._search is not None and (text := self._search.value.strip()):
            value = self.offers.value(text)
            self._add([typed(text) if value is None else value])

    def _add(self, values: Sequence[Any]) -> None:
        if self._search is not None:
            self._search.value = ""
        lines = self._lines()
        new = [_line(value) for value in values if value not in lines]
        if new:
            self.box.value = "\n".join([*filter(None, [self.box.value.rstrip()]), *new])

    def _narrow(self) -> None:
        if self._search is not None:
            page = tuple(self.offers.page(self._search.value))
            if self._search.options != page:
                self._search.options = page


_HOW = {
    Kind.LIST: "one list a line, with commas",
    Kind.DATE: "one a line, as 2024-01-31",
    Kind.INTEGER: "one a line, or with commas",
    Kind.NUMBER: "one a line, or with commas",
}
_HOW_ELSE = "one a line, or a pasted column"


def _values(value: Any) -> list[Any]:
    """Give the values as a control of them reads them: texts, variables, and lists of both."""
    found = several(value).values
    return [
        item
        if isinstance(item, (str, Variable))
        else [one if isinstance(one, (str, Variable)) else str(one) for one in item]
        if hasattr(item, "__iter__")
        else str(item)
        for item in found
    ]


def _items(line: str) -> Any:
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

"""Choices: the listed values of a field, found exactly, in another spelling, by likeness or by a search."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from bisect import bisect_left
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from jupyter_funcs.catalog.fields import Field, Kind
from jupyter_funcs.core.errors import ArgumentError, FuncsError, Messages
from jupyter_funcs.core.json_decoding import Values, as_list
from jupyter_funcs.core.text import folded, meant, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

_LINES = re.compile(r"[\r\n\t]+")
_NUMBERS = re.compile(r"[\s,;]+")
_COMMAS = re.compile("[,;]")
_DAY = re.compile(r"(?a)(\d{4})\D?(\d{1,2})\D?(\d{1,2})")
_YEAR_LAST = re.compile(r"(?a)(\d{1,2})\D(\d{1,2})\D(\d{4})")
_NUMERIC = {Kind.INTEGER, Kind.NUMBER}
_MOST = 3
# Among more values, only those with the same first letter are compared: 50,000 would take up to three seconds.
_MOST_COMPARED = 10_000


class Choice(NamedTuple):
    """A valid value of a field, and its label and group (empty if the listing has none)."""

    value: str
    label: str = ""
    group: str = ""


class Choices:
    """The listed values of a field; of a symbol such as ``BVQS US EQUITY``, only the ticker is compared."""

    def __init__(self, listed: Iterable[Choice] = (), kind: Kind = Kind.TEXT) -> None:
        self.listed = list(listed)
        self._has_tickers = kind is Kind.SYMBOL
        self._near: Messages = {}

    @classmethod
    def of(cls, values: Iterable[str]) -> Choices:
        """Return choices without labels."""
        return cls(map(Choice, values))

    def __len__(self) -> int:
        return len(self.listed)

    def __iter__(self) -> Iterator[Choice]:
        return iter(self.listed)

    @cached_property
    def values(self) -> dict[str, None]:
        return dict.fromkeys(choice.value for choice in self.listed)

    @cached_property
    def _spelt(self) -> dict[str, str]:
        """The values by how they are spelt without case; of two that differ in case only, the first."""
        spelt = {_caseless(choice.value): choice.value for choice in reversed(self.listed)}
        spelt.pop("", None)  # a tab is another value than a space
        return spelt

    @cached_property
    def _folded(self) -> dict[str, str]:
        """The values by their letters, and by those of their labels; of two, the first."""
        return {
            folded(text): choice.value
            for choice in reversed(self.listed)
            for text in (choice.label, choice.value)
            if folded(text)
        }

    @cached_property
    def _sorted(self) -> list[tuple[str, str]]:
        return sorted(self._spelt.items())

    @cached_property
    def _begun(self) -> set[str]:
        """The values without case, and their first words."""
        return {*self._spelt, *(spelt.partition(" ")[0] for spelt in self._spelt)}

    def spelt(self, text: str) -> str | None:
        """Return the value that a text is: exactly, or else in any case."""
        return text if text in self.values else self._spelt.get(_caseless(text))

    def begun(self, text: str) -> str | None:
        """Return the only value that a text is in any case, or begins up to a space, as a ticker does."""
        begin = _caseless(text)
        at = bisect_left(self._sorted, (begin,))
        alike = [
            value
            for spelt, value in self._sorted[at : at + 2]
            if f"{spelt} ".startswith(f"{begin} ")
        ]
        return alike[0] if len(alike) == 1 else None

    def meant(self, text: str) -> str | None:
        """Return the value that a pasted text means: itself in any spelling, by its label, or by its ticker."""
        return self._folded.get(folded(text)) or (self.begun(text) if self._has_tickers else None)

    def unknown(self, texts: Iterable[str]) -> list[str]:
        """Return the texts that are no value in any case, nor the first word of one."""
        return [text for text in texts if _caseless(text) not in self._begun]

    def nearest(self, text: str) -> list[str]:
        """Return up to three values that look like one that isn't listed, or whose label does; best first."""
        if text not in self._near:
            self._near[text] = self._alike(text)[:_MOST]
        return self._near[text]

    def _alike(self, text: str) -> list[str]:
        compared = self.listed
        if len(compared) > _MOST_COMPARED:
            first = text[:1].casefold()
            compared = [choice for choice in compared if choice.value[:1].casefold() == first]
        alike = [choice.value for choice in compared if folded(choice.value) == folded(text)]
        tickers = [self._ticker(choice.value) for choice in compared]
        if alike or folded(text) in map(folded, tickers):
            return [] if text in alike else alike
        labels = [choice.label for choice in compared]
        for wanted, spellings in ((self._ticker(text), tickers), (text, labels)):
            if close := nearest(wanted, spellings):
                pairs = list(zip(spellings, compared, strict=True))
                return [
                    choice.value for near in close for spelling, choice in pairs if spelling == near
                ]
        return []

    def _ticker(self, value: str) -> str:
        return value.partition(" ")[0] if self._has_tickers else value

    def search(self, query: str) -> Sequence[Choice]:
        """Return the choices that match all words; first those whose value begins with them, then label."""
        wanted = query.strip().casefold()
        if not wanted:
            return self.listed
        ranked: list[list[Choice]] = [[], [], [], []]
        for choice in self.listed:
            value, label, group = map(str.casefold, choice)
            every = f"{value} {label} {group}"
            begins = [
                value.startswith(wanted),
                label.startswith(wanted),
                f" {wanted}" in label,
                True,
            ]
            if all(word in every for word in wanted.split()):
                ranked[begins.index(True)].append(choice)
        return list(chain.from_iterable(ranked))

    def pasted(self, text: str, kind: Kind) -> tuple[list[str], list[str]]:
        """Return the values of a pasted column, row or list, and what is not among the choices."""
        pasted = []
        lines = _parts(text, _NUMBERS if kind in {*_NUMERIC, Kind.DATE} else _LINES)
        for line in lines:
            # A comma may belong to a name, such as 'Acme, Inc.'.
            parts = _parts(line, _COMMAS)
            is_split = self.meant(line) is None and (len(lines) == 1 or all(map(self.meant, parts)))
            pasted += parts if is_split else [line]
        unknown = [part for part in pasted if self.listed and self.meant(part) is None]
        return [self.meant(part) or part for part in pasted], unknown


def _parts(text: str, between: re.Pattern[str]) -> list[str]:
    return [part.strip() for part in between.split(text) if part.strip()]


def _caseless(text: str) -> str:
    return " ".join(text.split()).casefold()


def fixed(field: Field, text: str) -> str:
    """Return the valid value nearest to a wrong one: an option, a day of that month, or a bound; empty if none is."""
    if field.options:
        return "".join(nearest(text, field.options, 1))
    if field.kind is Kind.DATE:
        year, month, day = _day(text.strip())
        if not (year >= 1 and 1 <= month <= 12 and 1 <= day <= 31):
            return ""
        return dt.date(year, month, min(day, calendar.monthrange(year, month)[1])).isoformat()
    return _nearest_number(field, text)


def _nearest_number(field: Field, text: str) -> str:
    try:
        number = float(text) if field.kind in _NUMERIC else float("nan")
    except ValueError:
        return ""
    low, high = field.minimum, field.maximum
    if low is not None and number < low:
        return str(low)
    if high is not None and number > high:
        return str(high)
    return str(round(number)) if field.kind is Kind.INTEGER and abs(number) < 2**53 else ""


def _day(text: str) -> tuple[int, int, int]:
    """Return the year, month and day that a text means; zeros if it could mean two days, or none."""
    if parts := _DAY.fullmatch(text):
        return int(parts[1]), int(parts[2]), int(parts[3])
    parts = _YEAR_LAST.fullmatch(text)
    low, high = sorted([int(parts[1]), int(parts[2])]) if parts else (0, 0)
    if parts and (low == high or high > 12):  # 31/12/2024 or 12/31/2024, but not 3/4/2024
        return int(parts[3]), low, high
    return 0, 0, 0


def texts_in(value: Any) -> list[str]:
    """Return the texts in an argument: itself, or items of a list."""
    return [item for item in as_list(value) if isinstance(item, str)]


def refused(refusal: FuncsError, field: Field, args: Values) -> list[str]:
    """Return the texts of a field that a refusal is about."""
    is_named = isinstance(refusal, ArgumentError) and field.name in refusal.errors
    return [text for text in texts_in(args.get(field.name)) if is_named or text in refusal.what]


def suggest(
    refusal: FuncsError,
    fields: Iterable[Field],
    args: Values,
    known: Callable[[Field], Choices],
) -> None:
    """Add suggestions to a refusal that concerns a value that isn't listed."""
    errors = refusal.errors if isinstance(refusal, ArgumentError) else {}
    hints = []
    for field in fields:
        for value in refused(refusal, field, args) if field.source else ():
            near = known(field).nearest(value)
            if near and near[0] not in refusal.what:
                hints.append(meant(near))
                if field.name in errors:
                    errors[field.name][-1] += f" {hints[-1]}"
    refusal.hint = " ".join([*hints[:_MOST], refusal.hint]).strip()

"""Choices: the listed values of a field, found exactly, by likeness or by a search, and how they are listed."""

from __future__ import annotations

import asyncio
import calendar
import datetime as dt
import math
import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from jupyter_funcs.catalog.fields import NUMERIC, Field, Kind, listing_args
from jupyter_funcs.core import background
from jupyter_funcs.core.errors import ArgumentError, FuncsError, Messages
from jupyter_funcs.core.json_decoding import Values, texts_in
from jupyter_funcs.core.text import (
    clip,
    folded,
    inert,
    listed,
    meant,
    nearest,
    plural,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Future

    Args = dict[str, Any]

_LINES = re.compile(r"[\r\n\t]+")
_NUMBERS = re.compile(r"[\s,;]+")
_COMMAS = re.compile("[,;]")
_DAY = re.compile(r"(?a)(\d{4})\D?(\d{1,2})\D?(\d{1,2})")
_YEAR_LAST = re.compile(r"(?a)(\d{1,2})\D(\d{1,2})\D(\d{4})")
_MOST = 3
# Among more values, only those with the same first letter are compared: 50,000 would take up to three seconds.
_MOST_COMPARED = 10_000
PAGE = 200  # options in one reply
_FIRST = 50  # options of a longer list: it is searched
# After so many seconds, the user is told to type the value instead.
_SLOW = 3.0
_NOUNS = {Kind.SYMBOL: "symbols", Kind.PANEL: "panels"}
# Controls of other kinds have no room for listed values, or show those of the description.
_LISTED = {Kind.SYMBOL, Kind.PANEL, Kind.TEXT, Kind.LIST}


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
        spelt = {
            _caseless(choice.value): choice.value for choice in reversed(self.listed)
        }
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
        if text in self.values:
            return text
        return self._spelt.get(_caseless(text))

    def begun(self, text: str) -> str | None:
        """Return the only value that a text is in any case, or begins up to a space, as a ticker does."""
        begin = _caseless(text)
        at = bisect_left(self._sorted, (begin,))
        alike = [
            value
            for spelt, value in self._sorted[at : at + 2]
            if f"{spelt} ".startswith(f"{begin} ")
        ]
        if len(alike) == 1:
            return alike[0]
        return None

    def meant(self, text: str) -> str | None:
        """Return the value that a pasted text means: itself in any spelling, by its label, or by its ticker."""
        value = self._folded.get(folded(text))
        if self._has_tickers:
            return value or self.begun(text)
        return value

    def unknown(self, texts: Iterable[str]) -> list[str]:
        """Return the texts that are no value in any case, nor the first word of one."""
        return [text for text in texts if _caseless(text) not in self._begun]

    def nearest(self, text: str) -> list[str]:
        """Return up to three values that look like one that isn't listed, or whose label does; best first."""
        if text in self.values:
            return []
        if text not in self._near:
            self._near[text] = self._alike(text)[:_MOST]
        return self._near[text]

    def _compared(self, text: str) -> list[Choice]:
        if len(self.listed) <= _MOST_COMPARED:
            return self.listed
        first = text[:1].casefold()
        return [
            choice for choice in self.listed if choice.value[:1].casefold() == first
        ]

    def _alike(self, text: str) -> list[str]:
        compared = self._compared(text)
        alike = [
            choice.value for choice in compared if folded(choice.value) == folded(text)
        ]
        tickers = [self._ticker(choice.value) for choice in compared]
        if alike or folded(text) in map(folded, tickers):
            return alike
        labels = [choice.label for choice in compared]
        for wanted, spellings in ((self._ticker(text), tickers), (text, labels)):
            if close := nearest(wanted, spellings):
                pairs = [*zip(spellings, compared, strict=True)]
                return [
                    choice.value
                    for near in close
                    for spelling, choice in pairs
                    if spelling == near
                ]

        return []

    def _ticker(self, value: str) -> str:
        if self._has_tickers:
            return value.partition(" ")[0]
        return value

    def search(self, query: str) -> Sequence[Choice]:
        """Return the choices that match all words; first those whose value begins with them, then label."""
        wanted = query.strip().casefold()
        words = wanted.split()
        if not words:
            return self.listed

        def place(choice: Choice) -> int:
            value, label, _ = map(str.casefold, choice)
            begins = (
                value.startswith(wanted),
                label.startswith(wanted),
                f" {wanted}" in label,
                True,
            )
            return begins.index(True)

        def is_hit(choice: Choice) -> bool:
            text = " ".join(choice).casefold()
            return all(word in text for word in words)

        return sorted(filter(is_hit, self.listed), key=place)

    def pasted(self, text: str, kind: Kind) -> tuple[list[str], list[str]]:
        """Return the values of a pasted column, row or list, and what is not among the choices."""
        pasted = []
        between = _LINES
        if kind in {*NUMERIC, Kind.DATE}:
            between = _NUMBERS
        lines = _parts(text, between)
        for line in lines:
            parts = [line]
            # A comma may belong to a name, such as 'Acme, Inc.'.
            if self.meant(line) is None:
                parts = _parts(line, _COMMAS)
            if len(lines) > 1 and not all(map(self.meant, parts)):
                parts = [line]
            pasted += parts

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
        return dt.date(
            year, month, min(day, calendar.monthrange(year, month)[1])
        ).isoformat()

    return _nearest_number(field, text)


def _nearest_number(field: Field, text: str) -> str:
    if field.kind not in NUMERIC:
        return ""
    try:
        number = float(text)
    except ValueError:
        return ""

    if math.isnan(number):
        return ""
    bound = field.bound_beyond(number)
    if bound is not None:
        return str(bound)
    if field.kind is Kind.INTEGER and abs(number) < 2**53:
        return str(round(number))
    return ""


def _day(text: str) -> tuple[int, int, int]:
    """Return the year, month and day that a text means; zeros if it could mean two days, or none."""
    if parts := _DAY.fullmatch(text):
        return int(parts[1]), int(parts[2]), int(parts[3])
    if parts := _YEAR_LAST.fullmatch(text):
        low, high = sorted([int(parts[1]), int(parts[2])])
        if low == high or high > 12:  # 31/12/2024 or 12/31/2024, but not 3/4/2024
            return int(parts[3]), low, high

    return 0, 0, 0


def refused(refusal: FuncsError, field: Field, args: Values) -> list[str]:
    """Return the texts of a field that a refusal is about."""
    is_named = isinstance(refusal, ArgumentError) and field.name in refusal.errors
    return [
        text
        for text in texts_in(args.get(field.name))
        if is_named or text in refusal.what
    ]


def suggest(
    refusal: FuncsError,
    fields: Iterable[Field],
    args: Values,
    choices: Callable[[Field], Choices],
) -> None:
    """Add suggestions to a refusal that concerns a value that isn't listed."""
    hints = []
    for field in fields:
        if not field.source:
            continue
        for value in refused(refusal, field, args):
            near = choices(field).nearest(value)
            if near and near[0] not in refusal.what:
                hints.append(meant(near))
                if isinstance(refusal, ArgumentError) and field.name in refusal.errors:
                    refusal.errors[field.name][-1] += f" {hints[-1]}"

    refusal.hint = " ".join([*hints[:_MOST], refusal.hint]).strip()


class Lister(Protocol):
    """A function whose fields take values that others list; `client.function` has it."""

    session: Any

    def known_choices(self, field: Field, args: Args) -> Choices: ...

    async def choices(
        self, field: Field, args: Args, *, again: bool = False
    ) -> tuple[Choices, Sequence[str]]: ...

    def listed_at(self, field: Field, args: Args) -> float | None: ...


@dataclass(eq=False)
class FieldSource:
    """The options of a field: its own, or those of its listing function."""

    field: Field
    function: Lister
    form: Any  # a `Form`, whose module imports this one
    on_news: Callable[[FieldSource], None]
    at: float | None = None  # when the values were listed
    asking: bool = False
    is_slow: bool = False
    trouble: str = ""
    missing: Sequence[str] = ()
    gone: frozenset[str] = frozenset()  # listed before, and no longer
    _listed: frozenset[str] = frozenset()
    _future: Future[None] | None = None

    def __post_init__(self) -> None:
        field = self.field
        source = field.source or ""
        self._listing: Sequence[Field] = ()
        self.is_listed = False
        if field.kind in _LISTED and not field.options:
            lister = self.function.session.catalog.peek(source)
            self.is_listed = bool(lister and not lister.changes_data)

        if self.is_listed:
            self._listing = self.function.session[source].fields
        self.choices = Choices.of(field.options)

        needed = {folded(name) for name in self._missing({})} - {folded(field.name)}
        self.needs = [
            other.name for other in self.form.fields if folded(other.name) in needed
        ]

    def _missing(self, args: Args) -> list[str]:
        return listing_args(self.field, self._listing, args)[1]

    def nearest(self, value: str) -> str:
        """Return the choice most similar to a value, or without choices a valid spelling of it; empty if none."""
        if self.choices:
            return next(iter(self.choices.nearest(value)), "")
        return fixed(self.field, value)

    def page(
        self, query: str = "", start: int | None = None, *, grouped: bool = False
    ) -> dict[str, Any]:
        """Return a page of options that match a search, by default the first ones: the `OptionPage` of the protocol."""
        choices = self.choices.search(query)
        groups = Counter(choice.group for choice in choices)
        if not 1 < len(groups) <= PAGE:
            groups.clear()
        elif grouped:
            place = {name: at for at, name in enumerate(groups)}
            choices = sorted(choices, key=lambda choice: place[choice.group])

        most = PAGE
        if start is None and len(choices) > PAGE:
            most = _FIRST
        first = start or 0
        shown = choices[first : first + most]
        return {
            "options": [
                choice._asdict() | {"label": clip(choice.label)} for choice in shown
            ],
            "total": len(choices),
            "groups": list(groups.items()),
            "note": self._note(),
            "at": self.at,
            "again": self.can_ask,
            "asking": self.asking,
        }

    def ask(self, *, again: bool = False, after: float = 0.0) -> None:
        """Take the values if they are known, or request them after so many seconds; the latest request wins."""
        self.stop()
        args = self.form.first
        missing = self._missing(args)
        choices = Choices()
        if not again:
            choices = self.function.known_choices(self.field, args)
        if choices or missing:
            self._take(args, choices, missing)
            return

        self.asking = True
        self.is_slow = False
        self.trouble = ""
        self._future = background.start(self._ask(again=again, after=after))

    def stop(self) -> None:
        if self._future:
            self._future.cancel()
            self._future = None

    async def _ask(self, *, again: bool, after: float) -> None:
        await asyncio.sleep(after)
        slow = asyncio.get_running_loop().call_later(_SLOW, self._grow_slow)
        args = self.form.first
        try:
            self._take(
                args, *await self.function.choices(self.field, args, again=again)
            )
        except Exception as error:  # noqa: BLE001  # nobody sees an exception on the loop
            trouble = f"{type(error).__name__}: {error}"
            if isinstance(error, FuncsError):
                trouble = error.what
            self._take(args, Choices(), (), trouble)
        finally:
            slow.cancel()

    def _take(
        self,
        args: Args,
        choices: Choices,
        missing: Sequence[str],
        trouble: str = "",
    ) -> None:
        self.choices = choices
        self.missing = missing
        self.trouble = trouble
        self.at = None
        if not (missing or trouble):
            self.at = self.function.listed_at(self.field, args)
            values = frozenset(choices.values)
            self.gone = self._listed - values
            self._listed = values

        self.asking = False  # last: other threads look at the rest once it is
        self.on_news(self)

    def _grow_slow(self) -> None:
        self.is_slow = True
        self.on_news(self)

    @property
    def known(self) -> bool:
        return self.at is not None and not self.asking

    @property
    def can_ask(self) -> bool:
        """Whether the values can be listed now."""
        return self.is_listed and not (self.asking or self.missing)

    def unlisted(self, values: Iterable[str]) -> list[str]:
        """Return the values that aren't listed; a ticker alone counts as its symbol."""
        if self.known and self.choices:
            return self.choices.unknown(values)
        return []

    def _note(self) -> str:
        if not self.is_listed:
            if self.choices and not self.field.is_declared("options"):
                return "Read from the description"
            return ""

        noun = _NOUNS.get(self.field.kind, "values")
        if self.asking:
            note = f"Listing {noun}…"
            if self.is_slow:
                note = f"Still listing {noun}… They can be typed."
            return note

        if self.trouble:
            return f"The {noun} could not be listed: {clip(inert(self.trouble)).rstrip('.')}"
        if self.missing:
            labels = {
                folded(field.name): inert(field.label) for field in self.form.fields
            }
            missing = [labels.get(folded(name), inert(name)) for name in self.missing]
            return f"Fill in {listed(missing, 'and')} to see the {noun}."

        return f"{plural(len(self.choices), noun[:-1])} from {clip(inert(self.field.source or ''), 60)}"

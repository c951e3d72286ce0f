"""Suggestions: search the listed values of a field, and find those near to a misspelt one."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from typing import TYPE_CHECKING, NamedTuple

from jupyter_funcs.catalog.fields import Field, Kind
from jupyter_funcs.core.errors import ArgumentError, FuncsError
from jupyter_funcs.core.text import folded, meant, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


class Choice(NamedTuple):
    """A valid value of a field, and its label and group (empty if the listing has none)."""

    value: str
    label: str = ""
    group: str = ""


_LINES = re.compile(r"[\r\n\t]+")
_NUMBERS = re.compile(r"[\s,;]+")
_DAY = re.compile(r"(?a)(\d{4})\D?(\d{1,2})\D?(\d{1,2})")
_YEAR_LAST = re.compile(r"(?a)(\d{1,2})\D(\d{1,2})\D(\d{4})")
_NUMERIC = {Kind.INTEGER, Kind.NUMBER}


def search(choices: Sequence[Choice], query: str) -> Sequence[Choice]:
    """Return the choices that match all words; first those whose value begins with them, then label."""
    wanted = query.strip().casefold()
    words = wanted.split()

    def rank(choice: Choice) -> int:
        value, label = choice.value.casefold(), choice.label.casefold()
        places = [value.startswith(wanted), label.startswith(wanted), f" {wanted}" in f" {label}"]
        every = f"{value} {label} {choice.group.casefold()}"
        return places.index(True) if True in places else 3 if all(word in every for word in words) else 4

    ranked = sorted((rank(choice), at) for at, choice in enumerate(choices)) if wanted else []
    return [choices[at] for place, at in ranked if place < 4] if wanted else choices


def pasted(field: Field, text: str, choices: Sequence[Choice]) -> tuple[list[str], list[str]]:
    """Return the values of a pasted column, row or list, and what is not among the choices."""
    known: dict[str, str] = {}
    tickers: dict[str, set[str]] = {}
    for choice in choices:
        tickers.setdefault(choice.value.partition(" ")[0].casefold(), set()).add(choice.value)
        for spelling in (choice.value, choice.label):
            known.setdefault(folded(spelling), choice.value)
    known.pop("", None)

    def value_of(part: str) -> str | None:
        at = tickers.get(part.casefold(), set()) if field.kind is Kind.SYMBOL else set()
        return known.get(folded(part)) or (next(iter(at)) if len(at) == 1 else None)

    values: list[str] = []
    unknown: list[str] = []
    between = _NUMBERS if field.kind in {*_NUMERIC, Kind.DATE} else _LINES
    lines = [part.strip() for part in between.split(text) if part.strip()]
    for line in lines:
        # A comma may belong to a name, such as 'Acme, Inc.'.
        parts = [part.strip() for part in re.split("[,;]", line) if part.strip()]
        split = value_of(line) is None and (len(lines) == 1 or all(map(value_of, parts)))
        for part in parts if split else [line]:
            found = value_of(part)
            values.append(found or part)
            unknown += [part] if known and found is None else []
    return values, unknown


def fixed(field: Field, text: str) -> str:
    """Return the valid value nearest to a wrong one: an option, a day of that month, or a bound; empty if none is."""
    if field.options:
        return "".join(nearest(text, field.options, 1))
    if field.kind is Kind.DATE:
        year, month, day = _day(text.strip())
        if not (year >= 1 and 1 <= month <= 12 and 1 <= day <= 31):
            return ""
        return dt.date(year, month, min(day, calendar.monthrange(year, month)[1])).isoformat()
    try:
        number = float(text) if field.kind in _NUMERIC else float("nan")
    except ValueError:
        return ""
    low, high = field.minimum, field.maximum
    near = low if low is not None and number < low else high if high is not None and number > high else None
    near = round(number) if near is None and field.kind is Kind.INTEGER and abs(number) < 2**53 else near
    return "" if near is None else str(near)


def _day(text: str) -> tuple[int, int, int]:
    """Return the year, month and day that a text means; zeros if it could mean two days, or none."""
    if found := _DAY.fullmatch(text):
        year, month, day = map(int, found.groups())
        return year, month, day
    one, other, year = map(int, found.groups()) if (found := _YEAR_LAST.fullmatch(text)) else (0, 0, 0)
    if one == other or max(one, other) > 12:  # 31/12/2024 or 12/31/2024, but not 3/4/2024
        return year, min(one, other), max(one, other)
    return 0, 0, 0


_MOST = 3
# Among more values, only those with the same first letter are compared: 50,000 would take up to three seconds.
_MOST_COMPARED = 10_000


def refused(refusal: FuncsError, field: Field, args: Mapping[str, str | list[str]]) -> list[str]:
    """Return the values of a field that a refusal is about."""
    sent = args.get(field.name, [])
    is_named = isinstance(refusal, ArgumentError) and field.name in refusal.errors
    return [value for value in ([sent] if isinstance(sent, str) else sent) if is_named or value in refusal.what]


def suggest(
    refusal: FuncsError,
    fields: Iterable[Field],
    args: Mapping[str, str | list[str]],
    known: Callable[[Field], Sequence[Choice]],
) -> None:
    """Add suggestions to a refusal that concerns a value that isn't listed."""
    errors = refusal.errors if isinstance(refusal, ArgumentError) else {}
    hints = []
    for field in fields:
        for value in refused(refusal, field, args) if field.source else ():
            near = nearest_listed(field, value, known(field))
            if near and near[0] not in refusal.what:
                hints.append(meant(near))
                if field.name in errors:
                    errors[field.name][-1:] = [f"{errors[field.name][-1]} {hints[-1]}"]
    refusal.hint = " ".join([*hints[:_MOST], refusal.hint]).strip()


def nearest_listed(field: Field, value: str, choices: Sequence[Choice]) -> list[str]:
    """Return up to three listed values that look like an unlisted one, or whose label does."""

    def spelling(text: str) -> str:
        # Only the tickers differ: <ticker> <region> EQUITY.
        return text.partition(" ")[0] if field.kind is Kind.SYMBOL else text

    if len(choices) > _MOST_COMPARED:
        first = value[:1].casefold()
        choices = [choice for choice in choices if choice.value[:1].casefold() == first]
    by_value = [(spelling(choice.value), choice.value) for choice in choices]
    by_label = [(choice.label, choice.value) for choice in choices]
    alike = [text for _, text in by_value if folded(text) == folded(value)]
    if alike or folded(value) in {folded(text) for text, _ in by_value}:
        return [] if value in alike else alike[:_MOST]
    for wanted, texts in ((spelling(value), by_value), (value, by_label)):
        if close := nearest(wanted, (text for text, _ in texts)):
            return [choice for one in close for text, choice in texts if text == one][:_MOST]
    return []

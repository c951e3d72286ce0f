"""
Param -> Field: what a parameter wants, read from its type code, its description and its name.

The service says little in codes and much in prose (SERVICE.md 1 and 2); `wording` reads the prose. What is not
understood falls back to a text field, which always works.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from jupyter_funcs import wording
from jupyter_funcs.catalog import identifiers
from jupyter_funcs.text import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from jupyter_funcs.catalog import Function, Param


class Kind(StrEnum):
    """What a field holds, and so which control shows it."""

    CHOICE = "choice"
    YES_NO = "yes/no"
    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "text"
    LIST = "list"
    DATE = "date"
    SYMBOL = "symbol"
    PANEL = "panel"


@dataclass(frozen=True, slots=True)
class Rule:
    """At least one of `names` is needed; `text` is the sentence of the description that says so."""

    names: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Field:
    """
    One field of a form: all that the form, the callable, the magic and the JSON Schema know of a parameter.

    Attributes
    ----------
    name
        The parameter's wire name.
    identifier
        Its name in Python; differs from `name` only where `name` is no identifier.
    kind
        What it holds.
    label, help
        What a person reads: the name in words; the description without its ``[Required]``/``[Optional]`` marker.
    required
        Whether a run without it is refused. A field with a `rule` is required by its rule only.
    default
        What the service takes when nothing is sent, as the description names it; ``None`` where it names none.
    options
        The valid values that the description lists, in its spelling.
    source
        The name of the function that lists the valid values.
    rule
        The at-least-one rule that it takes part in.
    minimum, maximum
        The bounds of a number, both inclusive.
    not_before
        The name of the date field that this date must not precede.
    """

    name: str
    identifier: str
    kind: Kind
    label: str
    help: str
    required: bool = False
    default: str | None = None
    options: tuple[str, ...] = ()
    source: str | None = None
    rule: Rule | None = None
    minimum: int | None = None
    maximum: int | None = None
    not_before: str | None = None

    @property
    def brief(self) -> str:
        """The help without the sentences that a control says: options, default, source, bounds, a day's format."""
        shown = (bool(self.options), self.default is not None, self.source is not None, self.kind is Kind.DATE)
        return wording.without(self.help, *shown)


# Type codes by use (SERVICE.md 2); every other code, and 0, is read from the description and the name.
KINDS_BY_CODE = {1: Kind.INTEGER, 4: Kind.LIST, 6: Kind.SYMBOL, 8: Kind.PANEL}
TEXT_CODE = 0

# The function that lists the values of a kind when the description names none.
SOURCES_BY_KIND = {Kind.SYMBOL: "Get Universe", Kind.PANEL: "Get Panels"}

# One row a kind, for the codes whose meaning is not given: by the name, or by the words of the description.
# Names are compared as words joined by underscores, in small letters: StartDate is start_date.
_KINDS_BY_NAME = (
    (Kind.SYMBOL, re.compile(r"symbol|ticker")),
    (Kind.PANEL, re.compile(r"panel(?:_?name)?")),
    # PeriodToDate is a flag, YearToDate too
    (Kind.TEXT, re.compile(r".*(?:year|quarter|month|week|period|season|life|[qmyw])_to_date")),
    (Kind.DATE, re.compile(r"(?:.*_)?(?:start|end|from|to|begin|as_?of)?date")),
    (Kind.DATE, re.compile(r"(?:.*_)?(?:time|date)_?(?:after|before|since|until|from|to|start|end)")),
)
_KINDS_BY_WORDS = (
    # A date in another format is sent as it is written.
    (
        Kind.TEXT,
        re.compile(
            rf"\bYYYY-MM-DD[{wording.QUOTES}T ]*HH|\bYYYY[/.]?MM|\bYYYY-MM(?!-DD)|\b(?:DD|MM)[/. -]?(?:MM|DD)[/. -]?YY",
            re.IGNORECASE,
        ),
    ),
    (
        Kind.DATE,
        re.compile(
            r"\bYYYY-MM-DD\b|\bdate in ISO(?:[- ]8601)? format\b|\bISO(?:[- ]8601)? date\b(?! ?time)", re.IGNORECASE
        ),
    ),
    # What is separated by commas is one text.
    (
        Kind.LIST,
        re.compile(
            r"(?<!separated )(?<!delimited )\b(?:list|array) of (?!(?:available|valid|all|the) )|\bone or more of\b",
            re.IGNORECASE,
        ),
    ),
    (
        Kind.INTEGER,
        re.compile(
            r"\b(?:integer|whole number)\b"
            r"|(?:^|[.;:(,]\s?|\b(?:the|a|maximum|minimum|max|min|total)\s)(?:number|count) of \w+",
            re.IGNORECASE,
        ),
    ),
    (
        Kind.NUMBER,
        re.compile(
            r"\ban? (?:number|decimal|float|fraction|percentage)\b(?! of\b)|(?<![\w-])numeric(?! (?:code|id))\b",
            re.IGNORECASE,
        ),
    ),
)

_FIRST_OF = (("start", "end"), ("from", "to"), ("after", "before"), ("since", "until"), ("begin", "end"))
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z]{2})|_+")


def by_name(fields: Iterable[Field]) -> dict[str, Field]:
    """Give fields by wire name; of a repeated name one value goes over the wire, and the first field reads it."""
    named: dict[str, Field] = {}
    for field in fields:
        named.setdefault(field.name, field)
    return named


def read_fields(function: Function) -> tuple[Field, ...]:
    """Give the fields of a function: one a parameter, in the order of its parameters."""
    names = [param.name for param in function.params]
    python_names = identifiers(names)
    return tuple(_read(param, python_names[at], names) for at, param in enumerate(function.params))


def unknown_codes(functions: Iterable[Function]) -> list[int]:
    """Give the type codes in a catalog whose meaning is not known, each once, in order."""
    codes = {param.type for function in functions for param in function.params}
    return sorted(codes - KINDS_BY_CODE.keys() - {TEXT_CODE})


def listing_args(field: Field, listing: Sequence[Field], values: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """
    Give the arguments with which a listing function lists the values of a field.

    A required argument whose options hold the field's own name takes that option (Brand asks Get Panel Dimensions
    for Dimensions=['Brand']); any other comes from the same-named value of the form (SERVICE.md 2).

    Parameters
    ----------
    field
        The field whose values are listed.
    listing
        The fields of the listing function.
    values
        The form's arguments by wire name, as they would be sent.

    Returns
    -------
    args : dict
        The listing function's arguments.
    missing : list of str
        The names of the fields that must be filled first; empty when the listing function can run.
    """
    by_name = {folded(name): value for name, value in values.items()}
    args: dict[str, Any] = {}
    missing = []
    for wanted in listing:
        if not wanted.required:
            continue
        own = [option for option in wanted.options if folded(option) == folded(field.name)]
        if own:
            args[wanted.name] = own if wanted.kind is Kind.LIST else own[0]
        elif folded(wanted.name) in by_name:
            args[wanted.name] = by_name[folded(wanted.name)]
        else:
            missing.append(wanted.name)
    return args, missing


def _read(param: Param, identifier: str, names: Sequence[str]) -> Field:
    marked, text = wording.read_marker(param.description)
    options = wording.read_options(text)
    default = wording.read_default(text, options)
    if not options and param.type not in KINDS_BY_CODE:
        options = wording.read_flag(text, default)
    kind = _kind(param, text, options)
    sentence = wording.read_rule(param.name, text, names)
    rule = Rule(*sentence) if sentence else None
    # `required` wins over the marker, which speaks only where the listing leaves `required` out (SERVICE.md 3).
    says = param.required if "required" in param.model_fields_set else marked
    is_number = kind in {Kind.INTEGER, Kind.NUMBER}
    low, high = wording.read_bounds(text, whole=kind is Kind.INTEGER) if is_number else (None, None)
    return Field(
        name=param.name,
        identifier=identifier,
        kind=kind,
        label=_label(param.name),
        help=text,
        required=says and rule is None,
        default=default,
        options=options,
        source=wording.read_source(text) or SOURCES_BY_KIND.get(kind),
        rule=rule,
        minimum=low,
        maximum=high,
        not_before=_first_date(param.name, names) if kind is Kind.DATE else None,
    )


def _kind(param: Param, text: str, options: tuple[str, ...]) -> Kind:
    if known := KINDS_BY_CODE.get(param.type):
        return known
    if wording.is_yes_no(options):
        return Kind.YES_NO
    # "… to get list of panels" speaks of the listing function.
    said = wording.without_source(text)
    for kind, pattern in _KINDS_BY_WORDS:
        # Options that a list or a date names are still those of a list or a date.
        if not (options and kind in {Kind.TEXT, Kind.INTEGER, Kind.NUMBER}) and pattern.search(said):
            return kind
    if options:
        return Kind.CHOICE
    name = "_".join(_words(param.name)).casefold()
    return next((kind for kind, pattern in _KINDS_BY_NAME if pattern.fullmatch(name)), Kind.TEXT)


def _words(name: str) -> list[str]:
    return [word for word in _WORDS.split(name) if word]


def _first_date(name: str, names: Sequence[str]) -> str | None:
    spelt = {folded(other): other for other in names}
    words = [word.casefold() for word in _words(name)]
    for first, last in _FIRST_OF:
        if last in words:
            twin = folded("".join(first if word == last else word for word in words))
            if twin in spelt:
                return spelt[twin]
    return None


def _label(name: str) -> str:
    words = " ".join(_words(name))
    return words[:1].upper() + words[1:] or name

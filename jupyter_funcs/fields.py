"""
Param -> Field: what a parameter wants, read from its type code, its description and its name.

The service says little in codes and much in prose (SERVICE.md 1 and 2). Each wording that is understood is one row of
a table below; what is not understood falls back to a text field, which always works.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

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
        """The help without the sentences that a control says by itself: options, default, listing function, bounds."""
        said = [
            (bool(self.options), _SAYS_OPTIONS),
            (self.default is not None, _SAYS_DEFAULT),
            (self.source is not None, _SAYS_SOURCE),
        ]
        sentences = _SENTENCE_END.split(self.help)
        return " ".join(one for one in sentences if not any(shown and says.match(one) for shown, says in said))


# Type codes by use (SERVICE.md 2); every other code, and 0, is read from the description and the name.
KINDS_BY_CODE = {1: Kind.INTEGER, 4: Kind.LIST, 6: Kind.SYMBOL, 8: Kind.PANEL}
TEXT_CODE = 0

# The function that lists the values of a kind when the description names none.
SOURCES_BY_KIND = {Kind.SYMBOL: "Get Universe", Kind.PANEL: "Get Panels"}

# An opening quote follows no word character and a closing one precedes none: between two it is an apostrophe.
_Q = "'\"‘’“”`"
_QUOTED = rf"(?<!\w)[{_Q}]((?:[^{_Q}]|(?<=\w)[{_Q}](?=\w))+)[{_Q}](?!\w)"
_AND = r"\s*(?:,|/|;|\||\bor\b|\band\b)\s*(?:or\b|and\b)?\s*"
_QUOTED_LIST = re.compile(rf"{_QUOTED}(?:{_AND}{_QUOTED})+", re.IGNORECASE)
_QUOTED_WORD = re.compile(_QUOTED)
_SEPARATOR = re.compile(r",|/|\bor\b|\band\b")

_MARKER = re.compile(r"^\s*\[\s*(?P<word>required|optional)\s*\]\s*[:.,-]?\s*", re.IGNORECASE)

# Quoted lists are options, wherever they stand ("Options are 'Age Group', 'Region'", "'Yes'/'No'"), but for these.
_NOT_OPTIONS = re.compile(
    r"(?:\bfunctions?|\be\.g\.|\bi\.e\.|\bexamples?|\bfor instance|\bsuch as|\blike)[\s:,(]*$", re.IGNORECASE
)
_BARE_OPTIONS = (
    # one of day, week, month, quarter; Options are Daily, Weekly
    re.compile(
        r"\b(?:(?:options|values|choices)(?: are| is|:)+|one of:?)\s*"
        r"(\w[\w %+-]*(?:(?:,| or | and |/)\s*(?:or |and )?\w[\w %+-]*)+)(?=[.;)\n]|$)",
        re.IGNORECASE,
    ),
    # Yes/No, yes or no
    re.compile(r"\b((?:yes\s*(?:/|or|,)\s*no|true\s*(?:/|or|,)\s*false))\b", re.IGNORECASE),
)
_DEFAULT_LEAD = r"\bdefaults?\b(?:\s+value)?(?:\s+(?:to|is|of|as)\b|\s*[:=])?\s*"
_DEFAULTS = (
    # If none, PoPGrowth defaults to 'No'; default 1
    re.compile(
        rf"{_DEFAULT_LEAD}(?:{_QUOTED}|([-+]?\d+(?:\.\d+)?(?![\w-])|\d{{4}}-\d\d-\d\d|yes|no|true|false|none|null)\b)",
        re.IGNORECASE,
    ),
    # If not given, 'No' is used
    re.compile(rf"\bif (?:none|empty|omitted|not \w+)(?: \w+)?,\s*{_QUOTED} is (?:used|taken|assumed)", re.IGNORECASE),
)
_SOURCES = (
    # Use function 'Get Panels' to get list of available panels
    re.compile(rf"\bfunctions?:?\s+{_QUOTED}", re.IGNORECASE),
    re.compile(
        rf"\b(?:use|call|run|see|from)\s+(?:the\s+)?{_QUOTED}\s+(?:function|to\s+(?:get|list|see))", re.IGNORECASE
    ),
    re.compile(r"\b[Ff]unction:?\s+([A-Z]\w*(?:\s+[A-Z]\w*)*)"),
)
_SENTENCE_END = re.compile(r"(?<=[.;])\s+")
_SAYS_OPTIONS = re.compile(r"(?:valid |available )?(?:options|values|choices)\b|(?:must be )?one of\b", re.IGNORECASE)
_SAYS_DEFAULT = re.compile(r"(?:if (?:none|not \w+|empty|omitted),? .*)?\bdefaults?\b", re.IGNORECASE)
_SAYS_SOURCE = re.compile(r"use (?:the )?function\b", re.IGNORECASE)
_ABSENT = r"(?:absent|missing|empty|blank|omitted|none|null|not\s+\w+)"
_NAME = rf"[{_Q}]?([\w ]+?)[{_Q}]?"
_RULES = (
    # Required if brand is not specified; required when Symbol is absent
    re.compile(
        rf"\brequired (?:if|when) {_NAME} (?:(?:is|are|was|were|has|have) (?:been )?)?{_ABSENT}\b",
        re.IGNORECASE,
    ),
    re.compile(rf"\brequired (?:if|when) no {_NAME} (?:is|are)\b", re.IGNORECASE),
    re.compile(rf"\brequired unless {_NAME} (?:is|are)\b", re.IGNORECASE),
    # Either Symbol or Brand is required
    re.compile(
        rf"\b(?:either|one of) ([\w{_Q} ,]+?) (?:is|are|must be) (?:required|needed|given|specified|provided)",
        re.IGNORECASE,
    ),
)
_BOUNDS = (
    re.compile(r"\bbetween\s+(?P<low>-?\d+)\s+and\s+(?P<high>-?\d+)\b", re.IGNORECASE),
    re.compile(r"\bfrom\s+(?P<low>-?\d+)\s+to\s+(?P<high>-?\d+)\b", re.IGNORECASE),
    re.compile(r"\b(?:at least|minimum(?: is| of|:)?|not less than)\s+(?P<low>-?\d+)\b", re.IGNORECASE),
    re.compile(r"\b(?:at most|maximum(?: is| of|:)?|not more than|up to)\s+(?P<high>-?\d+)\b", re.IGNORECASE),
)

_DATE_NAME = re.compile(r"(?:^|_)date$|[a-z]Date$|^Date$|(?:time|date)_?(?:after|before|since|until)$", re.IGNORECASE)
# One row a kind, for the codes whose meaning is not given: by the name, or by the words of the description.
_KINDS_BY_NAME = (
    (Kind.SYMBOL, re.compile(r"^(?:symbol|ticker)$", re.IGNORECASE)),
    (Kind.PANEL, re.compile(r"^panel(?:_?name)?$", re.IGNORECASE)),
    (Kind.DATE, _DATE_NAME),
)
_KINDS_BY_WORDS = (
    (Kind.DATE, re.compile(r"\bYYYY-MM-DD\b", re.IGNORECASE)),
    (
        Kind.LIST,
        re.compile(r"\b(?:list|array) of (?!(?:available|valid|all|the) )|\bcomma[- ]separated\b", re.IGNORECASE),
    ),
    (Kind.INTEGER, re.compile(r"\b(?:integer|whole number|number of \w+|count of \w+)\b", re.IGNORECASE)),
    (Kind.NUMBER, re.compile(r"\b(?:an? (?:number|decimal|float|fraction|percentage)|numeric)\b", re.IGNORECASE)),
)

_FIRST_OF = (("start", "end"), ("from", "to"), ("after", "before"), ("since", "until"), ("begin", "end"))
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z]{2})|_+")


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
    marker = _MARKER.match(param.description)
    text = " ".join(param.description[marker.end() if marker else 0 :].split())
    options = _options(text)
    kind = _kind(param, text, options)
    rule = _rule(param.name, text, names)
    # `required` wins over the marker, which speaks only where the listing leaves `required` out (SERVICE.md 3).
    says = (
        param.required
        if "required" in param.model_fields_set
        else bool(marker and marker["word"].lower() == "required")
    )
    low, high = _bounds(text) if kind in {Kind.INTEGER, Kind.NUMBER} else (None, None)
    return Field(
        name=param.name,
        identifier=identifier,
        kind=kind,
        label=_label(param.name),
        help=text,
        required=says and rule is None,
        default=_default(text, options),
        options=options,
        source=_source(text) or SOURCES_BY_KIND.get(kind),
        rule=rule,
        minimum=low,
        maximum=high,
        not_before=_first_date(param.name, names) if kind is Kind.DATE else None,
    )


def _kind(param: Param, text: str, options: tuple[str, ...]) -> Kind:
    if known := KINDS_BY_CODE.get(param.type):
        return known
    if _yes_no(options):
        return Kind.YES_NO
    for kind, pattern in _KINDS_BY_WORDS:
        # Options that a list or a date names are still those of a list or a date.
        if kind in {Kind.LIST, Kind.DATE} and pattern.search(text):
            return kind
    if options:
        return Kind.CHOICE
    for kind, pattern in _KINDS_BY_NAME:
        if pattern.search(param.name):
            return kind
    return next((kind for kind, pattern in _KINDS_BY_WORDS if pattern.search(text)), Kind.TEXT)


def _yes_no(options: tuple[str, ...]) -> bool:
    return {option.casefold() for option in options} in ({"yes", "no"}, {"true", "false"})


def _options(text: str) -> tuple[str, ...]:
    for found in _QUOTED_LIST.finditer(text):
        if not _NOT_OPTIONS.search(text[: found.start()]):
            return tuple(dict.fromkeys(word.strip() for word in _QUOTED_WORD.findall(found[0])))
    for pattern in _BARE_OPTIONS:
        if bare := pattern.search(text):
            return tuple(dict.fromkeys(word.strip() for word in _SEPARATOR.split(bare[1]) if word.strip()))
    return ()


def _default(text: str, options: tuple[str, ...]) -> str | None:
    for pattern in _DEFAULTS:
        if found := pattern.search(text):
            value = next(group for group in found.groups() if group)
            spelt = {option.casefold(): option for option in options}
            return None if value.casefold() in {"none", "null"} else spelt.get(value.casefold(), value)
    for lead in re.finditer(_DEFAULT_LEAD, text, re.IGNORECASE):  # default is Age Group
        rest = text[lead.end() :].casefold()
        for option in options:
            if rest.startswith(option.casefold()):
                return option
    return None


def _source(text: str) -> str | None:
    return next((found[1].strip() for pattern in _SOURCES if (found := pattern.search(text))), None)


def _rule(name: str, text: str, names: Sequence[str]) -> Rule | None:
    spelt = {folded(other): other for other in names}
    for sentence in _SENTENCE_END.split(text):
        for pattern in _RULES:
            if found := pattern.search(sentence):
                others = [spelt[folded(word)] for word in _SEPARATOR.split(found[1]) if folded(word) in spelt]
                together = dict.fromkeys([*others, name])
                if len(together) > 1:
                    return Rule(tuple(other for other in names if other in together), sentence.strip())
    return None


def _bounds(text: str) -> tuple[int | None, int | None]:
    low = high = None
    for pattern in _BOUNDS:
        if found := pattern.search(text):
            said = found.groupdict()
            low = int(said["low"]) if said.get("low") and low is None else low
            high = int(said["high"]) if said.get("high") and high is None else high
    return low, high


def _first_date(name: str, names: Sequence[str]) -> str | None:
    spelt = {folded(other): other for other in names}
    words = [word.casefold() for word in _WORDS.split(name) if word]
    for first, last in _FIRST_OF:
        if last in words:
            twin = folded("".join(first if word == last else word for word in words))
            if twin in spelt:
                return spelt[twin]
    return None


def _label(name: str) -> str:
    words = " ".join(word for word in _WORDS.split(name) if word)
    return words[:1].upper() + words[1:] or name

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

# Every pattern is bounded in what it may try, so that the longest description is read in time linear in its length.

# An opening quote follows no word character and a closing one precedes none: between two it is an apostrophe.
_Q = "'\"‘’“”`"
_QUOTED = rf"(?<!\w)[{_Q}]((?:[^{_Q}]|(?<=\w)[{_Q}](?=\w)){{1,100}})[{_Q}](?!\w)"
_NOTE = r"\s{0,9}\([^()]{0,100}\)"
_AND = r"\s{0,9}(?:,|/|;|\||\bor\b|\band\b)\s{0,9}(?:(?:or|and)\b\s{0,9})?"
_QUOTED_LIST = re.compile(rf"{_QUOTED}(?:(?:{_NOTE})?{_AND}{_QUOTED})+", re.IGNORECASE)
_QUOTED_WORD = re.compile(_QUOTED)
_NOTES = re.compile(_NOTE)
_SEPARATOR = re.compile(r",|;|/|\||\bor\b|\band\b", re.IGNORECASE)

_MARKER = re.compile(r"\s*(?:\[\s*(required|optional)\s*\]|\(\s*(required|optional)\s*\))\s*[:.,-]?\s*", re.IGNORECASE)

# Options refuse every other value, so that a quoted list is taken for options only where its place says so: after
# one of these words ("Options are 'Age Group', 'Region'"), or at the begin of a clause ("('Age Group', 'Region')").
_LEADS_TO_OPTIONS = re.compile(
    r"(?:^|[.;:,(\[{–-]|\b(?:options|values|choices|either|(?:one|more|any) of|is|are|be|set to"
    r"|(?:choose|select|pick)(?: from)?|accepts|takes|supports|specify|give|enter|use|includes?|only))[\s:(\[{]{0,9}$",
    re.IGNORECASE,
)
_NOT_OPTIONS = re.compile(
    r"\b(?:functions?|e\.g\.?|i\.e\.?|examples?|for instance|such as|like|including|recommended(?: \w+)? (?:is|are)"
    r"|preferr?ed(?: \w+)? (?:is|are)|not(?: be)?|cannot be|except(?: for)?|excluding|excludes|without|other than"
    r"|ignor(?:es|ing)|(?:defaults?|default value)(?: to| is| are)?)[\s:,(\[{]{0,9}$",
    re.IGNORECASE,
)
_BEFORE = 60  # so many characters before a list are looked at
# Options without quotes: what follows, up to the end of the sentence.
_BARE_OPTIONS = re.compile(
    r"(?:\b(?:options|choices)\s?(?:are|include|:)|\bvalues:|\b(?:valid|allowed|possible|accepted|available|supported"
    r"|permitted)\s(?:values|choices|options|inputs)\s?(?:are|include|:)|(?<!at least )\bone of(?: the following)?\b)"
    r"[\s:(\[{]{0,9}((?:[^.;)\]}(]|\.(?=\w)|\([^()]{0,100}\))+)",
    re.IGNORECASE,
)
_BARE_OPTION = re.compile(r"\w[\w%+&-]*(?: [\w%+&-]+){0,3}")
# A sentence that goes on after its options, or has none.
_NO_OPTION = re.compile(
    r"\b(?:a|an|the|is|are|be|must|can|may|if|when|unless|to|for|in|on|by|of|from|with|which|that|not|as|defaults?"
    r"|depending|required|optional)\b",
    re.IGNORECASE,
)
# Yes/No, yes or no
_BARE_YES_NO = re.compile(
    r"\b(yes\s?(?:/|or|,|\|)\s?no|no\s?(?:/|or|,|\|)\s?yes|true\s?(?:/|or|,|\|)\s?false|false\s?(?:/|or|,|\|)\s?true"
    r"|y\s?/\s?n)\b",
    re.IGNORECASE,
)
_YES_NO = (("yes", "no"), ("true", "false"), ("y", "n"))

_UNSAID = r"(?:none|empty|blank|omitted|absent|nothing|left \w+|not \w+)"
_DEFAULT_LEAD = r"\bdefaults?\b(?:\s+value)?(?:\s+(?:to|is|of|as)\b|\s?[:=])?\s{0,9}"
_PLAIN_VALUE = (
    r"\d{4}-\d\d-\d\d(?![\w-])|[-+]?(?:\d{1,3}(?:,\d{3})+|\d{1,18})(?:\.\d{1,18})?(?![\w%-]|[.,]\d)"
    r"|(?:yes|no|true|false|none|null)\b"
)
_DEFAULTS = (
    # If none, PoPGrowth defaults to 'No'; default 1; but "defaults to 'Age Group' and 'Region'" names no single value
    re.compile(rf"{_DEFAULT_LEAD}(?:{_QUOTED}(?!{_AND}[{_Q}])|({_PLAIN_VALUE}))", re.IGNORECASE),
    # If not given, 'No' is used
    re.compile(
        rf"\b(?:if|when) {_UNSAID}(?: is)?(?: \w+)?,\s?{_QUOTED} is (?:used|taken|assumed|applied)", re.IGNORECASE
    ),
    # 'day' (default); 'day' by default
    re.compile(rf"{_QUOTED}\s?(?:\((?:the )?default\)|(?:is )?(?:the default|by default)\b)", re.IGNORECASE),
    # the same without quotes
    re.compile(r"\b([\w+-]{1,40})\s?\((?:the )?default\)", re.IGNORECASE),
)
_SOURCES = (
    # Use function 'Get Panels' to get list of available panels
    re.compile(rf"\bfunctions?:?\s{_QUOTED}", re.IGNORECASE),
    # Use 'Get Panels' to get the list; call 'Get Panels' for valid values
    re.compile(
        rf"\b(?:use|call|run|see|from)\s(?:the\s)?{_QUOTED}\s"
        r"(?:function|to\s(?:get|list|see|find)|for\s(?:a |the )?(?:full )?(?:valid|available|list|values|options))",
        re.IGNORECASE,
    ),
    # can be obtained from 'Get Panels'; listed by 'Get Panels'; see 'Get Panels'
    re.compile(
        rf"\b(?:obtained|listed|returned|given)\s(?:from|by|in|via|through)\s(?:the\s)?{_QUOTED}", re.IGNORECASE
    ),
    re.compile(rf"\b(?:[Ss]ee|[Uu]se|[Cc]all|[Rr]un|from|by)\s(?:the\s)?[{_Q}]((?:Get|List)\s[^{_Q}]{{1,100}})[{_Q}]"),
    # Use function Get Panels; use the Get Panels function
    re.compile(r"\b[Ff]unction:?\s([A-Z]\w{0,99}(?:\s[A-Z]\w{0,99}){0,5})"),
    re.compile(r"\b(?:[Uu]se|[Cc]all|[Rr]un|[Ss]ee)\s(?:the\s)?([A-Z]\w{0,99}(?:\s[A-Z]\w{0,99}){0,5})\sfunction\b"),
)
_SAYS_WHERE = re.compile(rf"\b[Ff]unctions?:?\s[{_Q}A-Z][^.;]*")
_SENTENCE_END = re.compile(r"(?<=[.;])\s+")
_SAYS_OPTIONS = re.compile(r"(?:valid |available )?(?:options|values|choices)\b|(?:must be )?one of\b", re.IGNORECASE)
_SAYS_DEFAULT = re.compile(r"(?:if (?:none|not \w+|empty|omitted),? .*)?\bdefaults?\b", re.IGNORECASE)
_SAYS_SOURCE = re.compile(r"use (?:the )?function\b", re.IGNORECASE)

_NEEDED = r"\b(?<!not )(?:required|needed|mandatory|must be (?:specified|provided|given|set|supplied))"
_GIVEN = r"(?:specified|given|provided|set|supplied|present|filled|selected|passed|entered|used|chosen|defined)"
_ABSENT = rf"(?:absent|missing|empty|blank|omitted|none|null|unspecified|left (?:blank|empty|out)|not {_GIVEN})"
_IS = r"(?:(?:is|are|was|were|has been|have been) )?"
_NAME = rf"(?:the )?([\w{_Q} ,/-]{{1,80}}?)(?: (?:parameters?|arguments?|fields?|values?))?"
_RULES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # Required if brand is not specified; required when Symbol is absent; needed if Symbol isn't given
        rf"{_NEEDED} (?:only )?(?:if|when|where) {_NAME} (?:{_IS}{_ABSENT}|(?:is|are)n[{_Q}]t {_GIVEN})\b",
        rf"{_NEEDED} (?:only )?(?:if|when|where) no {_NAME} (?:is|are)\b",
        rf"{_NEEDED} unless {_NAME} (?:is|are)\b",
        # If Symbol is not specified, Brand is required
        rf"\b(?:if|when) {_NAME} {_IS}{_ABSENT}, [\w{_Q} ]{{1,60}}? (?:is|are)?\s?{_NEEDED}",
        # Either Symbol or Brand is required; at least one of Symbol, Brand must be given
        rf"\b(?:either|one of) {_NAME} (?:is|are|must be) (?:required|needed|mandatory|{_GIVEN})\b",
        # Specify either Symbol or Brand
        rf"\b(?:specify|provide|give|supply|enter|set) (?:either|(?:at least )?one of) {_NAME}(?=[.;)]|$)",
    )
)

_INTEGER = r"([-+]?(?:\d{1,3}(?:,\d{3})+|\d{1,18})(?![\w%]|[.,]\d))"
_CLAUSE = r"(?:(?:^|[.;:,(])\s?|\b(?:is|be|and|but|or|integer|number|values?|count)\s)"
_LIMIT = r"(?: is| of|:| =)?"
# Each with what its numbers are the bounds of, and how far the bound lies from the number.
_BOUNDS = tuple(
    (re.compile(pattern, re.IGNORECASE), low, high)
    for pattern, low, high in (
        (rf"\b(?:between|range:?) {_INTEGER} (?:and|to) {_INTEGER}", 0, 0),
        (rf"\b(?:from|range:?) {_INTEGER}(?: to |\s?(?:-|–|\.\.)\s?){_INTEGER}", 0, 0),
        (rf"{_CLAUSE}(?:at least|min(?:imum)?(?: value)?{_LIMIT}|not less than|no less than) {_INTEGER}", 0, None),
        (rf"{_CLAUSE}(?:at most|max(?:imum)?(?: value)?{_LIMIT}|not more than|no more than|up to) {_INTEGER}", None, 0),
        (rf"(?:>=|≥)\s?{_INTEGER}", 0, None),
        (rf"(?:<=|≤)\s?{_INTEGER}", None, 0),
        (rf"(?:{_CLAUSE}(?:greater|more|larger) than|>)\s?{_INTEGER}", 1, None),
        (rf"(?:{_CLAUSE}(?:less|fewer|smaller) than|<)\s?{_INTEGER}", None, -1),
    )
)
_SIGNS = (
    (re.compile(r"\bpositive (?:integer|whole number|number)\b", re.IGNORECASE), 1),
    (re.compile(r"\bnon-?negative (?:integer|whole number|number)\b", re.IGNORECASE), 0),
)

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
            rf"\bYYYY-MM-DD[{_Q}T ]*HH|\bYYYY[/.]?MM|\bYYYY-MM(?!-DD)|\b(?:DD|MM)[/. -]?(?:MM|DD)[/. -]?YY",
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
    default = _default(text, options)
    if not options and param.type not in KINDS_BY_CODE:
        options = _flag_options(text, default)
    kind = _kind(param, text, options)
    rule = _rule(param.name, text, names)
    # `required` wins over the marker, which speaks only where the listing leaves `required` out (SERVICE.md 3).
    says = param.required if "required" in param.model_fields_set else bool(marker and "required" in marker[0].lower())
    low, high = _bounds(text, kind) if kind in {Kind.INTEGER, Kind.NUMBER} else (None, None)
    return Field(
        name=param.name,
        identifier=identifier,
        kind=kind,
        label=_label(param.name),
        help=text,
        required=says and rule is None,
        default=default,
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
    if _is_yes_no(options):
        return Kind.YES_NO
    # "… to get list of panels" speaks of the listing function.
    said = _SAYS_WHERE.sub("", text)
    for kind, pattern in _KINDS_BY_WORDS:
        # Options that a list or a date names are still those of a list or a date.
        if not (options and kind in {Kind.TEXT, Kind.INTEGER, Kind.NUMBER}) and pattern.search(said):
            return kind
    if options:
        return Kind.CHOICE
    name = "_".join(_words(param.name)).casefold()
    return next((kind for kind, pattern in _KINDS_BY_NAME if pattern.fullmatch(name)), Kind.TEXT)


def _is_yes_no(options: Iterable[str]) -> bool:
    return {option.casefold() for option in options} in [set(pair) for pair in _YES_NO]


def _options(text: str) -> tuple[str, ...]:
    for found in _QUOTED_LIST.finditer(text):
        words = tuple(dict.fromkeys(word.strip() for word in _QUOTED_WORD.findall(_NOTES.sub("", found[0]))))
        before = text[max(0, found.start() - _BEFORE) : found.start()]
        leads = _LEADS_TO_OPTIONS.search(before) or _is_yes_no(words) or re.search(r"\w\W\s?[/|]\s?\W\w", found[0])
        if leads and not _NOT_OPTIONS.search(before):
            return words
    for bare in _BARE_OPTIONS.finditer(text):
        items = [item for item in map(str.strip, _SEPARATOR.split(_NOTES.sub("", bare[1]))) if item]
        while items and re.match(r"defaults?\b", items[-1], re.IGNORECASE):
            items.pop()
        if len(items) > 1 and all(_BARE_OPTION.fullmatch(item) and not _NO_OPTION.search(item) for item in items):
            return tuple(dict.fromkeys(items))
    if yes_no := _BARE_YES_NO.search(text):
        return tuple(word.strip() for word in _SEPARATOR.split(yes_no[1]))
    return ()


def _flag_options(text: str, default: str | None) -> tuple[str, ...]:
    """Give both words of a flag whose description names one: Set to 'Yes' for growth; defaults to 'No'."""
    named = dict.fromkeys([*_QUOTED_WORD.findall(text), *([default] if default is not None else [])])
    for pair in _YES_NO:
        if named and all(word.casefold() in pair for word in named):
            one = next(iter(named))
            write = str.upper if one.isupper() else str.lower if one.islower() else str.capitalize
            return tuple(map(write, pair))
    return ()


def _default(text: str, options: tuple[str, ...]) -> str | None:
    spelt = {option.casefold(): option for option in options}
    for pattern in _DEFAULTS:
        if found := pattern.search(text):
            value = next(group for group in found.groups() if group)
            return None if value.casefold() in {"none", "null"} else spelt.get(value.casefold(), value)
    for lead in re.finditer(_DEFAULT_LEAD, text, re.IGNORECASE):  # default is Age Group
        for option in options:
            if re.match(rf"{re.escape(option)}(?!\w)", text[lead.end() : lead.end() + len(option) + 1], re.IGNORECASE):
                return option
    return None


def _source(text: str) -> str | None:
    return next((found[1].strip() for pattern in _SOURCES if (found := pattern.search(text))), None)


def _rule(name: str, text: str, names: Sequence[str]) -> Rule | None:
    spelt = {folded(other): other for other in names if folded(other)}
    for sentence in _SENTENCE_END.split(text):
        for pattern in _RULES:
            if found := pattern.search(sentence):
                others = [spelt[folded(word)] for word in _SEPARATOR.split(found[1]) if folded(word) in spelt]
                together = {*others, name}
                if len(together) > 1:
                    return Rule(tuple(dict.fromkeys(one for one in names if one in together)), sentence.strip())
    return None


def _bounds(text: str, kind: Kind) -> tuple[int | None, int | None]:
    low = high = None
    for pattern, above, below in _BOUNDS:
        # "more than 0" is at least 1 only for whole numbers.
        if (kind is Kind.INTEGER or not (above or below)) and (found := pattern.search(text)):
            numbers = [int(group.replace(",", "")) for group in found.groups()]
            if above is not None and low is None:
                low = numbers[0] + above
            if below is not None and high is None:
                high = numbers[-1] + below
    if low is None and kind is Kind.INTEGER:
        low = next((least for pattern, least in _SIGNS if pattern.search(text)), None)
    # Bounds that leave no number were misread.
    return (None, None) if low is not None and high is not None and low > high else (low, high)


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

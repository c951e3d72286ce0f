"""Fields: what each parameter takes, read from its type code, its description and its name."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from dataclasses import field as attribute
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from jupyter_funcs.catalog import descriptions
from jupyter_funcs.catalog.listing import Encoding, Function, Param, identifiers
from jupyter_funcs.catalog.schemas import (
    NO_BOUNDS,
    NO_MEMBERS,
    Declaration,
    Members,
    Schemas,
    said_of,
    says,
)
from jupyter_funcs.core.json_decoding import only
from jupyter_funcs.core.text import folded, quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from jupyter_funcs.core.json_decoding import JsonObject, Values


_MOST_LEVELS = 3  # of objects whose parts are fields
_MOST_PARTS = 500  # of one parameter, at all levels
_LONGEST_HELP = 4000  # characters
_LONGEST_POSITION = 9  # digits


class Kind(StrEnum):
    """What a field holds; decides which control shows it."""

    CHOICE = "choice"
    YES_NO = "yes/no"
    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "text"
    LIST = "list"
    DATE = "date"
    SYMBOL = "symbol"
    PANEL = "panel"
    JSON = "json"
    FILE = "file"


NUMERIC = {Kind.INTEGER, Kind.NUMBER}


class Evidence(StrEnum):
    """How a part of a field is known; decides what a value that contradicts it causes."""

    DECLARED = "declared"
    """By a schema, a type code or a flag: an error, and nothing is sent."""
    DESCRIBED = "described"
    """By the words of a description: a warning, and the value is sent as given."""
    LISTED = "listed"
    """By the reply of another function: a warning, and the value is sent as given."""
    ASSUMED = "assumed"
    """From the parameter's name, or a suggestion of the description: nothing."""


@dataclass(frozen=True)
class Rule:
    """At least one of `names` is required; `text` is the sentence of the description that says so."""

    names: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Field:
    """One field of a form: what the form, the callable, the magic and the JSON Schema know of a parameter."""

    name: str
    """The parameter's wire name; of a part of a parameter dotted, such as ``customer.name``."""
    identifier: str
    """Its name in Python; differs from `name` only if that is not an identifier."""
    kind: Kind
    label: str
    """The name in words."""
    help: str
    """The description without its ``[Required]`` or ``[Optional]`` marker."""
    required: bool = False
    """Whether a run needs it. A field with a `rule` may be required by that rule only."""
    default: str | None = None
    """The value that is used when nothing is sent, as text (of a list: JSON)."""
    options: tuple[str, ...] = ()
    """The valid values, as they are sent."""
    source: str | None = None
    """The name of the function that lists the valid values."""
    rule: Rule | None = None
    minimum: float | None = None
    """The inclusive lower bound of a number."""
    maximum: float | None = None
    not_before: str | None = None
    """The name of the date field that this date must not precede."""
    evidence: Mapping[str, Evidence] = attribute(default_factory=dict, hash=False)
    """How ``kind``, ``options``, ``default``, ``required``, ``bounds``, ``rule`` and ``source`` are known, if there."""
    schema: Values | None = attribute(default=None, hash=False)
    """The JSON Schema that the catalog declares."""
    item: Kind = Kind.TEXT
    """The kind of each item of a list."""
    typed: Values = attribute(default_factory=dict, hash=False)
    """The JSON values of options that are not texts."""
    format: str = ""
    """The ``format`` of its JSON Schema, or of the items of a list."""
    encoding: Encoding = Encoding.TEXT
    """How its values travel to the function."""
    sizes: tuple[Values, Values] = attribute(default=({}, {}), hash=False)
    """The bounds that its schema declares of a list, and of a text or each text of a list."""
    root: str = ""
    """Of a part, the parameter."""
    inside: tuple[str | int, ...] = ()
    """Of a part, the names that lead to it from the parameter, and the positions of rows."""
    room: int = attribute(default=_MOST_PARTS, repr=False, compare=False)
    """How many parts it may have at all levels."""
    choices: list[Any] = attribute(
        default_factory=list, init=False, repr=False, compare=False
    )
    """A memo of `catalog.values`."""
    _rows: dict[int | str, Field] = attribute(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def steps(self) -> tuple[str | int, ...]:
        """The names and positions that lead to its value from the arguments."""
        return self.root or self.name, *self.inside

    @cached_property
    def members(self) -> Members:
        """What its schema says of the parts of an object; nothing below the third level of objects."""
        level = sum(isinstance(step, str) for step in self.steps)
        if self.is_json and self.schema is not None and level <= _MOST_LEVELS:
            return Schemas().members(self.schema, self.room)
        return NO_MEMBERS

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The parts of an object, or of each object of a list, such as ``customer.name`` and ``items[].name``."""
        if self.is_rows:
            return self.row("").fields
        parts = list(_parts(self))
        inner = sum(part.is_json for part in parts)
        room = (self.room - len(parts)) // max(inner, 1)
        return tuple(replace(part, room=room) for part in parts)

    @property
    def is_rows(self) -> bool:
        """Whether it takes a list of objects, each a row of parts."""
        return self.members.item is not None and bool(self.members.properties)

    def row(self, at: int | str) -> Field:
        """Return the field of one object of a list, by its position."""
        if at not in self._rows:
            name = f"{self.name}[]"
            inside = self.inside
            if isinstance(at, int):
                name = f"{self.name}.{at}"
                inside = (*inside, at)
            self._rows[at] = replace(
                self,
                name=name,
                identifier=name,
                required=False,
                default=None,
                help="",
                root=self.root or self.name,
                inside=inside,
                schema=self.members.item,
            )

        return self._rows[at]

    @property
    def is_list(self) -> bool:
        return self.kind is Kind.LIST

    @property
    def is_json(self) -> bool:
        return self.kind is Kind.JSON

    @property
    def value_kind(self) -> Kind:
        """The kind of a value, or of each item of a list."""
        return self.item if self.is_list else self.kind

    def is_declared(self, part: str = "kind") -> bool:
        """Return whether a part of the field is declared, not only described or assumed."""
        return self.evidence.get(part) is Evidence.DECLARED

    def bound_beyond(self, number: Decimal | float) -> float | None:
        """Return the bound that a number is beyond, if it is."""
        if self.minimum is not None and number < Decimal(str(self.minimum)):
            return self.minimum
        if self.maximum is not None and number > Decimal(str(self.maximum)):
            return self.maximum
        return None

    @property
    def brief(self) -> str:
        """The help without the sentences that a control already shows: options, default, source, date format."""
        shown = (
            bool(self.options),
            self.default is not None,
            self.source is not None,
            self.kind is Kind.DATE,
        )
        return descriptions.without(self.help, *shown)


# For every other type code, the description and the name decide.
_KINDS_BY_CODE = {1: Kind.INTEGER, 4: Kind.LIST, 6: Kind.SYMBOL, 8: Kind.PANEL}
_TEXT_CODE = 0
_TEXTS = {"", Kind.TEXT}
_HAVE_OPTIONS = {*_TEXTS, Kind.LIST, Kind.SYMBOL, Kind.PANEL}
_PLAIN = {Kind.TEXT, *NUMERIC}
# The function that lists the values of a kind if the description names none.
_SOURCES_BY_KIND = {Kind.SYMBOL: "Get Universe", Kind.PANEL: "Get Panels"}

# Names are matched as lower-case words joined by underscores: StartDate as start_date.
_KINDS_BY_NAME = (
    (Kind.SYMBOL, re.compile(r"symbol|ticker")),
    (Kind.PANEL, re.compile(r"panel(?:_?name)?")),
    # PeriodToDate and YearToDate are flags, not dates.
    (
        Kind.TEXT,
        re.compile(r".*(?:year|quarter|month|week|period|season|life|[qmyw])_to_date"),
    ),
    (Kind.DATE, re.compile(r"(?:.*_)?(?:start|end|from|to|begin|as_?of)?date")),
    (
        Kind.DATE,
        re.compile(
            r"(?:.*_)?(?:time|date)_?(?:after|before|since|until|from|to|start|end)"
        ),
    ),
)
_KINDS_BY_WORDS = tuple(
    (kind, re.compile(f"(?i){pattern}"))
    for kind, pattern in {
        # A date in another format is sent as entered.
        Kind.TEXT: rf"\bYYYY-MM-DD[{descriptions.QUOTES}T ]*HH|\bYYYY[/.]?MM|\bYYYY-MM(?!-DD)"
        r"|\b(?:DD|MM)[/. -]?(?:MM|DD)[/. -]?YY",
        Kind.DATE: r"\bYYYY-MM-DD\b|\bdate in ISO(?:[- ]8601)? format\b|\bISO(?:[- ]8601)? date\b(?! ?time)",
        Kind.LIST: r"(?:(?:^|[.;:(]\s?)(?:the\s)?|\b(?:an?|as)\s)(?:optional\s)?"
        r"(?:list|array) of (?!(?:available|valid|all|the) )|^(?:\w+\s){0,2}one or more\b",
        Kind.INTEGER: r"^int\b|\b(?:integer|whole number)\b"
        r"|(?:^|[.;:(,]\s?|\b(?:the|a|maximum|minimum|max|min|total)\s)(?:number|count) of \w+",
        Kind.NUMBER: r"^float\b|\ban? (?:number|decimal|float|fraction|percentage)\b(?! of\b)"
        r"|(?<![\w-])numeric(?! (?:code|id))\b",
    }.items()
)

_FIRST_OF = (
    ("start", "end"),
    ("from", "to"),
    ("after", "before"),
    ("since", "until"),
    ("begin", "end"),
)
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z]{2})|_+")


def by_name(fields: Iterable[Field]) -> dict[str, Field]:
    """Return fields by wire name; of a repeated name, the first."""
    named: dict[str, Field] = {}
    for field in fields:
        named.setdefault(field.name, field)
    return named


def with_parts(fields: Iterable[Field]) -> Iterator[Field]:
    """Yield fields, each followed by its parts."""
    for field in fields:
        yield field
        yield from with_parts(field.fields)


def part_named(fields: Iterable[Field], name: str) -> Field | None:
    """Return the part of a field with a dotted name, such as ``customer.name`` or ``items.0.name``."""
    fields = [
        field
        for field in fields
        if field.name == name or name.startswith((f"{field.name}.", f"{field.name}[]."))
    ]
    for field in sorted(fields, key=lambda field: field.name != name):
        if field.name == name:
            return field
        parts: Iterable[Field] = field.fields
        at = name[len(field.name) + 1 :].partition(".")[0]
        if field.is_rows and at.isdecimal() and len(at) < _LONGEST_POSITION:
            parts = [field.row(int(at))]
        part = part_named(parts, name)
        if part:
            return part

    return None


def fields_named(fields: Sequence[Field], names: Iterable[str]) -> dict[str, Field]:
    """Return the fields and parts of these names."""
    return {name: part for name in names if (part := part_named(fields, name))}


def _parts(group: Field) -> Iterator[Field]:
    """Yield the parts of an object."""
    properties = group.members.properties
    field_names = descriptions.FieldNames(properties)
    encoding = Encoding.JSON
    if group.encoding is Encoding.OBJECT:
        encoding = Encoding.OBJECT
    for key, schema in properties.items():
        param = Param(
            name=key,
            description=only(str, said_of("description", schema, schema))[
                :_LONGEST_HELP
            ],
            required=key in group.members.required,
            schema=schema if says(schema) else True,
            encoding=encoding,
        )
        name = f"{group.name}.{key}"
        yield replace(
            _read(param, name, field_names, Schemas()),
            name=name,
            root=group.root or group.name,
            inside=(*group.inside, key),
            rule=None,
            not_before=None,
        )


def read_fields(
    function: Function, schemas: Schemas | None = None
) -> tuple[Field, ...]:
    """Return one field per parameter of a function, in order; `schemas` are those of its catalog."""
    names = [param.name for param in function.params]
    field_names = descriptions.FieldNames(names)
    schemas = schemas or Schemas()
    params = zip(function.params, identifiers(names), strict=True)
    return tuple(
        _read(param, identifier, field_names, schemas) for param, identifier in params
    )


def unknown_codes(functions: Iterable[Function]) -> list[int]:
    """Return the type codes in a catalog that have no known meaning, sorted."""
    codes = {param.type for function in functions for param in function.params}
    return sorted(codes - _KINDS_BY_CODE.keys() - {_TEXT_CODE})


def schema_problems(functions: Iterable[Function]) -> list[str]:
    """Return the parameters whose schemas contradict themselves, which is not enforced, each with the contradiction."""
    schemas = Schemas()
    return [
        f"{quote(param.name)} of {quote(function.name)} ({declared.problem})"
        for function in functions
        for param in function.params
        if (declared := schemas.once("schema", param.schema, schemas.read))
        and declared.problem
    ]


def listing_args(
    field: Field, listing: Sequence[Field], values: Values
) -> tuple[JsonObject, list[str]]:
    """Return the arguments for the function that lists a field's values, and the names of those still missing."""
    by_spelling = {folded(name): value for name, value in values.items()}
    args = {}
    missing = []
    for name, wanted in by_name(listing).items():
        if not wanted.required:
            continue
        # An option named like the field selects it: Brand calls Get Panel Dimensions with Dimensions=['Brand'].
        if own := [
            option for option in wanted.options if folded(option) == folded(field.name)
        ]:
            args[name] = own if wanted.is_list else own[0]
        elif folded(name) in by_spelling:
            args[name] = by_spelling[folded(name)]
        else:
            missing.append(name)

    return args, missing


def _bounds(
    declared: Declaration, name: str, text: str, kind: Kind
) -> tuple[float | None, float | None]:
    if declared.bounds == NO_BOUNDS and kind in NUMERIC:
        return descriptions.read_bounds(name, text, whole=kind is Kind.INTEGER)
    return declared.bounds


def _is_required(
    param: Param, rule: descriptions.DescribedRule | None, *, marked: bool
) -> bool:
    if param.required is None:  # no other sentence switches the flag of a listing off
        return marked and rule is None
    return param.required and not (rule and rule.in_own_words)


def _read(
    param: Param,
    identifier: str,
    field_names: descriptions.FieldNames,
    schemas: Schemas,
) -> Field:
    spelt = field_names.spelt
    marked, shown = descriptions.read_marker(param.description)
    declared = schemas.read(param.schema) or Declaration("")
    shown = shown or " ".join(declared.description.split())
    declared_kind = _declared_kind(param, declared)
    is_file = param.encoding is Encoding.FILE
    # Part of a list of options would be wrong; the options, default and bounds in a text are of no JSON object.
    is_unread = is_file or declared_kind == Kind.JSON
    text = ""
    if len(shown) <= descriptions.LONGEST and not is_unread:
        text = shown
    own_text = descriptions.about(param.name, text, spelt)
    options, default = _options_and_default(declared, declared_kind, own_text, spelt)
    kind, how = _kind(param.name, own_text, options, declared_kind)
    rule = descriptions.read_rule(
        param.name, text[: descriptions.LONGEST_PROSE], field_names
    )
    bounds = _bounds(declared, param.name, own_text, kind)
    source = descriptions.read_source(text)
    parts = {
        "required": marked,
        "options": options,
        "default": default is not None,
        "bounds": bounds != NO_BOUNDS,
        "rule": rule,
        "source": source,
    }
    not_before = None
    if kind is Kind.DATE:
        not_before = _first_date(param.name, spelt)
    schema = None
    if declared.kind:
        schema = only(dict, param.schema)
    item = Kind(declared.item)
    if is_file:
        item = Kind.FILE
    return Field(
        name=param.name,
        identifier=identifier,
        kind=kind,
        label=_label(param.name),
        help=shown,
        required=_is_required(param, rule, marked=marked),
        default=default,
        options=options,
        source=source or _SOURCES_BY_KIND.get(kind),
        rule=rule and Rule(rule.names, rule.sentence),
        minimum=bounds[0],
        maximum=bounds[1],
        not_before=not_before,
        evidence={"kind": how} | _evidence(param, declared, kind, parts),
        schema=schema,
        item=item,
        typed=declared.typed,
        format=declared.format,
        encoding=param.encoding,
        sizes=declared.sizes,
    )


def _label(name: str) -> str:
    label = " ".join(_words(name))
    return label[:1].upper() + label[1:] or name


def _declared_kind(param: Param, declared: Declaration) -> str:
    """Return the kind that a catalog declares, which is not read from words; empty if there is none."""
    kind = declared.kind
    if kind in _TEXTS:
        kind = _KINDS_BY_CODE.get(param.type, kind)
    if param.encoding is Encoding.FILE and kind != Kind.LIST:
        return Kind.FILE
    return kind


def _options_and_default(
    declared: Declaration, kind: str, text: str, spelt: Mapping[str, str]
) -> tuple[tuple[str, ...], str | None]:
    """Return what is declared, else what a text says."""
    options = declared.options
    if not options and kind in _HAVE_OPTIONS:
        options = descriptions.read_options(text, spelt)
    default = declared.default
    if default is None:
        default = descriptions.read_default(text, options)
    if not (options or kind):
        options = descriptions.read_flag(text, default)
    return options, default


def _evidence(
    param: Param, declared: Declaration, kind: Kind, parts: Mapping[str, object]
) -> dict[str, Evidence]:
    """Return how the parts of a field are known, of which it has those that are true."""
    certain = {
        "required": param.required is not None,
        "options": declared.options,
        "default": declared.default is not None,
        "bounds": declared.bounds != NO_BOUNDS,
    }
    evidence = {}
    for part, is_there in parts.items():
        if certain.get(part):
            evidence[part] = Evidence.DECLARED
        elif is_there:
            evidence[part] = Evidence.DESCRIBED

    # Of a text that is declared as one, or holds several, what is described are suggestions.
    if (
        parts["options"]
        and not declared.options
        and (declared.kind or kind is Kind.TEXT)
    ):
        evidence["options"] = Evidence.ASSUMED

    if parts["source"]:
        evidence.setdefault("options", Evidence.LISTED)
    if kind in _SOURCES_BY_KIND:
        evidence.setdefault("source", Evidence.ASSUMED)
    return evidence


def _kind(
    name: str, text: str, options: tuple[str, ...], declared: str
) -> tuple[Kind, Evidence]:
    """Return the kind of a parameter, and how it is known."""
    if declared:
        return Kind(declared), Evidence.DECLARED
    if descriptions.JOINED.search(text):
        return Kind.TEXT, Evidence.ASSUMED
    if descriptions.is_yes_no(options):
        return Kind.YES_NO, Evidence.DESCRIBED
    # "… to get list of panels" describes the listing function, not the parameter.
    about = descriptions.SAYS_WHERE.sub("", text)
    for kind, pattern in _KINDS_BY_WORDS:
        # Lists and dates may have options too.
        if not (options and kind in _PLAIN) and pattern.search(about):
            return kind, Evidence.DESCRIBED

    if options:
        return Kind.CHOICE, Evidence.DESCRIBED
    return kind_of_name(name), Evidence.ASSUMED


def kind_of_name(name: str) -> Kind:
    """Return the kind of a parameter or column that its name alone suggests."""
    words = "_".join(_words(name)).casefold()
    for kind, pattern in _KINDS_BY_NAME:
        if pattern.fullmatch(words):
            return kind

    return Kind.TEXT


def _words(name: str) -> list[str]:
    return [word for word in _WORDS.split(name) if word]


def _first_date(name: str, spelt: Mapping[str, str]) -> str | None:
    words = [word.casefold() for word in _words(name)]
    for first, last in _FIRST_OF:
        if last in words:
            twin = folded("".join(first if word == last else word for word in words))
            if twin in spelt:
                return spelt[twin]

    return None

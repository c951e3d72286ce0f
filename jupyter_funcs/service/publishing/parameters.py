"""The markers for annotations of published functions; the parameter that each annotation defines, and its schema."""

from __future__ import annotations

import enum
import inspect
import math
import re
from dataclasses import dataclass, replace
from datetime import date, datetime
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from jupyter_funcs.service.messages import did_you_mean, inert, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic import TypeAdapter

    _Kind = type[str | int | float | bool | date]
    _Text = str | Callable[[Any], str]
    _Texts = tuple[str, ...] | Callable[[Any], tuple[str, ...]]
    _Match = Callable[[Any, str], str] | None
else:  # what a worker sends, of which msgspec reads the types
    _Kind, _Text, _Texts, _Match = type, str, tuple[str, ...], None

SUPPORTED = (
    "str, int, float, bool, date, Literal['…'], list[…] or Annotated[…] of these; or a dict or dataclass, sent as JSON"
)
"""The annotations that a parameter can have."""

# In characters, of what isn't text: converting a long number takes quadratic time.
_LONGEST = 400
# Messages stop here: a list may hold a hundred thousand invalid values.
_MAX_ERRORS = 10
_NAMES = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "'Yes' or 'No'",
    date: "a date (YYYY-MM-DD)",
    object: "a JSON object or list",
}
_JSON_NAMES: dict[type, str] = {bool: "true or false", list: "a list", dict: "an object"}
_SCHEMAS: dict[Any, dict[str, Any]] = {kind: msgspec.json.schema(kind) for kind in (str, int, float, date)}
_WHOLE = re.compile(r"(?a)0|-?[1-9]\d{0,17}")


@dataclass(frozen=True, slots=True)
class Help:
    """
    What a parameter means, in a sentence or two: the first part of its description.

    Attributes
    ----------
    text
        The sentences, or a function that makes them from the engine's reference data.
    """

    text: _Text


@dataclass(frozen=True, slots=True)
class ListedBy:
    """
    The function that lists a parameter's valid values.

    Attributes
    ----------
    function
        Its name in the catalog.
    match
        Takes the engine's reference data and the text that was sent, and returns the value it stands for. Raises
        `ValueError` with what is wrong (``is not known. Did you mean …?``). Without it, any text is valid.
    values
        What the values are called, in the plural. By default, this follows from the function's name.
    """

    function: str
    match: _Match = None
    values: str | None = None

    @property
    def sentence(self) -> str:
        """How a description says it, as in *Use function 'Get Panels' to get list of available panels*."""
        values = self.values or self.function.removeprefix("Get ").removeprefix("List ").lower()
        return f"Use function {quoted(self.function)} to get list of available {values}."


@dataclass(frozen=True, slots=True)
class Options:
    """
    The valid values, where `Literal` can't express them: ``Options("a", "b")``.

    Attributes
    ----------
    values
        The values, or a function that returns them from the engine's reference data: ``Options(stores)``.
    """

    values: _Texts

    def __init__(self, *values: str | Callable[[Any], tuple[str, ...]]) -> None:
        found = values[0] if len(values) == 1 and callable(values[0]) else values
        object.__setattr__(self, "values", found)


@dataclass(frozen=True, slots=True)
class Between:
    """The bounds of a number, both inclusive."""

    low: int | float
    high: int | float


@dataclass(frozen=True, slots=True)
class AtLeastOne:
    """A rule that requires at least one of several parameters, as in ``AtLeastOne("Symbol", "Brand")``."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)

    def __call__(self, _values: Mapping[str, Any], given: frozenset[str], _reference: Any) -> dict[str, list[str]]:
        """Return the errors of a call with the arguments `given`, by argument name."""
        if given.intersection(self.names):
            return {}
        # The empty key: the error belongs to no single argument.
        return {"": [f"{' or '.join(self.names)} is required."]}


class TypeCode(enum.IntEnum):
    """The type codes of parameters in the listing."""

    TEXT = 0
    INTEGER = 1
    LIST = 4
    SYMBOL = 6
    PANEL = 8


# What an integer column of a database can hold.
_INT64 = Between(-(2**63), 2**63 - 1)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a published function; `structure` is the schema of one whose `type` is `object`: JSON as text."""

    name: str
    type: _Kind
    code: TypeCode
    required: bool
    default: Any
    help: _Text = ""
    many: bool = False
    options: _Texts = ()
    source: ListedBy | None = None
    bounds: Between | None = None
    structure: dict[str, Any] | None = None
    adapter: Any = None

    @classmethod
    def from_annotation(cls, name: str, annotation: Any, default: Any) -> Parameter:
        """Read a parameter from its annotation and default (`inspect.Parameter.empty` if it has none)."""
        base, markers = _unwrapped(annotation)
        many = get_origin(base) is list
        item, own = _unwrapped(get_args(base)[0]) if many else (base, [])
        by_type = {type(marker): marker for marker in (*own, *markers)}
        options: Any = by_type[Options].values if Options in by_type else ()
        if get_origin(item) is Literal:
            literals = get_args(item)
            kinds = {type(each) for each in literals}
            item = kinds.pop() if len(kinds) == 1 else None
            options = tuple(map(_spelled, literals))
        elif item is bool:
            options = ("Yes", "No")
        structure, adapter = None, None
        if item not in _NAMES:
            structure, adapter = _structure(base)
            item, many = object, False
        if item is object and (structure is None or options):
            raise TypeError(f"Parameter {name} is annotated {inspect.formatannotation(annotation)}. Use {SUPPORTED}.")
        required = default is inspect.Parameter.empty
        code = TypeCode.LIST if many else TypeCode.INTEGER if item is int else TypeCode.TEXT
        found = cls(
            name=name,
            type=item,
            code=by_type.get(TypeCode, code),
            required=required,
            default=None if required else default,
            help=by_type[Help].text if Help in by_type else "",
            many=many,
            options=options,
            source=by_type.get(ListedBy),
            bounds=by_type.get(Between),
            structure=structure,
            adapter=adapter,
        )
        if found.bounds and found.type not in (int, float):
            raise TypeError(f"Parameter {name} takes {_NAMES[found.type]}, but Between needs a number.")
        if not found._is_valid_default():
            raise TypeError(f"Parameter {name} has the default {default!r}, which is not a valid value.")
        if structure and adapter and found.default is not None:
            structure["default"] = adapter.dump_python(default, mode="json")
        return found

    def _is_valid_default(self) -> bool:
        if self.default is None:
            return True
        # Options that follow from the data are not known yet.
        options = () if callable(self.options) else self.options
        items = self.default if self.many else [self.default]
        return isinstance(items, list) and all(
            self._is_valid(item) and (not options or _spelled(item) in options) and self._is_in_bounds(item)
            for item in items
        )

    def _is_valid(self, value: Any) -> bool:
        if self.adapter:
            try:
                self.adapter.validate_python(value, strict=True)
            except ValueError:
                return False
        if isinstance(value, bool | datetime):  # which are numbers and dates too
            return self.type is type(value)
        if self.type is float:
            return isinstance(value, int | float) and abs(value) < math.inf
        return isinstance(value, self.type)

    def resolved(self, reference: Any) -> Parameter:
        """Return the parameter without code, as another process can have it."""
        source = self.source and replace(self.source, match=None)
        options, default = self._options(reference), None if self.adapter else self.default
        return replace(self, help=self._help(reference), options=options, source=source, default=default, adapter=None)

    def description(self, rules: Sequence[Any] = (), reference: Any = None) -> str:
        """Describe the parameter and its valid values in the service's own wording."""
        kind = "[Required]" if self.required else "[Optional]"
        sentences = [kind, self._help(reference), *self._limits(reference)]
        for rule in rules:
            if isinstance(rule, AtLeastOne) and self.name in rule.names:
                others = " or ".join(name for name in rule.names if name != self.name)
                sentences.append(f"Required if {others} is not specified.")
        if values := self._defaults():
            sentences.append(f"If none, {self.name} defaults to {listed(map(_spelled, values))}.")
        return " ".join(sentence for sentence in sentences if sentence)

    def schema(self, reference: Any = None) -> dict[str, Any]:
        """Return the JSON Schema of the values: with their types, though the wire has them as text."""
        if self.structure is not None:
            return self.structure
        item = dict(_SCHEMAS.get(self.type) or _SCHEMAS[str])
        if options := self._options(reference):
            typed = self.type is int and all(map(_WHOLE.fullmatch, options))
            item = (
                {"type": "integer", "enum": [*map(int, options)]} if typed else {"type": "string", "enum": [*options]}
            )
        is_number = item["type"] != "string"
        if is_number and self.bounds and not options:
            limits = {"minimum": self.bounds.low, "maximum": self.bounds.high}
            # JSON has no infinity, and its numbers may be read as 64 bits.
            item |= {name: limit for name, limit in limits.items() if abs(limit) <= _INT64.high}
        schema = {"type": "array", "items": item} if self.many else item
        if values := [each if is_number else _spelled(each) for each in self._defaults()]:
            schema["default"] = values if self.many else values[0]
        return schema

    def _defaults(self) -> list[Any]:
        if self.structure is not None:
            return [self.structure["default"]] if "default" in self.structure else []
        return (self.default or []) if self.many else [] if self.default is None else [self.default]

    def _limits(self, reference: Any) -> list[str]:
        """Return the sentences about valid values that descriptions and errors share."""
        options = self._options(reference)
        return [
            *([self.source.sentence] if self.source else []),
            *([f"Options are {listed(options)}."] if options else []),
            *([f"Must be at least {self.bounds.low} and at most {self.bounds.high}."] if self.bounds else []),
            *(["Must be a number."] if self.type is float else []),
            *(["Format is YYYY-MM-DD."] if self.type is date else []),
            *(["Must be JSON."] if self.type is object else []),
        ]

    def _help(self, reference: Any) -> str:
        return self.help(reference) if callable(self.help) else self.help

    def _options(self, reference: Any) -> tuple[str, ...]:
        return self.options(reference) if callable(self.options) else self.options

    def read(self, value: Any, reference: Any) -> tuple[Any, list[str]]:
        """Return a wire value as a Python value, and what is wrong with it."""
        if is_absent(value):
            if self.required:
                return None, [" ".join([f"{self.name} is required.", *self._limits(reference)])]
            return self.default, []
        if self.structure is not None:
            return self._read_json(value)
        if isinstance(value, list) and not self.many:
            return None, [f"{self.name} must be a single value, not a list."]
        options = self._options(reference)
        # The first of those that differ only in case.
        known = {option.casefold(): option for option in reversed(options)}
        read: list[Any] = []
        errors: list[str] = []
        for item in value if isinstance(value, list) else [value]:
            if _is_blank(item):
                continue
            if len(errors) == _MAX_ERRORS:
                errors.append("Further values were not checked.")
                break
            try:
                read.append(self._read_item(item, options, known, reference))
            except ValueError as error:
                errors.append(f"{self.name} {error}")
        if self.many:
            # By text: a caller can choose numbers whose hashes collide.
            return list({repr(item): item for item in read}.values()), errors
        return (read or [None])[0], errors

    def _read_json(self, value: Any) -> tuple[Any, list[str]]:
        is_text = isinstance(value, str)
        if not is_text and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
            return None, [f"{self.name} must be JSON as text, not {_JSON_NAMES.get(type(value), 'a number')}."]
        if self.adapter is None:  # the worker reads it
            return value, []
        from pydantic import ValidationError

        try:
            # The items of a list are text, whatever they stand for.
            return self.adapter.validate_json(value if is_text else msgspec.json.encode(value), strict=is_text), []
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_context=False, include_input=False)[:_MAX_ERRORS]
            places = [".".join(map(str, each["loc"])) for each in wrong]
            return None, [
                f"{self.name} is not valid{f' at {quoted(place)}' if place else ''}: {inert(each['msg'][:_LONGEST])}."
                for each, place in zip(wrong, places, strict=True)
            ]

    def _read_item(self, value: Any, options: Sequence[str], known: Mapping[str, str], reference: Any) -> Any:
        if isinstance(value, bool) and known.keys() == {"yes", "no"}:
            value = _spelled(value)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f"must be {_NAMES[self.type]}, not {_JSON_NAMES.get(type(value), 'this')}.")  # noqa: TRY004 - the caller's value, not ours
        text = str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()
        if options:
            if (folded := text.casefold()) not in known:
                near = did_you_mean(text, options)
                raise ValueError(f"has no option {quoted(text)}.{near} Options are {listed(options)}.")
            text = known[folded]
        if self.type is str:
            return self._matched(text, reference)
        try:
            found = _parsed(self.type, text)
        except ValueError:
            raise ValueError(f"must be {_NAMES[self.type]}, not {quoted(text)}.") from None
        if not self._is_in_bounds(found):
            bounds = self.bounds or _INT64
            raise ValueError(f"must be between {bounds.low} and {bounds.high}, not {quoted(text)}.")
        return found

    def _matched(self, text: str, reference: Any) -> str:
        if not self.source or not self.source.match:
            return text
        try:
            return self.source.match(reference, text)
        except ValueError as error:
            raise ValueError(f"{quoted(text)} {error} {self.source.sentence}") from None

    def _is_in_bounds(self, value: Any) -> bool:
        limits = (self.bounds, _INT64 if self.type is int else None)
        return all(each.low <= value <= each.high for each in limits if each)


def _structure(annotation: Any) -> tuple[dict[str, Any] | None, TypeAdapter[Any] | None]:
    """Return the schema of an annotation whose values are JSON objects or lists, and what reads them."""
    from pydantic import PydanticUserError, TypeAdapter

    try:
        adapter = TypeAdapter(annotation)
        schema = adapter.json_schema()
    except (PydanticUserError, NameError):  # not for JSON, or a name that is not known
        return None, None
    kinds = [
        schema["$defs"][each["$ref"].rpartition("/")[2]] if "$ref" in each else each
        for each in schema.get("anyOf") or schema.get("oneOf") or [schema]
    ]
    return (schema, adapter) if all(each.get("type") in ("object", "array") for each in kinds) else (None, None)


def is_absent(value: Any) -> bool:
    """Tell whether a wire value means the same as leaving the argument out."""
    return all(map(_is_blank, value)) if isinstance(value, list) else _is_blank(value)


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _parsed(kind: type, text: str) -> Any:
    # Python reads underscores between digits, digits of other scripts, and dates in more than one format.
    if len(text) > _LONGEST or not text.isascii() or "_" in text:
        raise ValueError(text)
    if kind is int and "." in text and text.endswith("0"):
        text = text.rstrip("0").removesuffix(".")  # as spreadsheets write whole numbers
    read: dict[type, Callable[[str], Any]] = {bool: "Yes".__eq__, date: date.fromisoformat}
    found = read.get(kind, kind)(text)
    if (kind is float and not abs(found) < math.inf) or (kind is date and str(found) != text):
        raise ValueError(text)
    return found


def _unwrapped(annotation: Any) -> tuple[Any, list[Any]]:
    """Take `Annotated` and `… | None` off an annotation; return what is inside and the markers, the outermost last."""
    if get_origin(annotation) is Annotated:
        inner, markers = _unwrapped(annotation.__origin__)
        return inner, [*markers, *annotation.__metadata__]
    if get_origin(annotation) in (Union, UnionType):
        inner = [each for each in get_args(annotation) if each is not NoneType]
        if len(inner) == 1:
            return _unwrapped(inner[0])
    return annotation, []


def _spelled(value: Any) -> str:
    """Return a Python value as the service spells it."""
    if isinstance(value, dict | list):
        return msgspec.json.encode(value).decode()
    return str(value) if not isinstance(value, bool) else "Yes" if value else "No"

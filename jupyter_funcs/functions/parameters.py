"""
A parameter of a callable: what its annotation and default say of it, its JSON Schema, and how its values are read.

Values enter by two doors. From the first wire come texts and lists of texts, in which null and empty values mean that
the argument is left out. Typed JSON is taken as it is: null where the annotation allows None, empty texts and lists.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from enum import Enum
from functools import partial
from itertools import filterfalse
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import msgspec
import typing_extensions

from jupyter_funcs.core.json_decoding import JsonObject, Values, as_list
from jupyter_funcs.core.text import exact, quoted, quoted_list, suggestion
from jupyter_funcs.functions.markers import (
    AtLeastOne,
    Between,
    Help,
    ListedBy,
    Options,
    Text,
    Texts,
    TypeCode,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pydantic import TypeAdapter

    Kind = type[object]
else:  # what a worker sends, of which msgspec reads the types
    Kind = type

SUPPORTED = (
    "str, int, float, bool, date, datetime, timedelta, Decimal, an Enum, Literal['…'], a dict, a dataclass, "
    "list[…] or a union of these, or another type that pydantic reads from JSON"
)
"""The annotations that a published parameter can have."""

ABSENT = inspect.Parameter.empty
_SAYING_NOTHING = {"default", "description"}
_ANY = {"type": ["null", "boolean", "number", "string", "array", "object"]}
# In characters, of what isn't text: converting a long number takes quadratic time.
_LONGEST = 400
# Messages stop here: a list may hold a hundred thousand invalid values.
_MAX_ERRORS = 10
# The types that are read here, in the words of the service; pydantic, which takes a while to import, reads the others.
_NAMES = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "'Yes' or 'No'",
    date: "a date (YYYY-MM-DD)",
}
_JSON_NAMES = {
    bool: "true or false",
    list: "a list",
    dict: "an object",
    NoneType: "null",
}
_FORMATS = {float: ["Must be a number."], date: ["Format is YYYY-MM-DD."]}
_WHOLE = re.compile(r"(?a)0|-?[1-9]\d{0,17}")
# What an integer column of a database can hold.
_INT64 = Between(-(2**63), 2**63 - 1)
# The kinds of the values that built-in functions list.
_LISTED_CODES = {"Get Panels": TypeCode.PANEL, "Get Universe": TypeCode.SYMBOL}
_MARKERS = {AtLeastOne, Between, Help, ListedBy, Options, TypeCode}
_JSON = {"object", "array"}


@dataclass(frozen=True)
class Parameter:
    """
    A parameter; `passing` is its kind in Python.

    `structure` is the schema of one whose `type` is `object`, whose values `adapter` reads.
    """

    name: str
    type: Kind = object
    code: TypeCode = TypeCode.TEXT
    required: bool = True
    default: Any = None
    help: Text = ""
    many: bool = False
    options: Texts = ()
    source: ListedBy | None = None
    bounds: Between | None = None
    nullable: bool = False
    needs_text: bool = False
    structure: Any = None
    adapter: Any = None
    passing: str = "KEYWORD_ONLY"
    takes_objects: bool = False

    @classmethod
    def published(cls, declared: inspect.Parameter) -> Parameter:
        """Read a parameter of the service; raises `TypeError` if its annotation or default isn't for JSON."""
        name, annotation, default = _declared(declared)
        if annotation is ABSENT:
            annotation = _type_of(default)
        base, markers, nullable = _unwrapped(annotation)
        many = get_origin(base) is list
        item, own = _item_of(base)
        by_type = {type(marker): marker for marker in (*own, *markers)}
        kind, options = _listed(item)
        options = options or getattr(by_type.get(Options), "values", ())
        required = default is ABSENT
        if required:
            default = None
        source = by_type.get(ListedBy)
        bounds = by_type.get(Between)
        adapter = structure = None
        if kind not in _NAMES or not by_type.keys() <= _MARKERS:
            kind = object
            adapter, structure, is_json = _read_annotation(
                name, annotation, default, item
            )
            many = many and not is_json

        _check_markers(name, kind, item, by_type)
        parameter = cls(
            name=name,
            type=kind,
            code=by_type.get(TypeCode, _code(kind, item, source, many=many)),
            required=required,
            default=default,
            help=by_type.get(Help, Help("")).text,
            many=many,
            options=options,
            source=source,
            bounds=bounds,
            nullable=nullable,
            needs_text=kind is str and any([options, source, required and by_type]),
            structure=structure,
            adapter=adapter,
            passing=declared.kind.name,
        )
        if not parameter.has_valid_default():
            raise TypeError(
                f"Parameter {name} has the default {default!r}, which is not a valid value."
            )

        return parameter

    @classmethod
    def of_python(cls, declared: inspect.Parameter, help_: str) -> Parameter:
        """Read a parameter of a function of this process, which takes objects where no annotation is for JSON."""
        from pydantic import TypeAdapter

        name, annotation, default = _declared(declared)
        adapter = TypeAdapter[Any](Any)
        schema: JsonObject = {}
        if annotation is ABSENT:
            annotation = Any
        with suppress(Exception):  # annotations may be anything, and fail in any way
            adapter, schema = described(annotation, default)
        for marker in _unwrapped(annotation)[1]:
            if isinstance(marker, Help) and isinstance(marker.text, str):
                help_ = marker.text
            elif isinstance(marker, ListedBy):
                help_ = f"{help_} {marker.sentence}".strip()

        takes_objects = not schema.keys() - _SAYING_NOTHING
        if takes_objects and "default" in schema:
            schema |= _ANY
        return cls(
            name=name,
            required=default is ABSENT,
            default=default,
            help=help_,
            structure=schema or True,
            adapter=adapter,
            passing=declared.kind.name,
            takes_objects=takes_objects,
        )

    def has_valid_default(self) -> bool:
        """Tell whether the default is a value that the parameter takes."""
        if self.default is None:
            return True
        sent = self.default
        if self.type is not object:
            sent = self._alone([*map(_spelled, self._defaults())])
        parameter = replace(self, source=None)
        if callable(self.options):  # they follow from the data, which isn't there yet
            parameter = replace(parameter, options=())
        value, errors = parameter.read(sent, None, typed=True)
        return not errors and bool(value == self.default)

    def _alone(self, values: list[Any]) -> Any:
        """Return the values of a list, else the only one."""
        if self.many:
            return values
        return next(iter(values), None)

    def resolved(self, reference: Any) -> Parameter:
        """Return the parameter without code, as another process can have it."""
        plain = replace(
            self,
            help=_of(self.help, reference),
            options=_of(self.options, reference),
            source=self.source and replace(self.source, match=None),
            adapter=None,
        )
        if self.adapter:
            return replace(plain, default=None)
        return plain

    def description(self, rules: Sequence[Any] = (), reference: Any = None) -> str:
        """Describe the parameter and its valid values in the service's own wording."""
        marker = "[Optional]"
        if self.required:
            marker = "[Required]"
        sentences = [marker, _of(self.help, reference), *self._limits(reference)]
        for rule in rules:
            if isinstance(rule, AtLeastOne) and self.name in rule.names:
                others = " or ".join(name for name in rule.names if name != self.name)
                sentences.append(f"Required if {others} is not specified.")

        if values := self._defaults():
            sentences.append(
                f"If none, {self.name} defaults to {quoted_list(map(_spelled, values))}."
            )

        return " ".join(filter(None, sentences))

    def schema(self, reference: Any = None) -> Any:
        """Return the JSON Schema of the values: with their types, though the first wire has them as text."""
        if self.type is object:
            return self.structure
        schema = self._item_schema(reference)
        values = self._defaults()
        if schema["type"] == "string":
            values = [*map(_spelled, values)]
        if self.many:
            schema = {"type": "array", "items": schema}
        if self.nullable:
            schema = {"anyOf": [schema, {"type": "null"}]}
        if values:
            schema["default"] = self._alone(values)
        return schema

    def _item_schema(self, reference: Any) -> JsonObject:
        options = _of(self.options, reference)
        if options and self.type is int and all(map(_WHOLE.fullmatch, options)):
            return {"type": "integer", "enum": [*map(int, options)]}
        schema = msgspec.json.schema(self.type)
        if options:
            schema = {"type": "string", "enum": [*options]}
        elif self.bounds:
            limits = {"minimum": self.bounds.low, "maximum": self.bounds.high}
            # JSON has no infinity, and its numbers may be read as 64 bits.
            schema |= {
                name: limit
                for name, limit in limits.items()
                if abs(limit) <= _INT64.high
            }

        if self.needs_text and "" not in options:
            schema["minLength"] = 1
        return schema

    def _defaults(self) -> list[Any]:
        if self.type is object and "default" in self.structure:
            return [self.structure["default"]]
        if self.type is object or self.default is None:
            return []
        return as_list(self.default)

    def _limits(self, reference: Any) -> list[str]:
        """Return the sentences about valid values that descriptions and errors share."""
        options = _of(self.options, reference)
        sentences = []
        if self.source:
            sentences.append(self.source.sentence)
        if options:
            sentences.append(f"Options are {quoted_list(options)}.")
        if self.bounds:
            sentences.append(
                f"Must be at least {self.bounds.low} and at most {self.bounds.high}."
            )

        sentences += _FORMATS.get(self.type, [])
        if self.type is object and not self.many and _types(self.structure) <= _JSON:
            sentences.append("Must be JSON.")
        return sentences

    @property
    def _keeps_blanks(self) -> bool:
        """Whether white space is a value."""
        if self.type is object:
            return "string" in _types(self.structure)
        return self.type is str and not self.options and not self.source

    def is_absent(self, value: Any, *, typed: bool = False) -> bool:
        """Tell whether a value means the same as leaving the argument out."""
        if value is ABSENT:
            return True
        if typed:
            left_out = value == "" and self.needs_text
            return left_out or (
                value is None and self.default is None and not self.required
            )

        return all(map(self._is_blank, as_list(value)))

    def _is_blank(self, value: Any) -> bool:
        return (
            value is None
            or value == ""
            or (isinstance(value, str) and value.isspace() and not self._keeps_blanks)
        )

    def read(
        self, value: Any, reference: Any, *, typed: bool = False
    ) -> tuple[Any, list[str]]:
        """Return a value of the first wire, or of typed JSON, as a Python value, and what is wrong with it."""
        if self.is_absent(value, typed=typed):
            if self.required:
                return None, [
                    " ".join([f"{self.name} is required.", *self._limits(reference)])
                ]
            return self.default, []

        if value is None and self.nullable:
            return None, []
        options = _of(self.options, reference)
        # The first of those that differ only in case.
        spelt = {option.casefold(): option for option in reversed(options)}
        if self.type is object:
            return self._read_any(value, spelt, typed=typed)
        if isinstance(value, list) and not self.many:
            return None, [f"{self.name} must be a single value, not a list."]
        items = as_list(value)
        if not typed:
            items = [*filterfalse(self._is_left_out, items)]
        read, errors = self._read_items(items, options, spelt, reference)
        return self._alone(read), errors

    def _read_items(
        self,
        items: list[Any],
        options: Sequence[str],
        spelt: Mapping[str, str],
        reference: Any,
    ) -> tuple[list[Any], list[str]]:
        read = []
        errors: list[str] = []
        for item in items:
            if len(errors) == _MAX_ERRORS:
                errors.append("Further values were not checked.")
                break
            try:
                read.append(self._read_item(item, options, spelt, reference))
            except ValueError as error:
                errors.append(f"{self.name} {error}")

        return read, errors

    def _is_left_out(self, item: Any) -> bool:
        """Tell whether an item of a list of the first wire is none."""
        return item is None or (self._is_blank(item) and not self._keeps_blanks)

    def _read_any(
        self, value: Any, spelt: Mapping[str, str], *, typed: bool
    ) -> tuple[Any, list[str]]:
        """Read a value with pydantic: a text of the first wire as what it is, else as JSON, else as the only item."""
        if self.adapter is None:  # the worker reads it
            return value, []
        from pydantic import ValidationError

        readers = []
        if isinstance(value, str) and not typed:
            value = spelt.get(value.casefold().strip(), value)
            if not self._keeps_blanks:
                readers.append(partial(self.adapter.validate_json, value, strict=True))
            if self.many:
                readers.append(partial(self.adapter.validate_python, [value]))

        readers.insert(0, partial(self.adapter.validate_python, value))
        errors = []
        for reader in readers:
            try:
                return reader(), []
            except ValidationError as error:
                errors.append(error)

        # Of a single value, the first says more than why it isn't JSON.
        reason = errors[0]
        if self.many or _types(self.structure) <= _JSON:
            reason = errors[-1]
        wrong = reason.errors(
            include_url=False, include_context=False, include_input=False
        )
        return None, [
            f"{self.name} is not valid{_reason(part)}." for part in wrong[:_MAX_ERRORS]
        ]

    def _read_item(
        self,
        value: Any,
        options: Sequence[str],
        spelt: Mapping[str, str],
        reference: Any,
    ) -> Any:
        if isinstance(value, bool) and spelt.keys() == {"yes", "no"}:
            value = _spelled(value)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            kind = _JSON_NAMES.get(type(value), "this")
            raise ValueError(f"must be {_NAMES[self.type]}, not {kind}.")  # noqa: TRY004 - the caller's value, not ours

        if isinstance(value, float) and value.is_integer():
            value = int(value)
        text = str(value)
        if self._keeps_blanks:
            return text
        text = text.strip()
        if options and text.casefold() not in spelt:
            near = suggestion(text, options)
            raise ValueError(
                f"has no option {quoted(text)}.{near} Options are {quoted_list(options)}."
            )

        text = spelt.get(text.casefold(), text)
        if self.type is str:
            return self._matched(text, reference)
        return self._parsed(text)

    def _parsed(self, text: str) -> Any:
        """Return the number, date or flag that a text is, within the bounds."""
        try:
            value = _parsed(self.type, text)
        except ValueError:
            raise ValueError(
                f"must be {_NAMES[self.type]}, not {quoted(text)}."
            ) from None

        is_long = self.type is int and not _INT64.low <= value <= _INT64.high
        if is_long or (
            self.bounds and not self.bounds.low <= value <= self.bounds.high
        ):
            bounds = self.bounds or _INT64
            raise ValueError(
                f"must be between {bounds.low} and {bounds.high}, not {quoted(text)}."
            )

        return value

    def _matched(self, text: str, reference: Any) -> str:
        if not self.source or not self.source.match:
            return text
        try:
            return self.source.match(reference, text)
        except ValueError as error:
            raise ValueError(f"{quoted(text)} {error} {self.source.sentence}") from None


def described(
    annotation: Any, default: Any = None, *, by_alias: bool = True
) -> tuple[TypeAdapter[Any], JsonObject]:
    """Return what reads the values of an annotation, and their schema; raises anything for what isn't JSON."""
    from pydantic import TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema

    class DecimalSchemas(GenerateJsonSchema):
        # Otherwise the same as for float | str.
        def decimal_schema(self, schema: Any) -> JsonObject:
            number = super().decimal_schema(schema)["anyOf"][0]
            return {**number, "type": ["number", "string"], "format": "decimal"}

    adapter = TypeAdapter[Any](_with_extensions(annotation))
    schema = adapter.json_schema(by_alias=by_alias, schema_generator=DecimalSchemas)
    with suppress(Exception):  # the default may be of another type
        if default is not ABSENT and default is not None:
            schema["default"] = adapter.dump_python(
                default, mode="json", warnings=False
            )

    return adapter, schema


def _with_extensions(annotation: Any) -> Any:
    """
    Return an annotation with the typed dictionaries that pydantic reads: before Python 3.12 not those of typing.

    Any iterable is a list.
    """
    if is_typeddict(annotation) and type(annotation).__module__ == "typing":
        hints = get_type_hints(annotation, include_extras=True)
        fields = {name: _with_extensions(hint) for name, hint in hints.items()}
        # mypy takes it for a special form that can't be called.
        make: Any = typing_extensions.TypedDict
        return make(annotation.__name__, fields, total=annotation.__total__)

    parts = get_args(annotation)
    changed = tuple(map(_with_extensions, parts))
    origin: Any = Union if isinstance(annotation, UnionType) else get_origin(annotation)
    if Iterable in (annotation, origin):
        # What pydantic makes of it can be read only once.
        several: Any = list
        return several[changed] if changed else several
    if changed == parts:
        return annotation
    return origin[changed]


def _listed(annotation: Any) -> tuple[Any, Texts]:
    """Return the only type of the values of an annotation, and those that it lists."""
    if get_origin(annotation) is Literal:
        values = get_args(annotation)
        kinds = {*map(type, values)}
        return kinds.pop() if len(kinds) == 1 else None, tuple(map(_spelled, values))

    if annotation is bool:
        return bool, ("Yes", "No")
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return annotation, tuple(_spelled(member.value) for member in annotation)
    return annotation, ()


def _code(kind: Any, item: Any, source: ListedBy | None, *, many: bool) -> TypeCode:
    """Return the type code of a parameter without one of its own."""
    if many:
        return TypeCode.LIST
    if int in (kind, item):
        return TypeCode.INTEGER
    return _LISTED_CODES.get(getattr(source, "function", ""), TypeCode.TEXT)


def _types(schema: Values) -> set[str]:
    """Return the types of which a value has one; ``value`` stands for one that is a text only on the wire."""
    definitions = schema.get("$defs", {})
    types = set()
    for part in schema.get("anyOf") or schema.get("oneOf") or [schema]:
        named = definitions.get(part.get("$ref", "").rpartition("/")[2], part)
        kind = named.get("type", "string")
        if {"enum", "const", "format"} & named.keys() or not isinstance(kind, str):
            kind = "value"
        types.add(kind)

    return types - {"null"}


def _declared(declared: inspect.Parameter) -> tuple[str, Any, Any]:
    """Return name, annotation and default; ``*args`` is a list, by default an empty one."""
    if declared.kind is not declared.VAR_POSITIONAL:
        return declared.name, declared.annotation, declared.default
    item = Any if declared.annotation is ABSENT else declared.annotation
    return declared.name, list[item], []  # type: ignore[valid-type]  # known at run time only


def _of(value: Any, reference: Any) -> Any:
    """Return a value that may follow from the data."""
    if callable(value):
        return value(reference)
    return value


def _reason(error: Any) -> str:
    reason = f": {exact(error['msg'][:_LONGEST])}"
    if place := ".".join(map(str, error["loc"])):
        return f" at {quoted(place)}{reason}"
    return reason


def _parsed(kind: type, text: str) -> Any:
    # Python reads underscores between digits, digits of other scripts, and dates in more than one format.
    if len(text) > _LONGEST or not text.isascii() or "_" in text:
        raise ValueError(text)
    if kind is int and "." in text and text.endswith("0"):
        text = text.rstrip("0").removesuffix(".")  # as spreadsheets write whole numbers
    read: dict[type, Callable[[str], Any]] = {
        bool: "Yes".__eq__,
        date: date.fromisoformat,
    }
    value = read.get(kind, kind)(text)
    if (kind is float and not math.isfinite(value)) or (
        kind is date and str(value) != text
    ):
        raise ValueError(text)

    return value


def _unwrapped(annotation: Any) -> tuple[Any, list[Any], bool]:
    """Return what is inside `Annotated` and ``… | None``, the markers (the outermost last), and if None is allowed."""
    if get_origin(annotation) is Annotated:
        inner, markers, nullable = _unwrapped(annotation.__origin__)
        return inner, [*markers, *annotation.__metadata__], nullable

    nullable = get_origin(annotation) in (Union, UnionType) and NoneType in get_args(
        annotation
    )
    if nullable and len(get_args(annotation)) == 2:
        inner = next(part for part in get_args(annotation) if part is not NoneType)
        return *_unwrapped(inner)[:2], nullable

    return annotation, [], nullable


def _item_of(base: Any) -> tuple[Any, list[Any]]:
    """Return the annotation of one value, and its markers; with None, if that may be in a list."""
    if get_origin(base) is not list:
        return base, []
    [inner] = get_args(base)
    item, markers, has_nulls = _unwrapped(inner)
    return inner if has_nulls else item, markers


def _type_of(default: Any) -> Any:
    """Infer an annotation from a default; a list holds what its first item is."""
    if default is ABSENT or default is None:
        return str
    if isinstance(default, list):
        return list[type(default[0]) if default else str]  # type: ignore[misc] # built at run time
    return type(default)


def _spelled(value: Any) -> str:
    """Return a Python value as the service spells it."""
    if isinstance(value, dict | list):
        return msgspec.json.encode(value).decode()
    if isinstance(value, bool):
        return "Yes" if value else "No"
    return str(value)


def _read_annotation(
    name: str, annotation: Any, default: Any, item: Any
) -> tuple[Any, JsonObject, bool]:
    """Return how pydantic reads an annotation, its schema, and whether its items are JSON; else raise `TypeError`."""
    try:
        adapter, structure = described(annotation, default)
        is_json = _types(described(item)[1]) <= _JSON
    except Exception as error:  # noqa: BLE001  # annotations may be anything, and fail in any way
        shown = inspect.formatannotation(annotation)
        reason = str(error).partition("\n")[0].partition(". ")[0].rstrip(".")
        text = f"Parameter {name} is annotated {shown}: {reason}. Use {SUPPORTED}."
        raise TypeError(text) from None

    if not structure.keys() - _SAYING_NOTHING:
        structure |= _ANY
    return adapter, structure, is_json


def _check_markers(name: str, kind: Any, item: Any, markers: Collection[type]) -> None:
    if Between in markers and not {int, float} & {kind, item}:
        raise TypeError(
            f"Parameter {name} takes {_NAMES.get(kind, 'JSON')}, but Between needs a number."
        )

    if Options in markers and kind is object:
        raise TypeError(
            f"Parameter {name} takes JSON, but Options needs text or a number."
        )

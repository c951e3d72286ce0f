"""JSON Schemas: what one declares of a field, whether it accepts a value, and what one declares of replies."""

from __future__ import annotations

import itertools
import json
import math
import operator
from contextlib import suppress
from contextvars import ContextVar
from copy import copy
from decimal import Decimal
from functools import cache, partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.core.json_decoding import (
    JsonObject,
    Once,
    Values,
    as_list,
    only,
    referred,
    texts_in,
)
from jupyter_funcs.core.text import TIMES, clip, listed, plural, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_MOST_STEPS = 50  # references that lead to one parameter's schema
# References followed to check one value: a small schema may need exponentially many.
_MOST_FOLLOWED = 2000
_TYPES = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "yes/no",
    "array": "list",
}
# What says something about the values, unlike title or description.
_SAYING = {
    "type",
    "enum",
    "const",
    "format",
    "anyOf",
    "oneOf",
    "allOf",
    "$ref",
    "properties",
    "items",
    "not",
    "if",
}
_LOWER = {"minimum", "exclusiveMinimum"}
_UPPER = {"maximum", "exclusiveMaximum"}
# The keywords of sizes: of what, whether a size is beyond them, and in words.
_SIZES: dict[str, tuple[Any, Callable[[int, int], bool], str, str]] = {
    "minLength": (str, operator.lt, "at least", "character"),
    "maxLength": (str, operator.gt, "at most", "character"),
    "minItems": (list, operator.lt, "at least", "value"),
    "maxItems": (list, operator.gt, "at most", "value"),
}
_ALSO_NUMBERS: dict[str, set[str]] = {"decimal": {"integer", "string"}}
# The key for how a schema contradicts itself, which no document has.
_PROBLEM: Any = object()
_READ = _SAYING | _LOWER | _UPPER | _SIZES.keys() | {"default", "description", _PROBLEM}
_MAX_TEXT = 4000  # characters of a description, which many parameters may share
_NULL = {"type": "null"}
_MOST_LEVELS = 8  # of a reply: what leads to its rows, and the objects in them
_MOST_MEMBERS = 1000  # of a reply, of an object in it, or options of one
_MAX_ABOUT = 500  # characters of what is said of a column
_UNITS = ("x-unit", "x-units", "unit", "units")
_DECIMAL = "^(?!^[-+.]*$)[+-]?0*"  # how pydantic's patterns of decimals begin
# Of an object that is a group of fields; a larger one is one field.
MOST_PROPERTIES = 200
_MOST_TEMPLATES = 3  # levels of objects in a template
_BLANK: JsonObject = {
    "string": "",
    "integer": 0,
    "number": 0,
    "boolean": False,
    "array": [],
}
_DEFINITIONS = ("$defs", "definitions")
# In place of more parts than are read: any JSON value.
_ENDLESS: JsonObject = {"anyOf": []}


NO_BOUNDS = (None, None)


class Declaration(NamedTuple):
    """
    What a schema declares of a field, in the words of `catalog.fields`.

    `item` is the kind of a list's items. `sizes` are bounds of a list, and of a text or its texts. `typed` maps
    options that are not texts to their JSON values. `problem` says how the schema contradicts itself; what is
    contradictory is left out.
    """

    kind: str
    item: str = "text"
    options: tuple[str, ...] = ()
    typed: Mapping[str, Any] = {}
    default: str | None = None
    bounds: tuple[float | None, float | None] = NO_BOUNDS
    description: str = ""
    problem: str = ""
    format: str = ""
    sizes: tuple[Values, Values] = ({}, {})


class Members(NamedTuple):
    """The properties of an object, or of each object of a list, whose schema is `item`; and which it requires."""

    properties: Values
    required: frozenset[str]
    read_only: frozenset[str]
    item: Values | None


NO_MEMBERS = Members({}, frozenset(), frozenset(), None)


class _Options(NamedTuple):
    """The plain values that a schema lists."""

    kind: str
    texts: tuple[str, ...]
    typed: Values


_NO_OPTIONS = _Options("", (), {})
_FLAGS = _Options("", ("true", "false"), {"true": True, "false": False})


class Schemas(Once):
    """Reads the schemas of parameters. What they share, such as a long list of options, is read once."""

    def read(self, schema: Any) -> Declaration | None:
        """Return what a schema declares; ``None`` if it says nothing about the values."""
        if schema is True:  # any JSON value
            return Declaration("json")
        if not says(schema):
            return None
        whole = part = self._simplified(schema, schema)
        kind = self._kind(whole)
        item = "text"
        if kind == "list":
            part = self._simplified(whole["items"], schema)
            item = self._kind(part)
            if item in {"json", "list"}:
                kind = "json"
                item = "text"

        problems = [whole.get(_PROBLEM), part.get(_PROBLEM)]
        options = self._options(part)
        if options is None:
            options = _FLAGS if "yes/no" in {kind, item} else _NO_OPTIONS
        elif not options.texts:
            problems.append("it has no options")
            if kind == "choice":
                kind = "text"

        bounds, wrong_bounds = _bounds(part)
        if {kind, item}.isdisjoint({"integer", "number"}):
            bounds = NO_BOUNDS
        default = whole.get("default")
        if default is not None:
            default = self.once("default", default, text_of)
        return Declaration(
            kind,
            item,
            options.texts,
            options.typed,
            default,
            bounds,
            only(str, whole.get("description"))[:_MAX_TEXT],
            next(filter(None, [*problems, wrong_bounds]), ""),
            only(str, part.get("format")),
            (_sizes(whole), _sizes(part)),
        )

    def members(self, schema: Values, most: int) -> Members:
        """Return the parts of an object or of a list of objects, each a schema of its own; none of anything else."""
        whole = self._simplified(schema, schema)
        definitions = definitions_of(schema)
        item = None
        if _types(whole) == ["array"] and not {"anyOf", "oneOf"} & whole.keys():
            item = definitions | only(dict, whole.get("items"))
        named, required = properties_of(item or schema, partial(referred, root=schema))
        if len(named) > min(most, MOST_PROPERTIES):
            return NO_MEMBERS
        properties = {}
        read_only = set()
        for name, part in named.items():
            if said_of("readOnly", part, schema) is True:
                read_only.add(name)
            elif isinstance(part, dict):
                properties[name] = definitions | part
            else:
                properties[name] = part

        return Members(
            properties, frozenset(required - read_only), frozenset(read_only), item
        )

    def _simplified(self, part: Values, root: Any) -> JsonObject:
        """Return a schema with its references followed, its parts merged and null left out, where that is simple."""
        schema = _plain(part)
        for _ in range(_MOST_STEPS):
            if isinstance(ref := schema.pop("$ref", None), str):
                inner = referred(ref, root)
            elif isinstance(parts := schema.pop("allOf", None), list):
                inner = self.once(
                    "parts",
                    parts,
                    lambda parts: reduce(self._merged, parts, JsonObject()),
                )
            else:
                words = [
                    word for word in ("anyOf", "oneOf") if _only_one(schema.get(word))
                ]
                if not words:
                    return schema
                inner = _only_one(schema.pop(words[0]))[0]
            schema = self._merged(schema, inner)

        return {**_ENDLESS}

    def _merged(self, own: JsonObject, other: Any) -> JsonObject:
        """Return a schema that accepts what both accept; where that is not simple, what `own` says."""
        if not isinstance(other, dict):
            return {**_ENDLESS}
        merged = _plain(other) | own
        for word in own.keys() & other.keys() & {"enum", "type"}:
            # Once for two lists, which many parameters may share.
            both = self.once(
                (word, id(other[word])),
                own[word],
                partial(self._common, word, other[word]),
            )
            if word == "type" and not both:
                problem = f"no value is of the types {text_of(own[word])} and {text_of(other[word])}"
                return {"anyOf": [], _PROBLEM: problem}
            merged[word] = both

        for word in _LOWER | _UPPER:
            bounds = [part[word] for part in (own, other) if _is_number(part.get(word))]
            if bounds:
                merged[word] = max(bounds) if word in _LOWER else min(bounds)

        if {"anyOf", "oneOf", "allOf"} & own.keys() & other.keys():
            return {"anyOf": []}
        return merged

    def _common(self, word: str, other: Any, own: Any) -> list[Any]:
        """Return the options or types that are in both of two lists."""
        values, others = (
            self.once(word, listed, partial(_by_text, word)) for listed in (own, other)
        )
        both = [value for text, value in values.items() if text in others]
        if word == "type" and "number" in both:
            both.remove("integer")
        return both

    def _kind(self, schema: Values) -> str:
        options = self._options(schema)
        if options:
            return options.kind
        types = _types(schema)
        form = schema.get("format")
        if form == "decimal" and "number" in types:
            return "number"
        is_alternative = (
            schema.get("anyOf") is not None or schema.get("oneOf") is not None
        )
        if len(types) != 1 or is_alternative:
            return "json"
        if types == ["array"] and not only(dict, schema.get("items")):
            return "json"
        if types == ["string"] and form == "date":
            return "date"
        return _TYPES.get(str(types[0]), "json")

    def _options(self, schema: Values) -> _Options | None:
        """Return the plain values that a schema lists, if it lists any."""
        if "const" in schema:
            return _options([schema["const"]])
        if isinstance(schema.get("enum"), list):
            return self.once("options", schema["enum"], _options)
        alternatives = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(alternatives, list):
            return self.once("either", alternatives, _either)
        return None


def definitions_of(schema: Values) -> JsonObject:
    """Return the parts of a schema that references in it lead to."""
    return {word: schema[word] for word in _DEFINITIONS if word in schema}


def _types(schema: Values) -> list[Any]:
    """Return the types of the values besides null."""
    return [kind for kind in as_list(schema.get("type"))[:9] if kind != "null"]


def says(schema: Any) -> bool:
    """Return whether a schema says something about the values."""
    return isinstance(schema, dict) and bool(schema.keys() & _SAYING)


def _with_parts(schema: Any, look_up: Callable[[Any], Any]) -> Iterator[JsonObject]:
    """Yield a schema, then what it refers to, its parts and an only alternative to null, with theirs."""
    schemas = [schema]
    for _ in range(_MOST_STEPS):
        if not schemas:
            return
        part = only(dict, schemas.pop(0))
        yield part
        parts = [
            *only(list, part.get("allOf"))[:_MOST_STEPS],
            *_only_one(part.get("anyOf")),
            *_only_one(part.get("oneOf")),
        ]
        if "$ref" in part:
            parts.insert(0, look_up(part["$ref"]))
        schemas[:0] = parts

    yield _ENDLESS


def _is_union(part: JsonObject) -> bool:
    return any(
        word in part and not _only_one(part[word]) for word in ("anyOf", "oneOf")
    )


def properties_of(
    schema: Any, look_up: Callable[[Any], Any]
) -> tuple[JsonObject, set[str]]:
    """Return the properties of an object and which it requires; none if it may be anything else."""
    named: JsonObject = {}
    required: set[str] = set()
    for part in _with_parts(schema, look_up):
        own = only(dict, part.get("properties"))
        if len(own) > MOST_PROPERTIES:
            return own, set()
        types = as_list(part.get("type", "object"))[:3]
        is_object = all(kind in ("object", "null") for kind in types)
        if _is_union(part) or not is_object or {"not", "if"} & part.keys():
            return {}, set()
        named = {**own, **named}
        needed = only(list, part.get("required"))
        if len(needed) > MOST_PROPERTIES:
            return {}, set()
        required.update(texts_in(needed))

    return named, required


def said_of(word: str, schema: Any, root: Any) -> Any:
    """Return what a schema, what it refers to or a part of it says by a word; ``None`` if none says anything."""
    for part in _with_parts(schema, partial(referred, root=root)):
        if part.get(word) is not None:
            return part[word]

    return None


def template_of(schema: Values) -> Any:
    """Return an object with the keys that a schema requires, of several the first; ``None`` if it requires none."""
    return _template(schema, schema, _MOST_TEMPLATES) or None


def _template(part: Any, root: Values, levels: int) -> Any:
    either = said_of("anyOf", part, root) or said_of("oneOf", part, root)
    first = next((inner for inner in only(list, either) if inner != _NULL), part)
    for word in ("const", "default"):
        if (value := said_of(word, first, root)) is not None:
            return value

    if options := only(list, said_of("enum", first, root)):
        return options[0]
    named, required = properties_of(first, partial(referred, root=root))
    kind = as_list(said_of("type", first, root))[0]
    if kind != "object" and not named:
        return copy(_BLANK.get(str(kind)))
    return {
        name: _template(named[name], root, levels - 1)
        for name in named
        if name in required and levels
    }


def _plain(part: Values) -> JsonObject:
    return {word: part[word] for word in _READ & part.keys()}


def _only_one(alternatives: Any) -> list[Any]:
    """Return the only alternative to null, if there is one."""
    few = only(list, alternatives)[:3]
    others = [part for part in few if part != _NULL]
    return others if len(others) == 1 and len(few) < 3 else []


def _by_text(word: str, listed: Any) -> JsonObject:
    """Return options or types by their JSON; numbers include integers."""
    values = as_list(listed)
    if word == "type" and "number" in values:
        values = [*values, "integer"]
    return {json.dumps(value): value for value in values}


def _either(alternatives: list[Any]) -> _Options | None:
    """Return the values of alternatives that all list some."""
    values = []
    parts = alternatives[::-1]
    while parts:
        part = only(dict, parts.pop())
        inner = part.get("anyOf") or part.get("oneOf")
        if "const" in part:
            values.append(part["const"])
        elif isinstance(part.get("enum"), list):
            values += part["enum"]
        elif isinstance(inner, list):
            parts += inner[::-1]
        elif part != _NULL:
            return None

    return _options(values)


def _options(values: list[Any]) -> _Options | None:
    values = [value for value in values if value is not None]
    kinds = set(map(type, values))
    if not kinds <= {str, bool, int, float}:
        return None
    flags = {value.casefold() if isinstance(value, str) else value for value in values}
    kind = "choice"
    if flags in ({"yes", "no"}, {"true", "false"}, {"y", "n"}, {True, False}):
        kind = "yes/no"
    if kinds and kinds <= {int, float}:
        kind = "integer" if kinds == {int} else "number"
    typed = {text_of(value): value for value in values if not isinstance(value, str)}
    return _Options(kind, tuple(dict.fromkeys(map(text_of, values))), typed)


def text_of(value: Any) -> str:
    """Return a JSON value as the text of an option or a default; a date or a Decimal is its own text."""
    if isinstance(value, (*TIMES, Decimal)):
        return str(value)
    if isinstance(value, str):
        return value
    return json.dumps(value, default=str, ensure_ascii=False)


def _is_number(value: object) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
    )


def _bound(
    schema: Values, word: str, exclusive: str, tightest: Callable[..., float]
) -> float | None:
    """Return the inclusive bound of a number; an exclusive one counts as inclusive where fractions are allowed."""
    inside: Any = schema.get(word)
    outside: Any = schema.get(exclusive)
    if outside is True:  # as OpenAPI 3.0 writes it
        inside, outside = None, inside
    if (
        _is_number(outside)
        and schema.get("type") in ("integer", ["integer"])
        and outside == int(outside)
    ):
        outside += 1 if tightest is max else -1

    return tightest(filter(_is_number, [inside, outside]), default=None)


def _bounds(schema: Values) -> tuple[tuple[float | None, float | None], str]:
    """Return the inclusive bounds of a number, or none and how they contradict each other."""
    low = _bound(schema, "minimum", "exclusiveMinimum", max)
    high = _bound(schema, "maximum", "exclusiveMaximum", min)
    if low is not None and high is not None and low > high:
        return NO_BOUNDS, f"no number is between {text_of(low)} and {text_of(high)}"
    return (low, high), ""


class ReplySchemas(Once):
    """
    Reads the schemas of replies in a document, each part once for a depth: cyclic ones end at the last level.

    What is returned is a schema without references, parts and alternatives; what isn't simple says nothing.
    """

    def __init__(self, root: Any) -> None:
        super().__init__()
        self._root = root

    def read(self, schema: Any) -> JsonObject:
        """Return what a schema says of replies: types, formats, options, null, members, descriptions and units."""
        return self._sized(schema, _MOST_LEVELS)[0]

    def _sized(self, part: Any, levels: int) -> tuple[JsonObject, int]:
        """Return a part, and how many parts it has."""
        for _ in range(_MOST_STEPS):
            if only(dict, part).keys() != {"$ref"}:
                break
            part = referred(part["$ref"], self._root)

        if not isinstance(part, dict) or not levels:
            return {}, 1
        return self.once(levels, part, partial(self._read, levels))

    def _read(self, levels: int, part: JsonObject) -> tuple[JsonObject, int]:
        whole = self._whole(part)
        kind, options = _kind_of(whole)
        members: JsonObject = {}
        items: JsonObject = {}
        size = 1
        if kind == "array":
            items, size = self._sized(whole.get("items"), levels - 1)
        elif kind == "object" and len(whole["properties"]) <= _MOST_MEMBERS:
            members, size = self._members(whole["properties"], levels - 1)

        form = only(str, whole.get("format"))
        if only(str, whole.get("pattern")).startswith(_DECIMAL):
            form = "decimal"
        is_nullable = (
            None in only(list, whole.get("enum"))
            or "null" in as_list(whole.get("type"))
            or True in (whole.get("nullable"), whole.get("x-nullable"))
        )
        units = (only(str, whole.get(word)) for word in _UNITS)
        plain: JsonObject = {
            "type": kind,
            "format": form,
            "enum": options,
            "nullable": is_nullable,
            "items": items,
            "properties": members,
            "required": [name for name in members if name in whole["required"]],
            "description": clip(only(str, whole.get("description")), _MAX_ABOUT),
            "unit": clip(next(filter(None, units), ""), _MAX_ABOUT),
        }
        return {word: value for word, value in plain.items() if value}, size

    def _members(self, properties: JsonObject, levels: int) -> tuple[JsonObject, int]:
        members: JsonObject = {}
        size = 1
        for name, member in properties.items():
            left = levels if size < _MOST_MEMBERS else 0
            members[name], count = self._sized(member, left)
            size += count

        return members, size

    def _whole(self, part: JsonObject) -> JsonObject:
        """Return what a schema says with all its parts, its own words first; nothing if it is one of several."""
        whole: JsonObject = {"properties": {}, "required": set()}
        for own in _with_parts(part, partial(referred, root=self._root)):
            if _is_union(own):
                return {
                    "properties": {},
                    "required": set(),
                    "description": part.get("description"),
                }
            before = whole["properties"]
            whole = {
                **own,
                **whole,
                "properties": {
                    **before,
                    **only(dict, own.get("properties")),
                    **before,
                },
            }
            whole["required"].update(texts_in(own.get("required")))
            if _NULL in only(list, own.get("anyOf") or own.get("oneOf")):
                whole["nullable"] = True

        return whole


def _kind_of(schema: Values) -> tuple[str, list[str]]:
    """Return the only type of the values besides null, and the texts that they are among; nothing where several."""
    kinds = {*texts_in(_types(schema))}
    options = [value for value in only(list, schema.get("enum")) if value is not None]
    if set(map(type, options)) == {str} and kinds <= {"string"}:
        return "string", options if len(options) <= _MOST_MEMBERS else []
    if not kinds and schema["properties"]:
        return "object", []
    if not kinds:
        return "array" if "items" in schema else "", []
    if "number" in kinds:
        kinds -= _ALSO_NUMBERS.get(only(str, schema.get("format")), {"integer"})
    return kinds.pop() if len(kinds) == 1 else "", []


_PLAIN_LEVELS = 3  # of alternatives and items that are checked without jsonschema
_IS_OF: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "number": _is_number,
    "integer": lambda value: _is_number(value) and value % 1 == 0,
}

# What these keywords check; the others of a plain schema only describe.
_CHECKS: dict[str, Callable[[Any, Any, int], bool]] = {
    "type": lambda kinds, value, _: any(_IS_OF[kind](value) for kind in as_list(kinds)),
    "enum": lambda texts, value, _: value in texts,
    "minLength": lambda least, value, _: (
        not isinstance(value, str) or len(value) >= least
    ),
    "minimum": lambda least, value, _: not _is_number(value) or value >= least,
    "maximum": lambda most, value, _: not _is_number(value) or value <= most,
    "anyOf": lambda schemas, value, level: any(
        _accepts(part, value, level) for part in schemas
    ),
    "items": lambda schema, value, level: (
        not isinstance(value, list)
        or all(_accepts(schema, item, level) for item in value)
    ),
}
_DESCRIBING = {"title", "description", "default", "examples", "format", "deprecated"}


def _accepts(schema: Values, value: Any, level: int = 0) -> bool:
    """Return whether a plain schema accepts a value; raises for one that isn't plain."""
    if level > _PLAIN_LEVELS or not all(
        isinstance(text, str) for text in schema.get("enum", ())
    ):
        raise LookupError

    checks = {keyword: _CHECKS[keyword] for keyword in schema.keys() - _DESCRIBING}
    return all(
        check(schema[keyword], value, level + 1) for keyword, check in checks.items()
    )


def _sizes(schema: Values) -> JsonObject:
    sizes = {word: schema.get(word) for word in _SIZES}
    return {word: size for word, size in sizes.items() if isinstance(size, int)}


def size_problem(sizes: Values, value: Any) -> str:
    """Return the first of some bounds that a text or a list isn't within, in words; empty if it is."""
    for word, bound in sizes.items():
        kind, is_beyond, words, what = _SIZES[word]
        if isinstance(value, kind) and is_beyond(len(value), bound):
            return f"{words} {plural(bound, what)}"
    return ""


def accepts(schema: Values, value: Any) -> bool:
    """Return whether a schema accepts a JSON value.

    Plain schemas are checked here: jsonschema takes 2.4 s to import where rfc3987-syntax is installed, as it is with
    JupyterLab, and the first form waited for that.
    """
    try:
        return _accepts(schema, value)
    except Exception:  # noqa: BLE001  # a malformed schema may raise anything
        return not _problem_of(schema, value)


_followed: ContextVar[Iterator[int]] = ContextVar("followed")


@cache
def _validator() -> Any:
    """Return the class that checks values; its references count in `_followed`."""
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend

    validators = Draft202012Validator.VALIDATORS
    refer = validators["$ref"]

    def bounded(validator: Any, ref: Any, instance: Any, inside: Any) -> Iterable[Any]:
        if next(_followed.get()) > _MOST_FOLLOWED:
            raise RecursionError
        return refer(validator, ref, instance, inside) or ()

    # A pattern of somebody else may take exponential time; what is additional depends on one too.
    skipped = (
        "$dynamicRef",
        "pattern",
        "patternProperties",
        "unevaluatedProperties",
    )
    additional = validators["additionalProperties"]

    def plain(
        validator: Any, allowed: Any, instance: Any, inside: Any
    ) -> Iterable[Any]:
        if "patternProperties" in inside:
            return ()
        return additional(validator, allowed, instance, inside) or ()

    def multiple(_: Any, of: Any, instance: Any, __: Any) -> Iterable[Any]:
        # By their digits: as floats, 19.99 is no multiple of 0.01.
        if _is_number(instance) and Decimal(str(instance)) % Decimal(str(of)):
            yield ValidationError(f"{instance} is not a multiple of {of}")

    require = validators["required"]

    def needed(validator: Any, names: Any, instance: Any, inside: Any) -> Iterable[Any]:
        properties = only(dict, inside.get("properties"))
        names = [
            name
            for name in names
            if only(dict, properties.get(name)).get("readOnly") is not True
        ]
        return require(validator, names, instance, inside) or ()

    ours = {
        **dict.fromkeys(skipped),
        "$ref": bounded,
        "additionalProperties": plain,
        "multipleOf": multiple,
        "required": needed,
        # Alternatives of documents often overlap, and a person can't choose between them.
        "oneOf": validators["anyOf"],
    }
    return extend(Draft202012Validator, ours)  # type: ignore[no-untyped-call]  # jsonschema's


def problem_of(schema: Values, value: Any) -> str:
    """Return why a schema does not accept a JSON value, on one line; empty if it does, or if nobody can tell."""
    with suppress(Exception):  # as in `accepts`
        if _accepts(schema, value):
            return ""
    return _problem_of(schema, value)


def _problem_of(schema: Values, value: Any) -> str:
    from jsonschema.exceptions import best_match

    _followed.set(itertools.count())
    try:
        error = best_match(_validator()(schema).iter_errors(value))
    except Exception:  # noqa: BLE001  # a malformed schema may raise anything
        return ""

    if error is None:
        return ""
    message = str(error.message)
    if error.context and all(own.validator == "type" for own in error.context):
        types = (quote(own.validator_value) for own in error.context)
        message = f"{text_of(error.instance)} is not of type {listed(types, 'or')}"
    if at := "/".join(map(str, error.absolute_path)):
        return f"{message} (at {at})"
    return message

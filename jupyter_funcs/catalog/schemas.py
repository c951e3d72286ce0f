"""JSON Schemas of parameters: what one declares of a field, and whether it accepts a value."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import math
from contextvars import ContextVar
from decimal import Decimal
from functools import cache, partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.core.json_decoding import Once, only, referred

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_MOST_STEPS = 50  # references that lead to one parameter's schema
_MOST_FOLLOWED = 2000  # references followed to check one value: a small schema may need exponentially many
_TYPES = {"string": "text", "integer": "integer", "number": "number", "boolean": "yes/no", "array": "list"}
# What says something about the values, unlike title or description.
_SAYING = {"type", "enum", "const", "format", "anyOf", "oneOf", "allOf", "$ref", "properties", "items", "not", "if"}
_LOWER, _UPPER = ("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")
_PROBLEM: Any = object()  # the key for how a schema contradicts itself, which no document has
_READ = _SAYING | {"default", "description", *_LOWER, *_UPPER, _PROBLEM}
_MAX_TEXT = 4000  # characters of a description, which many parameters may share
_NULL = {"type": "null"}


class Declaration(NamedTuple):
    """
    What a schema declares of a field, in the words of `catalog.fields`.

    `item` is the kind of a list's items. `typed` maps options that are not texts to their JSON values. `problem` says
    how the schema contradicts itself; what is contradictory is left out.
    """

    kind: str
    item: str = "text"
    options: tuple[str, ...] = ()
    typed: Mapping[str, Any] = {}
    default: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    description: str = ""
    problem: str = ""
    format: str = ""


class _Options(NamedTuple):
    """The plain values that a schema lists."""

    kind: str
    texts: tuple[str, ...]
    typed: Mapping[str, Any]


_NO_OPTIONS = _Options("", (), {})
_FLAGS = _Options("", ("true", "false"), {"true": True, "false": False})


class Schemas(Once):
    """Reads the schemas of parameters. What they share, such as a long list of options, is read once."""

    def read(self, schema: object) -> Declaration | None:
        """Return what a schema declares; ``None`` if it says nothing about the values."""
        if schema is True:  # any JSON value
            return Declaration("json")
        if not isinstance(schema, dict) or not schema.keys() & _SAYING:
            return None
        one = self._simplified(schema, schema)
        of, kind, item, options = one, self._kind(one), "text", self._options(one)
        if kind == "list":
            of = self._simplified(one["items"], schema)
            item, options = self._kind(of), self._options(of)
            if item in {"json", "list"}:
                kind, item, options = "json", "text", None
        problem = one.get(_PROBLEM) or of.get(_PROBLEM, "")
        if options is None:
            options = _FLAGS if "yes/no" in {kind, item} else _NO_OPTIONS
        elif not options.texts:
            problem = problem or "it has no options"
            kind = "text" if kind == "choice" else kind
        low, high = _bound(of, _LOWER, max), _bound(of, _UPPER, min)
        if low is not None and high is not None and low > high:
            problem = problem or f"no number is between {text_of(low)} and {text_of(high)}"
            low = high = None
        default = one.get("default")
        return Declaration(
            kind,
            item,
            options.texts,
            options.typed,
            None if default is None else self.once("default", default, text_of),
            *((low, high) if {"integer", "number"} & {kind, item} else (None, None)),
            only(str, one.get("description"))[:_MAX_TEXT],
            problem,
            only(str, of.get("format")),
        )

    def _simplified(self, part: Mapping[str, Any], root: Any) -> dict[str, Any]:
        """Return a schema with its references followed, its parts merged and null left out, where that is simple."""
        one = _plain(part)
        for _ in range(_MOST_STEPS):
            if isinstance(ref := one.pop("$ref", None), str):
                inner = referred(ref, root)
            elif isinstance(parts := one.pop("allOf", None), list):
                inner = self.once("parts", parts, lambda parts: reduce(self._merged, parts, dict[str, Any]()))
            else:
                for word in ("anyOf", "oneOf"):
                    few = only(list, one.get(word))[:3]
                    alternatives = [part for part in few if part != _NULL]
                    if len(alternatives) == 1 and len(few) < 3:
                        inner = alternatives[0]
                        del one[word]
                        break
                else:
                    return one
            one = self._merged(one, inner)
        return {"anyOf": []}  # any JSON value

    def _merged(self, one: dict[str, Any], other: Any) -> dict[str, Any]:
        """Return a schema that accepts what both accept; where that is not simple, what `one` says."""
        if not isinstance(other, dict):
            return {"anyOf": []}
        merged = {**_plain(other), **one}
        for word in one.keys() & other.keys() & {"enum", "type"}:
            # Once for two lists, which many parameters may share.
            both = self.once(("both", word, id(other[word])), one[word], partial(self._common, word, other[word]))
            if word == "type" and not both:
                problem = f"no value is of the types {text_of(one[word])} and {text_of(other[word])}"
                return {"anyOf": [], _PROBLEM: problem}
            merged[word] = both
        for words, tightest in ((_LOWER, max), (_UPPER, min)):
            for word in words:
                bounds = [each[word] for each in (one, other) if _is_number(each.get(word))]
                if bounds:
                    merged[word] = tightest(bounds)
        if {"anyOf", "oneOf", "allOf"} & one.keys() & other.keys():
            return {"anyOf": []}
        return merged

    def _common(self, word: str, other: Any, own: Any) -> list[Any]:
        """Return the options or types that are in both of two lists."""
        values, others = (self.once(word, listed, partial(_by_text, word)) for listed in (own, other))
        both = [value for text, value in values.items() if text in others]
        if word == "type" and "number" in both:
            both.remove("integer")
        return both

    def _kind(self, one: Mapping[str, Any]) -> str:
        options = self._options(one)
        if options is not None:
            return options.kind
        types = one.get("type")
        known = [each for each in (types[:9] if isinstance(types, list) else [types]) if each != "null"]
        if one.get("format") == "decimal" and "number" in known:
            return "number"
        if one.get("anyOf") is not None or one.get("oneOf") is not None or len(known) != 1:
            return "json"
        kind = _TYPES.get(known[0], "json") if isinstance(known[0], str) else "json"
        if kind == "list":
            return "list" if isinstance(one.get("items"), dict) and one["items"] else "json"
        return "date" if kind == "text" and one.get("format") == "date" else kind

    def _options(self, one: Mapping[str, Any]) -> _Options | None:
        """Return the plain values that a schema lists, if it lists any."""
        if "const" in one:
            return _options([one["const"]])
        if isinstance(one.get("enum"), list):
            return self.once("options", one["enum"], _options)
        alternatives = one.get("anyOf") or one.get("oneOf")
        return self.once("either", alternatives, _either) if isinstance(alternatives, list) else None


def _plain(part: Mapping[str, Any]) -> dict[str, Any]:
    return {word: part[word] for word in _READ & part.keys()}


def _by_text(word: str, listed: Any) -> dict[str, Any]:
    """Return options or types by their JSON; numbers include integers."""
    values = listed if isinstance(listed, list) else [listed]
    if word == "type" and "number" in values:
        values = [*values, "integer"]
    return {json.dumps(value): value for value in values}


def _either(alternatives: list[Any]) -> _Options | None:
    """Return the values of alternatives that all list some."""
    values = []
    parts = alternatives[::-1]
    while parts:
        part = parts.pop()
        if not isinstance(part, dict):
            return None
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
    if not all(isinstance(value, (str, bool, int, float)) for value in values):
        return None
    kinds = {type(value) for value in values}
    flags = {value.casefold() if isinstance(value, str) else value for value in values}
    kind = "yes/no" if flags in ({"yes", "no"}, {"true", "false"}, {"y", "n"}, {True, False}) else "choice"
    if kinds and kinds <= {int, float}:
        kind = "integer" if kinds == {int} else "number"
    pairs = [(text_of(value), value) for value in values]
    typed = {text: value for text, value in pairs if not isinstance(value, str)}
    return _Options(kind, tuple(dict(pairs)), typed)


def text_of(value: Any) -> str:
    """Return a JSON value as the text of an option or a default; a date or a Decimal is its own text."""
    if isinstance(value, (dt.date, dt.time, dt.timedelta, Decimal)):
        return str(value)
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _bound(one: Mapping[str, Any], words: tuple[str, str], tightest: Any) -> float | None:
    """Return the inclusive bound of a number; an exclusive one counts as inclusive where fractions are allowed."""
    inclusive, exclusive = (one.get(word) for word in words)
    # OpenAPI 3.0 writes exclusiveMinimum: true.
    beyond = inclusive if exclusive is True else exclusive
    bounds = [inclusive] if _is_number(inclusive) and exclusive is not True else []
    if _is_number(beyond) and beyond is not None:
        whole = one.get("type") in ("integer", ["integer"]) and beyond == int(beyond)
        bounds.append(beyond + (1 if tightest is max else -1) if whole else beyond)
    return tightest(bounds) if bounds else None


_followed: ContextVar[Iterator[int]] = ContextVar("followed")


@cache
def _validator() -> Any:
    """Return the class that checks values; its references count in `_followed`."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    refer = Draft202012Validator.VALIDATORS["$ref"]

    def bounded(validator: Any, ref: Any, instance: Any, inside: Any) -> Iterable[Any]:
        if next(_followed.get()) > _MOST_FOLLOWED:
            raise RecursionError
        return refer(validator, ref, instance, inside) or ()

    # A pattern of somebody else may take exponential time; what is additional depends on one too.
    skipped = ("$dynamicRef", "pattern", "patternProperties", "unevaluatedProperties")
    additional = Draft202012Validator.VALIDATORS["additionalProperties"]

    def plain(validator: Any, allowed: Any, instance: Any, inside: Any) -> Iterable[Any]:
        return () if "patternProperties" in inside else additional(validator, allowed, instance, inside) or ()

    # Alternatives of documents often overlap, and a person can't choose between them.
    ours = {"$ref": bounded, "additionalProperties": plain, "oneOf": Draft202012Validator.VALIDATORS["anyOf"]}
    ours |= dict.fromkeys(skipped)
    return extend(Draft202012Validator, ours)  # type: ignore[no-untyped-call]  # jsonschema's


def problem_of(schema: Mapping[str, Any], value: Any) -> str:
    """Return why a schema does not accept a JSON value, on one line; empty if it does, or if nobody can tell."""
    from jsonschema.exceptions import best_match

    _followed.set(itertools.count())
    try:
        error = best_match(_validator()(schema).iter_errors(value))
    except Exception:  # noqa: BLE001  # a malformed schema may raise anything
        return ""
    if error is None:
        return ""
    at = "/".join(map(str, error.absolute_path))
    return f"{error.message}{f' (at {at})' if at else ''}"

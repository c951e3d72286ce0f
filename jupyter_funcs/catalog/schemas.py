"""JSON Schemas of parameters: what one declares of a field, and whether it accepts a value."""

from __future__ import annotations

import itertools
import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.core.json_decoding import only, referred

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_MOST_STEPS = 50  # references that lead to one parameter's schema
_MOST_FOLLOWED = 2000  # references followed to check one value: a small schema may need exponentially many
_TYPES = {"string": "text", "integer": "integer", "number": "number", "boolean": "yes/no", "array": "list"}
# What says something about the values, unlike title or description.
_SAYING = {"type", "enum", "const", "format", "anyOf", "oneOf", "allOf", "$ref", "properties", "items", "not", "if"}
_LOWER, _UPPER = ("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")


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


def read_schema(schema: object) -> Declaration | None:
    """Return what the schema of a parameter declares; ``None`` if it says nothing about the values."""
    if schema is True:  # any JSON value
        return Declaration("json")
    if not isinstance(schema, dict) or not schema.keys() & _SAYING:
        return None
    problems: list[str] = []
    one = _simplified(schema, schema, problems, itertools.count())
    of, kind, item, values = one, _kind(one), "text", _values(one)
    if kind == "list":
        of = _simplified(one["items"], schema, problems, itertools.count())
        item, values = _kind(of), _values(of)
        if item in {"json", "list"}:
            kind, item, values = "json", "text", None
    typed: dict[str, Any] = {}
    if values is not None:
        texts = [text_of(value) for value in values]
        typed = {text: value for text, value in zip(texts, values, strict=True) if not isinstance(value, str)}
        if not values:
            problems.append("it has no options")
            kind = "text" if kind == "choice" else kind
    elif "yes/no" in {kind, item}:
        typed = {"true": True, "false": False}
    low, high = _bound(of, _LOWER, max), _bound(of, _UPPER, min)
    if low is not None and high is not None and low > high:
        problems.append(f"no number is between {text_of(low)} and {text_of(high)}")
        low = high = None
    default = one.get("default")
    return Declaration(
        kind,
        item,
        tuple(dict.fromkeys(map(text_of, values or typed.values()))),
        typed,
        None if default is None else text_of(default),
        *((low, high) if {"integer", "number"} & {kind, item} else (None, None)),
        only(str, one.get("description")),
        problems[0] if problems else "",
        only(str, of.get("format")),
    )


def text_of(value: Any) -> str:
    """Return a JSON value as the text of an option or a default."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _simplified(part: Mapping[str, Any], root: Any, problems: list[str], steps: Iterable[int]) -> dict[str, Any]:
    """Return a schema with its reference followed, its parts merged and null left out, as far as that is simple."""
    one = dict(part)
    for step in steps:
        inner: list[Any] = []
        if isinstance(ref := one.pop("$ref", None), str):
            inner = [referred(ref, root)]
        elif isinstance(parts := one.pop("allOf", None), list):
            inner = parts
        else:
            for word in ("anyOf", "oneOf"):
                alternatives = [each for each in only(list, one.get(word)) if each != {"type": "null"}]
                if len(alternatives) == 1:
                    inner = alternatives
                    del one[word]
                    break
        if not inner:
            break
        if step > _MOST_STEPS or not all(isinstance(each, dict) for each in inner):
            return {"anyOf": []}  # any JSON value
        for each in inner:
            one = _merged(one, each, problems)
    return one


def _merged(one: dict[str, Any], other: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Return a schema that accepts what both accept; where that is not simple, what `one` says."""
    merged = {**other, **one}
    for word in one.keys() & other.keys() & {"enum", "type"}:
        first, second = (each if isinstance(each, list) else [each] for each in (one[word], other[word]))
        both = [value for value in first if value in second or (value == "integer" and "number" in second)]
        both = both or ["integer"] * (word == "type" and "number" in first and "integer" in second)
        if word == "type" and not both:
            problems.append(f"no value is of the types {text_of(one[word])} and {text_of(other[word])}")
            return {"anyOf": []}
        merged[word] = both
    for words, tightest in ((_LOWER, max), (_UPPER, min)):
        for word in words:
            bounds = [each[word] for each in (one, other) if _is_number(each.get(word))]
            if bounds:
                merged[word] = tightest(bounds)
    if {"anyOf", "oneOf", "allOf"} & one.keys() & other.keys():
        return {"anyOf": []}
    return merged


def _kind(one: Mapping[str, Any]) -> str:
    values = _values(one)
    types = one.get("type")
    known = [each for each in (types if isinstance(types, list) else [types]) if each != "null"]
    if values is not None:
        kinds = {type(value) for value in values}
        if kinds and kinds <= {int, float}:
            return "integer" if kinds == {int} else "number"
        flags = {value.casefold() if isinstance(value, str) else value for value in values}
        return "yes/no" if flags in ({"yes", "no"}, {"true", "false"}, {"y", "n"}, {True, False}) else "choice"
    if one.get("format") == "decimal" and "number" in known:
        return "number"
    if one.get("anyOf") is not None or one.get("oneOf") is not None or len(known) != 1:
        return "json"
    kind = _TYPES.get(known[0], "json") if isinstance(known[0], str) else "json"
    if kind == "list":
        return "list" if isinstance(one.get("items"), dict) and one["items"] else "json"
    return "date" if kind == "text" and one.get("format") == "date" else kind


def _values(one: Mapping[str, Any]) -> list[Any] | None:
    """Return the plain values that a schema lists, if it lists any."""
    alternatives = one.get("anyOf") or one.get("oneOf")
    if "const" in one:
        values = [one["const"]]
    elif isinstance(one.get("enum"), list):
        values = one["enum"]
    elif isinstance(alternatives, list) and all(isinstance(each, dict) for each in alternatives):
        inner = [_values(each) for each in alternatives if each != {"type": "null"}]
        if any(each is None for each in inner):
            return None
        values = [value for each in inner for value in each or ()]
    else:
        return None
    values = [value for value in values if value is not None]
    return values if all(isinstance(value, (str, bool, int, float)) for value in values) else None


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


def problem_of(schema: Mapping[str, Any], value: Any) -> str:
    """Return why a schema does not accept a JSON value, on one line; empty if it does, or if nobody can tell."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from jsonschema.validators import extend

    followed = itertools.count()
    refer = Draft202012Validator.VALIDATORS["$ref"]

    def bounded(validator: Any, ref: Any, instance: Any, inside: Any) -> Iterable[Any]:
        if next(followed) > _MOST_FOLLOWED:
            raise RecursionError
        return refer(validator, ref, instance, inside) or ()

    # A pattern of somebody else may take exponential time; what is additional depends on one too.
    skipped = ("$dynamicRef", "pattern", "patternProperties", "unevaluatedProperties")
    additional = Draft202012Validator.VALIDATORS["additionalProperties"]

    def plain(validator: Any, allowed: Any, instance: Any, inside: Any) -> Iterable[Any]:
        return () if "patternProperties" in inside else additional(validator, allowed, instance, inside) or ()

    ours = {"$ref": bounded, "additionalProperties": plain} | dict.fromkeys(skipped)
    try:
        kind = extend(Draft202012Validator, ours)  # type: ignore[no-untyped-call]  # jsonschema's
        error = best_match(kind(schema).iter_errors(value))
    except Exception:  # noqa: BLE001  # a malformed schema may raise anything
        return ""
    if error is None:
        return ""
    at = "/".join(map(str, error.absolute_path))
    return f"{error.message}{f' (at {at})' if at else ''}"

"""What is wrong with a configuration, in words: pydantic's findings, each with the line of its key."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from .sections import Section
from .words import did_you_mean, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

    from .toml_file import Key, TomlFile

_MOST_NAMED = 3
_WANTED = {
    "string_type": "text",
    "path_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}
_LIMITS = {
    "greater_than_equal": "at least {ge:g}",
    "greater_than": "more than {gt:g}",
    "less_than_equal": "at most {le:g}",
}
_KINDS: dict[type, str] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}


def in_words(error: ValidationError, model: type[Section], file: TomlFile) -> str:
    """Say the first three mistakes, in the order of the file."""
    found = sorted(error.errors(include_url=False), key=lambda each: file.line(each["loc"]))
    lines = [f"{file.place(each['loc'])}: {_said(each, model)}" for each in found[:_MOST_NAMED]]
    more = len(found) - _MOST_NAMED
    return "\n".join(lines) + (f" (And {more} more.)" if more > 0 else "")


def _said(error: ErrorDetails, model: type[Section]) -> str:
    key = error["loc"]
    if error["type"] == "extra_forbidden":
        return _unknown(key, model)
    if error["type"] == "missing":
        lacking = _section(key) if _is_section(_type(model, key)) else quoted(key[-1])
        return f"{_section(key[:-1])} lacks {lacking}."
    return f"{_name(key, model)} {_wrong(error, get_args(_type(model, key)))}"


def _wrong(error: ErrorDetails, options: tuple[str, ...]) -> str:
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind == "literal_error":
        return f"has no option {quoted(value)}.{did_you_mean(str(value), options)} Options are {listed(options)}."
    if kind in _WANTED:
        return f"takes {_WANTED[kind]}, not {_KINDS.get(type(value), 'a date or time')}."
    if kind in _LIMITS:
        return f"must be {_LIMITS[kind].format(**context)}, not {value}."
    return "is empty." if kind == "too_short" else f"is not valid: {error['msg']}."


def _unknown(key: Key, model: type[Section]) -> str:
    *parent, name = key
    said = f"there is no key {quoted(name)} {_inside(parent)}."
    for path, section in _sections(model):
        if name in section.model_fields and path != parent:
            return f"{said} It belongs {'into ' + _section(path) if path else 'above the first [section] of the file'}."
    known = list(_type(model, parent).model_fields)
    return f"{said}{did_you_mean(str(name), known) or f' It takes {listed(known)}.'}"


def _sections(model: type[Section], path: Key = ()) -> Iterator[tuple[Key, type[Section]]]:
    yield list(path), model
    for name in model.model_fields:
        inner = _type(model, [name])
        if isinstance(inner, type) and issubclass(inner, Section):
            yield from _sections(inner, [*path, name])


def _type(model: type[Section], key: Key) -> Any:
    """Give the type of what stands at a key."""
    found: Any = model
    for step in key:
        if isinstance(found, type) and issubclass(found, Section):
            found = found.model_fields[str(step)].annotation
        else:
            found = get_args(found)[0 if isinstance(step, int) else 1]
        while get_origin(found) in (Annotated, Union, types.UnionType):
            found = get_args(found)[0]
    return found


def _is_section(type_: Any) -> bool:
    return get_origin(type_) is dict or (isinstance(type_, type) and issubclass(type_, Section))


def _name(key: Key, model: type[Section]) -> str:
    """Name a section, a key, or an item of a list, as a reader of the file finds it."""
    if _is_section(_type(model, key)):
        return _section(key)
    if isinstance(key[-1], int):
        return f"an item of {_name(key[:-1], model)}"
    return f"{quoted(key[-1])}{' ' + _inside(key[:-1]) if key[:-1] else ''}"


def _inside(key: Key) -> str:
    return f"in {_section(key)}" if key else "above the first [section]"


def _section(key: Key) -> str:
    names = ".".join(str(step) for step in key if isinstance(step, str))
    return f"[[{names}]]" if any(isinstance(step, int) for step in key) else f"[{names}]" if names else "the file"

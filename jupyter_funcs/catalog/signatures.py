"""Signatures: the Python signature and docstring of a function, as Shift-Tab, help() and editors show them."""

from __future__ import annotations

import datetime as dt
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jupyter_funcs.catalog.fields import Field, Kind, by_name, with_parts
from jupyter_funcs.catalog.values import allowed, default_of
from jupyter_funcs.core.text import inert, listed, quote

if TYPE_CHECKING:
    from jupyter_funcs.catalog.listing import Function

# The annotation of a value and its type in words; those of any other kind are texts.
_TYPES: dict[Kind, tuple[Any, str]] = {
    Kind.INTEGER: (int, "int"),
    Kind.NUMBER: (float, "float"),
    Kind.DATE: (dt.date | str, "date, or str as YYYY-MM-DD"),
    Kind.FILE: (str | Path | bytes, "path of a file, or bytes"),
    Kind.JSON: (
        dict[str, Any] | list[Any] | str | float,
        "dict, list or JSON text",
    ),
}
_TEXT = (str, "str")
_MOST_OPTIONS = 1000  # a longer Literal is slow in every editor
_MOST_SHOWN = 30
_RETURNS = """\
Returns
-------
DataFrame
    ``attrs["funcs"]`` holds the function, arguments, time and service that it came from.

Raises
------
FuncsError
    A value is missing or not valid, or the run failed.

Notes
-----"""


def signature(fields: tuple[Field, ...]) -> inspect.Signature:
    """Return the signature of a function with these fields."""
    parameters = []
    for field in by_name(fields).values():
        annotation = _annotation(field)
        default = default_of(field)
        if field.required:
            default = inspect.Parameter.empty
        else:
            # An argument that is left out is not sent; the service uses the default shown here.
            annotation |= None
            if field.is_list and default and len(default) == 1:
                default = default[0]
        parameters.append(
            inspect.Parameter(
                field.identifier,
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=annotation,
            )
        )

    return inspect.Signature(parameters, return_annotation="pandas.DataFrame")


def _annotation(field: Field) -> Any:
    options = allowed(field)[: _MOST_OPTIONS + 1]
    kind = field.value_kind
    value: Any = _TYPES.get(kind, _TEXT)[0]
    if set(options) == {True, False}:
        value = bool
    elif 0 < len(options) <= _MOST_OPTIONS and kind is not Kind.NUMBER:
        # A Literal holds no float.
        literal: Any = Literal[options]
        if kind is Kind.DATE:
            value = dt.date
        if field.is_declared("options") and kind is not Kind.DATE:
            value = literal
        else:
            value = literal | value

    if not field.is_declared() and kind is not Kind.DATE:
        value |= str
    if field.is_list:
        return list[value] | value
    return value | bool if kind is Kind.YES_NO else value


def docstring(function: Function, fields: tuple[Field, ...]) -> str:
    """Return a numpy docstring; texts of the catalog are inert, since a pager shows them as they are."""
    lines = [inert(function.about) or inert(function.name), ""]
    if fields:
        lines += ["Parameters", "----------"]
    for field in by_name(with_parts(fields)).values():
        sent = ""
        if field.identifier != field.name:
            sent = f" Sent as {quote(field.name)}."
        lines.append(f"{field.identifier} : {_type_in_words(field)}")
        lines.append(f"    {inert(field.help) or inert(field.label)}{sent}")

    if fields:
        lines.append("")
    lines.append(_RETURNS)
    lines.append(
        f"The function {quote(function.name)}; only the arguments you pass are sent."
    )
    rules = dict.fromkeys(field.rule.names for field in fields if field.rule)
    lines += [f"{listed(map(inert, names))} is required." for names in rules]
    return "\n".join(lines)


def _type_in_words(field: Field) -> str:
    words = "dict of the parts below"
    if not field.fields:
        words = _TYPES.get(field.value_kind, _TEXT)[1]
    options = allowed(field)
    if options:
        shown = list(map(quote, options[:_MOST_SHOWN]))
        if len(options) > _MOST_SHOWN:
            shown.append(f"… ({len(options)} in all)")
        words = f"{{{', '.join(shown)}}}"
        if not field.is_declared("options"):
            words += " or another text"

    if field.is_list or field.is_rows:
        words = f"list of {words}"
    elif field.kind is Kind.YES_NO:
        words += " or bool"

    default = default_of(field)
    if isinstance(default, str):
        default = quote(default)
    if default is not None:
        return f"{words}, default {default}"
    if field.required:
        return words
    return f"{words}, optional"

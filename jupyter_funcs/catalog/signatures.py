"""Fields -> the signature and the docstring of a Python callable: what Shift-Tab, help() and an editor show."""

from __future__ import annotations

import datetime as dt
import inspect
from typing import TYPE_CHECKING, Any, Literal

from jupyter_funcs.fields import Field, Kind
from jupyter_funcs.text import inert, listed, quote
from jupyter_funcs.values import allowed, as_json, default_of

if TYPE_CHECKING:
    from jupyter_funcs.catalog import Function

_ANNOTATIONS: dict[Kind, Any] = {Kind.INTEGER: int, Kind.NUMBER: float, Kind.DATE: dt.date | str}
_WORDS = {Kind.INTEGER: "int", Kind.NUMBER: "float", Kind.DATE: "date, or str as YYYY-MM-DD"}
_MOST_OPTIONS = 1000  # a type of more is of use to nobody, and slow in every editor
_MOST_SHOWN = 30


def _annotation(field: Field) -> Any:
    """Give the type of what a call takes for a field, apart from the ``None`` that clears it."""
    options = tuple(as_json(field, option) for option in allowed(field)[: _MOST_OPTIONS + 1])
    one: Any = _ANNOTATIONS.get(field.kind, str)
    if 0 < len(options) <= _MOST_OPTIONS:
        one = dt.date | Literal[options] if field.kind is Kind.DATE else Literal[options]
    if field.kind is Kind.LIST:
        return list[one] | one
    return one | bool if field.kind is Kind.YES_NO else one


def signature(of: tuple[Field, ...]) -> inspect.Signature:
    """Give the signature of a function with these fields."""
    parameters = []
    seen: set[str] = set()
    for field in of:
        if field.name in seen:
            continue  # a repeated parameter takes one argument
        seen.add(field.name)
        default = default_of(field)
        parameters.append(
            inspect.Parameter(
                field.identifier,
                inspect.Parameter.KEYWORD_ONLY,
                # What is left out is not sent; the service then takes the default that stands here.
                default=inspect.Parameter.empty
                if field.required
                else default[0]
                if isinstance(default, list)
                else default,
                annotation=_annotation(field) if field.required else _annotation(field) | None,
            )
        )
    return inspect.Signature(parameters, return_annotation="pandas.DataFrame")


def docstring(function: Function, of: tuple[Field, ...]) -> str:
    """Give numpy's form of it, each text of the catalog on a line of its own and inert: a pager shows it as it is."""
    lines = [inert(function.description) or inert(function.name), ""]
    seen: set[str] = set()
    if of:
        lines += ["Parameters", "----------"]
    for field in of:
        if field.name in seen:
            continue
        seen.add(field.name)
        lines.append(f"{field.identifier} : {_type_in_words(field)}")
        sent = "" if field.identifier == field.name else f" Sent as {quote(field.name)}."
        lines.append(f"    {inert(field.help) or inert(field.label)}{sent}")
    lines += [""] * bool(of) + ["Returns", "-------", "DataFrame"]
    lines.append('    Its ``attrs["funcs"]`` says which function, arguments, time and service it came from.')
    lines += ["", "Raises", "------", "FuncsError", "    A value is missing or not valid, or the run failed."]
    lines += ["", "Notes", "-----", f"The function {quote(function.name)}; only what is given is sent."]
    rules = {field.rule.names: None for field in of if field.rule}
    lines += [f"Give {listed(map(inert, names))}." for names in rules]
    return "\n".join(lines)


def _type_in_words(field: Field) -> str:
    words = _WORDS.get(field.kind, "str")
    options = allowed(field)
    if options:
        more = [f"… ({len(options)} in all)"] * (len(options) > _MOST_SHOWN)
        words = f"{{{', '.join([*map(quote, options[:_MOST_SHOWN]), *more])}}}"
    if field.kind is Kind.LIST:
        words = f"list of {words}"
    elif field.kind is Kind.YES_NO:
        words += " or bool"
    default = default_of(field)
    if default is not None:
        return f"{words}, default {quote(default) if isinstance(default, str) else default}"
    return words if field.required else f"{words}, optional"

"""Tab in Python: the functions of a session, what they take, and its values, within calls and brackets."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from dataclasses import fields as dataclass_fields
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.tab_offers import (
    GIVEN_AFTER,
    Offer,
    Writer,
    each,
    field_of,
    function_of,
    left_of,
    same,
    unquoted_begin,
    values_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jupyter_funcs.brackets import Code
    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.session import Session

_ARGUMENT = re.compile(r"\s*(?P<name>\w+)\s*=(?!=)\s*(?P<value>.*)", re.DOTALL)
# The methods of a function that take its parameters.
_TAKE_PARAMETERS = {"submit", "form", "panel", "request", "sweep"}


class _PanelOf(NamedTuple):
    """The method ``funcs.panel``, which takes a function's name and then its arguments."""

    session: Session


class _Call(NamedTuple):
    """
    A call that is open at the cursor.

    Attributes
    ----------
    owner
        What is called, as `_resolve` gives it.
    parts
        What stands between its commas; the last part ends at the cursor.
    items
        The items before the cursor, when it stands in a list that is an argument.
    """

    owner: Any
    parts: list[str]
    items: list[Any] | None


def in_python(code: Code, namespace: Mapping[str, Any]) -> Offer | None:
    begin = code.string if code.string is not None else code.name_before(len(code.before))
    typed = code.before[begin:]
    if code.string is None and code.before[begin - 1 : begin] == ".":
        owner = _resolve(code.owner(begin - 1), namespace)
        is_ours = _is_a(owner, "session", "Session") or _is_a(owner, "callables", "RemoteFunction")
        return _attributes(owner, typed) if is_ours else None
    if not code.open or typed.startswith(('"""', "'''")):
        return None
    bracket, items = code.open[-1], None
    if code.before[bracket.at] == "[":
        session = _resolve(code.owner(bracket.at), namespace)
        if _is_a(session, "session", "Session"):
            return _strings(typed, code.after, (one.name for one in session.listed or ()), "function")
        *before, item = code.parts(bracket)
        if len(code.open) == 1 or item.lstrip() != typed:
            return None
        bracket, items = code.open[-2], [_literal(one, namespace) for one in before]
        if code.before[bracket.at] == "[" and len(code.open) > 2 and code.parts(bracket)[-1].lstrip().startswith("["):
            bracket = code.open[-3]  # a list of lists, as a sweep takes it
    if code.before[bracket.at] != "(":
        return None
    owner = _resolve(code.owner(bracket.at), namespace)
    return _in_call(code, _Call(owner, code.parts(bracket), items), typed, namespace)


def _in_call(code: Code, call: _Call, typed: str, namespace: Mapping[str, Any]) -> Offer | None:
    *before, last = call.parts
    given = {found["name"]: found["value"] for part in before if (found := _ARGUMENT.fullmatch(part))}
    argument = _ARGUMENT.fullmatch(last)
    if argument is None:
        return _argument(code, call, typed, given, namespace) if last.strip() == typed else None
    function = _called(call, namespace)
    field = field_of(function, argument["name"]) if function else None
    is_here = argument["value"] == typed if call.items is None else argument["value"].startswith("[")
    if function is None or field is None or not is_here:
        return None
    values = values_of(function, field, {name: _literal(text, namespace) for name, text in given.items()})
    return _strings(typed, code.after, [value for value in values if value not in (call.items or ())], "value")


def _argument(code: Code, call: _Call, typed: str, given: Iterable[str], namespace: Mapping[str, Any]) -> Offer | None:
    """Offer what an argument begins with: the name of a parameter, and first in ``funcs.panel`` that of a function."""
    if isinstance(call.owner, _PanelOf) and len(call.parts) == 1:
        return _strings(typed, code.after, (one.name for one in call.owner.session.listed or ()), "function")
    if code.string is not None:
        return None
    given = [*given, *GIVEN_AFTER.findall(code.after.partition(")")[0])]
    function = _called(call, namespace)
    if function:
        names = [field.identifier for field in left_of(function, given)]
    elif _is_a(call.owner, "callables", "Options"):
        names = [one.name for one in dataclass_fields(call.owner) if one.name not in given]
    else:
        return None
    return Offer(typed, typed, same(f"{name}=" for name in names), "param")


def _called(call: _Call, namespace: Mapping[str, Any]) -> RemoteFunction | None:
    if isinstance(call.owner, _PanelOf):
        return function_of(call.owner.session, str(_literal(call.parts[0], namespace)))
    return call.owner if _is_a(call.owner, "callables", "RemoteFunction") else None


def _strings(typed: str, after: str, values: Iterable[str], kind: str) -> Offer:
    """Offer values as Python texts; where letters stand without quotes, others offer variables too."""
    writer = Writer(lambda _: False, lambda value, end: value.replace("\\", r"\\").replace(end, rf"\{end}"))
    in_quotes = typed[:1] in {"'", '"'}
    candidates = writer.candidates(values, typed, after)
    return Offer(typed, unquoted_begin(typed), candidates, kind, alone=in_quotes or not typed, only=in_quotes)


def _attributes(owner: Any, typed: str) -> Offer:
    """Offer the slugs of a session's functions, and what a session or a function has; jedi would bind every one."""
    names = [name for name in {*dir(type(owner)), *vars(owner)} if name.startswith("_") <= typed.startswith("_")]
    catalog = None if _is_a(owner, "callables", "RemoteFunction") else owner.listed
    slugs = catalog.slugs if catalog else ()
    return Offer(typed, typed, each(dict.fromkeys([*slugs, *sorted(names)])), "function")


def _resolve(node: ast.expr | None, namespace: Mapping[str, Any]) -> Any:
    """Give the session or the function that an expression stands for; no code of the user's or of a service's runs."""
    match node:
        case ast.Name(id=name):
            return namespace.get(name)
        case ast.Attribute(value=inner, attr=name):
            return _attribute(_resolve(inner, namespace), name)
        case ast.Subscript(value=inner, slice=ast.Constant(value=key)):
            owner = _resolve(inner, namespace)
            if _is_a(owner, "session", "Session"):
                return function_of(owner, str(key))
            return owner.get(key) if type(owner) is dict else None
        case ast.Call(func=ast.Attribute(value=inner, attr="with_options")):
            return _resolve(inner, namespace)
    return None


def _attribute(owner: Any, name: str) -> Any:
    if _is_a(owner, "session", "Session"):
        if name == "panel":
            return _PanelOf(owner)
        return None if hasattr(type(owner), name) else function_of(owner, name)
    if _is_a(owner, "callables", "RemoteFunction"):
        if name == "with_options":
            return owner.options
        return owner if name in _TAKE_PARAMETERS else None
    return inspect.getattr_static(owner, name, None)


def _is_a(value: object, room: str, name: str) -> bool:
    """Say whether a value is of a class of ours, without importing the heavy room that the class is in."""
    module = sys.modules.get(f"{__package__}.{room}")
    return module is not None and isinstance(value, getattr(module, name))


def _literal(text: str, namespace: Mapping[str, Any]) -> Any:
    """Give the value of a literal or of a variable; ``None`` for any other code."""
    text = text.strip()
    if text.isidentifier():
        return namespace.get(text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None

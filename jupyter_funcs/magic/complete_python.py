"""
Tab in Python code: the functions of a session, and the parameters and values of a call.

Imported once there may be a session, because what it completes takes long to import.
"""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.api import RemoteFunction, Session
from jupyter_funcs.client.options import CallOptions
from jupyter_funcs.magic.candidates import (
    Arguments,
    Offer,
    PartialCode,
    Quoting,
    find_function,
    known_values,
    remaining_fields,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from jupyter_funcs.core.line import Namespace

_ARGUMENT = re.compile(r"(?s)\s*(?P<name>\w+)\s*=(?!=)\s*(?P<value>.*)")
# The methods of a function that take its parameters.
_TAKE_PARAMETERS = {"submit", "form", "panel", "request", "sweep"}


class _PanelMethod(NamedTuple):
    """The method ``funcs.panel``, which takes a function's name and then its arguments."""

    session: Session


def in_python(code: PartialCode, namespace: Namespace) -> Offer | None:
    """Offer the attributes of a session or a function, names of functions, parameters and values."""
    begin = code.begin
    typed = code.typed
    if code.string is None and code.before[begin - 1 : begin] == ".":
        return _attributes(_resolve(code.owner(begin - 1), namespace), typed)
    if not code.open or typed.startswith(('"""', "'''")):
        return None
    if code.bracket(-1) == "[":
        session = _resolve(code.owner(code.open[-1][0]), namespace)
        if isinstance(session, Session):
            return _offer_functions(session, code)

    arguments = code.arguments(_ARGUMENT.fullmatch)
    if arguments is None or code.bracket(arguments.bracket) != "(":
        return None
    owner = _resolve(code.owner(code.open[arguments.bracket][0]), namespace)
    if isinstance(owner, _PanelMethod):
        if arguments.name is None and len(arguments.parts) == 1:
            return _offer_functions(owner.session, code)
        owner = find_function(
            owner.session, str(_literal(arguments.parts[0], namespace))
        )

    return _in_call(owner, arguments, code, namespace)


def _in_call(
    owner: Any, arguments: Arguments, code: PartialCode, namespace: Namespace
) -> Offer | None:
    """Offer the names or the values of the parameters of a function, or the names of its options."""
    if arguments.name is None:
        if code.string is None:
            return _offer_names(owner, arguments.before, code)
        return None

    if not isinstance(owner, RemoteFunction):
        return None
    before = {
        name: _literal(text, namespace) for name, text in arguments.before.items()
    }
    items = [_literal(text, namespace) for text in arguments.items]
    values = known_values(owner, arguments.name, before, items)
    if values is None:
        return None
    return _strings(code, values, "value")


def _offer_names(
    owner: Any, arguments: Collection[str], code: PartialCode
) -> Offer | None:
    if isinstance(owner, RemoteFunction):
        left = remaining_fields(owner, arguments, code.after.partition(")")[0])
        names = [field.identifier for field in left if not field.inside]
    elif isinstance(owner, CallOptions):
        names = [
            option.name for option in fields(owner) if option.name not in arguments
        ]
    else:
        return None

    return Offer(code.typed, [f"{name}=" for name in names], "param")


def _offer_functions(session: Session, code: PartialCode) -> Offer:
    return _strings(
        code, (function.name for function in session.listed or ()), "function"
    )


def _strings(code: PartialCode, values: Iterable[str], kind: str) -> Offer:
    """Offer values as string literals; at letters without quotes, others may also offer variables."""
    quoting = Quoting(
        escape=lambda value, end: value.replace("\\", r"\\").replace(end, rf"\{end}")
    )
    in_quotes = code.typed[:1] in {"'", '"'}
    offered = quoting.offer(code.typed, values, code.after, kind)
    return offered._replace(alone=in_quotes or not code.typed, only=in_quotes)


def _attributes(owner: Any, typed: str) -> Offer | None:
    """Offer the slugs of a session's functions, then the attributes of its class; jedi would evaluate each of them."""
    if not isinstance(owner, Session | RemoteFunction):
        return None
    names = [
        name
        for name in {*dir(type(owner)), *vars(owner)}
        if name.startswith("_") <= typed.startswith("_")
    ]
    names.sort()
    if isinstance(owner, Session):
        names = [*owner.attributes, *names]
    return Offer(typed, dict.fromkeys(names), "function")


def _resolve(node: ast.expr | None, namespace: Namespace) -> Any:
    """Return the session or function that an expression names, without running the user's or a service's code."""
    match node:
        case ast.Name(id=name):
            return namespace.get(name)
        case ast.Attribute(value=inner, attr=name):
            return _attribute(_resolve(inner, namespace), name)
        case ast.Subscript(value=inner, slice=ast.Constant(value=key)):
            owner = _resolve(inner, namespace)
            if isinstance(owner, Session):
                return find_function(owner, str(key))
            return owner.get(key) if type(owner) is dict else None
        case ast.Call(func=ast.Attribute(value=inner, attr="with_options")):
            return _resolve(inner, namespace)

    return None


def _attribute(owner: Any, name: str) -> Any:
    if isinstance(owner, Session):
        if name == "panel":
            return _PanelMethod(owner)
        if hasattr(type(owner), name):
            return None
        return find_function(owner, name)

    if isinstance(owner, RemoteFunction):
        if name == "with_options":
            return owner.options
        return owner if name in _TAKE_PARAMETERS else None

    return inspect.getattr_static(owner, name, None)


def _literal(text: str, namespace: Namespace) -> Any:
    """Return the value of a literal or a variable, None for other code."""
    text = text.strip()
    if text.isidentifier():
        return namespace.get(text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None

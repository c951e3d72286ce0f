"""What a service has changed of a function since it was listed, or locked, in words."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, NamedTuple

from jupyter_funcs.fields import Kind, read_fields
from jupyter_funcs.text import folded, listed, quote

if TYPE_CHECKING:
    from jupyter_funcs.catalog import Function

# How much of two names is the same, as a fraction, where one is taken for the other renamed.
_NEAR = 0.6
_OTHER_KIND = 0.8
_TELLING_LETTERS = 3
# Of these a function has one: it holds the same, however it is called.
_TELLING = {Kind.SYMBOL, Kind.PANEL}


class Parameter(NamedTuple):
    """
    What a caller relies on of a parameter.

    Attributes
    ----------
    kind
        What it holds.
    required
        Whether a run without it is refused.
    one_of
        The parameters of which one is needed, where it is one of them.
    """

    kind: str
    required: bool = False
    one_of: tuple[str, ...] = ()


Signature = dict[str, Parameter]
"""The parameters of a function by wire name, in their order."""


def signature(function: Function) -> Signature:
    """Give what a caller relies on of a function as it is listed."""
    found: Signature = {}
    for field in read_fields(function):
        one_of = field.rule.names if field.rule else ()
        found.setdefault(field.name, Parameter(str(field.kind), field.required, one_of))
    return found


def drift(before: Function, now: Function) -> str:
    """
    Say which parameters were renamed, added, removed, or became required.

    Returns
    -------
    str
        One sentence for a person; empty where a run that was valid before is valid now.
    """
    return changes(now.name, signature(before), signature(now))


def changes(name: str, before: Signature, now: Signature) -> str:
    """
    Say the same of a function's signatures.

    Parameters
    ----------
    name
        The function's wire name.
    before, now
        What was known of it, and what the service lists.
    """
    renamed = _renamed(before, now)
    removed = [quote(name) for name in before if name not in now and name not in renamed]
    added = [
        name + " (required)" * parameter.required
        for name, parameter in now.items()
        if name not in before and name not in renamed.values()
    ]
    same = {name: name for name in before if name in now} | renamed
    required = [quote(today) for then, today in same.items() if now[today].required and not before[then].required]
    rules = {one_of: None for one_of in (parameter.one_of for parameter in now.values()) if one_of}
    known = {tuple(same.get(name, name) for name in parameter.one_of) for parameter in before.values()}
    required += [listed(map(quote, one_of)) for one_of in rules if one_of not in known]
    told = [f"{quote(then)} renamed {quote(today)}" for then, today in renamed.items()]
    said = [
        f"{what} {listed(names, 'and')}"
        for what, names in (("with", told), ("without", removed), ("with", added), ("that now requires", required))
        if names
    ]
    return f"The service lists {quote(name)} {', '.join(said)} now." if said else ""


def _renamed(before: Signature, now: Signature) -> dict[str, str]:
    """Give the parameters that seem to have another name now: one that is gone, and a new one of its kind."""
    gone = [name for name in before if name not in now]
    new = [name for name in now if name not in before]
    alike = [(_likeness(then, before[then], today, now[today]), then, today) for then in gone for today in new]
    found: dict[str, str] = {}
    for likeness, then, today in sorted(alike, key=lambda pair: -pair[0]):
        if likeness >= _NEAR and then not in found and today not in found.values():
            found[then] = today
    return {then: found[then] for then in gone if then in found}


def _likeness(one: str, what: Parameter, other: str, now: Parameter) -> float:
    """Say how much two parameters look like one, as a fraction, by their names and by what they hold."""
    is_alike = what.kind == now.kind
    if is_alike and what.kind in _TELLING:
        return 1.0
    first, second = sorted((folded(one), folded(other)), key=len)
    if len(first) >= _TELLING_LETTERS and first in second:  # Brand and BrandName
        return 0.9
    return difflib.SequenceMatcher(None, first, second).ratio() * (1.0 if is_alike else _OTHER_KIND)

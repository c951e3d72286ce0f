"""Changes: how the parameters of a function differ from those listed or locked before, in words."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, NamedTuple

from jupyter_funcs.catalog.fields import Kind, by_name, read_fields
from jupyter_funcs.core.text import folded, listed, quote

if TYPE_CHECKING:
    from jupyter_funcs.catalog.listing import Function

# The least similarity of two names, as a fraction, at which one counts as the other renamed.
_LEAST_SIMILARITY = 0.6
_OTHER_KIND = 0.8
_LEAST_LETTERS = 3
# Beyond these bounds, comparing the names takes seconds.
_MOST_PAIRS, _LONGEST_NAME = 2500, 80
# A function has one parameter of these kinds, whatever its name.
_UNIQUE_KINDS = {Kind.SYMBOL, Kind.PANEL}


class InterfaceParam(NamedTuple):
    """What a caller relies on in a parameter."""

    kind: str
    required: bool = False
    one_of: tuple[str, ...] = ()


Interface = dict[str, InterfaceParam]
"""The parameters of a function by wire name, in order."""


def interface_of(function: Function) -> Interface:
    """Return what a caller relies on in a function as listed."""
    return {
        name: InterfaceParam(str(field.kind), field.required, field.rule.names if field.rule else ())
        for name, field in by_name(read_fields(function)).items()
    }


def drift(before: Function, now: Function) -> str:
    """Describe which parameters were renamed, added, removed, or became required; empty if none."""
    return changes(now.name, interface_of(before), interface_of(now))


def changes(name: str, before: Interface, now: Interface) -> str:
    """Describe the differences between two interfaces of a function, as `drift` does."""
    renamed = _renamed(before, now)
    added = [
        quote(name) + " (required)" * param.required
        for name, param in now.items()
        if name not in before and name not in renamed.values()
    ]
    same = {name: name for name in before if name in now} | renamed
    required = [quote(today) for then, today in same.items() if now[today].required and not before[then].required]
    rules = dict.fromkeys(param.one_of for param in now.values() if param.one_of)
    known = {tuple(same.get(name, name) for name in param.one_of) for param in before.values()}
    required += [listed(map(quote, one_of)) for one_of in rules if one_of not in known]
    found = {
        "renamed": [f"{quote(then)} to {quote(today)}" for then, today in renamed.items()],
        "removed": [quote(name) for name in before if name not in same],
        "added": added,
        "now requires": required,
    }
    texts = [f"{verb} {listed(names, 'and')}" for verb, names in found.items() if names]
    return f"The service has changed {quote(name)}: {', '.join(texts)}." if texts else ""


def _renamed(before: Interface, now: Interface) -> dict[str, str]:
    """Pair each parameter that is gone with the new one most like it."""
    gone = [name for name in before if name not in now]
    new = [name for name in now if name not in before]
    if len(gone) * len(new) > _MOST_PAIRS:
        return {}
    pairs = [(_similarity(then, before[then], today, now[today]), then, today) for then in gone for today in new]
    found: dict[str, str] = {}
    for similarity, then, today in sorted(pairs, key=lambda pair: -pair[0]):
        if similarity >= _LEAST_SIMILARITY and then not in found and today not in found.values():
            found[then] = today
    return {then: found[then] for then in gone if then in found}


def _similarity(one: str, before: InterfaceParam, other: str, now: InterfaceParam) -> float:
    """Return the similarity of two parameters by name and kind, as a fraction."""
    same_kind = before.kind == now.kind
    if same_kind and before.kind in _UNIQUE_KINDS:
        return 1.0
    first, second = sorted((folded(name)[:_LONGEST_NAME] for name in (one, other)), key=len)
    if len(first) >= _LEAST_LETTERS and first in second:  # Brand and BrandName
        return 0.9
    return difflib.SequenceMatcher(None, first, second).ratio() * (1.0 if same_kind else _OTHER_KIND)

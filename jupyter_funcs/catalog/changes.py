"""Changes: how a listing, or a function in it, differs from what was listed or locked before, in words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from jupyter_funcs.catalog.fields import Kind, by_name, read_fields
from jupyter_funcs.catalog.listing import Contents
from jupyter_funcs.core.text import clip, inert, listed, nearest, quote, some

if TYPE_CHECKING:
    from jupyter_funcs.catalog.listing import Catalog, Function

_LONGEST_NAME = 120
# Beyond this, comparing the names takes seconds.
_MOST_PAIRS = 2500
# A function has one parameter of these kinds, whatever its name.
_UNIQUE_KINDS = {Kind.SYMBOL, Kind.PANEL}


class InterfaceParam(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a caller relies on in a parameter."""

    kind: str
    required: bool = False
    one_of: tuple[str, ...] = ()


Interface = dict[str, InterfaceParam]
"""The parameters of a function by wire name, in order."""


def interface_of(function: Function) -> Interface:
    """Return what a caller relies on in a function as listed."""
    return {
        name: InterfaceParam(
            str(field.kind), field.required, field.rule.names if field.rule else ()
        )
        for name, field in by_name(read_fields(function)).items()
    }


def relisted(before: Catalog | None, now: Catalog) -> str:
    """Describe which functions were added, removed or changed since an earlier listing; empty without one."""
    if before is None:
        return ""
    was, are = (
        Counter(function.name for function in catalog) for catalog in (before, now)
    )  # two may have one name
    contents = Contents()
    known = {repr(contents.of(function)) for function in before}
    others = [function.name for function in now if repr(contents.of(function)) not in known]
    changed = dict.fromkeys(name for name in others if was[name] == are[name])
    news = {
        "added": [*(are - was).elements()],
        "removed": [*(was - are).elements()],
        "changed": [*changed],
    }
    texts = [
        f"{len(names):,} {what} ({some([clip(inert(name), _LONGEST_NAME) for name in names])})"
        for what, names in news.items()
        if names
    ]
    return f"Listed again: {', '.join(texts) or 'nothing has changed'}."


def drift(before: Function, now: Function) -> str:
    """Describe which parameters were renamed, added, removed, or became required; empty if none."""
    return changes(now.name, interface_of(before), interface_of(now))


def changes(name: str, before: Interface, now: Interface) -> str:
    """Describe the differences between two interfaces of a function, as `drift` does."""
    renamed = _renamed(before, now)
    same = {name: name for name in before if name in now} | renamed
    new = {
        name: param
        for name, param in now.items()
        if name not in before and name not in renamed.values()
    }
    required = [
        quote(today)
        for then, today in same.items()
        if now[today].required and not before[then].required
    ]
    rules = dict.fromkeys(param.one_of for param in now.values() if param.one_of)
    known = {tuple(same.get(name, name) for name in param.one_of) for param in before.values()}
    required += [listed(map(quote, one_of)) for one_of in rules if one_of not in known]
    news = {
        "renamed": [f"{quote(then)} to {quote(today)}" for then, today in renamed.items()],
        "removed": [quote(name) for name in before if name not in same],
        "added": [quote(name) + " (required)" * param.required for name, param in new.items()],
        "now requires": required,
    }
    texts = [f"{verb} {listed(names, 'and')}" for verb, names in news.items() if names]
    return f"The service has changed {quote(name)}: {', '.join(texts)}." if texts else ""


def _renamed(before: Interface, now: Interface) -> dict[str, str]:
    """Pair each parameter that is gone with the new one most like it."""
    gone = [name for name in before if name not in now]
    new = [name for name in now if name not in before]
    found: dict[str, str] = {}
    for then in gone if len(gone) * len(new) <= _MOST_PAIRS else ():
        left = [today for today in new if today not in found.values()]
        same = [today for today in left if before[then].kind == now[today].kind in _UNIQUE_KINDS]
        # A shorter name is in too many others.
        if alike := same or (nearest(then, left, 1) if len(then) > 2 else []):
            found[then] = alike[0]
    return found

"""Changes: how a listing, or a function in it, differs from what was listed or locked before, in words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from jupyter_funcs.catalog.fields import Kind, by_name, read_fields
from jupyter_funcs.catalog.listing import Contents
from jupyter_funcs.core.text import clip, inert, listed, nearest, quote, some

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    was = Counter(before.names)  # two may have one name
    are = Counter(now.names)
    contents = Contents()
    same = {repr(contents.of(function)) for function in before}
    others = [
        function.name for function in now if repr(contents.of(function)) not in same
    ]
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
    new = now.keys() - same.values()
    news = {
        "renamed": [
            f"{quote(then)} to {quote(today)}" for then, today in renamed.items()
        ],
        "removed": [quote(name) for name in before if name not in same],
        "added": [
            f"{quote(name)} (required)" if param.required else quote(name)
            for name, param in now.items()
            if name in new
        ],
        "now requires": _newly_required(before, now, same),
    }
    texts = [f"{verb} {listed(names, 'and')}" for verb, names in news.items() if names]
    if texts:
        return f"The service has changed {quote(name)}: {', '.join(texts)}."
    return ""


def _newly_required(
    before: Interface, now: Interface, same: Mapping[str, str]
) -> list[str]:
    """Return the parameters, and the rules for several, that no call had to fulfil; `same` has today's names."""
    required = [
        quote(today)
        for then, today in same.items()
        if now[today].required and not before[then].required
    ]
    rules = dict.fromkeys(param.one_of for param in now.values())
    earlier = [
        tuple(same.get(name, name) for name in param.one_of)
        for param in before.values()
    ]
    return required + [
        listed(map(quote, rule)) for rule in rules if rule and rule not in earlier
    ]


def _renamed(before: Interface, now: Interface) -> dict[str, str]:
    """Pair each parameter that is gone with the new one most like it."""
    gone = [name for name in before if name not in now]
    new = [name for name in now if name not in before]
    renamed: dict[str, str] = {}
    if len(gone) * len(new) > _MOST_PAIRS:
        return renamed
    for then in gone:
        alike = [
            today
            for today in new
            if before[then].kind == now[today].kind in _UNIQUE_KINDS
        ]
        if not alike and len(then) > 2:  # a shorter name is in too many others
            alike = nearest(then, new, 1)
        if alike:
            renamed[then] = alike[0]
            new.remove(alike[0])

    return renamed

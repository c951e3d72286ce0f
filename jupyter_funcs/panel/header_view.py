"""The header of the panel: the service, its functions as the picker lists them, and what the empty panel offers."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from jupyter_funcs.catalog.fields import read_fields
from jupyter_funcs.catalog.listing import Catalog
from jupyter_funcs.client.status import ends_in
from jupyter_funcs.core.errors import ArgumentError, FuncsError
from jupyter_funcs.core.text import clip, inert, listed
from jupyter_funcs.panel.visits import alike

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_funcs.catalog.fields import Field
    from jupyter_funcs.catalog.form import Form
    from jupyter_funcs.catalog.listing import Function
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.client.status import Status
    from jupyter_funcs.panel.outcome import PanelSession

_MOST_LISTED = 100  # functions of one search
_MOST_CARDS = 8
_MOST_CHANGES = 3  # functions that Refresh names
_LONGEST_NAME, _LONGEST_ABOUT = 120, 240
_EXAMPLE = "an example"
_SOON = 600.0  # seconds; a token that ends later is not worth a word


def service_view(session: PanelSession, status: Status | None, trouble: Iterable[str]) -> dict[str, Any]:
    """Return what the header says of the service."""
    known = session.listed
    ends = status.ends if status else math.inf
    return {
        "name": _shown(session.service),
        "kind": session.kind,
        "synthetic": session.synthetic,
        "account": _shown(status.user) if status else "",
        "tokenEnds": f"The token {ends_in(ends)}." if status and status.remaining < _SOON else "",
        "trouble": [*trouble, *(status.trouble.splitlines() if status else [])][:3],
        "functions": len(known) if known is not None else 0,
    }


def function_view(function: Function, slug: str, favourites: Iterable[str]) -> dict[str, Any]:
    """Return a function as the picker and the header show it."""
    return {
        "id": slug,
        "name": _shown(function.name),
        "about": clip(inert(" ".join(function.description.split())), _LONGEST_ABOUT),
        "group": _shown(function.group),
        "favourite": function.name in favourites,
        "changesData": function.changes_data,
        "example": _EXAMPLE if all(map(_has_example, read_fields(function))) and not function.changes_data else "",
    }


def sections(session: PanelSession, query: str) -> dict[str, Any]:
    """Return the functions that a search finds; without words all: favourites, recent ones, then by group."""
    catalog = session.listed or Catalog(())
    names, recent = session.favourites.names, session.favourites.recent
    found = catalog.search(query)
    named: list[tuple[str, list[Function]]] = []
    if query.strip():
        named.append(("", found[:_MOST_LISTED]))
    else:
        near = [*names, *(name for name in recent if name not in names)]
        known = {name: function for name in near if (function := catalog.peek(name)) and function.name == name}
        named.append(("Favourites", [known[name] for name in names if name in known]))
        named.append(("Recent", [known[name] for name in recent if name in known and name not in names]))
        groups: dict[str, list[Function]] = {}
        for function in found[:_MOST_LISTED]:
            if function.name not in known:
                groups.setdefault(function.group, []).append(function)
        named += groups.items()
    listed = [
        {"title": _shown(title), "functions": [function_view(each, catalog.slug(each), names) for each in functions]}
        for title, functions in named
        if functions
    ]
    return {"sections": listed, "total": len(catalog), "found": len(found)}


def start_view(session: PanelSession, recent: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what an empty panel offers: functions, runs of before, presets."""
    catalog = session.listed or Catalog(())
    favourites = session.favourites.names
    first = [each for name in favourites if (each := catalog.peek(name)) is not None]
    shown = list({each.name: each for each in [*first, *catalog]}.values())[:_MOST_CARDS]
    cards = []
    for function in shown:
        view = function_view(function, catalog.slug(function), favourites)
        del view["changesData"]
        cards.append(view)
    presets: list[dict[str, Any]] = []
    with suppress(FuncsError):  # a broken file must not keep the panel from opening; a function's form says so
        presets += (
            {"name": name, "about": "", "shipped": False, "function": catalog.slug(function)}
            for function in shown
            for name in session.presets.names(function.name)
        )
    return {"cards": cards, "recent": recent, "presets": presets[:_MOST_CARDS]}


def _has_example(field: Field) -> bool:
    """Return whether a field may stay empty, or has options, or a function that lists its values."""
    return not (field.required or field.rule) or bool(field.options or field.source)


async def example_values(function: RemoteCall, form: Form) -> dict[str, str]:
    """Return values with which a function runs: the first option or listed value of each field that it needs."""
    values: dict[str, str] = {}
    ruled: set[tuple[str, ...]] = set()  # of a rule, one field is enough
    for field in form.fields:
        if form.is_set(field.name) or not (field.required or (field.rule and field.rule.names not in ruled)):
            continue
        choices: list[str] = list(field.options[:1])
        if not choices and field.source:
            listed, _ = await function.choices(field, {**form.first, **values})
            choices = [choice.value for choice in listed[:1]]
        if not choices:
            raise ArgumentError(f"There is no example: {field.label} lists no values.", "Fill in the form.")
        values[field.name] = choices[0]
        ruled |= {field.rule.names} if field.rule else set()
    return values


def _shown(text: str) -> str:
    return clip(inert(text), _LONGEST_NAME)


def changes(before: Catalog | None, after: Catalog) -> str:
    """Say in words how one listing differs from the one before: which functions are new, gone, or otherwise."""
    if before is None:
        return ""
    was, now = _by_name(before), _by_name(after)
    added = [name for name, functions in now.items() for _ in functions[len(was.get(name, ())) :]]
    removed = [name for name, functions in was.items() for _ in functions[len(now.get(name, ())) :]]
    changed = [name for name, functions in now.items() if name in was and not alike(functions, was[name])]
    said = [
        f"{len(names):,} {what} ({_some(names)})"
        for what, names in (("added", added), ("removed", removed), ("changed", changed))
        if names
    ]
    return f"Listed again: {', '.join(said) if said else 'nothing has changed'}."


def _by_name(catalog: Catalog) -> dict[str, list[Function]]:
    functions: dict[str, list[Function]] = {}  # two may have one name
    for each in catalog:
        functions.setdefault(each.name, []).append(each)
    return functions


def _some(names: list[str]) -> str:
    shown = [_shown(name) for name in names[:_MOST_CHANGES]]
    return listed([*shown, "others"] if len(names) > _MOST_CHANGES else shown, "and")

"""The header of the panel: the service, its functions as the picker lists them, and what the empty panel offers."""

from __future__ import annotations

import math
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from jupyter_funcs.catalog.listing import Catalog, Function
from jupyter_funcs.client.status import Status, ends_in, no_functions
from jupyter_funcs.core.errors import ArgumentError, FuncsError
from jupyter_funcs.core.text import clip, folded, inert, some
from jupyter_funcs.records.presets import fill

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_funcs.catalog.fields import Field
    from jupyter_funcs.catalog.form import Args, Form
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.records.recorded import RecordedClient

_MOST_LISTED = 100  # functions of one search
_MOST_CARDS = 8
_LONGEST_NAME, _LONGEST_ABOUT = 120, 240
_LONGEST_EXAMPLE = 80
_BREAKDOWNS = {"dimensions", "dimension", "groupby", "breakdown"}  # names of fields, folded
_SOON = 600.0  # seconds; a token that ends later is not worth a word


def service_view(session: RecordedClient[RemoteCall], status: Status | None, trouble: Iterable[str]) -> dict[str, Any]:
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
        "nothing": "" if known is None or len(known) else no_functions(session.service, session.kind),
    }


def function_view(function: Function, slug: str, favourites: Iterable[str]) -> dict[str, Any]:
    return {
        "id": slug,
        "name": _shown(function.name),
        "about": clip(inert(" ".join(function.description.split())), _LONGEST_ABOUT),
        "group": _shown(function.group),
        "favourite": function.name in favourites,
        "changesData": function.changes_data,
    }


def sections(session: RecordedClient[RemoteCall], query: str, first: int = 0) -> dict[str, Any]:
    """Return a page of the functions that a search finds; without words all: favourites, recent ones, then by group."""
    catalog = session.listed or Catalog(())
    names, found = session.favourites.names, catalog.search(query)
    rows = [("", each) for each in found]
    if not query.strip():
        titles = dict.fromkeys([*names, *session.favourites.recent], "Recent") | dict.fromkeys(names, "Favourites")
        listed = [(title, each) for name, title in titles.items() if (each := catalog.peek(name)) and each.name == name]
        near = {id(each): (title, each) for title, each in listed}
        groups = {group: at for at, group in enumerate(dict.fromkeys(each.group for each in found))}
        rest = {id(each): (each.group, each) for each in sorted(found, key=lambda each: groups[each.group])}
        rows = [*(near | rest | near).values()]  # those of the first in their places
    page = groupby(rows[first : first + _MOST_LISTED], key=itemgetter(0))
    shown = [
        {"title": _shown(title), "functions": [function_view(each, catalog.slug(each), names) for _, each in those]}
        for title, those in page
    ]
    return {"sections": shown, "total": len(catalog), "found": len(rows)}


def start_view(session: RecordedClient[RemoteCall], recent: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what an empty panel offers: functions, runs of before, presets."""
    catalog = session.listed or Catalog(())
    favourites = session.favourites.names
    cards, presets = [], []
    for function in cards_of(session):
        slug = catalog.slug(function)
        card = function_view(function, slug, favourites) | {"example": example_text(session[slug])}
        if session.synthetic:  # the badge beside the title says so once
            card["about"] = card["about"].replace(" (synthetic demo data)", "")
        cards.append(card)
        with suppress(FuncsError):  # a broken file must not keep the panel from opening; a function's form says so
            for each in presets_view(session, function.name):
                about = " · ".join(filter(None, [_shown(function.name), each["about"]]))
                presets.append(each | {"about": about, "function": slug})
    return {"cards": cards, "recent": recent, "presets": presets[:_MOST_CARDS]}


def cards_of(session: RecordedClient[RemoteCall]) -> list[Function]:
    """Return the functions that an empty panel offers: favourites first, and last those that take nothing."""
    catalog = session.listed or Catalog(())
    first = [each for name in session.favourites.names if (each := catalog.peek(name)) is not None]
    others = sorted(catalog, key=lambda each: not each.params)
    return list({id(each): each for each in [*first, *others]}.values())[:_MOST_CARDS]


def presets_view(session: RecordedClient[RemoteCall], function: str) -> list[dict[str, Any]]:
    """Return the presets of a function: those that come with the demo, then a person's own."""
    presets = session.presets
    shipped = [{"name": name, "about": "comes with the demo", "shipped": True} for name in presets.shipped(function)]
    return [*shipped, *({"name": each, "about": "", "shipped": False} for each in presets.names(function))]


async def fill_preset(session: RecordedClient[RemoteCall], function: RemoteCall, form: Form, name: str) -> list[str]:
    """Fill a form with a preset, and return the names that are no longer parameters."""
    unknown = fill(form, session.presets.get(function.name, name))
    if name in session.presets.shipped(function.name):  # what a run needs besides: the first values that are listed
        form.update(await example_values(function, form, broken_down=False))
    return unknown


def _needed(form: Form, *, broken_down: bool) -> Iterator[Field]:
    """Yield the fields that a run needs, of a rule one, and last the one that breaks an example down."""
    ruled = {field.rule.names for field in form.fields if field.rule and form.is_set(field.name)}
    unset = [field for field in form.fields if not form.is_set(field.name)]
    for field in unset:
        if field.required or (field.rule and field.rule.names not in ruled):
            ruled |= {field.rule.names} if field.rule else set()
            yield field
    if broken_down:
        yield from (field for field in unset if not (field.required or field.rule) and _breaks_down(field))


def _breaks_down(field: Field) -> bool:
    return bool(field.options) and folded(field.name) in _BREAKDOWNS


async def example_values(function: RemoteCall, form: Form, *, broken_down: bool = True) -> Args:
    """Return values with which a function runs: the first option or listed value of each field that it needs."""
    values: Args = {}
    for field in _needed(form, broken_down=broken_down):
        found = list(field.options[:1])
        if not found and field.source:
            listed, _ = await function.choices(field, {**form.first, **values})
            found = [choice.value for choice in listed[:1]]
        if not found:
            raise ArgumentError(f"There is no example: {field.label} lists no values.", "Fill in the form.")
        values[field.name] = found[0]
    return values


def example_text(function: RemoteCall) -> str:
    """Say what an example of a function asks, as far as its values are listed; nothing where there is no example."""
    if function.function.changes_data:
        return ""
    values: Args = {}
    texts, by = dict[str, str](), ""
    for field in _needed(function.form(), broken_down=True):
        first = next(iter(field.options or (each.value for each in function.known_choices(field, values))), "")
        if not (first or field.source):
            return ""
        values |= {field.name: first} if first else {}
        text = _shown(first) or f"the first {_shown(field.label)}"
        if _breaks_down(field):
            by = f" by {text}"
        else:
            texts[_shown(field.label)] = text
    if len(texts) == 1 and not by and values:
        texts = {"": " ".join(*texts.items())}
    first, *others = [*reversed(texts.values())] or ["all rows"]  # the most particular one stands last in a form
    return clip(", ".join([first + by, *others]), _LONGEST_EXAMPLE)


def _shown(text: str) -> str:
    return clip(inert(text), _LONGEST_NAME)


def changes(before: Catalog | None, after: Catalog) -> str:
    """Say in words how one listing differs from the one before: which functions are new, gone, or otherwise."""
    if before is None:
        return ""
    was, now = _by_name(before), _by_name(after)
    added = [name for name, functions in now.items() for _ in functions[len(was.get(name, ())) :]]
    removed = [name for name, functions in was.items() for _ in functions[len(now.get(name, ())) :]]
    same = [name for name in now if len(now[name]) == len(was.get(name, ()))]  # others were added or removed
    changed = [name for name in same if not all(map(_alike, now[name], was[name]))]
    news = {"added": added, "removed": removed, "changed": changed}
    said = [f"{len(names):,} {what} ({some(list(map(_shown, names)))})" for what, names in news.items() if names]
    return f"Listed again: {', '.join(said) if said else 'nothing has changed'}."


def listed_again(function: RemoteCall) -> RemoteCall | None:
    """Give a function as it is listed now, with the same options: itself where nothing changed; ``None`` if gone."""
    catalog = function.session.listed
    if catalog is None:
        return None
    by_slug, by_name = catalog.peek(function.slug), catalog.peek(function.name)
    found = next((each for each in (by_slug, by_name) if each is not None and each.name == function.name), None)
    if found is None:
        return None
    slug = catalog.slug(found)
    if _alike(found, function.function) and slug == function.slug:
        return function
    now = function.session[slug].with_options()
    now.options = function.options
    return now


def _alike(one: Function, other: Function) -> bool:
    """Return whether functions are the same but for their places in the catalog."""
    return one == other.changed(sort_value=one.sort_value)


def _by_name(catalog: Catalog) -> dict[str, list[Function]]:
    functions: dict[str, list[Function]] = {}  # two may have one name
    for each in catalog:
        functions.setdefault(each.name, []).append(each)
    return functions

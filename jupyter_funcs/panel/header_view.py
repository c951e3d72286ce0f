"""The header of the panel: the service, the functions in the picker, and what an empty panel offers."""

from __future__ import annotations

from importlib.metadata import version
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from jupyter_funcs.catalog.listing import Catalog, Function
from jupyter_funcs.client.status import Status, ends_in, no_functions
from jupyter_funcs.core.errors import ArgumentError, FuncsError
from jupyter_funcs.core.text import clip, folded, inert
from jupyter_funcs.panel.requests import Json, Name, Number, Text, asked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jupyter_funcs.catalog.fields import Field
    from jupyter_funcs.catalog.form import Args, Form
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.records.recorded import RecordedClient

_MOST_LISTED = 100  # functions of one search
_MOST_CARDS = 8
_LONGEST_NAME, _LONGEST_ABOUT = 120, 240
_LONGEST_EXAMPLE = 80
_BREAKDOWNS = {"dimensions", "dimension", "groupby", "breakdown"}  # names of fields, folded
_SOON = 600.0  # seconds; the end of a token is shown only if it is nearer


class HeaderView:
    """What a panel shows of a session, as plain JSON."""

    def __init__(self, session: RecordedClient[RemoteCall]) -> None:
        self._session = session
        self.status: Status | None = None
        self.trouble: list[str] = []

    @property
    def _catalog(self) -> Catalog:
        return self._session.listed or Catalog(())

    def service(self) -> Json:
        """Return the `ServiceView` of the protocol."""
        session, status, known = self._session, self.status, self._session.listed
        return {
            "name": _shown(session.service),
            "synthetic": session.synthetic,
            "account": _shown(status.user) if status else "",
            "tokenEnds": f"The token {ends_in(status.ends)}." if status and status.remaining < _SOON else "",
            "trouble": [*self.trouble, *(status.trouble.splitlines() if status else [])][:3],
            "functions": len(known) if known is not None else 0,
            "nothing": "" if known is None or len(known) else no_functions(session.service, session.kind),
        }

    def function(self, function: Function, slug: str) -> Json:
        """Return the `FunctionView` of the protocol, without its example."""
        return {
            "id": slug,
            "name": _shown(function.name),
            "about": clip(inert(" ".join(function.description.split())), _LONGEST_ABOUT),
            "group": _shown(function.group),
            "favourite": function.name in self._session.favourites.names,
            "changesData": function.changes_data,
        }

    def card(self, call: RemoteCall) -> Json:
        return self.function(call.function, call.slug) | {"example": example_text(call)}

    @asked(of="header")
    def functions(self, query: Text, first: Number = 0) -> Json:
        """Return a page of the functions that a search finds; without words, all: favourites, recent ones, the rest."""
        catalog, favourites = self._catalog, self._session.favourites
        found = catalog.search(query)
        rows = [("", each) for each in found]
        if not query.strip():
            names = favourites.names
            titles = dict.fromkeys([*names, *favourites.recent], "Recent") | dict.fromkeys(names, "Favourites")
            marked = [(title, catalog.peek(name), name) for name, title in titles.items()]
            near = {id(each): (title, each) for title, each, name in marked if each and each.name == name}
            groups = {group: at for at, group in enumerate(dict.fromkeys(each.group for each in found))}
            rest = {id(each): (each.group, each) for each in sorted(found, key=lambda each: groups[each.group])}
            rows = [*(near | rest | near).values()]  # favourites and recent ones first
        page = groupby(rows[first : first + _MOST_LISTED], key=itemgetter(0))
        shown = [
            {"title": _shown(title), "functions": [self.function(each, catalog.slug(each)) for _, each in those]}
            for title, those in page
        ]
        return {"sections": shown, "total": len(catalog), "found": len(rows)}

    @asked(of="header", refused="Favourites can't be changed")
    def favourite(self, function: Name, *, on: bool) -> None:
        self._session.favourites.mark(self._session[function].name, is_favourite=on)

    @asked(of="header")
    def about(self) -> Json:
        rows = self.status.rows if self.status else [("service", self._session.service)]
        return {"facts": [("version", f"jupyter_funcs {version('jupyter-funcs')}"), *rows]}

    def start(self, recent: list[Json]) -> Json:
        """Return what an empty panel offers: functions, recent runs and presets."""
        cards, presets = [], []
        for call in self.offered():
            card = self.card(call)
            if self._session.synthetic:  # the badge beside the title already says so
                card["about"] = card["about"].replace(" (synthetic demo data)", "")
            cards.append(card)
            for each in self.presets(call.name):
                about = " · ".join(filter(None, [card["name"], each["about"]]))
                presets.append(each | {"about": about, "function": call.slug})
        return {"cards": cards, "recent": recent, "presets": presets[:_MOST_CARDS]}

    def offered(self) -> list[RemoteCall]:
        """Return the functions that an empty panel offers: favourites first, functions without parameters last."""
        catalog = self._catalog
        first = [each for name in self._session.favourites.names if (each := catalog.peek(name)) is not None]
        others = sorted(catalog, key=lambda each: not each.params)
        cards = list({id(each): each for each in [*first, *others]}.values())[:_MOST_CARDS]
        return [self._session[catalog.slug(each)] for each in cards]

    def presets(self, function: str) -> list[Json]:
        """Return the presets of a function: the demo's first, then the user's own."""
        presets = self._session.presets
        shipped = presets.shipped(function)
        about = dict.fromkeys(shipped, "comes with the demo")
        try:
            about |= dict.fromkeys(presets.names(function), "")
        except FuncsError as error:  # a broken file must not keep the panel from opening
            self.trouble = error.lines
        return [{"name": name, "about": text, "shipped": name in shipped} for name, text in about.items()]


def _needed(form: Form, *, broken_down: bool = True) -> Iterator[Field]:
    """Yield the fields that a run needs, one per rule, and last the field by which an example is broken down."""
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


def _first(function: RemoteCall, field: Field, args: Mapping[str, Any]) -> str:
    """Return the first option of a field, or the first value that is already listed; empty if there is none."""
    return next(iter(field.options or (each.value for each in function.known_choices(field, dict(args)))), "")


async def example_values(function: RemoteCall, form: Form, *, broken_down: bool = True) -> Args:
    """Return arguments for an example: the first option or listed value of each field that the function needs."""
    values: Args = {}
    for field in _needed(form, broken_down=broken_down):
        args = form.first | values
        if field.source and not field.options:
            await function.choices(field, args)
        if not (first := _first(function, field, args)):
            raise ArgumentError(f"There is no example: {field.label} lists no values.", "Fill in the form.")
        values[field.name] = first
    return values


def example_text(function: RemoteCall) -> str:
    """Describe the example of a function, as far as its values are listed; empty if it has none."""
    if function.function.changes_data:
        return ""
    values: Args = {}
    texts, by = dict[str, str](), ""
    for field in _needed(function.form()):
        first = _first(function, field, values)
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
    # The most specific field is the last in a form.
    first, *others = [*reversed(texts.values())] or ["default values" if function.fields else "all rows"]
    return clip(", ".join([first + by, *others]), _LONGEST_EXAMPLE)


def _shown(text: str) -> str:
    return clip(inert(text), _LONGEST_NAME)


def listed_again(function: RemoteCall) -> RemoteCall | None:
    """Return a function as it is listed now, with its options: itself if nothing changed, ``None`` if it is gone."""
    catalog = function.session.listed or Catalog(())
    by_slug, by_name = catalog.peek(function.slug), catalog.peek(function.name)
    found = next((each for each in (by_slug, by_name) if each is not None and each.name == function.name), None)
    if found is None:
        return None
    slug = catalog.slug(found)
    if found.content == function.function.content and slug == function.slug:
        return function
    now = function.session[slug].with_options()
    now.options = function.options
    return now

"""The header of the panel: the service, the functions in the picker, and what an empty panel offers."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING

from jupyter_funcs.catalog.choices import Choices
from jupyter_funcs.catalog.fields import Kind, kind_of_name
from jupyter_funcs.catalog.listing import Catalog, Contents, Function
from jupyter_funcs.catalog.values import spelled
from jupyter_funcs.client.status import Status, ends_in, no_functions
from jupyter_funcs.core.errors import ArgumentError, FuncsError
from jupyter_funcs.core.text import clip, folded, inert
from jupyter_funcs.panel.form_view import is_needed
from jupyter_funcs.panel.requests import Json, Name, Number, Text, answers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from jupyter_funcs.catalog.fields import Field
    from jupyter_funcs.catalog.form import Args, Form
    from jupyter_funcs.client.client import Client
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.panel.table_column import TableColumn
    from jupyter_funcs.records.history import RecordedClient

_MOST_LISTED = 100  # functions of one search
_MOST_CARDS = 8
_MOST_LOOKED_AT = 300  # functions for those that take a value
_MOST_USES = 12
_LONGEST_NAME = 120
_LONGEST_ABOUT = 240
_LONGEST_EXAMPLE = 80
# Names of fields, folded.
_BREAKDOWNS = {"dimensions", "dimension", "groupby", "breakdown"}
_NO_USES = {Kind.YES_NO, Kind.DATE, Kind.JSON, Kind.FILE}
_MEANT = {Kind.SYMBOL, Kind.PANEL}  # by the names of columns
_SOON = 600.0  # seconds; the end of a token is shown only if it is nearer


@dataclass(eq=False)
class HeaderView:
    """What a panel shows of a session, as plain JSON."""

    session: RecordedClient[RemoteCall]
    status: Status | None = None
    trouble: Sequence[str] = ()

    def service(self) -> Json:
        """Return the `ServiceView` of the protocol."""
        session = self.session
        functions = len(_listed(session))
        trouble = [*self.trouble]
        account = ""
        token_ends = ""
        nothing = ""
        if status := self.status:
            trouble += status.trouble.splitlines()
            account = _shown(status.user)
            if status.remaining < _SOON:
                token_ends = f"The token {ends_in(status.ends)}."

        if session.listed is not None and not functions:
            nothing = no_functions(session.service, session.kind)
        return {
            "name": _shown(session.service),
            "synthetic": session.synthetic,
            "account": account,
            "tokenEnds": token_ends,
            "trouble": trouble[:3],
            "functions": functions,
            "nothing": nothing,
        }

    def function(self, function: Function, slug: str) -> Json:
        """Return the `FunctionView` of the protocol, without its example."""
        about = function.description.removeprefix(function.title)
        return {
            "id": slug,
            "name": _shown(function.title or function.name),
            "about": clip(inert(about), _LONGEST_ABOUT),
            "group": _shown(function.group),
            "favourite": function.name in self.session.favourites.names,
            "changesData": function.changes_data,
        }

    def card(self, call: RemoteCall) -> Json:
        return self.function(call.function, call.slug) | {"example": example_text(call)}

    @answers(reads=True)
    def functions(self, query: Text, first: Number = 0) -> Json:
        """Return a page of the functions that a search finds; without words, all: favourites, recent ones, the rest."""
        catalog = _listed(self.session)
        favourites = self.session.favourites
        sections = [("", catalog.search(query))]
        if not query.strip():
            groups: dict[str, list[Function]] = {}
            for function in catalog:
                groups.setdefault(function.group, []).append(function)
            sections = [
                ("Favourites", self._named(favourites.names)),
                ("Recent", self._named(favourites.recent)),
            ]
            sections += groups.items()

        # The key is the slug: two functions may be equal in every field.
        rows: dict[str, tuple[str, Function]] = {}
        for title, functions in sections:
            for function in functions:
                rows.setdefault(catalog.slug(function), (title, function))

        shown = islice(rows.items(), first, first + _MOST_LISTED)
        page = [
            {
                "title": _shown(title),
                "functions": [
                    self.function(function, slug) for slug, (_, function) in section
                ],
            }
            for title, section in groupby(shown, key=lambda row: row[1][0])
        ]
        return {"sections": page, "total": len(catalog), "found": len(rows)}

    def _named(self, names: Collection[str]) -> list[Function]:
        """Return the functions with these names, as far as they are listed."""
        functions = map(_listed(self.session).peek, names)
        return [
            function for function in functions if function and function.name in names
        ]

    @answers(refused="Favourites can't be changed")
    def favourite(self, function: Name, *, on: bool) -> None:
        self.session.favourites.mark(self.session[function].name, is_favourite=on)

    @answers(reads=True)
    def about(self) -> Json:
        rows = self.status.rows if self.status else [("service", self.session.service)]
        return {
            "facts": [("version", f"jupyter_funcs {version('jupyter-funcs')}"), *rows]
        }

    def start(self, recent: list[Json]) -> Json:
        """Return what an empty panel offers: functions, recent runs and presets."""
        cards = []
        presets = []
        for call in self.offered():
            card = self.card(call)
            if self.session.synthetic:  # the badge beside the title already says so
                card["about"] = card["about"].replace(" (synthetic demo data)", "")
            cards.append(card)
            for preset in self.presets(call.name):
                about = " · ".join(filter(None, [card["name"], preset["about"]]))
                presets.append(preset | {"about": about, "function": call.slug})

        return {"cards": cards, "recent": recent, "presets": presets[:_MOST_CARDS]}

    def offered(self) -> list[RemoteCall]:
        """Return the functions that an empty panel offers: favourites first, functions without parameters last."""
        catalog = _listed(self.session)
        others = sorted(catalog, key=lambda function: not function.params)
        slugs = dict.fromkeys(
            map(catalog.slug, [*self._named(self.session.favourites.names), *others])
        )
        return [self.session[slug] for slug in islice(slugs, _MOST_CARDS)]

    def presets(self, function: str) -> list[Json]:
        """Return the presets of a function: the demo's first, then the user's own."""
        presets = self.session.presets
        shipped = presets.shipped(function)
        about = dict.fromkeys(shipped, "comes with the demo")
        try:
            about |= dict.fromkeys(presets.names(function), "")
        except FuncsError as error:
            # A broken file must not keep the panel from opening.
            self.trouble = error.lines

        return [
            {"name": name, "about": text, "shipped": name in shipped}
            for name, text in about.items()
        ]


def _needed(form: Form, *, broken_down: bool = True) -> Iterator[Field]:
    """Yield the fields that a run needs, one per rule, and last the field by which an example is broken down."""
    met = {()} | {_rule_of(field) for field in form.fields if form.is_set(field.name)}
    unset = [field for field in form.fields if not form.is_set(field.name)]
    for field in unset:
        if field.required or _rule_of(field) not in met:
            met.add(_rule_of(field))
            yield field

    if broken_down:
        yield from (
            field for field in unset if _breaks_down(field) and not is_needed(field)
        )


def _rule_of(field: Field) -> Collection[str]:
    """Return the names of the fields of which one must be set; empty where any may be left out."""
    return field.rule.names if field.rule else ()


def _breaks_down(field: Field) -> bool:
    return bool(field.options) and folded(field.name) in _BREAKDOWNS


def _first(function: RemoteCall, field: Field, args: Args) -> str:
    """Return the first option of a field, or the first value that is already listed; empty if there is none."""
    return next(iter(field.options or function.known_choices(field, args).values), "")


async def example_values(
    function: RemoteCall, form: Form, *, broken_down: bool = True
) -> Args:
    """Return arguments for an example: the first option or listed value of each field that the function needs."""
    values: Args = {}
    for field in _needed(form, broken_down=broken_down):
        args = form.first | values
        if field.source and not field.options:
            await function.choices(field, args)
        if not (first := _first(function, field, args)):
            raise ArgumentError(
                f"There is no example: {field.label} lists no values.",
                "Fill in the form.",
            )
        values[field.name] = first

    return values


def example_text(function: RemoteCall) -> str:
    """Describe the example of a function, as far as its values are listed; empty if it has none."""
    if function.function.changes_data:
        return ""

    values: Args = {}
    texts = dict[str, str]()
    by = ""
    for field in _needed(function.form()):
        text = f"the first {_shown(field.label)}"
        if first := _first(function, field, values):
            values[field.name] = first
            text = _shown(first)
        elif not field.source:
            return ""
        if _breaks_down(field):
            by = f" by {text}"
        else:
            texts[_shown(field.label)] = text

    # The most specific field is the last in a form.
    shown = [*reversed(texts.values())]
    if len(texts) == 1 and not by and values:
        shown = [" ".join(*texts.items())]
    if not shown:
        shown = ["default values" if function.fields else "all rows"]
    shown[0] += by
    return clip(", ".join(shown), _LONGEST_EXAMPLE)


def uses_of(ran: RemoteCall, args: Args, column: TableColumn, text: str) -> list[Json]:
    """Return the fields of other functions that take a value of a result, those that list it first."""
    catalog = _listed(ran.session)
    # Of a large catalog, not all functions are read.
    likely = chain(
        catalog.search(column.name), catalog.search(text[:_LONGEST_NAME]), catalog
    )
    slugs = dict.fromkeys(map(catalog.slug, likely))
    slugs.pop(ran.slug, None)
    uses: list[list[Json]] = [[], [], []]  # by rank
    for slug in islice(slugs, _MOST_LOOKED_AT):
        call = ran.session[slug]
        name = _shown(call.function.title or call.name)
        for field in call.fields:
            rank, value = _taken(call, field, args, column, text)
            if not value:
                continue
            uses[rank].append(
                {
                    "name": name,
                    "label": _shown(field.label),
                    "function": slug,
                    "field": field.name,
                    "value": [value] if field.is_list else value,
                }
            )

    return [*chain(*uses)][:_MOST_USES]


def _taken(
    call: RemoteCall, field: Field, args: Args, column: TableColumn, text: str
) -> tuple[int, str]:
    """Return how likely a field takes a value of a column, and how it is entered; empty if it takes none."""
    kind = field.value_kind
    if column.kind == "date":
        return 2, text[:10] if kind is Kind.DATE else ""
    if kind in _NO_USES:
        return 0, ""

    if field.options:
        choices = Choices.of(field.options)
    else:
        choices = call.known_choices(field, args)

    # Where values are listed, they decide; a number among them may mean anything.
    if choices:
        listed = "" if column.right else choices.meant(text)
        return 0, spelled(listed or "")

    if folded(column.name) in {folded(field.name), folded(field.label)}:
        return 1, spelled(text)

    # A ticker is a symbol, whatever the column and the field are called.
    means = kind_of_name(column.name.replace(" ", "_"))
    is_meant = means in _MEANT & {kind, kind_of_name(field.name)}
    return 1, spelled(text) if is_meant else ""


def _listed(session: Client[RemoteCall]) -> Catalog:
    return session.listed or Catalog(())


def _shown(text: str) -> str:
    return clip(inert(text), _LONGEST_NAME)


def listed_again(function: RemoteCall) -> RemoteCall | None:
    """Return a function as it is listed now, with its options: itself if nothing changed, ``None`` if it is gone."""
    catalog = _listed(function.session)
    name = function.name
    listed = catalog.peek(function.slug)
    if not listed or listed.name != name:
        listed = catalog.peek(name)
    if not listed or listed.name != name:
        return None

    slug = catalog.slug(listed)
    contents = Contents()
    if contents.of(listed) == contents.of(function.function) and slug == function.slug:
        return function

    now = function.session[slug].with_options()
    now.options = function.options
    return now

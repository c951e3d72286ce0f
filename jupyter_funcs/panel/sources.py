"""The options of a field: its own, or the values of a listing function, which is called in the background."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_funcs.catalog.choices import Choices, fixed
from jupyter_funcs.catalog.fields import Field, Kind, listing_args
from jupyter_funcs.core import background
from jupyter_funcs.core.errors import FuncsError
from jupyter_funcs.core.text import clip, folded, inert, listed, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Future

    from jupyter_funcs.catalog.form import Args, Form
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.panel.requests import Json

PAGE = 200  # options in one reply
_FIRST = 50  # options of a longer list: it is searched
# After so many seconds, the user is told to type the value instead.
_SLOW = 3.0
_NOUNS = {Kind.SYMBOL: "symbols", Kind.PANEL: "panels"}
# Controls of other kinds have no room for listed values, or show those of the description.
_LISTED = {Kind.SYMBOL, Kind.PANEL, Kind.TEXT, Kind.LIST}


@dataclass(eq=False)
class FieldSource:
    """The options of a field: its own, or those of its listing function."""

    field: Field
    function: RemoteCall
    form: Form
    on_news: Callable[[FieldSource], None]
    at: float | None = None  # when the values were listed
    asking: bool = False
    is_slow: bool = False
    trouble: str = ""
    missing: Sequence[str] = ()
    gone: frozenset[str] = frozenset()  # listed before, and no longer
    _listed: frozenset[str] = frozenset()
    _future: Future[None] | None = None

    def __post_init__(self) -> None:
        field = self.field
        has_room = field.kind in _LISTED and not field.options
        lister = self.function.session.catalog.peek(field.source or "") if has_room else None
        self.is_listed = bool(lister and not lister.changes_data)
        self._listing = self.function.session[field.source or ""].fields if self.is_listed else ()
        self.choices = Choices.of(field.options)

        needed = {folded(name) for name in self._missing({})} - {folded(field.name)}
        self.needs = [other.name for other in self.form.fields if folded(other.name) in needed]

    def _missing(self, args: Args) -> list[str]:
        return listing_args(self.field, self._listing, args)[1]

    def nearest(self, value: str) -> str:
        """Return the choice most similar to a value, or without choices a valid spelling of it; empty if none."""
        return (
            next(iter(self.choices.nearest(value)), "")
            if self.choices
            else fixed(self.field, value)
        )

    def page(self, query: str = "", start: int | None = None, *, grouped: bool = False) -> Json:
        """Return a page of options that match a search, by default the first ones: the `OptionPage` of the protocol."""
        choices = self.choices.search(query)
        groups = Counter(choice.group for choice in choices)
        if not 1 < len(groups) <= PAGE:
            groups.clear()
        elif grouped:
            place = {name: at for at, name in enumerate(groups)}
            choices = sorted(choices, key=lambda choice: place[choice.group])
        most = _FIRST if start is None and len(choices) > PAGE else PAGE
        first = start or 0
        shown = choices[first : first + most]
        return {
            "options": [choice._asdict() | {"label": clip(choice.label)} for choice in shown],
            "total": len(choices),
            "groups": list(groups.items()),
            "note": self._note(),
            "at": self.at,
            "again": self.can_ask,
            "asking": self.asking,
        }

    def ask(self, *, again: bool = False, after: float = 0.0) -> None:
        """Take the values if they are known, or request them after so many seconds; the latest request wins."""
        self.stop()
        args = self.form.first
        missing = self._missing(args)
        choices = Choices() if again else self.function.known_choices(self.field, args)
        if choices or missing:
            self._take(args, choices, missing)
            return
        self.asking = True
        self.is_slow = False
        self.trouble = ""
        self._future = background.start(self._ask(again=again, after=after))

    def stop(self) -> None:
        if self._future:
            self._future.cancel()
            self._future = None

    async def _ask(self, *, again: bool, after: float) -> None:
        await asyncio.sleep(after)
        slow = asyncio.get_running_loop().call_later(_SLOW, self._grow_slow)
        args = self.form.first
        try:
            self._take(args, *await self.function.choices(self.field, args, again=again))
        except Exception as error:  # noqa: BLE001  # nobody sees an exception on the loop
            trouble = (
                error.what if isinstance(error, FuncsError) else f"{type(error).__name__}: {error}"
            )
            self._take(args, Choices(), (), trouble)
        finally:
            slow.cancel()

    def _take(
        self, args: Args, choices: Choices, missing: Sequence[str], trouble: str = ""
    ) -> None:
        self.choices = choices
        self.missing = missing
        self.trouble = trouble
        self.at = None
        self.asking = False
        if not (missing or trouble):
            self.at = self.function.listed_at(self.field, args)
            values = frozenset(choices.values)
            self.gone = self._listed - values
            self._listed = values
        self.on_news(self)

    def _grow_slow(self) -> None:
        self.is_slow = True
        self.on_news(self)

    @property
    def known(self) -> bool:
        return self.at is not None and not self.asking

    @property
    def can_ask(self) -> bool:
        """Whether the values can be listed now."""
        return self.is_listed and not (self.asking or self.missing)

    def unlisted(self, values: Iterable[str]) -> list[str]:
        """Return the values that aren't listed; a ticker alone counts as its symbol."""
        return self.choices.unknown(values) if self.known and self.choices else []

    def _note(self) -> str:
        if not self.is_listed:
            return (
                "Read from the description"
                if self.choices and not self.field.is_declared("options")
                else ""
            )
        noun = _NOUNS.get(self.field.kind, "values")
        if self.asking:
            return (
                f"Still listing {noun}… They can be typed." if self.is_slow else f"Listing {noun}…"
            )
        if self.trouble:
            return f"The {noun} could not be listed: {clip(inert(self.trouble)).rstrip('.')}"
        if self.missing:
            labels = {folded(field.name): inert(field.label) for field in self.form.fields}
            missing = [labels.get(folded(name), inert(name)) for name in self.missing]
            return f"Fill in {listed(missing, 'and')} to see the {noun}."
        return f"{plural(len(self.choices), noun[:-1])} from {clip(inert(self.field.source or ''), 60)}"

"""The options of a field: its own, or the values of a listing function, which is called in the background."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

from jupyter_funcs.catalog.choices import Choices, fixed
from jupyter_funcs.catalog.fields import Field, Kind, listing_args
from jupyter_funcs.core import background
from jupyter_funcs.core.errors import FuncsError
from jupyter_funcs.core.text import clip, folded, inert, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Future

    from jupyter_funcs.catalog.form import Args, Form
    from jupyter_funcs.client.function import RemoteCall

PAGE = 200  # options in one reply
_FIRST = 50  # options of a longer list: it is searched
# After so many seconds, the user is told to type the value instead.
_SLOW = 3.0
_NOUNS = {Kind.SYMBOL: "symbols", Kind.PANEL: "panels"}
# Controls of other kinds have no room for listed values, or show those of the description.
_LISTED = {Kind.SYMBOL, Kind.PANEL, Kind.TEXT, Kind.LIST}


class FieldSource:
    """The options of a field: its own, or those of its listing function."""

    def __init__(self, field: Field, function: RemoteCall, form: Form, on_news: Callable[[FieldSource], None]) -> None:
        self.field, self._function, self._form, self._on_news = field, function, form, on_news
        has_room = field.kind in _LISTED and not field.options
        lister = function.session.catalog.peek(field.source or "") if has_room else None
        self.is_listed = lister is not None and not lister.changes_data
        self.trouble, self.is_slow, self.asking = "", False, False
        self.at: float | None = None  # when the values were listed
        self.gone: set[str] = set()  # listed before, and no longer
        self.missing: list[str] = []
        self._listed: set[str] = set()
        self._future: Future[None] | None = None
        self._listing = function.session[field.source or ""].fields if self.is_listed else ()
        needed = {folded(name) for name in listing_args(field, self._listing, {})[1]}
        self.needs = [other.name for other in form.fields if folded(other.name) in needed and other.name != field.name]
        self.choices = Choices.of(field.options)

    def nearest(self, value: str) -> str:
        """Return the choice most similar to a value, or without choices a valid spelling of it; empty if none."""
        if not self.choices:
            return fixed(self.field, value)
        return next(iter(self.choices.nearest(value)), "")

    def page(self, query: str = "", start: int | None = None, *, grouped: bool = False) -> dict[str, Any]:
        """Return a page of options that match a search, by default the first ones: the `OptionPage` of the protocol."""
        found = self.choices.search(query)
        groups = Counter(one.group for one in found)
        if not 1 < len(groups) <= PAGE:
            groups.clear()
        elif grouped:
            place = {name: at for at, name in enumerate(groups)}
            found = sorted(found, key=lambda one: place[one.group])
        first, count = start or 0, _FIRST if start is None and len(found) > PAGE else PAGE
        shown = found[first : first + count]
        return {
            "options": [{"value": one.value, "label": clip(one.label), "group": one.group} for one in shown],
            "total": len(found),
            "groups": list(groups.items()),
            "note": self._note(),
            "at": self.at,
            "again": self.can_ask,
            "asking": self.asking,
        }

    def ask(self, *, again: bool = False, after: float = 0.0) -> None:
        """Take the values if they are known, or request them after so many seconds; the latest request wins."""
        self.stop()
        args = self._form.first
        missing = listing_args(self.field, self._listing, args)[1]
        known = Choices() if again else self._function.known_choices(self.field, args)
        if known or missing:
            self._take(args, known, missing)
        else:
            self.asking, self.is_slow, self.trouble = True, False, ""
            self._future = background.start(self._ask(again=again, after=after))

    def stop(self) -> None:
        if self._future is not None:
            self._future.cancel()
            self._future = None

    async def _ask(self, *, again: bool, after: float) -> None:
        await asyncio.sleep(after)
        slow = asyncio.get_running_loop().call_later(_SLOW, self._grow_slow)
        args = self._form.first
        try:
            choices, missing = await self._function.choices(self.field, args, again=again)
        except Exception as error:  # noqa: BLE001  # nobody sees an exception on the loop
            trouble = error.what if isinstance(error, FuncsError) else f"{type(error).__name__}: {error}"
            self._take(args, Choices(), [], trouble)
        else:
            self._take(args, choices, missing)
        finally:
            slow.cancel()

    def _take(self, args: Args, choices: Choices, missing: list[str], trouble: str = "") -> None:
        self.choices = choices
        self.missing, self.trouble, self.at, self.asking, self.is_slow = missing, trouble, None, False, False
        if not (missing or trouble):
            self.at, values = self._function.listed_at(self.field, args), {*choices.values}
            self.gone, self._listed = self._listed - values, values
        self._on_news(self)

    def _grow_slow(self) -> None:
        self.is_slow = True
        self._on_news(self)

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
            return "Read from the description" if self.choices and not self.field.is_declared("options") else ""
        noun = _NOUNS.get(self.field.kind, "values")
        if self.asking:
            return f"Still listing {noun}… They can be typed." if self.is_slow else f"Listing {noun}…"
        if self.trouble:
            return f"The {noun} could not be listed: {clip(inert(self.trouble)).rstrip('.')}"
        if self.missing:
            labels = {folded(field.name): inert(field.label) for field in self._form.fields}
            missing = [labels.get(folded(name), inert(name)) for name in self.missing]
            return f"Fill in {listed(missing, 'and')} to see the {noun}."
        number = len(self.choices)
        return f"{number:,} {noun[:-1] if number == 1 else noun} from {clip(inert(self.field.source or ''), 60)}"

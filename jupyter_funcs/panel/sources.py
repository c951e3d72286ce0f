"""Where a field's valid values come from: a listing function, asked in the background."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from jupyter_funcs.catalog.fields import Kind, listing_args
from jupyter_funcs.catalog.suggestions import PAGE, Offers
from jupyter_funcs.core import background
from jupyter_funcs.core.errors import FuncsError, NotFoundError
from jupyter_funcs.core.text import clip, folded, inert, listed

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from jupyter_funcs.catalog.fields import Field
    from jupyter_funcs.catalog.form import Form
    from jupyter_funcs.catalog.suggestions import Choice
    from jupyter_funcs.client.function import RemoteCall


# Values are typed rather than waited for after so many seconds.
SLOW_SECONDS = 3.0
_NOUNS = {Kind.SYMBOL: "symbols", Kind.PANEL: "panels"}
# A control of other kinds has no place for values that were listed, or has those of the description.
_LISTED = {Kind.SYMBOL, Kind.PANEL, Kind.TEXT, Kind.LIST}


class FieldSource:
    """The valid values of one field, as its listing function gives them."""

    def __init__(self, field: Field, function: RemoteCall, form: Form, on_news: Callable[[FieldSource], None]) -> None:
        self.field = field
        self.choices: list[Choice] = []
        self.offers = Offers()
        self.missing: list[str] = []
        self.trouble = ""
        self.asking = self.slow = False
        self.at: float | None = None
        self._before = Offers()
        self._function = function
        self._form = form
        self._on_news = on_news
        self._future: Future[None] | None = None
        listing = function.session[field.source or ""].fields
        needed = {folded(name) for name in listing_args(field, listing, {})[1]}
        self.needs = [other.name for other in form.fields if folded(other.name) in needed and other.name != field.name]
        if known := function.known_choices(field, form.first):
            self.choices, self.offers, self.at = known, Offers(known), function.listed_at(field, form.first)
        else:
            self.missing = listing_args(field, listing, form.first)[1]
            self.asking = not self.missing
        self._last = self.offers

    def ask(self, *, again: bool = False, after: float = 0.0) -> None:
        """Ask for the values; the latest question wins."""
        self.stop()
        self.asking, self.slow, self.trouble = True, False, ""
        self._future = background.start(self._ask(again=again, after=after))

    def stop(self) -> None:
        """Ask no more."""
        if self._future is not None:
            self._future.cancel()
            self._future = None

    async def _ask(self, *, again: bool, after: float) -> None:
        await asyncio.sleep(after)
        slow = asyncio.get_running_loop().call_later(SLOW_SECONDS, self._grow_slow)
        args = self._form.first
        try:
            choices, self.missing = await self._function.choices(self.field, args, again=again)
        except Exception as error:  # noqa: BLE001  # an exception on the loop is seen by nobody
            self.trouble = error.what if isinstance(error, FuncsError) else f"{type(error).__name__}: {error}"
            self.choices, self.offers, self.at = [], Offers(), None
        else:
            if not self.missing:
                self._before = self._last
                self._last = Offers(choices)
            self.choices, self.offers = choices, Offers(choices)
            self.at = None if self.missing else self._function.listed_at(self.field, args)
        finally:
            slow.cancel()
        self.asking = self.slow = False
        self._on_news(self)

    def _grow_slow(self) -> None:
        self.slow = True
        self._on_news(self)

    def lists_no_more(self, value: str) -> bool:
        """Say whether a value was listed the time before, and is not any more."""
        return value in self._before and value not in self._last

    @property
    def known(self) -> bool:
        """Whether the values are listed."""
        return self.at is not None and not (self.asking or self.trouble)

    @property
    def waits(self) -> bool:
        """Whether other fields are to be filled in first."""
        return bool(self.missing) and not (self.asking or self.trouble)

    @property
    def noun(self) -> str:
        """What is listed, in a word."""
        return _NOUNS.get(self.field.kind, "values")

    @property
    def line(self) -> str:
        """Say in one line where the values come from, how many they are and how old."""
        where = clip(inert(self.field.source or ""), 60)
        if self.asking:
            return f"Still listing {self.noun}… They can be typed." if self.slow else f"Listing {self.noun}…"
        if self.trouble:
            reason = clip(inert(self.trouble), 200).rstrip(".")
            return f"The {self.noun} could not be listed: {reason}. Try again"
        if self.waits:
            return f"Fill in {listed(map(inert, self.missing), 'and')} to see the {self.noun}."
        number = len(self.offers)
        said = f"{number:,} {self.noun[:-1] if number == 1 else self.noun} from {where} · {_age(self.at)}"
        return f"{said} · type to search" if number > PAGE else said


def has_source(field: Field, function: RemoteCall) -> bool:
    """Say whether a listing function of the catalog gives the values of a field."""
    if field.source is None or field.kind not in _LISTED or field.options:
        return False
    try:
        return not function.session[field.source].function.changes_data
    except NotFoundError:
        return False


def _age(at: float | None) -> str:
    """Say how old in steps, so that what is shown need not change each minute."""
    minutes = (time.time() - (at or time.time())) / 60
    for least, word in ((24 * 60, "day"), (60, "hour")):
        if minutes >= least:
            number = int(minutes / least)
            return f"{number} {word}{'s' * (number != 1)} old"
    step = next((step for step in (30, 10, 5, 2, 1) if minutes >= step), 0)
    return f"{step} min old" if step else "just now"

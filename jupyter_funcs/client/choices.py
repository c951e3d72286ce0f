"""The valid values of fields, as listing functions return them; each is listed once per session."""

from __future__ import annotations

import asyncio
import datetime as dt
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from jupyter_funcs.catalog.suggestions import Choice
from jupyter_funcs.core.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    import pandas as pd

    from jupyter_funcs.catalog.fields import Field
    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.client.options import CallOptions


class ListingFunction(Protocol):
    """A function whose rows are the valid values of other functions' fields."""

    name: str
    options: CallOptions


class _Listed(NamedTuple):
    choices: list[Choice]
    at: float  # seconds since 1970


class Choices:
    """The values that the listing functions of one session returned."""

    def __init__(self, run: Callable[[str, Args, CallOptions, Progress], Coroutine[Any, Any, pd.DataFrame]]) -> None:
        self._run = run
        self._choices: dict[tuple[str, str], _Listed] = {}
        self._listings: dict[str, asyncio.Task[pd.DataFrame]] = {}
        # Results that somebody still holds: one may come from a listing function.
        self._held: weakref.WeakValueDictionary[str, pd.DataFrame] = weakref.WeakValueDictionary()

    def forget(self) -> None:
        """Forget all listed values."""
        self._choices, self._listings = {}, {}
        self._held.clear()

    def hold(self, function: str, args: Args, frame: pd.DataFrame) -> None:
        """Note a result for as long as somebody else holds it."""
        self._held[_call_key(function, args)] = frame

    async def ask(self, listing: ListingFunction, args: Args, field: Field, *, again: bool = False) -> list[Choice]:
        """Return the values of a field; run the listing function if they aren't known, or if asked `again`."""
        key = _call_key(listing.name, args), field.name
        if again or key not in self._choices:
            self._choices[key] = _listed(await self._listing(listing, args, again=again), field)
        return self._choices[key].choices

    def known(self, listing: ListingFunction, args: Args, field: Field) -> list[Choice]:
        """Return the values of a field that `ask` or a run has listed already."""
        call = _call_key(listing.name, args)
        key, held = (call, field.name), self._held.get(call)
        if key not in self._choices and held is not None:
            self._choices[key] = _listed(held, field)
        return list(self._choices[key].choices) if key in self._choices else []

    def listed_at(self, listing: ListingFunction, args: Args, field: Field) -> float | None:
        """Return when the values of a field were listed, in seconds since 1970."""
        found = self._choices.get((_call_key(listing.name, args), field.name))
        return None if found is None else found.at

    async def _listing(self, listing: ListingFunction, args: Args, *, again: bool) -> pd.DataFrame:
        """Run a listing function once for all fields that ask for it, even if some of them stop waiting."""
        key = _call_key(listing.name, args)
        task = self._listings.get(key)
        if task is None or (again and task.done()):
            task = asyncio.ensure_future(self._run(listing.name, args, listing.options, Progress()))
            self._listings[key] = task

            def end(task: asyncio.Task[pd.DataFrame]) -> None:
                failed = task.cancelled() or task.exception()  # asyncio prints an exception that nobody retrieves
                if failed and self._listings.get(key) is task:
                    del self._listings[key]

            task.add_done_callback(end)
        return await asyncio.shield(task)


def _call_key(function: str, args: Args) -> str:
    return repr((function, args))


def _listed(frame: pd.DataFrame, field: Field) -> _Listed:
    """Read the values from the column named like the field, else the first text column; labels from the next one."""
    at = dt.datetime.fromisoformat(frame.attrs["funcs"]["time"]).timestamp()
    texts = [column for column in frame.columns if frame[column].dtype == "string"]
    own = [column for column in frame.columns if str(column).casefold() == field.name.casefold()]
    column = next(iter(own or texts), None)
    if column is None:
        return _Listed([], at)
    rows = frame.dropna(subset=[column]).drop_duplicates(column)
    following = list(frame.columns)[list(frame.columns).index(column) + 1 :]
    label = next((text for text in following if text in texts), None)
    labels = rows[label].fillna("") if label is not None else [""] * len(rows)
    return _Listed([Choice(str(value), str(text)) for value, text in zip(rows[column], labels, strict=True)], at)

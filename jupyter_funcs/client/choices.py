"""Choices: the valid values of fields, as listing functions gave them; each is asked once for all who want it."""

from __future__ import annotations

import asyncio
import datetime as dt
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_funcs.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    import pandas as pd

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.fields import Field
    from jupyter_funcs.forms import Args
    from jupyter_funcs.options import Options


@dataclass(frozen=True, slots=True)
class Choice:
    """A valid value of a field, and the words that stand beside it (empty when the listing gives none)."""

    value: str
    label: str = ""


class Choices:
    """
    What the listing functions of one session gave.

    Parameters
    ----------
    run
        Runs a listing function by its wire name, on the background loop.
    """

    def __init__(self, run: Callable[[str, Args, Options, Progress], Coroutine[Any, Any, pd.DataFrame]]) -> None:
        self._run = run
        self._choices: dict[str, list[Choice]] = {}
        self._listed_at: dict[str, float] = {}
        self._listings: dict[str, asyncio.Task[pd.DataFrame]] = {}
        # What runs gave and a person still holds: it may be the answer of a listing function.
        self._held: weakref.WeakValueDictionary[str, pd.DataFrame] = weakref.WeakValueDictionary()

    def forget(self) -> None:
        """Forget the values that were listed."""
        self._choices, self._listed_at, self._listings = {}, {}, {}
        self._held.clear()

    def hold(self, function: str, args: Args, frame: pd.DataFrame) -> None:
        """Note what a run gave, for as long as somebody else holds it."""
        self._held[repr((function, args))] = frame

    async def ask(self, listing: RemoteFunction, args: Args, field: Field, *, again: bool = False) -> list[Choice]:
        """Run a listing function and give the values for a field; kept until `refresh`, or until asked `again`."""
        key = _key(listing, args, field)
        if again or key not in self._choices:
            self._take(key, await self._listing(listing, args, again=again), field)
        return self._choices[key]

    def listed_at(self, listing: RemoteFunction, args: Args, field: Field) -> float | None:
        """Give when `ask` listed the values for a field, in seconds since the epoch."""
        return self._listed_at.get(_key(listing, args, field))

    def _take(self, key: str, listed: pd.DataFrame, field: Field) -> None:
        self._choices[key] = _choices(listed, field)
        self._listed_at[key] = dt.datetime.fromisoformat(listed.attrs["funcs"]["time"]).timestamp()

    async def _listing(self, listing: RemoteFunction, args: Args, *, again: bool) -> pd.DataFrame:
        """Run a listing function once for all fields that ask for it, also when some of them stop asking."""
        key = repr((listing.name, args))
        task = self._listings.get(key)
        if task is None or (again and task.done()):
            task = asyncio.ensure_future(self._run(listing.name, args, listing.options, Progress()))
            self._listings[key] = task

            def end(task: asyncio.Task[pd.DataFrame]) -> None:
                failed = task.cancelled() or task.exception()  # looked at, or asyncio would print it
                if failed and self._listings.get(key) is task:
                    del self._listings[key]

            task.add_done_callback(end)
        return await asyncio.shield(task)

    def known(self, listing: RemoteFunction, args: Args, field: Field) -> list[Choice]:
        """Give the values for a field that `ask` or a run has listed already."""
        key = _key(listing, args, field)
        held = self._held.get(repr((listing.name, args)))
        if key not in self._choices and held is not None:
            self._take(key, held, field)
        return list(self._choices.get(key, ()))


def _key(listing: RemoteFunction, args: Args, field: Field) -> str:
    return repr((listing.name, args, field.name))


def _choices(frame: pd.DataFrame, field: Field) -> list[Choice]:
    """Give the value column (named like the parameter, else the first of text) with the next text column as labels."""
    texts = [column for column in frame.columns if frame[column].dtype == "string"]
    own = [column for column in frame.columns if str(column).casefold() == field.name.casefold()]
    column = next(iter(own or texts), None)
    if column is None:
        return []
    rows = frame.dropna(subset=[column]).drop_duplicates(column)
    behind = list(frame.columns)[list(frame.columns).index(column) + 1 :]
    label = next((text for text in behind if text in texts), None)
    labels = rows[label].fillna("") if label is not None else [""] * len(rows)
    return [Choice(str(value), str(text)) for value, text in zip(rows[column], labels, strict=True)]

"""Kept: what there is already of a sweep's runs, on disk or in memory, so that the same call need not repeat them."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from jupyter_funcs.cache import Cache, CacheWriter
    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.forms import Args
    from jupyter_funcs.session import Session


class _Held(NamedTuple):
    written: float  # in seconds since 1970
    frame: pd.DataFrame


# Of each session the results of the sweep that was interrupted last, by key, where the disk does not keep them.
_interrupted: WeakKeyDictionary[Session, dict[str, _Held]] = WeakKeyDictionary()


class Kept:
    """
    The results of a sweep's runs that need not be had again.

    Parameters
    ----------
    function
        What is run, with its options.
    runs
        With which arguments; a run is named by its place among them.

    Attributes
    ----------
    resumes
        Whether the same call goes on from all that was added; known when it is closed.
    """

    def __init__(self, function: RemoteFunction, runs: Sequence[Args]) -> None:
        options = function.options
        # A folder of the person's own keeps the results by itself, and Dask's workers have them.
        self._keeps = options.to is None
        self.resumes = options.to != "dask"
        self._function = function
        self._runs = runs
        self._cache: Cache | None = function.session.cache if self._keeps and options.cache is not False else None
        self._keys: list[str] = []
        self._writer: CacheWriter | None = None
        self._listed = [function.function.model_dump_json(), sorted((options.schema or {}).items())]
        self._held = _interrupted.get(function.session, {}) if self._keeps else {}
        self._fresh: dict[int, _Held] = {}
        self._written: set[int] = set()
        self._unkept: set[int] = set()
        self._size = 0

    def _name(self, at: int) -> str:
        return json.dumps([*self._listed, self._runs[at]], sort_keys=True)

    async def find(self) -> dict[int, float]:
        """
        Give which runs need not be sent, and when they were, in seconds since 1970; on the background loop.

        Raises
        ------
        FuncsError
            The token's source gives none, by which the results are told from those of others.
        """
        session, max_age = self._function.session, self._function.options.max_age
        oldest = time.time() - max_age
        self._held = {name: held for name, held in self._held.items() if held.written >= oldest}
        places = range(len(self._runs)) if self._held else ()
        there = {at: held.written for at in places if (held := self._held.get(self._name(at))) is not None}
        if self._cache is not None:
            identity = await session.wire.identity(self._cache)
            there |= await asyncio.to_thread(self._look, self._cache, identity)
        return there

    def _look(self, cache: Cache, identity: str) -> dict[int, float]:
        options = self._function.options
        self._keys = cache.keys(identity, self._function.function, options, self._runs)
        found = cache.find(self._keys, options.max_age)
        return {at: found[key].written for at, key in enumerate(self._keys) if key in found}

    def read(self, places: Sequence[int]) -> dict[int, pd.DataFrame]:
        """Give results that were found; one that has gone by now is left out."""
        held = {at: self._held.get(self._name(at)) for at in places} if self._held else {}
        found = {at: one.frame for at, one in held.items() if one is not None}
        if self._cache is not None:
            by_key = {self._keys[at]: at for at in places if at not in found}
            found |= {by_key[key]: frame for key, frame in self._cache.read(list(by_key)).items()}
        return found

    def add(self, at: int, frame: pd.DataFrame, size: int) -> None:
        """Keep the result of a run, the reply of which had so many bytes."""
        if not self._keeps:
            return
        self._size += size
        if self._size <= self._function.options.max_memory:
            self._fresh[at] = _Held(time.time(), frame)
        if self._cache is not None:
            self._writer = self._writer or self._cache.writer()
            if self._writer.add(self._keys[at], frame):
                self._written.add(at)
                return
        self._unkept.add(at)

    def settle(self) -> None:
        """Write what was added, and let go what the disk has."""
        if self._writer is not None:
            self._writer.close()
            if self._writer.trouble:
                self._unkept |= self._written
        self._writer = None
        self._written.clear()
        self._fresh = {at: held for at, held in self._fresh.items() if at in self._unkept}

    def close(self, *, ended: bool) -> None:
        """Make what was added be there for the same call: on disk, and in memory where a sweep has not ended."""
        self.settle()
        mine = {self._name(at) for at in range(len(self._runs))} if self._held else set()
        if ended and mine:
            left = {name: held for name, held in self._held.items() if name not in mine}
            _interrupted[self._function.session] = left
        elif self._unkept and not ended:
            self.resumes = self._unkept <= self._fresh.keys()
            before = {name: held for name, held in self._held.items() if name in mine}
            here = {self._name(at): held for at, held in self._fresh.items()}
            _interrupted[self._function.session] = before | here
        self._fresh, self._held = {}, {}

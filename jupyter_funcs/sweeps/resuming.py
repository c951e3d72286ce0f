"""Earlier results of a sweep's runs: in the cache on disk, or in memory after an interrupted sweep."""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from jupyter_funcs.client.cache import CacheWriter, run_keys
from jupyter_funcs.client.options import DASK

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.client.client import Client
    from jupyter_funcs.client.function import RemoteCall


class _InMemory(NamedTuple):
    written: float  # in seconds since 1970
    frame: pd.DataFrame


class Retried(NamedTuple):
    """A sweep that was not complete: its results that aren't in the cache, and the positions of its failed runs."""

    kept: dict[int, _InMemory]
    failed: frozenset[int]
    left: dict[int, dict[str, Any]]  # the failures of those that aren't tried again
    sends: bool  # otherwise only what ended counts
    max_age: float = math.inf


# By session, the results of the last interrupted sweep that aren't in the cache.
_interrupted: WeakKeyDictionary[Client[RemoteCall], dict[str, _InMemory]] = (
    WeakKeyDictionary()
)


class EarlierResults:
    """Finds earlier results of a sweep's runs, and stores new ones for the next sweep."""

    def __init__(
        self, function: RemoteCall, runs: Sequence[Args], retried: Retried | None = None
    ) -> None:
        options = function.options
        self.retried = retried or Retried(
            {}, frozenset(), {}, sends=True, max_age=options.max_age
        )
        # A folder has its own results; Dask's results start from scratch.
        self._is_used = options.to is None
        self.resumes = options.to != DASK
        self._function = function
        self._runs = runs
        self._cache = (
            function.session.cache if function.may_cache(is_sweep=True) else None
        )
        self._keys: list[str] = []
        self._writer: CacheWriter | None = None
        self._earlier = _interrupted.get(function.session, {}) if self._is_used else {}
        self.kept: dict[int, _InMemory] = {}
        self._new: dict[int, _InMemory] = {}
        self._written: set[int] = set()
        self._not_cached: set[int] = set()
        self._size = 0

    async def find(self) -> dict[int, float]:
        """Return which runs have results, and when they ran, in seconds since 1970; on the background loop."""
        if not self._is_used:
            return {}
        session = self._function.session
        is_stored = self._cache is not None
        identity = await session.remote.identity(
            self._function.function, session.cache, is_stored=is_stored
        )
        return await asyncio.to_thread(self._find, identity)

    def _find(self, identity: str) -> dict[int, float]:
        function = self._function
        retried = self.retried
        # Only the same sweep continues; a run of another one is another change.
        if function.function.changes_data:
            identity += repr(self._runs)

        self._keys = run_keys(identity, function.function, function.options, self._runs)
        # By position: its token may be another one by now.
        earlier = self._earlier | {
            self._keys[at]: result for at, result in retried.kept.items()
        }
        oldest = time.time() - retried.max_age
        self._earlier = {
            key: result for key, result in earlier.items() if result.written >= oldest
        }
        results: dict[str, Any] = {**self._earlier}
        if self._cache:
            results |= self._cache.find(self._keys, retried.max_age)
        keys = {
            at: key for at, key in enumerate(self._keys) if at not in retried.failed
        }
        return {at: results[key].written for at, key in keys.items() if key in results}

    def read(self, positions: Sequence[int]) -> dict[int, pd.DataFrame]:
        """Return results that were found, except those that have been deleted since."""
        frames = {
            at: self._earlier[self._keys[at]].frame
            for at in positions
            if self._keys[at] in self._earlier
        }
        if self._cache:
            by_key = {self._keys[at]: at for at in positions if at not in frames}
            frames |= {
                by_key[key]: frame
                for key, frame in self._cache.read(list(by_key)).items()
            }

        return frames

    def add(self, at: int, frame: pd.DataFrame, size: int) -> None:
        """Store a new result, whose reply had `size` bytes."""
        if not self._is_used:
            return
        self._size += size
        if self._size <= self._function.options.max_memory:
            self._new[at] = _InMemory(time.time(), frame)
        if self._cache:
            self._writer = self._writer or self._cache.writer()
            if self._writer.add(self._keys[at], frame):
                self._written.add(at)
                return

        self._not_cached.add(at)

    def flush(self) -> None:
        """Write new results to the cache, and free those that are there."""
        if self._writer:
            self._writer.close()
            if self._writer.trouble:
                self._not_cached |= self._written

        self._writer = None
        self._written.clear()
        self._new = {
            at: result for at, result in self._new.items() if at in self._not_cached
        }

    def close(self, *, ended: bool, failed: bool) -> None:
        """Keep new results for the same call: in the cache, and in memory if the sweep didn't end, or for a retry."""
        self.flush()
        had_earlier = bool(self._earlier)
        kept = {
            key: self._earlier.pop(key) for key in self._keys if key in self._earlier
        }
        kept |= {self._keys[at]: result for at, result in self._new.items()}
        if failed or not ended:
            self.kept = {
                at: kept[key] for at, key in enumerate(self._keys) if key in kept
            }

        if ended and had_earlier:
            _interrupted[self._function.session] = self._earlier  # of other runs
        elif self._not_cached and not ended:
            self.resumes = self._not_cached <= self._new.keys()
            _interrupted[self._function.session] = kept

        self._new = {}
        self._earlier = {}

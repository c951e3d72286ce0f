"""
The cache of results on this machine, keyed by who asked which function of which service for what.

Problems with it (no pyarrow, a full disk, another user's folder) never fail a run; each causes one warning.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import json
import secrets
import shutil
import time
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from functools import cache, cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from jupyter_funcs.catalog.listing import Contents
from jupyter_funcs.client.status import CacheStatus
from jupyter_funcs.connection.secrets import Secret, long_secrets
from jupyter_funcs.core.files import atomic_write_bytes, own_path, read_small
from jupyter_funcs.core.warn import warn

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    import pandas as pd

    from jupyter_funcs.catalog.listing import Function
    from jupyter_funcs.client.options import CallOptions
    from jupyter_funcs.connection.profiles import Connection
    from jupyter_funcs.core.json_decoding import Values
    from jupyter_funcs.frames.parquet import StoredResult
    from jupyter_funcs.frames.store import Segments, SegmentWriter

LISTINGS = "listings"
"""The folder of listings, beside the results."""
MOST_BYTES = 2 * 2**30
LONGEST_SECONDS = 30 * 86_400.0  # older results are deleted
_MOST_RESULTS = 100_000  # each session that searches them holds an index in memory
_SALT_BYTES = 32
_SECONDS = 5.0  # between writes: a killed kernel loses what was not written yet
# Seconds; a result from further in the future was written under another clock.
_MOST_AHEAD = 60.0
_NO_ARROW = "pyarrow is not installed (pip install pyarrow)"
_version = cache(version)


def run_keys(
    identity: str, function: Function, options: CallOptions, runs: Iterable[Values]
) -> list[str]:
    """Return one key per run: a hash of the identity, the function as listed, the schema and the arguments."""
    schema = None
    if options.schema:
        schema = list(options.schema.items())  # in order: it orders the columns
    pages = options.pages and options.most_pages
    facts = [
        _version("jupyter-funcs"),
        identity,
        Contents().of(function),
        schema,
        pages,
    ]
    common = hashlib.sha256(_canonical(facts).encode())
    keys = []
    for args in runs:
        run = common.copy()
        try:
            run.update(_canonical(args).encode())
        except TypeError:  # an object is told by nothing that is kept: such a result is never found again
            run.update(uuid4().bytes)
        keys.append(run.hexdigest())

    return keys


class Cache:
    """
    The results in one folder, this user's unless told, which several sessions and processes may share.

    `trouble` says why the last results were not cached; it is empty if they were. The oldest results beyond `most`
    bytes are deleted.
    """

    trouble = ""
    _opened: Segments | None = None

    def __init__(self, folder: Path | None = None, most: int = MOST_BYTES) -> None:
        self.folder = folder or own_path("results")
        self._warned: set[str] = set()
        self._most = most

    def __repr__(self) -> str:
        return f"<Cache in {self.folder}>"

    def identity(
        self,
        connection: Connection,
        secret: Secret,
        source: Any = None,
        *,
        is_stored: bool = True,
    ) -> str:
        """
        Return who asks whom, for `run_keys`, as a hash: the connection, the account, and what the source adds.

        It is salted, because commands, addresses and opaque tokens hold secrets. A key that stays in memory needs no
        salt, which would be a file.
        """
        facts = [
            *connection.place,
            connection.where,
            connection.header,
            source,
            secret.account or secret.reveal(),
        ]
        salt = b""
        if is_stored:
            salt = self._salt
        return hmac.new(salt, _canonical(facts).encode(), hashlib.sha256).hexdigest()

    def get(self, key: str, max_age: float) -> pd.DataFrame | None:
        """Return one result, if there is one that is at most `max_age` seconds old."""
        if self.find([key], max_age):
            return self.read([key]).get(key)
        return None

    def put(self, key: str, frame: pd.DataFrame) -> None:
        """Store one result."""
        writer = self.writer()
        writer.add(key, frame)
        writer.close()

    def find(self, keys: Collection[str], max_age: float) -> dict[str, StoredResult]:
        """Return the entries that exist and are at most `max_age` seconds old, by key."""
        if (segments := self._segments()) is None:
            return {}
        now = time.time()
        return {
            key: entry
            for key, entry in segments.find(keys).items()
            if -_MOST_AHEAD <= now - entry.written <= max_age
        }

    def read(self, keys: Collection[str]) -> dict[str, pd.DataFrame]:
        """Return results by key, with their time in ``attrs["funcs"]["cached"]``; skip what is broken or gone."""
        if (segments := self._segments()) is None:
            return {}
        frames = segments.read(keys)
        for frame in frames.values():
            attrs = frame.attrs.setdefault("funcs", {})
            attrs["cached"] = attrs.get("time")

        return frames

    def writer(self) -> CacheWriter:
        """Return a writer for many results. It never raises for trouble with the disk."""
        self.trouble = ""
        return CacheWriter(self, self._segments())

    def status(self) -> CacheStatus:
        """Return the cache's contents and limits."""
        segments = self._segments()
        facts = (0, 0, 0)
        oldest = None
        if segments:
            facts = len(segments.all), len(segments.files), segments.size
            oldest = min(
                (entry.written for entry in segments.all.values()), default=None
            )

        return CacheStatus(
            str(self.folder),
            *facts,
            self._most,
            LONGEST_SECONDS,
            oldest,
            trouble=self.trouble,
        )

    def clear(self) -> CacheStatus:
        """Delete all results and listings, except files that another process is writing."""
        before = self.status()
        segments = self._segments()
        shutil.rmtree(self.folder / LISTINGS, ignore_errors=True)
        if segments:
            self.trouble = ""
            segments.clear()

        after = self.status()
        return replace(
            after, removed=(before.runs - after.runs, before.size - after.size)
        )

    def trim(self) -> None:
        """Merge small files, and delete the oldest results beyond the limits."""
        segments = self._segments()
        if segments:
            segments.tidy()
            segments.trim(self._most, _MOST_RESULTS, time.time() - LONGEST_SECONDS)

    def report(self, trouble: str) -> None:
        """Note why results are not cached, and warn of each reason once."""
        self.trouble = trouble
        if trouble not in self._warned:
            self._warned.add(trouble)
            warn(f"Results are not cached on disk: {trouble}.")

    def _segments(self) -> Segments | None:
        if self._opened is None:
            try:
                from jupyter_funcs.frames.store import Segments
            except ImportError:
                self.report(_NO_ARROW)
                return None
            self._opened = Segments(self.folder, repair=True)

        return self._opened

    @cached_property
    def _salt(self) -> bytes:
        """The salt for hashes of tokens, from a file beside the results that only this user can read."""
        path = self.folder / "salt"
        if kept := _read_salt(path):
            return kept
        salt = secrets.token_bytes(_SALT_BYTES)
        with suppress(OSError):  # then only this session finds its own results
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            atomic_write_bytes(path, salt, 0o600)

        # Another process may have replaced the file meanwhile.
        return _read_salt(path) or salt


class CacheWriter:
    """Stores results until it is closed. Others can read them a few seconds later, or once it is closed."""

    def __init__(self, cache: Cache, segments: Segments | None) -> None:
        self._cache = cache
        self._writer: SegmentWriter | None = None
        if segments:
            self._writer = segments.writer(forbidden=long_secrets, seconds=_SECONDS)
        self.trouble = cache.trouble

    def add(self, key: str, frame: pd.DataFrame) -> bool:
        """Store a result, and return whether it could be stored."""
        if self._writer is None:
            return False
        with suppress(OSError):  # the writer reports it
            self._cache.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            return self._writer.add(key, frame)
        except Exception as error:  # noqa: BLE001  # a sweep continues, whatever is wrong with its cache
            self._stop(error)

        return False

    def close(self) -> None:
        """Write everything that was added."""
        if self._writer is None:
            return
        try:
            self._writer.close()
            self._cache.trim()
        except Exception as error:  # noqa: BLE001  # as above
            self._stop(error)

        self._writer = None

    def _stop(self, error: Exception) -> None:
        self._writer = None
        reason = getattr(error, "strerror", None) or type(error).__name__
        self.trouble = f"{reason} ({self._cache.folder})"
        self._cache.report(self.trouble)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_exact)


def _exact(value: Any) -> str:
    """Return the text of a date or a number; an object raises a TypeError."""
    if isinstance(value, dt.date | dt.time | dt.timedelta | Decimal):
        return repr(value)
    raise TypeError


def _read_salt(path: Path) -> bytes:
    """Return the salt in a file; nothing if the file is missing or broken."""
    with suppress(OSError):
        if len(salt := read_small(path)) == _SALT_BYTES:
            return salt
    return b""

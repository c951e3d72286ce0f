"""
The cache of results on this machine: what a run gave, by who asked which function of which service for what.

Whatever is wrong with it (no pyarrow, a full disk, a folder of someone else's) is said once, and nothing fails for it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jupyter_funcs.cache_status import CacheStatus
from jupyter_funcs.config import results_folder
from jupyter_funcs.notices import warn
from jupyter_funcs.secret import in_use

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from jupyter_funcs.catalog import Function
    from jupyter_funcs.config import Connection
    from jupyter_funcs.options import Options
    from jupyter_funcs.secret import Secret
    from jupyter_funcs.segments import Found, Segments

MOST_BYTES = 2 * 2**30
# What nobody would take any more is not left lying on a disk.
LONGEST_SECONDS = 30 * 86_400.0
# What is known of each takes memory in every session that looks for one.
_MOST_RESULTS = 100_000
_SALT_BYTES = 32
# What a killed kernel had not written yet is lost. Many files cost nothing here: they are made few at the end.
_SECONDS = 5.0
# Fewer letters may stand in any text.
_SHORTEST_TOKEN = 8
_NO_ARROW = "pyarrow is not installed (pip install pyarrow)"
# A result from the future, by so many seconds, is one of another clock: nobody knows how old it is.
_MOST_AHEAD = 60.0
# Where the function stands among the others says nothing of what it gives.
_ORDER: dict[str, Any] = {"sort_value": True, "params": {"__all__": {"sort_value"}}}


class Cache:
    """
    The results kept in one folder, for one session; several sessions and processes may share the folder.

    Parameters
    ----------
    folder
        Where they are; made on first use.
    most
        Bytes that the results take at most; those kept first go first.

    Attributes
    ----------
    trouble
        Why what was to be kept last is not, in words; empty where it is.
    """

    def __init__(self, folder: Path, most: int = MOST_BYTES) -> None:
        self.folder = folder
        self.trouble = ""
        self._said: set[str] = set()
        self._most = most
        self._opened: Segments | None = None
        self._salted = b""

    def identity(self, connection: Connection, secret: Secret) -> str:
        """
        Give who asks where, as it goes into the keys: the token's subject, else a salted hash of it.

        Parameters
        ----------
        connection
            Where.
        secret
            The token.
        """
        who = ["sub", secret.subject]
        if not secret.subject:
            who = ["hash", hmac.new(self._salt(), secret.reveal().encode(), hashlib.sha256).hexdigest()]
        return _canonical([connection.base_url, connection.where, connection.synthetic, connection.header, *who])

    def keys(self, identity: str, function: Function, options: Options, runs: Iterable[Mapping[str, Any]]) -> list[str]:
        """
        Give the key of each run: a hash of all that its result hangs on.

        Parameters
        ----------
        identity
            As `identity` gives it.
        function
            As it is listed.
        options
            Its ``schema`` decides about dtypes.
        runs
            The arguments of each.
        """
        import jupyter_funcs  # noqa: PLC0415  # upwards, for what another version may read otherwise

        listed = function.model_dump(mode="json", by_alias=True, exclude=_ORDER)
        schema = list(options.schema.items()) if options.schema else None  # it orders the columns too
        common = hashlib.sha256(_canonical([jupyter_funcs.__version__, identity, listed, schema]).encode())
        keys = []
        for args in runs:
            of_run = common.copy()
            of_run.update(_canonical(args).encode())
            keys.append(of_run.hexdigest())
        return keys

    def find(self, keys: Collection[str], max_age: float) -> dict[str, Found]:
        """Give those of the results that are there and not older than `max_age` seconds, by key."""
        segments, now = self._segments(), time.time()
        found = {} if segments is None else segments.find(keys)
        return {key: one for key, one in found.items() if -_MOST_AHEAD <= now - one.written <= max_age}

    def read(self, keys: Collection[str]) -> dict[str, pd.DataFrame]:
        """
        Give results, by key; one that is broken or gone by now is left out.

        Their ``attrs["funcs"]["cached"]`` says when they were run.
        """
        segments = self._segments()
        frames = {} if segments is None else segments.read(keys)
        for frame in frames.values():
            told = frame.attrs.setdefault("funcs", {})
            told["cached"] = told.get("time")
        return frames

    def writer(self) -> CacheWriter:
        """Give what keeps results; it never raises for what is wrong with the disk."""
        self.trouble = ""
        return CacheWriter(self, self._segments())

    def take(self, key: str, max_age: float) -> pd.DataFrame | None:
        """Give one result, if it is there and not older than `max_age` seconds."""
        return self.read([key]).get(key) if self.find([key], max_age) else None

    def keep(self, key: str, frame: pd.DataFrame) -> None:
        """Keep one result."""
        writer = self.writer()
        writer.add(key, frame)
        writer.close()

    def status(self) -> CacheStatus:
        """Say what is there."""
        segments = self._segments()
        if segments is None:
            return CacheStatus(str(self.folder), 0, 0, 0, self._most, LONGEST_SECONDS, trouble=self.trouble)
        found, files, size = segments.all, len(segments.files), segments.size
        oldest = min((one.written for one in found.values()), default=None)
        bounds = self._most, LONGEST_SECONDS
        return CacheStatus(str(self.folder), len(found), files, size, *bounds, oldest, trouble=self.trouble)

    def clear(self) -> CacheStatus:
        """Remove all results; what another program holds stays."""
        before, segments = self.status(), self._segments()
        if segments is not None:
            self.trouble = ""
            segments.clear()
        after = self.status()
        return replace(after, removed=(before.runs - after.runs, before.size - after.size))

    def fail(self, trouble: str) -> None:
        """Note why results are not kept, and warn of it once."""
        self.trouble = trouble
        if trouble not in self._said:
            self._said.add(trouble)
            warn(f"Results are not kept on disk: {trouble}.")

    def trim(self) -> None:
        """Make few files of many, and remove those written first beyond the bounds."""
        segments = self._segments()
        if segments is not None:
            segments.tidy()
            segments.trim(self._most, _MOST_RESULTS, time.time() - LONGEST_SECONDS)

    def _segments(self) -> Segments | None:
        if self._opened is None:
            try:
                from jupyter_funcs.segments import Segments  # noqa: PLC0415  # pandas and pyarrow, on first use
            except ImportError:
                self.fail(_NO_ARROW)
                return None
            self._opened = Segments(self.folder, mends=True)
        return self._opened

    def _salt(self) -> bytes:
        """Give what hashes of tokens are salted with; it stays with the results, for this user alone."""
        if not self._salted:
            path = self.folder / "salt"
            self._salted = _salt_at(path)
            if len(self._salted) != _SALT_BYTES:
                self._salted = made = secrets.token_bytes(_SALT_BYTES)
                if self._segments() is None:
                    return made
                aside = path.with_name(f"salt.{os.getpid()}.{secrets.token_hex(4)}")
                with suppress(OSError):  # then this session finds what it has kept itself
                    self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                        file.write(made)
                    aside.replace(path)
                # Of two processes that do so at once, the second one's is that of both.
                kept = _salt_at(path)
                self._salted = kept if len(kept) == _SALT_BYTES else made
        return self._salted


class CacheWriter:
    """
    Keeps results until it is closed; what was added is there for others soon after, and at the latest then.

    Attributes
    ----------
    trouble
        Why nothing is kept, in words; then no result that was added may be relied upon.
    """

    def __init__(self, cache: Cache, segments: Segments | None) -> None:
        self._cache = cache
        self._writer = None if segments is None else segments.writer(never=_tokens, seconds=_SECONDS)
        self.trouble = cache.trouble

    def add(self, key: str, frame: pd.DataFrame) -> bool:
        """Keep a result; give whether it is kept."""
        if self._writer is None:
            return False
        with suppress(OSError):  # the writer says so
            self._cache.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            return self._writer.add(key, frame)
        except Exception as error:  # noqa: BLE001  # a sweep goes on, whatever is wrong with its cache
            self._failed(error)
        return False

    def close(self) -> None:
        """Make all that was added be there."""
        if self._writer is None:
            return
        try:
            self._writer.close()
            self._cache.trim()
        except Exception as error:  # noqa: BLE001  # as above
            self._failed(error)
        self._writer = None

    def _failed(self, error: Exception) -> None:
        self._writer = None
        said = error.strerror if isinstance(error, OSError) else ""
        self.trouble = f"{said or type(error).__name__} ({self._cache.folder})"
        self._cache.fail(self.trouble)


def own_cache() -> Cache:
    """Give the cache of this user, or of `FUNCS_RESULTS_DIR`."""
    return Cache(results_folder(os.environ))


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _salt_at(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_SALT_BYTES + 1)
    except OSError:
        return b""


def _tokens() -> Sequence[str]:
    return [text for text in in_use() if len(text) >= _SHORTEST_TOKEN]

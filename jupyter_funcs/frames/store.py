"""
Segments: results in a folder of few Parquet files, a row group a result, found by key.

A file is written beside its place and renamed once it is whole; after that nobody changes it. So any number of
processes may read, write and remove at once, without a lock: what has gone in between is simply not found. What is
not data (the keys, when it was written, the attrs) stands in the file's footer.
"""

from __future__ import annotations

import json
import math
import os
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from jupyter_funcs.as_arrow import NotKeptError, holds, to_arrow
from jupyter_funcs.segment import BROKEN, DONE, PREFIX, UNDONE, OpenSegment, Result, opened, packed, remove

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    import pandas as pd

    from jupyter_funcs.as_arrow import Layout
    from jupyter_funcs.segment import Segment

SEGMENT_BYTES = 64 * 2**20
SEGMENT_SECONDS = 30.0
# Whoever reads a few results of a file reads all of its footer.
SEGMENT_RESULTS = 1000
# So many files are open at once; frames of yet other columns go as Arrow's own bytes into one file for them all.
_MOST_OPEN = 8
# Nobody has written to an unfinished file for so many seconds: its process was surely killed, or most likely.
_STALE_SECONDS, _ABANDONED_SECONDS = 3600.0, 600.0
# So many files of one layout that are all smaller than this part of a whole one are made one.
_MOST_SMALL, _SMALL = 8, 4


class Found(NamedTuple):
    """
    A result that is there.

    Attributes
    ----------
    written
        When, in seconds since 1970.
    rows
        How many it has.
    """

    written: float
    rows: int


class Segments:
    """
    The results in a folder.

    Parameters
    ----------
    folder
        Where they are; made by the first writer.
    plain
        Every file has the columns of its frames, for those who read the folder without us, however many that takes.
    mends
        Remove what is broken or was left behind, of the files that are named as ours.
    """

    def __init__(self, folder: Path, *, plain: bool = False, mends: bool = False) -> None:
        self.folder = folder
        self.plain = plain
        self._mends = mends
        self._lock = threading.Lock()
        self._segments: dict[str, Segment] = {}  # by file name
        self._foreign: set[str] = set()
        self._found: dict[str, tuple[Segment, int]] = {}  # where each result is, the newest of a key

    def find(self, keys: Iterable[str]) -> dict[str, Found]:
        """Give those of the results that are there, by key."""
        places = self._places()
        return {
            key: Found(result.written, result.rows.count)
            for key in keys
            if (place := places.get(key)) is not None
            for result in [place[0].results[place[1]]]
        }

    def places(self, keys: Iterable[str]) -> dict[str, tuple[Segment, int]]:
        """Give where those of the results are that are there, by key: the file, and which of its row groups."""
        places = self._places()
        return {key: places[key] for key in keys if key in places}

    def read(self, keys: Collection[str]) -> dict[str, pd.DataFrame]:
        """Give the results themselves, by key; what is broken or gone by now is left out."""
        frames: dict[str, pd.DataFrame] = {}
        for _ in range(2):  # a file may give way to a merged one in between
            wanted: dict[str, tuple[Segment, list[int]]] = {}
            places = self._places()
            for key in dict.fromkeys(keys):
                if key not in frames and key in places:
                    segment, at = places[key]
                    wanted.setdefault(segment.path.name, (segment, []))[1].append(at)
            if not wanted:
                break
            for segment, positions in wanted.values():
                frames |= self._read(segment, sorted(positions))
        return frames

    def writer(
        self,
        *,
        never: Callable[[], Sequence[str]] = tuple,
        seconds: float = SEGMENT_SECONDS,
        size: int = SEGMENT_BYTES,
    ) -> Writer:
        """
        Give what writes results.

        Parameters
        ----------
        never
            Gives texts that no file may hold: a result with one of them is not written.
        seconds
            A file is closed, and its results are there for all, so long after it was opened.
        size
            Or when it holds so many bytes.
        """
        return Writer(self.folder, plain=self.plain, never=never, seconds=seconds, size=size)

    @property
    def all(self) -> dict[str, Found]:
        """What is there, by key."""
        return self.find(self._places())

    @property
    def files(self) -> list[Path]:
        """The files, that written first before the others."""
        return [segment.path for segment in self._by_age()]

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return sum(segment.size for segment in self._by_age())

    def trim(self, most: float, results: float = math.inf, before: float = 0.0) -> None:
        """Remove the files written first until the others hold so many bytes and results, and those before a time."""
        for segment in reversed(self._by_age()):
            most -= segment.size
            results -= len(segment.results)
            if most < 0 or results < 0 or segment.newest < before:
                remove(segment.path)

    def clear(self) -> None:
        """Remove all that is named as ours, but for what another process writes at this moment."""
        for path in self._named(DONE):
            remove(path)
        self._remove_undone(_ABANDONED_SECONDS)

    def tidy(self) -> None:
        """Make one file of many small ones of the same columns, and remove what a killed process has left."""
        if self._mends:
            self._remove_undone(_STALE_SECONDS)
        small: dict[Layout | None, list[Segment]] = {}
        for segment in self._by_age():
            if segment.size < SEGMENT_BYTES / _SMALL and len(segment.results) < SEGMENT_RESULTS / _SMALL:
                small.setdefault(segment.layout, []).append(segment)
        for segments in small.values():
            if len(segments) > _MOST_SMALL:
                self._merge(segments)

    def _merge(self, segments: list[Segment]) -> None:
        places = self._places()
        merged = Writer(self.folder, plain=self.plain, never=tuple, seconds=math.inf, size=SEGMENT_BYTES)
        try:
            for segment in segments:
                # Of a key that is there twice the newest alone.
                wanted = [at for at, result in enumerate(segment.results) if places.get(result.key) == (segment, at)]
                for table, result, attrs in segment.parts(wanted):
                    merged.put(segment.layout, table, result, attrs)
            merged.close()
        except BROKEN:  # another process does the same, or the disk is full: then they stay as they are
            merged.drop()
            return
        for segment in segments:
            remove(segment.path)

    def _remove_undone(self, seconds: float) -> None:
        for path in self._named(UNDONE):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > seconds:
                    path.unlink()

    def _read(self, segment: Segment, positions: list[int]) -> dict[str, pd.DataFrame]:
        try:
            return segment.read(positions)
        except BROKEN as error:
            with self._lock:
                self._leave(segment.path, error)
                self._take({name: kept for name, kept in self._segments.items() if kept is not segment})
            return {}

    def _by_age(self) -> list[Segment]:
        self._places()
        return sorted(self._segments.values(), key=lambda segment: (segment.newest, segment.path.name))

    def _places(self) -> dict[str, tuple[Segment, int]]:
        """Look at the folder, and give where each result is."""
        with self._lock:
            paths = {path.name: path for path in self._named(DONE)}
            segments = {name: segment for name, segment in self._segments.items() if name in paths}
            for name in paths.keys() - segments.keys() - self._foreign:
                try:
                    segments[name] = opened(paths[name])
                except BROKEN as error:
                    self._leave(paths[name], error)
            if segments.keys() != self._segments.keys():
                self._take(segments)
            return self._found

    def _take(self, segments: dict[str, Segment]) -> None:
        # Made anew and not changed, since other threads go through them.
        found: dict[str, tuple[Segment, int]] = {}
        for segment in segments.values():
            for at, result in enumerate(segment.results):
                before = found.get(result.key)
                if before is None or before[0].results[before[1]].written <= result.written:
                    found[result.key] = segment, at
        self._segments, self._found = segments, found

    def _named(self, suffix: str) -> list[Path]:
        try:
            with os.scandir(self.folder) as entries:
                names = sorted(entry.name for entry in entries)
        except OSError:
            return []
        return [self.folder / name for name in names if name.startswith(PREFIX) and name.endswith(suffix)]

    def _leave(self, path: Path, error: Exception) -> None:
        """Pass a file over from now on, and remove it where that is wished and it is surely broken."""
        if isinstance(error, FileNotFoundError):
            return
        self._foreign.add(path.name)
        # An error with a number is the disk's, or of rights: it says nothing of the file.
        if self._mends and not (isinstance(error, OSError) and error.errno):
            remove(path)


class Writer:
    """
    Writes results, each into the open file of its columns; for one thread at a time.

    What is added is there for others once its file is closed: by `close`, or after some seconds or bytes.
    """

    def __init__(
        self, folder: Path, *, plain: bool, never: Callable[[], Sequence[str]], seconds: float, size: int
    ) -> None:
        self._folder = folder
        self._plain = plain
        self._never = never
        self._seconds = seconds
        self._size = size
        self._open: dict[Layout | None, OpenSegment] = {}
        self._lock = threading.Lock()

    def add(self, key: str, frame: pd.DataFrame) -> bool:
        """
        Write one result, with its ``attrs["funcs"]``.

        Returns
        -------
        bool
            Whether it is written; not so where it could not be read back without a change.

        Raises
        ------
        OSError
            The disk is full, or the folder cannot be written; what was added and is not there yet is gone.
        """
        try:
            table, layout, rows = to_arrow(frame)
            attrs = json.loads(json.dumps(frame.attrs.get("funcs", {})))
        except (NotKeptError, pa.ArrowException, TypeError, ValueError):
            return False
        if holds(table, [*layout.names, json.dumps([attrs, rows.name, layout.index])], self._never()):
            return False
        with self._lock:
            self.put(layout, table, Result(key, time.time(), rows), attrs)
        return True

    def put(self, layout: Layout | None, table: pa.Table, result: Result, attrs: dict[str, Any]) -> None:
        """Write a table as it lies in a file of this layout."""
        if layout is not None and layout not in self._open and len(self._open) >= _MOST_OPEN:
            if self._plain:
                self._close(min(self._open, key=lambda layout: self._open[layout].opened))
            else:
                table, layout = packed(table, layout), None
        try:
            if layout not in self._open:
                self._open[layout] = OpenSegment(self._folder, layout, table.schema, statistics=self._plain)
            self._open[layout].add(table, result, attrs)
            for other, file in list(self._open.items()):
                if file.size >= self._size or file.count >= SEGMENT_RESULTS or file.age >= self._seconds:
                    self._close(other)
        except BaseException:
            self.drop()
            raise

    def close(self) -> None:
        """
        Make everything that was added be there.

        Raises
        ------
        OSError
            As of `add`.
        """
        with self._lock:
            try:
                for layout in list(self._open):
                    self._close(layout)
            except BaseException:
                self.drop()
                raise

    def drop(self) -> None:
        """Remove the files that are open, and what was written to them."""
        for file in self._open.values():
            file.drop()
        self._open.clear()

    def _close(self, layout: Layout | None) -> None:
        self._open[layout].close()
        del self._open[layout]

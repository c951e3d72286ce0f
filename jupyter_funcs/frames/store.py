"""
A store of DataFrames by key: a folder of a few Parquet files, one row group per result.

A file is written under another name and renamed once it is complete; after that it never changes. So any number of
processes can read, write and remove files at once without a lock: a file that disappears meanwhile is simply not
found. Keys, times and attrs are in each file's footer.
"""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from jupyter_funcs.core.files import remove_abandoned
from jupyter_funcs.frames.parquet import (
    BROKEN,
    DONE,
    PREFIX,
    UNDONE,
    Layout,
    NotStorableError,
    OpenSegment,
    Segment,
    StoredResult,
    contains,
    open_segment,
    remove,
    to_arrow,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    import pandas as pd

    from jupyter_funcs.core.json_decoding import JsonObject


SEGMENT_BYTES = 64 * 2**20
SEGMENT_SECONDS = 30.0
# Reading any result of a file means reading its whole footer.
SEGMENT_RESULTS = 1000
# Files open at once, one for each kind of columns; beyond that, the oldest is closed.
_MAX_OPEN = 32
# More than 8 files with one layout, each smaller than a quarter of a full one, are merged.
_MAX_SMALL = 8
_SMALL = 4


class Segments:
    """
    The results in a folder, by key.

    Each file has the columns of its frames, so that any tool can read it. With `repair`, broken files are removed.
    Files that a killed process left are removed at once.
    """

    def __init__(self, folder: Path, *, repair: bool = False) -> None:
        self.folder = folder
        self._repair = repair
        self._lock = threading.Lock()
        self._segments: dict[str, Segment] = {}  # by file name
        self._ignored: set[str] = set()
        # Where the newest result of each key is.
        self._index: dict[str, tuple[Segment, int]] = {}
        remove_abandoned(self._paths(UNDONE))

    def find(self, keys: Iterable[str]) -> dict[str, StoredResult]:
        """Return the entries of the results that exist, by key."""
        return {
            key: segment.results[at] for key, (segment, at) in self.locate(keys).items()
        }

    def locate(self, keys: Iterable[str]) -> dict[str, tuple[Segment, int]]:
        """Return the file and row group of the results that exist, by key."""
        index = self._refresh()
        return {key: index[key] for key in keys if key in index}

    def read(
        self, keys: Collection[str], columns: Collection[str] | None = None
    ) -> dict[str, pd.DataFrame]:
        """Return results by key, with all columns or those named here; results that are gone or broken are left out."""
        frames: dict[str, pd.DataFrame] = {}
        for _ in range(2):  # another process may merge files meanwhile
            wanted: defaultdict[Segment, list[int]] = defaultdict(list)
            for segment, at in self.locate(
                key for key in keys if key not in frames
            ).values():
                wanted[segment].append(at)
            for segment, positions in wanted.items():
                frames |= self._read(segment, sorted(positions), columns)

        return frames

    def writer(self, **options: Any) -> SegmentWriter:
        """Return a writer with these options."""
        return SegmentWriter(self.folder, **options)

    @property
    def all(self) -> dict[str, StoredResult]:
        """All entries, by key."""
        return self.find(self._refresh())

    @property
    def files(self) -> list[Path]:
        """The files, oldest first."""
        return [segment.path for segment in self._by_age()]

    @property
    def size(self) -> int:
        """The size of all files, in bytes."""
        return sum(segment.size for segment in self._by_age())

    def trim(self, most: float, results: float = math.inf, before: float = 0.0) -> None:
        """Remove the oldest files beyond `most` bytes or `results` results, and those last written before `before`."""
        for segment in reversed(self._by_age()):
            most -= segment.size
            results -= len(segment.results)
            if most < 0 or results < 0 or segment.newest < before:
                remove(segment.path)

    def clear(self) -> None:
        """Remove all files with our names, except those that another process may be writing."""
        for path in self._paths(DONE):
            remove(path)
        remove_abandoned(self._paths(UNDONE))

    def tidy(self) -> None:
        """Merge small files with the same columns."""
        small: defaultdict[Layout, list[Segment]] = defaultdict(list)
        for segment in self._by_age():
            if (
                segment.size < SEGMENT_BYTES / _SMALL
                and len(segment.results) < SEGMENT_RESULTS / _SMALL
            ):
                small[segment.layout].append(segment)

        for segments in small.values():
            if len(segments) > _MAX_SMALL:
                self._merge(segments)

    def _merge(self, segments: list[Segment]) -> None:
        index = self._refresh()
        writer = self.writer(seconds=math.inf)
        try:
            for segment in segments:
                # Only the newest result of each key.
                newest = [
                    at
                    for at, result in enumerate(segment.results)
                    if index.get(result.key) == (segment, at)
                ]
                for table, result, attrs in segment.tables(newest):
                    writer.put(segment.layout, table, result, attrs)
            writer.close()
        except BROKEN:
            # Another process is merging them too, or the disk is full: leave them.
            writer.discard()
            return

        for segment in segments:
            remove(segment.path)

    def _read(
        self, segment: Segment, positions: list[int], columns: Collection[str] | None
    ) -> dict[str, pd.DataFrame]:
        try:
            return segment.read(positions, columns)
        except BROKEN as error:
            with self._lock:
                self._ignore(segment.path, error)
                self._replace(
                    {
                        name: other
                        for name, other in self._segments.items()
                        if other is not segment
                    }
                )
            return {}

    def _by_age(self) -> list[Segment]:
        self._refresh()
        return sorted(
            self._segments.values(),
            key=lambda segment: (segment.newest, segment.path.name),
        )

    def _refresh(self) -> dict[str, tuple[Segment, int]]:
        """Look for new and removed files, and return where each result is."""
        with self._lock:
            paths = {path.name: path for path in self._paths(DONE)}
            segments = {
                name: segment
                for name, segment in self._segments.items()
                if name in paths
            }
            for name in paths.keys() - segments.keys() - self._ignored:
                try:
                    segments[name] = open_segment(paths[name])
                except BROKEN as error:
                    self._ignore(paths[name], error)
            if segments.keys() != self._segments.keys():
                self._replace(segments)
            return self._index

    def _replace(self, segments: dict[str, Segment]) -> None:
        # New dictionaries, because other threads may be iterating over the old ones.
        index: dict[str, tuple[Segment, int]] = {}
        for segment in segments.values():
            for at, result in enumerate(segment.results):
                other = index.get(result.key)
                if (
                    other is None
                    or other[0].results[other[1]].written <= result.written
                ):
                    index[result.key] = segment, at

        self._segments = segments
        self._index = index

    def _paths(self, suffix: str) -> list[Path]:
        try:
            with os.scandir(self.folder) as entries:
                names = sorted(entry.name for entry in entries)
        except OSError:
            return []

        return [
            self.folder / name
            for name in names
            if name.startswith(PREFIX) and name.endswith(suffix)
        ]

    def _ignore(self, path: Path, error: Exception) -> None:
        """Ignore a file from now on; with `repair`, remove it if it is surely broken."""
        if isinstance(error, FileNotFoundError):
            return
        self._ignored.add(path.name)
        # An error with a number comes from the disk or from permissions, and says nothing about the file.
        if self._repair and not (isinstance(error, OSError) and error.errno):
            remove(path)


@dataclass(eq=False)
class SegmentWriter:
    """
    Writes results, each into the open file for its columns; for one thread at a time.

    Others can read a result once its file is closed: after some seconds or bytes, or by `close`. A result with one of
    the forbidden texts is not stored.
    """

    folder: Path
    forbidden: Callable[[], Sequence[str]] = tuple
    seconds: float = SEGMENT_SECONDS
    size: int = SEGMENT_BYTES
    _open: dict[Layout, OpenSegment] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, key: str, frame: pd.DataFrame) -> bool:
        """Write a result with its ``attrs["funcs"]``; return whether it can be stored."""
        try:
            table, layout, rows = to_arrow(frame)
            attrs = json.loads(json.dumps(frame.attrs.get("funcs", {})))
        except (NotStorableError, pa.ArrowException, TypeError, ValueError):
            return False

        if contains(
            table,
            [*layout.names, json.dumps([attrs, rows.name, layout.index])],
            self.forbidden(),
        ):
            return False

        with self._lock:
            result = StoredResult(
                key, time.time(), len(rows), rows.start, rows.step, rows.name
            )
            self.put(layout, table, result, attrs)

        return True

    def put(
        self, layout: Layout, table: pa.Table, result: StoredResult, attrs: JsonObject
    ) -> None:
        """Write a table as it is stored in a file of this layout."""
        with self._discarding():
            if layout not in self._open:
                if len(self._open) == _MAX_OPEN:
                    self._close(next(iter(self._open)))  # the oldest
                self._open[layout] = OpenSegment(self.folder, layout, table.schema)
            self._open[layout].add(table, result, attrs)
            for other, file in list(self._open.items()):
                is_full = file.size >= self.size or len(file.results) >= SEGMENT_RESULTS
                if is_full or file.age >= self.seconds:
                    self._close(other)

    def close(self) -> None:
        """Close all files, so that others can read what was added."""
        with self._lock, self._discarding():
            for layout in list(self._open):
                self._close(layout)

    @contextmanager
    def _discarding(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        """Remove the open files."""
        for file in self._open.values():
            file.discard()
        self._open.clear()

    def _close(self, layout: Layout) -> None:
        self._open[layout].close()
        del self._open[layout]

"""
Parquet files of DataFrames, one row group per frame, which read back exactly. No pickle.

Columns use Arrow's own types, so that any tool reads the files. Columns of Python objects (mixed JSON values, integers
beyond 64 bits) are stored as JSON text, bytes as bytes; the `Layout` in the footer says which.
"""

from __future__ import annotations

import io
import json
import time
import uuid
import zlib
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass
from decimal import Decimal
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from jupyter_funcs.core.files import create_locked, finish, open_regular
from jupyter_funcs.frames.columns import frame_from, mapped, objects

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
    from pathlib import Path

    from jupyter_funcs.core.json_decoding import JsonObject
    from jupyter_funcs.frames.columns import Series

_JSON = "object of JSON"
_BYTES = "object of bytes"
_DECIMALS = "object of decimals"
# What reads the objects of a kind.
_OBJECTS: dict[str, Callable[[Any], Any]] = {
    _JSON: json.loads,
    _BYTES: bytes,
    _DECIMALS: Decimal,
}
_CATEGORY = "category "
_OF_JSON = {dict, list, str, int, float, bool, type(None)}
_INDEX = "__index_{}__"


class NotStorableError(ValueError):
    """A frame that would not read back exactly; the message says why."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What the frames in one file share, beyond their Arrow schema: columns and index levels with their dtypes."""

    columns: tuple[tuple[str, str], ...]
    index: tuple[tuple[str | None, str], ...] = ()

    @classmethod
    def from_json(cls, columns: list[Any], index: list[Any] | None) -> Layout:
        return cls(tuple(map(tuple, columns)), tuple(map(tuple, index or ())))

    def select(self, names: Collection[str]) -> Layout:
        """Return the layout of some of the columns."""
        return Layout(
            tuple(column for column in self.columns if column[0] in names), self.index
        )

    @property
    def names(self) -> list[str]:
        """The names of the Arrow table's columns."""
        return [
            *(name for name, _ in self.columns),
            *(_INDEX.format(level) for level in range(len(self.index))),
        ]


def to_arrow(frame: pd.DataFrame) -> tuple[pa.Table, Layout, pd.RangeIndex]:
    """Return a frame as an Arrow table, with what `from_arrow` needs: its layout, and its index or row numbers."""
    names = list(frame.columns)
    if not set(map(type, names)) <= {str} or len(set(names)) < len(names):
        raise NotStorableError("its column names are not unique strings")
    index = frame.index
    rows = pd.RangeIndex(len(frame))
    levels = {}
    if isinstance(index, pd.RangeIndex):
        rows = index
    else:
        levels = {
            _INDEX.format(at): index.get_level_values(at) for at in range(index.nlevels)
        }

    titles: list[Any] = list(index.names)
    if not set(map(type, titles)) <= {str, type(None)}:
        raise NotStorableError("the name of its index is not a string")
    bare = frame.copy(deep=False)
    bare.attrs = {}  # pandas deep-copies attrs each time a column is selected
    if not levels.keys().isdisjoint(names):
        raise NotStorableError("a column has the name of an index level")
    columns = {name: bare[name] for name in names} | levels
    encoded = {name: _encoded(name, column) for name, column in columns.items()}
    kinds = {name: kind for name, (kind, _) in encoded.items()}
    # Without levels, none.
    named = tuple(zip(titles, map(kinds.pop, levels), strict=False))
    table = pa.table({name: array for name, (_, array) in encoded.items()})
    return table, Layout(tuple(kinds.items()), named), rows


def from_arrow(
    table: pa.Table, layout: Layout, parts: Sequence[tuple[int, pd.RangeIndex]]
) -> list[pd.DataFrame]:
    """Return the frames stored in a table, given where each one starts."""
    levels = [(_INDEX.format(at), kind) for at, (_, kind) in enumerate(layout.index)]
    columns = {
        name: _decoded(kind, table.column(name))
        for name, kind in (*layout.columns, *levels)
    }
    whole = frame_from(columns, pd.RangeIndex(table.num_rows))
    if levels:
        whole = whole.set_index([name for name, _ in levels])
        whole.index.names = [name for name, _ in layout.index]

    frames = []
    for start, rows in parts:
        frame = frame_from({}, rows)
        if columns:
            frame = whole.iloc[start : start + len(rows)].copy()
        if not levels:
            frame.index = rows
        frames.append(frame)

    return frames


def contains(table: pa.Table, metadata: Sequence[str], texts: Sequence[str]) -> bool:
    """Return whether any of the texts occurs in a table's cells or in its metadata."""
    kinds = {pa.large_string(), pa.large_binary()}
    columns = [column for column in table.columns if column.type in kinds]
    return any(
        any(text in other for other in metadata)
        or any(pc.any(pc.match_substring(column, text)).as_py() for column in columns)
        for text in texts
    )


def _is_of_arrow(values: Series | pd.Index[Any]) -> bool:
    """Return whether Arrow has the dtype of a column, with its nulls."""
    dtype: Any = values.dtype
    if isinstance(dtype, np.dtype):
        return dtype.kind in "biuf" and dtype != np.float16
    if isinstance(dtype, pd.DatetimeTZDtype):
        return dtype.unit != "s"
    return isinstance(
        values.array,
        pd.arrays.IntegerArray | pd.arrays.FloatingArray | pd.arrays.BooleanArray,
    )


def _encoded(name: str, values: Series | pd.Index[Any]) -> tuple[str, Any]:
    """Return a column's kind, which `_decoded` needs, and its Arrow array."""
    dtype: Any = values.dtype
    kind = str(dtype)
    if kind == "object":
        return _encoded_objects(name, list(values))
    if isinstance(dtype, pd.StringDtype):
        if dtype.na_value is pd.NA:
            kind = f"string[{dtype.storage}]"
        return kind, pa.array(values.array, type=pa.large_string())

    if _is_of_arrow(values):
        # NaN is stored as null, so that other tools skip it; it reads back as NaN.
        return kind, pa.array(values, from_pandas=True)

    if isinstance(dtype, np.dtype) and dtype.kind == "M":
        if kind == "datetime64[s]":
            values = values.astype("datetime64[ms]")
        return kind, pa.array(values)

    if isinstance(dtype, pd.CategoricalDtype) and isinstance(
        dtype.categories.dtype, pd.StringDtype
    ):
        texts, array = _encoded(name, values.astype(dtype.categories.dtype))
        return _CATEGORY + json.dumps([texts, dtype.ordered, *dtype.categories]), array

    raise NotStorableError(f"column {name!r} has dtype {kind}")


def _encoded_objects(name: str, values: list[Any]) -> tuple[str, Any]:
    kinds = set(map(type, values))
    if bytes in kinds and kinds <= {bytes, type(None)}:
        return _BYTES, pa.array(values, type=pa.large_binary())
    if Decimal in kinds and kinds <= {Decimal, type(None)}:
        return _DECIMALS, pa.array(mapped(str, values), type=pa.large_string())
    if kinds <= _OF_JSON:
        with suppress(TypeError, ValueError, RecursionError):
            return _JSON, pa.array(mapped(json.dumps, values), type=pa.large_string())

    raise NotStorableError(f"column {name!r} holds objects that JSON has no type for")


def _decoded(kind: str, column: pa.ChunkedArray) -> Any:
    if read := _OBJECTS.get(kind):
        return objects(mapped(read, column.to_pylist()))
    if kind.startswith(_CATEGORY):
        texts, is_ordered, *options = json.loads(kind.removeprefix(_CATEGORY))
        categories: Any = pd.array(options, texts)
        return pd.Categorical(_decoded(texts, column), categories, ordered=is_ordered)

    dtype: Any = pd.api.types.pandas_dtype(kind)
    if isinstance(dtype, np.dtype):
        return column.to_numpy().astype(dtype, copy=False)
    return dtype.__from_arrow__(column)


PREFIX = "results-"
DONE = ".parquet"
UNDONE = ".part"
# What reading a broken file raises. An OSError may also come from the disk.
BROKEN = (
    pa.ArrowException,
    OSError,
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    AttributeError,
    RecursionError,
)
_FOOTER = b"jupyter_funcs"
_ATTRS = b"jupyter_funcs.attrs"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class StoredResult:
    """The footer's entry for one frame, with its rows and their numbers; `written` is in seconds since 1970."""

    key: str
    written: float
    count: int
    start: int = 0
    step: int = 1
    name: Hashable = None

    @property
    def rows(self) -> pd.RangeIndex:
        return pd.RangeIndex(
            self.start, self.start + self.step * self.count, self.step, name=self.name
        )


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """One file, as its footer describes it."""

    path: Path
    size: int
    layout: Layout
    results: tuple[StoredResult, ...]

    @property
    def newest(self) -> float:
        """When the last result was written, in seconds since 1970."""
        return max((result.written for result in self.results), default=0.0)

    def read(
        self, positions: Sequence[int], columns: Collection[str] | None = None
    ) -> dict[str, pd.DataFrame]:
        """Return some of the results by key, with all columns or those named here; raises one of `BROKEN`."""
        results = [self.results[at] for at in positions]
        layout = self.layout
        names = None
        if columns is not None:
            layout = layout.select(columns)
            # Arrow can't select a column whose name contains a null character.
            if not any("\0" in name for name in layout.names):
                names = layout.names

        table, starts, attrs = self._read(positions, names)
        rows = [result.rows for result in results]
        frames = from_arrow(table, layout, list(zip(starts, rows, strict=True)))
        for frame, about in zip(frames, attrs, strict=True):
            if about:
                frame.attrs["funcs"] = about

        return {
            result.key: frame for result, frame in zip(results, frames, strict=True)
        }

    def tables(
        self, positions: Sequence[int]
    ) -> Iterator[tuple[pa.Table, StoredResult, JsonObject]]:
        """Yield some of the results as they are stored, with their attrs; raises one of `BROKEN`."""
        table, starts, attrs = self._read(positions)
        for start, at, about in zip(starts, positions, attrs, strict=True):
            result = self.results[at]
            yield table.slice(start, result.count), result, about

    def _read(
        self, positions: Sequence[int], columns: list[str] | None = None
    ) -> tuple[pa.Table, list[int], list[JsonObject]]:
        """Return the rows of some results, the row at which each starts, and their attrs."""
        with open_regular(self.path) as file:
            # On no thread of Arrow's: one that still holds what it read from Python as the interpreter ends aborts it.
            parquet = pq.ParquetFile(
                file, page_checksum_verification=True, pre_buffer=False
            )
            attrs = _unsealed(parquet.metadata.metadata[_ATTRS])
            table = parquet.read_row_groups(list(positions), columns, use_threads=False)

        starts = [*accumulate((self.results[at].count for at in positions), initial=0)]
        # Without the footer, which would end up in the schema of the next file.
        return (
            table.replace_schema_metadata(),
            starts[:-1],
            [attrs[at] for at in positions],
        )


class OpenSegment:
    """A file that is being written."""

    def __init__(self, folder: Path, layout: Layout, schema: pa.Schema) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{PREFIX}{uuid.uuid4().hex}{UNDONE}"
        self.layout = layout
        self.results: list[StoredResult] = []
        self.attrs: list[JsonObject] = []
        self.opened = time.monotonic()
        # Python's file and not Arrow's: its errors carry errno, and it is closed whatever fails.
        self.file = create_locked(self.path)
        try:
            # For small tables, dictionaries make files larger and writing twice as slow.
            self.parquet = pq.ParquetWriter(
                self.file, schema, use_dictionary=False, write_page_checksum=True
            )
        except BaseException:
            self.file.close()
            remove(self.path)
            raise

    @property
    def size(self) -> int:
        return self.file.tell()

    @property
    def age(self) -> float:
        return time.monotonic() - self.opened

    def add(self, table: pa.Table, result: StoredResult, attrs: JsonObject) -> None:
        self.parquet.write_table(table, row_group_size=max(table.num_rows, 1))
        self.results.append(result)
        self.attrs.append(attrs)

    def close(self) -> None:
        footer = {
            "format": _FORMAT,
            "layout": asdict(self.layout),
            "results": list(map(astuple, self.results)),
        }
        # Attrs are separate, because finding a result doesn't need them.
        self.parquet.add_key_value_metadata(
            {_FOOTER: _sealed(footer), _ATTRS: _sealed(self.attrs)}
        )
        self.parquet.close()
        finish(self.file, self.path.with_suffix(DONE))

    def discard(self) -> None:
        # Otherwise its finalizer writes a footer to the closed file.
        self.parquet.is_open = False
        with suppress(OSError):
            self.file.close()
        remove(self.path)


def open_segment(path: Path) -> Segment:
    """Read a file's footer; raises one of `BROKEN` if the file isn't one of ours."""
    with open_regular(path) as file:
        footer = _unsealed((pq.read_metadata(file).metadata or {})[_FOOTER])
        size = file.seek(0, io.SEEK_END)

    if footer["format"] != _FORMAT:
        raise ValueError
    results = tuple(StoredResult(*result) for result in footer["results"])
    return Segment(path, size, Layout.from_json(**footer["layout"]), results)


def _sealed(value: Any) -> bytes:
    # Parquet has checksums for pages, but not for the footer.
    text = json.dumps(value).encode()
    return b"%08x%b" % (zlib.crc32(text), text)


def _unsealed(data: bytes) -> Any:
    if int(data[:8], 16) != zlib.crc32(data[8:]):
        raise ValueError
    return json.loads(data[8:])


def remove(path: Path) -> None:
    """Remove a file, unless it is gone or another process holds it."""
    with suppress(OSError):
        path.unlink()

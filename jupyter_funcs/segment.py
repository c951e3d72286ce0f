"""A segment: one Parquet file of results, a row group a result; what is not data stands in its footer."""

from __future__ import annotations

import io
import json
import time
import uuid
import zlib
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from jupyter_funcs.as_arrow import Layout, Rows, from_arrow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pandas as pd

PREFIX, DONE, UNDONE = "results-", ".parquet", ".part"
# What a file that is broken raises; an OSError may also be of the disk.
BROKEN = (pa.ArrowException, OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError)
_FOOTER, _ATTRS = b"jupyter_funcs", b"jupyter_funcs.attrs"
_FORMAT = 1
_PACKED = pa.schema([("frame", pa.large_binary())])


@dataclass(frozen=True, slots=True)
class Result:
    """One result of a file, as its footer tells it."""

    key: str
    written: float
    rows: Rows

    def to_json(self) -> list[Any]:
        rows = self.rows
        return [self.key, self.written, rows.count, *rows.labels, rows.name]

    @classmethod
    def from_json(cls, told: list[Any]) -> Result:
        key, written, count, first, step, name = told
        return cls(str(key), float(written), Rows(int(count), (int(first), int(step)), name))


@dataclass(frozen=True, slots=True)
class Segment:
    """One file, as its footer tells it; without a layout each of its results is packed with its own."""

    path: Path
    size: int
    layout: Layout | None
    results: tuple[Result, ...]

    @property
    def newest(self) -> float:
        """When its last result was written."""
        return max((result.written for result in self.results), default=0.0)

    def read(self, positions: Sequence[int]) -> dict[str, pd.DataFrame]:
        """
        Give some of its results, by key.

        Raises
        ------
        Exception
            One of `BROKEN`.
        """
        table, starts, attrs = self._contents(positions)
        results = [self.results[at] for at in positions]
        if self.layout is None:
            cells = table.column(0)
            frames = [_unpacked(cells[at].as_py(), result.rows) for at, result in zip(starts, results, strict=True)]
        else:
            frames = from_arrow(table, self.layout, [(at, one.rows) for at, one in zip(starts, results, strict=True)])
        for frame, at in zip(frames, positions, strict=True):
            frame.attrs = {"funcs": attrs[at]} if attrs[at] else {}
        return {result.key: frame for result, frame in zip(results, frames, strict=True)}

    def parts(self, positions: Sequence[int]) -> Iterator[tuple[pa.Table, Result, dict[str, Any]]]:
        """Go through some of its results as they lie in it, with their attrs; raises as `read`."""
        table, starts, attrs = self._contents(positions)
        for start, at in zip(starts, positions, strict=True):
            result = self.results[at]
            yield table.slice(start, self._rows_of(result)), result, attrs[at]

    def _rows_of(self, result: Result) -> int:
        return 1 if self.layout is None else result.rows.count

    def _contents(self, positions: Sequence[int]) -> tuple[pa.Table, list[int], list[dict[str, Any]]]:
        """Give the rows of some results, in which of them each begins, and the attrs of all."""
        with self.path.open("rb") as file:
            parquet = pq.ParquetFile(file, page_checksum_verification=True)
            attrs = _unsealed(parquet.metadata.metadata[_ATTRS])
            every = len(positions) == len(self.results) == parquet.num_row_groups == len(attrs)
            # In fewer calls it is faster.
            table = parquet.read() if every else parquet.read_row_groups(list(positions))
        ends = [*accumulate(self._rows_of(self.results[at]) for at in positions)]
        # Without the footer, which would be written into the next file's schema.
        return table.replace_schema_metadata(), [0, *ends][:-1], attrs


class OpenSegment:
    """A file that is being written; with statistics, by which who filters the folder reads only a part."""

    def __init__(self, folder: Path, layout: Layout | None, schema: pa.Schema, *, statistics: bool) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{PREFIX}{uuid.uuid4().hex}{UNDONE}"
        self.layout = layout
        self.results: list[Result] = []
        self.attrs: list[dict[str, Any]] = []
        self.opened = time.monotonic()
        # By Python's own file: its errors say which they are, and it is closed whatever fails.
        self.file = self.path.open("xb")
        try:
            # Of small tables a dictionary makes larger files, and takes as long again.
            self.parquet = pq.ParquetWriter(
                self.file, schema, use_dictionary=False, write_statistics=statistics, write_page_checksum=True
            )
        except BaseException:
            self.file.close()
            remove(self.path)
            raise

    @property
    def size(self) -> int:
        return self.file.tell()

    @property
    def count(self) -> int:
        return len(self.results)

    @property
    def age(self) -> float:
        return time.monotonic() - self.opened

    def add(self, table: pa.Table, result: Result, attrs: dict[str, Any]) -> None:
        self.parquet.write_table(table, row_group_size=max(table.num_rows, 1))
        self.results.append(result)
        self.attrs.append(attrs)

    def close(self) -> None:
        layout = None if self.layout is None else self.layout.to_json()
        footer = {"format": _FORMAT, "layout": layout, "results": [result.to_json() for result in self.results]}
        # Apart, since looking for a result takes none of them.
        self.parquet.add_key_value_metadata({_FOOTER: _sealed(footer), _ATTRS: _sealed(self.attrs)})
        self.parquet.close()
        self.file.close()
        self.path.rename(self.path.with_suffix(DONE))

    def drop(self) -> None:
        self.parquet.is_open = False  # else it writes its footer when it is collected, to a file that is closed
        with suppress(OSError):
            self.file.close()
        remove(self.path)


def opened(path: Path) -> Segment:
    """Give the file at a path; raises one of `BROKEN` where it is none of ours."""
    with path.open("rb") as file:
        footer = _unsealed((pq.read_metadata(file).metadata or {})[_FOOTER])
        size = file.seek(0, io.SEEK_END)
    if footer["format"] != _FORMAT:
        raise ValueError
    layout = None if footer["layout"] is None else Layout.from_json(footer["layout"])
    return Segment(path, size, layout, tuple(Result.from_json(told) for told in footer["results"]))


def _sealed(value: Any) -> bytes:
    # Pages of Parquet have a checksum, the footer has none.
    text = json.dumps(value).encode()
    return b"%08x%b" % (zlib.crc32(text), text)


def _unsealed(data: bytes) -> Any:
    if int(data[:8], 16) != zlib.crc32(data[8:]):
        raise ValueError
    return json.loads(data[8:])


def packed(table: pa.Table, layout: Layout) -> pa.Table:
    """Give the row by which a table lies in a file of frames that have nothing in common."""
    sink = io.BytesIO()
    told = table.replace_schema_metadata({_FOOTER: json.dumps(layout.to_json()).encode()})
    with pa.ipc.new_stream(sink, told.schema) as stream:
        stream.write_table(told)
    return pa.table([pa.array([sink.getvalue()], type=pa.large_binary())], schema=_PACKED)


def _unpacked(data: bytes, rows: Rows) -> pd.DataFrame:
    table = pa.ipc.open_stream(data).read_all()
    layout = Layout.from_json(json.loads(table.schema.metadata[_FOOTER]))
    return from_arrow(table, layout, [(0, rows)])[0]


def remove(path: Path) -> None:
    """Remove a file, if that is possible."""
    with suppress(OSError):  # gone, or held by another process: then it stays
        path.unlink()

"""
A DataFrame as an Arrow table that Parquet keeps, and back without a change. No pickle.

What Arrow has a type for is kept in it, so that any tool reads the file. A column of Python objects (JSON of several
kinds, integers beyond 64 bit) is kept as JSON text, one of bytes as bytes; the `Layout` says which.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

_JSON, _BYTES = "object of JSON", "object of bytes"
_OF_JSON = {dict, list, str, int, float, bool, type(None)}
# numpy's, then pandas' own, which hold nulls.
_NUMBERS = {"bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)), "float32", "float64"}
_NULLABLE = {
    "boolean",
    "Float32",
    "Float64",
    *(f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)),
}
_INDEX = "__index_{}__"
# Before pandas 3 who writes to a part of a frame writes to the whole.
_WRITES_THROUGH = int(pd.__version__.partition(".")[0]) < 3


class NotKeptError(ValueError):
    """A frame holds what cannot be kept without a change; says which column."""


@dataclass(frozen=True, slots=True)
class Layout:
    """
    What frames have in common that go into one file: what Arrow does not say of them.

    Attributes
    ----------
    columns
        The name and the dtype of each column, in their order.
    index
        The name and the dtype of each level of the row labels; ``None`` where the rows are numbered.
    """

    columns: tuple[tuple[str, str], ...]
    index: tuple[tuple[str | None, str], ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """Give it as JSON has it."""
        return {"columns": self.columns, "index": self.index}

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Layout:
        """Give it back."""
        columns, index = told["columns"], told["index"]
        return cls(tuple(map(tuple, columns)), None if index is None else tuple(map(tuple, index)))

    @property
    def names(self) -> list[str]:
        """The names of the table's columns."""
        return [*(name for name, _ in self.columns), *(_INDEX.format(level) for level in range(len(self.index or ())))]


@dataclass(frozen=True, slots=True)
class Rows:
    """
    How the rows of one frame are numbered, where they are.

    Attributes
    ----------
    count
        How many there are.
    labels
        Start and step of the numbers.
    name
        What the numbers are called.
    """

    count: int
    labels: tuple[int, int] = (0, 1)
    name: str | None = None

    @property
    def index(self) -> pd.RangeIndex:
        """The row labels."""
        start, step = self.labels
        return pd.RangeIndex(start, start + step * self.count, step, name=self.name)


def to_arrow(frame: pd.DataFrame) -> tuple[pa.Table, Layout, Rows]:
    """
    Give the table of a frame, and what it takes to get the frame back.

    Raises
    ------
    NotKeptError
        A column is of a dtype that no reply gives, or holds objects that are not JSON.
    """
    names = list(frame.columns)
    if not all(type(name) is str for name in names) or len(set(names)) < len(names):
        raise NotKeptError("its columns are not named by texts that differ")
    bare = frame.copy(deep=False)
    bare.attrs = {}  # pandas copies them, all the way down, with each column that is taken
    encoded = {name: _encoded(name, bare[name]) for name in names}
    layout = Layout(tuple((name, kind) for name, (kind, _) in encoded.items()))
    rows = Rows(len(frame))
    index = frame.index
    if isinstance(index, pd.RangeIndex):
        rows = Rows(len(frame), (index.start, index.step), _name(index.name))
    else:
        levels = [_encoded(_INDEX.format(at), index.get_level_values(at)) for at in range(index.nlevels)]
        kinds = [kind for kind, _ in levels]
        layout = Layout(layout.columns, tuple(zip(map(_name, index.names), kinds, strict=True)))
        encoded |= {_INDEX.format(at): level for at, level in enumerate(levels)}
    if len(encoded) < len(layout.names):
        raise NotKeptError("a column is named like its row labels")
    return pa.table({name: array for name, (_, array) in encoded.items()}), layout, rows


def from_arrow(table: pa.Table, layout: Layout, parts: Sequence[tuple[int, Rows]]) -> list[pd.DataFrame]:
    """
    Give the frames that lie in a table one below the other.

    Parameters
    ----------
    table
        Of frames of one layout.
    layout
        Theirs.
    parts
        In which row of the table each frame begins, and its rows.
    """
    columns: dict[str, Any] = {}
    for name, kind in layout.columns:
        array = _decoded(kind, table.column(name))
        # As a Series, because pandas 3 would take a plain object array of texts for its own text dtype.
        columns[name] = pd.Series(array, dtype=object) if kind in {_JSON, _BYTES} else array
    numbers = pd.RangeIndex(table.num_rows)
    whole = pd.DataFrame(columns, index=numbers, columns=None if columns else [], copy=False)
    index = _index(table, layout)
    frames = []
    for start, rows in parts:
        if not columns:
            frame = pd.DataFrame(index=pd.RangeIndex(rows.count), columns=[])
        else:
            frame = whole.iloc[start : start + rows.count]
            if _WRITES_THROUGH:
                frame = frame.copy()
        frame.index = rows.index if index is None else index[start : start + rows.count]
        frames.append(frame)
    return frames


def holds(table: pa.Table, beside: Sequence[str], texts: Sequence[str]) -> bool:
    """Say whether one of some texts stands anywhere in a table, or in what is written beside it."""
    if any(text in other for text in texts for other in beside):
        return True
    columns = [column for column in table.columns if pa.types.is_large_string(column.type)]
    columns += [column for column in table.columns if pa.types.is_large_binary(column.type)]
    return any(pc.any(pc.match_substring(column, text)).as_py() for text in texts for column in columns)


def _name(name: Any) -> str | None:
    if name is not None and type(name) is not str:
        raise NotKeptError("its row labels are not named by a text")
    return name


def _index(table: pa.Table, layout: Layout) -> pd.Index[Any] | None:
    if layout.index is None:
        return None
    levels: list[pd.Index[Any]] = []
    for at, (name, kind) in enumerate(layout.index):
        array = _decoded(kind, table.column(_INDEX.format(at)))
        levels.append(pd.Index(array, dtype=object if kind in {_JSON, _BYTES} else None, name=name))
    if len(levels) == 1:
        return levels[0]
    several: pd.Index[Any] = pd.MultiIndex.from_arrays(levels, names=[name for name, _ in layout.index])
    return several


def _encoded(name: str, values: pd.Series[Any] | pd.Index[Any]) -> tuple[str, Any]:
    """Give the kind of a column, by which it is read back, and its Arrow array."""
    dtype: Any = values.dtype
    kind = str(dtype)
    if kind == "object":
        return _encoded_objects(name, list(values))
    if isinstance(dtype, pd.StringDtype):
        is_nullable = dtype.na_value is pd.NA
        return f"string[{dtype.storage}]" if is_nullable else kind, pa.array(values.array, type=pa.large_string())
    if kind in _NUMBERS:
        # A float that is not there is a null to others, who would sum a NaN; it comes back as NaN.
        return kind, pa.array(values.to_numpy(), from_pandas=True)
    if kind in _NULLABLE:
        return kind, pa.array(values.array)
    if isinstance(dtype, np.dtype) and dtype.kind == "M":
        times = values.to_numpy()
        return kind, pa.array(times.astype("datetime64[ms]") if kind == "datetime64[s]" else times)
    if isinstance(dtype, pd.DatetimeTZDtype) and dtype.unit != "s":
        return kind, pa.array(values, type=pa.timestamp(dtype.unit, str(dtype.tz)), from_pandas=True)
    raise NotKeptError(f"column {name!r} is of dtype {kind}")


def _encoded_objects(name: str, values: list[Any]) -> tuple[str, Any]:
    kinds = set(map(type, values))
    if bytes in kinds and kinds <= {bytes, type(None)}:
        return _BYTES, pa.array(values, type=pa.large_binary())
    if kinds <= _OF_JSON:
        with suppress(TypeError, ValueError, RecursionError):
            texts = [None if value is None else json.dumps(value) for value in values]
            return _JSON, pa.array(texts, type=pa.large_string())
    raise NotKeptError(f"column {name!r} holds objects that are not JSON")


def _decoded(kind: str, column: pa.ChunkedArray) -> Any:
    if kind == _JSON:
        values = [None if text is None else json.loads(text) for text in column.to_pylist()]
        return np.fromiter(values, dtype=object, count=len(values))
    if kind == _BYTES:
        return np.fromiter(column.to_pylist(), dtype=object, count=len(column))
    dtype: Any = pd.api.types.pandas_dtype(kind)
    if isinstance(dtype, np.dtype):
        array = column.to_numpy().astype(dtype, copy=False)
        return array if array.flags.writeable else array.copy()
    return dtype.__from_arrow__(column)

"""Columns: the JSON values of a column packed into an array without loss, before `dtypes` decides on a dtype."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from jupyter_funcs.core.errors import ReplyTooLargeError
from jupyter_funcs.core.text import distinct

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from jupyter_funcs.core.json_decoding import Values

    Array = np.ndarray[Any, Any]
    Series = pd.Series[Any]

_NULL = type(None)
# Every integer up to this one can be represented exactly as a float.
MAX_EXACT = 2**53
_LEAST_BOUND = 20_000_000
_CELLS_PER_BYTE = 20
# The Python types of the values without null, by kind of column; the first match counts.
_KINDS: dict[str, set[type]] = {
    "null": set(),
    "text": {str},
    "float": {float},
    "int": {int},
    "number": {int, float},
    "bool": {bool},
}
# What stands for null in an array of the kind; those of other kinds hold None.
FILL: dict[str, Any] = {
    "float": np.float64("nan"),
    "int": np.int64(0),
    "bool": np.False_,
}
# Arrays of these kinds can't hold nulls, so a mask does.
_MASKED = {"int", "bool"}


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one column, and a mask of its nulls where the array can't hold them."""

    kind: str
    data: Any
    nulls: Array | None = None

    def __len__(self) -> int:
        return len(self.data)

    @property
    def missing(self) -> Array:
        """The mask of the nulls."""
        if self.nulls is None:
            return np.asarray(pd.isna(self.data))
        return self.nulls

    def to_list(self) -> list[Any]:
        """Return the values as Python objects."""
        return [
            None if null else value
            for value, null in zip(self.data.tolist(), self.missing, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of the same length, before any of them has a dtype."""

    shape: str
    names: list[str]
    columns: list[Column]
    rows: int
    labels: Column | None = None


def check_cells(
    rows: int, columns: int, size: int, characters: int = 0, what: str = "reply"
) -> None:
    """Refuse a table with more cells, or characters of names, than replies of `size` bytes may describe."""
    if rows * columns + characters > max(_LEAST_BOUND, _CELLS_PER_BYTE * size):
        text = f"The {what}'s table would have {rows:,} rows and at least {columns:,} columns, most of them empty."
        raise ReplyTooLargeError(text, "Request less data at a time.")


def packed(values: Sequence[Any]) -> Column:
    """Pack values into a column."""
    if len(values) and type(values[0]) is str and has_arrow():
        # pyarrow raises these for other types; asking for all types takes longer.
        with suppress(TypeError, ValueError):
            return Column("text", _pack_texts(values))

    types = set(map(type, values))
    has_nulls = _NULL in types
    types.discard(_NULL)
    kind = next((kind for kind, own in _KINDS.items() if types <= own), "object")
    if kind == "text":
        return Column(kind, _pack_texts(values))
    if kind not in FILL:
        return Column(kind, objects(values))
    dtype = FILL[kind].dtype
    with suppress(OverflowError):  # an integer beyond 64 bit
        if not has_nulls:
            return Column(kind, np.fromiter(values, dtype, len(values)))
        data = objects(values)
        missing = pd.isna(data)
        data[missing] = FILL[kind]
        return Column(kind, data.astype(dtype), missing)

    return Column("object", objects(values))


def joined(parts: Sequence[Column]) -> Column:
    """Concatenate columns."""
    kind, *others = {part.kind for part in parts} - {"null"} or {"null"}
    if others:
        return packed([*chain.from_iterable(part.to_list() for part in parts)])
    data = [
        part.data if part.kind == kind else nulls(kind, len(part)) for part in parts
    ]
    if kind == "text":
        return Column(kind, join_texts(data))
    missing = None
    if kind in _MASKED:
        missing = np.concatenate([part.missing for part in parts])
    return Column(kind, np.concatenate(data), missing)


def join_texts(parts: Sequence[Any]) -> Any:
    """Concatenate arrays of texts; those of Arrow into one chunk, because many slow down all later work."""
    dtype = parts[0].dtype
    if dtype.storage != "pyarrow":
        return pd.concat(map(pd.Series, parts)).array
    import pyarrow as pa

    chunks = [chunk for part in parts for chunk in part.__arrow_array__().chunks]
    if chunks:
        return dtype.__from_arrow__(pa.concat_arrays(chunks))
    return parts[0]


def nulls(kind: str, rows: int) -> Any:
    """Return the array of a column with nothing but nulls."""
    values = np.full(rows, FILL.get(kind))
    if kind == "text":
        return pd.array(values, dtype=texts_dtype())
    return values


def spread(column: Column, places: Sequence[int] | Array, rows: int) -> Column:
    """Return a column of many rows, with the values of `column` at these places and null elsewhere."""
    if isinstance(places, range):
        return column
    if column.kind == "text":
        order = np.full(rows, -1)
        order[places] = np.arange(len(column))
        return Column("text", column.data.take(order, allow_fill=True))

    data = nulls(column.kind, rows)
    data[places] = column.data
    if column.kind not in _MASKED:
        return Column(column.kind, data)
    missing = np.ones(rows, dtype=bool)
    missing[places] = column.missing
    return Column(column.kind, data, missing)


def frame_from(arrays: Values, index: pd.Index[Any]) -> pd.DataFrame:
    """Return a frame of arrays with their own dtypes; pandas 3 would infer another from objects that are texts."""
    columns = {
        name: pd.Series(array, index, object) if array.dtype == object else array
        for name, array in arrays.items()
    }
    return pd.DataFrame(columns, index, None if columns else [], copy=False)


def are_objects(values: Collection[Any]) -> bool:
    """Return whether all values are JSON objects or null, and at least one object has a key."""
    return set(map(type, values)) - {_NULL} == {dict} and any(values)


def objects(values: Sequence[Any]) -> Array:
    """Return an array of Python objects."""
    return np.fromiter(values, dtype=object, count=len(values))


def mapped(convert: Callable[[Any], Any], values: Iterable[Any]) -> list[Any]:
    """Return converted values; null stays null."""
    return [None if value is None else convert(value) for value in values]


def _pack_texts(values: Sequence[Any]) -> Any:
    if not has_arrow():
        return pd.array(objects(values), dtype=texts_dtype())
    import pyarrow as pa

    return texts_dtype().__from_arrow__(pa.array(values, type=pa.large_string()))


@cache
def texts_dtype() -> Any:
    """Return the dtype of text, stored by pyarrow if that is installed."""
    try:
        return pd.StringDtype("pyarrow")
    except ImportError:
        return pd.StringDtype("python")


def has_arrow() -> bool:
    """Return whether pyarrow is installed, whose arrays then hold columns of text."""
    return bool(texts_dtype().storage == "pyarrow")


def without_repeated_labels(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame without the row labels that a column of the same name has as well."""
    if not frame.columns.is_unique:
        return frame
    repeated = [
        level
        for level, name in enumerate(frame.index.names)
        if name in frame.columns
        and frame.index.get_level_values(level).equals(pd.Index(frame[name]))
    ]
    if repeated:
        return frame.reset_index(repeated, drop=True)
    return frame


def labelled(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose row labels, unless they are row numbers, are its first columns."""
    frame = without_repeated_labels(frame)
    if isinstance(frame.index, pd.RangeIndex) and frame.index.name is None:
        return frame
    return frame.reset_index(allow_duplicates=True)


def named_by_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose columns are named by texts, of which none are equal."""
    names = [*map(label_text, frame.columns)]
    return frame.set_axis([*distinct(names, "{}.{}", 1)], axis=1)


def label_text(label: Any) -> str:
    """Return the name of a column as text; one of several levels with blanks between them."""
    if isinstance(label, tuple):
        return " ".join(map(str, label))
    return str(label)

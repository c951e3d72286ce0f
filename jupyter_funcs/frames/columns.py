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

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    Array = np.ndarray[Any, Any]

_NULL = type(None)
# Every integer up to this one can be represented exactly as a float.
MAX_EXACT = 2**53
_LEAST_BOUND, _CELLS_PER_BYTE = 20_000_000, 20
# With a larger share of nulls, the other values are packed alone.
_MOSTLY = 3 / 4
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
        if self.kind == "null":
            return np.ones(len(self), dtype=bool)
        if self.kind == "float":
            return np.asarray(np.isnan(self.data))
        if self.kind == "text" and has_arrow():
            return np.asarray(self.data.is_null())
        if self.kind in {"text", "number", "object"}:
            return _are_none(self.data)
        return np.zeros(len(self), dtype=bool) if self.nulls is None else self.nulls

    def to_list(self) -> list[Any]:
        """Return the values as Python objects."""
        if self.kind == "text":
            return list(self.data.to_pylist() if has_arrow() else self.data)
        if self.kind in {"number", "object"}:
            return list(self.data)
        return [None if null else value for value, null in zip(self.data.tolist(), self.missing, strict=True)]


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of the same length, before any of them has a dtype."""

    shape: str
    names: list[str]
    columns: list[Column]
    rows: int
    labels: Column | None = None


def check_cells(rows: int, columns: int, size: int, characters: int = 0, what: str = "reply") -> None:
    """Refuse a table with more cells, or characters of names, than replies of `size` bytes may describe."""
    if rows * columns + characters > max(_LEAST_BOUND, _CELLS_PER_BYTE * size):
        text = f"The {what}'s table would have {rows:,} rows and at least {columns:,} columns, most of them empty."
        raise ReplyTooLargeError(text, "Request less data at a time.")


def packed(values: Sequence[Any]) -> Column:
    """Pack values into a column."""
    if len(values) and type(values[0]) is str and has_arrow():
        with suppress(TypeError, ValueError):  # which pyarrow raises for other types; asking for all types takes longer
            return Column("text", _pack_texts(values))
    if len(values) and values[0] is None and len(values) > values.count(None) > _MOSTLY * len(values):
        array = objects(values)
        places = np.flatnonzero(pd.notna(array))
        return spread(packed(array[places].tolist()), places, len(values))
    kinds = set(map(type, values))
    has_nulls = _NULL in kinds
    kinds.discard(_NULL)
    if has_nulls and kinds == {int}:  # in one pass, where floats hold all of them
        with suppress(OverflowError):
            floats = pack_floats(values)
            missing = np.isnan(floats)
            if not (np.abs(floats) >= MAX_EXACT).any():
                return Column("int", np.where(missing, 0, floats).astype(np.int64), missing)
    for types, kind, pack in _KINDS:
        if kinds <= types:
            try:
                data = pack(values)
            except OverflowError:  # an integer beyond 64 bit
                break
            nulls = _are_none(values) if has_nulls and kind in _MASKED else None
            return Column(kind, data, nulls)
    return Column("object", objects(values))


def joined(parts: Sequence[Column]) -> Column:
    """Concatenate columns."""
    kinds = {part.kind for part in parts} - {"null"}
    if len(kinds) > 1:
        return packed([*chain.from_iterable(part.to_list() for part in parts)])
    kind = kinds.pop() if kinds else "null"
    data = [part.data if part.kind == kind else _nulls(kind, len(part)) for part in parts]
    nulls = np.concatenate([part.missing for part in parts]) if kind in _MASKED else None
    if kind == "text" and has_arrow():
        import pyarrow as pa

        return Column(kind, pa.concat_arrays(data))
    return Column(kind, np.concatenate(data), nulls if nulls is not None and nulls.any() else None)


def _nulls(kind: str, rows: int) -> Any:
    """Return the array of a column with nothing but nulls."""
    if kind == "text" and has_arrow():
        import pyarrow as pa

        return pa.nulls(rows, pa.large_string())
    if kind in {"text", "number", "object"}:
        return np.full(rows, None)
    return np.full(rows, np.nan) if kind == "float" else np.zeros(rows, dtype=np.int64 if kind == "int" else bool)


def spread(column: Column, places: Sequence[int] | Array, rows: int) -> Column:
    """Return a column of many rows, with the values of `column` at these places and null elsewhere."""
    if isinstance(places, range):
        return column
    missing = np.ones(rows, dtype=bool)
    if column.kind == "text" and has_arrow():
        import pyarrow as pa

        order = np.zeros(rows, dtype=np.int64)
        order[places], missing[places] = np.arange(len(places)), False
        return Column("text", column.data.take(pa.array(order, mask=missing)))
    data = _nulls(column.kind, rows)
    data[places] = column.data
    if column.kind in _MASKED:
        missing[places] = column.missing
        return Column(column.kind, data, missing if missing.any() else None)
    return Column(column.kind, data)


def are_objects(values: Collection[Any]) -> bool:
    """Return whether all values are JSON objects or null, and at least one object has a key."""
    return set(map(type, values)) - {_NULL} == {dict} and any(values)


def _are_none(values: Sequence[Any]) -> Array:
    return np.array([value is None for value in values], dtype=bool)


def objects(values: Sequence[Any]) -> Array:
    """Return an array of Python objects."""
    return np.fromiter(values, dtype=object, count=len(values))


def _pack_texts(values: Sequence[Any]) -> Any:
    if not has_arrow():
        return objects(values)
    import pyarrow as pa

    return pa.array(values, type=pa.large_string())


def _pack_integers(values: Sequence[Any]) -> Array:
    try:
        return np.fromiter(values, dtype=np.int64, count=len(values))
    except TypeError:  # there is a null
        return np.array([value or 0 for value in values], dtype=np.int64)


def pack_floats(values: Sequence[Any]) -> Array:
    """Return an array of floats; null becomes NaN."""
    try:
        return np.fromiter(values, dtype=np.float64, count=len(values))
    except TypeError:  # there is a null
        if has_arrow():
            import pyarrow as pa

            with suppress(pa.ArrowInvalid):  # a large integer
                return np.asarray(pa.array(values, type=pa.float64()).to_numpy(zero_copy_only=False))
        return np.array(values, dtype=np.float64)


def _pack_bools(values: Sequence[Any]) -> Array:
    return np.fromiter(map(bool, values), dtype=bool, count=len(values))


# The Python types of the values without null, the kind of column, and the packing function. The first match counts.
_KINDS: list[tuple[set[type], str, Callable[[Sequence[Any]], Any]]] = [
    (set(), "null", lambda values: _nulls("null", len(values))),
    ({str}, "text", _pack_texts),
    ({float}, "float", pack_floats),
    ({int}, "int", _pack_integers),
    ({int, float}, "number", objects),
    ({bool}, "bool", _pack_bools),
]


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

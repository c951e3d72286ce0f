"""
The values of one column, as JSON gave them, packed so that each can be had back; and a table of such columns.

`packed` makes a `Column` of values (null is None), and `joined` one of several; `dtypes` decides what they become.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    Array = np.ndarray[Any, Any]

_NULL = type(None)
# The kinds whose arrays have no place for nulls.
_NULLS_BESIDE = {"int", "bool"}


@dataclass(frozen=True, slots=True)
class Column:
    """
    The values of one column.

    Attributes
    ----------
    kind
        What every value that is not null is, of `_KINDS`; ``object`` where they are of several or of another.
    data
        A numpy array, or an Arrow array of text where pyarrow is installed.
    nulls
        Where the nulls of integers and bools are, which have no place for them; None where there are none.
    """

    kind: str
    data: Any
    nulls: Array | None = None

    def __len__(self) -> int:
        """Give the number of rows."""
        return len(self.data)

    @property
    def missing(self) -> Array:
        """Where the nulls are."""
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
        """Give the values as Python has them."""
        if self.kind == "text":
            return list(self.data.to_pylist() if has_arrow() else self.data)
        if self.kind in {"number", "object"}:
            return list(self.data)
        return [None if null else value for value, null in zip(self.data.tolist(), self.missing, strict=True)]


@dataclass(frozen=True, slots=True)
class Table:
    """
    Columns of the same length, before any of them has a dtype.

    Attributes
    ----------
    shape
        The shape that they had in the reply, as `frame.to_frame` names it.
    names
        One a column, not told apart yet.
    columns
        The columns.
    labels
        One a row; None where the rows are numbered from 0.
    rows
        How many there are: a table may have no columns.
    """

    shape: str
    names: list[str]
    columns: list[Column]
    rows: int
    labels: Column | None = None


def packed(values: Sequence[Any], every: type | None = None) -> Column:
    """Give the column of these values; `every` is the type that each has, where it is known."""
    kinds = {every} if every else set(map(type, values))
    has_nulls = _NULL in kinds
    kinds.discard(_NULL)
    for types, kind, pack in _KINDS:
        if kinds <= types:
            try:
                data = pack(values)
            except OverflowError:  # an integer beyond 64 bit
                break
            nulls = _are_none(values) if has_nulls and kind in _NULLS_BESIDE else None
            return Column(kind, data, nulls)
    return Column("object", objects(values))


def joined(parts: Sequence[Column]) -> Column:
    """Give the column of all these, one below the other."""
    kinds = {part.kind for part in parts} - {"null"}
    if len(kinds) > 1:
        return packed([*chain.from_iterable(part.to_list() for part in parts)])
    kind = kinds.pop() if kinds else "null"
    data = [part.data if part.kind == kind else _PACK[kind](part.to_list()) for part in parts]
    nulls = np.concatenate([part.missing for part in parts]) if kind in _NULLS_BESIDE else None
    return Column(kind, _concatenated(kind, data), nulls if nulls is not None and nulls.any() else None)


def _concatenated(kind: str, data: list[Any]) -> Any:
    if kind == "text" and has_arrow():
        import pyarrow as pa  # noqa: PLC0415  # an extra

        return pa.concat_arrays(data)
    return np.concatenate(data)


def are_objects(values: Collection[Any]) -> bool:
    """Say whether every value that is not null is a JSON object, and one of them at least has a key."""
    return set(map(type, values)) - {_NULL} == {dict} and any(values)


def _are_none(values: Sequence[Any]) -> Array:
    return np.fromiter((value is None for value in values), dtype=bool, count=len(values))


def objects(values: Sequence[Any]) -> Array:
    """Give an array of the values as Python has them."""
    return np.fromiter(values, dtype=object, count=len(values))


def _pack_texts(values: Sequence[Any]) -> Any:
    if not has_arrow():
        return objects(values)
    import pyarrow as pa  # noqa: PLC0415  # an extra

    return pa.array(values, type=pa.large_string())


def _pack_integers(values: Sequence[Any]) -> Array:
    try:
        return np.fromiter(values, dtype=np.int64, count=len(values))
    except TypeError:  # a null is among them
        return np.array([value or 0 for value in values], dtype=np.int64)


def pack_floats(values: Sequence[Any]) -> Array:
    """Give an array of floats; null is NaN."""
    try:
        return np.fromiter(values, dtype=np.float64, count=len(values))
    except TypeError:  # a null is among them, which becomes NaN
        return np.array(values, dtype=np.float64)


def _pack_bools(values: Sequence[Any]) -> Array:
    return np.fromiter(map(bool, values), dtype=bool, count=len(values))


# The types that the values have in Python, null apart, the kind of their column, and how they are packed; the first row
# that holds them all.
_KINDS: list[tuple[set[type], str, Callable[[Sequence[Any]], Any]]] = [
    (set(), "null", _pack_bools),
    ({str}, "text", _pack_texts),
    ({float}, "float", pack_floats),
    ({int}, "int", _pack_integers),
    ({int, float}, "number", objects),
    ({bool}, "bool", _pack_bools),
]
_PACK = {kind: pack for _, kind, pack in _KINDS} | {"object": objects}


@cache
def texts_dtype() -> Any:
    """Give the one dtype of text, kept by pyarrow where it is there."""
    try:
        return pd.StringDtype("pyarrow")
    except ImportError:
        return pd.StringDtype("python")


def has_arrow() -> bool:
    """Say whether pyarrow is there; then columns of text are its arrays."""
    return bool(texts_dtype().storage == "pyarrow")

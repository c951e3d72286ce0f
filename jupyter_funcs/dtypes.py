"""
Values of one column -> an array of the dtype that keeps every one of them.

Each builder takes the whole column, null as None, and raises ValueError or OverflowError rather than change a value.
A column that nobody declared gets the dtype of the first builder that takes it; `to_frame` lists them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from jupyter_funcs.errors import ProtocolError
from jupyter_funcs.text import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def inferred(values: Sequence[Any]) -> Any:
    """Give the array for values of which nothing was declared; an object array where no dtype keeps them all."""
    kinds = set(map(type, values)) - {type(None)}
    try:
        if kinds == {str}:
            times = _times(values)
            return _texts(values) if times is None else times
        if kinds == {int}:
            return _integers(values, "int64", nullable=True)
        if kinds == {bool}:
            return _bools(values, nullable=True)
        if kinds and kinds <= {int, float}:
            return _floats(values)
    except (ValueError, OverflowError):
        pass  # an integer that this dtype would change
    return _objects(values)


def _objects(values: Sequence[Any]) -> Any:
    return np.fromiter(values, dtype=object, count=len(values))


def _nulls(values: Sequence[Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.fromiter((value is None for value in values), dtype=bool, count=len(values))


def _only(kinds: set[type], values: Sequence[Any]) -> None:
    if not set(map(type, values)) <= kinds | {type(None)}:
        raise ValueError


def _texts(values: Sequence[Any]) -> Any:
    _only({str}, values)
    return pd.array(_objects(values), dtype=pd.StringDtype())


def _integers(values: Sequence[Any], dtype: str, *, nullable: bool) -> Any:
    _only({int, float}, values)
    if any(isinstance(value, float) and not value.is_integer() for value in values):
        raise ValueError
    array = np.array([value or 0 for value in values], dtype=object).astype(np.int64)
    limits = np.iinfo(dtype)
    if len(array) and not limits.min <= array.min() <= array.max() <= limits.max:
        raise OverflowError
    nulls = _nulls(values)
    numbers = array.astype(dtype)
    return pd.arrays.IntegerArray(numbers, nulls) if nullable or nulls.any() else numbers


def _bools(values: Sequence[Any], *, nullable: bool) -> Any:
    _only({bool}, values)
    truths = np.fromiter(map(bool, values), dtype=bool, count=len(values))
    nulls = _nulls(values)
    return pd.arrays.BooleanArray(truths, nulls) if nullable or nulls.any() else truths


def _floats(values: Sequence[Any]) -> Any:
    _only({int, float}, values)
    if any(isinstance(value, int) and float(value) != value for value in values):
        raise ValueError
    return np.array(values, dtype=np.float64)  # None becomes NaN


_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.(?P<decimals>[0-9]{1,9}))?)?"
    r"(?P<zone>Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?)?"
)
# The years that Python's own datetime has, and so every row that a frame has to show.
_YEARS = np.datetime64("0001-01-01"), np.datetime64("10000-01-01")
# What 64 bit of nanoseconds hold, less a day at either end for the offset.
_YEARS_NS = np.datetime64("1677-09-23"), np.datetime64("2262-04-10")


def _times(values: Sequence[str | None]) -> pd.DatetimeIndex | None:
    """None unless every text is a strict ISO-8601 date or datetime, and all or none have an offset."""
    naive: list[str] = []
    zones: list[str] = []
    decimals = 0
    for value in values:
        if value is None:
            naive.append("NaT")
            continue
        if (match := _ISO.fullmatch(value)) is None:
            return None
        zone = match["zone"] or ""
        naive.append(value.removesuffix(zone))
        zones.append(zone)
        decimals = max(decimals, len(match["decimals"] or ""))
    minutes = {zone: _minutes(zone) for zone in set(zones) if zone}
    if minutes and "" in zones:
        return None
    limits = _YEARS_NS if decimals > 6 else _YEARS
    try:
        times = np.array(naive, dtype="datetime64[us]")
    except ValueError:  # a day that no calendar has
        return None
    if _beyond(times, *limits):
        return None
    if decimals > 6:
        times = np.array(naive, dtype="datetime64[ns]")
    if not minutes:
        return pd.DatetimeIndex(times)
    times[~np.isnat(times)] -= np.array([minutes[zone] for zone in zones], dtype="timedelta64[m]")
    return None if _beyond(times, *limits) else pd.DatetimeIndex(times).tz_localize("UTC")


def _minutes(zone: str) -> int:
    if zone == "Z":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[4:])
    return -minutes if zone[0] == "-" else minutes


def _beyond(times: np.ndarray[Any, Any], first: np.datetime64, end: np.datetime64) -> bool:
    return bool(((times < first) | (times >= end)).any())


@dataclass(frozen=True)
class Declared:
    """What is declared of one column: a key of `DECLARED`, and whether nulls may stand in it (None: not said)."""

    kind: str
    nullable: bool | None = None

    def array(self, name: str, values: Sequence[Any]) -> Any:
        """Give the array of the declared dtype, or raise a `ProtocolError` that names the column and the value."""
        if self.nullable is False and None in values:
            raise ProtocolError(
                f"Column {quote(name)} is declared as never null and has a null in row {values.index(None):,}.",
                f"To read it all the same, give schema={{{name!r}: {self.kind!r}}}.",
            )
        try:
            return self.built(values)
        except (ValueError, OverflowError) as error:
            wrong = next((quote(value) for value in values if not self.fits(value)), "values of several kinds")
            raise ProtocolError(
                f"Column {quote(name)} is declared as {self.kind} and holds {wrong}.",
                f"To read it as another type, give schema={{{name!r}: type}}.",
            ) from error

    def built(self, values: Sequence[Any]) -> Any:
        return DECLARED[self.kind](values, bool(self.nullable))

    def fits(self, value: Any) -> bool:
        try:
            self.built([value])
        except (ValueError, OverflowError):
            return False
        return True


def _moments(values: Sequence[Any]) -> np.ndarray[Any, Any]:
    if all(value is None or type(value) is int for value in values):
        times = np.array(values, dtype="datetime64[ms]")
        if _beyond(times, *_YEARS):
            raise OverflowError
        return times.astype("datetime64[us]")
    _only({str}, values)
    if (index := _times(values)) is None:
        raise ValueError
    # What np.datetime64 and date have no place for, an offset, is applied.
    return index.tz_localize(None).to_numpy()


def _days(values: Sequence[Any]) -> Any:
    times = _moments(values)
    days = times.astype("datetime64[D]")
    if (days != times)[~np.isnat(times)].any():
        raise ValueError
    return days.astype("datetime64[us]")


def _nanoseconds(values: Sequence[Any]) -> Any:
    times = _moments(values)
    if _beyond(times, *_YEARS_NS):
        raise OverflowError
    return times.astype("datetime64[ns]")


def _bytes(values: Sequence[Any]) -> Any:
    _only({str}, values)
    return _objects([None if value is None else value.encode() for value in values])


DECLARED: dict[str, Callable[[Sequence[Any], bool], Any]] = {
    "int32": lambda values, nullable: _integers(values, "int32", nullable=nullable),
    "int64": lambda values, nullable: _integers(values, "int64", nullable=nullable),
    "float64": lambda values, _: _floats(values),
    "bool": lambda values, nullable: _bools(values, nullable=nullable),
    "str": lambda values, _: _texts(values),
    "bytes": lambda values, _: _bytes(values),
    "datetime.date": lambda values, _: _days(values),
    "np.datetime64[ns]": lambda values, _: _nanoseconds(values),
}

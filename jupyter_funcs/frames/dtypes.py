"""Dtypes: the array of a column, inferred from its values or as declared; a conversion that loses a value raises."""

from __future__ import annotations

import datetime as dt
import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from jupyter_funcs.core.errors import ArgumentError, ProtocolError
from jupyter_funcs.core.text import did_you_mean, listed, quote
from jupyter_funcs.frames.columns import Column, nulls, objects, packed, texts_dtype

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_funcs.frames.columns import Array

_NULL = type(None)
_keeps_offsets: ContextVar[bool] = ContextVar("_keeps_offsets", default=False)
_NULLABLE = {"int": pd.arrays.IntegerArray, "bool": pd.arrays.BooleanArray}


def inferred(column: Column) -> Any:
    """Return the array of an undeclared column."""
    if column.kind == "text":
        times = _times(column)
        if times is None:
            return _texts(column)
        return _datetimes(*times)

    if column.kind == "number":
        # An integer that no float represents exactly.
        with suppress(ValueError, OverflowError):
            return _floats(column)

    if column.kind in _NULLABLE and column.missing.any():
        return _NULLABLE[column.kind](column.data, column.missing)
    return column.data


def _texts(column: Column, **_: object) -> Any:
    if column.kind not in {"text", "null"}:
        raise ValueError
    if column.kind == "null":
        return nulls("text", len(column))
    return column.data


def _whole(column: Column) -> tuple[Array, Array]:
    """Return a column as 64-bit integers, 0 for null, and the mask of its nulls."""
    if column.kind == "int":
        return column.data, column.missing
    values = [0 if value is None else value for value in column.to_list()]
    if not all(
        type(value) is int or (type(value) is float and value.is_integer())
        for value in values
    ):
        raise ValueError

    return np.fromiter(
        map(int, values), dtype=np.int64, count=len(values)
    ), column.missing


def _integers(dtype: str, column: Column, *, nullable: bool, **_: object) -> Any:
    whole, missing = _whole(column)
    numbers = whole.astype(dtype, copy=False)
    if (numbers != whole).any():
        raise OverflowError
    if nullable or missing.any():
        return pd.arrays.IntegerArray(numbers, missing)
    return numbers


def _bools(column: Column, *, nullable: bool, **_: object) -> Any:
    if column.kind not in {"bool", "null"}:
        raise ValueError
    missing = column.missing
    data = column.data.astype(bool)
    if nullable or missing.any():
        return pd.arrays.BooleanArray(data, missing)
    return data


def _floats(column: Column, **_: object) -> Any:
    if column.kind == "float":
        return column.data
    values = column.to_list()
    if not set(map(type, values)) <= {int, float, _NULL}:
        raise ValueError
    if any(type(value) is int and float(value) != value for value in values):
        raise ValueError
    return objects(values).astype(float)


def _decimals(column: Column, **_: object) -> Array:
    """Return exact decimals, from text or from the digits of numbers."""
    values = column.to_list()
    if not set(map(type, values)) <= {str, int, float, Decimal, _NULL}:
        raise ValueError
    try:
        return objects(
            [None if value is None else Decimal(str(value)) for value in values]
        )
    except InvalidOperation:
        raise ValueError from None


def _categories(column: Column, *, options: Sequence[str], **_: object) -> Any:
    texts = _texts(column)
    if not options:
        return pd.Categorical(texts)
    categories = pd.Index(pd.array(options, texts_dtype()))
    codes = categories.get_indexer(pd.Index(texts))
    if ((codes < 0) > column.missing).any():
        raise ValueError
    return pd.Categorical.from_codes(codes, categories)


_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.(?P<decimals>[0-9]{1,9}))?)?"
    r"(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
# The range of Python's datetime, which displays the rows.
_YEARS = np.datetime64("0001-01-01"), np.datetime64("10000-01-01")
_AS_ZERO = bytes.maketrans(b"123456789", b"0" * 9)
# The range of 64-bit nanoseconds, in whole seconds.
_YEARS_NS = np.datetime64("1677-09-21T00:12:44"), np.datetime64("2262-04-11T23:47:16")


@contextmanager
def keeping_offsets(*, is_on: bool) -> Iterator[None]:
    """Give a column whose datetimes all have the same offset the zone of that offset, rather than UTC."""
    token = _keeps_offsets.set(is_on)
    try:
        yield
    finally:
        _keeps_offsets.reset(token)


def _times(column: Column) -> tuple[Array, dt.tzinfo | None] | None:
    """Return datetimes, in UTC if they have a zone, and the zone; ``None`` unless all are strict ISO-8601."""
    # The first value rules out most columns of text.
    head = column.data[:16].dropna()
    if len(head) and _ISO.fullmatch(head[0]) is None:
        return None
    # Dates repeat: each one is parsed once.
    codes, texts = column.data.factorize()
    parsed = _parsed(texts.tolist())
    if parsed is None:
        return None
    times, zone = parsed
    # The code of null is -1. NaT has the unit of the others, because numpy 2.5 deprecates one without.
    return np.append(times, np.array("NaT", dtype=times.dtype))[codes], zone


def _parsed(texts: Sequence[str]) -> tuple[Array, dt.tzinfo | None] | None:
    """Return the datetimes of different texts, as `_times` does."""
    form = _form(texts)
    if form is None:
        return None
    unit, zone = form
    offsets = np.array(0, dtype="timedelta64[m]")
    try:
        if zone:
            texts = [text.replace("Z", "+00:00") for text in texts]
            offsets, zone = _offsets([text[-6:] for text in texts])
            texts = [text[:-6] for text in texts]
        times = np.array(texts, dtype="datetime64[us]")
    except ValueError:  # not a calendar day, or not a time of day
        return None

    limits = _YEARS if unit == "us" else _YEARS_NS
    if _beyond(times - offsets, *limits) or (unit == "ns" and _beyond(times, *limits)):
        return None
    return np.array(texts, dtype=f"datetime64[{unit}]") - offsets, zone


def _form(texts: Sequence[str]) -> tuple[str, dt.tzinfo | None] | None:
    """Return the unit of datetimes, and UTC if they have offsets; ``None`` unless all have or none."""
    # Their patterns are few: the texts with 0 for each digit.
    patterns = set(
        "\n".join(texts)
        .encode("ascii", "replace")
        .translate(_AS_ZERO)
        .decode()
        .split("\n")
    )
    matches = [match for match in map(_ISO.fullmatch, patterns) if match]
    have_offsets = {match["zone"] is not None for match in matches}
    if len(matches) < len(patterns) or len(have_offsets) > 1:
        return None
    is_fine = any(len(match["decimals"] or "") > 6 for match in matches)
    unit = "ns" if is_fine else "us"
    return unit, dt.UTC if have_offsets.pop() else None


def _offsets(ends: list[str]) -> tuple[Array, dt.tzinfo | None]:
    """Return how far texts such as +01:00 are ahead of UTC, and the zone to show the times in."""
    zones = {end: dt.datetime.strptime(end, "%z").tzinfo for end in set(ends)}
    ahead = {end: zone.utcoffset(None) for end, zone in zones.items() if zone}
    zone: dt.tzinfo | None = dt.UTC
    if len(zones) == 1 and _keeps_offsets.get():
        [zone] = zones.values()
    return np.array([ahead[end] for end in ends], dtype="timedelta64[m]"), zone


def _beyond(times: Array, first: np.datetime64, end: np.datetime64) -> bool:
    return bool(((times < first) | (times >= end)).any())


@dataclass(frozen=True)
class Declared:
    """The declared type of a column, a key of `DECLARED`, and whether it may contain nulls (``None``: not declared)."""

    kind: str
    nullable: bool | None = None
    options: tuple[str, ...] = ()

    def array(self, name: str, column: Column) -> Any:
        """Return the array of the declared dtype, or raise a `ProtocolError` with column, row and value."""
        if self.nullable is False and (missing := column.missing).any():
            raise ProtocolError(
                f"Column {quote(name)} is declared as not nullable but contains a null in row {missing.argmax():,}.",
                f"To read it anyway, pass schema={{{name!r}: {self.kind!r}}}.",
            )

        try:
            return self.built(column)
        except (ValueError, OverflowError) as error:
            values = column.to_list()
            # The first row that does not fit, by bisection.
            row = bisect_left(
                range(len(values)),
                x=True,
                key=lambda at: not self.fits(values[: at + 1]),
            )
            mixed = ""
            if self.fits([values[row]]):
                mixed = ", which does not match the rows above"
            text = f"Column {quote(name)} is declared as {self.kind} but contains {quote(values[row])}"
            hint = f"To read it as it is, pass schema={{{name!r}: 'any'}}."
            raise ProtocolError(f"{text} in row {row:,}{mixed}.", hint) from error

    def built(self, column: Column) -> Any:
        return DECLARED[self.kind](
            column, nullable=bool(self.nullable), options=self.options
        )

    def fits(self, values: Sequence[Any]) -> bool:
        try:
            self.built(packed(values))
        except (ValueError, OverflowError):
            return False
        return True


@dataclass(frozen=True)
class Listed(Declared):
    """The type of a column as a catalog declares it, which replies may contradict."""

    is_required: bool = False

    def array(self, name: str, column: Column) -> Any:  # noqa: ARG002  # for errors, of which there are none
        """Return the array of the declared dtype, or nothing if a value contradicts it."""
        is_time = self.kind in _TIMES
        if column.kind == "time":  # of Arrow
            return column.data if is_time or self.kind == "any" else None
        # A number isn't a count of milliseconds here.
        if is_time and column.kind not in {
            "text",
            "null",
        }:
            return None

        # RFC 3339 requires an offset.
        if self.kind == "datetime" and column.kind == "null":
            return _datetimes(np.full(len(column), "NaT", "datetime64[us]"), dt.UTC)
        try:
            return self.built(column)
        except OverflowError:  # an integer of more than 64 bits
            return inferred(column)
        except ValueError:
            return None


def _moments(unit: str, counted: str, column: Column, **_: object) -> Array:
    """Return datetimes in a unit, without offset, from ISO-8601 text or from counts since 1970."""
    if column.kind == "text":
        parsed = _times(column)
        if parsed is None:
            raise ValueError
        times = parsed[0]
    else:
        counts, missing = _whole(column)
        times = counts.astype(f"datetime64[{counted}]")
        if np.isnat(times).any():  # the least integer
            raise OverflowError
        times[missing] = "NaT"

    # Nanoseconds can't be out of range.
    if times.dtype != "datetime64[ns]" and _beyond(
        times, *(_YEARS_NS if unit == "ns" else _YEARS)
    ):
        raise OverflowError

    moments: Array = times.astype(f"datetime64[{unit}]")
    if (moments != times)[~np.isnat(times)].any():
        raise ValueError
    return moments


def _datetimes(times: Array, zone: dt.tzinfo | None) -> Any:
    if zone is None:
        return times
    index = pd.DatetimeIndex(times).tz_localize("UTC")
    return (index.tz_convert(zone) if zone != dt.UTC else index).array


def _as_read(column: Column, **_: object) -> Any:
    times = _times(column) if column.kind == "text" else None
    if times is None:
        return _moments("us", "ms", column)
    return _datetimes(*times)


def _bytes(column: Column, **_: object) -> Any:
    if column.kind not in {"text", "null"}:
        raise ValueError
    return objects(
        [None if value is None else value.encode() for value in column.to_list()]
    )


_TIMES = {"datetime", "datetime.date"}
# Names as services write them, then pandas names. Counts of time are in milliseconds for the former, as in
# pandas' JSON, and in the unit of the name for the latter.
DECLARED: dict[str, Callable[..., Any]] = {
    "int32": partial(_integers, "int32"),
    "int64": partial(_integers, "int64"),
    "float64": _floats,
    "bool": _bools,
    "str": _texts,
    "bytes": _bytes,
    "datetime.date": lambda column, **_: _moments("D", "ms", column).astype(
        "datetime64[us]"
    ),
    "np.datetime64[ns]": partial(_moments, "ns", "ms"),
    "datetime": _as_read,
    "Int32": lambda column, **_: _integers("int32", column, nullable=True),
    "Int64": lambda column, **_: _integers("int64", column, nullable=True),
    "boolean": lambda column, **_: _bools(column, nullable=True),
    "category": _categories,
    "decimal": _decimals,
    "string": _texts,
    **{
        f"datetime64[{unit}]": partial(_moments, unit, unit)
        for unit in ("s", "ms", "us", "ns")
    },
    "any": lambda column, **_: inferred(column),
}


def checked(schema: Any) -> dict[str, Declared]:
    """Return the declared columns of a caller's schema; without one, none."""
    if schema is None:
        return {}
    if not isinstance(schema, Mapping) or not all(
        isinstance(part, str) for pair in schema.items() for part in pair
    ):
        raise ArgumentError(
            "schema must map column names to type names.",
            'For example {"Date": "datetime64[ms]"}.',
        )

    for name, kind in schema.items():
        if kind not in DECLARED:
            raise ArgumentError(
                f"schema has an unknown type {quote(kind)} for column {quote(name)}.",
                f"Types are {listed(DECLARED)}. {did_you_mean(kind, DECLARED)}".strip(),
            )

    return {name: Declared(kind) for name, kind in schema.items()}

"""The JSON that leaves the service: exact, without NaN, and of every type that data libraries put into a table."""

from __future__ import annotations

from collections.abc import Mapping
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import msgspec

from .words import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

SCALAR = "Result"
"""The column of values that have no name (SERVICE.md 2)."""

# Decimals know more than JSON does.
_NO_NUMBERS = (b"NaN", b"Infinity")


class ResultError(Exception):
    """A result that cannot leave the service; says in one line which column and what it holds."""


def encoded(records: Any) -> bytes:
    """
    Give the JSON of a list of records or of a scalar.

    Dates leave as ``YYYY-MM-DD``, times in ISO 8601, decimals digit by digit, bytes in base64, NaN and infinities as
    null.

    Raises
    ------
    ResultError
        A value is of no type that JSON can carry.
    """
    try:
        found = _ENCODER.encode(records)
    except (TypeError, ValueError, RecursionError) as error:
        raise _culprit(records, error) from error
    # The words may stand in texts too; only the numbers are replaced.
    return _ENCODER.encode(_numbers_only(records)) if any(word in found for word in _NO_NUMBERS) else found


def _numbers_only(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _numbers_only(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_numbers_only(each) for each in value]
    return None if hasattr(value, "is_finite") and not value.is_finite() else value


def _culprit(records: Any, error: Exception) -> ResultError:
    """Find the column that cannot be encoded."""
    for number, record in enumerate(records if isinstance(records, list) else [{SCALAR: records}], 1):
        for name, value in record.items():
            try:
                _ENCODER.encode({name: value})
            except (TypeError, ValueError, RecursionError) as of_one:
                what = "text that is no Unicode" if isinstance(of_one, UnicodeError) else type(value).__name__
                return ResultError(f"Column {quoted(name)} holds {what} in row {number}, which JSON cannot carry.")
    return ResultError(f"The result cannot be written as JSON: {error}.")


def _plain(value: Any) -> Any:
    """Give a value of a type that the encoder knows."""
    for kind in type(value).__mro__:
        plain = _PLAIN.get((kind.__module__.partition(".")[0], kind.__name__))
        if plain is not None:
            return plain(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"Objects of type {type(value).__name__} are no JSON.")


def _nothing(_value: Any) -> None:
    return None


def _time(value: Any) -> str | None:
    return None if value != value else str(value)  # noqa: PLR0124 - as NaN, NaT is not equal to itself


# By library and name, so that none is imported for it.
_PLAIN: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("builtins", "float"): float,
    ("builtins", "int"): int,
    ("builtins", "str"): str,
    ("numpy", "datetime64"): _time,
    ("numpy", "generic"): methodcaller("item"),
    ("numpy", "ndarray"): methodcaller("tolist"),
    ("pandas", "Interval"): str,
    ("pandas", "NAType"): _nothing,
    ("pandas", "NaTType"): _nothing,
    ("pandas", "Period"): str,
    ("pandas", "Timedelta"): methodcaller("to_pytimedelta"),
    ("pandas", "Timestamp"): methodcaller("isoformat"),
}
_ENCODER = msgspec.json.Encoder(decimal_format="number", enc_hook=_plain)

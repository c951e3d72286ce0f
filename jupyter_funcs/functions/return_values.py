"""What a callable returns: as its annotation says; and what it returned as a frame, an Arrow table, records or JSON."""

from __future__ import annotations

import dataclasses
import inspect
import math
import sys
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Collection,
    Iterator,
    Mapping,
)
from contextlib import suppress
from datetime import date
from decimal import Decimal
from operator import methodcaller
from typing import TYPE_CHECKING, Any, get_args, get_origin

import msgspec

from jupyter_funcs.core.text import plural
from jupyter_funcs.functions.callables import evaluated_annotation
from jupyter_funcs.functions.parameters import ABSENT, described

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from jupyter_funcs.core.json_decoding import JsonObject

SCALAR = "Result"
"""The column of values without a name."""

_TEXTS = (str, bytes, bytearray, memoryview)
# The lengths of a date, and of a time with seconds.
_DAY = 10
_SECOND = 19
# JSON's number for infinity, which isn't one in a float.
BEYOND = Decimal("1E999")
# Texts may have the same words.
_DECIMALS = (b"NaN", b"Infinity")
_SIGNS_OF_INFINITY = (b"null", *_DECIMALS)
# What is read to its end, and then a list.
_STREAMS = {AsyncGenerator, AsyncIterable, AsyncIterator, Iterator}


def returned(python: Any) -> JsonObject | None:
    """Return the schema of what a callable is annotated to return; nothing if that isn't JSON."""
    with suppress(Exception):  # annotations may be anything, and fail in any way
        annotation = evaluated_annotation(
            inspect.signature(python).return_annotation, python
        )
        if annotation in (ABSENT, type(None)):
            return None
        if get_origin(annotation) in _STREAMS:
            annotation = list[get_args(annotation)[0]]  # type: ignore[misc]  # known at run time only
        return described(annotation, by_alias=False)[1] or None

    return None


def tabular(value: Any) -> pd.DataFrame | pa.Table | Any:
    """Return what has columns as a frame or an Arrow table, a record as a dictionary, and several as a list."""
    if (table := _table(value)) is not None:
        return table
    # A number of numpy, or an array of more dimensions.
    if hasattr(type(value), "__array_interface__"):
        return values_of(value) if getattr(value, "ndim", 0) else value

    value = _record(value)
    if isinstance(value, Mapping):
        parts = {_key(name): part for name, part in value.items()}
        if len(set(map(str, parts))) < len(value):
            raise ValueError("Two of its names are the same text, such as 1 and '1'.")
        table = _joined(parts)
        return parts if table is None else table

    if isinstance(value, _TEXTS) or not isinstance(value, Collection):
        return value
    items = list(value)
    table = _joined(dict(enumerate(items)), is_tuple=isinstance(value, tuple))
    if table is None:
        return [_record(item) for item in items]
    return table


def is_expression(value: Any) -> bool:
    """Tell whether a value is an expression of ibis."""
    ibis = sys.modules.get("ibis")
    return isinstance(value, getattr(ibis, "Expr", ()))


def _table(value: Any) -> Any:  # noqa: PLR0911 - one per kind of table
    """Return what is a table by its own type, else None."""
    if is_expression(value):
        return value.as_table().to_pyarrow()
    if callable(getattr(type(value), "to_undirected", None)) and hasattr(
        type(value), "edges"
    ):
        return _edges(value)

    if isinstance(value, _of_pandas("DataFrame")):
        return value
    if isinstance(value, _of_pandas("Index")):
        value = value.to_frame(index=False)
        if value.shape[1] == 1:
            return value.rename(columns={0: SCALAR})
        return value.rename(columns=str)

    if isinstance(value, _of_pandas("Series")):
        return value.to_frame(SCALAR if value.name is None else value.name)
    if hasattr(type(value), "__arrow_c_stream__"):
        import pyarrow as pa

        return pa.table(value)

    is_array = hasattr(type(value), "__array_interface__")
    if is_array and 0 < getattr(value, "ndim", 0) < 3:
        return _of_array(value)
    return None


def _of_array(array: Any) -> pd.DataFrame:
    import pandas as pd

    if array.ndim == 2 or array.dtype.names:
        return pd.DataFrame(array).rename(columns=str)
    return pd.DataFrame(array).rename(columns={0: SCALAR})


def _of_pandas(name: str) -> Any:
    """Return a class of pandas, if whoever made a value has imported it."""
    return getattr(sys.modules.get("pandas"), name, ())


def _edges(graph: Any) -> pd.DataFrame:
    """Return the edges of a graph of networkx, with their attributes."""
    import pandas as pd

    ends = ["source", "target"]
    rows = [
        dict(zip(ends, edge, strict=False)) | edge[-1]
        for edge in graph.edges(data=True)
    ]
    return pd.DataFrame(rows, columns=None if rows else ends)


def _joined(parts: dict[Any, Any], *, is_tuple: bool = False) -> Any:
    """Return several tables as one: side by side if they have the same rows, else one below the other."""
    # scikit-learn's name for the data with its target.
    if isinstance(parts.get("frame"), _of_pandas("DataFrame")):
        return parts["frame"]
    series = _of_kind("Series", parts.values())
    if 0 < len(series) == len(parts) and not is_tuple:
        return _by_label(parts)

    tables = {
        str(name): table
        for name, part in parts.items()
        if (table := _table(part)) is not None
    }
    frames = _of_kind("DataFrame", parts.values())
    are_arrays = (
        is_tuple
        and len(tables) == len(parts)
        and len({*map(len, tables.values())}) == 1
    )
    if not frames and not are_arrays:
        return None
    import pandas as pd

    index = [*frames, *tables.values()][0].index
    if not all(_has_rows_of(table, index) for table in tables.values()):
        return pd.concat(tables, names=["Part"]).reset_index(level=0)
    return _side_by_side(tables, index)


def _of_kind(name: str, parts: Collection[Any]) -> list[Any]:
    """Return those of some values that are of a class of pandas."""
    kind = _of_pandas(name)
    return [part for part in parts if isinstance(part, kind)]


def _by_label(series: dict[Any, Any]) -> Any:
    """Return Series by name as columns, others as rows, with equal labels beside each other."""
    import pandas as pd

    if all(isinstance(name, int) for name in series):
        return pd.DataFrame([*series.values()])
    return pd.DataFrame(series)


def _side_by_side(tables: JsonObject, index: Any) -> Any:
    """Return tables of the same rows as one; where names of columns are equal, with those of the tables."""
    import pandas as pd

    columns = [
        (part, column) for part, table in tables.items() for column in table.columns
    ]
    names = [part if column == SCALAR else column for part, column in columns]
    if len({*names}) < len(names):
        names = [
            part if column == SCALAR else f"{part} {column}" for part, column in columns
        ]

    whole = pd.concat([table.set_axis(index) for table in tables.values()], axis=1)
    return whole.set_axis(names, axis=1)


def _has_rows_of(table: pd.DataFrame, index: Any) -> bool:
    """Tell whether a table has these rows, or only their number."""
    return len(table) == len(index) and (
        table.index.equals(index)
        or table.index.equals(table.reset_index(drop=True).index)
    )


def _record(value: Any) -> Any:
    """Return a named tuple, dataclass or model of pydantic as a dictionary; anything else as it is."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {
            name: part
            for name, part in value._asdict().items()
            if not name.startswith("_")
        }

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: getattr(value, field.name)
            for field in dataclasses.fields(value)
        }

    if hasattr(type(value), "model_dump"):
        return value.model_dump()
    return value


def _key(name: Any) -> Any:
    if isinstance(name, str | int | float | date | Decimal):
        return name
    return str(name)


def values_of(array: Any) -> Any:
    """Return the values of an array or a column; whole days are dates, for which pandas has no type."""
    import numpy as np

    if hasattr(type(array), "to_pylist"):  # the labels of a Series are attributes too
        return list(array.to_pylist())
    if isinstance(array.dtype, np.dtype) and array.dtype.kind == "M":
        times = np.asarray(array)
        texts = np.datetime_as_string(times, unit="auto")
        if texts.size and _DAY < len(max(texts.ravel(), key=len)) < _SECOND:
            texts = np.datetime_as_string(times, unit="s")
        array = texts.astype(object)
        array[np.isnat(times)] = None

    return array.tolist()


def as_json(
    value: Any, convert: Callable[[Any], Any], beyond: Decimal | None = None
) -> tuple[bytes, int]:
    """
    Return a value as JSON, and how many infinite numbers are in it, which are null, or numbers `beyond` all floats.

    Dates are YYYY-MM-DD, times ISO 8601, decimals their digits, bytes base64, and NaN is null. `convert` makes others
    plain.
    """
    encoder = msgspec.json.Encoder(decimal_format="number", enc_hook=convert)
    try:
        text = encoder.encode(value)
    except ValueError:  # msgspec 0.23 refuses a Decimal that isn't finite
        text = _DECIMALS[0]

    count = 0
    if any(word in text for word in _SIGNS_OF_INFINITY):
        count = infinite(value)
    # Earlier ones write it as it is.
    if any(word in text for word in _DECIMALS) or (count and beyond):
        text = encoder.encode(_finite(value, beyond))
    return text, count


def _finite(value: Any, beyond: Decimal | None) -> Any:
    if isinstance(value, Mapping):
        return {name: _finite(part, beyond) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part, beyond) for part in value]
    if infinite(value):
        return beyond and beyond.copy_sign(Decimal(value))
    if isinstance(value, Decimal) and value.is_nan():
        return None
    return value


def infinite(value: Any) -> int:
    """Return how many numbers of a result are infinite."""
    if isinstance(value, float):
        return int(math.isinf(value))
    if isinstance(value, Decimal):
        return int(value.is_infinite())
    if isinstance(value, Mapping):
        return sum(map(infinite, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(infinite, value))
    return 0


def lost_text(count: int) -> str:
    """Return the warning for infinite numbers that became null in JSON; empty if there are none."""
    if not count:
        return ""
    return f"The result has {plural(count, 'infinite number')}, which JSON doesn't have (read as null)."


def plain(value: Any) -> Any:
    """Return a value of a type that msgspec knows; raises `TypeError` if there is none."""
    for kind in type(value).__mro__:
        if convert := _CONVERTERS.get(
            f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
        ):
            return convert(value)

    record = _record(value)
    if record is not value:
        return record
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Collection):
        return list(value)
    raise TypeError(f"Objects of type {type(value).__name__} can't be written as JSON.")


# By library and name, so that no library is imported for it.
_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "builtins.float": float,
    "builtins.int": int,
    "builtins.str": str,
    "fractions.Fraction": str,
    "ipaddress._BaseAddress": str,
    "numpy.datetime64": lambda value: str(value) if value == value else None,  # noqa: PLR0124 - NaT != NaT
    "numpy.generic": methodcaller("item"),
    "numpy.ndarray": values_of,
    "pandas.Interval": str,
    "pandas.NAType": lambda _: None,
    "pandas.NaTType": lambda _: None,
    "pandas.Period": str,
    "pandas.Timedelta": methodcaller("to_pytimedelta"),
    "pandas.Timestamp": methodcaller("isoformat"),
    "pathlib.PurePath": str,
}

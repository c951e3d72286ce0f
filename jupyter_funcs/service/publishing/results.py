"""
What a function returned, as what leaves the service: the JSON text of a run's body, or an Arrow table.

Tables are lists of records: dates as ``YYYY-MM-DD``, times of a day in ISO 8601, decimals digit by digit, bytes in
base64, NaN, NaT and infinities as null. Of a DataFrame, the index goes along where it has a name.
"""
# ruff: noqa: PLC0415 - pyarrow loads where a result needs it

from __future__ import annotations

import collections
import dataclasses
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from .encoding import SCALAR, ResultError, encoded
from .prepared import Query
from .words import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd
    import pyarrow as pa

    from .engine import Call

# From the length of a date to that of a time with seconds.
_DAY, _SECOND = 10, 19


class Document(bytes):
    """The JSON of a result that was encoded elsewhere."""

    __slots__ = ()


def body(result: Any, call: Call | None = None) -> str:
    """
    Give the JSON text of what a function returned: a list of records, or a scalar.

    Parameters
    ----------
    result
        An ibis expression, a `Query`, a DataFrame or Series, anything with Arrow data (a Table, a polars DataFrame, a
        relation of DuckDB), a list of records, ``{column: list}``, one record, a list of scalars, or a scalar.
    call
        Executes what the engine has to; where there is none, only expressions with a connection of their own are taken.

    Raises
    ------
    ResultError
        It is none of these, or holds what JSON cannot carry.
    """
    if isinstance(result, Document):
        return result.decode()
    return encoded(_records(result, call)).decode()


def arrow(result: Any, call: Call | None = None) -> pa.Table:
    """Give what a function returned as an Arrow table; takes and raises what `body` does."""
    import pyarrow as pa

    if isinstance(result, Document):
        result = msgspec.json.decode(result)
    elif call is not None and _needs_engine(result):
        return call.arrow(result)
    if (frame := _as_frame(result)) is not None:
        result = _flat(frame)
    elif (table := _as_table(result)) is not None:
        return table
    else:
        result = _columns(_records(result, call))
    if isinstance(result, dict):
        return pa.table({name: _array(name, values) for name, values in result.items()})
    try:
        return pa.Table.from_pandas(result, preserve_index=False)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        # pyarrow names the column in the last of what it says.
        raise ResultError(f"The result is no Arrow table: {error.args[-1]}.") from error


def _records(result: Any, call: Call | None) -> Any:
    """Give a list of records, or a scalar."""
    if call is not None and _needs_engine(result):
        return call.fetch(result)
    if (frame := _as_frame(result)) is not None:
        frame = _flat(frame)
        return _rows({name: _values(frame[name]) for name in frame.columns})
    if (table := _as_table(result)) is not None:
        _refuse_repeated(table.column_names)
        return _rows({name: table[name].to_pylist() for name in table.column_names})
    if hasattr(result, "ndim"):  # an array or one of its items
        result = _values(result) if result.ndim == 1 else result.tolist()
    result = _record(result)
    if isinstance(result, Mapping):
        return _rows_of_mapping(dict(result))
    if isinstance(result, list | tuple | set | frozenset):
        return _rows_of_items(list(result))
    return result


def _rows_of_mapping(result: dict[Any, Any]) -> list[dict[Any, Any]]:
    """Read columns, where every value is one, else a record."""
    columns = {name: _listed(values) for name, values in result.items()}
    if None in columns.values():
        return [result]
    lengths = {quoted(name): len(values) for name, values in columns.items() if values is not None}
    if len(set(lengths.values())) > 1:
        raise ResultError(
            f"The columns differ in length: {', '.join(f'{n} has {many}' for n, many in lengths.items())}."
        )
    return _rows({str(name): values for name, values in columns.items() if values is not None})


def _rows_of_items(result: list[Any]) -> list[Any]:
    items = [_record(item) for item in result]
    if all(isinstance(item, Mapping) for item in items):
        return items
    for item in items:
        if isinstance(item, Mapping | list | tuple):
            raise ResultError(
                "The result is a list of rows without names, or of rows and scalars. "
                "Give records, {column: list} or a DataFrame."
            )
    return [{SCALAR: item} for item in items]


def _record(item: Any) -> Any:
    """Give an item by the names of its fields, where it has some."""
    if hasattr(item, "_asdict"):  # a named tuple
        return item._asdict()
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        return {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}
    return item


def _listed(values: Any) -> Sequence[Any] | None:
    """Give the values of a column; `None` where it is none."""
    if isinstance(values, list | tuple):
        return values
    return _values(values) if getattr(values, "ndim", 0) == 1 else None  # a Series or an array


def _rows(columns: dict[str, Sequence[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _columns(records: Any) -> dict[str, list[Any]]:
    """Give the columns of records, of which not all need to have all."""
    if not isinstance(records, list):
        records = [{SCALAR: records}]
    names = dict.fromkeys(name for record in records for name in record)
    return {str(name): [record.get(name) for record in records] for name in names}


def _needs_engine(result: Any) -> bool:
    """Tell whether the engine has to execute it: a query, or an expression that has no connection of its own."""
    if isinstance(result, Query):
        return True
    # Its public get_backend gives one of its own to an expression that has none.
    return _is_expression(result) and not result._find_backends()[0]  # noqa: SLF001 - see above


def _is_expression(result: Any) -> bool:
    ibis = sys.modules.get("ibis")
    return ibis is not None and isinstance(result, ibis.Expr)


def _as_frame(result: Any) -> pd.DataFrame | None:
    # Who returns one has imported it.
    pandas = sys.modules.get("pandas")
    if not pandas:
        return None
    if isinstance(result, pandas.Index):
        result = result.to_series(index=range(len(result)))
    if isinstance(result, pandas.Series):
        result = result.to_frame(SCALAR if result.name is None else result.name)
    frame: pd.DataFrame | None = result if isinstance(result, pandas.DataFrame) else None
    return frame


def _as_table(result: Any) -> pa.Table | None:
    if _is_expression(result):
        return result.as_table().to_pyarrow()
    if not hasattr(result, "__arrow_c_stream__"):
        return None
    import pyarrow as pa

    return pa.table(result)


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Make columns of an index that has a name, and texts of the columns' names."""
    import pandas as pd

    names = [name for name in frame.index.names if name is not None]
    drop = [level for level, name in enumerate(frame.index.names) if name is None]
    if names:
        frame = frame.reset_index(level=drop, drop=True) if drop else frame
        taken = [name for name in frame.index.names if name in frame.columns]
        if taken:
            raise ResultError(f"The index and a column are both named {quoted(taken[0])}. Rename one of them.")
        frame = frame.reset_index()
    texts = [
        " ".join(str(part) for part in name if part != "") if isinstance(name, tuple) else str(name)
        for name in list[Any](frame.columns)
    ]
    _refuse_repeated(texts)
    return pd.DataFrame({text: _worded(frame.iloc[:, at]) for at, text in enumerate(texts)}, copy=False)


def _worded(series: pd.Series) -> pd.Series:
    """Make texts of periods and intervals, for which neither JSON nor most readers of Arrow have a type."""
    import pandas as pd

    kind = series.dtype.categories.dtype if isinstance(series.dtype, pd.CategoricalDtype) else series.dtype
    if isinstance(kind, pd.PeriodDtype | pd.IntervalDtype):
        return series.astype(object).map(str, na_action="ignore")
    return series


def _refuse_repeated(names: Iterable[str]) -> None:
    for name, count in collections.Counter(names).items():
        if count > 1:
            raise ResultError(f"{count} columns are named {quoted(name)}. Rename all but one of them.")


def _values(array: Any) -> list[Any]:
    """Give the values of a Series or array; whole days, which pandas has no type for, as dates."""
    import numpy as np

    if isinstance(array.dtype, np.dtype) and array.dtype.kind == "M":
        times = np.asarray(array)
        texts = np.datetime_as_string(times, unit="auto")
        if texts.size and _DAY < len(max(texts, key=len)) < _SECOND:
            texts = np.datetime_as_string(times, unit="s")
        array = texts.astype(object)
        array[np.isnat(times)] = None
    values: list[Any] = array.tolist()
    return values


def _array(name: str, values: list[Any]) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise ResultError(f"Column {quoted(name)} is of no one Arrow type: {error}.") from error

"""Turn what a function returned into the body of a reply: JSON, or an Arrow stream. Its size is bounded."""

from __future__ import annotations

import collections
import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from jupyter_funcs.core.json_decoding import JsonObject, is_compressed
from jupyter_funcs.core.text import quoted
from jupyter_funcs.functions.return_values import (
    SCALAR,
    as_json,
    is_expression,
    plain,
    tabular,
    values_of,
)
from jupyter_funcs.service.engine.calls import (
    Call,
    Compiled,
    Query,
    check_bytes,
    check_size,
)

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from jupyter_funcs.service.engine.duckdb_engine import DuckDBCall


ARROW = "application/vnd.apache.arrow.stream"
JSON = "application/json"

ReplyForm = Literal["json", "arrow", "either"]
"""The forms that a caller accepts; of either, it gets Arrow only if that holds the values just as JSON does."""

_SCALARS = str | bytes | int | float | date | time | timedelta | Decimal | None

# Records are encoded in pieces of this number, so that a result that is too large is noticed early.
_PIECE = 100


class ResultError(Exception):
    """A result that can't be sent; the message names the column in one line."""


class ReplyContent(NamedTuple):
    """The body of a reply, how many rows it has (a scalar has none), and how many infinite numbers are null in it."""

    media_type: str
    content: bytes | memoryview
    rows: int | None = None
    lost: int = 0


def encoded(
    result: Any, call: DuckDBCall | None = None, *, form: ReplyForm = "json"
) -> ReplyContent:
    """
    Return the body of a successful reply.

    Raises
    ------
    MemoryLimitError
        The body would be larger than `calls.MOST_BYTES`, or has too many values.
    ResultError
        The result can't be sent.
    """
    if isinstance(result, ReplyContent):
        return result
    if form != "json" and isinstance(result, float) and not math.isfinite(result):
        import pyarrow as pa

        # As JSON it is null, which stands for no rows.
        return ReplyContent(ARROW, stream(pa.table({SCALAR: [result]})), 1)
    if form == "arrow" and not isinstance(result, _SCALARS):
        with contextlib.suppress(ResultError):  # JSON may support what Arrow doesn't
            table = arrow(result, call)
            return ReplyContent(ARROW, stream(table), table.num_rows)

    # As JSON text: a list of records, or a scalar.
    if not call or not needs_engine(result):
        records = _rows_of(tabular(result))
    elif form == "either":
        records = call.fetch_either(result)
    else:
        records = call.fetch(result)

    if hasattr(records, "num_rows"):
        return ReplyContent(ARROW, stream(records), records.num_rows)
    text, lost = _encoded(records)
    content = msgspec.json.encode({"error": None, "body": text.decode()})
    rows = None
    if isinstance(records, list):
        rows = len(records)
    return ReplyContent(JSON, content, rows, lost)


def stream(table: pa.Table) -> bytes:
    import pyarrow as pa

    check_bytes(table.nbytes)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def read_stream(content: bytes) -> pa.Table:
    """Read an Arrow stream that published code may have forged; raises `pyarrow.ArrowException` or `OSError`."""
    import pyarrow as pa

    for message in pa.ipc.MessageReader.open_stream(content):
        head = message.metadata.to_pybytes()
        # 10 kB may be a gigabyte when decompressed, and DuckDB trusts the types that extensions name. Arrow's own keys
        # name these, and a way to compress of its version 0.17.
        if (
            b"ARROW:" in head
            or message.type == "dictionary"
            or (message.type != "schema" and is_compressed(head))
        ):
            raise pa.ArrowInvalid("Only plain tables are read.")

    table = pa.ipc.open_stream(content).read_all()
    table.validate(full=True)  # otherwise DuckDB would read the service's own memory
    return table


def arrow(result: Any, call: Call | None = None) -> pa.Table:
    import pyarrow as pa

    if call and needs_engine(result):
        return call.arrow(result)
    table = tabular(result)
    if isinstance(table, pa.Table):
        return table
    if _is_table(table):
        try:
            return pa.Table.from_pandas(_flat(table), preserve_index=False)
        except (pa.ArrowException, ValueError, OverflowError) as error:
            # pyarrow names the column in the last argument.
            raise ResultError(
                f"The result can't be converted to Arrow: {error.args[-1]}."
            ) from error

    records = _records(_rows_of(table))
    columns = {}
    for name in dict.fromkeys(name for record in records for name in record):
        try:
            columns[str(name)] = pa.array(
                [record.get(name) for record in records], from_pandas=True
            )
        except (pa.ArrowException, ValueError, OverflowError) as error:
            raise ResultError(
                f"Column {quoted(name)} has no single Arrow type: {error}."
            ) from error

    return pa.table(columns)


def _is_table(result: Any) -> bool:
    """Tell whether a result of `tabular` is a frame or an Arrow table."""
    return hasattr(result, "num_columns") or hasattr(result, "iloc")


def _rows_of(result: Any) -> Any:
    """Return a result of `tabular` as a list of records, or as a scalar."""
    if _is_table(result):
        check_size(*result.shape)
        if hasattr(result, "iloc"):
            result = _flat(result)
            names = list(result.columns)
        else:
            names = result.column_names
            _refuse_repeated(names)
        return _rows({name: values_of(result[name]) for name in names})

    if isinstance(result, Mapping):
        return _rows_of_mapping(dict(result))
    if isinstance(result, list):
        return _rows_of_items(result)
    return result


def _records(rows: Any) -> list[dict[Any, Any]]:
    """Return a scalar as a record, too."""
    if isinstance(rows, list):
        return rows
    return [{SCALAR: rows}]


def _rows_of_mapping(result: dict[Any, Any]) -> list[dict[Any, Any]]:
    """Read a mapping of columns; if a value is not a column, the mapping is one record."""
    columns = {}
    for name, values in result.items():
        if (column := _column(values)) is None:
            return [result]
        columns[str(name)] = column

    if len({len(column) for column in columns.values()}) > 1:
        lengths = ", ".join(
            f"{quoted(name)} has {len(column)}" for name, column in columns.items()
        )
        raise ResultError(f"The columns have different lengths: {lengths}.")

    return _rows(columns)


def _rows_of_items(items: list[Any]) -> list[Any]:
    check_size(len(items), 1)
    if all(isinstance(item, Mapping) for item in items):
        return items
    if any(isinstance(item, Mapping | list | tuple) for item in items):
        raise ResultError(
            "The result is a list of rows without column names, or a mix of rows and scalars. "
            "Return a list of records, {column: list} or a DataFrame."
        )

    return [{SCALAR: item} for item in items]


def _column(values: Any) -> Any:
    """Return the values of a column, `None` for anything else."""
    if getattr(values, "ndim", 0) == 1:  # a Series or an array
        return values_of(values)
    if isinstance(values, list | tuple):
        return values
    return None


def _rows(columns: dict[str, Sequence[Any]]) -> list[JsonObject]:
    check_size(len(next(iter(columns.values()), ())), len(columns))
    return [
        dict(zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]


def needs_engine(result: Any) -> bool:
    """Tell whether the call's engine must execute a result: a query, or an expression without a connection."""
    if isinstance(result, Query | Compiled):
        return True
    # The public get_backend falls back to a default backend.
    return is_expression(result) and not result._find_backends()[0]  # noqa: SLF001 - see above


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Turn a named index into columns, and column names into text."""
    import pandas as pd

    names = [name for name in frame.index.names if name is not None]
    drop = [level for level, name in enumerate(frame.index.names) if name is None]
    if names:
        frame = frame.reset_index(level=drop, drop=True)
        taken = [name for name in frame.index.names if name in frame.columns]
        if taken:
            raise ResultError(
                f"The index and a column are both named {quoted(taken[0])}. Rename one of them."
            )
        frame = frame.reset_index()

    texts = [*map(_column_name, list[Any](frame.columns))]
    _refuse_repeated(texts)
    return pd.DataFrame(
        {text: _as_text(frame.iloc[:, at]) for at, text in enumerate(texts)}, copy=False
    )


def _column_name(name: Any) -> str:
    if isinstance(name, tuple):
        return " ".join(str(part) for part in name if part != "")
    return str(name)


def _as_text(series: pd.Series) -> pd.Series:
    """Turn periods and intervals into text: JSON and most Arrow readers have no type for them."""
    import pandas as pd

    kind = series.dtype
    if isinstance(kind, pd.CategoricalDtype):
        kind = kind.categories.dtype
    if isinstance(kind, pd.PeriodDtype | pd.IntervalDtype):
        return series.astype(object).map(str, na_action="ignore")
    return series


def _refuse_repeated(names: Iterable[str]) -> None:
    for name, count in collections.Counter(names).items():
        if count > 1:
            raise ResultError(
                f"{count} columns are named {quoted(name)}. Rename all but one of them."
            )


def _encoded(records: Any) -> tuple[bytes, int]:
    """Return JSON, and how many infinite numbers became null."""
    try:
        if not isinstance(records, list):
            if isinstance(records, str | bytes):
                check_bytes(len(records))
            return as_json(records, plain)
        text = bytearray()
        lost = 0
        for at in range(0, len(records), _PIECE):
            piece, infinities = as_json(records[at : at + _PIECE], plain)
            text += b"," + piece[1:-1]
            lost += infinities
            check_bytes(len(text))
    except (TypeError, ValueError, RecursionError) as error:
        raise _encoding_error(records, error) from error

    return bytes(b"[" + text[1:] + b"]"), lost


def _encoding_error(records: Any, error: Exception) -> ResultError:
    """Find the column that can't be encoded."""
    for number, record in enumerate(_records(records), 1):
        for name, value in record.items():
            try:
                as_json({name: value}, plain)
            except (TypeError, ValueError, RecursionError) as of_one:
                what = type(value).__name__
                if isinstance(of_one, UnicodeError):
                    what = "invalid Unicode"
                return ResultError(
                    f"Column {quoted(name)} has {what} in row {number}, which can't be written as JSON."
                )

    return ResultError(f"The result can't be written as JSON: {error}.")

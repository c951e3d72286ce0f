"""Streams: a reply that is an Arrow stream becomes the DataFrame that the same values as JSON would become."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

from jupyter_funcs.core.arrow_messages import is_compressed
from jupyter_funcs.core.errors import TRY_AGAIN, ProtocolError
from jupyter_funcs.core.text import clip, inert
from jupyter_funcs.frames.columns import Column, Table, check_cells
from jupyter_funcs.frames.frame import frame_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_LONGEST_REASON = 200
_END = b"\xff\xff\xff\xff\0\0\0\0"
# By Arrow's name of a type: the kind of column, and the type that holds all its values.
_KINDS = {
    **dict.fromkeys(("int8", "int16", "int32", "int64"), ("int", "int64")),
    **dict.fromkeys(("float", "double"), ("float", "float64")),
    **dict.fromkeys(("date32[day]", "timestamp[us]"), ("time", "timestamp[us]")),
    "string": ("text", "large_string"),
    "bool": ("bool", "bool"),
}


def stream_to_frame(reply: bytes) -> pd.DataFrame:
    """Return an Arrow stream as a DataFrame, equal to that of `to_frame` for its records as JSON, if there are any."""
    import pyarrow as pa

    try:
        table = _read(reply)
        columns = [*map(_column, table.columns)]
    except (pa.ArrowException, OSError, ValueError, struct.error) as error:
        reason = clip(inert(str(error)), _LONGEST_REASON)
        raise ProtocolError(f"The reply is not a valid Arrow stream: {reason}", TRY_AGAIN) from error
    frame = frame_of(Table("records", table.column_names, columns, len(table)), {})
    frame.attrs["funcs"] = {"shape": "records" if len(frame) else "empty"}
    return frame


def _read(reply: bytes) -> pa.Table:
    """Read a stream without trusting it: Arrow itself believes what lengths and offsets say."""
    import pyarrow as pa

    if not reply.endswith(_END):
        raise ValueError("it is cut short.")
    first, *batches = pa.ipc.MessageReader.open_stream(reply)
    schema = pa.ipc.read_schema(first)
    if unknown := (set(map(str, schema.types)) or {"no columns"}) - _KINDS.keys():
        raise ValueError(f"it has {', '.join(unknown)}.")
    if any(batch.type != "record batch" or is_compressed(batch.metadata) for batch in batches):
        raise ValueError("it is compressed.")  # a few bytes may be gigabytes
    table = pa.Table.from_batches([pa.ipc.read_record_batch(batch, schema) for batch in batches], schema)
    check_cells(len(table), table.num_columns, len(reply))  # columns may share their bytes
    table.validate(full=True)
    return table


def _column(values: pa.ChunkedArray) -> Column:
    kind, name = _KINDS[str(values.type)]
    array = values.cast(name).combine_chunks()
    missing = np.array(array.is_null()) if array.null_count else None
    if kind in {"int", "bool"}:
        array = array.fill_null(0 if kind == "int" else False)
    data = array if kind == "text" else np.array(array)  # a copy, which can be written to
    if kind == "float":
        missing = np.isnan(data)
    if missing is not None and len(missing) and missing.all():
        return Column("null", missing)
    return Column(kind, data, missing if kind in {"int", "bool"} else None)

"""Media: replies that aren't JSON become DataFrames: Arrow streams, CSV, texts and files."""

from __future__ import annotations

import base64
import csv
import io
import mimetypes
import re
import struct
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from jupyter_funcs.core.errors import TRY_AGAIN, ProtocolError
from jupyter_funcs.core.json_decoding import is_compressed
from jupyter_funcs.core.text import clip, inert, replace_surrogates, size_text
from jupyter_funcs.frames.columns import (
    Column,
    Table,
    check_cells,
    objects,
    packed,
    texts_dtype,
)
from jupyter_funcs.frames.dtypes import Declared, checked
from jupyter_funcs.frames.frame import UNLISTED, ListedReply, frame_of, to_frame
from jupyter_funcs.frames.pages import Page

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
_CSV = re.compile(r"(text|application)/(x-)?(csv|comma-separated-values)")
_TSV = re.compile(r"(text|application)/(x-)?(tsv|tab-separated-values)")
# What a source makes of a reply of several texts and files.
PARTS = "application/vnd.jupyter-funcs.parts"
_TEXTS = re.compile(r"text/.*|.*[/+](xml|yaml|javascript)")
_CHARSET = re.compile(r"charset=\"?([\w-]+)", re.IGNORECASE)
# Numbers of a column of CSV; `007` is a code, and what no float holds is a text.
_NUMBER = re.compile(
    r"[+-]?(0|[1-9]\d{0,30}|(?=\.))(\.\d{1,30})?([eE][+-]?\d{1,2})?", re.ASCII
)
_FLAGS = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# The declared types whose values aren't read from texts.
_READ = {
    "int32",
    "int64",
    "float64",
    "bool",
    "Int32",
    "Int64",
    "boolean",
    "any",
}
# What stands for no value among numbers and flags; among texts, only an empty cell does.
_MISSING = {
    "NA",
    "N/A",
    "NaN",
    "nan",
    "null",
    "NULL",
}
# By which the encoding of a text is told.
_BOMS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


class ResultFile(NamedTuple):
    """A result that is one text, or the bytes of a file."""

    content: bytes
    kind: str  # its media type
    is_text: bool

    @property
    def ending(self) -> str:
        """The suffix of its name: ``.pdf``."""
        usual = ".txt" if self.is_text else ".bin"
        return mimetypes.guess_extension(self.kind, strict=False) or usual

    @property
    def about(self) -> str:
        """Its type and size in words."""
        return f"{inert(self.kind)}, {size_text(len(self.content))}"


def file_of(frame: pd.DataFrame) -> ResultFile | None:
    """Return the file that a result is; ``None`` for a table."""
    about = frame.attrs.get("funcs", {})
    if about.get("shape") not in {"text", "file"} or frame.shape != (1, 1):
        return None
    value: Any = frame.iloc[0, 0]
    kind = about.get("media_type", "text/plain")
    if isinstance(value, str):
        return ResultFile(replace_surrogates(value).encode(), kind, is_text=True)
    return ResultFile(value, kind, is_text=False)


def is_json(reply: bytes, media_type: str) -> bool:
    """Return whether a reply is JSON, by its type or by itself."""
    if not media_type or "json" in media_type.lower():
        return True
    if media_type == PARTS or reply.lstrip()[:1] not in {b"{", b"["}:
        return False
    try:
        msgspec.json.decode(reply, type=msgspec.Raw)
    except msgspec.DecodeError:  # a text may begin like it
        return False

    return True


def media_to_frame(
    reply: bytes, media_type: str, schema: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """
    Return CSV as a table, whose columns of numbers are numbers; a text as one cell; and anything else as bytes.

    `schema` has the types of columns of CSV.
    """
    declared = checked(schema)
    kind = media_type.partition(";")[0].strip().lower()
    if kind == PARTS:
        return _parts(reply)
    is_tabs = _TSV.fullmatch(kind) is not None
    is_csv = is_tabs or _CSV.fullmatch(kind)
    if not is_csv and not _TEXTS.fullmatch(kind):
        return _cell(reply, kind)
    charset = _CHARSET.search(media_type)
    encoding = charset[1] if charset else _BOMS.get(reply[:2], "utf-8")
    try:
        text = reply.decode(encoding).removeprefix("\ufeff")
    except (LookupError, UnicodeDecodeError):
        text = reply.decode("cp1252", "replace")  # what spreadsheets write

    if is_csv:
        return _rows(text, "\t" if is_tabs else ",", len(reply), declared)
    return _cell(text, kind)


def _cell(value: Any, kind: str) -> pd.DataFrame:
    if isinstance(value, str):
        column = packed([value])
    else:
        column = Column("object", objects([value]))

    frame = frame_of(Table("text", ["Result"], [column], 1), {})
    frame.attrs["funcs"] = {
        "shape": "text" if isinstance(value, str) else "file",
        "media_type": kind,
    }
    return frame


def _parts(reply: bytes) -> pd.DataFrame:
    """Return a row for each part: its text or bytes, its media type, and its address if any has one."""
    frame = to_frame(reply).dropna(axis=1, how="all")
    are_files = frame.pop("is_file")
    if are_files.any():
        parts = zip(frame["Result"], are_files, strict=True)
        values = [
            base64.b64decode(value) if is_file else value for value, is_file in parts
        ]
        frame["Result"] = objects(values)
    return frame


def _rows(
    text: str, usual: str, size: int, declared: Mapping[str, Declared]
) -> pd.DataFrame:
    delimiter = _delimiter(text, usual)
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    try:
        lines = [line for line in reader if line]  # blank ones are no rows
    except (ValueError, csv.Error) as error:
        raise ProtocolError(
            f"The reply is not valid CSV: {error}.", TRY_AGAIN
        ) from error

    if not lines:
        raise ProtocolError("The reply is not valid CSV: it is empty.", TRY_AGAIN)
    names, *rows = lines
    width = max(map(len, rows), default=len(names))
    check_cells(len(rows), width, size)
    names += [f"column {place + 1}" for place in range(len(names), width)]
    cells = [*zip_longest(*rows)] or [()] * len(names)
    cells += [(None,) * len(rows)] * (len(names) - len(cells))
    columns = [
        packed(_typed(texts, declared.get(name)))
        for name, texts in zip(names, cells, strict=True)
    ]
    frame = frame_of(Table("csv", names, columns, len(rows)), declared)
    frame.attrs["funcs"] = {"shape": "csv"}
    return frame


def _delimiter(text: str, usual: str) -> str:
    """Return what separates the names in the first line: what its media type says, unless that isn't there."""
    head = io.StringIO(text).readline()
    marks = [usual, *",;\t|"]
    widths = {mark: len(next(csv.reader([head], delimiter=mark), "")) for mark in marks}
    return next((mark for mark in marks if widths[mark] > 1), usual)


def _typed(texts: Sequence[str | None], declared: Declared | None) -> list[Any]:
    """Return the values of a column: numbers or flags where all are, else texts; none where nothing is written."""
    read = None
    if declared is None or declared.kind in _READ:
        read = _reader_of({text for text in texts if text and text not in _MISSING})
    if read is None:
        return [text or None for text in texts]
    return [read(text) if text and text not in _MISSING else None for text in texts]


def _reader_of(texts: set[str]) -> Callable[[str], Any] | None:
    """Return what reads all of some texts as numbers, or as flags."""
    if texts and all(map(_NUMBER.fullmatch, texts)):
        return _number
    if texts and texts <= _FLAGS.keys():
        return _FLAGS.__getitem__
    return None


def _number(text: str) -> float:
    return int(text) if text.lstrip("+-").isdecimal() else float(text)


def stream_to_frame(reply: bytes, listed: ListedReply = UNLISTED) -> pd.DataFrame:
    """Return an Arrow stream as a DataFrame, equal to that of `to_frame` for its records as JSON, if there are any."""
    import pyarrow as pa

    try:
        read = _read(reply)
        columns = [*map(_column, read.columns)]
    except (pa.ArrowException, OSError, ValueError, struct.error) as error:
        reason = clip(inert(str(error)), _LONGEST_REASON)
        raise ProtocolError(
            f"The reply is not a valid Arrow stream: {reason}", TRY_AGAIN
        ) from error

    table = Table("records", read.column_names, columns, len(read))
    table, kinds = listed.fitted(table, Page(table), in_envelope=True)
    frame = frame_of(table, kinds)
    frame.attrs["funcs"] = {
        "shape": "records" if len(frame) else "empty",
        **listed.attrs(frame),
    }
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
    if any(
        batch.type != "record batch" or is_compressed(batch.metadata)
        for batch in batches
    ):
        raise ValueError("it is compressed.")  # a few bytes may be gigabytes

    table = pa.Table.from_batches(
        [pa.ipc.read_record_batch(batch, schema) for batch in batches], schema
    )
    # Columns may share their bytes.
    check_cells(len(table), table.num_columns, len(reply))
    table.validate(full=True)
    return table


def _column(values: pa.ChunkedArray) -> Column:
    kind, name = _KINDS[str(values.type)]
    array = values.cast(name).combine_chunks()
    missing = np.array(array.is_null(nan_is_null=True))
    if len(missing) and missing.all():
        return packed([None] * len(missing))
    if kind == "text":
        return Column(kind, texts_dtype().__from_arrow__(array))
    if kind not in {"int", "bool"}:
        return Column(kind, np.array(array))  # a copy, which can be written to
    return Column(
        kind, np.array(array.fill_null(0 if kind == "int" else False)), missing
    )

"""A DataFrame -> a file or a stream, as a table for the eye, CSV, JSON, Parquet or Excel; whole or not at all."""

from __future__ import annotations

import datetime as dt
import importlib.util
import io
import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TextIO

import numpy as np
import pandas as pd

from jupyter_funcs.errors import ArgumentError, ConfigError
from jupyter_funcs.files import replace_bytes
from jupyter_funcs.text import inert, listed, quote

if TYPE_CHECKING:
    from collections.abc import Callable

Format = Literal["table", "csv", "json", "parquet", "xlsx"]
# What no stream of text takes.
BINARY: frozenset[Format] = frozenset({"parquet", "xlsx"})
NAMES: dict[Format, str] = {"csv": "CSV", "xlsx": "Excel", "parquet": "Parquet", "json": "JSON", "table": "A table"}

_SURROGATE = re.compile("[\ud800-\udfff]")
_CSV_SPECIAL = re.compile('[,"\r\n]')
_GAP = "  "
# What Excel holds: rows with the header, columns, characters of a cell, and the days that its calendar has right.
_SHEET_ROWS, _SHEET_COLUMNS, _SHEET_TEXT = 1_048_576, 16_384, 32_767
_SHEET_TIMES = pd.Timestamp("1900-03-01"), pd.Timestamp("9999-12-31 23:59:59.999").as_unit("ms")


def save(frame: pd.DataFrame, target: Path | TextIO | BinaryIO, format: Format) -> None:  # noqa: A002 - its name
    """
    Write `frame` to a file or a stream.

    Row labels, where there are any beyond 0, 1, 2, ..., become the first columns. Times that are all at midnight are
    written as dates, others as ISO-8601; integers are exact. Text is UTF-8; half a surrogate pair becomes U+FFFD.

    Parameters
    ----------
    frame
        What to write; it is not changed.
    target
        A path, whose file is replaced once the new one is complete, or an open stream.
    format
        ``table``: aligned columns for a terminal, with nothing in them that it would obey.
        ``csv``: text that a spreadsheet would run is led by an apostrophe, in cells and headers, and NUL is taken out
        (FAULTS.md 95, OWASP ASVS 1.2.10); numbers are never touched.
        ``json``: a list of records, one a line; null for what is missing or not finite.
        ``parquet``: as pandas writes it; columns that Parquet has no type for are written as text.
        ``xlsx``: text as in ``csv``; dates and times are dates of Excel where it can hold them exactly, else text, as
        are times with a zone, integers beyond 2**53 and what is not finite; empty for what is missing.

    Raises
    ------
    ArgumentError
        There is no such format, a value is nested too deeply for it, or the frame is larger than a sheet of Excel.
    ConfigError
        The file cannot be written, or what writes the format is missing: pyarrow for Parquet, xlsxwriter for Excel.
    """
    if format not in _FORMATS:
        raise ArgumentError(f"There is no format {quote(format)}.", f"Formats are {listed(_FORMATS)}.")
    try:
        content = _FORMATS[format](_labelled(frame))
    except RecursionError as error:
        raise ArgumentError(f"The frame holds a value nested too deeply for {format}.") from error
    if isinstance(target, Path):
        try:
            replace_bytes(target.expanduser(), content)
        except OSError as error:
            raise ConfigError(
                f"Cannot write {quote(target, 300)}: {error.strerror}.", "Name a file in a folder you can write to."
            ) from error
    elif not isinstance(target, io.TextIOBase):
        target.write(content)  # type: ignore[arg-type]  # a stream that is not of text is of bytes
    elif format not in BINARY:
        target.write(content.decode())
    elif (buffer := getattr(target, "buffer", None)) is not None:
        buffer.write(content)
    else:
        raise ConfigError(f"{NAMES[format]} is bytes, and this stream takes text.", "Name a file to write it to.")


def _labelled(frame: pd.DataFrame) -> pd.DataFrame:
    plain = isinstance(frame.index, pd.RangeIndex) and frame.index.name is None
    return frame if plain else frame.reset_index()


# Cells


def _cells(column: pd.Series[Any]) -> list[Any]:
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return _times(column)
    return [_plain(value) for value in column.astype(object)]


def _times(column: pd.Series[Any]) -> list[str | None]:
    naive = column.dt.tz is None
    days = naive and bool((column.dropna() == column.dropna().dt.normalize()).all())
    return [None if pd.isna(time) else time.isoformat()[: 10 if days else None] for time in column]


def _plain(value: Any) -> Any:
    # As JSON has it, None for what is missing, and text for what JSON has no type for.
    if isinstance(value, int | float | str):
        return None if isinstance(value, float) and math.isnan(value) else value
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    return _foreign(value)


def _foreign(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value.isoformat() if isinstance(value, dt.date | dt.time) else str(value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)


def _columns(frame: pd.DataFrame) -> list[tuple[str, list[Any]]]:
    # By position, since a frame may hold two columns of one name.
    return [(str(name), _cells(frame.iloc[:, place])) for place, name in enumerate(frame.columns)]


def _bytes(text: str) -> bytes:
    return _SURROGATE.sub("\ufffd", text).encode()


# Formats


def _table(frame: pd.DataFrame) -> bytes:
    columns = []
    for name, cells in _columns(frame):
        numbers = all(value is None or isinstance(value, int | float) for value in cells)
        texts = [inert(text) for text in (name, *map(_text, cells))]
        width = max(map(len, texts))
        columns.append([text.rjust(width) if numbers else text.ljust(width) for text in texts])
    return _bytes("".join(_GAP.join(row).rstrip() + "\n" for row in zip(*columns, strict=True)))


def _csv(frame: pd.DataFrame) -> bytes:
    columns = [[_csv_cell(cell) for cell in (name, *cells)] for name, cells in _columns(frame)]
    lines = (",".join(row) or '""' for row in zip(*columns, strict=True))  # readers skip an empty line
    return _bytes("".join(line + "\n" for line in lines))


def _csv_cell(value: Any) -> str:
    if isinstance(value, int | float):
        return str(value)
    text = _unarmed(_text(value))
    # The csv module does not quote a carriage return unless lines end in one.
    return '"' + text.replace('"', '""') + '"' if _CSV_SPECIAL.search(text) else text


def _unarmed(text: str) -> str:
    text = text.replace("\0", "")
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _json(frame: pd.DataFrame) -> bytes:
    columns = _columns(frame)
    names = [name for name, _ in columns]
    rows = zip(*(cells for _, cells in columns), strict=True)
    records = ",\n".join(_record(dict(zip(names, row, strict=True))) for row in rows)
    return _bytes(f"[\n{records}\n]\n" if records else "[]\n")


def _record(record: dict[str, Any]) -> str:
    try:
        return json.dumps(record, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(record), ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _parquet(frame: pd.DataFrame) -> bytes:
    if importlib.util.find_spec("pyarrow") is None:
        raise ConfigError("Parquet needs pyarrow, which is not installed.", "Install it: pip install pyarrow")
    import pyarrow as pa  # noqa: PLC0415 - optional

    frame = frame.copy(deep=False)
    frame.columns = pd.Index([str(name) for name in frame.columns])
    frame.attrs = _finite(_plain(frame.attrs))  # pandas writes them as JSON into the file's metadata
    for place, name in enumerate(frame.columns):
        column = frame.iloc[:, place]
        if column.dtype == object:
            try:
                pa.array(column, from_pandas=True)
            except (pa.ArrowException, OverflowError, UnicodeError):
                texts = [None if cell is None else _SURROGATE.sub("\ufffd", _text(cell)) for cell in _cells(column)]
                frame[name] = pd.array(texts, dtype=pd.StringDtype())
    file = io.BytesIO()
    frame.to_parquet(file, engine="pyarrow", index=False)
    return file.getvalue()


def _xlsx(frame: pd.DataFrame) -> bytes:
    try:
        import xlsxwriter  # noqa: PLC0415 - optional
    except ModuleNotFoundError:
        hint = "Install it: pip install 'jupyter-funcs[excel]'"
        raise ConfigError("Excel needs xlsxwriter, which is not installed.", hint) from None
    rows, columns = frame.shape
    for number, most, what in ((rows + 1, _SHEET_ROWS, "rows"), (columns, _SHEET_COLUMNS, "columns")):
        if number > most:
            raise ArgumentError(f"A sheet of Excel holds {most:,} {what}, this is {number:,}.", "Save it as CSV.")
    file = io.BytesIO()
    # A text is a text, whatever it looks like: no formula, no link.
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with xlsxwriter.Workbook(file, options) as book:
        sheet = book.add_worksheet("Data")
        sheet.freeze_panes(1, 0)
        bold = book.add_format({"bold": True})
        formats = [book.add_format({"num_format": text}) for text in ("yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss.000")]
        for place, name in enumerate(frame.columns):
            _write_text(sheet, (0, place), str(name), bold)
            cells, form = _excel_cells(frame.iloc[:, place])
            for row, cell in enumerate(cells, start=1):
                _write_excel(sheet, (row, place), cell, formats[form])
    return file.getvalue()


def _excel_cells(column: pd.Series[Any]) -> tuple[list[Any], int]:
    """Give a column as numbers, texts and times that Excel holds exactly, and which of the formats its times have."""
    if not pd.api.types.is_datetime64_any_dtype(column.dtype):
        return _cells(column), 0
    known = column.dropna()
    if column.dt.tz is None and bool(known.between(*_SHEET_TIMES).all() and (known == known.dt.floor("ms")).all()):
        is_day = bool((known == known.dt.normalize()).all())
        return [None if pd.isna(time) else time.to_pydatetime() for time in column], 0 if is_day else 1
    return _times(column), 0


def _write_excel(sheet: Any, at: tuple[int, int], cell: Any, form: Any) -> None:
    if cell is None:
        return
    if isinstance(cell, bool):
        sheet.write_boolean(*at, cell)
    elif isinstance(cell, dt.datetime):
        sheet.write_datetime(*at, cell, form)
    elif isinstance(cell, int | float) and math.isfinite(cell) and (isinstance(cell, float) or abs(cell) <= 2**53):
        sheet.write_number(*at, cell)
    elif isinstance(cell, int | float):
        sheet.write_string(*at, str(cell))
    else:
        _write_text(sheet, at, _text(cell))


def _write_text(sheet: Any, at: tuple[int, int], text: str, form: Any = None) -> None:
    written = _SURROGATE.sub("\ufffd", _unarmed(text))
    if len(written) > _SHEET_TEXT:
        where = f"row {at[0]:,} of column {at[1] + 1:,}"
        raise ArgumentError(f"A cell of Excel holds {_SHEET_TEXT:,} characters, {where} has more.", "Save it as CSV.")
    sheet.write_string(*at, written, form)


_FORMATS: dict[str, Callable[[pd.DataFrame], bytes]] = {
    "table": _table,
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
    "xlsx": _xlsx,
}

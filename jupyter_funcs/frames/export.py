"""Export a DataFrame to a file or a stream: a text table, CSV, JSON, Parquet or Excel; the whole file or nothing."""

from __future__ import annotations

import datetime as dt
import importlib.util
import io
import json
import math
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TextIO

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_datetime64_any_dtype, is_string_dtype

from jupyter_funcs.core.errors import ArgumentError, ConfigError
from jupyter_funcs.core.files import atomic_write_bytes
from jupyter_funcs.core.text import (
    distinct,
    inert,
    json_escape,
    listed,
    python_escape,
    quote,
    replace_surrogates,
    visible,
)
from jupyter_funcs.frames.columns import MAX_EXACT, labelled
from jupyter_funcs.frames.display import format_of
from jupyter_funcs.frames.media import file_of
from jupyter_funcs.frames.roles import are_days, flat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from jupyter_funcs.frames.columns import Series

Format = Literal["table", "csv", "json", "parquet", "xlsx", "file"]
BINARY: dict[Format, str] = {"xlsx": "Excel", "parquet": "Parquet"}

# A terminal acts on control characters; JSON's escapes stand for the same data.
_ESCAPES: dict[Format, Callable[[str], str]] = {"json": json_escape}
_NOT_PARQUET = "Save it as CSV or Excel instead."
_CSV_SPECIAL = re.compile('[,;"\t\r\n]')
_TSV_SPECIAL = re.compile('["\t\r\n]')
# What makes a spreadsheet run a cell, also fullwidth, after characters that it may skip.
_SKIPPED = r"[ \"\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\xa0\xad\u1680\u180e\u2000-\u200f\u2028-\u206f\u3000\ufeff]*"
_FORMULA = rf"{_SKIPPED}[=+\-@\uff1d\uff0b\uff0d\uff20]"
# Where the separator is a semicolon or a tab, quotes don't stop it; the first cell of a file may choose another one.
_ARMED = re.compile(rf"[\t\r\n]|(?i:sep=)|{_FORMULA}")
_ARMED_INSIDE = re.compile(rf"[;\t\r\n](?={_FORMULA})")
_MISSING = (type(None), type(pd.NA), type(pd.NaT))
# The limits of Excel: rows with the header, columns, characters of a cell, and dates that its calendar gets right.
_SHEET_ROWS = 1_048_576
_SHEET_COLUMNS = 16_384
_SHEET_TEXT = 32_767
_SHEET_TIMES = (
    pd.Timestamp("1900-03-01"),
    pd.Timestamp("9999-12-31 23:59:59.999").as_unit("ms"),
)
# By the type of a cell, and of numbers by what their column reads as.
_SHEET_FORMATS = {
    dt.date: "yyyy-mm-dd",
    dt.datetime: "yyyy-mm-dd hh:mm:ss.000",
    "money": "#,##0.00",
    "count": "#,##0",
    "percent": "0.0%",
}
_CELLS_MEASURED = 1000
_WIDEST = 60


def save(frame: pd.DataFrame, target: Path | TextIO | BinaryIO, format: Format) -> None:  # noqa: A002  # its name
    """
    Write `frame` to a file or a stream.

    Row labels, unless they are plain row numbers, become the first columns. Times that are all at midnight are written
    as dates, others as ISO-8601; integers are exact. Names of several levels are joined by blanks. Text is UTF-8; a
    lone surrogate becomes U+FFFD. A terminal shows escapes in place of control and invisible characters. The format
    ``file`` writes a result that is a text or a file (`media.file_of`) as it came.
    """
    if format not in _FORMATS:
        raise ArgumentError(
            f"There is no format {quote(format)}.", f"Formats are {listed(_FORMATS)}."
        )

    frame = labelled(frame)
    if frame.columns.nlevels > 1:
        frame = flat(frame)
    try:
        content = _FORMATS[format](frame)
    except RecursionError as error:
        raise ArgumentError(
            f"The frame contains a value nested too deeply for {format}."
        ) from error

    if isinstance(target, Path):
        try:
            atomic_write_bytes(target.expanduser(), content)
        except OSError as error:
            raise ConfigError(
                f"Cannot write {quote(target, 300)}: {error.strerror}.",
                "Name a file in a folder you can write to.",
            ) from error
    elif not isinstance(target, io.TextIOBase):
        target.write(content)  # type: ignore[arg-type]  # any other stream is binary
    elif format not in BINARY:
        text = content.decode()

        if target.isatty():
            text = visible(text, _ESCAPES.get(format, python_escape))
        target.write(text)
    elif (buffer := getattr(target, "buffer", None)) is not None:
        buffer.write(content)
    else:
        raise ConfigError(
            f"{BINARY[format]} is binary, and this stream takes text.",
            "Name a file to write it to.",
        )


def _file(frame: pd.DataFrame) -> bytes:
    if file := file_of(frame):
        return file.content
    raise ArgumentError(
        "The result is a table, not a file.",
        f"Formats of tables are {listed([*_FORMATS][:-1])}.",
    )


def _columns(frame: pd.DataFrame) -> list[tuple[str, list[Any]]]:
    return [(str(name), _cells(column)) for name, column in frame.items()]


def _cells(column: Series) -> list[Any]:
    if is_datetime64_any_dtype(column.dtype):
        length = 10 if are_days(column) else None
        return [None if pd.isna(time) else time.isoformat()[:length] for time in column]
    return [*map(_plain, column.astype(object))]


def _plain(value: Any) -> Any:  # noqa: PLR0911 - one per kind of value
    """Return a value in its JSON type: None if missing, text if JSON has no type for it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, int | float | str):  # most cells
        return value
    if isinstance(value, _MISSING):
        return None
    match value:
        case dict():
            return {str(key): _finite(_plain(item)) for key, item in value.items()}
        case list() | tuple() | set() | np.ndarray():
            return [_finite(_plain(item)) for item in value]
        case bytes():
            return value.decode(errors="replace")
        case dt.date() | dt.time():
            return value.isoformat()

    return str(value)


def cell_text(value: Any) -> str:
    """Return the text of a cell."""
    if value is None:
        return ""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def unarmed(value: Any) -> str:
    """Return the text of a cell without NUL, and with an apostrophe where a spreadsheet could begin a formula."""
    text = _ARMED_INSIDE.sub(r"\g<0>'", cell_text(value).replace("\0", ""))
    if _ARMED.match(text):
        return f"'{text}"
    return text


def _table(frame: pd.DataFrame) -> bytes:
    columns = []
    for name, cells in _columns(frame):
        texts = [inert(text) for text in (name, *map(cell_text, cells))]
        align = str.ljust
        if all(isinstance(value, int | float | None) for value in cells):
            align = str.rjust
        width = max(map(len, texts))
        columns.append([align(text, width) for text in texts])

    return _lines("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def _lines(lines: Iterable[str]) -> bytes:
    return replace_surrogates("".join(f"{line}\n" for line in lines)).encode()


def _csv(frame: pd.DataFrame) -> bytes:
    columns = [
        [_csv_cell(cell) for cell in (name, *cells)] for name, cells in _columns(frame)
    ]
    # Readers skip an empty line.
    return _lines(",".join(row) or '""' for row in zip(*columns, strict=True))


def tabbed(columns: Iterable[Series]) -> str:
    """Return columns as tab-separated text for a spreadsheet, without their names."""
    cells = [
        [_csv_cell(cell, _TSV_SPECIAL) for cell in _cells(column)] for column in columns
    ]
    return "".join("\t".join(row) + "\n" for row in zip(*cells, strict=True))


def _csv_cell(value: Any, special: re.Pattern[str] = _CSV_SPECIAL) -> str:
    if isinstance(value, int | float):
        return str(value)
    text = unarmed(value)
    # The csv module, and so pandas, does not quote a carriage return before Python 3.13.
    if special.search(text):
        text = text.replace('"', '""')
        return f'"{text}"'

    return text


def _json(frame: pd.DataFrame) -> bytes:
    columns = _columns(frame)
    names = [*distinct([name for name, _ in columns], "{}.{}", 1)]
    records = [
        json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False)
        for row in zip(*(map(_finite, cells) for _, cells in columns), strict=True)
    ]
    if not records:
        return b"[]\n"
    return _lines(["[", ",\n".join(records), "]"])


def _finite(value: Any) -> Any:
    if isinstance(value, float) and math.isinf(value):
        return None
    return value


def _parquet(frame: pd.DataFrame) -> bytes:
    if importlib.util.find_spec("pyarrow") is None:
        raise ConfigError(
            "Parquet needs pyarrow, which is not installed.",
            "Install it: pip install pyarrow",
        )

    import pyarrow as pa

    frame = frame.copy(deep=False)
    frame.columns = pd.Index([str(name) for name in frame.columns])
    for name in frame.columns[frame.columns.duplicated()]:
        raise ArgumentError(
            f"Parquet can't store two columns named {quote(name)}.", _NOT_PARQUET
        )

    # Pandas writes them as JSON into the file's metadata.
    frame.attrs = _plain(frame.attrs)
    for label, column in frame.items():
        if is_string_dtype(column.dtype):  # or of objects
            try:
                pa.array(column, from_pandas=True)
            except (pa.ArrowException, OverflowError, UnicodeError):
                texts = [
                    None if cell is None else replace_surrogates(cell_text(cell))
                    for cell in _cells(column)
                ]
                frame[label] = pd.array(texts, dtype=pd.StringDtype())

    file = io.BytesIO()
    try:
        frame.to_parquet(file, engine="pyarrow", index=False)
    except (pa.ArrowException, TypeError) as error:
        if len(frame.columns) > 1:
            for name in frame.columns:
                _parquet(frame[[name]])  # raises if the failure is that of this column
        which = f"{quote(frame.columns[0])} ({frame.dtypes.iloc[0]})"
        what = f"Parquet can't store the column {which}: {inert(str(error.args[0]))}"
        raise ArgumentError(what, _NOT_PARQUET) from error

    return file.getvalue()


def _xlsx(frame: pd.DataFrame) -> bytes:
    try:
        import xlsxwriter
    except ModuleNotFoundError:
        hint = "Install it: pip install 'jupyter-funcs[excel]'"
        raise ConfigError(
            "Excel needs xlsxwriter, which is not installed.", hint
        ) from None

    rows, columns = frame.shape
    for number, most, what in (
        (rows + 1, _SHEET_ROWS, "rows"),
        (columns, _SHEET_COLUMNS, "columns"),
    ):
        if number > most:
            raise ArgumentError(
                f"An Excel sheet has at most {most:,} {what}, not {number:,}.",
                "Save it as CSV.",
            )

    file = io.BytesIO()
    # A text stays a text, whatever it looks like: no formulas, links or numbers.
    options = {
        "in_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
    }
    with xlsxwriter.Workbook(file, options) as book:
        sheet = book.add_worksheet("Data")
        sheet.freeze_panes(1, 0)
        sheet.autofilter(0, 0, rows, max(columns - 1, 0))
        bold = book.add_format({"bold": True})
        formats: dict[object, Any] = {
            kind: book.add_format({"num_format": text})
            for kind, text in _SHEET_FORMATS.items()
        }
        for place, (name, column) in enumerate(frame.items()):
            sheet.write_string(0, place, _excel_cell(str(name), 0, place), bold)
            cells = _excel_cells(column, place)
            width = _excel_width(str(name), cells)
            sheet.set_column(place, place, width, formats.get(format_of(column).type))
            for row, cell in enumerate(cells, start=1):
                if isinstance(cell, str):
                    sheet.write_string(row, place, cell)
                elif cell is not None:
                    sheet.write(row, place, cell, formats.get(type(cell)))

    return file.getvalue()


def _excel_width(name: str, cells: Sequence[Any]) -> int:
    """Return the width of a column, in characters; the button of the filter takes two."""
    texts = [
        f"{cell:,.2f}" if isinstance(cell, int | float) else str(cell)
        for cell in cells[:_CELLS_MEASURED]
    ]
    return min(max(map(len, [f"{name}  ", *texts])) + 1, _WIDEST)


def _excel_cells(column: Series, place: int) -> list[Any]:
    """Return a column as the numbers, booleans, times and texts that Excel holds exactly."""
    if infer_dtype(column, skipna=True) == "date":
        with suppress(ValueError):  # times of several zones among them
            column = column.astype("datetime64[us]")

    if is_datetime64_any_dtype(column.dtype) and column.dt.tz is None:
        present = column.dropna()
        if bool(
            present.between(*_SHEET_TIMES).all()
            and (present == present.dt.floor("ms")).all()
        ):
            plain: Callable[..., Any] = pd.Timestamp.to_pydatetime
            if are_days(column):
                plain = pd.Timestamp.date
            return [None if pd.isna(time) else plain(time) for time in column]

    return [
        _excel_cell(value, row, place)
        for row, value in enumerate(_cells(column), start=1)
    ]


def _excel_cell(value: Any, row: int, place: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    is_large = isinstance(value, int) and abs(value) > MAX_EXACT
    if isinstance(value, int | float):
        if is_large or math.isinf(value):
            return str(value)
        return value

    text = replace_surrogates(unarmed(value))
    if len(text) > _SHEET_TEXT:
        where = f"row {row:,} of column {place + 1:,}"
        raise ArgumentError(
            f"Excel allows {_SHEET_TEXT:,} characters per cell; {where} has more.",
            "Save it as CSV.",
        )

    return text


_FORMATS: dict[str, Callable[[pd.DataFrame], bytes]] = {
    "table": _table,
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
    "xlsx": _xlsx,
    "file": _file,
}

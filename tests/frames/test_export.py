"""
Saved files read back exactly, contain nothing that runs, and are written whole or not at all.

The CSV cases include rows 95 and 131 of the catalogue of faults.
"""

from __future__ import annotations

import csv
import datetime as dt
import importlib.util
import io
import itertools
import json
import os
import re
import stat
import sys
import zipfile
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_funcs.core.errors import ArgumentError, ConfigError
from jupyter_funcs.frames.export import save
from jupyter_funcs.frames.frame import to_frame
from tests.growth import assert_linear

ROWS = [
    {
        "Date": "2024-01-01",
        "At": "2024-01-01T10:00:00+01:00",
        "Brand": "Ä",
        "n": 2**53 + 1,
        "x": 0.1,
        "ok": True,
    },
    {"Date": None, "At": None, "Brand": None, "n": None, "x": None, "ok": None},
]
ODD = [
    {"big": 2**70, "nested": [{"a": [1, None]}], "mixed": 1},
    {"big": None, "nested": None, "mixed": "é"},
]
FORMATS = ["table", "csv", "json", "parquet", "xlsx"]


def frame_of(rows: Any) -> pd.DataFrame:
    return to_frame(json.dumps(rows))


def saved(frame: pd.DataFrame, form: Any) -> str:
    stream = io.StringIO()
    save(frame, stream, form)
    return stream.getvalue()


# CSV


def test_csv_holds_dates_as_days_numbers_whole_and_nothing_for_null() -> None:
    assert saved(frame_of(ROWS), "csv") == (
        "Date,At,Brand,n,x,ok\n2024-01-01,2024-01-01T09:00:00+00:00,Ä,9007199254740993,0.1,True\n,,,,,\n"
    )
    assert saved(frame_of(ODD), "csv") == (
        'big,nested,mixed\n1180591620717411303424,"[{""a"": [1, null]}]",1\n,,é\n'
    )


# Beginnings of cells that a spreadsheet would run, and the same text elsewhere in a cell.
RUNS = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    '"=1',
    "\n1",
    "  =1",
    "\ufeff=1",
    "\uff1d1",
    "\uff0b1",
    "\uff0d1",
    "\uff20A1",
    "SEP=|",
]
WRITTEN = {cell: f"'{cell}" for cell in RUNS} | {
    "\t=1": "'\t'=1",
    "\r=1": "'\r'=1",
    "\n=1": "'\n'=1",
    "\0=1": "'=1",
    "\0\u200b\xa0\u3000+1": "'\u200b\xa0\u3000+1",
    "a\0b": "ab",
    "a;=1": "a;'=1",
    "a; =1;b\t\uff1d1": "a;' =1;b\t'\uff1d1",
    "a\n-1": "a\n'-1",
    'a;"=1': "a;'\"=1",
}
WRITTEN |= {cell: cell for cell in ("", "a=1", "a; b = 1", "two\nlines, and a comma")}


@pytest.mark.parametrize(("cell", "written"), WRITTEN.items())
def test_csv_text_that_a_spreadsheet_would_run_is_escaped_in_cells_and_headers(
    cell: str, written: str
) -> None:
    """FAULTS 95, 131."""
    frame = pd.DataFrame(
        {
            cell: pd.Series([cell], dtype="string"),
            "mixed": pd.Series([cell], dtype=object),
        }
    )
    assert list(csv.reader(io.StringIO(saved(frame, "csv"), newline=""))) == [
        [written, "mixed"],
        [written, written],
    ]


def test_csv_has_no_formula_for_any_spreadsheet() -> None:
    """Whether cells are separated by commas, semicolons or tabs, with quotes or without (FAULTS 131)."""
    signs = "=-\uff1d\uff20;\t\r\n\0\ufeff\xa0 ,\"'a"
    cells = [
        "".join(letters)
        for length in (1, 2, 3)
        for letters in itertools.product(signs, repeat=length)
    ]
    text = saved(
        pd.DataFrame({"x": "x", "first": cells, "=last": cells}).set_index("first"),
        "csv",
    )
    parsed = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    assert len(parsed) == 3 * len(cells) + 3
    for separator in ";\t":
        parsed += [
            cell
            for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator)
            for cell in row
        ]
        parsed += re.split(f"[{separator}\r\n]", text)
    for cell in parsed:
        assert not re.match(r'[\s\0\ufeff"]*[=+\-@\uff1d\uff0b\uff0d\uff20]', cell), (
            cell
        )


@pytest.mark.slow
def test_escaping_takes_time_in_proportion_to_the_text() -> None:
    """A cell of a million blanks or line ends is read once (FAULTS 131)."""

    def save(pump: str, length: int) -> None:
        saved(pd.DataFrame({"a": pd.Series([pump * length], dtype=object)}), "csv")

    for pump in (" ", "\n", "; ", '"'):
        assert_linear(partial(save, pump), 10**6)


def test_csv_of_one_column_keeps_the_rows_without_a_value() -> None:
    assert saved(frame_of([{"a": "x"}, {"a": None}]), "csv") == 'a\nx\n""\n'


def test_csv_numbers_are_never_touched() -> None:
    frame = pd.DataFrame(
        {
            "a": [-1],
            "b": [-0.5],
            "c": pd.Series([-(2**70)], dtype=object),
            "d": [-1e300],
        }
    )
    assert saved(frame, "csv") == f"a,b,c,d\n-1,-0.5,{-(2**70)},-1e+300\n"


@given(
    st.lists(
        st.tuples(st.text(), st.integers(), st.floats(allow_nan=False)), min_size=1
    )
)
def test_csv_reads_back_exactly(rows: list[tuple[str, int, float]]) -> None:
    frame = pd.DataFrame(rows, columns=["t", "i", "f"], dtype=object)
    _, *records = csv.reader(io.StringIO(saved(frame, "csv"), newline=""))
    for (text, whole, number), cells in zip(rows, records, strict=True):
        assert cells[0].replace("'", "") == text.replace("\0", "").replace("'", "")
        assert int(cells[1]) == whole
        assert float(cells[2]) == number


# JSON


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        ODD,
        [],
        [{"Date": "2024-01-01T00:00:00.5"}],
        [{"a": {"b": [{"c": 2**70}]}}],
    ],
)
def test_json_is_the_records_and_reads_back_as_the_same_frame(
    rows: list[dict[str, Any]],
) -> None:
    frame = frame_of(rows)
    text = saved(frame, "json")
    again = to_frame(text)
    pd.testing.assert_frame_equal(again, frame)
    assert text.count("\n") == (len(rows) + 2 if rows else 1)


def test_json_is_valid_for_any_data() -> None:
    frame = pd.DataFrame(
        {
            "floats": [np.inf, np.nan],
            "text": pd.Series(["\ud800", "\x00"], dtype=object),
            "nested": [
                {"a": float("nan"), 1: (np.int64(2), {3})},
                np.array([1.5, np.inf]),
            ],
            "times": [pd.Timestamp("2024-01-01"), b"\xff"],
            "spans": pd.to_timedelta([1, 2], unit="h"),
            "kinds": pd.Categorical(["x", None]),
        }
    )
    read = json.loads(saved(frame, "json"), parse_constant=pytest.fail)
    assert list(read[0]) == list(read[1]) == list(frame)
    assert [list(row.values()) for row in read] == [
        [
            None,
            "\ufffd",
            {"a": None, "1": [2, [3]]},
            "2024-01-01T00:00:00",
            "0 days 01:00:00",
            "x",
        ],
        [None, "\x00", [1.5, None], "\ufffd", "0 days 02:00:00", None],
    ]


def test_json_times_are_days_only_where_all_are_at_midnight() -> None:
    frame = pd.DataFrame(
        {
            "d": pd.to_datetime(["2024-01-01", None]),
            "t": pd.to_datetime(["2024-01-01T00:00", "2024-01-01T10:00"]),
        }
    )
    assert [list(row.values()) for row in json.loads(saved(frame, "json"))] == [
        ["2024-01-01", "2024-01-01T00:00:00"],
        [None, "2024-01-01T10:00:00"],
    ]


# Names of two levels


@pytest.mark.parametrize("form", FORMATS)
def test_columns_of_two_levels_have_the_names_of_the_table(
    form: Any, tmp_path: Path
) -> None:
    """Levels are joined by blanks, also those of row labels; equal names get a number."""
    for needed in ("xlsxwriter", "openpyxl") if form == "xlsx" else ():
        pytest.importorskip(needed)
    columns = pd.MultiIndex.from_tuples([("v", "x"), ("d", ""), (1, 2), ("v x", "")])
    frame = pd.DataFrame(
        [[1, 2, 3, 4]], columns=columns, index=pd.Index(["a"], name="key")
    )
    save(frame, path := tmp_path / "a", form)
    read = {
        "table": lambda: re.split("  +", path.read_text().splitlines()[0]),
        "csv": lambda: pd.read_csv(path).columns,
        "json": lambda: pd.read_json(path).columns,
        "parquet": lambda: pd.read_parquet(path).columns,
        "xlsx": lambda: pd.read_excel(path).columns,
    }
    assert list(read[form]()) == ["key", "v x", "d", "1 2", "v x (2)"]
    assert frame.columns is columns


# Parquet


def test_parquet_reads_back_with_the_same_types_and_attrs(tmp_path: Path) -> None:
    frame = frame_of(ROWS)
    frame.attrs["funcs"] = {"function": "Get Panels", "args": {}, "seconds": 0.5}
    save(frame, tmp_path / "a.parquet", "parquet")
    again = pd.read_parquet(tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(again, frame)
    assert again.attrs == frame.attrs


def test_parquet_takes_any_data_and_any_attrs() -> None:
    frame = pd.DataFrame(
        {
            "big": pd.Series([2**70, None], dtype=object),
            "mixed": [1, "a"],
            "text": pd.Series(["\ud800", None], dtype=object),
            "string": pd.Series(["\ud800", None], dtype="string[python]"),
            "nested": [{"a": 1}, None],
        }
    )
    frame.attrs = {
        "funcs": {"odd": object(), "nan": float("nan"), "number": np.float64(1.5)}
    }
    before = frame.copy()
    stream = io.BytesIO()
    save(frame, stream, "parquet")
    again = pd.read_parquet(stream)
    assert again["big"][0] == str(2**70)
    assert list(again["mixed"]) == ["1", "a"]
    assert again["text"][0] == again["string"][0] == "\ufffd"
    assert again["nested"][0] == {"a": 1}
    assert again.attrs["funcs"]["number"] == 1.5
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (
            pd.DataFrame({"a": [1], "z": [1j]}),
            r"column 'z' \(complex128\): Unsupported numpy type",
        ),
        (
            pd.DataFrame({"a": [1], "e": [{}]}),
            r"column 'e' \(object\): Cannot write struct type",
        ),
        (
            pd.DataFrame({"a": [1], "c": pd.Categorical(["x"], ["x", 1])}),
            r"column 'c' \(category\): ",
        ),
        (
            pd.DataFrame({"a": [1], "s": pd.arrays.SparseArray([1])}),
            r"column 's' \(Sparse.*\): Sparse pandas data",
        ),
        (
            pd.DataFrame([["x", 2j, 1]], columns=["a", "a", "b"]),
            "two columns named 'a'",
        ),
        (pd.DataFrame([[2, 1]], columns=["1", 1]), "two columns named '1'"),
    ],
    ids=["complex", "empty objects", "categories", "sparse", "names", "numbered"],
)
def test_parquet_names_the_column_that_it_cannot_store(
    frame: pd.DataFrame, message: str, tmp_path: Path
) -> None:
    """The error has two lines, with a way out that works, and nothing is written."""
    with pytest.raises(ArgumentError, match=message) as caught:
        save(frame, tmp_path / "a.parquet", "parquet")
    assert caught.value.lines[1:] == ["Save it as CSV or Excel instead."]
    assert list(tmp_path.iterdir()) == []
    assert saved(frame, "csv")


def test_parquet_without_pyarrow_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match="pip install pyarrow"):
        save(frame_of(ROWS), tmp_path / "a.parquet", "parquet")
    assert list(tmp_path.iterdir()) == []


# Table


def test_a_table_shows_every_column_aligned_numbers_to_the_right() -> None:
    frame = frame_of(
        [
            {"Brand": "a", "Spend": 10.5, "n": 1},
            {"Brand": "long", "Spend": None, "n": 100},
        ]
    )
    assert saved(frame, "table") == (
        "Brand  Spend    n\n"
        "a       10.5    1\n"
        "long          100\n"
    )  # fmt: skip
    wide = saved(
        frame_of([{f"column {place}": "x" * 60 for place in range(50)}] * 200), "table"
    )
    assert len(wide.splitlines()) == 201
    assert "..." not in wide


def test_a_table_holds_nothing_that_a_terminal_would_obey() -> None:
    text = saved(
        frame_of([{"\x1b[31m": "a\nb\x1b]0;title\x07\u202e", "n": {"x": "\x1b"}}]),
        "table",
    )
    assert len(text.splitlines()) == 2
    assert all(char.isprintable() for char in text.replace("\n", ""))


# Excel


def cells(frame: pd.DataFrame) -> dict[str, tuple[str, str, str]]:
    """Return the type, text and number format of each cell in a saved sheet."""
    pytest.importorskip("xlsxwriter")
    stream = io.BytesIO()
    save(frame, stream, "xlsx")
    name = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    with zipfile.ZipFile(stream) as parts:
        read = {
            part: ET.fromstring(parts.read(part))
            for part in parts.namelist()
            if part.endswith(".xml")
        }
    sheet = read["xl/worksheets/sheet1.xml"]
    styles = read["xl/styles.xml"]
    assert not list(sheet.iter(f"{name}f")), "no cell is a formula"
    assert not list(sheet.iter(f"{name}hyperlink")), "no cell is a link"
    shared = read["xl/sharedStrings.xml"].iter(f"{name}si")
    texts = [
        "".join(part.text or "" for part in string.iter(f"{name}t"))
        for string in shared
    ]
    formats = {
        number_format.get("numFmtId"): number_format.get("formatCode", "")
        for number_format in styles.iter(f"{name}numFmt")
    }
    of_style = [
        formats.get(cell_format.get("numFmtId"), "")
        for cell_format in next(styles.iter(f"{name}cellXfs"))
    ]
    contents = {}
    for cell in sheet.iter(f"{name}c"):
        value = cell.findtext(f"{name}v") or ""
        kind = cell.get("t", "n")
        contents[cell.get("r", "")] = (
            kind,
            texts[int(value)] if kind == "s" else value,
            of_style[int(cell.get("s", 0))],
        )
    return contents


def test_excel_holds_numbers_dates_and_truth_as_such_and_nothing_for_null() -> None:
    """Numbers, days, times and booleans are cells of their type; nulls have no cells."""
    frame = pd.DataFrame(
        {
            "n": pd.array([3, None], dtype="Int64"),
            "x": [-0.5, np.nan],
            "day": pd.to_datetime(["2024-01-02", None]),
            "at": pd.to_datetime(["2024-01-02 12:00", None]),
            "ok": pd.array([True, None], dtype="boolean"),
        }
    )
    sheet = cells(frame)
    assert [sheet[f"{column}1"][1] for column in "ABCDE"] == list(frame.columns)
    assert {at: cell for at, cell in sheet.items() if at.endswith("2")} == {
        "A2": ("n", "3", "#,##0"),
        "B2": ("n", "-0.5", ""),
        "C2": ("n", "45293", "yyyy-mm-dd"),
        "D2": ("n", "45293.5", "yyyy-mm-dd hh:mm:ss.000"),
        "E2": ("b", "1", ""),
    }
    assert not [at for at in sheet if at.endswith("3")]


def test_excel_shows_growth_in_percent_below_a_header_that_stays_and_filters() -> None:
    """Growth that is in percent already is unchanged. Amounts and counts have separators, years and ratios none."""
    frame = pd.DataFrame(
        {"Spend Growth": [0.097, -0.02], "Growth (%)": [9.5, 5.0], "x": [0.5, 1]}
    )
    amounts = {"Spend": [1234567.891, -5.0], "Orders": [1234567, 2], "Year": [2024] * 2}
    sheet = cells(frame.assign(**amounts))
    assert [sheet[f"{column}2"][1:] for column in "ABCDEF"] == [
        ("0.097", "0.0%"),
        ("9.5", ""),
        ("0.5", ""),
        ("1234567.891", "#,##0.00"),
        ("1234567", "#,##0"),
        ("2024", ""),
    ]
    save(frame, stream := io.BytesIO(), "xlsx")
    with zipfile.ZipFile(stream) as parts:
        xml = parts.read("xl/worksheets/sheet1.xml").decode()
    assert '<autoFilter ref="A1:C3"/>' in xml
    assert 'state="frozen"' in xml


def test_excel_holds_dates_of_python_as_dates() -> None:
    """As a database sends them; dates beyond Excel's calendar, and times of several zones, are texts."""
    day = dt.date(2024, 1, 2)
    noon = pd.Timestamp("2024-01-02 12:00").to_pydatetime()
    for values, last in (
        ([None, day], ("n", "45293", "yyyy-mm-dd")),
        ([day, dt.date(9999, 12, 31)], ("n", "2958465", "yyyy-mm-dd")),
        ([day, noon], ("n", "45293.5", "yyyy-mm-dd hh:mm:ss.000")),
        ([dt.date(1, 1, 1), day], ("s", "2024-01-02", "")),
        ([day, noon.replace(tzinfo=dt.UTC)], ("s", "2024-01-02T12:00:00+00:00", "")),
    ):
        assert (
            cells(pd.DataFrame({"day": pd.Series(values, dtype=object)}))["A3"] == last
        )


def test_pandas_reads_what_was_saved_for_excel() -> None:
    """`pd.read_excel` needs no engine, only what `[excel]` installs, and returns what was saved."""
    pytest.importorskip("xlsxwriter")
    pytest.importorskip("openpyxl")
    days = pd.to_datetime(["2024-01-02", "2024-01-03"])
    frame = pd.DataFrame(
        {
            "day": days,
            "code": ["a", "=1+1"],
            "n": [3, 4],
            "x": [-0.5, np.nan],
            "ok": [True, False],
        }
    )
    save(frame, stream := io.BytesIO(), "xlsx")
    pd.testing.assert_frame_equal(
        pd.read_excel(stream), frame.assign(code=["a", "'=1+1"]), check_dtype=False
    )


def test_columns_of_excel_are_as_wide_as_what_they_show() -> None:
    """Without `########` for a date, and without a column that fills the screen."""
    pytest.importorskip("xlsxwriter")
    openpyxl = pytest.importorskip("openpyxl")
    frame = pd.DataFrame(
        {
            "at": pd.to_datetime(["2024-01-02 10:30:01"]),
            "a measure with a long name": [1 / 3],
            "n": [1],
            "text": ["x" * 500],
            "Spend": [1234567.891],
        }
    )
    save(frame, stream := io.BytesIO(), "xlsx")
    columns = openpyxl.load_workbook(stream).active.column_dimensions
    at, measure, number, text, money = (columns[letter].width for letter in "ABCDE")
    assert at > len("2024-01-02 10:30:01")
    assert len("a measure with a long name") < measure < 32
    assert number < 6
    assert 50 < text < 65
    assert money > len("1,234,567.89")


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ([2**53 + 1], "9007199254740993"),
        ([-(2**70)], "-1180591620717411303424"),
        ([np.inf], "inf"),
        (pd.to_datetime(["2024-01-01T10:00:00+01:00"]), "2024-01-01T10:00:00+01:00"),
        (pd.to_datetime(["2024-01-01T10:00:00.000001"]), "2024-01-01T10:00:00.000001"),
        (pd.to_datetime(["1850-01-01"]), "1850-01-01"),
        ([[1, {"a": None}]], '[1, {"a": null}]'),
        (["http://example.org"], "http://example.org"),
        (["007"], "007"),
        (["\ud800"], "\ufffd"),
    ],
)
def test_excel_holds_as_text_what_it_would_change(values: Any, written: str) -> None:
    """Values that Excel would change are written as text."""
    column = (
        pd.Series(values)
        if isinstance(values, pd.DatetimeIndex)
        else pd.Series(values, dtype=object)
    )
    assert cells(column.to_frame("a"))["A2"][:2] == ("s", written)


@pytest.mark.parametrize(
    "cell",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\0=1",
        "\n=1",
        "\uff1d1",
        "\ufeff =1",
    ],
)
def test_excel_text_that_would_run_is_escaped_in_cells_and_headers(cell: str) -> None:
    """Rows 95 and 131: text that starts like a formula gets an apostrophe, as in CSV, and NUL is removed."""
    sheet = cells(pd.DataFrame({cell: [cell]}))
    assert [sheet[at][0] for at in ("A1", "A2")] == ["s", "s"]
    assert {sheet[at][1].startswith("'") for at in ("A1", "A2")} == {True}
    assert "\0" not in sheet["A2"][1]


def test_excel_says_what_does_not_fit_on_a_sheet() -> None:
    """Too many rows, columns or characters raise an error that names them."""
    pytest.importorskip("xlsxwriter")
    for frame, message in (
        (pd.DataFrame({"a": np.zeros(1_048_576)}), "1,048,576 rows, not 1,048,577"),
        (pd.DataFrame(np.zeros((1, 16_385))), "16,384 columns, not 16,385"),
        (pd.DataFrame({"a": ["x" * 32_768]}), "row 1 of column 1"),
    ):
        with pytest.raises(ArgumentError, match=message):
            save(frame, io.BytesIO(), "xlsx")


def test_excel_without_xlsxwriter_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without the extra, the error names the command that installs it."""
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(ConfigError) as caught:
        save(frame_of(ROWS), tmp_path / "a.xlsx", "xlsx")
    assert "pip install 'jupyter-funcs[excel]'" in caught.value.hint
    assert not list(tmp_path.iterdir())


# Labels, streams and files


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_row_labels_are_kept(form: str) -> None:
    frame = to_frame('{"a": {"x": 1, "y": 2}}')
    assert "x" in saved(frame, form)
    assert "index" in saved(frame, form)
    assert "index" not in saved(frame.reset_index(drop=True), form)


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_streams_of_text_and_of_bytes_get_the_same(form: Any) -> None:
    stream = io.BytesIO()
    save(frame_of(ROWS), stream, form)
    assert stream.getvalue().decode() == saved(frame_of(ROWS), form)


def test_parquet_goes_beneath_a_text_stream_where_there_is_one() -> None:
    beneath = io.BytesIO()
    stream = io.TextIOWrapper(beneath)
    save(frame_of(ROWS), stream, "parquet")
    assert beneath.getvalue()[:4] == b"PAR1"
    with pytest.raises(ConfigError, match="Parquet is binary"):
        save(frame_of(ROWS), io.StringIO(), "parquet")


@pytest.mark.parametrize("rows", [[], [{}], {"a": []}, ROWS])
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_takes_every_frame(form: Any, rows: Any, tmp_path: Path) -> None:
    if form == "xlsx":
        pytest.importorskip("xlsxwriter")
    save(frame_of(rows), tmp_path / "out", form)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_file_is_replaced_whole_and_a_link_to_it_stays(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    link = tmp_path / "link.csv"
    file.write_text("old")
    link.symlink_to(file)
    save(frame_of([{"a": 1}]), link, "csv")
    assert link.is_symlink()
    assert file.read_text() == "a\n1\n"
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~umask


def test_what_is_no_file_is_written_to_and_stays(tmp_path: Path) -> None:
    """A pipe, or `/dev/null`, is written to and not replaced by a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        save(frame_of([{"a": 1}]), pipe, "csv")
        assert os.read(reader, 100) == b"a\n1\n"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_when_writing_fails_the_old_file_stays_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.csv"
    file.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(ConfigError, match="No space left"):
        save(frame_of(ROWS), file, "csv")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("place", ["absent/a.csv", "file/a.csv", "."])
def test_a_place_that_cannot_be_written_is_named(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError) as caught:
        save(frame_of(ROWS), tmp_path / place, "csv")
    assert str((tmp_path / place).resolve()) in caught.value.what
    assert len(caught.value.lines) == 2


def test_an_unknown_format_is_named() -> None:
    with pytest.raises(ArgumentError, match="'ods'"):
        save(frame_of(ROWS), io.StringIO(), "ods")  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_a_value_nested_too_deeply_is_a_named_error(form: Any) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ArgumentError, match="nested too deeply"):
        save(
            pd.DataFrame({"a": pd.Series([deep, 1], dtype=object)}), io.StringIO(), form
        )

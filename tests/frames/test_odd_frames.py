"""Frames of any kind: sweeps, folders, files and the panel keep all of their values, or say what they don't keep."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.frames.columns import labelled
from jupyter_funcs.frames.export import save
from jupyter_funcs.frames.roles import flat
from jupyter_funcs.frames.roles import read as read_roles
from jupyter_funcs.panel.requests import Range, TableQuery
from jupyter_funcs.panel.table import TableView

if TYPE_CHECKING:
    from pathlib import Path

TICKERS = pd.DataFrame({"ticker": ["MCHQ", "BVQS"], "weight": [0.4, 0.6]})
ODD: dict[str, pd.DataFrame] = {
    "repeated names": pd.DataFrame([[1, "open"], [2, "close"]], columns=["v", "v"]),
    "numbers as names": pd.DataFrame({2024: [1.5, 2.0], 2025: [2.5, 3.0]}),
    "a number twice": pd.DataFrame([[1, 2], [3, 4]], columns=[2024, 2024]),
    "names of two levels": pd.DataFrame(
        [[1, 2], [3, 4]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    ),
    "names of levels that are equal": pd.DataFrame(
        [[1, 2], [3, 4]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "x")])
    ),
    "no name": pd.DataFrame({None: [1, 2], "b": [3, 4]}),
    "an index named like a column": TICKERS.set_index("ticker", drop=False),
    "an index named like another column": TICKERS.set_index(
        pd.Index(["x", "y"], name="ticker")
    ),
    "an index of two levels, one a column": TICKERS.set_index(
        ["ticker", pd.Index([1, 2], name="n")], drop=False
    ),
    "no row": pd.DataFrame({"v": []}).set_index("v", drop=False),
}


def function_of(frame: pd.DataFrame) -> Any:
    def odd(day: str) -> pd.DataFrame:
        return frame

    return jf.connect([odd])["odd"].with_options(progress=False, cache=False)


def values_of(frame: pd.DataFrame) -> list[list[str]]:
    """Return the cells of a frame as sorted texts, row by row."""
    return sorted(
        sorted(map(str, row)) for row in frame.itertuples(index=False, name=None)
    )


@pytest.mark.fault(157)
@pytest.mark.parametrize("frame", ODD.values(), ids=ODD)
def test_a_sweep_keeps_every_column(frame: pd.DataFrame) -> None:
    """Of each run, after the swept argument."""
    swept = function_of(frame).sweep(day=["d", "e"])
    expected = [
        sorted([*row, day]) for day in "de" for row in values_of(labelled(frame))
    ]
    assert values_of(swept) == sorted(expected)
    assert swept.columns.is_unique


@pytest.mark.fault(157)
@pytest.mark.parametrize("frame", ODD.values(), ids=ODD)
def test_a_folder_keeps_every_column(frame: pd.DataFrame, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = (
            function_of(frame)
            .with_options(to=tmp_path / "out")
            .sweep(day=["d", "e"])
            .to_table()
            .to_pandas()
        )
    expected = [
        sorted([*row, day]) for day in "de" for row in values_of(labelled(frame))
    ]
    assert values_of(table) == sorted(expected)


@pytest.mark.fault(157)
@pytest.mark.parametrize("ending", ["csv", "json", "xlsx", "parquet"])
@pytest.mark.parametrize("name", ODD)
def test_a_file_has_every_column_or_is_refused_in_words(
    name: str, ending: Any, tmp_path: Path
) -> None:
    """Parquet refuses two columns with the same name."""
    frame = ODD[name]
    file = tmp_path / f"odd.{ending}"
    expected = values_of(labelled(frame))
    if (
        ending == "parquet"
        and not labelled(frame).columns.is_unique
        and frame.columns.nlevels == 1
    ):
        with pytest.raises(jf.ArgumentError, match="two columns named"):
            save(frame, file, ending)
        return
    save(frame, file, ending)
    if ending == "json":
        rows = json.loads(file.read_text())
        assert sorted(sorted(map(str, row.values())) for row in rows) == expected
    else:
        read = {"csv": pd.read_csv, "xlsx": pd.read_excel, "parquet": pd.read_parquet}[
            ending
        ]
        assert values_of(read(file)) == expected


@pytest.mark.fault(157)
def test_unsigned_integers_keep_every_digit_beside_signed_ones() -> None:
    """As integers of one type if it can hold them, else as Python integers."""
    top = 2**64 - 1

    def files(part: str) -> pd.DataFrame:
        kinds = {
            "u": ("uint64", top),
            "s": ("uint64", 5),
            "i": ("int64", -7),
            "m": ("Int64", 7),
        }
        dtype, value = kinds[part]
        return pd.DataFrame({"id": pd.array([value], dtype=dtype)})

    function = jf.connect([files])["files"].with_options(progress=False, cache=False)
    assert function.sweep(part=["u", "i"])["id"].tolist() == [top, -7]
    assert function.sweep(part=["u", "s"])["id"].tolist() == [top, 5]
    narrow = function.sweep(part=["s", "i"])["id"]
    assert (narrow.tolist(), str(narrow.dtype)) == ([5, -7], "int64")
    assert function.sweep(part=["s", "m"])["id"].tolist() == [5, 7]


@pytest.mark.fault(157)
@pytest.mark.parametrize("dtype", ["uint64", "UInt64"])
def test_the_table_filters_unsigned_integers_exactly(dtype: str) -> None:
    view = TableView(
        pd.DataFrame(
            {"id": pd.Series(np.array([2**63 + 1, 2**63, 5], "uint64"), dtype=dtype)}
        )
    )
    query = TableQuery(filters=[Range(0, str(2**63 + 1), "")])
    assert view.page(query, 0, 0, [0])["total"] == 1
    assert view.code(query, "df") == f'df[(df["id"] >= {2**63 + 1})]'


@pytest.mark.fault(157)
@pytest.mark.parametrize(
    ("values", "dtype", "shown"),
    [
        ([2**53 + 1], "int64", "9,007,199,254,740,993"),
        ([2**53, 1], "Int64", "9,007,199,254,740,993"),
        ([-(2**53), -1], "int64", "−9,007,199,254,740,993"),
        ([2**62, 2**62, 2**62], "int64", "13,835,058,055,282,163,712"),
        ([2**63, 2**63], "uint64", "18,446,744,073,709,551,616"),
        ([2**53 + 1, 0], object, "9,007,199,254,740,993"),
        ([1000000, 1], "int64", "1,000,001"),
        ([1000000.5, 1.0], "float64", "1,000,002"),
    ],
)
def test_a_sum_of_integers_has_every_digit(
    values: list[Any], dtype: Any, shown: str
) -> None:
    view = TableView(pd.DataFrame({"Spend": pd.Series(values, dtype=dtype)}))
    assert view.page(TableQuery(), 0, len(values), [0])["sums"]["0"] == shown


@pytest.mark.fault(157)
def test_an_hour_that_comes_twice_is_two_times() -> None:
    """Times of a zone are then shown in UTC, and the note says so."""
    start = pd.date_range("2026-11-01 04:00", periods=5, freq="h", tz="UTC").tz_convert(
        "America/New_York"
    )
    frame = flat(pd.DataFrame({"hour": start, "trips": np.arange(5)}))
    [time] = [column for column in read_roles(frame, "", 10) if column.name == "hour"]
    assert time.data.nunique() == 5
    assert time.note == "Times are those of UTC."
    [local] = [
        column for column in read_roles(frame.iloc[:2], "", 10) if column.name == "hour"
    ]
    assert local.note == "Times are those of America/New_York."
    assert local.data.iloc[0] == pd.Timestamp("2026-11-01 00:00")

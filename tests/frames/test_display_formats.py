"""How the values of a column are written."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from jupyter_funcs.frames.display import LONGEST_CELL, format_of, table_html

if TYPE_CHECKING:
    from collections.abc import Iterator


TIMES = ["2025-01-02 00:00:00", "2025-01-02 03:04:05"]


def texts(
    values: object, name: str = "a", about: str = "", dtype: object = None
) -> list[str]:
    """Return the texts of the values of a column with this name."""
    column = pd.Series(values, name=name, dtype=dtype)
    return [format_of(column, about).text(value) for value in column]


@pytest.mark.parametrize(
    ("name", "values", "shown"),
    [
        ("Spend", [1234.5, 12.0], ["1,234.50", "12.00"]),
        ("Spend", [386019879.39, 12.0], ["386,019,879.39", "12.00"]),
        ("Spend per Card", [147.96517, None], ["147.97", ""]),
        ("unit_price", [0.5], ["0.50"]),
        ("Transactions per Card", [1.095713], ["1.0957"]),
        ("Cardholder Count", [2608.399729], ["2,608.40"]),
        ("Count", [12345.0, None], ["12,345", ""]),
        ("p", [-0.00001234], ["−1.234e−05"]),
        ("big", [1.5e20], ["1.5e+20"]),
        ("a", [float("inf"), -float("inf")], ["inf", "−inf"]),
        ("Spend", [-1234.5], ["−1,234.50"]),
        ("Count", [-12345.0], ["−12,345"]),
    ],
)
def test_a_number_has_the_decimals_that_its_size_asks_for(
    name: str, values: list[float], shown: list[str]
) -> None:
    """Amounts of money have cents, ratios four decimals, whole numbers none."""
    assert texts(values, name) == shown


@pytest.mark.parametrize(
    "name", ["Spend Growth", "growth", "spend_growth", "SpendGrowth", "Revenue YoY"]
)
def test_growth_reads_as_percent(name: str) -> None:
    """A column named growth holds fractions, which are shown with their sign."""
    assert texts([0.08079, -0.5, 12.0, None], name) == [
        "+8.1%",
        "−50.0%",
        "+1,200.0%",
        "",
    ]


@pytest.mark.parametrize(
    ("name", "about"),
    [
        ("Share", ""),
        ("Ratio", ""),
        ("a", ""),
        ("Growth %", ""),
        ("Growth (pct)", ""),
        ("Growth", "Growth in percent."),
    ],
)
def test_what_merely_lies_between_0_and_1_is_no_percentage(
    name: str, about: str
) -> None:
    """Other fractions, and growth that is in percent already, aren't multiplied."""
    assert texts([0.25, 0.5], name, about) == ["0.2500", "0.5000"]
    assert texts([8.1, 5.3, 0.5], "Growth") == ["8.1000", "5.3000", "0.5000"]


@pytest.mark.parametrize(
    "name",
    [
        "Year",
        "year",
        "FiscalYear",
        "KpiId",
        "store_id",
        "ID",
        "Zip",
        "Report Number",
        "country code",
        "nr",
        "Isin",
    ],
)
def test_a_whole_number_that_names_something_is_not_grouped(name: str) -> None:
    """Years and ids have no thousands separators, as integers, with nulls, or as floats."""
    assert texts([12345], name) == ["12345"]
    assert texts(pd.array([12345, None], dtype="Int64"), name) == ["12345", ""]
    assert texts([12345.0, None], name) == ["12345", ""]
    assert texts([2**70], name, dtype=object) == [str(2**70)]
    assert texts([-1, 12345], name) == ["-1", "12345"]


@pytest.mark.parametrize(
    "name",
    ["Paid", "Grid", "Valid", "Casino", "Monkey", "Number of Cards", "Year Count"],
)
def test_a_count_whose_name_ends_like_an_id_is_grouped(name: str) -> None:
    """Only a whole word makes a name an identifier."""
    assert texts([12345], name) == ["12,345"]


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (pd.to_datetime(["2025-01-02", None]), ["2025-01-02", ""]),
        (pd.to_datetime(TIMES), TIMES),
        (
            pd.to_datetime(["2025-01-02"]).tz_localize("Europe/Berlin"),
            ["2025-01-02 00:00:00+01:00"],
        ),
        (pd.array(["0001-01-01"], dtype="datetime64[s]"), ["0001-01-01"]),
        (pd.Series([dt.date(2025, 1, 2)], dtype=object), ["2025-01-02"]),
        (pd.to_timedelta(["1 day"]), ["1 days 00:00:00"]),
        (
            pd.Series([Decimal("-1234.50"), Decimal("NaN")], dtype=object),
            ["−1,234.50", ""],
        ),
        (
            pd.Series([2**80, None], dtype=object),
            ["1,208,925,819,614,629,174,706,176", ""],
        ),
        (
            pd.Series([b"caf\xc3\xa9", b"\xff\x00"], dtype=object),
            ["café", "b'\\xff\\x00'"],
        ),
        (
            pd.Series([{"a": None, "b": ["é"]}, [1, 2]], dtype=object),
            ['{"a": null, "b": ["é"]}', "[1, 2]"],
        ),
        (pd.Categorical(["x", None]), ["x", ""]),
        (pd.Categorical([12345, None]), ["12,345", ""]),
        (pd.array([True, None], dtype="boolean"), ["True", ""]),
        (
            pd.array(["a\x1b[31mb\u202e\n c", None], dtype="string"),
            ["a\\x1b[31mb\\u202e c", ""],
        ),
        (pd.Series([-1.0, "-x", True, None], dtype=object), ["-1.0", "-x", "True", ""]),
    ],
    ids=lambda values: str(getattr(values, "dtype", "")),
)
def test_each_type_reads_well(values: object, shown: list[str]) -> None:
    """Days have no time, times have their offset, nested values are JSON, texts are inert, nulls are blank."""
    assert texts(values) == shown


def test_numbers_stand_at_the_right_and_nothing_else_does() -> None:
    """Numbers of any type are right-aligned; texts, days and booleans are left-aligned."""
    right = [[1], [1.5], pd.array([1], "Int64"), [Decimal(1)], [2**80]]
    left = [
        ["1"],
        [True],
        pd.to_datetime(["2025-01-02"]),
        pd.Series([[1]], dtype=object),
        [None],
    ]
    assert all("right" in table_html(pd.DataFrame({"a": values})) for values in right)
    assert not any(
        "right" in table_html(pd.DataFrame({"a": values})) for values in left
    )


class Counted(list[int]):
    """A list that counts how many items were read."""

    seen = 0

    def __iter__(self) -> Iterator[int]:
        for item in super().__iter__():
            self.seen += 1
            yield item


@pytest.mark.slow
def test_a_huge_value_is_cut_and_not_looked_through() -> None:
    """A cell is short whatever it holds: 100 MB of text, millions of items, or a list that contains itself."""
    counted = Counted(range(1_000_000))
    assert texts([counted], dtype=object)[0].startswith("[0, 1, 2, ")
    assert counted.seen < 1000
    loop: list[object] = []
    loop.append(loop)
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (
        "x" * 10**8,
        b"x" * 10**8,
        [0] * 10**7,
        [["x" * 10**7]],
        loop,
        deep,
        10**5000,
    ):
        (shown,) = texts([value], dtype=object)
        assert 0 < len(shown) <= LONGEST_CELL

"""The table shows the rows of a frame in any order and with any filters, and writes the same view as pandas code."""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.panel.requests import Contains, OneOf, Range, Sort, TableQuery
from jupyter_funcs.panel.table import TableView

INF = float("inf")
NAN = float("nan")
WORDS = [
    "Southeast",
    "pacific",
    "Pacific",
    "",
    "a.b",
    "it's",
    'say "x"',
    "2025-01",
    "12",
    "née",
    "x\ty",
]
DAYS = [
    pd.Timestamp("2024-01-31"),
    pd.Timestamp("2024-02-01"),
    pd.Timestamp("2025-12-31"),
]
TIMES = [
    *DAYS,
    pd.Timestamp("2024-01-31 14:30"),
    pd.Timestamp("2024-01-31 23:59:59.999999"),
]
MIXED = [
    1,
    "1",
    "b",
    2.5,
    True,
    [1, 2],
    {"a": None},
    b"x",
    Decimal(3),
    dt.date(2024, 1, 1),
    (1,),
]
NUMBERS = [1.5, 2.25, -3.0, 0.0, -0.0, INF, -INF, 869393.8712, 1e300, 12.0]

# For each kind: values to draw from, and the dtype of their column.
KINDS: dict[str, tuple[list[Any], Any]] = {
    "float": (NUMBERS, "float64"),
    "int": ([1, 2, 12, -5, 2**62, 0], "Int64"),
    "numpy int": ([1, 2, 12, -5, 2**62, 0], "int64"),
    "tiny": ([-120, 127, 0, 3], "int8"),
    "small": ([1, 2, 200], "uint8"),
    "growth": ([0.05, 0.097, -0.018, 0.5], "float64"),
    "huge": ([2**80, 2**64, 1, -(2**70)], object),
    "decimal": ([Decimal("1.5"), Decimal("1.50"), Decimal("0.1"), Decimal(7)], object),
    "text": (WORDS, "str"),
    "objects": (WORDS, object),
    "category": (WORDS, "category"),
    "category of numbers": ([3, 1, 2], "category"),
    "day": (DAYS, "datetime64[us]"),
    "time": (TIMES, "datetime64[ns]"),
    "zone": (TIMES, "datetime64[us, America/New_York]"),
    "bool": ([True, False], "boolean"),
    "numpy bool": ([True, False], "bool"),
    "mixed": (MIXED, object),
    "dates": ([dt.date(2024, 1, 1), dt.date(2023, 5, 6)], object),
    "bytes": ([b"ab", b"\xff"], object),
    "duration": ([dt.timedelta(1), dt.timedelta(0, 5)], "timedelta64[us]"),
    "period": ([pd.Period("2024-01", "M"), pd.Period("2023-07", "M")], "period[M]"),
    "nothing": ([None], object),
    "arrow": ([1, 2, 12], "int32[pyarrow]"),
    "arrow text": (WORDS, "string"),
    "arrow large text": (WORDS, "large_string[pyarrow]"),
    "arrow day": ([dt.date(2024, 1, 31), dt.date(2023, 5, 6)], "date32[pyarrow]"),
    "arrow zone": (TIMES, "timestamp[us, tz=America/New_York][pyarrow]"),
    "arrow decimal": (
        [Decimal("1.5"), Decimal("0.1")],
        pd.ArrowDtype(pa.decimal128(10, 2)),
    ),
    "arrow flag": ([True, False], "bool[pyarrow]"),
    "named periods": (
        ["FQ1 2021", "FQ2 2021", "FQ1 2022", "FY 2021", "H1 2022", "2020"],
        "str",
    ),
}
FULL = {"tiny", "numpy int", "small", "numpy bool"}
NAMES = [
    "Spend",
    "Region",
    "Spend",
    "",
    "a b",
    'q"',
    2024,
    None,
    ("x", 1),
    "Id",
    "Date",
    "row",
]


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    rows = draw(st.integers(0, 12))
    columns = []
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(sorted(KINDS)))
        values, dtype = KINDS[kind]
        cell = (
            st.sampled_from(values)
            if kind in FULL
            else st.sampled_from([*values, None, None])
        )
        cells = draw(st.lists(cell, min_size=rows, max_size=rows))
        series = (
            pd.Series(pd.Series(cells, dtype=object), dtype=dtype)
            if kind != "zone"
            else None
        )
        if series is None:
            series = pd.Series(
                pd.to_datetime(pd.Series(cells, dtype="datetime64[us]"))
            ).dt.tz_localize("America/New_York")
        columns.append(series)
    frame = pd.concat([*columns, pd.Series(range(rows), dtype="int64")], axis=1)
    names = draw(
        st.lists(st.sampled_from(NAMES), min_size=len(columns), max_size=len(columns))
    )
    names = [
        "Growth" if column.dtype == "float64" and column.abs().max() <= 0.5 else name
        for column, name in zip(columns, names, strict=True)
    ]
    frame.columns = pd.Index(
        [*names, "number of the row"], dtype=object, tupleize_cols=False
    )
    how = draw(st.sampled_from(["rows", "rows", "labels", "two", "columns"]))
    if how == "labels":
        frame.index = pd.Index(
            [*"abcabcabcabc"][:rows], name=draw(st.sampled_from(["Spend", None, "key"]))
        )
    elif how == "two":
        frame.index = pd.MultiIndex.from_arrays(
            [[*"abcabcabcabc"][:rows], range(rows)], names=["a", None]
        )
    elif how == "columns":
        frame.columns = pd.MultiIndex.from_arrays(
            [range(frame.shape[1]), list(map(str, frame.columns))]
        )
    return frame


TEXTS = [
    "pac",
    "PAC",
    "12",
    "2024-01",
    "1.5",
    "'",
    "869,394",
    "9.7%",
    "x",
    "]",
    "tru",
    "−3",
    "É",
    " ",
]
BOUNDS = {
    "date": ["", "2024", "2024-01", "2024-1-31", "2024-01-31 14:30", "9999-12-31"]
}
BOUNDS_OF_NUMBERS = [
    "",
    "1",
    "12",
    "1,000.5",
    "-3",
    "5%",
    "0.1",
    "1e400",
    "-inf",
    "9" * 30,
    "2305843009213693952",
]


def ordered(table: TableView, bounds: Range) -> Range:
    """Return the bounds, swapped if the table says that they are inverted."""
    try:
        table.positions(TableQuery(filters=[bounds]))
    except ArgumentError:
        return Range(bounds.at, bounds.high, bounds.low)
    return bounds


@st.composite
def queries(draw: st.DrawFn, table: TableView) -> TableQuery:
    places = st.integers(0, table.column_count - 1)
    sort = draw(
        st.lists(
            st.builds(Sort, places, descending=st.booleans()),
            max_size=3,
            unique_by=lambda sort: sort.at,
        )
    )
    filters: list[Any] = []
    for at in draw(st.lists(places, max_size=2)):
        kind = table._column(at).kind
        how = draw(st.sampled_from(["range", "values", "text"]))
        if how == "range" and kind in {"number", "date"}:
            bounds = st.sampled_from(BOUNDS.get(kind, BOUNDS_OF_NUMBERS))
            filters.append(ordered(table, Range(at, draw(bounds), draw(bounds))))
        elif how == "values":
            texts: list[str | None] = [
                value["text"] for value in table.values(at, "")["values"]
            ]
            filters.append(
                OneOf(
                    at,
                    draw(
                        st.lists(
                            st.sampled_from([*texts, None, "none of these"]), max_size=3
                        )
                    ),
                )
            )
        elif not table._column(at).right:
            filters.append(Contains(at, draw(st.sampled_from(TEXTS))))
    hidden = draw(st.lists(places, max_size=2))
    return TableQuery(sort, filters, draw(st.sampled_from(["", "", *TEXTS])), hidden)


def run(code: str, frame: pd.DataFrame) -> pd.DataFrame:
    *lines, last = code.split("\n")
    namespace: dict[str, Any] = {"df": frame, "pd": pd}
    exec("\n".join(lines), namespace)
    result = eval(last, namespace)
    assert isinstance(result, pd.DataFrame)
    return result


def numbers_of(frame: pd.DataFrame) -> list[int]:
    return list(frame.iloc[:, -1])


def check(data: st.DataObject) -> None:
    frame = data.draw(frames())
    table = TableView(frame)
    query = data.draw(queries(table))
    code = table.code(query, "df")
    shown = table.frame(query)
    assert numbers_of(run(code, frame)) == numbers_of(shown), code
    page = table.page(query, 0, 1000, range(table.column_count))
    assert page["total"] == len(shown)
    assert [row[-1] for row in page["rows"]] == [
        str(number) for number in numbers_of(shown)
    ]
    json.dumps([page, table.view()], allow_nan=False)
    table.text(query, 0, 1000, range(table.column_count))
    for view in table.columns(range(table.column_count)):
        agrees(view, table, page["sums"].get(str(view["at"])), table.positions(query))


def agrees(
    view: dict[str, Any], table: TableView, total: str | None, rows: Any
) -> None:
    """Check the table's summary of a column against pandas."""
    values = table.flat.iloc[:, view["at"]]
    summary = view["summary"]
    filled = values.dropna()
    column = table._column(view["at"])
    assert summary["empty"] == (values.isna().mean() if len(values) else 0)
    if column.right or column.kind == "date":
        bounds = (
            [column.cell(filled.min()), column.cell(filled.max())]
            if len(filled)
            else ["", ""]
        )
        assert [summary["minimum"], summary["maximum"]] == bounds
        assert max(summary["histogram"], default=1) == 1
    else:
        texts = Counter(filled.astype(object).map(str))
        # Other kinds by value: 1 and True are equal.
        if column.kind != "mixed" and view["type"] != "id":
            assert summary["distinct"] == filled.nunique()
        else:
            assert [entry["share"] for entry in summary["top"]] == [
                round(count / len(values), 4) for _, count in texts.most_common()
            ]
        counts = {
            entry["text"]: entry["count"]
            for entry in table.values(view["at"], "")["values"]
        }
        assert sum(counts.values()) == len(values)
        assert counts.pop(None, 0) == len(values) - len(filled)
    if total is not None:
        check_total(total, values if rows is None else values.iloc[rows])


def check_total(total: str, values: pd.Series) -> None:
    numbers = values.dropna()
    with np.errstate(invalid="ignore"):
        exact = (
            float(sum(map(int, numbers)))
            if numbers.dtype.kind in "iu"
            else float(numbers.sum())
        )
    digits = total.replace(",", "").replace("−", "-")
    assert float(digits or "nan") == pytest.approx(
        exact, rel=1e-6, abs=0.51, nan_ok=True
    )


@pytest.mark.parametrize("number", [10, pytest.param(500, marks=pytest.mark.slow)])
def test_the_code_of_a_view_gives_the_rows_of_the_view(number: int) -> None:
    """The code of any sort, filters and search on any frame."""
    settings(
        max_examples=number, deadline=None, suppress_health_check=list(HealthCheck)
    )(given(st.data())(check))()


LABELS = ["FQ1 2022", "FQ2 2021", "FQ1 2021", "FQ2 2022"]
ENDS = [
    pd.Timestamp("2022-05-01"),
    pd.Timestamp("2021-08-01"),
    pd.Timestamp("2021-05-01"),
    pd.Timestamp("2022-08-01"),
]
BY_TIME = TableQuery(sort=[Sort(0, descending=False)])


@pytest.mark.parametrize(
    ("columns", "sort"),
    [
        (
            {},
            'sort_values(["PeriodLabel"], ascending=[True], kind="stable", key=lambda values: pd.Categorical(',
        ),
        (
            {"Start": [ENDS[0], *ENDS[:3]], "PeriodEndDate": ENDS},
            'sort_values(["PeriodEndDate"], ascending=[True]',
        ),
        (
            {"PeriodStartDate": ENDS, "PeriodEndDate": ENDS},
            'sort_values(["PeriodEndDate"]',
        ),
        (
            {"PeriodEndDate": [*ENDS[:3], None]},
            "pd.Categorical(",
        ),  # they would sort the rows differently
    ],
    ids=["alone", "beside dates", "beside two", "beside other dates"],
)
def test_named_periods_are_sorted_and_listed_by_time(
    columns: dict[str, Any], sort: str
) -> None:
    """The code sorts by the dates of the periods if the frame has them; else it lists the periods in order."""
    frame = pd.DataFrame({"PeriodLabel": LABELS, **columns, "row": range(4)})
    table = TableView(frame)
    assert numbers_of(table.frame(BY_TIME)) == [2, 1, 0, 3]
    assert sort in table.code(BY_TIME, "df")
    assert numbers_of(run(table.code(BY_TIME, "df"), frame)) == [2, 1, 0, 3]
    assert [value["text"] for value in table.values(0, "")["values"]] == [
        LABELS[at] for at in (2, 1, 0, 3)
    ]


def test_texts_that_are_no_periods_are_sorted_by_text_and_listed_by_count() -> None:
    """One other text among the periods is enough; periods that are in order as text need no extra code."""
    frame = pd.DataFrame(
        {
            "PeriodLabel": [*LABELS, "total", "total"],
            "Year": ["2022", *map(str, range(2017, 2022))],
        }
    )
    table = TableView(frame.assign(row=range(6)))
    assert numbers_of(table.frame(BY_TIME))[:3] == [2, 0, 1]
    assert table.values(0, "")["values"][0] == {"text": "total", "count": 2}
    assert "key=" not in table.code(TableQuery(sort=[Sort(1, descending=True)]), "df")


def test_floats_are_ordered_to_the_last_bit() -> None:
    """Zeros of both signs are equal, infinities are numbers, and every NaN is empty."""
    tiny = 5e-324
    numbers = [
        0.0,
        -0.0,
        NAN,
        INF,
        -NAN,
        -INF,
        tiny,
        -tiny,
        1e300,
        1.0,
        1.0 + 2**-52,
        1.0,
        -1e300,
    ] * 40
    for dtype in ("float64", "float32", "float16"):
        with np.errstate(over="ignore"):
            frame = pd.DataFrame({"n": np.array(numbers, dtype=dtype)})
        for descending in (False, True):
            wanted = frame.sort_values(
                "n", ascending=not descending, kind="stable"
            ).index
            assert list(
                TableView(frame)
                .frame(TableQuery([Sort(0, descending=descending)]))
                .index
            ) == list(wanted)


FRAME = pd.DataFrame(
    {
        "Spend": [10.0, None, 12.345, 10.0, -1.0],
        "Growth": [0.05, 0.1, None, -0.018, 0.05],
        "At": pd.to_datetime(
            [
                "2024-01-31 23:59",
                "2024-02-01 00:00",
                None,
                "2025-01-01 00:00",
                "2024-12-31 12:30",
            ]
        ),
        "Region": ["b", "a", "B", None, "a"],
        "Mixed": [2, "2", None, [1], "x"],
    }
)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (TableQuery([Sort(0, descending=False)]), [4, 0, 3, 2, 1]),
        (TableQuery([Sort(0, descending=True)]), [2, 0, 3, 4, 1]),
        (TableQuery([Sort(3, descending=False)]), [2, 1, 4, 0, 3]),
        (TableQuery([Sort(3, descending=True)]), [0, 1, 4, 2, 3]),
        (TableQuery([Sort(2, descending=False)]), [0, 1, 4, 3, 2]),
        (TableQuery([Sort(2, descending=True)]), [3, 4, 1, 0, 2]),
        (
            TableQuery([Sort(3, descending=False), Sort(0, descending=True)]),
            [2, 4, 1, 0, 3],
        ),
        (TableQuery([Sort(4, descending=False)]), [0, 1, 3, 4, 2]),
        (TableQuery([], [Range(0, "10", "12.345")]), [0, 2, 3]),
        (TableQuery([], [Range(0, " 10.5 ", "")]), [2]),
        (TableQuery([], [Range(0, "", "1e1")]), [0, 3, 4]),
        (TableQuery([], [Range(1, "5", "10%")]), [0, 1, 4]),
        (TableQuery([], [Range(1, "", "−1.8")]), [3]),
        (TableQuery([], [Range(2, "2024-02", "2024")]), [1, 4]),
        (TableQuery([], [Range(2, "", "2024-01-31")]), [0]),
        (TableQuery([], [Range(2, "2024-12-31 12:30", "2024-12-31 12:30")]), [4]),
        (TableQuery([], [Range(2, "", "9999-12-31")]), [0, 1, 3, 4]),
        (TableQuery([], [Range(2, "2025", "9999")]), [3]),
        (TableQuery([], [Range(2, "", "0001")]), []),
        (
            TableQuery(
                [], [Range(2, "2024-12-31 12:30:00.5", "2025-01-01 00:00:00.25")]
            ),
            [3],
        ),
        (TableQuery([], [Contains(3, "B")]), [0, 2]),
        (TableQuery([], [OneOf(3, ["a", None])]), [1, 3, 4]),
        (TableQuery([], [OneOf(4, ["2", "[1]"])]), [0, 1, 3]),
        (TableQuery([], [OneOf(0, [None]), Contains(3, "a")]), [1]),
        (TableQuery([], [], "12.35"), [2]),
        (TableQuery([], [], "12.345"), [2]),
        (TableQuery([], [], "5.0%"), [0, 4]),
        (TableQuery([], [], "b"), [0, 2]),
        (TableQuery([], [], "2024-12"), [4]),
        (TableQuery([Sort(0, descending=True)], [Range(0, "0", "")], "1"), [0, 3]),
    ],
)
def test_a_view_has_the_rows_of_its_query(query: TableQuery, rows: list[int]) -> None:
    """Bounds as typed, a whole month or year of a date, percent as shown; the code returns the same rows."""
    table = TableView(FRAME)
    assert list(table.frame(query).index) == rows
    assert list(run(table.code(query, "df"), FRAME).index) == rows


def test_the_range_of_a_column_of_times_is_described_as_its_cells() -> None:
    """With the time of day, unless all are days."""
    times = pd.to_datetime(["2025-03-01 10:00", "2025-03-02 14:30"])
    table = TableView(pd.DataFrame({"At": times, "Day": times.normalize()}))
    for at, least in enumerate(("2025-03-01 10:00:00", "2025-03-01")):
        assert ("min", least, least) in table.described(TableQuery(), at)["facts"]


def test_columns_are_typed_written_and_summed_by_their_roles() -> None:
    """Money has two decimals, counts separators, ids none, growth a sign; only columns that add up have sums."""
    frame = pd.DataFrame(
        {
            "Date": pd.to_datetime(["2024-01-01", None, "2024-01-03"]),
            "At": pd.to_datetime(["2024-01-01 10:00", None, "2024-01-03 00:00"]),
            "Spend": [869393.871, 1e6, None],
            "Spend Growth": [0.097, -0.018, None],
            "Transaction Count": [1234.0, 2.0, None],
            "Merchant Id": [1234567, 2, 3],
            "Spend per Transaction": [65.82, 62.5, None],
            "Open": [True, False, True],
            "Cells": [{"a": [1]}, None, "x"],
            "Ticker Code": ["AB", "CD", "<b>"],
        }
    )
    view = TableView(frame).view()
    assert [column["type"] for column in view["columns"]] == [
        "date",
        "datetime",
        "money",
        "percent",
        "count",
        "id",
        "money",
        "bool",
        "mixed",
        "id",
    ]
    assert view["page"]["rows"][0] == [
        "2024-01-01",
        "2024-01-01 10:00:00",
        "869,393.87",
        "+9.7%",
        "1,234",
        "1234567",
        "65.82",
        "True",
        '{"a": [1]}',
        "AB",
    ]
    assert view["page"]["rows"][1][3] == "−1.8%"
    assert view["page"]["rows"][2][2] is None
    assert view["page"]["sums"] == {"2": "1,869,394", "4": "1,236"}
    to_date = TableView(
        pd.DataFrame({"PeriodToDate": [False, False, True], "Spend": [7, 8, 3]})
    )
    assert to_date.view()["page"]["sums"] == {}, (
        "a quarter and its part would be counted twice"
    )
    assert to_date.page(TableQuery(filters=(OneOf(0, ["False"]),)), 0, 2, [0, 1])[
        "sums"
    ] == {"1": "15"}


def test_a_minus_on_the_screen_is_a_hyphen_in_a_copy_and_in_code() -> None:
    """Cells, sums and summaries show a minus sign, and both are read; text for Python has a hyphen."""
    frame = pd.DataFrame({"Spend": [-2e6, 5.0], "Spend Growth": [-0.018, 0.5]})
    table = TableView(frame)
    query = TableQuery(filters=(Range(0, "", "−1,000.5"),))
    view = table.view()
    assert view["page"]["rows"][0] == ["−2,000,000.00", "−1.8%"]
    assert view["page"]["sums"] == {"0": "−1,999,995"}
    assert [column["summary"]["short"][0] for column in view["columns"]] == [
        "−2M",
        "−2%",
    ]
    assert table.text(query, 0, 1, [0, 1]) == "-2000000.0\t-0.018"
    assert table.code(query, "df") == 'df[(df["Spend"] <= -1000.5)]'


def test_a_summary_tells_of_all_values() -> None:
    """Range, histogram, share of empty cells, top values and their number."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"Spend": rng.normal(size=1000) * 1e5, "Region": ["a", "b", "b", None] * 250}
    )
    frame.loc[:99, "Spend"] = None
    spend, region = (column["summary"] for column in TableView(frame).view()["columns"])
    assert (spend["minimum"], spend["maximum"]) == (
        f"−{-frame.Spend.min():,.2f}",
        f"{frame.Spend.max():,.2f}",
    )
    assert spend["empty"] == 0.1
    counts, _ = np.histogram(frame.Spend.dropna(), 24)
    assert spend["histogram"] == [
        round(max(height, 0.002 * (height > 0)), 3) for height in counts / counts.max()
    ]
    assert region["distinct"] == 2
    assert region["top"] == [{"text": "b", "share": 0.5}, {"text": "a", "share": 0.25}]


def test_values_of_the_filter_box_come_with_their_counts() -> None:
    """The most frequent first, empty cells on top, or those that contain a text."""
    table = TableView(pd.DataFrame({"Region": ["b", "a", "b", None, "Ba"]}))
    assert table.values(0, "")["values"] == [
        {"text": None, "count": 1},
        {"text": "b", "count": 2},
        {"text": "Ba", "count": 1},
        {"text": "a", "count": 1},
    ]
    assert table.values(0, "A") == {
        "values": [{"text": "Ba", "count": 1}, {"text": "a", "count": 1}],
        "total": 2,
    }


def test_a_selection_is_copied_with_tabs_and_exact_numbers() -> None:
    """Numbers are copied as they are, tabs quoted and formulas disarmed; more than 5 MB are refused."""
    table = TableView(
        pd.DataFrame({"Spend": [869393.8712, None], "Name": ["a\tb", "=1+1"]})
    )
    assert table.text(TableQuery(), 0, 2, [1, 0]) == '"a\tb"\t869393.8712\n\'=1+1\t'
    long = TableView(pd.DataFrame({"Name": ["x" * 1000] * 6000}))
    with pytest.raises(
        ArgumentError,
        match=r"^More than 5 MB can't be copied: select less, or use Save to write a file\.$",
    ):
        long.text(TableQuery(), 0, 6000, [0])


def test_a_copy_has_the_column_names_if_they_are_asked_for() -> None:
    """They are written like cells, above the rows of the view."""
    table = TableView(pd.DataFrame({"Spend": [1.5, 2.5], "=Name": ["a", "b"]}))
    query = TableQuery(filters=(Range(0, "2", ""),))
    assert table.text(query, 0, 1, [0, 1], names=True) == "Spend\t'=Name\n2.5\tb"
    assert table.text(query, 0, 1, [0, 1]) == "2.5\tb"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda table: table.page(TableQuery(), 0, 1, [7]),
            "There is no column 7: the table has 2.",
        ),
        (
            lambda table: table.page(TableQuery(), 5, 9, [0]),
            "There are no rows 5 to 9: the view has 3.",
        ),
        (
            lambda table: table.page(TableQuery([Sort(9, descending=True)]), 0, 1, [0]),
            "There is no column 9",
        ),
        (
            lambda table: table.page(TableQuery([], [Range(0, "lots", "")]), 0, 1, [0]),
            "'lots' isn't a number.",
        ),
        (
            lambda table: table.page(TableQuery([], [Range(1, "1", "")]), 0, 1, [0]),
            "'b' has no numbers or dates.",
        ),
        (
            lambda table: table.page(TableQuery([], [Contains(0, "x")]), 0, 1, [0]),
            "'a' holds numbers, not texts.",
        ),
        (lambda table: table.columns([0] * 100), "100 columns are too many at once."),
        (
            lambda table: table.page(TableQuery([], [Range(0, "3", "1")]), 0, 1, [0]),
            "At least is above At most: 3, 1.",
        ),
        (
            lambda table: table.page(TableQuery([], [Range(0, "1,5", "")]), 0, 1, [0]),
            "'1,5' isn't a number.",
        ),
        (
            lambda table: table.page(
                TableQuery([], [Range(0, "", "1.234,567")]), 0, 1, [0]
            ),
            "'1.234,567' isn't a number.",
        ),
    ],
)
def test_requests_out_of_range_are_refused(ask: Any, message: str) -> None:
    """The error says what is wrong with a request that the table can't answer."""
    with pytest.raises(ArgumentError, match=message):
        ask(TableView(pd.DataFrame({"a": [1, 2, 3], "b": list("xyz")})))


def test_the_first_page_of_a_filtered_view_has_its_parts_of_the_summaries() -> None:
    """The heights of bars relative to all rows, and the shares of the most frequent values."""
    days = pd.to_datetime(["2024-01-01", "2024-01-01", "2024-12-31", None])
    table = TableView(
        pd.DataFrame({"Region": ["a", "b", "a", "a"], "Day": days, "n": [1, 1, 9, 9]})
    )
    only = TableQuery(filters=[Range(2, "5", "")])
    parts = table.page(only, 0, 2, [0, 1, 2])["parts"]
    assert parts["0"] == [0.5, 0.0]
    for at, heights in {"1": [0.0, 0.5], "2": [0.0, 1.0]}.items():
        assert [parts[at][0], parts[at][-1]] == heights
        assert sum(parts[at]) == sum(heights)
    summary = table.columns([1])[0]["summary"]
    assert [summary["histogram"][0], summary["histogram"][-1]] == [1.0, 0.5]
    assert "parts" not in table.page(only, 1, 2, [0])
    assert "parts" not in table.page(TableQuery(), 0, 2, [0])


@pytest.mark.parametrize("clock", ["", " 12:00"])
def test_dates_in_the_wrong_order_are_refused(clock: str) -> None:
    """The same day twice is valid; a range that ends before it begins isn't."""
    table = TableView(
        pd.DataFrame({"At": pd.to_datetime([f"2025-01-01{clock}", None])})
    )
    same = TableQuery(filters=[Range(0, "2025-01-01", "2025-01-01")])
    assert table.page(same, 0, 1, [0])["total"] == 1
    with pytest.raises(ArgumentError, match="From is after To: 2025-01-02, 2025-01-01"):
        table.positions(TableQuery(filters=[Range(0, "2025-01-02", "2025-01-01")]))


@pytest.mark.parametrize(
    ("name", "such"), [("Spend", "250,000 or -1.5"), ("Spend Growth", "2.5 %")]
)
def test_what_is_no_number_gets_an_example_as_its_column_shows_them(
    name: str, such: str
) -> None:
    """A percentage in a column of percentages."""
    table = TableView(pd.DataFrame({name: [0.5, 1.5]}))
    with pytest.raises(ArgumentError) as caught:
        table.page(TableQuery([], [Range(0, "abc", "")]), 0, 1, [0])
    assert caught.value.lines == ["'abc' isn't a number.", f"Enter one such as {such}."]


def test_the_table_shows_the_result_after_its_frame_has_changed() -> None:
    """The table keeps the result of the run if its variable is changed in place or deleted."""
    frame = pd.DataFrame({"a": [1, 2, 3]})
    table = TableView(frame)
    frame.loc[0, "a"] = 99
    frame["b"] = 0
    frame.columns = ["x", "y"]
    frame.index = [7, 8, 9]
    del frame
    assert table.page(TableQuery([Sort(0, descending=True)]), 0, 3, [0])["rows"] == [
        ["3"],
        ["2"],
        ["1"],
    ]
    assert table.columns([0])[0]["name"] == "a"


def test_a_sum_of_infinities_of_both_signs_is_no_number() -> None:
    """The other cells of its column are shown, and there is no warning."""
    view = TableView(pd.DataFrame({"Spend": [INF, -INF, 1.0]})).view()
    assert (view["page"]["rows"][2], view["page"]["sums"]) == (["1.00"], {"0": ""})


class Slow:
    """A value whose text waits until the test lets it continue."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.ready = threading.Event()

    def __str__(self) -> str:
        self.asked.set()
        assert self.ready.wait(60)
        return "slow"


def test_an_order_does_not_wait_for_the_summary_of_another_column() -> None:
    """One column is sorted while another is still being read."""
    slow = Slow()
    table = TableView(
        pd.DataFrame({"a": [3, 1, 2], "b": pd.Series([1, slow, None], dtype=object)})
    )
    reads = threading.Thread(target=table.values, args=(1, ""))
    reads.start()
    assert slow.asked.wait(60)
    assert table.page(TableQuery([Sort(0, descending=False)]), 0, 3, [0])["rows"] == [
        ["1"],
        ["2"],
        ["3"],
    ]
    assert reads.is_alive()
    slow.ready.set()
    reads.join()


def test_a_search_reads_what_is_shown() -> None:
    """Hidden columns have no matches; the same is true of the view's code."""
    frame = pd.DataFrame({"a": ["x", "y", "z"], "b": ["y", "z", "x"]})
    table = TableView(frame)
    for hidden, rows in ([], [0, 2]), ([0], [2]), ([1], [0]), ([0, 1], []):
        query = TableQuery(find="x", hidden=hidden)
        assert list(table.frame(query).index) == rows
        assert list(run(table.code(query, "df"), frame).index) == rows


@pytest.mark.parametrize(
    "zone", [None, "America/New_York", "Pacific/Kiritimati", "UTC+02:00"]
)
def test_the_year_9999_lasts_to_its_end_in_every_zone(zone: str | None) -> None:
    """A date in 9999 is in a range up to that year, although the end of the year is beyond pandas' dates."""
    days = ["2024-01-31", "2025-12-31" if zone else "9999-12-31"]
    frame = pd.DataFrame(
        {"Until": pd.Series(days, dtype="datetime64[us]").dt.tz_localize(zone)}
    )
    for high in ("9999", "9999-12", "9999-12-31"):
        query = TableQuery([], [Range(0, "2025", high)])
        assert list(TableView(frame).frame(query).index) == [1]
        assert list(run(TableView(frame).code(query, "df"), frame).index) == [1]


def test_days_are_compared_where_clocks_change_at_midnight() -> None:
    """A day whose midnight doesn't exist, and one that has it twice."""
    hours = pd.date_range(
        "2018-11-03 00:00", "2018-11-05 00:00", freq="h", tz="America/Sao_Paulo"
    )
    twice = pd.date_range(
        "2018-11-03 00:00", "2018-11-05 00:00", freq="h", tz="America/Havana"
    )
    for times, expected in (hours, 23), (twice, 25):
        frame = pd.DataFrame({"At": times})
        query = TableQuery([], [Range(0, "2018-11-04", "2018-11-04")])
        shown = TableView(frame).frame(query)
        assert len(shown) == expected
        assert list(run(TableView(frame).code(query, "df"), frame).index) == list(
            shown.index
        )


def test_a_wide_frame_is_read_as_far_as_it_is_seen() -> None:
    """60 of 2,000 columns are read at first, and others on request."""
    table = TableView(pd.DataFrame(np.zeros((3, 2000))))
    view = table.view()
    assert (view["count"], len(view["columns"]), len(table._columns)) == (2000, 60, 60)
    assert table.page(TableQuery(), 0, 3, [1999])["rows"] == [["0"], ["0"], ["0"]]


def test_numbers_of_python_are_looked_through_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """How a column of Decimals or huge integers compares is looked up once: each look reads every value."""
    looks = []
    infer = pd.api.types.infer_dtype
    monkeypatch.setattr(
        pd.api.types,
        "infer_dtype",
        lambda values, **how: looks.append(1) or infer(values, **how),
    )
    table = TableView(
        pd.DataFrame(
            {
                "a": [Decimal(at) for at in range(50)],
                "b": [10**30 + at for at in range(50)],
            }
        )
    )
    assert [column["type"] for column in table.view()["columns"]] == [
        "number",
        "number",
    ]
    assert len(looks) <= 4


def test_orders_are_held_within_bounds() -> None:
    """At most the bytes of four orders, however many were requested."""
    table = TableView(pd.DataFrame({"a": np.arange(100_000), "b": 1}))
    table._cache._limit = 1_600_000
    for at in range(8):
        table.page(
            TableQuery([Sort(0, descending=bool(at % 2))], [Range(0, str(at), "")]),
            0,
            10,
            [0],
        )
    size = sum(size for _, size in table._cache._held.values())
    assert 0 < size <= 1_600_000


def test_a_column_is_as_wide_as_its_sum() -> None:
    """A hundred thousand small amounts have a sum with more digits than any of them."""
    small, large = (
        TableView(pd.DataFrame({"Spend": [12_500.5] * rows})).view()["columns"][0]
        for rows in (3, 100_000)
    )
    assert small["width"] < large["width"]


def test_a_time_is_not_cut_where_a_text_of_its_length_is() -> None:
    time = "2026-11-29 18:26:41.946116+00:00"
    frame = pd.DataFrame({"at": [pd.Timestamp(time)], "text": [time]})
    at, text = (column["width"] for column in TableView(frame).view()["columns"])
    assert at > 230 > text


def test_a_value_has_its_whole_width_and_a_long_name_may_be_cut() -> None:
    """Symbols are in capitals, which are wide; a long name gets only the width of a short one or of the values."""
    frame = pd.DataFrame(
        {
            "Symbol": ["BKQU US EQUITY"],
            "Name": ["bkqu us equity"],
            "Spend per Cardholder": [1.5],
        }
    )
    symbol, name, ratio = (
        column["width"] for column in TableView(frame).view()["columns"]
    )
    assert symbol > 128 > name
    assert ratio < 160


def test_a_column_tells_what_its_catalog_says_of_it() -> None:
    frame = pd.DataFrame({"Spend": [1.5], "Region": ["x"], "n": [1]})
    descriptions = {
        "Spend": {"description": "Card spend.", "unit": "USD"},
        "n": {"unit": "cards"},
    }
    frame.attrs["funcs"] = {"columns": descriptions}
    columns = TableView(frame).view()["columns"]
    assert [column["said"] for column in columns] == [
        "Card spend.\nUnit: USD",
        "",
        "Unit: cards",
    ]


def facts(frame: pd.DataFrame, *columns: int) -> dict[str, str]:
    """The exact facts about all rows of these columns, as below the table."""
    reply = TableView(frame).facts(TableQuery(), 0, len(frame), list(columns))
    return {name: exact for name, _, exact in reply["facts"]}


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([0.1] * 10, {"sum": "1.00", "mean": "0.10", "min": "0.10", "max": "0.10"}),
        (
            np.array([2**62, 2**62, 2**62]),
            {"sum": f"{3 * 2**62:,}", "max": f"{2**62:,}"},
        ),
        ([Decimal("0.10"), Decimal("0.20"), None], {"count": "2", "sum": "0.3"}),
        ([1e16, 1.0, -1e16], {"sum": "1.00"}),
    ],
)
def test_a_selection_is_added_up_exactly(values: Any, told: dict[str, str]) -> None:
    frame = pd.DataFrame({"Spend": pd.Series(values)})
    sums = facts(frame, 0)
    assert {name: sums[name].removesuffix(".00") for name in told} == {
        name: text.removesuffix(".00") for name, text in told.items()
    }


def test_ratios_and_numbers_of_several_types_are_counted_and_not_added() -> None:
    growth = [0.5, -0.25, None]
    frame = pd.DataFrame(
        {"Spend": [1.5, 2.5, 3.5], "Growth": growth, "Name": ["a", None, "b"]}
    )
    assert facts(frame, 1) == {
        "count": "2",
        "mean": "+12.5%",
        "min": "−25.0%",
        "max": "+50.0%",
    }
    assert facts(frame, 0, 1) == {"count": "5"}
    assert facts(frame, 2) == {"count": "2"}
    assert facts(pd.DataFrame({"Spend": [INF, 1.0]}), 0) == {"count": "2"}
    assert facts(frame.head(0), 0) == {"count": "0"}


def test_a_cell_is_read_in_full_with_its_json() -> None:
    long = "x" * 5000
    values = [
        long,
        '{"a": [1, 2]}',
        {"b": 12345678901234567890},
        "[broken",
        None,
        0.1 + 0.2,
    ]
    table = TableView(pd.DataFrame({"Value": pd.Series(values, dtype=object)}))
    cells = [table.cell(TableQuery(), row, 0, [], 0) for row in range(len(values))]
    assert [cell["text"] for cell in cells] == [
        long,
        '{"a": [1, 2]}',
        '{"b": 12345678901234567890}',
        "[broken",
        None,
        "0.30000000000000004",
    ]
    assert [bool(cell["node"]) for cell in cells] == [
        False,
        True,
        True,
        False,
        False,
        False,
    ]
    assert cells[2]["node"]["children"][0]["text"] == "12345678901234567890"
    [item, _] = table.cell(TableQuery(), 1, 0, ["a"], 0)["node"]["children"]
    assert item["text"] == "1"


def test_columns_are_found_by_their_names() -> None:
    table = TableView(pd.DataFrame({"Total spend": [1], "Spend": [2], "Region": ["a"]}))

    def names(text: str) -> list[str]:
        return [column["name"] for column in table.named(text)["columns"]]

    assert names("") == ["Total spend", "Spend", "Region"]
    assert names("SPEND") == ["Spend", "Total spend"]
    assert names("no") == []


def test_a_column_is_described() -> None:
    """The shown rows' numbers of values, missing and distinct values, and the range of numbers and dates."""
    frame = pd.DataFrame(
        {
            "Region": ["South", "North", None, "South"],
            "Spend": [1.5, None, 2.5, 2.0],
            "Day": pd.to_datetime(["2024-03-01", "2024-02-29", None, "2024-03-02"]),
        }
    )
    table = TableView(frame)
    south = TableQuery(filters=[OneOf(0, ["South"])])

    def facts(query: TableQuery, at: int) -> dict[str, str]:
        return {name: exact for name, _, exact in table.described(query, at)["facts"]}

    assert facts(TableQuery(), 0) == {"count": "3", "missing": "1", "distinct": "2"}
    assert facts(south, 0) == {"count": "2", "missing": "0", "distinct": "1"}
    spend = {
        "count": "3",
        "missing": "1",
        "distinct": "3",
        "sum": "6.00",
        "mean": "2.00",
    }
    assert facts(TableQuery(), 1) == spend | {"min": "1.50", "max": "2.50"}
    assert facts(south, 2) | {"count": "2"} == {
        "count": "2",
        "missing": "0",
        "distinct": "2",
        "min": "2024-03-01",
        "max": "2024-03-02",
    }
    none = TableQuery(find="nothing")
    assert facts(none, 2) == {"count": "0", "missing": "0", "distinct": "0"}

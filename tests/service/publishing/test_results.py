"""Results: JSON that any client can read, and the same as Arrow."""

from __future__ import annotations

import collections
import dataclasses
import enum
import json
from collections import OrderedDict, namedtuple
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pydantic
import pytest

from jupyter_funcs.service.builtin import companies
from jupyter_funcs.service.engine import calls
from jupyter_funcs.service.engine.calls import MemoryLimitError
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine
from jupyter_funcs.service.publishing import results
from tests.examples import row_id

DAY = date(2024, 2, 29)
NOON = datetime(2024, 2, 29, 12, 30)  # noqa: DTZ001 - times of a team's data have no zone


def body(result: Any, call: Any = None) -> str:
    text: str = json.loads(results.encoded(result, call).content)["body"]
    return text


class Kind(enum.Enum):
    NEW = "new"


class Name(str):
    __slots__ = ()


Pair = namedtuple("Pair", "a b")  # noqa: PYI024 - teams write it so


@dataclasses.dataclass
class Sale:
    store: str
    day: date


SCALARS = [
    (None, None),
    (7, 7),
    (2**70, 2**70),
    ("x", "x"),
    (Name("x"), "x"),
    (True, True),
    (1.5, 1.5),
    (DAY, "2024-02-29"),
    (NOON, "2024-02-29T12:30:00"),
    (datetime(2024, 2, 29, tzinfo=UTC), "2024-02-29T00:00:00Z"),
    (time(12, 30), "12:30:00"),
    (timedelta(days=1, hours=2), "P1DT7200S"),
    (Kind.NEW, "new"),
    (float("nan"), None),
    (float("-inf"), None),
    (Decimal("NaN"), None),
    (Decimal("-Infinity"), None),
    (np.int64(7), 7),
    (np.float32(0.5), 0.5),
    (np.float64("nan"), None),
    (np.bool_(True), True),
    (np.str_("x"), "x"),
    (np.datetime64("2024-02-29"), "2024-02-29"),
    (np.datetime64("NaT", "D"), None),
    (np.array(7), 7),
    (pd.Timestamp(NOON), "2024-02-29T12:30:00"),
    (pd.NaT, None),
    (pd.NA, None),
    (b"\x00x", "AHg="),
]


@pytest.mark.parametrize(
    ("value", "sent"), SCALARS, ids=[row_id(value) for value, _ in SCALARS]
)
def test_a_scalar_is_a_scalar_and_the_same_within_a_record(
    value: Any, sent: Any
) -> None:
    assert json.loads(body(value)) == sent
    assert json.loads(body([{"a": value}])) == [{"a": sent}]
    assert json.loads(body({"a": [value, value]})) == [{"a": sent}] * 2
    assert json.loads(body(pd.DataFrame({"a": pd.Series([value], dtype=object)}))) == [
        {"a": sent}
    ]


class Point(pydantic.BaseModel):
    x: int
    y: float = 0.5


class Graph:
    """What networkx has, as far as its edges go."""

    def __init__(self, edges: list[Any]) -> None:
        self._edges = edges

    def edges(self, data: bool) -> list[Any]:
        assert data
        return self._edges

    def to_undirected(self) -> None: ...


ROWS_OF_PARTS = [{"Part": "a", "x": 1}, {"Part": "a", "x": 2}, {"Part": "b", "x": 3}]
EDGES = [
    {"source": "a", "target": "b", "weight": 2.0},
    {"source": "b", "target": "c", "weight": None},
]

TABLES = [
    ([], []),
    ({}, []),
    ((), []),
    (pd.DataFrame({"a": []}), []),
    ([1, None, "x"], [{"Result": 1}, {"Result": None}, {"Result": "x"}]),
    ({3}, [{"Result": 3}]),
    (np.array([1, 2]), [{"Result": 1}, {"Result": 2}]),
    (np.array([[1, 2], [3, 4]]), [{"0": 1, "1": 2}, {"0": 3, "1": 4}]),
    (np.array([(1, "x")], [("a", int), ("b", "U1")]), [{"a": 1, "b": "x"}]),
    (pd.MultiIndex.from_tuples([(1, "x")], names=["a", "b"]), [{"a": 1, "b": "x"}]),
    (
        (pd.DataFrame({"x": [1, 2]}), pd.Series([3, 4], name="y")),
        [{"x": 1, "y": 3}, {"x": 2, "y": 4}],
    ),
    ((pd.DataFrame({"x": [1]}), np.array([3])), [{"x": 1, "1": 3}]),
    ((np.array([[1, 2]]), np.array([3])), [{"0 0": 1, "0 1": 2, "1": 3}]),
    (
        (np.array(["a", "b"]), np.array([3, 4])),
        [{"0": "a", "1": 3}, {"0": "b", "1": 4}],
    ),
    ((pd.DataFrame({"x": [1]}), pd.DataFrame({"x": [2]})), [{"0 x": 1, "1 x": 2}]),
    ({"a": pd.DataFrame({"x": [1, 2]}), "b": pd.DataFrame({"x": [3]})}, ROWS_OF_PARTS),
    (
        [pd.DataFrame({"x": [1]}, index=["r"]), pd.Series([2], index=["s"], name="y")],
        [{"Part": "0", "x": 1.0, "y": None}, {"Part": "1", "x": None, "y": 2.0}],
    ),
    (
        {
            "data": pd.DataFrame({"x": [1]}),
            "frame": pd.DataFrame({"x": [1], "y": [2]}),
            "n": 5,
        },
        [{"x": 1, "y": 2}],
    ),
    (
        {"data": pd.DataFrame({"x": [1]}), "target": pd.Series([2], name="y"), "n": 5},
        [{"x": 1, "y": 2}],
    ),
    (Graph([("a", "b", {"weight": 2}), ("b", "c", {})]), EDGES),
    (Graph([]), []),
    ([Point(x=1)], [{"x": 1, "y": 0.5}]),
    (Point(x=1), [{"x": 1, "y": 0.5}]),
    ({"p": Point(x=1)}, [{"p": {"x": 1, "y": 0.5}}]),
    (collections.deque([1, 2]), [{"Result": 1}, {"Result": 2}]),
    ({(1, 2): 3}, [{"(1, 2)": 3}]),
    (pd.Index([1], name="a"), [{"a": 1}]),
    ({"a": 1}, [{"a": 1}]),
    (OrderedDict(b=1, a=[2]), [{"b": 1, "a": [2]}]),
    ({"a": [1, 2], "b": ("x", None)}, [{"a": 1, "b": "x"}, {"a": 2, "b": None}]),
    (
        {"a": np.array(["2024-02-29"], "M8[ns]"), "b": pd.Series([1.5])},
        [{"a": "2024-02-29", "b": 1.5}],
    ),
    ([{"a": 1}, {"b": DAY}], [{"a": 1}, {"b": "2024-02-29"}]),
    ([Pair(1, 2)], [{"a": 1, "b": 2}]),
    (Pair(1, 2), [{"a": 1, "b": 2}]),
    ([Sale("x", DAY)], [{"store": "x", "day": "2024-02-29"}]),
    (pd.Series([1, 2], name="n"), [{"n": 1}, {"n": 2}]),
    (pd.Series([1], index=pd.Index(["x"], name="k")), [{"k": "x", "Result": 1}]),
    (pd.DataFrame({"a": [1, 2, 3]}).query("a > 1"), [{"a": 2}, {"a": 3}]),
    (pd.DataFrame({"k": ["a"], "v": [1]}).groupby("k").sum(), [{"k": "a", "v": 1}]),
    (
        pd.DataFrame({"k": ["a"], "v": [1]}).groupby("k").agg(["min"]),
        [{"k": "a", "v min": 1}],
    ),
    (pd.DataFrame([[1, 2]], columns=["T", 5]), [{"T": 1, "5": 2}]),
    (
        pd.DataFrame({"d": pd.to_datetime(["2024-02-29", None])}),
        [{"d": "2024-02-29"}, {"d": None}],
    ),
    (
        pd.DataFrame({"d": pd.to_datetime(["2024-02-29 00:00", "2024-02-29 12:30"])}),
        [{"d": "2024-02-29T00:00:00"}, {"d": "2024-02-29T12:30:00"}],
    ),
    (
        pd.DataFrame({"d": np.array([1], "M8[ns]")}),
        [{"d": "1970-01-01T00:00:00.000000001"}],
    ),
    (
        pd.DataFrame({"d": pd.to_datetime([NOON], utc=True)}),
        [{"d": "2024-02-29T12:30:00+00:00"}],
    ),
    (
        pd.DataFrame({"n": pd.array([2**62 + 1, None], "Int64")}),
        [{"n": 2**62 + 1}, {"n": None}],
    ),
    (pd.DataFrame({"c": pd.Categorical(["x", None])}), [{"c": "x"}, {"c": None}]),
    (
        pd.DataFrame({"p": pd.PeriodIndex(["2024Q1", None], freq="Q")}),
        [{"p": "2024Q1"}, {"p": None}],
    ),
    (pd.DataFrame({"c": pd.cut([1], [0, 2])}), [{"c": "(0, 2]"}]),
    (
        pd.DataFrame({"d": pd.array([DAY, None], pd.ArrowDtype(pa.date32()))}),
        [{"d": "2024-02-29"}, {"d": None}],
    ),
    (pd.DataFrame({"column_names": ["x"]}), [{"column_names": "x"}]),
    (pd.DataFrame({"n": [1]}, index=["to_pylist"]), [{"n": 1}]),
    (
        pa.table({"d": [DAY], "l": [[1, 2]], "s": [{"x": 1}]}),
        [{"d": "2024-02-29", "l": [1, 2], "s": {"x": 1}}],
    ),
    (pa.RecordBatchReader.from_batches(pa.schema({"a": pa.int8()}), []), []),
]


@pytest.mark.parametrize(
    ("result", "records"),
    TABLES,
    ids=[row_id(f"{type(result).__name__} {records}") for result, records in TABLES],
)
def test_every_kind_of_table_becomes_a_list_of_records(
    result: Any, records: Any
) -> None:
    assert json.loads(body(result)) == records


@pytest.mark.parametrize(
    "number", ["1.10", "0.1", "12345678901234567890.123456789", "-0.00", "1E+3"]
)
def test_a_decimal_keeps_all_its_digits(number: str) -> None:
    for result in (
        [{"a": Decimal(number)}],
        pd.DataFrame({"a": [Decimal(number)]}),
        {"a": [Decimal(number)]},
    ):
        assert body(result) == f'[{{"a":{number}}}]'


INFINITE = [
    (float("-inf"), 1),
    ([{"a": float("inf"), "b": [float("inf"), None]}], 2),
    (pd.DataFrame({"a": [np.inf, -np.inf, np.nan], "b": ["null"] * 3}), 2),
    ([{"a": Decimal("Infinity")}, {"a": Decimal("NaN")}], 1),
    ([{"a": float("nan"), "b": "Infinity"}], 0),
    ([{"a": np.float64("inf")}] * 250, 250),
]


@pytest.mark.parametrize(
    ("result", "lost"), INFINITE, ids=map(str, range(len(INFINITE)))
)
def test_infinite_numbers_that_are_null_in_json_are_counted(
    result: Any, lost: int
) -> None:
    assert results.encoded(result).lost == lost


def test_infinity_stays_in_arrow() -> None:
    assert results.arrow(pd.DataFrame({"a": [np.inf]})).to_pylist() == [{"a": np.inf}]


@pytest.mark.parametrize("value", [np.nan, float("inf"), np.float64("-inf")])
def test_a_number_that_json_does_not_have_is_a_row_of_arrow(value: float) -> None:
    """Alone in JSON it is null, which stands for no rows."""
    for form in ("arrow", "either"):
        reply = results.encoded(value, form=form)
        assert (reply.media_type, reply.rows) == (results.ARROW, 1)
        frame = results.read_stream(bytes(reply.content)).to_pandas()
        np.testing.assert_equal(frame["Result"].tolist(), [value])
    assert results.encoded(1.5, form="arrow").media_type == results.JSON


def test_the_text_nan_stays_text() -> None:
    assert json.loads(
        body(
            [{"a": "NaN", "b": Decimal("NaN"), "c": ["Infinity", Decimal("Infinity")]}]
        )
    ) == [{"a": "NaN", "b": None, "c": ["Infinity", None]}]


NOT_JSON = [
    (object(), "Column 'Result' has object in row 1"),
    ([{"a": 1}, {"a": 1 + 2j}], "Column 'a' has complex in row 2"),
    (pd.DataFrame({"x": [1], "y": [object()]}), "Column 'y' has object in row 1"),
    ([{"a": "\ud800"}], "Column 'a' has invalid Unicode in row 1"),
    (
        {"a": [1, 2], "b": [1]},
        "The columns have different lengths: 'a' has 2, 'b' has 1.",
    ),
    ([[1, 2]], "a list of rows without column names"),
    ([{"a": 1}, 2], "a mix of rows and scalars"),
    (pd.DataFrame([[1, 2]], columns=["a", "a"]), "2 columns are named 'a'"),
    (pa.table([[1], [2]], ["a", "a"]), "2 columns are named 'a'"),
    (
        pd.DataFrame({"a": [1]}).rename_axis("a"),
        "The index and a column are both named 'a'",
    ),
]


@pytest.mark.parametrize(
    ("result", "says"),
    NOT_JSON,
    ids=[row_id(f"{type(result).__name__} {says}") for result, says in NOT_JSON],
)
def test_what_json_cannot_hold_is_refused_in_one_line_that_says_where(
    result: Any, says: str
) -> None:
    with pytest.raises(results.ResultError) as caught:
        body(result)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def nested() -> list[Any]:
    inner: list[Any] = []
    for _ in range(100_000):
        inner = [inner]
    return [{"a": inner}]


def test_a_result_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(results.ResultError, match="Column 'a' has list"):
        body(nested())


@pytest.mark.parametrize(
    ("result", "rows"),
    [
        (7, [{"Result": 7}]),
        ([{"a": 1}, {"b": DAY}], [{"a": 1, "b": None}, {"a": None, "b": DAY}]),
        ({"a": [Decimal("1.10")]}, [{"a": Decimal("1.10")}]),
        (pd.DataFrame({"k": ["a"], "v": [1]}).groupby("k").sum(), [{"k": "a", "v": 1}]),
        (pd.DataFrame({"p": pd.PeriodIndex(["2024Q1"], freq="Q")}), [{"p": "2024Q1"}]),
        (pa.table({"d": [DAY]}), [{"d": DAY}]),
        ([], []),
    ],
    ids=range(7),
)
def test_arrow_has_the_same_rows_with_their_types(result: Any, rows: Any) -> None:
    assert results.arrow(result).to_pylist() == rows


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ([{"a": 1}, {"a": "x"}], "Column 'a' has no single Arrow type"),
        ([{"a": object()}], "Column 'a' has no single Arrow type"),
        (pd.DataFrame({"b": [object()]}), "column b"),
        ([{"a": "\ud800"}], "Column 'a'"),
    ],
    ids=["two types", "an object", "an object in a DataFrame", "half a surrogate pair"],
)
def test_what_arrow_cannot_hold_is_refused_with_its_column(
    result: Any, says: str
) -> None:
    with pytest.raises(results.ResultError) as caught:
        results.arrow(result)
    assert says in str(caught.value)


def test_what_is_encoded_is_passed_on_unchanged() -> None:
    content = results.ReplyContent(results.JSON, b'{"error": null, "body": "7"}')
    assert results.encoded(content, form="arrow") is content


@pytest.mark.parametrize("form", ["json", "arrow"])
@pytest.mark.parametrize(
    "result",
    [
        [{"a": "x" * 1000}] * 1000,
        "x" * 1_000_000,
        {"a": ["x" * 1000] * 1000},
        pd.DataFrame({"a": ["x" * 1000] * 1000}),
        pa.table({"a": ["x" * 1000] * 1000}),
        np.zeros(4_000_001),
        range(40_001),
    ],
    ids=["records", "text", "columns", "DataFrame", "Arrow table", "array", "range"],
)
def test_a_result_is_bounded_in_bytes_and_values(
    monkeypatch: pytest.MonkeyPatch, result: Any, form: results.ReplyForm
) -> None:
    """Answers of every kind of function are bounded, before they are encoded whole."""
    monkeypatch.setattr(calls, "MOST_BYTES", 900_000)
    monkeypatch.setattr(calls, "_MOST_VALUES", 200_000)
    with pytest.raises(MemoryLimitError):
        results.encoded(
            list(result) if isinstance(result, range) else result, form=form
        )


def test_expressions_are_executed_by_the_engine_that_has_their_tables() -> None:
    engine = DuckDBEngine(
        companies.reference(), lambda: pytest.fail("no card spend is asked for")
    )
    call = engine.call()
    panels = call.table("panels").select("PanelName").order_by("PanelName")
    own = ibis.duckdb.connect().create_table("t", pd.DataFrame({"n": [1, 2]}))
    assert json.loads(body(panels, call))[0] == {"PanelName": "Demo Card Panel"}
    assert results.arrow(panels, call).column_names == ["PanelName"]
    assert json.loads(body(ibis.memtable({"n": [3]}), call)) == [{"n": 3}]
    for of in (call, None):
        assert json.loads(body(own.filter(own.n > 1), of)) == [{"n": 2}]
        assert json.loads(body(own.n.sum().name("total"), of)) == [{"total": 3}]
        assert results.arrow(own, of).to_pydict() == {"n": [1, 2]}
        assert json.loads(body(duckdb.sql("SELECT 1 AS a"), of)) == [{"a": 1}]
    engine.close()


NUMBERS = pa.table({"a": list(range(10**5))})
CODES = pa.table({"a": pa.array(["x", "y", "x", "y"]).dictionary_encode()})
OPAQUE = {"ARROW:extension:name": "arrow.opaque"}
OPAQUE["ARROW:extension:metadata"] = '{"type_name": "hugeint", "vendor_name": "DuckDB"}'
WIDE = pa.table(
    [pa.array([b"x"], pa.binary(1))],
    pa.schema([pa.field("a", pa.binary(1), metadata=OPAQUE)]),
)


def written(
    table: pa.Table, before: bytes = b"", after: bytes = b"", **options: Any
) -> bytes:
    """Return a table as a stream in which the last of some bytes have become others."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(
        sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)
    ) as writer:
        writer.write_table(table)
    content = sink.getvalue().to_pybytes()
    at = content.rindex(before)
    return content[:at] + after + content[at + len(before) :]


def ints(*values: int) -> bytes:
    return np.array(values, np.int32).tobytes()


@pytest.mark.fault(136)
@pytest.mark.parametrize(
    "forged",
    [
        written(pa.table({"a": ["abcd"] * 3}), ints(0, 4, 8, 12), ints(0, 4, 8, 9**9)),
        written(CODES, ints(0, 1, 0, 1), ints(0, 9**9, -5, 1)),
        written(NUMBERS, compression="zstd"),
        written(NUMBERS, compression="lz4"),
        written(CODES),
        written(WIDE),
        written(NUMBERS)[:1000],
        b"x" * 100,
    ],
    ids=[
        "an offset",
        "a code",
        "zstd",
        "lz4",
        "codes",
        "an opaque type",
        "cut",
        "no table",
    ],
)
def test_a_forged_table_never_shows_the_memory_of_the_service_nor_fills_it(
    forged: bytes,
) -> None:
    used = pa.total_allocated_bytes()
    with pytest.raises((pa.ArrowException, OSError)):
        results.read_stream(forged)
    assert pa.total_allocated_bytes() - used < 10**5


@pytest.mark.parametrize(
    "table",
    [NUMBERS, pa.table({"a": [[1, None], []], "b": [{"c": "x"}, None]})],
    ids=["numbers", "lists and structs"],
)
def test_a_plain_table_is_read_as_it_was_written(table: pa.Table) -> None:
    assert results.read_stream(results.stream(table)).equals(table)

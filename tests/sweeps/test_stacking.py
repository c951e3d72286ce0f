"""The blocks of a sweep as one frame: arguments lead, columns are widened and never dropped, no value changes."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jupyter_funcs as jf
from jupyter_funcs.catalog.fields import Field, Kind
from jupyter_funcs.sweeps.stacking import stacked
from tests.examples import row_id

if TYPE_CHECKING:
    from collections.abc import Sequence

S = {"Symbol": Field("Symbol", "Symbol", Kind.SYMBOL, "Symbol", "")}


def field(name: str, kind: Kind) -> dict[str, Field]:
    return {name: Field(name, name, kind, name, "")}


def block(rows: Any, **schema: str) -> pd.DataFrame:
    """Return a reply as a run returns it."""
    return jf.to_frame(json.dumps(rows), schema=schema)


def stack(*blocks: pd.DataFrame) -> pd.DataFrame:
    """Stack blocks of the runs a, b, c."""
    return stacked(
        [({"Symbol": "abcdefgh"[at]}, frame) for at, frame in enumerate(blocks)], S
    )


def values(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as Python values, with None for missing ones."""
    rows = frame.astype(object).to_dict("records")
    return [
        {
            name: value
            if isinstance(value, list | dict) or not pd.isna(value)
            else None
            for name, value in row.items()
        }
        for row in rows
    ]


def test_a_block_stands_below_the_other_with_its_argument() -> None:
    """In the order of the runs; a different length isn't another shape."""
    frame = stack(block([{"n": 1}, {"n": 2}]), block([]), block([{"n": 3}]))
    assert values(frame) == [
        {"Symbol": "a", "n": 1},
        {"Symbol": "a", "n": 2},
        {"Symbol": "c", "n": 3},
    ]
    assert frame.dtypes.astype(str).to_dict() == {"Symbol": "string", "n": "int64"}
    assert frame.index.equals(pd.RangeIndex(3))
    assert frame.attrs == {}


def test_blocks_of_unlike_shapes_keep_their_order() -> None:
    """A run of another shape between two alike stays between them."""
    frame = stack(
        block([{"n": 1}]),
        block([{"m": "x"}]),
        block([{"n": 2}]),
        block([{"m": "y", "n": 3}]),
    )
    assert frame.columns.tolist() == ["Symbol", "n", "m"]
    assert frame["n"].tolist() == [1, pd.NA, 2, 3]
    assert frame["m"].tolist() == [pd.NA, "x", pd.NA, "y"]


def test_the_rows_of_a_block_keep_their_order() -> None:
    """Also if there are so many that an unstable sort would reorder them."""
    blocks = [
        block([{"n": row, "odd"[: at % 2 + 1]: at} for row in range(40)])
        for at in range(6)
    ]
    assert stack(*blocks)["n"].tolist() == [*range(40)] * 6


DAY = dt.date(2025, 3, 4)
UTC = block([{"v": "2025-03-04T05:06:07Z"}])
AHEAD = UTC.assign(v=UTC["v"].dt.tz_convert(dt.timezone(dt.timedelta(hours=2))))
BIG = 2**53 + 1


WIDENED: dict[str, tuple[pd.DataFrame, pd.DataFrame, str, list[Any]]] = {
    "integers and null": (block([{"v": 1}]), block([{"v": None}]), "Int64", [1, None]),
    "integers and no column": (
        block([{"v": 1}]),
        block([{"w": 0}]),
        "Int64",
        [1, None],
    ),
    "integers with null and integers": (
        block([{"v": 1}, {"v": None}]),
        block([{"v": 2}]),
        "Int64",
        [1, None, 2],
    ),
    "int32 and no column": (
        block([{"v": 1}], v="int32"),
        block([{"w": 0}]),
        "Int32",
        [1, None],
    ),
    "int32 and a larger integer": (
        block([{"v": 1}], v="int32"),
        block([{"v": 2**40}]),
        "int64",
        [1, 2**40],
    ),
    "integers and floats": (
        block([{"v": 1}]),
        block([{"v": 0.5}]),
        "float64",
        [1.0, 0.5],
    ),
    "integers with null and floats": (
        block([{"v": 1}, {"v": None}]),
        block([{"v": 0.5}]),
        "float64",
        [1.0, None, 0.5],
    ),
    "integers that a float would change and floats": (
        block([{"v": BIG}]),
        block([{"v": 0.5}]),
        "object",
        [BIG, 0.5],
    ),
    "a large integer that a float keeps and floats": (
        block([{"v": 2**60}]),
        block([{"v": 0.5}]),
        "float64",
        [2.0**60, 0.5],
    ),
    "integers that a float would change, null and floats": (
        block([{"v": BIG}, {"v": None}]),
        block([{"v": 0.5}]),
        "object",
        [BIG, None, 0.5],
    ),
    "beyond 64 bit and integers": (
        block([{"v": 2**70}]),
        block([{"v": 1}]),
        "object",
        [2**70, 1],
    ),
    "floats and no column": (
        block([{"v": 0.5}]),
        block([{"w": 0}]),
        "float64",
        [0.5, None],
    ),
    "truths and no column": (
        block([{"v": True}]),
        block([{"w": 0}]),
        "boolean",
        [True, None],
    ),
    "truths and truths with null": (
        block([{"v": True}]),
        block([{"v": None}, {"v": False}]),
        "boolean",
        [True, None, False],
    ),
    "truths and integers": (
        block([{"v": True}]),
        block([{"v": 1}]),
        "object",
        [True, 1],
    ),
    "text and no column": (
        block([{"v": "x"}]),
        block([{"w": 0}]),
        "string",
        ["x", None],
    ),
    "text and null": (block([{"v": "x"}]), block([{"v": None}]), "string", ["x", None]),
    "text and integers": (
        block([{"v": "007"}]),
        block([{"v": 7}]),
        "object",
        ["007", 7],
    ),
    "text with null and dates": (
        block([{"v": "x"}, {"v": None}]),
        block([{"v": "2025-03-04"}]),
        "object",
        ["x", None, pd.Timestamp(DAY)],
    ),
    "dates and no column": (
        block([{"v": "2025-03-04"}]),
        block([{"w": 0}]),
        "datetime64[us]",
        [pd.Timestamp(DAY), None],
    ),
    "dates of two units": (
        block([{"v": "2025-03-04"}], v="datetime64[s]"),
        block([{"v": "2025-03-04"}], v="datetime64[ns]"),
        "datetime64[ns]",
        [pd.Timestamp(DAY)] * 2,
    ),
    "dates beyond nanoseconds": (
        block([{"v": "9999-12-31"}]),
        block([{"v": "2025-03-04"}], v="datetime64[ns]"),
        "object",
        [pd.Timestamp("9999-12-31"), pd.Timestamp(DAY)],
    ),
    "times in UTC and no column": (
        UTC,
        block([{"w": 0}]),
        "datetime64[us, UTC]",
        [pd.Timestamp("2025-03-04T05:06:07Z"), None],
    ),
    "times of one offset and no column": (
        AHEAD,
        block([{"w": 0}]),
        "datetime64[us, UTC+02:00]",
        [pd.Timestamp("2025-03-04T07:06:07+02:00"), None],
    ),
    "times of two offsets": (
        AHEAD,
        UTC,
        "datetime64[us, UTC]",
        [pd.Timestamp("2025-03-04T05:06:07Z")] * 2,
    ),
    "times in UTC and dates": (
        UTC,
        block([{"v": "2025-03-04"}, {"v": None}]),
        "object",
        [pd.Timestamp("2025-03-04T05:06:07Z"), pd.Timestamp(DAY), None],
    ),
    "lists and null": (
        block([{"v": [1, "x"]}]),
        block([{"v": None}]),
        "object",
        [[1, "x"], None],
    ),
    "objects and integers": (block([{"v": {}}]), block([{"v": 1}]), "object", [{}, 1]),
    "nulls and nulls": (
        block([{"v": None}]),
        block([{"v": None}]),
        "object",
        [None, None],
    ),
    "nulls and no column": (
        block([{"v": None}]),
        block([{"w": 0}]),
        "object",
        [None, None],
    ),
}


@pytest.mark.parametrize(
    ("first", "second", "dtype", "expected"), WIDENED.values(), ids=WIDENED
)
@pytest.mark.parametrize("turned", [False, True], ids=["as given", "turned"])
def test_a_column_is_widened(
    first: pd.DataFrame,
    second: pd.DataFrame,
    dtype: str,
    expected: list[Any],
    turned: bool,
) -> None:
    """To a dtype that keeps every value of both runs, whichever comes first."""
    if turned:
        expected = expected[len(first) :] + expected[: len(first)]
        first, second = second, first
    column = stack(first, second)["v"]
    assert column.dtype == dtype
    got = [
        None if not isinstance(value, list | dict) and pd.isna(value) else value
        for value in column
    ]
    assert got == expected
    assert dtype != "object" or [*map(type, column)] == [*map(type, expected)]


def test_a_run_without_rows_has_no_say_in_the_dtype() -> None:
    """Its declared dtype counts only if no run returned a value."""
    empty = block([], n="float64", s="string")
    assert stack(block([{"n": 1}]), empty)["n"].dtype == "int64"
    assert stack(block([{"n": 1}]), empty)["s"].dtype == "string"
    assert stack(block([{"n": None}]), empty)["n"].dtype == "float64"
    assert stack(block([{"n": 1}]), block([{"n": None}], n="any"), empty).dtypes.astype(
        str
    ).to_dict() == {
        "Symbol": "string",
        "n": "Int64",
        "s": "string",
    }


@pytest.mark.parametrize(
    ("blocks", "columns"),
    [
        ([], ["Symbol"]),
        ([block([])], ["Symbol"]),
        ([block([], n="Int64"), block([])], ["Symbol", "n"]),
    ],
)
def test_nothing_is_an_empty_frame(
    blocks: Sequence[pd.DataFrame], columns: list[str]
) -> None:
    """With the columns that are known."""
    frame = stack(*blocks)
    assert frame.empty
    assert frame.columns.tolist() == columns
    assert frame["Symbol"].dtype == "string"
    assert frame.index.equals(pd.RangeIndex(0))


def test_rows_without_columns_count() -> None:
    """A run may return rows without values."""
    assert stack(block([{}, {}]), block([{"n": 1}]))["Symbol"].tolist() == [
        "a",
        "a",
        "b",
    ]


TYPED: dict[str, tuple[Kind, list[Any], str, list[Any]]] = {
    "dates": (
        Kind.DATE,
        ["2025-03-04", "0001-01-01"],
        "datetime64[us]",
        [pd.Timestamp(DAY), pd.Timestamp("0001-01-01")],
    ),
    "dates and none": (
        Kind.DATE,
        ["2025-03-04", None],
        "datetime64[us]",
        [pd.Timestamp(DAY), None],
    ),
    "integers": (Kind.INTEGER, ["1", str(2**63 - 1)], "int64", [1, 2**63 - 1]),
    "integers and none": (Kind.INTEGER, ["1", None], "Int64", [1, None]),
    "numbers": (Kind.NUMBER, ["0.5", "2"], "float64", [0.5, 2.0]),
    "numbers and none": (Kind.NUMBER, ["0.5", None], "float64", [0.5, None]),
    "text": (Kind.TEXT, ["007", "1E5"], "string", ["007", "1E5"]),
    "yes or no and none": (Kind.YES_NO, ["Yes", None], "string", ["Yes", None]),
    "lists": (
        Kind.LIST,
        [["Region", "Age"], ["Region"]],
        "string",
        ["Region, Age", "Region"],
    ),
    "integers and text": (
        Kind.INTEGER,
        ["1", "not a number"],
        "string",
        ["1", "not a number"],
    ),
}


@pytest.mark.parametrize(
    ("kind", "given_values", "dtype", "expected"), TYPED.values(), ids=TYPED
)
def test_an_argument_is_typed_by_its_field(
    kind: Kind, given_values: list[Any], dtype: str, expected: list[Any]
) -> None:
    """A run without the argument has a null there."""
    blocks = [
        ({"a": value} if value is not None else {}, block([{"n": 1}, {"n": 2}]))
        for value in given_values
    ]
    column = stacked(blocks, field("a", kind))["a"]
    assert column.dtype == dtype
    assert [None if pd.isna(value) else value for value in column] == [
        expected[0],
        expected[0],
        expected[1],
        expected[1],
    ]


@pytest.mark.parametrize(
    ("sent", "gave"),
    [
        ("a", "a"),
        ("2025-03-04", "2025-03-04"),
        ("7", 7),
        ("0.50", 0.5),
        (str(BIG), BIG),
        ("007", "007"),
        (str(2**70), 2**70),
        (True, True),
        (7, "7"),
        ([1, 2], "1, 2"),
        ({"k": 1}, '{"k": 1}'),
    ],
    ids=row_id,
)
def test_a_column_that_holds_the_argument_is_kept_once(sent: Any, gave: Any) -> None:
    """If equal as text, numbers or dates; it comes first, with the dtype of the result."""
    first = block([{"n": 1, "a": gave}, {"n": 2, "a": gave}])
    second = block([{"n": 3, "a": gave}])
    frame = stacked(
        [({"a": sent}, first), ({"a": sent}, second)], field("a", Kind.TEXT)
    )
    assert frame.columns.tolist() == ["a", "n"]
    assert frame["a"].dtype == first["a"].dtype
    assert len(frame) == 3


@pytest.mark.parametrize(
    "second",
    [
        block([{"Symbol": "B US EQUITY", "n": 1}]),
        block([{"Symbol": "b", "n": 1}, {"Symbol": "c", "n": 2}]),
        block([{"Symbol": None, "n": 1}]),
        block([{"n": 1}]),
        block([{"Symbol": "b", "n": 1}, {"Symbol": 2, "n": 1}]),
    ],
    ids=["a longer name", "two values", "null", "no column", "text and a number"],
)
def test_a_column_of_other_values_stands_beside_the_argument(
    second: pd.DataFrame,
) -> None:
    """If one run returned another value, or no such column, both are kept."""
    frame = stack(block([{"Symbol": "a", "n": 1}]), second)
    assert frame.columns.tolist() == ["Symbol (argument)", "Symbol", "n"]
    assert frame["Symbol (argument)"].tolist() == ["a"] + ["b"] * len(second)
    assert [value or None for value in frame["Symbol"].fillna("")][1:] == [
        row.get("Symbol") for row in values(second)
    ]


def test_null_is_not_the_text_that_shows_it() -> None:
    """A null equals the argument only for a run without it."""
    blocks = [block([{"Symbol": "a"}]), block([{"Symbol": None}])]
    for sent, columns in (({}, 1), ({"Symbol": "<NA>"}, 2), ({"Symbol": "None"}, 2)):
        frame = stacked([({"Symbol": "a"}, blocks[0]), (sent, blocks[1])], S)
        assert len(frame.columns) == columns


def test_a_run_without_rows_takes_no_column_away() -> None:
    """A symbol without data doesn't split a column into two."""
    frame = stack(block([{"Symbol": "a"}]), block([]), block([{"Symbol": "c"}]))
    assert frame.columns.tolist() == ["Symbol"]
    assert frame["Symbol"].tolist() == ["a", "c"]


@pytest.mark.parametrize("gave", ["x", 1.5, 7, True, "2026-01-01"])
@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ([1, 2], "1, 2"),
        ({"k": 1}, '{"k": 1}'),
        (pd.DataFrame({"a": [1]}), "<DataFrame>"),
    ],
    ids=["a list of numbers", "an object", "a table"],
)
def test_any_argument_may_have_a_column_of_its_name_beside_it(
    sent: Any, shown: str, gave: Any
) -> None:
    blocks = [({"a": sent}, block([{"a": gave}]))]
    frame = stacked(blocks, field("a", Kind.JSON))
    assert frame["a (argument)"].tolist() == [shown]
    assert frame["a"].tolist() == blocks[0][1]["a"].tolist()


def test_the_name_of_an_argument_is_free() -> None:
    """Also if a run returns a column with the name that the argument's would get."""
    odd = block([{"Symbol": "x", "Symbol (argument)": 1, "Symbol (argument).1": 2}])
    assert stack(odd).columns.tolist() == [
        "Symbol (argument).2",
        "Symbol",
        "Symbol (argument)",
        "Symbol (argument).1",
    ]


def test_row_labels_become_a_column() -> None:
    """The numbers 0 and 1 of one run are labels if those of another run are 7 and 8; the column's name is unused."""
    first = block({"x": {"7": 1, "8": 2}, "index": {"7": 3, "8": 4}})
    second = block({"x": {"0": 5, "1": 6}})
    assert first.index.tolist() == [7, 8]
    frame = stack(first, second)
    assert frame.columns.tolist() == ["Symbol", "index.1", "x", "index"]
    assert frame["index.1"].tolist() == [7, 8, 0, 1]
    assert frame["index.1"].dtype == "int64"
    words = stack(block({"x": {"p": 1, "q": 2}}), second)
    assert values(words)[1:3] == [
        {"Symbol": "a", "index": "q", "x": 2},
        {"Symbol": "b", "index": None, "x": 5},
    ]


def test_named_labels_keep_their_name() -> None:
    """As from table schema's primary key, and one of them may be the argument."""
    fields = [
        {"name": "Symbol", "type": "string"},
        {"name": "Day", "type": "integer"},
        {"name": "n", "type": "number"},
    ]
    schema = {"fields": fields, "primaryKey": ["Symbol", "Day"]}
    blocks = [
        block(
            {
                "schema": schema,
                "data": [{"Symbol": symbol, "Day": day, "n": 0.5} for day in (3, 4)],
            }
        )
        for symbol in "ab"
    ]
    frame = stack(*blocks)
    assert frame.columns.tolist() == ["Symbol", "Day", "n"]
    assert frame["Day"].tolist() == [3, 4, 3, 4]


def test_the_blocks_stay_as_they_are() -> None:
    """Changes of the result don't reach the blocks, which a cache or the user may hold."""
    first = block([{"n": 1, "o": [1]}])
    frame = stack(first)
    frame.loc[0, "n"] = 9
    assert first["n"].tolist() == [1]
    assert first.columns.tolist() == ["n", "o"]


def test_text_is_in_one_piece() -> None:
    """A column with one piece per run would slow down everything afterwards."""
    pytest.importorskip("pyarrow")
    texts: Any = stack(*[block([{"s": "x"}])] * 8)["s"].array
    assert texts.__arrow_array__().num_chunks == 1


TEXTS = st.sampled_from(
    ["a", "b", "", "007", "2025-03-04", "2025-03-04T05:06:07Z", "9999-12-31"]
)
WHOLE = st.integers(-3, 3) | st.sampled_from(
    [2**53, 2**53 + 1, 2**63 - 1, -(2**63), 2**64]
)
CELLS = (
    st.none()
    | WHOLE
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | TEXTS
)
CELLS |= st.lists(WHOLE, max_size=2)
ROW = st.dictionaries(st.sampled_from(["Symbol", "index", "x", "y"]), CELLS, max_size=4)
ALIKE = st.sampled_from(
    [
        WHOLE,
        WHOLE | st.none(),
        TEXTS,
        st.booleans() | st.none(),
        st.none(),
        st.just("a"),
    ]
)
COLUMN = ALIKE.flatmap(
    lambda cell: st.lists(
        st.fixed_dictionaries({"x": cell, "Symbol": cell}), max_size=4
    )
)
RUNS = st.lists(
    st.tuples(st.sampled_from("ab"), st.lists(ROW, max_size=3) | COLUMN), max_size=6
)


def is_same(left: Any, right: Any) -> bool:
    """Return whether two values are the same to a user: 1 is 1.0, and True isn't 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return (
        type(left) is type(right)
        or (isinstance(left, float) and isinstance(right, int))
    ) and bool(left == right)


@given(RUNS)
def test_no_value_is_lost_or_changed(
    runs: list[tuple[str, list[dict[str, Any]]]],
) -> None:
    """Each row belongs to its run, whatever the runs returned."""
    blocks = [({"Symbol": symbol}, block(rows)) for symbol, rows in runs]
    frame = stacked(blocks, S)
    title = next(iter(frame.columns))
    assert title in {"Symbol", "Symbol (argument)"}
    expected = [
        {"": args["Symbol"]} | row
        for args, given_block in blocks
        for row in values(given_block.reset_index(drop=True))
    ]
    assert len(frame) == len(expected)
    assert frame.columns.is_unique
    for got, wanted in zip(values(frame), expected, strict=True):
        assert got[title] == wanted.pop("")
        assert wanted.keys() <= got.keys()
        for name, value in got.items():
            if name != title or title in wanted:
                assert is_same(value, wanted.get(name)), (name, value, wanted.get(name))

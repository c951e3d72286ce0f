"""
Every known reply becomes a frame with exactly its values, or a named error.

The cases are the shapes of SERVICE.md 2 and rows 48 to 69 of the catalogue of faults. Unless a test says otherwise, a
reply is JSON text in an envelope.
"""

from __future__ import annotations

import contextlib
import json
import re
import tracemalloc
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_funcs.client.options import CallOptions
from jupyter_funcs.core.errors import (
    ArgumentError,
    FunctionError,
    ProtocolError,
    ReplyTooLargeError,
)
from jupyter_funcs.core.warn import MissingRowsWarning
from jupyter_funcs.frames import columns
from jupyter_funcs.frames.frame import to_frame


def reply(body: Any, error: Any = None) -> bytes:
    return json.dumps({"error": error, "body": json.dumps(body)}).encode()


def plain(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Return the values by column, with None for all missing values."""
    return {
        name: [
            None if pd.api.types.is_scalar(value) and pd.isna(value) else value
            for value in column
        ]
        for name, column in frame.astype(object).items()
    }


# The envelope

TABLE = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
ENVELOPES = {
    "bare": json.dumps(TABLE),
    "bare bytes": json.dumps(TABLE).encode(),
    "byte order mark": b"\xef\xbb\xbf" + reply(TABLE),
    "a value": json.dumps({"error": None, "body": TABLE}),
    "double-encoded": reply(TABLE),
    "triple-encoded": reply(json.dumps(TABLE)),
    "encoded four times": reply(json.dumps(json.dumps(TABLE))),
    "all of it encoded": json.dumps(reply(TABLE).decode()),
    "space around": json.dumps({"body": f"\n {json.dumps(TABLE)} \n", "error": None}),
    "no error said": json.dumps({"body": TABLE}),
    "an envelope in an envelope": json.dumps(
        {"error": None, "body": reply(TABLE).decode()}
    ),
    "more fields": json.dumps({"error": None, "body": TABLE, "requestId": "7"}),
}


@pytest.mark.parametrize("text", ENVELOPES.values(), ids=ENVELOPES)
def test_the_envelope_is_unwrapped_however_often_the_body_was_encoded(
    text: bytes | str,
) -> None:
    assert plain(to_frame(text)) == {"a": [1, 2], "b": ["x", "y"]}


@pytest.mark.parametrize("body", [None, TABLE, "done"])
@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("No such panel", "No such panel"),
        ("", "no reason"),
        ({"code": 7, "message": "é"}, '{"code": 7, "message": "é"}'),
        (
            "Traceback (most recent call last):\n  File 'x'\nValueError: bad date\n",
            "failed: ValueError: bad date",
        ),
    ],
)
def test_an_error_that_is_not_null_is_a_function_error_even_beside_a_body(
    error: Any, words: str, body: Any
) -> None:
    with pytest.raises(FunctionError) as caught:
        to_frame(reply(body, error))
    assert words in caught.value.what


def test_a_failure_is_told_once() -> None:
    for error in ("Get Sales failed: no such store", "no such store"):
        with pytest.raises(FunctionError) as caught:
            to_frame(reply(None, error))
        assert caught.value.what.count("failed") == 1
        assert caught.value.what.endswith("failed: no such store")


def test_an_error_needs_no_body_to_be_one_and_may_be_in_an_inner_envelope() -> None:
    inner = json.dumps({"error": None, "body": '{"error": "gone", "body": null}'})
    for text in (
        '{"error": "gone"}',
        '{"error": "gone", "code": 3}',
        '{"error": {"message": "gone"}}',
        inner,
    ):
        with pytest.raises(FunctionError, match="gone"):
            to_frame(text)


def test_an_error_text_is_inert_and_short() -> None:
    with pytest.raises(FunctionError) as caught:
        to_frame(reply(None, "\x1b[31mred\n\u202e" + "x" * 10_000))
    assert "\x1b" not in str(caught.value)
    assert "\u202e" not in str(caught.value)
    assert len(caught.value.what) < 400
    assert len(caught.value.lines) <= 3


@pytest.mark.parametrize(
    "body",
    [
        "done",
        "",
        "007",
        "1 row updated",
        "1.",
        "nullable",
        "-",
        "\x1b[31m",
        "2024-01-01x",
        "\u0661",
    ],
)
def test_a_body_of_plain_text_is_one_cell(body: str) -> None:
    frame = to_frame(json.dumps({"error": None, "body": body}))
    assert plain(frame) == {"Result": [body]}
    assert frame.dtypes["Result"] == "string"


def test_a_scalar_stays_what_it_was() -> None:
    cases = {
        "12": 12,
        "1.5": 1.5,
        "true": True,
        '"12"': "12",
        '"007"': "007",
        "1E2": 100.0,
        str(2**70): 2**70,
    }
    for body, value in cases.items():
        assert repr(plain(to_frame(json.dumps({"error": None, "body": body})))) == repr(
            {"Result": [value]}
        )
        assert repr(plain(to_frame(body))) == repr({"Result": [value]})


@pytest.mark.parametrize(
    ("reply", "rows", "beside"),
    [
        (
            '{"total_count": 2, "items": [{"a": 1}, {"a": 2}]}',
            [{"a": 1}, {"a": 2}],
            {"total_count": 2},
        ),
        (
            '{"results": [{"a": 1}], "next": null, "links": {"b": []}}',
            [{"a": 1}],
            {"next": None, "links": {"b": []}},
        ),
        (
            '{"links": [{"rel": "self"}], "records": [{"a": 1}]}',
            [{"a": 1}],
            {"links": [{"rel": "self"}]},
        ),
        ('{"count": 0, "value": []}', [], {"count": 0}),
        ('{"pets": [{"a": 1}, null]}', [{"a": 1}, {"a": None}], None),
        ('{"id": 1, "orders": [{"a": 1}]}', [{"id": 1, "orders": [{"a": 1}]}], None),
        ('{"n": 1, "data": [1, 2]}', [{"n": 1, "data": [1, 2]}], None),
        ('{"items": [{"a": 1}], "codes": [1, 2]}', [{"a": 1}], {"codes": [1, 2]}),
    ],
)
def test_a_page_of_a_list_is_its_rows(
    reply: str, rows: list[Any], beside: dict[str, Any] | None
) -> None:
    """In replies of other services the list of objects is the table; what is beside it is in attrs."""
    frame = to_frame(reply, envelope=False)
    assert frame.astype(object).where(frame.notna(), None).to_dict("records") == rows
    assert frame.attrs["funcs"].get("page") == beside


def test_a_page_in_the_service_s_own_replies_is_a_record() -> None:
    assert plain(to_frame('{"total": 1, "items": [{"a": 1}]}')) == {
        "total": [1],
        "items": [[{"a": 1}]],
    }


def test_a_page_that_is_not_all_says_so() -> None:
    with pytest.warns(MissingRowsWarning, match="has 1 of 40 rows .'totalItems'."):
        to_frame('{"totalItems": 40, "items": [{"a": 1}]}', envelope=False)


@pytest.mark.parametrize(
    "body",
    ["[1, 2", '{"a": ', '"[{', "[1] x", "[{}]\n[{}]", "[1e999]", '[{"a":' * 50_000],
)
def test_a_body_that_opens_like_json_and_is_not_is_refused(body: str) -> None:
    with pytest.raises(ProtocolError, match="body of the reply"):
        to_frame(json.dumps({"error": None, "body": body}))


def test_a_reply_that_is_not_json_is_refused() -> None:
    for text in ("", "done", "<html>", "[", b"\xff\xfe[\0]\0"):
        with pytest.raises(ProtocolError):
            to_frame(text)


# Shapes


def table(key: str, **types: str) -> dict[str, Any]:
    """Return a table schema with one key."""
    return {
        "fields": [{"name": name, "type": kind} for name, kind in types.items()],
        "primaryKey": key,
    }


NOTHING: list[Any] = []
DAY0 = pd.Timestamp("2024-01-01")
# The body, its shape, its columns, and its row labels unless they are numbers.
SHAPES: dict[str, tuple[Any, ...]] = {
    "null": (None, "null", {}, []),
    "no rows": ([], "empty", {}, []),
    "empty object": ({}, "empty", {}, []),
    "records": (TABLE, "records", {"a": [1, 2], "b": ["x", "y"]}),
    "ragged": (
        [{"b": 1}, {}, None, {"a": 2, "b": 3}],
        "records",
        {"b": [1, None, None, 3], "a": [None, None, None, 2]},
    ),
    "rows without columns": ([{}, {}], "records", {}, [0, 1]),
    "objects in records": (
        [
            {"a": {"x": 1, "y": {"z": 5}}, "b": 1},
            {"a": None, "b": 2},
            {"a": {}, "b": 3},
            {"a": {"v": 2, "x": 3}},
        ],
        "records",
        {
            "a.x": [1, None, None, 3],
            "a.y.z": [5, None, None, None],
            "a.v": [None, None, None, 2],
            "b": [1, 2, 3, None],
        },
    ),
    "objects and other values": (
        [{"a": {"x": [1]}}, {"a": [1, 2]}, {"a": [3, 4]}],
        "records",
        {"a": [{"x": [1]}, [1, 2], [3, 4]]},
    ),
    "objects without keys": ([{"a": {}}, {"a": None}], "records", {"a": [{}, None]}),
    "a name with a dot": (
        [{"a.b": 1, "a": {"b": 2}}],
        "records",
        {"a.b": [1], "a.b.1": [2]},
    ),
    "one record": (
        {"a": 1, "b": {"x": 2}, "c": [1, 2]},
        "record",
        {"a": [1], "b.x": [2], "c": [[1, 2]]},
    ),
    "by column and row": (
        {"a": {"0": 1, "1": 2}, "b": {"1": "y", "0": "x"}},
        "columns",
        {"a": [1, 2], "b": ["x", "y"]},
    ),
    "sparse rows": (
        {"a": {"0": 1, "2": 3, "10": 4}, "b": {"1": 2}},
        "columns",
        {"a": [1, None, 3, 4], "b": [None, 2, None, None]},
        [0, 1, 2, 10],
    ),
    "row numbers in the order of text": (
        {"a": {"0": 1, "1": 2, "10": 4, "2": 3}},
        "columns",
        {"a": [1, 2, 3, 4]},
        [0, 1, 2, 10],
    ),
    "row numbers in an order of their own": (
        {"a": {"7": 1, "3": 2, "5": 3}},
        "columns",
        {"a": [1, 2, 3]},
        [7, 3, 5],
    ),
    "row names": (
        {"a": {"x": 1, "007": 2}, "b": {"y": 3}},
        "columns",
        {"a": [1, 2, None], "b": [None, None, 3]},
        ["x", "007", "y"],
    ),
    "row numbers that are too large": (
        {"a": {str(2**63): 1}},
        "columns",
        {"a": [1]},
        [2**63],
    ),
    "a row number like no other": (
        {"a": {"0": 1, "-0": 2}},
        "columns",
        {"a": [1, 2]},
        ["0", "-0"],
    ),
    "columns without rows": ({"a": {}, "b": {}}, "columns", {"a": [], "b": []}),
    "a column of objects": ({"a": {"0": {"x": 1}}}, "columns", {"a": [{"x": 1}]}),
    "years as columns": (
        {"2024": {"0": 1}, "2025": {"0": 2}},
        "columns",
        {"2024": [1], "2025": [2]},
    ),
    "one row by name": ({"a": {"b": 1}}, "columns", {"a": [1]}, ["b"]),
    "by row": (
        {"7": {"a": 1, "b": {"c": "x"}}, "8": {"a": 2}},
        "index",
        {"a": [1, 2], "b.c": ["x", None]},
        [7, 8],
    ),
    "by row, a null row": (
        {"7": {"a": 1}, "8": None},
        "index",
        {"a": [1, None]},
        [7, 8],
    ),
    "by row, years as columns": (
        {"0": {"s": "x", "2024": 1}, "1": {"s": "y"}},
        "index",
        {"s": ["x", "y"], "2024": [1, None]},
    ),
    "by column": (
        {"a": [1, 2], "b": ["x", "y"]},
        "lists",
        {"a": [1, 2], "b": ["x", "y"]},
    ),
    "columns without values": ({"a": [], "b": []}, "lists", {"a": [], "b": []}),
    "split": (
        {"columns": ["a", "b"], "index": [4, 5], "data": [[1, "x"], [2, "y"]]},
        "split",
        {"a": [1, 2], "b": ["x", "y"]},
        [4, 5],
    ),
    "split without labels": (
        {"columns": ["a"], "data": [[1], [2]]},
        "split",
        {"a": [1, 2]},
    ),
    "split without rows": (
        {"columns": ["a", "b"], "index": [], "data": []},
        "split",
        {"a": [], "b": []},
    ),
    "split with odd names": (
        {"columns": [0, None, ["a", 1]], "index": [["x", 1]], "data": [[1, 2, 3]]},
        "split",
        {"0": [1], "": [2], '["a", 1]': [3]},
        ['["x", 1]'],
    ),
    "lists": (
        [[1, "x"], [2], None],
        "rows",
        {"0": [1, 2, None], "1": ["x", None, None]},
    ),
    "scalars": ([1, None, 3], "list", {"Result": [1, None, 3]}),
    "mixed": ([1, "a", {"b": 1}], "list", {"Result": [1, "a", {"b": 1}]}),
    "nulls": ([None, None], "list", {"Result": [None, None]}),
    "scalar": (7, "scalar", {"Result": [7]}),
    "table schema": (
        {
            "schema": table("k", k="string", a="any"),
            "data": [{"k": "x", "a": 1}, {"k": "y", "a": 2}],
        },
        "table",
        {"a": [1, 2]},
        ["x", "y"],
    ),
    "table schema of rows without a name": (
        {
            "schema": table("index", index="integer", a="any"),
            "data": [{"index": 3, "a": 1}],
        },
        "table",
        {"a": [1]},
        [3],
    ),
    "table schema with a key that is absent": (
        {"schema": table("k", a="number"), "data": [{"a": 1}]},
        "table",
        {"a": [1.0]},
    ),
}


@pytest.mark.parametrize("case", SHAPES.values(), ids=SHAPES)
def test_every_shape_gives_its_documented_frame(case: tuple[Any, ...]) -> None:
    body, shape, columns, *labels = case
    frame = to_frame(reply(body))
    assert frame.attrs == {"funcs": {"shape": shape}}
    assert plain(frame) == columns
    assert list(frame.columns) == list(columns)
    assert list(frame.index) == (labels[0] if labels else [*range(len(frame))])


def test_the_docstring_names_every_shape() -> None:
    shapes = {shape for _, shape, *_ in SHAPES.values()} | {
        "text",
        "schema",
        "lines",
        "page",
    }
    told = (to_frame.__doc__ or "").partition("**Types**")[0]
    assert set(re.findall(r"^ *``(\w+)``  +``", told, re.MULTILINE)) == shapes


def test_lines_are_read_only_where_the_reply_is_said_to_be_lines() -> None:
    lines = '{"a": 1}\n\r\n{"a": 2, "b": {"c": "x"}}\n'
    for text in (lines, lines.encode(), lines.replace("\n", "\r\n")):
        frame = to_frame(text, lines=True)
        assert plain(frame) == {"a": [1, 2], "b.c": [None, "x"]}
        assert frame.attrs == {"funcs": {"shape": "lines"}}
        with pytest.raises(ProtocolError, match="at byte"):
            to_frame(text)
    assert len(to_frame("", lines=True)) == 0


def test_lines_that_are_odd_are_told_once_and_one_that_is_broken_is_named() -> None:
    with pytest.warns(UserWarning, match="NaN") as caught:
        assert plain(to_frame('{"a": NaN}\n{"a": NaN}\n{"a": 1}', lines=True)) == {
            "a": [None, None, 1]
        }
    assert len(caught) == 1
    with pytest.raises(
        ProtocolError, match="reply's line 2 is cut short: it ends at byte 6"
    ):
        to_frame('{"a": 1}\n{"a": \n{"a": 2}', lines=True)
    with pytest.raises(
        ProtocolError, match="reply's line 1 contains the key 'a' twice"
    ):
        to_frame('{"a": 1, "a": 2}', lines=True, strict=True)
    for text in ('{"a": 1}{"a": 2}\n{"a": 3}', '{"a": 1}\n{"a":\n2}', "1\r2\n"):
        with pytest.raises(ProtocolError, match="at byte"):
            to_frame(text, lines=True)


def test_a_function_that_fails_after_its_first_lines_has_failed() -> None:
    with pytest.raises(FunctionError, match="no more"):
        to_frame('{"a": 1}\n{"error": "no more"}', lines=True)
    assert plain(to_frame('{"at": 1, "error": "x"}', lines=True)) == {
        "at": [1],
        "error": ["x"],
    }


def test_row_labels_stand_beside_values_of_every_dtype() -> None:
    body = {
        "d": {"x": "2024-01-01", "y": None},
        "n": {"x": 1},
        "o": {"x": [1]},
        "b": {"y": True},
        "f": {"y": 0.5},
    }
    frame = to_frame(reply(body))
    assert plain(frame) == {
        "d": [DAY0, None],
        "n": [1, None],
        "o": [[1], None],
        "b": [None, True],
        "f": [None, 0.5],
    }
    assert list(frame.index) == ["x", "y"]
    assert isinstance(to_frame(reply({"a": {"2024-01-01": 1}})).index, pd.DatetimeIndex)


def test_row_numbers_from_0_are_no_labels_and_a_null_is_no_row_number() -> None:
    assert isinstance(to_frame(reply({"a": {"0": 1, "1": 2}})).index, pd.RangeIndex)
    index = to_frame(
        reply({"columns": ["a"], "index": [None, 1], "data": [[10], [20]]})
    ).index
    assert [None if pd.isna(label) else label for label in index] == [None, 1]


@pytest.mark.parametrize("keys", [5, True, None, ["a", ""], [["a"]], "c"])
def test_a_primary_key_that_cannot_be_one_is_left_out(keys: Any) -> None:
    fields = [{"name": "a"}, {"name": None, "type": "any"}]
    frame = to_frame(
        reply(
            {
                "schema": {"fields": fields, "primaryKey": keys},
                "data": [{"a": [1], "": 2}],
            }
        )
    )
    assert plain(frame.reset_index(drop=frame.index.name is None)) == {
        "a": [[1]],
        "": [2],
    }


# Replies of 0.3 MB and less that describe more than 20 million cells, or as many characters of names.
WIDE = {f"a{key}": {f"b{key}": 1 for key in range(240)} for key in range(30)}
LONG = [{"a": "x" * 80}] * 3000
NEW_KEYS = [{f"a{at}": at} for at in range(5000)]
DECLARED = {f"a{at}": {"type": "any"} for at in range(2500)}
BOMBS: dict[str, bytes] = {
    "records": json.dumps(NEW_KEYS).encode(),
    "records, encoded": reply(NEW_KEYS),
    "records, read in chunks": json.dumps(
        [{f"a{at}": 1 for at in range(250)}, *[{}] * 90_000]
    ).encode(),
    "nested records": json.dumps([WIDE, *[{}] * 3000]).encode(),
    "nested records, read in chunks": json.dumps([*LONG, WIDE]).encode(),
    "nested records, read in chunks, encoded": reply([WIDE, *LONG, WIDE]),
    "records by row": json.dumps(
        {str(at): {f"a{at}": at} for at in range(5000)}
    ).encode(),
    "rows": json.dumps([[1] * 3000, *[[]] * 7000]).encode(),
    "columns": json.dumps({f"a{at}": {str(at): at} for at in range(5000)}).encode(),
    "columns by name": json.dumps(
        {f"a{at}": {f"b{at}": at} for at in range(5000)}
    ).encode(),
    "records with a schema": json.dumps(
        {"schema": {"a": {"type": "int32"}}, "data": NEW_KEYS}
    ).encode(),
    "a schema": json.dumps({"schema": DECLARED, "data": [{}] * 9000}).encode(),
    "a table schema": json.dumps(
        {"schema": {"fields": [{"name": a} for a in DECLARED]}, "data": [{}] * 9000}
    ).encode(),
    "a schema of a split frame": json.dumps(
        {"schema": DECLARED, "data": {"columns": [], "data": [[]] * 9000}}
    ).encode(),
    "names": json.dumps(
        [{"a" * 100_000: {f"a{at}": 1 for at in range(3000)}}]
    ).encode(),
}


@pytest.mark.slow
@pytest.mark.parametrize("lines", [False, True], ids=["document", "lines"])
def test_a_small_reply_that_describes_a_huge_table_is_refused_before_it_takes_memory(
    lines: bool,
) -> None:
    """Whatever the shape, and as NDJSON (FAULTS 124)."""
    for name, body in BOMBS.items():
        if lines and (body[:2] != b"[{" or len(body) > 2**18):
            continue
        sent = body[1:-1].replace(b"}, {", b"}\n{") if lines else body
        assert len(sent) < 500_000
        tracemalloc.start()
        try:
            with pytest.raises(
                ReplyTooLargeError, match=r"[\d,]+ rows and at least [\d,]+ columns"
            ):
                to_frame(sent, lines=lines)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 100 * 2**20, (
            f"{name}: {len(sent):,} bytes took {peak / 2**20:.0f} MiB"
        )


def test_no_memory_is_taken_for_levels_of_objects() -> None:
    """A record nested 100 times among 20,000 empty ones is one column (FAULTS 124)."""
    deep: Any = 1
    for _ in range(100):
        deep = {"a": deep}
    tracemalloc.start()
    try:
        frame = to_frame(json.dumps([deep, *[{}] * 20_000]))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert frame.shape == (20_001, 1)
    assert peak < 20 * 2**20


SPARSE_VALUES = st.sampled_from([None, 1, 2**70, 1.5, True, "x", "2024-01-01", [1], {}])


@given(
    st.lists(
        st.dictionaries(st.sampled_from("abcdefghij"), SPARSE_VALUES, max_size=2),
        max_size=12,
    ),
    st.booleans(),
)
def test_what_is_missing_is_read_as_null_however_little_there_is(
    rows: list[dict[str, Any]], nested: bool
) -> None:
    """Sparse records, rows and columns are read as if each null was written out (FAULTS 124)."""
    names = [*dict.fromkeys(name for row in rows for name in row)]
    full = [{name: row.get(name) for name in names} for row in rows]
    if nested:
        rows, full = (
            [{"n": row} if row else {} for row in records] for records in (rows, full)
        )
    pd.testing.assert_frame_equal(to_frame(reply(rows)), to_frame(reply(full)))
    ragged = [[*row.values()] for row in rows]
    width = max(map(len, ragged), default=0)
    filled = [[*row, *[None] * (width - len(row))] for row in ragged]
    pd.testing.assert_frame_equal(to_frame(reply(ragged)), to_frame(reply(filled)))


@pytest.mark.parametrize("first", [1, 2**70, 1.5, True, "x", [1], None])
def test_a_column_may_lack_rows_in_any_order_or_all(first: Any) -> None:
    """Columns keyed by row: an empty one is all null, and one in another order is reordered."""
    by_row = {
        "a": {"x": first, "y": None, "z": first},
        "b": {},
        "c": {"z": first},
        "d": {"y": first, "x": None},
    }
    names = ["x", "y", "z"]
    full = {
        column: [values.get(name) for name in names]
        for column, values in by_row.items()
    }
    assert plain(to_frame(reply(by_row))) == full


def test_the_bound_grows_with_the_reply_and_sparse_data_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Twenty cells per byte are read, and 20 million of any reply, exactly as sent (FAULTS 124)."""
    sparse = [
        {f"a{(at * 7 + key) % 500}": at for key in range(5)} for at in range(2000)
    ]
    frame = to_frame(reply(sparse))
    assert frame.shape == (2000, 500)
    assert frame.count().sum() == 10_000
    assert frame["a7"].dropna().astype(int).to_dict() == {
        at: row["a7"] for at, row in enumerate(sparse) if "a7" in row
    }
    monkeypatch.setattr(columns, "_LEAST_BOUND", 0)
    body = [{"a": 1}, *({} for _ in range(50))]
    rows = json.dumps([*({f"a{key}": 1} for key in range(8)), *body])
    per_byte = 59 * 9 / len(rows)
    for most, is_read in ((per_byte + 0.1, True), (per_byte - 0.1, False)):
        monkeypatch.setattr(columns, "_CELLS_PER_BYTE", most)
        refused = pytest.raises(
            ReplyTooLargeError, match="59 rows and at least 9 columns"
        )
        with contextlib.nullcontext() if is_read else refused:
            assert to_frame(rows).shape == (59, 9)


@pytest.mark.parametrize(
    "body",
    [
        [[1, 2, 3], [], []],
        [{"a": 1}, {"b": 1}, {"c": 1}],
        {"a": {"0": 1}, "b": {"1": 1}, "c": {"2": 1}},
        {
            "schema": {
                "a": {"type": "any"},
                "b": {"type": "any"},
                "c": {"type": "any"},
            },
            "data": [{}, {}, {}],
        },
    ],
)
def test_what_a_few_ragged_rows_would_be_filled_up_to_is_bounded(
    monkeypatch: pytest.MonkeyPatch, body: Any
) -> None:
    """The error says how large the table would be (FAULTS 124)."""
    monkeypatch.setattr(columns, "_LEAST_BOUND", 8)
    monkeypatch.setattr(columns, "_CELLS_PER_BYTE", 0)
    with pytest.raises(ReplyTooLargeError, match="3 rows and at least 3 columns"):
        to_frame(reply(body))


def test_a_primary_key_that_is_named_often_is_one() -> None:
    """A key repeated ten thousand times doesn't create as many levels of an index (FAULTS 124)."""
    schema = {
        "fields": [{"name": "a", "type": "integer"}],
        "primaryKey": ["a"] * 10_000,
    }
    frame = to_frame(reply({"schema": schema, "data": [{"a": 1}, {"a": 2}]}))
    assert frame.index.names == ["a"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"a": [1, 2], "b": [1]}, "Column 'a' has 2 values and column 'b' has 1"),
        (
            {"columns": ["a", "b"], "data": [[1, 2], [1]]},
            "Row 1 has 1 values for 2 columns",
        ),
        (
            {"columns": ["a"], "index": [0], "data": [[1], [2]]},
            "1 row labels for 2 rows",
        ),
    ],
)
def test_columns_that_do_not_fit_together_are_refused(body: Any, words: str) -> None:
    with pytest.raises(ProtocolError, match=words):
        to_frame(reply(body))


def test_columns_of_one_name_or_none_are_kept_and_told_apart() -> None:
    names = ["a", "a", "", "", "a.1", "a"]
    frame = to_frame(reply({"columns": names, "data": [[1, 2, 3, 4, 5, 6]]}))
    assert plain(frame) == {
        "a": [1],
        "a.2": [2],
        "": [3],
        ".1": [4],
        "a.1": [5],
        "a.3": [6],
    }


def test_of_a_column_that_stands_twice_in_a_record_the_last_wins_and_strict_refuses_it() -> (
    None
):
    text = json.dumps({"error": None, "body": '[{"a": 1, "a": 2}]'})
    assert plain(to_frame(text)) == {"a": [2]}
    with pytest.raises(ProtocolError, match="'a' twice"):
        to_frame(text, strict=True)


# Types that nobody declared

UTC = "datetime64[us, UTC]"
DTYPES: dict[str, tuple[list[Any], str]] = {
    "text": (["a", "b"], "string"),
    "text that looks like numbers": (["007", "1E5", "NaN", "", " 1"], "string"),
    "text with null": (["a", None], "string"),
    "characters that terminals obey": (["\x00", "\x1b[31m", "\u202e"], "string"),
    "integers": ([1, 2], "int64"),
    "integers with null": ([2**53 + 1, None], "Int64"),
    "the largest of 64 bit": ([2**63 - 1, -(2**63)], "int64"),
    "beyond 64 bit": ([2**63, 2**64, None, 1], "object"),
    "floats": ([0.1, 1.0], "float64"),
    "floats with null": ([1.5, None], "float64"),
    "integers and floats": ([1, 2.5, None], "float64"),
    "integers that a float would change": ([2**53 + 1, 2.5], "object"),
    "integers no float can hold": ([10**400, 2.5], "object"),
    "truths": ([True, False], "bool"),
    "truths with null": ([True, None], "boolean"),
    "truths and numbers": ([True, 1], "object"),
    "nulls": ([None, None], "object"),
    "mixed": ([1, "1"], "object"),
    "nested": ([[1], {"a": 1}, None], "object"),
    "dates": (["2024-02-29", None, "0001-01-01", "9999-12-31"], "datetime64[us]"),
    "datetimes": (
        ["2024-01-01T10:00", "2024-01-01T10:00:00", "2024-01-01T10:00:00.123456"],
        "datetime64[us]",
    ),
    "dates and datetimes": (["2024-01-01", "2024-01-01T10:00"], "datetime64[us]"),
    "nanoseconds": (["2024-01-01T10:00:00.123456789", None], "datetime64[ns]"),
    "offsets": (
        [
            "2024-01-01T10:00:00Z",
            "2024-01-01T10:00:00+05:30",
            "2024-01-01T10:00-03:30",
            None,
        ],
        UTC,
    ),
    "nanoseconds beyond their years": (
        ["2024-01-01T10:00:00.123456789", "9999-12-31"],
        "string",
    ),
    "offsets that differ in their digits": (
        ["2024-01-01T10:00+01:00", "2024-01-01T10:00+02:00"],
        UTC,
    ),
    "an offset of too many minutes beside another": (
        ["2024-01-01T10:00+01:00", "2024-01-01T10:00+01:99"],
        "string",
    ),
    "dates on lines of one text": (["2024-01-01", "2024-01-01\n2024-01-02"], "string"),
    "offsets and none": (["2024-01-01T10:00:00Z", "2024-01-01T10:00:00"], "string"),
    "a date and an offset": (["2024-01-01T10:00:00Z", "2024-01-01"], "string"),
    "a day that does not exist": (["2024-01-01", "2023-02-29"], "string"),
    "a month that does not exist": (["2024-13-01"], "string"),
    "the year 0": (["0000-01-01"], "string"),
    "before the year 1 in UTC": (["0001-01-01T00:00+05:00"], "string"),
    "a leap second": (["2016-12-31T23:59:60Z"], "string"),
    "hour 24": (["2024-01-01T24:00"], "string"),
    "an offset of a day": (["2024-01-01T10:00+24:00"], "string"),
    "a date and no text": (["2024-01-01", ""], "string"),
    "dates with a blank between": (["2024-01-01 10:00"], "string"),
    "dates with space around": (["2024-01-01 ", "2024-01-01"], "string"),
    "basic dates": (["20240101"], "string"),
    "months": (["2024-01"], "string"),
    "dates of other kinds": (
        ["01/02/2024", "1 May 2024", "today", "modified"],
        "string",
    ),
    "digits that are not ASCII": (["\uff12024-01-01"], "string"),
}


@pytest.mark.parametrize(("values", "dtype"), DTYPES.values(), ids=DTYPES)
def test_a_column_gets_the_dtype_that_keeps_every_value(
    values: list[Any], dtype: str
) -> None:
    column = to_frame(reply([{"modified": value} for value in values]))["modified"]
    assert str(column.dtype) == dtype
    if dtype.startswith("datetime"):
        times = [None if value is None else pd.Timestamp(value) for value in values]
        values = [
            time and time.tz_convert("UTC") if dtype == UTC else time for time in times
        ]
    read = plain(column.to_frame())["modified"]
    assert read == values
    assert [isinstance(value, bool) for value in read] == [
        isinstance(value, bool) for value in values
    ]


def test_nan_is_null_with_one_warning_and_refused_if_strict() -> None:
    text = json.dumps(
        {"error": None, "body": '[{"a": 1, "b": NaN}, {"a": NaN, "b": 2.5}]'}
    )
    with pytest.warns(UserWarning, match="NaN") as caught:
        frame = to_frame(text)
    assert len(caught) == 1
    assert plain(frame) == {"a": [1, None], "b": [None, 2.5]}
    assert [str(dtype) for dtype in frame.dtypes] == ["Int64", "float64"]
    with pytest.raises(ProtocolError, match="NaN"):
        to_frame(text, strict=True)


def test_half_a_surrogate_pair_is_replaced_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="surrogate"):
        frame = to_frame(r'{"error": null, "body": "[{\"a\": \"x\\ud800\"}]"}')
    assert plain(frame) == {"a": ["x\ufffd"]}


# Types that are declared


def declared(kind: str, values: list[Any], nullable: bool | None = True) -> bytes:
    column = (
        {"type": kind} if nullable is None else {"type": kind, "nullable": nullable}
    )
    rows = {str(row): value for row, value in enumerate(values)}
    return reply(
        {
            "schema": {"x": column},
            "data": {"x": rows},
            "retrievalTime": "2024-01-01T00:00:00Z",
        }
    )


DAY = pd.Timestamp("2024-03-01")
FIRST = pd.Timestamp("0001-01-01")
DECLARED: dict[str, tuple[str, list[Any], str, list[Any]]] = {
    "int32": ("int32", [1, -(2**31)], "int32", [1, -(2**31)]),
    "int64": ("int64", [2**63 - 1], "int64", [2**63 - 1]),
    "int64 written as float": ("int64", [3.0, 4], "int64", [3, 4]),
    "bool": ("bool", [True, False], "bool", [True, False]),
    "float64": ("float64", [1, 2.5], "float64", [1.0, 2.5]),
    "str": ("str", ["007", "2024-01-01"], "string", ["007", "2024-01-01"]),
    "bytes": ("bytes", ["é"], "object", ["é".encode()]),
    "date": (
        "datetime.date",
        ["2024-03-01", "9999-12-31"],
        "datetime64[us]",
        [DAY, pd.Timestamp("9999-12-31")],
    ),
    "date written as datetime": (
        "datetime.date",
        ["2024-03-01T00:00:00.000Z"],
        "datetime64[us]",
        [DAY],
    ),
    "date written in milliseconds": (
        "datetime.date",
        [DAY.value // 10**6],
        "datetime64[us]",
        [DAY],
    ),
    "datetime": (
        "np.datetime64[ns]",
        [f"{DAY:%Y-%m-%d}T00:00:00.000000009"],
        "datetime64[ns]",
        [DAY + pd.Timedelta(9)],
    ),
    "datetime without one": (
        "datetime",
        ["2024-03-01", DAY.strftime("%Y-%m-%dT%H:%M")],
        "datetime64[us]",
        [DAY] * 2,
    ),
    "seconds": ("datetime64[s]", [DAY.value // 10**9], "datetime64[s]", [DAY]),
    "milliseconds": (
        "datetime64[ms]",
        [DAY.value // 10**6, -1],
        "datetime64[ms]",
        [DAY, pd.Timestamp(-1, unit="ms")],
    ),
    "milliseconds written as text": (
        "datetime64[ms]",
        ["2024-03-01", "0001-01-01"],
        "datetime64[ms]",
        [DAY, FIRST],
    ),
    "milliseconds written as floats": (
        "datetime64[ms]",
        [DAY.value / 10**6],
        "datetime64[ms]",
        [DAY],
    ),
    "microseconds": ("datetime64[us]", [DAY.value // 10**3], "datetime64[us]", [DAY]),
    "nanoseconds": (
        "datetime64[ns]",
        [DAY.value, 2**63 - 1],
        "datetime64[ns]",
        [DAY, pd.Timestamp.max],
    ),
    "Int32": ("Int32", [1], "Int32", [1]),
    "Int64": ("Int64", [2**63 - 1, 3.0], "Int64", [2**63 - 1, 3]),
    "boolean": ("boolean", [True], "boolean", [True]),
    "string": ("string", ["2024-01-01"], "string", ["2024-01-01"]),
    "datetime written in milliseconds": (
        "np.datetime64[ns]",
        [DAY.value // 10**6],
        "datetime64[ns]",
        [DAY],
    ),
}
TWINS = {"int32": "Int32", "int64": "Int64", "bool": "boolean"}


@pytest.mark.parametrize(
    ("kind", "values", "dtype", "expected"), DECLARED.values(), ids=DECLARED
)
def test_a_declared_type_is_applied_as_declared(
    kind: str, values: list[Any], dtype: str, expected: list[Any]
) -> None:
    for nullable, holes, then in [
        (False, [], dtype),
        (None, [], dtype),
        (True, [], TWINS.get(dtype, dtype)),
        (True, [None], TWINS.get(dtype, dtype)),
        (None, [None], TWINS.get(dtype, dtype)),
    ]:
        frame = to_frame(declared(kind, values + holes, nullable))
        assert str(frame["x"].dtype) == then
        assert plain(frame) == {"x": expected + holes}
        assert frame.attrs == {
            "funcs": {"shape": "schema", "retrievalTime": "2024-01-01T00:00:00Z"}
        }
        assert str(to_frame(declared(kind, NOTHING, nullable))["x"].dtype) == (
            TWINS.get(dtype, dtype) if nullable else dtype
        )


def test_a_declared_datetime_whose_values_all_have_an_offset_is_utc() -> None:
    column = to_frame(
        declared(
            "datetime", ["2024-03-01T00:00:00+00:00", "2024-03-01T02:00+02:00", None]
        )
    )["x"]
    assert str(column.dtype) == UTC
    assert column.tolist() == [DAY.tz_localize("UTC")] * 2 + [pd.NaT]


def test_values_that_do_not_go_together_are_named_by_the_row_that_comes_first() -> None:
    with pytest.raises(
        ProtocolError,
        match="'2024-01-02' in row 2, which does not match the rows above",
    ):
        to_frame(
            declared(
                "datetime", ["2024-01-01T00:00Z", None, "2024-01-02", "2024-01-03"]
            )
        )


def test_a_declared_float_does_not_depend_on_its_neighbours() -> None:
    for values in ([10**20, 1], [10**20, 1.0], [1, None]):
        assert to_frame(declared("float64", values))["x"].dtype == "float64"


@pytest.mark.parametrize(
    "schema",
    [
        {"a": str},
        {"a": ["x"]},
        {1: "str"},
        [("a", "str")],
        "x",
        pd.Series(["str"], ["a"]),
    ],
)
def test_a_schema_that_is_none_is_refused_before_anything_is_sent(schema: Any) -> None:
    with pytest.raises(ArgumentError, match="schema must map"):
        to_frame("[]", schema=schema)
    with pytest.raises(ArgumentError, match="schema must map"):
        CallOptions().changed(schema=schema)
    with pytest.raises(ArgumentError, match="int46"):
        CallOptions().changed(schema={"a": "int46"})


@pytest.mark.parametrize("reply", [None, 5, [{"a": 1}], {"a": 1}])
def test_what_is_no_reply_is_refused_by_its_type(reply: Any) -> None:
    with pytest.raises(ArgumentError, match=type(reply).__name__):
        to_frame(reply)


def test_any_bytes_and_any_text_is_a_reply() -> None:
    class Text(str):
        __slots__ = ()

    text = '[{"a": NaN}]'
    for kept in (bytearray(text.encode()), memoryview(text.encode()), Text(text)):
        with pytest.warns(UserWarning, match="NaN"):
            assert plain(to_frame(kept)) == {"a": [None]}  # type: ignore[arg-type]


def test_a_warning_names_the_line_that_called() -> None:
    schema = {"schema": {"a": {"type": "money"}}, "data": []}
    for text in (
        '{"a": NaN, "b": 1}',
        r'["\ud800"]',
        json.dumps(schema),
        "[" + '{"a": NaN},' * 50_000 + "{}]",
    ):
        with pytest.warns(UserWarning, match="The reply") as caught:
            to_frame(text)
        assert [warning.filename for warning in caught] == [__file__]


def test_a_null_where_none_is_declared_is_refused_and_the_caller_can_say_otherwise() -> (
    None
):
    text = declared("int64", [1, None], nullable=False)
    with pytest.raises(
        ProtocolError,
        match="'x' is declared as not nullable but contains a null in row 1",
    ):
        to_frame(text)
    assert plain(to_frame(text, schema={"x": "int64"})) == {"x": [1, None]}


def test_an_unknown_declared_type_warns_and_the_column_is_left_as_read() -> None:
    with pytest.warns(UserWarning, match="'x' as 'money'"):
        frame = to_frame(declared("money", [1, None]))
    assert str(frame["x"].dtype) == "Int64"


def test_declared_columns_come_in_their_order_and_absent_ones_are_null() -> None:
    schema = {
        "d": {"type": "datetime.date"},
        "b": {"type": "str"},
        "n": {"type": "int64"},
    }
    frame = to_frame(
        reply({"schema": schema, "data": {"more": {"0": 1}, "b": {"0": "x"}}})
    )
    assert plain(frame) == {"d": [None], "b": ["x"], "n": [None], "more": [1]}
    assert [str(dtype) for dtype in frame.dtypes] == [
        "datetime64[us]",
        "string",
        "Int64",
        "int64",
    ]
    empty = to_frame(reply({"schema": schema, "data": {}}))
    assert [str(dtype) for dtype in empty.dtypes] == [
        "datetime64[us]",
        "string",
        "int64",
    ]
    assert len(empty) == 0


@pytest.mark.parametrize(
    "data",
    [TABLE, [[1, "x"], [2, "y"]], {"a": [1, 2], "b": ["x", "y"]}, json.dumps(TABLE)],
)
def test_a_schema_may_stand_beside_any_table(data: Any) -> None:
    """Rows without names have the names that it declares."""
    frame = to_frame(
        reply({"schema": {"a": {"type": "int32"}, "b": {"type": "str"}}, "data": data})
    )
    assert plain(frame) == {"a": [1, 2], "b": ["x", "y"]}
    assert str(frame["a"].dtype) == "int32"


def test_the_callers_schema_overrides_what_is_read() -> None:
    frame = to_frame(
        reply([{"a": "2024-01-01", "b": 1}]), schema={"a": "str", "b": "float64"}
    )
    assert plain(frame) == {"a": ["2024-01-01"], "b": [1.0]}
    with pytest.raises(
        ArgumentError, match=r"(?s)unknown type 'int46'.*Did you mean 'int64'"
    ):
        to_frame(reply([]), schema={"a": "int46"})


def test_a_column_called_schema_or_body_is_a_column() -> None:
    row = {"schema": "x", "data": "y", "body": "z", "error": "w"}
    assert to_frame(reply([row])).to_dict("records") == [row]

"""
A table in any shape, from any JSON writer and in any envelope, comes back value for value.

Hypothesis draws the table and how it is written. The expected result comes from the standard library's reading of the
same text and from `seen` and `typed`, which implement the docstring of `to_frame` a second time, slowly and without the
package.

Where a long reply is cut makes no difference: in the smallest pieces, every text, valid or broken, gives the same
frame, warnings or error as in one piece.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from jupyter_funcs.core.errors import FuncsError, ProtocolError
from jupyter_funcs.core.text import quote
from jupyter_funcs.frames import chunks
from jupyter_funcs.frames.columns import packed
from jupyter_funcs.frames.frame import to_frame
from tests.examples import examples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Draw = Callable[[st.SearchStrategy[Any]], Any]

FEWER = settings(deadline=None, max_examples=examples(20))
MANY = settings(
    deadline=None,
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


# What a document means: the rules, a second time


@dataclass
class Table:
    names: list[str]
    columns: list[list[Any]]
    labels: list[Any]


def seen(document: Any) -> tuple[str, Table]:
    if document in (None, [], {}):
        return ("null" if document is None else "empty"), Table([], [], [])
    if isinstance(document, dict):
        return of_object(document)
    if isinstance(document, list):
        return of_list(document)
    return "scalar", Table(["Result"], [[document]], [0])


def of_list(document: list[Any]) -> tuple[str, Table]:
    kinds = {type(row) for row in document} - {type(None)}
    if kinds == {dict}:
        return "records", of_records(document)
    if kinds == {list}:
        width = max(len(row or ()) for row in document)
        columns = [
            [row[at] if row and at < len(row) else None for row in document]
            for at in range(width)
        ]
        return "rows", Table(
            [str(at) for at in range(width)], columns, [*range(len(document))]
        )
    return "list", Table(["Result"], [document], [*range(len(document))])


def of_object(document: dict[str, Any]) -> tuple[str, Table]:
    values = list(document.values())
    if {"columns", "data"} <= document.keys() <= {"columns", "data", "index"}:
        rows = document["data"]
        names = document["columns"]
        columns = [[row[at] for row in rows] for at in range(len(names))]
        return "split", Table(
            names, columns, document.get("index", [*range(len(rows))])
        )
    if all(isinstance(value, dict) for value in values):
        inner = [key for value in values for key in value]
        if all(map(is_integer, document)) and not all(map(is_integer, inner)):
            keys = in_order([list(document)])
            table = of_records([document[key] for key in keys])
            return "index", Table(
                table.names, table.columns, [int(key) for key in keys]
            )
        keys = in_order([list(value) for value in values])
        labels = [int(key) for key in keys] if all(map(is_integer, keys)) else keys
        return "columns", Table(
            list(document),
            [[value.get(key) for key in keys] for value in values],
            labels,
        )
    if all(isinstance(value, list) for value in values):
        return "lists", Table(list(document), values, [*range(len(values[0]))])
    return "record", of_records([document])


def of_records(rows: list[dict[str, Any] | None]) -> Table:
    names = list(dict.fromkeys(name for row in rows for name in row or ()))
    spread = [
        part
        for name in names
        for part in dotted(name, [(row or {}).get(name) for row in rows])
    ]
    return Table(
        [name for name, _ in spread],
        [values for _, values in spread],
        [*range(len(rows))],
    )


def dotted(name: str, values: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    filled = [value for value in values if value is not None]
    if any(filled) and all(isinstance(value, dict) for value in filled):
        for key in dict.fromkeys(key for value in filled for key in value):
            yield from dotted(
                f"{name}.{key}",
                [None if value is None else value.get(key) for value in values],
            )
    else:
        yield name, values


def in_order(keys_by_column: list[list[str]]) -> list[str]:
    keys = list(dict.fromkeys(key for keys in keys_by_column for key in keys))
    if all(map(is_integer, keys)) and all(
        keys in (sorted(keys), sorted(keys, key=int)) for keys in keys_by_column
    ):
        return sorted(keys, key=int)
    return keys


def is_integer(key: str) -> bool:
    return re.fullmatch("0|-?[1-9][0-9]*", key) is not None


def told_apart(names: list[str]) -> list[str]:
    unique: list[str] = []
    for name in names:
        new = name
        count = 0
        while new in unique or (count and new in names):
            count += 1
            new = f"{name}.{count}"
        unique.append(new)
    return unique


def typed(values: list[Any]) -> tuple[str, list[Any]]:
    """Return the dtype and the values; times as nanoseconds since 1970."""
    filled = [value for value in values if value is not None]
    kinds = set(map(type, filled))
    nulls = len(filled) < len(values)
    if kinds == {bool}:
        return ("boolean" if nulls else "bool"), values
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in filled):
        return ("Int64" if nulls else "int64"), values
    if kinds in ({float}, {int, float}) and all(is_float(value) for value in filled):
        return "float64", [None if value is None else float(value) for value in values]
    if kinds == {str}:
        return times(values) or ("string", values)
    return "object", values


def is_float(value: float) -> bool:
    try:
        return float(value) == value
    except OverflowError:
        return False


TIME = re.compile(
    r"(....)-(..)-(..)(?:T(..):(..)(?::(..)(?:[.]([0-9]{1,9}))?)?(Z|[+-]..:..)?)?"
)


def times(values: list[str | None]) -> tuple[str, list[Any]] | None:
    counts: list[int | None] = []
    zoned = set()
    finest = 0
    for value in values:
        if value is None:
            counts.append(None)
            continue
        if not value.isascii() or (match := TIME.fullmatch(value)) is None:
            return None
        *fields, decimals, zone = match.groups()
        zoned.add(zone is not None)
        finest = max(finest, len(decimals or ""))
        try:
            count = nanoseconds(fields, decimals or "", zone or "Z")
        except ValueError:
            return None
        counts.append(count)
    unit = "ns" if finest > 6 else "us"
    if len(zoned) > 1 or any(
        not within(count, unit) for count in counts if count is not None
    ):
        return None
    return f"datetime64[{unit}{', UTC' if True in zoned else ''}]", counts


def nanoseconds(fields: list[str | None], decimals: str, zone: str) -> int:
    if any(not (field or "0").isdecimal() for field in fields):
        raise ValueError
    moment = dt.datetime(*map(int, [field or "0" for field in fields]))  # type: ignore[arg-type] # noqa: DTZ001
    whole = (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(seconds=1)  # noqa: DTZ001
    if zone != "Z":
        away = dt.time.fromisoformat(zone[1:])
        seconds = away.hour * 3600 + away.minute * 60
        whole -= -seconds if zone[0] == "-" else seconds
    return whole * 10**9 + int(f"{decimals:<09}")


def within(count: int, unit: str) -> bool:
    if unit == "ns":
        return -(2**63) < count < 2**63
    return (
        dt.date(1, 1, 1).toordinal()
        <= count // (86_400 * 10**9) + 719_163
        <= dt.date(9999, 12, 31).toordinal()
    )


# The content of a frame


def content_of(frame: pd.DataFrame) -> list[Any]:
    """Return names, dtypes, values and row labels, by a repr that distinguishes 1, 1.0, True and -0.0."""
    return [
        [name, str(frame.dtypes.iloc[at]), cells(frame.iloc[:, at])]
        for at, name in enumerate(frame.columns)
    ] + labelled(frame.index)


def labelled(index: Any) -> list[Any]:
    kind = "range" if isinstance(index, pd.RangeIndex) else str(index.dtype)
    return [[kind, cells(index.to_series())], index.name]


def cells(series: Any) -> list[Any]:
    if series.dtype.kind == "M":
        scale = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}[series.dt.unit]
        return [
            None if missing else count * scale
            for missing, count in zip(series.isna(), asi8(series), strict=True)
        ]
    nan = series.dtype != object
    return [
        None if value is None or (nan and pd.isna(value)) else value
        for value in series.astype(object)
    ]


def asi8(series: Any) -> list[int]:
    counts: list[int] = series.array.asi8.tolist()
    return counts


def due(table: Table) -> list[Any]:
    """Return the expected `content_of` a table without declared types."""
    names = told_apart(table.names)
    columns = [
        [name, *typed(values)]
        for name, values in zip(names, table.columns, strict=True)
    ]
    rows = [*range(len(table.labels))]
    index = (
        ["range", rows] if repr(table.labels) == repr(rows) else [*typed(table.labels)]
    )
    return [*columns, index, None]


# Tables

TEXTS = [
    "",
    " ",
    "007",
    "-0",
    "1E5",
    "NaN",
    "null",
    "true",
    "modified",
    "2024-01-01",
    "2024-01-01T00:00Z",
    "2024-1-1",
    "2024-02-30",
    "20240101",
    "2024-01-01 ",
    "2024-01-01\n",
    "2024-01-01\n2024-01-02",
    "2024-01-01T24:00",
    "0000-01-01",
    "2016-12-31T23:59:60",
    "١٢٣",
    '"',
    '\\"',
    "\\",
    "\\\\",
    "\\u0041",
    "},{",
    "}, {",
    "], [",
    '","',
    ',"',
    '":{',
    "[{",
    "}]",
    "/",
    "\\/",
    "\0",
    "\x1b[31m",
    "\x7f",
    "\u2028",
    "\u2029",
    "\u202e",
    "\ufeff",
    "é",
    "e\u0301",
    "😀",
    "\U0010ffff",
    "\n",
    "\t",
]
# Words of the shapes and of the envelope mean something as keys of a whole document; test_frame.py has their cases.
WORDS = {"error", "body", "schema", "data", "columns", "index"}
NAMES = (
    st.sampled_from([*TEXTS, "a", "b", "a.b", "a.1", "0", "1"]) | st.text(max_size=6)
).filter(lambda name: name not in WORDS)
SMALL = st.integers(-9, 9)
LARGE = st.sampled_from([2**53 + 1, 2**63 - 1, -(2**63)])
HUGE = st.sampled_from([2**63, 2**64, -(2**63) - 1, 10**30, -(10**400)])
WHOLE = st.sampled_from([3.0, -0.0, 2.0**62, -(2.0**63)])
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.sampled_from(TEXTS) | st.text(max_size=8)
DATES = st.dates().map(dt.date.isoformat)
SECONDS = st.sampled_from(["minutes", "seconds", "milliseconds", "microseconds"])
NAIVE = st.builds(
    lambda moment, precision: moment.isoformat("T", precision), st.datetimes(), SECONDS
)
FINE = st.builds(
    "{}T10:00:00.{:09d}".format,
    st.dates(dt.date(1680, 1, 1), dt.date(2260, 1, 1)),
    st.integers(0, 999),
)
ZONES = st.sampled_from(["Z", "+00:00", "+05:30", "-03:00", "+23:59"])
ENDS = [
    "0001-01-01T00:00Z",
    "0001-01-01T00:00+05:30",
    "9999-12-31T23:59:59.999999Z",
    "9999-12-31T23:59-03:00",
]
ZONED = st.builds("{}{}".format, NAIVE, ZONES) | st.sampled_from(ENDS)
SCALARS = st.none() | st.booleans() | SMALL | HUGE | FLOATS | TEXT
NESTED = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3)
    ),
    max_leaves=5,
)
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "integers": SMALL,
    "integers of 64 bit": SMALL | LARGE,
    "integers beyond 64 bit": SMALL | LARGE | HUGE,
    "floats": FLOATS,
    "integers and floats": SMALL | FLOATS,
    "integers that no float holds, and floats": SMALL | LARGE | HUGE | FLOATS,
    "truths": st.booleans(),
    "truths and integers": st.booleans() | st.integers(0, 1),
    "texts": TEXT,
    "dates": DATES,
    "times": NAIVE,
    "dates and times": DATES | NAIVE,
    "nanoseconds": FINE | DATES,
    "times with an offset": ZONED,
    "times of all kinds": DATES | NAIVE | ZONED,
    "texts that might be dates": DATES | TEXT,
    "nulls": st.none(),
    "lists": st.lists(SMALL | TEXT, max_size=3),
    "lists of records": st.lists(
        st.dictionaries(NAMES, SCALARS, max_size=2), max_size=2
    ),
    "objects": st.dictionaries(NAMES, SCALARS, max_size=3),
    "objects of one kind": st.fixed_dictionaries(
        {"x": SMALL, "y": st.none() | st.fixed_dictionaries({"z": DATES})}
    ),
    "objects and scalars": st.dictionaries(NAMES, SCALARS, max_size=2) | SCALARS,
    "anything": NESTED,
}


@st.composite
def tables(draw: st.DrawFn, *, unique: bool = True, least: int = 0) -> Table:
    """Draw a table with at least so many rows and columns."""
    count = draw(st.integers(least, 8) | st.integers(least, 40))
    few = (
        st.nothing()
        if unique
        else st.lists(st.sampled_from(["a", "a.1"]), min_size=3, max_size=5)
    )
    names = draw(st.lists(NAMES, min_size=least, max_size=4, unique=unique) | few)
    columns = []
    for _ in names:
        values = KINDS[draw(st.sampled_from(list(KINDS)))]
        if draw(st.booleans()):
            values |= st.none()
        columns.append(draw(st.lists(values, min_size=count, max_size=count)))
    return Table(names, columns, [*range(count)])


ROW_KEYS = {
    "integers": st.integers(-3, 120).map(str)
    | st.sampled_from(["9223372036854775807", "-9223372036854775808"]),
    "texts": TEXT,
    "dates": DATES,
    "integers and texts": st.integers(0, 9).map(str)
    | st.sampled_from(["-0", "007", "+1", "1.0", " 1", "", "0\n1", "1\n"]),
}


@st.composite
def row_keys(draw: st.DrawFn, count: int) -> list[str]:
    """Draw row keys: in order, with gaps, in any order, or not numeric."""
    kind = draw(st.sampled_from(["in order", *ROW_KEYS]))
    if kind == "in order":
        return [str(row) for row in range(count)]
    few = 9 if kind == "integers and texts" else count
    keys = draw(
        st.lists(ROW_KEYS[kind], unique=True, min_size=min(count, few), max_size=count)
    )
    keys += [str(row) for row in range(1000, 1000 + count - len(keys))]
    return draw(
        st.sampled_from(
            [keys, sorted(keys), sorted(keys, key=len), draw(st.permutations(keys))]
        )
    )


# The shapes


def as_records(table: Table, _draw: Draw) -> Any:
    return [
        dict(zip(table.names, row, strict=True))
        for row in zip(*table.columns, strict=True)
    ]


def as_ragged_records(table: Table, draw: Draw) -> Any:
    """Draw rows with omitted nulls, moved keys, or that are null themselves."""
    rows = []
    for record in as_records(table, draw):
        keys = (
            draw(st.permutations(list(record))) if draw(st.booleans()) else list(record)
        )
        row = {
            key: record[key]
            for key in keys
            if record[key] is not None or draw(st.booleans())
        }
        rows.append(row or draw(st.sampled_from([{}, None])))
    return rows


def as_nested_records(table: Table, draw: Draw) -> Any:
    """Draw columns of scalars nested in objects that may be null, empty or absent."""
    depth = {
        name: draw(st.sampled_from([(), ("in",), ("in", "deep"), ("out",), ("a.b",)]))
        for name in table.names
    }
    rows = []
    for record in as_records(table, draw):
        row: dict[str, Any] = {}
        for name, value in record.items():
            place = row
            for key in depth[name]:
                place = place.setdefault(key, {})
                if not isinstance(place, dict):  # a column with the same name
                    break
            else:
                if value is not None or draw(st.booleans()):
                    place[name] = value
        rows.append(
            {
                key: value or draw(st.sampled_from([value, None]))
                for key, value in row.items()
            }
        )
    return rows


def as_columns(table: Table, draw: Draw) -> Any:
    keys = draw(row_keys(len(table.labels)))
    return {
        name: dict(zip(keys, values, strict=True))
        for name, values in zip(table.names, table.columns, strict=True)
    }


def as_sparse_columns(table: Table, draw: Draw) -> Any:
    """Draw columns with omitted nulls, so that a row may first occur in any of them, or never."""
    return {
        name: {
            key: value
            for key, value in column.items()
            if value is not None or draw(st.booleans())
        }
        for name, column in as_columns(table, draw).items()
    }


def as_shuffled_columns(table: Table, draw: Draw) -> Any:
    return {
        name: {key: column[key] for key in draw(st.permutations(list(column)))}
        for name, column in as_columns(table, draw).items()
    }


def as_lists(table: Table, _draw: Draw) -> Any:
    return dict(zip(table.names, table.columns, strict=True))


def as_rows(table: Table, draw: Draw) -> Any:
    """Return rows without their trailing nulls."""
    rows = [list(row) for row in zip(*table.columns, strict=True)]
    for row in rows:
        while row and row[-1] is None and draw(st.booleans()):
            row.pop()
    return rows


def as_split(table: Table, draw: Draw) -> Any:
    rows = [list(row) for row in zip(*table.columns, strict=True)] or [
        [] for _ in table.labels
    ]
    return {"columns": table.names, "data": rows}


def as_split_with_labels(table: Table, draw: Draw) -> Any:
    kind = draw(
        st.sampled_from(
            [SMALL, SMALL | LARGE, FLOATS, DATES, TEXT, SMALL.map(str), SMALL | TEXT]
        )
    )
    count = len(table.labels)
    labels = draw(st.lists(kind, min_size=count, max_size=count))
    return as_split(table, draw) | {"index": labels}


def as_index(table: Table, draw: Draw) -> Any:
    count = len(table.labels)
    keys = draw(
        st.lists(ROW_KEYS["integers"], unique=True, min_size=count, max_size=count)
    )
    return dict(zip(keys, as_records(table, draw), strict=False))


def as_record(table: Table, draw: Draw) -> Any:
    record = (as_records(table, draw) or [{}])[0]
    # Then it would be a table by columns.
    assume(not all(isinstance(value, list) for value in record.values()))
    return record


def as_list(table: Table, _draw: Draw) -> Any:
    return (table.columns or [[]])[0]


SHAPES: dict[str, Callable[[Table, Draw], Any]] = {
    "records": as_records,
    "ragged records": as_ragged_records,
    "nested records": as_nested_records,
    "columns": as_columns,
    "sparse columns": as_sparse_columns,
    "shuffled columns": as_shuffled_columns,
    "lists": as_lists,
    "rows": as_rows,
    "split": as_split,
    "split with labels": as_split_with_labels,
    "index": as_index,
    "record": as_record,
    "list": as_list,
}
REPEATING = {"split", "split with labels"}
# The shapes that name every column once.
UNIQUE = [
    "records",
    "ragged records",
    "columns",
    "sparse columns",
    "shuffled columns",
    "lists",
    "split",
]


# Declared types


def midnight(day: str) -> int:
    return nanoseconds([*day.split("-")], "", "Z")


# For each type: values that fit it, what they become, and the dtype without and with nulls.
DECLARED: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], Any], str, str]] = {
    "int32": (SMALL | st.sampled_from([2**31 - 1, -(2**31)]), int, "int32", "Int32"),
    "int64": (SMALL | LARGE | WHOLE, int, "int64", "Int64"),
    "float64": (SMALL | FLOATS, float, "float64", "float64"),
    "bool": (st.booleans(), bool, "bool", "boolean"),
    "str": (TEXT | DATES, str, "string", "string"),
    "bytes": (TEXT | DATES, str.encode, "object", "object"),
    "datetime.date": (DATES, midnight, "datetime64[us]", "datetime64[us]"),
    "np.datetime64[ns]": (
        st.integers(-(10**12), 9 * 10**12),
        (10**6).__mul__,
        "datetime64[ns]",
        "datetime64[ns]",
    ),
    "Int32": (SMALL | st.sampled_from([2**31 - 1, -(2**31)]), int, "Int32", "Int32"),
    "Int64": (SMALL | LARGE | WHOLE, int, "Int64", "Int64"),
    "boolean": (st.booleans(), bool, "boolean", "boolean"),
    "string": (TEXT | DATES, str, "string", "string"),
    "datetime64[s]": (
        st.integers(-(10**9), 10**11),
        (10**9).__mul__,
        "datetime64[s]",
        "datetime64[s]",
    ),
    "datetime64[ms]": (
        st.integers(-(10**12), 10**14),
        (10**6).__mul__,
        "datetime64[ms]",
        "datetime64[ms]",
    ),
    "datetime64[us]": (
        st.integers(-(10**15), 10**17),
        (10**3).__mul__,
        "datetime64[us]",
        "datetime64[us]",
    ),
    "datetime64[ns]": (
        st.integers(-(2**63) + 1, 2**63 - 1),
        int,
        "datetime64[ns]",
        "datetime64[ns]",
    ),
}


@st.composite
def declared_tables(draw: st.DrawFn) -> tuple[dict[str, str], Table]:
    """Draw a table with declared types; some columns have none, and some declared ones are absent."""
    types = draw(
        st.dictionaries(
            st.sampled_from("abcdef"),
            st.sampled_from(list(DECLARED)),
            min_size=1,
            max_size=4,
        )
    )
    count = draw(st.integers(0, 8) | st.integers(0, 40))
    names = draw(
        st.permutations(
            draw(st.sampled_from([list(types), list(types)[1:], ["more", *types]]))
        )
    )
    columns = []
    for name in names:
        values = DECLARED[types[name]][0] if name in types else TEXT
        if draw(st.booleans()):
            values |= st.none()
        columns.append(draw(st.lists(values, min_size=count, max_size=count)))
    return types, Table(names, columns, [*range(count)])


def due_as_declared(
    types: dict[str, str], nullable: dict[str, bool | None], table: Table
) -> list[Any]:
    """Return the expected `content_of`: declared columns first, in the declared order, absent ones null."""
    named = dict(zip(table.names, table.columns, strict=True))
    columns = []
    for name, kind in types.items():
        _, become, whole, holed = DECLARED[kind]
        values = named.pop(name, [None] * len(table.labels))
        dtype = holed if nullable.get(name) or None in values else whole
        columns.append(
            [
                name,
                dtype,
                [None if value is None else become(value) for value in values],
            ]
        )
    return columns + due(Table(list(named), list(named.values()), table.labels))


# How it is written


@st.composite
def styles(draw: st.DrawFn, *, indents: bool = True) -> Callable[[Any], str]:
    """Draw options of `json.dumps`."""
    options: dict[str, Any] = {
        "ensure_ascii": draw(st.booleans()),
        "separators": draw(
            st.sampled_from([(",", ":"), (", ", ": "), (" ,  ", " :\t")])
        ),
        "indent": draw(st.sampled_from([None, None, 0, 2])) if indents else None,
        "sort_keys": draw(st.booleans()),
    }
    return lambda value: json.dumps(value, **options)


ENVELOPES: dict[str, Callable[[str, Callable[[Any], str]], str]] = {
    "bare": lambda text, _dumps: text,
    "body": lambda text, _dumps: f'{{"error": null, "body": {text}}}',
    "text": lambda text, dumps: dumps({"error": None, "body": text}),
    "text of text": lambda text, dumps: dumps({"error": None, "body": dumps(text)}),
}


@st.composite
def replies(draw: st.DrawFn, document: Any) -> tuple[str, Any]:
    """Draw a reply that contains the document, and what the standard library reads from it."""
    dumps = draw(styles())
    text = dumps(document)
    return ENVELOPES[draw(st.sampled_from([*ENVELOPES]))](text, dumps), json.loads(text)


# The claims


@pytest.mark.parametrize("shape", SHAPES)
@given(st.data())
@MANY
def test_a_table_in_any_shape_comes_back_value_for_value(
    shape: str, data: st.DataObject
) -> None:
    """Read as a whole, and in pieces of any size."""
    table = data.draw(tables(unique=shape not in REPEATING))
    document = SHAPES[shape](table, data.draw)
    reply, read = data.draw(replies(document))
    name, expected = seen(read)
    frame = to_frame(reply.encode() if data.draw(st.booleans()) else reply)
    assert repr(content_of(frame)) == repr(due(expected))
    assert frame.attrs["funcs"]["shape"] == name
    assert outcome(reply, data.draw(PIECES)) == outcome(reply, None)


@given(
    tables(least=1),
    styles(indents=False),
    st.sampled_from(["\n", "\r\n", "\n\n", " \n "]),
    st.booleans(),
)
@MANY
def test_lines_are_the_list_of_their_documents(
    table: Table, dumps: Any, end: str, ended: bool
) -> None:
    rows = [
        dict(zip(table.names, row, strict=True))
        for row in zip(*table.columns, strict=True)
    ]
    text = end.join(map(dumps, rows)) + (end if ended else "")
    frame = to_frame(text, lines=True)
    assert repr(content_of(frame)) == repr(due(seen(json.loads(dumps(rows)))[1]))
    assert frame.attrs["funcs"]["shape"] == "lines"


@pytest.mark.parametrize("shape", UNIQUE)
@given(st.data())
@FEWER
def test_declared_types_are_applied_to_a_table_in_any_shape(
    shape: str, data: st.DataObject
) -> None:
    """Passed by the caller, or declared by the reply, which may say for each column whether it has nulls."""
    types, table = data.draw(declared_tables())
    document = SHAPES[shape](table, data.draw)
    reply, read = data.draw(replies(document))
    name, expected = seen(read)
    frame = to_frame(reply, schema=types)
    assert repr(content_of(frame)) == repr(due_as_declared(types, {}, expected))
    assert frame.attrs["funcs"]["shape"] == name

    never = {
        name
        for name, values in zip(table.names, table.columns, strict=True)
        if None not in values
    }
    nullable = {
        name: data.draw(st.sampled_from([True, None, *[False] * (name in never)]))
        for name in types
    }
    schema = {
        name: {"type": kind}
        if nullable[name] is None
        else {"nullable": nullable[name], "type": kind}
        for name, kind in types.items()
    }
    reply, read = data.draw(replies({"schema": schema, "data": document}))
    types = {name: column["type"] for name, column in read["schema"].items()}
    frame = to_frame(reply)
    assert repr(content_of(frame)) == repr(
        due_as_declared(types, nullable, seen(read["data"])[1])
    )
    assert frame.attrs["funcs"]["shape"] == "schema"


# For each type: values that it can't hold.
INTEGERS = [0.5, 2.0**63, 1e300, 2**63, -(10**30), "1", "", True, [1]]
COUNTS = [0.5, 10**19, 10**30, "soon", "2024-02-30", "", True, [1]]
MISFITS: dict[str, list[Any]] = {
    "int32": [*INTEGERS, 2**31],
    "int64": INTEGERS,
    "float64": ["1.5", "NaN", True, 2**53 + 1, 10**400, [1]],
    "bool": [1, 0, "true", 1.0],
    "str": [1, 1.5, True, ["x"]],
    "bytes": [1, True],
    "datetime": [*COUNTS, 10**18],
    "datetime.date": [*COUNTS, 1, 10**18, 1_704_067_200_001, "2024-01-01T10:00"],
    "np.datetime64[ns]": [*COUNTS, "9999-12-31"],
    "Int32": [*INTEGERS, -(2**31) - 1],
    "Int64": INTEGERS,
    "boolean": [1, "false"],
    "string": [1, False],
    "datetime64[s]": [*COUNTS, "2024-01-01T00:00:00.5"],
    "datetime64[ms]": [*COUNTS, 10**18, "2024-01-01T00:00:00.0005"],
    "datetime64[us]": [*COUNTS, "2024-01-01T00:00:00.0000005"],
    "datetime64[ns]": [*COUNTS, "9999-12-31", -(2**63)],
}


@pytest.mark.parametrize("kind", MISFITS)
@given(st.data())
@FEWER
def test_a_value_that_a_declared_type_cannot_hold_is_named_with_its_place(
    kind: str, data: st.DataObject
) -> None:
    values = data.draw(
        st.lists(
            (DECLARED[kind][0] if kind in DECLARED else NAIVE) | st.none(), max_size=8
        )
    )
    row = data.draw(st.integers(0, len(values)))
    for misfit in MISFITS[kind]:
        words = f"^Column 'x' is declared as {re.escape(kind)} but contains {re.escape(quote(misfit))} in row {row}[.]"
        with pytest.raises(ProtocolError, match=words):
            to_frame(
                json.dumps({"x": [*values[:row], misfit, *values[row:]]}),
                schema={"x": kind},
            )


# Types of table schema: their row of `DECLARED`, if any, and values for the others.
FIELDS: dict[str, tuple[str, st.SearchStrategy[Any]]] = {
    "integer": ("int64", st.nothing()),
    "number": ("float64", st.nothing()),
    "boolean": ("bool", st.nothing()),
    "string": ("str", st.nothing()),
    "date": ("datetime.date", st.nothing()),
    "datetime": ("", NAIVE),
    "any": ("", SCALARS | st.lists(SMALL, max_size=2)),
}


def due_in_a_field(word: str, values: list[Any]) -> list[Any]:
    if kind := FIELDS[word][0]:
        column: list[Any] = due_as_declared(
            {"": kind}, {}, Table([""], [values], values)
        )[0]
        return column[1:]
    dtype, become = typed(values)
    return ["datetime64[us]" if word == "datetime" else dtype, become]


@given(st.data())
@MANY
def test_a_table_schema_gives_its_types_and_its_key(data: st.DataObject) -> None:
    words = data.draw(
        st.dictionaries(
            st.sampled_from(["index", *"abcd"]),
            st.sampled_from(list(FIELDS)),
            min_size=1,
        )
    )
    count = data.draw(st.integers(0, 8))
    columns = {}
    for name, word in words.items():
        kind, values = FIELDS[word]
        values = DECLARED[kind][0] if kind else values
        columns[name] = data.draw(
            st.lists(values | st.none(), min_size=count, max_size=count)
        )
    key = data.draw(st.sampled_from([None, *words]))
    fields = [{"name": name, "type": word} for name, word in words.items()]
    schema: dict[str, Any] = {"fields": fields, "pandas_version": "1.4.0"}
    if key is not None:
        schema["primaryKey"] = data.draw(st.sampled_from([key, [key]]))
    rows = [
        dict(zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]
    reply, _ = data.draw(replies({"schema": schema, "data": rows}))
    expected = [
        [name, *due_in_a_field(word, columns[name])]
        for name, word in words.items()
        if name != key
    ]
    index = (
        ["int64", [*range(count)]]
        if key is None
        else due_in_a_field(words[key], columns[key])
    )
    frame = to_frame(reply)
    # pandas turns integer keys that form a range into one; the dtype is the same.
    content = repr(content_of(frame)).replace("['range', ", "['int64', ")
    assert content == repr([*expected, index, None if key == "index" else key])
    assert frame.attrs["funcs"]["shape"] == "table"


def test_a_frame_that_pandas_writes_as_a_table_comes_back() -> None:
    frame = pd.DataFrame(
        {
            "n": [1, 2],
            "x": [0.5, None],
            "s": pd.Series(["007", None], dtype="string"),
            "t": pd.Series([True, None], dtype="boolean"),
            "i": pd.Series([2**53 + 1, None], dtype="Int64"),
            "d": pd.Series(["2024-01-01T10:00:00.123", None], dtype="datetime64[us]"),
            "u": pd.Series(
                ["2024-01-01T10:00:00.123Z", None], dtype="datetime64[us, UTC]"
            ),
        }
    ).set_index(pd.Index([7, 5], name="key"))
    assert repr(content_of(to_frame(frame.to_json(orient="table")))) == repr(
        content_of(frame)
    )
    unnamed = frame.reset_index(drop=True).set_index(pd.Index([3, 4]))
    assert repr(content_of(to_frame(unnamed.to_json(orient="table")))) == repr(
        content_of(unnamed)
    )


# Pieces


def outcome(
    reply: bytes | str, piece: int | None, schema: dict[str, str] | None = None
) -> str:
    """Return the frame or the error of a reply, and the warnings; read whole if `piece` is None."""
    long, piece = (2**62, 1) if piece is None else (0, piece)
    with (
        patch.multiple(chunks, LONG=long, _CHUNK=piece),
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        try:
            frame = to_frame(reply, schema=schema)
        except FuncsError as error:
            got: list[Any] = [type(error), str(error)]
        else:
            got = [content_of(frame), frame.attrs]
    return repr([got, [str(warning.message) for warning in warned]])


# The first piece is a sixteenth of the others, so that only the larger ones begin with several elements.
PIECES = st.integers(1, 64) | st.sampled_from([400, 800, 1600])
# Texts of elements for each shape: mostly alike; each of the others breaks the pattern of the first ones.
ALIKE = [
    '{"a": 1, "b": {"x": 1, "y": "t"}}',
    '{"a":2,"b":{"x":-3,"y":""}}',
    '{"a": null, "b": {"x": 4}}',
    '{"a": 5}',
]
VALUES = [
    "NaN",
    "Infinity",
    "-Infinity",
    "-NaN",
    "NaNs",
    '"NaN"',
    r'"\" NaN"',
    r'"\\", NaN',
    "1",
    "-0",
    "-0.0",
    "0.5",
    "1e3",
    "9007199254740993",
    "18446744073709551615",
    "1" + "0" * 30,
    "true",
    "null",
    '""',
    '"t"',
    '"007"',
    '"2024-01-01"',
    '"2024-01-01T00:00Z"',
    '"2024-02-30"',
    '"\u2028"',
    '"\\u2028"',
    '"\\ud83d\\ude00"',
    '"},{"',
    '"}, {"',
    '"],["',
    '"], ["',
    '",\\""',
    '"a,"',
    '"[{"',
    '"}]"',
    '"é"',
    '"😀"',
    '"\\\\"',
    '"\\\\\\""',
    '"\\\\\\\\"',
    "[]",
    "[1,2]",
    "[[1],[2]]",
    '["a","b"]',
    '[{"x":1},{"x":2}]',
    '[{"x": 1}, {"x": 2}]',
    "{}",
    '{"x": 1}',
    '{"x": {"z": 1}, "w": [{}, {}]}',
    '{"x": null}',
    '{"x": "s", "y": 0}',
    '{"x":{"0":1},"y":{"0":2}}',
    "NaN",
    "-Infinity",
    "1e999",
    '"\\ud800"',
    "1" * 4301,
    "tru",
    "01",
    "'a'",
    '"\t"',
    "[1",
    "{",
    "",
]
RECORDS = [
    "null",
    "{}",
    "[]",
    "[1]",
    "1",
    '"a"',
    "",
    '{"c": 1}',
    '{"b": {"z": 1}, "a": 1}',
    '{"a": 1, "a": "two"}',
    '{"a": {"x": 1}, "a": 2}',
    '{"b": {"x": 1}, "b": {"y": 2}}',
    '{"b": {"x": 1, "x": {}}}',
    '{"": 1, "b.x": 2}',
    '{"a": 1,}',
    '{"a" 1}',
    '{"a": 1}}',
    '[{"a": 1}]',
    "{'a': 1}",
    "{a: 1}",
]
KEYS = [
    "-0",
    "007",
    "00",
    "+1",
    "1.0",
    "1e2",
    " 1",
    "",
    "x",
    "-1",
    "9223372036854775807",
    "9223372036854775808",
    "\\u0031",
]
BRACKETS = [
    *[("[", "]"), ("[ ", " ]"), (" [\n", "\n] ")] * 10,
    ("[", ",]"),
    ("[,", "]"),
    ("[", "]]"),
    ("", "]"),
]
COMMAS = st.sampled_from([*[",", ", ", " ,\n", ",\n  ", "\t,\r\n"] * 5, ",\x0b"])


def mostly(alike: list[str], *others: list[str]) -> st.SearchStrategy[list[str]]:
    usual = st.sampled_from(alike)
    odd = st.sampled_from([text for texts in others for text in texts])
    return st.builds(
        lambda first, late, last: [*first, *late, *last],
        st.lists(usual, max_size=6),
        st.lists(usual | odd, max_size=3),
        st.lists(usual, max_size=3),
    )


def between(opening: str, elements: list[str], comma: str, closing: str) -> str:
    return f"{opening}{comma.join(elements)}{closing}"


@st.composite
def lists_of(draw: st.DrawFn, elements: st.SearchStrategy[list[str]]) -> str:
    opening, closing = draw(st.sampled_from(BRACKETS))
    return between(opening, draw(elements), draw(COMMAS), closing)


@st.composite
def keyed(draw: st.DrawFn) -> str:
    """Draw columns that have the same row keys, apart from drawn changes."""
    keys = [str(row) for row in range(draw(st.integers(0, 8)))]
    columns = []
    for name in draw(
        st.lists(
            st.sampled_from(["a", "b", "c", "0", "error", "x,"]), min_size=1, max_size=3
        )
    ):
        alike = draw(st.sampled_from(["1", '"t"', "0.5", "true"]))
        values = draw(mostly([alike, alike, alike, "null"], VALUES))
        members = [
            f'"{key}": {value}'
            for key, value in zip(keys, [*values, *[alike] * len(keys)], strict=False)
        ]
        if draw(st.integers(0, 7)) == 0:
            odd = f'"{draw(st.sampled_from(KEYS + keys))}": {alike}'
            members.insert(draw(st.integers(0, len(members))), odd)
        columns.append(f'"{name}":' + between("{", members, draw(COMMAS), "}"))
    return between("{", columns, draw(COMMAS), "}")


RECORD_LISTS = lists_of(
    mostly(
        ALIKE,
        RECORDS,
        [f'{{"a": {value}}}' for value in VALUES],
        [f'{{"b": {value}, "a": 1}}' for value in VALUES],
    )
)
ROWS = ['[1, "t"]', '[2,""]', "[null, null]"]
ROW_LISTS = lists_of(
    mostly(
        ROWS, RECORDS, ["[]", "[1]", '[1,"t",3]'], [f"[{value}, 1]" for value in VALUES]
    )
)
PLAIN_LISTS = lists_of(mostly(["1", "2"], VALUES))
LABELS = lists_of(mostly(["1", "2"], ['"x"', '"1"', "0.5", "null", "[1]"]))
SPLITS = st.builds(
    '{{"columns": {}, {}"data": {}}}'.format,
    st.sampled_from(
        [*['["a", "b"]', '["a", "a"]', "[0, null]"] * 3, "[]", '["a"]', "3"]
    ),
    st.just("") | st.builds('"index": {}, '.format, LABELS),
    ROW_LISTS,
)
SCHEMAS = st.sampled_from(
    [
        '{"a": {"type": "int64"}}',
        '{"a": {"type": "int64", "nullable": false}}',
        '{"b": {"type": "str"}}',
        '{"a": {"type": "float64"}, "c": {"type": "bool"}}',
        '{"a": {"type": "odd"}}',
        '{"a": 1}',
        "{}",
        "5",
        '{"fields": [{"name": "a", "type": "integer"}], "primaryKey": ["a"]}',
    ]
)
DECLARING = st.builds(
    '{{"schema": {}, "data": {}, "retrievalTime": {}}}'.format,
    SCHEMAS,
    RECORD_LISTS | keyed() | ROW_LISTS | SPLITS | st.sampled_from(VALUES),
    st.sampled_from([*['"now"'] * 6, "NaN", "1e999", "tru"]),
)
TEXTS_BY_SHAPE = {
    "records": RECORD_LISTS,
    "rows": ROW_LISTS,
    "list": PLAIN_LISTS,
    "keyed": keyed(),
    "split": SPLITS,
    "schema": DECLARING,
}
TYPES = st.none() | st.dictionaries(
    st.sampled_from(["a", "b", "b.x", "0"]), st.sampled_from(list(DECLARED)), max_size=2
)


@st.composite
def enveloped(draw: st.DrawFn, text: str) -> str:
    dumps = draw(styles())
    return ENVELOPES[draw(st.sampled_from([*ENVELOPES]))](text, dumps)


# The envelopes whose body is cut unchanged.
CUT = ["bare", "body", "text"]
# Bodies whose end doesn't match their beginning, or in which a cut looks right and is wrong.
BODIES: dict[str, str] = {
    "braces in a text": '[{"a": "},{"}, {"a": "}, {"}, {"a": "},{\\"a\\": 1}"}]',
    "brackets in a text": '[["], [", 1], ["],[", 2], ["[", 3]]',
    "commas and quotes in a text": '{"a": {"0": ",\\"", "1": "\\",\\"2\\":", "2": "a,"}}',
    "backslashes before a quote": r'[{"a": "\\"}, {"a": "\\\""}, {"a": "\\\\"}, {"a": "},{\\"}]',
    "an escaped u that is none": r'[{"a": "\\u0041"}, {"a": "\u0041"}, {"a": "\\\u0041"}]',
    "a pair of surrogates": r'[{"a": "\ud83d\ude00"}, {"a": "},{\ud83d\ude00"}, {"a": "\u2028"}]',
    "half a pair": r'[{"a": "x"}, {"a": "y"}, {"a": "\ud83d"}]',
    "records in records": '[{"a": [{"x": 1}, {"x": 2}]}, {"a": [{"x": 3},{"x": 4}]}, {"a": []}]',
    "rows in rows": "[[1, [2], [3]], [4, [[5],[6]], []], [7, [8],[9]]]",
    "a false cut at each comma": '[{"a":[{},{},{}]},{"a":[{},{},{}]}]',
    "a late key": '[{"a": 1}, {"a": 2}, {"b": "x", "a": 3}]',
    "a late nested key": '[{"a": {"x": 1}}, {"a": {"x": 2}}, {"a": {"y": {"z": 3}}}]',
    "a late null object": '[{"a": {"x": 1}}, {"a": null}, {}, {"a": {}}, {"a": {"x": null}}]',
    "a late nested key after a null object": '[{"a": {"x": 1}}, {}, {"a": {"x": 2, "y": 3}}, {}, {"a": {"y": 4}}]',
    "an object late": '[{"a": null}, {}, {"a": {"x": 1}}]',
    "only empty objects": '[{"a": {}}, {"a": {}}, {"a": null}]',
    "an object after empty ones": '[{"a": {}}, {"a": {}}, {"a": {"x": 1}}]',
    "a scalar after objects": '[{"a": {"x": 1}}, {"a": {"x": 2}}, {"a": 3}]',
    "a scalar deep in an object": '[{"a": {"x": {"y": 1}}}, {"a": {"x": {"y": 2}}}, {"a": {"x": 3}}]',
    "an object after a scalar": '[{"a": 1}, {"a": 2}, {"a": {"x": 3}}]',
    "a list after objects": '[{"a": {"x": 1}}, {"a": [1]}, {"a": {"x": 2}}]',
    "a dotted name beside an object": '[{"a.x": 1, "a": {"x": 2}}, {"a": {"x": 3}, "a.x": 4}]',
    "text after integers": '[{"a": 1}, {"a": 2}, {"a": "3"}]',
    "a fraction after integers": '[{"a": 1}, {"a": 2}, {"a": 0.5}]',
    "a fraction after an integer no float holds": '[{"a": 9007199254740993}, {"a": 0.5}]',
    "a truth after integers": '[{"a": 1}, {"a": 0}, {"a": true}]',
    "an integer after truths": '[{"a": true}, {"a": false}, {"a": 1}]',
    "a null late": '[{"a": 1, "b": true, "c": 0.5}, {"a": 2, "b": false, "c": 1}, {"a": null, "b": null, "c": null}]',
    "nulls first": '[{"a": null}, {"a": null}, {"a": "x"}]',
    "nulls and lists": '[{"a": null}, {"a": [1]}, {"a": null}]',
    "an offset late": '[{"a": "2024-01-01T00:00"}, {"a": "2024-01-01T00:00Z"}]',
    "a date that is none, late": '[{"a": "2024-01-01"}, {"a": "2024-01-02"}, {"a": "2024-02-30"}]',
    "nanoseconds late": '[{"a": "2024-01-01"}, {"a": "2024-01-01T00:00:00.000000001"}]',
    "2**63 late": '[{"a": 1}, {"a": 2}, {"a": 9223372036854775808}]',
    "2**63 in rows": '[[1], [9223372036854775808], ["x"]]',
    "10**30 late in a float column": '[{"a": 0.5}, {"a": 1000000000000000000000000000000}]',
    "-0.0 late": '[{"a": 1}, {"a": -0}, {"a": -0.0}]',
    "NaN late": '[{"a": 1}, {"a": 2}, {"a": NaN}, {"a": Infinity}]',
    "NaN beside texts of it": r'[{"a": "NaN"}, {"a": "\"NaN"}, {"NaN": NaN}, {"a": ", NaN,"}, {"NaN": -Infinity}]',
    "NaN after a backslash": r'[{"a": "\\"}, {"b": NaN}, {"a": "\\\" NaN"}, {"b": 1}]',
    "NaN of no meaning": '[{"a": 1}, {"a": NaN}, {"a": -NaN}]',
    "NaN as a key": '[{"a": 1}, {"a": NaN}, {NaN: 1}]',
    "NaN in rows": '[[1, "NaN"], [NaN, "x"], [Infinity, NaN]]',
    "NaN by column": '{"a": {"0": 1, "1": NaN}, "b": {"0": "NaN", "1": "x"}}',
    "numbers near the largest float": f"[{'1.5e+300, 1E299, 1e300, ' * 5}7, -0.0, NaN, 1.7976931348623157e308]",
    "numbers near the largest float, and a larger one": f"[{'1e300, ' * 9}1e309]",
    "records near the largest float": "["
    + '{"a": 1e300, "b": [1E299]}, ' * 9
    + '{"a": -1.7976931348623157e308}]',
    "rows near the largest float, and a larger one": f"[{'[1e300, 0.1], ' * 9}[1, -1e309]]",
    "columns near the largest float": json.dumps(
        {"a": {str(n): (n + 0.1) * 1e299 for n in range(12)}}
    ),
    "NaN and a NUL": '[{"a": NaN}, {"a": \0}]',
    "1e999 late": '[{"a": 1}, {"a": 2}, {"a": 1e999}]',
    "too many digits late": f'[{{"a": 1}}, {{"a": {"1" * 4301}}}]',
    "a null row": '[{"a": 1}, null, {"a": 2}]',
    "a null row among rows": "[[1, 2], null, [3, 4]]",
    "a scalar row": '[{"a": 1}, {"a": 2}, 3]',
    "a list among records": '[{"a": 1}, {"a": 2}, [3]]',
    "a record among rows": '[[1], [2], {"a": 3}]',
    "a row without values first": "[[], [1, 2], [3]]",
    "rows without values": "[[], [], []]",
    "rows without values among others": '[["x"], [], [], [], ["y", 1], [], []]',
    "a short row late": "[[1, 2], [3, 4], [5]]",
    "a long row late": "[[1, 2], [3, 4], [5, 6, 7]]",
    "records without keys": "[{}, {}, {}]",
    "a key twice": '[{"a": 1, "a": 2}, {"a": 3, "b": 4, "a": {"x": 5}}]',
    "an object twice": '[{"a": {"x": 1}, "a": {"y": 2}}, {"a": {"x": 1}, "a": 2}]',
    "a column twice": '{"a": {"0": 1, "1": 2}, "a": {"0": 3, "1": 4}}',
    "a column twice, around another": '{"a": {"0": 1}, "b": {"0": 2}, "a": {"0": 3}}',
    "a column twice, first with a number too large": '{"a": {"0": 1e999}, "a": {"0": 1}}',
    "a column twice, first with half a pair": '{"a": {"0": "\\ud800"}, "a": {"0": "x"}}',
    "a row key twice": '{"a": {"0": 1, "1": 2, "0": 3}, "b": {"0": 4, "1": 5, "0": 6}}',
    "a row key twice, escaped": r'{"a": {"0": 1, "\u0030": 2}}',
    "row key -0": '{"a": {"-0": 1, "1": 2}}',
    "row keys 0 and -0": '{"a": {"0": 1, "-0": 2, "1": 3}}',
    "row key 007": '{"a": {"6": 1, "007": 2}}',
    "row keys below 0": '{"a": {"-2": 1, "-1": 2, "0": 3}}',
    "row keys in the order of text": '{"a": {"0": 1, "1": 2, "10": 3, "2": 4}}',
    "row keys in any order": '{"a": {"3": 1, "1": 2, "2": 3}}',
    "row keys that differ": '{"a": {"0": 1, "1": 2}, "b": {"0": 3, "2": 4}}',
    "row keys of 64 bit and more": '{"a": {"9223372036854775807": 1, "9223372036854775808": 2}}',
    "row keys that are no numbers, late": '{"a": {"0": 1, "1": 2, "x": 3}}',
    "columns of no rows": '{"a": {}, "b": {}}',
    "objects by column": '{"a": {"0": {"x": 1}, "1": {"x": 2}}}',
    "records by number": '{"0": {"a": 1}, "1": {"a": 2}}',
    "numbers by number": '{"0": {"0": 1, "1": 2}, "1": {"0": 3, "1": 4}}',
    "columns and a null": '{"a": {"0": 1}, "b": null}',
    "columns called error and body": '{"error": {"0": 1}, "body": {"0": 2}}',
    "a column called error": '{"error": {"0": 1}}',
    "columns called schema and data": '{"schema": {"0": 1}, "data": {"0": 2}}',
    "columns called columns and data": '{"columns": {"0": 1}, "data": {"0": 2}}',
    "split": '{"columns": ["a", "a"], "index": [3, 4], "data": [[1, "x"], [2, "y"]]}',
    "split with the data first": '{"data": [[1], [2]], "columns": ["a"]}',
    "split with one more name": '{"columns": ["a", "b"], "data": [[1], [2]]}',
    "split with one more label": '{"columns": ["a"], "index": [1, 2, 3], "data": [[1], [2]]}',
    "split with a row that is none": '{"columns": ["a"], "data": [[1], null, [2]]}',
    "split with columns that are none": '{"columns": 3, "data": [[1], [2]]}',
    "split with a row without values": '{"columns": ["a"], "data": [[1], [], [2]]}',
    "split with a short row": '{"columns": ["a", "b"], "data": [[1, 2], [3, 4], [5]]}',
    "split of no rows": '{"columns": ["a"], "index": [], "data": []}',
    "split and more": '{"columns": ["a"], "data": [[1], [2]], "more": 1}',
    "schema": '{"schema": {"a": {"type": "int32"}}, "data": [{"a": 1}, {"a": null}]}',
    "schema beside columns": '{"schema": {"a": {"type": "str"}}, "data": {"a": {"0": "1", "1": "2"}}}',
    "schema beside a split": '{"schema": {"a": {"type": "str"}}, "data": {"columns": ["a"], "data": [["1"], ["2"]]}}',
    "schema beside half a split": '{"schema": {"a": {"type": "str"}}, "data": {"columns": 3, "data": [["1"], ["2"]]}}',
    "schema in a schema": '{"schema": {}, "data": {"schema": {"a": {"type": "str"}}, "data": [{"a": "1"}]}}',
    "schema beside a text": '{"schema": {"a": {"type": "str"}}, "data": "[{\\"a\\": \\"1\\"}]"}',
    "a text declared an integer": '{"schema": {"a": {"type": "int32"}}, "data": [{"a": 1}, {"a": 2}, {"a": "3"}]}',
    "a null that is denied": '{"schema": {"a": {"type": "bool", "nullable": false}}, "data": {"a": [true, null]}}',
    "floats that are whole": '{"schema": {"a": {"type": "int64"}}, "data": [{"a": 1}, {"a": 2.0}, {"a": -0.0}]}',
    "a type of no meaning": '{"schema": {"a": {"type": "odd"}}, "data": [{"a": 1}, {"a": 2}]}',
    "a schema that is none": '{"schema": 5, "data": [{"a": 1}, {"a": 2}]}',
    "a table": '{"schema": {"fields": [{"name": "i", "type": "integer"}], "primaryKey": "i"}, "data": [{"i": 1}]}',
    "more beside a schema": '{"schema": {}, "data": [{"a": 1}], "retrievalTime": "now", "x": NaN}',
    "nothing": "",
    "blanks": " \n\t ",
    "an empty list": "[]",
    "an empty list with blanks": "[ \n ]",
    "an empty object": "{}",
    "null": "null",
    "a text": '"[{"',
    "an end before its time": '[{"a": 1}, {"a": 2}], [{"a": 3}]',
    "two documents": '[{"a": 1}]\n[{"a": 2}]',
    "a comma at the end": '[{"a": 1}, {"a": 2},]',
    "a comma too many": '[{"a": 1},, {"a": 2}]',
    "no comma": '[{"a": 1} {"a": 2}]',
    "cut short within a record": '[{"a": 1}, {"a": 2}, {"a"',
    "cut short between records": '[{"a": 1}, {"a": 2},',
    "cut short before the end": '[{"a": 1}, {"a": 2}',
    "a blank that JSON does not have": '[{"a": 1},\x0b{"a": 2}]',
    "more blanks than are looked through": '[~{"a": 1}~,\n{"a": 2}~]'.replace(
        "~", " " * 300
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("envelope", CUT)
def test_a_cut_changes_nothing(envelope: str, body: str) -> None:
    reply = ENVELOPES[envelope](body, json.dumps)
    whole = outcome(reply, None)
    for piece in (1, 2, 5, 13, 40, 600):
        assert outcome(reply, piece) == whole


# Replies that differ in what surrounds the body, or in how it is quoted.
REPLIES: dict[str, str | bytes] = {
    "another error": r'{"error": "no", "body": "[{\"a\": 1}, {\"a\": 2}]"}',
    "an error behind": r'{"body": "[{\"a\": 1}, {\"a\": 2}]", "error": "no"}',
    "no error behind": r'{"body": "[{\"a\": 1}, {\"a\": 2}]" , "error" : null } ',
    "no error twice": r'{"error": null, "body": "[{\"a\": 1}, {\"a\": 2}]", "error": null}',
    "an error after none": r'{"error": null, "body": [{"a": 1}, {"a": 2}], "error": "no"}',
    "an error that is an object": '{"error": {"0": 1}, "body": {"0": 2}}',
    "a body twice": '{"error": null, "body": [{"a": 1}], "body": [{"a": 2}]}',
    "more beside": '{"error": null, "body": [{"a": 1}, {"a": 2}], "requestId": "]"}',
    "an envelope as a text": r'"{\"error\": null, \"body\": [{\"a\": 1}]}"',
    "an error as a text": r'"{\"error\": {\"0\": 1}}"',
    "a byte order mark": b'\xef\xbb\xbf[{"a": 1}, {"a": 2}]',
    "a byte order mark in the body": r'{"body": "\ufeff[{\"a\": 1}]"}',
    "a quote in the quotes": r'{"body": "[{"a": 1}, {\"a\": 2}]"}',
    "a line that ends in the quotes": '{"body": "[{\\"a\\": 1},\n{\\"a\\": 2}]"}',
    "a NUL in the quotes": '{"body": "[{\\"a\\": 1},\0{\\"a\\": 2}]"}',
    "an escape of no meaning": r'{"body": "[{\"a\": 1},\q{\"a\": 2}]"}',
    "brackets in escapes": r'{"body": "\u005b{\"a\": 1\u007d,\u007b\"a\": 2}]"}',
    "quotes in escapes": r'{"body": "[{\u0022a\u0022: 1}, {\u0022a\u0022: \u0022},{\u0022}]"}',
    "backslashes in escapes": r'{"body": "[{\"a\": \"\u005c\"},{\"}, {\"a\": \"\u005c\u005c\"}]"}',
    "slashes in escapes": r'{"body": "[{\"a\": \"\/\"},\r\n\t{\"a\": \"\\\/\"}]"}',
    "half a pair in the quotes": r'{"body": "[{\"a\": \"\ud83d\"}, {\"a\": \"\ude00\"}]"}',
    "half a pair in the text": '[{"a": "\ud83d"}, {"a": "x"}]',
    "bytes that are not UTF-8": b'[{"a": "x"}, {"a": "\xff"}]',
    "bytes that are not UTF-8 in a key": b'{"a": {"0": 1}, "\xc3": {"0": 2}}',
    "UTF-16": '[{"a": 1}, {"a": 2}]'.encode("utf-16"),
    "a form feed before the envelope": '\f{"error": null, "body": [{"a": 1}, {"a": 2}]}',
    "a form feed in the envelope": '{\f"error": null, "body": [{"a": 1}, {"a": 2}]}',
    "a vertical tab behind the body": '{"error": null, "body": [{"a": 1}, {"a": 2}]\v}',
    "an envelope that is closed twice": '{"error": null, "body": [{"a": 1}, {"a": 2}]}}',
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_cut_changes_nothing_whatever_stands_around_it(reply: str | bytes) -> None:
    whole = outcome(reply, None)
    for piece in range(1, 40):
        assert outcome(reply, piece) == whole


READ_IN_PIECES: dict[str, tuple[int, str]] = {
    "records": (
        3,
        '[{"a": 1, "b": {"x": "t"}}, {"a": 2, "b": null}, {"a": 3, "c": [1]}]',
    ),
    "rows": (3, '[[1, "},{"], [2, "] ["], [3, null]]'),
    "columns": (
        3,
        '{"a": {"0": 1, "1": 2, "2": 3}, "b": {"0": "x", "1": null, "2": "y"}}',
    ),
    "split": (2, '{"columns": ["a"], "index": [5, 6], "data": [[1], [2]]}'),
    "schema": (2, '{"schema": {"a": {"type": "int32"}}, "data": [{"a": 1}, {"a": 2}]}'),
}


@pytest.mark.parametrize(("rows", "body"), READ_IN_PIECES.values(), ids=READ_IN_PIECES)
@pytest.mark.parametrize("envelope", CUT)
def test_tables_are_read_in_pieces_at_all(envelope: str, rows: int, body: str) -> None:
    """Otherwise the tests above would compare one path with itself."""
    reply = ENVELOPES[envelope](body, json.dumps)
    with (
        patch.multiple(chunks, LONG=0, _CHUNK=1),
        patch("jupyter_funcs.frames.chunks.packed", wraps=packed) as made,
        patch("jupyter_funcs.frames.frame.decode", side_effect=AssertionError),
    ):
        assert len(to_frame(reply)) == rows
    assert made.call_count >= rows


@pytest.mark.parametrize("shape", TEXTS_BY_SHAPE)
@given(st.data())
@MANY
def test_pieces_of_any_size_give_what_the_whole_gives(
    shape: str, data: st.DataObject
) -> None:
    reply = data.draw(enveloped(data.draw(TEXTS_BY_SHAPE[shape])))
    schema = data.draw(TYPES)
    assert outcome(reply, data.draw(PIECES), schema) == outcome(reply, None, schema)


@pytest.mark.parametrize(
    "reply",
    [
        '{"schema": {"a": 1}, "data": [{"a": 1}], "retrievalTime": NaN}',
        '[[1, "t"], ["u", NaN, 1]]',
    ],
)
def test_what_is_read_twice_warns_once(reply: str) -> None:
    """A reply that isn't a table after all is read again as a whole, and a chunk with a longer row as other rows."""
    with (
        patch.multiple(chunks, LONG=0, _CHUNK=1),
        pytest.warns(match="1 in total") as warned,
    ):
        assert to_frame(reply).iloc[:, -2:].isna().any(axis=None)
    assert len(warned) == 1


# Characters in a text that could mislead a search for its end.
WEDGES = [
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"},{",
    b"],[",
    b"\\n",
    b"\n",
    b"\x0b",
    b"\x0c",
    b"\0",
    b" ",
    b"\xff",
    b"\xc3",
    b"\xe2\x80\xa8",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"1",
    b"-",
    b".",
    b"e",
    b"n",
    b"null",
    b"NaN",
]


@pytest.mark.parametrize("shape", TEXTS_BY_SHAPE)
@given(st.data())
@MANY
def test_pieces_of_a_broken_text_are_refused_in_the_words_of_the_whole(
    shape: str, data: st.DataObject
) -> None:
    reply = bytearray(data.draw(enveloped(data.draw(TEXTS_BY_SHAPE[shape]))).encode())
    place = data.draw(st.integers(0, len(reply) - 1))
    match data.draw(st.sampled_from(["cut", "insert", "delete", "replace", "flip"])):
        case "cut":
            del reply[place:]
        case "insert":
            reply[place:place] = data.draw(st.sampled_from(WEDGES))
        case "delete":
            del reply[place]
        case "replace":
            reply[place : place + 1] = data.draw(st.sampled_from(WEDGES))
        case _:
            reply[place] ^= 1 << data.draw(st.integers(0, 7))
    broken = bytes(reply)
    assert outcome(broken, data.draw(PIECES)) == outcome(broken, None)

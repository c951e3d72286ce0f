"""
`to_frame` against what a person would write instead: time, memory and exactness.

    python -m tests.benchmarks.frames                             # four tables, with and without pyarrow: half an hour
    python -m tests.benchmarks.frames odd --draw 20               # odd shapes, and 20 that are made up of parts
    python -m tests.benchmarks.frames --quick                     # 20,000 rows, for trying; the targets are for 200,000
    python -m tests.benchmarks.frames time --shape records        # one table, some shapes

The base of all ratios is `json.loads(reply)["body"]`, then `pd.read_json` with the orient that the shape needs. Beside
it stand in the same run `pd.DataFrame(json.loads(...))`, `pd.json_normalize`, polars and pyarrow, each giving the table
of its own kind. Every side runs in turn, in a process that no other shape has used; the figures are medians. Before
ours is timed, all its values are held against those that the standard library's json reads; a peer's are not, but one
that drops a column or a row is shown as "loses". Replies are 0.9 GB on disk while it runs. No test runs this.

Odd shapes have 40,000 rows and are sent in three ways; for a raw reply the base needs no json.loads. Target: 1.0. Above
it are:

- Objects of 40 keys (1.1 to 1.5) and of 400 (1.8 to 3.9), and a list alone of objects with gaps (up to 3.4). Ours makes
  a column of each key, read_json one column of objects. pd.json_normalize makes the same columns as ours, which take
  0.15 to 0.33 of its time. With 400 keys, 74 of 120 ms go into 16 million cells (144 MB), nearly all of them null.
- A list alone of numbers near the largest float (1.4 to 1.6; below 1.0 in records). Python's exact float takes 0.3 µs a
  number, read_json's rounded one 0.1 µs.
- A list alone of NaN (up to 2.0), because a text with NaN is read twice; of short lists, because making the Python
  lists takes most of the time on both sides; of times, which read_json leaves as text unless the column's name ends
  like one.
"""
# ruff: noqa: T201 - it prints tables

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import functools
import gc
import importlib
import json
import math
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from io import StringIO
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

import jupyter_funcs as jf
from jupyter_funcs.core.text import replace_surrogates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Rows = list[dict[str, Any]]
    Reader = Callable[[str], Any]  # of the text of a body
    Side = Callable[[], Any]

ROWS = 200_000
QUICK = 20_000
MANY_ROWS = 40_000  # of an odd shape
FEW, MANY = 5, 30  # rounds
TABLES = ("time", "odd", "memory", "exact")
COLUMNS = (
    "Date",
    "Symbol",
    "Region",
    "Spend",
    "Spend Growth",
    "Transaction Count",
    "Cardholder Count",
)


# The data


def table(count: int) -> Rows:
    """Make the card spend of symbols and regions by day, as much as `count` rows; its first year has no growth."""
    draw = random.Random(0)
    series = max(1, count // 1000)
    days = count // series
    rows = []
    for number in range(series):
        symbol = f"{''.join(draw.choices('ABCDEFGHKLMNPQRSTUVWX', k=4))} US EQUITY"
        region = ("Northeast", "Midwest", "South", "West", "Pacific")[number % 5]
        for day in range(days):
            cards = draw.randint(100, 9999)
            values = (
                (dt.date(2021, 1, 1) + dt.timedelta(day)).isoformat(),
                symbol,
                region,
                draw.lognormvariate(11, 1),
                None if day < days // 3 else draw.gauss(0.05, 0.2),
                cards * 3 + draw.randint(0, 999),
                cards,
            )
            rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def by_date(rows: Rows) -> Rows:
    return sorted(rows, key=lambda row: row["Date"])


def with_last(rows: Rows, **changes: Any) -> Rows:
    return [*rows[:-1], rows[-1] | changes]


def with_parts(rows: Rows) -> Rows:
    return [
        {
            "Date": row["Date"],
            "parts": [
                {"Date": row["Date"], "Spend": row["Spend"]},
                {"Date": row["Region"]},
            ],
        }
        | {"Cards": row["Cardholder Count"], "ends": [{"x": [{}]}]}
        for row in rows
    ]


def by_column(rows: Rows) -> dict[str, dict[str, Any]]:
    return {
        name: {str(number): row[name] for number, row in enumerate(rows)}
        for name in COLUMNS
    }


def nested(rows: Rows) -> Rows:
    return [
        {
            "Date": row["Date"],
            "who": {"Symbol": row["Symbol"], "Region": row["Region"]},
            "measures": {
                "Spend": row["Spend"],
                "Spend Growth": row["Spend Growth"],
                "cards": {
                    "Transactions": row["Transaction Count"],
                    "Cardholders": row["Cardholder Count"],
                },
            },
        }
        for row in rows
    ]


TYPES = dict(
    zip(
        COLUMNS,
        ("datetime.date", "str", "str", "float64", "float64", "int64", "int32"),
        strict=True,
    )
)
FIELDS = dict(
    zip(
        COLUMNS,
        ("datetime", "string", "string", "number", "number", "integer", "integer"),
        strict=True,
    )
)


def declared(rows: Rows) -> dict[str, Any]:
    schema = {
        name: {"type": kind, "nullable": name == "Spend Growth"}
        for name, kind in TYPES.items()
    }
    return {"schema": schema, "data": by_column(rows)}


def table_schema(rows: Rows) -> dict[str, Any]:
    fields = [
        {"name": "index", "type": "integer"},
        *({"name": n, "type": kind} for n, kind in FIELDS.items()),
    ]
    data = [
        {"index": number} | row | {"Date": f"{row['Date']}T00:00:00.000"}
        for number, row in enumerate(rows)
    ]
    return {
        "schema": {
            "fields": fields,
            "primaryKey": ["index"],
            "pandas_version": "1.4.0",
        },
        "data": data,
    }


def with_nan(rows: Rows) -> Rows:
    return [
        row
        | {
            "Spend Growth": math.nan
            if row["Spend Growth"] is None
            else row["Spend Growth"]
        }
        for row in rows
    ]


def texts(rows: Rows) -> Rows:
    return [
        {
            "Name": f"“{row['Symbol']}” Läden & Söhne",
            "Note": f'said "{row["Region"]}"\n\tto C:\\{row["Date"]}\\é\u2028',
            "City": "東京" if number % 3 else "São Paulo 🏙",
            "Code": f"{number:07}",
        }
        for number, row in enumerate(rows)
    ]


def with_times(rows: Rows) -> Rows:
    first = dt.datetime(2021, 1, 1)  # noqa: DTZ001 - it has no zone
    return [
        row | {"Date": (first + dt.timedelta(seconds=7 * n)).isoformat()}
        for n, row in enumerate(rows)
    ]


def with_gaps(rows: Rows) -> dict[str, dict[str, Any]]:
    return {
        name: {n: v for n, v in column.items() if v is not None}
        for name, column in by_column(rows).items()
    }


def sparse(rows: Rows) -> Rows:
    return [
        {"id": n, f"m{n % 40}": row["Spend"], f"t{n % 37}": row["Symbol"]}
        for n, row in enumerate(rows)
    ]


def sometimes(rows: Rows) -> Rows:
    return [
        {"id": n, "x": {f"k{n % 20}": n} if n % 2 else None} for n in range(len(rows))
    ]


def offsets(rows: Rows) -> Rows:
    return [
        {name: row[name] for name in ("Date", "Spend")} | {"at": f"{row['Date']}+02:00"}
        for row in with_times(rows)
    ]


def by_name(rows: Rows) -> dict[str, dict[str, Any]]:
    return {
        name: {f"r{n}": v for n, v in column.items()}
        for name, column in by_column(rows).items()
    }


# What the standard library reads


class Wanted(NamedTuple):
    """The values that a frame has to hold, by column in order; `labels` are its row labels."""

    labels: list[str]
    columns: list[tuple[str | None, list[Any]]]

    @classmethod
    def of(cls, columns: Mapping[str, list[Any]], count: int) -> Wanted:
        return cls([str(number) for number in range(count)], list(columns.items()))

    def dotted(self) -> Wanted:
        """Take objects apart into columns of their own, where a column holds nothing else."""
        return Wanted(
            self.labels,
            list(chain.from_iterable(_apart(*column) for column in self.columns)),
        )


def _apart(
    name: str | None, values: list[Any]
) -> Iterator[tuple[str | None, list[Any]]]:
    objects = [value for value in values if value is not None]
    if any(objects) and all(isinstance(value, dict) for value in objects):
        for key in dict.fromkeys(chain.from_iterable(objects)):
            yield from _apart(
                f"{name}.{key}",
                [None if value is None else value.get(key) for value in values],
            )
    else:
        yield name, values


def records(document: Rows) -> Wanted:
    names = dict.fromkeys(chain.from_iterable(document))
    return Wanted.of(
        {name: [row.get(name) for row in document] for name in names}, len(document)
    )


def columns(document: dict[str, dict[str, Any]]) -> Wanted:
    labels = list(dict.fromkeys(chain.from_iterable(document.values())))
    return Wanted(
        labels,
        [
            (name, [column.get(label) for label in labels])
            for name, column in document.items()
        ],
    )


def lists(document: dict[str, list[Any]]) -> Wanted:
    return Wanted.of(document, len(next(iter(document.values()))))


def split(document: dict[str, list[Any]]) -> Wanted:
    names = document["columns"]
    values = zip(*document["data"], strict=True)
    named_values = list(zip(names, map(list, values), strict=True))
    return Wanted(
        [str(label) for label in document.get("index", range(len(document["data"])))],
        named_values,
    )


def index_keyed(document: dict[str, dict[str, Any]]) -> Wanted:
    return Wanted(list(document), records(list(document.values())).columns)


def rows_of(document: list[list[Any]]) -> Wanted:
    numbered = enumerate(zip_longest(*document))
    return Wanted.of(
        {str(place): list(values) for place, values in numbered}, len(document)
    )


def one_column(document: list[Any]) -> Wanted:
    return Wanted([str(number) for number in range(len(document))], [(None, document)])


def one_row(document: dict[str, Any]) -> Wanted:
    return records([document])


def table_data(document: dict[str, Any]) -> Wanted:
    data = records(document["data"])
    (_, labels), *rest = data.columns
    return Wanted([str(label) for label in labels], rest)


def difference(frame: pd.DataFrame, wanted: Wanted) -> str | None:
    """Say where a frame does not hold what is wanted; None if it does. How a label is typed is not compared."""
    labels = [str(label) for label in frame.index]
    if labels != wanted.labels:
        if len(labels) != len(wanted.labels) or set(labels) != set(wanted.labels):
            return f"{len(labels):,} rows, or other labels, for {len(wanted.labels):,}"
        places = {label: place for place, label in enumerate(labels)}
        frame = frame.iloc[[places[label] for label in wanted.labels]]
    if len(frame.columns) != len(wanted.columns):
        return f"{len(frame.columns)} columns for {len(wanted.columns)}"
    for place, (name, values) in enumerate(wanted.columns):
        title = str(frame.columns[place])
        # A repeated name may have a number after it.
        if (
            name is not None
            and title != name
            and not re.fullmatch(rf"{re.escape(name)}\.[0-9]+", title)
        ):
            return f"column {title!r} for {name!r}"
        cells = frame.iloc[:, place].astype(object).tolist()
        for row, (cell, value) in enumerate(zip(cells, values, strict=True)):
            if not same(cell, value):
                return f"column {title!r}, row {row:,}: {cell!r} for {value!r}"
    return None


def same(cell: Any, value: Any) -> bool:
    """Say whether a cell holds what JSON says: a number as integer or float, a moment as text or as what it is."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    if value is None:
        return bool(pd.api.types.is_scalar(cell) and pd.isna(cell))
    if isinstance(value, bool):
        return cell is value
    if isinstance(value, int | float):
        return (
            type(cell) in {int, float}
            and cell == value
            and (cell != 0 or _sign(cell) == _sign(value))
        )
    if isinstance(value, str):
        if isinstance(cell, pd.Timestamp):
            return _is_moment(cell, value)
        return isinstance(cell, str) and cell in {value, replace_surrogates(value)}
    return _same_inside(cell, value)


def _same_inside(cell: Any, value: Any) -> bool:
    if type(cell) is not type(value) or len(cell) != len(value):
        return False
    if isinstance(value, dict):
        return cell.keys() == value.keys() and all(
            same(cell[key], inner) for key, inner in value.items()
        )
    return all(map(same, cell, value))


def _sign(number: float) -> float:
    return math.copysign(1, number)


def _is_moment(cell: pd.Timestamp, text: str) -> bool:
    try:
        moment = dt.datetime.fromisoformat(text)  # it reads no more than six decimals
    except ValueError:
        return False
    beyond = re.search(r"\.[0-9]{6}([0-9]{1,3})", text)
    nanoseconds = int(beyond[1].ljust(3, "0")) if beyond else 0
    whole = cell.to_pydatetime(warn=False)
    return (
        (whole.tzinfo is None) == (moment.tzinfo is None)
        and whole == moment
        and cell.nanosecond == nanoseconds
    )


# The sides


def body_of(reply: bytes) -> str:
    return json.loads(reply)["body"]  # type: ignore[no-any-return]


def read_json(orient: Any = None, *, lines: bool = False) -> Reader:
    return lambda body: pd.read_json(StringIO(body), orient=orient, lines=lines)


def data_frame(body: str) -> Any:
    return pd.DataFrame(json.loads(body))


def normalize(body: str) -> Any:
    return pd.json_normalize(json.loads(body))


def optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def polars(body: str) -> Any:
    # Without the length it guesses the types from the first hundred rows, and stops where they change.
    return optional("polars").read_json(body.encode(), infer_schema_length=None)


def arrow(body: str) -> Any:
    return optional("pyarrow").Table.from_pylist(json.loads(body))


PEERS: dict[str, Reader] = {
    "DataFrame": data_frame,
    "normalize": normalize,
    "polars": polars,
    "pyarrow": arrow,
}
ARROW_OWN = {"polars", "pyarrow"}
"""Their tables are Arrow's; they are timed once, beside ours with pyarrow."""
OF_RECORDS = PEERS
FRAME_ONLY = {"DataFrame": data_frame}
OF_LISTS = FRAME_ONLY | {
    "pyarrow": lambda body: optional("pyarrow").table(json.loads(body))
}
OF_SPLIT = {"DataFrame": lambda body: pd.DataFrame(**json.loads(body))}
OF_INDEX = {
    "DataFrame": lambda body: pd.DataFrame.from_dict(json.loads(body), orient="index")
}
OF_DATA = {"DataFrame": lambda body: pd.DataFrame(json.loads(body)["data"])}


# The shapes


class Targets(NamedTuple):
    """The most that ours may take of the base's time."""

    best: float = 1.0
    plain: float = 1.0
    """Without pyarrow."""


class Shape(NamedTuple):
    document: Callable[[Rows], Any]
    wanted: Callable[[Any], Wanted] = records
    base: Reader = read_json()
    peers: Mapping[str, Reader] = OF_RECORDS
    targets: Targets = Targets()
    rows: int | None = None
    """None: as many as are asked for."""
    dump: Callable[..., str] = json.dumps
    lines: bool = False

    def reply(self, count: int) -> bytes:
        body = self.dump(self.document(table(count)))
        return self.dump({"error": None, "body": body}).encode()


SHAPES: dict[str, Shape] = {
    "records": Shape(list, targets=Targets(0.22, 0.42)),
    "10,000 records": Shape(list, targets=Targets(0.28), rows=10_000),
    "100 records": Shape(list, targets=Targets(0.20), rows=100),
    "column-keyed": Shape(by_column, columns, peers=FRAME_ONLY, targets=Targets(0.25)),
    "split": Shape(
        lambda rows: {
            "columns": COLUMNS,
            "index": list(range(len(rows))),
            "data": [list(row.values()) for row in rows],
        },
        split,
        read_json("split"),
        OF_SPLIT,
        Targets(0.36),
    ),
    "nested records": Shape(
        nested, lambda document: records(document).dotted(), targets=Targets(0.22)
    ),
    "column lists": Shape(
        lambda rows: {name: [row[name] for row in rows] for name in COLUMNS},
        lists,
        peers=OF_LISTS,
    ),
    "index-keyed": Shape(
        lambda rows: {str(number): row for number, row in enumerate(rows)},
        index_keyed,
        read_json("index"),
        OF_INDEX,
    ),
    "list of lists": Shape(
        lambda rows: [list(row.values()) for row in rows], rows_of, peers=FRAME_ONLY
    ),
    # read_json makes one row of the schema and one of the data; who knows the shape writes this.
    "declared types": Shape(
        declared, lambda document: columns(document["data"]), OF_DATA["DataFrame"], {}
    ),
    "table schema": Shape(table_schema, table_data, read_json("table"), OF_DATA),
    "records by date": Shape(by_date),
    "compact records": Shape(
        list, dump=functools.partial(json.dumps, separators=(",", ":"))
    ),
    "indented records": Shape(list, dump=functools.partial(json.dumps, indent=1)),
    "NaN in records": Shape(with_nan),
    "ragged records": Shape(
        lambda rows: [{k: v for k, v in row.items() if v is not None} for row in rows]
    ),
    "late key": Shape(lambda rows: with_last(rows, Note="new")),
    "late fraction": Shape(lambda rows: with_last(rows, **{"Transaction Count": 0.5})),
    "late text": Shape(lambda rows: with_last(rows, **{"Transaction Count": "n/a"})),
    "records in rows": Shape(with_parts),
    "text, escaped": Shape(texts),
    "text, UTF-8": Shape(texts, dump=functools.partial(json.dumps, ensure_ascii=False)),
    "unique times": Shape(with_times),
}

# Shapes that the fast way can't take as they are.
ODD: dict[str, Shape] = {
    "columns with gaps": Shape(with_gaps, columns),
    "columns by name": Shape(by_name, columns),
    "NaN in columns": Shape(lambda rows: by_column(with_nan(rows)), columns),
    "sparse records": Shape(sparse),
    "sparse objects": Shape(sometimes, lambda document: records(document).dotted()),
    "escapes and NaN": Shape(
        lambda rows: [a | b for a, b in zip(with_nan(rows), texts(rows), strict=True)]
    ),
    "halves of pairs": Shape(lambda rows: [row | {"Note": "\ud800"} for row in rows]),
    "mixed values": Shape(
        lambda rows: [
            {"x": n if n % 2 else str(n), "y": {"z": n} if n % 3 else n}
            for n in range(len(rows))
        ]
    ),
    "short rows": Shape(
        lambda rows: [[*row.values()][: n % 7 + 1] for n, row in enumerate(rows)],
        rows_of,
    ),
    "many columns": Shape(
        lambda rows: [{f"c{n}": n * 0.1 for n in range(300)} for _ in rows[::10]]
    ),
    "times with offset": Shape(offsets),
    "only numbers": Shape(lambda rows: [row["Spend"] for row in rows], one_column),
}


def by_position(rows: Rows) -> dict[str, Any]:
    return {"columns": list(rows[0]), "data": [list(row.values()) for row in rows]}


def ragged(rows: Rows) -> Rows:
    return [
        {name: value for at, (name, value) in enumerate(row.items()) if (n + at) % 3}
        for n, row in enumerate(rows)
    ]


def gapped(rows: Rows) -> dict[str, dict[str, Any]]:
    columns = {
        name: {str(n): row[name] for n, row in enumerate(rows)} for name in rows[0]
    }
    return {
        name: {n: v for n, v in column.items() if (int(n) + at) % 5}
        for at, (name, column) in enumerate(columns.items())
    }


def numbered(rows: Rows) -> dict[str, dict[str, Any]]:
    return {name: {str(n): row[name] for n, row in enumerate(rows)} for name in rows[0]}


def dump_lines(rows: Rows, **options: Any) -> str:
    return "\n".join(json.dumps(row, **options) for row in rows)


# A shape for rows with any cells, and the cells: of the number of a row.
OUTLINES: dict[str, Shape] = {
    "records": Shape(list),
    "ragged records": Shape(ragged),
    "nested records": Shape(
        lambda rows: [{"id": n, "in": row} for n, row in enumerate(rows)]
    ),
    "rows": Shape(lambda rows: [list(row.values()) for row in rows], rows_of),
    "ragged rows": Shape(
        lambda rows: [[*row.values()][: n % 60 + 1] for n, row in enumerate(rows)],
        rows_of,
    ),
    "columns": Shape(numbered, columns),
    "gapped columns": Shape(gapped, columns),
    "named columns": Shape(
        lambda rows: {
            k: {f"r{n}": v for n, v in c.items()} for k, c in numbered(rows).items()
        },
        columns,
    ),
    "lists": Shape(
        lambda rows: {name: [row[name] for row in rows] for name in rows[0]}, lists
    ),
    "index": Shape(
        lambda rows: {str(n): row for n, row in enumerate(rows)},
        index_keyed,
        read_json("index"),
    ),
    "split": Shape(by_position, split, read_json("split")),
    "values": Shape(lambda rows: [row["c0"] for row in rows], one_column),
    "lines": Shape(list, base=read_json(lines=True), dump=dump_lines, lines=True),
}
CELLS: dict[str, Callable[[int], Any]] = {
    "integers": lambda n: n * 7919 % 10**6,
    "large integers": lambda n: 2**62 + n,
    "beyond 64 bits": lambda n: 2**70 + n,
    "fractions": lambda n: (n + 0.5) / 7,
    "cents": lambda n: n * 7919 % 10**6 / 100,
    "whole floats": float,
    "beyond 1e100": lambda n: (n + 0.5) * 1e150,
    "the largest float": lambda n: 1.7976931348623157e308 if n % 2 else n / 7,
    "powers of 10": lambda n: 10.0 ** (n % 300),
    "below 1e-100": lambda n: (n + 0.5) / 1e200,
    "integers and fractions": lambda n: n if n % 2 else n / 8,
    "NaN": lambda n: math.nan if n % 3 else n / 7,
    "words": lambda n: ("Northeast", "South", "West")[n % 3],
    "texts": lambda n: f"the text {n * 7919}",
    "UTF-8": lambda n: f"東京 São Paulo {n}",
    "escapes": lambda n: f'said "{n}"\n\tC:\\',
    "digits": lambda n: f"{n:07}",
    "long texts": lambda n: f"{n} lorem ipsum" * 20,
    "dates": lambda n: (dt.date(1990, 1, 1) + dt.timedelta(n % 12000)).isoformat(),
    "times": lambda n: (dt.datetime(2020, 1, 1) + dt.timedelta(seconds=n)).isoformat(),  # noqa: DTZ001
    "milliseconds": lambda n: (
        f"2024-01-01T00:{n // 60 % 60:02}:{n % 60:02}.{n % 1000:03}"
    ),
    "nanoseconds": lambda n: f"2024-01-01T00:{n // 60 % 60:02}:{n % 60:02}.{n:09}",
    "offsets": lambda n: (
        f"2024-01-01T00:{n // 60 % 60:02}:{n % 60:02}" + ("Z", "+05:30")[n % 2]
    ),
    "dates and words": lambda n: (
        "n/a"
        if n % 100 == 99
        else (dt.date(1990, 1, 1) + dt.timedelta(n % 12000)).isoformat()
    ),
    "truths": lambda n: n % 3 == 0,
    "nulls": lambda _: None,
    "truths and nulls": lambda n: (True, None, False)[n % 3],
    "texts and nulls": lambda n: f"the text {n}" if n % 3 else None,
    "integers and nulls": lambda n: n if n % 3 else None,
    "mostly nulls": lambda n: None if n % 100 else n,
    "late text": lambda n: "n/a" if n % 1000 == 999 else n,
    "mixed": lambda n: (n, str(n), None, n / 2, True)[n % 5],
    "empty lists": lambda _: [],
    "lists": lambda n: [n, n / 8],
    "lists of NaN": lambda n: [n / 7, math.nan],
    "lists of texts": lambda n: [str(n), "x"],
    "lists of objects": lambda n: [{"a": n, "b": str(n)}, {}],
    "empty objects": lambda _: {},
    "objects": lambda n: {"a": n, "b": {"c": str(n)}},
    "sparse objects": lambda n: {f"k{n % 20}": n} if n % 2 else None,
    "objects of 40 keys": lambda n: {f"k{n % 40}": n},
    "objects of many keys": lambda n: {f"k{n % 400}": n},
    "objects and others": lambda n: {"a": n} if n % 2 else n,
}
MOST_CELLS = 280_000
ODD["lines"] = OUTLINES["lines"]


def odd_shape(name: str) -> Shape:
    """Return a shape by its name, or by the name of an outline and of the cells of its columns."""
    if name in SHAPES | ODD:
        return (SHAPES | ODD)[name]
    outline, _, columns = name.partition(" of ")
    kinds, _, times = columns.partition(" x ")
    cells = [CELLS[kind] for kind in kinds.split(" + ")] * int(times or 1)

    def rows(some: Rows) -> Rows:
        count = min(len(some), MOST_CELLS // len(cells))
        return [
            {f"c{at}": cell(n) for at, cell in enumerate(cells)} for n in range(count)
        ]

    shape = OUTLINES[outline]
    return shape._replace(document=lambda some: shape.document(rows(some)))


def drawn(count: int) -> Iterator[str]:
    """Draw the names of shapes."""
    draw = random.Random(0)
    for _ in range(count):
        kinds = " + ".join(draw.sample(list(CELLS), draw.choice((1, 1, 2, 3, 6))))
        yield f"{draw.choice(list(OUTLINES))} of {kinds} x {draw.choice((1, 1, 1, 10, 60))}"


def enveloped(body: str, *, is_ascii: bool) -> bytes:
    return json.dumps({"error": None, "body": body}, ensure_ascii=is_ascii).encode()


NORMALIZE = "normalize"

# The ways to send a body: whether in ASCII, how, and how its text is got from the reply.
WAYS: dict[str, tuple[bool, Callable[[str], bytes], Callable[[bytes], str]]] = {
    "encoded": (True, functools.partial(enveloped, is_ascii=True), body_of),
    "UTF-8": (False, functools.partial(enveloped, is_ascii=False), body_of),
    "raw": (False, str.encode, bytes.decode),
}


# In a process of its own


def render(name: str, count: int, path: str) -> float:
    """Write a reply, and return its size in MB."""
    return Path(path).write_bytes(SHAPES[name].reply(count)) / 1e6


def values(reply: bytes) -> Any:
    return json.loads(body_of(reply), parse_constant=lambda _: None)


def timed(name: str, path: str) -> dict[str, Any]:
    """Return the median milliseconds of the base and the ratios of the others, or a word on why there are none."""
    shape = SHAPES[name]
    reply = Path(path).read_bytes()
    wanted = shape.wanted(values(reply))
    names = {str(column).partition(".")[0] for column, _ in wanted.columns}
    count = len(wanted.labels)
    wrong = mistake(reply, wanted)
    del wanted
    figures: dict[str, Any] = {"wrong": wrong} if wrong else {}
    peers: dict[str, Side] = {}
    for peer, reader in shape.peers.items():
        if peer in ARROW_OWN and (
            optional("pyarrow") is None or optional(peer) is None
        ):
            continue
        try:
            result = reader(body_of(reply))
        except Exception:  # noqa: BLE001 - any reason not to read it will do
            figures[peer] = "fails"
            continue
        kept = {
            str(column).partition(".")[0]
            for column in getattr(result, "column_names", result.columns)
        }
        if len(result) == count and (names <= kept or shape.wanted is rows_of):
            peers[peer] = functools.partial(read_body, reader, reply)
        else:
            figures[peer] = "loses"
        del result
    sides = {
        "base": functools.partial(read_body, shape.base, reply),
        "ours": functools.partial(jf.to_frame, reply),
    }
    return figures | medians(sides, peers)


def read_body(
    reader: Reader, reply: bytes, unwrap: Callable[[bytes], str] = body_of
) -> Any:
    return reader(unwrap(reply))


def mistake(reply: bytes, wanted: Wanted, *, lines: bool = False) -> str | None:
    """Say what ours does not hold."""
    try:
        return difference(jf.to_frame(reply, lines=lines), wanted)
    except Exception as error:  # noqa: BLE001 - the table shows any error
        return f"{type(error).__name__}: {error}"


def odd(name: str, count: int) -> dict[str, Any]:
    """
    Return the median milliseconds of the base, and the ratio of ours for each way to send a body.

    For objects in rows also that to json_normalize, which makes the same columns; sent in the last way.
    """
    shape = odd_shape(name)
    document = shape.document(table(count))
    wanted = shape.wanted(
        json.loads(json.dumps(document), parse_constant=lambda _: None)
    )
    figures: dict[str, Any] = {}
    for way, (is_ascii, wrap, unwrap) in WAYS.items():
        body = shape.dump(document, ensure_ascii=is_ascii)
        if (shape.lines and way != "raw") or (
            not is_ascii and body != replace_surrogates(body)
        ):
            continue
        reply = wrap(body)
        if wrong := mistake(reply, wanted, lines=shape.lines) and mistake(
            reply, wanted.dotted(), lines=shape.lines
        ):
            return {"wrong": f"{way}: {wrong}"}
        sides: dict[str, Side] = {
            "ours": functools.partial(jf.to_frame, reply, lines=shape.lines)
        }
        # Of an integer beyond 64 bits, read_json makes nothing.
        for reader in (
            shape.base,
            data_frame,
        ):
            sides["base"] = functools.partial(read_body, reader, reply, unwrap)
            with contextlib.suppress(ValueError):
                sides["base"]()
                break
        has_objects = (
            isinstance(document, list) and wanted.dotted().columns != wanted.columns
        )
        peers = (
            {NORMALIZE: functools.partial(read_body, normalize, reply, unwrap)}
            if has_objects
            else {}
        )
        taken = medians(sides, peers)
        figures = (
            {"MB": len(reply) / 1e6, "base": taken["base"]}
            | figures
            | {way: taken["ours"]}
        )
        if has_objects:
            figures[NORMALIZE] = taken["ours"] / taken[NORMALIZE]
    return figures


def medians(sides: Mapping[str, Side], peers: Mapping[str, Side]) -> dict[str, float]:
    """Run all sides in turn; return the median milliseconds of the base, and the median ratio to it of the others."""
    every = dict(sides) | dict(peers)
    times = dict.fromkeys(every, 1)
    taken: dict[str, list[float]] = {name: [] for name in every}
    rounds = MANY if sample(sides["base"], 1) < 20 else FEW
    for number in range(rounds + 1):
        # Two sides are compared with a target; the others need less.
        for name, side in (every if number <= 3 else sides).items():
            milliseconds = sample(side, times[name])
            if number:
                taken[name].append(milliseconds)
            else:
                # The first round warms up, and says how often a sample has to repeat what takes little.
                times[name] = max(1, round(50 / milliseconds))
    # A machine may be slow for some of the rounds, and is then slow for all sides of a round.
    ratios = {
        name: statistics.median(
            milliseconds / base
            for milliseconds, base in zip(taken[name], taken["base"], strict=False)
        )
        for name in every
    }
    return ratios | {"base": statistics.median(taken["base"])}


def sample(side: Side, times: int) -> float:
    """Return the milliseconds of processor time, which a busy machine changes least."""
    gc.collect()
    began = time.process_time()
    for _ in range(times):
        side()
    return (time.process_time() - began) * 1000 / times


def peak(name: str, path: str, side: str) -> dict[str, float]:
    """Return the most memory over the reply, in MiB: by the growth of the process, and as Python's allocators say."""
    shape = SHAPES[name]
    reader = jf.to_frame if side == "ours" else functools.partial(read_body, shape.base)
    reader(shape.reply(2_000))  # loads what it loads late
    reply = Path(path).read_bytes()
    gc.collect()
    before = _held("VmRSS")
    reader(reply)
    growth = _held("VmHWM") - before
    gc.collect()
    tracemalloc.start()
    reader(reply)
    return {"growth": growth, "traced": tracemalloc.get_traced_memory()[1] / 2**20}


def _held(what: str) -> float:
    # Not getrusage: its maximum includes the process that started this one.
    match = re.search(
        rf"{what}:\s+([0-9]+) kB", Path("/proc/self/status").read_text(encoding="ascii")
    )
    assert match is not None
    return int(match[1]) / 1024


def exact() -> dict[str, list[str]]:
    """Return the names of the edge bodies that a side does not hold, by side."""
    failed: dict[str, list[str]] = {}
    for name, edge in EDGES.items():
        reply = json.dumps({"error": None, "body": edge.body}).encode()
        wanted = edge.wanted(values(reply))
        for side, reader in {
            "read_json": edge.base,
            "DataFrame": edge.frame,
            "to_frame": None,
        }.items():
            try:
                frame = reader(body_of(reply)) if reader else jf.to_frame(reply)
                wrong = difference(frame, wanted) and difference(frame, wanted.dotted())
            except Exception as error:  # noqa: BLE001 - the table shows any error
                wrong = f"{type(error).__name__}: {error}".partition("\n")[0]
            if wrong:
                failed.setdefault(side, []).append(f"{name}: {wrong}")
    return failed


def versions() -> str:
    parts = [f"Python {platform.python_version()}"]
    for name in ("pandas", "pyarrow", "polars"):
        module = optional(name)
        parts.append(f"{name} {module.__version__}" if module else f"no {name}")
    return ", ".join(parts)


JOBS: dict[str, Callable[..., Any]] = {
    "render": render,
    "timed": timed,
    "odd": odd,
    "peak": peak,
    "exact": exact,
    "versions": versions,
}


def job() -> None:
    warnings.simplefilter("ignore")
    what, *arguments = json.load(sys.stdin)
    json.dump(JOBS[what](*arguments), sys.stdout)


def in_process(what: str, *arguments: Any, pyarrow: bool = True) -> Any:
    """Do a job in a fresh process, one that cannot import pyarrow if so asked."""
    absent = "" if pyarrow else "sys.modules['pyarrow'] = None; "
    code = f"import sys; {absent}from tests.benchmarks import frames; frames.job()"
    line = json.dumps([what, *arguments])
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=line,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


# The bodies that are easily changed


class Edge(NamedTuple):
    body: str
    wanted: Callable[[Any], Wanted] = records
    base: Reader = read_json()
    frame: Reader = data_frame


def of(*cells: str, name: str = "x") -> Edge:
    """Make records of one column, of cells as JSON writes them."""
    return Edge(f"[{', '.join(f'{{{json.dumps(name)}: {cell}}}' for cell in cells)}]")


def of_split(body: str) -> Edge:
    return Edge(body, split, read_json("split"), OF_SPLIT["DataFrame"])


EDGES: dict[str, Edge] = {
    # Integers
    "2^53 + 1": of("9007199254740993", "1"),
    "2^53 + 1 beside null": of("9007199254740993", "null"),
    "the largest of 64 bit beside null": of("9223372036854775807", "null"),
    "the smallest of 64 bit": of("-9223372036854775808", "0"),
    "2^63": of("9223372036854775808", "1"),
    "2^64 - 1 beside null": of("18446744073709551615", "null"),
    "2^64": of("18446744073709551616", "1"),
    "10^30 and its negative": of(
        "1000000000000000000000000000000", "-1000000000000000000000000000000"
    ),
    "an integer of 400 digits": of("7" * 400, "1"),
    "an integer that a float would change": of("9007199254740993", "0.5"),
    "an integer beyond all floats, beside one": of("1" + "0" * 400, "0.5"),
    "large integers in a list": of("[9007199254740993, null, 18446744073709551616]"),
    # Floats
    "0.1 + 0.2": of("0.30000000000000004", "0.1"),
    "seventeen digits": of(
        "22026.465794806718", "4.5399929762484854e-05", "1234567.8901234567"
    ),
    "seventeen digits beside null": of("0.12345678901234568", "null"),
    "more digits than a float has": of(
        "0.1000000000000000055511151231257827", "3.141592653589793238462643"
    ),
    "the smallest float": of("5e-324", "2.2250738585072014e-308"),
    "the largest float": of("1.7976931348623157e308", "1"),
    "negative zero": of("-0.0", "0.0"),
    "large powers of ten": of("1e22", "1e23", "1E5"),
    "integers and fractions": of("1", "2.5", "null"),
    "NaN as a literal": of("1.5", "NaN"),
    # Truths, and columns of several kinds
    "truths": of("true", "false"),
    "truths beside null": of("true", "null", "false"),
    "truths and numbers": of("true", "1", "0.5"),
    "numbers and text": of("1", '"1"', "null"),
    "nothing but nulls": of("null", "null"),
    # Text
    "leading zeros": of('"007"', '"08"'),
    "text like a power of ten": of('"1E5"', '"2e3"'),
    "text like a number": of('"1.0"', '"10"'),
    "text like a number beside null": of('"1.50"', "null"),
    "text like a missing value": of('"NaN"', '"null"', '"None"', '""', "null"),
    "text like infinity": of('"inf"', '"-Infinity"'),
    "text like a truth": of('"true"', '"False"'),
    "text of many digits": of('"12345678901234567890123"', '"1"'),
    "blanks": of('" 1 "', '"\\t"', '" "'),
    "NUL": of(r'"a\u0000b"', r'"\u0000"'),
    "characters that terminals obey": of(r'"\u001b[31m"', r'"\u202ex"'),
    "escapes": of(r'"\"\\\/\b\f\n\r\t"', r'"\\u0041 \u0041"'),
    "a surrogate pair": of(r'"\ud83d\ude00"', '"😀"'),
    "half a surrogate pair": of(r'"a\ud800"', r'"\udc00b"'),
    "digits that are not ASCII": of('"١٢٣"', '"\uff11\uff12"'),
    # Dates and what looks like them
    "dates": of('"2024-02-29"', "null", name="Date"),
    "dates beyond 2262": of('"9999-12-31"', '"2024-01-01"', name="date"),
    "dates of the year 1": of('"0001-01-01"', '"1066-10-14"', name="date"),
    "offsets": of(
        '"2024-01-01T10:00:00+05:30"', '"2024-01-01T10:00:00Z"', name="created_at"
    ),
    "offsets and none": of(
        '"2024-01-01T10:00:00Z"', '"2024-01-01T10:00:00"', name="created_at"
    ),
    "nanoseconds": of('"2024-01-01T10:00:00.123456789"', name="start_time"),
    "a day that does not exist": of('"2023-02-29"', '"2024-01-01"', name="date"),
    "a leap second": of('"2016-12-31T23:59:60"', name="date"),
    "months": of('"2024-01"', '"2024-02"', name="date"),
    "days written the other way": of('"01/02/2024"', '"13/02/2024"', name="date"),
    "an integer named date": of("20240101", "20240102", name="date"),
    "a large integer named modified": of(
        "1700000000000", "1700000000001", name="modified"
    ),
    "a word named modified": of('"today"', '"now"', name="modified"),
    "a fraction named timestamp": of("1700000000.25", name="timestamp"),
    # Names
    "a key that stands twice": Edge('[{"x": 1, "x": 2}]'),
    "columns of one name": of_split(
        '{"columns": ["a", "a", "b"], "data": [[1, 2, 3], [4, 5, 6]]}'
    ),
    "columns without a name": of_split(
        '{"columns": ["", "", "b"], "index": [0], "data": [[1, "x", null]]}'
    ),
    "names like numbers and dates": Edge(
        '[{"007": 1, "1.0": 2, "2024-01-01": 3, "": 4}]'
    ),
    # Rows
    "late keys": Edge('[{"a": 1}, {}, {"b": 9007199254740993, "a": null}, {"c": "x"}]'),
    "objects in rows": Edge(
        '[{"a": {"x": 1, "y": {"z": 0.1}}}, {"a": null}, {"a": {"y": {"z": null, "w": "07"}}}]'
    ),
    "objects and other values": Edge(
        '[{"a": {"x": 1}}, {"a": 5}, {"a": [null, {"x": -0.0}]}]'
    ),
    "lists of lists in rows": Edge(
        '[{"a": [1, [2, [null]]], "b": []}, {"a": [], "b": [{}]}]'
    ),
    "rows without columns": Edge("[{}, {}]"),
    "nothing": Edge("[]"),
    # Other shapes
    "column-keyed, sparse": Edge(
        '{"a": {"0": 9007199254740993, "2": 3}, "b": {"1": "2"}}', columns
    ),
    "column-keyed, rows with names": Edge(
        '{"a": {"x": 1, "007": 2}, "b": {"x": 0.1, "007": null}}', columns
    ),
    "short rows": Edge('[[1, "x"], [9007199254740993], [null, "007"]]', rows_of),
    "scalars": Edge('[1, null, 18446744073709551616, "1", true]', one_column),
    "one record": Edge('{"a": 9007199254740993, "b": "007", "c": null}', one_row),
}
assert len(EDGES) == 71


# The tables


def print_times(files: Mapping[str, Path], *, pyarrow: bool) -> bool:
    """Print the table, and say whether all that was read is right."""
    peers = [name for name in PEERS if pyarrow or name not in ARROW_OWN]
    print(
        f"{'time':18}{'MB':>7}{'base':>12}{'ours':>7}{'target':>8}"
        + "".join(f"{name:>11}" for name in peers)
    )
    right = True
    for name, path in files.items():
        got = in_process("timed", name, str(path), pyarrow=pyarrow)
        base = got["base"]
        targets = SHAPES[name].targets
        shown = [
            _shown(got.get("ours")),
            f"{targets.best if pyarrow else targets.plain:.2f}",
        ]
        line = f"{name:18}{path.stat().st_size / 1e6:7.2f}{base:9.1f} ms{shown[0]:>7}{shown[1]:>8}"
        line += "".join(f"{_shown(got.get(peer)):>11}" for peer in peers)
        if "wrong" in got:
            line += f"  wrong: {_clipped(got['wrong'])}"
            right = False
        print(line, flush=True)
    return right


def print_odd(names: Iterable[str], *, pyarrow: bool) -> bool:
    """Print the table, and say whether all that was read is right."""
    print(
        f"{'odd':44}{'MB':>7}{'base':>12}"
        + "".join(f"{way:>11}" for way in [*WAYS, NORMALIZE])
    )
    right = True
    for name in names:
        got = in_process("odd", name, MANY_ROWS, pyarrow=pyarrow)
        if "wrong" in got:
            print(f"{name:44}  wrong: {_clipped(got['wrong'])}", flush=True)
            right = False
            continue
        ways = [got.get(way) for way in WAYS]
        slow = "  *" if max(filter(None, ways)) > 1 else ""
        ways.append(got.get(NORMALIZE))
        print(
            f"{name:44}{got['MB']:7.2f}{got['base']:9.1f} ms"
            + "".join(f"{_shown(way):>11}" for way in ways)
            + slow,
            flush=True,
        )
    return right


def _shown(ratio: float | str | None) -> str:
    return f"{ratio:.2f}" if isinstance(ratio, int | float) else ratio or "-"


def _clipped(text: str) -> str:
    return ascii(text)[1:-1][:150]


def print_peaks(files: Mapping[str, Path], *, pyarrow: bool) -> None:
    target = f"{0.10 if pyarrow else 0.20:12.2f}"
    heads = ("base RSS", "ours", "ratio", "base traced", "ours", "ratio", "target")
    print(f"{'memory, MiB':18}" + "".join(f"{head:>12}" for head in heads))
    for name, path in files.items():
        if SHAPES[name].rows is not None:
            continue
        base = in_process("peak", name, str(path), "base", pyarrow=pyarrow)
        try:
            ours = in_process("peak", name, str(path), "ours", pyarrow=pyarrow)
        except subprocess.CalledProcessError:
            print(f"{name:18}  ours fails", flush=True)
            continue
        line = f"{name:18}"
        for kind in ("growth", "traced"):
            line += (
                f"{base[kind]:12.1f}{ours[kind]:12.1f}{ours[kind] / base[kind]:12.2f}"
            )
        print(line + (target if name == "records" else ""), flush=True)


def print_exact(*, pyarrow: bool, peers: bool) -> bool:
    """Print the table, and say whether ours holds all; what a side does not hold is listed for ours, or for each."""
    failed = in_process("exact", pyarrow=pyarrow)
    print(f"{'exactness':18}{'held':>7}{'of':>7}")
    for side in ("read_json", "DataFrame", "to_frame"):
        wrong = failed.get(side, [])
        print(f"{side:18}{len(EDGES) - len(wrong):7}{len(EDGES):7}", flush=True)
        for body in wrong if peers or side == "to_frame" else ():
            print(f"    {_clipped(body)}")
    return not failed.get("to_frame")


def options_of(arguments: Iterable[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Compare to_frame with what a person would write instead."
    )
    parser.add_argument(
        "tables",
        nargs="*",
        metavar="table",
        help=f"{', '.join(TABLES)}; all if none is named",
    )
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK:,} rows instead of {ROWS:,}"
    )
    parser.add_argument(
        "--shape", default="", help="only the shapes with this in their names"
    )
    parser.add_argument(
        "--draw",
        type=int,
        default=0,
        metavar="N",
        help="also N odd shapes that are drawn",
    )
    parser.add_argument(
        "--world",
        choices=["with", "without"],
        help="only with pyarrow, or only without it",
    )
    parser.add_argument(
        "--peers",
        action="store_true",
        help="list the bodies that the others do not hold",
    )
    options = parser.parse_args(list(arguments))
    if set(options.tables) - set(TABLES):
        parser.error(f"tables are {', '.join(TABLES)}")
    return options


def odd_names_of(options: argparse.Namespace) -> list[str]:
    names = [name for name in SHAPES if SHAPES[name].rows is None] + [*ODD]
    if options.draw:
        names += drawn(options.draw)
    else:
        names += [f"records of {kind}" for kind in CELLS]
    return [name for name in names if options.shape in name] or [options.shape]


def main(arguments: Iterable[str]) -> int:
    """Print the tables that are asked for, or all; returns the status of the process."""
    options = options_of(arguments)
    tables = options.tables or TABLES
    shapes = {name: shape for name, shape in SHAPES.items() if options.shape in name}
    odd_names = odd_names_of(options)
    right = True
    with tempfile.TemporaryDirectory(prefix="funcs-benchmark-") as folder:
        files = {
            name: Path(folder) / f"{number}.json" for number, name in enumerate(shapes)
        }
        if set(tables) & {"time", "memory"}:
            for name, path in files.items():
                count = shapes[name].rows or (QUICK if options.quick else ROWS)
                in_process("render", name, count, str(path))
        for pyarrow in (True, False):
            if options.world == ("without" if pyarrow else "with"):
                continue
            print(
                f"\n{in_process('versions', pyarrow=pyarrow)}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n"
            )
            if "time" in tables:
                right &= print_times(files, pyarrow=pyarrow)
                print()
            if "odd" in tables:
                right &= print_odd(odd_names, pyarrow=pyarrow)
                print()
            if "memory" in tables:
                print_peaks(files, pyarrow=pyarrow)
                print()
            if "exact" in tables:
                right &= print_exact(pyarrow=pyarrow, peers=options.peers)
    return int(not right)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

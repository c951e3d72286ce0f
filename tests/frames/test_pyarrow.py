"""
A reply gives the same frame whether pyarrow is installed or not: names, dtypes, values, row labels, attrs, errors.

pyarrow is an extra that only makes `to_frame` faster. A second interpreter, in which it cannot be imported, reads the
same replies as this one, whole and in pieces.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jupyter_funcs.frames import chunks
from jupyter_funcs.frames.frame import to_frame
from tests.frames.test_frame import DECLARED, DTYPES, SHAPES, declared, reply
from tests.frames.test_round_trip import BODIES, outcome

ROWS = 1_500
TEXTS = [
    "007",
    "",
    '\\"',
    "\u2028",
    "😀",
    "\0",
    "2024-02-30",
    "a long text of no meaning",
]
# One column per dtype; its values repeat after 9, 8 or 7 rows, so that pieces differ.
COLUMNS: dict[str, list[Any]] = {
    # First and last, as two lists side by side look like two rows.
    "lists": [[1], [], None, ["x", {"a": 1}]],
    "string": [*TEXTS, None],
    "texts without null": TEXTS,
    "int64": [0, -1, 2**63 - 1, -(2**63), 7, 8, 9, 10],
    "Int64": [0, None, 2**53 + 1, 3],
    "object of integers": [2**64, 1, -(10**30)],
    "float64": [0.1, -0.0, None, 5e-324, 1.7976931348623157e308, 1],
    "bool": [True, False],
    "boolean": [True, None, False],
    "dates": ["2024-02-29", None, "0001-01-01", "9999-12-31"],
    "times": ["2024-01-01T10:00", "2024-01-01", "2024-01-01T10:00:00.000001"],
    "nanoseconds": ["2024-01-01T10:00:00.123456789", None],
    "offsets": ["2024-01-01T10:00:00Z", "2024-01-01T10:00:00+05:30", None],
    "offsets and none": ["2024-01-01T10:00:00Z", "2024-01-01T10:00:00"],
    "nulls": [None],
    "mixed": [1, "1", True, None, [1]],
}
LONG = {
    name: [values[row % len(values)] for row in range(ROWS)]
    for name, values in COLUMNS.items()
}
RECORDS = [
    dict(zip(LONG, row, strict=True)) for row in zip(*LONG.values(), strict=True)
]
LONG_BODIES: dict[str, Any] = {
    "records": RECORDS,
    "nested records": [
        {"in": row, "deep": {"er": {"n": row["int64"]}}} for row in RECORDS
    ],
    "a record of late keys": [*RECORDS, {"late": "x", "string": "2024-01-01"}],
    "a text among integers, late": [*RECORDS, {"int64": "x"}],
    "columns": {
        name: {str(row): value for row, value in enumerate(values)}
        for name, values in LONG.items()
    },
    "columns with row names": {
        name: {f"r{row}": value for row, value in enumerate(values)}
        for name, values in LONG.items()
    },
    "columns with gaps": {
        name: {str(row): value for row, value in enumerate(values) if (row + at) % 5}
        for at, (name, values) in enumerate(LONG.items())
    },
    "columns in the order of text": {
        name: {key: values[int(key)] for key in sorted(map(str, range(ROWS)))}
        for name, values in LONG.items()
    },
    "halves of pairs, NaN and backslashes": [
        row
        | {
            "x": math.nan if at % 3 else at,
            "y": "\\" * (at % 4),
            "z": "\ud800\\ud800" * (at % 2) + '"NaN',
        }
        for at, row in enumerate(RECORDS)
    ],
    "NaN in columns": {
        "x": dict.fromkeys(range(9 * ROWS), math.nan),
        "NaN": dict.fromkeys(range(9 * ROWS), "\\NaN"),
    },
    "objects and others": [
        row | {"x": {"a": at} if at % 2 else at} for at, row in enumerate(RECORDS)
    ],
    "objects that are absent": [
        {"x": {f"k{at % 5}": at} if at % 3 else None} for at in range(9 * ROWS)
    ],
    "short rows": [list(row.values())[: at % 9] for at, row in enumerate(RECORDS)],
    "short rows and null": [
        list(row.values()) if at % 7 else None for at, row in enumerate(RECORDS, 1)
    ],
    "mostly nulls": [
        {
            name: value if at % 50 == n else None
            for n, (name, value) in enumerate(row.items())
        }
        for at, row in enumerate(RECORDS * 3)
    ],
    "empty objects": [{"x": {}, "y": at} for at in range(9 * ROWS)],
    "times of many kinds": [
        {
            "us": f"{2000 + at % 50}-01-01T00:00:00.{at:06}",
            "ns": f"2024-01-01T00:00:00.{at:09}",
            "zones": f"2024-01-01T00:{at % 60:02}:00"
            + ("Z", "+05:30", "-11:00")[at % 3],
            "ends": ("0001-01-01", "9999-12-31T23:59:59", "2024-02-30")[at % 2],
            "s": f"{2000 + at % 50}-01-01T00:{at // 60 % 60:02}:{at % 60:02}",
            "like a second": f"2024-01-01T00:{at // 60 % 60:02}:{at % 60:02}"
            if at != ROWS
            else "2024-01-01 00:00:00",
            "Z": f"2024-01-01T00:00:00.{at:03}Z",
            "no day": "2024-02-30" if at == ROWS else "2024-02-29",
        }
        for at in range(2 * ROWS)
    ],
    "lists": LONG,
    "rows": [list(row.values()) for row in RECORDS],
    "split": {"columns": list(LONG), "data": [list(row.values()) for row in RECORDS]},
    "index": {str(7 * row): record for row, record in enumerate(RECORDS)},
    "schema": {
        "schema": {
            "float64": {"type": "float64"},
            "texts without null": {"type": "str"},
            "dates": {"type": "date"},
        },
        "data": RECORDS,
    },
    "list": LONG["string"],
}
SHORT = {
    **{f"body: {name}": body for name, body in BODIES.items()},
    **{f"shape: {name}": json.dumps(body) for name, (body, *_) in SHAPES.items()},
    **{
        f"dtype: {name}": json.dumps([{"x": value} for value in values])
        for name, (values, _) in DTYPES.items()
    },
    **{
        f"by column: {name}": json.dumps({"x": dict(enumerate(values))})
        for name, (values, _) in DTYPES.items()
    },
    **{
        f"declared {name}, nullable {nullable}": declared(
            kind, values * 2, nullable
        ).decode()
        for name, (kind, values, *_) in DECLARED.items()
        for nullable in (True, False, None)
    },
    "labels of text": '{"a": {"x": 1, "y": null}}',
    "labels of time": '{"columns": ["a"], "index": ["2024-01-01", null], "data": [[1], [2]]}',
}


def read() -> dict[str, str]:
    """Return the frame that this interpreter reads from each reply, as text."""
    read = {
        f"{name}, pieces of {piece}": outcome(text, piece)
        for name, text in SHORT.items()
        for piece in (None, 5)
    }
    read |= {
        f"long {name}": outcome(reply(body), chunks._CHUNK)
        for name, body in LONG_BODIES.items()
    }
    return read | {
        f"long {name}, whole": outcome(reply(body), None)
        for name, body in LONG_BODIES.items()
    }


def storage() -> str:
    """Return how pandas stores the texts of a frame."""
    return str(to_frame('["x"]').dtypes.iloc[0].storage)


# None in sys.modules isn't an ImportError for the compiled modules of pandas 2.2.
WITHOUT = """
import json, sys

class Absent:
    def find_spec(self, name, *rest):
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
from tests.frames.test_pyarrow import read, storage
print(json.dumps([storage(), read()]))
assert not [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]
"""


@pytest.fixture(scope="module")
def without() -> tuple[str, dict[str, str]]:
    """Return how an interpreter without pyarrow stores texts, and the frame that it reads from each reply."""
    command = [sys.executable, "-c", WITHOUT]
    run = subprocess.run(
        command,
        cwd=Path(__file__).parents[2],
        check=False,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    stored, read = json.loads(run.stdout)
    return stored, read


@pytest.mark.slow
def test_without_pyarrow_every_reply_gives_the_same(
    without: tuple[str, dict[str, str]],
) -> None:
    stored, expected = without
    assert stored == "python"
    pytest.importorskip("pyarrow")
    assert storage() == "pyarrow"
    texts = read()
    assert texts.keys() == expected.keys()
    differing = {
        name: (text, expected[name])
        for name, text in texts.items()
        if text != expected[name]
    }
    assert not differing


@pytest.mark.slow
def test_long_replies_give_the_same_in_pieces_and_whole(
    without: tuple[str, dict[str, str]],
) -> None:
    _, expected = without
    for name in LONG_BODIES:
        assert expected[f"long {name}"] == expected[f"long {name}, whole"]


@pytest.mark.filterwarnings("ignore:The body of the reply contains")
@pytest.mark.parametrize(
    "name",
    [
        "records",
        "nested records",
        "a record of late keys",
        "columns",
        "columns with gaps",
        "rows",
        "split",
        "columns in the order of text",
        "halves of pairs, NaN and backslashes",
        "NaN in columns",
        "objects and others",
        "objects that are absent",
        "empty objects",
        "mostly nulls",
        "short rows",
        "short rows and null",
    ],
)
def test_long_replies_are_read_in_pieces_at_all(name: str) -> None:
    assert chunks.read_long(reply(LONG_BODIES[name])) is not None

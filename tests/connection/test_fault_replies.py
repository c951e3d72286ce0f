"""
Rows 44 to 69 of the catalogue of faults: each odd reply is an exact frame, or one error that says enough.

The tables hold the replies as they are sent. A document is read by `to_frame` and by a call over HTTP, by itself and as
the text in a ``body``; one with a ``first`` row also so long, by repeating that row, that it is read in pieces. The
token is in no message.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import pickle
import re
import sys
import threading
import traceback
import warnings
import zlib
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.connection import replies
from jupyter_funcs.core import background
from jupyter_funcs.frames import chunks, display, export
from jupyter_funcs.frames.dtypes import Declared
from tests.conftest import wait_until
from tests.connection.test_reply_limits import CANARY, GZIP, LISTING, bomb, packed

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterator,
        Callable,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

    from jupyter_funcs.api import Session
    from jupyter_funcs.frames.columns import Column

    # Of each column, its dtype and values: None for null, ISO text for a time.
    Columns = Mapping[str, tuple[str, Sequence[Any]]]

MIB = 2**20
LIMIT = 64 * MIB
LINES = {"content-type": "application/x-ndjson"}


@dataclass(frozen=True)
class Frame:
    """The expected frame."""

    columns: Columns
    shape: str = "records"
    index: Sequence[Any] | None = None  # None: the rows are numbered from 0
    rows: int | None = None  # where no column tells it
    warns: Sequence[str] = ()  # words of each warning


@dataclass(frozen=True)
class Refused:
    """The expected error: words of it, its class, and the byte and the row that it names."""

    words: str
    error: type[jf.FuncsError] = jf.ProtocolError
    at: int | None = None
    row: int | None = None
    warns: Sequence[str] = ()


@dataclass(frozen=True)
class Case:
    """A reply as it is sent, how it is read, and what is expected."""

    reply: bytes
    required: Frame | Refused
    first: bytes = b""  # its first row, which a long reply repeats
    schema: Mapping[str, str] | None = None
    headers: Mapping[str, str] | None = None


def cut(reply: bytes, first: bytes = b"") -> Case:
    return Case(reply, Refused("cut short: it ends at byte", at=len(reply)), first)


def refused(
    reply: bytes,
    words: str,
    *,
    at: int | None = None,
    row: int | None = None,
    first: bytes = b"",
    schema: Mapping[str, str] | None = None,
) -> Case:
    return Case(reply, Refused(words, at=at, row=row), first, schema)


def read(
    reply: bytes,
    columns: Columns,
    shape: str = "records",
    index: Sequence[Any] | None = None,
    *,
    rows: int | None = None,
    warns: Sequence[str] = (),
    first: bytes = b"",
    schema: Mapping[str, str] | None = None,
) -> Case:
    return Case(reply, Frame(columns, shape, index, rows, warns), first, schema)


def sent(
    data: bytes, required: Frame | Refused, headers: Mapping[str, str] = GZIP
) -> Case:
    return Case(data, required, headers=headers)


def declaring(kind: str, values: str, *, nullable: str = "true") -> bytes:
    declared = f'{{"schema":{{"a":{{"type":"{kind}","nullable":{nullable}}}}},"data":{{"a":{{{values}}}}}}}'
    return declared.encode()


def in_body(case: Case) -> Case:
    """Return the case with its reply as the text in a body."""
    text = case.reply.decode()
    return replace(
        case,
        reply=json.dumps({"error": None, "body": text}, ensure_ascii=False).encode(),
    )


def lengthened(case: Case) -> Case:
    """Return the case with its first row so often that the reply is read in several pieces."""
    times = 3 * chunks._CHUNK // (len(case.first) + 1) + 3
    rows = b",".join(numbered(case.first, number) for number in range(times))
    reply = case.reply.replace(case.first, rows, 1)
    if isinstance(case.required, Frame):
        return replace(case, reply=reply, required=longer_frame(case.required, times))
    row = None if case.required.row is None else case.required.row + times - 1
    at = (
        None
        if case.required.at is None
        else case.required.at + len(reply) - len(case.reply)
    )
    return replace(case, reply=reply, required=replace(case.required, row=row, at=at))


def longer_frame(frame: Frame, times: int) -> Frame:
    """Return the expected frame if the first row is repeated, and numbered where rows have labels."""
    columns = {
        name: (dtype, [values[0]] * times + [*values[1:]])
        for name, (dtype, values) in frame.columns.items()
    }
    index = frame.index and [*range(times), *frame.index[1:]]
    rows = frame.rows and frame.rows + times - 1
    return replace(frame, columns=columns, index=index, rows=rows)


def numbered(row: bytes, number: int) -> bytes:
    """Return a row of a column with another label; other rows have none."""
    if not row.startswith(b'"0":'):
        return row
    return b'"%d":%b' % (number, row.removeprefix(b'"0":'))


ONE = {"a": ("int64", [1])}
TWO = {"a": ("int64", [1, 2])}
NOTHING: dict[str, tuple[str, Sequence[Any]]] = {}
TWO_ROWS = b'[{"a":1},{"a":2}]'
_BOM = b"\xef\xbb\xbf"
_NULLED = "contains NaN or Infinity, which JSON doesn't have"
_HALVES = "contains halves of surrogate pairs; each is replaced by U+FFFD"
_DEEP = 100_000
_DIGITS = b"9" * 5_000
_PACKED = packed(TWO_ROWS)
_TOO_LARGE = Refused(
    "The reply is larger than max_bytes = 67,108,864.", jf.ReplyTooLargeError
)


# --- the tables: each key is the number in the catalogue and a name ---

# Documents, which may as well be the text of a body. In columns the last row is labelled 900000, so that there are
# labels for the rows of a long reply.
DOCUMENTS: dict[str, Case] = {
    "48 between records": cut(b'[{"a":1},{"a":""}', first=b'{"a":1}'),
    "48 after a comma": cut(b'[{"a":1},', first=b'{"a":1}'),
    "48 in a text": cut(b'[{"a":1},{"a":"hal', first=b'{"a":1}'),
    "48 in a key": cut(b'[{"a":1},{"a', first=b'{"a":1}'),
    "48 after an escape": cut(rb'[{"a":"x"},{"a":"y\n', first=b'{"a":"x"}'),
    "48 in a row": cut(b"[[1,2],[3,", first=b"[1,2]"),
    "48 in a column": cut(b'{"a":{"0":1,"900000":2', first=b'"0":1'),
    "48 between columns": cut(b'{"a":{"0":1},"b":', first=b'"0":1'),
    "48 in lists": cut(b'{"a":[1,2],"b":[3'),
    "48 after characters of two bytes": cut(
        '[{"é":"ü"},{"é":"ü"'.encode(), first='{"é":"ü"}'.encode()
    ),
    "50 before records": read(_BOM + TWO_ROWS, TWO, first=b'{"a":1}'),
    "50 before columns": read(_BOM + b'{"a":{"0":1,"1":2}}', TWO, "columns"),
    "50 before a fault": refused(_BOM + b'[{"a":1},oops]', "not JSON at byte", at=12),
    "50 before a cut": cut(_BOM + b'[{"a":1}'),
    "52 beside integers": read(
        b'[{"a":1},{"a":NaN}]',
        {"a": ("Int64", [1, None])},
        warns=[f"{_NULLED} (1 in total)"],
        first=b'{"a":1}',
    ),
    "52 beside floats": read(
        b'[{"a":0.5},{"a":NaN},{"a":-Infinity},{"a":Infinity}]',
        {"a": ("float64", [0.5, None, None, None])},
        warns=[f"{_NULLED} (3 in total)"],
        first=b'{"a":0.5}',
    ),
    "52 beside truths and texts": read(
        b'[{"a":true,"b":"x"},{"a":NaN,"b":NaN}]',
        {"a": ("boolean", [True, None]), "b": ("string", ["x", None])},
        warns=[f"{_NULLED} (2 in total)"],
        first=b'{"a":true,"b":"x"}',
    ),
    "52 beside dates": read(
        b'[{"a":"2024-01-31"},{"a":NaN}]',
        {"a": ("datetime64[us]", ["2024-01-31T00:00:00", None])},
        warns=[_NULLED],
        first=b'{"a":"2024-01-31"}',
    ),
    "52 in columns": read(
        b'{"a":{"0":1,"900000":NaN}}',
        {"a": ("Int64", [1, None])},
        "columns",
        [0, 900000],
        warns=[_NULLED],
        first=b'"0":1',
    ),
    "52 in rows": read(
        b"[[1],[NaN]]",
        {"0": ("Int64", [1, None])},
        "rows",
        warns=[_NULLED],
        first=b"[1]",
    ),
    "52 in a list of a record": read(
        b'[{"a":[1]},{"a":[NaN,1]}]',
        {"a": ("object", [[1], [None, 1]])},
        warns=[_NULLED],
        first=b'{"a":[1]}',
    ),
    "52 declared": read(
        declaring("int32", '"0":1,"1":NaN'),
        {"a": ("Int32", [1, None])},
        "schema",
        warns=[_NULLED],
    ),
    "52 declared as never null": Case(
        declaring("int32", '"0":1,"1":NaN', nullable="false"),
        Refused(
            "Column 'a' is declared as not nullable but contains a null",
            row=1,
            warns=[_NULLED],
        ),
    ),
    "52 and a value of another type than declared": Case(
        b'[{"a":1},{"a":NaN},{"a":"x"}]',
        Refused("Column 'a' is declared as int64 but contains", row=2, warns=[_NULLED]),
        first=b'{"a":1}',
        schema={"a": "int64"},
    ),
    "52 by itself": read(b"NaN", NOTHING, "null", rows=0, warns=[_NULLED]),
    "52 as a text": read(
        b'[{"a":"NaN"},{"a":"Infinity"},{"a":"-Infinity"}]',
        {"a": ("string", ["NaN", "Infinity", "-Infinity"])},
        first=b'{"a":"NaN"}',
    ),
    "52 nan": refused(
        b'[{"a":1},{"a":nan}]', "not JSON at byte", at=14, first=b'{"a":1}'
    ),
    "52 None": refused(
        b'[{"a":1},{"a":None}]', "not JSON at byte", at=14, first=b'{"a":1}'
    ),
    "53 among integers": refused(
        b'[{"a":1},{"a":1e999}]',
        "contains a number that is too large: 1e999.",
        first=b'{"a":1}',
    ),
    "53 among floats": refused(
        b'[{"a":0.5},{"a":-1e400}]', "too large: -1e400.", first=b'{"a":0.5}'
    ),
    "53 among texts": refused(
        b'[{"a":"x"},{"a":1E+999}]', "too large: 1E+999.", first=b'{"a":"x"}'
    ),
    "53 in columns": refused(
        b'{"a":{"0":1,"900000":1e999}}', "too large: 1e999.", first=b'"0":1'
    ),
    "53 in rows": refused(b"[[1],[1e999]]", "too large: 1e999.", first=b"[1]"),
    "53 in a list of a record": refused(
        b'[{"a":[1]},{"a":[1e999]}]', "too large", first=b'{"a":[1]}'
    ),
    "53 declared": refused(declaring("float64", '"0":1,"1":1e999'), "too large"),
    "53 by itself": refused(b"1e999", "too large: 1e999."),
    "53 written in full": refused(
        b'[{"a":0.5},{"a":1' + b"0" * 400 + b".0}]",
        "too large: 1000",
        first=b'{"a":0.5}',
    ),
    "53 the largest of all": read(
        b'[{"a":0.5},{"a":1.7976931348623157e308},{"a":-5e-324}]',
        {"a": ("float64", [0.5, 1.7976931348623157e308, -5e-324])},
        first=b'{"a":0.5}',
    ),
    "53 as a text": read(
        b'[{"a":"1e999"}]', {"a": ("string", ["1e999"])}, first=b'{"a":"1e999"}'
    ),
    "54 in a record": read(b'[{"a":1},{"a":7,"a":2}]', TWO, first=b'{"a":1}'),
    "54 of another type": read(b'[{"a":1},{"a":"x","a":2}]', TWO, first=b'{"a":1}'),
    "54 spelt otherwise": read(rb'[{"a":1},{"a":7,"\u0061":2}]', TWO, first=b'{"a":1}'),
    "54 in a nested object": read(
        b'[{"a":{"b":1}},{"a":{"b":7,"b":2}}]',
        {"a.b": ("int64", [1, 2])},
        first=b'{"a":{"b":1}}',
    ),
    "54 of a column": read(b'{"a":{"0":7},"a":{"0":1,"1":2}}', TWO, "columns"),
    "54 of a row": read(b'{"a":{"0":7,"1":2,"0":1}}', TWO, "columns"),
    "55 arrays": refused(b"[" * _DEEP + b"]" * _DEEP, "is nested too deeply"),
    "55 objects": refused(b'{"a":' * _DEEP + b"1" + b"}" * _DEEP, "nested too deeply"),
    "55 arrays without an end": refused(b"[" * _DEEP, "nested too deeply"),
    "55 objects without an end": refused(b'{"a":' * _DEEP, "nested too deeply"),
    "55 a value of a record": refused(
        b'[{"a":1},{"a":' + b"[" * _DEEP + b"]" * _DEEP + b"}]",
        "nested too deeply",
        first=b'{"a":1}',
    ),
    "55 a record": refused(
        b'[{"a":1},' + b'{"a":' * _DEEP + b"1" + b"}" * _DEEP + b"]",
        "nested too deeply",
        first=b'{"a":1}',
    ),
    "55 a cell": refused(
        b"[[1],[" + b"[" * _DEEP + b"]" * _DEEP + b"]]",
        "nested too deeply",
        first=b"[1]",
    ),
    "55 a value of a column": refused(
        b'{"a":{"0":1,"900000":' + b"[" * _DEEP + b"]" * _DEEP + b"}}",
        "nested too deeply",
        first=b'"0":1',
    ),
    "55 beside NaN": refused(
        b"[NaN," + b"[" * _DEEP + b"]" * _DEEP + b"]", "nested too deeply"
    ),
    "55 as deep as people go": read(
        b'[{"a":1},{"a":' + b"[" * 50 + b"]" * 50 + b"}]",
        {"a": ("object", [1, json.loads("[" * 50 + "]" * 50)])},
        first=b'{"a":1}',
    ),
    "56 the largest of 64 bit": read(
        b'[{"a":1},{"a":9223372036854775807},{"a":-9223372036854775808}]',
        {"a": ("int64", [1, 2**63 - 1, -(2**63)])},
        first=b'{"a":1}',
    ),
    "56 2**63": read(
        b'[{"a":1},{"a":9223372036854775808}]',
        {"a": ("object", [1, 2**63])},
        first=b'{"a":1}',
    ),
    "56 2**64 beside null": read(
        b'[{"a":1},{"a":18446744073709551616},{"a":null}]',
        {"a": ("object", [1, 2**64, None])},
        first=b'{"a":1}',
    ),
    "56 -2**63 - 1": read(
        b'[{"a":1},{"a":-9223372036854775809}]',
        {"a": ("object", [1, -(2**63) - 1])},
        first=b'{"a":1}',
    ),
    "56 in every row": read(
        b'[{"a":18446744073709551616}]',
        {"a": ("object", [2**64])},
        first=b'{"a":18446744073709551616}',
    ),
    "56 in columns": read(
        b'{"a":{"0":1,"900000":9223372036854775808}}',
        {"a": ("object", [1, 2**63])},
        "columns",
        [0, 900000],
        first=b'"0":1',
    ),
    "56 in rows": read(
        b"[[1],[18446744073709551616]]",
        {"0": ("object", [1, 2**64])},
        "rows",
        first=b"[1]",
    ),
    "56 by itself": read(
        b"18446744073709551616", {"Result": ("object", [2**64])}, "scalar"
    ),
    "56 beside a fraction": read(
        b'[{"a":0.5},{"a":9223372036854775807}]',
        {"a": ("object", [0.5, 2**63 - 1])},
        first=b'{"a":0.5}',
    ),
    "56 beside a fraction that changes nothing": read(
        b'[{"a":0.5},{"a":9223372036854775808},{"a":0.5}]',
        {"a": ("float64", [0.5, 2.0**63, 0.5])},
        first=b'{"a":0.5}',
    ),
    "56 declared as int64": refused(
        declaring("int64", '"0":1,"900000":9223372036854775808'),
        "Column 'a' is declared as int64 but contains '9223372036854775808'",
        row=1,
        first=b'"0":1',
    ),
    "56 declared as int32": refused(
        declaring("int32", '"0":1,"900000":2147483648'),
        "Column 'a' is declared as int32 but contains '2147483648'",
        row=1,
        first=b'"0":1',
    ),
    "56 a row key": read(
        b'{"a":{"9223372036854775808":1,"0":2}}',
        {"a": ("int64", [1, 2])},
        "columns",
        [2**63, 0],
    ),
    "57 in records": read(
        b'[{"a":null},{"a":9007199254740993}]',
        {"a": ("Int64", [None, 2**53 + 1])},
        first=b'{"a":null}',
    ),
    "57 before the nulls": read(
        b'[{"a":9007199254740993},{"a":null}]',
        {"a": ("Int64", [2**53 + 1, None])},
        first=b'{"a":9007199254740993}',
    ),
    "57 beside a key that is absent": read(
        b'[{"b":"x"},{"a":9007199254740993}]',
        {"b": ("string", ["x", None]), "a": ("Int64", [None, 2**53 + 1])},
        first=b'{"b":"x"}',
    ),
    "57 beside an absent row": read(
        b'{"a":{"0":9007199254740993},"b":{"1":1}}',
        {"a": ("Int64", [2**53 + 1, None]), "b": ("Int64", [None, 1])},
        "columns",
    ),
    "57 in columns": read(
        b'{"a":{"0":null,"900000":9007199254740993}}',
        {"a": ("Int64", [None, 2**53 + 1])},
        "columns",
        [0, 900000],
        first=b'"0":null',
    ),
    "57 in short rows": read(
        b"[[1],[1,9007199254740993]]",
        {"0": ("int64", [1, 1]), "1": ("Int64", [None, 2**53 + 1])},
        "rows",
        first=b"[1]",
    ),
    "57 beside a fraction": read(
        b'[{"a":0.5},{"a":null},{"a":9007199254740993}]',
        {"a": ("object", [0.5, None, 2**53 + 1])},
        first=b'{"a":0.5}',
    ),
    "57 declared": read(
        declaring("int64", '"0":null,"900000":9007199254740993'),
        {"a": ("Int64", [None, 2**53 + 1])},
        "schema",
        [0, 900000],
        first=b'"0":null',
    ),
    "57 declared as a float": refused(
        declaring("float64", '"0":0.5,"900000":9007199254740993'),
        "Column 'a' is declared as float64 but contains '9007199254740993'",
        row=1,
        first=b'"0":0.5',
    ),
    "58 in records": refused(
        b'[{"a":1},{"a":' + _DIGITS + b"}]",
        "contains an integer with 5,000 digits: 9999",
        first=b'{"a":1}',
    ),
    "58 below zero": refused(
        b'[{"a":1},{"a":-' + _DIGITS + b"}]",
        "an integer with 5,000 digits: -9999",
        first=b'{"a":1}',
    ),
    "58 in columns": refused(
        b'{"a":{"0":1,"900000":' + _DIGITS + b"}}",
        "an integer with 5,000 digits",
        first=b'"0":1',
    ),
    "58 in rows": refused(
        b"[[1],[" + _DIGITS + b"]]", "an integer with 5,000 digits", first=b"[1]"
    ),
    "58 by itself": refused(_DIGITS, "an integer with 5,000 digits"),
    "58 4,300 digits": read(
        b'[{"a":1},{"a":' + b"9" * 4300 + b"}]",
        {"a": ("object", [1, 10**4300 - 1])},
        first=b'{"a":1}',
    ),
    "58 as a text": read(
        b'[{"a":"' + _DIGITS + b'"}]',
        {"a": ("string", [_DIGITS.decode()])},
        first=b'{"a":"' + _DIGITS + b'"}',
    ),
    "60 a first half": read(
        rb'[{"a":"x"},{"a":"y\ud800"}]',
        {"a": ("string", ["x", "y\ufffd"])},
        warns=[_HALVES],
        first=b'{"a":"x"}',
    ),
    "60 a second half in a name": read(
        rb'[{"a\udc00":1}]',
        {"a\ufffd": ("int64", [1])},
        warns=[_HALVES],
        first=rb'{"a\udc00":1}',
    ),
    "60 in columns": read(
        rb'{"a":{"0":"x","900000":"\uD83D"}}',
        {"a": ("string", ["x", "\ufffd"])},
        "columns",
        [0, 900000],
        warns=[_HALVES],
        first=b'"0":"x"',
    ),
    "60 in a list of a record": read(
        rb'[{"a":["x"]},{"a":["\ud800",{"b":"\udfff"}]}]',
        {"a": ("object", [["x"], ["\ufffd", {"b": "\ufffd"}]])},
        warns=[_HALVES],
        first=b'{"a":["x"]}',
    ),
    "60 declared": read(
        declaring("str", r'"0":"\ud800"'),
        {"a": ("string", ["\ufffd"])},
        "schema",
        warns=[_HALVES],
    ),
    "60 beside NaN": Case(
        rb'[{"a":"x","b":1},{"a":"\ud800","b":NaN}]',
        Frame(
            {"a": ("string", ["x", "\ufffd"]), "b": ("Int64", [1, None])},
            warns=[_HALVES, _NULLED],
        ),
        first=b'{"a":"x","b":1}',
    ),
    "60 a whole pair": read(
        rb'[{"a":"\ud83d\ude00"}]',
        {"a": ("string", ["😀"])},
        first=rb'{"a":"\ud83d\ude00"}',
    ),
    "60 an escaped backslash before it": read(
        rb'[{"a":"x"},{"a":"\\ud800"}]',
        {"a": ("string", ["x", r"\ud800"])},
        first=b'{"a":"x"}',
    ),
    "61 in values": read(
        rb'[{"a":"x"},{"a":"\u0000"},{"a":"\u001b[31mred\u009b"},{"a":"'
        + "\u202eabc\u2066".encode()
        + b'"}]',
        {"a": ("string", ["x", "\0", "\x1b[31mred\x9b", "\u202eabc\u2066"])},
        first=b'{"a":"x"}',
    ),
    "61 in names": read(
        rb'[{"a\u0000\u001b[2J\u202e":1}]',
        {"a\0\x1b[2J\u202e": ("int64", [1])},
        first=rb'{"a\u0000\u001b[2J\u202e":1}',
    ),
    "61 in row keys": read(
        rb'{"a":{"\u001b[31m\u0000":1,"\u202e":2}}',
        {"a": ("int64", [1, 2])},
        "columns",
        ["\x1b[31m\0", "\u202e"],
    ),
    "61 in a list of a record": read(
        rb'[{"a":[1]},{"a":["\u001b[31m",{"\u202e":"\u0000"}]}]',
        {"a": ("object", [[1], ["\x1b[31m", {"\u202e": "\0"}]])},
        first=b'{"a":[1]}',
    ),
    "61 a text": read(
        rb'"\u001b]0;title\u0007"', {"Result": ("string", ["\x1b]0;title\x07"])}, "text"
    ),
    "61 markup": read(
        b'[{"<b>":"x"},{"<b>":"<script>alert(1)</script>"},{"<b>":"&lt;"}]',
        {"<b>": ("string", ["x", "<script>alert(1)</script>", "&lt;"])},
        first=b'{"<b>":"x"}',
    ),
    "61 in what is refused": refused(
        rb'[{"a":1},{"a":"\u001b[31m\u202e"}]',
        r"Column 'a' is declared as int64 but contains '\x1b[31m\u202e'",
        row=1,
        first=b'{"a":1}',
        schema={"a": "int64"},
    ),
    "61 in a name that is refused": refused(
        rb'[{"\u001b[2J":1},{"\u001b[2J":""}]',
        r"Column '\x1b[2J' is declared as int64",
        row=1,
        first=rb'{"\u001b[2J":1}',
        schema={"\x1b[2J": "int64"},
    ),
    "61 raw": refused(
        b'[{"a":"x"},{"a":"\x1b[31m"}]', "not JSON at byte", at=17, first=b'{"a":"x"}'
    ),
    "61 NUL, raw": refused(
        b'[{"a":"x"},{"a":"\0"}]', "not JSON at byte", at=17, first=b'{"a":"x"}'
    ),
    "63 two lines": refused(
        b'{"a":1}\n{"a":2}\n', "continues after its JSON document, at byte", at=8
    ),
    "63 junk": refused(
        b'[{"a":1},{"a":2}] x',
        "continues after its JSON document, at byte",
        at=18,
        first=b'{"a":1}',
    ),
    "63 a comma": refused(
        b'[{"a":1}],',
        "continues after its JSON document, at byte",
        at=9,
        first=b'{"a":1}',
    ),
    "63 a second list": refused(
        b'[{"a":1}][{"a":2}]',
        "continues after its JSON document, at byte",
        at=9,
        first=b'{"a":1}',
    ),
    "63 a bracket": refused(
        b'[{"a":1}]]',
        "continues after its JSON document, at byte",
        at=9,
        first=b'{"a":1}',
    ),
    "63 NUL": refused(
        b'[{"a":1}]\0',
        "continues after its JSON document, at byte",
        at=9,
        first=b'{"a":1}',
    ),
    "63 after columns": refused(
        b'{"a":{"0":1}}}',
        "continues after its JSON document, at byte",
        at=13,
        first=b'"0":1',
    ),
    "63 blanks": read(b'[{"a":1},{"a":2}] \r\n\t', TWO, first=b'{"a":1}'),
    "67 ragged records": read(
        b'[{"a":1},{"b":"x"},{},null]',
        {
            "a": ("Int64", [1, None, None, None]),
            "b": ("string", [None, "x", None, None]),
        },
        first=b'{"a":1}',
    ),
    "67 ragged records without null": read(
        b'[{"a":1},{"b":"x"},{}]',
        {"a": ("Int64", [1, None, None]), "b": ("string", [None, "x", None])},
        first=b'{"a":1}',
    ),
    "67 ragged rows": read(
        b'[[1,"x"],[2],[]]',
        {"0": ("Int64", [1, 2, None]), "1": ("string", ["x", None, None])},
        "rows",
        first=b'[1,"x"]',
    ),
    "67 ragged columns": read(
        b'{"a":{"0":1,"2":3},"b":{"1":"x"}}',
        {"a": ("Int64", [1, None, 3]), "b": ("string", [None, "x", None])},
        "columns",
    ),
    "67 ragged lists": refused(
        b'{"a":[1,2],"b":[1]}', "Column 'a' has 2 values and column 'b' has 1"
    ),
    "67 ragged split": refused(
        b'{"columns":["a","b"],"data":[[1,2],[1]]}', "Row 1 has 1 values for 2 columns"
    ),
    "67 row labels too few": refused(
        b'{"columns":["a"],"index":[0],"data":[[1],[2]]}', "1 row labels for 2 rows"
    ),
    "67 nested objects": read(
        b'[{"a":{"b":1,"c":{"d":true}}},{"a":{"b":2}},{"a":null}]',
        {"a.b": ("Int64", [1, 2, None]), "a.c.d": ("boolean", [True, None, None])},
        first=b'{"a":{"b":1,"c":{"d":true}}}',
    ),
    "67 nested lists": read(
        b'[{"a":[1,2]},{"a":[]},{"a":[{"b":null}]}]',
        {"a": ("object", [[1, 2], [], [{"b": None}]])},
        first=b'{"a":[1,2]}',
    ),
    "67 nested objects and others": read(
        b'[{"a":{"b":1}},{"a":7}]',
        {"a": ("object", [{"b": 1}, 7])},
        first=b'{"a":{"b":1}}',
    ),
    "67 empty objects": read(b'[{"a":{}}]', {"a": ("object", [{}])}, first=b'{"a":{}}'),
    "67 empty records": read(b"[{},{}]", NOTHING, rows=2, first=b"{}"),
    "67 empty rows": read(b"[[],[]]", NOTHING, "rows", rows=2),
    "67 scalars": read(b"[1,2,null]", {"Result": ("Int64", [1, 2, None])}, "list"),
    "67 mixed scalars": read(
        b'[1,"a",null,[2]]', {"Result": ("object", [1, "a", None, [2]])}, "list"
    ),
    "67 a scalar": read(b"7", {"Result": ("int64", [7])}, "scalar"),
    "67 a truth": read(b"false", {"Result": ("bool", [False])}, "scalar"),
    "67 a text": read(b'"x"', {"Result": ("string", ["x"])}, "text"),
    "67 null": read(b"null", NOTHING, "null", rows=0),
    "67 a list of nothing": read(b"[]", NOTHING, "empty", rows=0),
    "67 an object of nothing": read(b"{}", NOTHING, "empty", rows=0),
    "67 a record": read(
        b'{"a":1,"b":[2],"c":null}',
        {"a": ("int64", [1]), "b": ("object", [[2]]), "c": ("object", [None])},
        "record",
    ),
    "67 columns of nothing": read(
        b'{"a":{},"b":{}}', {"a": ("object", []), "b": ("object", [])}, "columns"
    ),
    "67 lists of nothing": read(
        b'{"a":[],"b":[]}', {"a": ("object", []), "b": ("object", [])}, "lists"
    ),
    "67 split of nothing": read(
        b'{"columns":["a","b"],"index":[],"data":[]}',
        {"a": ("object", []), "b": ("object", [])},
        "split",
    ),
    "67 declared, and a list of nothing": read(
        b'{"schema":{"a":{"type":"int32","nullable":false},"b":{"type":"datetime.date"}},"data":[]}',
        {"a": ("int32", []), "b": ("datetime64[us]", [])},
        "schema",
    ),
    "67 declared, and an object of nothing": read(
        b'{"schema":{"a":{"type":"str"},"b":{"type":"bool","nullable":true}},"data":{}}',
        {"a": ("string", []), "b": ("boolean", [])},
        "schema",
    ),
    "67 declared by table schema": read(
        b'{"schema":{"fields":[{"name":"a","type":"integer"},{"name":"b","type":"number"}]},"data":[]}',
        {"a": ("int64", []), "b": ("float64", [])},
        "table",
    ),
    "67 declared by the user": read(
        b"[]",
        {"a": ("int64", []), "Date": ("datetime64[ms]", [])},
        "empty",
        schema={"a": "int64", "Date": "datetime64[ms]"},
    ),
    "67 declared by the user, and null": read(
        b"null", {"a": ("string", [])}, "null", schema={"a": "str"}
    ),
    "67 declared, and absent": read(
        b'{"schema":{"a":{"type":"int32"},"b":{"type":"float64"}},"data":[{"b":0.5}]}',
        {"a": ("Int32", [None]), "b": ("float64", [0.5])},
        "schema",
        first=b'{"b":0.5}',
    ),
    "67 split": read(
        b'{"columns":["a","b"],"data":[[1,"x"],[2,null]]}',
        {"a": ("int64", [1, 2]), "b": ("string", ["x", None])},
        "split",
        first=b'[1,"x"]',
    ),
    "67 by index": read(
        b'{"7":{"a":1},"9":{"b":2}}',
        {"a": ("Int64", [1, None]), "b": ("Int64", [None, 2])},
        "index",
        [7, 9],
    ),
    "68 duplicates": read(
        b'{"columns":["a","a","a"],"data":[[1,"x",true]]}',
        {"a": ("int64", [1]), "a.1": ("string", ["x"]), "a.2": ("bool", [True])},
        "split",
        first=b'[1,"x",true]',
    ),
    "68 no name": read(
        b'[{"":1,"a":2}]',
        {"": ("int64", [1]), "a": ("int64", [2])},
        first=b'{"":1,"a":2}',
    ),
    "68 several without name": read(
        b'{"columns":["",null,""],"data":[[1,2,3]]}',
        {"": ("int64", [1]), ".1": ("int64", [2]), ".2": ("int64", [3])},
        "split",
        first=b"[1,2,3]",
    ),
    "68 a name that is taken": read(
        b'{"columns":["a","a","a.1"],"data":[[1,2,3]]}',
        {"a": ("int64", [1]), "a.2": ("int64", [2]), "a.1": ("int64", [3])},
        "split",
    ),
    "68 a nested name that is taken": read(
        b'[{"a.b":1,"a":{"b":"x"}}]',
        {"a.b": ("int64", [1]), "a.b.1": ("string", ["x"])},
        first=b'{"a.b":1,"a":{"b":"x"}}',
    ),
    "68 blanks": read(
        b'[{" ":1,"  ":2}]',
        {" ": ("int64", [1]), "  ": ("int64", [2])},
        first=b'{" ":1,"  ":2}',
    ),
    "68 case and form": read(
        '[{"a":1,"A":2,"é":3,"e\u0301":4}]'.encode(),
        {
            "a": ("int64", [1]),
            "A": ("int64", [2]),
            "é": ("int64", [3]),
            "e\u0301": ("int64", [4]),
        },
        first='{"a":1,"A":2,"é":3,"é":4}'.encode(),
    ),
    "68 numbers": read(
        b'{"columns":[0,1.5,true],"data":[[1,2,3]]}',
        {"0": ("int64", [1]), "1.5": ("int64", [2]), "true": ("int64", [3])},
        "split",
    ),
    "69 zeros in front": read(
        b'[{"a":"007"},{"a":"1E5"}]',
        {"a": ("string", ["007", "1E5"])},
        first=b'{"a":"007"}',
    ),
    "69 texts of numbers": read(
        b'[{"a":"1"},{"a":"1.5"},{"a":""},{"a":" 1"}]',
        {"a": ("string", ["1", "1.5", "", " 1"])},
        first=b'{"a":"1"}',
    ),
    "69 texts of truths and nulls": read(
        b'[{"a":"true"},{"a":"null"},{"a":"NA"},{"a":"None"}]',
        {"a": ("string", ["true", "null", "NA", "None"])},
        first=b'{"a":"true"}',
    ),
    "69 names that pandas takes for dates": read(
        b'[{"modified":1704067200000,"date":1704067200,"created_at":7,"timestamp":8,"datetime":9}]',
        {
            "modified": ("int64", [1704067200000]),
            "date": ("int64", [1704067200]),
            "created_at": ("int64", [7]),
            "timestamp": ("int64", [8]),
            "datetime": ("int64", [9]),
        },
        first=b'{"modified":1704067200000,"date":1704067200,"created_at":7,"timestamp":8,"datetime":9}',
    ),
    "69 names that pandas takes for dates, in columns": read(
        b'{"modified":{"0":1704067200000},"start_at":{"0":"20240101"}}',
        {"modified": ("int64", [1704067200000]), "start_at": ("string", ["20240101"])},
        "columns",
    ),
    "69 a name that pandas takes for a date, in one column": read(
        b'{"modified":{"0":1704067200000}}',
        {"modified": ("int64", [1704067200000])},
        "columns",
        first=b'"0":1704067200000',
    ),
    "69 another such name, in one column": read(
        b'{"start_at":{"0":"20240101"}}',
        {"start_at": ("string", ["20240101"])},
        "columns",
        first=b'"0":"20240101"',
    ),
    "69 dates": read(
        b'[{"modified":"2024-02-29"},{"modified":null},{"modified":"0001-01-01"}]',
        {
            "modified": (
                "datetime64[us]",
                ["2024-02-29T00:00:00", None, "0001-01-01T00:00:00"],
            )
        },
        first=b'{"modified":"2024-02-29"}',
    ),
    "69 dates and one text": read(
        b'[{"a":"2024-02-29"},{"a":"2023-02-29"}]',
        {"a": ("string", ["2024-02-29", "2023-02-29"])},
        first=b'{"a":"2024-02-29"}',
    ),
    "69 other ways to write dates": read(
        b'[{"a":"01/02/2024","b":"2024-01","c":"1 May 2024","d":"2024-01-01 10:00"}]',
        {
            "a": ("string", ["01/02/2024"]),
            "b": ("string", ["2024-01"]),
            "c": ("string", ["1 May 2024"]),
            "d": ("string", ["2024-01-01 10:00"]),
        },
        first=b'{"a":"01/02/2024","b":"2024-01","c":"1 May 2024","d":"2024-01-01 10:00"}',
    ),
    "69 offsets": read(
        b'[{"a":"2024-01-01T10:00:00+05:30"},{"a":"2024-01-01T10:00:00Z"}]',
        {
            "a": (
                "datetime64[us, UTC]",
                ["2024-01-01T04:30:00+00:00", "2024-01-01T10:00:00+00:00"],
            )
        },
        first=b'{"a":"2024-01-01T10:00:00+05:30"}',
    ),
    "69 offsets and none": read(
        b'[{"a":"2024-01-01T10:00:00Z"},{"a":"2024-01-01T10:00:00"}]',
        {"a": ("string", ["2024-01-01T10:00:00Z", "2024-01-01T10:00:00"])},
        first=b'{"a":"2024-01-01T10:00:00Z"}',
    ),
    "69 row keys with zeros in front": read(
        b'{"a":{"007":1,"008":2}}', {"a": ("int64", [1, 2])}, "columns", ["007", "008"]
    ),
    "69 a row key of minus zero": read(
        b'{"a":{"-0":1,"1":2}}', {"a": ("int64", [1, 2])}, "columns", ["-0", "1"]
    ),
    "69 numbers and texts": read(
        b'[{"a":1},{"a":"1"}]', {"a": ("object", [1, "1"])}, first=b'{"a":1}'
    ),
    "69 numbers and truths": read(
        b'[{"a":1},{"a":true}]', {"a": ("object", [1, True])}, first=b'{"a":1}'
    ),
    "69 -0.0": read(
        b'[{"a":-0.0},{"a":0}]', {"a": ("float64", [-0.0, 0.0])}, first=b'{"a":-0.0}'
    ),
    "69 epoch dates by the user's schema": read(
        b'[{"Date":1704067200000,"v":1},{"Date":-1,"v":2},{"v":3}]',
        {
            "Date": (
                "datetime64[ms]",
                ["2024-01-01T00:00:00", "1969-12-31T23:59:59.999000", None],
            ),
            "v": ("int64", [1, 2, 3]),
        },
        first=b'{"Date":1704067200000,"v":1}',
        schema={"Date": "datetime64[ms]"},
    ),
    "69 epoch dates in columns by the user's schema": read(
        b'{"Date":{"0":1704067200000,"900000":null}}',
        {"Date": ("datetime64[ms]", ["2024-01-01T00:00:00", None])},
        "columns",
        [0, 900000],
        first=b'"0":1704067200000',
        schema={"Date": "datetime64[ms]"},
    ),
    "69 a schema of the user's before the reply's": read(
        declaring("int64", '"0":1704067200000'),
        {"a": ("datetime64[ms]", ["2024-01-01T00:00:00"])},
        "schema",
        first=b'"0":1704067200000',
        schema={"a": "datetime64[ms]"},
    ),
    "69 a text where a count is declared": refused(
        b'[{"Date":1},{"Date":"soon"}]',
        "Column 'Date' is declared as datetime64[ms] but contains",
        row=1,
        first=b'{"Date":1}',
        schema={"Date": "datetime64[ms]"},
    ),
    "69 zeros in front where a number is declared": refused(
        declaring("int64", '"0":1,"900000":"007"'),
        "Column 'a' is declared as int64 but contains '007'",
        row=1,
        first=b'"0":1',
    ),
    "69 a date that is none where one is declared": refused(
        declaring("datetime.date", '"0":"2024-01-01","900000":"2024-02-30"'),
        "Column 'a' is declared as datetime.date but contains '2024-02-30'",
        row=1,
        first=b'"0":"2024-01-01"',
    ),
    "69 a declared type of no known meaning": read(
        declaring("decimal", '"0":1'),
        {"a": ("int64", [1])},
        "schema",
        warns=["declares column 'a' as 'decimal"],
        first=b'"0":1',
    ),
    "69 a name beside a type of no known meaning": read(
        b'{"schema":{"a":{"type":"decimal"}},"data":[]}',
        {"a": ("object", [])},
        "schema",
        warns=[", an unknown type: ignored"],
    ),
}

# Envelopes, and bytes that no text holds.
ENVELOPES: dict[str, Case] = {
    "48 within a character": cut('[{"a":1},{"a":"é'.encode()[:-1], first=b'{"a":1}'),
    "48 in the envelope": cut(rb'{"error":null,"body":"[{\"a\":1}]"'),
    "48 in the body's text": cut(rb'{"error":null,"body":"[{\"a\":1}'),
    "48 of the document in the body's text": refused(
        rb'{"error":null,"body":"[{\"a\":1}"}',
        "The body of the reply is cut short: it ends at byte 8.",
    ),
    "48 of the document in a text in the body's text": refused(
        rb'{"error":null,"body":"\"[{\\\"a\\\":1}\""}', "it ends at byte 8."
    ),
    "49 in a text": refused(
        b'[{"a":"x"},{"a":"y\xff"}]',
        "The reply is not UTF-8 at byte",
        at=18,
        first=b'{"a":"x"}',
    ),
    "49 in a key": refused(
        b'[{"a":1},{"\xff":1}]', "not UTF-8 at byte", at=11, first=b'{"a":1}'
    ),
    "49 outside of texts": refused(
        b'[{"a":1},\xa0{"a":1}]', "not UTF-8 at byte", at=9, first=b'{"a":1}'
    ),
    "49 too long a form": refused(
        b'[{"a":1},{"a":"\xc0\xaf"}]', "not UTF-8 at byte", at=15, first=b'{"a":1}'
    ),
    "49 half a pair as three bytes": refused(
        b'[{"a":1},{"a":"\xed\xa0\x80"}]', "not UTF-8 at byte", at=15, first=b'{"a":1}'
    ),
    "49 Latin-1": refused(
        b'[{"a":"x"},{"a":"caf\xe9"}]', "not UTF-8 at byte", at=20, first=b'{"a":"x"}'
    ),
    "49 in the body's text": refused(
        rb'{"error":null,"body":"[{\"a\":\"' + b'\xff\\"}]"}', "not UTF-8", at=32
    ),
    "49 in a column": refused(
        b'{"a":{"0":"x","900000":"\xff"}}', "not UTF-8 at byte", at=24, first=b'"0":"x"'
    ),
    "50 before an envelope": read(_BOM + b'{"error":null,"body":[{"a":1}]}', ONE),
    "50 before an envelope and in it": read(
        _BOM + rb'{"error":null,"body":"\ufeff[{\"a\":1}]"}', ONE
    ),
    "54 of the body": read(b'{"error":null,"body":7,"body":[{"a":1}]}', ONE),
    "54 of the error": Case(
        b'{"error":null,"body":[{"a":1}],"error":"gone"}',
        Refused("gone", jf.FunctionError),
    ),
    "55 the error": refused(
        b'{"error":' + b"[" * _DEEP + b"]" * _DEEP + b',"body":null}',
        "nested too deeply",
    ),
    "60 in the error": Case(
        rb'{"error":"gone \ud800","body":null}',
        Refused("gone \ufffd", jf.FunctionError, warns=[_HALVES]),
    ),
    "61 in the error": Case(
        rb'{"error":"gone \u001b[31m \u202e\u0000","body":null}',
        Refused(r"gone \x1b[31m \u202e\x00", jf.FunctionError),
    ),
    "62 null": read(b'{"error":null,"body":null}', NOTHING, "null", rows=0),
    "62 a number": read(
        b'{"error":null,"body":7}', {"Result": ("int64", [7])}, "scalar"
    ),
    "62 a truth": read(
        b'{"error":null,"body":true}', {"Result": ("bool", [True])}, "scalar"
    ),
    "62 records": read(
        b'{"error":null,"body":' + TWO_ROWS + b"}", TWO, first=b'{"a":1}'
    ),
    "62 an object": read(
        b'{"error":null,"body":{"a":1,"b":"x"}}',
        {"a": ("int64", [1]), "b": ("string", ["x"])},
        "record",
    ),
    "62 plain text": read(
        b'{"error":null,"body":"3 rows written"}',
        {"Result": ("string", ["3 rows written"])},
        "text",
    ),
    "62 text of digits": read(
        b'{"error":null,"body":"007"}', {"Result": ("string", ["007"])}, "text"
    ),
    "62 no text": read(
        b'{"error":null,"body":""}', {"Result": ("string", [""])}, "text"
    ),
    "62 text of null": read(b'{"error":null,"body":"null"}', NOTHING, "null", rows=0),
    "62 double-encoded": read(
        rb'{"error":null,"body":"[{\"a\":1},{\"a\":2}]"}', TWO, first=rb"{\"a\":1}"
    ),
    "62 triple-encoded": read(
        rb'{"error":null,"body":"\"[{\\\"a\\\":1},{\\\"a\\\":2}]\""}',
        TWO,
        first=rb"{\\\"a\\\":1}",
    ),
    "62 four times encoded": read(
        json.dumps(
            {"error": None, "body": json.dumps(json.dumps(json.dumps([{"a": 1}])))}
        ).encode(),
        ONE,
    ),
    "62 all of it encoded": read(
        json.dumps('{"error":null,"body":"[{\\"a\\":1}]"}').encode(), ONE
    ),
    "62 blanks around the text": read(
        rb'{"error":null,"body":"\n [{\"a\":1}] \n"}', ONE
    ),
    "62 without error": read(b'{"body":[{"a":1}]}', ONE),
    "62 more beside it": read(b'{"error":null,"body":[{"a":1}],"requestId":"7"}', ONE),
    "62 no envelope at all": read(TWO_ROWS, TWO, first=b'{"a":1}'),
    "62 text that opens like JSON": refused(
        b'{"error":null,"body":"[pending]"}',
        "The body of the reply is not JSON at byte 1",
    ),
    "62 text with a quote": refused(
        rb'{"error":null,"body":"\"a\" is missing"}', "continues after its"
    ),
    "62 a broken triple": refused(
        rb'{"error":null,"body":"\"[1,oops]\""}', "The body of the reply"
    ),
    "62 no JSON at all": refused(
        b"rows written: 3", "The reply is not JSON at byte", at=0
    ),
    "62 an error beside it": Case(
        b'{"error":"gone","body":[{"a":1}]}', Refused("failed: ", jf.FunctionError)
    ),
    "62 an error that is an object": Case(
        b'{"error":{"message":"gone"},"body":null}', Refused("gone", jf.FunctionError)
    ),
    "63 after an envelope": refused(
        rb'{"error":null,"body":"[{\"a\":1}]"}x',
        "continues after its JSON document, at byte",
        at=35,
    ),
}

# Read with strict=True, as no run is.
STRICT: dict[str, Case] = {
    "52 strictly": refused(b'[{"a":1},{"a":NaN}]', _NULLED, first=b'{"a":1}'),
    "52 strictly in columns": refused(
        b'{"a":{"0":1,"900000":-Infinity}}', _NULLED, first=b'"0":1'
    ),
    "54 strictly": refused(
        b'[{"a":1},{"b":7,"a":7,"a":2}]',
        "contains the key 'a' twice in one object",
        first=b'{"a":1}',
    ),
    "54 strictly, of a column": refused(
        b'{"a":{"0":7},"a":{"0":1,"1":2}}', "contains the key 'a' twice"
    ),
    "54 strictly, of a row": refused(
        b'{"a":{"0":1,"0":1}}', "contains the key '0' twice", first=b'"0":1'
    ),
    "60 strictly": refused(
        rb'[{"a":"x"},{"a":"y\ud800"}]',
        "contains halves of surrogate pairs",
        first=b'{"a":"x"}',
    ),
}

# Refused or read for their headers, which `to_frame` does not have.
SENT: dict[str, Case] = {
    "44 no bytes": sent(b"", Refused("sent an empty reply"), {}),
    "44 blanks": sent(b" \r\n", Refused("sent an empty reply"), {}),
    "44 gzip of nothing": sent(packed(b""), Refused("sent an empty reply")),
    "44 gzip of blanks": sent(packed(b" \r\n\t"), Refused("sent an empty reply")),
    "55 on a line": sent(
        b'{"a":1}\n' + b"[" * _DEEP, Refused("line 2 is nested too deeply"), LINES
    ),
    "63 lines that the service says are lines": sent(
        b'{"a":1}\n{"a":2}\n', Frame(TWO, "lines"), LINES
    ),
    "63 a line that is broken": sent(
        b'{"a":1}\n{"a":oops}\n', Refused("line 2 is not JSON at byte 5"), LINES
    ),
    "63 a last line that is cut": sent(
        b'{"a":1}\n{"a":', Refused("line 2 is cut short: it ends at byte 5"), LINES
    ),
    "65 none cut": sent(_PACKED, Frame(TWO)),
    "65 cut before the data": sent(
        packed(b'[{"a":1}'), Refused("cut short: it ends at byte 8")
    ),
    "65 a wrong check sum": sent(
        _PACKED[:-8] + b"\0" * 8,
        Refused(f"and byte {len(_PACKED)}: incorrect data check"),
    ),
    "66 an unknown one": sent(b"[]", Refused("encoding is"), {"content-encoding": "x"}),
    "66 plain, said to be gzip": sent(
        b'[{"a":1}]', Refused("between byte 0 and byte 9: incorrect header check")
    ),
    "66 zlib, said to be gzip": sent(
        zlib.compress(b"[]"), Refused("incorrect header check")
    ),
    "66 gzip twice, said once": sent(packed(_PACKED), Refused("not UTF-8 at byte 1")),
    "66 gzip that is not said": sent(_PACKED, Refused("not UTF-8 at byte 1"), {}),
    "66 gzip and junk": sent(
        _PACKED + b"[]",
        Refused(f"continues after its gzip data, at byte {len(_PACKED)}."),
    ),
}
SENT |= {
    f"46 {media_type or 'no type'}": sent(
        TWO_ROWS, Frame(TWO), {"content-type": media_type}
    )
    for media_type in (
        "text/plain",
        "text/html",
        "application/octet-stream",
        "application/json; charset=latin-1",
        "",
    )
}
SENT |= {
    f"65 {length} bytes of {len(_PACKED)}": sent(
        _PACKED[:length], Refused(f"cut short: its gzip data end at byte {length}.")
    )
    for length in (1, 10, len(_PACKED) // 2, len(_PACKED) - 8, len(_PACKED) - 1)
}
SENT |= {
    f"66 {coding}, which isn't read": sent(
        packed(_PACKED),
        Refused(f"encoding is '{coding}'; only gzip"),
        {"content-encoding": coding},
    )
    for coding in (
        "gzip, gzip",
        "gzip,identity,gzip",
        "br",
        "zstd",
        "deflate",
        "gzip, br",
        "aws-chunked",
        "*",
    )
}
SENT |= {
    f"66 {coding}": sent(_PACKED, Frame(TWO), {"content-encoding": coding})
    for coding in ("GZIP", "x-gzip", "identity, gzip", "gzip,")
}
SENT |= {
    f"66 {coding or 'no coding'}": sent(
        TWO_ROWS, Frame(TWO), {"content-encoding": coding}
    )
    for coding in ("", "identity", "Identity")
}


def echoes(token: str) -> dict[str, Case]:
    """Return the replies that repeat a token."""
    echo = token.encode()
    long = len(echo)
    return {
        "48 between records": cut(b'[{"a":1},{"a":"%b"}' % echo),
        "48 in a text": cut(b'[{"a":1},{"a":"%bhal' % echo),
        "49 in a text": refused(
            b'[{"a":"x"},{"a":"%by\xff"}]' % echo, "not UTF-8 at byte", at=18 + long
        ),
        "52 in a value beside NaN": Case(
            b'[{"a":1},{"a":NaN},{"a":"%bx"}]' % echo,
            Refused(
                "Column 'a' is declared as int64 but contains", row=2, warns=[_NULLED]
            ),
            schema={"a": "int64"},
        ),
        "54 in the second error": Case(
            b'{"error":null,"body":[{"a":1}],"error":"%bgone"}' % echo,
            Refused("gone", jf.FunctionError),
        ),
        "60 in the error": Case(
            rb'{"error":"%bgone \ud800","body":null}' % echo,
            Refused("gone \ufffd", jf.FunctionError, warns=[_HALVES]),
        ),
        "61 in the error": Case(
            rb'{"error":"%bgone \u001b[31m \u202e\u0000","body":null}' % echo,
            Refused(r"gone \x1b[31m \u202e\x00", jf.FunctionError),
        ),
        "61 in a value of a column with a name that is refused": refused(
            rb'[{"\u001b[2J":1},{"\u001b[2J":"%b"}]' % echo,
            r"Column '\x1b[2J' is declared as int64",
            row=1,
            schema={"\x1b[2J": "int64"},
        ),
        "62 in text that opens like JSON": refused(
            b'{"error":null,"body":"[pending]%b"}' % echo,
            "The body of the reply is not JSON at byte 1",
        ),
        "62 in a broken triple": refused(
            rb'{"error":null,"body":"\"[1,%boops]\""}' % echo, "The body of the reply"
        ),
        "62 in no JSON at all": refused(
            b"%brows written: 3" % echo, "The reply is not JSON at byte", at=0
        ),
        "62 in an error beside a body": Case(
            b'{"error":"%bgone","body":[{"a":1}]}' % echo,
            Refused("failed: ", jf.FunctionError),
        ),
        "62 in an error that is an object": Case(
            b'{"error":{"message":"%bgone"},"body":null}' % echo,
            Refused("gone", jf.FunctionError),
        ),
        "63 in junk": refused(
            b'[{"a":1},{"a":2}] %bx' % echo,
            "continues after its JSON document, at byte",
            at=18,
        ),
        "63 in a broken line": sent(
            b'{"a":1}\n{"a":%boops}\n' % echo,
            Refused("line 2 is not JSON at byte 5"),
            LINES,
        ),
        "66 in the encoding": sent(
            b"[]", Refused("encoding is"), {"content-encoding": f"{token}x"}
        ),
        "67 in ragged lists": refused(
            b'{"a":[1,2],"b":["%b"]}' % echo,
            "Column 'a' has 2 values and column 'b' has 1",
        ),
        "69 in a text where a count is declared": refused(
            b'[{"Date":1},{"Date":"%bsoon"}]' % echo,
            "Column 'Date' is declared as datetime64[ms] but contains",
            row=1,
            schema={"Date": "datetime64[ms]"},
        ),
    }


def echoes_in_schemas(token: str) -> dict[str, bytes]:
    """Return the replies that repeat a token in a declaration, which causes a warning about an unknown type."""
    return {
        "69 in a type of no known meaning": declaring(f"decimal{token}", '"0":1'),
        "69 in a name beside a type of no known meaning": b'{"schema":{"a%b":{"type":"decimal"}},"data":[]}'
        % token.encode(),
    }


# Sound tables that need not be read in pieces, and why.
READ_AS_ONE = {
    "50 before records": "the mark",
    "54 of another type": "a type that no record has",
    "57 in short rows": "the rows' lengths",
    "61 in names": "the name",
    "62 triple-encoded": "the text",
    "67 ragged records": "a record is null",
    "67 ragged rows": "the rows' lengths",
    "67 nested objects and others": "not every value nests",
    "67 empty objects": "no value has a key",
}


def text_of_100_mb() -> Iterator[bytes]:
    yield b'"'
    for _ in range(100):
        yield b"x" * 1_000_000
    yield b'"'


def bomb_in_pieces() -> Iterator[bytes]:
    data = bomb()
    for start in range(0, len(data), 4096):
        yield data[start : start + 4096]


# Replies that are too large: their headers, and what sends them.
TOO_LARGE: dict[str, tuple[Mapping[str, str], Callable[[], Iterable[bytes]]]] = {
    "59 a text of 100 MB": ({}, text_of_100_mb),
    "59 a text of 100 MB, announced": ({"content-length": "100000002"}, text_of_100_mb),
    "64 10 GiB": (GZIP, lambda: [bomb()]),
    "64 10 GiB, piece by piece": (GZIP, bomb_in_pieces),
}

CODINGS = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")


def test_every_row_of_the_catalogue_has_a_case() -> None:
    """Rows 48 to 69, and the rows of emptiness and media types; the tables share no name."""
    read_by_both = DOCUMENTS.keys() | ENVELOPES.keys()
    sent_only = SENT.keys() | TOO_LARGE.keys()
    assert len(read_by_both | STRICT.keys()) == len(DOCUMENTS) + len(ENVELOPES) + len(
        STRICT
    )
    assert not read_by_both & sent_only
    assert {*range(48, 70), 44, 46} - {51} == numbers(read_by_both | sent_only)
    # The emptiness of a reply, its media type, its size and its encoding.
    assert numbers(sent_only) - numbers(read_by_both) == {44, 46, 59, 64, 65, 66}
    assert READ_AS_ONE.keys() <= LONG.keys()


def numbers(names: Iterable[str]) -> set[int]:
    return {int(name.split()[0]) for name in names}


# --- what is expected ---


def plain(value: Any) -> Any:
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def told(frame: pd.DataFrame) -> dict[str, tuple[str, list[Any]]]:
    return {
        str(name): (
            str(column.dtype),
            [plain(value) for value in column.astype(object)],
        )
        for name, column in frame.items()
    }


@functools.cache
def fragments(token: str, length: int = 12) -> set[str]:
    return {token[start : start + length] for start in range(len(token) - length + 1)}


def holds_no_token(*texts: str) -> None:
    for text in texts:
        assert not [part for part in fragments(CANARY) if part in text], text


def check(case: Case, reading: Callable[[], pd.DataFrame]) -> jf.FuncsError | None:
    """Read the reply and compare the outcome with the expected one; return the error."""
    error = None
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        if isinstance(case.required, Frame):
            check_frame(case.required, reading())
        else:
            error = check_error(case.required, reading)
    check_warnings(case.required.warns, warned)
    return error


def check_warnings(
    expected: Sequence[str], warned: Sequence[warnings.WarningMessage]
) -> None:
    assert len(warned) == len(expected), [str(warning.message) for warning in warned]
    for warning, words in zip(warned, expected, strict=True):
        assert words in str(warning.message)
        assert warning.category is UserWarning
        holds_no_token(str(warning.message), warning.filename)


def check_frame(required: Frame, frame: pd.DataFrame) -> None:
    columns = {
        name: (dtype, [*values]) for name, (dtype, values) in required.columns.items()
    }
    assert repr(told(frame)) == repr(columns)
    assert frame.attrs["funcs"]["shape"] == required.shape
    rows = max(
        (len(values) for _, values in required.columns.values()), default=required.rows
    )
    assert len(frame) == rows
    if required.index is None:
        assert frame.index.equals(pd.RangeIndex(rows))
        assert isinstance(frame.index, pd.RangeIndex)
    else:
        assert frame.index.tolist() == [*required.index]


def check_error(
    required: Refused, reading: Callable[[], pd.DataFrame]
) -> jf.FuncsError:
    with pytest.raises(jf.FuncsError) as caught:
        reading()
    error = caught.value
    assert type(error) is required.error, error
    assert required.words in error.what
    if required.at is not None:
        assert re.search(rf"\bbyte {required.at:,}\b", error.what), (
            required.at,
            error.what,
        )
    if required.row is not None:
        assert f"in row {required.row:,}." in error.what
    assert error.hint, "it doesn't say what to do"
    assert 1 <= len(str(error).splitlines()) <= 3
    assert str(error).replace("\n", "").isprintable()
    return error


def check_token(error: jf.FuncsError) -> None:
    """Check that the token isn't in the error, in its cause or in its stored traceback."""
    cause: BaseException | None = error
    while cause is not None:
        holds_no_token(str(cause), repr(cause), repr(cause.args))
        cause = cause.__cause__ or cause.__context__
    holds_no_token(
        "".join(traceback.format_exception(error)),
        repr(vars(error)),
        repr(pickle.dumps(error)),
    )


def check_reading(case: Case, *, strict: bool = False) -> None:
    check(case, lambda: jf.to_frame(case.reply, schema=case.schema, strict=strict))


# --- a service ---


class Service(ThreadingHTTPServer):
    """A service on a socket that lists one function and answers its runs with scripted pieces."""

    headers: Mapping[str, str]
    pieces: Callable[[], Iterable[bytes]]

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.answer({}, lambda: [b"[]"])

    def answer(
        self, headers: Mapping[str, str] | None, pieces: Callable[[], Iterable[bytes]]
    ) -> None:
        self.headers = headers or {}
        self.pieces = pieces

    def handle_error(self, request: Any, client_address: Any) -> None:
        # The client went away, as some tests have it.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Answers(BaseHTTPRequestHandler):
    """Answers the requests of a connection, one after another."""

    server: Service
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        listing = self.path.endswith("ListUserFunctions")
        pieces = [LISTING] if listing else self.server.pieces()
        headers = {"content-type": "application/json"} | (
            {} if listing else {**self.server.headers}
        )
        chunked = "content-length" not in headers
        self.send_response_only(200)
        for name, value in {
            **headers,
            **({"transfer-encoding": "chunked"} if chunked else {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            for piece in chain(filter(None, pieces), [b""]):
                self.wfile.write(
                    b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece
                )
            self.wfile.flush()
        except ConnectionError:
            self.close_connection = True


async def tasks() -> int:
    return len(asyncio.all_tasks())


def threads() -> set[threading.Thread]:
    """Return the threads, without the loop's own and its workers."""
    return {
        thread
        for thread in threading.enumerate()
        if not re.match("asyncio_|jupyter_funcs", thread.name)
    }


def sockets() -> set[str]:
    if sys.platform != "linux":
        return set()
    links = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the request that lists them
            links.add(str(descriptor.readlink()))
    return {link for link in links if link.startswith("socket:")}


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Service, Session]]:
    """A service and a session, which leave no thread, socket or task behind."""
    before_tasks = background.run(tasks())  # others may have left a connection open
    before_threads = threads()
    before_sockets = sockets()
    with Service() as service:
        thread = threading.Thread(target=service.serve_forever, args=[0.01])
        thread.start()
        session = jf.connect(service.url, token=CANARY)
        assert session.names == ["F"]
        yield service, session
        # A task ends after its waiter continues.
        wait_until(lambda: background.run(tasks()) <= before_tasks)
        session.close()
        service.shutdown()
    thread.join(60)
    # The server's side of a connection ends when it sees that the other has.
    wait_until(lambda: threads() <= before_threads and sockets() <= before_sockets)


def call(session: Session, case: Case) -> pd.DataFrame:
    return session["F"].with_options(timeout=20, max_bytes=LIMIT, schema=case.schema)()


def check_call(running: tuple[Service, Session], case: Case) -> None:
    service, session = running
    service.answer(case.headers, lambda: [case.reply])
    if error := check(case, lambda: call(session, case)):
        check_token(error)


def check_health(running: tuple[Service, Session]) -> None:
    """Check that a healthy run of the session works."""
    service, session = running
    service.answer({}, lambda: [b'{"error":null,"body":"[{\\"a\\":1}]"}'])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert told(session["F"]()) == ONE


# --- each reply ---


@pytest.mark.parametrize("case", DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_document_gives_the_frame_or_the_error(
    running: tuple[Service, Session], case: Case
) -> None:
    """By itself and as the text in a body, read by `to_frame` and by a call."""
    check_reading(case)
    check_reading(in_body(case))
    check_call(running, case)
    if isinstance(case.required, Refused):
        check_health(running)
    check_call(running, in_body(case))


@pytest.mark.parametrize("case", ENVELOPES.values(), ids=ENVELOPES)
def test_an_envelope_gives_the_frame_or_the_error(
    running: tuple[Service, Session], case: Case
) -> None:
    """Read by `to_frame` and by a call."""
    check_reading(case)
    check_call(running, case)
    if isinstance(case.required, Refused):
        check_health(running)


@pytest.mark.parametrize("case", SENT.values(), ids=SENT)
def test_a_reply_with_headers_gives_the_frame_or_the_error(
    running: tuple[Service, Session], case: Case
) -> None:
    """Empty, of another media type, or compressed."""
    check_call(running, case)
    if isinstance(case.required, Refused):
        check_health(running)


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count a kB as long, so that many replies can be tested in a short time."""
    monkeypatch.setattr(chunks, "_CHUNK", 512)
    monkeypatch.setattr(chunks, "LONG", 1024)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("case", STRICT.values(), ids=STRICT)
def test_what_is_odd_is_refused_if_strict(case: Case) -> None:
    """In a short reply and in a long one, by itself and as the text in a body."""
    check_reading(case, strict=True)
    check_reading(in_body(case), strict=True)
    if case.first:
        check_reading(lengthened(case), strict=True)
        check_reading(in_body(lengthened(case)), strict=True)


LONG = {name: case for name, case in {**DOCUMENTS, **ENVELOPES}.items() if case.first}


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("name", LONG, ids=str)
def test_a_long_reply_gives_the_same(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sound table is read in pieces; what is wrong gets the same error as in a short reply."""
    in_pieces: list[bool] = []
    read_long = chunks.read_long

    def noted(reply: bytes | str, **how: Any) -> Any:
        value = read_long(reply, **how)
        in_pieces.append(value is not None)
        return value

    monkeypatch.setattr(chunks, "read_long", noted)
    case = lengthened(LONG[name])
    assert len(case.reply) > chunks.LONG
    forms = [case, in_body(case)] if name in DOCUMENTS else [case]
    for form in forms:
        check_reading(form)
    if (
        isinstance(case.required, Frame)
        and not case.required.warns
        and name not in READ_AS_ONE
    ):
        assert in_pieces == [True] * len(forms)


def first_of_each_number(names: Iterable[str]) -> list[str]:
    first: dict[str, str] = {}
    for name in names:
        first.setdefault(name.split()[0], name)
    return [*first.values()]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", first_of_each_number(name for name in LONG if name in DOCUMENTS), ids=str
)
def test_a_call_gives_the_same_of_hundreds_of_kilobytes(
    running: tuple[Service, Session], name: str
) -> None:
    """One case per number is sent with a reply longer than the real piece size."""
    long = in_body(lengthened(DOCUMENTS[name]))
    assert len(long.reply) > 300_000
    check_call(running, long)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("coding", CODINGS, ids=[f"51 {coding}" for coding in CODINGS])
def test_51_a_reply_in_another_encoding_is_refused(
    running: tuple[Service, Session], coding: str
) -> None:
    """With the name of the format it looks like, in a short reply and in a long one."""
    words = "is UTF-16 or UTF-32; JSON must be UTF-8"
    long = json.dumps([{"a": 1}] * 200)
    assert len(long) > chunks.LONG
    short = refused(TWO_ROWS.decode().encode(coding), words)
    check_reading(short)
    check_reading(refused(long.encode(coding), words))
    check_call(running, short)
    check_health(running)


# The token, and as a reply may spell it.
SPELLINGS = {
    "as it is": CANARY,
    "with its first letter escaped": rf"\u00{ord(CANARY[0]):x}{CANARY[1:]}",
    "its first half": CANARY[: len(CANARY) // 2],
}


@pytest.mark.parametrize("name", echoes(""), ids=str)
def test_a_token_that_the_reply_repeats_is_not_shown(
    running: tuple[Service, Session], name: str
) -> None:
    """The error names the same byte; no 12 letters of the token appear anywhere."""
    for token in SPELLINGS.values():
        check_call(running, echoes(token)[name])
        check_health(running)


@pytest.mark.parametrize("name", echoes_in_schemas(""), ids=str)
def test_a_token_that_a_schema_repeats_is_not_in_the_warning(
    running: tuple[Service, Session], name: str
) -> None:
    """Only in the frame, where a column is called so."""
    service, session = running
    for token in SPELLINGS.values():
        reply = echoes_in_schemas(token)[name]
        service.answer({}, lambda reply=reply: [reply])  # type: ignore[misc]
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            session["F"]()
        check_warnings(["declares column"], warned)
        check_health(running)


@pytest.mark.parametrize(("headers", "pieces"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_59_and_64_no_more_is_taken_than_the_limit_and_one_piece(
    running: tuple[Service, Session],
    headers: Mapping[str, str],
    pieces: Callable[[], Iterable[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Reading and decompressing stop at the piece beyond the limit; a larger Content-Length isn't read."""
    taken = []
    pieces_of = replies.pieces

    async def counted(*arguments: Any) -> AsyncIterator[bytes]:
        async for piece in pieces_of(*arguments):
            taken.append(len(piece))
            yield piece

    monkeypatch.setattr(replies, "pieces", counted)
    service, session = running
    service.answer(headers, pieces)
    case = Case(b"", _TOO_LARGE)
    error = check(case, lambda: call(session, case))
    assert error is not None
    check_token(error)
    if "content-length" in headers:
        assert not taken
    else:
        assert sum(taken[:-1]) <= LIMIT < sum(taken)
        assert max(taken) <= MIB
    check_health(running)


# --- what is made of a frame ---


SHOWN = {
    name: case
    for name, case in DOCUMENTS.items()
    if name.startswith(("60 ", "61 ", "68 ")) and isinstance(case.required, Frame)
}


def read_quietly(case: Case) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return jf.to_frame(case.reply)


@pytest.mark.parametrize("case", SHOWN.values(), ids=SHOWN)
def test_60_and_61_and_68_the_frame_can_be_exported(case: Case, tmp_path: Path) -> None:
    """Each format can be written and read again with the same values; the table for display is inert."""
    frame = read_quietly(case)
    path = tmp_path / "frame"
    columns = {name: values for name, (_, values) in told(frame).items()}

    export.save(frame, path, "table")
    assert inert_lines(path.read_text("utf-8"))

    export.save(frame, path, "csv")
    assert len(pd.read_csv(path, keep_default_na=False)) == len(frame)

    export.save(frame, path, "json")
    records = json.loads(path.read_text("utf-8"))
    assert [*records[0]][-len(columns) :] == [*columns]
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    assert [[*record.values()][-len(columns) :] for record in records] == rows

    export.save(frame, path, "parquet")
    again = pd.read_parquet(path)
    assert [*again.columns][-frame.shape[1] :] == [*frame.columns]
    assert len(again) == len(frame)


def inert_lines(text: str) -> bool:
    return text.replace("\n", "").isprintable()


@pytest.mark.parametrize("case", SHOWN.values(), ids=SHOWN)
def test_61_what_is_shown_is_inert(case: Case) -> None:
    """The panel's table contains no control characters and no markup."""
    table = display.table_html(read_quietly(case))
    assert inert_lines(table)
    plain = "<thead> </thead> <tbody> </tbody> <tr> </tr> </th> </td> <table> </table>"
    cells = {
        f'<{cell} style="text-align: {side}">'
        for cell in ('th scope="col"', "td")
        for side in ("left", "right")
    }
    assert set(re.findall("<[^>]*>", table)) <= cells.union(plain.split())


# --- single rows ---


@pytest.mark.parametrize(
    ("opening", "closing"), [(b'{"a":', b"}"), (b"[", b"]")], ids=["objects", "arrays"]
)
def test_55_every_depth_is_a_frame_or_an_error(opening: bytes, closing: bytes) -> None:
    """No other error is raised around the depth limits of decoding and of making columns."""
    ends = set()
    for depth in range(600, 1100, 10):
        try:
            frame = jf.to_frame(
                b'[{"a":' + opening * depth + b"1" + closing * depth + b"}]"
            )
        except jf.ProtocolError as error:
            ends.add(error.what)
        else:
            assert frame.shape == (1, 1)
    assert ends <= {"The reply is nested too deeply."}


def test_a_value_that_does_not_fit_is_found_without_a_look_at_each_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Finding the row doesn't take more steps in longer columns, because a run must meet its deadline."""
    steps = []
    built = Declared.built

    def counted(self: Declared, column: Column) -> Any:
        steps.append(len(column))
        return built(self, column)

    monkeypatch.setattr(Declared, "built", counted)
    with pytest.raises(jf.ProtocolError, match=r"in row 5,000\."):
        jf.to_frame(
            json.dumps([{"a": "2024-01-01"}] * 5000 + [{"a": "soon"}]),
            schema={"a": "datetime.date"},
        )
    assert len(steps) < 100

r"""
Rows 48 to 69 of the catalogue of faults, as one table: each odd reply is an exact frame, or one error that says enough.

Every reply is read by `to_frame` and comes over HTTP to a call, once as it is and once as the text in a ``body``; one
that is a list or holds columns also comes so long that it is read in pieces. The token stands in no message.

In the table ``<at>`` marks the byte that the error names, ``<token>`` where the service may repeat the token, and
``<more>…</more>`` the row that a long reply repeats, with ``#`` for its number.
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
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.connection import replies as reply
from jupyter_funcs.core import background
from jupyter_funcs.frames import chunks as pieces
from jupyter_funcs.frames import display, export
from jupyter_funcs.frames.dtypes import Declared
from tests.conftest import wait_until
from tests.connection.test_reply_limits import CANARY, GZIP, LISTING, bomb, packed
from tests.rows import each_row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence

    from jupyter_funcs.api import Session
    from jupyter_funcs.frames.columns import Column

MIB = 2**20
LIMIT = 64 * MIB
LINES = {"content-type": "application/x-ndjson"}


# --- the table's words ---


@dataclass(frozen=True)
class Frame:
    """The expected frame: dtype and values by column, None for null, ISO text for a time."""

    columns: Mapping[str, tuple[str, Sequence[Any]]]
    shape: str = "records"
    index: Sequence[Any] | None = None  # None: the rows are numbered from 0
    rows: int | None = None  # where there is no column to tell
    warns: str = ""

    def longer(self, times: int) -> Frame:
        """Return the expected outcome if the first row is repeated, numbered where rows have labels."""
        columns = {name: (dtype, [values[0]] * times + [*values[1:]]) for name, (dtype, values) in self.columns.items()}
        rows = self.rows and self.rows + times - 1
        return replace(self, columns=columns, index=self.index and [*range(times), *self.index[1:]], rows=rows)


@dataclass(frozen=True)
class Refused:
    """The expected error: its class, words of it, and the row it names."""

    words: str
    error: type[jf.FuncsError] = jf.ProtocolError
    row: int | None = None
    warns: str = ""

    def longer(self, times: int) -> Refused:
        return self if self.row is None else replace(self, row=self.row + times - 1)


@dataclass(frozen=True)
class Case:
    """One reply, how it is read, and the expected outcome."""

    template: bytes
    required: Frame | Refused
    options: Mapping[str, Any] = field(default_factory=dict)  # of to_frame
    headers: Mapping[str, str] = field(default_factory=dict)
    over_http: str = ""  # why to_frame cannot have it
    by_hand: str = ""  # why a call cannot
    whole: bool = False  # it is no document that could as well be the text of a body
    plainly: str = ""  # why it need not be read in pieces although it is a sound table
    coding: str = ""  # other than UTF-8
    stream: Callable[[], Iterable[bytes]] | None = None  # what is sent in place of the template

    @property
    def grows(self) -> bool:
        return b"<more>" in self.template


@dataclass(frozen=True)
class Asked:
    """A case in one of its forms: the reply as sent, and the expected outcome."""

    case: Case
    reply: bytes
    headers: Mapping[str, str]
    at: int | None
    required: Frame | Refused


def asked(case: Case, *, times: int = 1, token: str = "", as_text: bool = False) -> Asked:
    def repeat(row: re.Match[bytes]) -> bytes:
        return b",".join(row[1].replace(b"#", b"%d" % number) for number in range(times))

    document = re.sub(rb"(?s)<more>(.*?)</more>", repeat, case.template).replace(b"<token>", token.encode())
    before, at, after = document.partition(b"<at>")
    document = before + after
    if case.coding:
        document = document.decode().encode(case.coding)
    if as_text:
        document = json.dumps({"error": None, "body": document.decode()}, ensure_ascii=False).encode()
    required = case.required.longer(times) if case.grows else case.required
    headers = {name: value.replace("<token>", token) for name, value in case.headers.items()}
    return Asked(case, document, headers, len(before) if at else None, required)


def long(case: Case, *, as_text: bool = False) -> Asked:
    """Return the case with a reply so long that it is read in several pieces."""
    row = re.search(rb"(?s)<more>(.*?)</more>", case.template)
    assert row is not None
    return asked(case, times=3 * pieces._CHUNK // (len(row[1]) + 1) + 1, as_text=as_text)


def cut(template: bytes, **rest: Any) -> Case:
    return Case(template + b"<at>", Refused("cut short: it ends at byte"), **rest)


def refused(template: bytes, words: str, row: int | None = None, **rest: Any) -> Case:
    return Case(template, Refused(words, row=row), **rest)


def read(
    template: bytes,
    columns: Mapping[str, tuple[str, Sequence[Any]]],
    shape: str = "records",
    index: Sequence[Any] | None = None,
    *,
    rows: int | None = None,
    warns: str = "",
    **rest: Any,
) -> Case:
    return Case(template, Frame(columns, shape, index, rows, warns), **rest)


def strictly(template: bytes, words: str) -> Case:
    return Case(template, Refused(words), {"strict": True}, by_hand="a run is never strict")


def sent(data: bytes, required: Frame | Refused, headers: Mapping[str, str] = GZIP, **rest: Any) -> Case:
    return Case(data, required, headers=headers, over_http="to_frame has no headers", whole=True, **rest)


def declaring(kind: str, values: str, *, nullable: str = "true") -> bytes:
    declared = f'{{"schema":{{"a":{{"type":"{kind}","nullable":{nullable}}}}},"data":{{"a":{{{values}}}}}}}'
    return declared.encode()


ONE = {"a": ("int64", [1])}
TWO = {"a": ("int64", [1, 2])}
NOTHING: dict[str, tuple[str, Sequence[Any]]] = {}
_ROWS = b'[<more>{"a":1}</more>,{"a":2}]'
_BOM = b"\xef\xbb\xbf"
_NULLED = "contains NaN or Infinity, which JSON doesn't have"
_HALVES = "contains halves of surrogate pairs; each is replaced by U+FFFD"
_DEEP = 100_000
_DIGITS = b"9" * 5_000
_PACKED = packed(b'[{"a":1},{"a":2}]')
_TOO_LARGE = Refused("The reply is larger than max_bytes = 67,108,864.", jf.ReplyTooLargeError)


def text_of_100_mb() -> Iterator[bytes]:
    yield b'"'
    for _ in range(100):
        yield b"x" * 1_000_000
    yield b'"'


# --- the table: one entry a row of the catalogue, one or several cases each ---

TABLE: dict[int, dict[str, Case]] = {
    44: {
        "no bytes": sent(b"", Refused("sent an empty reply"), {}),
        "blanks": sent(b" \r\n", Refused("sent an empty reply"), {}),
        "gzip of nothing": sent(packed(b""), Refused("sent an empty reply")),
        "gzip of blanks": sent(packed(b" \r\n\t"), Refused("sent an empty reply")),
    },
    46: {
        media_type or "no type": sent(b'[{"a":1},{"a":2}]', Frame(TWO), {"content-type": media_type})
        for media_type in (
            "text/plain",
            "text/html",
            "application/octet-stream",
            "application/json; charset=latin-1",
            "",
        )
    },
    48: {
        "between records": cut(b'[<more>{"a":1}</more>,{"a":"<token>"}'),
        "after a comma": cut(b'[<more>{"a":1}</more>,'),
        "in a text": cut(b'[<more>{"a":1}</more>,{"a":"<token>hal'),
        "in a key": cut(b'[<more>{"a":1}</more>,{"a'),
        "after an escape": cut(rb'[<more>{"a":"x"}</more>,{"a":"y\n'),
        "in a row": cut(b"[<more>[1,2]</more>,[3,"),
        "in a column": cut(b'{"a":{<more>"#":1</more>,"900000":2'),
        "between columns": cut(b'{"a":{<more>"#":1</more>},"b":'),
        "in lists": cut(b'{"a":[1,2],"b":[3'),
        "within a character": cut('[<more>{"a":1}</more>,{"a":"é'.encode()[:-1], whole=True),
        "after characters of two bytes": cut('[<more>{"é":"ü"}</more>,{"é":"ü"'.encode()),
        "in the envelope": cut(rb'{"error":null,"body":"[{\"a\":1}]"', whole=True),
        "in the body's text": cut(rb'{"error":null,"body":"[{\"a\":1}', whole=True),
        "of the document in the body's text": refused(
            rb'{"error":null,"body":"[{\"a\":1}"}', "The body of the reply is cut short: it ends at byte 8.", whole=True
        ),
        "of the document in a text in the body's text": refused(
            rb'{"error":null,"body":"\"[{\\\"a\\\":1}\""}', "it ends at byte 8.", whole=True
        ),
    },
    49: {
        "in a text": refused(
            b'[<more>{"a":"x"}</more>,{"a":"<token>y<at>\xff"}]', "The reply is not UTF-8 at byte", whole=True
        ),
        "in a key": refused(b'[<more>{"a":1}</more>,{"<at>\xff":1}]', "not UTF-8 at byte", whole=True),
        "outside of texts": refused(b'[<more>{"a":1}</more>,<at>\xa0{"a":1}]', "not UTF-8 at byte", whole=True),
        "too long a form": refused(b'[<more>{"a":1}</more>,{"a":"<at>\xc0\xaf"}]', "not UTF-8 at byte", whole=True),
        "half a pair as three bytes": refused(
            b'[<more>{"a":1}</more>,{"a":"<at>\xed\xa0\x80"}]', "not UTF-8 at byte", whole=True
        ),
        "Latin-1": refused(b'[<more>{"a":"x"}</more>,{"a":"caf<at>\xe9"}]', "not UTF-8 at byte", whole=True),
        "in the body's text": refused(
            rb'{"error":null,"body":"[{\"a\":\"' + b'<at>\xff\\"}]"}', "not UTF-8", whole=True
        ),
        "in a column": refused(b'{"a":{<more>"#":"x"</more>,"900000":"<at>\xff"}}', "not UTF-8 at byte", whole=True),
    },
    50: {
        "before records": read(_BOM + _ROWS, TWO, plainly="the mark"),
        "before columns": read(_BOM + b'{"a":{"0":1,"1":2}}', TWO, "columns"),
        "before an envelope": read(_BOM + b'{"error":null,"body":[{"a":1}]}', ONE, whole=True),
        "before an envelope and in it": read(_BOM + rb'{"error":null,"body":"\ufeff[{\"a\":1}]"}', ONE, whole=True),
        "before a fault": refused(_BOM + b'[{"a":1},<at>oops]', "not JSON at byte"),
        "before a cut": cut(_BOM + b'[{"a":1}'),
    },
    51: {
        coding: refused(_ROWS, "is UTF-16 or UTF-32; JSON must be UTF-8", coding=coding, whole=True)
        for coding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
    },
    52: {
        "beside integers": read(
            b'[<more>{"a":1}</more>,{"a":NaN}]', {"a": ("Int64", [1, None])}, warns=f"{_NULLED} (1 in total)"
        ),
        "beside floats": read(
            b'[<more>{"a":0.5}</more>,{"a":NaN},{"a":-Infinity},{"a":Infinity}]',
            {"a": ("float64", [0.5, None, None, None])},
            warns=f"{_NULLED} (3 in total)",
        ),
        "beside truths and texts": read(
            b'[<more>{"a":true,"b":"x"}</more>,{"a":NaN,"b":NaN}]',
            {"a": ("boolean", [True, None]), "b": ("string", ["x", None])},
            warns=f"{_NULLED} (2 in total)",
        ),
        "beside dates": read(
            b'[<more>{"a":"2024-01-31"}</more>,{"a":NaN}]',
            {"a": ("datetime64[us]", ["2024-01-31T00:00:00", None])},
            warns=_NULLED,
        ),
        "in columns": read(
            b'{"a":{<more>"#":1</more>,"900000":NaN}}',
            {"a": ("Int64", [1, None])},
            "columns",
            [0, 900000],
            warns=_NULLED,
        ),
        "in rows": read(b"[<more>[1]</more>,[NaN]]", {"0": ("Int64", [1, None])}, "rows", warns=_NULLED),
        "in a list of a record": read(
            b'[<more>{"a":[1]}</more>,{"a":[NaN,1]}]', {"a": ("object", [[1], [None, 1]])}, warns=_NULLED
        ),
        "declared": read(declaring("int32", '"0":1,"1":NaN'), {"a": ("Int32", [1, None])}, "schema", warns=_NULLED),
        "declared as never null": Case(
            declaring("int32", '"0":1,"1":NaN', nullable="false"),
            Refused("Column 'a' is declared as not nullable but contains a null", row=1, warns=_NULLED),
        ),
        "and a value that repeats the token": Case(
            b'[<more>{"a":1}</more>,{"a":NaN},{"a":"<token>x"}]',
            Refused("Column 'a' is declared as int64 but contains", row=2, warns=_NULLED),
            {"schema": {"a": "int64"}},
        ),
        "by itself": read(b"NaN", NOTHING, "null", rows=0, warns=_NULLED),
        "as a text": read(
            b'[<more>{"a":"NaN"}</more>,{"a":"Infinity"},{"a":"-Infinity"}]',
            {"a": ("string", ["NaN", "Infinity", "-Infinity"])},
        ),
        "strictly": strictly(b'[<more>{"a":1}</more>,{"a":NaN}]', _NULLED),
        "strictly in columns": strictly(b'{"a":{<more>"#":1</more>,"900000":-Infinity}}', _NULLED),
        "nan": refused(b'[<more>{"a":1}</more>,{"a":<at>nan}]', "not JSON at byte"),
        "None": refused(b'[<more>{"a":1}</more>,{"a":<at>None}]', "not JSON at byte"),
    },
    53: {
        "among integers": refused(b'[<more>{"a":1}</more>,{"a":1e999}]', "contains a number that is too large: 1e999."),
        "among floats": refused(b'[<more>{"a":0.5}</more>,{"a":-1e400}]', "too large: -1e400."),
        "among texts": refused(b'[<more>{"a":"x"}</more>,{"a":1E+999}]', "too large: 1E+999."),
        "in columns": refused(b'{"a":{<more>"#":1</more>,"900000":1e999}}', "too large: 1e999."),
        "in rows": refused(b"[<more>[1]</more>,[1e999]]", "too large: 1e999."),
        "in a list of a record": refused(b'[<more>{"a":[1]}</more>,{"a":[1e999]}]', "too large"),
        "declared": refused(declaring("float64", '"0":1,"1":1e999'), "too large"),
        "by itself": refused(b"1e999", "too large: 1e999."),
        "written in full": refused(b'[<more>{"a":0.5}</more>,{"a":1' + b"0" * 400 + b".0}]", "too large: 1000"),
        "the largest of all": read(
            b'[<more>{"a":0.5}</more>,{"a":1.7976931348623157e308},{"a":-5e-324}]',
            {"a": ("float64", [0.5, 1.7976931348623157e308, -5e-324])},
        ),
        "as a text": read(b'[<more>{"a":"1e999"}</more>]', {"a": ("string", ["1e999"])}),
    },
    54: {
        "in a record": read(b'[<more>{"a":1}</more>,{"a":7,"a":2}]', TWO),
        "of another type": read(b'[<more>{"a":1}</more>,{"a":"x","a":2}]', TWO, plainly="a type that no record has"),
        "spelt otherwise": read(rb'[<more>{"a":1}</more>,{"a":7,"\u0061":2}]', TWO),
        "in a nested object": read(b'[<more>{"a":{"b":1}}</more>,{"a":{"b":7,"b":2}}]', {"a.b": ("int64", [1, 2])}),
        "of a column": read(b'{"a":{"0":7},"a":{"0":1,"1":2}}', TWO, "columns"),
        "of a row": read(b'{"a":{"0":7,"1":2,"0":1}}', TWO, "columns"),
        "of the body": read(b'{"error":null,"body":7,"body":[{"a":1}]}', ONE, whole=True),
        "of the error": Case(
            b'{"error":null,"body":[{"a":1}],"error":"<token>gone"}', Refused("gone", jf.FunctionError), whole=True
        ),
        "strictly": strictly(b'[<more>{"a":1}</more>,{"b":7,"a":7,"a":2}]', "contains the key 'a' twice in one object"),
        "strictly, of a column": strictly(b'{"a":{"0":7},"a":{"0":1,"1":2}}', "contains the key 'a' twice"),
        "strictly, of a row": strictly(b'{"a":{<more>"#":1</more>,"0":1}}', "contains the key '0' twice"),
    },
    55: {
        "arrays": refused(b"[" * _DEEP + b"]" * _DEEP, "is nested too deeply"),
        "objects": refused(b'{"a":' * _DEEP + b"1" + b"}" * _DEEP, "nested too deeply"),
        "arrays without an end": refused(b"[" * _DEEP, "nested too deeply"),
        "objects without an end": refused(b'{"a":' * _DEEP, "nested too deeply"),
        "a value of a record": refused(
            b'[<more>{"a":1}</more>,{"a":' + b"[" * _DEEP + b"]" * _DEEP + b"}]", "nested too deeply"
        ),
        "a record": refused(
            b'[<more>{"a":1}</more>,' + b'{"a":' * _DEEP + b"1" + b"}" * _DEEP + b"]", "nested too deeply"
        ),
        "a cell": refused(b"[<more>[1]</more>,[" + b"[" * _DEEP + b"]" * _DEEP + b"]]", "nested too deeply"),
        "a value of a column": refused(
            b'{"a":{<more>"#":1</more>,"900000":' + b"[" * _DEEP + b"]" * _DEEP + b"}}", "nested too deeply"
        ),
        "beside NaN": refused(b"[NaN," + b"[" * _DEEP + b"]" * _DEEP + b"]", "nested too deeply"),
        "the error": refused(
            b'{"error":' + b"[" * _DEEP + b"]" * _DEEP + b',"body":null}', "nested too deeply", whole=True
        ),
        "on a line": sent(b'{"a":1}\n' + b"[" * _DEEP, Refused("line 2 is nested too deeply"), LINES),
        "as deep as people go": read(
            b'[<more>{"a":1}</more>,{"a":' + b"[" * 50 + b"]" * 50 + b"}]",
            {"a": ("object", [1, json.loads("[" * 50 + "]" * 50)])},
        ),
    },
    56: {
        "the largest of 64 bit": read(
            b'[<more>{"a":1}</more>,{"a":9223372036854775807},{"a":-9223372036854775808}]',
            {"a": ("int64", [1, 2**63 - 1, -(2**63)])},
        ),
        "2**63": read(b'[<more>{"a":1}</more>,{"a":9223372036854775808}]', {"a": ("object", [1, 2**63])}),
        "2**64 beside null": read(
            b'[<more>{"a":1}</more>,{"a":18446744073709551616},{"a":null}]', {"a": ("object", [1, 2**64, None])}
        ),
        "-2**63 - 1": read(b'[<more>{"a":1}</more>,{"a":-9223372036854775809}]', {"a": ("object", [1, -(2**63) - 1])}),
        "in every row": read(b'[<more>{"a":18446744073709551616}</more>]', {"a": ("object", [2**64])}),
        "in columns": read(
            b'{"a":{<more>"#":1</more>,"900000":9223372036854775808}}',
            {"a": ("object", [1, 2**63])},
            "columns",
            [0, 900000],
        ),
        "in rows": read(b"[<more>[1]</more>,[18446744073709551616]]", {"0": ("object", [1, 2**64])}, "rows"),
        "by itself": read(b"18446744073709551616", {"Result": ("object", [2**64])}, "scalar"),
        "beside a fraction": read(
            b'[<more>{"a":0.5}</more>,{"a":9223372036854775807}]', {"a": ("object", [0.5, 2**63 - 1])}
        ),
        "beside a fraction that changes nothing": read(
            b'[<more>{"a":0.5}</more>,{"a":9223372036854775808},{"a":0.5}]', {"a": ("float64", [0.5, 2.0**63, 0.5])}
        ),
        "declared as int64": refused(
            declaring("int64", '<more>"#":1</more>,"900000":9223372036854775808'),
            "Column 'a' is declared as int64 but contains '9223372036854775808'",
            row=1,
        ),
        "declared as int32": refused(
            declaring("int32", '<more>"#":1</more>,"900000":2147483648'),
            "Column 'a' is declared as int32 but contains '2147483648'",
            row=1,
        ),
        "a row key": read(b'{"a":{"9223372036854775808":1,"0":2}}', {"a": ("int64", [1, 2])}, "columns", [2**63, 0]),
    },
    57: {
        "in records": read(b'[<more>{"a":null}</more>,{"a":9007199254740993}]', {"a": ("Int64", [None, 2**53 + 1])}),
        "before the nulls": read(
            b'[<more>{"a":9007199254740993}</more>,{"a":null}]', {"a": ("Int64", [2**53 + 1, None])}
        ),
        "beside a key that is absent": read(
            b'[<more>{"b":"x"}</more>,{"a":9007199254740993}]',
            {"b": ("string", ["x", None]), "a": ("Int64", [None, 2**53 + 1])},
        ),
        "beside an absent row": read(
            b'{"a":{"0":9007199254740993},"b":{"1":1}}',
            {"a": ("Int64", [2**53 + 1, None]), "b": ("Int64", [None, 1])},
            "columns",
        ),
        "in columns": read(
            b'{"a":{<more>"#":null</more>,"900000":9007199254740993}}',
            {"a": ("Int64", [None, 2**53 + 1])},
            "columns",
            [0, 900000],
        ),
        "in short rows": read(
            b"[<more>[1]</more>,[1,9007199254740993]]",
            {"0": ("int64", [1, 1]), "1": ("Int64", [None, 2**53 + 1])},
            "rows",
            plainly="the rows' lengths",
        ),
        "beside a fraction": read(
            b'[<more>{"a":0.5}</more>,{"a":null},{"a":9007199254740993}]', {"a": ("object", [0.5, None, 2**53 + 1])}
        ),
        "declared": read(
            declaring("int64", '<more>"#":null</more>,"900000":9007199254740993'),
            {"a": ("Int64", [None, 2**53 + 1])},
            "schema",
            [0, 900000],
        ),
        "declared as a float": refused(
            declaring("float64", '<more>"#":0.5</more>,"900000":9007199254740993'),
            "Column 'a' is declared as float64 but contains '9007199254740993'",
            row=1,
        ),
    },
    58: {
        "in records": refused(
            b'[<more>{"a":1}</more>,{"a":' + _DIGITS + b"}]", "contains an integer with 5,000 digits: 9999"
        ),
        "below zero": refused(b'[<more>{"a":1}</more>,{"a":-' + _DIGITS + b"}]", "an integer with 5,000 digits: -9999"),
        "in columns": refused(b'{"a":{<more>"#":1</more>,"900000":' + _DIGITS + b"}}", "an integer with 5,000 digits"),
        "in rows": refused(b"[<more>[1]</more>,[" + _DIGITS + b"]]", "an integer with 5,000 digits"),
        "by itself": refused(_DIGITS, "an integer with 5,000 digits"),
        "4,300 digits": read(
            b'[<more>{"a":1}</more>,{"a":' + b"9" * 4300 + b"}]", {"a": ("object", [1, 10**4300 - 1])}
        ),
        "as a text": read(b'[<more>{"a":"' + _DIGITS + b'"}</more>]', {"a": ("string", [_DIGITS.decode()])}),
    },
    59: {
        "a text of 100 MB": sent(b"", _TOO_LARGE, {}, stream=text_of_100_mb),
        "a text of 100 MB, announced": sent(b"", _TOO_LARGE, {"content-length": "100000002"}, stream=text_of_100_mb),
    },
    60: {
        "a first half": read(
            rb'[<more>{"a":"x"}</more>,{"a":"y\ud800"}]', {"a": ("string", ["x", "y\ufffd"])}, warns=_HALVES
        ),
        "a second half in a name": read(rb'[<more>{"a\udc00":1}</more>]', {"a\ufffd": ("int64", [1])}, warns=_HALVES),
        "in columns": read(
            rb'{"a":{<more>"#":"x"</more>,"900000":"\uD83D"}}',
            {"a": ("string", ["x", "\ufffd"])},
            "columns",
            [0, 900000],
            warns=_HALVES,
        ),
        "in a list of a record": read(
            rb'[<more>{"a":["x"]}</more>,{"a":["\ud800",{"b":"\udfff"}]}]',
            {"a": ("object", [["x"], ["\ufffd", {"b": "\ufffd"}]])},
            warns=_HALVES,
        ),
        "declared": read(declaring("str", r'"0":"\ud800"'), {"a": ("string", ["\ufffd"])}, "schema", warns=_HALVES),
        "beside NaN": Case(
            rb'[<more>{"a":"x","b":1}</more>,{"a":"\ud800","b":NaN}]',
            Frame({"a": ("string", ["x", "\ufffd"]), "b": ("Int64", [1, None])}, warns=f"{_HALVES}|{_NULLED}"),
        ),
        "a whole pair": read(rb'[<more>{"a":"\ud83d\ude00"}</more>]', {"a": ("string", ["😀"])}),
        "an escaped backslash before it": read(
            rb'[<more>{"a":"x"}</more>,{"a":"\\ud800"}]', {"a": ("string", ["x", r"\ud800"])}
        ),
        "in the error": Case(
            rb'{"error":"<token>gone \ud800","body":null}',
            Refused("gone \ufffd", jf.FunctionError, warns=_HALVES),
            whole=True,
        ),
        "strictly": strictly(rb'[<more>{"a":"x"}</more>,{"a":"y\ud800"}]', "contains halves of surrogate pairs"),
    },
    61: {
        "in values": read(
            rb'[<more>{"a":"x"}</more>,{"a":"\u0000"},{"a":"\u001b[31mred\u009b"},{"a":"'
            + "\u202eabc\u2066".encode()
            + b'"}]',
            {"a": ("string", ["x", "\0", "\x1b[31mred\x9b", "\u202eabc\u2066"])},
        ),
        "in names": read(
            rb'[<more>{"a\u0000\u001b[2J\u202e":1}</more>]', {"a\0\x1b[2J\u202e": ("int64", [1])}, plainly="the name"
        ),
        "in row keys": read(
            rb'{"a":{"\u001b[31m\u0000":1,"\u202e":2}}', {"a": ("int64", [1, 2])}, "columns", ["\x1b[31m\0", "\u202e"]
        ),
        "in a list of a record": read(
            rb'[<more>{"a":[1]}</more>,{"a":["\u001b[31m",{"\u202e":"\u0000"}]}]',
            {"a": ("object", [[1], ["\x1b[31m", {"\u202e": "\0"}]])},
        ),
        "a text": read(rb'"\u001b]0;title\u0007"', {"Result": ("string", ["\x1b]0;title\x07"])}, "text"),
        "markup": read(
            b'[<more>{"<b>":"x"}</more>,{"<b>":"<script>alert(1)</script>"},{"<b>":"&lt;"}]',
            {"<b>": ("string", ["x", "<script>alert(1)</script>", "&lt;"])},
        ),
        "in the error": Case(
            rb'{"error":"<token>gone \u001b[31m \u202e\u0000","body":null}',
            Refused(r"gone \x1b[31m \u202e\x00", jf.FunctionError),
            whole=True,
        ),
        "in what is refused": refused(
            rb'[<more>{"a":1}</more>,{"a":"\u001b[31m\u202e"}]',
            r"Column 'a' is declared as int64 but contains '\x1b[31m\u202e'",
            row=1,
            options={"schema": {"a": "int64"}},
        ),
        "in a name that is refused": refused(
            rb'[<more>{"\u001b[2J":1}</more>,{"\u001b[2J":"<token>"}]',
            r"Column '\x1b[2J' is declared as int64",
            row=1,
            options={"schema": {"\x1b[2J": "int64"}},
        ),
        "raw": refused(b'[<more>{"a":"x"}</more>,{"a":"<at>\x1b[31m"}]', "not JSON at byte"),
        "NUL, raw": refused(b'[<more>{"a":"x"}</more>,{"a":"<at>\0"}]', "not JSON at byte"),
    },
    62: {
        "null": read(b'{"error":null,"body":null}', NOTHING, "null", rows=0, whole=True),
        "a number": read(b'{"error":null,"body":7}', {"Result": ("int64", [7])}, "scalar", whole=True),
        "a truth": read(b'{"error":null,"body":true}', {"Result": ("bool", [True])}, "scalar", whole=True),
        "records": read(b'{"error":null,"body":' + _ROWS + b"}", TWO, whole=True),
        "an object": read(
            b'{"error":null,"body":{"a":1,"b":"x"}}',
            {"a": ("int64", [1]), "b": ("string", ["x"])},
            "record",
            whole=True,
        ),
        "plain text": read(
            b'{"error":null,"body":"3 rows written"}', {"Result": ("string", ["3 rows written"])}, "text", whole=True
        ),
        "text of digits": read(b'{"error":null,"body":"007"}', {"Result": ("string", ["007"])}, "text", whole=True),
        "no text": read(b'{"error":null,"body":""}', {"Result": ("string", [""])}, "text", whole=True),
        "text of null": read(b'{"error":null,"body":"null"}', NOTHING, "null", rows=0, whole=True),
        "double-encoded": read(rb'{"error":null,"body":"[<more>{\"a\":1}</more>,{\"a\":2}]"}', TWO, whole=True),
        "triple-encoded": read(
            rb'{"error":null,"body":"\"[<more>{\\\"a\\\":1}</more>,{\\\"a\\\":2}]\""}',
            TWO,
            whole=True,
            plainly="the text",
        ),
        "four times encoded": read(
            json.dumps({"error": None, "body": json.dumps(json.dumps(json.dumps([{"a": 1}])))}).encode(),
            ONE,
            whole=True,
        ),
        "all of it encoded": read(json.dumps('{"error":null,"body":"[{\\"a\\":1}]"}').encode(), ONE, whole=True),
        "blanks around the text": read(rb'{"error":null,"body":"\n [{\"a\":1}] \n"}', ONE, whole=True),
        "without error": read(b'{"body":[{"a":1}]}', ONE, whole=True),
        "more beside it": read(b'{"error":null,"body":[{"a":1}],"requestId":"7"}', ONE, whole=True),
        "no envelope at all": read(_ROWS, TWO, whole=True),
        "text that opens like JSON": refused(
            b'{"error":null,"body":"[pending]<token>"}', "The body of the reply is not JSON at byte 1", whole=True
        ),
        "text with a quote": refused(rb'{"error":null,"body":"\"a\" is missing"}', "continues after its", whole=True),
        "a broken triple": refused(
            rb'{"error":null,"body":"\"[1,<token>oops]\""}', "The body of the reply", whole=True
        ),
        "no JSON at all": refused(b"<at><token>rows written: 3", "The reply is not JSON at byte", whole=True),
        "an error beside it": Case(
            b'{"error":"<token>gone","body":[{"a":1}]}', Refused("failed: ", jf.FunctionError), whole=True
        ),
        "an error that is an object": Case(
            b'{"error":{"message":"<token>gone"},"body":null}', Refused("gone", jf.FunctionError), whole=True
        ),
    },
    63: {
        "two lines": refused(b'{"a":1}\n<at>{"a":2}\n', "continues after its JSON document, at byte"),
        "junk": refused(b'[<more>{"a":1}</more>,{"a":2}] <at><token>x', "continues after its JSON document, at byte"),
        "a comma": refused(b'[<more>{"a":1}</more>]<at>,', "continues after its JSON document, at byte"),
        "a second list": refused(b'[<more>{"a":1}</more>]<at>[{"a":2}]', "continues after its JSON document, at byte"),
        "a bracket": refused(b'[<more>{"a":1}</more>]<at>]', "continues after its JSON document, at byte"),
        "NUL": refused(b'[<more>{"a":1}</more>]<at>\0', "continues after its JSON document, at byte"),
        "after columns": refused(b'{"a":{<more>"#":1</more>}}<at>}', "continues after its JSON document, at byte"),
        "after an envelope": refused(
            rb'{"error":null,"body":"[{\"a\":1}]"}<at>x', "continues after its JSON document, at byte", whole=True
        ),
        "lines that the service says are lines": sent(b'{"a":1}\n{"a":2}\n', Frame(TWO, "lines"), LINES),
        "a line that is broken": sent(b'{"a":1}\n{"a":<token>oops}\n', Refused("line 2 is not JSON at byte 5"), LINES),
        "a last line that is cut": sent(b'{"a":1}\n{"a":', Refused("line 2 is cut short: it ends at byte 5"), LINES),
        "blanks": read(b'[<more>{"a":1}</more>,{"a":2}] \r\n\t', TWO),
    },
    64: {
        "10 GiB": sent(b"", _TOO_LARGE, stream=lambda: [bomb()]),
        "10 GiB, piece by piece": sent(
            b"", _TOO_LARGE, stream=lambda: (bomb()[start : start + 4096] for start in range(0, len(bomb()), 4096))
        ),
    },
    65: {
        f"{length} bytes of {len(_PACKED)}": sent(
            _PACKED[:length], Refused(f"cut short: its gzip data end at byte {length}.")
        )
        for length in (1, 10, len(_PACKED) // 2, len(_PACKED) - 8, len(_PACKED) - 1)
    }
    | {
        "none cut": sent(_PACKED, Frame(TWO)),
        "cut before the data": sent(packed(b'[{"a":1}'), Refused("cut short: it ends at byte 8")),
        "a wrong check sum": sent(_PACKED[:-8] + b"\0" * 8, Refused(f"and byte {len(_PACKED)}: incorrect data check")),
    },
    66: {
        "one that repeats the token": sent(b"[]", Refused("encoding is"), {"content-encoding": "<token>x"}),
        "plain, said to be gzip": sent(b'[{"a":1}]', Refused("between byte 0 and byte 9: incorrect header check")),
        "zlib, said to be gzip": sent(zlib.compress(b"[]"), Refused("incorrect header check")),
        "gzip twice, said once": sent(packed(_PACKED), Refused("not UTF-8 at byte 1")),
        "gzip that is not said": sent(_PACKED, Refused("not UTF-8 at byte 1"), {}),
        "gzip and junk": sent(_PACKED + b"[]", Refused(f"continues after its gzip data, at byte {len(_PACKED)}.")),
    }
    | {
        f"{coding}, which isn't read": sent(
            packed(_PACKED), Refused(f"encoding is '{coding}'; only gzip"), {"content-encoding": coding}
        )
        for coding in ("gzip, gzip", "gzip,identity,gzip", "br", "zstd", "deflate", "gzip, br", "aws-chunked", "*")
    }
    | {
        coding or "no coding": sent(
            _PACKED if "gzip" in coding.lower() else b'[{"a":1},{"a":2}]', Frame(TWO), {"content-encoding": coding}
        )
        for coding in ("", "identity", "Identity", "GZIP", "x-gzip", "identity, gzip", "gzip,")
    },
    67: {
        "ragged records": read(
            b'[<more>{"a":1}</more>,{"b":"x"},{},null]',
            {"a": ("Int64", [1, None, None, None]), "b": ("string", [None, "x", None, None])},
            plainly="a record is null",
        ),
        "ragged records without null": read(
            b'[<more>{"a":1}</more>,{"b":"x"},{}]',
            {"a": ("Int64", [1, None, None]), "b": ("string", [None, "x", None])},
        ),
        "ragged rows": read(
            b'[<more>[1,"x"]</more>,[2],[]]',
            {"0": ("Int64", [1, 2, None]), "1": ("string", ["x", None, None])},
            "rows",
            plainly="the rows' lengths",
        ),
        "ragged columns": read(
            b'{"a":{"0":1,"2":3},"b":{"1":"x"}}',
            {"a": ("Int64", [1, None, 3]), "b": ("string", [None, "x", None])},
            "columns",
        ),
        "ragged lists": refused(b'{"a":[1,2],"b":[<token>1]}', "Column 'a' has 2 values and column 'b' has 1"),
        "ragged split": refused(b'{"columns":["a","b"],"data":[[1,2],[1]]}', "Row 1 has 1 values for 2 columns"),
        "row labels too few": refused(b'{"columns":["a"],"index":[0],"data":[[1],[2]]}', "1 row labels for 2 rows"),
        "nested objects": read(
            b'[<more>{"a":{"b":1,"c":{"d":true}}}</more>,{"a":{"b":2}},{"a":null}]',
            {"a.b": ("Int64", [1, 2, None]), "a.c.d": ("boolean", [True, None, None])},
        ),
        "nested lists": read(
            b'[<more>{"a":[1,2]}</more>,{"a":[]},{"a":[{"b":null}]}]', {"a": ("object", [[1, 2], [], [{"b": None}]])}
        ),
        "nested objects and others": read(
            b'[<more>{"a":{"b":1}}</more>,{"a":7}]', {"a": ("object", [{"b": 1}, 7])}, plainly="not every value nests"
        ),
        "empty objects": read(b'[<more>{"a":{}}</more>]', {"a": ("object", [{}])}, plainly="no value has a key"),
        "empty records": read(b"[<more>{}</more>,{}]", NOTHING, rows=2),
        "empty rows": read(b"[[],[]]", NOTHING, "rows", rows=2),
        "scalars": read(b"[1,2,null]", {"Result": ("Int64", [1, 2, None])}, "list"),
        "mixed scalars": read(b'[1,"a",null,[2]]', {"Result": ("object", [1, "a", None, [2]])}, "list"),
        "a scalar": read(b"7", {"Result": ("int64", [7])}, "scalar"),
        "a truth": read(b"false", {"Result": ("bool", [False])}, "scalar"),
        "a text": read(b'"x"', {"Result": ("string", ["x"])}, "text"),
        "null": read(b"null", NOTHING, "null", rows=0),
        "a list of nothing": read(b"[]", NOTHING, "empty", rows=0),
        "an object of nothing": read(b"{}", NOTHING, "empty", rows=0),
        "a record": read(
            b'{"a":1,"b":[2],"c":null}',
            {"a": ("int64", [1]), "b": ("object", [[2]]), "c": ("object", [None])},
            "record",
        ),
        "columns of nothing": read(b'{"a":{},"b":{}}', {"a": ("object", []), "b": ("object", [])}, "columns"),
        "lists of nothing": read(b'{"a":[],"b":[]}', {"a": ("object", []), "b": ("object", [])}, "lists"),
        "split of nothing": read(
            b'{"columns":["a","b"],"index":[],"data":[]}', {"a": ("object", []), "b": ("object", [])}, "split"
        ),
        "declared, and a list of nothing": read(
            b'{"schema":{"a":{"type":"int32","nullable":false},"b":{"type":"datetime.date"}},"data":[]}',
            {"a": ("int32", []), "b": ("datetime64[us]", [])},
            "schema",
        ),
        "declared, and an object of nothing": read(
            b'{"schema":{"a":{"type":"str"},"b":{"type":"bool","nullable":true}},"data":{}}',
            {"a": ("string", []), "b": ("boolean", [])},
            "schema",
        ),
        "declared by table schema": read(
            b'{"schema":{"fields":[{"name":"a","type":"integer"},{"name":"b","type":"number"}]},"data":[]}',
            {"a": ("int64", []), "b": ("float64", [])},
            "table",
        ),
        "declared by the user": read(
            b"[]",
            {"a": ("int64", []), "Date": ("datetime64[ms]", [])},
            "empty",
            options={"schema": {"a": "int64", "Date": "datetime64[ms]"}},
        ),
        "declared by the user, and null": read(
            b"null", {"a": ("string", [])}, "null", options={"schema": {"a": "str"}}
        ),
        "declared, and absent": read(
            b'{"schema":{"a":{"type":"int32"},"b":{"type":"float64"}},"data":[<more>{"b":0.5}</more>]}',
            {"a": ("Int32", [None]), "b": ("float64", [0.5])},
            "schema",
        ),
        "split": read(
            b'{"columns":["a","b"],"data":[<more>[1,"x"]</more>,[2,null]]}',
            {"a": ("int64", [1, 2]), "b": ("string", ["x", None])},
            "split",
        ),
        "by index": read(
            b'{"7":{"a":1},"9":{"b":2}}', {"a": ("Int64", [1, None]), "b": ("Int64", [None, 2])}, "index", [7, 9]
        ),
    },
    68: {
        "duplicates": read(
            b'{"columns":["a","a","a"],"data":[<more>[1,"x",true]</more>]}',
            {"a": ("int64", [1]), "a.1": ("string", ["x"]), "a.2": ("bool", [True])},
            "split",
        ),
        "no name": read(b'[<more>{"":1,"a":2}</more>]', {"": ("int64", [1]), "a": ("int64", [2])}),
        "several without name": read(
            b'{"columns":["",null,""],"data":[<more>[1,2,3]</more>]}',
            {"": ("int64", [1]), ".1": ("int64", [2]), ".2": ("int64", [3])},
            "split",
        ),
        "a name that is taken": read(
            b'{"columns":["a","a","a.1"],"data":[[1,2,3]]}',
            {"a": ("int64", [1]), "a.2": ("int64", [2]), "a.1": ("int64", [3])},
            "split",
        ),
        "a nested name that is taken": read(
            b'[<more>{"a.b":1,"a":{"b":"x"}}</more>]', {"a.b": ("int64", [1]), "a.b.1": ("string", ["x"])}
        ),
        "blanks": read(b'[<more>{" ":1,"  ":2}</more>]', {" ": ("int64", [1]), "  ": ("int64", [2])}),
        "case and form": read(
            '[<more>{"a":1,"A":2,"é":3,"e\u0301":4}</more>]'.encode(),
            {"a": ("int64", [1]), "A": ("int64", [2]), "é": ("int64", [3]), "e\u0301": ("int64", [4])},
        ),
        "numbers": read(
            b'{"columns":[0,1.5,true],"data":[[1,2,3]]}',
            {"0": ("int64", [1]), "1.5": ("int64", [2]), "true": ("int64", [3])},
            "split",
        ),
    },
    69: {
        "zeros in front": read(b'[<more>{"a":"007"}</more>,{"a":"1E5"}]', {"a": ("string", ["007", "1E5"])}),
        "texts of numbers": read(
            b'[<more>{"a":"1"}</more>,{"a":"1.5"},{"a":""},{"a":" 1"}]', {"a": ("string", ["1", "1.5", "", " 1"])}
        ),
        "texts of truths and nulls": read(
            b'[<more>{"a":"true"}</more>,{"a":"null"},{"a":"NA"},{"a":"None"}]',
            {"a": ("string", ["true", "null", "NA", "None"])},
        ),
        "names that pandas takes for dates": read(
            b'[<more>{"modified":1704067200000,"date":1704067200,"created_at":7,"timestamp":8,"datetime":9}</more>]',
            {
                "modified": ("int64", [1704067200000]),
                "date": ("int64", [1704067200]),
                "created_at": ("int64", [7]),
                "timestamp": ("int64", [8]),
                "datetime": ("int64", [9]),
            },
        ),
        "the same in columns": read(
            b'{"modified":{<more>"#":1704067200000</more>},"start_at":{<more>"#":"20240101"</more>}}',
            {"modified": ("int64", [1704067200000]), "start_at": ("string", ["20240101"])},
            "columns",
        ),
        "dates": read(
            b'[<more>{"modified":"2024-02-29"}</more>,{"modified":null},{"modified":"0001-01-01"}]',
            {"modified": ("datetime64[us]", ["2024-02-29T00:00:00", None, "0001-01-01T00:00:00"])},
        ),
        "dates and one text": read(
            b'[<more>{"a":"2024-02-29"}</more>,{"a":"2023-02-29"}]', {"a": ("string", ["2024-02-29", "2023-02-29"])}
        ),
        "other ways to write dates": read(
            b'[<more>{"a":"01/02/2024","b":"2024-01","c":"1 May 2024","d":"2024-01-01 10:00"}</more>]',
            {
                "a": ("string", ["01/02/2024"]),
                "b": ("string", ["2024-01"]),
                "c": ("string", ["1 May 2024"]),
                "d": ("string", ["2024-01-01 10:00"]),
            },
        ),
        "offsets": read(
            b'[<more>{"a":"2024-01-01T10:00:00+05:30"}</more>,{"a":"2024-01-01T10:00:00Z"}]',
            {"a": ("datetime64[us, UTC]", ["2024-01-01T04:30:00+00:00", "2024-01-01T10:00:00+00:00"])},
        ),
        "offsets and none": read(
            b'[<more>{"a":"2024-01-01T10:00:00Z"}</more>,{"a":"2024-01-01T10:00:00"}]',
            {"a": ("string", ["2024-01-01T10:00:00Z", "2024-01-01T10:00:00"])},
        ),
        "row keys with zeros in front": read(
            b'{"a":{"007":1,"008":2}}', {"a": ("int64", [1, 2])}, "columns", ["007", "008"]
        ),
        "a row key of minus zero": read(b'{"a":{"-0":1,"1":2}}', {"a": ("int64", [1, 2])}, "columns", ["-0", "1"]),
        "numbers and texts": read(b'[<more>{"a":1}</more>,{"a":"1"}]', {"a": ("object", [1, "1"])}),
        "numbers and truths": read(b'[<more>{"a":1}</more>,{"a":true}]', {"a": ("object", [1, True])}),
        "-0.0": read(b'[<more>{"a":-0.0}</more>,{"a":0}]', {"a": ("float64", [-0.0, 0.0])}),
        "epoch dates by the user's schema": read(
            b'[<more>{"Date":1704067200000,"v":1}</more>,{"Date":-1,"v":2},{"v":3}]',
            {
                "Date": ("datetime64[ms]", ["2024-01-01T00:00:00", "1969-12-31T23:59:59.999000", None]),
                "v": ("int64", [1, 2, 3]),
            },
            options={"schema": {"Date": "datetime64[ms]"}},
        ),
        "epoch dates in columns by the user's schema": read(
            b'{"Date":{<more>"#":1704067200000</more>,"900000":null}}',
            {"Date": ("datetime64[ms]", ["2024-01-01T00:00:00", None])},
            "columns",
            [0, 900000],
            options={"schema": {"Date": "datetime64[ms]"}},
        ),
        "a schema of the user's before the reply's": read(
            declaring("int64", '<more>"#":1704067200000</more>'),
            {"a": ("datetime64[ms]", ["2024-01-01T00:00:00"])},
            "schema",
            options={"schema": {"a": "datetime64[ms]"}},
        ),
        "a text where a count is declared": refused(
            b'[<more>{"Date":1}</more>,{"Date":"<token>soon"}]',
            "Column 'Date' is declared as datetime64[ms] but contains",
            row=1,
            options={"schema": {"Date": "datetime64[ms]"}},
        ),
        "zeros in front where a number is declared": refused(
            declaring("int64", '<more>"#":1</more>,"900000":"007"'),
            "Column 'a' is declared as int64 but contains '007'",
            row=1,
        ),
        "a date that is none where one is declared": refused(
            declaring("datetime.date", '<more>"#":"2024-01-01"</more>,"900000":"2024-02-30"'),
            "Column 'a' is declared as datetime.date but contains '2024-02-30'",
            row=1,
        ),
        "a declared type of no known meaning": read(
            declaring("decimal<token>", '<more>"#":1</more>'),
            {"a": ("int64", [1])},
            "schema",
            warns="declares column 'a' as 'decimal",
        ),
        "a name beside a type of no known meaning": read(
            b'{"schema":{"a<token>":{"type":"decimal"}},"data":[]}',
            {"a": ("object", [])},
            "schema",
            warns=", an unknown type: ignored",
        ),
    },
}


CASES = {f"{row} {name}": case for row, cases in TABLE.items() for name, case in cases.items()}
# In each of its forms: as a document by itself, and as the text in a body.
FORMS = {
    f"{name}{', as a text' * as_text}": (case, as_text)
    for name, case in CASES.items()
    for as_text in ([False] if case.whole else [False, True])
}


def test_every_row_has_its_cases() -> None:
    """Each row from 48 to 69 has a case, and each case is read by `to_frame` and by a call, or says why not."""
    assert set(range(48, 70)) <= TABLE.keys()
    assert all(TABLE.values())
    assert not [name for name, case in CASES.items() if case.over_http and case.by_hand]
    assert {row for row, cases in TABLE.items() if all(case.over_http for case in cases.values())} == {
        *(44, 46),  # the emptiness of a reply, and its media type
        *(59, 64, 65, 66),  # its size and its encoding
    }


# --- what must come ---


def plain(value: Any) -> Any:
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def told(found: pd.DataFrame) -> dict[str, tuple[str, list[Any]]]:
    return {
        str(name): (str(column.dtype), [plain(value) for value in column.astype(object)])
        for name, column in found.items()
    }


@functools.cache
def fragments(token: str, length: int = 12) -> set[str]:
    return {token[start : start + length] for start in range(len(token) - length + 1)}


def holds_no_token(*texts: str) -> None:
    for text in texts:
        assert not [part for part in fragments(CANARY) if part in text], text


def meet(given: Asked, reading: Callable[[], pd.DataFrame]) -> None:
    """Read the reply and compare the outcome with the expected one."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        if isinstance(given.required, Frame):
            meet_frame(given.required, reading())
        else:
            meet_error(given, reading)
    expected = given.required.warns.split("|") if given.required.warns else []
    assert len(warned) == len(expected), [str(warning.message) for warning in warned]
    for warning, words in zip(warned, expected, strict=True):
        assert words in str(warning.message)
        assert warning.category is UserWarning
        holds_no_token(str(warning.message), warning.filename)


def meet_frame(required: Frame, found: pd.DataFrame) -> None:
    assert repr(told(found)) == repr({name: (dtype, [*values]) for name, (dtype, values) in required.columns.items()})
    assert found.attrs["funcs"]["shape"] == required.shape
    rows = max((len(values) for _, values in required.columns.values()), default=required.rows)
    assert len(found) == rows
    if required.index is None:
        assert found.index.equals(pd.RangeIndex(rows))
        assert isinstance(found.index, pd.RangeIndex)
    else:
        assert found.index.tolist() == [*required.index]


def meet_error(given: Asked, reading: Callable[[], pd.DataFrame]) -> None:
    assert isinstance(given.required, Refused)
    with pytest.raises(jf.FuncsError) as caught:
        reading()
    assert type(caught.value) is given.required.error, caught.value
    assert given.required.words in caught.value.what
    if given.at is not None:
        assert re.search(rf"\bbyte {given.at:,}\b", caught.value.what), (given.at, caught.value.what)
    if given.required.row is not None:
        assert f"in row {given.required.row:,}." in caught.value.what
    inert_and_short(caught.value)


def inert_and_short(error: jf.FuncsError) -> None:
    assert error.what
    assert error.hint, "it says not what to do"
    assert 1 <= len(str(error).splitlines()) <= 3
    assert str(error).replace("\n", "").isprintable()
    chain: BaseException | None = error
    while chain is not None:
        holds_no_token(str(chain), repr(chain), repr(chain.args))
        chain = chain.__cause__ or chain.__context__
    holds_no_token("".join(traceback.format_exception(error)), repr(vars(error)), repr(pickle.dumps(error)))


# --- by to_frame ---

BY_HAND = {name: form for name, form in FORMS.items() if not form[0].over_http}
GROWING = {name: form for name, form in BY_HAND.items() if form[0].grows}


@each_row("case, as_text", BY_HAND.values(), ids=BY_HAND)
def test_to_frame_gives_the_frame_or_the_error(case: Case, as_text: bool) -> None:
    given = asked(case, as_text=as_text)
    meet(given, lambda: jf.to_frame(given.reply, **case.options))


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count a few kB as long, so that many replies can be tested in a short time."""
    monkeypatch.setattr(pieces, "_CHUNK", 2048)
    monkeypatch.setattr(pieces, "LONG", 4096)


@pytest.mark.usefixtures("small_pieces")
@each_row("case, as_text", GROWING.values(), ids=GROWING)
def test_to_frame_gives_the_same_of_a_long_reply(case: Case, as_text: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A valid reply is read in pieces; an invalid one gets the same error as a short one."""
    met: list[bool] = []

    read = pieces.read_long

    def read_long(reply: bytes | str, **how: Any) -> Any:
        value = read(reply, **how)
        met.append(value is not None)
        return value

    monkeypatch.setattr(pieces, "read_long", read_long)
    given = long(case, as_text=as_text)
    assert len(given.reply) > pieces.LONG
    meet(given, lambda: jf.to_frame(given.reply, **case.options))
    if isinstance(case.required, Frame) and not case.required.warns and not case.plainly:
        assert met == [True]


# --- what is made of a frame ---


def frames_of(row: int) -> dict[str, Case]:
    return {
        f"{row} {name}": case
        for name, case in TABLE[row].items()
        if isinstance(case.required, Frame) and not case.over_http
    }


SHOWN = {**frames_of(60), **frames_of(61), **frames_of(68)}


def read_quietly(case: Case) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return jf.to_frame(asked(case).reply, **case.options)


@each_row("case", SHOWN.values(), ids=SHOWN)
@pytest.mark.parametrize("format", ["csv", "json", "parquet", "table"])
def test_60_and_61_and_68_the_frame_can_be_exported(
    case: Case,
    format: export.Format,  # noqa: A002  # its name
    tmp_path: Path,
) -> None:
    """Each format can be written and read again with the same values; the table for display is inert."""
    path = tmp_path / "frame"
    read = read_quietly(case)
    export.save(read, path, format)
    if format == "table":
        assert inert_lines(path.read_text("utf-8"))
    elif format == "csv":
        assert len(pd.read_csv(path, keep_default_na=False)) == len(read)
    elif format == "json":
        values = {name: values for name, (_, values) in told(read).items()}
        records = json.loads(path.read_text("utf-8"))
        assert [[*record.values()][-len(values) :] for record in records] == [
            list(row) for row in zip(*values.values(), strict=True)
        ]
        assert [*records[0]][-len(values) :] == [*values]
    else:
        found = pd.read_parquet(path)
        assert [*found.columns][-read.shape[1] :] == [*read.columns]
        assert len(found) == len(read)


def inert_lines(text: str) -> bool:
    return text.replace("\n", "").isprintable()


@each_row("case", SHOWN.values(), ids=SHOWN)
def test_61_what_is_shown_is_inert(case: Case) -> None:
    """The panel's table contains no control characters and no markup."""
    table = display.table_html(read_quietly(case))
    assert inert_lines(table)
    assert not set(re.findall("<[^>]*>", table)) - {
        *("<thead>", "</thead>", "<tbody>", "</tbody>", "<tr>", "</tr>", "</th>", "</td>"),
        *("<table>", "</table>"),
        *(f'<{cell} style="text-align: {side}">' for cell in ('th scope="col"', "td") for side in ("left", "right")),
    }


# --- by a call ---


class Service(ThreadingHTTPServer):
    """A service on a socket that lists one function and answers its runs with scripted pieces."""

    headers: Mapping[str, str]
    pieces: Callable[[], Iterable[bytes]]

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.tell(b"[]")

    def tell(self, *replies: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.headers = headers or {}
        self.pieces = lambda: replies

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # the client went away, as some tests have it
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
        headers = {"content-type": "application/json"} | ({} if listing else {**self.server.headers})
        chunked = "content-length" not in headers
        self.send_response_only(200)
        for name, value in {**headers, **({"transfer-encoding": "chunked"} if chunked else {})}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            for piece in chain(filter(None, pieces), [b""]):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
            self.wfile.flush()
        except ConnectionError:
            self.close_connection = True


async def tasks() -> int:
    return len(asyncio.all_tasks())


def threads() -> set[threading.Thread]:
    """Return the threads, without the loop's own and its workers."""
    return {thread for thread in threading.enumerate() if not re.match("asyncio_|jupyter_funcs", thread.name)}


def sockets() -> set[str]:
    links = set()
    for each in Path("/proc/self/fd").iterdir() if sys.platform == "linux" else ():
        with contextlib.suppress(OSError):  # the one that lists them
            links.add(str(each.readlink()))
    return {link for link in links if link.startswith("socket:")}


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Service, Session]]:
    """A service and a session, which leave no thread, socket or task behind."""
    background.run(tasks())  # the loop runs
    before_threads, before_sockets = threads(), sockets()
    with Service() as service:
        thread = threading.Thread(target=service.serve_forever, args=[0.01])
        thread.start()
        session = jf.connect(service.url, token=CANARY)
        assert session.names == ["F"]
        yield service, session
        wait_until(lambda: background.run(tasks()) == 1)  # a task ends after whoever waits for it goes on
        session.close()
        service.shutdown()
    thread.join(10)
    # The server's side of a connection ends when it sees that the other has.
    wait_until(lambda: threads() <= before_threads and sockets() <= before_sockets)


def meet_call(running: tuple[Service, Session], given: Asked) -> None:
    """Compare the outcome of a call; after an error, at least of its plain form, a healthy run of the session works."""
    service, session = running
    answer(service, given)
    meet(given, lambda: call(session, given.case))
    if isinstance(given.required, Refused) and not given.reply.startswith(b'{"error": null'):
        works(service, session)


def works(service: Service, session: Session) -> None:
    service.tell(b'{"error":null,"body":"[{\\"a\\":1}]"}')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert told(session["F"]()) == ONE


def call(session: Session, case: Case) -> pd.DataFrame:
    return session["F"].with_options(timeout=20, max_bytes=LIMIT, schema=case.options.get("schema"))()


def answer(service: Service, given: Asked) -> None:
    service.tell(given.reply, headers=given.headers)
    if given.case.stream is not None:
        service.pieces = given.case.stream


CALLED = {name: form for name, form in FORMS.items() if not form[0].by_hand and form[0].stream is None}
FIRST = {name.split()[0]: form[0] for name, form in reversed(GROWING.items()) if form[1] and not form[0].by_hand}


@each_row("case, as_text", CALLED.values(), ids=CALLED)
def test_a_call_gives_the_frame_or_the_error(running: tuple[Service, Session], case: Case, as_text: bool) -> None:
    given = asked(case, as_text=as_text)
    meet_call(running, given)


@pytest.mark.slow
@each_row("case", FIRST.values(), ids=FIRST)
def test_a_call_gives_the_same_of_hundreds_of_kilobytes(running: tuple[Service, Session], case: Case) -> None:
    """One case per row is sent with a reply longer than the real piece size."""
    given = long(case, as_text=True)
    assert len(given.reply) > 300_000
    meet_call(running, given)


ECHOED = {name: case for name, case in CASES.items() if "<token>" in f"{case.template!r}{case.headers}"}
ECHOES = {
    "as it is": CANARY,
    "with its first letter escaped": rf"\u00{ord(CANARY[0]):x}{CANARY[1:]}",
    "its first half": CANARY[: len(CANARY) // 2],
}


@pytest.mark.parametrize("token", ECHOES.values(), ids=ECHOES)
@each_row("case", ECHOED.values(), ids=ECHOED)
def test_a_token_that_the_reply_repeats_is_not_shown(running: tuple[Service, Session], case: Case, token: str) -> None:
    """The error is the same and names the same byte; no 12 letters of the token appear anywhere."""
    given = asked(case, token=token)
    if isinstance(case.required, Refused):
        meet_call(running, replace(given, required=replace(case.required, words="")))
    else:
        answer(running[0], given)
        with pytest.warns(UserWarning, match=case.required.warns[:8]) as warned:
            call(running[1], case)
        works(*running)
        holds_no_token(*(str(warning.message) for warning in warned))


# --- single rows ---


@pytest.mark.parametrize(("opening", "closing"), [(b'{"a":', b"}"), (b"[", b"]")], ids=["objects", "arrays"])
def test_55_every_depth_is_a_frame_or_an_error(opening: bytes, closing: bytes) -> None:
    """No other error is raised around the depth limits of decoding and of making columns."""
    ends = set()
    for depth in range(600, 1100, 5):
        try:
            found = jf.to_frame(b'[{"a":' + opening * depth + b"1" + closing * depth + b"}]")
        except jf.ProtocolError as error:
            ends.add(error.what)
        else:
            assert found.shape == (1, 1)
    assert ends <= {"The reply is nested too deeply."}


TOO_LARGE = {name: case for name, case in CASES.items() if case.stream is not None}


@pytest.mark.parametrize("case", TOO_LARGE.values(), ids=TOO_LARGE)
def test_59_and_64_no_more_is_taken_than_the_limit_and_one_piece(
    running: tuple[Service, Session], case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading and decompressing stop at the piece beyond the limit; a larger Content-Length isn't read."""
    taken = []
    pieces_of = reply.pieces

    async def counted(*given: Any) -> AsyncIterator[bytes]:
        async for piece in pieces_of(*given):
            taken.append(len(piece))
            yield piece

    monkeypatch.setattr(reply, "pieces", counted)
    answer(running[0], asked(case))
    meet(asked(case), lambda: call(running[1], case))
    if "content-length" in case.headers:
        assert not taken
    else:
        assert sum(taken[:-1]) <= LIMIT < sum(taken)
        assert max(taken) <= MIB
    works(*running)


def test_a_value_that_does_not_fit_is_found_without_a_look_at_each_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Finding the row doesn't take more steps in longer columns, because a run must meet its deadline."""
    steps = []
    built = Declared.built

    def counted(self: Declared, column: Column) -> Any:
        steps.append(len(column))
        return built(self, column)

    monkeypatch.setattr(Declared, "built", counted)
    with pytest.raises(jf.ProtocolError, match=r"in row 5,000\."):
        jf.to_frame(json.dumps([{"a": "2024-01-01"}] * 5000 + [{"a": "soon"}]), schema={"a": "datetime.date"})
    assert len(steps) < 100

"""Replies of media types other than JSON: CSV is a table, text is one cell, and anything else is bytes in a cell."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import httpx
import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.core.errors import ArgumentError, ProtocolError
from jupyter_funcs.frames.media import media_to_frame
from tests.growth import assert_linear

PNG = b"\x89PNG\r\n\x1a\n\0\0"


def session_of(
    media_types: list[str],
    content: bytes,
    content_type: str,
    requests: list[httpx.Request],
) -> Any:
    """Return a session with one operation that declares these media types and sends this reply."""
    responses = {
        "200": {"description": "", "content": {kind: {} for kind in media_types}}
    }
    paths = {"/report": {"get": {"operationId": "report", "responses": responses}}}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "paths": paths,
    }

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("openapi.json"):
            return httpx.Response(200, content=json.dumps(document).encode())
        requests.append(request)
        return httpx.Response(
            200, content=content, headers={"content-type": content_type}
        )

    return jf.connect(
        "https://api.example/openapi.json", transport=httpx.MockTransport(answer)
    )


@pytest.mark.parametrize(
    ("media_types", "content", "content_type", "expected", "shape"),
    [
        (
            ["text/csv"],
            b"day,code,n\n2026-01-02,007,1\n",
            "text/csv; charset=utf-8",
            [7, 1],
            "csv",
        ),
        (["text/plain"], b"42 is the answer", "text/plain", "42 is the answer", "text"),
        (["application/xml"], b"<a>1</a>", "application/xml", "<a>1</a>", "text"),
        (["image/png", "text/html"], PNG, "image/png", PNG, "file"),
        (["application/pdf"], b"%PDF-1.7", "application/pdf", b"%PDF-1.7", "file"),
        (
            ["application/octet-stream"],
            b"\0\1",
            "application/octet-stream",
            b"\0\1",
            "file",
        ),
        (["text/plain"], b'[{"n": 1}]', "text/plain", 1, "records"),
        (
            ["application/json", "text/csv"],
            b'[{"n": 1}]',
            "application/json",
            1,
            "records",
        ),
    ],
    ids=[
        "CSV",
        "text",
        "XML",
        "an image",
        "PDF",
        "bytes",
        "JSON as text",
        "JSON beside CSV",
    ],
)
def test_a_reply_of_any_media_type_is_a_frame(
    media_types: list[str], content: bytes, content_type: str, expected: Any, shape: str
) -> None:
    """The request asks for the declared type, JSON first."""
    requests: list[httpx.Request] = []
    session = session_of(media_types, content, content_type, requests)
    frame = session["report"]()
    assert frame.attrs["funcs"]["shape"] == shape
    if shape == "csv":
        assert frame.astype(object).to_numpy().tolist() == [
            [pd.Timestamp("2026-01-02"), "007", 1]
        ]
    else:
        assert frame.iloc[0, 0] == expected
    assert requests[0].headers["accept"] == media_types[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n,x\n1,1.5\n2,\n", {"n": [1, 2], "x": [1.5, None]}),
        ("code,n\n007,1\n08,2\n", {"code": ["007", "08"], "n": [1, 2]}),
        ("n,t\n1,a\nx,\n", {"n": ["1", "x"], "t": ["a", None]}),
        ('t\n"a, b"\n"c ""d"""\n', {"t": ["a, b", 'c "d"']}),
        ("a,a\n1,2\n", {"a": [1], "a.1": [2]}),
        ("a\n1,2\n", {"a": [1], "column 2": [2]}),
        ("a,b\n1\n", {"a": [1], "b": [None]}),
        ("a,b\n", {"a": [], "b": []}),
        ("id\n9007199254740993\n", {"id": [9007199254740993]}),
        ("a;b\n1,5;2\n", {"a": ["1,5"], "b": [2]}),
        ("a\tb\n1\tx,y\n", {"a": [1], "b": ["x,y"]}),
        ("a|b\n1|2\n", {"a": [1], "b": [2]}),
        ('"a;b"\nx\n', {"a;b": ["x"]}),
        ("a,b;c\n1,2\n", {"a": [1], "b;c": [2]}),
        ("a,b\n\n1,2\n\n", {"a": [1], "b": [2]}),
        ("n,x\nNA,NaN\n1,.5\n", {"n": [None, 1], "x": [None, 0.5]}),
        ("code\nNA\nDE\n", {"code": ["NA", "DE"]}),
        ("code\nNA\nNA\n", {"code": ["NA", "NA"]}),
        ("a,b\nTrue,true\nFALSE,\n", {"a": [True, False], "b": [True, None]}),
        ("a\ntrue\n1\n", {"a": ["true", "1"]}),
        ("a\n+1\n-2\n", {"a": [1, -2]}),
        ("a\n1e400\n", {"a": ["1e400"]}),
        ("a\n.\n", {"a": ["."]}),
    ],
)
def test_csv_keeps_what_is_written(text: str, expected: dict[str, list[Any]]) -> None:
    """A column is numeric only if all its values are; codes with leading zeros stay texts; nothing is lost."""
    frame = media_to_frame(text.encode(), "text/csv")
    assert frame.astype(object).where(frame.notna(), None).to_dict("list") == expected


def test_csv_is_read_in_its_encoding_and_with_its_delimiter() -> None:
    assert (
        media_to_frame(
            "a\tb\nü\t1\n".encode("utf-8-sig"), "text/tab-separated-values"
        ).loc[0, "a"]
        == "ü"
    )
    assert (
        media_to_frame("a\nü\n".encode("latin-1"), "text/csv; charset=iso-8859-1").loc[
            0, "a"
        ]
        == "ü"
    )
    assert media_to_frame("a\nü\n".encode("cp1252"), "text/csv").loc[0, "a"] == "ü"
    assert media_to_frame(b"a\n1\n", "text/csv; charset=none-such").loc[0, "a"] == 1
    assert media_to_frame("a,b\nü,1\n".encode("utf-16"), "text/csv").loc[0, "a"] == "ü"
    marked = "\ufeffid,v\n1,2\n".encode()
    assert media_to_frame(marked, "text/csv; charset=utf-8").columns[0] == "id"
    for broken in (b"", b"\n\n", b'a\n"x'):
        with pytest.raises(ProtocolError, match="not valid CSV"):
            media_to_frame(broken, "text/csv")


@pytest.mark.parametrize("end", ["csv", "x-csv", "comma-separated-values", "tsv"])
@pytest.mark.parametrize("kind", ["text", "application"])
def test_each_media_type_of_csv_is_a_table(kind: str, end: str) -> None:
    mark = "\t" if end == "tsv" else ","
    frame = media_to_frame(f"a{mark}b\n1{mark}2\n".encode(), f"{kind}/{end}")
    assert frame.to_dict("list") == {"a": [1], "b": [2]}


def test_a_schema_says_the_types_of_columns_of_csv() -> None:
    data = b"zip,price,at,n\n8001,1.50,2026-01-02,3\n"
    schema = {"zip": "string", "price": "decimal", "at": "string", "n": "float64"}
    frame = media_to_frame(data, "text/csv", schema)
    assert frame.iloc[0].tolist() == ["8001", Decimal("1.50"), "2026-01-02", 3.0]
    assert [str(dtype) for dtype in frame.dtypes] == [
        "string",
        "object",
        "string",
        "float64",
    ]
    with pytest.raises(ProtocolError, match="declared as int64 but contains 'x'"):
        media_to_frame(b"name\nx\n", "text/csv", {"name": "int64"})
    with pytest.raises(ArgumentError, match="unknown type 'integer'"):
        media_to_frame(b"text", "text/plain", {"name": "integer"})


def test_csv_is_read_in_linear_time() -> None:
    assert_linear(
        lambda n: media_to_frame(b"a,b\n" + b"1,x\n" * n, "text/csv"), most=500_000
    )

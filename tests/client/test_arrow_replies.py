"""A run's reply as an Arrow stream: the same frame as from JSON, requested only if the service offers it."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
import warnings
from typing import TYPE_CHECKING, Any

import httpx
import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import jupyter_funcs as jf
from jupyter_funcs.frames import columns
from jupyter_funcs.frames.media import stream_to_frame
from jupyter_funcs.service import embedded
from jupyter_funcs.service.builtin import companies, demo
from jupyter_funcs.service.engine import duckdb_engine
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine
from jupyter_funcs.service.publishing.registry import Registry, function
from tests.conftest import PANEL, SYMBOL
from tests.service.conftest import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_funcs.api import RemoteFunction, Session

ARROW = "application/vnd.apache.arrow.stream"
JSON = "application/json"
EITHER = f"{ARROW}, {JSON};q=0.9"
RESULTS: dict[str, Any] = {}


class Heard(httpx.AsyncBaseTransport):
    """Sends requests to an application, and notes each reply's media type by function and Accept header."""

    def __init__(self, app: Any, hidden: str = "") -> None:
        self._to = httpx.ASGITransport(app)
        self._hidden = hidden
        self.came: dict[tuple[str, str], str] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._to.handle_async_request(request)
        response.headers.pop(self._hidden, None)
        name = json.loads(request.content).get("FunctionName", "")
        self.came[name, request.headers["accept"]] = response.headers["content-type"]
        return response


def connected(app: Any, token: str, hidden: str = "") -> tuple[Session, Heard]:
    heard = Heard(app, hidden)
    session = jf.connect("http://localhost", token=token, transport=heard)
    assert session.names
    return session, heard


@pytest.fixture(scope="module")
def heard() -> Iterator[tuple[Session, Heard]]:
    """A service with the functions of the demo, and one that returns any of `RESULTS`; it sends no small tables."""

    @function(asset="a", name="Result")
    def result(which: str) -> Any:
        """Return a result."""
        value = RESULTS[which]
        if isinstance(value, Exception):
            raise value
        return ibis.memtable(value) if isinstance(value, pa.Table) else value

    engine = DuckDBEngine(companies.reference(), demo.cards)
    wire = serving(Registry([*demo.published("a", "a"), result], author="t"), engine)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duckdb_engine, "_FEW_ROWS", 0)
        session, transport = connected(wire.app, wire.token)
        yield session, transport
        session.close()
    engine.close()


def outcome(function: RemoteFunction, args: dict[str, Any]) -> Any:
    """Return the frame and the warnings of a run, or its error."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            frame = function(**args)
        except jf.FuncsError as error:
            return type(error), str(error)
    about = {name: value for name, value in frame.attrs.items() if name != "funcs"}
    about |= {"funcs": {**frame.attrs["funcs"], "time": 0, "elapsed": 0, "bytes": 0}}
    frame = frame.copy(deep=False)  # a result in memory may list the values of fields
    frame.attrs = {}
    return frame, about, [str(warning.message) for warning in warned]


def assert_same(
    session: Session,
    heard: Heard,
    name: str,
    args: dict[str, Any],
    came: str | None = None,
) -> Any:
    """Run a function both ways: a schema, even an empty one, needs the values as JSON."""
    either = outcome(session[name], args)
    plain = outcome(session[name].with_options(schema={}), args)
    media_type = heard.came.pop((name, EITHER))
    assert heard.came.pop((name, JSON)) == JSON
    if came is not None:
        assert media_type == came
    assert_same_outcome(media_type, either, plain)
    return media_type


def assert_same_outcome(media_type: str, either: Any, plain: Any) -> None:
    if not isinstance(plain[0], pd.DataFrame):
        assert either == plain
        return
    frame = either[0]
    expected = plain[0]
    infinite = [text for text in plain[2] if "infinite" in text]
    if infinite and media_type != JSON:  # only Arrow has infinity
        numbers = frame.select_dtypes("floating")
        count = infinite[0].split()[3].replace(",", "")
        assert np.isinf(numbers).sum().sum() == int(count)
        finite = frame.replace([np.inf, -np.inf], np.nan)
        assert (finite.isna() == expected.isna()).all(axis=None)
        return
    assert either[1:] == plain[1:]
    if media_type == ARROW and not len(expected):  # only Arrow has columns without rows
        assert (len(frame), expected.shape) == (0, (0, 0))
        assert [*frame.columns]
        return
    assert_same_frame(frame, expected)


def assert_same_frame(frame: pd.DataFrame, expected: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(frame, expected, check_exact=True)
    assert [*frame.dtypes] == [*expected.dtypes]
    assert type(frame.columns) is type(expected.columns)
    assert type(frame.index) is type(expected.index)
    for at in range(frame.shape[1]):
        ours = frame.iloc[:, at]
        theirs = expected.iloc[:, at]
        assert [type(value) for value in ours] == [type(value) for value in theirs]
        assert type(ours.array) is type(theirs.array)
        # It can be changed in place, like the other.
        if isinstance(theirs.array, pd.arrays.NumpyExtensionArray) and len(ours):
            assert ours.to_numpy().flags.writeable == theirs.to_numpy().flags.writeable


BUILT_IN: list[tuple[str, dict[str, Any], str]] = [
    ("Get Panels", {}, ARROW),
    ("Get Universe", {}, ARROW),
    (
        "Get Panel Dimensions",
        {"PanelName": PANEL, "Dimensions": ["Age Group", "Region", "Brand"]},
        ARROW,
    ),
    ("Get Panel Daily", {"PanelName": PANEL, "Symbol": SYMBOL}, ARROW),
    (
        "Get Panel Daily",
        {
            "PanelName": PANEL,
            "Symbol": SYMBOL,
            "PoPGrowth": "Yes",
            "Dimensions": ["Region"],
        },
        ARROW,
    ),
    (
        "Get Panel FQ",
        {
            "PanelName": PANEL,
            "Symbol": SYMBOL,
            "PoPGrowth": "Yes",
            "PeriodToDate": "Yes",
        },
        ARROW,
    ),
    ("Get KPIs", {"Symbol": SYMBOL, "PrimaryOnly": "No"}, ARROW),
    ("Get Report", {"report_id": "RPT-101"}, ARROW),
]
"""Functions, arguments, and how they are answered: listings are kept as rows."""


@pytest.mark.parametrize(("name", "args", "came"), BUILT_IN)
def test_a_built_in_function_gives_one_frame_either_way(
    heard: tuple[Session, Heard], name: str, args: dict[str, Any], came: str
) -> None:
    """Each function of the demo returns the same frame from Arrow and from JSON."""
    assert_same(*heard, name, args, came or None)


def test_every_built_in_function_is_compared(heard: tuple[Session, Heard]) -> None:
    """No function of the demo is left out."""
    assert {name for name, _, _ in BUILT_IN} == set(heard[0].names) - {"Result"}


NAN = math.nan
INF = math.inf
DAY = dt.date(2024, 2, 29)
NOON = dt.datetime.fromisoformat("2024-02-29T12:30:01.000005")
ODD: dict[str, tuple[Any, str]] = {
    "integers": (pa.table({"a": [1, -(2**63), 2**63 - 1]}), ARROW),
    "integers and null": (
        pa.table({"a": [2**53 + 1, None, -1], "b": [1, None, 3]}),
        ARROW,
    ),
    "small integers": (
        pa.table(
            {"a": pa.array([1, None], pa.int8()), "b": pa.array([1, 2], pa.int32())}
        ),
        ARROW,
    ),
    "unsigned integers": (
        pa.table(
            {"a": pa.array([1, None], pa.uint64()), "b": pa.array([1, 2], pa.uint8())}
        ),
        JSON,
    ),
    "integers beyond 64 bit": (
        pa.table({"a": [decimal.Decimal(2**70), decimal.Decimal(1)]}),
        JSON,
    ),
    "decimals": (
        pa.table(
            {"a": [decimal.Decimal("1.10"), None], "b": [decimal.Decimal("2.00")] * 2}
        ),
        JSON,
    ),
    "floats": (
        pa.table({"a": [0.1, -0.0, 1e16, 5e-324], "b": [1.0, 2.0, 3.0, 2.0**60]}),
        ARROW,
    ),
    "floats that are none": (
        pa.table({"a": [NAN, INF, 1.0], "b": [NAN, -INF, None], "c": [None, NAN, 2.5]}),
        ARROW,
    ),
    "floats of 32 bit": (
        pa.table({"a": pa.array([0.1, None, NAN, INF], pa.float32())}),
        ARROW,
    ),
    "booleans": (
        pa.table(
            {
                "a": [True, False],
                "b": [None, True],
                "c": pa.array([None, None], pa.bool_()),
            }
        ),
        ARROW,
    ),
    "text": (
        pa.table(
            {
                "a": ["007", "", None, "1E5", "\0\u2028😀"],
                "b": ["null", "NaN", "None", "[1]", '{"a":1}'],
            }
        ),
        ARROW,
    ),
    "text of dates": (
        pa.table(
            {
                "a": ["2024-02-29", None],
                "b": ["2024-02-29T10:00Z", "2024-02-29T10:00+05:30"],
            }
        ),
        ARROW,
    ),
    "text almost of dates": (
        pa.table({"a": ["2024-02-29", "2024-02-30"], "b": ["2024-02-29", "x"]}),
        ARROW,
    ),
    "text of nanoseconds": (pa.table({"a": ["2024-02-29T10:00:00.123456789"]}), ARROW),
    "dates": (pa.table({"a": [DAY, None, dt.date.min, dt.date.max]}), ARROW),
    "dates beyond Python's": (
        pa.table({"a": pa.array([2_932_897, 0], pa.date32())}),
        JSON,
    ),
    "times": (
        pa.table({"a": [NOON, None], "b": pa.array([0, 1], pa.timestamp("s"))}),
        "",
    ),
    "whole days as times": (
        pa.table({"a": [dt.datetime.fromisoformat("2024-01-01"), None]}),
        ARROW,
    ),
    "nanoseconds": (pa.table({"a": pa.array([1, None], pa.timestamp("ns"))}), JSON),
    "times in UTC": (
        pa.table({"a": pa.array([NOON, None], pa.timestamp("us", "UTC"))}),
        JSON,
    ),
    "times in Berlin": (
        pa.table({"a": pa.array([NOON, None], pa.timestamp("us", "Europe/Berlin"))}),
        JSON,
    ),
    "times of day": (pa.table({"a": [dt.time(1, 2), None]}), JSON),
    "durations": (pa.table({"a": [dt.timedelta(1), None]}), ""),
    "bytes": (pa.table({"a": [b"\0a", None]}), JSON),
    "lists": (pa.table({"a": [[1, None], [], None]}), JSON),
    "objects": (pa.table({"a": [{"b": 1, "c": "x"}, None]}), JSON),
    "codes": (pa.table({"a": pa.array(["x", None, "x"]).dictionary_encode()}), ""),
    "nulls": (pa.table({"a": [None, None], "b": [1, 2]}), ""),
    "nulls of a type": (
        pa.table(
            {
                str(kind): pa.array([None, None], kind)
                for kind in (pa.int64(), pa.float64(), pa.string(), pa.date32())
            }
        ),
        ARROW,
    ),
    "no rows": (pa.table({"a": pa.array([], pa.int64())}), ARROW),
    "names": (
        pa.table([[1], [2], [3], [4], [5]], ["a.b", "Result", "data", "schema", " "]),
        ARROW,
    ),
    "many rows": (
        pa.table(
            {"a": range(25_000), "b": [f"x{number % 7}" for number in range(25_000)]}
        ),
        ARROW,
    ),
    "a frame": (pd.DataFrame({"a": [1, None], "b": ["x", None]}), JSON),
    "an Arrow table": (pa.table({"a": [1]}).to_batches()[0], JSON),
    "records": ([{"a": 1}, {"b": "x", "a": None}], JSON),
    "a text": ("x", JSON),
    "nothing": (None, JSON),
    "a number": (2**70, JSON),
    "an error": (ValueError("It can't."), JSON),
    "what can't be sent": ([{"a": object()}], JSON),
}


@pytest.mark.parametrize("which", ODD)
def test_an_odd_result_gives_one_frame_either_way(
    heard: tuple[Session, Heard], which: str
) -> None:
    """A result is the same frame or error either way; Arrow is used only for values that it holds exactly like JSON."""
    RESULTS[which], came = ODD[which]
    assert_same(*heard, "Result", {"which": which}, came or None)


KINDS = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.int16(): st.integers(-(2**15), 2**15 - 1),
    pa.float64(): st.floats(),
    pa.float32(): st.floats(width=32),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(st.characters(codec="utf-8"), max_size=6)
    | st.dates().map(str)
    | st.datetimes().map(str),
    pa.large_string(): st.datetimes().map(dt.datetime.isoformat)
    | st.sampled_from(["2024-01-01T10:00Z", "1"]),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("ms"): st.datetimes().map(
        lambda time: time.replace(microsecond=1000 * (time.microsecond // 1000))
    ),
    pa.timestamp("us", "UTC"): st.datetimes(NOON),
    pa.decimal128(10, 2): st.decimals(-1000, 1000, places=2),
    pa.list_(pa.int64()): st.lists(st.integers(0, 9), max_size=2),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(0, 5))
    names = draw(
        st.lists(
            st.text(
                st.characters(codec="ascii", categories=["L", "N"]),
                min_size=1,
                max_size=3,
            ),
            min_size=1,
            max_size=4,
            unique_by=str.casefold,
        )
    )
    kinds = [draw(st.sampled_from([*KINDS])) for _ in names]
    cells = [
        draw(st.lists(st.none() | KINDS[kind], min_size=rows, max_size=rows))
        for kind in kinds
    ]
    return pa.table(
        [pa.array(values, kind) for kind, values in zip(kinds, cells, strict=True)],
        names,
    )


@given(tables())
@example(pa.table({"a": pa.array([], pa.string())}))
def test_any_table_gives_one_frame_either_way(
    heard: tuple[Session, Heard], table: pa.Table
) -> None:
    """Tables of any types, with nulls anywhere, are the same frame from Arrow and from JSON."""
    RESULTS["any"] = table
    assert_same(*heard, "Result", {"which": "any"})


def test_an_empty_result_has_its_columns(funcs: Session) -> None:
    """With their types, so that notebooks that use them still run."""
    frame = funcs.get_report(report_id="RPT-101", report_time_after="2099-01-01")
    assert {name: dtype.kind for name, dtype in frame.dtypes.items()} == {
        "Date": "M",
        "Spend": "f",
    }
    assert frame.empty


FEW_ROWS = duckdb_engine._FEW_ROWS


def test_arrow_comes_from_a_session_with_any_transport(
    funcs: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Embedded and over HTTP, many rows come as Arrow, in less than half the bytes, and few rows as JSON."""
    # While `heard` is open, small tables are sent as Arrow too.
    monkeypatch.setattr(duckdb_engine, "_FEW_ROWS", FEW_ROWS)
    daily = funcs["Get Panel Daily"]
    panels = funcs["Get Panels"]
    args = {"PanelName": PANEL, "Symbol": SYMBOL}
    arrow = daily(**args)
    plain = daily.with_options(schema={})(**args)
    pd.testing.assert_frame_equal(arrow, plain, check_exact=True)
    assert 2 * arrow.attrs["funcs"]["bytes"] < plain.attrs["funcs"]["bytes"]
    with pytest.raises(jf.ReplyTooLargeError, match="max_bytes = 1,000"):
        daily.with_options(max_bytes=1000)(**args)
    assert panels().equals(panels.with_options(schema={})())


def test_text_is_asked_for_where_it_is_needed(
    heard: tuple[Session, Heard], monkeypatch: pytest.MonkeyPatch
) -> None:
    """JSON is requested for a run whose reply is shown, and by a kernel without pyarrow."""
    session, transport = heard
    job = session["Get KPIs"].start({"Symbol": SYMBOL}, keep_reply=True)
    assert len(job.result()) > 0
    assert ("Get KPIs", EITHER) not in transport.came
    assert job.progress.reply is not None
    assert job.progress.reply.startswith(b'{"error":null')
    monkeypatch.setattr(columns, "texts_dtype", lambda: pd.StringDtype("python"))
    session["Get KPIs"](Symbol=SYMBOL)
    assert ("Get KPIs", EITHER) not in transport.came


def test_a_service_that_does_not_offer_arrow_is_not_asked_for_it() -> None:
    """Without the header of our own service in the listing, runs request JSON."""
    session, heard = connected(embedded().app, embedded().token, hidden="x-reply-types")
    session["Get Panels"]()
    assert heard.came["Get Panels", JSON] == JSON
    assert ("Get Panels", EITHER) not in heard.came
    session.close()


def streamed(table: pa.Table, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(
        sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)
    ) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


TEXTS = streamed(pa.table({"a": ["abcd"] * 3}))
NUMBERS = pa.table({"a": [0] * 10**6})


@pytest.mark.fault(136)
@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"{}",
        b"\xff\xff\xff\xff\0\0\0\0",
        TEXTS[:-8],
        TEXTS[: len(TEXTS) // 2],
        TEXTS[: len(TEXTS) // 2] + TEXTS[-8:],
        TEXTS.replace(
            b"\4\0\0\0\x08\0\0\0\x0c\0\0\0", b"\4\0\0\0\x08\0\0\0\xff\xff\xff\x0f"
        ),
        TEXTS.replace(b"abcd", b"\xff\xff\xff\xff"),
        streamed(NUMBERS, compression="zstd"),
        streamed(NUMBERS, compression="lz4"),
        streamed(pa.table({"a": pa.array(["x", "y"]).dictionary_encode()})),
        streamed(pa.table({"a": pa.nulls(10**9)})),
        streamed(pa.table({"a": [[1]]})),
        streamed(pa.table({})),
    ],
)
def test_a_broken_stream_is_an_error_and_fills_no_memory(broken: bytes) -> None:
    """A stream that is cut, forged, compressed or has other types is an error of two lines, and takes no memory."""
    used = pa.total_allocated_bytes()
    with pytest.raises(
        jf.ProtocolError, match=r"^The reply is not a valid Arrow stream: .+\nTry again"
    ) as caught:
        stream_to_frame(broken)
    assert str(caught.value).count("\n") == 1
    assert pa.total_allocated_bytes() - used < 10**5

"""Sizes and encodings of replies over real sockets: limited while streaming, complete or refused."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gzip
import json
import math
import random
import socket
import threading
import tracemalloc
import zlib
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import jupyter_funcs as jf
from jupyter_funcs.connection.replies import RUN_PATH, decompressed
from jupyter_funcs.connection.retries import Purpose
from jupyter_funcs.connection.transport import Terms
from jupyter_funcs.core import background
from tests.examples import row_id

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    import pandas as pd

    from jupyter_funcs.api import Session
    from jupyter_funcs.connection.replies import Reply

CANARY = "eyJhbGciOiJub25lIn0.Y2FuYXJ5LXRva2VuLW9mLXRoZS10ZXN0cw.c2lnbmF0dXJlLXBhcnQ"
LISTING = b'[{"name": "F"}]'
GZIP = {"content-encoding": "gzip"}
packed = functools.partial(gzip.compress, mtime=0)
MIB = 2**20
LIMIT = 64 * MIB
# The memory that a body of that many bytes may need at once: an eighth more, and its growth steps.
NEEDED = LIMIT * 9 // 8 + 4 * MIB


class Scripted:
    """A server on a socket that lists one function and answers each run with scripted bytes."""

    def __init__(self) -> None:
        self.reply: Iterable[bytes] = ()
        # Set when the connection may close after the reply.
        self.hold = threading.Event()
        self.hold.set()
        self.heads: list[bytes] = []
        self.sent = 0
        self.stopped = False
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.listening.settimeout(0.1)
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"

    def serve(self) -> None:
        with self.listening:
            while not self.stopped:
                with contextlib.suppress(TimeoutError):
                    connection, _ = self.listening.accept()
                    with connection, contextlib.suppress(OSError):
                        connection.settimeout(60)
                        # What is sent is received.
                        connection.setsockopt(
                            socket.SOL_SOCKET, socket.SO_SNDBUF, 65536
                        )
                        self.answer(connection)

    def answer(self, connection: socket.socket) -> None:
        request = b""
        while b"\r\n\r\n" not in request:
            request += connection.recv(65536)
        head, _, body = request.partition(b"\r\n\r\n")
        length = int(
            dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])[
                b"content-length"
            ]
        )
        while len(body) < length:
            body += connection.recv(65536)
        self.sent = 0
        if RUN_PATH.encode() not in head:
            connection.sendall(b"".join(http(LISTING)))
            return
        self.heads.append(head.lower())
        for piece in self.reply:
            connection.sendall(piece)
            self.sent += len(piece)
        self.hold.wait(60)


def http(
    *pieces: bytes,
    headers: dict[str, str] | None = None,
    status: int = 200,
    chunked: bool = False,
) -> Iterator[bytes]:
    """Return a reply as a service sends it: in pieces, chunked or with a Content-Length."""
    framing = (
        {"transfer-encoding": "chunked"}
        if chunked
        else {"content-length": str(sum(map(len, pieces)))}
    )
    fields = {
        "content-type": "application/json",
        "connection": "close",
        **framing,
        **(headers or {}),
    }
    lines = [
        f"HTTP/1.1 {status} So",
        *(f"{key}: {value}" for key, value in fields.items()),
        "",
        "",
    ]
    yield "\r\n".join(lines).encode()
    for piece in filter(None, pieces):
        if chunked:
            yield b"%x\r\n" % len(piece)
        yield piece
        if chunked:
            yield b"\r\n"
    if chunked:
        yield b"0\r\n\r\n"


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Scripted, Session]]:
    server = Scripted()
    thread = threading.Thread(target=server.serve)
    thread.start()
    session = jf.connect(server.url, token=CANARY)
    server.reply = list(http(b"[]"))
    session.f()  # what it imports is not to be measured
    yield server, session
    session.close()
    server.stopped = True
    thread.join(60)


@pytest.fixture
def scripted(running: tuple[Scripted, Session]) -> Iterator[tuple[Scripted, Session]]:
    """The server and a session; after each test a healthy run works."""
    server, session = running
    server.heads.clear()
    yield running
    server.hold.set()
    server.reply = list(http(b'[{"a": 1}]'))
    assert session.f()["a"].tolist() == [1]


def run(session: Session, max_bytes: int = 2**30) -> pd.DataFrame:
    # A busy machine inflates slowly.
    return session.f.with_options(max_bytes=max_bytes, timeout=60)()


def post(session: Session, max_bytes: int = 2**30) -> Reply:
    """Return the reply to a run before it is decoded."""
    send = session.remote.transport.send(
        f"POST {RUN_PATH}", {}, Terms(Purpose.RUN, math.inf, max_bytes)
    )
    return background.wait(background.start(send))


def refused(
    session: Session, error: type[jf.FuncsError], message: str, max_bytes: int = 2**30
) -> str:
    """Run; return the text of the error, which has that class, is short and doesn't contain the token."""
    with pytest.raises(error, match=message) as caught:
        run(session, max_bytes)
    assert 1 <= len(caught.value.lines) <= 3
    for part in CANARY.split("."):
        assert part not in str(caught.value)
    return str(caught.value)


@contextlib.contextmanager
def allocating(at_most: int) -> Iterator[None]:
    """Check that the block allocates at most this many bytes at a time."""
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before <= at_most, (
        f"{(peak - before) / MIB:.1f} MiB at once, {at_most / MIB:.1f} MiB allowed"
    )


# --- bombs ---


@functools.cache
def bomb(gibibytes: int = 10, text: bytes = b"[") -> bytes:
    """Return gzip data of a text and many blanks, 1/1000 of their size, without checksums."""
    packer = zlib.compressobj(9, wbits=31)
    start = packer.compress(text + b" " * MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    # A block that may be repeated.
    block = packer.compress(b" " * MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + block * (1024 * gibibytes)


def split(data: bytes, length: int) -> list[bytes]:
    return [data[start : start + length] for start in range(0, len(data), length)]


@pytest.mark.slow
def test_what_was_read_of_a_bomb_is_not_kept(
    scripted: tuple[Scripted, Session],
) -> None:
    """The error of a reply that is too large holds none of it, not even in its traceback."""
    server, session = scripted
    server.reply = list(http(bomb(), headers=GZIP))
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        with pytest.raises(jf.ReplyTooLargeError) as caught:
            run(session, LIMIT)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < MIB, caught.value


@pytest.mark.slow
@pytest.mark.parametrize("keys", [4400, 19_000], ids=["read", "refused"])
def test_a_new_key_per_record_ends_by_the_deadline(
    scripted: tuple[Scripted, Session], keys: int
) -> None:
    """A table with nearly 20 million cells takes no longer than its timeout; a larger one is refused (FAULTS 124)."""
    server, session = scripted
    server.reply = list(
        http(json.dumps([{f"{key:x}": 1} for key in range(keys)]).encode())
    )
    function = session.f.with_options(timeout=20)
    if keys == 4400:
        assert function().shape == (4400, 4400)
    else:
        with (
            allocating(30 * MIB),
            pytest.raises(jf.ReplyTooLargeError, match="19,000 rows"),
        ):
            function()


def test_a_chunk_of_a_few_bytes_may_be_the_bomb(
    scripted: tuple[Scripted, Session],
) -> None:
    """A limit of 1,000 bytes applies to one chunk of 16 kB that would expand to 16 MiB."""
    server, session = scripted
    server.reply = list(http(bomb()[:16384], headers=GZIP, chunked=True))
    with allocating(3 * MIB):
        refused(session, jf.ReplyTooLargeError, "larger than max_bytes = 1,000", 1000)


@pytest.mark.slow
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_the_head_of_an_error_that_is_a_bomb_is_enough(
    scripted: tuple[Scripted, Session], status: int
) -> None:
    """An error's text is cut at 64 kB, even if it expands to 10 GiB, and its size is never an error."""
    server, session = scripted
    server.reply = list(
        http(bomb(text=b"The pump is down."), headers=GZIP, status=status)
    )
    with allocating(4 * MIB), pytest.raises(jf.FuncsError) as caught:
        run(session, 1000)
    assert not isinstance(caught.value, jf.ReplyTooLargeError | jf.ProtocolError)
    assert ("The pump is down." in str(caught.value)) == (status != 404)


def test_a_plain_error_without_an_end_is_cut(
    scripted: tuple[Scripted, Session],
) -> None:
    """An endless error text is cut too."""
    server, session = scripted
    server.reply = list(http(b"The pump is down." + b" " * (16 * MIB), status=500))
    with allocating(4 * MIB):
        refused(session, jf.ServerError, "The pump is down", 1000)
    assert server.sent < 16 * MIB


class Counted(httpx.SyncByteStream):
    """The pieces of a body, counted when they are requested."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.pieces = pieces
        self.asked = 0
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            self.asked += 1
            yield piece

    def close(self) -> None:
        self.closed = True


class AsynchronouslyCounted(httpx.AsyncByteStream):
    """The same on the loop."""

    def __init__(self, counted: Counted) -> None:
        self.counted = counted

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.counted:
            yield piece

    async def aclose(self) -> None:
        self.counted.close()


class Synchronous(httpx.BaseTransport):
    def __init__(self, answer: Callable[[], httpx.Response]) -> None:
        self.answer = answer

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if RUN_PATH in str(request.url):
            return self.answer()
        return httpx.Response(200, content=LISTING)


class Asynchronous(httpx.AsyncBaseTransport):
    def __init__(self, answer: Callable[[], httpx.Response]) -> None:
        self.inner = Synchronous(answer)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return self.inner.handle_request(request)


class Reading(Synchronous):
    """A transport that reads each reply before returning it, like one that logs."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        response.read()
        return response


def through(transport: httpx.AsyncBaseTransport | httpx.BaseTransport) -> Session:
    return jf.connect("https://service.example", token=CANARY, transport=transport)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Asynchronous, Synchronous])
@pytest.mark.parametrize("gzipped", [True, False], ids=["gzip", "plain"])
def test_no_piece_after_the_limit_is_asked_for(
    kind: type[Asynchronous | Synchronous], gzipped: bool
) -> None:
    """A user's own transport streams too: reading stops at the fifth piece of 16 MiB and closes it."""
    packer = zlib.compressobj(9, wbits=31)
    block = packer.compress(b" " * (16 * MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    rest = packer.compress(b" " * (16 * MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    body = Counted([block] + [rest] * 100 if gzipped else [b" " * (16 * MIB)] * 100)
    stream = AsynchronouslyCounted(body) if kind is Asynchronous else body
    session = through(
        kind(
            lambda: httpx.Response(200, headers=GZIP if gzipped else {}, stream=stream)
        )
    )
    with allocating(NEEDED):
        refused(session, jf.ReplyTooLargeError, f"max_bytes = {LIMIT:,}", LIMIT)
    assert (body.asked, body.closed) == (5, True)


@pytest.mark.slow
def test_a_bomb_of_an_application_in_process_stops_at_the_limit() -> None:
    """An ASGI application replies in one piece; it is decompressed only up to the limit."""
    data = bomb()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        run = scope["path"].endswith(RUN_PATH)
        headers = [(b"content-encoding", b"gzip")] if run else []
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": data if run else LISTING})

    session = through(httpx.ASGITransport(app))
    assert session.names == ["F"]
    with allocating(NEEDED):
        refused(session, jf.ReplyTooLargeError, f"max_bytes = {LIMIT:,}", LIMIT)


def test_the_loop_goes_on_while_one_piece_is_inflated() -> None:
    """Other tasks run between two parts of a piece, so that a run can be cancelled."""
    parts = 0
    turns = 0

    async def inflate() -> None:
        nonlocal parts

        async def pieces() -> AsyncIterator[bytes]:
            yield bomb()[:65536]

        with contextlib.suppress(jf.ProtocolError):
            async for part in decompressed(pieces()):
                assert len(part) <= MIB
                parts += 1

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def both() -> None:
        beside = asyncio.create_task(others())
        await inflate()
        beside.cancel()

    asyncio.run(both())
    assert turns >= parts >= 64


# --- what is announced, and what is kept ---


def test_a_content_length_over_the_limit_is_refused_before_the_body(
    scripted: tuple[Scripted, Session],
) -> None:
    """A plain reply with a too large Content-Length is refused before its body is read."""
    server, session = scripted
    server.hold.clear()
    server.reply = [next(http(headers={"content-length": str(LIMIT + 1)}))]
    refused(session, jf.ReplyTooLargeError, f"larger than max_bytes = {LIMIT:,}", LIMIT)


@pytest.mark.parametrize("chunked", [True, False], ids=["chunked", "content-length"])
@pytest.mark.parametrize("gzipped", [True, False], ids=["gzip", "plain"])
@pytest.mark.parametrize("length", [1, 4000])  # gzip makes the first longer
def test_the_limit_is_exact(
    scripted: tuple[Scripted, Session], chunked: bool, gzipped: bool, length: int
) -> None:
    """A reply of max_bytes is read, one byte more is refused; the decompressed size counts."""
    server, session = scripted
    body = json.dumps([{"a": "x" * length}]).encode()
    data, headers = (packed(body), GZIP) if gzipped else (body, {})
    server.reply = list(http(*split(data, 1000), headers=headers, chunked=chunked))
    assert post(session, len(body)).data == body
    refused(session, jf.ReplyTooLargeError, "with_options", len(body) - 1)


@pytest.mark.slow
@pytest.mark.parametrize("gzipped", [True, False], ids=["gzip", "plain"])
def test_a_body_is_held_once(scripted: tuple[Scripted, Session], gzipped: bool) -> None:
    """A reply of 32 MiB is never held twice while it is received."""
    server, session = scripted
    body = random.Random(1).randbytes(MIB).hex().encode() * 16
    data, headers = (packed(body, 1), GZIP) if gzipped else (body, {})
    server.reply = list(http(data, headers=headers))
    with allocating(len(body) * 9 // 8 + 4 * MIB):
        reply = post(session)
    assert reply.data == body


def test_a_reply_in_one_piece_is_not_copied() -> None:
    """A reply that arrives in one piece isn't copied."""
    body = b"[" + b" " * MIB + b"]"
    session = through(Asynchronous(lambda: httpx.Response(200, content=body)))
    assert post(session).data is body


# --- how it is packed ---


def test_the_encoding_of_an_error_is_ignored(
    scripted: tuple[Scripted, Session],
) -> None:
    """Only gzip is asked for; an error in any other encoding keeps its status."""
    server, session = scripted
    for header in ("br", "gzip, gzip", "*"):
        server.reply = list(
            http(
                packed(packed(b"[]")), headers={"content-encoding": header}, status=500
            )
        )
        refused(session, jf.ServerError, "500")
    assert b"\r\naccept-encoding: gzip\r\n" in server.heads[0]


@pytest.mark.parametrize("chunked", [True, False], ids=["chunked", "content-length"])
def test_gzip_that_is_cut_short_is_never_short_data(
    scripted: tuple[Scripted, Session], chunked: bool
) -> None:
    """A gzip body that ends early is a ProtocolError that names the byte."""
    server, session = scripted
    data = packed(b'[{"a": 1}, {"a": 2}]')
    for cut in range(1, len(data)):
        server.reply = list(http(data[:cut], headers=GZIP, chunked=chunked))
        refused(
            session, jf.ProtocolError, f"cut short: its gzip data end at byte {cut}\\."
        )
    server.reply = list(http(data, headers=GZIP, chunked=chunked))
    assert run(session)["a"].tolist() == [1, 2]


@pytest.mark.slow
def test_gzip_with_a_wrong_bit_is_never_wrong_data(
    scripted: tuple[Scripted, Session],
) -> None:
    """A gzip body with one flipped bit is a ProtocolError with an offset, or the same data."""
    server, session = scripted
    data = packed(b'[{"a": 1}, {"a": 2}]')
    unread = {4, 5, 6, 7, 8, 9}  # RFC 1952: time, extra flags, system
    for bit in range(8 * len(data)):
        wrong = bytearray(data)
        wrong[bit // 8] ^= 1 << bit % 8
        server.reply = list(http(bytes(wrong), headers=GZIP))
        if bit // 8 in unread or bit == 24:  # or the flag "is text"
            assert run(session)["a"].tolist() == [1, 2]
        else:
            refused(
                session,
                jf.ProtocolError,
                rf"byte {len(data)}[.:]|continues after its gzip data, at byte \d",
            )


FIRST = packed(b'[{"a": 1},')
SECOND = packed(b' {"a": 2}]')


MEMBERS = {
    "two members": (FIRST + SECOND, ""),
    "empty members": (FIRST + packed(b"") + SECOND + packed(b""), ""),
    "zeros after": (
        FIRST + SECOND + b"\0" * 8,
        f"continues after its gzip data, at byte {len(FIRST + SECOND)}\\.",
    ),
    "text after": (
        FIRST + SECOND + b"[]",
        f"continues after its gzip data, at byte {len(FIRST + SECOND)}\\.",
    ),
    "magic after": (FIRST + SECOND + b"\x1f[]", "incorrect header check"),
    "half plain": (
        FIRST + b'{"a": 2}]',
        f"continues after its gzip data, at byte {len(FIRST)}\\.",
    ),
    "second cut": (FIRST + SECOND[:-1], f"end at byte {len(FIRST + SECOND) - 1}\\."),
}


@pytest.mark.parametrize(
    "length", [2**20, 1, 7], ids=["one piece", "single bytes", "7 bytes"]
)
@pytest.mark.parametrize(("data", "message"), MEMBERS.values(), ids=MEMBERS)
def test_gzip_is_read_to_its_end(
    scripted: tuple[Scripted, Session], data: bytes, message: str, length: int
) -> None:
    """Consecutive gzip members are one body; anything else after it is refused, with its offset."""
    server, session = scripted
    server.reply = list(http(*split(data, length), headers=GZIP, chunked=True))
    if message:
        refused(session, jf.ProtocolError, message)
    else:
        assert run(session)["a"].tolist() == [1, 2]


@pytest.mark.parametrize("length", [2**20, 65536, 1000])
def test_a_long_gzip_body_is_whole(
    scripted: tuple[Scripted, Session], length: int
) -> None:
    """A body of many pieces, compressible or not, is decompressed to the original."""
    server, session = scripted
    noise = random.Random(2).randbytes(200_000).hex().encode()
    body = b'["' + noise + b"x" * (5 * MIB) + noise + b"y" * (3 * MIB + 17) + b'"]'
    server.reply = list(http(*split(packed(body), length), headers=GZIP, chunked=True))
    assert post(session).data == body


def test_a_gzip_body_may_end_with_its_connection(
    scripted: tuple[Scripted, Session],
) -> None:
    """Without length or chunks the body ends with the connection; gzip shows whether it is complete."""
    server, session = scripted
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
    server.reply = [head, FIRST + SECOND]
    assert run(session)["a"].tolist() == [1, 2]
    server.reply = [head, (FIRST + SECOND)[:-1]]
    refused(session, jf.ProtocolError, "cut short")


def test_an_error_is_told_from_gzip_that_is_cut_short(
    scripted: tuple[Scripted, Session],
) -> None:
    """An error with broken gzip text keeps its status and the readable part of its text."""
    server, session = scripted
    noise = random.Random(3).randbytes(20_000).hex().encode()
    data = packed(b"The pump is down. " + noise)
    for body in (
        data[:-1],
        data[: len(data) // 2],
        data[:-8] + b"\0" * 8,
        data + b"[]",
    ):
        server.reply = list(
            http(*split(body, 4096), headers=GZIP, status=503, chunked=True)
        )
        refused(session, jf.ServerError, "503.*The pump is down")
    server.reply = list(http(b"junk", headers=GZIP, status=403))
    refused(session, jf.PermissionDeniedError, "not allowed")


@pytest.mark.parametrize(
    "kind",
    [
        Asynchronous,
        Synchronous,
        Reading,
        lambda answer: httpx.MockTransport(
            lambda request: (
                answer()
                if RUN_PATH in str(request.url)
                else httpx.Response(200, content=LISTING)
            )
        ),
    ],
    ids=["asynchronous", "synchronous", "reading", "function"],
)
@pytest.mark.parametrize("way", ["bytes", "stream", "generator"])
def test_a_transport_of_the_users_own_is_held_to_the_same(
    kind: Callable[[Callable[[], httpx.Response]], Any], way: str
) -> None:
    """A user's replies (bytes, streams, or already read) are decompressed once and limited."""
    headers = dict(GZIP)
    data = FIRST + SECOND

    def answer() -> httpx.Response:
        if way == "stream":
            body = Counted([data[:5], data[5:]])
            stream = AsynchronouslyCounted(body) if kind is Asynchronous else body
            return httpx.Response(200, headers=headers, stream=stream)
        content = (
            (data[start : start + 9] for start in range(0, len(data), 9))
            if way == "generator"
            else data
        )
        return httpx.Response(200, headers=headers, content=content)

    # It stops at the end of the first member.
    read_by_httpx = kind is Reading and way != "bytes"
    session = through(kind(answer))
    if not read_by_httpx:
        assert run(session)["a"].tolist() == [1, 2]
        data = (FIRST + SECOND)[:-1]
        refused(session, jf.ProtocolError, f"end at byte {len(data)}\\.")
    data = packed(b'[{"a": 1}]')
    assert run(session)["a"].tolist() == [1]
    refused(session, jf.ReplyTooLargeError, "max_bytes = 9", 9)
    data = b"junk"
    refused(
        session, jf.ProtocolError, "compressed reply is corrupt|incorrect header check"
    )
    data = packed(b'[{"a": 1}]')
    headers["content-encoding"] = "x-gzip"
    assert run(session)["a"].tolist() == [1]
    headers["content-encoding"] = "gzip, br"
    refused(session, jf.ProtocolError, "encoding is 'gzip, br'")
    headers = {}
    data = b'[{"a": 2}]'
    assert run(session)["a"].tolist() == [2]


# --- what is in it ---


MEDIA_TYPES: dict[str, bool] = {
    "application/json": False,
    "": False,
    "text/plain": False,
    "application/x-ndjson": True,
    "Application/X-NDJSON; charset=utf-8": True,
    "application/jsonl": True,
    "application/jsonlines": True,
    "application/json-lines": True,
    "application/x-jsonlines;v=1": True,
    "application/x-ndjsonx": False,
    "text/html; application/x-ndjson": False,
}


@pytest.mark.parametrize(
    ("media_type", "lines"), MEDIA_TYPES.items(), ids=map(row_id, MEDIA_TYPES)
)
def test_a_reply_says_whether_it_is_lines(
    scripted: tuple[Scripted, Session], media_type: str, lines: bool
) -> None:
    """Only the media types of NDJSON, in any case and with any parameters, mean lines."""
    server, session = scripted
    server.reply = list(
        http(b'{"a": 1}\n{"a": 2}\n', headers={"content-type": media_type})
    )
    reply = post(session)
    assert (reply.lines, reply.data) == (lines, b'{"a": 1}\n{"a": 2}\n')

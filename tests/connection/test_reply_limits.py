"""What a reply may weigh and how it may be packed: bounded while it streams, whole or refused; over real sockets."""

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
from jupyter_funcs import loop
from jupyter_funcs.exchange import RUN_PATH
from jupyter_funcs.inflate import inflated
from jupyter_funcs.retries import Purpose
from jupyter_funcs.transport import Terms

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    import pandas as pd

    from jupyter_funcs.reply import Reply
    from jupyter_funcs.session import Session

CANARY = "eyJhbGciOiJub25lIn0.Y2FuYXJ5LXRva2VuLW9mLXRoZS10ZXN0cw.c2lnbmF0dXJlLXBhcnQ"
LISTING = b'[{"name": "F"}]'
GZIP = {"content-encoding": "gzip"}
packed = functools.partial(gzip.compress, mtime=0)
MIB = 2**20
LIMIT = 64 * MIB
# What may be needed at once to hold a body of that many bytes: an eighth more, and the steps of it.
NEEDED = LIMIT * 9 // 8 + 4 * MIB


class Scripted:
    """A server on a socket that lists one function and answers each run with the bytes it is told."""

    def __init__(self) -> None:
        self.reply: Iterable[bytes] = ()
        self.hold = threading.Event()  # set when the connection may close after the reply
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
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)  # what is sent is received
                        self.answer(connection)

    def answer(self, connection: socket.socket) -> None:
        request = b""
        while b"\r\n\r\n" not in request:
            request += connection.recv(65536)
        head, _, body = request.partition(b"\r\n\r\n")
        length = int(dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])[b"content-length"])
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
        self.hold.wait(5)


def http(
    *pieces: bytes, headers: dict[str, str] | None = None, status: int = 200, chunked: bool = False
) -> Iterator[bytes]:
    """Give a reply as a service sends it: its pieces one by one, as chunks or under a Content-Length."""
    framing = {"transfer-encoding": "chunked"} if chunked else {"content-length": str(sum(map(len, pieces)))}
    fields = {"content-type": "application/json", "connection": "close", **framing, **(headers or {})}
    lines = [f"HTTP/1.1 {status} So", *(f"{key}: {value}" for key, value in fields.items()), "", ""]
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
    thread.join(10)


@pytest.fixture
def scripted(running: tuple[Scripted, Session]) -> Iterator[tuple[Scripted, Session]]:
    """The server and a session with it; after whatever happened, a healthy run works."""
    server, session = running
    server.heads.clear()
    yield running
    server.hold.set()
    server.reply = list(http(b'[{"a": 1}]'))
    assert session.f()["a"].tolist() == [1]


def run(session: Session, max_bytes: int = 2**30) -> pd.DataFrame:
    return session.f.with_options(max_bytes=max_bytes, timeout=60)()  # a busy machine inflates slowly


def post(session: Session, max_bytes: int = 2**30) -> Reply:
    """Give the reply to a run as it is before it is read."""
    send = session._wire.transport.post(RUN_PATH, {}, Terms(Purpose.RUN, math.inf, max_bytes))
    return loop.wait(loop.start(send))


def refused(session: Session, error: type[jf.FuncsError], said: str, max_bytes: int = 2**30) -> str:
    """Run, and give the text of the error, which is of that class, short, and without the token."""
    with pytest.raises(error, match=said) as caught:
        run(session, max_bytes)
    assert 1 <= len(caught.value.lines) <= 3
    for part in CANARY.split("."):
        assert part not in str(caught.value)
    return str(caught.value)


@contextlib.contextmanager
def allocating(at_most: int) -> Iterator[None]:
    """Hold what is allocated at once within to that many bytes."""
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before <= at_most, f"{(peak - before) / MIB:.1f} MiB at once, {at_most / MIB:.1f} MiB allowed"


# --- bombs ---


@functools.cache
def bomb(gibibytes: int = 10, text: bytes = b"[") -> bytes:
    """Give gzip data, 1/1000 as long as the text and very many blanks that they hold; the check sums are missing."""
    packer = zlib.compressobj(9, wbits=31)
    start = packer.compress(text + b" " * (16 * MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b" " * (16 * MIB)) + packer.flush(zlib.Z_FULL_FLUSH)  # a block that may be repeated
    return start + block * (64 * gibibytes)


def test_the_bomb_is_one() -> None:
    """The data that the tests below call a bomb hold a thousand times what they are."""
    data = bomb()
    assert len(data) * 980 < 10 * 2**30
    unpacker = zlib.decompressobj(wbits=31)
    assert len(unpacker.decompress(data[: len(data) // 100])) > len(data) * 9


def split(data: bytes, length: int) -> list[bytes]:
    return [data[start : start + length] for start in range(0, len(data), length)]


@pytest.mark.parametrize("chunked", [True, False], ids=["chunked", "content-length"])
@pytest.mark.parametrize("length", [2**30, 16384, 1000], ids=["one piece", "16 kB", "1 kB"])
def test_a_bomb_stops_at_the_limit(scripted: tuple[Scripted, Session], length: int, chunked: bool) -> None:
    """Gzip data of 10 GiB are too large at 64 MiB, and take no more memory than a reply of 64 MiB does."""
    server, session = scripted
    server.reply = list(http(*split(bomb(), length), headers=GZIP, chunked=chunked))
    with allocating(NEEDED):
        refused(session, jf.ReplyTooLargeError, f"larger than max_bytes = {LIMIT:,}", LIMIT)
    assert server.sent < sum(map(len, server.reply))


def test_what_was_read_of_a_bomb_is_not_kept(scripted: tuple[Scripted, Session]) -> None:
    """The error of a reply that is too large holds nothing of it, in its traceback neither."""
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


def test_a_chunk_of_a_few_bytes_may_be_the_bomb(scripted: tuple[Scripted, Session]) -> None:
    """A limit of 1,000 bytes holds for one chunk of 16 kB that would inflate to 16 MiB."""
    server, session = scripted
    server.reply = list(http(bomb()[:16384], headers=GZIP, chunked=True))
    with allocating(3 * MIB):
        refused(session, jf.ReplyTooLargeError, "larger than max_bytes = 1,000", 1000)


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_the_head_of_an_error_that_is_a_bomb_is_enough(scripted: tuple[Scripted, Session], status: int) -> None:
    """An error's text is cut at 64 kB, also when it inflates to 10 GiB, and is never itself an error for its size."""
    server, session = scripted
    server.reply = list(http(bomb(text=b"The pump is down."), headers=GZIP, status=status))
    with allocating(4 * MIB), pytest.raises(jf.FuncsError) as caught:
        run(session, 1000)
    assert not isinstance(caught.value, jf.ReplyTooLargeError | jf.ProtocolError)
    assert ("The pump is down." in str(caught.value)) == (status != 404)


def test_a_plain_error_without_an_end_is_cut(scripted: tuple[Scripted, Session]) -> None:
    """An error's text that never ends is cut too."""
    server, session = scripted
    server.reply = list(http(b"The pump is down." + b" " * (16 * MIB), status=500))
    with allocating(4 * MIB):
        refused(session, jf.ServerError, "The pump is down", 1000)
    assert server.sent < 16 * MIB


class Counted(httpx.SyncByteStream):
    """Pieces of a body, counted as they are asked for."""

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


class Asynchronous(httpx.AsyncBaseTransport):
    def __init__(self, answer: Callable[[], httpx.Response]) -> None:
        self.answer = answer

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=LISTING) if RUN_PATH not in str(request.url) else self.answer()


class Synchronous(httpx.BaseTransport):
    def __init__(self, answer: Callable[[], httpx.Response]) -> None:
        self.answer = answer

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=LISTING) if RUN_PATH not in str(request.url) else self.answer()


class Reading(Synchronous):
    """A transport that reads each reply itself before it gives it on, as one that logs them does."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        response.read()
        return response


def through(transport: httpx.AsyncBaseTransport | httpx.BaseTransport) -> Session:
    return jf.connect("https://service.example", token=CANARY, transport=transport)


@pytest.mark.parametrize("kind", [Asynchronous, Synchronous])
@pytest.mark.parametrize("gzipped", [True, False], ids=["gzip", "plain"])
def test_no_piece_after_the_limit_is_asked_for(kind: type[Asynchronous | Synchronous], gzipped: bool) -> None:
    """A transport of the user's own streams too: the fifth piece of 16 MiB ends it, and closes."""
    packer = zlib.compressobj(9, wbits=31)
    block = packer.compress(b" " * (16 * MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    rest = packer.compress(b" " * (16 * MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    body = Counted([block] + [rest] * 100 if gzipped else [b" " * (16 * MIB)] * 100)
    stream = AsynchronouslyCounted(body) if kind is Asynchronous else body
    session = through(kind(lambda: httpx.Response(200, headers=GZIP if gzipped else {}, stream=stream)))
    with allocating(NEEDED):
        refused(session, jf.ReplyTooLargeError, f"max_bytes = {LIMIT:,}", LIMIT)
    assert (body.asked, body.closed) == (5, True)


def test_a_bomb_of_an_application_in_process_stops_at_the_limit() -> None:
    """An ASGI application in process gives its whole reply as one piece; no more of it is inflated than the limit."""
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
    """Between two parts of a piece others on the loop have their turn, so that a run can be cancelled."""
    parts = 0
    turns = 0

    async def inflate() -> None:
        nonlocal parts

        async def pieces() -> AsyncIterator[bytes]:
            yield bomb()[:65536]

        with contextlib.suppress(jf.ProtocolError):
            async for part in inflated(pieces()):
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


def test_a_content_length_over_the_limit_is_refused_before_the_body(scripted: tuple[Scripted, Session]) -> None:
    """A plain reply that announces too much is too large before a byte of its body has come."""
    server, session = scripted
    server.hold.clear()
    server.reply = [next(http(headers={"content-length": str(LIMIT + 1)}))]
    refused(session, jf.ReplyTooLargeError, f"larger than max_bytes = {LIMIT:,}", LIMIT)


@pytest.mark.parametrize("chunked", [True, False], ids=["chunked", "content-length"])
@pytest.mark.parametrize("gzipped", [True, False], ids=["gzip", "plain"])
@pytest.mark.parametrize("length", [1, 4000])  # gzip makes the first longer
def test_the_limit_is_exact(scripted: tuple[Scripted, Session], chunked: bool, gzipped: bool, length: int) -> None:
    """A reply of max_bytes is read, one of a byte more is not; what counts is what it is inflated."""
    server, session = scripted
    body = json.dumps([{"a": "x" * length}]).encode()
    data, headers = (packed(body), GZIP) if gzipped else (body, {})
    server.reply = list(http(*split(data, 1000), headers=headers, chunked=chunked))
    assert post(session, len(body)).data == body
    refused(session, jf.ReplyTooLargeError, "with_options", len(body) - 1)


@pytest.mark.parametrize("gzipped", [True, False], ids=["gzip", "plain"])
def test_a_body_is_held_once(scripted: tuple[Scripted, Session], gzipped: bool) -> None:
    """While a reply of 32 MiB is put together, there is no second copy of it."""
    server, session = scripted
    body = random.Random(1).randbytes(MIB).hex().encode() * 16
    data, headers = (packed(body, 1), GZIP) if gzipped else (body, {})
    server.reply = list(http(data, headers=headers))
    with allocating(len(body) * 9 // 8 + 4 * MIB):
        reply = post(session)
    assert reply.data == body


def test_a_reply_in_one_piece_is_not_copied() -> None:
    """What a transport gives as one piece of bytes is the reply, and no copy of it."""
    body = b"[" + b" " * MIB + b"]"
    session = through(Asynchronous(lambda: httpx.Response(200, content=body)))
    assert post(session).data is body


# --- how it is packed ---


@pytest.mark.parametrize("header", ["", "identity", "Identity", "gzip", "GZIP", "x-gzip", "identity, gzip", "gzip,"])
def test_gzip_and_nothing_are_read(scripted: tuple[Scripted, Session], header: str) -> None:
    """A reply is plain or gzip, by whatever spelling; gzip is all that is asked for."""
    server, session = scripted
    body = b'[{"a": 1}, {"a": 2}]'
    data = packed(body) if "gzip" in header.lower() else body
    server.reply = list(http(data, headers={"content-encoding": header}))
    assert run(session)["a"].tolist() == [1, 2]
    assert b"\r\naccept-encoding: gzip\r\n" in server.heads[0]


@pytest.mark.parametrize(
    "header", ["gzip, gzip", "gzip,identity,gzip", "br", "zstd", "deflate", "compress", "gzip, br", "aws-chunked", "*"]
)
def test_any_other_encoding_is_named(scripted: tuple[Scripted, Session], header: str) -> None:
    """An encoding that was not asked for, or one within another, is a ProtocolError with its name; of an error not."""
    server, session = scripted
    body = packed(packed(b'[{"a": 1}]'))
    server.reply = list(http(body, headers={"content-encoding": header}))
    said = refused(session, jf.ProtocolError, "encoding is")
    assert f"'{header}'" in said
    server.reply = list(http(body, headers={"content-encoding": header}, status=500))
    refused(session, jf.ServerError, "500")


def test_a_token_in_the_name_of_an_encoding_is_not_shown(scripted: tuple[Scripted, Session]) -> None:
    """A service that sends the token back as an encoding has it shown nowhere."""
    server, session = scripted
    server.reply = list(http(b"[]", headers={"content-encoding": f"gzip; {CANARY}"}))
    assert "gzip; ****" in refused(session, jf.ProtocolError, "encoding is")


@pytest.mark.parametrize("chunked", [True, False], ids=["chunked", "content-length"])
def test_gzip_that_is_cut_short_is_never_short_data(scripted: tuple[Scripted, Session], chunked: bool) -> None:
    """A gzip body that ends early, wherever, is a ProtocolError that says at which byte."""
    server, session = scripted
    data = packed(b'[{"a": 1}, {"a": 2}]')
    for cut in range(1, len(data)):
        server.reply = list(http(data[:cut], headers=GZIP, chunked=chunked))
        refused(session, jf.ProtocolError, f"cut short: its gzip data end at byte {cut}\\.")
    server.reply = list(http(data, headers=GZIP, chunked=chunked))
    assert run(session)["a"].tolist() == [1, 2]


def test_gzip_with_a_wrong_bit_is_never_wrong_data(scripted: tuple[Scripted, Session]) -> None:
    """A gzip body with any one bit turned is a ProtocolError with a byte offset, or the same data (its time stamp)."""
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
            refused(session, jf.ProtocolError, rf"byte {len(data)}[.:]|goes on after its gzip data, at byte \d")


@pytest.mark.parametrize("at", [-8, -4], ids=["check sum", "length"])
def test_a_wrong_check_sum_after_many_pieces_is_found(scripted: tuple[Scripted, Session], at: int) -> None:
    """The check sum and the length at the end of a long gzip body hold for all of it."""
    server, session = scripted
    data = bytearray(packed(json.dumps([{"a": number} for number in range(300_000)]).encode()))
    data[at] ^= 1
    server.reply = list(http(*split(bytes(data), 50_000), headers=GZIP, chunked=True))
    refused(session, jf.ProtocolError, rf"and byte {len(data):,}: incorrect (data|length) check")


FIRST, SECOND = packed(b'[{"a": 1},'), packed(b' {"a": 2}]')


@pytest.mark.parametrize("length", [2**20, 1, 7], ids=["one piece", "single bytes", "7 bytes"])
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (FIRST + SECOND, ""),
        (FIRST + packed(b"") + SECOND + packed(b""), ""),
        (FIRST + SECOND + b"\0" * 8, f"goes on after its gzip data, at byte {len(FIRST + SECOND)}\\."),
        (FIRST + SECOND + b"[]", f"goes on after its gzip data, at byte {len(FIRST + SECOND)}\\."),
        (FIRST + SECOND + b"\x1f[]", "incorrect header check"),
        (FIRST + b'{"a": 2}]', f"goes on after its gzip data, at byte {len(FIRST)}\\."),
        (FIRST + SECOND[:-1], f"end at byte {len(FIRST + SECOND) - 1}\\."),
        (b'[{"a": 1}]', "between byte . and byte .*incorrect header check"),
        (zlib.compress(b'[{"a": 1}]'), "between byte . and byte .*incorrect header check"),
        (packed(packed(b'[{"a": 1}]')), "UTF-"),
        (packed(b""), "empty reply"),
        (packed(b" \r\n\t"), "empty reply"),
        (b"", "empty reply"),
    ],
    ids=[
        "two members",
        "empty members",
        "zeros after",
        "text after",
        "magic after",
        "half plain",
        "second cut",
        "plain",
        "zlib",
        "twice, said once",
        "of nothing",
        "of blanks",
        "nothing",
    ],
)
def test_gzip_is_read_to_its_end(scripted: tuple[Scripted, Session], data: bytes, said: str, length: int) -> None:
    """Gzip members after each other are one body; anything else after the end is refused, and where it begins said."""
    server, session = scripted
    server.reply = list(http(*split(data, length), headers=GZIP, chunked=True))
    if said:
        refused(session, jf.ProtocolError, said)
    else:
        assert run(session)["a"].tolist() == [1, 2]


@pytest.mark.parametrize("length", [2**20, 65536, 1000])
def test_a_long_gzip_body_is_whole(scripted: tuple[Scripted, Session], length: int) -> None:
    """A body of many steps and pieces, easy and hard to pack, comes out as it went in."""
    server, session = scripted
    noise = random.Random(2).randbytes(200_000).hex().encode()
    body = b'["' + noise + b"x" * (5 * MIB) + noise + b"y" * (3 * MIB + 17) + b'"]'
    server.reply = list(http(*split(packed(body), length), headers=GZIP, chunked=True))
    assert post(session).data == body


def test_a_gzip_body_may_end_with_its_connection(scripted: tuple[Scripted, Session]) -> None:
    """Without a length and without chunks the end of the connection is the end of the body; gzip tells if it is."""
    server, session = scripted
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
    server.reply = [head, FIRST + SECOND]
    assert run(session)["a"].tolist() == [1, 2]
    server.reply = [head, (FIRST + SECOND)[:-1]]
    refused(session, jf.ProtocolError, "cut short")


def test_an_error_is_told_from_gzip_that_is_cut_short(scripted: tuple[Scripted, Session]) -> None:
    """Of an error whose gzip text is broken the status is told, with as much of the text as there is."""
    server, session = scripted
    noise = random.Random(3).randbytes(20_000).hex().encode()
    data = packed(b"The pump is down. " + noise)
    for body in (data[:-1], data[: len(data) // 2], data[:-8] + b"\0" * 8, data + b"[]"):
        server.reply = list(http(*split(body, 4096), headers=GZIP, status=503, chunked=True))
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
            lambda request: answer() if RUN_PATH in str(request.url) else httpx.Response(200, content=LISTING)
        ),
    ],
    ids=["asynchronous", "synchronous", "reading", "function"],
)
@pytest.mark.parametrize("way", ["bytes", "stream", "generator"])
def test_a_transport_of_the_users_own_is_held_to_the_same(
    kind: Callable[[Callable[[], httpx.Response]], Any], way: str
) -> None:
    """Replies that a transport makes of bytes, streams or has read already are unpacked once, and held to the limit."""
    headers, data = dict(GZIP), FIRST + SECOND

    def answer() -> httpx.Response:
        if way == "stream":
            body = Counted([data[:5], data[5:]])
            stream = AsynchronouslyCounted(body) if kind is Asynchronous else body
            return httpx.Response(200, headers=headers, stream=stream)
        content = (data[start : start + 9] for start in range(0, len(data), 9)) if way == "generator" else data
        return httpx.Response(200, headers=headers, content=content)

    read_by_httpx = kind is Reading and way != "bytes"  # it stops at the end of the first member
    session = through(kind(answer))
    if not read_by_httpx:
        assert run(session)["a"].tolist() == [1, 2]
        data = (FIRST + SECOND)[:-1]
        refused(session, jf.ProtocolError, f"end at byte {len(data)}\\.")
    data = packed(b'[{"a": 1}]')
    assert run(session)["a"].tolist() == [1]
    refused(session, jf.ReplyTooLargeError, "max_bytes = 9", 9)
    data = b"junk"
    refused(session, jf.ProtocolError, "compression is broken|incorrect header check")
    data = packed(b'[{"a": 1}]')
    headers["content-encoding"] = "x-gzip"
    assert run(session)["a"].tolist() == [1]
    headers["content-encoding"] = "gzip, br"
    refused(session, jf.ProtocolError, "encoding is 'gzip, br'")
    headers, data = {}, b'[{"a": 2}]'
    assert run(session)["a"].tolist() == [2]


def test_a_synchronous_transport_of_httpx_streams(scripted: tuple[Scripted, Session]) -> None:
    """httpx's own synchronous transport is bounded like the network, and a broken reply is the same error."""
    server, _ = scripted
    with httpx.HTTPTransport() as transport:
        session = jf.connect(server.url, token=CANARY, transport=transport)
        server.reply = list(http(FIRST + SECOND, headers=GZIP, chunked=True))
        assert run(session)["a"].tolist() == [1, 2]
        server.reply = list(http(bomb(), headers=GZIP))
        with allocating(NEEDED):
            refused(session, jf.ReplyTooLargeError, f"max_bytes = {LIMIT:,}", LIMIT)
        assert server.sent < len(bomb())
        server.reply = list(http(b"[]", headers={"content-length": "100"}))
        refused(session, jf.ServiceConnectionError, "broke.* after 2 bytes")
        server.hold.clear()
        with pytest.raises(jf.DeadlineError, match=r"0\.3 s"):
            session.f.with_options(timeout=0.3)()


# --- what is in it ---


@pytest.mark.parametrize("gzipped", [True, False], ids=["gzip", "plain"])
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'[{"a": 1}, {"a": 2', "cut short: it ends at byte 18"),
        (b'[{"a": "half', "cut short: it ends at byte 12"),
        (b'[{"a": "\xc3', "cut short: it ends at byte 9"),
        (b'[{"a": "\xff"}]', "not UTF-8 at byte 8"),
        (b'[{"a": 1}]\xfe', "not UTF-8 at byte 10"),
        (b'[{"a": 1}] {"a": 2}', "goes on after its JSON document, at byte 11"),
        (b"[1, oops]", "not JSON at byte 4"),
        ('[{"a": 1}]'.encode("utf-16"), "UTF-16"),
    ],
)
@pytest.mark.parametrize("echo", [b"", CANARY.encode()], ids=["", "with the token"])
def test_a_broken_document_is_told_by_its_byte(
    scripted: tuple[Scripted, Session], body: bytes, said: str, gzipped: bool, echo: bytes
) -> None:
    """A reply whose JSON is broken says at which byte, once it is inflated, and repeats no token that it holds."""
    server, session = scripted
    body += echo
    server.reply = list(http(packed(body) if gzipped else body, headers=GZIP if gzipped else {}))
    refused(session, jf.ProtocolError, said if not echo else "byte|UTF-16")


@pytest.mark.parametrize(
    ("media_type", "lines"),
    [
        ("application/json", False),
        ("", False),
        ("text/plain", False),
        ("application/x-ndjson", True),
        ("Application/X-NDJSON; charset=utf-8", True),
        ("application/jsonl", True),
        ("application/jsonlines", True),
        ("application/json-lines", True),
        ("application/x-jsonlines;v=1", True),
        ("application/x-ndjsonx", False),
        ("text/html; application/x-ndjson", False),
    ],
)
def test_a_reply_says_whether_it_is_lines(scripted: tuple[Scripted, Session], media_type: str, lines: bool) -> None:
    """Only the media types of JSON lines, in any case and with any parameters, say that a reply is lines."""
    server, session = scripted
    server.reply = list(http(b'{"a": 1}\n{"a": 2}\n', headers={"content-type": media_type}))
    reply = post(session)
    assert (reply.lines, reply.data) == (lines, b'{"a": 1}\n{"a": 2}\n')

"""Rows 121 to 123 and 127: proxies, pages that take long to read, bytes after a reply, ends that may be missing."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
import warnings
import zlib
from typing import TYPE_CHECKING, Any

import pytest

import jupyter_funcs as jf
from jupyter_funcs.connection import http
from jupyter_funcs.connection.secrets import Hidden
from jupyter_funcs.core import background
from tests.faults.canary import CANARY, leaks
from tests.faults.server import ROWS, Connection, Faulty, faulty, raw, reply
from tests.faults.test_transport_faults import (
    AUTHORITY,
    context_of,
    free_port,
    listed,
    moved,
    server,
    trusted,
)
from tests.growth import assert_linear

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_funcs.api import Session
    from tests.faults.server import Act

__all__ = ["server", "trusted"]  # fixtures

MIB = 2**20
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
NDJSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"


def whole(body: bytes, head: bytes = OK) -> bytes:
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


WRONG = whole(json.dumps({"error": None, "body": json.dumps([{"n": 666}])}).encode())


# --- 121: proxies ---


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    """A proxy in all variables of the environment, which refuses what it is asked for."""
    with faulty(otherwise=reply(b"", "502 Bad Gateway")) as proxy:
        for name in (
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "http_proxy",
            "https_proxy",
            "all_proxy",
        ):
            monkeypatch.setenv(
                name, proxy.url.replace("://", "://someone:pr0xy-Passw0rd@")
            )
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        yield proxy


@pytest.mark.fault(121)
@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_loopback_is_reached_without_a_proxy(
    proxy: Faulty, host: str, tls: bool
) -> None:
    """Runs and logins work, and the proxy never learns of them; a company's certificates are still trusted."""
    with faulty(context_of(AUTHORITY.issue_cert(host)) if tls else None) as server:
        session = jf.connect(server.url.replace("127.0.0.1", host), token=CANARY)
        assert len(session.f(a="1")) == 2
        with pytest.raises(jf.ProtocolError, match="returned no token"):
            background.run(
                session.remote.transport.login("ann@acme.example", Hidden(CANARY))
            )
        session.close()
    assert len(server.requests) == 3
    assert (proxy.connections, proxy.requests) == (0, [])


@pytest.mark.fault(121)
@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.2",
        "127.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "LOCALHOST",
        "localhost.",
        "funcs.localhost",
    ],
)
def test_every_name_of_loopback_is_reached_without_a_proxy(
    proxy: Faulty, server: Faulty, host: str
) -> None:
    """Nobody listens there, which the error says; the proxy isn't asked."""
    session = moved(server, f"https://{host}:{free_port()}")
    with pytest.raises(jf.ServiceConnectionError, match="Cannot reach"):
        session.f.with_options(retries=0)(a="1")
    assert proxy.connections == 0


@pytest.mark.fault(121)
def test_no_proxy_is_sent_what_is_not_encrypted(proxy: Faulty, server: Faulty) -> None:
    """An address without TLS that isn't loopback is refused, when it is passed and when a request would go there."""
    with pytest.raises(jf.ConfigError, match="unencrypted"):
        jf.connect("http://service.example", token=CANARY)
    session = moved(server, "http://service.invalid")
    with pytest.raises(
        jf.ConfigError,
        match=r"http://service\.invalid would send your token unencrypted",
    ):
        session.f.with_options(retries=0)(a="1")
    assert proxy.connections == 0


@pytest.mark.fault(121)
@pytest.mark.usefixtures("trusted")
def test_a_proxy_sees_only_where_a_request_goes(proxy: Faulty) -> None:
    """With TLS the proxy forwards a tunnel: it sees the host, and neither the token nor a password."""
    seen = bytearray()

    def tunnel(connection: Connection) -> None:
        seen.extend(connection.request())
        with socket.create_connection(("127.0.0.1", port)) as service:
            connection.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(
                target=pump, args=(service, connection.socket), daemon=True
            )
            back.start()
            pump(connection.socket, service)
            back.join(60)

    def pump(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                seen.extend(data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    with faulty(context_of(AUTHORITY.issue_cert("service.example"))) as service:
        port = int(service.url.rpartition(":")[2])
        proxy.otherwise = tunnel
        session = jf.connect("https://service.example", token=CANARY)
        for _ in range(3):
            assert len(session.f(a="1")) == 2
        with pytest.raises(jf.ProtocolError, match="returned no token"):
            background.run(
                session.remote.transport.login("ann@acme.example", Hidden(CANARY))
            )
        session.close()
    assert seen.startswith(b"CONNECT service.example:443 HTTP/1.1\r\n")
    assert len(service.requests) == 5
    assert service.connections == proxy.connections < 5
    assert b"ann@acme" not in seen
    assert not leaks(seen.decode("latin-1"))


# --- 122: pages that take long to read ---


# What a page begins with, what it repeats, and its end.
PAGES = {
    "<": (b"", b"<", b""),
    "open tags": (b"", b"<a ", b""),
    "open comments": (b"", b"<!--", b""),
    "open scripts": (b"", b"<script>", b""),
    "scripts that almost end": (b"<script>", b"</script ", b""),
    "blanks in an end": (b"<script></script", b" ", b""),
    "entities": (b"<p>", b"&", b""),
    "a large entity": (b"<p>&#", b"9", b""),
    "blanks": (b"<p>", b" ", b"</p>"),
    "quotes": (b"<p ", b'"', b""),
    "a text in JSON": (b'{"error": "', b"<", b'"}'),
    "lists in JSON": (b"", b"[", b""),
}


def page_of(name: str, length: int) -> bytes:
    begin, repeated, end = PAGES[name]
    return begin + repeated * (length // len(repeated)) + end


def refused(session: Session, server: Faulty, act: Act) -> jf.FuncsError:
    """Return the error of a run that is answered so, long before its time is over."""
    server.tell(act)
    with pytest.raises(jf.FuncsError) as caught:
        session.f.with_options(timeout=60, retries=0, force=True)(a="1")
    assert not isinstance(caught.value, jf.DeadlineError)
    return caught.value


@pytest.mark.fault(122)
@pytest.mark.parametrize(
    "status", ["200 OK", "401 Unauthorized", "422 Unprocessable", "503 Unavailable"]
)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_read_at_once(server: Faulty, page: str, status: str) -> None:
    """Only 64 KiB of 1 MiB are read: the error is the page's, and short."""
    session = listed(server)
    error = refused(
        session, server, reply(page_of(page, MIB), status, Content_Type="text/html")
    )
    assert len(str(error)) < 700
    session.close()


@pytest.mark.fault(122)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_read_in_linear_time(server: Faulty, page: str) -> None:
    """Whatever the page is, so that no thread is held."""
    session = listed(server)

    def read(length: int) -> None:
        refused(
            session,
            server,
            reply(page_of(page, length), "401 Unauthorized", Content_Type="text/html"),
        )

    assert_linear(read, MIB, clock=time.process_time)
    session.close()


@pytest.mark.fault(122)
@pytest.mark.parametrize(
    ("begin", "repeated"),
    [
        (b"X:", b" "),
        (b"X:", b"\r\n "),
        (b"Transfer-Encoding: chunked\r\n\r\n0\r\nX:", b" "),
    ],
    ids=["white space", "folded lines", "a trailer"],
)
def test_a_head_is_read_in_linear_time(
    server: Faulty, begin: bytes, repeated: bytes
) -> None:
    """h11 takes quadratic time for white space before an invalid character, and holds every thread meanwhile."""
    session = listed(server)

    def read(length: int) -> None:
        refused(
            session,
            server,
            raw(OK + begin + repeated * (length // len(repeated)) + b"\0\r\n\r\n"),
        )

    assert_linear(read, 15_000, clock=time.process_time)
    session.close()


# --- 123: bytes after a reply ---


class After:
    """Answer a request with these bytes, and with more once the reply was read."""

    def __init__(self, data: bytes, later: bytes = b"") -> None:
        self.data = data
        self.later = later
        self.was_read = threading.Event()
        self.sent = threading.Event()
        self.closed = threading.Event()  # and not used again

    def __call__(self, connection: Connection) -> None:
        # What is sent has arrived, and doesn't wait for the other side to confirm what was sent before.
        connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.request()
        try:
            connection.send(self.data)
            if self.later:
                self.was_read.wait(60)
                connection.send(self.later)
            self.sent.set()
            connection.request()
        except OSError:
            self.closed.set()
        else:
            connection.send(WRONG)
        finally:
            self.sent.set()


RIGHT = whole(ROWS)
FIXED = 65536 * 2  # as much as httpcore reads in two steps


def padded(length: int) -> bytes:
    """Return a reply of this length."""
    blanks = length - len(RIGHT)
    while len(whole(ROWS + b" " * blanks)) > length:
        blanks -= 1
    return whole(ROWS + b" " * blanks)


AFTER: dict[str, tuple[bytes, bytes]] = {
    "another reply": (RIGHT + WRONG, b""),
    "half a head": (RIGHT + b"HTTP/1.1 200 OK\r\nX: ", b""),
    "a head": (RIGHT + OK + b"Content-Length: 9\r\n\r\n", b""),
    "a line end": (RIGHT + b"\r\n", b""),
    "an interim reply": (RIGHT + b"HTTP/1.1 103 Early Hints\r\n\r\n", b""),
    "a body of a 204": (
        b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n" + WRONG,
        b"",
    ),
    "a body of a 304": (b"HTTP/1.1 304 Not Modified\r\n\r\n" + WRONG, b""),
    "a short Content-Length": (
        OK + b"Content-Length: %d\r\n\r\n" % len(ROWS) + ROWS + WRONG,
        b"",
    ),
    "after chunks": (
        OK
        + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(ROWS), ROWS)
        + WRONG,
        b"",
    ),
    "after an error": (
        b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}" + WRONG,
        b"",
    ),
    "after what is read at once": (padded(FIXED) + WRONG, b""),
    "after a long reply": (padded(FIXED + 5000) + WRONG * 2000, b""),
    "later": (RIGHT, WRONG),
    "at once and later": (RIGHT + WRONG[:50], WRONG[50:]),
}


@pytest.mark.fault(123)
@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("name", AFTER)
def test_what_follows_a_reply_is_nobodys_reply(name: str, tls: bool) -> None:
    """The connection is closed instead of used again, so that the next run gets its own rows."""
    with faulty(
        context_of(AUTHORITY.issue_cert("127.0.0.1")) if tls else None
    ) as server:
        session = listed(server)
        act = After(*AFTER[name])
        server.tell(act)
        try:
            session.f.with_options(retries=0)(a="1")
        except jf.FuncsError:
            assert name.startswith(("a body of", "after an error"))
        act.was_read.set()
        assert act.sent.wait(60)
        frame = session.f.with_options(retries=0)(a="2")
        assert frame["n"].tolist() == [1, 2]
        assert server.connections == 2
        assert act.closed.wait(60)
        session.close()


@pytest.mark.fault(123)
@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_a_connection_without_more_is_used_again(tls: bool) -> None:
    """Otherwise each run would connect again: whether there is more is seen, not assumed."""
    chunked = OK + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (
        len(ROWS),
        ROWS,
    )

    def act(connection: Connection) -> None:
        for data in (
            RIGHT,
            chunked,
            padded(FIXED),
            padded(FIXED + 5000),
            b"HTTP/1.1 204 No Content\r\n\r\n",
            RIGHT,
        ):
            connection.request()
            connection.send(data)

    with faulty(
        context_of(AUTHORITY.issue_cert("127.0.0.1")) if tls else None
    ) as server:
        session = listed(server)
        server.tell(act)
        for number in range(6):
            with (
                contextlib.suppress(jf.ProtocolError)
                if number == 4
                else contextlib.nullcontext()
            ):
                assert len(session.f(a="1")) == 2
        assert server.connections == 1
        session.close()


@pytest.mark.fault(123)
def test_what_cannot_be_seen_is_taken_for_more(
    server: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another version of httpcore hides its connections, none is used again."""
    assert http._has_unread(object())
    seen = http._has_unread
    monkeypatch.setattr(http, "_has_unread", lambda stream: seen(stream._stream))
    session = listed(server)
    server.tell()
    for _ in range(3):
        assert len(session.f(a="1")) == 2
    assert server.connections == 3
    session.close()


# --- 127: an end that may be missing ---

LINES = b'{"n": 1}\n{"n": 2}\n'
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


def packed(data: bytes) -> bytes:
    coder = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    return coder.compress(data) + coder.flush()


ENDS: dict[str, tuple[bytes, str]] = {
    "without a line end": (whole(LINES[:-1], NDJSON), "its last line has no line end"),
    "without a line end, in chunks": (
        NDJSON + CHUNKED + b"11\r\n" + LINES[:-1] + b"\r\n0\r\n\r\n",
        "its last line has no line end",
    ),
    "without a line end, compressed": (
        whole(packed(LINES[:-1]), NDJSON + b"Content-Encoding: gzip\r\n"),
        "its last line has no line end",
    ),
    "ended by the connection": (
        NDJSON + b"\r\n" + LINES,
        "it ended when the connection closed",
    ),
    "ended by the connection of HTTP/1.0": (
        NDJSON.replace(b"1.1", b"1.0") + b"\r\n" + LINES,
        "it ended when the connection closed",
    ),
    "with a short Content-Length": (
        NDJSON + b"Content-Length: 18\r\n\r\n" + LINES * 2,
        "more followed than its Content-Length",
    ),
    "whole": (whole(LINES, NDJSON), ""),
    "whole, with CR LF": (whole(LINES.replace(b"\n", b"\r\n"), NDJSON), ""),
    "whole, in chunks": (NDJSON + CHUNKED + b"12\r\n" + LINES + b"\r\n0\r\n\r\n", ""),
    "JSON that ends by itself": (OK + b"\r\n" + b'[{"n": 1}, {"n": 2}]', ""),
}


@pytest.mark.fault(127)
@pytest.mark.parametrize("name", ENDS)
def test_an_end_that_may_be_missing_is_said(server: Faulty, name: str) -> None:
    """The rows that arrived are returned, with a warning if nothing shows that they are all."""
    data, reason = ENDS[name]
    session = listed(server)
    server.tell(raw(data))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = session.f(a="1")
    assert frame["n"].tolist() == [1, 2]
    expected = [f"The end of the reply may be missing: {reason}."] if reason else []
    assert [str(warning.message) for warning in caught] == expected
    session.close()


@pytest.mark.fault(48, 127)
@pytest.mark.parametrize("head", [OK, NDJSON], ids=["JSON", "NDJSON"])
def test_cut_json_stays_an_error(server: Faulty, head: bytes) -> None:
    """A line that is cut is not a row, whatever ends the body."""
    session = listed(server)
    server.tell(raw(head + b'\r\n{"n": 1}\n{"n": '))
    with pytest.raises(jf.ProtocolError, match=r"cut short|continues"):
        session.f(a="1")
    session.close()


@pytest.mark.fault(127)
@pytest.mark.parametrize(
    ("data", "warns"),
    [
        (OK + b"Content-Length: 3\r\n\r\n123456", True),
        (OK + b"\r\n123", True),
        (OK + b"\r\n123\n", False),
        (whole(b"123"), False),
    ],
    ids=["short Content-Length", "ended by the connection", "with a line end", "whole"],
)
def test_a_number_that_may_be_cut_is_said(
    server: Faulty, data: bytes, warns: bool
) -> None:
    """The first digits of a number are a number too."""
    session = listed(server)
    server.tell(raw(data))
    with (
        pytest.warns(UserWarning, match="end of the reply may be missing")
        if warns
        else contextlib.nullcontext()
    ):
        assert session.f(a="1")["Result"].tolist() == [123]
    session.close()


@pytest.mark.fault(23, 37)
@pytest.mark.parametrize(
    ("status", "error"), [(400, jf.FunctionError), (500, jf.ServerError)], ids=str
)
def test_an_error_with_a_cut_body_is_final_as_any_other(
    server: Faulty, status: int, error: type[Exception]
) -> None:
    """The run is not sent again: its status has arrived."""
    session = listed(server)
    server.tell(
        raw(b'HTTP/1.1 %d No\r\nContent-Length: 100\r\n\r\n{"error": "not thi' % status)
    )
    with pytest.raises(error):
        session.f(a="1")
    assert len(server.requests) == 1
    session.close()


@pytest.mark.fault(127)
def test_an_application_in_process_has_no_framing() -> None:
    """Its lines are all there without a Content-Length."""
    import httpx

    async def app(scope: Any, receive: Any, send: Any) -> None:
        is_run = scope["path"].endswith("runFunction")
        kind = b"application/x-ndjson" if is_run else b"application/json"
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-type", kind)],
            }
        )
        await send(
            {
                "type": "http.response.body",
                "body": LINES if is_run else b'[{"name": "F", "params": []}]',
            }
        )

    session = jf.connect(
        "http://localhost", token=CANARY, transport=httpx.ASGITransport(app)
    )
    assert session.f()["n"].tolist() == [1, 2]
    session.close()

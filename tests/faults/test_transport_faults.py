"""Rows 1 to 22 of FAULTS.md: what breaks between here and the service, on real sockets."""

from __future__ import annotations

import contextlib
import datetime as dt
import socket
import ssl
import threading
import time
import traceback
from dataclasses import replace
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx
import psutil
import pytest
import trustme

import jupyter_funcs as jf
from jupyter_funcs.connection import http
from tests.conftest import tasks, wait_until
from tests.faults.canary import CANARY, leaks
from tests.faults.server import ROWS, Connection, Faulty, faulty, raw, reply

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from jupyter_funcs.api import Session
    from tests.faults.server import Act

# The rows whose time runs out have less; a run is sent in a fiftieth of it.
DEADLINE = 60.0
SHORT_DEADLINE = 1.0
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def bounds(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Set limits of a fifth of a second for what never happens in a test; the others have a minute."""

    def bind(**seconds: float) -> None:
        monkeypatch.setattr(http, "_TIMEOUT", httpx.Timeout(60, read=None, **seconds))

    bind()
    return bind


@pytest.fixture(scope="module")
def server() -> Iterator[Faulty]:
    """A service that each test scripts."""
    with faulty() as server:
        yield server


def listed(server: Faulty, token: str = CANARY, **options: Any) -> Session:
    """Return a session that has listed its function and has no open connection."""
    server.tell()
    session = jf.connect(server.url, token=token, **options)
    assert session.names == ["F"]
    session.close()
    return session


class Kept(NamedTuple):
    """What must be as before after a fault."""

    sockets: int
    threads: set[str]


def kept() -> Kept:
    names = {
        thread.name
        for thread in threading.enumerate()
        if thread.name.startswith("jupyter_funcs")
    }
    mine = [
        connection
        for connection in psutil.Process().net_connections()
        if connection.status == psutil.CONN_ESTABLISHED
    ]
    return Kept(len(mine), names)


def shown(error: BaseException) -> str:
    """Return everything that a traceback, debugger or log may show, including the frames' variables."""
    whole = traceback.TracebackException.from_exception(error, capture_locals=True)
    # The frames of the tests know the token: those of the package are looked at.
    inside = [text for text in whole.format() if "tests/faults" not in text]
    return (
        "".join(inside)
        + repr(error)
        + str(error)
        + repr(vars(error))
        + repr(error.args)
    )


def check(
    session: Session,
    server: Faulty,
    error: type[jf.FuncsError],
    text: str,
    attempts: int,
    logged: io.StringIO,
    deadline: float = DEADLINE,
) -> jf.FuncsError:
    """Run into a fault and check what every row requires."""
    before = kept()
    tasks_before = tasks()
    function = session.f.with_options(timeout=deadline)
    with pytest.raises(jf.FuncsError) as caught:
        function(a="1")
    failure = caught.value
    assert type(failure) is error, str(failure)
    assert text in str(failure)
    assert 1 <= len(failure.lines) <= 3
    assert all(line == line.strip() for line in failure.lines)
    assert failure.attempts == attempts
    assert not leaks(shown(failure))
    assert not leaks(logged.getvalue())
    server.tell()
    assert len(function.with_options(force=True, timeout=60)(a="1")) == 2
    session.close()
    wait_until(lambda: tasks() <= tasks_before and kept().sockets <= before.sockets)
    assert kept().threads == before.threads
    return failure


def broken(act: Callable[[Connection], None]) -> Act:
    """Read a request, then do something to the connection."""

    def acting(connection: Connection) -> None:
        connection.request()
        act(connection)

    return acting


def short(connection: Connection) -> None:
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + ROWS[:20])


def in_body(connection: Connection) -> None:
    short(connection)
    time.sleep(0.05)  # or the reset overtakes what was sent
    connection.reset()


def stale(connection: Connection) -> None:
    """Answer once, keep the connection, and close it at the next request."""
    reply()(connection)
    connection.request()


def dripping(connection: Connection) -> None:
    connection.drip(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n"
        + ROWS[:50],
        0.05,
    )


Row = tuple[int, str, list["Act"], type[jf.FuncsError], str, int]
CONN = jf.ServiceConnectionError
TIMEOUT = jf.DeadlineError
PROTOCOL = jf.ProtocolError
ROWS_OF_SOCKETS: list[Row] = [
    (
        4,
        "reset before the reply",
        [broken(Connection.reset)] * 3,
        CONN,
        "broke before the reply",
        2,
    ),
    (
        6,
        "reset in the body",
        [broken(in_body)] * 3,
        CONN,
        "broke before the reply was complete",
        2,
    ),
    (7, "short of its length", [broken(short)] * 3, CONN, "after 20 bytes", 2),
    (8, "no header", [broken(Connection.hold)] * 3, TIMEOUT, "may still be running", 1),
    (9, "a drip", [broken(dripping)] * 3, TIMEOUT, "did not finish within 1 s", 1),
    (
        20,
        "no status line",
        [raw(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")] * 3,
        PROTOCOL,
        "did not answer in HTTP",
        1,
    ),
    (
        20,
        "a greeting of another protocol",
        [raw(b"\x16\x03\x01\x00\xa5\x01\x00")] * 3,
        PROTOCOL,
        "HTTP",
        1,
    ),
    (
        21,
        "a header of 300 kB",
        [raw(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 300_000)] * 3,
        PROTOCOL,
        "HTTP",
        1,
    ),
    (
        21,
        "a bad chunk",
        [raw(CHUNKED + b"2\r\n[]\r\nnine\r\n")] * 3,
        PROTOCOL,
        "HTTP",
        1,
    ),
    (
        21,
        "a chunk cut short",
        [raw(CHUNKED + b"9\r\n[{")] * 3,
        CONN,
        "after 2 bytes",
        2,
    ),
]


def numbered(rows: list[Row]) -> list[Any]:
    return [pytest.param(*row[2:], id=f"{row[0]}-{row[1]}") for row in rows]


@pytest.mark.parametrize(
    ("acts", "error", "text", "attempts"), numbered(ROWS_OF_SOCKETS)
)
def test_a_connection_that_breaks_is_a_named_error_and_never_short_data(
    server: Faulty,
    logged: io.StringIO,
    acts: list[Act],
    error: type[jf.FuncsError],
    text: str,
    attempts: int,
) -> None:
    """Each says what happened, is retried as often as is safe, and leaves nothing behind; the next run works."""
    session = listed(server)
    server.tell(*acts)
    check(
        session,
        server,
        error,
        text,
        attempts,
        logged,
        SHORT_DEADLINE if error is TIMEOUT else DEADLINE,
    )


@pytest.mark.fault(4, 5, 6)
@pytest.mark.parametrize(
    "act", [broken(Connection.reset), stale, broken(in_body), broken(short)]
)
def test_a_connection_that_breaks_once_costs_nothing(server: Faulty, act: Act) -> None:
    """The run is sent again on a new connection and returns complete data."""
    session = listed(server)
    if act is stale:
        server.tell(stale)
        assert len(session.f(a="0")) == 2
        assert server.connections == 1
    else:
        server.tell(act)
    frame = session.f(a="1")
    assert len(frame) == 2
    assert frame.attrs["funcs"]["attempts"] == 2
    assert server.connections == 2
    session.close()


@pytest.mark.fault(4, 7, 9)
@pytest.mark.parametrize(
    ("act", "attempts"),
    [(broken(Connection.reset), 3), (broken(short), 3), (reply(b"", "500 Bad"), 2)],
)
def test_a_listing_is_asked_for_again_more_often_than_a_run(
    server: Faulty, act: Act, attempts: int
) -> None:
    """A listing changes nothing and is cheap."""
    server.tell(*[act] * 5)
    session = jf.connect(server.url, token=lambda: CANARY)  # listed at the first use
    with pytest.raises(jf.FuncsError) as caught:
        _ = session.names
    assert caught.value.attempts == len(server.requests) == attempts
    server.tell()
    assert session.names == ["F"]
    session.close()


@pytest.mark.fault(1)
def test_a_name_that_nobody_knows_is_said(logged: io.StringIO) -> None:
    """The error names the host."""
    session = jf.connect("https://no-such-host.invalid", token=CANARY)
    with pytest.raises(
        jf.ServiceConnectionError, match=r"Cannot reach no-such-host\.invalid"
    ) as caught:
        _ = session.names
    assert caught.value.attempts == 3
    assert not leaks(shown(caught.value) + logged.getvalue())


def moved(server: Faulty, url: str) -> Session:
    """Return a session that has listed its function, and then moves to another address."""
    session = listed(server)
    transport = session.remote.transport
    transport.connection = transport._exchange.connection = replace(
        transport.connection, base_url=url
    )
    return session


@contextlib.contextmanager
def full_queue() -> Iterator[str]:
    """Return the address of a socket that takes no more connections."""
    with socket.socket() as full, contextlib.ExitStack() as stack:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):  # what the system keeps beyond the queue
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        yield f"http://127.0.0.1:{full.getsockname()[1]}"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.mark.fault(2)
def test_a_refused_connection_is_tried_three_times(
    server: Faulty, logged: io.StringIO
) -> None:
    """Nothing was sent, so it is safe to try a run again."""
    port = free_port()
    session = moved(server, f"http://127.0.0.1:{port}")
    with pytest.raises(
        jf.ServiceConnectionError, match=f"Cannot reach 127.0.0.1:{port}"
    ) as caught:
        session.f(a="1")
    assert caught.value.attempts == 3
    assert not leaks(shown(caught.value) + logged.getvalue())


@pytest.mark.fault(3)
def test_a_connection_that_is_not_taken_is_a_time_out(
    server: Faulty, logged: io.StringIO, bounds: Callable[..., None]
) -> None:
    """A machine with a full queue drops connections; three are tried."""
    with full_queue() as url:
        session = moved(server, url)
        bounds(connect=0.2)
        with pytest.raises(jf.DeadlineError, match="No connection to") as caught:
            session.f.with_options(timeout=60)(a="1")
    assert caught.value.attempts == 3
    assert not leaks(shown(caught.value) + logged.getvalue())


@pytest.mark.fault(10)
def test_a_pool_that_is_exhausted_is_a_time_out(
    server: Faulty, logged: io.StringIO, bounds: Callable[..., None]
) -> None:
    """If all connections stay in use, the run is given up; it was never sent."""
    pool = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=1))
    session = listed(server, transport=pool)
    server.tell(broken(Connection.hold))
    first = session.f.submit(a="1")
    wait_until(lambda: len(server.requests) == 1)
    bounds(pool=0.2)
    with pytest.raises(jf.DeadlineError, match="No connection to") as caught:
        session.f(a="2")
    assert caught.value.attempts == 3
    assert len(server.requests) == 1
    first.cancel()
    assert not leaks(shown(caught.value) + logged.getvalue())


@pytest.mark.fault(11)
def test_a_request_that_nobody_reads_is_a_time_out(
    server: Faulty, logged: io.StringIO, bounds: Callable[..., None]
) -> None:
    """The request may be running, so it isn't sent again."""

    def full(connection: Connection) -> None:
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        server.stopping.wait(60)

    session = listed(server)
    bounds(write=0.2)
    server.tell(full)
    with pytest.raises(jf.DeadlineError, match="may still be running") as caught:
        session.f(a="x" * 6_000_000)  # more than the buffers of both sides hold
    assert caught.value.attempts == 1
    assert not leaks(shown(caught.value)[:1_000_000] + logged.getvalue())


AUTHORITY = trustme.CA()


def context_of(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trust the tests' authority, like a company's."""
    AUTHORITY.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))


PAST = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)


@pytest.mark.fault(12)
@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize(
    ("certificate", "text"),
    [
        pytest.param(
            lambda: AUTHORITY.issue_cert(
                "127.0.0.1", not_before=PAST, not_after=PAST.replace(2021)
            ),
            "expired",
        ),
        pytest.param(
            lambda: AUTHORITY.issue_cert("other.example"), "not valid for '127.0.0.1'"
        ),
        pytest.param(
            lambda: trustme.CA().issue_cert("127.0.0.1"), "unable to get local issuer"
        ),
    ],
    ids=["expired", "of another host", "of nobody known"],
)
def test_a_certificate_that_is_not_good_is_said(
    certificate: Callable[[], trustme.LeafCert], text: str, logged: io.StringIO
) -> None:
    """With its reason, once, and without advice to turn checking off."""
    with faulty(context_of(certificate())) as server:
        with pytest.raises(jf.ServiceConnectionError, match=text) as caught:
            _ = jf.connect(server.url, token=CANARY).names
        assert server.requests == []
    assert caught.value.attempts == 1
    assert "verify" not in str(caught.value).replace("verify failed", "")
    assert not leaks(shown(caught.value) + logged.getvalue())


@pytest.mark.fault(12)
@pytest.mark.usefixtures("trusted")
def test_a_certificate_that_is_good_is_taken() -> None:
    """Otherwise the tests above would prove nothing."""
    with faulty(context_of(AUTHORITY.issue_cert("127.0.0.1"))) as server:
        session = jf.connect(server.url, token=CANARY)
        assert session.names == ["F"]
        session.close()


@pytest.mark.fault(13)
def test_a_handshake_that_breaks_is_tried_three_times(
    server: Faulty, logged: io.StringIO
) -> None:
    """Nothing of the request was sent."""
    with faulty() as other:
        other.tell(
            *[lambda connection: (connection.socket.recv(10), connection.reset())] * 3
        )
        session = moved(server, other.url.replace("http:", "https:"))
        with pytest.raises(jf.ServiceConnectionError, match="Cannot reach") as caught:
            session.f(a="1")
        assert other.connections == 3
    assert caught.value.attempts == 3
    assert not leaks(shown(caught.value) + logged.getvalue())


@pytest.mark.fault(14)
@pytest.mark.parametrize(
    ("answer", "error", "text", "attempts"),
    [
        (
            b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
            jf.ConfigError,
            "user name and a password",
            1,
        ),
        (None, jf.ServiceConnectionError, "Cannot reach", 3),
    ],
    ids=["asks for a password", "cannot be reached"],
)
def test_a_proxy_that_is_in_the_way_is_said_without_its_password(
    answer: bytes | None,
    error: type[jf.FuncsError],
    text: str,
    attempts: int,
    monkeypatch: pytest.MonkeyPatch,
    logged: io.StringIO,
) -> None:
    """Whether it is unreachable or needs a password, and what to set."""
    password = "pr0xy-Passw0rd-of-the-tests"
    with faulty() as proxy:
        port = proxy.url.rpartition(":")[2] if answer else free_port()
        proxy.tell(*[raw(answer or b"")] * 3)
        monkeypatch.setenv("HTTPS_PROXY", f"http://someone:{password}@127.0.0.1:{port}")
        with pytest.raises(error, match=text) as caught:
            _ = jf.connect("https://service.example", token=CANARY).names
    assert caught.value.attempts == attempts
    assert password not in shown(caught.value) + logged.getvalue()
    assert not leaks(shown(caught.value) + logged.getvalue())


@pytest.mark.parametrize(
    ("status", "where"),
    [
        pytest.param(
            "307 Temporary Redirect",
            "{other}/api",
            marks=pytest.mark.fault(15),
            id="15-other port",
        ),
        pytest.param(
            "308 Permanent Redirect",
            "https://127.0.0.1:1/",
            marks=pytest.mark.fault(15),
            id="15-other scheme",
        ),
        pytest.param(
            "302 Found",
            "http://127.1.2.3/",
            marks=pytest.mark.fault(15),
            id="15-other host",
        ),
        pytest.param(
            "307 Temporary Redirect",
            "/api/v2",
            marks=pytest.mark.fault(16),
            id="16-same origin",
        ),
        pytest.param(
            "301 Moved",
            "{own}/api/function/runFunction",
            marks=pytest.mark.fault(17),
            id="17-loop",
        ),
    ],
)
def test_no_redirect_is_followed(
    server: Faulty, logged: io.StringIO, status: str, where: str
) -> None:
    """Neither token nor arguments are sent to an address that you didn't choose."""
    session = listed(server)
    with faulty() as other:
        server.tell(
            reply(b"", status, Location=where.format(other=other.url, own=server.url))
        )
        with pytest.raises(
            jf.ProtocolError, match="redirects to another address"
        ) as caught:
            session.f(a="1")
        assert len(server.requests) == 1
        assert other.connections == 0
        address = where.format(other=other.url, own=server.url)
    assert address in caught.value.hint
    assert caught.value.attempts == 1
    assert not leaks(shown(caught.value) + logged.getvalue())
    session.close()


@pytest.mark.parametrize(
    ("location", "hint"),
    [
        (
            "https://u:p@other.example/a?code=s3#s4",
            "address, 'https://other.example/a'.",
        ),
        ("http://[", "address."),
        ("", "address."),
        (None, "address."),
    ],
)
def test_the_address_of_a_redirect_is_told_without_its_secrets(
    server: Faulty, location: str | None, hint: str
) -> None:
    session = listed(server)
    headers = {} if location is None else {"Location": location}
    server.tell(reply(b"", "302 Found", **headers))
    with pytest.raises(jf.ProtocolError) as caught:
        session.f(a="1")
    assert caught.value.hint == f"Connect to the new {hint}"
    session.close()


@pytest.mark.fault(22)
def test_a_network_that_changes_is_a_connection_that_breaks(server: Faulty) -> None:
    """As after a laptop's sleep: the kept socket is dead, so the run uses a new one."""
    dead = OSError(101, "Network is unreachable")

    class Asleep(httpx.AsyncHTTPTransport):
        sleeps = 0

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            if Asleep.sleeps:
                Asleep.sleeps -= 1
                raise httpx.ReadError("network is unreachable") from dead
            return await super().handle_async_request(request)

    session = listed(server, transport=Asleep())
    Asleep.sleeps = 1
    assert session.f(a="1").attrs["funcs"]["attempts"] == 2
    Asleep.sleeps = 9
    with pytest.raises(jf.ServiceConnectionError) as caught:
        session.f(a="1")
    assert caught.value.attempts == 2


@pytest.mark.fault(35)
@pytest.mark.parametrize("skew", [-3600, 0, 3600])
def test_a_date_to_try_again_is_read_by_the_services_own_clock(
    server: Faulty, skew: int
) -> None:
    """If the clocks differ by an hour, the wait is still what the service means."""
    session = listed(server)
    now = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=skew)
    for wait, attempts in [(0, 3), (3600, 1)]:
        later = now + dt.timedelta(seconds=wait)
        dates = {
            "Date": format_datetime(now, usegmt=True),
            "Retry-After": format_datetime(later, usegmt=True),
        }
        server.tell(*[reply(b"{}", "429 Too Many Requests", **dates)] * 3)
        with pytest.raises(jf.RateLimitError, match=f"in {wait} s") as caught:
            session.f(a="1")
        assert caught.value.retry_after == wait
        assert caught.value.attempts == len(server.requests) == attempts
        session.close()


@pytest.mark.fault(45)
def test_interim_replies_are_passed_over(server: Faulty) -> None:
    """A hundred of them before the reply don't matter."""
    session = listed(server)
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 100
    server.tell(
        raw(
            interim
            + b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(ROWS)
            + ROWS
        )
    )
    assert len(session.f(a="1")) == 2
    assert server.connections == 1
    session.close()


@pytest.mark.fault(47)
def test_the_text_of_a_transports_error_is_masked() -> None:
    """A transport of the user's may write the request, with its headers, into the error that it raises."""

    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError(f"no route for {request.headers['authorization']}")

    session = jf.connect(
        "https://service.example", token=CANARY, transport=httpx.MockTransport(answer)
    )
    with pytest.raises(
        jf.ServiceConnectionError, match=r"no route for Bearer \*\*\*\*"
    ) as caught:
        session.refresh()
    assert not leaks(str(caught.value))

"""Send one request and receive its reply with httpx, over a pool of small clients."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import ssl
import sys
from collections.abc import AsyncIterable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote as quote_url
from urllib.parse import urlsplit

import msgspec

from jupyter_funcs.connection.proxies import Proxy, environment_proxy
from jupyter_funcs.connection.replies import (
    CHECK_ADDRESS,
    Failure,
    Reply,
    pieces,
    read_failure,
    read_reply,
)
from jupyter_funcs.connection.retries import Proof
from jupyter_funcs.connection.secrets import Hidden, Password, mask_logs, redacted_line
from jupyter_funcs.connection.tokens import BASIC, is_plain, unencrypted
from jupyter_funcs.core.background import Progress
from jupyter_funcs.core.errors import (
    TRY_AGAIN,
    ConfigError,
    DeadlineError,
    FuncsError,
    ProtocolError,
    ServiceConnectionError,
    no_descriptors,
    with_causes,
)
from jupyter_funcs.core.text import inert

# As if what its command line needs weren't installed: rich, pygments and click are 81 modules, with which importing
# httpx takes 3.2 times as long (tests/benchmarks/private_parts.py).
try:
    _command_line: Any = sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
    import httpx
finally:
    if _command_line is None:
        del sys.modules["httpx._main"]

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from jupyter_funcs.connection.profiles import Connection
    from jupyter_funcs.connection.tokens import Credential, SecretPlace

AnyTransport = httpx.AsyncBaseTransport | httpx.BaseTransport
CONNECTIONS = 2  # per lane

_LANES = 128
IF_CHANGED = "If-None-Match"
_JSON = {"Content-Type": "application/json"}
_HEADERS = {"Accept": "application/json", "Accept-Encoding": "gzip"}
# Seconds to connect, to wait for a free connection and to write. Reading is limited by the run's deadline.
_TIMEOUT = httpx.Timeout(None, connect=5, pool=5, write=10)
_ERRORS = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ssl.SSLError)


class Opened(NamedTuple):
    """A reply whose body still arrives, in pieces that raise only a `FuncsError`; the stack closes it."""

    response: httpx.Response
    pieces: AsyncIterator[bytes]
    stack: AsyncExitStack


class Request(NamedTuple):
    """
    What to send. `body` is sent as JSON, unless it is bytes already, an asynchronous iterable of them, or ``None``.

    An operation of a document may be answered by any 2xx, also an empty one, and a 404 is about what was asked for
    rather than about the address.
    """

    method: str
    url: str
    body: object = None
    headers: Mapping[str, str] = {}
    credentials: tuple[Credential, ...] = ()
    is_operation: bool = False


def _bound_header_pattern() -> None:
    # h11's own pattern backtracks over white space before an invalid character, in quadratic time: 30 kB of it take
    # 17 s instead of 0.1 ms, and no thread runs meanwhile (tests/benchmarks/private_parts.py).
    try:
        from h11 import _abnf, _readers
    except OSError as error:
        raise no_descriptors(error) from None

    _readers.header_field_re = re.compile(
        _abnf.header_field.replace(f":{_abnf.OWS}", f":{_abnf.OWS}+").encode()
    )


class Exchange:
    """Sends requests to one service, each of them once."""

    _certificates: ssl.SSLContext | None = None

    def __init__(
        self, connection: Connection, transport: AnyTransport | None = None
    ) -> None:
        mask_logs()
        # An ASGI transport has no headers as text.
        if not isinstance(transport, httpx.ASGITransport):
            _bound_header_pattern()
        self.connection = connection
        self._transport = None if transport is None else _UserTransport(transport)
        self._lanes = Lanes(self._open_client)

    async def send(
        self,
        request: Request,
        secrets: Sequence[Hidden],
        max_bytes: int,
        progress: Progress,
    ) -> Reply | Failure:
        """Send a request; return the reply, or why there is none. Raises only if cancelled."""
        # An error is returned and raised by the caller, outside of any except block: httpx's errors hold the request
        # with its headers, so chained to ours they would carry the token. The frames of a traceback hold the reply.
        response = None
        progress.received = 0
        try:
            async with self._response(request, secrets, progress) as response:
                request_id = response.headers.get("x-request-id", "")[:200]
                progress.request_id = redacted_line(request_id, 80)
                status = response.status_code
                if status == 304 and IF_CHANGED in request.headers:
                    return Reply(b"", secrets, lines=False, is_known=True)
                leads_on = status == 303 and "location" in response.headers
                is_accepted = status == 202 and "Prefer" in request.headers
                if (
                    status == 200
                    or is_accepted
                    or (request.is_operation and (response.is_success or leads_on))
                ):
                    return await read_reply(
                        response,
                        max_bytes,
                        secrets,
                        progress,
                        may_be_empty=request.is_operation,
                    )
                return await read_failure(
                    response, secrets, is_operation=request.is_operation
                )
        except Exception as error:  # noqa: BLE001  # a user's own transport may raise anything
            return self._failure(error, request.url, response)

    async def open(
        self, request: Request, secrets: Sequence[Hidden]
    ) -> Opened | Failure:
        """Send a request as it is; return its reply before the body, or why there is none. Redirects are replies."""
        try:
            async with AsyncExitStack() as stack:
                response = await stack.enter_async_context(
                    self._response(request, secrets, Progress())
                )
                if response.status_code >= 400:
                    return await read_failure(response, secrets)
                return Opened(response, self._pieces(response), stack.pop_all())
        except Exception as error:  # noqa: BLE001  # as above
            return self._failure(error, request.url)

    @asynccontextmanager
    async def _response(
        self, request: Request, secrets: Sequence[Hidden], progress: Progress
    ) -> AsyncIterator[httpx.Response]:
        async with self._lanes.client() as (client, retire):
            progress.attempts += 1
            headers = httpx.Headers({} if request.body is None else _JSON)
            # Whatever the case of their names.
            headers.update(httpx.Headers(request.headers, encoding="latin-1"))
            is_ready = isinstance(request.body, bytes | AsyncIterable | None)
            body: Any = request.body if is_ready else msgspec.json.encode(request.body)
            places = [credential.place for credential in request.credentials]
            response = await client.send(
                client.build_request(
                    request.method,
                    request.url,
                    headers=headers,
                    content=body,
                    timeout=_TIMEOUT,
                ),
                stream=True,
                auth=partial(_with_secrets, places, secrets, self.connection),
            )
            if self._transport is None:
                response.stream = _Body(response.stream, retire)
            async with aclosing(response):
                yield response

    async def _pieces(self, response: httpx.Response) -> AsyncIterator[bytes]:
        failure = None
        try:
            async for piece in pieces(response):
                yield piece
        except _ERRORS as error:
            failure = self._failure(error, str(response.url), response)

        # Out here, because httpx's errors hold the request with the token.
        if failure:
            raise failure.error

    def _failure(
        self, error: Exception, url: str, response: httpx.Response | None = None
    ) -> Failure:
        if isinstance(error, FuncsError):
            error.status = 0 if response is None else response.status_code
            return Failure(error.with_traceback(None))

        if not isinstance(error, _ERRORS):
            return Failure(
                ServiceConnectionError(
                    f"{self.connection.name} cannot be reached: {type(error).__name__} in the transport.",
                    "Try again.",
                )
            )

        proxy = None
        if self._transport is None:
            with suppress(httpx.InvalidURL):
                proxy = environment_proxy(httpx.URL(url))

        return _translate(
            error, urlsplit(url).netloc or self.connection.name, response, proxy
        )

    async def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        await self._lanes.close()
        if self._transport:
            await self._transport.close()

    def _open_client(self) -> httpx.AsyncClient:
        if self._transport:
            return httpx.AsyncClient(
                transport=self._transport, headers=_HEADERS, trust_env=False
            )

        addresses = [
            address
            for address in (self.connection.base_url, *self.connection.allow_server)
            if address.startswith("http")  # not a file's
        ]
        proxies = {
            address: environment_proxy(httpx.URL(address)) for address in addresses
        }
        proxy = next(filter(None, proxies.values()), None)
        try:
            # Created once: reading the system's certificates takes as long as several requests.
            self._certificates = self._certificates or _certificates_for(addresses)
            return httpx.AsyncClient(
                verify=self._certificates,
                limits=httpx.Limits(max_connections=CONNECTIONS),
                headers=_HEADERS,
                follow_redirects=False,
                trust_env=False,
                proxy=proxy and proxy.url,
                mounts={
                    f"all://{urlsplit(address).netloc}": None
                    for address in addresses
                    if not proxies[address]
                },
            )
        except ImportError:
            what = f"SOCKS needs another package: {proxy}."
            hint = "pip install 'httpx[socks]'"
        except (ValueError, httpx.InvalidURL):
            what = f"No connection can be made through {proxy}."
            hint = "Write it as http://host:port."
        except OSError:
            what = "The environment's settings for certificates are invalid."
            hint = "Check SSL_CERT_FILE."

        raise ConfigError(inert(what), hint)


def _certificates_for(addresses: list[str]) -> ssl.SSLContext:
    """Return the certificates to trust: an address without TLS needs none, and a context without any trusts nobody."""
    if any(address.startswith("https:") for address in addresses):
        return httpx.create_ssl_context()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@dataclass
class _Body(httpx.AsyncByteStream):
    """The body of a reply; `retire` is called if more was received, before another request can use the connection."""

    stream: Any
    retire: Callable[[], None]
    has_more: bool = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self.stream)

    async def aclose(self) -> None:
        if _has_unread(self.stream):
            self.has_more = True
            self.retire()
        await self.stream.aclose()


def _has_unread(stream: Any) -> bool:
    """
    Return whether bytes were received after the end of a reply; true if another version of httpcore doesn't show it.

    The next request on the connection would read them as its reply. httpcore itself only looks for bytes that are still
    in the socket, and closes a connection that has some. Without this look, each request would need a new connection,
    and take 1.9 times as long where one costs least, on this machine and without TLS
    (tests/benchmarks/private_parts.py).
    """
    try:
        connection = attrgetter("_stream._httpcore_stream._stream._connection")(stream)
        (unread, _), received = attrgetter(
            "_h11_state.trailing_data", "_network_stream._stream"
        )(connection)
        while not unread and hasattr(received, "transport_stream"):
            with suppress(ssl.SSLWantReadError):
                attrgetter("_ssl_object.read")(received)(1)
                return True
            received = received.transport_stream
        return bool(unread or attrgetter("_protocol.read_queue")(received))
    except (AttributeError, ssl.SSLError):
        return True


def _with_secrets(
    places: Sequence[SecretPlace],
    secrets: Sequence[Hidden],
    connection: Connection,
    request: httpx.Request,
) -> httpx.Request:
    """Add the secrets at the last moment, so that no variable on the way holds them."""
    # That of a login is in its body.
    for place, secret in zip(places, secrets, strict=False):
        if not secret.reveal():
            continue
        if is_plain(str(request.url)) and not connection.allow_http:
            raise unencrypted(str(request.url))
        is_pair = place.prefix != BASIC or isinstance(secret, Password)
        _put(
            request,
            place,
            secret if is_pair else Password(*secret.reveal().partition(":")[::2]),
        )

    return request


def _put(request: httpx.Request, place: SecretPlace, secret: Hidden) -> None:
    match place.where:
        case "query":
            # In place of what a link to the next page repeats of it; the rest stays as it is written.
            path, _, query = request.url.raw_path.decode().partition("?")
            own = f"{quote_url(place.name, safe='')}="
            others = [
                part for part in query.split("&") if part and not part.startswith(own)
            ]
            query = "&".join([*others, own + quote_url(secret.reveal(), safe="")])
            request.url = request.url.copy_with(raw_path=f"{path}?{query}".encode())
        case "cookie":
            cookies = filter(
                None, [request.headers.get("Cookie"), f"{place.name}={secret.reveal()}"]
            )
            request.headers["Cookie"] = "; ".join(cookies)
        case _:
            request.headers[place.name] = place.prefix + secret.reveal()


@dataclass(eq=False)
class _Lane:
    client: httpx.AsyncClient
    in_flight: int = 0


class Lanes:
    """A pool of clients with two connections each: httpx's own pool slows down with many requests in flight."""

    def __init__(self, open_client: Callable[[], httpx.AsyncClient]) -> None:
        self._open_client = open_client
        self._places = asyncio.Semaphore(CONNECTIONS * _LANES)
        # A lane that isn't here gets no new requests; its last one closes it.
        self._lanes: list[_Lane] = []
        self._closing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def client(
        self,
    ) -> AsyncIterator[tuple[httpx.AsyncClient, Callable[[], None]]]:
        """Wait for a place; yield a client, and what to call to retire it."""
        async with self._places:
            lane = next(
                (lane for lane in self._lanes if lane.in_flight < CONNECTIONS), None
            )
            if lane is None:
                lane = _Lane(self._open_client())
                self._lanes.append(lane)
            lane.in_flight += 1
            try:
                yield lane.client, partial(self._retire, lane)
            except asyncio.CancelledError:
                self._retire(lane)
                raise
            finally:
                lane.in_flight -= 1
                if lane not in self._lanes:
                    await self._close_unused(lane)

    async def close(self) -> None:
        """Close the connections; one that is in use closes after its request."""
        for lane in list(self._lanes):
            self._retire(lane)
            await self._close_unused(lane)

    def _retire(self, lane: _Lane) -> None:
        with suppress(ValueError):  # it is retired already
            self._lanes.remove(lane)

    async def _close_unused(self, lane: _Lane) -> None:
        if lane.in_flight == 0:
            # In a task, so that a second cancel here doesn't leave a socket open.
            task = asyncio.ensure_future(_close(lane.client))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
            await asyncio.shield(task)


async def _close(client: httpx.AsyncClient) -> None:
    with suppress(Exception):  # the connection may be broken already
        await client.aclose()


@dataclass
class _UserTransport(httpx.AsyncBaseTransport):
    """A user's own transport, synchronous or not; it returns bodies as received, not decoded."""

    transport: AnyTransport

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if isinstance(self.transport, httpx.AsyncBaseTransport):
            response = await self.transport.handle_async_request(request)
        else:
            await request.aread()
            response = await asyncio.to_thread(self.transport.handle_request, request)

        headers = response.headers
        stream = response.stream
        # httpx decodes a response made of bytes at once, but keeps the bytes. If the user's transport has read a
        # stream itself, only the decoded body is left.
        if response.is_stream_consumed and not isinstance(stream, httpx.ByteStream):
            stream = httpx.ByteStream(response.content)
            headers = httpx.Headers(headers)
            if headers.get("content-encoding", "").strip().lower() == "gzip":
                del headers["content-encoding"]
        elif not isinstance(stream, httpx.AsyncByteStream):
            stream = _ThreadedStream(stream)

        return httpx.Response(response.status_code, headers=headers, stream=stream)

    async def close(self) -> None:  # not `aclose`, because several clients share it
        if isinstance(self.transport, httpx.AsyncBaseTransport):
            await self.transport.aclose()


@dataclass
class _ThreadedStream(httpx.AsyncByteStream):
    """Reads a synchronous stream in a thread, piece by piece on demand."""

    stream: httpx.SyncByteStream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = iter(self.stream)
        while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
            yield piece

    async def aclose(self) -> None:
        await asyncio.to_thread(self.stream.close)


def _translate(
    error: Exception, host: str, response: httpx.Response | None, proxy: Proxy | None
) -> Failure:
    """Translate an httpx error before or in a reply; use its text only if it can't hold the request."""
    peer = host
    setting = "the address"
    if proxy:
        peer = inert(str(proxy))
        setting = proxy.variable

    cause = next(
        (cause for cause in with_causes(error) if isinstance(cause, ssl.SSLError)), None
    )
    if isinstance(cause, ssl.SSLCertVerificationError):
        return Failure(
            ServiceConnectionError(
                f"The certificate of {host} is not trusted: {inert(cause.verify_message)}.",
                "Ask its operator. If your company has its own authority, set SSL_CERT_FILE to that certificate.",
            )
        )

    if isinstance(error, httpx.ConnectError):
        return _unreachable(error, host if cause else peer, setting)
    if response is None:
        received = ""
    else:
        received = f" after {response.num_bytes_downloaded:,} bytes of it"

    return _broken(error, host, peer, setting, received)


def _unreachable(error: Exception, peer: str, setting: str) -> Failure:
    is_full = any(
        getattr(cause, "errno", 0) in {errno.EMFILE, errno.ENFILE}
        for cause in with_causes(error)
    )
    check = f"Check {setting} and your network"
    if is_full:
        check = "Close files, or allow more (ulimit -n)"
    return Failure(
        ServiceConnectionError(
            f"Cannot reach {peer}: {_reason(error)}.", f"{check}, then try again."
        ),
        Proof.NOT_SENT,
    )


def _broken(
    error: Exception, host: str, peer: str, setting: str, received: str
) -> Failure:
    """Return what an error means, by its type; `received` says how much of the reply arrived."""
    proof = Proof.FINAL
    ours: FuncsError
    match error:
        case httpx.ConnectTimeout() | httpx.PoolTimeout():
            check = f"Check {setting} and your network, then try again."
            ours = DeadlineError(f"No connection to {peer} within 5 s.", check)
            proof = Proof.NOT_SENT
        case httpx.TimeoutException():
            what = (
                f"{host} did not accept the request in time; it may still be running."
            )
            ours = DeadlineError(what, "Try again later.")
            proof = Proof.UNANSWERED
        case httpx.ProxyError() if "407" in str(error):
            ours = ConfigError(
                f"A user name and a password are required (407) by {peer}.",
                f"Set them in {setting}.",
            )
        case httpx.ProxyError():
            why = redacted_line(str(error), 120)
            ours = ServiceConnectionError(
                f"Cannot reach {host} through {peer}: {why}.", f"Check {setting}."
            )
            proof = Proof.NOT_SENT
        case (
            httpx.UnsupportedProtocol()
            | httpx.InvalidURL()
            | httpx.LocalProtocolError()
        ):
            ours = ConfigError(f"No request can be sent to {host}.", CHECK_ADDRESS)
        case httpx.DecodingError():
            ours = ProtocolError("The compressed reply is corrupt.", TRY_AGAIN)
        case httpx.RemoteProtocolError() if not re.search(
            r"closed|disconnected", str(error)
        ):
            ours = ProtocolError(f"{host} did not answer in HTTP.", CHECK_ADDRESS)
        case _:
            what = f"The connection to {host} broke before the reply was complete{received}."
            ours = ServiceConnectionError(what, "Try again.")
            proof = Proof.BROKEN

    return Failure(ours, proof)


def _reason(error: Exception) -> str:
    for cause in with_causes(error):
        if isinstance(cause, OSError) and cause.strerror:
            is_of_asyncio = cause.strerror.startswith("Connect call failed")
            return redacted_line(
                os.strerror(cause.errno or 0) if is_of_asyncio else cause.strerror, 120
            )

    return redacted_line(str(error), 120) or "no answer"

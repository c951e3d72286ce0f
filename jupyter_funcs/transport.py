"""
The one room that knows httpx: bytes go out and bytes come in, bounded, and every foreign error is translated here.

The caller keeps the one total deadline around it (`asyncio.timeout`): httpx bounds each read and not their sum.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import math
import os
import re
import ssl
import time
from contextlib import aclosing, asynccontextmanager
from functools import lru_cache, partial
from http import HTTPStatus
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import httpx
import msgspec

from jupyter_funcs.errors import (
    AuthenticationError,
    CircuitOpenError,
    ConfigError,
    DeadlineError,
    FuncsError,
    ProtocolError,
    ReplyTooLargeError,
    ServerError,
    ServiceConnectionError,
)
from jupyter_funcs.inflate import inflated
from jupyter_funcs.lanes import CONNECTIONS, Lanes
from jupyter_funcs.logs import mask_logs
from jupyter_funcs.notices import cleaned
from jupyter_funcs.progress import Progress
from jupyter_funcs.refusals import CHECK_ADDRESS, NEW_TOKEN, Failure, Refusal, said
from jupyter_funcs.retries import LEAST_LEFT, MOST_RETRIES, Health, Proof, health, pause, wish
from jupyter_funcs.secret import Secret, redacted
from jupyter_funcs.text import clip, inert, quote
from jupyter_funcs.tokens import Constant, Source

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator

    from jupyter_funcs.config import Connection
    from jupyter_funcs.retries import Purpose
    from jupyter_funcs.secret import Hidden

T = TypeVar("T")

LIST_PATH = "/api/function/ListUserFunctions"
RUN_PATH = "/api/function/runFunction"
LOGIN_PATH = "/api/account/login"

MAX_BYTES = 2**30
_MAX_ERROR_BYTES = 64 * 1024
# The media types whose body is one JSON document a line.
_LINES = {
    "application/x-ndjson",
    "application/jsonl",
    "application/jsonlines",
    "application/json-lines",
    "application/x-jsonlines",
}

_url = lru_cache(httpx.URL)  # an address is parsed once, not for each request
# The errors that say that the service is not well; any other is an answer of it.
_AILING = (ServiceConnectionError, DeadlineError, ServerError)
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "gzip"}
# A timer may ring so many seconds before its time, by the clock's own steps.
_EARLY = 0.05
# Connecting, waiting for a free connection and writing have bounds of their own, in seconds; reading has the deadline.
_TIMEOUT = httpx.Timeout(None, connect=5, pool=5, write=10)


class Reply(NamedTuple):
    """
    The bytes of a reply, and the token that was sent for them, which no error may repeat.

    Attributes
    ----------
    data
        The body, inflated and whole.
    secret
        The token, or the password of a login.
    lines
        Whether the reply says that it is one JSON document a line.
    """

    data: bytes
    secret: Hidden
    lines: bool

    def read(self, reader: Callable[[bytes], T]) -> T:
        """
        Give what `reader` makes of the bytes.

        Raises
        ------
        FuncsError
            What the reader raises, without the token.
        """
        cleaning = cleaned.set(partial(redacted, secret=self.secret))
        try:
            return reader(self.data)
        except FuncsError as error:
            failed = type(error)(redacted(error.what, self.secret), redacted(error.hint, self.secret))
        finally:
            cleaned.reset(cleaning)
        raise failed  # out here, so that the error of the reader, which holds what it read, is not chained

    def without_token(self) -> bytes:
        """Give the bytes, with a mask where the service has repeated the token."""
        return self.data.replace(self.secret.reveal().encode(), b"****")


class Terms(NamedTuple):
    """
    How hard it is tried to get a reply.

    Attributes
    ----------
    purpose
        What the request is for, by which it is sent again or not.
    until
        The deadline on the running loop's clock, in seconds; who asks ends the wait then.
    max_bytes
        The largest reply taken, in bytes, after decompression.
    retries
        How often it is sent again at most, from 0 to 2.
    force
        Send it also while the service is left alone for its failures.
    """

    purpose: Purpose
    until: float
    max_bytes: int = MAX_BYTES
    retries: int = MOST_RETRIES
    force: bool = False


class Transport:
    """
    Requests to one service.

    Parameters
    ----------
    connection
        Where they go, and the token.
    transport
        Any httpx transport in place of the network: the embedded service is an `httpx.ASGITransport`.

    Attributes
    ----------
    ends
        When the token that was given last ends, in seconds since 1970; infinity as long as that is not known.
    turn
        Held by who reads a reply on this loop, so that one is read at a time.
    """

    def __init__(
        self, connection: Connection, transport: httpx.AsyncBaseTransport | httpx.BaseTransport | None = None
    ) -> None:
        mask_logs()
        self.connection = connection
        self._transport = None if transport is None else _Given(transport)
        self._own: httpx.AsyncClient | None = None  # the client of a transport of the user's own
        self._lanes = Lanes(self._open_client)
        self.turn = asyncio.Lock()
        self._certificates: ssl.SSLContext | None = None
        self._sent: Hidden | None = None
        self._pid = os.getpid()
        # What is known of a user's own transport is known of that one only.
        self._health = health(_origin(connection.base_url)) if transport is None else Health()
        self.ends = math.inf

    async def post(self, path: str, payload: object, terms: Terms, progress: Progress | None = None) -> Reply:
        """
        Send `payload` as JSON and give the whole reply, which is never cut short; send it again where that is safe.

        Parameters
        ----------
        path
            Below the connection's address.
        payload
            Anything that msgspec writes as JSON.
        terms
            How hard it is tried.
        progress
            Where it is said how far this has come.

        Raises
        ------
        FuncsError
            Every failure of the network, the service or the reply, as the class that FAULTS names for it.
        """
        self._look_whether_forked()
        clock = asyncio.get_running_loop().time
        breaker, told = self._health.breaker, progress or Progress()
        admission = breaker.admit(clock(), force=terms.force)
        if admission.wait:
            left_alone = CircuitOpenError(
                f"{self.connection.name} failed {breaker.row} times in a row; it is left alone for now.",
                f"Try again in {math.ceil(admission.wait)} s, or now with --force or with_options(force=True).",
            )
            left_alone.refused, left_alone.retry_after = True, admission.wait
            raise left_alone
        try:
            reply = await self._send(path, payload, terms, told)
        except asyncio.CancelledError:
            # By the deadline, which is the service's failure where it was asked, or by a person.
            if told.attempts and clock() >= terms.until - _EARLY:
                breaker.failed(clock(), admission)
            else:
                breaker.dropped(admission)
            raise
        except BaseException:  # of the token's source, or of our own making: it says nothing of the service
            breaker.dropped(admission)
            raise
        if isinstance(reply, Reply):
            breaker.answered()
            self._health.budget.succeeded()
            return reply
        if isinstance(reply.error, _AILING):
            breaker.failed(clock(), admission)
        else:
            breaker.answered()
        raise reply.error

    async def _send(self, path: str, payload: object, terms: Terms, told: Progress) -> Reply | Failure:
        """Send a request so often as its failures allow; give what came of it at last."""
        clock, may_renew = asyncio.get_running_loop().time, True
        for done in count():
            secret = self._sent = await self.secret()
            reply = await self._exchange(path, payload, secret, terms.max_bytes, told)
            if isinstance(reply, Failure) and reply.refuses_token and may_renew:
                may_renew = False  # once, whatever comes between
                renewed = self._sent = await self._renewed(secret)
                if renewed.reveal() != secret.reveal():
                    reply = await self._exchange(path, payload, renewed, terms.max_bytes, told)
            if isinstance(reply, Reply):
                return reply
            reply.error.attempts = done + 1
            reply.error.refused, reply.error.retry_after = reply.proof is Proof.REFUSED, reply.wished
            left = terms.until - clock()
            seconds = pause(reply.proof, terms.purpose, done=done, left=left, wished=reply.wished, most=terms.retries)
            timed_out = isinstance(reply.error, DeadlineError)
            if seconds is None or not self._health.budget.take(timed_out=timed_out):
                return reply
            await asyncio.sleep(seconds)
            if terms.until - clock() < LEAST_LEFT:  # a sleep may take longer: the machine slept too
                return reply
        raise AssertionError  # count() has no end

    async def _renewed(self, refused: Secret) -> Secret:
        """Ask the token's source for another one."""
        if isinstance(self.connection.token, Source):
            await asyncio.to_thread(self.connection.token.refused, refused)
        return await self.secret()

    async def login(self, email: str, password: Hidden) -> Secret:
        """
        Give a token for an email and a password (SERVICE.md 2).

        Raises
        ------
        FuncsError
            They are wrong, or the service gives no token; without the password.
        """
        payload = {"email": email, "password": password.reveal()}
        reply = await self._exchange(LOGIN_PATH, payload, password, _MAX_ERROR_BYTES, Progress())
        del payload  # a debugger that shows a traceback's variables would show it
        if isinstance(reply, Failure):
            if isinstance(reply.error, AuthenticationError):
                raise AuthenticationError(
                    f"The email or the password is wrong for {self.connection.name}.", "Try again."
                )
            raise reply.error
        token = _token(reply.data)
        del reply  # as above
        if token is None:
            raise ProtocolError("The service took the login, but gave no token.", "Tell the operator of the service.")
        return token

    def cleaned(self, text: str) -> str:
        """Give a text without the token that was sent last."""
        return text if self._sent is None else redacted(text, self._sent)

    async def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        own, self._own = self._own, None
        if own is not None:
            await own.aclose()
        await self._lanes.close()

    async def secret(self) -> Secret:
        """
        Give the token for one request, as its source has it now.

        Raises
        ------
        FuncsError
            There is none, or it has ended.
        """
        source, failed = self.connection.token, ""
        try:
            # In a thread: a source of the user's own may ask a person, a keyring or another service.
            secret = source() if isinstance(source, Constant) else await asyncio.to_thread(source)
        except FuncsError:
            raise
        except Exception as error:  # noqa: BLE001  # whatever a user's own source raises
            failed = type(error).__name__
        if failed:  # raised here and without the text: the error of a source may hold the token
            raise AuthenticationError(f"The source of the token failed ({failed}).", "Call it by itself to see why.")
        self.ends = secret.expires_at
        if self.ends <= time.time():
            raise AuthenticationError(f"The token for {self.connection.name} has expired.", NEW_TOKEN)
        return secret

    @asynccontextmanager
    async def _client(self, told: Progress) -> AsyncIterator[tuple[httpx.AsyncClient, Callable[[], None] | None]]:
        """Give a client for one request, which is sent from here on, and what wants to be told when it has been."""
        self._look_whether_forked()
        if self._transport is None:
            async with self._lanes.client() as (client, sent):
                told.attempts += 1
                yield client, sent
        else:
            self._own = self._own or httpx.AsyncClient(transport=self._transport, headers=_HEADERS)
            told.attempts += 1
            yield self._own, None

    def _look_whether_forked(self) -> None:
        if self._pid != os.getpid():  # a child must not share its parent's sockets, nor wait for its parent's requests
            self._pid, self._lanes, self._own = os.getpid(), Lanes(self._open_client), None
            self.turn = asyncio.Lock()
            self._health = health(_origin(self.connection.base_url)) if self._transport is None else Health()

    def _open_client(self) -> httpx.AsyncClient:
        try:
            # Made once: to read a system's certificates takes as long as some requests.
            self._certificates = self._certificates or httpx.create_ssl_context()
            return httpx.AsyncClient(
                verify=self._certificates,
                limits=httpx.Limits(max_connections=CONNECTIONS),
                headers=_HEADERS,
                follow_redirects=False,
            )
        except (ImportError, ValueError, OSError, httpx.InvalidURL):
            raise ConfigError(
                "The environment's settings for proxies or certificates cannot be used.",
                "Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and SSL_CERT_FILE.",
            ) from None

    async def _exchange(
        self, path: str, payload: object, secret: Hidden, max_bytes: int, told: Progress
    ) -> Reply | Failure:
        # The error is given back and raised by the caller, outside any except block: httpx's own errors hold the
        # request with its headers, and as a chained cause they would carry the token along. So would a traceback's
        # frames, and with it all that was read.
        response = None
        told.received = 0
        try:
            async with (
                self._client(told) as (client, sent),
                aclosing(
                    await client.send(
                        self._request(client, path, payload, sent),
                        stream=True,
                        auth=None if path == LOGIN_PATH else _Auth(secret, self.connection.header),
                    )
                ) as response,
            ):
                told.request_id = clip(inert(redacted(response.headers.get("x-request-id", "")[:200], secret)), 80)
                if response.status_code != HTTPStatus.OK:
                    head = await _read_head(response, secret)
                    refusal = Refusal(
                        response.status_code, head, _where(response), path == RUN_PATH, path == LOGIN_PATH, secret
                    )
                    return refusal.failure(wish(response.headers, time.time()))
                body = await _read(response, max_bytes, secret, told)
                _check(response, body, secret)
                media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                return Reply(body, secret, media_type in _LINES)
        except FuncsError as error:
            return Failure(error.with_traceback(None))
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ssl.SSLError) as error:
            return _translate(error, self.connection, response)
        except Exception as error:  # noqa: BLE001  # a transport of the user's own need not speak httpx's errors
            return Failure(
                ServiceConnectionError(
                    f"{self.connection.name} cannot be reached: {type(error).__name__} in the transport.", "Try again."
                )
            )

    def _request(
        self, client: httpx.AsyncClient, path: str, payload: object, sent: Callable[[], None] | None
    ) -> httpx.Request:
        # Made here and not by the client, which takes as long for it as for all that it does to send it.
        body = msgspec.json.encode(payload)
        request = httpx.Request(
            "POST",
            _url(self.connection.base_url + path),
            headers=client.headers,
            cookies=client.cookies,
            content=body,
            extensions={"timeout": _TIMEOUT.as_dict()},
        )
        if sent is not None:
            request.stream = _Body(body, sent)
        return request


class _Body(httpx.AsyncByteStream):
    """A request's body, which tells when it has been taken; httpx asks for more of it only then."""

    def __init__(self, data: bytes, sent: Callable[[], None]) -> None:
        self._data = data
        self._sent = sent

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._data
        self._sent()


class _Auth(httpx.Auth):
    """Puts the token into the request at the last moment, so that it stands in no variable on the way."""

    def __init__(self, secret: Hidden, header: str) -> None:
        self._secret = secret
        self._header = header

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        scheme = "Bearer " if self._header == "Authorization" else ""
        request.headers[self._header] = scheme + self._secret.reveal()
        yield request


class _Given(httpx.AsyncBaseTransport):
    """A transport of the user's own, synchronous or not; what comes through it is given as it came, not decoded."""

    def __init__(self, transport: httpx.AsyncBaseTransport | httpx.BaseTransport) -> None:
        self._transport = transport

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if isinstance(self._transport, httpx.AsyncBaseTransport):
            response = await self._transport.handle_async_request(request)
        else:
            response = await asyncio.to_thread(self._transport.handle_request, request)
        headers, stream = response.headers, response.stream
        # httpx reads and decodes a response that is made of bytes at once, but keeps the bytes. One that the user's
        # transport has read itself is there only as httpx has decoded it.
        if response.is_stream_consumed and not isinstance(stream, httpx.ByteStream):
            stream = httpx.ByteStream(response.content)
            headers = httpx.Headers(headers)
            if headers.get("content-encoding", "").strip().lower() == "gzip":
                del headers["content-encoding"]
        elif not isinstance(stream, httpx.AsyncByteStream):
            stream = _InThread(stream)
        return httpx.Response(response.status_code, headers=headers, stream=stream)

    async def aclose(self) -> None:
        if isinstance(self._transport, httpx.AsyncBaseTransport):
            await self._transport.aclose()


class _InThread(httpx.AsyncByteStream):
    """A synchronous stream, made usable on the loop; each piece is read when it is asked for."""

    def __init__(self, stream: httpx.SyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = iter(self._stream)
        while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
            yield piece

    async def aclose(self) -> None:
        await asyncio.to_thread(self._stream.close)


async def _read(response: httpx.Response, max_bytes: int, secret: Hidden, told: Progress) -> bytes:
    """Give the whole body, inflated; no more is read than the piece that makes it larger than `max_bytes`."""
    too_large = ReplyTooLargeError(
        f"The reply is larger than max_bytes = {max_bytes:,}.",
        "Ask for less, or allow more with with_options(max_bytes=…).",
    )
    announced = response.headers.get("content-length", "")
    if not _is_gzip(response, secret) and re.fullmatch(r"[0-9]{1,20}", announced) and int(announced) > max_bytes:
        raise too_large
    body = io.BytesIO()  # unlike a list of pieces it gives them without a copy; nor is a piece that is all of it copied
    async for piece in _pieces(response, secret):
        if body.tell() + len(piece) > max_bytes:
            raise too_large
        if body.tell():
            body.write(piece)
        else:
            body = io.BytesIO(piece)
            body.seek(len(piece))
        told.received = body.tell()
    return body.getvalue()


async def _read_head(response: httpx.Response, secret: Hidden) -> bytes:
    """Give the beginning of an error's body, which is shown in a line or two; as much of it as can be inflated."""
    head = bytearray()
    with contextlib.suppress(ProtocolError):  # the status says more than how its text is packed
        async for piece in _pieces(response, secret):
            head += piece[:_MAX_ERROR_BYTES]
            if len(head) >= _MAX_ERROR_BYTES:
                break
    return bytes(head[:_MAX_ERROR_BYTES])


def _pieces(response: httpx.Response, secret: Hidden) -> AsyncIterator[bytes]:
    raw = response.aiter_raw()
    return inflated(raw) if _is_gzip(response, secret) else raw


def _is_gzip(response: httpx.Response, secret: Hidden) -> bool:
    header = response.headers.get("content-encoding", "")
    codings = [coding for each in header.lower().split(",") if (coding := each.strip()) not in {"", "identity"}]
    if codings in ([], ["gzip"], ["x-gzip"]):
        return bool(codings)
    raise ProtocolError(
        f"The reply's encoding is {quote(redacted(header, secret))}; only gzip, once, was asked for.",
        "Tell the operator of the service.",
    )


def _check(response: httpx.Response, body: bytes, secret: Hidden) -> None:
    """Raise what is wrong with the body of a 200 that holds no data."""
    if not body or body.isspace():
        raise ProtocolError("The service sent an empty reply.", "Try again; if it stays so, tell its operator.")
    if re.match(rb"\s*<", body) and "html" in response.headers.get("content-type", "text/html"):
        raise AuthenticationError(
            f"The service sent a web page in place of data: {said(body, secret)}",
            f"Is it a login page? {NEW_TOKEN}",
        )


def _token(body: bytes) -> Secret | None:
    """Give the token of a login's reply, where it has one."""
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError, ConfigError, KeyError):
        document: Any = msgspec.json.decode(body)
        return Secret(document["token"]) if isinstance(document, dict) else None
    return None


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


def _where(response: httpx.Response) -> str:
    return str(response.request.url.copy_with(query=None, fragment=None))


def _translate(  # noqa: PLR0911  # one return a fault
    error: Exception, connection: Connection, response: httpx.Response | None
) -> Failure:
    """Translate httpx's error; its text is used only where it holds no request."""
    host = urlsplit(connection.base_url).netloc or connection.name
    cause = _find_cause(error, ssl.SSLError)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return Failure(
            ServiceConnectionError(
                f"The certificate of {host} is not trusted: {inert(cause.verify_message)}.",
                "Ask its operator; if your company has an authority of its own, set SSL_CERT_FILE to its certificate.",
            )
        )
    if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
        return Failure(
            DeadlineError(f"{host} did not take the connection within 5 s.", "Check your network and try again."),
            Proof.NOT_SENT,
        )
    if isinstance(error, httpx.TimeoutException):
        return Failure(
            DeadlineError(f"{host} did not take the request in time; it may still run.", "Try again later."),
            Proof.UNANSWERED,
        )
    if isinstance(error, httpx.ProxyError):
        if "407" in str(error):
            return Failure(
                ConfigError("The proxy asks for a user name and a password (407).", "Set them in HTTPS_PROXY.")
            )
        return Failure(
            ServiceConnectionError("The proxy cannot be reached.", "Check HTTPS_PROXY and your network."),
            Proof.NOT_SENT,
        )
    if isinstance(error, httpx.ConnectError):
        return Failure(
            ServiceConnectionError(
                f"Cannot reach {host}: {_reason(error)}.", "Check the address and your network, then try again."
            ),
            Proof.NOT_SENT,
        )
    if isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL | httpx.LocalProtocolError):
        return Failure(ConfigError(f"No request can be sent to {host}.", CHECK_ADDRESS))
    if isinstance(error, httpx.DecodingError):
        return Failure(
            ProtocolError("The reply's compression is broken.", "Try again; if it stays so, tell its operator.")
        )
    if isinstance(error, httpx.RemoteProtocolError) and not re.search(r"closed|disconnected", str(error)):
        return Failure(ProtocolError(f"{host} did not answer in HTTP.", CHECK_ADDRESS))
    came = f" after {response.num_bytes_downloaded:,} bytes of it" if response is not None else ""
    return Failure(
        ServiceConnectionError(f"The connection to {host} broke before the reply was whole{came}.", "Try again."),
        Proof.BROKEN,
    )


def _reason(error: Exception) -> str:
    cause = _find_cause(error, OSError)
    text = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(error)
    return clip(inert(text), 120) or "no answer"


def _find_cause(error: BaseException, kind: type[BaseException]) -> BaseException | None:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, kind):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None

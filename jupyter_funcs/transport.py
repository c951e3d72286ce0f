"""
The one room that knows httpx: bytes go out and bytes come in, bounded, and every foreign error is translated here.

The caller keeps the one total deadline around it (`asyncio.timeout`): httpx bounds each read and not their sum.
"""

from __future__ import annotations

import asyncio
import contextlib
import html
import io
import math
import os
import re
import ssl
import time
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import httpx
import msgspec

from jupyter_funcs.errors import (
    ArgumentError,
    AuthenticationError,
    ConfigError,
    DeadlineError,
    FuncsError,
    FunctionError,
    NotFoundError,
    PermissionDeniedError,
    ProtocolError,
    RateLimitError,
    ReplyTooLargeError,
    ServerError,
    ServiceConnectionError,
)
from jupyter_funcs.inflate import inflated
from jupyter_funcs.progress import Progress
from jupyter_funcs.secret import Secret
from jupyter_funcs.text import clip, inert, quote
from jupyter_funcs.tokens import Source
from jupyter_funcs.wire import cleaned

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator

    from jupyter_funcs.config import Connection
    from jupyter_funcs.secret import Hidden

T = TypeVar("T")

LIST_PATH = "/api/function/ListUserFunctions"
RUN_PATH = "/api/function/runFunction"
LOGIN_PATH = "/api/account/login"

MAX_BYTES = 2**30
_SHORTEST_PART = 8
_MAX_ERROR_BYTES = 64 * 1024
# The media types whose body is one JSON document a line.
_LINES = {
    "application/x-ndjson",
    "application/jsonl",
    "application/jsonlines",
    "application/json-lines",
    "application/x-jsonlines",
}
_NEW_TOKEN = "Get a new token and connect again."  # noqa: S105  # advice, no token
_CHECK_ADDRESS = "Check the address of the service."

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
        cleaning = cleaned.set(partial(_redact, secret=self.secret))
        try:
            return reader(self.data)
        except FuncsError as error:
            failed = type(error)(_redact(error.what, self.secret), _redact(error.hint, self.secret))
        finally:
            cleaned.reset(cleaning)
        raise failed  # out here, so that the error of the reader, which holds what it read, is not chained

    def without_token(self) -> bytes:
        """Give the bytes, with a mask where the service has repeated the token."""
        return self.data.replace(self.secret.reveal().encode(), b"****")


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
    """

    def __init__(
        self, connection: Connection, transport: httpx.AsyncBaseTransport | httpx.BaseTransport | None = None
    ) -> None:
        self.connection = connection
        self._transport = None if transport is None else _Given(transport)
        self._client: httpx.AsyncClient | None = None
        self._sent: Hidden | None = None
        self._pid = os.getpid()
        self.ends = math.inf

    async def post(
        self, path: str, payload: object, *, max_bytes: int = MAX_BYTES, progress: Progress | None = None
    ) -> Reply:
        """
        Send `payload` as JSON and give the whole reply, which is never cut short.

        Parameters
        ----------
        path
            Below the connection's address.
        payload
            Anything that msgspec writes as JSON.
        max_bytes
            The largest reply taken, in bytes, after decompression.
        progress
            Where it is said how far this has come.

        Raises
        ------
        FuncsError
            Every failure of the network, the service or the reply, as the class that FAULTS names for it.
        """
        told = progress or Progress()
        secret = self._sent = await self.secret()
        reply = await self._exchange(path, payload, secret, max_bytes, told)
        if isinstance(reply, AuthenticationError):
            if isinstance(self.connection.token, Source):
                await asyncio.to_thread(self.connection.token.refused, secret)
            renewed = await self.secret()
            if renewed.reveal() == secret.reveal():
                raise reply
            secret = self._sent = renewed
            reply = await self._exchange(path, payload, secret, max_bytes, told)
        if isinstance(reply, FuncsError):
            raise reply
        return reply

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
        if isinstance(reply, AuthenticationError):
            raise AuthenticationError(f"The email or the password is wrong for {self.connection.name}.", "Try again.")
        if isinstance(reply, FuncsError):
            raise reply
        token = _token(reply.data)
        del reply  # as above
        if token is None:
            raise ProtocolError("The service took the login, but gave no token.", "Tell the operator of the service.")
        return token

    def cleaned(self, text: str) -> str:
        """Give a text without the token that was sent last."""
        return text if self._sent is None else _redact(text, self._sent)

    async def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def secret(self) -> Secret:
        """
        Give the token for one request, as its source has it now.

        Raises
        ------
        FuncsError
            There is none, or it has ended.
        """
        # In a thread: a source of the user's own may ask a person, a keyring or another service.
        failed = ""
        try:
            secret = await asyncio.to_thread(self.connection.token)
        except FuncsError:
            raise
        except Exception as error:  # noqa: BLE001  # whatever a user's own source raises
            failed = type(error).__name__
        if failed:  # raised here and without the text: the error of a source may hold the token
            raise AuthenticationError(f"The source of the token failed ({failed}).", "Call it by itself to see why.")
        self.ends = secret.expires_at
        if self.ends <= time.time():
            raise AuthenticationError(f"The token for {self.connection.name} has expired.", _NEW_TOKEN)
        return secret

    def _open_client(self) -> httpx.AsyncClient:
        if self._client is None or self._pid != os.getpid():  # a forked child must not share its parent's sockets
            try:
                self._client = httpx.AsyncClient(transport=self._transport, timeout=_TIMEOUT, follow_redirects=False)
            except (ImportError, ValueError, OSError, httpx.InvalidURL):
                raise ConfigError(
                    "The environment's settings for proxies or certificates cannot be used.",
                    "Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and SSL_CERT_FILE.",
                ) from None
            self._pid = os.getpid()
        return self._client

    async def _exchange(
        self, path: str, payload: object, secret: Hidden, max_bytes: int, told: Progress
    ) -> Reply | FuncsError:
        # The error is given back and raised by the caller, outside any except block: httpx's own errors hold the
        # request with its headers, and as a chained cause they would carry the token along. So would a traceback's
        # frames, and with it all that was read.
        response = None
        told.attempts, told.received = told.attempts + 1, 0
        try:
            async with self._open_client().stream(
                "POST",
                self.connection.base_url + path,
                content=msgspec.json.encode(payload),
                headers={
                    "Content-Type": "application/json",
                    "Accept": "application/json",
                    "Accept-Encoding": "gzip",
                },
                auth=None if path == LOGIN_PATH else _Auth(secret, self.connection.header),
            ) as response:
                told.request_id = clip(inert(_redact(response.headers.get("x-request-id", "")[:200], secret)), 80)
                if response.status_code != HTTPStatus.OK:
                    return _refusal(response, await _read_head(response, secret), path, secret)
                body = await _read(response, max_bytes, secret, told)
                _check(response, body, secret)
                media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                return Reply(body, secret, media_type in _LINES)
        except FuncsError as error:
            return error.with_traceback(None)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ssl.SSLError) as error:
            return _translate(error, self.connection, response)
        except Exception as error:  # noqa: BLE001  # a transport of the user's own need not speak httpx's errors
            return ServiceConnectionError(
                f"{self.connection.name} cannot be reached: {type(error).__name__} in the transport.", "Try again."
            )


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
        f"The reply's encoding is {quote(_redact(header, secret))}; only gzip, once, was asked for.",
        "Tell the operator of the service.",
    )


def _check(response: httpx.Response, body: bytes, secret: Hidden) -> None:
    """Raise what is wrong with the body of a 200 that holds no data."""
    if not body or body.isspace():
        raise ProtocolError("The service sent an empty reply.", "Try again; if it stays so, tell its operator.")
    if re.match(rb"\s*<", body) and "html" in response.headers.get("content-type", "text/html"):
        raise AuthenticationError(
            f"The service sent a web page in place of data: {_said(body, secret)}",
            f"Is it a login page? {_NEW_TOKEN}",
        )


def _refusal(response: httpx.Response, body: bytes, path: str, secret: Hidden) -> FuncsError:
    """Give the error that a status other than 200 stands for."""
    status = response.status_code
    text = _said(body, secret)
    if status == HTTPStatus.NOT_FOUND:
        # An address that does not exist answers in plain text or HTML; a function that does not, in the service's JSON.
        if path == RUN_PATH and body.lstrip()[:1] == b"{":
            return NotFoundError(
                text or "The service knows no such function.", "List yours with %funcs find, after %funcs refresh."
            )
        what = "login" if path == LOGIN_PATH else "function service"
        return ConfigError(f"There is no {what} at {_where(response)} (404).", _CHECK_ADDRESS)
    if status == HTTPStatus.UNPROCESSABLE_ENTITY:
        return ArgumentError(text or "The service refuses the arguments (422).", errors=_by_argument(body, secret))
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        seconds = _seconds(response.headers.get("retry-after", ""))
        when = f"in {seconds:.0f} s" if seconds is not None else "in a minute"
        return RateLimitError(
            text or "The service takes no more requests for now (429).", f"Try again {when}.", seconds
        )
    if 300 <= status < 400:
        return ProtocolError(
            f"The service redirects to another address ({status}); nothing was sent there.",
            "Connect to the address that it has now.",
        )
    make = _BY_STATUS.get(status) or (_server if status >= 500 else _unexpected)
    return make(text, status)


def _server(text: str, status: int) -> FuncsError:
    return ServerError(f"The service failed ({status}){_after_colon(text)}", "Try again later.")


def _unexpected(text: str, status: int) -> FuncsError:
    return ProtocolError(f"The service answered with status {status}{_after_colon(text)}", _CHECK_ADDRESS)


def _after_colon(text: str) -> str:
    return f": {text}" if text else "."


# One row a status whose error is made from its text alone (FAULTS.md 23-40).
_BY_STATUS: dict[int, Callable[[str, int], FuncsError]] = {
    400: lambda text, _: FunctionError(text or "The service refuses the request (400)."),
    401: lambda text, _: AuthenticationError(f"The service does not accept the token{_after_colon(text)}", _NEW_TOKEN),
    403: lambda text, _: PermissionDeniedError(
        f"You are not allowed to do this{_after_colon(text)}", "Ask the service's operator for access."
    ),
    405: lambda _, status: ConfigError(f"This address takes no runs (status {status}).", _CHECK_ADDRESS),
    408: lambda *_: DeadlineError("The service waited too long for the request (408).", "Try again."),
    409: lambda text, _: FunctionError(text or "The service is busy with the same request (409)."),
    413: lambda text, _: ReplyTooLargeError(text or "The service takes no request this large.", "Send fewer values."),
    415: lambda _, status: ConfigError(f"This address takes no JSON (status {status}).", _CHECK_ADDRESS),
    504: lambda *_: DeadlineError(
        "The service's gateway stopped waiting (504); the run may still go on.", "Try again later."
    ),
}


def _said(body: bytes, secret: Hidden) -> str:
    """Give what an error's body says to a person: its JSON text, or its text without markup; inert, short, no token."""
    text = body.decode("utf-8", "replace")
    try:
        value: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = re.sub(r"(?is)<(script|style)\b.*?</\1\s*>|<[^>]*>", " ", text)
        text = html.unescape(text)
    else:
        if isinstance(value, dict):
            value = next((value[key] for key in ("error", "detail", "message", "title") if value.get(key)), "")
        text = value if isinstance(value, str) else "" if not value else msgspec.json.encode(value).decode()
    return clip(inert(_redact(text, secret)), 300)


def _token(body: bytes) -> Secret | None:
    """Give the token of a login's reply, where it has one."""
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError, ConfigError, KeyError):
        document: Any = msgspec.json.decode(body)
        return Secret(document["token"]) if isinstance(document, dict) else None
    return None


def _by_argument(body: bytes, secret: Hidden) -> dict[str, list[str]]:
    """Give the texts of a 422 by argument: ``{"arguments": {name: [text]}}``, or FastAPI's ``detail`` list."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    named: dict[str, list[str]] = {}
    if isinstance(value, dict) and isinstance(value.get("arguments"), dict):
        for name, texts in value["arguments"].items():
            named[name] = [str(text) for text in (texts if isinstance(texts, list) else [texts])]
    elif isinstance(value, dict) and isinstance(value.get("detail"), list):
        for entry in value["detail"]:
            if isinstance(entry, dict) and isinstance(entry.get("loc"), list) and entry["loc"]:
                named.setdefault(str(entry["loc"][-1]), []).append(str(entry.get("msg", "")))
    return {name: [clip(inert(_redact(text, secret)), 300) for text in texts] for name, texts in named.items()}


def _redact(text: str, secret: Hidden) -> str:
    """Put a mask in place of the token, and of any part of it that is long enough to be one."""
    token = secret.reveal()
    size = min(len(token), _SHORTEST_PART)
    shown: list[str] = []
    end = 0
    for start in range(len(text)):
        if text[start : start + size] in token and start + size <= len(text):
            if start > end or not shown:
                shown += [text[end:start], "****"]
            end = start + size
    return "".join([*shown, text[end:]])


def _seconds(retry_after: str) -> float | None:
    return float(retry_after) if re.fullmatch(r"\d{1,6}", retry_after.strip(), re.ASCII) else None


def _where(response: httpx.Response) -> str:
    return str(response.request.url.copy_with(query=None, fragment=None))


def _translate(  # noqa: PLR0911  # one return a fault
    error: Exception, connection: Connection, response: httpx.Response | None
) -> FuncsError:
    """Translate httpx's error; its text is used only where it holds no request."""
    host = urlsplit(connection.base_url).netloc or connection.name
    cause = _find_cause(error, ssl.SSLError)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return ServiceConnectionError(
            f"The certificate of {host} is not trusted: {inert(cause.verify_message)}.",
            "Ask the service's operator; if your company has its own authority, set SSL_CERT_FILE to its certificate.",
        )
    if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
        return DeadlineError(f"{host} did not take the connection within 5 s.", "Check your network and try again.")
    if isinstance(error, httpx.TimeoutException):
        return DeadlineError(f"{host} did not take the request in time; it may still run.", "Try again later.")
    if isinstance(error, httpx.ProxyError):
        if "407" in str(error):
            return ConfigError("The proxy asks for a user name and a password (407).", "Set them in HTTPS_PROXY.")
        return ServiceConnectionError("The proxy cannot be reached.", "Check HTTPS_PROXY and your network.")
    if isinstance(error, httpx.ConnectError):
        return ServiceConnectionError(
            f"Cannot reach {host}: {_reason(error)}.", "Check the address and your network, then try again."
        )
    if isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL | httpx.LocalProtocolError):
        return ConfigError(f"No request can be sent to {host}.", _CHECK_ADDRESS)
    if isinstance(error, httpx.DecodingError):
        return ProtocolError("The reply's compression is broken.", "Try again; if it stays so, tell its operator.")
    if isinstance(error, httpx.RemoteProtocolError) and not re.search(r"closed|disconnected", str(error)):
        return ProtocolError(f"{host} did not answer in HTTP.", _CHECK_ADDRESS)
    came = f" after {response.num_bytes_downloaded:,} bytes of it" if response is not None else ""
    return ServiceConnectionError(f"The connection to {host} broke before the reply was whole{came}.", "Try again.")


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

"""The one room that knows httpx: a request goes out once, a reply comes in, and every foreign error is translated."""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from contextlib import aclosing, asynccontextmanager
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import msgspec

from jupyter_funcs.errors import ConfigError, DeadlineError, FuncsError, ProtocolError, ServiceConnectionError
from jupyter_funcs.lanes import CONNECTIONS, Lanes
from jupyter_funcs.logs import mask_logs
from jupyter_funcs.refusals import CHECK_ADDRESS, Failure, Refusal
from jupyter_funcs.reply import Reply, read_head, read_reply
from jupyter_funcs.retries import Proof, wish
from jupyter_funcs.secret import redacted
from jupyter_funcs.text import clip, inert

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator

    from jupyter_funcs.config import Connection
    from jupyter_funcs.progress import Progress
    from jupyter_funcs.secret import Hidden

LIST_PATH = "/api/function/ListUserFunctions"
RUN_PATH = "/api/function/runFunction"
LOGIN_PATH = "/api/account/login"

_url = lru_cache(httpx.URL)  # an address is parsed once, not for each request
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "gzip"}
# Connecting, waiting for a free connection and writing have bounds of their own, in seconds; reading has the deadline.
_TIMEOUT = httpx.Timeout(None, connect=5, pool=5, write=10)


class Exchange:
    """
    One request and its reply, with one service; nothing is sent again here.

    Parameters
    ----------
    connection
        Where the requests go.
    transport
        Any httpx transport in place of the network.
    """

    def __init__(
        self, connection: Connection, transport: httpx.AsyncBaseTransport | httpx.BaseTransport | None = None
    ) -> None:
        mask_logs()
        self.connection = connection
        self._transport = None if transport is None else _Given(transport)
        self._own: httpx.AsyncClient | None = None  # the client of a transport of the user's own
        self._lanes = Lanes(self._open_client)
        self._certificates: ssl.SSLContext | None = None

    async def send(self, path: str, payload: object, secret: Hidden, max_bytes: int, told: Progress) -> Reply | Failure:
        """
        Send `payload` as JSON, once, and give its reply, or why there is none; nothing is raised but a cancel.

        Parameters
        ----------
        path
            Below the connection's address.
        payload
            Anything that msgspec writes as JSON.
        secret
            What is sent for a token; of a login the password, which stands in the payload.
        max_bytes
            The largest reply taken, in bytes, after decompression.
        told
            Is told how far this has come.
        """
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
                    head = await read_head(response, secret)
                    refusal = Refusal(
                        response.status_code, head, _where(response), path == RUN_PATH, path == LOGIN_PATH, secret
                    )
                    return refusal.failure(wish(response.headers, time.time()))
                return await read_reply(response, max_bytes, secret, told)
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

    async def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        own, self._own = self._own, None
        if own is not None:
            await own.aclose()
        await self._lanes.close()

    @asynccontextmanager
    async def _client(self, told: Progress) -> AsyncIterator[tuple[httpx.AsyncClient, Callable[[], None] | None]]:
        """Give a client for one request, which is sent from here on, and what wants to be told when it has been."""
        if self._transport is None:
            async with self._lanes.client() as (client, sent):
                told.attempts += 1
                yield client, sent
        else:
            self._own = self._own or httpx.AsyncClient(transport=self._transport, headers=_HEADERS)
            told.attempts += 1
            yield self._own, None

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

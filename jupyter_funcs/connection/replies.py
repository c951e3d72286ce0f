"""Replies: the body of a 200, read within limits, or the error for any other status; no error contains the token."""

from __future__ import annotations

import asyncio
import io
import math
import re
import time
import zlib
from contextlib import suppress
from traceback import clear_frames
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import quote_plus, urljoin, urlsplit

from jupyter_funcs.connection.error_bodies import error_text, read_error
from jupyter_funcs.connection.retries import Proof, parse_retry_after, proof_of_status
from jupyter_funcs.connection.secrets import Hidden, redacted_all, redacted_line
from jupyter_funcs.core.errors import (
    TRY_AGAIN,
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
)
from jupyter_funcs.core.json_decoding import exact_numbers
from jupyter_funcs.core.text import quote
from jupyter_funcs.core.warn import MissingRowsWarning, redactor, warn

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterable,
        AsyncIterator,
        Callable,
        Mapping,
        Sequence,
    )

    import httpx

    from jupyter_funcs.core.background import Progress

T = TypeVar("T")

# The requests that replies answer.
LIST_PATH = "/api/function/ListUserFunctions"
RUN_PATH = "/api/function/runFunction"
RUNS_PATH = "/api/runs"
ARROW = "application/vnd.apache.arrow.stream"
# A listing with this header is of a service that takes arguments with JSON's types, from requests that have it too.
TAKES_JSON = {"Funcs-Args": "json"}
LOGIN_PATH = "/api/account/login"
NEW_TOKEN = "Get a new token from the service's operator and connect again."  # noqa: S105  # advice, not a token
CHECK_ADDRESS = "Check the address of the service."
_MAX_TEXT = 300
_MAX_ERROR_BYTES = 64 * 1024
# Media types with one JSON document per line.
_NDJSON = {
    "application/x-ndjson",
    "application/jsonl",
    "application/jsonlines",
    "application/json-lines",
    "application/x-jsonlines",
}
_KEPT_HEADERS = (
    "content-range",
    "link",
    "x-next-page",
    "x-page",
    "x-total",
    "x-total-count",
    "x-total-pages",
    "x-wp-total",
    "x-wp-totalpages",
    "funcs-runs",
    "funcs-run-seconds",
    "location",
    "operation-location",
    "azure-asyncoperation",
    "retry-after",
    "date",
    "etag",
)
_FRAMING = {"content-length", "transfer-encoding"}
# The most bytes that one step of zlib returns, and that it receives.
_MAX_OUTPUT = 2**20
_MAX_INPUT = 2**16
# They may answer any request; others from 400 to 499 are about what an operation does.
_OF_ANY_REQUEST = {400, 401, 403, 405, 407, 408, 409, 413, 422, 425, 429}
# They may be about arguments, as a 422 is.
_REFUSALS = {400, 409}
_GZIP_WINDOW = 16 + zlib.MAX_WBITS


class Reply(NamedTuple):
    """
    The body of a 200, and the secrets that were sent, which no error may repeat; none of a 304, which `is_known`.

    `is_exact` is whether numbers beyond all floats are infinite, rather than wrong.
    """

    data: bytes
    secrets: Sequence[Hidden]
    lines: bool
    why_cut: str = ""
    is_arrow: bool = False
    offers_arrow: bool = False
    takes_json: bool = False
    warning: str = ""
    headers: Mapping[str, str] = MappingProxyType({})
    media_type: str = ""
    is_known: bool = False
    is_exact: bool = False

    def read(self, reader: Callable[[bytes], T]) -> T:
        """Return what `reader` makes of the body; its errors and warnings are redacted."""
        token = redactor.set(redacted_all)
        try:
            with exact_numbers(is_on=self.is_exact):
                value = reader(self.data)
            if self.warning:
                warn(self.warning)
            if self.why_cut:
                warn(
                    MissingRowsWarning(
                        f"The end of the reply may be missing: {self.why_cut}."
                    )
                )
            return value  # noqa: TRY300  # an else would split what may raise
        except FuncsError as error:
            failed = type(error)(redacted_all(error.what), redacted_all(error.hint))
        except BaseException as error:  # an interrupt, or no memory
            clear_frames(error.__traceback__)  # debuggers show their variables
            del self
            raise
        finally:
            redactor.reset(token)

        del self
        # Out here, so that the reader's error, which holds what it read, isn't chained.
        raise failed

    def without_token(self) -> bytes:
        """Return the body, with the secrets masked if the service repeats them."""
        data = self.data
        for secret in filter(Hidden.reveal, self.secrets):
            data = data.replace(secret.reveal().encode(), b"****")
            data = data.replace(quote_plus(secret.reveal()).encode(), b"****")
        return data


async def read_reply(
    response: httpx.Response,
    max_bytes: int,
    secrets: Sequence[Hidden],
    progress: Progress,
    *,
    may_be_empty: bool = False,
) -> Reply:
    """Read the whole reply of a 200; one without content, if it may be, stands for no rows."""
    body = await _read(response, max_bytes, progress)
    content_type = response.headers.get("content-type", "")
    if may_be_empty and (response.status_code == 303 or not body.strip()):
        body = b"[]"
        content_type = ""

    _check(response, body)
    media_type = content_type.partition(";")[0].strip().lower()
    lines = media_type in _NDJSON
    is_number = body[-1:].isdigit()
    why_cut = _why_cut(response, body, lines=lines) if lines or is_number else ""
    is_arrow = media_type == ARROW and ARROW in response.request.headers.get(
        "accept", ""
    )
    headers = response.headers
    kept = {name: headers[name] for name in _KEPT_HEADERS if name in headers}
    return Reply(
        body,
        secrets,
        lines,
        why_cut,
        is_arrow,
        offers_arrow=ARROW in headers.get("x-reply-types", ""),
        takes_json=all(
            headers.get(name) == value for name, value in TAKES_JSON.items()
        ),
        warning=redacted_line(headers.get("funcs-warning", ""), _MAX_TEXT),
        headers={**kept, ":status": str(response.status_code)},
        media_type=content_type,
    )


def _why_cut(response: httpx.Response, body: bytes, *, lines: bool) -> str:
    """Return why the end may be missing of NDJSON or a bare number, which may be cut and still valid."""
    if lines and not body.endswith(b"\n"):
        return "its last line has no line end"
    if getattr(response.stream, "has_more", False):
        return "more followed than its Content-Length"
    # Only a network has framing: an application in process returns all, or raises.
    if "network_stream" in response.extensions and _FRAMING.isdisjoint(
        response.headers
    ):
        return "it ended when the connection closed"

    return ""


async def _read_head(response: httpx.Response) -> bytes:
    """Read the first 64 KiB of an error's body, or as much of them as can be decompressed."""
    head = bytearray()
    with suppress(Exception):  # the status says more than a broken body
        async for piece in pieces(response):
            head += piece[:_MAX_ERROR_BYTES]
            if len(head) >= _MAX_ERROR_BYTES:
                break

    return bytes(head[:_MAX_ERROR_BYTES])


async def _read(response: httpx.Response, max_bytes: int, progress: Progress) -> bytes:
    """Return the whole body, decompressed; stop reading at the piece that exceeds `max_bytes`."""
    announced = response.headers.get("content-length", "")
    if (
        not _is_gzip(response)
        and re.fullmatch(r"[0-9]{1,20}", announced)
        and int(announced) > max_bytes
    ):
        raise too_large(max_bytes)

    # Returns its bytes without a copy, also if they came in one piece.
    body = io.BytesIO()
    async for piece in pieces(response):
        if body.tell() + len(piece) > max_bytes:
            raise too_large(max_bytes)
        if body.tell():
            body.write(piece)
        else:
            body = io.BytesIO(piece)
            body.seek(len(piece))
        progress.received = body.tell()

    return body.getvalue()


def too_large(max_bytes: int) -> ReplyTooLargeError:
    """Return the error for a reply of more than `max_bytes`."""
    return ReplyTooLargeError(
        f"The reply is larger than max_bytes = {max_bytes:,}.",
        "Ask for less, or allow more with with_options(max_bytes=…).",
    )


def pieces(response: httpx.Response) -> AsyncIterator[bytes]:
    """Return the body as it arrives, decompressed."""
    raw = response.aiter_raw()
    return decompressed(raw) if _is_gzip(response) else raw


def _is_gzip(response: httpx.Response) -> bool:
    header = response.headers.get("content-encoding", "")
    codings = [
        coding
        for coding in map(str.strip, header.lower().split(","))
        if coding not in {"", "identity"}
    ]
    if codings in ([], ["gzip"], ["x-gzip"]):
        return bool(codings)
    raise ProtocolError(
        f"The reply's encoding is {quote(redacted_all(header[:200]))}; only gzip was asked for.",
        "Tell the operator of the service.",
    )


def _check(response: httpx.Response, body: bytes) -> None:
    """Raise if the body of a 200 is empty, or a web page that nobody asked for."""
    head = body[:_MAX_ERROR_BYTES].lstrip()
    # The reader finds out about more blanks, in a thread.
    if not head and len(body) <= _MAX_ERROR_BYTES:
        raise ProtocolError("The service sent an empty reply.", TRY_AGAIN)

    is_page = "html" in response.headers.get("content-type", "text/html")
    is_wanted = "html" in response.request.headers.get("accept", "")
    if head.startswith(b"<") and is_page and not is_wanted:
        raise AuthenticationError(
            f"The service sent a web page instead of data: {error_text(head)}",
            f"Is it a login page? {NEW_TOKEN}",
        )


class Failure(NamedTuple):
    """Why there is no reply."""

    error: FuncsError
    proof: Proof = Proof.FINAL
    retry_after: float | None = None
    rejects_token: bool = False


async def read_failure(
    response: httpx.Response, secrets: Sequence[Hidden], *, is_operation: bool = False
) -> Failure:
    """Return what a reply with a status other than 200 stands for."""
    body = await _read_head(response)
    status = response.status_code
    retry_after = parse_retry_after(response.headers, time.time())
    again = ""
    if retry_after is not None:
        again = f"Try again in {math.ceil(retry_after)} s."
    if is_operation and 400 <= status < 500 and status not in _OF_ANY_REQUEST:
        return Failure(_refusal_of_operation(response, error_text(body)))

    error = _error(response, body, again)
    if status == 401 and not any(map(Hidden.reveal, secrets)):
        what = f"The service needs a token{_after_colon(error_text(body))}"
        error = AuthenticationError(
            what, "Connect with token=…, or name the token's source in a profile."
        )

    error.status = status
    # What a kept run has ended with, and not what became of the request.
    proof = Proof.FINAL
    if "funcs-run" not in response.headers:
        proof = proof_of_status(status)
    return Failure(error, proof, retry_after, rejects_token=status == 401)


def _refusal_of_operation(response: httpx.Response, text: str) -> FunctionError:
    """Return what a server says of an operation, whose address is the document's."""
    status = response.status_code
    url = response.request.url.copy_with(query=None, fragment=None)
    address = redacted_line(str(url), _MAX_TEXT)
    if status == 404:
        return FunctionError(
            text or "The service has nothing of this name.",
            f"There is nothing at {address} (404).",
        )
    return FunctionError(
        text or f"The service refuses the run ({status}).",
        f"{address} answered with status {status}.",
    )


def _error(response: httpx.Response, body: bytes, again: str) -> FuncsError:
    status = response.status_code
    text, by_argument = read_error(body)
    url = response.request.url.copy_with(query=None, fragment=None)
    is_ours = body.lstrip()[:1] == b"{"
    if status == 404:
        return _not_found(url, text, is_ours=is_ours)
    if status == 422 or (by_argument and status in _REFUSALS):
        return ArgumentError(
            text or f"The service rejects the arguments ({status}).", errors=by_argument
        )

    if make := _BY_STATUS.get(status):
        is_of_gateway = status == 504 and not is_ours
        return make("" if is_of_gateway else text, again)

    if status >= 500:
        return ServerError(
            f"The service failed ({status}){_after_colon(text)}",
            again or "Try again later.",
        )

    what = f"answered with status {status}{_after_colon(text)}"
    hint = CHECK_ADDRESS
    if 300 <= status < 400:
        what = f"redirects to another address ({status}); nothing was sent there."
        hint = f"Connect to the new address{_address_after(response)}."

    return ProtocolError(f"The service {what}", hint)


def _address_after(response: httpx.Response) -> str:
    """Return where a reply redirects to, as an apposition; its query may have secrets."""
    location = response.headers.get("location")
    if not location:
        return ""
    try:
        parts = urlsplit(urljoin(str(response.request.url), location))
    except ValueError:
        return ""

    host = parts.netloc.rpartition("@")[2]
    address = parts._replace(netloc=host, query="", fragment="").geturl()
    return f", {quote(redacted_line(address, _MAX_TEXT))}"


def _not_found(url: httpx.URL, text: str, *, is_ours: bool) -> FuncsError:
    # A wrong address is answered in plain text or HTML, an unknown function in the service's JSON.
    is_kept = f"{RUNS_PATH}/" in url.path
    if is_ours and (is_kept or url.path.endswith(RUN_PATH)):
        hint = "List yours with %funcs find, after %funcs refresh."
        if is_kept:
            hint = "See %funcs history."
        return NotFoundError(text or "The service has no such function.", hint)

    what = "nothing"
    if url.path.endswith(LOGIN_PATH):
        what = "no login"
    elif url.path.endswith((LIST_PATH, RUN_PATH)):
        what = "no function service"

    return ConfigError(f"There is {what} at {url} (404).", CHECK_ADDRESS)


def _after_colon(text: str) -> str:
    return f": {text}" if text else "."


# One row per status whose error depends only on its text and on when to try again.
_BY_STATUS: dict[int, Callable[[str, str], FuncsError]] = {
    400: lambda text, _: FunctionError(
        text or "The service rejects the request (400)."
    ),
    401: lambda text, _: AuthenticationError(
        f"The service does not accept the token{_after_colon(text)}", NEW_TOKEN
    ),
    403: lambda text, _: PermissionDeniedError(
        f"You are not allowed to do this{_after_colon(text)}",
        "Ask the service's operator for access.",
    ),
    405: lambda *_: ConfigError(
        "This address does not accept runs (405).", CHECK_ADDRESS
    ),
    408: lambda *_: DeadlineError(
        "The service waited too long for the request (408).", "Try again."
    ),
    409: lambda text, _: FunctionError(
        text or "The service is busy with the same request (409)."
    ),
    410: lambda text, _: ServerError(
        text or "The service no longer has it (410).", "Run it again."
    ),
    413: lambda text, _: ReplyTooLargeError(
        text or "The request is too large for the service.", "Send fewer values."
    ),
    415: lambda *_: ConfigError(
        "This address does not accept JSON (415).", CHECK_ADDRESS
    ),
    429: lambda text, again: RateLimitError(
        text or "The service accepts no more requests for now (429).",
        again or "Try again in a minute.",
    ),
    504: lambda text, _: DeadlineError(
        text
        or "The service's gateway stopped waiting (504); the run may still be running.",
        "" if text else "Try again later.",
    ),
}


async def decompressed(pieces: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """
    Decompress gzip data in pieces of at most 1 MiB, each only when it is asked for.

    Consecutive gzip members are one stream (RFC 1952, 2.2). Empty data decompress to nothing.
    """
    received = 0
    member = None
    async for data in _small(pieces):
        before = received
        received = received + len(data)
        left = data
        while left:
            if member is None:
                at = received - len(left)
                if left[:1] != b"\x1f" and at > 0:
                    raise ProtocolError(
                        f"The reply continues after its gzip data, at byte {at:,}.",
                        TRY_AGAIN,
                    )
                member = zlib.decompressobj(_GZIP_WINDOW)
            try:
                part = member.decompress(left, _MAX_OUTPUT)
            except zlib.error as error:
                reason = str(error).rpartition(": ")[2]
                raise ProtocolError(
                    f"The reply's gzip data are broken between byte {before:,} and byte {received:,}: {reason}.",
                    TRY_AGAIN,
                ) from error
            if part:
                yield part
                # Data may expand a lot: give the loop's other tasks, and a cancel, a chance.
                await asyncio.sleep(0)
            left = member.unused_data if member.eof else member.unconsumed_tail
            if member.eof:
                member = None

    if member:
        raise ProtocolError(
            f"The reply is cut short: its gzip data end at byte {received:,}.",
            TRY_AGAIN,
        )


async def _small(pieces: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Cut data into small pieces, because zlib copies its unused input at each step."""
    async for piece in pieces:
        for start in range(0, len(piece), _MAX_INPUT):
            yield piece[start : start + _MAX_INPUT]

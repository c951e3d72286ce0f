"""A reply: its bytes, read whole and inflated, but never beyond a bound, and the token that no error may repeat."""

from __future__ import annotations

import contextlib
import io
import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from jupyter_funcs.errors import AuthenticationError, FuncsError, ProtocolError, ReplyTooLargeError
from jupyter_funcs.inflate import inflated
from jupyter_funcs.notices import cleaned
from jupyter_funcs.refusals import NEW_TOKEN, said
from jupyter_funcs.secret import redacted
from jupyter_funcs.text import quote

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import httpx

    from jupyter_funcs.progress import Progress
    from jupyter_funcs.secret import Hidden

T = TypeVar("T")

_MAX_ERROR_BYTES = 64 * 1024
# The media types whose body is one JSON document a line.
_LINES = {
    "application/x-ndjson",
    "application/jsonl",
    "application/jsonlines",
    "application/json-lines",
    "application/x-jsonlines",
}


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


async def read_reply(response: httpx.Response, max_bytes: int, secret: Hidden, told: Progress) -> Reply:
    """
    Read the reply of a 200.

    Raises
    ------
    ReplyTooLargeError
        It is larger than `max_bytes`, inflated; no more was read than the piece that makes it so.
    FuncsError
        It cannot be inflated, or holds no data.
    """
    body = await _read(response, max_bytes, secret, told)
    _check(response, body, secret)
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return Reply(body, secret, media_type in _LINES)


async def read_head(response: httpx.Response, secret: Hidden) -> bytes:
    """Give the beginning of an error's body, which is shown in a line or two; as much of it as can be inflated."""
    head = bytearray()
    with contextlib.suppress(ProtocolError):  # the status says more than how its text is packed
        async for piece in _pieces(response, secret):
            head += piece[:_MAX_ERROR_BYTES]
            if len(head) >= _MAX_ERROR_BYTES:
                break
    return bytes(head[:_MAX_ERROR_BYTES])


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

"""JSON bodies: read from requests within bounds, and written to replies, which may be Arrow streams instead."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from jupyter_funcs.service.messages import quoted
from jupyter_funcs.service.publishing.results import ARROW, JSON

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request

CLIENT_CLOSED_REQUEST = 499
"""The status that is logged when the caller has left; nobody receives it."""

BODY_LIMIT = 1024 * 1024
"""The largest request body, in bytes."""

_LARGE_BODY = BODY_LIMIT // 16
# Of a number in a body; converting a long one takes quadratic time.
_MOST_DIGITS = 400


class RequestError(HTTPException):
    """A refused request: the status, message and headers of its reply."""


async def read_object(request: Request, seconds: float, *, may_be_empty: bool = False) -> dict[str, Any]:
    """Read the JSON object in the body of a request; raises `RequestError`."""
    try:
        async with asyncio.timeout(seconds):
            body = await _read(request)
    except TimeoutError:
        text = f"The request body did not arrive within {seconds:g} seconds. Send it again."
        raise RequestError(408, text, {"Connection": "close"}) from None
    if may_be_empty and not body:
        return {}
    content_type = request.headers.get("content-type", "")
    if content_type.partition(";")[0].strip().casefold() != JSON:
        raise RequestError(415, f"The content type is {quoted(content_type)}. Send '{JSON}'.")
    # Not on the event loop, which a large body would hold up.
    return await asyncio.to_thread(_parsed, body) if len(body) > _LARGE_BODY else _parsed(body)


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        # Of two equal keys one wins silently, and another parser may take the other.
        json.loads(body, object_pairs_hook=_refuse_repeated, parse_int=_refuse_long, parse_float=len)
        document = msgspec.json.decode(body)
    except RecursionError:
        raise RequestError(400, "The request body is nested too deeply. Send an object of text and lists.") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise RequestError(400, f"The request body is not JSON: {error}. Send a JSON object.") from None
    if not isinstance(document, dict):
        raise RequestError(400, "The request body is JSON, but not an object. Send a JSON object.")
    return document


async def _read(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_LIMIT:
            raise RequestError(
                413, f"The request body is larger than {BODY_LIMIT} bytes. Send fewer or shorter arguments."
            )
    return bytes(body)


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> None:
    seen = set()
    for name, _ in pairs:
        if name in seen:
            raise ValueError(f"the key {quoted(name)} appears twice")
        seen.add(name)


def _refuse_long(number: str) -> None:
    if len(number) > _MOST_DIGITS:
        raise ValueError(f"a number has {len(number):,} digits")


def failure(status: int, text: str, headers: Mapping[str, str] | None = None, **more: Any) -> Response:
    """Return the reply with an error, and more of what is wrong."""
    return JSONResponse({"error": text, "body": None, **more}, status, headers)


def wants_arrow(accept: str) -> bool:
    """Return whether an ``Accept`` header names Arrow streams, and prefers them if it names JSON too."""
    qualities = {ARROW: 0.0, JSON: 0.0}
    for entry in accept.casefold().split(","):
        name, *parameters = (part.strip() for part in entry.split(";"))
        qualities[name] = _quality(parameters)
    return qualities[ARROW] > qualities[JSON]


def _quality(parameters: Sequence[str]) -> float:
    values = [value for name, _, value in (each.partition("=") for each in parameters) if name.strip() == "q"]
    try:
        return min(max(0.0, float(values[0])), 1.0) if values else 1.0
    except ValueError:
        return 0.0

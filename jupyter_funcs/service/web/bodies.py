"""Reading a request's body: bounded in size and time, and nothing but one strict JSON object."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import msgspec

from .answers import JSON, RequestError
from .limits import BODY_LIMIT
from .words import quoted

if TYPE_CHECKING:
    from starlette.requests import Request


async def read_object(request: Request, seconds: float, *, may_be_empty: bool = False) -> dict[str, Any]:
    """
    Give the JSON object that a request carries.

    Parameters
    ----------
    seconds
        How long it may take to arrive.
    may_be_empty
        Whether no body at all is an empty object.

    Raises
    ------
    RequestError
        400 for what is no JSON object, 408, 413 and 415.
    ClientDisconnect
        The caller has left.
    """
    try:
        async with asyncio.timeout(seconds):
            body = await _read(request)
    except TimeoutError:
        text = f"The request body did not arrive within {seconds:g} seconds. Send it again, in one go."
        raise RequestError(408, text, {"Connection": "close"}) from None
    if may_be_empty and not body:
        return {}
    content_type = request.headers.get("content-type", "")
    if content_type.partition(";")[0].strip().casefold() != JSON:
        raise RequestError(415, f"The content type is {quoted(content_type)}. Send '{JSON}'.")
    return parsed(body)


def parsed(body: bytes) -> dict[str, Any]:
    """Give the object that a text of JSON holds; raises `RequestError`."""
    try:
        document = msgspec.json.decode(body)
        # Of two equal keys one would win silently, and another reader may take the other.
        json.loads(body, object_pairs_hook=_refuse_repeated)
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
            raise ValueError(f"the key {quoted(name)} stands in it twice")
        seen.add(name)

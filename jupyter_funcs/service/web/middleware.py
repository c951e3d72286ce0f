"""
Requests and replies: the outermost middleware, which identifies, logs and records them; JSON bodies; errors.

The log line contains no arguments, tokens, queries or unknown paths, and of the headers only a valid X-Request-Id.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
import uuid
from contextvars import ContextVar
from dataclasses import dataclass, field
from http import HTTPMethod
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from jupyter_funcs.core.text import quoted
from jupyter_funcs.service.publishing.results import ARROW, JSON, ReplyForm
from jupyter_funcs.service.publishing.traces import reason
from jupyter_funcs.service.web.hosts import Hosts, network

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from jupyter_funcs.core.json_decoding import JsonObject, Values
    from jupyter_funcs.service.accounts.account_records import Audit

log = logging.getLogger(__name__)

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the current request, also in the thread that runs its function."""

BODY_LIMIT = 1024 * 1024
"""The largest request body, in bytes."""

_LARGE_BODY = BODY_LIMIT // 16
# In a body. Making a list or an object stops everything else, and the collector reads all of them again and again.
_MOST_BRACKETS = 20_000
# Of a number in a body; converting a long one takes quadratic time.
_MOST_DIGITS = 400

# Logged when the caller has left; nobody receives it.
_CLIENT_CLOSED_REQUEST = 499
_VALID_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_OUTCOMES = {
    200: "ok",
    _CLIENT_CLOSED_REQUEST: "cancelled",
    500: "failed",
    504: "timeout",
}
# They cost the caller nothing: a flood of them from one network leaves a record of each account per minute.
_CHEAP_REFUSALS = {("token use", 401), ("login", 429), ("login", 503)}
_BETWEEN_REFUSALS = 60
_MOST_REFUSED = 10_000


def note(scope: Scope, **facts: Any) -> None:
    """Add facts to the log line of a request."""
    scope["facts"].update(facts)


def outcome(status: int | None, facts: Values) -> str:
    """Return how the audit calls the end of a request, from its status, if any, and its facts."""
    if facts.get("failed"):
        return "failed"
    return _OUTCOMES.get(status or _CLIENT_CLOSED_REQUEST, "refused")


@dataclass
class Requests:
    """The outermost middleware; `refused` has the cheap refusals, until when another one isn't recorded."""

    app: ASGIApp
    hosts: Hosts
    paths: Collection[str]
    audit: Audit
    refused: dict[tuple[str, str | None, str], float] = field(default_factory=dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        began = time.perf_counter()
        headers = Headers(scope=scope)
        sent = headers.get("x-request-id", "")
        identifier = sent if _VALID_ID.fullmatch(sent) else uuid.uuid4().hex
        scope["facts"] = facts = {"request_id": identifier}
        status = size = 0

        async def counted(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                # A cache in front ignores X-Api-Key and would serve one user's listing to another.
                own = (
                    (b"x-request-id", identifier.encode()),
                    (b"cache-control", b"no-store"),
                )
                message["headers"] = [*message["headers"], *own]
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))

            await send(message)

        context = request_id.set(identifier)
        try:
            await self._handle(headers, scope, receive, counted)
        except ClientDisconnect:
            status = _CLIENT_CLOSED_REQUEST
        except Exception as error:  # noqa: BLE001 - whatever happens, the caller gets a reply and the operator a trace
            log.error("The service failed to handle a request.\n%s", reason(error))  # noqa: TRY400 - the trace is in the text
            if status:
                raise RuntimeError("The reply was cut short.") from None
            reply = failure(
                500,
                f"The service failed. Tell its operator the request id {identifier}.",
            )
            await reply(scope, receive, counted)
        finally:
            request_id.reset(context)
            seconds = round(time.perf_counter() - began, 6)
            status = status or _CLIENT_CLOSED_REQUEST
            self._record(scope, headers, status, seconds, facts)
            self._log(scope, status, size, seconds, facts)

    async def _handle(
        self, headers: Headers, scope: Scope, receive: Receive, send: Send
    ) -> None:
        refusal = self.hosts.refusal(headers.getlist("host"), headers.getlist("origin"))
        if refusal:
            await failure(403, refusal)(scope, receive, send)
        elif "content-length" in headers and "transfer-encoding" in headers:
            # A proxy in front may have gone by the other one, and taken the rest of the body for the next request.
            text = "The request has both Content-Length and Transfer-Encoding. Send one of them."
            await failure(400, text, {"Connection": "close"})(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _record(
        self,
        scope: Scope,
        headers: Headers,
        status: int,
        seconds: float,
        facts: JsonObject,
    ) -> None:
        """Record what an endpoint noted as an action in the audit."""
        how = outcome(status, facts)
        action, sent, _ = (
            facts.pop(name, None) for name in ("action", "sent", "failed")
        )
        if not action:
            return
        user = facts.get("user")
        address = self.hosts.caller(headers, scope.get("client"))
        if (action, status) in _CHEAP_REFUSALS and self._is_repeated(
            action, user, network(address)
        ):
            return

        target = sent or facts.get("function")
        detail = None if status == 200 else str(status)
        self.audit.record(
            action, user, target, detail, address, how, seconds, facts.get("rows")
        )

    def _is_repeated(self, *refusal: Any) -> bool:
        """Return whether an action of a user from a network was recorded less than a minute ago."""
        now = time.monotonic()
        if now < self.refused.get(refusal, 0):
            return True
        if len(self.refused) >= _MOST_REFUSED:
            self.refused.clear()
        self.refused[refusal] = now + _BETWEEN_REFUSALS
        return False

    def _log(
        self, scope: Scope, status: int, size: int, seconds: float, facts: JsonObject
    ) -> None:
        method = scope["method"] if scope["method"] in HTTPMethod.__members__ else "?"
        path = facts.pop("path", scope["path"] if scope["path"] in self.paths else "?")
        milliseconds = round(seconds * 1000, 1)
        level = logging.DEBUG if path in {"/healthz", "/readyz"} else logging.INFO
        facts |= {
            "method": method,
            "path": path,
            "status": status,
            "milliseconds": milliseconds,
            "bytes": size,
        }
        log.log(level, "%s %s %s", method, path, status, extra=facts)


class RequestError(HTTPException):
    """A refused request: the status, message and headers of its reply."""


async def read_object(
    request: Request, seconds: float, *, may_be_empty: bool = False
) -> JsonObject:
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
        raise RequestError(
            415, f"The content type is {quoted(content_type)}. Send '{JSON}'."
        )

    # Not on the event loop, which a large body would hold up.
    if len(body) > _LARGE_BODY:
        return await asyncio.to_thread(_parsed, body)
    return _parsed(body)


class WantedRun(NamedTuple):
    """What a request asks to run: `args` as JSON, `typed` if they have its types; `form` of the reply."""

    function: str
    args: bytes
    form: ReplyForm
    typed: bool

    @classmethod
    def read(cls, request: Request, document: JsonObject) -> WantedRun:
        """Read the body of a run; other fields, such as BatchId, are ignored."""
        name = document.get("FunctionName")
        args = document.get("Args")
        if not isinstance(name, str):
            raise RequestError(
                400,
                "FunctionName is missing or not text. Send the name of a function, as listed.",
            )

        misspelt = [key for key in document if key.casefold() == "args"]
        if misspelt and "Args" not in document:
            raise RequestError(
                400, f"{quoted(misspelt[0])} is not known. Send the arguments in Args."
            )
        if not isinstance(args, dict | None):
            raise RequestError(
                400, "Args is not an object. Send the arguments by name."
            )

        form = reply_form(request.headers.get("accept", ""))
        typed = request.headers.get("funcs-args", "").strip().casefold() == "json"
        return cls(name, msgspec.json.encode(args or {}), form, typed)


def _parsed(body: bytes) -> JsonObject:
    if body.count(b"[") + body.count(b"{") > _MOST_BRACKETS:
        raise RequestError(
            400,
            f"The request body is nested too deeply, or has over {_MOST_BRACKETS:,} brackets.",
        )

    try:
        # Of two equal keys one wins silently, and another parser may take the other.
        _REFUSING.decode(body.decode())
        document = msgspec.json.decode(body)
    except RecursionError:
        raise RequestError(
            400,
            "The request body is nested too deeply. Send an object of text and lists.",
        ) from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise RequestError(
            400, f"The request body is not JSON: {error}. Send a JSON object."
        ) from None

    if not isinstance(document, dict):
        raise RequestError(
            400, "The request body is JSON, but not an object. Send a JSON object."
        )

    return document


async def _read(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_LIMIT:
            raise RequestError(
                413,
                f"The request body is larger than {BODY_LIMIT} bytes. Send fewer or shorter arguments.",
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


_REFUSING = json.JSONDecoder(
    object_pairs_hook=_refuse_repeated, parse_int=_refuse_long, parse_float=len
)


async def gone(request: Request) -> None:
    """Wait until the caller of a request has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def failure(
    status: int, text: str, headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    """Return the reply with an error, and more of what is wrong."""
    return JSONResponse({"error": text, "body": None, **more}, status, headers)


def reply_form(accept: str) -> ReplyForm:
    """Return Arrow if an ``Accept`` header names it, or either if it names JSON too, but prefers Arrow."""
    accepted = {ARROW: 0.0, JSON: 0.0, **qualities(accept)}
    if accepted[ARROW] <= accepted[JSON]:
        return "json"
    return "either" if accepted[JSON] else "arrow"


def qualities(accept: str) -> dict[str, float]:
    """Return what an ``Accept`` or ``Accept-Encoding`` header names, and how much it is wanted, from 0 to 1."""
    entries = (
        [part.strip() for part in entry.split(";")]
        for entry in accept.casefold().split(",")
    )
    return {name: _quality(parameters) for name, *parameters in entries}


def _quality(parameters: Sequence[str]) -> float:
    values = [
        value
        for name, _, value in (parameter.partition("=") for parameter in parameters)
        if name.strip() == "q"
    ]
    try:
        return min(max(0.0, float(values[0])), 1.0) if values else 1.0
    except ValueError:
        return 0.0

"""
What every request passes on its way in and out: an id, the check of its names, one log line, and no unanswered error.

The log line holds what an operator needs and nothing that a caller typed: no argument, token, header, query or path
that is not one of the service's own.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect

from .answers import CLIENT_CLOSED_REQUEST, failure
from .errors import SetupError
from .runs import CallerLeftError
from .traces import redacted_trace

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from .hosts import Hosts

log = logging.getLogger(__name__)

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the request that is being answered, also in the thread that runs its function."""

_SANE_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"}


def note(scope: Scope, **facts: Any) -> None:
    """Add to what the log line of a request says."""
    scope["facts"].update(facts)


class Requests:
    """
    The outermost middleware.

    Parameters
    ----------
    app
        What answers.
    hosts
        The names by which the service may be reached.
    paths
        Those that it has; others are not logged as they are.
    """

    def __init__(self, app: ASGIApp, hosts: Hosts, paths: Collection[str]) -> None:
        self._app = app
        self._hosts = hosts
        self._paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        identifier = given if _SANE_ID.fullmatch(given) else uuid.uuid4().hex
        scope["facts"] = facts = {"request_id": identifier}
        status = size = 0

        async def counted(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                # A cache in front knows nothing of X-Api-Key, and would give one user's listing to another.
                MutableHeaders(scope=message).update({"X-Request-Id": identifier, "Cache-Control": "no-store"})
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))
            await send(message)

        context = request_id.set(identifier)
        try:
            await self._answer(headers, scope, receive, counted)
        except (ClientDisconnect, CallerLeftError):
            status = CLIENT_CLOSED_REQUEST
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets an answer and the operator a trace
            said = str(error) if isinstance(error, SetupError) else redacted_trace(error, None)
            log.error("The service failed to answer a request.\n%s", said)  # noqa: TRY400 - the trace is in the text
            if status:
                raise RuntimeError("The answer was cut short.") from None
            text = f"The service failed. Tell its operator the request id {identifier}."
            await failure(500, text)(scope, receive, counted)
        finally:
            request_id.reset(context)
            self._log(scope, status or CLIENT_CLOSED_REQUEST, size, began, facts)

    async def _answer(self, headers: Headers, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._hosts.refusal(headers.getlist("host"), headers.getlist("origin"))
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await failure(403, refusal)(scope, receive, send)

    def _log(self, scope: Scope, status: int, size: int, began: float, facts: dict[str, Any]) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "?"
        path = scope["path"] if scope["path"] in self._paths else "?"
        milliseconds = round((time.perf_counter() - began) * 1000, 1)
        log.log(
            logging.DEBUG if path == "/healthz" else logging.INFO,
            "%s %s %s",
            method,
            path,
            status,
            extra=facts
            | {"method": method, "path": path, "status": status, "milliseconds": milliseconds, "bytes": size},
        )

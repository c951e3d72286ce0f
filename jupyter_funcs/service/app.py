"""The ASGI application: the wire of SERVICE.md 1, and an answer in words to each request that is wrong."""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import msgspec
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .auth import UnauthorizedError
from .engine import CallCancelledError
from .registry import ArgumentsError
from .words import quoted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from .accounts import Asset
    from .auth import Auth
    from .engine import Call, Engine
    from .grants import Grants
    from .registry import Function, Registry

    Endpoint = Callable[[Request, tuple[Asset, ...]], Awaitable[Response]]

log = logging.getLogger(__name__)

BODY_LIMIT = 1024 * 1024
"""The largest request body that is read, in bytes."""

# What a proxy notes when the caller left; nobody reads it.
_CLIENT_CLOSED_REQUEST = 499


class RequestError(Exception):
    """A request that is refused with a status and one line of text."""

    def __init__(self, status: int, text: str, **more: Any) -> None:
        self.status = status
        self.text = text
        self.more = more
        super().__init__(text)


def create_app(registry: Registry, auth: Auth, grants: Grants, engine: Engine) -> Starlette:
    """
    Build the application.

    Parameters
    ----------
    registry
        The functions that it lists and runs.
    auth
        Tells who a request is from, for all but those for health.
    grants
        Tells which assets are the user's.
    engine
        Executes the functions' expressions.
    """

    @functools.lru_cache(maxsize=64)
    def listing(assets: tuple[Asset, ...]) -> bytes:
        return msgspec.json.encode(registry.listing(assets, engine.reference))

    async def list_functions(request: Request, assets: tuple[Asset, ...]) -> Response:
        if request.method == "POST":
            await _read_object(request, may_be_empty=True)
        return Response(listing(assets), media_type="application/json")

    async def run_function(request: Request, assets: tuple[Asset, ...]) -> Response:
        name, args = _run_request(await _read_object(request))
        try:
            function = registry.find(name, assets)
        except LookupError as error:
            raise RequestError(404, str(error.args[0])) from None
        call = engine.call()
        return await _while_connected(request, call, functools.partial(_run, function, args, call, engine))

    async def health(_request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    def guarded(endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                user = auth.user(request.headers.get("authorization"), request.headers.get("x-api-key"))
                return await endpoint(request, grants.assets(user))
            except UnauthorizedError:
                text = (
                    "The token is absent, expired or not valid. Get a new one and send it as 'Authorization: Bearer …'."
                )
                return _failure(401, text, {"WWW-Authenticate": "Bearer"})
            except RequestError as error:
                return _failure(error.status, error.text, **error.more)

        return answer

    return Starlette(
        routes=[
            Route("/api/function/ListUserFunctions", guarded(list_functions), methods=["POST"]),
            Route("/api/function/getAll", guarded(list_functions), methods=["GET"]),
            Route("/api/function/runFunction", guarded(run_function), methods=["POST"]),
            Route("/healthz", health, methods=["GET"]),
        ]
    )


def _failure(status: int, text: str, headers: dict[str, str] | None = None, **more: Any) -> Response:
    return JSONResponse({"error": text, "body": None, **more}, status, headers)


async def _read_object(request: Request, *, may_be_empty: bool = False) -> dict[str, Any]:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_LIMIT:
            raise RequestError(
                413, f"The request body is larger than {BODY_LIMIT} bytes. Send fewer or shorter arguments."
            )
    if may_be_empty and not body:
        return {}
    content_type = request.headers.get("content-type", "")
    if content_type.partition(";")[0].strip().casefold() != "application/json":
        raise RequestError(415, f"The content type is {quoted(content_type)}. Send 'application/json'.")
    try:
        document = msgspec.json.decode(body)
    except RecursionError:
        raise RequestError(400, "The request body is nested too deeply. Send an object of text and lists.") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise RequestError(400, f"The request body is not JSON: {error}. Send a JSON object.") from None
    if not isinstance(document, dict):
        raise RequestError(400, "The request body is JSON, but not an object. Send a JSON object.")
    return document


def _run_request(document: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    # Unknown fields such as BatchId are ignored (SERVICE.md 2).
    name, args = document.get("FunctionName"), document.get("Args")
    if not isinstance(name, str):
        raise RequestError(400, "FunctionName is not a text. Send the name of a function, as the listing has it.")
    if not isinstance(args, dict | None):
        raise RequestError(400, "Args is not an object. Send an object of arguments by name.")
    return name, args or {}


async def _while_connected(request: Request, call: Call, work: Callable[[], Response]) -> Response:
    """Do blocking work in a thread; stop its query when the caller leaves or the task is cancelled."""
    answer = Response(status_code=_CLIENT_CLOSED_REQUEST)
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
        try:
            answer = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        except anyio.get_cancelled_exc_class():
            call.cancel()
            raise
        tasks.cancel_scope.cancel()
    return answer


def _run(function: Function, args: dict[str, Any], call: Call, engine: Engine) -> Response:
    """Check the arguments, run a function and encode its answer; whatever fails becomes an answer too."""
    try:
        result = function.result(call, function.read(args, engine.reference))
        # Dates leave as YYYY-MM-DD, NaN as null.
        body = msgspec.json.encode(call.fetch(result) if hasattr(result, "op") else result).decode()
        return Response(msgspec.json.encode({"error": None, "body": body}), media_type="application/json")
    except ArgumentsError as error:
        return _failure(422, str(error), arguments=error.errors)
    except CallCancelledError:
        return Response(status_code=_CLIENT_CLOSED_REQUEST)
    except Exception as error:  # a function of the team's may raise anything
        log.exception("Function %s failed", function.name)
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        return _failure(200, f"{function.name} failed: {reason}")

"""The ASGI application: the wire of SERVICE.md 1, and an answer in words to each request that is wrong."""

from __future__ import annotations

import asyncio
import functools
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from .answers import JSON, RequestError, failure, gone, success, wants_arrow
from .auth import UnauthorizedError
from .bodies import read_object
from .engine import CallCancelledError, MemoryLimitError
from .hosts import Hosts
from .limits import Limits
from .logins import Logins
from .openapi import DOCUMENT
from .registry import ArgumentsError
from .requests import Requests, note
from .runs import Runs
from .traces import redacted_trace, said

if TYPE_CHECKING:
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.types import Scope

    from .accounts import Asset, User
    from .auth import Auth
    from .engine import Call, Engine
    from .grants import Grants
    from .registry import Registry

log = logging.getLogger(__name__)

# Listings that are kept encoded: one a set of assets.
_MOST_LISTINGS = 64
# In characters: a function may raise an error that quotes its data.
_LONGEST_REASON = 2000


def create_app(  # noqa: PLR0913 - each is a room of its own
    registry: Registry,
    auth: Auth,
    grants: Grants,
    engine: Engine,
    *,
    limits: Limits | None = None,
    hosts: Hosts | None = None,
) -> Starlette:
    """
    Build the application.

    Parameters
    ----------
    registry
        The functions that it lists and runs.
    auth
        Tells who a request is from, for all but those for health and for the OpenAPI document.
    grants
        Tells which assets are the user's.
    engine
        Executes the functions' expressions.
    limits
        How much it takes on; `Limits()` by default.
    hosts
        How it may be reached; by default by this machine's own names for itself.

    Returns
    -------
    Starlette
        Its `state.runs` are the `Runs` under way.
    """
    limits, hosts = limits or Limits(), hosts or Hosts()
    service = _Service(registry, auth, grants, engine, limits, hosts)
    routes = [
        Route("/api/function/ListUserFunctions", service.list_functions, methods=["POST"]),
        Route("/api/function/getAll", service.list_functions, methods=["GET"]),
        Route("/api/function/runFunction", service.run_function, methods=["POST"]),
        Route("/api/account/login", service.login, methods=["POST"]),
        Route("/healthz", _health, methods=["GET"]),
        Route("/openapi.json", _openapi, methods=["GET"]),
    ]
    middleware = [Middleware(Requests, hosts=hosts, paths=[route.path for route in routes])]
    if hosts.origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=hosts.origins,
                allow_methods=["GET", "POST"],
                allow_headers=["Authorization", "Content-Type", "X-Api-Key", "X-Request-Id"],
                expose_headers=["Retry-After", "X-Request-Id"],
            )
        )
    handlers: dict[Any, Any] = {405: _not_allowed, RequestError: _refused, UnauthorizedError: _unauthorized}
    app = Starlette(routes=routes, middleware=middleware, exception_handlers=handlers)
    app.state.runs = service.runs
    return app


class _Asked(NamedTuple):
    """What a run is to do, and for whom."""

    name: str
    args: dict[str, Any]
    user: User
    as_arrow: bool


@dataclass
class _Service:
    """The endpoints."""

    registry: Registry
    auth: Auth
    grants: Grants
    engine: Engine
    limits: Limits
    hosts: Hosts

    def __post_init__(self) -> None:
        self.runs = Runs(self.limits)
        self._listings: dict[tuple[Asset, ...], bytes] = {}

    @functools.cached_property
    def _logins(self) -> Logins:
        # Only services whose users have passwords need it.
        return Logins(self.auth, self.limits)

    async def list_functions(self, request: Request) -> Response:
        assets = self.grants.assets(self._user(request))
        if request.method == "POST":
            await read_object(request, self.limits.body_seconds, may_be_empty=True)
        if assets not in self._listings:
            # In a thread, for thousands of functions take a while.
            encoded = await asyncio.to_thread(self._encoded_listing, assets)
            while len(self._listings) >= _MOST_LISTINGS:
                del self._listings[next(iter(self._listings))]
            self._listings[assets] = encoded
        return Response(self._listings[assets], media_type=JSON)

    async def run_function(self, request: Request) -> Response:
        user = self._user(request)
        name, args = _run_request(await read_object(request, self.limits.body_seconds))
        asked = _Asked(name, args, user, wants_arrow(request.headers.get("accept", "")))
        with self.runs.admit(user.id):
            call = self.engine.call()
            work = functools.partial(self._answer, asked, call, request.scope)
            return await self.runs.perform(call, work, _until_left(request), request.scope["facts"])

    async def login(self, request: Request) -> Response:
        document = await read_object(request, self.limits.body_seconds)
        email, password = document.get("email"), document.get("password")
        if not isinstance(email, str) or not isinstance(password, str):
            raise RequestError(400, "email or password is not a text. Send both.")
        address = self.hosts.caller(request.headers.getlist("x-forwarded-for"), request.client)
        try:
            answer = await self._logins.login(email, password, address)
        except UnauthorizedError:
            return PlainTextResponse("The email or the password is wrong.", 401)
        return JSONResponse(answer)

    def _user(self, request: Request) -> User:
        user = self.auth.user(_only(request, "authorization"), _only(request, "x-api-key"))
        note(request.scope, user_id=user.id, user=user.name)
        return user

    def _encoded_listing(self, assets: tuple[Asset, ...]) -> bytes:
        return msgspec.json.encode(self.registry.listing(assets, self.engine.reference))

    def _answer(self, asked: _Asked, call: Call, scope: Scope) -> Response:
        """Check the arguments, run a function and encode its answer; whatever fails becomes an answer too."""
        try:
            # Here and not on the event loop: looking for the nearest of thousands of names takes a while.
            function = self.registry.find(asked.name, self.grants.assets(asked.user))
        except LookupError as error:
            return failure(404, str(error.args[0]))
        note(scope, function=function.name)
        values: dict[str, Any] = {}
        try:
            values = function.read(asked.args, self.engine.reference)
            result = function.result(call, values)
            return success(result, call, as_arrow=asked.as_arrow)
        except ArgumentsError as error:
            return failure(422, str(error), arguments=error.errors)
        except CallCancelledError:
            return gone()
        except MemoryLimitError:
            log.warning("%s needed more memory than the engine may take.", function.name)
            return failure(500, f"{function.name} needed more memory than the service may take. Ask for less.")
        except BaseException as error:  # noqa: BLE001 - a function of the team's may raise anything, also SystemExit
            trace = redacted_trace(error, [*asked.args.values(), *values.values()])
            log.error("%s failed.\n%s", function.name, trace)  # noqa: TRY400 - the trace is in the text
            reason = said(error).strip().partition("\n")[0][:_LONGEST_REASON] or type(error).__name__
            return failure(200, f"{function.name} failed: {reason}")


def _only(request: Request, name: str) -> str | None:
    """Give a header; of two, a proxy in front may have looked at the other one."""
    values = request.headers.getlist(name)
    if len(values) > 1:
        raise UnauthorizedError
    return values[0] if values else None


async def _until_left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _health(_request: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def _openapi(_request: Request) -> Response:
    return JSONResponse(DOCUMENT)


async def _refused(_request: Request, error: RequestError) -> Response:
    return failure(error.status, error.text, error.headers)


async def _unauthorized(_request: Request, _error: UnauthorizedError) -> Response:
    text = "The token or API key is absent, expired or not valid. Send one as 'Authorization: Bearer …' or 'X-Api-Key'."
    return failure(401, text, {"WWW-Authenticate": "Bearer"})


async def _not_allowed(request: Request, error: HTTPException) -> Response:
    allowed = (error.headers or {}).get("Allow", "")
    return failure(405, f"{request.url.path} takes {allowed}, not {request.method}.", error.headers)


def _run_request(document: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    # Unknown fields such as BatchId are ignored (SERVICE.md 2).
    name, args = document.get("FunctionName"), document.get("Args")
    if not isinstance(name, str):
        raise RequestError(400, "FunctionName is not a text. Send the name of a function, as the listing has it.")
    if not isinstance(args, dict | None):
        raise RequestError(400, "Args is not an object. Send an object of arguments by name.")
    return name, args or {}

"""The ASGI application: the endpoints, and an error message for every invalid request."""

from __future__ import annotations

import asyncio
import functools
import gzip
import hashlib
import logging
import math
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from jupyter_funcs.core import background
from jupyter_funcs.functions.return_values import lost_text
from jupyter_funcs.service.accounts.auth import Auth, UnauthorizedError
from jupyter_funcs.service.engine.calls import CallCancelledError, MemoryLimitError
from jupyter_funcs.service.publishing.registry import ArgumentsError, Registry
from jupyter_funcs.service.publishing.results import ARROW, JSON, ReplyContent, encoded
from jupyter_funcs.service.publishing.traces import message_of, reason, redacted_trace
from jupyter_funcs.service.web.hosts import Hosts
from jupyter_funcs.service.web.kept_runs import KeptRuns, Preference
from jupyter_funcs.service.web.logins import Logins
from jupyter_funcs.service.web.middleware import (
    RequestError,
    Requests,
    WantedRun,
    failure,
    gone,
    note,
    qualities,
    read_object,
)
from jupyter_funcs.service.web.runs import Limits, Runs, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Hashable, Mapping, Sequence

    from starlette.datastructures import Headers
    from starlette.exceptions import HTTPException
    from starlette.types import Scope

    from jupyter_funcs.core.json_decoding import JsonObject
    from jupyter_funcs.service.accounts.account_records import Asset, User
    from jupyter_funcs.service.accounts.grants import Grants
    from jupyter_funcs.service.accounts.kept_records import KeptRecords
    from jupyter_funcs.service.engine.duckdb_engine import DuckDBCall, DuckDBEngine
    from jupyter_funcs.service.web.runs import Leaving

log = logging.getLogger(__name__)

# Every path, every status, and the schema of every body.
_DOCUMENT = Path(__file__).with_name("openapi.json")

# What pages of other origins may send and read.
_ACCEPTED_HEADERS = """
Authorization Content-Type Funcs-Args If-None-Match Idempotency-Key Prefer Range X-Api-Key X-Request-Id
"""
_EXPOSED_HEADERS = """
Content-Range Funcs-Args Funcs-Run-Seconds Funcs-Runs Funcs-Warning Location Retry-After X-Request-Id
"""

# Listings in the cache, one per set of assets.
_MOST_LISTINGS = 64
# In bytes: the replies in the cache, and the largest of them.
_MOST_BYTES = 2**26
_LARGEST_REPLY = 2**22
_MOST_REPLIES = 10_000
# In characters. An error of a function may quote much of its data.
_LONGEST_REASON = 2000
# How often the accounts and the data are checked, at most.
_CHECK_SECONDS = 2


def create_app(  # noqa: PLR0913 - four parts of a service, and its two settings
    registry: Registry,
    auth: Auth,
    grants: Grants,
    engine: DuckDBEngine,
    *,
    limits: Limits | None = None,
    hosts: Hosts | None = None,
    kept: KeptRecords | None = None,
) -> Starlette:
    """
    Build the application.

    Parameters
    ----------
    registry
        The functions to list and run.
    auth
        Identifies the user of a request.
    grants
        The assets of each user.
    engine
        Executes the functions' queries.
    limits
        Limits on runs and logins; `Limits()` by default.
    hosts
        The accepted hosts and origins; only loopback by default.
    kept
        The records of kept runs; without them, no run is kept.

    Returns
    -------
    Starlette
        The application; `state.runs` has its `Runs`, `state.kept` its `KeptRuns`.
    """
    hosts = hosts or Hosts()
    service = _Service(registry, auth, grants, engine, limits or Limits(), hosts)
    if kept:
        service.kept = KeptRuns(kept, service)
    routes = [
        Route(
            "/api/function/ListUserFunctions", service.list_functions, methods=["POST"]
        ),
        Route("/api/function/getAll", service.list_functions, methods=["GET"]),
        Route("/api/function/runFunction", service.run_function, methods=["POST"]),
        Route("/api/account/login", service.login, methods=["POST"]),
        Route("/healthz", JSONResponse({"status": "ok"}), methods=["GET"]),
        Route("/readyz", service.ready, methods=["GET"]),
        Route(
            "/openapi.json",
            Response(_DOCUMENT.read_bytes(), media_type=JSON),
            methods=["GET"],
        ),
        *(service.kept.routes() if service.kept else ()),
    ]
    middleware = [
        Middleware(
            Requests,
            hosts=hosts,
            paths=[route.path for route in routes],
            audit=grants.audit,
        )
    ]
    if hosts.origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=hosts.origins,
                allow_methods=["DELETE", "GET", "POST"],
                allow_headers=_ACCEPTED_HEADERS.split(),
                expose_headers=_EXPOSED_HEADERS.split(),
            )
        )

    handlers: dict[Any, Any] = {
        405: _not_allowed,
        RequestError: _refused,
        UnauthorizedError: _unauthorized,
    }
    app = Starlette(routes=routes, middleware=middleware, exception_handlers=handlers)
    app.state.runs = service.runs
    app.state.kept = service.kept
    return app


class _Run(NamedTuple):
    """What is known of a run; of built-in functions, equal ones have the same reply."""

    version: tuple[Hashable, ...] | None
    assets: tuple[Asset, ...]
    wanted: WantedRun


class _Listing:
    """A listing, compressed once; its tag is weak, because it is the same for each encoding."""

    def __init__(self, content: bytes, about: Mapping[str, str]) -> None:
        self._content = content
        self._compressed = gzip.compress(content, mtime=0)
        whole = content + repr(about).encode()
        self._headers = {
            "ETag": f'W/"{hashlib.sha256(whole).hexdigest()[:32]}"',
            "Vary": "Accept-Encoding",
            "X-Reply-Types": f"{JSON}, {ARROW}",
            "Funcs-Args": "json",
            **about,
        }

    def response(self, headers: Headers) -> Response:
        """Return what answers a request with these headers."""
        tags = headers.get("if-none-match", "").split(",")
        if self._headers["ETag"] in map(str.strip, tags):
            return Response(status_code=304, headers=self._headers)
        if qualities(headers.get("accept-encoding", "")).get("gzip"):
            encoded = self._headers | {"Content-Encoding": "gzip"}
            return Response(self._compressed, headers=encoded, media_type=JSON)

        return Response(self._content, headers=self._headers, media_type=JSON)


class _Replies:
    """Replies that depend on the data and the arguments only, the last used ones; for any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_key: OrderedDict[Hashable, ReplyContent] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable) -> ReplyContent | None:
        with self._lock:
            if key in self._by_key:
                self._by_key.move_to_end(key)
            return self._by_key.get(key)

    def add(self, key: Hashable, reply: ReplyContent) -> None:
        with self._lock:
            if key in self._by_key or len(reply.content) > _LARGEST_REPLY:
                return
            self._by_key[key] = reply
            self._bytes += len(reply.content)
            while self._bytes > _MOST_BYTES or len(self._by_key) > _MOST_REPLIES:
                self._bytes -= len(self._by_key.popitem(last=False)[1].content)


@dataclass
class _Service:
    registry: Registry
    auth: Auth
    grants: Grants
    engine: DuckDBEngine
    limits: Limits
    hosts: Hosts

    def __post_init__(self) -> None:
        self.runs = Runs(self.limits)
        self.kept: KeptRuns | None = None
        self._listing = functools.lru_cache(_MOST_LISTINGS)(self._list)
        self._replies = _Replies()
        self._check_at = 0.0
        self._problem = "The service is starting."

    @functools.cached_property
    def _logins(self) -> Logins:
        # Only services whose users have passwords need them.
        return Logins(self.auth, self.limits)

    async def list_functions(self, request: Request) -> Response:
        assets = self.grants.assets(self.user(request))
        if request.method == "POST":
            await read_object(request, self.limits.body_seconds, may_be_empty=True)
        # In a thread, because thousands of functions take a while.
        listing = await asyncio.to_thread(self._listing, assets)
        return listing.response(request.headers)

    def _list(self, assets: tuple[Asset, ...]) -> _Listing:
        content = msgspec.json.encode(
            self.registry.listing(assets, self.engine.reference)
        )
        about = {"Funcs-Run-Seconds": f"{self.limits.run_seconds:g}"}
        if self.kept:
            about["Funcs-Runs"] = "kept"
        return _Listing(content, about)

    async def run_function(self, request: Request) -> Response:
        user = self.user(request)
        note(request.scope, action="run")
        wanted = WantedRun.read(
            request, await read_object(request, self.limits.body_seconds)
        )
        if self.kept and (preference := Preference.read(request.headers)):
            return await self.kept.answer(request, user, wanted, preference)
        left = functools.partial(gone, request)
        return await self.perform(request.scope, user, wanted, left)

    async def perform(
        self,
        scope: Scope,
        user: User,
        wanted: WantedRun,
        left: Leaving,
        begin: Callable[[], None] | None = None,
    ) -> Response:
        """Run a function for a user until `left` ends; `begin` is called before it begins."""
        run = _Run(self.engine.version, self.grants.assets(user), wanted)
        if run.version is not None and (cached := self._replies.get(run)):
            note(scope, function=wanted.function)
            return _success(scope, cached)

        call = self.engine.call()
        function: Any = self.registry.get(wanted.function, run.assets)
        if function and function.workers:
            body = functools.partial(
                function.body, call, user.id, wanted.form, typed=wanted.typed
            )
            work = Work(
                call,
                lambda: background.start(
                    _awaited(scope, function.name, body, wanted, begin)
                ),
                waits=True,
            )
        else:
            work = Work(call, functools.partial(self._reply, scope, call, run, begin))

        reply: Response = await self.runs.perform(user.id, work, left, scope["facts"])
        return reply

    async def login(self, request: Request) -> Response:
        document = await read_object(request, self.limits.body_seconds)
        email = document.get("email")
        password = document.get("password")
        if not isinstance(email, str) or not isinstance(password, str):
            raise RequestError(
                400, "email or password is missing or not text. Send both."
            )

        # Only the name of an account: people type passwords into the field for the name.
        note(request.scope, action="login", user=self.grants.name_of(email))
        address = self.hosts.caller(request.headers, request.client)
        try:
            return JSONResponse(await self._logins.login(email, password, address))
        except UnauthorizedError:
            return PlainTextResponse("The email or password is wrong.", 401)

    async def ready(self, _request: Request) -> Response:
        problem = self.runs.obstacle or await asyncio.to_thread(self._checked)
        if problem:
            return failure(503, problem, {"Retry-After": "5"})
        return JSONResponse({"status": "ok"})

    def _checked(self) -> str:
        """Return why the accounts or the data can't be used, as last checked."""
        if time.monotonic() > self._check_at:
            self._check_at = math.inf  # meanwhile others get what was found before
            self._problem = self._find_problem()
            self._check_at = time.monotonic() + _CHECK_SECONDS
        return self._problem

    def _find_problem(self) -> str:
        checks = (
            (self.grants.check, "The accounts cannot be changed."),
            (self.engine.open, "The data cannot be read."),
            (self.registry.check, "Published functions cannot be run."),
        )
        for check, problem in checks:
            try:
                check()
            except Exception as error:  # noqa: BLE001 - an engine may raise anything
                log.warning("%s\n%s", problem, reason(error))
                return problem

        return ""

    def user(self, request: Request) -> User:
        user = self.auth.user(
            _single_header(request, "authorization"),
            _single_header(request, "x-api-key"),
        )
        note(request.scope, user_id=user.id, user=user.name)
        return user

    def _reply(
        self,
        scope: Scope,
        call: DuckDBCall,
        run: _Run,
        begin: Callable[[], None] | None,
    ) -> Response:
        """Check the arguments, run the function and encode its result; every error becomes a reply."""
        wanted = run.wanted
        args = msgspec.json.decode(wanted.args)
        if begin:
            begin()
        try:
            # Not on the event loop: finding the closest of thousands of names takes a while.
            function = self.registry.find(wanted.function, run.assets)
        except LookupError as error:
            return failure(404, str(error.args[0]))

        note(scope, function=function.name)
        values = {}
        try:
            values = function.read(args, self.engine.reference, typed=wanted.typed)
            reply = encoded(function.result(call, values), call, form=wanted.form)
        except BaseException as error:  # noqa: BLE001 - a published function may raise anything, even SystemExit
            return _failed(
                scope, function.name, error, [*args.values(), *values.values()]
            )

        if function.depends_on_data_only:
            self._replies.add(run, reply)
        return _success(scope, reply)


async def _awaited(
    scope: Scope,
    name: str,
    body: Callable[[JsonObject], Coroutine[Any, Any, ReplyContent]],
    wanted: WantedRun,
    begin: Callable[[], None] | None,
) -> Response:
    """Run a function elsewhere; every error becomes a reply."""
    note(scope, function=name)
    args = msgspec.json.decode(wanted.args)
    if begin:
        await asyncio.to_thread(begin)
    try:
        reply = await body(args)
    except Exception as error:  # noqa: BLE001 - an engine may raise anything
        return _failed(scope, name, error, [*args.values()])

    return _success(scope, reply)


def _failed(
    scope: Scope, name: str, error: BaseException, arguments: Sequence[Any]
) -> Response:
    """Return the reply to a run that failed."""
    match error:
        case ArgumentsError():
            return failure(422, str(error), arguments=error.errors)
        case CallCancelledError():
            raise ClientDisconnect from None
        case MemoryLimitError():
            log.warning("%s exceeded the memory limit of the engine.", name)
            return failure(
                500, f"{name} needs more memory than the service allows. Ask for less."
            )

    log.error("%s failed.\n%s", name, redacted_trace(error, arguments))
    note(scope, failed=True)
    line = (
        message_of(error).strip().partition("\n")[0][:_LONGEST_REASON]
        or type(error).__name__
    )
    return failure(200, f"{name} failed: {line}")


def _success(scope: Scope, reply: ReplyContent) -> Response:
    note(scope, rows=reply.rows)
    response = Response(reply.content, media_type=reply.media_type)
    if reply.lost:
        response.headers["Funcs-Warning"] = lost_text(reply.lost)
    return response


def _single_header(request: Request, name: str) -> str | None:
    """Return a header; refuse a repeated one, because a proxy in front may have checked only the other."""
    values = request.headers.getlist(name)
    if len(values) > 1:
        raise UnauthorizedError
    return values[0] if values else None


async def _refused(_request: Request, error: RequestError) -> Response:
    return failure(error.status_code, error.detail, error.headers)


async def _unauthorized(request: Request, error: UnauthorizedError) -> Response:
    if error.sent:
        note(request.scope, action="token use", user=error.user, sent=error.sent)
    text = (
        "The token or API key is missing, expired or not valid. "
        "Send one as 'Authorization: Bearer …' or 'X-Api-Key'."
    )
    return failure(401, text, {"WWW-Authenticate": "Bearer"})


async def _not_allowed(request: Request, error: HTTPException) -> Response:
    headers = error.headers or {}
    return failure(
        405,
        f"{request.url.path} supports {headers['Allow']}, not {request.method}.",
        headers,
    )

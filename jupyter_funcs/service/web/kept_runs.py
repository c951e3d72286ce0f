"""
Kept runs: runs that continue without their caller, and whose results wait for them.

A run is kept from its start (`POST /api/runs`); or, where the caller would rather be told of it than wait (`Prefer:
respond-async` with an `Idempotency-Key`), once it takes longer than they wait, or they have left. The caller's key is
the run's id, so that a repeated start is the same run.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import math
import re
import threading
import time
from asyncio import FIRST_COMPLETED, to_thread
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec
from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.core.text import quoted, quoted_list
from jupyter_funcs.service.accounts.account_records import User
from jupyter_funcs.service.accounts.kept_records import (
    CANCELLED,
    DONE,
    FAILED,
    RUNNING,
    STATES,
    WAITING,
    KeptRecords,
    KeptRun,
    Key,
)
from jupyter_funcs.service.engine.calls import CallCancelledError
from jupyter_funcs.service.publishing.results import ARROW, JSON, encoded, read_stream
from jupyter_funcs.service.web.middleware import (
    RequestError,
    WantedRun,
    failure,
    gone,
    note,
    outcome,
    read_object,
    reply_form,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import Scope

    from jupyter_funcs.core.json_decoding import JsonObject
    from jupyter_funcs.service.accounts.grants import Grants
    from jupyter_funcs.service.publishing.registry import Registry
    from jupyter_funcs.service.web.hosts import Hosts
    from jupyter_funcs.service.web.runs import Leaving, Limits

log = logging.getLogger(__name__)

_PATH = "/api/runs"
_KEY = re.compile(r"[A-Za-z0-9_-]{8,64}")
_WAIT = re.compile(r"[0-9]{1,4}(\.[0-9]{1,3})?")
# The longest that a request waits; proxies give up after a minute or less.
_MOST_WAIT = 20.0
# Between two looks: at a run, at what others want to cancel, at processes that have ended, and for a place.
_LOOK_SECONDS = 0.5
_PRUNE_SECONDS = 600.0
_RUNS_AT_ONCE = 64
# At a run that another process was asked for.
_MOST_LOOKS = 6
# Results without a file stay here for a while.
_MOST_HELD = 100
_MOST_HELD_BYTES = 2**26
_UNWRITABLE = "the service can't write to its disk."


class RunningService(Protocol):
    """What kept runs need of the service."""

    grants: Grants
    hosts: Hosts
    limits: Limits
    registry: Registry

    def user(self, request: Request) -> User: ...

    async def perform(
        self,
        scope: Scope,
        user: User,
        wanted: WantedRun,
        left: Leaving,
        begin: Callable[[], None] | None = None,
    ) -> Response: ...


class Preference(NamedTuple):
    """That a caller would rather get a 202 than wait longer, in seconds, for a run."""

    key: str
    wait: float

    @classmethod
    def read(cls, headers: Mapping[str, str]) -> Preference | None:
        """Read it from ``Prefer: respond-async, wait=10`` and ``Idempotency-Key``, if both are there and valid."""
        wishes = headers.get("prefer", "").casefold().replace(" ", "").split(",")
        key = headers.get("idempotency-key", "").strip('"')
        if "respond-async" not in wishes or not _KEY.fullmatch(key):
            return None
        wait = next((wish[5:] for wish in wishes if wish.startswith("wait=")), "0")
        return cls(key, _seconds(wait))


def _seconds(text: str) -> float:
    if not _WAIT.fullmatch(text):
        raise RequestError(400, f"wait is {quoted(text)}. Send a number of seconds.")
    return min(float(text), _MOST_WAIT)


@dataclass(eq=False)
class _Live:
    """A run of this process; `number` is that of its row, once it is kept."""

    user: User
    id: str
    wanted: WantedRun
    address: str | None
    number: int = 0
    began: float | None = None
    is_unkept: bool = False
    about: JsonObject = field(default_factory=dict)  # once it has ended
    reply: Response | None = None
    facts: JsonObject = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[Response] = field(init=False)

    @property
    def key(self) -> Key:
        return self.user.id, self.id

    @property
    def values(self) -> tuple[Any, ...]:
        """What the records take of it, beside user and id."""
        function, args, form, typed = self.wanted
        return function, args.decode(), form, typed, self.address


class KeptRuns:
    def __init__(self, records: KeptRecords, service: RunningService) -> None:
        self._records = records
        self._service = service
        self._live: dict[Key, _Live] = {}
        self._held: OrderedDict[Key, _Live] = OrderedDict()
        self._turns: dict[int, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(_RUNS_AT_ONCE)
        )
        self._lock = threading.Lock()
        self._watching: asyncio.Task[None] | None = None
        self._is_stopping = False
        self._is_retired = False

    def routes(self) -> list[Route]:
        run = f"{_PATH}/{{id}}"
        return [
            Route(_PATH, self._begin, methods=["POST"]),
            Route(_PATH, self._list, methods=["GET"]),
            Route(run, self._look, methods=["GET"]),
            Route(run, self._forget, methods=["DELETE"]),
            Route(f"{run}/result", self._fetch, methods=["GET"]),
            Route(f"{run}/cancel", self._cancel, methods=["POST"]),
        ]

    @property
    def unfinished(self) -> int:
        """The number of runs of this process that have not ended."""
        return len(self._live)

    def start(self) -> None:
        """Take over what processes that have ended left, now and from now on; called on the event loop."""
        if not self._is_retired and (self._watching is None or self._watching.done()):
            self._watching = asyncio.create_task(self._watch())

    def retire(self) -> bool:
        """Look at no more runs, as nothing asks for any; return whether the last look is over."""
        self._is_retired = True
        return self._watching is None or self._watching.done()

    def release(self) -> list[asyncio.Task[Response]]:
        """Let those go who wait for a run, as the service stops; return the runs that are running."""
        self._is_stopping = True
        running = []
        for live in [*self._live.values()]:
            with live.lock:
                if live.number and live.began is None:
                    live.task.cancel()  # it waits for the next process
                else:
                    running.append(live.task)

        return running

    async def answer(
        self, request: Request, user: User, wanted: WantedRun, preference: Preference
    ) -> Response:
        """Run a function; return the reply if it is there in time, else keep the run and tell where it is."""
        self.start()
        key = (user.id, preference.key)
        facts = request.scope["facts"]
        if await self._found(key, wanted):
            facts.pop("action", None)
            run = await self._awaited(key, preference.wait)
            if run and run.has_ended:
                return await self._result(request, run)
            return await self._accepted(key)
        live = self._live.get(key) or self._held.get(key)  # one that can't be kept
        if live is None:
            live = self._live_run(request, user, preference.key, wanted)
            if not self._records.claim(*key, *live.values):
                raise RequestError(
                    503,
                    "Another process of the service has this run, and does not answer. Try again.",
                    {"Retry-After": "5"},
                )
            self._started(live)
            live.facts["request_id"] = facts["request_id"]

        left = asyncio.ensure_future(gone(request))
        try:
            await self._wait(live, left, preference.wait)
        finally:
            left.cancel()

        if live.number:
            facts.pop("action", None)  # it is recorded when it ends
        if live.task.done():
            facts.update(live.facts)
            reply = live.task.result()
            if live.is_unkept:
                reply.headers.setdefault(
                    "Funcs-Warning", f"The run wasn't kept: {_UNWRITABLE}"
                )
            return reply

        if left.done() and not left.cancelled():
            raise ClientDisconnect
        return await self._accepted(key)

    async def _wait(
        self, live: _Live, left: asyncio.Future[None], seconds: float
    ) -> None:
        """Wait for a run, then keep it."""
        ends = (live.task, left)
        await asyncio.wait(ends, timeout=seconds, return_when=FIRST_COMPLETED)
        if not live.task.done() and not await to_thread(self._keep, live):
            # It has just ended; or it can't be kept, and runs as others do, until its caller leaves.
            await asyncio.wait(ends, return_when=FIRST_COMPLETED)
            if not live.task.done():
                live.cancelled.set()

    # The endpoints

    async def _begin(self, request: Request) -> Response:
        user = self._service.user(request)
        self.start()
        document = await read_object(request, self._service.limits.body_seconds)
        wanted = WantedRun.read(request, document)
        key = document.get("key")
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise RequestError(
                400,
                "key is missing or not valid. Send 8 to 64 letters, digits, '-' and '_'.",
            )

        live = self._live_run(request, user, key, wanted)
        note(request.scope, function=wanted.function)
        if not await self._found(live.key, wanted):
            if not await to_thread(self._records.has_room, user.id):
                raise RequestError(
                    429,
                    "You have too many kept runs that have not ended. Wait, or cancel some.",
                    {"Retry-After": "10"},
                )
            try:
                await to_thread(self._add, live, WAITING)
            except SetupError as error:
                log.warning("A run can't be kept: %s", error)
                return failure(
                    507, "The service can't keep runs now: its disk can't be written."
                )
            if live.number:
                self._started(live)

        return await self._accepted(live.key)

    async def _list(self, request: Request) -> Response:
        user = self._service.user(request)
        query = request.query_params
        state = query.get("state")
        if state not in (None, *STATES):
            raise RequestError(400, f"state is one of {quoted_list(STATES)}.")
        since = 0.0
        if "since" in query:
            try:
                since = datetime.fromisoformat(query["since"]).timestamp()
            except (ValueError, OverflowError):
                raise RequestError(
                    400, "since is not a time. Send one such as 2025-03-04T12:00:00Z."
                ) from None

        runs = []
        if "key" not in query:
            runs = await to_thread(self._records.of_user, user.id, state, since)
        # Also one that has no row yet.
        elif run := await self._found((user.id, query["key"])):
            runs = [run] if state in (None, run.state) and run.made >= since else []

        return JSONResponse({"runs": await self._described(*runs)})

    async def _look(self, request: Request) -> Response:
        run = await self._named(request, wait=request.query_params.get("wait", "0"))
        [description] = await self._described(run)
        return JSONResponse(description)

    async def _fetch(self, request: Request) -> Response:
        return await self._result(request, await self._named(request, "/result"))

    async def _cancel(self, request: Request) -> Response:
        run = await self._named(request, "/cancel")
        if not run.has_ended:
            if live := self._live.get(run.key):
                live.cancelled.set()
            else:
                await to_thread(self._records.ask_to_cancel, run)
            run = await self._awaited(run.key, 4 * _LOOK_SECONDS) or run

        [description] = await self._described(run)
        return JSONResponse(description)

    async def _forget(self, request: Request) -> Response:
        run = await self._named(request)
        if live := self._live.get(run.key):
            live.cancelled.set()
        self._held.pop(run.key, None)
        await to_thread(self._records.forget, run)
        return Response(status_code=204)

    # What they have in common

    async def _named(
        self, request: Request, action: str = "", wait: str = "0"
    ) -> KeptRun:
        """Return the run that a path names, when it has ended or after some seconds."""
        note(request.scope, path=f"{_PATH}/{{id}}{action}")
        user = self._service.user(request)
        self.start()
        return await self._existing(
            (user.id, request.path_params["id"]), _seconds(wait)
        )

    async def _existing(self, key: Key, seconds: float = 0.0) -> KeptRun:
        run = await self._awaited(key, seconds)
        if run is None:
            raise RequestError(404, f"You have no kept run {quoted(key[1])}.")
        return run

    async def _accepted(self, key: Key) -> Response:
        run = await self._existing(key)
        position = (await self._positions(run)).get(run.number)
        return JSONResponse(
            {"id": run.id, "state": run.state, "position": position},
            202,
            {"Location": f"{_PATH}/{run.id}"},
        )

    async def _found(self, key: Key, wanted: WantedRun | None = None) -> KeptRun | None:
        """Return a run that somebody asks for, which keeps it, here or in the process that has it."""
        if not _KEY.fullmatch(key[1]):
            return None
        for _ in range(_MOST_LOOKS):
            run, is_demanded = await to_thread(self._sought, key)
            if not is_demanded:
                break
            await asyncio.sleep(_LOOK_SECONDS)

        if (
            run
            and wanted
            and (run.function, _sorted(run.args))
            != (wanted.function, _sorted(wanted.args))
        ):
            raise RequestError(
                422,
                f"{quoted(run.id)} is the key of another run, of {run.function}. Send a new key.",
            )
        return run

    def _sought(self, key: Key) -> tuple[KeptRun | None, bool]:
        """Return a run if it has a row, or gets one here, and whether another process was asked to write one."""
        ended = self._held.get(key)
        if live := ended or self._live.get(key):
            self._keep(live)
        run = self._records.find(*key)
        if run and ended:
            run = run._replace(**ended.about)
        return run, run is None and self._records.demand(*key)

    async def _awaited(self, key: Key, seconds: float) -> KeptRun | None:
        """Return a run when it has ended, or as it is after some seconds."""
        until = monotonic() + seconds
        while True:
            run = await self._found(key)
            left = min(_LOOK_SECONDS, until - monotonic())
            if run is None or run.has_ended or left <= 0 or self._is_stopping:
                return run
            if live := self._live.get(key):
                await asyncio.wait({live.task}, timeout=left)
            else:  # it runs in another process
                await asyncio.sleep(left)

    async def _result(self, request: Request, run: KeptRun) -> Response:
        """Return what `runFunction` would have answered; the header tells it from an answer about the request."""
        mark = {"Funcs-Run": run.id}
        live = self._held.get(run.key)
        if live and live.reply:
            live.reply.headers.update(mark)
            return live.reply

        if not run.has_ended:
            return failure(409, f"The run is still {run.state}.", mark)
        if run.size is None or run.status is None:
            return failure(
                410, run.note or f"The run was {run.state}: it has no result.", mark
            )

        headers = mark | ({"Funcs-Warning": run.warning} if run.warning else {})
        path = self._records.path(run.number)
        fetched = BackgroundTask(self._records.note_fetched, run)
        is_json = reply_form(request.headers.get("accept", "")) == "json"
        if run.media_type == ARROW and is_json:
            reply = await to_thread(lambda: encoded(read_stream(path.read_bytes())))
            return Response(reply.content, run.status, headers, JSON, fetched)

        return FileResponse(path, run.status, headers, run.media_type, fetched)

    async def _described(self, *runs: KeptRun) -> list[JsonObject]:
        positions = await self._positions(*runs)
        return [_description(run, positions.get(run.number)) for run in runs]

    async def _positions(self, *runs: KeptRun) -> dict[int, int]:
        """Return the places of runs that wait; nothing is read for others, at which clients look again and again."""
        if all(run.state != WAITING for run in runs):
            return {}
        return await to_thread(self._records.positions)

    # Runs

    def _live_run(
        self, request: Request, user: User, key: str, wanted: WantedRun
    ) -> _Live:
        address = self._service.hosts.caller(request.headers, request.client)
        return _Live(user, key, wanted, address)

    def _started(self, live: _Live) -> _Live:
        self._live[live.key] = live
        live.task = asyncio.create_task(self._run(live))
        # What it raises is for whoever waits; nobody may.
        live.task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return live

    def _add(self, live: _Live, state: str) -> None:
        live.number = self._records.add(*live.key, *live.values, state=state)
        self._records.release(*live.key)

    def _keep(self, live: _Live) -> bool:
        """Write the row of a run that has none, and its result if it is held; return whether it is kept now."""
        is_held = live.key in self._held
        with live.lock:
            if not live.number and (is_held or not live.about):
                state = WAITING if live.began is None else RUNNING
                try:
                    self._add(live, state)
                    if is_held:
                        self._note_end(live)
                except SetupError as error:
                    log.warning("A run can't be kept: %s", error)
                    live.is_unkept = True
            return bool(live.number)

    def _has_begun(self, live: _Live) -> None:
        with live.lock:
            if self._is_stopping and live.number:
                raise CallCancelledError
            live.began = monotonic()
            if live.number:
                self._records.begin(live.number)

    async def _run(self, live: _Live) -> Response:
        """Run a function to its end, and note that if the run is kept."""
        try:
            reply = await self._performed(live)
        except ClientDisconnect:
            await to_thread(self._end, live, CANCELLED, None)
            raise
        except RequestError as error:
            answer = None  # it may be started again
            if live.began is not None or live.number:
                if error.status_code in {500, 503} and await to_thread(
                    self._keep, live
                ):
                    # With the service: the next process takes it over.
                    return await self._accepted(live.key)
                answer = failure(error.status_code, str(error.detail), error.headers)
            await to_thread(self._end, live, FAILED, answer)
            raise
        else:
            is_done = reply.status_code == 200 and not live.facts.get("failed")
            state = DONE if is_done else FAILED
            await to_thread(self._end, live, state, reply)
            return reply
        finally:
            self._live.pop(live.key, None)
            if live.key not in self._held:
                self._records.release(*live.key)

    async def _performed(self, live: _Live) -> Response:
        begin = functools.partial(self._has_begun, live)
        scope = {"facts": live.facts}
        while True:
            if live.cancelled.is_set():
                raise ClientDisconnect
            try:
                turn: Any = contextlib.nullcontext()
                if live.number:
                    turn = self._turns[live.user.id]
                async with turn:
                    return await self._service.perform(
                        scope, live.user, live.wanted, live.cancelled.wait, begin
                    )
            except RequestError as error:
                if (
                    error.status_code != 429
                    or not live.number
                    or live.began is not None
                ):
                    raise
            await asyncio.sleep(_LOOK_SECONDS)

    def _end(self, live: _Live, state: str, reply: Response | None) -> None:
        now = monotonic()
        about: JsonObject = {
            "state": state,
            "ended": time.time(),
            "seconds": round(now - (live.began or now), 3),
            "rows": live.facts.get("rows"),
            "status": reply and reply.status_code,
            "media_type": reply and reply.headers["content-type"],
            "warning": reply and reply.headers.get("funcs-warning"),
        }
        live.reply = reply
        with live.lock:
            live.about = about
        text = None
        if live.number:
            try:
                text = self._note_end(live)
            except SetupError as error:
                log.warning("A kept run has ended, and can't be noted: %s", error)
                text = f"Its result isn't kept: {_UNWRITABLE}"
            self._service.grants.audit.record(
                "run",
                live.user.name,
                live.wanted.function,
                None,
                live.address,
                outcome(about["status"], live.facts),
                about["seconds"],
                about["rows"],
            )

        if reply and text:
            about["note"] = text
            notes = filter(None, [about["warning"], text])
            reply.headers["Funcs-Warning"] = " ".join(notes)
        if reply and (text or not live.number):
            self._hold(live)

    def _note_end(self, live: _Live) -> str | None:
        content = None if live.reply is None else bytes(live.reply.body)
        return self._records.end(live.number, live.about, content)

    def _hold(self, live: _Live) -> None:
        """Hold a result without a file for a while: its caller may not have got it."""
        if not live.number:
            self._records.note_reply(*live.key)
        with self._lock:
            self._held[live.key] = live
            size = sum(map(_size, self._held.values()))
            while len(self._held) > _MOST_HELD or (
                size > _MOST_HELD_BYTES and len(self._held) > 1
            ):
                key, oldest = self._held.popitem(last=False)
                size -= _size(oldest)
                self._records.release(*key)

    async def _watch(self) -> None:
        pruned = -_PRUNE_SECONDS
        while not (self._is_stopping or self._is_retired):
            try:
                if monotonic() > pruned + _PRUNE_SECONDS:
                    pruned = monotonic()
                    await to_thread(self._records.prune)
                keys = [*self._live, *self._held]
                for key in await to_thread(self._records.demanded, keys):
                    await to_thread(self._sought, key)
                for run in await to_thread(self._records.to_cancel):
                    if live := self._live.get(run.key):
                        live.cancelled.set()
                safe = self._service.registry.read_only
                for run in await to_thread(self._records.orphans, safe):
                    wanted = WantedRun(
                        run.function, run.args.encode(), run.form, bool(run.typed)
                    )
                    user = User(run.user, run.user_name)
                    live = self._started(
                        _Live(user, run.id, wanted, run.address, run.number)
                    )
                    if not self._service.grants.user(run.user_name, math.inf):
                        live.cancelled.set()  # the user was disabled meanwhile
            except SetupError as error:
                log.warning("The kept runs can't be looked at: %s", error)
            await asyncio.sleep(_LOOK_SECONDS)


def _size(live: _Live) -> int:
    return len(live.reply.body) if live.reply else 0


def _sorted(args: bytes | str) -> bytes:
    return msgspec.json.encode(msgspec.json.decode(args), order="deterministic")


def _description(run: KeptRun, position: int | None) -> JsonObject:
    progress = None
    if not run.has_ended:
        progress = {"position": position, "since": _utc(run.began)}
    return {
        "id": run.id,
        "state": run.state,
        "FunctionName": run.function,
        "Args": msgspec.json.decode(run.args),
        "made": _utc(run.made),
        "ended": _utc(run.ended),
        "progress": progress,
        "seconds": run.seconds,
        "rows": run.rows,
        "bytes": run.size,
        "note": run.note,
    }


def _utc(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S.%fZ}"

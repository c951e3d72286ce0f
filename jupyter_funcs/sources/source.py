"""What a source is, the service as one, and which one an address has: its kind's, or the first that it answers as."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_funcs.catalog.fields import Kind, schema_problems, unknown_codes
from jupyter_funcs.catalog.listing import (
    Catalog,
    Encoding,
    Function,
    Param,
    ReadCatalog,
    parse_listing,
)
from jupyter_funcs.catalog.schemas import Schemas, text_of
from jupyter_funcs.connection.profiles import NO_TOKEN
from jupyter_funcs.connection.replies import (
    LIST_PATH,
    RUN_PATH,
    RUNS_PATH,
    TAKES_JSON,
    Reply,
)
from jupyter_funcs.connection.retries import Proof, Purpose, pause_after
from jupyter_funcs.connection.transport import Terms
from jupyter_funcs.core import background
from jupyter_funcs.core.background import Progress, in_thread, loop_time, with_deadline
from jupyter_funcs.core.errors import (
    ConfigError,
    FuncsError,
    NotFoundError,
    ProtocolError,
    ReplyTooLargeError,
    RunCancelledError,
    ServerError,
    ServiceConnectionError,
)
from jupyter_funcs.core.json_decoding import gc_paused, read_object
from jupyter_funcs.core.text import some
from jupyter_funcs.core.warn import collect_warnings, warn, warn_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.connection.profiles import Connection
    from jupyter_funcs.connection.transport import Transport
    from jupyter_funcs.core.json_decoding import JsonObject

_SOON = 10  # seconds, after which a run is kept
_LONGEST_WAIT = 20.0
_SILENT_SECONDS = 35.0
_PROMPT_SECONDS = 20.0
_UNFINISHED = {"waiting", "running"}
_MISSES = 3  # looks for a run, after which there is none
_DISK_IS_FULL = 507
_UNANSWERED = {Proof.BROKEN, Proof.UNANSWERED}
_FINAL = {401, 403, 408, 429}  # statuses that say nothing about the kind
_AS_MCP = {400, 405, 406}  # how an MCP server may answer a GET


class Source(Protocol):
    """Lists functions and runs them, on the background loop."""

    kind: str
    """What `%funcs status` calls it: service, openapi, mcp or python."""

    async def listing(self, terms: Terms, progress: Progress) -> ReadCatalog:
        """Ask for the listing, and return what reads the catalog."""

    async def run(
        self, function: Function, args: Args, terms: Terms, progress: Progress
    ) -> Reply | pd.DataFrame:
        """Run a listed function, and return its reply, or a frame that stays as it is."""

    def request(self, function: Function, args: Args) -> JsonObject:
        """Return what `run` sends, in JSON types and without a token; a single HTTP request has a ``url``."""

    def identity(self, function: Function) -> Any:
        """Return what else decides a function's answers besides connection, token and listing, in JSON types."""

    async def close(self) -> None:
        """Close what is open; the next request opens it again."""


def source_of(kind: str, transport: Transport) -> Source:
    """Return the source of a kind; if that is empty, a service until `detected` knows better."""
    match kind:
        case "python":
            from jupyter_funcs.sources.python import PythonSource

            return PythonSource(transport.connection)
        case "mcp":
            from jupyter_funcs.sources.mcp import McpSource

            return McpSource(transport)
        case "openapi":
            from jupyter_funcs.sources.openapi import OpenApiSource

            return OpenApiSource(transport)

    return ServiceSource(transport, kind)


class ServiceSource:
    """The functions of a data service."""

    def __init__(self, transport: Transport, kind: str) -> None:
        self.kind = kind
        self._transport = transport
        self._offers_arrow = False
        self.headers: dict[str, str] = {}  # of each run
        self.keeps_runs = False
        self.run_seconds = 0.0  # as far as the service says
        # Seconds that a request may wait; less behind a proxy that gives up earlier.
        self._patience = _LONGEST_WAIT

    async def listing(self, terms: Terms, progress: Progress) -> ReadCatalog:
        reply = await self._transport.send(f"POST {LIST_PATH}", {}, terms, progress)
        self._offers_arrow = reply.offers_arrow
        self.headers = TAKES_JSON if reply.takes_json else {}
        self.keeps_runs = reply.headers.get("funcs-runs") == "kept"
        with suppress(ValueError):
            self.run_seconds = float(reply.headers.get("funcs-run-seconds", "0"))
        return partial(reply.read, partial(parse_listing, takes_json=reply.takes_json))

    async def run(
        self, function: Function, args: Args, terms: Terms, progress: Progress
    ) -> Reply:
        terms = terms._replace(takes_arrow=terms.takes_arrow and self._offers_arrow)
        request = self.request(function, args)
        if not self.keeps_runs:
            return await self._transport.send(
                f"POST {RUN_PATH}", request, terms, progress, self.headers
            )

        progress.kept_id = progress.kept_id or token_hex(6)
        purpose = Purpose.CHANGE
        if terms.purpose is Purpose.RUN:
            purpose = Purpose.KEPT
        terms = terms._replace(purpose=purpose)
        try:
            if not progress.has_begun:
                reply = await self._begun(function, request, terms, progress)
                if reply:
                    return reply
            return await self._ended(function.name, terms, progress)
        except asyncio.CancelledError:
            # By the user: at the deadline it goes on.
            if loop_time() < terms.until and not progress.has_ended:
                background.start(self._cancel(progress.kept_id))
            raise

    async def _begun(
        self, function: Function, body: JsonObject, terms: Terms, progress: Progress
    ) -> Reply | None:
        """Start a run that may be kept; return its reply if it is there soon, or nothing."""
        id_ = progress.kept_id
        headers = {
            **self.headers,
            "Prefer": f"respond-async, wait={_SOON}",
            "Idempotency-Key": id_,
        }
        is_read_only = bool(function.model_extra.get("readOnly"))
        tries = 0
        while True:
            path = RUN_PATH
            sent = body
            if progress.is_kept:
                path = RUNS_PATH
                sent = {**body, "key": id_}
            try:
                reply = await self._asked(
                    f"POST {path}", terms, progress, sent, headers
                )
            except FuncsError as error:
                if progress.is_kept and error.status == _DISK_IS_FULL:
                    warn("The run isn't kept: the service can't write to its disk.")
                    progress.is_kept = False
                    continue
                if error.proof not in _UNANSWERED:
                    raise
                missing = error
            else:
                if reply.headers[":status"] == "200":
                    return reply
                progress.has_begun = True
                return None
            with suppress(NotFoundError):
                await self._answered(f"{RUNS_PATH}/{id_}", terms, progress, _MISSES)
                return None
            # A run that is kept from its start is the same run if it is started again.
            if not (progress.is_kept or is_read_only):
                raise type(missing)(
                    f"{missing.what} The service has no record of the run, which may have begun.",
                    "Check what it has done before you run it again.",
                )
            await asyncio.sleep(pause_after(tries))
            tries += 1

    async def _ended(self, name: str, terms: Terms, progress: Progress) -> Reply:
        """Wait for the end of a run that the service keeps, and fetch its result."""
        path = f"{RUNS_PATH}/{progress.kept_id}"
        wait = 1.0
        state = "running"
        while state in _UNFINISHED:
            reply = await self._answered(path, terms, progress, wait=wait)
            wait = min(wait * 2, _LONGEST_WAIT)
            run = read_object(reply.data)
            state = str(run.get("state"))
            progress.has_begun = True
            progress.has_ended = state not in _UNFINISHED
            progress.said = _said(state, run.get("progress") or {})

        if state == "cancelled":
            raise RunCancelledError(
                f"{name} was cancelled on the service.", "Run it again."
            )

        if state == "lost":
            raise ServerError(
                f"{name} was lost. {run.get('note') or ''}",
                "Check what it has done, then run it again.",
            )

        return await self._answered(f"{path}/result", terms, progress)

    async def _answered(
        self,
        path: str,
        terms: Terms,
        progress: Progress,
        misses: int = 0,
        *,
        wait: float = 0.0,
    ) -> Reply:
        """Ask for a kept run until there is an answer, however often the line breaks."""
        tries = 0
        while True:
            place = f"GET {path}"
            if wait:
                place = f"{place}?wait={min(wait, self._patience):g}"
            try:
                return await self._asked(place, terms, progress)
            except FuncsError as error:
                is_missing = isinstance(error, NotFoundError) and tries < misses
                if error.proof in {"", Proof.FINAL} and not is_missing:
                    raise
                if error.status == 504:
                    self._patience = max(1.0, self._patience / 2)
            progress.said = "looking for the run"
            await asyncio.sleep(pause_after(tries))
            tries += 1

    async def look(self, id_: str = "") -> JsonObject:
        """Return what the service knows of a kept run; of all of them if there is no id."""
        reply = await self._promptly(f"GET {RUNS_PATH}/{id_}".rstrip("/"))
        return read_object(reply.data)

    async def forget(self, id_: str) -> None:
        """Delete a kept run and its result."""
        await self._promptly(f"DELETE {RUNS_PATH}/{id_}")

    async def _cancel(self, id_: str) -> None:
        with suppress(FuncsError):
            await self._promptly(f"POST {RUNS_PATH}/{id_}/cancel", {})

    async def _promptly(self, place: str, body: JsonObject | None = None) -> Reply:
        terms = Terms(Purpose.LISTING, loop_time() + _PROMPT_SECONDS, force=True)
        work = self._asked(place, terms, Progress(), body)
        return await with_deadline(_PROMPT_SECONDS, work, "The kept run")

    async def _asked(
        self,
        place: str,
        terms: Terms,
        progress: Progress,
        body: JsonObject | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send a request to a place of the service; if nothing comes for long, the line is broken."""
        if body is None:  # it only looks
            terms = terms._replace(retries=0, force=True)
        task = asyncio.ensure_future(
            self._transport.send(place, body, terms, progress, headers)
        )
        try:
            while True:
                before = progress.received
                await asyncio.wait({task}, timeout=_SILENT_SECONDS)
                if task.done():
                    return task.result()
                if progress.received == before:
                    break
        finally:
            task.cancel()

        name = self._transport.connection.name
        silent = ServiceConnectionError(f"{name} did not answer.", "Try again.")
        silent.proof = Proof.UNANSWERED
        raise silent

    def request(self, function: Function, args: Args) -> JsonObject:
        params = {param.name: param for param in reversed(function.params)}
        sent = {name: _encoded(params[name], value) for name, value in args.items()}
        return {"FunctionName": function.name, "Args": sent}

    def identity(self, _function: Function) -> None:
        """Add nothing: the address says all."""

    async def close(self) -> None:
        await self._transport.close()


def _said(state: str, progress: Mapping[str, Any]) -> str:
    if position := progress.get("position"):
        return f"number {position} of the runs that wait on the service"
    if since := progress.get("since"):
        return f"{state} on the service since {since[:16].replace('T', ' ')} UTC"
    return f"{state} on the service"


def _encoded(param: Param, value: Any) -> Any:
    """Return a value as the first wire takes it, a text or a list of texts, if the service doesn't take JSON."""
    if param.encoding is Encoding.JSON:
        return value
    if isinstance(value, list):
        declared = Schemas().read(param.schema)
        if declared is None or declared.kind != Kind.JSON:
            return [text_of(item) for item in value]

    return text_of(value)


async def detected(
    transport: Transport, terms: Terms, progress: Progress
) -> tuple[Source, ReadCatalog]:
    """Return the source that an address answers as, and what reads its listing, else raise the service's own error."""
    refusals = []
    connection = transport.connection
    kinds = ["openapi"]
    if find_spec("mcp"):
        kinds.insert(0, "mcp")
    if connection.token is not NO_TOKEN:
        kinds.insert(0, "service")
    for kind in kinds:
        source = source_of(kind, transport)
        # An address that accepts messages and never answers leaves time for the document.
        seconds = None
        if kind == "mcp":
            seconds = (terms.until - loop_time()) / 2
        try:
            async with asyncio.timeout(seconds):
                return source, await read_listing(source, transport, terms, progress)
        except FuncsError as error:
            if not _is_another(error, kind) or getattr(source, "is_open", False):
                raise
            refusals.append(error)
        except TimeoutError:
            await source.close()
        terms = terms._replace(retries=0, counts=False)

    raise _unknown_kind(connection, kinds, refusals)


def _unknown_kind(
    connection: Connection, kinds: list[str], refusals: list[FuncsError]
) -> FuncsError:
    others = "an OpenAPI document"
    if "mcp" in kinds:
        others = "an MCP server or an OpenAPI document"
    if "service" not in kinds:
        return ConfigError(
            f"There is no token for {connection.base_url}, and it isn't {others}.",
            "Use jf.connect(url, token=…), set FUNCS_BASE_URL and FUNCS_TOKEN, or write a profile.",
        )

    own = refusals[0]
    own.hint = f"Nor is it {others}. {own.hint}".strip()
    if "mcp" not in kinds and refusals[-1].status in _AS_MCP:
        own.hint = "If it is an MCP server: pip install 'jupyter-funcs[mcp]'."
    return own


async def read_listing(
    source: Source, transport: Transport, terms: Terms, progress: Progress
) -> ReadCatalog:
    """Read a listing in a thread, and return what warns of it in the caller's thread."""
    warned: list[UserWarning] = []
    read = await source.listing(terms, progress)
    with collect_warnings(warned):
        catalog = await asyncio.wrap_future(
            in_thread(lambda: _checked(read, transport.connection.name), "listing")
        )

    def shown() -> Catalog:
        warn_all(warned)
        return catalog

    return shown


def _checked(read: ReadCatalog, service: str) -> Catalog:
    """Read a listing, and warn of what in it isn't understood."""
    # The collector would look through all of a large one again and again, and stop all threads.
    with gc_paused():
        catalog = read()
    for code in unknown_codes(catalog):
        warn(
            f"{service}: parameters of type code {code} (unknown) are read from their descriptions."
        )

    if problems := schema_problems(catalog):
        warn(f"Schemas that contradict themselves are not enforced: {some(problems)}.")
    return catalog


def _is_another(error: FuncsError, kind: str) -> bool:
    """Return whether an error only says that the address is of another kind."""
    if isinstance(error, ProtocolError):
        return True
    is_failure = kind == "service" and error.status >= 500
    is_reply = error.status >= 200 and error.status not in _FINAL
    return is_reply and not is_failure and not isinstance(error, ReplyTooLargeError)

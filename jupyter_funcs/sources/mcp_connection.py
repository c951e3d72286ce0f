"""One connection to an MCP server, by the protocol's official SDK: over the pipes of a command, or streamable HTTP."""

from __future__ import annotations

import asyncio
import atexit
import json
import logging
import math
import os
from contextlib import asynccontextmanager, closing, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio
import httpx2
import mcp_types as types
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import ClientSession, MCPError
from mcp.client.auth import OAuthClientProvider, OAuthRegistrationError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage

from jupyter_funcs.connection.http import Request
from jupyter_funcs.connection.profiles import command_environment, same_origin
from jupyter_funcs.connection.proxies import environment_proxy
from jupyter_funcs.connection.replies import CHECK_ADDRESS, Failure, too_large
from jupyter_funcs.connection.retries import Proof
from jupyter_funcs.connection.secrets import Hidden, redacted_all, redacted_line
from jupyter_funcs.connection.tokens import end_session, is_plain, unencrypted
from jupyter_funcs.connection.transport import MAX_BYTES, Transport
from jupyter_funcs.core import background, json_decoding
from jupyter_funcs.core.background import Question
from jupyter_funcs.core.errors import (
    TRY_AGAIN,
    ArgumentError,
    AuthenticationError,
    ConfigError,
    DeadlineError,
    FuncsError,
    FunctionError,
    ProtocolError,
    ServiceConnectionError,
)
from jupyter_funcs.core.json_decoding import JsonObject, only
from jupyter_funcs.core.text import quote
from jupyter_funcs.core.warn import warn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from anyio.abc import Process

    from jupyter_funcs.catalog.listing import Function
    from jupyter_funcs.connection.http import Opened
    from jupyter_funcs.connection.login import Redirect
    from jupyter_funcs.connection.profiles import Connection
    from jupyter_funcs.core.background import Progress

T = TypeVar("T")
R = TypeVar("R", bound=types.Result)

# Seconds. A command may have to download its server, so it keeps starting after those who asked for it gave up.
_OPEN_SECONDS = 60.0
_NOTIFY_SECONDS = 5.0
# Between two looks at a task, if the server doesn't say.
_TASK_SECONDS = 1.0
_LEAST_TASK_SECONDS = 0.1
_MOST_TASK_SECONDS = 30.0
_EXIT_SECONDS = 0.6
_TERM_SECONDS = 0.3
_POLL = 0.01
_LONGEST = 300
_NOT_STARTED: dict[type[OSError], str] = {
    FileNotFoundError: "it doesn't exist",
    PermissionError: "it isn't executable",
}
# What servers of 2026 answer that have no handshake; asked first for what replaces it, others may never answer.
_NO_HANDSHAKE = {
    types.UNSUPPORTED_PROTOCOL_VERSION,
    types.METHOD_NOT_FOUND,
    types.INVALID_REQUEST,
}
_PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
_PING_HEADERS = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-06-18",  # from which on a token is for one server
}
_FRAMING = {"content-encoding", "content-length", "transfer-encoding"}
# What the SDK is told if a message that has no answer can't be sent.
_UNANSWERED = {"POST": 202}
_CLOSED = (anyio.BrokenResourceError, anyio.ClosedResourceError)
_OF_SDK = (MCPError, ValueError, RuntimeError)

# Our errors say what these log, which goes to stderr if nobody listens.
for _name in ("mcp", "client", "httpx2"):
    logging.getLogger(_name).addHandler(logging.NullHandler())


@dataclass(eq=False)
class Ask:
    """One request of ours: its limit, its result as received, or why there is none."""

    max_bytes: int = MAX_BYTES
    result: JsonObject = field(default_factory=dict)
    failure: Failure | None = None


# The SDK sends and receives in the context of whoever makes a request.
_asking: ContextVar[Ask] = ContextVar("_asking")


class UnansweredError(Exception):
    """A request has no result; `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure


class Link:
    """A connection. A task of its own enters the SDK's contexts, which must be left in the same task."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.name = self.server = transport.connection.name
        self.command = tuple(map(str, only(tuple, transport.connection.target)))
        self._env = command_environment(transport.connection)
        # None if not known, or changed.
        self.functions: dict[str, Function] | None = None
        self.tasks: set[str] = set()  # the tools that run as tasks only
        self._runs: list[Progress] = []
        self._declined = ""  # what it asked when nobody could answer
        self.received = 0  # bytes
        self.opened: asyncio.Future[ClientSession] = (
            asyncio.get_running_loop().create_future()
        )
        self.ended = asyncio.Event()
        self.pid = os.getpid()
        self._process: Process | None = None
        self._why: FuncsError | None = None  # it ended
        self._stderr = b""  # its end
        self._noise = b""  # what isn't a message on stdout
        self._task = asyncio.create_task(self._own())
        _links.add(self)

    @property
    def is_usable(self) -> bool:
        """Whether it may be used, in this process."""
        return not self.ended.is_set() and self.pid == os.getpid()

    async def list_tools(self, cursor: str | None, ask: Ask) -> str | None:
        """Ask for a page of the tools, and return the cursor of the next one."""
        page = types.PaginatedRequestParams(cursor=cursor)
        listed = await self._send(
            lambda session: session.list_tools(params=page), ask, ProtocolError
        )
        return listed.next_cursor

    async def call_tool(
        self, name: str, arguments: JsonObject, ask: Ask, run: Progress
    ) -> None:
        """Call a tool; its result is that of `ask`."""

        async def told(
            progress: float, total: float | None, message: str | None
        ) -> None:
            share = f"{progress:g}"
            if total:
                share = f"{progress / total:.0%}"
            run.said = f"{share} {redacted_line(message or '', 80)}".rstrip()

        call = types.CallToolRequest(
            params=types.CallToolRequestParams(name=name, arguments=arguments)
        )
        self._runs.append(run)
        try:
            if name in self.tasks:
                call.params.task = types.TaskMetadata()
            await self._request(call, types.CallToolResult, ask, told)
            if name in self.tasks:
                await self._finish(ask, run)
        finally:
            self._runs.remove(run)
            if self._declined:
                warn(self._declined)
                self._declined = ""
            if run.question and not run.question.answer.done():
                run.question.answer.set_result(None)

    async def _finish(self, ask: Ask, run: Progress) -> None:
        """Wait for the end of a task and ask for its result; cancel it if nobody waits any more."""
        try:
            task = types.Task.model_validate(ask.result.get("task"), by_name=False)
        except ValueError as error:
            raise UnansweredError(self._failure(error, ask, ProtocolError)) from None

        by_id = types.GetTaskRequestParams(task_id=task.task_id)
        try:
            while task.status == "working":
                run.said = redacted_line(task.status_message or "working", 80)
                seconds = _TASK_SECONDS
                if task.poll_interval is not None:
                    seconds = task.poll_interval / 1000
                await asyncio.sleep(
                    min(max(seconds, _LEAST_TASK_SECONDS), _MOST_TASK_SECONDS)
                )
                task = await self._request(
                    types.GetTaskRequest(params=by_id), types.GetTaskResult, ask
                )
        except asyncio.CancelledError:
            cancel = types.CancelTaskRequest(
                params=types.CancelTaskRequestParams(task_id=task.task_id)
            )
            # Nobody has to wait for that.
            background.start(self._request(cancel, types.CancelTaskResult, Ask()))
            raise

        if task.status == "cancelled":
            why = redacted_line(
                task.status_message or "The server has cancelled the task."
            )
            raise UnansweredError(
                Failure(FunctionError(why, "Run it again if that is safe."))
            )

        payload = types.GetTaskPayloadRequest(
            params=types.GetTaskPayloadRequestParams(task_id=task.task_id)
        )
        await self._request(payload, types.CallToolResult, ask)

    async def _request(
        self,
        request: types.Request[Any, Any],
        result_type: type[R],
        ask: Ask,
        told: Any = None,
    ) -> R:
        return await self._send(
            lambda session: session.send_request(
                request, result_type, progress_callback=told
            ),
            ask,
            FunctionError,
        )

    async def _send(
        self,
        request: Callable[[ClientSession], Awaitable[T]],
        ask: Ask,
        refusal: type[FuncsError],
    ) -> T:
        _asking.set(ask)
        try:
            session = await asyncio.shield(self.opened)
            task = asyncio.ensure_future(request(session))
            try:
                return await asyncio.shield(task)
            except asyncio.CancelledError:
                task.cancel()  # this tells the server, and nobody has to wait for that
                raise
        except _OF_SDK as error:
            raise UnansweredError(self._failure(error, ask, refusal)) from None

    async def close(self) -> None:
        """Close it within two seconds, with the server's process and its children."""
        if self.pid != os.getpid():
            return
        self.ended.set()
        for seconds in (1.4, 0.3) if self.opened.done() else (0, 1.4):
            await asyncio.wait({self._task}, timeout=seconds)
            self._task.cancel()

        self.kill()

    def kill(self, name: str = "SIGKILL") -> None:
        """Send a signal to what is left of the server's process and its children."""
        if self._process:
            end_session(self._process, name)

    async def _own(self) -> None:
        _asking.set(ask := Ask())
        failure = None
        try:
            async with (
                asyncio.timeout(_OPEN_SECONDS) as limit,
                self._pipes() if self.command else self._http() as (incoming, outgoing),
                ClientSession(
                    dispatcher=_LenientDispatcher(incoming, outgoing),
                    client_info=types.Implementation(
                        name="jupyter_funcs", version=version("jupyter-funcs")
                    ),
                    message_handler=self._on_notification,
                    elicitation_callback=self._ask_user,
                ) as session,
            ):
                try:
                    await _negotiate(session)
                except _OF_SDK as error:
                    failure = self._failure(error, ask, ProtocolError)
                    if self.command:  # it would end again
                        failure = Failure(failure.error)
                else:
                    limit.reschedule(None)
                    if (info := session.server_info) is not None:
                        self.server = info.title or info.name or self.name
                    self.opened.set_result(session)
                    await self.ended.wait()
        except TimeoutError:
            what = f"{self.name} did not answer within {_OPEN_SECONDS:g} s{self._last_words('; ')}."
            failure = Failure(
                DeadlineError(what, "Start the server by itself to see why.")
            )
        except OSError as error:
            reason = _NOT_STARTED.get(type(error), error.strerror)
            what = f"The command {quote(' '.join(self.command[:1]))} of the MCP server can't be started: {reason}."
            failure = Failure(
                ConfigError(what, "Install the server, or correct its command.")
            )
        except Exception as error:  # noqa: BLE001  # the SDK's own, perhaps a group of them
            what = f"The connection to {self.name} failed: {type(error).__name__}."
            failure = Failure(ServiceConnectionError(what, TRY_AGAIN), Proof.BROKEN)
        finally:
            self.ended.set()
            _links.discard(self)
            if not self.opened.done():
                what = f"The connection to {self.name} was closed."
                closed = Failure(ServiceConnectionError(what, "Try again."))
                self.opened.set_exception(UnansweredError(failure or closed))
                self.opened.exception()  # or asyncio logs it if nobody waits

    @asynccontextmanager
    async def _http(self) -> AsyncIterator[tuple[Any, Any]]:
        connection = self.transport.connection
        url = connection.location or connection.base_url
        async with (
            httpx2.AsyncClient(
                transport=_HttpTransport(self), trust_env=False
            ) as client,
            streamable_http_client(
                url, http_client=client, max_sse_event_size=MAX_BYTES
            ) as streams,
        ):
            yield streams

    @asynccontextmanager
    async def _pipes(self) -> AsyncIterator[tuple[Any, Any]]:
        # Not the SDK's: its lines take time that grows with the square of their length, and it can't say why it ended.
        self._process = process = await anyio.open_process(
            self.command, env=self._env, start_new_session=True
        )
        received, incoming = anyio.create_memory_object_stream[SessionMessage](0)
        outgoing, sent = anyio.create_memory_object_stream[SessionMessage](256)
        # A stray child may hold the pipes open, and anyio has no other way to close them.
        with (
            received,
            incoming,
            outgoing,
            sent,
            closing(cast("Any", process)._process._transport),  # noqa: SLF001
        ):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._read, process, received)
                tasks.start_soon(self._write, process, sent)
                tasks.start_soon(self._read_errors, process)
                try:
                    yield incoming, outgoing
                finally:
                    await cast("Any", process.stdin).aclose()
                    if not await _has_exited(process, _EXIT_SECONDS):
                        self.kill("SIGTERM")
                        await _has_exited(process, _TERM_SECONDS)
                    self.kill()
                    # Otherwise, closing its pipes takes its exit code.
                    await _has_exited(process, _TERM_SECONDS)
                    tasks.cancel_scope.cancel()

    async def _read(self, process: Process, received: Any) -> None:
        stdout = BufferedByteReceiveStream(cast("Any", process.stdout))
        try:
            while True:
                line = await stdout.receive_until(b"\n", MAX_BYTES)
                self.received += len(line)
                # A long one takes a while.
                if message := await asyncio.to_thread(self._message, line):
                    await received.send(message)
        except anyio.DelimiterNotFound:
            self._why = too_large(MAX_BYTES)
        except FuncsError as error:
            self._why = error
        except _CLOSED:  # the session is
            return
        except anyio.IncompleteRead:
            await _has_exited(process, _EXIT_SECONDS)
            await asyncio.sleep(_POLL)  # its last words arrive by another pipe

        received.close()
        self.ended.set()

    def _message(self, line: bytes) -> SessionMessage | None:
        try:
            return SessionMessage(
                types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            )
        except ValueError as error:
            # Whichever request it answers would wait forever.
            if line.lstrip().startswith(b"{"):
                raise ProtocolError(
                    f"A message of {self.name} can't be read: {redacted_line(_reason(error))}.",
                    TRY_AGAIN,
                ) from None

        self._noise = self._noise or line[: 10 * _LONGEST].strip()
        return None

    async def _write(self, process: Process, sent: Any) -> None:
        with suppress(OSError, *_CLOSED):
            async for item in sent:
                line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                await cast("Any", process.stdin).send(f"{line}\n".encode())

    async def _read_errors(self, process: Process) -> None:
        async for piece in cast("Any", process.stderr):
            self._stderr = (self._stderr + piece)[-10 * _LONGEST :]

    def _last_words(self, before: str) -> str:
        """Return the last line that the server wrote about an error, or wrote at all."""
        text = self._stderr.decode("utf-8", "replace")
        lines = [line for line in text.splitlines() if line.strip()]
        last = [line for line in lines if "error" in line.casefold()] or lines
        return "".join(before + redacted_line(line) for line in last[-1:])

    async def _ask_user(
        self,
        context: object,  # noqa: ARG002  # the SDK passes it by name
        params: types.ElicitRequestParams,
    ) -> types.ElicitResult:
        """Ask the user of the last run that can ask; decline if there is none."""
        runs = [run for run in self._runs if run.can_ask and run.question is None]
        if not runs:
            self._declined = f"{self.name} asked, and nobody could answer: {redacted_line(params.message)}"
            return types.ElicitResult(action="decline")

        question = Question(self.name, redacted_line(params.message, _LONGEST))
        if isinstance(params, types.ElicitRequestURLParams):
            question.link = params.url
        else:
            question.schema = params.requested_schema

        values = await runs[-1].ask(question)
        if values is None:
            return types.ElicitResult(action="decline")
        if question.link:
            return types.ElicitResult(action="accept")
        return types.ElicitResult(action="accept", content=values)

    async def _on_notification(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.functions = None
            self.transport.on_change()

    def _failure(
        self, error: Exception, ask: Ask, refusal: type[FuncsError]
    ) -> Failure:
        """Return why a request failed; `refusal` is what a server's own error is."""
        if ask.failure:
            return ask.failure
        text = redacted_line(_reason(error))
        code = getattr(error, "code", None)
        if code == types.CONNECTION_CLOSED and self._is_closed(text):
            return self._end()
        if (
            code == types.METHOD_NOT_FOUND
            and self.opened.done()
            and refusal is ProtocolError
        ):
            return Failure(
                ConfigError(
                    f"{self.name} is an MCP server without tools.",
                    "Connect to another one.",
                )
            )

        if code in {None, types.PARSE_ERROR} or refusal is ProtocolError:
            what = f"{self.name} did not answer as an MCP server: {text}"
            check = CHECK_ADDRESS
            if self.command:
                check = "Check its command."
            return Failure(ProtocolError(what, check))

        if code == types.INVALID_PARAMS:
            return Failure(ArgumentError(text))
        return Failure(
            refusal(f"The function failed: {text}", "Check its arguments first.")
        )

    def _is_closed(self, text: str) -> bool:
        # The SDK's words for the end of a reply or a connection; a tool's own error may have the same code.
        is_end = text == "Connection closed" and self.ended.is_set()
        return is_end or text.startswith("SSE stream ended")

    def _end(self) -> Failure:
        """Return why the connection has ended."""
        if self._why:
            return Failure(self._why)
        if self._process is None:
            return Failure(
                ServiceConnectionError(
                    f"{self.name} closed the connection before its reply ended.",
                    "Try again.",
                ),
                Proof.BROKEN,
            )

        code = self._process.returncode
        end = f"ended with exit code {code}"
        if code is None:
            end = "closed its output"
        what = f"The server of {self.name} {end}{self._last_words(': ') or '.'}"
        hint = (
            f"Run it in a terminal to see why: {redacted_line(' '.join(self.command))}"
        )
        if self._noise:
            hint = f"It wrote {quote(redacted_all(self._noise.decode('utf-8', 'replace')))} where a message belongs."
        # Sent again, it would end again.
        return Failure(ServiceConnectionError(what, hint), Proof.FAILED)


class _LenientDispatcher(JSONRPCDispatcher[Any]):
    """Leaves to us what the SDK would refuse as a whole: one wrong tool of a listing, an unusual result of a call."""

    def _resolve_pending(self, request_id: Any, outcome: Any) -> None:
        number = coerce_request_id(request_id)
        if number in range(1, self._next_id + 1):
            super()._resolve_pending(number, outcome)
            return

        # Whichever request it answers would wait forever.
        text = getattr(outcome, "message", "it answered a request that it didn't get.")
        for number in list(self._pending):
            super()._resolve_pending(
                number, types.ErrorData(code=types.PARSE_ERROR, message=text)
            )

    async def send_raw_request(
        self, method: str, *rest: Any, **options: Any
    ) -> JsonObject:
        raw = await super().send_raw_request(method, *rest, **options)
        if method == "tools/list" and isinstance(raw.get("tools"), list):
            _asking.get().result = raw
            return {
                **raw,
                "tools": [plain for tool in raw["tools"] if (plain := _plain(tool))],
            }

        if (
            method in {"tools/call", "tasks/result"}
            and raw.get("resultType", "complete") == "complete"
        ):
            _asking.get().result = raw
            return {"content": [], "resultType": "complete"}

        return raw


def _plain(tool: Any) -> JsonObject | None:
    """Return the parts of a tool that the SDK needs for calls."""
    schema = only(dict, tool).get("inputSchema")
    if not isinstance(schema, dict) or not isinstance(tool.get("name"), str):
        return None
    own = {"type": "object", "properties": only(dict, schema.get("properties"))}
    return {"name": tool["name"], "inputSchema": own}


@dataclass(eq=False)
class _HttpTransport(httpx2.AsyncBaseTransport):
    """Sends the SDK's requests with our own client: with the token, to one origin, within limits."""

    link: Link

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        ask = _asking.get()
        body = await request.aread()
        is_answered = request.method == "POST" and "id" in json_decoding.decode(body)
        limit = None
        if not is_answered and request.method != "GET":
            limit = _NOTIFY_SECONDS  # or it would hold up what is sent after it
        try:
            async with asyncio.timeout(limit):
                reply = await self._open(request, body)
        except FuncsError as error:  # of the token's source
            reply = Failure(error)
        except TimeoutError:
            reply = Failure(DeadlineError("It was not accepted in time."))

        if is_answered:
            ask.failure = None
        if not isinstance(reply, Failure):
            headers = [
                (name, text)
                for name, text in reply.response.headers.items()
                if name.lower() not in _FRAMING
            ]
            return httpx2.Response(
                reply.response.status_code,
                headers=headers,
                stream=_Pieces(self.link, ask, reply),
            )

        if not is_answered:
            return httpx2.Response(_UNANSWERED.get(request.method, 405))
        ask.failure = reply
        # As an error of this request: what is raised here ends all the others too.
        refusal = {"code": types.INVALID_REQUEST, "message": reply.error.what}
        return httpx2.Response(
            502, json={"jsonrpc": "2.0", "id": None, "error": refusal}
        )

    async def _open(self, request: httpx2.Request, body: bytes) -> Opened | Failure:
        link = self.link
        url = request.url
        if not same_origin(str(url), link.transport.connection.base_url):
            return Failure(
                ConfigError(
                    f"{link.name} redirects to {url.scheme}://{url.host}.",
                    CHECK_ADDRESS,
                )
            )

        headers = {**request.headers, "accept-encoding": "gzip"}
        credentials = link.transport.connection.credentials
        ours = Request(request.method, str(url), body or None, headers, credentials)
        reply = await link.transport.open(ours)
        if (
            isinstance(reply, Failure)
            and request.method == "POST"
            and "mcp-session-id" in headers
        ):
            # Of a server that has restarted, or forgotten the session: a 404, or a 400 that says so.
            error = reply.error
            if isinstance(error, ConfigError) or (
                isinstance(error, FunctionError) and "session" in error.what.lower()
            ):
                link.ended.set()
                ended = ServiceConnectionError(
                    f"{link.name} has ended the session.", "Try again."
                )
                return Failure(ended, Proof.NOT_SENT)

        return reply


@dataclass(eq=False)
class _Pieces(httpx2.AsyncByteStream):
    """The body of a reply, up to the limit of its request."""

    link: Link
    ask: Ask
    reply: Opened

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for piece in self.reply.pieces:
                size += len(piece)
                self.link.received += len(piece)
                if size > self.ask.max_bytes:
                    raise too_large(self.ask.max_bytes)
                yield piece
        except FuncsError as error:
            proof = Proof.FINAL
            if isinstance(error, ServiceConnectionError):
                proof = Proof.BROKEN
            self.ask.failure = Failure(error, proof)
            # Those that the SDK takes for the failure of one request.
            kind = self.reply.response.headers.get("content-type", "")
            if kind.startswith("text/event-stream"):
                raise httpx2.SSEError(error.what) from None
            raise httpx2.StreamError(error.what) from None

    async def aclose(self) -> None:
        await self.reply.stack.aclose()


@dataclass
class _Storage:
    """What renews a token, as the SDK's provider keeps it; the provider's secrets are masked."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None
    masked: list[Hidden] = field(default_factory=list)

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens
        self.masked += [Hidden(tokens.access_token), Hidden(tokens.refresh_token or "")]

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client: OAuthClientInformationFull) -> None:
        self.client = client
        self.masked.append(Hidden(client.client_secret or ""))


async def fetch_token(
    connection: Connection, kept: str, redirect: Redirect | None, client: JsonObject
) -> tuple[str, float, str]:
    """
    Return a token by the SDK's provider, when it ends, and what renews it; without a redirect, only renew it.

    `client` is the one that is registered, if the provider doesn't register it now.
    """
    url = connection.location or connection.base_url
    answer: dict[str, str] = {}
    storage = _Storage()

    async def open_page(page: str) -> None:
        if redirect is None:
            raise AuthenticationError("The login has ended.")
        if client:
            _introduce(provider)
        label = connection.token.label
        answer.update(await asyncio.to_thread(redirect.answer_to, page, label))

    async def answered() -> AuthorizationCodeResult:
        return AuthorizationCodeResult.model_validate(answer)

    about = OAuthClientMetadata.model_validate(
        {
            "client_name": "jupyter_funcs",
            "redirect_uris": [getattr(redirect, "uri", "http://127.0.0.1/callback")],
            # As for all programs on a user's machine.
            "token_endpoint_auth_method": "none",
        }
    )
    provider = OAuthClientProvider(url, about, storage, open_page, answered)
    if redirect is None:
        _restore(provider, storage, kept, client)
    elif client:
        storage.client = OAuthClientInformationFull.model_validate(client)
    await _log_in(connection, provider, url)
    if storage.tokens is None:
        raise AuthenticationError(
            f"{connection.name} asked for no login.", "Remove login from the profile."
        )

    ends = provider.context.token_expiry_time or math.inf
    return storage.tokens.access_token, ends, _kept(provider, storage)


async def _log_in(
    connection: Connection, provider: OAuthClientProvider, url: str
) -> None:
    """Ask the server for something that needs a token, so that the provider gets one."""
    proxy = environment_proxy(cast("Any", httpx2.URL(url)))
    try:
        async with httpx2.AsyncClient(
            auth=provider,
            trust_env=False,
            proxy=proxy and proxy.url,
            event_hooks={"request": [partial(_check_encrypted, connection)]},
        ) as client_of_provider:
            # Any request that needs a token will do; this one opens no session.
            await client_of_provider.post(url, json=_PING, headers=_PING_HEADERS)
    except FuncsError:
        raise
    except httpx2.HTTPError as error:
        raise ServiceConnectionError(
            f"The {connection.token.label} failed: {type(error).__name__}.",
            "Try again later.",
        ) from None
    except Exception as error:  # noqa: BLE001  # the SDK's, and those of odd replies
        hint = "Try again, or ask the server's operator."
        if isinstance(error, OAuthRegistrationError):
            hint = f"Register a client at its provider, and add client_id to [profiles.{connection.name}.auth.login]."
        raise AuthenticationError(
            f"The {connection.token.label} failed: {redacted_line(str(error)) or type(error).__name__}",
            hint,
        ) from None


async def _check_encrypted(connection: Connection, request: httpx2.Request) -> None:
    if is_plain(str(request.url)) and not connection.allow_http:
        raise unencrypted(str(request.url))


def _kept(provider: OAuthClientProvider, storage: _Storage) -> str:
    """Return what renews a token, for `_restore`."""
    parts = (storage.tokens, storage.client, provider.context.oauth_metadata)
    texts = [
        part.model_dump_json(exclude_none=True) if part else "null" for part in parts
    ]
    return f"[{','.join(texts)}]"


def _introduce(provider: OAuthClientProvider) -> None:
    """Let a registered client send its secret as its provider, whose description was read, takes it."""
    context = provider.context
    taken = getattr(
        context.oauth_metadata, "token_endpoint_auth_methods_supported", None
    )
    method = "client_secret_basic"
    if taken and method not in taken:
        method = "client_secret_post"
    cast("Any", context.client_info).token_endpoint_auth_method = method


def _restore(
    provider: OAuthClientProvider, storage: _Storage, kept: str, registered: JsonObject
) -> None:
    """Let a provider renew a token with what `_kept` returned."""
    tokens, client, metadata = json.loads(kept)
    storage.tokens = OAuthToken.model_validate(tokens)
    storage.client = OAuthClientInformationFull.model_validate(client | registered)
    provider.context.oauth_metadata = metadata and OAuthMetadata.model_validate(
        metadata
    )
    # Or it would be sent as it is, and rejected.
    provider.context.token_expiry_time = 1.0


async def _negotiate(session: ClientSession) -> None:
    try:
        await session.initialize()
    except MCPError as error:
        failure = _asking.get().failure
        if error.code not in _NO_HANDSHAKE or (
            failure and failure.error.status in {401, 403, 405}
        ):
            raise
        await session.discover()


async def _has_exited(process: Process, seconds: float) -> bool:
    """Wait for the process, whoever else holds its pipes."""
    for _ in range(round(seconds / _POLL)):
        if process.returncode is not None:
            return True
        await asyncio.sleep(_POLL)
    return False


def _reason(error: Exception) -> str:
    """Return the text of an error; of pydantic's, the first of what is wrong."""
    if not hasattr(error, "errors"):
        return str(error)
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"])) or "message"
    return f"{place}: {first['msg']}"


# A forked child keeps its parent's: freed there, they would leave the parent's event loop.
_links: set[Link] = set()


def _close_all() -> None:
    """End the servers that this process has started; not all of them end when their input does."""
    for link in list(_links):
        if link.command and link.pid == os.getpid():
            with suppress(Exception):
                background.wait(background.start(link.close()), 2)
            link.kill()


atexit.register(_close_all)

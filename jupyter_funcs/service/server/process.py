"""The process of the service: its sockets, log, uvicorn server with an orderly shutdown, and limits on connections."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import re
import signal
import socket
import ssl
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import h11
import uvicorn
from h11 import _abnf, _readers
from uvicorn.protocols.http.h11_impl import H11Protocol

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.core.text import plural, quoted
from jupyter_funcs.service.web.hosts import is_loopback, network
from jupyter_funcs.service.web.middleware import request_id

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import FrameType

    from jupyter_funcs.core.json_decoding import JsonObject
    from jupyter_funcs.service.config.settings import Server
    from jupyter_funcs.service.server.hosted import LiveService

log = logging.getLogger(__name__)

MOST_OF_ONE = 128
"""How many connections one address may have."""
# After the runs have ended; then uvicorn drops what is left, such as requests without their body.
_LAST_SECONDS = 2
# Behind a proxy longer than the proxy's, which could else send a request on a connection that is just closing.
_KEEP_ALIVE_SECONDS = {False: 5, True: 75}


_SIGNALS = {signal.SIGTERM, signal.SIGINT}
_REPLACE_SECONDS = 1


# h11 backtracks over white space before an invalid character, in quadratic time: 30 kB of it stop the service for
# seconds. Without backtracking, the pattern matches the same.
_readers.header_field_re = re.compile(
    _abnf.header_field.replace(f":{_abnf.OWS}", f":{_abnf.OWS}+").encode()
)
# In bytes. h11 limits the size of a head only if it arrives in several pieces.
_PIECE = 16 * 1024


class Listener(socket.socket):
    """Accepts up to `most_of_one` connections of an address; the rest is closed before any TLS handshake."""

    most_of_one: int | None = None
    _is_pausing = True
    _accepted: Sequence[tuple[socket.socket, str]] = ()

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection; raises `ConnectionAbortedError`, after which asyncio accepts the next one."""
        self._is_pausing = not self._is_pausing
        # Or one of several processes would take all connections that wait.
        if self._is_pausing:
            raise BlockingIOError
        connection, address = super().accept()
        origin = network(address[0])
        accepted = [entry for entry in self._accepted if entry[0].fileno() != -1]
        self._accepted = [*accepted, (connection, origin)]
        same = sum(by == origin for _, by in accepted)
        if self.most_of_one is not None and same >= self.most_of_one:
            connection.close()
            raise ConnectionAbortedError

        return connection, address


class Sibling(NamedTuple):
    """
    One of the processes of a service, which have numbers from 0; the last of the first ones announces the service.

    `parent` is a file that ends with the process that started it, which `is_ready` tells that it accepts requests.
    """

    number: int
    announces: bool
    parent: int
    is_ready: int


class Siblings:
    """The processes of a service: each is ready before the next one starts, and one that is killed gets a successor."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._alive, self._until_end = os.pipe()
        self._numbers: dict[int, int] = {}  # by process
        self._is_ending = False

    def split(self) -> Sibling:
        """Return in each new process; in this one, exit when all of them have ended."""
        for name in _SIGNALS:
            signal.signal(name, self._end)
        status = 0
        for number in range(self._count):
            if sibling := self._start(number, is_replacement=False):
                return sibling

        while self._numbers:
            process, ended = os.wait()
            number = self._numbers.pop(process)
            code = os.waitstatus_to_exitcode(ended)
            if self._is_ending:
                status = max(status, code)
                continue
            log.warning(
                "Process %s of the service has ended (%s); another one starts.",
                number,
                code,
            )
            time.sleep(_REPLACE_SECONDS)
            if not self._is_ending and (
                sibling := self._start(number, is_replacement=True)
            ):
                return sibling

        raise SystemExit(status)

    def _start(self, number: int, *, is_replacement: bool) -> Sibling | None:
        """Fork, and wait until the new process is ready; return only in that one what it knows."""
        if self._is_ending:
            return None
        started, is_ready = os.pipe()
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        process = os.fork()
        if process:
            self._numbers[process] = number
        else:
            os.setpgid(0, 0)  # Ctrl-C reaches the parent, which tells the others
            for name in _SIGNALS:
                signal.signal(name, signal.SIG_DFL)

        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        if not process:
            os.close(started)
            os.close(self._until_end)
            announces = number == self._count - 1 and not is_replacement
            return Sibling(number, announces, self._alive, is_ready)

        os.close(is_ready)
        if not os.read(started, 1) and not is_replacement:
            self._end()
        os.close(started)
        return None

    def _end(self, *_: object) -> None:
        self._is_ending = True
        for process in self._numbers:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)


def split(count: int) -> Sibling | None:
    """Go on in `count` processes, each of which gets what it knows of the others; in this one if that is 1."""
    if count == 1:
        return None
    if not hasattr(os, "fork"):
        raise SetupError("This system can't fork a process.\nUse --processes 1.")
    return Siblings(count).split()


def is_public(host: str) -> bool:
    """Return whether other machines can reach a host; raises `SetupError` if it can't be resolved."""
    return not all(is_loopback(address[4][0]) for address in _addresses(host, 0))


def bind(
    host: str, port: int, opened: contextlib.ExitStack, most_of_one: int | None = None
) -> list[socket.socket]:
    """Bind a `Listener`, which closes with `opened`, for each address of a host to one port, without listening yet."""
    listeners: list[socket.socket] = []
    unavailable: OSError | None = None
    for family, kind, protocol, _, address in _addresses(host, port):
        try:
            listener = opened.enter_context(Listener(family, kind, protocol))
            if os.name == "posix":  # elsewhere, two processes could listen on one port
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind((address[0], port, *address[2:]))
        except OSError as error:
            # A name may resolve to an address family that this machine doesn't support.
            if error.errno not in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}:
                raise SetupError(
                    f"Can't listen on port {port} of {host}: {error.strerror}.\n"
                    "Choose another with --host and --port (0: any free one)."
                ) from None
            unavailable = error
            continue
        listener.most_of_one = most_of_one
        port = listener.getsockname()[1]
        listeners.append(listener)

    if not listeners:
        raise SetupError(
            f"This machine has no address {quoted(host)}: {unavailable}.\nChoose another with --host."
        )

    return listeners


def check_certificate(certificate: Path, key: Path) -> None:
    """Raise `SetupError` for a certificate and key that can't be served."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # Without a password callback, an encrypted key would prompt at the terminal.
        context.load_cert_chain(certificate, key, password=lambda: "")
    except ssl.SSLError as error:
        raise SetupError(
            f"{certificate} and {key} are not a certificate and its key: {error.reason or 'not in PEM form'}.\n"
            "Both are PEM files, and the key has no password."
        ) from None
    except OSError as error:
        raise SetupError(
            f"The certificate {certificate} or its key {key} cannot be read: {error.strerror}."
        ) from None


def _addresses(host: str, port: int) -> list[Any]:
    try:
        addresses = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError):
        raise SetupError(
            f"{quoted(host)} is not an address or a host name that resolves.\n"
            "Choose another with --host; 127.0.0.1 is for this machine only."
        ) from None

    return list(dict.fromkeys(addresses))


def configure_logs(style: Literal["text", "json"]) -> None:
    """Log the service from INFO and everything else from WARNING."""
    handler = logging.StreamHandler()
    handler.setFormatter({"text": _Line, "json": _JSONLine}[style]())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.captureWarnings(capture=True)
    logging.getLogger("jupyter_funcs.service").setLevel(logging.INFO)


class _JSONLine(logging.Formatter):
    """Formats a record and its facts as JSON, in a third of the time that structlog takes: each request has a line."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(self.facts(record), default=repr)

    def facts(self, record: logging.LogRecord) -> JsonObject:
        facts = {
            "event": record.getMessage(),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        facts |= {
            name: value
            for name, value in vars(record).items()
            if name not in _ATTRIBUTES
        }
        if identifier := facts.pop("request_id", request_id.get()):
            facts["request_id"] = identifier
        facts["timestamp"] = (
            f"{datetime.fromtimestamp(record.created, UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
        )
        if record.exc_info:
            facts["exception"] = self.formatException(record.exc_info)
        return facts


class _Line(_JSONLine):
    """Formats a record for people, without what its message repeats, and the logger's name on the service's lines."""

    def format(self, record: logging.LogRecord) -> str:
        facts = self.facts(record)
        event, level, logger, time = (
            facts.pop(name) for name in ("event", "level", "logger", "timestamp")
        )
        trace = facts.pop("exception", "")
        if "milliseconds" in facts:  # its event has these
            facts = {
                name: value for name, value in facts.items() if name not in _OF_REQUESTS
            }

        words = [f"{name}={_shown(value)}" for name, value in facts.items()]
        if not logger.startswith("jupyter_funcs.service."):
            words.insert(0, f"[{logger}]")
        text = " ".join([f"{event:30}", *words]).rstrip()
        return f"{time} [{level:9}] {text}\n{trace}".removesuffix("\n")


_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
_OF_REQUESTS = {"method", "path", "status", "user_id"}
_UNSAFE = frozenset(" \t=\r\n\"'")


def _shown(value: Any) -> str:
    if isinstance(value, str) and _UNSAFE.isdisjoint(value):
        return value
    return repr(value)


class GracefulServer(uvicorn.Server):
    """Serves an application until a signal, then lets the runs end."""

    def __init__(
        self,
        live: LiveService,
        server: Server,
        ready: Callable[[], None],
        sibling: Sibling | None = None,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                live,
                http=HttpConnection,
                # uvloop doesn't ask the listeners to accept.
                loop="asyncio",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                # `Hosts` decides what to trust from a proxy.
                proxy_headers=False,
                ssl_certfile=server.tls_certificate,
                ssl_keyfile=server.tls_key,
                timeout_keep_alive=_KEEP_ALIVE_SECONDS[server.behind_proxy],
                timeout_graceful_shutdown=int(server.stop_seconds + _LAST_SECONDS),
            )
        )
        self._runs = live
        self._ready = ready
        self._sibling = sibling
        self._stop_seconds = server.stop_seconds
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        try:
            await super().startup(sockets)
        except OSError as error:  # another process took the port after it was bound
            raise SetupError(
                f"Can't listen on the port: {error.strerror}.\nChoose another with --port."
            ) from None

        self._runs.start()
        if self._sibling is None or self._sibling.announces:
            self._ready()
        if self._sibling:
            os.write(self._sibling.is_ready, b".")
            os.close(self._sibling.is_ready)
            self._loop.add_reader(
                self._sibling.parent, self._end_with_parent, self._sibling.parent
            )

    def _end_with_parent(self, parent: int) -> None:
        asyncio.get_running_loop().remove_reader(parent)
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more requests and wait for the runs, within limits."""
        count = self._runs.admitted
        waiting = "no runs in progress"
        if count:
            waiting = (
                f"waiting up to {self._stop_seconds:g} s for {plural(count, 'run')}"
            )

        log.info("Stopping: %s.", waiting)
        stop = asyncio.get_running_loop().call_later(self._stop_seconds, self._end_runs)
        kept = self._runs.release()  # runs that no connection waits for
        await super().shutdown(sockets)
        if kept:
            await asyncio.wait(kept)
        stop.cancel()
        log.info("Stopped.")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's
        """Stop; on a second signal, without waiting for runs."""
        # uvicorn's own would record the signal and raise it again at the end, as if the process had failed.
        if self.should_exit and self._loop:
            self._loop.call_soon_threadsafe(self._end_runs)
        self.should_exit = True

    def _end_runs(self) -> None:
        if self._runs.admitted:
            log.warning(
                "%s run(s) didn't end in time and were cancelled.", self._runs.admitted
            )
        self._runs.stop()


_REFUSAL_BODY = b'{"error":"The service has too many open connections. Try again in 1 s.","body":null}\n'
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
    b"Retry-After: 1\r\nConnection: close\r\n\r\n%b"
    % (len(_REFUSAL_BODY), _REFUSAL_BODY)
)


class HttpConnection(H11Protocol):
    """A connection with limits on the time for a request head and for an unread reply."""

    most = 512
    head_seconds = 10
    stall_seconds = 30

    _deadline: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Refuse a connection above the limit, and start the clock."""
        super().connection_made(transport)
        transport.max_size = _PIECE  # others get their turn after each
        if len(self.connections) > self.most:
            log.warning("Refused a connection above the limit of %s.", self.most)
            transport.write(_REFUSAL)
            transport.close()

        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._deadline, self._stall):
            if timer:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse data and check the clock."""
        for at in range(0, len(data), _PIECE):
            if not self.transport.is_closing():
                super().data_received(data[at : at + _PIECE])
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for the next request, and for the reply to be read."""
        super().on_response_complete()
        self._watch()
        if (unread := self.transport.get_write_buffer_size()) and not self._stall:
            self._stall = self.loop.call_later(
                self.stall_seconds, self._end_if_stalled, unread
            )

    def shutdown(self) -> None:
        """Close the connection when it is idle; the rest of a body, or of a TLS connection, has a second to come."""
        super().shutdown()
        if self.transport.is_closing() or self.cycle.more_body:
            self.loop.call_later(1, self.transport.abort)

    def _watch(self) -> None:
        """Run the clock while the caller owes a request head, or the rest of a body after the reply."""
        answered = self.cycle and self.cycle.response_complete
        # Between two requests nothing is owed; keep-alive limits that time.
        between = answered and not self.conn.trailing_data[0]
        state = self.conn.their_state
        owes = (state is h11.IDLE and not between) or (
            state is h11.SEND_BODY and answered
        )
        if owes and not self._deadline:
            self._deadline = self.loop.call_later(
                self.head_seconds, self.transport.close
            )
        elif self._deadline and not owes:
            self._deadline.cancel()
            self._deadline = None

    def _end_if_stalled(self, unread: int) -> None:
        left = self.transport.get_write_buffer_size()
        self._stall = None
        if left:
            self._stall = self.loop.call_later(
                self.stall_seconds, self._end_if_stalled, left
            )

        if left and left == unread:
            log.info(
                "A caller didn't read its reply for %s s; its connection was closed.",
                self.stall_seconds,
            )
            self.transport.abort()

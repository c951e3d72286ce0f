"""The uvicorn server of the service: an orderly shutdown, and limits on connections."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING, Any, ClassVar

import h11
import uvicorn
from h11 import _abnf, _readers
from uvicorn.protocols.http.h11_impl import H11Protocol

from jupyter_funcs.service.messages import SetupError

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from types import FrameType

    from jupyter_funcs.service.web.runs import Runs

log = logging.getLogger(__name__)

GRACE_SECONDS = 10
"""How long runs may take to end on shutdown."""
# Afterwards uvicorn drops what is left, such as requests without their body.
LAST_SECONDS = 2
KEEP_ALIVE_SECONDS = 5
# Longer than a proxy's, which could otherwise send a request on a connection that is just closing.
PROXY_KEEP_ALIVE_SECONDS = 75


# h11 backtracks over white space before an invalid character, in quadratic time: 30 kB of it stop the service for
# seconds. Without backtracking, the pattern matches the same.
_readers.header_field_re = re.compile(_abnf.header_field.replace(f":{_abnf.OWS}", f":{_abnf.OWS}+").encode())
# In bytes. h11 limits the size of a head only if it arrives in several pieces.
_PIECE = 16 * 1024


class GracefulServer(uvicorn.Server):
    """Serves an application until a signal, then lets the runs end."""

    def __init__(self, config: uvicorn.Config, runs: Runs, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._runs = runs
        self._ready = ready
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept connections."""
        self._loop = asyncio.get_running_loop()
        try:
            await super().startup(sockets)
        except OSError as error:  # another process took the port after it was bound
            raise SetupError(f"Can't listen on the port: {error.strerror}.\nChoose another with --port.") from None
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more requests and wait for the runs, within limits."""
        count = self._runs.admitted
        runs = "1 run" if count == 1 else f"{count} runs"
        log.info("Stopping: %s.", f"waiting up to {GRACE_SECONDS} s for {runs}" if count else "no runs in progress")
        stop = asyncio.get_running_loop().call_later(GRACE_SECONDS, self._end_runs)
        await super().shutdown(sockets)
        stop.cancel()
        log.info("Stopped.")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's
        """Stop; on a second signal, without waiting for runs."""
        # uvicorn's own would record the signal and raise it again at the end, as if the process had failed.
        if self.should_exit and self._loop is not None:
            self._loop.call_soon_threadsafe(self._end_runs)
        self.should_exit = True

    def _end_runs(self) -> None:
        if self._runs.admitted:
            log.warning("%s run(s) didn't end in time and were cancelled.", self._runs.admitted)
        self._runs.stop()


_REFUSAL_BODY = b'{"error":"The service has too many open connections. Try again in 1 s.","body":null}\n'
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
    b"Retry-After: 1\r\nConnection: close\r\n\r\n%b" % (len(_REFUSAL_BODY), _REFUSAL_BODY)
)


class HttpConnection(H11Protocol):
    """A connection with limits on the time for a request head and for an unread reply."""

    most: ClassVar[int] = 512
    head_seconds: ClassVar[float] = 10
    stall_seconds: ClassVar[float] = 30

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
        """Stop the clocks."""
        for timer in (self._deadline, self._stall):
            if timer is not None:
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
        if (unread := self.transport.get_write_buffer_size()) and self._stall is None:
            self._stall = self.loop.call_later(self.stall_seconds, self._end_if_stalled, unread)

    def shutdown(self) -> None:
        """Close the connection when it is idle; the rest of a body, or of a TLS connection, has a second to come."""
        super().shutdown()
        if self.transport.is_closing() or self.cycle.more_body:
            self.loop.call_later(1, self.transport.abort)

    def _watch(self) -> None:
        """Run the clock while the caller owes a request head, or the rest of a body after the reply."""
        answered = self.cycle is not None and self.cycle.response_complete
        # Between two requests nothing is owed; keep-alive limits that time.
        between = answered and not self.conn.trailing_data[0]
        owes = (self.conn.their_state is h11.IDLE and not between) or (
            self.conn.their_state is h11.SEND_BODY and answered
        )
        if owes and self._deadline is None:
            self._deadline = self.loop.call_later(self.head_seconds, self._end)
        elif not owes and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _end(self) -> None:
        log.debug("A request was incomplete after %s s; its connection was closed.", self.head_seconds)
        self.transport.close()

    def _end_if_stalled(self, unread: int) -> None:
        left = self.transport.get_write_buffer_size()
        self._stall = self.loop.call_later(self.stall_seconds, self._end_if_stalled, left) if left else None
        if left and left == unread:
            log.info("A caller didn't read its reply for %s s; its connection was closed.", self.stall_seconds)
            self.transport.abort()

"""
Connections that end when the other side does not get on: uvicorn waits for ever for a head, a body or a reader.

The time for a body that is still wanted is `bodies`' own.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

log = logging.getLogger(__name__)

_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 91\r\n"
    b"Retry-After: 1\r\nConnection: close\r\n\r\n"
    b'{"error":"The service has as many connections as it takes. Try again in 1 s.","body":null}\n'
)


class Connection(H11Protocol):
    """
    One connection.

    Attributes
    ----------
    most
        How many there may be at once; further ones are refused with 503.
    head_seconds
        How long a request's head may take, and the rest of a body that nobody waits for any more.
    stall_seconds
        How long a caller may take none of an answer that is ready.
    """

    most: ClassVar[int] = 512
    head_seconds: ClassVar[float] = 10
    stall_seconds: ClassVar[float] = 30

    _deadline: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            log.warning("There are %s connections, as many as may be: one more is refused.", self.most)
            transport.write(_REFUSAL)
            transport.close()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        for timer in (self._deadline, self._stall):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Go on to the next request."""
        super().on_response_complete()
        self._watch()
        if (unread := self.transport.get_write_buffer_size()) and self._stall is None:
            self._stall = self.loop.call_later(self.stall_seconds, self._end_if_stalled, unread)

    def _watch(self) -> None:
        """Run the clock from when the other side owes something until it has sent it, however slowly it comes."""
        answered = self.cycle is not None and self.cycle.response_complete
        # Between two requests nothing is owed: for how long, keep-alive says.
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
        log.debug("A request did not come to its end within %s s; its connection is closed.", self.head_seconds)
        self.transport.close()

    def _end_if_stalled(self, unread: int) -> None:
        left = self.transport.get_write_buffer_size()
        self._stall = self.loop.call_later(self.stall_seconds, self._end_if_stalled, left) if left else None
        if left and left == unread:
            log.info("A caller took none of its answer for %s s; its connection is closed.", self.stall_seconds)
            self.transport.abort()

"""
Lanes: several small pools of connections in place of a large one.

httpx looks through all of a pool's connections for each request that comes or goes, and asks the system about each that
is idle: at 64 in flight one pool gives a tenth of what the connections could. Lanes of two take a third less of the
processor than lanes of eight. And a pool in which a request was cancelled may have lost the place of it for good
(httpcore issue 1093), so that its lane is not used again.

And few requests are being sent at a time, one behind the other. Where all are, the loop serves each a step in turn, all
leave together, and so the service is idle first and all replies come at once: at 64 in flight that takes a seventh of
what the service could answer.

Who finds no place waits within the own deadline: the queue is of this process, and says nothing of the service.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import httpx

CONNECTIONS = 2  # of a lane
_LANES = 128
_SENDING = 2
# Seconds after which a request leaves its place to the next though it is not sent: a connection is made for it.
_LONGEST_SENDING = 0.02


@dataclass(slots=True, eq=False)
class _Lane:
    client: httpx.AsyncClient
    in_flight: int = 0
    is_left: bool = False  # no new requests come, and the last of the others closes it


class Lanes:
    """
    The clients of one service, opened as they are needed.

    Parameters
    ----------
    open_client
        Gives a new client of so many `CONNECTIONS`.
    """

    def __init__(self, open_client: Callable[[], httpx.AsyncClient]) -> None:
        self._open_client = open_client
        self._places = asyncio.Semaphore(CONNECTIONS * _LANES)
        self._sending = asyncio.Semaphore(_SENDING)
        self._lanes: list[_Lane] = []
        self._closing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def client(self) -> AsyncIterator[tuple[httpx.AsyncClient, Callable[[], None]]]:
        """
        Give a client for one request, as soon as there is a place for it among 256 and its turn to be sent has come.

        Yields
        ------
        tuple of httpx.AsyncClient and callable
            The client, and what is to be called when the request has been sent.
        """
        async with self._places:
            sent = await self._turn()
            try:
                lane = self._lane()
                lane.in_flight += 1
                try:
                    yield lane.client, sent
                except asyncio.CancelledError:
                    self._leave(lane)
                    raise
                finally:
                    lane.in_flight -= 1
                    if lane.is_left:
                        await self._end(lane)
            finally:
                sent()

    def _lane(self) -> _Lane:
        lane = next((lane for lane in self._lanes if lane.in_flight < CONNECTIONS), None)
        if lane is None:
            lane = _Lane(self._open_client())
            self._lanes.append(lane)
        return lane

    async def _turn(self) -> Callable[[], None]:
        """Wait for a turn to send; give what ends it."""
        await self._sending.acquire()
        timer: asyncio.TimerHandle | None = None

        def end() -> None:
            nonlocal timer
            if timer is not None:
                timer.cancel()
                timer = None
                self._sending.release()

        timer = asyncio.get_running_loop().call_later(_LONGEST_SENDING, end)
        return end

    async def close(self) -> None:
        """Close every connection; one with a request under way as soon as that has ended."""
        for lane in list(self._lanes):
            self._leave(lane)
            await self._end(lane)

    def _leave(self, lane: _Lane) -> None:
        lane.is_left = True
        if lane in self._lanes:
            self._lanes.remove(lane)

    async def _end(self, lane: _Lane) -> None:
        if lane.in_flight == 0:
            # As a task of its own: who is cancelled once more here leaves no socket behind.
            task = asyncio.ensure_future(_close(lane.client))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
            await asyncio.shield(task)


async def _close(client: httpx.AsyncClient) -> None:
    with suppress(Exception):  # of a connection that is broken: nobody has a use for it any more
        await client.aclose()

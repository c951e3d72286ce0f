"""
Lanes: several small pools of connections in place of a large one.

httpx looks through all of a pool's connections for each request that waits: at 64 in flight one pool gives a tenth of
what the connections could, lanes of eight give nearly all of it. And a pool in which a request was cancelled may have
lost the place of it for good (httpcore issue 1093), so that its lane is not used again.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import httpx

CONNECTIONS = 8  # of a lane
_LANES = 32


@dataclass(slots=True)
class _Lane:
    client: httpx.AsyncClient
    in_flight: int = 0
    is_spoilt: bool = False


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
        self._lanes: list[_Lane] = []

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        """Give a client for one request, as soon as there is a place for it among 256."""
        async with self._places:
            lane = next((lane for lane in self._lanes if lane.in_flight < CONNECTIONS), None)
            if lane is None:
                lane = _Lane(self._open_client())
                self._lanes.append(lane)
            lane.in_flight += 1
            try:
                yield lane.client
            except asyncio.CancelledError:
                lane.is_spoilt = True
                raise
            finally:
                lane.in_flight -= 1
                if lane.is_spoilt:
                    await self._leave(lane)

    async def close(self) -> None:
        """Close every connection."""
        lanes, self._lanes = self._lanes, []
        for lane in lanes:
            await lane.client.aclose()

    async def _leave(self, lane: _Lane) -> None:
        """Take a lane that is spoilt away from new requests, and close it once it has no others."""
        if lane in self._lanes:
            self._lanes.remove(lane)
        if lane.in_flight == 0:
            await lane.client.aclose()

"""The serving process on uvicorn: when it is ready, how it ends, and what it says of both."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import uvicorn

from .errors import SetupError

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from types import FrameType

    from .runs import Runs

log = logging.getLogger(__name__)

GRACE_SECONDS = 10
"""How long runs may take to end when the service is told to stop."""
# After which uvicorn drops what is left, such as a request whose body does not come.
LAST_SECONDS = 2
KEEP_ALIVE_SECONDS = 5
# Longer than proxies keep their own: else one sends a request down a connection that is just being closed.
PROXY_KEEP_ALIVE_SECONDS = 75


class Process(uvicorn.Server):
    """
    Serves an application until it is told to stop by a signal, and ends in good order.

    Parameters
    ----------
    config
        uvicorn's.
    runs
        The application's, which are given time to end.
    ready
        Called once connections are accepted.
    """

    def __init__(self, config: uvicorn.Config, runs: Runs, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._runs = runs
        self._ready = ready
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        self._loop = asyncio.get_running_loop()
        try:
            await super().startup(sockets)
        except OSError as error:  # another took the port between its binding and now
            raise SetupError(
                f"The port cannot be listened on: {error.strerror}.\nChoose another with --port."
            ) from None
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more requests, give runs their time, and end."""
        count = self._runs.admitted
        wait = (
            f"{count} run{'s get' if count > 1 else ' gets'} up to {GRACE_SECONDS} s"
            if count
            else "no run is under way"
        )
        log.info("Stopping: %s.", wait)
        stop = asyncio.get_running_loop().call_later(GRACE_SECONDS, self._end_runs)
        await super().shutdown(sockets)
        stop.cancel()
        log.info("Stopped.")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's
        """Stop; at the second signal without waiting for runs."""
        # Unlike uvicorn's own, it does not note the signal, which would then end the process as if it had failed.
        if self.should_exit and self._loop is not None:
            self._loop.call_soon_threadsafe(self._end_runs)
        self.should_exit = True

    def _end_runs(self) -> None:
        if self._runs.admitted:
            log.warning("%s run(s) did not end in time and are cancelled.", self._runs.admitted)
        self._runs.stop()

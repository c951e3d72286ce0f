"""
Running functions in threads: how many at once, how long, and for whom.

A run is admitted or refused at once. An admitted one waits for a thread, takes it, and is stopped when its time is
over, its caller has left or the service stops. What does not stop keeps its thread until it ends by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import math
import os
import threading
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from .answers import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping

    from .engine import Call
    from .limits import Limits

log = logging.getLogger(__name__)

_T = TypeVar("_T")

# A query ends well within it once it is interrupted; what still runs then does not listen.
_GRACE_SECONDS = 1
# Of two times, how much the newer one moves the mean.
_NEWER = 0.2
_LONGEST_RETRY_SECONDS = 30


class CallerLeftError(Exception):
    """Nobody waits for the answer any more."""


class Runs:
    """
    The runs of a service.

    Parameters
    ----------
    limits
        Their bounds.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._by_user: Counter[int] = Counter()
        self._mean_seconds = 0.0
        self._stops: set[asyncio.Future[None]] = set()
        self._is_stopping = False
        self._threads: ThreadPoolExecutor | None = None
        self._pid = 0
        self._busy_threads = 0

    @property
    def admitted(self) -> int:
        """How many runs are executed or wait."""
        return self._by_user.total()

    @property
    def busy_threads(self) -> int:
        """How many threads execute something, for whomever."""
        return self._busy_threads

    @contextlib.contextmanager
    def admit(self, user: int) -> Iterator[None]:
        """Take a place for a run of a user; raises `RequestError` (503, 429) when there is none."""
        with self._lock:
            self._refuse_above(user)
            self._by_user[user] += 1
        try:
            yield
        finally:
            with self._lock:
                self._by_user[user] -= 1
                self._by_user += Counter()  # drops who has none left

    async def perform(
        self, call: Call, work: Callable[[], _T], left: Coroutine[Any, Any, None], about: Mapping[str, Any]
    ) -> _T:
        """
        Do the work of an admitted run in a thread.

        Parameters
        ----------
        call
            What is cancelled when the run has to end.
        work
            The run; blocks.
        left
            Ends when the caller has left.
        about
            What the log says of the run.

        Raises
        ------
        RequestError
            503 when no thread became free in time or the service stops, 504 when the run took too long.
        CallerLeftError
            The caller has left.
        """
        loop = asyncio.get_running_loop()
        begun, stop = loop.create_future(), loop.create_future()
        gone = asyncio.ensure_future(left)
        running = self._executor().submit(contextvars.copy_context().run, self._in_thread, loop, begun, work)
        done = asyncio.wrap_future(running)
        self._stops.add(stop)
        try:
            for stage, late in ((begun, self._busy), (done, self._too_long)):
                ends = (stage, done, gone, stop)
                await asyncio.wait(ends, timeout=self._limits.run_seconds, return_when=asyncio.FIRST_COMPLETED)
                if done.done():
                    return done.result()
                if gone.done():
                    raise CallerLeftError
                if stop.done():
                    raise RequestError(503, "The service is stopping. Try again soon.", {"Retry-After": "5"})
                if not stage.done():
                    raise late()
            raise AssertionError("unreachable")
        finally:
            self._stops.discard(stop)
            gone.cancel()
            begun.cancel()
            if not done.done():
                call.cancel()
                if not running.cancel():
                    loop.call_later(_GRACE_SECONDS, _note_abandoned, running, about)
            done.cancel()

    def stop(self) -> None:
        """End every run, with an answer that says so, and admit no more; to be called on the event loop."""
        self._is_stopping = True
        for stop in tuple(self._stops):
            if not stop.done():
                stop.set_result(None)

    def _refuse_above(self, user: int) -> None:
        total, limits = self.admitted, self._limits
        if self._is_stopping or total >= limits.concurrent_runs:
            raise self._busy()
        if limits.runs_a_user is not None and self._by_user[user] >= limits.runs_a_user:
            raise RequestError(
                429,
                f"You have {limits.runs_a_user} runs under way, and no more are admitted. Wait until one has ended.",
                {"Retry-After": self._retry_after()},
            )

    def _busy(self) -> RequestError:
        after = self._retry_after()
        return RequestError(503, f"The service is busy. Try again in {after} s.", {"Retry-After": after})

    def _too_long(self) -> RequestError:
        limit = self._limits.run_seconds
        return RequestError(
            504,
            f"The run was stopped, for it took longer than {limit:g} seconds, the limit of this service. Ask for less.",
        )

    def _retry_after(self) -> str:
        """Give in how many seconds those before have probably ended."""
        seconds = self._mean_seconds * self.admitted / self._limits.threads
        return str(min(max(math.ceil(seconds), 1), _LONGEST_RETRY_SECONDS))

    def _executor(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._threads is None or self._pid != os.getpid():  # the threads stay behind in a fork's parent
                self._threads = ThreadPoolExecutor(self._limits.threads, thread_name_prefix="run a function")
                self._pid = os.getpid()
            return self._threads

    def _in_thread(self, loop: asyncio.AbstractEventLoop, begun: asyncio.Future[None], work: Callable[[], _T]) -> _T:
        began = time.monotonic()
        with self._lock:
            self._busy_threads += 1
        with contextlib.suppress(RuntimeError):  # the loop of an embedded service may have ended meanwhile
            loop.call_soon_threadsafe(_begin, begun)
        try:
            return work()
        finally:
            with self._lock:
                self._busy_threads -= 1
                self._mean_seconds += _NEWER * (time.monotonic() - began - self._mean_seconds)


def _begin(begun: asyncio.Future[None]) -> None:
    if not begun.done():
        begun.set_result(None)


def _note_abandoned(running: Future[Any], about: Mapping[str, Any]) -> None:
    if running.done():
        return
    log.warning("A stopped run goes on: it does not heed cancelling. Its thread is held until it ends.", extra=about)
    running.add_done_callback(lambda _: log.info("A stopped run has ended, and its thread is free.", extra=about))

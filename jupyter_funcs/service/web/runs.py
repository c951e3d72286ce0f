"""
Run functions in threads, with limits on their number and time.

A run is admitted or refused at once. An admitted run waits for a thread. It is cancelled when its time is up, its
caller has left or the service stops; if its function ignores that, the run keeps its place and its thread until the
function ends. No user can take all places or all threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import logging
import math
import os
import threading
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from starlette.requests import ClientDisconnect

from jupyter_funcs.service.web.requests import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from jupyter_funcs.core.json_decoding import Values
    from jupyter_funcs.service.engine.calls import Call

    # A user, and what a thread is to do for them.
    _Waiting = tuple[int, Future[Any], Callable[[], Any]]

log = logging.getLogger(__name__)

_T = TypeVar("_T")

# An interrupted query ends well within it; what still runs afterwards ignores cancellation.
_GRACE_SECONDS = 1
# The weight of the newest run in the moving average.
_NEWEST_WEIGHT = 0.2
_LONGEST_RETRY_SECONDS = 30


class Limits(NamedTuple):
    """The limits of a service; times in seconds, wrong logins per minute."""

    run_seconds: float = 300
    # Of each user; there are twice as many, so that no user can take them all. Two per processor, because queries wait
    # for data.
    threads: int = max(4, 2 * (os.cpu_count() or 1))
    concurrent_runs: int = 128
    # By default, three quarters of `concurrent_runs`.
    runs_a_user: int | None = None
    body_seconds: float = 30
    wrong_logins_per_name: int = 10
    wrong_logins_per_address: int = 30


class Runs:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._mean_seconds = 0.0
        self._stops: set[asyncio.Future[None]] = set()
        self._is_stopping = False
        share = max(1, limits.concurrent_runs * 3 // 4)
        self._runs_a_user = share if limits.runs_a_user is None else limits.runs_a_user
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._by_user: Counter[int] = Counter()
        self._busy: Counter[int] = Counter()
        self._waiting: list[_Waiting] = []
        self._threads = ThreadPoolExecutor(
            2 * self._limits.threads, thread_name_prefix="run a function"
        )

    @property
    def admitted(self) -> int:
        """The number of runs that execute or wait for a thread, including cancelled ones that have not ended."""
        return self._by_user.total()

    @property
    def busy_threads(self) -> int:
        """The number of busy threads, including those of cancelled runs."""
        return self._busy.total()

    @property
    def obstacle(self) -> str | None:
        """Why no run can start now, whoever asks for it."""
        if self._is_stopping:
            return "The service is stopping."
        if (
            self.admitted >= self._limits.concurrent_runs
            or self.busy_threads >= 2 * self._limits.threads
        ):
            return "As many runs are in progress as the service allows."
        return None

    async def perform(
        self,
        user: int,
        call: Call,
        work: Callable[[], _T],
        left: Callable[[], Coroutine[Any, Any, None]],
        about: Values,
    ) -> _T:
        """Run a user's work in a thread; `left` ends when the caller leaves. Raises `RequestError` above a limit."""
        running: Future[_T] = Future()
        loop = asyncio.get_running_loop()
        begun = loop.create_future()
        stop = loop.create_future()

        def fulfil() -> None:
            with contextlib.suppress(
                RuntimeError
            ):  # the loop of an embedded service may be closed by now
                loop.call_soon_threadsafe(begun.set_result, None)
            self._fulfil(running, work)

        self._admit(user, running, functools.partial(contextvars.copy_context().run, fulfil))
        done = asyncio.wrap_future(running)
        gone = asyncio.ensure_future(left())
        self._stops.add(stop)
        try:
            for stage, late in ((begun, self._refusal), (done, self._too_long)):
                ends = (stage, done, gone, stop)
                await asyncio.wait(
                    ends, timeout=self._limits.run_seconds, return_when=asyncio.FIRST_COMPLETED
                )
                if done.done():
                    return done.result()
                if gone.done():
                    raise ClientDisconnect
                if stop.done():
                    raise RequestError(
                        503, "The service is stopping. Try again soon.", {"Retry-After": "5"}
                    )
                if not stage.done():
                    raise late()
            raise AssertionError("unreachable")
        finally:
            self._stops.discard(stop)
            gone.cancel()
            if not done.done():
                call.cancel()
                if not running.cancel():
                    loop.call_later(_GRACE_SECONDS, _note_abandoned, running, about)
            done.cancel()

    def stop(self) -> None:
        """Cancel every run with a 503 and admit no more; called on the event loop."""
        self._is_stopping = True
        for stop in tuple(self._stops):
            if not stop.done():
                stop.set_result(None)

    def _admit(self, user: int, running: Future[Any], fulfil: Callable[[], None]) -> None:
        """Give a run a place, which it keeps until its work has ended, and start it when a thread is free."""
        with self._lock:
            if self._pid != os.getpid():  # a fork doesn't inherit threads
                self._reset()
            self._check_limits(user)
            self._by_user[user] += 1
            self._waiting.append((user, running, fulfil))
            self._start()
        running.add_done_callback(functools.partial(self._end, user))

    def _end(self, user: int, running: Future[Any]) -> None:
        with self._lock:
            self._by_user[user] -= 1
            self._busy[user] -= not running.cancelled()  # a cancelled one never had a thread
            self._by_user = +self._by_user  # drops users without runs
            self._busy = +self._busy
            self._start()

    def _start(self) -> None:
        """Start the waiting runs for which a thread is free, in order; called with the lock."""
        waiting = self._waiting
        self._waiting = []
        for user, running, fulfil in waiting:
            if running.cancelled():
                continue
            is_free = (
                self._busy[user] < self._limits.threads
                and self.busy_threads < 2 * self._limits.threads
            )
            if is_free and running.set_running_or_notify_cancel():
                self._busy[user] += 1
                self._threads.submit(fulfil)
            else:
                self._waiting.append((user, running, fulfil))

    def _check_limits(self, user: int) -> None:
        if self._is_stopping or self.admitted >= self._limits.concurrent_runs:
            raise self._refusal()
        if self._by_user[user] >= self._runs_a_user:
            raise RequestError(
                429,
                f"You have {self._runs_a_user} runs in progress, the limit per user. Wait until one has ended.",
                {"Retry-After": self._retry_after()},
            )

    def _refusal(self) -> RequestError:
        after = self._retry_after()
        return RequestError(
            503, f"The service is busy. Try again in {after} s.", {"Retry-After": after}
        )

    def _too_long(self) -> RequestError:
        limit = f"{self._limits.run_seconds:g} seconds, the limit of this service"
        return RequestError(504, f"The run was stopped after {limit}. Ask for less.")

    def _retry_after(self) -> str:
        """Estimate in how many seconds the admitted runs will have ended."""
        seconds = self._mean_seconds * self.admitted / self._limits.threads
        return str(min(max(math.ceil(seconds), 1), _LONGEST_RETRY_SECONDS))

    def _fulfil(self, running: Future[_T], work: Callable[[], _T]) -> None:
        began = time.monotonic()
        try:
            try:
                result = work()
            finally:
                with self._lock:
                    self._mean_seconds += _NEWEST_WEIGHT * (
                        time.monotonic() - began - self._mean_seconds
                    )
            running.set_result(result)
        except BaseException as error:  # noqa: BLE001 - raised where the run is awaited
            running.set_exception(error)


def _note_abandoned(running: Future[Any], about: Values) -> None:
    if running.done():
        return
    log.warning(
        "A cancelled run is still running: its function ignores cancellation. Its thread stays busy.",
        extra=about,
    )
    running.add_done_callback(
        lambda _: log.info("A cancelled run has ended; its thread is free again.", extra=about)
    )

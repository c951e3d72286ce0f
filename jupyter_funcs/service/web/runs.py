"""
Give runs their places, with limits on their number and time.

A run is admitted or refused at once. An admitted run waits for a place, as a coroutine: users get places in turn, and
each gets them in the order of their runs. It is cancelled when its time is up, its caller has left or the service
stops; if its function ignores that, the run keeps its place until the function ends. No user can take all places.
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
from collections import Counter, OrderedDict, deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.requests import ClientDisconnect

from jupyter_funcs.service.engine.calls import CallCancelledError
from jupyter_funcs.service.web.middleware import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from jupyter_funcs.core.json_decoding import Values
    from jupyter_funcs.service.engine.calls import Call

    # Ends when the caller leaves.
    Leaving = Callable[[], Coroutine[Any, Any, object]]

log = logging.getLogger(__name__)

# An interrupted query ends well within it; what still runs afterwards ignores cancellation.
_GRACE_SECONDS = 1
# The weight of the newest run in the moving average.
_NEWEST_WEIGHT = 0.2
_LONGEST_RETRY_SECONDS = 30


class Limits(NamedTuple):
    """The limits of a service; times in seconds, wrong logins per minute."""

    run_seconds: float = 300
    # Four per processor, because queries wait for data. Half of them, at most, are one user's.
    engine_threads: int = max(8, 4 * (os.cpu_count() or 1))
    # How many worker processes run at once; half of them, at most, for one user.
    workers: int = 256
    concurrent_runs: int = 256
    # By default, three quarters of `concurrent_runs`.
    runs_a_user: int | None = None
    body_seconds: float = 30
    wrong_logins_per_name: int = 10
    wrong_logins_per_address: int = 30


class Work(NamedTuple):
    """What a run does: `begin` does it in a thread, or if it only `waits`, returns a future of its result."""

    call: Call
    begin: Callable[[], Any]
    waits: bool = False


class Places:
    """Places for runs, of which users get one after another, in turn; each at most half of them."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._share = (number + 1) // 2
        self._lock = threading.RLock()
        self._busy: Counter[int] = Counter()
        # What each user waits for; the first user is the next.
        self._waiting: OrderedDict[int, deque[Callable[[], bool]]] = OrderedDict()

    @property
    def busy(self) -> int:
        """The number of places taken, including those of cancelled runs."""
        return self._busy.total()

    def ask(self, user: int, start: Callable[[], bool]) -> None:
        """Call `start` when the user has a place; it tells whether it needs the place."""
        with self._lock:
            self._waiting.setdefault(user, deque()).append(start)
            self._fill()

    def give_back(self, user: int) -> None:
        with self._lock:
            self._busy[user] -= 1
            self._busy = +self._busy  # drops users without runs
            self._fill()

    def _fill(self) -> None:
        while self.busy < self.number:
            user = next(
                (user for user in self._waiting if self._busy[user] < self._share), None
            )
            if user is None:
                return
            start = self._waiting[user].popleft()
            self._waiting.move_to_end(user)
            if not self._waiting[user]:
                del self._waiting[user]
            self._busy[user] += 1
            if not start():
                self._busy[user] -= 1


class Runs:
    """The runs of a service; `obstacle` says why none can start, however few are in progress."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._mean_seconds = 0.0
        self._stops: set[asyncio.Future[None]] = set()
        self.obstacle = ""
        self._runs_a_user = max(1, limits.concurrent_runs * 3 // 4)
        if limits.runs_a_user is not None:
            self._runs_a_user = limits.runs_a_user
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._by_user: Counter[int] = Counter()
        self._threads = ThreadPoolExecutor(
            self._limits.engine_threads, thread_name_prefix="run a function"
        )
        self._in_threads = Places(self._limits.engine_threads)
        self._in_workers = Places(self._limits.workers)

    @property
    def admitted(self) -> int:
        """The number of runs that execute or wait for a place, including cancelled ones that have not ended."""
        return self._by_user.total()

    @property
    def busy_threads(self) -> int:
        """The number of busy threads, including those of cancelled runs."""
        return self._in_threads.busy

    async def perform(
        self,
        user: int,
        work: Work,
        left: Leaving,
        about: Values,
    ) -> Any:
        """Do a user's work; `left` ends when the caller leaves. Raises `RequestError` above a limit."""
        loop = asyncio.get_running_loop()
        begun = loop.create_future()
        stop = loop.create_future()

        def has_begun() -> None:
            # An embedded service's loop may be closed.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(begun.set_result, None)

        running = self._admitted(user, work, has_begun)
        done = asyncio.wrap_future(running)
        gone = asyncio.ensure_future(left())
        self._stops.add(stop)
        seconds = self._limits.run_seconds
        try:
            for stage in (begun, done):
                ends = (stage, done, gone, stop)
                await asyncio.wait(
                    ends,
                    timeout=seconds,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if done.done():
                    return done.result()
                if gone.done():
                    raise ClientDisconnect
                if stop.done():
                    raise self._stopping(has_begun=begun.done())
                if not begun.done():
                    raise self._full(
                        f"The run waited for {seconds:g} seconds and did not begin.",
                        self._in_threads,
                    )

            raise RequestError(
                504,
                f"The run was stopped after {seconds:g} seconds, the limit of this service. Ask for less.",
            )
        finally:
            self._stops.discard(stop)
            gone.cancel()
            if not done.done():
                work.call.cancel()
                if not running.cancel():
                    loop.call_later(_GRACE_SECONDS, _note_abandoned, running, about)
            done.cancel()

    def stop(self) -> None:
        """Cancel every run, with a 503 if it has not begun, and admit no more; called on the event loop."""
        self.obstacle = "The service is stopping."
        for stop in tuple(self._stops):
            if not stop.done():
                stop.set_result(None)

    def _admitted(
        self, user: int, work: Work, has_begun: Callable[[], None]
    ) -> Future[Any]:
        """Admit a run, which counts until its work has ended, and begin it when it has a place."""
        if self._pid != os.getpid():  # a fork doesn't inherit threads
            self._reset()
        running: Future[Any] = Future()
        context = contextvars.copy_context()
        places = self._in_workers if work.waits else self._in_threads

        def start() -> bool:
            if not running.set_running_or_notify_cancel():
                return False
            has_begun()
            ending = functools.partial(self._ended, running, time.monotonic())
            begin = work.begin
            if work.waits:
                future = context.run(begin)
            else:
                future = self._threads.submit(context.run, begin)

            future.add_done_callback(ending)
            return True

        with self._lock:
            self._check_limits(user, places)
            self._by_user[user] += 1

        running.add_done_callback(functools.partial(self._leave, user, places))
        places.ask(user, start)
        return running

    def _leave(self, user: int, places: Places, running: Future[Any]) -> None:
        with self._lock:
            self._by_user[user] -= 1
            self._by_user = +self._by_user  # drops users without runs
        if not running.cancelled():  # a cancelled one never had a place
            places.give_back(user)

    def _ended(self, running: Future[Any], began: float, future: Future[Any]) -> None:
        seconds = time.monotonic() - began
        with self._lock:
            before = self._mean_seconds or seconds
            self._mean_seconds = before + _NEWEST_WEIGHT * (seconds - before)
        if future.cancelled():
            running.set_exception(CallCancelledError())
        elif error := future.exception():
            running.set_exception(error)
        else:
            running.set_result(future.result())

    def _check_limits(self, user: int, places: Places) -> None:
        if self.obstacle:
            raise self._stopping()
        if self.admitted >= self._limits.concurrent_runs:
            raise self._full(
                "As many runs are in progress as the service allows.", places
            )
        if self._by_user[user] >= self._runs_a_user:
            raise self._full(
                f"You have {self._runs_a_user} runs in progress, the limit per user. "
                "Wait until one has ended.",
                places,
            )

    def _full(self, text: str, places: Places) -> RequestError:
        # An estimate of when the admitted runs will have ended; they all take at least one run's time.
        seconds = self._mean_seconds * max(1, self.admitted / places.number)
        after = str(min(max(math.ceil(seconds), 1), _LONGEST_RETRY_SECONDS))
        return RequestError(
            429, f"{text} Try again in {after} s.", {"Retry-After": after}
        )

    def _stopping(self, *, has_begun: bool = False) -> RequestError:
        # A 503 says that it did not begin, so that callers send it again.
        if has_begun:
            return RequestError(
                500,
                f"{self.obstacle} The run had begun, and was stopped: check what it has done before you run it again.",
            )
        return RequestError(
            503, f"{self.obstacle} Try again soon.", {"Retry-After": "5"}
        )


def _note_abandoned(running: Future[Any], about: Values) -> None:
    if running.done():
        return
    log.warning(
        "A cancelled run is still running: its function ignores cancellation. Its place stays taken.",
        extra=about,
    )
    running.add_done_callback(
        lambda _: log.info(
            "A cancelled run has ended; its place is free again.", extra=about
        )
    )

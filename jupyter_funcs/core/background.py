"""
The background event loop, one per process in a daemon thread; and the progress of a run on it.

All requests and all widget updates of a run happen on the loop. This works in every version of ipykernel, whether the
kernel is idle or busy, and it survives an interrupt of the kernel.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from traceback import clear_frames
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_funcs.core.errors import (
    DeadlineError,
    FuncsError,
    no_descriptors,
    with_causes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

_THREAD = "jupyter_funcs"
# Seconds between two looks at a lock. On Windows an interrupt doesn't reach a thread that waits for a lock.
_POLL = 0.2 if sys.platform == "win32" else math.inf
_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
# The loop has weak references alone, and what a task waits for may have none but the task's.
_tasks: set[asyncio.Task[Any]] = set()


@dataclass(eq=False)
class Question:
    """
    What a source asks the user during a run: for the properties of an object, or to open a link.

    `answer` gets the values, or ``None`` if the user declines.
    """

    source: str
    text: str
    schema: dict[str, Any] = field(default_factory=dict)
    link: str = ""
    answer: Future[dict[str, Any] | None] = field(default_factory=Future)


@dataclass(eq=False)
class Progress:
    """
    The progress of one run: bytes received, requests sent, what the server says, and the raw reply if wanted.

    `pages` keeps the pages of a run that asks for all, so that it can go on later. `kept_id` is the id of a run that
    the service can keep, from its start if `is_kept`; it has said that it has it if `has_begun`, and that it is over if
    `has_ended`. `can_ask` is whether somebody looks for a `question`; meanwhile the time limit of the run doesn't
    count.
    """

    keep_reply: bool = False
    received: int = 0
    attempts: int = 0
    request_id: str = ""
    said: str = ""
    reply: bytes | None = None
    on_answer: Callable[[], object] | None = None
    pages: Any = None
    kept_id: str = ""
    is_kept: bool = False
    has_begun: bool = False
    has_ended: bool = False
    can_ask: bool = False
    question: Question | None = None
    limit: asyncio.Timeout | None = None

    async def ask(self, question: Question) -> dict[str, Any] | None:
        """Ask the user, on the loop; return the values, or ``None`` if they decline."""
        assert self.limit is not None
        left = (self.limit.when() or math.inf) - loop_time()
        self.limit.reschedule(None)
        self.question = question
        try:
            return await asyncio.wrap_future(question.answer)
        finally:
            self.question = None
            self.limit.reschedule(loop_time() + left)


@dataclass(eq=False)
class SweepProgress(Progress):
    """The progress of a sweep; `attempts` and `received` are totals over its runs."""

    total: int = 0
    done: int = 0
    failed: int = 0
    cached: int = 0
    oldest: float | None = None
    waiting: str = ""


def background_loop() -> asyncio.AbstractEventLoop:
    """Return the loop; it starts on first use, and again in a forked process."""
    global _loop  # noqa: PLW0603  # one loop per process is the purpose of this module
    with _lock:
        if _loop is None:
            try:
                _loop = asyncio.new_event_loop()
            except OSError as error:
                raise no_descriptors(error) from None
            threading.Thread(
                target=_keep_running, args=(_loop,), name=_THREAD, daemon=True
            ).start()
        return _loop


def _keep_running(loop: asyncio.AbstractEventLoop) -> None:
    # A user's code that exits on the loop, such as a callback or a transport, must not end it for all later runs.
    while True:
        with suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()


def _reset_after_fork() -> None:
    # The thread exists only in the parent, and the lock may have been held during the fork.
    global _lock, _loop  # noqa: PLW0603  # as above
    _lock = threading.Lock()
    _loop = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


class _Condition(threading.Condition):
    """
    The condition of a future of the loop, which an interrupt can't leave locked; `ends` are released when it ends.

    The methods that `with` calls are those of the lock, which aren't Python: no interrupt comes between them and the
    block. One that does leaves the lock of a future held for ever, for which the loop would wait.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.ends: list[threading.Lock] = []
        super().__init__(self.lock)

    __enter__ = property(attrgetter("lock.__enter__"))
    __exit__ = property(attrgetter("lock.__exit__"))

    def notify_all(self) -> None:
        """Tell those who wait that the future has ended, before any callback is called."""
        super().notify_all()
        while self.ends:
            self.ends.pop().release()


def start(
    coroutine: Coroutine[Any, Any, T], future: Future[T] | None = None
) -> Future[T]:
    """Run a coroutine on the loop; cancelling the returned future cancels it."""
    result = future or Future()
    result._condition = _Condition()  # noqa: SLF001  # there is no setting
    try:
        loop = background_loop()
    except FuncsError:
        coroutine.close()
        raise

    def begin() -> None:
        task = loop.create_task(coroutine)
        _tasks.add(task)
        task.add_done_callback(_tasks.discard)
        task.add_done_callback(partial(_copy_outcome, result))
        result.add_done_callback(
            lambda _: result.cancelled() and loop.call_soon_threadsafe(task.cancel)
        )

    loop.call_soon_threadsafe(begin)
    return result


def _copy_outcome(future: Future[T], task: asyncio.Task[T]) -> None:
    error = None
    if task.cancelled():
        future.cancel()
    else:
        error = task.exception()  # retrieved in any case, or asyncio logs it

    if not future.set_running_or_notify_cancel():
        return
    if error is None:
        future.set_result(task.result())
        return

    # The variables of the frames hold the reply, and debuggers show them.
    for cause in with_causes(error):
        clear_frames(cause.__traceback__)
    future.set_exception(error)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop and wait for it; an interrupt at any moment cancels it."""
    future: Future[T] = Future()
    try:
        return wait(start(coroutine, future))
    except KeyboardInterrupt:
        future.cancel()
        raise


def wait(
    future: Future[T], timeout: float | None = None, *, is_shared: bool = False
) -> T:
    """Wait for a future of the loop from another thread; an interrupt cancels it, unless others may wait too."""
    try:
        if not future.done() and timeout != 0:
            forbid_on_loop()
        until = math.inf
        if timeout is not None:
            until = time.monotonic() + timeout
        end = end_of(future)
        is_ended = False
        while not is_ended and (left := until - time.monotonic()) > 0:
            is_ended = end.acquire(timeout=min(_POLL, left, threading.TIMEOUT_MAX))
        # Asked of a future that hasn't ended, `result` would wait for its condition.
        if not future.done():
            raise TimeoutError
        return future.result(0)
    except KeyboardInterrupt:
        if not is_shared:
            future.cancel()
        raise


def end_of(future: Future[Any]) -> threading.Lock:
    """
    Return a lock that is released when a future of the loop ends.

    To wait for the condition itself would release and take its lock in Python, where an interrupt can leave it held.
    """
    end = threading.Lock()
    end.acquire()
    condition: Any = future._condition  # noqa: SLF001  # see `start`
    with condition:
        if future.done():
            end.release()
        else:
            condition.ends.append(end)

    return end


def in_thread(work: Callable[[], T], name: str) -> Future[T]:
    """Call `work` in a thread of its own, which can be abandoned and doesn't keep the process from ending."""
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()  # a cancel abandons the wait only

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001  # for whoever waits
            done.set_exception(error)

    threading.Thread(
        target=copy_context().run, args=(run,), name=f"{_THREAD} {name}", daemon=True
    ).start()
    return done


def forbid_on_loop() -> None:
    """Raise a RuntimeError on the loop's own thread, where waiting for the loop would never end."""
    if threading.current_thread().name == _THREAD:
        raise RuntimeError(
            "A callback of a run can't wait for a run. Await the Job instead."
        )


def loop_time() -> float:
    """Return the time of the running loop, in seconds."""
    return asyncio.get_running_loop().time()


async def with_deadline(
    seconds: float,
    work: Coroutine[Any, Any, T],
    what: str,
    progress: Progress | None = None,
    until: float | None = None,
) -> T:
    """Await `work` for at most `seconds`, or until the loop time `until`; raise a `DeadlineError` about `what`."""
    if until is None:
        until = loop_time() + seconds
    try:
        async with asyncio.timeout_at(until) as deadline:
            if progress:
                progress.limit = deadline
            return await work
    except TimeoutError:
        if not deadline.expired():
            raise

    if progress is None:
        raise DeadlineError(
            f"{what} did not finish within {seconds:g} s.", "Try again."
        )

    if not progress.attempts:
        raise DeadlineError(
            f"{what} was not sent within {seconds:g} s: no token was available, or no free connection.",
            "Check where the token comes from and your other runs, then try again.",
        )

    state = "may still be"
    if progress.has_begun:
        state = "is still"
    hint = "Allow more time with --timeout or with_options(timeout=…), or ask for less."
    if progress.kept_id:
        hint = f'Wait for it with jf.kept("{progress.kept_id}").result(), or allow more time.'
    error = DeadlineError(
        f"{what} did not finish within {seconds:g} s; it {state} running.", hint
    )
    error.attempts = progress.attempts
    raise error

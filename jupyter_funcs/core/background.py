"""
The one background event loop.

Every wait for the service and every widget write of a run happens on it, in a daemon thread: the one arrangement that
works in every ipykernel, with idle and busy cells, and that outlives an interrupt of the kernel.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
import threading
import time
from concurrent import futures
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")

_THREAD = "jupyter_funcs"
# Seconds of one look at a future: on Windows no interrupt reaches a thread that waits for a lock.
_LOOK = 0.2 if sys.platform == "win32" else math.inf
_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def background_loop() -> asyncio.AbstractEventLoop:
    """Give the loop; it is started on first use, and anew in a forked process."""
    global _loop  # noqa: PLW0603  # one loop a process is the point of this room
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name=_THREAD, daemon=True).start()
        return _loop


def start(coroutine: Coroutine[Any, Any, T], future: Future[T] | None = None) -> Future[T]:
    """
    Run a coroutine on the loop.

    Parameters
    ----------
    coroutine
        What is run.
    future
        What becomes of it. Who has made it can cancel it also when an interrupt comes before this function returns.

    Returns
    -------
    Future
        It waits, cancels and calls back from any thread.
    """
    told: Future[T] = Future() if future is None else future
    loop = background_loop()

    def begin() -> None:
        task = loop.create_task(coroutine)
        task.add_done_callback(partial(_tell, told))
        told.add_done_callback(lambda _: loop.call_soon_threadsafe(task.cancel) if told.cancelled() else None)

    loop.call_soon_threadsafe(begin)
    return told


def _tell(told: Future[T], task: asyncio.Task[T]) -> None:
    error = None if task.cancelled() else task.exception()  # looked at, or asyncio would print it
    if task.cancelled():
        told.cancel()
    if not told.set_running_or_notify_cancel():
        return
    if error is not None:
        told.set_exception(error)
    else:
        told.set_result(task.result())


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop and wait for it; an interrupt at any moment cancels it."""
    future: Future[T] = Future()
    try:
        return wait(start(coroutine, future))
    except KeyboardInterrupt:
        future.cancel()
        raise


def wait(future: Future[T], timeout: float | None = None) -> T:
    """
    Wait for a future of the loop, from any other thread; an interrupt cancels what is waited for.

    Parameters
    ----------
    future
        What `start` gave.
    timeout
        Seconds; ``None`` waits to the end.

    Raises
    ------
    RuntimeError
        Called on the loop itself, which would wait for itself for ever.
    TimeoutError
        The time has passed; what is waited for goes on.
    """
    if not future.done():
        refuse_here()
    until = math.inf if timeout is None else time.monotonic() + timeout
    try:
        while not future.done() and (left := until - time.monotonic()) > 0:
            futures.wait([future], min(_LOOK, left, threading.TIMEOUT_MAX))
        return future.result(0)
    except KeyboardInterrupt:
        future.cancel()
        raise


def refuse_here() -> None:
    """Raise a RuntimeError on the loop, which would wait for itself for ever."""
    if threading.current_thread().name == _THREAD:
        raise RuntimeError("A run's own callbacks must not wait for a run; await the Job there instead.")


def _forget() -> None:
    # The thread stays behind in the parent, and a lock may have been held as the fork came.
    global _lock, _loop  # as above
    _lock, _loop = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)

"""
The one background event loop.

Every wait for the service and every widget write of a run happens on it, in a daemon thread: the one arrangement that
works in every ipykernel, with idle and busy cells, and that outlives an interrupt of the kernel.
"""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from concurrent.futures import Future

T = TypeVar("T")

_THREAD = "jupyter_funcs"
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


def start(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine on the loop; give its future, which waits, cancels and calls back from any thread."""
    return asyncio.run_coroutine_threadsafe(coroutine, background_loop())


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
    try:
        return future.result(timeout)
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

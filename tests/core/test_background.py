"""The loop on which requests and workers run."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import weakref
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_funcs.core import background

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_coroutine_to_which_nobody_refers_runs_to_its_end() -> None:
    """Not even the loop does, if what it waits for refers to it alone."""
    waiting: list[weakref.ref[asyncio.Future[None]]] = []
    begun = threading.Event()
    ended = threading.Event()

    async def wait() -> None:
        answer = asyncio.get_running_loop().create_future()
        waiting.append(weakref.ref(answer))
        begun.set()
        await answer
        ended.set()

    background.start(wait())
    assert begun.wait(60)
    gc.collect()
    answer = waiting[0]()
    assert answer is not None
    background.background_loop().call_soon_threadsafe(answer.set_result, None)
    assert ended.wait(60)


class Interrupt:
    """A trace that raises a KeyboardInterrupt at one of the moments at which Python may, in a wait."""

    def __init__(self, at: int, *events: str) -> None:
        self.at = at
        self.events = events
        self.moment = 0
        self.where = ""

    def __call__(self, frame: Any, event: str, _: object) -> Any:
        # A lock that is not written in Python is taken and protected at once.
        if frame.f_code.co_name == "background_loop":
            return None
        if event in self.events:
            self.moment += 1
            if self.moment == self.at:
                self.where = f"{frame.f_code.co_name}, {event}"
                raise KeyboardInterrupt
        return self


def test_an_interrupt_at_any_moment_of_a_wait_leaves_the_loop_free() -> None:
    """It cancels the future, and leaves no lock that the loop would wait for forever."""
    before = sys.gettrace()
    background.background_loop()
    locked = []
    missed = []
    for at in range(1, 1000):
        future: Future[Any] = background.start(asyncio.sleep(60))
        # Between two lines Python looks for an interrupt only if one of them calls something.
        interrupt = Interrupt(at, "call", "return")
        sys.settrace(interrupt)
        try:
            background.wait(future, 0.001)
        except KeyboardInterrupt:
            if not future.cancelled():
                missed.append(interrupt.where)
        except TimeoutError:
            break
        finally:
            sys.settrace(before)

        loop = threading.Thread(target=repr, args=(future,), daemon=True)
        loop.start()
        loop.join(5)
        if loop.is_alive():
            locked.append(interrupt.where)

    assert 10 < at < 999
    assert locked == []
    # Before its first step and after its last one, nothing is waited for.
    assert {*missed} <= {"wait, call", "wait, return"}


@pytest.mark.parametrize(
    "use",
    [
        Future.done,
        Future.cancel,
        Future.cancelled,
        repr,
        lambda future: future.add_done_callback(print),
    ],
    ids=["done", "cancel", "cancelled", "repr", "add_done_callback"],
)
def test_an_interrupt_within_a_method_of_a_future_leaves_the_loop_free(
    use: Callable[[Future[Any]], object],
) -> None:
    before = sys.gettrace()
    for at in range(1, 200):
        future: Future[Any] = background.start(asyncio.sleep(60))
        sys.settrace(Interrupt(at, "call", "return"))
        try:
            use(future)
            break
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)

        other = threading.Thread(target=future.cancel, daemon=True)
        other.start()
        other.join(5)
        assert not other.is_alive()

    future.cancel()
    assert 2 < at < 199

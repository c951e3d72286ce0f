"""Linear time by a ratio, on a machine of any speed: four times as much takes less than eight times as long."""

from __future__ import annotations

import gc
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

START = 2**11
# Seconds of the processor, below which a time is not compared.
ENOUGH = 0.02
TIMES = 5


def assert_linear(
    use: Callable[[int], object],
    most: int,
    start: int = START,
    clock: Callable[[], float] = time.thread_time,
) -> None:
    """
    Assert that a function of a size takes linear time.

    The size is doubled from `start` until it takes 20 ms. If no size up to `most` does, there is nothing to compare,
    and that is fast. In quadratic time, four times the size takes 16 times as long. The clock is that of this thread,
    or `time.process_time` where other threads do the work.
    """
    size = min(start, most)
    while (took := least(use, size, clock, times=3)) < ENOUGH:
        size *= 2
        if size > most:
            return
    # Where the memory no longer comes from what was used before, the time jumps once: that is over at a larger size.
    for _ in range(3):
        longer = least(use, 4 * size, clock, enough=8 * took)
        if longer < 8 * took:
            return
        if longer > 12 * took:
            break
        size *= 2
        took = least(use, size, clock)
    raise AssertionError(
        f"{size} takes {took:.3f} s, and four times that {longer:.3f} s"
    )


def least(
    use: Callable[[int], object],
    size: int,
    clock: Callable[[], float],
    enough: float = ENOUGH,
    times: int = TIMES,
) -> float:
    """Return the least of several times, or the first one that is below `enough`."""
    taken: list[float] = []
    while len(taken) < times:
        taken.append(seconds(use, size, clock))
        if taken[-1] < enough:
            break
    return min(taken)


def seconds(
    use: Callable[[int], object],
    size: int,
    clock: Callable[[], float] = time.thread_time,
) -> float:
    """Return the time that a function of a size takes, without garbage collection."""
    gc.disable()
    try:
        began = clock()
        use(size)
        return clock() - began
    finally:
        gc.enable()


def steps(use: Callable[[], object]) -> int:
    """Return how many functions of Python are called, which is the same on every machine."""
    called = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal called
        called += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        use()
    finally:
        sys.setprofile(before)
    return called

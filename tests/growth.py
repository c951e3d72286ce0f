"""Linear time by a ratio: four times as much takes less than eight times as long, on a machine of any speed."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

START = 2**11
# Seconds of the processor, below which a time is not compared.
ENOUGH = 0.02
TIMES = 5


def assert_linear(use: Callable[[int], object], most: int, start: int = START) -> None:
    """
    Assert that a function of a size takes linear time.

    The size is doubled from `start` until it takes 20 ms. If no size up to `most` does, there is nothing to compare,
    and that is fast. In quadratic time, four times the size takes 16 times as long.
    """
    size = min(start, most)
    while seconds(use, size) < ENOUGH:
        size *= 2
        if size > most:
            return
    limit = 8 * min(seconds(use, size) for _ in range(TIMES))
    took = []
    while len(took) < TIMES:
        took.append(seconds(use, 4 * size))
        if took[-1] < limit:
            return
    raise AssertionError(f"{size} takes {limit / 8:.3f} s, and four times that {min(took):.3f} s")


def seconds(use: Callable[[int], object], size: int) -> float:
    """Return the time of this thread that a function of a size takes, without that of the garbage collector."""
    gc.disable()
    try:
        began = time.thread_time()
        use(size)
        return time.thread_time() - began
    finally:
        gc.enable()

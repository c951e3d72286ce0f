"""
How fast a sweep goes: all of it waits where the service refuses a run, and goes on slower afterwards.

Nothing here waits, sends or reads a clock: who asks says what time it is, as of `retries`.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Seconds. A service that asks for more at a time, or takes nothing for longer, is left alone for this call.
LONGEST = 300.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
# So many results at one pace show that one more may be under way.
_STEADY = 10
# Seconds after which a run that went first counts as taken: it need not have ended.
_TAKEN = 5.0


class Pace:
    """
    How many runs may be under way, and until when all wait.

    A refusal (429, 503, a service that is left alone) halves how many go at a time, and all wait: as long as the
    service asks, else 1 s, 2 s and so on up to 30 s. After a wait one run goes first, and the others follow when the
    service has taken it. Each 10 results let one more go at a time, up to as many as at first.

    Parameters
    ----------
    most
        How many runs go at a time at first, and at most.
    draw
        Gives a number from 0 to 1, by which a wait that the service has not named is up to half shorter.

    Attributes
    ----------
    until
        Nothing is sent before, in seconds on the steady clock that the callers use.
    """

    def __init__(self, most: int, draw: Callable[[], float] = random.random) -> None:
        self.until = float("-inf")
        self._most = self._allowed = most
        self._draw = draw
        self._refused_since: float | None = None
        self._pauses = 0  # in a row
        self._steady = 0

    def at_a_time(self, now: float) -> int:
        """Give how many runs may be under way now; 0 while all wait."""
        if now < self.until:
            return 0
        return 1 if self._is_probing(now) else self._allowed

    def changes_in(self, now: float) -> float | None:
        """Give the seconds after which more may be under way without any answer; ``None`` where nothing changes."""
        if now < self.until:
            return self.until - now
        return self.until + _TAKEN - now if self._is_probing(now) else None

    def _is_probing(self, now: float) -> bool:
        return self._refused_since is not None and now < self.until + _TAKEN

    def taken(self, sent: float) -> None:
        """Take that the service ran what was sent then, whatever came of it."""
        if sent < self.until:
            return  # it was under way as another was refused, and says nothing new
        self._refused_since = None
        self._pauses = 0
        self._steady += 1
        if self._steady >= _STEADY:
            self._steady = 0
            self._allowed = min(self._most, self._allowed + 1)

    def refused(self, now: float, *, sent: float, wished: float | None) -> bool:
        """
        Take that the service refused what was sent then; give whether it is worth to wait for it.

        Parameters
        ----------
        now, sent
            When the refusal came, and when the run was sent: those under way together slow the sweep once.
        wished
            Seconds that the service asks to wait.
        """
        if self._refused_since is None:
            self._refused_since = now
        if sent >= self.until:
            self._allowed = max(1, self._allowed // 2)
            self._steady = 0
            own = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(self._pauses, 10)) * (1 - self._draw() / 2)
            self._pauses += 1
            self.until = now + (own if wished is None else wished)
        elif wished is not None:
            self.until = max(self.until, now + wished)
        # Many short waits are as one long one.
        return self.until - self._refused_since <= LONGEST

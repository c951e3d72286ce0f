"""
How fast a sweep sends runs: it pauses when the service refuses one, and continues more slowly.

Nothing here waits, sends or reads a clock. Callers pass the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_funcs.connection.retries import DRAW

if TYPE_CHECKING:
    from collections.abc import Callable

# Seconds. The sweep gives up if the service asks for a longer pause, or refuses all runs for longer.
LONGEST = 300.0
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 30.0
# Results at one pace before one more run may be in flight.
_STEADY = 10
# Seconds after which the first run after a pause counts as accepted, even if it is still running.
_ACCEPTED = 5.0


class Pace:
    """
    How many runs may be in flight, and until when all wait.

    A refusal (429, 503, an open circuit breaker) halves the number of runs in flight, and all wait: as long as the
    service asks, or 1 s, 2 s and so on up to 30 s. After a pause one run goes first; the others follow once the
    service has accepted it. Every 10 results allow one more run in flight, up to the initial number.
    """

    def __init__(self, most: int, draw: Callable[[], float] = DRAW) -> None:
        self.until = float("-inf")
        self._most = self._allowed = most
        self._draw = draw
        self._refused_since: float | None = None
        self._pauses = 0  # in a row
        self._steady = 0

    def at_a_time(self, now: float) -> int:
        """Return how many runs may be in flight now; 0 during a pause."""
        if now < self.until:
            return 0
        return 1 if self._is_probing(now) else self._allowed

    def changes_in(self, now: float) -> float | None:
        """Return in how many seconds `at_a_time` changes by itself; ``None`` if it doesn't."""
        if now < self.until:
            return self.until - now
        if self._is_probing(now):
            return self.until + _ACCEPTED - now
        return None

    def _is_probing(self, now: float) -> bool:
        return self._refused_since is not None and now < self.until + _ACCEPTED

    def accepted(self, sent: float) -> None:
        """Record that the service accepted a run sent at this time, whatever its result."""
        if sent < self.until:
            return  # it was in flight when another was refused, and says nothing new
        self._refused_since = None
        self._pauses = 0
        self._steady += 1
        if self._steady >= _STEADY:
            self._steady = 0
            self._allowed = min(self._most, self._allowed + 1)

    def refused(self, now: float, *, sent: float, retry_after: float | None) -> bool:
        """Record that the service refused a run sent at this time; return whether to wait for it."""
        if self._refused_since is None:
            self._refused_since = now
        if sent >= self.until:
            self._allowed = max(1, self._allowed // 2)
            self._steady = 0
            pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(self._pauses, 10)) * (
                1 - self._draw() / 2
            )
            self._pauses += 1
            self.until = now + (pause if retry_after is None else retry_after)
        elif retry_after is not None:
            self.until = max(self.until, now + retry_after)

        # Many short pauses count as one long one.
        return self.until - self._refused_since <= LONGEST

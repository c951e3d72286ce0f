"""
Whether a request is sent again, and when: decided by what its failure proves (FAULTS.md, "Retrying").

Nothing here waits, sends or reads a clock: who asks says what time it is. All of it is used on the background loop
alone, so that nothing is locked.
"""

from __future__ import annotations

import math
import os
import random
import re
from collections import deque
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Draw = Callable[[], float]

MOST_RETRIES = 2
# Seconds. A request with less time than this left is not sent again.
LEAST_LEFT = 1.0
# The service's own wish is followed up to here; a person is told of a longer one instead.
_LONGEST_WISH = 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 8.0


class Proof(StrEnum):
    """What a failure proves of the request that met it."""

    NOT_SENT = "it did not reach the service"
    REFUSED = "the service did not begin with it"
    BROKEN = "the service may have begun with it"
    UNANSWERED = "the service may still be at it"
    FAILED = "the service failed at it"
    FINAL = "sent again it would meet the same"


class Purpose(StrEnum):
    """What a request is for."""

    LISTING = "listing"
    RUN = "run"
    CHANGE = "a run of a function that changes something"
    SWEEP = "a run of many, which all wait where one is refused"


# How often a request is sent again at most.
_RETRIES = {
    Proof.NOT_SENT: {Purpose.LISTING: 2, Purpose.RUN: 2, Purpose.CHANGE: 2, Purpose.SWEEP: 2},
    Proof.REFUSED: {Purpose.LISTING: 2, Purpose.RUN: 2, Purpose.CHANGE: 0, Purpose.SWEEP: 0},
    Proof.BROKEN: {Purpose.LISTING: 2, Purpose.RUN: 1, Purpose.CHANGE: 0, Purpose.SWEEP: 1},
    Proof.UNANSWERED: {Purpose.LISTING: 1, Purpose.RUN: 0, Purpose.CHANGE: 0, Purpose.SWEEP: 0},
    Proof.FAILED: {Purpose.LISTING: 1, Purpose.RUN: 0, Purpose.CHANGE: 0, Purpose.SWEEP: 0},
    Proof.FINAL: {Purpose.LISTING: 0, Purpose.RUN: 0, Purpose.CHANGE: 0, Purpose.SWEEP: 0},
}
# Statuses that prove something; of any other answer the same is to be expected again.
_PROOFS = {
    408: Proof.BROKEN,
    429: Proof.REFUSED,
    502: Proof.BROKEN,
    503: Proof.REFUSED,
    504: Proof.UNANSWERED,
    599: Proof.BROKEN,
}


def proof_of_status(status: int) -> Proof:
    """Give what a status other than 200 proves."""
    return _PROOFS.get(status, Proof.FAILED if status >= 500 else Proof.FINAL)


def wish(headers: Mapping[str, str], now: float) -> float | None:
    """
    Give the seconds that a ``Retry-After`` asks to wait, at least 0; ``None`` where it says nothing that makes sense.

    A date is compared with the service's own ``Date``, so that a wrong clock on either side does not matter.

    Parameters
    ----------
    headers
        The reply's, with names in any case, as httpx gives them.
    now
        Seconds since 1970, for a reply without a date.
    """
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return float(text)
    at = _time(text)
    return None if at is None else max(0.0, at - (_time(headers.get("date", "")) or now))


def _time(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def pause(  # noqa: PLR0913  # each is one thing that the decision hangs on
    proof: Proof,
    purpose: Purpose,
    *,
    done: int,
    left: float,
    wished: float | None = None,
    most: int = MOST_RETRIES,
    draw: Draw = random.random,
) -> float | None:
    """
    Give the seconds to wait before a request is sent again, ``None`` when it is not.

    Parameters
    ----------
    proof
        What the latest failure proves.
    purpose
        What the request is for.
    done
        How often it was sent again already.
    left
        Seconds to its deadline.
    wished
        Seconds that the service asked to wait.
    most
        The user's own bound.
    draw
        Gives a number from 0 to 1, for full jitter: those who failed together do not come back together.
    """
    if done >= min(most, _RETRIES[proof][purpose]):
        return None
    if wished is not None and wished > _LONGEST_WISH:
        return None
    seconds = draw() * min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**done) if wished is None else wished
    return seconds if left - seconds >= LEAST_LEFT else None


class Budget:
    """
    What retries of one origin may cost together: a service that is down gets ten of them from a kernel, and no more.

    Attributes
    ----------
    left
        From 50 down to 0: a retry costs 5, one after a time-out 10; each success gives 1 back.
    """

    most = 50

    def __init__(self) -> None:
        self.left = self.most

    def take(self, *, timed_out: bool) -> bool:
        """Pay for a retry; give whether there was enough."""
        cost = 10 if timed_out else 5
        if self.left < cost:
            return False
        self.left -= cost
        return True

    def succeeded(self) -> None:
        """Give some back for a success."""
        self.left = min(self.most, self.left + 1)


class Admission(NamedTuple):
    """
    Whether a request may go.

    Attributes
    ----------
    wait
        Seconds until one may; 0 when this one does.
    is_probe
        Whether it is the one that finds out how the service is.
    """

    wait: float
    is_probe: bool = False


class Breaker:
    """
    Leaves a service alone that fails: after 5 failures in a row within 60 s nothing is sent for 15 s or so.

    Then one request goes as a probe. Its answer lets all through again; its failure doubles the time, up to 120 s.
    Only that the service cannot be reached, does not answer in time or fails (5xx) counts; any answer is an answer.

    Parameters
    ----------
    draw
        Gives a number from 0 to 1, by which the time is 20 % shorter or longer.
    """

    row = 5
    within = 60.0
    first, longest = 15.0, 120.0

    def __init__(self, draw: Draw = random.random) -> None:
        self._draw = draw
        self._failures: deque[float] = deque(maxlen=self.row)
        self._opens_at = -math.inf  # when a probe may go; minus infinity while all may
        self._span = self.first
        self._probe: Admission | None = None

    @property
    def is_open(self) -> bool:
        """Whether requests are held back."""
        return self._opens_at > -math.inf

    def admit(self, now: float, *, force: bool = False) -> Admission:
        """
        Say whether a request may go now; afterwards one of `answered`, `failed` and `dropped` is called for it.

        Parameters
        ----------
        now
            Seconds on any steady clock.
        force
            Let it go in any case.
        """
        if force or not self.is_open:
            return Admission(0.0)
        if self._probe is not None:
            return Admission(max(1.0, self._opens_at - now))
        if now < self._opens_at:
            return Admission(self._opens_at - now)
        self._probe = Admission(0.0, is_probe=True)
        return self._probe

    def answered(self) -> None:
        """Take any answer of the service: it is there."""
        self._failures.clear()
        self._opens_at, self._span, self._probe = -math.inf, self.first, None

    def failed(self, now: float, admission: Admission) -> None:
        """Take the failure of a request, after its retries."""
        if admission is self._probe:
            self._probe = None
            self._span = min(self.longest, self._span * 2)
            self._open(now)
        elif not self.is_open:  # what was under way as it opened says nothing new
            self._failures.append(now)
            if len(self._failures) == self.row and now - self._failures[0] <= self.within:
                self._open(now)

    def dropped(self, admission: Admission) -> None:
        """Take that nobody waits for a request any more: it says nothing of the service."""
        if admission is self._probe:
            self._probe = None

    def _open(self, now: float) -> None:
        self._failures.clear()
        self._opens_at = now + self._span * (0.8 + 0.4 * self._draw())


class Health:
    """What is known of one origin, shared by all sessions of this process that go there."""

    def __init__(self) -> None:
        self.budget = Budget()
        self.breaker = Breaker()


_HEALTH: dict[str, Health] = {}


def health(origin: str) -> Health:
    """Give what is known of an origin."""
    return _HEALTH.setdefault(origin, Health())


if hasattr(os, "register_at_fork"):  # a probe that the parent waits for ends in the parent
    os.register_at_fork(after_in_child=_HEALTH.clear)

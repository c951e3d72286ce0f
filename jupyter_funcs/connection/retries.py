"""
Retries and the circuit breaker: whether a failed request is sent again, and when.

Nothing here waits, sends or reads a clock; the caller passes the time. It is only used on the background loop, so
nothing is locked.
"""

from __future__ import annotations

import math
import os
import random
import re
from collections import defaultdict, deque
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Draw = Callable[[], float]

MAX_RETRIES = 2
# All in seconds.
MIN_TIME_LEFT = 1.0  # a request with less time left is not sent again
# If the service asks for a longer pause, the user is told instead.
_MAX_RETRY_AFTER = 30.0
_FIRST_PAUSE = 0.5
_MAX_PAUSE = 8.0
# A comma of a list, and not the one before the day of a date.
_BETWEEN = re.compile(r",(?!\s*[0-9]{1,2}[ -][A-Za-z])")
# Background requests leave the state of the `random` module alone, which the user may have seeded.
DRAW = random.SystemRandom().random


class Proof(StrEnum):
    """What a failure proves about its request."""

    NOT_SENT = "it did not reach the service"
    REFUSED = "the service did not start it"
    BROKEN = "the service may have started it"
    UNANSWERED = "the service may still be running it"
    FAILED = "the service failed while running it"
    FINAL = "sent again, it would fail again"


class Purpose(StrEnum):
    """What a request is for."""

    LISTING = "listing"
    RUN = "run"
    SWEEP = "a run of a sweep, which paces its runs itself"
    CHANGE = "a run that changes data, alone or in a sweep"
    KEPT = "a run that is looked for before it is sent again"


# How often a request is sent again, at most; what isn't here is not.
_RETRIES = {
    Proof.NOT_SENT: dict.fromkeys(Purpose, 2),
    Proof.REFUSED: {Purpose.LISTING: 2, Purpose.RUN: 2, Purpose.KEPT: 2},
    Proof.BROKEN: {Purpose.LISTING: 2, Purpose.RUN: 1, Purpose.SWEEP: 1},
    Proof.UNANSWERED: {Purpose.LISTING: 1},
    Proof.FAILED: {Purpose.LISTING: 1},
    Proof.FINAL: {},
}
# Other statuses below 500 are final.
_PROOFS = {
    408: Proof.BROKEN,
    429: Proof.REFUSED,
    502: Proof.BROKEN,
    503: Proof.REFUSED,
    504: Proof.UNANSWERED,
    599: Proof.BROKEN,
}


def proof_of_status(status: int) -> Proof:
    """Return what a status other than 200 proves about its request."""
    return _PROOFS.get(status, Proof.FAILED if status >= 500 else Proof.FINAL)


def parse_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """
    Return the seconds of a ``Retry-After``, at least 0, and the most of a list; ``None`` if it is absent or invalid.

    A date is compared with the service's own ``Date``, so a wrong clock on either side doesn't matter.
    """
    start = _time(headers.get("date", "")) or now
    waits = []
    for item in _BETWEEN.split(headers.get("retry-after", "")):
        if re.fullmatch(r"(?a)\s*[0-9]{1,9}(\.[0-9]*)?\s*", item):
            waits.append(float(item))
        elif (at := _time(item)) is not None:
            waits.append(max(0.0, at - start))

    return max(waits, default=None)


def _time(text: str) -> float | None:
    try:
        parsed = parsedate_to_datetime(text)
        # Without a zone, as in asctime's form, or with -0000 it is in UTC.
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def pause(  # noqa: PLR0913  # the decision depends on all of them
    proof: Proof,
    purpose: Purpose,
    *,
    done: int,
    left: float,
    retry_after: float | None = None,
    most: int = MAX_RETRIES,
    draw: Draw = DRAW,
) -> float | None:
    """Return the seconds to wait before a request is sent again; ``None`` if it should not be."""
    if done >= min(most, _RETRIES[proof].get(purpose, 0)):
        return None
    if retry_after is None:
        retry_after = draw() * min(_MAX_PAUSE, _FIRST_PAUSE * 2**done)
    elif retry_after > _MAX_RETRY_AFTER:
        return None

    return retry_after if left - retry_after >= MIN_TIME_LEFT else None


def pause_after(number: int) -> float:
    """Return the seconds to wait after that many failures in a row of a request that changes nothing."""
    return min(_MAX_PAUSE, _FIRST_PAUSE * 1.5**number) * (0.5 + DRAW() / 2)


class Budget:
    """Limits the retries to one origin: if the service is down, a kernel sends at most ten."""

    left = most = 50

    def take(self, *, timed_out: bool) -> bool:
        """Pay for a retry; return whether there was enough left."""
        cost = 10 if timed_out else 5
        if self.left < cost:
            return False
        self.left -= cost
        return True

    def succeeded(self) -> None:
        """Earn a part of it back."""
        self.left = min(self.most, self.left + 1)


class Admission(NamedTuple):
    """Whether a request may be sent: the seconds to wait, and whether it is the probe."""

    wait: float
    is_probe: bool = False
    counts: bool = True


@dataclass
class Breaker:
    """
    Circuit breaker: after 5 failures in a row within 60 s, nothing is sent for about 15 s.

    Then one request is sent as a probe. If it is answered, requests are sent again; if not, the pause doubles, up to
    120 s. Only an unreachable service, a timeout and a 5xx are failures.
    """

    max_failures = 5
    window = 60.0
    first_pause = 15.0
    max_pause = 120.0

    draw: Draw = DRAW
    _failures: deque[float] = field(
        default_factory=lambda: deque(maxlen=Breaker.max_failures)
    )
    # When a probe may be sent; minus infinity while all requests may.
    _probe_at: float = -math.inf
    _pause: float = first_pause
    _probe: Admission | None = None

    @property
    def is_open(self) -> bool:
        """Whether requests are paused."""
        return self._probe_at > -math.inf

    def admit(
        self, now: float, *, force: bool = False, counts: bool = True
    ) -> Admission:
        """Return whether a request may be sent; the caller then reports `answered`, `failed` or `dropped`."""
        # Nobody waits for it yet: it isn't a probe, and its failure is ignored.
        if not counts:
            return Admission(float(self.is_open), counts=False)
        if force or not self.is_open:
            return Admission(0.0)
        if self._probe:
            return Admission(max(1.0, self._probe_at - now))
        if now < self._probe_at:
            return Admission(self._probe_at - now)
        self._probe = Admission(0.0, is_probe=True)
        return self._probe

    def answered(self) -> None:
        """Report any answer of the service."""
        self._failures.clear()
        self._probe_at = -math.inf
        self._pause = self.first_pause
        self._probe = None

    def failed(self, now: float, admission: Admission) -> None:
        """Report the failure of a request, after its retries."""
        if admission is self._probe:
            self._probe = None
            self._pause = min(self.max_pause, self._pause * 2)
            self._open(now)
        elif admission.counts and not self.is_open:
            # Requests that were in flight when it opened say nothing new.
            self._failures.append(now)
            if (
                len(self._failures) == self.max_failures
                and now - self._failures[0] <= self.window
            ):
                self._open(now)

    def dropped(self, admission: Admission) -> None:
        """Report that a request was given up, which says nothing about the service."""
        if admission is self._probe:
            self._probe = None

    def _open(self, now: float) -> None:
        self._failures.clear()
        self._probe_at = now + self._pause * (0.8 + 0.4 * self.draw())


@dataclass
class Health:
    """The state of one origin, shared by all sessions of this process that use it."""

    budget: Budget = field(default_factory=Budget)
    breaker: Breaker = field(default_factory=Breaker)


HEALTH: defaultdict[str, Health] = defaultdict(Health)
"""The state of each origin."""

if hasattr(os, "register_at_fork"):  # a probe in flight ends in the parent only
    os.register_at_fork(after_in_child=HEALTH.clear)

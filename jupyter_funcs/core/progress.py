"""Progress: how far a run has come, written while it goes on and read by who watches it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_KEPT = 64 * 2**20


@dataclass(slots=True, eq=False)
class Progress:
    """
    How far a run has come.

    Attributes
    ----------
    keeps
        Whether the reply's body is kept: it takes memory, and only a person who looks at it needs it.
    received
        Bytes of the reply that have come, inflated.
    attempts
        How many requests were sent.
    request_id
        What the service calls the last of them, where it says so; inert.
    reply
        The body as it came, without the token; at most 64 MiB are kept.
    on_answer
        Called when the reply is there, and not read yet: another run can be sent then.
    """

    keeps: bool = False
    received: int = 0
    attempts: int = 0
    request_id: str = ""
    reply: bytes | None = None
    on_answer: Callable[[], object] | None = None


@dataclass(slots=True, eq=False)
class SweepProgress(Progress):
    """
    How far a sweep has come; `attempts` and `received` are those of all its runs.

    Attributes
    ----------
    total
        How many runs it has.
    done
        How many gave a result, those from the cache among them.
    failed
        How many failed.
    cached
        How many came from the cache.
    oldest
        When the oldest of those was run, in seconds since 1970; ``None`` where none came from there.
    waiting
        Why nothing is sent at the moment, in words for a person; empty while it goes on.
    """

    total: int = 0
    done: int = 0
    failed: int = 0
    cached: int = 0
    oldest: float | None = None
    waiting: str = ""

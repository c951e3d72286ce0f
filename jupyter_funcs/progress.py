"""Progress: how far a run has come, written while it goes on and read by who watches it."""

from __future__ import annotations

from dataclasses import dataclass

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
    """

    keeps: bool = False
    received: int = 0
    attempts: int = 0
    request_id: str = ""
    reply: bytes | None = None

"""How much a service takes on at once, and for how long."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

BODY_LIMIT = 1024 * 1024
"""The largest request body that is read, in bytes."""


def default_threads() -> int:
    """Give how many functions run at once when nobody says: two a processor, for a query waits for its data."""
    return max(4, 2 * (os.cpu_count() or 1))


@dataclass(frozen=True, slots=True)
class Limits:
    """
    The bounds of one service.

    Attributes
    ----------
    run_seconds
        How long a run may take before it is stopped, and how long it may wait for a thread.
    threads
        How many runs are executed at once; further ones wait.
    concurrent_runs
        How many runs are executed or wait at once; further ones are refused with 503.
    runs_a_user
        The same of one user, refused with 429; by default a user may take all that the service has.
    body_seconds
        How long a request's body may take to arrive.
    wrong_logins_a_name, wrong_logins_an_address
        How many wrong passwords a minute are checked for one name, and from one address, before 429.
    """

    run_seconds: float = 300
    threads: int = field(default_factory=default_threads)
    concurrent_runs: int = 128
    runs_a_user: int | None = None
    body_seconds: float = 30
    wrong_logins_a_name: int = 10
    wrong_logins_an_address: int = 30

"""A deadline on the background loop, and what a person is told when it has come."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_funcs.errors import DeadlineError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from jupyter_funcs.progress import Progress

T = TypeVar("T")


def clock() -> float:
    """Give the running loop's time, in seconds."""
    return asyncio.get_running_loop().time()


async def within(
    seconds: float,
    work: Coroutine[Any, Any, T],
    what: str,
    progress: Progress | None = None,
    until: float | None = None,
) -> T:
    """
    Wait for work so long, or `until` on the loop's clock.

    Parameters
    ----------
    seconds
        How long, which a person is told too.
    work
        What is waited for, and cancelled then.
    what
        What it is, for a person.
    progress
        Says how often it was sent by then; without it nothing is said of that.
    until
        When the wait ends, where it has begun before.

    Raises
    ------
    DeadlineError
        It did not end in time.
    """
    try:
        async with asyncio.timeout_at(clock() + seconds if until is None else until) as deadline:
            return await work
    except TimeoutError:
        if not deadline.expired():
            raise
    if progress is None:
        raise DeadlineError(f"{what} did not end within {seconds:g} s.", "Try again.")
    if not progress.attempts:
        raise DeadlineError(
            f"{what} was not sent within {seconds:g} s: no token came, or there was no free connection.",
            "Look at the token's source and at your other runs, then try again.",
        )
    error = DeadlineError(
        f"{what} did not end within {seconds:g} s; it may still run on the service.",
        "Allow more time with --timeout or with_options(timeout=…), or ask for less.",
    )
    error.attempts = progress.attempts
    raise error

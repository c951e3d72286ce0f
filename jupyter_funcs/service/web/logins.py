"""Logging in with a password: in threads of its own, and not as often as somebody who guesses would like."""

from __future__ import annotations

import asyncio
import math
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import jwt

from .accounts import folded
from .answers import RequestError
from .auth import UnauthorizedError

if TYPE_CHECKING:
    from .auth import Auth
    from .limits import Limits

# Checking a password takes a processor and some dozens of megabytes: few at once, and few that wait for them.
_AT_ONCE = 2
_MOST_WAITING = 64


class Logins:
    """
    Checks passwords and gives tokens.

    Parameters
    ----------
    auth
        What checks and issues.
    limits
        How many wrong passwords a minute are checked.
    """

    def __init__(self, auth: Auth, limits: Limits) -> None:
        # It is needed by few services, and loads slowly.
        from limits import RateLimitItemPerMinute  # noqa: PLC0415 - see above
        from limits.storage import MemoryStorage  # noqa: PLC0415 - see above
        from limits.strategies import MovingWindowRateLimiter  # noqa: PLC0415 - see above

        self._auth = auth
        self._windows = MovingWindowRateLimiter(MemoryStorage())
        self._a_name = RateLimitItemPerMinute(limits.wrong_logins_a_name, namespace="name")
        self._an_address = RateLimitItemPerMinute(limits.wrong_logins_an_address, namespace="address")
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="check a password")
        self._waiting = 0

    async def login(self, name: str, password: str, address: str) -> dict[str, str]:
        """
        Give a token and when it expires.

        Parameters
        ----------
        name
            The email or the name of the user.
        address
            Where the request comes from.

        Raises
        ------
        UnauthorizedError
            There is no such user, or it is not the password.
        RequestError
            429 after too many wrong ones, 503 when too many wait to be checked.
        """
        if self._waiting >= _MOST_WAITING:
            raise RequestError(503, "Too many are logging in. Try again in 5 s.", {"Retry-After": "5"})
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            token = await loop.run_in_executor(self._threads, self._checked, name, password, address)
        finally:
            self._waiting -= 1
        ends = jwt.decode(token, options={"verify_signature": False})["exp"]  # it was made a moment ago, and here
        return {"token": token, "expires": datetime.fromtimestamp(ends, UTC).isoformat().replace("+00:00", "Z")}

    def _checked(self, name: str, password: str, address: str) -> str:
        # By what accounts are compared by: one name has thousands of spellings. What can be no name counts as one.
        wrong = ((self._a_name, folded(name) or ""), (self._an_address, address))
        for window, of_whom in wrong:
            if not self._windows.test(window, of_whom):
                reset = self._windows.get_window_stats(window, of_whom).reset_time
                after = str(max(1, math.ceil(reset - time.time())))
                raise RequestError(429, f"Too many wrong passwords. Try again in {after} s.", {"Retry-After": after})
        try:
            return self._auth.login(name, password)
        except UnauthorizedError:
            for window, of_whom in wrong:
                self._windows.hit(window, of_whom)
            raise

"""Logins by password, in their own threads and rate-limited against guessing."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from jupyter_funcs.core.text import utc_text
from jupyter_funcs.service.accounts.auth import Auth, UnauthorizedError
from jupyter_funcs.service.web.hosts import network
from jupyter_funcs.service.web.middleware import RequestError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from limits import RateLimitItem

    from jupyter_funcs.service.web.runs import Limits

    # Each with the key that is counted.
    _Windows = Sequence[tuple[RateLimitItem, tuple[str, ...]]]

# Verifying a password takes a processor and tens of megabytes.
_AT_ONCE = 2
_MOST_WAITING = 64
_MOST_WAITING_OF_ONE = 8
# While others guess at an account, each login takes this much longer. It is never refused because of them.
_DELAY_SECONDS = 2
# Filling them takes longer than a window lasts.
_MOST_WINDOWS = 10_000


class Logins:
    def __init__(self, auth: Auth, limits: Limits) -> None:
        # Imported here because few services need it and it loads slowly.
        from limits import RateLimitItemPerMinute
        from limits.storage import MemoryStorage
        from limits.strategies import MovingWindowRateLimiter

        self._auth = auth
        self._storage = MemoryStorage()
        self._windows = MovingWindowRateLimiter(self._storage)
        self._of_account = RateLimitItemPerMinute(
            limits.wrong_logins_per_name, namespace="account"
        )
        self._of_both = RateLimitItemPerMinute(
            limits.wrong_logins_per_name, namespace="account and network"
        )
        self._of_network = RateLimitItemPerMinute(
            limits.wrong_logins_per_address, namespace="network"
        )
        self._threads = ThreadPoolExecutor(
            _AT_ONCE, thread_name_prefix="check a password"
        )
        self._waiting: Counter[str] = Counter()

    async def login(self, name: str, password: str, address: str) -> dict[str, str]:
        """Return a token and its expiry; raises `UnauthorizedError`, or `RequestError` above a limit."""
        account = self._auth.account(name)
        origin = network(address)
        windows = (
            (self._of_both, (account, origin)),
            (self._of_network, (origin,)),
            (self._of_account, (account,)),
        )
        self._refuse(windows[:2])
        if (
            self._waiting.total() >= _MOST_WAITING
            or self._waiting[origin] >= _MOST_WAITING_OF_ONE
        ):
            raise RequestError(
                503, "Too many logins at once. Try again in 5 s.", {"Retry-After": "5"}
            )

        self._waiting[origin] += 1
        try:
            if not self._windows.test(self._of_account, account):
                await asyncio.sleep(_DELAY_SECONDS)
            loop = asyncio.get_running_loop()
            token = await loop.run_in_executor(
                self._threads, self._checked, name, password, windows
            )
        finally:
            self._waiting[origin] -= 1
            self._waiting = +self._waiting  # drops networks without logins

        # Just issued here.
        claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
        expires = utc_text(claims["exp"]).replace("+00:00", "Z")
        return {"token": token, "expires": expires}

    def _refuse(self, windows: _Windows) -> None:
        for window, key in windows:
            if not self._windows.test(window, *key):
                ends = self._windows.get_window_stats(window, *key).reset_time
                after = str(max(1, math.ceil(ends - time.time())))
                raise RequestError(
                    429,
                    f"Too many wrong passwords. Try again in {after} s.",
                    {"Retry-After": after},
                )

    def _checked(self, name: str, password: str, windows: _Windows) -> str:
        self._refuse(windows[:2])  # again, after others that were checked meanwhile
        try:
            return self._auth.login(name, password)
        except UnauthorizedError:
            if len(self._storage.events) > _MOST_WINDOWS:
                self._storage.reset()
            for window, key in windows:
                self._windows.hit(window, *key)
            raise

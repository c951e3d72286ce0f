"""The sessions of one shell's magic: the one in use, those of other profiles, and the one that Tab connects early."""

from __future__ import annotations

import asyncio
from collections import ChainMap
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core import background
from jupyter_funcs.core.errors import ArgumentError, ConfigError, FuncsError
from jupyter_funcs.core.text import quote
from jupyter_funcs.core.warn import collect_warnings
from jupyter_funcs.magic.masking import mask

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent import futures

    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_funcs.api import Session
    from jupyter_funcs.panel.panel import Panel

_TAB_SECONDS = 0.3  # how long the first Tab waits for the functions
_LONGEST_PROFILE = 32


class Sessions:
    """The sessions of the magic in one shell, and the panel opened last."""

    panel: Panel | None = None
    _session: Session | None = None
    # Connected by Tab, before the first use.
    _early: futures.Future[Session | None] | None = None

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        # The variables of the function that a line is in.
        self.local: dict[str, Any] = {}
        # The functions of each profile are listed once.
        self._by_profile: dict[str, Session] = {}

    @property
    def namespace(self) -> dict[str, Any]:
        """The user's variables."""
        variables: dict[str, Any] = self.shell.user_ns
        return variables

    @property
    def visible(self) -> Mapping[str, Any]:
        """The variables that a line sees."""
        return ChainMap(self.local, self.namespace)

    @property
    def current(self) -> Session:
        """The session in use; the first use connects to the configured service."""
        if self._session is None:
            from jupyter_funcs.api import connect

            self._session = self._connected_early() or connect()
        return self._session

    def connected(self, profile: str = "") -> Session | None:
        """Return the session in use, or a profile's, if there is one; connects to nothing."""
        if profile:
            return self._by_profile.get(profile)
        if self._session is None and self._early and self._early.done():
            return self._early.result()
        return self._session

    def for_tab(self, profile: str) -> Session | None:
        """Return what `connected` does; the first Tab connects in the background, and waits a moment."""
        if not profile and self._session is None and self._early is None:
            self._early = background.start(asyncio.to_thread(_connect_early))
            background.end_of(self._early).acquire(timeout=_TAB_SECONDS)
        return self.connected(profile)

    def _connected_early(self) -> Session | None:
        """Return the session that Tab has connected, unless the configuration has changed since."""
        from jupyter_funcs.connection.profiles import config_problem, resolve

        if self._early is None:
            return None
        session = background.wait(self._early, is_shared=True)
        self._early = None
        if session is None or config_problem():
            return None
        where = ("", "")
        if (configured := resolve()) is not None:
            where = (configured.where, configured.base_url)
        if (session.where, session.address) == where:
            return session
        return None

    def get(self, profile: str | None) -> Session:
        """Return the session of a profile, or the one in use."""
        if profile == "":
            raise ArgumentError("--profile needs the name of a profile.")
        if profile is None or (
            self._session is not None and self._session.where == profile
        ):
            return self.current

        if profile not in self._by_profile:
            self._by_profile[profile] = self._connect(profile)
        return self._by_profile[profile]

    def switch(self, *where: str) -> Session:
        """Use another service from now on; if it can't be reached, keep the one in use."""
        try:
            session = self._connect(*where)
            _ = session.catalog  # a wrong token or URL fails here, and the next line needs the functions anyway
        except FuncsError as error:
            error.hint = f"{error.hint} {self._next_service(is_same=not where)}".strip()
            raise

        self._session = session
        self._by_profile.pop(session.where, None)
        return session

    def _connect(self, *where: str) -> Session:
        from jupyter_funcs.api import connect

        try:
            return connect(*where).ready()
        except ConfigError:
            # A word as long as a token isn't the name of a profile.
            mask(
                self.shell,
                [
                    word
                    for word in where
                    if len(word) > _LONGEST_PROFILE and "://" not in word
                ],
            )
            raise

    def _next_service(self, *, is_same: bool) -> str:
        """Say which service the next line uses after a failed switch; nothing if it would fail the same way."""
        from jupyter_funcs.connection.profiles import resolve

        name = "the demo, with synthetic data"
        if self._session is not None:
            if self._session.address:
                name = quote(self._session.service)
        elif is_same:
            return ""
        else:
            try:
                if configured := resolve():
                    name = quote(configured.name)
            except FuncsError:
                return ""

        return f"Until then, %funcs uses {name}."


def _connect_early() -> Session | None:
    from jupyter_funcs.api import connect

    # The first use says what is wrong.
    with suppress(Exception), collect_warnings([]):
        session = connect()
        session.listed_early(_TAB_SECONDS)
        return session

    return None

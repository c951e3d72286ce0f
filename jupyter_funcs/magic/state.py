"""What the magic of one shell holds, its sessions and the panel opened last; and a line of it as read."""

from __future__ import annotations

import asyncio
from concurrent import futures
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core import background
from jupyter_funcs.core.errors import ArgumentError, ConfigError, FuncsError, NotFoundError
from jupyter_funcs.core.line import (
    NAME_AND_VALUE,
    Values,
    given_twice,
    name_and_arguments,
    read_body,
    read_word,
    unquoted,
)
from jupyter_funcs.core.text import quote
from jupyter_funcs.core.warn import collect_warnings
from jupyter_funcs.magic.masking import as_secrets, mask, refuse
from jupyter_funcs.magic.usage import OPTIONS, taken_by

if TYPE_CHECKING:
    import argparse

    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_funcs.api import RemoteFunction, Session
    from jupyter_funcs.panel.panel import Panel

_TAB_SECONDS = 0.3  # how long the first Tab waits for the functions
_LONGEST_PROFILE = 32
_MOST_WORDS = 12  # of a function's name
_DASHES = ("–", "—")  # what a phone or a word processor makes of two hyphens
LIST_FUNCTIONS = "%funcs find lists the functions."


@dataclass(eq=False, repr=False)
class MagicState:
    """The state of the magic in one shell."""

    shell: InteractiveShell
    panel: Panel | None = None  # opened last
    _session: Session | None = None
    _early: futures.Future[Session | None] | None = None  # connected by Tab, before the first use
    _by_profile: dict[str, Session] = field(default_factory=dict)  # so that each profile's functions are listed once

    @property
    def session(self) -> Session:
        """The session in use; the first use connects to the configured service."""
        if self._session is None:
            from jupyter_funcs.api import connect

            self._session = self._connected_early() or connect()
        return self._session

    @property
    def namespace(self) -> dict[str, Any]:
        """The user's variables."""
        variables: dict[str, Any] = self.shell.user_ns
        return variables

    def known(self, profile: str = "") -> Session | None:
        """Return the session in use, or a profile's, if there is one; connects to nothing."""
        early = self._early.result() if self._early is not None and self._early.done() else None
        return self._by_profile.get(profile) if profile else self._session or early

    def completed(self, profile: str) -> Session | None:
        """Return what `known` does, for Tab: the first one connects in the background, and waits a moment."""
        if not profile and self._session is None and self._early is None:
            self._early = background.start(asyncio.to_thread(_connect_early))
            futures.wait([self._early], _TAB_SECONDS)
        return self.known(profile)

    def _connected_early(self) -> Session | None:
        """Return the session that Tab has connected, unless the configuration has changed since."""
        from jupyter_funcs.connection.profiles import config_problem, resolve

        session = None if self._early is None else background.wait(self._early, is_shared=True)
        self._early = None
        now = None if session is None else resolve()
        configured = ("", "") if now is None else (now.where, now.base_url)
        is_same = session is not None and (session.where, session.address) == configured and not config_problem()
        return session if is_same else None

    def session_of(self, profile: str | None) -> Session:
        """Return the session of a line: its `--profile`'s, else the one in use."""
        if profile == "":
            raise ArgumentError("--profile needs the name of a profile.")
        if profile is None or (self._session is not None and self._session.where == profile):
            return self.session
        if profile not in self._by_profile:
            self._by_profile[profile] = self._connected(profile)
        return self._by_profile[profile]

    def switch(self, *where: str) -> Session:
        """Use another service from now on; if it can't be reached, keep the one in use."""
        try:
            session = self._connected(*where)
            _ = session.catalog  # a wrong token or URL fails here, and the next line needs the functions anyway
        except FuncsError as error:
            error.hint = f"{error.hint} {self._next_service(is_same=not where)}".strip()
            raise
        self._session = session
        self._by_profile.pop(session.where, None)
        return session

    def _connected(self, *where: str) -> Session:
        from jupyter_funcs.api import connect

        try:
            return connect(*where).ready()
        except ConfigError:
            # A word as long as a token isn't the name of a profile.
            mask(self.shell, [word for word in where if len(word) > _LONGEST_PROFILE and "://" not in word])
            raise

    def _next_service(self, *, is_same: bool) -> str:
        """Say which service the next line uses after a failed switch; nothing if it would fail the same way."""
        if self._session is not None:
            name = self._session.service if self._session.address else ""
        elif is_same:
            return ""
        else:
            from jupyter_funcs.connection.profiles import resolve

            try:
                configured = resolve()
            except FuncsError:
                return ""
            name = "" if configured is None else configured.name
        return f"Until then, %funcs uses {quote(name) if name else 'the demo, with synthetic data'}."


@dataclass(frozen=True)
class Line:
    """A line as read: its subcommand, the words after it, its options, and the cell's body if there is one."""

    state: MagicState
    subcommand: str
    words: list[str]
    options: argparse.Namespace
    cell: str | None

    @property
    def session(self) -> Session:
        """The session that the line uses."""
        return self.state.session_of(self.options.profile)

    @property
    def text(self) -> str:
        """The words after the subcommand, without their quotes."""
        return " ".join(map(unquoted, self.words))

    def read(self, word: str) -> Any:
        """Return the value of a word, which may name a variable."""
        return read_word(word, self.state.namespace)

    def function_and_values(self) -> tuple[RemoteFunction, Values]:
        """Return the function that the line names, and its arguments from the line and the cell's body."""
        name, arguments = name_and_arguments(self.words)
        self._check_words(name, arguments)
        typed = f"{' '.join(self.words)}\n{self.cell}"
        values = self._values(arguments)
        try:
            function = self.session[name]
        except NotFoundError:
            refuse(self.state.shell, as_secrets(values, typed))
            self._refuse_unnamed([*map(unquoted, self.words[: -len(arguments) or None])])
            raise
        # The function may have a parameter that is called like a token or an option.
        unknown = function.unknown(values)
        refuse(self.state.shell, as_secrets({name: values[name] for name in unknown}, typed))
        for argument in unknown:
            option = f"--{argument.replace('_', '-')}"
            if option in OPTIONS and self.subcommand in taken_by(option):
                raise function.option_error(argument, f"{option} {OPTIONS[option].value}".rstrip())
        if unknown:
            return function, values
        from jupyter_funcs.catalog.form import with_json

        return function, with_json(function.form(), values)

    def _values(self, arguments: list[str]) -> Values:
        values = {} if self.cell is None else read_body(self.cell, self.state.namespace)
        argument = "name"
        for word in arguments:
            match = NAME_AND_VALUE.fullmatch(word)
            if match is None:
                hint = f'Write {argument}="…", with quotes around a value that contains spaces.'
                hint = "A comment needs a space after its #." if word.startswith("#") else hint
                raise ArgumentError(f"{quote(word)} isn't an argument.", hint)
            if (argument := unquoted(match["name"])) in values:
                raise given_twice(argument)
            values[argument] = self.read(match["value"])
        return values

    def _refuse_unnamed(self, words: list[str]) -> None:
        """Raise if the words begin with the name of a function: the others are values without a name."""
        for end in range(min(len(words) - 1, _MOST_WORDS), 0, -1):
            name = " ".join(words[:end])
            if name in self.session:
                function = self.session[name]
                hint = f'Write {function.fields[0].name}="…".' if function.fields else "It takes no parameters."
                raise ArgumentError(f"{function.name} takes its arguments by name, not {quote(words[end])}.", hint)

    def _check_words(self, name: str, arguments: list[str]) -> None:
        """Refuse the usual mistakes of users who don't know the syntax yet."""
        words = self.words
        if any(word.startswith("=") for word in words) or any(word.endswith("=") for word in words[:-1]):
            raise ArgumentError("Write arguments without spaces around the =.", "For example: name=value.")
        if dash := next((word for word in words if word.startswith(_DASHES)), None):
            raise ArgumentError(f"{quote(dash)} isn't an argument.", "Options begin with two hyphens: --timeout.")
        if any(word.endswith(",") for word in words[len(words) - len(arguments) - 1 : -1]):
            hint = "A list goes in brackets: [a, b]. Put quotes around a value that ends with a comma."
            raise ArgumentError("Arguments are separated by spaces, not commas.", hint)
        if not name:
            hint = LIST_FUNCTIONS
            if any("(" in word.partition("=")[0] for word in arguments[:1]):
                hint = f"Leave out the parentheses: %funcs {self.subcommand} NAME name=value."
            raise ArgumentError(f"%funcs {self.subcommand} needs a function's name.", hint)

    def variable_hint(self, error: FuncsError) -> str:
        """Return how to pass a variable, if a refused value is the name of one: ``sym`` or ``{sym}``, not ``$sym``."""
        from jupyter_funcs.client.notebook import usable

        for word in self.words:
            name, _, value = word.partition("=")
            variable = value.strip("{}")
            if variable in error.what and usable(variable, self.state.namespace.get(variable)):
                return f"For your variable, write {name}=${variable}."
        return ""


def _connect_early() -> Session | None:
    from jupyter_funcs.api import connect

    with suppress(Exception), collect_warnings([]):  # the first use connects again, and says what is wrong
        session = connect()
        session.listed_early(_TAB_SECONDS)
        return session
    return None

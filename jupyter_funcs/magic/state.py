"""What the magic of one shell holds: the session in use, the sessions of `--profile` and the panel opened last."""

from __future__ import annotations

import asyncio
from concurrent import futures
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core import background
from jupyter_funcs.core.errors import ArgumentError, ConfigError, FuncsError, NotFoundError
from jupyter_funcs.core.line import (
    NAME_AND_VALUE,
    ROTATE,
    given_twice,
    name_and_arguments,
    read_body,
    read_word,
    unquoted,
)
from jupyter_funcs.core.text import quote
from jupyter_funcs.core.warn import collect_warnings
from jupyter_funcs.magic.masking import as_secrets, mask
from jupyter_funcs.magic.usage import OPTIONS, Line, taken_by

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_funcs.api import RemoteFunction, Session
    from jupyter_funcs.panel.panel import Panel

_TAB_SECONDS = 0.3  # how long the first Tab waits for the functions
_LONGEST_PROFILE = 32
_MOST_WORDS = 12  # of a function's name
_DASHES = ("–", "—")  # what a phone or a word processor makes of two hyphens
_REFUSED = (
    "This line contains a token, or what looks like one; %funcs takes none. It is masked in this kernel's history only."
)
LIST_FUNCTIONS = "%funcs find lists the functions."


class MagicState:
    """The state of the magic in one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.panel: Panel | None = None  # opened last
        self._session: Session | None = None
        self._early: futures.Future[Session | None] | None = None  # connected by Tab, before the first use
        self._by_profile: dict[str, Session] = {}  # kept, so that each profile's functions are listed once

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

    def session_for(self, line: Line) -> Session:
        """Return the session that a line uses: its `--profile`'s, else the one in use."""
        name = line.options.profile
        if name == "":
            raise ArgumentError("--profile needs the name of a profile.")
        if name is None or (self._session is not None and self._session.where == name):
            return self.session
        if name not in self._by_profile:
            self._by_profile[name] = self._connected(name)
        return self._by_profile[name]

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

    def refuse(self, secrets: list[str]) -> None:
        """Mask tokens that were typed, and raise if there are any."""
        if secrets:
            mask(self.shell, secrets)
            raise ConfigError(_REFUSED, ROTATE)

    def function_and_values(self, line: Line) -> tuple[RemoteFunction, dict[str, Any]]:
        """Return the function that a line names, and its arguments from the line and the cell's body."""
        name, arguments = name_and_arguments(line.words)
        _check_words(line, name, arguments)
        typed = f"{' '.join(line.words)}\n{line.cell}"
        values = {} if line.cell is None else read_body(line.cell, self.namespace)
        argument = "name"
        for word in arguments:
            match = NAME_AND_VALUE.fullmatch(word)
            if match is None:
                hint = f'Write {argument}="…", with quotes around a value that contains spaces.'
                hint = "A comment needs a space after its #." if word.startswith("#") else hint
                raise ArgumentError(f"{quote(word)} isn't an argument.", hint)
            if (argument := unquoted(match["name"])) in values:
                raise given_twice(argument)
            values[argument] = read_word(match["value"], self.namespace)
        try:
            function = self.session_for(line)[name]
        except NotFoundError:
            self.refuse(as_secrets(values, typed))
            self._refuse_unnamed(self.session_for(line), [*map(unquoted, line.words[: -len(arguments) or None])])
            raise
        # The function may have a parameter that is called like a token or an option.
        unknown = function.unknown(values)
        self.refuse(as_secrets({name: values[name] for name in unknown}, typed))
        for argument in unknown:
            option = f"--{argument.replace('_', '-')}"
            if option in OPTIONS and line.subcommand in taken_by(option):
                raise function.option_error(argument, f"{option} {OPTIONS[option].value}".rstrip())
        if unknown:
            return function, values
        from jupyter_funcs.catalog.form import with_json

        return function, with_json(function.form(), values)

    def _refuse_unnamed(self, session: Session, words: list[str]) -> None:
        """Raise if the words begin with the name of a function: the others are values without a name."""
        for end in range(min(len(words) - 1, _MOST_WORDS), 0, -1):
            if session.catalog.peek(name := " ".join(words[:end])) is not None:
                function = session[name]
                hint = f'Write {function.fields[0].name}="…".' if function.fields else "It takes no parameters."
                raise ArgumentError(f"{function.name} takes its arguments by name, not {quote(words[end])}.", hint)

    def variable_hint(self, line: Line, error: FuncsError) -> str:
        """Return how to pass a variable, if a refused value is the name of one: ``sym`` or ``{sym}``, not ``$sym``."""
        from jupyter_funcs.client.notebook import usable

        for word in line.words:
            name, _, value = word.partition("=")
            variable = value.strip("{}")
            if variable in error.what and usable(variable, self.namespace.get(variable)):
                return f"For your variable, write {name}=${variable}."
        return ""


def _connect_early() -> Session | None:
    from jupyter_funcs.api import connect

    with suppress(Exception), collect_warnings([]):  # the first use connects again, and says what is wrong
        session = connect()
        session.listed_early(_TAB_SECONDS)
        return session
    return None


def _check_words(line: Line, name: str, arguments: list[str]) -> None:
    """Refuse the usual mistakes of users who don't know the syntax yet."""
    words = line.words
    if any(word.startswith("=") for word in words) or any(word.endswith("=") for word in words[:-1]):
        raise ArgumentError("Write arguments without spaces around the =.", "For example: name=value.")
    if dash := next((word for word in words if word.startswith(_DASHES)), None):
        raise ArgumentError(f"{quote(dash)} isn't an argument.", "Options begin with two hyphens: --timeout.")
    if any(word.endswith(",") for word in words[len(words) - len(arguments) - 1 : -1]):
        hint = "A list goes in brackets: [a, b]. Put quotes around a value that ends with a comma."
        raise ArgumentError("Arguments are separated by spaces, not commas.", hint)
    if not name:
        is_python = any("(" in word.partition("=")[0] for word in arguments[:1])
        hint = f"Leave out the parentheses: %funcs {line.subcommand} NAME name=value." if is_python else LIST_FUNCTIONS
        raise ArgumentError(f"%funcs {line.subcommand} needs a function's name.", hint)

"""%funcs and %%funcs: parse, call, return. Everything they do is done by a room below."""

from __future__ import annotations

import builtins
import inspect
import json
import keyword
import linecache
import unicodedata
import warnings
from typing import TYPE_CHECKING, Any

from jupyter_funcs import recall
from jupyter_funcs.commands import ALIASES, NAMES, OPTIONS, ROTATE, parser, taken_by, usage, usage_of
from jupyter_funcs.errors import ArgumentError, ConfigError, FuncsError, NotFoundError, last_traceback
from jupyter_funcs.line import (
    NAME_AND_VALUE,
    given_twice,
    name_and_arguments,
    read_body,
    read_word,
    split_line,
    unquoted,
)
from jupyter_funcs.masking import as_secrets, mask, masked_traceback, typed_secrets
from jupyter_funcs.sweep_line import first_of, requests_of, sweep_options, table_among
from jupyter_funcs.text import did_you_mean, folded, listed, quote

if TYPE_CHECKING:
    import argparse

    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.panel import Panel
    from jupyter_funcs.session import Session

_LONGEST_PROFILE = 32
_TYPED = (
    "A token, or what looks like one, is typed here; no magic takes one. It is masked in this kernel's history alone."
)
_WITHOUT_WORDS = {"result", "status", "refresh", "lasterror"}
_WITH_A_BODY = {"call", "sweep", "panel"}
_OF_A_TERMINAL = "TerminalInteractiveShell"
_NO_PANEL = "A terminal shows no panel. Use %funcs find, describe and call; %funcs --help lists all."
_LIST = "List them with %funcs find."
_DASHES = ("–", "—")  # what a phone or an office program makes of two hyphens
_OF_IPYTHON = {"In", "Out", "_", "__", "___", "exit", "quit"}


class FuncsMagics:
    """What the magics do; it holds the session in use, which `connect` gives on first use."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self._session: Session | None = None
        self._by_profile: dict[str, Session] = {}  # those of --profile, so that each is listed once
        self._panel_shown: Panel | None = None

    @property
    def session(self) -> Session:
        """The session in use."""
        if self._session is None:
            import jupyter_funcs  # noqa: PLC0415  # what connects is imported on first use

            self._session = jupyter_funcs.connect()
        return self._session

    def known(self, profile: str = "") -> Session | None:
        """Give the session in use, or that of a profile, if there is one yet; nothing is connected for it."""
        return self._by_profile.get(profile) if profile else self._session

    def funcs(self, line: str, cell: str | None = None) -> Any:
        """Do what a line says, with a cell's body where there is one, and give its object."""
        self._refuse(typed_secrets(line, cell))
        words, is_silent = _without_semicolon(split_line(line))
        given = parser().parse_intermixed_args(words)
        command, *rest = given.words or [None if given.help else "panel"]
        if command is not None:
            self._check_command(command, rest, cell)
        if given.help:
            print(usage() if command is None else usage_of(command))  # noqa: T201  # what a person asked to read
            return None
        _check_options(command, given)
        name = None if given.output is None else _variable(given.output)
        with warnings.catch_warnings():
            if given.quiet:
                warnings.simplefilter("ignore")
            result = getattr(self, f"_{ALIASES.get(command, command)}")(rest, cell, given)
            if name is None:
                return None if is_silent and not _is_assigned() else result
            _warn_of_hiding(name)
            self.namespace[name] = result
        return None

    def _check_command(self, command: str, rest: list[str], cell: str | None) -> None:
        if command not in NAMES:
            raise self._no_command([command, *rest])
        if rest and command in _WITHOUT_WORDS:
            raise ArgumentError(f"%funcs {command} takes nothing more, not {quote(' '.join(rest))}.", "Leave it out.")
        if cell is not None and ALIASES.get(command, command) not in _WITH_A_BODY:
            raise ArgumentError(f"%%funcs {command} takes no body.", f"Write %funcs {command}, with one %.")

    def _no_command(self, words: list[str]) -> ArgumentError:
        said = f"%funcs has no command {quote(words[0])}."
        catalog = self._session.listed if self._session is not None else None
        function = catalog.peek(name_and_arguments(words)[0]) if catalog is not None else None
        if catalog is not None and function is not None:
            slug = catalog.slug(function)
            return ArgumentError(said, f"It is a function: write %funcs call {slug}, or %funcs panel {slug}.")
        hint = did_you_mean(words[0], [*NAMES, "--help"]) or f"Commands are {listed(NAMES, 'and')}."
        return ArgumentError(said, hint)

    @property
    def namespace(self) -> dict[str, Any]:
        """The user's variables."""
        variables: dict[str, Any] = self.shell.user_ns
        return variables

    def _refuse(self, secrets: list[str]) -> None:
        if secrets:
            mask(self.shell, secrets)
            raise ConfigError(_TYPED, ROTATE)

    def _of(self, given: argparse.Namespace) -> Session:
        """Give the session that a line is for."""
        name = given.profile
        if name is None:
            return self.session
        if not name:
            raise ArgumentError("--profile takes the name of a profile.")
        if self._session is not None and self._session.where == name:
            return self._session
        if name not in self._by_profile:
            self._by_profile[name] = self._connected(name)
        return self._by_profile[name]

    def _connected(self, *where: str) -> Session:
        import jupyter_funcs  # noqa: PLC0415  # what connects is imported on first use

        try:
            return jupyter_funcs.connect(*where).ready()
        except ConfigError:
            # What is as long as a token is none of the profiles.
            mask(self.shell, [word for word in where if len(word) > _LONGEST_PROFILE and "://" not in word])
            raise

    def _find(self, words: list[str], _cell: str | None, given: argparse.Namespace) -> Any:
        return self._of(given).find(" ".join(map(unquoted, words)))

    def _describe(self, words: list[str], _cell: str | None, given: argparse.Namespace) -> Any:
        function, values = self._function(words, given, "describe")
        if values:
            raise ArgumentError(f"%funcs describe takes a name alone, not {listed(values, 'and')}.", "Leave that out.")
        return function.describe()

    def _call(self, words: list[str], cell: str | None, given: argparse.Namespace) -> Any:
        function, values = self._function(words, given, "call", cell)
        if not given.dry_run:
            return _tuned(function, given)(**values)
        request = function.request(**values)
        if given.output is None:
            print(json.dumps(request, indent=2, ensure_ascii=False))  # noqa: T201  # asked for
        return request if given.output else None

    def _sweep(self, words: list[str], cell: str | None, given: argparse.Namespace) -> Any:
        words, table = table_among(words, self.namespace)
        function, values = self._function(words, given, "sweep", cell)
        function = _tuned(function, given).with_options(**sweep_options(given, self.namespace))
        if not given.dry_run:
            return function.sweep(table, **values)
        requests = requests_of(function, table, values)
        if given.output is None:
            print(first_of(requests))  # noqa: T201  # asked for
        return requests if given.output else None

    def _panel(self, words: list[str], cell: str | None, given: argparse.Namespace) -> Any:
        if words:
            function, values = self._function(words, given, "panel", cell)
            panel = _tuned(function, given).panel(**values)
        elif cell is not None and cell.strip():
            raise ArgumentError("A cell's body holds the arguments of a function.", "Name it: %%funcs panel NAME.")
        elif given.wait:
            raise ArgumentError("--wait takes a function's name, and the values to run it with.", _LIST)
        else:
            panel = self._of(given).panel()
        if type(self.shell).__name__ == _OF_A_TERMINAL and not given.wait:
            print(_NO_PANEL)  # noqa: T201  # what is given says nothing of it
        panel.recipe = "df = %funcs result"
        self._panel_shown = panel
        if not given.wait:
            return panel
        # For front ends that show nothing of what happens behind a cell, as Colab: the result is that of the cell.
        from IPython.display import display  # noqa: PLC0415  # on first use

        display(panel)  # type: ignore[no-untyped-call]  # IPython's
        panel.run()
        return panel.result()

    def _result(self, _words: list[str], _cell: str | None, given: argparse.Namespace) -> Any:
        if self._panel_shown is None:
            raise ArgumentError("No panel was opened yet.", "Open one with %funcs.")
        return self._panel_shown.result(given.timeout)

    def _history(self, words: list[str], _cell: str | None, given: argparse.Namespace) -> Any:
        return recall.history(self._of(given).history, words, earlier=given.all)

    def _again(self, words: list[str], _cell: str | None, given: argparse.Namespace) -> Any:
        return recall.again(self._of(given).history, words)

    def _lock(self, words: list[str], _cell: str | None, given: argparse.Namespace) -> Any:
        recall.lock_functions(self._of(given), words, is_check=given.check)

    def _connect(self, words: list[str], _cell: str | None, _given: argparse.Namespace) -> Any:
        if len(words) > 1 or any("=" in word and "://" not in word for word in words):
            raise ConfigError("%funcs connect takes one profile or address, and no token.", ROTATE)
        try:
            session = self._connected(*map(unquoted, words))
            _ = session.catalog  # a wrong token or address is met here, and the next line needs the functions anyway
        except FuncsError as error:
            error.hint = f"{error.hint} {self._still_asked(is_tried=not words)}".strip()
            raise
        self._session = session
        self._by_profile.pop(session.where, None)
        return session

    def _still_asked(self, *, is_tried: bool) -> str:
        """Say whom the next line asks after a failed connect; `is_tried` where that was to the configured service."""
        if self._session is not None:
            name = self._session.service if self._session.address else ""
        elif is_tried:  # the next line meets the same failure
            return ""
        else:
            from jupyter_funcs.config import resolve  # noqa: PLC0415  # on first use

            try:
                configured = resolve()
            except FuncsError:
                return ""
            name = "" if configured is None else configured.name
        return f"Until then %funcs asks {quote(name) if name else 'the demo, whose data are synthetic'}."

    def _status(self, _words: list[str], _cell: str | None, given: argparse.Namespace) -> Any:
        return self._of(given).status()

    def _refresh(self, _words: list[str], _cell: str | None, given: argparse.Namespace) -> Any:
        return self._of(given).refresh()

    def _cache(self, words: list[str], _cell: str | None, _given: argparse.Namespace) -> Any:
        if words not in ([], ["clear"]):
            hint = did_you_mean(words[0], ["clear"]) or "Write %funcs cache, or %funcs cache clear."
            raise ArgumentError(f"%funcs cache takes clear or nothing more, not {quote(' '.join(words))}.", hint)
        session = self.known()
        if session is None:  # it is there whether or not there is a service to connect to
            from jupyter_funcs.cache import own_cache  # noqa: PLC0415  # on first use

            cache = own_cache()
        else:
            cache = session.cache
        return cache.clear() if words else cache.status()

    def _lasterror(self, _words: list[str], _cell: str | None, given: argparse.Namespace) -> Any:
        text = masked_traceback(last_traceback()).rstrip()
        if given.output is None:
            print(text or "No error was shown in this kernel yet.")  # noqa: T201  # asked for
        return text if given.output else None

    def _function(
        self, words: list[str], given: argparse.Namespace, command: str, cell: str | None = None
    ) -> tuple[RemoteFunction, dict[str, Any]]:
        name, arguments = name_and_arguments(words)
        if any(word.startswith("=") for word in words) or any(word.endswith("=") for word in words[:-1]):
            raise ArgumentError("An argument is written without spaces around its =.", "Write name=value.")
        if dash := next((word for word in words if word.startswith(_DASHES)), None):
            raise ArgumentError(f"{quote(dash)} is no argument.", "An option begins with two hyphens: --timeout.")
        if any(word.endswith(",") for word in words[len(words) - len(arguments) - 1 : -1]):
            hint = "Several values go in brackets: [a, b]. Put quotes around a value that ends with a comma."
            raise ArgumentError("No commas stand between arguments.", hint)
        if not name:
            as_in_python = any("(" in word.partition("=")[0] for word in arguments[:1])
            hint = f"Without brackets: %funcs {command} NAME name=value." if as_in_python else _LIST
            raise ArgumentError(f"%funcs {command} takes a function's name.", hint)
        typed = f"{' '.join(words)}\n{cell}"
        values = {} if cell is None else read_body(cell, self.namespace)
        for word in arguments:
            match = NAME_AND_VALUE.fullmatch(word)
            if match is None:
                raise ArgumentError(
                    f"{quote(word)} is no argument.", "Write name=value, with quotes around a value that holds spaces."
                )
            if (argument := unquoted(match["name"])) in values:
                raise given_twice(argument)
            values[argument] = read_word(match["value"], self.namespace)
        try:
            function = self._of(given)[name]
        except NotFoundError:
            self._refuse(as_secrets(values, typed))
            raise
        # An argument of the function's own may be called so.
        own = {folded(spelt) for field in function.fields for spelt in (field.name, field.identifier)}
        self._refuse(as_secrets({name: values[name] for name in values if folded(name) not in own}, typed))
        _refuse_options([name for name in values if folded(name) not in own], command, function.name)
        return function, values


def _check_options(command: str, given: argparse.Namespace) -> None:
    for option in OPTIONS:
        name = option.rpartition("--")[2]
        if getattr(given, name.replace("-", "_")) not in {None, False} and command not in taken_by(option):
            raise ArgumentError(f"%funcs {command} takes no --{name}.", f"See %funcs {command} --help.")


def _refuse_options(unknown: list[str], command: str, function: str) -> None:
    """Say how an option of the command is written, to who gives one as an argument."""
    for name in unknown:
        option = f"--{name.replace('_', '-')}"
        if option in OPTIONS and command in taken_by(option):
            written = f"{option} {OPTIONS[option].value}".rstrip()
            raise ArgumentError(
                f"{name} is an option, and no parameter of {function}.", f"Write {written}, with two hyphens."
            )


def _variable(name: str) -> str:
    name = unicodedata.normalize("NFKC", name)  # as Python reads names
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ArgumentError(f"-o takes a variable's name, not {quote(name)}.", "Write a name as Python takes it: -o df")
    return name


def _warn_of_hiding(name: str) -> None:
    from jupyter_funcs.notices import warn  # noqa: PLC0415  # on first use

    if name in _OF_IPYTHON:
        warn(f"-o {name} hides what IPython calls {name}, until the kernel is restarted.")
    elif hasattr(builtins, name):
        warn(f"-o {name} hides what Python calls {name}; `del {name}` brings it back.")


def _without_semicolon(words: list[str]) -> tuple[list[str], bool]:
    """Take the semicolon off that ends a line, as it ends one of Python; a quoted one stays."""
    if not words or not words[-1].endswith(";") or words[-1].endswith("\\;"):
        return words, False
    return [word for word in [*words[:-1], words[-1].rstrip(";")] if word], True


def _is_assigned() -> bool:
    """
    Say whether a line stands behind a ``name =``.

    IPython tells a magic nothing of it: the line that it made of the cell's, and runs, is where a traceback takes it
    from.
    """
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name not in {"run_line_magic", "run_cell_magic"}:
        frame = frame.f_back
    caller = None if frame is None else frame.f_back
    if caller is None:
        return True
    return not linecache.getline(caller.f_code.co_filename, caller.f_lineno).lstrip().startswith("get_ipython()")


def _tuned(function: RemoteFunction, given: argparse.Namespace) -> RemoteFunction:
    options = {"timeout": given.timeout, "force": given.force or None}
    return function.with_options(**{name: value for name, value in options.items() if value is not None})

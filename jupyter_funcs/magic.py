"""%funcs and %%funcs: parse, call, return. Everything they do is done by a room below."""

from __future__ import annotations

import argparse
import json
import re
import warnings
from typing import TYPE_CHECKING, Any, NoReturn

from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from jupyter_funcs.errors import ArgumentError, ConfigError
from jupyter_funcs.masking import mask, typed_secrets
from jupyter_funcs.text import did_you_mean, listed, quote

if TYPE_CHECKING:
    from collections.abc import Mapping

    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.panel import Panel
    from jupyter_funcs.session import Session

_QUOTES = {"'": "'", '"': '"', "‘": "’", "’": "’", "“": "”", "”": "”"}
NAME_AND_VALUE = re.compile(r"(?P<name>[^=]+)=(?P<value>.*)", re.DOTALL)

_SECRET_OPTION = re.compile(r"(?i)--?\w*(?:token|key|secret|password)")
ROTATE = "What is typed is kept in a history: set FUNCS_TOKEN. If you wrote a token here, have it replaced."
_LONGEST_PROFILE = 32
_TYPED = "A token, or what looks like one, is typed here; no magic takes one. It is masked in this kernel's history."

# What a person writes, and the method that does it.
_COMMANDS = {
    "find": "_find",
    "list": "_find",
    "describe": "_describe",
    "call": "_call",
    "run": "_call",
    "panel": "_panel",
    "result": "_result",
    "connect": "_connect",
    "status": "_status",
    "refresh": "_refresh",
}
_WITHOUT_WORDS = {"result", "status", "refresh"}
# The options that only some commands take.
_TAKEN_BY = {"dry_run": {"call", "run"}, "timeout": {"call", "run", "panel", "result"}}

USAGE = """\
%funcs                        open the panel
%funcs find WORDS             the catalog as a table (also: list)
%funcs describe NAME          a function's parameters as a table
%funcs call NAME k=v …        run it; gives a DataFrame (also: run)
%funcs panel NAME k=v …       open the panel with values filled in
%funcs result                 the DataFrame of the panel opened last
%funcs connect PROFILE|URL    use another service, logging in where that is needed; without one, the configured
%funcs status                 which service is in use, who you are there, how long the token lasts
%funcs refresh                list the functions again
%%funcs call NAME             the same, with a `key: value` line an argument, or one JSON object, as the cell's body

NAME is the name in quotes, the slug (get_panel_daily) or the id.
A value is text, 'quoted text', [a, b, c] or $variable.
-o NAME  bind the result to NAME and show nothing     -q         no warnings
--dry-run  print the JSON that would be sent           --timeout SECONDS
--help   this text"""


class Parser(argparse.ArgumentParser):
    """argparse, with errors of ours, which repeat no value of an option that is unknown: it may be a token."""

    def error(self, message: str) -> NoReturn:
        """Raise the message as an error of ours."""
        if _SECRET_OPTION.search(message):
            raise ConfigError("No option takes a token.", ROTATE)
        said = re.sub(r"(?<![\w-])(--?[\w-]+)=\S*", r"\1", message)
        raise ArgumentError(f"{self.prog}: {said}.", f"See {self.prog} --help.")


def _parser() -> Parser:
    parser = Parser(prog="%funcs", add_help=False, allow_abbrev=False)
    parser.add_argument("words", nargs="*")
    parser.add_argument("-o", "--output")
    parser.add_argument("-q", "--quiet", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--timeout", type=float)
    parser.add_argument("-h", "--help", action="store_true")
    return parser


_QUOTED = "|".join(f"{begin}[^{end}]*{end}" for begin, end in _QUOTES.items())
# One way only to read an item (atomic groups): else a row of closing quotes is tried in every pairing.
_ITEM = rf"(?>\s*)(?>(?:{_QUOTED})(?=\s*(?:[,\]]|$))|[^,\[\]]*)(?>\s*)"
_ITEMS = re.compile(_ITEM)
# What may hold spaces where a value begins: quoted text, and a list, whose quoted items may hold commas and brackets.
_WITH_SPACES = re.compile(rf"{_QUOTED}|\[(?:{_ITEM},)*+{_ITEM}\]")


def split_line(line: str) -> list[str]:
    """
    Split a magic's line into words at white space, as far as it stands outside of quotes and square brackets.

    The quotes stay in the words, for `read_value`.

    Raises
    ------
    ArgumentError
        A quote or a bracket is not closed; a caret shows which.
    """
    words, at = split_open(line)
    if at is not None:
        near = f"{line[max(0, at - 20) : at]}‸{line[at : at + 20]}"
        what = "bracket" if line[at] == "[" else "quote"
        raise ArgumentError(f"The {what} at the caret is not closed: {near}", "Close it, or put quotes around it.")
    return words


def split_open(line: str) -> tuple[list[str], int | None]:
    """
    Split a line that may not be finished.

    Returns
    -------
    words : list of str
        As of `split_line`; the last takes all that stands behind a quote or a bracket that is not closed.
    unclosed : int or None
        Where that quote or bracket is.
    """
    words, word, at = [], "", 0
    while at < len(line):
        value_begins = not word or word.endswith("=")
        if line[at].isspace():
            words.append(word)
            word, at = "", at + 1
        elif value_begins and (found := _WITH_SPACES.match(line, at)):
            word, at = word + found[0], found.end()
        elif value_begins and (line[at] in _QUOTES or line[at] == "["):
            return [word for word in [*words, word + line[at:]] if word], at
        else:
            word, at = word + line[at], at + 1
    return [word for word in [*words, word] if word], None


def read_value(text: str, namespace: Mapping[str, Any]) -> Any:
    """
    Read the value behind ``name=``: quoted text, a list in brackets, ``$variable``, or text as it stands.

    Raises
    ------
    ArgumentError
        There is no such variable.
    """
    if text.startswith("$"):
        name = text[1:]
        if name in namespace:
            return namespace[name]
        hint = did_you_mean(name, (key for key in namespace if not key.startswith("_")))
        raise ArgumentError(f"There is no variable {quote(name)}.", hint or f"Define it, or quote the value: '{text}'.")
    if text.startswith("[") and text.endswith("]"):
        try:
            # Numbers stay as they are written, as they do outside of a list.
            return list(json.loads(text, parse_int=str, parse_float=str, parse_constant=str))
        except (ValueError, RecursionError):
            items = (item.strip() for item in _ITEMS.findall(text[1:-1]))
            return [_unquoted(item) for item in items if item]
    return _unquoted(text)


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and _QUOTES.get(text[0]) == text[-1] else text


def read_body(body: str, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """
    Read a cell's body: one JSON object, or a ``key: value`` line an argument; ``#`` begins a comment line.

    Raises
    ------
    ArgumentError
        The JSON is not an object, or a line has no colon; says which.
    """
    if body.lstrip().startswith("{"):
        try:
            return dict(json.loads(body))
        except (ValueError, RecursionError) as error:
            raise ArgumentError(f"The cell's JSON cannot be read: {error}.", "Give one object of arguments.") from None
    values = {}
    for number, line in enumerate(body.splitlines(), start=2):
        if line.strip() and not line.lstrip().startswith("#"):
            name, colon, text = line.partition(":")
            if not colon:
                raise ArgumentError(f"Line {number} of the cell is no argument: {quote(line)}.", "Write `name: value`.")
            values[_unquoted(name.strip())] = read_value(text.strip(), namespace)
    return values


@magics_class
class FuncsMagics(Magics):
    """The magics; they hold the session in use, which `connect` gives on first use."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self.replaced: dict[str, Any] = {}  # what stood in their place before, by kind of magic
        self._session: Session | None = None
        self._panel_shown: Panel | None = None

    @property
    def session(self) -> Session:
        """The session in use."""
        if self._session is None:
            import jupyter_funcs  # noqa: PLC0415  # what connects is imported on first use

            self._session = jupyter_funcs.connect()
        return self._session

    @property
    def connected(self) -> Session | None:
        """The session in use, if there is one yet."""
        return self._session

    @no_var_expand
    @line_cell_magic
    def funcs(self, line: str, cell: str | None = None) -> Any:
        """Choose a function, fill its form, run it: ``%funcs --help`` shows how."""
        self._refuse_secrets(line, cell)
        given = _parser().parse_intermixed_args(split_line(line))
        command, *rest = given.words or ["panel"]
        if given.help:
            print(USAGE)  # noqa: T201  # what a person asked to read
            return None
        if command not in _COMMANDS:
            hint = did_you_mean(command, _COMMANDS) or f"Commands are {listed(_COMMANDS, 'and')}."
            raise ArgumentError(f"%funcs has no command {quote(command)}.", hint)
        if rest and command in _WITHOUT_WORDS:
            raise ArgumentError(f"%funcs {command} takes nothing more, not {quote(' '.join(rest))}.", "Leave it out.")
        if cell is not None and command not in {"call", "run", "panel"}:
            raise ArgumentError(f"%%funcs {command} takes no body.", f"Write %funcs {command}, with one %.")
        for option, takes in _TAKEN_BY.items():
            if getattr(given, option) and command not in takes:
                raise ArgumentError(f"%funcs {command} takes no --{option.replace('_', '-')}.", "See %funcs --help.")
        if given.output is not None and not given.output.isidentifier():
            raise ArgumentError(f"-o takes a variable's name, not {quote(given.output)}.")
        with warnings.catch_warnings():
            if given.quiet:
                warnings.simplefilter("ignore")
            result = getattr(self, _COMMANDS[command])(rest, cell, given)
        if given.output is None:
            return result
        self.namespace[given.output] = result
        return None

    @property
    def namespace(self) -> dict[str, Any]:
        """The user's variables."""
        return {} if self.shell is None else self.shell.user_ns

    def _refuse_secrets(self, line: str, cell: str | None) -> None:
        if secrets := typed_secrets(line, cell):
            mask(self.shell, secrets)
            raise ConfigError(_TYPED, ROTATE)

    def _find(self, words: list[str], _cell: str | None, _given: argparse.Namespace) -> Any:
        return self.session.find(" ".join(map(_unquoted, words)))

    def _describe(self, words: list[str], _cell: str | None, _given: argparse.Namespace) -> Any:
        return self._function(words, "describe")[0].describe()

    def _call(self, words: list[str], cell: str | None, given: argparse.Namespace) -> Any:
        function, values = self._function(words, "call", cell)
        if not given.dry_run:
            frame = _timed(function, given)(**values)
            function.learn(function.form(**values).args)  # so that the next Tab knows its values
            return frame
        request = function.request(**values)
        if given.output is None:
            print(json.dumps(request, indent=2, ensure_ascii=False))  # noqa: T201  # asked for
        return request if given.output else None

    def _panel(self, words: list[str], cell: str | None, given: argparse.Namespace) -> Any:
        if words:
            function, values = self._function(words, "panel", cell)
            panel = _timed(function, given).panel(**values)
        else:
            panel = self.session.panel()
        panel.recipe = "df = %funcs result"
        self._panel_shown = panel
        return panel

    def _result(self, _words: list[str], _cell: str | None, given: argparse.Namespace) -> Any:
        if self._panel_shown is None:
            raise ArgumentError("No panel was opened yet.", "Open one with %funcs.")
        return self._panel_shown.result(given.timeout)

    def _connect(self, words: list[str], _cell: str | None, _given: argparse.Namespace) -> Any:
        if len(words) > 1 or any("=" in word and "://" not in word for word in words):
            raise ConfigError("%funcs connect takes one profile or address, and no token.", ROTATE)
        import jupyter_funcs  # noqa: PLC0415  # what connects is imported on first use

        try:
            self._session = jupyter_funcs.connect(*map(_unquoted, words)).ready()
        except ConfigError:
            # What is as long as a token is none of the profiles.
            mask(self.shell, [word for word in words if len(word) > _LONGEST_PROFILE and "://" not in word])
            raise
        return self._session

    def _status(self, _words: list[str], _cell: str | None, _given: argparse.Namespace) -> Any:
        return self.session.status()

    def _refresh(self, _words: list[str], _cell: str | None, _given: argparse.Namespace) -> Any:
        return self.session.refresh()

    def _function(
        self, words: list[str], command: str, cell: str | None = None
    ) -> tuple[RemoteFunction, dict[str, Any]]:
        # A name of several words may stand without quotes: everything before the first argument is the name.
        given = [NAME_AND_VALUE.fullmatch(word) for word in words]
        first = next((at for at, match in enumerate(given) if match), len(words))
        function = " ".join(map(_unquoted, words[:first]))
        if "=" in words:
            raise ArgumentError("An argument is written without spaces around its =.", "Write name=value.")
        if not function:
            raise ArgumentError(f"%funcs {command} takes a function's name.", "List them with %funcs find.")
        values = {} if cell is None else read_body(cell, self.namespace)
        for word, match in zip(words[first:], given[first:], strict=True):
            if match is None:
                raise ArgumentError(
                    f"{quote(word)} is no argument.", "Write name=value, with quotes around a value that holds spaces."
                )
            if (name := _unquoted(match["name"])) in values:
                raise ArgumentError(f"{name} is given twice.", "Several values go in brackets: [a, b].")
            values[name] = read_value(match["value"], self.namespace)
        return self.session[function], values


def _timed(function: RemoteFunction, given: argparse.Namespace) -> RemoteFunction:
    return function if given.timeout is None else function.with_options(timeout=given.timeout)

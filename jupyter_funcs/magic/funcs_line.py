"""A line of `%funcs` as read: its subcommand, words, options and arguments. It is read without asking a service."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.line import (
    NAME_AND_VALUE,
    Namespace,
    Values,
    given_twice,
    name_and_arguments,
    read_body,
    read_word,
    split_line,
    unquoted,
)
from jupyter_funcs.core.text import did_you_mean, listed, quote
from jupyter_funcs.magic.usage import (
    ALIASES,
    NAMES,
    OPTIONS,
    parser,
    subcommand,
    taken_by,
    without_tables,
)

if TYPE_CHECKING:
    import argparse

    from jupyter_funcs.api import Session
    from jupyter_funcs.magic.sessions import Sessions

_DASHES = ("–", "—")  # what a phone or a word processor makes of two hyphens
LIST_FUNCTIONS = "%funcs find lists the functions."
_OF_A_FUNCTION = ("call", "sweep", "describe", "panel")
_WITH_OR_WITHOUT = ("describe", "panel")
_MAY_BE_VARIABLES = ("to", "executor")


@dataclass(frozen=True)
class Line:
    """A line: its subcommand, the words after it, its options, the cell's body if there is one, and its sessions."""

    sessions: Sessions
    subcommand: str
    words: list[str]
    options: argparse.Namespace
    cell: str | None = None
    is_silent: bool = False  # it ends with a semicolon
    function: str = ""
    arguments: Values = field(default_factory=dict)
    table: Any = None  # of arguments, in a sweep

    @property
    def session(self) -> Session:
        """The session that the line uses."""
        return self.sessions.get(self.options.profile)

    @property
    def text(self) -> str:
        """The words after the subcommand, without their quotes."""
        return " ".join(map(unquoted, self.words))


def read_line(text: str, cell: str | None, sessions: Sessions) -> Line:
    """Read a line, with the cell's body if there is one; without a subcommand it opens the panel, or asks for help."""
    words = split_line(text)
    last = words[-1] if words else ""
    is_silent = last.endswith(";") and not last.endswith("\\;")  # then it is text
    if is_silent:
        words[-1:] = filter(None, [last.rstrip(";")])
    options = parser().parse_intermixed_args(words)
    words = options.words
    if words[:1] == ["help"]:
        options.help = True
        words = words[1:]

    if options.help and not words:
        return Line(sessions, "", [], options, cell)
    name, *rest = words or ["panel"]
    if name not in NAMES:
        raise _unknown_subcommand(words, sessions)
    line = Line(sessions, name, rest, options, cell, is_silent)
    _check_subcommand(line)
    if options.help:
        return line
    _check_options(line)
    return _with_arguments(line)


def _with_arguments(line: Line) -> Line:
    """Return a line with the function that it names, if it names one, and its arguments."""
    subcommand = ALIASES.get(line.subcommand, line.subcommand)
    is_optional = subcommand in _WITH_OR_WITHOUT and not line.words
    if is_optional or subcommand not in _OF_A_FUNCTION:
        return line

    variables = line.sessions.visible
    words, tables = without_tables(subcommand, line.words)
    name, pairs = name_and_arguments(words)
    _check_words(line.subcommand, words, name, pairs)
    arguments = _arguments(pairs, line.cell, variables)
    for option in _MAY_BE_VARIABLES:
        if word := getattr(line.options, option):
            setattr(line.options, option, read_word(word, variables))

    if len(tables) > 1:
        raise ArgumentError(
            f"A sweep takes one table, not {listed(tables, 'and')}.",
            "Combine them in Python.",
        )

    table = None
    if tables:
        table = read_word(tables[0], variables)
    return replace(line, function=name, arguments=arguments, table=table)


def _arguments(words: list[str], body: str | None, variables: Namespace) -> Values:
    """Read the arguments of a line and of a cell's body."""
    arguments = {}
    if body is not None:
        arguments = read_body(body, variables)
    name = "name"
    for word in words:
        match = NAME_AND_VALUE.fullmatch(word)
        if match is None:
            hint = f'Write {name}="…", with quotes around a value that contains spaces.'
            if word.startswith("#"):
                hint = "A comment needs a space after its #."
            raise ArgumentError(f"{quote(word)} isn't an argument.", hint)
        name = unquoted(match["name"])
        if name in arguments:
            raise given_twice(name)
        arguments[name] = read_word(match["value"], variables)

    return arguments


def _check_words(
    subcommand: str, words: list[str], name: str, arguments: list[str]
) -> None:
    """Refuse the usual mistakes of users who don't know the syntax yet."""
    if any(word.startswith("=") for word in words) or any(
        word.endswith("=") for word in words[:-1]
    ):
        raise ArgumentError(
            "Write arguments without spaces around the =.",
            "For example: name=value.",
        )

    for word in words:
        if word.startswith(_DASHES):
            raise ArgumentError(
                f"{quote(word)} isn't an argument.",
                "Options begin with two hyphens: --timeout.",
            )

    if any(word.endswith(",") for word in words[len(words) - len(arguments) - 1 : -1]):
        raise ArgumentError(
            "Arguments are separated by spaces, not commas.",
            "A list goes in brackets: [a, b]. Put quotes around a value that ends with a comma.",
        )

    if not name:
        hint = LIST_FUNCTIONS
        if arguments and "(" in arguments[0].partition("=")[0]:
            hint = f"Leave out the parentheses: %funcs {subcommand} NAME name=value."
        raise ArgumentError(f"%funcs {subcommand} needs a function's name.", hint)


def _check_subcommand(line: Line) -> None:
    name = line.subcommand
    if line.words and not subcommand(name).takes:
        raise ArgumentError(
            f"%funcs {name} takes no arguments.",
            f"Leave out {quote(' '.join(line.words))}.",
        )

    if line.cell is not None and not subcommand(name).takes_arguments:
        raise ArgumentError(
            f"%%funcs {name} takes no cell body.",
            f"Write %funcs {name}, with a single %.",
        )


def _unknown_subcommand(words: list[str], sessions: Sessions) -> ArgumentError:
    from jupyter_funcs.magic.candidates import find_function

    what = f"%funcs has no subcommand {quote(words[0])}."
    if function := find_function(sessions.connected(), name_and_arguments(words)[0]):
        slug = function.slug
        return ArgumentError(
            what, f"It's a function: write %funcs call {slug} or %funcs panel {slug}."
        )

    near = did_you_mean(words[0], [*NAMES, "--help"])
    return ArgumentError(what, near or f"Choose from {listed(NAMES, 'and')}.")


def _check_options(line: Line) -> None:
    name = line.subcommand
    for spelling in OPTIONS:
        option = spelling.rpartition("--")[2]
        is_set = getattr(line.options, option.replace("-", "_")) is not None
        if is_set and name not in taken_by(spelling):
            raise ArgumentError(
                f"%funcs {name} has no option --{option}.", f"See %funcs {name} --help."
            )

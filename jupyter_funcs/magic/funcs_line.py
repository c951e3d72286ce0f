"""A line of `%funcs` as read: its subcommand, words, options and arguments. It is read without asking a service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.line import (
    NAME_AND_VALUE,
    Values,
    given_twice,
    name_and_arguments,
    read_body,
    read_word,
    split_line,
    unquoted,
)
from jupyter_funcs.core.text import did_you_mean, listed, quote
from jupyter_funcs.magic.usage import NAMES, OPTIONS, parser, subcommand, taken_by

if TYPE_CHECKING:
    import argparse

    from jupyter_funcs.api import Session
    from jupyter_funcs.magic.sessions import Sessions

_DASHES = ("–", "—")  # what a phone or a word processor makes of two hyphens
LIST_FUNCTIONS = "%funcs find lists the functions."


@dataclass(frozen=True)
class Line:
    """A line: its subcommand, the words after it, its options, the cell's body if there is one, and its sessions."""

    sessions: Sessions
    subcommand: str
    words: list[str]
    options: argparse.Namespace
    cell: str | None
    is_silent: bool = False  # it ends with a semicolon

    @property
    def session(self) -> Session:
        """The session that the line uses."""
        return self.sessions.get(self.options.profile)

    @property
    def text(self) -> str:
        """The words after the subcommand, without their quotes."""
        return " ".join(map(unquoted, self.words))

    def value(self, word: str) -> Any:
        """Return the value of a word, which may name a variable."""
        return read_word(word, self.sessions.visible)

    def call(self) -> tuple[str, Values]:
        """Return the name of a function and its arguments, from the line and the cell's body."""
        name, arguments = name_and_arguments(self.words)
        self._check_words(name, arguments)
        values = {}
        if self.cell is not None:
            values = read_body(self.cell, self.sessions.visible)
        argument = "name"
        for word in arguments:
            match = NAME_AND_VALUE.fullmatch(word)
            if match is None:
                hint = f'Write {argument}="…", with quotes around a value that contains spaces.'
                if word.startswith("#"):
                    hint = "A comment needs a space after its #."
                raise ArgumentError(f"{quote(word)} isn't an argument.", hint)
            argument = unquoted(match["name"])
            if argument in values:
                raise given_twice(argument)
            values[argument] = self.value(match["value"])

        return name, values

    def _check_words(self, name: str, arguments: list[str]) -> None:
        """Refuse the usual mistakes of users who don't know the syntax yet."""
        words = self.words
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

        if any(
            word.endswith(",") for word in words[len(words) - len(arguments) - 1 : -1]
        ):
            raise ArgumentError(
                "Arguments are separated by spaces, not commas.",
                "A list goes in brackets: [a, b]. Put quotes around a value that ends with a comma.",
            )

        if not name:
            hint = LIST_FUNCTIONS
            if arguments and "(" in arguments[0].partition("=")[0]:
                hint = f"Leave out the parentheses: %funcs {self.subcommand} NAME name=value."
            raise ArgumentError(
                f"%funcs {self.subcommand} needs a function's name.", hint
            )


def read_line(text: str, cell: str | None, sessions: Sessions) -> Line:
    """Read a line, with the cell's body if there is one; without a subcommand it opens the panel, or asks for help."""
    words = split_line(text)
    # A quoted one is text.
    is_silent = (
        bool(words) and words[-1].endswith(";") and not words[-1].endswith("\\;")
    )
    if is_silent:
        words[-1:] = filter(None, [words[-1].rstrip(";")])
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
    if not options.help:
        _check_options(line)
    return line


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

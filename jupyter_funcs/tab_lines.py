"""Tab in a line of %funcs: commands, options, profiles, functions, and what they take."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.commands import NAMES, OPTIONS, taken_by
from jupyter_funcs.line import NAME_AND_VALUE, QUOTES, name_and_arguments, split_open, unquoted
from jupyter_funcs.sweep_line import is_table
from jupyter_funcs.tab_offers import (
    GIVEN_AFTER,
    NOTHING,
    PLAIN_WORD,
    Candidate,
    Offer,
    Writer,
    each,
    field_of,
    frames_of,
    function_of,
    left_of,
    offer_of_a_value,
    offer_of_variables,
    read_values,
    same,
    spelt,
    unquoted_begin,
    values_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_funcs.magic import FuncsMagics
    from jupyter_funcs.session import Session

_TAKE_A_NAME = {"describe", "call", "run", "sweep", "panel"}
_TAKE_A_BODY = {"call", "run", "sweep", "panel"}
_TAKE_A_VARIABLE = {"--to", "--executor"}
_TAKE_A_WORD = {"cache": ["clear"], "history": ["on", "off", "clear"]}


class Words(NamedTuple):
    """
    A line of %funcs up to the cursor.

    Attributes
    ----------
    words
        Its words, without the options and what stands behind them.
    typed
        The word that is being typed.
    option
        The option whose value that word is; empty for none.
    profile
        What is given for ``--profile``.
    """

    words: list[str]
    typed: str
    option: str = ""
    profile: str = ""


def read_line(line: str) -> Words:
    """Read a line that may not be finished."""
    words, unclosed = split_open(line)
    typed = "" if unclosed is None and line[-1:].isspace() else "".join(words[-1:])
    words = words[: len(words) - bool(typed)]
    with_value = {spelling for spelt, option in OPTIONS.items() if option.value for spelling in spelt.split("/")}
    plain, option, profile = [], "", ""
    for word in words:
        name, equals, value = word.partition("=")
        if option or (equals and name in with_value):
            name, value = (option, word) if option else (name, value)
            profile = unquoted(value) if name == "--profile" else profile
            option = ""
        elif word.startswith("-"):
            option = word if word in with_value else ""
        else:
            plain.append(word)
    name, equals, value = typed.partition("=")
    if not option and equals and name in with_value:
        option, typed = name, value
    return Words(plain, typed, option, profile)


def in_line(line: str, after: str, magics: FuncsMagics, *, is_cell: bool = False) -> Offer | None:
    """
    Offer what fits at the end of a line, which may be the first of a cell; `after` is what stands behind it.

    Behind an option other than `--profile` that is left to others: a variable's name, say.
    """
    found = read_line(line)
    if found.option in _TAKE_A_VARIABLE and found.typed.startswith("$"):
        return offer_of_variables(found.typed, magics.namespace)
    if found.option and found.option != "--profile":
        return None
    return (_at(found, after, magics, is_cell=is_cell) or NOTHING)._replace(only=True)


def _at(found: Words, after: str, magics: FuncsMagics, *, is_cell: bool) -> Offer | None:
    words, typed = found.words, found.typed
    command = words[0] if words else None
    if found.option:
        return _profiles(typed, after)
    if typed.startswith("-"):
        return Offer(typed, typed, _options(command), "option")
    if command is not None and len(words) > 1 and command not in {"lock", *_TAKE_A_NAME}:
        return None
    if command == "connect":
        return _profiles(typed, after)
    if command is None or command in _TAKE_A_WORD:
        commands = [name for name in NAMES if not is_cell or name in _TAKE_A_BODY]
        return Offer(typed, typed, same(commands if command is None else _TAKE_A_WORD[command]), "command")
    session = magics.known(found.profile)
    return _known(session, found, after, magics.namespace) if session is not None else None


def _known(session: Session, found: Words, after: str, namespace: Mapping[str, Any]) -> Offer | None:
    """Offer what a session knows: its runs, or its functions and what they take."""
    command, typed = found.words[0], found.typed
    if command == "again":
        return Offer(typed, typed, same(str(run.number) for run in reversed(session.history.runs)), "value")
    if session.listed is None or command not in {"lock", *_TAKE_A_NAME}:
        return None
    return _names(session, "", typed, after) if command == "lock" else _in_arguments(session, found, after, namespace)


def _profiles(typed: str, after: str) -> Offer:
    from jupyter_funcs.config import profile_names  # noqa: PLC0415  # only where profiles are asked for

    writer = Writer(PLAIN_WORD.fullmatch)
    return Offer(typed, unquoted_begin(typed), writer.candidates(profile_names(), typed, after), "profile")


def _in_arguments(session: Session, line: Words, after: str, namespace: Mapping[str, Any]) -> Offer | None:
    """Offer a function, and what it takes once it is named."""
    command, typed = line.words[0], line.typed
    name, given, tables = name_and_given(line.words)
    function = function_of(session, name)
    argument = NAME_AND_VALUE.fullmatch(typed)
    # A name without quotes may go on: Get Panel is a function, and Get Panel Daily another.
    if function is None or (typed and not given and not argument):
        offer = _names(session, name, typed, after)
        if function is None or offer.candidates:
            return offer
    if command == "describe":
        return None
    if command == "sweep" and typed.startswith("$"):
        return offer_of_variables(typed, () if tables else frames_of(namespace))
    quoted = typed[:1] in QUOTES and split_open(typed)[1] == 0  # an argument that is to stand in quotes as a whole
    if quoted and "=" in typed:
        name, _, value = typed[1:].partition("=")
        field = field_of(function, name)
        values = values_of(function, field, read_values(given, namespace)) if field else ()
        offer = offer_of_a_value(typed[0] + value, after, values, Writer(PLAIN_WORD.fullmatch), namespace)
        inner = (one._replace(written=one.written[1:]) for one in offer.candidates)
        return offer._replace(typed=value, candidates=inner)
    if argument is None:
        typed = typed[quoted:]
        frames = [frames_of(namespace).get(table) for table in tables]
        columns = [str(column) for frame in frames if frame is not None for column in frame.columns]
        left = left_of(function, [*given, *columns, *GIVEN_AFTER.findall(after)])
        return Offer(typed, typed, same(f"{spelt(field)}=" for field in left), "param")
    field = field_of(function, unquoted(argument["name"]))
    values = values_of(function, field, read_values(given, namespace)) if field else ()
    return offer_of_a_value(argument["value"], after, values, Writer(PLAIN_WORD.fullmatch), namespace)


def name_and_given(line: list[str]) -> tuple[str, dict[str, str], list[str]]:
    """Give what stands behind a command: a function's name, the arguments as they are written, a sweep's table."""
    command, words = line[:1], line[1:]
    tables = [word for word in words if is_table(word)] if command == ["sweep"] else []
    name, arguments = name_and_arguments([word for word in words if word not in tables])
    parted = map(NAME_AND_VALUE.fullmatch, arguments)
    return name, {unquoted(found["name"]): found["value"] for found in parted if found}, [one[1:] for one in tables]


def _options(command: str | None) -> list[Candidate]:
    return [
        Candidate(spelling, spelling)
        for spelt in OPTIONS
        if command is None or command in taken_by(spelt)
        for spelling in reversed(spelt.split("/"))
    ]


def _names(session: Session, name: str, typed: str, after: str) -> Offer:
    """Offer functions: slugs, then names in quotes; or the rest of a name whose first words stand there."""
    catalog = session.listed or ()
    if not name:
        writer = Writer(lambda _: False)
        slugs = () if typed[:1] in QUOTES or session.listed is None else session.listed.slugs
        quoted = writer.candidates((function.name for function in catalog), typed, after)
        return Offer(typed, unquoted_begin(typed), chain(each(slugs), quoted), "function")
    begin = f"{name} ".casefold()
    rest = (one.name[len(begin) :] for one in catalog if one.name.casefold().startswith(begin))
    return Offer(typed, typed, same(one for one in rest if one.casefold().startswith(typed.casefold())), "function")

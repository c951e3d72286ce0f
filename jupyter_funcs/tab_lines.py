"""Tab in a line of %funcs: commands, options, profiles, functions, and what they take."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.commands import NAMES, OPTIONS, taken_by
from jupyter_funcs.line import NAME_AND_VALUE, QUOTES, split_open, unquoted
from jupyter_funcs.offers import (
    GIVEN_AFTER,
    PLAIN_WORD,
    Candidate,
    Offer,
    Writer,
    each,
    field_of,
    function_of,
    left_of,
    offer_of_a_value,
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

_TAKE_A_NAME = {"describe", "call", "run", "panel"}
_TAKE_A_BODY = {"call", "run", "panel"}


class Words(NamedTuple):
    """A line of %funcs up to the cursor: its words without the options, and the word that is being typed."""

    words: list[str]
    typed: str
    is_option_value: bool


def read_line(line: str) -> Words:
    words, unclosed = split_open(line)
    typed = "" if unclosed is None and line[-1:].isspace() else "".join(words[-1:])
    words = words[: len(words) - bool(typed)]
    with_value = {spelling for spelt, option in OPTIONS.items() if option.value for spelling in spelt.split("/")}
    plain, is_value = [], False
    for word in words:
        if is_value:
            is_value = False
        elif word.startswith("-"):
            is_value = word in with_value
        else:
            plain.append(word)
    return Words(plain, typed, is_value)


def in_line(line: str, after: str, magics: FuncsMagics, *, is_cell: bool = False) -> Offer | None:
    words, typed, is_option_value = read_line(line)
    command = words[0] if words else None
    if is_option_value:
        return None
    if typed.startswith("-"):
        return Offer(typed, typed, _options(command), "option")
    if command is None:
        commands = [name for name in NAMES if not is_cell or name in _TAKE_A_BODY]
        return Offer(typed, typed, same(commands), "command")
    session = magics.connected
    if session is None or session.listed is None or command not in _TAKE_A_NAME:
        return None
    return _in_arguments(session, Words(words, typed, is_option_value), after, magics.namespace)


def _in_arguments(session: Session, line: Words, after: str, namespace: Mapping[str, Any]) -> Offer | None:
    """Offer a function, and what it takes once it is named."""
    command, *words = line.words
    typed = line.typed
    name, given = name_and_arguments(words)
    function = function_of(session, name)
    argument = NAME_AND_VALUE.fullmatch(typed)
    # A name without quotes may go on: Get Panel is a function, and Get Panel Daily another.
    if function is None or (typed and not given and not argument):
        offer = _names(session, name, typed, after)
        if function is None or offer.candidates:
            return offer
    if command == "describe":
        return None
    if argument is None:
        left = left_of(function, [*given, *GIVEN_AFTER.findall(after)])
        return Offer(typed, typed, same(f"{spelt(field)}=" for field in left), "param")
    field = field_of(function, unquoted(argument["name"]))
    values = values_of(function, field, read_values(given, namespace)) if field else ()
    return offer_of_a_value(argument["value"], after, values, Writer(PLAIN_WORD.fullmatch), namespace)


def name_and_arguments(words: list[str]) -> tuple[str, dict[str, str]]:
    arguments = [NAME_AND_VALUE.fullmatch(word) for word in words]
    first = next((at for at, found in enumerate(arguments) if found), len(words))
    return (
        " ".join(map(unquoted, words[:first])),
        {unquoted(found["name"]): found["value"] for found in arguments if found},
    )


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

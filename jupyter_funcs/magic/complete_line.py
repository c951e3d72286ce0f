"""Tab in a line of `%funcs`: subcommands, options, profiles, functions and their arguments."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core.line import NAME_AND_VALUE, QUOTES, split_open, unquoted
from jupyter_funcs.magic.candidates import (
    IN_LINE,
    NOTHING,
    Offer,
    Quoting,
    WrittenCall,
    data_frames,
    find_function,
    name_in_line,
    offer,
    offer_variables,
    remaining_fields,
)
from jupyter_funcs.magic.partial import PartialLine
from jupyter_funcs.magic.usage import NAMES, OPTIONS, subcommand, taken_by

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_funcs.api import Session
    from jupyter_funcs.magic.state import MagicState

_TAKE_A_VARIABLE = {"--to", "--executor"}


def in_line(line: str, after: str, state: MagicState, *, is_cell: bool = False) -> Offer | None:
    """Offer what fits at the end of a line; None at an option's value, which others complete."""
    partial = PartialLine.read(line)
    if partial.option in _TAKE_A_VARIABLE and partial.typed.startswith("$"):
        return offer_variables(partial.typed, state.namespace)
    if partial.option and partial.option != "--profile":
        return None
    return (_at_word(partial, after, state, is_cell=is_cell) or NOTHING)._replace(only=True)


def _at_word(line: PartialLine, after: str, state: MagicState, *, is_cell: bool) -> Offer | None:
    if line.option:
        return _offer_profiles(line.typed, after)
    if line.typed.startswith("-"):
        taken = [option for option in OPTIONS if not line.words or line.words[0] in taken_by(option)]
        return offer(line.typed, (spelt for option in taken for spelt in reversed(option.split("/"))), "option")
    if not line.words:
        names = [name for name in NAMES if not is_cell or subcommand(name).takes_arguments]
        return offer(line.typed, names, "command")
    return _after_subcommand(line, after, state) if line.words[0] in NAMES else None


def _after_subcommand(line: PartialLine, after: str, state: MagicState) -> Offer | None:
    name, *rest = line.words
    if subcommand(name).takes_function:
        return _at_argument(state.completed(line.profile), line, after, state.namespace)
    if name == "lock":
        return _offer_functions(state.completed(line.profile), "", line.typed, after)
    if rest:
        return None
    if name == "connect":
        return _offer_profiles(line.typed, after)
    words = subcommand(name).words
    if name == "again" and (session := state.known(line.profile)) is not None:
        words = [str(run.number) for run in reversed(session.history.runs)]
    return offer(line.typed, words, "value")


def _offer_profiles(typed: str, after: str) -> Offer:
    from jupyter_funcs.connection.profiles import profile_names

    return IN_LINE.offer(typed, profile_names(), after, "profile")


def _at_argument(session: Session | None, line: PartialLine, after: str, namespace: Mapping[str, Any]) -> Offer | None:
    """Offer functions, and what a function takes once it is named."""
    command, typed = line.words[0], line.typed
    name, given, tables = line.call()
    function = find_function(session, name)
    argument = NAME_AND_VALUE.fullmatch(typed)
    # A name without quotes may continue: Get Panel is a function, and so is Get Panel Daily.
    if function is None or (typed and not given and not argument):
        offered = _offer_functions(session, name, typed, after)
        if function is None or offered.candidates:
            return offered
    if command == "describe":
        return None
    if command == "sweep" and typed.startswith("$"):
        return offer_variables(typed, () if tables else data_frames(namespace))
    call = WrittenCall(function, given, namespace)
    is_quoted = typed[:1] in QUOTES and split_open(typed)[1] == 0  # the quotes enclose the whole argument
    if is_quoted and "=" in typed:
        name, _, value = typed[1:].partition("=")
        offered = call.offer_values(name, typed[0] + value, after)
        written = (one._replace(written=one.written[1:]) for one in offered.candidates)
        return offered._replace(typed=value, candidates=written)
    if argument is None:
        frames = [data_frames(namespace).get(table) for table in tables]
        columns = [str(column) for frame in frames if frame is not None for column in frame.columns]
        fields = remaining_fields(function, [*given, *columns], after)
        return offer(typed[is_quoted:], [f"{name_in_line(field)}=" for field in fields], "param")
    return call.offer_values(unquoted(argument["name"]), argument["value"], after)


def _offer_functions(session: Session | None, name: str, typed: str, after: str) -> Offer:
    """Offer slugs, then names in quotes; or the rest of a name without quotes, after its first words."""
    catalog = session.listed if session is not None else None
    if catalog is None:
        return NOTHING
    if name:
        begin = f"{name} ".casefold()
        rests = (one.name[len(begin) :] for one in catalog if one.name.casefold().startswith(begin))
        fitting = [rest for rest in rests if rest.casefold().startswith(typed.casefold())]
        return offer(typed, fitting, "function") if fitting else NOTHING
    quoted = Quoting().offer(typed, (function.name for function in catalog), after, "function")
    slugs = () if typed[:1] in QUOTES else offer(typed, catalog.slugs, "function").candidates
    return quoted._replace(candidates=chain(slugs, quoted.candidates))

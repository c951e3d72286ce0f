"""
Tab: subcommands, options, functions, parameters and values, from what is known already; no request is sent.

Each kind of text before the cursor is read by functions of its own: a line of `%funcs`, the body of a `%%funcs` cell,
and Python code (`complete_python`). They evaluate no code of the user's: names are looked up and literals are read.
"""

from __future__ import annotations

import json
import re
import sys
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from IPython.core.completer import (
    CompletionContext,
    SimpleCompletion,
    SimpleMatcherResult,
)

from jupyter_funcs.core.guide import TOPICS
from jupyter_funcs.core.line import (
    NAME_AND_VALUE,
    QUOTES,
    Namespace,
    name_and_arguments,
    split_open,
    unquoted,
    with_items_below,
)
from jupyter_funcs.magic.candidates import (
    IN_LINE,
    NOTHING,
    Offer,
    PartialCode,
    Quoting,
    WrittenCall,
    data_frames,
    find_function,
    known_values,
    name_in_line,
    offer_variables,
    remaining_fields,
)
from jupyter_funcs.magic.usage import (
    NAMES,
    OPTIONS,
    subcommand,
    taken_by,
    without_tables,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_funcs.api import Session
    from jupyter_funcs.catalog.fields import Field
    from jupyter_funcs.magic.sessions import Sessions

_LINE = re.compile(r"\s*+(?:[^%=#'\"]+=\s*)?%funcs\s(?P<line>.*)")
_CELL = re.compile(r"(?s)\s*%%funcs\s(?P<line>[^\n]*)(?P<body>\n.*)?")
_LONGEST_CODE = 20_000  # before the cursor; a call that began earlier isn't completed
_WITH_A_VALUE = {
    spelling
    for name, option in OPTIONS.items()
    if option.value
    for spelling in name.split("/")
}
_TAKE_A_VARIABLE = {"--to", "--executor"}
# In a body of JSON.
_PAIR = re.compile(r'(?s)\s*"(?P<name>(?:[^"\\]|\\.)*+)"\s*:\s*(?P<value>.*)')
_KEYS = re.compile(r'(?<!\\)"((?:[^"\\]|\\.)*+)"\s*:')
# In a body of lines, a value ends with its line, so that spaces in it need no quotes.
_TO_LINE_END = Quoting(
    lambda text: text == text.strip() and text[:1] not in {*QUOTES, "[", "$", ""}
)


def complete(context: CompletionContext, sessions: Sessions) -> SimpleMatcherResult:
    """Return the result of an IPython matcher (version 2 of its API); an error inside it offers nothing."""
    try:
        offered = _offered(context, sessions)
        if offered is None:
            return {"completions": []}
        fitting = filter(str.isprintable, offered.fitting())
        completions = [
            SimpleCompletion(text, type=offered.kind)
            for text in islice(fitting, context.limit)
        ]
    except Exception:  # noqa: BLE001  # a traceback at Tab is worse than no completion
        return {"completions": []}

    if not completions and offered.only:
        # IPython obeys `suppress` only if there is a completion: an empty one hides Python's names.
        return {
            "completions": [SimpleCompletion("")],
            "matched_fragment": "",
            "suppress": True,
        }

    return {
        "completions": completions,
        "matched_fragment": offered.typed,
        "suppress": offered.alone,
        "ordered": True,
    }


def _offered(context: CompletionContext, sessions: Sessions) -> Offer | None:
    """Return what fits at the cursor; ``None`` where it is for others to say."""
    lines = context.full_text.split("\n")
    line = lines[context.cursor_line]
    column = context.cursor_position
    before = "\n".join([*lines[: context.cursor_line], line[:column]])
    after = "\n".join([line[column:], *lines[context.cursor_line + 1 :]])
    if match := _CELL.fullmatch(before):
        if match["body"] is None:
            return _in_line(match["line"], line[column:], sessions, is_cell=True)
        return (
            _in_body(match["line"], match["body"][1:], after, sessions) or NOTHING
        )._replace(only=True)

    if match := _LINE.fullmatch(line[:column]):
        return _in_line(match["line"], line[column:], sessions)
    # Before this module is imported there is no session to complete.
    if "jupyter_funcs.api" not in sys.modules:
        return None
    from jupyter_funcs.magic.complete_python import in_python

    return in_python(PartialCode(before[-_LONGEST_CODE:], after), sessions.namespace)


# A line of %funcs


class PartialLine(NamedTuple):
    """A line of `%funcs` up to the cursor; `typed` is the word at the cursor, `option` the option whose value it is."""

    words: list[str]
    typed: str
    option: str
    profile: str

    @classmethod
    def read(cls, line: str) -> Self:
        """Read a line that may end anywhere."""
        words, unclosed = split_open(line)
        if not words or (unclosed is None and line[-1].isspace()):
            words.append("")
        parts = []
        for word in words:
            name, equals, value = word.partition("=")
            parts += [name, value] if equals and name in _WITH_A_VALUE else [word]

        *parts, typed = parts
        plain = []
        option = ""
        profile = ""
        for part in parts:
            if option:
                if option == "--profile":
                    profile = unquoted(part)
                option = ""
            elif part in _WITH_A_VALUE:
                option = part
            elif not part.startswith("-"):
                plain.append(part)

        return cls(plain, typed, option, profile)

    def call(self) -> tuple[str, dict[str, str], list[str]]:
        """Return the function's name, its arguments as written, and the names of a sweep's tables."""
        words, tables = without_tables("".join(self.words[:1]), self.words[1:])
        name, arguments = name_and_arguments(words)
        matches = map(NAME_AND_VALUE.fullmatch, arguments)
        values = {unquoted(match["name"]): match["value"] for match in matches if match}
        return name, values, [table[1:] for table in tables]


def _in_line(
    line: str, after: str, sessions: Sessions, *, is_cell: bool = False
) -> Offer | None:
    """Offer what fits at the end of a line; None at an option's value, which others complete."""
    partial = PartialLine.read(line)
    if partial.option in _TAKE_A_VARIABLE and partial.typed.startswith("$"):
        return offer_variables(partial.typed, sessions.namespace)
    if partial.option and partial.option != "--profile":
        return None
    return (_at_word(partial, after, sessions, is_cell=is_cell) or NOTHING)._replace(
        only=True
    )


def _at_word(
    line: PartialLine, after: str, sessions: Sessions, *, is_cell: bool
) -> Offer | None:
    """Offer options, subcommands, or what a subcommand takes."""
    if line.option:
        return _offer_profiles(line.typed, after)
    if line.typed.startswith("-"):
        taken = [
            option
            for option in OPTIONS
            if not line.words or line.words[0] in taken_by(option)
        ]
        spelt = chain.from_iterable(reversed(option.split("/")) for option in taken)
        return Offer(line.typed, spelt, "option")

    if not line.words:
        names = [
            name for name in NAMES if not is_cell or subcommand(name).takes_arguments
        ]
        return Offer(line.typed, names, "command")

    if line.words[0] in NAMES:
        return _after_subcommand(line, after, sessions)
    return None


def _after_subcommand(
    line: PartialLine, after: str, sessions: Sessions
) -> Offer | None:
    name, *rest = line.words
    if name == "describe" or subcommand(name).takes.startswith("NAME"):
        return _at_argument(
            sessions.for_tab(line.profile), line, after, sessions.namespace
        )

    if name == "lock":
        return _offer_functions(sessions.for_tab(line.profile), "", line.typed, after)
    if rest:
        return None
    if name == "connect":
        return _offer_profiles(line.typed, after)
    words = subcommand(name).words
    if name == "docs":
        words = [*TOPICS]
    if name == "again" and (session := sessions.connected(line.profile)) is not None:
        words = [str(run.number) for run in reversed(session.history.runs)]
    return Offer(line.typed, words, "value")


def _offer_profiles(typed: str, after: str) -> Offer:
    from jupyter_funcs.connection.profiles import profile_names

    return IN_LINE.offer(typed, profile_names(), after, "profile")


def _at_argument(
    session: Session | None, line: PartialLine, after: str, namespace: Namespace
) -> Offer | None:
    """Offer functions, and what a function takes once it is named."""
    typed = line.typed
    name, arguments, tables = line.call()
    function = find_function(session, name)
    if function is None:
        return _offer_functions(session, name, typed, after)
    # A name without quotes may continue: Get Panel is a function, and so is Get Panel Daily.
    if typed and not arguments and not NAME_AND_VALUE.fullmatch(typed):
        offered = _offer_functions(session, name, typed, after)
        if offered.texts:
            return offered

    command = line.words[0]
    if command == "describe":
        return None
    if command == "sweep" and typed.startswith("$"):
        return offer_variables(typed, () if tables else data_frames(namespace))
    return _at_parameter(
        WrittenCall(function, arguments, namespace), tables, typed, after
    )


def _at_parameter(
    call: WrittenCall, tables: list[str], typed: str, after: str
) -> Offer:
    """Offer the names of parameters that have no argument yet, or values after a name."""
    # The quotes enclose the whole argument.
    is_quoted = typed[:1] in QUOTES and split_open(typed)[1] == 0
    if is_quoted and "=" in typed:
        name, _, value = typed[1:].partition("=")
        offered = call.offer_values(name, typed[0] + value, after)
        return offered._replace(typed=value, texts=(text[1:] for text in offered.texts))

    if argument := NAME_AND_VALUE.fullmatch(typed):
        return call.offer_values(unquoted(argument["name"]), argument["value"], after)
    frames = data_frames(call.namespace)
    columns = [
        str(column)
        for table in tables
        if table in frames
        for column in frames[table].columns
    ]
    fields = remaining_fields(call.function, [*call.arguments, *columns], after)
    if is_quoted:
        typed = typed[1:]
    return Offer(typed, [f"{name_in_line(field)}=" for field in fields], "param")


def _offer_functions(
    session: Session | None, name: str, typed: str, after: str
) -> Offer:
    """Offer slugs, then names in quotes; or the rest of a name without quotes, after its first words."""
    if session is None or (catalog := session.listed) is None:
        return NOTHING
    if name:
        begin = f"{name} ".casefold()
        rests = (
            function.name[len(begin) :]
            for function in catalog
            if function.name.casefold().startswith(begin)
        )
        fitting = [
            rest for rest in rests if rest.casefold().startswith(typed.casefold())
        ]
        if fitting:
            return Offer(typed, fitting, "function")
        return NOTHING

    quoted = Quoting().offer(
        typed, (function.name for function in catalog), after, "function"
    )
    if typed[:1] in QUOTES:
        return quoted
    return quoted._replace(texts=chain(catalog.slugs, quoted.texts))


# The body of a %%funcs cell


def _in_body(line: str, before: str, after: str, sessions: Sessions) -> Offer | None:
    """Offer what fits in a body, given the cell's first line and the body's text before and after the cursor."""
    first = PartialLine.read(f"{line} ")
    name, arguments, _ = first.call()
    function = find_function(sessions.for_tab(first.profile), name)
    if function is None:
        return None
    if before.lstrip().startswith("{"):
        return _in_json(
            WrittenCall(function, arguments, sessions.namespace),
            PartialCode(before, after),
        )

    *above, typed = before.split("\n")
    rest, *below = after.split("\n")
    if typed.lstrip().startswith("#"):
        return None
    typed = _with_items_above(typed, above)
    for text in [*above, *below]:
        if ":" in text and not text.lstrip().startswith("#"):
            key, _, value = text.partition(":")
            arguments[unquoted(key.strip())] = value.strip()

    key, colon, value = typed.partition(":")
    if not colon:
        fields = remaining_fields(function, arguments)
        return Offer(
            key.lstrip(), [f"{name_in_line(field)}: " for field in fields], "param"
        )

    call = WrittenCall(function, arguments, sessions.namespace)
    return call.offer_values(unquoted(key.strip()), value.lstrip(), rest, _TO_LINE_END)


def _with_items_above(typed: str, above: list[str]) -> str:
    """Return the typed text joined to the items above it, if it is in a list that began in an earlier line."""
    for at in range(len(above) - 1, -1, -1):
        value = above[at].partition(":")[2].strip()
        if value.startswith("["):
            is_open = with_items_below(value, above[at + 1 :]) == (
                value,
                0,
            ) and not value.endswith("]")
            items = filter(None, (line.strip().rstrip(",") for line in above[at:]))
            if is_open:
                return ",".join([*items, typed.lstrip()]).replace("[,", "[", 1)
            return typed

    return typed


def _in_json(call: WrittenCall, code: PartialCode) -> Offer | None:
    """Offer the keys of the object, their values, and the items of a list; the call is the cell's first line."""
    typed = code.typed
    if not code.open or code.bracket(0) != "{" or typed[:1] == "'":
        return None
    arguments = code.arguments(_PAIR.fullmatch)
    if arguments is None or arguments.bracket != -len(code.open):
        return None
    if arguments.name is None:
        names = [*call.arguments, *arguments.before, *_KEYS.findall(code.after)]
        return _offer_keys(typed, code.after, remaining_fields(call.function, names))

    before = {
        name: value for name, text in arguments.before.items() for value in _read(text)
    }
    items = [*chain.from_iterable(map(_read, arguments.items))]
    values = known_values(call.function, arguments.name, call.values() | before, items)
    if values is None:
        return None
    return Quoting(escape=lambda value, _: _escaped(value)).offer(
        typed, values, code.after, "value"
    )


def _offer_keys(typed: str, after: str, fields: Iterable[Field]) -> Offer:
    closing = '": '
    if typed and after.startswith('"'):  # many editors close a quote themselves
        closing = ""
    return Offer(
        typed, [f'"{_escaped(field.name)}{closing}' for field in fields], "param"
    )


def _read(text: str) -> list[Any]:
    """Return the value of a piece of JSON as a list of one; an empty list if it isn't complete."""
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        return []


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]

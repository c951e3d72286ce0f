"""
Tab: commands, options, functions, parameters and values, from what is known already; a service is never asked.

The text before the cursor is read into a place (a command, a function, an argument's name or its value), and the place
gives the candidates. Nothing of the user's is evaluated: names are looked up, literals are read.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from dataclasses import fields as dataclass_fields
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from IPython.core.completer import SimpleCompletion

from jupyter_funcs.commands import NAMES, OPTIONS, taken_by
from jupyter_funcs.line import NAME_AND_VALUE, QUOTES, read_value, split_open, unquoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from IPython.core.completer import CompletionContext, SimpleMatcherResult

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.fields import Field
    from jupyter_funcs.magic import FuncsMagics
    from jupyter_funcs.session import Session

_LINE = re.compile(r"\s*(?:[^%=#'\"]+=\s*)?%funcs\s(?P<line>.*)")
_CELL = re.compile(r"\s*%%funcs\s(?P<line>[^\n]*)(?P<body>\n.*)?", re.DOTALL)
_TAKE_A_NAME = {"describe", "call", "run", "panel"}
_TAKE_A_BODY = {"call", "run", "panel"}
_PLAIN_NAME = re.compile(r"\w[\w.-]*")
_PLAIN_WORD = re.compile(r"[\w+./@%:-]+")
# The items of a list before the one that is being typed, each read in one way only.
_ITEMS_BEFORE = re.compile(r"\[(?:\s*+(?>'[^']*'|\"[^\"]*\"|[^,'\"\[\]]*)\s*+,)*+\s*+")
_GIVEN_AFTER = re.compile(r"(\w+)\s*=(?!=)")

_LONGEST_OWNER = 1_000
_LONGEST_CODE = 20_000  # what stands further above the cursor holds no call that is still open
_DEEPEST = 200  # brackets within brackets
_MARKS = re.compile(r"#[^\n]*|[()\[\]{},]|\"\"\"|'''|[\"']")
# What stands in a text, by its quotes: up to the closing ones, to the line's end, or to the end of what there is.
_STRINGS = {
    **{quote: re.compile(rf"(?:\\.|[^{quote}\\\n])*+", re.DOTALL) for quote in "'\""},
    **{quote * 3: re.compile(rf"(?:\\.|(?!{quote * 3})[^\\])*+", re.DOTALL) for quote in "'\""},
}
_ARGUMENT = re.compile(r"\s*(?P<name>\w+)\s*=(?!=)\s*(?P<value>.*)", re.DOTALL)
# The methods of a function that take its parameters.
_TAKE_PARAMETERS = {"submit", "form", "panel", "request", "sweep"}


class Candidate(NamedTuple):
    """What may stand at the cursor: the text that what was typed is compared with, and the text that is put there."""

    compared: str
    written: str


class Offer(NamedTuple):
    """
    What the cursor's place takes.

    Attributes
    ----------
    typed
        The end of the text before the cursor, which a candidate takes the place of.
    compared
        What a candidate's text begins with, in any case: `typed` without its quote.
    candidates
        In the order in which they are shown.
    kind
        What they are, as front ends name it.
    alone
        Whether what others would offer has no place here.
    """

    typed: str
    compared: str
    candidates: Iterable[Candidate]
    kind: str
    alone: bool = True


def complete(context: CompletionContext, magics: FuncsMagics) -> SimpleMatcherResult:
    """Give a matcher's result, as version 2 of IPython's API has it, made anew; where it fails it offers nothing."""
    completions: list[SimpleCompletion] = []
    try:
        offer = _offer(context, magics)
        if offer is not None:
            begin = offer.compared.casefold()
            fitting = (
                SimpleCompletion(one.written, type=offer.kind)
                for one in offer.candidates
                if one.compared.casefold().startswith(begin) and one.written.isprintable()
            )
            completions = list(islice(fitting, context.limit))
    except Exception:  # noqa: BLE001  # a Tab that shows a traceback is worse than one that shows nothing
        offer = None
    if offer is None:
        return {"completions": []}
    return {"completions": completions, "matched_fragment": offer.typed, "suppress": offer.alone, "ordered": True}


def _offer(context: CompletionContext, magics: FuncsMagics) -> Offer | None:
    lines = context.full_text.split("\n")
    line, column = lines[context.cursor_line], context.cursor_position
    before = "\n".join([*lines[: context.cursor_line], line[:column]])
    after = "\n".join([line[column:], *lines[context.cursor_line + 1 :]])
    if found := _CELL.fullmatch(before):
        if found["body"] is None:
            return _in_line(found["line"], line[column:], magics, is_cell=True)
        others = lines[: context.cursor_line] + lines[context.cursor_line + 1 :]
        return _in_body(found["line"], line[:column], line[column:], others, magics)
    if found := _LINE.fullmatch(line[:column]):
        return _in_line(found["line"], line[column:], magics)
    # There is no session before its room is imported, and then no work for this Tab.
    if f"{__package__}.session" not in sys.modules:
        return None
    return _in_python(_Code(before[-_LONGEST_CODE:], after), magics.namespace)


# ----------------------------------------------------------------------------------------------------------- lines


class _Words(NamedTuple):
    """A line of %funcs up to the cursor: its words without the options, and the word that is being typed."""

    words: list[str]
    typed: str
    is_option_value: bool


def _read_line(line: str) -> _Words:
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
    return _Words(plain, typed, is_value)


def _in_line(line: str, after: str, magics: FuncsMagics, *, is_cell: bool = False) -> Offer | None:
    words, typed, is_option_value = _read_line(line)
    command = words[0] if words else None
    if is_option_value:
        return None
    if typed.startswith("-"):
        return Offer(typed, typed, _options(command), "option")
    if command is None:
        commands = [name for name in NAMES if not is_cell or name in _TAKE_A_BODY]
        return Offer(typed, typed, _same(commands), "command")
    session = magics.connected
    if session is None or session.listed is None or command not in _TAKE_A_NAME:
        return None
    return _in_arguments(session, _Words(words, typed, is_option_value), after, magics.namespace)


def _in_arguments(session: Session, line: _Words, after: str, namespace: Mapping[str, Any]) -> Offer | None:
    """Offer a function, and what it takes once it is named."""
    command, *words = line.words
    typed = line.typed
    name, given = _name_and_arguments(words)
    function = _function(session, name)
    argument = NAME_AND_VALUE.fullmatch(typed)
    # A name without quotes may go on: Get Panel is a function, and Get Panel Daily another.
    if function is None or (typed and not given and not argument):
        offer = _names(session, name, typed, after)
        if function is None or offer.candidates:
            return offer
    if command == "describe":
        return None
    if argument is None:
        left = _left(function, [*given, *_GIVEN_AFTER.findall(after)])
        return Offer(typed, typed, _same(f"{_spelt(field)}=" for field in left), "param")
    field = _field(function, unquoted(argument["name"]))
    values = _values(function, field, _read_values(given, namespace)) if field else ()
    return _of_a_value(argument["value"], after, values, _Writer(_PLAIN_WORD.fullmatch), namespace)


def _name_and_arguments(words: list[str]) -> tuple[str, dict[str, str]]:
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
        writer = _Writer(lambda _: False)
        slugs = () if typed[:1] in QUOTES or session.listed is None else session.listed.slugs
        quoted = writer.candidates((function.name for function in catalog), typed, after)
        return Offer(typed, _unquoted_begin(typed), chain(_each(slugs), quoted), "function")
    begin = f"{name} ".casefold()
    rest = (one.name[len(begin) :] for one in catalog if one.name.casefold().startswith(begin))
    return Offer(typed, typed, _same(one for one in rest if one.casefold().startswith(typed.casefold())), "function")


# ---------------------------------------------------------------------------------------------------------- bodies


def _in_body(line: str, typed: str, after: str, others: list[str], magics: FuncsMagics) -> Offer | None:
    name, given = _name_and_arguments(_read_line(f"{line} ").words[1:])
    function = _function(magics.connected, name)
    if function is None or typed.lstrip().startswith("#"):
        return None
    if any(text.lstrip().startswith("{") for text in others):  # one JSON object
        return None
    for text in others:
        if ":" in text and not text.lstrip().startswith(("#", "%%")):
            key, _, value = text.partition(":")
            given[unquoted(key.strip())] = value.strip()
    key, colon, value = typed.partition(":")
    if not colon:
        key = key.lstrip()
        return Offer(key, key, _same(f"{_spelt(field)}: " for field in _left(function, given)), "param")
    field = _field(function, unquoted(key.strip()))
    values = _values(function, field, _read_values(given, magics.namespace)) if field else ()
    # A value goes to the line's end, so that spaces in it need no quotes.
    writer = _Writer(lambda text: text == text.strip() and text[:1] not in {*QUOTES, "[", "$", ""})
    return _of_a_value(value.lstrip(), after, values, writer, magics.namespace)


# ---------------------------------------------------------------------------------------------------------- values


class _Writer(NamedTuple):
    """
    How a value is written where the cursor is.

    Attributes
    ----------
    is_plain
        Whether a value may stand without quotes.
    escape
        Give a value as it stands between quotes, or ``None`` where it cannot.
    """

    is_plain: Callable[[str], object]
    escape: Callable[[str, str], str | None] = lambda value, end: (
        None if end in value else value.replace("\\", "\\\\") if end == '"' else value
    )

    def candidates(self, values: Iterable[str], typed: str, after: str) -> Iterator[Candidate]:
        """Go through the values as they are written in place of what was typed."""
        begin = typed[:1]
        # Most values of a long list do not fit: they are left out before they are written.
        compared = _unquoted_begin(typed).casefold()
        if "\\" not in compared:
            values = (value for value in values if value.casefold().startswith(compared))
        if end := QUOTES.get(begin):
            closed = "" if after.startswith(end) else end  # many editors close a quote themselves
            for value in values:
                if (inner := self.escape(value, end)) is not None:
                    yield Candidate(inner, f"{begin}{inner}{closed}")
            return
        for value in values:
            if self.is_plain(value):
                yield Candidate(value, value)
            else:
                inners = ((quote, self.escape(value, quote)) for quote in "\"'")
                quoted = next((f"{quote}{inner}{quote}" for quote, inner in inners if inner is not None), None)
                if quoted is not None:
                    yield Candidate(value, quoted)


def _of_a_value(
    typed: str, after: str, values: Iterable[str], writer: _Writer, namespace: Mapping[str, Any]
) -> Offer | None:
    """Offer values for what stands behind a `name=` of a line or a `name:` of a body."""
    if typed.startswith("$"):
        names = [f"${name}" for name in namespace if not name.startswith("_")]
        return Offer(typed, typed, _same(sorted(names)), "variable")
    if typed.startswith("[") and (before := _ITEMS_BEFORE.match(typed)):
        given = read_value(f"{before[0]}]", namespace)
        values = [value for value in values if value not in given]
        typed, writer = typed[before.end() :], _Writer(_PLAIN_WORD.fullmatch)
    return Offer(typed, _unquoted_begin(typed), writer.candidates(values, typed, after), "value")


def _unquoted_begin(typed: str) -> str:
    return typed[1:] if typed[:1] in QUOTES else typed


def _values(function: RemoteFunction, field: Field, given: Mapping[str, Any]) -> list[str]:
    """Give the values of a field that are known: its options, what its listing function has listed, its default."""
    if field.options:
        return list(field.options)
    if field.kind == "yes/no":  # its class stands in a room that takes long to import
        return ["Yes", "No"]
    form = function.form()
    for name, value in given.items():
        if other := _field(function, name):
            form[other.name] = value
    listed = [choice.value for choice in function.known_choices(field, form.args)]
    return listed or ([] if field.default is None else [field.default])


def _read_values(given: Mapping[str, str], namespace: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: read_value(text, namespace)
        for name, text in given.items()
        if not text.startswith("$") or text[1:] in namespace
    }


def _left(function: RemoteFunction, given: Iterable[str]) -> list[Field]:
    """Give the fields for which there is no argument yet."""
    names = {field.name for name in given if (field := _field(function, name))}
    return [field for field in function.fields if field.name not in names]


def _field(function: RemoteFunction, name: str) -> Field | None:
    spelt = name.casefold()
    return next((one for one in function.fields if spelt in {one.name.casefold(), one.identifier.casefold()}), None)


def _spelt(field: Field) -> str:
    return field.name if _PLAIN_NAME.fullmatch(field.name) else field.identifier


def _same(texts: Iterable[str]) -> list[Candidate]:
    return list(_each(texts))


def _each(texts: Iterable[str]) -> Iterator[Candidate]:
    return (Candidate(text, text) for text in texts)


def _function(session: Session | None, name: str) -> RemoteFunction | None:
    catalog = session.listed if session is not None else None
    found = catalog.peek(name) if catalog is not None and name else None
    return session[catalog.slug(found)] if session is not None and catalog is not None and found else None


# ---------------------------------------------------------------------------------------------------------- Python


class _Bracket(NamedTuple):
    """A bracket: where it is, and where the commas directly within it are."""

    at: int
    commas: list[int]


class _Code:
    """
    Python code up to the cursor: the brackets that are open there, and the text that is.

    Attributes
    ----------
    before, after
        The text on both sides of the cursor, with blanks for comments before it.
    open
        The brackets that are not closed, the innermost last.
    string
        Where a text begins that is not closed; ``None`` in code.
    """

    def __init__(self, before: str, after: str) -> None:
        self.before = before
        self.after = after
        self.open: list[_Bracket] = []
        self.string: int | None = None
        self._begins: dict[int, int] = {}  # of each closed bracket: where it was opened
        at = 0
        while found := _MARKS.search(before, at):
            mark, at = found[0], found.end()
            if mark in _STRINGS:
                inside = _STRINGS[mark].match(before, at)
                at = at if inside is None else inside.end()
                if at == len(before):
                    self.string = found.start()
                    break
                at += len(mark)
            elif mark[0] == "#":
                self.before = self.before[: found.start()] + " " * len(mark) + self.before[at:]
            else:
                self._bracket(mark, found.start())
            if len(self.open) > _DEEPEST:
                self.open.clear()
                break

    def _bracket(self, mark: str, at: int) -> None:
        if mark in "([{":
            self.open.append(_Bracket(at, []))
        elif self.open and mark == ",":
            self.open[-1].commas.append(at)
        elif self.open:
            self._begins[at] = self.open.pop().at

    def name_before(self, end: int) -> int:
        """Give where the name begins that ends here; `end` where there is none."""
        at = end
        while at and (self.before[at - 1].isalnum() or self.before[at - 1] == "_"):
            at -= 1
        return at

    def owner(self, end: int) -> ast.expr | None:
        """Give the expression of names, attributes and brackets that ends here: what is called or looked into."""
        at = end
        while at and end - at <= _LONGEST_OWNER:
            if at - 1 in self._begins:
                at = self._begins[at - 1]
                continue
            at = self.name_before(at)
            if self.before[at - 1 : at] != ".":
                break
            at -= 1
        if end - at > _LONGEST_OWNER:
            return None
        try:
            return ast.parse(self.before[at:end], mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def parts(self, bracket: _Bracket) -> list[str]:
        """Give what stands between the commas of an open bracket, up to the cursor."""
        ends = [*bracket.commas, len(self.before)]
        begins = [bracket.at + 1, *(comma + 1 for comma in bracket.commas)]
        return [self.before[begin:end] for begin, end in zip(begins, ends, strict=True)]


class _PanelOf(NamedTuple):
    """The method ``funcs.panel``, which takes a function's name and then its arguments."""

    session: Session


class _Call(NamedTuple):
    """
    A call that is open at the cursor.

    Attributes
    ----------
    owner
        What is called, as `_resolve` gives it.
    parts
        What stands between its commas; the last part ends at the cursor.
    items
        The items before the cursor, when it stands in a list that is an argument.
    """

    owner: Any
    parts: list[str]
    items: list[Any] | None


def _in_python(code: _Code, namespace: Mapping[str, Any]) -> Offer | None:
    begin = code.string if code.string is not None else code.name_before(len(code.before))
    typed = code.before[begin:]
    if code.string is None and code.before[begin - 1 : begin] == ".":
        owner = _resolve(code.owner(begin - 1), namespace)
        is_ours = _is_a(owner, "session", "Session") or _is_a(owner, "callables", "RemoteFunction")
        return _attributes(owner, typed) if is_ours else None
    if not code.open or typed.startswith(('"""', "'''")):
        return None
    bracket, items = code.open[-1], None
    if code.before[bracket.at] == "[":
        session = _resolve(code.owner(bracket.at), namespace)
        if _is_a(session, "session", "Session"):
            return _strings(typed, code.after, (one.name for one in session.listed or ()), "function")
        *before, item = code.parts(bracket)
        if len(code.open) == 1 or item.lstrip() != typed:
            return None
        bracket, items = code.open[-2], [_literal(one, namespace) for one in before]
    if code.before[bracket.at] != "(":
        return None
    owner = _resolve(code.owner(bracket.at), namespace)
    return _in_call(code, _Call(owner, code.parts(bracket), items), typed, namespace)


def _in_call(code: _Code, call: _Call, typed: str, namespace: Mapping[str, Any]) -> Offer | None:
    *before, last = call.parts
    given = {found["name"]: found["value"] for part in before if (found := _ARGUMENT.fullmatch(part))}
    argument = _ARGUMENT.fullmatch(last)
    if argument is None:
        return _argument(code, call, typed, given, namespace) if last.strip() == typed else None
    function = _called(call, namespace)
    field = _field(function, argument["name"]) if function else None
    is_here = argument["value"] == typed if call.items is None else argument["value"].startswith("[")
    if function is None or field is None or not is_here:
        return None
    values = _values(function, field, {name: _literal(text, namespace) for name, text in given.items()})
    return _strings(typed, code.after, [value for value in values if value not in (call.items or ())], "value")


def _argument(code: _Code, call: _Call, typed: str, given: Iterable[str], namespace: Mapping[str, Any]) -> Offer | None:
    """Offer what an argument begins with: the name of a parameter, and first in ``funcs.panel`` that of a function."""
    if isinstance(call.owner, _PanelOf) and len(call.parts) == 1:
        return _strings(typed, code.after, (one.name for one in call.owner.session.listed or ()), "function")
    if code.string is not None:
        return None
    given = [*given, *_GIVEN_AFTER.findall(code.after.partition(")")[0])]
    function = _called(call, namespace)
    if function:
        names = [field.identifier for field in _left(function, given)]
    elif _is_a(call.owner, "callables", "Options"):
        names = [one.name for one in dataclass_fields(call.owner) if one.name not in given]
    else:
        return None
    return Offer(typed, typed, _same(f"{name}=" for name in names), "param")


def _called(call: _Call, namespace: Mapping[str, Any]) -> RemoteFunction | None:
    if isinstance(call.owner, _PanelOf):
        return _function(call.owner.session, str(_literal(call.parts[0], namespace)))
    return call.owner if _is_a(call.owner, "callables", "RemoteFunction") else None


def _strings(typed: str, after: str, values: Iterable[str], kind: str) -> Offer:
    """Offer values as Python texts; where letters stand without quotes, others offer variables too."""
    writer = _Writer(lambda _: False, lambda value, end: value.replace("\\", r"\\").replace(end, rf"\{end}"))
    alone = typed[:1] in {"", "'", '"'}
    return Offer(typed, _unquoted_begin(typed), writer.candidates(values, typed, after), kind, alone)


def _attributes(owner: Any, typed: str) -> Offer:
    """Offer the slugs of a session's functions, and what a session or a function has; jedi would bind every one."""
    names = [name for name in {*dir(type(owner)), *vars(owner)} if name.startswith("_") <= typed.startswith("_")]
    catalog = None if _is_a(owner, "callables", "RemoteFunction") else owner.listed
    slugs = catalog.slugs if catalog else ()
    return Offer(typed, typed, _each(dict.fromkeys([*slugs, *sorted(names)])), "function")


def _resolve(node: ast.expr | None, namespace: Mapping[str, Any]) -> Any:
    """Give the session or the function that an expression stands for; no code of the user's or of a service's runs."""
    match node:
        case ast.Name(id=name):
            return namespace.get(name)
        case ast.Attribute(value=inner, attr=name):
            return _attribute(_resolve(inner, namespace), name)
        case ast.Subscript(value=inner, slice=ast.Constant(value=key)):
            owner = _resolve(inner, namespace)
            if _is_a(owner, "session", "Session"):
                return _function(owner, str(key))
            return owner.get(key) if type(owner) is dict else None
        case ast.Call(func=ast.Attribute(value=inner, attr="with_options")):
            return _resolve(inner, namespace)
    return None


def _attribute(owner: Any, name: str) -> Any:
    if _is_a(owner, "session", "Session"):
        if name == "panel":
            return _PanelOf(owner)
        return None if hasattr(type(owner), name) else _function(owner, name)
    if _is_a(owner, "callables", "RemoteFunction"):
        if name == "with_options":
            return owner.options
        return owner if name in _TAKE_PARAMETERS else None
    return inspect.getattr_static(owner, name, None)


def _is_a(value: object, room: str, name: str) -> bool:
    """Say whether a value is of a class of ours, without importing the heavy room that the class is in."""
    module = sys.modules.get(f"{__package__}.{room}")
    return module is not None and isinstance(value, getattr(module, name))


def _literal(text: str, namespace: Mapping[str, Any]) -> Any:
    """Give the value of a literal or of a variable; ``None`` for any other code."""
    text = text.strip()
    if text.isidentifier():
        return namespace.get(text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None

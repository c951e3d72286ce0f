"""Tab in Python code: the functions of a session, and the parameters and values of a call."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from dataclasses import fields as dataclass_fields
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.magic.candidates import (
    Offer,
    Quoting,
    find_function,
    known_values,
    offer,
    remaining_fields,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from jupyter_funcs.api import Session

_LONGEST_OWNER = 1_000
_DEEPEST = 200  # nested brackets
_MARKS = re.compile(r"#[^\n]*|[()\[\]{},]|\"\"\"|'''|[\"']")
# The content of a string, by its quotes: up to the closing ones, the end of the line, or the end of the text.
_STRINGS = {
    **{quote: re.compile(rf"(?s)(?:\\.|[^{quote}\\\n])*+") for quote in "'\""},
    **{quote * 3: re.compile(rf"(?s)(?:\\.|(?!{quote * 3})[^\\])*+") for quote in "'\""},
}
_SESSION = ("jupyter_funcs.api", "Session")
_FUNCTION = ("jupyter_funcs.api", "RemoteFunction")
_OPTIONS = ("jupyter_funcs.client.options", "CallOptions")
_ARGUMENT = re.compile(r"(?s)\s*(?P<name>\w+)\s*=(?!=)\s*(?P<value>.*)")
# The methods of a function that take its parameters.
_TAKE_PARAMETERS = {"submit", "form", "panel", "request", "sweep"}


class Bracket(NamedTuple):
    """An open bracket, and the commas directly within it, by their places."""

    at: int
    commas: list[int]


class Arguments(NamedTuple):
    """
    The arguments in a bracket up to the cursor, as written.

    `bracket` is the place of that one among the open ones. The last argument has no `name` yet if only a name may be at
    the cursor. If the cursor is in its list, `items` are those before it.
    """

    bracket: int
    parts: list[str]
    before: dict[str, str]
    name: str | None
    items: list[str]


class PartialCode:
    """Code up to the cursor: the brackets that are open there, and where an open string begins."""

    def __init__(self, before: str, after: str) -> None:
        self.after = after
        self.open: list[Bracket] = []
        self.string: int | None = None
        self._openings: dict[int, int] = {}  # by the place of the closing bracket
        pieces: list[str] = []  # with spaces for comments
        written = at = 0
        while found := _MARKS.search(before, at):
            mark, at = found[0], found.end()
            if mark in _STRINGS:
                content = _STRINGS[mark].match(before, at)
                assert content is not None  # it may be empty
                at = content.end()
                if at == len(before):
                    self.string = found.start()
                    break
                at += len(mark)
            elif mark[0] == "#":
                pieces += [before[written : found.start()], " " * len(mark)]
                written = at
            else:
                self._add(mark, found.start())
            if len(self.open) > _DEEPEST:
                self.open.clear()
                break
        self.before = "".join([*pieces, before[written:]])

    def _add(self, mark: str, at: int) -> None:
        if mark in "([{":
            self.open.append(Bracket(at, []))
        elif self.open and mark == ",":
            self.open[-1].commas.append(at)
        elif self.open:
            self._openings[at] = self.open.pop().at

    @property
    def begin(self) -> int:
        """Where the string or the name at the cursor begins."""
        return self.string if self.string is not None else self._name_begin(len(self.before))

    @property
    def typed(self) -> str:
        """The string or the name at the cursor, up to the cursor."""
        return self.before[self.begin :]

    def _name_begin(self, end: int) -> int:
        at = end
        while at and (self.before[at - 1].isalnum() or self.before[at - 1] == "_"):
            at -= 1
        return at

    def bracket(self, index: int) -> str:
        """Return the character of an open bracket."""
        return self.before[self.open[index].at]

    def owner(self, end: int) -> ast.expr | None:
        """Return the expression of names, attributes and brackets that ends here."""
        at = end
        while at and end - at <= _LONGEST_OWNER:
            if at - 1 in self._openings:
                at = self._openings[at - 1]
                continue
            at = self._name_begin(at)
            if self.before[at - 1 : at] != ".":
                break
            at -= 1
        if end - at > _LONGEST_OWNER:
            return None
        try:
            return ast.parse(self.before[at:end], mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def parts(self, index: int) -> list[str]:
        """Return the texts between the commas of an open bracket, up to the cursor."""
        bracket = self.open[index]
        ends = [*bracket.commas, len(self.before)]
        begins = [bracket.at + 1, *(comma + 1 for comma in bracket.commas)]
        return [self.before[begin:end] for begin, end in zip(begins, ends, strict=True)]

    def arguments(self, read: Callable[[str], re.Match[str] | None]) -> Arguments | None:
        """Return the arguments around the cursor; `read` finds the name and the value of one. `None` after one."""
        index = -1
        while -index < min(len(self.open), 3) and self.bracket(index) == "[":  # a list, or in a sweep one of lists
            index -= 1
        levels = [self.parts(at) for at in range(index, 0)]
        *before, last = levels[0]
        argument = read(last)
        *lists, at_cursor = [argument["value"] if argument else last, *(parts[-1] for parts in levels[1:])]
        is_list = argument is not None and all(text.lstrip().startswith("[") for text in lists)
        if at_cursor.lstrip() != self.typed or (lists and not is_list):
            return None
        given = {match["name"]: match["value"] for part in before if (match := read(part))}
        name = argument["name"] if argument else None
        return Arguments(index, levels[0], given, name, levels[-1][:-1] if lists else [])


class _PanelMethod(NamedTuple):
    """The method ``funcs.panel``, which takes a function's name and then its arguments."""

    session: Session


def in_python(code: PartialCode, namespace: Mapping[str, Any]) -> Offer | None:
    """Offer the attributes of a session or a function, names of functions, parameters and values."""
    begin, typed = code.begin, code.typed
    if code.string is None and code.before[begin - 1 : begin] == ".":
        owner = _resolve(code.owner(begin - 1), namespace)
        is_ours = _is_a(owner, _SESSION) or _is_a(owner, _FUNCTION)
        return _attributes(owner, typed) if is_ours else None
    if not code.open or typed.startswith(('"""', "'''")):
        return None
    if code.bracket(-1) == "[":
        session = _resolve(code.owner(code.open[-1].at), namespace)
        if _is_a(session, _SESSION):
            return _offer_functions(session, code)
    arguments = code.arguments(_ARGUMENT.fullmatch)
    if arguments is None or code.bracket(arguments.bracket) != "(":
        return None
    owner = _resolve(code.owner(code.open[arguments.bracket].at), namespace)
    if isinstance(owner, _PanelMethod):
        if arguments.name is None and len(arguments.parts) == 1:
            return _offer_functions(owner.session, code)
        owner = find_function(owner.session, str(_literal(arguments.parts[0], namespace)))
    return _in_call(owner, arguments, code, namespace)


def _in_call(owner: Any, arguments: Arguments, code: PartialCode, namespace: Mapping[str, Any]) -> Offer | None:
    """Offer the names or the values of the parameters of a function, or the names of its options."""
    if arguments.name is None:
        return _offer_names(owner, arguments.before, code) if code.string is None else None
    if not _is_a(owner, _FUNCTION):
        return None
    given = {name: _literal(text, namespace) for name, text in arguments.before.items()}
    items = [_literal(text, namespace) for text in arguments.items]
    values = known_values(owner, arguments.name, given, items)
    return None if values is None else _strings(code, values, "value")


def _offer_names(owner: Any, given: Iterable[str], code: PartialCode) -> Offer | None:
    if _is_a(owner, _FUNCTION):
        names = [field.identifier for field in remaining_fields(owner, given, code.after.partition(")")[0])]
    elif _is_a(owner, _OPTIONS):
        names = [option.name for option in dataclass_fields(owner) if option.name not in given]
    else:
        return None
    return offer(code.typed, [f"{name}=" for name in names], "param")


def _offer_functions(session: Session, code: PartialCode) -> Offer:
    return _strings(code, (function.name for function in session.listed or ()), "function")


def _strings(code: PartialCode, values: Iterable[str], kind: str) -> Offer:
    """Offer values as string literals; at letters without quotes, others may also offer variables."""
    quoting = Quoting(escape=lambda value, end: value.replace("\\", r"\\").replace(end, rf"\{end}"))
    in_quotes = code.typed[:1] in {"'", '"'}
    offered = quoting.offer(code.typed, values, code.after, kind)
    return offered._replace(alone=in_quotes or not code.typed, only=in_quotes)


def _attributes(owner: Any, typed: str) -> Offer:
    """Offer the slugs of a session's functions, then the attributes of its class; jedi would evaluate each of them."""
    names = [name for name in {*dir(type(owner)), *vars(owner)} if name.startswith("_") <= typed.startswith("_")]
    catalog = None if _is_a(owner, _FUNCTION) else owner.listed
    slugs = catalog.slugs if catalog else ()
    return offer(typed, dict.fromkeys([*slugs, *sorted(names)]), "function")


def _resolve(node: ast.expr | None, namespace: Mapping[str, Any]) -> Any:
    """Return the session or function that an expression names, without running the user's or a service's code."""
    match node:
        case ast.Name(id=name):
            return namespace.get(name)
        case ast.Attribute(value=inner, attr=name):
            return _attribute(_resolve(inner, namespace), name)
        case ast.Subscript(value=inner, slice=ast.Constant(value=key)):
            owner = _resolve(inner, namespace)
            if _is_a(owner, _SESSION):
                return find_function(owner, str(key))
            return owner.get(key) if type(owner) is dict else None
        case ast.Call(func=ast.Attribute(value=inner, attr="with_options")):
            return _resolve(inner, namespace)
    return None


def _attribute(owner: Any, name: str) -> Any:
    if _is_a(owner, _SESSION):
        if name == "panel":
            return _PanelMethod(owner)
        return None if hasattr(type(owner), name) else find_function(owner, name)
    if _is_a(owner, _FUNCTION):
        if name == "with_options":
            return owner.options
        return owner if name in _TAKE_PARAMETERS else None
    return inspect.getattr_static(owner, name, None)


def _is_a(value: object, kind: tuple[str, str]) -> bool:
    """Return whether a value is of one of our classes, without importing the class's heavy module."""
    path, name = kind
    module = sys.modules.get(path)
    return module is not None and isinstance(value, getattr(module, name))


def _literal(text: str, namespace: Mapping[str, Any]) -> Any:
    """Return the value of a literal or a variable, None for other code."""
    text = text.strip()
    if text.isidentifier():
        return namespace.get(text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None

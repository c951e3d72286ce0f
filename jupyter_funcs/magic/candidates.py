"""
What Tab knows without sending a request, and offers, written and quoted as the place at the cursor needs.

And that place, in Python or JSON: the brackets that are open there, and the arguments in them.
"""

from __future__ import annotations

import ast
import re
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.catalog.fields import part_named, with_parts
from jupyter_funcs.core.line import (
    QUOTES,
    Namespace,
    Values,
    in_double_quotes,
    read_value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from jupyter_funcs.api import RemoteFunction, Session
    from jupyter_funcs.catalog.fields import Field

_PLAIN_WORD = re.compile(r"[\w+./@%:-]+")
_PLAIN_NAME = re.compile(r"\w[\w.-]*")
_ARGUMENT_NAME = re.compile(r"\b([\w.]++)\s*+=(?!=)")
# The items of a list before the one being typed, and those of a list within it; each can be read in only one way.
_ITEM = r"(?>'[^']*'|\"[^\"]*\"|[^,'\"\[\]]*)\s*+"
_ITEMS_BEFORE = re.compile(
    rf"\[(?:\s*+(?:\[(?:\s*+{_ITEM},)*+\s*+{_ITEM}\]\s*+|{_ITEM}),)*+\s*+(?P<within>\[(?:\s*+{_ITEM},)*+\s*+)?"
)

_MARKS = re.compile(r"#[^\n]*|[()\[\]{},]|\"\"\"|'''|[\"']")
# The content of a string, by its quotes: up to the closing ones, the end of the line, or the end of the text.
_STRINGS = {
    **{quote: re.compile(rf"(?s)(?:\\.|[^{quote}\\\n])*+") for quote in "'\""},
    **{
        quote * 3: re.compile(rf"(?s)(?:\\.|(?!{quote * 3})[^\\])*+") for quote in "'\""
    },
}


class Offer(NamedTuple):
    """What fits at the cursor, in place of what was typed there."""

    typed: str
    texts: Iterable[str]
    kind: str
    alone: bool = True  # hides what others offer, if anything fits
    only: bool = False  # hides what others offer, even if nothing fits

    def fitting(self) -> Iterator[str]:
        """Yield the texts that begin with what was typed, in which a backslash may be written once or twice."""
        begin = without_quote(self.typed).casefold()
        for text in self.texts:
            folded = without_quote(text).casefold()
            if folded.startswith(begin) or folded.replace(r"\\", "\\").startswith(
                begin
            ):
                yield text


NOTHING = Offer("", (), "", only=True)


def _escape(value: str, end: str) -> str | None:
    if end in value:
        return None
    if end == '"':
        return value.replace("\\", r"\\")
    return value


class Quoting(NamedTuple):
    """How values are quoted at the cursor: which need no quotes, and how they are escaped; None if they can't be."""

    is_plain: Callable[[str], object] = lambda _: False
    escape: Callable[[str, str], str | None] = _escape

    def offer(self, typed: str, values: Iterable[str], after: str, kind: str) -> Offer:
        """Offer values, written in place of what was typed."""
        return Offer(
            typed,
            filter(None, (self._written(value, typed, after) for value in values)),
            kind,
        )

    def _written(self, value: str, typed: str, after: str) -> str | None:
        begin = typed[:1] if typed[:1] in QUOTES else ""
        if not begin and self.is_plain(value):
            return value
        for quote in begin or "\"'":
            end = QUOTES[quote]
            inner = self.escape(value, end)
            if inner is not None:
                # Many editors close a quote themselves.
                closing = "" if begin and after.startswith(end) else end
                return f"{quote}{inner}{closing}"

        return None


IN_LINE = Quoting(_PLAIN_WORD.fullmatch)


def without_quote(typed: str) -> str:
    return typed[1:] if typed[:1] in QUOTES else typed


class WrittenCall(NamedTuple):
    """A call in a line or a cell's body: its function, its arguments as written so far, and the user's variables."""

    function: RemoteFunction
    arguments: Mapping[str, str]
    namespace: Namespace

    def offer_values(
        self, name: str, typed: str, after: str, quoting: Quoting = IN_LINE
    ) -> Offer:
        """Offer the values of one more argument, by its name."""
        if typed.startswith("$"):
            return offer_variables(typed, self.namespace)
        items = []
        if typed.startswith("[") and (before := _ITEMS_BEFORE.match(typed)):
            items = read_value(f"{before['within'] or before[0]}]", self.namespace)
            typed = typed[before.end() :]
            quoting = IN_LINE

        values = known_values(self.function, name, self.values(), items)
        return quoting.offer(typed, values or [], after, "value")

    def values(self) -> Values:
        """Return the values of the arguments, without those that name an unknown variable."""
        return {
            name: read_value(text, self.namespace)
            for name, text in self.arguments.items()
            if not text.startswith("$") or text[1:] in self.namespace
        }


def offer_variables(typed: str, names: Iterable[str]) -> Offer:
    return Offer(
        typed,
        sorted(f"${name}" for name in names if not name.startswith("_")),
        "variable",
    )


def data_frames(namespace: Namespace) -> Values:
    """Return the variables that hold a DataFrame."""
    pandas = sys.modules.get("pandas")  # without it there is no DataFrame
    if pandas is None:
        return {}
    return {
        name: value
        for name, value in namespace.items()
        if isinstance(value, pandas.DataFrame)
    }


def find_function(session: Session | None, name: str) -> RemoteFunction | None:
    """Return a function of a session that has listed its functions, without asking the service."""
    if session is not None and session.listed is not None and name and name in session:
        return session[name]
    return None


def field_named(function: RemoteFunction, name: str) -> Field | None:
    folded = name.casefold()
    for field in function.fields:
        if folded in {field.name.casefold(), field.identifier.casefold()}:
            return field
    return part_named(function.fields, name)


def remaining_fields(
    function: RemoteFunction, arguments: Iterable[str], after: str = ""
) -> list[Field]:
    """Return the fields without an argument yet, and the parts of objects, each after the other parts of its object."""
    fields = [
        field_named(function, name)
        for name in (*arguments, *_ARGUMENT_NAME.findall(after))
    ]
    taken = {field.steps for field in fields if field}
    begun = {steps[:end] for steps in taken for end in range(1, len(steps))}
    left = [
        field
        for field in with_parts(function.fields)
        if field.steps not in begun and "[]" not in field.name
    ]
    return [
        field
        for field in left
        if taken.isdisjoint(field.steps[:end] for end in range(1, len(field.steps) + 1))
    ]


def name_in_line(field: Field) -> str:
    names = (field.name, field.identifier)
    return next(filter(_PLAIN_NAME.fullmatch, names), in_double_quotes(field.name))


def known_values(
    function: RemoteFunction,
    name: str,
    arguments: Mapping[str, Any],
    items: Collection[Any],
) -> list[str] | None:
    """Return the values of a field that are known and not among the items; `None` if there is no such field."""
    field = field_named(function, name)
    if field is None:
        return None
    return [
        value for value in _values(function, field, arguments) if value not in items
    ]


def _values(
    function: RemoteFunction, field: Field, arguments: Mapping[str, Any]
) -> list[str]:
    """Return the options of a field, else the values that its source listed, else its default."""
    if field.options:
        return list(field.options)
    if field.kind == "yes/no":
        return ["Yes", "No"]
    form = function.form()
    for name, value in arguments.items():
        if other := field_named(function, name):
            if other.kind != "list" and isinstance(value, list):
                value = next(iter(value), value)  # noqa: PLW2901  # of a sweep
            form[other.name] = value

    values = [choice.value for choice in function.known_choices(field, form.args)]
    if not values and field.default is not None:
        return [field.default]
    return values


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

    string: int | None = None

    def __init__(self, before: str, after: str) -> None:
        self.after = after
        # The place of each open bracket, then those of the commas directly within it.
        self.open: list[list[int]] = []
        self._openings: dict[int, int] = {}  # by the place of the closing bracket
        pieces = []  # with spaces for comments
        written = at = 0
        while match := _MARKS.search(before, at):
            mark = match[0]
            at = match.end()
            if mark in _STRINGS:
                content = _STRINGS[mark].match(before, at)
                assert content is not None
                at = content.end()
                if at == len(before):
                    self.string = match.start()
                    break
                at += len(mark)
            elif mark[0] == "#":
                pieces += [before[written : match.start()], " " * len(mark)]
                written = at
            else:
                self._add(mark, match.start())

        self.before = "".join([*pieces, before[written:]])

    def _add(self, mark: str, at: int) -> None:
        if mark in "([{":
            self.open.append([at])
        elif self.open and mark == ",":
            self.open[-1].append(at)
        elif self.open:
            self._openings[at] = self.open.pop()[0]

    @property
    def begin(self) -> int:
        """Where the string or the name at the cursor begins."""
        if self.string is not None:
            return self.string
        return self._name_begin(len(self.before))

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
        return self.before[self.open[index][0]]

    def owner(self, end: int) -> ast.expr | None:
        """Return the expression of names, attributes and brackets that ends here."""
        at = end
        while at:
            if at - 1 in self._openings:
                at = self._openings[at - 1]
                continue
            at = self._name_begin(at)
            if self.before[at - 1 : at] != ".":
                break
            at -= 1

        try:
            return ast.parse(self.before[at:end], mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def parts(self, index: int) -> list[str]:
        """Return the texts between the commas of an open bracket, up to the cursor."""
        places = pairwise([*self.open[index], len(self.before)])
        return [self.before[begin + 1 : end] for begin, end in places]

    def _outermost_list(self) -> int:
        """Return the bracket around a list at the cursor, or in a sweep one of lists; by its place from the end."""
        index = -1
        while -index < min(len(self.open), 3) and self.bracket(index) == "[":
            index -= 1
        return index

    def arguments(
        self, read: Callable[[str], re.Match[str] | None]
    ) -> Arguments | None:
        """Return the arguments around the cursor; `read` finds the name and the value of one. `None` after one."""
        index = self._outermost_list()
        levels = [self.parts(at) for at in range(index, 0)]
        *before, last = levels[0]
        argument = read(last)
        name = None
        if argument:
            name = argument["name"]
            last = argument["value"]

        *lists, at_cursor = [last, *(parts[-1] for parts in levels[1:])]
        is_list = name is not None and all(
            text.lstrip().startswith("[") for text in lists
        )
        if at_cursor.lstrip() != self.typed or (lists and not is_list):
            return None
        arguments = {
            match["name"]: match["value"] for match in filter(None, map(read, before))
        }
        return Arguments(
            index, levels[0], arguments, name, levels[-1][:-1] if lists else []
        )

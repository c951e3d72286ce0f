"""Code up to the cursor, in Python or JSON: its open brackets, and the arguments in them."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

_MARKS = re.compile(r"#[^\n]*|[()\[\]{},]|\"\"\"|'''|[\"']")
# The content of a string, by its quotes: up to the closing ones, the end of the line, or the end of the text.
_STRINGS = {
    **{quote: re.compile(rf"(?s)(?:\\.|[^{quote}\\\n])*+") for quote in "'\""},
    **{quote * 3: re.compile(rf"(?s)(?:\\.|(?!{quote * 3})[^\\])*+") for quote in "'\""},
}


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
        self.open: list[list[int]] = []  # the place of each open bracket, then those of the commas directly within it
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

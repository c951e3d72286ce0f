"""Text before the cursor that isn't finished yet: a line of `%funcs`, and Python or JSON code."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple, Self

from jupyter_funcs.core.line import NAME_AND_VALUE, name_and_arguments, split_open, unquoted
from jupyter_funcs.magic.usage import OPTIONS, is_table

_WITH_A_VALUE = {spelling for name, option in OPTIONS.items() if option.value for spelling in name.split("/")}
_LONGEST_OWNER = 1_000
_DEEPEST = 200  # nested brackets
_MARKS = re.compile(r"#[^\n]*|[()\[\]{},]|\"\"\"|'''|[\"']")
# The content of a string, by its quotes: up to the closing ones, the end of the line, or the end of the text.
_STRINGS = {
    **{quote: re.compile(rf"(?:\\.|[^{quote}\\\n])*+", re.DOTALL) for quote in "'\""},
    **{quote * 3: re.compile(rf"(?:\\.|(?!{quote * 3})[^\\])*+", re.DOTALL) for quote in "'\""},
}


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
        typed = "" if unclosed is None and line[-1:].isspace() else "".join(words[-1:])
        words = words[: len(words) - bool(typed)]
        plain, option, profile = [], "", ""
        for word in words:
            name, equals, value = word.partition("=")
            if option or (equals and name in _WITH_A_VALUE):
                name, value = (option, word) if option else (name, value)
                profile = unquoted(value) if name == "--profile" else profile
                option = ""
            elif word.startswith("-"):
                option = word if word in _WITH_A_VALUE else ""
            else:
                plain.append(word)
        name, equals, value = typed.partition("=")
        if not option and equals and name in _WITH_A_VALUE:
            option, typed = name, value
        return cls(plain, typed, option, profile)

    def call(self) -> tuple[str, dict[str, str], list[str]]:
        """Return the function's name, its arguments as written, and the names of a sweep's tables."""
        words = self.words[1:]
        tables = [word for word in words if is_table(word)] if self.words[:1] == ["sweep"] else []
        name, arguments = name_and_arguments([word for word in words if word not in tables])
        matches = map(NAME_AND_VALUE.fullmatch, arguments)
        given = {unquoted(match["name"]): match["value"] for match in matches if match}
        return name, given, [table[1:] for table in tables]


class Bracket(NamedTuple):
    """An open bracket, and the commas directly within it, by their places."""

    at: int
    commas: list[int]


class PartialCode:
    """Code up to the cursor: the brackets that are open there, and where an open string begins."""

    def __init__(self, before: str, after: str) -> None:
        self.before = before
        self.after = after
        self.open: list[Bracket] = []
        self.string: int | None = None
        self._openings: dict[int, int] = {}  # by the place of the closing bracket
        at = 0
        while found := _MARKS.search(before, at):
            mark, at = found[0], found.end()
            if mark in _STRINGS:
                content = _STRINGS[mark].match(before, at)
                at = at if content is None else content.end()
                if at == len(before):
                    self.string = found.start()
                    break
                at += len(mark)
            elif mark[0] == "#":
                self.before = self.before[: found.start()] + " " * len(mark) + self.before[at:]
            else:
                self._add(mark, found.start())
            if len(self.open) > _DEEPEST:
                self.open.clear()
                break

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

"""Code up to the cursor: which brackets and texts are open there. Python's, and JSON's, which nests in the same way."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

_LONGEST_OWNER = 1_000
_DEEPEST = 200  # brackets within brackets
_MARKS = re.compile(r"#[^\n]*|[()\[\]{},]|\"\"\"|'''|[\"']")
# What stands in a text, by its quotes: up to the closing ones, to the line's end, or to the end of what there is.
_STRINGS = {
    **{quote: re.compile(rf"(?:\\.|[^{quote}\\\n])*+", re.DOTALL) for quote in "'\""},
    **{quote * 3: re.compile(rf"(?:\\.|(?!{quote * 3})[^\\])*+", re.DOTALL) for quote in "'\""},
}


class Bracket(NamedTuple):
    """A bracket: where it is, and where the commas directly within it are."""

    at: int
    commas: list[int]


class Code:
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
        self.open: list[Bracket] = []
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
            self.open.append(Bracket(at, []))
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

    def parts(self, bracket: Bracket) -> list[str]:
        """Give what stands between the commas of an open bracket, up to the cursor."""
        ends = [*bracket.commas, len(self.before)]
        begins = [bracket.at + 1, *(comma + 1 for comma in bracket.commas)]
        return [self.before[begin:end] for begin, end in zip(begins, ends, strict=True)]

"""The values that a field may take, searched here: a browser is sent a page of them. No widget here."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from jupyter_funcs.text import clip, inert

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_funcs.choices import Choice

PAGE = 20
_LONGEST = 120


class Offers:
    """
    The values of a listing, each with the text that stands for it.

    Parameters
    ----------
    choices
        The values with their labels, in the listing's order.
    """

    def __init__(self, choices: Sequence[Choice] = ()) -> None:
        self._value_by_text: dict[str, str] = {}
        for choice in choices:
            self._value_by_text.setdefault(_text(choice), choice.value)

    def __len__(self) -> int:
        """Give the number of values."""
        return len(self._value_by_text)

    def __contains__(self, value: object) -> bool:
        """Say whether a value is among them, in this spelling."""
        return value in self._text_by_value

    def begins(self, value: str) -> bool:
        """Say whether it is one of the values or of the words that these begin with, as a ticker does; in any case."""
        folded = " ".join(value.split()).casefold()
        return folded in self._value_by_folded or folded in self._first_words

    def items(self) -> list[tuple[str, str]]:
        """Give every text with its value."""
        return list(self._value_by_text.items())

    def page(self, words: str = "") -> list[str]:
        """Give the first texts that hold what was typed: those that begin with it, hold it, hold its words."""
        wanted = words.strip().casefold()
        if not wanted:
            return list(self._value_by_text)[:PAGE]
        begin, hold, scattered = [], [], []
        parts = wanted.split()
        for folded, text in self._folded:
            if folded.startswith(wanted):
                begin.append(text)
                if len(begin) == PAGE:
                    break
            elif wanted in folded:
                hold.append(text)
            elif all(part in folded for part in parts):
                scattered.append(text)
        return [*begin, *hold, *scattered][:PAGE]

    def value(self, text: str) -> str | None:
        """Give the value that a text stands for, in any case of letters; ``None`` where none is listed."""
        found = self._value_by_text.get(text.strip())
        return self._value_by_folded.get(text.strip().casefold()) if found is None else found

    def text(self, value: str) -> str:
        """Give the text that stands for a value; else the value itself."""
        return self._text_by_value.get(value, value)

    def picked(self, text: str) -> list[str]:
        """
        Give the values that a text in a box says for certain, so that they are taken without Enter; else none.

        One that was picked from the page, or typed whole where none goes on from it. Or a pasted column, of which a
        box of one line makes one line.
        """
        folded = text.strip().casefold()
        if not folded or any(other.startswith(folded) and other != folded for other in self._ends):
            return []
        if folded in self._value_by_folded:
            return [self._value_by_folded[folded]]
        return self._split(folded.split())

    def _split(self, words: list[str]) -> list[str]:
        values = []
        at = 0
        while at < len(words):
            # The longest value first: 'Maison' may be one as well as 'Maison Ordrelle'.
            ends = range(min(len(words), at + self._most_words), at, -1)
            end = next((end for end in ends if " ".join(words[at:end]) in self._value_by_folded), None)
            if end is None:
                return []
            values.append(self._value_by_folded[" ".join(words[at:end])])
            at = end
        return values

    @cached_property
    def _text_by_value(self) -> dict[str, str]:
        return {value: text for text, value in reversed(self._value_by_text.items())}

    @cached_property
    def _folded(self) -> list[tuple[str, str]]:
        return [(text.casefold(), text) for text in self._value_by_text]

    @cached_property
    def _value_by_folded(self) -> dict[str, str]:
        """The value by itself and by its text, in small letters; the text wins."""
        values = {" ".join(value.split()).casefold(): value for value in reversed(self._text_by_value)}
        return values | {folded: self._value_by_text[text] for folded, text in reversed(self._folded)}

    @cached_property
    def _first_words(self) -> set[str]:
        return {word for value in self._text_by_value for word in value.casefold().split(maxsplit=1)[:1]}

    @cached_property
    def _ends(self) -> list[str]:
        return list(self._value_by_folded)

    @cached_property
    def _most_words(self) -> int:
        return max((len(folded.split()) for folded in self._value_by_folded), default=0)


def _text(choice: Choice) -> str:
    label = f" — {choice.label}" if choice.label else ""
    return clip(inert(f"{choice.value}{label}"), _LONGEST)

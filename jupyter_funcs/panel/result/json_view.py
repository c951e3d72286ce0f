"""The reply of a run as it came, to look through: folded HTML of a bounded size, a page at a time. No widget here."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from jupyter_funcs.errors import ProtocolError
from jupyter_funcs.formats import nested_text
from jupyter_funcs.json_reply import (
    LONGEST_KEY,
    PAGE,
    Encoded,
    at,
    bare,
    items_of,
    pairs,
    path_text,
    places,
    read,
    walk,
)
from jupyter_funcs.text import clip, inert, json_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.json_reply import Path

# Characters of HTML: of a page's items, of one of them, and of all that stands around them.
_PAGE_INK, _ITEM_INK, _SIDE_INK = 45_000, 12_000, 6_000
_LONGEST_TEXT = 400
_DEEPEST = 12
_MOST_SEARCHED = 2_000_000
# A longer reply is shown as text: its values would take ten times its size in memory.
_MOST_READ = 16 * 2**20
_TEXT_PAGE = 9_500  # characters, of which each may take six as an escape
_AROUND = 60


@dataclass(frozen=True, slots=True)
class Page:
    """
    What is shown at a time.

    Attributes
    ----------
    html
        At most some 60 kB, in which nothing of the reply is markup.
    first, last
        The items shown, counted from 0; `last` is not among them.
    total
        How many there are.
    what
        What is counted: rows, keys, matches or characters.
    said
        What else a person should know; often nothing.
    """

    html: str
    first: int
    last: int
    total: int
    what: str
    said: str = ""


class Reply:
    """
    A reply that is looked through.

    Parameters
    ----------
    data
        The body as it came.

    Attributes
    ----------
    said
        How it was read; nothing for plain JSON.
    places
        The longest arrays and objects in it with their number of items, the longest first; pages go through one.
    """

    def __init__(self, data: bytes) -> None:
        self.said = ""
        self.places: list[tuple[Path, int]] = [((), 0)]
        self._text: str | None = None
        self._value: Any = None
        if len(data) > _MOST_READ:
            self._text = data.decode(errors="replace")
            self.said = "This reply is long, and is shown as the text that it is."
            return
        try:
            self._value, self.said = read(data)
        except ProtocolError as error:
            self._text = data.decode(errors="replace")
            self.said = f"{error.lines[0]} It is shown as text."
            return
        self.places = places(self._value) or self.places

    def page(self, place: Path = (), first: int = 0) -> Page:
        """
        Give the reply with a page of one array or object in it.

        Parameters
        ----------
        place
            Which one, of `places`.
        first
            The item to begin with.
        """
        if self._text is not None:
            last = min(first + _TEXT_PAGE, len(self._text))
            shown = _safe(_visible(self._text[first:last]))
            return Page(f"<pre>{shown}</pre>", first, last, len(self._text), "characters")
        writing = _Writing(place, first)
        shown = writing.node("", self._value, (), _SIDE_INK)
        items = items_of(at(self._value, place))
        what = "keys" if isinstance(at(self._value, place), dict) else "rows"
        return Page(shown, first, first + writing.shown, len(items) if items is not None else 0, what)

    def find(self, words: str, first: int = 0, stop: Callable[[], bool] = lambda: False) -> Page:
        """
        Give the keys and values in which a text occurs, in capital or small letters.

        Parameters
        ----------
        words
            The text.
        first
            The match to begin with.
        stop
            Asked now and then whether nobody waits for the answer any more.
        """
        pattern = re.compile(re.escape(words), re.IGNORECASE)
        if self._text is not None:
            hits = [match.span() for match in islice(pattern.finditer(self._text), _MOST_SEARCHED)]
            shown = [f"<div>{_in_text(self._text, *span)}</div>" for span in hits[first : first + PAGE]]
            return Page("".join(shown), first, first + len(shown), len(hits), "matches")
        shown, total, ink = [], 0, _PAGE_INK
        seen = 0
        for seen, (path, value) in enumerate(walk(self._value), 1):
            if seen > _MOST_SEARCHED or (seen % 4096 == 0 and stop()):
                break
            matched = _match(pattern, path, value)
            if matched is None:
                continue
            total += 1
            if total > first and len(shown) < PAGE and ink > 0:
                shown.append(self._hit(tuple(path), matched))
                ink -= len(shown[-1])
        said = f"Only the first {_MOST_SEARCHED:,} keys and values were searched." if seen > _MOST_SEARCHED else ""
        return Page("".join(shown), first, first + len(shown), total, "matches", said)

    def _hit(self, path: Path, matched: str) -> str:
        head = f"<summary><b>{_safe(path_text(path))}</b>: {matched}</summary>"
        around = at(self._value, path[:-1])
        return f"<details>{head}{_Writing().inside(around, (), 2000)}</details>" if path else f"<div>{matched}</div>"


# What JSON writes for a value, without the time that its encoder takes to begin.
_LEAVES: dict[type, Callable[[Any], str]] = {
    str: str,
    int: repr,
    float: repr,
    bool: json_text,
    type(None): json_text,
}


def _match(pattern: re.Pattern[str], path: list[str | int], value: Any) -> str | None:
    """Give the HTML of what matches: the value around the match, or the value whose key matches."""
    if write := _LEAVES.get(type(leaf := bare(value))):
        text = write(leaf)
        if match := pattern.search(text):
            return _in_text(text, *match.span())
    if path and isinstance(path[-1], str) and pattern.search(path[-1]):
        return _safe(clip(inert(nested_text(_plain(value))), _LONGEST_TEXT))
    return None


def _in_text(text: str, start: int, end: int) -> str:
    end = min(end, start + _LONGEST_TEXT)
    before, after = max(0, start - _AROUND), end + _AROUND
    shown = [_safe(inert(part)) for part in (text[before:start], text[start:end], text[end:after])]
    # inert takes the spaces at the ends away.
    gaps = [" " * text[before:start].endswith(" "), " " * text[end:after].startswith(" ")]
    marked = f"{shown[0]}{gaps[0]}<mark>{shown[1]}</mark>{gaps[1]}{shown[2]}"
    return f"{'…' * (before > 0)}{marked}{'…' * (after < len(text))}"


def _plain(value: Any) -> Any:
    value = bare(value)
    if isinstance(value, dict):
        return {key: bare(inner) for key, inner in islice(value.items(), PAGE)}
    return value


# Writing it


def _safe(text: str) -> str:
    # What stands between tags needs no escape for its quotes, of which JSON has many.
    return html.escape(text, quote=False)


class _Writing:
    """One page's HTML: an open array or object whose items are gone through, and the rest around it, in short."""

    def __init__(self, place: Path | None = None, first: int = 0) -> None:
        self._place = place
        self._first = first
        self.shown = 0  # of the items of the place

    def node(self, key: str, value: Any, path: Path, ink: int) -> str:
        """Give a value behind its key, in about `ink` characters at most."""
        note = ""
        while isinstance(value, Encoded):
            note += f" <i>· a text of {value.length:,} characters that holds JSON</i>"
            value = value.value
        items = items_of(value)
        if items is None:
            return f"<div>{key}{_scalar(value)}{note}</div>"
        if not items:
            return f"<div>{key}{'{}' if isinstance(value, dict) else '[]'}{note}</div>"
        if len(path) >= _DEEPEST:
            return f"<div>{key}<i>{_count(items)}, nested more deeply than is shown; search finds them</i></div>"
        leads = self._place is not None and self._place[: len(path)] == path
        preview = "" if leads else f" {_safe(clip(inert(nested_text(_plain(value))), 100))}"
        summary = f"<summary>{key}<i>{_count(items)}</i>{note}{preview}</summary>"
        return f"<details{' open' if leads else ''}>{summary}{self.inside(value, path, ink)}</details>"

    def inside(self, value: Any, path: Path, ink: int) -> str:
        """Give the items of an array or an object, as many as fit."""
        paged = path == self._place
        items = items_of(value) or []
        first = self._first if paged else 0
        left = _PAGE_INK if paged else ink
        lines: list[str] = []
        for name, item in islice(pairs(value), first, first + PAGE):
            # What is on the way to the page is written whatever it takes; it is bounded by its depth.
            on_the_way = self._place is not None and self._place[: len(path) + 1] == (*path, name)
            if left <= 0 and not on_the_way:
                continue
            line = self.node(_key(name), item, (*path, name), min(left, _ITEM_INK) if paged else left // 2)
            if paged and lines and len(line) > left:
                break
            lines.append(line)
            left -= 0 if on_the_way else len(line)
        if paged:
            self.shown = len(lines)
        hidden = 0 if paged else len(items) - len(lines)
        more = f'<div class="jf-quiet">… {hidden:,} more</div>' if hidden else ""
        return f'<div class="jf-in">{"".join(lines)}{more}</div>'


def _key(name: str | int) -> str:
    text = str(name) if isinstance(name, int) else json_text(clip(name, LONGEST_KEY))
    return f"<b>{_safe(text)}</b>: "


def _count(items: list[Any] | dict[str, Any]) -> str:
    what = "key" if isinstance(items, dict) else "item"
    return f"{len(items):,} {what}{'s' * (len(items) != 1)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        shown = _safe(json_text(value[:_LONGEST_TEXT])[:-1])
        return f"{shown}… <i>{len(value):,} characters in all</i>"
    return _safe(clip(json_text(value), 2 * _LONGEST_TEXT))


def _visible(text: str) -> str:
    """Give a text with its lines, and an escape for every other character that cannot be seen."""
    return "".join(char if char.isprintable() or char == "\n" else json_text(char)[1:-1] for char in text)

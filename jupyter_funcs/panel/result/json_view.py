"""The reply of a run as it came, to look through: folded HTML of a bounded size, a page at a time. No widget here."""

from __future__ import annotations

import contextlib
import html
import json
import re
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from operator import getitem
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core.errors import ProtocolError
from jupyter_funcs.core.json_decoding import decode, decode_lines
from jupyter_funcs.core.text import clip, inert, json_text
from jupyter_funcs.frames.display import nested_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


PAGE = 50
LONGEST_KEY = 80

_MOST_PLACES = 40
_ENCODED = re.compile(r'\ufeff?\s*[\[{"]')
_PLAIN_KEY = re.compile(r"[A-Za-z_]\w*", re.ASCII)

Path = tuple[str | int, ...]
# By the id of an array or object that the reply holds as a text: the length of this text, and of those inside it.
Encoded = dict[int, list[int]]


def read(data: bytes, encoded: Encoded) -> tuple[Any, str]:
    try:
        return _opened(_decoded(data), encoded), ""
    except ProtocolError:
        with contextlib.suppress(ProtocolError):
            if b"\n" in data.strip():
                return decode_lines(data), "The reply holds one JSON document a line."
        raise


def _decoded(document: bytes | str) -> Any:
    try:
        text = document if isinstance(document, str) else document.decode("utf-8-sig")
        return json.loads(text)  # it keeps NaN as it came, and warns of nothing
    except (ValueError, RecursionError):
        return decode(document)  # which says what is wrong


def _opened(value: Any, encoded: Encoded, depth: int = 0) -> Any:
    """Read the arrays and objects that stand as JSON in texts around the rows, as in an envelope's body."""
    if isinstance(value, str) and _ENCODED.match(value):
        with contextlib.suppress(ProtocolError):
            inner = _opened(_decoded(value), encoded, depth)
            if isinstance(inner, (list, dict)):
                encoded.setdefault(id(inner), []).insert(0, len(value))
                return inner
    elif isinstance(value, dict) and depth < 3 and len(value) <= PAGE:
        return {key: _opened(inner, encoded, depth + 1) for key, inner in value.items()}
    return value


def pairs(value: Any) -> Iterable[tuple[str | int, Any]]:
    return value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()


def at(value: Any, path: Path) -> Any:
    return reduce(getitem, path, value)


def places(value: Any) -> list[tuple[Path, int]]:
    found: list[tuple[Path, int]] = []
    level: list[tuple[Path, Any]] = [((), value)]
    for _ in range(5):
        below: list[tuple[Path, Any]] = []
        for path, each in level:
            if not isinstance(each, (list, dict)):
                continue
            found.append((path, len(each)))
            if len(each) <= PAGE or not path:
                below += [((*path, key), inner) for key, inner in islice(pairs(each), PAGE)]
        level = below
    longest = max((count for _, count in found), default=0)
    found.sort(key=lambda place: -place[1])  # of equals the first and the outermost, as they were found
    # Short ones are seen whole, wherever the page is.
    return [place for place in found if place[1] > PAGE or place[1] == longest][:_MOST_PLACES]


def walk(root: Any) -> Iterator[tuple[list[str | int], Any]]:
    """Go through every key and value, without a call a level: a reply may be nested deeply."""
    path: list[str | int] = []
    yield path, root
    open_ones = [iter(pairs(root))]
    while open_ones:
        for key, value in open_ones[-1]:
            path.append(key)
            yield path, value
            if isinstance(value, (list, dict)):
                open_ones.append(iter(pairs(value)))
                break
            path.pop()
        else:
            open_ones.pop()
            if path:
                path.pop()


def path_text(path: Path) -> str:
    """Give a place in a reply as a person writes it: ``body[3].Symbol``."""
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        elif _PLAIN_KEY.fullmatch(key) and len(key) <= LONGEST_KEY:
            text += f".{key}" if text else key
        else:
            text += f"[{json_text(clip(key, LONGEST_KEY))}]"
    return text or "the whole reply"


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
    """What is shown at a time."""

    html: str
    first: int
    last: int
    total: int
    what: str
    said: str = ""


class JsonReply:
    """A reply that is looked through."""

    def __init__(self, data: bytes) -> None:
        self.said = ""
        self.places: list[tuple[Path, int]] = [((), 0)]
        self._text: str | None = None
        self._value: Any = None
        self._encoded: Encoded = {}
        if len(data) > _MOST_READ:
            self._text = data.decode(errors="replace")
            self.said = "This reply is long, and is shown as the text that it is."
            return
        try:
            self._value, self.said = read(data, self._encoded)
        except ProtocolError as error:
            self._text = data.decode(errors="replace")
            self.said = f"{error.lines[0]} It is shown as text."
            return
        self.places = places(self._value) or self.places

    def page(self, place: Path = (), first: int = 0) -> Page:
        """Give the reply with a page of one array or object in it."""
        if self._text is not None:
            last = min(first + _TEXT_PAGE, len(self._text))
            shown = _safe(_visible(self._text[first:last]))
            return Page(f"<pre>{shown}</pre>", first, last, len(self._text), "characters")
        writing = _Writing(self._encoded, place, first)
        shown = writing.node("", self._value, (), _SIDE_INK)
        items = at(self._value, place)
        total = len(items) if isinstance(items, (list, dict)) else 0
        return Page(shown, first, first + writing.shown, total, "keys" if isinstance(items, dict) else "rows")

    def find(self, words: str, first: int = 0, stop: Callable[[], bool] = lambda: False) -> Page:
        """Give the keys and values in which a text occurs, in capital or small letters."""
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
        inside = _Writing(self._encoded).inside(at(self._value, path[:-1]), (), 2000)
        return f"<details>{head}{inside}</details>" if path else f"<div>{matched}</div>"


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
    if write := _LEAVES.get(type(value)):
        text = write(value)
        if match := pattern.search(text):
            return _in_text(text, *match.span())
    if path and isinstance(path[-1], str) and pattern.search(path[-1]):
        return _safe(_preview(value, _LONGEST_TEXT))
    return None


def _in_text(text: str, start: int, end: int) -> str:
    end = min(end, start + _LONGEST_TEXT)
    before, after = max(0, start - _AROUND), end + _AROUND
    shown = [_safe(inert(part)) for part in (text[before:start], text[start:end], text[end:after])]
    # inert takes the spaces at the ends away.
    gaps = [" " * text[before:start].endswith(" "), " " * text[end:after].startswith(" ")]
    marked = f"{shown[0]}{gaps[0]}<mark>{shown[1]}</mark>{gaps[1]}{shown[2]}"
    return f"{'…' * (before > 0)}{marked}{'…' * (after < len(text))}"


def _preview(value: Any, length: int) -> str:
    return clip(inert(nested_text(value)), length)


# Writing it


def _safe(text: str) -> str:
    # What stands between tags needs no escape for its quotes, of which JSON has many.
    return html.escape(text, quote=False)


class _Writing:
    """One page's HTML: an open array or object whose items are gone through, and the rest around it, in short."""

    def __init__(self, encoded: Encoded, place: Path | None = None, first: int = 0) -> None:
        self._encoded = encoded
        self._place = place
        self._first = first
        self.shown = 0  # of the items of the place

    def node(self, key: str, value: Any, path: Path, ink: int) -> str:
        """Give a value behind its key, in about `ink` characters at most."""
        if not isinstance(value, (list, dict)):
            return f"<div>{key}{_scalar(value)}</div>"
        lengths = self._encoded.get(id(value), ())
        note = "".join(f" <i>· a text of {length:,} characters that holds JSON</i>" for length in lengths)
        if not value:
            return f"<div>{key}{'{}' if isinstance(value, dict) else '[]'}{note}</div>"
        if len(path) >= _DEEPEST:
            return f"<div>{key}<i>{_count(value)}, nested more deeply than is shown; search finds them</i></div>"
        leads = self._place is not None and self._place[: len(path)] == path
        preview = "" if leads else f" {_safe(_preview(value, 100))}"
        summary = f"<summary>{key}<i>{_count(value)}</i>{note}{preview}</summary>"
        return f"<details{' open' if leads else ''}>{summary}{self.inside(value, path, ink)}</details>"

    def inside(self, value: Any, path: Path, ink: int) -> str:
        """Give the items of an array or an object, as many as fit."""
        paged = path == self._place
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
        hidden = 0 if paged else len(value) - len(lines)
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

"""The reply of a run as it came: what is in it, also behind texts that hold JSON once more, and where. No HTML here."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from jupyter_funcs.errors import ProtocolError
from jupyter_funcs.notices import cleaned
from jupyter_funcs.text import clip, json_text
from jupyter_funcs.wire import decode, decode_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PAGE = 50
LONGEST_KEY = 80

_MOST_PLACES = 40
_ENCODED = re.compile(r'\ufeff?\s*[\[{"]')
_PLAIN_KEY = re.compile(r"[A-Za-z_]\w*", re.ASCII)

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A JSON document that the reply holds as a text, of so many characters, and what it says."""

    value: Any
    length: int


class _OddError(Exception):
    """What JSON does not allow stands in the reply."""


def _refuse(_: str) -> str:
    raise _OddError


def read(data: bytes) -> tuple[Any, str]:
    try:
        return _opened(_quietly(data)), ""
    except ProtocolError:
        if b"\n" not in data.strip():
            raise
        try:
            return decode_lines(data), "The reply holds one JSON document a line."
        except ProtocolError:
            pass
        raise


def _quietly(document: bytes | str) -> Any:
    """Decode without the warnings that the frame's own reading has given already."""
    told = cleaned.set(_refuse)
    try:
        return decode(document)
    except _OddError:
        try:
            return json.loads(document)  # it keeps NaN as it came
        except (ValueError, RecursionError):
            raise ProtocolError("The reply is not JSON.", "") from None
    finally:
        cleaned.reset(told)


def _opened(value: Any, depth: int = 0) -> Any:
    """Read the JSON that stands in texts around the rows, as in an envelope's body."""
    if isinstance(value, str) and _ENCODED.match(value):
        try:
            return Encoded(_opened(_quietly(value), depth), len(value))
        except ProtocolError:
            return value
    if isinstance(value, dict) and depth < 3 and len(value) <= PAGE:
        return {key: _opened(inner, depth + 1) for key, inner in value.items()}
    return value


def items_of(value: Any) -> list[Any] | dict[str, Any] | None:
    value = bare(value)
    return value if isinstance(value, (list, dict)) else None


def bare(value: Any) -> Any:
    while isinstance(value, Encoded):
        value = value.value
    return value


def pairs(value: Any) -> Iterable[tuple[str | int, Any]]:
    value = bare(value)
    return value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()


def at(value: Any, path: Path) -> Any:
    value = bare(value)
    for key in path:
        value = bare(value[key])
    return value


def places(value: Any) -> list[tuple[Path, int]]:
    found: list[tuple[Path, int]] = []
    level: list[tuple[Path, Any]] = [((), value)]
    for _ in range(5):
        below: list[tuple[Path, Any]] = []
        for path, each in level:
            items = items_of(each)
            if items is None:
                continue
            found.append((path, len(items)))
            if len(items) <= PAGE or not path:
                below += [((*path, key), inner) for key, inner in islice(pairs(each), PAGE)]
        level = below
    longest = max((count for _, count in found), default=0)
    found.sort(key=lambda place: -place[1])  # of equals the first and the outermost, as they were found
    # Short ones are seen whole, wherever the page is.
    return [place for place in found if place[1] > PAGE or place[1] == longest][:_MOST_PLACES]


_WITH_ITEMS = {list, dict, Encoded}


def walk(root: Any) -> Iterator[tuple[list[str | int], Any]]:
    """Go through every key and value, without a call a level: a reply may be nested deeply."""
    path: list[str | int] = []
    yield path, root
    open_ones = [iter(pairs(root))]
    while open_ones:
        for key, value in open_ones[-1]:
            path.append(key)
            yield path, value
            if type(value) in _WITH_ITEMS and items_of(value) is not None:
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

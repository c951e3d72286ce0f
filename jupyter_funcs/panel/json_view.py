"""The reply of a run as a tree, exactly as it arrived. Parses one level at a time, because replies may be long."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from jupyter_funcs.core.errors import ArgumentError, ProtocolError
from jupyter_funcs.core.json_decoding import decode, decode_lines
from jupyter_funcs.core.text import (
    clip,
    inert,
    json_text,
    quote,
    replace_surrogates,
    visible,
)
from jupyter_funcs.frames.display import nested_text
from jupyter_funcs.panel.requests import Json, JsonPath, Number, Searched, answers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Opened = tuple[Any, Any]  # a value, and its source

PAGE = 50
_DEEPEST = 100
# Characters of a text, a key, and a preview of an object.
_LONGEST = 400
_LONGEST_KEY = 1_000
_PREVIEW = 100
_ON_A_LINE = 300  # characters of an array that may be shown whole
_LONGEST_COPY = 5_000_000  # bytes
_MOST_HITS = 500
_PATIENCE = 5.0  # seconds
_LOOK = 1_000_000  # bytes; longer values are parsed, not searched first
# Arrays and objects whose items aren't parsed, by how they begin.
_UNPARSED: dict[bytes, Any] = {
    b"{": dict[str, msgspec.Raw],
    b"[": list[msgspec.Raw],
}
_NAMES = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    type(None): "null",
}


class JsonTree:
    """The tree of a reply. All methods may be called from any thread."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @answers("json")
    def node(self, path: JsonPath, first: Number = 0) -> Json:
        """Return a value of the reply, with up to 50 of its items."""
        if len(path) > _DEEPEST:
            raise ArgumentError(
                f"The tree shows {_DEEPEST} levels, and this is deeper.",
                "Copy the reply instead.",
            )

        value, came = self._at(path)
        node = _told(value, came)
        if first > (total := node["total"]):
            raise ArgumentError(
                f"There is no item {first:,}: there are {total:,}.",
                "Fold the node and open it again.",
            )

        page = islice(_items(value), first, first + PAGE)
        children = [{"key": _key(key), **_told(*_opened(item))} for key, item in page]
        return node | {"children": children}

    @answers("json_text")
    def text(self) -> str:
        """Return the reply as it arrived, to copy it."""
        if len(self._data) > _LONGEST_COPY:
            raise ArgumentError(
                "The reply is longer than 5 MB.", "Save the result as JSON instead."
            )
        return self._data.decode("utf-8-sig", errors="replace")

    @answers("json_find")
    def find(self, text: Searched) -> Json:
        """Find a text in keys and values, ignoring case; a hit is a list of positions, one per level from the top."""
        until = time.monotonic() + _PATIENCE
        places = _found(text.casefold(), self._root[1], [], until)
        hits = list(islice(places, _MOST_HITS + 1))
        return {
            "hits": hits[:_MOST_HITS],
            "more": len(hits) > _MOST_HITS,
            "all": time.monotonic() < until,
        }

    @cached_property
    def _root(self) -> Opened:
        """The outermost value, if possible with its items unparsed, and its source."""
        data = self._data.removeprefix(b"\xef\xbb\xbf")
        with suppress(msgspec.MsgspecError, RecursionError, UnicodeError):
            return _opened(msgspec.json.decode(data, type=msgspec.Raw))
        value = _read(data)
        return value, value

    def _at(self, path: JsonPath) -> Opened:
        opened = self._root
        for key in path:
            try:
                opened = _opened(opened[0][key])
            except (LookupError, TypeError):
                what = f"The reply has nothing at {quote(key)}."
                raise ArgumentError(what, "Fold the tree and open it again.") from None

        return opened


def _items(value: Any) -> Iterable[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def _found(
    text: str, came: Any, places: list[int], until: float
) -> Iterator[list[int]]:
    """Search a value in order. What can't contain the text isn't parsed: its bytes are searched first."""
    if time.monotonic() > until or not _may_hold(text, came):
        return

    value, came = _opened(came)
    if not isinstance(value, dict | list):
        shown = value if isinstance(value, str) else _start(came)
        if text in shown.casefold():
            yield places
        return

    for at, (key, item) in enumerate(_items(value)):
        if isinstance(key, str) and text in key.casefold():
            yield [*places, at]
        elif len(places) < _DEEPEST:
            yield from _found(text, item, [*places, at], until)


def _may_hold(text: str, item: Any) -> bool:
    """Return whether a value may contain a text, as its unparsed bytes tell."""
    if not isinstance(item, msgspec.Raw) or len(memoryview(item)) > _LOOK:
        return True
    raw = bytes(item)
    return b"\\" in raw or text in raw.decode(errors="replace").casefold()


def _read(data: bytes) -> Any:
    """Parse a reply that only Python's decoder takes, which keeps NaN and the like, or only ours, or line by line."""
    with suppress(ValueError, RecursionError):
        return json.loads(data)
    try:
        return decode(data)
    except ProtocolError:
        if b"\n" in data.strip():
            with suppress(ProtocolError):
                return decode_lines(data)
        raise


def _opened(came: Any) -> Opened:
    """Return a value with its items unparsed, and its source; parses arrays and objects inside of texts too."""
    value = came
    if isinstance(came, msgspec.Raw):
        first = bytes(memoryview(came)[:1])
        try:
            value = msgspec.json.decode(came, type=_UNPARSED.get(first, Any))
        except (msgspec.MsgspecError, UnicodeError):
            # Such as half a pair of surrogates.
            return json.loads(bytes(came)), came

    if isinstance(value, str) and value.lstrip()[:1] in {"[", "{"}:
        with suppress(msgspec.MsgspecError, RecursionError, UnicodeError):
            raw = msgspec.json.decode(value, type=msgspec.Raw)
            return _opened(raw)[0], raw

    return value, came


def _key(key: str | int) -> str | int:
    return key if isinstance(key, int) else replace_surrogates(clip(key, _LONGEST_KEY))


def _told(value: Any, came: Any) -> Json:
    """Return the type, text and number of items of a value; `whole` says whether the text is complete."""
    total = 0
    whole = True
    if isinstance(value, dict | list):
        text = inert(_start(came))
        total = len(value)
        is_short = (
            isinstance(value, list) and text.endswith("]") and len(text) <= _ON_A_LINE
        )
        whole = not total or (is_short and set(text[1:]).isdisjoint("[{"))
        text = text if whole else clip(text, _PREVIEW)
    elif isinstance(value, str):
        text = json_text(value[:_LONGEST])
        if len(value) > _LONGEST:
            text += f"… {len(value):,} characters"
    else:
        text = clip(visible(_start(came)), _LONGEST)

    return {
        "type": _NAMES.get(type(value), "number"),
        "text": text,
        "total": total,
        "whole": whole,
    }


def _start(came: Any) -> str:
    """Return the beginning of the source of a value."""
    if isinstance(came, msgspec.Raw):
        return bytes(memoryview(came)[: 2 * _LONGEST]).decode(errors="ignore")
    return nested_text(came)

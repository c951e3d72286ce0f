"""The reply of a run as it came, as a tree of which one level is read at a time: a long reply is never read whole."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from jupyter_funcs.core.errors import ArgumentError, ProtocolError
from jupyter_funcs.core.json_decoding import decode, decode_lines
from jupyter_funcs.core.text import clip, inert, json_text, quote, replace_surrogates, visible
from jupyter_funcs.frames.display import nested_text

if TYPE_CHECKING:
    from collections.abc import Sequence

PAGE = 50
_DEEPEST = 100
_LONGEST, _LONGEST_KEY, _PREVIEW = 400, 1_000, 100  # characters
_ON_A_LINE = 300  # bytes of an array that may be shown whole
_LONGEST_COPY = 5_000_000  # bytes
_MOST_HITS, _PATIENCE = 500, 5.0  # seconds
_LOOK = 1_000_000  # bytes that are looked at together
_NAMES = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}


class JsonTree:
    """The tree of a reply. All methods may be called from any thread."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._levels: list[tuple[str | int, Any, Any]] = []  # the last path: its keys, what they hold, and as it came
        self._root: tuple[Any, Any] | None = None
        self._lock = threading.Lock()

    def node(self, path: Sequence[str | int], first: int = 0) -> dict[str, Any]:
        """Return a value of the reply, with up to 50 of what it holds."""
        with self._lock:
            value, came = self._at(path)
        total = len(value) if isinstance(value, dict | list) else 0
        if not 0 <= first <= total:
            raise ArgumentError(f"There is no item {first:,}: there are {total:,}.", "Fold the node and open it again.")
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        page = islice(items, first, first + PAGE)
        return {**_told(value, came), "children": [{"key": _key(key), **_told(*_opened(each))} for key, each in page]}

    def text(self) -> str:
        """Return the reply as it came, to be copied."""
        if len(self._data) > _LONGEST_COPY:
            raise ArgumentError("The reply is longer than 5 MB.", "Save the result as JSON instead.")
        return self._data.decode("utf-8-sig", errors="replace")

    def find(self, text: str) -> dict[str, Any]:
        """Return where a text occurs in keys and values, in any case: each as places on the way from the outermost."""
        with self._lock:
            value, came = self._at(())
        search = _Search(text.casefold(), time.monotonic() + _PATIENCE)
        hits = search.of(value, came)
        return {"hits": hits[:_MOST_HITS], "more": len(hits) > _MOST_HITS, "all": search.ended}

    def _at(self, path: Sequence[str | int]) -> tuple[Any, Any]:
        if len(path) > _DEEPEST:
            raise ArgumentError(f"The tree shows {_DEEPEST} levels, and this is deeper.", "Copy the reply instead.")
        if self._root is None:
            self._root = _read(self._data)
        (value, came), kept = self._root, 0
        while kept < min(len(path), len(self._levels)) and self._levels[kept][0] == path[kept]:
            _, value, came = self._levels[kept]
            kept += 1
        del self._levels[kept:]
        for key in path[kept:]:
            try:
                if isinstance(key, int) and key < 0:
                    raise IndexError
                value, came = _opened(value[key])
            except (LookupError, TypeError):
                raise ArgumentError(
                    f"The reply has nothing at {quote(key)}.", "Fold the tree and open it again."
                ) from None
            self._levels.append((key, value, came))
        return value, came


class _Search:
    """Looks through a reply in order. What can't hold the text is left unread: a level costs a look at its bytes."""

    def __init__(self, text: str, until: float) -> None:
        self.hits: list[list[int]] = []
        self.ended = True
        self._text, self._until = text, until

    def of(self, value: Any, came: Any) -> list[list[int]]:
        """Look through a whole reply."""
        if self._may_hold(came):
            self._into(value, came, [])
        return self.hits

    def _into(self, value: Any, came: Any, places: list[int]) -> None:
        if not isinstance(value, dict | list):
            text = value if isinstance(value, str) else _plain(value, came)
            if self._text in text.casefold():
                self.hits.append(places)
            return
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for at, (key, item) in enumerate(items):
            if at % 1000 == 0 and time.monotonic() > self._until:
                self.ended = False
            if len(self.hits) > _MOST_HITS or len(places) >= _DEEPEST or not self.ended:
                return
            if isinstance(key, str) and self._text in key.casefold():
                self.hits.append([*places, at])
            elif self._may_hold(item):
                self._into(*_opened(item), [*places, at])

    def _may_hold(self, item: Any) -> bool:
        if not isinstance(item, msgspec.Raw):
            return True
        size = len(raw := memoryview(item))
        parts = (bytes(raw[at : at + _LOOK + 4 * len(self._text)]) for at in range(0, size, _LOOK))
        return any(b"\\" in part or self._text in part.decode(errors="replace").casefold() for part in parts)


def _read(data: bytes) -> tuple[Any, Any]:
    """Return the outermost value, of a valid document with its items unread, and as it came."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    with suppress(msgspec.MsgspecError, RecursionError, UnicodeError):
        return _opened(msgspec.json.decode(data, type=msgspec.Raw))
    try:
        with suppress(ValueError, RecursionError):
            return (json.loads(data),) * 2  # NaN and the like stay as they came
        return (decode(data),) * 2
    except ProtocolError:
        if b"\n" in data.strip():
            with suppress(ProtocolError):
                return (decode_lines(data),) * 2
        raise


def _opened(value: Any) -> tuple[Any, Any]:
    """Return a value with its items unread, arrays and objects that stand in texts included; and as it came."""
    if isinstance(value, msgspec.Raw):
        wanted = {b"{": dict[str, msgspec.Raw], b"[": list[msgspec.Raw]}.get(bytes(memoryview(value)[:1]), Any)
        try:
            value, came = msgspec.json.decode(value, type=wanted), value
        except (msgspec.MsgspecError, UnicodeError):  # such as half a pair of surrogates
            return json.loads(bytes(value)), value
    else:
        came = value
    if isinstance(value, str) and value.lstrip()[:1] in {"[", "{"}:
        with suppress(msgspec.MsgspecError, RecursionError, UnicodeError):
            raw = msgspec.json.decode(value, type=msgspec.Raw)
            return _opened(raw)[0], raw
    return value, came


def _key(key: str | int) -> str | int:
    return key if isinstance(key, int) else replace_surrogates(clip(key, _LONGEST_KEY))


def _told(value: Any, came: Any) -> dict[str, Any]:
    """Return the type, the text and the number of items of a value; `whole` says that the text is all of it."""
    kind = _NAMES.get(type(value), "number")
    if isinstance(value, dict | list):
        text = _line(value, came)
        shown = text or clip(inert(_start(came)), _PREVIEW)
        return {"type": kind, "text": shown, "total": len(value), "whole": bool(text)}
    if isinstance(value, str):
        more = f"… {len(value):,} characters" * (len(value) > _LONGEST)
        return {"type": kind, "text": json_text(value[:_LONGEST]) + more, "total": 0, "whole": True}
    return {"type": kind, "text": clip(visible(_plain(value, came)), _LONGEST), "total": 0, "whole": True}


def _plain(value: Any, came: Any) -> str:
    """Return a number, a truth or a null as it came."""
    return _start(came) if isinstance(came, msgspec.Raw) else json.dumps(value)


def _line(value: Any, came: Any) -> str:
    """Return a short array of plain values on one line, or what is empty; else nothing."""
    if not value:
        return "{}" if isinstance(value, dict) else "[]"
    if isinstance(value, dict) or len(value) > 10:
        return ""
    if isinstance(came, msgspec.Raw):
        if len(memoryview(came)) > _ON_A_LINE:
            return ""
        plain = all(bytes(memoryview(each)[:1]) not in {b"[", b"{"} for each in value)
        texts = ", ".join(visible(_start(each)) for each in value)
        return f"[{texts}]" if plain else ""
    plain = not any(isinstance(each, dict | list) for each in value)
    text = json_text(value) if plain else ""
    return text if len(text) <= _ON_A_LINE else ""


def _start(value: Any) -> str:
    if isinstance(value, msgspec.Raw):
        return bytes(memoryview(value)[: 2 * _LONGEST]).decode(errors="ignore")
    return nested_text(value)

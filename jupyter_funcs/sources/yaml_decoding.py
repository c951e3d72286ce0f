"""Decode YAML, within bounds, into what the document would be in JSON."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core.errors import ConfigError, ProtocolError
from jupyter_funcs.core.text import clip, inert

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_NODES, _MAX_DEPTH = 2_000_000, 100
_WORDS = {"null": None, "true": True, "false": False}
_CONSTANTS = {"": None, "~": None} | {form(w): _WORDS[w] for w in _WORDS for form in (str.lower, str.title, str.upper)}
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


def decode(data: bytes, *, what: str) -> Any:
    """Decode one YAML document."""
    try:
        import yaml
    except ImportError:
        raise ConfigError(f"The {what} is in YAML.", "pip install 'jupyter-funcs[yaml]'") from None
    try:
        events = yaml.parse(data, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        first = next(each for each in events if _kind(each) not in {"StreamStartEvent", "DocumentStartEvent"})
        return None if _kind(first) == "StreamEndEvent" else _Reader(events, what).value(first)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = f" at line {mark.line + 1:,}" if mark else ""
        reason = clip(inert(getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)), 120)
    raise ProtocolError(f"The {what} is not YAML{at}: {reason}.", "Check the document.")


class _Reader:
    """Builds values from the parser's events; the library's own way recurses, and its aliases may grow without end."""

    def __init__(self, events: Iterator[Any], what: str) -> None:
        self._events, self._what = events, what
        self._anchored: dict[str, tuple[Any, int]] = {}
        self._left = _MAX_NODES

    def value(self, event: Any, depth: int = 0) -> Any:
        """Return the value that begins with an event."""
        if depth > _MAX_DEPTH:
            raise self._refused(f"more than {_MAX_DEPTH} levels")
        before, kind, anchor = self._left, _kind(event), event.anchor
        if kind == "AliasEvent":
            value, nodes = self._anchored.get(anchor, (None, before + 1))  # of what has no end
            self._left -= nodes
        else:
            self._anchored.pop(anchor, None)
            self._left -= 1
            if kind == "ScalarEvent":
                value = _plain(event.value) if event.implicit[0] else event.value
            elif kind == "SequenceStartEvent":
                value = [self.value(each, depth + 1) for each in self._parts()]
            else:
                value = self._mapping(depth)
            if anchor:
                self._anchored[anchor] = value, before - self._left
        if self._left < 0:
            raise self._refused(f"more than {_MAX_NODES:,} values, or aliases without end")
        return value

    def _mapping(self, depth: int) -> dict[str, Any]:
        found = {}
        for key in self._parts():
            if _kind(key) != "ScalarEvent":
                raise self._refused("a key that is not text")
            found[key.value] = self.value(next(self._events), depth + 1)
        merged = found.pop("<<", None)
        for each in merged if isinstance(merged, list) else [merged]:
            found = {**each, **found} if isinstance(each, dict) else found
        return found

    def _parts(self) -> Iterator[Any]:
        """Yield what is in the list or object that has begun."""
        while _kind(each := next(self._events)) not in {"SequenceEndEvent", "MappingEndEvent"}:
            yield each

    def _refused(self, what: str) -> ProtocolError:
        return ProtocolError(f"The {self._what} has {what}.", "Simplify it, or convert it to JSON.")


def _kind(event: Any) -> str:
    return type(event).__name__


def _plain(text: str) -> Any:
    """Return what an unquoted text is in YAML 1.2, where 'no' and dates are text."""
    if not _NUMBER.fullmatch(text):
        return _CONSTANTS.get(text, text)
    with suppress(ValueError, OverflowError):
        if math.isfinite(number := float(text)):
            return int(text) if text.lstrip("+-").isdecimal() else number
    return text

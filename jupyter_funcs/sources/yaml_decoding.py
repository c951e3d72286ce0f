"""Decode YAML, within bounds, into what the document would be in JSON."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core.errors import ConfigError, ProtocolError
from jupyter_funcs.core.json_decoding import as_list, only
from jupyter_funcs.core.text import clip, inert

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_NODES = 2_000_000
_MAX_DEPTH = 100
_WORDS = {"null": None, "true": True, "false": False}
_CONSTANTS = {"": None, "~": None} | {
    form(word): value
    for word, value in _WORDS.items()
    for form in (str.lower, str.title, str.upper)
}
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


def decode(data: bytes, *, what: str) -> Any:
    """Decode one YAML document."""
    try:
        import yaml
    except ImportError:
        raise ConfigError(
            f"The {what} is in YAML.", "pip install 'jupyter-funcs[yaml]'"
        ) from None

    try:
        events = yaml.parse(data, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        first = next(
            event
            for event in events
            if _kind(event) not in {"StreamStart", "DocumentStart"}
        )
        if _kind(first) == "StreamEnd":
            return None
        return _Reader(events, what, _MAX_NODES).value(first)
    except yaml.YAMLError as error:
        at = ""
        if mark := getattr(error, "problem_mark", None):
            at = f" at line {mark.line + 1:,}"
        why = getattr(error, "problem", None) or getattr(error, "reason", None)
        reason = clip(inert(why or str(error)), 120)

    raise ProtocolError(f"The {what} is not YAML{at}: {reason}.", "Check the document.")


@dataclass
class _Reader:
    """Builds values from the parser's events; the library's own way recurses, and its aliases may grow without end."""

    events: Iterator[Any]
    what: str
    left: int
    anchored: dict[str, tuple[Any, int]] = field(default_factory=dict)

    def value(self, event: Any, depth: int = 0) -> Any:
        """Return the value that begins with an event."""
        before = self.left
        self.left -= 1
        if depth > _MAX_DEPTH:
            raise self.refused(f"more than {_MAX_DEPTH} levels")
        if _kind(event) == "Alias":
            # An alias of what has no end.
            value, nodes = self.anchored.get(event.anchor, (None, before + 1))
            self.left = before - nodes
        else:
            self.anchored.pop(event.anchor, None)
            value = self.begun(event, depth + 1)
            if event.anchor:
                self.anchored[event.anchor] = value, before - self.left

        if self.left < 0:
            raise self.refused(
                f"more than {_MAX_NODES:,} values, or aliases without end"
            )

        return value

    def begun(self, event: Any, depth: int) -> Any:
        """Return the text, number, list or object that begins with an event."""
        if _kind(event) == "Scalar":
            if event.implicit[0]:
                return _plain(event.value)
            return event.value

        if _kind(event) == "SequenceStart":
            return [self.value(part, depth) for part in self.parts()]
        named = {}
        for key in self.parts():
            if _kind(key) != "Scalar":
                raise self.refused("a key that is not text")
            named[key.value] = self.value(next(self.events), depth)

        for base in as_list(named.pop("<<", None)):
            named = only(dict, base) | named
        return named

    def parts(self) -> Iterator[Any]:
        """Yield what is in the list or object that has begun."""
        while _kind(event := next(self.events)) not in {"SequenceEnd", "MappingEnd"}:
            yield event

    def refused(self, what: str) -> ProtocolError:
        return ProtocolError(
            f"The {self.what} has {what}.", "Simplify it, or convert it to JSON."
        )


def _kind(event: Any) -> str:
    return type(event).__name__.removesuffix("Event")


def _plain(text: str) -> Any:
    """Return what an unquoted text is in YAML 1.2, where 'no' and dates are text."""
    if not _NUMBER.fullmatch(text):
        return _CONSTANTS.get(text, text)
    with suppress(ValueError, OverflowError):
        if math.isfinite(number := float(text)):
            if text.lstrip("+-").isdecimal():
                return int(text)
            return number

    return text

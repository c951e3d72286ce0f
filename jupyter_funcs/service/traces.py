"""The trace of an error for the log: where it was raised, and what it says without the arguments of the run."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_REDACTED = "[…]"
# A message may quote an argument cut to length, so of long values each piece of this length is taken for the value.
_PIECE = 6
_LONGEST_MESSAGE = 2000
# Beyond it, looking for pieces takes too long, and the message goes unsaid.
_MOST_TEXT = 100_000


def redacted_trace(error: BaseException, arguments: Mapping[str, Any] | None) -> str:
    """
    Give the stack trace of an error and of those behind it, without the values of a run's arguments.

    Frames show source lines and no values. What an error says of itself, also in its notes, may hold arguments, as they
    came or as a function read them: every piece of them is left out of it.

    Parameters
    ----------
    arguments
        What the caller sent, by name; where it is not known, nothing is repeated of what an error says.
    """
    values = None
    if arguments is not None:
        texts = _texts(list(arguments.values()))
        values = sorted({text.casefold() for text in texts if text.strip()}, key=len, reverse=True)
    return "\n".join(_lines(error, values, set()))


def _lines(error: BaseException, values: list[str] | None, seen: set[int]) -> Iterator[str]:
    if id(error) in seen:
        return
    seen.add(id(error))
    behind = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if behind is not None:
        yield from _lines(behind, values, seen)
        yield "which led to:"
    yield from (line.rstrip() for line in traceback.format_tb(error.__traceback__))
    said = "" if values is None else _redacted(str(error), values)
    yield f"{type(error).__qualname__}: {said}" if said else type(error).__qualname__
    for line in "\n".join(getattr(error, "__notes__", ())).splitlines() if values is not None else ():
        text = line.lstrip()
        yield line[: len(line) - len(text)] + _redacted(text, values or [])
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield "of which one is:"
            yield from _lines(each, values, seen)


def _redacted(message: str, values: list[str]) -> str:
    if sum(map(len, values)) > _MOST_TEXT:
        return _REDACTED
    message = " ".join(message[:_LONGEST_MESSAGE].split())
    message = "".join(char if char.isprintable() else "?" for char in message)
    folded = message.casefold()
    if len(folded) != len(message):  # places in one are not places in the other
        return _REDACTED
    hidden = bytearray(len(message))
    for value in values:
        piece = min(_PIECE, len(value))
        for at in range(len(value) - piece + 1):
            _hide(folded, value[at : at + piece], hidden)
    return "".join(
        char if not hidden[at] else "" if at and hidden[at - 1] else _REDACTED for at, char in enumerate(message)
    )


def _hide(text: str, piece: str, hidden: bytearray) -> None:
    at = text.find(piece)
    while at >= 0:
        hidden[at : at + len(piece)] = b"\1" * len(piece)
        at = text.find(piece, at + 1)


def _texts(value: Any) -> Iterator[str]:
    """Give every text that a value holds, as it is and as Python and JSON quote it."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _texts(each)
            yield from _texts(key)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif value is not None:
        yield str(value)
        yield repr(str(value))[1:-1]

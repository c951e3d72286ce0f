"""The trace of an error for the log: where it was raised, and what it says without the arguments of the run."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    _Pieces = dict[int, set[str]]

_REDACTED = "[…]"
# A message may quote an argument cut to length, so of long values each piece of this length is taken for the value.
_PIECE = 6
_LONGEST_MESSAGE = 2000
# Of more than this, pieces are too many to look for, and messages go unsaid.
_MOST_TEXT = 100_000


def redacted_trace(error: BaseException, arguments: Iterable[Any] | None) -> str:
    """
    Give the stack trace of an error and of those behind it, without the values of a run's arguments.

    Frames show source lines and no values. What an error says of itself, also in its notes, may hold arguments: every
    piece of them is left out of it.

    Parameters
    ----------
    arguments
        The values that the caller sent, and what the function read them as; where they are not known, nothing is
        repeated of what an error says.
    """
    return "\n".join(_lines(error, None if arguments is None else _pieces(arguments), set()))


def said(error: BaseException) -> str:
    """Give what an error says of itself, as text that can be written; nothing where it cannot say it."""
    try:
        return str(error).encode("utf-8", "replace").decode()
    except Exception:  # noqa: BLE001 - a team's own error may fail at this in any way
        return ""


def _lines(error: BaseException, hidden: _Pieces | None, seen: set[int]) -> Iterator[str]:
    if id(error) in seen:
        return
    seen.add(id(error))
    behind = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if behind is not None:
        yield from _lines(behind, hidden, seen)
        yield "which led to:"
    yield from (line.rstrip() for line in traceback.format_tb(error.__traceback__))
    message = _redacted(said(error), hidden) if hidden is not None else ""
    yield f"{type(error).__qualname__}: {message}" if message else type(error).__qualname__
    if hidden is not None:
        for line in "\n".join(getattr(error, "__notes__", ())).splitlines():
            text = line.lstrip()
            yield line[: len(line) - len(text)] + _redacted(text, hidden)
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield "of which one is:"
            yield from _lines(each, hidden, seen)


def _pieces(arguments: Iterable[Any]) -> _Pieces | None:
    """Give what must not be said, by its length; `None` where that is too much to look for."""
    texts = {text.casefold() for text in _texts(list(arguments)) if text.strip()}
    if sum(map(len, texts)) > _MOST_TEXT:
        return None
    found: _Pieces = {}
    for text in texts:
        length = min(_PIECE, len(text))
        found.setdefault(length, set()).update(text[at : at + length] for at in range(len(text) - length + 1))
    return found


def _redacted(message: str, pieces: _Pieces) -> str:
    message = " ".join(message[:_LONGEST_MESSAGE].split())
    message = "".join(char if char.isprintable() else "?" for char in message)
    folded = message.casefold()
    if len(folded) != len(message):  # places in one are not places in the other
        return _REDACTED
    hidden = bytearray(len(message))
    for length, known in pieces.items():
        for at in range(len(folded) - length + 1):
            if folded[at : at + length] in known:
                hidden[at : at + length] = b"\1" * length
    return "".join(
        char if not hidden[at] else "" if at and hidden[at - 1] else _REDACTED for at, char in enumerate(message)
    )


def _texts(value: Any) -> Iterator[str]:
    """Give every text that a value holds, as it is and as Python quotes it."""
    if isinstance(value, dict):
        yield from _texts(list(value.values()))
        yield from _texts(list(value))
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _texts(each)
    elif value is not None:
        yield str(value)
        yield repr(value).strip("'\"")

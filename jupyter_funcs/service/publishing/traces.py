"""Stack traces for the log, with messages but without the arguments of the run."""

from __future__ import annotations

import contextlib
import traceback
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    _Pieces = dict[int, set[str]]

_REDACTED = "[…]"
# A message may quote part of an argument, so every piece of this length is hidden.
_PIECE = 6
_LONGEST_MESSAGE = 2000
# Above this, searching takes too long, and messages are left out.
_MOST_TEXT = 100_000


def redacted_trace(error: BaseException, arguments: Iterable[Any] | None) -> str:
    """
    Return the stack trace of an error and its causes, with all pieces of the arguments removed from messages and notes.

    With `None`, messages are left out. Frames show source lines and no values.
    """
    return "\n".join(_lines(error, None if arguments is None else _pieces(arguments), set()))


def message_of(error: BaseException) -> str:
    """Return the message of an error as encodable text; empty if it can't be formatted."""
    try:
        return str(error).encode("utf-8", "replace").decode()
    except Exception:  # noqa: BLE001 - formatting a team's own error may fail in any way
        return ""


def _lines(error: BaseException, hidden: _Pieces | None, seen: set[int]) -> Iterator[str]:
    if id(error) in seen:
        return
    seen.add(id(error))
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        yield from _lines(cause, hidden, seen)
        yield "which led to:"
    yield from (line.rstrip() for line in traceback.format_tb(error.__traceback__))
    message = _redacted(message_of(error), hidden) if hidden is not None else ""
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
    """Return the pieces to hide, by length; `None` if they are too many to search for."""
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
    if len(folded) != len(message):  # positions in one aren't positions in the other
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
    """Return all texts in a value, as they are and as Python quotes them."""
    if isinstance(value, dict):
        yield from _texts(list(value.values()))
        yield from _texts(list(value))
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _texts(each)
    elif value is not None:
        if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
            with contextlib.suppress(msgspec.MsgspecError, RecursionError):  # it is not JSON after all
                yield from list(_texts(msgspec.json.decode(value)))
        yield str(value)
        yield repr(value).strip("'\"")

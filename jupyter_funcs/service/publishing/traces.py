"""Stack traces for the log, with messages but without the arguments of the run."""

from __future__ import annotations

import contextlib
import itertools
import re
import traceback
from typing import TYPE_CHECKING, Any

import msgspec

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.core.text import exact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_REDACTED = "[…]"
# Shorter arguments are in numbers, names and paths.
_SHORTEST = 6
# Beside an argument, what makes it a part of a longer word or of a path; a backslash may begin an escape such as \n.
_BEFORE = re.compile(r"(?<!\\)[\w./\\-]\Z")
_AFTER = re.compile(r"[\w/-]|\.\w")
_LONGEST_MESSAGE = 2000
# Above this, searching takes too long, and messages are left out.
_MOST_TEXT = 100_000


def redacted_trace(error: BaseException, arguments: Iterable[Any] | None) -> str:
    """
    Return the stack trace of an error and its causes, with the arguments removed from messages and notes.

    With `None`, messages are left out. Frames show source lines and no values.
    """
    return "\n".join(
        _lines(error, None if arguments is None else _hidden(arguments), set())
    )


def reason(error: BaseException) -> str:
    """Return what the operator learns of an error of the service: its text if that is for them, else its trace."""
    if isinstance(error, SetupError):
        return str(error)
    return redacted_trace(error, None)


def message_of(error: BaseException) -> str:
    """Return the message of an error as encodable text; empty if it can't be formatted."""
    try:
        return str(error).encode("utf-8", "replace").decode()
    except Exception:  # noqa: BLE001 - formatting a team's own error may fail in any way
        return ""


def _lines(
    error: BaseException, hidden: set[str] | None, seen: set[int]
) -> Iterator[str]:
    if id(error) in seen:
        return
    seen.add(id(error))
    cause = error.__cause__ or (
        None if error.__suppress_context__ else error.__context__
    )
    if cause:
        yield from _lines(cause, hidden, seen)
        yield "which led to:"

    yield from map(str.rstrip, traceback.format_tb(error.__traceback__))
    kind = type(error).__qualname__
    if hidden is None:
        yield kind
    else:
        yield f"{kind}: {_redacted(message_of(error), hidden)}".removesuffix(": ")
        for line in "\n".join(getattr(error, "__notes__", ())).splitlines():
            text = line.lstrip()
            yield line[: len(line) - len(text)] + _redacted(text, hidden)

    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield "of which one is:"
            yield from _lines(part, hidden, seen)


def _hidden(arguments: Iterable[Any]) -> set[str] | None:
    """Return the texts to hide; `None` if they are too many to search for."""
    texts = {_plain(text).casefold() for text in _texts(list(arguments))}
    if sum(map(len, texts)) > _MOST_TEXT:
        return None
    return {text for text in texts if len(text) >= _SHORTEST}


def _plain(text: str) -> str:
    return exact(" ".join(text.split()), lambda _: "?")


def _redacted(message: str, texts: set[str]) -> str:
    """Return a message without these texts, where they are neither in a longer word nor in a path."""
    message = _plain(message[: _LONGEST_MESSAGE + _MOST_TEXT])
    folded = message.casefold()
    if len(folded) != len(message):  # positions in one aren't positions in the other
        return _REDACTED
    hidden = bytearray(len(message))
    for text in texts:
        at = folded.find(text)
        while at >= 0:
            end = at + len(text)
            if not (
                _BEFORE.search(folded[max(at - 2, 0) : at])
                or _AFTER.match(folded[end : end + 2])
            ):
                hidden[at:end] = b"\1" * len(text)
            at = folded.find(text, at + 1)

    runs = itertools.groupby(range(len(message)), hidden.__getitem__)
    shown = (
        _REDACTED if is_hidden else "".join(message[at] for at in places)
        for is_hidden, places in runs
    )
    return "".join(shown)[:_LONGEST_MESSAGE]


def _texts(value: Any) -> Iterator[str]:
    """Return all texts in a value, as they are and as Python quotes them."""
    if isinstance(value, dict):
        value = [*value.values(), *value]
    if isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _texts(part)
    elif value is not None:
        if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
            # It is not JSON after all.
            with contextlib.suppress(msgspec.MsgspecError, RecursionError):
                yield from list(_texts(msgspec.json.decode(value)))
        yield str(value)
        yield repr(value).strip("'\"")

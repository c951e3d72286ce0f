"""
One JSON document on the wire -> one Python value, or a `ProtocolError` that says where it is broken.

msgspec reads every sound document: it is fast and keeps integers of any size (orjson makes floats of those beyond
64 bit). What it refuses is read again by the standard library, which accepts the two things that Python services
really send (``NaN``, lone surrogates) and says at which byte the rest is wrong.
"""

from __future__ import annotations

import gc
import json
import math
import re
from contextlib import contextmanager, suppress
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from jupyter_funcs.errors import ProtocolError
from jupyter_funcs.notices import warn
from jupyter_funcs.text import clip, quote

if TYPE_CHECKING:
    from collections.abc import Iterator

# The length at which CPython and msgspec refuse to read an integer, since that takes quadratic time.
_MOST_DIGITS = 4300
_HINT = "Run it again; if it stays so, tell the operator of the service."
_BOM = "\ufeff"
# Which of the first bytes are not zero in UTF-16 and UTF-32, where the first two characters are ASCII, as of most JSON.
_WIDE = {b"\1\0", b"\0\1", b"\1\0\1\0", b"\0\1\0\1", b"\1\0\0\0", b"\0\0\0\1", b"\0\0\1\1"}
_BLANKS = " \t\r\n"
# Any escape, so that those after an escaped backslash are not taken for one; the group is a surrogate on its own.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_SURROGATE = re.compile("[\ud800-\udfff]")


_decoder = msgspec.json.Decoder()


def decode(data: bytes | str, *, what: str = "reply", strict: bool = False) -> Any:
    """
    Read one JSON document.

    Integers stay exact up to 4,300 digits. A byte order mark is skipped. Of a key that stands twice in one object
    the last value wins.

    Parameters
    ----------
    data
        The document, UTF-8 if bytes.
    what
        What the document is, as messages name it.
    strict
        Raise where else a warning is given, and for a key that stands twice in one object.

    Raises
    ------
    ProtocolError
        The document is empty, cut short, not UTF-8, not JSON, more than one document, nested too deeply, or holds
        a number that cannot be kept. Byte offsets count from 0.

    Warns
    -----
    UserWarning
        ``NaN`` or ``Infinity`` was read as null, or half a surrogate pair was replaced by U+FFFD; once a document.
    """
    with uncollected():
        if not strict:
            try:
                return _decoder.decode(data)
            except RecursionError as error:
                raise too_deep(what) from error
            except (msgspec.MsgspecError, UnicodeError):
                pass  # the careful reading below accepts it or says what is wrong
        return _Careful(what, strict=strict).decode(data)


def decode_lines(data: bytes | str, *, what: str = "reply", strict: bool = False) -> list[Any]:
    """
    Read NDJSON: a JSON document a line; a line without one is skipped.

    Parameters
    ----------
    data, what, strict
        As of `decode`.

    Raises
    ------
    ProtocolError
        As `decode` does, naming the line; byte offsets count from its start.
    """
    lines: list[Any] = data.split(b"\n") if isinstance(data, bytes) else data.split("\n")
    careful = _Careful(what, strict=strict)
    documents = []
    with uncollected():
        if not strict:
            with suppress(msgspec.MsgspecError, UnicodeError, RecursionError):
                return [_decoder.decode(line) for line in lines if line]
        for number, line in enumerate(lines, 1):
            if line.strip(_BLANKS.encode() if isinstance(line, bytes) else _BLANKS):
                careful.what = f"{what}'s line {number:,}"
                documents.append(careful.decode(line))
    return documents


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the garbage collector from looking, again and again, through a growing document that holds no garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def without_constants(document: str) -> tuple[str, int]:
    """
    Put null in place of NaN and Infinity; a document that was valid with them, or not, is so without them.

    Returns
    -------
    str, int
        The document, and how many were replaced; none where it holds escaped backslashes.
    """
    replaced = 0
    if r"\\" in document:  # where a text ends is told by a quote that is not escaped
        return document, replaced
    for constant in filter(document.count, ("NaN", "-Infinity", "Infinity")):
        parts = document.split(constant)
        quotes = accumulate(part.count('"') - part.count(r"\"") for part in parts[:-1])
        puts = [constant if quote % 2 else "null" for quote in quotes]  # after an odd one it stands in a text
        replaced += puts.count("null")
        document = "".join(chain.from_iterable(zip(parts, [*puts, ""], strict=True)))
    return document, replaced


def warn_of_constants(what: str, count: int) -> None:
    """Warn that so many constants of a document were read as null."""
    text, done = _constants(count)
    warn(f"The {what} {text}; {done}.")


def _constants(count: int) -> tuple[str, str]:
    return f"holds NaN or Infinity, which JSON does not have ({count:,} in all)", "read as null"


def too_deep(what: str) -> ProtocolError:
    """Give the error for a document of more levels than Python has."""
    return ProtocolError(f"The {what} is nested too deeply to be read.", _HINT)


class _Careful:
    """The standard library's decoder, with the faults of one document told in our words."""

    def __init__(self, what: str, *, strict: bool) -> None:
        self.what = what
        self.strict = strict
        self.told: set[str] = set()

    def decode(self, data: bytes | str) -> Any:
        text = self.text(data)
        document = self.paired(text.removeprefix(_BOM))
        without, self.constants = ("", 0) if self.strict else without_constants(document)
        if self.constants:
            with suppress(msgspec.MsgspecError, RecursionError):
                value = _decoder.decode(without)
                self.tell_constants()
                return value
        self.constants = 0
        decoder = json.JSONDecoder(
            parse_int=self.integer,
            parse_float=self.number,
            parse_constant=self.constant,
            object_pairs_hook=self.object if self.strict else None,
        )
        try:
            value = decoder.decode(document)
        except json.JSONDecodeError as error:
            # Replaced surrogates are as long as what they replace, so that the offset is that of `text`.
            self.broken(error, text[: len(text) - len(document)])
        except RecursionError as error:
            raise too_deep(self.what) from error
        self.tell_constants()
        return value

    def tell_constants(self) -> None:
        if self.constants:
            self.odd(*_constants(self.constants))

    def text(self, data: bytes | str) -> str:
        if isinstance(data, str):
            return data
        if data[:2] in {b"\xff\xfe", b"\xfe\xff"} or bytes(map(bool, data[:4])) in _WIDE:
            raise ProtocolError(f"The {self.what} is UTF-16 or UTF-32; JSON on the wire is UTF-8.", _HINT)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data":
                text = f"The {self.what} is cut short: it ends at byte {len(data):,}, within a character."
            else:
                text = f"The {self.what} is not UTF-8 at byte {error.start:,}."
            raise ProtocolError(text, _HINT) from error

    def paired(self, text: str) -> str:
        paired = text
        if r"\ud" in text or r"\uD" in text:
            paired = _ESCAPE.sub(lambda match: r"\ufffd" if match[1] else match[0], text)
        try:
            paired.encode()
        except UnicodeEncodeError:
            paired = _SURROGATE.sub("\ufffd", paired)
        if paired != text:
            self.odd("holds halves of surrogate pairs", "each is replaced by U+FFFD")
        return paired

    def odd(self, text: str, done: str) -> None:
        if self.strict:
            raise ProtocolError(f"The {self.what} {text}.", _HINT)
        if done in self.told:
            return
        self.told.add(done)
        warn(f"The {self.what} {text}; {done}.")

    def broken(self, error: json.JSONDecodeError, before: str) -> NoReturn:
        document = error.doc
        at = len((before + document[: error.pos]).encode())
        rest = document[error.pos :]
        if not document.strip(_BLANKS):
            text = f"The {self.what} is empty."
        elif not rest.strip(_BLANKS) or error.msg.startswith("Unterminated"):
            text = f"The {self.what} is cut short: it ends at byte {len((before + document).encode()):,}."
        elif error.msg == "Extra data":
            text = f"The {self.what} goes on after its JSON document, at byte {at:,} with {quote(rest, 20)}."
        else:
            text = f"The {self.what} is not JSON at byte {at:,}: {error.msg} near {quote(rest, 20)}."
        raise ProtocolError(text, _HINT) from error

    def integer(self, digits: str) -> int:
        if (count := len(digits.removeprefix("-"))) > _MOST_DIGITS:
            self.refuse(digits, f"an integer of {count:,} digits")
        return int(digits)

    def number(self, digits: str) -> float:
        number = float(digits)
        if math.isinf(number):
            self.refuse(digits, "a number too large to keep")
        return number

    def refuse(self, digits: str, kind: str) -> NoReturn:
        raise ProtocolError(f"The {self.what} holds {kind}: {clip(digits, 20)}.", _HINT)

    def constant(self, _name: str) -> None:
        self.constants += 1

    def object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise ProtocolError(f"The {self.what} holds the key {quote(twice)} twice in one object.", _HINT)
        return value

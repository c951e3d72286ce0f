"""
Decode JSON, or raise a `ProtocolError` that says where the document is broken.

msgspec reads valid documents: it is fast and keeps large integers exact (orjson turns integers beyond 64 bits into
floats). Whatever msgspec rejects is read again by the standard library, which tolerates what Python services send in
practice (``NaN``, lone surrogates) and locates the byte of any other error. Of messages in Arrow, read what must be
known before Arrow may decode them.
"""

from __future__ import annotations

import gc
import json
import math
import re
import struct
from collections import Counter
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import unquote

import msgspec

from jupyter_funcs.core.errors import TRY_AGAIN, ProtocolError
from jupyter_funcs.core.text import clip, quote, replace_surrogates
from jupyter_funcs.core.warn import warn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

T = TypeVar("T")
JsonObject = dict[str, Any]
Values = Mapping[str, Any]
"""Any values by name."""

# CPython and msgspec refuse longer integers, because parsing them takes quadratic time.
_MAX_DIGITS = 4300
_BOM = "\ufeff"
_BLANKS = " \t\r\n"
# A half of a surrogate pair without the other half, in a document without escaped backslashes.
_HIGH, _LOW = (rf"[{digits}][0-9a-fA-F]{{2}}" for digits in ("89abAB", "c-fC-F"))
_LONE = re.compile(
    rf"\\u[dD](?:{_HIGH}(?!\\u[dD]{_LOW})|{_LOW}(?<!\\u[dD]{_HIGH}\\u[dD]{_LOW}))"
)

# msgspec takes 50 times as long as float for numbers near the largest one; many are more than 2 per 1,024 characters.
_MANY = 2
_SAMPLE = 1024
_LARGEST_SAMPLE = 64 * _SAMPLE
# A character that JSON never contains, and all bytes but it and the quote.
_MARK = "\0"
_NEITHER = bytes({*range(256)} - {*b'"\0'})
_LONGEST_REFERENCE = 4000  # characters; others may lead to one that is long


is_exact: ContextVar[bool] = ContextVar("is_exact", default=False)
_LONGEST_EXACT = 16  # characters: a sign or a point, and 15 digits


class Once:
    """Reads each part of a document once, however many others refer to it; the parts must live as long as this."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, int], tuple[Any, Any]] = {}

    def once(self, kind: Any, part: Any, read: Callable[[Any], T]) -> T:
        """Return what `read` makes of a part, which depends on nothing else but the kind, or raise what it raises."""
        key = kind, id(part)
        if key not in self._known:
            try:
                self._known[key] = part, read(part)
            except Exception as error:  # noqa: BLE001  # raised below, each time
                self._known[key] = part, error

        value: T = self._known[key][1]
        if isinstance(value, Exception):
            raise value.with_traceback(None)
        return value


def only(kind: type[T], value: Any) -> T:
    """Return a value if it is of the kind that it should be, else an empty one."""
    if isinstance(value, kind):
        return value
    return kind()


def as_list(value: Any) -> list[Any]:
    """Return a list as it is, and any other value as the only item of one."""
    if isinstance(value, list):
        return value
    return [value]


def texts_in(value: Any) -> list[str]:
    """Return the texts in a value: itself, or items of a list."""
    return [item for item in as_list(value) if isinstance(item, str)]


def read_object(data: bytes | str) -> JsonObject:
    """Return a JSON object, or an empty one in place of anything else."""
    with suppress(ValueError, RecursionError):
        # It refuses NaN and Infinity.
        return only(dict, json.loads(data, parse_constant=int))
    return {}


def referred(ref: Any, root: Any) -> Any:
    """Return the part of a document that a reference such as ``#/a/b`` names, if there is one."""
    if not (
        isinstance(ref, str) and ref.startswith("#/") and len(ref) <= _LONGEST_REFERENCE
    ):
        return None

    part = root
    for step in ref[2:].split("/"):
        if not isinstance(part, list):
            part = only(dict, part).get(
                unquote(step).replace("~1", "/").replace("~0", "~")
            )
        elif len(step) < 9 and step.isdecimal() and int(step) < len(part):
            part = part[int(step)]
        else:
            return None

    return part


def decode(data: bytes | str, *, what: str = "reply", strict: bool = False) -> Any:
    """
    Decode one JSON document.

    Integers are exact up to 4,300 digits. A byte order mark is skipped. If a key occurs twice in an object, the last
    value wins; `strict` refuses that, ``NaN`` and lone surrogates.
    """
    with gc_paused():
        if not strict:
            try:
                return msgspec.json.Decoder(float_hook=float_hook(data)).decode(data)
            except RecursionError as error:
                raise too_deep(what) from error
            except (msgspec.MsgspecError, UnicodeError):
                pass  # the tolerant decoder accepts it or says what is wrong
        return _TolerantDecoder(what, strict).decode(data)


def decode_lines(data: bytes | str, *, strict: bool = False) -> list[Any]:
    """Decode NDJSON, one document per line; blank lines are skipped."""
    line_feed: Any = b"\n"
    if isinstance(data, str):
        line_feed = "\n"
    lines: list[Any] = data.split(line_feed)
    tolerant = _TolerantDecoder("reply", strict)
    documents = []
    with gc_paused():
        if not strict:
            with suppress(msgspec.MsgspecError, UnicodeError, RecursionError):
                decoder = msgspec.json.Decoder(float_hook=float_hook(data))
                return [*map(decoder.decode, filter(None, lines))]
        for number, line in enumerate(lines, 1):
            tolerant.what = f"reply's line {number:,}"
            text = tolerant.text(line)
            if text.strip(_BLANKS):
                documents.append(tolerant.decode(text))

    return documents


@contextmanager
def exact_numbers(*, is_on: bool) -> Iterator[None]:
    """Decode a number as a Decimal if it is longer than what a float represents with all its digits."""
    token = is_exact.set(is_on or is_exact.get())
    try:
        yield
    finally:
        is_exact.reset(token)


def _exact(digits: str) -> float | Decimal:
    if len(digits) <= _LONGEST_EXACT:
        return float(digits)
    return Decimal(digits)


def float_hook(data: bytes | str) -> Callable[[str], Any] | None:
    """Return msgspec's `float_hook` for a document: many of its first numbers may be near the largest float."""
    if is_exact.get():
        return _exact
    first = data[: max(_SAMPLE, min(len(data) // 64, _LARGEST_SAMPLE))]
    if isinstance(first, bytes):
        first = first.decode("latin-1")
    sample = first.lower().replace("+", "")
    if sample.count("e30") + sample.count("e29") > _MANY * len(first) // _SAMPLE:
        return _finite
    return None


def _finite(digits: str) -> float:
    if "e" in digits or "E" in digits:
        return _largest(digits)
    return _plain(digits)


_plain = msgspec.json.Decoder(float).decode


@lru_cache(maxsize=1024)  # which stand for a missing value and repeat
def _largest(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(digits)
    return number


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the garbage collector, which would scan the growing document over and over."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def replace_constants(document: str) -> tuple[str, int]:
    """Replace NaN and Infinity outside of strings with null; return the document and how many were replaced."""
    if "\\" in document:  # the quotes would not tell where a string ends
        document = document.replace(r"\\", r"\u005c").replace(r"\"", r"\u0022")
    marked = _marked(document)
    if marked == document or _MARK in document:
        return document, 0
    # Some are in strings.
    if b'"' in marked.encode(errors="replace").translate(None, _NEITHER).replace(
        b'""', b""
    ):
        parts = document.split('"')
        parts[::2] = _marked('"'.join(parts[::2])).split('"')
        marked = '"'.join(parts)

    return marked.replace(_MARK, "null"), marked.count(_MARK)


def _marked(text: str) -> str:
    return (
        text.replace("NaN", _MARK)
        .replace("-Infinity", _MARK)
        .replace("Infinity", _MARK)
    )


def replace_lone_escapes(document: str) -> str:
    """Replace escaped halves of surrogate pairs with U+FFFD, which has the same length."""
    # JSON never contains a null character.
    if (r"\ud" not in document and r"\uD" not in document) or "\0" in document:
        return document
    return _LONE.sub(r"\\ufffd", document.replace(r"\\", "\0\0")).replace("\0\0", r"\\")


def warn_of_repairs(what: str, constants: int, *, halves: bool) -> None:
    """Warn that halves of surrogate pairs were replaced, and that NaN or Infinity was read as null."""
    decoder = _TolerantDecoder(what, strict=False)
    if halves:
        decoder.tolerate(*_HALVES)
    if constants:
        decoder.tolerate(*_constants(constants))


_HALVES = "contains halves of surrogate pairs", "each is replaced by U+FFFD"


def _constants(count: int) -> tuple[str, str]:
    return (
        f"contains NaN or Infinity, which JSON doesn't have ({count:,} in total)",
        "read as null",
    )


def too_deep(what: str) -> ProtocolError:
    """Return the error for a document with more levels than Python's recursion limit."""
    return ProtocolError(f"The {what} is nested too deeply.", TRY_AGAIN)


@dataclass
class _TolerantDecoder:
    """The standard library's decoder: warns about what it tolerates, and explains what it can't read."""

    what: str
    strict: bool
    warned: set[str] = field(default_factory=set)

    def decode(self, data: bytes | str) -> Any:
        text = self.text(data)
        document = self.without_lone_surrogates(text.removeprefix(_BOM))
        if not self.strict:
            without, replaced = replace_constants(document)
            with suppress(msgspec.MsgspecError, RecursionError):
                value = msgspec.json.Decoder(float_hook=float_hook(without)).decode(
                    without
                )
                if replaced:
                    self.tolerate(*_constants(replaced))
                return value

        constants: list[str] = []
        decoder = json.JSONDecoder(
            parse_int=self.integer,
            parse_float=self.number,
            parse_constant=constants.append,  # it returns None
            object_pairs_hook=self.object if self.strict else None,
        )
        try:
            value = decoder.decode(document)
        except json.JSONDecodeError as error:
            # The offset is valid for `text` too: a surrogate and its replacement have the same length.
            self.fail(error, text[: len(text) - len(document)])
        except RecursionError as error:
            raise too_deep(self.what) from error

        if constants:
            self.tolerate(*_constants(len(constants)))
        return value

    def text(self, data: bytes | str) -> str:
        if isinstance(data, str):
            return data
        if not json.detect_encoding(data).startswith("utf-8"):
            raise ProtocolError(
                f"The {self.what} is UTF-16 or UTF-32; JSON must be UTF-8.", TRY_AGAIN
            )

        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data":
                text = f"The {self.what} is cut short: it ends at byte {len(data):,}, in the middle of a character."
            else:
                text = f"The {self.what} is not UTF-8 at byte {error.start:,}."
            raise ProtocolError(text, TRY_AGAIN) from error

    def without_lone_surrogates(self, text: str) -> str:
        replaced = replace_lone_escapes(text)
        try:
            replaced.encode()
        except UnicodeEncodeError:
            replaced = replace_surrogates(replaced)

        if replaced != text:
            self.tolerate(*_HALVES)
        return replaced

    def tolerate(self, problem: str, repair: str) -> None:
        if self.strict:
            raise ProtocolError(f"The {self.what} {problem}.", TRY_AGAIN)
        if repair not in self.warned:
            self.warned.add(repair)
            warn(f"The {self.what} {problem}; {repair}.")

    def fail(self, error: json.JSONDecodeError, before: str) -> NoReturn:
        document = error.doc
        at = len((before + document[: error.pos]).encode())
        rest = document[error.pos :]
        if not document.strip(_BLANKS):
            text = f"The {self.what} is empty."
        elif not rest.strip(_BLANKS) or error.msg.startswith("Unterminated"):
            text = f"The {self.what} is cut short: it ends at byte {len((before + document).encode()):,}."
        elif error.msg == "Extra data":
            text = f"The {self.what} continues after its JSON document, at byte {at:,} with {quote(rest, 20)}."
        else:
            text = f"The {self.what} is not JSON at byte {at:,}: {error.msg} near {quote(rest, 20)}."

        raise ProtocolError(text, TRY_AGAIN) from error

    def integer(self, digits: str) -> int:
        if (count := len(digits.removeprefix("-"))) > _MAX_DIGITS:
            self.refuse(digits, f"an integer with {count:,} digits")
        return int(digits)

    def number(self, digits: str) -> float:
        number = float(digits)
        if math.isinf(number):
            self.refuse(digits, "a number that is too large")
        return number

    def refuse(self, digits: str, kind: str) -> NoReturn:
        raise ProtocolError(
            f"The {self.what} contains {kind}: {clip(digits, 20)}.", TRY_AGAIN
        )

    def object(self, pairs: list[tuple[str, Any]]) -> JsonObject:
        value = dict(pairs)
        if len(value) < len(pairs):
            twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
            raise ProtocolError(
                f"The {self.what} contains the key {quote(twice)} twice in one object.",
                TRY_AGAIN,
            )

        return value


def is_compressed(message: bytes | pa.Buffer) -> bool:
    """Return whether the message of a record batch says how it is compressed (a FlatBuffer of Arrow's Message.fbs)."""

    def field(table: int, index: int) -> int:
        fields = table - struct.unpack_from("<i", message, table)[0]
        is_absent = 4 + 2 * index >= struct.unpack_from("<H", message, fields)[0]
        if is_absent:
            return 0
        return int(struct.unpack_from("<H", message, fields + 4 + 2 * index)[0])

    root: int = struct.unpack_from("<I", message)[0]
    batch = root + field(root, 2)
    return bool(field(batch + struct.unpack_from("<I", message, batch)[0], 3))

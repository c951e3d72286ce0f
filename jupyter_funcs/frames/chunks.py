"""
A long reply -> columns, piece by piece; None where the plain way has to read it.

A long list of alike records is cut between them, in the text as it came, still escaped, into pieces that fit into the
processor's cache. Each is decoded, turned into columns and forgotten, so that neither the text without its escapes nor
the Python values of the whole ever exist. A list of rows and a column keyed by its rows are read in the same way.

No cut goes wrong unseen. What stands before it was read as a whole number of elements: had the cut been within one, in
a text or in a list of a record, a quote or a bracket would have been left open, and decoding refuses that. Whatever is
refused is read once more in the plain way (`wire`, `frame`), which accepts it or says what is wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from types import GenericAlias
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from msgspec.structs import astuple

from jupyter_funcs.columns import Column, Table, are_objects, joined, packed
from jupyter_funcs.wire import uncollected, warn_of_constants, without_constants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

T = TypeVar("T")

# In bytes: a piece, and the shortest reply that is worth cutting.
_PIECE = 128 * 1024
_LONG = 2 * _PIECE
# Of more columns a piece holds too few rows to be worth it.
_MOST_KEYS = 256
# A text ends in at most so many blanks and brackets.
_TAIL = 256


class _Odd(ValueError):  # noqa: N818  # no error: the plain way reads it
    """What the plain way is to read."""


class _Marks(NamedTuple):
    """Where a text may be cut, of a document as it is, or of one that is escaped as a JSON text."""

    brackets: tuple[bytes, bytes]
    opening: re.Pattern[bytes]
    closing: re.Pattern[bytes]
    records: re.Pattern[bytes]
    rows: re.Pattern[bytes]


def _marks(blanks: bytes, around: tuple[bytes, bytes]) -> _Marks:
    return _Marks(
        around,
        opening=re.compile(blanks + rb"\[" + blanks),
        closing=re.compile(blanks + rb"\]" + blanks + rb"\Z"),
        # What stands first is of a fixed length, or many blanks would be looked through again and again.
        records=re.compile(rb"(?<=\})" + blanks + b"," + blanks + rb"(?=\{)"),
        rows=re.compile(rb"(?<=\])" + blanks + b"," + blanks + rb"(?=\[)"),
    )


_BLANKS = rb"[ \t\r\n]*"
_PLAIN = _marks(_BLANKS, (b"[", b"]"))
_ESCAPED = _marks(rb"(?: |\\[trn])*", (b'"[', b']"'))


def _spaced(*tokens: bytes, end: bytes = b"") -> re.Pattern[bytes]:
    return re.compile(_BLANKS + _BLANKS.join(tokens) + _BLANKS + end)


_NO_ERROR = _BLANKS.join((rb'"error"', b":", b"null"))
_ENVELOPE = _spaced(rb"\{", b"(?:" + _NO_ERROR + _BLANKS + b"," + _BLANKS + b")?" + rb'"body"', b":")
_ENVELOPE_END = _spaced(b"(?:," + _BLANKS + _NO_ERROR + _BLANKS + rb")?\}", end=rb"\Z")
# Where an object may be cut, and what stands between two values of one.
_MEMBERS = re.compile(b"," + _BLANKS + b'(?=")')
_KEY = _spaced(rb"[{,]", rb'"(?:[^"\\]|\\.)*"', b":")
# No row number, but read as 0.
_MINUS_0 = re.compile(rb'(?:-|\\u002[dD])(?:0|\\u0030)"')

# Not known to the garbage collector, which has nothing to find in them.
_struct = partial(msgspec.defstruct, forbid_unknown_fields=True, gc=False)
_EMPTY = _struct("Record", [])
_text = msgspec.json.Decoder(str)
_raw = msgspec.json.Decoder(dict[str, msgspec.Raw])
_as_objects = msgspec.json.Decoder(list[dict[str, Any]])
_as_rows = msgspec.json.Decoder(list[list[Any]])
_numbered: dict[type | None, msgspec.json.Decoder[Any]] = {
    every: msgspec.json.Decoder(GenericAlias(dict, (int, every or Any))) for every in (str, int, bool, None)
}


def read_long(reply: bytes | str) -> Any:
    """
    Give the body of a reply as the plain way would, with a `Table` in place of its long list or columns.

    Parameters
    ----------
    reply
        The reply, as received.

    Returns
    -------
    Table, dict or None
        A dict has it as ``data``, beside a ``schema`` or the ``columns`` of pandas' split form. None: the plain way is
        to read the reply.
    """
    if len(reply) < _LONG:
        return None
    reading = _Reading()
    try:
        with uncollected():
            body = _body(reply.encode() if isinstance(reply, str) else reply, reading)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        return None
    if reading.constants:
        warn_of_constants(reading.what, reading.constants)
    return body


@dataclass
class _Reading:
    """One reading: what is read, as messages name it, and how many NaN and Infinity were in it."""

    what: str = "body of the reply"
    constants: int = 0

    def decode(self, decode: Callable[[bytes | str], list[T]], piece: bytes | str) -> list[T]:
        """Decode a piece, with null for what JSON does not have."""
        try:
            return decode(piece)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            text, replaced = without_constants(piece if isinstance(piece, str) else piece.decode())
            if not replaced:
                raise
            values = decode(text)
            self.constants += replaced
            return values


def _body(reply: bytes, reading: _Reading) -> Any:
    start, end = 0, len(reply)
    if envelope := _ENVELOPE.match(reply):
        closing = _ENVELOPE_END.search(reply, max(0, end - _TAIL))
        if closing is None:
            raise _Odd
        start, end = envelope.end(), closing.start()
    if reply[start : start + 1] != b'"':
        reading.what = "reply"
        return _document(memoryview(reply)[start:end], reading)
    if _ESCAPED.opening.match(reply, start + 1) and reply[end - 1 : end] == b'"':
        return _list(memoryview(reply)[start + 1 : end - 1], _ESCAPED, reading)
    return _document(memoryview(_text.decode(memoryview(reply)[start:end]).encode()), reading)


def _document(text: memoryview, reading: _Reading) -> Any:
    if _PLAIN.opening.match(text):
        return _list(text, _PLAIN, reading)
    members = _members(text)
    if members.keys() & {"error", "body"}:
        raise _Odd
    if not ("data" in members and members.keys() & {"schema", "columns"}):
        return _keyed(members)
    data = _document(members.pop("data"), reading)
    others = {name: msgspec.json.decode(value) for name, value in members.items()}
    if "columns" in others:
        is_split = others.keys() <= {"columns", "index"} and all(isinstance(value, list) for value in others.values())
        if not (is_split and isinstance(data, Table) and data.shape == "rows"):
            raise _Odd
    elif isinstance(data, dict) and "columns" not in data:
        raise _Odd
    return {"data": data, **others}


def _members(text: memoryview) -> dict[str, memoryview]:
    """Give the text of each value of an object, no key of which comes twice."""
    members = {name: memoryview(raw) for name, raw in _raw.decode(text).items()}
    if len(members) > _MOST_KEYS:
        raise _Odd
    end = 0
    for value in members.values():
        start = _address(value) - _address(text)
        if not _KEY.fullmatch(text, end, max(end, start)):
            raise _Odd
        end = start + len(value)
    return members


def _address(text: memoryview) -> int:
    return np.frombuffer(text, dtype=np.uint8).ctypes.data


def _list(text: memoryview, marks: _Marks, reading: _Reading) -> Table:
    opening = marks.opening.match(text)
    closing = marks.closing.search(text, max(0, len(text) - _TAIL))
    if opening is None or closing is None:
        raise _Odd
    inside = text[opening.end() : closing.start()]
    are_records = inside[:1].tobytes() == b"{"
    pieces = _pieces(inside, marks.records if are_records else marks.rows, marks.brackets)
    documents = map(_text.decode, pieces) if marks is _ESCAPED else pieces
    return _records(documents, reading) if are_records else _from_rows(documents, reading)


def _pieces(text: memoryview, cut: re.Pattern[bytes], around: tuple[bytes, bytes]) -> Iterator[bytes]:
    """Give what stands between two cuts as documents of their own, with brackets around it."""
    start, size = 0, _PIECE // 16  # the first, from which the others are learned, is read twice
    while True:
        found = cut.search(text, start + size)
        yield b"".join((around[0], text[start : found.start() if found else len(text)], around[1]))
        if not found:
            return
        start, size = found.end(), _PIECE


def _type_of_every(values: Sequence[Any]) -> type | None:
    # Not float, which takes an integer for one and so would change it.
    kinds = set(map(type, values))
    return kinds.pop() if kinds in ({str}, {int}, {bool}) else None


def _keyed(members: Mapping[str, memoryview]) -> Table:
    columns = []
    labels: Any = None
    for text in members.values():
        if text[:1].tobytes() != b"{":
            raise _Odd
        numbers: list[Any] = []
        parts: list[Column] = []
        every: type | None = None
        for piece in _pieces(text[1:-1], _MEMBERS, (b"{", b"}")):
            try:
                rows = _numbered[every].decode(piece)
            except msgspec.ValidationError:  # another type
                every = None
                rows = _numbered[every].decode(piece)
            if 0 in rows and _MINUS_0.search(piece):
                raise _Odd
            values = list(rows.values())
            if not parts:
                every = _type_of_every(values)
            numbers.append(np.fromiter(rows, dtype=np.int64, count=len(rows)))
            parts.append(packed(values, every))
        own = np.concatenate(numbers)
        if labels is None:
            labels = own
        # Numbers that ascend come once; of one that comes twice the last value is the one, wherever it stands.
        if not np.array_equal(own, labels) or (np.diff(own) <= 0).any():
            raise _Odd
        columns.append(joined(parts))
    if labels is None:
        raise _Odd
    return Table("columns", list(members), columns, len(labels), Column("int", labels))


def _decoder(struct: type[msgspec.Struct]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(GenericAlias(list, struct))


@dataclass
class _Rows:
    """Rows of the same length, decoded into structs: the columns, each in as many parts as there were pieces."""

    rows: int = 0
    parts: list[list[Column]] = field(default_factory=list)
    decoder: msgspec.json.Decoder[Any] = _as_rows

    def decode(self, piece: bytes | str) -> list[Any]:
        if not self.parts:
            width = len(next(iter(_as_rows.decode(piece)), ()))
            if not 0 < width <= _MOST_KEYS:
                raise _Odd
            self.parts = [[] for _ in range(width)]
            self.decoder = _decoder(_struct("Row", [(f"f{place}", Any) for place in range(width)], array_like=True))
        structs: list[Any] = self.decoder.decode(piece)
        return structs

    def take(self, structs: Sequence[Any]) -> None:
        self.rows += len(structs)
        for parts, values in zip(self.parts, zip(*map(astuple, structs), strict=True), strict=True):
            parts.append(packed(values))


def _from_rows(pieces: Iterable[bytes | str], reading: _Reading) -> Table:
    rows = _Rows()
    for piece in pieces:
        rows.take(reading.decode(rows.decode, piece))
    return Table("rows", [str(place) for place in range(len(rows.parts))], [*map(joined, rows.parts)], rows.rows)


@dataclass
class _Values:
    """What stands below one key of records: a column a piece, and the type that every value has, if it is known."""

    columns: list[Column]
    every: type | None

    def learn(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Give the type, and the default if there is one, that these values have in a struct."""
        if self.every is not _type_of_every(values):
            self.every = None
        return (self.every,) if self.every else (Any, None)

    def take(self, values: Sequence[Any]) -> None:
        column = packed(values, self.every)
        if column.kind == "object" and any(isinstance(value, dict) for value in column.data):
            raise _Odd  # whether their keys are columns depends on all of them
        self.columns.append(column)

    def named(self, name: str) -> Iterator[tuple[str, Column]]:
        yield name, joined(self.columns)


@dataclass
class _Objects:
    """What stands below one key, or below none: alike objects, by key, and the struct that they are decoded into."""

    rows: int = 0
    parts: dict[str, _Values | _Objects] = field(default_factory=dict)
    struct: Any = _EMPTY
    decoder: msgspec.json.Decoder[Any] = field(default_factory=partial(_decoder, _EMPTY))
    has_nulls: bool = False

    def decode(self, piece: bytes | str) -> list[Any]:
        structs: list[Any]
        try:
            structs = self.decoder.decode(piece)
        except msgspec.ValidationError:  # a new key, or another type
            self.learn(_as_objects.decode(piece))
            self.decoder = _decoder(self.struct)
            structs = self.decoder.decode(piece)
        return structs

    def learn(self, objects: Sequence[dict[str, Any] | None]) -> tuple[Any, ...]:
        """Make the struct one that these objects, too, can be decoded into; give it as `_Values.learn` does."""
        if not set(map(type, objects)) <= {dict, type(None)}:
            raise _Odd
        self.has_nulls |= None in objects
        keys = dict.fromkeys(chain(self.parts, *(each for each in objects if each)))
        if len(keys) > _MOST_KEYS:
            raise _Odd
        fields: list[tuple[Any, ...]] = []
        for key in keys:
            values = [each.get(key) if each else None for each in objects]
            if self.has_nulls:  # `take` makes a struct of nothing for each: every field needs a default
                values.append(None)
            if key not in self.parts:
                before = [packed([None] * self.rows)] if self.rows else []
                is_nested = are_objects(values)
                self.parts[key] = _Objects(self.rows) if is_nested else _Values(before, _type_of_every(values))
            fields.append((f"f{len(fields)}", *self.parts[key].learn(values)))
        names = dict(zip((name for name, *_ in fields), keys, strict=True))
        self.struct = _struct("Record", fields, rename=names, kw_only=True)
        return (self.struct | None, None) if self.has_nulls else (self.struct,)

    def take(self, values: Sequence[Any]) -> None:
        """Take these structs; what is null has nulls for values."""
        self.rows += len(values)
        structs = [self.struct() if value is None else value for value in values] if self.has_nulls else values
        for part, below in zip(self.parts.values(), zip(*map(astuple, structs), strict=True), strict=True):
            part.take(below)

    def named(self, name: str) -> Iterator[tuple[str, Column]]:
        """Give the columns with their names."""
        for key, part in self.parts.items():
            yield from part.named(f"{name}.{key}")


def _records(pieces: Iterable[bytes | str], reading: _Reading) -> Table:
    records = _Objects()
    for piece in pieces:
        records.take(reading.decode(records.decode, piece))
    named = list(chain.from_iterable(part.named(key) for key, part in records.parts.items()))
    return Table("records", [name for name, _ in named], [column for _, column in named], records.rows)

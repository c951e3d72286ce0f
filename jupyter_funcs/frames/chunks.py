"""Chunks: read a long reply into columns, chunk by chunk, without ever holding all of its Python values."""

# A long list of similar records is cut between records, in the text as received, even still escaped. Each chunk fits
# into the processor's cache; it is decoded, packed into columns and dropped. Lists of rows, and columns keyed by row,
# are read in the same way. A cut inside a text or a nested list leaves a quote or bracket open, so decoding fails;
# then, as for anything unusual (`_Odd`), the plain path of `frame` reads the reply or reports what is wrong.

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain, zip_longest
from types import GenericAlias
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from msgspec.structs import astuple

from jupyter_funcs.core.json_decoding import (
    float_hook,
    replace_constants,
    replace_lone_escapes,
    warn_of_repairs,
)
from jupyter_funcs.frames.columns import (
    Column,
    Table,
    are_objects,
    joined,
    packed,
    spread,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from jupyter_funcs.core.json_decoding import JsonObject


T = TypeVar("T")

# In bytes: a chunk, and the shortest reply that is worth cutting.
_CHUNK = 192 * 1024
LONG = 256 * 1024
# With more cells, most are empty: of the table, and of those in chunks, where an empty one takes more time than on the
# plain path, which counts them beforehand.
_CELLS_PER_BYTE = 4
_CELLS_PER_BYTE_OF_CHUNKS = 2 / 3
_FEW_CELLS = 4_000
# With more columns, a chunk has too few rows to be worth it.
_MOST_KEYS = 256
# Where to look for the end of a list, in bytes from the end of the reply.
_TAIL = 256


class _Odd(ValueError):  # noqa: N818  # not an error
    """The plain path must read this reply."""


class _Marks(NamedTuple):
    """Where a document may be cut, plain or escaped as a JSON text."""

    brackets: tuple[bytes, bytes]
    opening: re.Pattern[bytes]
    closing: re.Pattern[bytes]
    records: re.Pattern[bytes]
    rows: re.Pattern[bytes]


def _spaced(pattern: bytes, blanks: bytes = rb"[ \t\r\n]*") -> re.Pattern[bytes]:
    """Compile a pattern in which a space stands for any number of blanks."""
    return re.compile(pattern.replace(b" ", blanks))


def _marks(blanks: bytes, around: tuple[bytes, bytes]) -> _Marks:
    # The last two start with a fixed length, so that long runs of blanks are not searched repeatedly.
    patterns = rb" \[ ", rb" \] \Z", rb"(?<=\}) , (?=\{)", rb"(?<=\]) , (?=\[)"
    return _Marks(around, *(_spaced(pattern, blanks) for pattern in patterns))


_PLAIN = _marks(rb"[ \t\r\n]*", (b"[", b"]"))
_ESCAPED = _marks(rb"(?: |\\[trn])*", (b'"[', b']"'))
_ENVELOPE = _spaced(rb' \{ (?:"error" : null , )?"body" : ')
_ENVELOPE_END = _spaced(rb' (?:, "error" : null )?\} \Z')
# Where an object may be cut, and what separates two of its values.
_MEMBERS = _spaced(b', (?=")')
_KEY = _spaced(rb' [{,] "(?:[^"\\]|\\.)*" : ')
# Rows with numbers, which are too many to take apart by key.
_BY_INDEX = _spaced(rb' \{ "-?[0-9]+" : \{ "[^"0-9\\-]')
# Not a row number, but decoded as 0.
_MINUS_0 = re.compile(rb'(?:-|\\u002[dD])(?:0|\\u0030)"')

_text = msgspec.json.Decoder(str)
_raw = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_long(reply: bytes | str) -> Any:
    """Return the body of a reply with a `Table` in place of its long list, or ``None`` for the plain path."""
    reading = _Reading(_CELLS_PER_BYTE * len(reply), float_hook(reply))
    try:
        body = _body(reply.encode() if isinstance(reply, str) else reply, reading)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        return None

    warn_of_repairs(reading.what, reading.constants, halves=reading.halves)
    return body


@dataclass
class _Reading:
    """The state of one reading: the most cells, the name for messages, the NaN, Infinity and columns so far."""

    most: int
    float_hook: Callable[[str], Any] | None
    what: str = "body of the reply"
    constants: int = 0
    halves: bool = False
    is_ragged: bool = False
    columns: int = 0
    few: float = _FEW_CELLS

    def check(self, rows: int) -> None:
        if rows * self.columns > self.most:
            raise _Odd

    def decoder(self, kind: Any) -> msgspec.json.Decoder[Any]:
        return msgspec.json.Decoder(kind, float_hook=self.float_hook)

    def decode(self, decode: Callable[[bytes | str], T], chunk: bytes | str) -> T:
        """Decode a chunk, with null for NaN and Infinity, and U+FFFD for halves of surrogate pairs."""
        try:
            return decode(chunk)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            before = self.constants
            text = self.repaired(chunk if isinstance(chunk, str) else chunk.decode())

        try:
            return decode(text)
        except msgspec.ValidationError:  # it will be decoded once more, as another type
            self.constants = before
            raise

    def repaired(self, text: str) -> str:
        """Replace what JSON doesn't have, and count it."""
        whole = replace_lone_escapes(text)
        without, replaced = replace_constants(whole)
        if not replaced and whole == text:
            raise _Odd
        self.constants += replaced
        self.halves |= whole != text
        return without


def _body(reply: bytes, reading: _Reading) -> Any:
    start = 0
    end = len(reply)
    if envelope := _ENVELOPE.match(reply):
        closing = _ENVELOPE_END.search(reply, max(0, end - _TAIL))
        if closing is None:
            raise _Odd
        start = envelope.end()
        end = closing.start()

    if reply[start : start + 1] != b'"':
        reading.what = "reply"
        return _document(memoryview(reply)[start:end], reading)

    if _ESCAPED.opening.match(reply, start + 1) and reply[end - 1 : end] == b'"':
        return _list(memoryview(reply)[start + 1 : end - 1], _ESCAPED, reading)
    return _document(
        memoryview(_text.decode(memoryview(reply)[start:end]).encode()), reading
    )


def _document(text: memoryview, reading: _Reading) -> Any:
    if _PLAIN.opening.match(text):
        return _list(text, _PLAIN, reading)
    try:
        members = _members(text)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        members = _repaired_members(bytes(text), reading)

    if members.keys() & {"error", "body"}:
        raise _Odd
    if not ("data" in members and members.keys() & {"schema", "columns"}):
        return _keyed(members, reading)
    data = _document(members.pop("data"), reading)
    others = {name: msgspec.json.decode(value) for name, value in members.items()}
    if "columns" in others:
        _check_split(data, others, reading)
    elif isinstance(data, dict) and "columns" not in data:
        raise _Odd

    return {"data": data, **others}


def _check_split(data: Any, others: JsonObject, reading: _Reading) -> None:
    """Refuse all but rows, with lists of columns and perhaps of an index."""
    are_lists = set(map(type, others.values())) == {list}
    are_rows = (
        isinstance(data, Table) and data.shape == "rows" and not reading.is_ragged
    )
    if not (others.keys() <= {"columns", "index"} and are_lists and are_rows):
        raise _Odd


def _repaired_members(content: bytes, reading: _Reading) -> dict[str, memoryview]:
    first = _KEY.match(content)
    if (
        first
        and content[first.end() : first.end() + 1] == b"["
        and b'"data"' not in content
    ):
        raise _Odd  # lists of columns

    return _members(memoryview(reading.repaired(content.decode()).encode()))


def _members(text: memoryview) -> dict[str, memoryview]:
    """Return the text of each value of an object without repeated keys."""
    raw = {} if _BY_INDEX.match(text) else _raw.decode(text)
    if not 0 < len(raw) <= _MOST_KEYS:
        raise _Odd
    members = {name: memoryview(value) for name, value in raw.items()}
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
    first = inside[:1].tobytes()
    if first not in {b"{", b"["}:
        raise _Odd
    are_records = first == b"{"
    documents: Iterable[bytes | str] = _cut(
        inside, marks.records if are_records else marks.rows, marks.brackets
    )
    if marks is _ESCAPED:
        documents = map(_text.decode, documents)
    return (_records if are_records else _from_rows)(documents, reading)


def _cut(
    text: memoryview, cut: re.Pattern[bytes], around: tuple[bytes, bytes]
) -> Iterator[bytes]:
    """Cut a text into chunks that are documents, each in brackets."""
    start = 0
    size = _CHUNK // 16  # the first one is read twice, to learn the keys
    while True:
        between = cut.search(text, start + size)
        end = between.start() if between else len(text)
        yield b"".join((around[0], text[start:end], around[1]))
        if not between:
            return
        start = between.end()
        size = _CHUNK


def _keyed(members: Mapping[str, memoryview], reading: _Reading) -> Table:
    columns: list[tuple[Column, Any]] = []
    decode = reading.decoder(dict[int, Any]).decode
    for text in members.values():
        column, own = _numbered(text, decode)
        # Row numbers that ascend can't repeat; the plain path handles repeated keys.
        if columns and np.array_equal(own, columns[-1][1]):
            own = columns[-1][1]
        elif not (_ascend(own) or _ascend(own.astype(str))):
            raise _Odd
        columns.append((column, own))

    labels = np.unique(np.concatenate([*{id(own): own for _, own in columns}.values()]))
    rows = len(labels)
    reading.columns = len(columns)
    reading.check(rows)
    spreads = []
    for column, own in columns:
        places: Any = range(rows)
        if not np.array_equal(own, labels):
            places = np.searchsorted(labels, own)
        spreads.append(spread(column, places, rows))

    return Table("columns", list(members), spreads, rows, Column("int", labels))


def _numbered(
    text: memoryview, decode: Callable[[bytes], dict[int, Any]]
) -> tuple[Column, np.ndarray[Any, Any]]:
    """Return the values of a column by row number, and these numbers."""
    if text[:1].tobytes() != b"{":
        raise _Odd
    numbers: list[Any] = []
    parts: list[Column] = []
    for chunk in _cut(text[1:-1], _MEMBERS, (b"{", b"}")):
        rows = decode(chunk)
        if 0 in rows and _MINUS_0.search(chunk):
            raise _Odd
        numbers.append(np.fromiter(rows, dtype=np.int64, count=len(rows)))
        parts.append(packed([*rows.values()]))

    return joined(parts), np.concatenate(numbers)


def _ascend(values: Any) -> bool:
    return bool((values[1:] > values[:-1]).all())


def _from_rows(chunks: Iterable[bytes | str], reading: _Reading) -> Table:
    rows = 0
    parts: list[list[Column]] = []
    decoder = of_any = reading.decoder(list[list[Any] | None])
    for chunk in chunks:
        try:
            values = reading.decode(decoder.decode, chunk)
        except msgspec.ValidationError:
            decoder = of_any
            values = reading.decode(decoder.decode, chunk)
        values = [row or () for row in values]
        columns = [packed(column) for column in zip_longest(*values)]
        if rows == 0:  # tuples of a known length are decoded faster
            decoder = reading.decoder(
                GenericAlias(list, (GenericAlias(tuple, (Any,) * len(columns)),))
            )
        reading.columns = max(len(parts), len(columns))
        reading.is_ragged |= set(map(len, values)) != {reading.columns} or len(
            parts
        ) not in {
            0,
            reading.columns,
        }
        parts += [[_nulls(rows)] for _ in columns[len(parts) :]]
        columns += [_nulls(len(values))] * (len(parts) - len(columns))
        for part, column in zip(parts, columns, strict=True):
            part.append(column)
        rows += len(values)
        reading.check(rows)
        if not 0 < len(parts) <= _MOST_KEYS:
            raise _Odd

    return Table(
        "rows", [str(place) for place in range(len(parts))], [*map(joined, parts)], rows
    )


def _nulls(rows: int) -> Column:
    return packed([None] * rows)


class _Nothing(msgspec.Struct, forbid_unknown_fields=True):
    """An object without keys, before any is known."""


class _Objects:
    """Similar objects, at the top or below a key: their columns, one per chunk, and the struct that decodes them."""

    def __init__(self, reading: _Reading, rows: int = 0) -> None:
        self.reading = reading
        self.rows = rows
        self.parts: dict[str, list[Column] | _Objects] = {}
        self.struct: Any = _Nothing
        self.decode_structs = self.objects(_Nothing)

    def objects(self, kind: Any) -> Callable[[bytes | str], list[Any]]:
        """Return what decodes a list of objects of a kind."""
        return self.reading.decoder(GenericAlias(list, kind)).decode

    def decode(self, chunk: bytes | str) -> list[Any]:
        structs: list[Any]
        try:
            structs = self.decode_structs(chunk)
        except msgspec.ValidationError:  # a new key, or an object where there was none
            self.learn(self.objects(dict[str, Any])(chunk))
            structs = self.decode_structs(chunk)

        return structs

    def learn(self, objects: Sequence[JsonObject | None]) -> None:
        """Extend the struct so that it decodes these objects too."""
        if not set(map(type, objects)) <= {dict, type(None)}:
            raise _Odd
        keys = dict.fromkeys(chain(self.parts, *filter(None, objects)))
        if len(keys) > _MOST_KEYS:
            raise _Odd
        self.reading.columns += len(keys) - len(self.parts)
        self.reading.check(self.rows + len(objects))
        fields: JsonObject = {}
        for key in keys:
            values = [record.get(key) if record else None for record in objects]
            if key not in self.parts:
                if are_objects(values):
                    self.parts[key] = _Objects(self.reading, self.rows)
                else:
                    self.parts[key] = [_nulls(self.rows)]
            part = self.parts[key]
            fields[key] = Any
            if isinstance(part, _Objects):
                part.learn(values)
                fields[key] = part.struct | None

        names = {f"f{at}": key for at, key in enumerate(fields)}
        members = [(name, fields[key], None) for name, key in names.items()]
        # Without garbage collection, which would only cost time.
        self.struct = msgspec.defstruct(
            "Record", members, rename=names, forbid_unknown_fields=True, gc=False
        )
        self.decode_structs = self.objects(self.struct)

    def take(self, structs: Sequence[Any]) -> None:
        self.rows += len(structs)
        for part, values in zip(
            self.parts.values(), zip(*map(astuple, structs), strict=True), strict=True
        ):
            if isinstance(part, _Objects):
                absent = part.struct()
                part.take([absent if value is None else value for value in values])
                continue
            part.append(packed(values))
            if part[-1].kind == "object" and are_objects(values):
                raise _Odd  # all values decide whether their keys become columns

    def columns(self, prefix: str = "") -> Iterator[tuple[str, Column]]:
        """Return the columns with their names."""
        for key, part in self.parts.items():
            if isinstance(part, _Objects):
                yield from part.columns(f"{prefix}{key}.")
            else:
                yield prefix + key, joined(part)


def _records(chunks: Iterable[bytes | str], reading: _Reading) -> Table:
    records = _Objects(reading)
    for chunk in chunks:
        structs = reading.decode(records.decode, chunk)
        reading.check(records.rows + len(structs))
        reading.few += (
            _CELLS_PER_BYTE_OF_CHUNKS * len(chunk) - len(structs) * reading.columns
        )
        if reading.few < 0:
            raise _Odd
        records.take(structs)

    names = []
    columns = []
    for name, column in records.columns():
        names.append(name)
        columns.append(column)
        reading.most -= len(name)
        reading.check(0)

    return Table("records", names, columns, records.rows)

"""Frames: the reply of a run becomes a DataFrame: unwrap the envelope, find the shape, decide the dtypes."""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any

import pandas as pd

from jupyter_funcs.core.errors import ArgumentError, FunctionError
from jupyter_funcs.core.json_decoding import (
    JsonObject,
    as_list,
    decode,
    decode_lines,
    exact_numbers,
    gc_paused,
    is_exact,
    only,
    too_deep,
)
from jupyter_funcs.core.text import clip, distinct, inert, plural, quote, some
from jupyter_funcs.core.warn import MissingRowsWarning, collect_warnings, warn, warn_all
from jupyter_funcs.frames import chunks
from jupyter_funcs.frames.columns import (
    Table,
    are_objects,
    check_cells,
    frame_from,
    packed,
)
from jupyter_funcs.frames.dtypes import (
    DECLARED,
    Declared,
    Listed,
    checked,
    inferred,
    keeping_offsets,
)
from jupyter_funcs.frames.pages import (
    DEEPEST,
    Following,
    Page,
    following,
    is_about,
    page_at,
    page_of,
)
from jupyter_funcs.frames.shapes import RESULT, as_table, is_split

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping


_LONGEST_REASON = 300
_MOST_NAMED = 20  # of columns that contradict their declaration
ALL_PAGES = 'Get all with with_options(pages="all"), or --all.'
_MOST_BESIDE = 100_000  # characters of a further list
_ENCODED = re.compile(r'\ufeff?\s*[\[{"]')
_SCALAR = re.compile(
    r"[ \t\r\n]*(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null|NaN|-?Infinity)[ \t\r\n]*"
)


def body_of(reply: bytes | str, *, strict: bool) -> Any:
    """Return the decoded body of a reply, with or without an envelope."""
    document = decoded_text(decode(reply, strict=strict), strict=strict)
    if not _is_envelope(document):
        return document
    while isinstance(document, dict) and "body" in document:
        _raise_error(document)
        body = document["body"]
        if isinstance(body, str) and _SCALAR.fullmatch(body):
            return decode(body, what="body of the reply", strict=strict)
        document = decoded_text(body, strict=strict)
        if not _is_bare_envelope(document):
            return document

    _raise_error(document)
    return None


def lines_of(reply: bytes | str, *, strict: bool) -> list[Any]:
    """Return the documents of an NDJSON reply, or raise the error that a function sends after some of them."""
    documents = decode_lines(reply, strict=strict)
    for document in documents:
        if _is_bare_envelope(document):
            _raise_error(document)
    return documents


def _warn_of_more(rows: int, more: Following) -> None:
    has = f"{plural(rows, 'row')}, and more follow"
    if more.total is not None:
        has = f"{rows:,} of {more.total:,} rows"
    warn(MissingRowsWarning(f"The reply has {has} ({quote(more.word)}). {ALL_PAGES}"))


def _beside(page: Page) -> JsonObject:
    """Return what is beside the rows of a reply, and warn of rows that are not in its table."""
    attrs: JsonObject = {}
    if page.beside:
        attrs["page"] = _rounded(page.beside)
    if page.others:
        others: JsonObject = _rounded(page.others)
        sizes = {name: plural(len(rows), "row") for name, rows in others.items()}
        attrs["beside"] = {
            name: rows if len(json.dumps(rows)) <= _MOST_BESIDE else sizes[name]
            for name, rows in others.items()
        }
        told = some([f"{quote(name)} ({size})" for name, size in sizes.items()])
        warn(
            f"The table has one of the reply's lists; the others are in df.attrs['funcs']['beside']: {told}."
        )

    return attrs


def _rounded(value: Any) -> Any:
    """Return a value whose numbers have types of JSON."""
    if not is_exact.get():
        return value
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [*map(_rounded, value)]
    if isinstance(value, Decimal):
        return float(value)
    return value


def _page(body: Any, listed: ListedReply) -> Page:
    """Return the rows of a reply of any API; what says its own columns is all rows."""
    is_table = isinstance(body, Table)
    if isinstance(body, dict) and is_split(body):
        is_table = not are_objects(body["columns"])  # which say more than their names
    if is_table or _declaration(body):
        return Page(body)
    page = listed.page(body) or page_of(body)
    is_part = listed.is_record and page.is_found and not page.rows
    return Page(body) if is_part else page


def _in_one_row(document: Any) -> bool:
    """Return whether a document of any API is a record, though its members look like columns."""
    if not isinstance(document, dict) or is_split(document):
        return False
    values = document.values()
    if all(isinstance(value, list) for value in values):
        return len(set(map(len, values))) > 1 or any(map(are_objects, values))
    # What pandas writes by column has numbers for its rows.
    return are_objects(values) and not all(
        key.isdecimal() for value in values for key in value or ()
    )


def _raise_error(envelope: JsonObject) -> None:
    error = envelope.get("error")
    if error is not None:
        reason = _reason(error)
        if " failed: " not in reason:  # as some services already write
            reason = f"The function failed: {reason}"
        raise FunctionError(reason, "Check its arguments first.")


def _is_bare_envelope(document: Any) -> bool:
    return (
        isinstance(document, dict)
        and bool(document)
        and document.keys() <= {"error", "body"}
    )


def _is_envelope(document: Any) -> bool:
    if not isinstance(document, dict):
        return False
    is_failure = isinstance(document.get("error"), str)  # with or without a body
    return (
        is_failure
        or {"error", "body"} <= document.keys()
        or _is_bare_envelope(document)
    )


def decoded_text(value: Any, *, strict: bool) -> Any:
    """Decode text that contains JSON, repeatedly; return any other value unchanged."""
    # Text that starts like JSON must be valid: a truncated table must not pass as text.
    while isinstance(value, str) and _ENCODED.match(value):
        value = decode(value, what="body of the reply", strict=strict)
    return value


def _reason(error: Any) -> str:
    text = error
    if not isinstance(error, str):
        text = json.dumps(error, ensure_ascii=False)
    if text.startswith("Traceback (most recent call last)"):
        text = text.strip().rpartition("\n")[2]  # the error is on the last line
    return clip(inert(text), _LONGEST_REASON) or "it gave no reason."


def to_frame(
    reply: bytes | str,
    *,
    schema: Mapping[str, str] | None = None,
    strict: bool = False,
    lines: bool = False,
    envelope: bool = True,
) -> pd.DataFrame:
    """
    Read the reply of a run as a DataFrame.

    **Envelope.** ``{"error": ..., "body": ...}``, either key alone, or both among others, is unwrapped; any other
    document is the body itself. An object whose ``error`` is text is a failure. A body that is JSON text is decoded,
    however often it was encoded: text that starts with ``[``, ``{`` or ``"`` must be JSON, and a number, ``true``,
    ``false`` or ``null`` is read as such. Any other text is a result in itself.

    **Shapes.** ``frame.attrs["funcs"]["shape"]`` names the shape of the body:

    ===========  =============================================  ====================================================
    shape        example                                        result
    ===========  =============================================  ====================================================
    ``records``  ``[{"a": 1, "b": {"c": 2}}, {"a": 3}]``        columns ``a``, ``b.c``; null where a key is missing
    ``columns``  ``{"a": {"0": 1, "2": 3}, "b": {"1": 2}}``     columns ``a``, ``b``; rows 0, 1, 2
    ``lists``    ``{"a": [1, 2], "b": [3, 4]}``                 columns ``a``, ``b``
    ``split``    ``{"columns": ["a"], "data": [[1], [2]]}``     column ``a``; row labels from ``index``, if present
    ``index``    ``{"7": {"a": 1}, "8": {"a": 2}}``             column ``a``; rows 7, 8
    ``schema``   ``{"schema": {"a": {"type": "int32"}},         any of these as ``data``, with types declared
                 "data": {"a": {"0": 1}}}``
    ``table``    ``{"schema": {"fields": [{"name": "a",         pandas' table schema; its ``primaryKey`` becomes the
                 "type": "integer"}]}, "data": [{"a": 1}]}``    index
    ``rows``     ``[[1, 2], [3]]``                              columns ``0``, ``1``; short rows end in nulls
    ``page``     ``{"total": 9, "items": [{"a": 1}]}``          column ``a``, if `envelope` is false: the rows, in the
                                                                first three levels; ``attrs["funcs"]["page"]`` has the
                                                                rest, and ``["beside"]`` the other lists of objects
    ``record``   ``{"a": 1, "b": [2]}``                         one row, columns ``a``, ``b``
    ``list``     ``[1, "x", null]``                             one column, ``Result``
    ``scalar``   ``7``                                          one row, column ``Result``
    ``text``     ``done``                                       one row, column ``Result``
    ``null``     ``null``                                       no rows, only declared columns
    ``empty``    ``[]`` or ``{}``                               no rows, only declared columns
    ``lines``    ``{"a": 1}`` and, below it, ``{"a": 2}``       as the list of its lines, only with ``lines=True``
    ===========  =============================================  ====================================================

    A key of records whose values are all objects or null becomes one column per key in them, at any depth. Lists and
    mixed values stay Python objects. ``{a: {b: v}}`` is read by column; by row only if all outer keys are integers and
    the inner ones are not. Row keys that ascend, as numbers or as text, are sorted numerically; any other order is
    preserved. Row keys become the index, as integers if all of them are. Repeated column names become ``name.1`` and
    so on. If a key occurs twice in an object, the last value wins.

    **Types** are not guessed:

    ====================================================  ===================================================
    every value except nulls is                           dtype
    ====================================================  ===================================================
    text                                                  ``string``
    an ISO-8601 date, or ``T`` datetime without offset    ``datetime64[us]``
    an ISO-8601 ``T`` datetime with offset                ``datetime64[us, UTC]``
    an integer                                            ``int64``, with nulls ``Int64``; beyond 64 bits ``object``
    a number, some not integers                           ``float64``, unless an integer would change: ``object``
    a boolean                                             ``bool``, with nulls ``boolean``
    anything else, or only nulls                          ``object`` of Python values
    ====================================================  ===================================================

    ``string`` is the text dtype with the same name and null on pandas 2.2 and 3, with or without pyarrow. Datetimes
    have microseconds, which hold the years 1 to 9999, or nanoseconds if a value has more than six decimals.

    **A declared type** is applied as declared:

    ====================================================  ===================================================
    declared (table schema's word)                        dtype
    ====================================================  ===================================================
    ``int32``, ``int64`` (``integer``)                    the same; ``Int32``, ``Int64`` if nullable
    ``float64`` (``number``)                              the same
    ``bool`` (``boolean``)                                the same; ``boolean`` if nullable
    ``str`` (``string``)                                  ``string``
    ``bytes``                                             ``object`` of bytes: the text as UTF-8
    ``datetime.date`` (``date``)                          ``datetime64[us]`` at midnight
    ``np.datetime64[ns]``                                 ``datetime64[ns]``
    ``datetime`` (``datetime``)                           ``datetime64[us]``, or in UTC if all have an offset
    ``Int32``, ``Int64``, ``boolean``, ``string``         the same
    ``category``                                          the same, of texts
    ``decimal``                                           ``object`` of exact `decimal.Decimal`
    ``datetime64[s]``, ``[ms]``, ``[us]``, ``[ns]``       the same
    ``any`` (``any``)                                     as if not declared
    ====================================================  ===================================================

    A date may be a count since 1970: of milliseconds, as pandas writes them, or of the unit of ``datetime64[unit]``.
    Datetimes with offset are converted to UTC for a dtype without offset. A column is nullable if declared so, or if
    it contains nulls and is not declared otherwise. Declared columns come first, in the declared order; a column that
    the reply lacks is all null.

    Parameters
    ----------
    reply
        The reply as received.
    schema
        Type names by column; they override those that the reply declares.
    strict
        Whether to raise for invalid JSON that services send, such as ``NaN``, instead of reading it with a warning.
    lines
        Whether the reply is NDJSON: one JSON document per line.
    envelope
        Whether the reply may be an envelope, and its texts JSON. If not, an object of lists of different lengths is a
        record, a page of a list is its rows, and objects by days, numbers or codes are rows.

    Raises
    ------
    FunctionError
        The envelope's ``error`` is not null, even if a body is present.
    ProtocolError
        The reply, or JSON text in it, is not valid JSON; its columns differ in length; or a value does not fit its
        declared type.
    ReplyTooLargeError
        The table would have more than 20 million cells, and more than 20 per byte of the reply.
    ArgumentError
        `schema` is not a mapping, or names an unknown type; or `reply` is neither bytes nor text.

    Warns
    -----
    UserWarning
        The reply declares an unknown type (the column is read as undeclared), or is invalid JSON as in `strict`.
    MissingRowsWarning
        A page says that there are more rows.
    """
    return page_to_frame(
        reply, {}, schema=schema, strict=strict, lines=lines, envelope=envelope
    )


class _Notes(JsonObject):
    """What is said of columns; a deep copy shares it, because pandas copies attrs for each column that is selected."""

    def __deepcopy__(self, _: object) -> _Notes:
        return self


@dataclass(frozen=True)
class ListedReply:
    """
    What a catalog declares of replies: where the rows are, their columns, and notes on these.

    `path` leads to the rows. `objects` have columns of their own in each row.
    """

    path: tuple[str, ...] = ()
    is_record: bool = False
    columns: Mapping[str, Listed] = field(default_factory=dict)
    objects: frozenset[str] = frozenset()
    notes: Mapping[str, JsonObject] = field(default_factory=dict)

    @classmethod
    def read(cls, schema: JsonObject) -> ListedReply:
        """Read a schema without references, parts and alternatives."""
        path = page_of(_sample(schema, DEEPEST)).path
        for name in path:
            schema = schema["properties"][name]
        is_list = schema.get("type") == "array"
        row = schema
        if is_list:
            row = schema.get("items", {})
        has_members = row.get("type") == "object"
        parts = [(RESULT, row, False)]
        if has_members:
            parts = list(_parts(row))
        return cls(
            path=path,
            is_record=has_members and not is_list,
            columns={
                name: _listed(part, needed)
                for name, part, needed in parts
                if not part.get("properties")
            },
            objects=frozenset(
                name for name, part, _ in parts if part.get("properties")
            ),
            notes={
                name: notes
                for name, part, _ in parts
                if (notes := {word: part[word] for word in part.keys() & _NOTES})
            },
        )

    @property
    def is_exact(self) -> bool:
        """Whether a column has decimals."""
        return _has_decimals(self.columns)

    def page(self, document: Any) -> Page | None:
        """Return the rows of a document if they are where the catalog says; an empty list may be null or left out."""
        rows = document
        for name in self.path:
            if not isinstance(rows, dict):
                return None
            if rows.get(name) is None and not all(map(is_about, rows.keys() - {name})):
                return None
            rows = rows.get(name)

        if rows is None:
            rows = []
        is_found = (
            self.path and isinstance(rows, list) and (not rows or are_objects(rows))
        )
        if is_found:
            return page_at(document, self.path, rows)
        return None

    def _is_listed(self, table: Table, page: Page, *, in_envelope: bool) -> bool:
        is_as_listed = in_envelope or isinstance(page.rows, dict) == self.is_record
        return is_as_listed and page.path == self.path and table.shape in _LISTED

    def fitted(
        self, table: Table, page: Page, *, in_envelope: bool
    ) -> tuple[Table, dict[str, Listed]]:
        """Return a table without what its columns stand for, and their types; none if it isn't the declared one."""
        if not self._is_listed(table, page, in_envelope=in_envelope):
            return table, {}
        named = dict(zip(table.names, table.columns, strict=True))
        empty = {
            name for name in self.objects & named.keys() if named[name].kind == "null"
        }
        if empty:
            for name in empty:
                del named[name]
            table = replace(table, names=list(named), columns=list(named.values()))

        if not table.rows:
            return table, dict(self.columns)
        inside = tuple(f"{name}." for name in empty)
        needed = self._needed(named)
        return table, {
            name: kind
            for name, kind in self.columns.items()
            if name in needed or name in named or name.startswith(inside)
        }

    def _needed(self, named: Collection[str]) -> set[str]:
        """Return the columns that the catalog requires, unless their objects are columns by their parts."""
        ordered = sorted(named)
        required = (name for name, kind in self.columns.items() if kind.is_required)
        return {name for name in required if not _has_parts(name, ordered)}

    def attrs(self, frame: pd.DataFrame) -> JsonObject:
        """Return what is said of the columns of a frame."""
        notes = _Notes(
            {name: self.notes[name] for name in frame.columns if name in self.notes}
        )
        if notes:
            return {"columns": notes}
        return {}


def _has_parts(name: str, ordered: list[str]) -> bool:
    """Return whether the objects of a column are columns by their parts."""
    start = f"{name}."
    place = bisect_left(ordered, start)
    return place < len(ordered) and ordered[place].startswith(start)


def _has_decimals(columns: Mapping[str, Declared]) -> bool:
    return any(column.kind == "decimal" for column in columns.values())


UNLISTED = ListedReply()
_NOTES = {"description", "unit"}
# The shapes of tables that a schema can declare.
_LISTED = {"records", "record", "list", "scalar", "text", "empty", "null"}
_SAMPLES = {"boolean": False, "integer": 0, "number": 0.0, "string": ""}
_KINDS = {
    "boolean": "bool",
    "integer": "int64",
    "number": "float64",
    "number decimal": "decimal",
    "number int32": "int64",
    "number int64": "int64",
    "string": "str",
    "string date": "datetime.date",
    "string date-time": "datetime",
    "string decimal": "decimal",
    "string google-datetime": "datetime",
}


def _sample(schema: JsonObject, levels: int) -> Any:
    """Return a document as a schema declares it, whose rows are found as those of any other."""
    kind = schema.get("type", "")
    if kind == "array" and schema.get("items", {}).get("type") == "object":
        return [dict.fromkeys(schema["items"].get("properties", [""]))]
    if kind == "object" and levels:
        return {
            name: _sample(part, levels - 1)
            for name, part in schema.get("properties", {}).items()
        }

    if kind == "array":
        return [None]
    return _SAMPLES.get(kind)


def _parts(
    row: JsonObject, prefix: str = "", *, needed: bool = True
) -> Iterator[tuple[str, JsonObject, bool]]:
    """Yield the columns of a row: their names, schemas, and whether each row has them."""
    for name, part in row.get("properties", {}).items():
        is_required = needed and name in row.get("required", ())
        yield prefix + name, part, is_required
        yield from _parts(
            part, f"{prefix}{name}.", needed=is_required and not part.get("nullable")
        )


def _listed(part: JsonObject, is_required: bool) -> Listed:  # noqa: FBT001  # as `_parts` yields it
    word = part.get("type", "")
    form = part.get("format", "")
    kind = _KINDS.get(f"{word} {form}") or _KINDS.get(word, "any")
    if kind == "str" and ("date" in form or "time" in form):
        kind = "any"
    options = tuple(part.get("enum", ()))
    if options:
        kind = "category"
    return Listed(kind, part.get("nullable"), options, is_required=is_required)


class AllPages:
    """The pages of a list so far."""

    def __init__(self) -> None:
        self.listed = UNLISTED
        self.last = Page(None)
        self.more: Following | None = None
        self.size = 0
        self.number = 0
        self.total = 0  # rows, as far as a page that isn't the last one tells
        self._first = self.last
        self._rows: list[Any] = []
        self._seen: set[bytes] = set()

    @property
    def rows(self) -> int:
        """How many rows there are so far."""
        return len(self._rows)

    def add(self, reply: bytes, headers: Mapping[str, str]) -> str:
        """Add a page; or return why that is not a further one."""
        listed = self.listed
        if self.number:
            listed = replace(listed, path=self._first.path)
        with gc_paused(), exact_numbers(is_on=listed.is_exact):
            page = _page(decode(reply), listed)
        if not self.number:
            self._first = page
        elif not isinstance(page.rows, list) or page.path != self._first.path:
            return "the next page has another shape"

        content = hashlib.sha256(json.dumps(page.rows, default=str).encode()).digest()
        if content in self._seen and page.rows:
            return "the same page came again"
        self._seen.add(content)
        self.last = page
        self.number += 1
        self.size += len(reply)
        self._rows += only(list, page.rows)
        self.more = self._more(following(page, headers))
        return ""

    def _more(self, more: Following | None) -> Following | None:
        """Return what says that more rows follow the last page: if it has any, and if all pages together lack some."""
        if more is None or (self.number > 1 and not self.last.rows):
            return None
        had_link = bool(self.more and self.more.lead)
        if more.total is None:
            return more
        self.total = more.total
        return None if had_link or self.rows >= more.total else more

    def frame(self, schema: Mapping[str, str] | None, why_not_all: str) -> pd.DataFrame:
        """Return the rows of all pages, and warn if they are not all."""
        own = checked(schema)
        with (
            gc_paused(),
            exact_numbers(is_on=self.listed.is_exact),
            keeping_offsets(is_on=True),
        ):
            table, kinds = self.listed.fitted(
                as_table(self._rows, self.size), self._first, in_envelope=False
            )
            frame = frame_of(table, {**kinds, **own})

        about = {
            **_beside(self._first),
            **self.listed.attrs(frame),
            "pages": self.number,
        }
        frame.attrs["funcs"] = {"shape": "page", **about}
        if why_not_all:
            warn(
                MissingRowsWarning(
                    f"Not all rows are here: {why_not_all}. The table has {plural(self.rows, 'row')}."
                )
            )

        return frame


def page_to_frame(  # noqa: PLR0913  # what decides how a reply is read
    reply: bytes | str,
    headers: Mapping[str, str],
    *,
    schema: Mapping[str, str] | None,
    lines: bool,
    strict: bool = False,
    envelope: bool = False,
    listed: ListedReply = UNLISTED,
) -> pd.DataFrame:
    """Read a reply; its headers, with its status as ``:status``, may say that more rows follow."""
    own = checked(schema)
    reply = _text(reply)
    with (
        gc_paused(),
        exact_numbers(is_on=listed.is_exact or _has_decimals(own)),
        keeping_offsets(is_on=not envelope),  # the first wire has one
    ):
        try:
            body = _body(reply, strict=strict, lines=lines, envelope=envelope)
            declaration = _declaration(body)
            if declaration:
                body = decoded_text(body["data"], strict=strict)
            page = Page(body)
            if not (envelope or declaration):
                page = _page(body, listed)
            rows = page.rows
            if not envelope and _in_one_row(rows):
                rows = [rows]
            table = as_table(rows, len(reply))
        except RecursionError as error:
            raise too_deep("reply") from error
        attrs = {"shape": table.shape, **_beside(page)}
        if page.is_found:
            attrs["shape"] = "page"
        elif lines:
            attrs["shape"] = "lines"
        if more := following(page, headers):
            _warn_of_more(len(page.rows), more)
            attrs["more"] = more.word
        if declaration:
            check_cells(
                table.rows, len({*own, *declaration.columns, *table.names}), len(reply)
            )
            frame = declaration.frame(table, own)
            attrs |= {"shape": declaration.shape, **declaration.attrs}
        else:
            table, kinds = listed.fitted(table, page, in_envelope=envelope)
            check_cells(table.rows, len({*own, *kinds, *table.names}), len(reply))
            frame = frame_of(table, {**kinds, **own})
            attrs |= listed.attrs(frame)

    frame.attrs["funcs"] = attrs
    return frame


def _body(reply: bytes | str, *, strict: bool, lines: bool, envelope: bool) -> Any:
    """Return the decoded body of a reply; a long one may be a `Table` already."""
    if lines:
        return lines_of(reply, strict=strict)
    is_text = not envelope and reply[:1] in {'"', b'"'}
    if not (strict or is_text or is_exact.get()):
        body = _long(reply)
        if body is not None:
            return body

    if envelope:
        return body_of(reply, strict=strict)
    return decode(reply, strict=strict)


def _text(reply: Any) -> bytes | str:
    if isinstance(reply, bytes | bytearray | memoryview):
        return bytes(reply)
    if isinstance(reply, str):
        return str(reply)
    raise ArgumentError(
        f"to_frame takes the bytes or the text of a reply, not {type(reply).__name__}.",
        "Pass it as received, before decoding the JSON.",
    )


def _long(reply: bytes | str) -> Any:
    if len(reply) < chunks.LONG:
        return None
    warned: list[UserWarning] = []
    with collect_warnings(warned):
        body = chunks.read_long(reply)
    # `data` may also be a key of a single record.
    if not (
        isinstance(body, Table) or (body and (is_split(body) or _declaration(body)))
    ):
        return None  # read again by the plain path, with its own warnings

    warn_all(warned)
    return body


@dataclass(frozen=True)
class _Declaration:
    """The schema of a reply: its shape, the types of the columns, the index columns, and further attrs."""

    shape: str
    columns: dict[str, Declared]
    keys: list[str]
    attrs: JsonObject

    def frame(self, table: Table, own: Mapping[str, Declared]) -> pd.DataFrame:
        if table.shape == "rows" and len(table.names) == len(self.columns):
            table = replace(table, names=list(self.columns))
        frame = frame_of(table, {**self.readable(), **own})
        keys = [key for key in self.keys if key in frame.columns]
        values = chain.from_iterable(
            frame[key] for key in keys if frame[key].dtype == object
        )
        # A MultiIndex can't hold lists and objects.
        if not keys or (
            len(keys) > 1 and any(isinstance(value, list | dict) for value in values)
        ):
            return frame

        frame = frame.set_index(keys)
        if keys == ["index"]:  # pandas' name for an unnamed index
            frame.index.name = None
        return frame

    def readable(self) -> dict[str, Declared]:
        """Return the declarations by column, with a warning in place of an unknown type."""
        columns = {**self.columns}
        for name, column in self.columns.items():
            if column.kind not in DECLARED or column.kind in _OF_CALLERS:
                columns[name] = _UNDECLARED
                kind = quote(column.kind)
                warn(
                    f"The reply declares column {quote(name)} as {kind}, an unknown type: ignored."
                )

        return columns


_UNDECLARED = Declared("any")
# Types that callers and catalogs may declare, and replies themselves don't.
_OF_CALLERS = {"category", "decimal"}
# The types of pandas' table schema.
_TABLE_TYPES = {
    "integer": "int64",
    "number": "float64",
    "boolean": "bool",
    "string": "str",
    "datetime": "datetime",
    "date": "datetime.date",
}


def _declaration(body: Any) -> _Declaration | None:
    body = only(dict, body)
    schema = body.get("schema")
    if "data" not in body or not isinstance(schema, dict):
        return None
    attrs = {name: body[name] for name in body.keys() & {"retrievalTime"}}
    fields = schema.get("fields")
    if isinstance(fields, list) and all(isinstance(column, dict) for column in fields):
        return _table_schema(fields, schema.get("primaryKey"), attrs)
    if not all("type" in only(dict, column) for column in schema.values()):
        return None
    columns = {name: _declared(column) for name, column in schema.items()}
    return _Declaration("schema", columns, [], attrs)


def _table_schema(
    fields: list[JsonObject], keys: Any, attrs: JsonObject
) -> _Declaration:
    kinds = {
        str(column.get("name") or ""): str(column.get("type", "any"))
        for column in fields
    }
    columns = {
        name: Declared(_TABLE_TYPES.get(kind, kind)) for name, kind in kinds.items()
    }
    names = [key for key in as_list(keys) if isinstance(key, str)]
    return _Declaration("table", columns, [*dict.fromkeys(names)], attrs)


def _declared(column: JsonObject) -> Declared:
    nullable = column.get("nullable")
    if not isinstance(nullable, bool):
        nullable = None
    return Declared(str(column["type"]), nullable)


def _index(table: Table) -> pd.Index[Any]:
    numbers = pd.RangeIndex(table.rows)
    if table.labels is None or not table.rows:
        return numbers
    labels: pd.Index[Any] = pd.Index(inferred(table.labels))
    if labels.dtype == numbers.dtype and labels.equals(numbers):
        return numbers
    return labels


def frame_of(table: Table, declared: Mapping[str, Declared]) -> pd.DataFrame:
    """Return the frame of a table, some of whose columns are declared."""
    named = list(zip(table.names, table.columns, strict=True))
    # Declared columns first, in the declared order and with absent ones, then the others.
    place = {name: position for position, name in enumerate(declared)}
    named += [
        (name, packed([None] * table.rows))
        for name in declared.keys() - set(table.names)
    ]
    named.sort(key=lambda column: place.get(column[0], len(place)))
    names = distinct([name for name, _ in named], "{}.{}", 1)
    arrays = {}
    contradicting: list[str] = []
    for unique, (name, column) in zip(names, named, strict=True):
        kind = declared.get(name, _UNDECLARED)
        values = column
        if column.kind == "object" and is_exact.get() and kind.kind != "decimal":
            values = packed(_rounded(column.to_list()))
        array = kind.array(name, values)
        if array is None:
            contradicting.append(f"{quote(name)} ({kind.kind})")
            array = inferred(values)
        arrays[unique] = array

    if contradicting:
        warn(
            f"Values that aren't as the catalog declares them stay as they came, in {some(contradicting, _MOST_NAMED)}."
        )

    return frame_from(arrays, _index(table))

"""
The reply of a run -> a DataFrame: unwrap it, see its shape, give every column its dtype.

The only room that builds frames. A document of any known shape first becomes a `Table`, so that dtypes are decided in
one place, on whole columns, and never by looking at names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from jupyter_funcs.columns import Table, packed
from jupyter_funcs.dtypes import DECLARED, Declared, checked, inferred
from jupyter_funcs.envelope import body_of, decoded_text, lines_of
from jupyter_funcs.errors import ArgumentError
from jupyter_funcs.notices import warn
from jupyter_funcs.pieces import read_long
from jupyter_funcs.shapes import as_table, is_split
from jupyter_funcs.text import quote
from jupyter_funcs.wire import too_deep

if TYPE_CHECKING:
    from collections.abc import Mapping


def to_frame(
    reply: bytes | str, *, schema: Mapping[str, str] | None = None, strict: bool = False, lines: bool = False
) -> pd.DataFrame:
    """
    Read the reply of a run as a DataFrame.

    **Envelope** (SERVICE.md 2). ``{"error": ..., "body": ...}``, either of them alone, or with more beside both, is
    unwrapped; a document without it is the body itself. An object whose ``error`` is text is a failure, so that a
    single record has no such column. A body that is JSON text is read, however often it was encoded: one that starts
    with ``[``, ``{`` or ``"`` has to be JSON, and a number, ``true``, ``false`` or ``null`` is. Any other text is a
    result in itself.

    **Shapes.** Which one was seen stands in ``frame.attrs["funcs"]["shape"]``:

    ===========  =============================================  ====================================================
    shape        example                                        result
    ===========  =============================================  ====================================================
    ``records``  ``[{"a": 1, "b": {"c": 2}}, {"a": 3}]``        columns ``a``, ``b.c``; null where a key is missing
    ``columns``  ``{"a": {"0": 1, "2": 3}, "b": {"1": 2}}``     columns ``a``, ``b``; rows 0, 1, 2
    ``lists``    ``{"a": [1, 2], "b": [3, 4]}``                 columns ``a``, ``b``
    ``split``    ``{"columns": ["a"], "data": [[1], [2]]}``     column ``a``; row labels if there is an ``index``
    ``index``    ``{"7": {"a": 1}, "8": {"a": 2}}``             column ``a``; rows 7, 8
    ``schema``   ``{"schema": {"a": {"type": "int32"}},         any of these as ``data``, with types declared
                 "data": {"a": {"0": 1}}}``
    ``table``    ``{"schema": {"fields": [{"name": "a",         pandas' table schema; its ``primaryKey`` becomes the
                 "type": "integer"}]}, "data": [{"a": 1}]}``    index
    ``rows``     ``[[1, 2], [3]]``                              columns ``0``, ``1``; short rows end in nulls
    ``record``   ``{"a": 1, "b": [2]}``                         one row, columns ``a``, ``b``
    ``list``     ``[1, "x", null]``                             one column, ``Result``
    ``scalar``   ``7``                                          one row of it
    ``text``     ``done``                                       one row of it
    ``null``     ``null``                                       no row
    ``empty``    ``[]`` or ``{}``                               no row, and no column but the declared ones
    ``lines``    ``{"a": 1}`` and, below it, ``{"a": 2}``       as the list of its lines, only if `lines` says so
    ===========  =============================================  ====================================================

    A key of records whose values are all objects or null gives a column for each key in them, at any depth; lists, and
    values of several kinds, are kept as they are. ``{a: {b: v}}`` is read by column, and by row only if all outer keys
    are integers and the inner are not. Row keys that ascend, as numbers or as text, come in numeric order; in any other
    order they are left; those that are no integers become the index. A column name that comes again, or is empty, is
    kept, and told apart as ``name.1``. Of a key that stands twice in one object the last value wins.

    **Types** are not guessed:

    ====================================================  ===================================================
    every value that is not null is                       dtype
    ====================================================  ===================================================
    text                                                  ``string``
    an ISO-8601 date, or ``T`` datetime without offset    ``datetime64[us]``
    an ISO-8601 ``T`` datetime with offset                ``datetime64[us, UTC]``
    an integer                                            ``int64``, with nulls ``Int64``; beyond 64 bit ``object``
    a number, some not integers                           ``float64``, unless an integer would change: ``object``
    a truth value                                         ``bool``, with nulls ``boolean``
    anything else, or nothing but nulls                   ``object`` of Python values
    ====================================================  ===================================================

    ``string`` is the text dtype that has one name and one null on pandas 2.2 and 3, with or without pyarrow.
    Microseconds hold every year from 1 to 9999, where nanoseconds end in 2262; they are used only where a value has
    more than six decimals.

    **A declared type** is applied as declared:

    ====================================================  ===================================================
    declared (table schema's word)                        dtype
    ====================================================  ===================================================
    ``int32``, ``int64`` (``integer``)                    the same; ``Int32``, ``Int64`` where it is nullable
    ``float64`` (``number``)                              the same
    ``bool`` (``boolean``)                                the same; ``boolean`` where it is nullable
    ``str`` (``string``)                                  ``string``
    ``bytes``                                             ``object`` of bytes: the text as UTF-8
    ``datetime.date`` (``date``)                          ``datetime64[us]`` at midnight
    ``np.datetime64[ns]``                                 ``datetime64[ns]``
    ``datetime`` (``datetime``)                           ``datetime64[us]``, or in UTC if all have an offset
    ``Int32``, ``Int64``, ``boolean``, ``string``         the same
    ``datetime64[s]``, ``[ms]``, ``[us]``, ``[ns]``       the same
    ``any`` (``any``)                                     as where nothing is declared
    ====================================================  ===================================================

    A date may be a count since 1970: of milliseconds, as pandas writes them, or of the unit of ``datetime64[unit]``.
    An offset is applied where the dtype has no place for it. A column is nullable if that is declared, or not denied
    and a null is in it. Declared columns stand first, in the declared order; one that the reply lacks is all null.

    Parameters
    ----------
    reply
        What the service sent, as received.
    schema
        Type names by column; they override those the reply declares.
    strict
        Raise for what JSON does not allow but services send, as `jupyter_funcs.wire.decode` does.
    lines
        Whether the reply is NDJSON: one JSON document a line.

    Raises
    ------
    FunctionError
        The envelope's ``error`` is not null, even when a body is present.
    ProtocolError
        The reply, or the JSON text in it, is not sound JSON; its columns do not fit together; or a value does not
        fit its declared type.
    ReplyTooLargeError
        Ragged rows would be filled up to more than 500 million values.
    ArgumentError
        `schema` is no mapping, or names an unknown type; or `reply` is neither bytes nor text.

    Warns
    -----
    UserWarning
        The reply declares a type of no known meaning (the column is left as read), or as in `decode`.
    """
    given = checked({} if schema is None else schema)
    reply = _text(reply)
    try:
        body: Any = None if strict or lines else _long(reply)
        if body is None:
            body = lines_of(reply, strict=strict) if lines else body_of(reply, strict=strict)
        declaration = _declaration(body)
        table = as_table(decoded_text(body["data"], strict=strict) if declaration else body)
    except RecursionError as error:
        raise too_deep("reply") from error
    told = {"shape": "lines" if lines else table.shape}
    if declaration is None:
        frame = _frame(table, given)
    else:
        frame = declaration.frame(table, given)
        told |= {"shape": declaration.shape, **declaration.told}
    frame.attrs["funcs"] = told
    return frame


def _text(reply: Any) -> bytes | str:
    if isinstance(reply, bytearray | memoryview):
        return bytes(reply)
    if not isinstance(reply, bytes | str):
        raise ArgumentError(
            f"to_frame takes the bytes or the text of a reply, not {type(reply).__name__}.",
            "Give it as the service sent it, before it is read as JSON.",
        )
    return reply if isinstance(reply, bytes) else str(reply)


def _long(reply: bytes | str) -> Any:
    body = read_long(reply)
    # What stands beside `data` may also be the other keys of a record.
    return body if isinstance(body, Table) or (body and (is_split(body) or _declaration(body))) else None


# What is declared


@dataclass(frozen=True)
class _Declaration:
    """What stands beside the data: its form, the type of each column, the columns that are the index, and the rest."""

    shape: str
    columns: dict[str, Declared]
    keys: list[str]
    told: dict[str, Any]

    def frame(self, table: Table, given: Mapping[str, Declared]) -> pd.DataFrame:
        """Give the frame of the table, whose columns the caller may declare otherwise."""
        if table.shape == "rows" and len(table.names) == len(self.columns):
            table = replace(table, names=list(self.columns))
        frame = _frame(table, {**self.known(), **given})
        keys = [key for key in self.keys if key in frame.columns]
        values = chain.from_iterable(frame[key] for key in keys if frame[key].dtype == object)
        # pandas' index of several columns takes no lists and no objects.
        if not keys or (len(keys) > 1 and any(isinstance(value, list | dict) for value in values)):
            return frame
        frame = frame.set_index(keys)
        if keys == ["index"]:  # as pandas writes one without a name
            frame.index.name = None
        return frame

    def known(self) -> dict[str, Declared | None]:
        """Give what is declared by column; of a type that nobody knows, that the column is left as read."""
        for name, column in self.columns.items():
            if column.kind not in DECLARED:
                warn(
                    f"The reply declares column {quote(name)} as {quote(column.kind)}, which is no known type; "
                    "its values are left as read."
                )
        return {name: column if column.kind in DECLARED else None for name, column in self.columns.items()}


# The words of table schema, as pandas writes it.
_TABLE_TYPES = {
    "integer": "int64",
    "number": "float64",
    "boolean": "bool",
    "string": "str",
    "datetime": "datetime",
    "date": "datetime.date",
}


def _declaration(body: Any) -> _Declaration | None:
    if not (isinstance(body, dict) and {"schema", "data"} <= body.keys() and isinstance(body["schema"], dict)):
        return None
    schema = body["schema"]
    told = {"retrievalTime": body["retrievalTime"]} if "retrievalTime" in body else {}
    if isinstance(fields := schema.get("fields"), list) and all(isinstance(column, dict) for column in fields):
        kinds = {str(column.get("name") or ""): str(column.get("type", "any")) for column in fields}
        columns = {name: Declared(_TABLE_TYPES.get(kind, kind)) for name, kind in kinds.items()}
        keys = schema.get("primaryKey")
        keys = keys if isinstance(keys, list) else [keys]
        return _Declaration("table", columns, [key for key in keys if isinstance(key, str)], told)
    if all(isinstance(column, dict) and "type" in column for column in schema.values()):
        columns = {
            name: Declared(
                str(column["type"]), nullable if isinstance(nullable := column.get("nullable"), bool) else None
            )
            for name, column in schema.items()
        }
        return _Declaration("schema", columns, [], told)
    return None


# The frame


def _index(table: Table) -> pd.Index[Any]:
    labels = table.labels
    if labels is None or not table.rows:
        return pd.RangeIndex(table.rows)
    if labels.kind == "int" and labels.nulls is None and np.array_equal(labels.data, np.arange(table.rows)):
        return pd.RangeIndex(table.rows)
    index: pd.Index[Any] = pd.Index(inferred(labels))
    return index


def _frame(table: Table, declared: Mapping[str, Declared | None]) -> pd.DataFrame:
    named = list(zip(table.names, table.columns, strict=True))
    # Declared columns stand in the declared order, an absent one too, and those that are not declared follow.
    place = {name: position for position, name in enumerate(declared)}
    named += [(name, packed([None] * table.rows)) for name in declared.keys() - set(table.names)]
    named.sort(key=lambda column: place.get(column[0], len(place)))
    names = _told_apart([name for name, _ in named])
    index = _index(table)
    columns: dict[str, Any] = {}
    for unique, (name, column) in zip(names, named, strict=True):
        kind = declared.get(name)
        array = kind.array(name, column) if kind else inferred(column)
        # As a Series, because pandas 3 would take a plain object array of texts for its own text dtype.
        is_object = isinstance(array, np.ndarray) and array.dtype == object
        columns[unique] = pd.Series(array, index=index, dtype=object) if is_object else array
    return pd.DataFrame(columns, index=index, columns=None if names else [], copy=False)


def _told_apart(names: list[str]) -> list[str]:
    taken = set(names)
    seen: set[str] = set()
    count: dict[str, int] = {}
    unique = []
    for name in names:
        new = name
        while new in seen or (new != name and new in taken):
            count[name] = count.get(name, 0) + 1
            new = f"{name}.{count[name]}"
        seen.add(new)
        unique.append(new)
    return unique

"""
The reply of a run -> a DataFrame: unwrap it, see its shape, give every column its dtype.

The only room that builds frames. A document of any known shape first becomes a `_Table`, lists of Python values by
column, so that dtypes are decided in one place, on whole columns, and never by looking at names.
"""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

import pandas as pd

from jupyter_funcs.dtypes import DECLARED, Declared, inferred
from jupyter_funcs.errors import ArgumentError, FunctionError, ProtocolError
from jupyter_funcs.text import clip, did_you_mean, inert, listed, quote
from jupyter_funcs.wire import decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_RESULT = "Result"
_LONGEST_REASON = 300
_ENCODED = re.compile(r'\ufeff?\s*[\[{"]')
_SCALAR = re.compile(r"\s*(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null|NaN|-?Infinity)\s*")


def to_frame(reply: bytes | str, *, strict: bool = False, schema: Mapping[str, str] | None = None) -> pd.DataFrame:
    """
    Read the reply of a run as a DataFrame.

    **Envelope** (SERVICE.md 2). ``{"error": ..., "body": ...}`` is unwrapped; a document without it is the body
    itself. A body that is JSON text is read, however often it was encoded; other text is a result in itself.

    **Shapes.** A list of records (ragged ones: all columns in the order first seen, null where missing); columns of
    rows ``{column: {row: value}}``; columns of values ``{column: [value]}``; pandas' split form; any of these as the
    ``data`` beside a ``schema``; a list of lists (columns "0", "1", ...; short rows end in nulls); a single record.
    A scalar, plain text and a list of scalars are one column, ``Result``. Null and ``{}`` are the empty frame.
    Row labels become the index. Column names are text; one that comes again is told apart as ``name.1``.

    **Types** are not guessed, and the same whether or not a null is among the values:

    ====================================================  ===================================================
    every value that is not null is                       dtype
    ====================================================  ===================================================
    text                                                  ``string``
    an ISO-8601 date, or ``T`` datetime without offset    ``datetime64[us]``
    an ISO-8601 ``T`` datetime with offset                ``datetime64[us, UTC]``
    an integer                                            ``Int64``; beyond 64 bit ``object`` of Python ints
    a number, some not integers                           ``float64``, unless an integer would change: ``object``
    a truth value                                         ``boolean``
    anything else, or nothing but nulls                   ``object`` of Python values
    ====================================================  ===================================================

    ``string`` is the text dtype that has one name and one null on pandas 2.2 and 3, with or without pyarrow.
    Microseconds hold every year from 1 to 9999, where nanoseconds end in 2262; they are used only where a value has
    more than six decimals.

    **A declared type** is applied as declared: ``int32``, ``int64``, ``float64``, ``bool``, ``str``,
    ``datetime.date`` (``datetime64[us]`` at midnight), ``np.datetime64[ns]`` and ``bytes`` (text as UTF-8). Integers
    and bools are numpy's, or their nullable twins where the column is nullable. A declared date may be a count of
    milliseconds since 1970, as pandas writes them. A declared column that is absent is all null.

    Parameters
    ----------
    reply
        What the service sent, as received.
    strict
        Raise for what JSON does not allow but services send, as `jupyter_funcs.wire.decode` does.
    schema
        Type names by column; they override those the reply declares.

    Raises
    ------
    FunctionError
        The envelope's ``error`` is not null, even when a body is present.
    ProtocolError
        The reply, or the JSON text in it, is not sound JSON; its columns do not fit together; or a value does not
        fit its declared type.
    ArgumentError
        `schema` names an unknown type.

    Warns
    -----
    UserWarning
        The reply declares a type of no known meaning (the column is left as read), or as in `decode`.
    """
    for name, kind in (schema or {}).items():
        if kind not in DECLARED:
            raise ArgumentError(
                f"Column {quote(name)} has the unknown type {quote(kind)} in schema.",
                f"Types are {listed(DECLARED)}. {did_you_mean(kind, DECLARED)}".strip(),
            )
    body = _body(decode(reply, strict=strict), strict=strict)
    declared: dict[str, Declared | None] = {}
    attrs = {}
    if _has_schema(body):
        declared = _known(body["schema"])
        if "retrievalTime" in body:
            attrs["funcs"] = {"retrievalTime": body["retrievalTime"]}
        body = _decoded_text(body["data"], strict=strict)
    declared |= {name: Declared(kind) for name, kind in (schema or {}).items()}
    frame = _frame(_table(body), declared)
    frame.attrs.update(attrs)
    return frame


# The envelope


def _body(document: Any, *, strict: bool) -> Any:
    document = _decoded_text(document, strict=strict)
    if not _is_envelope(document):
        return document
    error = document.get("error")
    if error is not None:
        reason = _reason(error)
        # Services that name the function say themselves that it failed.
        told = reason if " failed: " in reason else f"The function failed: {reason}"
        raise FunctionError(told, "Its arguments are where to look first.")
    body = document.get("body")
    if isinstance(body, str) and _SCALAR.fullmatch(body):
        return decode(body, what="body of the reply", strict=strict)
    return _decoded_text(body, strict=strict)


def _is_envelope(document: Any) -> bool:
    return isinstance(document, dict) and (
        {"error", "body"} <= document.keys()
        or (bool(document) and document.keys() <= {"error", "body"})
        # A failure that is told without a body must never be shown as a table.
        or isinstance(document.get("error"), str)
    )


def _decoded_text(value: Any, *, strict: bool) -> Any:
    # Text that opens like JSON is JSON, or broken: a table cut short must not pass for a text.
    while isinstance(value, str) and _ENCODED.match(value):
        value = decode(value, what="body of the reply", strict=strict)
    return value


def _reason(error: Any) -> str:
    text = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    if text.startswith("Traceback (most recent call last)"):
        text = text.strip().rpartition("\n")[2]  # what went wrong stands last
    return clip(inert(text), _LONGEST_REASON) or "it gave no reason."


def _has_schema(body: Any) -> bool:
    return (
        isinstance(body, dict)
        and {"schema", "data"} <= body.keys()
        and isinstance(body["schema"], dict)
        and all(isinstance(column, dict) and "type" in column for column in body["schema"].values())
    )


def _known(schema: dict[str, dict[str, Any]]) -> dict[str, Declared | None]:
    declared: dict[str, Declared | None] = {}
    for name, column in schema.items():
        kind = str(column["type"])
        if kind in DECLARED:
            declared[name] = Declared(kind, column.get("nullable"))
        else:
            declared[name] = None
            warnings.warn(
                f"The reply declares column {quote(name)} as {quote(kind)}, which is no known type; "
                "its values are left as read.",
                UserWarning,
                stacklevel=3,
            )
    return declared


# Shapes


@dataclass(frozen=True)
class _Table:
    names: list[str]
    columns: Sequence[Sequence[Any]]
    index: Any


def _table(value: Any) -> _Table:
    if isinstance(value, dict):
        return _from_object(value)
    if isinstance(value, list):
        return _from_array(value)
    return _from_array([] if value is None else [value])


def _from_object(value: dict[str, Any]) -> _Table:
    if _is_split(value):
        return _from_split(value)
    if _all(dict, value.values()):
        return _from_keyed(value)
    if _all(list, value.values()):
        return _from_lists(value)
    return _from_records([value])


def _from_array(value: list[Any]) -> _Table:
    kinds = set(map(type, value)) - {type(None)}
    if not value or kinds == {dict}:
        return _from_records([row or {} for row in value])
    if kinds == {list}:
        return _from_rows([row or [] for row in value])
    return _Table([_RESULT], [value], pd.RangeIndex(len(value)))


def _all(kind: type, values: Iterable[Any]) -> bool:
    return all(isinstance(value, kind) for value in values)


def _from_records(rows: list[dict[str, Any]]) -> _Table:
    names = list(dict.fromkeys(chain.from_iterable(rows)))
    return _Table(names, [[row.get(name) for row in rows] for name in names], pd.RangeIndex(len(rows)))


def _from_rows(rows: list[list[Any]]) -> _Table:
    columns = list(zip_longest(*rows))
    return _Table([str(place) for place in range(len(columns))], columns, pd.RangeIndex(len(rows)))


def _from_keyed(value: dict[str, dict[str, Any]]) -> _Table:
    labels = list(dict.fromkeys(chain.from_iterable(value.values())))
    columns = [[column.get(label) for label in labels] for column in value.values()]
    return _Table(list(value), columns, _index(labels))


def _from_lists(value: dict[str, list[Any]]) -> _Table:
    (first, values), *_ = value.items()
    for name, column in value.items():
        if len(column) != len(values):
            raise ProtocolError(
                f"Column {quote(first)} has {len(values):,} values and column {quote(name)} has {len(column):,}."
            )
    return _Table(list(value), list(value.values()), pd.RangeIndex(len(values)))


def _is_split(value: dict[str, Any]) -> bool:
    return (
        {"columns", "data"} <= value.keys() <= {"columns", "data", "index"}
        and _all(list, value.values())
        and _all(list, value["data"])
    )


def _from_split(value: dict[str, Any]) -> _Table:
    names = [name if isinstance(name, str) else _label(name) for name in value["columns"]]
    rows = value["data"]
    for row, cells in enumerate(rows):
        if len(cells) != len(names):
            raise ProtocolError(f"Row {row:,} has {len(cells):,} values for {len(names):,} columns.")
    labels = value.get("index", range(len(rows)))
    if len(labels) != len(rows):
        raise ProtocolError(f"The reply has {len(labels):,} row labels for {len(rows):,} rows.")
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return _Table(names, columns, _index(labels))


def _label(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


_INTEGER = re.compile("0|-?[1-9][0-9]{0,17}")


def _index(labels: Sequence[Any]) -> Any:
    labels = [_label(label) if isinstance(label, dict | list) else label for label in labels]
    # The keys of a JSON object are text, so that text is how a row number has to be written there.
    if all(isinstance(label, str) and _INTEGER.fullmatch(label) for label in labels):
        labels = [int(label) for label in labels]
    if labels == list(range(len(labels))):
        return pd.RangeIndex(len(labels))
    return pd.Index(inferred(labels))


def _frame(table: _Table, declared: Mapping[str, Declared | None]) -> pd.DataFrame:
    named = list(zip(table.names, table.columns, strict=True))
    # Declared columns stand in the declared order, an absent one too, and those that are not declared follow.
    place = {name: position for position, name in enumerate(declared)}
    named += [(name, [None] * len(table.index)) for name in declared.keys() - set(table.names)]
    named.sort(key=lambda column: place.get(column[0], len(place)))
    names = _told_apart([name for name, _ in named])
    arrays = {
        unique: column.array(name, values) if (column := declared.get(name)) else inferred(values)
        for unique, (name, values) in zip(names, named, strict=True)
    }
    # As Series, because pandas 3 would take a plain object array of texts for its own text dtype.
    columns = {
        name: pd.Series(array, index=table.index, dtype=array.dtype, copy=False) for name, array in arrays.items()
    }
    return pd.DataFrame(columns, index=table.index, columns=names, copy=False)


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

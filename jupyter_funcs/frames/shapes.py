"""A document of any known shape -> a `Table`: columns by name, and what the rows are labelled with."""

from __future__ import annotations

import json
import re
from itertools import chain, pairwise, zip_longest
from typing import TYPE_CHECKING, Any

from jupyter_funcs.columns import Column, Table, are_objects, packed
from jupyter_funcs.errors import ProtocolError, ReplyTooLargeError
from jupyter_funcs.text import quote

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from types import UnionType

_RESULT = "Result"
_TELL = "Tell the operator of the service."
_MOST_CELLS = 500_000_000


def as_table(value: Any) -> Table:
    """
    Give the table that a document is, as `frame.to_frame` tells the shapes apart.

    Raises
    ------
    ProtocolError
        Its columns do not fit together.
    ReplyTooLargeError
        Filled up it would have more than 500 million values.
    """
    if isinstance(value, Table):
        return value
    if isinstance(value, dict):
        return _from_object(value)
    if isinstance(value, list):
        return _from_array(value)
    if value is None:
        return Table("null", [], [], 0)
    return _from_values([value], "text" if isinstance(value, str) else "scalar")


def _from_object(value: dict[str, Any]) -> Table:
    if is_split(value):
        return _from_split(value)
    if value and _all(dict, value.values()):
        return _from_index(value) if _is_by_index(value) else _from_columns(value)
    if are_objects(value.values()) and _numbers(value) is not None:  # rows, or columns, one of which is null
        return _from_object({key: row or {} for key, row in value.items()})
    if value and _all(list, value.values()):
        return _from_lists(value)
    return _from_records([value], "record") if value else Table("empty", [], [], 0)


def _from_array(value: list[Any]) -> Table:
    kinds = set(map(type, value)) - {type(None)}
    if not value:
        return Table("empty", [], [], 0)
    if kinds == {dict}:
        return _from_records([row or {} for row in value])
    if kinds == {list}:
        return _from_rows([row or [] for row in value])
    return _from_values(value)


def _all(kind: type | UnionType, values: Iterable[Any]) -> bool:
    return all(isinstance(value, kind) for value in values)


def _from_values(values: list[Any], shape: str = "list") -> Table:
    return Table(shape, [_RESULT], [packed(values)], len(values))


def _from_records(rows: Sequence[dict[str, Any]], shape: str = "records", labels: Column | None = None) -> Table:
    named = list(_flat(rows))
    return Table(shape, [name for name, _ in named], [column for _, column in named], len(rows), labels)


def _flat(rows: Sequence[dict[str, Any]], prefix: str = "") -> Iterator[tuple[str, Column]]:
    names = dict.fromkeys(chain.from_iterable(rows))
    _bound(len(rows), len(names))
    for name in names:
        values = [row.get(name) for row in rows]
        if are_objects(values):
            yield from _flat([value or {} for value in values], f"{prefix}{name}.")
        else:
            yield prefix + name, packed(values)


def _bound(rows: int, columns: int) -> None:
    """Refuse the table that a few ragged rows would be filled up to."""
    if rows * columns > _MOST_CELLS:
        raise ReplyTooLargeError(
            f"The reply is ragged: filled up it has {rows:,} rows and {columns:,} columns.", "Ask for less at a time."
        )


def _from_rows(rows: list[list[Any]]) -> Table:
    _bound(len(rows), max(map(len, rows), default=0))
    columns = [packed(column) for column in zip_longest(*rows)]
    return Table("rows", [str(place) for place in range(len(columns))], columns, len(rows))


def _from_lists(value: dict[str, list[Any]]) -> Table:
    (first, values), *_ = value.items()
    for name, column in value.items():
        if len(column) != len(values):
            raise ProtocolError(
                f"Column {quote(first)} has {len(values):,} values and column {quote(name)} has {len(column):,}.",
                f"An object of lists is read by column. {_TELL}",
            )
    return Table("lists", list(value), [packed(column) for column in value.values()], len(values))


def _from_columns(value: dict[str, dict[str, Any]]) -> Table:
    keys, labels = _rows_of(value.values())
    _bound(len(keys), len(value))
    columns = [packed([column.get(key) for key in keys]) for column in value.values()]
    return Table("columns", list(value), columns, len(keys), labels)


def _from_index(value: dict[str, dict[str, Any]]) -> Table:
    keys, labels = _rows_of([value])
    return _from_records([value[key] for key in keys], "index", labels)


def is_split(value: dict[str, Any]) -> bool:
    """Say whether names of columns stand beside rows."""
    if not ({"columns", "data"} <= value.keys() <= {"columns", "data", "index"} and _all(list | Table, value.values())):
        return False
    return isinstance(value["data"], Table) or _all(list, value["data"])


def _from_split(value: dict[str, Any]) -> Table:
    names = [name if isinstance(name, str) else _label(name) for name in value["columns"]]
    table = value["data"]
    if isinstance(table, list):
        for row, cells in enumerate(table):
            if len(cells) != len(names):
                raise ProtocolError(f"Row {row:,} has {len(cells):,} values for {len(names):,} columns.", _TELL)
        table = _from_rows(table)
    columns = table.columns or [packed([])] * len(names)
    if len(columns) != len(names):
        raise ProtocolError(f"Row 0 has {len(columns):,} values for {len(names):,} columns.", _TELL)
    if "index" not in value:
        return Table("split", names, columns, table.rows)
    labels = [_label(label) if isinstance(label, dict | list) else label for label in value["index"]]
    if len(labels) != table.rows:
        raise ProtocolError(f"The reply has {len(labels):,} row labels for {table.rows:,} rows.", _TELL)
    return Table("split", names, columns, table.rows, packed(labels))


def _label(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


# Row labels

_NUMBERS = re.compile(r"(?:0|-?[1-9][0-9]{0,18})(?:\n(?:0|-?[1-9][0-9]{0,18}))*")


def _numbers(keys: Collection[str]) -> list[int] | None:
    """Give the integers that the keys are, None if one is none; the keys of a JSON object are text."""
    text = "\n".join(keys)
    if not _NUMBERS.fullmatch(text) or text.count("\n") != len(keys) - 1:
        return None
    return [*map(int, keys)]


def _is_by_index(value: dict[str, dict[str, Any]]) -> bool:
    return _numbers(value) is not None and any(_numbers(row) is None for row in value.values() if row)


def _rows_of(columns: Collection[Collection[str]]) -> tuple[list[str], Column]:
    """Give the row keys in their order, and the labels that they make."""
    keys = list(dict.fromkeys(chain.from_iterable(columns)))
    numbers = _numbers(keys)
    if numbers is None:
        return keys, packed(keys)
    # Numbers that ascend in every column, as they are or as text, ascend in all; any other order is the reply's own.
    if numbers != sorted(numbers) and all(_ascend(_numbers(column) or ()) or _ascend(column) for column in columns):
        keys.sort(key=int)
        numbers.sort()
    return keys, packed(numbers)


def _ascend(keys: Iterable[Any]) -> bool:
    return all(before < key for before, key in pairwise(keys))

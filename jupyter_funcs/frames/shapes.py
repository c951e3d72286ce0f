"""Shapes: a decoded document of any known shape becomes a `Table`: named columns, and labels of the rows."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from itertools import chain, compress, pairwise, zip_longest
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_funcs.core.errors import ProtocolError
from jupyter_funcs.core.text import quote
from jupyter_funcs.frames.columns import (
    Column,
    Table,
    are_objects,
    check_cells,
    packed,
    spread,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence, Sized

    from jupyter_funcs.core.json_decoding import JsonObject

T = TypeVar("T")

RESULT = "Result"
_TELL = "Tell the operator of the service."


def as_table(value: Any, size: int) -> Table:
    """Return the table of a document of `size` bytes; `to_frame` lists the shapes."""
    if isinstance(value, Table):
        return value
    if isinstance(value, dict):
        return _from_object(value, size)
    if isinstance(value, list):
        return _from_array(value, size)
    if value is None:
        return Table("null", [], [], 0)
    return _from_values([value], "text" if isinstance(value, str) else "scalar")


def _from_object(value: JsonObject, size: int) -> Table:
    if is_split(value):
        return _from_split(value, size)
    if not value:
        return Table("empty", [], [], 0)
    numbers = _numbers(value)
    if _all(dict, value.values()):
        return _from_objects(value, numbers, size)
    # Rows or columns, some of them null.
    if are_objects(value.values()) and numbers is not None:
        return _from_object({key: row or {} for key, row in value.items()}, size)
    if _all(list, value.values()):
        return _from_lists(value)
    return _from_records([value], size, "record")


def _from_objects(value: JsonObject, numbers: list[int] | None, size: int) -> Table:
    if numbers and any(_numbers(row) is None for row in value.values() if row):
        return _from_index(value, numbers, size)
    return _from_columns(value, size)


def _from_array(value: list[Any], size: int) -> Table:
    if not value:
        return Table("empty", [], [], 0)
    kinds = {type(value[0])}
    if kinds <= {dict, list, type(None)}:
        kinds = set(map(type, value))
    kind, *others = kinds - {type(None)} or kinds
    if others or kind not in {dict, list}:
        return _from_values(value)
    rows: list[Any] = [row or kind() for row in value] if type(None) in kinds else value
    if kind is dict:
        return _from_records(rows, size)
    return _from_rows(rows, size)


def _all(kind: type, values: Iterable[Any]) -> bool:
    return set(map(type, values)) <= {kind}


def _from_values(values: list[Any], shape: str = "list") -> Table:
    return Table(shape, [RESULT], [packed(values)], len(values))


def _from_records(
    rows: Sequence[JsonObject],
    size: int,
    shape: str = "records",
    labels: Column | None = None,
) -> Table:
    names: list[str] = []
    parts = []
    characters = 0
    for name, places, column in _flat(rows, range(len(rows))):
        names.append(name)
        parts.append((column, places))
        characters += len(name)
        check_cells(len(rows), len(names), size, characters)

    return Table(
        shape,
        names,
        [spread(column, places, len(rows)) for column, places in parts],
        len(rows),
        labels,
    )


def _flat(
    rows: Sequence[JsonObject], places: Sequence[int], prefix: str = ""
) -> Iterator[tuple[str, Sequence[int], Column]]:
    """Return the columns of the records at some places of a table: name, places of the values, and values."""
    names = dict.fromkeys(chain.from_iterable(rows))
    parts: Iterable[tuple[str, Sequence[int], list[Any]]]
    if _is_sparse(rows, len(names)):
        parts = _transposed(zip(places, map(dict.items, rows), strict=True))
    else:
        parts = ((name, places, [row.get(name) for row in rows]) for name in names)

    for name, where, values in parts:
        if are_objects(values):
            some = where if all(values) else [*compress(where, values)]
            yield from _flat(
                [value for value in values if value], some, f"{prefix}{name}."
            )
        else:
            yield prefix + name, where, packed(values)


def _is_sparse(rows: Sequence[Sized], columns: int) -> bool:
    return 4 * sum(map(len, rows)) < len(rows) * columns


def _transposed(
    rows: Iterable[tuple[int, Iterable[tuple[T, Any]]]],
) -> Iterator[tuple[T, list[int], list[Any]]]:
    """Return the values of each key with the places of their rows, in time proportional to the number of values."""
    columns: defaultdict[T, tuple[list[int], list[Any]]] = defaultdict(lambda: ([], []))
    for place, items in rows:
        for key, value in items:
            places, values = columns[key]
            places.append(place)
            values.append(value)

    return ((key, *column) for key, column in columns.items())


def _from_rows(rows: list[list[Any]], size: int) -> Table:
    width = max(map(len, rows), default=0)
    check_cells(len(rows), width, size)
    if _is_sparse(rows, width):
        parts = _transposed(enumerate(map(enumerate, rows)))
        columns = [
            spread(packed(values), places, len(rows)) for _, places, values in parts
        ]
    else:
        columns = [packed(column) for column in zip_longest(*rows)]

    return Table(
        "rows", [str(place) for place in range(len(columns))], columns, len(rows)
    )


def _from_lists(value: dict[str, list[Any]]) -> Table:
    (first, values), *_ = value.items()
    for name, column in value.items():
        if len(column) != len(values):
            raise ProtocolError(
                f"Column {quote(first)} has {len(values):,} values and column {quote(name)} has {len(column):,}.",
                f"An object of lists is read by column. {_TELL}",
            )

    return Table(
        "lists", list(value), [packed(column) for column in value.values()], len(values)
    )


def _from_columns(value: dict[str, JsonObject], size: int) -> Table:
    keys, labels = _rows_of(value.values())
    check_cells(len(keys), len(value), size)
    place = {key: at for at, key in enumerate(keys)}
    columns = [
        spread(packed([*column.values()]), _places(column, keys, place), len(keys))
        for column in value.values()
    ]
    return Table("columns", list(value), columns, len(keys), labels)


def _places(
    column: Collection[str], keys: list[str], place: dict[str, int]
) -> Sequence[int]:
    if [*column] == keys:
        return range(len(keys))
    return [place[key] for key in column]


def _from_index(value: dict[str, JsonObject], numbers: list[int], size: int) -> Table:
    if numbers != sorted(numbers) and _ascend(value):  # as text
        numbers.sort()
    rows = [value[key] for key in map(str, numbers)]
    return _from_records(rows, size, "index", packed(numbers))


def is_split(value: JsonObject) -> bool:
    """Return whether an object has the names of the columns and the rows separately."""
    if not (
        {"columns", "data"} <= value.keys() <= {"columns", "data", "index"}
        and set(map(type, value.values())) <= {list, Table}
    ):
        return False

    return isinstance(value["data"], Table) or _all(list, value["data"])


def _from_split(value: JsonObject, size: int) -> Table:
    names = [
        name if isinstance(name, str) else _label(name) for name in value["columns"]
    ]
    table = value["data"]
    if isinstance(table, list):
        for row, cells in enumerate(table):
            if len(cells) != len(names):
                raise ProtocolError(
                    f"Row {row:,} has {len(cells):,} values for {len(names):,} columns.",
                    _TELL,
                )
        table = _from_rows(table, size)

    columns = table.columns or [packed([])] * len(names)
    if len(columns) != len(names):
        raise ProtocolError(
            f"Row 0 has {len(columns):,} values for {len(names):,} columns.", _TELL
        )

    if "index" not in value:
        return Table("split", names, columns, table.rows)
    labels = [
        _label(label) if isinstance(label, dict | list) else label
        for label in value["index"]
    ]
    if len(labels) != table.rows:
        raise ProtocolError(
            f"The reply has {len(labels):,} row labels for {table.rows:,} rows.", _TELL
        )

    return Table("split", names, columns, table.rows, packed(labels))


def _label(value: Any) -> str:
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False)


_NUMBERS = re.compile(r"(?:0|-?[1-9][0-9]{0,18})(?:\n(?:0|-?[1-9][0-9]{0,18}))*")


def _numbers(keys: Collection[str]) -> list[int] | None:
    """Return JSON keys as integers, or ``None`` unless all are."""
    text = "\n".join(keys)
    if not _NUMBERS.fullmatch(text) or text.count("\n") != len(keys) - 1:
        return None
    return [*map(int, keys)]


def _rows_of(columns: Collection[Collection[str]]) -> tuple[list[str], Column]:
    """Return the row keys in order, and their labels."""
    keys = list(dict.fromkeys(chain.from_iterable(columns)))
    numbers = _numbers(keys)
    if numbers is None:
        return keys, packed(keys)
    # Sort numbers that ascend in every column, as numbers or as text; any other order is intended.
    if numbers != sorted(numbers) and all(
        _ascend(_numbers(column) or ()) or _ascend(column) for column in columns
    ):
        keys.sort(key=int)
        numbers.sort()

    return keys, packed(numbers)


def _ascend(keys: Iterable[Any]) -> bool:
    return all(before < key for before, key in pairwise(keys))

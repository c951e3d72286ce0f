"""
Stack the results of a sweep's runs into one DataFrame, with the swept arguments as leading columns.

Blocks with the same columns and dtypes, as most have, are joined by pandas in one step. Then, for a few long columns,
a dtype is chosen that holds every value, and the rows are put in the order of their runs.
"""

from __future__ import annotations

import datetime as dt
import numbers
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import (
    is_bool_dtype,
    is_datetime64_any_dtype,
    is_float_dtype,
    is_integer_dtype,
)

from jupyter_funcs.catalog.fields import Field, Kind
from jupyter_funcs.catalog.schemas import text_of
from jupyter_funcs.catalog.values import UNSET, part_at
from jupyter_funcs.core.text import recorded
from jupyter_funcs.frames.columns import (
    MAX_EXACT,
    join_texts,
    named_by_texts,
    without_repeated_labels,
)

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Hashable,
        Iterable,
        Mapping,
        Sequence,
    )

    from jupyter_funcs.catalog.form import Args

    Array = np.ndarray[Any, Any]
    Series = pd.Series[Any]

_LARGEST = 2**63 - 1  # of a signed integer
# The name of an argument's column if the results have a column of the argument's name with other values.
ARGUMENT = "{} (argument)"


def stacked(
    blocks: Iterable[tuple[Args, pd.DataFrame]], swept: Mapping[str, Field]
) -> pd.DataFrame:
    """
    Return one table of the runs' arguments and results, in order.

    The swept arguments lead, in the order of their fields and typed by them: ``datetime64[us]``, ``int64`` or
    ``Int64``, ``float64``, else ``string`` (lists are comma-separated). If every run returned a column with the
    argument's name and only its value, that column leads instead. If a run returned another value there, the argument
    is called ``<name> (argument)``.

    All columns that any run returned follow, in order of first appearance. Dtypes are widened without losing a value:
    ``Int64`` and ``boolean`` if some are missing, ``float64`` if exact, the finest unit of datetimes, else ``object``.
    Runs without rows and columns with only nulls don't count. An index other than 0, 1, 2 becomes a column.
    """
    sent: list[Args] = []
    groups: dict[Hashable, dict[int, pd.DataFrame]] = {}
    for at, (args, block) in enumerate(blocks):
        frame = _plain(block)
        groups.setdefault((tuple(frame.columns), tuple(frame.dtypes)), {})[at] = frame
        sent.append(args)

    rows = _row_map(list(groups.values()), len(sent))
    columns = {key: _widened(parts, rows) for key, parts in _parts(rows).items()}
    labels = [key for key in columns if isinstance(key, _Label)]
    names = columns.keys() - labels
    leading: dict[Hashable, Series] = {}
    for name, field in swept.items():
        argument = [_set_part(args, field.steps) for args in sent]
        if name in columns and _has_only(columns[name], rows, name, argument):
            leading[name] = columns.pop(name)
            continue
        title: Hashable = name
        if name in names:
            title = _unused(ARGUMENT.format(name), {*names, *leading})
        leading[title] = _argument(argument, field.kind).repeat(rows.lengths.tolist())

    for key in labels:
        leading[_unused("index", {*names, *leading})] = columns.pop(key)
    result = {**leading, **columns}
    # As Series, because pandas 3 infers its string dtype from an object array of strings.
    index = pd.RangeIndex(len(rows.order))
    return pd.DataFrame(
        {name: column.set_axis(index) for name, column in result.items()},
        index=index,
        copy=False,
    )


def _plain(block: pd.DataFrame) -> pd.DataFrame:
    """Return a block with unique names of columns, and with its labels as columns."""
    if not block.columns.is_unique:
        block = named_by_texts(block)
    if is_numbered(block.index):
        return block
    return _labelled(block)


def _set_part(args: Args, steps: Sequence[str | int]) -> Any:
    value = part_at(args, steps)
    return None if value is UNSET else value


@dataclass(frozen=True, slots=True)
class _Label:
    """The key of a column made from an unnamed index level, which no column of a run has."""

    level: int


class _RowMap(NamedTuple):
    """The blocks in groups of the same columns and dtypes; the lengths of all, and the order of their rows."""

    groups: list[pd.DataFrame]
    lengths: Array
    order: Array


def _row_map(groups: list[dict[int, pd.DataFrame]], blocks: int) -> _RowMap:
    frames = []
    for group in groups:
        # The index has each row's block, and its number there.
        frames.append(pd.concat(group))
        group.clear()

    runs = np.concatenate(
        [np.zeros(0, np.int64), *(frame.index.get_level_values(0) for frame in frames)]
    )
    return _RowMap(
        frames, np.bincount(runs, minlength=blocks), np.argsort(runs, kind="stable")
    )


def is_numbered(index: pd.Index[Any]) -> bool:
    """Return whether an index is just 0, 1, 2."""
    return (
        isinstance(index, pd.RangeIndex)
        and index.start == 0
        and index.step == 1
        and index.name is None
    )


def _labelled(frame: pd.DataFrame) -> pd.DataFrame:
    frame = without_repeated_labels(frame)
    if is_numbered(frame.index):
        return frame
    names = {*frame.columns}
    labels = [
        _Label(level) if name is None else _unused(name, names)
        for level, name in enumerate(frame.index.names)
    ]
    return frame.reset_index(names=labels)


# Columns


def _parts(rows: _RowMap) -> dict[Hashable, dict[int, Series]]:
    """Return the parts of each column, by group."""
    parts: dict[Hashable, dict[int, Series]] = {}
    for number, frame in enumerate(rows.groups):
        for at, name in enumerate(frame.columns):
            parts.setdefault(name, {})[number] = frame.iloc[:, at]

    for key, labels in parts.items():
        if isinstance(key, _Label) and all(
            map(is_integer_dtype, _with_values(labels).values())
        ):
            # If other blocks have an index of integers, 0, 1, 2 are labels too.
            for number, frame in enumerate(rows.groups):
                labels.setdefault(number, pd.Series(frame.index.get_level_values(1)))

    return parts


def _with_values(parts: Mapping[int, Series]) -> dict[int, Series]:
    """Return the parts that decide the dtype: those with values, else those with a dtype."""
    typed = {number: part for number, part in parts.items() if part.dtype != object}
    # Times that are all null don't tell whether others have an offset.
    sure = {
        number
        for number, part in typed.items()
        if len(part) and not is_datetime64_any_dtype(part)
    }
    filled = {
        number: part
        for number, part in parts.items()
        if number in sure or part.notna().any()
    }
    return filled or typed or dict(parts)


def _widened(parts: Mapping[int, Series], rows: _RowMap) -> Series:
    """Return a column of the result."""
    deciding = _with_values(parts)
    lacking = {
        number: len(frame)
        for number, frame in enumerate(rows.groups)
        if number not in deciding
    }
    pieces = dict(zip(deciding, _alike(list(deciding.values())), strict=True))
    nulls = _nulls(pieces[min(pieces)], max(lacking.values(), default=0))
    pieces |= {
        number: nulls.iloc[:length] for number, length in lacking.items() if length
    }
    whole = _concat([pieces[number] for number in sorted(pieces)])
    if np.array_equal(rows.order, np.arange(len(whole))):
        return whole
    return whole.take(rows.order)


def _nulls(like: Series, length: int) -> Series:
    """Return nulls of a column's dtype, or of the nullable one."""
    if like.dtype == object:
        return pd.Series([None] * length, dtype=object)
    if isinstance(like.dtype, np.dtype) and like.dtype.kind in "iub":
        like = pd.Series(pd.array(like.to_numpy()))
    return pd.Series(like.array[:0]).reindex(range(length))


def _concat(parts: Sequence[Series]) -> Series:
    """Concatenate columns of one dtype, or of integers or booleans."""
    if isinstance(parts[0].dtype, pd.StringDtype):
        return pd.Series(join_texts([part.array for part in parts]))
    return pd.concat(parts, ignore_index=True)


# Dtypes


def _alike(columns: Sequence[Series]) -> Sequence[Series]:
    """Convert columns so that pandas concatenates them without losing a value."""
    if len({column.dtype for column in columns}) == 1:
        return columns
    for is_kind, widened in _WIDENED:
        if all(map(is_kind, columns)):
            with suppress(ValueError, OverflowError, TypeError):
                return widened(columns)

    return [pd.Series(_objects(column), dtype=object) for column in columns]


def _is_number(column: Series) -> bool:
    return is_integer_dtype(column) or is_float_dtype(column)


def _is_text(column: Series) -> bool:
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        dtype = dtype.categories.dtype
    return isinstance(dtype, pd.StringDtype)


def _floats(columns: Sequence[Series]) -> Sequence[Series]:
    for column in filter(is_integer_dtype, columns):
        values = column.dropna()
        large = values[(values > MAX_EXACT) | (values < -MAX_EXACT)]
        if any(int(float(value)) != value for value in large):
            raise ValueError

    return [
        pd.Series(column.to_numpy(dtype="float64", na_value=np.nan))
        for column in columns
    ]


def _integers(columns: Sequence[Series]) -> Sequence[Series]:
    """Return signed integers where pandas would make floats of signed and unsigned ones."""
    if len({column.dtype.kind for column in columns}) == 1:
        return columns
    if any(bool((column > _LARGEST).any()) for column in columns):
        raise OverflowError
    return [
        column.astype("int64" if isinstance(column.dtype, np.dtype) else "Int64")
        for column in columns
    ]


def _texts(columns: Sequence[Series]) -> Sequence[Series]:
    return [column.astype("string") for column in columns]


def _times(columns: Sequence[Series]) -> Sequence[Series]:
    zones = {str(column.dt.tz) for column in columns}
    if len(zones) > 1:
        # TypeError without a zone.
        columns = [column.dt.tz_convert("UTC") for column in columns]

    finest = max(
        (column.dt.unit for column in columns), key=("s", "ms", "us", "ns").index
    )
    # ValueError if a date is out of range.
    return [column.dt.as_unit(finest) for column in columns]


def _objects(column: Series) -> Array:
    """Return Python values, with None for nulls."""
    values = np.array(column.astype(object), dtype=object)
    if column.dtype != object:
        values[column.isna().to_numpy()] = None
    return values


# How columns are converted to one dtype, by what they all are; the first match counts.
_WIDENED: list[
    tuple[Callable[[Series], bool], Callable[[Sequence[Series]], Sequence[Series]]]
] = [
    (is_integer_dtype, _integers),
    (_is_number, _floats),
    (is_bool_dtype, list),
    (_is_text, _texts),
    (is_datetime64_any_dtype, _times),
]


# Arguments


def _argument(values: Sequence[Any], kind: Kind) -> Series:
    """Return the column of an argument, one row per run."""
    texts = list(map(_text_of_argument, values))
    with suppress(ValueError, OverflowError):
        if kind is Kind.DATE:
            return pd.Series(
                np.array([text or "NaT" for text in texts], dtype="datetime64[us]")
            )
        if kind is Kind.INTEGER:
            whole = [None if text is None else int(text) for text in texts]
            return pd.Series(whole, dtype="Int64" if None in whole else "int64")
        if kind is Kind.NUMBER:
            return pd.Series(
                [np.nan if text is None else float(text) for text in texts],
                dtype="float64",
            )

    return pd.Series(texts, dtype="string")


def _text_of_argument(value: Any) -> Any:
    if isinstance(value, list):
        return ", ".join(map(text_of, value))
    if isinstance(value, str | int | float | None):
        return value
    return text_of(recorded(value))


def _has_only(
    column: Series, rows: _RowMap, name: Hashable, argument: Sequence[Any]
) -> bool:
    """Return whether every block with rows has the column, with only the argument's value in it."""
    if any(name not in frame.columns and len(frame) for frame in rows.groups):
        return False
    some = rows.lengths > 0
    firsts = (np.cumsum(rows.lengths) - rows.lengths)[some]
    sent = [value for value, has_rows in zip(argument, some, strict=True) if has_rows]
    if not all(
        _is_same(value, text)
        for value, text in zip(column.take(firsts).array, sent, strict=True)
    ):
        return False

    wanted = column.take(np.repeat(firsts, rows.lengths[some])).set_axis(column.index)
    return bool(
        ((column == wanted).fillna(value=False) | (column.isna() & wanted.isna())).all()
    )


def _is_same(value: Any, sent: Any) -> bool:
    """Return whether a value equals what was sent: as text, number or date."""
    if isinstance(value, list):
        return bool(value == sent)
    if sent is None or pd.isna(value):
        return sent is None and bool(pd.isna(value))
    text = _text_of_argument(sent)
    with suppress(ValueError, TypeError, InvalidOperation):
        if isinstance(value, dt.datetime):
            return bool(value == dt.datetime.fromisoformat(text))
        if isinstance(value, float):
            return value == float(text)
        if isinstance(value, numbers.Integral) and str(value) not in {"True", "False"}:
            return Decimal(int(value)) == Decimal(text)

    return str(value) == str(text)


def _unused(name: Hashable, used: Collection[Hashable]) -> Hashable:
    """Return the name, or the first of ``name.1``, ``name.2`` that isn't used."""
    title = name
    numbers = count(1)
    while title in used:
        title = f"{name}.{next(numbers)}"
    return title

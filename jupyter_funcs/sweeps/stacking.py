"""
The blocks of a sweep -> one DataFrame: what told the runs apart leads, what they gave follows.

Blocks of the same columns and dtypes, which most are, are joined by pandas at once. Only then, on few long columns, is
it decided what dtype keeps every value of all of them, and each row is put where its run stands.
"""

from __future__ import annotations

import datetime as dt
import numbers
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from jupyter_funcs.fields import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence

    from jupyter_funcs.fields import Field
    from jupyter_funcs.forms import Args

    Array = np.ndarray[Any, Any]
    Series = pd.Series[Any]

# Up to here every integer is a float.
_EXACT = 2**53


def stacked(
    blocks: Iterable[tuple[Args, pd.DataFrame]], swept: Sequence[str], fields: Mapping[str, Field]
) -> pd.DataFrame:
    """
    Stack what the runs of a sweep gave, one below the other, in their order.

    **Arguments** lead: a column for each swept one, typed by its field.

    ============  ==================  ====================================
    field         dtype               where a run was not sent it
    ============  ==================  ====================================
    a date        ``datetime64[us]``  ``NaT``
    an integer    ``int64``           null, in ``Int64``
    a number      ``float64``         ``NaN``
    any other     ``string``          null; a list is its items, by commas
    ============  ==================  ====================================

    Where every run gave a column of that very name which holds nothing but the argument, that column leads in its
    place. Where one of them gave another value there, both are kept and the argument's is called ``<name> (argument)``.

    **Columns** are all that any run gave, in the order in which they come first. A dtype is widened and never loses a
    value; a run without the column has nulls there:

    ==================================================  ======================================
    the runs gave                                       dtype
    ==================================================  ======================================
    integers, some missing                              ``Int64``
    integers and floats                                 ``float64``, if exact, else ``object``
    truth values, some missing                          ``boolean``
    datetimes of several units                          the finest unit, if it holds them
    text, some missing                                  ``string``
    values of several kinds, as text and numbers        ``object`` of Python values
    ==================================================  ======================================

    A run without rows, and a column of nothing but nulls, have no say in it. Row labels other than 0, 1, 2 become a
    column ``index``, or by their own name.

    Parameters
    ----------
    blocks
        What each run was sent, and its frame, in the order of the runs.
    swept
        The wire names of the arguments that lead.
    fields
        The function's fields by wire name.
    """
    sent: list[Args] = []
    groups: dict[Hashable, _Group] = {}
    for at, (args, block) in enumerate(blocks):
        frame = block if is_numbered(block.index) else _labelled(block)
        group = groups.setdefault((tuple(frame.columns), tuple(frame.dtypes)), _Group([], []))
        group.places.append(at)
        group.frames.append(frame)
        sent.append(args)
    rows = _Rows(list(groups.values()), len(sent))
    columns = {key: _widened(parts, rows) for key, parts in _parts(rows).items()}
    names = {name for name in columns if not isinstance(name, _Label)}
    leading: dict[Hashable, Series] = {}
    for name in swept:
        given = [args.get(name) for args in sent]
        if name in columns and _holds(columns[name], rows, name, given):
            leading[name] = columns.pop(name)
        else:
            title = _free(f"{name} (argument)", {*names, *leading}) if name in names else name
            field = fields.get(name)
            leading[title] = _argument(given, field.kind if field else Kind.TEXT).repeat(rows.lengths.tolist())
    taken = {*names, *leading}
    for key in [key for key in columns if isinstance(key, _Label)]:
        title = _free("index", taken)
        taken.add(title)
        leading[title] = columns.pop(key)
    result = {**leading, **columns}
    # As a Series, because pandas 3 would take a plain object array of texts for its own text dtype.
    index = pd.RangeIndex(len(rows.order))
    return pd.DataFrame({name: column.set_axis(index) for name, column in result.items()}, index=index, copy=False)


@dataclass(frozen=True, slots=True)
class _Label:
    """The name of a column that was row labels without one, told apart from those of the run's own."""

    level: int


@dataclass(slots=True)
class _Group:
    """Blocks of the same columns and dtypes, and their places among all."""

    places: list[int]
    frames: list[pd.DataFrame]


class _Rows:
    """
    Where the rows stand: in the blocks, in the groups one after the other, and in the result.

    Attributes
    ----------
    lengths
        The number of rows of each block.
    groups
        Of each group its places and its blocks, joined.
    starts
        The first row of each group, where the groups stand one after the other, and the end.
    order
        Of each row of the result, its row among the groups.
    """

    def __init__(self, groups: list[_Group], blocks: int) -> None:
        self.lengths: Array = np.zeros(blocks, dtype=np.int64)
        self.groups: list[tuple[Array, pd.DataFrame]] = []
        for group in groups:
            places = np.array(group.places)
            self.lengths[places] = [len(frame) for frame in group.frames]
            self.groups.append((places, pd.concat(group.frames, ignore_index=True)))
            group.frames.clear()
        counts = [int(self.lengths[places].sum()) for places, _ in self.groups]
        self.starts: Array = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        by_group = [np.repeat(places, self.lengths[places]) for places, _ in self.groups]
        self.order: Array = np.argsort(np.concatenate(by_group), kind="stable") if by_group else np.zeros(0, np.int64)

    def positions(self, group: int) -> Array:
        """Give the number of each row of a group within its block."""
        lengths = self.lengths[self.groups[group][0]]
        positions: Array = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return positions


def is_numbered(index: pd.Index[Any]) -> bool:
    """Say whether row labels only number the rows: 0, 1, 2."""
    return isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1 and index.name is None


def _labelled(frame: pd.DataFrame) -> pd.DataFrame:
    names = [_Label(level) if name is None else name for level, name in enumerate(frame.index.names)]
    return frame.reset_index(names=names)


# Columns


def _parts(rows: _Rows) -> dict[Hashable, dict[int, Series]]:
    """Give, by column, what each group has of it."""
    parts: dict[Hashable, dict[int, Series]] = {}
    for number, (_, frame) in enumerate(rows.groups):
        for at, name in enumerate(frame.columns):
            parts.setdefault(name, {})[number] = frame.iloc[:, at]
    for key, labels in parts.items():
        if isinstance(key, _Label) and all(map(_is_whole, _having(labels).values())):
            # Labels that happen to be 0, 1, 2 are labels beside others that are not.
            missing = [number for number in range(len(rows.groups)) if number not in labels]
            labels.update({number: pd.Series(rows.positions(number)) for number in missing})
    return parts


def _having(parts: Mapping[int, Series]) -> dict[int, Series]:
    """Give the parts that have a say in the dtype: those with a value; where there are none, those with a dtype."""
    having = {number: part for number, part in parts.items() if not _is_void(part)}
    having = having or {number: part for number, part in parts.items() if part.dtype != object}
    return having or dict(parts)


def _is_void(part: Series) -> bool:
    return part.empty or (part.dtype == object and bool(part.isna().all()))


def _widened(parts: Mapping[int, Series], rows: _Rows) -> Series:
    """Give the column of the result."""
    by_dtype: dict[Hashable, dict[int, Series]] = {}
    for number, part in _having(parts).items():
        by_dtype.setdefault(part.dtype, {})[number] = part
    # Of each row among the groups, its row among the values; -1 where it has none.
    where = np.full(len(rows.order), -1, dtype=np.int64)
    at = 0
    for pieces in by_dtype.values():
        for number, part in pieces.items():
            where[rows.starts[number] : rows.starts[number + 1]] = np.arange(at, at + len(part))
            at += len(part)
    whole = _common([_joined(list(pieces.values())) for pieces in by_dtype.values()], gaps=bool((where < 0).any()))
    indexer = where[rows.order]
    return whole if np.array_equal(indexer, np.arange(len(whole))) else _taken(whole, indexer)


def _joined(parts: Sequence[Series]) -> Series:
    """Join columns of one dtype."""
    joined: Series = parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)
    if isinstance(joined.dtype, pd.StringDtype) and joined.dtype.storage == "pyarrow":
        # As many pieces as there were blocks would make slow all that is done with it later.
        dtype: Any = joined.dtype
        texts: Any = joined.array
        joined = pd.Series(dtype.__from_arrow__(texts.__arrow_array__().combine_chunks()))
    return joined


def _taken(column: Series, indexer: Array) -> Series:
    if column.dtype == object:
        values = np.full(len(indexer), None, dtype=object)
        values[indexer >= 0] = column.to_numpy()[indexer[indexer >= 0]]
        return pd.Series(values, dtype=object)
    array: Any = column.array
    if isinstance(array, pd.arrays.NumpyExtensionArray):  # pandas 2.2 warns of it
        array = column.to_numpy()
    taken: Any = pd.api.extensions.take(array, indexer, allow_fill=True, fill_value=np.nan)
    return pd.Series(taken)


# Dtypes


def _common(columns: Sequence[Series], *, gaps: bool) -> Series:
    """Join columns, each of another dtype, into one that holds every value, and nulls where there are gaps."""
    joined = columns[0] if len(columns) == 1 else None
    for is_kind, widened in _WIDENED:
        if joined is None and all(map(is_kind, columns)):
            with suppress(ValueError, OverflowError):
                joined = _joined(widened(columns))
    if joined is None:
        return pd.Series(np.concatenate([_objects(column) for column in columns]), dtype=object)
    if gaps and isinstance(joined.dtype, np.dtype) and joined.dtype.kind in "iub":
        return pd.Series(pd.array(joined.to_numpy()))  # as pandas' dtypes with nulls; all others have room for them
    return joined


def _is_whole(column: Series) -> bool:
    return pd.api.types.is_integer_dtype(column.dtype)


def _is_truth(column: Series) -> bool:
    return pd.api.types.is_bool_dtype(column.dtype) and column.dtype != object


def _is_real(column: Series) -> bool:
    return _is_whole(column) or pd.api.types.is_float_dtype(column.dtype)


def _as_they_are(columns: Sequence[Series]) -> Sequence[Series]:
    return columns


def _floats(columns: Sequence[Series]) -> Sequence[Series]:
    for column in filter(_is_whole, columns):
        known = column.dropna()
        large = known[(known > _EXACT) | (known < -_EXACT)]
        if any(int(float(value)) != value for value in large):
            raise ValueError
    return [pd.Series(column.to_numpy(dtype="float64", na_value=np.nan)) for column in columns]


def _texts(columns: Sequence[Series]) -> Sequence[Series]:
    return [column.astype("string") for column in columns]


def _times(columns: Sequence[Series]) -> Sequence[Series]:
    if len({str(column.dt.tz) for column in columns}) > 1:
        raise ValueError
    finest = max((column.dt.unit for column in columns), key=("s", "ms", "us", "ns").index)
    return [column.dt.as_unit(finest) for column in columns]  # beyond its years is a ValueError


def _objects(column: Series) -> Array:
    """Give the values as Python has them, None where there is none."""
    values: Array = np.array(column.astype(object), dtype=object)
    if column.dtype != object:
        values[column.isna().to_numpy()] = None
    return values


# What the columns all are, and how they are brought to one dtype; the first row that fits.
_WIDENED: list[tuple[Callable[[Series], bool], Callable[[Sequence[Series]], Sequence[Series]]]] = [
    (_is_whole, _as_they_are),
    (_is_real, _floats),
    (_is_truth, _as_they_are),
    (lambda column: isinstance(column.dtype, pd.StringDtype), _texts),
    (lambda column: pd.api.types.is_datetime64_any_dtype(column.dtype), _times),
]


# Arguments


def _argument(given: Sequence[str | list[str] | None], kind: Kind) -> Series:
    """Give the column of an argument, a row a run."""
    texts = [", ".join(value) if isinstance(value, list) else value for value in given]
    with suppress(ValueError, OverflowError):
        if kind is Kind.DATE:
            return pd.Series(np.array([text or "NaT" for text in texts], dtype="datetime64[us]"))
        if kind is Kind.INTEGER:
            whole = [None if text is None else int(text) for text in texts]
            return pd.Series(whole, dtype="Int64" if None in whole else "int64")
        if kind is Kind.NUMBER:
            return pd.Series([np.nan if text is None else float(text) for text in texts], dtype="float64")
    return pd.Series(texts, dtype="string")


def _holds(column: Series, rows: _Rows, name: Hashable, given: Sequence[Any]) -> bool:
    """Say whether a column is in every block that has rows, and has nothing but the argument there."""
    if any(name not in frame.columns and len(frame) for _, frame in rows.groups):
        return False
    some = rows.lengths > 0
    firsts = column.take((np.cumsum(rows.lengths) - rows.lengths)[some])
    sent = [value for value, has_rows in zip(given, some, strict=True) if has_rows]
    if not all(_is_same(value, text) for value, text in zip(firsts.array, sent, strict=True)):
        return False
    wanted = firsts.repeat(rows.lengths[some].tolist()).set_axis(column.index)
    return bool(((column == wanted).fillna(value=False) | (column.isna() & wanted.isna())).all())


def _is_same(value: Any, sent: str | list[str] | None) -> bool:
    """Say whether a value is what was sent: as text, numbers as numbers, dates as dates."""
    if isinstance(value, list):
        return bool(value == sent)
    if sent is None or pd.isna(value):
        return sent is None and bool(pd.isna(value))
    text = ", ".join(sent) if isinstance(sent, list) else sent
    with suppress(ValueError, InvalidOperation):
        if isinstance(value, dt.datetime):
            return bool(value == dt.datetime.fromisoformat(text))
        if isinstance(value, float):
            return value == float(text)
        if isinstance(value, numbers.Integral) and str(value) not in {"True", "False"}:
            return Decimal(int(value)) == Decimal(text)
    return str(value) == text


def _free(name: str, taken: Collection[Hashable]) -> str:
    """Give the name, or the next of ``name.1``, ``name.2`` that is not taken."""
    count, free = 0, name
    while free in taken:
        count += 1
        free = f"{name}.{count}"
    return free

"""Two runs compared: which rows came, went or changed, told apart by their key columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from jupyter_funcs.errors import ArgumentError
from jupyter_funcs.roles import is_key
from jupyter_funcs.text import listed, quote

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

CHANGE = "Change"


def diff(
    before: pd.DataFrame, after: pd.DataFrame, *, keys: Sequence[str] | None = None, tolerance: float = 0.0
) -> pd.DataFrame:
    """
    Compare two runs of a function.

    Parameters
    ----------
    before, after
        The frames of the two runs.
    keys
        The columns that tell a row from all others in each frame; by default those of text and dates, with whole
        numbers that are called like an identifier, and of truths as many as the rows need to be told apart.
    tolerance
        The largest relative difference, as a fraction, at which two numbers count as equal.

    Returns
    -------
    DataFrame
        A row for each that is ``added``, ``removed`` or ``changed``, as the column ``Change`` says, in the order of
        `after` with the removed ones behind; then the key columns; then, for each column that differs anywhere,
        ``<name> (before)`` and ``<name> (after)``. A column that only one frame has differs in every row with a value.

    Raises
    ------
    ArgumentError
        They are no DataFrames, or have two columns of one name; a key is no column of both, or holds lists or objects;
        or the keys do not tell the rows of a frame apart.
    """
    for frame, which in ((before, "first"), (after, "second")):
        _check(frame, which)
    named = _keys(before, after, keys)
    old, new = (_indexed(frame, named, which) for frame, which in ((before, "first"), (after, "second")))
    removed = old.index[~old.index.isin(new.index)]
    order = new.index.append(removed)
    columns = [*new.columns, *(column for column in old.columns if column not in new.columns)]
    is_new, is_old = order.isin(new.index), order.isin(old.index)
    differs = {column: _differs(old, new, order, column, tolerance) for column in columns}
    change = np.select([~is_old, ~is_new], ["added", "removed"], "changed")
    shown = ~is_old | ~is_new
    for column in columns:
        shown |= differs[column]
    result: dict[Hashable, Any] = {CHANGE: pd.array(change[shown], dtype="string")}
    at = order[shown]
    for level, name in enumerate(named):
        result[name] = at.get_level_values(level)
    for column in columns:
        if differs[column].any():
            for frame, which in ((old, "before"), (new, "after")):
                values = frame[column] if column in frame.columns else pd.Series(index=frame.index, dtype=object)
                result[f"{column} ({which})"] = values.reindex(at).array
    return pd.DataFrame(result)


def _keys(before: pd.DataFrame, after: pd.DataFrame, keys: Sequence[str] | None) -> list[str]:
    common = [column for column in after.columns if column in before.columns]
    if keys is not None:
        for key in keys:
            if key not in common:
                raise ArgumentError(
                    f"{quote(key)} is no column of both runs.", f"Columns are {listed(map(str, common))}."
                )
            if _has_parts(before[key]) or _has_parts(after[key]):
                raise ArgumentError(f"{quote(key)} holds lists or objects, which tell no rows apart.", "Leave it out.")
        named = list(keys)
    else:
        named = [column for column in common if _names(before[column]) and _names(after[column])]
        # Yes and no are what a row says more often than what it is: keys only as far as the rows need them.
        for flag in [column for column in common if _is_flag(before[column]) and _is_flag(after[column])]:
            if named and not any(frame.duplicated(named).any() for frame in (before, after)):
                break
            named.append(flag)
        named.sort(key=common.index)
    if not named:
        raise ArgumentError(
            "Nothing tells the rows apart: no column holds text, dates or identifiers.",
            f"Say which do: keys=[{', '.join(map(repr, common[:2]))}]." if common else "No column is in both.",
        )
    return named


def _check(frame: object, which: str) -> None:
    if not isinstance(frame, pd.DataFrame):
        hint = "The result of that run is no longer held: run it again." if frame is None else ""
        if hasattr(frame, "to_table"):  # what a sweep into a folder gives
            hint = "A dataset gives one with .to_table().to_pandas()."
        raise ArgumentError(f"The {which} run is no DataFrame, but {quote(frame)} ({type(frame).__name__}).", hint)
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ArgumentError(f"The {which} run has two columns called {quote(twice)}.", "Rename one of them.")


def _has_parts(column: pd.Series[Any]) -> bool:
    """Say whether a column holds lists or objects of JSON."""
    return column.dtype == object and any(isinstance(value, (list, dict)) for value in column)


def _is_flag(column: pd.Series[Any]) -> bool:
    return bool(pd.api.types.is_bool_dtype(column.dtype))


def _names(column: pd.Series[Any]) -> bool:
    if _is_flag(column):
        return False
    if pd.api.types.is_integer_dtype(column.dtype):
        return is_key(str(column.name))
    if _has_parts(column):
        return False
    return not pd.api.types.is_numeric_dtype(column.dtype)


def _indexed(frame: pd.DataFrame, keys: list[str], which: str) -> pd.DataFrame:
    indexed = frame.set_index(keys if len(keys) > 1 else keys[0])
    if not indexed.index.is_unique:
        row = indexed.index[indexed.index.duplicated()][0]
        twice = ", ".join(map(str, row)) if isinstance(row, tuple) else row
        raise ArgumentError(
            f"{listed(keys, 'and')} {'do' if len(keys) > 1 else 'does'} not tell the rows of the {which} run apart: "
            f"{quote(twice)} is there twice.",
            "Say which columns do, with keys=[…].",
        )
    return indexed


def _differs(old: pd.DataFrame, new: pd.DataFrame, order: pd.Index[Any], column: Hashable, tolerance: float) -> Any:
    """Say of each row whether its values of a column differ; what is missing in both is equal."""
    left, right = (
        (frame[column] if column in frame.columns else pd.Series(index=frame.index, dtype=object)).reindex(order)
        for frame in (old, new)
    )
    missing = left.isna().to_numpy(), right.isna().to_numpy()
    both = ~missing[0] & ~missing[1]
    result = missing[0] != missing[1]
    one, other = left[both], right[both]
    if pd.api.types.is_numeric_dtype(left.dtype) and pd.api.types.is_numeric_dtype(right.dtype) and tolerance:
        result[both] = ~np.isclose(one.astype(float), other.astype(float), rtol=tolerance, atol=0)
    else:
        result[both] = [bool(each != that) for each, that in zip(one, other, strict=True)]
    return result

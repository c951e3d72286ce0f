"""Compare two results: which rows were added, removed or changed, by key columns."""

from __future__ import annotations

from decimal import Context, localcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.text import listed, quote, some
from jupyter_funcs.frames.display import NUMBERS_OF_PYTHON
from jupyter_funcs.frames.roles import is_key

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from jupyter_funcs.frames.columns import Series

_TIMES = ("before", "after")
_FLOATS = {"floating", "mixed-integer-float"}
_DURATIONS = {"timedelta", "timedelta64"}


def diff(
    before: pd.DataFrame,
    after: pd.DataFrame,
    *,
    keys: Sequence[str] | str | None = None,
    tolerance: float = 0.0,
    names: tuple[str, str] = _TIMES,
) -> pd.DataFrame:
    """
    Compare two results of a function.

    Parameters
    ----------
    before, after
        The two DataFrames.
    keys
        The columns that identify a row in each frame. By default the columns of text and dates, integers that are
        named like an identifier, what a sweep varied, and as many booleans as needed to make the rows unique.
    tolerance
        The largest relative difference, as a fraction, at which two numbers count as equal.
    names
        What to call the two frames if they aren't the same one at two times, such as ``("BVQS", "MCHQ")``: two texts
        that differ, without ``delta`` and ``percent``.

    Returns
    -------
    DataFrame
        One row per difference: ``added``, ``removed`` or ``changed`` in the column ``Change``, then the key columns,
        then ``<name> (before)`` and ``<name> (after)`` of each column that differs in any row; of numbers and
        durations also ``<name> (delta)`` and ``<name> (percent)``, the difference and its part of the value before, in
        percent. Rows are in the order of `after`, followed by the removed ones. A column of only one frame is not
        compared; ``attrs["funcs"]["only"]`` names these. `names` of your own are in place of ``before`` and ``after``;
        then the first column is ``Where``: ``in both``, or ``only in`` and the name of the frame. If each frame is one
        row, and no column can be a key, these are compared.

    Raises
    ------
    ArgumentError
        An argument is not a DataFrame, or has duplicate column names; a key is not a column of both, or holds lists or
        objects; the keys do not identify the rows of a frame; or `names` are not valid. Of results of two functions it
        says what they share.
    """
    if len({*names, "delta", "percent"}) != 4:
        raise ArgumentError(
            f"{quote(names)} can't name two results.",
            'Pass two such as names=("BVQS", "MCHQ").',
        )

    _check(before, "first")
    _check(after, "second")
    before = _nullable(_with_labels(before))
    after = _nullable(_with_labels(after))
    common = [column for column in after.columns if column in before.columns]
    named, old, new = _indexed_by_keys(before, after, keys, common)
    # `isin` rounds nullable integers.
    removed = old.index[new.index.get_indexer(old.index) < 0]
    order = new.index.append(removed)
    columns = [column for column in common if column not in named]
    left = old.reindex(index=order, columns=columns)
    right = new.reindex(index=order, columns=columns)
    is_added = old.index.get_indexer(order) < 0
    is_removed = np.arange(len(order)) >= len(new)
    differs = {
        column: _differs(left[column], right[column], tolerance) for column in columns
    }
    shown = np.logical_or.reduce([is_added, is_removed, *differs.values()])
    title = "Change"
    kinds = ["added", "removed", "changed"]
    if names != _TIMES:
        title = "Where"
        kinds = [f"only in {names[1]}", f"only in {names[0]}", "in both"]

    change = np.select([is_added, is_removed], kinds[:2], kinds[2])
    result: dict[Hashable, Any] = {title: pd.array(change[shown], dtype="string")}
    for level, key in enumerate(named):
        result[key] = order[shown].get_level_values(level)
    for column in columns:
        if differs[column].any():
            earlier = left[column][shown].reset_index(drop=True)
            later = right[column][shown].reset_index(drop=True)
            result |= {
                f"{column} ({names[0]})": earlier,
                f"{column} ({names[1]})": later,
                **_change(column, earlier, later),
            }

    compared = pd.DataFrame(result)
    only = [[*map(str, frame.columns.drop(common))] for frame in (before, after)]
    compared.attrs["funcs"] = {
        "shape": "diff",
        "only": dict(zip(names, only, strict=True)),
    }
    return compared


def _with_labels(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with the named levels of its index as columns, as of a grouped one."""
    names = [
        name
        for name in frame.index.names
        if name is not None and name not in frame.columns
    ]
    return frame.reset_index(level=names) if names else frame


def _indexed_by_keys(
    before: pd.DataFrame,
    after: pd.DataFrame,
    keys: Sequence[str] | str | None,
    common: list[Any],
) -> tuple[list[str], pd.DataFrame, pd.DataFrame]:
    try:
        named = _keys(before, after, keys, common)
        return named, _indexed(before, named, "first"), _indexed(after, named, "second")
    except ArgumentError as error:
        shared = _shared_by_two(before, after, common)
        if keys is not None or not shared:
            raise
        what = f"{shared} {error.what}" if common else shared
        raise ArgumentError(what, error.hint) from None


def _shared_by_two(before: pd.DataFrame, after: pd.DataFrame, common: list[Any]) -> str:
    """Return what the results of two functions share; empty if they aren't of two."""
    functions = [
        str(frame.attrs.get("funcs", {}).get("function", ""))
        for frame in (before, after)
    ]
    if not all(functions) or functions[0] == functions[1]:
        return ""
    shared = some(list(map(str, common)), 5) if common else "no column"
    return f"{listed(functions, 'and')} share {shared}."


def apart(before: pd.DataFrame, after: pd.DataFrame) -> list[Any]:
    """Return the columns that say which of two results it is: they would be keys, and each has one value of its own."""
    if not (before.columns.is_unique and after.columns.is_unique):
        return []
    columns = []
    for column in before.columns.intersection(after.columns):
        sides = [before[column], after[column]]
        values = [
            side.dropna().unique().tolist() for side in sides if _identifies(side)
        ]
        if [*map(len, values)] == [1, 1] and values[0] != values[1]:
            columns.append(column)

    return columns


def _keys(
    before: pd.DataFrame,
    after: pd.DataFrame,
    keys: Sequence[str] | str | None,
    common: list[Any],
) -> list[str]:
    frames = before, after
    if isinstance(keys, str):
        keys = [keys]
    for key in keys or ():
        if key not in common:
            columns = listed(map(str, common))
            raise ArgumentError(
                f"{quote(key)} is not a column of both results.",
                f"Columns are {columns}.",
            )
        if any(_is_nested(frame[key]) for frame in frames):
            raise ArgumentError(
                f"{quote(key)} holds lists or objects, so it can't be a key.",
                "Leave it out.",
            )

    named = _identifying(frames, common) if keys is None else list(keys)
    if not named and not len(before) == len(after) == 1:
        hint = "Compare results with the same columns."
        if common:
            hint = "Pass the columns that do: keys=[…]."
        raise ArgumentError(
            "Nothing identifies the rows: no common column holds text, dates or identifiers.",
            hint,
        )

    return named


def _identifying(frames: Sequence[pd.DataFrame], common: list[Any]) -> list[str]:
    """Return the columns that are keys by default."""
    swept = {
        str(name)
        for frame in frames
        for name in frame.attrs.get("funcs", {}).get("swept", ())
    }

    def is_own(name: Any) -> bool:
        return name in swept or all(_identifies(frame[name]) for frame in frames)

    named = list(filter(is_own, common))
    # Booleans are usually values, so they become keys only as far as the rows need them.
    for flag in common:
        if any(frame[flag].dtype.kind != "b" for frame in frames):
            continue
        if named and not any(frame.duplicated(named).any() for frame in frames):
            break
        named.append(flag)

    return sorted(named, key=common.index)


def _check(frame: object, which: str) -> None:
    if not isinstance(frame, pd.DataFrame):
        hint = ""
        if frame is None:
            hint = "That result is no longer in memory: run it again."
        if hasattr(frame, "to_table"):  # the dataset of a sweep into a folder
            hint = "Convert a dataset with .to_table().to_pandas()."
        raise ArgumentError(
            f"The {which} result is not a DataFrame: {quote(frame)} ({type(frame).__name__}).",
            hint,
        )

    if not frame.columns.is_unique:
        name = frame.columns[frame.columns.duplicated()][0]
        raise ArgumentError(
            f"The {which} result has two columns named {quote(name)}.",
            "Rename one of them.",
        )


def _nullable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose integers and booleans stay as they are where a row has none; else they become floats."""
    exact = frame.copy(deep=False)
    for name, column in frame.items():
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iub":
            exact[name] = pd.array(column.to_numpy())
    return exact


def _is_nested(column: Series) -> bool:
    return column.dtype == object and any(
        isinstance(value, (list, dict)) for value in column
    )


def _kinds(*columns: Series) -> set[str]:
    return {pd.api.types.infer_dtype(column, skipna=True) for column in columns}


def _change(name: Hashable, earlier: Series, later: Series) -> dict[Hashable, Series]:
    """Return the difference of numbers or durations, exact unless there are floats, and its percent."""
    kinds = _kinds(earlier, later)
    if not (kinds <= NUMBERS_OF_PYTHON or kinds <= _DURATIONS):
        return {}
    both = earlier.notna() & later.notna()
    dtype: Any = float if kinds & _FLOATS else object
    before = earlier[both].astype(dtype)
    after = later[both].astype(dtype)
    with (
        np.errstate(invalid="ignore", over="ignore"),
        localcontext(Context(prec=80, traps=[])),
    ):
        delta = after - before
        sizes = before[before.astype(bool)].abs()
        percent = (delta[sizes.index] / sizes * 100).astype(float)

    if kinds != {"integer"}:
        if dtype is object and both.any():
            delta = delta.infer_objects()
        else:
            delta = delta.astype(float)
    elif delta.abs().max() < 2**63:  # beyond 64 bits they stay Python's
        delta = delta.astype("Int64")

    return {
        f"{name} (delta)": delta.reindex(earlier.index),
        f"{name} (percent)": percent.reindex(earlier.index),
    }


def _identifies(column: Series) -> bool:
    if (kinds := _kinds(column)) == {"integer"}:
        return is_key(column.name)
    is_value = (
        pd.api.types.is_numeric_dtype(column.dtype)
        or kinds <= NUMBERS_OF_PYTHON | _DURATIONS
    )
    return not (is_value or _is_nested(column))  # booleans are numeric


def _indexed(frame: pd.DataFrame, keys: list[str], which: str) -> pd.DataFrame:
    if not keys:
        return frame.reset_index(drop=True)
    indexed = frame.set_index(keys if len(keys) > 1 else keys[0])
    if not indexed.index.is_unique:
        row = indexed.index[indexed.index.duplicated()][0]
        parts = row if isinstance(row, tuple) else [row]
        repeated = ", ".join(str(part).removesuffix(" 00:00:00") for part in parts)
        raise ArgumentError(
            f"{listed(keys, 'and')} {'do' if len(keys) > 1 else 'does'} not identify the rows of the {which} result: "
            f"{quote(repeated)} occurs twice.",
            "Compare results with the same dimensions, or pass the columns that identify a row: keys=[…].",
        )

    return indexed


def _differs(left: Series, right: Series, tolerance: float) -> Any:
    """Return for each row whether the values of a column differ; missing values are equal."""
    if tolerance and _kinds(left, right) <= NUMBERS_OF_PYTHON:
        return ~np.isclose(
            left.astype(float),
            right.astype(float),
            rtol=tolerance,
            atol=0,
            equal_nan=True,
        )

    both = (left.notna() & right.notna()).to_numpy()
    differs = left.isna().to_numpy() != right.isna().to_numpy()
    # Objects are compared exactly.
    differs[both] = left[both].astype(object) != right[both].astype(object)
    return differs

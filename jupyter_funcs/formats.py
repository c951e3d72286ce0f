"""How the values of a column read: amounts, fractions as percent, days, what identifies; the same in every table."""

from __future__ import annotations

import datetime as dt
import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd

from jupyter_funcs.text import clip, inert

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_CELL = 120

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# Whole numbers that name something are shown as they are: 2025, not 2,025.
_IDENTIFY = {"id", "ids", "year", "fy", "code", "key", "number", "no", "nr", "zip"}
_MONEY = {"spend", "revenue", "revenues", "sales", "price", "amount", "cost", "costs", "turnover", "income", "profit"}
# Fractions by SERVICE.md 3, unless the name or the description says that they are in percent already.
_GROWTH = re.compile(r"growth|(?<![a-z])(?:yoy|pop|qoq|mom|wow|dod)(?![a-z])", re.IGNORECASE)
_IN_PERCENT = re.compile(r"%|\b(?:in percent|percentage|pct|bps|basis points)\b", re.IGNORECASE)
_USUAL_GROWTH = 3.0  # the median of fractions; what is beyond is in percent already
_NUMBERS = {"decimal", "floating", "integer", "mixed-integer-float"}
_LOOKED_AT = 1000


@dataclass(frozen=True, slots=True)
class Format:
    """
    How a column reads.

    Attributes
    ----------
    text
        Gives a value as one line of plain text, inert and short, not escaped; nothing for what is missing.
    right
        Whether it stands at the right, as numbers do.
    """

    text: Callable[[Any], str]
    right: bool


def format_of(column: pd.Series[Any], about: str = "") -> Format:
    """
    Give the format of a column.

    Parameters
    ----------
    column
        All of it: the decimals go by the largest value.
    about
        The function's description, which may say that growth is in percent already.
    """
    dtype, plain = column.dtype, _identifies(column.name)
    if isinstance(dtype, pd.CategoricalDtype):
        return format_of(pd.Series(dtype.categories, name=column.name), about)
    if pd.api.types.is_float_dtype(dtype):
        return _format(_number_pattern(column, about).format, right=True)
    if pd.api.types.is_integer_dtype(dtype):
        return _format((str if plain else "{:,}".format), right=True)
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return _format(_time_text(column))
    if pd.api.types.is_object_dtype(dtype):
        kind = pd.api.types.infer_dtype(column.head(_LOOKED_AT), skipna=True)
        return _format(lambda value: _object_text(value, plain=plain), right=kind in _NUMBERS)
    return _format(str)


def _format(text: Callable[[Any], str], *, right: bool = False) -> Format:
    def shown(value: Any) -> str:
        if pd.api.types.is_scalar(value) and pd.isna(value):
            return ""
        # Of a very long text only the beginning is looked at.
        return clip(inert(text(value)[: 4 * LONGEST_CELL]), LONGEST_CELL)

    return Format(shown, right)


def _words(name: object) -> list[str]:
    return [word.casefold() for word in _WORDS.findall(str(name))]


def _identifies(name: object) -> bool:
    return bool(_IDENTIFY & set(_words(name)[-1:]))


def is_growth(name: object) -> bool:
    """Say whether a column of this name holds growth, which is a fraction or in percent."""
    return bool(_GROWTH.search(str(name)))


def is_in_percent(name: object, about: str = "") -> bool:
    """Say whether a column's name, or what its function says of itself, has growth in percent already."""
    return bool(_IN_PERCENT.search(f"{name} {about}")) and "fraction" not in about.casefold()


def is_fraction(column: pd.Series[Any], name: object, about: str = "") -> bool:
    """Say whether numbers of this name are growth as a fraction, to be shown as percent."""
    return is_growth(name) and not is_in_percent(name, about) and not bool(column.abs().median() > _USUAL_GROWTH)


def _number_pattern(column: pd.Series[Any], about: str) -> str:
    if is_fraction(column, column.name, about):
        return "{:,.2%}"
    known = column.dropna()
    largest = float(known.abs().max()) if len(known) else 0.0
    if largest < 2**53 and _are_whole(known.head(_LOOKED_AT)) and _are_whole(known):
        return "{:.0f}" if _identifies(column.name) else "{:,.0f}"
    if _MONEY & set(_words(column.name)):
        return "{:,.2f}" if largest < 1e6 else "{:,.0f}"
    if largest >= 100:
        return "{:,.2f}" if largest < 1e15 else "{:.6g}"
    return "{:,.4f}" if largest >= 0.01 else "{:.4g}"


def _are_whole(numbers: pd.Series[Any]) -> bool:
    return bool((numbers % 1 == 0).all())


def _time_text(column: pd.Series[Any]) -> Callable[[Any], str]:
    known = column.dropna()
    if known.dt.tz is None and bool((known == known.dt.normalize()).all()):
        return lambda value: str(value.isoformat())[:10]
    return lambda value: str(value.isoformat(sep=" "))


def _object_text(value: Any, *, plain: bool) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return str(value) if plain else _grouped(value)
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, bytes):
        head = value[: 4 * LONGEST_CELL]
        text = head.decode(errors="ignore")
        return text if text.encode() == head else str(head)
    return nested_text(value) if isinstance(value, dict | list | tuple) else str(value)


def _grouped(value: float | Decimal) -> str:
    try:
        return f"{value:,}"
    except ValueError:  # an integer of too many digits, for which Python refuses the time it takes
        return "a number of very many digits"


def nested_text(value: Any) -> str:
    """Give the beginning of a nested value as JSON; what follows is not even looked at."""
    text = ""
    try:
        for chunk in json.JSONEncoder(ensure_ascii=False, default=str).iterencode(value):
            text += chunk
            if len(text) > LONGEST_CELL:
                break
    except (ValueError, RecursionError):  # it holds itself, or is nested too deeply
        text += "…"
    return text

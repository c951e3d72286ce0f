"""What each column of a frame can be in a chart: time, a measure, a dimension, or nothing. No picture here."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from jupyter_funcs.formats import is_fraction, is_growth, is_in_percent
from jupyter_funcs.text import clip, inert

if TYPE_CHECKING:
    from collections.abc import Callable

    _Make = Callable[..., "Column"]

_LONGEST_NAME = 60
_MOST_VALUES = 100_000  # of a dimension: more of them name single rows, and would take seconds
_LARGEST = 1e150  # beyond it the ends of an axis are out of reach of a float
# A mark of each column's values tells in advance what the parsing of millions would.
_LIKE_A_DATE = re.compile(r"[0-9]{4}-[0-9]{2}(-[0-9]{2}([T ][0-9:.,]+(Z|[+-][0-9:]+)?)?)?")
_PERIOD_FIRST = re.compile(
    r"(?:[FC]?(?P<part>[QH][1-4])|FY)[ _/-]?(?:FY|CY)?'?(?P<year>[0-9]{4}|[0-9]{2})[AE]?", re.IGNORECASE
)
_YEAR_FIRST = re.compile(
    r"(?:FY|CY)?(?P<year>[0-9]{4})(?:[ _/-]?[FC]?(?P<part>[QH][1-4]|W[0-9]{2}))?[AE]?", re.IGNORECASE
)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|%")

_NAMING = {
    "id",
    "ids",
    "code",
    "codes",
    "key",
    "number",
    "no",
    "zip",
    "postcode",
    "isin",
    "cusip",
    "sedol",
    "sic",
    "naics",
}
_CALENDAR = {"year", "years", "yr", "fy", "quarter", "qtr", "month", "week", "weekday", "day", "hour"}
_SHARE = {"share", "rate", "margin", "pct", "percent", "percentage", "%", "ratio", "penetration", "return"}
# What does not add up over the parts of a whole: a ratio, and a count of people, who may be in several parts.
_NOT_ADDITIVE = _SHARE | {
    *("per", "avg", "average", "mean", "median", "min", "max", "std", "price", "index", "score", "rank", "balance"),
    *("cardholder", "cardholders", "customer", "customers", "user", "users", "unique", "distinct"),
}


class Role(Enum):
    """What a column can be."""

    TIME = "a date or a time"
    PERIOD = "a named period, such as FQ3 2025"
    MEASURE = "numbers that measure something"
    DIMENSION = "a category, or what names the rows"
    NONE = "nothing that a chart shows"


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """
    One column of a frame, as charts see it.

    Attributes
    ----------
    name
        Its name for people: inert, and no other column's.
    role
        What it can be.
    data
        Times without a zone, numbers as floats, anything else as categories of text, as it is, in the order of a chart.
    zone
        The time zone in which times are shown; the empty string for none.
    additive
        Whether the measures of the parts add up to the whole's.
    percent
        Whether the measure is a fraction, to be shown as percent.
    picked, made
        As code: how to take the column from a frame, and how to make `data` of it; ``{}`` stands for the column.
    skipped
        How many values are left out because they are no numbers, or no times.
    """

    name: str
    role: Role
    data: pd.Series[Any]
    zone: str = ""
    additive: bool = False
    percent: bool = False
    picked: str = ""
    made: str = "{}"
    skipped: int = 0

    def code(self, frame: str) -> str:
        """Give the code that makes `data` of a frame."""
        return self.made.replace("{}", frame + self.picked, 1)

    @property
    def is_time(self) -> bool:
        """Whether it is a column of times, or of periods."""
        return self.role in {Role.TIME, Role.PERIOD}

    @property
    def distinct(self) -> int:
        """How many different values there are."""
        return len(self.data.cat.categories) if self.data.dtype == "category" else int(self.data.nunique())


def read(frame: pd.DataFrame, about: str = "") -> list[Column]:
    """
    Give the columns of a frame, those of an index that holds labels first; the frame stays as it is.

    Parameters
    ----------
    frame
        Any frame.
    about
        What its function says of itself: whether growth is in percent already.
    """
    if has_labels(frame):
        frame = frame.reset_index(allow_duplicates=True)
    names = _names(frame.columns)
    in_percent = is_in_percent("", about)
    found = [_column(at, names[at], frame) for at in range(frame.shape[1])]
    return [replace(column, percent=False) if in_percent else column for column in found]


def has_labels(frame: pd.DataFrame) -> bool:
    """Whether the index of a frame says more than the order of its rows."""
    return (
        frame.index.nlevels > 1 or frame.index.name is not None or not pd.api.types.is_integer_dtype(frame.index.dtype)
    )


def words(name: str) -> list[str]:
    """Give the words of a column's name in lower case: ``PeriodEndDate`` has three."""
    return [word.casefold() for word in _WORDS.findall(name)]


def is_key(name: str) -> bool:
    """Whether a column of this name holds what names a row, and not what it is like."""
    return words(name)[-1:] != [] and words(name)[-1] in _NAMING


def _names(labels: pd.Index[Any]) -> list[str]:
    names: list[str] = []
    taken: dict[str, int] = {}
    for at, label in enumerate(labels):
        text = " ".join(map(str, label)) if isinstance(label, tuple) else str(label)
        name = clip(inert(text), _LONGEST_NAME).strip() or f"column {at + 1}"
        taken[name] = taken.get(name, 0) + 1
        names.append(name if taken[name] == 1 else f"{name} ({taken[name]})")
    return names


def _column(at: int, name: str, frame: pd.DataFrame) -> Column:
    label, values = frame.columns[at], frame.iloc[:, at].reset_index(drop=True)
    alone = isinstance(label, str) and list(frame.columns).count(label) == 1
    make: _Make = partial(Column, name, picked=f"[{label!r}]" if alone else f".iloc[:, {at}]")
    try:
        kind = pd.api.types.infer_dtype(values, skipna=True)
        return _BY_KIND.get(kind, _nothing)(make, name, values)
    except (TypeError, ValueError, OverflowError, ArithmeticError, AttributeError, NotImplementedError):
        # A type of another library, values that cannot be compared or counted: no chart of this column.
        return _nothing(make, name, values)


def _nothing(make: _Make, _name: str, values: pd.Series[Any]) -> Column:
    return make(Role.NONE, pd.Series(np.nan, index=values.index))


def _empty(make: _Make, _name: str, values: pd.Series[Any]) -> Column:
    return make(Role.MEASURE, pd.Series(np.nan, index=values.index))


def _dates(make: _Make, name: str, values: pd.Series[Any]) -> Column:
    zones = any(getattr(value, "tzinfo", None) is not None for value in values.dropna().head(100))
    how = "errors='coerce'" + ", utc=True" * zones
    return _time(make, name, pd.to_datetime(values, errors="coerce", utc=zones), f"pd.to_datetime({{}}, {how})")


def _spans(make: _Make, name: str, values: pd.Series[Any]) -> Column:
    return _time(make, name, values.dt.to_timestamp(), "{}.dt.to_timestamp()")


def _time(make: _Make, _name: str, values: pd.Series[Any], made: str = "{}") -> Column:
    if not isinstance(values.dtype, np.dtype | pd.DatetimeTZDtype):  # of Arrow
        values, made = pd.to_datetime(values.astype(object)), f"pd.to_datetime({made}.astype(object))"
    zone = getattr(values.dt, "tz", None)
    if zone is not None:  # the clock on the wall of the zone that the values name
        values, made = values.dt.tz_localize(None), f"{made}.dt.tz_localize(None)"
    return make(Role.TIME, values.astype("datetime64[us]"), zone=str(zone or ""), made=made)


def _number(make: _Make, name: str, values: pd.Series[Any]) -> Column:
    if values.dtype.kind == "O":
        return _mixed(make, name, values)
    known = pd.Series(values.to_numpy(dtype=float, na_value=np.nan), index=values.index)
    return _measure(make, name, known, "{}" if values.dtype.kind in "iuf" else "{}.astype(float)")


def _mixed(make: _Make, name: str, values: pd.Series[Any]) -> Column:
    """Give the numbers among values of several kinds when most are; texts with numbers among them name something."""
    known = values.dropna()
    numbers = known.map(_is_number)
    if numbers.mean() >= 0.5:
        found = known[numbers].map(_as_float).reindex(values.index).astype(float)
        made = "pd.to_numeric({}.astype(str), errors='coerce')"
        return _measure(make, name, found, made, int((~numbers).sum()))
    texts = known.map(lambda value: isinstance(value, str | int | float))
    return (_text if texts.all() else _nothing)(make, name, values)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal | np.number) and not isinstance(value, bool)


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond any float
        return np.inf


def _measure(make: _Make, name: str, values: pd.Series[Any], made: str, skipped: int = 0) -> Column:
    finite = values.where(values.abs() < _LARGEST)
    skipped += int((values.notna() & finite.isna()).sum())
    if (values.abs() >= _LARGEST).any():
        made += f".where(lambda number: number.abs() < {_LARGEST})"
    parts = words(name)
    known = finite.dropna()
    whole = bool((known % 1 == 0).all())
    if parts and whole and parts[-1] in _NAMING | _CALENDAR:
        return _named(make, name, finite.astype("Int64"), "{}.astype('Int64').astype('string')")
    growth = is_growth(name)
    if growth:
        percent = is_fraction(known, name)
    else:
        percent = not whole and not _SHARE.isdisjoint(parts) and bool(known.abs().max() <= 1)
    additive = not growth and _NOT_ADDITIVE.isdisjoint(parts)
    return make(Role.MEASURE, finite, additive=additive, percent=percent, made=made, skipped=skipped)


def _text(make: _Make, name: str, values: pd.Series[Any]) -> Column:
    texts = values.dropna().drop_duplicates()
    if all(isinstance(text, str) and _LIKE_A_DATE.fullmatch(text) for text in texts):
        utc = any(text.endswith("Z") or "+" in text for text in texts)
        times = pd.to_datetime(values, format="ISO8601", errors="coerce", utc=utc)
        if times[values.notna()].notna().all():
            return _time(make, name, times, f"pd.to_datetime({{}}, format='ISO8601'{', utc=True' * utc})")
    strings = pd.api.types.infer_dtype(values, skipna=True) == "string"
    return _named(make, name, values, "{}" if strings else "{}.astype('string')")


def _named(make: _Make, name: str, values: pd.Series[Any], made: str = "{}.astype('string')") -> Column:
    """Give a column of categories: periods in the order of time, any others as they come."""
    codes, found = pd.factorize(values)
    if len(found) > _MOST_VALUES:
        return _nothing(make, name, values)
    texts = list(map(str, found.tolist()))
    order = dict.fromkeys(texts)  # two values may have one text
    of_time = not pd.api.types.is_numeric_dtype(values.dtype) or words(name)[-1] in _CALENDAR
    is_period = bool(order) and of_time and all(map(_period, order))
    labels = sorted(order, key=lambda text: _period(text) or (0, "")) if is_period else list(order)
    place = {text: at for at, text in enumerate(labels)}
    # The last place is that of a missing value, whose code is -1.
    places = np.array([*(place[text] for text in texts), -1], dtype=np.int64)
    shown = pd.Series(pd.Categorical.from_codes(places[codes], pd.Index(labels, dtype=object), ordered=is_period))
    return make(Role.PERIOD if is_period else Role.DIMENSION, shown, made=made)


def _period(text: str) -> tuple[int, str] | None:
    """Give what periods are ordered by, year and part; ``None`` for a text that names none."""
    match = _PERIOD_FIRST.fullmatch(text) or _YEAR_FIRST.fullmatch(text)
    if match is None:
        return None
    year = int(match["year"]) + 2000 * (len(match["year"]) == 2)
    return (year, (match["part"] or "").upper()) if 1800 <= year <= 2300 else None


# By what pandas finds in a column, of whatever dtype.
_BY_KIND: dict[str, Callable[[_Make, str, pd.Series[Any]], Column]] = {
    "boolean": _named,
    "categorical": _named,
    "date": _dates,
    "datetime": _dates,
    "datetime64": _time,
    "decimal": _mixed,
    "empty": _empty,
    "floating": _number,
    "integer": _number,
    "mixed": _mixed,
    "mixed-integer": _mixed,
    "mixed-integer-float": _mixed,
    "period": _spans,
    "string": _text,
}

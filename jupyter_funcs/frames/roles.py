"""Roles: what a column holds (time, a measure, a dimension, an identifier, growth), by its name and its values."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_integer_dtype, is_numeric_dtype

from jupyter_funcs.core.coded import Coded, applied, literal, step
from jupyter_funcs.core.text import clip, distinct, folded, inert
from jupyter_funcs.frames.columns import label_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jupyter_funcs.core.coded import Operation
    from jupyter_funcs.core.json_decoding import JsonObject
    from jupyter_funcs.frames.columns import Series

NO_VALUE = "(none)"  # the category of rows without one
_PANDAS = Coded(pd, "pd")
FRAME = "\0"  # its variable in the code of a column, until that has a name
_LONGEST_NAME = 200
# A dimension with more values names single rows, and takes seconds.
_MOST_VALUES = 100_000
_LONGEST_VALUE = 1000  # a dimension with longer values holds texts
_LARGEST = 1e150  # beyond it, the range of an axis overflows a float
_LARGEST_TO_SUM = 1e12  # sums of larger integers may overflow
# A quick check before parsing millions of texts.
_LIKE_A_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}(-[0-9]{2}([T ][0-9:.,]+(Z|[+-][0-9:]+)?)?)?"
)
_PERIOD_FIRST = re.compile(
    r"(?i)(?:[FC]?(?P<part>[QH][1-4])|FY)[ _/-]?(?:FY|CY)?'?(?P<year>[0-9]{4}|[0-9]{2})[AE]?"
)
_YEAR_FIRST = re.compile(
    r"(?i)(?:FY|CY)?(?P<year>[0-9]{4})(?:[ _/-]?[FC]?(?P<part>[QH][1-4]|W[0-9]{2}))?[AE]?"
)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|%")

# Last words of names of identifiers.
_NAMING = {
    "id",
    "ids",
    "code",
    "codes",
    "key",
    "number",
    "no",
    "nr",
    "zip",
    "postcode",
    "isin",
    "cusip",
    "sedol",
    "sic",
    "naics",
}
_LABELS = {"name", "label", "company", "issuer", "description", "title"}
_CALENDAR = {
    "year",
    "years",
    "yr",
    "fy",
    "quarter",
    "qtr",
    "month",
    "week",
    "weekday",
    "day",
    "hour",
}
_SHARE = {
    "share",
    "rate",
    "margin",
    "pct",
    "percent",
    "percentage",
    "%",
    "ratio",
    "penetration",
    "return",
}
# Ratios, and counts of people who may be in several groups, can't be summed.
_NOT_ADDITIVE = _SHARE | {
    "per",
    "avg",
    "average",
    "mean",
    "median",
    "min",
    "max",
    "std",
    "price",
    "index",
    "score",
    "rank",
    "balance",
    "cardholder",
    "cardholders",
    "customer",
    "customers",
    "user",
    "users",
    "unique",
    "distinct",
}


_GROWTH = re.compile(r"(?i)growth|(?<![a-z])(?:yoy|pop|qoq|mom|wow|dod)(?![a-z])")
_IN_PERCENT = re.compile(r"(?i)%|\b(?:in percent|percentage|pct|bps|basis points)\b")
_USUAL_GROWTH = 3.0  # a larger median means that the values are in percent already


class Role(Enum):
    """What a column is in a chart."""

    TIME = "a date or a time"
    PERIOD = "a named period, such as FQ3 2025"
    MEASURE = "numbers that measure something"
    DIMENSION = "a category, or what names the rows"
    NONE = "nothing that a chart shows"


@dataclass(frozen=True, slots=True, eq=False)
class ChartColumn:
    """A column of a frame, prepared for a chart, with the code that prepares it."""

    name: str
    role: Role
    data: Series
    made: str = ""
    note: str = ""  # on how it is drawn
    additive: bool = False
    percent: bool = False

    def code(self, frame: str) -> str:
        """Return the code that computes `data` from a frame."""
        return self.made.replace(FRAME, frame)

    @property
    def distinct(self) -> int:
        """The number of categories or periods."""
        return len(self.data.cat.categories)

    @property
    def filled(self) -> Series:
        """The categories of all rows."""
        named = dict.fromkeys([*self.data.cat.categories, NO_VALUE])
        return self.data.cat.set_categories([*named]).fillna(NO_VALUE)

    @property
    def varies(self) -> bool:
        """Whether there are several times, categories or periods."""
        if self.data.dtype == "category":
            return self.distinct > 1
        return bool(self.data.min() < self.data.max())


def flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose labels of rows are its first columns, and whose columns have names that differ."""
    flattened: pd.DataFrame = applied(frame, flattening(frame))
    return flattened


def flattening(frame: pd.DataFrame) -> list[Operation]:
    """Return the steps that make a frame flat."""
    steps = []
    if has_labels(frame):
        steps.append(step("reset_index", allow_duplicates=True))
    columns = applied(frame.head(0), steps).columns
    names = _names(columns)
    if names != list(columns):
        steps.append(step("set_axis", names, axis=1))
    return steps


def read(frame: pd.DataFrame, about: str, most: int) -> list[ChartColumn]:
    """Return the columns of a flat frame, of each type at most the first `most`; measures with other values last."""
    kinds = pd.Series([dtype.kind for dtype in frame.dtypes], dtype=object)
    taken = np.flatnonzero(kinds.groupby(kinds).cumcount() < most)
    columns = [_column(frame.iloc[:, int(at)].reset_index(drop=True)) for at in taken]
    facts = frame.attrs.get("funcs", {}).get("columns", {})
    ratios = {
        name for name, about_it in facts.items() if about_it.get("adds_up") is False
    }
    columns = [
        replace(column, additive=column.additive and column.name not in ratios)
        for column in columns
    ]
    columns.sort(key=lambda column: column.role is Role.MEASURE and bool(column.note))
    if is_in_percent("", about):
        return [replace(column, percent=False) for column in columns]
    return columns


def are_days(times: Series) -> bool:
    """Return whether datetimes are dates: without a zone, and all at midnight."""
    present = times.dropna()
    return present.dt.tz is None and bool((present == present.dt.normalize()).all())


def has_labels(frame: pd.DataFrame) -> bool:
    """Return whether the index holds more than row numbers."""
    index = frame.index
    return (
        index.nlevels > 1 or index.name is not None or not is_integer_dtype(index.dtype)
    )


def words(name: object) -> list[str]:
    """Return the words of a column's name in lower case: ``PeriodEndDate`` has three."""
    return [word.casefold() for word in _WORDS.findall(str(name))]


def is_key(name: object) -> bool:
    """Return whether a column with this name identifies rows."""
    return not _NAMING.isdisjoint(words(name)[-1:])


def is_label(name: object) -> bool:
    """Return whether a column with this name says in words what another one identifies."""
    return not _LABELS.isdisjoint(words(name)[-1:])


def is_identifier(name: object) -> bool:
    """Return whether whole numbers with this name aren't amounts but keys, years and the like."""
    return is_key(name) or not _CALENDAR.isdisjoint(words(name)[-1:])


def is_growth(name: object) -> bool:
    """Return whether a column with this name holds growth, as a fraction or in percent."""
    return bool(_GROWTH.search(str(name)))


def adds_up(name: object) -> bool:
    """Return whether the numbers of a column with this name can be summed."""
    # One value of each group of a pivot.
    is_picked = str(name).endswith(("(first)", "(last)"))
    return (
        not is_picked and not is_growth(name) and _NOT_ADDITIVE.isdisjoint(words(name))
    )


def is_to_date(name: object) -> bool:
    """Return whether a column with this name tells periods to date from whole ones, which they are parts of."""
    return folded(str(name)) == "periodtodate"


def is_in_percent(name: object, about: str) -> bool:
    """Return whether growth is in percent already, by the column's name or the function's description."""
    return (
        bool(_IN_PERCENT.search(f"{name} {about}"))
        and "fraction" not in about.casefold()
    )


def is_fraction(column: Series, name: object, about: str = "") -> bool:
    """Return whether a column holds growth as a fraction, or shares of a pivot, to be shown in percent."""
    return str(name).endswith("(share)") or (
        is_growth(name)
        and not is_in_percent(name, about)
        and not bool(column.abs().median() > _USUAL_GROWTH)
    )


def _names(labels: pd.Index[Any]) -> list[str]:
    names: list[str] = []
    for at, label in enumerate(labels):
        text = clip(inert(label_text(label)), _LONGEST_NAME)
        names.append(text.strip() or f"column {at + 1}")
    return list(distinct(names, "{} ({})", 2))


def _column(values: Series) -> ChartColumn:
    name = str(values.name)
    coded = Coded(values, f"{FRAME}[{literal(values.name)}]")
    try:
        kind = infer_dtype(values, skipna=True)
        return _BY_KIND.get(kind, _number)(name, coded)
    except (
        TypeError,
        ValueError,
        OverflowError,
        ArithmeticError,
        AttributeError,
        NotImplementedError,
    ):
        # A type of another library, or values that cannot be compared or counted.
        return _nothing(name, coded)


def _nothing(name: str, values: Coded, role: Role = Role.NONE) -> ChartColumn:
    return ChartColumn(name, role, pd.Series(np.nan, index=values.value.index))


def _dates(name: str, values: Coded) -> ChartColumn:
    options = {}
    if any(getattr(value, "tzinfo", None) for value in values.value.dropna().head(100)):
        options["utc"] = True
    return _time(name, _PANDAS.to_datetime(values, errors="coerce", **options))


def _time(name: str, values: Coded) -> ChartColumn:
    if not isinstance(values.value.dtype, np.dtype | pd.DatetimeTZDtype):  # of Arrow
        values = _PANDAS.to_datetime(values.astype(object))
    zone = getattr(values.value.dt, "tz", None)
    note = ""
    if zone is not None:  # local time of the zone, unless an hour comes twice
        local = values.dt.tz_localize(None)
        if local.value.nunique() < values.value.nunique():
            zone = "UTC"
            local = values.dt.tz_convert(zone).dt.tz_localize(None)
        values = local
        note = f"Times are those of {zone}."

    return ChartColumn(
        name, Role.TIME, values.value.astype("datetime64[us]"), values.code, note
    )


def _number(name: str, values: Coded) -> ChartColumn:
    kind = values.value.dtype.kind
    if kind not in "iuf":
        return _mixed(name, values)
    present = pd.Series(values.value.to_numpy(dtype=float, na_value=np.nan))
    adds = kind == "f" or present.abs().max() < _LARGEST_TO_SUM
    if not adds:
        values = values.astype(float)
    return _measure(name, Coded(present, values.code))


def _mixed(name: str, values: Coded) -> ChartColumn:
    """Return a measure if most values are numbers, else a dimension of texts."""
    present = values.value.dropna()
    if present.map(_is_number).mean() >= 0.5:
        numbers = _PANDAS.to_numeric(values.astype(str), errors="coerce")
        return _measure(name, numbers, int(numbers.value[present.index].isna().sum()))

    if all(isinstance(value, str | int | float) for value in present):
        return _text(name, values)
    return _nothing(name, values)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal | np.number) and not isinstance(
        value, bool
    )


def as_float(value: Any) -> float:
    """Return a number as a float; one that is too large is infinite."""
    try:
        return float(value)
    except OverflowError:
        return np.inf


def _measure(name: str, values: Coded, skipped: int = 0) -> ChartColumn:
    is_large = values.value.abs() >= _LARGEST
    if is_large.any():
        values = values.where(values.abs() < _LARGEST)
        skipped += int(is_large.sum())

    present = values.value.dropna()
    whole = bool((present % 1 == 0).all())
    if whole and is_identifier(name):
        return _named(name, values.astype("Int64"))
    if is_growth(name):
        percent = is_fraction(present, name)
    else:
        percent = (
            not whole
            and not _SHARE.isdisjoint(words(name))
            and bool(present.abs().max() <= 1)
        )

    note = ""
    if skipped:
        note = f"{skipped:,} of the values of {name} can't be drawn as numbers."
    return ChartColumn(
        name, Role.MEASURE, values.value, values.code, note, adds_up(name), percent
    )


def _text(name: str, values: Coded) -> ChartColumn:
    texts = values.value.dropna().drop_duplicates()
    if all(isinstance(text, str) and _LIKE_A_DATE.fullmatch(text) for text in texts):
        options: JsonObject = {"format": "ISO8601", "errors": "coerce"}
        if any(text.endswith("Z") or "+" in text for text in texts):
            options["utc"] = True
        times = _PANDAS.to_datetime(values, **options)
        if times.value[values.value.notna()].notna().all():
            return _time(name, times)

    return _named(name, values)


def _named(name: str, values: Coded) -> ChartColumn:
    """Return a column of categories: periods in order of time, others by name."""
    if values.value.nunique() > _MOST_VALUES:
        return _nothing(name, values)
    of_time = not is_numeric_dtype(values.value.dtype) or not _CALENDAR.isdisjoint(
        words(name)[-1:]
    )
    if infer_dtype(values.value, skipna=True) != "string":
        values = values.astype("string")
    shown = values.value.astype("category")
    labels = list(map(str, shown.cat.categories))
    if max(map(len, labels), default=0) > _LONGEST_VALUE:
        return _nothing(name, values)
    role = Role.DIMENSION
    if of_time and (order := order_of_periods(labels)):
        role = Role.PERIOD
        labels = [labels[at] for at in order]

    categories = pd.Index(labels, dtype=object)
    shown = shown.cat.set_categories(categories, ordered=role is Role.PERIOD)
    return ChartColumn(name, role, shown, values.code)


def order_of_periods(labels: Iterable[Any]) -> list[int]:
    """Return the positions of named periods in order of time; empty if a label names no period."""
    periods = []
    for label in labels:
        period = isinstance(label, str) and period_parts(label)
        if not period:
            return []
        periods.append(period)

    return sorted(range(len(periods)), key=periods.__getitem__)


def period_parts(text: str) -> tuple[int, str] | None:
    """Return the year and part of a period, by which periods are ordered, or ``None``."""
    match = _PERIOD_FIRST.fullmatch(text) or _YEAR_FIRST.fullmatch(text)
    if match is None:
        return None
    year = int(match["year"])
    if len(match["year"]) == 2:
        year += 2000
    if not 1800 <= year <= 2300:
        return None
    return year, (match["part"] or "").upper()


# By the kind that pandas infers from the values; others hold numbers, or a mixture.
_BY_KIND: dict[str, Callable[[str, Coded], ChartColumn]] = {
    "boolean": _named,
    "categorical": _named,
    "date": _dates,
    "datetime": _dates,
    "datetime64": _time,
    "empty": partial(_nothing, role=Role.MEASURE),
    "period": lambda name, values: _time(name, values.dt.to_timestamp()),
    "string": _text,
}

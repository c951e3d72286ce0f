"""A column of a table: how its values compare and are formatted, and filters of its rows, with their code."""

from __future__ import annotations

import operator
import re
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from functools import cached_property, reduce
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.text import quote
from jupyter_funcs.frames.coded import Coded, literal
from jupyter_funcs.frames.display import (
    NUMBERS,
    NUMBERS_OF_PYTHON,
    format_of,
    is_empty,
    short_number,
    short_text,
    with_minus,
)
from jupyter_funcs.frames.roles import adds_up, as_float, is_identifier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from jupyter_funcs.frames.display import ColumnFormat
    from jupyter_funcs.panel.requests import Json

    Held = Callable[[object, object, Callable[[], Any], Callable[[Any], int]], Any]  # `Latest.get`
    Codes = tuple[NDArray[Any], Any]
    Bound = tuple[str, Any]  # an operator, and the value to compare with

FIRST_ROWS = 40  # a block of the page, as in front/src/table/pages.ts
_BINS = 24
_WIDEST, _NARROWEST, _CHARACTER = 220, 72, 6.9  # pixels
_DAY = re.compile(r"(?a)\d{4}(?:-\d\d?(?:-\d\d?(?:[ T]\d\d?:\d\d(?::\d\d(?:\.\d{1,6})?)?)?)?)?")
_TYPED = re.compile(r"(?a)([+-]?(?:\d{1,40}\.?\d{0,12}|\.\d{1,12}))(%?)")
_OF_ARROW = {"i": "Int64", "u": "UInt64", "f": "Float64", "b": "boolean", "U": "string"}  # by the kind of the type
_COMPARE = {">=": operator.ge, "<=": operator.le, "<": operator.lt, "==": operator.eq}
# Errors from values of any type: they can't be compared, are too large, or contain themselves.
TROUBLE = (TypeError, ValueError, ArithmeticError, RuntimeError, AttributeError)


class TableColumn:
    """A column of a flat frame."""

    def __init__(self, data: pd.Series[Any], at: int, about: str, held: Held) -> None:
        self.at, self._about, self._held = at, about, held
        self.name = short_text(data.name)
        values, to = Coded(data, f"[{literal(data.name)}]"), _plainer(data)
        values = values.astype(to) if to else values
        self.data: pd.Series[Any] = values.value
        self._ref = values.code

    def code(self, name: str) -> str:
        return name + self._ref

    @cached_property
    def kind(self) -> str:
        """How values compare: number (also Python's own), date, text, other (by pandas), mixed (as texts)."""
        dtype = self.data.dtype
        if plain := {"i": "number", "u": "number", "f": "number", "M": "date"}.get(dtype.kind):
            return plain
        values = self.data.cat.categories if isinstance(dtype, pd.CategoricalDtype) else self.data
        found = pd.api.types.infer_dtype(values, skipna=True)
        if found == "string" or isinstance(dtype, pd.StringDtype):
            return "text"
        objects = pd.api.types.is_object_dtype(dtype)
        if dtype.kind == "c" or (objects and found not in NUMBERS_OF_PYTHON):
            return "mixed"
        try:
            self._codes(by_text=False)
            self.floats() if objects else None
        except TROUBLE:
            return "mixed"
        return "number" if objects else "other"

    @cached_property
    def _format(self) -> ColumnFormat:
        return format_of(self.data.rename(self.name), self._about)

    @property
    def type(self) -> str:
        if self.kind == "other":
            return "bool" if self._format.type == "bool" else "text"
        return "mixed" if self.kind == "mixed" else self._format.type

    @property
    def right(self) -> bool:
        return self.type in NUMBERS

    @property
    def adds_up(self) -> bool:
        return self.type in {"money", "count", "number"} and adds_up(self.name)

    def cell(self, value: Any) -> str | None:
        """Return a value as the table shows it; `None` if it is empty."""
        try:
            return None if is_empty(value) else self._format.text(value)
        except TROUBLE:
            return short_text(plain_text(value))

    def copied(self, rows: Any) -> pd.Series[Any]:
        """Return some of the values for a spreadsheet: times as they are shown, others as they are."""
        values: pd.Series[Any] = self.data.iloc[rows]
        return values.map(self.cell) if self.kind == "date" else values

    @np.errstate(invalid="ignore")  # infinities of both signs
    def sum(self, values: pd.Series[Any]) -> str:
        """Return the sum of some of the values, as the table shows it."""
        total: Any = 0.0
        try:
            if values.dtype.kind in "iu" and values.astype(float).abs().sum() >= 2**63:
                values = values.astype(object)  # of Python's integers, which are exact
            total = values.sum()
            return with_minus(f"{total:,.0f}") if abs(total) >= 1_000_000 else self.cell(total) or ""
        except TROUBLE:
            return short_text(plain_text(total))

    def floats(self) -> NDArray[np.float64]:
        objects = pd.api.types.is_object_dtype(self.data.dtype)  # not `kind`, which calls this
        numbers = self.data.map(as_float, na_action="ignore") if objects else self.data
        return numbers.to_numpy(dtype=float, na_value=np.nan)

    def factorized(self) -> Codes:
        """Return the sorted distinct values or texts, after the index of each row in them (-1 if empty)."""
        return self._codes(by_text=self.kind == "mixed")

    def _codes(self, *, by_text: bool) -> Codes:
        def make() -> Codes:
            texts = [None if is_empty(each) else plain_text(each) for each in self.data] if by_text else None
            codes, found = pd.factorize(pd.Series(texts, dtype=object) if by_text else self.data, sort=True)
            return codes.astype(np.min_scalar_type(-len(found) - 1)), found

        found: Codes = self._held(self.at, (self.at, by_text), make, lambda made: made[0].nbytes + 8 * len(made[1]))
        return found

    def ranked(self) -> tuple[int, Iterator[tuple[Any, int]]]:
        """Return the number of distinct values, and an iterator of them with their counts, most frequent first."""
        codes, found = self.factorized()
        counts = np.bincount(codes[codes >= 0], minlength=len(found))
        order, distinct = np.argsort(-counts, kind="stable"), int(np.count_nonzero(counts))
        return distinct, ((found[at], int(counts[at])) for at in order[:distinct])

    def key(self, *, descending: bool) -> NDArray[Any]:
        """Return numbers that numpy sorts in the order of the values, with empty ones last."""
        data = self.data
        if data.dtype.kind in "iuf" and isinstance(data.dtype, np.dtype):
            values = data.to_numpy()
            return values if not descending else -values if values.dtype.kind == "f" else ~values
        codes, found = self.factorized()
        return np.where(codes < 0, len(found), len(found) - 1 - codes if descending else codes)

    # Filters, which test each distinct value once

    def _distinct(self, ref: str) -> Coded:
        return Coded(pd.Series(self.factorized()[1]), ref)

    def _texts(self, ref: str) -> Coded:
        objects = ".astype(object)" * (self.data.dtype != object)
        texts = pd.Series([*map(plain_text, self.factorized()[1])], dtype=object)
        return Coded(texts, f'{ref}{objects}.map(str, na_action="ignore")')

    def _spread(self, test: Coded) -> Coded:
        """Return a mask of the rows whose value passed a test; empty values never pass."""
        passed = np.append(test.value.to_numpy(dtype=bool), [False])
        return Coded(passed[self.factorized()[0]], test.code)

    def contains(self, text: str, ref: str) -> Coded:
        """Test whether the texts contain a text, ignoring case."""
        if self.right:
            raise ArgumentError(f"{quote(self.name)} holds numbers, not texts.", "Filter it by a range or by values.")
        texts = self._distinct(ref) if self.kind == "text" else self._texts(ref)
        if texts.value.empty:  # pandas has no text methods for a column without texts
            return self.one_of((), ref)
        return self._spread(texts.str.contains(text, case=False, regex=False, na=False))

    def one_of(self, texts: Iterable[str | None], ref: str) -> Coded:
        """Test whether the values are among these texts; `None` means an empty value."""
        chosen = set(texts)
        by_value = self.kind in {"number", "text"} or self.type == "bool"
        values = self._distinct(ref) if by_value else self._texts(ref)
        wanted = [each for each in values.value.tolist() if plain_text(each) in chosen]
        tests = [Coded(self.data, ref).isna()] * (None in chosen)
        if wanted or not tests:
            tests.insert(0, self._spread(values.isin(wanted)))
        found = reduce(operator.or_, tests)
        return Coded(np.asarray(found.value), found.code, found.sign)

    def within(self, low: str, high: str, ref: str) -> Coded:
        """Test whether the values are between two typed bounds, inclusive."""
        if self.kind not in {"number", "date"}:
            raise ArgumentError(f"{quote(self.name)} has no numbers or dates.", "Filter it by text or by values.")
        find = self._day if self.kind == "date" else self._number
        return self._compared([find(text, op) for text, op in ((low, ">="), (high, "<=")) if text.strip()], ref)

    def _compared(self, bounds: list[Bound], ref: str) -> Coded:
        values = Coded(self.data, ref)
        test = reduce(operator.and_, (_COMPARE[op](values, value) for op, value in bounds))
        return Coded(np.asarray(test.value.fillna(value=False), dtype=bool), test.code, test.sign)

    def _number(self, text: str, op: str) -> Bound:
        number = Decimal("nan")
        with suppress(InvalidOperation):
            number = Decimal(re.sub(r"[\s,_%]", "", text).replace("−", "-"))
        if number.is_nan():
            such = "2.5 %" if self.type == "percent" else "250,000 or -1.5"
            raise ArgumentError(f"{quote(text)} isn't a number.", f"Enter one such as {such}.")
        return op, self._comparable(number.scaleb(-2) if self.type == "percent" else number)

    def _comparable(self, number: Decimal) -> float | Decimal:
        if not number.is_finite() or abs(number.adjusted()) > 40:
            return float(number)
        if number == number.to_integral_value() and (abs(number) < 2**63 or self.data.dtype == object):
            return int(number)
        exact = self.data.dtype == object and any(isinstance(each, Decimal) for each in self.data)
        return number if exact else float(number)

    def _day(self, text: str, op: str) -> Bound:
        found = _DAY.fullmatch(text.strip())
        try:
            time, period = pd.Timestamp(found[0] if found else "none"), pd.Period(found[0] if found else "none")
        except ValueError:
            raise ArgumentError(f"{quote(text)} isn't a date.", "Enter one such as 2025-01-31, or 2025.") from None
        zone = self.data.dt.tz if getattr(self.data.dtype, "tz", None) is not None else None
        if op == "<=" and not (self.type == "date" and period.freqstr == "D"):
            try:  # 2025 ends before 2026, and 14:30 before 14:31
                op, time = "<", pd.Timestamp(str(period + 1).zfill(4))
            except ValueError:  # 9999 is the last year
                op, time = "<=", pd.Timestamp("9999-12-31" if zone is not None else "9999-12-31 23:59:59")
        if zone is not None:  # a midnight may not exist where clocks change
            time = time.tz_localize(zone, ambiguous=True, nonexistent="shift_forward")
        return op, time.isoformat(sep=" ").removesuffix(" 00:00:00")

    def found(self, text: str, ref: str) -> Coded | None:
        """Test for the text of a search, if it can occur: numbers must match whole, as typed or as shown."""
        if self.kind == "date":
            if not re.fullmatch(r"(?a)[\d: -]+", text):
                return None
            shown = self._distinct(ref).dt.strftime("%Y-%m-%d" if self.type == "date" else "%Y-%m-%d %H:%M:%S")
            return self._spread(shown.str.contains(text, regex=False, na=False))
        if not self.right:
            possible = self.kind != "number" or re.fullmatch(r"(?ai)[\d.e+-]+", text)
            return self.contains(text, ref) if possible else None
        typed = _TYPED.fullmatch(text.strip().replace("−", "-").replace(",", ""))
        percent = self.type == "percent"
        if typed is None or (typed[2] and not percent):
            return None
        number, places = Decimal(typed[1]), len(typed[1].partition(".")[2])
        if self.data.dtype.kind != "f":
            return self._compared([("==", self._comparable(number))], ref)
        half = Decimal(5).scaleb(-places - 1)  # numbers that are shown as this one, however halves are rounded
        low, high = ((each.scaleb(-2) if percent else each) for each in (number - half, number + half))
        return self._compared([(">=", self._comparable(low)), ("<=", self._comparable(high))], ref)

    # Summaries

    @cached_property
    def summary(self) -> Json:
        said: Json = {"empty": float(self.data.isna().mean()) if len(self.data) else 0.0, "distinct": 0}
        said |= {"minimum": "", "maximum": "", "short": ["", ""], "histogram": [], "top": []}
        if self.right or self.kind == "date":
            return said | self._range()
        distinct, ranked = self.ranked()
        shares = [(value, round(count / len(self.data), 4)) for value, count in islice(ranked, _BINS)]
        top = [{"text": self.cell(value) or "", "share": share} for value, share in shares if share > 0]
        return said | {"distinct": distinct, "top": top}

    def _range(self) -> Json:
        known = self.data.dropna()
        if known.empty:
            return {}
        low, high = known.min(), known.max()
        if self.kind == "date":
            values = known.to_numpy(dtype="datetime64[us]").view(np.int64).astype(float)
            short = [str(low)[:10], str(high)[:10]]
        else:
            values, percent = self.floats(), self.type == "percent"
            ends = map(as_float, (low, high))
            short = [with_minus(f"{end:+,.0%}") if percent else short_number(end) for end in ends]
        histogram = _histogram(values[np.isfinite(values)])
        return {"minimum": self.cell(low), "maximum": self.cell(high), "short": short, "histogram": histogram}

    def view(self, *, summary: bool) -> Json:
        said = self.summary if summary else None
        texts = [f"{self.name[:14]}     ", *(self.cell(each) or "" for each in self.data.head(FIRST_ROWS))]
        texts += [said["minimum"], said["maximum"], *(each["text"] for each in said["top"])] if said else []
        texts += [f"{said['minimum']} –"] if said and self.kind == "date" else []
        if said and self.type in {"money", "count"}:  # a sum that is cut would look like another number
            texts.append(f"{self.sum(self.data)} ")
        longest = max(len(each) + sum(map(str.isupper, each)) / 5 for each in texts)  # capital letters are wide
        width = round(min(_WIDEST, max(_NARROWEST, 18 + _CHARACTER * longest)))
        return {"at": self.at, "name": self.name, "type": self.type, "width": width, "summary": said}


def plain_text(value: Any) -> str:
    try:
        return str(value)
    except TROUBLE:
        return f"<{type(value).__name__}>"


def _plainer(data: pd.Series[Any]) -> Any:
    """Return a simpler type for values of Arrow and whole identifiers; empty if the column needs none."""
    dtype: Any = data.dtype
    if isinstance(dtype, pd.ArrowDtype) and dtype.kind == "M":
        unit, zone = getattr(dtype.pyarrow_dtype, "unit", "s"), getattr(dtype.pyarrow_dtype, "tz", None)
        return f"datetime64[{unit}, {zone}]" if zone is not None else f"datetime64[{unit}]"
    if isinstance(dtype, pd.ArrowDtype) and dtype.kind != "m":
        return _OF_ARROW.get(dtype.kind, "object")
    if isinstance(dtype, np.dtype) and dtype.kind == "f" and is_identifier(data.name):
        known = data.dropna()
        return "Int64" * bool((known % 1 == 0).all() and known.abs().max() < 2**53)
    return ""


def _histogram(values: NDArray[np.float64]) -> list[float]:
    """Return the heights of the bars, from 0 to 1."""
    if not len(values):
        return []
    low, high = float(values.min()) / 4, float(values.max()) / 4  # their difference must not overflow
    if high <= low:
        return [1.0]
    places = ((values / 4 - low) * ((_BINS - 1e-9) / (high - low))).astype(np.int16)
    counts = np.bincount(places, minlength=_BINS)
    return [round(max(each, 0.002), 3) if each else 0.0 for each in (counts / counts.max()).tolist()]

"""A column of a table: how its values compare and are formatted, and filters of its rows, with their code."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from jupyter_funcs.core.coded import applied, literal, printed, step
from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.text import json_text, plain, quote
from jupyter_funcs.frames.display import (
    NUMBERS,
    NUMBERS_OF_PYTHON,
    format_of,
    is_empty,
    short_number,
    short_text,
    with_minus,
)
from jupyter_funcs.frames.roles import (
    FRAME,
    adds_up,
    as_float,
    is_growth,
    is_identifier,
    order_of_periods,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from jupyter_funcs.core.coded import Operation
    from jupyter_funcs.frames.display import ColumnFormat
    from jupyter_funcs.panel.requests import Json

    Array = np.ndarray[Any, np.dtype[Any]]
    Series = pd.Series[Any]
    Facts = list[tuple[str, str, str]]
    Keep = Callable[[object, object, Callable[[], "Codes"]], "Codes"]  # `Latest.get`

FIRST_ROWS = 40  # a block of the page, as in front/src/table/pages.ts
_BINS = 24
# Pixels.
_WIDEST = 220
_WIDEST_TIME = 260  # a time is no label: what is cut of it can't be guessed
_NARROWEST = 72
_CHARACTER = 6.9
_LONGEST_WHOLE = 1_000_000  # characters of a cell
_DAY = re.compile(
    r"(?a)\d{4}(?:-\d\d?(?:-\d\d?(?:[ T]\d\d?:\d\d(?::\d\d(?:\.\d{1,6})?)?)?)?)?"
)
_TYPED = re.compile(r"(?a)([+-]?(?:\d{1,40}\.?\d{0,12}|\.\d{1,12}))(%?)")
# The key is the kind of the type.
_OF_ARROW = {
    "i": "Int64",
    "u": "UInt64",
    "f": "Float64",
    "b": "boolean",
    "U": "string",
}
_DECIMAL_COMMA = re.compile(r",(?!\d{3}(?!\d))|\.[^.,]*,")
EMPTY = step("isna")
# Errors from values of any type: they can't be compared, are too large, or contain themselves.
TROUBLE = (TypeError, ValueError, ArithmeticError, RuntimeError, AttributeError)


class Codes(NamedTuple):
    """The sorted distinct values of a column, and the index of each row in them: -1 if it is empty."""

    rows: Array
    uniques: Any
    of_time: bool = False  # named periods, which are sorted by time and not by text

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + 8 * len(self.uniques)

    def counts(self, rows: Any = slice(None)) -> Array:
        """Return how often each value is among some rows."""
        counted = self.rows[rows]
        return np.bincount(counted[counted >= 0], minlength=len(self.uniques))


class Test(NamedTuple):
    """A test of the values of a column, after some steps: all calls must be true if joined by ``&``, else any."""

    calls: tuple[Operation, ...]
    steps: tuple[Operation, ...] = ()
    joined: str = "|"


class TableColumn:
    """A column of a flat frame; `ref` is the code of its values, `role` names them, and `about` is of the catalog."""

    about = ""
    is_amount = True  # unless the frame's attrs say that its values don't add up

    def __init__(self, data: Series, at: int, about: str, keep: Keep) -> None:
        self.at = at
        self._about = about
        self._keep = keep
        self.name = self.role = short_text(data.name)
        plainer = _plainer(data)
        steps = [step("astype", plainer)] if plainer else []
        self.ref = printed(f"{FRAME}[{literal(data.name)}]", steps)
        self.data: Series = applied(data, steps)

    @cached_property
    def kind(self) -> str:
        """How values compare: number (also Python's own), date, text, other (by pandas), mixed (as texts)."""
        dtype = self.data.dtype
        if dtype.kind == "M":
            return "date"
        if dtype.kind in "iuf":
            return "number"

        values: Any = self.data
        if isinstance(dtype, pd.CategoricalDtype):
            values = self.data.cat.categories
        inferred = pd.api.types.infer_dtype(values, skipna=True)
        if inferred == "string" or isinstance(dtype, pd.StringDtype):
            return "text"

        is_object = pd.api.types.is_object_dtype(dtype)
        if dtype.kind == "c" or (is_object and inferred not in NUMBERS_OF_PYTHON):
            return "mixed"
        try:
            self._codes(by_text=False)
            if is_object:
                self.floats()
        except TROUBLE:
            return "mixed"

        return "number" if is_object else "other"

    @cached_property
    def _format(self) -> ColumnFormat:
        return format_of(self.data.rename(self.role), self._about)

    @property
    def type(self) -> str:
        if self.kind == "mixed":
            return "mixed"

        shown = self._format.type
        if self.kind == "other" and shown != "bool":
            return "text"
        return shown

    @property
    def right(self) -> bool:
        return self.type in NUMBERS

    @property
    def distinct(self) -> int:
        """The number of values that differ."""
        return len(self.codes.uniques)

    @property
    def is_time(self) -> bool:
        """Whether it has dates, or names periods."""
        return self.names_periods or self.type == "date"

    @property
    def names_periods(self) -> bool:
        if self.kind != "text" or not order_of_periods(self.data.dropna().head(1)):
            return False
        return bool(order_of_periods(self.codes.uniques))

    @property
    def adds_up(self) -> bool:
        is_number = self.type in {"money", "count", "number"}
        return self.is_amount and is_number and adds_up(self.role)

    def cell(self, value: Any) -> str | None:
        """Return a value as the table shows it; `None` if it is empty."""
        try:
            return None if is_empty(value) else self._format.text(value)
        except TROUBLE:
            return short_text(plain_text(value))

    def whole(self, rows: Any) -> str | None:
        """Return the first of some values in full; `None` if it is empty."""
        value = next(iter(self.data.iloc[rows].tolist()), None)
        if isinstance(value, dict | list | tuple | np.ndarray):
            with suppress(*TROUBLE):
                return json_text(plain(value))

        shown = self.cell(value)
        if shown is None or self.kind == "date":
            return shown
        return plain_text(value)[:_LONGEST_WHOLE]

    def copied(self, rows: Any) -> Series:
        """Return some of the values for a spreadsheet: times as they are shown, others as they are."""
        values: Series = self.data.iloc[rows]
        if self.kind == "date":
            return values.map(self.cell)
        return values

    @np.errstate(invalid="ignore")  # infinities of both signs
    def sum(self, values: Series) -> str:
        """Return the sum of some of the values, as the table shows it."""
        total: Any = 0.0
        try:
            if values.dtype.kind in "iu" and values.astype(float).abs().sum() >= 2**63:
                values = values.astype(object)  # of Python's integers, which are exact
            total = values.sum()
            if not abs(total) >= 1_000_000:  # also if it isn't a number
                return self.cell(total) or ""
            if not isinstance(total, int | np.integer):
                return with_minus(f"{total:,.0f}")
            return with_minus(f"{total:,}")
        except TROUBLE:
            return short_text(plain_text(total))

    def floats(self) -> Array:
        """Return the values as floats, times in microseconds."""
        if self.data.dtype.kind == "M":
            times = self.data.to_numpy(dtype="datetime64[us]")
            return np.where(np.isnat(times), np.nan, times.view(np.int64))

        numbers = self.data
        # Not `kind`, which calls this.
        if pd.api.types.is_object_dtype(numbers.dtype):
            numbers = numbers.map(as_float, na_action="ignore")
        return numbers.to_numpy(dtype=float, na_value=np.nan)

    @property
    def codes(self) -> Codes:
        """The codes of the values, or of their texts."""
        return self._codes(by_text=self.kind == "mixed")

    def _codes(self, *, by_text: bool) -> Codes:
        """Return the codes of the values, or of their texts if these can't be compared."""

        def make() -> Codes:
            data = self.data
            if by_text:
                texts = [
                    None if is_empty(value) else plain_text(value) for value in data
                ]
                data = pd.Series(texts, dtype=object)

            rows, values = pd.factorize(data, sort=True)
            order = []
            if data.dtype != "category":
                order = order_of_periods(values)
            of_time = order != sorted(order)
            if of_time:
                rows = np.append(np.argsort(order), -1)[rows]
                values = values[order]

            smallest = np.min_scalar_type(-len(values) - 1)
            return Codes(rows.astype(smallest), values, of_time)

        return self._keep(self.at, (self.at, by_text), make)

    def ranked(self) -> Iterator[tuple[str, int]]:
        """Yield the distinct values, as texts, with their counts: periods in order of time, others by frequency."""
        codes = self.codes
        counts = codes.counts()
        places = np.argsort(-counts, kind="stable")
        if codes.of_time:
            places.sort()
        for place in places:
            yield plain_text(codes.uniques[place]), int(counts[place])

    @property
    def of_time(self) -> bool:
        """Whether it has named periods, which are sorted by time."""
        return self.kind == "text" and self.codes.of_time

    @property
    def sort_code(self) -> str:
        """The code by which pandas sorts `values` of this column as the table does; empty if it needs none."""
        if self.kind == "mixed":
            return 'values.map(str, na_action="ignore")'
        if not self.of_time:
            return ""
        periods = list(self.codes.uniques)
        return f"pd.Categorical(values, {literal(periods)}, ordered=True)"

    def key(self, *, descending: bool) -> Array:
        """Return numbers that numpy sorts in the order of the values, with empty ones last."""
        data = self.data
        if data.dtype.kind in "iuf" and isinstance(data.dtype, np.dtype):
            values = data.to_numpy()
            if not descending:
                return values
            if values.dtype.kind == "f":
                return -values
            return ~values

        rows = self.codes.rows
        order = rows
        if descending:
            order = self.distinct - 1 - rows
        return np.where(rows < 0, self.distinct, order)

    # Filters

    def mask(self, test: Test) -> Array:
        """Return which rows pass a test: each distinct value is tested once, unless it is compared."""
        is_compared = test.joined == "&"
        values = self.data
        if not is_compared:
            values = pd.Series(self.codes.uniques)
        values = applied(values, test.steps)
        masks = [
            call(values).fillna(value=False).to_numpy(dtype=bool) for call in test.calls
        ]
        if is_compared:
            return np.logical_and.reduce(masks)  # type: ignore[no-any-return]
        any_passed = np.logical_or.reduce(masks)
        return np.append(any_passed, EMPTY in test.calls)[self.codes.rows]

    def code(self, test: Test) -> str:
        """Return the code of the mask."""
        tested = printed(self.ref, test.steps)
        texts = []
        for call in test.calls:
            values = tested
            if call == EMPTY:
                values = self.ref
            texts.append(call.code(values))

        joined = f" {test.joined} ".join(texts)
        if len(texts) == 1:
            return joined
        return f"({joined})"

    @property
    def _as_texts(self) -> tuple[Operation, ...]:
        """What makes a text of each value, and leaves out empty ones."""
        texts = step("map", str, na_action="ignore")
        if self.data.dtype == object:
            return (texts,)
        return step("astype", object), texts

    def contains(self, text: str) -> Test:
        """Test whether the texts contain a text, ignoring case."""
        if self.right:
            raise ArgumentError(
                f"{quote(self.name)} holds numbers, not texts.",
                "Filter it by a range or by values.",
            )

        # Pandas has no text methods for such a column.
        if not self.distinct:
            return self.one_of(())

        contains = step("str.contains", text, case=False, regex=False, na=False)
        if self.kind == "text":
            return Test((contains,))
        return Test((contains,), self._as_texts)

    def one_of(self, texts: Iterable[str | None]) -> Test:
        """Test whether the values are among these texts; `None` means an empty value."""
        chosen = set(texts)
        by_value = self.kind in {"number", "text"} or self.type == "bool"
        steps = () if by_value else self._as_texts
        values = applied(pd.Series(self.codes.uniques), steps)
        wanted = [value for value in values.tolist() if plain_text(value) in chosen]
        isin = step("isin", wanted)
        if None not in chosen:
            return Test((isin,), steps)
        if wanted:
            return Test((isin, EMPTY), steps)
        return Test((EMPTY,), steps)

    def within(self, low: str, high: str) -> Test:
        """Test whether the values are between two typed bounds, inclusive."""
        if self.kind == "date":
            read = self._day
            what = "From is after To"
        elif self.kind == "number":
            read = self._number
            what = "At least is above At most"
        else:
            raise ArgumentError(
                f"{quote(self.name)} has no numbers or dates.",
                "Filter it by text or by values.",
            )

        ends = ((low.strip(), ">="), (high.strip(), "<="))
        bounds = tuple(read(text, sign) for text, sign in ends if text)
        if len(bounds) == 2:
            (least,), (most,) = (bound.args for bound in bounds)
            if least > most or (least == most and bounds[1].name == "<"):
                raise ArgumentError(
                    f"{what}: {low.strip()}, {high.strip()}.",
                    "Swap them, or clear one.",
                )

        return Test(bounds, joined="&")

    def _number(self, text: str, sign: str) -> Operation:
        if _DECIMAL_COMMA.search(text):
            raise ArgumentError(
                f"{quote(text)} isn't a number.",
                "Write a decimal point, and commas between thousands.",
            )

        number = Decimal("nan")
        with suppress(InvalidOperation):
            number = Decimal(re.sub(r"[\s,_%]", "", text).replace("−", "-"))
        if number.is_nan():
            such = "2.5 %" if self.type == "percent" else "250,000 or -1.5"
            raise ArgumentError(
                f"{quote(text)} isn't a number.", f"Enter one such as {such}."
            )

        return step(sign, self._comparable(number))

    def _comparable(self, number: Decimal) -> float | Decimal:
        """Return a number as it is typed and shown, in the type of the column; a percentage as a fraction."""
        if self.type == "percent":
            number = number.scaleb(-2)
        if not number.is_finite() or abs(number.adjusted()) > 40:
            return float(number)

        is_object = self.data.dtype == object
        bits = 64 if self.data.dtype.kind == "u" else 63
        is_whole = number == number.to_integral_value()
        if is_whole and (is_object or abs(number) < 2**bits):
            return int(number)
        if is_object and any(isinstance(value, Decimal) for value in self.data):
            return number
        return float(number)

    def _day(self, text: str, sign: str) -> Operation:
        try:
            time = pd.Timestamp(text if _DAY.fullmatch(text) else "none")
            period = pd.Period(text)
        except ValueError:
            raise ArgumentError(
                f"{quote(text)} isn't a date.",
                "Enter one such as 2025-01-31 14:30, 2025-01-31 or 2025.",
            ) from None

        zone = self.data.dt.tz
        if sign == "<=" and not (self.type == "date" and period.freqstr == "D"):
            try:  # 2025 ends before 2026, and 14:30 before 14:31
                time = pd.Timestamp(str(period + 1).zfill(4))
                sign = "<"
            except ValueError:  # 9999 is the last year
                time = pd.Timestamp("9999-12-31" if zone else "9999-12-31 23:59:59")

        if zone:  # a midnight may not exist where clocks change
            time = time.tz_localize(zone, ambiguous=True, nonexistent="shift_forward")
        return step(sign, time.isoformat(sep=" ").removesuffix(" 00:00:00"))

    def searched(self, text: str) -> Test | None:
        """Test for the text of a search, if it can occur: numbers must match whole, as typed or as shown."""
        if self.kind == "date":
            if not re.fullmatch(r"(?a)[\d: -]+", text):
                return None
            shown = "%Y-%m-%d"
            if self.type != "date":
                shown += " %H:%M:%S"
            contains = step("str.contains", text, regex=False, na=False)
            return Test((contains,), (step("dt.strftime", shown),))

        if not self.right:
            possible = self.kind != "number" or re.fullmatch(r"(?ai)[\d.e+-]+", text)
            return self.contains(text) if possible else None

        typed = _TYPED.fullmatch(text.strip().replace("−", "-").replace(",", ""))
        if not typed or (typed[2] and self.type != "percent"):
            return None

        number = Decimal(typed[1])
        if self.data.dtype.kind != "f":
            return Test((step("==", self._comparable(number)),), joined="&")

        # Numbers that are shown as this one, however halves are rounded.
        decimals = len(typed[1].partition(".")[2])
        half = Decimal(5).scaleb(-decimals - 1)
        low = step(">=", self._comparable(number - half))
        high = step("<=", self._comparable(number + half))
        return Test((low, high), joined="&")

    # Summaries

    @cached_property
    def summary(self) -> Json:
        rows = max(len(self.data), 1)
        summary: Json = {
            "empty": int(self.data.isna().sum()) / rows,
            "distinct": 0,
            "minimum": "",
            "maximum": "",
            "short": ["", ""],
            "histogram": [],
            "top": [],
        }
        if self._has_range:
            return summary | self._range()

        values = self.codes.uniques[self._most]
        top = [
            {"text": self.cell(value) or "", "share": share}
            for value, share in zip(values, self.part(), strict=True)
            if share > 0
        ]
        return summary | {"distinct": self.distinct, "top": top}

    @property
    def _has_range(self) -> bool:
        return self.right or self.kind == "date"

    @cached_property
    def _most(self) -> Array:
        """The places of the most frequent values among all."""
        return np.argsort(-self.codes.counts(), kind="stable")[:_BINS]

    def _range(self) -> Json:
        present = self.data.dropna()
        if present.empty:
            return {}

        ends = present.min(), present.max()
        minimum, maximum = map(self.cell, ends)
        return {
            "minimum": minimum,
            "maximum": maximum,
            "short": [*map(self._short, ends)],
            "histogram": self.part(),
        }

    def _short(self, value: Any) -> str:
        if self.kind == "date":
            return str(value)[:10]

        number = as_float(value)
        if self.type != "percent":
            return with_minus(short_number(number))
        if is_growth(self.role):
            return with_minus(f"{number:+,.0%}")
        return with_minus(f"{number:,.0%}")

    def _bins(self) -> Codes:
        """Return the bar of the histogram that each row is in: -1 if it is in none."""

        def make() -> Codes:
            values = self.floats()
            rows = np.full(len(values), -1, np.int8)
            finite = np.isfinite(values)
            if not finite.any():
                return Codes(rows, [])

            values = values[finite] / 4  # the range must not overflow
            values -= values.min()
            size = values.max()
            bars = _BINS if size > 0 else 1
            rows[finite] = values * ((bars - 1e-9) / (size or 1))
            return Codes(rows, range(bars))

        return self._keep(self.at, (self.at, "bins"), make)

    def part(self, rows: Any = slice(None)) -> list[float]:
        """Return the heights of the histogram's bars for some rows, or the shares of the most frequent values."""
        if not self._has_range:
            shares = self.codes.counts(rows)[self._most] / len(self.data)
            return [round(share, 4) for share in shares.tolist()]

        bins = self._bins()
        heights = bins.counts(rows) / bins.counts().max(initial=1)
        heights[heights > 0] = heights[heights > 0].clip(0.002)
        return [round(height, 3) for height in heights.tolist()]

    def view(self, *, summary: bool) -> Json:
        """Return the column, as wide as its texts."""
        shown = None
        texts = [f"{self.name[:14]}     ", *map(self.cell, self.data.head(FIRST_ROWS))]
        if summary:
            shown = self.summary
            texts += [shown["minimum"], shown["maximum"]]
            texts += [value["text"] for value in shown["top"]]
            if self.kind == "date":
                texts.append("2025-12 – 2025-12")
            elif self.type in {"money", "count"}:
                # A sum that is cut would look like another number.
                texts.append(f"{self.sum(self.data)} ")

        # Capital letters are wide.
        longest = max(
            len(text) + sum(map(str.isupper, text)) / 5 for text in texts if text
        )
        widest = _WIDEST_TIME if self.kind == "date" else _WIDEST
        width = round(min(widest, max(_NARROWEST, 18 + _CHARACTER * longest)))
        return {
            "at": self.at,
            "name": self.name,
            "said": self.about,
            "type": self.type,
            "width": width,
            "summary": shown,
        }


def total_facts(columns: Sequence[TableColumn], rows: Any) -> Facts:
    """Return the sum, mean and range of the numbers of columns of one type, computed exactly."""
    present = (column.data.iloc[rows].dropna() for column in columns)
    values = [numbers for numbers in present if len(numbers)]
    facts: dict[str, Any] = {}
    try:
        exact = sum(map(_exact_sum, values), Fraction())
        if all(column.adds_up for column in columns):
            facts["sum"] = float(exact)
            if exact.denominator == 1:
                facts["sum"] = int(exact)
        facts["mean"] = float(exact / sum(map(len, values)))
        facts["min"] = min(map(pd.Series.min, values))
        facts["max"] = max(map(pd.Series.max, values))
    except TROUBLE:  # no values, or infinite ones
        return []

    first = columns[0]
    brief = first.cell if first.type == "percent" else short_number
    return [
        (name, brief(float(fact)) or "", first.cell(fact) or "")
        for name, fact in facts.items()
    ]


def _exact_sum(numbers: Series) -> Fraction:
    add = math.fsum if numbers.dtype.kind == "f" else sum
    return Fraction(add(numbers.tolist()))


def plain_text(value: Any) -> str:
    try:
        return str(value)
    except TROUBLE:
        return f"<{type(value).__name__}>"


def _plainer(data: Series) -> Any:
    """Return a simpler type for values of Arrow and whole identifiers; empty if the column needs none."""
    dtype: Any = data.dtype
    if isinstance(dtype, pd.ArrowDtype):
        if dtype.kind == "m":
            return ""
        if dtype.kind != "M":
            return _OF_ARROW.get(dtype.kind, "object")
        unit = getattr(dtype.pyarrow_dtype, "unit", "s")
        if zone := getattr(dtype.pyarrow_dtype, "tz", None):
            unit = f"{unit}, {zone}"
        return f"datetime64[{unit}]"

    if isinstance(dtype, np.dtype) and dtype.kind == "f" and is_identifier(data.name):
        present = data.dropna()
        if (present % 1 == 0).all() and present.abs().max() < 2**53:
            return "Int64"

    return ""

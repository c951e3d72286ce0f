"""A column of a table: how its values compare, how they are written, and what a row must pass, the same as code."""

from __future__ import annotations

import datetime as dt
import math
import re
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property, partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.text import quote
from jupyter_funcs.frames.display import MONEY, format_of, number_pattern, short_text
from jupyter_funcs.frames.roles import adds_up, as_float, is_growth, is_key, words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]
    Held = Callable[[object, Callable[[], Any], Callable[[Any], int]], Any]  # what is held under a key, or made
    Bound = tuple[str, Any, str]  # operator, value, and the value as code

_BINS = 24
_WIDEST, _NARROWEST, _CHARACTER = 220, 72, 6.9  # pixels
_NUMBERS = {"money", "count", "number", "percent"}
_OBJECTS = {"integer", "decimal", "floating", "mixed-integer-float"}
_DAY = re.compile(r"(\d{4})(?:-(\d\d?)(?:-(\d\d?)(?:[ T](\d\d?):(\d\d)(?::(\d\d(?:\.\d{1,6})?))?)?)?)?", re.ASCII)
_TYPED = re.compile(r"([+-]?(?:\d{1,40}\.?\d{0,12}|\.\d{1,12}))(%?)", re.ASCII)


@dataclass(frozen=True, slots=True)
class RowTest:
    """What a row must pass, and the same as code."""

    code: str
    mask: Callable[[], Mask]


class TableColumn:
    """A column, or a level of the index, of a frame."""

    def __init__(self, frame: pd.DataFrame, at: int, levels: int, about: str, held: Held) -> None:
        self.at, self._about, self._held, self._level = at, about, held, at < levels
        self._place = at if self._level else at - levels
        if self._level:
            label = frame.index.names[at] if frame.index.names[at] is not None else "index"
            self.data = pd.Series(frame.index.get_level_values(at)).reset_index(drop=True)
        else:
            label = frame.columns[self._place]
            self.data = frame.iloc[:, self._place]
        self.name = short_text(" ".join(map(str, label)) if isinstance(label, tuple) else label)
        # The label, where it alone names the column in code.
        self.label = ""
        if not self._level and isinstance(label, str) and label not in frame.index.names:
            self.label = _literal(label) * (list(frame.columns).count(label) == 1)

    def code(self, name: str) -> str:
        """Return the code of the column of a frame with this name."""
        if self._level:
            return f"{name}.index.get_level_values({self._place}).to_series(index={name}.index)"
        return f"{name}[{self.label}]" if self.label else f"{name}.iloc[:, {self._place}]"

    @cached_property
    def kind(self) -> str:
        """How values compare: number, objects (numbers of Python), date, text, other (by pandas), mixed (as texts)."""
        dtype = self.data.dtype
        if dtype.kind in "iuf" and not isinstance(dtype, pd.CategoricalDtype):
            return "number"
        if isinstance(dtype, np.dtype | pd.DatetimeTZDtype) and dtype.kind == "M":
            return "date"
        values = self.data.cat.categories if isinstance(dtype, pd.CategoricalDtype) else self.data
        found = pd.api.types.infer_dtype(values, skipna=True)
        if found == "string" or isinstance(dtype, pd.StringDtype):
            return "text"
        objects = pd.api.types.is_object_dtype(dtype)
        if dtype.kind == "c" or (objects and found not in _OBJECTS):
            return "mixed"
        try:
            self._factorized(mixed=False)
        except (TypeError, ValueError, ArithmeticError, NotImplementedError):  # values that can't be compared
            return "mixed"
        return "objects" if objects else "other"

    @cached_property
    def type(self) -> str:
        return self._format[0]

    @property
    def right(self) -> bool:
        return self.type in _NUMBERS

    @property
    def adds_up(self) -> bool:
        return self.type in {"money", "count", "number"} and adds_up(self.name)

    @cached_property
    def _format(self) -> tuple[str, Callable[[Any], str]]:
        if self.kind in {"number", "objects"}:
            return self._number_format()
        text = format_of(self.data, self._about).text
        if self.kind == "date":
            known = self.data.dropna()
            of_days = known.dt.tz is None and bool((known == known.dt.normalize()).all())
            return "date" if of_days else "datetime", text
        if pd.api.types.is_bool_dtype(self.data.dtype):
            return "bool", text
        if self.kind == "mixed":
            return "mixed", text
        return "id" if self.kind == "text" and is_key(self.name) else "text", text

    def _number_format(self) -> tuple[str, Callable[[Any], str]]:
        if self.kind == "objects":
            return "number", format_of(self.data, self._about).text
        floats = pd.Series(self.floats(), name=self.name)
        pattern = number_pattern(floats, self._about)
        if pattern.endswith("%}"):
            return "percent", lambda value: f"{value:+,.1%}".replace("-", "−")
        whole = self.data.dtype.kind in "iu"
        if pattern == "{:.0f}":
            return "id", (str if whole else pattern.format)
        if not MONEY.isdisjoint(words(self.name)) and not is_growth(self.name):
            return "money", ("{:,}" if whole else "{:,.2f}").format
        kind = "count" if whole or pattern == "{:,.0f}" else "number"
        return kind, ("{:,}" if whole else pattern).format

    def cell(self, value: Any) -> str | None:
        """Return a value as it is shown; `None` if it is empty."""
        return None if is_empty(value) else short_text(self._format[1](value))

    def floats(self) -> NDArray[np.float64]:
        """Return the numbers as floats."""
        if self.kind == "objects":
            return self.data.map(as_float, na_action="ignore").to_numpy(dtype=float, na_value=np.nan)
        return self.data.to_numpy(dtype=float, na_value=np.nan)

    def factorized(self) -> tuple[NDArray[Any], Any]:
        """Return the place of each value among the sorted distinct ones (-1 if empty), and these."""
        return self._factorized(mixed=self.kind == "mixed")

    def _factorized(self, *, mixed: bool) -> tuple[NDArray[Any], Any]:
        def make() -> tuple[NDArray[Any], Any]:
            if isinstance(self.data.dtype, pd.CategoricalDtype):
                return self.data.cat.codes.to_numpy(), self.data.cat.categories
            values: Any = self.data
            if mixed:
                values = np.empty(len(self.data), dtype=object)
                values[:] = [None if is_empty(each) else plain_text(each) for each in self.data]
            codes, found = pd.factorize(values, sort=True)
            return codes.astype(np.min_scalar_type(-len(found) - 1)), found

        def size(made: tuple[NDArray[Any], Any]) -> int:
            return made[0].nbytes + 8 * len(made[1])

        found: tuple[NDArray[Any], Any] = self._held(("codes", self.at), make, size)
        return found

    def key(self, *, descending: bool) -> NDArray[Any]:
        """Return numbers that sort as the values do, with the empty ones last."""
        kind, data = self.kind, self.data
        key: NDArray[Any]
        if kind == "number" and isinstance(data.dtype, np.dtype):
            values = data.to_numpy()
            if values.dtype.kind == "f":
                return -values if descending else values
            key = ~values if descending else values
        elif kind == "date":
            naive = data if getattr(data.dtype, "tz", None) is None else data.dt.tz_convert(None)
            times = naive.to_numpy().view(np.int64)
            key = ~times if descending else times - 1  # either makes the lowest number, which is NaT, the highest
        else:
            codes, found = self.factorized()
            codes = codes.astype(np.min_scalar_type(-len(found) - 1))
            key = np.where(codes < 0, len(found), len(found) - 1 - codes if descending else codes)
        if len(key) and int(key.max()) - int(key.min()) < 2**16:
            key = np.subtract(key, key.min(), dtype=np.int64).astype(
                np.uint16
            )  # numpy sorts short numbers ten times as fast
        return key

    def where(self, test: Callable[[Any], Any]) -> Mask:
        """Return where the values are that pass a test of the distinct ones; no empty value passes."""
        codes, found = self.factorized()
        passed: Mask = np.append(np.asarray(test(found), dtype=bool), False)[codes]
        return passed

    def texts_where(self, test: Callable[[str], bool]) -> Mask:
        """Return where the texts of values pass a test."""
        if self.kind == "objects" or self.data.dtype.kind == "f":  # equal numbers may have several texts: 1.0, 1.00
            return np.fromiter(
                (not is_empty(each) and test(plain_text(each)) for each in self.data), bool, len(self.data)
            )
        return self.where(lambda found: [test(plain_text(each)) for each in found])

    # The tests

    def contains(self, text: str, ref: str) -> RowTest:
        """Test whether the texts contain this one, in any case."""
        if self.kind == "text":
            options = {"case": False, "regex": False, "na": False}
            code = f"{ref}.str.contains({_literal(text)}, case=False, regex=False, na=False)"
            return RowTest(
                code,
                lambda: self.where(lambda found: pd.Series(found, dtype=found.dtype).str.contains(text, **options)),
            )
        folded = text.casefold()
        inside = f"{_literal(folded)} in str(value).casefold()"
        return RowTest(self._mapped(inside, ref), lambda: self.texts_where(lambda each: folded in each.casefold()))

    def _mapped(self, test: str, ref: str) -> str:
        objects = "" if isinstance(self.data.dtype, np.dtype) else ".astype(object)"
        return f"({ref}{objects}.map(lambda value: {test}) & {ref}.notna())"

    def one_of(self, texts: Sequence[str | None], ref: str) -> RowTest:
        """Test whether the values are among these texts; `None` is an empty value."""
        wanted = sorted({each for each in texts if each is not None})
        chosen = set(wanted)
        mask: Callable[[], Mask]
        if self.kind == "text":
            code, mask = f"{ref}.isin({_listed(wanted)})", lambda: self.where(lambda found: found.isin(wanted))
        elif self.data.dtype.kind in "iub":
            values = [each for each in self.factorized()[1].tolist() if str(each) in chosen]
            code, mask = f"{ref}.isin({values!r})", lambda: self.where(lambda found: found.isin(values))
        else:
            code = self._mapped(f"str(value) in {_listed(wanted)}", ref)
            mask = partial(self.texts_where, chosen.__contains__)
        if None not in texts:
            return RowTest(code, mask)
        empty = self.data.isna().to_numpy()
        return RowTest(f"({code} | {ref}.isna())" if chosen else f"{ref}.isna()", lambda: mask() | empty)

    def within(self, low: str, high: str, ref: str) -> RowTest:
        """Test whether the values lie between two texts as they were typed, both included."""
        if self.kind not in {"number", "objects", "date"}:
            raise ArgumentError(f"{quote(self.name)} has no numbers or dates.", "Filter it by text or by values.")
        find = self._day if self.kind == "date" else self._number
        bounds = [find(text, last=last) for text, last in ((low, False), (high, True)) if text.strip()]
        return self._compared(bounds, ref)

    def _compared(self, bounds: list[Bound], ref: str) -> RowTest:
        known = ".fillna(False)" * isinstance(self.data.dtype, pd.ArrowDtype)  # its NA is taken by no mask
        code = " & ".join(f"({ref} {operator} {literal}){known}" for operator, _, literal in bounds)

        def mask() -> Mask:
            masks = [_mask(_compare(self.data, operator, value)) for operator, value, _ in bounds]
            return reduce(np.logical_and, masks)

        return RowTest(code if len(bounds) == 1 else f"({code})", mask)

    def _number(self, text: str, *, last: bool) -> Bound:
        operator = "<=" if last else ">="
        try:
            number = Decimal(re.sub(r"[\s,_%]", "", text).replace("−", "-"))
        except InvalidOperation:
            number = Decimal("nan")
        if number.is_nan():
            raise ArgumentError(f"{quote(text)} isn't a number.", "Enter one such as 250,000 or -1.5.")
        if self.type == "percent":
            number = number.scaleb(-2)
        return (operator, *self._literal_number(number))

    def _literal_number(self, number: Decimal) -> tuple[Any, str]:
        if not number.is_finite() or abs(number.adjusted()) > 40:
            value = float(number)
            return value, repr(value) if math.isfinite(value) else f'float("{value}")'
        if number == number.to_integral_value() and (abs(number) < 2**63 or self.kind == "objects"):
            return int(number), repr(int(number))
        if self.kind == "objects" and any(isinstance(each, Decimal) for each in self.data):
            return number, f'Decimal("{number}")'
        return float(number), repr(float(number))

    def _day(self, text: str, *, last: bool) -> Bound:
        found = _DAY.fullmatch(text.strip())
        try:
            year, month, day, hour, minute, second = found.groups() if found else [""] * 6  # which is no number
            start = dt.datetime.combine(dt.date(int(year), int(month or 1), int(day or 1)), dt.time())
            start += dt.timedelta(hours=int(hour or 0), minutes=int(minute or 0), seconds=float(second or 0))
        except ValueError:
            raise ArgumentError(f"{quote(text)} isn't a date.", "Enter one such as 2025-01-31, or 2025.") from None
        if last and not (self.type == "date" and day):
            days = 1 if day else 31 if month else 366
            step = dt.timedelta(days=days) if not hour else dt.timedelta(seconds=1 if second else 60)
            with suppress(OverflowError):
                end = start + step  # 2025 ends before 2026, and 14:30 before 14:31
                end = end if day else end.replace(day=1) if month else end.replace(month=1, day=1)
                return self._bound("<", end)
        return self._bound("<=" if last else ">=", start)

    def _bound(self, operator: str, time: dt.datetime) -> Bound:
        text = time.isoformat(sep=" ").removesuffix(" 00:00:00")
        return operator, text, _literal(text)

    def found(self, text: str, ref: str) -> RowTest | None:
        """Test for a text that is searched in all columns: numbers are found whole, as typed or as shown."""
        if self.kind == "date":
            return self._found_day(text, ref) if re.fullmatch(r"[\d: -]+", text, re.ASCII) else None
        if not self.right:
            possible = self.kind != "number" or re.fullmatch(r"[\d.e+-]+", text, re.ASCII | re.IGNORECASE)
            return self.contains(text, ref) if possible else None
        typed = _TYPED.fullmatch(text.strip().replace("−", "-").replace(",", ""))
        percent = self.type == "percent"
        if typed is None or (typed[2] and not percent):
            return None
        number, places = Decimal(typed[1]), len(typed[1].partition(".")[2])
        if self.data.dtype.kind != "f":
            return self._compared([("==", *self._literal_number(number))], ref)
        half = Decimal(5).scaleb(-places - 1)  # what is shown as this number, however halves are rounded
        low, high = ((each.scaleb(-2) if percent else each) for each in (number - half, number + half))
        return self._compared([(">=", *self._literal_number(low)), ("<=", *self._literal_number(high))], ref)

    def _found_day(self, text: str, ref: str) -> RowTest:
        shown = "%Y-%m-%d" if self.type == "date" else "%Y-%m-%d %H:%M:%S"
        code = f"{ref}.dt.strftime({_literal(shown)}).str.contains({_literal(text)}, regex=False, na=False)"
        return RowTest(code, lambda: self.where(lambda days: [text in each for each in days.strftime(shown)]))

    # What is said of all its values

    @cached_property
    def summary(self) -> dict[str, Any]:
        empty = float(self.data.isna().mean()) if len(self.data) else 0.0
        said: dict[str, Any] = {"empty": empty, "distinct": 0, "minimum": "", "maximum": "", "short": ["", ""]}
        said |= {"histogram": [], "top": []}
        if self.right or self.kind == "date":
            return said | self._range()
        codes, found = self.factorized()
        counts = np.bincount(codes[codes >= 0], minlength=len(found))
        top = np.argsort(-counts, kind="stable")[:_BINS]
        shares = [{"text": self.cell(found[at]) or "", "share": round(counts[at] / len(codes), 4)} for at in top]
        return said | {"distinct": int((counts > 0).sum()), "top": [each for each in shares if each["share"] > 0]}

    def _range(self) -> dict[str, Any]:
        known = self.data.dropna()
        if known.empty:
            return {}
        low, high = known.min(), known.max()
        if self.kind == "date":
            values = known.to_numpy(dtype="datetime64[us]").view(np.int64).astype(float)
            short = [str(low)[:10], str(high)[:10]]
        else:
            values = self.floats()
            values = values[np.isfinite(values)]
            short = [_short(as_float(each), percent=self.type == "percent") for each in (low, high)]
        return {
            "minimum": self.cell(low),
            "maximum": self.cell(high),
            "short": short,
            "histogram": _histogram(values),
        }

    def view(self, cells: Sequence[str | None], *, summary: bool) -> dict[str, Any]:
        """Return the column's name, type, first width and summary."""
        said = self.summary if summary else None
        texts = [each or "" for each in cells]
        texts += [said["minimum"], said["maximum"]] if said else []
        texts += [each["text"] for each in said["top"]] if said else []
        longest = max([min(len(self.name), 16), *map(len, texts)])
        width = round(min(_WIDEST, max(_NARROWEST, 18 + _CHARACTER * longest)))
        return {"at": self.at, "name": self.name, "type": self.type, "width": width, "summary": said}


def is_empty(value: Any) -> bool:
    return pd.api.types.is_scalar(value) and bool(pd.isna(value))


def plain_text(value: Any) -> str:
    try:
        return str(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, or nested too deeply
        return f"<{type(value).__name__}>"


def _mask(found: Any) -> Mask:
    is_plain = isinstance(found.dtype, np.dtype)
    mask: Mask = found.to_numpy() if is_plain else found.to_numpy(dtype=bool, na_value=False)
    return mask


def _compare(data: Any, operator: str, value: Any) -> Any:
    if operator == ">=":
        return data >= value
    if operator == "<=":
        return data <= value
    return data < value if operator == "<" else data == value


def _literal(text: str) -> str:
    quoted = repr(text)
    return f'"{quoted[1:-1]}"' if quoted[0] == "'" and '"' not in quoted else quoted


def _listed(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(_literal, texts))}]"


def _short(value: float, *, percent: bool) -> str:
    """Return a number for the end of an axis: 124k, 62.5, +72%."""
    if percent:
        return f"{value:+,.0%}".replace("-", "−")
    for unit in ("", "k", "M", "B", "T"):
        if abs(value) < 999.5:
            return f"{value:.3g}{unit}".replace("-", "−")
        value /= 1000
    return f"{value * 1e12:.3g}"


def _histogram(values: NDArray[np.float64]) -> list[float]:
    """Return the heights of the bars, 0 to 1."""
    if not len(values):
        return []
    low, high = float(values.min()) / 4, float(values.max()) / 4  # their difference must not overflow
    if high <= low:
        return [1.0]
    places = ((values / 4 - low) * ((_BINS - 1e-9) / (high - low))).astype(np.int16)
    counts = np.bincount(places, minlength=_BINS)
    return [round(max(each, 0.002), 3) if each else 0.0 for each in (counts / counts.max()).tolist()]

"""The table of a result: sorted, filtered and searched over all rows, shown a window at a time; the same as code."""

from __future__ import annotations

import datetime as dt
import math
import re
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.core.text import quote
from jupyter_funcs.frames.display import MONEY, format_of, number_pattern, short_text
from jupyter_funcs.frames.export import cell_text, unarmed
from jupyter_funcs.frames.roles import adds_up, as_float, has_labels, is_growth, is_key, words
from jupyter_funcs.panel.requests import OneOf, Range, TableQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from jupyter_funcs.panel.requests import Filter

    Mask = NDArray[np.bool_]
    Positions = NDArray[np.uint32] | None  # of rows, in the order of the view; `None` is all of them as they are
    Bound = tuple[str, Any, str]  # operator, value, and the value as code

FIRST_COLUMNS = 60
FIRST_ROWS = 40
_MOST_CELLS = 50_000  # of a page
_MOST_VALUES = 200  # in the filter box
_LONGEST_VALUE = 1_000  # characters; a longer one can't be picked from a list
_LONGEST_COPY = 5_000_000  # characters
_SUMMARIZED = 10_000_000  # cells that are read for the first view; later columns are summarized when they are seen
_BINS = 24
_WIDEST, _NARROWEST, _CHARACTER = 220, 72, 6.9  # pixels
_NUMBERS = {"money", "count", "number", "percent"}
_OBJECTS = {"integer", "decimal", "floating", "mixed-integer-float"}
_DAY = re.compile(r"(\d{4})(?:-(\d\d?)(?:-(\d\d?)(?:[ T](\d\d?):(\d\d)(?::(\d\d(?:\.\d{1,6})?))?)?)?)?", re.ASCII)
_TYPED = re.compile(r"([+-]?(?:\d{1,40}\.?\d{0,12}|\.\d{1,12}))(%?)", re.ASCII)
_AGAIN = "Run the function again to see it."


@dataclass(frozen=True, slots=True)
class _RowTest:
    """What a row must pass, and the same as code."""

    code: str
    mask: Callable[[], Mask]


class _Latest:
    """The latest results, up to a number of bytes; the last one stays whatever its size."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: OrderedDict[object, tuple[Any, int]] = OrderedDict()
        self._lock = threading.RLock()  # one computation at a time: each takes memory, and several may ask for the same

    def get(self, key: object, make: Callable[[], Any], size: Callable[[Any], int]) -> Any:
        with self._lock, np.errstate(all="ignore"):  # infinities may be summed and rounded
            if key not in self._held:
                made = make()
                self._held[key] = made, size(made)
                while len(self._held) > 1 and sum(size for _, size in self._held.values()) > self._limit:
                    self._held.popitem(last=False)
            self._held.move_to_end(key)
            return self._held[key][0]


class _TableColumn:
    """A column, or a level of the index, of a frame."""

    def __init__(self, frame: pd.DataFrame, at: int, levels: int, about: str, cache: _Latest) -> None:
        self.at, self._about, self._cache, self._level = at, about, cache, at < levels
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
        return None if _is_empty(value) else short_text(self._format[1](value))

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
                values[:] = [None if _is_empty(each) else _plain(each) for each in self.data]
            codes, found = pd.factorize(values, sort=True)
            return codes.astype(np.min_scalar_type(-len(found) - 1)), found

        def size(made: tuple[NDArray[Any], Any]) -> int:
            return made[0].nbytes + 8 * len(made[1])

        found: tuple[NDArray[Any], Any] = self._cache.get(("codes", self.at), make, size)
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
            return np.fromiter((not _is_empty(each) and test(_plain(each)) for each in self.data), bool, len(self.data))
        return self.where(lambda found: [test(_plain(each)) for each in found])

    # The tests

    def contains(self, text: str, ref: str) -> _RowTest:
        """Test whether the texts contain this one, in any case."""
        if self.kind == "text":
            options = {"case": False, "regex": False, "na": False}
            code = f"{ref}.str.contains({_literal(text)}, case=False, regex=False, na=False)"
            return _RowTest(
                code,
                lambda: self.where(lambda found: pd.Series(found, dtype=found.dtype).str.contains(text, **options)),
            )
        folded = text.casefold()
        inside = f"{_literal(folded)} in str(value).casefold()"
        return _RowTest(self._mapped(inside, ref), lambda: self.texts_where(lambda each: folded in each.casefold()))

    def _mapped(self, test: str, ref: str) -> str:
        objects = "" if isinstance(self.data.dtype, np.dtype) else ".astype(object)"
        return f"({ref}{objects}.map(lambda value: {test}) & {ref}.notna())"

    def one_of(self, texts: Sequence[str | None], ref: str) -> _RowTest:
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
            mask = lambda: self.texts_where(chosen.__contains__)  # noqa: E731
        if None not in texts:
            return _RowTest(code, mask)
        empty = self.data.isna().to_numpy()
        return _RowTest(f"({code} | {ref}.isna())" if chosen else f"{ref}.isna()", lambda: mask() | empty)

    def within(self, low: str, high: str, ref: str) -> _RowTest:
        """Test whether the values lie between two texts as they were typed, both included."""
        if self.kind not in {"number", "objects", "date"}:
            raise ArgumentError(f"{quote(self.name)} has no numbers or dates.", "Filter it by text or by values.")
        find = self._day if self.kind == "date" else self._number
        bounds = [find(text, last=last) for text, last in ((low, False), (high, True)) if text.strip()]
        return self._compared(bounds, ref)

    def _compared(self, bounds: list[Bound], ref: str) -> _RowTest:
        known = ".fillna(False)" * isinstance(self.data.dtype, pd.ArrowDtype)  # its NA is taken by no mask
        code = " & ".join(f"({ref} {operator} {literal}){known}" for operator, _, literal in bounds)

        def mask() -> Mask:
            masks = [_mask(_compare(self.data, operator, value)) for operator, value, _ in bounds]
            return reduce(np.logical_and, masks)

        return _RowTest(code if len(bounds) == 1 else f"({code})", mask)

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

    def found(self, text: str, ref: str) -> _RowTest | None:
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
        rounded = f"({ref} * 100)" if percent else ref
        code = f"({rounded}.round({places}) == {float(number)!r})"
        return _RowTest(code, lambda: _mask((self.data * 100 if percent else self.data).round(places) == float(number)))

    def _found_day(self, text: str, ref: str) -> _RowTest:
        shown = "%Y-%m-%d" if self.type == "date" else "%Y-%m-%d %H:%M:%S"
        code = f"{ref}.dt.strftime({_literal(shown)}).str.contains({_literal(text)}, regex=False, na=False)"
        return _RowTest(code, lambda: self.where(lambda days: [text in each for each in days.strftime(shown)]))

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


class TableView:
    """A frame as a table. All methods may be called from any thread, and give plain JSON."""

    def __init__(self, frame: pd.DataFrame, about: str = "") -> None:
        # With copy-on-write a shallow copy keeps what the result was, at no cost. Before pandas 3 the user's changes
        # come through to it: copying every result would double its memory, so a sample says that it has changed.
        self._frame = frame.copy(deep=False)
        self._about = about
        self._levels = frame.index.nlevels if has_labels(frame) else 0
        self.rows, self.count = len(frame), self._levels + frame.shape[1]
        self._cache = _Latest(max(16_000_000, 16 * self.rows))  # four orders
        self._columns: dict[int, _TableColumn] = {}
        self._keeps = int(pd.__version__.partition(".")[0]) >= 3
        self._sample = "" if self._keeps else self._sampled()

    def view(self) -> dict[str, Any]:
        """Return the size, the first columns, and the first page."""
        first = list(range(min(self.count, FIRST_COLUMNS)))
        page = self.page(TableQuery(), 0, min(FIRST_ROWS, self.rows), first)
        read = _SUMMARIZED // max(self.rows, 1)
        columns = [
            self._column(at).view([row[at] for row in page["rows"]], summary=place < read)
            for place, at in enumerate(first)
        ]
        return {"rows": self.rows, "count": self.count, "columns": columns, "page": page}

    def columns(self, columns: Sequence[int]) -> list[dict[str, Any]]:
        """Return what there is to say of some columns, with their summaries."""
        if len(columns) > FIRST_COLUMNS:
            raise ArgumentError(f"{len(columns):,} columns are too many at once.", f"Ask for {FIRST_COLUMNS} at most.")
        chosen = [self._column(at) for at in columns]
        return [each.view([each.cell(value) for value in each.data.head(FIRST_ROWS)], summary=True) for each in chosen]

    def page(self, query: TableQuery, first: int, end: int, columns: Sequence[int]) -> dict[str, Any]:
        """Return the shown texts of some rows and columns, and the sums over all rows of the view."""
        chosen = [self._column(at) for at in columns]
        rows, total = self._window(query, first, end)
        if len(rows) * len(chosen) > _MOST_CELLS:
            raise ArgumentError(f"{len(rows) * len(chosen):,} cells are too many.", f"Ask for {_MOST_CELLS:,} at most.")
        cells = [[each.cell(value) for value in each.data.iloc[rows]] for each in chosen]
        texts = [list(row) for row in zip(*cells, strict=True)] if chosen else [[] for _ in rows]
        sums = {str(each.at): self._sum(query, each) for each in chosen if each.adds_up}
        return {"total": total, "from": first, "columns": list(columns), "rows": texts, "sums": sums}

    def values(self, at: int, query: str) -> dict[str, Any]:
        """Return the most frequent values of a column whose text contains this one, with their counts."""
        column = self._column(at)
        codes, found = column.factorized()
        counts = np.bincount(codes.astype(np.int64) + 1, minlength=len(found) + 1)
        wanted, listed = query.casefold(), list[dict[str, Any]]()
        texts = {place: _plain(found[place]) for place in np.flatnonzero(counts[1:]).tolist()}
        hits = [place for place, text in texts.items() if wanted in text.casefold() and len(text) <= _LONGEST_VALUE]
        if counts[0] and not query:
            listed.append({"text": None, "count": int(counts[0])})
        hits.sort(key=lambda place: -counts[place + 1])
        listed += [{"text": texts[place], "count": int(counts[place + 1])} for place in hits[:_MOST_VALUES]]
        return {"values": listed, "total": len(hits)}

    def text(self, query: TableQuery, first: int, end: int, columns: Sequence[int]) -> str:
        """Return a selection as text with tabs, numbers as exact as they are."""
        chosen = [self._column(at) for at in columns]
        rows, _ = self._window(query, first, end)
        lines, length = list[str](), 0
        for start in range(0, len(rows), 500):
            block = [[_copied(each, value) for value in each.data.iloc[rows[start : start + 500]]] for each in chosen]
            lines += ["\t".join(row) for row in zip(*block, strict=True)]
            length += sum(map(len, lines[start:]))
            if length > _LONGEST_COPY:
                raise ArgumentError("The selection is more than 5 MB of text.", "Select less, or save it as a file.")
        return "\n".join(lines)

    def code(self, query: TableQuery, name: str) -> str:
        """Return the view as code of pandas, whose last line is the view of the frame with this name."""
        lines = list[str]()
        if not name.isidentifier():
            lines, name = [f"df = {name}"], "df"
        if not self.rows:
            return "\n".join([*lines, name])
        tests = [test.code for test in self._tests(query, name)]
        view = name
        if len(" & ".join(tests)) > 80:
            lines += ["rows = (", *(f"    {'& ' * (at > 0)}{test}" for at, test in enumerate(tests)), ")"]
            view = f"{name}[rows]"
        elif tests:
            test = " & ".join(tests)
            view = f"{name}[{test}]"
        columns = [self._column(each.at) for each in query.sort]
        if columns and all(each.label and each.kind != "mixed" for each in columns):
            by = [each.label for each in columns]
            up = [str(not each.descending) for each in query.sort]
            order = f"[{', '.join(by)}], ascending=[{', '.join(up)}]" if len(by) > 1 else f"{by[0]}, ascending={up[0]}"
            view += f'.sort_values({order.replace(", ascending=True", "")}, kind="stable")'
        elif columns:
            lines.append(f"view = {view}")
            for column, sort in zip(reversed(columns), reversed(query.sort), strict=True):
                texts = ', key=lambda values: values.map(str, na_action="ignore")' * (column.kind == "mixed")
                order = f'ascending={not sort.descending}, kind="stable"{texts}'
                lines.append(f"order = {column.code('view')}.reset_index(drop=True).sort_values({order}).index")
                lines.append("view = view.iloc[order]")
            view = "view"
        needed = {"Decimal(": "from decimal import Decimal", "pd.Series(": "import pandas as pd"}
        imports = [line for call, line in needed.items() if any(call in test for test in tests)]
        return "\n".join([*imports, *lines, view])

    def frame(self, query: TableQuery) -> pd.DataFrame:
        """Return the rows of a view in its order, as a frame."""
        rows = self.positions(query)
        return self._frame if rows is None else self._frame.iloc[rows]

    # The order and the tests

    def _column(self, at: int) -> _TableColumn:
        if not 0 <= at < self.count:
            raise ArgumentError(f"There is no column {at:,}: the table has {self.count:,}.", "Count them from 0.")
        if at not in self._columns:
            self._columns[at] = _TableColumn(self._frame, at, self._levels, self._about, self._cache)
        return self._columns[at]

    def _window(self, query: TableQuery, first: int, end: int) -> tuple[Any, int]:
        rows = self.positions(query)
        total = self.rows if rows is None else len(rows)
        if not 0 <= first <= min(end, total):
            raise ArgumentError(f"There are no rows {first:,} to {end:,}: the view has {total:,}.", "Scroll up.")
        end = min(end, total)
        return (np.arange(first, end) if rows is None else rows[first:end]), total

    def positions(self, query: TableQuery) -> Positions:
        """Return which rows a view shows, in its order; `None` for all of them as they are."""
        if not self._keeps and self._sample != self._sampled():
            raise ArgumentError("The DataFrame has changed since the run.", _AGAIN)
        if not (query.sort or query.filters or query.find) or not self.rows:
            return None

        def make() -> Positions:
            order = self._cache.get(("order", repr(query.sort)), lambda: self._order(query), _bytes)
            masks = [test.mask() for test in self._tests(query, "df")]
            if not masks:
                return order  # type: ignore[no-any-return]
            mask = reduce(np.logical_and, masks)
            return (np.flatnonzero(mask) if order is None else order[mask[order]]).astype(np.uint32)

        rows: Positions = self._cache.get(("rows", repr(query)), make, _bytes)
        return rows

    def _order(self, query: TableQuery) -> Positions:
        order: Positions = None
        for each in reversed(query.sort):
            key = self._column(each.at).key(descending=each.descending)
            places = np.argsort(key if order is None else key[order], kind="stable")
            order = (places if order is None else order[places]).astype(np.uint32)
        return order

    def _tests(self, query: TableQuery, name: str) -> Iterator[_RowTest]:
        for each in query.filters:
            test = self._test(each, name)
            if test is not None:
                yield test
        if query.find:
            found = [self._column(at) for at in range(self.count)]
            tests = [test for column in found if (test := column.found(query.find, column.code(name))) is not None]
            if not tests:  # no column can hold it
                tests = [_RowTest(f"pd.Series(False, index={name}.index)", lambda: np.zeros(self.rows, dtype=bool))]
            code = " | ".join(test.code for test in tests)
            yield _RowTest(
                f"({code})" if len(tests) > 1 else code, lambda: reduce(np.logical_or, [t.mask() for t in tests])
            )

    def _test(self, each: Filter, name: str) -> _RowTest | None:
        column = self._column(each.at)
        ref = column.code(name)
        if isinstance(each, Range):
            return column.within(each.low, each.high, ref) if each.low.strip() or each.high.strip() else None
        if isinstance(each, OneOf):
            return column.one_of(each.values, ref)
        return column.contains(each.text, ref) if each.text else None

    def _sum(self, query: TableQuery, column: _TableColumn) -> str:
        def make() -> str:
            rows = self.positions(query)
            values = column.data if rows is None else column.data.iloc[rows]
            if values.dtype.kind in "iu":
                known = values.dropna().to_numpy(dtype="uint64" if values.dtype.kind == "u" else "int64")
                total: Any = (int((known >> 32).sum()) << 32) + int((known & 0xFFFFFFFF).sum())  # exact beyond 64 bits
            else:
                total = values.sum()
            whole = abs(total) >= 1_000_000
            return f"{total:,.0f}" if whole else column.cell(total) or ""

        return str(self._cache.get(("sum", column.at, repr(query)), make, len))

    def _sampled(self) -> str:
        rows = np.linspace(0, max(self.rows - 1, 0), min(self.rows, 100)).astype(int)
        return repr((self._frame.shape, self._frame.iloc[rows, :50].to_numpy(dtype=object).tolist()))


def _is_empty(value: Any) -> bool:
    return pd.api.types.is_scalar(value) and bool(pd.isna(value))


def _plain(value: Any) -> str:
    try:
        return str(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, or nested too deeply
        return f"<{type(value).__name__}>"


def _copied(column: _TableColumn, value: Any) -> str:
    if _is_empty(value):
        return ""
    if column.kind in {"number", "objects"}:
        return _plain(value)
    text = column.cell(value) or "" if column.kind == "date" else unarmed(cell_text(value))
    return '"' + text.replace('"', '""') + '"' if re.search(r'[\t\r\n"]', text) else text


def _mask(found: Any) -> Mask:
    dtype = found.dtype
    return found.to_numpy() if isinstance(dtype, np.dtype) else found.to_numpy(dtype=bool, na_value=False)  # type: ignore[no-any-return]


def _compare(data: Any, operator: str, value: Any) -> Any:
    if operator == ">=":
        return data >= value
    if operator == "<=":
        return data <= value
    return data < value if operator == "<" else data == value


def _bytes(rows: Positions) -> int:
    return 0 if rows is None else rows.nbytes


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

"""The table of a result: sorts, filters and searches all rows, shows a window of them, and writes the same as code."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from msgspec.structs import replace

from jupyter_funcs.core.coded import applied, literal, printed
from jupyter_funcs.core.errors import ArgumentError, FuncsError
from jupyter_funcs.core.text import quote
from jupyter_funcs.frames.export import tabbed
from jupyter_funcs.frames.roles import FRAME, flat, flattening, is_to_date
from jupyter_funcs.panel.chart_plan import calendars_differ
from jupyter_funcs.panel.chart_view import CALENDARS_DIFFER, Chart, Points
from jupyter_funcs.panel.derived import Expression, pivot
from jupyter_funcs.panel.json_view import JsonTree
from jupyter_funcs.panel.requests import (
    ChartPoints,
    Columns,
    Computed,
    Contains,
    Json,
    JsonPath,
    Number,
    OneOf,
    Pivot,
    Sort,
    Steps,
    TableQuery,
    Text,
    answers,
)
from jupyter_funcs.panel.table_column import (
    FIRST_ROWS,
    TableColumn,
    total_facts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from jupyter_funcs.core.coded import Operation
    from jupyter_funcs.panel.derived import Pivoted
    from jupyter_funcs.panel.table_column import Facts, Test

    Code = tuple[list[str], str]  # lines, and an expression after them

    # Of rows, in the order of the view; `None` means all rows in their own order.
    Positions = NDArray[np.uint32] | None
    Tests = dict[TableColumn, Test]

Result = TypeVar("Result")

FIRST_COLUMNS = 60  # a block of the page, as in front/src/table/pages.ts
_MOST_ROWS = 1_000  # of a page
_MOST_CELLS = 50_000  # of a page
_MOST_VALUES = 200  # in the filter box
_LONGEST_VALUE = 1_000  # characters; longer values can't be picked from the list
_LONGEST_COPY = 5_000_000  # characters
_MOST_MADE = 4  # tables made of a table
_NEEDED = {
    "Decimal(": "from decimal import Decimal",
    "np.": "import numpy as np",
    "pd.": "import pandas as pd",
}
_ROWS = "rows"  # the lane for orders, rows and sums
# Cells to read for the first view; later columns are summarized when they are shown.
_SUMMARIZED = 10_000_000


class Latest:
    """
    A cache of the latest results, up to a total size and a number of them; the last one stays whatever its size.

    A size is in bytes; a result that has no `nbytes` counts as one.
    """

    def __init__(self, limit: int, most: int = sys.maxsize) -> None:
        self._limit = limit
        self._most = most
        self._held: dict[object, tuple[Any, int]] = {}
        self._lock = threading.Lock()
        self._lanes: dict[object, threading.RLock] = {}

    def __len__(self) -> int:
        return len(self._held)

    @property
    def size(self) -> int:
        return sum(size for _, size in list(self._held.values()))

    def get(self, lane: object, key: object, make: Callable[[], Result]) -> Result:
        """Return a cached result, or make it: one at a time per lane, because each takes memory."""
        entry = self._held.get(key)
        if entry is None:
            with self._lanes.setdefault(lane, threading.RLock()):
                entry = self._held.get(key)
                if entry is None:
                    made = make()
                    entry = made, getattr(made, "nbytes", 1)

        self.put(key, *entry)
        result: Result = entry[0]
        return result

    def put(self, key: object, result: object, size: int) -> None:
        """Cache a result as the latest one, and drop the oldest ones beyond the limits."""
        with self._lock:
            self._held.pop(key, None)
            self._held[key] = result, size
            while len(self) > 1 and (len(self) > self._most or self.size > self._limit):
                del self._held[next(iter(self._held))]


class TableView:
    """A frame as a table. Methods may be called from any thread, and return plain JSON."""

    def __init__(
        self,
        frame: pd.DataFrame,
        about: str = "",
        source: Callable[[str], Code] | None = None,
        pivoted: Pivoted | None = None,
    ) -> None:
        # The result as the run returned it, even if its variable changes; before pandas 3 that needs a copy.
        self._frame = frame.copy(deep=pd.__version__ < "3")
        self._about = about
        self._pivoted = pivoted
        self._declared = frame.attrs.get("funcs", {}).get("columns", {})
        self.flat = flat(self._frame)
        self.rows, self.column_count = self.flat.shape
        self._to_date = [
            at for at, name in enumerate(self.flat.columns) if is_to_date(name)
        ]
        self._cache = Latest(max(16_000_000, 16 * self.rows))  # four orders
        self._columns: dict[int, TableColumn] = {}
        self._source = source or (
            lambda name: ([], printed(name, flattening(self._frame)))
        )
        self._made = Latest(_MOST_MADE)

    def made(self, steps: Steps) -> TableView:
        """Return the table that some steps make of this one."""
        if not steps:
            return self

        first, *others = steps
        return self._made.get("", repr(first), partial(self._make, first)).made(others)

    def _make(self, step: Computed | Pivot | ChartPoints) -> TableView:
        if isinstance(step, ChartPoints):
            return self._draw(step)
        if isinstance(step, Pivot):
            return self._pivot(step)
        return self._compute(step)

    def _draw(self, step: ChartPoints) -> TableView:
        """Return the points of a chart as a table."""
        points = self.chart.points(step.wish, self.drawn(step.of), step.zoom)
        if not isinstance(points, Points):
            raise ArgumentError(points["why"], "Choose another chart.")

        steps = flattening(points.table)

        def source(variable: str) -> Code:
            before, view = self._coded(step.of, variable)
            lines = points.code([*before, printed(view, self._melted)])
            return lines, printed("table", steps)

        return TableView(
            applied(points.table, steps), self._about, source, points.pivoted
        )

    def _compute(self, step: Computed) -> TableView:
        name = step.name.strip()
        if not name or name in self.flat.columns:
            what = "The column has no name."
            if name:
                what = f"There is a column {quote(name)}."
            raise ArgumentError(what, "Choose another name.")

        expression = Expression(step.expression, self._by_name)
        values = expression.result
        frame = self.flat.assign(**{name: values.value})
        if not expression.adds_up:
            declared = self._declared | {name: {"adds_up": False}}
            facts = frame.attrs.get("funcs", {})
            frame.attrs["funcs"] = facts | {"columns": declared}

        def source(variable: str) -> Code:
            lines, variable = self._coded(TableQuery(), variable)
            code = values.code.replace(FRAME, variable)
            return lines, f"{variable}.assign(**{{{literal(name)}: {code}}})"

        return TableView(frame, self._about, source)

    def _pivot(self, wish: Pivot) -> TableView:
        """Return a pivot of the rows of a view, made of only the columns that it needs."""
        columns = self._by_name
        pivoted = pivot(columns, wish)
        query = self._whole_periods(wish.of, pivoted)
        frame = self.flat[[name for name in columns if name in pivoted.read]]
        rows = self.positions(query)
        if rows is not None:
            frame = frame.iloc[rows]
        if self._calendars_differ(pivoted, frame):
            pivoted.note(CALENDARS_DIFFER)
        frame = applied(frame, pivoted.steps).rename_axis(columns=None)

        def source(variable: str) -> Code:
            lines, code = self._coded(query, variable)
            return lines, printed(code, pivoted.steps)

        return TableView(frame, self._about, source, pivoted)

    def _whole_periods(self, query: TableQuery, pivoted: Pivoted) -> TableQuery:
        """Return a query without the periods to date that would be counted beside whole ones."""
        _, total = self._window(query, 0, 0)
        for at in self._to_date:
            name = str(self.flat.columns[at])
            if name in {*pivoted.rows, pivoted.across}:
                continue

            whole = replace(query, filters=[*query.filters, OneOf(at, ["False"])])
            rows = self.positions(whole)
            if rows is not None and 0 < len(rows) < total:
                pivoted.note(f"{name} rows are left out.")
                return whole

        return query

    def _calendars_differ(self, pivoted: Pivoted, rows: pd.DataFrame) -> bool:
        """Return whether rows of different days are brought together by the name of their quarter."""
        columns = self._by_name
        dates = [column.data for column in columns.values() if column.type == "date"]
        return any(
            calendars_differ(columns[name].data.loc[rows.index], dates)
            for name in {*pivoted.rows, pivoted.across} & columns.keys()
            if columns[name].names_periods
        )

    @cached_property
    def _by_name(self) -> dict[str, TableColumn]:
        return {
            str(name): self._column(at) for at, name in enumerate(self.flat.columns)
        }

    @cached_property
    def chart(self) -> Chart:
        return Chart(applied(self.flat, self._melted), self._about)

    @property
    def _melted(self) -> list[Operation]:
        if self._pivoted:
            return self._pivoted.melted
        return []

    def drawn(self, query: TableQuery) -> Positions:
        """Return the positions of the rows of a view among those of its chart."""
        rows = self.positions(query)
        pivoted = self._pivoted
        if rows is None or not pivoted or not pivoted.across:
            return rows
        values = np.arange(self.column_count - len(pivoted.rows), dtype=np.uint32)
        return (rows + np.uint32(self.rows) * values[:, np.newaxis]).ravel()

    @answers()
    def shape(self) -> Json:
        """Return the view of the table, and what was chosen for a pivot."""
        chosen = self._pivoted and self._pivoted.chosen
        return {"table": self.view(), "pivot": chosen or None}

    def view(self) -> Json:
        """Return the size, the first columns, and the first page."""
        first = list(range(min(self.column_count, FIRST_COLUMNS)))
        page = self.page(TableQuery(), 0, FIRST_ROWS, first)
        most = _SUMMARIZED // max(self.rows, 1)
        columns = [self._column(at).view(summary=at < most) for at in first]
        return {
            "rows": self.rows,
            "count": self.column_count,
            "columns": columns,
            "page": page,
        }

    @answers()
    def columns(self, columns: Columns) -> list[Json]:
        """Return columns with their summaries."""
        if len(columns) > FIRST_COLUMNS:
            raise ArgumentError(
                f"{len(columns):,} columns are too many at once.",
                f"Ask for {FIRST_COLUMNS} at most.",
            )

        return [self._column(at).view(summary=True) for at in columns]

    @answers("rows")
    def page(
        self, query: TableQuery, first: Number, end: Number, columns: Columns
    ) -> Json:
        """Return the texts of some rows and columns, and the sums over all rows of the view."""
        if not 0 <= end - first <= _MOST_ROWS:
            raise ArgumentError(
                f"A page of the table has at most {_MOST_ROWS:,} rows, not {end - first:,}."
            )

        chosen = [*map(self._column, columns)]
        rows, total = self._window(query, first, end)
        count = len(rows) * len(chosen)
        if count > _MOST_CELLS:
            raise ArgumentError(
                f"{count:,} cells are too many.", f"Ask for {_MOST_CELLS:,} at most."
            )

        cells = [map(column.cell, column.data.iloc[rows]) for column in chosen]
        texts = [*map(list, zip(*cells, strict=True))] if chosen else [[]] * len(rows)
        sums = {str(column.at): self._sum(query, column) for column in chosen}
        page = {
            "total": total,
            "from": first,
            "columns": [*columns],
            "rows": texts,
            "sums": {at: text for at, text in sums.items() if text is not None},
        }
        if not first and (query.filters or query.find):
            rows = self.positions(replace(query, sort=[]))
            page["parts"] = {str(column.at): column.part(rows) for column in chosen}

        return page

    @answers()
    def values(self, at: Number, query: Text) -> Json:
        """Return the most frequent values of a column that contain a text, with their counts."""
        column = self._column(at)
        wanted = query.casefold()
        hits = [
            {"text": text, "count": count}
            for text, count in column.ranked()
            if wanted in text.casefold() and len(text) <= _LONGEST_VALUE
        ]
        values = hits[:_MOST_VALUES]
        missing = int(column.data.isna().sum())
        if missing and not query:
            values.insert(0, {"text": None, "count": missing})
        return {"values": values, "total": len(hits)}

    @answers()
    def named(self, text: Text) -> Json:
        """Return the columns whose names contain a text, those that begin with it first."""
        wanted = text.casefold().strip()
        names = [str(name).casefold() for name in self.flat.columns]
        hits = [at for at, name in enumerate(names) if wanted in name]
        if wanted:
            hits.sort(key=lambda at: (not names[at].startswith(wanted), len(names[at])))
        columns = [
            {"at": at, "name": self._column(at).name} for at in hits[:_MOST_VALUES]
        ]
        return {"columns": columns, "total": len(hits)}

    @answers()
    def facts(
        self, query: TableQuery, first: Number, end: Number, columns: Columns
    ) -> Json:
        """Return the count of some values, and of numbers of one type their sum, mean and range."""
        rows, _ = self._window(query, first, end)
        chosen = [*map(self._column, columns)]
        count = sum(int(column.data.iloc[rows].notna().sum()) for column in chosen)
        facts = _counts(count=count)
        numbers = [column for column in chosen if column.right]
        if len({column.type for column in numbers}) == 1:
            facts += total_facts(numbers, rows)
        return {"facts": facts}

    @answers()
    def described(self, query: TableQuery, at: Number) -> Json:
        """Return what is known of the values of a column in a view."""
        rows, total = self._window(query, 0, self.rows)
        column = self._column(at)
        values = column.data.iloc[rows].dropna()
        count = len(values)
        distinct = int(np.count_nonzero(column.codes.counts(rows)))
        facts = _counts(count=count, missing=total - count, distinct=distinct)
        if column.right:
            facts += total_facts([column], rows)
        elif column.kind == "date" and count:
            for name, end in ("min", values.min()), ("max", values.max()):
                text = column.cell(end) or ""
                facts.append((name, text, text))

        return {"facts": facts}

    @answers()
    def cell(
        self, query: TableQuery, row: Number, at: Number, path: JsonPath, first: Number
    ) -> Json:
        """Return all of a cell, and a page of what its text holds as JSON."""
        _, text = self.value(query, row, at)
        node = None
        if text and text.lstrip()[:1] in {"{", "["}:
            with suppress(FuncsError):
                node = JsonTree(text.encode()).node(path, first)

        return {"text": text, "node": node}

    def value(
        self, query: TableQuery, row: int, at: int
    ) -> tuple[TableColumn, str | None]:
        """Return the column of a cell, and its whole text; `None` if it is empty."""
        rows, _ = self._window(query, row, row + 1)
        column = self._column(at)
        return column, column.whole(rows)

    @answers("copy")
    def text(
        self,
        query: TableQuery,
        first: Number,
        end: Number,
        columns: Columns,
        *,
        names: bool = False,
    ) -> str:
        """Return a selection as tab-separated text, with exact numbers, and with the columns' names if asked to."""
        chosen = [*map(self._column, columns)]
        rows, _ = self._window(query, first, end)
        text = ""
        if names:
            text = tabbed([pd.Series([str(column.data.name)]) for column in chosen])
        for start in range(0, len(rows), 500):
            text += tabbed(
                [column.copied(rows[start : start + 500]) for column in chosen]
            )
            if len(text) > _LONGEST_COPY:
                raise ArgumentError(
                    "More than 5 MB can't be copied: select less, or use Save to write a file."
                )

        return text.removesuffix("\n")

    def code(
        self, query: TableQuery, name: str, *, melted: bool = False, result: str = ""
    ) -> str:
        """Return a view of the frame with this name as pandas code, whose last line is the view or its variable."""
        lines, view = self._coded(query, name, result)
        if melted:
            view = printed(view, self._melted)
        if result and view != result:
            lines.append(f"{result} = {view}")
            view = result
        code = "\n".join([*lines, view])
        needed = [line for call, line in _NEEDED.items() if call in code]
        return "\n".join([*needed, code])

    def _coded(self, query: TableQuery, name: str, result: str = "") -> Code:
        """Return the lines before the view of the frame with this name, and the view."""
        lines, source = self._source(name)
        if source.isidentifier():
            name = source
        else:
            name = result or ("frame" if name == "df" else "df")
            lines = [*lines, f"{name} = {source}"]

        if not self.rows:
            return lines, name

        tests = map(_code, self._tests(query))
        test = " & ".join(tests).replace(FRAME, name)
        if len(test) > 80:
            lines.append(f"rows = {test}")
            test = "rows"

        view = f"{name}[{test}]" if test else name
        return lines, view + self._sort_code(query.sort)

    def _sort_code(self, sorts: Sequence[Sort]) -> str:
        """Return the call that sorts the rows as the table does; empty if nothing does."""
        if not sorts:
            return ""

        columns = [self._sorting(self._column(sort.at)) for sort in sorts]
        key = "values"
        for column in reversed(columns):
            own = column.sort_code
            if own and len(columns) > 1:
                own += f" if values.name == {literal(column.data.name)} else {key}"
            key = own or key

        by = literal([column.data.name for column in columns])
        ways = literal([not sort.descending for sort in sorts])
        options = f'ascending={ways}, kind="stable"'
        if key != "values":
            options += f", key=lambda values: {key}"
        return f".sort_values({by}, {options})"

    def _sorting(self, column: TableColumn) -> TableColumn:
        """Return the dates beside named periods, if they sort the rows as the periods do, else the column itself."""
        if not column.of_time:
            return column

        # Periods begin with one date and end with another.
        others = map(self._column, reversed(range(self.column_count)))
        for other in others:
            if other.kind == "date" and np.array_equal(
                other.codes.rows, column.codes.rows
            ):
                return other

        return column

    def frame(self, query: TableQuery) -> pd.DataFrame:
        """Return a view as a frame."""
        rows = self.positions(query)
        if rows is None:
            return self._frame
        return self._frame.iloc[rows]

    def positions(self, query: TableQuery) -> Positions:
        """Return the positions of the rows of a view, in its order; `None` for all rows in their own order."""
        if not (query.sort or query.filters or query.find) or not self.rows:
            return None

        def make() -> Positions:
            sort = query.sort
            rows = self._cache.get(_ROWS, repr(sort), lambda: self._order(sort))
            for tests in self._tests(query):
                passed = self._mask(tests)
                rows = rows[passed[rows]]
            return rows

        return self._cache.get(_ROWS, repr(query), make)

    def _column(self, at: int) -> TableColumn:
        if not 0 <= at < self.column_count:
            raise ArgumentError(
                f"There is no column {at:,}: the table has {self.column_count:,}.",
                "Count them from 0.",
            )

        if at not in self._columns:
            data = self.flat.iloc[:, at]
            column = TableColumn(data, at, self._about, self._cache.get)
            if self._pivoted and at >= len(self._pivoted.rows):
                column.role = self._pivoted.measure
            declared = self._declared.get(str(column.data.name), {})
            column.is_amount = declared.get("adds_up", True)
            about = [declared.get("description")]
            if declared.get("unit"):
                about.append(f"Unit: {declared['unit']}")
            column.about = "\n".join(filter(None, about))
            self._columns[at] = column

        return self._columns[at]

    def _window(self, query: TableQuery, first: int, end: int) -> tuple[Any, int]:
        """Return the positions of some rows of a view, and the number of its rows."""
        rows = self.positions(query)
        total = self.rows if rows is None else len(rows)
        if not 0 <= first <= min(end, total):
            raise ArgumentError(
                f"There are no rows {first:,} to {end:,}: the view has {total:,}.",
                "Scroll up.",
            )

        if rows is None:
            return np.arange(first, min(end, total)), total
        return rows[first:end], total

    def _order(self, sorts: Sequence[Sort]) -> NDArray[np.uint32]:
        if not sorts:
            return np.arange(self.rows, dtype=np.uint32)
        keys = [
            self._column(sort.at).key(descending=sort.descending)
            for sort in reversed(sorts)
        ]
        return np.lexsort(keys).astype(np.uint32)

    def _tests(self, query: TableQuery) -> Iterator[Tests]:
        """Yield the tests of each filter and of the search; rows pass any of them, by their columns."""
        for condition in query.filters:
            column = self._column(condition.at)
            if isinstance(condition, OneOf):
                yield {column: column.one_of(condition.values)}
            elif isinstance(condition, Contains):
                if condition.text:
                    yield {column: column.contains(condition.text)}
            elif condition.low.strip() or condition.high.strip():
                yield {column: column.within(condition.low, condition.high)}

        if query.find:
            shown = sorted({*range(self.column_count)} - {*query.hidden})
            yield {
                column: test
                for column in map(self._column, shown)
                if (test := column.searched(query.find))
            }

    def _mask(self, tests: Tests) -> NDArray[np.bool_]:
        passed = np.zeros(self.rows, dtype=bool)
        for column, test in tests.items():
            passed |= column.mask(test)
        return passed

    def _sum(self, query: TableQuery, column: TableColumn) -> str | None:
        """Return a sum over the rows of a view; `None` if there is none, or periods to date would count days twice."""
        if not column.adds_up:
            return None

        def make() -> str | None:
            rows: Any = self.positions(query)
            if rows is None:
                rows = slice(None)
            for at in self._to_date:
                if len(np.unique(self._column(at).codes.rows[rows])) > 1:
                    return None

            return column.sum(column.data.iloc[rows])

        return self._cache.get(_ROWS, (column.at, repr(query)), make)


def _code(tests: Tests) -> str:
    texts = [column.code(test) for column, test in tests.items()]
    if len(texts) == 1:
        return texts[0]
    if texts:
        return f"({' | '.join(texts)})"
    return f"pd.Series(False, index={FRAME}.index)"


def _counts(**counts: int) -> Facts:
    return [(name, f"{count:,}", f"{count:,}") for name, count in counts.items()]

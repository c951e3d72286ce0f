"""Load a team's own data: check the configuration against the tables and their rows, and make the reference data."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import ibis

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.core.text import quoted, quoted_list, some, suggestion
from jupyter_funcs.service.config.settings import (
    BRAND,
    Data,
    Settings,
    dimension_columns,
)
from jupyter_funcs.service.config.team_tables import (
    OpenTable,
    Row,
    TeamTables,
    no_column,
)
from jupyter_funcs.service.engine.calendar import FISCAL_YEAR_ENDS, Period
from jupyter_funcs.service.engine.calendar import periods as fiscal_quarters
from jupyter_funcs.service.engine.tables import (
    Brand,
    Cards,
    Company,
    DataSet,
    Kpi,
    Reference,
    Report,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import ibis.expr.datatypes as dt
    import ibis.expr.types as ir

    # The first and last day of a company's data.
    Days = tuple[date, date]

_QUARTER_NAME = re.compile(r"FQ([1-4]) ([0-9]{4})")
_CALENDAR = ("data", "calendar")
_TYPES = {
    "date": "date",
    "spend_cents": "int64",
    "transactions": "int64",
    "cards": "int64",
}
_MEASURES = ("spend_cents", "transactions", "cards")
# Columns that must have a value in every row.
_KEYS = ("date", "symbol", "panel")


class _Column(NamedTuple):
    key: tuple[str, ...]
    name: str


class BrandDays(NamedTuple):
    panel: str
    symbol: str
    brand: str
    first: date
    last: date


class CardSpend(NamedTuple):
    """Where card spend is, and what is in it."""

    cards: Cards
    brands: Sequence[BrandDays]
    generations: Sequence[str]


def load(
    settings: Settings, data: Data, today: date | None = None
) -> tuple[Reference, Callable[[], Cards]]:
    """Return the reference data, and a function that returns where card spend is."""
    with TeamTables(settings) as team_tables:
        spend = _inspected(settings, data, team_tables)
        today = today or datetime.now().astimezone().date()
        reference = _Loader(settings, data, team_tables, spend, today).reference()
    return reference, lambda: spend.cards


def _inspected(settings: Settings, data: Data, team_tables: TeamTables) -> CardSpend:
    """Check the mapping of card spend against its columns and rows, and return what is in it."""
    key = ("data", "parquet" if data.parquet else "table")
    mapped = _mapped(data)
    opened, label = team_tables.open(("data",), data)
    raw = opened.table
    _check_columns(settings, label, mapped, opened)
    try:
        [counts] = opened.rows(_counts(raw, mapped))
        _check_rows(settings, label, mapped, counts)
        cards = _cards(data, mapped, raw, counts)
        rows = cards.mapped(raw)
        days = rows.group_by("panel", "symbol", "merchant").agg(
            first=rows.date.min(), last=rows.date.max()
        )
        brands = [BrandDays(*row.values()) for row in opened.rows(days)]
        ages = []
        if "generation" in cards.schema:
            ages = opened.rows(rows.select("generation").distinct())
    except SetupError:
        raise
    except Exception as error:  # noqa: BLE001 - each driver has errors of its own
        settings.fail(key, f"{label} cannot be read: {team_tables.reason(error)}.")

    _check_owners(settings, brands)
    return CardSpend(cards, brands, sorted(row["generation"] for row in ages))


def _mapped(data: Data) -> dict[str, _Column]:
    """Return the key in the configuration and the team's column, for each mapped column of `Cards`."""
    columns = {
        {"spend": "spend_cents"}.get(use, use): _Column(("data", "columns", use), name)
        for use, name in data.columns.model_dump(exclude_none=True).items()
    }
    of_dimensions = dimension_columns(data.dimensions)
    return columns | {
        of_dimensions[dimension]: _Column(("data", "dimensions", dimension), name)
        for dimension, name in data.dimensions.items()
    }


def _check_columns(
    settings: Settings, label: str, mapped: Mapping[str, _Column], opened: OpenTable
) -> None:
    raw, _, files = opened
    for use, column in mapped.items():
        if column.name not in raw.columns:
            settings.fail(column.key, f"{label} {no_column(column.name, raw.columns)}")
        # A column that is in no file comes from the names of the folders.
        without = [
            file
            for file, facts in files.items()
            if column.name not in facts.schema.to_arrow_schema().names
        ]
        if without and len(without) < len(files):
            settings.fail(
                column.key,
                f"{without[0]} has no column {quoted(column.name)}, but other files do.",
            )
        if wrong := _type_error(use, raw[column.name].type()):
            settings.fail(column.key, f"{quoted(column.name)} of {label} {wrong}")


def _type_error(use: str, kind: dt.DataType) -> str:
    """Return what is wrong with the type of a column; empty if nothing is."""
    if use == "date" and kind.is_timestamp() and kind.timezone:
        return "must have dates, not times with a time zone: their day is ambiguous."
    if use == "date":
        wanted = "dates"
        is_valid = kind.is_date() or kind.is_timestamp()
    elif use in _MEASURES:
        wanted = "numbers"
        is_valid = kind.is_numeric()
    else:
        wanted = "text or whole numbers"
        is_valid = kind.is_string() or kind.is_integer()

    words = {
        "is_string": "text",
        "is_boolean": "booleans",
        "is_integer": "whole numbers",
        "is_numeric": "numbers",
    }
    actual = next(
        (word for test, word in words.items() if getattr(kind, test)()),
        f"values of type {kind}",
    )
    if is_valid:
        return ""
    return f"must have {wanted}, not {actual}."


def _counts(raw: ir.Table, mapped: Mapping[str, _Column]) -> ir.Table:
    """Count the rows, and for each column the rows without a value."""
    counts = {"rows": raw.count()}
    for use, (_, name) in mapped.items():
        column = raw[name]
        absent = column.isnull()
        if use in ("symbol", "panel") and column.type().is_string():
            absent |= column.strip() == ""
        elif use in _MEASURES and column.type().is_floating():
            # True for NaN and infinities; each engine has its own functions for these.
            absent = (column - column) != 0
        counts[use] = ibis.ifelse(absent, 1, 0).sum()

    return raw.agg(**counts)


def _check_rows(
    settings: Settings,
    label: str,
    mapped: Mapping[str, _Column],
    counts: Mapping[str, int],
) -> None:
    rows = counts["rows"]
    if not rows:
        settings.fail(("data",), f"{label} has no rows.")
    for use, column in mapped.items():
        absent = counts[use] or 0
        if absent and use in _KEYS:
            settings.fail(
                column.key,
                f"{quoted(column.name)} is empty in {absent:,} of {rows:,} rows. Fill it in.",
            )
        if absent and use in _MEASURES:
            settings.fail(
                column.key,
                f"{quoted(column.name)} is not a number (NaN) in {absent:,} of {rows:,} rows.",
            )


def _cards(
    data: Data, mapped: Mapping[str, _Column], raw: ir.Table, counts: Mapping[str, int]
) -> Cards:
    dimensions = dimension_columns(data.dimensions).values()
    schema = dict.fromkeys(("panel", "symbol", *dimensions), "string") | _TYPES
    for use in ("transactions", "cards"):
        if not raw[mapped[use].name].type().is_integer():  # in a weighted panel
            schema[use] = "float64"

    columns = {use: column.name for use, column in mapped.items()}
    return Cards(
        schema=schema,
        columns={"merchant": columns["symbol"]} | columns,
        files=(str(data.parquet),) if data.parquet else (),
        table=tuple(data.table.split(".")) if data.table else (),
        panel=None if "panel" in columns else data.panel,
        spend_unit=data.spend_unit,
        has_unknown=frozenset(use for use in dimensions if counts.get(use)),
    )


def _check_owners(settings: Settings, brands: Sequence[BrandDays]) -> None:
    owners: dict[str, set[str]] = {}
    for brand in brands:
        owners.setdefault(brand.brand, set()).add(brand.symbol)
    shared = [brand for brand, symbols in owners.items() if len(symbols) > 1]
    if shared:
        named = [
            f"{quoted(brand)} has {quoted_list(sorted(owners[brand]))}"
            for brand in shared
        ]
        settings.fail(
            ("data", "dimensions", BRAND),
            f"a brand can only belong to one company, but {some(named)}.\n"
            "Rename these brands, or use one symbol in all their rows.",
        )


@dataclass
class _Loader:
    settings: Settings
    data: Data
    tables: TeamTables
    spend: CardSpend
    today: date

    def __post_init__(self) -> None:
        # The last day of a quarter that is reported by now.
        self._reported = self.today - timedelta(
            days=self.data.calendar.reported_after_days
        )
        self._panels = sorted({brand.panel for brand in self.spend.brands})
        self._brands: dict[str, set[str]] = {}
        self._days: dict[str, Days] = {}
        for brand in self.spend.brands:
            first, last = self._days.get(brand.symbol, (brand.first, brand.last))
            self._days[brand.symbol] = min(first, brand.first), max(last, brand.last)
            self._brands.setdefault(brand.symbol, set()).add(brand.brand)

    def reference(self) -> Reference:
        rows = self._company_rows()

        def text(symbol: str, use: str) -> str:
            if symbol in rows:
                return rows[symbol].text(use)
            return ""

        ends = {symbol: text(symbol, "fiscal_year_end") for symbol in self._days}
        if rule := self.data.calendar.rule:
            ends = {symbol: end or rule for symbol, end in ends.items()}
            calendars = {
                symbol: self._by_rule(symbol, end) for symbol, end in ends.items()
            }
        else:
            calendars = self._by_rows()
            ends = {
                symbol: end or _year_end(calendars[symbol])
                for symbol, end in ends.items()
            }

        reference = Reference(
            panels=self._named_panels(),
            companies=[
                Company(
                    symbol,
                    text(symbol, "name") or symbol,
                    text(symbol, "sector"),
                    text(symbol, "industry"),
                    ends[symbol],
                )
                for symbol in sorted(self._days)
            ],
            brands=[
                Brand(brand, symbol)
                for symbol, brands in sorted(self._brands.items())
                for brand in sorted(brands)
            ],
            kpis=self._kpis(),
            reports=(),
            calendars=calendars,
            dimensions=dimension_columns(self.data.dimensions),
            generations=self.spend.generations,
        )
        return replace(reference, reports=self._reports(reference))

    def _named_panels(self) -> list[DataSet]:
        for name in self.data.panels:
            if name not in self._panels:
                near = (
                    suggestion(name, self._panels)
                    or f" Panels are {quoted_list(self._panels)}."
                )
                self.settings.fail(
                    ("data", "panels", name),
                    f"the data has no panel {quoted(name)}.{near}",
                )

        return [
            DataSet(name, self.data.panels.get(name, self.settings.organisation))
            for name in self._panels
        ]

    def _company_rows(self) -> Mapping[str, Row]:
        rows: dict[str, Row] = {}
        for row in self.tables.small(
            ("data", "companies"), self.data.companies, ("symbol",)
        ):
            if rows.setdefault(symbol := row.text("symbol"), row) is not row:
                row.fail(f"{quoted(symbol)} appears twice. Use one row per company.")

        return rows

    def _kpis(self) -> list[Kpi]:
        key = ("data", "kpis")
        rows = self.tables.small(key, self.data.kpis, ("symbol", "name"))
        kpis = [
            self._kpi(number, row)
            for number, row in enumerate(rows, 1)
            if row.text("symbol") in self._days
        ]
        by_id = {kpi.id: kpi for kpi in kpis}
        if twice := next((kpi for kpi in kpis if by_id[kpi.id] is not kpi), None):
            self.settings.fail(
                key,
                f"two KPIs have the id {twice.id}: {quoted_list([twice.name, by_id[twice.id].name])}.",
            )

        return kpis

    def _kpi(self, number: int, row: Row) -> Kpi:
        symbol = row.text("symbol")
        brands = tuple(
            brand.strip() for brand in row.text("brands").split(",") if brand.strip()
        )
        return Kpi(
            id=number if not row.text("id") else row.whole("id"),
            name=row.required("name"),
            symbol=symbol,
            panel=self._panel(row.text("panel"), row.fail),
            unit=row.text("unit"),
            statement=row.text("statement"),
            kpi_class=row.text("kpi_class"),
            measure=row.text("measure"),
            brands=brands or tuple(sorted(self._brands[symbol])),
            is_primary=row.flag("is_primary") is not False,
        )

    def _panel(self, name: str | None, fail: Callable[[str], NoReturn]) -> str:
        if name and name not in self._panels:
            fail(f"there is no panel {quoted(name)}.{suggestion(name, self._panels)}")
        if not name and len(self._panels) > 1:
            fail(f"choose a panel: there are {quoted_list(self._panels)}.")
        return name or self._panels[0]

    def _reports(self, reference: Reference) -> list[Report]:
        reports = {}
        for number, saved in enumerate(self.data.reports):
            key = ("data", "reports", number)
            if saved.id.casefold() in reports:
                self.settings.fail(
                    (*key, "id"), f"two reports have the id {quoted(saved.id)}."
                )
            panel = self._panel(
                saved.panel, partial(self.settings.fail, (*key, "panel"))
            )
            symbols = []
            for symbol in saved.symbols:
                try:
                    symbols.append(reference.symbol(symbol))
                except ValueError as error:
                    self.settings.fail(
                        (*key, "symbols"), f"the symbol {quoted(symbol)} {error}"
                    )
            reports[saved.id.casefold()] = Report(
                saved.id, saved.title, panel, tuple(symbols)
            )

        return list(reports.values())

    def _by_rule(self, symbol: str, end: str) -> tuple[Period, ...]:
        """Return the fiscal quarters of a company by the rule for the end of its fiscal year."""
        if end not in FISCAL_YEAR_ENDS:
            self.settings.fail(
                ("data", "companies", "columns", "fiscal_year_end"),
                f"there is no rule {quoted(end)} for the fiscal year of {symbol}."
                f"{suggestion(end, FISCAL_YEAR_ENDS)} Rules are {quoted_list(FISCAL_YEAR_ENDS)}; for another, "
                "give [data.calendar] a table with a row per quarter.",
            )

        return fiscal_quarters(end, *self._days[symbol], self._reported)

    def _by_rows(self) -> dict[str, tuple[Period, ...]]:
        """Return the fiscal quarters of each company from a table; rows without a symbol apply to all companies."""
        required = ("period_name", "start", "end")
        by_symbol: dict[str, list[Row]] = {}
        for row in self.tables.small(_CALENDAR, self.data.calendar, required):
            by_symbol.setdefault(row.text("symbol"), []).append(row)
        calendars = {}
        without = []
        for symbol, (first, last) in self._days.items():
            own = [
                _period(row, self._reported)
                for row in (*by_symbol.get("", []), *by_symbol.get(symbol, []))
            ]
            calendars[symbol] = _in_order(self.settings, symbol, own)
            if not any(period.start <= last and period.end >= first for period in own):
                without.append(symbol)

        if without:
            named = some([*map(quoted, without)])
            self.settings.fail(
                _CALENDAR,
                f"no quarter covers the data of {named}. Add rows for them.",
            )

        return calendars


def _year_end(periods: Sequence[Period]) -> str:
    """Return the day on which the last known fiscal year ends, such as *31 December*."""
    ends = [period.end for period in periods if period.quarter == 4]
    return f"{ends[-1].day} {ends[-1]:%B}" if ends else ""


def _period(row: Row, reported: date) -> Period:
    name = row.required("period_name")
    if not (parts := _QUARTER_NAME.fullmatch(name)):
        row.fail(
            f"{quoted(row.columns['period_name'])} must be FQ<number> <fiscal year>, such as "
            f"'FQ3 2024', not {quoted(name)}."
        )

    start = row.day("start")
    end = row.day("end")
    if start > end:
        row.fail(f"{name} ends on {end}, before its start on {start}.")
    flag = row.flag("is_historical")
    return Period(
        int(parts[2]),
        int(parts[1]),
        start,
        end,
        end <= reported if flag is None else flag,
    )


def _in_order(
    settings: Settings, symbol: str, periods: list[Period]
) -> tuple[Period, ...]:
    periods = sorted(periods, key=lambda period: (period.start, period.end))
    for period, after in itertools.pairwise(periods):
        if after.start <= period.end:
            settings.fail(
                _CALENDAR,
                f"{period.period_name} ({period.start} to {period.end}) and {after.period_name} ({after.start} to "
                f"{after.end}) of {symbol} overlap. A day can only be in one quarter.",
            )
        if (after.year, after.quarter) <= (period.year, period.quarter):
            settings.fail(
                _CALENDAR,
                f"{after.period_name} of {symbol} starts on {after.start}, after {period.period_name}. "
                "Quarters must be in chronological order, and each name unique.",
            )

    return tuple(periods)

"""
The tables that queries read: reference data, and card spend in files or in a table of the engine.

Reference data are the data sets, companies, brands, KPIs and reports, and how callers may spell their names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from jupyter_funcs.core.text import quoted_list, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import ibis.expr.types as ir
    import pyarrow as pa

    from jupyter_funcs.core.errors import Messages
    from jupyter_funcs.service.engine.calendar import Period

CARDS = {
    "panel": "string",
    "symbol": "string",
    "merchant": "string",
    "region": "string",
    "generation": "string",
    "date": "date",
    "spend_cents": "int64",
    "transactions": "int32",
    "cards": "int32",
}
"""Columns of card spend, one row per data set, brand, region, age group and day with data; money in whole cents."""

_KPI_TEXTS = (
    "KpiName",
    "Symbol",
    "PanelName",
    "UnitOfMeasure",
    "StatementType",
    "KpiClass",
    "MeasureName",
    "Brands",
)
SCHEMAS = {
    "panels": dict.fromkeys(("PanelName", "ProviderName"), "string"),
    "companies": dict.fromkeys(
        ("Symbol", "InstrumentName", "Sector", "Industry", "FiscalYearEnd"), "string"
    ),
    "kpis": {"KpiId": "int64"}
    | dict.fromkeys(_KPI_TEXTS, "string")
    | {"IsPrimary": "boolean"},
}
"""The columns of each table of `Reference`, in the order of its fields, named as the listing functions return them."""


def arrow_table(columns: Mapping[str, str], rows: Iterable[Sequence[Any]]) -> pa.Table:
    """Return rows as a table with these columns."""
    import pyarrow as pa

    records = [dict(zip(columns, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(records, schema=arrow_schema(columns))


def arrow_schema(columns: Mapping[str, str]) -> pa.Schema:
    """Return the schema of columns whose types are named as ibis names them."""
    import pyarrow as pa

    own = {"boolean": "bool", "date": "date32"}
    return pa.schema(
        {name: pa.type_for_alias(own.get(kind, kind)) for name, kind in columns.items()}
    )


DIMENSIONS = {"Age Group": "generation", "Region": "region", "Brand": "merchant"}
"""The dimensions, with their columns of card spend."""


class DataSet(NamedTuple):
    """A data set, called a panel on the wire."""

    name: str
    provider: str


class Company(NamedTuple):
    """A company; `symbol` is ``<ticker> <region> EQUITY``, `fiscal_year_end` names its fiscal calendar or last day."""

    symbol: str
    name: str
    sector: str
    industry: str
    fiscal_year_end: str


class Brand(NamedTuple):
    """A brand, called a merchant in card spend, and the symbol of its owner."""

    name: str
    symbol: str


class Kpi(NamedTuple):
    """A figure that a company reports and a data set tracks, for some of the company's brands."""

    id: int
    name: str
    symbol: str
    panel: str
    unit: str
    statement: str
    kpi_class: str
    measure: str
    brands: tuple[str, ...]
    is_primary: bool


class Report(NamedTuple):
    """A saved report: spend on some companies in one data set."""

    id: str
    title: str
    panel: str
    symbols: tuple[str, ...]


@dataclass(frozen=True)
class Reference:
    panels: Sequence[DataSet]
    companies: Sequence[Company]
    brands: Sequence[Brand]
    kpis: Sequence[Kpi]
    reports: Sequence[Report]
    calendars: Mapping[str, Sequence[Period]]
    dimensions: Mapping[str, str] = field(default_factory=lambda: dict(DIMENSIONS))
    generations: Sequence[str] = ()

    def heading(self, dimension: str) -> str:
        """Return the column name for a listing of a dimension's values, such as Merchant for Brand."""
        return self.dimensions[dimension].capitalize()

    @cached_property
    def _names(self) -> dict[str, dict[str, str]]:
        kinds = ("panels", "companies", "brands")  # whose items begin with their names
        return {
            kind: _by_spelling(item[0] for item in getattr(self, kind))
            for kind in kinds
        }

    @cached_property
    def _tickers(self) -> Messages:
        symbols: Messages = {}
        for company in self.companies:
            symbols.setdefault(_folded(company.symbol.split()[0]), []).append(
                company.symbol
            )
        return symbols

    @cached_property
    def _owners(self) -> dict[str, str]:
        return {brand.name: brand.symbol for brand in self.brands}

    def panel(self, text: str) -> str:
        """Return the name of a data set in its own spelling; raises `ValueError`."""
        return _match(text, self._names["panels"])

    def brand(self, text: str) -> str:
        """Return the name of a brand in its own spelling; raises `ValueError`."""
        return _match(text, self._names["brands"])

    def symbol(self, text: str) -> str:
        """Return a symbol, matched whole or by an unambiguous ticker; raises `ValueError`."""
        symbols = self._names["companies"]
        by_ticker = self._tickers.get(_folded(text))
        if not by_ticker or _folded(text) in symbols:
            return _match(text, symbols)
        if len(by_ticker) > 1:
            raise ValueError(
                f"is the ticker of {quoted_list(by_ticker)}; use one of these."
            )

        return by_ticker[0]

    def owner(self, brand: str) -> str:
        """Return the symbol of the company that owns a brand."""
        return self._owners[brand]

    def owned(self, symbols: Sequence[str]) -> list[str]:
        return [brand.name for brand in self.brands if brand.symbol in symbols]

    def fiscal_year_end(self, symbol: str) -> str:
        return next(
            company.fiscal_year_end
            for company in self.companies
            if company.symbol == symbol
        )

    def calendar(self, symbols: Sequence[str]) -> list[Period]:
        """Return the common fiscal quarters of some companies; one is reported once all of them have reported it."""
        by_name: dict[str, list[Period]] = {}
        for symbol in symbols:
            for period in self.calendars[symbol]:
                by_name.setdefault(period.period_name, []).append(period)

        if any(
            len({(period.start, period.end) for period in same}) > 1
            for same in by_name.values()
        ):
            raise ValueError("different fiscal calendars")

        return [
            next((period for period in same if not period.is_historical), same[0])
            for same in by_name.values()
            if len(same) == len(symbols)
        ]

    def report(self, identifier: str) -> Report:
        return next(report for report in self.reports if report.id == identifier)

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """Return the rows of a table of `SCHEMAS`."""
        items = getattr(self, table)
        return [
            tuple(", ".join(cell) if isinstance(cell, tuple) else cell for cell in item)
            for item in items
        ]


def _by_spelling(names: Iterable[str]) -> dict[str, str]:
    """Map every accepted spelling to its name; exact spellings win."""
    names = list(names)
    return {_folded(name): name for name in names} | {name: name for name in names}


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())


def _match(text: str, names: Mapping[str, str]) -> str:
    if name := names.get(text) or names.get(_folded(text)):
        return name
    raise ValueError(f"is not known.{suggestion(text, names.values())}")


UNKNOWN = "Unknown"
"""The value of a dimension where a row has none."""

# The product of longer decimals overflows.
_MOST_DIGITS = 30


class Cards(NamedTuple):
    """Where card spend is stored, in Parquet files or a table of the engine, and how its columns map to `CARDS`."""

    schema: Mapping[str, str]
    columns: Mapping[str, str]
    files: tuple[str, ...] = ()
    table: tuple[str, ...] = ()
    panel: str | None = None
    spend_unit: Literal["cents", "units"] = "cents"
    has_unknown: frozenset[str] = frozenset()

    @classmethod
    def parquet(cls, path: Path) -> Cards:
        """Return card spend in a Parquet file with the columns of `CARDS`."""
        return cls(
            schema=CARDS, columns={name: name for name in CARDS}, files=(str(path),)
        )

    def mapped(self, source: ir.Table) -> ir.Table:
        """Map the columns of the source table to those of `schema`."""
        return source.select(
            **{name: self._column(source, name) for name in self.schema}
        )

    def _column(self, source: ir.Table, name: str) -> ir.Value:
        import ibis

        if name == "panel" and self.panel:
            return ibis.literal(self.panel)
        column = source[self.columns[name]]
        if name == "spend_cents":
            column = _cents(column, self.spend_unit)
        if name in self.has_unknown:
            column = column.fill_null(
                source[self.columns["symbol"]] if name == "merchant" else UNKNOWN
            )

        return column.cast(self.schema[name])


def _cents(spend: ir.NumericColumn, unit: str) -> ir.NumericColumn:
    kind = spend.type()
    factor, places = (100, 2) if unit == "units" else (1, 0)
    is_money = (
        kind.is_decimal()
        and (kind.precision or 0) <= _MOST_DIGITS
        and (kind.scale or 0) <= places
    )
    if kind.is_integer() or is_money:
        return spend * factor if factor > 1 else spend
    # Not `round`, because engines round halves differently.
    return (spend.cast("float64") * factor + 0.5).floor()

"""
The section ``[data]`` of a configuration: where a team's tables lie and what their columns mean.

The least that serves a team's own data, here in Parquet files with a row a company, brand, state and day::

    organisation = "Acme"

    [data]
    parquet = "cards/*.parquet"

    [data.columns]
    date = "day"
    symbol = "ticker"
    spend = "spend_usd"
    transactions = "transactions"
    cards = "active_cards"

    [data.dimensions]
    Brand = "brand_name"
    Region = "state"

    [data.calendar]
    rule = "December"
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import AfterValidator, Field, Strict, model_validator

from .calendar import FISCAL_YEAR_ENDS
from .reference import DIMENSIONS
from .sections import FilePath, Name, Section, SomeNames
from .words import did_you_mean, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

BRAND = "Brand"

_COLUMNS_OF_CARDS = ("panel", "symbol", "date", "spend_cents", "transactions", "cards")
_COLUMNS_OF_RESULTS = (
    *("periodlabel", "periodtodate", "periodstartdate", "periodenddate", "iscurrentquarter", "compared"),
    *("spend", "transaction count", "transactions per card", "cardholder count"),
    *("spend per transaction", "spend per card"),
)


def dimension_columns(dimensions: Iterable[str]) -> dict[str, str]:
    """Give the column of card spend for each dimension that is mapped, and for Brand, which is always one."""
    names = dict.fromkeys([*dimensions, BRAND])
    return {name: DIMENSIONS.get(name, name.casefold()) for name in names}


def _dimensions(mapped: Mapping[str, str]) -> Mapping[str, str]:
    taken = [
        name
        for name, column in dimension_columns(mapped).items()
        if column in _COLUMNS_OF_CARDS or name.casefold().removesuffix(" growth") in _COLUMNS_OF_RESULTS
    ]
    if taken:
        raise ValueError(
            f"takes no dimension {listed(taken)}: results have a column of this name. Choose another name."
        )
    by_column: dict[str, list[str]] = {}
    for name, column in dimension_columns(mapped).items():
        by_column.setdefault(column, []).append(name)
        if name != " ".join(name.split()) or not name:
            raise ValueError(f"has the dimension {quoted(name)}. Write its name without spaces around it.")
    if same := next((names for names in by_column.values() if len(names) > 1), None):
        raise ValueError(f"cannot tell {listed(same)} apart. Choose names that differ in more than case.")
    return mapped


def _year_end(name: str) -> str:
    if name not in FISCAL_YEAR_ENDS:
        near = did_you_mean(name, list(FISCAL_YEAR_ENDS))
        raise ValueError(f"has no option {quoted(name)}.{near} Options are {listed(FISCAL_YEAR_ENDS)}.")
    return name


class Place(Section):
    """Where a small table of reference data lies: in a file, or in the engine."""

    parquet: FilePath | None = None
    csv: FilePath | None = None
    table: Name | None = None

    @property
    def places(self) -> int:
        """How many places it names."""
        return sum(each is not None for each in (self.parquet, self.csv, self.table))


class OnePlace(Place):
    """Where a small table lies that nothing else can stand for."""

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.places != 1:
            raise ValueError("takes one of parquet, csv and table.")
        return self


class CompanyColumns(Section):
    """The columns of the companies; those that are not named here are taken where the table has them."""

    symbol: Name = "symbol"
    name: Name = "name"
    sector: Name = "sector"
    industry: Name = "industry"
    fiscal_year_end: Name = "fiscal_year_end"


class KpiColumns(Section):
    """The columns of the KPIs; those that are not named here are taken where the table has them."""

    symbol: Name = "symbol"
    name: Name = "name"
    id: Name = "id"
    panel: Name = "panel"
    unit: Name = "unit"
    statement: Name = "statement"
    kpi_class: Name = "kpi_class"
    measure: Name = "measure"
    brands: Name = "brands"
    is_primary: Name = "is_primary"


class CalendarColumns(Section):
    """The columns of the fiscal calendar; `symbol` and `is_historical` are taken where the table has them."""

    symbol: Name = "symbol"
    period_name: Name = "period_name"
    start: Name = "start"
    end: Name = "end"
    is_historical: Name = "is_historical"


class Companies(OnePlace):
    """The companies: ``[data.companies]``."""

    columns: CompanyColumns = CompanyColumns()


class Kpis(OnePlace):
    """What companies report: ``[data.kpis]``."""

    columns: KpiColumns = KpiColumns()


class Calendar(Place):
    """
    The fiscal calendar: ``[data.calendar]``, a row a quarter, or a rule for the companies that name none.

    Attributes
    ----------
    reported_after_days
        How many days after its end a quarter counts as reported, where no row says.
    """

    columns: CalendarColumns = CalendarColumns()
    rule: Annotated[str, AfterValidator(_year_end)] | None = None
    reported_after_days: int = Field(default=45, ge=0, le=366)

    @model_validator(mode="after")
    def _rows_or_rule(self) -> Self:
        if self.places + (self.rule is not None) != 1:
            raise ValueError("takes one of rule (such as 'December'), parquet, csv and table.")
        return self


class Columns(Section):
    """The columns of card spend: ``[data.columns]``; `panel` only where a column says it."""

    date: Name = "date"
    symbol: Name = "symbol"
    spend: Name = "spend"
    transactions: Name = "transactions"
    cards: Name = "cards"
    panel: Name | None = None


class SavedReport(Section):
    """A saved report: one of ``[[data.reports]]``; its panel may be left out where there is but one."""

    id: Name
    title: Name
    symbols: SomeNames
    panel: Name | None = None


class Data(Section):
    """
    The team's own data.

    Attributes
    ----------
    panel
        The panel of every row, where no column says it.
    dimensions
        The column of the source behind each dimension.
    panels
        The provider of each panel.
    """

    parquet: FilePath | None = None
    table: Name | None = None
    spend_unit: Literal["units", "cents"] = "units"
    panel: Name = "Card Panel"
    columns: Columns = Columns()
    dimensions: Annotated[dict[str, Name], AfterValidator(_dimensions)] = Field(default_factory=dict)
    panels: dict[str, str] = Field(default_factory=dict)
    companies: Companies | None = None
    kpis: Kpis | None = None
    calendar: Calendar
    reports: Annotated[tuple[SavedReport, ...], Strict(strict=False)] = ()

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.parquet is None) == (self.table is None):
            raise ValueError("takes one of parquet and table, which says where card spend lies.")
        if self.columns.panel is not None and "panel" in self.model_fields_set:
            raise ValueError("has a panel and a column of panels. Leave one of them.")
        return self

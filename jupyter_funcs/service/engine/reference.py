"""Reference data: the panels, companies, brands, KPIs and reports that a service knows, and how callers name them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from .words import did_you_mean, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .calendar import Period

DIMENSIONS = {"Age Group": "generation", "Region": "region", "Brand": "merchant"}
"""The dimensions that the service's functions name, with their columns of card spend (SERVICE.md 2)."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel data set."""

    name: str
    provider: str


@dataclass(frozen=True, slots=True)
class Company:
    """A company; `symbol` is ``<ticker> <region> EQUITY``, `fiscal_year_end` a key of `calendar.FISCAL_YEAR_ENDS`."""

    symbol: str
    name: str
    sector: str
    industry: str
    fiscal_year_end: str


@dataclass(frozen=True, slots=True)
class Brand:
    """A brand, called merchant in a panel, and the symbol of the company that owns it."""

    name: str
    symbol: str


@dataclass(frozen=True, slots=True)
class Kpi:
    """A figure that a company reports and a panel follows; `brands` are those of the company that it covers."""

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


@dataclass(frozen=True, slots=True)
class Report:
    """A saved report: the spend of some companies' customers in one panel."""

    id: str
    title: str
    panel: str
    symbols: tuple[str, ...]


@dataclass(frozen=True)
class Reference:
    """
    All reference data of a service.

    Attributes
    ----------
    calendars
        The fiscal quarters of each company, by symbol, in order of time.
    dimensions
        What results are broken down by, in the order of the listing, each with its column of card spend; Brand, whose
        column is merchant, is always one of them.
    generations
        The values of Age Group, by name; empty where it is no dimension.
    """

    panels: Sequence[Panel]
    companies: Sequence[Company]
    brands: Sequence[Brand]
    kpis: Sequence[Kpi]
    reports: Sequence[Report]
    calendars: Mapping[str, Sequence[Period]]
    dimensions: Mapping[str, str] = field(default_factory=lambda: dict(DIMENSIONS))
    generations: Sequence[str] = ()

    def heading(self, dimension: str) -> str:
        """Give the name under which a dimension's values are listed, such as Merchant for Brand."""
        return self.dimensions[dimension].capitalize()

    @cached_property
    def _panels(self) -> dict[str, str]:
        return _by_spelling(panel.name for panel in self.panels)

    @cached_property
    def _symbols(self) -> dict[str, str]:
        return _by_spelling(company.symbol for company in self.companies)

    @cached_property
    def _brands(self) -> dict[str, str]:
        return _by_spelling(brand.name for brand in self.brands)

    @cached_property
    def _owners(self) -> dict[str, str]:
        return {brand.name: brand.symbol for brand in self.brands}

    def panel(self, text: str) -> str:
        """Give the name of the panel that a caller means; raises `ValueError`."""
        return _match(text, self._panels)

    def brand(self, text: str) -> str:
        """Give the name of the brand that a caller means; raises `ValueError`."""
        return _match(text, self._brands)

    def symbol(self, text: str) -> str:
        """Give the symbol that a caller means: matched whole, else by an unambiguous ticker; raises `ValueError`."""
        if whole := self._symbols.get(text) or self._symbols.get(_folded(text)):
            return whole
        symbols = [company.symbol for company in self.companies]
        by_ticker = [symbol for symbol in symbols if _folded(symbol.split()[0]) == _folded(text)]
        if len(by_ticker) > 1:
            raise ValueError(f"is the ticker of {listed(by_ticker)}; give one of these.")
        return by_ticker[0] if by_ticker else _match(text, self._symbols)

    def owner(self, brand: str) -> str:
        """Give the symbol of the company that owns a brand."""
        return self._owners[brand]

    def owned(self, symbols: Sequence[str]) -> list[str]:
        """Give the brands that some companies own."""
        return [each.name for each in self.brands if each.symbol in symbols]

    def fiscal_year_end(self, symbol: str) -> str:
        """Give the name of a company's fiscal calendar."""
        return next(each.fiscal_year_end for each in self.companies if each.symbol == symbol)

    def calendar(self, symbols: Sequence[str]) -> list[Period]:
        """
        Give the fiscal quarters that some companies share; one is reported when all of them have reported it.

        Raises
        ------
        ValueError
            Quarters of one name are not of the same days: the companies have different fiscal calendars.
        """
        by_name: dict[str, list[Period]] = {}
        for symbol in symbols:
            for period in self.calendars[symbol]:
                by_name.setdefault(period.period_name, []).append(period)
        if any((each.start, each.end) != (same[0].start, same[0].end) for same in by_name.values() for each in same):
            raise ValueError("different fiscal calendars")
        return [
            next((each for each in same if not each.is_historical), same[0])
            for same in by_name.values()
            if len(same) == len(symbols)
        ]

    def report(self, identifier: str) -> Report:
        """Give a saved report by its id."""
        return next(each for each in self.reports if each.id == identifier)


def _by_spelling(names: Iterable[str]) -> dict[str, str]:
    """Give names by how they may be spelled; one that is spelled exactly so comes first."""
    names = list(names)
    return {_folded(name): name for name in names} | {name: name for name in names}


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())


def _match(text: str, names: Mapping[str, str]) -> str:
    if found := names.get(text) or names.get(_folded(text)):
        return found
    raise ValueError(f"is not known.{did_you_mean(text, list(names.values()))}")

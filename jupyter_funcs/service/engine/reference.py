"""Reference data: data sets, companies, brands, KPIs and reports, and how callers may spell their names."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from jupyter_funcs.core.text import quoted_list, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from jupyter_funcs.core.errors import Messages
    from jupyter_funcs.service.engine.calendar import Period

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
        return {kind: _by_spelling(item[0] for item in getattr(self, kind)) for kind in kinds}

    @cached_property
    def _tickers(self) -> Messages:
        symbols: Messages = {}
        for company in self.companies:
            symbols.setdefault(_folded(company.symbol.split()[0]), []).append(company.symbol)
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
        if whole := symbols.get(text) or symbols.get(_folded(text)):
            return whole
        by_ticker = self._tickers.get(_folded(text), [])
        if len(by_ticker) > 1:
            raise ValueError(f"is the ticker of {quoted_list(by_ticker)}; use one of these.")
        return by_ticker[0] if by_ticker else _match(text, symbols)

    def owner(self, brand: str) -> str:
        """Return the symbol of the company that owns a brand."""
        return self._owners[brand]

    def owned(self, symbols: Sequence[str]) -> list[str]:
        return [brand.name for brand in self.brands if brand.symbol in symbols]

    def fiscal_year_end(self, symbol: str) -> str:
        return next(company.fiscal_year_end for company in self.companies if company.symbol == symbol)

    def calendar(self, symbols: Sequence[str]) -> list[Period]:
        """Return the common fiscal quarters of some companies; one is reported once all of them have reported it."""
        by_name: dict[str, list[Period]] = {}
        for symbol in symbols:
            for period in self.calendars[symbol]:
                by_name.setdefault(period.period_name, []).append(period)
        if any(len({(period.start, period.end) for period in same}) > 1 for same in by_name.values()):
            raise ValueError("different fiscal calendars")
        return [
            next((period for period in same if not period.is_historical), same[0])
            for same in by_name.values()
            if len(same) == len(symbols)
        ]

    def report(self, identifier: str) -> Report:
        return next(report for report in self.reports if report.id == identifier)


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

"""A team's own data: what the configuration says of them, held against the tables, becomes what a service runs on."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import TYPE_CHECKING

from . import own_calendar, own_cards, own_tables
from .mapping import dimension_columns
from .own_source import Source, SourceError
from .reference import Brand, Company, Kpi, Panel, Reference, Report
from .words import did_you_mean, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .dataset import Cards
    from .mapping import Data
    from .own_cards import Found
    from .own_tables import Row
    from .settings import Settings


def load(settings: Settings, today: dt.date | None = None) -> tuple[Reference, Callable[[], Cards]]:
    """
    Give the reference data of a team's own data, and what says where its card spend lies.

    Parameters
    ----------
    settings
        Of a configuration that has ``[data]``.
    today
        By which quarters have been reported, where the calendar does not say; by default the day of the call.

    Raises
    ------
    SetupError
        A table cannot be read, or is not what the configuration says of it; names the line.
    """
    data = settings.data
    if data is None:
        raise ValueError("These settings have no data of the team's own.")
    with Source(settings.engine) as source:
        found = own_cards.find(settings, data, source)
        reference = _Loader(settings, data, source, found).reference(today or dt.datetime.now().astimezone().date())
    return reference, lambda: found.cards


class _Loader:
    def __init__(self, settings: Settings, data: Data, source: Source, found: Found) -> None:
        self._settings = settings
        self._data = data
        self._source = source
        self._found = found
        self._panels = sorted({each.panel for each in found.series})
        self._brands: dict[str, list[str]] = {}
        self._days: dict[str, tuple[dt.date, dt.date]] = {}
        for each in found.series:
            first, last = self._days.get(each.symbol, (each.first, each.last))
            self._days[each.symbol] = min(first, each.first), max(last, each.last)
            brands = self._brands.setdefault(each.symbol, [])
            if each.brand not in brands:
                brands.append(each.brand)

    def reference(self, today: dt.date) -> Reference:
        rows = self._company_rows()
        ends = {symbol: rows[symbol].text("fiscal_year_end") if symbol in rows else "" for symbol in self._days}
        place = self._data.calendar
        if place.rule is not None:
            ends = {symbol: end or place.rule for symbol, end in ends.items()}
            calendars = own_calendar.by_rule(self._settings, place, ends, self._days, today)
        else:
            calendars = own_calendar.by_rows(self._settings, place, self._source, self._days, today)
            ends = {symbol: end or own_calendar.year_end(calendars[symbol]) for symbol, end in ends.items()}
        reference = Reference(
            panels=self._named_panels(),
            companies=[_company(symbol, rows.get(symbol), ends[symbol]) for symbol in sorted(self._days)],
            brands=[
                Brand(brand, symbol) for symbol, brands in sorted(self._brands.items()) for brand in sorted(brands)
            ],
            kpis=self._kpis(),
            reports=(),
            calendars=calendars,
            dimensions=dimension_columns(self._data.dimensions),
            generations=self._found.generations,
        )
        return replace(reference, reports=self._reports(reference))

    def _named_panels(self) -> list[Panel]:
        for name in self._data.panels:
            if name not in self._panels:
                near = did_you_mean(name, self._panels) or f" Panels are {listed(self._panels)}."
                self._settings.fail(("data", "panels", name), f"the data have no panel {quoted(name)}.{near}")
        return [Panel(name, self._data.panels.get(name, self._settings.organisation)) for name in self._panels]

    def _company_rows(self) -> Mapping[str, Row]:
        place, key = self._data.companies, ("data", "companies")
        if place is None:
            return {}
        found: dict[str, Row] = {}
        for row in own_tables.read(self._settings, key, place, ("symbol",), self._source):
            symbol = row.text("symbol")
            if symbol in found:
                self._settings.fail(key, f"{row.where}: {quoted(symbol)} is there twice. Leave one row a company.")
            found[symbol] = row
        return found

    def _kpis(self) -> list[Kpi]:
        place, key = self._data.kpis, ("data", "kpis")
        if place is None:
            return []
        rows = own_tables.read(self._settings, key, place, ("symbol", "name"), self._source)
        try:
            kpis = [self._kpi(number, row) for number, row in enumerate(rows, 1) if row.text("symbol") in self._days]
        except SourceError as error:
            self._settings.fail(key, str(error))
        by_id = {kpi.id: kpi for kpi in kpis}
        if twice := next((kpi for kpi in kpis if by_id[kpi.id] is not kpi), None):
            self._settings.fail(key, f"two KPIs have the id {twice.id}: {listed([twice.name, by_id[twice.id].name])}.")
        return kpis

    def _kpi(self, number: int, row: Row) -> Kpi:
        symbol, is_primary = row.text("symbol"), row.flag("is_primary")
        try:
            panel = self._panel(row.text("panel"))
        except SourceError as error:
            raise SourceError(f"{row.where}: {error}") from error
        brands = tuple(brand.strip() for brand in row.text("brands").split(",") if brand.strip())
        return Kpi(
            id=number if not row.text("id") else row.whole("id"),
            name=row.required("name"),
            symbol=symbol,
            panel=panel,
            unit=row.text("unit"),
            statement=row.text("statement"),
            kpi_class=row.text("kpi_class"),
            measure=row.text("measure"),
            brands=brands or tuple(sorted(self._brands[symbol])),
            is_primary=is_primary is not False,
        )

    def _panel(self, name: str | None) -> str:
        if name in self._panels:
            return name
        if name:
            raise SourceError(f"there is no panel {quoted(name)}.{did_you_mean(name, self._panels)}")
        if len(self._panels) > 1:
            raise SourceError(f"a panel is needed: there are {listed(self._panels)}.")
        return self._panels[0]

    def _reports(self, reference: Reference) -> list[Report]:
        found: dict[str, Report] = {}
        for number, each in enumerate(self._data.reports):
            key = ("data", "reports", number)
            if each.id.casefold() in found:
                self._settings.fail((*key, "id"), f"two reports have the id {quoted(each.id)}.")
            try:
                panel = self._panel(each.panel)
            except SourceError as error:
                self._settings.fail((*key, "panel"), str(error))
            symbols = []
            for symbol in each.symbols:
                try:
                    symbols.append(reference.symbol(symbol))
                except ValueError as error:
                    self._settings.fail((*key, "symbols"), f"the symbol {quoted(symbol)} {error}")
            found[each.id.casefold()] = Report(each.id, each.title, panel, tuple(symbols))
        return list(found.values())


def _company(symbol: str, row: Row | None, fiscal_year_end: str) -> Company:
    texts = {use: row.text(use) if row else "" for use in ("name", "sector", "industry")}
    return Company(symbol, texts["name"] or symbol, texts["sector"], texts["industry"], fiscal_year_end)

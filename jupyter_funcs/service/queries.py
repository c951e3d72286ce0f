"""
The built-in functions as ibis expressions: they name no engine, and run unchanged wherever the tables are.

Measures, growth and periods are those of SERVICE.md 2 and 3.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import ibis
import pyarrow as pa

from . import calendar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    import ibis.expr.types as ir

    from .calendar import Period, Window
    from .engine import Call
    from .reference import Report

COLUMNS = {"Age Group": "generation", "Region": "region", "Brand": "merchant"}
"""The column of card spend behind each dimension."""

MEASURES = (
    "Spend",
    "Transaction Count",
    "Transactions per Card",
    "Cardholder Count",
    "Spend per Transaction",
    "Spend per Card",
)
"""The measures of a card-spend panel, in the order of their columns."""

DAYS_A_YEAR = 364
"""A year of daily growth: whole weeks, so that weekdays compare with themselves."""

_UNITS = {"day": "D", "week": "W", "month": "M", "quarter": "Q"}

_WINDOW = {
    "PeriodLabel": "string",
    "PeriodToDate": "boolean",
    "PeriodStartDate": "date",
    "PeriodEndDate": "date",
    "IsCurrentQuarter": "boolean",
    "compared": "string",
}


@dataclass(frozen=True, slots=True)
class Selection:
    """Whose card spend is read: a panel, and a symbol, some brands, or some brands of a symbol."""

    panel: str
    symbol: str | None
    brands: Sequence[str]

    def symbols(self, call: Call) -> list[str]:
        """Give the symbols that it touches."""
        return [self.symbol] if self.symbol else sorted({call.reference.owner(brand) for brand in self.brands})

    def rows(self, call: Call) -> ir.Table:
        """Give its rows of card spend."""
        cards = call.table("cards")
        # Brands select by their owners too: the data are sorted by symbol, and most of them are never read.
        chosen = cards.filter(cards.panel == self.panel, cards.symbol.isin(self.symbols(call)))
        return chosen.filter(chosen.merchant.isin(self.brands)) if self.brands else chosen


def panels(call: Call) -> ir.Table:
    """Give the panels, by name."""
    return call.table("panels").order_by("PanelName")


def universe(call: Call) -> ir.Table:
    """Give the companies, by symbol."""
    return call.table("companies").order_by("Symbol")


def kpis(call: Call, symbol: str, panel: str | None, *, primary_only: bool) -> ir.Table:
    """Give the KPIs of a company, in one panel or in all."""
    found = call.table("kpis")
    found = found.filter(found.Symbol == symbol)
    if panel:
        found = found.filter(found.PanelName == panel)
    if primary_only:
        found = found.filter(found.IsPrimary)
    return found.order_by("KpiId")


def panel_dimensions(call: Call, panel: str, dimensions: Sequence[str]) -> ir.Table:
    """Give the values of some dimensions in a panel; several give their combinations."""
    cards = call.table("cards")
    columns = [COLUMNS[dimension] for dimension in dimensions]
    found = cards.filter(cards.panel == panel).select(columns).distinct().order_by(columns)
    return found.rename({column.capitalize(): column for column in columns})


def report(  # noqa: PLR0913 - the parameters of the service's function
    call: Call, saved: Report, unit: str, *, after: date | None, generation: str | None, brands: Sequence[str]
) -> ir.Table:
    """Give the spend series of a saved report."""
    cards = call.table("cards")
    chosen = [cards.panel == saved.panel, cards.symbol.isin(saved.symbols)]
    if after:
        chosen.append(cards.date >= after)
    if generation:
        chosen.append(cards.generation == generation)
    if brands:
        chosen.append(cards.merchant.isin(brands))
    rows = cards.filter(chosen)
    # Through a timestamp: engines differ in whether a truncated date, or one moved by days, is a date or a timestamp.
    start = rows.date.cast("timestamp").truncate(_UNITS[unit]).cast("date")
    series = rows.group_by(Date=start).agg(Spend=_currency(rows.spend_cents.sum()))
    return series.order_by("Date")


def panel_daily(call: Call, selection: Selection, dimensions: Sequence[str], lookback: int | None) -> ir.Table:
    """Give the measures by day, with growth over the day `lookback` years earlier unless that is none."""
    days = _days(selection.rows(call), dimensions)
    spend = _currency(days.cents)
    keys = ["Date", *dimensions]
    measured = days.select(
        *keys,
        **_named(
            spend,
            days.transactions,
            days.transactions / days.cards.nullif(0),
            days.cards,
            spend / days.transactions.nullif(0),
            spend / days.cards.nullif(0),
        ),
    )
    if lookback:
        moved = measured.Date.cast("timestamp") + ibis.interval(days=DAYS_A_YEAR * lookback)
        earlier = measured.mutate(Date=moved.cast("date"))
        measured = _with_growth(measured, earlier, {key: key for key in keys})
    return measured.order_by(keys)


def panel_fq(  # noqa: PLR0913 - the parameters of the service's function
    call: Call,
    selection: Selection,
    dimensions: Sequence[str],
    lookback: int | None,
    *,
    to_date: bool,
    reported: bool,
) -> ir.Table | list[dict[str, object]]:
    """Give the measures by fiscal quarter, with growth over the quarter of the same name `lookback` years earlier."""
    rows = selection.rows(call)
    [bounds] = call.fetch(rows.agg(first=rows.date.min(), last=rows.date.max()))
    if bounds["first"] is None:
        return []
    windows = calendar.windows(
        _calendar(call, selection),
        bounds["first"],
        bounds["last"],
        lookback=lookback or 0,
        to_date=to_date,
        reported=reported,
    )
    days = _days(rows, dimensions)
    days = days.mutate(per_card=days.transactions / days.cards.nullif(0))
    periods = ibis.memtable(_table(windows))
    joined = days.join(periods, [days.Date >= periods.PeriodStartDate, days.Date <= periods.PeriodEndDate])
    keys = [*_WINDOW, *dimensions]
    sums = joined.group_by(keys).agg(
        cents=joined.cents.sum(),
        transactions=joined.transactions.sum(),
        # In order of time: a mean of fractions added up in any other order has other last digits.
        per_card=joined.per_card.collect(order_by=joined.Date).means(),
    )
    spend = _currency(sums.cents)
    sums = sums.mutate(cardholders=sums.transactions / sums.per_card.nullif(0))
    measured = sums.select(
        *keys,
        **_named(
            spend,
            sums.transactions,
            sums.per_card,
            sums.cardholders,
            spend / sums.transactions.nullif(0),
            spend / sums.cardholders.nullif(0),
        ),
    )
    if lookback:
        on = {"compared": "PeriodLabel", "PeriodToDate": "PeriodToDate"} | {name: name for name in dimensions}
        measured = _with_growth(measured, measured, on)
    return measured.drop("compared").order_by(["PeriodToDate", "PeriodStartDate", *dimensions])


def _calendar(call: Call, selection: Selection) -> list[Period]:
    """Give the fiscal quarters of a selection; one is reported when all the companies have reported it."""
    first, *others = (call.reference.calendars[symbol] for symbol in selection.symbols(call))
    return [
        next((period for period in same if not period.is_historical), same[0])
        for same in zip(first, *others, strict=True)
    ]


def _table(windows: Sequence[Window]) -> pa.Table:
    rows = [dict(zip(_WINDOW, asdict(window).values(), strict=True)) for window in windows]
    return pa.Table.from_pylist(rows, schema=ibis.schema(_WINDOW).to_pyarrow())


def _days(rows: ir.Table, dimensions: Sequence[str]) -> ir.Table:
    """Add rows up by day and dimensions."""
    keys = {"Date": rows.date} | {dimension: rows[COLUMNS[dimension]] for dimension in dimensions}
    return rows.group_by(**keys).agg(
        cents=rows.spend_cents.sum(), transactions=rows.transactions.sum(), cards=rows.cards.sum()
    )


def _currency(cents: ir.IntegerValue) -> ir.FloatingValue:
    return cents / 100


def _named(*values: ir.Value) -> dict[str, ir.Value]:
    return dict(zip(MEASURES, values, strict=True))


def _with_growth(measured: ir.Table, earlier: ir.Table, on: dict[str, str]) -> ir.Table:
    """
    Put a growth column after each measure: value / earlier value - 1, null where that is absent or zero.

    Parameters
    ----------
    on
        The columns of `measured` that find the earlier row, and those of `earlier` that they equal.
    """
    earlier = earlier.select(
        **{f"on {name}": earlier[name] for name in on.values()},
        **{f"earlier {name}": earlier[name] for name in MEASURES},
    )
    both = measured.left_join(earlier, [measured[left] == earlier[f"on {right}"] for left, right in on.items()])
    columns = {}
    for name in measured.columns:
        columns[name] = both[name]
        if name in MEASURES:
            columns[f"{name} Growth"] = both[name] / both[f"earlier {name}"].nullif(0) - 1
    return both.select(**columns)

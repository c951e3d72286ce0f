"""The queries of the built-in functions as ibis expressions, which run unchanged on every engine."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from jupyter_funcs.service.engine.calls import Query
from jupyter_funcs.service.engine.tables import arrow_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import ibis.expr.types as ir
    import pyarrow as pa

    from jupyter_funcs.service.engine.calendar import Window

    Tables: TypeAlias = Callable[[str], ir.Table]
    Values: TypeAlias = Mapping[str, Any]
    # The names of dimensions, each with its column of card spend.
    Dimensions: TypeAlias = tuple[tuple[str, str], ...]


@functools.cache
def ready() -> dict[str, Any]:
    """
    Return the SQL of the most frequent shapes, compiled beforehand.

    Without it the first call of a process takes 1.6 times as much of the processor (3.4 s in place of 2.2 s, on a busy
    machine), for ibis and its compiler: ``python -m tests.benchmarks.service cold``.
    """
    statements: dict[str, Any] = json.loads(
        Path(__file__).with_name("statements.json").read_text(encoding="utf-8")
    )
    return statements


query = functools.partial(Query, ready=ready)

DAYS_PER_YEAR = 364
"""A year in daily growth: whole weeks, so that each day is compared with the same weekday."""

_CENTS = 100  # in a unit of the currency
_UNITS = {"day": "D", "week": "W", "month": "M", "quarter": "Q"}

_WINDOW = {
    "PeriodLabel": "string",
    "PeriodToDate": "boolean",
    "PeriodStartDate": "date",
    "PeriodEndDate": "date",
    "IsCurrentQuarter": "boolean",
    "compared": "string",
}

# The two parts of a number in `_mean`.
_COARSE = 2**20
_FINE = 2**33

# The columns from which the measures are computed.
_COUNTED = ("cents", "transactions", "per_card", "cardholders")


def panels(table: Tables, _values: Values) -> ir.Table:
    return table("panels").order_by("PanelName")


def universe(table: Tables, _values: Values) -> ir.Table:
    return table("companies").order_by("Symbol")


def kpis(table: Tables, values: Values, primary_only: bool) -> ir.Table:  # noqa: FBT001 - part of the query's shape
    """Return the KPIs of a company, in one panel or in all."""
    rows = table("kpis")
    rows = rows.filter(rows.Symbol == values["symbol"])
    if "panel" in values:
        rows = rows.filter(rows.PanelName == values["panel"])
    if primary_only:
        rows = rows.filter(rows.IsPrimary)
    return rows.order_by("KpiId")


def panel_dimensions(table: Tables, values: Values, headings: Dimensions) -> ir.Table:
    """Return the values of a dimension in a panel, or the combinations of several."""
    cards = table("cards")
    rows = cards.filter(cards.panel == values["panel"])
    # Grouped, because Spark confuses a selected `Region` with the column `region`.
    groups = rows.group_by(
        **{heading: rows[column] for heading, column in headings}
    ).agg()
    return groups.order_by(groups.columns)


def report(
    table: Tables, values: Values, unit: str, generation: str | None
) -> ir.Table:
    """Return the spend series of a saved report; `generation` is the column of age groups."""
    rows = _rows(table, values)
    if "after" in values:
        rows = rows.filter(rows.date >= values["after"])
    if "generation" in values:
        rows = rows.filter(rows[generation] == values["generation"])
    # Engines differ in whether a truncated date is a date or a timestamp: convert explicitly.
    start = rows.date.cast("timestamp").truncate(_UNITS[unit]).cast("date")
    series = rows.group_by(Date=start).agg(Spend=rows.spend_cents.sum() / _CENTS)
    return series.order_by("Date")


def panel_daily(
    table: Tables, values: Values, dimensions: Dimensions, lookback: int | None
) -> ir.Table:
    """Return the measures by day, and if `lookback` is set, growth over the day that many years earlier."""
    import ibis

    days = _days(_rows(table, values), dimensions)
    counted = days.mutate(cardholders=days.cards)
    keys = ["Date", *(name for name, _ in dimensions)]
    if not lookback:
        return counted.select(*keys, **_measures(counted)).order_by(keys)
    moved = counted.Date.cast("timestamp") + ibis.interval(
        days=DAYS_PER_YEAR * lookback
    )
    earlier = counted.mutate(Date=moved.cast("date"))
    return _with_growth(counted, earlier, keys, {key: key for key in keys}).order_by(
        keys
    )


def bounds(table: Tables, values: Values) -> ir.Table:
    rows = _rows(table, values)
    return rows.agg(first=rows.date.min(), last=rows.date.max())


def panel_fq(
    table: Tables,
    values: Values,
    dimensions: Dimensions,
    has_growth: bool,  # noqa: FBT001 - part of the query's shape
) -> ir.Table:
    """Return the measures by the fiscal quarters in `periods`, and growth over the quarters that these compare with."""
    days = _days(_rows(table, values), dimensions)
    quarters = table("periods")
    joined = days.join(
        quarters,
        [days.Date >= quarters.PeriodStartDate, days.Date <= quarters.PeriodEndDate],
    )
    names = [name for name, _ in dimensions]
    sums = joined.group_by([*_WINDOW, *names]).agg(
        cents=joined.cents.sum(),
        transactions=joined.transactions.sum(),
        per_card=_mean(joined.per_card),
    )
    counted = sums.mutate(cardholders=sums.transactions / sums.per_card.nullif(0))
    keys = [*(name for name in _WINDOW if name != "compared"), *names]
    order = ["PeriodToDate", "PeriodStartDate", *names]
    if not has_growth:
        return counted.select(*keys, **_measures(counted)).order_by(order)
    on = {"compared": "PeriodLabel", "PeriodToDate": "PeriodToDate"} | {
        name: name for name in names
    }
    return _with_growth(counted, counted, keys, on).order_by(order)


def periods(windows: Sequence[Window]) -> pa.Table:
    return arrow_table(_WINDOW, windows)


def _rows(table: Tables, values: Values) -> ir.Table:
    """Return the rows of card spend that the values of a selection select."""
    cards = table("cards")
    chosen = [cards.panel == values["panel"], cards.symbol.isin(values["symbols"])]
    if "brands" in values:
        chosen.append(cards.merchant.isin(values["brands"]))
    return cards.filter(chosen)


def _days(rows: ir.Table, dimensions: Dimensions) -> ir.Table:
    """Add rows up by day and dimensions."""
    keys = {"Date": rows.date} | {name: rows[column] for name, column in dimensions}
    days = rows.group_by(**keys).agg(
        cents=rows.spend_cents.sum(),
        transactions=rows.transactions.sum(),
        cards=rows.cards.sum(),
    )
    return days.mutate(per_card=days.transactions / days.cards.nullif(0))


def _mean(values: ir.FloatingValue) -> ir.FloatingValue:
    """Return the mean of fractions, with the same digits whatever the order in which an engine adds them."""
    # Each is split into multiples of 2^-20 and 2^-53: whole numbers add up exactly.
    # Nulls are filled because ClickHouse computes with their hidden values, and rejects an infinity as an integer.
    scaled = values.fill_null(0) * _COARSE
    coarse = scaled.floor()
    fine = ((scaled - coarse) * _FINE).floor()
    total = coarse.sum() / _COARSE + fine.sum() / (_COARSE * _FINE)
    return total / values.count().nullif(0)


def _measures(counted: ir.Table, prefix: str = "") -> dict[str, ir.Value]:
    """Return the measures by name, in the order of their columns, from the columns `_COUNTED` with a prefix."""
    cents, transactions, per_card, cardholders = (
        counted[prefix + name] for name in _COUNTED
    )
    spend = cents / _CENTS
    return {
        "Spend": spend,
        "Transaction Count": transactions,
        "Transactions per Card": per_card,
        "Cardholder Count": cardholders,
        "Spend per Transaction": spend / transactions.nullif(0),
        "Spend per Card": spend / cardholders.nullif(0),
    }


def _with_growth(
    counted: ir.Table, earlier: ir.Table, keys: Sequence[str], on: Mapping[str, str]
) -> ir.Table:
    """Return each measure with its growth: value / earlier value - 1, null if the latter is absent or zero."""
    # Join only the columns from which the measures are computed.
    earlier = earlier.select(
        **{f"on {name}": earlier[name] for name in on.values()},
        **{f"earlier {name}": earlier[name] for name in _COUNTED},
    )
    both = counted.left_join(
        earlier, [counted[left] == earlier[f"on {right}"] for left, right in on.items()]
    )
    now = _measures(both)
    before = _measures(both, "earlier ")
    columns = {key: both[key] for key in keys}
    for name, value in now.items():
        columns[name] = value
        columns[f"{name} Growth"] = value / before[name].nullif(0) - 1

    return both.select(**columns)

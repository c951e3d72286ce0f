"""A team's fiscal calendars: a row a quarter, or a rule, and what they must keep to."""

from __future__ import annotations

import itertools
import re
from datetime import timedelta
from typing import TYPE_CHECKING

from . import own_tables
from .calendar import FISCAL_YEAR_ENDS, Period, relation
from .calendar import periods as quarters
from .own_source import SourceError
from .words import did_you_mean, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from .mapping import Calendar
    from .own_source import Source
    from .own_tables import Row
    from .settings import Settings

    # The first and the last day of a company's data.
    Days = tuple[date, date]

_NAME = re.compile(r"FQ([1-4]) ([0-9]{4})")
_KEY = ("data", "calendar")
_MOST_NAMED = 3


def by_rule(
    settings: Settings, place: Calendar, year_ends: Mapping[str, str], days: Mapping[str, Days], today: date
) -> dict[str, tuple[Period, ...]]:
    """
    Give the fiscal quarters of each company from the name of its fiscal year end, a key of `calendar.FISCAL_YEAR_ENDS`.

    Raises
    ------
    SetupError
        A name is none of these.
    """
    after = timedelta(days=place.reported_after_days)
    found = {}
    for symbol, (first, last) in days.items():
        end = year_ends[symbol]
        if end not in FISCAL_YEAR_ENDS:
            near = did_you_mean(end, list(FISCAL_YEAR_ENDS))
            settings.fail(
                ("data", "companies", "columns", "fiscal_year_end"),
                f"the fiscal year of {symbol} ends in {quoted(end)}, which no rule knows.{near} "
                f"Rules are {listed(FISCAL_YEAR_ENDS)}; for another, give [data.calendar] a row a quarter.",
            )
        found[symbol] = quarters(end, first, last, is_reported=lambda end: end + after <= today)
    return found


def by_rows(
    settings: Settings, place: Calendar, source: Source, days: Mapping[str, Days], today: date
) -> dict[str, tuple[Period, ...]]:
    """
    Give the fiscal quarters of each company from the rows of a table; rows without a symbol are every company's.

    Raises
    ------
    SetupError
        A row cannot be read, two quarters of a company overlap or have one name, they are not in the order of their
        names, or a company with data has none in its days.
    """
    rows = own_tables.read(settings, _KEY, place, ("period_name", "start", "end"), source)
    by_symbol: dict[str, list[Row]] = {}
    for row in rows:
        by_symbol.setdefault(row.text("symbol"), []).append(row)
    shared = by_symbol.get("", [])
    found = {}
    try:
        for symbol, (_, last) in days.items():
            own = [_period(row, place, last, today) for row in (*shared, *by_symbol.get(symbol, []))]
            found[symbol] = _in_order(symbol, own)
    except SourceError as error:
        settings.fail(_KEY, str(error))
    without = [
        symbol
        for symbol, periods in found.items()
        if not any(period.start <= days[symbol][1] and period.end >= days[symbol][0] for period in periods)
    ]
    if without:
        more = f" and {len(without) - _MOST_NAMED} more" if len(without) > _MOST_NAMED else ""
        settings.fail(_KEY, f"no quarter meets the days of {listed(without[:_MOST_NAMED])}{more}. Add their rows.")
    return found


def year_end(periods: Sequence[Period]) -> str:
    """Give the day on which a fiscal year ends, as the last known one has it, such as *31 December*."""
    ends = [period.end for period in periods if period.quarter == 4]
    return f"{ends[-1].day} {ends[-1]:%B}" if ends else ""


def _period(row: Row, place: Calendar, last: date, today: date) -> Period:
    name = row.required("period_name")
    if not (found := _NAME.fullmatch(name)):
        raise SourceError(
            f"{row.where}: {quoted(row.columns['period_name'])} is {quoted(name)}. Growth compares quarters by "
            "number and fiscal year: write FQ<number> <year>, such as 'FQ3 2024'."
        )
    start, end = row.day("start"), row.day("end")
    if start > end:
        raise SourceError(f"{row.where}: {name} ends on {end}, before it starts on {start}.")
    reported = row.flag("is_historical")
    if reported is None:
        reported = end + timedelta(days=place.reported_after_days) <= today
    return Period(int(found[2]), int(found[1]), start, end, reported, relation(start, end, last))


def _in_order(symbol: str, periods: list[Period]) -> tuple[Period, ...]:
    periods = sorted(periods, key=lambda each: (each.start, each.end))
    for one, next_ in itertools.pairwise(periods):
        if next_.start <= one.end:
            raise SourceError(
                f"{one.period_name} ({one.start} to {one.end}) and {next_.period_name} ({next_.start} to {next_.end}) "
                f"of {symbol} overlap. A day belongs to one quarter."
            )
        if (next_.year, next_.quarter) <= (one.year, one.quarter):
            raise SourceError(
                f"{next_.period_name} of {symbol} starts on {next_.start}, after {one.period_name}. "
                "Each name is given once, in the order of time."
            )
    return tuple(periods)

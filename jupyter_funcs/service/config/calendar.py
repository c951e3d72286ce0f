"""Make and check a team's fiscal calendars, from a table with a row per quarter or from a rule."""

from __future__ import annotations

import itertools
import re
from datetime import date, timedelta
from typing import TYPE_CHECKING

from jupyter_funcs.service.config.team_tables import TeamDataError, TeamTables, read_rows
from jupyter_funcs.service.engine.calendar import FISCAL_YEAR_ENDS, Period, relation
from jupyter_funcs.service.engine.calendar import periods as quarters
from jupyter_funcs.service.messages import did_you_mean, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jupyter_funcs.service.config.settings import Calendar, Settings
    from jupyter_funcs.service.config.team_tables import Row

    # The first and last day of a company's data.
    Days = tuple[date, date]

_NAME = re.compile(r"FQ([1-4]) ([0-9]{4})")
_KEY = ("data", "calendar")
_MAX_NAMED = 3


def by_rule(
    settings: Settings, section: Calendar, year_ends: Mapping[str, str], days: Mapping[str, Days], today: date
) -> dict[str, tuple[Period, ...]]:
    """Return the fiscal quarters of each company by the rule in `year_ends`."""
    after = timedelta(days=section.reported_after_days)
    found = {}
    for symbol, (first, last) in days.items():
        end = year_ends[symbol]
        if end not in FISCAL_YEAR_ENDS:
            near = did_you_mean(end, list(FISCAL_YEAR_ENDS))
            settings.fail(
                ("data", "companies", "columns", "fiscal_year_end"),
                f"there is no rule {quoted(end)} for the fiscal year of {symbol}.{near} Rules are "
                f"{listed(FISCAL_YEAR_ENDS)}; for another, give [data.calendar] a table with a row per quarter.",
            )
        found[symbol] = quarters(end, first, last, is_reported=lambda end: end + after <= today)
    return found


def by_rows(
    settings: Settings, section: Calendar, team_tables: TeamTables, days: Mapping[str, Days], today: date
) -> dict[str, tuple[Period, ...]]:
    """Return the fiscal quarters of each company from a table; rows without a symbol apply to all companies."""
    rows = read_rows(settings, _KEY, section, ("period_name", "start", "end"), team_tables)
    by_symbol: dict[str, list[Row]] = {}
    for row in rows:
        by_symbol.setdefault(row.text("symbol"), []).append(row)
    shared = by_symbol.get("", [])
    found = {}
    try:
        for symbol, (_, last) in days.items():
            own = [_period(row, section, last, today) for row in (*shared, *by_symbol.get(symbol, []))]
            found[symbol] = _in_order(symbol, own)
    except TeamDataError as error:
        settings.fail(_KEY, str(error))
    without = [
        symbol
        for symbol, periods in found.items()
        if not any(period.start <= days[symbol][1] and period.end >= days[symbol][0] for period in periods)
    ]
    if without:
        more = f" and {len(without) - _MAX_NAMED} more" if len(without) > _MAX_NAMED else ""
        settings.fail(_KEY, f"no quarter covers the data of {listed(without[:_MAX_NAMED])}{more}. Add rows for them.")
    return found


def year_end(periods: Sequence[Period]) -> str:
    """Return the day on which the last known fiscal year ends, such as *31 December*."""
    ends = [period.end for period in periods if period.quarter == 4]
    return f"{ends[-1].day} {ends[-1]:%B}" if ends else ""


def _period(row: Row, section: Calendar, last: date, today: date) -> Period:
    name = row.required("period_name")
    if not (found := _NAME.fullmatch(name)):
        raise TeamDataError(
            f"{row.where}: {quoted(row.columns['period_name'])} must be FQ<number> <fiscal year>, such as "
            f"'FQ3 2024', not {quoted(name)}."
        )
    start, end = row.day("start"), row.day("end")
    if start > end:
        raise TeamDataError(f"{row.where}: {name} ends on {end}, before its start on {start}.")
    reported = row.flag("is_historical")
    if reported is None:
        reported = end + timedelta(days=section.reported_after_days) <= today
    return Period(int(found[2]), int(found[1]), start, end, reported, relation(start, end, last))


def _in_order(symbol: str, periods: list[Period]) -> tuple[Period, ...]:
    periods = sorted(periods, key=lambda each: (each.start, each.end))
    for one, next_ in itertools.pairwise(periods):
        if next_.start <= one.end:
            raise TeamDataError(
                f"{one.period_name} ({one.start} to {one.end}) and {next_.period_name} ({next_.start} to {next_.end}) "
                f"of {symbol} overlap. A day can only be in one quarter."
            )
        if (next_.year, next_.quarter) <= (one.year, one.quarter):
            raise TeamDataError(
                f"{next_.period_name} of {symbol} starts on {next_.start}, after {one.period_name}. "
                "Quarters must be in chronological order, and each name unique."
            )
    return tuple(periods)

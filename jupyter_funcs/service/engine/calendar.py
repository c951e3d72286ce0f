"""
Fiscal calendars: the quarters of a company's fiscal year, and the date windows of a quarterly report.

A fiscal year is named after the calendar year in which it ends; a retail year, which ends around 31 January, after the
one in which it begins.
"""

from __future__ import annotations

import itertools
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_DAY = timedelta(days=1)
_QUARTER = timedelta(weeks=13)
_SATURDAY = 5


class Period(NamedTuple):
    """A fiscal quarter."""

    year: int
    quarter: int
    start: date
    end: date
    is_historical: bool

    @property
    def period_name(self) -> str:
        return f"FQ{self.quarter} {self.year}"


class Window(NamedTuple):
    """A row of a quarterly report: its dates and its label."""

    label: str
    to_date: bool
    start: date
    end: date
    is_current: bool
    compared_label: str


def periods(
    fiscal_year_end: str, first: date, last: date, reported: date
) -> tuple[Period, ...]:
    """Return the quarters that overlap `first` to `last`, and the next one; they are reported if over by `reported`."""
    quarters = (
        Period(year, number, start, after - _DAY, after - _DAY <= reported)
        for year in range(first.year - 1, last.year + 3)
        for number, (start, after) in enumerate(
            itertools.pairwise(FISCAL_YEAR_ENDS[fiscal_year_end](year)), 1
        )
    )
    return tuple(
        period
        for period in quarters
        if period.end >= first and period.start <= last + _QUARTER
    )


def windows(  # noqa: PLR0913 - six facts decide the rows, none with a default
    calendar: Sequence[Period],
    first: date,
    last: date,
    *,
    lookback: int,
    to_date: bool,
    reported: bool,
) -> list[Window]:
    """Return the rows of a quarterly report over data from `first` to `last`."""
    included = [period for period in calendar if first <= period.start <= last]
    running = _period_of(last, calendar)
    current = running
    if reported:
        current = next(
            (period for period in included if not period.is_historical), running
        )

    def window(period: Period, end: date, *, to_date: bool) -> Window:
        compared = period._replace(year=period.year - lookback).period_name
        return Window(
            period.period_name, to_date, period.start, end, period == current, compared
        )

    # The running quarter has no full row, only one to date.
    rows = [
        window(period, period.end, to_date=False)
        for period in included
        if period.end <= last
    ]
    if to_date and running:
        passed = last - running.start
        rows += [
            window(period, min(period.start + passed, period.end), to_date=True)
            for period in included
        ]

    return rows


def _period_of(day: date, calendar: Sequence[Period]) -> Period | None:
    return next(
        (period for period in calendar if period.start <= day <= period.end), None
    )


def _by_months(last_month: int, year: int) -> list[date]:
    """Return quarters of three months; the year ends with `last_month`."""
    # Since January of year 0.
    months = range((year - 1) * 12 + last_month, year * 12 + last_month + 1, 3)
    return [date(month // 12, month % 12 + 1, 1) for month in months]


def _retail(year: int) -> list[date]:
    """Return quarters of 13 weeks; the last one has 14 in a year of 53 weeks."""
    start = _retail_year_end(year - 1) + _DAY
    return [
        *(start + number * _QUARTER for number in range(4)),
        _retail_year_end(year) + _DAY,
    ]


def _retail_year_end(year: int) -> date:
    """Return the Saturday nearest to the 31 January in which a retail year ends."""
    latest = date(year + 1, 2, 3)  # at most three days after 31 January
    return latest - timedelta(days=(latest.weekday() - _SATURDAY) % 7)


_MONTHS = "January February March April May June July August September October November December"
# By the end of the fiscal year: the first days of the quarters of a year, and of the next year.
FISCAL_YEAR_ENDS: dict[str, Callable[[int], list[date]]] = {
    **{
        name: partial(_by_months, month)
        for month, name in enumerate(_MONTHS.split(), 1)
    },
    "Saturday nearest 31 January": _retail,
}

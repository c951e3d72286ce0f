"""
Fiscal calendars: the quarters of a company's fiscal year, and the windows of days that a report by quarter adds up.

A fiscal year is named by the calendar year in which it ends, but a retail year, which ends around the turn of January,
by the one in which it began.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_DAY = timedelta(days=1)
_QUARTER = timedelta(weeks=13)
_SATURDAY = 5

Relation = Literal["previous", "current", "next"]


@dataclass(frozen=True, slots=True)
class Period:
    """
    A fiscal quarter.

    Attributes
    ----------
    start, end
        Its first and last day, both inclusive.
    is_historical
        Whether the company has reported it.
    relation
        Where it lies to the last day with data: it ended before, contains that day, or starts after.
    """

    year: int
    quarter: int
    start: date
    end: date
    is_historical: bool
    relation: Relation

    @property
    def period_name(self) -> str:
        """Its name, ``FQ<n> <fiscal year>``."""
        return period_name(self.year, self.quarter)


@dataclass(frozen=True, slots=True)
class Window:
    """
    A row of a report by quarter: the days that it adds up and how it is labelled.

    Attributes
    ----------
    to_date
        Whether it is the period to date, and not the whole period.
    start, end
        The first and last day added up, both inclusive.
    is_current
        Whether its period is the current quarter.
    compared_label
        The label of the period that growth compares with.
    """

    label: str
    to_date: bool
    start: date
    end: date
    is_current: bool
    compared_label: str


def period_name(year: int, quarter: int) -> str:
    """Give the name of a fiscal quarter."""
    return f"FQ{quarter} {year}"


def relation(start: date, end: date, last: date) -> Relation:
    """Say where the quarter from `start` to `end` lies to the last day with data."""
    return "previous" if end < last else "next" if start > last else "current"


def periods(fiscal_year_end: str, first: date, last: date, is_reported: Callable[[date], bool]) -> tuple[Period, ...]:
    """
    Give the quarters that meet the days from `first` to `last`, and the one after.

    Parameters
    ----------
    fiscal_year_end
        A key of `FISCAL_YEAR_ENDS`.
    first, last
        The first and the last day with data.
    is_reported
        Tells from the end of a quarter whether it has been reported.
    """
    quarters = FISCAL_YEAR_ENDS[fiscal_year_end]
    found = []
    for year in range(first.year - 1, last.year + 3):
        for number, (start, end) in enumerate(quarters(year), 1):
            if end >= first and start <= last + _QUARTER:
                found.append(Period(year, number, start, end, is_reported(end), relation(start, end, last)))
    return tuple(found)


def windows(  # noqa: PLR0913 - the facts that decide the rows, none of which has a default
    calendar: Sequence[Period], first: date, last: date, *, lookback: int, to_date: bool, reported: bool
) -> list[Window]:
    """
    Give the rows of a report by quarter over data from `first` to `last` (SERVICE.md 2 and 3).

    Parameters
    ----------
    lookback
        How many years earlier the period compared with lies.
    to_date
        Whether every kept period also gets a row to date: over as many of its days as have passed of the running one.
    reported
        Whether the current quarter is the earliest that is not yet reported, and not the one that runs on `last`.
    """
    kept = [period for period in calendar if first <= period.start <= last]
    running = next((period for period in calendar if period.start <= last <= period.end), None)
    unreported = next((period for period in kept if not period.is_historical), None) if reported else None
    current = unreported or running

    def window(period: Period, end: date, *, to_date: bool) -> Window:
        compared = period_name(period.year - lookback, period.quarter)
        return Window(period.period_name, to_date, period.start, end, period == current, compared)

    # A quarter that is still running has no whole: it shows only to date.
    rows = [window(period, period.end, to_date=False) for period in kept if period.end <= last]
    if to_date and running:
        passed = last - running.start
        rows += [window(period, min(period.start + passed, period.end), to_date=True) for period in kept]
    return rows


def _by_months(last_month: int) -> Callable[[int], Iterator[tuple[date, date]]]:
    """Give a calendar whose quarters are three months each; its year `y` ends with `last_month` of `y`."""

    def quarters(year: int) -> Iterator[tuple[date, date]]:
        # Months are counted from January of the year 0.
        month = (year - 1) * 12 + last_month
        for _ in range(4):
            start, month = _first_of(month), month + 3
            yield start, _first_of(month) - _DAY

    return quarters


def _first_of(month: int) -> date:
    return date(month // 12, month % 12 + 1, 1)


def _retail(year: int) -> Iterator[tuple[date, date]]:
    """Give four quarters of 13 weeks; the last has 14 when 53 weeks lie between two year ends."""
    start = _retail_year_end(year - 1) + _DAY
    for _ in range(3):
        yield start, start + _QUARTER - _DAY
        start += _QUARTER
    yield start, _retail_year_end(year)


def _retail_year_end(year: int) -> date:
    """Give the Saturday nearest to 31 January after the year began."""
    late = date(year + 1, 2, 3)  # the latest day that is nearer than the Saturday before it
    return late - timedelta(days=(late.weekday() - _SATURDAY) % 7)


_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
FISCAL_YEAR_ENDS: dict[str, Callable[[int], Iterator[tuple[date, date]]]] = {
    **{name: _by_months(month) for month, name in enumerate(_MONTHS, 1)},
    "Saturday nearest 31 January": _retail,
}

"""Fiscal calendars, compared with pandas' quarters and the retail calendar of its trade federation."""

from __future__ import annotations

import itertools
from datetime import date, timedelta
from typing import Any

import pandas as pd
import pytest

from jupyter_funcs.service.builtin import companies
from jupyter_funcs.service.engine import calendar
from tests.examples import row_id

FIRST = date(2020, 11, 16)
LAST = date(2025, 11, 15)


def periods(end: str, first: date = FIRST, last: date = LAST) -> list[calendar.Period]:
    return list(calendar.periods(end, first, last, date(2025, 8, 31)))


@pytest.mark.parametrize(
    ("end", "frequency"),
    [("December", "Q-DEC"), ("September", "Q-SEP"), ("June", "Q-JUN")],
)
def test_quarters_by_months_are_those_of_pandas(end: str, frequency: str) -> None:
    expected = [
        (
            f"FQ{quarter.quarter} {quarter.qyear}",
            quarter.start_time.date(),
            quarter.end_time.date(),
        )
        for quarter in pd.period_range(FIRST, LAST + timedelta(days=91), freq=frequency)
    ]
    assert [
        (period.period_name, period.start, period.end) for period in periods(end)
    ] == expected


@pytest.mark.parametrize(
    ("name", "start", "end"),
    [
        ("FQ4 2020", date(2020, 11, 1), date(2021, 1, 30)),
        ("FQ1 2021", date(2021, 1, 31), date(2021, 5, 1)),
        ("FQ4 2022", date(2022, 10, 30), date(2023, 1, 28)),
        # The year of 53 weeks.
        ("FQ1 2023", date(2023, 1, 29), date(2023, 4, 29)),
        ("FQ4 2023", date(2023, 10, 29), date(2024, 2, 3)),
        ("FQ1 2024", date(2024, 2, 4), date(2024, 5, 4)),
        ("FQ3 2025", date(2025, 8, 3), date(2025, 11, 1)),
        ("FQ4 2025", date(2025, 11, 2), date(2026, 1, 31)),
    ],
    ids=row_id,
)
def test_retail_quarters_are_the_published_ones(
    name: str, start: date, end: date
) -> None:
    [period] = [
        quarter
        for quarter in periods("Saturday nearest 31 January")
        if quarter.period_name == name
    ]
    assert (period.start, period.end) == (start, end)


@pytest.mark.parametrize("end", calendar.FISCAL_YEAR_ENDS)
def test_quarters_leave_no_day_out_and_take_none_twice(end: str) -> None:
    quarters = periods(end, date(1990, 1, 1), date(2060, 1, 1))
    assert all(
        after.start - before.end == timedelta(days=1)
        for before, after in itertools.pairwise(quarters)
    )
    assert quarters[0].start <= date(1990, 1, 1)
    assert len({quarter.period_name for quarter in quarters}) == len(quarters)


def test_a_retail_year_ends_on_the_saturday_nearest_31_january() -> None:
    ends = [
        quarter.end
        for quarter in periods(
            "Saturday nearest 31 January", date(1990, 1, 1), date(2060, 1, 1)
        )
    ]
    years = [end for end in ends if end.month in (1, 2)]
    assert len(years) >= 70
    assert all(end.weekday() == 5 for end in years)
    assert all(abs((end - date(end.year, 1, 31)).days) <= 3 for end in years)


@pytest.mark.parametrize("end", calendar.FISCAL_YEAR_ENDS)
def test_one_period_runs_on_the_last_day_others_are_before_and_after_it(
    end: str,
) -> None:
    places = [(quarter.start <= LAST, quarter.end >= LAST) for quarter in periods(end)]
    assert places.count((True, True)) == 1
    assert set(places) == {(True, False), (True, True), (False, True)}


def windows(**options: Any) -> list[calendar.Window]:
    rules = {"lookback": 1, "to_date": True, "reported": True} | options
    return calendar.windows(periods("December"), FIRST, LAST, **rules)


def test_a_period_that_starts_before_the_first_day_is_skipped() -> None:
    assert windows(to_date=False)[0].label == "FQ1 2021"  # FQ4 2020 starts on 1 October
    exact = calendar.windows(
        periods("December"),
        date(2021, 1, 1),
        LAST,
        lookback=1,
        to_date=False,
        reported=True,
    )
    assert exact[0].label == "FQ1 2021"
    later = calendar.windows(
        periods("December"),
        date(2021, 1, 2),
        LAST,
        lookback=1,
        to_date=False,
        reported=True,
    )
    assert later[0].label == "FQ2 2021"


def test_a_period_that_starts_after_the_last_day_is_skipped() -> None:
    assert {window.label for window in windows()}.isdisjoint({"FQ1 2026"})


def test_the_running_period_has_only_a_row_to_date_that_ends_on_the_last_day() -> None:
    [only] = [window for window in windows() if window.label == "FQ4 2025"]
    assert only.to_date
    assert (only.start, only.end) == (date(2025, 10, 1), LAST)
    assert "FQ4 2025" not in {window.label for window in windows(to_date=False)}


def test_rows_to_date_are_as_long_as_the_running_period_so_far() -> None:
    lengths = {
        (window.end - window.start).days for window in windows() if window.to_date
    }
    assert lengths == {(LAST - date(2025, 10, 1)).days}
    whole, to_date = (
        [window.label for window in windows() if window.to_date is kind]
        for kind in (False, True)
    )
    assert to_date == [*whole, "FQ4 2025"]


def test_a_row_to_date_is_never_longer_than_its_period() -> None:
    # On 30 September, 91 days of FQ3 have passed; FQ1 has 90 days, 91 in a leap year.
    rows = calendar.windows(
        periods("December"),
        FIRST,
        date(2025, 9, 30),
        lookback=1,
        to_date=True,
        reported=True,
    )
    ends = {window.label: window.end for window in rows if window.to_date}
    assert ends["FQ1 2023"] == date(2023, 3, 31)
    assert ends["FQ1 2024"] == date(2024, 3, 31)
    assert ends["FQ3 2024"] == date(2024, 9, 30)


def test_a_period_that_ends_on_the_last_day_has_a_full_row_and_one_to_date() -> None:
    rows = calendar.windows(
        periods("December"),
        FIRST,
        date(2025, 9, 30),
        lookback=1,
        to_date=True,
        reported=True,
    )
    assert [window.to_date for window in rows if window.label == "FQ3 2025"] == [
        False,
        True,
    ]


def test_the_current_quarter_is_the_earliest_unreported_or_the_running_one() -> None:
    # FQ3 2025 ended on 30 September and is not reported.
    assert {window.label for window in windows(reported=True) if window.is_current} == {
        "FQ3 2025"
    }
    assert {
        window.label for window in windows(reported=False) if window.is_current
    } == {"FQ4 2025"}


def test_when_all_kept_periods_are_reported_the_running_one_is_current() -> None:
    reported = calendar.periods("December", FIRST, LAST, date.max)
    rows = calendar.windows(
        reported, FIRST, LAST, lookback=1, to_date=True, reported=True
    )
    assert {window.label for window in rows if window.is_current} == {"FQ4 2025"}


@pytest.mark.parametrize(("lookback", "compared"), [(1, "FQ2 2023"), (3, "FQ2 2021")])
def test_growth_compares_with_the_quarter_of_the_same_name(
    lookback: int, compared: str
) -> None:
    assert {
        window.compared_label
        for window in windows(lookback=lookback)
        if window.label == "FQ2 2024"
    } == {compared}


def test_the_demo_has_four_calendars_all_running_and_a_quarter_that_is_ended_but_not_reported() -> (
    None
):
    calendars = companies.reference().calendars
    ends = {profile.company.fiscal_year_end for profile in companies.PROFILES}
    assert ends == {"December", "September", "June", "Saturday nearest 31 January"}
    all_of_them = [period for quarters in calendars.values() for period in quarters]
    running = [
        period
        for period in all_of_them
        if period.start <= companies.LAST_DAY <= period.end
    ]
    assert len(running) == len(companies.PROFILES)
    assert all(
        period.end > companies.LAST_DAY and not period.is_historical
        for period in running
    )
    waiting = {
        symbol
        for symbol, quarters in calendars.items()
        for period in quarters
        if period.end < companies.LAST_DAY and not period.is_historical
    }
    assert {"NVRA US EQUITY", "CLQM US EQUITY"} <= waiting
    assert len(waiting) < len(companies.PROFILES)

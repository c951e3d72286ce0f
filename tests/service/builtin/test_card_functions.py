"""The built-in functions over the demo data, checked against pandas on the stored rows (SERVICE.md 2 and 3)."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import math
import re
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from jupyter_funcs.service.builtin import card_functions, companies, demo
from jupyter_funcs.service.engine.calendar import Period
from jupyter_funcs.service.engine.tables import Brand, Company, Reference
from jupyter_funcs.service.publishing.registry import ArgumentsError
from tests.examples import row_id
from tests.service.conftest import LIST

if TYPE_CHECKING:
    import pyarrow as pa

    from tests.service.conftest import Wire

P = "Demo Card Panel"
DEBIT = "Demo Debit Panel"
NVRA = "NVRA US EQUITY"
MCHQ = "MCHQ US EQUITY"
CLQM = "CLQM US EQUITY"
SOURCES = {"Age Group": "generation", "Region": "region", "Brand": "merchant"}
MEASURES = [
    "Spend",
    "Transaction Count",
    "Transactions per Card",
    "Cardholder Count",
    "Spend per Transaction",
    "Spend per Card",
]
WITH_GROWTH = [name for measure in MEASURES for name in (measure, f"{measure} Growth")]
LAST = date(2025, 11, 15)


@pytest.fixture(scope="module")
def stored(raw: pa.Table) -> pd.DataFrame:
    frame = raw.to_pandas(date_as_object=False)
    for name in ("panel", "symbol", "merchant", "region", "generation"):
        frame[name] = frame[name].astype("category")
    return frame


@functools.cache
def chosen(
    panel: str, symbols: tuple[str, ...] = (), brands: tuple[str, ...] = ()
) -> pd.DataFrame:
    """Return the stored rows of a selection, with dimension columns named as the service names them."""
    wanted = {"panel": [panel], "symbol": symbols, "merchant": brands}
    filters = [(name, "in", values) for name, values in wanted.items() if values]
    rows = pq.read_table(demo.spend_file(), filters=filters).to_pandas(
        date_as_object=False
    )
    return rows.assign(
        **{name: rows[source].astype(str) for name, source in SOURCES.items()}
    )


def by_day(rows: pd.DataFrame, dimensions: list[str]) -> pd.DataFrame:
    """Add rows up by day in plain pandas; measures follow from their definitions per day."""
    sums = (
        rows.groupby(["date", *dimensions], observed=True)[
            ["spend_cents", "transactions", "cards"]
        ]
        .sum()
        .reset_index()
    )
    spend = sums.spend_cents / 100
    sums["Spend"] = spend
    sums["Transaction Count"] = sums.transactions
    sums["Transactions per Card"] = sums.transactions / sums.cards
    sums["Cardholder Count"] = sums.cards
    sums["Spend per Transaction"] = spend / sums.transactions
    sums["Spend per Card"] = spend / sums.cards
    return sums


def by_window(
    rows: pd.DataFrame, dimensions: list[str], start: date, end: date
) -> pd.DataFrame:
    """Add rows up over some days in plain pandas; measures follow from their definitions per period."""
    within = pd.to_datetime(rows.date).between(pd.Timestamp(start), pd.Timestamp(end))
    days = by_day(rows[within], dimensions)
    totals = []
    for key, group in (
        days.groupby(dimensions, observed=True) if dimensions else [((), days)]
    ):
        spend = group.spend_cents.sum() / 100
        transactions = group.transactions.sum()
        mean = np.mean(group.transactions / group.cards)
        cardholders = transactions / mean
        values = [
            spend,
            transactions,
            mean,
            cardholders,
            spend / transactions,
            spend / cardholders,
        ]
        totals.append(dict(zip([*dimensions, *MEASURES], [*key, *values], strict=True)))
    return pd.DataFrame(totals)


def assert_same(
    rows: list[dict[str, Any]], expected: pd.DataFrame, columns: list[str]
) -> None:
    frame = pd.DataFrame(rows)
    pd.testing.assert_frame_equal(
        frame[columns],
        expected[columns].reset_index(drop=True),
        check_dtype=False,
        rtol=1e-12,
        atol=0,
    )


# Listing functions


def test_get_panels_lists_both_panels(service: Wire) -> None:
    rows = service.rows("Get Panels")
    assert [list(row) for row in rows] == [["PanelName", "ProviderName"]] * 2
    assert [row["PanelName"] for row in rows] == [P, DEBIT]


def test_get_universe_lists_every_company_with_its_fiscal_year_end(
    service: Wire,
) -> None:
    rows = service.rows("Get Universe")
    assert {tuple(row) for row in rows} == {
        ("Symbol", "InstrumentName", "Sector", "Industry", "FiscalYearEnd")
    }
    symbols = [row["Symbol"] for row in rows]
    assert len(symbols) == 24
    assert symbols == sorted(set(symbols))
    assert {row["FiscalYearEnd"] for row in rows} == {
        "December",
        "September",
        "June",
        "Saturday nearest 31 January",
    }


@pytest.mark.slow
def test_every_symbol_and_brand_has_data_in_every_panel_and_the_symbols_for_four_years(
    service: Wire, stored: pd.DataFrame
) -> None:
    symbols = {row["Symbol"] for row in service.rows("Get Universe")}
    span = stored.groupby(["panel", "symbol"], observed=True)["date"].agg(
        ["min", "max"]
    )
    assert set(span.index) == set(itertools.product([P, DEBIT], symbols))
    assert ((span["max"] - span["min"]) > timedelta(days=4 * 366)).all()
    assert set(span["max"]) == {pd.Timestamp(LAST)}
    assert stored.groupby("panel", observed=True).merchant.nunique().tolist() == [
        60,
        60,
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dimensions", "columns", "count"),
    [
        (["Brand"], ["Merchant"], 60),
        (["Age Group"], ["Generation"], 5),
        (["Region"], ["Region"], 6),
        (["Region", "Age Group"], ["Region", "Generation"], 30),
        (["Age Group", "Brand"], ["Generation", "Merchant"], 300),
        ("Region", ["Region"], 6),
    ],
    ids=row_id,
)
def test_get_panel_dimensions_gives_distinct_values_in_columns_that_depend_on_the_dimensions(
    service: Wire, stored: pd.DataFrame, dimensions: Any, columns: list[str], count: int
) -> None:
    rows = service.rows("Get Panel Dimensions", PanelName=P, Dimensions=dimensions)
    assert {tuple(row) for row in rows} == {tuple(columns)}
    values = [tuple(row.values()) for row in rows]
    panel = stored[stored.panel == P][
        [column.lower() for column in columns]
    ].drop_duplicates()
    assert values == sorted(map(tuple, panel.astype(str).to_numpy()))
    assert len(values) == count


def test_get_panel_dimensions_is_described_by_its_own_options_and_columns(
    service: Wire,
) -> None:
    """The description names each option of Dimensions, in order, with the column that it really returns."""
    [listed] = [
        function
        for function in service.post(LIST, json={}).json()
        if function["name"] == "Get Panel Dimensions"
    ]
    options = re.findall(
        r"'([^']*)'", listed["params"][1]["description"].partition("Options are ")[2]
    )
    named = listed["description"].partition("take: ")[2].partition(" (")[0].split(", ")
    for option, text in zip(options, named, strict=True):
        [column] = service.rows(
            "Get Panel Dimensions", PanelName=P, Dimensions=[option]
        )[0]
        assert text == (option if option == column else f"{option} as {column}")


def test_get_kpis_lists_the_primary_kpi_of_each_panel_unless_asked_for_all(
    service: Wire,
) -> None:
    primary = service.rows("Get KPIs", Symbol="nvra")
    assert {", ".join(row) for row in primary} == {
        "KpiId, KpiName, Symbol, PanelName, UnitOfMeasure, StatementType, KpiClass, MeasureName, Brands, IsPrimary"
    }
    assert [(row["Symbol"], row["PanelName"], row["IsPrimary"]) for row in primary] == [
        (NVRA, P, True),
        (NVRA, DEBIT, True),
    ]
    everything = service.rows("Get KPIs", Symbol=NVRA, PrimaryOnly="no")
    assert len(everything) == 10
    assert [row for row in everything if row["IsPrimary"]] == primary
    assert service.rows("Get KPIs", Symbol=NVRA, PanelName=DEBIT) == primary[1:]
    assert {row["Brands"] for row in primary} == {"Fennloft, Nuvarelle, Tidewisp"}


# Daily


@pytest.mark.slow
@pytest.mark.parametrize(
    "dimensions",
    [[], ["Region"], ["Brand", "Age Group"], ["Age Group", "Region", "Brand"]],
    ids=row_id,
)
def test_daily_equals_pandas_on_the_stored_rows(
    service: Wire, dimensions: list[str]
) -> None:
    result = service.rows(
        "Get Panel Daily", PanelName=DEBIT, Symbol=CLQM, Dimensions=dimensions
    )
    assert {tuple(row) for row in result} == {("Date", *dimensions, *MEASURES)}
    expected = by_day(chosen(DEBIT, (CLQM,)), dimensions).sort_values(
        ["date", *dimensions]
    )
    expected["Date"] = expected.date.astype(str)
    assert_same(result, expected, ["Date", *dimensions, *MEASURES])
    # What is loaded or added up is exact, to the cent.
    assert [row["Spend"] for row in result] == [
        cents / 100 for cents in expected.spend_cents
    ]
    assert [row["Cardholder Count"] for row in result] == expected.cards.tolist()


def test_closed_days_are_absent_and_not_zero(service: Wire) -> None:
    days = {
        row["Date"] for row in service.rows("Get Panel Daily", PanelName=P, Symbol=NVRA)
    }
    assert "2024-12-25" not in days
    assert {"2024-12-24", "2024-12-26"} <= days


@pytest.mark.slow
@pytest.mark.parametrize("lookback", [1, 2])
@pytest.mark.parametrize("dimensions", [[], ["Region", "Brand"]], ids=row_id)
def test_daily_growth_compares_with_the_day_364_days_times_lookback_earlier(
    service: Wire, lookback: int, dimensions: list[str]
) -> None:
    args = {"PanelName": P, "Symbol": NVRA, "Dimensions": dimensions}
    rows = service.rows(
        "Get Panel Daily", **args, PoPGrowth="YES", PoPLookback=str(lookback)
    )
    assert {tuple(row) for row in rows} == {("Date", *dimensions, *WITH_GROWTH)}
    plain = service.rows("Get Panel Daily", **args)
    assert [{key: row[key] for key in plain[0]} for row in rows] == plain
    values = {(row["Date"], *(row[name] for name in dimensions)): row for row in plain}
    seen = set()
    for row in rows:
        earlier = date.fromisoformat(row["Date"]) - timedelta(days=364 * lookback)
        before = values.get((earlier.isoformat(), *(row[name] for name in dimensions)))
        seen.add(before is None)
        for measure in MEASURES:
            expected = row[measure] / before[measure] - 1 if before else None
            found_growth = row[f"{measure} Growth"]
            assert (
                math.isclose(found_growth, expected, rel_tol=1e-6, abs_tol=1e-12)
                if before
                else found_growth is None
            )
    assert seen == {True, False}


def test_lookback_without_growth_changes_nothing(service: Wire) -> None:
    plain = service.rows("Get Panel Daily", PanelName=P, Symbol=NVRA)
    assert (
        service.rows(
            "Get Panel Daily", PanelName=P, Symbol=NVRA, PoPGrowth="No", PoPLookback=3
        )
        == plain
    )


@pytest.mark.slow
def test_several_brands_are_added_up_unless_the_dimensions_have_brand(
    service: Wire,
) -> None:
    brands = ["Mochandrel", "Cluckmoor"]  # of two companies
    together = service.rows("Get Panel Daily", PanelName=P, Brand=brands)
    expected = by_day(chosen(P, brands=tuple(brands)), [])
    assert_same(together, expected, MEASURES)
    apart = service.rows(
        "Get Panel Daily", PanelName=P, Brand=brands, Dimensions=["Brand"]
    )
    assert {row["Brand"] for row in apart} == set(brands)
    assert len(apart) == 2 * len(together)


def test_brands_narrow_a_symbol(service: Wire) -> None:
    args = {"PanelName": P, "Dimensions": ["Brand"]}
    both = service.rows("Get Panel Daily", **args, Symbol=NVRA, Brand="Fennloft")
    assert both == service.rows("Get Panel Daily", **args, Brand=["fennloft"])
    assert {row["Brand"] for row in both} == {"Fennloft"}


# Fiscal quarters


def months(frequency: str) -> list[tuple[str, date, date]]:
    """Return the quarters of a fiscal year by months that start within the data, from pandas."""
    quarters = pd.period_range("2020-10-01", LAST, freq=frequency)
    named = [
        (
            f"FQ{quarter.quarter} {quarter.qyear}",
            quarter.start_time.date(),
            quarter.end_time.date(),
        )
        for quarter in quarters
    ]
    return [quarter for quarter in named if quarter[1] >= companies.FIRST_DAY]


def retail() -> list[tuple[str, date, date]]:
    """Return the retail quarters that start within the data: 13 weeks each, but one of 14."""
    start = date(2021, 1, 31)
    named = []
    for year, quarter in itertools.product(range(2021, 2026), range(1, 5)):
        end = start + timedelta(
            weeks=14 if (year, quarter) == (2023, 4) else 13, days=-1
        )
        named.append((f"FQ{quarter} {year}", start, end))
        start = end + timedelta(days=1)
    return named


CALENDARS = {
    NVRA: retail(),
    "PXOR US EQUITY": months("Q-DEC"),
    MCHQ: months("Q-SEP"),
    "DGVN US EQUITY": months("Q-JUN"),
}


def windows(
    quarters: list[tuple[str, date, date]], *, to_date: bool
) -> list[tuple[str, bool, date, date]]:
    [passed] = [LAST - start for _, start, end in quarters if start <= LAST <= end]
    whole = [
        (label, False, start, end) for label, start, end in quarters if end <= LAST
    ]
    short = [
        (label, True, start, min(start + passed, end)) for label, start, end in quarters
    ]
    return [*whole, *short] if to_date else whole


@pytest.mark.parametrize("to_date", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize(
    "symbol",
    [
        NVRA,
        *(pytest.param(symbol, marks=pytest.mark.slow) for symbol in [*CALENDARS][1:]),
    ],
)
def test_fq_equals_pandas_on_the_stored_rows(
    service: Wire, symbol: str, *, to_date: bool
) -> None:
    result = service.rows(
        "Get Panel FQ",
        PanelName=P,
        Symbol=symbol,
        **({"PeriodToDate": "yes"} if to_date else {}),
    )
    window = ["PeriodLabel", "PeriodToDate", "PeriodStartDate", "PeriodEndDate"]
    assert {tuple(row) for row in result} == {(*window, "IsCurrentQuarter", *MEASURES)}
    expected_windows = windows(CALENDARS[symbol], to_date=to_date)
    assert [tuple(row[name] for name in window) for row in result] == [
        (label, short, start.isoformat(), end.isoformat())
        for label, short, start, end in expected_windows
    ]
    days = (
        chosen(P, (symbol,))
        .groupby("date", as_index=False)[["spend_cents", "transactions", "cards"]]
        .sum()
    )
    expected = pd.concat(
        by_window(days, [], start, end) for _, _, start, end in expected_windows
    )
    assert_same(result, expected, MEASURES)


@pytest.mark.slow
def test_fq_by_dimensions_computes_the_ratios_within_each_group(service: Wire) -> None:
    dimensions = ["Brand", "Region"]
    result = service.rows(
        "Get Panel FQ",
        PanelName=P,
        Symbol=MCHQ,
        Dimensions=dimensions,
        PeriodToDate="Yes",
    )
    assert list(result[0])[5:7] == dimensions
    rows = chosen(P, (MCHQ,))
    expected = pd.concat(
        by_window(rows, dimensions, start, end).sort_values(dimensions)
        for _, _, start, end in windows(CALENDARS[MCHQ], to_date=True)
    )
    assert_same(result, expected, [*dimensions, *MEASURES])
    # A brand that opened in 2022 has no rows before.
    assert (
        min(row["PeriodStartDate"] for row in result if row["Brand"] == "Steepandra")
        == "2022-04-01"
    )


def test_fq_sorts_by_period_to_date_then_start_then_dimensions(service: Wire) -> None:
    rows = service.rows(
        "Get Panel FQ",
        PanelName=P,
        Symbol=NVRA,
        Dimensions=["Region", "Brand"],
        PeriodToDate="Yes",
    )
    order = [
        (row["PeriodToDate"], row["PeriodStartDate"], row["Region"], row["Brand"])
        for row in rows
    ]
    assert order == sorted(order)
    assert len(set(order)) == len(order)


@pytest.mark.slow
@pytest.mark.parametrize("lookback", [1, 3])
@pytest.mark.parametrize("dimensions", [[], ["Age Group"]], ids=row_id)
def test_fq_growth_compares_with_the_same_quarter_of_an_earlier_fiscal_year(
    service: Wire, lookback: int, dimensions: list[str]
) -> None:
    args = {
        "PanelName": P,
        "Symbol": NVRA,
        "Dimensions": dimensions,
        "PeriodToDate": "Yes",
    }
    rows = service.rows("Get Panel FQ", **args, PoPGrowth="Yes", PoPLookback=lookback)
    assert list(rows[0])[5:] == [*dimensions, *WITH_GROWTH]
    keys = ["PeriodLabel", "PeriodToDate", *dimensions]
    values = {tuple(row[key] for key in keys): row for row in rows}
    compared = 0
    for row in rows:
        quarter, year = row["PeriodLabel"].split()
        before = values.get(
            (f"{quarter} {int(year) - lookback}", *(row[key] for key in keys[1:]))
        )
        compared += before is not None
        for measure in MEASURES:
            expected = (
                pytest.approx(row[measure] / before[measure] - 1, abs=1e-12)
                if before
                else None
            )
            assert row[f"{measure} Growth"] == expected
    assert 0 < compared < len(rows)


def test_use_reported_only_moves_the_mark_of_the_current_quarter(service: Wire) -> None:
    def marks(**options: str) -> tuple[set[str], list[dict[str, Any]]]:
        rows = service.rows(
            "Get Panel FQ", PanelName=P, Symbol=CLQM, PeriodToDate="Yes", **options
        )
        current = {row["PeriodLabel"] for row in rows if row["IsCurrentQuarter"]}
        return current, [row | {"IsCurrentQuarter": None} for row in rows]

    # FQ4 2025 ended on 30 September and is not reported yet; FQ1 2026 runs.
    default = marks()
    yes = marks(UseReportedForCurrentPeriod="yes")
    no = marks(UseReportedForCurrentPeriod="No")
    assert default[0] == yes[0] == {"FQ4 2025"}
    assert no[0] == {"FQ1 2026"}
    assert default[1] == yes[1] == no[1]


def test_fq_by_brand_uses_the_owners_fiscal_calendar(service: Wire) -> None:
    rows = service.rows("Get Panel FQ", PanelName=P, Brand=["Nuvarelle", "Greenvossa"])
    assert [row["PeriodLabel"] for row in rows] == [
        label for label, _, end in retail() if end <= LAST
    ]


def test_the_quarters_of_a_late_brand_start_with_its_first_complete_one(
    service: Wire,
) -> None:
    # It opened on 4 April 2022, after FQ3 2022 of its owner had begun.
    rows = service.rows("Get Panel FQ", PanelName=P, Brand="Steepandra")
    assert rows[0]["PeriodLabel"] == "FQ4 2022"


@pytest.mark.parametrize("name", ["Get Panel Daily", "Get Panel FQ"])
def test_a_brand_of_another_symbol_is_refused_by_name(service: Wire, name: str) -> None:
    [(key, [text])] = service.errors(
        name, PanelName=P, Symbol=NVRA, Brand=["Fennloft", "Mochandrel"]
    ).items()
    assert key == "Brand"
    assert "'Mochandrel' is not a brand of NVRA US EQUITY" in text
    assert text.count("'Fennloft'") == 1  # among its brands


def test_brands_of_different_calendars_are_refused_by_name(service: Wire) -> None:
    [(key, [text])] = service.errors(
        "Get Panel FQ", PanelName=P, Brand=["Fennloft", "Mochandrel"]
    ).items()
    assert key == "Brand"
    assert "'Fennloft' (Saturday nearest 31 January), 'Mochandrel' (September)" in text


def test_every_wrong_brand_is_named_and_no_valid_one(service: Wire) -> None:
    [(_, texts)] = service.errors(
        "Get Panel FQ", PanelName=P, Symbol=NVRA, Brand=["Steepandra", "Nope"]
    ).items()
    assert [
        any(f"'{name}'" in text for text in texts) for name in ("Steepandra", "Nope")
    ] == [
        True,
        True,
    ]
    # An unknown symbol says nothing about the calendars of the brands.
    assert list(
        service.errors(
            "Get Panel FQ", PanelName=P, Symbol="zzz", Brand=["Fennloft", "Mochandrel"]
        )
    ) == ["Symbol"]


def test_a_whole_symbol_wins_over_a_ticker() -> None:
    listed = [
        Company(symbol, "A Co", "S", "I", "December")
        for symbol in ("A", "A US EQUITY", "B US EQUITY")
    ]
    reference = Reference([], listed, [], [], [], {})
    assert [reference.symbol(text) for text in ("a", "A  us equity", "b")] == [
        "A",
        "A US EQUITY",
        "B US EQUITY",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Get Panel Daily", "Get Panel FQ"])
def test_the_same_run_gives_the_same_bytes(service: Wire, name: str) -> None:
    args = {
        "PanelName": P,
        "Symbol": NVRA,
        "Dimensions": ["Region", "Age Group"],
        "PoPGrowth": "Yes",
    }
    assert len({service.call(name, args).content for _ in range(5)}) == 1


@pytest.mark.parametrize(
    "symbol", ["NVRA US EQUITY", "nvra us equity", "NVRA", "nvra", "  NVRA  US EQUITY "]
)
def test_a_symbol_is_matched_whole_then_by_ticker(service: Wire, symbol: str) -> None:
    rows = service.rows("Get KPIs", Symbol=symbol)
    assert {row["Symbol"] for row in rows} == {NVRA}


def test_an_ambiguous_ticker_is_refused_with_its_symbols(service: Wire) -> None:
    [text] = service.errors("Get KPIs", Symbol="KORD")["Symbol"]
    assert "'KORD LN EQUITY', 'KORD US EQUITY'" in text
    assert {
        row["Symbol"] for row in service.rows("Get KPIs", Symbol="KORD LN EQUITY")
    } == {"KORD LN EQUITY"}


# Reports


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unit", "frequency"),
    [("day", "D"), ("week", "W-SUN"), ("month", "M"), ("quarter", "Q")],
)
def test_a_report_is_a_spend_series_by_time_unit(
    service: Wire, unit: str, frequency: str
) -> None:
    rows = service.rows("Get Report", report_id="RPT-101", report_time_unit=unit)
    days = chosen(P, ("DGVN US EQUITY", MCHQ)).groupby("date").spend_cents.sum()
    expected = days.groupby(days.index.to_period(frequency).start_time.date).sum() / 100
    assert rows == [
        {"Date": day.isoformat(), "Spend": spend} for day, spend in expected.items()
    ]


def test_a_report_is_by_month_by_default(service: Wire) -> None:
    assert service.rows("Get Report", report_id="RPT-102") == service.rows(
        "Get Report", report_id="rpt-102", report_time_unit="Month"
    )


@pytest.mark.slow
def test_a_report_is_narrowed_by_date_age_group_and_brands(service: Wire) -> None:
    result = service.rows(
        "Get Report",
        report_id="RPT-103",
        report_time_unit="day",
        report_time_after="2025-10-30",
        shopper_generation="gen z",
        brands=["Skyvandrel", "Tidelorne"],
    )
    rows = chosen(DEBIT, brands=("Skyvandrel", "Tidelorne"))
    rows = rows[
        (rows.generation == "Gen Z") & (rows.date >= pd.Timestamp(2025, 10, 30))
    ]
    expected = rows.groupby("date").spend_cents.sum() / 100
    assert result == [
        {"Date": day.date().isoformat(), "Spend": spend}
        for day, spend in expected.items()
    ]
    assert result[0]["Date"] == "2025-10-30"


def test_a_brand_outside_the_report_is_refused_by_name(service: Wire) -> None:
    [text] = service.errors("Get Report", report_id="RPT-103", brands=["Fennloft"])[
        "brands"
    ]
    assert "'Fennloft' is not in report RPT-103" in text


@pytest.mark.parametrize(
    "text",
    ["2025-02-30", "30.10.2025", "20251030", "2025-W10-1", "2025-10-30T00:00", "soon"],
)
def test_a_date_that_does_not_exist_is_refused(service: Wire, text: str) -> None:
    name = "report_time_after"
    [error] = service.errors("Get Report", report_id="RPT-101", **{name: text})[name]
    assert f"'{text}'" in error
    assert "YYYY-MM-DD" in error


# Over other data than the demo's


def reference_with(**changes: Any) -> Reference:
    return dataclasses.replace(companies.reference(), **changes)


@pytest.mark.parametrize(
    ("changes", "absent"),
    [
        ({}, set()),
        ({"kpis": []}, {"Get KPIs"}),
        ({"reports": []}, {"Get Report"}),
        ({"kpis": [], "reports": []}, {"Get KPIs", "Get Report"}),
    ],
    ids=["all", "no KPIs", "no reports", "neither"],
)
def test_only_functions_that_the_data_can_answer_are_published(
    changes: dict[str, Any], absent: set[str]
) -> None:
    names = {
        function.name
        for function in card_functions.published(companies.reference(), asset="a")
    }
    assert (
        names
        - {
            function.name
            for function in card_functions.published(
                reference_with(**changes), asset="a"
            )
        }
        == absent
    )


def test_descriptions_follow_the_data_and_say_nothing_of_the_demo() -> None:
    reference = reference_with(
        dimensions={"Channel": "channel", "Brand": "merchant"}, generations=()
    )
    functions = {
        function.name: function
        for function in card_functions.published(reference, asset="a")
    }
    text = json.dumps(
        [
            [
                function.description,
                *(
                    p.description(function.rules, reference)
                    for p in function.parameters
                ),
            ]
            for function in functions.values()
        ]
    )
    assert not re.search("demo|synthetic|Age Group|Region", text)
    assert functions["Get Panel Dimensions"].description.endswith(
        "take: Channel, Brand as Merchant."
    )
    assert [
        parameter.name
        for parameter in functions["Get Report"].parameters
        if "generation" in parameter.name
    ] == []
    daily = functions["Get Panel Daily"]
    with pytest.raises(
        ArgumentsError, match=r"has no option 'Region'\. Options are 'Channel', 'Brand'"
    ):
        daily.read(
            {"PanelName": P, "Symbol": NVRA, "Dimensions": ["Region"]}, reference
        )


def test_assets_and_the_note_are_those_that_were_given() -> None:
    functions = card_functions.published(
        companies.reference(), asset="one", reports_asset="two", note="(mine)"
    )
    assert {function.asset for function in functions[:-1]} == {"one"}
    assert functions[-1].asset == "two"
    assert all(function.description.endswith(" (mine).") for function in functions)


def quarters(*rows: tuple[int, int, bool]) -> tuple[Period, ...]:
    """Return some of the quarters of years of months, and whether each has been reported."""
    ends = {1: (3, 31), 2: (6, 30), 3: (9, 30), 4: (12, 31)}
    return tuple(
        Period(
            year,
            quarter,
            date(year, 3 * quarter - 2, 1),
            date(year, *ends[quarter]),
            reported,
        )
        for year, quarter, reported in rows
    )


def test_companies_share_the_quarters_that_both_have_and_both_reported() -> None:
    both = {
        "A": quarters((2023, 4, True), (2024, 1, True), (2024, 2, False)),
        "B": quarters((2024, 1, False), (2024, 2, False), (2024, 3, False)),
    }
    shared = reference_with(calendars=both).calendar(["A", "B"])
    assert [(period.period_name, period.is_historical) for period in shared] == [
        ("FQ1 2024", False),
        ("FQ2 2024", False),
    ]
    assert reference_with(calendars=both).calendar(["A"]) == list(both["A"])
    shifted = both | {
        "B": [
            period._replace(end=period.end - timedelta(days=1)) for period in both["B"]
        ]
    }
    with pytest.raises(ValueError, match="different fiscal calendars"):
        reference_with(calendars=shifted).calendar(["A", "B"])


def test_an_exact_name_wins_over_another_spelling() -> None:
    reference = reference_with(brands=[Brand("Zara", NVRA), Brand("ZARA", NVRA)])
    assert [reference.brand(text) for text in ("Zara", "ZARA")] == ["Zara", "ZARA"]

"""The panel functions over handmade rows, for cases that the demo data lack (SERVICE.md 2 and 3)."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_funcs.service.builtin import card_functions, queries
from jupyter_funcs.service.engine import calendar
from tests.service.builtin.compiled import compiled
from tests.service.conftest import python

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.service.conftest import Wire

A = "AAA US EQUITY"
B = "BBB US EQUITY"
FIRST = date(2024, 1, 1)
LAST = date(2024, 3, 31)


def row(
    day: date,
    cents: int,
    transactions: int,
    cards: int,
    brand: str = "a",
    symbol: str = A,
) -> tuple[Any, ...]:
    return ("P", symbol, brand, "North", "Gen X", day, cents, transactions, cards)


def december(
    first: date, last: date, reported: date = date(2024, 1, 1)
) -> tuple[calendar.Period, ...]:
    return calendar.periods("December", first, last, reported - timedelta(days=1))


def daily(wire: Wire, **args: Any) -> list[dict[str, Any]]:
    return wire.rows("Get Panel Daily", PanelName="P", **({"Symbol": A} | args))


def quarters(wire: Wire, **args: Any) -> list[dict[str, Any]]:
    return wire.rows("Get Panel FQ", PanelName="P", **({"Symbol": A} | args))


def test_a_zero_denominator_gives_null_by_day(serve_rows: Callable[..., Wire]) -> None:
    day = date(2024, 1, 1)
    wire = serve_rows([row(day, 500, 0, 2), row(day + timedelta(1), 500, 3, 0)], {})
    no_transactions, no_cards = daily(wire)
    assert (
        no_transactions["Spend per Transaction"],
        no_transactions["Transactions per Card"],
    ) == (
        None,
        0,
    )
    assert no_transactions["Spend per Card"] == 2.5
    assert (no_cards["Spend per Card"], no_cards["Transactions per Card"]) == (
        None,
        None,
    )
    assert no_cards["Spend per Transaction"] == 5 / 3


def test_a_zero_denominator_gives_null_in_the_engine_already(
    serve_rows: Callable[..., Wire],
) -> None:
    # JSON would also turn an infinity into null, which hides it.
    day = date(2024, 1, 1)
    rows = [
        row(day, 500, 0, 2),
        row(day + timedelta(1), 500, 3, 0),
        row(day + timedelta(364), 7, 7, 7),
    ]
    wire = serve_rows([*rows, row(day + timedelta(365), 7, 7, 7)], {})
    assert wire.engine
    call = wire.engine.call()
    result = call.fetch(card_functions.get_panel_daily(call, "P", A, PoPGrowth="Yes"))
    assert [entry["Spend per Transaction"] for entry in result[:2]] == [None, 5 / 3]
    assert [entry["Transactions per Card"] for entry in result[:2]] == [0, None]
    assert [entry["Transaction Count Growth"] for entry in result[2:]] == [
        None,
        7 / 3 - 1,
    ]
    assert [entry["Cardholder Count Growth"] for entry in result[2:]] == [2.5, None]


def test_a_zero_denominator_gives_null_by_quarter(
    serve_rows: Callable[..., Wire],
) -> None:
    wire = serve_rows(
        [row(FIRST, 500, 0, 2), row(LAST, 700, 0, 3)], {A: december(FIRST, LAST)}
    )
    [only] = quarters(wire)
    assert (
        only["Spend"],
        only["Transaction Count"],
        only["Transactions per Card"],
    ) == (12, 0, 0)
    assert [
        only[name]
        for name in ("Cardholder Count", "Spend per Transaction", "Spend per Card")
    ] == [None] * 3


def test_a_day_without_cards_is_left_out_of_the_mean(
    serve_rows: Callable[..., Wire],
) -> None:
    rows = [
        row(FIRST, 100, 6, 2),
        row(FIRST + timedelta(1), 100, 4, 0),
        row(LAST, 100, 5, 5),
    ]
    [only] = quarters(serve_rows(rows, {A: december(FIRST, LAST)}))
    assert only["Transactions per Card"] == 2
    assert only["Cardholder Count"] == 7.5
    assert only["Spend per Card"] == 3 / 7.5


def test_growth_over_zero_is_null(serve_rows: Callable[..., Wire]) -> None:
    day = date(2024, 1, 1)
    wire = serve_rows([row(day, 0, 4, 2), row(day + timedelta(364), 100, 5, 2)], {})
    later = daily(wire, PoPGrowth="Yes")[1]
    assert later["Spend Growth"] is None
    assert later["Transaction Count Growth"] == 0.25
    assert later["Cardholder Count Growth"] == 0


def test_growth_over_an_absent_day_is_null_even_next_to_one_that_is_there(
    serve_rows: Callable[..., Wire],
) -> None:
    day = date(2024, 1, 1)
    wire = serve_rows([row(day, 100, 4, 2), row(day + timedelta(365), 100, 5, 2)], {})
    assert daily(wire, PoPGrowth="Yes")[1]["Spend Growth"] is None


def test_growth_by_brand_compares_each_brand_with_itself(
    serve_rows: Callable[..., Wire],
) -> None:
    day = date(2024, 1, 1)
    rows = [
        row(day, 100, 1, 1, "a"),
        row(day + timedelta(364), 300, 1, 1, "a"),
        row(day, 100, 1, 1, "b"),
    ]
    rows += [row(day + timedelta(364), 100, 1, 1, "c")]
    result = daily(serve_rows(rows, {}), PoPGrowth="Yes", Dimensions=["Brand"])
    assert {
        (entry["Date"], entry["Brand"]): entry["Spend Growth"]
        for entry in result
        if entry["Date"] > "2024-06"
    } == {
        ("2024-12-30", "a"): 2.0,
        ("2024-12-30", "c"): None,
    }


def test_cents_stay_exact_beyond_the_precision_of_a_float(
    serve_rows: Callable[..., Wire],
) -> None:
    # As floats, 0.10 + 0.10 + 0.10 is 0.30000000000000004.
    rows = [row(date(2024, 1, 1), 10, 1, 1, brand) for brand in "abc"]
    [only] = daily(serve_rows(rows, {}))
    assert only["Spend"] == 0.3


def test_the_mean_of_a_quarter_is_of_the_days_and_not_of_its_sums(
    serve_rows: Callable[..., Wire],
) -> None:
    [only] = quarters(
        serve_rows(
            [row(FIRST, 100, 10, 10), row(LAST, 100, 6, 2)], {A: december(FIRST, LAST)}
        )
    )
    assert only["Transactions per Card"] == 2  # of 1 and 3; the sums would give 16 / 12
    assert only["Cardholder Count"] == 8


def test_without_data_in_any_quarter_there_are_no_rows(
    serve_rows: Callable[..., Wire],
) -> None:
    first = date(2024, 1, 2)
    last = date(2024, 3, 30)
    wire = serve_rows(
        [row(first, 1, 1, 1), row(last, 1, 1, 1)], {A: december(first, last)}
    )
    assert quarters(wire) == []
    assert quarters(wire, PeriodToDate="Yes") == []


def test_a_brand_without_data_in_the_panel_gives_no_rows(
    serve_rows: Callable[..., Wire],
) -> None:
    day = date(2024, 1, 1)
    rows = [row(day, 1, 1, 1), ("Q", A, "z", "North", "Gen X", day, 1, 1, 1)]
    wire = serve_rows(rows, {A: december(day, day)})
    assert quarters(wire, Brand="z") == []
    assert daily(wire, Brand="z") == []


def test_a_period_of_several_companies_is_reported_when_all_have_reported_it(
    serve_rows: Callable[..., Wire],
) -> None:
    first = date(2024, 1, 1)
    last = date(2024, 11, 1)
    days = [first + timedelta(days=30 * n) for n in range(10)] + [last]
    rows = [
        row(day, 1, 1, 1, brand, symbol)
        for day in days
        for brand, symbol in (("a", A), ("b", B))
    ]
    calendars = {
        A: december(first, last, date(2024, 12, 31)),
        B: december(first, last, date(2024, 6, 1)),
    }
    wire = serve_rows(rows, calendars)

    def current(**args: Any) -> list[str]:
        return [
            quarter["PeriodLabel"]
            for quarter in quarters(wire, PeriodToDate="Yes", **args)
            if quarter["IsCurrentQuarter"]
        ]

    # B has reported FQ1, A all. The current quarter is the earliest unreported one, else the running one.
    assert current(Symbol=None, Brand=["b"]) == ["FQ2 2024"] * 2
    assert current(Symbol=None, Brand=["a"]) == ["FQ4 2024"]
    assert current(Symbol=None, Brand=["a", "b"]) == ["FQ2 2024"] * 2


@pytest.mark.slow
def test_a_lookback_is_a_number_of_years_as_text_or_a_number(
    serve_rows: Callable[..., Wire],
) -> None:
    wire = serve_rows([row(date(2024, 1, 1), 1, 1, 1)], {})
    for lookback in ("0", 0, "51", "-1", "abc", "1.5", 1.5, "1e1", True, "٣", {"a": 1}):
        [text] = wire.errors(
            "Get Panel Daily", PanelName="P", Symbol=A, PoPLookback=lookback
        )["PoPLookback"]
        assert text.startswith("PoPLookback ")
    for lookback in ("1", 1, 1.0, " 50 ", "+2", "", None):
        assert len(daily(wire, PoPGrowth="Yes", PoPLookback=lookback)) == 1


# SQL that was compiled beforehand

COMPILED = """
import sys
from jupyter_funcs.service.builtin import companies, demo, card_functions

panel = {"PanelName": "Demo Card Panel"}
symbol = panel | {"Symbol": "BKQU US EQUITY"}
runs = [
    (card_functions.get_panels, {}),
    (card_functions.get_universe, {}),
    (card_functions.get_kpis, symbol),
    (card_functions.get_panel_dimensions, panel | {"Dimensions": ["Brand"]}),
    (card_functions.get_panel_daily, symbol | {"PoPGrowth": "Yes"}),
    (card_functions.get_panel_fq, symbol | {"PoPGrowth": "Yes", "PeriodToDate": "Yes"}),
]

def rows():
    call = engine.call()
    return [call.fetch(function(call, **args)) for function, args in runs]

engine = demo.DuckDBEngine(companies.reference(), demo.cards)
assert all(rows()) and not {"ibis", "sqlglot"} & sys.modules.keys()
"""


@pytest.mark.slow
def test_the_frequent_runs_need_neither_ibis_nor_sqlglot() -> None:
    """They answer from SQL that was compiled beforehand."""
    python(COMPILED)


@pytest.mark.slow
def test_the_compiled_sql_is_that_of_the_expressions() -> None:
    """After a change of the queries: python -m tests.service.builtin.compiled."""
    assert queries.ready() == compiled()

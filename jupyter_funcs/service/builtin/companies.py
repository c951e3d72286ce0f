"""The demo's invented companies, brands, panels, KPIs and reports; none of them is real."""

from __future__ import annotations

import csv
import itertools
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.service.engine import calendar
from jupyter_funcs.service.engine.tables import (
    Brand,
    Company,
    DataSet,
    Kpi,
    Reference,
    Report,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST_DAY = date(2020, 11, 16)
LAST_DAY = date(2025, 11, 15)
"""The first and last day of the demo's card spend: five years."""

TODAY = date(2025, 11, 18)
"""The demo's fixed date of today, which decides what quarters are reported."""

PANELS = (
    DataSet("Demo Card Panel", "Synthetic Data Works"),
    DataSet("Demo Debit Panel", "Synthetic Data Works"),
)
REGIONS = ("Mid-Atlantic", "Midwest", "Northeast", "Pacific", "Southeast", "Southwest")
GENERATIONS = ("Baby Boomers", "Gen X", "Gen Z", "Millennials", "Silent")


class Profile(NamedTuple):
    """A demo company, with the parameters of its generated numbers."""

    company: Company
    brands: tuple[str, ...]
    season: str
    daily_cards: int
    ticket_cents: int
    reports_after_days: int


def _profiles() -> Iterator[Profile]:
    """Read the companies, which are sorted by symbol. Two of them have the same ticker in different regions."""
    with (
        Path(__file__)
        .with_name("companies.csv")
        .open(encoding="utf-8", newline="") as file
    ):
        rows = csv.reader(file)
        next(rows)
        for *company, brands, season, daily_cards, ticket_cents, days in rows:
            numbers = map(int, (daily_cards, ticket_cents, days))
            yield Profile(
                Company(*company), tuple(brands.split("; ")), season, *numbers
            )


PROFILES = tuple(_profiles())

BRANDS = tuple(
    Brand(name, profile.company.symbol)
    for profile in PROFILES
    for name in sorted(profile.brands)
)

REPORTS = (
    Report(
        "RPT-101",
        "Coffee and bakeries",
        PANELS[0].name,
        ("DGVN US EQUITY", "MCHQ US EQUITY"),
    ),
    Report("RPT-102", "Apparel", PANELS[0].name, ("KORD LN EQUITY", "NVRA US EQUITY")),
    Report(
        "RPT-103",
        "Travel",
        PANELS[1].name,
        ("CRVX US EQUITY", "LDQM US EQUITY", "SKVD US EQUITY"),
    ),
)


def _kpis() -> Iterator[Kpi]:
    """Yield two KPIs per company and panel, of which the first is primary, and one per brand."""
    number = itertools.count(1001)
    sales = ("Revenue", "Spend")
    volume = ("Volume", "Transaction Count")
    for panel, profile in itertools.product(PANELS, PROFILES):
        brands = tuple(sorted(profile.brands))
        rows: list[tuple[Any, ...]] = [
            ("Net Sales", "USD", "Income Statement", *sales, brands, True),
            ("Orders", "Count", "Operating Metrics", *volume, brands, False),
            *(
                (
                    f"{brand} Net Sales",
                    "USD",
                    "Segment Disclosure",
                    *sales,
                    (brand,),
                    False,
                )
                for brand in brands
            ),
        ]
        for name, *facts in rows:
            yield Kpi(next(number), name, profile.company.symbol, panel.name, *facts)


KPIS = tuple(_kpis())


@cache
def reference() -> Reference:
    return Reference(
        panels=PANELS,
        companies=[profile.company for profile in PROFILES],
        brands=BRANDS,
        kpis=KPIS,
        reports=REPORTS,
        calendars={
            company.symbol: calendar.periods(
                company.fiscal_year_end,
                FIRST_DAY,
                LAST_DAY,
                TODAY - timedelta(days=reports_after_days),
            )
            for company, *_, reports_after_days in PROFILES
        },
        generations=GENERATIONS,
    )

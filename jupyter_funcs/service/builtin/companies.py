"""The demo's invented companies, brands, panels, KPIs and reports; none of them is real."""

from __future__ import annotations

import itertools
from datetime import date, timedelta
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from jupyter_funcs.service.engine import calendar
from jupyter_funcs.service.engine.reference import Brand, Company, DataSet, Kpi, Reference, Report

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST_DAY, LAST_DAY = date(2020, 11, 16), date(2025, 11, 15)
"""The first and last day of the demo's card spend: five years."""

TODAY = date(2025, 11, 18)
"""The demo's fixed date of today, which decides what quarters are reported."""

PANELS = (
    DataSet("Demo Card Panel", "Synthetic Data Works"),
    DataSet("Demo Debit Panel", "Synthetic Data Works"),
)
REGIONS = ("Mid-Atlantic", "Midwest", "Northeast", "Pacific", "Southeast", "Southwest")
GENERATIONS = ("Baby Boomers", "Gen X", "Gen Z", "Millennials", "Silent")

_DECEMBER, _RETAIL, _SEPTEMBER, _JUNE = "December", "Saturday nearest 31 January", "September", "June"


class Profile(NamedTuple):
    """A demo company, with the parameters of its generated numbers."""

    company: Company
    brands: tuple[str, ...]
    season: str
    daily_cards: int
    ticket_cents: int
    reports_after_days: int


_GOODS, _STAPLES, _MEDIA = "Consumer Discretionary", "Consumer Staples", "Communication Services"

# fmt: off
# ruff: noqa: E501 - one company per row
PROFILES = tuple(sorted((
    Profile(Company("NVRA US EQUITY", "Nuvarelle Outfitters", _GOODS, "Apparel Retail", _RETAIL), ("Nuvarelle", "Fennloft", "Tidewisp"), "gifts", 26000, 6400, 20),
    Profile(Company("QLMK US EQUITY", "Quillmarsk Home", _GOODS, "Home Furnishings", _RETAIL), ("Quillmarsk", "Ostrelle Rooms"), "gifts", 9000, 9800, 24),
    Profile(Company("ZPLN US EQUITY", "Zeppelune Toys", _GOODS, "Leisure Products", _RETAIL), ("Zeppelune", "Kiddlorn"), "gifts", 8000, 4200, 22),
    Profile(Company("VRDU US EQUITY", "Verdalune Beauty", _GOODS, "Specialty Retail", _RETAIL), ("Verdalune", "Pomelisse", "Skarabelle"), "gifts", 15000, 5100, 23),
    Profile(Company("TVWK US EQUITY", "Torvenwisk Outdoor", _GOODS, "Leisure Products", _RETAIL), ("Torvenwisk", "Cragmossa"), "summer", 7000, 8800, 25),
    Profile(Company("GMRQ US EQUITY", "Glimmerost Jewelry", _GOODS, "Specialty Retail", _RETAIL), ("Glimmerost", "Opalquay"), "gifts", 3500, 14500, 26),
    Profile(Company("OKHM US EQUITY", "Oakenhulm Hardware", _GOODS, "Home Improvement", _RETAIL), ("Oakenhulm", "Naildrift"), "summer", 18000, 7600, 19),
    Profile(Company("PXOR US EQUITY", "Pixelorne Electronics", _GOODS, "Consumer Electronics", _DECEMBER), ("Pixelorne", "Voltarelle"), "gifts", 9500, 14200, 33),
    Profile(Company("BVQS US EQUITY", "Bravoquesa Grill Group", _GOODS, "Restaurants", _DECEMBER), ("Bravoquesa", "Salsandro", "Wokandine"), "meals", 34000, 1650, 30),
    Profile(Company("MCHQ US EQUITY", "Mochandrel Coffee", _GOODS, "Restaurants", _SEPTEMBER), ("Mochandrel", "Beanwhistle", "Steepandra"), "meals", 42000, 780, 38),
    Profile(Company("PZQN US EQUITY", "Pizzolune Kitchens", _GOODS, "Restaurants", _DECEMBER), ("Pizzolune", "Crustavio"), "meals", 21000, 2350, 28),
    Profile(Company("CLQM US EQUITY", "Cluckmoor Foods", _GOODS, "Restaurants", _SEPTEMBER), ("Cluckmoor", "Wingarden Row"), "meals", 27000, 1420, 52),
    Profile(Company("DGVN US EQUITY", "Doughvane Bakeries", _GOODS, "Restaurants", _JUNE), ("Doughvane", "Crumbelisk", "Loafandrel"), "meals", 14000, 960, 41),
    Profile(Company("GVSA US EQUITY", "Greenvossa Markets", _STAPLES, "Grocery Retail", _RETAIL), ("Greenvossa", "Rootandrel", "Vossa Express"), "grocery", 46000, 5200, 18),
    Profile(Company("HVSQ US EQUITY", "Harvistelle Grocers", _STAPLES, "Grocery Retail", _DECEMBER), ("Harvistelle", "Pantriola", "Corner Harvist"), "grocery", 38000, 4600, 51),
    Profile(Company("BKQU US EQUITY", "Bulkandry Clubs", _STAPLES, "Warehouse Clubs", _JUNE), ("Bulkandry", "Bulkandry Fuel"), "grocery", 24000, 11800, 35),
    Profile(Company("SKVD US EQUITY", "Skyvandrel Airlines", "Industrials", "Airlines", _DECEMBER), ("Skyvandrel", "Jetmoorish"), "travel", 5200, 15600, 21),
    Profile(Company("LDQM US EQUITY", "Lodgemoor Stays", _GOODS, "Hotels", _DECEMBER), ("Lodgemoor", "Innastrelle", "Suitelorn"), "travel", 6800, 14200, 36),
    Profile(Company("CRVX US EQUITY", "Crescovane Cruises", _GOODS, "Cruises", _SEPTEMBER), ("Crescovane", "Tidelorne"), "travel", 2600, 13900, 44),
    Profile(Company("STMQ US EQUITY", "Streamorelle Media", _MEDIA, "Streaming", _DECEMBER), ("Streamorelle", "Tunavox", "Reelandry"), "digital", 29000, 1290, 27),
    Profile(Company("QSTX US EQUITY", "Questorame Games", _MEDIA, "Interactive Entertainment", _JUNE), ("Questorame", "Pawnlight", "Dragonelle Online"), "digital", 12000, 2180, 34),
    Profile(Company("GLRX US EQUITY", "Glidarro Mobility", "Industrials", "Ride Sharing", _DECEMBER), ("Glidarro", "Glidarro Eats", "Scootelisk"), "meals", 31000, 2480, 32),
    # Two companies with the same ticker in different regions: the ticker alone is ambiguous.
    Profile(Company("KORD LN EQUITY", "Kordelisse Fashions", _GOODS, "Apparel Retail", _JUNE), ("Kordelisse", "Maison Ordrelle", "Stitchmoor"), "gifts", 11000, 7200, 46),
    Profile(Company("KORD US EQUITY", "Kordrivet Auto Parts", _GOODS, "Automotive Retail", _SEPTEMBER), ("Kordrivet", "Wrenchalow"), "summer", 10500, 6900, 40),
), key=lambda profile: profile.company.symbol))
# fmt: on

BRANDS = tuple(Brand(name, profile.company.symbol) for profile in PROFILES for name in sorted(profile.brands))

REPORTS = (
    Report("RPT-101", "Coffee and bakeries", PANELS[0].name, ("DGVN US EQUITY", "MCHQ US EQUITY")),
    Report("RPT-102", "Apparel", PANELS[0].name, ("KORD LN EQUITY", "NVRA US EQUITY")),
    Report("RPT-103", "Travel", PANELS[1].name, ("CRVX US EQUITY", "LDQM US EQUITY", "SKVD US EQUITY")),
)


def _kpis() -> Iterator[Kpi]:
    """Yield two KPIs per company and panel, of which the first is primary, and one per brand."""
    number = itertools.count(1001)
    sales, volume = ("Revenue", "Spend"), ("Volume", "Transaction Count")
    for panel, profile in itertools.product(PANELS, PROFILES):
        brands = tuple(sorted(profile.brands))
        at = profile.company.symbol, panel.name
        yield Kpi(next(number), "Net Sales", *at, "USD", "Income Statement", *sales, brands, is_primary=True)
        yield Kpi(next(number), "Orders", *at, "Count", "Operating Metrics", *volume, brands, is_primary=False)
        for brand in brands:
            name = f"{brand} Net Sales"
            yield Kpi(next(number), name, *at, "USD", "Segment Disclosure", *sales, (brand,), is_primary=False)


KPIS = tuple(_kpis())


@cache
def reference() -> Reference:
    """Return the demo's reference data."""
    return Reference(
        panels=PANELS,
        companies=[profile.company for profile in PROFILES],
        brands=BRANDS,
        kpis=KPIS,
        reports=REPORTS,
        calendars={
            each.company.symbol: calendar.periods(
                each.company.fiscal_year_end, FIRST_DAY, LAST_DAY, TODAY - timedelta(days=each.reports_after_days)
            )
            for each in PROFILES
        },
        generations=GENERATIONS,
    )

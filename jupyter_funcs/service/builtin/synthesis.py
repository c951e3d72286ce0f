"""
The demo's numbers: card spend by panel, brand, region, age group and day, drawn from a fixed seed.

Bit-equal on every machine: the draws are raw words of a counter-based generator, and everything computed from them is
integer arithmetic. Shares and factors are in ten-thousandths (`_ONE`), levels in thousandths of a card.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from . import companies, seasons

if TYPE_CHECKING:
    import numpy.typing as npt

    from .companies import Profile

    Integers = npt.NDArray[np.int64]

_SEED = 20251118
_ONE = 10_000
_DAYS = (companies.LAST_DAY - companies.FIRST_DAY).days + 1
_YEAR = 365
_KNOT = 91  # a brand's fortune turns about once a quarter

# Streams of the generator: one a brand, one a panel and company, one for what companies report.
_BRAND_STREAM, _PANEL_STREAM, _KPI_STREAM = 1 << 32, 2 << 32, 3 << 32

# By panel: cards seen, ticket, and the cards by generation.
_PANEL_CARDS = (10_000, 5_600)
_PANEL_TICKET = (10_000, 8_700)
_PANEL_GENERATIONS = ((2_300, 2_600, 1_500, 2_900, 700), (1_900, 2_400, 2_300, 2_900, 500))
_REGION_SHARES = (1_450, 1_900, 1_300, 1_850, 2_200, 1_300)
# By generation: how its cards change a year, and its ticket.
_GENERATION_DRIFT = (-250, 0, 900, 300, -600)
_GENERATION_TICKET = (10_700, 10_900, 8_300, 10_000, 9_400)
_INFLATION_A_YEAR = 320

# Brands that open within the five years, on the day of that number.
_LAUNCHES = {"Steepandra": 504, "Scootelisk": 938}
# How many of 256 days of a brand, region and age group have no data.
_ABSENT_IN_256 = 2


def card_spend(panel: int, profile: Profile) -> dict[str, Integers]:
    """
    Draw the card spend of one company in one panel.

    Parameters
    ----------
    panel
        The panel's place in `companies.PANELS`.

    Returns
    -------
    dict
        Columns of equal length, sorted by the first four: `day` (since the first), `brand` (place among the
        profile's sorted brands), `region` and `generation` (places in `companies`), then `spend_cents`,
        `transactions` and `cards`. A combination without data is absent.
    """
    brands = sorted(profile.brands)
    drawn = [_brand(profile, name) for name in brands]
    shape = (_DAYS, len(brands), len(companies.REGIONS), len(companies.GENERATIONS))
    raw = np.random.Philox(key=[_SEED, _PANEL_STREAM + panel * 1000 + companies.PROFILES.index(profile)])
    noise = raw.random_raw(shape)
    small = raw.random_raw(shape)

    def bits(word: npt.NDArray[np.uint64], start: int, count: int) -> Integers:
        return ((word >> np.uint64(start)) & np.uint64((1 << count) - 1)).astype(np.int64)

    # Cards: level of the cell, by the day's factor, drift of the age group and noise of about 5 %.
    cells = np.stack([brand.cells for brand in drawn])[None]
    days = np.stack([brand.days for brand in drawn], axis=1)[:, :, None, None]
    years = np.arange(_DAYS)[:, None, None, None]
    drift = _ONE + np.array(_GENERATION_DRIFT) * years // _YEAR
    people = np.array(_PANEL_GENERATIONS[panel]) * _PANEL_CARDS[panel] // _ONE
    level = cells * people // _ONE * days // _ONE * drift // _ONE
    bell = bits(noise, 0, 16) + bits(noise, 16, 16) + bits(noise, 32, 16) + bits(noise, 48, 16) - 2 * 65_535
    # The thousandths of a card are rounded by lot, so that small cells keep their mean.
    cards = ((level * ((1 << 20) + bell * 11 // 8) >> 20) + (bits(small, 0, 16) * 1000 >> 16)) // 1000

    # Transactions: each card has one, some have more.
    again = np.array([brand.again for brand in drawn])[None, :, None, None]
    transactions = cards + (cards * again + (bits(small, 16, 16) * _ONE >> 16)) // _ONE

    # Spend: a ticket by brand, age group, panel and year, with noise of about 4 % over a cell's day.
    prices = np.stack([brand.ticket for brand in drawn])[None, :, :, None] * np.array(_GENERATION_TICKET) // _ONE
    inflation = _ONE + _INFLATION_A_YEAR * years // _YEAR
    ticket = prices * _PANEL_TICKET[panel] // _ONE * inflation // _ONE
    swing = bits(small, 32, 12) + bits(small, 44, 12) - 4_095
    spend = transactions * ticket * (40_960 + swing) // 40_960

    present = (cards > 0) & (bits(small, 56, 8) >= _ABSENT_IN_256)
    day, brand, region, generation = np.nonzero(present)
    return {
        "day": day,
        "brand": brand,
        "region": region,
        "generation": generation,
        "spend_cents": spend[present],
        "transactions": transactions[present],
        "cards": cards[present],
    }


class _Brand:
    """What is drawn once a brand and shared by the panels, which see the same shops."""

    def __init__(self, cells: Integers, days: Integers, again: int, ticket: Integers) -> None:
        self.cells = cells  # region x generation: thousandths of a card a day
        self.days = days  # by day: factor
        self.again = again  # further transactions a card
        self.ticket = ticket  # by region: cents


def _brand(profile: Profile, name: str) -> _Brand:
    at = [brand.name for brand in companies.BRANDS].index(name)
    raw = np.random.Philox(key=[_SEED, _BRAND_STREAM + at])

    def between(low: int, high: int, size: int) -> Integers:
        """Draw integers from `low` to `high`, both inclusive."""
        words = (raw.random_raw(size) >> np.uint64(32)).astype(np.int64)
        return low + (words * (high - low + 1) >> 32)

    # The first brand of a profile is its largest.
    place = profile.brands.index(name)
    share = _ONE * (len(profile.brands) - place) * 2 // (len(profile.brands) * (len(profile.brands) + 1))
    regions = np.array(_REGION_SHARES) * between(6_000, 14_000, len(companies.REGIONS)) // _ONE
    generations = between(7_000, 13_000, len(companies.GENERATIONS))
    cells = profile.daily_cards * 1000 * share // _ONE * regions[:, None] // _ONE * generations // _ONE

    season = np.array(
        [seasons.busyness(profile.season, companies.FIRST_DAY + timedelta(days=day)) for day in range(_DAYS)]
    )
    day = np.arange(_DAYS)
    trend = _ONE + int(between(-300, 1_300, 1)[0]) * day // _YEAR
    turns = np.cumsum(between(-260, 260, _DAYS // _KNOT + 2))
    knot, passed = day // _KNOT, day % _KNOT
    fortune = _ONE + (turns[knot] * (_KNOT - passed) + turns[knot + 1] * passed) // _KNOT
    weather = _ONE + between(-350, 350, _DAYS) + between(-350, 350, _DAYS)
    days = season * trend // 1000 * fortune // _ONE * weather // _ONE
    days[: _LAUNCHES.get(name, 0)] = 0

    again = int(between(400, 5_000, 1)[0])
    ticket = profile.ticket_cents * between(8_500, 11_500, len(companies.REGIONS)) // _ONE
    return _Brand(cells, days, again, ticket)


def reported(kpi: int, totals: Integers) -> Integers:
    """
    Draw what a company reports for each of its quarters: the panel's total, grossed up, with noise of about 1.5 %.

    Parameters
    ----------
    kpi
        The number of the KPI, which picks the draws.
    totals
        The panel's total of the measure for each quarter.
    """
    words = np.random.Philox(key=[_SEED, _KPI_STREAM + kpi]).random_raw(len(totals) + 1)
    lots = (words >> np.uint64(48)).astype(np.int64)  # 0 to 65,535
    coverage = 40 + lots[0] * 60 // 65_536
    noise: Integers = _ONE + (lots[1:] - 32_768) * 260 // 32_768
    values: Integers = totals * coverage * noise // _ONE
    return values

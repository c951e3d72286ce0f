"""
The demo's numbers: card spend by panel, brand, region, age group and day, generated from a fixed seed.

As a Parquet file they are sorted by panel, symbol and date.
"""

from __future__ import annotations

import csv
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from jupyter_funcs.service.builtin import companies
from jupyter_funcs.service.engine import tables

if TYPE_CHECKING:
    import numpy.typing as npt

    from jupyter_funcs.service.builtin.companies import Profile

    Integers = npt.NDArray[np.int64]


# The same bits on every machine: the draws are raw words of a counter-based generator, and everything computed from
# them is integer arithmetic. Shares and factors are in ten-thousandths, levels in thousandths of a card.
_SEED = 20251118
_ONE = 10_000
_DAYS = (companies.LAST_DAY - companies.FIRST_DAY).days + 1
_YEAR = 365
_KNOT = 91  # a brand's trend changes about once per quarter

# Streams of the generator: one per brand, and one per panel and company.
_BRAND_STREAM = 1 << 32
_PANEL_STREAM = 2 << 32

# By panel: cards seen, ticket, and the cards by generation.
_PANEL_CARDS = (10_000, 5_600)
_PANEL_TICKET = (10_000, 8_700)
_PANEL_GENERATIONS = (
    (2_300, 2_600, 1_500, 2_900, 700),
    (1_900, 2_400, 2_300, 2_900, 500),
)
_REGION_SHARES = (1_450, 1_900, 1_300, 1_850, 2_200, 1_300)
# By generation: the yearly change of its cards, and its ticket.
_GENERATION_DRIFT = (-250, 0, 900, 300, -600)
_GENERATION_TICKET = (10_700, 10_900, 8_300, 10_000, 9_400)
_YEARLY_INFLATION = 320

# Brands that start within the five years, and the number of their first day.
_LAUNCHES = {"Steepandra": 504, "Scootelisk": 938}
# How many of 256 days have no data for a brand, region and age group.
_ABSENT_IN_256 = 2

# DuckDB's default: small groups let a query for one symbol skip more, large ones cost less to plan.
_ROWS_PER_GROUP = 122_880

_TEXT = pa.dictionary(pa.int8(), pa.string())
_CARDS = pa.schema(
    [
        field.with_type(_TEXT) if field.type == pa.string() else field
        for field in tables.arrow_schema(tables.CARDS)
    ]
)


def card_spend(panel: int, profile: Profile) -> dict[str, Integers]:
    brands = sorted(profile.brands)
    drawn = [_brand(profile, name) for name in brands]
    shape = (_DAYS, len(brands), len(companies.REGIONS), len(companies.GENERATIONS))
    raw = np.random.Philox(
        key=[_SEED, _PANEL_STREAM + panel * 1000 + companies.PROFILES.index(profile)]
    )
    noise = raw.random_raw(shape)
    small = raw.random_raw(shape)

    def bits(word: npt.NDArray[np.uint64], start: int, count: int) -> Integers:
        return ((word >> np.uint64(start)) & np.uint64((1 << count) - 1)).astype(
            np.int64
        )

    # Cards: the level of the cell, times the day's factor, the age group's drift, and noise of about 5 %.
    cells = np.stack([brand.cells for brand in drawn])[None]
    days = np.stack([brand.days for brand in drawn], axis=1)[:, :, None, None]
    years = np.arange(_DAYS)[:, None, None, None]
    drift = _ONE + np.array(_GENERATION_DRIFT) * years // _YEAR
    people = np.array(_PANEL_GENERATIONS[panel]) * _PANEL_CARDS[panel] // _ONE
    level = cells * people // _ONE * days // _ONE * drift // _ONE
    bell = sum(bits(noise, start, 16) for start in range(0, 64, 16)) - 2 * 65_535
    # Thousandths of a card are rounded at random, so that small cells keep their mean.
    cards = (
        (level * ((1 << 20) + bell * 11 // 8) >> 20) + (bits(small, 0, 16) * 1000 >> 16)
    ) // 1000

    # Transactions: each card has at least one.
    again = np.array([brand.again for brand in drawn])[None, :, None, None]
    transactions = cards + (cards * again + (bits(small, 16, 16) * _ONE >> 16)) // _ONE

    # Spend: a ticket by brand, age group, panel and year, with noise of about 4 % per cell and day.
    prices = (
        np.stack([brand.ticket for brand in drawn])[None, :, :, None]
        * np.array(_GENERATION_TICKET)
        // _ONE
    )
    inflation = _ONE + _YEARLY_INFLATION * years // _YEAR
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


class _Brand(NamedTuple):
    """What is drawn once per brand: all panels see the same shops."""

    cells: Integers  # region x generation: thousandths of a card per day
    days: Integers  # by day: factor
    again: int  # further transactions per card
    ticket: Integers  # by region: cents


def _brand(profile: Profile, name: str) -> _Brand:
    at = [brand.name for brand in companies.BRANDS].index(name)
    raw = np.random.Philox(key=[_SEED, _BRAND_STREAM + at])

    def between(low: int, high: int, size: int) -> Integers:
        """Draw integers from `low` to `high`, both inclusive."""
        words = (raw.random_raw(size) >> np.uint64(32)).astype(np.int64)
        return low + (words * (high - low + 1) >> 32)

    # The first brand of a profile is the largest.
    place = profile.brands.index(name)
    count = len(profile.brands)
    share = _ONE * (count - place) * 2 // (count * (count + 1))
    regions = (
        np.array(_REGION_SHARES)
        * between(6_000, 14_000, len(companies.REGIONS))
        // _ONE
    )
    generations = between(7_000, 13_000, len(companies.GENERATIONS))
    cells = (
        profile.daily_cards
        * 1000
        * share
        // _ONE
        * regions[:, None]
        // _ONE
        * generations
        // _ONE
    )

    season = np.array(
        [
            busyness(profile.season, companies.FIRST_DAY + timedelta(days=day))
            for day in range(_DAYS)
        ]
    )
    day = np.arange(_DAYS)
    trend = _ONE + int(between(-300, 1_300, 1)[0]) * day // _YEAR
    turns = np.cumsum(between(-260, 260, _DAYS // _KNOT + 2))
    knot = day // _KNOT
    passed = day % _KNOT
    fortune = (
        _ONE + (turns[knot] * (_KNOT - passed) + turns[knot + 1] * passed) // _KNOT
    )
    weather = _ONE + between(-350, 350, _DAYS) + between(-350, 350, _DAYS)
    days = season * trend // 1000 * fortune // _ONE * weather // _ONE
    days[: _LAUNCHES.get(name, 0)] = 0

    again = int(between(400, 5_000, 1)[0])
    ticket = (
        profile.ticket_cents * between(8_500, 11_500, len(companies.REGIONS)) // _ONE
    )
    return _Brand(cells, days, again, ticket)


def _factors() -> dict[str, dict[str, int]]:
    """Read how busy a month, weekday or holiday is in each season, in thousandths; only some holidays concern it."""
    with (
        Path(__file__)
        .with_name("seasons.csv")
        .open(encoding="utf-8", newline="") as file
    ):
        return {
            row.pop("when"): {
                season: int(factor) for season, factor in row.items() if factor
            }
            for row in csv.DictReader(file)
        }


_FACTORS = _factors()


def busyness(season: str, day: date) -> int:
    """Return how busy a day is, in thousandths of an average day; 0 means closed."""
    november = date(day.year, 11, 1)
    thanksgiving = november + timedelta(days=(3 - november.weekday()) % 7 + 21)
    after = f"Thanksgiving {(day - thanksgiving).days:+}"
    holiday = _FACTORS.get(f"{day:%m-%d}") or _FACTORS.get(after, {})
    weekday = _FACTORS[f"weekday {day.isoweekday()}"][season]
    return _by_date(season, day) * weekday * holiday.get(season, 1000) // 1_000_000


def _by_date(season: str, day: date) -> int:
    """Interpolate between the middles of two months."""
    back = (day.replace(day=1) - timedelta(days=1)).replace(day=15)
    ahead = day.replace(day=15)
    if day.day >= 15:
        back = ahead
        ahead = (day.replace(day=1) + timedelta(days=32)).replace(day=15)

    passed = (day - back).days
    whole = (ahead - back).days
    before, after = (
        _FACTORS[f"month {middle.month}"][season] for middle in (back, ahead)
    )
    return (before * (whole - passed) + after * passed) // whole


def write(into: Path) -> None:
    """Generate the demo's numbers and write its file, which takes seconds."""
    with pq.ParquetWriter(into, _CARDS, compression="snappy") as writer:
        for panel, name in enumerate(companies.PANELS):
            for profile in companies.PROFILES:
                rows = _cards_table(name.name, profile, card_spend(panel, profile))
                writer.write_table(rows, row_group_size=_ROWS_PER_GROUP)


def _cards_table(panel: str, profile: Profile, spend: dict[str, Integers]) -> pa.Table:
    first = np.zeros_like(spend["day"])

    def text(places: Any, names: tuple[str, ...]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(
            pa.array(places.astype(np.int8)), pa.array(names)
        )

    return pa.table(
        [
            text(first, (panel,)),
            text(first, (profile.company.symbol,)),
            text(spend["brand"], tuple(sorted(profile.brands))),
            text(spend["region"], companies.REGIONS),
            text(spend["generation"], companies.GENERATIONS),
            np.datetime64(companies.FIRST_DAY) + spend["day"],
            *(spend[name] for name in ("spend_cents", "transactions", "cards")),
        ],
        schema=_CARDS,
    )

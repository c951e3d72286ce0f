"""The demo's numbers: the same bits everywhere, and plausible to an analyst."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc
import pytest

from jupyter_funcs.service.builtin import companies, demo, synthesis

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# Of the values, not the files. When they change on purpose, increase `demo.VERSION` too.
DIGESTS = {4: "a59253be5253251b9dfda269f765a73c71424ff121cdbb8f093d49555f9f1e1d"}


def digest() -> str:
    checksum = hashlib.sha256()
    for panel in range(len(companies.PANELS)):
        for profile in companies.PROFILES:
            for column in synthesis.card_spend(panel, profile).values():
                checksum.update(np.ascontiguousarray(column, dtype="<i8").tobytes())
    return checksum.hexdigest()


@pytest.mark.slow
def test_the_numbers_are_the_same_bits_as_in_this_version() -> None:
    assert digest() == DIGESTS[demo.VERSION]


@pytest.mark.slow
def test_the_file_holds_what_was_drawn(raw: pa.Table) -> None:
    at = 0
    for panel, data_set in enumerate(companies.PANELS):
        for profile in companies.PROFILES:
            drawn = synthesis.card_spend(panel, profile)
            rows = raw.slice(at, len(drawn["day"]))
            at += len(drawn["day"])
            assert rows["panel"].unique().to_pylist() == [data_set.name]
            assert rows["symbol"].unique().to_pylist() == [profile.company.symbol]
            for name in ("spend_cents", "transactions", "cards"):
                assert np.array_equal(rows[name].to_numpy(), drawn[name])
            days = (np.array(rows["date"]) - np.datetime64(companies.FIRST_DAY)).astype(
                int
            )
            assert np.array_equal(days, drawn["day"])
    assert at == raw.num_rows


@pytest.mark.slow
def test_the_file_is_sorted_and_has_no_key_twice(raw: pa.Table) -> None:
    key = np.zeros(raw.num_rows, np.int64)
    for name in ("panel", "symbol", "date", "merchant", "region", "generation"):
        values = raw[name].combine_chunks()
        if name == "date":
            places = values.cast("int32").to_numpy().astype(np.int64)
        else:
            # The rank of each text in sorted order.
            texts = (
                values.dictionary_encode()
                if not hasattr(values, "dictionary")
                else values
            )
            ranks = np.argsort(np.argsort(texts.dictionary.to_pylist()))
            places = ranks[texts.indices.to_numpy()]
        key = key * (places.max() + 1) + places
    assert (np.diff(key) > 0).all()


@pytest.mark.slow
def test_the_size_is_as_documented(raw: pa.Table) -> None:
    for panel in companies.PANELS:
        rows = pc.sum(pc.equal(raw["panel"].cast("string"), panel.name)).as_py()
        assert 3_000_000 < rows < 3_400_000
    assert len(companies.PROFILES) == 24
    assert len({brand.name for brand in companies.BRANDS}) == 60
    assert (len(companies.REGIONS), len(companies.GENERATIONS)) == (6, 5)


@pytest.mark.slow
def test_every_row_has_data(raw: pa.Table) -> None:
    for name in ("spend_cents", "transactions", "cards"):
        assert np.array(raw[name]).min() > 0
    assert (np.array(raw["transactions"]) >= np.array(raw["cards"])).all()


@pytest.fixture(scope="module")
def days(raw: pa.Table) -> pd.DataFrame:
    """The larger panel by symbol and day."""
    frame = raw.select(
        ["panel", "symbol", "date", "spend_cents", "transactions", "cards"]
    ).to_pandas()
    frame = frame[frame.panel == companies.PANELS[0].name].drop(columns="panel")
    return frame.groupby(["symbol", "date"], observed=True).sum().reset_index()


@pytest.mark.slow
def test_prices_are_plausible(days: pd.DataFrame) -> None:
    sums = days.groupby("symbol", observed=True)[
        ["spend_cents", "transactions", "cards"]
    ].sum()
    assert (sums.spend_cents / sums.transactions / 100).between(5, 200).all()
    assert (sums.transactions / sums.cards).between(1.02, 1.6).all()


@pytest.mark.slow
def test_seasons_show(days: pd.DataFrame) -> None:
    dates = days.date.astype("datetime64[s]")
    apparel = days.symbol == "NVRA US EQUITY"
    spend = days[apparel].groupby(dates[apparel].dt.month).spend_cents.mean()
    assert spend[12] > 1.3 * spend[2]
    weekdays = days[apparel].groupby(dates[apparel].dt.day_of_week).spend_cents.mean()
    assert weekdays[5] > 1.2 * weekdays[1]
    assert weekdays.idxmax() == 5


def test_the_season_tables_average_about_one() -> None:
    for season in {profile.season for profile in companies.PROFILES}:
        year = [
            synthesis.busyness(
                season, companies.FIRST_DAY + np.timedelta64(day, "D").item()
            )
            for day in range(364)
        ]
        assert 930 < sum(year) / len(year) < 1080, season


def test_every_name_is_invented_and_the_catalog_says_that_the_data_are_synthetic() -> (
    None
):
    # A test can't prove that names are invented; at least they are distinct, and plain words.
    names = [profile.company.name for profile in companies.PROFILES] + [
        brand.name for brand in companies.BRANDS
    ]
    assert len({name.casefold() for name in names}) == len(names)
    assert all(re.fullmatch(r"[A-Z][A-Za-z ]+", name) for name in names)
    assert all("Synthetic" in panel.provider for panel in companies.PANELS)

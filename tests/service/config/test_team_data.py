"""The built-in functions over a team's own tables, checked against pandas on the team's rows."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jupyter_funcs.service.config import settings, team_data
from jupyter_funcs.service.engine.remote_engine import connect_engine
from tests.examples import row_id
from tests.service.builtin.test_card_functions import (
    MEASURES,
    WITH_GROWTH,
    assert_same,
    by_day,
    by_window,
)
from tests.service.engine.test_engines import postgres, sail, serve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_funcs.service.config.settings import Settings
    from jupyter_funcs.service.engine.tables import Cards, Reference
    from tests.service.conftest import Wire

ALPH = "ALPH US EQUITY"
BETA = "BETA LN EQUITY"
BRANDS = {"Alpha Home": ALPH, "Alpine": ALPH, "Betamax": BETA}
FIRST = date(2022, 6, 1)
LAST = date(2024, 12, 20)
TODAY = date(2025, 1, 10)
# The team's names; the service uses none of them.
COLUMNS = {
    "panel": "feed",
    "symbol": "ticker",
    "merchant": "brand_name",
    "region": "state",
    "channel": "chan",
    "date": "day",
    "spend_cents": "usd",
    "transactions": "tx",
    "cards": "accounts",
}
# The guide's first example.
GUIDE = (Path(__file__).parents[3] / "jupyter_funcs/guide/scale-out.md").read_text(
    "utf-8"
)
LEAST = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)[0]
CONFIGURATION = """
organisation = "Acme"
{engine}

[data]
{place}
spend_unit = "{unit}"

[data.columns]
date = "day"
symbol = "ticker"
spend = "usd"
transactions = "tx"
cards = "accounts"
panel = "feed"

[data.dimensions]
Channel = "chan"
Region = "state"
Brand = "brand_name"

[data.panels]
"Acme East" = "Acme Data"

[data.companies]
{companies}
columns.name = "title"

[data.calendar]
{calendar}
columns = {{ period_name = "quarter", start = "first day", end = "last day", is_historical = "reported" }}

[data.kpis]
{kpis}

[[data.reports]]
id = "EAST"
title = "Alpha in the east"
panel = "Acme East"
symbols = ["alph"]
"""


def quarters() -> dict[str, list[tuple[str, date, date, bool]]]:
    """Return one calendar by weeks and one by months, as a team would write them."""
    weeks = []
    start = date(2022, 5, 29)
    for number in range(12):
        end = start + timedelta(weeks=13, days=-1)
        weeks.append(
            (
                f"FQ{number % 4 + 1} {2023 + number // 4}",
                start,
                end,
                end < date(2024, 9, 1),
            )
        )
        start = end + timedelta(days=1)
    months = [
        (
            f"FQ{quarter.quarter} {quarter.qyear}",
            quarter.start_time.date(),
            quarter.end_time.date(),
            quarter.end_time.date() < LAST,
        )
        for quarter in pd.period_range("2022-05-01", "2025-06-01", freq="Q-MAR")
    ]
    return {ALPH: weeks, BETA: months}


@pytest.fixture(scope="module")
def stored() -> pd.DataFrame:
    """The team's rows with the service's column names: unsorted, with days missing."""
    random = np.random.default_rng(20240607)
    days = pd.date_range(FIRST, LAST).date
    parts = []
    for panel in ("Acme East", "Acme West"):
        for brand, symbol in BRANDS.items():
            for channel in ("Online", "In store"):
                for region in ("NY", "Unknown"):
                    kept = days[random.random(len(days)) < 0.9]
                    n = len(kept)
                    tx = random.integers(1, 400, n)
                    part = {
                        "panel": panel,
                        "symbol": symbol,
                        "merchant": brand,
                        "region": region,
                        "channel": channel,
                        "date": kept,
                        "spend_cents": random.integers(100, 9_999_999, n),
                        "transactions": tx,
                        "cards": random.integers(1, tx + 1),
                    }
                    parts.append(pd.DataFrame(part))
    return pd.concat(parts).sample(frac=1, random_state=7).reset_index(drop=True)


def tables(stored: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the team's tables; an unknown region is null."""
    cards = stored.assign(region=stored.region.replace("Unknown", None)).rename(
        columns=COLUMNS
    )
    companies = pd.DataFrame(
        [
            (ALPH, "Alpha Holdings", "Retail"),
            (BETA, "Beta plc", "Media"),
            ("NONE US EQUITY", "Without data", "x"),
        ],
        columns=["symbol", "title", "sector"],
    )
    rows = [(symbol, *row) for symbol, own in quarters().items() for row in own]
    calendar = pd.DataFrame(
        rows, columns=["symbol", "quarter", "first day", "last day", "reported"]
    )
    kpis = pd.DataFrame(
        [
            (7, ALPH, "Acme East", "Net Sales", "Alpine", True),
            (9, ALPH, "Acme West", "Orders", None, False),
        ],
        columns=["id", "symbol", "panel", "name", "brands", "is_primary"],
    )
    return {"cards": cards, "companies": companies, "calendar": calendar, "kpis": kpis}


def written(kind: str, folder: Path, stored: pd.DataFrame) -> str:
    """Store the team's tables as `kind` says, and return the configuration."""
    own = tables(stored)
    cards = own["cards"]
    if "parquet" in kind:
        # Decimals, dates with a time of day, dictionaries, in two files.
        usd = [Decimal(cents) / 100 for cents in cards.usd.tolist()]
        table = pa.Table.from_pandas(
            cards.assign(day=pd.to_datetime(cards.day) + pd.Timedelta(hours=13))
        )
        table = table.set_column(
            table.column_names.index("usd"), "usd", pa.array(usd, pa.decimal128(12, 2))
        )
        if kind == "parquet":  # which Sail cannot read
            table = table.set_column(
                table.column_names.index("chan"),
                "chan",
                table["chan"].dictionary_encode(),
            )
        (folder / "cards").mkdir()
        pq.write_table(
            table[: len(table) // 2],
            folder / "cards" / "a.parquet",
            row_group_size=4000,
        )
        pq.write_table(
            table[len(table) // 2 :],
            folder / "cards" / "b.parquet",
            row_group_size=4000,
        )
        own["companies"].to_csv(folder / "companies.csv", index=False)
        own["calendar"].to_csv(folder / "calendar.csv", index=False)
        own["kpis"].to_parquet(folder / "kpis.parquet")
        places = {
            "place": 'parquet = "cards/*.parquet"',
            "companies": 'csv = "companies.csv"',
            "calendar": 'csv = "calendar.csv"',
            "kpis": 'parquet = "kpis.parquet"',
        }
        return CONFIGURATION.format(engine="", unit="units", **places)
    places = {name: f'table = "{name}"' for name in ("companies", "calendar", "kpis")}
    if kind == "duckdb":
        # Whole cents, in a schema.
        with duckdb.connect(folder / "team.db") as con:
            con.execute("CREATE SCHEMA spend")
            for name, frame in own.items():
                schema = "spend." if name == "cards" else ""
                con.register("frame", pa.Table.from_pandas(frame, preserve_index=False))
                con.execute(f"CREATE TABLE {schema}{name} AS FROM frame")
        return CONFIGURATION.format(
            engine='engine = "duckdb://team.db"',
            unit="cents",
            place='table = "spend.cards"',
            **places,
        )
    # Floats, dates as text that the table declares as dates.
    with sqlite3.connect(folder / "team.sqlite") as con:
        con.execute(
            "CREATE TABLE cards (feed TEXT, ticker TEXT, brand_name TEXT, state TEXT, chan TEXT, day DATE, usd REAL, "
            "tx INTEGER, accounts INTEGER)"
        )
        rows = cards.assign(day=cards.day.astype(str), usd=cards.usd / 100).astype(
            object
        )
        con.executemany(
            f"INSERT INTO cards VALUES ({', '.join('?' * 9)})",
            rows.where(rows.notna(), None)[list(COLUMNS.values())].itertuples(
                index=False
            ),
        )
        for name in ("companies", "calendar", "kpis"):
            own[name].astype(
                {"first day": str, "last day": str} if name == "calendar" else {}
            ).to_sql(name, con, index=False)
    con.close()
    url = f'engine = "sqlite://{folder}/team.sqlite"'
    return CONFIGURATION.format(
        engine=url, unit="units", place='table = "cards"', **places
    )


def loaded(
    folder: Path, configuration: str
) -> tuple[Settings, Reference, Callable[[], Cards]]:
    (folder / "service.toml").write_text(configuration)
    service_settings = settings.load(folder / "service.toml")
    return service_settings, *team_data.load(
        service_settings, service_settings.data, TODAY
    )


def configured(folder: Path, configuration: str) -> Wire:
    """Serve the built-in functions over what a configuration names."""
    service_settings, reference, cards = loaded(folder, configuration)
    engine = connect_engine(service_settings.engine, reference, cards)
    engine.open()
    return serve(engine, reference)


def written_to_postgres(url: str, folder: Path, stored: pd.DataFrame) -> str:
    """Return the configuration for card spend in PostgreSQL, and everything else in files."""
    text = written("parquet", folder, stored).replace(
        'parquet = "cards/*.parquet"', 'table = "spend.cards"'
    )
    text = text.replace('spend_unit = "units"', 'spend_unit = "cents"')
    for use, column in COLUMNS.items():
        text = text.replace(
            f'= "{column}"', f'= "{"generation" if use == "channel" else use}"'
        )
    return f'engine = "{url}"\n{text}'


@pytest.fixture(
    scope="module",
    params=["parquet", "duckdb", "parquet on Spark Connect", "PostgreSQL"],
)
def team(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    stored: pd.DataFrame,
) -> Iterator[Wire]:
    folder = tmp_path_factory.mktemp("team")
    with contextlib.ExitStack() as stack:
        if request.param == "PostgreSQL":
            path = folder / "stored.parquet"
            tables(stored)["cards"][list(COLUMNS.values())].to_parquet(path)
            wire = configured(
                folder,
                written_to_postgres(
                    stack.enter_context(postgres(path)), folder, stored
                ),
            )
        elif request.param == "parquet on Spark Connect":
            url = stack.enter_context(sail())
            wire = configured(
                folder, f'engine = "{url}"\n{written(request.param, folder, stored)}'
            )
        else:
            wire = configured(folder, written(request.param, folder, stored))
        stack.callback(wire.engine.close)
        yield wire


def chosen(stored: pd.DataFrame, panel: str, symbol: str) -> pd.DataFrame:
    rows = stored[(stored.panel == panel) & (stored.symbol == symbol)]
    return rows.assign(Channel=rows.channel, Region=rows.region, Brand=rows.merchant)


def test_the_listing_functions_return_the_teams_tables(team: Wire) -> None:
    assert team.rows("Get Panels") == [
        {"PanelName": "Acme East", "ProviderName": "Acme Data"},
        {"PanelName": "Acme West", "ProviderName": "Acme"},
    ]
    names = ("Symbol", "InstrumentName", "Sector", "Industry", "FiscalYearEnd")
    assert [
        tuple(row[name] for name in names) for row in team.rows("Get Universe")
    ] == [
        (ALPH, "Alpha Holdings", "Retail", "", "24 May"),
        (BETA, "Beta plc", "Media", "", "31 March"),
    ]
    args = {"PanelName": "acme west", "Dimensions": ["Channel", "Region"]}
    assert team.rows("Get Panel Dimensions", **args) == [
        {"Channel": channel, "Region": region}
        for channel in ("In store", "Online")
        for region in ("NY", "Unknown")
    ]
    brands = [{"Merchant": brand} for brand in sorted(BRANDS)]
    assert (
        team.rows("Get Panel Dimensions", PanelName="Acme East", Dimensions="Brand")
        == brands
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "dimensions", [[], ["Channel"], ["Region", "Brand", "Channel"]], ids=row_id
)
def test_daily_equals_pandas_on_the_teams_rows(
    team: Wire, stored: pd.DataFrame, dimensions: list[str]
) -> None:
    rows = team.rows(
        "Get Panel Daily",
        PanelName="Acme East",
        Symbol="alph",
        Dimensions=dimensions,
        PoPGrowth="Yes",
    )
    assert list(rows[0]) == ["Date", *dimensions, *WITH_GROWTH]
    expected = by_day(chosen(stored, "Acme East", ALPH), dimensions).sort_values(
        ["date", *dimensions]
    )
    earlier = expected.assign(date=expected.date + timedelta(days=364)).set_index(
        ["date", *dimensions]
    )
    earlier = earlier.reindex(
        pd.MultiIndex.from_frame(expected[["date", *dimensions]])
        if dimensions
        else expected.date
    )
    for measure in MEASURES:
        expected[f"{measure} Growth"] = (
            expected[measure].to_numpy() / earlier[measure].to_numpy() - 1
        )
    expected["Date"] = expected.date.astype(str)
    assert_same(rows, expected, ["Date", *dimensions, *WITH_GROWTH])
    assert [row["Spend"] for row in rows] == [
        cents / 100 for cents in expected.spend_cents
    ]


@pytest.mark.slow
@pytest.mark.parametrize("symbol", [ALPH, BETA])
@pytest.mark.parametrize("dimensions", [[], ["Channel", "Brand"]], ids=row_id)
def test_fq_equals_pandas_on_the_teams_rows_and_calendar(
    team: Wire, stored: pd.DataFrame, symbol: str, dimensions: list[str]
) -> None:
    result = team.rows(
        "Get Panel FQ",
        PanelName="Acme West",
        Symbol=symbol,
        Dimensions=dimensions,
        PeriodToDate="Yes",
    )
    rows = chosen(stored, "Acme West", symbol)
    first = rows.date.min()
    last = rows.date.max()
    own = [quarter for quarter in quarters()[symbol] if first <= quarter[1] <= last]
    [passed] = [last - start for _, start, end, _ in own if start <= last <= end]
    current = next(name for name, *_, reported in own if not reported)
    windows = [(name, False, start, end) for name, start, end, _ in own if end <= last]
    windows += [
        (name, True, start, min(start + passed, end)) for name, start, end, _ in own
    ]
    expected = pd.concat(
        by_window(rows, dimensions, start, end)
        .sort_values(dimensions or MEASURES)
        .assign(
            PeriodLabel=name,
            PeriodToDate=short,
            PeriodStartDate=str(start),
            PeriodEndDate=str(end),
        )
        for name, short, start, end in windows
    )
    expected["IsCurrentQuarter"] = expected.PeriodLabel == current
    assert_same(result, expected, list(result[0]))


def test_fq_growth_compares_quarters_with_the_same_name(team: Wire) -> None:
    rows = team.rows(
        "Get Panel FQ", PanelName="Acme West", Symbol=ALPH, PoPGrowth="Yes"
    )
    spend = {row["PeriodLabel"]: row["Spend"] for row in rows}
    assert rows[-1]["PeriodLabel"] == "FQ2 2025"
    assert rows[-1]["Spend Growth"] == pytest.approx(
        spend["FQ2 2025"] / spend["FQ2 2024"] - 1
    )
    assert rows[0]["Spend Growth"] is None


def test_kpis_and_reports_are_the_teams(team: Wire, stored: pd.DataFrame) -> None:
    kpis = team.rows("Get KPIs", Symbol=ALPH, PrimaryOnly="No")
    assert [
        (row["KpiId"], row["PanelName"], row["Brands"], row["IsPrimary"])
        for row in kpis
    ] == [
        (7, "Acme East", "Alpine", True),
        (9, "Acme West", "Alpha Home, Alpine", False),
    ]
    rows = chosen(stored, "Acme East", ALPH)
    months = pd.to_datetime(rows.date).dt.to_period("M").dt.start_time.dt.date
    expected = rows.groupby(months).spend_cents.sum() / 100
    series = team.rows("Get Report", report_id="east")
    assert series == [
        {"Date": str(day), "Spend": spend} for day, spend in expected.items()
    ]


def test_the_listing_names_the_teams_dimensions_and_nothing_of_the_demo(
    team: Wire,
) -> None:
    text = team.request("GET", "/api/function/getAll").text
    assert "Options are 'Channel', 'Region', 'Brand'." in text
    assert "take: Channel, Region, Brand as Merchant." in text
    assert "Options are 'EAST'." in text
    assert not re.search("demo|synthetic|Age Group|generation", text, re.IGNORECASE)


@pytest.mark.slow
def test_any_ibis_connection_gives_the_same_reference(
    tmp_path: Path, stored: pd.DataFrame
) -> None:
    references = {}
    for kind in ("parquet", "duckdb", "sqlite"):
        folder = tmp_path / kind
        folder.mkdir()
        _, references[kind], _ = loaded(folder, written(kind, folder, stored))
    assert references["parquet"] == references["duckdb"] == references["sqlite"]


# The least, and what is not there


def few() -> pd.DataFrame:
    """Return rows that the example maps."""
    days = pd.date_range("2024-01-01", "2024-12-20").date
    brands = pd.DataFrame(
        {"brand_name": ["Alpha", "Beta"], "ticker": ["A US EQUITY", "B US EQUITY"]}
    )
    frame = brands.merge(pd.DataFrame({"state": ["NY", "CA"]}), "cross").merge(
        pd.DataFrame({"day": days}), "cross"
    )
    return frame.assign(spend_usd=12.34, transactions=4, active_cards=2, note="x")


def put(folder: Path, frame: pd.DataFrame) -> None:
    (folder / "cards").mkdir(exist_ok=True)
    frame.to_parquet(folder / "cards" / "2024.parquet", index=False)


def test_the_guides_example_works_unchanged(tmp_path: Path) -> None:
    put(tmp_path, few())
    wire = configured(tmp_path, LEAST)
    assert wire.rows("Get Panels") == [
        {"PanelName": "Card Panel", "ProviderName": "Acme"}
    ]
    listed = {
        function["name"]: function
        for function in wire.request("GET", "/api/function/getAll").json()
    }
    assert list(listed) == [
        "Get Panels",
        "Get Universe",
        "Get Panel Dimensions",
        "Get Panel Daily",
        "Get Panel FQ",
    ]
    rows = wire.rows(
        "Get Panel FQ",
        PanelName="card panel",
        Brand="beta",
        Dimensions="Region",
        PeriodToDate="Yes",
    )
    assert [(row["PeriodLabel"], row["PeriodToDate"]) for row in rows[::2]] == [
        ("FQ1 2024", False),
        ("FQ2 2024", False),
        ("FQ3 2024", False),
        ("FQ1 2024", True),
        ("FQ2 2024", True),
        ("FQ3 2024", True),
        ("FQ4 2024", True),
    ]
    assert rows[0]["Spend"] == 91 * 1234 / 100
    # 45 days after its end, FQ3 has been reported by 10 January.
    assert {row["PeriodLabel"] for row in rows if row["IsCurrentQuarter"]} == {
        "FQ4 2024"
    }


def test_a_calendar_spans_all_that_a_company_has(tmp_path: Path) -> None:
    early = few().assign(
        brand_name="Zeta",
        day=lambda rows: [day - timedelta(days=365) for day in rows.day],
    )
    put(tmp_path, pd.concat([few(), early[early.ticker == "A US EQUITY"]]))
    _, reference, _ = loaded(tmp_path, LEAST)
    spans = [
        (own[0].period_name, own[-1].period_name)
        for own in reference.calendars.values()
    ]
    assert spans == [("FQ1 2023", "FQ1 2025"), ("FQ1 2024", "FQ1 2025")]


def test_without_a_brand_column_a_company_is_its_own_brand(tmp_path: Path) -> None:
    put(tmp_path, few())
    wire = configured(tmp_path, LEAST.replace('Brand = "brand_name"\n', ""))
    by_brand = wire.rows(
        "Get Panel Daily",
        PanelName="card panel",
        Brand="a us equity",
        Dimensions=["Brand"],
    )
    assert {row["Brand"] for row in by_brand} == {"A US EQUITY"}
    assert wire.rows(
        "Get Panel Dimensions", PanelName="card panel", Dimensions=["Brand"]
    ) == [
        {"Merchant": "A US EQUITY"},
        {"Merchant": "B US EQUITY"},
    ]


def test_rows_without_a_brand_belong_to_the_company(tmp_path: Path) -> None:
    frame = few()
    frame.loc[frame.state == "CA", "brand_name"] = None
    put(tmp_path, frame)
    rows = configured(tmp_path, LEAST).rows(
        "Get Panel Dimensions", PanelName="card panel", Dimensions=["Brand"]
    )
    assert [row["Merchant"] for row in rows] == [
        "A US EQUITY",
        "Alpha",
        "B US EQUITY",
        "Beta",
    ]


@pytest.mark.parametrize(
    ("spend", "unit", "cents"),
    [
        pytest.param(
            [0.125, 1.15, -0.125, 1e9 + 0.01, 0.004],
            "units",
            [13, 115, -12, 100_000_000_001, 0],
            id="floats",
        ),
        pytest.param(
            [145, 7, -3, 0, 2**40],
            "units",
            [14500, 700, -300, 0, 2**40 * 100],
            id="whole numbers",
        ),
        pytest.param(
            [
                Decimal("0.15"),
                Decimal("-1.15"),
                Decimal("99999999.99"),
                Decimal(0),
                Decimal(1),
            ],
            "units",
            [15, -115, 9999999999, 0, 100],
            id="decimals",
        ),
        pytest.param(
            [
                Decimal("0.146"),
                Decimal("0.144"),
                Decimal("-1.006"),
                Decimal("0.125"),
                Decimal(1),
            ],
            "units",
            [15, 14, -101, 13, 100],
            id="decimals to round",
        ),
        pytest.param(
            [145, 7, -3, 0, 2**40], "cents", [145, 7, -3, 0, 2**40], id="cents"
        ),
        pytest.param(
            [14.5, 7, -3.2, 0, 1], "cents", [15, 7, -3, 0, 1], id="floats of cents"
        ),
    ],
)
def test_spend_becomes_whole_cents(
    tmp_path: Path, spend: list[Any], unit: str, cents: list[int]
) -> None:
    frame = few().head(5)
    frame["spend_usd"] = spend
    put(tmp_path, frame)
    wire = configured(
        tmp_path, LEAST.replace("[data]\n", f'[data]\nspend_unit = "{unit}"\n')
    )
    rows = wire.rows("Get Panel Daily", PanelName="card panel", Symbol="a")
    assert [round(row["Spend"] * 100) for row in rows] == cents


def test_weighted_transactions_and_cards_keep_their_fractions(tmp_path: Path) -> None:
    put(tmp_path, few().assign(transactions=1.25, active_cards=Decimal("0.5")))
    [first, *_] = configured(tmp_path, LEAST).rows(
        "Get Panel Daily", PanelName="card panel", Symbol="a"
    )
    assert (
        first["Transaction Count"],
        first["Cardholder Count"],
        first["Transactions per Card"],
    ) == (2.5, 1.0, 2.5)


def test_folder_names_may_replace_a_column(tmp_path: Path) -> None:
    for state, rows in few().groupby("state"):
        folder = tmp_path / "cards" / f"state={state}"
        folder.mkdir(parents=True)
        rows.drop(columns="state").to_parquet(folder / "x.parquet", index=False)
    wire = configured(tmp_path, LEAST.replace("cards/*.parquet", "cards/*/*.parquet"))
    rows = wire.rows(
        "Get Panel Dimensions", PanelName="card panel", Dimensions=["Region"]
    )
    assert [row["Region"] for row in rows] == ["CA", "NY"]

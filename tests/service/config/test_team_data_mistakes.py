"""Errors in a mapping or in a team's tables are reported at start, with the line of the configuration."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jupyter_funcs.core.errors import SetupError
from tests.examples import row_id
from tests.service.config.test_team_data import LEAST, few, loaded, put

if TYPE_CHECKING:
    from pathlib import Path


def refused(folder: Path, configuration: str) -> str:
    with pytest.raises(SetupError) as caught:
        loaded(folder, configuration)
    return str(caught.value).replace(f"{folder}/", "")


def edited(old: str, new: str, text: str = LEAST) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with rows that nothing is wrong with."""
    folder = tmp_path_factory.mktemp("team")
    put(folder, few())
    return folder


HEADER = (
    "It has 'brand_name', 'ticker', 'state', 'day', 'spend_usd', 'transactions', "
    "'active_cards', 'note'."
)
REGION = "line 15, data.dimensions.Region:"
MAPPINGS = [
    (
        '"day"',
        '"Day"',
        f"line 7, data.columns.date: 2024.parquet has no column 'Day'. Did you mean 'day'? {HEADER}",
    ),
    (
        '"spend_usd"',
        '"usd"',
        f"line 9, data.columns.spend: 2024.parquet has no column 'usd'. Did you mean 'spend_usd'? {HEADER}",
    ),
    (
        'cards = "active_cards"\n',
        "",
        f"line 6, data.columns.cards: 2024.parquet has no column 'cards'. Did you mean 'active_cards'? {HEADER}",
    ),
    (
        '"state"',
        '"stat"',
        f"{REGION} 2024.parquet has no column 'stat'. Did you mean 'state'? {HEADER}",
    ),
    (
        "[data.columns]\n",
        '[data.columns]\npanel = "feed"\n',
        f"line 7, data.columns.panel: 2024.parquet has no column 'feed'. {HEADER}",
    ),
    (
        'date = "day"',
        'date = "ticker"',
        "line 7, data.columns.date: 'ticker' of 2024.parquet must have dates, not text.",
    ),
    (
        'date = "day"',
        'date = "transactions"',
        (
            "line 7, data.columns.date: 'transactions' of 2024.parquet must have dates, "
            "not whole numbers."
        ),
    ),
    (
        '"spend_usd"',
        '"note"',
        "line 9, data.columns.spend: 'note' of 2024.parquet must have numbers, not text.",
    ),
    (
        '"state"',
        '"day"',
        f"{REGION} 'day' of 2024.parquet must have text or whole numbers, not values of type date.",
    ),
    (
        '"state"',
        '"spend_usd"',
        f"{REGION} 'spend_usd' of 2024.parquet must have text or whole numbers, not numbers.",
    ),
    (
        "cards/*.parquet",
        "card/*.parquet",
        "line 4, data.parquet: no file matches card/*.parquet.",
    ),
    (
        "cards/*.parquet",
        "cards",
        "line 4, data.parquet: cards is a folder. Name the files in it: cards/*.parquet.",
    ),
    (
        'parquet = "cards/*.parquet"',
        'table = "cards"',
        "line 4, data.table: the engine 'duckdb://' has no tables. Set engine to a database file.",
    ),
    (
        'rule = "December"',
        'csv = "fiscal.csv"',
        "line 18, data.calendar.csv: fiscal.csv cannot be read: No such file or directory.",
    ),
    (
        "[data.calendar]",
        '[data.panels]\nEast = "X"\n[data.calendar]',
        "line 18, data.panels.East: the data has no panel 'East'. Panels are 'Card Panel'.",
    ),
    (
        "[data.calendar]",
        '[data.panels]\n"Crad Panel" = "X"\n[data.calendar]',
        (
            "line 18, data.panels.'Crad Panel': the data has no panel 'Crad Panel'. "
            "Did you mean 'Card Panel'?"
        ),
    ),
    (
        "[data.calendar]",
        '[[data.reports]]\nid = "R"\ntitle = "T"\nsymbols = ["A", "C"]\n[data.calendar]',
        "line 20, data.reports[0].symbols: the symbol 'C' is not known.",
    ),
    (
        "[data.calendar]",
        '[[data.reports]]\nid = "R"\ntitle = "T"\nsymbols = ["A"]\npanel = "P"\n[data.calendar]',
        "line 21, data.reports[0].panel: there is no panel 'P'. Did you mean 'Card Panel'?",
    ),
    (
        "[data.calendar]",
        (
            '[[data.reports]]\nid = "R"\ntitle = "T"\nsymbols = ["A"]\n[[data.reports]]\nid = "r"\n'
            'title = "T"\nsymbols = ["B"]\n[data.calendar]'
        ),
        "line 22, data.reports[1].id: two reports have the id 'r'.",
    ),
]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    MAPPINGS,
    ids=[row_id(f"{old.strip()} to {new.strip()}") for old, new, _ in MAPPINGS],
)
def test_a_mapping_that_does_not_fit_is_refused_with_its_line(
    folder: Path, old: str, new: str, message: str
) -> None:
    text = refused(folder, edited(old, new))
    assert text == f"service.toml, {message}".replace("2024.parquet", "*.parquet")


def changed(**columns: Any) -> pd.DataFrame:
    """Return the rows with another value in the first two rows of some columns."""
    frame = few()
    for name, value in columns.items():
        frame[name] = frame[name].astype(object)
        frame.loc[:1, name] = value
    return frame


ROWS = [
    (
        few().head(0).astype({"day": "datetime64[us]"}),
        "line 3, data: *.parquet has no rows.",
    ),
    (
        changed(day=None),
        "line 7, data.columns.date: 'day' is empty in 2 of 1,420 rows. Fill it in.",
    ),
    (
        changed(ticker=None),
        "line 8, data.columns.symbol: 'ticker' is empty in 2 of 1,420 rows. Fill it in.",
    ),
    (
        changed(ticker=" "),
        "line 8, data.columns.symbol: 'ticker' is empty in 2 of 1,420 rows. Fill it in.",
    ),
    (
        few().assign(day=lambda frame: frame.day.astype(str)),
        "line 7, data.columns.date: 'day' of *.parquet must have dates, not text.",
    ),
    (
        few().assign(day=lambda frame: pd.to_datetime(frame.day, utc=True)),
        (
            "line 7, data.columns.date: 'day' of *.parquet must have dates, "
            "not times with a time zone: their day is ambiguous."
        ),
    ),
    (
        few().assign(spend_usd=lambda frame: frame.spend_usd.astype(str)),
        "line 9, data.columns.spend: 'spend_usd' of *.parquet must have numbers, not text.",
    ),
    (
        few().assign(transactions=True),
        (
            "line 10, data.columns.transactions: 'transactions' of *.parquet must have numbers, "
            "not booleans."
        ),
    ),
    (
        few().assign(state=1.5),
        f"{REGION} 'state' of *.parquet must have text or whole numbers, not numbers.",
    ),
    (
        few().assign(brand_name=Decimal(1)),
        (
            "line 14, data.dimensions.Brand: "
            "'brand_name' of *.parquet must have text or whole numbers, not numbers."
        ),
    ),
    (
        few().assign(brand_name="One"),
        (
            "line 14, data.dimensions.Brand: a brand can only belong to one company, "
            "but 'One' has 'A US EQUITY', 'B US EQUITY'.\nRename these brands, or use one symbol "
            "in all their rows."
        ),
    ),
]


@pytest.mark.parametrize(
    ("frame", "message"),
    ROWS,
    ids=[row_id(message.partition(", ")[2]) for _, message in ROWS],
)
def test_rows_that_cannot_be_served_are_refused_with_the_line_of_their_column(
    tmp_path: Path, frame: pd.DataFrame, message: str
) -> None:
    put(tmp_path, frame)
    assert refused(tmp_path, LEAST) == f"service.toml, {message}"


def test_nan_and_infinities_are_refused(tmp_path: Path) -> None:
    (tmp_path / "cards").mkdir()
    table = pa.Table.from_pandas(few())
    for value in (float("nan"), float("inf")):
        spend = pa.array(
            [value, *table["spend_usd"].to_pylist()[1:]], from_pandas=False
        )
        pq.write_table(
            table.set_column(4, "spend_usd", spend), tmp_path / "cards" / "x.parquet"
        )
        assert refused(tmp_path, LEAST) == (
            "service.toml, line 9, data.columns.spend: "
            "'spend_usd' is not a number (NaN) in 1 of 1,420 rows."
        )


def test_a_file_that_lacks_what_the_others_have_is_named(tmp_path: Path) -> None:
    put(tmp_path, few())
    few().drop(columns="state").to_parquet(
        tmp_path / "cards" / "2025.parquet", index=False
    )
    assert refused(tmp_path, LEAST) == (
        "service.toml, line 15, data.dimensions.Region: "
        "cards/2025.parquet has no column 'state', but other files do."
    )


def test_files_with_different_types_are_refused(tmp_path: Path) -> None:
    put(tmp_path, few())
    few().assign(spend_usd="much").to_parquet(
        tmp_path / "cards" / "2025.parquet", index=False
    )
    message = refused(tmp_path, LEAST)
    assert message.startswith(
        "service.toml, line 4, data.parquet: *.parquet cannot be read: "
    )
    assert "2025.parquet" in message
    assert "spend_usd" in message


def test_a_file_that_is_not_parquet_is_named(tmp_path: Path) -> None:
    put(tmp_path, few())
    (tmp_path / "cards" / "2025.parquet").write_text("day,ticker\n")
    assert refused(tmp_path, LEAST) == (
        "service.toml, line 4, data.parquet: cards/2025.parquet is not a Parquet file."
    )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("cards", "the engine has no table 'cards'. Did you mean 'card'?"),
        ("spend.daily", "the engine has no table 'spend.daily'."),
    ],
)
def test_a_table_that_is_not_in_the_database_is_named(
    tmp_path: Path, table: str, message: str
) -> None:
    with duckdb.connect(tmp_path / "team.db") as con:
        con.execute("CREATE TABLE card (day DATE)")
    text = 'engine = "duckdb://team.db"\n' + edited(
        'parquet = "cards/*.parquet"', f'table = "{table}"'
    )
    assert refused(tmp_path, text) == f"service.toml, line 5, data.table: {message}"


def test_an_absent_database_is_named(tmp_path: Path) -> None:
    text = 'engine = "duckdb://team.db"\n' + edited(
        'parquet = "cards/*.parquet"', 'table = "cards"'
    )
    assert "team.db cannot be opened" in refused(tmp_path, text)


# The fiscal calendar

QUARTERS = """quarter,start,end,reported
FQ1 2024,2024-01-01,2024-03-31,yes
FQ2 2024,2024-04-01,2024-06-30,yes
FQ3 2024,2024-07-01,2024-09-30,no
FQ4 2024,2024-10-01,2024-12-31,
"""
CALENDAR = edited(
    'rule = "December"',
    'csv = "fiscal.csv"\ncolumns = { period_name = "quarter", is_historical = "reported" }',
)


def test_one_calendar_may_apply_to_all_companies(tmp_path: Path) -> None:
    put(tmp_path, few())
    (tmp_path / "fiscal.csv").write_text(QUARTERS)
    _, reference, _ = loaded(tmp_path, CALENDAR)
    own = reference.calendars["A US EQUITY"]
    assert own == reference.calendars["B US EQUITY"]
    # The calendar doesn't say it of the last one, which ended less than 45 days before 10 January.
    assert [(period.period_name, period.is_historical) for period in own] == [
        ("FQ1 2024", True),
        ("FQ2 2024", True),
        ("FQ3 2024", False),
        ("FQ4 2024", False),
    ]
    assert {company.fiscal_year_end for company in reference.companies} == {
        "31 December"
    }


LINE_3 = "line 17, data.calendar: fiscal.csv, line 3:"
UNORDERED = "Quarters must be in chronological order, and each name unique."
CALENDARS = [
    (
        "FQ2 2024",
        "Q2 2024",
        f"{LINE_3} 'quarter' must be FQ<number> <fiscal year>, such as 'FQ3 2024', not 'Q2 2024'.",
    ),
    ("FQ2 2024", "", f"{LINE_3} 'quarter' is empty."),
    (
        "FQ2 2024",
        "FQ1 2024",
        f"line 17, data.calendar: FQ1 2024 of A US EQUITY starts on 2024-04-01, after FQ1 2024. {UNORDERED}",
    ),
    (
        "FQ4 2024",
        "FQ4 2023",
        f"line 17, data.calendar: FQ4 2023 of A US EQUITY starts on 2024-10-01, after FQ3 2024. {UNORDERED}",
    ),
    (
        "2024-04-01",
        "2024-03-31",
        (
            "line 17, data.calendar: FQ1 2024 (2024-01-01 to 2024-03-31) and FQ2 2024 "
            "(2024-03-31 to 2024-06-30) of A US EQUITY overlap. "
            "A day can only be in one quarter."
        ),
    ),
    (
        "2024-06-30",
        "2024-06-31",
        f"{LINE_3} 'end' must be a date such as 2024-12-31, not '2024-06-31'.",
    ),
    ("2024-06-30", "", f"{LINE_3} 'end' is empty."),
    (
        "2024-06-30",
        "2024-03-30",
        f"{LINE_3} FQ2 2024 ends on 2024-03-30, before its start on 2024-04-01.",
    ),
    (
        "2024-06-30,yes",
        "2024-06-30,perhaps",
        f"{LINE_3} 'reported' must be true or false, not 'perhaps'.",
    ),
    (
        "quarter,",
        "name,",
        (
            "line 19, data.calendar.columns.period_name: fiscal.csv has no column 'quarter'. "
            "It has 'name', 'start', 'end', 'reported'."
        ),
    ),
    (
        ",start,",
        ",begin,",
        (
            "line 19, data.calendar.columns.start: fiscal.csv has no column 'start'. "
            "It has 'quarter', 'begin', 'end', 'reported'."
        ),
    ),
    (
        QUARTERS,
        "",
        (
            "line 19, data.calendar.columns.period_name: "
            "fiscal.csv has no column 'quarter'. It has none."
        ),
    ),
    (
        QUARTERS,
        "quarter,start,end,reported\nFQ1 2020,2020-01-01,2020-03-31,yes\n",
        (
            "line 17, data.calendar: no quarter covers the data of 'A US EQUITY' and 'B US EQUITY'. "
            "Add rows for them."
        ),
    ),
]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    CALENDARS,
    ids=[row_id(f"{old} to {new}") for old, new, _ in CALENDARS],
)
def test_an_invalid_calendar_is_refused_with_the_reason(
    folder: Path, old: str, new: str, message: str
) -> None:
    (folder / "fiscal.csv").write_text(edited(old, new, QUARTERS))
    assert refused(folder, CALENDAR) == f"service.toml, {message}"


def test_a_company_without_a_calendar_is_named(tmp_path: Path) -> None:
    put(tmp_path, few())
    pd.DataFrame(
        [("FQ1 2024", date(2024, 1, 1), date(2024, 3, 31), "A US EQUITY", True)],
        columns=["quarter", "start", "end", "symbol", "reported"],
    ).to_parquet(tmp_path / "fiscal.parquet")
    text = CALENDAR.replace("csv", "parquet")
    assert refused(tmp_path, text) == (
        "service.toml, line 17, data.calendar: no quarter covers the data of 'B US EQUITY'. "
        "Add rows for them."
    )


# Companies and KPIs


@pytest.mark.parametrize(
    ("csv", "message"),
    [
        pytest.param(
            "symbol,year\nA US EQUITY,Juni\n",
            (
                "line 20, data.companies.columns.fiscal_year_end: "
                "there is no rule 'Juni' for the fiscal year of A US EQUITY. Did you mean 'June'? "
            ),
            id="an unknown rule",
        ),
        pytest.param(
            "symbol,year\nA US EQUITY,June\nA US EQUITY,May\n",
            (
                "line 17, data.companies: companies.csv, line 3: 'A US EQUITY' appears twice. "
                "Use one row per company."
            ),
            id="a company twice",
        ),
        pytest.param(
            "ticker,year\nA US EQUITY,June\n",
            (
                "line 19, data.companies.columns.symbol: companies.csv has no column 'symbol'. "
                "It has 'ticker', 'year'."
            ),
            id="no symbols",
        ),
        pytest.param(
            "symbol\nA US EQUITY\n",
            (
                "line 20, data.companies.columns.fiscal_year_end: companies.csv has no column 'year'. "
                "It has 'symbol'."
            ),
            id="no fiscal years",
        ),
    ],
)
def test_companies_that_cannot_be_read_are_refused(
    folder: Path, csv: str, message: str
) -> None:
    (folder / "companies.csv").write_text(csv)
    section = (
        '[data.companies]\ncsv = "companies.csv"\n[data.companies.columns]\n'
        'fiscal_year_end = "year"\n'
    )
    text = refused(folder, edited("[data.calendar]", f"{section}[data.calendar]"))
    assert text.startswith(f"service.toml, {message}")


def test_the_fiscal_year_of_a_company_comes_before_the_rule(tmp_path: Path) -> None:
    put(tmp_path, few())
    (tmp_path / "companies.csv").write_text(
        "symbol,fiscal_year_end\nA US EQUITY,June\nB US EQUITY,\n"
    )
    section = '[data.companies]\ncsv = "companies.csv"\n'
    _, reference, _ = loaded(
        tmp_path, edited("[data.calendar]", f"{section}[data.calendar]")
    )
    assert [company.fiscal_year_end for company in reference.companies] == [
        "June",
        "December",
    ]
    assert [own[0].period_name for own in reference.calendars.values()] == [
        "FQ3 2024",
        "FQ1 2024",
    ]


@pytest.mark.parametrize(
    ("csv", "message"),
    [
        pytest.param(
            "symbol,name,id\nA US EQUITY,Sales,x\n",
            "kpis.csv, line 2: 'id' must be a whole number, not 'x'.",
            id="an id of letters",
        ),
        pytest.param(
            "symbol,name,id\nA US EQUITY,Sales,1\nB US EQUITY,Units,1\n",
            "two KPIs have the id 1: 'Sales', 'Units'.",
            id="an id twice",
        ),
        pytest.param(
            "symbol,name,panel\nA US EQUITY,Sales,Card\n",
            "kpis.csv, line 2: there is no panel 'Card'. Did you mean 'Card Panel'?",
            id="an unknown panel",
        ),
        pytest.param(
            "symbol,name\nA US EQUITY,\n",
            "kpis.csv, line 2: 'name' is empty.",
            id="an empty name",
        ),
    ],
)
def test_kpis_that_cannot_be_read_are_refused(
    folder: Path, csv: str, message: str
) -> None:
    (folder / "kpis.csv").write_text(csv)
    text = refused(
        folder,
        edited("[data.calendar]", '[data.kpis]\ncsv = "kpis.csv"\n[data.calendar]'),
    )
    assert text == f"service.toml, line 17, data.kpis: {message}"


def test_gaps_in_columns_written_by_pandas_are_absent_values(tmp_path: Path) -> None:
    put(tmp_path, few())
    rows = [
        ("A US EQUITY", "Sales", 7.0, float("nan"), None),
        ("B US EQUITY", "Units", float("nan"), 1.5, False),
    ]
    table = pa.table(
        dict(
            zip(
                ("symbol", "name", "id", "unit", "is_primary"),
                zip(*rows, strict=True),
                strict=True,
            )
        )
    )
    pq.write_table(table, tmp_path / "kpis.parquet")
    _, reference, _ = loaded(
        tmp_path,
        edited(
            "[data.calendar]", '[data.kpis]\nparquet = "kpis.parquet"\n[data.calendar]'
        ),
    )
    assert [(kpi.id, kpi.unit, kpi.is_primary) for kpi in reference.kpis] == [
        (7, "", True),
        (2, "1.5", False),
    ]

"""What is wrong with a mapping or with a team's tables is said at start: the line of the configuration, and the words."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jupyter_funcs.service.errors import SetupError

from .test_own_data import LEAST, few, loaded, put

if TYPE_CHECKING:
    from pathlib import Path


def refused(folder: Path, configuration: str) -> str:
    with pytest.raises(SetupError) as caught:
        loaded(folder, configuration)
    return str(caught.value).replace(f"{folder}/", "")


def edited(old: str, new: str, text: str = LEAST) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


# fmt: off
# ruff: noqa: E501 - a mistake a row
MAPPINGS = [
    ('"day"', '"Day"', "line 7: 2024.parquet has no column 'Day'. Did you mean 'day'? It has 'brand_name', 'ticker', 'state', 'day', 'spend_usd', 'transactions', 'active_cards', 'note'."),
    ('"spend_usd"', '"usd"', "line 9: 2024.parquet has no column 'usd'. It has 'brand_name', 'ticker', 'state', 'day', 'spend_usd', 'transactions', 'active_cards', 'note'."),
    ('cards = "active_cards"\n', "", "line 6: 2024.parquet has no column 'cards'. It has 'brand_name', 'ticker', 'state', 'day', 'spend_usd', 'transactions', 'active_cards', 'note'."),
    ('"state"', '"stat"', "line 15: 2024.parquet has no column 'stat'. Did you mean 'state'? It has 'brand_name', 'ticker', 'state', 'day', 'spend_usd', 'transactions', 'active_cards', 'note'."),
    ("[data.columns]\n", '[data.columns]\npanel = "feed"\n', "line 7: 2024.parquet has no column 'feed'. It has 'brand_name', 'ticker', 'state', 'day', 'spend_usd', 'transactions', 'active_cards', 'note'."),
    ('date = "day"', 'date = "ticker"', "line 7: 'ticker' of 2024.parquet holds text. Store dates."),
    ('date = "day"', 'date = "transactions"', "line 7: 'transactions' of 2024.parquet holds whole numbers. Store dates."),
    ('"spend_usd"', '"note"', "line 9: 'note' of 2024.parquet holds text. Store numbers."),
    ('"state"', '"day"', "line 15: 'day' of 2024.parquet holds values of the type date. Store text."),
    ('"state"', '"spend_usd"', "line 15: 'spend_usd' of 2024.parquet holds numbers. Store text."),
    ("cards/*.parquet", "card/*.parquet", "line 4: 'parquet' names no file: there is no card/*.parquet."),
    ("cards/*.parquet", "cards", "line 4: 'parquet' names a folder. Name the files in it: cards/*.parquet."),
    ('parquet = "cards/*.parquet"', 'table = "cards"', "line 4: 'table' is in no engine: 'duckdb://' is empty. Name the file of a database in 'engine'."),
    ('rule = "December"', 'csv = "fiscal.csv"', "line 18: 'csv' cannot be read: fiscal.csv: No such file or directory."),
    ("[data.calendar]", '[data.panels]\nEast = "X"\n[data.calendar]', "line 18: the data have no panel 'East'. Panels are 'Card Panel'."),
    ("[data.calendar]", '[data.panels]\n"Crad Panel" = "X"\n[data.calendar]', "line 18: the data have no panel 'Crad Panel'. Did you mean 'Card Panel'?"),
    ("[data.calendar]", '[[data.reports]]\nid = "R"\ntitle = "T"\nsymbols = ["A", "C"]\n[data.calendar]', "line 20: the symbol 'C' is not known."),
    ("[data.calendar]", '[[data.reports]]\nid = "R"\ntitle = "T"\nsymbols = ["A"]\npanel = "P"\n[data.calendar]', "line 21: there is no panel 'P'."),
    ("[data.calendar]", '[[data.reports]]\nid = "R"\ntitle = "T"\nsymbols = ["A"]\n[[data.reports]]\nid = "r"\ntitle = "T"\nsymbols = ["B"]\n[data.calendar]', "line 22: two reports have the id 'r'."),
]
# fmt: on


@pytest.mark.parametrize(("old", "new", "said"), MAPPINGS)
def test_a_mapping_that_does_not_fit_is_refused_with_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    put(tmp_path, few())
    text = refused(tmp_path, edited(old, new))
    assert text == f"service.toml, {said}".replace("2024.parquet", "*.parquet")


def changed(**columns: Any) -> pd.DataFrame:
    """Give the rows with other values in the first two of some columns."""
    frame = few()
    for name, value in columns.items():
        frame[name] = frame[name].astype(object)
        frame.loc[:1, name] = value
    return frame


# fmt: off
ROWS = [
    (few().head(0).astype({"day": "datetime64[us]"}), "line 3: *.parquet has no rows."),
    (changed(day=None), "line 7: 'day' says nothing in 2 of 1,420 rows. Fill it in."),
    (changed(ticker=None), "line 8: 'ticker' says nothing in 2 of 1,420 rows. Fill it in."),
    (changed(ticker=" "), "line 8: 'ticker' says nothing in 2 of 1,420 rows. Fill it in."),
    (few().assign(day=lambda frame: frame.day.astype(str)), "line 7: 'day' of *.parquet holds text. Store dates."),
    (few().assign(day=lambda frame: pd.to_datetime(frame.day, utc=True)), "line 7: 'day' of *.parquet is a time with a time zone, so that its day depends on who looks. Store dates."),
    (few().assign(spend_usd=lambda frame: frame.spend_usd.astype(str)), "line 9: 'spend_usd' of *.parquet holds text. Store numbers."),
    (few().assign(transactions=True), "line 10: 'transactions' of *.parquet holds true and false. Store numbers."),
    (few().assign(state=1.5), "line 15: 'state' of *.parquet holds numbers. Store text."),
    (few().assign(brand_name=Decimal(1)), "line 14: 'brand_name' of *.parquet holds numbers. Store text."),
    (few().assign(brand_name="One"), "line 14: a brand is one company's, but there is 'One' of 'A US EQUITY', 'B US EQUITY'.\nGive such brands names of their own, or all their rows one symbol."),
]
# fmt: on


@pytest.mark.parametrize(("frame", "said"), ROWS)
def test_rows_that_cannot_be_served_are_refused_with_the_line_of_their_column(
    tmp_path: Path, frame: pd.DataFrame, said: str
) -> None:
    put(tmp_path, frame)
    assert refused(tmp_path, LEAST) == f"service.toml, {said}"


def test_numbers_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "cards").mkdir()
    table = pa.Table.from_pandas(few())
    for value in (float("nan"), float("inf")):
        spend = pa.array([value, *table["spend_usd"].to_pylist()[1:]], from_pandas=False)
        pq.write_table(table.set_column(4, "spend_usd", spend), tmp_path / "cards" / "x.parquet")
        assert refused(tmp_path, LEAST) == ("service.toml, line 9: 'spend_usd' is no number (NaN) in 1 of 1,420 rows.")


def test_a_file_that_lacks_what_the_others_have_is_named(tmp_path: Path) -> None:
    put(tmp_path, few())
    few().drop(columns="state").to_parquet(tmp_path / "cards" / "2025.parquet", index=False)
    assert refused(tmp_path, LEAST) == (
        "service.toml, line 15: cards/2025.parquet has no column 'state', which other files have."
    )


def test_files_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    put(tmp_path, few())
    few().assign(spend_usd="much").to_parquet(tmp_path / "cards" / "2025.parquet", index=False)
    said = refused(tmp_path, LEAST)
    assert said.startswith("service.toml, line 4: *.parquet cannot be read: ")
    assert "2025.parquet" in said
    assert "spend_usd" in said


def test_a_file_that_is_not_parquet_is_named(tmp_path: Path) -> None:
    put(tmp_path, few())
    (tmp_path / "cards" / "2025.parquet").write_text("day,ticker\n")
    assert refused(tmp_path, LEAST) == (
        "service.toml, line 4: 'parquet' names a file that is not Parquet: cards/2025.parquet."
    )


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("cards", "'table' names no table of the engine: there is no 'cards'. Did you mean 'card'?"),
        ("spend.daily", "'table' names no table of the engine: there is no 'spend.daily'."),
    ],
)
def test_a_table_that_is_not_in_the_database_is_named(tmp_path: Path, table: str, said: str) -> None:
    with duckdb.connect(tmp_path / "team.db") as con:
        con.execute("CREATE TABLE card (day DATE)")
    text = 'engine = "duckdb://team.db"\n' + edited('parquet = "cards/*.parquet"', f'table = "{table}"')
    assert refused(tmp_path, text) == f"service.toml, line 5: {said}"


def test_a_database_that_is_not_there_is_named(tmp_path: Path) -> None:
    text = 'engine = "duckdb://team.db"\n' + edited('parquet = "cards/*.parquet"', 'table = "cards"')
    assert "team.db cannot be opened" in refused(tmp_path, text)


# The fiscal calendar

QUARTERS = """quarter,start,end,reported
FQ1 2024,2024-01-01,2024-03-31,yes
FQ2 2024,2024-04-01,2024-06-30,yes
FQ3 2024,2024-07-01,2024-09-30,no
FQ4 2024,2024-10-01,2024-12-31,
"""
CALENDAR = edited(
    'rule = "December"', 'csv = "fiscal.csv"\ncolumns = { period_name = "quarter", is_historical = "reported" }'
)


def test_one_calendar_may_be_every_companys(tmp_path: Path) -> None:
    put(tmp_path, few())
    (tmp_path / "fiscal.csv").write_text(QUARTERS)
    _, reference, _ = loaded(tmp_path, CALENDAR)
    own = reference.calendars["A US EQUITY"]
    assert own == reference.calendars["B US EQUITY"]
    # Of the last one the calendar does not say; on 10 January it has not ended 45 days ago.
    assert [(each.period_name, each.is_historical, each.relation) for each in own] == [
        ("FQ1 2024", True, "previous"),
        ("FQ2 2024", True, "previous"),
        ("FQ3 2024", False, "previous"),
        ("FQ4 2024", False, "current"),
    ]
    assert {each.fiscal_year_end for each in reference.companies} == {"31 December"}


# fmt: off
CALENDARS = [
    ("FQ2 2024", "Q2 2024", "line 17: fiscal.csv, line 3: 'quarter' is 'Q2 2024'. Growth compares quarters by number and fiscal year: write FQ<number> <year>, such as 'FQ3 2024'."),
    ("FQ2 2024", "", "line 17: fiscal.csv, line 3: 'quarter' is empty."),
    ("FQ2 2024", "FQ1 2024", "line 17: FQ1 2024 of A US EQUITY starts on 2024-04-01, after FQ1 2024. Each name is given once, in the order of time."),
    ("FQ4 2024", "FQ4 2023", "line 17: FQ4 2023 of A US EQUITY starts on 2024-10-01, after FQ3 2024. Each name is given once, in the order of time."),
    ("2024-04-01", "2024-03-31", "line 17: FQ1 2024 (2024-01-01 to 2024-03-31) and FQ2 2024 (2024-03-31 to 2024-06-30) of A US EQUITY overlap. A day belongs to one quarter."),
    ("2024-06-30", "2024-06-31", "line 17: fiscal.csv, line 3: 'end' is '2024-06-31', not a date such as 2024-12-31."),
    ("2024-06-30", "", "line 17: fiscal.csv, line 3: 'end' is empty."),
    ("2024-06-30", "2024-03-30", "line 17: fiscal.csv, line 3: FQ2 2024 ends on 2024-03-30, before it starts on 2024-04-01."),
    ("2024-06-30,yes", "2024-06-30,perhaps", "line 17: fiscal.csv, line 3: 'reported' is 'perhaps', neither true nor false."),
    ("quarter,", "name,", "line 19: fiscal.csv has no column 'quarter'. It has 'name', 'start', 'end', 'reported'."),
    (",start,", ",begin,", "line 19: fiscal.csv has no column 'start'. It has 'quarter', 'begin', 'end', 'reported'."),
    (QUARTERS, "", "line 19: fiscal.csv has no column 'quarter'. It has none."),
    (QUARTERS, "quarter,start,end,reported\nFQ1 2020,2020-01-01,2020-03-31,yes\n", "line 17: no quarter meets the days of 'A US EQUITY', 'B US EQUITY'. Add their rows."),
]
# fmt: on


@pytest.mark.parametrize(("old", "new", "said"), CALENDARS)
def test_a_calendar_that_cannot_be_kept_is_refused_with_words(tmp_path: Path, old: str, new: str, said: str) -> None:
    put(tmp_path, few())
    (tmp_path / "fiscal.csv").write_text(edited(old, new, QUARTERS))
    assert refused(tmp_path, CALENDAR) == f"service.toml, {said}"


def test_a_company_without_a_calendar_is_named(tmp_path: Path) -> None:
    put(tmp_path, few())
    pd.DataFrame(
        [("FQ1 2024", date(2024, 1, 1), date(2024, 3, 31), "A US EQUITY", True)],
        columns=["quarter", "start", "end", "symbol", "reported"],
    ).to_parquet(tmp_path / "fiscal.parquet")
    text = CALENDAR.replace("csv", "parquet")
    assert refused(tmp_path, text) == (
        "service.toml, line 17: no quarter meets the days of 'B US EQUITY'. Add their rows."
    )


# Companies and KPIs


@pytest.mark.parametrize(
    ("csv", "said"),
    [
        ("symbol,year\nA US EQUITY,Juni\n", "line 20: the fiscal year of A US EQUITY ends in 'Juni', which no rule knows. Did you mean 'June'? "),
        ("symbol,year\nA US EQUITY,June\nA US EQUITY,May\n", "line 17: companies.csv, line 3: 'A US EQUITY' is there twice. Leave one row a company."),
        ("ticker,year\nA US EQUITY,June\n", "line 19: companies.csv has no column 'symbol'. It has 'ticker', 'year'."),
        ("symbol\nA US EQUITY\n", "line 20: companies.csv has no column 'year'. It has 'symbol'."),
    ],
)  # fmt: skip
def test_companies_that_cannot_be_read_are_refused(tmp_path: Path, csv: str, said: str) -> None:
    put(tmp_path, few())
    (tmp_path / "companies.csv").write_text(csv)
    section = '[data.companies]\ncsv = "companies.csv"\n[data.companies.columns]\nfiscal_year_end = "year"\n'
    text = refused(tmp_path, edited("[data.calendar]", f"{section}[data.calendar]"))
    assert text.startswith(f"service.toml, {said}")


def test_the_fiscal_year_of_a_company_comes_before_the_rule(tmp_path: Path) -> None:
    put(tmp_path, few())
    (tmp_path / "companies.csv").write_text("symbol,fiscal_year_end\nA US EQUITY,June\nB US EQUITY,\n")
    section = '[data.companies]\ncsv = "companies.csv"\n'
    _, reference, _ = loaded(tmp_path, edited("[data.calendar]", f"{section}[data.calendar]"))
    assert [each.fiscal_year_end for each in reference.companies] == ["June", "December"]
    assert [own[0].period_name for own in reference.calendars.values()] == ["FQ3 2024", "FQ1 2024"]


@pytest.mark.parametrize(
    ("csv", "said"),
    [
        ("symbol,name,id\nA US EQUITY,Sales,x\n", "kpis.csv, line 2: 'id' is 'x', not a whole number."),
        ("symbol,name,id\nA US EQUITY,Sales,1\nB US EQUITY,Units,1\n", "two KPIs have the id 1: 'Sales', 'Units'."),
        ("symbol,name,panel\nA US EQUITY,Sales,Card\n", "kpis.csv, line 2: there is no panel 'Card'."),
        ("symbol,name\nA US EQUITY,\n", "kpis.csv, line 2: 'name' is empty."),
    ],
)
def test_kpis_that_cannot_be_read_are_refused(tmp_path: Path, csv: str, said: str) -> None:
    put(tmp_path, few())
    (tmp_path / "kpis.csv").write_text(csv)
    text = refused(tmp_path, edited("[data.calendar]", '[data.kpis]\ncsv = "kpis.csv"\n[data.calendar]'))
    assert text == f"service.toml, line 17: {said}"


def test_gaps_that_pandas_leaves_are_nothing(tmp_path: Path) -> None:
    put(tmp_path, few())
    rows = [("A US EQUITY", "Sales", 7.0, float("nan"), None), ("B US EQUITY", "Units", float("nan"), 1.5, False)]
    table = pa.table(dict(zip(("symbol", "name", "id", "unit", "is_primary"), zip(*rows, strict=True), strict=True)))
    pq.write_table(table, tmp_path / "kpis.parquet")
    _, reference, _ = loaded(
        tmp_path, edited("[data.calendar]", '[data.kpis]\nparquet = "kpis.parquet"\n[data.calendar]')
    )
    assert [(kpi.id, kpi.unit, kpi.is_primary) for kpi in reference.kpis] == [(7, "", True), (2, "1.5", False)]

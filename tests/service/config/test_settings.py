"""The configuration: what it takes, and the line and words with which it refuses the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jupyter_funcs.service import settings
from jupyter_funcs.service.errors import SetupError
from jupyter_funcs.service.settings import Settings

LEAST = '[data]\nparquet = "cards.parquet"\n[data.calendar]\nrule = "December"\n'


def read(folder: Path, text: str) -> Settings:
    path = folder / "service.toml"
    path.write_text(text)
    return settings.load(path)


def refused(folder: Path, text: str) -> str:
    with pytest.raises(SetupError) as caught:
        read(folder, text)
    return str(caught.value).replace(f"{folder}/", "")


def test_without_a_file_or_with_an_empty_one_everything_has_a_default(tmp_path: Path) -> None:
    assert settings.load(None).model_dump() == read(tmp_path, "").model_dump() == Settings().model_dump()
    assert (Settings().engine, Settings().data, Settings().server.port) == ("duckdb://", None, 8765)


def test_every_key_is_read_and_paths_begin_in_the_folder_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    found = read(
        tmp_path,
        """
        organisation = "Acme"
        state = "state"
        engine = "sc://spark:15002"
        memory_limit = "4GB"
        [server]
        host = "0.0.0.0"
        port = 80
        tls_certificate = "/etc/tls.pem"
        tls_key = "~/tls.key"
        behind_proxy = true
        allowed_hosts = ["acme.example"]
        allowed_origins = ["https://acme.example"]
        run_seconds = 1.5
        concurrent_runs = 8
        runs_a_user = 2
        log = "json"
        [functions]
        builtin = false
        folders = ["functions", "../more"]
        entry_points = true
        asset = "Acme data"
        [data]
        table = "cards.daily"
        spend_unit = "cents"
        [data.columns]
        date = "day"
        symbol = "ticker"
        spend = "usd_cents"
        transactions = "tx"
        cards = "accounts"
        panel = "source"
        [data.dimensions]
        "Age Group" = "age"
        "Store Format" = "format"
        [data.panels]
        "P" = "Provider"
        [data.companies]
        csv = "companies.csv"
        columns = { name = "title" }
        [data.kpis]
        table = "kpis"
        [data.calendar]
        parquet = "calendar.parquet"
        reported_after_days = 30
        columns.period_name = "quarter"
        [[data.reports]]
        id = "R1"
        title = "One"
        symbols = ["A US EQUITY"]
        [[data.reports]]
        id = "R2"
        title = "Two"
        symbols = ["A US EQUITY"]
        panel = "P"
        """,
    )
    assert (found.state, found.engine) == (tmp_path / "state", "sc://spark:15002")
    assert (found.server.tls_certificate, found.server.tls_key) == (Path("/etc/tls.pem"), Path("/home/ann/tls.key"))
    assert (found.server.run_seconds, found.server.allowed_hosts) == (1.5, ("acme.example",))
    assert found.functions.folders == (tmp_path / "functions", tmp_path / "../more")
    data = found.data
    assert data is not None
    assert list(data.columns.model_dump().values()) == ["day", "ticker", "usd_cents", "tx", "accounts", "source"]
    assert data.companies is not None
    assert (data.companies.csv, data.companies.columns.name) == (tmp_path / "companies.csv", "title")
    assert (data.calendar.columns.period_name, data.calendar.columns.start) == ("quarter", "start")
    assert [report.panel for report in data.reports] == [None, "P"]
    assert all(
        section.model_fields_set == set(type(section).model_fields) for section in (found.server, found.functions)
    )


def test_what_is_read_cannot_be_changed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="frozen"):
        read(tmp_path, "").server.port = 1  # type: ignore[misc]


# fmt: off
# ruff: noqa: E501 - a mistake a row
MISTAKES: list[tuple[str, list[str]]] = [
    ("\n[server]\nprot = 1", ["line 3: there is no key 'prot' in [server]. Did you mean 'port'?"]),
    ("[data.calender]\nx = 1", ["line 1: [data] lacks [data.calendar].", "line 1: there is no key 'calender' in [data]. Did you mean 'calendar'?"]),
    ("[server]\norganisation = 'Acme'", ["line 2: there is no key 'organisation' in [server]. It belongs above the first [section] of the file."]),
    ("port = 80", ["line 1: there is no key 'port' above the first [section]. It belongs into [server]."]),
    ("[functions]\nxyz = 1", ["line 2: there is no key 'xyz' in [functions]. It takes 'builtin', 'folders', 'entry_points', 'asset'."]),
    ("[server]\nport = '80'", ["line 2: 'port' in [server] takes a whole number, not text."]),
    ("[server]\nport = 70000", ["line 2: 'port' in [server] must be at most 65535, not 70000."]),
    ("[server]\nrun_seconds = 0", ["line 2: 'run_seconds' in [server] must be more than 0, not 0."]),
    ("[server]\nrun_seconds = nan", ["line 2: 'run_seconds' in [server] must be at most 86400, not nan."]),
    ("[server]\nhost = 2024-01-01", ["line 2: 'host' in [server] takes text, not a date or time."]),
    ("[server]\nbehind_proxy = 1", ["line 2: 'behind_proxy' in [server] takes true or false, not a whole number."]),
    ("[server]\nallowed_hosts = 'x'", ["line 2: 'allowed_hosts' in [server] takes a list, not text."]),
    ("[server]\nallowed_hosts = [\n 'x',\n 3]", ["line 2: an item of 'allowed_hosts' in [server] takes text, not a whole number."]),
    ("[server]\ntls_key = 'x'", ["line 1: [server] has one of tls_certificate and tls_key. Give both, or none."]),
    ("[server]\nlog = 'jsno'", ["line 2: 'log' in [server] has no option 'jsno'. Did you mean 'json'? Options are 'text', 'json'."]),
    ("server = 3", ["line 1: [server] takes a table, not a whole number."]),
    ("state = ''", ["line 1: 'state' is empty."]),
    ("memory_limit = 'lots'", ["line 1: 'memory_limit' is 'lots', not an amount of memory such as '4GB'."]),
    ("engine = 'duckdb'", ["line 1: 'engine' is not a connection URL, such as 'duckdb://' or 'sc://host:15002'."]),
    ("[data]\nparquet = 'x'\ntable = 'y'\n[data.calendar]\nrule = 'June'", ["line 1: [data] takes one of parquet and table, which says where card spend lies."]),
    ("[data]\nparquet = 'x'\npanel = 'P'\ncolumns.panel = 'p'\n[data.calendar]\nrule = 'June'", ["line 1: [data] has a panel and a column of panels. Leave one of them."]),
    ("[data]\nparquet = 'x'\n[data.calendar]\ncsv = 'y'\nrule = 'June'", ["line 3: [data.calendar] takes one of rule (such as 'December'), parquet, csv and table."]),
    (f"{LEAST}[data.kpis]", ["line 5: [data.kpis] takes one of parquet, csv and table."]),
    (f"{LEAST}[[data.reports]]\nid = 'R1'\ntitle = 'T'\nsymbols = ['A']\n[[data.reports]]\ntitle = 'T'\nsymbols = []", ["line 9: [[data.reports]] lacks 'id'.", "line 11: 'symbols' in [[data.reports]] is empty."]),
    (f"{LEAST}[data.dimensions]\nSpend = 'x'", ["line 5: [data.dimensions] takes no dimension 'Spend': results have a column of this name. Choose another name."]),
    (f"{LEAST}[data.dimensions]\n'Spend Growth' = 'x'", ["line 5: [data.dimensions] takes no dimension 'Spend Growth': results have a column of this name. Choose another name."]),
    (f"{LEAST}[data.dimensions]\nregion = 'x'\nRegion = 'y'", ["line 5: [data.dimensions] cannot tell 'region', 'Region' apart. Choose names that differ in more than case."]),
    (f"{LEAST}[data.dimensions]\nMerchant = 'x'", ["line 5: [data.dimensions] cannot tell 'Merchant', 'Brand' apart. Choose names that differ in more than case."]),
    (f"{LEAST}[data.dimensions]\n' Channel' = 'x'", ["line 5: [data.dimensions] has the dimension ' Channel'. Write its name without spaces around it."]),
    (f"{LEAST}[data.dimensions]\nRegion = 3", ["line 6: 'Region' in [data.dimensions] takes text, not a whole number."]),
]
# fmt: on


@pytest.mark.parametrize(("text", "said"), MISTAKES)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, said: list[str]) -> None:
    assert refused(tmp_path, text).split("\n") == [f"service.toml, {line}" for line in said]


def test_a_rule_that_does_not_exist_is_refused_with_those_that_do(tmp_path: Path) -> None:
    said = refused(tmp_path, LEAST.replace("December", "Decembr"))
    assert said.startswith(
        "service.toml, line 4: 'rule' in [data.calendar] has no option 'Decembr'. Did you mean 'December'? Options are "
    )


def test_of_many_mistakes_the_first_three_are_named_in_the_order_of_the_file(tmp_path: Path) -> None:
    said = refused(tmp_path, "z = 1\n[server]\na = 1\nport = 'x'\nb = 1\n[functions]\nbuiltin = 3\n")
    assert [line.partition(":")[0] for line in said.split("\n")] == [f"service.toml, line {n}" for n in (1, 3, 4)]
    assert said.endswith(" (And 2 more.)")


def test_a_key_is_refused_after_reading_with_its_line(tmp_path: Path) -> None:
    found = read(tmp_path, f"{LEAST}[data.columns]\ndate = 'day'\n")
    for key, place in [(("data", "columns", "date"), "line 6"), (("data", "columns", "spend"), "line 5")]:
        with pytest.raises(SetupError, match=rf"service\.toml, {place}: it is wrong$"):
            found.fail(key, "it is wrong")
    with pytest.raises(SetupError, match=r"^the configuration: it is wrong$"):
        Settings().fail(("server", "port"), "it is wrong")


# The engine's URL


def test_variables_of_the_environment_are_filled_into_the_engines_url_and_shown_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "hunter2")
    found = read(tmp_path, "engine = 'trino://ann:${DB_PASSWORD}@host:443/cards'")
    assert found.engine == "trino://ann:hunter2@host:443/cards"
    assert "hunter2" not in repr(found)
    # Nor where something else, or the URL itself, is wrong.
    monkeypatch.setenv("DB_PASSWORD", "no-url-hunter2")
    for text in ("engine = '${DB_PASSWORD}'", "engine = 'x://${DB_PASSWORD}'\nnope = 1", "engine = ['${DB_PASSWORD}']"):
        assert "hunter2" not in refused(tmp_path, text)


def test_a_variable_that_is_not_set_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DB_PASSWORD", raising=False)
    assert refused(tmp_path, "\nengine = 'x://${DB_PASSWORD}@y'") == (
        "service.toml, line 2: 'engine' names 'DB_PASSWORD', which the environment does not have. "
        "Set it, or write another name."
    )


@pytest.mark.parametrize(
    ("url", "engine"),
    [
        ("duckdb://", "duckdb://"),
        ("duckdb:///data/team.db", "duckdb:///data/team.db"),
        ("duckdb://team.db", "duckdb://{folder}/team.db"),
        ("sqlite:///data/team.db", "sqlite:///data/team.db"),
    ],
)
def test_a_database_file_without_a_root_lies_beside_the_configuration(tmp_path: Path, url: str, engine: Any) -> None:
    assert read(tmp_path, f"engine = '{url}'").engine == engine.format(folder=tmp_path)

"""The configuration: what is valid, and the errors about what is not, with line and key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.config import settings
from jupyter_funcs.service.config.settings import Settings
from tests.examples import row_id

LEAST = '[data]\nparquet = "cards.parquet"\n[data.calendar]\nrule = "December"\n'


def read(folder: Path, text: str) -> Settings:
    path = folder / "service.toml"
    path.write_text(text)
    return settings.load(path)


def refused(folder: Path, text: str) -> str:
    with pytest.raises(SetupError) as caught:
        read(folder, text)
    return str(caught.value).replace(f"{folder}/", "")


def test_without_a_file_or_with_an_empty_one_everything_has_a_default(
    tmp_path: Path,
) -> None:
    assert (
        settings.load(None).model_dump()
        == read(tmp_path, "").model_dump()
        == Settings().model_dump()
    )
    assert (Settings().engine, Settings().data, Settings().server.port) == (
        "duckdb://",
        None,
        8765,
    )


def test_every_key_is_read_and_paths_are_relative_to_the_folder_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    configuration = read(
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
        processes = 2
        trusted_proxies = ["10.0.0.0/8", "192.0.2.1"]
        allowed_hosts = ["acme.example"]
        allowed_origins = ["https://acme.example"]
        run_seconds = 1.5
        concurrent_runs = 8
        runs_a_user = 2
        engine_threads = 6
        idle_workers = 20
        idle_seconds = 60
        stop_seconds = 5
        keep_days = 3
        keep_size = "1GB"
        keep_size_a_user = "100MB"
        log = "json"
        [functions]
        builtin = false
        folders = ["functions", "../more"]
        entry_points = true
        readable = ["sales"]
        variables = ["SALES_DATABASE"]
        memory_limit = "8GB"
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
    assert (configuration.state, configuration.engine) == (
        tmp_path / "state",
        "sc://spark:15002",
    )
    assert (configuration.server.tls_certificate, configuration.server.tls_key) == (
        Path("/etc/tls.pem"),
        Path("/home/ann/tls.key"),
    )
    assert (configuration.server.run_seconds, configuration.server.allowed_hosts) == (
        1.5,
        ("acme.example",),
    )
    assert configuration.functions.folders == (
        tmp_path / "functions",
        tmp_path / "../more",
    )
    data = configuration.data
    assert data is not None
    assert list(data.columns.model_dump().values()) == [
        "day",
        "ticker",
        "usd_cents",
        "tx",
        "accounts",
        "source",
    ]
    assert data.companies is not None
    assert (data.companies.csv, data.companies.columns["name"]) == (
        tmp_path / "companies.csv",
        "title",
    )
    assert (data.calendar.mapped["period_name"], data.calendar.mapped["start"]) == (
        "quarter",
        "start",
    )
    assert [report.panel for report in data.reports] == [None, "P"]
    assert all(
        section.model_fields_set == set(type(section).model_fields)
        for section in (configuration.server, configuration.functions)
    )


def test_settings_cannot_be_changed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="frozen"):
        read(tmp_path, "").server.port = 1  # type: ignore[misc]


TAKEN = (
    "can't be a dimension: results have a column with that name. Choose another name."
)
SAME_COLUMN = "would be the same column. Choose names that differ by more than case."
MISTAKES = [
    (
        "\n[server]\nprot = 1",
        "line 3, server.prot: unknown key. Did you mean 'port'?",
    ),
    (
        "[data.calender]\nx = 1",
        (
            "line 1, data.calendar: this key is required.\n"
            "line 1, data.calender: unknown key. Did you mean 'calendar'?"
        ),
    ),
    (
        "[server]\norganisation = 'Acme'",
        (
            "line 2, server.organisation: unknown key. "
            "Did you mean organisation, before the first [section]?"
        ),
    ),
    ("port = 80", "line 1, port: unknown key. Did you mean server.port?"),
    (
        "[functions]\nxyz = 1",
        (
            "line 2, functions.xyz: unknown key. Valid keys are "
            "'builtin', 'folders', 'entry_points', 'readable', "
            "'variables', 'memory_limit', 'asset'."
        ),
    ),
    (
        "[functions]\nmemory_limit = 4",
        "line 2, functions.memory_limit: must be an amount of memory such as '4GB', not '4'.",
    ),
    (
        "[server]\nport = '80'",
        "line 2, server.port: must be a valid integer, not '80'.",
    ),
    (
        "[server]\nport = 70000",
        "line 2, server.port: must be less than or equal to 65535, not 70000.",
    ),
    (
        "[server]\nrun_seconds = 0",
        "line 2, server.run_seconds: must be greater than 0, not 0.",
    ),
    (
        "[server]\nrun_seconds = nan",
        "line 2, server.run_seconds: must be less than or equal to 86400, not nan.",
    ),
    (
        "[server]\nhost = 2024-01-01",
        "line 2, server.host: must be a valid string, not 2024-01-01.",
    ),
    (
        "[server]\nbehind_proxy = 1",
        "line 2, server.behind_proxy: must be a valid boolean, not 1.",
    ),
    (
        "[server]\ntrusted_proxies = ['10.0.0.1/8']",
        (
            "line 2, server.trusted_proxies[0]: value is not a valid IPv4 or IPv6 network, "
            "not '10.0.0.1/8'."
        ),
    ),
    (
        "[server]\nport = true",
        "line 2, server.port: must be a valid integer, not true.",
    ),
    (
        "[server]\nallowed_hosts = 'x'",
        "line 2, server.allowed_hosts: must be an array, not 'x'.",
    ),
    (
        "[server]\nallowed_hosts = [\n 'x',\n 3]",
        "line 2, server.allowed_hosts[1]: must be a valid string, not 3.",
    ),
    (
        "[server]\ntls_key = 'x'",
        "line 1, server: needs both tls_certificate and tls_key, or neither.",
    ),
    (
        "[server]\nlog = 'jsno'",
        "line 2, server.log: must be 'text' or 'json', not 'jsno'. Did you mean 'json'?",
    ),
    ("server = 3", "line 1, server: must be a table, not 3."),
    ("state = ''", "line 1, state: must not be empty."),
    ("state = ['x']", "line 1, state: must be a string, not an array."),
    (
        "memory_limit = 'lots'",
        "line 1, memory_limit: must be an amount of memory such as '4GB', not 'lots'.",
    ),
    (
        "memory_limit = '1KB'",
        "line 1, memory_limit: must be greater than or equal to 16777216, not '1KB'.",
    ),
    (
        "[functions]\nmemory_limit = '50 MB'",
        "line 2, functions.memory_limit: must be greater than or equal to 134217728, not '50 MB'.",
    ),
    (
        "engine = 'duckdb'",
        "line 1, engine: must be a connection URL such as 'duckdb://' or 'sc://host:15002'.",
    ),
    (
        "[data]\nparquet = 'x'\ntable = 'y'\n[data.calendar]\nrule = 'June'",
        "line 1, data: needs either parquet or table: where the card spend is.",
    ),
    (
        "[data]\nparquet = 'x'\npanel = 'P'\ncolumns.panel = 'p'\n[data.calendar]\nrule = 'June'",
        "line 1, data: has both panel and columns.panel. Remove one of them.",
    ),
    (
        "[data]\nparquet = 'x'\n[data.calendar]\ncsv = 'y'\nrule = 'June'",
        (
            "line 3, data.calendar: needs exactly one of rule (such as 'December'), parquet, "
            "csv and table."
        ),
    ),
    (
        f"{LEAST}[data.kpis]",
        "line 5, data.kpis: needs exactly one of parquet, csv and table.",
    ),
    (
        (
            f"{LEAST}[[data.reports]]\nid = 'R1'\ntitle = 'T'\nsymbols = ['A']\n"
            "[[data.reports]]\ntitle = 'T'\nsymbols = []"
        ),
        (
            "line 9, data.reports[1].id: this key is required.\n"
            "line 11, data.reports[1].symbols: must not be empty."
        ),
    ),
    (
        f"{LEAST}[[data.reports]]\nid = 'R1'\ntitel = 'T'\nsymbols = ['A']",
        (
            "line 5, data.reports[0].title: this key is required.\n"
            "line 7, data.reports[0].titel: unknown key. Did you mean 'title'?"
        ),
    ),
    (
        f"{LEAST}[data.dimensions]\nSpend = 'x'",
        f"line 5, data.dimensions: 'Spend' {TAKEN}",
    ),
    (
        f"{LEAST}[data.dimensions]\n'Spend Growth' = 'x'",
        f"line 5, data.dimensions: 'Spend Growth' {TAKEN}",
    ),
    (
        f"{LEAST}[data.dimensions]\nregion = 'x'\nRegion = 'y'",
        f"line 5, data.dimensions: 'region', 'Region' {SAME_COLUMN}",
    ),
    (
        f"{LEAST}[data.dimensions]\nMerchant = 'x'",
        f"line 5, data.dimensions: 'Merchant', 'Brand' {SAME_COLUMN}",
    ),
    (
        f"{LEAST}[data.dimensions]\n' Channel' = 'x'",
        "line 5, data.dimensions: the name ' Channel' has extra spaces or is empty. Correct it.",
    ),
    (
        f"{LEAST}[data.dimensions]\n'Age Group' = 3",
        "line 6, data.dimensions.'Age Group': must be a valid string, not 3.",
    ),
]


@pytest.mark.parametrize(
    ("text", "message"), MISTAKES, ids=[row_id(text.strip()) for text, _ in MISTAKES]
)
def test_a_mistake_is_named_with_its_line(
    tmp_path: Path, text: str, message: str
) -> None:
    assert refused(tmp_path, text).split("\n") == [
        f"service.toml, {line}" for line in message.split("\n")
    ]


def test_a_rule_that_does_not_exist_is_refused_with_those_that_do(
    tmp_path: Path,
) -> None:
    message = refused(tmp_path, LEAST.replace("December", "Decembr"))
    assert message.startswith(
        "service.toml, line 4, data.calendar.rule: unknown rule 'Decembr'. "
        "Did you mean 'December'? Rules are "
    )


def test_of_many_mistakes_the_first_three_are_named_in_the_order_of_the_file(
    tmp_path: Path,
) -> None:
    messages = refused(
        tmp_path,
        "z = 1\n[server]\na = 1\nport = 'x'\nb = 1\n[functions]\nbuiltin = 3\n",
    )
    assert [line.partition(":")[0] for line in messages.split("\n")] == [
        "service.toml, line 1, z",
        "service.toml, line 3, server.a",
        "service.toml, line 4, server.port",
    ]
    assert messages.endswith(" (And 2 more.)")


def test_a_key_is_refused_after_reading_with_its_line(tmp_path: Path) -> None:
    configuration = read(tmp_path, f"{LEAST}[data.columns]\ndate = 'day'\n")
    for key, place in [
        (("data", "columns", "date"), "line 6"),
        (("data", "columns", "spend"), "line 5"),
    ]:
        with pytest.raises(
            SetupError, match=rf"service\.toml, {place}, {'.'.join(key)}: it is wrong$"
        ):
            configuration.fail(key, "it is wrong")
    with pytest.raises(
        SetupError, match=r"^the configuration, server.port: it is wrong$"
    ):
        Settings().fail(("server", "port"), "it is wrong")


# The engine's URL


def test_environment_variables_replace_their_names_in_the_engines_url_and_are_shown_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "hunter2")
    configuration = read(
        tmp_path, "engine = 'trino://ann:${DB_PASSWORD}@host:443/cards'"
    )
    assert configuration.engine == "trino://ann:hunter2@host:443/cards"
    assert "hunter2" not in repr(configuration)
    # Not in errors either, about the URL or about something else.
    monkeypatch.setenv("DB_PASSWORD", "no-url-hunter2")
    for text in (
        "engine = '${DB_PASSWORD}'",
        "engine = 'x://${DB_PASSWORD}'\nnope = 1",
        "engine = ['${DB_PASSWORD}', 'x://a:hunter2@b']",
    ):
        assert "hunter2" not in refused(tmp_path, text)


def test_a_variable_that_is_not_set_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DB_PASSWORD", raising=False)
    assert refused(tmp_path, "\nengine = 'x://${DB_PASSWORD}@y'") == (
        "service.toml, line 2, engine: 'DB_PASSWORD' is not set in the environment. "
        "Set it, or change the name."
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
def test_a_relative_database_file_is_next_to_the_configuration(
    tmp_path: Path, url: str, engine: Any
) -> None:
    assert read(tmp_path, f"engine = '{url}'").engine == engine.format(folder=tmp_path)

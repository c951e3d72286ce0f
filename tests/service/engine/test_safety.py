"""What SQL cannot do to the service: reach other files, write, run for ever or take all memory (FAULTS 112-119)."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import ibis
import pyarrow as pa
import pytest

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.builtin import card_functions, companies, demo, queries
from jupyter_funcs.service.engine import calls
from jupyter_funcs.service.engine.calls import (
    CallCancelledError,
    MemoryLimitError,
    Query,
)
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine, PrivateFolder
from jupyter_funcs.service.engine.remote_engine import connect_engine
from jupyter_funcs.service.engine.tables import CARDS, Cards
from tests.examples import row_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import ibis.expr.types as ir

    from tests.service.conftest import Wire

P = "Demo Card Panel"
NVRA = "NVRA US EQUITY"
# Seconds within which a cancelled query ends: one is promised; a busy machine gets more.
SOON = 60  # seconds, far less than the queries take


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A private file of card spend, which a mistake may destroy."""
    return shutil.copy(
        demo.spend_file(), tmp_path_factory.mktemp("data") / "cards.parquet"
    )


@pytest.fixture(scope="module")
def engine(stored: Path) -> Iterator[DuckDBEngine]:
    engine = DuckDBEngine(
        companies.reference(), lambda: Cards.parquet(stored), memory_limit=4 * 10**8
    )
    engine.open()
    yield engine
    engine.close()


def own_sql(text: str, **columns: str) -> ir.Table:
    """Return an expression like one of a function with its own SQL."""
    return _connection().sql(text, schema=ibis.schema(columns or {"n": "int64"}))


@functools.cache
def _connection() -> Any:
    return ibis.duckdb.connect()


# FAULTS 112: arguments

TEXTS = [
    "' OR 1=1 --",
    "'; DROP TABLE panels; --",
    '"; DROP VIEW cards; --',
    "1); DELETE FROM companies; --",
    "' UNION SELECT content FROM read_text('/etc/passwd') --",
    "$panel",
    "?",
    "\\'; SELECT 1; --",
    "\x00",
    "read_csv('/etc/passwd')",
    "NVRA US EQUITY'; DROP VIEW cards; --",
    "../../etc/passwd",
]
VALID = {
    "PanelName": P,
    "Symbol": NVRA,
    "Dimensions": ["Region"],
    "report_id": "RPT-101",
}
FUNCTIONS = card_functions.published(companies.reference(), asset="tests")
PARAMETERS = [
    (function.name, parameter.name)
    for function in FUNCTIONS
    for parameter in function.parameters
]


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_sql_in_any_argument_is_a_value_and_harms_no_table(
    service: Wire, name: str, parameter: str
) -> None:
    """FAULTS.md 112."""
    [published] = [function for function in FUNCTIONS if function.name == name]
    takes = {declared.name: declared for declared in published.parameters}
    valid = {key: value for key, value in VALID.items() if key in takes}
    for text in TEXTS:
        for value in (text, [text]) if takes[parameter].many else (text,):
            assert parameter in service.errors(name, **valid | {parameter: value})
    assert len(service.rows("Get Panels")) == 2
    assert len(service.rows("Get Universe")) == 24
    assert len(service.rows("Get Panel Daily", PanelName=P, Symbol=NVRA)) > 1000


@pytest.mark.parametrize("text", TEXTS, ids=row_id)
def test_sql_that_passes_for_a_name_finds_nothing(
    engine: DuckDBEngine, text: str
) -> None:
    call = engine.call()
    # If any part became SQL, or a name to look up, the query would fail or find rows.
    assert call.fetch(card_functions.get_kpis(call, text, text, "No")) == []
    assert call.fetch(card_functions.get_panel_dimensions(call, text, ["Brand"])) == []
    daily = card_functions.get_panel_daily(
        call, text, text, [text], PoPGrowth="Yes", Dimensions=["Region"]
    )
    assert call.fetch(daily) == []
    assert (
        card_functions.get_panel_fq(
            call, text, text, [text], PoPGrowth="Yes", PeriodToDate="Yes"
        )
        == []
    )


# FAULTS 113: files, extensions, settings

READING = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/proc/self/environ')",
    "SELECT * FROM read_json('/etc/passwd')",
    "SELECT * FROM read_parquet('{folder}/other.parquet')",
    "SELECT * FROM read_parquet('{folder}/./x/../other.parquet')",
    "SELECT * FROM read_parquet('{folder}/*.parquet')",
    "SELECT * FROM parquet_metadata('{folder}/other.parquet')",
    "SELECT * FROM read_duckdb('{folder}/x.duckdb')",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM glob('/etc/*')",
    "FROM '/etc/passwd'",
    "FROM '{folder}/other.parquet'",
    "FROM 'https://example.com/x.parquet'",
    "SELECT * FROM query('SELECT * FROM read_text(''/etc/passwd'')')",
    "SELECT getenv('HOME')",
]
CHANGING = [
    "COPY panels TO '{folder}/x.csv'",
    "COPY (SELECT 1) TO '{file}' (USE_TMP_FILE false)",
    "EXPORT DATABASE '{folder}/export'",
    "IMPORT DATABASE '{folder}/export'",
    "ATTACH '{folder}/x.duckdb'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{folder}/x.duckdb_extension'",
    "SET memory_limit = '100GB'",
    "SET GLOBAL threads = 64",
    "RESET memory_limit",
    "PRAGMA memory_limit = '100GB'",
    "SET enable_external_access = true",
    "SET allowed_paths = ['/etc/passwd']",
    "SET allowed_directories = ['/']",
    "SET lock_configuration = false",
    "SET python_enable_replacements = true",
    "PRAGMA profiling_output = '{folder}/profile.json'",
    "CREATE SECRET s (TYPE s3)",
]
STACKED = [
    "DROP TABLE panels",
    "DELETE FROM panels",
    "UPDATE panels SET PanelName = 'x'",
    "INSERT INTO panels VALUES ('x', 'y')",
    "CREATE OR REPLACE VIEW cards AS SELECT 1",
    "ATTACH ':memory:' AS x",
    "SELECT 1 AS n; DROP TABLE panels",
    "CALL enable_logging()",
    "BEGIN",
    "CHECKPOINT",
    "PREPARE p AS SELECT 1",
]

# Functions that a SELECT can call; the first would write a file, which DuckDB refuses by ending the process.
ACTING = [
    "SELECT 1 AS n FROM enable_logging('QueryLog', storage := 'file', storage_config := {'path': '{folder}/log'})",
    "SELECT 1 AS n FROM enable_logging()",
    'SELECT 1 AS n FROM system.main."Enable_Logging" /* now */ ()',
    "SELECT 'é' AS n FROM\u00a0enable_logging\u00a0()",
    "SELECT 1 AS n FROM query('SELECT 1 AS n FROM enable' || '_logging()')",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1 AS n FROM enable' || '_logging()'))",
    "SELECT 1 AS n FROM disable_logging()",
    "SELECT 1 AS n FROM truncate_duckdb_logs()",
    "SELECT 1 AS n FROM enable_profiling(format := 'json', save_location := '{folder}/profile.json')",
    "SELECT 1 AS n FROM disable_profiling()",
    "SELECT 1 AS n FROM force_checkpoint()",
]


def told(text: str, stored: Path) -> str:
    return text.replace("{folder}", str(stored.parent)).replace("{file}", str(stored))


def unharmed(engine: DuckDBEngine, stored: Path, before: tuple[int, int]) -> bool:
    call = engine.call()
    assert len(call.fetch(Query(queries.panels))) == 2
    assert (
        len(call.fetch(card_functions.get_panel_daily(call, P, NVRA, PoPGrowth="Yes")))
        > 1000
    )
    return written_at(stored) == before and {
        path.name for path in stored.parent.iterdir()
    } <= {
        "cards.parquet",
        "other.parquet",
    }


def written_at(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def unchanged(stored: Path) -> Iterator[tuple[int, int]]:
    """When the file of card spend was written; its bytes are the same when all tests are done."""
    with stored.open("rb") as file:
        (stored.parent / "other.parquet").write_bytes(file.read(1000))
    before = checksum(stored)
    yield written_at(stored)
    assert checksum(stored) == before


@pytest.mark.parametrize("text", [*READING, *CHANGING, *STACKED, *ACTING], ids=row_id)
def test_a_functions_own_sql_reaches_no_file_and_changes_nothing(
    engine: DuckDBEngine, stored: Path, unchanged: tuple[int, int], text: str
) -> None:
    """FAULTS.md 113."""
    with pytest.raises((duckdb.Error, ValueError)) as caught:
        engine.call().fetch(own_sql(told(text, stored)))
    assert not isinstance(caught.value, duckdb.ConversionException)
    assert unharmed(engine, stored, unchanged)


@pytest.mark.parametrize("which", ["engine", "before_the_data"])
@pytest.mark.parametrize(
    "text",
    [query for query in (*READING, *CHANGING) if "{file}" not in query],
    ids=row_id,
)
def test_the_engines_cursor_itself_refuses_it(
    request: pytest.FixtureRequest, which: str, stored: Path, text: str
) -> None:
    with pytest.raises(duckdb.Error), request.getfixturevalue(which).cursor() as cursor:
        cursor.execute(told(text, stored)).fetchall()


def test_an_unknown_table_is_not_looked_up_in_python(engine: DuckDBEngine) -> None:
    in_python = pa.table({"secret": [1]})
    assert duckdb.sql("FROM in_python").fetchall() == [(1,)]
    with (
        pytest.raises(duckdb.CatalogException, match="in_python does not exist"),
        engine.cursor() as cursor,
    ):
        cursor.execute("FROM in_python")
    assert in_python


def test_a_functions_own_select_runs(engine: DuckDBEngine) -> None:
    assert engine.call().fetch(
        own_sql("SELECT count(*) AS n FROM panels WHERE PanelName <> ';'")
    ) == [{"n": 2}]
    # A word isn't a call.
    column = "SELECT max(query) AS n FROM (SELECT count(*) AS query, 'enable_logging()' AS \"checkpoint\" FROM panels)"
    assert engine.call().fetch(own_sql(column)) == [{"n": 2}]


# FAULTS 114: runaway queries

RUNAWAY = {
    "a cross join": "SELECT sum(a.i * b.i % 7)::BIGINT AS n FROM range(10000000) a(i), range(10000000) b(i)",
    "a recursion": "SELECT n FROM (WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 1e15)"
    " SELECT max(n) AS n FROM r) t",
    "a huge series": "SELECT sum(sin(i)) AS n FROM generate_series(1, 100000000000) t(i)",
    "a sort that spills": "SELECT h AS n FROM"
    " (SELECT hash(i) AS h, repeat(i::VARCHAR, 9) AS s FROM range(60000000) t(i)) ORDER BY s || h",
    "a regular expression": "SELECT count(*) AS n FROM range(1000000000) t(i)"
    " WHERE regexp_matches(repeat(i::VARCHAR, 500), '(1|2|3)*4(5|6)*7')",
    "the planning of many joins": "SELECT count(*) AS n FROM "
    + ", ".join(f"cards c{at}" for at in range(18))
    + " WHERE "
    + " AND ".join(f"c{at}.spend_cents % 3 = c{at + 1}.cards % 3" for at in range(17)),
    "a large result": "SELECT i AS n FROM range(100000000000) t(i)",
}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["fetch", "arrow"])
@pytest.mark.parametrize("kind", RUNAWAY)
def test_a_runaway_query_ends_soon_after_cancelling(
    engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch, kind: str, how: str
) -> None:
    # Here a large result must be cancelled, not refused for its size.
    monkeypatch.setattr(calls, "_MOST_VALUES", 10**12)
    monkeypatch.setattr(calls, "MOST_BYTES", 10**12)
    call = engine.call()
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(getattr(call, how), own_sql(RUNAWAY[kind]))
        time.sleep(0.4)
        assert not running.done(), running.exception()
        call.cancel()
        assert isinstance(running.exception(SOON), CallCancelledError)
    assert engine.call().fetch(own_sql("SELECT 1 AS n")) == [{"n": 1}]


def test_a_call_cancelled_while_its_sql_is_made_runs_none_of_it(
    engine: DuckDBEngine,
) -> None:
    call = engine.call()

    def build(table: Callable[[str], ir.Table], _values: Any) -> ir.Table:
        call.cancel()
        return table("panels")

    for query in (Query(build), Query(queries.panels)):
        with pytest.raises(CallCancelledError):
            call.fetch(query)


def test_a_call_cancelled_while_the_data_are_made_does_not_wait_for_them(
    stored: Path,
) -> None:
    has_begun = threading.Event()
    go_on = threading.Event()

    def make() -> Cards:
        has_begun.set()
        assert go_on.wait(60)
        return Cards.parquet(stored)

    engine = DuckDBEngine(companies.reference(), make)
    first = engine.call()
    second = engine.call()
    with ThreadPoolExecutor(2) as threads:
        waiting = [
            threads.submit(call.fetch, card_functions.get_panel_daily(call, P, NVRA))
            for call in (first, second)
        ]
        assert has_begun.wait(60)
        first.cancel()
        assert isinstance(waiting[0].exception(SOON), CallCancelledError)
        assert not waiting[1].done()
        # Who still waits gets the data that the first call asked for.
        go_on.set()
        assert len(waiting[1].result(60)) > 1000
    engine.close()


def test_cancelling_twice_or_after_the_end_does_nothing(engine: DuckDBEngine) -> None:
    call = engine.call()
    assert call.fetch(own_sql("SELECT 1 AS n")) == [{"n": 1}]
    call.cancel()
    call.cancel()
    assert call.cancelled
    with pytest.raises(CallCancelledError):
        call.arrow(own_sql("SELECT 1 AS n"))


# FAULTS 116: memory

GREEDY = {
    "a list": "SELECT len(list(i)) AS n FROM range(50000000) t(i)",
    "many groups": "SELECT sum(len(l)) AS n FROM (SELECT list(i) AS l FROM range(6000000) t(i) GROUP BY hash(i)) t",
    "a sort that does not fit on the disk": "SELECT max(h) AS n FROM"
    " (SELECT hash(i) AS h, repeat(hash(i)::VARCHAR, 9) AS s FROM range(6000000) t(i) ORDER BY s LIMIT 5999999)",
}


@pytest.fixture(scope="module")
def small(stored: Path) -> Iterator[DuckDBEngine]:
    """An engine with little memory."""
    engine = DuckDBEngine(
        companies.reference(), lambda: Cards.parquet(stored), memory_limit=10**8
    )
    yield engine
    engine.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", GREEDY)
def test_a_query_over_the_memory_limit_says_so_and_the_engine_keeps_working(
    small: DuckDBEngine, kind: str
) -> None:
    with pytest.raises(
        MemoryLimitError, match="more memory than all queries may share"
    ):
        small.call().fetch(own_sql(GREEDY[kind]))
    call = small.call()
    assert (
        len(
            call.fetch(
                card_functions.get_panel_daily(
                    call, P, NVRA, PoPGrowth="Yes", Dimensions=["Region"]
                )
            )
        )
        > 1000
    )


@pytest.mark.parametrize("read", ["fetch", "arrow"])
def test_a_result_without_an_end_is_refused_before_it_fills_the_memory(
    small: DuckDBEngine, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    monkeypatch.setattr(calls, "_MOST_VALUES", 100_000)
    with pytest.raises(
        MemoryLimitError, match=r"more than \d+,\d+ rows of 1 columns. Ask for less"
    ):
        getattr(small.call(), read)(
            own_sql("SELECT i AS n FROM range(30000000000) t(i)")
        )
    assert (
        len(
            getattr(small.call(), read)(own_sql("SELECT i AS n FROM range(20000) t(i)"))
        )
        == 20_000
    )


@pytest.mark.parametrize("read", ["fetch", "arrow"])
def test_a_result_of_too_many_bytes_is_refused_before_it_is_read_whole(
    small: DuckDBEngine, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    """Few rows may be large: batches get smaller."""
    monkeypatch.setattr(calls, "MOST_BYTES", 50_000_000)
    with pytest.raises(MemoryLimitError, match="larger than 50000000 bytes"):
        getattr(small.call(), read)(
            own_sql("SELECT repeat('x', 2000) AS t FROM range(30000000000) t(i)")
        )


@pytest.mark.slow
def test_what_does_not_fit_into_memory_spills_into_a_folder_that_ends_with_the_engine(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    engine = DuckDBEngine(
        companies.reference(), lambda: Cards.parquet(stored), memory_limit=10**8
    )
    sort = "SELECT sum(r) AS n FROM (SELECT row_number() OVER (ORDER BY hash(i)) % 2 AS r FROM range(3000000) t(i)) t"
    spilt = []
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(engine.call().fetch, own_sql(sort))
        while not running.done():
            # It was returned meanwhile.
            with contextlib.suppress(FileNotFoundError):
                spilt.append(
                    sum(path.stat().st_size for path in tmp_path.rglob("*.tmp"))
                )
            time.sleep(0.01)
    assert running.result() == [{"n": 1_500_000}]
    assert max(spilt) > 1_000_000
    [folder] = tmp_path.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    engine.close()
    assert list(tmp_path.iterdir()) == []


HOLDER = """
import sys
from jupyter_funcs.service.engine.duckdb_engine import PrivateFolder
folder = PrivateFolder("jupyter_funcs.queries.")
(folder.path / "spilt.tmp").write_bytes(b"x")
print(folder.path, flush=True)
sys.stdin.read()
"""


def test_what_a_killed_process_has_spilt_goes_with_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of a running process stays until it ends; so does one that isn't locked yet, by its name."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with contextlib.ExitStack() as ends:
        dead, living = (
            ends.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", HOLDER],
                    env=os.environ | {"TMPDIR": str(tmp_path)},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for _ in range(2)
        )
        folders = [
            Path(process.stdout.readline().strip()) for process in (dead, living)
        ]
        dead.kill()
        dead.wait()
        new = tmp_path / f"new.{folders[0].name}"
        new.mkdir()
        own = PrivateFolder("jupyter_funcs.queries.")
        assert set(tmp_path.iterdir()) == {folders[1], new, own.path}
        assert stat.S_IMODE(own.path.stat().st_mode) == 0o700
        living.communicate(timeout=60)
        assert living.returncode == 0
    own.close()
    assert list(tmp_path.iterdir()) == [new]


def test_the_default_limit_is_half_of_the_memory(
    engine: DuckDBEngine, before_the_data: DuckDBEngine
) -> None:
    def bytes_of(text: str) -> float:
        number, unit = text.split()
        return float(number) * 1024 ** {"MiB": 2, "GiB": 3, "TiB": 4}[unit]

    def limit_of(engine: DuckDBEngine) -> str:
        with engine.cursor() as cursor:
            [(limit,)] = cursor.execute(
                "SELECT current_setting('memory_limit')"
            ).fetchall()
        return str(limit)

    assert limit_of(engine) == "381.4 MiB"
    half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2
    # Less where a control group limits it.
    assert 0 < bytes_of(limit_of(before_the_data)) < half * 1.05


# FAULTS 119: what cannot be opened


@pytest.fixture
def database(tmp_path: Path, stored: Path) -> Path:
    path = tmp_path / "team.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(
            f"CREATE SCHEMA panel; CREATE TABLE panel.spend AS FROM read_parquet('{stored}') LIMIT 3000"
        )
        con.execute("CREATE TABLE other AS SELECT 1 AS n")
    return path


TABLE = Cards(
    schema=CARDS, columns={name: name for name in CARDS}, table=("panel", "spend")
)


@pytest.mark.slow
def test_a_database_is_read_and_never_written(database: Path) -> None:
    engine = connect_engine(
        f"duckdb://{database}", companies.reference(), lambda: TABLE
    )
    engine.open()
    before = checksum(database)
    call = engine.call()
    assert call.fetch(call.table("cards").count().name("n")) == [{"n": 3000}]
    for text in (
        "DROP TABLE own.other",
        "INSERT INTO own.other VALUES (2)",
        "DETACH own",
    ):
        with pytest.raises(ValueError, match="may only read"):
            call.fetch(own_sql(text))
    for text in ("DROP TABLE own.other", "INSERT INTO own.other VALUES (2)"):
        with pytest.raises(duckdb.Error, match="read-only"), engine.cursor() as cursor:  # type: ignore[attr-defined]
            cursor.execute(text)
    engine.close()
    assert checksum(database) == before


def test_a_database_in_use_is_refused_with_the_process_that_uses_it(
    database: Path,
) -> None:
    """FAULTS.md 119."""
    code = f"import duckdb; con = duckdb.connect({str(database)!r}); print('open', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout
        assert other.stdout.readline() == b"open\n"
        engine = DuckDBEngine(companies.reference(), lambda: TABLE, database=database)
        with pytest.raises(
            SetupError, match=f"team.duckdb is in use by PID {other.pid}"
        ):
            engine.open()
        other.communicate(b"\n")
    engine.open()
    engine.close()


def test_what_only_reads_may_share_a_database(database: Path) -> None:
    engines = [
        DuckDBEngine(companies.reference(), lambda: TABLE, database=database)
        for _ in range(2)
    ]
    for engine in engines:
        engine.open()
    with duckdb.connect(str(database), read_only=True) as con:
        assert con.execute("SELECT n FROM other").fetchall() == [(1,)]
    for engine in engines:
        engine.close()


def a_text_file(folder: Path) -> Path:
    (folder / "x.duckdb").write_text("no database")
    return folder / "x.duckdb"


@pytest.mark.parametrize(
    ("options", "cards", "message"),
    [
        pytest.param(
            lambda folder: {"database": folder / "none.duckdb"},
            TABLE,
            r"The database .*none.duckdb cannot be opened: ",
            id="no database",
        ),
        pytest.param(
            lambda folder: {"database": folder},
            TABLE,
            "cannot be opened: ",
            id="a folder",
        ),
        pytest.param(
            lambda folder: {"database": a_text_file(folder)},
            TABLE,
            "cannot be opened: ",
            id="a text file",
        ),
        pytest.param(
            lambda _folder: {},
            Cards(CARDS, {}, files=("/none/*.parquet",)),
            r"no file /none/\*.parquet",
            id="no files",
        ),
        pytest.param(
            lambda _folder: {},
            Cards(CARDS, {}, files=("/etc/passwd",)),
            "cannot be read from /etc/passwd: ",
            id="no Parquet file",
        ),
        pytest.param(
            lambda _folder: {},
            Cards(CARDS, {}, table=("none",)),
            "cannot be read from none: ",
            id="no table",
        ),
    ],
)
def test_what_cannot_be_opened_is_refused_with_a_message(
    tmp_path: Path,
    options: Callable[[Path], dict[str, Any]],
    cards: Cards,
    message: str,
) -> None:
    engine = DuckDBEngine(companies.reference(), lambda: cards, **options(tmp_path))
    with pytest.raises(SetupError, match=message) as caught:
        engine.open()
    assert str(caught.value).count("\n") <= 2
    engine.close()


def test_files_are_found_by_a_pattern_and_mapped(tmp_path: Path) -> None:
    for month in (1, 2):
        (tmp_path / f"month={month}").mkdir()
        duckdb.execute(
            "COPY (SELECT 'x y' AS \"Shop 'A'\", DATE '2024-01-01' + i::INTEGER AS day, 1.5::DECIMAL(9, 2) AS paid,"
            f" 2 AS n FROM range(10) t(i)) TO '{tmp_path}/month={month}/it''s.parquet'"
        )
    columns = {
        "symbol": "Shop 'A'",
        "merchant": "Shop 'A'",
        "region": "Shop 'A'",
        "generation": "Shop 'A'",
    }
    columns |= {"date": "day", "spend_cents": "paid", "transactions": "n", "cards": "n"}
    cards = Cards(
        CARDS,
        columns,
        files=(f"{tmp_path}/*/it's.parquet",),
        panel="P",
        spend_unit="units",
    )
    engine = DuckDBEngine(companies.reference(), lambda: cards)
    call = engine.call()
    rows = call.fetch(card_functions.get_panel_daily(call, "P", "x y"))
    assert [row["Spend"] for row in rows] == [3.0] * 10
    engine.close()

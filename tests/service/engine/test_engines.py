"""
Engines other than DuckDB: the same functions give the same answers, byte for byte.

Sail is a Spark Connect server without a JVM, and ClickHouse runs in process (chdb), both of the extra `engines`.
PostgreSQL is one of the machine's. Where an engine is absent, its tests are skipped. A real Spark: tests/cluster.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.builtin import card_functions, companies, demo, queries
from jupyter_funcs.service.engine import remote_engine
from jupyter_funcs.service.engine.backends import EngineURL
from jupyter_funcs.service.engine.calendar import Window
from jupyter_funcs.service.engine.calls import CallCancelledError, Query
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine
from jupyter_funcs.service.engine.portable import portable
from jupyter_funcs.service.engine.remote_engine import RemoteEngine
from jupyter_funcs.service.engine.tables import Brand, Cards, Reference
from jupyter_funcs.service.publishing.confinement import WorkerSetup
from jupyter_funcs.service.publishing.registry import Registry
from jupyter_funcs.service.publishing.worker_pool import Workers
from jupyter_funcs.service.web.middleware import ARROW, JSON
from jupyter_funcs.service.web.runs import Limits
from tests.examples import row_id
from tests.service.conftest import RUN, becomes, free_port, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.service.conftest import Wire

P = companies.PANELS[0].name
DEBIT = companies.PANELS[1].name
NVRA = "NVRA US EQUITY"
MCHQ = "MCHQ US EQUITY"
DGVN = "DGVN US EQUITY"
FIRST = date(2023, 6, 1)
TEXTS = ("panel", "symbol", "merchant", "region", "generation")
ABSENT = "{} is absent: it is of the extra 'engines'"
# Text that is code in the SQL of some engine, or in its transport.
ODD = """Q"u'o`t\\'e ${env:HOME} {x:String} %s $1 :n -- /* \N{GRINNING FACE}"""
GROWTH = {"PoPGrowth": "Yes"}
ALL = ["Age Group", "Region", "Brand"]

CASES: list[tuple[str, dict[str, Any]]] = [
    ("Get Panels", {}),
    ("Get Universe", {}),
    ("Get KPIs", {"Symbol": NVRA, "PrimaryOnly": "No"}),
    ("Get Panel Dimensions", {"PanelName": P, "Dimensions": ["Brand"]}),
    ("Get Panel Dimensions", {"PanelName": P, "Dimensions": ["Region", "Age Group"]}),
    ("Get Panel Daily", {"PanelName": P, "Symbol": NVRA}),
    (
        "Get Panel Daily",
        {"PanelName": DEBIT, "Symbol": MCHQ, "Dimensions": ["Region"]} | GROWTH,
    ),
    (
        "Get Panel Daily",
        {"PanelName": P, "Brand": ["Mochandrel", "Doughvane"], "PoPLookback": "2"}
        | GROWTH,
    ),
    ("Get Panel Daily", {"PanelName": P, "Brand": ODD, "Dimensions": ALL} | GROWTH),
    ("Get Panel FQ", {"PanelName": P, "Symbol": NVRA}),
    (
        "Get Panel FQ",
        {"PanelName": P, "Symbol": NVRA, "PeriodToDate": "Yes", "Dimensions": ["Brand"]}
        | GROWTH,
    ),
    (
        "Get Panel FQ",
        {"PanelName": DEBIT, "Brand": "Mochandrel", "UseReportedForCurrentPeriod": "No"}
        | GROWTH,
    ),
    (
        "Get Panel FQ",
        {
            "PanelName": P,
            "Brand": ["Tidewisp", ODD],
            "PeriodToDate": "Yes",
            "Dimensions": ALL,
        },
    ),
    *[
        ("Get Report", {"report_id": "RPT-101", "report_time_unit": unit})
        for unit in ("day", "week", "month")
    ],
    (
        "Get Report",
        {
            "report_id": "RPT-101",
            "report_time_unit": "quarter",
            "brands": ["Doughvane"],
        },
    ),
    (
        "Get Report",
        {
            "report_id": "RPT-101",
            "report_time_after": "2024-02-29",
            "shopper_generation": "Gen Z",
        },
    ),
]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Card spend of three companies, and of an oddly named brand with days without cards or transactions."""
    wanted = [("symbol", "in", [NVRA, MCHQ, DGVN]), ("date", ">=", FIRST)]
    rows = pq.read_table(demo.spend_file(), filters=wanted)
    schema = pa.schema(
        {
            field.name: pa.string() if field.name in TEXTS else field.type
            for field in rows.schema
        }
    )
    rows = rows.cast(schema)
    odd = rows.filter(
        (pc.field("merchant") == "Fennloft") & (pc.field("region") == "Pacific")
    )
    odd = odd.set_column(2, "merchant", pa.array([ODD] * len(odd)))
    for at, every in ((7, 5), (8, 3)):  # transactions, cards
        values = [
            0 if number % every == 0 else value
            for number, value in enumerate(odd[at].to_pylist())
        ]
        odd = odd.set_column(at, schema[at], pa.array(values, schema[at].type))
    path = tmp_path_factory.mktemp("engines") / "cards.parquet"
    pq.write_table(pa.concat_tables([rows, odd]), path)
    return path


@pytest.fixture(scope="module")
def reference() -> Reference:
    demo_reference = companies.reference()
    return dataclasses.replace(
        demo_reference, brands=[*demo_reference.brands, Brand(ODD, NVRA)]
    )


def in_table(*name: str) -> Cards:
    return Cards.parquet(Path())._replace(files=(), table=name)


@contextlib.contextmanager
def sail(port: int = 0) -> Iterator[str]:
    """Run a Spark Connect server and return its URL."""
    spark = pytest.importorskip("pysail.spark", reason=ABSENT.format("Sail"))
    pytest.importorskip("pyspark", reason=ABSENT.format("pyspark-client"))
    with pytest.MonkeyPatch.context() as environment:
        # More threads than it computes in: one has to hear that a query is cancelled.
        environment.setenv("TOKIO_WORKER_THREADS", str(2 * (os.cpu_count() or 1) + 2))
        server = spark.SparkConnectServer("127.0.0.1", port)
        server.start(background=True)
    try:
        yield "sc://{}:{}".format(*server.listening_address)
    finally:
        server.stop()


@contextlib.contextmanager
def clickhouse(stored: Path) -> Iterator[str]:
    """Load card spend into an in-process ClickHouse and return its URL."""
    pytest.importorskip("chdb", reason=ABSENT.format("chdb"))
    driver = pytest.importorskip(
        "clickhouse_connect", reason=ABSENT.format("clickhouse-connect")
    )
    path = stored.with_name("clickhouse")
    with driver.get_client(interface="chdb", path=str(path)) as client:
        client.command("CREATE DATABASE team")
        client.command(
            "CREATE TABLE team.cards ENGINE = MergeTree ORDER BY (panel, symbol, date) "
            f"AS SELECT * FROM file('{stored}', Parquet) SETTINGS schema_inference_make_columns_nullable = 0"
        )
        yield f"clickhouse://localhost/team?interface=chdb&path={path}"


@contextlib.contextmanager
def postgres(stored: Path) -> Iterator[str]:
    """Start a local PostgreSQL, load card spend and return its URL."""
    psycopg = pytest.importorskip("psycopg", reason=ABSENT.format("psycopg"))
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        pytest.skip("PostgreSQL is absent from this machine")
    port = free_port()
    # Not pytest's folder, which only its user can read.
    folder = Path(tempfile.mkdtemp(prefix="jupyter_funcs.postgres."))
    owner: dict[str, Any] = {}
    if os.geteuid() == 0:  # it does not run as root
        shutil.chown(folder, "postgres")
        owner = {"user": "postgres", "cwd": "/"}

    def run(program: str, *arguments: str) -> None:
        command: list[Any] = [programs[-1] / program, "-D", folder / "data", *arguments]
        subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, timeout=60, **owner
        )

    run("initdb", "-U", "team", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
    run("pg_ctl", "-o", options, "-l", str(folder / "log"), "-w", "start")
    try:
        url = f"postgres://team@127.0.0.1:{port}/postgres"
        with psycopg.connect(url, autocommit=True) as con:
            con.execute(
                "CREATE SCHEMA spend; CREATE TABLE spend.cards (panel text, symbol text, merchant text, region text, "
                "generation text, date date, spend_cents bigint, transactions int, cards int)"
            )
            with con.cursor().copy("COPY spend.cards FROM STDIN") as copy:
                for row in zip(
                    *pq.read_table(stored).to_pydict().values(), strict=True
                ):
                    copy.write_row(row)
            con.execute("CREATE INDEX ON spend.cards (symbol, panel, date); ANALYZE")
        yield url
    finally:
        run("pg_ctl", "-m", "immediate", "-w", "stop")
        shutil.rmtree(folder)


@pytest.fixture(scope="module", params=["Spark Connect", "ClickHouse", "PostgreSQL"])
def engine(
    request: pytest.FixtureRequest, stored: Path, reference: Reference
) -> Iterator[RemoteEngine]:
    with contextlib.ExitStack() as stack:
        if request.param == "Spark Connect":
            url = stack.enter_context(sail())
            cards = Cards.parquet(stored)
        elif request.param == "ClickHouse":
            url = stack.enter_context(clickhouse(stored))
            cards = in_table("team", "cards")
        else:
            url = stack.enter_context(postgres(stored))
            cards = in_table("spend", "cards")
        engine = RemoteEngine(url, reference, lambda: cards)
        stack.callback(engine.close)
        engine.open()
        yield engine


@pytest.fixture(scope="module")
def duckdb(stored: Path, reference: Reference) -> DuckDBEngine:
    return DuckDBEngine(reference, lambda: Cards.parquet(stored))


def serve(engine: Any, reference: Reference) -> Wire:
    return serving(
        Registry(card_functions.published(reference, asset="a"), author="t"), engine
    )


@pytest.mark.parametrize(
    ("name", "args"), CASES, ids=[row_id(f"{name} {args}") for name, args in CASES]
)
def test_a_function_answers_the_same_as_on_duckdb(
    engine: RemoteEngine,
    duckdb: DuckDBEngine,
    reference: Reference,
    name: str,
    args: dict[str, Any],
) -> None:
    def ask(database: Any, accept: str) -> Any:
        return serve(database, reference).post(
            RUN, json={"FunctionName": name, "Args": args}, headers={"Accept": accept}
        )

    expected = ask(duckdb, JSON)
    assert expected.json()["error"] is None
    assert expected.json()["body"] != "[]"
    assert ask(engine, JSON).content == expected.content
    result, wanted = (
        pa.ipc.open_stream(ask(database, ARROW).content).read_all()
        for database in (engine, duckdb)
    )
    assert result.equals(wanted)


def test_a_query_is_compiled_once_for_all_texts(
    engine: RemoteEngine, duckdb: DuckDBEngine
) -> None:
    """Each text is inserted as a literal, whatever it looks like."""

    def quarters(database: Any, brand: str, panel: str = P) -> Any:
        call = database.call()
        rows = {"panel": panel, "symbols": (NVRA,), "brands": (brand,)}
        windows = [Window("FQ1 2024", False, FIRST, date(2024, 6, 1), False, ODD)]
        own = {"periods": queries.periods(windows)}
        return call.arrow(Query(queries.panel_fq, ((), True), rows, own))

    assert quarters(engine, "Tidewisp").equals(quarters(duckdb, "Tidewisp"))
    before = dict(engine._shapes)
    for text in (ODD, "O'Brien", "", "\\'", "$symbols_0", "' OR 1 = 1 --"):
        assert quarters(engine, text).equals(quarters(duckdb, text))
        assert not len(quarters(engine, ODD, text))
    assert engine._shapes == before


PUBLISHED = """
import ibis
from jupyter_funcs.service import function

@function(asset="a")
def spend(call, symbol: str):
    cards, companies = call.table("cards"), call.table("companies")
    days = call.fetch(cards.filter(cards.symbol == symbol).date.nunique().name("days").as_table())[0]["days"]
    joined = cards.filter(cards.symbol == symbol).join(companies, cards.symbol == companies.Symbol)
    return joined.group_by("InstrumentName", "region").agg(
        cents=joined.spend_cents.sum(), mean=joined.spend_cents.mean() / 2, days=ibis.literal(days)
    ).order_by("region")

@function(asset="a")
def listed(call):
    return call.table("panels")

@ibis.udf.scalar.builtin
def current_setting(name: str) -> str: ...

@function(asset="a")
def settings(call):
    return call.table("cards").limit(1).select(value=current_setting("port"))

@function(asset="a")
def other(call):
    return ibis.table({"relname": "string"}, name="pg_class", database="pg_catalog")

@function(asset="a")
def large(call):
    own = ibis.memtable({"symbol": [str(number) for number in range(501)]})
    return call.table("cards").semi_join(own, "symbol")

@function(asset="a")
def deep(call):
    reply = call._compiled("rows", call.table("cards").count().name("n").as_table())
    reply.text = "SELECT " + "ARRAY[" * 25 + "1" + "]" * 25 + " AS n"
    call._send(reply)
    return len(call._orders.get())
"""


def test_a_published_file_answers_the_same_as_on_duckdb(
    engine: RemoteEngine, duckdb: DuckDBEngine, reference: Reference, tmp_path: Path
) -> None:
    """Its worker compiles for the engine."""
    (tmp_path / "spend.py").write_text(PUBLISHED)
    with contextlib.closing(
        Workers(WorkerSetup((tmp_path,), reference=reference))
    ) as workers:
        there, here = (
            serving(Registry(workers.load(), author="t"), database)
            for database in (engine, duckdb)
        )
        assert there.rows("Listed") == here.rows("Listed")
        for row, expected in zip(
            *(wire.rows("Spend", symbol=NVRA) for wire in (there, here)), strict=True
        ):
            assert row.pop("mean") == pytest.approx(expected.pop("mean"))
            assert row == expected
        errors = {
            name: there.call(name, {}).json()["error"]
            for name in ("Settings", "Other", "Large")
        }
        assert "can't call 'current_setting'" in errors["Settings"]
        assert "can't read 'pg_catalog.pg_class'" in errors["Other"]
        assert (
            "tables in memory of at most 500 rows. Filter or group yours first, or"
            in errors["Large"]
        )
        hurried = serving(
            Registry(workers.load(), author="t"), engine, limits=Limits(run_seconds=2)
        )
        assert hurried.call("Deep", {}).status_code == 504
        assert becomes(lambda: hurried.app.state.runs.admitted == 0, 60)


def test_reference_data_go_along_where_a_function_joins_them(
    engine: RemoteEngine, duckdb: DuckDBEngine
) -> None:
    def by_sector(database: Any) -> Any:
        call = database.call()
        cards = call.table("cards")
        company_table = call.table("companies")
        joined = cards.join(company_table, cards.symbol == company_table.Symbol)
        spend = joined.group_by("Sector", "FiscalYearEnd").agg(
            Cents=joined.spend_cents.sum(), Days=joined.date.nunique()
        )
        return call.arrow(spend.order_by("FiscalYearEnd"))

    assert by_sector(engine).equals(by_sector(duckdb))
    assert len(by_sector(engine)) == 3


@pytest.mark.parametrize("rows", [0, 1, 3, 1000])
def test_tables_in_memory_go_along(
    engine: RemoteEngine,
    duckdb: DuckDBEngine,
    request: pytest.FixtureRequest,
    rows: int,
) -> None:
    if rows == 1000 and "ClickHouse" in request.node.name:
        pytest.skip("ClickHouse in process takes no tables along")
    texts = [ODD, None, "", "a\nb\tc", "O'Brien"]
    own = pa.table(
        {
            "n": pa.array(range(rows), pa.int64()),
            "symbol": pa.array(([NVRA, MCHQ, DGVN] * rows)[:rows], pa.string()),
            "text": pa.array((texts * rows)[:rows], pa.string()),
            "large": pa.array(
                ([2**62 + 1, None, -(2**63) + 1] * rows)[:rows], pa.int64()
            ),
            "part": pa.array(([0.1, None, -1e300] * rows)[:rows], pa.float64()),
            "day": pa.array(([date(2024, 2, 29), None] * rows)[:rows], pa.date32()),
            "flag": pa.array(([True, False, None] * rows)[:rows], pa.bool_()),
        }
    )

    def joined(database: Any) -> pa.Table:
        call = database.call()
        cards = call.table("cards")
        mine = ibis.memtable(own)
        sums = cards.group_by("symbol").agg(days=cards.date.nunique())
        return call.arrow(mine.inner_join(sums, "symbol").order_by("n"))

    result = joined(engine)
    assert result.equals(joined(duckdb))
    assert result.select(own.column_names).equals(own)


def test_fractions_are_doubles_wherever_they_stand(
    engine: RemoteEngine, duckdb: DuckDBEngine
) -> None:
    def ratios(database: Any) -> Any:
        call = database.call()
        cards = call.table("cards")
        sums = cards.group_by("symbol").agg(
            t=cards.transactions.sum(),
            c=cards.cards.sum(),
            mean=cards.cards.mean(),
            deviation=cards.cards.std(),
        )
        ratios_of_sums = sums.select(
            "symbol",
            "t",
            "mean",
            "deviation",
            q=sums.t / sums.c,
            u=1 / sums.c,
            h=sums.t * 0.5,
        )
        return call.fetch(ratios_of_sums.order_by("symbol"))

    rows = ratios(engine)
    for row, expected in zip(rows, ratios(duckdb), strict=True):
        # A deviation is a sum of fractions; its last digits depend on the order of adding.
        assert row.pop("deviation") == pytest.approx(
            expected.pop("deviation"), rel=1e-12
        )
        assert {type(value) for value in row.values()} == {str, int, float}
        assert row == expected
        assert row["q"] % 1


def test_threads_get_the_answers_that_they_would_get_alone(
    engine: RemoteEngine,
) -> None:
    def count(symbol: str) -> Any:
        call = engine.call()
        cards = call.table("cards")
        rows = cards.filter(cards.symbol == symbol)
        return call.fetch(rows.agg(n=rows.count(), cents=rows.spend_cents.sum()))

    symbols = [NVRA, MCHQ, DGVN]
    alone = {symbol: count(symbol) for symbol in symbols}
    assert len(str(alone)) > 60
    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(count, symbols * 6)) == [
            alone[symbol] for symbol in symbols * 6
        ]


def lengthy(call: Any, engine: str) -> Any:
    """Return a query of a minute or more; of two seconds for ClickHouse, which can't be interrupted."""
    cards = call.table("cards")
    pairs = cards.limit(100_000).cross_join(
        cards.view().select(other="cards").limit(1000)
    )
    times = {"Spark Connect": 100, "ClickHouse": 1, "PostgreSQL": 10}[engine]
    pairs = pairs.cross_join(cards.view().select(third="cards").limit(times))
    return pairs.agg(n=(pairs.spend_cents % (pairs.other + pairs.third + 7)).sum())


def test_a_cancelled_call_ends_and_no_other(
    engine: RemoteEngine, request: pytest.FixtureRequest
) -> None:
    call = engine.call()
    query = lengthy(call, request.node.callspec.params["engine"])
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(call.fetch, query)
        time.sleep(0.3)
        assert not running.done()
        call.cancel()
        # ClickHouse in process is not stopped: its query runs to its end, which takes long on a busy machine.
        seconds = 120 if "ClickHouse" in request.node.name else 60
        assert isinstance(running.exception(seconds), CallCancelledError)
    assert call.cancelled
    after = engine.call()
    [row] = after.fetch(after.table("cards").agg(n=after.table("cards").count()))
    assert row["n"] > 100_000


def test_a_call_cancelled_before_its_query_never_starts_it(
    engine: RemoteEngine, request: pytest.FixtureRequest
) -> None:
    call = engine.call()
    query = lengthy(call, request.node.callspec.params["engine"])
    call.cancel()
    with pytest.raises(CallCancelledError):
        call.fetch(query)
    with pytest.raises(CallCancelledError):
        call.arrow(call.table("panels"))


def test_connections_are_kept_while_they_are_in_use_and_not_longer(
    engine: RemoteEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def backend() -> Any:
        with engine.connections.borrow() as connection:
            return connection.backend

    assert backend() is backend()
    with contextlib.suppress(ZeroDivisionError), engine.connections.borrow() as failed:
        raise ZeroDivisionError
    monkeypatch.setattr(remote_engine, "_MOST_IDLE_SECONDS", -1)
    assert backend() is not failed.backend
    assert backend() is not backend()


def test_a_lost_engine_fails_the_run_with_a_message_and_is_reconnected(
    stored: Path, reference: Reference
) -> None:
    port = free_port()
    engine = RemoteEngine(
        f"sc://127.0.0.1:{port}", reference, lambda: Cards.parquet(stored)
    )
    wire = serve(engine, reference)
    args: Any = {"report_id": "RPT-101"}
    with sail(port):
        expected = wire.rows("Get Report", **args)
    for _ in range(2):  # on a connection that was kept, and on a new one
        reply = wire.call("Get Report", args)
        assert reply.status_code == 200
        assert reply.json()["body"] is None
    assert (
        reply.json()["error"]
        == "Get Report failed: The engine doesn't answer. Try again in a moment."
    )
    assert wire.rows("Get Panels")
    with sail(port):
        assert wire.rows("Get Report", **args) == expected
    engine.close()


UNREACHABLE = [
    ("spark://host:7077", "'spark://host:7077' is not supported"),
    ("clickhose://u:s3cret@host", "Did you mean 'clickhouse'?"),
    ("host:15002", "is not supported"),
    ("", "is not supported"),
    (
        "sc://127.0.0.1:{port}",
        "'sc://127.0.0.1:{port}' cannot be reached: failed to connect",
    ),
    ("sc://127.0.0.1:{port}/;token=s3cret;user_id=me", "cannot be reached"),
    ("sc://127.0.0.1:{port}/?token=s3cret", "cannot be reached"),
    (
        "clickhouse://team:s3cret@127.0.0.1:{port}/db",
        "'clickhouse://127.0.0.1:{port}/db' cannot be reached",
    ),
    (
        "postgres://team:s3cret@127.0.0.1:{port}/db",
        "'postgres://127.0.0.1:{port}/db' cannot be reached",
    ),
    ("postgres://127.0.0.1:{port}/db?user=me&password=s3cret", "cannot be reached"),
    ("exasol://team:s3cret@127.0.0.1:{port}", "pip install 'ibis-framework[exasol]'"),
]


@pytest.mark.parametrize(
    ("url", "words"),
    UNREACHABLE,
    ids=[row_id(url) for url, _ in UNREACHABLE],
)
def test_an_engine_that_cannot_be_opened_is_named_in_three_lines_without_its_password(
    reference: Reference, stored: Path, url: str, words: str
) -> None:
    for scheme, library in (
        ("sc:", "pyspark"),
        ("clickhouse:", "clickhouse_connect"),
        ("postgres:", "psycopg"),
    ):
        if url.startswith(scheme):
            pytest.importorskip(library, reason=ABSENT.format(library))
    port = free_port()
    with pytest.raises(SetupError) as raised:
        RemoteEngine(
            url.format(port=port), reference, lambda: Cards.parquet(stored)
        ).open()
    message = str(raised.value)
    assert words.format(port=port) in message
    assert len(message.splitlines()) <= 3
    assert "s3cret" not in message
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


def test_data_that_an_engine_does_not_have_are_named_in_three_lines(
    engine: RemoteEngine, reference: Reference, stored: Path
) -> None:
    url = engine._address.url
    spark = url.startswith("sc:")
    mapped = Cards.parquet(stored) if spark else in_table(*engine._find_cards().table)
    cases = {
        "no_such_table": in_table("no_such_table"),
        "no_such_schema.cards": in_table("no_such_schema", "cards"),
        "no_such_column": mapped._replace(
            columns={**mapped.columns, "date": "no_such_column"}
        ),
        "no_such.parquet": Cards.parquet(Path("/no_such.parquet")),
    }
    for words, cards in cases.items():
        with pytest.raises(SetupError) as raised:
            RemoteEngine(url, reference, lambda cards=cards: cards).open()  # type: ignore[misc]
        assert words in str(raised.value)
        assert len(str(raised.value).splitlines()) <= 3


URLS = [
    ("sc://host:15002", "'sc://host:15002'", ""),
    ("sc://host/;use_ssl=true;token=s3cret", "'sc://host/'", "s3cret"),
    (
        "trino://me:s3cret@host:8080/hive/default",
        "'trino://host:8080/hive/default'",
        "s3cret",
    ),
    (
        "postgres://me:s3cret@[::1]:5432/db?sslmode=require",
        "'postgres://[::1]:5432/db'",
        "s3cret",
    ),
    ("postgres://me:s3%2Fc%40ret@host/db", "'postgres://host/db'", "s3/c@ret"),
    ("postgres://me:s3c#ret@host/db", "'postgres://…'", "s3c#ret"),
    ("postgres://me:s3c/ret@host/db", "'postgres://…'", "s3c/ret"),
    ("postgres://me:s3c?ret@host/db", "'postgres://…'", "s3c?ret"),
    ("postgres://host/db?user=a@b&password=s3cret", "'postgres://…'", "s3cret"),
    ("me:s3cret@host", "'://…'", ""),
]


@pytest.mark.parametrize(
    ("url", "shown", "secret"),
    URLS,
    ids=[row_id(url) for url, *_ in URLS],
)
def test_no_message_about_a_url_has_its_password(
    url: str, shown: str, secret: str
) -> None:
    address = EngineURL(url)
    assert str(address) == shown
    assert url not in repr(address)
    assert (
        address.reason(RuntimeError("no route to host\nand more")) == "no route to host"
    )
    if secret:
        for message in (
            f"cannot connect to {url!r}",
            f"FATAL: '{secret}' is not the password of me",
        ):
            assert secret not in address.reason(RuntimeError(message))
            assert "…" in address.reason(RuntimeError(message))


def test_interrupts_stop_when_the_query_has_ended(engine: RemoteEngine) -> None:
    call = engine.call()
    cards = call.table("cards")
    call.fetch(cards.agg(n=cards.count()))
    call.cancel()
    # A thread from an earlier test may still be ending.
    assert becomes(
        lambda: (
            "interrupt a query" not in {thread.name for thread in threading.enumerate()}
        )
    )


def test_casts_of_divisions_do_not_get_lost_on_their_way_to_sql(
    reference: Reference,
) -> None:
    from ibis.backends.sql.compilers.postgres import compiler

    spend = ibis.table({"t": "int64", "c": "int64"}, name="spend")
    ratios = spend.select(
        "t",
        "c",
        q=spend.t / spend.c.nullif(0),
        r=spend.c / spend.t,
        s=(spend.t / 100) / spend.c,
    )
    # Like ibis's backends, which don't copy the tree.
    sql = compiler.to_sqlglot(portable(ratios, reference)).sql("postgres", copy=False)
    assert sql.count('CAST("t0"."t" AS DOUBLE PRECISION)') == 2
    assert sql.count('CAST("t0"."c" AS DOUBLE PRECISION)') == 1

"""
The service's queries, its listing and its wire against what a person would write instead.

    python -m tests.benchmarks.service            # all parts, about eight minutes
    python -m tests.benchmarks.service daily fq   # some of them

The parts are daily, fq, cold, frame, rows, own, engines, processes, listing and http.

Each part runs in a process of its own, both sides in turn, and prints medians, their ratio, the ratio that
PERFORMANCE.md aims at, and the most memory that the process held. What is generated is deleted. No test runs this.
"""
# ruff: noqa: T201 - it prints a table

from __future__ import annotations

import dataclasses
import importlib
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import httpx
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from jupyter_funcs.service.accounts.account_records import Asset
from jupyter_funcs.service.builtin import card_functions, companies, demo, synthesis
from jupyter_funcs.service.config import settings, team_data
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine
from jupyter_funcs.service.engine.remote_engine import RemoteEngine
from jupyter_funcs.service.engine.tables import Cards
from jupyter_funcs.service.publishing.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    Rows = list[dict[str, Any]]

PANEL = "Demo Card Panel"
SYMBOL = "BKQU US EQUITY"

DAILY = """
WITH days AS (
    SELECT date, sum(spend_cents){kind} / 100 AS spend, sum(transactions){kind} AS transactions,
        sum(cards){kind} AS cards
    FROM cards WHERE panel = $panel AND symbol = $symbol GROUP BY date
)
SELECT
    a.date AS "Date",
    a.spend AS "Spend", a.spend / nullif(b.spend, 0) - 1 AS "Spend Growth",
    a.transactions AS "Transaction Count", a.transactions / nullif(b.transactions, 0) - 1 AS "Transaction Count Growth",
    a.transactions / nullif(a.cards, 0) AS "Transactions per Card",
    (a.transactions / nullif(a.cards, 0)) / nullif(b.transactions / nullif(b.cards, 0), 0) - 1
        AS "Transactions per Card Growth",
    a.cards AS "Cardholder Count", a.cards / nullif(b.cards, 0) - 1 AS "Cardholder Count Growth",
    a.spend / nullif(a.transactions, 0) AS "Spend per Transaction",
    (a.spend / nullif(a.transactions, 0)) / nullif(b.spend / nullif(b.transactions, 0), 0) - 1
        AS "Spend per Transaction Growth",
    a.spend / nullif(a.cards, 0) AS "Spend per Card",
    (a.spend / nullif(a.cards, 0)) / nullif(b.spend / nullif(b.cards, 0), 0) - 1 AS "Spend per Card Growth"
FROM days a LEFT JOIN days b ON b.date = a.date - 364 ORDER BY a.date
"""
"""Get Panel Daily with growth, as a person would write it for DuckDB."""

# Who writes this knows the quarters already: the service finds them from the first and the last day with data.
QUARTERS = """
WITH days AS (
    SELECT date, sum(spend_cents)::BIGINT AS cents, sum(transactions)::BIGINT AS transactions,
        sum(transactions) / nullif(sum(cards), 0) AS per_card
    FROM cards WHERE panel = $panel AND symbol = $symbol GROUP BY date
), sums AS (
    SELECT PeriodLabel, PeriodToDate, PeriodStartDate, PeriodEndDate, IsCurrentQuarter, compared,
        sum(cents)::BIGINT / 100 AS spend, sum(transactions)::BIGINT AS transactions, avg(per_card) AS per_card,
        sum(transactions)::BIGINT / nullif(avg(per_card), 0) AS cardholders
    FROM days JOIN periods ON date BETWEEN PeriodStartDate AND PeriodEndDate GROUP BY ALL
)
SELECT a.PeriodLabel, a.PeriodToDate, a.PeriodStartDate, a.PeriodEndDate, a.IsCurrentQuarter,
    a.spend AS "Spend", a.spend / nullif(b.spend, 0) - 1 AS "Spend Growth",
    a.transactions AS "Transaction Count", a.transactions / nullif(b.transactions, 0) - 1 AS "Transaction Count Growth",
    a.per_card AS "Transactions per Card", a.per_card / nullif(b.per_card, 0) - 1 AS "Transactions per Card Growth",
    a.cardholders AS "Cardholder Count", a.cardholders / nullif(b.cardholders, 0) - 1 AS "Cardholder Count Growth",
    a.spend / nullif(a.transactions, 0) AS "Spend per Transaction",
    (a.spend / nullif(a.transactions, 0)) / nullif(b.spend / nullif(b.transactions, 0), 0) - 1
        AS "Spend per Transaction Growth",
    a.spend / nullif(a.cardholders, 0) AS "Spend per Card",
    (a.spend / nullif(a.cardholders, 0)) / nullif(b.spend / nullif(b.cardholders, 0), 0) - 1 AS "Spend per Card Growth"
FROM sums a LEFT JOIN sums b ON a.compared = b.PeriodLabel AND a.PeriodToDate = b.PeriodToDate
ORDER BY a.PeriodToDate, a.PeriodStartDate
"""


class Measured(NamedTuple):
    """Two sides of a comparison, in milliseconds."""

    what: str
    ours: float
    peer: str = ""
    theirs: float | None = None
    target: float | None = None


def medians(
    times: int,
    *sides: Callable[[], object],
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Run all sides in turn and return the median of each, in milliseconds; the first round does not count."""
    taken: list[list[float]] = [[] for _ in sides]
    for _ in range(times + 1):
        for side, times_of_side in zip(sides, taken, strict=True):
            began = clock()
            side()
            times_of_side.append((clock() - began) * 1000)
    return [statistics.median(times_of_side[1:]) for times_of_side in taken]


def demo_engine() -> DuckDBEngine:
    return DuckDBEngine(companies.reference(), demo.cards)


def fetched(engine: DuckDBEngine, symbol: str = SYMBOL) -> Rows:
    """Run Get Panel Daily with growth as the service does, from the arguments to the records."""
    call = engine.call()
    return call.fetch(
        card_functions.get_panel_daily(call, PANEL, symbol, PoPGrowth="Yes")
    )


def quarters(engine: DuckDBEngine) -> Any:
    call = engine.call()
    return card_functions.get_panel_fq(
        call, PANEL, SYMBOL, PoPGrowth="Yes", PeriodToDate="Yes"
    )


class Raw:
    """DuckDB with nothing around it: a connection kept open, a cursor a query, records as dictionaries."""

    def __init__(
        self,
        path: Path,
        *,
        tuned: bool = False,
        panel: str = PANEL,
        symbol: str = SYMBOL,
    ) -> None:
        self._values = {"panel": panel, "symbol": symbol}
        self._con = duckdb.connect()
        if tuned:
            self._con.execute("SET GLOBAL parquet_metadata_cache = true")
        self._con.execute(f"CREATE VIEW cards AS FROM read_parquet('{path}')")

    def __call__(self, sql: str, **tables: pa.Table) -> Rows:
        with self._con.cursor() as cursor:
            for name, table in tables.items():
                cursor.register(name, table)
            cursor.execute(sql, self._values)
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def daily() -> list[Measured]:
    """Compare the daily query with growth, warm."""
    path = demo.spend_file()
    engine = demo_engine()
    raw = Raw(path)
    tuned = Raw(path, tuned=True)
    plain = DAILY.format(kind="")
    typed = DAILY.format(kind="::BIGINT")
    assert fetched(engine) == raw(plain) == tuned(typed)
    call = engine.call()
    query = card_functions.get_panel_daily(call, PANEL, SYMBOL, PoPGrowth="Yes")
    ours, arrow, theirs, best = medians(
        60,
        lambda: fetched(engine),
        lambda: engine.call().arrow(query),
        lambda: raw(plain),
        lambda: tuned(typed),
    )
    what = "daily, one symbol, growth"
    expert = "sums as BIGINT, metadata cached"
    return [
        Measured(what, ours, "raw DuckDB SQL", theirs, 1.3),
        Measured(what, ours, f"raw, {expert}", best, 1.3),
        Measured(f"{what}, as Arrow", arrow, f"raw, {expert}, to records", best),
    ]


def fq() -> list[Measured]:
    """Compare the query by fiscal quarter with growth and rows to date, warm."""
    engine = demo_engine()
    raw = Raw(demo.spend_file(), tuned=True)
    query = quarters(engine)
    periods = query.tables["periods"]
    ours = engine.call().fetch(query)
    theirs = raw(QUARTERS, periods=periods)
    assert [list(row) for row in ours] == [list(row) for row in theirs]
    assert [row["Spend"] for row in ours] == [row["Spend"] for row in theirs]
    whole, part, peer = medians(
        40,
        lambda: engine.call().fetch(quarters(engine)),
        lambda: engine.call().fetch(query),
        lambda: raw(QUARTERS, periods=periods),
    )
    return [
        Measured(
            "quarters, to date, growth",
            whole,
            "raw DuckDB SQL, given the quarters",
            peer,
            1.3,
        ),
        Measured(
            "the same without finding the quarters",
            part,
            "raw DuckDB SQL, given the quarters",
            peer,
        ),
    ]


def cold() -> list[Measured]:
    """Compare a process that starts, asks once and ends."""
    path = demo.spend_file()
    ours = """
from jupyter_funcs.service.builtin import companies, demo, card_functions
call = demo.DuckDBEngine(companies.reference(), demo.cards).call()
daily = card_functions.get_panel_daily(call, "Demo Card Panel", "BKQU US EQUITY", PoPGrowth="Yes")
assert len(call.fetch(daily)) == 1826
"""
    theirs = f"""
import duckdb
con = duckdb.connect()
con.execute("CREATE VIEW cards AS FROM read_parquet('{path}')")
con.execute({DAILY.format(kind="")!r}, {{"panel": "Demo Card Panel", "symbol": "BKQU US EQUITY"}})
assert len(con.fetchall()) == 1826
"""
    called = """
import jupyter_funcs as jf
daily = jf.connect()["Get Panel Daily"].with_options(cache=False)
assert len(daily(PanelName="Demo Card Panel", Symbol="BKQU US EQUITY", PoPGrowth="Yes")) == 1826
"""
    listing = "import jupyter_funcs as jf; assert jf.connect().names"
    count = f"import sys; {listing}; print(len(sys.modules))"
    modules = int(
        subprocess.run(
            [sys.executable, "-c", count], check=True, capture_output=True
        ).stdout
    )
    sides = ours, theirs, called, theirs.replace("con.fetchall()", "con.df()"), listing
    with tempfile.TemporaryDirectory() as compiled:
        # The first round compiles all modules, as pip does: what a clone's processes compile again isn't measured.
        env = os.environ | {
            "PYTHONPYCACHEPREFIX": compiled,
            "PYTHONDONTWRITEBYTECODE": "",
        }

        def run(code: str) -> Callable[[], object]:
            return lambda: subprocess.run(
                [sys.executable, "-c", code], check=True, env=env
            )

        first, peer, whole, frame, shown = medians(
            7, *map(run, sides), clock=_processor_seconds
        )
    return [
        Measured(
            "a process: start, ask, end (processor)", first, "raw DuckDB SQL", peer, 1.5
        ),
        Measured(
            "a process: connect, run, frame (processor)",
            whole,
            "raw DuckDB SQL to a frame",
            frame,
            1.5,
        ),
        Measured(f"import, list, end: {modules} of 450 modules (processor)", shown),
    ]


def _processor_seconds() -> float:
    """Return what the processes that have ended took of the processor: a busy machine changes it least."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


LARGE = """
WITH days AS (
    SELECT date, generation, region, merchant, sum(spend_cents)::BIGINT / 100 AS spend,
        sum(transactions)::BIGINT AS transactions, sum(cards)::BIGINT AS cards
    FROM cards WHERE panel = $panel AND symbol = $symbol GROUP BY ALL
)
SELECT date AS "Date", generation AS "Age Group", region AS "Region", merchant AS "Brand", spend AS "Spend",
    transactions AS "Transaction Count", transactions / nullif(cards, 0) AS "Transactions per Card",
    cards AS "Cardholder Count", spend / nullif(transactions, 0) AS "Spend per Transaction",
    spend / nullif(cards, 0) AS "Spend per Card"
FROM days ORDER BY ALL
"""


def frame() -> list[Measured]:
    """Compare a call of the embedded service, to its frame, with DuckDB to Arrow to pandas."""
    import jupyter_funcs as jf

    function = jf.connect()["Get Panel Daily"].with_options(cache=False)
    args = {
        "PanelName": PANEL,
        "Symbol": "STMQ US EQUITY",
        "Dimensions": ["Age Group", "Region", "Brand"],
    }
    con = duckdb.connect()
    con.execute(f"CREATE VIEW cards AS FROM read_parquet('{demo.spend_file()}')")

    def raw() -> Any:
        return (
            con.execute(LARGE, {"panel": PANEL, "symbol": args["Symbol"]})
            .to_arrow_table()
            .to_pandas()
        )

    assert function(**args).shape == raw().shape
    ours, theirs = medians(5, lambda: function(**args), raw)
    return [
        Measured(
            f"{len(raw()):,} rows, embedded, call to frame",
            ours,
            "DuckDB, Arrow, pandas",
            theirs,
            2,
        )
    ]


def rows() -> list[Measured]:
    """Compare fifty million rows with five million of the same shape."""
    with tempfile.TemporaryDirectory(prefix="funcs-benchmark-") as folder:
        files = {copies: Path(folder) / f"{copies}.parquet" for copies in (1, 10)}
        fewer, more = (
            f"{generate(path, copies) / 1e6:.1f} million rows"
            for copies, path in files.items()
        )
        small, large = (engine_over(path) for path in files.values())
        symbol = f"{SYMBOL} 0"
        assert fetched(small, symbol) == fetched(large, symbol) != []
        ours, theirs = medians(
            80, lambda: fetched(large, symbol), lambda: fetched(small, symbol)
        )
        for engine in (small, large):
            engine.close()
    return [Measured(f"daily, of {more}", ours, fewer, theirs, 1.5)]


OWN_CONFIGURATION = """
organisation = "Acme"
[data]
parquet = "{path}"
[data.columns]
date = "day"
symbol = "ticker"
spend = "usd"
transactions = "tx"
cards = "accounts"
[data.dimensions]
Brand = "brand"
Region = "state"
[data.calendar]
rule = "December"
"""
OWN_ROWS = """
COPY (
    SELECT 'S' || lpad(s::text, 5, '0') || ' US EQUITY' AS ticker, date '2020-01-01' + d::int AS day,
        'Brand ' || s || '-' || b AS brand, 'State ' || r AS state,
        hash(s * 1000003 + d * 31 + b * 7 + r) % 1000000 / 100.0::DOUBLE AS usd,
        (hash(s + d * 17 + b * 5 + r) % 500 + 1)::BIGINT AS tx,
        (hash(s * 3 + d + b + r * 11) % 300 + 1)::BIGINT AS accounts
    FROM range({symbols}) t(s), range(1460) u(d), range(2) v(b), range(4) w(r) ORDER BY ticker, day
) TO '{path}'
"""


def own() -> list[Measured]:
    """Compare the daily query with growth over a team's own files, whose columns are mapped, with DuckDB's SQL."""
    return [_own(millions) for millions in (1, 20)]


def _own(millions: int) -> Measured:
    with tempfile.TemporaryDirectory(prefix="funcs-benchmark-") as folder:
        path = Path(folder) / "own.parquet"
        config = Path(folder) / "service.toml"
        duckdb.sql(
            OWN_ROWS.format(symbols=millions * 1_000_000 // (1460 * 8), path=path)
        )
        config.write_text(OWN_CONFIGURATION.format(path=path), encoding="utf-8")
        read = settings.load(config)
        assert read.data
        reference, cards = team_data.load(read, read.data)
        engine = DuckDBEngine(reference, cards)
        panel = reference.panels[0].name
        symbol = reference.companies[len(reference.companies) // 2].symbol
        raw = Raw(path, tuned=True, panel=panel, symbol=symbol)
        sql = DAILY.format(kind="::BIGINT")
        for before, after in {
            "SELECT date,": "SELECT day AS date,",
            "spend_cents": "floor(usd * 100 + 0.5)::BIGINT",
            "sum(transactions)": "sum(tx)",
            "sum(cards)": "sum(accounts)",
            "panel = $panel AND symbol": f"'{panel}' = $panel AND ticker",
            "GROUP BY date": "GROUP BY day",
        }.items():
            sql = sql.replace(before, after)

        def ours() -> Rows:
            call = engine.call()
            return call.fetch(
                card_functions.get_panel_daily(call, panel, symbol, PoPGrowth="Yes")
            )

        def theirs() -> Rows:
            return raw(sql)

        assert ours() == theirs()
        first, second = medians(40, ours, theirs)
        engine.close()
    return Measured(
        f"own data of {millions} million rows, daily, growth",
        first,
        "raw DuckDB SQL",
        second,
        1.5,
    )


def engine_over(path: Path) -> DuckDBEngine:
    return DuckDBEngine(companies.reference(), lambda: Cards.parquet(path))


def generate(path: Path, copies: int) -> int:
    """Write the card spend of 19 companies as many times over, sorted as the demo's; return the number of rows."""
    profiles = [
        profile for profile in companies.PROFILES if profile.company.symbol == SYMBOL
    ]
    profiles += [
        profile for profile in companies.PROFILES if profile.company.symbol != SYMBOL
    ][:18]
    symbols = sorted(
        (f"{profile.company.symbol} {copy}", copy, profile)
        for profile in profiles
        for copy in range(copies)
    )
    count = 0
    with pq.ParquetWriter(path, synthesis._CARDS, compression="snappy") as writer:
        for panel, name in enumerate(companies.PANELS):
            spend = {
                profile.company.symbol: synthesis.card_spend(panel, profile)
                for profile in profiles
            }
            for symbol, copy, profile in symbols:
                own = dict(spend[profile.company.symbol])
                own["spend_cents"] = own["spend_cents"] + copy
                renamed = profile._replace(
                    company=profile.company._replace(symbol=symbol)
                )
                table = synthesis._cards_table(name.name, renamed, own)
                writer.write_table(table, row_group_size=synthesis._ROWS_PER_GROUP)
                count += len(table)
    return count


def engines() -> list[Measured]:
    """Compare daily rows and quarters on PostgreSQL and on ClickHouse in process with SQL written for these."""
    from tests.service.engine import test_engines

    measured = []
    with tempfile.TemporaryDirectory(prefix="funcs-benchmark-") as folder:
        stored = Path(folder) / "cards.parquet"
        rows = pq.read_table(
            demo.spend_file(), filters=[("symbol", "in", [SYMBOL, "NVRA US EQUITY"])]
        )
        texts = {
            column.name: pa.string()
            for column in rows.schema
            if pa.types.is_dictionary(column.type)
        }
        schema = pa.schema(
            {column.name: texts.get(column.name, column.type) for column in rows.schema}
        )
        pq.write_table(rows.cast(schema), stored)
        for name, start, table in (
            ("PostgreSQL", test_engines.postgres, ("spend", "cards")),
            ("ClickHouse", test_engines.clickhouse, ("team", "cards")),
        ):
            with start(stored) as url:
                cards = Cards.parquet(stored)._replace(files=(), table=table)
                engine = RemoteEngine(
                    url, companies.reference(), lambda cards=cards: cards
                )  # type: ignore[misc]
                measured += _measured_on(name, engine, ".".join(table))
                engine.close()
    return measured


# What a person would write on another engine, before the last part of the two above.
ELSEWHERE = """
WITH counted AS (
    SELECT date, sum(spend_cents) AS c, sum(transactions) AS n, sum(cards) AS k
    FROM {table} WHERE panel = '{panel}' AND symbol = '{symbol}' GROUP BY date
), days AS (
    SELECT date, CAST(c AS DOUBLE PRECISION) / 100 AS spend, CAST(n AS DOUBLE PRECISION) AS transactions,
        CAST(k AS DOUBLE PRECISION) AS cards
    FROM counted
)"""
QUARTERS_ELSEWHERE = """, periods AS (SELECT * FROM {periods}), sums AS (
    SELECT PeriodLabel, PeriodToDate, PeriodStartDate, PeriodEndDate, IsCurrentQuarter, compared,
        sum(days.spend) AS spend, sum(days.transactions) AS transactions,
        avg(days.transactions / nullif(days.cards, 0)) AS per_card,
        sum(days.transactions) / nullif(avg(days.transactions / nullif(days.cards, 0)), 0) AS cardholders
    FROM days JOIN periods ON date >= PeriodStartDate AND date <= PeriodEndDate
    GROUP BY PeriodLabel, PeriodToDate, PeriodStartDate, PeriodEndDate, IsCurrentQuarter, compared
)"""


def _measured_on(name: str, engine: RemoteEngine, table: str) -> list[Measured]:
    """Compare the service on an engine with SQL written for it and sent by its driver; the quarters are given."""

    def cell(value: Any) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        return f"DATE '{value}'" if isinstance(value, date) else f"'{value}'"

    periods_table = quarters(engine).tables["periods"]
    rows = ", ".join(
        f"({', '.join(map(cell, row.values()))})" for row in periods_table.to_pylist()
    )
    names = periods_table.column_names
    kinds = zip(
        names, ("String", "Bool", "Date32", "Date32", "Bool", "String"), strict=True
    )
    is_clickhouse = name == "ClickHouse"
    periods = f"(VALUES {rows}) AS given({', '.join(names)})"
    if is_clickhouse:
        periods = f"values('{', '.join(map(' '.join, kinds))}', {rows})"
    head = ELSEWHERE.format(table=table, panel=PANEL, symbol=SYMBOL)
    statements = {
        "daily": head + DAILY[DAILY.index("SELECT\n    a.date") :],
        "quarters": head
        + QUARTERS_ELSEWHERE.format(periods=periods)
        + QUARTERS[QUARTERS.index("SELECT a.PeriodLabel") :],
    }
    with engine.connections.borrow() as connection:
        driver: Any = connection.backend.con

    def written(sql: str) -> Any:
        if is_clickhouse:
            return driver.query(sql).result_rows
        return driver.execute(sql).fetchall()

    ours: dict[str, Callable[[], Any]] = {
        "daily": lambda: fetched(engine),
        "quarters": lambda: engine.call().fetch(quarters(engine)),
    }
    measured = []
    for part, sql in statements.items():
        assert len(ours[part]()) == len(written(sql)) > 0
        first, second = medians(20, ours[part], partial(written, sql))
        measured.append(
            Measured(f"{part}, growth, on {name}", first, "SQL by hand", second, 2)
        )
    return measured


def listing() -> list[Measured]:
    """Measure the listing of ten thousand functions: made and encoded, and once more."""
    reference = companies.reference()
    built_in = card_functions.published(reference, asset="a")
    published = [
        dataclasses.replace(function, name=f"{function.name} {number}")
        for number in range(1429)
        for function in built_in
    ][:10_000]
    registry = Registry(published, author="t")
    assets = [Asset(1, "a", "t", is_shared=True)]

    def encoded() -> bytes:
        return msgspec.json.encode(registry.listing(assets, reference))

    from tests.service.conftest import LIST, serving

    wire = serving(registry, demo_engine())

    def size_of_reply() -> int:
        return len(wire.post(LIST, json={}).content)

    size = size_of_reply()
    first, again = medians(10, encoded, size_of_reply)
    return [
        Measured(
            f"listing of {len(published)} functions, made ({size / 1e6:.1f} MB)", first
        ),
        Measured("the same, asked for again", again),
    ]


def processes() -> list[Measured]:
    """Compare what a call takes of the processors in two processes with one, with eight callers at a time."""
    from tests.service.conftest import PANELS, RUN
    from tests.service.server.test_processes import children, started
    from tests.service.server.test_serving import bearer, command, with_state

    def cost(count: int) -> float:
        with (
            tempfile.TemporaryDirectory(prefix="funcs-benchmark-") as folder,
            started(Path(folder), "--processes", str(count)) as service,
        ):
            token = command(
                with_state(Path(folder)), "token", "--user", "analyst", "--hours", "1"
            )
            parent = service.process.pid

            def used() -> float:
                seconds = 0.0
                for process in children(parent) if count > 1 else [parent]:
                    facts = (
                        Path(f"/proc/{process}/stat")
                        .read_text("ascii")
                        .rpartition(")")[2]
                        .split()
                    )
                    seconds += (int(facts[11]) + int(facts[12])) / os.sysconf(
                        "SC_CLK_TCK"
                    )
                return seconds

            def call(times: int) -> None:
                with httpx.Client(
                    base_url=service.address, headers=bearer(token)
                ) as client:
                    for _ in range(times):
                        assert (
                            client.post(RUN, json=PANELS, timeout=120).status_code
                            == 200
                        )

            with ThreadPoolExecutor(8) as callers:
                list(callers.map(call, [20] * 8))
                began = used()
                list(callers.map(call, [400] * 8))
            return (used() - began) * 1000 / 3200

    in_two, in_one = (
        statistics.median(costs)
        for costs in zip(*((cost(2), cost(1)) for _ in range(5)), strict=True)
    )
    return [
        Measured("a call in two processes (processor)", in_two, "in one", in_one, 1.25)
    ]


PARTS: dict[str, Callable[[], list[Measured]]] = {
    "daily": daily,
    "fq": fq,
    "cold": cold,
    "frame": frame,
    "rows": rows,
    "own": own,
    "engines": engines,
    "processes": processes,
    "listing": listing,
}


def measured(part: str) -> tuple[list[Measured], float]:
    """Run a part, and return what it found and the most memory that its process held, in MB."""
    measurements = PARTS[part]()
    whose = resource.RUSAGE_CHILDREN if part == "cold" else resource.RUSAGE_SELF
    return measurements, resource.getrusage(whose).ru_maxrss / 1024


def main(parts: list[str]) -> int:
    """Run some parts, or all, and print the table; returns the status of the process."""
    print(f"{'':52}{'median':>10}{'peer':>10}{'ratio':>7}{'target':>8}{'peak':>9}")
    context = multiprocessing.get_context("spawn")
    for part in parts or PARTS:
        if part not in PARTS:
            continue
        with ProcessPoolExecutor(1, mp_context=context) as process:
            measurements, peak = process.submit(measured, part).result()
        for row in measurements:
            line = f"{row.what:52}{row.ours:7.1f} ms"
            if row.theirs is not None:
                target = f"{row.target:.1f}" if row.target else ""
                line += f"{row.theirs:7.1f} ms{row.ours / row.theirs:7.2f}{target:>8}"
            print(
                f"{line:87}{peak:6.0f} MB  {row.peer and 'against ' + row.peer}",
                flush=True,
            )
    if parts and "http" not in parts:
        return 0
    print()
    lost: int = importlib.import_module("tests.benchmarks.http").main(5)
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""SQL of published functions ends at its deadline and keeps within the engine's memory, whatever it calls."""

from __future__ import annotations

import contextlib
import json
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ibis
import psutil
import pyarrow as pa
import pytest
from ibis.backends.sql.compilers import postgres

from jupyter_funcs.core import background
from jupyter_funcs.service.builtin import companies, demo
from jupyter_funcs.service.engine import statements
from jupyter_funcs.service.engine.calls import CallCancelledError, Compiled
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine
from jupyter_funcs.service.engine.statements import checked_elsewhere
from jupyter_funcs.service.publishing.confinement import WorkerSetup
from jupyter_funcs.service.publishing.registry import Registry
from jupyter_funcs.service.publishing.worker_pool import WorkerError, Workers
from jupyter_funcs.service.publishing.worker_process import QueryOrder
from jupyter_funcs.service.web.runs import Limits
from tests.service.conftest import Wire, becomes, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_funcs.service.publishing.registry import PublishedFunction

FUNCTIONS = '''
"""Functions that ask for SQL."""

import ibis

from jupyter_funcs.service import function


@ibis.udf.scalar.builtin
def levenshtein(a: str, b: str) -> int: ...


@ibis.udf.scalar.builtin
def lpad(text: str, many: int, filler: str) -> str: ...


def sql(text):
    return ibis.duckdb.connect().sql(text, schema=ibis.schema({"n": "int64"}))


@function
def ask(call, text: str) -> int:
    return call.fetch(sql(text))[0]["n"]


@function
def distance(call, many: int):
    one, other = ibis.literal("a").repeat(many), ibis.literal("b").repeat(many)
    return ibis.memtable({"n": [1]}).mutate(n=levenshtein(one, other))


@function
def padded(call, many: int):
    return ibis.memtable({"n": [1]}).mutate(n=lpad("a", many, "b").length())


@function
def count(call):
    return call.table("companies").count().name("n").as_table()


@function
def spend(call):
    return call.table("cards").spend_cents.sum().name("n").as_table()


@function
def both(call):
    [row] = call.fetch(call.table("companies").count().name("n").as_table())
    return row["n"] + len(call.arrow(call.table("kpis")))


@function
def forged(call, kind: str) -> int:
    """Ask for SQL as if it were for another engine."""
    reply = call._compiled(kind, sql("SELECT levenshtein(repeat('a', 250000), repeat('b', 250000)) AS n"))
    reply.is_remote = True
    call._send(reply)
    return len(call._orders.get())


@function
def kinds(call):
    """Return values of types that JSON has no words for."""
    return call.table("companies").limit(1).select(
        day=ibis.date("2026-01-02"),
        time=ibis.timestamp("2026-01-02 03:04:05"),
        money=ibis.literal("1.50").cast("decimal(5, 2)"),
        large=ibis.literal(2**62),
        nothing=ibis.null().cast("int64"),
        many=ibis.array([1, 2]),
        pair=ibis.struct({"a": 1}),
        text=ibis.literal("ä"),
    )
'''
MEMORY = 400_000_000  # bytes


@pytest.fixture(scope="module")
def functions(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[list[PublishedFunction]]:
    folder = tmp_path_factory.mktemp("sql")
    (folder / "queries.py").write_text(FUNCTIONS)
    with contextlib.closing(
        Workers(
            WorkerSetup((folder,), default_asset="a", reference=companies.reference())
        )
    ) as made:
        yield made.load()


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDBEngine]:
    with contextlib.closing(
        DuckDBEngine(companies.reference(), demo.cards, memory_limit=MEMORY)
    ) as engine:
        yield engine


@pytest.fixture
def serve(
    functions: list[PublishedFunction], engine: DuckDBEngine
) -> Callable[..., Wire]:
    return lambda **limits: serving(
        Registry(functions, author="t"), engine, limits=Limits(**limits)
    )


def below(process: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return process.children(recursive=True)
    return []


def used() -> float:
    """Return the seconds of processor of this process and those that it started."""
    total = 0.0
    for process in (psutil.Process(), *below(psutil.Process())):
        with contextlib.suppress(psutil.Error):
            total += sum(process.cpu_times()[:2])
    return total


def rests() -> bool:
    """Tell whether neither this process nor those that it started compute anything now."""
    before = used()
    threading.Event().wait(0.3)
    return used() - before < 0.05


STUBBORN = [
    "levenshtein(repeat('a', 250000), repeat('b', 250000))",
    "damerau_levenshtein(repeat('a', 20000), repeat('b', 20000))",
    "jaro_winkler_similarity(repeat('ab', 900000), repeat('ba', 900000))::BIGINT",
    "len(list_intersect(range(9000000), range(9000000)))",
]


@pytest.mark.slow
@pytest.mark.fault(148)
@pytest.mark.parametrize("value", STUBBORN)
def test_a_query_that_ignores_interrupts_ends_with_its_run(
    serve: Callable[..., Wire], value: str
) -> None:
    """Nothing computes any more once the run has released its place."""
    wire = serve(run_seconds=1)
    assert serve().rows("Count") == [{"n": 24}]
    assert wire.call("Ask", {"text": f"SELECT {value} AS n"}).status_code in {500, 504}
    assert becomes(lambda: wire.app.state.runs.admitted == 0, 30)
    assert becomes(rests, 120)
    assert serve().rows("Count") == [{"n": 24}]


@pytest.mark.slow
@pytest.mark.fault(148)
def test_an_expression_that_ignores_interrupts_ends_with_its_run(
    serve: Callable[..., Wire],
) -> None:
    wire = serve(run_seconds=4)
    assert wire.call("Distance", {"many": 250_000}).status_code == 504
    assert becomes(lambda: wire.app.state.runs.admitted == 0, 30)
    assert serve().rows("Distance", many=5) == [{"n": 5}]


@pytest.mark.slow
@pytest.mark.fault(148)
@pytest.mark.parametrize("kind", ["rows", "expression"])
def test_a_query_that_claims_to_be_for_another_engine_ends_as_well(
    serve: Callable[..., Wire], kind: str
) -> None:
    wire = serve(run_seconds=4)
    assert serve().rows("Count") == [{"n": 24}]
    wire.call("Forged", {"kind": kind})
    assert becomes(lambda: wire.app.state.runs.admitted == 0, 30)
    assert becomes(rests, 120)


def deep(levels: int) -> QueryOrder:
    """SQL for PostgreSQL, which sqlglot reads in a time that each level doubles."""
    schema = pa.schema({"n": pa.int64()}).serialize().to_pybytes()
    sql = f"SELECT {'ARRAY[' * levels}1{']' * levels} AS n"
    return QueryOrder(
        sql, schema, {}, "json", "postgres", ibis.table({"n": "int64"}, name="cards")
    )


@pytest.fixture(scope="module")
def queries(engine: DuckDBEngine) -> Iterator[Workers]:
    data = engine.data(lambda: None)
    setup = WorkerSetup(
        (),
        reference=engine.reference,
        data=data,
        readable=data.readable,
        memory=2 * 2**30,
    )
    with contextlib.closing(Workers(setup)) as workers:
        yield workers


@pytest.mark.slow
@pytest.mark.fault(148)
def test_sql_for_another_engine_is_read_where_it_can_be_ended(
    queries: Workers, engine: DuckDBEngine
) -> None:
    """Reading it may take for ever; a shallow one is checked, and a wrong one refused."""
    checked = background.run(queries.run(deep(2), engine.call(), 0))
    assert isinstance(checked, Compiled)
    assert (checked.sql, checked.is_remote) == ("SELECT ARRAY[ARRAY[1]] AS n", True)
    with pytest.raises(WorkerError, match="can't read 'users'"):
        background.run(
            queries.run(replace(deep(2), sql="SELECT n FROM users"), engine.call(), 0)
        )

    call = engine.call()
    before = used()
    with contextlib.ExitStack() as ending:
        ending.callback(call.cancel)
        run = background.start(queries.run(deep(25), call, 0))
        assert becomes(lambda: used() - before > 0.5, 120)
        call.cancel()
        with pytest.raises(CallCancelledError):
            run.result(120)
    assert becomes(rests, 120)


@pytest.mark.fault(148)
def test_sql_that_takes_long_to_read_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The service reads it once more, where nothing ends it."""
    sql = deep(3).sql
    table = ibis.table({"n": "int64"}, name="cards")
    assert checked_elsewhere(sql, table, postgres.compiler)
    monkeypatch.setattr(statements, "_MOST_READING_SECONDS", 0)
    with pytest.raises(
        ValueError, match=r"Reading the SQL takes too long\. Use fewer brackets"
    ):
        checked_elsewhere(sql, table, postgres.compiler)


GREEDY = [
    "len(lpad('a', 2000000000, 'b'))",
    "len(rpad('a', 2000000000, 'b'))",
    "len(printf('%1500000000d', 1))",
    "len(format('{:1500000000d}', 1))",
    "len(repeat('a', 2000000000))",
    "len(replace(repeat('a', 1000000), 'a', repeat('b', 2000)))",
    "len(regexp_replace(repeat('a', 1000000), 'a', repeat('b', 2000), 'g'))",
    "len(list_resize([1], 500000000, 7))",
    "len(range(2000000000))",
    "len(string_split(repeat('a,', 50000000), ','))",
]


@pytest.mark.slow
@pytest.mark.fault(148)
@pytest.mark.parametrize("value", GREEDY)
def test_a_query_that_ignores_the_memory_limit_is_ended_within_it(
    serve: Callable[..., Wire], value: str
) -> None:
    """The service's memory stays as it was; its processes stay within the limit plus what Python takes."""
    wire = serve(run_seconds=60)
    assert wire.rows("Count") == [{"n": 24}]
    own = psutil.Process()
    before = own.memory_info().rss
    most = [0, 0]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            for process in (own, *below(own)):
                at = int(process != own)
                with contextlib.suppress(psutil.Error):
                    most[at] = max(most[at], process.memory_info().rss)

    watching = threading.Thread(target=watch)
    watching.start()
    reply = wire.call("Ask", {"text": f"SELECT {value} AS n"})
    done.set()
    watching.join()
    assert reply.json()["body"] is None, reply.text
    assert "memory" in reply.json()["error"], reply.text
    assert most[0] - before < 200e6
    assert most[1] < 256 * 2**20 + 400e6
    assert wire.rows("Count") == [{"n": 24}]


@pytest.mark.slow
@pytest.mark.fault(148)
def test_the_queries_of_published_functions_give_what_the_engine_gives(
    serve: Callable[..., Wire],
) -> None:
    """The same values and types in JSON and in Arrow, of reference data and of card spend."""
    wire = serve()
    assert wire.rows("Both") == 24 + len(companies.reference().kpis)
    assert wire.rows("Padded", many=7) == [{"n": 7}]
    [row] = wire.engine.call().fetch(
        wire.engine.call().table("cards").spend_cents.sum().name("n").as_table()
    )
    assert wire.rows("Spend") == [row]
    [kinds] = wire.rows("Kinds")
    shown = {
        "day": "2026-01-02",
        "time": "2026-01-02T03:04:05",
        "money": 1.5,
        "large": 2**62,
        "nothing": None,
    }
    assert kinds == shown | {"many": [1, 2], "pair": {"a": 1}, "text": "ä"}


@pytest.mark.slow
def test_what_is_wrong_with_a_query_is_said(serve: Callable[..., Wire]) -> None:
    wire = serve()

    def error(text: str) -> Any:
        return json.loads(wire.call("Ask", {"text": text}).text)["error"]

    assert "A query can't read from 'read_text'" in error(
        "SELECT len(content) AS n FROM read_text('/etc/passwd')"
    )
    assert "can't read 'users'" in error("SELECT n FROM users")
    assert "Could not convert string 'x'" in error("SELECT 'x'::INT AS n")

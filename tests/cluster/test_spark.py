"""
A real Spark gives DuckDB's answers, byte for byte: a standalone cluster of two workers, reached through Spark Connect.

`tests/cluster/run` makes an environment, starts the cluster, runs this against it, shows what each worker did, and ends
it all. It reads the demo's data as they are: one Parquet file, which both workers scan.
"""

from __future__ import annotations

import io
import logging
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import ibis
import pyarrow as pa
import pytest

from jupyter_funcs.service.builtin import companies, demo
from jupyter_funcs.service.engine.calls import CallCancelledError
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine
from jupyter_funcs.service.engine.remote_engine import RemoteEngine
from jupyter_funcs.service.engine.tables import Cards
from tests.cluster.workers import workers
from tests.service.engine.test_engines import CASES, ODD, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.cluster


def cards() -> Cards:
    return Cards.parquet(demo.spend_file())


@pytest.fixture(scope="module")
def duckdb() -> DuckDBEngine:
    return DuckDBEngine(companies.reference(), cards)


@pytest.fixture(scope="module")
def spark() -> Iterator[RemoteEngine]:
    if "FUNCS_CLUSTER_URL" not in os.environ:
        pytest.skip("there is no cluster: tests/cluster/run starts one")
    engine = RemoteEngine(os.environ["FUNCS_CLUSTER_URL"], companies.reference(), cards)
    engine.open()
    yield engine
    engine.close()


@pytest.mark.parametrize(
    ("name", "args"),
    [(name, args) for name, args in CASES if ODD not in args.get("Brand", "")],
)
def test_a_function_answers_the_same_as_on_duckdb(
    spark: RemoteEngine, duckdb: DuckDBEngine, name: str, args: dict[str, Any]
) -> None:
    expected = serve(duckdb, companies.reference()).call(name, args)
    assert expected.json()["error"] is None
    assert (
        serve(spark, companies.reference()).call(name, args).content == expected.content
    )


def test_both_workers_did_it(spark: RemoteEngine) -> None:
    call = spark.call()
    cards = call.table("cards")
    before = {worker.name: worker for worker in workers()}
    assert len(before) == 2
    call.fetch(
        cards.group_by("symbol", "date")
        .agg(cents=cards.spend_cents.sum())
        .agg(cents=ibis._.cents.max())
    )
    for after in workers():
        assert after.completed > before[after.name].completed
        assert after.read_bytes > before[after.name].read_bytes


def test_text_that_is_code_to_spark_is_a_value(spark: RemoteEngine) -> None:
    call = spark.call()
    cards = call.table("cards")
    text = ibis.literal(ODD)
    query = cards.filter(cards.merchant != text).limit(1).select(text=text)
    assert call.arrow(query).equals(pa.table({"text": [ODD]}))


def test_a_query_that_spark_refuses_is_written_nowhere(spark: RemoteEngine) -> None:
    written = io.StringIO()
    # pyspark's own, which goes to stderr where nothing else takes logs.
    logging.getLogger("SQLQueryContextLogger").addHandler(
        handler := logging.StreamHandler(written)
    )
    call = spark.call()
    cards = call.table("cards")
    # A name twice, for Spark.
    ambiguous = (
        cards.filter(cards.merchant == "an argument")
        .select(Region=cards.region)
        .distinct()
        .order_by("Region")
    )
    with pytest.raises(Exception, match="AMBIGUOUS_REFERENCE"):
        call.fetch(ambiguous)
    logging.getLogger("SQLQueryContextLogger").removeHandler(handler)
    assert not written.getvalue()


def test_a_cancelled_query_ends_and_leaves_the_cluster_idle(
    spark: RemoteEngine,
) -> None:
    call = spark.call()
    cards = call.table("cards")
    pairs = cards.cross_join(cards.view().select(other="cards").limit(100_000))
    query = pairs.agg(n=(pairs.spend_cents % (pairs.other + 7)).sum())
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(call.fetch, query)
        until(lambda: sum(worker.running for worker in workers()) > 0)
        assert not running.done()
        call.cancel()
        assert isinstance(running.exception(600), CallCancelledError)
    until(lambda: sum(worker.running for worker in workers()) == 0)


def until(is_so: Any) -> None:
    end = time.monotonic() + 600
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)

"""The engine: many threads at once get their own answers, and a cancelled call stops."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import ibis
import pytest

from jupyter_funcs.service.builtin import card_functions, companies, demo, queries
from jupyter_funcs.service.engine.calls import CallCancelledError, Query
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.service.engine.duckdb_engine import DuckDBCall
    from jupyter_funcs.service.engine.tables import Cards


@pytest.fixture(scope="module")
def engine() -> DuckDBEngine:
    return DuckDBEngine(companies.reference(), demo.cards)


PANEL = companies.PANELS[0].name
KINDS: dict[str, Callable[[DuckDBCall, str], Any]] = {
    "daily": lambda call, symbol: card_functions.get_panel_daily(
        call, PANEL, symbol, PoPGrowth="Yes"
    ),
    # Each call has its own table, all under one name.
    "quarters": lambda call, symbol: card_functions.get_panel_fq(
        call, PANEL, symbol, PoPGrowth="Yes", PeriodToDate="Yes"
    ),
    "an expression": lambda call, symbol: card_functions.get_panel_daily(
        call, PANEL, symbol, Dimensions=["Region"]
    ).expression(call.table),
}


@pytest.mark.slow
def test_threads_that_ask_a_new_engine_at_once_get_the_same_answers() -> None:
    engine = DuckDBEngine(companies.reference(), demo.cards)
    kinds = [*KINDS.values(), lambda _call, _symbol: Query(queries.universe)] * 8
    go = threading.Barrier(len(kinds))

    def run(kind: Callable[[DuckDBCall, str], Any]) -> object:
        go.wait(60)
        call = engine.call()
        return call.fetch(kind(call, companies.PROFILES[0].company.symbol))

    with ThreadPoolExecutor(len(kinds)) as threads:
        answers = list(threads.map(run, kinds))
    assert answers == answers[:4] * 8
    engine.close()


def test_data_are_loaded_once_by_whichever_call_is_first() -> None:
    made = []

    def make() -> Cards:
        made.append(threading.get_ident())
        time.sleep(0.05)
        return demo.cards()

    engine = DuckDBEngine(companies.reference(), make)
    with ThreadPoolExecutor(8) as threads:
        counts = list(
            threads.map(lambda _: engine.call().fetch(count(engine)), range(8))
        )
    assert len(made) == 1
    assert len({str(total) for total in counts}) == 1


def count(engine: DuckDBEngine) -> ibis.Table:
    cards = engine.table("cards")
    return cards.agg(n=cards.count())


def test_listings_do_not_wait_for_the_data_to_be_made() -> None:
    go_on = threading.Event()

    def make() -> Cards:
        assert go_on.wait(60)
        return demo.cards()

    engine = DuckDBEngine(companies.reference(), make)
    with ThreadPoolExecutor(2) as threads:
        waiting = threads.submit(count, engine)
        call = engine.call()
        listed = threads.submit(lambda: call.fetch(Query(queries.universe)))
        assert len(listed.result(60)) == 24
        assert not waiting.done()
        go_on.set()
        assert waiting.result(60) is not None


def test_data_that_cannot_be_made_fail_the_run_and_are_tried_again(
    engine: DuckDBEngine,
) -> None:
    answers = [OSError("disk full"), demo.cards()]

    def make() -> Cards:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    late = DuckDBEngine(companies.reference(), make)
    with pytest.raises(OSError, match="disk full"):
        late.table("cards")
    assert late.call().fetch(count(late)) == engine.call().fetch(count(engine))


def test_listing_functions_need_no_card_data() -> None:
    def make() -> Cards:
        raise AssertionError("asked for the card data")

    call = DuckDBEngine(companies.reference(), make).call()
    assert len(call.fetch(Query(queries.universe))) == 24


def test_a_call_cancelled_before_its_query_never_starts_it(
    engine: DuckDBEngine,
) -> None:
    call = engine.call()
    call.cancel()
    with pytest.raises(CallCancelledError):
        call.fetch(Query(queries.universe))


def test_cancelling_one_call_stops_its_query_and_no_other(engine: DuckDBEngine) -> None:
    cards = engine.table("cards")
    pairs = cards.cross_join(cards.view().limit(2000))
    lengthy = pairs.agg(n=(pairs.spend_cents % pairs.cards_right).sum())
    call = engine.call()
    with ThreadPoolExecutor(2) as threads:
        running = threads.submit(call.fetch, lengthy)
        time.sleep(0.3)
        assert not running.done()
        call.cancel()
        assert isinstance(running.exception(60), CallCancelledError)
        assert threads.submit(engine.call().fetch, count(engine)).result(60)


def test_a_cursor_sees_only_its_own_registered_tables(engine: DuckDBEngine) -> None:
    first, second = (ibis.memtable([{"n": n}]) for n in (1, 2))
    assert engine.call().fetch(first) == [{"n": 1}]
    assert engine.call().fetch(second) == [{"n": 2}]
    cursor = engine.cursor()
    names = cursor.execute(
        "SELECT view_name FROM duckdb_views() WHERE NOT internal"
    ).fetchall()
    cursor.close()
    assert {name for (name,) in names} == {"card_files", "cards"}


def test_every_cursor_keeps_what_parquet_files_say_of_themselves(
    engine: DuckDBEngine,
) -> None:
    # Unless set globally, it is a setting of one session, and each query reads all row group statistics again.
    with engine.cursor() as cursor:
        assert cursor.execute(
            "SELECT current_setting('parquet_metadata_cache')"
        ).fetchall() == [(True,)]

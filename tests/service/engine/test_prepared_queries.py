"""Prepared queries: compiled once per shape; values are bound and never become SQL."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import ibis
import pyarrow as pa
import pytest

from jupyter_funcs.service.builtin import card_functions, companies, demo, queries
from jupyter_funcs.service.engine.calls import Query
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine
from jupyter_funcs.service.engine.statements import Statements
from tests.examples import row_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import ibis.expr.types as ir

    from jupyter_funcs.service.engine.duckdb_engine import DuckDBCall

P = "Demo Card Panel"
NVRA = "NVRA US EQUITY"
MCHQ = "MCHQ US EQUITY"
NASTY = [
    "",
    "'",
    '"',
    "''; DROP TABLE panels; --",
    "$text",
    "?",
    ":text",
    "{0}",
    "%s",
    "\\",
    "\\'",
    "\n",
    "/*",
    "NULL",
    "é😀\u202e",
    "x" * 100_000,
]


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDBEngine]:
    engine = DuckDBEngine(companies.reference(), demo.cards)
    yield engine
    engine.close()


@pytest.fixture
def call(engine: DuckDBEngine) -> DuckDBCall:
    return engine.call()


def echo(
    table: Callable[[str], ir.Table], values: dict[str, Any], *shape: Any
) -> ir.Table:
    """Return each of the values once per data set."""
    return table("panels").select(**values)


@pytest.mark.parametrize("text", NASTY, ids=row_id)
def test_text_is_bound_as_it_is_whatever_it_looks_like(
    call: DuckDBCall, text: str
) -> None:
    assert call.fetch(Query(echo, values={"text": text})) == [{"text": text}] * 2


@pytest.mark.parametrize(
    "value",
    [True, False, 0, -1, 2**62, 0.1, 1e300, date(2024, 2, 29), date(1, 1, 1)],
    ids=row_id,
)
def test_values_of_every_type_keep_value_and_type(call: DuckDBCall, value: Any) -> None:
    [row, _] = call.fetch(Query(echo, values={"value": value}))
    assert row["value"] == value
    assert type(row["value"]) is type(value)


@pytest.mark.parametrize("value", [None, [1], {"a": 1}, b"a", 1j], ids=row_id)
def test_a_value_of_any_other_type_is_refused(call: DuckDBCall, value: Any) -> None:
    query = Query(echo, values={"value": value})
    for use in (call.fetch, lambda wanted: wanted.expression(call.table)):
        with pytest.raises(
            TypeError, match="A value is text, a number, a boolean or a date, not "
        ):
            use(query)


def test_no_value_becomes_a_part_of_the_sql(
    engine: DuckDBEngine, call: DuckDBCall
) -> None:
    texts = [f"{text}unmistakable" for text in NASTY]
    query = card_functions.get_panel_daily(
        call, texts[1], texts[2], texts, PoPGrowth="Yes", Dimensions=["Region"]
    )
    statement = Statements(lambda: engine.names).compile(query, call.table)
    assert "unmistakable" not in statement.sql
    assert set(statement.values.values()) == set(texts)
    assert call.fetch(query) == []


QUERIES: dict[str, Callable[[DuckDBCall], Any]] = {
    "panels": lambda _call: Query(queries.panels),
    "universe": lambda _call: Query(queries.universe),
    "kpis": lambda call: card_functions.get_kpis(call, NVRA, PrimaryOnly="No"),
    "kpis of a panel": lambda call: card_functions.get_kpis(call, NVRA, P),
    "dimensions": lambda call: card_functions.get_panel_dimensions(
        call, P, ["Region", "Age Group"]
    ),
    "daily": lambda call: card_functions.get_panel_daily(call, P, NVRA),
    "daily growth": lambda call: card_functions.get_panel_daily(
        call, P, NVRA, PoPGrowth="Yes", PoPLookback=2, Dimensions=["Brand", "Region"]
    ),
    "daily brands": lambda call: card_functions.get_panel_daily(
        call,
        P,
        Brand=["Mochandrel", "Cluckmoor", "Fennloft"],
        PoPGrowth="Yes",
        Dimensions=["Brand"],
    ),
    "quarters": lambda call: card_functions.get_panel_fq(
        call, P, MCHQ, Dimensions=["Region"]
    ),
    "quarters' growth": lambda call: card_functions.get_panel_fq(
        call,
        P,
        MCHQ,
        ["Steepandra"],
        PoPGrowth="Yes",
        UseReportedForCurrentPeriod="No",
        PeriodToDate="Yes",
    ),
    "report": lambda call: card_functions.get_report(
        call,
        companies.REPORTS[0].id,
        "month",
        date(2024, 1, 31),
        "Gen Z",
        ["Mochandrel"],
    ),
    "whole report": lambda call: card_functions.get_report(
        call, companies.REPORTS[1].id, "quarter"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", QUERIES)
def test_a_query_gives_the_rows_of_its_expression_in_either_form(
    call: DuckDBCall, name: str
) -> None:
    query = QUERIES[name](call)
    rows = call.fetch(query)
    expression = query.expression(call.table)
    assert rows
    assert rows == call.fetch(expression)
    table = call.arrow(query)
    assert table.to_pylist() == rows
    assert table.schema == expression.schema().to_pyarrow()


def test_sums_leave_the_engine_in_the_declared_type(
    engine: DuckDBEngine, call: DuckDBCall
) -> None:
    # DuckDB's own have 128 bits and take twice as long to read.
    statement = Statements(lambda: engine.names).compile(
        QUERIES["daily growth"](call), call.table
    )
    with engine.cursor() as cursor:
        cursor.execute(statement.sql, statement.values)
        kinds = {str(column[1]) for column in cursor.description}
    assert kinds == {"DATE", "VARCHAR", "DOUBLE", "BIGINT"}


def test_a_functions_own_sql_gives_the_types_that_it_declares(call: DuckDBCall) -> None:
    own = ibis.duckdb.connect().sql(
        "SELECT sum(i) AS n FROM range(5) t(i)", schema=ibis.schema({"n": "int64"})
    )
    assert call.arrow(own) == pa.table({"n": [10]})
    assert call.fetch(own) == [{"n": 10}]


@pytest.mark.parametrize("read", ["fetch", "arrow"])
def test_times_with_a_zone_are_read_without_further_libraries(
    call: DuckDBCall, read: str
) -> None:
    sql = "SELECT t, [t] AS l, MAP {'a': 1} AS m FROM (SELECT TIMESTAMPTZ '2024-02-29 10:00:00+02' AS t)"
    kinds = {
        "t": "timestamp('UTC')",
        "l": "array<timestamp('UTC')>",
        "m": "map<string, int64>",
    }
    result = getattr(call, read)(
        ibis.duckdb.connect().sql(sql, schema=ibis.schema(kinds))
    )
    [row] = result if read == "fetch" else result.to_pylist(maps_as_pydicts="strict")
    moment = datetime(2024, 2, 29, 8, tzinfo=UTC)
    assert row == {"t": moment, "l": [moment], "m": {"a": 1}}


class Counting:
    """A builder that counts its calls."""

    def __init__(self) -> None:
        self.built = 0

    def __call__(
        self, table: Callable[[str], ir.Table], values: dict[str, Any], *_shape: Any
    ) -> ir.Table:
        self.built += 1
        companies = table("companies")
        chosen = [
            companies[name].isin(value)
            for name, value in values.items()
            if isinstance(value, list)
        ]
        return companies.filter(*chosen, True, companies.Symbol >= values["after"])


def test_a_shape_is_built_once_whatever_the_values(call: DuckDBCall) -> None:
    build = Counting()
    counts = [
        len(call.fetch(Query(build, (1,), {"after": text})))
        for text in ("A", "M", "Z", "[")
    ]
    assert build.built == 1
    assert len(set(counts)) == 4


def test_another_shape_or_type_is_built_again(call: DuckDBCall) -> None:
    build = Counting()
    for query in (
        Query(build, (1,), {"after": "A"}),
        Query(build, (2,), {"after": "A"}),
        Query(build, (1,), {"after": "A", "Sector": ("Industrials",)}),
        Query(build, (1,), {"after": "A", "Industry": ("Industrials",)}),
    ):
        call.fetch(query)
    assert build.built == 4


def test_sets_of_any_size_share_a_few_shapes(call: DuckDBCall) -> None:
    build = Counting()
    symbols = tuple(profile.company.symbol for profile in companies.PROFILES)
    for count in range(1, 25):
        rows = call.fetch(Query(build, values={"after": "", "Symbol": symbols[:count]}))
        assert [row["Symbol"] for row in rows] == list(symbols[:count])
    assert build.built == 6
    assert call.fetch(Query(build, values={"after": "", "Symbol": ()})) == []


@pytest.mark.slow
def test_no_more_than_some_shapes_are_kept(call: DuckDBCall) -> None:
    build = Counting()
    for number in range(300):
        call.fetch(Query(build, (number,), {"after": "Z"}))
    call.fetch(Query(build, (299,), {"after": "Z"}))
    assert build.built == 300
    call.fetch(Query(build, (0,), {"after": "Z"}))
    assert build.built == 301


def own_table(table: Callable[[str], ir.Table], values: dict[str, Any]) -> ir.Table:
    own = table("own")
    return own.filter(own.n >= values["least"]) if "n" in own.columns else own


def test_a_table_of_the_querys_own_is_the_calls_alone(call: DuckDBCall) -> None:
    for numbers in ([1, 2, 3], [4], []):
        table = pa.table({"n": pa.array(numbers, pa.int64())})
        expected = [{"n": number} for number in numbers if number >= 2]
        assert (
            call.fetch(Query(own_table, values={"least": 2}, tables={"own": table}))
            == expected
        )
    # The same name with other columns must not reuse the SQL.
    assert call.fetch(Query(own_table, tables={"own": pa.table({"m": ["x"]})})) == [
        {"m": "x"}
    ]


def test_a_builder_that_fails_fails_the_run_and_is_asked_again(
    call: DuckDBCall,
) -> None:
    answers: list[Exception | None] = [RuntimeError("no"), None]

    def build(table: Callable[[str], ir.Table], _values: dict[str, Any]) -> ir.Table:
        if error := answers.pop(0):
            raise error
        return table("panels")

    with pytest.raises(RuntimeError, match="no"):
        call.fetch(Query(build))
    assert len(call.fetch(Query(build))) == 2


def test_a_number_or_a_column_is_a_table_of_one_column(call: DuckDBCall) -> None:
    panels = call.table("panels")
    assert call.fetch(panels.count().name("n")) == [{"n": 2}]
    assert call.arrow(panels.PanelName.upper().name("name")).num_rows == 2
    assert call.fetch(ibis.literal(1).name("one")) == [{"one": 1}]

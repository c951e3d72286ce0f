"""What the SQL of a function may contain, decided from its syntax tree before an engine sees it (FAULTS 138)."""

from __future__ import annotations

import gc
import importlib
import re
import weakref
from typing import TYPE_CHECKING

import duckdb
import ibis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_funcs.service.builtin import companies
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine
from jupyter_funcs.service.engine.statements import Compiler, checked, checked_elsewhere
from jupyter_funcs.service.engine.tables import CARDS, Cards
from tests.examples import examples, row_id
from tests.growth import steps
from tests.service.engine.test_safety import own_sql

if TYPE_CHECKING:
    from pathlib import Path

# Each returns the same rows as it is written, and after the check.
ACCEPTED = [
    "SELECT 1",
    "SELECT 1;",
    "(SELECT 1) UNION ALL (SELECT 2) ORDER BY 1",
    "VALUES (1), (2)",
    "FROM panels",
    "FROM panels SELECT PanelName",
    "SELECT * FROM main.panels, memory.main.companies LIMIT 3",
    "SELECT p.PanelName, \"p\".\"providername\" FROM Panels AS p WHERE p.PanelName LIKE 'D%' OR PanelName ILIKE '%x'",
    "SELECT panels.* EXCLUDE (PanelName) REPLACE (upper(ProviderName) AS ProviderName) FROM panels",
    "SELECT COLUMNS('Panel.*') FROM panels",
    "SELECT COLUMNS(lambda c: c LIKE 'Panel%') FROM panels",
    "SELECT Sector, count(*) AS n FROM companies GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL",
    "SELECT count(DISTINCT Sector), count(*) FILTER (WHERE Sector > 'F'), min(Symbol), max(Symbol, 2) FROM companies",
    "SELECT string_agg(Symbol, ', ' ORDER BY Symbol DESC) FROM companies",
    "SELECT Sector, grouping(Sector) FROM companies GROUP BY GROUPING SETS ((Sector), ()) ORDER BY 2, 1",
    "SELECT Sector, Industry, count(*) FROM companies GROUP BY ROLLUP (Sector, Industry) ORDER BY 1, 2, 3",
    "SELECT DISTINCT ON (Sector) Sector, Symbol FROM companies ORDER BY Sector, Symbol",
    "SELECT Symbol, row_number() OVER (PARTITION BY Sector ORDER BY Symbol) FROM companies ORDER BY 1",
    (
        "SELECT Symbol, sum(1) OVER w FROM companies WINDOW w AS (ORDER BY Symbol\n"
        "  ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) ORDER BY 1"
    ),
    (
        "SELECT Symbol, lag(Symbol) OVER (ORDER BY Symbol) FROM companies QUALIFY row_number() OVER "
        "(ORDER BY Symbol) <= 3\n"
        "  ORDER BY 1"
    ),
    "SELECT n, first_value(m IGNORE NULLS) OVER (ORDER BY n) FROM (VALUES (1, NULL), (2, 3)) AS t(n, m) ORDER BY 1",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY n), mode() WITHIN GROUP (ORDER BY n) FROM range(5) t(n)",
    "SELECT quantile_cont(n, 0.25), median(n), stddev(n), corr(n, n * 2), arg_max(n, -n), list(n) FROM range(5) t(n)",
    "SELECT * FROM panels p JOIN kpis k USING (PanelName) LEFT JOIN companies c ON c.Symbol = k.Symbol ORDER BY ALL",
    "SELECT count(*) FROM panels SEMI JOIN kpis USING (PanelName) ANTI JOIN companies ON false",
    "SELECT * FROM (VALUES (1), (2)) a(n) POSITIONAL JOIN (VALUES ('x'), ('y')) b(t)",
    "SELECT * FROM (VALUES (1), (3)) a(n) ASOF JOIN (VALUES (1), (2)) b(n) ON a.n >= b.n ORDER BY 1",
    "SELECT n, s FROM range(3) t(n), LATERAL (SELECT n * 2 AS s) ORDER BY 1",
    "SELECT n, m FROM range(1, 4) t(n), generate_series(1, 2) u(m) ORDER BY 1, 2",
    "SELECT unnest([1, 2, 3])",
    "SELECT * FROM unnest(['a', 'b']) AS t(letter)",
    (
        "SELECT n FROM range(5) t(n) WHERE n IN (SELECT max(m) FROM range(3) u(m)) OR EXISTS (SELECT 1 "
        "WHERE n > 3) ORDER BY 1"
    ),
    (
        "SELECT n = ANY (SELECT m FROM range(2) u(m)), n BETWEEN 1 AND 2, n IS NOT DISTINCT FROM 1, n IS NULL\n"
        "  FROM range(3) t(n) ORDER BY n"
    ),
    "WITH a AS (SELECT 1 AS n), b AS (FROM a UNION ALL FROM a) SELECT sum(n) FROM b",
    'WITH a AS MATERIALIZED (SELECT 1 AS n) SELECT * FROM (WITH b AS (FROM a) FROM b) AS "A b"',
    'WITH "No.table.csv" AS (SELECT 1 AS n) FROM "no.TABLE.csv"',
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT sum(n) FROM r",
    "WITH panels AS (SELECT 1 AS n) FROM panels",
    "SELECT 1 UNION SELECT 2 UNION ALL SELECT 2 EXCEPT SELECT 3 INTERSECT SELECT 3 ORDER BY 1",
    "SELECT 1 AS a, 2 AS b UNION ALL BY NAME SELECT 3 AS b, 4 AS a ORDER BY 1",
    (
        "SELECT CASE WHEN n > 1 THEN 'x' ELSE 'y' END, CASE n WHEN 1 THEN 2 END, if(n > 1, 1, 0), coalesce(n, 1)\n"
        "  FROM range(3) t(n) ORDER BY n"
    ),
    (
        "SELECT nullif(1, 1), ifnull(NULL, 2), greatest(1, 2), least(1, 2), try(1 / 2), 7 // 2, 7 % 2, "
        "2 ** 3, 1 << 2, ~1,\n"
        "  -1, NOT true"
    ),
    (
        "SELECT '1'::INT, CAST('2' AS DECIMAL(10, 2)), TRY_CAST('x' AS BIGINT), CAST([1] AS INT[]),\n"
        "  CAST({'a': 1} AS STRUCT(a BIGINT)), 'a'::ENUM('a')"
    ),
    (
        "SELECT DATE '2024-02-29' + INTERVAL 1 MONTH, INTERVAL '3 days', TIMESTAMP '2024-01-01 10:00:00',\n"
        "  CAST('10:00:00' AS TIME)"
    ),
    (
        "SELECT date_trunc('month', d), extract(year FROM d), date_part('dow', d), strftime(d, '%Y'), d - 1\n"
        "  FROM (SELECT DATE '2024-05-06' AS d)"
    ),
    (
        "SELECT date_diff('day', DATE '2024-01-01', DATE '2024-03-01'), make_date(2024, 1, 2), "
        "last_day(DATE '2024-02-01'),\n"
        "  epoch_ms(0)"
    ),
    "SELECT current_date = today(), now() = current_timestamp",
    "SELECT TIMESTAMP '2024-01-01 00:00:00' AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Paris'",
    (
        "SELECT upper('a') || lower('B'), trim(BOTH 'x' FROM 'xax'), substring('abc' FROM 2 FOR 1), "
        "position('b' IN 'abc'),\n"
        "  'it''s', 'a\\' AS \"b\"\"c\""
    ),
    (
        "SELECT regexp_matches('abc', 'b'), regexp_replace('abc', '(b)', '[\\1]'), 'abc' SIMILAR TO "
        "'a.c', 'abc' GLOB 'a*',\n"
        "  'abc' ^@ 'a', 'a' LIKE '!a' ESCAPE '!'"
    ),
    (
        "SELECT split_part('a,b', ',', 2), concat_ws('-', 'a', 'b'), printf('%d', 1), length('abc'), "
        "lpad('1', 3, '0'), md5('a')"
    ),
    "SELECT [1, 2, 3][1], [1, 2, 3][2:3], [1, 2][-1], list_sum([1, 2]), list_contains([1], 1), array_length([1, 2])",
    (
        "SELECT list_transform([1, 2], lambda x: x + 1), list_filter([1, 2], lambda x: x > 1), list_reduce([1, 2],\n"
        "  lambda a, b: a + b)"
    ),
    "SELECT [x * 2 FOR x IN [1, 2, 3] IF x > 1], ARRAY(SELECT n FROM range(2) t(n) ORDER BY n)",
    "SELECT {'a': 1, 'b c': 2}, {'a': {'b': 1}}.a.b, struct_pack(a := 1, b := 'x').b, row(1, 'x'), (1, 2)",
    "SELECT MAP {'a': 1}['a'], MAP(['k'], [1]), map_keys(MAP {'a': 1}), cardinality(MAP {'a': 1})",
    (
        "SELECT '{\"a\": {\"b.c\": 1}}'::JSON -> 'a' ->> 'b.c', json_extract_string('{\"a\": 1}', "
        "'$.a'), to_json({'a': 1})"
    ),
    "SELECT 'a' COLLATE NOCASE = 'A', $$it's$$, 1e3, 1.5e-3, .5, 1_000, true, NULL",
    "SELECT * FROM (SELECT * FROM range(10) t(n) LIMIT 3 OFFSET 2) ORDER BY n DESC NULLS LAST LIMIT 50%",
    "SELECT count(*) FROM companies TABLESAMPLE reservoir(5)",
    "SELECT count(*) <= 24 FROM companies USING SAMPLE 10%",
    "SELECT #1, a: 1 FROM range(2) ORDER BY #1",
    "SELECT /* a comment; DROP TABLE panels */ 1 -- another",
    'SELECT \'read_csv(1)\', "getenv" FROM (SELECT 1 AS getenv) AS "read_text"',
    'SELECT max(query) AS n FROM (SELECT 1 AS query, 2 AS "current_setting")',
    "SELECT quarter(d), week(d), monthname(d), isodow(d), age(d, d), to_days(3) FROM (SELECT DATE '2024-05-06' AS d)",
    (
        "SELECT round(1.25, 1), ceil(1.2), floor(-1.2), abs(-1), sqrt(4), ln(1), exp(0), pi() > 3, "
        "sign(-2), mod(5, 3),\n"
        "  random() < 1"
    ),
    (
        "SELECT histogram(n), approx_count_distinct(n), bool_and(n > 0), any_value(1), list_aggregate(list(n), 'sum')\n"
        "  FROM range(3) t(n)"
    ),
]

# A function that is called, a table that is read, or a statement: each is named in the error.
REFUSED = {
    "scans": [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_csv(NULL)",
        "SELECT * FROM read_csv_auto(NULL)",
        "SELECT * FROM read_parquet(NULL)",
        "SELECT * FROM parquet_scan(NULL)",
        "SELECT * FROM read_json(NULL)",
        "SELECT * FROM read_json_objects(['a', NULL])",
        "SELECT * FROM read_text(NULL)",
        "SELECT * FROM read_blob(NULL::VARCHAR[])",
        "SELECT * FROM read_duckdb(NULL)",
        "SELECT * FROM read_single_csv_file('x')",
        "SELECT * FROM arrow_scan(NULL, NULL, NULL)",
        "SELECT * FROM pandas_scan(NULL)",
        "SELECT * FROM python_map_function(NULL, NULL)",
        "SELECT * FROM seq_scan(NULL)",
        "SELECT * FROM iceberg_scan('x')",
        "SELECT * FROM delta_scan('x')",
        "SELECT * FROM postgres_scan('x', 'y', 'z')",
        "SELECT * FROM sqlite_scan('x', 'y')",
        "SELECT * FROM parquet_metadata(NULL)",
        "SELECT * FROM sniff_csv('x')",
        "SELECT * FROM glob('*')",
        "SELECT * FROM panels JOIN LATERAL glob('*') ON true",
        "SELECT (SELECT content FROM read_text('x'))",
        "SELECT * FROM unnest(read_text('x'))",
        "FROM read_text('x') SELECT content",
        "WITH a AS (FROM read_text('x')) FROM a",
        "SELECT * FROM ROWS FROM (read_text('x'))",
        "SELECT 1 WHERE 1 IN (FROM read_text('x'))",
    ],
    "tables": [
        "FROM '/etc/passwd'",
        'FROM "/etc/passwd"',
        "FROM 'file.csv' AS t",
        "FROM t: 'file.parquet'",
        "SELECT * FROM panels, 'file.csv'",
        'SELECT * FROM panels WHERE PanelName IN (FROM "https://example.com/x.parquet")',
        "SELECT sum(1) OVER (ORDER BY (SELECT 1 FROM 'x.csv')) FROM panels",
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM pg_catalog.pg_class",
        "SELECT * FROM duckdb_settings",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM card_files",
        "SELECT * FROM own.main.secrets",
        "SELECT * FROM (SHOW TABLES)",
        'SELECT * FROM (WITH "x.csv" AS (SELECT 1) FROM "x.csv"), "x.csv"',
        "WITH a AS (FROM b), b AS (SELECT 1) FROM a",
        "WITH pg_class AS (FROM pg_class) FROM pg_class",
        "WITH RECURSIVE pg_class AS (FROM pg_class) FROM pg_class",
        "WITH RECURSIVE pg_class AS (FROM pg_class UNION ALL FROM pg_class) FROM pg_class",
        "WITH RECURSIVE pg_class AS (SELECT 1 AS n UNION ALL BY NAME SELECT relname FROM pg_class) FROM pg_class",
        'WITH "É.csv" AS (SELECT 1) FROM "é.csv"',
        "SELECT * FROM panels AT (VERSION => 1)",
    ],
    "functions": [
        "SELECT getenv('HOME')",
        "SELECT GetEnv/* x */ ('HOME')",
        "SELECT \"getenv\"('HOME')",
        "SELECT 'HOME'.getenv()",
        "SELECT ['HOME'].list_transform(lambda x: getenv(x))",
        "SELECT list_transform(['HOME'], lambda x: getenv(x))",
        "SELECT [getenv(x) FOR x IN ['HOME']]",
        "SELECT count(*) FILTER (WHERE getenv('x') = 'y') FROM panels",
        "SELECT * REPLACE (getenv('x') AS PanelName) FROM panels",
        "SELECT COLUMNS(lambda c: getenv(c) = 'x') FROM panels",
        "SELECT 1 FROM panels ORDER BY getenv('x')",
        "SELECT 1 FROM panels LIMIT length(getenv('x'))",
        "SELECT INTERVAL (getenv('x')) DAY",
        "VALUES (getenv('x'))",
        "SELECT current_setting('memory_limit')",
        "SELECT main.current_setting('memory_limit')",
        "SELECT current_database(), current_schemas(true)",
        "SELECT current_user",
        "SELECT getvariable('x')",
        "SELECT nextval('s')",
        "SELECT setval('s', 1)",
        "SELECT setseed(0.5)",
        "SELECT write_log('x')",
        "SELECT pg_get_viewdef(1)",
        "SELECT txid_current()",
        "SELECT version()",
        "SELECT json_serialize_plan('SELECT 1')",
        "SELECT * FROM query('SELECT 1')",
        "SELECT * FROM query_table('panels')",
        "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
        "SELECT * FROM which_secret('x', 's3')",
        "SELECT * FROM duckdb_secrets()",
        "SELECT * FROM duckdb_settings()",
        "SELECT * FROM pragma_table_info('panels')",
        "SELECT * FROM histogram('panels', 'PanelName')",
        "SELECT * FROM summary(panels)",
        "SELECT * FROM test_all_types()",
        "SELECT * FROM main.range(3)",
        'SELECT * FROM system.main."Enable_Logging" /* now */ ()',
        "SELECT 1 FROM enable_profiling(format := 'json', save_location := 'x')",
        "SELECT 1 FROM checkpoint()",
        "SELECT 1 FROM register_external_resource('x')",
        "SELECT function_of_a_new_release(1)",
        "SELECT * FROM table_function_of_a_new_release(NULL)",
        "SELECT own.main.a_macro(1)",
        "SELECT 'a' ~ 'b'",
    ],
    "statements": [
        "COPY panels TO 'x.csv'",
        "COPY (SELECT 1) TO 'x'",
        "EXPORT DATABASE 'x'",
        "IMPORT DATABASE 'x'",
        "ATTACH 'x.duckdb'",
        "DETACH own",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET memory_limit = '1GB'",
        "SET VARIABLE x = 1",
        "RESET memory_limit",
        "PRAGMA database_list",
        "CALL enable_logging()",
        "EXPLAIN ANALYZE SELECT 1",
        "EXPLAIN SELECT 1",
        "DESCRIBE panels",
        "SUMMARIZE panels",
        "SHOW TABLES",
        "TABLE panels",
        "PIVOT panels ON PanelName USING count(*)",
        "FROM panels PIVOT (count(*) FOR PanelName IN ('a'))",
        "FROM panels UNPIVOT (v FOR n IN (PanelName))",
        "WITH p AS (PIVOT panels ON PanelName USING count(*)) FROM p",
        "SELECT * FROM (DESCRIBE panels)",
        "SELECT * FROM (SUMMARIZE panels)",
        "CREATE MACRO f(x) AS x + 1",
        "CREATE TABLE t AS SELECT 1",
        "CREATE SECRET s (TYPE s3)",
        "CREATE TRIGGER t AFTER INSERT ON panels EXECUTE 'x'",
        "INSERT INTO panels VALUES ('x', 'y')",
        "UPDATE panels SET PanelName = 'x'",
        "DELETE FROM panels",
        "MERGE INTO panels USING kpis ON true WHEN MATCHED THEN DELETE",
        "DROP TABLE panels",
        "TRUNCATE panels",
        "ALTER TABLE panels ADD COLUMN x INT",
        "COMMENT ON TABLE panels IS 'x'",
        "BEGIN",
        "CHECKPOINT",
        "VACUUM",
        "USE memory",
        "PREPARE p AS SELECT 1",
        "EXECUTE p",
        "DEALLOCATE p",
        "SELECT 1; DROP TABLE panels",
        "SELECT 1; SELECT 2",
        "WITH x AS (INSERT INTO panels VALUES ('x', 'y') RETURNING *) SELECT * FROM x",
        "WITH x AS (COPY panels TO 'x') SELECT 1",
        "SELECT 1 INTO x",
        "SELECT * FROM panels FOR UPDATE",
        "SELECT 1 FROM (SELECT 1; DROP TABLE panels)",
        ";",
        "-- nothing",
        "SELECT 'no end",
        "SELECT (1",
        "SELECT CAST(1 AS a\u200bFROM\u200bpg_class)",
        "SELECT INTERVAL '1' $$DAY FROM read_text('x') --$$",
        "SELECT extract(\"year FROM x) FROM read_text('x') --\" FROM now())",
    ],
}


WRONG = [text for table in REFUSED.values() for text in table]


@pytest.fixture(scope="module")
def engine(before_the_data: DuckDBEngine) -> DuckDBEngine:
    return before_the_data


def test_a_closed_engine_is_given_back() -> None:
    """Nothing holds an engine, and the data in its memory, after its last use."""
    engine = DuckDBEngine(
        companies.reference(), lambda: pytest.fail("asked for the card data")
    )
    assert engine.names
    engine.close()
    left = weakref.ref(engine)
    del engine
    gc.collect()
    assert left() is None


@pytest.mark.parametrize("text", ACCEPTED, ids=row_id)
def test_sql_that_only_reads_runs_and_means_what_it_says(
    engine: DuckDBEngine, text: str
) -> None:
    """FAULTS.md 138."""
    statement = engine.statements.compile(own_sql(text), engine.table)
    with engine.cursor() as cursor:
        assert (
            cursor.execute(statement.sql).fetchall() == cursor.execute(text).fetchall()
        )
    # It is now in the form that is run as it is.
    assert checked(statement.sql, engine.names) == statement.sql


@pytest.mark.parametrize("text", WRONG, ids=row_id)
def test_other_sql_is_refused_before_the_engine_sees_it(
    engine: DuckDBEngine, text: str
) -> None:
    """FAULTS.md 138."""
    with pytest.raises(
        ValueError, match=r"may only read|can't (be read|call|read|contain)"
    ) as caught:
        engine.statements.compile(own_sql(text), engine.table)
    assert str(caught.value).count("\n") <= 1


TOKENS = re.compile(r"'[^']*'|\"[^\"]*\"|\$\$.*?\$\$|\w+|\s+|.", re.DOTALL)
GAPS = ["", " ", "\n", "\t", "/**/", " /* ' */ ", "-- ;\n", "\u00a0"]


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(2000))
@given(text=st.sampled_from(WRONG), data=st.data())
def test_no_spelling_of_refused_sql_is_accepted(text: str, data: st.DataObject) -> None:
    """FAULTS.md 138."""
    tokens = TOKENS.findall(text)
    names = {("panels",), ("kpis",)}
    spelt = []
    for token, after in zip(tokens, [*tokens[1:], ""], strict=True):
        if (
            re.fullmatch(r"\w+_\w+|getenv|glob|query", token)
            and after == "("
            and data.draw(st.booleans())
        ):
            spelt.append(f'"{token}"')
        elif token.isspace() or not token.isalnum():
            before = data.draw(st.sampled_from(GAPS))
            behind = data.draw(st.sampled_from(GAPS))
            spelt.append(
                token
                if "-" in token
                else before + token + (behind if token.isspace() else "")
            )
        else:
            spelt.append(
                data.draw(
                    st.sampled_from(
                        [token, token.upper(), token.lower(), token.swapcase()]
                    )
                )
            )
    with pytest.raises(
        ValueError, match=r"may only read|can't (be read|call|read|contain)"
    ):
        checked("".join(spelt), names)


def test_an_error_names_what_is_refused_and_what_to_do(engine: DuckDBEngine) -> None:
    """FAULTS.md 138."""

    def refusal(text: str) -> str:
        with pytest.raises(ValueError, match=r"A query|The SQL") as caught:
            checked(text, engine.names)
        return str(caught.value)

    assert refusal("SELECT Read_Text('x')") == (
        "A query can't call 'read_text': it isn't among the functions that are known to read nothing else.\n"
        "Use another function, or compute it in Python."
    )
    assert refusal("FROM kpi") == (
        "A query can't read 'kpi'. Did you mean 'kpis'?\nUse a table of the service, or a query in WITH."
    )
    assert refusal("FROM read_csv('x')") == (
        "A query can't read from 'read_csv'.\nUse a table of the service, or 'generate_series', 'range', 'unnest'."
    )
    assert (
        refusal("SELECT 'x'.upper()")
        == "A query can't call 'upper' after a dot. Write upper(…) with all its arguments."
    )
    assert refusal("PRAGMA x") == "A query may only read. Use one SELECT, not 'PRAGMA'."
    assert (
        refusal("FROM kpis UNPIVOT (v FOR n IN (a))")
        == "A query may only read. Use one SELECT, without PIVOT."
    )
    assert (
        refusal("SELECT 1; SELECT 2")
        == "A query may only read. Use one SELECT, and no other statement."
    )
    assert (
        refusal("SELECT 1\nFROM WHERE")
        == "The SQL can't be read at 'WHERE' in line 2.\nUse a SELECT of DuckDB."
    )


NESTED = {
    "brackets": ("(", "1", ")"),
    "lists": ("[", "1", "]"),
    "structs": ("{'a':", "1", "}"),
    "functions": ("abs(", "1", ")"),
    "unknown functions": ("f(", "", ""),
    "cases": ("CASE WHEN ", "1", " THEN 1 END"),
    "negations": ("NOT ", "1", ""),
    "signs": ("- ", "1", ""),
    "subqueries": ("(SELECT ", "1", ")"),
    "casts": ("CAST(", "1", " AS INT)"),
    "elements": ("", "x", "[1]"),
    "sums": ("", "1", "+1"),
    "types": ("CAST(1 AS ", "STRUCT(a " * 2000, ""),
    "comments": ("/*", "1", "*/"),
    "tags": ("$a$", "", ""),
    "unions": ("", "1", " UNION SELECT 1"),
    "joins": ("", "1 FROM panels", ",panels"),
}


@pytest.mark.usefixtures("no_hang")
@pytest.mark.parametrize("kind", NESTED)
def test_sql_of_any_depth_is_read_in_linear_time_or_refused(kind: str) -> None:
    """FAULTS.md 138: twice the depth takes less than four times the steps."""
    before, middle, after = NESTED[kind]

    def check(depth: int) -> None:
        text = "SELECT " + before * depth + middle + after * depth
        try:
            assert checked(text, {("panels",)})
        except ValueError as error:
            words = "nested too deeply|can't be read|can't call|characters"
            assert re.search(words, str(error))  # noqa: PT017

    check(6)
    assert steps(lambda: check(12)) < 4 * steps(lambda: check(6))
    check(1500)


def test_longer_sql_is_not_even_read() -> None:
    def check(length: int) -> None:
        with pytest.raises(
            ValueError,
            match=r"^The SQL has [\d,]+ characters, more than 50,000\. Join a table",
        ):
            checked("SELECT " + "(" * length, set())

    check(100_000)
    assert steps(lambda: check(1_000_000)) == steps(lambda: check(100_000))


def test_what_ibis_compiles_is_accepted(engine: DuckDBEngine) -> None:
    table = engine.table("companies")
    udf = ibis.udf.scalar.builtin
    memory = ibis.memtable({"Sector": ["Industrials"], "n": [1]})
    grouped = table.group_by("Sector").agg(
        n=table.count(),
        symbols=table.Symbol.collect(),
        first=table.Symbol.first(),
        near=table.Symbol.nunique(),
    )
    expressions = {
        "columns": table.mutate(
            a=table.Symbol.upper().replace("A", "b").re_extract(r"(\w+)", 1),
            b=table.Symbol.length().cast("float64").round(1).clip(1, 2),
            c=ibis.cases(
                (table.Sector == "x", 1), (table.Sector.isin(["y", "z"]), 2), else_=3
            ),
            d=ibis.date("2024-01-31") + ibis.interval(months=1),
            e=ibis.timestamp("2024-01-31 10:00:00").truncate("M").strftime("%Y"),
            f=table.Symbol.split(" ")[0].fill_null("x").concat("é").startswith("A"),
            g=ibis.array([1, 2]).map(lambda x: x + 1).filter(lambda x: x > 1).length(),
            h=ibis.struct({"a": 1})["a"],
            i=ibis.map({"a": 1})["a"],
            j=ibis.random() < 2,
            k=ibis.now().date() >= ibis.today(),
            l=ibis.literal(1.5e-300),
            m=table.Symbol.hash() % 7,
        ),
        "groups": grouped.filter(grouped.n > 1)
        .order_by(ibis.desc("n"))
        .limit(3, offset=1),
        "windows": table.mutate(
            n=ibis.row_number().over(group_by=table.Sector, order_by=table.Symbol),
            before=table.Symbol.lag().over(order_by=table.Symbol),
            share=ibis.rank().over(rows=(-3, 0), order_by=table.Symbol),
        ),
        "joins": table.left_join(memory, "Sector").anti_join(
            engine.table("kpis"), "Symbol"
        ),
        "unions": ibis.union(table, table, distinct=True)
        .distinct()
        .sample(0.5, seed=None),
        "lists": table.Symbol.split(" ").unnest().name("word"),
        "generated": ibis.range(0, 5).unnest().name("n").as_table(),
        "pivoted": table.pivot_wider(
            names_from="Sector",
            names=["a", "b"],
            values_from="Symbol",
            values_agg="max",
        ),
        "its own SQL beside": own_sql("SELECT 'Industrials' AS s", s="string").join(
            memory, [("s", "Sector")]
        ),
    }
    call = engine.call()
    for name, expression in expressions.items():
        assert isinstance(call.fetch(expression), list), name

    @udf
    def getenv(name: str) -> str: ...  # type: ignore[empty-body]

    for hidden in (
        table.mutate(x=getenv("HOME")),
        ibis.table({"a": "string"}, name="/etc/passwd"),
    ):
        with pytest.raises(
            ValueError, match=r"can't (call 'getenv'|read '/etc/passwd')"
        ):
            call.fetch(hidden)


def test_the_tables_of_an_attached_database_are_read_by_their_full_names(
    tmp_path: Path,
) -> None:
    path = tmp_path / "team.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(
            "CREATE TABLE other AS SELECT 1 AS n; CREATE SCHEMA Sales; CREATE VIEW Sales.Week AS SELECT 2 AS n"
        )
        con.execute("CREATE MACRO m() AS TABLE SELECT 3 AS n")
    cards = Cards(schema=CARDS, columns={name: name for name in CARDS}, table=("none",))
    engine = DuckDBEngine(companies.reference(), lambda: cards, database=path)
    call = engine.call()
    assert call.fetch(
        own_sql('SELECT a.n + b.n AS n FROM own.other a, "OWN".sales.week b')
    ) == [{"n": 3}]
    for text in (
        "FROM other",
        "FROM own.m()",
        "FROM own.sqlite_master",
        "FROM own.information_schema.tables",
    ):
        with pytest.raises(ValueError, match="can't read"):
            call.fetch(own_sql(text))
    engine.close()


def test_the_known_functions_are_functions_of_this_engine(engine: DuckDBEngine) -> None:
    from jupyter_funcs.service.engine.statements import _FUNCTION_NAMES

    # Written as functions, but parts of the grammar.
    grammar = {
        "array",
        "coalesce",
        "columns",
        "current_timestamp",
        "extract",
        "grouping",
        "grouping_id",
        "if",
        "ifnull",
    }
    grammar |= {
        "percentile_cont",
        "percentile_disc",
        "try",
        "unnest",
        "struct_pack",
        "overlay",
    }
    with engine.cursor() as cursor:
        rows = cursor.execute(
            "SELECT function_name, function_type, has_side_effects FROM duckdb_functions()"
        ).fetchall()
    pure = {
        name
        for name, kind, effects in rows
        if kind in {"scalar", "aggregate", "macro", "window"} and not effects
    }
    assert _FUNCTION_NAMES - pure - grammar <= {"random", "uuid"}


def test_compiled_sql_is_refused_as_own_sql_is(engine: DuckDBEngine) -> None:
    assert (
        Compiler().sql(own_sql("SELECT getenv('x') AS n"))
        == "SELECT GETENV('x') AS \"n\""
    )
    with pytest.raises(ValueError, match="can't call 'getenv'"):
        checked("SELECT GETENV('x') AS \"n\"", engine.names)


# In the dialects of other engines, where only the table of card spend may be read.
ACCEPTED_ELSEWHERE = {
    "postgres": [
        'SELECT COUNT(*) AS "n" FROM "team"."cards" AS t0 WHERE t0.symbol ~ \'A\' AND n > CAST(\'1\' AS INT)',
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT SUM(n) FROM r",
        "SELECT DATE_TRUNC('MONTH', CAST(day AS TIMESTAMP)), SUM(n) FILTER(WHERE n > 1) OVER () FROM team.cards",
        "SELECT GENERATE_SERIES(1, 3) AS n",
        'WITH "A b" AS (SELECT 1 AS n) SELECT n FROM "A b"',
    ],
    "clickhouse": [
        "SELECT sumIf(n, n > 1), toYear(day), uniqHLL12(n), accurateCast(n, 'Int32') FROM team.cards",
        'SELECT quantile(0.5)(n), arrayJoin([1, 2]), groupArrayIf(n, NOT isNull(n)) FROM "team"."cards"',
        "WITH (SELECT 1) AS x SELECT x",
    ],
    "pyspark": [
        "SELECT DATE_TRUNC('month', `day`), COUNT(DISTINCT n), STDDEV(n) FROM `team`.`cards` GROUP BY 1",
        "SELECT EXPLODE(ARRAY(1, 2)) AS n",
        "SELECT t.n FROM Team.Cards AS t LATERAL VIEW EXPLODE(ARRAY(1)) e AS m",
    ],
}
REFUSED_ELSEWHERE = {
    "postgres": [
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT PG_Read_File/* x */('/etc/passwd')",
        "SELECT \"pg_read_file\"('/etc/passwd')",
        "SELECT E'\\' || pg_read_file($$x$$) --'",
        "SELECT * FROM pg_ls_dir('/')",
        "SELECT * FROM ROWS FROM (pg_ls_dir('/'))",
        "SELECT * FROM dblink('x', 'y') AS t(a INT)",
        "SELECT * FROM pg_shadow",
        "SELECT * FROM other.cards",
        "SELECT * FROM cards",
        'SELECT * FROM "Team"."cards"',
        "SELECT * FROM information_schema.tables",
        'WITH "Pg_Shadow" AS (SELECT 1) SELECT * FROM Pg_Shadow',
        'WITH "PG_SHADOW" AS (SELECT 1) SELECT * FROM "pg_shadow"',
        "SELECT 'pg_shadow'::regclass",
        "SELECT query_to_xml('SELECT 1', true, true, '')",
        "SELECT lo_import('/etc/passwd')",
        "SELECT set_config('a', 'b', false)",
        "SELECT nextval('s')",
        "SELECT pg_sleep(100)",
        "SELECT current_user",
        "SELECT * INTO x FROM team.cards",
        "SELECT * FROM team.cards FOR UPDATE",
        "WITH d AS (DELETE FROM team.cards RETURNING *) SELECT * FROM d",
        "COPY team.cards TO PROGRAM 'x'",
        "TABLE pg_shadow",
        "SELECT 1; DROP TABLE team.cards",
        "SELECT CAST(1 AS a\u200bFROM\u200bpg_class)",
        "SELECT 1 AS a\xa0b",
    ],
    "clickhouse": [
        "SELECT file('/etc/passwd')",
        "SELECT file('x')(1)",
        "SELECT * FROM file('/etc/passwd')",
        "SELECT * FROM url('http://example.com')",
        "SELECT * FROM remote('host', 'd', 't')",
        "SELECT * FROM executable('x', 'TSV', 'a String')",
        "SELECT * FROM system.settings",
        "SELECT * FROM team.CARDS",
        "WITH (SELECT 1) AS processes SELECT * FROM processes",
        "SELECT dictGet('a', 'b', 1)",
        "SELECT getSetting('x')",
        "SELECT 1 INTO OUTFILE 'x'",
        "SELECT 1 FORMAT CSV",
        "SELECT n FROM team.cards SETTINGS max_execution_time = 0",
        "SYSTEM FLUSH LOGS",
    ],
    "pyspark": [
        "SELECT reflect('java.lang.System', 'getenv', 'HOME')",
        "SELECT java_method('a', 'b')",
        "SELECT TRANSFORM(n) USING 'cat' AS (b) FROM team.cards",
        "SELECT * FROM parquet.`/etc/passwd`",
        "SELECT * FROM read_files('x')",
        "SELECT * FROM IDENTIFIER('x')",
        "SELECT input_file_name() FROM team.cards",
        "SELECT ${env:HOME}",
        "FROM team.cards INSERT INTO x SELECT 1",
        "INSERT OVERWRITE DIRECTORY 'x' SELECT 1",
        "ADD JAR 'x'",
        "SET x = 1",
    ],
}


def elsewhere(dialect: str, text: str) -> str:
    compiler = importlib.import_module(
        f"ibis.backends.sql.compilers.{dialect}"
    ).compiler
    return checked_elsewhere(
        text, ibis.table({"n": "int64"}, name="cards", database="team"), compiler
    )


@pytest.mark.parametrize(
    ("dialect", "text"),
    [(name, text) for name, table in ACCEPTED_ELSEWHERE.items() for text in table],
    ids=row_id,
)
def test_sql_for_another_engine_that_only_reads_card_spend_is_accepted(
    dialect: str, text: str
) -> None:
    compiled = elsewhere(dialect, text)
    assert (
        re.sub(r'[\s"]', "", compiled).casefold()
        == re.sub(r'[\s"]', "", text).casefold()
    )
    assert elsewhere(dialect, compiled) == compiled


@pytest.mark.parametrize(
    ("dialect", "text"),
    [(name, text) for name, table in REFUSED_ELSEWHERE.items() for text in table],
    ids=row_id,
)
def test_other_sql_for_another_engine_is_refused(dialect: str, text: str) -> None:
    """FAULTS.md 138."""
    with pytest.raises(
        ValueError, match=r"may only read|can't (be read|call|read|contain)"
    ) as caught:
        elsewhere(dialect, text)
    assert str(caught.value).count("\n") <= 1


@pytest.mark.parametrize("dialect", ["postgres", "clickhouse", "trino"])
def test_indices_for_another_engine_stay(dialect: str) -> None:
    text = "SELECT x" + "[1]" * 40
    assert elsewhere(dialect, text) == text


def test_a_comment_does_not_reach_another_engine() -> None:
    assert (
        elsewhere("mysql", "SELECT 1 /*! UNION SELECT LOAD_FILE('x') */ AS n")
        == "SELECT 1 AS n"
    )

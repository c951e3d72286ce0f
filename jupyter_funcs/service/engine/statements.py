"""
Compile queries to DuckDB SQL: once per shape, with a placeholder for each value.

SQL is checked before it runs: it may only read known tables, and call functions whose result depends on nothing else.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import string
import time
from typing import TYPE_CHECKING, Any, TypeAlias

import ibis
import ibis.expr.datashape as ds
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import sqlglot
import sqlglot.expressions as sge
from ibis.backends.sql.compilers.duckdb import DuckDBCompiler
from sqlglot import TokenType
from sqlglot.dialects import duckdb
from sqlglot.errors import ErrorLevel, SqlglotError

from jupyter_funcs.core.text import quoted, quoted_list, suggestion
from jupyter_funcs.service.engine.calls import Compiled, Query, Statement

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterator

    import ibis.expr.types as ir
    import pyarrow as pa

    from jupyter_funcs.service.engine.calls import Executable

# The built-in functions have a few dozen shapes, most of them rare.
_MOST_CACHED = 256
# What a query may consist of besides operators, as classes of sqlglot.
_NODES = """
Abs Alias Aliases All And Any Array ArrayContainsAll ArrayOverlaps AtTimeZone Between Boolean
Bracket CTE Case Cast Collate Column ColumnDef Comprehension Concat Cube CurrentDate CurrentTime
CurrentTimestamp DataType DataTypeParam Distinct Except Exists Extract Fetch Filter From Group
GroupingSets Having Identifier If IgnoreNulls In Intersect Interval IntervalSpan JSONExtract
JSONExtractScalar Join Lambda Lateral Limit LimitOptions Literal Localtime Localtimestamp Map Null
Offset Or Order Ordered Placeholder Pow PositionalColumn Qualify RawString Rollup Select Slice Star
StartsWith StrPosition Struct Subquery Substring Table TableAlias TableSample ToMap Trim TryCast
Tuple Union Unnest Values Var Where Window WindowSpec WithinGroup
"""
# The functions of DuckDB that depend on nothing but their arguments, the time or chance. All others are refused, so
# also those that a new release adds.
_FUNCTIONS = """
abs acos age aggregate ago any_value apply approx_count_distinct approx_quantile approx_top_k
arg_max arg_max_null arg_min arg_min_null argmax argmin array array_agg array_append array_concat
array_contains array_distinct array_extract array_filter array_has array_has_all array_has_any
array_intersect array_length array_position array_prepend array_reverse array_reverse_sort
array_slice array_sort array_to_string array_transform array_unique array_value array_zip ascii asin
atan atan2 avg base64 bin bit_and bit_count bit_length bit_or bit_xor bitstring bitstring_agg
bool_and bool_or cardinality cbrt ceil ceiling char_length character_length chr coalesce columns
concat concat_ws contains corr cos cot count count_if countif covar_pop covar_samp cume_dist
current_date current_timestamp damerau_levenshtein date_add date_diff date_part date_sub date_trunc
datediff datepart datetrunc day dayname dayofmonth dayofweek dayofyear days_in_month decode degrees
dense_rank element_at encode ends_with entropy epoch epoch_ms epoch_ns epoch_us even exp extract
factorial fdiv filter first first_value flatten floor fmod format format_bytes from_base64 from_hex
from_json gcd generate_series geomean get_current_timestamp grade_up greatest group_concat grouping
grouping_id hamming hash hex histogram hour if ifnull instr isfinite isinf isnan isodow isoyear
jaro_similarity jaro_winkler_similarity json json_array json_array_length json_contains json_exists
json_extract json_extract_path json_extract_path_text json_extract_string json_keys json_merge_patch
json_object json_transform json_type json_valid json_value kurtosis kurtosis_pop lag last last_day
last_value lcase lcm lead least left len length levenshtein list list_aggregate list_any_value
list_append list_apply list_avg list_bool_and list_bool_or list_cat list_concat list_contains
list_count list_distinct list_extract list_filter list_first list_has list_has_all list_has_any
list_indexof list_intersect list_last list_max list_median list_min list_mode list_position
list_prepend list_reduce list_resize list_reverse list_reverse_sort list_select list_slice list_sort
list_string_agg list_sum list_transform list_unique list_value list_where list_zip listagg ln log
log10 log2 lower lpad ltrim mad make_date make_time make_timestamp make_timestamp_ns
make_timestamptz map map_concat map_contains map_entries map_extract map_from_entries map_keys
map_values max max_by md5 mean median microsecond millisecond min min_by minute mod mode month
monthname nanosecond now nth_value ntile nullif percent_rank percentile_cont percentile_disc pi
position pow power prefix printf product quantile quantile_cont quantile_disc quarter radians random
range rank reduce regexp_escape regexp_extract regexp_extract_all regexp_full_match regexp_matches
regexp_replace regexp_split_to_array regr_intercept regr_r2 regr_slope repeat replace reverse right
round row row_number rpad rtrim second sem sha1 sha256 sign sin skewness split split_part sqrt
starts_with stddev stddev_pop stddev_samp str_split str_split_regex strftime string_agg string_split
string_split_regex string_to_array strip_accents strlen strpos strptime struct_extract struct_insert
struct_pack substr substring suffix sum tan time_bucket timezone to_base to_base64 to_days to_hex
to_hours to_json to_microseconds to_milliseconds to_minutes to_months to_quarters to_seconds
to_timestamp to_weeks to_years today translate trim trunc try try_strptime typeof ucase unhex
unicode unnest upper url_decode url_encode uuid var_pop var_samp variance week weekday weekofyear
xor year yearweek
"""
# What ibis writes for Spark, ClickHouse and PostgreSQL besides these: functions, as sqlglot or the engine names them.
_OTHER_FUNCTIONS = """
accuratecast accuratecastornull array_max array_min array_remove array_repeat array_union
arrayenumerate arrayfilter arrayflatten arrayintersect arraymap arrayreduce arrays_zip
arraystringconcat arrayzip bitand bitnot bitor bitshiftleft bitshiftright bitwise_and_agg
bitwise_or_agg bitwise_xor_agg bitxor countdistinct countequal cutfragment date_bin date_from_parts
decode_case domain e empty explode exploding_generate_series extractgroups extracturlparameter
fragment generateuuidv4 grouparray hashfloat4extended hashfloat8extended hashint2extended
hashint4extended hashint8extended hashtextextended indexof initcap intdivorzero isinfinite isnotnull
isnull j_s_o_n_b_object_agg json_format jsonb_contains jsonb_each jsonb_extract_path
jsonb_extract_path_text jsonb_object_keys leftpadutf8 lengthutf8 make_interval map_contains_key
mapcontains mapkeys mapupdate mapvalues nanvl netloc notempty pad parsedatetime64besteffort
parsedatetimebesteffort path pathfull pg_typeof protocol quantileexactexclusive querystring
regexp_like regexp_match regexp_split reinterpretasint64 replaceall replaceregexpall rightpadutf8
sha2 siphash64 stddevpop stddevsamp str_to_time str_to_unix time time_from_parts time_str_to_time
time_to_str timestamp_from_parts timestamp_trunc timestampdiff to_jsonb todate todatetime
todatetime64 todayofmonth todayofweek todayofyear todecimal128 todecimal256 todecimal32 todecimal64
tohour toipv4 toipv6 toisoweek toisoyear tominute tomonth toquarter torelativesecondnum tosecond
tostartofinterval tostring totimezone tounixtimestamp64micro tounixtimestamp64milli toyear transform
ts_or_ds_to_date uniqhll12 unix_to_str unix_to_time varpop varsamp
"""
_NODE_NAMES = frozenset(_NODES.split())
_FUNCTION_NAMES = frozenset(_FUNCTIONS.split())
_ALL_FUNCTION_NAMES = _FUNCTION_NAMES.union(_OTHER_FUNCTIONS.split())
_TABLE_FUNCTIONS = {"generate_series", "range", "unnest"}
_ALL_TABLE_FUNCTIONS = {*_TABLE_FUNCTIONS, "explode", "exploding_generate_series"}
_STARTS = {
    TokenType.SELECT,
    TokenType.WITH,
    TokenType.FROM,
    TokenType.VALUES,
    TokenType.L_PAREN,
}
# What is written in SQL without quotes: words, numbers and the bound of a window.
_WORD = re.compile(r"(?ai)\w*|\d[\w.]*(e[+-]?\d+)?|CURRENT ROW")
# DuckDB ignores the case of these letters only.
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
# Reading a longer one takes seconds. Other engines get tables in memory as literal rows.
_LONGEST_SQL = 50_000
_LONGEST_WITH_ROWS = 250_000
_MOST_READINGS = 4
_MOST_READING_SECONDS = 2  # of the processor


# sqlglot's classes, whose types differ between its releases: a dialect, and a node of a syntax tree.
DuckDB: Any = duckdb.DuckDB
_Node: TypeAlias = Any
_Queries: TypeAlias = "tuple[str, _Queries] | None"


class AsWrittenParser(DuckDB.Parser):  # type: ignore[misc] # as said
    """A parser that knows no functions but those with a grammar of their own."""

    FUNCTIONS: dict[str, Any] = {}  # noqa: RUF012 - as in the base
    FUNCTION_PARSERS = {  # noqa: RUF012 - as above
        name: DuckDB.Parser.FUNCTION_PARSERS[name]
        for name in ("CAST", "EXTRACT", "POSITION", "SUBSTRING", "TRIM", "TRY_CAST")
    }
    # Without `~`, which matches a whole text in DuckDB 1 and any part of it in DuckDB 2.
    RANGE_PARSERS = {  # noqa: RUF012 - as above
        token: read
        for token, read in DuckDB.Parser.RANGE_PARSERS.items()
        if token is not TokenType.TILDE
    }


class AsWrittenGenerator(DuckDB.Generator):  # type: ignore[misc] # as above
    """A generator that keeps the clauses of functions it doesn't know."""

    def ignorenulls_sql(self, expression: _Node) -> Any:
        """Write IGNORE NULLS as the last words in a function's brackets."""
        if isinstance(expression.parent, sge.Anonymous):
            return f"{self.sql(expression.this)} IGNORE NULLS"
        if isinstance(expression.this, sge.Anonymous):
            return f"{self.sql(expression.this).removesuffix(')')} IGNORE NULLS)"
        return super().ignorenulls_sql(expression)

    def lambda_sql(
        self,
        expression: _Node,
        arrow_sep: str = "->",
        wrap: bool = True,  # noqa: FBT001, FBT002 - the base's
    ) -> Any:
        """Write ``lambda x: …``; DuckDB 2 refuses ``x -> …``."""
        expression.set("colon", value=True)
        return super().lambda_sql(expression, arrow_sep, wrap)

    def withingroup_sql(self, expression: _Node) -> Any:
        """Write WITHIN GROUP after a function."""
        if isinstance(expression.this, sge.Anonymous):
            return sqlglot.Generator.withingroup_sql(self, expression)
        return super().withingroup_sql(expression)


class AsWritten(DuckDB):  # type: ignore[misc] # as above
    """DuckDB's dialect, in which each function keeps the name by which the engine knows it."""

    Parser = AsWrittenParser
    Generator = AsWrittenGenerator
    INDEX_OFFSET = 0

    def to_json_path(self, path: Any) -> Any:
        """Leave a path as it is."""
        return path

    def normalize_identifier(self, expression: _Node) -> Any:
        """Lower the letters whose case DuckDB ignores."""
        if isinstance(expression, sge.Identifier):
            expression.set("this", expression.name.translate(_LOWER))
        return expression


_DUCKDB = AsWritten()


class Bound(ops.Value):  # type: ignore[misc] # ibis ships no types
    """A named placeholder in an expression, bound when the SQL runs."""

    name: str
    dtype: dt.DataType
    shape = ds.scalar


class Compiler(DuckDBCompiler):  # type: ignore[misc] # as above
    """The DuckDB compiler of ibis, extended by placeholders."""

    @staticmethod
    def visit_Bound(_op: Bound, *, name: str, dtype: dt.DataType) -> sge.Expression:  # noqa: N802, ARG004 - ibis calls it by this name, with these
        """Compile a placeholder."""
        return sge.Placeholder(this=name)

    def visit_Sum(self, op: ops.Sum, *, arg: Any, where: Any) -> Any:  # noqa: N802 - as above
        """Compile a sum and cast it to ibis's type; DuckDB's own 128 bits take twice as long to read."""
        return self.cast(super().visit_Sum(op, arg=arg, where=where), op.dtype)

    @staticmethod
    def visit_SQLStringView(_op: ops.SQLStringView, *, query: str, **_: Any) -> _Node:  # noqa: N802 - as above
        """Compile SQL that reads an expression by its alias."""
        return _own(query)

    @staticmethod
    def visit_SQLQueryResult(_op: ops.SQLQueryResult, *, query: str, **_: Any) -> _Node:  # noqa: N802 - as above
        """Compile SQL that reads tables."""
        return _own(query).subquery(copy=False)

    def sql(self, expression: ir.Table) -> str:
        """Compile an expression, without checking what its SQL does; raises `ValueError` if it can't be read."""
        with _named_errors():
            return _written(self.to_sqlglot(expression))


def _own(query: str) -> _Node:
    tree = _parsed(query)
    # ibis would move its WITH, and lose the words RECURSIVE and MATERIALIZED.
    if tree.ctes:
        return sge.select("*").from_(tree.subquery("own", copy=False))
    return tree


def checked_elsewhere(sql: str, table: ir.Table, compiler: Any) -> str:
    """Like `checked`, for SQL in the dialect of an engine's `compiler` that may only read one table."""
    dialect = compiler.dialect()
    names = {
        _name(node, dialect) for node in compiler.to_sqlglot(table).find_all(sge.Table)
    }
    began = time.thread_time()
    sql = checked(sql, names, dialect)
    # ibis does so again in the service, where nothing ends it.
    sqlglot.transpile(sql, read=compiler.dialect, write=compiler.dialect)
    if time.thread_time() - began > _MOST_READING_SECONDS:
        raise ValueError(
            "Reading the SQL takes too long. Use fewer brackets inside of brackets."
        )

    return sql


def checked(
    sql: str, tables: Collection[tuple[str, ...]], dialect: Any = _DUCKDB
) -> str:
    """
    Return a query in the form in which it may run; raises `ValueError` if it does more than read.

    `tables` are the full names of the tables that it may read, as their engine compares names: DuckDB in lower case.
    """
    with _named_errors(dialect):
        # Read until it is written as it was read: then what runs is what was checked.
        for _ in range(_MOST_READINGS):
            tree = _parsed(sql, dialect)
            _check(tree, tables, dialect)
            before = sql
            sql = _written(tree, dialect)
            if sql == before:
                return sql

    raise ValueError(
        "The SQL can't be read: its text is ambiguous. Use plain names, and brackets around operators."
    )


def _written(tree: _Node, dialect: Any = _DUCKDB) -> str:
    # Other engines may change the case of a name without quotes.
    quotes = dialect is _DUCKDB
    return str(
        tree.sql(
            dialect=dialect,
            copy=False,
            identify=quotes,
            comments=False,
            unsupported_level=ErrorLevel.RAISE,
        )
    )


@contextlib.contextmanager
def _named_errors(dialect: Any = _DUCKDB) -> Iterator[None]:
    try:
        yield
    except RecursionError:
        raise ValueError(
            "The query is nested too deeply. Split it into parts with WITH."
        ) from None
    except SqlglotError as error:
        [first, *_] = getattr(error, "errors", None) or [{}]
        if first:
            place = f" at {quoted(first['highlight'])} in line {first['line']}"
        else:
            place = f": {str(error).splitlines()[0]}"
        engine = "DuckDB" if dialect is _DUCKDB else type(dialect).__name__
        raise ValueError(
            f"The SQL can't be read{place}.\nUse a SELECT of {engine}."
        ) from None


def _parsed(sql: str, dialect: Any = _DUCKDB) -> _Node:
    longest = _LONGEST_SQL if dialect is _DUCKDB else _LONGEST_WITH_ROWS
    if len(sql) > longest:
        raise ValueError(
            f"The SQL has {len(sql):,} characters, more than {longest:,}. Join a table, not a long list."
        )

    tokens = dialect.tokenize(sql)
    if not tokens or tokens[0].token_type not in _STARTS:
        start = quoted(tokens[0].text) if tokens else "nothing"
        raise ValueError(f"A query may only read. Use one SELECT, not {start}.")

    trees = [tree for tree in dialect.parser().parse(tokens, sql) if tree is not None]
    if len(trees) != 1 or not isinstance(trees[0], sge.Query | sge.Values):
        raise ValueError(
            "A query may only read. Use one SELECT, and no other statement."
        )

    [tree] = trees
    if isinstance(tree, sge.Query):
        return tree
    return sge.select("*").from_(tree)


def _check(tree: _Node, tables: Collection[tuple[str, ...]], dialect: Any) -> None:
    # Each node with the queries of a WITH that it may read, the last one first: a name, and those before it.
    waiting: list[tuple[_Node, _Queries]] = [(tree, None)]
    # The second part of a recursion may read the name of its own WITH.
    itself: dict[int, str] = {}
    while waiting:
        node, queries = waiting.pop()
        _check_node(node, dialect)
        if isinstance(node, sge.Table) and not isinstance(node.this, sge.Func):
            _check_table(_name(node, dialect), tables, queries)
        if own := itself.get(id(node)):
            queries = own, queries
        children = list(node.iter_expressions())
        for with_ in filter(_is_with, children):
            for part in with_.iter_expressions():
                waiting.append((part, queries))
                alias = dialect.normalize_identifier(
                    part.args["alias"].this.copy()
                ).name
                is_union = isinstance(part.this, sge.Union)
                if with_.recursive and is_union and not part.this.args.get("by_name"):
                    itself[id(part.this.expression)] = alias
                # Not ClickHouse's WITH (SELECT 1) AS x, whose name is that of a value.
                if not part.args.get("scalar"):
                    queries = (alias, queries)
        waiting += [
            (child, queries) for child in itertools.filterfalse(_is_with, children)
        ]


def _is_with(node: _Node) -> bool:
    return isinstance(node, sge.With)


def _check_table(
    name: tuple[str, ...], tables: Collection[tuple[str, ...]], queries: _Queries
) -> None:
    if name in tables or (len(name) == 1 and _has(queries, *name)):
        return
    shown = ".".join(name)
    near = suggestion(shown, map(".".join, tables))
    raise ValueError(
        f"A query can't read {quoted(shown)}.{near}\nUse a table of the service, or a query in WITH."
    )


def _name(table: _Node, dialect: Any) -> tuple[str, ...]:
    """Return the parts of a table's name, in the case in which its engine compares them."""
    return tuple(dialect.normalize_identifier(part.copy()).name for part in table.parts)


def _has(queries: _Queries, name: str) -> bool:
    while queries:
        first, queries = queries
        if first == name:
            return True
    return False


def _check_node(node: _Node, dialect: Any) -> None:
    is_own = dialect is _DUCKDB
    _check_kind(node, _FUNCTION_NAMES if is_own else _ALL_FUNCTION_NAMES)
    for text in _unquoted(node, names_too=not is_own):
        if not _WORD.fullmatch(text):
            raise ValueError(
                f"A query can't contain {quoted(text)} as a name. Use a name of letters and digits."
            )

    if isinstance(node, sge.Dot) and (called := _called(node.expression)):
        raise ValueError(
            f"A query can't call {quoted(called[0])} after a dot. Write {called[0]}(…) with all its arguments."
        )

    called = []
    if isinstance(node, sge.Table | sge.Lateral):
        called = _called(node.this)
    tables = _TABLE_FUNCTIONS if is_own else _ALL_TABLE_FUNCTIONS
    if called and (tables.isdisjoint(called) or node.args.get("db")):
        readable = quoted_list(sorted(_TABLE_FUNCTIONS))
        raise ValueError(
            f"A query can't read from {quoted(called[0])}.\nUse a table of the service, or {readable}."
        )


def _check_kind(node: _Node, functions: frozenset[str]) -> None:
    called = _called(node)
    is_operator = isinstance(node, sge.Binary | sge.Unary) and not called
    is_allowed = (
        is_operator
        or type(node).__name__ in _NODE_NAMES
        or not functions.isdisjoint(called)
    )
    if called and not is_allowed:
        raise ValueError(
            f"A query can't call {quoted(called[0])}: it isn't among the functions that are known to read nothing else."
            "\nUse another function, or compute it in Python."
        )

    # The last two are ClickHouse's own.
    odd = [] if is_allowed else [node.key]
    if isinstance(node, sge.Query):
        odd += filter(node.args.get, ("settings", "format"))
    if odd:
        raise ValueError(
            f"A query may only read. Use one SELECT, without {odd[0].upper()}."
        )


def _unquoted(node: _Node, *, names_too: bool) -> Iterator[str]:
    """Return the texts of a node that are written without quotes, as are the names that other engines don't quote."""
    is_quoted = isinstance(node, sge.Identifier) and (node.quoted or not names_too)
    if not (is_quoted or isinstance(node, sge.RawString) or node.is_string):
        for value in node.args.values():
            yield from (
                text
                for text in (value if isinstance(value, list) else [value])
                if isinstance(text, str)
            )


def _called(node: Any) -> list[str]:
    """Return the names of the function that a node calls, in lower case, or none."""
    called: list[str] = getattr(node, "sql_names", list)()
    if isinstance(node, sge.Anonymous):
        called = [node.name]
    elif isinstance(node, sge.AnonymousAggFunc | sge.ParameterizedAgg):
        # ClickHouse has them, such as sumIf.
        called = [node.name, node.name.removesuffix("If")]

    return [name.translate(_LOWER) for name in called]


class Statements:
    """Compiles expressions and queries over an engine's tables; each shape of a query once."""

    def __init__(self, names: Callable[[], frozenset[tuple[str, ...]]]) -> None:
        self._compiler = Compiler()
        self._names = names
        self._known: dict[tuple[Hashable, ...], tuple[str, pa.Schema]] = {}

    def compile(
        self, result: Executable, table: Callable[[str], ir.Table]
    ) -> Statement:
        """Compile an expression or a query; `table` looks up the tables by name. Compiled SQL is only checked."""
        if isinstance(result, Compiled):
            return Statement(
                self._checked(result.sql, result.tables),
                result.schema,
                tables=result.tables,
            )

        if not isinstance(result, Query):
            expression = result.as_table()
            memory = {
                node.name: node.data.to_pyarrow(node.schema)
                for node in expression.op().find(ops.InMemoryTable)
            }
            sql = self._checked(self._compiler.sql(expression), memory)
            return Statement(sql, expression.schema().to_pyarrow(), tables=memory)

        values, types = result.bound()
        schemas = {
            name: ibis.Schema.from_pyarrow(own.schema)
            for name, own in result.tables.items()
        }
        key = (result.build, result.shape, types, *schemas.items())
        if (compiled := self._known.get(key)) is None:
            if len(self._known) >= _MOST_CACHED:
                self._known.clear()
            expression = result.expression(
                table,
                lambda name: ibis.table(schemas[name], name=name),
                lambda name, kind: Bound(name, dt.dtype(kind)).to_expr(),
            )
            sql = self._checked(self._compiler.sql(expression), schemas)
            compiled = self._known[key] = sql, expression.schema().to_pyarrow()

        return Statement(*compiled, values, result.tables)

    def _checked(self, sql: str, own: Collection[str]) -> str:
        return checked(sql, self._names() | {(name.translate(_LOWER),) for name in own})

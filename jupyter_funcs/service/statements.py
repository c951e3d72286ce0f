"""The SQL of queries on DuckDB: compiled once a shape, with a placeholder for each value."""

from __future__ import annotations

import functools
import itertools
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb
import ibis
import ibis.expr.datashape as ds
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import sqlglot.expressions as sge
from ibis.backends.sql.compilers.duckdb import DuckDBCompiler

from .prepared import Query, type_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    import ibis.expr.types as ir
    import pyarrow as pa

# The built-in functions have some dozens of shapes, most of them rare.
_MOST_KEPT = 256
# What a SELECT may call and yet change the engine with, or end its process; the last two run SQL that stands in a text.
_ACTING = {
    *("checkpoint", "force_checkpoint", "enable_profiling", "disable_profiling"),
    *("enable_logging", "disable_logging", "truncate_duckdb_logs"),
    *("query", "json_execute_serialized_sql"),
}


class Bound(ops.Value):  # type: ignore[misc] # ibis ships no types
    """A value that is bound when the SQL runs; stands in the expression by its name."""

    name: str
    dtype: dt.DataType
    shape = ds.scalar


class Compiler(DuckDBCompiler):  # type: ignore[misc] # as above
    """Compiles expressions as ibis does for DuckDB, and bound values to placeholders."""

    @staticmethod
    def visit_Bound(_op: Bound, *, name: str, dtype: dt.DataType) -> sge.Expression:  # noqa: N802, ARG004 - ibis calls it by this name, with these
        """Compile a bound value."""
        return sge.Placeholder(this=name)

    def visit_Sum(self, op: ops.Sum, *, arg: Any, where: Any) -> Any:  # noqa: N802 - as above
        """Compile a sum, as wide as ibis says it is: DuckDB's are of 128 bits, which take twice as long to read."""
        return self.cast(super().visit_Sum(op, arg=arg, where=where), op.dtype)

    def sql(self, expression: ir.Table) -> str:
        """
        Give the SQL of an expression.

        Raises
        ------
        ValueError
            SQL in it is not one SELECT: whatever else DuckDB takes may write, even to the files that it may read; or
            it calls what changes the engine.
        """
        for own in expression.op().find((ops.SQLQueryResult, ops.SQLStringView)):
            if [each.type for each in duckdb.extract_statements(own.query)] != [duckdb.StatementType.SELECT]:
                raise ValueError("A function's own SQL may only read. Give one SELECT.")
            if acting := sorted(_called(own.query) & _ACTING):
                raise ValueError(f"A function's own SQL may only read. Do without {acting[0]}().")
        return str(self.to_sqlglot(expression).sql(dialect=self.dialect))


@dataclass(frozen=True, slots=True)
class Statement:
    """
    SQL, ready to run.

    Attributes
    ----------
    schema
        The columns of its result.
    tables
        What is to be registered on the cursor that runs it.
    """

    sql: str
    schema: pa.Schema
    values: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, pa.Table] = field(default_factory=dict)


@dataclass(frozen=True)
class _Shape:
    build: Callable[..., ir.Table]
    shape: tuple[Hashable, ...]
    # The type of each value, and how many a tuple has.
    types: tuple[tuple[str, str, int | None], ...]
    tables: tuple[tuple[str, ibis.Schema], ...]
    table: Callable[[str], ir.Table] = field(compare=False)


class Statements:
    """Compiles expressions and queries over one engine's tables; keeps the SQL of the shapes that were used last."""

    def __init__(self) -> None:
        self._compiler = Compiler()
        self._of_shape = functools.lru_cache(maxsize=_MOST_KEPT)(self._compiled)

    def of(self, result: ir.Expr | Query, table: Callable[[str], ir.Table]) -> Statement:
        """
        Give the statement of an expression or a query.

        Parameters
        ----------
        table
            Gives an unbound table of the engine's by its name.

        Raises
        ------
        ValueError
            It would do more than read.
        """
        if not isinstance(result, Query):
            expression = result.as_table()
            memory = {each.name: each.data.to_pyarrow(each.schema) for each in expression.op().find(ops.InMemoryTable)}
            return Statement(self._compiler.sql(expression), _arrow(expression), tables=memory)
        values: dict[str, Any] = {}
        types: list[tuple[str, str, int | None]] = []
        for name, value in sorted(result.values.items()):
            if isinstance(value, tuple):
                each = _padded(value)
                values.update({f"{name}_{at}": item for at, item in enumerate(each)})
                types.append((name, type_of(each[0]) if each else "string", len(each)))
            else:
                values[name] = value
                types.append((name, type_of(value), None))
        tables = tuple((name, ibis.Schema.from_pyarrow(own.schema)) for name, own in result.tables.items())
        sql, schema = self._of_shape(_Shape(result.build, result.shape, tuple(types), tables, table))
        return Statement(sql, schema, values, result.tables)

    def _compiled(self, of: _Shape) -> tuple[str, pa.Schema]:
        own = {name: ibis.table(schema, name=name) for name, schema in of.tables}

        def bound(name: str, kind: str) -> ir.Value:
            return Bound(name, dt.dtype(kind)).to_expr()

        values = {
            name: bound(name, kind) if count is None else [bound(f"{name}_{at}", kind) for at in range(count)]
            for name, kind, count in of.types
        }
        expression = of.build(lambda name: own[name] if name in own else of.table(name), values, *of.shape)
        return self._compiler.sql(expression), _arrow(expression)


def _called(query: str) -> set[str]:
    """Give the functions that a text of SQL calls, and perhaps words more."""
    text = query.encode()
    starts = [at for at, _ in duckdb.tokenize(query)]
    tokens = [text[at:end].lower() for at, end in itertools.pairwise([*starts, len(text)])]
    # What precedes the bracket has its quotes, blanks and comments about it still.
    before = (one for one, other in itertools.pairwise(tokens) if other.startswith(b"("))
    return {word.decode() for one in before for word in re.findall(rb"\w+", one)}


def _arrow(expression: ir.Table) -> pa.Schema:
    return expression.schema().to_pyarrow()


def _padded(values: tuple[Any, ...]) -> tuple[Any, ...]:
    # A set of up to 64 brands has one of seven shapes so, and not of 64.
    return values + values[-1:] * ((1 << (len(values) - 1).bit_length()) - len(values))

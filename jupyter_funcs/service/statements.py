"""The SQL of queries on DuckDB: compiled once a shape, with a placeholder for each value."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb
import ibis
import ibis.expr.datashape as ds
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import sqlglot.expressions as sge
from ibis.backends.sql.compilers.duckdb import DuckDBCompiler

from .prepared import TYPES, Query

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    import ibis.expr.types as ir
    import pyarrow as pa

# The built-in functions have some dozens of shapes, most of them rare.
_MOST_KEPT = 256


class Bound(ops.Value):  # type: ignore[misc] # ibis ships no types
    """A value that is bound when the SQL runs; stands in the expression by its name."""

    name: str
    dtype: dt.DataType
    shape = ds.scalar


class Compiler(DuckDBCompiler):  # type: ignore[misc]
    """Compiles expressions as ibis does for DuckDB, and bound values to placeholders."""

    @staticmethod
    def visit_Bound(_op: Bound, *, name: str, dtype: dt.DataType) -> sge.Expression:  # noqa: N802, ARG004 - ibis calls it by this name, with these
        """Compile a bound value."""
        return sge.Placeholder(this=name)

    def visit_Sum(self, op: ops.Sum, *, arg: Any, where: Any) -> Any:  # noqa: N802
        """Compile a sum, as wide as ibis says it is: DuckDB's are of 128 bits, which take twice as long to read."""
        return self.cast(super().visit_Sum(op, arg=arg, where=where), op.dtype)

    def sql(self, expression: ir.Table) -> str:
        """
        Give the SQL of an expression.

        Raises
        ------
        ValueError
            It is not one SELECT: whatever else DuckDB takes may write, even to the files that it may read.
        """
        text: str = self.to_sqlglot(expression).sql(dialect=self.dialect)
        if [each.type for each in duckdb.extract_statements(text)] != [duckdb.StatementType.SELECT]:
            raise ValueError("An expression may only read.")
        return text


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


class Statements:
    """
    Compiles expressions and queries; keeps the SQL of the shapes that were used last.

    Parameters
    ----------
    table
        Gives an unbound table of the engine's by its name.
    """

    def __init__(self, table: Callable[[str], ir.Table]) -> None:
        self._table = table
        self._compiler = Compiler()
        self._of_shape = functools.lru_cache(maxsize=_MOST_KEPT)(self._compiled)

    def of(self, result: ir.Expr | Query) -> Statement:
        """Give the statement of an expression or a query; raises `ValueError` where it would do more than read."""
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
                types.append((name, TYPES[type(each[0])], len(each)))
            else:
                values[name] = value
                types.append((name, TYPES[type(value)], None))
        tables = tuple((name, ibis.Schema.from_pyarrow(table.schema)) for name, table in result.tables.items())
        sql, schema = self._of_shape(result.build, result.shape, tuple(types), tables)
        return Statement(sql, schema, values, result.tables)

    def _compiled(
        self,
        build: Callable[..., ir.Table],
        shape: tuple[Hashable, ...],
        types: tuple[tuple[str, str, int | None], ...],
        tables: tuple[tuple[str, ibis.Schema], ...],
    ) -> tuple[str, pa.Schema]:
        own = {name: ibis.table(schema, name=name) for name, schema in tables}

        def bound(name: str, kind: str) -> ir.Value:
            return Bound(name, dt.dtype(kind)).to_expr()

        values = {
            name: bound(name, kind) if count is None else [bound(f"{name}_{at}", kind) for at in range(count)]
            for name, kind, count in types
        }
        expression = build(lambda name: own[name] if name in own else self._table(name), values, *shape)
        return self._compiler.sql(expression), _arrow(expression)


def _arrow(expression: ir.Table) -> pa.Schema:
    return expression.schema().to_pyarrow()


def _padded(values: tuple[Any, ...]) -> tuple[Any, ...]:
    # A set of up to 60 brands has seven shapes so, and not sixty.
    return values + values[-1:] * ((1 << (len(values) - 1).bit_length()) - len(values))

"""Rewrite expressions so that every engine returns the same, even for a read-only account."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.operations as ops

from jupyter_funcs.service.engine import tables

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

    from jupyter_funcs.core.json_decoding import Values
    from jupyter_funcs.service.engine.tables import Reference

_COUNTING = (ops.IntegerRange, ops.Unnest)
MOST_LITERAL_ROWS = 500
"""The most rows of a table in memory that become literals; the backend loads a larger one into a temporary table."""


def portable(
    expression: ir.Expr, reference: Reference, backend: Any = None
) -> ir.Table:
    """Return an expression that every engine executes alike, and one with ibis's `backend` without much reading."""
    named = {
        ibis.table(schema, name=name).op(): name
        for name, schema in tables.SCHEMAS.items()
    }
    node = expression.as_table().op()
    node = node.replace(
        {
            table: ibis.memtable(reference.rows(named[table]), schema=table.schema).op()
            for table in node.find(ops.UnboundTable)
            if table in named
        }
    )
    can_count = backend is not None and all(map(backend.has_operation, _COUNTING))
    node = node.replace(
        {
            table: (_counted_rows if can_count else _literal_rows)(table).op()
            for table in node.find(ops.InMemoryTable)
            if len(_arrow(table)) <= MOST_LITERAL_ROWS
        }
    )
    return node.replace(use_doubles).to_expr()


def _arrow(table: ops.InMemoryTable) -> pa.Table:
    return table.data.to_pyarrow(table.schema)


def _counted_rows(table: ops.InMemoryTable) -> ir.Table:
    """
    Return a table in memory as numbers, and by these what is in each column.

    ClickHouse takes a second to read the union of forty rows, and a tenth for this.
    """
    rows = _arrow(table).to_pylist()
    if not rows:
        return _literal_rows(table)
    counted = ibis.range(len(rows)).unnest().name("row").as_table()

    def column(name: str, kind: Any) -> ir.Value:
        values = [row[name] for row in rows]
        texts = list(map(repr, values))
        usual = max(texts, key=texts.count)
        rest = _literal(values[texts.index(usual)], kind)
        cells = [
            (number, _literal(value, kind))
            for number, value in enumerate(values)
            if texts[number] != usual
        ]
        if cells:
            return counted.row.cases(*cells, else_=rest)
        return rest

    return counted.select(
        **{name: column(name, kind) for name, kind in table.schema.items()}
    )


def _literal(value: Any, kind: Any) -> ir.Value:
    if value is None:
        return ibis.null(kind)
    return _double(ibis.literal(value, type=kind).op()).to_expr()


def _literal_rows(table: ops.InMemoryTable) -> ir.Table:
    """Return a table in memory as a union of literal rows; ibis would create a temporary table and leave it behind."""

    def row(values: Values) -> ir.Table:
        cells = {
            name: _literal(values[name], kind) for name, kind in table.schema.items()
        }
        return ops.DummyTable(cells).to_expr()

    rows = _arrow(table).to_pylist()
    if rows:
        return ibis.union(*map(row, rows))
    return row(dict.fromkeys(table.schema)).filter(ibis.literal(value=False))


def use_doubles(node: ops.Node, changed: Values | None) -> ops.Node:
    """
    Make engines compute in doubles wherever ibis infers a double; for `Node.replace`.

    ibis's SQL leaves that to the engines, which disagree: 3 / 2 is 1.5 or 1, and 0.1 a double or a decimal.
    """
    if changed:
        node = node.__recreate__(changed)
    if isinstance(node, ops.NumericBinary):
        left = _double(node.left)
        right = _double(node.right)
        if isinstance(node, ops.Divide) and left.dtype.is_integer():
            left = ops.Cast(left, to="float64")
        if (left, right) == node.args:
            return node
        return type(node)(left, right)

    if (
        isinstance(node, ops.Mean | ops.StandardDev | ops.Variance)
        and node.arg.dtype.is_integer()
    ):
        return node.copy(arg=ops.Cast(node.arg, to="float64"))

    return node


def _double(value: ops.Value) -> ops.Value:
    if (
        isinstance(value, ops.Literal)
        and value.dtype.is_floating()
        and math.isfinite(value.value)
    ):
        return ops.Cast(
            ops.Literal(repr(float(value.value)), dtype="string"), to=value.dtype
        )

    return value

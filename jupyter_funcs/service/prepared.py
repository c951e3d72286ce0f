"""
Prepared queries: a function's query as its shape, which the SQL follows from, and its values, which are bound.

The expression of a shape is built and compiled once; whoever calls later with other values pays for neither.
"""
# ruff: noqa: PLC0415 - ibis loads on the first run: a listing does without

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    import ibis.expr.types as ir
    import pyarrow as pa

    # Takes what gives a table by name, the values as scalars by name, and the shape; gives the expression.
    Builder = Callable[..., ir.Table]


@dataclass(frozen=True)
class Query:
    """
    A query that is compiled once a shape.

    Attributes
    ----------
    build
        A function of a module, called as ``build(table, values, *shape)``: `table` gives a table by its name, the
        engine's or one of `tables`; `values` has an ibis scalar for each value, a list of them for a tuple.
    shape
        What else the expression depends on: all that changes the SQL and is no value.
    values
        The values by name: text, numbers, dates, or tuples of text, which stand for sets. They are bound.
    tables
        Tables of the query's own, by a fixed name.
    """

    build: Builder
    shape: tuple[Hashable, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, pa.Table] = field(default_factory=dict)

    def expression(self, table: Callable[[str], ir.Table]) -> ir.Table:
        """Give the expression with its values as literals and its tables in it, for an engine that compiles it."""
        import ibis

        def any_table(name: str) -> ir.Table:
            return ibis.memtable(self.tables[name]) if name in self.tables else table(name)

        literals = {
            name: [ibis.literal(each) for each in value] if isinstance(value, tuple) else ibis.literal(value)
            for name, value in self.values.items()
        }
        return self.build(any_table, literals, *self.shape)

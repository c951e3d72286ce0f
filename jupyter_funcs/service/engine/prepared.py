"""
Prepared queries: a function's query as its shape, which its SQL follows from, and its values, which are bound to that.

An engine that keeps the SQL of a shape builds and compiles it once, whatever the values are that come later.
"""
# ruff: noqa: PLC0415 - ibis loads on the first run: a listing does without

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    import ibis.expr.types as ir
    import pyarrow as pa

_TYPES: dict[type, str] = {str: "string", bool: "boolean", int: "int64", float: "float64", date: "date"}


def type_of(value: Any) -> str:
    """Give the ibis type of a value; raises `TypeError` where it can be none."""
    try:
        return _TYPES[type(value)]
    except KeyError:
        raise TypeError(f"A value is text, a number, a flag or a date, not {type(value).__name__}.") from None


@dataclass(frozen=True)
class Query:
    """
    A query in two parts: what its SQL follows from, and what is bound.

    Attributes
    ----------
    build
        A function of a module, called as ``build(table, values, *shape)`` to give the expression. `table` gives a table
        by its name, the engine's or one of `tables`; `values` has an ibis scalar for each value, for a tuple a list.
    shape
        Whatever else the expression depends on.
    values
        The values by name: text, numbers, flags and dates, or tuples of these that stand for sets.
    tables
        Tables of the query's own, by names that are fixed.
    """

    build: Callable[..., ir.Table]
    shape: tuple[Hashable, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, pa.Table] = field(default_factory=dict)

    def expression(self, table: Callable[[str], ir.Table]) -> ir.Table:
        """Give the expression with its values as literals and its own tables in it, for any engine to execute."""
        import ibis

        def any_table(name: str) -> ir.Table:
            return ibis.memtable(self.tables[name]) if name in self.tables else table(name)

        def literal(value: Any) -> ir.Value:
            return ibis.literal(value, type_of(value))

        literals = {
            name: [literal(each) for each in value] if isinstance(value, tuple) else literal(value)
            for name, value in self.values.items()
        }
        return self.build(any_table, literals, *self.shape)

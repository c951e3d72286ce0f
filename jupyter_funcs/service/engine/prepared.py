"""
Prepared queries: the shape of a query, which determines its SQL, and the values that are bound to it.

An engine that caches the SQL of a shape compiles it once for all values.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    import ibis.expr.types as ir
    import pyarrow as pa

_TYPES: dict[type, str] = {str: "string", bool: "boolean", int: "int64", float: "float64", date: "date"}


def type_of(value: Any) -> str:
    """Return the ibis type of a value; raises `TypeError` for an unsupported one."""
    try:
        return _TYPES[type(value)]
    except KeyError:
        raise TypeError(f"A value is text, a number, a boolean or a date, not {type(value).__name__}.") from None


@dataclass(frozen=True)
class Compiled:
    """
    SQL that a worker compiled, which is checked before it runs, and the tables that it has in memory.

    It is in DuckDB's dialect, or if `is_remote`, in that of the engine that has the card spend.
    """

    sql: str
    schema: pa.Schema
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    is_remote: bool = False


@dataclass(frozen=True)
class Statement:
    """SQL that is ready to run."""

    sql: str
    schema: pa.Schema
    values: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, pa.Table] = field(default_factory=dict)


def _padded(values: tuple[Any, ...]) -> tuple[Any, ...]:
    # Padding to powers of two: up to 64 brands have 7 shapes instead of 64.
    return values + values[-1:] * ((1 << (len(values) - 1).bit_length()) - len(values))


@dataclass(frozen=True)
class Query:
    """
    A query: `build` and `shape` determine its SQL, `values` are bound to it, `tables` are its own.

    `ready` is the SQL that was compiled beforehand. An engine may keep the rows of one that `is_kept` with its data.
    """

    build: Callable[..., ir.Table]
    shape: tuple[Hashable, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    ready: Callable[[], Mapping[str, Any]] = dict
    is_kept: bool = False

    def bound(self) -> tuple[dict[str, Any], tuple[tuple[str, str, int | None], ...]]:
        """Return the values by placeholder; and of each value its name, its type, and the length of a tuple."""
        values: dict[str, Any] = {}
        types: list[tuple[str, str, int | None]] = []
        for name, value in sorted(self.values.items()):
            if isinstance(value, tuple):
                each = _padded(value)
                values.update({f"{name}_{at}": item for at, item in enumerate(each)})
                types.append((name, type_of(each[0]) if each else "string", len(each)))
            else:
                values[name] = value
                types.append((name, type_of(value), None))
        return values, tuple(types)

    @property
    def key(self) -> str:
        """What determines its SQL, as the key of `ready`: SQL that was compiled beforehand."""
        return json.dumps([self.build.__name__, self.shape, self.bound()[1], sorted(self.tables)])

    def expression(self, table: Callable[[str], ir.Table]) -> ir.Table:
        """Return an expression for any engine, with the values as literals and its own tables in memory."""
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

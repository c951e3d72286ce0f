"""
What a function may use during a call, the queries that it may ask for, and the errors of calls.

A query has a shape, which determines its SQL, and values that are bound to it: an engine compiles a shape once for all.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    import ibis.expr.types as ir
    import pyarrow as pa

    from jupyter_funcs.core.json_decoding import JsonObject
    from jupyter_funcs.service.engine.tables import Reference

    Executable: TypeAlias = "ir.Expr | Query | Compiled"

# The largest result, in values. As Python objects they take 1 to 2 GB, which no memory limit of an engine covers.
_MOST_VALUES = 20_000_000
MOST_BYTES = 256 * 2**20
"""The largest body of a reply."""

# The overhead of a row, in values.
_ROW_OVERHEAD = 4

_TYPES = {
    str: "string",
    bool: "boolean",
    int: "int64",
    float: "float64",
    date: "date",
}


class CallCancelledError(Exception):
    """The call was cancelled: nobody waits for its result any more."""


class MemoryLimitError(Exception):
    """A query or its result needs more memory than allowed; the engine keeps working."""


class Call(Protocol):
    """One call of a function: the data it can read, and whether it was cancelled."""

    @property
    def reference(self) -> Reference:
        """The reference data."""

    @property
    def cancelled(self) -> bool:
        """Whether the caller no longer waits for the result."""

    def table(self, name: str) -> ir.Table:
        """Return an unbound table to build an expression on; blocks until its data are loaded."""

    def fetch(self, result: Executable) -> list[JsonObject]:
        """
        Execute an expression or a query and return its rows.

        Raises
        ------
        CallCancelledError
            The caller no longer waits for the result.
        MemoryLimitError
            The query needs more memory than the engine may use.
        """

    def arrow(self, result: Executable) -> pa.Table:
        """Execute an expression or a query and return an Arrow table; raises like `fetch`."""

    def cancel(self) -> None:
        """Stop the running query as soon as possible and start no other; returns at once."""


def check_size(rows: int, columns: int) -> None:
    """Raise `MemoryLimitError` for a result that is larger than the service can hold."""
    if rows * (columns + _ROW_OVERHEAD) > _MOST_VALUES:
        raise MemoryLimitError(
            f"The result has more than {rows:,} rows of {columns} columns. Ask for less."
        )


def check_bytes(size: int) -> None:
    """Raise `MemoryLimitError` for a result, or a part of it, that is larger than a reply may be."""
    if size > MOST_BYTES:
        raise MemoryLimitError(
            f"The result is larger than {MOST_BYTES} bytes. Ask for less."
        )


def type_of(value: Any) -> str:
    """Return the ibis type of a value; raises `TypeError` for an unsupported one."""
    try:
        return _TYPES[type(value)]
    except KeyError:
        raise TypeError(
            f"A value is text, a number, a boolean or a date, not {type(value).__name__}."
        ) from None


@dataclass(frozen=True)
class Compiled:
    """
    SQL that a worker compiled, and the tables that it has in memory.

    It is in DuckDB's dialect and checked before it runs; or if `is_remote`, it is checked already, and in the dialect
    of the engine that has the card spend.
    """

    sql: str
    schema: pa.Schema
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    is_remote: bool = False


class Statement(NamedTuple):
    sql: str
    schema: pa.Schema
    values: Mapping[str, Any] = {}
    tables: Mapping[str, pa.Table] = {}


def _padded(values: tuple[Any, ...]) -> tuple[Any, ...]:
    # Padding to powers of two: up to 64 brands have 7 shapes instead of 64.
    return values + values[-1:] * ((1 << (len(values) - 1).bit_length()) - len(values))


@dataclass(frozen=True)
class Query:
    """
    A query: `build` and `shape` determine its SQL, `values` are bound to it, `tables` are its own.

    `ready` is the SQL that was compiled beforehand.
    """

    build: Callable[..., ir.Table]
    shape: tuple[Hashable, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    ready: Callable[[], Mapping[str, Any]] = dict

    def bound(self) -> tuple[JsonObject, tuple[tuple[str, str, int | None], ...]]:
        """Return the values by the names they are bound to; and for each its name, type, and the length of a tuple."""
        values: JsonObject = {}
        types: list[tuple[str, str, int | None]] = []
        for name, value in sorted(self.values.items()):
            if isinstance(value, tuple):
                padded = _padded(value)
                values |= {f"{name}_{at}": item for at, item in enumerate(padded)}
                types.append(
                    (name, type_of(padded[0]) if padded else "string", len(padded))
                )
            else:
                values[name] = value
                types.append((name, type_of(value), None))

        return values, tuple(types)

    @property
    def key(self) -> str:
        """What determines its SQL, as the key of `ready`: SQL that was compiled beforehand."""
        return json.dumps(
            [self.build.__name__, self.shape, self.bound()[1], sorted(self.tables)]
        )

    def expression(
        self,
        table: Callable[[str], ir.Table],
        own: Callable[[str], ir.Table] | None = None,
        bound: Callable[[str, str], ir.Value] | None = None,
    ) -> ir.Table:
        """
        Return an expression for any engine, with the values as literals and its own tables in memory.

        `own`, if given, returns each of these tables by its name, and `bound` each value by its bound name and type.
        """
        import ibis

        own = own or (lambda name: ibis.memtable(self.tables[name]))

        def made(name: str, value: Any) -> ir.Value:
            if bound:
                return bound(name, type_of(value))
            return ibis.literal(value, type_of(value))

        values = {
            name: [made(f"{name}_{at}", item) for at, item in enumerate(_padded(value))]
            if isinstance(value, tuple)
            else made(name, value)
            for name, value in self.values.items()
        }
        return self.build(
            lambda name: own(name) if name in self.tables else table(name),
            values,
            *self.shape,
        )

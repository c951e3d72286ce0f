"""What a function may use during a call: the protocol of calls, and their errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

    from jupyter_funcs.service.engine.prepared import Compiled, Query
    from jupyter_funcs.service.engine.reference import Reference

# The largest result, in values. As Python objects they take 1 to 2 GB, which no memory limit of an engine covers.
_MOST_VALUES = 20_000_000
MOST_BYTES = 256 * 2**20
"""The largest body of a reply."""

# The overhead of a row, in values.
_ROW_OVERHEAD = 4


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

    def fetch(self, result: ir.Expr | Query | Compiled) -> list[dict[str, Any]]:
        """
        Execute an expression or a query and return its rows.

        Raises
        ------
        CallCancelledError
            The caller no longer waits for the result.
        MemoryLimitError
            The query needs more memory than the engine may use.
        """

    def arrow(self, result: ir.Expr | Query | Compiled) -> pa.Table:
        """Execute an expression or a query and return an Arrow table; raises like `fetch`."""

    def cancel(self) -> None:
        """Stop the running query as soon as possible and start no other; returns at once."""


def check_size(rows: int, columns: int) -> None:
    """Raise `MemoryLimitError` for a result that is larger than the service can hold."""
    if rows * (columns + _ROW_OVERHEAD) > _MOST_VALUES:
        raise MemoryLimitError(f"The result has more than {rows:,} rows of {columns} columns. Ask for less.")


def check_bytes(size: int) -> None:
    """Raise `MemoryLimitError` for a result, or a part of it, that is larger than a reply may be."""
    if size > MOST_BYTES:
        raise MemoryLimitError(f"The result is larger than {MOST_BYTES} bytes. Ask for less.")

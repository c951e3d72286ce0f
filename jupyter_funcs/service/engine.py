"""
The engine: owns the connection to the tables, and executes one expression at a time for each call.

Functions are written against unbound ibis tables, so that only this room knows that DuckDB answers them.
"""
# ruff: noqa: PLC0415 - ibis and DuckDB load on the first run: a listing does without

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import duckdb
    import ibis.expr.types as ir
    import pyarrow as pa
    from ibis.backends.duckdb import Backend

    from .prepared import Query
    from .reference import Reference

_Rows = TypeVar("_Rows")

CARDS = {
    "panel": "string",
    "symbol": "string",
    "merchant": "string",
    "region": "string",
    "generation": "string",
    "date": "date",
    "spend_cents": "int64",
    "transactions": "int32",
    "cards": "int32",
}
"""The columns of card spend: a row a panel, brand, region, age group and day that has data; money in whole cents."""

# How often a cancelled call interrupts its query: an interrupt that falls between two of its steps is lost.
_INTERRUPT_EVERY_SECONDS = 0.05


class CallCancelledError(Exception):
    """Nobody waits for the call any more."""


class MemoryLimitError(Exception):
    """A query needed more memory than the engine may take; the engine goes on serving."""


class Call(Protocol):
    """One call of a function: what it may read, and whether somebody still waits for it."""

    @property
    def reference(self) -> Reference:
        """The reference data."""

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for it any more."""

    def table(self, name: str) -> ir.Table:
        """Give a table to build an expression on; what it stands for is ready when this returns."""

    def fetch(self, result: ir.Table | Query) -> list[dict[str, Any]]:
        """
        Execute an expression or a query and give its rows.

        Raises
        ------
        CallCancelledError
            Nobody waits any more.
        MemoryLimitError
            It needs more memory than the engine may take.
        """

    def arrow(self, result: ir.Table | Query) -> pa.Table:
        """Execute an expression or a query and give its rows as an Arrow table; raises as `fetch` does."""

    def cancel(self) -> None:
        """Stop what runs as soon as it can be, and let nothing start; returns at once."""


class Engine(Protocol):
    """Executes expressions and queries over the reference data and card spend, for many threads at once."""

    @property
    def reference(self) -> Reference:
        """The reference data, known from the start."""

    def call(self) -> Call:
        """Begin a call."""

    def close(self) -> None:
        """Let go of the connection; no call is to begin after."""


def connect_engine(url: str, reference: Reference, cards: Callable[[], Path]) -> Engine:
    """
    Give the engine that a URL names.

    Parameters
    ----------
    url
        ``duckdb://``, ``duckdb:///file.db``, or the URL of another engine that ibis connects to.
    """
    scheme, _, rest = url.partition("://")
    if scheme == "duckdb" and not rest.strip("/"):
        return DuckDBEngine(reference, cards)
    raise NotImplementedError(url)


class DuckDBEngine:
    """
    Executes expressions over the reference data and card spend.

    Parameters
    ----------
    reference
        Known from the start: listings and the checking of arguments need nothing else.
    cards
        Gives the path of the Parquet file of card spend (columns `CARDS`). Called once, by the first call that
        needs it and in that call's thread, for it may have to generate the data.
    """

    def __init__(self, reference: Reference, cards: Callable[[], Path]) -> None:
        self.reference = reference
        self._cards = cards
        self._backend: Backend | None = None
        self._backend_lock = threading.Lock()
        self._has_cards = False
        self._cards_lock = threading.Lock()

    def call(self) -> DuckDBCall:
        """Begin a call."""
        return DuckDBCall(self)

    def close(self) -> None:
        """Let go of the connection."""
        with self._backend_lock:
            if self._backend is not None:
                self._backend.disconnect()
                self._backend = None

    def table(self, name: str) -> ir.Table:
        """Give an unbound table; what it stands for is ready when this returns."""
        import ibis

        from . import tables

        if name == "cards":
            self._load_cards()
            return ibis.table(CARDS, name=name)
        return ibis.table(tables.SCHEMAS[name], name=name)

    def connect(self) -> tuple[Backend, duckdb.DuckDBPyConnection]:
        """Give the backend, which compiles, and a cursor of its connection that one thread may use."""
        import ibis

        from . import tables

        with self._backend_lock:
            if self._backend is None:
                # Nothing is ever fetched from the network for a query.
                backend = ibis.duckdb.connect(autoinstall_known_extensions=False)
                for name, table in tables.arrow_tables(self.reference).items():
                    backend.create_table(name, table)
                self._backend = backend
            # Threads that share one DuckDB connection get each other's results, and no error.
            return self._backend, self._backend.con.cursor()

    def _load_cards(self) -> None:
        # A lock of its own: whoever lists panels or symbols does not wait for the data to be generated.
        with self._cards_lock:
            if not self._has_cards:
                path = str(self._cards()).replace("'", "''")
                _, cursor = self.connect()
                # A view of the database's own: ibis would make a temporary one, which other cursors do not see.
                cursor.execute(f"CREATE VIEW cards AS FROM read_parquet('{path}')")
                cursor.close()
                self._has_cards = True


class DuckDBCall:
    """One call of a function on DuckDB."""

    def __init__(self, engine: DuckDBEngine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._cursor: duckdb.DuckDBPyConnection | None = None
        self.cancelled = False

    @property
    def reference(self) -> Reference:
        """The reference data."""
        return self._engine.reference

    def table(self, name: str) -> ir.Table:
        """Give a table to build an expression on."""
        return self._engine.table(name)

    def fetch(self, result: ir.Table | Query) -> list[dict[str, Any]]:
        """Execute an expression or a query and give its rows."""

        def rows(cursor: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

        return self._execute(result, rows)

    def arrow(self, result: ir.Table | Query) -> pa.Table:
        """Execute an expression or a query and give its rows as an Arrow table."""
        return self._execute(result, lambda cursor: cursor.to_arrow_table())

    def _execute(self, result: ir.Table | Query, read: Callable[[duckdb.DuckDBPyConnection], _Rows]) -> _Rows:
        import ibis.expr.operations as ops

        from .prepared import Query

        expression = result.expression(self.table) if isinstance(result, Query) else result
        backend, cursor = self._engine.connect()
        try:
            self._begin(cursor)
            for table in expression.op().find(ops.InMemoryTable):
                # Registered on the cursor, so that it ends with the call.
                cursor.register(table.name, table.data.to_pyarrow(table.schema))
            cursor.execute(backend.compile(expression))
            return read(cursor)
        except Exception as error:
            if self.cancelled:
                raise CallCancelledError from error
            raise
        finally:
            with self._lock:
                self._cursor = None
            cursor.close()

    def _begin(self, cursor: duckdb.DuckDBPyConnection) -> None:
        with self._lock:
            if self.cancelled:
                raise CallCancelledError
            self._cursor = cursor

    def cancel(self) -> None:
        """Stop the query as soon as it can be; returns at once."""
        with self._lock:
            self.cancelled = True
            running = self._cursor is not None
        if running:
            threading.Thread(target=self._interrupt, name="interrupt a query", daemon=True).start()

    def _interrupt(self) -> None:
        done = threading.Event()
        while not done.wait(_INTERRUPT_EVERY_SECONDS):
            with self._lock:
                if self._cursor is None:
                    done.set()
                else:
                    self._cursor.interrupt()

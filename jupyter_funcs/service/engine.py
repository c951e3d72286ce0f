"""
The engine: owns the connection to the tables, and executes one expression at a time for each call.

Functions are written against unbound ibis tables, so that only this room knows that DuckDB answers them.
"""
# ruff: noqa: PLC0415 - ibis and DuckDB load on the first run: a listing does without

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import duckdb
    import ibis.expr.types as ir
    from ibis.backends.duckdb import Backend

    from .reference import Reference

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


class Engine:
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

    def call(self) -> Call:
        """Begin a call."""
        return Call(self)

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


class Call:
    """One call of a function: what it may read, and whether somebody still waits for it."""

    def __init__(self, engine: Engine) -> None:
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

    def fetch(self, expression: ir.Table) -> list[dict[str, Any]]:
        """Execute an expression and give its rows; raises `CallCancelledError` when nobody waits any more."""
        import ibis.expr.operations as ops

        backend, cursor = self._engine.connect()
        try:
            self._begin(cursor)
            for table in expression.op().find(ops.InMemoryTable):
                # Registered on the cursor, so that it ends with the call.
                cursor.register(table.name, table.data.to_pyarrow(table.schema))
            cursor.execute(backend.compile(expression))
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
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

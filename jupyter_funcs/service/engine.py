"""
The engine: owns the connection to the tables, and executes one query at a time for each call.

Functions are written against unbound ibis tables, so that only an engine knows what answers them: DuckDB here, any
other that ibis speaks to in `remote`.
"""
# ruff: noqa: PLC0415 - ibis and DuckDB load on the first run: a listing does without

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import duckdb
    import ibis.expr.types as ir
    import pyarrow as pa

    from .dataset import Cards
    from .prepared import Query
    from .reference import Reference
    from .statements import Statement, Statements

# How often a cancelled call interrupts its query: an interrupt that falls between two of its steps is lost.
_INTERRUPT_EVERY_SECONDS = 0.05
# Rows that are read at once: few enough that a call stops soon after it is cancelled.
_BATCH = 10_000


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

    def fetch(self, result: ir.Expr | Query) -> list[dict[str, Any]]:
        """
        Execute an expression or a query and give its rows.

        Raises
        ------
        CallCancelledError
            Nobody waits any more.
        MemoryLimitError
            It needs more memory than the engine may take.
        """

    def arrow(self, result: ir.Expr | Query) -> pa.Table:
        """Execute an expression or a query and give its rows as an Arrow table; raises as `fetch` does."""

    def cancel(self) -> None:
        """Stop what runs as soon as it can be, and let nothing start; returns at once."""


class Engine(Protocol):
    """Executes expressions and queries over the reference data and card spend, for many threads at once."""

    @property
    def reference(self) -> Reference:
        """The reference data, known from the start."""

    def open(self) -> None:
        """Make ready now what the first call would; raises `SetupError` where the data cannot be read."""

    def call(self) -> Call:
        """Begin a call."""

    def close(self) -> None:
        """Let go of the connection; no call is to begin after."""


def connect_engine(
    url: str,
    reference: Reference,
    cards: Callable[[], Cards],
    *,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Engine:
    """
    Give the engine that a URL names.

    Parameters
    ----------
    url
        ``duckdb://`` for one in memory, ``duckdb:///folder/file.db`` for a file, which is only read, or the URL of
        another engine that ibis connects to.
    reference, cards, memory_limit, threads
        As of `DuckDBEngine`; limits of another engine are its own.
    """
    scheme, _, path = url.partition("://")
    if scheme != "duckdb":
        from .remote import RemoteEngine

        return RemoteEngine(url, reference, cards)
    database = Path(path) if path else None
    return DuckDBEngine(reference, cards, database=database, memory_limit=memory_limit, threads=threads)


class DuckDBEngine:
    """
    Executes expressions and queries on a DuckDB of the process's own, locked before the first of them.

    Parameters
    ----------
    reference
        Known from the start: listings and the checking of arguments need nothing else.
    cards
        Says where card spend lies. Called by the first call that needs it, in that call's thread and until it succeeds,
        for it may have to generate the data.
    database, memory_limit, threads
        As of `sandbox.opened`.
    """

    def __init__(
        self,
        reference: Reference,
        cards: Callable[[], Cards],
        *,
        database: Path | None = None,
        memory_limit: str | None = None,
        threads: int | None = None,
    ) -> None:
        self.reference = reference
        self._find_cards = cards
        self._options: dict[str, Any] = {"database": database, "memory_limit": memory_limit, "threads": threads}
        self._lock = threading.Lock()
        self._cards_lock = threading.Lock()
        self._cards: Cards | None = None
        self._con: duckdb.DuckDBPyConnection | None = None
        self._statements: Statements | None = None

    def open(self) -> None:
        """Make ready now what the first call would; raises `SetupError` where the data cannot be read."""
        self._load_cards()

    def call(self) -> DuckDBCall:
        """Begin a call."""
        return DuckDBCall(self)

    def close(self) -> None:
        """Let go of the database; calls that still run end first."""
        with self._lock:
            if self._con is not None:
                self._con.close()
                self._con = None

    def table(self, name: str) -> ir.Table:
        """Give an unbound table; what it stands for is ready when this returns."""
        import ibis

        from . import tables

        if name == "cards":
            return ibis.table(self._load_cards().schema, name=name)
        return ibis.table(tables.SCHEMAS[name], name=name)

    def statement(self, result: ir.Expr | Query) -> Statement:
        """Give the SQL of an expression or a query."""
        with self._lock:
            if self._statements is None:
                from .statements import Statements

                self._statements = Statements(self.table)
        return self._statements.of(result)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Give a cursor for one thread: those that share one get each other's results, and no error."""
        with self._lock:
            if self._con is None:
                self._con = self._opened(None)
            return self._con.cursor()

    def memory_limit(self) -> str:
        """Give the memory that all queries share, such as ``11.7 GiB``."""
        with contextlib.closing(self.cursor()) as cursor:
            [(limit,)] = cursor.execute("SELECT current_setting('memory_limit')").fetchall()
        return str(limit)

    def _load_cards(self) -> Cards:
        # A lock of its own: whoever lists panels or symbols does not wait for the data to be generated.
        with self._cards_lock:
            if self._cards is None:
                cards = self._find_cards()
                con = self._opened(cards)
                # What is locked can take in no more data, so one that has them takes its place.
                with self._lock:
                    before, self._con = self._con, con
                if before is not None:
                    before.close()
                self._cards = cards
            return self._cards

    def _opened(self, cards: Cards | None) -> duckdb.DuckDBPyConnection:
        from . import sandbox, tables

        spill = Path(tempfile.mkdtemp(prefix="jupyter_funcs.spill."))
        weakref.finalize(self, shutil.rmtree, spill, ignore_errors=True)
        return sandbox.opened(tables.arrow_tables(self.reference), cards, spill, **self._options)


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

    def fetch(self, result: ir.Expr | Query) -> list[dict[str, Any]]:
        """Execute an expression or a query and give its rows."""
        rows: list[dict[str, Any]] = []
        with self._executed(result) as (cursor, schema):
            names = schema.names
            while batch := cursor.fetchmany(_BATCH):
                rows += [dict(zip(names, row, strict=True)) for row in batch]
                self._go_on()
        return rows

    def arrow(self, result: ir.Expr | Query) -> pa.Table:
        """Execute an expression or a query and give its rows as an Arrow table."""
        import pyarrow as pa

        batches = []
        with self._executed(result) as (cursor, schema):
            reader = cursor.to_arrow_reader(_BATCH)
            for batch in reader:
                batches.append(batch)
                self._go_on()
            return pa.Table.from_batches(batches, reader.schema).cast(schema)

    @contextlib.contextmanager
    def _executed(self, result: ir.Expr | Query) -> Iterator[tuple[duckdb.DuckDBPyConnection, pa.Schema]]:
        import duckdb

        self._go_on()
        statement = self._engine.statement(result)
        cursor = self._engine.cursor()
        try:
            with self._lock:
                self._go_on()
                self._cursor = cursor
            for name, table in statement.tables.items():
                # Registered on the cursor, so that it ends with the call.
                cursor.register(name, table)
            cursor.execute(statement.sql, statement.values)
            yield cursor, statement.schema
        except Exception as error:
            if self.cancelled:
                raise CallCancelledError from error
            if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
                raise MemoryLimitError(
                    f"The query needs more memory than the {self._engine.memory_limit()} that all queries share. "
                    "Ask for less: fewer dimensions, or brands at a time."
                ) from error
            raise
        finally:
            with self._lock:
                self._cursor = None
            cursor.close()

    def _go_on(self) -> None:
        if self.cancelled:
            raise CallCancelledError

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

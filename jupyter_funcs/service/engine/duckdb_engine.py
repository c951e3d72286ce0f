"""
The engine: owns the connection to the tables, and executes one query at a time for each call.

Functions are written against unbound ibis tables, so that only an engine knows what answers them: DuckDB here, any
other that ibis speaks to in `remote`.
"""
# ruff: noqa: PLC0415 - ibis and DuckDB load on the first run: a listing does without

from __future__ import annotations

import contextlib
import tempfile
import threading
from concurrent.futures import Future, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .spill import SpillFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import duckdb
    import ibis.expr.types as ir
    import pyarrow as pa

    from .dataset import Cards
    from .prepared import Query
    from .reference import Reference
    from .statements import Statement, Statements

# How often a cancelled call interrupts its query: an interrupt that falls between two of its steps is lost. Also how
# often a call that waits for the data looks whether it is cancelled.
_LOOK_EVERY_SECONDS = 0.05
# Rows that are read at once: few enough that a call stops soon after it is cancelled.
_BATCH = 10_000


# Of a result: as Python objects they take a gigabyte or two, for which DuckDB's own limit does not stand.
_MOST_VALUES = 20_000_000
# What a row costs beside its values, in values.
_ROW = 4


class CallCancelledError(Exception):
    """Nobody waits for the call any more."""


class MemoryLimitError(Exception):
    """A query or its result needs more memory than it may take; the engine goes on serving."""


def bound(rows: int, columns: int) -> None:
    """Raise `MemoryLimitError` where a result is more than the service can hold."""
    if rows * (columns + _ROW) > _MOST_VALUES:
        raise MemoryLimitError(f"The result has more than {rows:,} rows of {columns} columns. Ask for less.")


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


class DuckDBEngine:
    """
    Executes expressions and queries on a DuckDB of the process's own, locked before the first of them.

    Parameters
    ----------
    reference
        Known from the start: listings and the checking of arguments need nothing else.
    cards
        Says where card spend lies. Called when the first call needs it and until it succeeds, in a thread of its own:
        it may have to generate the data, and the calls that wait can be cancelled meanwhile.
    database, memory_limit
        As of `sandbox.opened`.
    """

    def __init__(
        self,
        reference: Reference,
        cards: Callable[[], Cards],
        *,
        database: Path | None = None,
        memory_limit: str | None = None,
    ) -> None:
        self.reference = reference
        self._find_cards = cards
        self._options: dict[str, Any] = {"database": database, "memory_limit": memory_limit}
        self._lock = threading.Lock()
        self._loading: Future[Cards] | None = None
        self._con: duckdb.DuckDBPyConnection | None = None
        self._statements: Statements | None = None
        self._spill: SpillFolder | None = None

    def open(self) -> None:
        """Make ready now what the first call would; raises `SetupError` where the data cannot be read."""
        self.table("cards")

    def call(self) -> DuckDBCall:
        """Begin a call."""
        return DuckDBCall(self)

    def close(self) -> None:
        """Let go of the database; it ends with the last call that still runs."""
        with self._lock:
            if self._con is not None:
                self._con.close()
                self._con = None
            if self._spill is not None:
                self._spill.close()

    def table(self, name: str, go_on: Callable[[], None] = lambda: None) -> ir.Table:
        """Give an unbound table; what it stands for is ready when this returns, or `go_on` raises meanwhile."""
        import ibis

        from . import tables

        schema = self._ready(go_on).schema if name == "cards" else tables.SCHEMAS[name]
        return ibis.table(schema, name=name)

    def statement(self, result: ir.Expr | Query, table: Callable[[str], ir.Table]) -> Statement:
        """Give the SQL of an expression or a query, whose tables are those that `table` gives by name."""
        with self._lock:
            if self._statements is None:
                from .statements import Statements

                self._statements = Statements()
        return self._statements.of(result, table)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Give a cursor for one thread: those that share one get each other's results, and no error."""
        with self._lock:
            if self._con is None:
                self._con = self._opened(None, self._folder())
            return self._con.cursor()

    def memory_limit(self) -> str:
        """Give the memory that all queries share, such as ``11.7 GiB``."""
        with contextlib.closing(self.cursor()) as cursor:
            [(limit,)] = cursor.execute("SELECT current_setting('memory_limit')").fetchall()
        return str(limit)

    def _ready(self, go_on: Callable[[], None]) -> Cards:
        with self._lock:
            if self._loading is None:
                self._loading = Future()
                threading.Thread(target=self._load, args=(self._loading,), name="load card spend", daemon=True).start()
            loading = self._loading
        while not wait([loading], _LOOK_EVERY_SECONDS).done:
            go_on()
        return loading.result()

    def _load(self, loading: Future[Cards]) -> None:
        try:
            cards = self._find_cards()
            with self._lock:
                spill = self._folder()
            # What is locked can take in no more data, so one that has them takes its place.
            con = self._opened(cards, spill)
            with self._lock:
                before, self._con = self._con, con
            if before is not None:
                before.close()
            loading.set_result(cards)
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            with self._lock:
                self._loading = None
            loading.set_exception(error)

    def _folder(self) -> Path:
        """Give an empty folder that nobody else may read; it ends with the engine."""
        if self._spill is None:
            self._spill = SpillFolder()
        return Path(tempfile.mkdtemp(dir=self._spill.path))

    def _opened(self, cards: Cards | None, spill: Path) -> duckdb.DuckDBPyConnection:
        from . import sandbox, tables

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
        return self._engine.table(name, self._go_on)

    def fetch(self, result: ir.Expr | Query) -> list[dict[str, Any]]:
        """Execute an expression or a query and give its rows."""
        rows: list[dict[str, Any]] = []
        with self._executed(result) as (cursor, schema):
            names = schema.names
            while batch := cursor.fetchmany(_BATCH):
                rows += [dict(zip(names, row, strict=True)) for row in batch]
                bound(len(rows), len(names))
                self._go_on()
        return rows

    def arrow(self, result: ir.Expr | Query) -> pa.Table:
        """Execute an expression or a query and give its rows as an Arrow table."""
        import pyarrow as pa

        batches, rows = [], 0
        with self._executed(result) as (cursor, schema):
            reader = cursor.to_arrow_reader(_BATCH)
            for batch in reader:
                batches.append(batch)
                rows += len(batch)
                bound(rows, len(schema))
                self._go_on()
            return pa.Table.from_batches(batches, reader.schema).cast(schema)

    @contextlib.contextmanager
    def _executed(self, result: ir.Expr | Query) -> Iterator[tuple[duckdb.DuckDBPyConnection, pa.Schema]]:
        import duckdb

        self._go_on()
        statement = self._engine.statement(result, self.table)
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
        while not done.wait(_LOOK_EVERY_SECONDS):
            with self._lock:
                if self._cursor is None:
                    done.set()
                else:
                    self._cursor.interrupt()

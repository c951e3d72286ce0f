"""
An engine other than DuckDB: queries over card spend run there, on pooled connections.

Reference data stay in the service. A local DuckDB answers queries that read nothing else; joins with card spend get
them as literal rows, so a read-only account is enough.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

from jupyter_funcs.service.engine.backends import SPARK_CONNECT, EngineURL
from jupyter_funcs.service.engine.calls import CallCancelledError, check_bytes, check_size
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine
from jupyter_funcs.service.engine.prepared import Compiled, Query
from jupyter_funcs.service.messages import SetupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import ibis.expr.operations as ops
    import ibis.expr.types as ir
    import pyarrow as pa

    from jupyter_funcs.service.engine.backends import EngineConnection
    from jupyter_funcs.service.engine.reference import Reference
    from jupyter_funcs.service.engine.tables import Cards

# Servers and proxies drop idle connections, which shows only when a query fails.
_MOST_IDLE_SECONDS = 60
# How often a cancelled call interrupts its query: an interrupt before the query starts is lost.
_INTERRUPT_EVERY_SECONDS = 0.2


class ConnectionPool:
    """The connections to an engine, each for one call at a time."""

    def __init__(self, connect: Callable[[], EngineConnection]) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._idle: list[tuple[EngineConnection, float]] = []
        self._is_closed = False

    @contextlib.contextmanager
    def borrow(self) -> Iterator[EngineConnection]:
        """Borrow a connection; it is closed if anything fails."""
        connection = self._take()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self.give_back(connection)

    def _take(self) -> EngineConnection:
        found, stale = None, []
        with self._lock:
            while self._idle and found is None:
                connection, since = self._idle.pop()
                if time.monotonic() - since <= _MOST_IDLE_SECONDS:
                    found = connection
                else:
                    stale.append(connection)
        for each in stale:
            each.close()
        return found or self._connect()

    def give_back(self, connection: EngineConnection) -> None:
        """Return a connection for the next call."""
        with self._lock:
            if not self._is_closed:
                self._idle.append((connection, time.monotonic()))
                return
        connection.close()

    def close(self) -> None:
        """Close all connections; those in use as soon as they are returned."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()


class RemoteEngine:
    """Runs queries over card spend on another engine."""

    def __init__(self, url: str, reference: Reference, cards: Callable[[], Cards]) -> None:
        self.reference = reference
        self.connections = ConnectionPool(self._connect)
        self.own = DuckDBEngine(reference, _no_local_cards)
        self._address = EngineURL(url)
        self.dialect = "pyspark" if self._address.scheme == SPARK_CONNECT else self._address.scheme
        self._find_cards = cards
        self._lock = threading.Lock()
        self._source: ops.UnboundTable | None = None
        self._cards: ir.Table | None = None

    def open(self) -> None:
        """Connect and find card spend."""
        self._load_cards()

    def call(self) -> RemoteEngineCall:
        """Begin a call."""
        return RemoteEngineCall(self)

    def close(self) -> None:
        """Close the connections."""
        self.connections.close()
        self.own.close()

    def table(self, name: str) -> ir.Table:
        """Return an unbound table; connects first if it is card spend."""
        from jupyter_funcs.service.engine.portable import reference_table

        return self._load_cards() if name == "cards" else reference_table(name)

    def _load_cards(self) -> ir.Table:
        with self._lock:
            if self._cards is None:
                with self.connections.borrow() as connection:
                    source, self._cards = self._address.card_spend(connection, self._find_cards())
                    self._source = source.op()
            return self._cards

    def _connect(self) -> EngineConnection:
        connection = self._address.connect()
        try:
            self._address.card_spend(connection, self._find_cards())
        except BaseException:
            connection.close()
            raise
        return connection

    def reads_cards(self, expression: ir.Expr) -> bool:
        """Return whether an expression reads card spend, and so must run on the other engine."""
        import ibis.expr.operations as ops

        return self._source in expression.op().find(ops.UnboundTable)


class RemoteEngineCall:
    """One call of a function on another engine."""

    def __init__(self, engine: RemoteEngine) -> None:
        self._engine = engine
        self._own = engine.own.call()
        self._lock = threading.Lock()
        self._running: EngineConnection | None = None

    @property
    def reference(self) -> Reference:
        """The reference data."""
        return self._engine.reference

    @property
    def cancelled(self) -> bool:
        """Whether the caller no longer waits for the result."""
        return self._own.cancelled

    @property
    def dialect(self) -> str:
        """The other engine's dialect, as ibis names it."""
        return self._engine.dialect

    def table(self, name: str) -> ir.Table:
        """Return a table to build an expression on."""
        return self._engine.table(name)

    def fetch(self, result: ir.Expr | Query | Compiled) -> list[dict[str, Any]]:
        """Execute an expression or a query and return its rows."""
        if (build := self._remote(result)) is None:
            return self._own.fetch(result)
        rows: list[dict[str, Any]] = self._execute(build).to_pylist()
        return rows

    def arrow(self, result: ir.Expr | Query | Compiled) -> pa.Table:
        """Execute an expression or a query and return an Arrow table."""
        build = self._remote(result)
        return self._own.arrow(result) if build is None else self._execute(build)

    def _remote(self, result: ir.Expr | Query | Compiled) -> Callable[[EngineConnection], ir.Table] | None:
        """Return what makes an expression for a connection; `None` if the other engine isn't needed."""
        import ibis

        from jupyter_funcs.service.engine.portable import portable

        if isinstance(result, Compiled):
            schema = ibis.Schema.from_pyarrow(result.schema)
            return (lambda to: to.backend.sql(result.sql, schema=schema)) if result.is_remote else None
        expression = result.expression(self.table) if isinstance(result, Query) else result
        is_remote = self._engine.reads_cards(expression)
        return (lambda _: portable(expression, self.reference)) if is_remote else None

    def _execute(self, build: Callable[[EngineConnection], ir.Table]) -> pa.Table:
        try:
            with self._engine.connections.borrow() as connection:
                self._begin(connection)
                try:
                    found = connection.arrow(build(connection))
                finally:
                    with self._lock:
                        self._running = None
                # A late interrupt would stop the query of the next call.
                self._check_cancelled()
                check_size(found.num_rows, found.num_columns)
                check_bytes(found.nbytes)
                return found
        except Exception as error:
            if self.cancelled:
                raise CallCancelledError from error
            if isinstance(error, SetupError):  # from opening a connection; callers can't fix it
                raise ConnectionError("The engine doesn't answer. Try again in a moment.") from error
            raise

    def _begin(self, connection: EngineConnection) -> None:
        with self._lock:
            self._check_cancelled()
            self._running = connection

    def _check_cancelled(self) -> None:
        if self.cancelled:
            raise CallCancelledError

    def cancel(self) -> None:
        """Stop the running query as soon as possible, if the engine supports it; returns at once."""
        self._own.cancel()
        with self._lock:
            running = self._running is not None
        if running:
            threading.Thread(target=self._interrupt, name="interrupt a query", daemon=True).start()

    def _interrupt(self) -> None:
        while (connection := self._running) is not None:
            with contextlib.suppress(Exception):  # the engine may be gone
                connection.interrupt()
            time.sleep(_INTERRUPT_EVERY_SECONDS)


def _no_local_cards() -> Cards:
    raise AssertionError("card spend is in the other engine")

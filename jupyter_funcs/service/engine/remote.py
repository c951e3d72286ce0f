"""
An engine other than DuckDB: what reads card spend runs there, on connections that are kept from call to call.

Reference data stay with the service: what reads them alone is answered by a DuckDB of its own, and where a function
joins them with card spend they go along as literal rows. So an account that may only read is enough.
"""
# ruff: noqa: PLC0415 - ibis loads when an engine is connected to

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

from .backends import Address
from .engine import CallCancelledError, DuckDBEngine, bound
from .errors import SetupError
from .prepared import Query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import ibis.expr.operations as ops
    import ibis.expr.types as ir
    import pyarrow as pa

    from .backends import Connection
    from .dataset import Cards
    from .reference import Reference

# Servers, and what stands between, drop a connection that nobody uses, and it is found out by a failing query only.
_MOST_IDLE_SECONDS = 60
# How often a cancelled call interrupts its query: an interrupt that comes before the query is lost.
_INTERRUPT_EVERY_SECONDS = 0.2


class Connections:
    """Connections to an engine, each for one call at a time."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._idle: list[tuple[Connection, float]] = []
        self._is_closed = False

    @contextlib.contextmanager
    def one(self) -> Iterator[Connection]:
        """Take a connection; one on which something failed is not used again."""
        connection = self._take()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self.give_back(connection)

    def _take(self) -> Connection:
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

    def give_back(self, connection: Connection) -> None:
        """Keep a connection for the next call."""
        with self._lock:
            if not self._is_closed:
                self._idle.append((connection, time.monotonic()))
                return
        connection.close()

    def close(self) -> None:
        """Let go of all of them; of those in use when they come back."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()


class RemoteEngine:
    """
    Executes expressions over card spend on another engine.

    Parameters
    ----------
    url
        ``sc://host:port`` for Spark Connect, else a URL of `ibis.connect`.
    reference
        The reference data.
    cards
        Says where card spend lies: a table of the engine, or Parquet files that each machine of a Spark cluster reads.
    """

    def __init__(self, url: str, reference: Reference, cards: Callable[[], Cards]) -> None:
        self.reference = reference
        self.connections = Connections(self._connect)
        self.own = DuckDBEngine(reference, _elsewhere)
        self._address = Address(url)
        self._find_cards = cards
        self._lock = threading.Lock()
        self._source: ops.UnboundTable | None = None
        self._cards: ir.Table | None = None

    def open(self) -> None:
        """
        Connect, and find card spend.

        Raises
        ------
        SetupError
            The URL is of no known kind, its library is not installed, the engine cannot be reached, or has no such
            table.
        """
        self._load_cards()

    def call(self) -> RemoteCall:
        """Begin a call."""
        return RemoteCall(self)

    def close(self) -> None:
        """Let go of the connections."""
        self.connections.close()
        self.own.close()

    def table(self, name: str) -> ir.Table:
        """Give an unbound table; what it stands for is ready when this returns."""
        from .portable import reference_table

        return self._load_cards() if name == "cards" else reference_table(name)

    def _load_cards(self) -> ir.Table:
        with self._lock:
            if self._cards is None:
                with self.connections.one() as connection:
                    source, self._cards = self._address.card_spend(connection, self._find_cards())
                    self._source = source.op()
            return self._cards

    def _connect(self) -> Connection:
        connection = self._address.connect()
        try:
            self._address.card_spend(connection, self._find_cards())
        except BaseException:
            connection.close()
            raise
        return connection

    def reads_cards(self, expression: ir.Expr) -> bool:
        """Tell whether an expression reads card spend, and so has to run where that lies."""
        import ibis.expr.operations as ops

        return self._source in expression.op().find(ops.UnboundTable)


class RemoteCall:
    """One call of a function on another engine."""

    def __init__(self, engine: RemoteEngine) -> None:
        self._engine = engine
        self._own = engine.own.call()
        self._lock = threading.Lock()
        self._running: Connection | None = None

    @property
    def reference(self) -> Reference:
        """The reference data."""
        return self._engine.reference

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for it any more."""
        return self._own.cancelled

    def table(self, name: str) -> ir.Table:
        """Give a table to build an expression on."""
        return self._engine.table(name)

    def fetch(self, result: ir.Expr | Query) -> list[dict[str, Any]]:
        """Execute an expression or a query and give its rows."""
        expression = self._expression(result)
        if self._engine.reads_cards(expression):
            rows: list[dict[str, Any]] = self._execute(expression).to_pylist()
            return rows
        return self._own.fetch(result)

    def arrow(self, result: ir.Expr | Query) -> pa.Table:
        """Execute an expression or a query and give its rows as an Arrow table."""
        expression = self._expression(result)
        return self._execute(expression) if self._engine.reads_cards(expression) else self._own.arrow(result)

    def _expression(self, result: ir.Expr | Query) -> ir.Expr:
        return result.expression(self.table) if isinstance(result, Query) else result

    def _execute(self, expression: ir.Expr) -> pa.Table:
        from .portable import portable

        try:
            with self._engine.connections.one() as connection:
                self._begin(connection)
                try:
                    found = connection.arrow(portable(expression, self.reference))
                finally:
                    with self._lock:
                        self._running = None
                # An interrupt may still be on its way, and would stop the next call's query.
                self._go_on()
                bound(found.num_rows, found.num_columns)
                return found
        except Exception as error:
            if self.cancelled:
                raise CallCancelledError from error
            if isinstance(error, SetupError):  # of a connection that had to be opened; callers cannot mend it
                raise ConnectionError("The engine does not answer. Try again in a moment.") from error
            raise

    def _begin(self, connection: Connection) -> None:
        with self._lock:
            self._go_on()
            self._running = connection

    def _go_on(self) -> None:
        if self.cancelled:
            raise CallCancelledError

    def cancel(self) -> None:
        """Stop the query as soon as it can be, where the engine can be asked to; returns at once."""
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


def _elsewhere() -> Cards:
    raise AssertionError("card spend lies in the other engine")

"""
An engine other than DuckDB: queries over card spend run there, on pooled connections.

Reference data stay in the service. A local DuckDB answers queries that read nothing else; joins with card spend get
them as literal rows, so a read-only account is enough.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.core.text import quoted
from jupyter_funcs.service.engine.backends import (
    SPARK_CONNECT,
    EngineConnection,
    EngineURL,
)
from jupyter_funcs.service.engine.calls import Compiled, Query, check_bytes, check_size
from jupyter_funcs.service.engine.duckdb_engine import (
    DuckDBCall,
    DuckDBEngine,
    EngineData,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping

    import ibis.expr.types as ir
    import pyarrow as pa

    from jupyter_funcs.service.engine.calls import Executable
    from jupyter_funcs.service.engine.duckdb_engine import Check
    from jupyter_funcs.service.engine.tables import Cards, Reference

    Run = Callable[[EngineConnection], pa.Table]

IN_MEMORY = "duckdb://"
"""The URL of an in-memory DuckDB."""

# What stands for a text where a query is compiled, with its name: nothing that a caller can know.
_MARK = uuid.uuid4().hex
_MOST_SHAPES = 256
# Servers and proxies drop idle connections, which shows only when a query fails.
_MOST_IDLE_SECONDS = 60


def connect_engine(
    url: str,
    reference: Reference,
    cards: Callable[[], Cards],
    *,
    memory_limit: int | None = None,
    processes: int = 1,
) -> DuckDBEngine:
    """Return the engine for a URL, not opened yet; as many `processes` share the memory."""
    scheme, _, path = url.partition("://")
    if scheme == "duckdb":
        database = Path(path) if path else None
        return DuckDBEngine(reference, cards, database, memory_limit, processes)
    return RemoteEngine(url, reference, cards)


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
        with contextlib.ExitStack() as closing:
            closing.callback(connection.close)
            yield connection
            with self._lock:
                if not self._is_closed:
                    self._idle.append((connection, time.monotonic()))
                    closing.pop_all()

    def _take(self) -> EngineConnection:
        while True:
            with self._lock:
                if not self._idle:
                    break
                connection, since = self._idle.pop()
            if time.monotonic() - since <= _MOST_IDLE_SECONDS:
                return connection
            connection.close()

        return self._connect()

    def close(self) -> None:
        """Close all connections; those in use as soon as they are returned."""
        with self._lock:
            self._is_closed = True
            idle = self._idle
            self._idle = []

        for connection, _ in idle:
            connection.close()


class QueryShape:
    """What queries have in common that differ in their texts only: SQL, compiled for the first of them."""

    def __init__(
        self, query: Query, texts: Mapping[str, Any], engine: RemoteEngine
    ) -> None:
        import ibis

        values, _ = query.bound()

        def bound(name: str, kind: str) -> ir.Value:
            return ibis.literal(
                f"{_MARK}{name}" if name in texts else values[name], kind
            )

        expression = query.expression(engine.table, bound=bound)
        self.reads_cards = engine.reads_cards(expression)
        self._expression = expression
        self._sql = ""

    def run(
        self,
        reference: Reference,
        texts: Mapping[str, str],
        connection: EngineConnection,
    ) -> pa.Table:
        import sqlglot.expressions as sge

        backend = connection.backend
        if not self._sql:
            from jupyter_funcs.service.engine.portable import portable

            self._sql = backend.compile(portable(self._expression, reference, backend))

        sql = self._sql
        for name, text in texts.items():
            sql = sql.replace(
                f"'{_MARK}{name}'", sge.convert(text).sql(backend.dialect)
            )

        return connection.run(sql, self._expression.schema())


class RemoteEngine(DuckDBEngine):
    """Runs queries over card spend on another engine, and all others on DuckDB."""

    def __init__(
        self, url: str, reference: Reference, cards: Callable[[], Cards]
    ) -> None:
        super().__init__(reference, cards)
        self.connections = ConnectionPool(self._connect)
        self._address = EngineURL(url)
        if self._address.scheme == SPARK_CONNECT:
            self.dialect = "pyspark"
        else:
            self.dialect = self._address.scheme

        self._cards: tuple[ir.Table, ir.Table] | None = None
        self._shapes: dict[Hashable, QueryShape] = {}

    @property
    def version(self) -> None:
        """Never known."""

    def call(self) -> RemoteEngineCall:
        """Begin a call."""
        return RemoteEngineCall(self)

    def data(self, check: Check) -> EngineData:  # noqa: ARG002 - the base's
        """Return what another process needs to run queries that read no card spend."""
        return self._data(None)

    def open(self) -> None:
        """Connect now instead of on the first call."""
        self.card_spend()

    def close(self) -> None:
        """Close the connections."""
        self.connections.close()
        super().close()

    def table(self, name: str, check: Check = lambda: None) -> ir.Table:
        """Return an unbound table; connects first if it is card spend."""
        if name == "cards":
            return self.card_spend()[1]
        return super().table(name, check)

    def reads_cards(self, expression: ir.Expr) -> bool:
        """Return whether an expression reads card spend, and so must run on the other engine."""
        import ibis.expr.operations as ops

        return self._cards is not None and self._cards[0].op() in expression.op().find(
            ops.UnboundTable
        )

    def compiled(self, query: Query) -> Run | None:
        """Return what runs a query on the other engine; `None` if it reads no card spend."""
        values, types = query.bound()
        texts = {
            name: value for name, value in values.items() if isinstance(value, str)
        }
        others = [item for item in values.items() if item[0] not in texts]
        own = [
            tuple(column)
            for table in query.tables.values()
            for column in table.to_pydict().values()
        ]
        key = (query.build, query.shape, types, *others, *own)
        if (shape := self._shapes.get(key)) is None:
            if len(self._shapes) >= _MOST_SHAPES:
                self._shapes.clear()
            shape = self._shapes[key] = QueryShape(query, texts, self)

        if shape.reads_cards:
            return partial(shape.run, self.reference, texts)
        return None

    def card_spend(self) -> tuple[ir.Table, ir.Table]:
        """Return card spend as stored, and mapped to our columns."""
        with (
            self.connections.borrow()
            if self._cards is None
            else contextlib.nullcontext()
        ):
            assert self._cards
            return self._cards

    def _connect(self) -> EngineConnection:
        cards = self._find_cards()
        connection = self._address.connect()
        try:
            source = connection.source(cards)
            self._cards = self._cards or (source, cards.mapped(source))
        except BaseException as error:
            connection.close()
            if isinstance(error, SetupError) or not isinstance(error, Exception):
                raise
            where = ".".join(cards.table) or ", ".join(cards.files)
            reason = self._address.reason(error)
            raise SetupError(
                f"The engine {self._address} can't read card spend from {quoted(where)}: {reason}\n"
                "Name a table that its account can read, or Parquet files at a path that each of its machines can read."
            ) from None

        return connection


class RemoteEngineCall(DuckDBCall):
    """One call of a function on another engine."""

    engine: RemoteEngine

    @property
    def dialect(self) -> str:
        """The other engine's dialect, as ibis names it."""
        return self.engine.dialect

    def _fetched(self, result: Executable, *, or_table: bool = False) -> Any:  # noqa: ARG002 - below
        # Always rows: the columns of another engine may be of any type.
        run = self._remote(result)
        if run is None:
            return super()._fetched(result)
        return self._run(run).to_pylist()

    def arrow(self, result: Executable) -> pa.Table:
        """Execute an expression or a query and return an Arrow table."""
        run = self._remote(result)
        if run is None:
            return super().arrow(result)
        return self._run(run)

    def _remote(self, result: Executable) -> Run | None:
        """Return what runs something on the other engine; `None` if that isn't needed."""
        import ibis

        from jupyter_funcs.service.engine.portable import portable

        if isinstance(result, Query):
            return self.engine.compiled(result)
        if isinstance(result, Compiled):
            schema = ibis.Schema.from_pyarrow(result.schema)
            if result.is_remote:
                return lambda to: to.arrow(to.backend.sql(result.sql, schema=schema))
            return None

        if self.engine.reads_cards(result):
            return lambda to: to.arrow(portable(result, self.reference, to.backend))
        return None

    def _run(self, run: Run) -> pa.Table:
        try:
            with self.engine.connections.borrow() as connection:
                with self._interruptible(connection.interrupt):
                    table = run(connection)
                # A late interrupt would stop the query of the next call.
                self.check_cancelled()
        except SetupError as error:  # from opening a connection; callers can't fix it
            self.check_cancelled()
            raise ConnectionError(
                "The engine doesn't answer. Try again in a moment."
            ) from error

        check_size(table.num_rows, table.num_columns)
        check_bytes(table.nbytes)
        return table

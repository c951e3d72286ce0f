"""
DuckDB in this process: loads the data, locks the database, and runs one query at a time for each call.

Functions build unbound ibis expressions, so the same ones run on any other engine too (see `remote`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core.files import lock
from jupyter_funcs.service.engine import tables
from jupyter_funcs.service.engine.calls import (
    CallCancelledError,
    MemoryLimitError,
    Query,
    Statement,
    check_bytes,
    check_size,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    import duckdb
    import ibis.expr.types as ir
    import pyarrow as pa

    from jupyter_funcs.core.json_decoding import JsonObject
    from jupyter_funcs.service.engine.calls import Executable
    from jupyter_funcs.service.engine.statements import Statements
    from jupyter_funcs.service.engine.tables import Cards, Reference

    # Raises if the call was cancelled.
    Check = Callable[[], None]

# How often a waiting call checks for cancellation, and how often a cancelled one interrupts its query: DuckDB ignores
# an interrupt between two steps, and other engines one before the query has started.
_POLL_SECONDS = 0.05
# Rows per batch: few enough that a cancelled call stops soon.
_BATCH_ROWS = 10_000
_FIRST_ROWS = 100
_BATCH_BYTES = 2**24
# The types whose values a client reads from an Arrow table as it does from JSON, which has no decimals, for instance.
_PLAIN = {
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "VARCHAR",
    "DATE",
    "TIMESTAMP",
}
_FEW_ROWS = 100  # as fast as JSON
_ANY_LENGTH = re.compile(r"VARCHAR|BLOB|BIT|JSON|STRUCT|MAP|UNION|\]")
_WILDCARDS = re.compile(r"[*?\[]")
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True, slots=True)
class EngineData:
    """What another process needs to open the same data: `readable` files and folders, and `memory` in bytes."""

    cards: Any
    database: Path | None
    readable: tuple[Path, ...]
    memory: int

    def engine(self, reference: Reference) -> DuckDBEngine:
        opened = DuckDBEngine(
            reference,
            lambda: self.cards,
            database=self.database,
            memory_limit=self.memory,
        )
        if self.cards:
            opened.open()
        return opened


@dataclass(eq=False)
class DuckDBEngine:
    """An in-process DuckDB, locked before the first query."""

    reference: Reference
    _find_cards: Callable[[], Cards]
    database: Path | None = None
    memory_limit: int | None = None
    processes: int = 1

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._loading: Future[Cards] | None = None
        self._con: duckdb.DuckDBPyConnection | None = None
        self._spill: PrivateFolder | None = None

    def open(self) -> None:
        """Load the data now instead of on the first call; raises `SetupError` if they can't be read."""
        self._loaded_cards(lambda: None)

    def call(self) -> DuckDBCall:
        return DuckDBCall(self)

    def data(self, check: Check) -> EngineData:
        """Return what another process needs to run queries on the same data; blocks like `table`."""
        return self._data(self._loaded_cards(check))

    def _data(self, cards: Cards | None) -> EngineData:
        from jupyter_funcs.service.engine import sandbox

        with self.cursor() as cursor:
            readable = sandbox.files(cursor)
            memory = sandbox.memory_limit(cursor)

        # Another process has another working folder. DuckDB lists the folder of a pattern, and looks for what belongs
        # to a database beside it.
        if cards:
            cards = cards._replace(files=tuple(map(os.path.abspath, cards.files)))
            readable += [
                Path(f"{_WILDCARDS.split(pattern)[0]}.").parent
                for pattern in cards.files
            ]

        database = self.database and self.database.absolute()
        if database:
            readable.append(database.parent)
        return EngineData(cards, database, tuple(readable), memory)

    def close(self) -> None:
        """Close the database; it ends with the last running call."""
        with self._lock:
            if self._con:
                self._con.close()
                self._con = None
            if self._spill:
                self._spill.close()

    def table(self, name: str, check: Check = lambda: None) -> ir.Table:
        import ibis

        if name == "cards":
            schema = self._loaded_cards(check).schema
        else:
            schema = tables.SCHEMAS[name]

        return ibis.table(schema, name=name)

    def prepared(self, query: Query, check: Check) -> Statement | None:
        """Return the SQL of a query that was compiled beforehand, for tables as these."""
        ready = query.ready()
        statement = ready.get(query.key) if ready else None
        if not statement or (
            statement["reads_cards"]
            and self._loaded_cards(check).schema != tables.CARDS
        ):
            return None

        return Statement(
            statement["sql"],
            tables.arrow_schema(statement["columns"]),
            query.bound()[0],
            query.tables,
        )

    @cached_property
    def statements(self) -> Statements:
        """What compiles expressions and queries."""
        from jupyter_funcs.service.engine.statements import Statements

        return Statements(lambda: self.names)

    @cached_property
    def names(self) -> frozenset[tuple[str, ...]]:
        """The names of all tables that a query may read, in lower case."""
        from jupyter_funcs.service.engine import sandbox

        names = {
            (*place, table)
            for table in (*tables.SCHEMAS, "cards")
            for place in ((), ("main",), ("memory", "main"))
        }
        if self.database:
            with self.cursor() as cursor:
                names.update(sandbox.attached(cursor))

        return frozenset(names)

    @property
    def version(self) -> tuple[Hashable, ...] | None:
        """What changes with the data that queries read; `None` if that can't be known."""
        loading = self._loading
        if self.database or (loading and not loading.done()):
            return None
        try:
            stats = []
            if loading:
                stats = [Path(file).stat() for file in loading.result().files]
        except OSError:  # a pattern of files, or an address
            return None

        return tuple((stat.st_ino, stat.st_size, stat.st_mtime_ns) for stat in stats)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a cursor for one thread; threads that shared one would get each other's results."""
        with self._lock:
            if not self._con:
                self._con = self._open_database(None)
            return self._con.cursor()

    def _loaded_cards(self, check: Check) -> Cards:
        with self._lock:
            if not self._loading:
                self._loading = Future()
                threading.Thread(
                    target=self._load,
                    args=(self._loading,),
                    name="load card spend",
                    daemon=True,
                ).start()
            loading = self._loading

        while not wait([loading], _POLL_SECONDS).done:
            check()
        return loading.result()

    def _load(self, loading: Future[Cards]) -> None:
        try:
            cards = self._find_cards()
            # A locked database can't load data, so a new one with the data replaces it.
            con = self._open_database(cards)
            with self._lock:
                before = self._con
                self._con = con
            if before:
                before.close()
            loading.set_result(cards)
        except BaseException as error:  # noqa: BLE001 - passed on to whoever waits
            with self._lock:
                self._loading = None
            loading.set_exception(error)

    def _open_database(self, cards: Cards | None) -> duckdb.DuckDBPyConnection:
        from jupyter_funcs.service.engine import sandbox

        with self._lock:
            self._spill = self._spill or PrivateFolder("jupyter_funcs.queries.")
            spill = Path(tempfile.mkdtemp(dir=self._spill.path))

        return sandbox.open_database(
            self.reference,
            cards,
            spill,
            database=self.database,
            memory=self.memory_limit,
            processes=self.processes,
        )


class DuckDBCall:
    def __init__(self, engine: DuckDBEngine) -> None:
        self.reference = engine.reference
        self.cancelled = False
        self.engine = engine
        self._lock = threading.Lock()
        self._interrupt: Callable[[], object] | None = None

    def table(self, name: str) -> ir.Table:
        return self.engine.table(name, self.check_cancelled)

    def fetch(self, result: Executable) -> list[JsonObject]:
        return list(self._fetched(result))

    def fetch_either(self, result: Executable) -> list[JsonObject] | pa.Table:
        """Execute like `fetch`, but return many rows, or none, as an Arrow table if that holds the same values."""
        rows = self._fetched(result, or_table=True)
        if isinstance(rows, list):
            return rows
        if not _has_usual_years(rows):
            return self.fetch(result)
        # JSON has no columns where there are no rows.
        if len(rows) > _FEW_ROWS or not len(rows):
            return rows
        return rows.to_pylist()

    def _fetched(self, result: Executable, *, or_table: bool = False) -> Any:
        with self._executed(result) as (cursor, schema):
            # Not by the schema, which a worker may have written.
            names = schema.names
            kinds = [str(column[1]) for column in cursor.description or ()]
            # DuckDB's own objects of these need pytz.
            if any("TIMESTAMP WITH TIME ZONE" in kind for kind in kinds):
                return (
                    self._table(cursor).cast(schema).to_pylist(maps_as_pydicts="strict")
                )
            if or_table and _PLAIN.issuperset(kinds):
                return self._table(cursor).rename_columns(names)
            return self._rows(
                cursor,
                names,
                [at for at, kind in enumerate(kinds) if _ANY_LENGTH.search(kind)],
            )

    def _rows(
        self, cursor: duckdb.DuckDBPyConnection, names: list[str], texts: list[int]
    ) -> list[JsonObject]:
        """Return the rows of a result; `texts` are the places of its columns whose values have any length."""
        rows = []
        size = 1
        wanted = _FIRST_ROWS  # these tell how many make a small batch
        while batch := cursor.fetchmany(wanted):
            rows += [dict(zip(names, row, strict=True)) for row in batch]
            values = (row[at] for at in texts for row in batch)
            size += sum(
                len(value if isinstance(value, str | bytes) else str(value))
                for value in values
            )
            check_size(len(rows), len(names))
            check_bytes(size)
            wanted = min(max(_BATCH_BYTES * len(rows) // size, 1), _BATCH_ROWS)
            self.check_cancelled()

        return rows

    def arrow(self, result: Executable) -> pa.Table:
        with self._executed(result) as (cursor, schema):
            return self._table(cursor).cast(schema)

    def _table(self, cursor: duckdb.DuckDBPyConnection) -> pa.Table:
        import pyarrow as pa

        batches = []
        rows = 0
        size = 0
        reader: Any = cursor.to_arrow_reader(_BATCH_ROWS)
        for batch in reader:
            batches.append(batch)
            rows += len(batch)
            size += batch.nbytes
            check_size(rows, len(reader.schema))
            check_bytes(size)
            self.check_cancelled()

        return pa.Table.from_batches(batches, reader.schema)

    @contextmanager
    def _executed(
        self, result: Executable
    ) -> Iterator[tuple[duckdb.DuckDBPyConnection, pa.Schema]]:
        import duckdb

        self.check_cancelled()
        statement = None
        if isinstance(result, Query):
            statement = self.engine.prepared(result, self.check_cancelled)
        statement = statement or self.engine.statements.compile(result, self.table)
        try:
            with self.engine.cursor() as cursor, self._interruptible(cursor.interrupt):
                for name, table in statement.tables.items():
                    # Registered on the cursor, so that it is dropped with the call.
                    cursor.register(name, table)
                cursor.execute(statement.sql, statement.values)
                yield cursor, statement.schema
        except (duckdb.OutOfMemoryException, MemoryError) as error:
            raise MemoryLimitError(
                "The query needs more memory than all queries may share. Ask for less."
            ) from error

    @contextmanager
    def _interruptible(self, interrupt: Callable[[], object]) -> Iterator[None]:
        """Call `interrupt` if the call is cancelled meanwhile, again and again until what runs has ended."""
        with self._lock:
            self.check_cancelled()
            self._interrupt = interrupt

        try:
            yield
        except Exception as error:
            if self.cancelled:
                raise CallCancelledError from error
            raise
        finally:
            with self._lock:
                self._interrupt = None

    def check_cancelled(self) -> None:
        if self.cancelled:
            raise CallCancelledError

    def cancel(self) -> None:
        self.cancelled = True
        threading.Thread(
            target=self._stop, name="interrupt a query", daemon=True
        ).start()

    def _stop(self) -> None:
        while True:
            # With the lock, so that nothing is interrupted after its end.
            with self._lock:
                if not self._interrupt:
                    return
                with suppress(Exception):  # another engine may be gone
                    self._interrupt()
            time.sleep(_POLL_SECONDS)


def _has_usual_years(table: pa.Table) -> bool:
    """Return whether all dates are in the years of Python and of ISO 8601."""
    import numpy as np

    first = np.datetime64("0001-01-01")
    end = np.datetime64("10000-01-01")
    times = [
        column.to_numpy()
        for column in table.columns
        if str(column.type).startswith(("date", "timestamp"))
    ]
    return not any(((column < first) | (column >= end)).any() for column in times)


class PrivateFolder:
    """A folder of this process, whose name begins with a prefix; also removes those that ended processes have left."""

    def __init__(self, prefix: str) -> None:
        for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
            with suppress(OSError):  # already gone
                if sys.platform != "win32" and left.lstat().st_uid == os.getuid():
                    folder = os.open(left, _FOLDER)
                    if lock(folder, waits=False):
                        remove(left)
                    os.close(folder)

        new = Path(tempfile.mkdtemp(prefix=f"new.{prefix}"))
        opened = None if sys.platform == "win32" else os.open(new, _FOLDER)
        # Others find it by its later name, so it is locked before.
        if opened is not None:
            lock(opened, waits=False)
        self.path = new.rename(new.with_name(new.name.removeprefix("new.")))
        self.close = weakref.finalize(self, _end, self.path, opened)


def remove(folder: Path) -> None:
    """Remove a folder, whatever is in it."""
    with suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    # What is too deep for Python, or can't be read.
    if folder.exists() and sys.platform != "win32":
        command = ["/bin/sh", "-c", 'chmod -R u+rwx "$0"; rm -rf "$0"', str(folder)]
        subprocess.run(command, stderr=subprocess.DEVNULL, check=False)  # noqa: S603 - our own


def _end(path: Path, opened: int | None) -> None:
    remove(path)
    if opened is not None:
        os.close(opened)

"""
The process that runs published code: ``python -m jupyter_funcs.service.publishing.worker_process SOCKET``.

The service sends pickled orders to its standard input. A template only loads the functions: its forks execute the
orders, each on a socket of its own. It replies in MessagePack, since to unpickle what published code
may have written would run it in the service.
"""

from __future__ import annotations

import _thread
import gc
import logging
import os
import pickle
import queue
import shutil
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import msgspec
import psutil

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.functions.markers import AtLeastOne
from jupyter_funcs.functions.parameters import Parameter  # noqa: TC001 - msgspec reads the annotation
from jupyter_funcs.service.engine.calls import Compiled, MemoryLimitError, Query
from jupyter_funcs.service.publishing import discovery, results
from jupyter_funcs.service.publishing.confinement import (
    WorkerSetup,
    confine,
    join,
    leave,
)
from jupyter_funcs.service.publishing.notebooks import NotebookRun
from jupyter_funcs.service.publishing.registry import ArgumentsError, PublishedFunction
from jupyter_funcs.service.publishing.traces import message_of, redacted_trace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import ibis.expr.types as ir
    import pyarrow as pa

    from jupyter_funcs.core.json_decoding import JsonObject
    from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine


GRACE_SECONDS = 0.5
"""How long a cancelled function may take to notice."""

LENGTH = struct.Struct("!Q")
"""What precedes a reply."""

OWN_FOLDERS = ("HOME", "TMPDIR", "TEMP", "TMP", "USERPROFILE")
"""The variables that name the folder of a worker."""

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
# Of a parameter.
_REPLIES = msgspec.msgpack.Encoder(enc_hook=lambda kind: kind.__name__)


@dataclass(frozen=True, slots=True)
class WorkerOrder:
    """A run: the function's name and the arguments as they were sent, as texts or as typed JSON."""

    function: str
    args: Mapping[str, Any]
    form: results.ReplyForm
    typed: bool


@dataclass(frozen=True, slots=True)
class QueryOrder:
    """
    A query of published code: SQL, its schema and its tables in memory, each as Arrow writes it.

    If it is for another engine, it is only checked, in a `dialect` as ibis names it and with the table of card spend.
    """

    sql: str
    schema: bytes
    tables: Mapping[str, bytes]
    form: results.ReplyForm
    dialect: str = ""
    card_spend: ir.Table | None = None

    def compiled(self) -> Compiled:
        """Read the query, which published code may have forged; raises `ValueError` if that isn't possible."""
        import pyarrow as pa

        try:
            tables = {
                name: results.read_stream(content)
                for name, content in self.tables.items()
            }
            return Compiled(
                self.sql, pa.ipc.read_schema(pa.py_buffer(self.schema)), tables
            )
        except (pa.ArrowException, OSError):
            raise ValueError("Its query can't be read.") from None


class FunctionFacts(msgspec.Struct):
    """What the service knows of a published function."""

    name: str
    description: str
    asset: str
    group: str | None
    entry_point: str
    notebook_name: str
    place: str
    author: str | None
    returns: Any
    read_only: bool
    parameters: tuple[Parameter, ...]
    rules: tuple[AtLeastOne, ...]
    is_notebook: bool

    @classmethod
    def of(cls, function: PublishedFunction, reference: Any) -> FunctionFacts:
        own = {name: getattr(function, name) for name in cls.__struct_fields__[:-3]}
        parameters = tuple(item.resolved(reference) for item in function.parameters)
        rules = tuple(item for item in function.rules if isinstance(item, AtLeastOne))
        return cls(
            **own,
            parameters=parameters,
            rules=rules,
            is_notebook=isinstance(function.python, NotebookRun),
        )


class WorkerReply(msgspec.Struct, omit_defaults=True):
    """
    What a worker says.

    The kinds ``functions``, ``body``, ``expression``, ``checked``, ``invalid``, ``too large`` and ``failed`` end an
    order. ``importing`` tells what is imported next. With ``table`` and ``rows``, a function asks the service for a
    table or for the rows of a query.
    """

    kind: str
    text: str = ""
    trace: str = ""
    content: memoryview = memoryview(b"")
    rows: _Count | None = None
    lost: _Count = 0
    # Bounded before they are read: ten bytes of a forged reply would take a kilobyte.
    errors: Annotated[
        dict[str, Annotated[list[str], msgspec.Meta(max_length=100)]],
        msgspec.Meta(max_length=1000),
    ] = {}
    tables: Annotated[dict[str, bytes], msgspec.Meta(max_length=1000)] = {}
    is_remote: bool = False
    is_reusable: bool = False


class LoadReply(WorkerReply):
    """What a worker says before its first order."""

    functions: list[FunctionFacts] = []
    problems: list[str] = []
    # The file that starts threads or opens sockets, so that this process can't be a template.
    leaves: str = ""


class WorkerCall:
    """Executes orders one after another; published functions get it as their call."""

    def __init__(
        self, setup: WorkerSetup, orders: IO[bytes], replies: IO[bytes]
    ) -> None:
        self.reference = setup.reference
        self.cancelled = False
        self._pid = os.getpid()
        self._setup = setup
        self._sent = orders
        self._replies = replies
        self._orders: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._functions: dict[str, PublishedFunction] = {}
        self._problems: list[str] = []
        self._dialect: str | None = None
        self._engine: DuckDBEngine | None = None
        self._importing = ""
        self._leaves = ""
        self._opened = _opened() if setup.forks else (0, 0)

    def _listen(self, orders: IO[bytes], folder: Path) -> None:
        # Also of an answer for which the run has left no memory.
        with suppress(Exception):
            while True:
                self._orders.put(pickle.load(orders))  # noqa: S301 - from the service

        # The service has ended, nobody waits for the result, or it can't come: this process runs nothing else.
        self.cancelled = True
        time.sleep(GRACE_SECONDS)
        leave(folder)

    def serve(self) -> None:
        """Load the functions, then execute orders; of a template, this returns in its forks."""
        if self._setup.forks:
            self._send(self._loaded())
            self._fork()
            confine(
                replace(self._setup, forks=False), is_separate="separate" in sys.argv
            )

        threading.Thread(
            target=self._listen, args=(self._sent, Path.cwd()), daemon=True
        ).start()
        self._send(WorkerReply("ready") if self._setup.forks else self._loaded())
        # `threading` doesn't know the threads that `_thread` starts.
        threads = _thread._count()  # noqa: SLF001 - see above
        had_children = _has_children()
        folder = Path.cwd()
        while True:
            order = self._orders.get()
            if self._engine:
                reply = _queried(order, self._engine)
                # What an allocator keeps for later counts for the limit, and the next query needs it, too.
                kept = getattr(psutil.Process().memory_info(), "data", 0)
                reply.is_reusable = (
                    reply.kind != "too large"
                    and kept < self._setup.memory - self._setup.data.memory / 2
                )
                self._send(reply)
                continue
            reply = self._executed(order)
            is_alone = _thread._count() <= threads and _has_children() <= had_children  # noqa: SLF001 - see above
            reply.is_reusable = (
                is_alone and _is_emptied(folder) and not _has_shared_files()
            )
            self._send(reply)
            os.chdir(folder)

    def _fork(self) -> None:
        """Fork at each order, which has a folder, and descriptors of a socket, of a log and of namespaces."""
        orders = socket.socket(fileno=int(sys.argv[1]))
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
        gc.collect()
        gc.freeze()  # so that they share it
        while True:
            folder, descriptors, _, _ = socket.recv_fds(orders, 4096, 8)
            if not folder:
                os._exit(0)
            try:
                pid = os.fork()
            except OSError as error:
                orders.send(str(error).encode())
                continue
            if not pid:
                break
            orders.send(str(pid).encode())
            for descriptor in descriptors:
                os.close(descriptor)

        orders.close()
        self._become(Path(os.fsdecode(folder)), *descriptors)

    def _become(
        self, folder: Path, connection: int, log: int, *namespaces: int
    ) -> None:
        """Make this fork a worker of its own."""
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        self._pid = os.getpid()
        self._sent.close()
        self._replies.close()
        with socket.socket(fileno=connection) as connected:
            self._sent = connected.makefile("rb")
            self._replies = connected.makefile("wb")

        os.environ.update(dict.fromkeys(OWN_FOLDERS, str(folder)))
        tempfile.tempdir = None
        join(namespaces, folder)
        # Python's own are seeded again by Python.
        if numpy_random := sys.modules.get("numpy.random"):
            numpy_random.seed()

    def _send(self, reply: WorkerReply) -> None:
        if os.getpid() != self._pid:  # published code forked; its parent replies
            os._exit(1)
        content = _REPLIES.encode(reply)
        self._replies.write(LENGTH.pack(len(content)))
        self._replies.write(content)
        self._replies.flush()

    def _loaded(self) -> LoadReply | WorkerReply:
        setup = self._setup
        try:
            self._engine = setup.data and setup.data.engine(self.reference)
            functions = discovery.load(
                setup.folders,
                entry_points=setup.entry_points,
                default_asset=setup.default_asset,
                begins=self._begins,
                problems=self._problems if setup.keeps_going else None,
            )
            self._functions = {function.name: function for function in functions}
            facts = [
                FunctionFacts.of(function, self.reference) for function in functions
            ]
            self._note_leftovers()
            return LoadReply(
                "functions",
                functions=facts,
                problems=self._problems,
                leaves=self._leaves,
            )
        except BaseException as error:  # noqa: BLE001 - published code may raise anything
            return _failure(error, [])

    def _begins(self, source: str) -> bool:
        self._note_leftovers()
        self._importing = source
        self._send(WorkerReply("importing", text=source))
        return source not in self._setup.skipped

    def _note_leftovers(self) -> None:
        """Note the first file that has left a thread, which no fork would have, or a socket, which all would share."""
        if self._setup.forks and not self._leaves and _opened() != self._opened:
            self._leaves = self._importing

    def _executed(self, order: WorkerOrder) -> WorkerReply:
        values = {}
        # Its file has changed since the service read it.
        if (function := self._functions.get(order.function)) is None:
            return WorkerReply(
                "failed",
                text="\n".join(self._problems)
                or f"{order.function} is no longer published.",
            )

        try:
            values = function.read(order.args, self.reference, typed=order.typed)
            result = function.result(self, values)
            if results.needs_engine(result):
                return self._compiled("expression", result)
            return _body(results.encoded(result, form=order.form))
        except BaseException as error:  # noqa: BLE001 - published code may raise anything
            return _failure(error, [*order.args.values(), *values.values()])

    def table(self, name: str) -> ir.Table:
        """Return an unbound table to build an expression on."""
        self._send(WorkerReply("table", text=name))
        table, self._dialect = self._orders.get()
        return table

    def fetch(self, result: ir.Expr | Query) -> list[JsonObject]:
        """Execute an expression or a query and return its rows."""
        rows: list[JsonObject] = self.arrow(result).to_pylist()
        return rows

    def arrow(self, result: ir.Expr | Query) -> pa.Table:
        """Execute an expression or a query and return an Arrow table."""
        import pyarrow as pa

        self._send(self._compiled("rows", result))
        return pa.ipc.open_stream(self._orders.get()).read_all()

    def cancel(self) -> None:
        """Do nothing: the service cancels."""

    def _compiled(self, kind: str, result: ir.Expr | Query) -> WorkerReply:
        import ibis
        import ibis.expr.operations as ops

        from jupyter_funcs.service.engine.portable import MOST_LITERAL_ROWS, portable
        from jupyter_funcs.service.engine.statements import Compiler
        from jupyter_funcs.service.engine.tables import SCHEMAS

        expression: Any = (
            result.expression(self.table) if isinstance(result, Query) else result
        )
        table = expression.as_table()
        is_remote = bool(self._dialect) and any(
            node.name not in SCHEMAS for node in table.op().find(ops.UnboundTable)
        )
        if is_remote:
            getattr(ibis, str(self._dialect))  # sets its options, which compiling needs
            table = portable(table, self.reference)

        memory = table.op().find(ops.InMemoryTable)
        if is_remote and memory:
            raise results.ResultError(
                f"The engine of card spend takes tables in memory of at most {MOST_LITERAL_ROWS} rows. Filter or group "
                "yours first, or fetch the card spend with call.fetch(…) and join the two in Python."
            )

        if is_remote:
            text = str(ibis.to_sql(table, self._dialect, pretty=False))
        else:
            text = Compiler().sql(table)

        return WorkerReply(
            kind,
            text=text,
            content=memoryview(table.schema().to_pyarrow().serialize()),
            # Cast, since dictionaries and extensions are not read.
            tables={
                node.name: results.stream(
                    node.data.to_pyarrow(node.schema).cast(node.schema.to_pyarrow())
                )
                for node in memory
            },
            is_remote=is_remote,
        )


def _queried(order: QueryOrder, engine: DuckDBEngine) -> WorkerReply:
    try:
        if order.dialect:
            from ibis.backends.sql import compilers

            from jupyter_funcs.service.engine.statements import checked_elsewhere

            compiler = getattr(compilers, order.dialect).compiler
            sql = checked_elsewhere(order.sql, order.card_spend, compiler)
            return WorkerReply("checked", text=sql)
        return _body(results.encoded(order.compiled(), engine.call(), form=order.form))
    except Exception as error:  # noqa: BLE001 - an engine may raise anything
        return _failure(error, [])


def _body(body: results.ReplyContent) -> WorkerReply:
    return WorkerReply(
        "body",
        text=body.media_type,
        content=memoryview(body.content),
        rows=body.rows,
        lost=body.lost,
    )


def _failure(error: BaseException, arguments: Sequence[Any]) -> WorkerReply:
    if isinstance(error, ArgumentsError):
        return WorkerReply("invalid", errors=error.errors)
    if isinstance(error, MemoryLimitError | MemoryError):
        return WorkerReply("too large", text=str(error))
    trace = "" if isinstance(error, SetupError) else redacted_trace(error, arguments)
    return WorkerReply(
        "failed", text=message_of(error).strip() or type(error).__name__, trace=trace
    )


def _has_children() -> bool:
    with suppress(ChildProcessError, AttributeError):  # Windows can't tell
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return True
    return False


def _opened() -> tuple[int, int]:
    """Return the number of threads, with those of libraries, and of sockets (Linux only)."""
    sockets = 0
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            sockets += str(entry.readlink()).startswith("socket:")
    return len([*Path("/proc/self/task").iterdir()]), sockets


def _is_emptied(folder: Path) -> bool:
    with suppress(OSError, RecursionError):
        for entry in folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()

        return True

    return False


def _has_shared_files() -> bool:
    """Tell whether the worker's own ``/dev/shm``, which it may not list, holds what a function left."""
    if "separate" not in sys.argv:
        return False
    shared = os.statvfs("/dev/shm")  # noqa: S108 - not a temporary file
    return shared.f_bfree < shared.f_blocks


def main() -> None:
    """Execute the orders on standard input."""
    orders = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what functions print goes to the log
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    setup: WorkerSetup = pickle.load(orders)  # noqa: S301 - from the service
    confine(setup, is_separate="separate" in sys.argv)
    WorkerCall(setup, orders, replies).serve()


if __name__ == "__main__":
    # By its own name, which orders have: unpickling the first one would import it in each fork.
    from jupyter_funcs.service.publishing import worker_process  # noqa: PLW0406 - for its name

    worker_process.main()

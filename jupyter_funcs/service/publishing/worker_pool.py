"""
Run published code in worker processes, which have none of the service's secrets.

A worker that has run a function for a user runs only that user's functions, one at a time, so that nobody's results are
left where another's code could find them. A notebook gets a worker of its own.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import msgspec
import psutil

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.engine.calls import (
    MOST_BYTES,
    Call,
    CallCancelledError,
    Compiled,
    MemoryLimitError,
)
from jupyter_funcs.service.engine.duckdb_engine import PrivateFolder
from jupyter_funcs.service.engine.remote_engine import RemoteEngine
from jupyter_funcs.service.publishing import results, worker_process
from jupyter_funcs.service.publishing.confinement import (
    BYTES_AN_ENTRY,
    WorkerSetup,
    clean_up,
    kill_descendants,
    launcher,
    ran_out_of_memory,
    remove_old_groups,
)
from jupyter_funcs.service.publishing.registry import ArgumentsError, PublishedFunction
from jupyter_funcs.service.publishing.results import ReplyContent
from jupyter_funcs.service.publishing.worker_process import (
    GRACE_SECONDS,
    LENGTH,
    LoadReply,
    QueryOrder,
    WorkerOrder,
    WorkerReply,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from jupyter_funcs.core.json_decoding import JsonObject, Values
    from jupyter_funcs.service.engine.duckdb_engine import DuckDBCall, DuckDBEngine


log = logging.getLogger(__name__)

# Everything else in the service's environment may be a secret.
_VARIABLES = """
DYLD_LIBRARY_PATH LANG LANGUAGE LD_LIBRARY_PATH MKL_NUM_THREADS OMP_NUM_THREADS OPENBLAS_NUM_THREADS PATH PYTHONHOME
PYTHONPATH SSL_CERT_DIR SSL_CERT_FILE SYSTEMROOT TZ VIRTUAL_ENV
"""
# How often a run is checked for cancellation, and its use of memory and disk.
_POLL_SECONDS = 0.05
_CHECK_SECONDS = 0.2
_MOST_IDLE = 4
# One user's queries share the memory of the engine, each with at least this much, in bytes; and what Python takes.
_MOST_QUERIES = max(4, 2 * (os.cpu_count() or 1))
_LEAST_MEMORY = 2**28
_OVERHEAD = 2**28 + 2**24 * (os.cpu_count() or 1)
# What functions print, each run.
_MOST_PRINTED = 64 * 1024
_LONGEST_LINE = 4096
_TYPES = {kind.__name__: kind for kind in (str, int, float, bool, date, object)}  # of parameters
_REPLIES = msgspec.msgpack.Decoder(WorkerReply)
_FIRST_REPLIES = msgspec.msgpack.Decoder(LoadReply, dec_hook=lambda _, name: _TYPES.get(name))
# Of a reply, apart from its content; and of an error.
_MOST_FACTS = 2**24
_LONGEST_ERROR = 2**17


class WorkerError(Exception):
    """Published code failed; the message is for the caller, and a note has the trace."""

    def __init__(self, text: str, trace: str = "") -> None:
        super().__init__(text[:_LONGEST_ERROR])
        if trace:
            self.add_note(trace[:_LONGEST_ERROR])


class UnfinishedImportError(SetupError):
    """A file or entry point ends the process that imports it, or takes too long."""

    def __init__(self, source: str, reason: str, *, is_slow: bool = False) -> None:
        super().__init__(f"{source} {reason}")
        self.source = source
        self.is_slow = is_slow


@dataclass
class _Deadline:
    """What an import has in place of the call of a run."""

    seconds: float
    began: float = field(default_factory=time.monotonic)

    @property
    def cancelled(self) -> bool:
        return time.monotonic() > self.began + self.seconds


class Worker:
    """A worker process that has loaded the functions; `user` is the one for whom it ran any."""

    def __init__(self, setup: WorkerSetup, environment: Mapping[str, str], folders: Path) -> None:
        self.user: int | None = None
        self.excess = ""
        self._setup = setup
        self._folder = Path(tempfile.mkdtemp(dir=folders))
        private = dict.fromkeys(("HOME", "TMPDIR", "TEMP", "TMP", "USERPROFILE"), str(self._folder))
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            launcher(setup, worker_process.__name__),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._folder,
            env={**environment, **private},
            start_new_session=True,
        )
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self._orders = self._process.stdin
        self._replies = self._process.stdout
        self._printed = 0
        threading.Thread(target=self._log, args=(self._process.stderr,), daemon=True).start()
        self.send(setup)

    def load(self) -> LoadReply:
        """Wait for the functions; raises `SetupError` if they can't be loaded."""
        reply: LoadReply
        source = ""
        deadline = _Deadline(self._setup.import_seconds)
        try:
            with self._watched(deadline):
                # A file may end after its deadline, but before the process does.
                while (
                    reply := self.read(_FIRST_REPLIES)
                ).kind == "importing" and not deadline.cancelled:
                    source = reply.text
                    deadline.began = time.monotonic()
        except EOFError:
            reply = LoadReply(
                "ended",
                "The process that loads published functions ended. Its output is in the log.",
            )
        if source and deadline.cancelled:
            reason = f"takes more than {deadline.seconds:g} seconds to import."
            raise UnfinishedImportError(source, reason, is_slow=True)
        if source and (self.excess or reply.kind == "ended"):
            raise UnfinishedImportError(source, f"can't be imported. {self.excess or reply.text}")
        if reply.kind == "functions":
            return reply
        if reply.trace:
            log.error("Published functions can't be loaded.\n%s", reply.trace)
        raise SetupError(reply.text)

    def _log(self, printed: IO[bytes]) -> None:
        with printed:
            while line := printed.readline(_LONGEST_LINE):
                self._printed += len(line)
                if self._printed <= _MOST_PRINTED:
                    text = line.decode(errors="replace").rstrip()
                    log.info("%s", "".join(char if char.isprintable() else "?" for char in text))

    def send(self, order: Any) -> None:
        """Send an order, or what a function asked for."""
        content = pickle.dumps(order)
        with contextlib.suppress(
            BrokenPipeError, ValueError
        ):  # it has ended, which `read` raises, or is cancelled
            self._orders.write(content)
            self._orders.flush()

    def read(self, replies: msgspec.msgpack.Decoder[Any]) -> Any:
        """Wait for a reply; raises `EOFError` if the process has ended."""
        try:
            [size] = LENGTH.unpack(self._replies.read(LENGTH.size))
            content = self._replies.read(size) if size <= MOST_BYTES + _MOST_FACTS else b""
            reply = replies.decode(content)
        except (struct.error, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise EOFError from None
        if len(content) - len(reply.content) - sum(map(len, reply.tables.values())) > _MOST_FACTS:
            raise EOFError
        return reply

    def run(
        self,
        order: WorkerOrder | QueryOrder,
        call: DuckDBCall,
        answer: Callable[[WorkerReply], Any],
    ) -> WorkerReply:
        """Execute an order, with an `answer` to what its function asks for, and return the last reply."""
        self._printed = 0
        try:
            with self._watched(call):
                self.send(order)
                reply: WorkerReply
                while (reply := self.read(_REPLIES)).kind in ("table", "rows"):
                    self.send(answer(reply))
        except EOFError:
            if call.cancelled:
                raise CallCancelledError from None
            if self.excess.endswith("memory.") or ran_out_of_memory(self._process.pid):
                raise MemoryLimitError from None
            raise WorkerError(
                self.excess or "The process that ran it ended before its result."
            ) from None
        return reply

    @contextlib.contextmanager
    def _watched(self, call: Call | _Deadline) -> Iterator[None]:
        """End the process if its run is cancelled, or uses more than allowed."""
        done = threading.Event()
        watch = threading.Thread(target=self._watch, args=(call, done), daemon=True)
        watch.start()
        try:
            yield
        finally:
            done.set()
            watch.join()

    def _watch(self, call: Call | _Deadline, done: threading.Event) -> None:
        cancelled_at = 0.0
        checked_at = time.monotonic()
        while not done.wait(_POLL_SECONDS):
            now = time.monotonic()
            if call.cancelled and not cancelled_at:
                cancelled_at = now
                # Not here: a process that doesn't read its orders must be ended too.
                threading.Thread(target=self._hang_up, daemon=True).start()
            if now - checked_at > _CHECK_SECONDS:
                try:
                    self.excess = self._excess()
                    checked_at = now
                except psutil.NoSuchProcess:
                    pass
                except (OSError, RecursionError):
                    self.excess = "It was ended because its folders can't be read."
            if self.excess or (cancelled_at and now - cancelled_at > GRACE_SECONDS):
                self._kill()
                return

    def _excess(self) -> str:
        memory = disk = 0
        nameless: dict[tuple[int, int], int] = {}
        processes = psutil.Process(self._process.pid).children(recursive=True)
        if len(processes) > self._setup.processes:
            return f"It was ended because it used more than {self._setup.processes} processes."
        for process in processes:
            with contextlib.suppress(psutil.Error):
                info = process.memory_full_info()
                memory += getattr(
                    info, "pss", info.uss
                )  # also its part of what it shares with others
            nameless |= _nameless(process.pid)
        for folder, folders, names in os.walk(self._folder, onerror=_refuse):
            for name in (*folders, *names):
                with contextlib.suppress(OSError):
                    disk += os.lstat(f"{folder}/{name}").st_blocks * 512 + BYTES_AN_ENTRY
        disk += sum(nameless.values())
        for used, limit, of in (
            (memory, self._setup.memory, "memory"),
            (disk, self._setup.disk, "disk space"),
        ):
            if used > limit:
                return f"It was ended because it used more than {limit:,} bytes of {of}."
        return ""

    def _kill(self) -> None:
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
            if self._process.returncode is None:  # otherwise the number may be another's by now
                kill_descendants(psutil.Process(self._process.pid))
                if sys.platform != "win32":
                    os.killpg(
                        self._process.pid, signal.SIGKILL
                    )  # also finds those whose parents have ended
                self._process.kill()

    def _hang_up(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._orders.close()

    def end(self) -> None:
        """End the process with all that it started."""
        self._kill()
        self._process.wait()
        self._hang_up()
        self._replies.close()
        clean_up(self._folder, self._process.pid)


def _nameless(pid: int) -> dict[tuple[int, int], int]:
    """Return the sizes of the open files of a process that are in no folder: deleted ones, and those in memory."""
    sizes = {}
    with contextlib.suppress(OSError):  # the process has ended, or this isn't Linux
        for descriptor in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):  # it was closed
                if not (file := descriptor.stat()).st_nlink:
                    sizes[file.st_dev, file.st_ino] = file.st_blocks * 512
    return sizes


def _refuse(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):  # it was removed
        raise error


class Workers:
    """The workers of a service."""

    def __init__(self, setup: WorkerSetup, variables: Collection[str] = ()) -> None:
        self.problems: list[str] = []
        self._setup = setup
        allowed = {*_VARIABLES.split(), *variables}
        self._environment = {
            name: value
            for name, value in os.environ.items()
            if name in allowed or name.startswith("LC_")
        }
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._is_closed = False
        self._folders = PrivateFolder("jupyter_funcs.workers.")
        remove_old_groups()
        self._queries: WeakKeyDictionary[DuckDBEngine, Workers] = WeakKeyDictionary()

    def load(self) -> list[PublishedFunction]:
        """Return the published functions; raises `SetupError` if they can't be loaded, or adds to `problems`."""
        while True:
            try:
                worker, reply = self._start()
                break
            except UnfinishedImportError as error:
                if error.source in self._setup.skipped:  # a thread of another one ended it
                    raise
                if self._setup.keeps_going:
                    self.problems.append(str(error))
                elif error.is_slow:
                    log.error("%s It is not published.", error)  # noqa: TRY400 - one line
                else:
                    raise
                self._setup = replace(self._setup, skipped=(*self._setup.skipped, error.source))
        self._put(worker)
        self._setup = replace(
            self._setup, keeps_going=True
        )  # a file that breaks later concerns its own functions only
        self.problems += reply.problems
        here: Any = {"python": _elsewhere, "takes_call": True, "workers": self}
        return [
            WorkerFunction(**msgspec.structs.asdict(facts), **here) for facts in reply.functions
        ]

    def run(
        self, order: WorkerOrder | QueryOrder, call: DuckDBCall, user: int, *, alone: bool = False
    ) -> ReplyContent | Compiled:
        """Run a function for a user, `alone` in a worker of its own."""
        worker = self._take(None if alone else user)
        is_reusable = False
        try:
            reply = worker.run(order, call, functools.partial(self._answer, call))
            is_reusable = reply.is_reusable and not alone and not call.cancelled
        finally:
            if is_reusable:
                self._put(worker)
            else:
                self._end(worker)
        if call.cancelled:
            raise CallCancelledError
        match reply.kind:
            case "body":
                media_type = results.ARROW if reply.text == results.ARROW else results.JSON
                return ReplyContent(media_type, reply.content, reply.rows, reply.lost)
            case "expression":
                return self._queried(reply, call, order.form)
            case "checked" if isinstance(order, QueryOrder):
                return replace(order.compiled(), sql=reply.text, is_remote=True)
            case "invalid":
                raise ArgumentsError(reply.errors)
            case "too large":
                raise MemoryLimitError(reply.text)
        raise WorkerError(reply.text, reply.trace)

    def _answer(self, call: DuckDBCall, reply: WorkerReply) -> Any:
        """Return the table or the rows that a function asked for."""
        if reply.kind == "table":
            return call.table(reply.text), getattr(call, "dialect", None)
        rows = self._queried(reply, call, "arrow")
        if isinstance(rows, Compiled):
            return results.stream(call.arrow(rows))
        return bytes(rows.content)

    def _queried(
        self, reply: WorkerReply, call: DuckDBCall, form: results.ReplyForm
    ) -> ReplyContent | Compiled:
        """Run a query, or check one for another engine, in a process that can be ended: some ignore any interrupt."""
        order = QueryOrder(reply.text, bytes(reply.content), reply.tables, form)
        engine = call.engine
        if reply.is_remote and isinstance(engine, RemoteEngine):  # a worker may say so falsely
            order = replace(order, dialect=engine.dialect, card_spend=engine.card_spend()[0])
        if engine not in self._queries:
            data = engine.data(call.check_cancelled)
            # No more than the engine has, if that is little.
            memory = min(data.memory, max(data.memory // _MOST_QUERIES, _LEAST_MEMORY))

            # It publishes nothing and hides nothing: it reads the data alone.
            setup = WorkerSetup(
                (),
                reference=engine.reference,
                data=replace(data, memory=memory),
                readable=data.readable,
                memory=memory + _OVERHEAD,
                disk=memory,
            )

            # Another thread may have been quicker.
            self._queries.setdefault(engine, Workers(setup))
        return self._queries[engine].run(order, call, 0)

    def close(self) -> None:
        """End all workers."""
        for queries in list(self._queries.values()):
            queries.close()
        with self._lock:
            self._is_closed = True
            workers = list(self._all)
        for worker in workers:
            self._end(worker)
        self._folders.close()

    def _start(self) -> tuple[Worker, LoadReply]:
        with self._lock:
            if self._is_closed:
                raise CallCancelledError
            worker = Worker(self._setup, self._environment, self._folders.path)
            self._all.add(worker)
        try:
            return worker, worker.load()
        except SetupError:
            self._end(worker)
            raise

    def _take(self, user: int | None) -> Worker:
        with self._lock:
            # The newest of this user, else one that has run nothing yet.
            fresh = [worker for worker in self._idle if worker.user is None]
            usable = [worker for worker in self._idle if worker.user == user] or fresh
            worker = usable[-1] if usable else None
            if worker:
                self._idle.remove(worker)
        if fresh == [worker]:
            threading.Thread(target=self._start_spare, name="start a worker", daemon=True).start()
        worker = worker or self._start()[0]
        worker.user = user
        return worker

    def _start_spare(self) -> None:
        with contextlib.suppress(
            SetupError, CallCancelledError
        ):  # the run that needs it reports it
            self._put(self._start()[0])

    def _put(self, worker: Worker) -> None:
        with self._lock:
            self._idle.append(worker)
            used = [idle for idle in self._idle if idle.user is not None]
            stale = used[:-_MOST_IDLE]
            self._idle = [idle for idle in self._idle if idle not in stale]
        for idle in stale:
            self._end(idle)

    def _end(self, worker: Worker) -> None:
        worker.end()
        with self._lock:
            self._all.discard(worker)
            if worker in self._idle:
                self._idle.remove(worker)


@dataclass(frozen=True)
class WorkerFunction(PublishedFunction):
    """A published function that runs in a worker."""

    workers: Workers = field(kw_only=True, repr=False)
    is_notebook: bool = field(kw_only=True)

    def read(self, args: Values, reference: Any, *, typed: bool = False) -> JsonObject:
        """Return the arguments as they are, unless they don't fit the parameters; the worker reads them."""
        super().read(args, reference, typed=typed)
        return dict(args)

    def result(
        self,
        call: Any,
        values: Values,
        *,
        user: int = 0,
        form: results.ReplyForm = "json",
        typed: bool = False,
    ) -> Any:
        """Run the function in a worker."""
        return self.workers.run(
            WorkerOrder(self.name, values, form, typed), call, user, alone=self.is_notebook
        )


def _elsewhere(*_: Any, **__: Any) -> Any:
    raise RuntimeError("A published file's functions run in workers.")

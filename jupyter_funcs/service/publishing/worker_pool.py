"""
Run published code in worker processes, which have none of the service's secrets.

A worker that has run a function for a user runs only that user's functions, one at a time, so that nobody's results are
left where another's code could find them. A notebook gets a worker of its own.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import math
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import msgspec
import psutil

from jupyter_funcs.core import background
from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.core.text import exact
from jupyter_funcs.service.engine.calls import (
    MOST_BYTES,
    Call,
    CallCancelledError,
    Compiled,
    MemoryLimitError,
)
from jupyter_funcs.service.engine.duckdb_engine import (
    DuckDBCall,
    DuckDBEngine,
    PrivateFolder,
)
from jupyter_funcs.service.engine.remote_engine import RemoteEngine
from jupyter_funcs.service.publishing import results, worker_process
from jupyter_funcs.service.publishing.confinement import (
    BYTES_AN_ENTRY,
    WorkerSetup,
    clean_up,
    descendants,
    group_files,
    kill_descendants,
    launcher,
    ran_out_of_memory,
    remove_old_groups,
    wait_for_end,
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
    from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence

    from jupyter_funcs.core.json_decoding import Values


log = logging.getLogger(__name__)

_T = TypeVar("_T")

# Everything else in the service's environment may be a secret.
_VARIABLES = """
DYLD_LIBRARY_PATH LANG LANGUAGE LD_LIBRARY_PATH MKL_NUM_THREADS OMP_NUM_THREADS OPENBLAS_NUM_THREADS PATH PYTHONHOME
PYTHONPATH SSL_CERT_DIR SSL_CERT_FILE SYSTEMROOT TZ VIRTUAL_ENV
"""
# How often a run is checked for cancellation, and its use of memory and disk.
_POLL_SECONDS = 0.05
_CHECK_SECONDS = 0.2
_MOST_IDLE = 4
# What a worker's replies are read in, in bytes.
_BUFFERED = 2**20
# How many answers wait for another engine, and for how many seconds a fork is waited for.
_MOST_WAITING = 64
_LONGEST_FORK = 30
# Forks have no threads but their own.
_SINGLE_THREADED = dict.fromkeys(
    ("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"
) | {"JE_ARROW_MALLOC_CONF": "background_thread:false"}
# One user's queries share the memory of the engine, each with at least this much, in bytes; and what Python takes.
_MOST_QUERIES = max(4, 2 * (os.cpu_count() or 1))
_LEAST_MEMORY = 2**28
_OVERHEAD = 2**28 + 2**24 * (os.cpu_count() or 1)
# What functions print, each run.
_MOST_PRINTED = 64 * 1024
_LONGEST_LINE = 4096
# Of parameters.
_TYPES = {kind.__name__: kind for kind in (str, int, float, bool, date, object)}
_REPLIES = msgspec.msgpack.Decoder(WorkerReply)
_FIRST_REPLIES = msgspec.msgpack.Decoder(
    LoadReply, dec_hook=lambda _, name: _TYPES.get(name)
)
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
    began: float = field(default_factory=monotonic)

    @property
    def cancelled(self) -> bool:
        return monotonic() > self.began + self.seconds


@dataclass(eq=False)
class Worker:
    """A process that has loaded the functions; `user` is the one for whom it ran any."""

    setup: WorkerSetup
    folder: Path
    pid: int
    replies: asyncio.StreamReader
    orders: asyncio.StreamWriter
    printed: asyncio.StreamReader
    kill: Callable[[int], Coroutine[Any, Any, None]]
    sockets: Sequence[socket.socket] = ()
    user: int | None = None
    excess: str = ""
    expiry: asyncio.TimerHandle | None = None
    _printed: int = 0
    # Of the run whose output is logged.
    _context: Context = field(default_factory=Context)

    def __post_init__(self) -> None:
        self._logging = asyncio.create_task(self._log())

    async def load(self) -> LoadReply:
        """Wait for the functions; raises `SetupError` if they can't be loaded."""
        reply: LoadReply
        source = ""
        deadline = _Deadline(self.setup.import_seconds)
        self.send(self.setup)
        try:
            async with self._watched(deadline):
                # A file may end after its deadline, but before the process does.
                while (
                    reply := await self.read(_FIRST_REPLIES)
                ).kind == "importing" and not deadline.cancelled:
                    source = reply.text
                    deadline.began = monotonic()
        except EOFError:
            reply = LoadReply(
                "ended",
                "The process that loads published functions ended, or did not begin within "
                f"{deadline.seconds:g} s (run_seconds). Its output is in the log.",
            )

        if source and deadline.cancelled:
            reason = f"takes more than {deadline.seconds:g} seconds to import."
            raise UnfinishedImportError(source, reason, is_slow=True)

        if source and (self.excess or reply.kind == "ended"):
            raise UnfinishedImportError(
                source, f"can't be imported. {self.excess or reply.text}"
            )

        if reply.kind == "functions":
            return reply
        if reply.trace:
            log.error("Published functions can't be loaded.\n%s", reply.trace)
        raise SetupError(reply.text)

    async def _log(self) -> None:
        line = b""
        while piece := await self.printed.read(_MOST_PRINTED):
            *lines, line = (line + piece).split(b"\n")
            if len(line) > _LONGEST_LINE:
                lines.append(line)
                line = b""
            for printed in lines:
                self._printed += len(printed)
                if self._printed <= _MOST_PRINTED:
                    text = printed[:_LONGEST_LINE].decode(errors="replace").rstrip()
                    self._context.run(log.info, "%s", exact(text, lambda _: "?"))

    def send(self, order: Any) -> None:
        """Send an order, or what a function asked for."""
        # If it has ended, `read` raises; if it is cancelled, nothing is sent.
        with suppress(ConnectionError, RuntimeError):
            self.orders.write(pickle.dumps(order))

    async def read(self, replies: msgspec.msgpack.Decoder[Any]) -> Any:
        """Wait for a reply; raises `EOFError` if the process has ended."""
        try:
            [size] = LENGTH.unpack(await self.replies.readexactly(LENGTH.size))
            if size > MOST_BYTES + _MOST_FACTS:
                raise EOFError
            # Apart from it, the stream would hold all of a large one, too.
            content = bytearray()
            while len(content) < size:
                piece = await self.replies.read(min(size - len(content), _BUFFERED))
                if not piece:
                    raise EOFError
                content += piece
            reply = replies.decode(content)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise EOFError from None

        if (
            len(content) - len(reply.content) - sum(map(len, reply.tables.values()))
            > _MOST_FACTS
        ):
            raise EOFError

        return reply

    async def run(
        self,
        order: WorkerOrder | QueryOrder,
        call: DuckDBCall,
        answer: Callable[[WorkerReply], Coroutine[Any, Any, Any]],
    ) -> WorkerReply:
        """Execute an order, with an `answer` to what its function asks for, and return the last reply."""
        self._printed = 0
        self._context = copy_context()
        try:
            async with self._watched(call):
                self.send(order)
                reply: WorkerReply
                while (reply := await self.read(_REPLIES)).kind in ("table", "rows"):
                    self.send(await answer(reply))
        except EOFError:
            if call.cancelled:
                raise CallCancelledError from None
            if self.excess.endswith("memory.") or ran_out_of_memory(self.pid):
                raise MemoryLimitError from None
            raise WorkerError(
                self.excess or "The process that ran it ended before its result."
            ) from None

        return reply

    @asynccontextmanager
    async def _watched(self, call: Call | _Deadline) -> AsyncIterator[None]:
        """End the process if its run is cancelled, or uses more than allowed."""
        watch = asyncio.create_task(self._watch(call))
        try:
            yield
        finally:
            watch.cancel()

    async def _watch(self, call: Call | _Deadline) -> None:
        cancelled_at = 0.0
        checked_at = monotonic()
        while not self.excess and (
            not cancelled_at or monotonic() - cancelled_at <= GRACE_SECONDS
        ):
            await asyncio.sleep(_POLL_SECONDS)
            now = monotonic()
            if call.cancelled and not cancelled_at:
                cancelled_at = now
                with suppress(OSError):
                    self.orders.write_eof()
            if now - checked_at > _CHECK_SECONDS:
                self.excess = await asyncio.to_thread(self._excess)
                checked_at = monotonic()

        await self.kill(self.pid)

    def _excess(self) -> str:
        try:
            processes = descendants(self.pid)
            if not self.sockets:  # otherwise this one is the launcher
                processes.append(psutil.Process(self.pid))
            if len(processes) > self.setup.processes:
                return f"It was ended because it used more than {self.setup.processes} processes."
            memory = _memory(processes, self.setup.memory)
            disk = self._disk(processes)
        except psutil.NoSuchProcess:
            return ""
        except (OSError, RecursionError):
            return "It was ended because its folders can't be read."

        for used, limit, of in (
            (memory, self.setup.memory, "memory"),
            (disk, self.setup.disk, "disk space"),
        ):
            if used > limit:
                return (
                    f"It was ended because it used more than {limit:,} bytes of {of}."
                )

        return ""

    def _disk(self, processes: Sequence[psutil.Process]) -> int:
        disk = 0
        nameless: dict[tuple[int, int], int] = {}
        for process in processes:
            nameless |= _nameless(process.pid)
        for folder, folders, names in os.walk(self.folder, onerror=_refuse):
            for name in (*folders, *names):
                with suppress(OSError):
                    disk += (
                        os.lstat(f"{folder}/{name}").st_blocks * 512 + BYTES_AN_ENTRY
                    )

        return disk + sum(nameless.values())

    async def end(self) -> None:
        """End the process with all that it started."""
        await self.kill(self.pid)
        self.orders.close()
        for connection in self.sockets:
            connection.close()
        self._logging.cancel()
        await asyncio.to_thread(wait_for_end, self.pid)
        await asyncio.to_thread(clean_up, self.folder, self.pid)


class Template(Worker):
    """A process that has loaded the functions and runs none: its forks are workers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._locks = [asyncio.Lock() for _ in self.sockets]

    @property
    def has_ended(self) -> bool:
        return self.replies.at_eof() or -1 in (
            connection.fileno() for connection in self.sockets
        )

    async def fork(self) -> Worker:
        """Return a new worker; raises `EOFError` if the template has ended, and `OSError` if the system forbids it."""
        setup = replace(self.setup, forks=False)
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        with ExitStack() as opened:
            made, namespaces = await self._ask(0, str(folder))
            for descriptor in namespaces:
                opened.callback(os.close, descriptor)
            if made not in ("made", "none"):
                raise OSError(made)
            ours, theirs = socket.socketpair()
            opened.enter_context(theirs)
            read, write = os.pipe()
            opened.callback(os.close, write)
            printed = asyncio.StreamReader()
            await asyncio.get_running_loop().connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(printed), os.fdopen(read, "rb", 0)
            )
            replies, orders = await asyncio.open_connection(sock=ours, limit=_BUFFERED)
            pid, _ = await self._ask(
                1, str(folder), theirs.fileno(), write, *namespaces
            )

        if not pid.isdigit():
            raise OSError(pid)
        worker = Worker(
            setup, folder, int(pid), replies, orders, printed, self._kill_fork
        )
        # The system takes some milliseconds to let a process join a group.
        limiting = asyncio.create_task(asyncio.to_thread(_limit, int(pid), setup))
        try:
            await worker.read(_REPLIES)
        except EOFError:
            await limiting
            await worker.end()
            raise OSError(
                "A fork of the process that has loaded published functions ended."
            ) from None

        await limiting
        return worker

    async def _kill_fork(self, pid: int) -> None:
        with suppress(EOFError):  # all its forks have ended with it
            await self._ask(0, str(pid))

    async def _ask(
        self, which: int, text: str, *descriptors: int
    ) -> tuple[str, list[int]]:
        """Send an order to the launcher or the template, and return the answer; raises `EOFError` if it has ended."""
        # Who is cancelled leaves no answer for the next one.
        return await asyncio.shield(self._asked(which, text, *descriptors))

    async def _asked(
        self, which: int, text: str, *descriptors: int
    ) -> tuple[str, list[int]]:
        connection = self.sockets[which]
        answered = asyncio.Event()
        loop = asyncio.get_running_loop()
        async with self._locks[which]:
            if connection.fileno() == -1:
                raise EOFError
            try:
                socket.send_fds(connection, [text.encode()], descriptors)
                loop.add_reader(connection, answered.set)
                async with asyncio.timeout(_LONGEST_FORK):
                    await answered.wait()
                answer, received, _, _ = socket.recv_fds(
                    connection, 4096, 3, socket.MSG_CMSG_CLOEXEC
                )
            except OSError:  # it has ended, or hangs
                answer = b""
            finally:
                loop.remove_reader(connection)
            if not answer:
                connection.close()
                raise EOFError

        return answer.decode(), received


def _limit(pid: int, setup: WorkerSetup) -> None:
    """Let a process join new control groups with the limits of a worker."""
    for file in group_files(pid, setup):
        with suppress(OSError):
            file.write_text(str(pid))


def _nameless(pid: int) -> dict[tuple[int, int], int]:
    """Return the sizes of the open files of a process that are in no folder: deleted ones, and those in memory."""
    sizes = {}
    with suppress(OSError):  # the process has ended, or this isn't Linux
        for descriptor in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError):  # it was closed
                if not (file := descriptor.stat()).st_nlink:
                    sizes[file.st_dev, file.st_ino] = file.st_blocks * 512

    return sizes


def _memory(processes: Sequence[psutil.Process], limit: int) -> int:
    """Return the memory of processes, in bytes; without what they share with others if it would be above a limit."""
    memory = 0
    for process in processes:
        with suppress(psutil.Error):
            memory += process.memory_info().rss

    if memory <= limit:
        return memory
    memory = 0
    for process in processes:
        with suppress(psutil.Error):
            info = process.memory_full_info()
            # Also its part of what it shares with others.
            memory += getattr(info, "pss", info.uss)

    return memory


def _refuse(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):  # it was removed
        raise error


class Workers:
    """The workers of a service; all but `load`, `check` and `close` happen on the background loop."""

    def __init__(
        self,
        setup: WorkerSetup,
        variables: Collection[str] = (),
        *,
        idle: int = _MOST_IDLE,
        idle_seconds: float = math.inf,
    ) -> None:
        self.problems: list[str] = []
        self._setup = setup
        allowed = {*_VARIABLES.split(), *variables}
        self._environment = _SINGLE_THREADED | {
            name: value
            for name, value in os.environ.items()
            if name in allowed or name.startswith("LC_")
        }
        self._most_idle = idle
        self._idle_seconds = idle_seconds
        # The first is the one that was used least recently.
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._endings: set[asyncio.Task[None]] = set()
        self._template: Template | None = None
        self._starting = asyncio.Lock()
        self._is_closed = False
        self._folders = PrivateFolder("jupyter_funcs.workers.")
        self._threads = ThreadPoolExecutor(
            _MOST_WAITING, thread_name_prefix="answer a worker"
        )
        remove_old_groups()
        self._queries: WeakKeyDictionary[DuckDBEngine, Workers] = WeakKeyDictionary()

    def load(self) -> list[PublishedFunction]:
        """Return the published functions; raises `SetupError` if they can't be loaded, or adds to `problems`."""
        self._setup = replace(self._setup, forks=sys.platform == "linux")
        reply = background.run(self._load())
        self.problems += reply.problems
        here: Any = {"python": _elsewhere, "takes_call": True, "workers": self}
        return [
            WorkerFunction(**msgspec.structs.asdict(facts), **here)
            for facts in reply.functions
        ]

    def check(self) -> None:
        """Raise `SetupError` if no worker can be had."""
        if self._setup.forks:
            background.run(self._ready_template())

    async def _load(self) -> LoadReply:
        while True:
            try:
                worker, reply = await self._start()
                break
            except UnfinishedImportError as error:
                # A thread of another one ended it.
                if error.source in self._setup.skipped:
                    raise
                if self._setup.keeps_going:
                    self.problems.append(str(error))
                elif error.is_slow:
                    log.error("%s It is not published.", error)  # noqa: TRY400 - one line
                else:
                    raise
                self._setup = replace(
                    self._setup, skipped=(*self._setup.skipped, error.source)
                )

        if isinstance(worker, Template):
            if await self._can_fork(worker, reply):
                self._template = worker
            else:
                self._setup = replace(self._setup, forks=False)
                await self._end(worker)
                return await self._load()
        else:
            self._idle.append(worker)

        # A file that breaks later concerns its own functions only.
        self._setup = replace(self._setup, keeps_going=True)
        return reply

    async def _can_fork(self, template: Template, reply: LoadReply) -> bool:
        """Tell whether a template's forks are workers, by a first one."""
        if reply.leaves:
            log.warning(
                "%s starts threads or opens sockets when it is imported: the processes of users can't be forks of one "
                "that has imported it, and import all files themselves. Start and open them in the functions.",
                reply.leaves,
            )
            return False

        try:
            self._idle.append(await self._forked(template))
        except OSError as error:
            log.warning("Processes of users import all files themselves: %s.", error)
            return False

        return True

    async def run(
        self,
        order: WorkerOrder | QueryOrder,
        call: DuckDBCall,
        user: int,
        *,
        alone: bool = False,
    ) -> ReplyContent | Compiled:
        """Run a function for a user, `alone` in a worker of its own."""
        worker = await self._take(user)
        is_reusable = False
        try:
            reply = await worker.run(order, call, functools.partial(self._answer, call))
            is_reusable = reply.is_reusable and not alone and not call.cancelled
        finally:
            if is_reusable:
                self._put(worker)
            else:
                await self._end(worker)

        if call.cancelled:
            raise CallCancelledError
        match reply.kind:
            case "body":
                media_type = results.JSON
                if reply.text == results.ARROW:
                    media_type = results.ARROW
                return ReplyContent(media_type, reply.content, reply.rows, reply.lost)
            case "expression":
                return await self._queried(reply, call, order.form)
            case "checked" if isinstance(order, QueryOrder):
                return replace(order.compiled(), sql=reply.text, is_remote=True)
            case "invalid":
                raise ArgumentsError(reply.errors)
            case "too large":
                raise MemoryLimitError(reply.text)

        raise WorkerError(reply.text, reply.trace)

    async def encoded(
        self, order: WorkerOrder, call: DuckDBCall, user: int, *, alone: bool
    ) -> ReplyContent:
        """Run a function, and its query on another engine if it returns one, and return the body of a reply."""
        content = await self.run(order, call, user, alone=alone)
        if isinstance(content, ReplyContent):
            return content
        return await self._in_thread(
            functools.partial(results.encoded, form=order.form), content, call
        )

    def _in_thread(self, work: Callable[..., _T], *args: Any) -> asyncio.Future[_T]:
        return asyncio.get_running_loop().run_in_executor(self._threads, work, *args)

    async def _answer(self, call: DuckDBCall, reply: WorkerReply) -> Any:
        """Return the table or the rows that a function asked for."""
        if reply.kind == "table":
            table = await self._in_thread(call.table, reply.text)
            return table, getattr(call, "dialect", None)

        rows = await self._queried(reply, call, "arrow")
        if isinstance(rows, Compiled):
            return results.stream(await self._in_thread(call.arrow, rows))
        return bytes(rows.content)

    async def _queried(
        self, reply: WorkerReply, call: DuckDBCall, form: results.ReplyForm
    ) -> ReplyContent | Compiled:
        """Run a query, or check one for another engine, in a process that can be ended: some ignore any interrupt."""
        order = QueryOrder(reply.text, bytes(reply.content), reply.tables, form)
        engine = call.engine
        # A worker may say so falsely.
        if reply.is_remote and isinstance(engine, RemoteEngine):
            card_spend, _ = await self._in_thread(engine.card_spend)
            order = replace(order, dialect=engine.dialect, card_spend=card_spend)

        if engine not in self._queries:
            data = await self._in_thread(engine.data, call.check_cancelled)
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

            # Another run may have been quicker.
            self._queries.setdefault(engine, Workers(setup))

        return await self._queries[engine].run(order, call, 0)

    def close(self) -> None:
        """End all workers."""
        background.run(self._close())

    async def _close(self) -> None:
        self._is_closed = True
        for queries in list(self._queries.values()):
            await queries._close()  # noqa: SLF001 - the same class
        if self._template:  # with its forks
            await self._end(self._template)
        await asyncio.gather(*map(self._end, [*self._all]), *self._endings)
        self._threads.shutdown(wait=False)
        self._folders.close()

    async def _start(self) -> tuple[Worker, LoadReply]:
        """Start a process that loads the functions: a template, or a worker."""
        if self._is_closed:
            raise CallCancelledError
        worker = await self._launched()
        self._all.add(worker)
        try:
            return worker, await worker.load()
        except SetupError:
            await self._end(worker)
            raise

    async def _launched(self) -> Worker:
        folder = Path(tempfile.mkdtemp(dir=self._folders.path))
        pairs = []
        if sys.platform == "linux":
            pairs = [socket.socketpair(type=socket.SOCK_SEQPACKET) for _ in range(2)]
        theirs = [pair[1].fileno() for pair in pairs]
        process = await asyncio.create_subprocess_exec(
            *launcher(self._setup, worker_process.__name__, theirs),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            limit=_BUFFERED,
            cwd=folder,
            env={
                **self._environment,
                **dict.fromkeys(worker_process.OWN_FOLDERS, str(folder)),
            },
            start_new_session=True,
            pass_fds=theirs,
        )
        for pair in pairs:
            pair[1].close()
        assert process.stdin
        assert process.stdout
        assert process.stderr

        async def kill(_pid: int) -> None:
            await asyncio.to_thread(_kill, process)
            await process.wait()

        kind = Template if self._setup.forks else Worker
        streams = (process.stdout, process.stdin, process.stderr)
        sockets = [pair[0] for pair in pairs]
        return kind(self._setup, folder, process.pid, *streams, kill, sockets)

    async def _take(self, user: int) -> Worker:
        """Return a worker of a user, else one that has run nothing yet."""
        if self._is_closed:
            raise CallCancelledError
        self._dismiss_ended()
        worker = self._idle_worker(user)
        if worker is None and self._setup.forks:
            worker = await self._new_fork()
        if worker is None:
            worker, _ = await self._start()
        if worker.expiry:
            worker.expiry.cancel()
        worker.user = user
        return worker

    def _dismiss_ended(self) -> None:
        is_orphaned = self._template and self._template.has_ended  # its forks end, too
        for worker in [*self._idle]:
            if is_orphaned or worker.replies.at_eof():
                self._dismiss(worker)

    def _idle_worker(self, user: int) -> Worker | None:
        for owner in (user, None):
            usable = [worker for worker in self._idle if worker.user == owner]
            if usable:
                self._idle.remove(usable[-1])
                return usable[-1]
        return None

    async def _new_fork(self) -> Worker:
        for _ in range(2):
            with suppress(EOFError):  # the template has been killed
                return await self._forked(await self._ready_template())
        raise WorkerError("The process that starts others ended. Try again.")

    async def _ready_template(self) -> Template:
        """Return the template, a new one if it has ended."""
        async with self._starting:
            before = self._template
            if before and not before.has_ended:
                return before
            self._template = None
            if before:
                await self._end(before)
            worker, _ = await self._start()
            assert isinstance(worker, Template)
            self._template = worker
            return worker

    async def _forked(self, template: Template) -> Worker:
        worker = await template.fork()
        self._all.add(worker)
        return worker

    def _put(self, worker: Worker) -> None:
        self._idle.append(worker)
        if self._idle_seconds < math.inf:
            loop = asyncio.get_running_loop()
            worker.expiry = loop.call_later(self._idle_seconds, self._dismiss, worker)
        if len(self._idle) > self._most_idle:
            self._dismiss(self._idle[0])

    def _dismiss(self, worker: Worker) -> None:
        self._idle.remove(worker)
        if worker.expiry:
            worker.expiry.cancel()
        ending = asyncio.create_task(self._end(worker))
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)

    async def _end(self, worker: Worker) -> None:
        await worker.end()
        self._all.discard(worker)


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(psutil.NoSuchProcess, ProcessLookupError):
        if process.returncode is None:  # otherwise the number may be another's by now
            kill_descendants(process.pid)
            if sys.platform == "win32":
                process.kill()
            else:
                # Also finds those whose parents have ended; and doesn't ask for the process's end, as `kill` does,
                # which whoever waits for it would then not be told.
                os.killpg(process.pid, signal.SIGKILL)


@dataclass(frozen=True)
class WorkerFunction(PublishedFunction):
    """A published function that runs in a worker."""

    workers: Workers = field(kw_only=True, repr=False)
    is_notebook: bool = field(kw_only=True)

    async def body(
        self,
        call: DuckDBCall,
        user: int,
        form: results.ReplyForm,
        args: Values,
        *,
        typed: bool,
    ) -> ReplyContent:
        """Run the function in a worker, which also reads the arguments; on the background loop."""
        order = WorkerOrder(self.name, args, form, typed)
        return await self.workers.encoded(order, call, user, alone=self.is_notebook)


def _elsewhere(*_: Any, **__: Any) -> Any:
    raise RuntimeError("A published file's functions run in workers.")

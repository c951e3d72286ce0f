"""
Sweep: many runs of one function become one table.

A coroutine on the background loop starts the runs, as many at a time as `pacing` allows. Results are stored in small
batches by one thread at a time. A run that the service refuses is sent again later; any other failure is listed, and
the other runs continue.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import math
import threading
import time
from collections import Counter, deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.connection.secrets import redacted_values
from jupyter_funcs.core import background
from jupyter_funcs.core.background import Progress, SweepProgress, loop_time
from jupyter_funcs.core.errors import (
    ArgumentError,
    AuthenticationError,
    ConfigError,
    DeadlineError,
    FuncsError,
    NotFoundError,
    ServiceConnectionError,
)
from jupyter_funcs.core.text import utc_text
from jupyter_funcs.core.warn import MissingRowsWarning, collect_warnings, warn
from jupyter_funcs.sweeps.pacing import Pace
from jupyter_funcs.sweeps.resuming import EarlierResults, Retried

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence

    import pandas as pd

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.core.json_decoding import JsonObject
    from jupyter_funcs.sweeps.combinations import Combos
    from jupyter_funcs.sweeps.memory_results import SweepResults

    RunFunction = Callable[[Args, Progress], Awaitable[pd.DataFrame]]

_CACHE_BATCH = 256  # results read from the cache at a time
_BATCH_SECONDS = 0.01  # results that arrive within this time are stored together
_MAX_WARNINGS = 5


class _Arrival(NamedTuple):
    at: int
    frame: pd.DataFrame
    size: int  # bytes of the reply


class Sweep:
    """The runs of one sweep. Each is known by its position in ``combos.runs``."""

    def __init__(
        self,
        function: RemoteCall,
        combos: Combos,
        run_function: RunFunction,
        results: SweepResults,
        retried: Retried | None = None,
    ) -> None:
        self.function = function
        self.combos = combos
        self.progress = SweepProgress(total=len(combos.runs))
        self.ended = False
        self._run_function = run_function
        self._results = results
        self.earlier = EarlierResults(function, combos.runs, retried)
        self._pace = Pace(function.options.concurrency)
        self._pending: deque[int] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._in_flight: set[int] = set()  # sent, and not answered yet
        self._attempts: Counter[int] = Counter()
        self._failures = dict(self.earlier.retried.left)  # as plain JSON values
        self._columns: JsonObject = {}  # what the source says of them
        self.progress.failed = len(self._failures)
        self._arrived: list[_Arrival] = []  # not stored yet
        self._storing: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._fatal: FuncsError | None = None
        self._explanation: tuple[FuncsError, asyncio.Task[FuncsError]] | None = None
        self._warnings: list[UserWarning] = []
        self._task: asyncio.Task[Any] | None = None
        self._is_stopped = False
        self._gave_up = False
        self._is_closed = False
        # A thread continues even if the task that awaits it is cancelled.
        self._lock = threading.Lock()

    def again(
        self, results: SweepResults, errors: Collection[int] = (), *, sends: bool = True
    ) -> Sweep:
        """Return the sweep that runs only what failed, or some of it, or nothing, and takes all else from this one."""
        failed = sorted(self._failures)
        wanted = set()
        if sends:
            wanted = {failed[at] for at in errors} or set(failed)
        left = {at: error for at, error in self._failures.items() if at not in wanted}
        retried = Retried(self.earlier.kept, frozenset(failed), left, sends)
        return Sweep(self.function, self.combos, self._run_function, results, retried)

    def stop(self) -> None:
        """Stop sending runs and end once all results so far are stored; from any thread."""
        if self._is_stopped:  # a second cancel would interrupt the storing
            return
        self._is_stopped = True
        if self._task:  # otherwise `run` ends as it starts
            background.background_loop().call_soon_threadsafe(self._task.cancel)

    async def run(self) -> Any:
        """Run the sweep and return its result; on the background loop."""
        self._task = asyncio.current_task()
        started = time.time()
        clock = time.monotonic()
        ended = False
        try:
            if self._is_stopped:
                raise asyncio.CancelledError
            with collect_warnings(self._warnings):
                await self._load_earlier()
                if not self.earlier.retried.sends:
                    self._give_up(
                        FuncsError("The sweep was cancelled before this run ended.")
                    )
                await self._run_all()
                about = sweep_facts(
                    self.function,
                    self.combos,
                    self.progress,
                    started,
                    time.monotonic() - clock,
                )
                if self._columns:
                    about["columns"] = self._columns
                result = await asyncio.to_thread(self._finish, about)
            ended = not self._gave_up
        finally:
            self.progress.waiting = ""
            await asyncio.to_thread(self._close, ended=ended)

        self._warn()
        return result

    def _finish(self, about: JsonObject) -> Any:
        with self._lock:
            self.earlier.flush()
            return self._results.finish(
                about, ErrorList(self._failures[at] for at in sorted(self._failures))
            )

    def _close(self, *, ended: bool) -> None:
        with self._lock:
            self._is_closed = True
            self.earlier.close(ended=ended, failed=bool(self._failures))
            self._results.close()
        self.ended = True

    async def _load_earlier(self) -> None:
        """Load results from a folder, the cache or an interrupted sweep; the other runs become pending."""
        in_folder = await self._results.find(self.combos.runs)
        self._count_cached(in_folder.values())
        times = await self.earlier.find()
        positions = sorted(times.keys() - in_folder.keys())
        loaded = {*in_folder, *self._failures}  # failures that aren't tried again
        for first in range(0, len(positions), _CACHE_BATCH):
            batch = await asyncio.to_thread(
                self._load_batch, positions[first : first + _CACHE_BATCH]
            )
            self._count_cached([times[at] for at in batch])
            loaded |= batch

        self._pending.extend(
            at for at in range(len(self.combos.runs)) if at not in loaded
        )

    def _load_batch(self, positions: list[int]) -> set[int]:
        """Add cached results; return the positions of those that were still there."""
        with self._lock:
            frames = {} if self._is_closed else self.earlier.read(positions)
            for at in sorted(frames):
                self._add(at, frames[at])
        return set(frames)

    def _count_cached(self, times: Collection[float]) -> None:
        progress = self.progress
        progress.done += len(times)
        progress.cached += len(times)
        if times:
            progress.oldest = min(progress.oldest or math.inf, *times)

    async def _run_all(self) -> None:
        try:
            while self._pending or self._tasks:
                self._send()
                self._changed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._pace.changes_in(loop_time())):
                        await self._changed.wait()
                if self._storing and self._storing.done():
                    break  # it failed
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            if self._storing:
                await self._storing

        if self._fatal and not self.progress.done:
            raise self._fatal

    def _send(self) -> None:
        """Start pending runs, as many as may be in flight."""
        most = self._pace.at_a_time(loop_time())
        if most:
            self.progress.waiting = ""
        while self._pending and len(self._in_flight) < most:
            # Results that aren't stored yet take memory too.
            not_stored = len(self._tasks) - len(self._in_flight) + len(self._arrived)
            if not_stored >= 2 * self.function.options.concurrency:
                break
            at = self._pending.popleft()
            self._in_flight.add(at)
            task = asyncio.ensure_future(self._run(at))
            self._tasks.add(task)
            task.add_done_callback(self._end)

    def _answered(self, at: int) -> None:
        """Let another run be sent, although the reply to this one is still being read."""
        self._in_flight.discard(at)
        self._changed.set()

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._changed.set()

    async def _run(self, at: int) -> None:
        progress = Progress(on_answer=lambda: self._answered(at))
        sent = loop_time()
        try:
            frame = await self._run_function(self.combos.runs[at], progress)
        except Exception as error:  # noqa: BLE001  # a bug in an executor or in this package: the others continue
            self._attempts[at] += progress.attempts
            if isinstance(error, (ArgumentError, NotFoundError)):
                error = await self._explained(error)
            if isinstance(error, FuncsError):
                self._handle_failure(at, error, sent)
            else:
                what = f"{self.function.name} failed inside jupyter_funcs: {type(error).__name__}: {error}"
                self._add_failure(at, FuncsError(what))
        else:
            self._pace.accepted(sent)
            self.progress.done += 1
            self._arrived.append(_Arrival(at, frame, progress.received))
            if self._storing is None:
                self._storing = asyncio.ensure_future(self._store())
                # Even if it fails.
                self._storing.add_done_callback(lambda _: self._changed.set())
        finally:
            self._in_flight.discard(at)
            self.progress.attempts += progress.attempts
            self.progress.received += progress.received

    async def _explained(self, refusal: FuncsError) -> FuncsError:
        """Check once whether the function has changed since it was listed, which would explain every refusal."""
        if self._explanation is None:
            self._explanation = (
                refusal,
                asyncio.ensure_future(self.function.explain(refusal)),
            )

        first, explaining = self._explanation
        explanation = await asyncio.shield(explaining)
        return refusal if explanation is first else explanation

    def _handle_failure(self, at: int, error: FuncsError, sent: float) -> None:
        if error.refused:
            now = loop_time()
            waits = self._pace.refused(now, sent=sent, retry_after=error.retry_after)
            if waits and not (error.attempts and self.function.function.changes_data):
                until = dt.datetime.fromtimestamp(
                    time.time() + self._pace.until - now
                ).astimezone()
                self.progress.waiting = f"waiting until {until:%H:%M:%S}: {error.what}"
                self._pending.appendleft(at)
                return
            if not waits:
                seconds = math.ceil(round(self._pace.until - now, 3))
                error.hint = (
                    f"This run was not sent. Run the same sweep again in {seconds:,} s."
                )
                self._give_up(error)
        elif isinstance(error, (AuthenticationError, ConfigError)):
            self._fatal = self._fatal or error
            self._give_up(error)
        elif not isinstance(error, (ServiceConnectionError, DeadlineError)):
            self._pace.accepted(sent)

        self._add_failure(at, error)

    def _give_up(self, error: FuncsError) -> None:
        """Fail all pending runs, which would fail with the same error."""
        self._gave_up = True
        while self._pending:
            self._add_failure(self._pending.popleft(), error)

    def _add_failure(self, at: int, error: FuncsError) -> None:
        self._failures[at] = {
            "args": redacted_values(self.combos.runs[at]),
            "error": str(error),
            "type": type(error).__name__,
            "attempts": self._attempts[at],
        }
        self.progress.failed += 1

    async def _store(self) -> None:
        while self._arrived:
            await asyncio.sleep(_BATCH_SECONDS)
            batch = tuple(self._arrived)
            await asyncio.to_thread(self._store_batch, batch)
            del self._arrived[: len(batch)]
            self._changed.set()

        self._storing = None

    def _store_batch(self, batch: Sequence[_Arrival]) -> None:
        with self._lock:
            # First, so that they can be resumed from even if the next step fails.
            for arrival in batch:
                self.earlier.add(*arrival)
            for at, frame, _ in batch:
                self._add(at, frame)

    def _add(self, at: int, frame: pd.DataFrame) -> None:
        self._columns |= frame.attrs.get("funcs", {}).get("columns", {})
        self._results.add(at, self.combos.runs[at], frame)

    def _warn(self) -> None:
        by_text = {(type(warning), str(warning)): warning for warning in self._warnings}
        unique = sorted(
            by_text.values(),
            key=lambda warning: not isinstance(warning, MissingRowsWarning),
        )
        for warning in unique[:_MAX_WARNINGS]:
            warn(warning)
        if len(unique) > _MAX_WARNINGS:
            warn(
                f"The runs of {self.function.name} raised {len(unique) - _MAX_WARNINGS:,} other warnings."
            )

        if self._failures:
            failed = f"{len(self._failures):,} of {self.progress.total:,} runs of {self.function.name} failed"
            first = self._failures[min(self._failures)]["error"].partition("\n")[0]
            warn(
                MissingRowsWarning(
                    f"{failed}, all listed in {self._results.errors_in}. First error: {first}"
                )
            )


def sweep_facts(
    function: RemoteCall,
    combos: Combos,
    progress: SweepProgress,
    started: float,
    elapsed: float,
) -> JsonObject:
    """Return what the attrs of a sweep's table say about it."""
    return {
        "function": function.name,
        "args": redacted_values(combos.constant),
        "swept": list(combos.swept),
        "runs": progress.total,
        "failed": progress.failed,
        "time": utc_text(started),
        "service": function.session.service,
        "synthetic": function.synthetic,
        "elapsed": round(elapsed, 3),
        "bytes": progress.received,
        "attempts": progress.attempts,
        "cached": {
            "runs": progress.cached,
            "oldest": progress.oldest and utc_text(progress.oldest),
        },
    }


class ErrorList(list[dict[str, Any]]):
    """A list whose deep copy shares its items, because pandas copies attrs for each column that is selected."""

    def __deepcopy__(self, _memo: object) -> ErrorList:
        """Return a shallow copy."""
        return ErrorList(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a plain list."""
        return list, (list(self),)

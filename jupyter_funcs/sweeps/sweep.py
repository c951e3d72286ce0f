"""
Sweep: many runs of one function become one table.

A coroutine on the background loop sends the runs, as many at a time as the pace allows; what comes is handed in small
lots to one thread at a time, which keeps it. A run that the service refuses is sent again later, any other failure is
noted, and the rest goes on.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import math
import threading
import time
from collections import Counter, deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from jupyter_funcs import loop
from jupyter_funcs.errors import (
    ArgumentError,
    AuthenticationError,
    ConfigError,
    DeadlineError,
    FuncsError,
    NotFoundError,
    ServiceConnectionError,
)
from jupyter_funcs.failures import Failures, plain
from jupyter_funcs.kept import Kept
from jupyter_funcs.notices import kept_in, warn
from jupyter_funcs.pacing import Pace
from jupyter_funcs.progress import Progress, SweepProgress

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pandas as pd

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.combos import Combos
    from jupyter_funcs.forms import Args

_LOT = 256  # results read from the cache at a time
_LOT_SECONDS = 0.01  # what comes within is kept by one thread
_MOST_WARNINGS = 5


class Taker(Protocol):
    """What runs one of many: in this process, or on an executor's workers."""

    async def __call__(self, args: Args, progress: Progress) -> pd.DataFrame: ...


class Gathering(Protocol):
    """
    Where the results of a sweep are kept until all have come; called in worker threads, one at a time.

    Attributes
    ----------
    errors_in
        Where the result lists the runs that failed, in words.
    """

    errors_in: str

    async def there(self, runs: Sequence[Args]) -> Mapping[int, float]:
        """Give which runs it has results of already, and when those were run, in seconds since 1970; on the loop."""

    def add(self, at: int, args: Args, frame: pd.DataFrame) -> None:
        """Keep the result of the run at this place."""

    def finish(self) -> Any:
        """Give all results as one, in the order of their places."""

    def sign(self, result: Any, told: dict[str, Any], errors: list[dict[str, Any]]) -> Any:
        """Write on the result what the sweep was, and which of its runs failed."""

    def close(self) -> None:
        """Remove what was only temporary."""


class _Came(NamedTuple):
    at: int
    frame: pd.DataFrame
    size: int


class Sweep:
    """
    Many runs of one function.

    Parameters
    ----------
    function
        What is run, with its options.
    combos
        With which arguments.
    take
        What runs one of them.
    gathering
        What keeps the results.

    Attributes
    ----------
    progress
        How far it has come.
    ended
        Whether nothing is to be kept any more.
    """

    def __init__(self, function: RemoteFunction, combos: Combos, take: Taker, gathering: Gathering) -> None:
        self.function = function
        self.combos = combos
        self.progress = SweepProgress(total=len(combos.runs))
        self.ended = False
        self._take = take
        self._gathering = gathering
        self._kept = Kept(function, combos.runs)
        self._pace = Pace(function.options.concurrency)
        self._waiting: deque[int] = deque()
        self._under_way: set[asyncio.Task[None]] = set()
        self._sent: set[int] = set()  # the places of the runs that the service is at
        self._attempts: Counter[int] = Counter()
        self._failures = Failures(function.name, len(combos.runs))
        self._came: list[_Came] = []
        self._keeping: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._fatal: FuncsError | None = None
        self._explaining: tuple[FuncsError, asyncio.Task[FuncsError]] | None = None
        self._texts: list[str] = []
        self._task: asyncio.Task[Any] | None = None
        self._is_stopped = False
        self._gave_up = False
        self._is_closed = False
        # A thread goes on where the wait for it is cancelled.
        self._lock = threading.Lock()

    @property
    def resumes(self) -> bool:
        """Whether the same sweep goes on from all that has come."""
        return self._kept.resumes

    def stop(self) -> None:
        """Ask it to end, from any thread: what has come is kept, the rest is not sent."""
        if not self._is_stopped:  # a second one must not disturb the keeping
            self._is_stopped = True
            loop.background_loop().call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def run(self) -> Any:
        """
        Run all, on the background loop.

        Returns
        -------
        DataFrame
            A block a run, in the order of the runs, or what the gathering gives in its place.

        Raises
        ------
        FuncsError
            None could be run, for a reason that all share; or what came cannot be kept.
        """
        self._task = asyncio.current_task()
        started, clock, ended = time.time(), time.monotonic(), False
        try:
            if self._is_stopped:
                raise asyncio.CancelledError
            with kept_in(self._texts):
                await self._take_what_is_there()
                await self._run_all()
                told = self._said(started, time.monotonic() - clock)
                result = await asyncio.to_thread(self._finish, told)
            ended = not self._gave_up
        finally:
            self.progress.waiting = ""
            await asyncio.to_thread(self._close, ended=ended)
        self._warn()
        return result

    def _finish(self, told: dict[str, Any]) -> Any:
        with self._lock:
            self._kept.settle()
            return self._gathering.sign(self._gathering.finish(), told, self._failures.rows())

    def _close(self, *, ended: bool) -> None:
        with self._lock:
            self._is_closed = True
            self._kept.close(ended=ended)
            self._gathering.close()
        self.ended = True

    async def _take_what_is_there(self) -> None:
        """Take what a folder, the cache or an interrupted sweep has already; the rest is to be sent."""
        runs = range(len(self.combos.runs))
        gathered = await self._gathering.there(self.combos.runs)
        self._count_cached(gathered.values())
        found = {at: time for at, time in (await self._kept.find()).items() if at not in gathered}
        places = sorted(found)
        taken: set[int] = set(gathered)
        for first in range(0, len(places), _LOT):
            lot = await asyncio.to_thread(self._take_lot, places[first : first + _LOT])
            self._count_cached([found[at] for at in lot])
            taken |= lot
        self._waiting.extend(at for at in runs if at not in taken)

    def _take_lot(self, places: list[int]) -> set[int]:
        with self._lock:
            frames = {} if self._is_closed else self._kept.read(places)
            for at in sorted(frames):
                self._gathering.add(at, self.combos.runs[at], frames[at])
        return set(frames)

    def _count_cached(self, times: Collection[float]) -> None:
        progress = self.progress
        progress.done += len(times)
        progress.cached += len(times)
        if times:
            progress.oldest = min(progress.oldest or math.inf, *times)

    async def _run_all(self) -> None:
        try:
            while self._waiting or self._under_way:
                self._send()
                self._changed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._pace.changes_in(_clock())):
                        await self._changed.wait()
                if self._keeping is not None and self._keeping.done():
                    break  # it failed
        finally:
            for task in self._under_way:
                task.cancel()
            await asyncio.gather(*self._under_way, return_exceptions=True)
            if self._keeping is not None:
                await self._keeping
        if self._fatal is not None and not self.progress.done:
            raise self._fatal

    def _send(self) -> None:
        most = self._pace.at_a_time(_clock())
        if most:
            self.progress.waiting = ""
        # What has come and is not kept yet takes memory too.
        concurrency = self.function.options.concurrency
        while self._waiting and len(self._sent) < most and self._unkept < 2 * concurrency:
            at = self._waiting.popleft()
            self._sent.add(at)
            task = asyncio.ensure_future(self._one(at))
            self._under_way.add(task)
            task.add_done_callback(self._end)

    @property
    def _unkept(self) -> int:
        return len(self._under_way) - len(self._sent) + len(self._came)

    def _answered(self, at: int) -> None:
        self._sent.discard(at)
        self._changed.set()

    def _end(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        self._changed.set()

    async def _one(self, at: int) -> None:
        told, sent = Progress(on_answer=lambda: self._answered(at)), _clock()
        try:
            frame = await self._take(self.combos.runs[at], told)
        except (ArgumentError, NotFoundError) as error:
            self._attempts[at] += told.attempts
            self._take_failure(at, await self._explained(error), sent)
        except FuncsError as error:
            self._attempts[at] += told.attempts
            self._take_failure(at, error, sent)
        except Exception as error:  # noqa: BLE001  # of an executor or of our own making: the others go on
            self._attempts[at] += told.attempts
            self._note(
                at, FuncsError(f"{self.function.name} failed inside jupyter_funcs: {type(error).__name__}: {error}")
            )
        else:
            self._pace.taken(sent)
            self.progress.done += 1
            self._came.append(_Came(at, frame, told.received))
            if self._keeping is None:
                self._keeping = asyncio.ensure_future(self._keep())
                self._keeping.add_done_callback(lambda _: self._changed.set())  # also where it fails
        finally:
            self._sent.discard(at)
            self.progress.attempts += told.attempts
            self.progress.received += told.received

    async def _explained(self, refusal: ArgumentError | NotFoundError) -> FuncsError:
        """Ask once whether the function has changed since it was listed: that would explain each refusal."""
        if self._explaining is None:
            self._explaining = refusal, asyncio.ensure_future(self.function.explained(refusal))
        first, explaining = self._explaining
        found = await asyncio.shield(explaining)
        return refusal if found is first else found

    def _take_failure(self, at: int, error: FuncsError, sent: float) -> None:
        if error.refused:
            now = _clock()
            if self._pace.refused(now, sent=sent, wished=error.retry_after):
                until = dt.datetime.fromtimestamp(time.time() + self._pace.until - now).astimezone()
                self.progress.waiting = f"waiting until {until:%H:%M:%S}: {error.what}"
                self._waiting.appendleft(at)
                return
            seconds = math.ceil(round(self._pace.until - now, 3))
            error = _with_hint(error, f"It was not run: run the same again in {seconds:,} s.")
            self._give_up(error)
        elif isinstance(error, (AuthenticationError, ConfigError)):
            self._fatal = self._fatal or error
            self._give_up(error)
        elif not isinstance(error, (ServiceConnectionError, DeadlineError)):
            self._pace.taken(sent)
        self._note(at, error)

    def _give_up(self, error: FuncsError) -> None:
        """Note what was not sent yet as failed: it would meet the same."""
        self._gave_up = True
        while self._waiting:
            self._note(self._waiting.popleft(), error)

    def _note(self, at: int, error: FuncsError) -> None:
        self._failures.note(at, self.combos.runs[at], error, self._attempts[at])
        self.progress.failed += 1

    async def _keep(self) -> None:
        while self._came:
            await asyncio.sleep(_LOT_SECONDS)
            lot = tuple(self._came)
            await asyncio.to_thread(self._add, lot)
            del self._came[: len(lot)]
            self._changed.set()
        self._keeping = None

    def _add(self, lot: Sequence[_Came]) -> None:
        with self._lock:
            for came in lot:  # kept first, so that it is there also where gathering fails
                self._kept.add(*came)
            for at, frame, _ in lot:
                self._gathering.add(at, self.combos.runs[at], frame)

    def _said(self, started: float, elapsed: float) -> dict[str, Any]:
        progress, session = self.progress, self.function.session
        return {
            "function": self.function.name,
            "args": plain(self.combos.constant),
            "swept": list(self.combos.swept),
            "runs": progress.total,
            "failed": progress.failed,
            "time": _iso(started),
            "service": session.service,
            "synthetic": self.function.synthetic,
            "elapsed": round(elapsed, 3),
            "bytes": progress.received,
            "attempts": progress.attempts,
            "cached": {"runs": progress.cached, "oldest": progress.oldest and _iso(progress.oldest)},
        }

    def _warn(self) -> None:
        texts = list(dict.fromkeys(self._texts))
        for text in texts[:_MOST_WARNINGS]:
            warn(text)
        if len(texts) > _MOST_WARNINGS:
            warn(f"The runs of {self.function.name} gave {len(texts) - _MOST_WARNINGS:,} more warnings of other words.")
        if said := self._failures.text(self._gathering.errors_in):
            warn(said)


def _with_hint(error: FuncsError, hint: str) -> FuncsError:
    other = type(error)(error.what, hint)
    other.attempts = error.attempts
    return other


def _iso(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat(timespec="seconds")


def _clock() -> float:
    return asyncio.get_running_loop().time()

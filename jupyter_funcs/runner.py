"""Runner: one run of a panel at a time, begun once and watched to its end, on the background loop."""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from typing import TYPE_CHECKING

from jupyter_funcs import loop

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future
    from typing import Any

    from jupyter_funcs.jobs import Job
    from jupyter_funcs.keeping import Cell
    from jupyter_funcs.visit import Visit

_TICK_SECONDS = 0.5
# A front end holds a change back while it waits for the one before to be taken, and a click overtakes it: for so long
# after a change, a click waits so long for another one.
_CHANGED_LATELY, _SETTLED = 1.0, 0.25
_runners: weakref.WeakSet[Runner] = weakref.WeakSet()


class Runner:
    """
    The runs of a panel.

    Parameters
    ----------
    on_tick
        Called with the visit whose run begins or goes on, every half second.
    on_end
        Awaited with a visit whose run has ended; not that of a run that a later one of the same function replaced.
    cell
        Where the panel was made: what goes on of an earlier run of that cell is cancelled, for nobody sees its panel.

    Attributes
    ----------
    cell
        As above.
    number
        How many runs there were.
    running
        The visit whose run goes on.
    changed
        When a value of the form changed last, on the monotonic clock.
    """

    def __init__(
        self, on_tick: Callable[[Visit], None], on_end: Callable[[Visit, Job], Coroutine[Any, Any, None]], cell: Cell
    ) -> None:
        self.number = 0
        self.running: Visit | None = None
        self.changed = -_CHANGED_LATELY
        self._on_tick = on_tick
        self._on_end = on_end
        self._pressed: Future[None] | None = None
        self.cell = cell
        # A run is begun by any thread, and ends on the loop.
        self._lock = threading.Lock()
        for other in list(_runners):
            if cell.is_rerun_of(other.cell):
                other.cancel()
        _runners.add(self)

    def press(self, run: Callable[[], object]) -> bool:
        """Run on a click or on Enter; once, however often a person presses. Give whether it will."""
        if self.running is not None or (self._pressed is not None and not self._pressed.done()):
            return False
        self._pressed = loop.start(self._settled(run))
        return True

    def wait(self) -> None:
        """Wait until what was pressed last has begun."""
        if self._pressed is not None:
            loop.wait(self._pressed)

    def start(self, visit: Visit, begin: Callable[[], Job]) -> Job:
        """Start a run, or a sweep; one that goes on is cancelled."""
        with self._lock:
            self.cancel()
            job = begin()
            self.number += 1
            visit.job = job
            self.running = visit
            visit.shown = loop.start(self._follow(visit, job, self.number))
        return job

    def cancel(self) -> None:
        """Stop waiting for the run that goes on, if one does."""
        if self.running is not None and self.running.job is not None:
            self.running.job.cancel()

    async def _settled(self, run: Callable[[], object]) -> None:
        while time.monotonic() - (before := self.changed) < _CHANGED_LATELY:
            await asyncio.sleep(_SETTLED)
            if self.changed == before:
                break
        run()

    async def _follow(self, visit: Visit, job: Job, number: int) -> None:
        ended = asyncio.wrap_future(job.future)
        while not ended.done():
            if number == self.number:
                self._on_tick(visit)
            await asyncio.wait([ended], timeout=_TICK_SECONDS)
        _ = ended.cancelled() or ended.exception()  # looked at, or asyncio would print it
        with self._lock:
            if number == self.number:
                self.running = None
        if visit.job is job:
            await self._on_end(visit, job)

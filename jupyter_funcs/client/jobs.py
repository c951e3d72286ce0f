"""Job: one run on the background loop, seen from any thread."""

from __future__ import annotations

import asyncio
import concurrent.futures
import html
import time
from typing import TYPE_CHECKING, Any

from jupyter_funcs import loop, notices
from jupyter_funcs.errors import DeadlineError, FuncsError, RunCancelledError
from jupyter_funcs.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator, Mapping

    import pandas as pd


class Job:
    """
    A run that was started: look at it, wait for it, cancel it, or await it.

    Attributes
    ----------
    function
        The function's wire name.
    args
        The arguments that were sent.
    future
        The future below it, for `concurrent.futures.wait` and its kin.
    progress
        How far it has come.
    notes
        What a person should know of the run besides, as that its function has changed; whoever waits is warned of it.
    """

    def __init__(
        self,
        function: str,
        args: Mapping[str, Any],
        run: Coroutine[Any, Any, pd.DataFrame],
        progress: Progress | None = None,
        future: concurrent.futures.Future[pd.DataFrame] | None = None,
    ) -> None:
        self.function = function
        self.args = dict(args)
        self.progress = progress or Progress()
        self._started = time.monotonic()
        self._ended: float | None = None
        self._warnings: list[str] = []
        self.notes: list[str] = []
        self.future: concurrent.futures.Future[pd.DataFrame] = future or concurrent.futures.Future()
        try:
            with notices.kept_in(self._warnings):
                loop.start(run, self.future)
            self.future.add_done_callback(self._stop_clock)
        except KeyboardInterrupt:  # nobody gets this job
            self.future.cancel()
            raise

    def _stop_clock(self, _: concurrent.futures.Future[pd.DataFrame]) -> None:
        self._ended = time.monotonic()

    @property
    def status(self) -> str:
        """``running``, ``done``, ``failed`` or ``cancelled``."""
        if not self.future.done():
            return "running"
        if self.future.cancelled():
            return "cancelled"
        return "failed" if self.future.exception() else "done"

    @property
    def elapsed(self) -> float:
        """Seconds from the start to the end, or to now."""
        return (self._ended or time.monotonic()) - self._started

    def result(self, timeout: float | None = None) -> pd.DataFrame:
        """
        Wait for the DataFrame.

        Parameters
        ----------
        timeout
            Seconds to wait at most; the run goes on when they have passed.

        Raises
        ------
        FuncsError
            What the run failed with.
        DeadlineError
            `timeout` has passed.
        RunCancelledError
            The run was cancelled.
        KeyboardInterrupt
            An interrupt came; the run is cancelled.
        """
        try:
            return loop.wait(self.future, timeout)
        except concurrent.futures.CancelledError:
            pass
        except KeyboardInterrupt:
            said = f"Stopped waiting for {self.function}; the service may still finish it."
            raise KeyboardInterrupt(said) from None
        except TimeoutError as error:
            if isinstance(error, DeadlineError):  # the run's own deadline, not this one
                raise
            raise DeadlineError(
                f"{self.function} has not ended after {timeout:g} s; it goes on.", "Wait again with result()."
            ) from None
        finally:
            if self.future.done():
                notices.say(self._warnings)
        raise RunCancelledError(f"{self.function} was cancelled; the service may still finish it.", "Run it again.")

    def error(self) -> FuncsError | None:
        """Give what an ended run failed with, ``None`` when it is done or still runs."""
        if self.status == "cancelled":
            return RunCancelledError(f"{self.function} was cancelled; the service may still finish it.")
        error = self.future.exception() if self.future.done() else None
        if error is None or isinstance(error, FuncsError):
            return error
        return FuncsError(f"{self.function} failed inside jupyter_funcs: {type(error).__name__}: {error}")

    def note(self, text: str) -> None:
        """Warn the one who waits for it."""
        self.notes.append(text)
        self._warnings.append(text)

    def cancel(self) -> bool:
        """Stop waiting and close the connection; give whether there was something to cancel."""
        return self.future.cancel()

    def add_done_callback(self, callback: Callable[[Job], object]) -> None:
        """Call `callback` with this job when it ends; at once if it has."""
        self.future.add_done_callback(lambda _: callback(self))

    def __await__(self) -> Generator[Any, None, pd.DataFrame]:
        """Await the DataFrame in any event loop."""
        try:
            return (yield from asyncio.wrap_future(self.future).__await__())
        finally:
            notices.say(self._warnings)

    def __repr__(self) -> str:
        """Say which run it is, and how it stands."""
        return f"<Job {self.function}: {self.status}, {self.elapsed:.1f} s>"

    def _repr_html_(self) -> str:
        error = self.error()
        said = f"<br>{html.escape(str(error))}" if error else ""
        return f"<b>{html.escape(self.function)}</b> · {self.status} · {self.elapsed:.1f} s{said}"

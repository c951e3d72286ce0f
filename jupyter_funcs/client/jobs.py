"""One run on the background loop, seen from any thread."""

from __future__ import annotations

import asyncio
import html
import time
import uuid
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any

from jupyter_funcs.client import notebook
from jupyter_funcs.core import background, warn
from jupyter_funcs.core.background import Progress
from jupyter_funcs.core.errors import DeadlineError, FuncsError, RunCancelledError
from jupyter_funcs.core.text import inert, size_text

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

    import pandas as pd

    from jupyter_funcs.core.json_decoding import Values

_REFRESH_SECONDS = 0.5


class ResultFuture(Future["pd.DataFrame"]):
    """The future of a run. It notes the reply before anybody can change the DataFrame."""

    reply: pd.DataFrame | None = None

    def set_result(self, result: Any) -> None:
        # A copy that shares the memory of the frame. From pandas 3 on, whoever changes one leaves the other as it is;
        # before, this is so for new and replaced columns, but not for single values.
        if type(result).__module__.partition(".")[0] == "pandas":
            self.reply = result.copy(deep=False)
        super().set_result(result)


class Job:
    """
    A run that was started: wait for its result, await it, or cancel it, from any thread.

    Attributes
    ----------
    function : str
        The function's wire name.
    args : dict
        The arguments that were sent.
    future : concurrent.futures.Future
        The future of the run, for `concurrent.futures.wait` and `concurrent.futures.as_completed`.
    progress
        Bytes received, attempts and so on.
    notes : list of str
        The warnings of the run, such as of missing rows or a change of its function. They are shown when the result is
        fetched.
    """

    _ended: float | None = None
    _shown = 0  # of the warnings

    def __init__(
        self,
        function: str,
        args: Values,
        run: Coroutine[Any, Any, pd.DataFrame],
        progress: Progress | None = None,
        future: ResultFuture | None = None,
    ) -> None:
        self.function = function
        self.args = dict(args)
        self.progress = progress or Progress()
        self._started = time.monotonic()
        self._warnings: list[UserWarning] = []
        self.future = future or ResultFuture()
        try:
            with warn.collect_warnings(self._warnings):
                background.start(run, self.future)
            self.future.add_done_callback(self._stop_clock)
        except KeyboardInterrupt:  # the caller won't get this job
            self.future.cancel()
            raise

    def _stop_clock(self, _: object) -> None:
        self._ended = self._ended or time.monotonic()

    @property
    def status(self) -> str:
        """``running``, ``done``, ``failed`` or ``cancelled``."""
        if not self.future.done():
            return "running"
        if self.future.cancelled():
            return "cancelled"
        if self.future.exception():
            return "failed"
        return "done"

    @property
    def id(self) -> str:
        """The id of the run on a service that can keep runs, for `jupyter_funcs.kept`; empty on others."""
        return self.progress.kept_id

    @property
    def elapsed(self) -> float:
        """Seconds from the start to the end, or until now."""
        if self.future.done():  # the callback that stops the clock may still be to come
            self._stop_clock(self)
        return (self._ended or time.monotonic()) - self._started

    def result(self, timeout: float | None = None) -> pd.DataFrame:
        """
        Wait for the DataFrame.

        Parameters
        ----------
        timeout
            The maximum number of seconds to wait; the run continues after that.

        Raises
        ------
        FuncsError
            The run failed.
        DeadlineError
            The run has not ended within `timeout`.
        RunCancelledError
            The run was cancelled.
        """
        try:
            return background.wait(self.future, timeout)
        except CancelledError:
            pass
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"Stopped waiting for {self.function}; the service may still finish it."
            ) from None
        except TimeoutError as error:
            if isinstance(error, DeadlineError):  # the run's own deadline
                raise
            raise DeadlineError(
                f"{self.function} is still running after {timeout:g} s.",
                "Call result() again to keep waiting.",
            ) from None
        finally:
            if self.future.done():
                self._warn()

        raise self._cancelled

    @property
    def _cancelled(self) -> RunCancelledError:
        if self.progress.has_ended:
            return RunCancelledError(
                f"{self.function} has ended on the service; only the fetch of its result was cancelled.",
                f'Fetch it with jf.kept("{self.id}").result().',
            )
        return RunCancelledError(
            f"{self.function} was cancelled; the service may still finish it.",
            "Run it again.",
        )

    @property
    def error(self) -> FuncsError | None:
        """The error that ended the run; ``None`` if it succeeded or is still running."""
        if self.status == "cancelled":
            return self._cancelled

        if not self.future.done():
            return None
        error = self.future.exception()
        if error is None or isinstance(error, FuncsError):
            return error
        return FuncsError(
            f"{self.function} failed inside jupyter_funcs: {type(error).__name__}: {error}"
        )

    @property
    def notes(self) -> list[str]:
        """The warnings of the run as texts."""
        return list(map(str, self._warnings))

    def note(self, text: str) -> None:
        """Add a warning, which is shown when the result is fetched."""
        self._warnings.append(UserWarning(text))

    def _warn(self) -> None:
        new = self._warnings[self._shown :]
        self._shown += len(new)
        warn.warn_all(new)

    def cancel(self) -> bool:
        """Cancel the run and close its connection; return whether it was still running."""
        return self.future.cancel()

    def add_done_callback(self, callback: Callable[[Job], object]) -> None:
        """Call `callback` with this job when it ends, or now if it has ended."""
        self.future.add_done_callback(lambda _: callback(self))

    def __await__(self) -> Generator[Any, None, pd.DataFrame]:
        try:
            return (yield from asyncio.wrap_future(self.future).__await__())
        finally:
            self._warn()

    def _facts(self) -> list[str]:
        facts = [self.status, f"{self.elapsed:.1f} s"]
        if not self.future.done():
            if received := self.progress.received:
                facts.append(f"{size_text(received)} received")
            facts.append(self.progress.said)
        return list(filter(None, facts))

    def __repr__(self) -> str:
        """Return the function, the status, the progress and the error."""
        facts = ", ".join(self._facts())
        if error := self.error:
            facts += f": {error.what}"
        kind = type(self).__name__.removesuffix("Job") or "Job"
        return f"<{kind} {inert(self.function)}: {facts}>"

    def _repr_html_(self) -> str:
        shown = f"<b>{html.escape(inert(self.function))}</b> · {html.escape(' · '.join(self._facts()))}"
        if error := self.error:
            shown += f"<br>{html.escape(str(error))}"
        return shown

    def _ipython_display_(self) -> None:
        """Show a running job in a notebook as a line that follows its progress."""
        name = uuid.uuid4().hex
        if self.future.done() or not notebook.publish_html(self._repr_html_(), name):
            raise NotImplementedError  # IPython shows it as any other object
        background.start(self._follow(name))

        def show_end(*_: object) -> None:
            # As part of a later cell: what saves notebooks drops messages of a cell that has ended.
            if self.future.done():
                notebook.publish_html(self._repr_html_(), name, again=True)
                notebook.watch_cells(show_end, on=False)

        notebook.watch_cells(show_end)
        self.add_done_callback(
            lambda _: notebook.publish_html(self._repr_html_(), name, again=True)
        )

    async def _follow(self, name: str) -> None:
        while not self.future.done():
            notebook.publish_html(self._repr_html_(), name, again=True)
            # Less often in a long run.
            await asyncio.sleep(max(_REFRESH_SECONDS, self.elapsed / 50))

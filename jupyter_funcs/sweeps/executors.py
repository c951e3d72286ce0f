"""Executors: the runs of a sweep in threads, processes or a cluster, by any `concurrent.futures.Executor`."""

from __future__ import annotations

import asyncio
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core.errors import ConfigError, DeadlineError, FuncsError, RunCancelledError
from jupyter_funcs.core.warn import warn_all
from jupyter_funcs.sweeps.worker import RunOutcome, RunRequest, executor_error, run_request, service_address

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas as pd

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.core.progress import Progress

# Seconds on top of a run's own time-out, in which an executor starts a process or a machine.
START_SECONDS = 60.0
_RESUMES = "Create a new executor and run the same again: finished runs are not repeated."


class ExecutorRunner:
    """Runs one function on an executor; used from the background loop only."""

    def __init__(self, function: RemoteCall, executor: Executor) -> None:
        self._function = function
        self._executor = _load_balanced(executor)
        self._service = service_address(function.session)
        # Executors may fork, or write to a socket of one thread: never submit on the loop.
        self._submitting = ThreadPoolExecutor(1, thread_name_prefix="jupyter_funcs submit")
        self._latest = 0.0  # when the last run ended, by the loop's clock

    async def __call__(self, args: Args, progress: Progress) -> pd.DataFrame:
        """Run the function with these arguments."""
        progress.attempts = 1
        outcome = await self._run(run_request(self._function, self._service, args))
        warn_all(outcome.warnings)
        if outcome.error is not None:
            progress.attempts = outcome.error.attempts
            raise outcome.error
        assert outcome.frame is not None
        about = outcome.frame.attrs["funcs"]
        progress.attempts, progress.received = about["attempts"], about["bytes"]
        return self._function.mark_synthetic(outcome.frame)

    async def _run(self, request: RunRequest) -> RunOutcome:
        clock = asyncio.get_running_loop().time
        patience = request.options.timeout + START_SECONDS
        begun, outcome = clock(), Future[RunOutcome]()
        self._submitting.submit(self._submit, request, outcome)
        waiting = asyncio.wrap_future(outcome)
        try:
            # A run may queue for long. But if no run ends at all, no worker is alive.
            while (left := max(begun, self._latest) + patience - clock()) > 0:
                if (await asyncio.wait({waiting}, timeout=left))[0]:
                    self._latest = clock()
                    return waiting.result()
        finally:
            waiting.cancel()
        raise DeadlineError(
            f"No run came back from the executor within {patience:g} s.",
            "Check that its workers are alive, then try again.",
        )

    def _submit(self, request: RunRequest, outcome: Future[RunOutcome]) -> None:
        if outcome.cancelled():
            return
        try:
            future = self._executor.submit(request)
        except BrokenExecutor as error:
            _set_error(outcome, _worker_died(error))
        except RuntimeError as error:  # what every executor raises after shutdown
            _set_error(outcome, ConfigError(f"The executor isn't accepting runs: {error}.", _RESUMES))
        except Exception as error:  # noqa: BLE001  # of any library
            _set_error(outcome, executor_error(error))
        else:
            future.add_done_callback(partial(_set_outcome, outcome))
            outcome.add_done_callback(lambda _: _cancel(request, future) if outcome.cancelled() else None)


def _load_balanced(executor: Executor) -> Executor:
    """Return an executor that runs each call once: with an ipyparallel `DirectView`, every engine runs it."""
    view: Any = getattr(executor, "view", None)
    if type(view).__name__ == "DirectView":
        balanced: Executor = view.client.executor(view.targets)
        return balanced
    return executor


def _cancel(request: RunRequest, future: Future[RunOutcome]) -> None:
    future.cancel()
    request.cancel()


def _set_outcome(outcome: Future[RunOutcome], future: Future[RunOutcome]) -> None:
    if future.cancelled():
        _set_error(outcome, RunCancelledError("The executor cancelled the run.", _RESUMES))
    elif (error := future.exception()) is not None:
        _set_error(outcome, _worker_died(error) if isinstance(error, BrokenExecutor) else executor_error(error))
    elif outcome.set_running_or_notify_cancel():
        outcome.set_result(future.result())


def _set_error(outcome: Future[RunOutcome], error: FuncsError) -> None:
    if outcome.set_running_or_notify_cancel():
        outcome.set_exception(error)


def _worker_died(error: BaseException) -> FuncsError:
    return FuncsError(f"A worker of the executor died, and the executor with it ({type(error).__name__}).", _RESUMES)

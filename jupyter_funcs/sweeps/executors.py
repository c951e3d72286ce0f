"""Executors: the runs of a sweep in threads, processes or a cluster, by any `concurrent.futures.Executor`."""

from __future__ import annotations

import asyncio
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from jupyter_funcs.errors import ConfigError, DeadlineError, FuncsError, RunCancelledError
from jupyter_funcs.notices import warn
from jupyter_funcs.workers import Call, Taken, call, failed, place_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas as pd

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.forms import Args
    from jupyter_funcs.progress import Progress

# Seconds beside a run's own, in which an executor starts a process or a machine.
START_SECONDS = 60.0
_RESUMES = "Make a new executor and run the same again: what has come is kept."


def taker(function: RemoteFunction, executor: Executor) -> Taker:
    """
    Give what runs a function on an executor.

    Parameters
    ----------
    function
        What to run, with its options.
    executor
        Any. Its workers connect by themselves, as this process has: no token goes there.
    """
    return Taker(function, executor)


class Taker:
    """Takes the runs of one function from an executor; of the background loop alone."""

    def __init__(self, function: RemoteFunction, executor: Executor) -> None:
        self._function = function
        self._executor = _balanced(executor)
        self._place = place_of(function.session)
        # An executor may fork, or write to a socket of one thread, as it is given something: never on the loop.
        self._submitting = ThreadPoolExecutor(1, thread_name_prefix="jupyter_funcs submit")
        self._latest = 0.0  # when a run ended last, on the loop's clock

    async def __call__(self, args: Args, progress: Progress) -> pd.DataFrame:
        """
        Run it with these arguments.

        Raises
        ------
        FuncsError
            What the run failed with, there or on the way.
        """
        run = call(self._function, self._place, args)
        progress.attempts = 1
        taken = await self._taken(run)
        for text in taken.warnings:
            warn(text)
        if taken.error is not None:
            progress.attempts = taken.error.attempts
            raise taken.error
        assert taken.frame is not None
        told = taken.frame.attrs["funcs"]
        progress.attempts, progress.received = told["attempts"], told["bytes"]
        return self._function.marked(taken.frame)

    async def _taken(self, run: Call) -> Taken:
        clock = asyncio.get_running_loop().time
        patience = run.options.timeout + START_SECONDS
        begun, told = clock(), Future[Taken]()
        self._submitting.submit(self._submit, run, told)
        waiting = asyncio.wrap_future(told)
        try:
            # A run may wait long for its turn; but where none ends, no worker is at work.
            while (left := max(begun, self._latest) + patience - clock()) > 0:
                if (await asyncio.wait({waiting}, timeout=left))[0]:
                    self._latest = clock()
                    return waiting.result()
        finally:
            waiting.cancel()
        raise DeadlineError(
            f"No run came back from the executor within {patience:g} s.",
            "See that its workers are alive, then try again.",
        )

    def _submit(self, run: Call, told: Future[Taken]) -> None:
        if told.cancelled():
            return
        try:
            future = self._executor.submit(run)
        except BrokenExecutor as error:
            _set_error(told, _died(error))
        except RuntimeError as error:  # as every executor says that it is shut down
            _set_error(told, ConfigError(f"The executor takes no runs: {error}.", _RESUMES))
        except Exception as error:  # noqa: BLE001  # of any library
            _set_error(told, failed(error))
        else:
            future.add_done_callback(partial(_tell, told))
            told.add_done_callback(lambda _: _stop(run, future) if told.cancelled() else None)


def _balanced(executor: Executor) -> Executor:
    """Give an executor that does each call once: one of an ipyparallel `DirectView` has every engine do it."""
    view: Any = getattr(executor, "view", None)
    if type(view).__name__ == "DirectView":
        balanced: Executor = view.client.executor(view.targets)
        return balanced
    return executor


def _stop(run: Call, future: Future[Taken]) -> None:
    future.cancel()
    run.cancel()


def _tell(told: Future[Taken], future: Future[Taken]) -> None:
    if future.cancelled():
        _set_error(told, RunCancelledError("The executor has cancelled the run.", _RESUMES))
    elif (error := future.exception()) is not None:
        _set_error(told, _died(error) if isinstance(error, BrokenExecutor) else failed(error))
    elif told.set_running_or_notify_cancel():
        told.set_result(future.result())


def _set_error(told: Future[Taken], error: FuncsError) -> None:
    if told.set_running_or_notify_cancel():
        told.set_exception(error)


def _died(error: BaseException) -> FuncsError:
    return FuncsError(f"A worker of the executor died, and with it the executor ({type(error).__name__}).", _RESUMES)

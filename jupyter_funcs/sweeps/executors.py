"""Executors: the runs of a sweep in threads, processes or a cluster, by any `concurrent.futures.Executor`."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import threading
import uuid
import weakref
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_funcs.connection.profiles import NO_TOKEN
from jupyter_funcs.connection.retries import Purpose
from jupyter_funcs.connection.secrets import redacted_all
from jupyter_funcs.core import background
from jupyter_funcs.core.background import Progress
from jupyter_funcs.core.errors import (
    ConfigError,
    DeadlineError,
    FuncsError,
    RunCancelledError,
)
from jupyter_funcs.core.warn import collect_warnings, warn_all
from jupyter_funcs.sources.source import source_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.catalog.listing import Function
    from jupyter_funcs.client.client import Client
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.client.options import CallOptions

# Seconds on top of a run's own time-out, in which an executor starts a process or a machine.
START_SECONDS = 60.0
_RESUMES = (
    "Create a new executor and run the same again: finished runs are not repeated."
)


class ExecutorRunner:
    """Runs one function on an executor; used from the background loop only."""

    def __init__(self, function: RemoteCall, executor: Executor) -> None:
        self._function = function
        self._executor = _load_balanced(executor)
        self._service = service_address(function.session)
        # Executors may fork, or write to a socket of one thread: never submit on the loop.
        self._submitting = ThreadPoolExecutor(
            1, thread_name_prefix="jupyter_funcs submit"
        )
        self._latest = 0.0  # when the last run ended, by the loop's clock

    async def __call__(self, args: Args, progress: Progress) -> pd.DataFrame:
        """Run the function with these arguments."""
        progress.attempts = 1
        outcome = await self._run(run_request(self._function, self._service, args))
        warn_all(outcome.warnings)
        if outcome.error:
            progress.attempts = outcome.error.attempts
            raise outcome.error

        assert outcome.frame is not None
        about = outcome.frame.attrs["funcs"]
        progress.attempts = about["attempts"]
        progress.received = about["bytes"]
        return self._function.mark_synthetic(outcome.frame)

    async def _run(self, request: RunRequest) -> RunOutcome:
        clock = asyncio.get_running_loop().time
        patience = (request.options.timeout or 0) + START_SECONDS
        begun = clock()
        outcome = Future[RunOutcome]()
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
        except Exception as error:  # noqa: BLE001  # of any library
            refused = executor_error(error)
            # Raised after shutdown.
            if isinstance(error, RuntimeError) and not isinstance(
                error, BrokenExecutor
            ):
                refused = ConfigError(
                    f"The executor isn't accepting runs: {error}.", _RESUMES
                )
            future = Future()
            future.set_exception(refused)

        future.add_done_callback(lambda _: _running.pop(request.key, None))
        future.add_done_callback(partial(_set_outcome, outcome))

        def cancel(_: object) -> None:
            if outcome.cancelled():
                request.cancel()
                future.cancel()  # not if it runs already

        outcome.add_done_callback(cancel)


def _load_balanced(executor: Executor) -> Executor:
    """Return an executor that runs each call once: with an ipyparallel `DirectView`, every engine runs it."""
    view: Any = getattr(executor, "view", None)
    if type(view).__name__ == "DirectView":
        balanced: Executor = view.client.executor(view.targets)
        return balanced
    return executor


def _set_outcome(outcome: Future[RunOutcome], future: Future[RunOutcome]) -> None:
    cancelled = RunCancelledError("The executor cancelled the run.", _RESUMES)
    error = cancelled if future.cancelled() else future.exception()
    if not outcome.set_running_or_notify_cancel():
        return
    if error is None:
        outcome.set_result(future.result())
    else:
        outcome.set_exception(
            error if isinstance(error, FuncsError) else executor_error(error)
        )


# In the worker, which may be another process.


class ServiceAddress(NamedTuple):
    """Where runs go: how another process connects, and the key of the session in this process."""

    where: str
    address: str
    is_given: bool
    key: str
    connect: Callable[..., Client[RemoteCall]]
    kind: str
    options: str  # as JSON
    place: str


class RunOutcome(NamedTuple):
    """What a run returned or raised; as a value, because not every executor carries exceptions faithfully."""

    frame: pd.DataFrame | None
    error: FuncsError | None
    warnings: list[UserWarning]


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run, as plain values that any executor can carry."""

    service: ServiceAddress
    function: Function
    args: Args
    options: CallOptions
    key: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __call__(self) -> RunOutcome:
        """Run the function and wait; errors are returned, not raised."""
        warnings: list[UserWarning] = []
        try:
            remote = _session(self.service).remote
            work = remote.run(
                self.function, self.args, self.options, Progress(), Purpose.SWEEP
            )
            future = _running.setdefault(self.key, Future())
            with collect_warnings(warnings):
                background.start(work, future)
            return RunOutcome(background.wait(future), None, warnings)
        except FuncsError as error:
            return RunOutcome(None, error, warnings)
        except Exception as error:  # noqa: BLE001  # not every exception can be sent to another process
            return RunOutcome(None, executor_error(error), warnings)
        finally:
            _running.pop(self.key, None)

    @property
    def __name__(self) -> str:
        """The name that a cluster's dashboard shows."""
        return self.function.name

    def cancel(self) -> None:
        """Stop the run, also before it begins, if it is in this process; elsewhere it ends by its own deadline."""
        _running.setdefault(self.key, Future()).cancel()


def service_address(session: Client[RemoteCall]) -> ServiceAddress:
    """Return where a session's runs go."""
    connection = session.remote.transport.connection
    where = session.where
    if session.token_is_given:
        where = connection.location or session.address
    key = f"{_process}.{id(session)}"
    _own[key] = session
    return ServiceAddress(
        where,
        session.address,
        session.token_is_given,
        key,
        type(session).reconnect,
        session.kind,
        json.dumps(connection.options),
        _place(session),
    )


def _place(session: Client[Any]) -> str:
    """Return a hash of where a session's answers come from, apart from the kind, which may not be detected yet."""
    return hashlib.sha256(
        repr(session.remote.transport.connection.place[1:]).encode()
    ).hexdigest()


def run_request(
    function: RemoteCall, service: ServiceAddress, args: Args
) -> RunRequest:
    """Return a request for one run, without the options that can't leave this process."""
    options = function.options
    carried = replace(
        options,
        schema=dict(options.schema) if options.schema else None,
        executor=None,
        to=None,
        timeout=function.session.remote.seconds(options),
    )
    return RunRequest(service, function.function, args, carried)


def executor_error(error: BaseException) -> FuncsError:
    """Return an error of this package for any other."""
    if isinstance(error, BrokenExecutor):
        return FuncsError(
            f"A worker of the executor died, and the executor with it ({type(error).__name__}).",
            _RESUMES,
        )

    text = redacted_all(str(error)).strip()
    return FuncsError(
        f"The executor failed: {type(error).__name__}{f': {text}' if text else ''}.",
        "Try one run without executor=, then look at the log of its workers.",
    )


_running: dict[str, Future[pd.DataFrame]] = {}
# Sessions of this process.
_own: weakref.WeakValueDictionary[str, Client[RemoteCall]] = (
    weakref.WeakValueDictionary()
)
# Sessions made here for another process.
_connected: dict[ServiceAddress, Client[RemoteCall]] = {}
_lock = threading.Lock()
_process = uuid.uuid4().hex


def _session(service: ServiceAddress) -> Client[RemoteCall]:
    if (session := _own.get(service.key)) is not None:
        return session
    with _lock:  # one connection per process, however many threads it has
        if service not in _connected:
            _connected[service] = _connect(service)
        return _connected[service]


def _connect(service: ServiceAddress) -> Client[RemoteCall]:
    without_token = ConfigError(
        "The token was given in Python and stays in that process: this executor's workers have none.",
        "Connect with a profile that the workers have too, or set FUNCS_BASE_URL and FUNCS_TOKEN for them.",
    )
    try:
        session = service.connect(service.where or None, **json.loads(service.options))
    except ConfigError as error:
        if service.is_given:
            raise without_token from None
        raise ConfigError(
            f"A worker of the executor cannot connect: {error.what}", error.hint
        ) from None

    if service.is_given and session.remote.transport.connection.token is NO_TOKEN:
        raise without_token
    if _place(session) != service.place:
        other = "another source of this name"
        if session.address != service.address:
            other = session.address or "the demo"
        raise ConfigError(
            f"A worker of the executor uses {other}, not {service.address or 'the demo'}.",
            "Set the same profiles and FUNCS_ variables for the workers as in this process.",
        )

    session.remote.source = source_of(service.kind, session.remote.transport)
    return session


def _forget() -> None:
    # A forked process connects by itself, and its parent's runs stay in the parent.
    global _lock, _process
    _lock, _process = threading.Lock(), uuid.uuid4().hex
    _running.clear()
    _own.clear()
    _connected.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)

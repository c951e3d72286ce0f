"""Runs on executors: threads, processes, Dask and ipyparallel, in order and without the token."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from pandas.testing import assert_frame_equal

import jupyter_funcs as jf
from jupyter_funcs.core import background
from jupyter_funcs.core.background import Progress
from jupyter_funcs.core.errors import (
    ConfigError,
    DeadlineError,
    FuncsError,
    FunctionError,
    RunCancelledError,
)
from jupyter_funcs.service import embedded
from jupyter_funcs.sweeps import executors
from jupyter_funcs.sweeps.executors import ExecutorRunner, run_request, service_address
from tests.conftest import PANEL, wait_until
from tests.faults.canary import CANARY, leaks

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from jupyter_funcs.api import RemoteFunction, Session
    from tests.faults.server import Connection, Faulty

# Python 3.12 and later warn of every fork beside threads; these tests fork on purpose.
pytestmark = pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded:DeprecationWarning"
)


def taken(
    function: RemoteFunction, executor: Executor, runs: list[dict[str, Any]]
) -> list[Any]:
    """Return the frame or the error of each run, in order."""
    take = ExecutorRunner(function, executor)

    async def all_of_them() -> list[Any]:
        return await asyncio.gather(
            *(take(args, Progress()) for args in runs), return_exceptions=True
        )

    return background.run(all_of_them())


def forty(session: Session) -> tuple[RemoteFunction, list[dict[str, Any]]]:
    symbols = list(session["Get Universe"]()["Symbol"][:20])
    return session["Get Panel FQ"], [
        {"PanelName": PANEL, "Symbol": symbol, "PoPGrowth": growth}
        for symbol in symbols
        for growth in ("No", "Yes")
    ]


def same(frames: list[pd.DataFrame], session: Session) -> None:
    """Compare forty results with those of forty calls."""
    function, runs = forty(session)
    assert len(frames) == 40
    for frame, args in zip(frames, runs, strict=True):
        assert_frame_equal(frame, function(**args))
        assert frame.attrs["funcs"]["args"] == args


def configured(url: str, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setenv("FUNCS_BASE_URL", url)
    monkeypatch.setenv("FUNCS_TOKEN", embedded().token)
    return jf.connect()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_do_forty_of_forty_in_order(
    method: str, service_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty runs in processes, forked or spawned, equal forty calls; each process connects once."""
    session = configured(service_url, monkeypatch)
    function, runs = forty(session)
    with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
        same(taken(function, pool, runs), session)
        assert len(pool.submit(_connections).result()) == 1


def _connections() -> list[str]:
    return [service.where for service in executors._connected]


@pytest.mark.slow
def test_the_embedded_demo_is_run_in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a configured service each process has its own demo, even if its parent's was in use."""
    session = jf.connect()
    function, runs = forty(session)
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
        same(taken(function, pool, runs), session)


@pytest.mark.parametrize(
    "method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)]
)
def test_a_run_that_fails_in_a_process_fails_as_here(
    method: str, session: Session
) -> None:
    """The error of a run has its class, text and number of attempts; the other runs continue."""
    with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
        first, error, last = taken(
            session["F"], pool, [{"a": "1"}, {"a": "bad"}, {"a": "3"}]
        )
    assert (first["n"].item(), last["n"].item()) == ("1", "3")
    assert type(error) is FunctionError
    assert "no such number" in str(error)
    assert error.attempts == 1


def test_a_refusal_says_on_how_long_to_wait(session: Session, server: Faulty) -> None:
    """A process reports that a run was refused and for how long, so that the sweep can pause."""

    def refuse(connection: Connection) -> None:
        connection.request()
        connection.send(
            b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"
        )

    function = session["F"]
    server.tell(refuse)
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        [error] = taken(function, pool, [{"a": "1"}])
    assert (type(error), error.refused, error.retry_after) == (
        jf.RateLimitError,
        True,
        7.0,
    )


def test_no_token_is_in_what_an_executor_is_given(
    session: Session, server: Faulty
) -> None:
    """The call for an executor has the address, the function and the options, but no part of a token."""
    connected = jf.connect(server.url, token=CANARY)
    for source in (session, connected):
        call = executors.run_request(
            source["F"].with_options(schema={"n": "string"}),
            executors.service_address(source),
            {"a": "1"},
        )
        sent = pickle.dumps(call)
        assert server.url.encode() in sent
        assert not leaks(sent.decode("latin-1"))
        assert pickle.loads(sent) == call


def test_a_token_given_in_python_stays_in_this_process(server: Faulty) -> None:
    """Threads use it; another process, forked or not, has no token, and its error says what to do."""
    function = jf.connect(server.url, token=CANARY)["F"]
    with ThreadPoolExecutor(1) as pool:
        assert taken(function, pool, [{"a": "1"}])[0]["n"].item() == "1"
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        [error] = taken(function, pool, [{"a": "1"}])
    assert isinstance(error, ConfigError)
    assert "given in Python" in error.what
    assert "FUNCS_TOKEN" in error.hint
    assert not leaks(str(error))


def test_a_worker_with_the_environments_token_takes_the_place_of_one_given(
    server: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the workers have their own token for the same address, they use it."""
    function = jf.connect(server.url, token="another-token")["F"]
    monkeypatch.setenv("FUNCS_BASE_URL", server.url)
    monkeypatch.setenv("FUNCS_TOKEN", CANARY)
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        assert taken(function, pool, [{"a": "1"}])[0]["n"].item() == "1"
    assert b"Bearer " + CANARY.encode() in server.requests[-1]


@pytest.mark.slow
def test_a_profile_is_read_by_each_process(
    server: Faulty, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session of a profile runs in processes: they read the profile, and its token, themselves."""
    (tmp_path / "token").write_text(CANARY)
    (tmp_path / "token").chmod(0o600)
    profiles = tmp_path / "profiles.toml"
    profiles.write_text(
        f'[profiles.work]\nurl = "{server.url}"\ntoken_file = "{tmp_path}/token"\n'
    )
    monkeypatch.setenv("FUNCS_CONFIG", str(profiles))
    function = jf.connect("work")["F"]
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert taken(function, pool, [{"a": "1"}])[0]["n"].item() == "1"


def test_a_worker_set_up_for_another_service_is_told(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker whose environment names another address sends nothing, and says so."""
    function = session["F"]
    monkeypatch.setenv("FUNCS_BASE_URL", "http://localhost:1/elsewhere")
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        [error] = taken(function, pool, [{"a": "1"}])
    assert isinstance(error, ConfigError)
    assert "uses http://localhost:1/elsewhere, not http://127.0.0.1:" in error.what


def test_a_worker_that_dies_ends_its_runs_with_an_error(
    session: Session, server: Faulty
) -> None:
    """If a process is killed, its waiting and later runs end with an error; nothing hangs."""
    function = session["F"]
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        pid = pool.submit(os.getpid).result()
        take = ExecutorRunner(function, pool)
        started = [
            background.start(take({"a": text}, Progress())) for text in ("held", "2")
        ]
        wait_until(lambda: any(b"held" in request for request in server.requests))
        os.kill(pid, signal.SIGKILL)
        for future in (*started, background.start(take({"a": "3"}, Progress()))):
            with pytest.raises(FuncsError, match="A worker of the executor died"):
                future.result(60)


def test_an_executor_that_is_shut_down_is_named(session: Session) -> None:
    """An executor that accepts no more runs has to be fixed before the other runs are tried."""
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    [error] = taken(session["F"], pool, [{"a": "1"}])
    assert isinstance(error, ConfigError)
    assert "after shutdown" in error.what


def test_a_cancelled_run_closes_its_connection(
    session: Session, server: Faulty
) -> None:
    """In this process a cancelled run ends at once, and so does one that waits for its turn."""
    function = session["F"]
    with ThreadPoolExecutor(1) as pool:
        take = ExecutorRunner(function, pool)
        running, queued = (
            background.start(take({"a": text}, Progress())) for text in ("held", "2")
        )
        wait_until(lambda: any(b"held" in request for request in server.requests))
        queued.cancel()
        running.cancel()
        assert pool.submit(threading.get_ident).result(60)  # its only thread is free
    assert not any(b'"2"' in request for request in server.requests)


def test_a_cancel_that_comes_before_the_run_begins_ends_it(
    session: Session, server: Faulty
) -> None:
    """The thread of the run may start after the cancel."""
    request = run_request(session["F"], service_address(session), {"a": "early"})
    request.cancel()
    assert request().frame is None
    assert not any(b'"early"' in sent for sent in server.requests)


class Odd(Executor):
    """An executor that does the same for every submission."""

    def __init__(self, answer: Callable[[], Future[Any]]) -> None:
        self._answer = answer

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        return self._answer()


def test_an_executor_that_cancels_a_run_is_told_from_the_person(
    session: Session,
) -> None:
    """If the executor cancels a run, that run fails; the sweep isn't cancelled."""

    def cancelled() -> Future[Any]:
        future: Future[Any] = Future()
        future.cancel()
        return future

    [error] = taken(session["F"], Odd(cancelled), [{"a": "1"}])
    assert isinstance(error, RunCancelledError)


def test_an_executor_without_workers_is_given_up(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If no run ever ends, the wait does."""
    monkeypatch.setattr(executors, "START_SECONDS", 0.01)
    [error] = taken(session["F"].with_options(timeout=0.01), Odd(Future), [{"a": "1"}])
    assert isinstance(error, DeadlineError)
    assert "No run came back" in error.what


def test_a_worker_without_this_package_is_named(session: Session) -> None:
    """An executor's own failure is reported with its class and text, without a token."""

    def without() -> Future[Any]:
        raise ModuleNotFoundError(f"No module named 'jupyter_funcs' ({CANARY})")

    [error] = taken(session["F"], Odd(without), [{"a": "1"}])
    assert "ModuleNotFoundError: No module named 'jupyter_funcs'" in str(error)
    assert not leaks(str(error))


FORKING = """
import sys
import time
from concurrent.futures import ThreadPoolExecutor
import jupyter_funcs as jf

class Slow:
    def find_spec(self, name, *_):
        if name == "tqdm":
            time.sleep(1)

class Forking(ThreadPoolExecutor):
    def submit(self, *args, **values):
        loaded.append(hasattr(sys.modules.get("tqdm.auto"), "tqdm"))
        return super().submit(*args, **values)

sys.meta_path.insert(0, Slow())
loaded = []
with Forking(1) as pool:
    jf.connect()["F"].with_options(executor=pool, cache=False).sweep(a=["1", "2"])
print(loaded)
"""


@pytest.mark.slow
def test_no_run_is_started_while_the_bar_is_imported(session: Session) -> None:
    """A worker forked during the import would wait for it forever, so the bar exists before the first run."""
    done = subprocess.run(
        [sys.executable, "-c", FORKING],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "[True, True]\n"


@pytest.mark.slow
@pytest.mark.parametrize("processes", [True, False])
def test_dask_does_forty_of_forty_in_order(
    processes: bool, service_url: str, monkeypatch: pytest.MonkeyPatch, session: Session
) -> None:
    """Forty runs on a Dask cluster equal forty calls; a failure there is the same as here."""
    distributed = pytest.importorskip(
        "distributed", reason="distributed isn't installed: pip install -e '.[check]'"
    )
    assert isinstance(
        taken_on_dask(distributed, session["F"], [{"a": "bad"}], processes)[0],
        FunctionError,
    )
    session = configured(service_url, monkeypatch)
    same(taken_on_dask(distributed, *forty(session), processes), session)


def taken_on_dask(
    distributed: Any,
    function: RemoteFunction,
    runs: list[dict[str, Any]],
    processes: bool,
) -> list[Any]:
    address = {"host": "127.0.0.1"} if processes else {}
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            processes=processes,
            dashboard_address=":0",
            **address,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        return taken(function, client.get_executor(), runs)


@pytest.mark.slow
def test_ipyparallel_does_forty_of_forty_in_order(
    service_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """Forty runs on ipyparallel's engines equal forty calls, each sent once, with both kinds of view."""
    ipyparallel = pytest.importorskip(
        "ipyparallel", reason="ipyparallel isn't installed: pip install -e '.[check]'"
    )
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    session = configured(service_url, monkeypatch)
    function, runs = forty(session)
    with ipyparallel.Cluster(n=2, controller_ip="127.0.0.1") as engines:
        for executor in (engines.executor(), engines[:].executor):
            same(taken(function, executor, runs), session)
        [error] = taken(
            function, engines.executor(), [{**runs[0], "Symbol": "NO SUCH"}]
        )
    assert isinstance(error, FuncsError)


@pytest.mark.slow
def test_a_sweep_goes_through_an_executor(session: Session) -> None:
    """A sweep on threads or processes returns one table in order, with its failed runs beside it."""
    values = [str(at) for at in range(40)]
    function = session["F"].with_options(cache=False, progress=False)
    pools = [
        ThreadPoolExecutor(4),
        ProcessPoolExecutor(2, multiprocessing.get_context("fork")),
    ]
    for pool in pools:
        with pool, pytest.warns(UserWarning, match="1 of 41 runs of F failed"):
            frame = function.with_options(executor=pool).sweep(
                a=[*values[:20], "bad", *values[20:]]
            )
        assert frame["a"].tolist() == frame["n"].tolist() == values
        [error] = frame.attrs["errors"]
        assert (error["args"], error["type"], error["attempts"]) == (
            {"a": "bad"},
            "FunctionError",
            1,
        )
        assert frame.attrs["funcs"]["attempts"] == 41


def test_a_sweep_whose_worker_dies_goes_on_with_another_executor(
    session: Session, server: Faulty
) -> None:
    """If a worker dies, earlier results stay and the rest are error rows; a call with a new executor runs those."""
    function = session["F"].with_options(progress=False, concurrency=1)
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        pid = pool.submit(os.getpid).result()
        job = function.with_options(executor=pool).start_sweep(
            {"a": ["1", "held", "3"]}
        )
        wait_until(lambda: any(b"held" in request for request in server.requests))
        os.kill(pid, signal.SIGKILL)
        with pytest.warns(
            UserWarning, match=r"2 of 3 runs of F failed.*A worker of the executor died"
        ):
            frame = job.result(60)
    assert frame["n"].tolist() == ["1"]
    with ThreadPoolExecutor(1) as another:
        frame = function.with_options(executor=another).sweep(a=["1", "3"])
    assert frame["n"].tolist() == ["1", "3"]
    assert frame.attrs["funcs"]["cached"]["runs"] == 1


def test_a_sweep_ends_at_once_where_the_workers_have_no_token(server: Faulty) -> None:
    """An error that all runs would have is an error of the sweep, not of each run."""
    function = jf.connect(server.url, token=CANARY)["F"]
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        sweep = function.with_options(executor=pool, progress=False, cache=False)
        with pytest.raises(ConfigError, match="given in Python"):
            sweep.sweep(a=[str(at) for at in range(100)])


def test_a_cancelled_sweep_takes_its_runs_back_from_the_executor(
    session: Session, server: Faulty
) -> None:
    """Runs that wait in the executor's queue aren't started."""
    with ThreadPoolExecutor(1) as pool:
        function = session["F"].with_options(executor=pool, progress=False, cache=False)
        job = function.start_sweep({"a": ["held", *map(str, range(30))]})
        wait_until(lambda: any(b"held" in request for request in server.requests))
        job.cancel()
        with pytest.raises(RunCancelledError):
            job.result(60)
    assert len(server.requests) == 2  # the listing, and the run that waited

"""The background loop and its jobs: interrupts, forks and threads."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent import futures
from typing import TYPE_CHECKING, Any

import httpx
import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.client.jobs import Job
from jupyter_funcs.core import background

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.api import Session


async def after(seconds: float) -> pd.DataFrame:
    await asyncio.sleep(seconds)
    return pd.DataFrame({"a": [1]})


def test_an_interrupt_cancels_the_run() -> None:
    """Ctrl-C while waiting raises KeyboardInterrupt at once, and the run is cancelled (FAULTS 96)."""
    # In a background shell, it is ignored at first.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    job = Job("F", {}, after(3600))

    def wait() -> None:
        threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
        job.result()

    with pytest.raises(KeyboardInterrupt):
        wait()
    assert job.status == "cancelled"
    signal.signal(signal.SIGINT, before)


def test_the_clock_of_a_job_stops_with_it() -> None:
    """Once the result is there its time doesn't change, even if a callback holds up the loop."""
    future = futures.Future[pd.DataFrame]()
    go = threading.Event()
    future.add_done_callback(lambda _: go.wait(60))
    job = Job("F", {}, after(0), future=future)
    job.result(60)
    ended = job.elapsed
    time.sleep(0.01)
    assert job.elapsed == ended
    go.set()


def test_there_is_one_loop_whoever_asks() -> None:
    """Threads that ask at once get the same loop, which runs in a daemon thread."""
    loops = set()
    threads = [
        threading.Thread(target=lambda: loops.add(background.background_loop()))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loops) == 1
    assert all(
        thread.daemon
        for thread in threading.enumerate()
        if thread.name == "jupyter_funcs"
    )


@pytest.mark.parametrize("where", ["token", "transport", "callback"])
def test_code_of_a_user_that_exits_ends_no_other_run(
    answering: Callable[..., Session], where: str
) -> None:
    """SystemExit on the loop's thread ends only the run that it belongs to."""

    def leave(*_: object) -> Any:
        raise SystemExit(1)

    if where == "callback":
        job = Job("F", {}, after(0.2))
        job.add_done_callback(leave)
        futures.wait([job.future])
    else:
        session = answering(
            *(
                [leave]
                if where == "transport"
                else [lambda _: httpx.Response(200), leave]
            )
        )
        with pytest.raises(SystemExit):
            session.refresh()
    assert len(Job("F", {}, after(0)).result(60)) == 1


def test_waiting_on_the_loop_itself_is_refused() -> None:
    """A callback on the loop would wait for itself forever; the error says to await instead."""

    async def wait_here() -> None:
        background.wait(background.start(after(0)))

    with pytest.raises(RuntimeError, match="Await the Job"):
        background.wait(background.start(wait_here()), 60)


def test_a_job_of_a_coroutine_that_fails_keeps_its_error() -> None:
    """`result` raises the error of a run, and `error` returns it."""

    async def fail() -> pd.DataFrame:
        raise jf.FunctionError("it failed")

    job = Job("F", {}, fail())
    with pytest.raises(jf.FunctionError, match="it failed"):
        job.result(60)
    assert job.status == "failed"
    assert str(job.error) == "it failed"
    assert "it failed" in job._repr_html_()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks only")
def test_a_forked_process_has_a_loop_of_its_own() -> None:
    """After a fork the child runs, though the parent's loop stays behind (FAULTS 104)."""
    program = """
import os, jupyter_funcs as jf
funcs = jf.connect()
assert len(funcs.names) == 7
child = os.fork()
if not child:
    funcs.refresh()
    os._exit(0 if len(funcs.names) == 7 else 1)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], check=True, timeout=60
    )

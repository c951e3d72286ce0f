"""Interrupts, cancels and ending kernels: the wait ends, the service notices, nothing is left (FAULTS 96-101)."""

from __future__ import annotations

import contextlib
import gc
import json
import signal
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from jupyter_client.manager import KernelManager

import jupyter_funcs as jf
from jupyter_funcs.client import notebook
from jupyter_funcs.core import background
from tests.conftest import is_running, tasks, wait_until
from tests.faults.canary import CANARY, leaks
from tests.faults.server import LISTING, ROWS, Connection, Faulty, faulty, reply
from tests.faults.test_transport_faults import (
    broken,
    dripping,
    full_queue,
    kept,
    listed,
    moved,
    shown,
)
from tests.panel.page import Page, frame_of, state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_funcs.api import Session
    from tests.faults.server import Act


@pytest.fixture
def server() -> Iterator[Faulty]:
    """A service that each test scripts."""
    with faulty() as server:
        yield server


class Watched:
    """Does something to a connection, and notes when the client closes it."""

    def __init__(self, act: Act) -> None:
        self._act = act
        self.begun = threading.Event()
        self.closed = threading.Event()

    def __call__(self, connection: Connection) -> None:
        connection.request()
        self.begun.set()
        with contextlib.suppress(OSError):
            self._act(connection)
            while connection.socket.recv(65536):
                pass
        if not connection.server.stopping.is_set():
            self.closed.set()


@contextlib.contextmanager
def interrupted_once(begun: Callable[[], bool]) -> Iterator[None]:
    """Interrupt this thread with a signal, as Jupyter does, a fifth of a second after something has begun."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)

    def start() -> None:
        wait_until(begun)
        signal.setitimer(signal.ITIMER_REAL, 0.2)

    starting = threading.Thread(target=start)
    starting.start()
    try:
        yield
    finally:
        starting.join()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def interrupt(
    session: Session, begun: Callable[[], bool] | None = None
) -> KeyboardInterrupt:
    before = kept()
    tasks_before = tasks()
    begun = begun or (lambda: tasks() > tasks_before)
    with interrupted_once(begun), pytest.raises(KeyboardInterrupt) as caught:
        session.f(a="1")
    assert "Stopped waiting for F; the service may still finish it." in str(
        caught.value
    )
    assert not leaks(shown(caught.value))
    wait_until(lambda: tasks() <= tasks_before and kept().sockets <= before.sockets)
    assert kept().threads == before.threads
    assert not session.remote.transport._health.breaker._failures
    return caught.value


@pytest.mark.fault(96)
@pytest.mark.parametrize(
    "act", [Connection.hold, dripping], ids=["no reply", "a reply that drips"]
)
def test_an_interrupt_while_a_reply_is_read_closes_the_connection(
    server: Faulty, act: Act
) -> None:
    """The service sees the disconnect, the run is sent once, and the next one works."""
    session = listed(server)
    watched = Watched(act)
    server.tell(watched)
    interrupt(session, watched.begun.is_set)
    assert watched.closed.wait(60)
    assert len(server.requests) == 1
    assert len(session.f(a="2")) == 2
    session.close()


@pytest.mark.fault(96)
def test_an_interrupt_while_a_retry_is_waited_for_ends_the_wait(server: Faulty) -> None:
    """However long the service asked to wait; nothing more is sent."""
    session = listed(server)
    server.tell(reply(b"{}", "503 Busy", Retry_After="29"))
    interrupt(session, lambda: len(server.requests) == 1)
    assert len(server.requests) == 1
    assert len(session.f(a="2")) == 2
    session.close()


@pytest.mark.fault(96)
def test_an_interrupt_while_connecting_ends_the_wait(server: Faulty) -> None:
    """A machine with a full queue accepts no connection; the interrupt ends the wait at once."""
    with full_queue() as url:
        session = moved(server, url)
        interrupt(session)
    session.close()


@pytest.mark.fault(96)
def test_an_interrupt_while_functions_are_listed_ends_the_wait(server: Faulty) -> None:
    """As for a run; and the catalog's lock is released."""
    watched = Watched(Connection.hold)
    server.tell(watched)
    session = jf.connect(server.url, token=lambda: CANARY)  # listed at the first use
    with interrupted_once(watched.begun.is_set), pytest.raises(KeyboardInterrupt):
        _ = session.names
    assert watched.closed.wait(60)
    assert session.names == ["F"]
    session.close()


def test_a_wait_looks_up_where_an_interrupt_cannot_wake_it(
    server: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows: it waits in steps, returns the result, and keeps its time-out."""
    monkeypatch.setattr(background, "_POLL", 0.01)
    session = listed(server)
    go = threading.Event()
    server.tell(broken(lambda connection: go.wait(60) and connection.send(WHOLE)))
    job = session.f.submit(a="1")
    with pytest.raises(jf.DeadlineError, match="is still running"):
        job.result(0.05)
    go.set()
    assert len(job.result()) == 2
    session.close()


WHOLE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    % len(ROWS)
    + ROWS
)


@pytest.fixture
def user_ns(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The variables of a notebook, where panels store their results."""
    names: dict[str, Any] = {}

    class Shell:
        user_ns = names
        execution_count = 1

        def push(self, variables: dict[str, Any]) -> None:
            names.update(variables)

    monkeypatch.setattr(notebook, "_shell", Shell)
    return names


class Late:
    """Answers after the client has disconnected, if the connection still accepts it."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.sent = threading.Event()

    def __call__(self, connection: Connection) -> None:
        connection.request()
        self.go.wait(60)
        with contextlib.suppress(OSError):
            # The first may be taken by a socket that is closed at the other end.
            for _ in range(3):
                connection.send(WHOLE)
                time.sleep(0.01)
        self.sent.set()


@pytest.mark.fault(97)
def test_a_reply_that_comes_after_a_cancel_changes_nothing(
    server: Faulty, user_ns: dict[str, Any]
) -> None:
    """No result, no variable, no cache entry; the earlier result stays, and the panel says what may have happened."""
    before = tasks()
    session = listed(server)
    panel = session.panel("F", a="1")
    page = Page(panel)
    panel.run()
    good = panel.result(60)
    assert user_ns == {"f": good}
    session.close()
    choices = dict(session.remote.choices._held)
    late = Late()
    watched = Watched(Connection.hold)
    for act in (watched, late):
        server.tell(act)
        assert panel.form is not None
        panel.form["a"] = "2"
        panel.run()
        wait_until(lambda: len(server.requests) == 1)
        page.ask("cancel")
        wait_until(lambda: state(panel)["state"] == "cancelled")
        assert (
            state(panel)["error"]["what"]
            == "Cancelled. The service may still finish the run."
        )
    assert watched.closed.wait(60)
    late.go.set()
    assert late.sent.wait(60)
    wait_until(lambda: tasks() <= before)
    with pytest.raises(jf.RunCancelledError, match="the service may still finish it"):
        panel.result(60)
    assert frame_of(panel) is good
    assert user_ns == {"f": good}
    assert dict(session.remote.choices._held) == choices
    assert state(panel)["state"] == "cancelled"
    panel.close()
    session.close()


def in_cell(monkeypatch: pytest.MonkeyPatch, cell: str, execution: int) -> None:
    monkeypatch.setattr(notebook, "this_cell", lambda: notebook.Cell(cell, execution))


@pytest.mark.fault(99)
def test_a_cell_that_is_run_again_cancels_its_earlier_run(
    server: Faulty, monkeypatch: pytest.MonkeyPatch, user_ns: dict[str, Any]
) -> None:
    """The earlier panel is off the screen: its run is cancelled, and the latest sets the variable."""
    session = listed(server)
    watched = Watched(Connection.hold)
    server.tell(broken(Connection.hold), watched)
    in_cell(monkeypatch, "elsewhere", 1)
    elsewhere = session.panel("F", a="0")
    elsewhere.run()
    wait_until(lambda: len(server.requests) == 1)
    in_cell(monkeypatch, "here", 2)
    first = session.panel("F", a="1")
    first.run()
    assert watched.begun.wait(60)
    in_cell(monkeypatch, "here", 3)
    latest = session.panel("F", a="2")
    assert watched.closed.wait(60)
    with pytest.raises(jf.RunCancelledError):
        first.result(60)
    latest.run()
    frame = latest.result(60)
    assert user_ns == {"f": frame}
    assert state(elsewhere)["state"] == "running"
    for panel in (elsewhere, first, latest):
        panel.close()
    session.close()


@pytest.mark.fault(99)
def test_the_variable_is_the_later_runs_whoever_ends_last(
    server: Faulty, monkeypatch: pytest.MonkeyPatch, user_ns: dict[str, Any]
) -> None:
    """A panel of an earlier run of the cell doesn't overwrite the variable of its successor."""
    session = listed(server)
    in_cell(monkeypatch, "here", 2)
    first = session.panel("F", a="1")
    in_cell(monkeypatch, "elsewhere", 2)
    first._ipython_display_()  # and stays open therefore
    in_cell(monkeypatch, "here", 3)
    latest = session.panel("F", a="2")
    latest.run()
    frame = latest.result(60)
    first.run()
    first.result(60)
    assert user_ns["f"] is frame
    first.close()
    latest.close()
    session.close()


@pytest.mark.fault(99)
def test_a_run_that_ends_as_the_next_begins_is_not_shown(server: Faulty) -> None:
    """The panel shows the latest run, even if the earlier answer arrives at the same moment."""
    session = listed(server)
    panel = session.panel("F", a="1")
    panel.run()
    panel.result(60)
    first = panel._state.visit.job
    server.tell(broken(Connection.hold))
    session.close()
    panel.run()
    result = panel._state.visit.result
    background.run(panel._state.runs.end(panel._state.visit, first))
    assert panel._state.visit.result is result
    assert (state(panel)["state"], state(panel)["number"]) == ("running", 2)
    panel.close()


@pytest.mark.fault(100)
def test_two_panels_of_one_profile_have_forms_of_their_own_and_one_budget(
    server: Faulty,
) -> None:
    """Forms, runs and cancels are separate; requests to a failing service are paused for both."""
    session = listed(server)
    panel = session.panel("F", a="one")
    other = session.panel("F", a="other")
    assert panel.form is not None
    assert other.form is not None
    panel.form["a"] = "changed"
    assert other.form["a"] == "other"
    assert json.loads(other._values)["fields"]["a"]["value"] == "other"
    server.tell(broken(Connection.hold))
    panel.run()
    wait_until(lambda: len(server.requests) == 1)
    other.run()
    assert len(other.result(60)) == 2
    assert state(panel)["state"] == "running"
    panel.cancel()
    wait_until(lambda: state(panel)["state"] == "cancelled")
    assert state(other)["state"] == "done"
    health = session.remote.transport._health
    left = health.budget.left
    server.script = [broken(Connection.reset)]
    session.close()
    panel.run()
    panel.result(60)
    assert health.budget.left == left - 5 + 1
    for _ in range(health.breaker.max_failures):
        health.breaker.failed(
            background.background_loop().time(), health.breaker.admit(0.0)
        )
    for either in (panel, other):
        either.run()
        with pytest.raises(jf.CircuitOpenError):
            either.result(60)
    panel.close()
    other.close()
    session.close()


KERNEL = """
import jupyter_funcs as jf
session = jf.connect({url!r}, token={token!r})
panel = session.f.panel(a="1")
job = panel.run()
panel
"""


@pytest.mark.fault(101)
def test_a_kernel_that_restarts_or_is_killed_during_a_run_leaves_nothing(
    server: Faulty,
) -> None:
    """The connection closes, the process ends, and the notebook says how to get the panel back."""
    manager = KernelManager()
    manager.start_kernel()
    try:
        for end in (
            partial(manager.restart_kernel, now=False),
            partial(manager.shutdown_kernel, now=True),
        ):
            watched = Watched(Connection.hold)
            server.tell(reply(LISTING, Connection="close"), watched)
            displayed = run_cell(manager, KERNEL.format(url=server.url, token=CANARY))
            assert watched.begun.wait(60)
            process = psutil.Process(manager.provisioner.process.pid)
            processes = [process, *process.children(recursive=True)]
            end()
            assert watched.closed.wait(60)
            psutil.wait_procs(processes, timeout=60)
            assert not any(is_running(process.pid) for process in processes)
            assert "run this cell to open the panel" in displayed
            assert not leaks(displayed)
    finally:
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
        gc.collect()


def run_cell(manager: KernelManager, program: str) -> str:
    """Run a cell in a kernel and return its output."""
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    shown: list[str] = []

    def note(message: dict[str, Any]) -> None:
        if message["msg_type"] in {"display_data", "execute_result", "error"}:
            shown.append(str(message["content"]))

    client.execute_interactive(program, timeout=60, output_hook=note)
    client.stop_channels()
    return "".join(shown)

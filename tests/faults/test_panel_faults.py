"""Each class of error in the panel, over real sockets: a few lines, nothing is lost, the next run works."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import pytest

import jupyter_funcs as jf
from jupyter_funcs.connection import retries
from jupyter_funcs.core import background, errors
from tests.conftest import tasks, wait_until
from tests.faults.canary import CANARY, leaks
from tests.faults.server import ROWS, Connection, Faulty, faulty, raw, reply
from tests.faults.test_transport_faults import broken
from tests.panel.page import Page, frame_of, messages, state

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_funcs.panel.panel import Panel
    from tests.faults.server import Act

# As the panel runs, which has no option of a bound of its own; short where the time runs out.
SECONDS = 60
FEW_SECONDS = 1.5


@pytest.fixture(scope="module")
def server() -> Iterator[Faulty]:
    """A service that each test scripts."""
    with faulty() as server:
        yield server


class Case(NamedTuple):
    """What happens to a run, and what the panel shows."""

    acts: list[Act]
    error: type[jf.FuncsError]
    says: str
    state: str = "failed"
    listings: int = 0


PAGE = b"<html><title>Sign in</title><script>alert(1)</script></html>"
CASES = {
    "conn": Case(
        [broken(Connection.reset)] * 3,
        jf.ServiceConnectionError,
        "broke before the reply",
    ),
    "timeout": Case(
        [broken(Connection.hold)] * 3,
        jf.DeadlineError,
        "did not finish within 1.5 s; it may still be running",
    ),
    "auth": Case(
        [reply(b'{"error": "who?"}', "401 Who")],
        jf.AuthenticationError,
        "does not accept the token: who?",
    ),
    "login page": Case(
        [reply(PAGE, Content_Type="text/html")],
        jf.AuthenticationError,
        "Is it a login page?",
    ),
    "forbidden": Case(
        [reply(b'{"error": "no"}', "403 No")],
        jf.PermissionDeniedError,
        "not allowed to do this: no",
    ),
    # The catalog is listed again, to say what has become of the function.
    "notfound": Case([reply(b'{"error": "no F"}', "404 No")], jf.NotFoundError, "no F"),
    "limited": Case(
        [reply(b"{}", "429 Busy", Retry_After="90")],
        jf.RateLimitError,
        "Try again in 90 s.",
    ),
    "service": Case(
        [reply(b'{"error": "it <b>failed</b>"}')], jf.FunctionError, "it <b>failed</b>"
    ),
    "server": Case(
        [reply(b'{"error": "boom"}', "500 Bad")],
        jf.ServerError,
        "The service failed (500): boom",
    ),
    "protocol": Case([reply(ROWS[:-9])], jf.ProtocolError, ""),
    "no http": Case(
        [raw(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")],
        jf.ProtocolError,
        "did not answer in HTTP",
    ),
    "toolarge": Case(
        [reply(ROWS.ljust(5000))],
        jf.ReplyTooLargeError,
        "larger than max_bytes = 4,096",
    ),
    "open": Case(
        [], jf.CircuitOpenError, "failed 5 times in a row, so requests are paused."
    ),
    "cancelled": Case(
        [broken(Connection.hold)],
        jf.RunCancelledError,
        "The service may still finish the run.",
        "cancelled",
    ),
    "argument": Case(
        [reply(b'{"error": "bad", "arguments": {"a": ["a is bad"]}}', "422 Bad")],
        jf.ArgumentError,
        "",
        "form",
    ),
}


def end(panel: Panel) -> BaseException | None:
    try:
        panel.result(60)
    except jf.FuncsError as error:
        return error
    return None


@pytest.mark.fault(4, 8, 24, 26, 27, 34, 37, 41, 43, 48, 97)
@pytest.mark.parametrize("name", CASES)
def test_a_panel_says_what_happened_and_goes_on(server: Faulty, name: str) -> None:
    """One to three lines and details; form, result and variable stay; the next run is shown."""
    case = CASES[name]
    server.tell()
    session = jf.connect(server.url, token=CANARY)
    seconds = FEW_SECONDS if case.error is jf.DeadlineError else SECONDS
    function = session.f.with_options(timeout=seconds, max_bytes=4096)
    panel = function.panel(a="first")
    page = Page(panel)
    panel.run()
    good = panel.result(60)
    session.close()
    breaker = session.remote.transport._health.breaker
    before = tasks()

    server.tell(*case.acts)
    assert panel.form is not None
    panel.form["a"] = "second"
    if name == "open":
        for _ in range(breaker.max_failures):
            breaker.failed(background.background_loop().time(), retries.Admission(0.0))
    panel.run()
    if name == "cancelled":
        wait_until(lambda: len(server.requests) == 1)
        page.ask("cancel")
    error = end(panel)
    assert type(error) is case.error, error
    wait_until(lambda: state(panel)["state"] == case.state)
    if case.state in {"failed", "cancelled"}:
        message = state(panel)["error"]
        lines = [message["what"], *message["hint"].splitlines()]
        assert 1 <= len(lines) <= 3
        assert case.says in "\n".join(lines)
    assert messages(panel) == ({"a": ["a is bad"]} if name == "argument" else {})
    assert not leaks(panel._run + panel._result + panel._values + json.dumps(page.sent))
    # What was there is there.
    assert panel.form["a"] == "second"
    assert json.loads(panel._values)["fields"]["a"]["value"] == "second"
    assert frame_of(panel) is good
    assert state(panel)["running"] is None
    wait_until(lambda: tasks() <= before)

    server.tell()
    breaker.answered()
    panel.form["a"] = "third"
    panel.run()
    again = panel.result(60)
    assert frame_of(panel) is again is not good
    assert state(panel)["state"] == "done"
    panel.close()
    session.close()


def test_the_cases_are_all_the_classes() -> None:
    """Every class of error has a case, except those raised before anything is sent."""
    classes = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, jf.FuncsError)
    }
    assert classes - {case.error for case in CASES.values()} == {
        jf.FuncsError,
        jf.ConfigError,
    }

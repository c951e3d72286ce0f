"""The panel without a front end: what it holds, shows and closes. tests/browser holds what a person sees."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from typing import TYPE_CHECKING, Any

import comm
import httpx
import pandas as pd
import pytest
from comm.base_comm import BaseComm
from ipywidgets.widgets.widget import _instances

import jupyter_funcs as jf
from jupyter_funcs.core import background
from jupyter_funcs.service import embedded
from tests.conftest import PANEL, SYMBOL
from tests.panel.test_controls import wait_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from jupyter_funcs.api import Session
    from jupyter_funcs.panel.panel import Panel

DAILY = {"PanelName": PANEL, "Symbol": SYMBOL}


def guard(callback: Callable[[Any], object]) -> Callable[..., None]:
    """Wrap a callback as a panel does; here what it raises is raised."""

    def guarded(*told: Any) -> None:
        callback(told[-1])

    return guarded


def state(panel: Panel) -> str:
    return str(panel._state.value)


def hidden(widget: Any) -> bool:
    return "jf-hidden" in widget._dom_classes


def is_old(panel: Panel) -> bool:
    return "jf-old" in panel._results._box._dom_classes


def shown(panel: Panel) -> pd.DataFrame | None:
    """Give the frame on the screen, once all that was asked for is there."""
    background.start(panel._results._fill()).result(10)
    results = panel._results
    if hidden(results):
        return None
    outcome = results._shown[results._box.selected_index]
    return None if outcome is None else outcome.frame


def test_a_prefilled_panel_runs_and_gives_its_frame(funcs: Session) -> None:
    """run and result give the frame of the same call, and the panel shows it with its size and time."""
    panel = funcs.panel("Get Panel Daily", **DAILY)
    panel.run()
    frame = panel.result(60)
    pd.testing.assert_frame_equal(frame, funcs.get_panel_daily(**DAILY))
    assert 'data-state="done" data-run="1"' in state(panel)
    assert "1,826 rows × 7 columns · " in state(panel)
    assert shown(panel) is frame
    assert not panel._code.value
    panel.close()


def test_a_panel_opens_with_nothing_chosen(funcs: Session) -> None:
    """Without a name there is no form, nothing to run, and a result is an error that says so."""
    panel = funcs.panel()
    assert panel.form is None
    with pytest.raises(jf.ArgumentError, match="nothing to run"):
        panel.run()
    with pytest.raises(jf.ArgumentError, match="no result yet"):
        panel.result()
    panel.close()


def test_another_function_keeps_the_values_of_the_first(funcs: Session) -> None:
    """Choosing another function and coming back shows the values and the result that were there."""
    panel = funcs.panel("Get Panel Daily", **DAILY)
    panel.run()
    panel.result(60)
    frame = shown(panel)
    panel.choose("get_kpis")
    wait_until(lambda: shown(panel) is None)
    panel.choose("get_panel_daily")
    assert panel.form is not None
    assert panel.form.args == DAILY
    wait_until(lambda: shown(panel) is frame)
    panel.close()


def test_what_the_service_refuses_stands_at_its_field(funcs: Session) -> None:
    """The service refuses an unknown symbol: the text is at the field, the form keeps its value, result raises."""
    panel = funcs.panel("Get Panel Daily", PanelName=PANEL, Symbol="NOPE US EQUITY")
    panel.run()
    with pytest.raises(jf.ArgumentError, match="NOPE"):
        panel.result(60)
    wait_until(lambda: 'data-state="invalid"' in state(panel))
    assert "NOPE US EQUITY" in panel._box.messages["Symbol"][0]
    assert panel.form is not None
    assert panel.form["Symbol"] == "NOPE US EQUITY"
    panel.close()


def test_closing_closes_every_model(funcs: Session) -> None:
    """A closed panel leaves no model behind, with a form on it and with a result."""
    funcs.get_panels()
    before = set(_instances)
    panel = funcs.panel("Get Panels")
    panel.run()
    panel.result(60)
    panel.close()
    assert set(_instances) == before


def slow(seconds: float) -> Session:
    inner = embedded()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"].endswith("runFunction"):
            await asyncio.sleep(seconds)
        await inner.app(scope, receive, send)

    return jf.connect("https://service.example", token=inner.token, transport=httpx.ASGITransport(app))


def test_cancel_and_run_again() -> None:
    """A cancelled run says so and its reply is dropped; a run that is superseded shows nothing; the latest wins."""
    panel = slow(0.5).panel("Get Panels")
    panel.run()
    wait_until(lambda: 'data-state="running"' in state(panel))
    panel.cancel()
    with pytest.raises(jf.RunCancelledError):
        panel.result(5)
    wait_until(lambda: 'data-state="cancelled"' in state(panel))
    assert shown(panel) is None
    panel.run()
    panel.run()
    assert len(panel.result(60)) == 2
    assert 'data-state="done" data-run="3"' in state(panel)
    panel.close()


def test_a_run_that_another_function_superseded_is_said_to_be_cancelled() -> None:
    """The run of a function ends when another is run; coming back, the panel does not say that it runs."""
    panel = slow(0.5).panel("Get Panels")
    panel.run()
    panel.choose("Get Universe")
    panel.run()
    assert len(panel.result(60)) == 24
    panel.choose("Get Panels")
    wait_until(lambda: 'data-state="cancelled"' in state(panel))
    panel.close()


def test_a_form_that_changes_during_its_run_makes_the_result_old(answering: Callable[..., Session]) -> None:
    """A result of other values than the form's is marked so, however they came to differ."""
    go = threading.Event()

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("runFunction"):
            return httpx.Response(200, json=[{"a": 1}]) if go.wait(10) else httpx.Response(500)
        return httpx.Response(200, json=[{"name": "F", "params": [{"name": "a"}]}])

    session = jf.connect("https://service.example", token="a-token-of-the-tests", transport=Threaded(answer))
    panel = session.panel("F", a="x")
    panel.run()
    panel.form["a"] = "y"
    go.set()
    panel.result(10)
    wait_until(lambda: is_old(panel))
    assert "connect(&#x27;https://service.example&#x27;)" in panel._code.value
    panel.close()


class Threaded(httpx.BaseTransport):
    """A transport that answers in a thread, as a function of the test's says."""

    def __init__(self, answer: Callable[[httpx.Request], httpx.Response]) -> None:
        self.handle_request = answer


def test_a_failed_run_keeps_the_result_before(answering: Callable[..., Session]) -> None:
    """A run that fails says why, and the result of the run before it stays."""
    replies = iter(
        [httpx.Response(200, json=[{"a": 1}]), httpx.Response(200, json={"error": "it <failed>", "body": None})]
    )

    def answer(request: httpx.Request) -> httpx.Response:
        return next(replies) if request.url.path.endswith("runFunction") else httpx.Response(200, json=[{"name": "F"}])

    panel = answering(answer).panel("F")
    panel.run()
    panel.result(5)
    frame = shown(panel)
    assert frame is not None
    panel.run()
    with pytest.raises(jf.FunctionError):
        panel.result(5)
    wait_until(lambda: 'data-state="failed"' in state(panel))
    assert "it &lt;failed&gt;" in state(panel)
    wait_until(lambda: is_old(panel))
    assert "Of an earlier run: 1 row × 1 column" in panel._results._said.value
    assert shown(panel) is frame
    panel.close()


def test_each_function_has_its_own_result(funcs: Session) -> None:
    """result is the DataFrame of the function on the screen, and an error where that has none or was refused."""
    panel = funcs.panel("Get Panel Daily", **DAILY)
    panel.run()
    assert len(panel.result(60)) == 1826
    panel.choose("Get Panels")
    with pytest.raises(jf.ArgumentError, match="no result yet"):
        panel.result()
    panel.run()
    assert len(panel.result(60)) == 2
    panel.choose("Get Panel Daily")
    assert len(panel.result(60)) == 1826
    panel.form["PoPLookback"] = "abc"
    for ask in (panel.run, panel.result):
        with pytest.raises(jf.ArgumentError, match="'abc'"):
            ask()
    panel.close()


def test_a_change_by_code_shows_and_makes_the_result_old(funcs: Session) -> None:
    """What code sets in the form stands in its control and in the code; the result is marked as of other values."""
    panel = funcs.panel("Get Panel Daily", **DAILY)
    panel.run()
    panel.result(60)
    assert not is_old(panel)
    assert "<code>panel.result()</code>" in state(panel)
    panel.form["PoPLookback"] = 2
    assert panel._box._controls["PoPLookback"].read() == "2"
    assert "PoPLookback=&#x27;2&#x27;" in panel._code.value
    wait_until(lambda: is_old(panel))
    assert "Of an earlier run: 1,826 rows" in panel._results._said.value
    panel.form["PoPLookback"] = None
    wait_until(lambda: not is_old(panel))
    panel._bar.clear.click()
    assert panel.form.args == {}
    wait_until(lambda: is_old(panel))
    assert panel._bar.run.disabled
    panel.close()


def test_a_rule_is_said_at_its_fields(funcs: Session) -> None:
    """After the service refused a run, Symbol and Brand both ask for one of them, until one is given."""
    panel = funcs.panel("Get Panel Daily", PanelName=PANEL)
    panel.run()
    with pytest.raises(jf.ArgumentError):
        panel.result(30)
    wait_until(lambda: 'data-state="invalid"' in state(panel))
    rule = ["Give Symbol or Brand."]
    assert panel._box.messages == {"Symbol": rule, "Brand": rule}
    panel.form["Brand"] = ["Bulkandry"]
    assert panel._box.messages == {}
    panel.close()


def test_a_panel_keeps_the_functions_options() -> None:
    """A panel of a function with options runs with them."""
    panel = slow(5).get_panels.with_options(timeout=0.1).panel()
    panel.run()
    with pytest.raises(jf.DeadlineError, match=r"0\.1 s"):
        panel.result(30)
    panel.close()


def test_a_stored_panel_says_how_to_get_it_back(funcs: Session) -> None:
    """Beside the widget its output holds text and HTML: which function, the last result, and what to do."""
    panel = funcs.panel("Get Panels")
    panel.run()
    panel.result(60)
    bundle = panel._repr_mimebundle_()
    assert bundle["text/plain"] == f"<Panel of {funcs.service}: Get Panels>"
    assert "run this cell to open the panel" in bundle["text/html"]
    assert PANEL in bundle["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in bundle
    panel.close()


@pytest.mark.slow
def test_a_second_click_does_nothing() -> None:
    """However often Run is pressed before the run has begun, or while it goes on, it is one run."""
    panel = slow(0.5).panel("Get Panels")
    for _ in range(3):
        panel._bar.run.click()
    panel.result(60)
    assert 'data-state="done" data-run="1"' in state(panel)
    assert not panel._bar.run.disabled
    panel._bar.run.click()
    wait_until(lambda: 'data-state="running" data-run="2"' in state(panel))
    panel._bar.run.disabled = False  # as for a page that has not heard of the run yet
    panel._bar.run.click()
    panel.result(60)
    assert 'data-state="done" data-run="2"' in state(panel)
    panel.close()


def test_a_change_that_a_click_overtakes_is_sent(funcs: Session) -> None:
    """A front end holds a second change back while the first is handled: a click then waits for it."""
    panel = funcs.panel("Get Panel Daily", **DAILY)
    panel.form["PoPLookback"] = 1
    panel._bar.run.click()  # it overtakes the change that a person made before it
    time.sleep(0.1)
    panel.form["PoPLookback"] = 2
    frame = panel.result(60)
    assert frame.attrs["funcs"]["args"]["PoPLookback"] == "2"
    panel.close()


def test_run_is_offered_exactly_while_the_form_is_valid(funcs: Session) -> None:
    """The button follows the form, a line above it says what is missing, and Enter tells where."""
    panel = funcs.panel("Get Panel Daily")
    assert panel._bar.run.disabled
    assert "To run: give PanelName." in panel._summary.value
    panel._on_run()
    wait_until(lambda: 'data-state="invalid"' in state(panel))
    panel.form["PanelName"] = PANEL
    assert not panel._bar.run.disabled
    assert not re.search(">[^<]", panel._summary.value)
    panel.form["PoPLookback"] = "many"
    assert panel._bar.run.disabled
    panel._bar.clear.click()
    assert panel._bar.run.disabled
    panel.close()


def test_an_error_is_short_and_unfolds(answering: Callable[..., Session]) -> None:
    """One to three lines, and below them the error's kind and the request's id; nothing of it is markup or a token."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("runFunction"):
            said = "it <failed> with a-token-of-the-tests"
            return httpx.Response(500, json={"error": said}, headers={"x-request-id": "r-17"})
        return httpx.Response(200, json=[{"name": "F"}])

    panel = answering(answer).panel("F")
    panel.run()
    with pytest.raises(jf.ServerError):
        panel.result(5)
    wait_until(lambda: 'data-state="failed"' in state(panel))
    shown, details = state(panel).split("<details")
    assert shown.count("<br>") <= 2
    for text in ("it &lt;failed&gt; with ****", "ServerError: ", "Request id: r-17"):
        assert text in details
    assert "a-token-of-the-tests" not in state(panel)
    panel.close()


def test_an_error_of_our_own_shows_what_led_to_it(answering: Callable[..., Session]) -> None:
    """What fails inside says so, with the chain of errors; the token that stands in one of them is masked."""
    panel = answering(lambda _: httpx.Response(200, json=[{"name": "F"}])).panel("F")
    panel.run()
    panel.result(5)

    def fail(_: object) -> None:
        try:
            _ = {}["a-token-of-the-tests"]  # type: ignore[var-annotated]
        except KeyError as error:
            raise ValueError("<b> a-token-of-the-tests") from error

    panel._guard(fail)(None)
    for text in ("Something failed inside jupyter_funcs: ValueError: &lt;b&gt; ****", "KeyError: "):
        assert text in state(panel)
    assert "a-token-of-the-tests" not in state(panel)
    panel.close()


def test_two_panels_of_one_function_are_two(funcs: Session) -> None:
    """Each has its own form, result and run."""
    one, two = funcs.panel("Get Panel Daily", **DAILY), funcs.panel("Get Panel Daily", PanelName=PANEL)
    one.run()
    assert len(one.result(60)) == 1826
    with pytest.raises(jf.ArgumentError, match="no result yet"):
        two.result()
    two.form["Symbol"] = "NVRA US EQUITY"
    assert one.form is not None
    assert one.form.args == DAILY
    one.close()
    two.run()
    assert len(two.result(60)) == 1821
    two.close()


def test_a_panel_is_closed_twice_and_while_it_runs() -> None:
    """Closing ends the run, and closing again does nothing; no model is left."""
    session = slow(0.3)
    session.get_panels()
    before = set(_instances)
    panel = session.panel("Get Panels")
    job = panel.run()
    panel.close()
    panel.close()
    with pytest.raises(jf.RunCancelledError):
        job.result(5)
    background.start(asyncio.sleep(0.2)).result(5)
    assert set(_instances) == before


@pytest.mark.slow
def test_what_opening_running_and_switching_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole panel opens in at most 90 messages and 60 kB, a first run adds 60, and 50 switches leave no model."""
    sent: list[int] = []

    class Counted(BaseComm):
        def publish_msg(self, _type: str, data: Any = None, *_: Any, **__: Any) -> None:
            sent.append(len(json.dumps(data)))

    monkeypatch.setattr(comm, "create_comm", Counted)
    session = jf.connect()
    session.get_panels()
    panel = session.panel("Get Panel Daily", **DAILY)
    assert len(sent) <= 90, len(sent)
    assert sum(sent) <= 60_000, sum(sent)
    wait_until(lambda: "just now" in "".join(line.description for line in panel._box._lines.values()))
    sent.clear()
    panel.run()
    panel.result(60)
    assert len(sent) <= 60, len(sent)
    assert sum(sent) <= 60_000, sum(sent)
    panel.choose("Get KPIs")
    panel.choose("Get Panel Daily")
    models = len(_instances)
    for at in range(50):
        panel.choose(("Get KPIs", "Get Panel Daily")[at % 2])
    assert len(_instances) == models
    panel.close()


def test_a_run_of_another_function_is_named_and_keeps_run_from_being_pressed() -> None:
    """While one function runs, the form of another says which, offers Cancel and no run, and then says its own."""
    panel = slow(0.7).panel("Get Panels")
    panel.run()
    panel.choose("Get Universe")
    wait_until(lambda: "Running Get Panels… " in state(panel))
    assert 'data-state="running"' in state(panel)
    assert (panel._bar.run.disabled, panel._bar.cancel.disabled) == (True, False)
    wait_until(lambda: 'data-state="idle"' in state(panel))
    assert (panel._bar.run.disabled, panel._bar.cancel.disabled) == (False, True)
    assert shown(panel) is None
    panel.choose("Get Panels")
    assert 'data-state="done"' in state(panel)
    wait_until(lambda: shown(panel) is panel.result())
    panel.close()


def test_a_run_says_how_much_has_come(answering: Callable[..., Session]) -> None:
    """While the reply comes in, the line says how many bytes of it are there."""
    go_on = threading.Event()

    class Pieces(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b'[{"a": 1},' + b" " * 2_000_000
            await asyncio.to_thread(go_on.wait, 20)
            yield b'{"a": 2}]'

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("runFunction"):
            return httpx.Response(200, stream=Pieces())
        return httpx.Response(200, json=[{"name": "F"}])

    panel = answering(answer).panel("F")
    panel.run()
    wait_until(lambda: "Running… 0 s · 2.0 MB so far" in state(panel) or "Running… 1 s · 2.0 MB so far" in state(panel))
    go_on.set()
    assert len(panel.result(20)) == 2
    panel.close()

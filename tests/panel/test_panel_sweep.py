"""Run for each, in the panel without a front end: how a sweep begins, what is said of it, and how it shows."""

from __future__ import annotations

import asyncio
import html
import json
import re
import threading
from typing import TYPE_CHECKING, Any

import httpx
import pandas as pd
import pytest
from ipywidgets.widgets.widget import _instances

import jupyter_funcs as jf
from jupyter_funcs.catalog.values import Each
from jupyter_funcs.client import notebook
from jupyter_funcs.core.progress import SweepProgress
from jupyter_funcs.panel import running
from jupyter_funcs.service import embedded
from jupyter_funcs.sweeps.messages import duration_text, failed_html, going_html, value_text
from tests.conftest import PANEL, SYMBOL
from tests.faults.server import faulty
from tests.faults.test_sweeping import Service, refusing
from tests.panel.test_controls import wait_until
from tests.panel.test_formbox import settled
from tests.panel.test_panel import is_old, shown, state

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_funcs.api import Session
    from jupyter_funcs.panel.panel import Panel

OTHER = "BVQS US EQUITY"
NO_SUCH = "NOPE US EQUITY"


def text(source: str) -> str:
    """Give what a person reads of HTML."""
    return html.unescape(re.sub(r"<[^>]+>", " ", source))


def opened(session: Session, **values: Any) -> Panel:
    return session.panel("Get Panel Daily", **{"PanelName": PANEL, **values})


def tab(panel: Panel, title: str) -> str:
    """Open a tab, and give what a person reads there."""
    results = panel._results
    at = results._titles.index(title)
    results._box.selected_index = at
    wait_until(lambda: at in results._tabs and bool(html_of(results._tabs[at])))
    return text(html_of(results._tabs[at]))


def html_of(tab: Any) -> str:
    return str(getattr(tab, "_html", tab).value)


class Gate(httpx.ASGITransport):
    """The embedded service, whose runs wait once so many have been answered, until they are let through."""

    def __init__(self, first: int) -> None:
        self.inner = embedded()
        self.first = first
        self.sent: list[str] = []
        self.is_open = threading.Event()
        super().__init__(self.inner.app)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer as the service does."""
        if request.url.path.endswith("runFunction"):
            body = json.loads(await request.aread())
            if body["FunctionName"] == "Get Panel Daily":
                self.sent.append(body["Args"]["Symbol"])
                if len(self.sent) > self.first:
                    await asyncio.to_thread(self.is_open.wait, 60)
        return await super().handle_async_request(request)


@pytest.fixture
def gated() -> Iterator[tuple[Session, Gate]]:
    """A session whose sweeps stop after three runs."""
    gate = Gate(3)
    session = jf.connect("https://service.example", token=gate.inner.token, transport=gate)
    yield session, gate
    gate.is_open.set()
    session.close()


def test_a_field_of_many_values_runs_for_each(funcs: Session) -> None:
    """Run says how often; the frame is that of the same sweep, and shows as any other, with what it was run with."""
    panel = opened(funcs)
    panel._on_each(["Symbol"])
    panel._box._controls["Symbol"].box.value = f"{SYMBOL}\n{OTHER}\n{SYMBOL}"
    assert (panel._bar.run.description, panel._bar.run.disabled) == ("Run 2 times", False)
    assert f"funcs.get_panel_daily.sweep(PanelName='{PANEL}', Symbol=['{SYMBOL}', '{OTHER}'])" in html.unescape(
        panel._code.value
    )
    panel._bar.run.click()
    frame = panel.result(60)
    pd.testing.assert_frame_equal(
        frame, funcs["Get Panel Daily"].with_options(progress=False).sweep(PanelName=PANEL, Symbol=[SYMBOL, OTHER])
    )
    assert 'data-state="done" data-run="1"' in state(panel)
    assert "3,652 rows × 8 columns from 2 runs · " in state(panel)
    assert shown(panel) is frame
    assert not is_old(panel)
    assert not panel._code.value
    assert "df = %funcs sweep get_panel_daily" in tab(panel, "Code")
    assert "# The first of the runs: a request is one run.\n" in tab(panel, "Code")
    assert '"Symbol": "BKQU US EQUITY"' in tab(panel, "Code")
    assert f"2 values: {SYMBOL}, {OTHER}" in tab(panel, "About")
    assert "Runs  2, 0 failed" in tab(panel, "About")
    assert "Each of these runs had a reply of its own" in tab(panel, "JSON")
    panel.close()


def test_one_value_runs_for_each_too(funcs: Session) -> None:
    """A field that is to have several and has one is swept all the same, so that its column is there."""
    panel = opened(funcs, Symbol=[SYMBOL])
    assert panel.form is not None
    assert panel.form["Symbol"] == Each((SYMBOL,))
    assert panel._bar.run.description == "Run"
    panel.run()
    assert list(panel.result(60).columns[:2]) == ["Symbol", "Date"]
    assert "from 1 run · " in state(panel)
    panel.close()


def test_what_failed_is_listed(funcs: Session) -> None:
    """A run that fails costs no other: the state line counts it, and unfolds to which arguments and why."""
    panel = opened(funcs, Symbol=[SYMBOL, NO_SUCH])
    panel.run()
    frame = panel._runner.running and panel._visit.job.future.result(60)
    wait_until(lambda: 'data-state="done"' in state(panel))
    assert len(frame) == 1826
    said = text(state(panel))
    assert "1 of 2 runs failed" in said
    assert f"{NO_SUCH}  Symbol '{NO_SUCH}' is not known." in said
    assert 'panel.result().attrs["errors"] ' in said
    with pytest.warns(UserWarning, match="1 of 2 runs of Get Panel Daily failed"):  # where a program takes it
        panel.result(60)
    assert "Runs  2, 1 failed" in tab(panel, "About")
    panel.close()


def test_where_each_run_failed_the_result_before_stays(funcs: Session) -> None:
    """A sweep that gave nothing is a failure: its reasons are listed, and the result before is kept, marked as old."""
    panel = opened(funcs, Symbol=SYMBOL)
    panel.run()
    before = panel.result(60)
    panel._on_each(["Symbol"])
    panel._box._controls["Symbol"].box.value = f"{NO_SUCH}\nNEVER US EQUITY"
    panel.run()
    wait_until(lambda: 'data-state="failed" data-run="2"' in state(panel))
    assert "2 of 2 runs failed" in text(state(panel))
    assert shown(panel) is before
    assert is_old(panel)
    panel.close()


@pytest.mark.slow
def test_cancelled_it_keeps_what_came_and_goes_on(gated: tuple[Session, Gate]) -> None:
    """Cancel says how many have come and are kept; Run goes on from there and sends none of those again."""
    session, gate = gated
    panel = session["Get Panel Daily"].with_options(concurrency=2).panel(PanelName=PANEL)
    symbols = list(session.get_universe()["Symbol"])[:8]
    panel.form["Symbol"] = Each(tuple(symbols))
    panel.run()
    wait_until(lambda: "3 of 8 runs" in state(panel))
    assert '<progress class="jf-progress" max="8" value="3"' in state(panel)
    panel.cancel()
    wait_until(lambda: 'data-state="cancelled"' in state(panel))
    assert "Cancelled after 3 of 8 runs. Press Run to continue." in state(panel)
    gate.is_open.set()
    first = list(gate.sent)
    panel.run()
    frame = panel.result(60)
    assert list(frame["Symbol"].drop_duplicates()) == symbols
    assert not set(gate.sent[len(first) :]) & set(symbols[:3])
    assert "3 from the cache" in state(panel)
    assert "3 from the cache" in tab(panel, "About")
    panel.close()


@pytest.mark.slow
def test_why_it_waits_is_said() -> None:
    """While the service asks to wait the state line says until when and why; no run has failed for it."""
    service = Service()
    service.answer = refusing("429 Too Many Requests", wished="2")
    with faulty(otherwise=service) as server:
        session = jf.connect(server.url, token="a-token-of-the-tests")
        panel = session.panel("F", a=["1", "2", "3"])
        panel.run()
        wait_until(lambda: "Waiting until" in state(panel))
        assert re.search(r"Waiting until \d\d:\d\d:\d\d: .*429", text(state(panel)))
        assert len(panel.result(60)) == 3
        assert "3 rows × 2 columns from 3 runs" in state(panel)
        panel.close()
        session.close()


@pytest.mark.slow
def test_very_many_runs_are_asked_about(funcs: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run asks first, with the number, and once for the same values; code is refused until it allows as many."""
    panel = funcs["Get Panel Daily"].with_options(most_runs=2).panel(PanelName=PANEL, Symbol=[SYMBOL, OTHER, NO_SUCH])
    with pytest.raises(jf.ArgumentError, match=r"This is 3 runs of Get Panel Daily[^$]*with_options\(most_runs=3\)"):
        panel.run()
    asks = "This is 3 runs, more than 2. Press the Run button again to continue, or sweep fewer values."
    panel._bar.run.click()
    wait_until(lambda: asks in state(panel))
    assert panel._visit is not None
    assert panel._visit.job is None
    panel.form["Symbol"] = Each((SYMBOL, OTHER, "CLQM US EQUITY"))
    assert asks not in state(panel)
    for _ in range(2):
        panel._runner.wait()
        panel._bar.run.click()
        wait_until(lambda: asks in state(panel) or panel._visit.job is not None)
    assert len(panel.result(60)["Symbol"].unique()) == 3
    monkeypatch.setattr(running, "asks_text", pytest.fail)
    panel._bar.run.click()
    wait_until(lambda: 'data-run="2"' in state(panel) and 'data-state="done"' in state(panel))
    panel.close()


def test_another_function_keeps_which_fields_have_several(funcs: Session) -> None:
    """Coming back to a function, its several values are there, and so is what says which fields have them."""
    panel = opened(funcs, Symbol=[SYMBOL, OTHER])
    panel.choose("get_kpis")
    assert panel._bar.each._each == []
    assert panel._bar.run.description == "Run"
    panel.choose("get_panel_daily")
    assert panel._bar.each._each == ["Symbol"]
    assert panel._bar.run.description == "Run 2 times"
    panel._bar.clear.click()
    assert panel._bar.each._each == ["Symbol"]
    panel._bar.each._tags["Symbol"].click()
    assert panel._bar.each._each == []
    panel.close()


def test_choosing_a_field_to_run_for_each_leaves_no_model(funcs: Session) -> None:
    """Each field is given several values and one again, three times; closed, the panel leaves no model behind."""
    before = set(_instances)
    panel = opened(funcs)
    for _ in range(3):
        for name in panel.form:
            panel._bar.each._box.value = name
        assert panel._bar.each._each == list(panel.form)
        for name in list(panel.form):
            panel._bar.each._tags[name].click()
    panel._on_each(list(panel.form))
    wait_until(lambda: settled(panel._box))
    panel.close()
    assert set(_instances) == before


def test_a_variable_of_many_values_is_swept(funcs: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """`$name` of a list runs for each of its items; the code names the variable."""
    monkeypatch.setattr(notebook, "variables", lambda: {"symbols": [SYMBOL, OTHER]})
    panel = opened(funcs)
    panel._on_each(["Symbol"])
    panel._box._controls["Symbol"].box.value = "$symbols"
    assert panel._bar.run.description == "Run 2 times"
    assert "Symbol=symbols)" in html.unescape(panel._code.value)
    panel.run()
    assert list(panel.result(60)["Symbol"].unique()) == [SYMBOL, OTHER]
    panel.close()


def test_thousands_of_values_are_not_sent_to_and_fro(funcs: Session) -> None:
    """Of thousands of values no code is shown beside the form, which would be sent anew with each key."""
    panel = opened(funcs, Symbol=[f"S{at}" for at in range(1001)])
    assert panel._bar.run.description == "Run 1,001 times"
    assert not panel._code.value
    panel.form["Symbol"] = Each((SYMBOL,))
    assert "sweep(" in panel._code.value
    panel.close()


@pytest.mark.slow
def test_several_lists_are_swept(funcs: Session) -> None:
    """A field that takes a list takes several, a line each; the code reads back as these."""
    panel = opened(funcs, Symbol=SYMBOL, Dimensions=[["Region"], ["Region", "Age Group"]])
    assert panel._bar.run.description == "Run 2 times"
    panel.run()
    frame = panel.result(60)
    assert list(frame.columns[:1]) == ["Dimensions"]
    assert list(frame["Dimensions"].unique()) == ["Region", "Region, Age Group"]
    assert 'Dimensions=[["Region"], ["Region", "Age Group"]]' in tab(panel, "Code")
    assert "2 values: [Region], [Region, Age Group]" in tab(panel, "About")
    panel.close()


def test_what_the_notebook_keeps_opens_the_panel_with_the_same_values(funcs: Session) -> None:
    """The saved notebook says with which values it was swept, in a line that opens the panel with them."""
    panel = opened(funcs, Symbol=[SYMBOL, OTHER])
    panel.run()
    panel.result(60)
    kept = text(panel._repr_mimebundle_()["text/html"])
    assert f"Symbol = {SYMBOL}, {OTHER}" in kept
    assert f'%funcs panel get_panel_daily PanelName="{PANEL}" Symbol=["{SYMBOL}", "{OTHER}"]  opens the panel' in kept
    panel.close()


def test_how_a_sweep_goes_is_said() -> None:
    """Done, failed, from the cache, rate, time left, and why it waits; texts of a service are shown as texts."""
    progress = SweepProgress(total=500, done=110, failed=10, cached=20)
    assert text(going_html(progress, 10.0, "")) == (
        "  Running… 120 of 500 runs · 10 failed · 20 from the cache · 10.0/s · 38 s left"
    )
    progress = SweepProgress(total=500, done=1, waiting="waiting until 12:00:05: <b>busy</b>")
    said = going_html(progress, 30.0, "F")
    assert "Running F… 1 of 500 runs · 2.0/min · 4 h 10 min left " in text(said)
    assert " Waiting until 12:00:05: <b>busy</b> " in text(said)
    assert "&lt;b&gt;busy" in said
    assert text(going_html(SweepProgress(total=2), 0.2, "")) == "  Running… 0 of 2 runs · 0 s"
    assert [duration_text(seconds) for seconds in (0.4, 99, 100, 5940, 36_000)] == [
        "0 s", "99 s", "2 min", "99 min", "10 h 0 min"
    ]  # fmt: skip


def test_many_failures_are_listed_in_part() -> None:
    """Fifty failed runs are listed, and how many more there are; texts of a service are shown as texts."""
    errors = [
        {"args": {"a": str(at)}, "error": "<i>no</i>", "type": "FunctionError", "attempts": 1} for at in range(60)
    ]
    frame = pd.DataFrame()
    frame.attrs = {"funcs": {"swept": ["a"], "runs": 70}, "errors": errors}
    said = failed_html(frame, "df")
    assert said.count("<tr>") == 51
    assert "&lt;i&gt;no" in said
    assert "And 10 more." in text(said)
    assert value_text([str(at) for at in range(25)]).endswith("18, 19, and 5 more")

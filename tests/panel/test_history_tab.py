"""The history tab of a panel: what was run, run again or filled in, and compared with the result that is shown."""

from __future__ import annotations

import gc
import html
import re
import warnings
from typing import TYPE_CHECKING, Any

import httpx
import pandas as pd
import pytest
from ipywidgets.widgets.widget import _instances

import jupyter_funcs as jf
from jupyter_funcs.catalog.values import Each
from jupyter_funcs.core import background
from jupyter_funcs.records import history
from tests.conftest import PANEL, SYMBOL
from tests.panel.test_controls import wait_until
from tests.tabs import hidden

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jupyter_funcs.api import Session
    from jupyter_funcs.panel.panel import Panel
    from jupyter_funcs.panel.result.history_tab import HistoryTab

NAME = "Get Panel Daily"
DAILY = {"PanelName": PANEL, "Symbol": SYMBOL}
HISTORY = 5


def opened(panel: Panel) -> HistoryTab:
    """Open the tab of a panel and give it once it shows what there is."""
    results = panel._results
    if panel._visit is None or panel._visit.outcome is None:
        assert panel._earlier is not None
        if hidden(results):
            panel._earlier.click()
    else:
        results._box.selected_index = HISTORY
    wait_until(lambda: HISTORY in results._tabs and not hidden(results))
    background.wait(background.start(results._fill()), 10)
    tab: HistoryTab = results._tabs[HISTORY]
    tab._list()
    return tab


def held(panel: Panel) -> dict[str, Any]:
    assert panel.form is not None
    return panel.form.values  # noqa: PD011  # a form's


def lines(tab: HistoryTab) -> list[str]:
    return [text for text, _ in tab.list.options]


def compared(tab: HistoryTab, label: str) -> str:
    """Choose a run, press Compare, and give what is said."""
    tab.list.value = None
    tab.list.value = label
    tab.compare.click()
    assert tab.comparing is not None
    background.wait(tab.comparing, 30)
    return html.unescape(tab._compared.value)


def changing(answering: Callable[..., Session], *frames: list[dict[str, Any]]) -> Session:
    """Give a session whose function F gives these rows, one list after the other."""
    left = list(frames)

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("runFunction"):
            return httpx.Response(200, json=left.pop(0) if len(left) > 1 else left[0])
        return httpx.Response(200, json=[{"name": name, "params": [{"name": "A"}]} for name in "FG"])

    return answering(answer)


def test_the_runs_are_listed_the_newest_first(funcs: Session) -> None:
    """Each run of a cell and of the panel has its line: number, time, function, arguments, and what became of it."""
    funcs.get_panels()
    with pytest.raises(jf.FuncsError):
        funcs.get_panel_daily(PanelName=PANEL, Symbol="NO<b>PE")
    panel = funcs.panel(NAME, **DAILY)
    panel.run()
    panel.result(60)
    tab = opened(panel)
    newest, failed, first = lines(tab)
    assert newest.startswith("3 · ")
    assert f" · {NAME} · 1,826 rows · " in newest
    assert newest.endswith(f" s · PanelName={PANEL}, Symbol={SYMBOL}")
    assert failed.endswith(f" · failed · PanelName={PANEL}, Symbol=NO<b>PE")
    assert " · Get Panels · " in first
    tab.list.value = "2"
    assert "NO&lt;b&gt;PE" in tab._about.value
    assert "<b>" not in tab._about.value
    panel.close()


def test_what_a_cell_runs_appears_by_itself(funcs: Session) -> None:
    """While the tab is there, a run of a cell comes to its top, and the choice stays where it was."""
    panel = funcs.panel("Get Panels")
    panel.run()
    panel.result(60)
    tab = opened(panel)
    tab.list.value = "1"
    funcs.get_universe()
    wait_until(lambda: len(tab.list.options) == 2)
    wait_until(lambda: "Get Universe" in lines(tab)[0] and "rows" in lines(tab)[0])
    assert tab.list.value == "1"
    panel.close()


def test_a_run_fills_the_form_or_runs_again(funcs: Session) -> None:
    """Filling shows the function with just the values of the run; running again also runs them, and holds both."""
    frame = funcs.get_panel_daily(**DAILY, Dimensions=["Region"])
    panel = funcs.panel("Get Panels")
    panel.run()
    panel.result(60)
    tab = opened(panel)
    assert (tab.again.disabled, tab.fill.disabled, tab.compare.disabled) == (True, True, True)
    tab.list.value = "1"
    tab.fill.click()
    assert panel._visit is not None
    assert panel._visit.function.name == NAME
    assert panel.form is not None
    assert panel.form.args == {**DAILY, "Dimensions": ["Region"]}
    assert len(funcs.history) == 2
    panel.form["Brand"] = "typed meanwhile"
    tab.list.value = None
    tab.list.value = "1"
    tab.again.click()
    wait_until(lambda: len(funcs.history) == 3)
    pd.testing.assert_frame_equal(panel.result(60), frame)
    assert panel.form.args == {**DAILY, "Dimensions": ["Region"]}
    panel.close()


def test_two_runs_are_compared_in_words_and_rows(answering: Callable[..., Session]) -> None:
    """The tab counts the rows that were added, removed and changed, shows them, and says which way it looks."""
    first = [{"Key": "a", "N": 1}, {"Key": "b", "N": 2}, {"Key": "c", "N": 3}]
    session = changing(answering, first, [{"Key": "a", "N": 1}, {"Key": "b", "N": 9}, {"Key": "d<i>", "N": 4}])
    before = session["F"](A="x")
    panel = session.panel("F", A="y")
    panel.run()
    panel.result(10)
    tab = opened(panel)
    said = compared(tab, "1")
    assert "From run 1 to the result shown: other arguments (A: x, then y); " in said
    assert "1 row added, 1 removed and 1 changed, of 3 before and 3 after." in said
    held = "jf.connect('https://service.example').history.get(1).frame"
    code = f"import jupyter_funcs as jf; jf.diff({held}, panel.result())"
    assert f"{code} gives these" in said.replace("<code>", "").replace("</code>", "")
    assert tab._compared.value.count("<tr>") == 1 + len(jf.diff(before, panel.result()))
    assert "<i>" not in tab._compared.value
    later = session["F"](A="y")
    tab._list()
    assert "From the result shown to run 3: no difference, 3 rows × 2 columns." in compared(tab, "3")
    assert len(later) == 3
    tab.list.value = "1"
    assert not tab._compared.value
    panel.close()


def test_the_code_of_a_comparison_can_be_pasted() -> None:
    """The line below a comparison runs in a notebook that has only loaded the magic."""
    funcs = jf.connect()
    report = funcs.get_report
    before = report(report_id="RPT-101", report_time_unit="quarter")
    panel = funcs.panel("Get Report", report_id="RPT-102", report_time_unit="quarter")
    panel.run()
    panel.result(30)
    tab = opened(panel)
    said = compared(tab, str(funcs.history.runs[-2].number))
    statement, _, call = html.unescape(re.search("<code>(.*?)</code>", tab._compared.value)[1]).partition("; ")
    known: dict[str, Any] = {"panel": panel}
    exec(statement, known)
    assert len(eval(call, known)) == len(jf.diff(before, panel.result()))
    assert said
    panel.close()


def test_what_cannot_be_compared_is_said(answering: Callable[..., Session]) -> None:
    """A result that nobody holds, another function's, the one shown, and rows that nothing tells apart, in words."""
    session = changing(answering, [{"Key": "a", "N": 1}, {"Key": "a", "N": 2}])
    known = [session["F"](A="x"), session["G"](A="x")]
    with pytest.raises(jf.ArgumentError):
        session["F"](B="x")
    session["F"](A="nobody holds it")
    wait_until(lambda: gc.collect() >= 0 and session.history.runs[-1].frame is None)
    panel = session.panel("F", A="y")
    panel.run()
    panel.result(10)
    tab = opened(panel)
    assert "Run 3 has a result that is no longer held: run it again" in compared(tab, "3")
    assert "Run 2 is of G, and the result shown of F." in compared(tab, "2")
    assert "Run 4 gave the result that is shown" in compared(tab, "4")
    said = compared(tab, "1")
    assert "does not identify the rows of the first result" in said
    assert "jf.diff(jf.connect('https://service.example').history.get(1).frame, panel.result(), keys=[…])" in said
    assert len(known) == 2
    panel.close()


def test_a_sweep_fills_in_several_values(funcs: Session) -> None:
    """A sweep comes back as a run for each of its values; one of pairs, which no form holds, says what runs it."""
    fn = funcs[NAME].with_options(progress=False, cache=False)
    for options, panels in (({}, PANEL), ({"pairs": True}, [PANEL, PANEL])):
        with pytest.warns(UserWarning, match="1 of 2 runs"):
            fn.with_options(**options).sweep(PanelName=panels, Symbol=[SYMBOL, "NOPE US EQUITY"])
    panel = funcs.panel(NAME)
    tab = opened(panel)
    assert f"{NAME} 2 times · " in lines(tab)[1]
    tab.list.value = "1"
    tab.fill.click()
    assert held(panel) == {"PanelName": PANEL, "Symbol": Each((SYMBOL, "NOPE US EQUITY"))}
    tab.list.value = "2"
    tab.fill.click()
    assert "%funcs again 2 runs it." in tab._compared.value
    tab.list.value = "1"
    tab.again.click()
    wait_until(lambda: len(funcs.history) == 3)
    with pytest.warns(UserWarning, match="1 of 2 runs"):
        frame = panel.result(60)
    assert list(frame.columns[:1]) == ["Symbol"]
    assert len(frame.attrs["errors"]) == 1
    panel.close()


def test_running_again_asks_the_service_again(answering: Callable[..., Session]) -> None:
    """A sweep that is run again takes nothing from the cache that is as old as it; the next Run does as always."""
    session = changing(answering, [{"Key": "a", "N": 1}])
    session["F"].with_options(progress=False).sweep(A=["x", "y"])
    panel = session.panel("F")
    tab = opened(panel)
    tab.list.value = "1"
    tab.again.click()
    wait_until(lambda: len(session.history) == 2)
    assert panel.result(10).attrs["funcs"]["cached"]["runs"] == 0
    panel.run()
    assert panel.result(10).attrs["funcs"]["cached"]["runs"] == 2
    panel.close()


def test_a_function_that_is_gone_is_said(answering: Callable[..., Session]) -> None:
    """A run of a function that is no longer listed, or takes no such parameter any more, says so; nothing is run."""
    listing = [{"name": name, "params": [{"name": "A"}, {"name": "B"}]} for name in "FG"]
    session = answering(lambda r: httpx.Response(200, json=[{"x": 1}] if "run" in r.url.path else listing))
    known = session["F"](A="1"), session["G"](A="1", B="2")
    listing[:] = [{"name": "G", "params": [{"name": "A"}]}]
    session.refresh()
    panel = session.panel("G")
    tab = opened(panel)
    for button in (tab.fill, tab.again):
        tab.list.value = None
        tab.list.value = "1"
        button.click()
        assert "F" in tab._compared.value
        assert "jf-bad" in tab._compared.value
    tab.list.value = "2"
    tab.fill.click()
    assert held(panel) == {"A": "1"}
    assert "Without &#x27;B&#x27;: G has no such parameter." in panel._state.value
    tab.again.click()
    assert "jf-bad" in tab._compared.value
    assert len(session.history) == len(known)
    panel.close()


def test_the_history_is_there_before_the_first_result(funcs: Session) -> None:
    """With earlier runs a button opens them, and closes them again; the first result then stands in its table."""
    fresh = funcs.panel(NAME)
    assert fresh._earlier is None
    fresh.close()
    frame = funcs.get_panel_daily(**DAILY)
    panel = funcs.panel(NAME)
    assert panel._earlier is not None
    assert hidden(panel._results)
    tab = opened(panel)
    assert hidden(panel._results._below)
    panel._earlier.click()
    wait_until(lambda: hidden(panel._results))
    opened(panel)
    tab.list.value = "1"
    tab.again.click()
    wait_until(lambda: len(funcs.history) == 2)
    assert len(panel.result(60)) == len(frame)
    assert panel._results._box.selected_index == 0
    assert hidden(panel._earlier)
    assert not hidden(panel._results._below)
    assert "no difference" in compared(opened(panel), "1")
    panel.close()


def test_runs_of_earlier_kernels_are_there_where_they_are_kept(
    answering: Callable[..., Session], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the history is kept, the runs of another kernel are below this one's, and fill the form and run again."""
    monkeypatch.setenv("FUNCS_HISTORY", str(tmp_path / "history.sqlite"))
    session = changing(answering, [{"Key": "a", "N": 1}], [{"Key": "a", "N": 2}])
    session.history.save(on=True)
    session["F"](A="of yesterday")
    wait_until(lambda: [run.status for run in session.history.runs] == ["done"])
    session.history.save(on=True)  # waits until all is written
    history._logs.clear()  # as in another kernel
    assert not len(session.history)
    panel = session.panel("F")
    tab = opened(panel)
    [(line, label)] = tab.list.options
    assert "/" in label
    assert line.endswith("A=of yesterday")
    tab.list.value = label
    tab.again.click()
    wait_until(lambda: len(session.history) == 1)
    assert held(panel) == {"A": "of yesterday"}
    panel.result(10)
    opened(panel)
    assert [label for _, label in tab.list.options] == ["1", label]
    assert "no longer held" in compared(tab, label)
    panel.close()


def test_a_broken_file_of_runs_is_said(
    answering: Callable[..., Session], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where what was kept cannot be read, the tab says so and has the runs of this kernel."""
    path = tmp_path / "history.sqlite"
    monkeypatch.setenv("FUNCS_HISTORY", str(path))
    path.write_bytes(b"no database at all" * 100)
    session = changing(answering, [{"Key": "a", "N": 1}])
    with warnings.catch_warnings(action="ignore"):  # of the same, once the file was tried
        session["F"](A="x")
        panel = session.panel("F")
        tab = opened(panel)
    assert str(path) in tab._compared.value
    assert len(tab.list.options) == 1
    panel.close()


def test_the_tab_costs_nothing_before_it_is_opened(funcs: Session) -> None:
    """A run makes no model of the tab; closing the panel closes those of one that was opened, and its look-out ends."""
    funcs.get_panels()
    before = set(_instances)
    panel = funcs.panel("Get Panels")
    panel.run()
    panel.result(60)
    assert HISTORY not in panel._results._tabs
    tab = opened(panel)
    watch = tab._watch
    assert watch is not None
    panel.close()
    wait_until(watch.done)
    assert set(_instances) == before

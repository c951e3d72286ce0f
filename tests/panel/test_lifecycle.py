"""A panel over time: refreshes, cells that run again, a user's own code, closing and saved notebooks."""

from __future__ import annotations

import gc
import json
import re
import threading
import time
from typing import TYPE_CHECKING, Any

import httpx
import nbformat
import pandas as pd
import pytest
from ipywidgets.widgets.widget import _instances
from nbconvert import HTMLExporter

import jupyter_funcs as jf
from jupyter_funcs.catalog.values import Each
from jupyter_funcs.client import notebook
from jupyter_funcs.core import background
from jupyter_funcs.panel import requests
from jupyter_funcs.panel.panel import Panel
from tests.conftest import PANEL, SYMBOL, wait_until
from tests.connection.test_profiles import jwt
from tests.panel.conftest import DAILY
from tests.panel.page import Page, frame_of, state
from tests.shells import interactive_shell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_funcs.api import Session

F = {"name": "F", "params": [{"name": "a"}, {"name": "b"}]}
G = {"name": "G"}


class Service(httpx.BaseTransport):
    """A service whose listing and runs a test changes; both wait while their gate is closed."""

    def __init__(self, *listing: Any) -> None:
        self.listing: list[Any] | httpx.Response = list(listing)
        self.runs = lambda: httpx.Response(200, json=[{"a": 1}])
        self.lists = threading.Event()
        self.goes = threading.Event()
        self.panels = list[Panel]()
        self.open_gates()

    def open_gates(self) -> None:
        self.lists.set()
        self.goes.set()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("runFunction"):
            assert self.goes.wait(60)
            return self.runs()
        assert self.lists.wait(60)
        return (
            self.listing
            if isinstance(self.listing, httpx.Response)
            else httpx.Response(200, json=self.listing)
        )

    def connect(self, token: Any = "a-token-of-the-tests") -> Session:
        return jf.connect("https://service.example", token=token, transport=self)

    def page(self, *function: str, **values: Any) -> Page:
        """Open a panel, which is closed at the end of the test."""
        self.panels.append(self.connect().panel(*function, **values))
        return Page(self.panels[-1])


@pytest.fixture
def service() -> Iterator[Service]:
    """A service of two functions."""
    service = Service(F, G)
    yield service
    service.open_gates()
    for panel in service.panels:
        panel.close()


# The listing


def test_refresh_says_what_changed_and_keeps_the_form(service: Service) -> None:
    """An unchanged function keeps its form object; a changed one has its new fields and the values that they take."""
    page = service.page("F", a="1", b="2")
    form = page.panel.form
    assert page.ask("refresh")["said"] == "Listed again: nothing has changed."
    assert page.panel.form is form
    service.listing = [
        {"name": "F", "params": [{"name": "b"}, {"name": "c"}]},
        {"name": "<b>H</b>"},
    ]
    assert (
        page.ask("refresh")["said"]
        == "Listed again: 1 added (<b>H</b>), 1 removed (G), 1 changed (F)."
    )
    assert page.args == {"b": "2"}
    assert [field["name"] for field in page.state("_view")["fields"]] == ["b", "c"]
    page.run()


def test_a_function_that_vanished_is_said_and_keeps_its_values(
    service: Service,
) -> None:
    """The form stays as it is, with a message that the function is gone; the message goes when it is listed again."""
    page = service.page("F", a="1")
    service.listing = [G]
    assert "1 removed (F)" in page.ask("refresh")["said"]
    [advice] = page.state("_values")["advice"]
    assert advice.startswith(
        "This function is no longer in your catalog. What you entered is kept;"
    )
    assert page.args == {"a": "1"}
    page.ask("choose", function="g")
    service.listing = [F, G]
    page.ask("refresh")
    page.ask("choose", function="f")
    assert page.state("_values")["advice"] == []
    assert page.args == {"a": "1"}


def test_a_panel_opens_though_the_listing_fails(service: Service) -> None:
    """It says why there is nothing to choose; a failed refresh keeps that message, or the listed functions."""
    listing = service.listing
    service.listing = httpx.Response(403, text="<h1>no</h1>")
    page = service.page()
    assert 1 <= len(page.state("_service")["trouble"]) <= 3
    assert "error" in page.ask("refresh")
    assert page.state("_service")["trouble"]
    service.listing = listing
    page.ask("refresh")
    status = page.state("_service")
    assert (status["trouble"], status["functions"]) == ([], 2)
    service.listing = httpx.Response(503, text="<h1>down</h1>")
    assert 1 <= len(page.ask("refresh")["error"]) <= 3
    page.ask("choose", function="f")
    assert page.run()


def test_a_panel_that_is_closed_while_it_lists_is_left_alone(service: Service) -> None:
    """What arrives after closing is dropped: nothing is sent, and no model is created."""
    session = service.connect()
    _ = session.catalog
    before = set(_instances)
    page = Page(session.panel("F"))
    service.lists.clear()
    refresh = background.start(page.panel._answer({"v": 1, "id": 1, "kind": "refresh"}))
    page.panel.close()
    service.lists.set()
    refresh.result(60)
    assert set(_instances) == before
    assert page.sent == []


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(300.0, "The token ends in 5 minutes."), (7200.0, ""), (None, "")],
    ids=str,
)
def test_the_end_of_a_token_is_said_when_it_is_near(
    service: Service, seconds: float | None, text: str
) -> None:
    """The panel opens without waiting for the token's source, and mentions the end in the last ten minutes."""
    calls = []
    go = threading.Event()

    def source() -> str:
        calls.append(1)
        assert len(calls) < 2 or go.wait(60)
        return (
            "an-api-key-of-the-tests"
            if seconds is None
            else jwt({"exp": time.time() + seconds + 1, "sub": "<ada>"})
        )

    session = service.connect(source)
    _ = session.catalog
    page = Page(session.panel())
    assert page.state("_service")["tokenEnds"] == ""
    go.set()
    wait_until(
        lambda: (
            page.state("_service")["account"] == ("" if seconds is None else "<ada>")
        )
    )
    assert page.state("_service")["tokenEnds"] == text
    page.panel.close()


# A run


def test_a_run_makes_its_function_a_recent_one(service: Service) -> None:
    """The next panel has it on top and opens its result, even if the panel that ran it is gone."""
    page = service.page("G")
    page.run()
    sections = page.ask("functions", query="", **{"from": 0})["sections"]
    assert [
        function["name"] for section in sections for function in section["functions"]
    ] == [
        "G",
        "F",
    ]
    page.panel.close()
    gc.collect()
    again = Page(page.panel._state.session.panel())
    [recent] = again.state("_view")["start"]["recent"]
    assert (recent["function"], recent["rows"], recent["held"]) == ("G", 1, True)
    assert "error" not in again.ask("open", number=recent["number"])
    assert (
        again.state("_run")["result"]["summary"]
        == f"1 row × 1 column · run {recent['number']}"
    )
    again.panel.close()


def test_cancel_and_run_again(service: Service) -> None:
    """A cancelled run says so until the next one, and shows nothing; of two runs the latest wins."""
    page = service.page("F")
    service.goes.clear()
    page.panel.run()
    wait_until(lambda: state(page.panel)["state"] == "running")
    page.ask("cancel")
    with pytest.raises(jf.RunCancelledError):
        page.panel.result(60)
    wait_until(lambda: state(page.panel)["state"] == "cancelled")
    assert (
        state(page.panel)["error"]["what"]
        == "Cancelled. The service may still finish the run."
    )
    assert frame_of(page.panel) is None
    page.panel.run()
    page.panel.run()
    service.goes.set()
    page.panel.result(60)
    assert (state(page.panel)["state"], state(page.panel)["number"]) == ("done", 3)
    assert state(page.panel)["error"] is None


def test_a_run_of_another_function_is_named_and_keeps_run_from_being_pressed(
    service: Service,
) -> None:
    """While one function runs, the form of another names it, and a press there starts nothing."""
    page = service.page("F")
    service.goes.clear()
    job = page.panel.run()
    page.ask("choose", function="g")
    assert (state(page.panel)["state"], state(page.panel)["running"]["name"]) == (
        "running",
        "F",
    )
    page.ask("run", seq=1, values={}, confirmed=False)
    assert state(page.panel)["number"] == 1
    service.goes.set()
    job.result(60)
    wait_until(lambda: state(page.panel)["state"] == "form")
    page.ask("choose", function="f")
    assert (state(page.panel)["state"], state(page.panel)["result"]["number"]) == (
        "done",
        1,
    )


def test_a_result_of_other_values_is_marked_and_stays_after_a_failure(
    service: Service,
) -> None:
    """The form may change during a run; a failed run says why and keeps the previous result."""
    page = service.page("F", a="x")
    assert page.panel.form is not None
    service.goes.clear()
    page.panel.run()
    page.panel.form["a"] = "y"
    service.goes.set()
    frame = page.panel.result(60)
    wait_until(lambda: page.state("_values")["changed"])
    page.panel.form["a"] = "x"
    wait_until(lambda: not page.state("_values")["changed"])
    service.runs = lambda: httpx.Response(
        200, json={"error": "it <failed>", "body": None}
    )
    page.panel.run()
    with pytest.raises(jf.FunctionError):
        page.panel.result(60)
    wait_until(lambda: state(page.panel)["state"] == "failed")
    assert "it <failed>" in state(page.panel)["error"]["what"]
    assert frame_of(page.panel) is frame
    assert state(page.panel)["result"]["number"] == 1


def test_a_run_without_a_result_is_not_opened(service: Service) -> None:
    """The history says why there is no result, and shows the form with the arguments of the run."""
    page = service.page("F", a="x")
    service.runs = lambda: httpx.Response(200, json={"error": "no", "body": None})
    page.panel.run()
    with pytest.raises(jf.FunctionError):
        page.panel.result(60)
    page.ask("clear")
    number = page.ask("history")["rows"][0]["number"]
    assert (
        page.ask("open", number=number)["error"][0]
        == f"Run {number} has no result: failed."
    )
    assert (page.args, state(page.panel)["result"]) == ({"a": "x"}, None)


@pytest.mark.parametrize(
    "sent", ["yoyo", ["QoQ", "yoyo"], {"each": ["yoyo", "x"]}], ids=str
)
def test_a_refusal_comes_with_what_would_fix_it(service: Service, sent: Any) -> None:
    """The banner offers the option nearest to the value that the service names, also among several values."""
    params = [{"name": "g", "description": "A list. Options are 'YoY', 'QoQ'."}]
    service.listing = [{"name": "F", "params": params}]
    service.runs = lambda: httpx.Response(
        200, json={"error": "There is no growth 'yoyo'.", "body": None}
    )
    page = service.page("F")
    page.ask("run", seq=1, values={"g": sent}, confirmed=False)
    wait_until(lambda: state(page.panel)["state"] == "failed")
    assert state(page.panel)["error"]["fixes"] == [
        {"field": "g", "text": "Use YoY", "use": "YoY", "instead": "yoyo"}
    ]


def test_a_press_on_its_way_is_waited_for(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`result()` in a cell after a press on the page returns that run, though its request hasn't started it yet."""
    page = service.page("F", a="1")
    page.run()
    read = requests.read

    def slow(content: object) -> Any:
        time.sleep(0.2)  # of the loop
        return read(content)

    monkeypatch.setattr(requests, "read", slow)
    service.runs = lambda: httpx.Response(200, json=[{"a": 2}])
    page.panel._receive(
        None,
        {
            "v": 1,
            "id": 9,
            "kind": "run",
            "seq": 2,
            "values": {"a": "2"},
            "confirmed": False,
        },
        [],
    )
    assert list(page.panel.result(60)["a"]) == [2]


@pytest.mark.slow
def test_a_sweep_shows_what_failed_and_asks_about_very_many_runs(
    funcs: Session,
) -> None:
    """Failed runs are listed with reasons; if all fail, the previous result stays; many runs need a confirmation."""
    page = Page(
        funcs["Get Panel Daily"].with_options(most_runs=2).panel(PanelName=PANEL)
    )
    values = {"PanelName": PANEL, "Symbol": {"each": [SYMBOL, "NOPE US EQUITY"]}}
    assert page.ask("run", seq=1, values=values, confirmed=False)["asks"] == ""
    with pytest.warns(UserWarning, match="1 of 2 runs"):  # where a program takes it
        frame = page.panel.result(60)
    run = state(page.panel)
    assert (run["partial"]["failed"], run["partial"]["of"]) == (1, 2)
    assert run["partial"]["rows"][0]["label"].endswith("NOPE US EQUITY")
    values["Symbol"] = {"each": ["NOPE US EQUITY", "NEVER US EQUITY"]}
    page.ask("run", seq=2, values=values, confirmed=False)
    wait_until(lambda: state(page.panel)["state"] == "failed")
    assert frame_of(page.panel) is frame
    values["Symbol"] = {"each": [SYMBOL, "BVQS US EQUITY", "CLQM US EQUITY"]}
    assert (
        "This is 3 runs, more than 2."
        in page.ask("run", seq=3, values=values, confirmed=False)["asks"]
    )
    assert page.panel.form is not None
    assert page.panel.form["Symbol"] == Each(
        (SYMBOL, "BVQS US EQUITY", "CLQM US EQUITY")
    )
    assert page.ask("run", seq=4, values=values, confirmed=True)["asks"] == ""
    assert len(page.panel.result(60)["Symbol"].unique()) == 3
    page.panel.close()


def test_many_values_are_sent_when_they_change_and_not_with_each_key(
    service: Service,
) -> None:
    """The page reads all 10,000; messages about another field are short, and a reload has all values."""
    page = service.page("F")
    values = {"each": [str(at) for at in range(10_000)]}
    page.ask("set", seq=1, field="a", value=values)
    page.sent.clear()
    page.panel._send = lambda message, **_: page.sent.append(message)
    page.ask("set", seq=2, field="b", value="x")
    assert [sorted(message.get("state", {})) for message in page.sent] == [
        [],
        ["_values"],
    ]
    assert sum(len(json.dumps(message)) for message in page.sent) < 1_000
    before = page.state("_values")["fields"]["a"]["value"]
    assert page.state("_long")["a"]["value"] == values
    values["each"][5] = "other"
    page.ask("set", seq=3, field="a", value=values)
    assert page.state("_values")["fields"]["a"]["value"] != before
    assert page.state("_long")["a"]["value"] == values


# The variable of a result


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """An IPython shell for the test."""
    with interactive_shell() as shell:
        yield shell


def code_of(page: Page, number: int) -> str:
    return str(page.ask("table_code", run=number, query={})["code"])


def test_a_renamed_variable_is_named_everywhere(
    shell: InteractiveShell, service: Service
) -> None:
    """The result, the table's code and the saved output name the new one; the old one is gone from the notebook."""
    page = service.page("F")
    number = page.run()
    assert state(page.panel)["result"]["variable"] == "f"
    assert page.ask("rename", name="spend", replace=False)["note"] == "f is now spend."
    assert "f" not in shell.user_ns
    assert shell.user_ns["spend"] is frame_of(page.panel)
    assert state(page.panel)["result"]["variable"] == "spend"
    assert code_of(page, number).startswith("spend")
    assert "<code>spend</code>" in page.panel._state.still_html()
    assert page.run() == number + 1
    assert shell.user_ns["spend"] is frame_of(page.panel)
    shell.run_cell("mine = 1")
    assert page.ask("rename", name="mine", replace=False)["exists"]
    assert "error" in page.ask("rename", name="class", replace=False)
    assert shell.user_ns["mine"] == 1


def test_a_ticker_alone_is_the_same_run_as_its_listed_symbol(
    shell: InteractiveShell, funcs: Session
) -> None:
    """The named result is refreshed, and neither it nor the cell is said to differ; another company isn't the same."""
    ticker = {"PanelName": PANEL, "Symbol": SYMBOL.partition(" ")[0]}
    page = Page(funcs.panel("Get Panel FQ", **ticker))
    function = page.panel._state.chosen.function
    background.run(function.choices(page.panel.form.field("Symbol"), ticker))
    page.run(**ticker)
    name = state(page.panel)["result"]["variable"]
    page.ask("rename", name="mine", replace=False)
    page.ask("update_cell", output="mine")
    page.ask("set", seq=2, field="Symbol", value=SYMBOL)
    values = page.state("_values")
    assert (values["changed"], values["differs"]) == (False, False)
    page.run(Symbol=SYMBOL)
    assert state(page.panel)["result"]["variable"] == "mine"
    page.run(Symbol="MCHQ US EQUITY")
    assert state(page.panel)["result"]["variable"] == name
    assert page.state("_values")["differs"]
    page.panel.close()


MUCH = {"filters": [{"kind": "range", "at": 0, "low": "2", "high": ""}]}
TWICE = [{"kind": "column", "name": "twice", "expression": "a * 2"}]


@pytest.mark.parametrize(
    ("query", "steps"), [(MUCH, []), ({}, TWICE), (MUCH, TWICE), ({}, [])]
)
def test_the_code_of_a_view_makes_the_variable_that_it_became(
    shell: InteractiveShell, service: Service, query: Any, steps: Any
) -> None:
    """So that Run All has it: filtered, computed, both or neither; other views have no name."""
    service.runs = lambda: httpx.Response(200, json=[{"a": a} for a in range(4)])
    page = service.page("F")
    number = page.run()
    of_view = {"run": number, "query": query, "steps": steps}
    taken = page.ask("assign", **of_view, name="f", replace=False)
    assert taken["exists"]
    assert "view" not in page.ask("table_code", **of_view)["code"]
    said = page.ask("assign", **of_view, name="view", replace=False)["said"]
    assert said == "view holds the table as it is shown."

    frame = shell.user_ns.pop("view")
    code = page.ask("table_code", **of_view)["code"]
    assert code.endswith("\nview")
    assert "df" not in code
    shell.run_cell(code).raise_error()
    pd.testing.assert_frame_equal(shell.user_ns["view"], frame, check_dtype=False)
    assert "view" not in code_of(page, number) or not (query or steps)


@pytest.mark.parametrize("code", ["mine = f", "mine = 1", "mine = call(a=1)"])
def test_a_rename_deletes_no_variable_that_a_person_made(
    shell: InteractiveShell, service: Service, code: str
) -> None:
    """It keeps the result: another name of the result, a replaced variable, or the variable of an opened run."""
    page = service.page("F")
    page.run()
    shell.push({"call": page.panel._state.session.f})
    shell.run_cell(code)
    if "call" in code:
        page.ask("open", number=2)
    else:
        assert page.ask("rename", name="mine", replace=True)["variable"] == "mine"
        assert "f" not in shell.user_ns
    assert state(page.panel)["result"]["variable"] == "mine"
    assert page.ask("rename", name="g", replace=False)["note"] == ""
    assert shell.user_ns["mine"] is shell.user_ns["g"] is frame_of(page.panel)
    assert page.ask("rename", name="h", replace=False)["note"] == "g is now h."
    assert "g" not in shell.user_ns


def test_a_variable_of_a_field_that_a_cell_changes_is_noticed(
    shell: InteractiveShell, service: Service
) -> None:
    """After the cell the page shows its value and what is wrong with it; so does the history."""
    page = service.page("F")
    page.ask("set", seq=1, field="a", value="$lookback")
    assert not page.state("_values")["valid"]
    shell.run_cell("lookback = 2")
    wait_until(lambda: page.state("_values")["valid"])
    ran = state(page.panel)["ran"]
    shell.push({"call": page.panel._state.session.f})
    shell.run_cell("call(a=1)")
    wait_until(lambda: state(page.panel)["ran"] == ran + 1)
    assert page.state("_values")["fields"]["a"]["value"]["about"] == "2"


@pytest.mark.parametrize("code", ["del f", "f = 5"])
def test_a_variable_that_a_person_took_back_is_not_named(
    shell: InteractiveShell, service: Service, code: str
) -> None:
    """After the cell the page says that it no longer holds the result; its code takes the result of the panel."""
    page = service.page("F")
    number = page.run()
    shell.run_cell(code)
    wait_until(lambda: state(page.panel)["result"]["variable"] == "")
    assert state(page.panel)["result"]["note"] == "f no longer holds this result."
    assert state(page.panel)["result"]["lost"] == "f"
    assert code_of(page, number).startswith("df = panel.result()")
    assert "<code>f</code>" not in page.panel._state.still_html()
    again = page.ask("rename", name="f", replace=False)  # the offer to assign it again
    assert (again["variable"], again["exists"]) == (
        ("", True) if "5" in code else ("f", False)
    )
    assert (shell.user_ns["f"] is page.panel.result()) is not again["exists"]
    assert state(page.panel)["result"]["lost"] == "f" * again["exists"]
    page.run()
    assert state(page.panel)["result"]["variable"] == ("f_2" if "5" in code else "f")
    page.panel.close()
    assert (
        page.panel._state.look_at_variables
        not in shell.events.callbacks["post_run_cell"]
    )


@pytest.mark.parametrize("code", ["f['a'] = 0", "f['more'] = 1"])
def test_a_variable_that_a_cell_changed_falsifies_nothing(
    shell: InteractiveShell,
    service: Service,
    code: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Save, the history, `panel.result()` and the saved output have the reply, and the panel says that it shows it."""
    monkeypatch.chdir(tmp_path)
    page = service.page("F")
    number = page.run()
    came = page.panel.result().copy()
    file = {"format": "csv", "replace": False, "filtered": None, "download": False}
    assert page.ask("save", run=number, **file, name="before")["said"]
    still = page.panel._state.still_html()
    shell.run_cell(code)
    wait_until(lambda: state(page.panel)["result"]["lost"] == "f")
    note = "f was changed in the notebook; the panel shows the reply."
    assert (
        state(page.panel)["result"]["variable"],
        state(page.panel)["result"]["note"],
    ) == (
        "",
        note,
    )
    assert page.ask("save", run=number, **file, name="after")["said"]
    assert (tmp_path / "after.csv").read_bytes() == (
        tmp_path / "before.csv"
    ).read_bytes()
    assert code_of(page, number).startswith("df = panel.result()")
    pd.testing.assert_frame_equal(page.panel.result(), came)
    kept = page.panel._state.still_html()
    assert kept == still.replace("<br>The DataFrame was kept as <code>f</code>.", "")
    changed = shell.user_ns["f"]
    assert page.ask("rename", name="f", replace=False)["exists"]
    assert shell.user_ns["f"] is changed
    assert page.ask("rename", name="f", replace=True)["variable"] == "f"
    pd.testing.assert_frame_equal(shell.user_ns["f"], came)
    assert state(page.panel)["result"]["note"] == ""
    shell.run_cell("f['a'] = 2")
    wait_until(lambda: state(page.panel)["result"]["lost"] == "f")
    page.run()
    assert state(page.panel)["result"]["variable"] == "f"
    page.panel.close()


# Closing


def test_a_closed_panel_says_so_and_keeps_its_result(service: Service) -> None:
    """No model is left, even during a run; no request is answered; methods that need the page say so; results stay."""
    session = service.connect()
    _ = session.catalog
    before = set(_instances)
    page = Page(panel := session.panel("F"))
    panel.run()
    frame = panel.result(60)
    service.goes.clear()
    job = panel.run()
    panel.close()
    panel.close()
    with pytest.raises(jf.RunCancelledError):
        job.result(60)
    assert set(_instances) == before
    page.sent.clear()
    background.run(panel._answer({"v": 1, "id": 1, "kind": "hello"}))
    assert page.sent == []
    with pytest.raises(jf.ArgumentError, match="This panel is closed"):
        panel.run()
    assert frame_of(panel) is frame
    assert repr(panel).endswith("F (closed)>")


def test_a_cell_that_is_run_again_closes_its_earlier_panels(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But neither one that another cell shows, nor one of another cell."""

    def in_cell(name: str, execution: int) -> None:
        monkeypatch.setattr(
            notebook, "this_cell", lambda: notebook.Cell(name, execution)
        )

    session = service.connect()
    in_cell("here", 1)
    earlier = session.panel("F")
    elsewhere = session.panel("F")
    in_cell("there", 2)
    elsewhere._ipython_display_()
    other = session.panel("F")
    in_cell("here", 3)
    latest = [session.panel("F"), session.panel("F")]
    assert earlier.comm is None
    assert all(panel.comm is not None for panel in (elsewhere, other, *latest))
    for panel in (elsewhere, other, *latest):
        panel.close()


# Saved output


@pytest.mark.slow
def test_the_saved_output_is_a_page_without_script_or_token(funcs: Session) -> None:
    """Summary, short table and chart as SVG; nbconvert shows them without the widget's half."""
    page = Page(funcs.panel("Get Panel Daily", **DAILY))
    number = page.run()
    wish = {"run": number, "wish": {}, "low": None, "high": None, "query": {}}
    assert page.ask("chart", **wish)["series"]
    html = page.panel._state.still_html()
    for text in (
        "<b>Get Panel Daily</b>",
        f"Symbol = {SYMBOL}",
        "1,826 rows × 7 columns",
        "<svg",
        "<table",
    ):
        assert text in html
    assert "<script" not in html
    assert not re.search(r"\bon\w+=|javascript:|data-jf", html)
    bundles = [page.panel._repr_mimebundle_()[0], {"text/html": html}]
    outputs = [nbformat.v4.new_output("display_data", bundle) for bundle in bundles]
    saved = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("panel", outputs=outputs)]
    )
    body, _ = HTMLExporter().from_notebook_node(saved)
    for text in ("1,826 rows × 7 columns", "<svg", PANEL):
        assert text in body
    page.panel.close()


@pytest.mark.fault(73)
def test_markup_is_text_in_the_saved_output(answering: Callable[..., Session]) -> None:
    """Names, arguments, columns, cells and chart labels create neither elements nor attributes."""
    bad = "<script>alert(1)</script><img src=x onerror='alert(1)'> \"><a href='javascript:alert(1)'>a</a>"
    rows = [{"Date": f"2024-01-0{day}", bad: bad, "n": day} for day in (1, 2)]

    session = answering(
        lambda _: httpx.Response(200, json=rows),
        listing=[{"name": bad, "description": bad, "params": [{"name": "a"}]}],
    )
    page = Page(session.panel(bad, a=bad))
    page.ask(
        "chart",
        run=page.run(a=bad),
        wish={"colour": bad},
        low=None,
        high=None,
        query={},
    )
    html = page.panel._state.still_html()
    assert "<svg" in html
    assert "&lt;script&gt;" in html
    assert not re.search(r"<(script|img|a)\b|<[^>]* (onerror|href)=", html)
    page.panel.close()

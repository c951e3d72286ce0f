"""The widget without a page: what it sends for each request, what it refuses, and what remains afterwards."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import io
import json
import threading
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from jupyter_funcs.core import background
from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.panel import form_view
from jupyter_funcs.panel.panel import Panel
from tests.conftest import PANEL, tasks, wait_until
from tests.panel.conftest import DAILY
from tests.panel.page import Page

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_funcs.api import Session


def test_an_empty_panel_offers_functions_in_few_bytes(page: Page) -> None:
    """It opens with nothing chosen and the functions of the catalog, in 15 kB without the script."""
    view = page.state("_view")
    assert view["function"] is None
    assert "Get Panel Daily" in [card["name"] for card in view["start"]["cards"]]
    assert page.state("_run")["state"] == "empty"
    assert (
        sum(
            len(getattr(page.panel, name))
            for name in ("_view", "_service", "_options", "_values", "_run", "_result")
        )
        < 15_000
    )
    with pytest.raises(ArgumentError, match="no function is chosen"):
        page.panel.run()


def test_a_run_shows_the_frame_of_the_call(page: Page, funcs: Session) -> None:
    """Choose, fill in and run: the first page, sorted rows and the saved file equal the call's."""
    page.ask("choose", function="get_panel_daily")
    number = page.run(**DAILY)
    frame = funcs.get_panel_daily(**DAILY)
    pd.testing.assert_frame_equal(page.panel.result(60), frame)
    run = page.state("_run")
    assert run["state"] == "done"
    assert run["result"]["summary"].startswith(
        f"{len(frame):,} rows × {frame.shape[1]} columns · "
    )
    highest = frame.sort_values("Spend", ascending=False).head(3)
    at = list(frame.columns).index("Spend")
    query = {"sort": [{"at": at, "descending": True}]}
    rows = page.ask(
        "rows", run=number, columns=[at], query=query, **{"from": 0, "to": 3}
    )["rows"]
    assert rows == [[f"{value:,.2f}"] for value in highest["Spend"]]
    for window in ({"from": 0, "to": 5_000}, {"from": 9, "to": 5}):
        assert (
            "at most 1,000 rows"
            in page.ask("rows", run=number, columns=[at], query=query, **window)[
                "error"
            ][0]
        )
    saved = page.ask(
        "save",
        run=number,
        format="csv",
        name="x.csv",
        replace=False,
        filtered=query,
        download=True,
    )
    read = pd.read_csv(io.BytesIO(base64.b64decode(saved["data"])))
    assert list(read["Spend"].head(3)) == pytest.approx(
        [float(value) for value in highest["Spend"]]
    )
    assert list(read.columns) == list(frame.columns), "row numbers are no column"


def test_a_chart_is_drawn_once(page: Page) -> None:
    """A second request with the same wish, rows and zoom, as when its tab is shown again, returns the same chart."""
    page.ask("choose", function="get_panel_daily")
    fields = {"run": page.run(**DAILY), "wish": {}, "low": None, "high": None}
    visit = page.panel._state.chosen
    first = page.ask("chart", query={}, **fields), visit.result and visit.result.picture
    second = (
        page.ask("chart", query={}, **fields),
        visit.result and visit.result.picture,
    )
    assert first[0]["series"] == second[0]["series"] != []
    assert first[1] is second[1]
    page.ask("chart", query={"find": "2024-03"}, **fields)
    assert visit.result is not None
    assert visit.result.picture is not first[1]


def settle(page: Page) -> None:
    """Wait until the options that depend on the values are listed."""
    sources = page.panel._state.chosen.inputs._sources.values()
    wait_until(lambda: not any(source.asking for source in sources))
    wait_until(lambda: tasks() == 0)


def test_a_short_run_takes_few_messages(page: Page) -> None:
    """At most six messages and 20 kB for a run, with the table's first page and summaries."""
    page.ask("choose", function="get_panel_daily")
    page.run(**DAILY)
    settle(page)
    states: list[str] = []
    page.panel.observe(
        lambda change: states.append(change["new"]),
        names=["_view", "_service", "_options", "_values", "_run", "_result"],
    )
    before = len(page.sent)
    page.run(**DAILY)
    sent = [*states, *(json.dumps(message) for message in page.sent[before:])]
    assert len(sent) + 1 <= 6  # the request itself
    assert sum(map(len, sent)) <= 20_000


def test_what_changes_nothing_publishes_nothing(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages of the table, a greeting and a search write no trait; the chosen tab is sent with its content."""
    page.ask("choose", function="get_panel_daily")
    number = page.run(**DAILY)
    settle(page)
    published: list[str] = []
    monkeypatch.setattr(
        page.panel, "_publish", lambda: published.append(page.panel._state.tab)
    )
    window = {"run": number, "columns": [0], "query": {}, "from": 0, "to": 5}
    for kind, fields in (
        ("rows", window),
        ("hello", {}),
        ("functions", {"query": "fq"}),
    ):
        assert "error" not in page.ask(kind, **fields)
    assert published == []
    page.ask("json", run=number, path=[], tab="json", **{"from": 0})
    page.ask("tab", tab="table")
    assert published == ["json", "table"]


def test_the_tab_that_was_clicked_last_stays_however_long_another_takes(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example, if the user leaves a large chart while it is computed."""
    page.ask("choose", function="get_panels")
    number = page.run()
    settle(page)
    begun = threading.Event()
    go = threading.Event()
    answer_to = Panel._answer_to

    async def slow(panel: Panel, kind: Any, fields: Any) -> Any:
        if kind.method == "node":
            begun.set()
            await asyncio.to_thread(go.wait, 60)
        return await answer_to(panel, kind, fields)

    monkeypatch.setattr(Panel, "_answer_to", slow)
    tree = {"kind": "json", "run": number, "path": [], "from": 0, "tab": "json"}
    late = background.start(page.panel._answer({"v": 1, "id": 99, **tree}))
    assert begun.wait(60)
    page.ask("tab", tab="table")
    go.set()
    background.wait(late, 60)
    assert page.panel._state.tab == page.panel._tab == "table"


def test_a_result_is_sent_once(page: Page) -> None:
    """The start, progress and errors of the next run leave the previous result as it is."""
    page.ask("choose", function="get_panel_daily")
    page.run(**DAILY)
    settle(page)
    results: list[str] = []
    page.panel.observe(lambda change: results.append(change["new"]), names="_result")
    page.run(PoPGrowth="Yes")
    settle(page)
    assert [json.loads(text)["result"]["number"] for text in results] == [2]


def test_another_function_takes_three_messages(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request, its reply and one update with all changes; values that are carried over need no request."""
    monkeypatch.setattr(form_view, "_PAUSE", 0.0)

    def fill() -> None:
        for name, value in DAILY.items():
            page.ask("set", seq=1, field=name, value=value)

    for name in ("get_panel_fq", "get_panel_daily"):  # so that their options are listed
        page.ask("choose", function=name)
        fill()
        settle(page)
    for name in ("get_panel_fq", "get_panel_daily"):
        page.ask("choose", function=name)
        page.ask("clear")
    fill()
    wait_until(lambda: tasks() == 0)
    page.sent.clear()
    page.panel._send = lambda message, **_: page.sent.append(message)
    page.ask("choose", function="get_panel_fq")
    wait_until(lambda: tasks() == 0)
    assert page.state("_values")["fields"]["Symbol"]["carried"]
    assert [message.get("method", "reply") for message in page.sent] == [
        "reply",
        "update",
    ]
    assert {"_view", "_values"} <= set(page.sent[1]["state"])


def test_the_value_that_was_entered_last_counts_in_every_function(page: Page) -> None:
    """Also to one that was opened before, by way of one without the field; several values aren't carried over."""

    def choose(function: str, **values: Any) -> dict[str, Any]:
        page.ask("choose", function=function)
        for name, value in values.items():
            page.ask("set", seq=1, field=name, value=value)
        return page.args

    choose("get_panel_fq", Symbol="NVRA US EQUITY", PeriodToDate="Yes")
    choose("get_panel_daily", Symbol="BVQS US EQUITY", PoPGrowth="Yes")
    choose("get_panels")
    args = choose("get_panel_fq")
    assert args == {
        "Symbol": "BVQS US EQUITY",
        "PeriodToDate": "Yes",
        "PoPGrowth": "Yes",
    }
    fields = page.state("_values")["fields"]
    assert [name for name in args if fields[name].get("carried")] == [
        "Symbol",
        "PoPGrowth",
    ]
    assert choose("get_panel_daily") == {"Symbol": "BVQS US EQUITY", "PoPGrowth": "Yes"}
    assert (
        "carried" not in page.state("_values")["fields"]["Symbol"]
    )  # this form's own value
    both = ["KORD US EQUITY", "MCHQ US EQUITY"]
    choose("get_panel_daily", Symbol={"each": both})
    assert choose("get_panel_fq")["Symbol"] == both[0]
    assert choose("get_panel_daily")["Symbol"] == both
    choose("get_panel_daily", Symbol=None)
    assert choose("get_panel_fq")["Symbol"] == both[0]  # no value was entered later
    assert choose("get_kpis")["Symbol"] == both[0]


def test_a_form_says_whether_its_cell_names_it(funcs: Session) -> None:
    """By its values and in any wording; a cell that names nothing has no form, and only the magic has a line."""
    page = Page(
        funcs.panel("Get Panel Daily", Symbol=["BVQS US EQUITY", "NVRA US EQUITY"])
    )

    def told() -> tuple[bool, bool, str]:
        values = page.state("_values")
        return page.state("_view")["cell"]["names"], values["differs"], values["line"]

    assert told() == (True, False, "")
    page.panel.recipe = "df = %funcs result"
    page.ask("set", seq=1, field="PanelName", value=PANEL)
    line = f'get_panel_daily PanelName="{PANEL}" Symbol=["BVQS US EQUITY", "NVRA US EQUITY"]'
    assert told() == (True, True, line)
    page.ask("set", seq=2, field="PanelName", value=None)
    assert not told()[1]
    page.ask(
        "set", seq=3, field="Symbol", value={"each": [f"S{at}" for at in range(1_000)]}
    )
    assert told() == (True, True, "")  # too long for a cell
    page.ask("choose", function="get_panels")
    assert told() == (True, True, "get_panels")  # the cell names another function
    page.panel.close()


def test_a_new_status_of_the_service_goes_alone(page: Page) -> None:
    """The account and the token's remaining time are sent without the whole view."""
    background.run(page.panel._state.look())
    sent: list[dict[str, Any]] = []
    page.panel._send = lambda message, **_: sent.append(message)
    header = page.panel._state.header

    async def change() -> tuple[list[list[str]], str]:
        """Change the status on the loop, so that no other reading of it comes between."""
        sent.clear()
        header.status = dataclasses.replace(header.status, user="someone else")
        page.panel._publish()
        return [sorted(message["state"]) for message in sent], page.state("_service")[
            "account"
        ]

    assert background.run(change()) == ([["_service"]], "someone else")


def test_a_missing_value_is_said_at_its_field(page: Page) -> None:
    """A run without a required value is refused with its name, and the service gets no request."""
    page.ask("choose", function="get_panel_daily")
    page.ask("run", seq=1, values={}, confirmed=False)
    values = page.state("_values")
    assert (values["valid"], values["missing"]) == (False, ["PanelName"])
    assert values["fields"]["PanelName"]["errors"]
    assert page.state("_run")["state"] == "form"
    with pytest.raises(ArgumentError):
        page.panel.result(60)


def test_of_two_runs_the_last_is_shown_and_both_are_compared(page: Page) -> None:
    """Requests about the earlier result are refused; the history has both runs."""
    page.ask("choose", function="get_panel_daily")
    number = page.run(**DAILY)
    assert page.run(PoPGrowth="Yes") == number + 1
    reply = page.ask("rows", run=number, columns=[0], query={}, **{"from": 0, "to": 1})
    assert reply["error"] == [
        "This result is no longer shown: another run has ended since."
    ]
    rows = page.ask("history")["rows"]
    assert rows[0]["differs"] == [{"name": "PoP Growth", "value": "Yes"}]
    compared = page.ask(
        "compare",
        before=rows[1]["number"],
        after=rows[0]["number"],
        again=False,
        **{"from": 0},
    )
    assert [argument["name"] for argument in compared["args"]] == ["PoP Growth"]


ELSEWHERE = [
    "../x.csv",
    "/x.csv",
    "a\\x.csv",
    "..",
    ".",
    "",
    "C:x.csv",
    "x\0.csv",
    "NUL.csv",
    "com1",
    ".bashrc",
    "x\n.csv",
    "a?",
]


def test_a_file_is_saved_beside_the_notebook_only(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only as a plain file name: no folder, drive, device, hidden file or link; files are replaced only on request."""
    inside = tmp_path / "inside"
    outside = tmp_path / "outside.csv"
    inside.mkdir()
    monkeypatch.chdir(inside)
    page.ask("choose", function="get_panels")
    fields = {
        "run": page.run(),
        "format": "csv",
        "replace": True,
        "filtered": None,
        "download": False,
    }
    for name in ELSEWHERE:
        assert (
            "not a file name without a folder"
            in page.ask("save", name=name, **fields)["error"][0]
        ), name
    assert "too long" in page.ask("save", name="x" * 300, **fields)["error"][0]
    (inside / "link.csv").symlink_to(outside)
    assert page.ask("save", name="link.csv", **fields | {"replace": False})["exists"]
    assert "is a link" in page.ask("save", name="link.csv", **fields)["error"][0]
    (inside / "folder.csv").mkdir()
    assert page.ask("save", name="folder.csv", **fields)["error"]
    # The format decides the suffix.
    assert page.ask("save", name="evil.py", **fields)["name"] == "evil.py.csv"
    (inside / "evil.py.csv").write_text("mine")
    assert page.ask("save", name="evil.py", **fields | {"replace": False})["exists"]
    assert (inside / "evil.py.csv").read_text() == "mine"
    assert page.ask("save", name="evil.py", **fields)["said"].startswith(
        "Saved evil.py.csv · 2 rows · "
    )
    few = {
        "sort": [],
        "filters": [{"at": 0, "kind": "text", "text": "debit"}],
        "find": "",
        "hidden": [],
    }
    assert (
        " · 1 of 2 rows · "
        in page.ask("save", name="evil.py", **fields | {"filtered": few})["said"]
    )
    assert (inside / "evil.py.csv").read_text().startswith("PanelName")
    pivot = {"kind": "pivot", "rows": ["ProviderName"], "how": "count"}
    table = {"name": "pivot", "steps": [pivot], "filtered": few | {"filters": []}}
    message = page.ask("save", **fields | table)["said"]
    assert message.startswith("Saved pivot.csv · 1 row · "), message
    (inside / "pivot.csv").unlink()
    assert sorted(path.name for path in inside.iterdir()) == [
        "evil.py.csv",
        "folder.csv",
        "link.csv",
    ]
    assert not outside.exists()


def test_a_visitor_touches_no_file_variable_or_preset(
    funcs: Session, tmp_path: Path
) -> None:
    """Requests that reach beyond the form are refused if the page isn't trusted."""
    page = Page(Panel(funcs, funcs["Get Panels"], trusted=False))
    number = page.run()
    fields = {
        "run": number,
        "format": "csv",
        "name": str(tmp_path / "x"),
        "filtered": None,
        "download": False,
    }
    for kind, request in {
        "save": {**fields, "replace": True},
        "rename": {"name": "x", "replace": True},
        "preset_save": {"name": "x", "replace": True},
        "preset_delete": {"name": "x"},
        "favourite": {"function": "get_panels", "on": True},
        "variables": {"field": "x"},
    }.items():
        assert "trusted=True" in page.ask(kind, **request)["error"][-1]
    page.panel.close()


@pytest.mark.parametrize(
    "content",
    [None, 3, [], "run", {"kind": "run"}, {"v": 1, "id": "x", "kind": "hello"}],
)
def test_what_is_no_request_is_answered_in_words(page: Page, content: object) -> None:
    """The panel survives anything that a page may send."""
    background.run(page.panel._answer(content))
    assert [message for message in page.sent if "re" in message][-1]["error"]
    assert page.ask("hello")["ok"]


def test_requests_that_pile_up_are_refused(page: Page) -> None:
    """While the loop is busy, 200 of 3,000 requests wait and the rest are refused with a message; then it continues."""
    go = threading.Event()
    background.background_loop().call_soon_threadsafe(go.wait, 60)
    for number in range(3_000):
        page.panel._receive(None, {"v": 1, "id": number, "kind": "hello"}, None)
        assert len(page.panel._asked) <= 200
    go.set()
    wait_until(lambda: not page.panel._asked)
    errors = [reply.get("error") for reply in page.sent if "re" in reply]
    refused = ["The panel has too many requests. Wait a moment."]
    assert errors.count(refused) == 2_800
    assert errors.count(None) == 200
    page.sent.clear()
    assert page.ask("hello")["ok"]


def test_a_broken_file_of_presets_leaves_the_panel_usable(page: Page) -> None:
    """The panel opens without presets, says why, and runs."""
    path = page.panel._state.session.presets.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[profile")
    try:
        page.ask("choose", function="get_panels")
        assert page.state("_service")["trouble"]
        assert page.run()
    finally:
        path.unlink()

"""A run in the panel: the failed runs of a sweep are retried alone, and the code of a run can be pasted."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import jupyter_funcs as jf
from jupyter_funcs.catalog.values import Each, Variable
from jupyter_funcs.client import snippets
from jupyter_funcs.core import background
from jupyter_funcs.panel.panel import Panel
from jupyter_funcs.service import embedded
from jupyter_funcs.sweeps import resuming
from tests.conftest import PANEL, wait_until
from tests.panel.page import Page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd

    from jupyter_funcs.api import Session

DAILY = "Get Panel Daily"
SYMBOLS = ["BKQU US EQUITY", "CRVX US EQUITY", "MCHQ US EQUITY"]


class Faulty(httpx.AsyncBaseTransport):
    """The demo's service, which notes the requested symbols and fails for some."""

    def __init__(self) -> None:
        self._demo = httpx.ASGITransport(embedded().app)
        self.asked: list[str] = []
        self.broken: set[str] = set()
        self.held: set[str] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        args = json.loads(request.content).get("Args", {}) if request.content else {}
        if args.get("Dimensions") != ["Brand"] and (symbol := args.get("Symbol")):
            self.asked.append(symbol)
            if symbol in self.held:
                await asyncio.Event().wait()
            if symbol in self.broken:
                return httpx.Response(500, json={"error": "broken"})
        return await self._demo.handle_async_request(request)


@pytest.fixture
def faulty() -> Faulty:
    return Faulty()


@pytest.fixture
def page(faulty: Faulty) -> Iterator[Page]:
    session = jf.connect("http://localhost", token=embedded().token, transport=faulty)
    panel = Panel(session, trusted=True)
    yield Page(panel)
    panel.close()


def swept(page: Page, kind: str, **fields: Any) -> pd.DataFrame:
    """Request a run, and return its result without the warning about failed runs."""
    assert "error" not in page.ask(kind, **fields)
    visit = page.panel._state.visit
    assert visit is not None
    assert visit.job is not None
    assert visit.shown is not None
    background.wait(visit.shown)
    return visit.job.future.result()


ALL = {"PanelName": PANEL, "Symbol": {"each": SYMBOLS}}


@pytest.mark.parametrize("cache", [True, False])
def test_only_the_runs_that_failed_are_asked_again(
    page: Page, faulty: Faulty, cache: bool
) -> None:
    """The others are taken from memory, with and without a cache, and whatever the form now holds."""
    page.panel._state.enter(page.panel._state.session[DAILY].with_options(cache=cache))
    faulty.broken = {SYMBOLS[1]}
    first = swept(page, "run", seq=1, values=ALL, confirmed=False)
    partial = page.state("_run")["partial"]
    assert (partial["failed"], partial["of"], partial["rows"][0]["label"]) == (
        1,
        3,
        SYMBOLS[1],
    )
    assert page.state("_run")["warnings"] == []  # shown once
    page.ask("set", seq=2, field="Symbol", value=SYMBOLS[0])
    faulty.broken = set()
    faulty.asked = []
    frame = swept(page, "retry_failed", rows=[])
    assert faulty.asked == [SYMBOLS[1]]
    assert list(frame["Symbol"].unique()) == SYMBOLS
    assert len(frame) == 3 * len(first) // 2
    assert page.state("_run")["partial"] is None


@pytest.mark.slow
def test_what_fails_again_stays_in_the_list(page: Page, faulty: Faulty) -> None:
    """What is left, all or part of it, is retried again, and the rows of the last retry are kept."""
    page.panel._state.enter(page.panel._state.session[DAILY].with_options(cache=False))
    faulty.broken = set(SYMBOLS[1:])
    swept(page, "run", seq=1, values=ALL, confirmed=False)
    assert "2 failed" in page.ask("retry_failed", rows=[2])["error"][0]
    second = SYMBOLS[1:2]
    third = SYMBOLS[2:]
    for rows, retried, broken in (
        ([], second + third, second + third),
        ([0], second, third),
        ([], third, []),
    ):
        faulty.broken = set(broken)
        faulty.asked = []
        swept(page, "retry_failed", rows=rows)
        assert sorted(faulty.asked) == retried
        partial = page.state("_run")["partial"]
        assert (
            [row["label"] for row in partial["rows"]] == broken
            if broken
            else partial is None
        )


@pytest.mark.slow
@pytest.mark.parametrize("cache", [True, False])
def test_what_a_cancelled_sweep_has_done_can_be_shown(
    page: Page, faulty: Faulty, cache: bool
) -> None:
    """Like a sweep that failed in part, without a request; a retry runs the rest, also after another cancel."""
    page.panel._state.enter(page.panel._state.session[DAILY].with_options(cache=cache))
    assert "another run" in page.ask("so_far")["error"][0]
    faulty.held = {*SYMBOLS[1:]}
    page.ask("run", seq=1, values=ALL, confirmed=False)
    wait_until(lambda: page.panel._state.run_state()["running"]["done"] == 1)
    page.ask("cancel")
    wait_until(lambda: page.state("_run")["state"] == "cancelled")
    assert page.state("_run")["error"]["done"] == 1
    faulty.asked = []
    resuming._interrupted.clear()  # as after another cancelled sweep
    frame = swept(page, "so_far")
    partial = page.state("_run")["partial"]
    assert [row["label"] for row in partial["rows"]] == SYMBOLS[1:]
    assert all("cancelled before" in row["error"] for row in partial["rows"])
    assert (list(frame["Symbol"].unique()), faulty.asked) == (SYMBOLS[:1], [])
    page.ask("retry_failed", rows=[0])
    wait_until(lambda: faulty.asked == SYMBOLS[1:2])
    page.ask("cancel")
    wait_until(lambda: page.state("_run")["state"] == "cancelled")
    assert len(swept(page, "so_far")) == len(frame)
    faulty.held = set()
    faulty.asked = []
    frame = swept(page, "retry_failed", rows=[])
    assert (list(frame["Symbol"].unique()), sorted(faulty.asked)) == (
        SYMBOLS,
        SYMBOLS[1:],
    )


def test_a_function_of_this_process_that_fails_shows_where() -> None:
    """The author's line is in the details; the saved output has no `%funcs panel`, which couldn't open the function."""

    def ratio(a: int, b: int = 0) -> float:
        return a / b

    page = Page(Panel(jf.connect([ratio]), trusted=True))
    page.ask("choose", function="ratio")
    swept(page, "run", seq=1, values={"a": "6", "b": "2"}, confirmed=False)
    assert ">3<" in (still := page.panel._state.still_html())
    assert "%funcs panel" not in still
    page.ask("run", seq=2, values={"b": "0"}, confirmed=False)
    wait_until(lambda: page.state("_run")["state"] == "failed")
    assert "return a / b" in page.state("_run")["error"]["details"]
    page.panel.close()


def test_what_a_saved_notebook_says_is_where_to_connect(page: Page) -> None:
    """The line that opens the panel needs the service's catalog."""
    page.ask("choose", function="Get Panels")
    swept(page, "run", seq=1, values={}, confirmed=False)
    still = page.panel._state.still_html()
    line = "<code>%funcs panel get_panels</code> opens the panel with these values"
    assert f"{line}, after <code>%funcs connect http://localhost</code>." in still


@pytest.fixture
def listing(answering: Callable[..., Session]) -> Session:
    params = [{"name": "PanelName"}, {"name": "Symbol"}]
    return answering(
        lambda _: httpx.Response(200, json=[{"name": DAILY, "params": params}])
    )


def code_of(
    session: Session, variable: str, where: str = "", **values: Any
) -> dict[str, Any]:
    function = session[DAILY]
    form = function.form(**values)
    return {
        block["name"]: block
        for block in snippets.blocks(function, form, where, variable)
    }


def test_rows_that_are_missing_are_said_in_the_panel_and_in_the_cell(
    answering: Callable[..., Session],
) -> None:
    """Each says so once, whichever is first."""

    lines = {"content-type": "application/x-ndjson"}
    reply = httpx.Response(200, content=b'{"id": 1}\n{"id": 2}', headers=lines)
    session = answering(lambda _: reply, listing=[{"name": DAILY, "params": []}])
    panel = Panel(session[DAILY].session, trusted=True)
    page = Page(panel)
    page.ask("choose", function=DAILY)
    with pytest.warns(UserWarning, match="may be missing"):
        page.run()
    assert panel.result(60).shape == (2, 1)  # a warning here would be an error
    [warning] = page.state("_run")["warnings"]
    assert (
        warning == "The end of the reply may be missing: its last line has no line end."
    )
    panel.close()


@pytest.mark.parametrize(
    ("where", "note"),
    [
        ("", "a line of a notebook"),
        ("work", "a line of a notebook, after %funcs connect work"),
        ("[daily_total]", None),
    ],
)
def test_the_magic_of_a_run_says_where_it_works(
    listing: Session, where: str, note: str | None
) -> None:
    """%funcs has its own session, which doesn't have functions that were passed in Python."""
    code = code_of(listing, "df", where, PanelName=PANEL)
    assert (code["magic"]["note"] if "magic" in code else None) == note


def test_the_code_of_a_run_names_the_variable_of_the_panel(listing: Session) -> None:
    """In the magic and in Python it assigns to the panel's variable; it never has a token."""
    code = code_of(listing, "panel_daily", PanelName=PANEL, Symbol="</pre><img src=x>")
    assert code["magic"]["code"].startswith(
        "panel_daily = %funcs call get_panel_daily "
    )
    assert code["python"]["code"].endswith(
        f"panel_daily = funcs.get_panel_daily(\n    PanelName={PANEL!r},\n    Symbol='</pre><img src=x>',\n)"
    )
    assert code["curl"]["code"].startswith("curl -X POST https://service.example/")
    assert "a-token-of-the-tests" not in str(code)
    lines = code_of(listing, "x", Symbol="a\nb")["magic"]["code"]
    assert lines.startswith("%%funcs call get_panel_daily -o x\n")
    assert (
        "Symbol=mine"
        in code_of(listing, "x", Symbol=Variable("mine"))["python"]["code"]
    )
    assert (
        "print"
        not in code_of(listing, "x", Symbol=Variable("x) or print('y'"))["python"][
            "code"
        ]
    )


def test_the_code_of_a_sweep_is_a_sweep_and_its_first_request(listing: Session) -> None:
    """A note says that curl is one of the runs; very many values aren't written out."""
    code = code_of(listing, "df", Symbol=Each(("A", "B")))
    assert (
        code["magic"]["code"] == 'df = %funcs sweep get_panel_daily Symbol=["A", "B"]'
    )
    assert "the first of the runs" in code["curl"]["note"]
    many = code_of(listing, "df", Symbol=Each(tuple(map(str, range(1_001)))))
    assert many["python"]["code"].startswith("# 1,001 values are too many")

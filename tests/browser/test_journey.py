"""The panel as a person meets it: in JupyterLab, in a real browser, against the embedded service."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.steps import (
    CARD,
    DEBIT,
    OPEN,
    SERVICE,
    at,
    box,
    choose,
    fill,
    look,
    pick,
    run,
    run_python,
    save_and_reload,
    wait_for,
)
from tests.conftest import SYMBOL

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from tests.browser.fronts import Front

ROWS = "1,826 rows"
# A row in sight after a long scroll.
PLACE = '[aria-rowindex="20004"] [aria-colindex="1"]'


@pytest.mark.slow
def test_a_person_asks_and_has_an_answer(open_notebook: Callable[..., Page]) -> None:
    """Choose by keys, fill in, fix a mistake, run: the table is in view, and Python has what it shows."""
    page = open_notebook(SERVICE, OPEN)
    wait_for(page, "empty")
    choose(page, "daily", "Get Panel Daily")
    expect(box(page, "PanelName")).to_be_focused()
    # Nothing is red before anything was done.
    expect(at(page, "error:PanelName")).to_have_count(0)
    at(page, "run").click(force=True)
    expect(at(page, "error:PanelName")).to_have_text("Required")
    expect(at(page, "reason")).to_have_text("Missing: Panel Name")
    fill(page, "PanelName", CARD)
    fill(page, "Symbol", SYMBOL.split()[0])
    at(page, "more-options").click()
    fill(page, "PoPLookback", "99")
    expect(at(page, "reason")).to_have_text("Check: PoP Lookback")
    expect(at(page, "error:PoPLookback")).to_be_visible()
    box(page, "PoPLookback").fill("2")
    expect(at(page, "reason")).to_have_count(0)
    page.keyboard.press("Control+Enter")
    wait_for(page, "done", 1)
    expect(at(page, "summary")).to_contain_text(f"{ROWS} × ")
    seen = page.locator('[data-jf="grid"] [aria-rowindex="9"] [role="gridcell"]').first
    expect(seen).to_be_in_viewport(ratio=1)  # without scrolling
    name = at(page, "var-name").inner_text()
    printed = run_python(
        page, f"print(len({name}), panel.form['Symbol'], panel.form['PoPLookback'])"
    )
    assert printed == f"1826 {SYMBOL} 2"


@pytest.mark.slow
def test_the_whole_journey(
    lab: Front, open_notebook: Callable[..., Page], tmp_path: Path
) -> None:
    """Cancel, table, chart, variable, files, presets, history, sweeps; then a reload brings it all back."""
    page = open_notebook(SERVICE, OPEN)
    page.set_viewport_size({"width": 1440, "height": 900})
    wait_for(page, "empty")
    look(page, "journey-01-empty")
    choose(page, "daily", "Get Panel Daily")
    fill(page, "PanelName", DEBIT)
    fill(page, "Symbol", SYMBOL.split()[0])
    run(page, "running")
    expect(at(page, "elapsed")).to_have_text(re.compile(r"[1-9]\.\d s"))
    look(page, "journey-02-running")
    at(page, "cancel").click()
    expect(at(page, "run")).to_be_enabled()
    fill(page, "PanelName", CARD)
    fill(page, "Dimensions", "Region")
    run(page)
    expect(at(page, "summary")).to_contain_text("10,956 rows × ")
    the_table(page)
    the_chart(page)
    the_variable_and_files(page, lab, tmp_path)
    presets_and_history(page)
    sweeps(page)
    save_and_reload(page)
    wait_for(page, "done")
    expect(at(page, "tab:chart")).to_have_attribute("aria-selected", "true")
    expect(page.locator('[data-jf="plot"] svg path').first).to_be_attached()
    at(page, "tab:table").click()
    expect(at(page, "grid").locator(PLACE)).to_be_in_viewport(ratio=1)
    run_python(page, "panel.close()")
    expect(at(page, "panel")).to_have_count(0)
    # The still output.
    expect(page.locator(".jp-OutputArea-output").last).to_contain_text(
        "The DataFrame was kept as"
    )


def the_table(page: Page) -> None:
    """Sorted, found and filtered: of all rows."""
    first = page.locator('[data-jf="grid"] [aria-rowindex="2"] [role="gridcell"]')
    columns = page.locator('[data-jf="grid"] [role="columnheader"] .jf-sort')
    spend = columns.all_inner_texts().index("Spend")
    at(page, "sort:Spend").click()
    expect(page.locator('[aria-sort="descending"]')).to_have_count(1)
    largest = run_python(page, "print(f'{panel.result().Spend.max():,.2f}')")
    expect(first.nth(spend)).to_have_text(largest)
    at(page, "find").fill("Midwest")
    expect(at(page, "row-count")).to_have_text("1,826 of 10,956 rows")
    at(page, "find").fill("")
    expect(at(page, "row-count")).to_have_text("")
    at(page, "filter:Region").click()
    pick(page, "value:Midwest", "value:Pacific")
    expect(at(page, "row-count")).to_have_text("3,652 of 10,956 rows")
    page.keyboard.press("Escape")
    look(page, "journey-03-table")


def the_chart(page: Page) -> None:
    """Two lines of the filtered rows; read under the pointer, zoomed by a drag, shown as growth."""
    at(page, "tab:chart").click()
    expect(page.locator('[data-jf^="legend:"]')).to_have_count(2)
    plot = page.locator('[data-jf="plot"] svg').first
    area = plot.bounding_box()
    assert area is not None
    page.mouse.move(area["x"] + area["width"] / 2, area["y"] + 60)
    expect(at(page, "tooltip")).to_contain_text("Midwest")
    look(page, "journey-04-chart")
    page.mouse.down()
    page.mouse.move(area["x"] + area["width"] * 0.8, area["y"] + 60, steps=4)
    page.mouse.up()
    expect(at(page, "zoom-reset")).to_be_visible()
    at(page, "chart-show").select_option("growth")
    expect(at(page, "unit")).to_contain_text("%")
    look(page, "journey-05-zoomed")
    at(page, "zoom-reset").click()
    expect(at(page, "zoom-reset")).to_have_count(0)


def the_variable_and_files(page: Page, lab: Front, folder: Path) -> None:
    """The variable has a new name and the old one is gone; the rows are beside the notebook, and downloaded."""
    old = at(page, "var-name").inner_text()
    at(page, "var-name").click()
    at(page, "var-name-input").fill("spend")
    page.keyboard.press("Enter")
    expect(at(page, "var-name")).to_have_text("spend")
    assert run_python(page, f"print(len(spend), '{old}' in globals())") == "10956 False"
    pick(page, "save", "save-filtered", "save:csv")
    expect(page.locator(".jf-toast")).to_contain_text("spend.csv")
    assert len((lab.folder / "spend.csv").read_text("utf-8").splitlines()) == 10_957
    pick(page, "save", "save-download")
    with page.expect_download() as download:
        at(page, "save:parquet").click()
    assert download.value.suggested_filename == "spend.parquet"
    download.value.save_as(folder / "spend.parquet")
    assert (folder / "spend.parquet").read_bytes()[:4] == b"PAR1"


def presets_and_history(page: Page) -> None:
    """Values are kept by name and come back; an earlier run is opened, and compared with the latest."""
    pick(page, "presets", "preset-save")
    page.keyboard.type("By region")
    page.keyboard.press("Enter")
    expect(page.locator(".jf-toast")).to_contain_text("By region")
    at(page, "clear").click()
    expect(box(page, "Symbol")).to_have_value("")
    pick(page, "presets", "preset:By region")
    expect(box(page, "Symbol")).to_have_value(SYMBOL)
    fill(page, "Symbol", "BVQS")
    at(page, "run").click()
    expect(at(page, "summary")).to_contain_text("10,956 rows")
    expect(at(page, "changed")).to_have_count(0)
    at(page, "history").click()
    done = page.locator('[data-jf="drawer"] [data-jf^="tick:"]')
    expect(done).to_have_count(2)
    done.nth(0).check()
    done.nth(1).check()
    look(page, "journey-06-history")
    at(page, "compare").click()
    expect(at(page, "compare-args")).to_contain_text("BVQS US EQUITY")
    expect(at(page, "compare-said")).to_contain_text("in both")
    look(page, "journey-07-compare")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(at(page, "drawer")).to_have_count(0)
    expect(at(page, "history")).to_be_focused()


def sweeps(page: Page) -> None:
    """One run for each of all 24 symbols; the one that failed is named, and run again alone."""
    at(page, "field:Symbol").hover()
    pick(page, "field-menu:Symbol", "each-all:Symbol")
    expect(at(page, "run")).to_have_text("Run 24 times")
    at(page, "remove:Dimensions:Region").click()
    at(page, "run").click()
    expect(at(page, "partial")).to_contain_text("23 of 24 runs done")
    at(page, "failed-runs").click()
    expect(at(page, "partial")).to_contain_text("CLQM")
    look(page, "journey-08-partial")
    run_python(page, "lacking.clear()")
    at(page, "retry:CLQM US EQUITY").click()
    expect(at(page, "partial")).to_have_count(0)
    at(page, "tab:table").click()
    expect(at(page, "summary")).to_contain_text("43,774 rows")
    assert run_python(page, "print(panel.result().Symbol.nunique())") == "24"
    at(page, "grid").evaluate("grid => { grid.scrollTop = 28 * 20_000 }")
    expect(at(page, "grid").locator(PLACE)).to_be_in_viewport(ratio=1)
    at(page, "tab:chart").click()
    expect(page.locator('[data-jf="plot"] svg path').first).to_be_attached()
    look(page, "journey-09-sweep")


TYPED = '''import jupyter_funcs as jf
import pandas as pd

def given(limit: int | None = 5, note: str = "x", names: list[str] | None = None) -> pd.DataFrame:
    """What it was called with."""
    return pd.DataFrame({"given": [repr((limit, note, names))]})

panel = jf.connect([given]).panel("given")
panel'''


@pytest.mark.slow
def test_null_and_empty_values_are_sent_from_the_menu(
    open_notebook: Callable[..., Page],
) -> None:
    """By keys: each becomes a chip and an argument; its button clears it, and the box has the focus again."""
    page = open_notebook(TYPED)
    wait_for(page, "form")
    at(page, "more-options").click()
    at(page, "field-menu:limit").press("Enter")
    page.keyboard.press("End")
    page.keyboard.press("ArrowUp")
    expect(at(page, "send:limit:null")).to_be_focused()
    page.keyboard.press("Enter")
    expect(at(page, "constant:limit")).to_have_text("null")
    pick(
        page,
        "field-menu:note",
        "send:note:empty text",
        "field-menu:names",
        "send:names:empty list",
    )
    expect(at(page, "constant:names")).to_have_text("empty list")
    look(page, "constants")
    run(page)
    assert (
        run_python(page, "print(panel.result().given[0])").strip() == "(None, '', [])"
    )
    at(page, "unsend:limit").press("Enter")
    expect(box(page, "limit")).to_be_focused()
    expect(at(page, "constant:limit")).to_have_count(0)
    run(page, number=2)
    assert run_python(page, "print(panel.result().given[0])").strip() == "(5, '', [])"


PAGED = """import json, httpx, jupyter_funcs as jf

parameters = [{"name": "offset", "in": "query", "schema": {"type": "integer", "default": 0}}]
operation = {"operationId": "orders", "parameters": parameters, "responses": {"200": {"description": ""}}}
document = {"openapi": "3.1.0", "info": {"title": "Orders", "version": "1"}, "paths": {"/orders": {"get": operation}}}

def answer(request):
    if request.url.path == "/openapi.json":
        return httpx.Response(200, json=document)
    offset = int(request.url.params.get("offset", 0))
    orders = [{"order": at, "spend": 2.5 * at} for at in range(offset, min(offset + 50, 120))]
    return httpx.Response(200, json={"total": 120, "offset": offset, "orders": orders})

funcs = jf.connect("https://orders.example/openapi.json", transport=httpx.MockTransport(answer))
panel = funcs.panel("orders")
panel"""


@pytest.mark.slow
def test_all_rows_are_one_click_away_from_the_warning(
    open_notebook: Callable[..., Page],
) -> None:
    """The first page says that more follow; the button beside it gets them, as one table."""
    page = open_notebook(PAGED)
    wait_for(page, "form")
    run(page, number=1)
    expect(at(page, "warnings")).to_contain_text("The reply has 50 of 120 rows")
    at(page, "summary").scroll_into_view_if_needed()
    look(page, "paged-1-warning")
    at(page, "all-pages").click()
    wait_for(page, "done", 2)
    expect(at(page, "summary")).to_contain_text("120 rows × ")
    expect(at(page, "warnings")).to_have_count(0)
    at(page, "tab:json").click()
    expect(at(page, "json-empty")).to_contain_text("several replies, one per page")
    at(page, "tab:code").click()
    expect(at(page, "view")).to_contain_text("%funcs call orders --all")
    look(page, "paged-2-all")
    assert run_python(page, "print(len(panel.result()))").strip() == "120"


ASKING = f"""import sys
from jupyter_funcs.api import Session
from jupyter_funcs.connection.profiles import Connection
from jupyter_funcs.connection.secrets import Secret
from jupyter_funcs.connection.tokens import Constant
command = (sys.executable, {str(Path(__file__).parents[1] / "sources" / "mcp_server.py")!r})
funcs = Session(Connection("Travel desk", "", Constant(Secret("x")), kind="mcp", target=command))
panel = funcs.panel("asks")
panel"""


@pytest.mark.slow
def test_what_a_server_asks_is_answered_in_the_panel(
    open_notebook: Callable[..., Page],
) -> None:
    """The form is below the progress; what is wrong is said at its field."""
    pytest.importorskip("mcp", reason="the extra 'mcp' is not installed")
    page = open_notebook(ASKING)
    wait_for(page, "form")
    run(page, "running")
    expect(at(page, "question")).to_contain_text("Travel desk asks")
    at(page, "question:count").fill("9")
    at(page, "question-send").click()
    expect(at(page, "question")).to_contain_text("Your name is required")
    expect(at(page, "question")).to_contain_text("between 1 and 5")
    at(page, "question").scroll_into_view_if_needed()
    look(page, "question")
    at(page, "question:name").fill("Ann")
    at(page, "question:count").fill("3")
    at(page, "question:colour").select_option("blue")
    at(page, "question-send").click()
    wait_for(page, "done", 1)
    assert "Ann" in run_python(page, "print(panel.result().iloc[0, 0])")

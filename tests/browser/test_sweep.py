"""Run for each, under a person's hands: many values in a field, their runs, what failed, and how it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.steps import open_tab, run_python, turn_dark, turn_light, wait_for_state
from tests.browser.test_form import paste
from tests.browser.test_pictures import look

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from tests.browser.fronts import Front

pytestmark = pytest.mark.slow

# The embedded service, whose runs of a panel data set take a moment, and after the fifth do not end until it is let
# go; two go on at a time.
OPEN = """import asyncio, httpx, jupyter_funcs as jf
from jupyter_funcs.service import embedded
inner = embedded()
sent, go_on = [], False
class Slow(httpx.ASGITransport):
    async def handle_async_request(self, request):
        body = await request.aread()
        if b"Get Panel Daily" in body:
            sent.append(body.decode())
            await asyncio.sleep(0.5 if len(sent) <= 5 or go_on else 600)
        return await super().handle_async_request(request)
funcs = jf.connect("https://service.example", token=inner.token, transport=Slow(inner.app))
panel = funcs["Get Panel Daily"].with_options(concurrency=2).panel()
panel"""
PANEL_LABEL = "Demo Card Panel — Synthetic Data Works"
SYMBOLS = [
    "BKQU US EQUITY",
    "BVQS US EQUITY",
    "CLQM US EQUITY",
    "CRVX US EQUITY",
    "NOPE US EQUITY",
    "DGVN US EQUITY",
    "LDQM US EQUITY",
    "PZQN US EQUITY",
]


def sweep_field(page: Page, name: str) -> None:
    page.locator(".jf-each select").select_option(label=name)
    expect(page.locator(".jf-each .jf-tag").filter(has_text=name)).to_be_visible()


def test_a_person_runs_for_each(open_notebook: Callable[..., Page]) -> None:
    """A column is pasted, Run says how often, Cancel keeps what came, Run goes on, and what failed is listed."""
    page = open_notebook(OPEN)
    panels = page.locator(".jf-field-panelname select")
    expect(panels.locator("option")).to_have_count(3, timeout=60_000)
    panels.select_option(label=PANEL_LABEL)
    sweep_field(page, "Symbol")
    lines = page.locator(".jf-field-symbol textarea")
    lines.click()
    paste(page, "\r\n".join(SYMBOLS))
    run = page.locator("button.jf-run")
    expect(run).to_have_text("Run 8 times")
    run.click()
    expect(page.locator(".jf-status")).to_contain_text("of 8 runs", timeout=30_000)
    page.wait_for_function("Number(document.querySelector('.jf-progress')?.value) == 5", timeout=60_000)
    page.locator("button.jf-cancel").click()
    wait_for_state(page, "cancelled", 1)
    expect(page.locator(".jf-status")).to_contain_text("Cancelled after 4 of 8 runs.")
    assert run_python(page, "go_on = True; print(len(sent))") == "7"
    run.click()
    wait_for_state(page, "done", 2)
    status = page.locator(".jf-status")
    expect(status).to_contain_text("from 8 runs")
    expect(status).to_contain_text("from the cache")
    expect(status).to_contain_text("1 of 8 runs failed")
    page.locator(".jf-failed summary").click()
    expect(page.locator(".jf-failed td").first).to_have_text("NOPE US EQUITY")
    # The two that went on as it was cancelled, and the one that fails, are sent twice.
    assert run_python(page, "print(len(sent))") == "11"
    counts = "panel_daily.groupby('Symbol', sort=False).size()"
    assert run_python(page, f"print(list({counts}.index))") == str([name for name in SYMBOLS if name[:4] != "NOPE"])
    open_tab(page, "Code")
    expect(page.locator(".jf-code-tab")).to_contain_text("funcs.get_panel_daily.sweep(")
    expect(page.locator(".jf-code-tab")).to_contain_text("%funcs sweep get_panel_daily")
    open_tab(page, "JSON")
    expect(page.locator(".jf-json-tab")).to_contain_text("Each of these runs had a reply of its own")


def test_several_values_are_reached_by_keyboard(open_notebook: Callable[..., Page]) -> None:
    """Tab and the arrow keys give a field several values, pick them all, and give it one again."""
    page = open_notebook(OPEN)
    expect(page.locator(".jf-field-panelname select option")).to_have_count(3, timeout=60_000)
    page.locator("button.jf-clear").focus()
    page.keyboard.press("Tab")
    expect(page.locator(".jf-each select")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".jf-each .jf-tag")).to_have_text(["One value for PanelName again"])
    picked = page.locator(".jf-field-panelname select")
    picked.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".jf-form .jf-tag")).to_have_count(2)
    assert run_python(page, "print(panel.form.args)") == "{'PanelName': ['Demo Card Panel', 'Demo Debit Panel']}"
    page.locator(".jf-each .jf-tag").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".jf-each .jf-tag")).to_have_count(0)
    expect(page.locator(".jf-each select")).to_be_focused()
    assert run_python(page, "print(panel.form.args)") == "{'PanelName': 'Demo Card Panel'}"


def test_many_values_have_no_serious_finding(
    open_notebook: Callable[..., Page], findings: Callable[[Page], list[str]]
) -> None:
    """The accessibility checker finds nothing serious while a field has several values, and in what failed."""
    page = open_notebook(OPEN)
    expect(page.locator(".jf-field-panelname select option")).to_have_count(3, timeout=60_000)
    sweep_field(page, "PanelName")
    sweep_field(page, "Symbol")
    page.locator(".jf-field-panelname select").select_option(label="Add all 2")
    page.locator(".jf-field-symbol textarea").fill("\n".join(SYMBOLS[3:5]))
    page.keyboard.press("Tab")  # what is typed counts when the field is left
    page.locator("button.jf-run").click()
    wait_for_state(page, "done", 1)
    page.locator(".jf-failed summary").click()
    for turn in (turn_light, turn_dark):
        turn(page)
        assert findings(page) == []


def test_sweeps_in_pictures(fronts: Callable[[str], Front], open_in: Callable[..., Page]) -> None:
    """Several values of each kind, going on, cancelled, and done with a failure: nothing stands out of the panel."""
    page = open_in(fronts("notebook"), OPEN)
    panels = page.locator(".jf-field-panelname select")
    expect(panels.locator("option")).to_have_count(3, timeout=60_000)
    sweep_field(page, "PanelName")
    sweep_field(page, "Symbol")
    sweep_field(page, "Dimensions")
    look(page, "30-each-empty")
    panels.select_option(label="Add all 2")
    page.locator(".jf-field-symbol textarea").fill("\n".join(SYMBOLS))
    page.locator(".jf-add input").fill("spo")
    page.locator(".jf-field-dimensions textarea").fill("Region\nRegion, Agee Group")
    expect(page.locator(".jf-form .jf-bad")).to_have_count(1)
    look(page, "31-each-invalid")
    page.locator(".jf-add input").fill("")
    page.locator(".jf-each .jf-tag").last.click()
    expect(page.locator("button.jf-run")).to_have_text("Run 16 times")
    page.locator("button.jf-run").click()
    page.wait_for_function("Number(document.querySelector('.jf-progress')?.value) == 5", timeout=60_000)
    expect(page.locator(".jf-status")).to_contain_text("left", timeout=30_000)
    look(page, "32-each-running")
    page.locator("button.jf-cancel").click()
    wait_for_state(page, "cancelled", 1)
    look(page, "33-each-cancelled")
    run_python(page, "go_on = True")
    page.locator("button.jf-run").click()
    wait_for_state(page, "done", 2)
    page.wait_for_timeout(1000)
    look(page, "34-each-done")
    page.locator(".jf-failed summary").click()
    open_tab(page, "About")
    page.wait_for_timeout(500)
    look(page, "35-each-failed")

"""The whole journey of a person, in each front end, with no request that leaves this machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.steps import FRESH, STUCK, choose, open_tab, wait_for_state
from tests.conftest import SYMBOL

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from tests.browser.fronts import Front


@pytest.mark.slow
def test_the_whole_journey(front: Front, open_in: Callable[..., Page]) -> None:
    """Choose, fill, fix what a rule says, run, cancel, run, look at each tab, save; then the kernel goes."""
    page = open_in(front, STUCK, FRESH)
    run, cancel = page.locator("button.jf-run"), page.locator("button.jf-cancel")
    choose(page, "daily", "Get Panel Daily")
    expect(run).to_be_disabled()
    expect(page.locator(".jf-summary")).to_have_text("To run: give PanelName.")

    panels = page.locator(".jf-field-panelname select")
    expect(panels.locator("option")).to_have_count(3, timeout=30_000)
    panels.select_option(label="Demo Debit Panel — Synthetic Data Works")
    expect(page.locator(".jf-word", has_text="Give Symbol or Brand.")).to_have_count(2)
    page.locator(".jf-field-symbol input").fill(SYMBOL)
    page.keyboard.press("Tab")
    expect(page.locator(".jf-summary")).to_have_text("")
    expect(page.locator(".jf-word", has_text="Give Symbol or Brand.")).to_have_count(0)
    run.click()
    wait_for_state(page, "running", 1)
    expect(run).to_be_disabled()
    cancel.click()
    wait_for_state(page, "cancelled", 1)

    panels.select_option(label="Demo Card Panel — Synthetic Data Works")
    page.locator(".jf-field-popgrowth select").select_option(label="Yes")
    page.locator(".jf-field-dimensions select").select_option(label="Region")
    expect(page.locator(".jf-tag")).to_have_text(["Remove Region"])
    expect(run).to_be_enabled()
    run.click()
    wait_for_state(page, "done", 2)
    expect(page.locator(".jf-status")).to_contain_text("10,956 rows × 14 columns")

    look_at_each_tab(page)
    page.locator("button.jf-save").click()
    expect(page.locator(".jf-saving [role=status]")).to_contain_text("Saved")
    saved = next(front.folder.glob("get_panel_daily-*.csv"))
    assert len(saved.read_text("utf-8").splitlines()) == 10_957
    saved.unlink()

    if front.kind == "voila":  # has no kernel to restart: its page brings one
        page.reload()
        expect(page.locator(".jf-panel")).to_be_visible(timeout=60_000)
        expect(page.locator(".jf-results")).to_be_hidden()
    else:
        the_kernel_goes(page, front)


def look_at_each_tab(page: Page) -> None:
    """Each tab shows the run, each in its way."""
    open_tab(page, "Table")
    expect(page.locator(".jf-results")).to_contain_text("Region")
    open_tab(page, "Chart")
    expect(page.locator(".jf-results svg:visible")).to_have_count(1, timeout=30_000)
    open_tab(page, "JSON")
    expect(page.locator(".jf-results")).to_contain_text("Spend")
    open_tab(page, "Code")
    expect(page.locator(".jf-results")).to_contain_text("%funcs call get_panel_daily")
    open_tab(page, "About")
    expect(page.locator(".jf-results")).to_contain_text("10,956")
    open_tab(page, "Table")


def the_kernel_goes(page: Page, front: Front) -> None:
    """A restart leaves words on the dead panel; opened anew, the notebook has the result, no state and no script."""
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    dead = page.locator(".jf-panel.jupyter-widgets-disconnected")
    expect(dead).to_be_attached(timeout=30_000)
    assert "bring the panel back" in dead.evaluate("node => getComputedStyle(node, '::before').content")

    path = front.folder / "test_the_whole_journey.ipynb"  # beside those of other tests
    text = path.read_text("utf-8")
    notebook = json.loads(text)
    assert "widgets" not in notebook["metadata"]
    assert "<script" not in text
    assert "eyJ" not in text  # as every token of the service begins
    page.goto(front.address(path.name))
    expect(page.locator("[class^=jf-left]")).to_contain_text("%funcs panel get_panel_daily", timeout=60_000)
    expect(page.locator("[class^=jf-left] tbody tr").first).to_be_visible()

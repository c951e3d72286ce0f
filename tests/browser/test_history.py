"""Presets and the history as a person uses them: by mouse, by keyboard alone, and as pictures to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.steps import open_tab, run_python, wait_for_state
from tests.browser.test_pictures import look

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from tests.browser.fronts import Front

pytestmark = pytest.mark.slow

# A function whose rows differ from run to run, and runs of cells before the panel.
CHANGING = """import os, tempfile, httpx, jupyter_funcs as jf
os.environ["FUNCS_PRESETS"] = tempfile.mkdtemp() + "/presets.toml"
listing = [{"name": "Holdings", "description": "What a fund holds on a day.", "params": [
    {"name": "Fund", "description": "[Required] Which fund.", "schema": {"enum": ["Growth", "Income"]}},
    {"name": "Region", "type": 4, "description": "[Optional] Only these. Options are 'North', 'South'."},
    {"name": "Note", "description": "[Optional] Any text."}]}]
days = []
def answer(request):
    if not request.url.path.endswith("runFunction"):
        return httpx.Response(200, json=listing)
    days.append(1)
    rows = [{"Company": f"Company {at}", "Weight": at + (at % 7 == 0) * (len(days) > 1)}
            for at in range(len(days) > 1, 60 + 2 * (len(days) > 1))]
    return httpx.Response(200, json=rows)
funcs = jf.connect("https://service.example", token="a-token-of-the-tests", transport=httpx.MockTransport(answer))
first = funcs.holdings(Fund="Growth")
try:
    funcs.holdings(Fund="Growt")
except jf.FuncsError as error:
    pass"""
SHOWN = "panel = funcs.panel('Holdings')\npanel"


def test_runs_and_presets_by_mouse(front: Front, open_in: Callable[..., Page]) -> None:
    """A preset is saved and chosen, an earlier run is opened before the first result, run again and compared."""
    page = open_in(front, CHANGING, SHOWN)
    fund = page.locator(".jf-field-fund select")
    fund.select_option(label="Income", timeout=60_000)
    page.locator("button.jf-open-presets").click()
    page.locator(".jf-preset-name input").fill("Quarterly")
    page.locator("button.jf-preset-save").click()
    said = page.locator(".jf-presets [role=status]")
    expect(said).to_have_text("Saved: Quarterly")
    fund.select_option(label="Growth")
    chosen = page.locator(".jf-preset select")
    expect(chosen.locator("option:checked")).to_have_text("Choose…")
    chosen.select_option(label="Quarterly")
    expect(fund.locator("option:checked")).to_have_text("Income")
    page.locator("button.jf-open-history").click()
    runs = page.locator(".jf-runs option")
    expect(runs).to_have_count(1)
    expect(runs.first).to_contain_text("Holdings · 60 rows · ")
    page.locator(".jf-runs select").select_option(index=0)
    expect(page.locator(".jf-run-about")).to_contain_text("held by first")
    page.locator("button.jf-again").click()
    wait_for_state(page, "done", 1)
    expect(fund.locator("option:checked")).to_have_text("Growth")
    expect(page.locator(".jf-table-tab .jf-table tbody tr")).to_have_count(61)
    open_tab(page, "History")
    expect(runs).to_have_count(2)
    page.locator(".jf-runs select").select_option(index=1)
    page.locator("button.jf-compare").click()
    compared = page.locator(".jf-diff [role=status]")
    expect(compared).to_contain_text("2 rows added, 1 removed and 8 changed, of 60 before and 61 after.")
    expect(compared.locator("tbody tr")).to_have_count(11)


def test_runs_and_presets_by_keyboard(
    lab: Front, open_in: Callable[..., Page], findings: Callable[[Page], list[str]]
) -> None:
    """The same with keys alone; the accessibility checker finds nothing serious in either."""
    page = open_in(lab, CHANGING, SHOWN)
    page.locator(".jf-field-fund select").select_option(label="Growth", timeout=60_000)
    page.locator("button.jf-open-presets").focus()
    page.keyboard.press("Enter")
    name = page.locator(".jf-preset-name input")
    expect(name).to_be_visible()
    tab_to(page, ".jf-preset-name input")
    page.keyboard.type("By keys")
    page.keyboard.press("Enter")
    expect(page.locator(".jf-presets [role=status]")).to_have_text("Saved: By keys")
    page.locator("button.jf-open-history").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".jf-runs option")).to_have_count(1)
    tab_to(page, ".jf-runs select")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".jf-run-about")).to_contain_text("Run 1")
    tab_to(page, "button.jf-again")
    page.keyboard.press("Space")
    wait_for_state(page, "done", 1)
    open_tab(page, "History")
    tab_to(page, ".jf-runs select")
    page.keyboard.press("End")
    tab_to(page, "button.jf-compare")
    page.keyboard.press("Space")
    expect(page.locator(".jf-diff [role=status]")).to_contain_text("2 rows added")
    # Where it is told, nothing takes the focus away from who goes on.
    assert page.evaluate("document.activeElement.classList.contains('jf-compare')")
    assert findings(page) == []


def test_presets_and_history_in_pictures(fronts: Callable[[str], Front], open_in: Callable[..., Page]) -> None:
    """At each width, in the light and in the dark, nothing stands out of the panel."""
    page = open_in(fronts("notebook"), CHANGING, SHOWN)
    fund = page.locator(".jf-field-fund select")
    fund.select_option(label="Income", timeout=60_000)
    look(page, "40-before-presets")
    page.locator("button.jf-open-presets").click()
    expect(page.locator(".jf-preset-name input")).to_be_visible()
    look(page, "41-first-preset")
    for name in ("Quarterly", "As the investment committee of the pension fund wants to have it at year's end"):
        page.locator(".jf-preset-name input").fill(name)
        page.locator("button.jf-preset-save").click()
        expect(page.locator(".jf-presets [role=status]")).to_contain_text("Saved")
    look(page, "42-saved")
    page.locator("button.jf-preset-delete").click()
    expect(page.locator(".jf-presets [role=status]")).to_contain_text("Once more")
    look(page, "43-delete")
    page.locator("button.jf-open-history").click()
    expect(page.locator(".jf-runs option")).to_have_count(1)
    look(page, "44-history-before")
    page.locator(".jf-runs select").select_option(index=0)
    page.locator("button.jf-again").click()
    wait_for_state(page, "done", 1)
    run_python(page, "try:\n    funcs.holdings(Fund='Growth', Note='x' * 200)\nexcept jf.FuncsError: pass")
    run_python(
        page, "import time; kept = [funcs.holdings(Fund='Income', Region=['North', 'South']) for _ in range(12)]"
    )
    open_tab(page, "History")
    expect(page.locator(".jf-runs option")).to_have_count(15)
    look(page, "45-history")
    page.locator(".jf-runs select").select_option(index=14)
    page.locator("button.jf-compare").click()
    expect(page.locator(".jf-diff [role=status]")).to_contain_text("rows added")
    look(page, "46-compared")


def tab_to(page: Page, selector: str) -> None:
    """Press Tab, forwards or backwards, until what is meant has the focus."""
    for key in ("Tab", "Shift+Tab"):
        for _ in range(25):
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
            page.keyboard.press(key)
    pytest.fail(f"No Tab leads to {selector}.")

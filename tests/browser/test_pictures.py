"""Pictures of the panel in its states, for a person to look at: tests/browser/pictures/, which is in no commit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.steps import FRESH, STUCK, choose, open_tab, turn_dark, turn_light, wait_for_state
from tests.conftest import SYMBOL

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from tests.browser.fronts import Front

FOLDER = Path(__file__).with_name("pictures")
WIDTHS = (480, 900, 1600)
# One function with a control of every kind, two whose values come from a list that is slow or fails.
CONTROLS = """import asyncio, httpx, jupyter_funcs as jf
def param(name, type, text, **more):
    return {"name": name, "type": type, "description": text, **more}
symbols = [f"SYM{at} US EQUITY" for at in range(2000)]
listing = [{"name": name, "description": f"Lists {name.lower()}.", "params": []}
           for name in ("Slow List", "Broken List", "Long List")]
listing.append({"name": "Every Control", "description": "One control of each kind, with and without a value.",
    "params": [
    param("Required Choice", 0, "[Required] Which one. Options are 'one', 'two', 'three'."),
    param("Yes Or No", 0, "[Optional] Whether. Options are 'Yes', 'No'. If none, Yes Or No defaults to 'No'."),
    param("Whole Number", 1, "[Optional] How many. Must be at least 1 and at most 50."),
    param("Start Date", 0, "[Optional] The first day to include. Format is YYYY-MM-DD."),
    param("Text", 0, "[Optional] Any text."),
    param("Dimensions", 4, "[Optional] What to break down by. Options are 'Age Group', 'Region', 'Brand'."),
    param("Items", 4, "[Optional] Several texts."),
    param("Symbol", 6, "[Optional] The company. Use function 'Long List' to get list of available symbols."),
    param("Slow", 6, "[Optional] Values that take their time. Use function 'Slow List' to get list of slow values."),
    param("Broken", 6, "[Optional] Values that fail. Use function 'Broken List' to get list of broken values."),
]})
async def answer(request):
    body = await request.aread()
    if not request.url.path.endswith("runFunction"):
        return httpx.Response(200, json=listing)
    if b"Slow List" in body:
        await asyncio.sleep(600)
    if b"Long List" in body:
        return httpx.Response(200, json=[{"Symbol": each} for each in symbols])
    return httpx.Response(200, json={"error": "The warehouse is asleep until 06:00 UTC.", "body": None})
controls = jf.connect("https://service.example", token="a-token-of-the-tests", transport=httpx.MockTransport(answer))
panel = controls.panel("Every Control")
panel"""


@pytest.mark.slow
def test_the_journey_in_pictures(fronts: Callable[[str], Front], open_in: Callable[..., Page]) -> None:
    """In each state, at each width, in the light and in the dark, nothing stands out of the panel."""
    page = open_in(fronts("notebook"), STUCK, FRESH)
    expect(page.locator(".jf-list option")).to_have_count(11, timeout=60_000)
    look(page, "01-empty")
    choose(page, "daily", "Get Panel Daily")
    panels, symbol = page.locator(".jf-field-panelname select"), page.locator(".jf-field-symbol input")
    expect(panels.locator("option")).to_have_count(3, timeout=30_000)
    look(page, "02-chosen")
    panels.select_option(label="Demo Debit Panel — Synthetic Data Works")
    page.locator(".jf-field-dimensions select").select_option(label="Region")
    page.locator(".jf-field-dimensions select").select_option(label="Age Group")
    lookback = page.locator(".jf-field-poplookback input")
    lookback.fill("abc")
    lookback.press("Tab")
    expect(page.locator(".jf-form .jf-bad")).to_have_count(1)
    look(page, "03-invalid")
    lookback.fill("1")
    symbol.fill(SYMBOL)
    page.locator(".jf-field-popgrowth select").select_option(label="Yes")
    page.locator("button.jf-run").click()
    wait_for_state(page, "running", 1)
    look(page, "04-busy")
    page.locator("button.jf-cancel").click()
    wait_for_state(page, "cancelled", 1)
    look(page, "05-cancelled")
    panels.select_option(label="Demo Card Panel — Synthetic Data Works")
    page.locator("button.jf-run").click()
    wait_for_state(page, "done", 2)
    for at, title in enumerate(("Table", "Chart", "JSON", "Code", "About"), 6):
        open_tab(page, title)
        if title == "Chart":
            expect(page.locator(".jf-results svg:visible")).to_have_count(1, timeout=30_000)
        page.wait_for_timeout(1000)
        look(page, f"{at:02}-done-{title.lower()}")
    open_tab(page, "Table")
    page.locator("button.jf-save").click()
    expect(page.locator(".jf-saving [role=status]")).to_contain_text("Saved")
    page.locator("button.jf-save").click()
    page.locator(".jf-variable input").fill("inner")
    page.locator(".jf-variable input").press("Enter")
    expect(page.locator(".jf-sure")).to_be_visible()
    look(page, "11-questions")
    symbol.fill("NOPE US EQUITY")
    symbol.press("Enter")
    page.wait_for_selector(".jf-status[data-state=invalid]", state="attached")
    look(page, "12-refused-and-old")
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    expect(page.locator(".jf-panel.jupyter-widgets-disconnected")).to_be_attached(timeout=30_000)
    look(page, "13-dead")


@pytest.mark.slow
def test_the_controls_in_pictures(fronts: Callable[[str], Front], open_in: Callable[..., Page]) -> None:
    """Each kind of control, empty and filled, with a list that is slow and one that fails, and after a failed run."""
    page = open_in(fronts("notebook"), CONTROLS)
    expect(page.locator(".jf-field-symbol")).to_be_visible(timeout=60_000)
    expect(page.locator(".jf-form")).to_contain_text("asleep", timeout=30_000)
    look(page, "20-controls-empty")
    page.locator(".jf-field-requiredchoice select").select_option(label="two")
    page.locator(".jf-field-wholenumber input").fill("99")
    page.locator(".jf-field-startdate input").fill("2025-03-04")
    page.locator(".jf-field-text input").fill("$name")
    for option in ("Brand", "Region"):
        page.locator(".jf-field-dimensions select").select_option(label=option)
    page.locator(".jf-field-items textarea").fill("one\ntwo\nthree")
    page.locator(".jf-field-symbol input").fill("SYM12")
    page.locator(".jf-field-symbol input").press("Tab")
    expect(page.locator(".jf-form .jf-bad").first).to_be_visible()
    expect(page.locator(".jf-field-items textarea")).to_have_value("one\ntwo\nthree")
    look(page, "21-controls-filled")
    page.locator(".jf-field-wholenumber input").fill("9")
    page.locator(".jf-field-text input").fill("text")
    page.locator(".jf-field-text input").press("Tab")
    expect(page.locator("button.jf-run")).to_be_enabled()
    page.locator("button.jf-run").click()
    wait_for_state(page, "failed", 1)
    page.locator(".jf-details summary").click()
    look(page, "22-failed")
    page.locator("button.jf-run").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.wait_for_function("getComputedStyle(document.activeElement).outlineStyle === 'solid'")
    look(page, "23-focus")


def look(page: Page, name: str) -> None:
    """Take the pictures of a state, and find nothing that stands out of the panel."""
    FOLDER.mkdir(exist_ok=True)
    panel = page.locator(".jf-panel")
    for turn, theme in ((turn_dark, "dark"), (turn_light, "light")):
        turn(page)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 2400})
            page.wait_for_timeout(150)  # for the front end to lay its own parts out
            panel.screenshot(path=FOLDER / f"{name}-{theme}-{width}.png")
            out = panel.evaluate(_STANDS_OUT)
            assert out == [], f"{name}, {width} px: {out}"


# What is wider than its box: ipywidgets' boxes cut it off or scroll, where only the frames of a result should.
_STANDS_OUT = """panel => [panel, ...panel.querySelectorAll('*')]
    .filter(node => node.clientWidth > 1 && node.scrollWidth > node.clientWidth + 1)
    .filter(node => !node.closest('.jf-scroll, .jf-picture, .jf-grid, pre, input, select, textarea'))
    .map(node => `${node.tagName} ${node.className}: ${node.scrollWidth} in ${node.clientWidth} px`).slice(0, 5)"""

"""The panel as a page of its own, for people who want no code: notebooks/panel.ipynb in Voila."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from jupyter_funcs.cli.main import copy_notebooks
from tests.browser.conftest import OF_VOILA
from tests.browser.steps import open_tab, wait_for_state
from tests.browser.test_pictures import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page

    from tests.browser.fronts import Front

pytestmark = pytest.mark.slow


# Voila 0.5 loads every extension of JupyterLab's, and these two of the tests' environment want more than it has.
OF_OTHERS = ("labextensions/@jupyter-notebook/", "ipyparallel-labextension")


@pytest.fixture
def said(page: Page) -> list[str]:
    """What the page writes to its console as an error, or raises, but for what is none of ours."""
    errors: list[str] = []

    def hear(text: str, url: str = "") -> None:
        if not url.startswith(OF_VOILA) and not any(other in text for other in OF_OTHERS):
            errors.append(f"{text} {url}")

    page.on("console", lambda said: hear(said.text, said.location["url"]) if said.type == "error" else None)
    page.on("pageerror", lambda error: hear(str(error)))
    return errors


@pytest.fixture
def opened(fronts: Callable[[str], Front], page: Page, said: list[str]) -> Iterator[Callable[[str], Page]]:
    """Open the notebook in Voila as it is installed, and find no error on the page's console at the end."""

    def open_page(theme: str) -> Page:
        front = fronts("voila")
        copy_notebooks(front.folder)
        page.goto(f"{front.address('panel.ipynb')}&theme={theme}")
        expect(page.locator(".jf-results")).to_contain_text("19 rows × 17 columns", timeout=60_000)
        expect(page.locator(".jf-form")).to_contain_text("60 values", timeout=30_000)
        return page

    yield open_page
    # What ipywidgets shows in place of a control that it cannot make.
    expect(page.locator("body")).not_to_contain_text("javascript error")
    page.goto("about:blank")  # which ends the page's kernel
    assert said == []


def test_a_person_fills_a_field_and_has_a_table(opened: Callable[[str], Page]) -> None:
    """The page is a title, two sentences and the panel with a first result, no code; another company is a click."""
    page = opened("light")
    expect(page).to_have_title("Fiscal quarters of a company")
    expect(page.locator("h1")).to_contain_text("Fiscal quarters of a company")
    expect(page.locator("body")).to_contain_text("every company, brand and number is invented")
    expect(page.locator(".jf-panel")).to_have_count(1)
    expect(page.locator(".jp-CodeCell .jp-InputArea, .jp-InputPrompt")).to_have_count(0)
    assert "funcs.panel" not in page.inner_text("body")
    expect(page.locator(".jf-title")).to_have_text("Get Panel FQ")
    expect(page.locator(".jf-field-panelname select")).to_have_value(re.compile("."))
    symbol, table = page.locator(".jf-field-symbol input"), page.locator(".jf-results .jf-table")
    expect(symbol).to_have_value("NVRA US EQUITY — Nuvarelle Outfitters")
    expect(table).to_contain_text("Spend Growth")
    first = table.inner_text()

    symbol.fill("BKQU US EQUITY")
    symbol.press("Tab")
    page.locator("button.jf-run").click()
    wait_for_state(page, "done", 2)
    expect(table).to_contain_text("Spend Growth")
    assert table.inner_text() != first
    open_tab(page, "About")
    expect(page.locator(".jf-results")).to_contain_text("BKQU US EQUITY")


def test_the_keyboard_is_enough(opened: Callable[[str], Page]) -> None:
    """With the keyboard alone: from the top to a field, another value, Run, the next tab of the result."""
    page = opened("light")
    to(page, "jf-field-symbol")
    page.keyboard.press("Control+A")
    page.keyboard.type("BKQU US EQUITY")
    to(page, "jf-run")
    page.keyboard.press("Enter")
    wait_for_state(page, "done", 2)
    tabs = page.locator(".jf-results").get_by_role("tab")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('role') === 'tab'"):
            break
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(tabs.nth(1)).to_have_attribute("aria-selected", "true")


def to(page: Page, part: str) -> None:
    """Press Tab until a part of the panel has the keyboard."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("part => Boolean(document.activeElement.closest('.' + part))", part):
            return
    raise AssertionError(f"Tab does not come to {part}")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_in_pictures(theme: str, opened: Callable[[str], Page]) -> None:
    """In the light and the dark, wide and narrow, with table and chart, the page does not scroll sideways."""
    page = opened(theme)
    look(page, f"voila-1-table-{theme}")
    open_tab(page, "Chart")
    expect(page.locator(".jf-results svg:visible")).to_have_count(1, timeout=30_000)
    look(page, f"voila-2-chart-{theme}")


def look(page: Page, name: str) -> None:
    """Take a picture of the page at each width, and find that it does not stand out of the window."""
    FOLDER.mkdir(exist_ok=True)
    for width in (1280, 480):
        page.set_viewport_size({"width": width, "height": 1700})
        page.wait_for_timeout(300)  # for the page to lay its parts out
        page.screenshot(path=FOLDER / f"{name}-{width}.png")
        wide = page.evaluate("document.scrollingElement.scrollWidth")
        assert wide <= width, f"{name}: {wide} in {width} px"

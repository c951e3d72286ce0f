"""The tabs of a result as a person uses them: sort and search a table, look through a reply, take the code away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.steps import open_tab, wait_for_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from tests.browser.fronts import Front

pytestmark = pytest.mark.slow

ROWS = r"""import httpx, jupyter_funcs as jf
bad = "<img src=x onerror='window.hacked=1'> $x^2$ &lt;b&gt; <a href='javascript:window.hacked=1'>a</a>"
listing = [{"name": "Rows", "params": [{"name": "Text"}]}]
rows = [{"Text": bad if row == 7 else f"row {row}", bad: row, "Spend": 10.0 ** (row % 9) * (row + 1),
         "Spend Growth": row / 1000, "Date": f"2024-01-{row % 28 + 1:02}"} for row in range(1000)]
def answer(request):
    return httpx.Response(200, json=rows if request.url.path.endswith("runFunction") else listing)
service = jf.connect("https://service.example", token="a-token-of-the-tests", transport=httpx.MockTransport(answer))
panel = service.panel("Rows", Text='it\'s "<b>"')
panel"""


def opened(open_in: Callable[..., Page], front: Front) -> Page:
    page = open_in(front, ROWS)
    page.locator("button.jf-run").click(timeout=60_000)
    wait_for_state(page, "done", 1)
    return page


def harmless(page: Page) -> bool:
    made = page.locator(".jf-panel").locator("mjx-container, .MathJax, script, img, a[href^=javascript]")
    return page.evaluate("window.hacked") is None and made.count() == 0


def test_the_table_is_sorted_and_searched(front: Front, open_in: Callable[..., Page]) -> None:
    """At first both ends are shown; the interactive table sorts by numbers, searches, and shows markup as text."""
    page = opened(open_in, front)
    expect(page.locator(".jf-shown")).to_have_text("First 50 and last 50 of 1,000 rows")
    expect(page.locator(".jf-table-tab .jf-table tbody tr")).to_have_count(101)
    page.locator(".jf-viewer button", has_text="Interactive").click()
    grid = page.locator(".jf-grid")
    expect(grid.locator("tbody tr")).to_have_count(25, timeout=30_000)
    expect(grid.locator(".dt-info")).to_contain_text("1,000")
    # The largest amount; of the texts it is 991.00.
    spend = grid.locator("thead th", has_text="Spend").first
    for _ in range(2):
        spend.click()
    expect(grid.locator("tbody tr").first.locator("td").nth(2)).to_have_text("99,900,000,000")
    grid.locator("input[type=search]").fill('"row 77"')
    expect(grid.locator("tbody tr")).to_have_count(11)
    grid.locator("input[type=search]").fill("onerror")
    expect(grid.locator("tbody tr")).to_have_count(1)
    expect(grid.locator("tbody td").first).to_contain_text("<img src=x onerror='window.hacked=1'> $x^2$ &lt;b&gt;")
    expect(grid.locator("tbody td").nth(3)).to_have_text("0.70%")
    page.wait_for_timeout(300)  # what should not come has its time to
    assert harmless(page)
    page.locator(".jf-viewer button", has_text="Simple").click()
    expect(page.locator(".jf-table-tab .jf-table tbody tr")).to_have_count(101)


def test_the_reply_is_looked_through(front: Front, open_in: Callable[..., Page]) -> None:
    """Rows are unfolded, pages are turned, and a search says how often it was met."""
    page = opened(open_in, front)
    open_tab(page, "JSON")
    said = page.locator(".jf-json-range")
    expect(said).to_have_text("rows 0–49 of 1,000")
    row = page.locator(".jf-json details", has_text='"row 3"').last
    expect(row.locator(".jf-in")).to_be_hidden()
    row.locator("summary").click()
    expect(row.locator(".jf-in")).to_contain_text('"Spend Growth": 0.003')
    page.locator(".jf-json-next").click()
    expect(said).to_have_text("rows 50–99 of 1,000")
    page.locator(".jf-json-search input").fill("ROW 99")
    expect(said).to_have_text("matches 0–10 of 11")
    expect(page.locator(".jf-json mark").first).to_have_text("row 99")
    page.locator(".jf-json-search input").fill("onerror")
    expect(said).to_have_text("matches 0–49 of 1,001")
    assert harmless(page)


def test_the_code_is_copied(front: Front, open_in: Callable[..., Page]) -> None:
    """A button puts exactly its text on the clipboard, also where the page may not use the clipboard itself."""
    page = opened(open_in, front)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_tab(page, "Code")
    blocks = page.locator(".jf-block")
    expect(blocks).to_have_count(3)
    page.evaluate("window.realClipboard = navigator.clipboard")
    for at, without in ((0, False), (1, True), (2, False)):
        if without:  # as on a page that comes by http from another machine
            page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined, configurable: true})")
        else:
            page.evaluate("delete navigator.clipboard")
        blocks.nth(at).locator("button").click()
        expect(blocks.nth(at).locator("button")).to_have_text("Copied")
        copied = page.evaluate("window.realClipboard.readText()")
        assert copied == blocks.nth(at).locator("pre").evaluate("node => node.textContent")
    assert 'df = %funcs call rows Text="it\'s \\"<b>\\""' in blocks.first.inner_text()
    assert "$FUNCS_TOKEN" in copied
    assert "a-token-of-the-tests" not in page.locator(".jf-panel").inner_html()
    expect(blocks.first.locator("button")).to_have_text("Copy", timeout=5000)


def test_every_tab_is_for_everybody(
    lab: Front, open_in: Callable[..., Page], findings: Callable[[Page], list[str]]
) -> None:
    """The accessibility checker finds nothing serious in the interactive table, the reply, the code and the facts."""
    page = opened(open_in, lab)
    page.locator(".jf-viewer button", has_text="Interactive").click()
    expect(page.locator(".jf-grid tbody tr")).to_have_count(25, timeout=30_000)
    assert findings(page) == []
    for title in ("JSON", "Code", "About"):
        open_tab(page, title)
        page.wait_for_selector(f".jf-{title.lower()}-tab .widget-html-content > *")
        assert findings(page) == []

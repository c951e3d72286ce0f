"""Markup of a catalog or of a reply is text wherever it is shown: as HTML, as mathematics, as a link, as a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.steps import open_tab, run_python, wait_for_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from tests.browser.fronts import Front

# What a front end would set as mathematics: once this is, what the panel shows would be too.
MATHEMATICS = r"""import ipywidgets
ipywidgets.Label("$x^2$")"""
HOSTILE = r"""import httpx, json, jupyter_funcs as jf
bad = ("<img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"
       " $x^2$ \\(y^2\\) $$z^2$$ [a link](javascript:window.hacked=1) <a href='javascript:window.hacked=1'>link</a>")
failing = False
listing = [{"name": bad, "groupName": bad, "assetName": bad, "description": bad, "params": [
    {"name": bad, "description": f"[Optional] {bad} Options are '{bad}', 'b'."},
    {"name": "Several", "type": 4,
     "description": "[Optional] Some. Options are '<script>window.hacked=1</script> $x^2$', 'b'."},
    {"name": "plain", "description": bad, "defaultValue": bad}]}]
def answer(request):
    if not request.url.path.endswith("runFunction"):
        return httpx.Response(200, json=listing)
    if failing:
        return httpx.Response(200, json={"error": bad, "body": None})
    return httpx.Response(200, json=[{bad: bad, "Date": f"2024-01-0{day}", "n": day} for day in range(1, 8)])
hostile = jf.connect("https://service.example", token="a-token-of-the-tests", transport=httpx.MockTransport(answer))
panel = hostile.panel(hostile.names[0])
panel"""
TABS = ["Table", "Chart", "JSON", "Code", "About", "History"]


@pytest.mark.parametrize("kind", ["lab", pytest.param("voila", marks=pytest.mark.slow)])
def test_markup_is_text(kind: str, fronts: Callable[[str], Front], open_in: Callable[..., Page]) -> None:
    """Names, options, cells and errors are shown as they are written, and run nothing, in every tab (FAULTS 73, 74)."""
    page = open_in(fronts(kind), MATHEMATICS, HOSTILE)
    if kind == "lab":  # Voila has no mathematics of its own
        expect(page.locator("mjx-container, .MathJax").first).to_be_attached(timeout=30_000)
    expect(page.locator(".jf-title")).to_contain_text("<script>")
    page.locator(".jf-field-several select").select_option(index=1)
    expect(page.locator(".jf-tag")).to_contain_text("<script>")
    harmless(page)
    page.locator("button.jf-run").click()
    wait_for_state(page, "done", 1)
    for title in TABS:
        open_tab(page, title)
        expect(page.locator(".jf-results")).to_contain_text("script>")
        harmless(page)
    if kind == "lab":
        run_python(page, "failing = True")
        page.locator("button.jf-run").click()
        wait_for_state(page, "failed", 2)
        expect(page.locator(".jf-status")).to_contain_text("<script>")
        harmless(page)


def harmless(page: Page) -> None:
    """Nothing of the texts became an element of the page."""
    page.wait_for_timeout(300)  # what should not come has its time to
    assert page.evaluate("window.hacked") is None
    made = page.locator(".jf-panel").locator("mjx-container, .MathJax, script, img, a[href^=javascript]")
    assert made.evaluate_all("nodes => nodes.map(node => node.outerHTML.slice(0, 200))") == []

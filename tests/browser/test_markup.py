"""Markup of a catalog or of a reply is text wherever it is shown: as HTML, as mathematics, as a link, as a program."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import expect

from tests.browser.steps import at, look, pick, run_python, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from tests.browser.fronts import Front

BAD = (
    "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script></textarea></style><b>bold</b>"
    " &lt;i&gt; ${window.hacked=1} {{7*7}} $x^2$ \\(y^2\\) $$z^2$$ [a link](javascript:window.hacked=1)"
    ' <a href="javascript:window.hacked=1">link</a> "><svg onload=window.hacked=1>'
)
TOKEN = ".".join(  # whose account's name is markup too
    base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
    for part in ({"alg": "none"}, {"preferred_username": BAD, "exp": 4_000_000_000}, {})
)
# What a front end would set as mathematics: once this is, what the panel shows would be too.
MATHEMATICS = r"""import ipywidgets
ipywidgets.Label("$x^2$")"""
HOSTILE = f"""import httpx, json, jupyter_funcs as jf
bad, failing = {BAD!r}, False
listing = [{{"name": bad, "groupName": bad, "assetName": bad, "description": bad, "params": [
    {{"name": bad, "description": f"[Optional] {{bad}} Options are '{{bad}}', 'b'."}},
    {{"name": "Several", "type": 4, "description": "[Optional] Some.",
     "schema": {{"type": "array", "items": {{"enum": [bad, "b"]}}}}}},
    {{"name": "Fixed", "description": bad, "schema": {{"enum": [bad, "b"]}}, "defaultValue": bad}},
    {{"name": "plain", "description": bad, "defaultValue": bad}}]}}]
def answer(request):
    if not request.url.path.endswith("runFunction"):
        return httpx.Response(200, json=listing)
    if failing:
        return httpx.Response(200, json={{"error": bad, "body": None}})
    rows = [{{bad: name + bad, "Date": f"2024-01-{{day:02}}", "n": day, "nested": {{bad: [bad]}}}}
            for day in range(1, 29) for name in "ab"]
    return httpx.Response(200, json=rows)
hostile = jf.connect("https://service.example", token={TOKEN!r}, transport=httpx.MockTransport(answer))
panel = hostile.panel(hostile.names[0])
panel"""
SHOWN = "<script>"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lab", "voila"])
def test_markup_is_text(
    kind: str, fronts: Callable[[str], Front], open_in: Callable[..., Page]
) -> None:
    """Names, options, values, cells, messages and pictures show it as it is written and run nothing (FAULTS 73, 74)."""
    page = open_in(fronts(kind), MATHEMATICS, HOSTILE)
    wait_for(page, "form")
    if kind == "lab":  # Voila has no mathematics of its own
        expect(page.locator("mjx-container, .MathJax").first).to_be_attached()
    expect(at(page, "picker")).to_contain_text(SHOWN)
    the_form(page)
    at(page, "run").click()
    wait_for(page, "done", 1)
    the_result(page)
    the_header(page)
    if kind == "lab":
        run_python(page, "failing = True")
        at(page, "run").click()
        wait_for(page, "failed")
        expect(at(page, "error")).to_contain_text(SHOWN)
        harmless(page, "an error")
        run_python(page, "failing = False")
        at(page, "run").click()
        wait_for(page, "done")
        the_history(page)
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        presets(page)


def the_form(page: Page) -> None:
    """Help, options, chips, and a text typed by a person."""
    box = at(page, "inputs").locator("input")
    page.locator('[data-jf="field:Several"]').hover()
    at(page, "help:Several").click()
    harmless(page, "help")
    page.keyboard.press("Escape")
    at(page, "field:Several").locator("input").click()
    expect(page.locator('[role="option"]').first).to_contain_text(SHOWN)
    harmless(page, "options")
    page.locator('[role="option"]').first.click()
    page.keyboard.press("Escape")
    expect(at(page, "field:Several").locator(".jf-chip")).to_contain_text(SHOWN)
    for number in range(box.count()):
        box.nth(number).focus()
        harmless(page, "a field")
    page.locator('[data-jf="field:plain"] input').fill(BAD[:200])
    page.keyboard.press("Tab")
    harmless(page, "a typed text")


def the_result(page: Page) -> None:
    """Cells, heads, a filter, what a pointer reads of the chart, its picture, the reply and the code."""
    expect(page.locator('[role="gridcell"]').first).to_contain_text(SHOWN)
    page.locator('[data-jf^="filter:<img"]').click()
    expect(at(page, "filter-text")).to_be_visible()
    page.locator('[role="dialog"] [role="checkbox"]').first.click()
    expect(page.locator('[data-jf^="chip:"]')).to_contain_text(SHOWN)
    harmless(page, "a filter")
    at(page, "filter-remove").click()
    at(page, "view-code").click()
    expect(at(page, "table-code")).to_contain_text("img_src")
    harmless(page, "the table's code")
    at(page, "tab:chart").click()
    expect(page.locator('[data-jf^="legend:"]').first).to_contain_text("<img")
    plot = page.locator('[data-jf="plot"] svg').first
    area = plot.bounding_box()
    assert area is not None
    plot.scroll_into_view_if_needed()
    plot.hover(position={"x": area["width"] / 2, "y": 60})
    expect(at(page, "tooltip")).to_contain_text("<img")
    harmless(page, "the chart")
    look(page, "markup-chart")
    at(page, "chart-save").click()
    with page.expect_download() as download:
        at(page, "chart-save:svg").click()
    drawn = list(ET.parse(download.value.path()).iter())
    tags = {element.tag.rpartition("}")[2] for element in drawn}
    assert (
        {"path", "text"}
        <= tags
        <= {"svg", "g", "rect", "path", "line", "text", "tspan", "clipPath", "circle"}
    )
    assert [
        name
        for element in drawn
        for name in element.attrib
        if name.startswith("on") or "href" in name
    ] == []
    for tab in ("json", "code"):
        at(page, f"tab:{tab}").click()
        expect(at(page, "view")).to_contain_text(SHOWN)
        harmless(page, tab)
    at(page, "tab:table").click()


def the_header(page: Page) -> None:
    """The list of functions, and the text about the account."""
    at(page, "picker").click()
    expect(page.locator('[role="option"]').first).to_contain_text(SHOWN)
    at(page, "picker-search").fill("<script>")
    expect(page.locator('[role="option"] mark').first).to_be_visible()
    harmless(page, "the list of functions")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    pick(page, "menu", "about")
    expect(page.locator('[data-jf="about-box"] dt').first).to_be_visible()
    harmless(page, "About")
    page.keyboard.press("Escape")


def the_history(page: Page) -> None:
    """Runs and their arguments, and two of them compared."""
    at(page, "history").click()
    ticks = page.locator('[data-jf^="tick:"]')
    expect(ticks).to_have_count(2)
    expect(at(page, "drawer")).to_contain_text(SHOWN)
    harmless(page, "history")
    ticks.nth(0).check()
    ticks.nth(1).check()
    at(page, "compare").click()
    expect(at(page, "compare-said")).to_be_visible()
    harmless(page, "a comparison")


def presets(page: Page) -> None:
    """A name that is typed, in a short message and in the menu."""
    pick(page, "presets", "preset-save")
    at(page, "preset-name").fill("<img src=x onerror=window.hacked=1>")
    at(page, "preset-save-now").click()
    expect(page.locator(".jf-toast")).to_contain_text("<img")
    harmless(page, "a message")
    at(page, "presets").click()
    expect(page.locator('[data-jf^="preset:"]').first).to_contain_text("<img")
    harmless(page, "presets")
    page.keyboard.press("Escape")


def harmless(page: Page, where: str) -> None:
    """Nothing of the texts became an element of the page."""
    page.wait_for_timeout(150)  # what should not come has its time to
    assert page.evaluate("window.hacked") is None, where
    made = page.locator("[data-jf=panel]").locator(
        "mjx-container, .MathJax, script, img, a[href^=javascript], svg[onload], i:text('&gt;'), b:text-is('bold')"
    )
    assert (
        made.evaluate_all("nodes => nodes.map(node => node.outerHTML.slice(0, 200))")
        == []
    ), where

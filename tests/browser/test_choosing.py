"""Choosing a function by keys and by mouse, favourites, and a listing that fails, changes or is long."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.steps import LOAD, run_python

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from tests.browser.fronts import Front

pytestmark = pytest.mark.slow

OPEN = "panel = %funcs\npanel"
# A service whose listing a cell changes: a number of functions, or a status that refuses.
CHANGING = """import httpx, jupyter_funcs as jf
listing, status = [{"name": "F", "params": [{"name": "a"}]}, {"name": "G"}], 200
def answer(request):
    return httpx.Response(status, json=listing)
def panel():
    return jf.connect("https://service.example", token="a-token", transport=httpx.MockTransport(answer)).panel()"""


def test_a_function_is_found_without_a_mouse(front: Front, open_in: Callable[..., Page]) -> None:
    """Typed fast and followed at once by Enter, the words open what they find; Enter again opens the next."""
    page = open_in(front, LOAD, OPEN)
    title, search = page.locator(".jf-title"), page.get_by_role("textbox", name="Search functions")
    search.focus()
    page.keyboard.type("kpis")
    page.keyboard.press("Enter")
    expect(title).to_have_text("Get KPIs")
    search.fill("panel d")
    page.keyboard.press("Enter")
    expect(title).to_have_text("Get Panel Dimensions")
    page.keyboard.press("Enter")
    expect(title).to_have_text("Get Panels")
    expect(search).to_be_focused()
    search.fill("")
    expect(page.locator(".jf-list option")).to_have_count(11)
    page.get_by_role("listbox", name="Functions").focus()
    for name in ("Get Universe", "Get Panel Dimensions", "Get Panel Daily"):  # the last one below a heading
        page.keyboard.press("ArrowDown")
        expect(title).to_have_text(name)
    page.keyboard.press("ArrowUp")
    expect(title).to_have_text("Get Panel Dimensions")


def test_keys_on_the_panel_are_no_commands_of_the_notebook(open_notebook: Callable[..., Page]) -> None:
    """D, D on a list or a button deletes no cell, and Ctrl-S there still saves the notebook."""
    page = open_notebook(LOAD, OPEN)
    cells = page.locator(".jp-Notebook-cell")
    before = cells.count()
    for focused in (page.get_by_role("listbox", name="Functions"), page.locator(".jf-refresh")):
        focused.focus()
        for key in "ddxb":
            page.keyboard.press(key)
        expect(cells).to_have_count(before)
    page.wait_for_selector(".jp-mod-dirty", state="attached")
    page.keyboard.press("Control+s")
    page.wait_for_selector(".jp-mod-dirty", state="detached")


def test_a_favourite_is_there_in_the_next_panel(open_notebook: Callable[..., Page]) -> None:
    """The star puts the function on top of the list, for other kernels too, and takes it away again."""
    page = open_notebook(LOAD, OPEN)
    page.locator(".jf-list option", has_text="Get KPIs").click()
    star = page.locator(".jf-star")
    expect(star).to_have_text("☆ Favourite")
    expect(star).to_have_attribute("title", "Put it among your favourites")
    star.click()
    expect(star).to_have_text("★ Favourite")
    first = page.locator(".jf-list option")
    expect(first.nth(0)).to_have_text("★\u00a0Favourites")
    expect(first.nth(1)).to_have_text("\u00a0\u00a0Get\u00a0KPIs")
    read = "import jupyter_funcs as jf\nprint(jf.connect().favourites.names)"
    assert run_python(page, read) == "['Get KPIs']"
    star.click()
    expect(first.nth(0)).to_have_text("Reference")
    assert run_python(page, read) == "[]"


def test_refresh_follows_what_the_service_lists(open_notebook: Callable[..., Page]) -> None:
    """A panel opens without a list and says why; Refresh lists, keeps what was entered, and says what has changed."""
    page = open_notebook(CHANGING, "status = 503\nchanging = panel()\nchanging")
    said, refresh = page.locator(".jf-said"), page.locator(".jf-refresh")
    expect(said).to_contain_text("503")
    expect(page.locator(".jf-list option")).to_have_count(0)
    run_python(page, "status = 200")
    refresh.click()
    expect(said).to_have_text("")
    page.locator(".jf-list option", has_text="F").last.click()
    page.locator(".jf-field-a input").fill("x")
    page.keyboard.press("Tab")
    run_python(page, "listing = listing[1:]")
    refresh.click()
    expect(said).to_have_text("Listed again: 1 removed (F).")
    expect(page.locator(".jf-heading")).to_contain_text("no longer in your catalog")
    expect(page.locator(".jf-field-a input")).to_have_value("x")
    run_python(page, "listing = [{'name': 'F', 'params': [{'name': 'b'}, {'name': 'a'}]}, *listing]")
    refresh.click()
    expect(page.locator(".jf-heading")).not_to_contain_text("no longer")
    expect(page.locator(".jf-field-a input")).to_have_value("x")
    expect(page.locator(".jf-field-b")).to_be_visible()


def test_ten_thousand_functions_are_searched(open_notebook: Callable[..., Page]) -> None:
    """The list holds the first 300; what is typed finds the others, and the list follows the last key."""
    many = "listing = [{'name': f'Get Number {at}', 'groupName': f'Group {at // 50}'} for at in range(10_000)]"
    page = open_notebook(CHANGING, f"{many}\nlong = panel()\nlong")
    expect(page.locator(".jf-chooser")).to_contain_text("10,000 functions, the first 300 listed")
    assert page.locator(".jf-list option").count() < 320
    page.get_by_role("textbox", name="Search functions").focus()
    page.keyboard.type("number 9876")
    expect(page.locator(".jf-list option")).to_have_text([re.compile("Group"), re.compile("Get.Number.9876")])
    page.keyboard.press("Enter")
    expect(page.locator(".jf-title")).to_have_text("Get Number 9876")

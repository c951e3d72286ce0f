"""The fields of a form under a person's hands: keys, picks, pastes and lists, in JupyterLab."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.steps import LOAD, run_python, wait_for_state
from tests.conftest import PANEL, SYMBOL

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

PLAIN = """import httpx, jupyter_funcs as jf
params = [{"name": "Names", "type": 4}, {"name": "n", "type": 1, "required": True}, {"name": "start_date"}]
def answer(request):
    if request.url.path.endswith("runFunction"):
        return httpx.Response(200, json=[{"a": 1}])
    return httpx.Response(200, json=[{"name": "F", "params": params}])
panel = jf.connect("https://service.example", token="a-token", transport=httpx.MockTransport(answer)).panel("F")
panel"""
OPEN = "panel = %funcs panel get_panel_daily\npanel"
# The last of its fields is typed in while the others change; its panels are listed once they may be.
CHANGING = """import asyncio, httpx, jupyter_funcs as jf
may_list = []
params = [
    {"name": "PanelName", "type": 8},
    {"name": "Dimensions", "type": 4, "description": "Options are 'Region', 'Brand'."},
    {"name": "start_date"},
    {"name": "Note"},
]
async def answer(request):
    if not request.url.path.endswith("runFunction"):
        return httpx.Response(200, json=[{"name": "F", "params": params}, {"name": "Get Panels"}])
    while not may_list:
        await asyncio.sleep(0.05)
    return httpx.Response(200, json=[{"PanelName": "One"}, {"PanelName": "Two"}])
panel = jf.connect("https://service.example", token="a-token", transport=httpx.MockTransport(answer)).panel("F")
panel"""


def paste(page: Page, text: str) -> None:
    """Put a text on the browser's clipboard, and paste it where the keyboard is."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    page.keyboard.press("ControlOrMeta+V")


def held(page: Page) -> str:
    """Give what the form would send."""
    return run_python(page, "print(panel.form.args)")


def test_a_pasted_column_is_a_list(open_notebook: Callable[..., Page]) -> None:
    """A column of a spreadsheet, pasted, is one value a line; a comma and a space belong to the value."""
    page = open_notebook(PLAIN)
    page.locator(".jf-field-names textarea").click()
    paste(page, "Fennloft\r\nSmith, Jones\r\nMaison Ordrelle\r\n")
    expect(page.locator(".jf-form")).to_contain_text("3 values")
    assert held(page) == "{'Names': ['Fennloft', 'Smith, Jones', 'Maison Ordrelle']}"


def test_a_column_pasted_into_a_search_is_told_apart(open_notebook: Callable[..., Page]) -> None:
    """A box of one line makes one line of a column; its values are found all the same where they are listed."""
    page = open_notebook(LOAD, f'panel = %funcs panel get_panel_daily PanelName="{PANEL}"\npanel')
    expect(page.locator(".jf-form .jf-line.jf-at-2")).to_contain_text("60 values", timeout=30_000)
    page.locator(".jf-field-brand input").click()
    paste(page, "Fennloft\nMaison Ordrelle\nNuvarelle")
    tags = page.locator(".jf-tag")
    expect(tags).to_have_text(["Remove Fennloft", "Remove Maison Ordrelle", "Remove Nuvarelle"])
    expect(page.locator(".jf-field-brand input")).to_have_value("")


def test_enter_runs_what_was_typed(open_notebook: Callable[..., Page]) -> None:
    """Enter at once behind the last key runs with what was typed; with a bad value it runs nothing and says why."""
    page = open_notebook(PLAIN)
    number = page.locator(".jf-field-n input")
    run = page.locator("button.jf-run")
    expect(run).to_be_disabled()
    number.press_sequentially("abc", delay=0)
    page.keyboard.press("Enter")
    expect(page.locator(".jf-form .jf-bad")).to_have_text(["N takes a whole number, not 'abc'."])
    expect(run).to_be_disabled()
    number.fill("")
    number.press_sequentially("1234567", delay=0)
    page.keyboard.press("Enter")
    wait_for_state(page, "done", 1)
    expect(page.locator(".jf-form .jf-bad")).to_have_count(0)
    assert run_python(page, "print(panel.result().attrs['funcs']['args'])") == "{'n': '1234567'}"


def test_a_day_is_set_and_cleared_by_keys(open_notebook: Callable[..., Page]) -> None:
    """A date picker can be filled and emptied; empty, nothing is sent."""
    page = open_notebook(PLAIN)
    day = page.locator(".jf-field-startdate input")
    day.fill("2025-03-04")
    page.keyboard.press("Tab")
    page.locator(".jf-field-n input").fill("$lookback")
    expect(page.locator(".jf-form .jf-bad")).to_contain_text(["There is no variable 'lookback'."])
    assert run_python(page, "lookback = 2\nprint(panel.form.args)") == "{'n': '2', 'start_date': '2025-03-04'}"
    day.click()
    for _ in range(3):  # which ipywidgets does not tell
        page.keyboard.press("Backspace")
        page.keyboard.press("Tab")
    expect(day).to_have_value("")
    page.get_by_role("button", name="Clear 2025-03-04").click()
    expect(page.locator(".jf-form .jf-line:visible")).to_have_count(0)
    assert held(page) == "{'n': '2'}"


def test_what_comes_at_a_field_takes_nothing_from_a_later_one(open_notebook: Callable[..., Page]) -> None:
    """Tags, a Clear button and another control come and go above what is typed in: its text, caret and focus stay."""
    page = open_notebook(CHANGING)
    note = page.locator(".jf-field-note input")
    note.press_sequentially("half wrtten")
    for _ in range(len("tten")):
        page.keyboard.press("ArrowLeft")
    typed_in = note.element_handle()
    form = page.locator(".jf-form")

    def is_kept(text: str, caret: int) -> bool:
        return typed_in.evaluate(
            "(node, kept) => document.activeElement === node && node.value === kept[0]"
            " && node.selectionStart === kept[1] && node.isConnected",
            [text, caret],
        )

    expect(form.locator(".jf-field-panelname input")).to_be_visible(timeout=10_000)  # slow to be listed, so typed
    expect(form.locator(".jf-field-panelname select")).to_have_count(0)
    assert is_kept("half wrtten", 7)
    page.keyboard.type("i")
    run_python(page, "panel.form['Dimensions'] = ['Region']")
    expect(form.locator(".jf-tag")).to_have_text(["Remove Region"])
    assert is_kept("half written", 8)
    run_python(page, "panel.form['start_date'] = '2025-03-04'")
    expect(form.get_by_role("button", name="Clear 2025-03-04")).to_be_visible()
    assert is_kept("half written", 8)
    run_python(page, "panel.form['start_date'] = None")
    expect(form.get_by_role("button", name="Clear 2025-03-04")).to_have_count(0)
    assert is_kept("half written", 8)
    run_python(page, "may_list.append('now')")
    expect(form.locator(".jf-field-panelname select")).to_be_visible(timeout=10_000)
    assert is_kept("half written", 8)
    run_python(
        page, "from jupyter_funcs.catalog.values import Each\npanel.form['Dimensions'] = Each((['Region'], ['Brand']))"
    )
    expect(form.locator(".jf-field-dimensions textarea")).to_have_value("Region\nBrand")
    assert is_kept("half written", 8)
    page.keyboard.type("!")
    assert held(page).endswith("'Note': 'half wri!tten'}")


def test_a_day_that_does_not_exist_is_not_run_without(open_notebook: Callable[..., Page]) -> None:
    """The 31st of February, of which ipywidgets tells nothing, is said at its field; until it is mended Run is away."""
    page = open_notebook(PLAIN)
    page.locator(".jf-field-n input").fill("2")
    run, day = page.locator("button.jf-run"), page.locator(".jf-field-startdate input")
    expect(run).to_be_enabled()
    day.click()
    page.keyboard.press("Home")
    day.press_sequentially("02312025")
    page.locator(".jf-field-n input").click()
    assert held(page) == "{'n': '2'}"
    expect(run).to_be_hidden()
    said = "e => getComputedStyle(e, '::after').content"
    assert "Enter a valid date" in page.locator(".jf-field-startdate").evaluate(said)
    day.click()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    for _ in range(3):  # down to the 28th; typing it would pass by the 2nd, which is sent
        page.keyboard.press("ArrowDown")
    page.locator(".jf-field-n input").click()
    expect(run).to_be_visible()
    assert held(page) == "{'n': '2', 'start_date': '2025-02-28'}"
    assert page.locator(".jf-field-startdate").evaluate(said) == "none"


def test_tags_by_keyboard(open_notebook: Callable[..., Page]) -> None:
    """Picks are tags in their order, read out as what their buttons do; removing one moves the keyboard to the next."""
    page = open_notebook(LOAD, OPEN)
    dimensions = page.get_by_label("Dimensions")
    for pick in ("Region", "Brand", "Age Group"):
        dimensions.select_option(label=pick)
        expect(page.get_by_role("button", name=f"Remove {pick}")).to_be_visible()
    expect(page.locator(".jf-tag")).to_have_text(["Remove Region", "Remove Brand", "Remove Age Group"])
    dimensions.focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Remove Region")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Remove Brand")).to_be_focused()
    page.keyboard.press("Space")
    expect(page.locator(".jf-tag")).to_have_text(["Remove Age Group"])
    expect(page.get_by_role("button", name="Remove Age Group")).to_be_focused()
    assert held(page) == "{'Dimensions': ['Age Group']}"


def test_a_symbol_is_searched_and_picked(open_notebook: Callable[..., Page]) -> None:
    """Typing narrows the suggestions, and one of them in the box is its value."""
    page = open_notebook(LOAD, OPEN)
    expect(page.locator(".jf-form .jf-line.jf-at-1")).to_contain_text("24 symbols from Get Universe", timeout=30_000)
    page.locator(".jf-field-panelname select").select_option(index=1)
    entry = page.locator(".jf-field-symbol input")
    entry.press_sequentially(SYMBOL[:3].lower(), delay=20)
    found = page.locator(".jf-field-symbol datalist option")
    expect(found).to_have_count(1)
    # A browser without a screen shows no suggestions to pick from with keys.
    entry.fill(found.get_attribute("value") or "")
    expect(page.locator("button.jf-run")).to_be_enabled()
    assert held(page) == f"{{'PanelName': '{PANEL}', 'Symbol': '{SYMBOL}'}}"
    page.keyboard.press("Enter")
    wait_for_state(page, "done", 1)

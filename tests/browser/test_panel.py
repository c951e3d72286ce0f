"""The panel as a person meets it: in JupyterLab, in a real browser, against the embedded service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.steps import LOAD, SLOW, run_python, wait_for_state
from tests.conftest import PANEL, SYMBOL

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

OPEN_DAILY = f"""panel = %funcs panel get_panel_daily PanelName="{PANEL}" Symbol="{SYMBOL}"
panel"""


def test_choose_fill_run_look(open_notebook: Callable[..., Page]) -> None:
    """A person searches a function, fills its form from the lists, runs it and sees the table; Python has the frame."""
    page = open_notebook(LOAD, "panel = %funcs\npanel")
    page.locator(".jf-search input").fill("daily")
    expect(page.locator(".jf-list option")).to_have_text(["Panel data", "\u00a0\u00a0Get Panel Daily"])
    page.keyboard.press("Enter")
    expect(page.locator(".jf-title")).to_have_text("Get Panel Daily")

    panels = page.locator(".jf-field-panelname select")
    expect(panels.locator("option")).to_have_count(3, timeout=30_000)
    panels.select_option(index=1)
    symbols = page.locator(".jf-field-symbol")
    expect(symbols.locator("datalist option")).to_have_count(24)
    listed = symbols.locator("datalist option").evaluate_all("options => options.map(option => option.value)")
    symbols.locator("input").fill(next(text for text in listed if SYMBOL in text))
    page.keyboard.press("Tab")
    page.locator(".jf-field-popgrowth button", has_text="Yes").last.click()
    page.locator(".jf-field-dimensions button", has_text="Region").click()
    page.locator("button.jf-run").click()
    wait_for_state(page, "done", 1)

    expect(page.locator(".jf-status")).to_contain_text("rows × 14 columns")
    expect(page.locator(".jf-table th").nth(1)).to_have_text("Region")
    expect(page.locator(".jf-table tbody tr")).to_have_count(101)
    page.locator(".jf-code summary").click()
    code = page.locator(".jf-code pre").inner_text()
    same = run_python(page, f"frame = panel.result(30)\n{code}\nprint(df.equals(frame), len(df))")
    assert same == "True 10956"


def test_what_is_missing_stands_at_its_field(open_notebook: Callable[..., Page]) -> None:
    """Run with nothing filled in sends nothing and says at each field what it needs; mending takes the words away."""
    page = open_notebook(LOAD, "panel = %funcs panel get_panel_daily\npanel")
    run = page.locator("button.jf-run")
    run.click()
    wait_for_state(page, "invalid", 0)
    rule = "Give Symbol or Brand."
    said = ["PanelName is required. List the values with 'Get Panels'.", rule, rule]
    expect(page.locator(".jf-note .jf-bad")).to_have_text(said)
    expect(page.locator(".jf-status")).to_contain_text("Give Symbol or Brand")

    options = page.locator(".jf-field-panelname option")
    expect(options).to_have_count(3, timeout=30_000)
    page.locator(".jf-field-panelname select").select_option(index=1)
    page.locator(".jf-field-symbol input").fill("NOPE US EQUITY")
    expect(page.locator(".jf-note .jf-bad")).to_have_count(0)
    lookback = page.locator(".jf-field-poplookback input")
    lookback.fill("abc")
    lookback.press("Tab")
    expect(page.locator(".jf-note .jf-bad")).to_have_text(["PoPLookback takes a whole number, not 'abc'."])
    lookback.fill("1")
    lookback.press("Tab")
    expect(page.locator(".jf-status")).to_have_text("")
    run.click()
    wait_for_state(page, "invalid", 1)
    expect(page.locator(".jf-note .jf-bad")).to_contain_text(["NOPE US EQUITY"])
    assert run_python(page, "print(panel.form['Symbol'], panel.form['PoPLookback'])") == "NOPE US EQUITY 1"


def test_brands_follow_the_panel(open_notebook: Callable[..., Page]) -> None:
    """The brands are listed once a panel is chosen, and what is picked or typed is sent."""
    page = open_notebook(LOAD, "panel = %funcs panel get_panel_daily\npanel")
    expect(page.locator(".jf-note i")).to_have_text("Fill in PanelName to see the values.")
    expect(page.locator(".jf-field-panelname option")).to_have_count(3, timeout=30_000)
    page.locator(".jf-field-panelname select").select_option(index=1)
    brands = page.locator(".jf-field-brand")
    expect(brands.locator("datalist option")).to_have_count(60, timeout=30_000)
    brands.locator("input").fill("fennloft")
    page.keyboard.press("Tab")
    expect(brands.locator("button")).to_have_text(["Fennloft"])
    brands.locator("input").fill("Nuvarelle")
    page.keyboard.press("Tab")
    # Waited for: ipywidgets may hold a second change of a field back, and a click on Run then overtakes it.
    expect(brands.locator("button")).to_have_text(["Fennloft", "Nuvarelle"])
    page.locator("button.jf-run").click()
    wait_for_state(page, "done", 1)
    assert run_python(page, "print(panel.result().attrs['funcs']['args']['Brand'])") == "['Fennloft', 'Nuvarelle']"


def test_every_function_has_a_form(open_notebook: Callable[..., Page]) -> None:
    """Each function of the catalog opens its form, with a control a parameter, and keeps what was entered."""
    page = open_notebook(LOAD, "panel = %funcs\npanel")
    chooser = page.locator(".jf-list select")
    seen = {}
    for label in [text for text in chooser.locator("option").all_text_contents() if text.startswith("\u00a0")]:
        chooser.select_option(label=label)
        name = label.replace("\u00a0", " ").strip()
        expect(page.locator(".jf-title")).to_have_text(name)
        seen[name] = page.locator(".jf-form [class*=jf-field-]").count()
        if name == "Get Report":
            page.locator(".jf-field-reporttimeafter input").fill("2025-03-04")
            page.keyboard.press("Tab")
    assert seen == {
        "Get Panels": 0,
        "Get Universe": 0,
        "Get Panel Dimensions": 2,
        "Get Panel Daily": 6,
        "Get Panel FQ": 8,
        "Get KPIs": 3,
        "Get Report": 5,
    }
    chooser.select_option(index=0)  # a heading goes on to the function below it
    expect(page.locator(".jf-title")).to_have_text("Get Panels")
    chooser.select_option(label="\u00a0\u00a0Get\u00a0Report")
    expect(page.locator(".jf-title")).to_have_text("Get Report")
    expect(page.locator(".jf-field-reporttimeafter input")).to_have_value("2025-03-04")
    assert run_python(page, "print(panel.form.args)") == "{'report_time_after': '2025-03-04'}"


def test_the_kernel_is_free_while_a_run_goes_on(open_notebook: Callable[..., Page]) -> None:
    """While a run takes seconds the kernel answers, the panel counts, and Cancel ends it; the next run works."""
    page = open_notebook(SLOW.format(seconds=4))
    run, cancel = page.locator("button.jf-run"), page.locator("button.jf-cancel")
    run.click()
    wait_for_state(page, "running", 1)
    assert run_python(page, "print(6 * 7)") == "42"
    expect(page.locator(".jf-status")).to_contain_text("Running")
    expect(run).to_be_disabled()
    cancel.click()
    wait_for_state(page, "cancelled", 1)
    expect(cancel).to_be_disabled()
    run.click()
    wait_for_state(page, "done", 2)
    expect(page.locator(".jf-table tbody tr")).to_have_count(2)


HOSTILE = """import httpx, json, jupyter_funcs as jf
bad = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"
listing = [{"name": bad, "groupName": bad, "description": bad, "params": [
    {"name": bad, "description": f"[Optional] {bad} Options are '{bad}', 'b'."},
    {"name": "plain", "description": bad}]}]
def answer(request):
    if request.url.path.endswith("runFunction"):
        return httpx.Response(200, json=[{bad: bad}])
    return httpx.Response(200, json=listing)
hostile = jf.connect("https://service.example", token="t", transport=httpx.MockTransport(answer))
panel = hostile.panel(hostile.names[0])
panel"""


def test_markup_in_a_catalog_is_text(open_notebook: Callable[..., Page]) -> None:
    """Names, descriptions, options and cells with markup are shown as they are written, and run nothing."""
    page = open_notebook(HOSTILE)
    expect(page.locator(".jf-title")).to_contain_text("<script>")
    page.locator("button.jf-run").click()
    wait_for_state(page, "done", 1)
    expect(page.locator(".jf-table td")).to_contain_text("<script>")
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize("width", [700, 1250])
def test_nothing_is_wider_than_the_page(open_notebook: Callable[..., Page], width: int) -> None:
    """A wide result scrolls inside its own frame, in a narrow window too."""
    page = open_notebook(LOAD, OPEN_DAILY, "panel.run(); panel.result(60).shape")
    page.set_viewport_size({"width": width, "height": 900})
    wait_for_state(page, "done", 1)
    panel, table = page.locator(".jf-panel").bounding_box(), page.locator(".jf-scroll").bounding_box()
    assert panel is not None
    assert table is not None
    assert table["x"] + table["width"] <= panel["x"] + panel["width"] + 1
    assert table["width"] > 200

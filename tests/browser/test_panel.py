"""The panel as a person meets it: in JupyterLab, in a real browser, against the embedded service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.steps import LOAD, choose, open_tab, run_python, wait_for_state
from tests.conftest import SYMBOL

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page


@pytest.mark.slow
def test_python_has_what_the_panel_shows(open_notebook: Callable[..., Page]) -> None:
    """What a person filled in and ran is in the named variable, in the form, and in the code that the panel shows."""
    page = open_notebook(LOAD, "panel = %funcs\npanel")
    choose(page, "daily", "Get Panel Daily")
    panels = page.locator(".jf-field-panelname select")
    expect(panels.locator("option")).to_have_count(3, timeout=30_000)
    panels.select_option(index=1)
    symbols = page.locator(".jf-field-symbol")
    expect(symbols.locator("datalist option").first).to_be_attached()
    symbols.locator("input").fill(SYMBOL.split()[0])
    expect(symbols.locator("datalist option")).to_have_count(1)
    symbols.locator("input").fill(symbols.locator("datalist option").get_attribute("value"))
    page.locator(".jf-field-popgrowth select").select_option(label="Yes")
    page.locator(".jf-field-dimensions select").select_option(label="Region")
    expect(page.locator("button.jf-tag")).to_have_count(1)
    page.locator("button.jf-run").click()
    wait_for_state(page, "done", 1)
    open_tab(page, "Code")
    expect(page.locator(".jf-results pre").first).to_be_visible()
    programs = [text for text in page.locator(".jf-results pre").all_inner_texts() if text.startswith("import")]
    name = page.locator(".jf-variable input").input_value()
    same = run_python(page, f"frame = {name}\n{programs[0]}\nprint(df.equals(frame), len(df), panel.form['Symbol'])")
    assert same == f"True 10956 {SYMBOL}"


@pytest.mark.slow
def test_what_is_missing_stands_at_its_field(open_notebook: Callable[..., Page]) -> None:
    """Nothing can be run before the form is valid; each field says what it needs, and mending takes the words away."""
    page = open_notebook(LOAD, "panel = %funcs panel get_panel_daily\npanel")
    run, summary = page.locator("button.jf-run"), page.locator(".jf-summary")
    expect(run).to_be_disabled()
    expect(summary).to_have_text("To run: give PanelName.")
    options = page.locator(".jf-field-panelname option")
    expect(options).to_have_count(3, timeout=30_000)
    page.locator(".jf-field-panelname select").select_option(index=1)
    page.locator(".jf-field-symbol input").fill("NOPE US EQUITY")
    lookback = page.locator(".jf-field-poplookback input")
    lookback.fill("abc")
    lookback.press("Tab")
    expect(page.locator(".jf-form .jf-bad")).to_have_text(["PoP Lookback takes a whole number, not 'abc'."])
    expect(summary).to_have_text("To run: fix PoPLookback.")
    expect(run).to_be_disabled()
    lookback.fill("1")
    lookback.press("Enter")  # runs, now that it is valid
    wait_for_state(page, "invalid", 1)
    expect(page.locator(".jf-form .jf-bad")).to_contain_text(["NOPE US EQUITY"])
    assert run_python(page, "print(panel.form['Symbol'], panel.form['PoPLookback'])") == "NOPE US EQUITY 1"


@pytest.mark.slow
def test_brands_follow_the_panel(open_notebook: Callable[..., Page]) -> None:
    """The brands are listed once a panel is chosen, and what is picked or typed is sent."""
    page = open_notebook(LOAD, "panel = %funcs panel get_panel_daily\npanel")
    expect(page.locator(".jf-form")).to_contain_text("Fill in PanelName to see the values.")
    expect(page.locator(".jf-field-panelname option")).to_have_count(3, timeout=30_000)
    page.locator(".jf-field-panelname select").select_option(index=1)
    brands = page.locator(".jf-field-brand")
    expect(page.locator(".jf-form")).to_contain_text("60 values from Get Panel Dimensions", timeout=30_000)
    brands.locator("input").fill("fennl")
    expect(brands.locator("datalist option")).to_have_count(1)
    brands.locator("input").fill("fennloft")
    brands.locator("input").press("Enter")
    expect(page.locator("button.jf-tag")).to_have_text(["Remove Fennloft"])
    # A click on Run right behind a change takes the change along.
    brands.locator("input").fill("Nuvarelle")
    page.locator("button.jf-run").click()
    wait_for_state(page, "done", 1)
    assert run_python(page, "print(panel.result().attrs['funcs']['args']['Brand'])") == "['Fennloft', 'Nuvarelle']"


@pytest.mark.slow
def test_every_function_has_a_form(open_notebook: Callable[..., Page]) -> None:
    """Each function of the catalog opens its form, with a control a parameter, and keeps what was entered."""
    page = open_notebook(LOAD, "panel = %funcs\npanel")
    chooser = page.locator(".jf-list select")
    expect(chooser).to_be_visible(timeout=60_000)
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


@pytest.mark.slow
def test_a_panel_beside_another_widget_has_room(open_notebook: Callable[..., Page]) -> None:
    """Put in a row with other widgets the panel takes the width that they leave."""
    row = "import ipywidgets, jupyter_funcs as jf\nipywidgets.HBox([jf.connect().panel(), ipywidgets.Button()])"
    page = open_notebook(row)
    expect(page.locator(".jf-list")).to_be_visible(timeout=60_000)
    panel = page.locator(".jf-panel").bounding_box()
    assert panel is not None
    assert panel["width"] > 500

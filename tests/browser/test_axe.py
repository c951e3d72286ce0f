"""The panel for a person who reads it with assistive technology: axe-core finds nothing serious in any state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.steps import FRESH, LOAD, STUCK, choose, open_tab, turn_dark, wait_for_state
from tests.conftest import PANEL, SYMBOL

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from tests.browser.fronts import Front


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "dark"), [("lab", False), ("lab", True), ("notebook", False), ("voila", False)])
def test_no_state_has_a_serious_finding(
    kind: str,
    dark: bool,
    fronts: Callable[[str], Front],
    open_in: Callable[..., Page],
    findings: Callable[[Page], list[str]],
) -> None:
    """Empty, chosen, invalid, busy, failed, and done with each tab open: nothing serious or critical."""
    page = open_in(fronts(kind), STUCK, FRESH)
    found: dict[str, list[str]] = {}
    expect(page.locator(".jf-list option")).to_have_count(11, timeout=60_000)
    if dark:
        turn_dark(page)
    found["empty"] = findings(page)
    choose(page, "daily", "Get Panel Daily")
    panels = page.locator(".jf-field-panelname select")
    expect(panels.locator("option")).to_have_count(3, timeout=30_000)
    found["chosen"] = findings(page)
    panels.select_option(label="Demo Debit Panel — Synthetic Data Works")
    page.locator(".jf-field-symbol input").fill(SYMBOL)
    page.locator(".jf-field-dimensions select").select_option(label="Region")
    page.locator(".jf-field-poplookback input").fill("abc")
    page.locator(".jf-field-poplookback input").press("Tab")
    expect(page.locator(".jf-form .jf-bad")).to_have_count(1)
    found["invalid"] = findings(page)
    page.locator(".jf-field-poplookback input").fill("1")
    page.locator(".jf-field-poplookback input").press("Tab")
    expect(page.locator("button.jf-run")).to_be_enabled()
    page.locator("button.jf-run").click()
    wait_for_state(page, "running", 1)
    found["busy"] = findings(page)
    page.locator("button.jf-cancel").click()
    wait_for_state(page, "cancelled", 1)
    panels.select_option(label="Demo Card Panel — Synthetic Data Works")
    expect(page.locator("button.jf-run")).to_be_enabled()
    page.locator("button.jf-run").click()
    wait_for_state(page, "done", 2)
    for title in page.locator(".jf-results").get_by_role("tab").all_inner_texts():
        open_tab(page, title)
        if title == "Chart":
            expect(page.locator(".jf-results svg:visible")).to_have_count(1, timeout=30_000)
        page.wait_for_timeout(500)
        found[title] = findings(page)
    page.locator(".jf-field-symbol input").fill("NOPE US EQUITY")
    page.locator(".jf-field-symbol input").press("Tab")
    expect(page.locator("button.jf-run")).to_be_enabled()
    page.locator("button.jf-run").click()
    page.wait_for_selector(".jf-status[data-state=invalid], .jf-status[data-state=failed]", state="attached")
    expect(page.locator(".jf-results .jf-old")).to_be_visible()
    found["failed"] = findings(page)
    said = [f"{state}: {each}" for state, several in found.items() for each in several]
    assert not said, "\n".join(said)


@pytest.mark.slow
def test_the_keyboard_goes_through_the_panel_in_order(open_notebook: Callable[..., Page]) -> None:
    """Tab goes from the search to the list, the fields, Run, the tabs, the variable and Save; each shows its focus."""
    page = open_notebook(LOAD, f'panel = %funcs panel get_panel_daily PanelName="{PANEL}" Symbol="{SYMBOL}"\npanel')
    expect(page.locator(".jf-form")).to_contain_text("60 values", timeout=60_000)
    page.locator("button.jf-run").click()
    wait_for_state(page, "done", 1)
    expect(page.locator(".jf-results .jf-scroll")).to_be_visible()
    page.locator(".jf-search input").focus()
    seen: list[str] = []
    for _ in range(60):
        where, is_shown = page.evaluate(_FOCUSED)
        assert is_shown, where
        if where and where not in seen:
            seen.append(where)
        page.keyboard.press("Tab")
        if where == "jf-save":
            break
    assert seen == [
        *("jf-search", "jf-list", "jf-star"),
        *("jf-field-panelname", "jf-field-symbol", "jf-field-brand"),
        *("jf-field-popgrowth", "jf-field-poplookback", "jf-field-dimensions"),
        *("jf-run", "jf-clear", "tab", "jf-scroll", "jf-variable", "jf-format", "jf-file", "jf-save"),
    ]


# What has the keyboard, by its class, and whether a person sees that.
_FOCUSED = """() => {
    const node = document.activeElement;
    const part = node.closest('[class*="jf-field-"], .jf-search, .jf-list, .jf-star, .jf-run, .jf-clear, [role=tab],'
        + '.jf-scroll, .jf-variable, .jf-format, .jf-file, .jf-save');
    const names = part ? [...part.classList].filter(name => name.startsWith('jf-') && !name.startsWith('jf-at-')) : [];
    const look = getComputedStyle(node);
    const shown = look.outlineStyle !== 'none' || look.boxShadow !== 'none' || node.matches('input, select, textarea');
    return [part?.getAttribute('role') === 'tab' ? 'tab' : names.includes('jf-scroll') ? 'jf-scroll' : names[0] || '',
            shown];
}"""

"""The new panel in JupyterLab and Notebook 7: its keys are its own, and it says when the kernel is busy or gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.steps import start_python

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from tests.browser.fronts import Front

CONNECT = """import httpx, jupyter_funcs as jf
from jupyter_funcs.service import embedded
from jupyter_funcs.panel.widget import PanelWidget
inner = embedded()
funcs = jf.connect("https://service.example", token=inner.token, transport=httpx.ASGITransport(inner.app))"""
SHOW = "panel = PanelWidget(funcs, funcs['Get Panels'])\npanel"


def _hook(name: str) -> str:
    return f'[data-jf="{name}"]'


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lab", "notebook"])
def test_a_person_works_by_keys_until_the_kernel_is_gone(
    kind: str, fronts: Callable[[str], Front], open_in: Callable[..., Page]
) -> None:
    """No key typed on its buttons is a command; the theme is followed; a reload brings all back; a restart is said."""
    page = open_in(fronts(kind), CONNECT, SHOW)
    panel = page.locator(_hook("panel"))
    expect(panel).to_have_attribute("data-state", "form", timeout=60_000)
    cells = page.locator(".jp-Notebook .jp-Cell")
    before = cells.count()
    page.locator(_hook("history")).focus()
    for keys in ("dd", "a", "b", "x", "m"):
        page.keyboard.type(keys)
    assert cells.count() == before

    page.keyboard.press("/")
    page.locator(_hook("picker-search")).fill("panels")
    expect(page.locator(_hook("picker-search"))).to_be_focused()
    expect(page.locator(".jf-opt mark").first).to_have_text("Panels")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.locator(_hook("picker"))).to_be_focused()
    page.keyboard.press("Control+Enter")
    expect(panel).to_have_attribute("data-state", "done", timeout=60_000)
    expect(page.locator(_hook("summary"))).to_contain_text("rows ×")

    page.locator(_hook("tab:code")).click()
    expect(page.locator(_hook("code:python"))).to_be_visible()
    page.evaluate("window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})")
    expect(page.locator(".jf[data-dark]")).to_be_attached()
    page.evaluate("window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Light'})")
    expect(page.locator(".jf[data-dark]")).to_have_count(0)

    # Requests are answered beside a cell that runs, or the panel says what it waits for.
    start_python(page, "import time; time.sleep(3)")
    page.locator(_hook("menu")).click()
    page.locator(_hook("about")).click()
    waits = page.locator(_hook("waiting")).get_by_text("Waiting for the running cell…")
    expect(page.locator(f"{_hook('about-box')} dt").first.or_(waits)).to_be_visible(timeout=2_000)
    expect(page.locator(f"{_hook('about-box')} dt").first).to_be_visible()
    page.keyboard.press("Escape")

    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
    page.reload()
    expect(panel).to_have_attribute("data-state", "done", timeout=60_000)
    expect(page.locator(_hook("tab:code"))).to_have_attribute("aria-selected", "true")
    page.evaluate("void window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    expect(panel).to_have_attribute("data-state", "gone", timeout=10_000)
    expect(page.locator(_hook("kernel-gone"))).to_have_text("The kernel has stopped. Run the cell again to continue.")
    expect(page.locator(_hook("picker"))).to_be_disabled()
    idle = "window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'"
    page.wait_for_function(idle, timeout=60_000)  # a server that restarts a kernel does not stop

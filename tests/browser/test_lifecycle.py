"""A panel in JupyterLab whose kernel ends, whose page is loaded again, and which is shown twice."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import _IDLE, _RUN_ALL
from tests.browser.steps import at, box, look, pick, run, run_python, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from tests.browser.fronts import Front

OPEN = """import jupyter_funcs as jf
panel = jf.connect().panel("Get Panels")
panel"""
SHUT_DOWN = "void window.jupyterapp.shell.currentWidget.sessionContext.shutdown()"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["shut down", "killed"])
def test_that_the_kernel_has_gone_is_said(
    open_notebook: Callable[..., Page], how: str
) -> None:
    """And the result can still be read."""
    page = open_notebook(OPEN)
    run(page)
    process = int(run_python(page, "import os; print(os.getpid())"))
    if how == "killed":
        os.kill(process, signal.SIGKILL)
    else:
        page.evaluate(SHUT_DOWN)
    wait_for(page, "gone")
    assert page.locator('[data-jf="grid"] [role=gridcell]').count() > 0


# Longer than the 2 s after which anywidget gives a model up.
SLOW_TO_UNPACK = """const Unpacked = window.DecompressionStream;
window.DecompressionStream = class {
    constructor(format) {
        const { writable, readable } = new Unpacked(format);
        const start = () => new Promise(resolve => setTimeout(resolve, 3000));
        this.writable = writable;
        this.readable = readable.pipeThrough(new TransformStream({ start }));
    }
};"""


@pytest.mark.slow
def test_a_page_that_loads_the_panel_slowly_still_hears_the_kernel(
    page: Page, open_notebook: Callable[..., Page]
) -> None:
    """What the kernel says before the script is there isn't lost, nor what it says later."""
    page.add_init_script(SLOW_TO_UNPACK)
    open_notebook(f"{OPEN.removesuffix('panel')}panel.run()\npanel.result()\npanel")
    wait_for(page, "done", 1)
    run(page)


@pytest.mark.slow
def test_two_views_of_a_panel_show_the_same(open_notebook: Callable[..., Page]) -> None:
    """A second view follows the first one, and answers by itself."""
    page = open_notebook(OPEN)
    run(page)
    page.evaluate("window.jupyterapp.commands.execute('notebook:create-output-view')")
    page.wait_for_function(
        "document.querySelectorAll('[data-jf=panel][data-state=done]').length === 2",
    )
    page.locator('[data-jf="tab:code"]').nth(1).click()
    page.wait_for_function(
        "document.querySelectorAll('[data-jf=\"code:magic\"]').length === 2",
    )


SOURCES = "window.jupyterapp.shell.currentWidget.context.model.sharedModel.cells.map(cell => cell.source)"
RESTART = (
    "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()"
)
DAILY = "%funcs panel get_panel_daily PanelName='Demo Card Panel' Symbol="


def _change(page: Page, symbol: str) -> None:
    box(page, "Symbol").click()
    page.keyboard.press("Control+a")
    page.keyboard.type(symbol)
    expect(page.locator('[role="option"].is-on')).to_contain_text(symbol)
    page.keyboard.press("Enter")


def _update(page: Page, name: str) -> None:
    """Rename the result, and write it into the panel's cell; the focus moves to the control next to the button."""
    at(page, "var-name").click()
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    expect(at(page, "var-name")).to_have_text(name)
    pick(page, "cell-update")
    expect(at(page, "unsaved")).to_have_count(0)
    expect(at(page, "run")).to_be_focused()
    assert page.evaluate(SOURCES)[1].endswith(f" --run -o {name}")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lab", "notebook"])
def test_what_was_found_survives_restart_and_run_all(
    fronts: Callable[[str], Front], open_in: Callable[..., Page], kind: str
) -> None:
    """Names keep their data, a run becomes a cell, the panel's cell gets new values; a saved notebook is whole."""
    front = fronts(kind)
    page = open_in(front, "%load_ext jupyter_funcs", f"{DAILY}'BKQU US EQUITY' --run")

    wait_for(page, "done", 1)
    expect(at(page, "unsaved")).to_have_count(0)
    _update(page, "bkqu")
    _change(page, "KORD")
    expect(at(page, "unsaved")).to_contain_text(
        "The form differs from this cell: Update cell · Copy"
    )
    run(page, number=2)
    expect(at(page, "var-note")).to_have_text(
        "In panel_daily; bkqu keeps the run before."
    )
    look(page, f"unsaved-{kind}")
    pick(page, "cell-insert")
    line = 'get_panel_daily PanelName="Demo Card Panel" Symbol="KORD LN EQUITY"'
    expect(at(page, "unsaved")).to_have_count(0)
    assert page.evaluate(SOURCES)[2] == f"panel_daily = %funcs call {line}"
    _change(page, "MCHQ")
    pick(page, "cell-update")
    expect(at(page, "unsaved")).to_have_count(0)
    assert (
        page.evaluate(SOURCES)[1]
        == f"%funcs panel {line.replace('KORD LN', 'MCHQ US')} --run"
    )
    run(page, number=3)
    _update(page, "mchq")

    page.evaluate(RESTART)
    page.wait_for_function(_IDLE)
    page.evaluate(f"window.ranAll = false; {_RUN_ALL}")
    page.wait_for_function("window.ranAll")
    wait_for(page, "done", 1)
    expect(at(page, "field:Symbol")).to_contain_text("MCHQ US EQUITY")
    assert run_python(
        page, "print(len(mchq), panel_daily.attrs['funcs']['args']['Symbol'])"
    )

    at(page, "history").focus()
    page.keyboard.press("Control+s")
    page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
    page.goto("about:blank")
    front.stop_kernels()
    page.goto(front.address("test_what_was_found_survives_restart_and_run_all.ipynb"))
    still = page.locator(".jf-still")
    expect(still).to_contain_text("Symbol = MCHQ US EQUITY")
    page.wait_for_timeout(2_000)  # for the word of a widget without its model
    expect(page.get_by_text("Loading widget")).to_be_hidden()
    expect(page.get_by_text("model not found")).to_be_hidden()
    look(page, f"still-{kind}")

"""A panel in JupyterLab whose kernel ends, whose page is loaded again, and which is shown twice."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.browser.steps import run, run_python, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

OPEN = """import jupyter_funcs as jf
panel = jf.connect().panel("Get Panels")
panel"""
SHUT_DOWN = "void window.jupyterapp.shell.currentWidget.sessionContext.shutdown()"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["shut down", "killed"])
def test_that_the_kernel_has_gone_is_said(open_notebook: Callable[..., Page], how: str) -> None:
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


@pytest.mark.slow
def test_two_views_of_a_panel_show_the_same(open_notebook: Callable[..., Page]) -> None:
    """A second view follows the first one, and answers by itself."""
    page = open_notebook(OPEN)
    run(page)
    page.evaluate("window.jupyterapp.commands.execute('notebook:create-output-view')")
    page.wait_for_function(
        "document.querySelectorAll('[data-jf=panel][data-state=done]').length === 2", timeout=60_000
    )
    page.locator('[data-jf="tab:code"]').nth(1).click()
    page.wait_for_function(
        "document.querySelectorAll('[data-jf=\"code:magic\"]').length === 2", timeout=60_000
    )

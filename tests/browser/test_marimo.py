"""The panel in marimo, as a reader of an app sees it: opened, run, in the page's own theme."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.steps import at, look, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

APP = """import marimo
app = marimo.App()

@app.cell
def _():
    import jupyter_funcs as jf
    panel = jf.connect().panel("Get Universe")
    panel
    return
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an app with a panel."""
    pytest.importorskip("marimo")
    folder = tmp_path_factory.mktemp("marimo")
    app: Path = folder / "app.py"
    app.write_text(APP, "utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["run", str(app), "--headless", "--no-token", "-p", str(port)]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "marimo", *options],
            cwd=folder,
            stdout=log,
            stderr=log,
        )
    url = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            if httpx.get(f"{url}/health").status_code == 200:
                break
        except httpx.HTTPError:
            time.sleep(0.1)
    yield url
    server.terminate()
    server.wait(60)


def test_a_panel_runs_in_marimo_in_the_theme_of_its_page(
    address: str, page: Page
) -> None:
    """Light on its white page, whatever way it writes colours."""
    page.goto(address)
    wait_for(page, "form")
    expect(page.locator(".jf[data-dark]")).to_have_count(0)
    at(page, "run").click()
    wait_for(page, "done", 1)
    expect(at(page, "summary")).to_contain_text("rows ×")
    look(page, "marimo")
    at(page, "grid").locator("[role=gridcell]").first.click()
    page.keyboard.press("Space")
    expect(at(page, "cell")).to_be_visible()

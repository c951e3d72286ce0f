"""JupyterLab on a free port, and a browser on it that reaches nothing but this machine."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import nbformat
import pytest
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import BrowserContext, Page, Route

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
TOKEN = "tests"
FOLDERS = (
    "HOME",
    "IPYTHONDIR",
    "JUPYTER_CONFIG_DIR",
    "JUPYTER_DATA_DIR",
    "JUPYTER_RUNTIME_DIR",
    "JUPYTERLAB_SETTINGS_DIR",
    "JUPYTERLAB_WORKSPACES_DIR",
)
_IDLE = "window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"


@dataclass
class Lab:
    """A running JupyterLab."""

    url: str
    folder: Path

    def stop_kernels(self) -> None:
        """End every session, so that the next test starts with none."""
        headers = {"Authorization": f"token {TOKEN}"}
        for session in httpx.get(f"{self.url}/api/sessions", headers=headers).json():
            httpx.delete(f"{self.url}/api/sessions/{session['id']}", headers=headers, timeout=30)


def start_lab(folder: Path, *, dark: bool = False) -> tuple[subprocess.Popen[bytes], Lab]:
    """Start JupyterLab with its every folder below `folder`, and wait until it answers."""
    environment = dict(os.environ)
    for name in FOLDERS:
        environment[name] = str(folder / name)
        (folder / name).mkdir()
    settings = folder / "JUPYTERLAB_SETTINGS_DIR" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
    if dark:
        (settings / "themes.jupyterlab-settings").write_text('{"theme": "JupyterLab Dark"}')
    (folder / "work").mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = [
        "--no-browser",
        "--allow-root",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={TOKEN}",
        f"--ServerApp.root_dir={folder / 'work'}",
        "--LabApp.expose_app_in_browser=True",
    ]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options], env=environment, stdout=log, stderr=subprocess.STDOUT
        )
    lab = Lab(f"http://127.0.0.1:{port}", folder / "work")
    for _ in range(600):
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(f"{lab.url}/api/status?token={TOKEN}").status_code == 200:
                return server, lab
        assert server.poll() is None, (folder / "log").read_text()
        time.sleep(0.1)
    raise AssertionError((folder / "log").read_text())


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab for the whole package of tests."""
    if CHROMIUM is None:
        pytest.skip("There is no Chromium or Chrome on this machine; the panel's browser tests need one.")
    server, lab = start_lab(tmp_path_factory.mktemp("lab"))
    yield lab
    server.terminate()
    server.wait(30)


@pytest.fixture(scope="package")
def context(lab: Lab) -> Iterator[BrowserContext]:
    """A browser that aborts every request to anywhere but this machine, and fails the tests for it."""
    strays: list[str] = []

    def stay(route: Route) -> None:
        host = urlsplit(route.request.url).hostname
        if host in {"127.0.0.1", "localhost", None}:
            route.continue_()
        else:
            strays.append(route.request.url)
            route.abort()

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(viewport={"width": 1250, "height": 1000})
        context.route("**/*", stay)
        yield context
        browser.close()
    assert not strays


@pytest.fixture
def open_notebook(lab: Lab, context: BrowserContext, request: pytest.FixtureRequest) -> Iterator[Callable[..., Page]]:
    """Open a notebook of these cells in JupyterLab, run them all, and give the page."""
    page = context.new_page()

    def open_cells(*cells: str) -> Page:
        name = f"{request.node.originalname}.ipynb"
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(notebook, lab.folder / name)
        page.goto(f"{lab.url}/lab/tree/{name}?token={TOKEN}&reset")
        page.wait_for_function(_IDLE, timeout=60_000)
        page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
        return page

    yield open_cells
    page.close()
    lab.stop_kernels()

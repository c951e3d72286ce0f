"""The background work in the kernels that people have: where a click runs differs from one version to the next."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import lacking
from tests.browser.steps import SLOW, run_python, start_python, wait_for_state

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.browser.fronts import Front

# A click runs on the main thread (6.31, 7.4) or on a subshell's (7.1, 7.3); 7.0 is excluded by the package.
VERSIONS = ["6.31.0", "7.1.0", "7.3.0", "7.4.0"]

pytestmark = pytest.mark.slow


@pytest.fixture(params=VERSIONS)
def kernel(request: pytest.FixtureRequest, lab: Front, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A kernel of JupyterLab's with its own ipykernel, laid over what is installed."""
    name = f"ipykernel-{request.param}"
    overlay = tmp_path_factory.mktemp(name)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", f"--target={overlay}"]
    # nest-asyncio is what 6.31 needs and the later ones do not bring.
    done = subprocess.run(
        [*command, f"ipykernel=={request.param}", "nest-asyncio"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        lacking(f"pip could not bring ipykernel {request.param}: {done.stderr.strip()[-300:]}")
    write_kernel(lab.data / "kernels" / name, overlay)
    return name


def write_kernel(folder: Path, overlay: Path) -> None:
    path = os.pathsep.join(filter(None, [str(overlay), os.environ.get("PYTHONPATH")]))
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    folder.mkdir(parents=True)
    spec = {"argv": argv, "display_name": folder.name, "language": "python", "env": {"PYTHONPATH": path}}
    folder.joinpath("kernel.json").write_text(json.dumps(spec), "utf-8")


def test_run_progress_and_cancel(kernel: str, lab: Front, open_in: Callable[..., Page]) -> None:
    """A run counts on and ends while a cell keeps the kernel busy; Cancel ends one that goes on."""
    page = open_in(lab, SLOW.format(seconds=4), kernel=kernel)
    run, status = page.locator("button.jf-run"), page.locator(".jf-status")
    run.click()
    wait_for_state(page, "running", 1)
    assert run_python(page, "import ipykernel; print(ipykernel.__version__)") == kernel.removeprefix("ipykernel-")
    start_python(page, "import time; time.sleep(8); busy = False")
    expect(status).to_contain_text(re.compile(r"[1-9] s"))
    wait_for_state(page, "done", 1)
    assert page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status") == "busy"
    expect(page.locator(".jf-results .jf-table tbody tr")).to_have_count(2)
    assert run_python(page, "print(busy)") == "False"

    run.click()
    wait_for_state(page, "running", 2)
    page.locator("button.jf-cancel").click()
    wait_for_state(page, "cancelled", 2)
    run.click()
    wait_for_state(page, "done", 3)

"""What Binder makes of `binder/`: the plan of its image, the environment that it lists, and a person's first screen."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from playwright.sync_api import expect, sync_playwright

from tests.browser.conftest import CHROMIUM, FLAGS, PATIENCE, lacking
from tests.browser.steps import CARD, at, choose, fill, look, run, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from playwright.sync_api import Page, Route

ROOT = Path(__file__).parent.parent
BINDER = ROOT / "binder"


@pytest.mark.slow
def test_repo2docker_plans_what_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python of the version that is asked for, the requirements, and then the script, which can be executed."""
    buildpacks = pytest.importorskip(
        "repo2docker.buildpacks",
        reason="repo2docker isn't installed: pip install -e '.[check]'",
    )
    monkeypatch.chdir(ROOT)
    plan = buildpacks.PythonBuildPack("buildpack-deps:jammy")
    plan.platform = "linux/amd64"
    assert plan.detect()
    assert plan.python_version == "3.12"
    dockerfile = plan.render({})
    install = dockerfile.index(
        'pip install --no-cache-dir -r "binder/requirements.txt"'
    )
    assert dockerfile.index("./binder/postBuild") > install


def test_the_script_can_be_executed_and_the_extension_is_what_it_lists() -> None:
    """Also where repo2docker is not installed."""
    assert os.access(BINDER / "postBuild", os.X_OK)
    script = (BINDER / "postBuild").read_text("utf-8")
    assert script.startswith("#!/bin/bash\n")
    assert "binder/jupyter_config.json" in script
    listed = (BINDER / "requirements.txt").read_text("utf-8").splitlines()
    assert "-e .[lab]" in listed
    assert any(line.startswith("voila") for line in listed)


def test_a_plain_address_leads_to_a_notebook_that_is_there() -> None:
    """Each application that Binder may start is sent to the quickstart, by the address that it has for a notebook."""
    config = json.loads((BINDER / "jupyter_config.json").read_text("utf-8"))
    assert {
        name: part["default_url"].partition("notebooks/quickstart")[0]
        for name, part in config.items()
    } == {
        "LabApp": "/lab/tree/",
        "JupyterNotebookApp": "/notebooks/",
    }
    for part in config.values():
        name = (
            part["default_url"].removeprefix("/lab/tree/").removeprefix("/notebooks/")
        )
        assert (ROOT / name).is_file()


def python() -> str:
    """Return the Python that `runtime.txt` asks for, where this machine has it."""
    wanted = (BINDER / "runtime.txt").read_text("utf-8").strip().replace("-", "")
    interpreter = shutil.which(wanted)
    works = (
        interpreter is not None
        and not subprocess.run(
            [interpreter, "--version"], capture_output=True, check=False
        ).returncode
    )
    return interpreter if interpreter is not None and works else sys.executable


@pytest.fixture(scope="module")
def binder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Mapping[str, str]]:
    """A copy of the repository with what Binder would install and run for it, and the variables of its person."""
    folder = tmp_path_factory.mktemp("binder")
    repository = folder / "repository"
    left_out = shutil.ignore_patterns(
        ".*", "__pycache__", "*.egg-info", "build", "dist"
    )
    shutil.copytree(ROOT, repository, ignore=left_out)
    subprocess.run([python(), "-m", "venv", folder / "env"], check=True)
    (folder / "home").mkdir()
    left_out_too = ("FUNCS_", "JUPYTER", "PYTHON", "XDG_")
    environment = {
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith(left_out_too)
        },
        "HOME": str(folder / "home"),
        "PATH": f"{folder / 'env' / 'bin'}:{os.environ['PATH']}",
    }
    # CI has a uv, which has downloaded each package before.
    install = (
        [os.environ["UV"], "pip", "install", "--python", "python"]
        if "UV" in os.environ
        else ["pip", "install"]
    )
    execute(repository, environment, *install, "-r", "binder/requirements.txt")
    built = execute(repository, environment, "./binder/postBuild")
    assert re.search(r"^FQ\d 20\d\d,", built, re.MULTILINE), built
    return repository, environment


def execute(repository: Path, environment: Mapping[str, str], *words: str) -> str:
    done = subprocess.run(
        words,
        cwd=repository,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_it_lists_installs_and_the_first_line_needs_no_load_ext(
    binder: tuple[Path, Mapping[str, str]],
) -> None:
    """In a fresh environment, as Binder's: the requirements, the script, and then a notebook's first line."""
    shown = execute(*binder, "ipython", "--no-banner", "-c", "%funcs call get_panels")
    assert "Demo Card Panel" in shown
    assert Path(os.devnull).is_char_device()


@contextlib.contextmanager
def lab(repository: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """Start JupyterLab as BinderHub does, below a path and with these options; yield its plain address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = [
        "--ip=127.0.0.1",
        f"--port={port}",
        "--NotebookApp.base_url=/user/someone/",
        "--NotebookApp.token=tests",
    ]
    as_a_test = ["--no-browser", "--allow-root", "--ServerApp.port_retries=0"]
    command = ["jupyter-lab", *options, "--NotebookApp.trust_xheaders=True", *as_a_test]
    url = f"http://127.0.0.1:{port}/user/someone/"
    log = repository.with_name("log")
    with log.open("wb") as file:
        server = subprocess.Popen(
            command,
            cwd=repository,
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        for _ in range(600):
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{url}api/status?token=tests").status_code == 200:
                    break
            assert server.poll() is None, log.read_text()
            time.sleep(0.1)
        yield url
    finally:
        server.terminate()
        server.wait(60)


@contextlib.contextmanager
def offline_page() -> Iterator[tuple[Page, list[str]]]:
    """A browser's page that reaches this machine alone, and what it asked for elsewhere."""
    elsewhere: list[str] = []

    def stay(route: Route) -> None:
        if re.match(r"http://127\.0\.0\.1:|data:|blob:", route.request.url):
            route.continue_()
        else:
            elsewhere.append(route.request.url)
            route.abort()

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(PATIENCE)
        page.route("**/*", stay)
        yield page, elsewhere
        browser.close()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_plain_address_opens_the_quickstart_and_its_cells_run(
    binder: tuple[Path, Mapping[str, str]],
) -> None:
    """The first screen is the notebook, with no news before it; its first cells run, with nothing from the network."""
    if CHROMIUM is None:
        lacking(
            "There is no Chromium or Chrome here for the browser tests: apt-get install chromium, or the like."
        )
    data = {
        path: path.stat().st_mtime_ns
        for path in Path(binder[1]["HOME"]).glob(".cache/jupyter_funcs/demo-*")
    }
    assert data
    with lab(*binder) as url, offline_page() as (page, elsewhere):
        page.goto(f"{url}?token=tests")
        assert page.url == f"{url}lab/tree/notebooks/quickstart.ipynb"
        cells = page.locator(".jp-Notebook .jp-CodeCell")
        expect(cells.first).to_be_visible()
        expect(page.locator("#jp-main-statusbar")).to_contain_text("Idle")
        page.wait_for_timeout(3000)  # a question about news would be here by now
        look(page, "binder-1-first")
        expect(page.locator(".Toastify__toast, .jp-Dialog")).to_have_count(0)
        expect(page.locator(".jp-Launcher")).to_have_count(0)

        cells.first.locator(".cm-content").click()
        page.keyboard.press("Shift+Enter")
        expect(cells.first.locator(".jp-InputPrompt")).to_have_text("[1]:")
        expect(cells.first.locator(".jp-OutputArea-output")).to_have_count(0)
        for number in (1, 2):
            cells.nth(number).locator(".cm-content").click()
            page.keyboard.press("Shift+Enter")
        wait_for(page, "done", 1)  # it presses Run itself
        look(page, "binder-2-panel")
        choose(page, "fq", "Get Panel FQ")
        fill(page, "PanelName", CARD)
        fill(page, "Symbol", "NVRA")
        run(page)
        expect(at(page, "grid")).to_contain_text("PeriodLabel")
        look(page, "binder-3-table")
        assert elsewhere == []

        # Voila's own page asks for icons and MathJax from elsewhere; it is whole without.
        page.goto(f"{url}voila/render/notebooks/panel.ipynb?token=tests")
        expect(at(page, "grid")).to_contain_text("PeriodLabel")
        look(page, "binder-4-voila")
    assert {path: path.stat().st_mtime_ns for path in data} == data

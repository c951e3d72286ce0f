"""Front ends, and one browser on them that reaches nothing but this machine."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tarfile
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError
from playwright.sync_api import expect, sync_playwright

from tests.browser.fronts import Front, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import BrowserContext, Page, Route

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    None,
)
FLAGS = [
    *(
        "--no-sandbox",
        "--no-first-run",
        "--disable-gpu",
        "--disable-quic",
        "--disable-sync",
    ),
    *("--disable-background-networking", "--disable-component-update"),
]
# Voila's own page asks for its icons there, panel or not; it gets none here, so no button of ours may need one.
OF_VOILA = "https://cdn.jsdelivr.net/npm/@fortawesome/fontawesome-free@"
AXE = "axe-core@4.14.1"
PATIENCE = 180_000  # milliseconds for one thing; a busy machine takes its time
expect.set_options(timeout=PATIENCE)
_IDLE = "window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
_RUN_ALL = "void window.jupyterapp.commands.execute('notebook:run-all-cells').then(() => { window.ranAll = true })"


def lacking(what: str) -> NoReturn:
    """Skip for what this machine lacks; CI installs it all, and skips nothing."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="package")
def fronts(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str], Front]]:
    """Return a front end by its kind, started at its first use."""
    if CHROMIUM is None:
        lacking(
            "There is no Chromium or Chrome here for the browser tests: apt-get install chromium, or the like."
        )
    started: dict[str, Front] = {}
    with contextlib.ExitStack() as stack:

        def give(kind: str) -> Front:
            if kind not in started:
                started[kind] = stack.enter_context(
                    running(kind, tmp_path_factory.mktemp(kind))
                )
            return started[kind]

        yield give


@pytest.fixture(scope="package")
def lab(fronts: Callable[[str], Front]) -> Front:
    """JupyterLab for the whole package of tests."""
    return fronts("lab")


@pytest.fixture(scope="package")
def strays() -> list[str]:
    """The requests to anywhere but this machine."""
    return []


@pytest.fixture(scope="package")
def context(
    fronts: Callable[[str], Front], strays: list[str]
) -> Iterator[BrowserContext]:
    """A browser that aborts every request to anywhere but this machine, and notes it."""

    def stay(route: Route) -> None:
        host = urlsplit(route.request.url).hostname
        if host in {"127.0.0.1", "localhost", None}:
            route.continue_()
        else:
            if not route.request.url.startswith(OF_VOILA):
                strays.append(route.request.url)
            route.abort()

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.set_default_timeout(PATIENCE)
        context.route("**/*", stay)
        yield context
        browser.close()


@pytest.fixture
def page(context: BrowserContext, strays: list[str]) -> Iterator[Page]:
    """A page of the browser; what asked for anything elsewhere fails."""
    page = context.new_page()
    # A page is active, whichever window of another test's browser has the focus of the system.
    session = context.new_cdp_session(page)
    session.send("Emulation.setFocusEmulationEnabled", {"enabled": True})
    yield page
    page.close()
    requested = [*strays]
    strays[:] = []
    assert not requested


@pytest.fixture
def open_in(
    page: Page, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Page]]:
    """Open a notebook of these cells in a front end, run them all, and return the page."""
    used: list[Front] = []

    def open_cells(front: Front, *cells: str, kernel: str = "python3") -> Page:
        name = f"{request.node.originalname}.ipynb"
        front.write(name, *cells, kernel=kernel)
        used.append(front)
        # Kernels of ipykernel 7.0 to 7.2 leave their first cell pending now and then; a new one is started then.
        for last in (False, True):
            page.goto(front.address(name))
            if front.kind == "voila":  # which runs what it opens
                break
            page.wait_for_function(_IDLE, timeout=60_000)
            page.evaluate(_RUN_ALL)
            try:
                page.wait_for_function("window.ranAll", timeout=60_000)
                break
            except PlaywrightTimeoutError:
                if last:
                    raise
            page.goto("about:blank")
            front.stop_kernels()
        return page

    yield open_cells
    page.goto("about:blank")
    for front in used:
        front.stop_kernels()


@pytest.fixture
def open_notebook(lab: Front, open_in: Callable[..., Page]) -> Callable[..., Page]:
    """Open a notebook of these cells in JupyterLab, run them all, and return the page."""

    def open_cells(*cells: str) -> Page:
        return open_in(lab, *cells)

    return open_cells


@pytest.fixture(scope="session")
def axe_script(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The accessibility checker's program, of a fixed version, from npm."""
    if not (npm := shutil.which("npm")):
        lacking(
            "There is no npm here, which brings the accessibility checker axe-core: apt-get install npm."
        )
    folder = tmp_path_factory.mktemp("axe")
    done = subprocess.run(
        [npm, "pack", AXE, "--silent"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lacking(f"npm could not bring {AXE}: {done.stderr.strip()[-300:]}")
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        archive.extract("package/axe.min.js", folder, filter="data")
    return (folder / "package" / "axe.min.js").read_text("utf-8")


@pytest.fixture
def findings(axe_script: str) -> Callable[..., list[str]]:
    """Return the checker's serious and critical findings in the panel, or in another part."""

    def look(page: Page, part: str = "[data-jf=panel]") -> list[str]:
        if not page.evaluate("Boolean(window.axe)"):
            page.evaluate(axe_script)
        return page.evaluate(
            """async part => (await axe.run(part, {resultTypes: ['violations']})).violations
                .filter(found => ['serious', 'critical'].includes(found.impact))
                .flatMap(found => found.nodes.map(node =>
                    `${found.id}: ${node.html.slice(0, 200)} ${(node.failureSummary || '').slice(0, 300)}`))""",
            part,
        )

    return look

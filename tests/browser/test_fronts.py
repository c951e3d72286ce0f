"""Other front ends and kernels: open, type, run, keys, reload, a busy kernel and one that is gone; and Voila."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from jupyter_funcs.cli.main import copy_notebooks
from tests.browser.conftest import OF_VOILA, lacking
from tests.browser.steps import (
    CARD,
    DEBIT,
    OPEN,
    SERVICE,
    at,
    box,
    choose,
    fill,
    look,
    pick,
    run,
    run_python,
    save_and_reload,
    start_python,
    turn,
    wait_for,
)
from tests.conftest import SYMBOL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.browser.fronts import Front

pytestmark = pytest.mark.slow

GONE = "The kernel has stopped. Run the cell again to continue."
_CONTEXT = "window.jupyterapp.shell.currentWidget.sessionContext"
# How a kernel goes.
RESTART = f"void {_CONTEXT}.restartKernel()"
SHUTDOWN = f"void {_CONTEXT}.shutdown()"
KILL = f"void {_CONTEXT}.session.kernel.requestExecute({{code: 'import os; os.kill(os.getpid(), 9)'}})"
# The ipykernel, where it isn't the installed one; 6.31 needs nest-asyncio, which later ones don't bring.
CASES = [
    ("lab", "", RESTART),
    ("notebook", "", SHUTDOWN),
    ("lab", "6.31.0", KILL),
    ("lab", "7.1.0", RESTART),
]


def kernel(version: str, lab: Front, folder: str) -> str:
    """Install an ipykernel laid over what is installed, and return the name of its kernel."""
    if not version:
        return "python3"
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        f"--target={folder}",
    ]
    wanted = [f"ipykernel=={version}", "nest-asyncio"]
    done = subprocess.run(
        [*install, *wanted], capture_output=True, text=True, check=False
    )
    if done.returncode:
        lacking(
            f"pip could not bring ipykernel {version}: {done.stderr.strip()[-300:]}"
        )
    name = f"ipykernel-{version}"
    path = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {
        "argv": argv,
        "display_name": name,
        "language": "python",
        "env": {"PYTHONPATH": path},
    }
    (lab.data / "kernels" / name).mkdir(parents=True)
    (lab.data / "kernels" / name / "kernel.json").write_text(json.dumps(spec), "utf-8")
    return name


@pytest.mark.parametrize(
    ("kind", "version", "end"),
    CASES,
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_a_person_works_until_the_kernel_is_gone(
    kind: str,
    version: str,
    end: str,
    fronts: Callable[[str], Front],
    open_in: Callable[..., Page],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Run, keys that aren't commands, a busy kernel, Cancel, a reload that restores all, and the kernel's end."""
    front = fronts(kind)
    name = kernel(version, front, str(tmp_path_factory.mktemp("overlay")))
    page = open_in(front, SERVICE, OPEN, "print('last')", kernel=name)
    wait_for(page, "empty")
    choose(page, "daily", "Get Panel Daily")
    expect(box(page, "PanelName")).to_be_focused()
    fill(page, "PanelName", CARD)
    fill(page, "Symbol", SYMBOL.split()[0])
    run(page)
    expect(at(page, "summary")).to_contain_text("1,826 rows × ")
    if version:
        assert (
            run_python(page, "import ipykernel; print(ipykernel.__version__)")
            == version
        )
    look(page, f"front-{kind}-{version or 'newest'}")
    no_key_is_a_command(page)
    a_busy_kernel_is_said(page, tmp_path_factory.mktemp("busy") / "go")
    fill(page, "PanelName", DEBIT)
    run(page, "running")
    at(page, "cancel").click()
    wait_for(page, "done")

    turn(page, "Dark")
    at(page, "tab:chart").click()
    expect(page.locator('[data-jf="plot"] svg path').first).to_be_attached()
    look(page, f"front-{kind}-{version or 'newest'}-dark")
    turn(page, "Light")
    save_and_reload(page)
    wait_for(page, "done")
    expect(at(page, "tab:chart")).to_have_attribute("aria-selected", "true")
    expect(box(page, "Symbol")).to_have_value(SYMBOL)

    page.evaluate(end)
    wait_for(page, "gone")
    expect(at(page, "kernel-gone")).to_have_text(GONE)
    expect(at(page, "picker")).to_be_disabled()
    # What was there can still be read.
    expect(at(page, "summary")).to_contain_text("1,826 rows × ")
    look(page, f"front-{kind}-{version or 'newest'}-gone")


# The cells with their texts and how often they ran, which one is active, and the mode.
_NOTEBOOK = """() => {
    const { content } = window.jupyterapp.shell.currentWidget;
    const cells = content.widgets.map(({ model }) => [model.sharedModel.source, model.executionCount]);
    return JSON.stringify([cells, content.activeCellIndex, content.mode]);
}"""
_KEYS = [
    *"abxzmyrjk1",
    "d",
    "d",
    "ArrowDown",
    "ArrowUp",
    "Escape",
    "Control+a",
    "Shift+M",
    "Shift+Enter",
]
_STOPS = [
    "history",
    "tab:chart",
    "grid",
    "value:PoPGrowth:Default",
    "view-code",
    "run",
    "summary",
]


def no_key_is_a_command(page: Page) -> None:
    """On buttons, boxes, tabs and the grid; nor do Enter and Ctrl+Enter run the notebook's cell."""
    at(page, "more-options").click()
    for stop in _STOPS:
        if stop == "summary":  # a text, not a control
            at(page, stop).click()
        else:
            at(page, stop).focus()
        before = page.evaluate(_NOTEBOOK)
        for key in _KEYS:
            page.keyboard.press(key)
        if page.locator('[data-jf="drawer"]').count():
            page.keyboard.press("Escape")
        assert page.evaluate(_NOTEBOOK) == before, stop
    wait_for(page, "done", 2)  # Shift+Enter on Run has run the panel
    box(page, "PoPLookback").focus()
    before = page.evaluate(_NOTEBOOK)
    for key in ["d", "d", "x", *("Backspace",) * 3, "2", "Enter"]:
        page.keyboard.press(key)
    wait_for(page, "done", 3)
    page.keyboard.press("Control+Enter")
    wait_for(page, "done", 4)
    assert page.evaluate(_NOTEBOOK) == before


def a_busy_kernel_is_said(page: Page, go: Path) -> None:
    """A request is answered while a cell runs, or the panel says what it waits for and answers later."""
    start_python(
        page,
        f"import os, time; [time.sleep(0.05) for _ in iter(lambda: os.path.exists({str(go)!r}), True)]",
    )
    pick(page, "menu", "about")
    facts = page.locator('[data-jf="about-box"] dt').first
    waits = at(page, "waiting").get_by_text("Waiting for the running cell…")
    expect(facts.or_(waits).first).to_be_visible()
    go.touch()
    expect(facts).to_have_text("version")
    page.keyboard.press("Escape")


# Voila 0.5 loads every extension of JupyterLab's, and these two of the tests' environment want more than it has. When
# its page is left, it asks for the end of its kernel without the token that the server wants.
OF_OTHERS = (
    "labextensions/@jupyter-notebook/",
    "ipyparallel-labextension",
    "/voila/api/shutdown/",
)


@pytest.fixture
def opened(
    fronts: Callable[[str], Front], page: Page
) -> Iterator[Callable[[str], Page]]:
    """Open notebooks/panel.ipynb in Voila, and find no error on the page's console at the end."""
    errors: list[str] = []

    def hear(text: str, url: str = "") -> None:
        line = f"{text} {url}"
        if not url.startswith(OF_VOILA) and not any(
            other in line for other in OF_OTHERS
        ):
            errors.append(line)

    page.on(
        "console",
        lambda line: (
            hear(line.text, line.location["url"]) if line.type == "error" else None
        ),
    )
    page.on("pageerror", lambda error: hear(str(error)))

    def open_page(theme: str) -> Page:
        front = fronts("voila")
        copy_notebooks(front.folder)
        page.goto(f"{front.address('panel.ipynb')}&theme={theme}")
        wait_for(page, "done", 1)
        expect(at(page, "summary")).to_contain_text("19 rows × 17 columns")
        return page

    yield open_page
    # What ipywidgets shows in place of a control that it cannot make.
    expect(page.locator("body")).not_to_contain_text("javascript error")
    page.goto("about:blank")  # which ends the page's kernel
    assert errors == []


def test_a_visitor_of_a_voila_page_has_a_table(opened: Callable[[str], Page]) -> None:
    """By keys alone: another company, Run, the chart. Nothing is written for a visitor, and no variable is read."""
    page = opened("light")
    expect(page).to_have_title("Fiscal quarters of a company")
    expect(page.locator(".jp-CodeCell .jp-InputArea, .jp-InputPrompt")).to_have_count(0)
    expect(page.locator("body")).to_contain_text(
        "every company, brand and number is invented"
    )
    expect(box(page, "Symbol")).to_have_value("NVRA US EQUITY")
    first = at(page, "grid").inner_text()
    tab_to(page, '[data-jf="field:Symbol"] input')
    page.keyboard.type(SYMBOL.split()[0])
    expect(page.locator('[role="option"].is-on')).to_contain_text(SYMBOL)
    page.keyboard.press("Enter")
    tab_to(page, '[data-jf="run"]')
    page.keyboard.press("Enter")
    wait_for(page, "done", 2)
    expect(at(page, "grid")).not_to_contain_text(first)
    tab_to(page, '[data-jf="tab:table"]')
    page.keyboard.press("ArrowRight")
    expect(page.locator('[data-jf="plot"] svg path').first).to_be_attached()

    expect(at(page, "var-name")).to_be_disabled()
    at(page, "save").click()
    expect(page.locator('[role="menu"]')).to_contain_text("Download 19 rows")
    expect(at(page, "save-as")).to_have_count(0)
    expect(at(page, "save-download")).to_have_count(0)
    page.keyboard.press("Escape")
    at(page, "field:Symbol").hover()
    at(page, "field-menu:Symbol").click()
    expect(at(page, "each:Symbol")).to_be_visible()
    expect(at(page, "bind:Symbol")).to_have_count(0)
    page.keyboard.press("Escape")
    pick(page, "presets", "preset-save")
    at(page, "preset-name").fill("Mine")
    page.keyboard.press("Enter")
    expect(page.locator('[role="dialog"] [role="alert"]')).to_contain_text(
        "can't be saved from this page"
    )
    page.keyboard.press("Escape")
    page.reload()  # which brings a kernel of its own
    wait_for(page, "done", 1)
    expect(box(page, "Symbol")).to_have_value("NVRA US EQUITY")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_voila_page_keeps_to_its_window(
    theme: str, opened: Callable[[str], Page]
) -> None:
    """In the light and the dark, wide and narrow, with table and chart, the page does not scroll sideways."""
    page = opened(theme)
    for tab in ("table", "chart"):
        at(page, f"tab:{tab}").click()
        part = {"table": '[data-jf="grid"] .jf-td', "chart": '[data-jf="plot"] svg'}[
            tab
        ]
        expect(page.locator(part).first).to_be_visible()
        for width in (1280, 480):
            page.set_viewport_size({"width": width, "height": 900})
            look(page, f"voila-{tab}-{theme}-{width}")
            assert page.evaluate("document.scrollingElement.scrollWidth") <= width


def test_the_address_of_a_voila_page_fills_its_form(
    fronts: Callable[[str], Front], page: Page
) -> None:
    """The panel opens the function with the values that the address names, and runs nothing by itself."""
    front = fronts("voila")
    front.write("linked.ipynb", "import jupyter_funcs as jf\njf.connect().panel()")
    link = urlencode({"funcs": "Get Panel Daily", "PanelName": CARD, "Symbol": SYMBOL})
    page.goto(f"{front.address('linked.ipynb')}&{link}")
    wait_for(page, "form", 0)
    expect(at(page, "picker")).to_contain_text("Get Panel Daily")
    expect(box(page, "PanelName")).to_have_value(CARD)
    expect(box(page, "Symbol")).to_have_value(SYMBOL)
    pick(page, "menu", "about")
    expect(at(page, "about-box").locator("dt").first).to_have_text("version")
    # The kernel has answered since, so a run would have begun.
    wait_for(page, "form", 0)
    page.goto("about:blank")  # which ends the page's kernel


def tab_to(page: Page, part: str) -> None:
    """Press Tab until a part of the panel has the keyboard."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("part => document.activeElement.matches(part)", part):
            return
    raise AssertionError(f"Tab does not come to {part}")

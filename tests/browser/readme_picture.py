"""
Take the README's pictures of the panel, from a real JupyterLab after a real run, in the light and in the dark.

Run as ``python -m tests.browser.readme_picture`` after a change to how the panel looks, and look at them.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from playwright.sync_api import expect, sync_playwright

from tests.browser.conftest import _IDLE, CHROMIUM, FLAGS
from tests.browser.fronts import running
from tests.browser.steps import choose, open_tab, turn_dark, turn_light, wait_for_state
from tests.conftest import SYMBOL

if TYPE_CHECKING:
    from playwright.sync_api import Page

FOLDER = Path(__file__).parents[2] / ".readme"
LARGEST = 250_000  # bytes of a picture, so that the README opens at once
NOTEBOOK = "readme.ipynb"
CELL = "%load_ext jupyter_funcs\n%funcs"
SIZE = {"width": 1180, "height": 1900}  # pixels; all of the cell is in it, so that nothing scrolls


def main() -> None:
    """Write both pictures into ``.readme/`` and print their sizes."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, running("lab", Path(folder)) as lab, sync_playwright() as playwright:
        lab.write(NOTEBOOK, CELL)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport=SIZE, device_scale_factor=1.5)
        page.goto(lab.address(NOTEBOOK))
        page.wait_for_function(_IDLE, timeout=60_000)
        page.evaluate("window.jupyterapp.commands.execute('application:toggle-left-area')")
        page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
        ask(page)
        for turn, theme in ((turn_light, "light"), (turn_dark, "dark")):
            turn(page)
            take(page, FOLDER / f"panel-{theme}.png")
        browser.close()


def ask(page: Page) -> None:
    """Fill in the form of a function, run it, and open the chart."""
    expect(page.locator(".jf-list option")).to_have_count(11, timeout=60_000)
    choose(page, "daily", "Get Panel Daily")
    panels = page.locator(".jf-field-panelname select")
    expect(panels.locator("option")).to_have_count(3, timeout=60_000)
    panels.select_option(label="Demo Card Panel — Synthetic Data Works")
    page.locator(".jf-field-symbol input").fill(SYMBOL)
    page.locator(".jf-field-dimensions select").select_option(label="Region")
    page.locator("button.jf-run").click()
    wait_for_state(page, "done", 1)
    page.locator(".jf-search input").fill("")  # so that the list is whole again, as the pictures show it
    open_tab(page, "Chart")
    expect(page.locator(".jf-results svg:visible")).to_have_count(1, timeout=60_000)


def take(page: Page, path: Path) -> None:
    """Take the picture of the cell, from its code to the foot of the panel."""
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(1500)  # for the theme's own colours to arrive
    panel, code = page.locator(".jf-panel"), page.locator(".jp-Cell-inputWrapper").first
    panel.scroll_into_view_if_needed()
    top, foot = code.bounding_box(), panel.bounding_box()
    assert top is not None
    assert foot is not None
    clip = {"x": top["x"], "y": top["y"], "width": top["width"], "height": foot["y"] + foot["height"] - top["y"] + 8}
    taken = Image.open(io.BytesIO(page.screenshot(clip=clip)))
    taken.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    size = path.stat().st_size
    assert size < LARGEST, f"{path.name} has {size:,} bytes"
    print(f"{path.name}: {size:,} bytes, {clip['width']:.0f} by {clip['height']:.0f} pixels")  # noqa: T201  # for who ran it


if __name__ == "__main__":
    main()

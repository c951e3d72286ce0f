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
from tests.browser.steps import CARD, at, choose, fill, run, run_python, turn, wait_for
from tests.conftest import SYMBOL

if TYPE_CHECKING:
    from playwright.sync_api import Page

FOLDER = Path(__file__).parents[2] / ".readme"
LARGEST = 320_000  # bytes of a picture, so that the README opens at once
NOTEBOOK = "readme.ipynb"
CELL = "%load_ext jupyter_funcs\n%funcs"
# The first run of all makes the data.
WARM = f"import jupyter_funcs as jf; jf.connect()['Get Panel Daily'](PanelName='{CARD}', Symbol='BVQS US EQUITY')"
# Pixels; all of the cell is in it, so that nothing scrolls.
SIZE = {"width": 1240, "height": 900}


def main() -> None:
    """Write both pictures into ``.readme/`` and print their sizes."""
    FOLDER.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        running("lab", Path(folder)) as lab,
        sync_playwright() as playwright,
    ):
        lab.write(NOTEBOOK, CELL)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport=SIZE, device_scale_factor=1.5)
        page.goto(lab.address(NOTEBOOK))
        page.wait_for_function(_IDLE, timeout=60_000)
        page.evaluate(
            "window.jupyterapp.commands.execute('application:toggle-left-area')"
        )
        page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
        ask(page)
        for theme in ("Light", "Dark"):
            turn(page, theme)
            take(page, FOLDER / f"panel-{theme.lower()}.png")
        browser.close()


def ask(page: Page) -> None:
    """Fill in the form of a function, run it, open the chart, and read it at a point."""
    wait_for(page, "empty")
    run_python(page, WARM)
    choose(page, "daily", "Get Panel Daily")
    fill(page, "PanelName", CARD)
    fill(page, "Symbol", SYMBOL.split()[0])
    fill(page, "Dimensions", "Region")
    run(page)
    at(page, "tab:chart").click()
    expect(page.locator('[data-jf^="legend:"]')).to_have_count(6)


def take(page: Page, path: Path) -> None:
    """Take the picture of the cell, from its code to the foot of the panel."""
    panel = at(page, "panel")
    code = page.locator(".jp-Cell-inputWrapper").first
    panel.scroll_into_view_if_needed()
    plot = page.locator('[data-jf="plot"] svg').first.bounding_box()
    assert plot is not None
    page.mouse.move(0, 0)
    page.wait_for_timeout(1500)  # for the theme's own colours to arrive
    page.mouse.move(plot["x"] + plot["width"] * 0.25, plot["y"] + 60)
    expect(at(page, "tooltip")).to_be_visible()
    top = code.bounding_box()
    foot = panel.bounding_box()
    assert top is not None
    assert foot is not None
    clip = {
        **top,
        "width": top["width"] + 2,
        "height": foot["y"] + foot["height"] - top["y"] + 8,
    }
    taken = Image.open(io.BytesIO(page.screenshot(clip=clip)))
    taken.convert("RGB").save(path, optimize=True)
    size = path.stat().st_size
    assert size < LARGEST, f"{path.name} has {size:,} bytes"
    print(  # noqa: T201
        f"{path.name}: {size:,} bytes, {clip['width']:.0f} by {clip['height']:.0f} pixels"
    )


if __name__ == "__main__":
    main()

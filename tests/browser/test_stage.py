"""The panel's page without a kernel: no state has a serious finding of axe-core's, or overflows its place."""

from __future__ import annotations

import functools
import http.server
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import jupyter_funcs as jf
from jupyter_funcs.core import background
from tests.browser.steps import CARD, look
from tests.conftest import SYMBOL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page

PANEL = Path(__file__).parents[2] / "jupyter_funcs/panel"

pytestmark = pytest.mark.slow


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def stage() -> Iterator[str]:
    """The address of the stage, served from the checkout."""
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(_Quiet, directory=PANEL)
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/front/test/stage.html"
        server.shutdown()


def states(page: Page, stage: str, width: int, theme: str) -> Iterator[str]:
    """Show one state after the other; nothing goes wrong in the page's script."""
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(stage)
    names = page.evaluate("states")
    assert len(names) > 40
    for state in names:
        page.evaluate(
            "address => { sessionStorage.clear(); location.hash = address }",
            f"state={state}&width={width}&theme={theme}",
        )
        page.wait_for_selector(f"body[data-ready='{state}']")
        yield state
    assert wrong == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_state_has_a_serious_finding(
    theme: str, stage: str, page: Page, findings: Callable[..., list[str]]
) -> None:
    """In the light and in the dark."""
    findings_by_state = {
        state: findings(page) for state in states(page, stage, 1280, theme)
    }
    assert {
        state: state_findings
        for state, state_findings in findings_by_state.items()
        if state_findings
    } == {}


# Whether each box is ticked, and whether one sees its tick.
_TICKS = """() => [...document.querySelectorAll('.jf-check')].map(check => {
    const box = check.parentElement;
    const state = box.getAttribute('aria-checked') ?? box.getAttribute('aria-selected');
    return [state, getComputedStyle(check.querySelector('svg')).visibility];
})"""


def test_forced_colours_show_which_boxes_are_ticked(stage: str, page: Page) -> None:
    """The colour that hides a tick elsewhere is the system's there, as all colours are."""
    page.emulate_media(forced_colors="active")
    seen: set[tuple[str, str]] = set()
    for state in states(page, stage, 1280, "light"):
        look(page, f"stage-forced-{state}")
        seen.update(map(tuple, page.evaluate(_TICKS)))
    assert seen == {("true", "visible"), ("false", "hidden")}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_a_closed_panel_leaves_has_no_serious_finding(
    theme: str, stage: str, page: Page, findings: Callable[..., list[str]]
) -> None:
    """On the same page: the last result as HTML, with the chart as a picture."""
    panel = jf.connect().panel(
        "Get Panel Daily", PanelName=CARD, Symbol=SYMBOL, Dimensions=["Region"]
    )
    panel.run()
    panel.result(60)
    request = {
        "v": 1,
        "id": 1,
        "kind": "chart",
        "run": 1,
        "wish": {},
        "low": None,
        "high": None,
    }
    background.run(panel._answer({**request, "query": {}}))
    left = panel._state.still_html()
    panel.close()
    assert "<table" in left
    assert "<svg" in left
    page.goto(f"{stage}#state=form&theme={theme}")
    page.wait_for_selector("body[data-ready=form]")
    page.evaluate("left => { document.getElementById('stage').innerHTML = left }", left)
    look(page, f"stage-closed-{theme}")
    assert findings(page, ".jf-still") == []


# The panel's height, what overflows it sideways, and where its parts are.
_LAYOUT = """() => {
    const root = document.querySelector('[data-jf=panel]');
    const at = root.getBoundingClientRect();
    const shown = node => node.checkVisibility() && !node.closest('.jf-off, [popover], .jf-toast');
    const cut = node => { for (let up = node; up !== root; up = up.parentElement)
        if (getComputedStyle(up).overflowX !== 'visible') return true; return false; };
    const out = [...root.querySelectorAll('*')].filter(shown).filter(node => !cut(node)).filter(node => {
        const box = node.getBoundingClientRect();
        return box.width && (box.right > at.right + 1 || box.left < at.left - 1); });
    const part = name => { const box = root.querySelector(`[data-jf="${name}"]`)?.getBoundingClientRect();
        return box?.width ? [box.left, box.top, box.right, box.bottom].map(Math.round) : null; };
    return { height: at.height, out: out.map(node => node.outerHTML.slice(0, 120)).slice(0, 3),
        scrolls: root.scrollWidth > root.clientWidth + 1, inputs: part('inputs'), result: part('result'),
        run: part('run') ?? part('cancel') ?? part('run-again') ?? part('cancel-folded'), bottom: at.bottom };
}"""


def test_a_drawing_is_shown_and_its_script_does_not_run(stage: str, page: Page) -> None:
    """Its own size, at most as wide as the panel."""
    page.goto(f"{stage}#state=file-image&width=1280&theme=dark")
    picture = page.locator('[data-jf="file"] img')
    expect(picture).to_be_visible()
    page.wait_for_function(
        "document.querySelector('[data-jf=file] img').naturalWidth > 0"
    )
    look(page, "stage-file-image-dark")
    assert page.evaluate("window.ran") is None


def test_folded_inputs_keep_the_focus(stage: str, page: Page) -> None:
    """Narrow: what folds the inputs or opens them hides what has the focus, and hands it on."""
    for state in states(page, stage, 480, "light"):
        focused = page.locator(":focus")
        if state in {"running", "running-again"}:
            expect(focused).to_have_attribute("data-jf", "cancel-folded")
        if state == "table":
            page.locator('[data-jf="edit"]').press("Enter")
            expect(page.locator('[data-jf="field:PanelName"] :focus')).to_be_visible()
            page.locator('[data-jf="menu"]').press("Enter")
            # They are above the result anyway.
            expect(page.locator('[data-jf="form-side"]')).to_be_hidden()
            for _ in range(3):
                page.keyboard.press("ArrowDown")
            expect(focused).to_have_attribute("data-jf", "docs")
            page.keyboard.press("Escape")


@pytest.mark.parametrize("width", [345, 480])
def test_the_folded_line_shows_the_company(width: int, stage: str, page: Page) -> None:
    """Long values are cut short, so that most are seen; a chip's title is its whole text."""
    page.goto(f"{stage}#state=table&width={width}&theme=light")
    page.wait_for_selector("body[data-ready=table]")
    look(page, f"stage-fold-{width}")
    line = page.locator('[data-jf="fold"]').bounding_box()
    assert line
    for text in ("Demo Card Panel", "NVRA US EQUITY", "Region"):
        chip = (
            page.locator("[data-jf=fold]").get_by_title(text, exact=True).bounding_box()
        )
        assert chip, text
        assert line["y"] <= chip["y"] < line["y"] + line["height"] - chip["height"], (
            text
        )
        assert chip["x"] + chip["width"] < line["x"] + line["width"] - 80, text
    assert page.locator('[data-jf="fold-rest"]').count() == (width < 480)
    assert page.get_by_role("button", name="Edit", exact=True).is_visible()


@pytest.mark.parametrize(
    ("state", "width", "bar"), [("filtered", 860, ".jf-sub"), ("lost", 1008, ".jf-bar")]
)
def test_a_bar_is_one_line(
    state: str, width: int, bar: str, stage: str, page: Page
) -> None:
    """Two filters, and what undoes them, in a narrow panel; the result's bar beside the inputs, at 1440 px."""
    page.goto(f"{stage}#state={state}&width={width}&theme=light")
    page.wait_for_selector(f"body[data-ready={state}]")
    look(page, f"stage-{state}-{width}")
    assert page.locator(bar).evaluate("bar => bar.offsetHeight") == 40
    if state == "filtered":
        expect(page.locator('[data-jf="reset-view"]')).to_be_visible()


def test_a_toast_covers_no_button_of_the_form(stage: str, page: Page) -> None:
    """It is above the result, also a long one."""
    page.goto(f"{stage}#state=table&width=1008&theme=light")
    page.wait_for_selector("body[data-ready=table]")
    page.locator('[data-jf="menu"]').click()
    page.locator('[data-jf="copy-code"]').click()
    toast = page.locator(".jf-toast")
    toast.evaluate("toast => { toast.textContent += ' and so on'.repeat(40) }")
    over, form = toast.bounding_box(), page.locator('[data-jf="inputs"]').bounding_box()
    assert over
    assert form
    assert over["x"] >= form["x"] + form["width"]
    look(page, "stage-toast")


def test_the_lists_of_a_narrow_chart_say_what_they_choose(
    stage: str, page: Page
) -> None:
    """Not only "Nothing" and "Value"."""
    page.goto(f"{stage}#state=chart&width=480&theme=light")
    page.wait_for_selector("body[data-ready=chart]")
    labels = page.locator(".jf-pick > span")
    assert labels.all_inner_texts() == ["Measure", "Colour by", "Points", "Show as"]
    assert labels.evaluate_all(
        "labels => labels.every(each => each.getBoundingClientRect().width > 20)"
    )


def test_the_label_of_the_sums_stays_in_view(stage: str, page: Page) -> None:
    """It hides no digit of a sum that comes to its place."""
    page.goto(f"{stage}#state=table&width=480&theme=light")
    page.wait_for_selector("body[data-ready=table]")
    grid = page.locator("[data-jf=grid]")
    label = page.get_by_text("Sum", exact=True)
    for left, is_label in ((0, True), (130, True), (260, False)):
        grid.evaluate("(grid, left) => { grid.scrollLeft = left }", left)
        expect(
            page.locator(f'[role=columnheader][aria-colindex="{4 if left else 1}"]')
        ).to_be_visible()
        box = label.bounding_box()
        assert box is not None
        assert (
            abs(box["x"] - grid.evaluate("grid => grid.getBoundingClientRect().left"))
            < 2
        )
        there = "([x, y]) => document.elementFromPoint(x, y).matches('[data-jf^=\"sum:\"]:not(:empty)')"
        assert page.evaluate(there, [box["x"] + 14, box["y"] + 14]) == (not is_label)


def test_few_stops_of_the_tab_key_lead_through_a_panel(stage: str, page: Page) -> None:
    """With a form of eight fields and a table: one a field, one for the tools of the table, one for its headers."""
    page.goto(f"{stage}#state=table&width=1280&theme=light")
    page.wait_for_selector("body[data-ready=table]")
    stops = []
    while len(stops) < 60:
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        stops.append(
            page.evaluate("document.activeElement.closest('[data-jf]').dataset.jf")
        )
    assert len(stops) <= 22, stops
    assert stops[-3:] == ["compute", "grid", "sort:Date"]


# The words of a hint that are to be seen, by field; a word that is cut or lies under the field's tools ends in "…".
_HINTS = """() => Object.fromEntries([...document.querySelectorAll('.jf-field')].map(field => {
    const [line, note, tools] = ['.jf-label', '.jf-note', '.jf-tools'].map(each => field.querySelector(each));
    const at = tools.getBoundingClientRect(), text = note.firstChild, words = [];
    const end = getComputedStyle(tools).opacity > 0 ? at.left : at.right, bottom = line.getBoundingClientRect().bottom;
    for (const { index, 0: word } of text.data.matchAll(/\\S+/g)) {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        const box = range.getBoundingClientRect();
        if (box.top < bottom) words.push(box.right > end + 1 || box.bottom > bottom + 1 ? word + '…' : word);
    }
    return [field.dataset.jf.slice(6), words.join(' ')];
}))"""


def test_a_hint_beside_a_label_is_never_cut_in_a_word(stage: str, page: Page) -> None:
    """It has the words that fit, also beside the tools of a field, and all of them in its title."""
    page.goto(f"{stage}#state=hints&width=1280&theme=light")
    page.wait_for_selector("body[data-ready=hints]")
    look(page, "stage-hints")
    assert page.evaluate(_HINTS)["ToDate"] == "Yes (default)"
    for name in ("", *page.evaluate(_HINTS)):  # with the tools of none, and of each
        if name:
            page.locator(f'[data-jf="field:{name}"]').hover()
            look(page, f"stage-hints-{name}")
        assert [hint for hint in page.evaluate(_HINTS).values() if "…" in hint] == []
    assert page.evaluate(_HINTS)["ToDate"] == "Yes (default)"
    expect(page.locator('[data-jf="field:PoPGrowth"] .jf-note')).to_have_attribute(
        "title", "carried over"
    )


@pytest.mark.parametrize(
    ("width", "theme"), [(1280, "dark"), (860, "light"), (480, "light")]
)
def test_each_state_keeps_to_its_place(
    width: int, theme: str, stage: str, page: Page
) -> None:
    """Nothing overflows sideways. Wide: inputs of 320 px beside the result, from 640 px on; else above it."""
    page.set_viewport_size({"width": 1440, "height": 1300})
    for state in states(page, stage, width, theme):
        layout = page.evaluate(_LAYOUT)
        if state in {
            "form",
            "table",
            "chart",
            "filtered",
            "partial",
            "history",
            "compare",
            "empty",
            "kernel",
        }:
            look(page, f"stage-{state}-{width}-{theme}")
        assert layout["out"] == [], state
        assert not layout["scrolls"], state
        if layout["inputs"] is None or state in {"history", "compare"}:
            continue
        (left, top, right, bottom), result = layout["inputs"], layout["result"]
        if width >= 900 and state != "stacked":
            assert layout["height"] <= 640, state
            assert right - left in range(318, 324), state
            assert result[0] >= right - 1, state
            assert abs(result[1] - top) <= 1, state
        else:
            assert result[1] >= bottom - 1, state
        # Run, or Cancel, is always in view.
        assert layout["run"][3] <= layout["bottom"], state

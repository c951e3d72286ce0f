"""The pictures of charts in a browser's own font: what a person can read of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.panel.test_drawing import CROWDED, FRAMES, NO_WISH, WISHES, picture

if TYPE_CHECKING:
    from playwright.sync_api import Page

# The texts that lie upon each other, or reach out of their picture; two lines of one label may touch.
_UNREADABLE = """() => {
    const picture = document.querySelector('svg').getBoundingClientRect();
    const texts = [...document.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect()]);
    const isOut = box => box.left < picture.left - 1 || box.right > picture.right + 1
        || box.top < picture.top - 1 || box.bottom > picture.bottom + 1;
    const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom - 4 && b.top < a.bottom - 4;
    const out = texts.filter(([, box]) => isOut(box)).map(([text]) => 'out: ' + text);
    const on = texts.flatMap(([text, box], at) => texts.slice(0, at).filter(([, other]) => meet(box, other))
        .map(([other]) => text + ' on ' + other));
    return [...out, ...on];
}"""


@pytest.mark.slow
@pytest.mark.parametrize("narrow", [False, True])
def test_no_text_stands_on_another(page: Page, narrow: bool) -> None:
    """At both widths no two texts of a chart overlap and none is cut off, whatever the days, periods and names."""
    for name, frame in (FRAMES | CROWDED).items():
        svg = picture(frame, WISHES.get(name, NO_WISH), narrow=narrow)
        width = 430 if narrow else 700
        page.set_content(f'<body style="font-family: sans-serif"><div style="width: {width}px">{svg}</div></body>')
        assert page.evaluate(_UNREADABLE) == [], name


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "colour"), [("#fff", "rgb(20, 20, 20)"), ("#111", "rgb(230, 230, 230)")])
def test_a_picture_has_the_colour_of_its_page(page: Page, scheme: str, colour: str) -> None:
    """Texts are drawn in the colour of the text around them, on the page's own ground."""
    look = f"background: {scheme}; color: {colour}"
    page.set_content(f'<body style="{look}">{picture(FRAMES["lines"])}</body>')
    fills = page.evaluate("() => [...document.querySelectorAll('text')].map(text => getComputedStyle(text).fill)")
    assert set(fills) == {colour}
    grounds = page.evaluate("() => [...document.querySelectorAll('svg path')].map(path => getComputedStyle(path).fill)")
    assert "rgb(255, 255, 255)" not in grounds


@pytest.mark.slow
def test_a_picture_leaves_the_page_alone(page: Page) -> None:
    """No rule of a picture reaches what stands beside it."""
    beside = '<svg id="beside"><path d="M 0 0 L 9 9"/></svg>'
    page.set_content(f"<body>{beside}</body>")
    ask = "() => getComputedStyle(document.querySelector('#beside path')).strokeLinejoin"
    before = page.evaluate(ask)
    page.set_content(f"<body>{beside}{picture(FRAMES['lines'])}</body>")
    assert page.evaluate(ask) == before

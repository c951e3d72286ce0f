"""The picture of a chart: what it shows, what it takes over from the page, and what it leaves alone."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from jupyter_funcs.frames.roles import read
from jupyter_funcs.panel.chart.drawing import STYLES, alt, draw
from jupyter_funcs.panel.chart.plot import NO_WISH, Plot, Wish, points, suggest

SVG = "{http://www.w3.org/2000/svg}"
DAYS = pd.date_range("2024-01-01", periods=400)
RNG = np.random.default_rng(6)


def by_region(regions: int = 6, days: int = 400) -> pd.DataFrame:
    rows = [(day, f"Region {n}", 1e6 * (n + 1)) for day in DAYS[:days] for n in range(regions)]
    frame = pd.DataFrame(rows, columns=["Date", "Region", "Spend"])
    return frame.assign(Spend=frame["Spend"] + RNG.normal(0, 1e5, len(frame)))


def picture(frame: pd.DataFrame, wish: Wish = NO_WISH, *, narrow: bool = False) -> str:
    plot = suggest(read(frame), wish)
    assert isinstance(plot, Plot), plot
    return draw(plot, points(plot), narrow=narrow)


def texts(svg: str) -> list[str]:
    return [text.text or "" for text in ET.fromstring(svg).iter(f"{SVG}text")]


QUARTERS = pd.DataFrame({"Period": [f"FQ{q} {y}" for y in (2023, 2024) for q in (1, 2, 3, 4)], "Spend": range(8)})
FRAMES = {
    "a line": by_region(1),
    "lines": by_region(),
    "growth": pd.DataFrame({"Date": DAYS, "Spend Growth": RNG.normal(0.05, 0.02, 400)}),
    "quarters": QUARTERS,
    "stacked": by_region(3, 20),
    "categories": pd.DataFrame({"Brand": list("abcde"), "Spend": [5, -4, 3, 2, 1]}),
    "categories in colours": pd.DataFrame({"A": list("xxyy"), "B": list("pqpq"), "Price": [1, 2, 3, 4]}),
    "one row": pd.DataFrame({"Spend Growth": [0.1], "Cards Growth": [0.2]}),
    "rows": pd.DataFrame({"v": RNG.normal(size=2000)}),
    "hours": pd.DataFrame({"At": pd.date_range("2024", periods=90, freq="h", tz="UTC"), "v": range(90)}),
    "one point": pd.DataFrame({"Date": DAYS[:2], "v": [1, None]}),
    "small numbers": pd.DataFrame({"Date": DAYS[:5], "v": [1e-300, 2e-300, 0, 0, 0]}),
    "zeros": pd.DataFrame({"Date": DAYS[:5], "v": [0] * 5}),
    "far years": pd.DataFrame({"Date": ["0001-01-01", "9999-12-31"], "v": [1, 2]}),
}
# What may run out of room: many days, long names, bars below zero.
CROWDED = {
    **{
        f"{count} times {step}": pd.DataFrame(
            {
                "At": pd.date_range("2015-11-27 05:00", periods=count, freq=step).floor("D" if step == "D" else "min"),
                "v": range(count),
            }
        )
        for step, counts in {"37min": (2, 30, 200), "D": (3, 10, 45, 250, 700, 3000, 9000)}.items()
        for count in counts
    },
    **{
        f"{count} quarters": pd.DataFrame({"P": [f"FQ{at % 4 + 1} {2000 + at // 4}" for at in range(count)], "v": 1})
        for count in (2, 9, 21, 60)
    },
    "long names": pd.DataFrame({"n" * 400: ["x" * 500, "y" * 500], "Spend": [1, 2]}),
    "long colours": by_region(8).assign(Region=lambda frame: frame["Region"] + " of the far end of the world"),
    "below zero": pd.DataFrame({"Spend Growth": [-0.1], "Cards Growth": [0.2]}),
    "far below zero": pd.DataFrame({"Brand": ["a", "b"], "v": [-(2**63), 2**62]}),
}
WISHES = {"stacked": Wish(kind="bar")}


@pytest.mark.slow
@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("name", FRAMES)
def test_every_chart_is_one_small_picture(name: str, narrow: bool) -> None:
    """A chart is well-formed SVG of at most 300 kB that says what it shows; no script, link, style sheet or image."""
    svg = picture(FRAMES[name], WISHES.get(name, NO_WISH), narrow=narrow)
    root = ET.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert "chart: " in (root.get("aria-label") or "")
    assert len(svg) < 300_000
    kinds = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert kinds <= {"svg", "g", "defs", "path", "use", "text", "clipPath", "rect"}
    assert not re.search(r"\bon\w+=|<!--|<\?xml|DOCTYPE|metadata|font-family|DejaVu", svg)
    assert not {value for value in re.findall(r'href="([^"]*)"', svg) if not value.startswith("#")}


def test_the_picture_follows_the_theme() -> None:
    """Texts and axes have the page's own colour, the back is the page's, and only the data have colours."""
    svg = picture(FRAMES["lines"])
    colours = set(re.findall(r"(?:fill|stroke): ([^;\"]+)", svg))
    assert colours - {style.colour for style in STYLES} == {"currentColor", "none"}
    assert svg.count("<text") == svg.count('fill="currentColor"')


@pytest.mark.slow
def test_two_pictures_on_one_page_share_no_id() -> None:
    """An id of one picture is never one of another's, and each link stays in its own picture."""
    with mpl.rc_context({"svg.hashsalt": "the same for all"}):
        first, second = (picture(FRAMES["lines"]) for _ in range(2))
    ids = [set(re.findall(r' id="([^"]*)"', svg)) for svg in (first, second)]
    assert ids[0]
    assert not ids[0] & ids[1]
    for svg, own in zip((first, second), ids, strict=True):
        assert set(re.findall(r'(?:href="#|url\(#)([^")]*)', svg)) <= own


def test_texts_of_the_catalog_are_only_texts() -> None:
    """Markup, mathematics and control characters in names and values are shown, not obeyed."""
    frame = pd.DataFrame(
        {
            "Date": [*DAYS[:4], *DAYS[:4]],
            "</text><script>alert(1)</script>": ["$\\frac{$"] * 4 + ["<b>&amp;\u202e\x00"] * 4,
            'Spend "$x^2$" fill: #010203': range(8),
        }
    )
    svg = picture(frame, Wish(kind="line"))
    shown = " ".join(texts(svg))
    assert "$\\frac{$" in shown
    assert "<b>&amp;\\u202e\\x00" in shown
    assert "fill: #010203" in shown
    assert "</text><script>alert" in shown
    assert "<script" not in svg
    assert "currentColor" not in shown


def test_characters_that_the_font_lacks_are_left_to_the_browser(recwarn: pytest.WarningsRecorder) -> None:
    """A name in any script is a text of the picture, without a warning."""
    svg = picture(pd.DataFrame({"地域": ["東京", "대구"], "Spend": [1, 2]}))
    assert {"東京", "대구"} <= set(texts(svg))
    assert not recwarn.list


ODD = {
    "text.usetex": True,
    "font.family": "serif",
    "font.size": 30,
    "axes.grid": True,
    "axes.titley": 0.5,
    "lines.linewidth": 9,
    "lines.marker": "x",
    "lines.linestyle": ":",
    "path.sketch": (1, 100, 2),
    "svg.fonttype": "path",
    "svg.hashsalt": "x",
    "xtick.top": True,
    "xtick.labelbottom": False,
    "legend.frameon": True,
    "legend.fontsize": 40,
    "figure.dpi": 300,
    "xtick.minor.visible": True,
    "axes.spines.bottom": False,
    "ytick.left": False,
    "patch.force_edgecolor": True,
    "figure.autolayout": True,
    "font.weight": "bold",
    "axes.axisbelow": False,
    "figure.constrained_layout.w_pad": 1,
    "font.style": "italic",
    "axes.titleweight": "light",
    "axes.titlepad": 50,
    "legend.numpoints": 3,
    "legend.title_fontsize": 50,
    "axes.formatter.use_locale": True,
    "axes.unicode_minus": False,
    "timezone": "Asia/Tokyo",
    "lines.antialiased": False,
    "axes.xmargin": 0.4,
    "axes.ymargin": 0.4,
    "ytick.right": True,
    "ytick.labelright": True,
    "lines.dash_capstyle": "round",
    "lines.solid_capstyle": "round",
    "axes.linewidth": 7,
    "legend.labelspacing": 3,
    "legend.handletextpad": 5,
    "legend.borderaxespad": 4,
    "legend.shadow": True,
    "legend.handleheight": 3,
    "axes.prop_cycle": mpl.cycler(color="k", marker="+"),
    "markers.fillstyle": "none",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMES)
def test_what_a_person_has_set_changes_no_picture(name: str) -> None:
    """With any rcParams, TeX and another style among them, the picture is the same, and they stay as they were."""
    wish = WISHES.get(name, NO_WISH)
    mpl.use("agg")  # or the comparison below chooses one
    usual = picture(FRAMES[name], wish)
    before = mpl.rcParams.copy()
    mpl.rcParams.update(ODD)
    set_so = mpl.rcParams.copy()
    try:
        odd = picture(FRAMES[name], wish)
        assert mpl.rcParams == set_so
    finally:
        mpl.rcParams.update(before)
    assert _without_ids(odd) == _without_ids(usual)


def _without_ids(svg: str) -> str:
    names = itertools.count()
    known: dict[str, str] = {}
    return re.sub(r"jf[0-9a-f]{8}-[^\")]*", lambda match: known.setdefault(match[0], f"id{next(names)}"), svg)


@pytest.mark.slow
def test_pictures_drawn_at_once_are_the_pictures_drawn_one_by_one() -> None:
    """Several threads draw at the same time, as several panels do, while pyplot has its figures in the main thread."""
    frame = FRAMES["lines"]
    alone = _without_ids(picture(frame))
    with ThreadPoolExecutor(4) as pool:
        assert {_without_ids(svg) for svg in pool.map(lambda _: picture(frame), range(12))} == {alone}


@pytest.mark.slow
def test_pyplot_is_not_imported() -> None:
    """A chart brings no pyplot, which would choose a back end for the user's own figures."""
    ask = (
        "import sys, pandas as pd; from jupyter_funcs.panel.chart.drawing import draw;"
        "from jupyter_funcs.frames.roles import read;"
        "from jupyter_funcs.panel.chart.plot import suggest; from jupyter_funcs.panel.chart.plot import points;"
        "plot = suggest(read(pd.DataFrame({'v': [1, 2, 3]}))); draw(plot, points(plot));"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", ask], check=False, timeout=120).returncode == 0


def test_what_is_said_of_a_chart() -> None:
    """Who does not see the chart hears its kind, what it shows, from when to when and between which values."""
    frame = pd.DataFrame({"Date": [*DAYS[:2]] * 2, "Region": list("aabb"), "Spend": [1e6, 2e6, 3e6, 4.5e6]})
    plot = suggest(read(frame))
    assert isinstance(plot, Plot)
    said = alt(plot, points(plot))
    assert said == "Line chart: Spend by Region, 2 lines; 2024-01-01 to 2024-01-02; values from 1.00M to 4.50M."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("days", "labels"),
    [
        (pd.date_range("2020-11-16", "2025-11-15"), ["2021", "2022", "2023", "2024", "2025"]),
        (pd.date_range("2024-01-01", periods=400), ["Jan", "2024", "Mar", "May", "Jul", "Sep", "Nov", "Jan", "2025"]),
        (pd.date_range("2024-01-30", periods=4), ["30 Jan", "2024", "31 Jan", "1 Feb", "2 Feb"]),
        (pd.date_range("2024-03-01", periods=24, freq="h"), ["00:00", "1 Mar 2024", "03:00", "06:00", "09:00"]),
    ],
)
def test_dates_say_what_changes(days: pd.DatetimeIndex, labels: list[str]) -> None:
    """Dates are as coarse as the span asks for, and the year or the day is said once below."""
    shown = texts(picture(pd.DataFrame({"Date": days, "v": range(len(days))}), Wish(every="")))
    assert shown[: len(labels)] == labels


def test_lines_and_legend_are_in_one_order() -> None:
    """The legend names the lines in the order in which they end, and a colour stays with its value."""
    frame = by_region(3, 20)
    svg = picture(frame, Wish(kind="line"))
    assert [text for text in texts(svg) if text.startswith("Region ")] == ["Region 2", "Region 1", "Region 0"]
    turned = frame.assign(Spend=-frame["Spend"])
    colours = re.findall(r"stroke: (#\w+)", picture(turned, Wish(kind="line")))
    assert list(dict.fromkeys(colours)) == [style.colour for style in STYLES[:3]]


def test_colour_is_not_the_only_sign() -> None:
    """Each colour can be read on white and on black; two that a colour-blind person takes for one differ in dashes."""
    colours = np.array([[int(style.colour[at : at + 2], 16) for at in (1, 3, 5)] for style in STYLES]) / 255
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    light = linear @ [0.2126, 0.7152, 0.0722]
    assert (1.05 / (light + 0.05)).min() >= 3
    assert ((light + 0.05) / (0.0056 + 0.05)).min() >= 3  # of #111
    for blind in BLIND:
        seen = _lab(linear @ np.array(blind).T)
        for one, other in itertools.combinations(range(len(STYLES)), 2):
            apart = np.linalg.norm(seen[one] - seen[other])
            assert apart > 12 or STYLES[one].dashes != STYLES[other].dashes, (STYLES[one], STYLES[other])
    assert len({(style.dashes, style.marker) for style in STYLES}) == len(STYLES)


# Machado, Oliveira and Fernandes (2009), of no cones for red, for green, for blue.
BLIND = [
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
]


def _lab(linear: np.ndarray) -> np.ndarray:
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = np.clip(linear, 0, 1) @ to_xyz.T / [0.9505, 1, 1.089]
    root = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.stack([116 * root[:, 1] - 16, 500 * (root[:, 0] - root[:, 1]), 200 * (root[:, 1] - root[:, 2])], -1)

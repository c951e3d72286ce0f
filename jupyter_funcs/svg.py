"""A matplotlib figure as SVG that is a part of a page: its text in the page's font, its ink in the page's colour."""

from __future__ import annotations

import html
import io
import re
import uuid
from typing import TYPE_CHECKING, Any

from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.colors import rgb2hex

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = "#010203"  # stands for the page's text colour
_FIRST_UNKNOWN = 0x250  # from there on a font may have a script or not
_SIDES = {"left": (0.0, "start"), "center": (0.5, "middle"), "right": (1.0, "end")}
_ID = re.compile(r' id="([^"]*)"')
_LINK = re.compile(r'(href="#|url\(#)([^")]+)')
_TAG = re.compile(r"<[a-zA-Z][^>]*>")


def svg(figure: Figure, said: str) -> str:
    """
    Give a figure as SVG for a page.

    Parameters
    ----------
    figure
        Drawn in `INK` where the page's text colour is to be.
    said
        What it shows, for those who do not see it.
    """
    return _part(_document(figure), said)


class _Renderer(RendererSVG):
    """Texts stay texts, whatever rcParams say: the browser has every script, and the page's font."""

    def draw_text(self, gc: Any, x: float, y: float, s: str, *more: Any, **named: Any) -> None:
        # By where it is to stand and not by its left end: the page's font has other widths than the one measured by.
        # A line of several has no artist of its own, and only the labels below an axis have several.
        font, artist = more[0], named.get("mtext")
        side = artist.get_ha() if artist else "center"
        width = self.get_text_width_height_descent(s, font, ismath=False)[0]
        look = {"x": f"{x + _SIDES[side][0] * width:.2f}", "y": f"{y:.2f}", "text-anchor": _SIDES[side][1]}
        weight = {"font-weight": "bold"} if font.get_weight() == "bold" else {}
        attributes = {**look, "font-size": f"{font.get_size():g}px", **weight, "fill": rgb2hex(gc.get_rgb())}
        self.writer.element("text", s, attrib=attributes)

    def get_text_width_height_descent(self, s: str, prop: Any, ismath: Any) -> tuple[float, float, float]:
        # What may be missing in matplotlib's font is as wide as a letter, without a warning for each.
        known = "".join(char if ord(char) < _FIRST_UNKNOWN else "M" for char in s)
        # Ignored since the renderer of matplotlib has no types.
        size = super().get_text_width_height_descent(known, prop, ismath)  # type: ignore[no-untyped-call]  # matplotlib has no types there
        return float(size[0]), float(size[1]), float(size[2])


class _Canvas(FigureCanvasBase):
    """Gives what texts are measured by before anything is drawn; matplotlib would load another back end for that."""

    def get_renderer(self) -> Any:
        return _renderer(self.figure, io.StringIO())


def _renderer(figure: Figure, out: io.StringIO) -> Any:
    width, height = (side * 72 for side in figure.get_size_inches())
    make: Any = _Renderer  # matplotlib gives its back ends no types
    return make(width, height, out, image_dpi=72, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))


def _document(figure: Figure) -> str:
    _Canvas(figure)  # is the figure's from now on
    out = io.StringIO()
    renderer = _renderer(figure, out)
    figure.draw(renderer)
    renderer.finalize()
    return out.getvalue()


def _part(svg: str, said: str) -> str:
    """Make a part of a page of a document: nothing in it reaches beyond it, and ids are its own."""
    body = svg[svg.index(">", svg.index("<svg")) + 1 : svg.rindex("</svg>")]
    # matplotlib's style sheet is for every element of the page; the root has it instead, and all below inherit.
    body = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", body, count=1)
    linked, mark = {match[1] for match in _LINK.findall(body)}, f"jf{uuid.uuid4().hex[:8]}-"

    def own(tag: re.Match[str]) -> str:
        text = _ID.sub(lambda match: f' id="{mark}{match[1]}"' if match[1] in linked else "", tag[0])
        text = _LINK.sub(lambda match: f"{match[1]}{mark}{match[2]}", text)
        return text.replace(INK, "currentColor")

    size = re.search(r'viewBox="([^"]*)"', svg)
    root = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" class="jf-svg" role="img" '
        f'viewBox="{size[1] if size else ""}" aria-label="{html.escape(said)}" '
        'style="stroke-linejoin: round; stroke-linecap: butt">'
    )
    return root + re.sub(r"\n\s*", "\n", _TAG.sub(own, body)).strip() + "</svg>"

"""
A chart as an SVG picture, by matplotlib.

Nothing of matplotlib's state is used or changed: no pyplot, and every look that a person's rcParams could give is given
here. The picture takes over the page's text colour and font, so that it suits a light and a dark theme.
"""

from __future__ import annotations

import datetime as dt
import html
import io
import itertools
import math
import re
import threading
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.colors import rgb2hex
from matplotlib.dates import AutoDateLocator, date2num, num2date
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from jupyter_funcs.core.text import clip, inert
from jupyter_funcs.frames.roles import Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    Floats = np.ndarray[Any, np.dtype[np.float64]]
    from matplotlib.artist import Artist

    from jupyter_funcs.panel.chart.plot import Plot, Points


INK = "#010203"  # stands for the page's text colour
_FIRST_UNKNOWN = 0x250  # from there on a font may have a script or not
_SIDES = {"left": (0.0, "start"), "center": (0.5, "middle"), "right": (1.0, "end")}
_ID = re.compile(r' id="([^"]*)"')
_LINK = re.compile(r'(href="#|url\(#)([^")]+)')
_TAG = re.compile(r"<[a-zA-Z][^<>]*+>")


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
    body = re.sub(r"<defs>\s*+<style[^<]*+</style>\s*+</defs>", "", body, count=1)
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


# From which size on a unit is used, and how much it is.
_UNITS = ((1e12, 1e12, "T"), (1e9, 1e9, "B"), (1e6, 1e6, "M"), (1e4, 1e3, "k"), (0.0, 1.0, ""))
_MOST_DECIMALS = 8


def short(value: float, *, percent: bool = False) -> str:
    """Give a number in three digits or so; a fraction as percent on demand."""
    if _is_extreme(abs(value)):
        return _signed(f"{value:.2e}")
    scale, unit = (0.01, "%") if percent else _unit(abs(value))
    size = abs(value) / scale
    decimals = max(0, 2 - math.floor(math.log10(size))) if size else 0
    if not unit and float(value).is_integer():
        decimals = 0
    return _signed(f"{value / scale:,.{min(decimals, 2 if percent else _MOST_DECIMALS)}f}{unit}")


def evenly(values: Sequence[float], *, percent: bool = False) -> list[str]:
    """Give the numbers of an axis, in one unit and with as many decimals as tell them apart."""
    largest = max((abs(value) for value in values), default=0.0)
    if _is_extreme(largest):
        return [_signed(f"{value:.2e}") for value in values]
    scale, unit = (0.01, "%") if percent else _unit(largest)
    scaled = [round(value / scale, _MOST_DECIMALS + 2) for value in values]
    decimals = max((_decimals(value) for value in scaled), default=0)
    return [_signed(f"{value:,.{decimals}f}{unit}") if value else "0" + "%" * percent for value in scaled]


def _unit(size: float) -> tuple[float, str]:
    return next((scale, unit) for least, scale, unit in _UNITS if size >= least)


def _is_extreme(size: float) -> bool:
    return bool(size) and not 1e-6 <= size < 1e16


def _decimals(value: float) -> int:
    text = f"{value:.{_MOST_DECIMALS}f}".rstrip("0")
    return len(text) - text.index(".") - 1


def _signed(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")


_LONGEST = 400  # letters of a label that are looked at
_LETTER = 8.3  # points that one takes below a chart
# By the least days between two ticks: what each label says, and what is said below it when it changes.
_DATE_LABELS = (
    (300, "%Y", ""),
    (27, "%b", "%Y"),
    (1, "%d %b", "%Y"),
    (1 / 1440, "%H:%M", "%d %b %Y"),
    (0, "%H:%M:%S", "%d %b %Y"),
)


def set_measures(axes: Axes, values: Floats, *, percent: bool, zero: bool = False, sideways: bool = False) -> None:
    """Set the limits and the ticks of the axis of a measure, with lines to read it by."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if zero or 0 < low < high / 2 or low / 2 < high < 0:  # that takes not much of the picture
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        low, high = low - (abs(low) / 2 or 1.0), high + (abs(high) / 2 or 1.0)
    margin = high / 20 - low / 20
    low, high = low - margin * (low != 0), high + margin * (high != 0)
    ticks = _ticks(low, high, 6)
    side = "x" if sideways else "y"
    axes.set(**{f"{side}lim": (low, high), f"{side}ticks": ticks, f"{side}ticklabels": evenly(ticks, percent=percent)})
    for tick in ticks:
        rule = (axes.axvline if sideways else axes.axhline)(tick)
        rule.set(color=INK, alpha=0.13 if tick else 0.5, linewidth=0.8, zorder=0.5)
        rule.set(linestyle="-", marker="None", solid_capstyle="butt", antialiased=True)


def along(axes: Axes, index: pd.Index[Any]) -> tuple[Floats, Sequence[float], list[str]]:
    """Give the places of an index on x, and the ticks there with their labels."""
    if isinstance(index, pd.DatetimeIndex):
        return _dates(axes, index)
    if pd.api.types.is_integer_dtype(index.dtype):
        ticks = _ticks(float(index[0]), float(index[-1]), 7)
        return index.to_numpy(dtype=float), ticks, evenly(ticks)
    return np.arange(len(index), dtype=float), *thinned(axes, labels_of(index))


def labels_of(index: pd.Index[Any]) -> list[str]:
    """Give the label of each place."""
    if isinstance(index, pd.DatetimeIndex):
        return list(index.strftime("%Y-%m-%d" if _are_days(index) else "%Y-%m-%d %H:%M"))
    return [f"{label:,}" if isinstance(label, int) else inert(str(label)[:_LONGEST]) for label in index]


def thinned(axes: Axes, labels: Sequence[str]) -> tuple[list[float], list[str]]:
    """Give the places of as many labels as there is room for, and these labels."""
    step = -(-len(labels) * (max(map(len, labels)) + 2) // _letters(axes))
    return [float(at) for at in range(0, len(labels), step)], list(labels[::step])


def _letters(axes: Axes) -> int:
    """Give how many letters stand beside each other below a chart."""
    return int(axes.figure.bbox.width / _LETTER)


def _ticks(low: float, high: float, count: int) -> list[float]:
    found = MaxNLocator(nbins=count, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return [float(tick) for tick in found if low <= tick <= high]


def _dates(axes: Axes, index: pd.DatetimeIndex) -> tuple[Floats, Sequence[float], list[str]]:
    places = date2num(index.to_numpy())
    axes.set_xlim(places[0], places[-1])
    axes.xaxis.set_major_locator(AutoDateLocator(tz=dt.UTC, minticks=4, maxticks=9))
    found = [float(tick) for tick in axes.xaxis.get_majorticklocs() if places[0] <= tick <= places[-1]]
    ticks = [tick for tick in found if tick % 1 == 0 or not _are_days(index)]  # no hours where the times are days
    ticks = ticks[:: -(-len(ticks) * 9 // _letters(axes))] if ticks else []
    return places, ticks, _date_labels([num2date(tick, tz=dt.UTC) for tick in ticks])


def _are_days(index: pd.DatetimeIndex) -> bool:
    return bool((index == index.normalize()).all())


def _date_labels(times: Sequence[dt.datetime]) -> list[str]:
    """Give labels that say what differs from tick to tick, and below it once what does not."""
    steps = [(after - before).total_seconds() / 86400 for before, after in itertools.pairwise(times)]
    days = min(steps, default=1.0)
    fine, coarse = next((fine, coarse) for least, fine, coarse in _DATE_LABELS if days >= least)
    labels, said = [], ""
    for time in times:
        # strftime pads days with a zero, and has no other way that every system knows.
        label, below = (
            time.strftime(form).removeprefix("0" if form.startswith("%d") else "") for form in (fine, coarse)
        )
        labels.append(f"{label}\n{below}" if below != said else label)
        said = below
    return labels


_WIDTH, _NARROW, _HEIGHT, _BAR = 700, 430, 340, 22  # points, each a pixel or so
_FONT = "DejaVu Sans"  # matplotlib's own: on every machine a text is measured alike
_SIZE, _LINE = 11.5, 18
_PLAIN: dict[str, Any] = {"style": "normal", "variant": "normal", "stretch": "normal"}
_LONGEST_LEGEND, _LONGEST_TICK = 22, 28
_MOST_MARKED = 40
_FEW_MARKS = 8
# matplotlib's fonts are for one thread at a time.
_LOCK = threading.Lock()


class Style(NamedTuple):
    """How a line is told from the others: by its colour, and without."""

    colour: str
    dashes: tuple[float, ...]
    marker: str


# Each is readable on white and on #111; two that a colour-blind person may take for one differ in dashes.
STYLES = (
    Style("#2f7fd0", (), "o"),
    Style("#d9701a", (), "s"),
    Style("#1f9e77", (6, 2), "^"),
    Style("#c75aa8", (6, 2), "D"),
    Style("#7f6fe0", (2, 1.5), "v"),
    Style("#d6455a", (2, 1.5), "P"),
    Style("#2a9bb5", (7, 2, 1.5, 2), "X"),
    Style("#a88b14", (7, 2, 1.5, 2), "*"),
)
_OTHER_STYLE = Style("#858585", (1, 1.5), ".")


def draw(plot: Plot, points: Points, *, narrow: bool = False) -> str:
    """Give a chart as SVG for a page."""
    with _LOCK:
        return _part(_document(_figure(plot, points.table, narrow=narrow)), alt(plot, points))


def alt(plot: Plot, points: Points) -> str:
    """Say what the chart shows, for those who do not see it."""
    table = points.table
    what = "lines" if plot.kind == "line" else "colours"
    several = f", {table.shape[1]} {what}" if table.shape[1] > 1 else ""
    first, last = labels_of(table.index[[0, -1]])
    low, high = (short(float(value), percent=plot.percent) for value in (np.nanmin(table), np.nanmax(table)))
    kind = "Line" if plot.kind == "line" else "Bar"
    return inert(f"{kind} chart: {plot.title}{several}; {first} to {last}; values from {low} to {high}.")


def style(plot: Plot, name: str) -> Style:
    """Give the look of one colour of a chart: that of its place in the frame, whatever else is drawn."""
    if plot.colour is None:
        return STYLES[0]
    order = list(plot.top or plot.colour.data.cat.categories)
    return STYLES[order.index(name)] if name in order else _OTHER_STYLE


def _figure(plot: Plot, table: pd.DataFrame, *, narrow: bool) -> Figure:
    sideways = bool(plot.measures) or (plot.x is not None and plot.x.role is Role.DIMENSION)
    bars = len(table) * (1 if plot.stacked else max(1, table.shape[1] * 0.6))
    height = 70 + _BAR * max(4.0, bars) if sideways else _HEIGHT
    engine = ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.06, wspace=0, hspace=0)
    figure = Figure(figsize=((_NARROW if narrow else _WIDTH) / 72, height / 72), dpi=72, frameon=False, layout=engine)
    axes = figure.add_subplot(facecolor="none")
    if plot.kind == "line":
        handles = _lines(axes, plot, table)
    elif sideways:
        handles = _bars_sideways(axes, plot, table)
    else:
        handles = _bars_upright(axes, plot, table)
    _frame(axes, plot, sideways=sideways)
    if plot.colour is not None:
        _legend(figure, plot, handles, narrow=narrow)
    _plain(figure)
    return figure


def _legend(figure: Figure, plot: Plot, handles: dict[Any, Artist], *, narrow: bool) -> None:
    """Name the colours at the side, or below where there is no room at the side."""
    assert plot.colour is not None
    labels = [clip(inert(str(name)[: 4 * _LONGEST_LEGEND]), _LONGEST_LEGEND) or "(empty)" for name in handles]
    columns = max(1, min(3, 44 // (max(map(len, labels)) + 5))) if narrow else 1
    if narrow:
        figure.set_figheight(figure.get_figheight() + (1 + -(-len(labels) // columns)) * _LINE / 72)
    figure.legend(
        list(handles.values()),
        labels,
        loc="outside lower left" if narrow else "outside right upper",
        ncols=columns,
        title=clip(plot.colour.name, _LONGEST_LEGEND),
        frameon=False,
        alignment="left",
        numpoints=1,
        handlelength=2.6 if plot.kind == "line" else 1.2,
        labelspacing=0.55,
        columnspacing=1.5,
        borderpad=0.2,
        handletextpad=0.7,
        handleheight=0.7,
        borderaxespad=0.5,
        fontsize=_SIZE,
        title_fontsize=_SIZE,
    )


def _frame(axes: Axes, plot: Plot, *, sideways: bool) -> None:
    """Give the axes their title and take away all but the line at the foot."""
    beside = max(len(label.get_text()) for label in axes.get_yticklabels())
    letters = int((axes.figure.bbox.width - 20 - 6.4 * beside) / 9.2)  # points that they take, those of the title bold
    axes.set_title(clip(plot.title, letters), loc="left", pad=9, y=1.0, gid="title")
    axes.set_axisbelow(True)
    axes.minorticks_off()
    axes.grid(visible=False)
    axes.tick_params(
        which="both",
        length=0,
        left=False,
        right=False,
        top=False,
        bottom=False,
        labelbottom=True,
        labelleft=True,
        labeltop=False,
        labelright=False,
        labelrotation=0,
    )
    axes.tick_params(axis="x", which="both", pad=8)
    axes.tick_params(axis="y", which="both", pad=5)
    for side, spine in axes.spines.items():
        spine.set(
            visible=side == ("left" if sideways else "bottom"),
            color=INK,
            alpha=0.5,
            linewidth=0.8,
            position=("outward", 0),
        )


def _plain(figure: Figure) -> None:
    """Undo in texts and lines what a person's rcParams say of all of them; no text is read as mathematics."""
    for artist in figure.findobj():
        artist.set(sketch_params=None, path_effects=[])
        if isinstance(artist, Text):
            weight = "bold" if artist.get_gid() == "title" else "normal"
            font = FontProperties(family=_FONT, size=_SIZE + (weight == "bold"), weight=weight, **_PLAIN)
            artist.set(fontproperties=font, color=INK, usetex=False, parse_math=False, antialiased=True)


def _lines(axes: Axes, plot: Plot, table: pd.DataFrame) -> dict[Any, Artist]:
    places, ticks, labels = along(axes, table.index)
    handles: dict[Any, Artist] = {}
    for at, name in enumerate(table.columns):
        look = style(plot, name)
        there = table[name].notna().to_numpy()
        count = int(there.sum())
        step = 1 if count <= _MOST_MARKED else count // _FEW_MARKS
        marked = table.shape[1] > 1 or count <= _MOST_MARKED
        (handles[name],) = axes.plot(
            places[there],
            table[name].to_numpy(dtype=float)[there],
            color=look.colour,
            linestyle=(0, look.dashes) if look.dashes else "-",
            linewidth=1.6,
            marker=look.marker if marked else "None",
            markersize=4.5,
            markerfacecolor=look.colour,
            markeredgewidth=0,
            fillstyle="full",
            dash_capstyle="butt",
            solid_capstyle="round",
            markevery=(at * step // table.shape[1], step) if count > 1 else 1,
            alpha=1.0,
            antialiased=True,
            clip_on=False,
            scalex=False,
            scaley=False,
        )
    margin = (places[-1] - places[0]) * 0.01 or 0.5
    axes.set_xlim(places[0] - margin, places[-1] + margin)
    axes.set_xticks(ticks, labels)
    set_measures(axes, table.to_numpy(dtype=float), percent=plot.percent)
    last = table.ffill().iloc[-1].sort_values(ascending=False, kind="stable")
    return {name: handles[name] for name in last.index}


def _bars_upright(axes: Axes, plot: Plot, table: pd.DataFrame) -> dict[Any, Artist]:
    handles, top = _bars(axes, plot, table)
    axes.set_xlim(-0.6, len(table) - 0.4)
    ticks, labels = thinned(axes, labels_of(table.index))
    axes.set_xticks(ticks, labels)
    set_measures(axes, top, percent=plot.percent, zero=True)
    return dict(reversed(handles.items())) if plot.stacked else handles


def _bars_sideways(axes: Axes, plot: Plot, table: pd.DataFrame) -> dict[Any, Artist]:
    handles, top = _bars(axes, plot, table, sideways=True)
    axes.set_ylim(len(table) - 0.4, -0.6)
    axes.set_yticks(np.arange(len(table)), [clip(label, _LONGEST_TICK) for label in labels_of(table.index)])
    set_measures(axes, top, percent=plot.percent, zero=True, sideways=True)
    if plot.stacked or table.shape[1] == 1:
        low, high = axes.get_xlim()
        room = high - low
        axes.set_xlim(low - room * 0.18 * (low < 0), high + room * 0.08 * (high > 0))
        for at, size in enumerate(map(float, table.sum(axis=1))):
            offset, side = (4, "left") if size >= 0 else (-4, "right")
            text = short(size, percent=plot.percent)
            axes.annotate(text, (size, at), (offset, 0), textcoords="offset points", va="center", ha=side)
    return handles


def _bars(
    axes: Axes, plot: Plot, table: pd.DataFrame, *, sideways: bool = False
) -> tuple[dict[Any, Artist], np.ndarray[Any, Any]]:
    """Draw the bars, beside or upon each other; give them and how far they reach."""
    places = np.arange(len(table), dtype=float)
    values = table.fillna(0.0).to_numpy(dtype=float)
    wide = 0.76 if plot.stacked else 0.8 / table.shape[1]
    base = np.zeros(len(table))
    handles: dict[Any, Artist] = {}
    for at, name in enumerate(table.columns):
        place = places if plot.stacked else places + (at - (table.shape[1] - 1) / 2) * wide
        bars = (axes.barh if sideways else axes.bar)(place, values[:, at], wide * 0.94, base)
        for bar in bars:
            bar.set(facecolor=style(plot, name).colour, edgecolor="none", linewidth=0, alpha=1.0, hatch="")
        handles[name] = bars[0]
        if plot.stacked:
            base = base + values[:, at]
    return handles, base if plot.stacked else values

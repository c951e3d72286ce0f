"""
A chart as an SVG picture, by matplotlib.

Nothing of matplotlib's state is used or changed: no pyplot, and every look that a person's rcParams could give is given
here. The picture takes over the page's text colour and font, so that it suits a light and a dark theme.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text

from jupyter_funcs.axis import along, labels_of, set_measures, thinned
from jupyter_funcs.compact import short
from jupyter_funcs.roles import Role
from jupyter_funcs.svg import INK, svg
from jupyter_funcs.text import clip, inert

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from jupyter_funcs.plots import Plot, Points

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
    """
    Give a chart as SVG for a page.

    Parameters
    ----------
    plot
        What is drawn.
    points
        Its points.
    narrow
        Whether it is for a page that has little room at the side.

    Raises
    ------
    ImportError
        matplotlib is not installed, or does not work.
    """
    with _LOCK:
        return svg(_figure(plot, points.table, narrow=narrow), alt(plot, points))


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

"""A chart as a still picture for the saved notebook: SVG without script, in the colours of either theme."""

from __future__ import annotations

import html
import math
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jupyter_funcs.core.text import clip, inert
from jupyter_funcs.frames.display import UNITS, short_number, with_minus
from jupyter_funcs.panel.chart_plan import COLOURS, time_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from jupyter_funcs.panel.requests import Json

    Vertices = list[tuple[float, float, float]]  # places, values and bases
    Place = Callable[[float, float], str]

LONGEST_TEXT = 400  # characters of a line in a saved notebook
_WIDTH = 720
_HEIGHT = 320
_RIGHT = 150
_TOP = 34
_BOTTOM = 24
_MOST_POINTS = 300  # of a line: the picture is saved with the notebook
_MOST_BARS = 20
_MOST_NAMES = 16
_QUIET = "currentColor"
_FILLED = {"bar", "area", "stack", "histogram"}
_GREY = 'stroke="currentColor" stroke-opacity=".2"'


@cache
def palette() -> str:
    """Return the style sheet of the colours, which the build copies from the page's."""
    return Path(__file__).with_name("static").joinpath("palette.css").read_text("utf-8")


@cache
def _colours() -> list[str]:
    """Return the variables of the style sheet, each with its colour in the light where there is no sheet."""
    light = re.findall("#[0-9a-f]{6}", palette())[:COLOURS]
    return [f"var(--s{number},{colour})" for number, colour in enumerate(light, 1)]


def svg(view: Json) -> str:
    """Return a ``ChartView`` as SVG; empty if it has no series."""
    if not view["series"]:
        return ""

    title = view["title"]
    if view["unit"]:
        title += f" ({view['unit']})"
    columns = 2 if view["panels"] else 1
    width = _WIDTH // columns
    high = _HEIGHT // columns
    if view["kind"] == "bar":
        high = _TOP + 22 * min(len(view["x"]["values"]), _MOST_BARS) + 8
    elif view["kind"] == "stack":
        view = _stacked(view)

    scale = _Scale.of(view)
    drawn = []
    for at, panel in enumerate(view["panels"] or [""]):
        series = [line for line in view["series"] if line["panel"] == panel]
        part = view | {"series": series}
        if view["kind"] == "bar":
            parts = [*_bars(part, scale, width)]
        else:
            parts = [*_lines(part, scale, width, high)]
        left = at % columns * width
        top = at // columns * high
        if panel:
            top += 8
            parts.insert(0, _text(70, 22, panel))
        drawn.append(f'<g transform="translate({left} {top})">{"".join(parts)}</g>')

    height = high * -(-len(drawn) // columns) + 8
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escaped(title, 90)}" '
        f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" font-family="system-ui, sans-serif" '
        'font-size="11" style="max-width:100%;height:auto;color:var(--jp-ui-font-color0,currentColor)">'
        f'<g font-weight="600">{_text(4, 16, title, "start", 90)}</g>{"".join(drawn)}</svg>'
    )


def _stacked(view: Json) -> Json:
    """Return the lines one above the other, in each panel from zero."""
    tops: dict[str, Any] = {}  # by panel
    series = []
    for line in view["series"]:
        values = np.nan_to_num(np.array(line["values"], float))
        base = tops.get(line["panel"], np.zeros(len(values)))
        top = base + values
        tops[line["panel"]] = top
        series.append(line | {"values": top.tolist(), "base": base.tolist()})

    return view | {"series": series}


class _Scale(NamedTuple):
    """The axis of values: its labels, and where between its ends a value is."""

    ticks: list[float]
    labels: list[str]
    turn: Callable[[float], float]
    floor: float  # where areas begin

    @classmethod
    def of(cls, view: Json) -> _Scale:
        """Return the scale of all lines of a view."""
        lines = view["series"]
        values = [
            value for line in lines for value in line["values"] if value is not None
        ]
        if view["log"]:
            lowest = math.floor(math.log10(min(values)))
            highest = math.ceil(math.log10(max(values)))
            powers = range(lowest, max(highest, lowest + 1) + 1)
            marks = [10.0**power for power in powers]
            labels = [_number(mark, view["format"]) for mark in marks]
            return cls(marks, labels, math.log10, marks[0])

        if view["zero"] or view["kind"] in _FILLED:
            values.append(0.0)
        marks = ticks(min(values), max(values))
        return cls(marks, _labels(marks, view["format"]), float, 0.0)

    def share(self, value: float) -> float:
        low, high = self.turn(self.ticks[0]), self.turn(self.ticks[-1])
        return (self.turn(value) - low) / (high - low)


def _text(
    x: float, y: float, text: str, anchor: str = "start", longest: int = 24
) -> str:
    place = f'x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"'
    return f'<text {place} fill="currentColor" fill-opacity=".8">{escaped(text, longest)}</text>'


def _number(value: float, written: str) -> str:
    if written == "percent":
        return with_minus(f"{value * 100:.3g}%")
    return short_number(value)


def _bars(view: Json, scale: _Scale, width: int) -> Iterator[str]:
    """Draw bars from left to right, each with its name before it and its value after it."""
    values = view["series"][0]["values"][:_MOST_BARS]
    across = width - 240
    for at, (value, name) in enumerate(zip(values, view["x"]["labels"], strict=False)):
        top = _TOP + 22 * at
        yield _text(152, top + 12, name, "end")
        if value is None:
            continue

        low, high = sorted(map(scale.share, (scale.floor, value)))
        left = 160 + low * across
        wide = (high - low) * across
        yield f'<rect x="{left:.1f}" y="{top}" width="{wide:.1f}" height="16" fill="{_colours()[0]}"/>'
        yield _text(left + wide + 6, top + 12, _number(value, view["format"]))


def _lines(view: Json, scale: _Scale, width: int, height: int) -> Iterator[str]:
    """Draw all kinds but bars: the axes, the lines, and their names."""
    xs = view["x"]["values"]
    lines = view["series"]
    named = []
    if len(lines) > 1:
        named = [line for line in lines if line["colour"] >= 0][:_MOST_NAMES]

    left = max(64.0, 6.5 * max(map(len, scale.labels)) + 12)
    right = width - (_RIGHT if named else 24)
    foot = height - _BOTTOM
    across = (right - left) / ((xs[-1] - xs[0]) or 1)

    def place(x: float, y: float) -> str:
        """Return where a point is, in pixels."""
        return f"{left + (x - xs[0]) * across:.0f} {foot - scale.share(y) * (foot - _TOP):.1f}"

    for tick, text in zip(scale.ticks, scale.labels, strict=True):
        y = foot - scale.share(tick) * (foot - _TOP)
        opacity = ".12" if tick else ".5"
        yield f'<path d="M{left} {y:.0f}.5H{right}" stroke="currentColor" stroke-opacity="{opacity}"/>'
        yield _text(left - 8, y + 4, text, "end")

    for value, label in _marks(view["x"], (right - left) // 110):
        yield _text(left + (value - xs[0]) * across, height - 6, label, "middle", 16)

    wide = xs[-1] - xs[-2] if len(xs) > 1 else 0
    draw = _DRAWN[view["kind"]]
    # Grey lines, which have no colour, below the others.
    for line in sorted(lines, key=lambda line: line["colour"] >= 0):
        colour = _colour(line)
        yield draw(_points(line, xs, scale.floor), place, colour, wide)
        if line in named:
            y = _TOP + 16 * named.index(line)
            sample = f'<path d="M{right + 12} {y}h14" stroke="{colour}" stroke-width="1.75"/>'
            yield f"{sample}{_text(right + 32, y + 4, line['name'], longest=18)}"


def _colour(line: Json) -> str:
    return _colours()[line["colour"] % COLOURS] if line["colour"] >= 0 else ""


def _marks(axis: Json, most: float) -> list[tuple[float, str]]:
    """Return places along an axis, with their labels."""
    xs = axis["values"]
    if axis["type"] == "number":
        marks = ticks(xs[0], xs[-1])
        inside = [mark for mark in marks if xs[0] <= mark <= xs[-1]]
        return [(mark, _number(mark, axis["format"])) for mark in inside or xs[:1]]

    every = -(-len(xs) // max(1, int(most)))
    shown = xs[::every]
    labels = axis["labels"][::every]
    if axis["type"] == "time":
        times = [f"{time_of(x).round('s'):%Y-%m-%d %H:%M}" for x in shown]
        labels = [time.removesuffix(" 00:00") for time in times]
    return [*zip(shown, labels, strict=True)]


def _points(line: Json, xs: Sequence[float], floor: float) -> Vertices:
    """Return the places, values and bases of a line's points, of many every so many."""
    bases = line.get("base") or [floor] * len(line["values"])
    points = zip(line.get("xs") or xs, line["values"], bases, strict=False)
    present = [point for point in points if point[1] is not None]
    return present[:: -(-len(xs) // _MOST_POINTS)]


def _line(points: Vertices, place: Place, colour: str, wide: float) -> str:
    stroke = _GREY
    if colour:
        stroke = f'stroke="{colour}" stroke-width="1.75"'
    path = "L".join(place(x, y) for x, y, _ in points)
    line = f'<path d="M{path}" fill="none" {stroke}/>'
    # A line of a point or two is hardly seen without them.
    if len(points) < 3:
        line += _dots(points, place, colour, wide)
    return line


def _dots(points: Vertices, place: Place, colour: str, _: float) -> str:
    circles = []
    for x, y, _ in points:
        left, top = place(x, y).split()
        circles.append(f'<circle cx="{left}" cy="{top}" r="3"/>')
    return f'<g fill="{colour or _QUIET}" fill-opacity=".7">{"".join(circles)}</g>'


def _area(points: Vertices, place: Place, colour: str, _: float) -> str:
    """Fill what is between a line and its base."""
    over = [place(x, y) for x, y, _ in points]
    under = [place(x, base) for x, _, base in reversed(points)]
    path = "L".join([*over, *under])
    return f'<path d="M{path}Z" fill="{colour or _QUIET}" fill-opacity=".3"/>{_line(points, place, colour, 0)}'


def _bins(points: Vertices, place: Place, colour: str, wide: float) -> str:
    """Fill a rectangle for each point, up to the next one."""
    bins = [
        "L".join(
            [place(x, base), place(x, y), place(x + wide, y), place(x + wide, base)]
        )
        for x, y, base in points
    ]
    return f'<path d="M{"ZM".join(bins)}Z" fill="{colour}" fill-opacity=".7"/>'


_DRAWN: dict[str, Callable[[Vertices, Place, str, float], str]] = {
    "line": _line,
    "area": _area,
    "stack": _area,
    "scatter": _dots,
    "histogram": _bins,
}


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return round numbers from one at or below `low` to one at or above `high`."""
    span = (high - low) or abs(high) or 1.0
    size = 10 ** math.floor(math.log10(span / count))
    steps = (size * factor for factor in (1, 2, 2.5, 5, 10))
    step = next(step for step in steps if step >= span / count)
    first = math.floor(low / step)
    last = max(math.ceil(high / step - 1e-9), first + 1)
    return [place * step for place in range(first, last + 1)]


def _labels(ticks: Sequence[float], written: str) -> list[str]:
    """Return the labels of an axis, in one unit and with the decimals that their step needs."""
    high = max(map(abs, ticks))
    step = ticks[1] - ticks[0]

    def decimals(size: float) -> int:
        """Return the decimals of the step, written in a unit of this size."""
        digits = np.format_float_positional(step / size, 6, fractional=False, trim="-")
        return len(digits.partition(".")[2])

    power = math.floor(math.log10(high))
    units = [*UNITS]
    if written == "percent":
        units = [(0.01, "%")]
    elif not -5 < power < 15:
        units = [(10.0**power, f"e{power}")]

    size, unit = next(
        (pair for pair in reversed(units) if pair[0] <= high and decimals(pair[0]) < 3),
        units[0],
    )
    places = decimals(size)
    return [
        with_minus(f"{tick / size:,.{places}f}{unit if tick or unit == '%' else ''}")
        for tick in ticks
    ]


def escaped(text: str, length: int = LONGEST_TEXT) -> str:
    return html.escape(clip(inert(text), length))

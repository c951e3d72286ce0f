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
    panels = view["panels"]
    columns = 2 if panels else 1
    width = _WIDTH // columns
    bars = view["kind"] == "bar"
    if bars:
        high = _TOP + 22 * min(len(view["x"]["values"]), _MOST_BARS) + 8
    else:
        high = _HEIGHT // columns

    whole = _stacked(view) if view["kind"] == "stack" else view
    scale = _Scale.of(whole)
    drawn = []
    for at, panel in enumerate(panels or [""]):
        part = whole | {
            "series": [line for line in whole["series"] if line["panel"] == panel]
        }
        lines = _bars(part, scale, width) if bars else _lines(part, scale, width, high)
        name = _text(70, 22, panel) if panel else ""
        place = f"translate({at % columns * width} {at // columns * high + 8 * bool(panel)})"
        drawn.append(f'<g transform="{place}">{name}{"".join(lines)}</g>')

    height = high * -(-len(drawn) // columns) + 8
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escaped(title, 90)}" '
        f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" font-family="system-ui, sans-serif" '
        'font-size="11" style="max-width:100%;height:auto;color:var(--jp-ui-font-color0,currentColor)">'
        f'<g font-weight="600">{_text(4, 16, title, "start", 90)}</g>{"".join(drawn)}</svg>'
    )


def _stacked(view: Json) -> Json:
    """Return the lines one above the other, in each panel from zero."""
    bases: dict[str, Any] = {}
    series = []
    for line in view["series"]:
        base = bases.get(line["panel"], np.zeros(len(line["values"])))
        top = base + np.nan_to_num(np.array(line["values"], float))
        bases[line["panel"]] = top
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
        lines = view["series"]
        values = [
            value for line in lines for value in line["values"] if value is not None
        ]
        if view["log"]:
            low, high = (math.log10(value) for value in (min(values), max(values)))
            powers = range(
                math.floor(low), max(math.ceil(high), math.floor(low) + 1) + 1
            )
            marks = [10.0**power for power in powers]
            return cls(
                marks,
                [_number(mark, view["format"]) for mark in marks],
                math.log10,
                marks[0],
            )

        values += [0.0] if view["zero"] or view["kind"] in _FILLED else []
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
    values = view["series"][0]["values"][:_MOST_BARS]
    for at, (value, name) in enumerate(zip(values, view["x"]["labels"], strict=False)):
        top = _TOP + 22 * at
        yield _text(152, top + 12, name, "end")
        if value is None:
            continue
        low, high = sorted(map(scale.share, (scale.floor, value)))
        left = 160 + low * (width - 240)
        wide = (high - low) * (width - 240)
        yield f'<rect x="{left:.1f}" y="{top}" width="{wide:.1f}" height="16" fill="{_colours()[0]}"/>'
        yield _text(left + wide + 6, top + 12, _number(value, view["format"]))


def _lines(view: Json, scale: _Scale, width: int, height: int) -> Iterator[str]:
    """Draw all kinds but bars: the axes, the lines, and their names."""
    xs = view["x"]["values"]
    lines = view["series"]
    named = [line for line in lines if line["colour"] >= 0 and len(lines) > 1][
        :_MOST_NAMES
    ]
    left = max(64.0, 6.5 * max(map(len, scale.labels)) + 12)
    right = width - (_RIGHT if named else 24)
    foot = height - _BOTTOM
    across = (right - left) / ((xs[-1] - xs[0]) or 1)

    def place(x: float, y: float) -> str:
        return f"{left + (x - xs[0]) * across:.0f} {foot - scale.share(y) * (foot - _TOP):.1f}"

    for tick, text in zip(scale.ticks, scale.labels, strict=True):
        y = foot - scale.share(tick) * (foot - _TOP)
        opacity = ".12" if tick else ".5"
        yield f'<path d="M{left} {y:.0f}.5H{right}" stroke="currentColor" stroke-opacity="{opacity}"/>'
        yield _text(left - 8, y + 4, text, "end")

    for value, label in _marks(view["x"], (right - left) // 110):
        yield _text(left + (value - xs[0]) * across, height - 6, label, "middle", 16)
    # Grey lines below the others.
    for line in sorted(lines, key=lambda line: line["colour"] >= 0):
        colour = _colour(line)
        yield _DRAWN[view["kind"]](
            _points(line, xs, scale.floor),
            place,
            colour,
            xs[-1] - xs[-2] if len(xs) > 1 else 0,
        )
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
        inside = [
            mark for mark in ticks(xs[0], xs[-1]) if xs[0] <= mark <= xs[-1]
        ] or xs[:1]
        return [(mark, _number(mark, axis["format"])) for mark in inside]

    places = range(0, len(xs), -(-len(xs) // max(1, int(most))))
    if axis["type"] == "time":
        dates = {
            xs[at]: f"{time_of(xs[at]).round('s'):%Y-%m-%d %H:%M}" for at in places
        }
        return [(x, date.removesuffix(" 00:00")) for x, date in dates.items()]

    return [(xs[at], axis["labels"][at]) for at in places]


def _points(line: Json, xs: Sequence[float], floor: float) -> Vertices:
    """Return the places, values and bases of a line's points, of many every so many."""
    bases = line.get("base") or [floor] * len(line["values"])
    points = zip(line.get("xs") or xs, line["values"], bases, strict=False)
    present = [point for point in points if point[1] is not None]
    return present[:: -(-len(xs) // _MOST_POINTS)]


def _line(points: Vertices, place: Place, colour: str, wide: float) -> str:
    stroke = f'stroke="{colour}" stroke-width="1.75"' if colour else _GREY
    path = "L".join(place(x, y) for x, y, _ in points)
    # A line of a point or two is hardly seen without them.
    dots = _dots(points, place, colour, wide) if len(points) < 3 else ""
    return f'<path d="M{path}" fill="none" {stroke}/>{dots}'


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
    step = next(
        size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= span / count
    )
    first = math.floor(low / step)
    return [
        place * step
        for place in range(first, max(math.ceil(high / step - 1e-9), first + 1) + 1)
    ]


def _labels(ticks: Sequence[float], written: str) -> list[str]:
    """Return the labels of an axis, in one unit and with the decimals that their step needs."""
    high = max(map(abs, ticks))
    step = ticks[1] - ticks[0]

    def decimals(size: float) -> int:
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

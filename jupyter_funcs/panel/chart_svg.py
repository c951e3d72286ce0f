"""A chart as a still picture for the saved notebook: SVG without script, in the colours of either theme."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

import numpy as np

from jupyter_funcs.core.text import clip, inert
from jupyter_funcs.frames.display import UNITS, short_number, with_minus
from jupyter_funcs.panel.chart_plan import time_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jupyter_funcs.panel.requests import Json

LONGEST_TEXT = 400  # characters of a line in a saved notebook
_WIDTH = 720
_HEIGHT = 320
_RIGHT = 150
_TOP = 34
_BOTTOM = 24
_MOST_POINTS = 300  # of a line: the picture is saved with the notebook
_MOST_BARS = 20
_MOST_NAMES = 16
# Dark enough on white and light enough on black.
_COLOURS = ("#2f6fd0", "#c8641b", "#17856f", "#b4508f", "#8a7a1c", "#6a62d8", "#5b7f95", "#b0503c")


def svg(view: Json) -> str:
    """Return a ``ChartView`` as SVG; empty if it has no series."""
    if not view["series"]:
        return ""
    title = view["title"] + (f" ({view['unit']})" if view["unit"] else "")
    bars = view["kind"] == "bar"
    height = _TOP + 22 * min(len(view["x"]["values"]), _MOST_BARS) + 8 if bars else _HEIGHT
    drawn = "".join(_bars(view) if bars else _lines(view))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escaped(title, 90)}" '
        f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" font-family="system-ui, sans-serif" '
        'font-size="11" style="max-width:100%;height:auto;color:var(--jp-ui-font-color0,currentColor)">'
        f'<g font-weight="600">{_text(4, 16, title, "start", 90)}</g>{drawn}</svg>'
    )


def _text(x: float, y: float, text: str, anchor: str = "start", longest: int = 24) -> str:
    place = f'x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"'
    return f'<text {place} fill="currentColor" fill-opacity=".8">{escaped(text, longest)}</text>'


def _number(value: float, written: str) -> str:
    return with_minus(f"{value * 100:.3g}%") if written == "percent" else short_number(value)


def _bars(view: Json) -> Iterator[str]:
    values = view["series"][0]["values"][:_MOST_BARS]
    low = min(0.0, *values)
    scale = (_WIDTH - 160 - 80) / ((max(0.0, *values) - low) or 1)
    for at, (value, name) in enumerate(zip(values, view["x"]["labels"], strict=False)):
        top = _TOP + 22 * at
        left = 160 + (min(value, 0) - low) * scale
        wide = abs(value) * scale
        yield _text(152, top + 12, name, "end")
        yield f'<rect x="{left:.1f}" y="{top}" width="{wide:.1f}" height="16" fill="{_COLOURS[0]}"/>'
        yield _text(left + wide + 6, top + 12, _number(value, view["format"]))


def _lines(view: Json) -> Iterator[str]:
    xs = view["x"]["values"]
    lines = view["series"]
    values = [value for line in lines for value in line["values"] if value is not None] + [
        0.0
    ] * view["zero"]
    ticks = _ticks(min(values), max(values))
    texts = _labels(ticks, view["format"])
    left = max(64.0, 6.5 * max(map(len, texts)) + 12)
    right = _WIDTH - (_RIGHT if len(lines) > 1 else 24)
    foot = _HEIGHT - _BOTTOM
    across = (right - left) / ((xs[-1] - xs[0]) or 1)
    down = (foot - _TOP) / (ticks[-1] - ticks[0])
    for tick, text in zip(ticks, texts, strict=True):
        y = foot - (tick - ticks[0]) * down
        yield f'<path d="M{left} {y:.0f}.5H{right}" stroke="currentColor" stroke-opacity="{".12" if tick else ".5"}"/>'
        yield _text(left - 8, y + 4, text, "end")
    for at in range(0, len(xs), -(-len(xs) // 5)):
        if view["x"]["type"] == "time":
            label = f"{time_of(xs[at]).round('s'):%Y-%m-%d %H:%M}".removesuffix(" 00:00")
        else:
            label = view["x"]["labels"][at]
        yield _text(left + (xs[at] - xs[0]) * across, _HEIGHT - 6, label, "middle", 16)
    named = [line for line in lines if line["colour"] >= 0 and len(lines) > 1][:_MOST_NAMES]
    for line in sorted(lines, key=lambda line: line["colour"] >= 0):  # grey lines below the others
        points = [point for point in zip(xs, line["values"], strict=True) if point[1] is not None]
        points = points[:: -(-len(xs) // _MOST_POINTS)]
        path = "L".join(
            f"{left + (x - xs[0]) * across:.0f} {foot - (y - ticks[0]) * down:.1f}"
            for x, y in points
        )
        stroke = 'stroke="currentColor" stroke-opacity=".2"'
        if line["colour"] >= 0:
            stroke = f'stroke="{_COLOURS[line["colour"] % 8]}" stroke-width="1.75"'
        yield f'<path d="M{path}" fill="none" {stroke}/>'
        if line in named:
            y = _TOP + 16 * named.index(line)
            yield f'<path d="M{right + 12} {y}h14" {stroke}/>{_text(right + 32, y + 4, line["name"], longest=18)}'


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers from one at or below `low` to one at or above `high`."""
    span = (high - low) or abs(high) or 1.0
    size = 10 ** math.floor(math.log10(span / 5))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= span / 5)
    first = math.floor(low / step)
    return [
        place * step for place in range(first, max(math.ceil(high / step - 1e-9), first + 1) + 1)
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
        (pair for pair in reversed(units) if pair[0] <= high and decimals(pair[0]) < 3), units[0]
    )
    places = decimals(size)
    return [
        with_minus(f"{tick / size:,.{places}f}{unit if tick or unit == '%' else ''}")
        for tick in ticks
    ]


def escaped(text: str, length: int = LONGEST_TEXT) -> str:
    return html.escape(clip(inert(text), length))

"""A chart as a still picture for the saved notebook: SVG without script, in the colours of either theme."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from jupyter_funcs.core.text import clip, inert
from jupyter_funcs.frames.display import short_number
from jupyter_funcs.panel.chart_plan import STEPS, day_of, time_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LONGEST_TEXT = 400  # characters of a line of what stays in a notebook
_WIDTH, _HEIGHT = 720, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 150, 34, 24
_MOST_POINTS = 300  # of a line: the picture is saved with the notebook
_MOST_BARS = 20
# Dark enough on white and light enough on black.
_COLOURS = ("#2f6fd0", "#c8641b", "#17856f", "#b4508f", "#8a7a1c", "#6a62d8", "#5b7f95", "#b0503c")
_INK = 'fill="currentColor" fill-opacity=".8"'


def svg(view: Mapping[str, Any]) -> str:
    """Return a picture of a ``ChartView``; nothing if it draws nothing."""
    if not view["series"]:
        return ""
    title = escaped(view["title"] + (f" ({view['unit']})" if view["unit"] else ""), 90)
    bars = view["kind"] == "bar"
    height = _TOP + 22 * min(len(view["x"]["values"]), _MOST_BARS) + 8 if bars else _HEIGHT
    drawn = "".join(_bars(view) if bars else _lines(view))
    style = "max-width:100%;height:auto;color:var(--jp-ui-font-color0,currentColor)"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{title}" '
        f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" style="{style}" '
        f'font-family="system-ui, sans-serif" font-size="11">'
        f'<text x="4" y="16" font-weight="600" {_INK}>{title}</text>{drawn}</svg>'
    )


def number_text(value: float, written: str) -> str:
    """Return a number in short: ``1.2M``, ``34%``."""
    return f"{value * 100:.3g}%" if written == "percent" else short_number(value)


def _bars(view: Mapping[str, Any]) -> Iterator[str]:
    values = view["series"][0]["values"][:_MOST_BARS]
    low, high = min(0.0, *values), max(0.0, *values)
    scale = (_WIDTH - 160 - 80) / ((high - low) or 1)
    for at, value in enumerate(values):
        top, left = _TOP + 22 * at, 160 + (min(value, 0) - low) * scale
        yield f'<text x="152" y="{top + 12}" text-anchor="end" {_INK}>{escaped(view["x"]["labels"][at], 24)}</text>'
        yield f'<rect x="{left:.1f}" y="{top}" width="{abs(value) * scale:.1f}" height="16" fill="{_COLOURS[0]}"/>'
        end = left + abs(value) * scale + 6
        yield f'<text x="{end:.1f}" y="{top + 12}" {_INK}>{number_text(value, view["format"])}</text>'


def _lines(view: Mapping[str, Any]) -> Iterator[str]:
    xs = view["x"]["values"]
    every = -(-len(xs) // _MOST_POINTS)
    known = [value for line in view["series"] for value in line["values"] if value is not None]
    known += [0.0] * view["zero"]
    ticks = _ticks(min(known), max(known))
    low, high = ticks[0], ticks[-1]
    right, foot = _WIDTH - (_RIGHT if len(view["series"]) > 1 else 24), _HEIGHT - _BOTTOM
    across = (right - _LEFT) / ((xs[-1] - xs[0]) or 1)
    down = (foot - _TOP) / (high - low)
    for tick in ticks:
        y = round(foot - (tick - low) * down) + 0.5
        yield f'<path d="M{_LEFT} {y}H{right}" stroke="currentColor" stroke-opacity="{".5" if tick == 0 else ".12"}"/>'
        label = number_text(tick, view["format"])
        yield f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end" {_INK}>{label}</text>'
    for place, label in _labels(view["x"]):
        x = _LEFT + (place - xs[0]) * across
        yield f'<text x="{x:.0f}" y="{_HEIGHT - 6}" text-anchor="middle" {_INK}>{escaped(label, 16)}</text>'
    coloured = 0
    for line in sorted(view["series"], key=lambda each: each["colour"] >= 0):  # the grey ones lie below
        points = [(x, value) for x, value in zip(xs, line["values"], strict=True) if value is not None][::every]
        path = "L".join(f"{_LEFT + (x - xs[0]) * across:.0f} {foot - (y - low) * down:.1f}" for x, y in points)
        colour = f'stroke="{_COLOURS[line["colour"] % 8]}" stroke-width="1.75"'
        stroke = colour if line["colour"] >= 0 else 'stroke="currentColor" stroke-opacity=".2"'
        yield f'<path d="M{path}" fill="none" {stroke}/>'
        if line["colour"] >= 0 and len(view["series"]) > 1 and coloured < 16:
            y = _TOP + 16 * coloured
            yield f'<path d="M{right + 12} {y}h14" {stroke}/>'
            yield f'<text x="{right + 32}" y="{y + 4}" {_INK}>{escaped(line["name"], 18)}</text>'
            coloured += 1


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers from one at or below `low` to one at or above `high`."""
    span = (high - low) or abs(high) or 1.0
    size = 10 ** math.floor(math.log10(span / 5))
    step = next(size * each for each in (1, 2, 2.5, 5, 10) if size * each >= span / 5)
    first = math.floor(low / step)
    return [place * step for place in range(first, max(math.ceil(high / step - 1e-9), first + 1) + 1)]


def _labels(x: Mapping[str, Any]) -> list[tuple[float, str]]:
    """Return at most eight places along x with their labels."""
    values = x["values"]
    if x["type"] != "time":
        every = -(-len(values) // 6)
        return [(values[at], x["labels"][at]) for at in range(0, len(values), every)]
    step = next((name for name in STEPS if (values[-1] - values[0]) * 86_400 / STEPS[name].seconds <= 8), "year")
    low, high = (time_of(end).to_pydatetime() for end in (values[0], values[-1]))
    starts = pd.date_range(low, high, freq=STEPS[step].rule, unit="us")
    form = {"year": "%Y", "quarter": "%b %Y", "month": "%b %Y", "week": "%d %b", "day": "%d %b"}.get(step, "%H:%M")
    return [(day_of(start), f"{start:{form}}") for start in starts[:: -(-len(starts) // 8) or 1]]


def escaped(text: str, length: int = LONGEST_TEXT) -> str:
    return html.escape(clip(inert(text), length))

"""The axes of a chart: where they end, round ticks, and labels that are short and do not run into each other."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.dates import AutoDateLocator, date2num, num2date
from matplotlib.ticker import MaxNLocator

from jupyter_funcs.compact import evenly
from jupyter_funcs.svg import INK
from jupyter_funcs.text import inert

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    Floats = np.ndarray[Any, np.dtype[np.float64]]

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
    """
    Set the limits and the ticks of the axis of a measure, with lines to read it by.

    Parameters
    ----------
    axes
        Where.
    values
        What is drawn, in any shape.
    percent
        Whether they are fractions.
    zero
        Whether the axis starts at zero, as that of bars must.
    sideways
        Whether it is the one along the foot.
    """
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if zero or 0 < low < high / 2 or low / 2 < high < 0:  # that takes not much of the picture
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        low, high = low - (abs(low) / 2 or 1.0), high + (abs(high) / 2 or 1.0)
    margin = high / 20 - low / 20
    low, high = low - margin * (low != 0), high + margin * (high != 0)
    ticks = _ticks(low, high, 6)
    if sideways:
        axes.set_xlim(low, high)
        axes.set_xticks(ticks, evenly(ticks, percent=percent))
    else:
        axes.set_ylim(low, high)
        axes.set_yticks(ticks, evenly(ticks, percent=percent))
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

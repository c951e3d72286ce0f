"""Numbers in few characters, as the labels of a chart have them: 1.2M, 45.6k, 12.5%."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_UNITS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e4, "k"))
_MOST_DECIMALS = 8


def short(value: float, *, percent: bool = False) -> str:
    """Give a number in three digits or so; a fraction as percent on demand."""
    if _is_extreme(abs(value)):
        return _signed(f"{value:.2e}")
    scale, unit = (0.01, "%") if percent else _unit(abs(value))
    if unit == "k" or not unit:
        scale, unit = (1.0, "") if abs(value) < 1e4 else (1e3, "k")
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
    scale = 1e3 if unit == "k" else scale
    scaled = [round(value / scale, _MOST_DECIMALS + 2) for value in values]
    decimals = max((_decimals(value) for value in scaled), default=0)
    return [_signed(f"{value:,.{decimals}f}{unit}") if value else "0" + "%" * percent for value in scaled]


def _unit(size: float) -> tuple[float, str]:
    return next(((scale, unit) for scale, unit in _UNITS if size >= scale), (1.0, ""))


def _is_extreme(size: float) -> bool:
    return bool(size) and not 1e-6 <= size < 1e16


def _decimals(value: float) -> int:
    text = f"{value:.{_MOST_DECIMALS}f}".rstrip("0")
    return len(text) - text.index(".") - 1


def _signed(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")

"""
The demo's seasons as integer tables: how much busier than average a day is, in thousandths.

Tables and not sines: the last bit of a transcendental function differs between machines, and with it every number
drawn from it.
"""

from __future__ import annotations

from datetime import date, timedelta

# By month, January first; days between two mid-months are interpolated.
_YEARLY = {
    "gifts": (860, 840, 900, 930, 980, 970, 950, 1010, 960, 980, 1180, 1440),
    "summer": (760, 800, 960, 1120, 1220, 1200, 1140, 1060, 990, 950, 900, 900),
    "meals": (940, 960, 1000, 1010, 1030, 1040, 1040, 1030, 1000, 990, 980, 980),
    "grocery": (980, 970, 980, 990, 1000, 1000, 1010, 1000, 990, 1000, 1040, 1040),
    "travel": (900, 930, 1050, 1030, 1060, 1150, 1160, 1050, 920, 950, 900, 900),
    "digital": (1030, 1010, 1000, 980, 970, 970, 980, 980, 980, 1000, 1030, 1070),
}
# Monday first.
_WEEKLY = {
    "gifts": (880, 870, 900, 940, 1090, 1260, 1060),
    "summer": (890, 870, 890, 930, 1070, 1270, 1080),
    "meals": (870, 890, 930, 980, 1170, 1190, 970),
    "grocery": (930, 900, 920, 950, 1070, 1160, 1070),
    "travel": (1080, 1020, 1010, 1020, 1080, 880, 910),
    "digital": (1000, 990, 990, 990, 1010, 1010, 1010),
}
# Fixed days of the year; of the moving ones, only Thanksgiving and the days after it.
_HOLIDAYS = {
    (2, 14): {"gifts": 1300, "meals": 1250},
    (7, 4): {"grocery": 1150, "summer": 800, "meals": 850, "travel": 900},
    (12, 22): {"gifts": 1400, "grocery": 1250},
    (12, 23): {"gifts": 1350, "grocery": 1400},
    (12, 24): {"gifts": 900, "grocery": 1100, "meals": 700, "summer": 600},
    (12, 25): {"gifts": 0, "summer": 0, "grocery": 150, "meals": 300, "travel": 700},
    (12, 26): {"gifts": 1350},
    (12, 31): {"meals": 1150, "grocery": 1200},
    (1, 1): {"gifts": 550, "summer": 500, "grocery": 600, "meals": 750},
}
_AFTER_THANKSGIVING = {
    -1: {"grocery": 1500, "travel": 1300, "meals": 1100},
    0: {"gifts": 250, "summer": 300, "grocery": 450, "meals": 500, "travel": 700},
    1: {"gifts": 2100, "summer": 1300, "meals": 1050},
    2: {"gifts": 1500},
    4: {"gifts": 1600, "digital": 1150},
}
SEASONS = tuple(_YEARLY)


def busyness(season: str, day: date) -> int:
    """Give how busy a day is, in thousandths of an average one; 0 is closed."""
    return _of_year(_YEARLY[season], day) * _WEEKLY[season][day.weekday()] * _of_holidays(season, day) // 1_000_000


def _of_year(months: tuple[int, ...], day: date) -> int:
    """Interpolate between the middles of two months."""
    back = (day.replace(day=1) - timedelta(days=1)).replace(day=15)
    ahead = day.replace(day=15)
    if day.day >= 15:
        back, ahead = ahead, (day.replace(day=1) + timedelta(days=32)).replace(day=15)
    passed, whole = (day - back).days, (ahead - back).days
    return (months[back.month - 1] * (whole - passed) + months[ahead.month - 1] * passed) // whole


def _of_holidays(season: str, day: date) -> int:
    november = date(day.year, 11, 1)
    thanksgiving = november + timedelta(days=(3 - november.weekday()) % 7 + 21)
    moving = _AFTER_THANKSGIVING.get((day - thanksgiving).days, {})
    return _HOLIDAYS.get((day.month, day.day), moving).get(season, 1000)

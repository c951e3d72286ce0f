"""Values by the kind of parameter that they are for, and how a record spells a value."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd


class Values(NamedTuple):
    """Values for parameters of one kind, by the way in."""

    entered: tuple[str, ...]
    """Texts as a person types them after ``name=`` in a magic."""
    passed: tuple[Any, ...]
    """Python values of a call."""
    unchecked: tuple[Any, ...] = ()
    """Python values of a call with ``validate=False``."""


DAY = dt.date(2026, 3, 1)
MOMENT = dt.datetime(2026, 3, 1, 12, 30)  # noqa: DTZ001  # as most people write them
ZONED = dt.datetime(2026, 3, 1, 12, 30, tzinfo=dt.timezone(dt.timedelta(hours=1)))

# What $name means in a magic.
VARIABLES = {
    "seven": np.int64(7),
    "day": pd.Timestamp("2026-03-01"),
    "column": pd.Series(["a", "b"]),
    "ratio": 1e5,
    "spaced": " a ",
    "nothing": None,
}

KINDS = {
    "text": Values(
        entered=(
            "007",
            "1E5",
            '" a "',
            "null",
            "[1, 2]",
            '""',
            "$spaced",
            "$ratio",
            '{"a": 1}',
        ),
        passed=(
            "a",
            "\t",
            " ",
            "",
            None,
            7,
            1e5,
            True,
            DAY,
            Decimal("1.50"),
            np.str_("a"),
            ["a", "b"],
            b"a",
        ),
        unchecked=(7, 1e5, True, None, ["a", "b"], {"a": 1}),
    ),
    "whole": Values(
        entered=("7", "7.0", "1e3", "1.5", "abc", '" 7 "', "true", '""', "$seven"),
        passed=(
            7,
            7.0,
            1.5,
            True,
            "7",
            np.int64(7),
            np.float64(7),
            Decimal("7.00"),
            2**63,
            None,
            [7],
        ),
        unchecked=(7, "abc", 1.5, True, [7]),
    ),
    "number": Values(
        entered=("1.50", "1E5", "7", "NaN", "inf", '"1,5"', "1_000", "$ratio"),
        passed=(
            1.5,
            7,
            np.float32(0.1),
            Decimal("1.50"),
            Fraction(1, 4),
            float("inf"),
            float("nan"),
            "1.5",
            True,
        ),
        unchecked=(1.5, "abc", float("inf")),
    ),
    "flag": Values(
        entered=("yes", "true", "False", "1", "on", '""'),
        passed=(True, False, np.True_, "yes", "true", 1, 0, None),
        unchecked=(True, "maybe"),
    ),
    "day": Values(
        entered=("2026-03-01", "2026-3-1", "01.03.2026", "2026-03-01T00:00", "$day"),
        passed=(
            DAY,
            MOMENT,
            pd.Timestamp("2026-03-01"),
            np.datetime64("2026-03-01"),
            "2026-03-01",
            pd.NaT,
            20260301,
        ),
        unchecked=(DAY, "soon"),
    ),
    "moment": Values(
        entered=(
            "2026-03-01T12:30",
            '"2026-03-01 12:30:00+01:00"',
            "2026-03-01",
            "noon",
        ),
        passed=(
            MOMENT,
            ZONED,
            DAY,
            pd.Timestamp("2026-03-01T12:30:00.000000001"),
            "2026-03-01T12:30",
        ),
        unchecked=(MOMENT,),
    ),
    "choice": Values(
        entered=("week", "WEEK", "month", '" week "'),
        passed=("week", "Week", "wek", None, 5),
        unchecked=("month", "Week"),
    ),
    "grade": Values(
        entered=("1", "1.0", "3", "01"),
        passed=(1, "1", 1.0, True, 3, np.int64(2)),
        unchecked=(3, "1"),
    ),
    "texts": Values(
        entered=(
            "[a, b]",
            "a",
            "[a, a]",
            "[]",
            "[007, 1E5]",
            '["a, b", "c"]',
            "a,b",
            "[a,,b]",
            "[null, 1]",
            "$column",
        ),
        passed=(
            ["a", "b"],
            "a",
            ("a", "b"),
            [],
            ["", " "],
            ["a", "a"],
            [7, True],
            [None],
            pd.Series(["a"]),
            {"a": 1},
        ),
        unchecked=(["a", 7], "a", []),
    ),
    "numbers": Values(
        entered=("[1, 2]", "1", "[1.0, x]", "[1, 2.5]", "[01]", "[]"),
        passed=(
            [1, 2],
            1,
            [1.0, np.int64(2)],
            ["1", "2"],
            [1.5],
            [True],
            range(3),
            np.arange(2),
            [0.5, 0.5],
            [],
        ),
        unchecked=([1, "x"], 1),
    ),
    "maybe": Values(
        entered=("7", "null", "None", '""', "$nothing"),
        passed=(None, 7, "null", "", 7.0),
        unchecked=(None, "null"),
    ),
    "either": Values(
        entered=(
            "7",
            "3.10",
            "1E5",
            "abc",
            "[1, 2]",
            "null",
            "'\"7\"'",
            "true",
            "$ratio",
        ),
        passed=(7, "7", "1E5", "\t", 3.1, True, None, "", DAY, Decimal("3.10")),
        unchecked=(7, "7", 3.1),
    ),
    "wording": Values(
        entered=("7", "3.10", "1E5", "abc", "null", "'\"7\"'"),
        passed=(7, "7", "1E5", 3.1, True, None, ""),
        unchecked=(3.1,),
    ),
    "point": Values(
        entered=('{"x": 1}', '{"x": "a"}', "{}", "abc", '{"x": 1', "[1]"),
        passed=(
            {"x": 1},
            {"x": np.int64(1), "y": 0.5},
            {"x": 1.0, "z": None},
            '{"x": 1}',
            {},
            None,
            "abc",
        ),
        unchecked=({"x": "a"}, "abc", {"x": DAY}),
    ),
    "counts": Values(
        entered=('{"a": 1}', '{"a": "b"}', "[]"),
        passed=({"a": 1}, {"a": np.int64(1)}, {"a": 1.5}, {1: 1}, pd.Series({"a": 1})),
    ),
    "anything": Values(
        entered=(
            "7",
            "1E5",
            "true",
            "null",
            "[1, 2]",
            '{"a": 1}',
            "abc",
            '""',
            "' a '",
            "$ratio",
            "$seven",
        ),
        passed=(
            7,
            1e5,
            "7",
            "1E5",
            True,
            None,
            "",
            " ",
            [1, "a"],
            [],
            {"a": 1},
            DAY,
            np.int64(7),
            Decimal("1.50"),
        ),
        unchecked=(7, 1e5, True, [1, "a"], {"a": 1}, DAY),
    ),
}
"""By the parameter's name, which is the same in every source."""


def told(value: Any) -> str:
    """Return a value as Python writes it, with the name of a type that JSON doesn't have, in any version."""
    name = type(value).__name__
    if type(value) is list:
        return f"[{', '.join(map(told, value))}]"
    if type(value) is dict:
        return f"{{{', '.join(f'{told(key)}: {told(part)}' for key, part in value.items())}}}"
    if value is None or type(value) in {str, int, float, bool, bytes}:
        return repr(value)
    if isinstance(value, np.generic):
        return f"np.{name.rstrip('_')}({value})"
    return _told_by_name(value, name)


def _told_by_name(value: Any, name: str) -> str:
    if isinstance(value, pd.DataFrame):
        return f"DataFrame({value.to_dict('list')})"
    if isinstance(value, set):
        return f"set({', '.join(sorted(map(told, value)))})"
    if isinstance(value, (tuple, range, pd.Index, pd.Series, np.ndarray)):
        return f"{name}({told(list(value))})"
    text = repr(value)
    return text if text.startswith(f"{name}(") else f"{name}({value})"

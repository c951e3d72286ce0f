"""
The panel's table over many rows, beside pandas alone and itables: ``python -m tests.benchmarks.panel_table [ROWS]``.

Each line is what a click costs in the kernel: the first rows with all summaries, an order, a filter, a search, and a
page of what is ordered already. A column is new at its first use, as it is to a person; the figures are medians over
fresh tables. itables holds a sample of a frame, pandas gives no page and no summary.
"""
# ruff: noqa: T201 - it prints a table

from __future__ import annotations

import resource
import statistics
import sys
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from jupyter_funcs.panel.requests import Contains, Range, Sort, TableQuery
from jupyter_funcs.panel.table import TableView

if TYPE_CHECKING:
    from collections.abc import Callable

    Step = tuple[str, float, Callable[[TableView], object], Callable[[pd.DataFrame], object] | None]

ROUNDS = 5
COLUMNS = range(8)


def made(rows: int) -> pd.DataFrame:
    """Return a frame with dates, texts, money, growth, counts and prices."""
    rng = np.random.default_rng(7)
    return pd.DataFrame({
        "Date": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1800, rows), unit="D"),
        "Region": rng.choice([f"Region {at}" for at in range(500)], rows),
        "Spend": np.exp(rng.normal(size=rows)) * 1e5,
        "Spend Growth": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows) / 10),
        "Transaction Count": rng.integers(0, 13_000, rows),
        "Balance": rng.integers(0, 2**40, rows),
        "Price": rng.random(rows) * 100,
        "Brand": rng.choice(list("abcdefgh"), rows),
    })  # fmt: skip


def page(*given: Any, find: str = "", at: int = 0) -> Callable[[TableView], object]:
    sort = [each for each in given if isinstance(each, Sort)]
    query = TableQuery(sort, [each for each in given if not isinstance(each, Sort)], find)
    return lambda table: table.page(query, at, at + 40, COLUMNS)


# What is done, the target for 1,000,000 rows in seconds, and how pandas does it.
STEPS: list[Step] = [
    ("first rows and summaries", 0.5, lambda table: table.view(), None),
    ("sort numbers", 0.15, page(Sort(2, descending=True)), lambda frame: frame["Spend"].argsort(kind="stable")),
    ("the next page of it", 0.01, page(Sort(2, descending=True), at=40), None),
    ("sort texts", 0.6, page(Sort(1, descending=False)), lambda frame: frame["Region"].argsort(kind="stable")),
    ("sort texts, then numbers", 0.6, page(Sort(7, descending=False), Sort(6, descending=True)), None),
    ("filter numbers", 0.1, page(Range(2, "100,000", "")), lambda frame: frame.index[frame["Spend"] >= 100_000]),
    (
        *("filter texts", 0.1, page(Contains(1, "9"))),
        lambda frame: frame.index[frame["Region"].str.contains("9", case=False, regex=False)],
    ),
    ("find a text", 0.3, page(find="gion 12"), None),
    ("find a number", 0.3, page(find="1,234"), None),
]


def timed(do: Callable[[], object]) -> float:
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


def main(rows: int = 1_000_000) -> None:
    """Print the table, and which steps took longer than their target."""
    frame = made(rows)
    ours: dict[str, list[float]] = {name: [] for name, *_ in STEPS}
    alone: dict[str, list[float]] = {name: [] for name, *_ in STEPS}
    for _ in range(ROUNDS):
        table = TableView(frame)
        for name, _, do, plain in STEPS:
            ours[name].append(timed(lambda do=do, table=table: do(table)))  # type: ignore[misc]
            if plain is not None:
                alone[name].append(timed(lambda plain=plain: plain(frame)))  # type: ignore[misc]
    print(f"{rows:,} rows × {frame.shape[1]} columns, medians of {ROUNDS} in milliseconds\n")
    print(f"{'':28}{'table':>9}{'target':>9}{'pandas':>9}{'ratio':>8}")
    late = []
    for name, target, *_ in STEPS:
        took = statistics.median(ours[name])
        beside = statistics.median(alone[name]) if alone[name] else None
        text = f"{beside * 1000:9.0f}{took / beside:8.2f}" if beside else ""
        print(f"{name:28}{took * 1000:9.1f}{target * 1000:9.0f}{text}")
        late += [name] * (took > target * max(1.0, rows / 1_000_000))
    if find_spec("itables") is not None:
        from itables.widget import ITable

        print(f"{'itables, its sample of rows':28}{timed(lambda: ITable(frame)) * 1000:9.1f}")
    print(f"\nmost memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")
    print(f"later than the target: {', '.join(late)}" if late else "all within the target")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

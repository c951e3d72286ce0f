"""The code below a chart: it runs as it is, and makes the same chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from jupyter_funcs.frames.roles import has_labels, read
from jupyter_funcs.panel.chart.code import program
from jupyter_funcs.panel.chart.plot import NO_WISH, Plot, Wish, points, suggest
from tests.panel.test_drawing import DAYS, FRAMES, QUARTERS, by_region

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAMS = {name: frame for name, frame in FRAMES.items() if name != "far years"} | {
    "sums": by_region(3, 30).assign(Age="x"),
    "two hundred colours": pd.DataFrame(
        [(day, f"s{n}", n + 1.0) for day in DAYS[:5] for n in range(200)], columns=["Date", "Symbol", "Spend"]
    ),
    "counts": pd.DataFrame({"Sector": list("aabbbc" * 2)}),
    "of one name": pd.DataFrame([[DAYS[0], 1, 2], [DAYS[1], 3, 4]], columns=["Date", "Date", "v"]),
    "labels in the index": pd.DataFrame({"Spend": [1, 2]}, index=["a", "b"]),
    "to date": pd.DataFrame(
        {
            "PeriodLabel": ["FQ1 2024", "FQ2 2024"] * 4,
            "PeriodToDate": [False, False, True, True] * 2,
            "Region": list("aaaabbbb"),
            "Spend": [10, 20, 1, 2, 30, 40, 3, 4],
        }
    ),
    "turned quarters": QUARTERS[::-1].reset_index(drop=True),
    "of mixed kinds": pd.DataFrame({"Date": DAYS[:4], "Spend": pd.Series([1, "n/a", 2.5, 10**400], dtype=object)}),
    "texts": pd.DataFrame({"Date": ["2024-01-02T00:00:00Z", None, "2024-01-01T00:00:00Z"], "v": [1, 2, 3]}),
    "no value": pd.DataFrame({"Date": [*DAYS[:3]] * 2, "k": [*"aaa", None, None, None], "v": range(6)}),
    "dollars": pd.DataFrame({"$\\frac{$": ["$%$", "b"], "v": [1, 2]}),
    "other days": pd.DataFrame({"Date": DAYS[:6], "k": list("ababab"), "v": range(6)}),
}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, pd.DataFrame], dict[str, Any]]:
    """Run a program in a namespace of its own, with nothing on a screen."""
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)

    def run(code: str, frame: pd.DataFrame) -> dict[str, Any]:
        before, names = mpl.rcParams.copy(), {"spend": frame}
        plt.switch_backend("agg")
        try:
            exec(compile(code, "a chart's", "exec"), names)
            names["ax"].figure.canvas.draw()
        finally:
            plt.close("all")
            mpl.rcParams.update(before)
        return names

    return run


def _kinds(frame: pd.DataFrame) -> list[str]:
    plot = suggest(read(frame))
    assert isinstance(plot, Plot)
    return list(plot.choices.get("kind", [plot.kind]))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, frame in PROGRAMS.items() for kind in _kinds(frame)])
def test_the_code_makes_the_same_chart(name: str, kind: Any, run: Callable[..., dict[str, Any]]) -> None:
    """The program runs as it is, leaves the frame as it is, and draws the very points of the picture."""
    frame = PROGRAMS[name]
    plot = suggest(read(frame), Wish(kind=kind))
    assert isinstance(plot, Plot)
    made = points(plot)
    before = frame.copy(deep=True)
    names = run(program(plot, made, "spend", labelled=has_labels(frame)), frame)
    pd.testing.assert_frame_equal(frame, before)
    table, wanted = names["table"], made.table
    if plot.kind == "bar" and (plot.measures or plot.x.role.name == "DIMENSION"):
        table = table[::-1]  # drawn from the foot up
    if len(wanted.columns) > 1:
        table = table[list(wanted.columns)]
        wanted = wanted.interpolate("index", limit_area="inside") if plot.kind == "line" else wanted
    np.testing.assert_allclose(table.to_numpy(dtype=float), wanted.to_numpy(dtype=float))
    assert names["ax"].get_title() == plot.title


@pytest.mark.slow
@pytest.mark.parametrize("every", ["week", "month", "quarter", "year"])
def test_the_code_takes_the_same_means(every: str, run: Callable[..., dict[str, Any]]) -> None:
    """The means of the program are those of the picture, each at its first day."""
    frame = by_region(2)
    plot = suggest(read(frame), Wish(every=every))
    assert isinstance(plot, Plot)
    made = points(plot)
    if every == "year":
        assert plot.every != "year"  # two points are no line
        return
    assert plot.every == every
    table = run(program(plot, made, "spend"), frame)["table"]
    assert list(table.index) == list(made.table.index)
    np.testing.assert_allclose(table.to_numpy(), made.table.to_numpy())


def test_the_code_is_short() -> None:
    """What a person copies has few lines for a usual chart."""
    plot = suggest(read(by_region()), NO_WISH)
    assert isinstance(plot, Plot)
    assert program(plot, points(plot), "daily").splitlines() == [
        "import matplotlib.pyplot as plt",
        "import pandas as pd",
        "",
        "data = pd.DataFrame({",
        "    'Date': daily['Date'],",
        "    'Region': daily['Region'],",
        "    'Spend': daily['Spend'],",
        "})",
        "table = data.pivot_table(index='Date', columns='Region', values='Spend', aggfunc='sum')",
        "ax = table.plot.line(title='Spend by Region', figsize=(9, 4), xlabel='', ylabel='')",
        "ax.yaxis.set_major_formatter('{x:,.0f}')",
        "plt.show()",
    ]

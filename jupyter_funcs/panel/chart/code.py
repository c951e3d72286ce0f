"""The code that draws a chart of the panel for oneself, with pandas and matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_funcs.frames.roles import Role
from jupyter_funcs.panel.chart.plot import MOST_CATEGORIES, MOST_PERIODS, NO_VALUE, OTHER, PERIODS, rows_of_a_point

if TYPE_CHECKING:
    from jupyter_funcs.panel.chart.plot import Plot, Points


def program(plot: Plot, points: Points, variable: str, *, labelled: bool = False) -> str:
    """Give code that draws the chart."""
    lines = ["import matplotlib.pyplot as plt", "import pandas as pd", ""]
    if "$" in f"{plot.title}{list(points.table.columns)}{list(points.table.index[:MOST_PERIODS])}":
        lines.append("plt.rcParams['text.parse_math'] = False  # a dollar sign is one")
    if labelled:
        lines.append(f"frame = {variable}.reset_index(allow_duplicates=True)")
        variable = "frame"
    lines += _table(plot, points, variable)
    sideways = bool(plot.measures) or (plot.x is not None and plot.x.role is Role.DIMENSION)
    if sideways:
        lines.append("table = table[::-1]  # the first at the top")
    kind = "line" if plot.kind == "line" else "barh" if sideways else "bar"
    options = [f"title={plot.title!r}", "figsize=(9, 4)", "xlabel=''", "ylabel=''"]
    options += ["stacked=True"] * plot.stacked * (kind != "line") + ["legend=False"] * (plot.colour is None)
    lines.append(f"ax = table.plot.{kind}({', '.join(options)})")
    if plot.percent or points.table.abs().to_numpy(dtype=float, na_value=0.0).max() >= 1e4:
        form = "'{x:.1%}'" if plot.percent else "'{x:,.0f}'"
        lines.append(f"ax.{'x' if sideways else 'y'}axis.set_major_formatter({form})")
    return "\n".join([*lines, "plt.show()"])


def _table(plot: Plot, points: Points, variable: str) -> list[str]:
    """Give the lines that make `table`: a row for each place on x, a column for each colour."""
    if plot.measures:
        return [*_frame("table", {each.name: each.code(variable) for each in plot.measures}), "table = table.T"]
    columns = [column for column in (plot.x, plot.colour, plot.y, plot.without) if column is not None]
    made = {column.name: column.code(variable) for column in columns}
    y = plot.measure
    if plot.y is None:
        made[y] = "1"
    lines = _frame("data", made)
    known = [column.name for column in (plot.x, plot.y) if column is not None and column.data.isna().any()]
    if known:
        lines.append(f"data = data.dropna(subset={known!r})")
    if plot.x is None:
        each = rows_of_a_point(int(plot.y.data.notna().sum()) if plot.y else 0)
        means = f"table = data.groupby(data.index // {each} * {each}).mean()"
        return [*lines, "data = data.reset_index(drop=True)", means if each > 1 else "table = data"]
    if plot.without is not None:
        lines.append(f"data = data[data[{plot.without.name!r}].astype(str) != 'True']")
    lines += _colours(plot)
    x, how = plot.x.name, "sum" if plot.adds_up else "mean"
    if plot.colour is None:
        lines.append(f"table = data.groupby({x!r})[[{y!r}]].{how}()")
    else:
        by = f"index={x!r}, columns={plot.colour.name!r}, values={y!r}"
        lines.append(f"table = data.pivot_table({by}, aggfunc={how!r})")
    return lines + _ordered(plot, points)


def _frame(name: str, columns: dict[str, str]) -> list[str]:
    return [f"{name} = pd.DataFrame({{", *(f"    {column!r}: {code}," for column, code in columns.items()), "})"]


def _colours(plot: Plot) -> list[str]:
    """Give the lines that keep the largest colours only."""
    if plot.colour is None:
        return []
    at, lines = f"data[{plot.colour.name!r}]", []
    if plot.colour.data.isna().any():
        lines.append(f"{at} = {at}.fillna({NO_VALUE!r})")
    if plot.top:
        lines.append(f"largest = {list(plot.top)!r}")
        other = f"{at} = {at}.where({at}.isin(largest), {OTHER!r})"
        lines.append(other if plot.has_other else f"data = data[{at}.isin(largest)]")
    return lines


def _ordered(plot: Plot, points: Points) -> list[str]:
    """Give the lines that bring the rows into order, and to means."""
    assert plot.x is not None
    lines = []
    if plot.every:
        rule = repr(PERIODS[plot.every][1]) + ", label='left', closed='left'" * (plot.every == "week")
        lines.append(f"table = table.resample({rule}).mean().dropna(how='all')")
    if plot.x.role is Role.PERIOD:
        codes = plot.x.data.cat.codes[plot.x.data.notna()].drop_duplicates()
        as_they_come = bool(codes.is_monotonic_increasing)
        order = f"data[{plot.x.name!r}].unique()" if as_they_come else repr(list(points.table.index))
        lines.append(f"table = table.reindex({order})" + f".tail({MOST_PERIODS})" * (plot.x.distinct > MOST_PERIODS))
    elif plot.x.role is Role.DIMENSION:
        size = "sum" if plot.adds_up else "mean"
        lines.append(f"largest = table.{size}(axis=1).sort_values(ascending=False).index[:{MOST_CATEGORIES}]")
        lines.append("table = table.loc[largest]")
    elif plot.kind == "line" and _has_holes(points):
        lines.append(
            "table = table.interpolate('index', limit_area='inside')  # a line goes on over days without a value"
        )
    return lines


def _has_holes(points: Points) -> bool:
    table = points.table
    return bool((table.isna() & table.ffill().notna() & table.bfill().notna()).any(axis=None))

"""An analyst's bench: a pivot, a computed column and a brushed histogram, in JupyterLab, and the view after a run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.steps import at, fill, look, pick, run, run_python, turn, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.slow

FUNCTION = """import jupyter_funcs as jf, pandas as pd
def sales(orders: int = 8) -> pd.DataFrame:
    days = pd.date_range("2024-01-01", periods=12, freq="MS")
    rows = [(region, day, f"FQ{(at % 12) // 3 + 1} 2024", 100.0 * (at + 1), orders)
            for at, (region, day) in enumerate((region, day) for region in ("South", "North", "West") for day in days)]
    names = ["Region", "Date", "PeriodLabel", "Spend", "Orders"]
    return pd.DataFrame(rows, columns=names).assign(**{"Spend Growth": 0.01})
panel = jf.connect([sales]).panel("sales")
panel"""


def drag(page: Page, part: Locator, start: float, end: float) -> None:
    """Drag across a part, from one share of its width to another."""
    box = part.bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * start, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * (start + end) / 2, middle)
    page.mouse.move(box["x"] + box["width"] * end, middle)
    page.mouse.up()


def test_the_summaries_filter(open_notebook: Callable[..., Page]) -> None:
    """Bars that are dragged over, and a value that is clicked; what is filtered out is light."""
    page = open_notebook(FUNCTION)
    wait_for(page, "form")
    run(page)
    expect(at(page, "grid")).to_be_visible()
    drag(page, at(page, "summary:Date").locator("svg"), 0.26, 0.99)
    expect(at(page, "row-count")).to_have_text(re.compile(r"2[4-7] of 36 rows"))
    page.locator('[data-jf="top:West"]').click()
    expect(at(page, "row-count")).to_have_text(re.compile("[89] of 36 rows"))
    expect(at(page, "chip:Region")).to_contain_text("Region is West")
    look(page, "bench-brushed-light")
    turn(page, "Dark")
    look(page, "bench-brushed-dark")
    page.locator('[data-jf="top:West"]').click()
    pick(page, "chip-remove:Date")
    expect(at(page, "row-count")).to_have_text("")


def test_a_column_is_computed_and_a_pivot_made_of_it(open_notebook: Callable[..., Page]) -> None:
    """The chart, the code and a variable have the same; the next run keeps the view, which can be reset."""
    page = open_notebook(FUNCTION)
    wait_for(page, "form")
    run(page)
    pick(page, "compute")
    at(page, "compute-expression").fill("Spend / Order")
    pick(page, "compute-now")
    expect(page.locator(".jf-err")).to_contain_text("The table has no column 'Order'.")
    at(page, "compute-expression").fill("Spend / Orders")
    at(page, "compute-name").fill("Spend per Order")
    look(page, "bench-compute-light")
    pick(page, "compute-now")
    expect(at(page, "chip:Spend per Order")).to_contain_text("Spend per Order = Spend / Orders")
    expect(at(page, "sort:Spend per Order")).to_be_visible()

    pick(page, "pivot")
    expect(at(page, "sort:FQ4 2024")).to_be_visible()
    expect(page.locator('[data-jf="grid"] [aria-rowindex="2"]')).to_contain_text("North4,200.00")
    at(page, "pivot-measure").select_option("Spend per Order")
    expect(at(page, "pivot-how")).to_have_value("ratio")
    at(page, "pivot-how").select_option("mean")
    expect(at(page, "pivot-note")).to_have_text("Each row counts the same.")
    at(page, "pivot-measure").select_option("Spend")
    expect(at(page, "pivot-how")).to_have_value("sum")
    look(page, "bench-pivot-light")
    pick(page, "assign", "assign-now")
    expect(page.locator(".jf-toast")).to_contain_text("_pivot holds the table")
    name = at(page, "var-name").inner_text()
    said = run_python(page, f"print(*{name}_pivot.iloc[0])")
    assert said == "North 4200.0 5100.0 6000.0 6900.0"
    pick(page, "view-code")
    expect(at(page, "table-code")).to_contain_text('.groupby(["Region", "PeriodLabel"]')
    pick(page, "view-code", "tab:chart")
    expect(page.locator('[data-jf^="legend:"]')).to_have_count(3)
    look(page, "bench-pivot-chart-light")
    turn(page, "Dark")
    look(page, "bench-pivot-chart-dark")
    pick(page, "tab:table")
    look(page, "bench-pivot-dark")

    fill(page, "orders", "5")
    run(page, number=2)
    expect(at(page, "pivot-bar")).to_be_visible()
    expect(at(page, "sort:FQ4 2024")).to_be_visible()
    pick(page, "reset-view")
    expect(at(page, "sort:Spend")).to_be_visible()
    expect(at(page, "sort:Spend per Order")).to_have_count(0)

"""An analyst's bench: a pivot, a computed column and a brushed histogram, in JupyterLab, and the view after a run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.steps import (
    at,
    box,
    fill,
    look,
    pick,
    run,
    run_python,
    turn,
    wait_for,
)

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


MORE = FUNCTION.replace(
    "panel = jf.connect([sales])",
    """def stores(region: str, size: int = 1) -> pd.DataFrame:
    return pd.DataFrame({"Region": [region], "Size": [size]})
def wide(columns: int = 2000) -> pd.DataFrame:
    return pd.DataFrame([range(columns)], columns=[f"c{at}" for at in range(columns)])
panel = jf.connect([sales, stores, wide])""",
)


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


def test_a_column_is_computed_and_a_pivot_made_of_it(
    open_notebook: Callable[..., Page],
) -> None:
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
    expect(at(page, "chip:Spend per Order")).to_contain_text(
        "Spend per Order = Spend / Orders"
    )
    expect(at(page, "sort:Spend per Order")).to_be_visible()

    pick(page, "pivot")
    expect(at(page, "sort:North")).to_be_visible()
    at(page, "pivot-row:0").select_option("Region")
    at(page, "pivot-columns").select_option("PeriodLabel")
    expect(at(page, "sort:FQ4 2024")).to_be_visible()
    expect(page.locator('[data-jf="grid"] [aria-rowindex="2"]')).to_contain_text(
        "North4,200.00"
    )
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
    printed = run_python(page, f"print(*{name}_pivot.iloc[0])")
    assert printed == "North 4200.0 5100.0 6000.0 6900.0"
    expect(at(page, "table-code")).to_contain_text('.groupby(["Region", "PeriodLabel"]')
    expect(at(page, "table-code")).to_contain_text(f"{name}_pivot = ")
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


CHARTED = """import jupyter_funcs as jf, pandas as pd
def cards(year: int = 2024) -> pd.DataFrame:
    days = pd.date_range(f"{year}-01-01", periods=300)
    names = {"AAA US EQUITY": "Alder Stores", "BBB US EQUITY": "Birch Foods", "CCC US EQUITY": "Cedar Mills"}
    rows = [(symbol, names[symbol], sector, day, round(1000 * (at + 1) * (1.4 + (number % 30) / 30)), 10 + number % 7)
            for at, symbol in enumerate(names) for sector in ("Retail", "Online") for number, day in enumerate(days)]
    frame = pd.DataFrame(rows, columns=["Symbol", "Company Name", "Channel", "Date", "Spend", "Orders"])
    return frame.assign(Share=0.25)
panel = jf.connect([cards]).panel("cards")
panel"""


@pytest.fixture
def chart(open_notebook: Callable[..., Page]) -> Page:
    """A page with the chart of a run, a line for each symbol."""
    page = open_notebook(CHARTED)
    wait_for(page, "form")
    run(page)
    pick(page, "tab:chart")
    at(page, "chart-colour").select_option("Symbol")
    return page


def test_each_kind_of_chart_is_drawn(chart: Page) -> None:
    """Areas, stacks of what adds up, points of two measures, and bins; companies are named beside their symbols."""
    page = chart
    expect(at(page, "legend:CCC US EQUITY")).to_contain_text("CCC Cedar Mills")
    fills = page.locator('[data-jf="plot"] .g-fill')
    for kind, parts in {"areas": fills, "stacks": fills}.items():
        pick(page, f"chart-kind:{kind}")
        expect(parts).to_have_count(3)
        look(page, f"chart-{kind}-light")
    at(page, "chart-measure").select_option("Share")
    expect(at(page, "chart-note")).to_contain_text("and Share doesn't add up.")
    expect(fills).to_have_count(0)
    at(page, "chart-measure").select_option("Spend")
    expect(fills).to_have_count(3)

    pick(page, "chart-kind:scatters")
    at(page, "chart-x").select_option("Orders")
    expect(page.locator(".jf-plottop b")).to_have_text("Spend against Orders by symbol")
    expect(page.locator('[data-jf="plot"] .g-dot').first).to_be_visible()
    at(page, "plot").press("Home")
    expect(at(page, "tooltip")).to_contain_text("Orders 10")
    pick(page, "chart-kind:histograms")
    expect(at(page, "unit")).to_have_text("rows")
    at(page, "plot").press("Home")
    expect(at(page, "tooltip")).to_contain_text(re.compile("Spend .* to .*Rows"))


def test_panels_with_a_logarithmic_axis_become_a_table(chart: Page) -> None:
    """The picture has the theme's palette; the points are a table and a variable; the next run keeps the choices."""
    page = chart
    at(page, "chart-split").select_option("Channel")
    at(page, "chart-scale").select_option("log")
    expect(page.locator('[data-jf^="plot:"]')).to_have_count(2)
    expect(at(page, "plot:Retail").get_by_text("5k", exact=True)).to_be_visible()
    look(page, "chart-panels-light")
    turn(page, "Dark")
    look(page, "chart-panels-dark")
    pick(page, "chart-save")
    with page.expect_download() as saved:
        pick(page, "chart-save:svg")
    picture = saved.value.path().read_text("utf-8")
    assert "Retail" in picture
    assert "rgb(103, 163, 232)" in picture, "the palette of the dark"

    pick(page, "chart-points-table")
    expect(at(page, "chip:points")).to_be_visible()
    expect(at(page, "sort:Online AAA US EQUITY")).to_be_visible()
    look(page, "chart-points-dark")
    pick(page, "assign", "assign-now")
    expect(page.locator(".jf-toast")).to_contain_text("_points holds the table")
    name = at(page, "var-name").inner_text()
    assert run_python(page, f"print({name}_points.shape[1])") == "7"
    expect(at(page, "table-code")).to_contain_text("pivot_table(")
    pick(page, "view-code", "chip-remove:points")
    expect(at(page, "sort:Company Name")).to_be_visible()
    fill(page, "year", "2023")
    run(page, number=2)
    pick(page, "tab:chart")
    expect(at(page, "chart-split")).to_have_value("Channel")
    expect(at(page, "chart-scale")).to_have_value("log")


def test_cells_are_selected_summed_copied_opened_and_used(
    open_notebook: Callable[..., Page],
) -> None:
    """By mouse and by keys; the value of a cell opens another function, which does not run."""
    page = open_notebook(MORE)
    wait_for(page, "form")
    run(page)
    grid = at(page, "grid")
    places = page.locator('[role="columnheader"]').evaluate_all(
        "heads => heads.map(head => [head.innerText.split('\\n')[0], head.dataset.c])"
    )
    spend = dict(places)["Spend"]
    first = grid.locator(f'[data-r="0"][data-c="{spend}"]').bounding_box()
    third = grid.locator(f'[data-r="2"][data-c="{spend}"]').bounding_box()
    assert first
    assert third
    page.mouse.move(first["x"] + 20, first["y"] + 10)
    page.mouse.down()
    page.mouse.move(third["x"] + 20, third["y"] + 4)
    page.mouse.move(third["x"] + 20, third["y"] + 10)
    page.mouse.up()
    expect(at(page, "facts")).to_contain_text("count 3")
    expect(at(page, "facts")).to_contain_text("sum 600")
    page.keyboard.press("Shift+ArrowDown")
    expect(at(page, "facts")).to_contain_text("sum 1")
    page.keyboard.press("Control+c")
    expect(page.locator(".jf-toast")).to_contain_text("Copied")
    page.keyboard.press("Control+a")
    expect(at(page, "facts")).to_contain_text("count 216")
    page.keyboard.press("Control+Home")
    page.keyboard.press("Space")
    expect(at(page, "cell")).to_be_visible()
    region = grid.locator(f'[data-r="0"][data-c="{dict(places)["Region"]}"]')
    region.click()
    expect(at(page, "cell-text")).to_have_text("South")
    look(page, "bench-cell-light")
    page.keyboard.press("Alt+Enter")
    expect(at(page, "use:stores:region")).to_be_visible()
    look(page, "bench-use-light")
    page.keyboard.press("Enter")
    expect(at(page, "picker")).to_contain_text("Stores")
    expect(page.locator('[data-jf="field:region"] input')).to_have_value("South")
    wait_for(page, "form")


def test_the_last_of_two_thousand_columns_is_six_keys_away(
    open_notebook: Callable[..., Page],
) -> None:
    """It is described in its box, pinned, and hidden; Columns shows it again."""
    page = open_notebook(MORE.replace('panel("sales")', 'panel("wide")'))
    wait_for(page, "form")
    run(page)
    at(page, "grid").focus()
    for key in ("Control+g", *"1999", "Enter"):
        page.keyboard.press(key)
    expect(at(page, "sort:c1999")).to_be_visible()
    pick(page, "filter:c1999")
    expect(at(page, "described:c1999")).to_contain_text("distinct1")
    look(page, "bench-described-light")
    pick(page, "pin:c1999", "hide:c1999")
    expect(at(page, "chip:hidden")).to_contain_text("c1999 is hidden")
    pick(page, "chip-remove:hidden")
    expect(at(page, "chip:hidden")).to_have_count(0)


def test_a_column_is_as_wide_as_its_edge_is_dragged(
    open_notebook: Callable[..., Page],
) -> None:
    """The next run keeps the width."""
    page = open_notebook(FUNCTION)
    wait_for(page, "form")
    run(page)
    header = page.locator('[role="columnheader"]', has=at(page, "sort:Spend"))
    grip = at(page, "resize:Spend")
    grip.hover()
    width = header.evaluate("header => header.offsetWidth")
    edge = grip.bounding_box()
    assert edge
    middle = edge["x"] + edge["width"] / 2
    page.mouse.down()
    page.mouse.move(middle + 40, edge["y"] + 10)
    expect(header).to_have_js_property("offsetWidth", width + 40)
    page.mouse.move(middle - 20, edge["y"] + 10)
    expect(header).to_have_js_property("offsetWidth", width - 20)
    page.mouse.move(middle + 60, edge["y"] + 10)
    page.mouse.up()
    expect(header).to_have_js_property("offsetWidth", width + 60)
    page.mouse.move(middle, edge["y"] + 10)
    run(page, number=2)
    expect(header).to_have_js_property("offsetWidth", width + 60)


# How far the grid is scrolled, and all that it is in.
_SCROLLED = """() => {
    const grid = document.querySelector('[data-jf="grid"]');
    let around = 0;
    for (let part = grid.parentElement; part; part = part.parentElement) around += part.scrollTop;
    return [grid.scrollTop, around];
}"""


def test_the_wheel_is_the_notebooks_until_the_grid_is_clicked(
    open_notebook: Callable[..., Page],
) -> None:
    """Over the grid it scrolls either the notebook or the rows, never both."""
    page = open_notebook(FUNCTION, *["pass"] * 30)
    wait_for(page, "form")
    run(page)
    cell = at(page, "grid").locator('.jf-td[data-r="3"]').first
    cell.hover()
    rows, notebook = page.evaluate(_SCROLLED)
    page.mouse.wheel(0, 90)
    page.wait_for_function(f"({_SCROLLED})()[1] > {notebook}")

    cell.click()
    still, notebook = page.evaluate(_SCROLLED)
    assert still == rows
    page.mouse.wheel(0, 90)
    page.wait_for_function(f"({_SCROLLED})()[0] > {rows}")
    assert page.evaluate(_SCROLLED)[1] == notebook


LISTED = """import jupyter_funcs as jf
from typing import Literal
def stores(region: Literal["North", "South", "West"]) -> list[str]:
    return [region]
def towns(region: Literal["East", "West"]) -> list[str]:
    return [region]
panel = jf.connect([stores, towns]).panel("stores")
panel"""


def test_an_arrow_marks_the_first_option(open_notebook: Callable[..., Page]) -> None:
    """Of a closed list, and of one opened by the mouse; functions have their first marked at once."""
    page = open_notebook(LISTED)
    wait_for(page, "form")
    options = page.locator('[role="option"]')
    marked = page.locator('[role="option"].is-on')
    region = box(page, "region")
    region.focus()
    page.keyboard.press("ArrowDown")
    expect(marked).to_have_text("North")
    page.keyboard.press("ArrowDown")
    expect(marked).to_have_text("South")
    page.keyboard.press("Escape")
    region.click()
    expect(options).to_have_count(3)
    expect(marked).to_have_count(0)
    page.keyboard.press("ArrowDown")
    expect(marked).to_have_text("North")
    page.keyboard.press("Enter")
    expect(region).to_have_value("North")

    at(page, "picker").click()
    expect(options).to_have_count(2)
    expect(marked).to_contain_text("Stores")
    page.keyboard.press("ArrowDown")
    expect(marked).to_contain_text("Towns")
    page.keyboard.press("Enter")
    expect(at(page, "picker")).to_contain_text("Towns")

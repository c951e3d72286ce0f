"""
What the panel costs in a kernel and a browser: ``python -m tests.benchmarks.panel [--rows N] [--before FOLDER]``.

In JupyterLab and Chromium: comm messages in both directions, their kilobytes (script and style apart), and milliseconds
until the page is still, beside ipywidgets' `interact` of the same fields and the panel of stock controls that this one
has replaced: its figures as they were, or measured in a worktree of commit 001ddc9, which is FOLDER. Then 300 runs, and
what is left of them; then what a click on a table of N rows (1,000,000) costs in the kernel, beside pandas alone and
itables (``pip install 'itables[widget]'``). Messages and bytes are the most of all rounds; times are medians, and swing
with the machine. Four minutes.
"""
# ruff: noqa: T201 - it prints tables

from __future__ import annotations

import argparse
import json
import statistics
import struct
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as w
import numpy as np
import pandas as pd

from jupyter_funcs.panel.requests import Contains, Range, Sort, TableQuery
from jupyter_funcs.panel.table import TableView

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    Step = tuple[str, float, Callable[[TableView], object], Callable[[pd.DataFrame], object] | None]
    Costs = dict[str, list[tuple[int, int, float]]]  # messages, bytes and milliseconds of each act in each round

ROOT = str(Path(__file__).parents[2])
ROUNDS = 5
RUNS = 300
COLUMNS = range(8)
BUNDLE = 120  # kB of script and style
# Messages and kilobytes that an act may take.
BUDGETS = {"open": (8, 15), "open a form": (8, 15), "run": (6, 20), "page": (2, 10), "sort": (2, 10), "switch": (3, 10)}
AS_IT_WAS = {"open a form": (79, 48), "run": (46, 38)}
SETUP = """import sys; sys.path[:0] = {paths}
import jupyter_funcs as jf
funcs = jf.connect()
function = funcs["Get Panel Daily"]
values = dict(PanelName="Demo Card Panel", Symbol="NVRA US EQUITY")
_ = function(**values)"""
FORM = "panel = funcs.panel(function.name, **values)\npanel"
# Print how many models a cell makes.
MODELS = """from ipywidgets.widgets.widget import _instances
before = len(_instances)
{code}
print(len(_instances) - before)"""
# Run many times, and print what that leaves; the last results are held, so some runs come first.
MANY = """import gc, psutil, time
from ipywidgets.widgets.widget import _instances
def counts(runs):
    for _ in range(runs):
        panel.run(); panel.result(60)
    gc.collect()
    return len(_instances), psutil.Process().memory_info().rss / 1e6
first, begun = counts(40), time.perf_counter()
last = counts({runs})
took = (time.perf_counter() - begun) / {runs} * 1000
print(f"{runs} runs: {{last[0] - first[0]}} models and {{last[1] - first[1]:.0f}} MB more, {{took:.0f}} ms each")"""
PANEL = '.jf[data-jf="panel"]'
# The cells of each subject, and what is done: in which cell, by a click on what (or by running the cell, or by what
# script), and what then shows that it has been done.
SUBJECTS: dict[str, tuple[list[str], dict[str, tuple[int, str, str]]]] = {
    "panel": (
        ["funcs.panel()", FORM],
        {
            "open": (1, "", f"{PANEL}[data-state=empty] [data-jf=start-search]"),
            "open a form": (2, "", f"{PANEL}[data-state=form] [data-jf=run]"),
            "run": (2, "[data-jf=run]", f'{PANEL}[data-run="1"][data-state=done] [role=gridcell]'),
            "page": (2, "[data-jf=grid]", '[data-jf=grid] [role=row][aria-rowindex="110"]'),
            "sort": (2, '[data-jf="sort:Spend"]', '[data-jf=grid] [aria-sort="descending"]'),
            "(picker)": (2, "[data-jf=picker]", '[data-jf="function:get_panel_fq"]'),
            "switch": (2, '[data-jf="function:get_panel_fq"]', f"{PANEL}[data-state=form] [data-jf=run]"),
        },
    ),
    "interact": (
        ["from tests.benchmarks.panel import interact\nform = interact(function, values)\nform"],
        {
            "open a form": (1, "", ".widget-interact button"),
            "run": (1, ".widget-interact button", "table.dataframe"),
        },
    ),
    "before": (
        [FORM],
        {
            "open a form": (1, "", ".jf-actions .jf-run"),
            "run": (1, ".jf-actions .jf-run", '.jf-status[data-state="done"][data-run="1"]'),
        },
    ),
}
# Do it, and return the milliseconds until the cell's output has changed for the last time.
TIMED = """async ([cell, act, done]) => {
    const notebook = window.jupyterapp.shell.currentWidget.content;
    const node = notebook.widgets[cell].node;
    notebook.activeCellIndex = cell;
    const start = performance.now();
    let last = start;
    const observer = new MutationObserver(() => { last = performance.now(); });
    observer.observe(node, {subtree: true, childList: true, attributes: true, attributeFilter: ['class', 'style']});
    if (!act) void window.jupyterapp.commands.execute('notebook:run-cell');
    else if (act === '[data-jf=grid]') node.querySelector(act).scrollTop += 2800;
    else node.querySelector(act).click();
    while (!node.querySelector(done) || performance.now() - last < 500) {
        if (performance.now() - start > 60_000) throw new Error(`${act || 'the cell'}: there is no ${done}`);
        await new Promise(resolve => setTimeout(resolve, 20));
    }
    observer.disconnect();
    return last - start;
}"""


def interact(function: Any, values: dict[str, Any]) -> w.Widget:
    """Return what `interact` makes of the same fields, as far as it can: a number, a list or a text each."""

    def run(**given: Any) -> pd.DataFrame:
        return function(**{name: value for name, value in given.items() if value not in ("", 0, (), None)})

    def control(name: str, schema: dict[str, Any]) -> w.Widget:
        options = schema.get("enum") or schema.get("items", {}).get("enum")
        if options:
            kind = w.SelectMultiple if schema["type"] == "array" else w.Dropdown
            return kind(options=options)
        return w.IntText() if schema["type"] == "integer" else w.Text(values.get(name, ""))

    properties = function.json_schema()["properties"]
    return w.interactive(run, {"manual": True}, **{name: control(name, each) for name, each in properties.items()})


class Wire:
    """The comm messages of a page, in both directions, and the bytes of what they say."""

    def __init__(self, page: Page) -> None:
        self.messages = self.bytes = self.bundle = 0
        page.on("websocket", self._follow)

    def _follow(self, socket: Any) -> None:
        socket.on("framesent", self._note)
        socket.on("framereceived", self._note)

    def _note(self, frame: bytes | str) -> None:
        if isinstance(frame, str):
            return
        [count] = struct.unpack_from("<Q", frame)
        ends = struct.unpack_from(f"<{count}Q", frame, 8)  # channel, header, parent, metadata, content, buffers
        kind = json.loads(frame[ends[1] : ends[2]])["msg_type"]
        if not kind.startswith("comm_") or kind.startswith("comm_info"):
            return
        content = json.loads(frame[ends[4] : ends[5]])
        data = content.get("data")
        state = data.get("state") if isinstance(data, dict) else None
        bundle = sum(len(json.dumps(state[name], ensure_ascii=False).encode()) for name in ("_esm", "_css") if state and name in state)
        self.bundle = max(self.bundle, bundle)
        self.messages += 1
        self.bytes += len(frame) - ends[4] - bundle


def measure(front: Any, browser: Any, name: str, before: str | None) -> tuple[Costs, Wire, str, str]:
    """Return what each act costs, what has gone over the wire, how many models a form is, and what 300 runs leave."""
    from tests.browser.conftest import _IDLE, _RUN_ALL
    from tests.browser.steps import run_python

    cells, acts = SUBJECTS[name]
    paths = [before, ROOT] if name == "before" else [ROOT]
    front.write(f"{name}.ipynb", SETUP.format(paths=paths), *cells)
    page = browser.new_page(viewport={"width": 1440, "height": 1400})
    page.set_default_timeout(120_000)
    wire = Wire(page)
    page.goto(front.address(f"{name}.ipynb"))
    page.wait_for_function(_IDLE)
    page.evaluate(_RUN_ALL)
    page.wait_for_function("window.ranAll")
    costs: Costs = {act: [] for act in acts}
    for _ in range(ROUNDS):
        for act, what in acts.items():
            page.wait_for_timeout(1_000)  # what comes late belongs to what was done
            wire.messages = wire.bytes = 0
            took = page.evaluate(TIMED, what)
            page.wait_for_timeout(500)
            costs[act].append((wire.messages, wire.bytes, took))
    models = run_python(page, MODELS.format(code=cells[-1]))
    left = run_python(page, MANY.format(runs=RUNS)) if name == "panel" else ""
    page.close()
    front.stop_kernels()
    return costs, wire, models, left


def print_page(before: str | None) -> list[str]:
    """Print what the acts on a page cost, and return which of the panel's are over their budget."""
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import CHROMIUM, FLAGS
    from tests.browser.fronts import running

    if CHROMIUM is None:
        print("No Chromium here: no page is measured. apt-get install chromium, or the like.")
        return []
    over = []
    print(f"{'':26}{'messages':>10}{'budget':>8}{'kB':>8}{'budget':>8}{'ms':>8}")
    with tempfile.TemporaryDirectory() as folder, running("lab", Path(folder)) as front, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name in SUBJECTS if before else ("panel", "interact"):
            costs, wire, models, left = measure(front, browser, name, before)
            for act, rounds in costs.items():
                if act.startswith("("):
                    continue
                messages, size = max(each[0] for each in rounds), max(each[1] for each in rounds) / 1000
                took = statistics.median(each[2] for each in rounds)
                most, kilobytes = BUDGETS[act] if name == "panel" else ("", "")
                print(f"{name + ': ' + act:26}{messages:10}{most:>8}{size:8.1f}{kilobytes:>8}{took:8.0f}")
                if name == "panel" and (messages > most or size > kilobytes):
                    over.append(act)
            print(f"{name + ': models of a form':26}{models:>10}")
            if name == "panel":
                print(f"{'panel: script and style':26}{'':18}{wire.bundle / 1000:8.1f}{BUNDLE:8}\n{left}")
                over += ["script and style"] * (wire.bundle > BUNDLE * 1000)
        browser.close()
    for act, (messages, size) in ({} if before else AS_IT_WAS).items():
        print(f"{'before, as it was: ' + act:26}{messages:10}{'':8}{size:8.1f}")
    return over


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


def page_of(*given: Any, find: str = "", at: int = 0) -> Callable[[TableView], object]:
    sort = [each for each in given if isinstance(each, Sort)]
    query = TableQuery(sort, [each for each in given if not isinstance(each, Sort)], find)
    return lambda table: table.page(query, at, at + 40, COLUMNS)


# What is done, the target for 1,000,000 rows in seconds, and how pandas does it.
STEPS: list[Step] = [
    ("first rows and summaries", 0.5, lambda table: table.view(), None),
    ("sort numbers", 0.15, page_of(Sort(2, descending=True)), lambda frame: frame["Spend"].argsort(kind="stable")),
    ("the next page of it", 0.01, page_of(Sort(2, descending=True), at=40), None),
    ("sort texts", 0.6, page_of(Sort(1, descending=False)), lambda frame: frame["Region"].argsort(kind="stable")),
    ("sort texts, then numbers", 0.6, page_of(Sort(7, descending=False), Sort(6, descending=True)), None),
    ("filter numbers", 0.1, page_of(Range(2, "100,000", "")), lambda frame: frame.index[frame["Spend"] >= 100_000]),
    (
        *("filter texts", 0.1, page_of(Contains(1, "9"))),
        lambda frame: frame.index[frame["Region"].str.contains("9", case=False, regex=False)],
    ),
    ("find a text", 0.3, page_of(find="gion 12"), None),
    ("find a number", 0.3, page_of(find="1,234"), None),
]


def timed(do: Callable[[Any], object], given: object) -> float:
    began = time.perf_counter()
    do(given)
    return (time.perf_counter() - began) * 1000


def print_table(rows: int) -> list[str]:
    """Print what each click on a table costs, and return which were later than their target."""
    frame = made(rows)
    ours: dict[str, list[float]] = {name: [] for name, *_ in STEPS}
    alone: dict[str, list[float]] = {name: [] for name, *_ in STEPS}
    for _ in range(ROUNDS):
        table = TableView(frame)  # a column is new at its first use, as it is to a person
        for name, _, do, plain in STEPS:
            ours[name].append(timed(do, table))
            alone[name] += [timed(plain, frame)] if plain else []
    print(f"\n{rows:,} rows × {frame.shape[1]} columns, ms in the kernel")
    print(f"{'':26}{'panel':>10}{'target':>8}{'pandas':>8}{'ratio':>8}")
    late = []
    for name, seconds, *_ in STEPS:
        took, target = statistics.median(ours[name]), seconds * 1000
        beside = statistics.median(alone[name]) if alone[name] else None
        print(f"{name:26}{took:10.1f}{target:8.0f}" + (f"{beside:8.0f}{took / beside:8.2f}" if beside else ""))
        late += [name] * (took > target * max(1.0, rows / 1_000_000))
    if find_spec("itables"):
        from itables.widget import ITable

        print(f"{'itables: a sample of rows':26}{timed(ITable, frame):10.1f}")
    else:
        print("itables isn't installed here, and is left out.")
    return late


def main() -> None:
    """Print all tables, and what is over its budget."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.panel")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--before", help="a worktree of commit 001ddc9")
    given = parser.parse_args()
    over = print_page(given.before) + print_table(given.rows)
    print(f"\nover budget: {', '.join(over)}" if over else "\nall within budget")


if __name__ == "__main__":
    main()

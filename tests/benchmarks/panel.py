"""
What the panel costs in a kernel and a browser: ``python -m tests.benchmarks.panel [--rows N] [--before FOLDER]``.

In JupyterLab and Chromium: comm messages in both directions, kB (script and style apart), models, and milliseconds till
the page is still, beside ipywidgets' `interact` of the same fields and the panel of stock controls before: its figures
as they were, or measured in a worktree of commit 001ddc9, which is FOLDER. Then what 300 runs leave; then what a click
on a table of N rows (1,000,000) costs in the kernel, beside pandas alone and itables where it is installed. Counts are
the most of all rounds but the first, which lists options; times are medians, and swing with the machine. Five minutes.
"""
# ruff: noqa: T201 - it prints tables

from __future__ import annotations

import argparse
import json
import statistics
import struct
import tempfile
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from timeit import timeit
from typing import Any

import ipywidgets as w
import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright

from jupyter_funcs.panel.requests import Contains, Pivot, Range, Sort, TableQuery
from jupyter_funcs.panel.table import TableView
from tests.browser.conftest import _IDLE, _RUN_ALL, CHROMIUM, FLAGS
from tests.browser.fronts import running
from tests.browser.steps import run_python

ROOT = str(Path(__file__).parents[2])
ROUNDS = 5
BUNDLE = 120  # kB of script and style
# Messages and kB that an act of the panel may take, and what they were before.
BUDGETS = {
    "open": (8, 15),
    "open a form": (8, 15),
    "run": (6, 20),
    "page": (2, 10),
    "sort": (2, 10),
    "switch": (3, 15),
}
AS_IT_WAS = {"open a form": (79, 48), "run": (46, 38)}
SETUP = """import sys; sys.path[:0] = {paths}
import jupyter_funcs as jf
funcs = jf.connect()
function = funcs["Get Panel Daily"]
values = dict(PanelName="Demo Card Panel", Symbol="NVRA US EQUITY")
_ = function(**values)"""
FORM = "panel = funcs.panel(function.name, **values)\npanel"
# What many runs leave, once the results that are held are as many as they will be.
MANY = """import gc, psutil, time
from ipywidgets.widgets.widget import _instances
def left_of(runs):
    began = time.perf_counter()
    for _ in range(runs):
        panel.run(); panel.result(60)
    took = (time.perf_counter() - began) / runs * 1000
    gc.collect()
    return len(_instances), psutil.Process().memory_info().rss / 1e6, took
first, last = left_of(100), left_of(300)
print(f"300 runs: {last[0] - first[0]} models and {last[1] - first[1]:.0f} MB more, {last[2]:.0f} ms each")"""
PANEL = '.jf[data-jf="panel"]'
GRID = "[data-jf=grid]"
FILLED = f"{PANEL}[data-state=form] [data-jf=run]"
BUTTON = ".widget-interact button"
RUN = (".jf-actions .jf-run", '.jf-status[data-state="done"][data-run="1"]')
# The cells of each subject, and what is done: in which cell, by a click on what (or running, or scrolling it), and what
# shows that it has been done. What is in brackets comes first, and isn't counted.
SUBJECTS: dict[str, tuple[list[str], dict[str, tuple[int, str, str]]]] = {
    "panel": (
        ["funcs.panel()", FORM],
        {
            "open": (1, "", f"{PANEL}[data-state=empty] [data-jf=start-search]"),
            "open a form": (2, "", FILLED),
            "run": (
                2,
                "[data-jf=run]",
                f'{PANEL}[data-run="1"][data-state=done] [role=gridcell]',
            ),
            "(begin to scroll)": (2, GRID, f'{GRID} [aria-rowindex="45"]'),
            "page": (2, GRID, f'{GRID} [aria-rowindex="85"]'),
            "sort": (2, '[data-jf="sort:Spend"]', f'{GRID} [aria-sort="descending"]'),
            "(open the picker)": (
                2,
                "[data-jf=picker]",
                '[data-jf="function:get_panel_fq"]',
            ),
            "switch": (2, '[data-jf="function:get_panel_fq"]', FILLED),
        },
    ),
    "interact": (
        ["from tests.benchmarks.panel import interact; interact(function, values)"],
        {"open a form": (1, "", BUTTON), "run": (1, BUTTON, "table.dataframe")},
    ),
    "before": ([FORM], {"open a form": (1, "", RUN[0]), "run": (1, *RUN)}),
}
# Do it, and return the milliseconds until the cell's output has changed for the last time: the panel, without the still
# output that is hidden beside it and written again after each run.
TIMED = """async ([cell, act, done]) => {
    const notebook = window.jupyterapp.shell.currentWidget.content;
    const node = notebook.widgets[cell].node;
    notebook.activeCellIndex = cell;
    const start = performance.now();
    let last = start;
    const observer = new MutationObserver(list => {
        const panel = node.querySelector('.jf');
        if (!panel || list.some(each => panel.contains(each.target))) last = performance.now();
    });
    observer.observe(node, {subtree: true, childList: true, attributes: true, attributeFilter: ['class', 'style']});
    if (!act) void window.jupyterapp.commands.execute('notebook:run-cell');
    else if (act === '[data-jf=grid]') node.querySelector(act).scrollTop += 40 * 28;
    else node.querySelector(act).click();
    while (!node.querySelector(done) || performance.now() - last < 500) {
        if (performance.now() - start > 60_000) throw new Error(`${act || 'the cell'}: there is no ${done}`);
        await new Promise(resolve => setTimeout(resolve, 20));
    }
    return (observer.disconnect(), last - start);
}"""


def interact(function: Any, values: dict[str, str]) -> w.Widget:
    """Return what `interact` makes of the same fields, as far as it can: a list or a text each."""

    def control(name: str, schema: dict[str, Any]) -> w.Widget:
        options = schema.get("enum") or schema.get("items", {}).get("enum")
        return (
            w.Dropdown(options=["", *options])
            if options
            else w.Text(values.get(name, ""))
        )

    def run(**arguments: Any) -> pd.DataFrame:
        return function(**{name: value for name, value in arguments.items() if value})

    controls = {
        name: control(name, schema)
        for name, schema in function.json_schema()["properties"].items()
    }
    return w.interactive(run, {"manual": True, "auto_display": True}, **controls)


class Wire:
    """The comm messages of a page, in both directions."""

    def __init__(self, page: Any) -> None:
        self.models = self.messages = self.bytes = self.beats = self.bundle = 0
        page.on(
            "websocket",
            lambda socket: [
                socket.on(way, self._note) for way in ("framesent", "framereceived")
            ],
        )

    def _note(self, frame: bytes | str) -> None:
        if isinstance(frame, str):
            return
        [count] = struct.unpack_from("<Q", frame)
        # Channel, header, parent, metadata, content, buffers.
        ends = struct.unpack_from(f"<{count}Q", frame, 8)
        kind = json.loads(frame[ends[1] : ends[2]])["msg_type"]
        if kind not in {"comm_open", "comm_msg", "comm_close"}:
            return
        data = json.loads(frame[ends[4] : ends[5]]).get("data", {})
        state = data.get("state", {})
        content = data.get("content", {})
        self.beats += (is_beat := content.get("kind") == "hello" or "ok" in content)
        if is_beat and self.beats > self.models:
            # The page asks every ten seconds, while somebody is at the panel, whether the kernel is there.
            return
        bundle = sum(
            len(json.dumps(state[name], ensure_ascii=False))
            for name in ("_esm", "_css")
            if name in state
        )
        self.bundle = max(self.bundle, bundle)
        self.models += kind == "comm_open"
        self.messages += 1
        self.bytes += len(frame) - ends[4] - bundle


def measure(
    front: Any, browser: Any, name: str, before: str | None
) -> tuple[dict[str, Any], int, str]:
    """Return what each act costs, the bytes of script and style, and what many runs leave."""
    cells, acts = SUBJECTS[name]
    front.write(
        f"{name}.ipynb",
        SETUP.format(paths=[before, ROOT] if name == "before" else [ROOT]),
        *cells,
    )
    page = browser.new_page(viewport={"width": 1440, "height": 1400})
    page.set_default_timeout(120_000)
    wire = Wire(page)
    page.goto(front.address(f"{name}.ipynb"))
    page.wait_for_function(_IDLE)
    page.evaluate(_RUN_ALL)
    page.wait_for_function("window.ranAll")
    costs: dict[str, list[Any]] = {act: [] for act in acts}
    for _ in range(ROUNDS + 1):
        for act, what in acts.items():
            page.wait_for_timeout(1_000)
            wire.models = wire.messages = wire.bytes = wire.beats = 0
            took = page.evaluate(TIMED, what)
            page.wait_for_timeout(500)  # for what comes late
            costs[act].append((wire.messages, wire.bytes / 1000, wire.models, took))
    left = run_python(page, MANY) if name == "panel" else ""
    page.close()
    front.stop_kernels()
    return (
        {act: rounds[1:] for act, rounds in costs.items() if act[0] != "("},
        wire.bundle,
        left,
    )


def print_page(before: str | None) -> list[str]:
    """Print what the acts on a page cost, and return which of the panel's are over their budget."""
    over = []
    print(
        f"{'in JupyterLab':26}{'messages':>10}{'budget':>8}{'kB':>8}{'budget':>8}{'models':>8}{'ms':>8}"
    )
    with (
        tempfile.TemporaryDirectory() as at,
        running("lab", Path(at)) as front,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name in SUBJECTS if before else ("panel", "interact"):
            costs, bundle, left = measure(front, browser, name, before)
            for act, rounds in costs.items():
                messages, size, models, _ = map(max, zip(*rounds, strict=True))
                took = statistics.median(figures[-1] for figures in rounds)
                most, largest = BUDGETS[act] if name == "panel" else ("", "")
                print(
                    f"{name + ': ' + act:26}{messages:10}{most:>8}{size:8.1f}{largest:>8}{models:8}{took:8.0f}"
                )
                over += [act] * (
                    name == "panel" and (messages > most or size > largest)
                )
            if name == "panel":
                print(
                    f"{'panel: script and style':44}{bundle / 1000:8.1f}{BUNDLE:8}\npanel: {left}"
                )
                over += ["script and style"] * (bundle > BUNDLE * 1000)
        browser.close()
    for act, (messages, size) in ({} if before else AS_IT_WAS).items():
        print(f"{'as it was: ' + act:26}{messages:10}{'':8}{size:8.1f}")
    return over


def made(rows: int) -> pd.DataFrame:
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


def page_of(sort: Any = (), filters: Any = (), find: str = "", at: int = 0) -> Any:
    return lambda table: table.page(
        TableQuery([*sort], [*filters], find), at, at + 40, range(8)
    )


def pivot_of(how: Any) -> Any:
    return lambda table: table.made([Pivot(["Region"], "Brand", "Spend", how)])


def pivot_table(how: str) -> Any:
    return lambda frame: frame.pivot_table(
        "Spend", "Region", columns="Brand", aggfunc=how
    )


# What is done, the most milliseconds for 1,000,000 rows, and how pandas does it.
STEPS: list[tuple[str, int, Any, Any]] = [
    ("first rows and summaries", 500, lambda table: table.view(), None),
    (
        "sort numbers",
        150,
        page_of([Sort(2, descending=True)]),
        lambda frame: frame["Spend"].argsort(kind="stable"),
    ),
    ("the next page of it", 10, page_of([Sort(2, descending=True)], at=40), None),
    (
        "sort texts",
        600,
        page_of([Sort(1, descending=False)]),
        lambda frame: frame["Region"].argsort(kind="stable"),
    ),
    (
        "sort texts, then numbers",
        600,
        page_of([Sort(7, descending=False), Sort(6, descending=True)]),
        None,
    ),
    (
        "filter numbers",
        100,
        page_of((), [Range(2, "100,000", "")]),
        lambda frame: frame[frame["Spend"] >= 100_000],
    ),
    (
        "filter texts",
        100,
        page_of((), [Contains(1, "9")]),
        lambda frame: frame[frame["Region"].str.contains("9")],
    ),
    ("find a text", 300, page_of(find="gion 12"), None),
    ("find a number", 300, page_of(find="1,234"), None),
    ("pivot: sums", 600, pivot_of("sum"), pivot_table("sum")),
    ("pivot: means", 600, pivot_of("mean"), pivot_table("mean")),
    ("pivot: shares", 600, pivot_of("share"), pivot_table("sum")),
    ("pivot: first values", 600, pivot_of("first"), pivot_table("first")),
]


def print_table(rows: int) -> list[str]:
    """Print what each click on a table costs, and return which were later than their target."""
    frame = made(rows)
    late = []
    # A column is new at its first use, as it is to a person.
    tables = [TableView(frame) for _ in range(ROUNDS)]
    print(
        f"\n{f'{rows:,} rows, in the kernel':26}{'ms':>10}{'target':>8}{'pandas':>8}{'ratio':>8}"
    )
    for name, most, do, plain in STEPS:
        took = statistics.median(
            timeit(partial(do, table), number=1) * 1000 for table in tables
        )
        beside = (
            statistics.median(
                timeit(partial(plain, frame), number=1) * 1000 for _ in tables
            )
            if plain
            else None
        )
        print(
            f"{name:26}{took:10.1f}{most:8}"
            + (f"{beside:8.0f}{took / beside:8.2f}" if beside else "")
        )
        late += [name] * (took > most * max(1.0, rows / 1_000_000))
    if find_spec("itables"):
        from itables.widget import ITable

        print(
            f"{'itables: a sample of rows':26}{timeit(partial(ITable, frame), number=1) * 1000:10.1f}"
        )
    return late


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.panel")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--before", help="a worktree of commit 001ddc9")
    options = parser.parse_args()
    over = print_page(options.before) + print_table(options.rows)
    print(f"\nover budget: {', '.join(over)}" if over else "\nall within budget")


if __name__ == "__main__":
    main()

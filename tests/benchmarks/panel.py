"""
What a form costs to open, to switch and to paint, beside other makers of forms: ``python -m tests.benchmarks.panel``.

Of each form: how many models and messages it is, how many kilobytes they are, how long the processor takes to make it,
how many models are left when it is closed, and how long JupyterLab takes to paint it in Chromium. Messages and models
are exact; times are medians and swing, so that each stands as a ratio to our own. The peers are not among our extras:
``pip install -e .[test] ipyautoui ipywidgets-jsonschema`` in an environment of its own; one that is absent is skipped
with a line. ``--no-paint`` leaves the browser out.
"""
# ruff: noqa: T201 - a table is what it gives

from __future__ import annotations

import copy
import importlib.util
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, ClassVar

import comm
import httpx
import ipywidgets as w
from comm.base_comm import BaseComm
from ipywidgets.widgets.widget import _instances
from jupyter_funcs.panel.form.formbox import FormBox

import jupyter_funcs as jf
from jupyter_funcs.catalog.form import Form

ROUNDS = 21
PAINTS = 5
OURS = "jupyter_funcs"
# The description of a field of each kind, for a form of many fields.
KINDS = (
    ("", 0),
    ("Options are 'Yes', 'No'. If none, it defaults to 'No'.", 0),
    ("Options are 'Age Group', 'Region', 'Brand'.", 4),
    ("Must be at least 1 and at most 50. If none, it defaults to '1'.", 1),
    ("Options are 'day', 'week', 'month'.", 0),
)


def function_of(fields: int) -> Any:
    """Give a function with so many fields; of eight the demo's own."""
    if fields == 8:
        function = jf.connect()["Get Panel FQ"]
        box = ours(function)  # so that its lists are known
        while any(source.asking for source in box._sources.values()):
            time.sleep(0.05)
        box.close()
        return function
    params = [
        {"name": f"Field{at}", "type": KINDS[at % 5][1], "description": f"What it is for. {KINDS[at % 5][0]}"}
        for at in range(fields)
    ]
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=[{"name": "F", "params": params}]))
    return jf.connect("https://service.example", token="a-token", transport=transport)["F"]


def ours(function: Any) -> w.Widget:
    return FormBox(function, Form(function), lambda: None, lambda callback: callback, list)


def interact(function: Any) -> w.Widget:
    """Give what `interact` makes of the same fields, as far as it can: a slider, a list or a text each."""
    number = {"integer": 1, "number": 1.0}
    abbreviations = {
        name: one.get("enum") or one.get("items", {}).get("enum") or number.get(one["type"], "")
        for name, one in function.json_schema()["properties"].items()
    }
    return w.interactive(lambda **_: None, {"manual": True}, **abbreviations)


def schema_of(function: Any) -> dict[str, Any]:
    """Give the schema without what the peers know nothing of."""
    schema = copy.deepcopy(function.json_schema())
    for name in ("$schema", "anyOf", "allOf"):
        schema.pop(name, None)
    return dict(schema)


def ipyautoui(function: Any) -> w.Widget:
    from ipyautoui import AutoUi

    return AutoUi(schema_of(function))


def ipywidgets_jsonschema(function: Any) -> w.Widget:
    from ipywidgets_jsonschema import Form as SchemaForm

    return SchemaForm(schema_of(function)).widget


MAKERS = {OURS: ours, "ipywidgets": interact, "ipyautoui": ipyautoui, "ipywidgets_jsonschema": ipywidgets_jsonschema}


class Wire(BaseComm):
    """What would go to a front end."""

    sent: ClassVar[list[int]] = []

    def publish_msg(self, _: str, data: Any = None, *__: Any, **___: Any) -> None:
        self.sent.append(len(json.dumps(data, default=str)))


def measure(make: Any, function: Any) -> dict[str, float]:
    """Give what one form costs in the kernel."""
    make(function).close()  # what is imported and prepared once
    times = []
    for _ in range(ROUNDS):
        before = len(_instances)
        Wire.sent.clear()
        start = time.process_time()
        made = make(function)
        times.append(time.process_time() - start)
        models, messages, size = len(_instances) - before, len(Wire.sent), sum(Wire.sent)
        made.close()
    left = len(_instances) - before
    start = time.process_time()
    for _ in range(50):
        make(function).close()
    switch = (time.process_time() - start) / 50
    return {
        "models": models,
        "messages": messages,
        "kB": size / 1000,
        "open, ms": statistics.median(times) * 1000,
        "switch, ms": switch * 1000,
        "left": left,
    }


PAINT = """async cell => {
    const notebook = window.jupyterapp.shell.currentWidget.content;
    notebook.activeCellIndex = cell;
    const node = notebook.widgets[cell].node;
    const start = performance.now();
    let last = start;
    const observer = new MutationObserver(() => { last = performance.now(); });
    observer.observe(node, {subtree: true, childList: true, attributes: true, attributeFilter: ['class', 'style']});
    await window.jupyterapp.commands.execute('notebook:run-cell');
    while (!node.querySelector('.jupyter-widgets') || performance.now() - last < 400)
        await new Promise(resolve => requestAnimationFrame(resolve));
    observer.disconnect();
    return last - start;
}"""


def paint(fields: int, names: list[str]) -> dict[str, float]:
    """Give the milliseconds from running a cell to the last change that it makes in JupyterLab's page."""
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import _IDLE, CHROMIUM, FLAGS
    from tests.browser.fronts import running

    if CHROMIUM is None:
        print("No Chromium here: nothing is painted. apt-get install chromium, or the like.")
        return {}
    root = Path(__file__).parents[2]
    first = f"import sys; sys.path.insert(0, {str(root)!r})\nfrom tests.benchmarks.panel import *\n"
    first += f"function = function_of({fields})"
    # A form is shown twice before it counts: its code is loaded, and the page has had one.
    cells = [first, *(f"MAKERS[{name!r}](function)" for name in names)]
    times: dict[str, list[float]] = {name: [] for name in names}
    with (
        tempfile.TemporaryDirectory() as folder,
        running("lab", Path(folder)) as front,
        sync_playwright() as playwright,
    ):
        front.write("paint.ipynb", *cells)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1250, "height": 1600})
        page.goto(front.address("paint.ipynb"))
        page.wait_for_function(_IDLE, timeout=60_000)
        page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
        page.wait_for_timeout(8_000)
        page.wait_for_function(_IDLE, timeout=60_000)
        for turn in range(PAINTS + 1):
            for at, name in enumerate(names, start=1):
                took = page.evaluate(PAINT, at)
                if turn:
                    times[name].append(took)
        browser.close()
    return {name: statistics.median(each) for name, each in times.items()}


def main() -> None:
    """Print a table for a form of eight fields and for one of forty."""
    names = [name for name in MAKERS if importlib.util.find_spec(name)]
    for name in MAKERS.keys() - set(names):
        print(f"{name} is not installed here, and skipped.")
    comm.create_comm = Wire
    for fields in (8, 40):
        function = function_of(fields)
        rows = {name: measure(MAKERS[name], function) for name in names}
        if "--no-paint" not in sys.argv:
            for name, took in paint(fields, names).items():
                rows[name]["paint, ms"] = took
        print(f"\n{fields} fields".ljust(32) + "".join(title.rjust(19) for title in rows[OURS]))
        for name, row in rows.items():
            cells = [
                f"{value:.1f} (×{value / rows[OURS][title]:.1f})" if title.endswith("ms") else f"{value:.4g}"
                for title, value in row.items()
            ]
            print(name.ljust(31) + "".join(cell.rjust(19) for cell in cells))


if __name__ == "__main__":
    main()

"""A notebook run from start to end, as by Run All and nbclient: it stops at an error, which is short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.magic.conftest import live_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_client.manager import KernelManager

LOAD = "%load_ext jupyter_funcs\nimport jupyter_funcs as jf\nfuncs = jf.connect()"
MISSING = ["ArgumentError: PanelName is required.", "Get Panel Daily was not "]
DAILY = 'get_panel_daily PanelName="Demo Card Panel"'


@pytest.fixture(scope="module")
def kernel() -> Iterator[KernelManager]:
    """A live kernel for all these notebooks."""
    with live_kernel() as client:
        yield client.parent


def run_all(kernel: KernelManager, *cells: str) -> tuple[Any, str]:
    """Run a notebook; return its cells with their outputs, and the error that stopped it."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in (LOAD, *cells)]
    )
    stopped = ""
    client = NotebookClient(notebook, km=kernel, timeout=60, store_widget_state=False)
    try:
        client.execute()
    except CellExecutionError as error:
        stopped = str(error)
    finally:
        client.kc.stop_channels()
    nbformat.validate(notebook)
    return notebook.cells[1:], stopped


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "lines"),
    [
        (
            "%funcs call get_panl_daily",
            ["NotFoundError: There is no function 'get_panl_daily'", "Did you mean "],
        ),
        (
            f"df = %funcs call {DAILY} -q",
            ["ArgumentError: Symbol or Brand is required"],
        ),
        (
            f"%funcs call {DAILY} Symbol='BKQU",
            ["ArgumentError: The quote at the", "…et_panel_daily ", " " * 51 + "^"],
        ),
        ("%%funcs call get_panel_daily\nSymbol: BKQU", MISSING),
        (
            "funcs.get_panel_daily(Symbl=1)",
            ["ArgumentError: Get Panel Daily has no parameter 'Symbl'. Did you "],
        ),
        ("await funcs.get_panel_daily.submit()", MISSING),
        (
            "%funcs panel get_panel_daily --wait",
            ["ArgumentError: Panel Name is required.", MISSING[1]],
        ),
    ],
)
def test_run_all_stops_at_an_error_of_a_few_lines(
    kernel: KernelManager, cell: str, lines: list[str]
) -> None:
    """The cell fails, no later cell runs, and the notebook stores the short text without a traceback."""
    cells, stopped = run_all(kernel, "1 + 1", cell, "print('never')")
    assert "never" not in str(cells[2].outputs)
    assert cells[2].execution_count is None
    assert cells[0].outputs[0]["data"]["text/plain"] == "2"
    error = cells[1].outputs[-1]
    assert error["output_type"] == "error"
    shown = "\n".join(error["traceback"]).split("\n")
    assert len(shown) == len(lines)
    for line, begin in zip(shown, lines, strict=True):
        assert line.startswith(begin)
    assert "\n".join(shown) in stopped
    assert "Traceback" not in str(cells)


@pytest.mark.slow
def test_a_notebook_of_every_form_runs_to_its_end(kernel: KernelManager) -> None:
    """Line and cell magics, a semicolon, an assignment, and a run awaited in the kernel's own loop."""
    cells, stopped = run_all(
        kernel,
        "%funcs call get_panels;",
        "df = %funcs call get_panels;\nlen(df)",
        '%%funcs call get_panel_daily -o daily\n{"PanelName": "Demo Card Panel", "Symbol": "BKQU"}',
        "again = await funcs.get_panel_daily.submit(PanelName='Demo Card Panel', Symbol='BKQU')\nagain.equals(daily)",
        "get_ipython().run_cell('%funcs call get_panl_daily');",
        "%funcs lasterror",
        "%funcs call get_panels -o print\ndel print",
    )
    assert not stopped
    shown = [
        [
            output.get("text", output.get("data", {}).get("text/plain"))
            for output in cell.outputs
        ]
        for cell in cells
    ]
    assert shown[:4] == [[], ["2"], [], ["True"]]
    assert "Traceback (most recent call last)" in shown[5][0]
    assert "UserWarning: -o print hides" in shown[6][0]


@pytest.mark.slow
def test_a_job_that_ends_during_a_later_cell_is_saved_as_done(
    kernel: KernelManager,
) -> None:
    """What runs notebooks drops messages of cells that have ended, so the end is shown as part of a later one."""
    begin = "import time\ndef get_late() -> list:\n    time.sleep(0.7)\n    return [{'a': 1}]\n"
    cells, _ = run_all(
        kernel,
        f"{begin}job = jf.connect([get_late]).get_late.submit()\njob",
        "job.result()",
        "1",
    )
    [shown] = cells[0].outputs
    assert "done" in shown["data"]["text/html"]

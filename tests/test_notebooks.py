"""The notebooks as they are stored: what a reader sees where no kernel runs, and what nbval compares with."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.conftest import is_running, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
STARTING = [path for path in NOTEBOOKS if "Popen" in path.read_text("utf-8")]
MOST_BYTES = 120_000

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def outputs(notebook: nbformat.NotebookNode) -> Iterator[nbformat.NotebookNode]:
    return itertools.chain.from_iterable(
        cell.get("outputs", ()) for cell in notebook.cells
    )


def shown(notebook: nbformat.NotebookNode) -> str:
    """Return what a reader sees below the cells, without the markup."""
    texts: list[str] = []
    for output in outputs(notebook):
        texts += [
            output.get("text", ""),
            output.get("evalue", ""),
            *output.get("traceback", ()),
        ]
        texts += [
            text
            for kind, text in output.get("data", {}).items()
            if kind.startswith("text/")
        ]
    return re.sub(r"<style.*?</style>|<[^>]*>", " ", "\n".join(texts), flags=re.DOTALL)


@each_notebook
def test_a_notebook_is_stored_with_its_outputs(path: Path) -> None:
    """A notebook without outputs would pass nbval green: each has some, and cells whose output is compared."""
    notebook = read(path)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    compared = [
        cell for cell in code if "nbval-check-output" in cell.metadata.get("tags", [])
    ]
    assert compared
    assert all(cell.outputs for cell in compared)
    assert sum(bool(cell.outputs) for cell in code) > len(code) / 2
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))


@each_notebook
def test_a_notebook_holds_no_widget_state_and_no_path(path: Path) -> None:
    """A stored notebook holds no widget state, in which a value could hide, and nothing of its author's machine."""
    notebook = read(path)
    assert "widgets" not in notebook.metadata
    for output in outputs(notebook):
        output.get("data", {}).pop("image/png", None)  # its letters mean nothing
    text = nbformat.writes(notebook)
    for trace in ("/home/", "/root/", "/tmp/", "/var/folders/", "C:\\\\", "eyJ"):
        assert trace not in text
    assert not re.search(r"(127\.0\.0\.1|localhost):\d", shown(notebook))


@each_notebook
def test_a_notebook_holds_no_noise_of_its_execution(path: Path) -> None:
    """What differs at each execution and says nothing: warnings, bars, how long it took, when each cell began."""
    notebook = read(path)
    errors = [
        output["text"] for output in outputs(notebook) if output.get("name") == "stderr"
    ]
    assert [
        text for text in errors if not text.startswith("MissingRowsWarning: ")
    ] == []
    assert not [cell for cell in notebook.cells if "execution" in cell.metadata]
    text = shown(notebook)
    assert not re.search(r"\d ?%\|.*\|", text), "a bar"
    assert not re.search(r"\d/s\b|\bruns?/s\b", text), "a bar's speed"
    assert not re.search(r"\b\d+(\.\d+)? ?(ms|s|sec|seconds?)\b", text), (
        "how long it took"
    )


@each_notebook
def test_a_notebook_can_be_read_where_no_widget_is_drawn(path: Path) -> None:
    """A code host draws no widget: each has HTML too, and the file is small enough to be shown there."""
    assert path.stat().st_size < MOST_BYTES
    for output in outputs(read(path)):
        data = output.get("data", {})
        assert (
            "application/vnd.jupyter.widget-view+json" not in data
            or data["text/html"].strip()
        )


@each_notebook
def test_a_notebook_reads_as_prose(path: Path) -> None:
    """It begins with a title, soon says that its numbers are synthetic, and never has much code without a word."""
    cells = read(path).cells
    assert cells[0].cell_type == "markdown"
    assert cells[0].source.startswith("# ")
    assert "synthetic" in "".join(cell.source for cell in cells[:2])
    in_a_row = [
        len(list(row))
        for kind, row in itertools.groupby(cell.cell_type for cell in cells)
        if kind == "code"
    ]
    assert max(in_a_row) <= 4


@each_notebook
def test_a_cell_that_runs_twice_says_nothing_of_loading(path: Path) -> None:
    """`%reload_ext` loads as `%load_ext` does, which prints "already loaded" the second time."""
    assert not [cell.source for cell in read(path).cells if "%load_ext" in cell.source]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["graceful", "immediate"])
@pytest.mark.parametrize("path", STARTING, ids=lambda path: path.stem)
def test_what_a_notebook_starts_ends_with_it(
    path: Path, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a cell fails half-way the service goes with the kernel, also with one that is killed; so do the files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    notebook = read(path)
    last = max(at for at, cell in enumerate(notebook.cells) if "Popen" in cell.source)
    fails = "import psutil\n\nprint(*(each.pid for each in psutil.Process().children(recursive=True)))\n1 / 0"
    notebook.cells = [*notebook.cells[: last + 1], nbformat.v4.new_code_cell(fails)]
    client = NotebookClient(
        notebook, kernel_name="python3", timeout=120, shutdown_kernel=how
    )
    client.create_kernel_manager().shutdown_wait_time = (
        60  # a kernel that ends is not killed on a busy machine
    )
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        client.execute()
    started = [int(pid) for pid in notebook.cells[-1].outputs[0].text.split()]
    assert started
    wait_until(lambda: not any(map(is_running, started)))
    assert how == "immediate" or not list(tmp_path.iterdir())

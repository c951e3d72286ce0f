"""The notebooks as they are stored: nbval runs them, and what it compares with must be there."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_with_its_outputs(path: Path) -> None:
    """A notebook without outputs would pass nbval green: each has some, and cells whose output is compared."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    compared = [cell for cell in code if "nbval-check-output" in cell.metadata.get("tags", [])]
    assert compared
    assert all(cell.outputs for cell in compared)
    assert sum(bool(cell.outputs) for cell in code) > len(code) / 2
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_holds_no_widget_state_and_no_path(path: Path) -> None:
    """A stored notebook holds no widget state, in which a value could hide, and nothing of its author's machine."""
    notebook = nbformat.read(path, as_version=4)
    assert "widgets" not in notebook.metadata
    for output in (output for cell in notebook.cells for output in cell.get("outputs", ())):
        output.get("data", {}).pop("image/png", None)  # whose letters mean nothing
    text = nbformat.writes(notebook)
    for trace in ("/home/", "/root/", "/tmp/", "eyJ"):
        assert trace not in text

"""
Publishing a notebook: its parameters cell says what it takes, its first text what it is, its last value is the result.

It is read when the service starts, and executed by papermill in a process of its own for each run.
"""
# ruff: noqa: PLC0415 - a service without notebooks needs none of nbformat

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

from . import last_cell, notebook_run, parameters_cell, signatures
from .errors import SetupError
from .notebook_call import NotebookCall
from .registry import Function
from .words import did_you_mean, listed, quoted

if TYPE_CHECKING:
    from pathlib import Path

# What the notebook's metadata may say, under this name.
_METADATA = "jupyter_funcs"
_FIELDS = ("name", "asset", "group", "description", "author")
_HEADING = re.compile(r" {0,3}#{1,6}\s+(.*?)[\s#]*")


def read(path: Path, default_asset: str | None) -> Function:
    """
    Read a notebook as a published function.

    Parameters
    ----------
    path
        The file.
    default_asset
        The asset that it belongs to where its metadata name none.

    Raises
    ------
    SetupError
        It cannot be published as it is; names the file, and the cell and line where there is one.
    """
    notebook = _opened(path)
    said = _metadata(notebook, path)
    asset = said.get("asset", default_asset)
    if asset is None:
        raise SetupError(
            f"{path} names no asset.\n"
            f'Add one to its metadata, "{_METADATA}": {{"asset": "…"}}, or set functions.asset in the configuration.'
        )
    at = _parameters_at(notebook, path)
    parameters, rules = parameters_cell.read(notebook.cells[at].source, f"{path}, cell {at + 1}")
    heading, paragraph = _headed(notebook)
    return Function(
        name=said.get("name") or heading or signatures.title(path.stem),
        description=said.get("description", paragraph),
        asset=asset,
        group=said.get("group"),
        parameters=parameters,
        rules=rules,
        python=NotebookCall(path, _prepared(notebook, at, path), {each.name: each.default for each in parameters}),
        takes_call=True,
        entry_point=f"{path.absolute().parent.name}/{path.name}",
        notebook_name=path.name,
        place=str(path),
        author=said.get("author"),
    )


def _opened(path: Path) -> Any:
    import nbformat

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what it mends in older notebooks
            notebook = nbformat.v4.upgrade(nbformat.read(path, as_version=4))  # type: ignore[no-untyped-call] # nbformat's is untyped
            nbformat.validate(notebook)
    except Exception as error:  # noqa: BLE001 - whatever may be in a file of this name
        reason = str(error).strip().partition("\n")[0]
        raise SetupError(
            f"{path} is no notebook: {reason or type(error).__name__}.\nOpen and save it in Jupyter."
        ) from None
    language = notebook.metadata.get("language_info", {}).get("name") or notebook.metadata.get("kernelspec", {}).get(
        "language", "python"
    )
    if str(language).casefold() != "python":
        raise SetupError(f"{path} is written in {quoted(language)}.\nOnly notebooks in Python are published.")
    return notebook


def _metadata(notebook: Any, path: Path) -> dict[str, str]:
    said = notebook.metadata.get(_METADATA, {})
    for name, value in said.items() if isinstance(said, dict) else [(_METADATA, said)]:
        if name not in _FIELDS:
            raise SetupError(
                f"{path}: the metadata have {quoted(name)}.{did_you_mean(name, _FIELDS)}\n"
                f"{_METADATA} takes an object of {listed(_FIELDS)}."
            )
        if not isinstance(value, str) or not value.strip():
            raise SetupError(f"{path}: {_METADATA}.{name} in the metadata is {quoted(value)}.\nWrite a text.")
    return dict(said)


def _parameters_at(notebook: Any, path: Path) -> int:
    tagged = [
        at
        for at, cell in enumerate(notebook.cells)
        if cell.cell_type == "code" and "parameters" in cell.metadata.get("tags", [])
    ]
    if len(tagged) == 1:
        return tagged[0]
    count = f"{len(tagged)} cells" if tagged else "no cell"
    raise SetupError(
        f"{path} has {count} tagged 'parameters'.\n"
        "Tag the one cell that assigns its parameters (an empty one if there are none), or move the notebook elsewhere."
    )


def _headed(notebook: Any) -> tuple[str, str]:
    """Give the heading of the first text, and the paragraph that follows."""
    text = next((cell.source for cell in notebook.cells if cell.cell_type == "markdown"), "")
    heading = ""
    paragraph: list[str] = []
    for line in text.splitlines():
        found = _HEADING.fullmatch(line)
        if found and not heading and not paragraph:
            heading = found[1].strip("*_` ")
        elif found or (not line.strip() and paragraph):
            break
        elif line.strip():
            paragraph.append(line.strip())
    return heading, " ".join(paragraph)


def _prepared(notebook: Any, parameters_at: int, path: Path) -> str:
    """Give the notebook that is executed, without what it showed when it was saved."""
    import nbformat

    cells = notebook.cells
    for cell in cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    full = [at for at, cell in enumerate(cells) if cell.cell_type == "code" and not last_cell.is_empty(cell.source)]
    if not full or full[-1] <= parameters_at:
        raise SetupError(
            f"{path} has no code after its parameters.\nEnd the notebook with a cell whose value is the result."
        )
    last = cells[full[-1]]
    last.source = last_cell.kept(last.source, f"{path}, cell {full[-1] + 1}")
    emit = notebook_run.EMIT.format(name=last_cell.NAME)
    cells.append(nbformat.v4.new_code_cell(emit))  # type: ignore[no-untyped-call] # nbformat's is untyped
    return str(nbformat.writes(notebook))  # type: ignore[no-untyped-call] # nbformat's is untyped

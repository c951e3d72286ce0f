"""Publish a notebook: read its parameters cell, name and description, and run its cells in this process."""

from __future__ import annotations

import os
import re
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_funcs.service.messages import SetupError, did_you_mean, listed, quoted
from jupyter_funcs.service.publishing import notebook_cells, signatures
from jupyter_funcs.service.publishing.registry import PublishedFunction

if TYPE_CHECKING:
    from collections.abc import Mapping

# The key in the notebook's metadata, and what may be under it.
_METADATA = "jupyter_funcs"
_FIELDS = ("name", "asset", "group", "description", "author")
_HEADING = re.compile(r" {0,3}#{1,6}\s+(.*)")


@dataclass(frozen=True, slots=True)
class NotebookRun:
    """Runs a notebook in this process, which then can't be used for anything else."""

    path: Path
    cells: tuple[str, ...] = field(repr=False)
    parameters_at: int
    defaults: Mapping[str, Any] = field(repr=False)

    def __call__(self, **values: Any) -> Any:
        """Run the cells, and return the value of the last one."""
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        folder = self.path.absolute().parent
        sys.path.insert(0, str(folder))
        for each in folder.iterdir():  # cells find what is beside the notebook, and write elsewhere
            Path(each.name).symlink_to(each)
        # Outputs may show arguments, which the log must not.
        output = os.open(os.devnull, os.O_WRONLY)
        os.dup2(output, 1)
        os.dup2(output, 2)
        shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
        shell._showtraceback = lambda *_: None  # type: ignore[method-assign] # noqa: SLF001 - IPython's hook
        for at, cell in enumerate(self.cells):
            shell.run_cell(cell).raise_error()  # type: ignore[no-untyped-call] # IPython's is untyped
            if at == self.parameters_at:
                shell.push(
                    {  # type: ignore[no-untyped-call] # as above
                        name: value for name, value in values.items() if value != self.defaults[name]
                    }
                )
        return shell.user_ns[notebook_cells.RESULT_NAME]


def read(path: Path, default_asset: str | None) -> PublishedFunction:
    """Read a notebook as a published function."""
    notebook = _opened(path)
    metadata = _metadata(notebook, path)
    asset = metadata.get("asset", default_asset)
    if asset is None:
        raise SetupError(
            f"{path} has no asset.\n"
            f'Add one to its metadata, "{_METADATA}": {{"asset": "…"}}, or set functions.asset in the configuration.'
        )
    at = _parameters_at(notebook, path)
    parameters, rules = notebook_cells.read_parameters(notebook.cells[at].source, f"{path}, cell {at + 1}")
    heading, paragraph = _first_text(notebook)
    return PublishedFunction(
        name=metadata.get("name") or heading or signatures.title(path.stem),
        description=metadata.get("description", paragraph),
        asset=asset,
        group=metadata.get("group"),
        parameters=parameters,
        rules=rules,
        python=NotebookRun(path, *_prepared(notebook, at, path), {each.name: each.default for each in parameters}),
        takes_call=False,
        entry_point=f"{path.absolute().parent.name}/{path.name}",
        notebook_name=path.name,
        place=str(path),
        author=metadata.get("author"),
    )


def _opened(path: Path) -> Any:
    import nbformat

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about what it upgrades in older notebooks
            notebook = nbformat.v4.upgrade(nbformat.read(path, as_version=4))  # type: ignore[no-untyped-call] # nbformat's is untyped
            nbformat.validate(notebook)
    except Exception as error:  # noqa: BLE001 - the file may contain anything
        reason = str(error).strip().partition("\n")[0]
        raise SetupError(
            f"{path} is not a valid notebook: {reason or type(error).__name__}.\nOpen it in Jupyter and save it again."
        ) from None
    language = notebook.metadata.get("language_info", {}).get("name") or notebook.metadata.get("kernelspec", {}).get(
        "language", "python"
    )
    if str(language).casefold() != "python":
        raise SetupError(f"{path} is written in {quoted(language)}.\nOnly Python notebooks can be published.")
    return notebook


def _metadata(notebook: Any, path: Path) -> dict[str, str]:
    found = notebook.metadata.get(_METADATA, {})
    if not isinstance(found, dict):
        raise SetupError(f"{path}: {_METADATA} in the metadata must be an object with {listed(_FIELDS)}.")
    for name, value in found.items():
        if name not in _FIELDS:
            raise SetupError(
                f"{path}: {_METADATA} in the metadata has the unknown key {quoted(name)}."
                f"{did_you_mean(name, _FIELDS)}\nValid keys are {listed(_FIELDS)}."
            )
        if not isinstance(value, str) or not value.strip():
            raise SetupError(f"{path}: {_METADATA}.{name} in the metadata must be text, not {quoted(value)}.")
    return dict(found)


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
        "Tag the one cell that assigns the parameters (it may be empty), or move the notebook to another folder."
    )


def _first_text(notebook: Any) -> tuple[str, str]:
    """Return the heading of the first text cell, and the paragraph after it."""
    text = next((cell.source for cell in notebook.cells if cell.cell_type == "markdown"), "")
    heading = ""
    paragraph: list[str] = []
    for line in text.splitlines():
        found = _HEADING.fullmatch(line)
        if found and not heading and not paragraph:
            heading = found[1].rstrip("# \t").strip("*_` ")
        elif found or (not line.strip() and paragraph):
            break
        elif line.strip():
            paragraph.append(line.strip())
    return heading, " ".join(paragraph)


def _prepared(notebook: Any, parameters_at: int, path: Path) -> tuple[tuple[str, ...], int]:
    """Return the code cells, of which the last assigns the result, and which of them has the parameters."""
    cells = {at: cell.source for at, cell in enumerate(notebook.cells) if cell.cell_type == "code"}
    full = [at for at, source in cells.items() if not notebook_cells.is_empty(source)]
    if not full or full[-1] <= parameters_at:
        raise SetupError(
            f"{path} has no code after the parameters cell.\nEnd the notebook with a cell whose value is the result."
        )
    cells[full[-1]] = notebook_cells.capture_result(cells[full[-1]], f"{path}, cell {full[-1] + 1}")
    return tuple(cells.values()), [*cells].index(parameters_at)

"""
The process of its own in which a notebook is executed: ``python -m jupyter_funcs.service.notebook_run FOLDER``.

The folder is private to one run. It holds the notebook, gets the result or what went wrong, and is where kernel and
notebook keep their temporary files. The first line of the standard input says what is to be done; when the input
ends, so does the process that asked, and this one with it.
"""
# ruff: noqa: PLC0415 - the service and the kernel import this room too, and need none of what executes a notebook

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from . import results
from .process_tree import adopt_orphans, kill_descendants

NOTEBOOK, RESULT, ERROR = "notebook.ipynb", "result.json", "error.json"
"""The files of the private folder."""

KERNEL = "jupyter-funcs"
"""The kernel: Python as the service has it, whatever else is installed for the user."""

EMIT = "__import__('importlib').import_module('jupyter_funcs.service.notebook_run').emit({name})"
"""The cell that is added at the end."""

_RESULT_VARIABLE = "JUPYTER_FUNCS_RESULT"
# A socket's path has at most some 100 characters.
_LONGEST_SOCKET_FOLDER = 80
_FRAME = re.compile(r"Cell In|File |\w+ +Traceback |\n?(The above|During) ")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def emit(value: Any) -> None:
    """Write the value of a notebook to the file that is to take it; called by its kernel."""
    path = Path(os.environ[_RESULT_VARIABLE])
    unfinished = path.with_suffix(".part")
    unfinished.write_text(results.body(value), "utf-8")
    unfinished.replace(path)


def main() -> None:
    """Execute the notebook of a folder."""
    folder = Path(sys.argv[1])
    job = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, args=(folder,), daemon=True).start()
    adopt_orphans()
    os.environ[_RESULT_VARIABLE] = str(folder / RESULT)
    try:
        _execute(folder, job["folder"], job["parameters"], frozenset(job["dates"]))
    except BaseException as error:  # noqa: BLE001 - of a kernel too, which may end in any way
        (folder / ERROR).write_text(json.dumps(_told(error)), "utf-8")
    finally:
        kill_descendants()


def _end_with_parent(folder: Path) -> None:
    while sys.stdin.buffer.read(4096):
        pass
    kill_descendants()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _execute(folder: Path, working_folder: str, parameters: dict[str, Any], dates: frozenset[str]) -> None:
    # Where JupyterLab is, importing jsonschema builds a grammar of addresses for two seconds; no notebook needs it.
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # an import of it then fails at once
    import papermill
    from papermill.translators import papermill_translators
    from traitlets.config import Config

    papermill_translators.register("python", _translator())
    config = Config()
    if len(str(folder)) < _LONGEST_SOCKET_FOLDER:
        # Sockets in the private folder: no other user reaches them, and no other kernel takes the port meanwhile.
        config.KernelManager.transport = "ipc"
        config.KernelManager.connection_file = str(folder / "kernel.json")
    papermill.execute_notebook(
        str(folder / NOTEBOOK),
        None,
        {name: _dated(value) if name in dates else value for name, value in parameters.items()},
        kernel_name=KERNEL,
        language="python",
        progress_bar=False,
        cwd=working_folder,
        config=config,
        store_widget_state=False,
    )


class _Date(str):
    """The text of a date; papermill keeps parameters in the notebook as JSON, which has no dates."""

    __slots__ = ()


def _dated(value: Any) -> Any:
    return [_Date(each) for each in value] if isinstance(value, list) else _Date(value)


def _translator() -> type:
    from papermill.translators import PythonTranslator

    class Translator(PythonTranslator):  # type: ignore[misc]  # papermill is not typed
        """papermill's, with dates."""

        @classmethod
        def translate(cls, val: Any) -> str:
            text = str(super().translate(val))
            return f"__import__('datetime').date.fromisoformat({text})" if isinstance(val, _Date) else text

    return Translator


def _told(error: BaseException) -> dict[str, str]:
    """Give the type and the message of what was raised, and where, without the message."""
    from papermill.exceptions import PapermillExecutionError

    if not isinstance(error, PapermillExecutionError):
        return {
            "type": type(error).__name__,
            "message": str(error),
            "trace": "".join(traceback.format_tb(error.__traceback__)),
        }
    # Frames and headings alone: the message of each error is the last line of its own, and may hold arguments.
    trace = "\n".join(part for part in (_ANSI.sub("", each) for each in error.traceback) if _FRAME.match(part))
    message = f"It ended with sys.exit({error.evalue})." if error.ename == "SystemExit" else error.evalue
    return {"type": error.ename, "message": message, "trace": f"{trace}\nin the cell\n{error.source}"}


if __name__ == "__main__":
    main()

"""A run of a notebook, from the service's side: a private folder, a process with no secrets in it, and its end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import notebook_run
from .engine import CallCancelledError
from .process_tree import kill_tree
from .results import Document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .engine import Call

# How soon a run notices that nobody waits for it.
_POLL_SECONDS = 0.1
# Our own variables hold keys, tokens and passwords.
_SECRETS = "FUNCS_"


class NotebookError(Exception):
    """A cell of a notebook raised something; says what in one line, and in a note where."""


@dataclass(frozen=True, slots=True)
class NotebookCall:
    """
    Executes a notebook.

    Attributes
    ----------
    path
        The file, in whose folder the notebook works.
    source
        What is executed: the notebook as it was read, with a cell more that gives its last value away.
    defaults
        The values of the parameters cell, which are not sent.
    """

    path: Path
    source: str = field(repr=False)
    defaults: Mapping[str, Any] = field(repr=False)

    def __call__(self, call: Call, /, **values: Any) -> Document:
        """
        Execute the notebook and give its last value.

        Raises
        ------
        NotebookError
            A cell failed.
        CallCancelledError
            Nobody waits any more; whatever the notebook had started has been killed.
        """
        with tempfile.TemporaryDirectory(prefix="funcs-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            (folder / notebook_run.NOTEBOOK).write_text(self.source, "utf-8")
            _make_kernel(folder)
            job = {
                "folder": str(self.path.absolute().parent),
                "parameters": {name: _sent(value) for name, value in values.items() if value != self.defaults[name]},
                "dates": [name for name, value in values.items() if _has_dates(value)],
            }
            _execute(folder, job, call)
            return self._result(folder)

    def _result(self, folder: Path) -> Document:
        try:
            return Document((folder / notebook_run.RESULT).read_bytes())
        except FileNotFoundError:
            pass
        try:
            told = json.loads((folder / notebook_run.ERROR).read_text("utf-8"))
        except FileNotFoundError:
            said = (folder / "log").read_text("utf-8", "replace")
            told = {"type": "", "message": "The notebook ended before its last cell.", "trace": said}
        error = NotebookError(told["message"].strip().partition("\n")[0] or told["type"])
        error.add_note(f"{self.path}: {told['type']}\n{told['trace']}")
        raise error


def _execute(folder: Path, job: dict[str, Any], call: Call) -> None:
    private = {
        "IPYTHONDIR": folder / "ipython",
        "JUPYTER_PATH": folder / "jupyter",
        "JUPYTER_RUNTIME_DIR": folder / "runtime",
        "TMPDIR": folder,
    }
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_SECRETS)}
    with (
        (folder / "log").open("wb") as output,
        subprocess.Popen(  # noqa: S603 - our own room, by its name
            [sys.executable, "-m", notebook_run.__name__, str(folder)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            cwd=folder,
            env=environment | {name: str(path) for name, path in private.items()},
            start_new_session=True,
        ) as process,
    ):
        try:
            assert process.stdin
            process.stdin.write(json.dumps(job).encode() + b"\n")
            process.stdin.flush()
            while process.poll() is None:
                if call.cancelled:
                    raise CallCancelledError
                _wait(process)
        finally:
            kill_tree(process.pid)


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return


def _make_kernel(folder: Path) -> None:
    home = folder / "jupyter" / "kernels" / notebook_run.KERNEL
    home.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (home / "kernel.json").write_text(json.dumps({"argv": command, "display_name": "", "language": "python"}), "utf-8")


def _sent(value: Any) -> Any:
    if isinstance(value, list):
        return [_sent(each) for each in value]
    return value.isoformat() if isinstance(value, date) else value


def _has_dates(value: Any) -> bool:
    return isinstance(value[0] if isinstance(value, list) and value else value, date)

"""JupyterLab, Notebook 7 and Voila as processes on free ports, with all their folders below one that you name."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx
import nbformat

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "tests"
HEADERS = {"Authorization": f"token {TOKEN}"}
FOLDERS = (
    *(
        "HOME",
        "IPYTHONDIR",
        "JUPYTER_CONFIG_DIR",
        "JUPYTER_DATA_DIR",
        "JUPYTER_RUNTIME_DIR",
        "JUPYTERLAB_SETTINGS_DIR",
    ),
    *(
        "JUPYTERLAB_WORKSPACES_DIR",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "FUNCS_STATE_DIR",
    ),
)
_OF_A_SERVER = (
    *(
        "--no-browser",
        "--allow-root",
        "--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
    ),
    *(f"--IdentityProvider.token={TOKEN}", "--ServerApp.root_dir={root}"),
)
# Of each front end: its options, where a notebook is, and what answers once it is up.
_KINDS = {
    "lab": (
        ["jupyterlab", *_OF_A_SERVER, "--LabApp.expose_app_in_browser=True"],
        # Without reset Lab reopens old tabs, and locators hit hidden copies.
        "/lab/tree/{name}?token={token}&reset",
        "/api/status",
    ),
    "notebook": (
        ["notebook", *_OF_A_SERVER, "--JupyterNotebookApp.expose_app_in_browser=True"],
        "/notebooks/{name}?token={token}",
        "/api/status",
    ),
    "voila": (
        [
            "voila",
            "{root}",
            "--no-browser",
            "--port={port}",
            "--Voila.port_retries=0",
            f"--token={TOKEN}",
        ],
        "/voila/render/{name}?token={token}",
        "/voila/tree",
    ),
}


@dataclass
class Front:
    """A running front end: lab, notebook or voila; where it is, and its folders of notebooks and of data."""

    kind: str
    url: str
    folder: Path
    data: Path

    def address(self, name: str) -> str:
        """Return the address of a notebook."""
        return self.url + _KINDS[self.kind][1].format(name=name, token=TOKEN)

    def write(self, name: str, *cells: str, kernel: str = "python3") -> Path:
        """Write a notebook of these cells of code."""
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell) for cell in cells]
        )
        notebook.metadata["kernelspec"] = {
            "name": kernel,
            "display_name": kernel,
            "language": "python",
        }
        path = self.folder / name
        nbformat.write(notebook, path)
        return path

    def stop_kernels(self) -> None:
        """End every kernel, so that the next test starts with none; Voila's ends as its page is left."""
        if self.kind == "voila":
            return
        # A server refuses to end a kernel that it is just restarting.
        for _ in range(20):
            with httpx.Client(base_url=self.url, headers=HEADERS, timeout=60) as server:
                answers = [
                    server.delete(f"/api/sessions/{session['id']}")
                    for session in server.get("/api/sessions").json()
                ]
            if not answers:
                return
            time.sleep(0.5)
        raise AssertionError(answers[-1].text)


def start(kind: str, folder: Path) -> tuple[subprocess.Popen[bytes], Front]:
    """Start a front end with its every folder below `folder`, and wait until it answers."""
    environment = dict(os.environ)
    for name in FOLDERS:
        environment[name] = str(folder / name)
        (folder / name).mkdir()
    settings = folder / "JUPYTERLAB_SETTINGS_DIR" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
    root = folder / "work"
    root.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command, _, ready = _KINDS[kind]
    options = [option.format(port=port, root=root) for option in command]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", *options],
            env=environment,
            cwd=root,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    front = Front(kind, f"http://127.0.0.1:{port}", root, folder / "JUPYTER_DATA_DIR")
    for _ in range(600):
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(front.url + ready, headers=HEADERS).status_code == 200:
                return server, front
        assert server.poll() is None, (folder / "log").read_text()
        time.sleep(0.1)
    server.terminate()
    raise AssertionError((folder / "log").read_text())


@contextlib.contextmanager
def running(kind: str, folder: Path) -> Iterator[Front]:
    """Start a front end, and end it afterwards."""
    server, front = start(kind, folder)
    try:
        yield front
    finally:
        server.terminate()
        server.wait(60)

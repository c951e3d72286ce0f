"""`jupyter funcs list --profile NAME` for a profile of each kind, in a shell, and the error about a wrong one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import jupyter_funcs as jf
from jupyter_funcs.cli.main import main
from jupyter_funcs.connection import profiles
from jupyter_funcs.service import embedded
from tests.servers import serving
from tests.shells import interactive_shell

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(jf.__file__).parent.parent
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "paths": {
        "/orders": {"get": {"operationId": "list_orders", "responses": {}}},
        "/order": {"get": {"operationId": "get_order", "responses": {}}},
    },
}
PROFILES = """
[profiles.work]
url = "{service}"
token_env = "OF_WORK"
[profiles.shop]
kind = "openapi"
url = "{shop}/openapi.json"
[profiles.stored]
file = "shop.json"
allow_server = "https://shop.example"
[profiles.tools]
kind = "mcp"
command = ["{python}", "-m", "tests.sources.mcp_server"]
[profiles.own]
kind = "python"
module = "own_functions"

[profiles.odd]
kind = "graphql"
url = "https://x.example"
[profiles.missing]
kind = "python"
module = "no_such_module"
[profiles.broken]
kind = "python"
module = "broken_functions"
[profiles.uninstalled]
kind = "mcp"
command = ["no-such-command-of-the-tests"]
[profiles.dying]
kind = "mcp"
command = ["{python}", "-c", "raise SystemExit(3)"]
[profiles.nobody]
kind = "openapi"
url = "http://127.0.0.1:1/openapi.json"
[profiles.other]
kind = "openapi"
url = "{shop}/other.json"
[profiles.lost]
file = "lost.json"
"""


@pytest.fixture(scope="module")
def folder(
    service_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A folder with the profiles, two modules and a document."""
    folder = tmp_path_factory.mktemp("profiles")

    async def app(scope: Any, _receive: Any, send: Any) -> None:
        is_document = scope["path"] == "/openapi.json"
        headers = [(b"content-type", b"application/json")]
        await send(
            {
                "type": "http.response.start",
                "status": 200 if is_document else 404,
                "headers": headers,
            }
        )
        await send(
            {
                "type": "http.response.body",
                "body": json.dumps(DOCUMENT if is_document else {}).encode(),
            }
        )

    (folder / "own_functions.py").write_text(
        "def add(a: int, b: int) -> int:\n    return a + b\n"
    )
    (folder / "broken_functions.py").write_text("1 / 0\n")
    stored = {**DOCUMENT, "servers": [{"url": "https://shop.example"}]}
    (folder / "shop.json").write_text(json.dumps(stored))
    with serving(app) as shop:
        (folder / "funcs.toml").write_text(
            PROFILES.format(service=service_url, shop=shop, python=sys.executable)
        )
        yield folder


@pytest.fixture
def environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUNCS_CONFIG", str(folder / "funcs.toml"))
    monkeypatch.setenv("OF_WORK", embedded().token)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(folder)]))
    return folder


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "jupyter_funcs.cli.main", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False
    )


LISTED = {
    "work": ["Get Panels", "Get Panel Daily"],
    "shop": ["list_orders", "get_order"],
    "stored": ["list_orders", "get_order"],
    "own": ["Add"],
    "tools": ["got", "change"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTED)
@pytest.mark.usefixtures("environment")
def test_a_profile_of_each_kind_is_listed(name: str) -> None:
    """One line per function, and nothing on the error output."""
    if name == "tools":
        pytest.importorskip("mcp", reason="the extra 'mcp' is not installed")
    done = run("list", "--profile", name, "--format", "csv")
    assert (done.returncode, done.stderr) == (0, "")
    names = [line.partition(",")[0] for line in done.stdout.splitlines()]
    assert names[0] == "name"
    assert set(LISTED[name]) <= set(names)
    assert len(names) - 1 == len(set(names) - {"name"})


WRONG = [
    ("odd", "has a kind that is not 'service', 'openapi', 'mcp' or 'python'"),
    (
        "missing",
        r"'no_such_module' can't be imported: ModuleNotFoundError(.|\n)*add its folder to PYTHONPATH",
    ),
    (
        "broken",
        r"ZeroDivisionError: division by zero \(.*broken_functions.py, line 1\)",
    ),
    (
        "uninstalled",
        "The command 'no-such-command-of-the-tests' of the MCP server can't be started: it doesn't exist",
    ),
    ("dying", "The server of dying ended with exit code 3"),
    ("nobody", r"Cannot reach 127\.0\.0\.1:1"),
    ("other", "404"),
    ("lost", "lost.json"),
    ("nowhere", "There is no profile 'nowhere'"),
    (
        "acme.example",
        r'Write "https://acme.example" for a service(.|\n)*\[profiles."acme.example"\]',
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "error"), WRONG, ids=[name for name, _ in WRONG])
@pytest.mark.usefixtures("environment")
def test_a_profile_that_is_wrong_says_so(name: str, error: str) -> None:
    """In one to three lines without a traceback, and the shell's `||` runs what follows."""
    done = run("list", "--profile", name)
    assert done.returncode == 1
    assert not done.stdout
    assert re.search(error, done.stderr)
    assert 1 <= len(done.stderr.splitlines()) <= 3


def test_the_hint_names_every_key_of_a_profile(
    environment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So does the guide; a key that is added to the profiles has to be added there."""
    assert main(["list", "--profile", "odd"]) == 1
    hint = capsys.readouterr().err
    guide = "".join(
        (ROOT / "jupyter_funcs" / "guide" / name).read_text()
        for name in ("connect.md", "any-catalog.md")
    )
    for key in profiles._KEYS | {"module", "command"}:
        assert (key if not key.startswith("api_key") else "api_key_") in hint
        assert f"`{key}" in guide or key.startswith("api_key") or f"\n{key} = " in guide
    assert environment.name


@pytest.mark.usefixtures("environment")
def test_connecting_in_a_notebook_says_the_kind_and_the_number(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In a sentence; and the status says the kind, as a profile does."""
    with interactive_shell() as shell:
        shell.run_line_magic("load_ext", "jupyter_funcs")
        sentences = {
            "work": "Connected to 'work' as analyst: data service, 7 functions, synthetic data.",
            "shop": "Connected to 'shop': OpenAPI document, 2 functions.",
            "own": "Connected to 'own': Python, 1 function.",
            "": "Connected to the demo as analyst: data service, 7 functions, synthetic data.",
        }
        for name, sentence in sentences.items():
            shell.run_cell(f"%funcs connect {name}").raise_error()
            assert capsys.readouterr().out.strip() == f"Out[0]: {sentence}"
            status = repr(shell.run_line_magic("funcs", "status"))
            assert (
                f"kind      { {'shop': 'openapi', 'own': 'python'}.get(name, 'service') }"
                in status
            )
        shell.run_cell(
            "jf = __import__('jupyter_funcs'); jf.connect('missing')"
        ).raise_error()
        assert (
            "Session with 'missing'. Its functions are listed on first use."
            in capsys.readouterr().out
        )

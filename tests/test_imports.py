"""Imports run in one direction, heavy ones wait, and foreign libraries stay where they belong."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import jupyter_funcs

PACKAGE = Path(jupyter_funcs.__file__).parent
ROOT = Path(__file__).parents[1]

# From the bottom up: a package imports only packages of the lines above, and none other of its own line.
ORDER = [
    {"core"},
    {"connection", "catalog", "frames"},
    {"functions"},
    {"sources"},
    {"client"},
    {"sweeps"},
    {"records"},
    {"panel"},
    {"api"},
    {"magic", "cli"},
    {"jupyter_funcs"},  # the public names, each imported on first use
    {"autoload"},
]
SERVICE_ORDER = [
    {"accounts", "engine"},
    {"publishing"},
    {"web"},
    {"builtin", "config"},
    {"server"},
    {"service"},  # the public names, each imported on first use
]
# The service imports two packages of the rest, and two reach it: `connect` opens the demo, the command line serves.
OF_THE_SERVICE = {"core", "functions"}
REACH_THE_SERVICE = {"api", "cli"}
# Each foreign library lives in as few modules as possible.
HOMES = {
    "httpx": {"api", "connection.http", "connection.proxies"},
    "IPython": {
        "client.notebook",
        "magic.completion",
        "magic.extension",
        "magic.subcommands",
    },
    "pydantic": {"functions.markers", "functions.parameters", "sources.python"},
    "msgspec": {
        "catalog.changes",
        "catalog.listing",
        "connection.http",
        "connection.error_bodies",
        "core.json_decoding",
        "frames.chunks",
        "frames.media",
        "functions.parameters",
        "functions.return_values",
        "panel.json_view",
        "panel.requests",
        "panel.table",
        "records.lock",
    },
    "authlib": {"connection.login"},
    "keyring": {"connection.login"},
    "httpx2": {"sources.mcp_connection"},
    "mcp": {"cli.mcp_server", "sources.mcp_connection"},
    "jupyter_core": {"connection.profiles"},
    "platformdirs": {"core.files"},
    "sqlite3": {"records.history_file"},
    "jupyterlab": {"cli.main"},
    "anywidget": {"panel.panel"},
    "dask": {"sweeps.folder"},
    "tqdm": {"sweeps.job"},
    "yaml": {"sources.yaml_decoding"},
}


class Import(NamedTuple):
    """One import of a module of ours, anywhere: at the top, inside a function, or for typing only."""

    importer: str
    imported: str
    line: int


@functools.cache
def modules() -> dict[str, Path]:
    """Return the path of each module by its dotted name."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        ): path
        for path in paths
    }


@functools.cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax tree of each module."""
    return {
        name: ast.parse(path.read_text("utf-8")) for name, path in modules().items()
    }


def docstring(module: str) -> str:
    """Return the docstring of a module."""
    return ast.get_docstring(trees()[module]) or ""


class Statement(NamedTuple):
    """An import statement of a module, anywhere in it."""

    module: str
    base: str
    names: list[str]
    line: int
    is_for_typing: bool


@functools.cache
def statements() -> list[Statement]:
    """Return every import statement."""
    collected = []
    for name, tree in trees().items():
        blocks = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        ]
        typing = {id(child) for block in blocks for child in ast.walk(block)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                collected += [
                    Statement(name, alias.name, [""], node.lineno, id(node) in typing)
                    for alias in node.names
                ]
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, (
                    f"{name}, line {node.lineno}: relative imports aren't measured here"
                )
                names = [alias.name for alias in node.names]
                collected.append(
                    Statement(
                        name, node.module or "", names, node.lineno, id(node) in typing
                    )
                )
    return collected


@functools.cache
def imports() -> list[Import]:
    """Return every import of ours by ours."""
    edges = []
    for importer, base, names, line, _ in statements():
        if base.split(".")[0] == "jupyter_funcs":
            targets = {
                f"{base}.{name}" if f"{base}.{name}" in modules() else base
                for name in names
            }
            edges += [Import(importer, target, line) for target in sorted(targets)]
    return edges


def package(module: str, depth: int = 1) -> str:
    """Return the package of a module as the order names it."""
    return (
        ".".join(module.split(".")[depth:]).partition(".")[0]
        or module.rsplit(".", maxsplit=1)[-1]
    )


def is_of_the_service(module: str) -> bool:
    return f"{module}.".startswith("jupyter_funcs.service.")


def upward(edges: list[Import], order: list[set[str]], depth: int) -> list[str]:
    rank = {name: number for number, names in enumerate(order) for name in names}
    wrong = []
    for edge in edges:
        above = package(edge.importer, depth)
        below = package(edge.imported, depth)
        if above != below and rank[below] >= rank[above]:
            wrong.append(f"{edge.importer}, line {edge.line}: imports {edge.imported}")
    return wrong


def test_imports_run_downwards() -> None:
    """Top-level, function-level and type-only imports all obey the order of the packages."""
    ours = [
        edge
        for edge in imports()
        if not is_of_the_service(edge.importer) and not is_of_the_service(edge.imported)
    ]
    assert len(ours) > 500
    assert not upward(ours, ORDER, 1)


def test_imports_of_the_service_run_downwards() -> None:
    """So they do inside the service."""
    ours = [
        edge
        for edge in imports()
        if is_of_the_service(edge.importer) and is_of_the_service(edge.imported)
    ]
    assert len(ours) > 150
    assert not upward(ours, SERVICE_ORDER, 2)


def test_the_service_and_the_rest_meet_over_the_wire() -> None:
    """The service imports only what both need, and of the client only two packages open it."""
    into = [
        edge
        for edge in imports()
        if is_of_the_service(edge.imported) and not is_of_the_service(edge.importer)
    ]
    out = [
        edge
        for edge in imports()
        if is_of_the_service(edge.importer) and not is_of_the_service(edge.imported)
    ]
    assert {package(edge.importer) for edge in into} == REACH_THE_SERVICE
    assert {package(edge.imported) for edge in out} == OF_THE_SERVICE


def test_no_modules_import_each_other() -> None:
    """There is no cycle of any kind, inside a package or across packages."""
    graph: dict[str, set[str]] = {}
    for edge in imports():
        if edge.importer != edge.imported:
            graph.setdefault(edge.importer, set()).add(edge.imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_an_upward_import_and_a_cycle_are_seen() -> None:
    """The measure itself sees what it is for."""
    wrong = [Import("jupyter_funcs.core.text", "jupyter_funcs.client.jobs", 1)]
    assert upward(wrong, ORDER, 1) == [
        "jupyter_funcs.core.text, line 1: imports jupyter_funcs.client.jobs"
    ]
    assert upward(
        [Import("jupyter_funcs.frames.frame", "jupyter_funcs.catalog.form", 1)],
        ORDER,
        1,
    )
    assert not upward(
        [Import("jupyter_funcs.client.jobs", "jupyter_funcs.core.text", 1)], ORDER, 1
    )


def test_the_tree_can_be_found_ones_way_around() -> None:
    """Every package is in the order; none holds more than 20 modules."""
    packages = {package(name) for name in modules() if not is_of_the_service(name)}
    assert packages == set().union(*ORDER)
    assert {
        package(name, 2) for name in modules() if is_of_the_service(name)
    } == set().union(*SERVICE_ORDER)
    for folder in {path.parent for path in modules().values()}:
        assert len(list(folder.glob("*.py"))) <= 20, folder


@pytest.mark.parametrize("library", HOMES)
def test_a_library_stays_in_its_modules(library: str) -> None:
    """Only the named modules of the client import a foreign library."""
    users = {
        statement.module
        for statement in statements()
        if statement.base.split(".")[0] == library and not statement.is_for_typing
    }
    assert {
        user.removeprefix("jupyter_funcs.")
        for user in users
        if not is_of_the_service(user)
    } == HOMES[library]


def test_class_names_are_unique() -> None:
    """A class is found by its name: no two modules define one of the same name."""
    homes: dict[str, set[str]] = {}
    for name, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, set()).add(name)
    assert not {name: owners for name, owners in homes.items() if len(owners) > 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        (
            "import jupyter_funcs",
            {
                "pandas",
                "httpx",
                "pydantic",
                "ipywidgets",
                "IPython",
                "msgspec",
                "duckdb",
                "ibis",
            },
        ),
        (
            "import jupyter_funcs.magic.subcommands",
            {"pandas", "httpx", "pydantic", "ipywidgets", "msgspec", "duckdb", "ibis"},
        ),
        (
            "import time, jupyter_funcs as jf; funcs = jf.connect()\nwhile not funcs.listed: time.sleep(0.01)",
            {
                "pandas",
                "ipywidgets",
                "IPython",
                "duckdb",
                "ibis",
                "pyarrow",
                "numpy",
                "pydantic",
                "cryptography",
                "rich",
            },
        ),
        (
            "import jupyter_funcs as jf; jf.connect()['Get Panel Daily'](PanelName='Demo Card Panel', Symbol='NVRA')",
            {
                "ipywidgets",
                "IPython",
                "ibis",
                "sqlglot",
                "pydantic",
                "cryptography",
                "rich",
            },
        ),
        (
            "import tests.conftest",
            {"pandas", "IPython", "uvicorn", "starlette", "argon2", "duckdb", "ibis"},
        ),
    ],
)
def test_heavy_imports_wait(statement: str, unwanted: set[str]) -> None:
    """Modules are imported only when they are needed."""
    program = f"import sys\n{statement}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    words = [sys.executable, "-c", program]
    done = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600
    )
    assert not unwanted & set(done.stdout.split())


def test_the_public_surface() -> None:
    """The names that others rely on are there, sorted, and documented."""
    assert jupyter_funcs.__all__ == sorted(jupyter_funcs.__all__)
    for name in jupyter_funcs.__all__:
        assert getattr(jupyter_funcs, name).__doc__, name
    assert {name for name in dir(jupyter_funcs) if not name.startswith("_")} == set(
        jupyter_funcs.__all__
    )
    with pytest.raises(AttributeError):
        _ = jupyter_funcs.no_such_name

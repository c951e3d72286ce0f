"""The rooms: imports run downwards only, heavy ones are lazy, and foreign libraries stay where they belong."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from pathlib import Path

import pytest

import jupyter_funcs

PACKAGE = Path(jupyter_funcs.__file__).parent

# DESIGN.md's table, from the bottom up: a room imports only rooms above its own line here.
ROOMS = [
    "text",
    "dataset_words",
    "errors",
    "guard",
    "progress",
    "secret",
    "prompts",
    "notices",
    "tokens",
    "vault",
    "login",
    "status",
    "wire",
    "catalog",
    "wording",
    "fields",
    "values",
    "each",
    "variables",
    "swept",
    "forms",
    "combos",
    "columns",
    "dtypes",
    "pieces",
    "envelope",
    "shapes",
    "frame",
    "stacking",
    "as_arrow",
    "segment",
    "segments",
    "files",
    "export",
    "config",
    "toml_edit",
    "presets",
    "retries",
    "shelf",
    "cache_status",
    "cache",
    "inflate",
    "refusals",
    "lanes",
    "logs",
    "reply",
    "exchange",
    "transport",
    "loop",
    "deadline",
    "jobs",
    "formats",
    "compact",
    "roles",
    "comparing",
    "plots",
    "suggesting",
    "svg",
    "axis",
    "drawing",
    "plot_code",
    "json_reply",
    "json_view",
    "drift",
    "wrapping",
    "view",
    "sweep_words",
    "options",
    "keeping",
    "kept",
    "failures",
    "run",
    "history_file",
    "recalled",
    "history",
    "lock",
    "choices",
    "signature",
    "near",
    "callables",
    "remote",
    "session",
    "workers",
    "executors",
    "on_dask",
    "spill",
    "dataset",
    "folder",
    "gathering",
    "pacing",
    "bar",
    "sweep",
    "sweep_job",
    "outcome",
    "calls",
    "grid",
    "stubs",
    "mcp_server",
    "notes",
    "offers",
    "sources",
    "widgets",
    "lists",
    "each_control",
    "controls",
    "source_line",
    "formbox",
    "parts",
    "chooser",
    "head",
    "preset_bar",
    "heading",
    "visit",
    "panel_run",
    "runner",
    "each_bar",
    "run_bar",
    "keep_bar",
    "save_bar",
    "table_tab",
    "json_tab",
    "code_tab",
    "about_tab",
    "chart_tab",
    "run_words",
    "history_tab",
    "results",
    "stored",
    "saved",
    "panel",
    "masking",
    "line",
    "commands",
    "sweep_line",
    "recall",
    "magic",
    "tab_offers",
    "brackets",
    "tab_lines",
    "tab_bodies",
    "tab_python",
    "completion",
    "extension",
    "autoload",
    "cli",
    "__init__",
]
# The service's, by what they are about; the order is one of imports too.
SERVICE_ROOMS = {
    "words for people": ["words", "errors"],
    "accounts and who asks": ["database", "accounts", "passwords", "grants", "keys", "auth", "state"],
    "what is computed": ["calendar", "reference", "tables", "dataset", "prepared", "queries"],
    "where it runs": ["statements", "sandbox", "spill", "engine", "portable", "backends", "remote", "engines"],
    "what is published": ["markers", "parameters", "signatures", "registry", "functions"],
    "what leaves": ["encoding", "results"],
    "notebooks": ["parameters_cell", "last_cell", "process_tree", "notebook_run", "notebook_call", "notebooks"],
    "published by a team": ["publish"],
    "the wire": ["limits", "answers", "bodies", "hosts", "traces", "runs", "requests", "logins", "openapi", "app"],
    "the demo": ["cache", "companies", "seasons", "synthesis", "demo_files", "demo"],
    "a configuration": ["sections", "toml_file", "mistakes", "mapping", "settings"],
    "a team's data": ["own_source", "own_tables", "own_calendar", "own_cards", "own_data"],
    "its commands": ["actions", "admin", "listening", "protocol", "process", "logs", "hosted", "serving"],
}
# The calls that go up, each inside a function.
UPWARDS = {
    ("session", "panel"),
    ("callables", "panel"),
    ("cache", "__init__"),
    ("callables", "sweep_job"),
    ("workers", "__init__"),
    ("magic", "__init__"),
    ("cli", "__init__"),
}
# Each foreign library lives in as few rooms as possible.
HOMES = {
    "httpx": {"exchange", "__init__"},
    "ipywidgets": {
        "widgets",
        "lists",
        "each_control",
        "each_bar",
        "source_line",
        "formbox",
        "chooser",
        "head",
        "preset_bar",
        "heading",
        "run_bar",
        "parts",
        "keep_bar",
        "save_bar",
        "saved",
        "results",
        "panel",
        "table_tab",
        "chart_tab",
        "history_tab",
        "json_tab",
        "code_tab",
        "about_tab",
    },
    "IPython": {"keeping", "magic", "completion", "extension"},
    "pydantic": {"catalog"},
    "msgspec": {"wire", "pieces", "secret", "refusals", "exchange", "transport"},
    "keyring": {"vault"},
    "mcp": {"mcp_server"},
    "platformdirs": {"config"},
    "sqlite3": {"history_file"},
    "jupyterlab": {"cli"},
    "itables": {"grid"},
    "matplotlib": {"svg", "axis", "drawing"},
}


@functools.cache
def imports(room: str, *, typing_too: bool = False) -> frozenset[tuple[str, bool]]:
    """Give the modules that a room imports, and whether inside a function; those for typing alone on demand."""
    tree = ast.parse((PACKAGE / f"{room}.py").read_text("utf-8"))
    found: set[tuple[str, bool]] = set()

    def visit(node: ast.AST, inside: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING" and not typing_too:
                continue
            if isinstance(child, ast.Import):
                found.update((alias.name, inside) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                module = child.module or ""
                if module == "jupyter_funcs":
                    found.update((f"jupyter_funcs.{alias.name}", inside) for alias in child.names)
                else:
                    found.add((module, inside))
            visit(child, inside or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)))

    visit(tree, inside=False)
    return frozenset(found)


def own(module: str) -> str | None:
    if module == "jupyter_funcs":
        return "__init__"
    return module.split(".")[1] if module.startswith("jupyter_funcs.") else None


def test_every_room_is_in_the_table() -> None:
    """The table names every module of the package, and no other."""
    assert sorted(path.stem for path in PACKAGE.glob("*.py")) == sorted(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_imports_run_downwards(room: str) -> None:
    """A room imports only rooms below it; what goes up is named, and imported inside a function."""
    for module, inside in imports(room):
        target = own(module)
        if target is None:
            continue
        if target == "service":
            # `connect` opens the embedded service, and the command line mounts the service's own commands.
            assert room in {"__init__", "cli"}, f"{room} reaches into the service, which is met over its wire only"
            assert inside
        elif ROOMS.index(target) >= ROOMS.index(room):
            assert (room, target) in UPWARDS, f"{room} imports {target}, which stands above it"
            assert inside, f"{room} imports {target} at its top"


def test_the_service_imports_nothing_of_the_client() -> None:
    """The service is met over its wire: no module of it imports one of ours."""
    for path in (PACKAGE / "service").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                assert node.level <= 1, path
                names = [node.module or ""] if not node.level else []
            assert not any(name.split(".")[0] == "jupyter_funcs" for name in names), path


def test_every_room_of_the_service_is_in_its_table() -> None:
    """The table names every module of the service once, and no other."""
    rooms = [room for group in SERVICE_ROOMS.values() for room in group]
    assert sorted(path.stem for path in (PACKAGE / "service").glob("*.py") if path.stem != "__init__") == sorted(rooms)


@pytest.mark.parametrize("room", [room for group in SERVICE_ROOMS.values() for room in group])
def test_imports_of_the_service_run_downwards(room: str) -> None:
    """A room of the service imports only rooms that stand before it in the table."""
    rooms = [each for group in SERVICE_ROOMS.values() for each in group]
    tree = ast.parse((PACKAGE / "service" / f"{room}.py").read_text("utf-8"))
    typing_only = {
        each
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for each in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and node not in typing_only:
            for name in [node.module] if node.module else [alias.name for alias in node.names]:
                assert name in rooms[: rooms.index(room)], f"{room} imports {name}"


@pytest.mark.parametrize("library", HOMES)
def test_a_library_stays_in_its_rooms(library: str) -> None:
    """Only the named rooms import a foreign library."""
    users = {room for room in ROOMS for module, _ in imports(room) if module.split(".")[0] == library}
    assert users == HOMES[library]


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("import jupyter_funcs", {"pandas", "httpx", "pydantic", "ipywidgets", "IPython", "msgspec", "duckdb", "ibis"}),
        ("import jupyter_funcs.magic", {"pandas", "httpx", "pydantic", "ipywidgets", "msgspec", "duckdb", "ibis"}),
        (
            "import jupyter_funcs as jf; jf.connect().names",
            {"pandas", "ipywidgets", "IPython", "duckdb", "ibis", "pyarrow", "numpy"},
        ),
    ],
)
def test_heavy_imports_wait(statement: str, unwanted: set[str]) -> None:
    """What is not needed yet is not imported yet."""
    program = f"import sys\n{statement}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert not unwanted & set(done.stdout.split())


def test_the_public_surface() -> None:
    """The names that others rely on are there, sorted, and documented."""
    assert jupyter_funcs.__all__ == sorted(jupyter_funcs.__all__)
    for name in jupyter_funcs.__all__:
        assert getattr(jupyter_funcs, name).__doc__, name
    assert {name for name in dir(jupyter_funcs) if not name.startswith("_")} == set(jupyter_funcs.__all__)
    with pytest.raises(AttributeError):
        _ = jupyter_funcs.no_such_name

"""``jupyter funcs stubs``: a catalog becomes a typed module for mypy and editors; its texts never become code."""

from __future__ import annotations

import ast
import builtins
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jupyter_funcs as jf
from jupyter_funcs.cli import stubs
from jupyter_funcs.cli.main import main
from tests.examples import examples

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.api import Session

RIGHT = """
from datetime import date
import jupyter_funcs as jf
from funcs_demo import connect

funcs = connect()
df = funcs.get_panel_daily(PanelName="p", Symbol="s", PoPGrowth=True, PoPLookback=2, Dimensions=["Region", "Brand"])
funcs.get_panel_daily(PanelName="p", Brand="b", PoPGrowth="No", Dimensions=None)
fn = funcs["Get Panel Daily"]
fn(jf.Form(fn, PanelName="p"), Symbol="s")
fn.with_options(timeout=30)(PanelName="p", Symbol="s")
fn.submit(PanelName="p", Symbol="s").cancel()
funcs["by another name"](anything=1)
names: list[str] = funcs.names
"""
WRONG = [
    "funcs.get_panel_daily(PanelName=1)",
    "funcs.get_panel_daily()",
    'funcs.get_panel_daily("p")',
    'funcs.get_panel_daily(PanelName="p", PoPGrowth="Maybe")',
    'funcs.get_panel_daily(PanelName="p", Dimensions=["City"])',
    'funcs.get_panel_daily(PanelName="p", PoPLookback="1")',
    'funcs.get_panel_daily(PanelName="p", Symbl="s")',
    'funcs["Get Panel Daily"](PanelName=1)',
    "fn.submit(PanelName=1)",
    "fn.with_options(timeout=30)(PanelName=1)",
    "funcs.get_panels(PanelName='p')",
]
EVIL = '"""\'\'\'\n    import os\n    os.system("touch never")\n#\\'
HOSTILE = [
    EVIL,
    "self",
    "class",
    "overload",
    "str",
    "Literal",
    "find",
    "date",
    "x" * 300,
    "é",
    "{slug}",
    "\ud800",
]
HOSTILE += ["a b", "a-b"]
# Users of the stub have jupyter_funcs installed; from its source, mypy would read all of it and its libraries.
CONFIG = """
[mypy]
strict = true
follow_imports = silent
[mypy-jupyter_funcs.service.*,jupyter_funcs.panel.panel,jupyter_funcs.frames.frame,pandas.*,pydantic.*,httpx.*,IPython.*,ipywidgets.*]
follow_imports = skip
"""


@pytest.fixture
def hostile() -> Session:
    """A session whose functions and parameters have names that could break out of a literal."""
    params = [
        {
            "name": name,
            "description": f"{EVIL}. One of '{name[:9]}', 'b\n\"', default 'b'",
        }
        for name in HOSTILE
    ]
    functions = [
        {"name": name, "description": name + EVIL, "params": params} for name in HOSTILE
    ]
    content = json.dumps(functions).encode()
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=content))
    with pytest.warns(UserWarning, match="surrogate"):
        return jf.connect(
            "https://service.example", token="a-token", transport=transport
        ).refresh()


@pytest.mark.slow
def test_mypy_takes_right_calls_and_refuses_wrong_ones(
    tmp_path: Path, hostile: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """mypy --strict accepts both stubs and every correct call, and finds an error in each wrong line."""
    pytest.importorskip(
        "mypy", reason="mypy isn't installed: pip install -e '.[check]'"
    )
    assert main(["stubs", "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == [
        str(tmp_path / f"funcs_demo.{ending}") for ending in ("py", "pyi")
    ]
    stubs.write(hostile, tmp_path)
    (tmp_path / "use.py").write_text(RIGHT + "\n".join(WRONG))
    (tmp_path / "mypy.ini").write_text(CONFIG)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file=mypy.ini",
        "--cache-dir=cache",
        "--hide-error-context",
    ]
    done = subprocess.run(
        [*command, "funcs_demo.pyi", f"{stubs.module_name(hostile)}.pyi", "use.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(Path(jf.__file__).parent.parent)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    first = len(RIGHT.splitlines()) + 1
    assert {line.split(": error:")[0] for line in errors} == {
        f"use.py:{first + at}" for at in range(len(WRONG))
    }, errors


@pytest.mark.slow
def test_the_module_connects_and_runs(tmp_path: Path) -> None:
    """The written module is imported, and its session runs a function."""
    assert main(["stubs", "-o", str(tmp_path)]) == 0
    program = "from funcs_demo import connect, Funcs; f: Funcs = connect(); print(len(f.get_panels()), Funcs.__name__)"
    path = os.pathsep.join([str(tmp_path), str(Path(jf.__file__).parent.parent)])
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "2 Session\n", done.stderr


def shape(tree: ast.AST) -> set[str]:
    """Return the kinds of statement in a stub and the names that it reads."""
    statements = {
        type(node).__name__ for node in ast.walk(tree) if isinstance(node, ast.stmt)
    }
    return statements | {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id[0] != "_"
    }


PLAIN = {"Expr", "ImportFrom", "ClassDef", "FunctionDef", "AnnAssign"}
PLAIN |= {
    "RemoteFunction",
    "Session",
    "Funcs",
    "Form",
    "Job",
    "DataFrame",
    "Self",
    "Any",
    "Literal",
    "Callable",
}
PLAIN |= {"overload", "str", "int", "float", "bool", "list", "date"}


def harmless(session: Session) -> ast.Module:
    """Check that a stub has only a stub's statements and names only types; return its tree."""
    text = stubs.stub(session)
    assert all(char.isprintable() or char == "\n" for char in text)
    tree = ast.parse(text)
    named = {*session.attributes, *(function.slug for function in session)}
    assert shape(tree) <= PLAIN | (shape(tree) & named)
    assert not [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call | ast.Attribute | ast.Lambda)
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            assert isinstance(node.value, ast.Constant)
        if isinstance(node, ast.FunctionDef):
            assert [ast.dump(statement) for statement in node.body] == [
                "Expr(value=Constant(value=Ellipsis))"
            ]
    # The module that runs contains nothing of the catalog.
    assert all(
        name not in stubs.module(session) for name in session.names if len(name) > 20
    )
    return tree


def test_no_text_of_a_catalog_becomes_code(hostile: Session) -> None:
    """Hostile names and descriptions are in the stub only as literals and safe identifiers."""
    tree = harmless(hostile)
    (funcs,) = [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == "Funcs"
    ]
    attributes = [
        node.target.id for node in funcs.body if isinstance(node, ast.AnnAssign)
    ]
    # `find` is the session's own method.
    assert attributes == [
        "find_" if function.slug == "find" else function.slug for function in hostile
    ]
    by_name = {
        node.args.posonlyargs[1].annotation.slice.value: ast.unparse(node.returns)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.name == "__getitem__"
        and isinstance(node.args.posonlyargs[1].annotation, ast.Subscript)
    }
    assert by_name == {function.name: f"_{function.slug}" for function in hostile}
    docs = [
        ast.get_docstring(node) for node in tree.body if isinstance(node, ast.ClassDef)
    ]
    assert docs[: len(HOSTILE)] == [function.__doc__ for function in hostile]


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.text(min_size=1, max_size=12), max_size=4), st.text(max_size=40))
def test_any_names_and_descriptions_give_a_stub(
    names: list[str], description: str
) -> None:
    """Whatever the names of functions and parameters, the stub parses and contains only types."""
    params = [
        {"name": name, "description": description} for name in names if name.strip()
    ]
    functions = [
        {"name": param["name"], "description": description, "params": params}
        for param in params
    ]
    content = json.dumps(functions).encode()
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=content))
    harmless(
        jf.connect("https://service.example", token="a-token", transport=transport)
    )


def test_a_large_catalog_has_every_attribute(answering: Callable[..., Session]) -> None:
    """Beyond some hundred functions an item is any function, because mypy compares overloads in pairs."""
    content = json.dumps([{"name": f"F {n}"} for n in range(300)]).encode()
    text = stubs.stub(answering(lambda _: httpx.Response(200, content=content)))
    assert text.count("__getitem__") == 1
    assert "    f_299: _f_299\n" in text


def test_a_file_of_somebody_elses_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stubs replace stubs, never a module that a user wrote; a path that isn't a folder is an error."""
    (tmp_path / "funcs_demo.py").write_text("mine")
    assert main(["stubs", "-o", str(tmp_path)]) == 1
    assert "was not written by jupyter funcs stubs" in capsys.readouterr().err
    assert (tmp_path / "funcs_demo.py").read_text() == "mine"
    assert not (tmp_path / "funcs_demo.pyi").exists()
    assert main(["stubs", "-o", str(tmp_path / "funcs_demo.py" / "below")]) == 1
    assert "can't be written" in capsys.readouterr().err
    assert [main(["stubs", "-o", str(tmp_path / "new")]) for _ in range(2)] == [0, 0]


def test_the_module_comes_back_to_the_service_it_was_made_from(tmp_path: Path) -> None:
    """The module names the service's URL or profile, as a literal."""
    session = jf.connect("https://service.example/a'b", token="a-token")
    scope: dict[str, object] = {}
    text = stubs.module(session)
    assert "a-token" not in text
    builtins.exec(compile(text, "m", "exec"), scope)
    assert scope["connect"].__defaults__ == (session.where,)  # type: ignore[attr-defined]
    assert stubs.module_name(session).isidentifier()

"""The README says what is true: each option of %funcs stands in it, and its Python runs."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import textwrap
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from IPython.core.interactiveshell import InteractiveShell

import jupyter_funcs as jf
from jupyter_funcs import cli, commands
from jupyter_funcs.options import Options
from jupyter_funcs.panel import Panel

if TYPE_CHECKING:
    from collections.abc import Iterator

README = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_every_command_and_option_is_documented() -> None:
    """What %funcs takes stands in the README and in its own usage."""
    spellings = [[command] for command in commands.NAMES]
    spellings += [spelt.split("/") for spelt in commands.OPTIONS]
    for words in spellings:
        for text in (README, commands.usage()):
            assert any(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) for word in words), words


def words_of(parser: argparse.ArgumentParser) -> set[str]:
    """Give the commands and the long options of a parser, and of all those within it."""
    found = {word for action in parser._actions for word in action.option_strings if word.startswith("--")}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command, inner in action.choices.items():
                found |= {command} | words_of(inner)
    return found


@pytest.mark.parametrize("word", sorted(words_of(cli._parser()) - {"--help"}))
def test_every_command_and_option_of_the_shell_is_documented(word: str) -> None:
    """What `jupyter funcs` takes stands in the README."""
    assert re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", README)


@pytest.mark.parametrize("code", [block for block in BLOCKS if not block.startswith("%")], ids=lambda code: code[:20])
def test_the_python_of_the_readme_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line of the README's Python runs against the demo."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(code, names)
    assert isinstance(names["funcs"], jf.Session)


@pytest.mark.slow
def test_the_executors_of_the_readme_run(tmp_path: Path) -> None:
    """As a program, since its workers are processes: of a pool, of Dask and of ipyparallel."""
    [code] = [block for block in re.findall(r"```py\n(.*?)```", README, re.DOTALL) if "get_executor" in block]
    program = tmp_path / "program.py"
    program.write_text(f'if __name__ == "__main__":\n{textwrap.indent(code, "    ")}')
    environment = {**os.environ, "IPYTHONDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^MCHQ +[\d.e+]+$", done.stdout, re.MULTILINE)


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    shell = InteractiveShell.instance()
    before = dict(shell.user_ns)
    yield shell
    shell.run_line_magic("unload_ext", "jupyter_funcs")
    shell.user_ns.clear()
    shell.user_ns.update(before)
    InteractiveShell.clear_instance()


def test_the_magics_of_the_readme_run(shell: InteractiveShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lines of %funcs do so too, in one notebook and in their order."""
    monkeypatch.chdir(tmp_path)
    shell.user_ns["symbols"] = ["MCHQ", "PZQN"]
    for code in BLOCKS:
        if code.startswith("%"):
            done = shell.run_cell(code)
            done.raise_error()
            if isinstance(done.result, Panel):
                done.result.close()
    assert sorted(shell.user_ns["df"]["Symbol"].unique()) == ["BVQS", "MCHQ", "PZQN"]


@pytest.mark.parametrize("option", [field.name for field in fields(Options)])
def test_every_option_of_a_run_is_documented(option: str) -> None:
    """What `with_options` takes stands in the README, as it is written in Python."""
    assert re.search(rf"[`(,] ?{option}\b", README)


def test_the_first_screen_has_the_two_commands() -> None:
    """The two single lines that start the demo and the tests stand on the first screen."""
    first = README.splitlines()[:30]
    assert "python3 -m venv .venv && .venv/bin/pip install '.[lab]' && .venv/bin/jupyter funcs demo" in first
    assert "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/pytest -n 2" in first

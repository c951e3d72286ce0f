"""The README says what is true: each option of %funcs stands in it, and its Python runs."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from IPython.core.interactiveshell import InteractiveShell

import jupyter_funcs as jf
from jupyter_funcs import cli, commands
from jupyter_funcs.options import Options
from jupyter_funcs.panel import Panel
from jupyter_funcs.service import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)

# Lines that only another machine, another service or a person can answer; they are parsed all the same.
WAITING = ("demo", "serve", "admin", "token", "login", "mcp", "enable", "disable")


def is_magic(code: str) -> bool:
    """Say whether a block needs IPython."""
    return re.search(r"^(?:\w+ = )?%", code, re.MULTILINE) is not None


def lines_of(shell: str) -> list[str]:
    """Give the lines of a block of shell, without comments and exports."""
    lines = [line.partition("  #")[0].strip() for line in shell.splitlines()]
    found = [re.sub(r'^export \w+="\$\((.*)\)"$', r"\1", line) for line in lines]
    return [line for line in found if line and not line.startswith(("export ", "#"))]


OURS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    for line in lines_of(block)
    if line.startswith("jupyter funcs ")
]


@pytest.mark.parametrize("line", OURS)
def test_each_line_of_the_shell_is_parsed(line: str) -> None:
    """By the very parser of `jupyter funcs`, with no word too many."""
    _, rest = cli._parser().parse_known_args(shlex.split(line)[2:])
    assert rest == []


@pytest.mark.parametrize("line", [line for line in OURS if not line.split()[2].startswith(WAITING)])
def test_each_line_of_the_shell_that_can_runs(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the demo."""
    monkeypatch.chdir(tmp_path)
    assert cli.main(shlex.split(line)[2:]) == 0


@pytest.mark.parametrize("text", re.findall(r"```toml\n(.*?)```", README, re.DOTALL), ids=lambda text: text[:20])
def test_the_files_of_the_readme_are_read(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Profiles and the service's configuration, each by its own reader."""
    path = tmp_path / "file.toml"
    path.write_text(text, "utf-8")
    if "profiles" in tomllib.loads(text):
        monkeypatch.setenv("FUNCS_CONFIG", str(path))
        monkeypatch.setenv("WORK_TOKEN", "a-token-of-the-tests")
        assert jf.connect("work").service == "work"
    else:
        monkeypatch.setenv("PGPASSWORD", "a-password-of-the-tests")
        assert settings.load(path).data is not None


READ = {
    name
    for path in (ROOT / "jupyter_funcs").rglob("*.py")
    for name in re.findall(r"""["'](FUNCS_[A-Z][A-Z_]*)["']""", path.read_text("utf-8"))
}


@pytest.mark.parametrize("name", sorted(READ))
def test_every_variable_of_the_environment_is_documented(name: str) -> None:
    """What the code reads of the environment stands in the README."""
    assert re.search(rf"\b{name}\b", README)


def test_every_link_leads_somewhere() -> None:
    """To a heading that exists, or to a file of the repository."""
    prose = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    anchors = {"#" + re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert len(anchors) == len(headings)
    targets = re.findall(r"\]\((.*?)\)", prose) + re.findall(r'(?:src|srcset)="(.*?)"', prose)
    inside = [target for target in targets if "://" not in target]
    assert [target for target in inside if target not in anchors and not (ROOT / target).is_file()] == []
    named = re.findall(r"\bnotebooks/\w+\.ipynb", prose)
    assert [name for name in named if not (ROOT / name).is_file()] == []


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


@pytest.mark.parametrize("code", [block for block in BLOCKS if not is_magic(block)], ids=lambda code: code[:20])
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
    for code in BLOCKS:
        if is_magic(code):
            done = shell.run_cell(code)
            done.raise_error()
            if isinstance(done.result, Panel):
                done.result.close()
            if "%funcs sweep" in code:
                assert sorted(shell.user_ns["df"]["Symbol"].unique()) == ["BVQS", "MCHQ", "PZQN"]
    assert "Region" in shell.user_ns["df"]  # that of run 1, run again


@pytest.mark.parametrize("option", [field.name for field in fields(Options)])
def test_every_option_of_a_run_is_documented(option: str) -> None:
    """What `with_options` takes stands in the README, as it is written in Python."""
    assert re.search(rf"[`(,] ?{option}\b", README)


def test_the_first_screen_has_the_two_commands() -> None:
    """The single lines that start the demo and the tests stand on the first screen, and a user's lines between them."""
    demo = "python3 -m venv .venv && .venv/bin/pip install '.[lab]' && .venv/bin/jupyter funcs demo"
    tests = "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/pytest -n 2"
    first = README.splitlines()[:30]
    places = [first.index(line) for line in (demo, "%load_ext jupyter_funcs", "%funcs")]
    places.append(next(at for at, line in enumerate(first) if line.startswith("df = %funcs call ")))
    assert sorted(places) == places
    assert first.index(tests) > places[-1]

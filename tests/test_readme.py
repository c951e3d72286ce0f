"""The README says what is true: each option of %funcs stands in it, and its Python runs."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

import jupyter_funcs as jf
from jupyter_funcs import cli, commands

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
def test_the_python_of_the_readme_runs(code: str) -> None:
    """Every line of the README's Python runs against the demo."""
    names: dict[str, object] = {}
    exec(code, names)
    assert isinstance(names["funcs"], jf.Session)


def test_the_first_screen_has_the_two_commands() -> None:
    """The two single lines that start the demo and the tests stand on the first screen."""
    first = README.splitlines()[:30]
    assert "python3 -m venv .venv && .venv/bin/pip install '.[lab]' && .venv/bin/jupyter funcs demo" in first
    assert "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/pytest -n 2" in first

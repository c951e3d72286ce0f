"""The README says what is true: each option of %funcs stands in it, and its Python runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import jupyter_funcs as jf
from jupyter_funcs import magic

README = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_every_command_and_option_is_documented() -> None:
    """What %funcs takes stands in the README and in its own usage."""
    spellings = [[command] for command in magic._COMMANDS]
    spellings += [action.option_strings for action in magic._parser()._actions if action.option_strings]
    for words in spellings:
        for text in (README, magic.USAGE):
            assert any(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) for word in words), words


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
    assert "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/pytest" in first

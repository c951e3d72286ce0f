"""The last cell of a notebook: which value is its result, and which cells have none."""

from __future__ import annotations

import atexit
import sys
from typing import TYPE_CHECKING

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from jupyter_funcs.service import last_cell
from jupyter_funcs.service.errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InteractiveShell]:
    """An IPython of the test's own that writes no history."""
    config = Config()
    config.HistoryManager.enabled = False
    main, hook = sys.modules["__main__"], sys.excepthook
    made = InteractiveShell(config=config, ipython_dir=str(tmp_path_factory.mktemp("ipython")))
    yield made
    atexit.unregister(made.atexit_operations)
    made.atexit_operations()
    sys.modules["__main__"], sys.excepthook = main, hook


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("1 + 1", 2),
        ("1 + 1;", 2),
        ("1; 2 ; ", 2),
        ("x = 3\nx  # the result", 3),
        ("x = 3\n\nx ; # the result\n\n# the end\n", 3),
        ("(1\n + 1\n)", 2),
        ("(x := 5)", 5),
        ("x = 1; (\n  x  # one\n)", 1),
        ("1, 2", (1, 2)),
        ("*[1], 2", (1, 2)),
        ("'é€' + '𝄞'; 'é' * 2", "éé"),
        ("lambda: 1 if True else 2", None),
        ("print('shown')\n7", 7),
        ("%precision 3\nx = !echo hi\nx[0]", "hi"),
        ("\r\n8\r\n", 8),
        ('"""a\nb"""', "a\nb"),
        ("import asyncio\nawait asyncio.sleep(0, 9)", 9),
        ("    9", 9),
        (">>> 9", 9),
        ("None", None),
    ],
)
def test_the_last_value_is_kept_and_all_else_goes_on_as_before(
    shell: InteractiveShell, source: str, value: object
) -> None:
    done = shell.run_cell(last_cell.kept(source, "here"))
    done.raise_error()
    found = shell.user_ns.pop(last_cell.NAME)
    assert found == value or callable(found)


def test_lines_keep_their_numbers() -> None:
    source = "a = 1\nb = (\n  a\n)\nb.c"
    assert [
        line
        for line, new in zip(source.split("\n"), last_cell.kept(source, "here").split("\n"), strict=False)
        if line != new
    ] == ["b.c"]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (
            "x = 1",
            "an assignment to x, and not in a value.\nEnd the notebook with the value alone on its last line: x",
        ),
        ("x.y[0] = 1", "assignment to x.y[0]"),
        ("x: int = 1", "assignment to x"),
        ("x += 1", "assignment to x"),
        ("for x in y:\n    x", "ends in 'for x in y:'"),
        ("def f():\n    return 1", "ends in 'def f():'"),
        ("import os", "ends in 'import os'"),
        (
            "print(df)",
            "here ends in print(…), which shows a value and gives none.\nEnd the notebook",
        ),
        ("display(df.head())", "its last line: df.head()"),
        ("print()", "ends in print(…)"),
        ("%%time\n1 + 1", "here begins with '%%time'"),
        ("x = = 1", "here, line 1: invalid syntax"),
        ("1 +", "here, line 1:"),
    ],
)
def test_a_cell_that_ends_in_no_value_is_refused(source: str, says: str) -> None:
    with pytest.raises(SetupError) as caught:
        last_cell.kept(source, "here")
    assert says in str(caught.value)
    assert str(caught.value).count("\n") <= 2


@pytest.mark.parametrize(("source", "empty"), [("", True), ("\n # x\n", True), ("x", False), ("'#'", False)])
def test_a_cell_of_blanks_and_comments_is_empty(source: str, empty: bool) -> None:
    assert last_cell.is_empty(source) == empty

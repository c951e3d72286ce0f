"""The last cell of a notebook: which value is its result, and which cells have no result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.publishing import notebooks
from tests.examples import row_id
from tests.shells import interactive_shell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from IPython.core.interactiveshell import InteractiveShell


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InteractiveShell]:
    """A separate IPython that writes no history."""
    with interactive_shell(
        ipython_dir=str(tmp_path_factory.mktemp("ipython"))
    ) as shell:
        yield shell


LAST_VALUES = {
    "1 + 1": 2,
    "1 + 1;": 2,
    "1; 2 ; ": 2,
    "x = 3\nx  # the result": 3,
    "x = 3\n\nx ; # the result\n\n# the end\n": 3,
    "(1\n + 1\n)": 2,
    "(x := 5)": 5,
    "x = 1; (\n  x  # one\n)": 1,
    "1, 2": (1, 2),
    "*[1], 2": (1, 2),
    "'é€' + '𝄞'; 'é' * 2": "éé",
    "lambda: 1 if True else 2": None,
    "print('shown')\n7": 7,
    "%precision 3\nx = !echo hi\nx[0]": "hi",
    "\r\n8\r\n": 8,
    '"""a\nb"""': "a\nb",
    "import asyncio\nawait asyncio.sleep(0, 9)": 9,
    "    9": 9,
    ">>> 9": 9,
    "None": None,
}


@pytest.mark.parametrize(
    ("source", "value"), LAST_VALUES.items(), ids=map(row_id, LAST_VALUES)
)
def test_the_last_value_is_the_result_and_the_rest_runs_as_in_jupyter(
    shell: InteractiveShell, source: str, value: object
) -> None:
    notebooks.check_last_cell(source, "here")
    result = notebooks.value_of(shell, source)
    assert result == value or callable(result)


WITHOUT_VALUE = [
    (
        "x = 1",
        "ends with 'x = 1', not with a value.\nEnd the notebook with the value alone on its last line.",
    ),
    ("x.y[0] = 1", "ends with 'x.y[0] = 1'"),
    ("x: int = 1", "ends with 'x: int = 1'"),
    ("x += 1", "ends with 'x += 1'"),
    ("for x in y:\n    x", "ends with 'for x in y:'"),
    ("def f():\n    return 1", "ends with 'def f():'"),
    ("import os", "ends with 'import os'"),
    ("print(df)", "here ends with 'print(df)', not with a value.\nEnd the notebook"),
    ("display(df.head())", "ends with 'display(df.head())'"),
    ("print()", "ends with 'print()'"),
    ("%%time\n1 + 1", "here starts with '%%time'"),
    ("x = = 1", "here, line 1: invalid syntax"),
    ("1 +", "here, line 1:"),
]


@pytest.mark.parametrize(
    ("source", "says"),
    WITHOUT_VALUE,
    ids=[row_id(source) for source, _ in WITHOUT_VALUE],
)
def test_a_cell_that_ends_without_a_value_is_refused(source: str, says: str) -> None:
    with pytest.raises(SetupError) as caught:
        notebooks.check_last_cell(source, "here")
    assert says in str(caught.value)
    assert str(caught.value).count("\n") <= 2


@pytest.mark.parametrize(
    ("source", "empty"), [("", True), ("\n # x\n", True), ("x", False), ("'#'", False)]
)
def test_a_cell_of_blanks_and_comments_is_empty(source: str, empty: bool) -> None:
    assert notebooks.is_empty(source) == empty

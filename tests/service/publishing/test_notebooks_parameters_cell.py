"""The parameters cell of a notebook: what is read from it, and what is refused."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.functions.markers import AtLeastOne
from jupyter_funcs.service.publishing import notebooks
from tests.examples import row_id

ASSIGNMENTS = [
    ("a: str", None, "[Required]"),
    ("a: str = 'x'", "x", "[Optional] If none, a defaults to 'x'."),
    ("a = 'x'", "x", "[Optional] If none, a defaults to 'x'."),
    (
        "a = 'b = c'  # With = and # in it!",
        "b = c",
        "[Optional] With = and # in it! If none, a defaults to 'b = c'.",
    ),
    ("a = None", None, "[Optional]"),
    ("a: int = None", None, "[Optional]"),
    ("a: 'int | None' = None", None, "[Optional]"),
    ("a: Optional[int] = None", None, "[Optional]"),
    ("a = 7  # How many", 7, "[Optional] How many. If none, a defaults to '7'."),
    ("a = None  # type: int How many", None, "[Optional] How many."),
    ("a = None  # type: list[str] | Which.", None, "[Optional] Which."),
    ("a = 7  # noqa: E501", 7, "[Optional] If none, a defaults to '7'."),
    ("a = 7  # type: ignore[misc]", 7, "[Optional] If none, a defaults to '7'."),
    ("a = -1.5", -1.5, "[Optional] Must be a number. If none, a defaults to '-1.5'."),
    (
        "a = False",
        False,
        "[Optional] Options are 'Yes', 'No'. If none, a defaults to 'No'.",
    ),
    (
        "a = ['x',\n  'y',\n]  # Which.",
        ["x", "y"],
        "[Optional] Which. If none, a defaults to 'x', 'y'.",
    ),
    ("a: list[Literal['x', 'y']]", None, "[Required] Options are 'x', 'y'."),
    (
        "a: t.List[t.Literal['x']] = ['x']",
        ["x"],
        "[Optional] Options are 'x'. If none, a defaults to 'x'.",
    ),
    (
        "a: datetime.date = datetime.date(2024, 2, 29)",
        date(2024, 2, 29),
        "[Optional] Format is YYYY-MM-DD. If none, a defaults to '2024-02-29'.",
    ),
    (
        "a = {'x': 1}",
        {"x": 1},
        """[Optional] Must be JSON. If none, a defaults to '{"x":1}'.""",
    ),
    ("a: list[dict[str, int]]", None, "[Required] Must be JSON."),
    ("a: date = date.today()", None, "[Optional] Format is YYYY-MM-DD."),
    ("a: int = len('xy') + 1", None, "[Optional]"),
    (
        "a: Annotated[int, Between(0, 9), Help('How many.')]",
        None,
        "[Required] How many. Must be at least 0 and at most 9.",
    ),
    (
        "a: Annotated[str, ListedBy('Get Stores', values='shops')]",
        None,
        "[Required] Use function 'Get Stores' to get list of available shops.",
    ),
]


@pytest.mark.parametrize(
    ("line", "default", "description"),
    ASSIGNMENTS,
    ids=[row_id(line) for line, *_ in ASSIGNMENTS],
)
def test_an_assignment_is_a_parameter(
    line: str, default: Any, description: str
) -> None:
    [parameter], rules = notebooks.read_parameters(
        f'"""Parameters."""\nfrom x import y\n# of all\n{line}\n', "here"
    )
    assert (parameter.name, parameter.description(rules)) == ("a", description)
    assert parameter.default == default
    assert type(parameter.default) is type(default)


def test_a_comment_may_have_the_type() -> None:
    (several, many), _ = notebooks.read_parameters(
        "a = None  # type: list[int]\nb = None  # type: date", "here"
    )
    assert several.many
    assert (several.type, many.type) == (int, date)


def test_a_rule_may_be_in_an_annotation() -> None:
    source = (
        "a: Annotated[str | None, AtLeastOne('a', 'b')] = None\nb: str | None = None"
    )
    parameters, rules = notebooks.read_parameters(source, "here")
    assert rules == (AtLeastOne("a", "b"),)
    assert (
        parameters[1].description(rules) == "[Optional] Required if a is not specified."
    )


@pytest.mark.parametrize(
    "source", ["", "\n\n# nothing\n", "import os\nfrom datetime import date"]
)
def test_a_notebook_may_have_no_parameters(source: str) -> None:
    assert notebooks.read_parameters(source, "here") == ((), ())


NO_PARAMETERS = {
    "\na, b = 1, 2": "here, line 2: 'a, b = (1, 2)' does not define a parameter.",
    "a = b = 1": "'a = b = 1' does not define a parameter",
    "a.b = 1": "'a.b = 1' does not define a parameter",
    "a += 1": "'a += 1' does not define a parameter",
    "if x:\n    a = 1": "does not define a parameter",
    "print(1)": "'print(1)' does not define a parameter",
    "%matplotlib inline": "here, line 1: invalid syntax",
    "a = [": "never closed",
    "a = 1\na = 2": "here, line 2: a is assigned twice",
    "a = open('x')": "the type of a is not clear from 'open('x')'",
    "a: Foo = 1": "a has the unsupported annotation 'Foo'",
    "a: 'Foo = 1'": "a has the unsupported annotation 'Foo = 1'",
    "a = 1  # type: Foo": "a has the unsupported annotation 'Foo'",
    "a: bytes = b''": "a has the unsupported annotation 'bytes'",
    "a: __import__('os').system('touch pwned') = 1": "has the unsupported annotation",
    "a: list[__builtins__] = []": "unsupported annotation",
    "a: int = 'x'": "Parameter a has the default 'x'",
    "a: Literal['x', 1] = 'y'": "Parameter a has the default 'y'",
    "a: Annotated[str, AtLeastOne('a', 'b')] = 'x'": "has no parameter 'b'",
    "a: Annotated[str, Help(no='x')]": "has the unsupported annotation",
}


@pytest.mark.parametrize(
    ("source", "says"), NO_PARAMETERS.items(), ids=map(row_id, NO_PARAMETERS)
)
def test_anything_but_a_parameter_is_refused_with_its_line_and_never_executed(
    source: str, says: str
) -> None:
    with pytest.raises(SetupError) as caught:
        notebooks.read_parameters(source, "here")
    assert str(caught.value).startswith("here")
    assert says in str(caught.value)
    assert str(caught.value).count("\n") <= 2

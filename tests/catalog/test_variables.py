"""Variables of a notebook as values of a form: typed, shown, and looked up when the form is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_funcs.catalog.fields import read_fields
from jupyter_funcs.catalog.listing import Function, Param
from jupyter_funcs.catalog.values import Variable, entered, resolved, spelled
from jupyter_funcs.core.line import read_value
from tests.declared import form_with

if TYPE_CHECKING:
    from jupyter_funcs.api import Session
    from jupyter_funcs.catalog.form import Form


@given(st.text(st.sampled_from("$'\" ab\n")) | st.text())
def test_a_text_is_spelt_so_that_it_is_read_back(text: str) -> None:
    """A value is shown as the text to type for it, for texts and variables alike."""
    assert entered(spelled(text)) == text
    assert entered(spelled(Variable("x"))) == Variable("x")


@pytest.mark.parametrize("text", ["$a", "'$a'", '"$5"', "plain", "a $b"])
def test_a_dollar_is_read_as_the_magic_reads_it(text: str) -> None:
    """`$name` is a variable and quotes make it a text, in the form as after `name=` in the magic."""
    variables = {"a": ["x", "y"]}
    assert resolved(entered(text), variables) == read_value(text, variables)


def form(**values: Any) -> Form:
    params = (Param(name="a"), Param(name="n", type=1), Param(name="many", type=4))
    given = form_with(*read_fields(Function(name="F", params=params)), **values)
    given.variables = lambda: VARIABLES
    return given


VARIABLES: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def _variables() -> None:
    VARIABLES.clear()


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("x", ["x"]),
        (["x", "y"], ["x", "y"]),
        (np.array(["x"]), ["x"]),
        (pd.Series(["x", "y"]), ["x", "y"]),
    ],
    ids=["text", "list", "array", "Series"],
)
def test_a_variable_is_sent_as_what_it_holds_at_the_run(
    value: object, sent: list[str]
) -> None:
    """The form stores the name and sends the variable's current value, alone or within a list."""
    filled = form(many=Variable("it"), a="z")
    VARIABLES["it"] = "earlier"
    assert filled.args["many"] == ["earlier"]
    VARIABLES["it"] = value
    assert filled.args == {"a": "z", "many": sent}
    filled["many"] = ["first", Variable("it"), "last"]
    assert filled.check()["many"] == ["first", *sent, "last"]
    assert str(filled["many"][1]) == "$it"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Variable("symbl"), "There is no variable 'symbl'. Did you mean 'symbol'?"),
        (
            Variable("zzz"),
            "There is no variable 'zzz'. Define it, or quote the value: '$zzz'.",
        ),
        (Variable(""), "There is no variable ''. Define it, or quote the value: '$'."),
        (Variable("nothing"), "$nothing is empty: 'None'."),
        (Variable("symbol"), "n takes a whole number, not 'BKQU'."),
    ],
)
def test_a_variable_that_gives_no_value_is_an_error_at_its_field(
    value: Variable, message: str
) -> None:
    """An unknown, empty or unsuitable variable is an error at the field, and nothing is sent for it."""
    VARIABLES.update(symbol="BKQU", nothing=None, _hidden=1)
    filled = form(n=value)
    assert filled.errors == {"n": [message]}
    assert filled.args == {}


@pytest.mark.parametrize(
    "value", [{"a": 1}, pd.DataFrame({"a": [1]}), iter("ab"), np.array("x"), object()]
)
def test_a_variable_of_any_type_never_breaks_the_form(value: object) -> None:
    """An unsuitable value of a variable is refused at its field, alone or within a list."""
    VARIABLES["it"] = value
    for many in (Variable("it"), ["x", Variable("it")]):
        filled = form(many=many)
        assert set(filled.errors) | set(filled.args) == {"many"}


def test_a_form_given_to_a_function_keeps_its_variables(funcs: Session) -> None:
    """A call with a form looks up the form's variables, as the form itself does."""
    function = funcs["Get Panel Daily"]
    filled = function.form(PanelName=Variable("it"), Symbol="BKQU US EQUITY")
    filled.variables = lambda: {"it": "Demo Card Panel"}
    assert function.form(filled).check() == filled.check()

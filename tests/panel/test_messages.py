"""What a form says in words: the line above Run, the help, the age of a list."""

from __future__ import annotations

import time
from typing import Any

import pytest

from jupyter_funcs.catalog.fields import Field, read_fields
from jupyter_funcs.catalog.form import Form
from jupyter_funcs.catalog.listing import Function, Param
from jupyter_funcs.catalog.suggestions import Choice, Offers
from jupyter_funcs.catalog.values import Each
from jupyter_funcs.panel.form import messages
from jupyter_funcs.panel.form.sources import FieldSource


class Made:
    """A function of these parameters, as a form takes it."""

    def __init__(self, *params: Param) -> None:
        self.name = "F"
        self.fields = read_fields(Function(name="F", params=params))


def summary(*params: Param, **values: Any) -> str:
    form = Form(Made(*params), **values)
    return messages.summary(form, form.errors)


def needed(name: str) -> Param:
    return Param(name=name, required=True)


def test_the_line_above_run_is_short() -> None:
    """Six names are said and the rest counted; long names are cut; a described rule is no obstacle."""
    assert summary(*(needed(f"p{at}") for at in range(10))) == "To run: give p0, p1, p2, p3, p4, p5 and 4 more."
    assert len(summary(*(needed("n" * 300 + str(at)) for at in range(10)))) < 500
    texts = {"A": "Required if B or C is not specified.", "B": "", "C": ""}
    assert summary(*(Param(name=name, description=text) for name, text in texts.items())) == ""
    assert summary(Param(name="a")) == ""
    assert summary(needed("a"), Param(name="n", type=1), n="x") == "To run: give a; fix n."


def test_a_rule_is_said_once() -> None:
    """The sentence that the rule was read from is not in the help, where the form says the rule itself."""
    text = "The brand. Required if Symbol is not specified."
    (_, brand) = Made(Param(name="Symbol"), Param(name="Brand", description=text)).fields
    assert brand.rule is not None
    assert "The brand.</p>" in messages.help_html([brand])


def test_help_and_messages_are_inert() -> None:
    """Markup is text, marks of direction are shown as what they are, and a very long text is cut."""
    hostile = "<script>x</script> \u202e $y$ " + "word " * 1000
    for said in (
        messages.help_html(Made(Param(name="a", description=hostile)).fields),
        messages.said_html([([hostile], [hostile + "!"])]),
    ):
        assert "<script>" not in said
        assert "\u202e" not in said
        assert len(said) < 3000


def test_a_message_stands_in_its_fields_place() -> None:
    """Both the messages and the help of a field come between its control and the next one's, by the style sheet."""
    fields: list[Field] = list(Made(Param(name="a", description="One."), Param(name="b", description="Two.")).fields)
    assert ".jf-at-1{order:2}" in messages.help_html(fields)
    assert '<p style="order:3">Two.</p>' in messages.help_html(fields)
    said = messages.said_html([([], []), (["bad", "bad"], ["bad", "word"])])
    assert said.startswith('<p style="order:3"><span class="jf-bad" role="alert">bad</span><span class="jf-word">word')


def test_of_many_values_only_the_strange_ones_are_named() -> None:
    """Tickers of listed symbols are no strange values, however many there are; of the strange ones six are named."""
    offers = Offers([Choice("AA US EQUITY", "Alpha"), Choice("BB US EQUITY", "Beta")])

    def said(*values: str) -> list[str]:
        return messages.unlisted(Each(values), offers)

    assert said("AA", "bb", "AA US EQUITY", "BB us  equity", "AA") == []
    assert said("AA", "BB", "XX", "AA") == ["The list has no 'XX'; it is sent as it is."]
    assert said("AA", "BB", "US") == []  # the last may still be typed
    assert said("AA", "US", "ZZ") == ["The list has no 'US' or 'ZZ'; they are sent as they are."]
    (many,) = said(*(f"X{at}" for at in range(9)))
    assert many == "The list has no 'X0', 'X1', 'X2', 'X3', 'X4', 'X5' or 3 more; they are sent as they are."


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "just now"),
        (59, "just now"),
        (60, "1 min old"),
        (250, "2 min old"),
        (1799, "10 min old"),
        (3599, "30 min old"),
        (3600, "1 hour old"),
        (2 * 3600, "2 hours old"),
        (49 * 3600, "2 days old"),
    ],
)
def test_an_age_is_said_in_steps(seconds: float, said: str) -> None:
    """A list says how old it is, in steps, so that what is shown seldom changes."""
    source = FieldSource.__new__(FieldSource)
    (source.field,) = Made(Param(name="Symbol", type=6)).fields
    source.asking, source.trouble, source.missing = False, "", []
    source.offers, source.at = Offers([Choice("A")]), time.time() - seconds - 0.5
    assert source.line == f"1 symbol from Get Universe · {said}"

"""Several values of one field: how a form converts them, and how users enter them."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import jupyter_funcs as jf
from jupyter_funcs.catalog.fields import Field, Kind, read_fields
from jupyter_funcs.catalog.listing import Function, Param
from jupyter_funcs.catalog.values import Each, Variable, accept_each, first_of
from jupyter_funcs.panel.form_view import FormView
from jupyter_funcs.panel.requests import NotText
from tests.conftest import PANEL, SYMBOL, wait_until
from tests.declared import declared, form_with

if TYPE_CHECKING:
    from jupyter_funcs.api import Session
    from jupyter_funcs.catalog.form import Form


def field(name: str, code: int = 0, text: str = "") -> Field:
    return read_fields(
        Function(name="F", params=(Param(name=name, type=code, description=text),))
    )[0]


DIMENSIONS = declared(
    field("Dimensions", 4, "Options are 'Age Group', 'Region', 'Brand'.")
)
LOOKBACK = declared(field("n", 1, "At least 1 and at most 50."))
DAY = declared(field("start_date"))
NAME = field("Name")
YES = declared(
    field("Flag", 0, "Options are 'Yes', 'No'. If none, Flag defaults to 'No'.")
)


def form_of(field: Field, value: Any, **variables: Any) -> Form:
    form = form_with(field)
    form.variables = lambda: variables
    form[field.name] = value
    return form


@pytest.mark.parametrize(
    ("one", "values", "sent"),
    [
        (NAME, ("a", "b", "a"), ["a", "b"]),
        (NAME, ("Smith, Jones",), ["Smith, Jones"]),
        (LOOKBACK, (1, "2", np.int64(2)), [1, 2]),
        (DAY, (dt.date(2025, 1, 2), "2025-01-03"), ["2025-01-02", "2025-01-03"]),
        (YES, (True, "no"), ["Yes", "No"]),
        (
            DIMENSIONS,
            (["Region"], ["region", "Brand"], ["Region"]),
            [["Region"], ["Region", "Brand"]],
        ),
        (DIMENSIONS, ("Region",), [["Region"]]),
    ],
)
def test_each_value_is_sent_once_in_its_order(
    one: Field, values: tuple[Any, ...], sent: list[Any]
) -> None:
    """Several values are sent as a list without repeats, and the form counts as many runs."""
    form = form_of(one, Each(values))
    assert form.errors == {}
    assert form.args == {one.name: sent}
    assert (form.swept, form.runs, form.first) == (
        [one.name],
        len(sent),
        {one.name: sent[0]},
    )


def test_each_bad_value_is_named_and_the_others_are_valid() -> None:
    """Each bad value has its own error; after three, the rest are counted."""
    form = form_of(LOOKBACK, Each((1, "x", 99, *range(51, 60))))
    assert form.args == {"n": [1]}
    beyond = [f"n must be between 1 and 50, not {number}." for number in (99, 51)]
    assert form.errors == {
        "n": ["n takes a whole number, not 'x'.", *beyond, "And 8 more like these."]
    }
    assert (
        "Did you mean 'Region'?"
        in form_of(DIMENSIONS, Each((["Regoin"],))).errors["Dimensions"][0]
    )


@pytest.mark.parametrize(
    ("one", "held", "sent"),
    [
        (NAME, ["a", "b"], ["a", "b", "c"]),
        (NAME, pd.Series(["a", "b"]), ["a", "b", "c"]),
        (NAME, np.array(["a"]), ["a", "c"]),
        (NAME, "a", ["a", "c"]),
    ],
)
def test_a_variable_stands_for_each_of_its_values(
    one: Field, held: Any, sent: list[str]
) -> None:
    """A variable that holds a list, an array or a column means each of its current values."""
    values = {"names": held}
    form = form_of(one, Each((Variable("names"), "c")))
    form.variables = lambda: values
    assert form.args == {one.name: sent}
    values["names"] = ["z"]
    assert form.args == {one.name: ["z", "c"]}
    del values["names"]
    assert form.args == {one.name: ["c"]}
    assert form.errors[one.name][0].startswith("There is no variable 'names'.")


def test_a_variable_of_a_list_field_is_one_list_or_several() -> None:
    """For a list field, a variable of texts is one value, and a variable of lists is several."""
    values = Each((Variable("d"),))
    assert form_of(DIMENSIONS, values, d=["Region", "Brand"]).args == {
        "Dimensions": [["Region", "Brand"]]
    }
    assert form_of(DIMENSIONS, values, d=[["Region"], ["Brand"]]).args == {
        "Dimensions": [["Region"], ["Brand"]]
    }
    within = form_of(DIMENSIONS, Each((["Region", Variable("d")],)), d=["Brand"])
    assert within.args == {"Dimensions": [["Region", "Brand"]]}


def test_a_field_that_is_to_have_several_and_has_none_is_not_set() -> None:
    """With no values yet, a required field is missing and an optional one is not sent."""
    needed = declared(Field("Need", "Need", Kind.TEXT, "Need", "", required=True))
    form = form_with(needed, NAME, Need=Each(()), Name=Each(()))
    assert form.errors == {"Need": ["Need is required."]}
    form["Need"] = "x"
    assert (form.errors, form.args, form.swept, form.runs) == ({}, {"Need": "x"}, [], 1)


def test_each_of_several_dates_goes_with_each_other_date() -> None:
    """An end date before any start date is an error, because a sweep combines them all."""
    first = declared(Field("start", "start", Kind.DATE, "start", ""))
    last = declared(Field("end", "end", Kind.DATE, "end", "", not_before="start"))
    form = form_with(
        first,
        last,
        start=Each(("2025-01-01", "2025-03-01")),
        end=Each(("2025-02-01", "2025-04-01")),
    )
    assert form.errors == {"end": ["end 2025-02-01 is before start 2025-03-01."]}
    form["end"] = "2025-05-01"
    assert (form.errors, form.runs) == ({}, 2)


def test_a_form_of_several_values_is_no_single_run(funcs: Session) -> None:
    """A single call with such a form names the field with several values and sends nothing."""
    function = funcs["Get Panel Daily"]
    form = function.form(PanelName=PANEL, Symbol=Each((SYMBOL,)))
    with pytest.raises(jf.ArgumentError, match="Symbol has several values"):
        function.submit(form)
    assert form.check(sweeps=True) == {"PanelName": PANEL, "Symbol": [SYMBOL]}


def test_ten_thousand_values_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A form converts thousands of values once, until they change."""
    read: list[Each] = []

    def counted(field: Field, values: Each, *args: Any, **options: Any) -> Any:
        read.append(values)
        return accept_each(field, values, *args, **options)

    monkeypatch.setattr("jupyter_funcs.catalog.form.accept_each", counted)
    many = Each(tuple(f"x{at}" for at in range(10_000)))
    form = form_of(YES, many)
    assert form.errors["Flag"][-1] == "And 9,997 more like these."
    assert (form.args, form.runs, read) == ({}, 1, [many])
    form["Flag"] = Each(("Yes",))
    assert (form.args, len(read)) == ({"Flag": ["Yes"]}, 2)


def test_of_several_values_the_first_stays() -> None:
    """Of no values there is none, and a single value is itself."""
    assert (first_of(Each(("a", "b"))), first_of(Each(())), first_of("a")) == (
        "a",
        None,
        "a",
    )


def shown(view: FormView, name: str) -> dict[str, Any]:
    state: dict[str, Any] = view.values()["fields"][name]
    return state


_TEXTS = (
    st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)
    .map(str.strip)
    .filter(bool)
)


@given(
    st.lists(_TEXTS, unique=True, max_size=5),
    st.lists(st.lists(_TEXTS, min_size=1, max_size=4), max_size=4),
)
@example(["json:", "json:5", "'json:5'", '"json:', "'$5'"], [["json:5", "$5"]])
def test_lines_give_back_what_they_show(
    texts: list[str], lists: list[list[str]]
) -> None:
    """Any texts and lists of texts are shown so that the page sends the same values back."""

    def told(name: str = "", items: list[str] = []) -> None:  # noqa: B006  # nobody calls it
        pass

    function = jf.connect([told]).told
    view = FormView(
        function,
        function.form(name=Each(tuple(texts)), items=Each(tuple(lists))),
        lambda: None,
    )
    for name, values in ("name", texts), ("items", lists):
        entry = shown(view, name).get("value", {"each": []})
        view.take({name: NotText(entry["each"])})
        assert view.form[name] == Each(tuple(values))
    view.close()


def test_the_inputs_show_several_values(funcs: Session) -> None:
    """Set by code or by the page; errors use the field's label, and missing values are no error before a run."""
    function = funcs["Get Panel Daily"]
    form = function.form(PanelName=PANEL, Symbol=Each((SYMBOL, "BVQS US EQUITY")))
    view = FormView(function, form, lambda: None, trusted=True)
    wait_until(lambda: not any(source.asking for source in view._sources.values()))
    assert shown(view, "Symbol") == {"value": {"each": [SYMBOL, "BVQS US EQUITY"]}}
    view.clear()
    assert view.form.args == {}
    view.take({"PanelName": NotText([])}, 1)
    assert not any("errors" in field for field in view.values()["fields"].values())
    assert not view.values()["valid"]
    view.press()
    [error] = shown(view, "PanelName")["errors"]
    assert error["text"].startswith("Panel Name is required.")
    view.form["PoPLookback"] = Each((1, 2))
    assert (shown(view, "PoPLookback")["value"], view.values()["runs"]) == (
        {"each": ["1", "2"]},
        2,
    )
    view.form["PoPLookback"] = 3
    assert shown(view, "PoPLookback")["value"] == "3"
    view.take({"PoPLookback": NotText(["1", "2", "x"])}, 2)
    [error] = shown(view, "PoPLookback")["errors"]
    assert error["text"] == "PoP Lookback takes a whole number, not 'x'."
    view.take({"Symbol": NotText(["NOPE", SYMBOL, "BVQS"])}, 3)
    [warning] = shown(view, "Symbol")["warnings"]
    assert "'NOPE' isn't in the list." in warning["text"]
    view.close()

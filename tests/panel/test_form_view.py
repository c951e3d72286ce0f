"""The inputs of a panel as plain JSON: controls by kind and evidence, messages with a fix, options, pasting."""

from __future__ import annotations

import datetime as dt
import json
import math
from typing import TYPE_CHECKING, Any

import httpx
import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.catalog.values import Each, Variable
from jupyter_funcs.panel import form_view
from jupyter_funcs.panel.form_view import FormView
from tests.conftest import PANEL, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.api import Session

SYMBOLS = [
    {"Symbol": "NVRA US EQUITY", "Name": "Nuvarelle Outfitters", "Sector": "Retail"},
    {"Symbol": "KORD US EQUITY", "Name": "Kordrivet Auto Parts", "Sector": "Retail"},
    {"Symbol": "KORD LN EQUITY", "Name": "Kordelisse Fashions", "Sector": "Retail"},
    {"Symbol": "MCHQ US EQUITY", "Name": "Mochandrel Coffee", "Sector": "Restaurants"},
    {"Symbol": "BVQS US EQUITY", "Name": "Bravoquesa Grill, Inc.", "Sector": "Restaurants"},
]


def listing(*params: dict[str, Any], rows: object = ()) -> Callable[[httpx.Request], httpx.Response]:
    functions = [{"name": "F", "params": list(params)}, {"name": "Get Universe", "params": []}]

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=rows if request.url.path.endswith("runFunction") else functions)

    return answer


def opened(session: Session, name: str = "F", *, trusted: bool = True, **values: Any) -> FormView:
    function = session[name]
    view = FormView(function, function.form(**values), lambda _: None, trusted=trusted)
    wait_until(lambda: not any(source.asking for source in view._sources.values()))
    return view


def state(view: FormView, name: str) -> dict[str, Any]:
    found: dict[str, Any] = view.values()["fields"][name]
    return found


def texts(view: FormView, name: str, part: str = "errors") -> list[str]:
    return [message["text"] for message in state(view, name).get(part, [])]


def field(view: FormView, name: str) -> dict[str, Any]:
    return next(one for one in view.fields() if one["name"] == name)


NUMBER = {"type": "integer", "minimum": 1, "maximum": 50, "default": 1}
PARAMS = [
    ({"name": "a", "type": 6}, "choice", {"open": True}),
    ({"name": "a", "schema": {"enum": ["x", "y"], "default": "x"}}, "choice", {"open": False, "short": True}),
    ({"name": "a", "schema": {"enum": ["month", "day"], "default": "month"}}, "choice", {"short": False}),
    ({"name": "a", "description": "Options are 'x', 'y'."}, "choice", {"open": True}),
    ({"name": "a", "description": "Options are 'Yes', 'No'."}, "flag", {"open": True, "flag": ["Yes", "No"]}),
    ({"name": "a", "schema": {"type": "boolean"}}, "flag", {"open": False, "flag": ["true", "false"]}),
    ({"name": "a", "schema": NUMBER}, "number", {"strict": True, "integer": True, "hint": "1 (default)"}),
    ({"name": "a", "description": "An integer."}, "number", {"strict": False}),
    ({"name": "a", "schema": {"type": "string", "format": "date"}}, "date", {"strict": True, "hint": "YYYY-MM-DD"}),
    ({"name": "start_date"}, "date", {"strict": False}),
    ({"name": "a", "type": 4}, "list", {}),
    ({"name": "a", "type": 4, "description": "Options are 'x', 'y'."}, "several", {"open": True}),
    ({"name": "a", "schema": {"type": "object"}}, "json", {}),
    ({"name": "a"}, "text", {"hint": "Optional"}),
]


@pytest.mark.parametrize(("param", "control", "more"), PARAMS)
def test_a_control_follows_kind_and_evidence(
    answering: Callable[..., Session], param: dict[str, Any], control: str, more: dict[str, Any]
) -> None:
    """Declared options have no "Other…", described and listed ones do; described dates and numbers are text boxes."""
    view = opened(answering(listing(param, rows=SYMBOLS)))
    shown = field(view, param["name"])
    assert shown["control"] == control
    assert {name: shown[name] for name in more} == more
    json.dumps([view.fields(), view.values()])  # plain JSON


WRONG: list[tuple[dict[str, Any], Any, str, str]] = [
    ({"type": "string", "format": "date"}, "2025-02-30", "Enter a valid date.", "2025-02-28"),
    ({"type": "string", "format": "date"}, "2024-2-30", "Enter a valid date.", "2024-02-29"),
    ({"type": "string", "format": "date"}, "2025-13-01", "Enter a valid date, as 2025-11-15.", ""),
    (NUMBER, "99", "Enter a whole number from 1 to 50.", "50"),
    (NUMBER, "-3", "Enter a whole number from 1 to 50.", "1"),
    (NUMBER, "2.4", "Enter a whole number from 1 to 50.", "2"),
    (NUMBER, "inf", "Enter a whole number from 1 to 50.", "50"),
    (NUMBER, "nan", "Enter a whole number from 1 to 50.", ""),
    (NUMBER, "1e999", "Enter a whole number from 1 to 50.", "50"),
    ({"enum": ["Region", "Brand"]}, "Regoin", "has no option 'Regoin'. Did you mean 'Region'?", "Region"),
    ({"type": "object"}, '{"a": 1,\n "b" 2}', "This is not valid JSON. Line 2: expecting ':' delimiter.", ""),
]


@pytest.mark.parametrize(("schema", "value", "text", "use"), WRONG)
def test_a_wrong_value_is_said_at_once_with_what_would_fix_it(
    answering: Callable[..., Session], schema: dict[str, Any], value: str, text: str, use: str
) -> None:
    """The error stands at the field, Run stays but says which field to check, and "Use …" makes the form valid."""
    view = opened(answering(listing({"name": "a", "schema": schema})))
    view.take("a", value, 1)
    [message] = state(view, "a")["errors"]
    assert (message["text"].endswith(text), message["use"]) == (True, use), message
    assert (view.values()["wrong"], view.values()["missing"], view.values()["valid"]) == (["a"], [], False)
    assert state(view, "a")["value"] == value
    if use:
        view.take("a", use)
        assert view.values()["valid"], view.values()


def test_a_number_that_is_being_typed_stays_as_it_is(answering: Callable[..., Session]) -> None:
    """What is shown is what was typed, and what is sent is the number."""
    view = opened(answering(listing({"name": "a", "schema": {"type": "number"}})))
    view.take("a", "1.")
    assert (state(view, "a"), view.form.args) == ({"value": "1."}, {"a": "1"})


def test_a_missing_field_is_said_once_run_was_pressed(answering: Callable[..., Session]) -> None:
    """Untouched, no field has an error; "Fill in Symbol or Brand" is said once, and never before any input."""
    rule = "Required if {} is not specified."
    params = [
        {"name": "PanelName", "required": True},
        {"name": "Symbol", "description": rule.format("Brand")},
        {"name": "Brand", "description": rule.format("Symbol")},
    ]
    view = opened(answering(listing(*params)))
    values = view.values()
    assert (values["valid"], values["missing"], values["advice"]) == (False, ["PanelName"], [])
    assert values["fields"] == {"PanelName": {}, "Symbol": {}, "Brand": {}}
    view.press()
    assert texts(view, "PanelName") == ["Required"]
    assert view.values()["advice"] == ["Fill in Symbol or Brand."]
    view.take("PanelName", PANEL)
    view.take("Symbol", "NVRA US EQUITY")
    assert (view.values()["valid"], view.values()["advice"]) == (True, [])
    view.clear()
    assert texts(view, "PanelName") == []


def test_a_described_contradiction_warns_and_is_sent(answering: Callable[..., Session]) -> None:
    """It has the nearest option and never stops a run; of an assumed kind nothing is said."""
    params = [{"name": "GrowthType", "description": "Options are 'YoY', 'QoQ'."}, {"name": "start_date"}]
    view = opened(answering(listing(*params)))
    view.take("GrowthType", "yoyo")
    view.take("start_date", "7daysAgo")
    [warning] = state(view, "GrowthType")["warnings"]
    assert "Did you mean 'YoY'" in warning["text"]
    assert warning["text"].endswith("It is sent as given.")
    assert warning["use"] == "YoY"
    assert view.values()["valid"]
    assert state(view, "start_date") == {"value": "7daysAgo"}


def test_listed_values_are_compared_and_a_ticker_stands_for_its_symbol(answering: Callable[..., Session]) -> None:
    """A value that isn't listed warns with the nearest, and of several names which one to replace."""
    view = opened(answering(listing({"name": "Symbol", "type": 6}, rows=SYMBOLS)))
    view.take("Symbol", "NVRB")
    assert state(view, "Symbol")["warnings"][0]["use"] == "NVRA US EQUITY"
    view.take("Symbol", "nvra")
    assert "warnings" not in state(view, "Symbol")
    view.take("Symbol", Each(("MCHQ US EQUITY", "MCHX US EQUITY")))
    assert state(view, "Symbol")["unknown"] == ["MCHX US EQUITY"]
    assert state(view, "Symbol")["warnings"][0]["instead"] == "MCHX US EQUITY"
    assert view.values()["runs"] == 2


def test_options_are_searched_ranked_and_paged(
    answering: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """First values that begin with the words, then labels; beyond a page the view holds the first ones only."""
    view = opened(answering(listing({"name": "Symbol", "type": 6}, rows=SYMBOLS)))
    found = [one["value"] for one in view.options("Symbol", "ko")["options"]]
    assert found == ["KORD US EQUITY", "KORD LN EQUITY"]
    assert [one["value"] for one in view.options("Symbol", "grill")["options"]] == ["BVQS US EQUITY"]
    assert [one["value"] for one in view.options("Symbol", "restaurants us")["options"]] == [
        "MCHQ US EQUITY",
        "BVQS US EQUITY",
    ]
    assert view.options("Symbol", "nothing")["total"] == 0
    assert view.all_options("Symbol", "Restaurants")["values"] == ["MCHQ US EQUITY", "BVQS US EQUITY"]
    assert len(view.all_options("Symbol")["values"]) == 5
    page = field(view, "Symbol")["options"]
    assert (page["total"], page["note"], page["again"]) == (5, "5 symbols from Get Universe", True)
    monkeypatch.setattr(form_view, "PAGE", 4)
    monkeypatch.setattr(form_view, "_FIRST", 2)
    assert len(field(view, "Symbol")["options"]["options"]) == 2
    assert [one["value"] for one in view.options("Symbol", "", 4)["options"]] == ["BVQS US EQUITY"]


def test_options_of_a_dependent_field_follow_the_other_field(
    answering: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brands are listed once the panel is chosen, and a brand that is no longer listed is removed with a note."""
    monkeypatch.setattr(form_view, "_PAUSE", 0.0)
    panel = {"name": "PanelName", "description": "[Required] The panel.", "type": 8}
    brand = {"name": "Brand", "type": 4, "description": "Use function 'Get Brands' to get list of brands."}
    functions = [
        {"name": "F", "params": [panel, brand]},
        {"name": "Get Brands", "params": [panel]},
        {"name": "Get Panels"},
    ]
    brands = ["Nuvarelle", "Old"]

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(
            200, json=[{"Brand": one} for one in brands] if b"FunctionName" in request.content else functions
        )

    news: list[str] = []
    function = answering(answer)["F"]
    view = FormView(function, function.form(), news.append)
    assert field(view, "Brand")["options"]["note"] == "Fill in Panel Name to see the values."
    view.take("PanelName", PANEL)
    wait_until(lambda: view._sources["Brand"].known)
    assert (field(view, "Brand")["options"]["total"], "Brand" in news) == (2, True)
    view.take("Brand", ["Nuvarelle", "Old"])
    brands.remove("Old")
    view.list_again("Brand")
    wait_until(lambda: "notes" in state(view, "Brand"))
    assert state(view, "Brand") == {"value": ["Nuvarelle"], "notes": ["Removed 'Old': Get Brands no longer lists it."]}
    view.close()


PASTED = [
    (
        "Symbol",
        "NVRA\nMCHQ US EQUITY\r\nbravoquesa grill, inc.",
        ["NVRA US EQUITY", "MCHQ US EQUITY", "BVQS US EQUITY"],
        [],
    ),
    ("Symbol", "NVRA\tMCHQ", ["NVRA US EQUITY", "MCHQ US EQUITY"], []),
    ("Symbol", "NVRA, MCHQ; NVRA", ["NVRA US EQUITY", "MCHQ US EQUITY"], []),
    ("Symbol", "KORD\nXX", ["KORD", "XX"], ["KORD", "XX"]),  # two begin with it
    ("n", "1, 2 3\n4", ["1", "2", "3", "4"], []),
    ("text", "a, b", ["a", "b"], []),
    ("text", "a, b\nc", ["a, b", "c"], []),
    ("text", " \n\t", [], []),
]


@pytest.mark.parametrize(("name", "text", "values", "unknown"), PASTED)
def test_a_pasted_list_becomes_values(
    answering: Callable[..., Session], name: str, text: str, values: list[str], unknown: list[str]
) -> None:
    """Columns, rows and lists are split; a comma inside a listed name is kept, and unknown values are named."""
    params = [{"name": "Symbol", "type": 6}, {"name": "n", "schema": {"type": "integer"}}, {"name": "text"}]
    view = opened(answering(listing(*params, rows=SYMBOLS)))
    assert view.paste(name, text) == {"values": values, "unknown": unknown}


def test_a_field_takes_a_variable_and_says_what_it_holds(answering: Callable[..., Session]) -> None:
    """Columns, lists and scalars without a leading underscore are offered; where the page isn't trusted, none."""
    held = {"one": "x", "many": ["x", "y"], "col": pd.Series(["x"]), "day": dt.date(2025, 1, 2), "_own": "x"}
    held |= {"math": math, "call": print, "cls": int, "mapping": {"a": 1}, "view": object()}
    session = answering(listing({"name": "a"}, {"name": "b", "type": 4}))
    view = opened(session)
    view.form.variables = lambda: held
    assert {one["name"]: one["about"] for one in view.variables("a")["variables"]} == {
        "one": "x",
        "many": "list of 2",
        "col": "column of 1",
        "day": "2025-01-02",
    }
    view.take("a", Each(("$many",)))
    view.take("b", ["$col"])
    assert state(view, "a")["value"] == {"variable": "many", "about": "list of 2", "each": True}
    assert view.form.args == {"a": ["x", "y"], "b": ["x"]}
    assert (view.values()["runs"], view.form["b"]) == (2, Variable("col"))
    for refused in ("$_own", "$math", "$call", "$mapping", "$__class__"):
        with pytest.raises(jf.ArgumentError, match="can't be used here"):
            view.take("a", refused)
    view.take("a", "$gone")
    assert "There is no variable 'gone'" in texts(view, "a")[0]
    assert state(view, "a")["value"]["about"] == "not defined"
    view.take("a", "'$5'")
    assert (view.form.args["a"], state(view, "a")["value"]) == ("$5", "'$5'")
    view.close()
    visitor = opened(session, trusted=False)
    visitor.form.variables = lambda: held
    visitor.take("a", "$one")
    assert (visitor.form.args, state(visitor, "a")["value"]) == ({"a": "$one"}, "$one")
    assert visitor.variables("a") == {"variables": []}


def test_values_of_code_are_shown_as_they_are_sent(answering: Callable[..., Session]) -> None:
    """A date, True, an array and a dict set by code are shown as text; the page sends them back unchanged."""
    params = [
        {"name": "d", "schema": {"type": "string", "format": "date"}},
        {"name": "f", "schema": {"enum": ["Yes", "No"]}},
        {"name": "l", "type": 4},
        {"name": "j", "schema": {"type": "object"}},
        {"name": "s", "type": 4},
    ]
    values = {
        "d": dt.date(2025, 1, 2),
        "f": True,
        "l": pd.Series(["a", "b"]),
        "j": {"a": 1},
        "s": Each((["a, b", "c"],)),
    }
    view = opened(answering(listing(*params)), **values)
    shown = {name: one["value"] for name, one in view.values()["fields"].items()}
    assert shown == {"d": "2025-01-02", "f": "Yes", "l": ["a", "b"], "j": '{"a": 1}', "s": {"each": ['"a, b", c']}}
    view.take_all({**shown, "s": Each(tuple(shown["s"]["each"]))}, 7)
    assert (view.form["d"], view.form["f"], view.values()["seq"]) == (dt.date(2025, 1, 2), True, 7)
    view.take("s", Each(('"a, b", c', "d")))
    assert view.form["s"] == Each((["a, b", "c"], ["d"]))


def test_a_list_that_is_only_described_takes_one_value_as_a_text(answering: Callable[..., Session]) -> None:
    """One value goes as a text and several as an array; a declared list is always an array."""
    view = opened(answering(listing({"name": "a", "description": "A list of names."}, {"name": "b", "type": 4})))
    for name in "ab":
        view.take(name, ["x"])
    assert view.form.args == {"a": "x", "b": ["x"]}
    assert state(view, "a")["value"] == ["x"]
    view.take("a", ["x", "y"])
    assert view.form.args["a"] == ["x", "y"]


def test_valid_values_of_the_same_name_carry_over(funcs: Session) -> None:
    """They are marked until they change; the first of several, and no value that the field would refuse."""
    before = funcs["Get Panel FQ"].form(PanelName=PANEL, Symbol=Each(("NVRA US EQUITY", "X")), PoPLookback="99")
    view = opened(funcs, "Get Panel Daily")
    view.carry(before)
    assert view.form.args == {"PanelName": PANEL, "Symbol": "NVRA US EQUITY"}
    assert state(view, "Symbol")["carried"]
    view.take("Symbol", "KORD US EQUITY")
    assert "carried" not in state(view, "Symbol")


def test_optional_fields_with_a_default_are_under_more_options(funcs: Session) -> None:
    """Required ones and those of a rule never are; one alone stays where it is."""
    view = opened(funcs, "Get Panel FQ")
    more = [one["name"] for one in view.fields() if one["more"]]
    assert more == ["PoPGrowth", "PoPLookback", "UseReportedForCurrentPeriod", "PeriodToDate"]
    assert not any(one["more"] for one in opened(funcs, "Get KPIs").fields())


def test_help_ends_with_a_whole_sentence(answering: Callable[..., Session]) -> None:
    """The line above Run shows the first sentences, the help box all of it."""
    sentence = "It smooths the series with a window; a long one hides the season. "
    view = opened(answering(listing({"name": "a", "description": sentence * 9})))
    shown = field(view, "a")
    assert shown["brief"] == (sentence * 3).strip()
    assert shown["help"].count("It smooths") == 9


@pytest.mark.parametrize(
    "value", [3, True, {"each": "a"}, {"a": 1}, ["a"] * 20_000, [1], Each((1,)), ["a" * 600_000] * 2, "a" * 2_000_000]
)
def test_no_control_sends_other_values(answering: Callable[..., Session], value: Any) -> None:
    """Each is refused with a sentence, and the form stays as it was."""
    view = opened(answering(listing({"name": "a"})))
    view.take("a", "before")
    with pytest.raises(jf.ArgumentError):
        view.take("a", value)
    with pytest.raises(jf.ArgumentError, match="has no field"):
        view.take("b", "x")
    with pytest.raises(jf.ArgumentError, match="has no field"):
        view.options("b", "", 0)
    assert view.form.args == {"a": "before"}


def test_what_the_service_found_is_shown_until_the_field_changes(funcs: Session) -> None:
    """An error of the service stands at its field, and a change of the values since the result is known."""
    view = opened(funcs, "Get Panel Daily", PanelName=PANEL, Symbol="NVRA US EQUITY")
    view.ran = view.form.args
    assert not view.values()["changed"]
    view.refuse({"Symbol": ["The panel has no data of it."], "": ["Something else."]})
    assert texts(view, "Symbol") == ["The panel has no data of it."]
    view.take("Symbol", "NVRB")
    view.refuse({"Symbol": ["Symbol 'NVRB' is not known."]})
    assert state(view, "Symbol")["errors"][0]["use"] == "NVRA US EQUITY"
    view.take("Symbol", "KORD US EQUITY")
    assert texts(view, "Symbol") == []
    assert view.values()["changed"]
    view.hold_preset("mine")
    assert view.values()["preset"] == "mine"
    view.take("Symbol", None)
    assert view.values()["preset"] == ""

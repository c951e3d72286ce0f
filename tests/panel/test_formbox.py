"""The form on the screen: values go to the form and back, messages stand at their fields, valid values arrive."""

from __future__ import annotations

import asyncio
import datetime as dt
import html
import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import comm
import httpx
import ipywidgets as w
import numpy as np
import pytest
from comm.base_comm import BaseComm
from ipywidgets.widgets.widget import _instances

import jupyter_funcs as jf
from jupyter_funcs.catalog.values import Each, Variable
from jupyter_funcs.core import background
from jupyter_funcs.panel.form import formbox, sources
from jupyter_funcs.panel.form.controls import ChoiceControl, DateControl, SearchControl
from jupyter_funcs.panel.form.formbox import FormBox
from jupyter_funcs.panel.form.list_controls import LinesControl, PickControl
from tests.conftest import PANEL, SYMBOL
from tests.panel.test_controls import wait_until
from tests.tabs import hidden

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_funcs.api import Session


def open_box(session: Session, name: str = "F", changes: list[None] | None = None, **values: Any) -> FormBox:
    function = session[name]
    on_change = (lambda: None) if changes is None else (lambda: changes.append(None))
    return FormBox(function, function.form(**values), on_change, guard, list)


def guard(callback: Callable[[Any], None]) -> Callable[..., None]:
    """Tell a callback what a change, a button, or a widget with its message tells; as the panel does."""
    return lambda *told: callback(told[1] if len(told) > 1 else told[0])


def listing(*params: dict[str, Any]) -> Callable[[httpx.Request], httpx.Response]:
    return lambda _: httpx.Response(200, json=[{"name": "F", "params": list(params)}])


def settled(box: FormBox) -> bool:
    # A line is shown last of all that a source has given.
    return all(
        not source.asking and (source.waits or box._lines[name].description == source.line)
        for name, source in box._sources.items()
    )


def parts(box: FormBox) -> list[w.Widget]:
    """Give what stands in the form, from above."""
    return [part for each in box.children for part in (each.children if "jf-place" in each._dom_classes else [each])]


class Wire(list[tuple[str, int]]):
    """What a front end is sent: of each message its kind and its size in bytes."""


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Wire:
    """Count the messages of every widget that is made from now on."""
    wire = Wire()

    class Counted(BaseComm):
        def publish_msg(self, msg_type: str, data: Any = None, *_: Any, **__: Any) -> None:
            wire.append((msg_type, len(json.dumps(data))))

    monkeypatch.setattr(comm, "create_comm", Counted)
    return wire


def test_a_form_of_eight_fields_is_opened_with_few_messages(funcs: Session, sent: Wire) -> None:
    """Get Panel FQ opens with at most 20 messages and 12 kB, its lists asked anew or known from before."""
    funcs.get_panels(), funcs.get_universe()  # the service is warm: a list that is slow changes a control
    funcs.refresh()
    for _ in range(2):
        sent.clear()
        box = open_box(funcs, "Get Panel FQ")
        opening = list(sent)
        assert len(opening) <= 20, opening
        assert sum(size for _, size in opening) <= 12_000
        wait_until(lambda box=box: settled(box))
        assert len(sent) <= 20, sent
        box.close()


@pytest.mark.slow
def test_picking_among_20_000_options_sends_little(answering: Callable[..., Session], sent: Wire) -> None:
    """20,000 symbols listed, one searched for with ten keys and picked, cost at most 12 kB in all."""
    functions = [{"name": "F", "params": [{"name": "Symbol", "type": 6}]}, {"name": "Get Universe"}]
    rows = [{"Symbol": f"S{at:05d} US EQUITY", "Name": f"Company number {at}"} for at in range(20_000)]

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=rows if request.url.path.endswith("runFunction") else functions)

    box = open_box(answering(answer))
    opening = len(sent)
    wait_until(lambda: settled(box))
    entry = box._controls["Symbol"].box
    for end in range(1, 11):
        entry.set_trait("value", "S01234 US EQUITY"[:end])
    entry.value = entry.options[0]
    assert box._form.args == {"Symbol": "S01234 US EQUITY"}
    assert sum(size for _, size in sent[opening:]) <= 12_000, sent[opening:]
    assert "20,000 symbols from Get Universe · just now · type to search" in box._lines["Symbol"].description
    box.close()


def test_a_form_of_forty_fields_has_at_most_150_models(answering: Callable[..., Session]) -> None:
    """One described control a field and no layouts; closing the form closes every model."""
    codes = [0, 1, 4, 6, 8]
    options = ["", "Options are 'Yes', 'No'.", "Options are 'a', 'b', 'c'.", "YYYY-MM-DD"]
    params = [{"name": f"p{at}", "type": codes[at % 5], "description": options[at % 4]} for at in range(40)]
    functions = [{"name": "F", "params": params}, {"name": "Get Panels"}, {"name": "Get Universe"}]

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=[{"a": "x"}] if request.url.path.endswith("runFunction") else functions)

    session = answering(answer)
    before = set(_instances)
    box = open_box(session)
    wait_until(lambda: settled(box))
    for made in box._controls.values():  # with a tag or a text in each
        if isinstance(made.box, (w.Dropdown, w.Combobox)) and made.box.options:
            made.box.value = "a" if isinstance(made.box, w.Combobox) else made.box.options[-1][1]
    assert len(set(_instances) - before) <= 150
    box.close()
    assert set(_instances) == before


def test_opening_and_closing_fifty_times_leaves_no_growth(funcs: Session) -> None:
    """Fifty switches of function leave no model behind, whatever is picked, and however far the lists have come."""
    before = set(_instances)
    for at in range(50):
        box = open_box(funcs, funcs.names[at % len(funcs.names)])
        if dimensions := box._controls.get("Dimensions"):
            for pick in ("Region", "Brand"):
                dimensions.box.value = pick
            dimensions.parts()[1].children[0].click()
        box.close()
    assert set(_instances) == before


def test_a_value_goes_to_the_form_and_its_error_to_its_field(answering: Callable[..., Session]) -> None:
    """A change of a control is the form's; a bad value is said at the field, what is missing once it was touched."""
    changes: list[None] = []
    box = open_box(answering(listing({"name": "n", "type": 1, "required": True}, {"name": "t"})), changes=changes)
    assert box.messages == {}
    assert (box.valid, box.summary) == (False, "To run: give n.")
    number, text = box._controls["n"].box, box._controls["t"].box
    number.value = "abc"
    assert box._form["n"] == "abc"
    assert box.messages == {"n": ["N takes a whole number, not 'abc'."]}
    assert (box.valid, box.summary) == (False, "To run: fix n.")
    number.value = "3"
    assert box._form.args == {"n": "3"}
    assert (box.messages, box.valid, box.summary) == ({}, True, "")
    box.refuse({"t": ["t is <refused>"]})
    assert "t is &lt;refused&gt;" in box._said.value
    text.value = "x"
    assert box.messages == {}
    assert len(changes) == 3
    box.clear()
    assert box._form.values == {}
    assert (box.messages, number.value, text.value) == ({}, "", "")
    box.close()


def test_what_is_missing_is_one_line(answering: Callable[..., Session]) -> None:
    """The summary names what is required and what is to be fixed; a rule is said at its fields and stops no run."""
    session = answering(
        listing(
            {"name": "PanelName", "type": 8, "required": True},
            {"name": "Symbol", "type": 6, "description": "Required if Brand is not specified."},
            {"name": "Brand", "type": 4, "description": "Required if Symbol is not specified."},
            {"name": "n", "type": 1},
            {"name": "start_date", "schema": {"type": "string", "format": "date"}},
            {"name": "end_date", "schema": {"type": "string", "format": "date"}},
        )
    )
    box = open_box(session)
    assert box.summary == "To run: give PanelName."
    rule = "Give Symbol or Brand."
    assert box._said.value.count(rule) == 2  # before any run, as a word and not as an error
    assert box.messages == {}
    box._form["n"] = "x"
    assert box.summary == "To run: give PanelName; fix n."
    box._form.update({"n": 1, "PanelName": "P", "start_date": "2025-02-02", "end_date": "2025-01-01"})
    assert box.summary == "To run: fix end_date."
    box._form["end_date"] = "2025-03-01"
    box.refuse({})
    assert box.messages == {"Symbol": [rule], "Brand": [rule]}
    box._form["Brand"] = ["B"]
    assert (box.summary, box.valid, box.messages) == ("", True, {})
    box.close()


def test_bad_first_values_are_said_at_once(answering: Callable[..., Session]) -> None:
    """What code has set is said to be wrong as the form opens; a default that is no option is said at its field."""
    session = answering(
        listing(
            {
                "name": "unit",
                "description": "If none, unit defaults to 'year'.",
                "schema": {"enum": ["day", "week"]},
            },
            {"name": "n", "type": 1, "required": True},
        )
    )
    box = open_box(session, unit="month")
    assert list(box.messages) == ["unit"]
    assert "Its default &#x27;year&#x27; is none of its options." in box._help.value
    unit = box._controls["unit"].box
    assert (unit.label, unit.options[0][0]) == ("month (not listed)", "not sent (year)")
    unit.value = "week"
    assert box.messages == {}
    box.close()


@pytest.mark.slow
def test_a_variable_is_checked_at_its_field(answering: Callable[..., Session]) -> None:
    """`$name` is shown, counts as given where there is such a variable, and is an error with a suggestion where not."""
    notebook: dict[str, Any] = {"brands": ["Fennloft", "Nuvarelle"]}
    session = answering(listing({"name": "Brand", "type": 4, "required": True}, {"name": "n", "type": 1}))
    function = session["F"]
    form = function.form(n=Variable("lookback"))
    changes: list[None] = []
    form.variables = lambda: notebook
    box = FormBox(function, form, lambda: changes.append(None), guard, list)
    assert box._controls["n"].box.value == "$lookback"
    assert box.messages == {"n": ["There is no variable 'lookback'. Define it, or quote the value: '$lookback'."]}
    notebook["lookback"] = 2
    wait_until(lambda: box.messages == {})  # a variable tells nobody that it has changed
    assert changes
    box._controls["Brand"].box.value = "$brand"
    assert box.messages == {"Brand": ["There is no variable 'brand'. Did you mean 'brands'?"]}
    assert not box.valid
    box._controls["Brand"].box.value = "$brands"
    assert box.valid
    assert form.args == {"Brand": ["Fennloft", "Nuvarelle"], "n": "2"}
    form.clear()
    wait_until(lambda: box._variables is not None and box._variables.done())  # nothing to look at any more
    box._controls["Brand"].box.value = "$later"
    assert not box.valid
    notebook["later"] = ["Tidewisp"]
    wait_until(lambda: box.valid)
    box.close()


def test_a_change_is_told_once_where_variables_are_followed(
    answering: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a person changes is no change of a variable: told once more, it would take away what a run has said."""
    monkeypatch.setattr(formbox, "_SECOND", 0.2)
    function = answering(listing({"name": "a"}, {"name": "b"}))["F"]
    form = function.form(a=Variable("here"))
    changes: list[dict[str, Any]] = []
    form.variables = lambda: {"here": "x"}
    box = FormBox(function, form, lambda: changes.append(form.args), guard, list)
    background.run(asyncio.sleep(0))  # the variables are looked at from here on
    box._controls["b"].box.value = "typed"
    box._controls["a"].box.value = "given"
    wait_until(lambda: box._variables is not None and box._variables.done())
    assert changes == [{"a": "x", "b": "typed"}, {"a": "given", "b": "typed"}]
    box.close()


def test_enter_runs_and_adds(funcs: Session) -> None:
    """Enter in a text calls on_submit; in the box of a list it adds what is typed, and runs nothing."""
    function = funcs["Get Panel Daily"]
    enters: list[None] = []
    form = function.form(PanelName=PANEL)
    box = FormBox(function, form, lambda: None, guard, lambda: enters.append(None))
    wait_until(lambda: settled(box))

    def enter(name: str) -> None:
        # As the front end sends it; the base class hears it too.
        box._controls[name].box._handle_custom_msg({"event": "submit"}, [])

    enter("Symbol")
    enter("PoPLookback")
    assert len(enters) == 2
    box._controls["Brand"].box.value = "Mine"
    enter("Brand")
    enter("Brand")
    assert len(enters) == 2
    assert box._controls["Brand"].parts()[1].children[0].description == "Remove Mine"
    assert form["Brand"] == ["Mine"]
    box.close()


def test_a_repeated_name_is_one_control(answering: Callable[..., Session]) -> None:
    """A parameter that is listed twice has one value, one control and one message."""
    box = open_box(answering(listing({"name": "a", "type": 1}, {"name": "b"}, {"name": "a", "type": 4})))
    assert list(box._controls) == ["a", "b"]
    box._controls["a"].box.value = "x"
    assert box._said.value.count("takes a whole number") == 1
    box.close()


def test_a_form_with_no_fields_is_valid(answering: Callable[..., Session]) -> None:
    """A function without parameters can be run at once."""
    box = open_box(answering(listing()))
    assert (box.valid, box.summary) == (True, "")
    box.close()


@contextmanager
def universe(answering: Callable[..., Session]) -> Iterator[tuple[Session, dict[str, Any]]]:
    """A service whose listing of symbols a test holds back, or lets fail."""
    state: dict[str, Any] = {"go": threading.Event(), "reply": [{"Symbol": "A", "Name": "Alpha"}], "asked": 0}
    functions = [
        {"name": "F", "params": [{"name": "Symbol", "type": 6}, {"name": "PanelName", "type": 8}, {"name": "t"}]},
        {"name": "Get Universe"},
    ]

    class Held(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if not request.url.path.endswith("runFunction"):
                return httpx.Response(200, json=functions)
            state["asked"] += 1
            assert state["go"].wait(10)
            reply = state["reply"]
            return reply if isinstance(reply, httpx.Response) else httpx.Response(200, json=reply)

    yield jf.connect("https://service.example", token="a-token", transport=Held()), state
    state["go"].set()


def test_a_slow_source_leaves_the_form_usable(
    answering: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the values are listed the form says so and takes what is typed; then the line says what came."""
    monkeypatch.setattr(sources, "SLOW_SECONDS", 0.05)
    with universe(answering) as (session, state):
        box = open_box(session)
        line = box._lines["Symbol"]
        assert (line.description, line.disabled) == ("Listing symbols…", True)
        wait_until(lambda: line.description == "Still listing symbols… They can be typed.")
        box._controls["Symbol"].box.value = "a"
        assert box._form.args == {"Symbol": "a"}
        assert box.valid
        state["go"].set()
        wait_until(lambda: line.description == "1 symbol from Get Universe · just now")
        assert not line.disabled
        assert box._form.args == {"Symbol": "a"}  # as it was typed
        assert list(box._lines) == ["Symbol"]  # no function lists panels here
        box.close()


def test_a_slow_list_of_panels_is_chosen_from_at_last(
    answering: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A panel that code has set is typed while the list is slow, and chosen once it is there; what it is stays."""
    monkeypatch.setattr(sources, "SLOW_SECONDS", 0.05)
    go = threading.Event()

    def answer(request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("runFunction"):
            return httpx.Response(
                200, json=[{"name": "F", "params": [{"name": "P", "type": 8}]}, {"name": "Get Panels"}]
            )
        go.wait(10)
        return httpx.Response(200, json=[{"P": "Demo", "Provider": "Someone"}])

    class Held(httpx.BaseTransport):
        handle_request = staticmethod(answer)

    session = jf.connect("https://service.example", token="a-token", transport=Held())
    box = open_box(session, P="Demo")
    assert isinstance(box._controls["P"], ChoiceControl)
    wait_until(lambda: isinstance(box._controls["P"], SearchControl))
    assert box._controls["P"].box.value == "Demo"
    go.set()
    wait_until(lambda: isinstance(box._controls["P"], ChoiceControl))
    assert box._controls["P"].box.label == "Demo — Someone"
    assert box._form.args == {"P": "Demo"}
    box.close()


def test_a_list_that_fails_is_typed_and_asked_again(answering: Callable[..., Session]) -> None:
    """The reason stands below the field, the value can be typed, and a click asks again, also a list that was there."""
    with universe(answering) as (session, state):
        state["go"].set()
        state["reply"] = {"error": "no <symbols> today", "body": None}
        box = open_box(session)
        line = box._lines["Symbol"]
        wait_until(lambda: settled(box))
        assert line.description == (
            "The symbols could not be listed: The function failed: no <symbols> today. Try again"
        )
        box._controls["Symbol"].box.value = "B"
        assert box._form.args == {"Symbol": "B"}
        state["reply"] = [{"Symbol": "B", "Name": "Beta"}]
        line.click()
        wait_until(lambda: settled(box))
        assert box._controls["Symbol"].box.value == "B — Beta"
        state["reply"] = [{"Symbol": "C", "Name": "Gamma"}, {"Symbol": "D", "Name": "Delta"}]
        line.click()
        wait_until(lambda: line.description.startswith("2 symbols"))
        wait_until(lambda: box._form.values == {})
        assert "Taken away, since Get Universe lists no &#x27;B&#x27; any more." in box._said.value
        box.close()


def test_fields_of_one_source_ask_once(answering: Callable[..., Session]) -> None:
    """Several fields that list the same ask the service once; a click on a line asks anew, for its field."""
    params = [{"name": f"Symbol{at}", "type": 6} for at in range(5)]
    functions = [{"name": "F", "params": params}, {"name": "Get Universe"}]
    asked: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("runFunction"):
            return httpx.Response(200, json=functions)
        asked.append(request.content)
        return httpx.Response(200, json=[{"Symbol": f"S{len(asked)}"}])

    box = open_box(answering(answer))
    wait_until(lambda: settled(box))
    assert len(asked) == 1
    assert [made.box.options for made in box._controls.values()] == [("S1",)] * 5
    box._lines["Symbol2"].click()
    wait_until(lambda: len(asked) == 2 and settled(box))
    assert box._controls["Symbol2"].box.options == ("S2",)
    box.close()


def test_a_list_that_fails_gives_a_text_of_lines(answering: Callable[..., Session]) -> None:
    """A list whose values cannot be listed is typed a line each; once they are listed they are picked."""
    functions = [
        {
            "name": "F",
            "params": [
                {"name": "PanelName", "type": 8},
                {"name": "Brand", "type": 4, "description": "Use function 'List Brands' to get brands."},
            ],
        },
        {"name": "Get Panels"},
        {"name": "List Brands"},
    ]
    broken = True
    before = set(_instances)

    def answer(request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("runFunction"):
            return httpx.Response(200, json=functions)
        return httpx.Response(500) if broken else httpx.Response(200, json=[{"PanelName": "P", "Brand": "B"}])

    box = open_box(answering(answer))
    wait_until(lambda: settled(box))
    assert isinstance(box._controls["Brand"], LinesControl)
    assert isinstance(box._controls["PanelName"], SearchControl)
    box._controls["PanelName"].box.value = "Mine"
    broken = False
    for line in box._lines.values():
        line.click()
    wait_until(lambda: settled(box))
    wait_until(lambda: isinstance(box._controls["Brand"], PickControl))
    # What a person types in is not replaced below the hands.
    assert isinstance(box._controls["PanelName"], SearchControl)
    assert box._form.args == {"PanelName": "Mine"}
    assert "The list has no &#x27;Mine&#x27;; it is sent as it is." in box._said.value
    box.refuse({"PanelName": ["There is no panel 'Mine'."]})  # it was sent, and what came of it is said
    assert "There is no panel" in box._said.value
    assert "it is sent as it is" not in box._said.value
    box.close()
    assert set(_instances) == before  # also the controls that others took the place of


def test_brands_follow_the_panel_and_keep_what_is_valid(answering: Callable[..., Session]) -> None:
    """Another panel lists other brands: those that it has too stay, the others go and are named."""
    functions = [
        {
            "name": "F",
            "params": [
                {"name": "PanelName", "type": 8},
                {"name": "Brand", "type": 4, "description": "Use function 'List Brands' to get brands."},
            ],
        },
        {"name": "Get Panels"},
        {"name": "List Brands", "params": [{"name": "PanelName", "type": 8, "required": True}]},
    ]
    brands = {"One": ["A", "B", "C"], "Two": ["B", "C", "D"]}

    def answer(request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("runFunction"):
            return httpx.Response(200, json=functions)
        asked = json.loads(request.content)["Args"]
        rows = [{"Brand": name} for name in brands[asked["PanelName"]]] if asked else [{"PanelName": p} for p in brands]
        return httpx.Response(200, json=rows)

    changes: list[None] = []
    box = open_box(answering(answer), changes=changes)
    assert "Fill in PanelName to see the values." in box._said.value
    wait_until(lambda: settled(box))
    box._controls["PanelName"].box.value = "One"
    wait_until(lambda: settled(box) and box._sources["Brand"].known)
    assert box._lines["Brand"].description == "3 values from List Brands · just now"
    assert "Fill in" not in box._said.value
    box._form["Brand"] = ["C", "A", "Mine", "B"]
    box._controls["PanelName"].box.value = "Two"
    wait_until(lambda: box._form["Brand"] == ["C", "Mine", "B"])
    assert [tag.tooltip for tag in box._controls["Brand"].parts()[1].children] == ["C", "Mine", "B"]
    wait_until(lambda: "Taken away, since List Brands lists no &#x27;A&#x27; any more." in box._said.value)
    assert "The list has no &#x27;Mine&#x27;; it is sent as it is." in box._said.value
    assert len(changes) == 4
    box._form["PanelName"] = None
    wait_until(lambda: settled(box))
    assert box._form["Brand"] == ["C", "Mine", "B"]
    box.close()


def test_listed_values_never_disturb_what_the_form_holds(answering: Callable[..., Session]) -> None:
    """While the values of a field arrive, the form holds what was set at every moment."""
    functions = [
        {"name": "F", "params": [{"name": "PanelName", "type": 8}, {"name": "Symbol", "type": 6}]},
        {"name": "Get Panels"},
        {"name": "Get Universe"},
    ]

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("runFunction"):
            return httpx.Response(200, json=[{"PanelName": f"P{at}", "Symbol": f"S{at}"} for at in range(15)])
        return httpx.Response(200, json=functions)

    session = answering(answer)
    for at in range(20):
        changes: list[None] = []
        box = open_box(session, changes=changes, PanelName="P7", Symbol="S7")
        wait_until(lambda box=box: settled(box))
        assert [made.read() for made in box._controls.values()] == ["P7", "S7"]
        assert len(box._controls["PanelName"].box.options) == 16
        assert box._form.args == {"PanelName": "P7", "Symbol": "S7"}
        assert not changes, at
        box.close()
        session.refresh()


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        ("Options are 'true', 'false'.", True, "true"),
        ("Options are 'Yes', 'No'.", False, "No"),
        ("Yes/No", "YES", "YES"),
    ],
)
def test_a_flag_is_shown_in_the_descriptions_spelling(
    answering: Callable[..., Session], text: str, value: object, shown: str
) -> None:
    """True and False of Python show as the option that would be sent, a text as it is."""
    box = open_box(answering(listing({"name": "a", "description": text})), a=value)
    assert isinstance(box._controls["a"], ChoiceControl)
    assert box._controls["a"].box.value == shown
    box.close()


def test_a_bad_value_from_code_is_kept(answering: Callable[..., Session]) -> None:
    """A value that its control cannot show stays in the form, with its error beside the control."""
    date = {"name": "start_date", "schema": {"type": "string", "format": "date"}}
    box = open_box(answering(listing(date, {"name": "flag", "schema": {"enum": ["Yes", "No"]}})))
    day, flag = box._controls["start_date"], box._controls["flag"]
    assert isinstance(day, DateControl)
    box._form["start_date"] = "2025-03-04"
    box._form["flag"] = True
    assert (day.read(), flag.read()) == (dt.date(2025, 3, 4), "Yes")
    box._form["start_date"], box._form["flag"] = "2025-02-30", "maybe"
    assert (day.box.value, flag.box.label) == (None, "maybe (not listed)")
    assert day._button.description == "Clear 2025-02-30"
    assert box._form.values == {"start_date": "2025-02-30", "flag": "maybe"}
    assert "is not a valid date" in box._said.value
    assert list(box.messages) == ["start_date", "flag"]
    box.close()


def test_what_contradicts_a_description_is_a_warning(answering: Callable[..., Session]) -> None:
    """It is shown as it is sent, said at its field as a word and not as an error, and doesn't stop a run."""
    box = open_box(
        answering(
            listing(
                {"name": "growth", "description": "Options are 'YoY', 'QoQ'."},
                {"name": "since_date", "description": "The first date, as YYYY-MM-DD."},
                {"name": "end_date"},
                {"name": "n", "description": "An integer between 1 and 50."},
                {"name": "report", "description": "[Required] The report."},
            )
        ),
        growth="YtD",
        since_date="7daysAgo",
        end_date="today",
        n="99",
    )
    assert (box.valid, box.summary, box.messages) == (True, "", {})
    assert box._form.args == {"growth": "YtD", "since_date": "7daysAgo", "end_date": "today", "n": "99"}
    assert [control.read() for control in box._controls.values()] == ["YtD", "7daysAgo", "today", "99", None]
    assert box._controls["growth"].box.label == "YtD (not listed)"
    said = html.unescape(box._said.value)
    assert "Growth has no option 'YtD'. " in said
    assert "since date takes a date" in said.lower()
    assert "N must be between 1 and 50, not 99. It is sent as given." in said
    assert "end date" not in said.lower()  # only its name says that it is a date
    assert "jf-bad" not in said
    assert "required" not in said  # until the field was filled in
    day = box._controls["since_date"]
    assert isinstance(day, DateControl)
    assert day._button.description == "Clear 7daysAgo"
    day._button.click()
    assert "since_date" not in box._form.args
    assert hidden(day._button)
    box._form["end_date"] = "tomorrow"
    box._controls["end_date"].box.value = dt.date(2025, 3, 4)
    assert box._form.args["end_date"] == "2025-03-04"
    box.close()


def test_json_is_typed_and_checked_at_its_field(answering: Callable[..., Session]) -> None:
    """A text that isn't JSON of the schema is an error there; a Python value shows as JSON; several are a line each."""
    where = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    box = open_box(answering(listing({"name": "where", "schema": where})), where={"city": "Köln"})
    control = box._controls["where"]
    assert control.box.value == '{"city": "Köln"}'
    for typed, said in (('{"city": ', "isn't valid JSON"), ('{"city": 3}', "not of type 'string'"), ("{}", "city")):
        control.box.value = typed
        assert said in box.messages["where"][0]
        assert not box.valid
    control.box.value = '{"city":"Bonn"}'
    assert (box.valid, box._form.args) == (True, {"where": '{"city":"Bonn"}'})
    box._form["where"] = Each(({"city": "Köln"}, {"city": "Bonn"}))
    assert box._controls["where"].box.value == '{"city": "Köln"}\n{"city": "Bonn"}'
    box._controls["where"].box.value += '\n{"city": "Aix"}'
    assert box._form.runs == 3
    box.close()


def test_a_list_of_another_type_can_be_changed(answering: Callable[..., Session]) -> None:
    """An array that code has set is shown, and a pick changes it."""
    box = open_box(
        answering(listing({"name": "a", "type": 4, "description": "Options are 'x', 'y'."})), a=np.array(["x"])
    )
    box._controls["a"].box.value = "y"
    assert box._form.args == {"a": ["x", "y"]}
    box.close()


def test_a_day_is_cleared_by_its_button(answering: Callable[..., Session]) -> None:
    """While there is a day a button says which, and takes it away; both go with the form."""
    before = set(_instances)
    box = open_box(answering(listing({"name": "start_date"})), start_date="2025-03-04")
    _, clear, *_ = parts(box)
    assert clear.description == "Clear 2025-03-04"
    box._controls["start_date"].box.value = dt.date(2025, 3, 5)
    assert clear.description == "Clear 2025-03-05"
    clear.click()
    assert box._form.values == {}
    assert hidden(clear)
    box._form["start_date"] = "2025-03-06"
    assert not hidden(clear)
    assert clear.description == "Clear 2025-03-06"
    box.close()
    assert set(_instances) == before


def test_a_form_is_read_in_its_order(funcs: Session) -> None:
    """The keyboard goes through controls, tags and lines in the order of the fields; the messages stand behind all."""
    box = open_box(funcs, "Get Panel Daily", PanelName=PANEL, Symbol=SYMBOL, Dimensions=["Region"])
    order = [int(name.removeprefix("jf-at-")) for part in parts(box) for name in part._dom_classes if "-at-" in name]
    assert order == sorted(order)
    assert len(order) == 6 + 3 + 1
    assert [part._dom_classes for part in box.children[-2:]] == [("jf-notes",), ("jf-notes",)]
    box.close()


def test_what_comes_and_goes_at_a_field_does_so_in_a_place_of_its_own(answering: Callable[..., Session]) -> None:
    """A front end draws anew all that stands behind a change in a box: tags, days and lists change none but theirs."""
    params = [
        {"name": "PanelName", "type": 8},
        {"name": "Brand", "type": 4, "description": "Use function 'List Brands' to get the list."},
        {"name": "Dimensions", "type": 4, "description": "Options are 'Region', 'Brand'."},
        {"name": "start_date"},
        {"name": "n", "type": 1},
    ]
    functions = [
        {"name": "F", "params": params},
        {"name": "Get Panels"},
        {"name": "List Brands", "params": [{"name": "PanelName", "type": 8, "required": True}]},
    ]

    def answer(request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("runFunction"):
            return httpx.Response(200, json=functions)
        rows = [{"PanelName": f"P{at}", "Brand": f"B{at}"} for at in range(3)]
        return httpx.Response(200, json=rows)

    box = open_box(answering(answer))
    placed, before = box.children, len(parts(box))
    wait_until(lambda: settled(box))
    box._form.update({"PanelName": "P1", "Brand": ["B1"], "Dimensions": ["Region"], "start_date": "2025-03-04"})
    wait_until(lambda: settled(box) and box._sources["Brand"].known)
    assert isinstance(box._controls["Brand"], PickControl)  # in place of one that is typed in
    assert len(parts(box)) == before + 3  # Brand's tags and line, the tags of Dimensions
    box.run_for_each(["Brand"])
    assert box.children == placed
    box.run_for_each(["n", "start_date"])  # which have no place yet: most forms need none for it
    placed = box.children
    box.run_for_each([])
    assert box.children == placed
    box.close()

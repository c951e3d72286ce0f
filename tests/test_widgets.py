"""Controls: each kind shows what the form holds, gives back what a person sets, and can be cleared."""

from __future__ import annotations

import datetime as dt
import json
import time
from typing import TYPE_CHECKING, Any

import httpx
import ipywidgets as w
import numpy as np
import pytest
from ipywidgets.widgets.widget import _instances

from jupyter_funcs.callables import Choice
from jupyter_funcs.catalog import Function, Param
from jupyter_funcs.fields import Kind, read_fields
from jupyter_funcs.formbox import FormBox
from jupyter_funcs.widgets import Look, control

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.fields import Field
    from jupyter_funcs.session import Session


def field(name: str = "a", code: int = 0, text: str = "") -> Field:
    return read_fields(Function(name="F", params=(Param(name=name, type=code, description=text),)))[0]


KINDS: dict[Kind, tuple[Field, type[w.Widget], Any]] = {
    Kind.TEXT: (field(), w.Text, "x"),
    Kind.INTEGER: (field(code=1), w.Text, "3"),
    Kind.NUMBER: (field(text="A number."), w.Text, "1.5"),
    Kind.CHOICE: (field(text="Options are 'day', 'week', 'month'."), w.Dropdown, "week"),
    Kind.YES_NO: (field(text="Options are 'Yes', 'No'."), w.ToggleButtons, "No"),
    Kind.DATE: (field("start_date"), w.DatePicker, dt.date(2025, 3, 4)),
    Kind.LIST: (field(code=4, text="Options are 'Region', 'Brand'."), w.HBox, ["Brand", "Region"]),
    Kind.SYMBOL: (field("Symbol", 6), w.Combobox, "NVRA US EQUITY"),
    Kind.PANEL: (field("PanelName", 8), w.Dropdown, "Demo"),
}


def test_the_table_has_every_kind() -> None:
    """A new kind is one row of the code's table and one of this test's."""
    assert set(KINDS) == set(Kind)
    assert all(one.kind is kind for kind, (one, _, _) in KINDS.items())


@pytest.mark.parametrize("kind", Kind, ids=str)
def test_a_control_shows_gives_back_and_clears(kind: Kind) -> None:
    """A control starts unset, shows a value, gives the same back, and clears to unset."""
    one, widget, value = KINDS[kind]
    made = control(one, Look(1))
    assert isinstance(made.box, widget)
    assert made.read() is None
    made.show(value)
    assert made.read() == value
    made.show(None)
    assert made.read() is None


@pytest.mark.parametrize("kind", [Kind.INTEGER, Kind.DATE, Kind.YES_NO, Kind.LIST], ids=str)
def test_a_value_that_cannot_be_shown_leaves_the_control_empty(kind: Kind) -> None:
    """A control never fails on a bad value of the form, which is said beside it."""
    made = control(KINDS[kind][0], Look(1))
    made.show("2025-02-30")
    assert made.read() in {None, "2025-02-30"}


def test_a_default_is_shown_and_not_sent() -> None:
    """What the service takes by default stands in the control, and is no value of it."""
    text = control(field(code=1, text="If none, a defaults to '1'."), Look(1))
    assert text.box.placeholder == "default: 1"
    toggles = control(field(text="Options are 'Yes', 'No'. If none, a defaults to 'No'."), Look(1))
    assert [label for label, _ in toggles.box.options] == ["default: No", "Yes", "No"]
    assert toggles.box.index == 0
    assert toggles.read() is None


def test_several_keep_the_order_of_the_clicks() -> None:
    """The order in which options are chosen is the order that is sent."""
    made = control(field(code=4, text="Options are 'Age Group', 'Region', 'Brand'."), Look(1))
    _, age, region, brand = made.box.children
    brand.value = True
    age.value = True
    assert made.read() == ["Brand", "Age Group"]
    region.value, brand.value = True, False
    assert made.read() == ["Age Group", "Region"]


def test_offered_values_show_their_labels_and_give_their_values() -> None:
    """What a listing gives is shown with its label; the value is what is read, listed or not."""
    for kind in (Kind.SYMBOL, Kind.PANEL):
        made = control(KINDS[kind][0], Look(1))
        made.show("A")
        made.offer([Choice("A", "Alpha"), Choice("B", "Beta")])
        made.show("A")
        assert made.read() == "A"
        made.show("B")
        assert "Beta" in str(made.box.label if kind is Kind.PANEL else made.box.value)
        assert made.read() == "B"
        made.show("not listed")
        assert made.read() == "not listed"


def test_a_long_list_is_picked_one_by_one() -> None:
    """A value is picked or typed into the box, listed or not, and taken away by its button; each change is told."""
    made = control(field("Brand", 4, "Use function 'Get Panel Dimensions' to get list of brands."), Look(1))
    entry, buttons = made.box.children
    told: list[Any] = []
    made.watch(lambda _: told.append(made.read()))
    made.offer([Choice("Fennloft"), Choice("Nuvarelle", "Nuvarelle Outfitters")])
    entry.value = "fennloft "
    entry.value = "Nuvarelle — Nuvarelle Outfitters"
    entry.value = "Mine"
    entry.value = "Mine"
    assert made.read() == ["Fennloft", "Nuvarelle", "Mine"]
    assert entry.value == ""
    buttons.children[1].click()
    assert made.read() == ["Fennloft", "Mine"]
    assert told[0] == ["Fennloft"]
    assert told[-1] == ["Fennloft", "Mine"]
    assert [button.description for button in buttons.children] == ["Fennloft", "Mine"]


def test_many_values_are_searched_here_and_a_page_is_sent() -> None:
    """Of 20,000 values the browser is sent those that match what was typed, at most fifty."""
    made = control(KINDS[Kind.SYMBOL][0], Look(1))
    made.offer([Choice(f"S{at:05d} US EQUITY", f"Company {at}") for at in range(20_000)])
    assert len(made.box.options) == 50
    made.box.value = "company 1234"
    assert len(made.box.options) == 12
    made.box.value = "S01234 US EQUITY — Company 1234"
    assert made.read() == "S01234 US EQUITY"


def open_box(session: Session, changes: list[None] | None = None) -> FormBox:
    function = next(iter(session))
    return FormBox(
        function, function.form(), lambda: None if changes is None else changes.append(None), lambda callback: callback
    )


def listing(*params: dict[str, Any]) -> Callable[[httpx.Request], httpx.Response]:
    return lambda _: httpx.Response(200, json=[{"name": "F", "params": list(params)}])


def notes(box: FormBox) -> str:
    return "".join(child.value for child in box.children if isinstance(child, w.HTML))


def test_a_form_of_forty_fields_has_at_most_150_models(answering: Callable[..., Session]) -> None:
    """One described control a field and shared layouts; closing the form closes every model."""
    codes = [0, 1, 4, 6, 8]
    options = ["", "Options are 'Yes', 'No'.", "Options are 'a', 'b', 'c'.", "YYYY-MM-DD"]
    params = [{"name": f"p{at}", "type": codes[at % 5], "description": options[at % 4]} for at in range(40)]
    session = answering(listing(*params))
    before = set(_instances)
    box = open_box(session)
    made = set(_instances) - before
    assert len(made) <= 150
    box.close()
    assert set(_instances) == before


def test_opening_and_closing_fifty_times_leaves_no_growth(answering: Callable[..., Session]) -> None:
    """Fifty switches of function leave no model behind."""
    session = answering(listing({"name": "a", "type": 4, "description": "Options are 'x', 'y'."}, {"name": "b"}))
    before = set(_instances)
    for _ in range(50):
        open_box(session).close()
    assert set(_instances) == before


def test_a_value_goes_to_the_form_and_its_error_to_its_field(answering: Callable[..., Session]) -> None:
    """A change of a control is the form's; a bad value is said below the field, and only once it was touched."""
    session = answering(listing({"name": "n", "type": 1, "required": True}, {"name": "t"}))
    changes: list[None] = []
    box = open_box(session, changes)
    assert "jf-bad" not in notes(box)
    number = box.children[0]
    number.value = "abc"
    assert box._form["n"] == "abc"
    assert "takes a whole number, not &#x27;abc&#x27;" in notes(box)
    number.value = "3"
    assert box._form.args == {"n": "3"}
    assert "jf-bad" not in notes(box)
    box.refuse({"t": ["t is refused"]})
    assert "t is refused" in notes(box)
    box.children[2].value = "x"
    assert "t is refused" not in notes(box)
    assert len(changes) == 3
    box.clear()
    assert box._form.values == {}
    assert "jf-bad" not in notes(box)
    box.close()


def test_a_listing_that_fails_leaves_a_field_to_type_in(answering: Callable[..., Session]) -> None:
    """When the values of a panel cannot be listed, the reason is said and the value can still be typed."""
    functions = [{"name": "F", "params": [{"name": "PanelName", "type": 8}]}, {"name": "Get Panels"}]

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("runFunction"):
            return httpx.Response(200, json={"error": "no panels today", "body": None})
        return httpx.Response(200, json={"functions": json.dumps(functions)})

    box = open_box(answering(answer))
    wait_until(lambda: "no panels today" in notes(box))
    assert isinstance(box.children[0], w.Text)
    box.children[0].value = "Demo"
    assert box._form.args == {"PanelName": "Demo"}
    box.close()


def wait_until(true: Callable[[], bool]) -> None:
    for _ in range(500):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("It did not come true within 5 s.")


def test_listed_values_never_disturb_what_the_form_holds(answering: Callable[..., Session]) -> None:
    """While the values of a field arrive, the form holds what was set at every moment."""
    functions = [
        {"name": "F", "params": [{"name": "PanelName", "type": 8}, {"name": "Symbol", "type": 6}]},
        {"name": "Get Panels"},
        {"name": "Get Universe"},
    ]

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("runFunction"):
            return httpx.Response(200, json=[{"PanelName": f"P{at}", "Symbol": f"S{at}"} for at in range(50)])
        return httpx.Response(200, json=functions)

    session = answering(answer)
    function = session["F"]
    for at in range(20):
        form = function.form(PanelName="P7", Symbol="S7")
        changes: list[None] = []
        box = FormBox(function, form, lambda changes=changes: changes.append(None), lambda callback: callback)
        panel, symbol = box._controls["PanelName"], box._controls["Symbol"]
        wait_until(lambda panel=panel, symbol=symbol: len(panel.box.options) > 50 and len(symbol.box.options) == 50)
        wait_until(lambda panel=panel, symbol=symbol: (panel.read(), symbol.read()) == ("P7", "S7"))
        assert form.args == {"PanelName": "P7", "Symbol": "S7"}
        assert not changes, at
        box.close()
        session.refresh()
        function = session["F"]


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        ("Options are 'true', 'false'.", True, "true"),
        ("Options are 'Yes', 'No'.", False, "No"),
        ("Yes/No", "YES", "Yes"),
    ],
)
def test_a_flag_is_shown_in_the_descriptions_spelling(
    answering: Callable[..., Session], text: str, value: object, shown: str
) -> None:
    """True and False of Python show as the option that would be sent."""
    function = answering(listing({"name": "a", "description": text}))["F"]
    box = FormBox(function, function.form(a=value), lambda: None, lambda callback: callback)
    assert box.children[0].value == shown
    box.close()


def test_a_bad_value_from_code_is_kept(answering: Callable[..., Session]) -> None:
    """A value that its control cannot show stays in the form, with its error beside the empty control."""
    session = answering(listing({"name": "start_date"}, {"name": "flag", "description": "Yes/No"}))
    box = open_box(session)
    date, _, flag, _ = box.children
    box._form["start_date"] = "2025-03-04"
    box._form["flag"] = True
    assert (date.value, flag.value) == (dt.date(2025, 3, 4), "Yes")
    box._form["start_date"], box._form["flag"] = "2025-02-30", "maybe"
    assert (date.value, flag.value) == (None, "")
    assert box._form.values == {"start_date": "2025-02-30", "flag": "maybe"}
    assert "no such day" in notes(box)
    assert "maybe" in notes(box)
    box.close()


def test_a_list_of_another_type_can_be_changed(answering: Callable[..., Session]) -> None:
    """An array that code has set is shown, and a click changes it."""
    function = answering(listing({"name": "a", "type": 4, "description": "Options are 'x', 'y'."}))["F"]
    box = FormBox(function, function.form(a=np.array(["x"])), lambda: None, lambda callback: callback)
    box.children[0].children[2].value = True
    assert box._form.args == {"a": ["x", "y"]}
    box.close()


def test_a_listing_that_works_again_gives_its_list(answering: Callable[..., Session]) -> None:
    """A field whose values could not be listed has its list again once they can be."""
    functions = [
        {"name": "F", "params": [{"name": "PanelName", "type": 8}, {"name": "Which"}]},
        {"name": "Get Panels", "params": [{"name": "Which", "required": True}]},
    ]
    broken = True

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("runFunction"):
            return httpx.Response(500) if broken else httpx.Response(200, json=[{"PanelName": "Demo"}])
        return httpx.Response(200, json=functions)

    box = open_box(answering(answer))
    box._form["Which"] = "a"
    wait_until(lambda: "could not be listed" in notes(box))
    broken = False
    box._form["Which"] = "b"
    wait_until(lambda: isinstance(box.children[0], w.Dropdown) and len(box.children[0].options) == 2)
    box.close()

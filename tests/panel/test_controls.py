"""Controls: each kind shows what the form holds, gives back what a person sets, and can be cleared."""

from __future__ import annotations

import datetime as dt
import time
from typing import TYPE_CHECKING, Any

import ipywidgets as w
import pytest

from jupyter_funcs.catalog.fields import Kind, read_fields
from jupyter_funcs.catalog.listing import Function, Param
from jupyter_funcs.catalog.suggestions import PAGE, Choice, Offers
from jupyter_funcs.catalog.values import Variable
from jupyter_funcs.panel.form.controls import ChoiceControl, Control, DateControl, JsonControl, SearchControl
from jupyter_funcs.panel.form.formbox import BY_KIND, MOST_TO_ADD, MOST_TO_CHOOSE, control_type
from jupyter_funcs.panel.form.list_controls import AddControl, LinesControl, PickControl

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.catalog.fields import Field


def wait_until(true: Callable[[], bool]) -> None:
    for _ in range(2000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("It did not come true within 20 s.")


def field(name: str = "a", code: int = 0, text: str = "") -> Field:
    return read_fields(Function(name="F", params=(Param(name=name, type=code, description=text),)))[0]


def read_field(schema: dict[str, Any]) -> Field:
    return read_fields(Function(name="F", params=(Param.model_validate({"name": "a", "schema": schema}),)))[0]


DIMENSIONS = field("Dimensions", 4, "Options are 'Age Group', 'Region', 'Brand'.")
BRAND = field("Brand", 4, "Use function 'Get Panel Dimensions' to get list of brands.")
CONTROLS: list[tuple[Field, type[Control], type[w.Widget], Any]] = [
    (field(), Control, w.Text, "x"),
    (field(code=1), Control, w.Text, "3"),
    (field(text="A number."), Control, w.Text, "1.5"),
    (field(text="Options are 'day', 'week', 'month'."), ChoiceControl, w.Dropdown, "week"),
    (field(text="Options are 'Yes', 'No'."), ChoiceControl, w.Dropdown, "No"),
    (field("start_date"), DateControl, w.DatePicker, dt.date(2025, 3, 4)),
    (field(code=4), LinesControl, w.Textarea, ["x, y", "z"]),
    (DIMENSIONS, PickControl, w.Dropdown, ["Brand", "Region"]),
    (BRAND, AddControl, w.Combobox, ["Fennloft", "Nuvarelle"]),
    (field("Symbol", 6), SearchControl, w.Combobox, "NVRA US EQUITY"),
    (field("PanelName", 8), ChoiceControl, w.Dropdown, "Demo"),
    (read_field({"type": "object"}), JsonControl, w.Textarea, '{"a": [1, 2]}'),
]
IDS = [f"{made.__name__} of {one.kind}" for one, made, _, _ in CONTROLS]


def test_the_table_has_every_kind() -> None:
    """A new kind is one row of the code's table and one of this test's."""
    assert set(BY_KIND) == set(Kind) == {one.kind for one, _, _, _ in CONTROLS}


class Known:
    """A source that has listed so many values, or is at another point of its way."""

    def __init__(self, number: int = 0, **state: Any) -> None:
        self.offers = Offers([Choice(f"v{at}") for at in range(number)])
        self.known, self.asking, self.slow, self.trouble = bool(number), False, False, ""
        vars(self).update(state)


@pytest.mark.parametrize(
    ("one", "source", "wanted"),
    [
        (field("PanelName", 8), None, Control),
        (field("PanelName", 8), Known(2), ChoiceControl),
        (field("PanelName", 8), Known(MOST_TO_CHOOSE + 1), SearchControl),
        (field("PanelName", 8), Known(asking=True), ChoiceControl),
        (field("PanelName", 8), Known(asking=True, slow=True), SearchControl),
        (field("PanelName", 8), Known(trouble="no"), SearchControl),
        (field("Symbol", 6), Known(2), SearchControl),
        (field("Symbol", 6), None, Control),
        (BRAND, Known(MOST_TO_ADD), PickControl),
        (BRAND, Known(MOST_TO_ADD + 1), AddControl),
        (BRAND, Known(asking=True), AddControl),
        (BRAND, Known(trouble="no"), LinesControl),
        (BRAND, None, LinesControl),
        (DIMENSIONS, None, PickControl),
    ],
)
def test_a_control_follows_what_the_source_has_given(one: Field, source: Any, wanted: type[Control]) -> None:
    """Few values are chosen, many are searched, and those that cannot be listed are typed."""
    assert control_type(one, source) is wanted


@pytest.mark.parametrize(("one", "kind", "widget", "value"), CONTROLS, ids=IDS)
def test_a_control_shows_gives_back_and_clears(
    one: Field, kind: type[Control], widget: type[w.Widget], value: Any
) -> None:
    """A control starts unset, shows a value, gives the same back, and clears to unset; it carries the field's name."""
    made = kind(one, 0)
    assert isinstance(made.box, widget)
    assert made.box.description == one.label + " *" * one.required
    assert made.read() is None
    made.show(value)
    assert made.read() == value
    made.show(None)
    assert made.read() is None


@pytest.mark.parametrize(("one", "kind", "widget", "value"), CONTROLS, ids=IDS)
@pytest.mark.parametrize(
    "odd",
    ["2025-02-30", "$x", "<b>", 7, Variable("x"), ["a", Variable("x")], object()],
    ids=lambda odd: str(odd) if type(odd) is not object else "no text",
)
def test_a_value_that_does_not_fit_is_shown_or_left_out(
    one: Field, kind: type[Control], widget: type[w.Widget], value: Any, odd: object
) -> None:
    """A control fails on no value of the form; a variable and a text stay what they are where they can be shown."""
    made = kind(one, 0)
    made.show(odd)
    shown = made.read()
    if isinstance(odd, (str, Variable)):
        assert shown in ([odd], odd) or kind is DateControl
    made.show(None)
    assert made.read() is None


@pytest.mark.parametrize("kind", [Control, SearchControl, LinesControl, AddControl])
def test_a_variable_is_typed_with_a_dollar(kind: type[Control]) -> None:
    """`$name` typed into a text is a variable, and in quotes the text."""
    made = kind(BRAND, 0)
    made.box.value = "$brands"
    assert made.read() == Variable("brands")
    made.box.value = "'$brands'"
    assert made.read() in ("$brands", ["$brands"])


def test_what_is_not_sent_is_said_in_the_control() -> None:
    """Unset, a control says that nothing is sent, what the service takes then, and whether it must be set."""
    with_default = "Options are 'Yes', 'No'. If none, a defaults to 'No'."
    assert [label for label, _ in ChoiceControl(field(text=with_default), 0).box.options] == [
        "not sent (No)",
        "Yes",
        "No",
    ]
    assert ChoiceControl(field(text="Options are 'Yes', 'No'."), 0).box.options[0][0] == "not sent"
    assert ChoiceControl(field(text="[Required] Options are 'a', 'b'."), 0).box.options[0][0] == "Choose…"
    assert PickControl(DIMENSIONS, 0).box.options[0][0] == "Add… (not sent)"
    assert Control(field(code=1, text="If none, a defaults to '1'."), 0).box.placeholder == "not sent (1)"
    required = Control(field(text="[Required] A text."), 0).box
    assert (required.description, required.placeholder, required.tooltip) == ("A *", "required", "a, required")


def test_picks_are_tags_in_their_order() -> None:
    """A pick is added below the box once, in the order of the picks, and its button takes it away."""
    made = PickControl(DIMENSIONS, 0)
    assert made.parts() == (made.box,)
    told: list[Any] = []
    made.watch(lambda _: told.append(made.read()))
    for pick in ("Brand", "Age Group", "Brand"):
        made.box.value = pick
        assert made.box.value == ""
    assert made.read() == ["Brand", "Age Group"]
    _, tags = made.parts()
    assert [(button.description, button.tooltip) for button in tags.children] == [
        ("Remove Brand", "Brand"),
        ("Remove Age Group", "Age Group"),
    ]
    kept = tags.children[1]
    brand = tags.children[0]
    brand.click()
    made._remove("Brand")  # a double click, sent before the first was done
    assert made.read() == ["Age Group"]
    assert tags.children == (kept,)
    assert told[-1] == ["Age Group"]


def test_a_list_is_typed_and_picked_one_by_one() -> None:
    """What is picked or typed whole is an item at once, anything else on Enter; in the box it counts already."""
    made = AddControl(BRAND, 0)
    told: list[Any] = []
    made.watch(lambda _: told.append(made.read()))
    made.offer(Offers([Choice("Fennloft"), Choice("Nuvarelle", "Nuvarelle Outfitters"), Choice("Art"), Choice("Arte")]))
    made.box.value = "Fen"
    assert (made.items, made.read()) == ([], ["Fen"])
    made.box.value = "fennloft "
    assert (made.items, made.box.value) == (["Fennloft"], "")
    made.box.value = "Nuvarelle — Nuvarelle Outfitters"
    assert made.items == ["Fennloft", "Nuvarelle"]
    made.box.value = "Art"  # may become Arte
    assert (made.items, made.box.value) == (["Fennloft", "Nuvarelle"], "Art")
    assert made.read() == ["Fennloft", "Nuvarelle", "Art"]
    assert made.enter()
    assert (made.items, made.box.value) == (["Fennloft", "Nuvarelle", "Art"], "")
    made.box.value = "Mine"
    made.show(made.read())  # the form, read back while a person types
    assert (made.items[-1], made.box.value) == ("Art", "Mine")
    assert told[-1] == ["Fennloft", "Nuvarelle", "Art", "Mine"]


def test_a_pasted_column_is_many_items() -> None:
    """Lines and tabs part the values, a comma does not; a box of one line finds the values that it knows."""
    lines = LinesControl(field(code=4), 0)
    lines.box.value = "Fennloft\r\nSmith, Jones\t\n\n  Nuvarelle\nFennloft\n"
    assert lines.read() == ["Fennloft", "Smith, Jones", "Nuvarelle"]
    lines.show(lines.read())
    assert lines.box.value.startswith("Fennloft\r\n")  # as it was typed
    made = AddControl(BRAND, 0)
    made.offer(Offers([Choice("Maison"), Choice("Maison Ordrelle"), Choice("Fennloft"), Choice("New York Deli")]))
    made.box.value = "fennloft Maison Ordrelle Maison"  # what a browser makes of three lines
    assert made.items == ["Fennloft", "Maison Ordrelle", "Maison"]
    made.show(None)
    made.box.value = "Fennloft Elsewhere"
    assert (made.items, made.read()) == ([], ["Fennloft Elsewhere"])


def test_many_items_are_sent_in_part() -> None:
    """Of a list of thousands fifty tags are shown, and all are held."""
    made = AddControl(BRAND, 0)
    made.show([f"B{at}" for at in range(20_000)])
    assert len(made.read()) == 20_000
    assert len(made.parts()[1].children) == 50


def test_offered_values_show_their_labels_and_give_their_values() -> None:
    """What a listing gives is shown with its label; the value is what is read, listed or not."""
    for kind in (SearchControl, ChoiceControl):
        made = kind(field("Symbol", 6), 0)
        made.show("A")
        made.offer(Offers([Choice("A", "Alpha"), Choice("B", "Beta")]))
        made.show("A")
        assert made.read() == "A"
        made.show("B")
        assert "Beta" in str(made.box.label if kind is ChoiceControl else made.box.value)
        assert made.read() == "B"
        made.show("mine")
        assert made.read() == "mine"
        if kind is ChoiceControl:
            assert made.box.label == "mine (not listed)"


def test_many_values_are_searched_here_and_a_page_is_sent() -> None:
    """Of 20,000 values the browser is sent those that match what was typed, a page of them."""
    made = SearchControl(field("Symbol", 6), 0)
    made.offer(Offers([Choice(f"S{at:05d} US EQUITY", f"Company {at}") for at in range(20_000)]))
    assert len(made.box.options) == PAGE
    made.box.value = "company"
    assert len(made.box.options) == PAGE
    made.box.value = "company 1234"
    assert len(made.box.options) == 12
    made.box.value = "S01234 US EQUITY — Company 1234"
    assert made.read() == "S01234 US EQUITY"


HOSTILE = "$x$ \\(y\\) <b>**bold**</b> [a](javascript:1) \u202e" + "n" * 300


@pytest.mark.parametrize(("one", "kind", "widget", "value"), CONTROLS, ids=IDS)
def test_no_text_of_a_catalog_is_obeyed(one: Field, kind: type[Control], widget: type[w.Widget], value: Any) -> None:
    """A long name with markup, mathematics and marks of direction is cut, escaped and no mathematics."""
    hostile = read_fields(Function(name="F", params=(Param(name=HOSTILE, type=0, description=HOSTILE),)))[0]
    made = kind(hostile, 0)
    made.offer(Offers([Choice(HOSTILE, HOSTILE)]))
    made.show(HOSTILE)
    assert made.read() in (HOSTILE, [HOSTILE]) or kind is DateControl
    description = made.box.description
    assert not {"$", "\\", "\u202e"} & set(description)
    assert len(description) <= 60
    assert not made.box.description_allow_html
    for label, _ in made.box.options if isinstance(made.box, w.Dropdown) else ():
        assert "\u202e" not in label
        assert len(label) <= 140

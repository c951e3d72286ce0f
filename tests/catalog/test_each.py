"""Several values of one field: what a form makes of them, and how a person enters them."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ipywidgets.widgets.widget import _instances
from jupyter_funcs.panel.form import formbox
from jupyter_funcs.panel.form.formbox import control_type
from jupyter_funcs.panel.form.list_controls import EachLines, EachPick

import jupyter_funcs as jf
from jupyter_funcs.catalog import form as forms
from jupyter_funcs.catalog import values as swept
from jupyter_funcs.catalog.fields import Field, Kind
from jupyter_funcs.catalog.form import Form
from jupyter_funcs.catalog.suggestions import Choice, Offers
from jupyter_funcs.catalog.values import Each, Variable, only, several
from tests.conftest import PANEL, SYMBOL
from tests.declared import declared
from tests.panel.test_controls import BRAND, Known, field, wait_until
from tests.panel.test_controls import DIMENSIONS as DESCRIBED_DIMENSIONS
from tests.panel.test_formbox import open_box, parts, settled, universe

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.api import Session

DIMENSIONS = declared(DESCRIBED_DIMENSIONS)
LOOKBACK = declared(field("n", 1, "At least 1 and at most 50."))
DAY = declared(field("start_date"))
NAME = field("Name")
YES = declared(field("Flag", 0, "Options are 'Yes', 'No'. If none, Flag defaults to 'No'."))


class _F:
    name = "F"

    def __init__(self, *fields: Field) -> None:
        self.fields = fields


def form_of(one: Field, value: Any, **variables: Any) -> Form:
    form = Form(_F(one))
    form.variables = lambda: variables
    form[one.name] = value
    return form


@pytest.mark.parametrize(
    ("one", "values", "sent"),
    [
        (NAME, ("a", "b", "a"), ["a", "b"]),
        (NAME, ("Smith, Jones",), ["Smith, Jones"]),
        (LOOKBACK, (1, "2", np.int64(2)), ["1", "2"]),
        (DAY, (dt.date(2025, 1, 2), "2025-01-03"), ["2025-01-02", "2025-01-03"]),
        (YES, (True, "no"), ["Yes", "No"]),
        (DIMENSIONS, (["Region"], ["region", "Brand"], ["Region"]), [["Region"], ["Region", "Brand"]]),
        (DIMENSIONS, ("Region",), [["Region"]]),
    ],
)
def test_each_value_is_sent_once_in_its_order(one: Field, values: tuple[Any, ...], sent: list[Any]) -> None:
    """Several values are sent as a list without repeats, and the form counts as many runs."""
    form = form_of(one, Each(values))
    assert form.errors == {}
    assert form.args == {one.name: sent}
    assert (form.swept, form.runs, form.first) == ([one.name], len(sent), {one.name: sent[0]})


def test_each_bad_value_is_named_and_the_others_are_valid() -> None:
    """Each bad value has its own error; after three, the rest are counted."""
    form = form_of(LOOKBACK, Each((1, "x", 99, *range(51, 60))))
    assert form.args == {"n": ["1"]}
    assert form.errors == {
        "n": [
            "N takes a whole number, not 'x'.",
            "N must be between 1 and 50, not 99.",
            "N must be between 1 and 50, not 51.",
            "And 8 more like these.",
        ]
    }
    assert "Did you mean 'Region'?" in form_of(DIMENSIONS, Each((["Regoin"],))).errors["Dimensions"][0]


@pytest.mark.parametrize(
    ("one", "held", "sent"),
    [
        (NAME, ["a", "b"], ["a", "b", "c"]),
        (NAME, pd.Series(["a", "b"]), ["a", "b", "c"]),
        (NAME, np.array(["a"]), ["a", "c"]),
        (NAME, "a", ["a", "c"]),
    ],
)
def test_a_variable_stands_for_each_of_its_values(one: Field, held: Any, sent: list[str]) -> None:
    """A variable that holds a list, an array or a column stands for each of its current values."""
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
    each = Each((Variable("d"),))
    assert form_of(DIMENSIONS, each, d=["Region", "Brand"]).args == {"Dimensions": [["Region", "Brand"]]}
    assert form_of(DIMENSIONS, each, d=[["Region"], ["Brand"]]).args == {"Dimensions": [["Region"], ["Brand"]]}
    within = form_of(DIMENSIONS, Each((["Region", Variable("d")],)), d=["Brand"])
    assert within.args == {"Dimensions": [["Region", "Brand"]]}


def test_a_field_that_is_to_have_several_and_has_none_is_not_set() -> None:
    """With no values yet, a required field is missing and an optional one is not sent."""
    needed = declared(Field("Need", "Need", Kind.TEXT, "Need", "", required=True))
    form = Form(_F(needed, NAME), Need=Each(()), Name=Each(()))
    assert form.errors == {"Need": ["Need is required."]}
    form["Need"] = "x"
    assert (form.errors, form.args, form.swept, form.runs) == ({}, {"Need": "x"}, [], 1)


def test_each_of_several_dates_goes_with_each_other_date() -> None:
    """An end date before any start date is an error, because a sweep combines them all."""
    fields = (
        declared(Field("start", "start", Kind.DATE, "start", "")),
        declared(Field("end", "end", Kind.DATE, "end", "", not_before="start")),
    )
    form = Form(_F(*fields), start=Each(("2025-01-01", "2025-03-01")), end=Each(("2025-02-01", "2025-04-01")))
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

    def counted(one: Field, each: Each, *args: Any, **options: Any) -> Any:
        read.append(each)
        return swept.wire_values(one, each, *args, **options)

    monkeypatch.setattr(forms, "wire_values", counted)
    each = Each(tuple(f"x{at}" for at in range(10_000)))
    form = form_of(YES, each)
    assert form.errors["Flag"][-1] == "And 9,997 more like these."
    assert (form.args, form.runs, read) == ({}, 1, [each])
    form["Flag"] = Each(("Yes",))
    assert (form.args, len(read)) == ({"Flag": ["Yes"]}, 2)


def test_one_value_becomes_several_and_back() -> None:
    """One value becomes the first of several, and the first of several stays."""
    assert (several("a"), several(None), several(["a"])) == (Each(("a",)), Each(()), Each((["a"],)))
    assert (only(Each(("a", "b"))), only(Each(())), only("a")) == ("a", None, "a")


@pytest.mark.parametrize(
    ("one", "source", "wanted"),
    [
        (YES, None, EachPick),
        (field("PanelName", 8), Known(2), EachPick),
        (field("Symbol", 6), Known(2), EachLines),
        (NAME, None, EachLines),
        (DAY, None, EachLines),
        (LOOKBACK, None, EachLines),
        (DIMENSIONS, None, EachLines),
        (BRAND, Known(2), EachLines),
    ],
)
def test_few_options_are_picked_and_the_rest_is_a_line_each(one: Field, source: Any, wanted: type[Any]) -> None:
    """A few options are picked; texts, symbols, dates, numbers and lists are typed, one per line."""
    assert control_type(one, source, each=True) is wanted


@pytest.mark.parametrize(
    ("one", "text", "values"),
    [
        (NAME, "a\nSmith, Jones\r\n\n b \n a\tc", ("a", "Smith, Jones", "b", "c")),
        (NAME, "$names\n'$5'", (Variable("names"), "$5")),
        (LOOKBACK, "1, 2;3\n4 1", ("1", "2", "3", "4")),
        (DAY, "2025-01-01, 2025-02-01", ("2025-01-01", "2025-02-01")),
        (DIMENSIONS, "Region\nRegion, Brand\n", (["Region"], ["Region", "Brand"])),
        (DIMENSIONS, '[Region, "a, b"]\n$dims', (["Region", "a, b"], Variable("dims"))),
        (DIMENSIONS, "Region, $more", (["Region", Variable("more")],)),
        (DIMENSIONS, "Region\tBrand, both", (["Region", "Brand, both"],)),
    ],
)  # fmt: skip
def test_lines_are_read_as_people_write_them(one: Field, text: str, values: tuple[Any, ...]) -> None:
    """Lines and cells separate values; commas separate numbers, dates and list items, but belong to names."""
    made = EachLines(one, 0)
    made.box.value = text
    assert made.read() == Each(values)
    made.show(Each(values))
    assert made.box.value == text  # as it was typed


_TEXTS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8).map(str.strip).filter(bool)


@given(st.lists(_TEXTS, unique=True, max_size=5), st.lists(st.lists(_TEXTS, min_size=1, max_size=4), max_size=4))
def test_lines_give_back_what_they_show(texts: list[str], lists: list[list[str]]) -> None:
    """Any texts and lists of texts are shown in a form that reads back the same."""
    for one, values in (NAME, texts), (field("Items", 4), lists):
        made = EachLines(one, 0)
        made.show(Each(tuple(values)))
        assert made.read() == Each(tuple(values))


def test_a_search_adds_lines() -> None:
    """Picking in the search adds a line, as does typing and Enter; a note names text that isn't added yet."""
    made = EachLines(field("Symbol", 6), 0)
    made.show(Each(("zz",)))
    made.offer(Offers([Choice("AA US", "Alpha"), Choice("AB US", "Beta")]))
    _, search = made.parts()
    search.value = "AA US — Alpha"
    assert (made.box.value, search.value) == ("zz\nAA US", "")
    search.value = "beta"
    assert search.options == ("AB US — Beta",)
    assert made.word == "2 values. beta is not added yet: press Enter there."
    search._handle_custom_msg({"event": "submit"}, [])
    search.value = "ab us"
    search._handle_custom_msg({"event": "submit"}, [])
    assert made.box.value == "zz\nAA US\nbeta\nAB US"
    made.box.value = "ab us\nAB US — Beta"
    assert made.read() == Each(("AB US",))


def test_commas_part_values_that_are_listed() -> None:
    """Commas separate listed values; a listed name with a comma, and an unlisted one, stay whole."""
    made = EachLines(field("Symbol", 6), 0)
    made.offer(Offers([Choice("AA"), Choice("BB"), Choice("AA, BB Inc")]))
    made.box.value = "aa, BB;AA\nAA, BB inc\nAA, ZZ"
    assert made.read() == Each(("AA", "BB", "AA, BB Inc", "AA, ZZ"))


def test_all_options_are_taken_at_once() -> None:
    """Options are picked one by one or all at once; each has a tag that removes it."""
    made = EachPick(YES, 0)
    told: list[Any] = []
    made.watch(lambda _: told.append(made.read()))
    made.box.value = "No"
    made.box.value = made.box.options[1][1]
    assert told == [Each(("No",)), Each(("No", "Yes"))]
    made.parts()[1].children[0].click()
    assert made.read() == Each(("Yes",))
    assert made.box.options[1][0] == "Add all 2"


@pytest.mark.slow
def test_a_field_is_given_several_values_and_one_again(funcs: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Switching a field to several values and back keeps the first one and leaves no widget model behind."""
    monkeypatch.setattr(formbox, "_STAY", 0.5)
    funcs.get_panels(), funcs.get_universe()
    before = set(_instances)
    box = open_box(funcs, "Get Panel Daily", PanelName=PANEL, Symbol=SYMBOL)
    wait_until(lambda: settled(box))
    made = len(set(_instances) - before)
    box.run_for_each(["Symbol", "Dimensions"])
    assert box.each == ["Symbol", "Dimensions"]
    assert box._controls["Symbol"].box.value == SYMBOL
    assert box.messages == {}
    box._controls["Symbol"].box.value = f"{SYMBOL}\nBVQS US EQUITY"
    box._controls["Dimensions"].box.value = "Region\nRegion, Brand"
    assert box._form.runs == 4
    assert box.valid
    box.run_for_each([])
    assert box._form.args == {"PanelName": PANEL, "Symbol": SYMBOL, "Dimensions": ["Region"]}
    assert len(set(_instances) - before) > made + 2  # a page may still be drawing what was replaced
    wait_until(
        lambda: len(set(_instances) - before) <= made + 3
    )  # the tag of Dimensions, what holds it, Symbol's place
    box.run_for_each(["PanelName"])
    box.close()
    assert set(_instances) == before


def test_clear_keeps_which_fields_have_several_values(funcs: Session) -> None:
    """Clear empties the lines but keeps several values per field, without an error until a run is tried."""
    box = open_box(funcs, "Get Panel Daily", PanelName=PANEL, Symbol=Each((SYMBOL, "BVQS US EQUITY")))
    box.clear()
    assert box.each == ["Symbol"]
    assert box._controls["Symbol"].box.value == ""
    assert box._form.args == {}
    assert box.messages == {}
    assert box.summary == "To run: give PanelName."
    box.close()


def test_a_required_field_is_not_at_once_called_missing(funcs: Session) -> None:
    """Switching a required field to several values shows no error before a run is tried."""
    box = open_box(funcs, "Get Panel Daily")
    box.run_for_each(["PanelName"])
    assert box.messages == {}
    assert not box.valid
    box.refuse({})
    assert box.messages["PanelName"][0].startswith("Panel Name is required.")
    box.close()


def test_a_form_follows_code_that_gives_several_values(funcs: Session) -> None:
    """Code that sets several values, or one, changes the control, which shows them as typed."""
    box = open_box(funcs, "Get Panel Daily")
    box._form["PoPLookback"] = Each((1, 2))
    assert box._controls["PoPLookback"].box.value == "1\n2"
    assert box.each == ["PoPLookback"]
    box._form["PoPLookback"] = 3
    assert box._controls["PoPLookback"].box.value == "3"
    assert box.each == []
    box.close()


def test_a_bad_value_among_several_stands_at_its_field(funcs: Session) -> None:
    """An invalid line shows an error at the field and blocks the run; an unlisted value shows a note."""
    box = open_box(funcs, "Get Panel Daily", PanelName=PANEL)
    wait_until(lambda: settled(box))
    box.run_for_each(["PoPLookback", "Symbol"])
    box._controls["PoPLookback"].box.value = "1, 2, x"
    assert box.messages == {"PoPLookback": ["PoP Lookback takes a whole number, not 'x'."]}
    assert not box.valid
    box._controls["Symbol"].box.value = f"NOPE\n{SYMBOL}\nBV"
    assert "The list has no &#x27;NOPE&#x27;; it is sent" in box._said.value
    assert "BV" not in box._said.value.replace("BVQS", "")  # as long as it may become one that is listed
    box.close()


def test_several_values_follow_what_is_listed(answering: Callable[..., Session]) -> None:
    """Values are typed while the listing fails and searched once it works; delisted values are removed."""
    with universe(answering) as (session, state):
        state["go"].set()
        state["reply"] = {"error": "no symbols today", "body": None}
        box = open_box(session, Symbol=Each(("B",)))
        line, made = box._lines["Symbol"], box._controls["Symbol"]
        wait_until(lambda: settled(box))
        assert len(made.parts()) == 1
        state["reply"] = [{"Symbol": "B", "Name": "Beta"}, {"Symbol": "C", "Name": "Gamma"}]
        line.click()
        wait_until(lambda: settled(box))
        assert made.parts()[1] in parts(box)
        made.parts()[1].value = "C — Gamma"
        assert box._form.args == {"Symbol": ["B", "C"]}
        state["reply"] = [{"Symbol": "C", "Name": "Gamma"}]
        line.click()
        wait_until(lambda: box._form.args == {"Symbol": ["C"]})
        wait_until(lambda: "Taken away, since Get Universe lists no &#x27;B&#x27; any more." in box._said.value)
        assert made.box.value == "C"
        box.close()


def test_the_values_of_the_first_run_list_those_of_another_field(answering: Callable[..., Session]) -> None:
    """A listing that needs a field with several values uses the first of them."""
    import httpx  # for this test alone

    functions = [
        {
            "name": "F",
            "params": [
                {"name": "PanelName", "type": 0, "description": "Which."},
                {
                    "name": "Brand",
                    "type": 4,
                    "description": "Use function 'Get Brands' to get list of available brands.",
                },
            ],
        },
        {"name": "Get Brands", "params": [{"name": "PanelName", "required": True}]},
    ]
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("runFunction"):
            return httpx.Response(200, json=functions)
        asked.append(request.content.decode())
        return httpx.Response(200, json=[{"Brand": "x"}])

    box = open_box(answering(answer), PanelName=Each(("p1", "p2")))
    wait_until(lambda: settled(box) and bool(asked))
    assert '"p1"' in asked[0]
    assert '"p2"' not in asked[0]
    box.close()

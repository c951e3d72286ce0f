"""The inputs of a panel as plain JSON: controls by kind and evidence, messages with a fix, options, pasting."""

from __future__ import annotations

import datetime as dt
import json
import math
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.catalog import choices
from jupyter_funcs.catalog.values import Each, Variable
from jupyter_funcs.core import background
from jupyter_funcs.core.errors import ArgumentError
from jupyter_funcs.panel import form_view
from jupyter_funcs.panel.form_view import FormView
from jupyter_funcs.panel.panel import Panel
from jupyter_funcs.panel.requests import NotText
from tests.conftest import PANEL, wait_until
from tests.growth import assert_linear

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_funcs.api import Session

    Opening = Callable[..., FormView]

SYMBOLS = [
    {"Symbol": "NVRA US EQUITY", "Name": "Nuvarelle Outfitters", "Sector": "Retail"},
    {"Symbol": "KORD US EQUITY", "Name": "Kordrivet Auto Parts", "Sector": "Retail"},
    {"Symbol": "KORD LN EQUITY", "Name": "Kordelisse Fashions", "Sector": "Retail"},
    {"Symbol": "MCHQ US EQUITY", "Name": "Mochandrel Coffee", "Sector": "Restaurants"},
    {
        "Symbol": "BVQS US EQUITY",
        "Name": "Bravoquesa Grill, Inc.",
        "Sector": "Restaurants",
    },
]
PANEL_NAME = {"name": "PanelName", "description": "[Required] The panel.", "type": 8}
BRAND = {
    "name": "Brand",
    "type": 4,
    "description": "Use function 'Get Brands' to get list of brands.",
}


class Listing:
    """A service with a function F, and others that list values; a test changes or delays their replies."""

    def __init__(self, *params: dict[str, Any], **replies: Any) -> None:
        self.functions = [{"name": "F", "params": list(params)}]
        self.functions += [{"name": f"Get {name}"} for name in replies]
        if "Brands" in replies:
            self.functions[-1]["params"] = [PANEL_NAME]
        self.replies = replies
        self.asked = list[str]()
        self.go = threading.Event()
        self.go.set()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("runFunction"):
            return replied(self.functions)
        body = json.loads(request.content)
        self.asked.append(body["FunctionName"])
        assert self.go.wait(60)
        reply = self.replies[body["FunctionName"].removeprefix("Get ")]
        return replied(reply(body["Args"]) if callable(reply) else reply)


def replied(body: object) -> httpx.Response:
    return httpx.Response(
        200, content=json.dumps(body), headers={"Content-Type": "application/json"}
    )


def held_back(service: Listing) -> Session:
    """Return a session whose service waits, on its own thread, until the test lets it continue."""

    class Transport(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            return service(request)

    service.go.clear()
    return jf.connect(
        "https://service.example", token="a-token-of-the-tests", transport=Transport()
    )


def opened(
    session: Session,
    news: list[str] | None = None,
    *,
    trusted: bool = True,
    entered: dict[str, Any] | None = None,
    **values: Any,
) -> FormView:
    function = session["F"]
    told = [] if news is None else news
    view = FormView(
        function,
        function.form(**values),
        lambda: told.append(""),
        trusted=trusted,
        entered={} if entered is None else entered,
    )
    wait_until(lambda: settled(view))
    return view


@pytest.fixture
def form(answering: Callable[..., Session]) -> Opening:
    """Open the form of a function with these parameters and values; return it once its options are listed."""
    return lambda *params, **values: opened(
        answering(Listing(*params, Universe=SYMBOLS)), **values
    )


def settled(view: FormView) -> bool:
    return not any(source.asking for source in view._sources.values())


def state(view: FormView, name: str) -> dict[str, Any]:
    entry: dict[str, Any] = view.values()["fields"][name]
    return entry


def texts(view: FormView, name: str, part: str = "errors") -> list[str]:
    return [message["text"] for message in state(view, name).get(part, [])]


def field(view: FormView, name: str) -> dict[str, Any]:
    entry = next(entry for entry in view.fields if entry["name"] == name)
    return entry | {"options": view.pages().get(name)}


def shown(view: FormView) -> str:
    """Return everything that the page receives of a form, as JSON."""
    return (
        json.dumps(
            [view.fields, view.pages(), view.values()],
            ensure_ascii=False,
            allow_nan=False,
        )
        .encode()
        .decode()
    )


DAY = dt.date(2025, 1, 2)
DATE = {"type": "string", "format": "date"}
NUMBER = {"type": "integer", "minimum": 1, "maximum": 50, "default": 1}
TYPE = "Type declared by the catalog"
TYPES = "Type and values"
OPTIONS = "Options are 'x', 'y'."
X_OR_Y = {"enum": ["x", "y"], "default": "x"}
DECLARED, READ = (
    {"knownFrom": f"{TYPES} {how}."}
    for how in ("declared by the catalog", "read from the description")
)
PARAMS: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
    (
        {"name": "a", "type": 6},
        "choice",
        {"open": True, "knownFrom": f"{TYPE}; values listed by Get Universe."},
    ),
    (
        {"name": "a", "schema": X_OR_Y},
        "choice",
        {"open": False, "short": True, "hint": "x (default)", **DECLARED},
    ),
    (
        {"name": "a", "schema": {"enum": ["month", "day"], "default": "month"}},
        "choice",
        {"short": False},
    ),
    (
        {"name": "a", "description": OPTIONS},
        "choice",
        {"open": True, "hint": "Choose (optional)", **READ},
    ),
    (
        {"name": "a", "description": OPTIONS, "schema": {"type": "string"}},
        "choice",
        {
            "open": True,
            "hint": "Optional",
            "knownFrom": f"{TYPE}; values read from the description.",
        },
    ),
    (
        {
            "name": "a",
            "description": "Yes/No. Default: No",
            "schema": {"type": "string"},
        },
        "choice",
        {"open": True, "flag": None},
    ),
    (
        {"name": "a_date", "description": "YYYY-MM-DD", "schema": {"type": "string"}},
        "text",
        {"strict": True},
    ),
    (
        {"name": "a", "description": "Options are 'Yes', 'No'."},
        "flag",
        {"open": True, "flag": ["Yes", "No"]},
    ),
    (
        {"name": "a", "schema": {"type": "boolean"}},
        "flag",
        {"open": False, "flag": ["true", "false"]},
    ),
    (
        {"name": "a", "schema": NUMBER},
        "number",
        {"strict": True, "integer": True, "hint": "1 (default)"},
    ),
    (
        {"name": "a", "required": True, "schema": NUMBER},
        "number",
        {"default": "1", "hint": "1 to 50"},
    ),
    ({"name": "a", "description": "An integer."}, "number", {"strict": False}),
    (
        {"name": "a", "schema": DATE},
        "date",
        {"strict": True, "hint": "YYYY-MM-DD", "knownFrom": f"{TYPE}."},
    ),
    (
        {"name": "start_date"},
        "date",
        {"strict": False, "knownFrom": "Type assumed from the name."},
    ),
    (
        {"name": "a", "schema": {"type": "string", "format": "duration"}},
        "text",
        {"hint": "P1DT2H"},
    ),
    ({"name": "a", "type": 4}, "list", {"hint": "Optional"}),
    ({"name": "a", "type": 4, "required": True}, "list", {"hint": "One or more"}),
    (
        {"name": "a", "type": 4, "description": "Options are 'x', 'y'."},
        "several",
        {"open": True, "hint": "Choose (optional)"},
    ),
    (
        {"name": "a", "type": 4, "description": "Use function 'Get Universe'."},
        "several",
        {"open": True},
    ),
    ({"name": "a", "schema": {"type": "object"}}, "json", {"hint": "{ … }"}),
    ({"name": "a", "schema": {"type": "array"}}, "json", {"hint": "[ … ]"}),
    ({"name": "a", "schema": True}, "json", {"hint": "Text, or json:5"}),
    (
        {"name": "a", "schema": {"type": ["number", "object"]}},
        "json",
        {"hint": "5, [1, 2] or { … }"},
    ),
    ({"name": "a"}, "text", {"hint": "Optional"}),
    (
        {"name": "a", "required": True, "schema": {"type": "string", "default": "x"}},
        "text",
        {"hint": ""},
    ),
]


@pytest.mark.parametrize(("param", "control", "more"), PARAMS)
def test_a_control_follows_kind_and_evidence(
    form: Opening, param: Any, control: str, more: Any
) -> None:
    """Declared options have no "Other…", described and listed ones do; a required field doesn't promise a default."""
    view = form(param)
    [field] = view.fields
    assert field["control"] == control
    assert {name: field[name] for name in more} == more
    shown(view)


CONTROLS = [
    {**param, "name": f"p{at}_date" if "date" in param["name"] else f"p{at}"}
    for at, (param, *_) in enumerate(PARAMS)
]
HOSTILE = "$x$ <b>bold</b> [a](javascript:1) \u202e\ud800\x00" + "n" * 300


class Broken:
    """A value that fails when it is looked at."""

    def __str__(self) -> str:
        raise RuntimeError


ODD = [
    "2025-02-30",
    "$x",
    HOSTILE,
    7,
    True,
    math.nan,
    dt.date(2025, 3, 4),
    np.array(["x"]),
    pd.DataFrame({"x": [1]}),
]
ODD += [
    Variable("x"),
    ["a", Variable("x")],
    Each(("a", ["b", 'c, "d'], {"e": 1})),
    object(),
    Broken(),
    [Broken()],
]


def test_any_value_of_any_field_can_be_shown(form: Opening) -> None:
    """The form holds what code has set, and its page shows it or says what is wrong."""
    view = form(*CONTROLS)
    for odd in ODD:
        for name in view.form:
            view.form[name] = odd
        shown(view)
    view.close()


def test_texts_of_a_catalog_are_bounded_and_inert(
    answering: Callable[..., Session],
) -> None:
    """Long texts are cut, and marks of direction are shown as what they are; the page escapes those of options."""
    name = HOSTILE.replace("\ud800", "")
    about = f"Options are '{name}', 'y'. " + "word " * 10_000
    rows = [{"Symbol": "A", "Name": name * 9, "Sector": "\u202e"}]
    view = opened(
        answering(
            Listing(
                {"name": name, "description": about},
                {"name": "s", "type": 6},
                Universe=rows,
            )
        )
    )
    view.press()
    shown(view)
    hostile = view.fields[0]
    texts = {
        part: hostile[part] for part in ("label", "hint", "help", "brief", "knownFrom")
    }
    assert not {"\u202e", "\x00"} & set("".join(texts.values()))
    assert [part for part, text in texts.items() if len(text) > 600] == ["help"]
    assert len(texts["help"]) < 20_100
    assert len(texts["label"]) <= 100
    assert len(field(view, "s")["options"]["options"][0]["label"]) <= 200


WRONG: list[tuple[dict[str, Any], Any, str, str]] = [
    (DATE, "2025-02-30", "Enter a valid date, such as 2025-11-15.", "2025-02-28"),
    (DATE, "2024-2-30", "Enter a valid date, such as 2025-11-15.", "2024-02-29"),
    (DATE, "2025-13-01", "Enter a valid date, such as 2025-11-15.", ""),
    (DATE, "31/12/2024", "Enter a valid date, such as 2025-11-15.", "2024-12-31"),
    (DATE, "12.31.2024", "Enter a valid date, such as 2025-11-15.", "2024-12-31"),
    (DATE, "3/4/2024", "Enter a valid date, such as 2025-11-15.", ""),
    (NUMBER, "99", "A must be between 1 and 50, not 99.", "50"),
    (NUMBER, "-3", "A must be between 1 and 50, not -3.", "1"),
    (NUMBER, "2.4", "A takes a whole number, not '2.4'.", "2"),
    (NUMBER, "inf", "A takes a whole number, not 'inf'.", "50"),
    (NUMBER, "nan", "A takes a whole number, not 'nan'.", ""),
    (NUMBER, "1e999", "A takes a whole number, not '1e999'.", "50"),
    ({"type": "number", "minimum": 0}, "-0.5", "A must be at least 0, not -0.5.", "0"),
    (
        {"enum": ["Region", "Brand"]},
        "Regoin",
        "has no option 'Regoin'. Did you mean 'Region'?",
        "Region",
    ),
    (
        {"type": "object"},
        '{"a": 1,\n "b" 2}',
        "JSON (Expecting ':' delimiter at character 15).",
        "",
    ),
    ({"type": "object"}, "[1]", "[1] is not of type 'object'.", ""),
]


@pytest.mark.parametrize(("schema", "value", "text", "use"), WRONG)
def test_a_wrong_value_is_said_with_what_would_fix_it(
    form: Opening, schema: Any, value: str, text: str, use: str
) -> None:
    """The error is at the field, Run stays but says which field to check, and "Use …" makes the form valid."""
    view = form({"name": "a", "schema": schema}, a=value)
    [message] = state(view, "a")["errors"]
    assert (message["text"].endswith(text), message["use"]) == (True, use), message
    assert (
        view.values()["wrong"],
        view.values()["missing"],
        view.values()["valid"],
    ) == (
        ["a"],
        [],
        False,
    )
    assert state(view, "a")["value"] == value
    if use:
        view.take({"a": use})
        assert view.values()["valid"], view.values()


def test_dates_in_the_wrong_order_stop_a_run_only_if_they_are_declared(
    form: Opening,
) -> None:
    """For a described date it is a warning; for an assumed one there is no message."""
    names = ("start_date", "end_date")
    day = {"start_date": "2025-02-02", "end_date": "2025-01-01"}
    for more, part in (
        ({"schema": DATE}, "errors"),
        ({"description": "As YYYY-MM-DD."}, "warnings"),
        ({}, ""),
    ):
        view = form(*({"name": name, **more} for name in names), **day)
        end = state(view, "end_date")
        assert view.values()["valid"] is (part != "errors")
        assert {"errors", "warnings"} & end.keys() == ({part} if part else set())
        if part:
            assert end[part][0]["text"].startswith(
                "End date 2025-01-01 is before Start date 2025-02-02."
            )
            assert end[part][0]["use"] == ""


def test_a_default_that_is_no_option_is_said_in_the_help(form: Opening) -> None:
    """The form stays valid."""
    text = "If none, unit defaults to 'year'."
    view = form(
        {"name": "unit", "description": text, "schema": {"enum": ["day", "week"]}}
    )
    assert field(view, "unit")["help"].endswith(
        "'year', can't be entered. Leave the field empty to use it."
    )
    assert view.values()["valid"]


def test_a_number_that_is_being_typed_stays_as_it_is(form: Opening) -> None:
    """The form shows what was typed, and sends the number."""
    view = form({"name": "a", "schema": {"type": "number"}})
    view.take({"a": "1."})
    assert (state(view, "a"), view.form.args) == ({"value": "1."}, {"a": 1})


def test_a_missing_field_is_said_once_run_was_pressed(
    answering: Callable[..., Session],
) -> None:
    """Untouched, no field has an error; "Fill in Symbol or Brand" is said once, and never before any input."""
    rule = "Required if {} is not specified."
    params = [
        {"name": "PanelName", "required": True},
        {"name": "Symbol", "description": rule.format("Brand")},
        {"name": "Brand", "description": rule.format("Symbol")},
        {"name": "Report", "description": "[Required] The report."},
    ]
    session = answering(Listing(*params))
    view = opened(session)
    values = view.values()
    assert (values["valid"], values["missing"], values["advice"]) == (
        False,
        ["PanelName"],
        [],
    )
    assert values["fields"] == {
        "PanelName": {},
        "Symbol": {},
        "Brand": {},
        "Report": {},
    }
    opened(session, entered=view.entered, PanelName=PANEL).close()
    view.carry()
    assert view.values()["advice"] == []  # carried over isn't an input
    view.clear()
    view.press()
    assert texts(view, "PanelName") == ["Required"]
    # Only read from its description.
    assert texts(view, "Report", "warnings") == ["Required"]
    assert view.values()["advice"] == ["Fill in Symbol or Brand."]
    view.take({"PanelName": PANEL})
    view.take({"Symbol": "NVRA US EQUITY"})
    assert (view.values()["valid"], view.values()["advice"]) == (True, [])
    view.clear()
    assert texts(view, "PanelName") == []


def test_a_described_contradiction_warns_and_is_sent(form: Opening) -> None:
    """It suggests the nearest option and never stops a run; for an assumed kind there is no message."""
    params = [
        {"name": "GrowthType", "description": "Options are 'YoY', 'QoQ'."},
        {"name": "since_date", "description": "The first date, as YYYY-MM-DD."},
        {"name": "start_date"},
        {"name": "n", "description": "An integer between 1 and 50."},
    ]
    values = {
        "GrowthType": "yoyo",
        "since_date": "7daysAgo",
        "start_date": "7daysAgo",
        "n": "99",
    }
    view = form(*params, **values)
    for name, text, use in (
        (
            "GrowthType",
            "Growth Type has no option 'yoyo'. Did you mean 'YoY'? It is sent as given.",
            "YoY",
        ),
        (
            "since_date",
            "Enter a valid date, such as 2025-11-15. It is sent as given.",
            "",
        ),
        ("n", "N must be between 1 and 50, not 99. It is sent as given.", "50"),
    ):
        assert state(view, name)["warnings"] == [
            {"text": text, "use": use, "instead": values[name] if use else ""}
        ]
    assert state(view, "start_date") == {"value": "7daysAgo"}
    assert (view.values()["valid"], view.form.args) == (True, values)


def test_listed_values_are_compared_and_a_ticker_stands_for_its_symbol(
    form: Opening,
) -> None:
    """A value that isn't listed warns with the nearest one; of several, the first are named and the rest counted."""
    view = form({"name": "Symbol", "type": 6})
    view.take({"Symbol": "NVRB"})
    assert state(view, "Symbol")["warnings"][0]["use"] == "NVRA US EQUITY"
    for spelt in ("nvra", "nvra us  equity", "NVRA US EQUITY"):
        view.take({"Symbol": spelt})
        assert "warnings" not in state(view, "Symbol")
    view.take({"Symbol": NotText(["MCHQ US EQUITY", "MCHX US EQUITY"])})
    assert state(view, "Symbol")["unknown"] == ["MCHX US EQUITY"]
    assert state(view, "Symbol")["warnings"][0]["instead"] == "MCHX US EQUITY"
    assert view.values()["runs"] == 2
    view.take({"Symbol": NotText(["US", *(f"X{at}" for at in range(8))])})
    assert len(state(view, "Symbol")["unknown"]) == 9
    assert texts(view, "Symbol", "warnings")[1:] == [
        "'X0' isn't in the list. It is sent as given.",
        "'X1' isn't in the list. It is sent as given.",
        "And 6 more aren't in the list.",
    ]


def test_options_are_searched_ranked_and_paged(
    form: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First values that begin with the words, then labels; beyond a page the view holds the first ones only."""
    view = form({"name": "Symbol", "type": 6})

    def matches(*query: Any, **more: Any) -> list[str]:
        return [
            option["value"]
            for option in view.options("Symbol", *query, **more)["options"]
        ]

    assert matches("ko") == ["KORD US EQUITY", "KORD LN EQUITY"]
    assert matches("grill") == ["BVQS US EQUITY"]
    assert matches("restaurants us") == ["MCHQ US EQUITY", "BVQS US EQUITY"]
    assert view.options("Symbol", "nothing")["total"] == 0
    assert view.all_options("Symbol", "Restaurants")["values"] == [
        "MCHQ US EQUITY",
        "BVQS US EQUITY",
    ]
    assert len(view.all_options("Symbol")["values"]) == 5
    page = field(view, "Symbol")["options"]
    groups = [("Retail", 3), ("Restaurants", 2)]
    assert (page["total"], page["note"], page["again"]) == (
        5,
        "5 symbols from Get Universe",
        True,
    )
    assert page["groups"] == groups
    monkeypatch.setattr(choices, "PAGE", 4)
    monkeypatch.setattr(choices, "_FIRST", 2)
    assert len(field(view, "Symbol")["options"]["options"]) == 2
    assert matches("", 4) == ["BVQS US EQUITY"]
    assert field(view, "Symbol")["options"]["groups"] == groups


def test_a_long_list_is_sent_in_pages_and_by_its_groups(
    answering: Callable[..., Session],
) -> None:
    """Of 12,000 options the view has the first, with the sizes of their groups; pages keep their order."""
    rows = [
        {
            "Symbol": f"S{at:05d} US EQUITY",
            "Name": f"Company {at}",
            "Sector": "AB"[at % 2],
        }
        for at in range(12_000)
    ]
    rows[-1]["Symbol"] = "C\x02D"
    view = opened(answering(Listing({"name": "Symbol", "type": 6}, Universe=rows)))
    assert len(shown(view)) < 8_000
    page = view.options("Symbol", "", 5_900, grouped=True)
    assert (page["groups"], len(page["options"])) == ([("A", 6_000), ("B", 6_000)], 200)
    assert [option["group"] for option in page["options"]] == ["A"] * 100 + ["B"] * 100
    assert len(view.all_options("Symbol", "B")["values"]) == 6_000
    with pytest.raises(jf.ArgumentError, match="at most 10,000 values"):
        view.all_options("Symbol")
    assert view.options("Symbol", "company 11345")["total"] == 1
    # Nobody can type it; it is taken as it is in the list.
    view.take({"Symbol": "C\x02D"})
    assert view.form.args == {"Symbol": "C\x02D"}


def test_options_of_a_dependent_field_follow_the_other_field(
    answering: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brands are listed once the panel is chosen, and a brand that is no longer listed is removed with a note."""
    monkeypatch.setattr(form_view, "_PAUSE", 0.0)
    brands = {"One": ["Art", "Brook", "Cove"], "Two": ["Brook", "Cove", "Dale"]}
    service = Listing(
        PANEL_NAME,
        BRAND,
        Panels=[],
        Brands=lambda args: [{"Brand": brand} for brand in brands[args["PanelName"]]],
    )
    news: list[str] = []
    view = opened(answering(service), news)
    assert (
        field(view, "Brand")["options"]["note"]
        == "Fill in Panel Name to see the values."
    )
    assert not field(view, "Brand")["options"]["again"]
    view.take({"PanelName": "One"})
    wait_until(lambda: view._sources["Brand"].known)
    assert (field(view, "Brand")["options"]["total"], news != []) == (3, True)
    view.take({"Brand": ["Cove", "Art", "Mine", "Brook"]})
    view.take({"PanelName": "Two"})
    wait_until(lambda: "notes" in state(view, "Brand"))
    assert state(view, "Brand")["value"] == ["Cove", "Mine", "Brook"]
    assert state(view, "Brand")["notes"] == ["Removed 'Art': no longer in Get Brands."]
    assert texts(view, "Brand", "warnings") == [
        "'Mine' isn't in the list. It is sent as given."
    ]
    view.take({"PanelName": None})
    wait_until(lambda: settled(view))
    assert state(view, "Brand")["value"] == ["Cove", "Mine", "Brook"]
    # The first value of the other field decides which options are listed.
    view.take({"PanelName": NotText(["One", "Two"])})
    wait_until(lambda: settled(view) and field(view, "Brand")["options"]["total"] == 3)
    assert {option["value"] for option in view.options("Brand", "")["options"]} == {
        "Art",
        "Brook",
        "Cove",
    }
    view.close()


def test_a_slow_or_broken_list_leaves_the_form_usable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The note says why there are no options, values are typed meanwhile, and the list can be asked for again."""
    monkeypatch.setattr(choices, "_SLOW", 0.01)
    service = Listing(
        {"name": "Symbol", "type": 6},
        Universe={"error": "no <symbols> today", "body": None},
    )
    function = held_back(service)["F"]
    view = FormView(function, function.form(), lambda: None)

    def page() -> dict[str, Any]:
        options: dict[str, Any] = field(view, "Symbol")["options"]
        return options

    assert (page()["note"], page()["asking"], page()["again"]) == (
        "Listing symbols…",
        True,
        False,
    )
    wait_until(lambda: page()["note"] == "Still listing symbols… They can be typed.")
    view.take({"Symbol": "B"})
    assert (view.form.args, view.values()["valid"]) == ({"Symbol": "B"}, True)
    service.go.set()
    wait_until(lambda: settled(view))
    assert (
        page()["note"]
        == "The symbols could not be listed: The function failed: no <symbols> today"
    )
    assert page()["again"]
    assert state(view, "Symbol") == {"value": "B"}  # nothing to compare it with
    for reply, total in (
        ([{"Symbol": "B"}], 1),
        ([{"Symbol": "C"}, {"Symbol": "D"}], 2),
    ):
        service.replies["Universe"] = reply
        view.list_again("Symbol")
        wait_until(lambda total=total: settled(view) and page()["total"] == total)
    wait_until(lambda: "value" not in state(view, "Symbol"))
    assert state(view, "Symbol") == {
        "notes": ["Removed 'B': no longer in Get Universe."]
    }
    view.close()


def test_fields_of_one_list_ask_once(answering: Callable[..., Session]) -> None:
    """Several fields that list the same ask the service once, and again for one of them; values are left alone."""
    service = Listing(
        *({"name": f"Symbol{at}", "type": 6} for at in range(4)), Universe=SYMBOLS
    )
    session = answering(service)
    news = list[str]()
    view = opened(session, news, Symbol1="KORD US EQUITY")
    assert (service.asked, len(news)) == (["Get Universe"], 4)
    assert view.form.args == {"Symbol1": "KORD US EQUITY"}
    view.list_again("Symbol2")
    wait_until(lambda: settled(view))
    assert service.asked == ["Get Universe"] * 2
    again = opened(session)
    # Listed before.
    assert (len(service.asked), field(again, "Symbol0")["options"]["total"]) == (
        2,
        5,
    )


def test_options_that_arrive_are_sent_without_the_view() -> None:
    """Open and reloaded pages read them from a trait of their own, apart from the fields."""
    service = Listing({"name": "Symbol", "type": 6}, Universe=SYMBOLS)
    session = held_back(service)
    panel = Panel(session, session["F"])
    states = list[str]()
    panel.send_state = lambda key=None: states.extend(
        {key} if isinstance(key, str) else key or ()
    )
    service.go.set()

    def options() -> dict[str, Any]:
        page: dict[str, Any] = json.loads(panel.get_state()["_options"])["Symbol"]
        return page

    assert options()["asking"]
    wait_until(lambda: options()["total"] == 5)
    assert "_options" in states
    assert "_view" not in states
    background.run(
        panel._answer({"v": 1, "id": 1, "kind": "choose", "function": "Get Universe"})
    )
    assert "_view" in states
    panel.close()


NVRA = "NVRA US EQUITY"
MCHQ = "MCHQ US EQUITY"
BVQS = "BVQS US EQUITY"
NUMBERS = {"name": "w", "schema": {"type": "array", "items": {"type": "number"}}}
PASTED = [
    (
        "Symbol",
        "NVRA\nMCHQ US EQUITY\r\nbravoquesa grill, inc.",
        [NVRA, MCHQ, BVQS],
        [],
    ),
    ("Symbol", "NVRA\tMCHQ", [NVRA, MCHQ], []),
    ("Symbol", "NVRA, MCHQ; NVRA", [NVRA, MCHQ], []),
    ("Symbol", "KORD\nXX", ["KORD", "XX"], ["KORD", "XX"]),  # two begin with it
    ("n", "1, 2 3\n4", ["1", "2", "3", "4"], []),
    ("w", "0.5\n0.5", ["0.5", "0.5"], []),
    ("text", "a, b", ["a", "b"], []),
    ("text", "a, b\nc", ["a, b", "c"], []),
    ("text", " \n\t", [], []),
]


@pytest.mark.parametrize(("name", "text", "values", "unknown"), PASTED)
def test_a_pasted_list_becomes_values(
    form: Opening, name: str, text: str, values: Any, unknown: Any
) -> None:
    """Columns, rows and lists are split; a comma inside a listed name is kept, and unknown values are named."""
    params = [
        {"name": "Symbol", "type": 6},
        {"name": "n", "schema": {"type": "integer"}},
        {"name": "text"},
    ]
    view = form(*params, NUMBERS)
    assert view.paste(name, text) == {
        "values": values,
        "unknown": unknown,
        "repeated": text.count("; NVRA"),
    }


def test_values_repeat_where_no_options_are_listed(form: Opening) -> None:
    """A list of numbers is sent in its order; a list of options sends each once."""
    view = form(
        NUMBERS,
        {"name": "by", "type": 4, "description": "Options are 'Age Group', 'Region'."},
    )
    view.take({"w": ["0.5", "2", "0.5"], "by": ["Region", "Region"]})
    assert view.form.args == {"w": [0.5, 2, 0.5], "by": ["Region"]}


def test_a_field_takes_a_variable_and_says_what_it_holds(
    answering: Callable[..., Session],
) -> None:
    """Columns, lists and scalars without a leading underscore are offered; none if the page isn't trusted."""
    namespace = {
        "one": "x",
        "many": ["x", "y"],
        "col": pd.Series(["x"]),
        "day": dt.date(2025, 1, 2),
        "_own": "x",
    }
    namespace["span"] = dt.timedelta(hours=2)
    namespace |= {
        "math": math,
        "call": print,
        "cls": int,
        "mapping": {"a": 1},
        "view": object(),
    }
    session = answering(Listing({"name": "a"}, {"name": "b", "type": 4}))
    view = opened(session)
    view.form.variables = lambda: namespace
    assert {
        variable["name"]: variable["about"]
        for variable in view.variables("a")["variables"]
    } == {
        "one": "x",
        "many": "list of 2",
        "col": "column of 1",
        "day": "2025-01-02",
        "span": "2:00:00",
    }
    view.take({"a": NotText(["$many"])})
    view.take({"b": ["$col"]})
    assert state(view, "a")["value"] == {
        "variable": "many",
        "about": "list of 2",
        "each": True,
    }
    assert view.form.args == {"a": ["x", "y"], "b": ["x"]}
    assert (view.values()["runs"], view.form["b"]) == (2, Variable("col"))
    for refused in ("$_own", "$math", "$call", "$mapping", "$__class__"):
        with pytest.raises(jf.ArgumentError, match="can't be used here"):
            view.take({"a": refused})
    view.take({"a": "$gone"})
    assert "There is no variable 'gone'" in texts(view, "a")[0]
    assert state(view, "a")["value"]["about"] == "not defined"
    view.take({"a": "'$5'"})
    assert (view.form.args["a"], state(view, "a")["value"]) == ("$5", "'$5'")
    view.close()
    visitor = opened(session, trusted=False)
    visitor.form.variables = lambda: namespace
    visitor.take({"a": "$one"})
    assert (visitor.form.args, state(visitor, "a")["value"]) == ({"a": "$one"}, "$one")
    assert visitor.variables("a") == {"variables": []}


def test_values_of_code_are_shown_as_they_are_sent(form: Opening) -> None:
    """A date, True, an array and a dict set by code are shown as text, and stay what they are while others change."""
    cases: dict[str, tuple[dict[str, Any], Any, Any]] = {
        "d": ({"schema": DATE}, dt.date(2025, 1, 2), "2025-01-02"),
        "f": ({"schema": {"enum": ["Yes", "No"]}}, True, "Yes"),
        "g": ({"description": "Options are 'true', 'false'."}, False, "false"),
        "l": ({"type": 4}, pd.Series(["a", "b"]), ["a", "b"]),
        "j": ({"schema": {"type": "object"}}, {"a": "Köln"}, '{"a": "Köln"}'),
        "s": ({"type": 4}, Each((["a, b", "c"],)), {"each": ['"a, b", c']}),
        "w": (
            {"schema": True},
            Each(({"a": 1}, [2])),
            {"each": ['json:{"a": 1}', "json:[2]"]},
        ),
    }
    params = [{"name": name, **param} for name, (param, _, _) in cases.items()]
    view = form(*params, **{name: value for name, (_, value, _) in cases.items()})
    shown = {name: field["value"] for name, field in view.values()["fields"].items()}
    assert shown == {name: value for name, (_, _, value) in cases.items()}
    view.take({"s": NotText(['"a, b", c', "d"])}, 7)
    assert (view.form["d"], view.form["f"], view.values()["seq"]) == (
        dt.date(2025, 1, 2),
        True,
        7,
    )
    assert view.form["s"] == Each((["a, b", "c"], ["d"]))
    assert view.values()["runs"] == 4


TEXTS = [
    "x",
    "a, b",
    'c"d',
    '"',
    '""',
    ",",
    ", ",
    "[x",
    "y]",
    "$5",
    "'$5'",
    "''",
    "a;b",
    '", "',
    "\u00e9",
    "",
    " ",
    "\t a ",
]


def test_lists_of_texts_are_lines_that_read_back_the_same(form: Opening) -> None:
    """Any texts: quotes, commas, brackets, dollars and white space included."""
    view = form({"name": "a", "type": 4})
    [field] = view.form.fields
    for texts in (*([text] for text in TEXTS), TEXTS, [*reversed(TEXTS)]):
        assert view._items(view._text(field, texts)) == texts


def published(
    free: Any,
    text: str = "x",
    maybe: int | None = 5,
    names: list[str] | None = None,
    *,
    day: dt.date = DAY,
    either: int | str | list[int] = "x",
    flag: bool | None = None,
) -> None:
    """A function with parameters of every kind that takes null, an empty text or an empty list."""


OFFERED = {
    "free": ["null", "empty text", "empty list"],
    "text": ["empty text"],
    "maybe": ["null"],
    "names": ["null", "empty list"],
    "day": [],
    "either": ["empty text", "empty list"],
    "flag": ["null"],
}


VALUES: dict[str, Any] = {"null": None, "empty text": "", "empty list": []}


@pytest.fixture
def typed() -> Iterator[FormView]:
    """The form of a Python function, whose arguments keep their types."""
    function = jf.connect([published])["published"]
    view = FormView(function, function.form(), lambda: None)
    yield view
    view.close()


def test_constants_are_offered_where_a_field_takes_them(
    typed: FormView, form: Opening
) -> None:
    """By its declared type, and only for sources whose arguments have types: the first wire has only texts."""
    assert {field["name"]: field["constants"] for field in typed.fields} == OFFERED
    assert [field["constants"] for field in form(*CONTROLS).fields] == [[]] * len(
        CONTROLS
    )


@pytest.mark.parametrize(
    ("name", "constant"),
    [(name, constant) for name, offered in OFFERED.items() for constant in offered],
)
def test_a_constant_is_a_value_until_it_is_cleared(
    typed: FormView, name: str, constant: Any
) -> None:
    """It is shown as the page sent it, is an argument of the run, and clearing unsets the field."""
    typed.take({name: NotText(constant=constant)})
    value = VALUES[constant]
    assert state(typed, name) == {"value": {"constant": constant}}
    assert typed.form.args == {name: value}
    typed.take({name: None})
    assert "value" not in state(typed, name)
    assert (typed.form.args, typed.form.is_set(name)) == ({}, False)
    typed.form[name] = value
    assert state(typed, name)["value"] == {"constant": constant}


def test_a_constant_that_a_field_does_not_take_is_refused(typed: FormView) -> None:
    """No menu offers it, and nothing is set."""
    with pytest.raises(ArgumentError, match="Text doesn't take null"):
        typed.take(
            {"maybe": NotText(constant="null"), "text": NotText(constant="null")}
        )
    assert typed.form.args == {}


@pytest.mark.parametrize("text", [" ", "\t", " x ", "1E5", "007"])
def test_white_space_and_digits_are_content(typed: FormView, text: str) -> None:
    """Alone, for several runs, in a list and in a line of lists."""
    typed.take({"text": text, "names": [text, "a"]})
    assert typed.form.args == {"text": text, "names": [text, "a"]}
    assert (state(typed, "text")["value"], state(typed, "names")["value"]) == (
        text,
        [text, "a"],
    )
    typed.take(
        {"text": NotText([text, "", "b"]), "names": NotText([f'"{text}", a', " ", ""])}
    )
    assert typed.form.args == {"text": [text, "b"], "names": [[text, "a"]]}


def test_an_empty_item_of_a_list_stays(typed: FormView) -> None:
    """Code has set it; the page sends the whole list when another item is added."""
    typed.form["names"] = ["a", "", "a"]
    assert state(typed, "names")["value"] == ["a", "", "a"]
    typed.take({"names": ["a", "", "a", "b"]})
    assert typed.form.args == {"names": ["a", "", "a", "b"]}


ENTERED: dict[str, Any] = {
    "3.10": "3.10",
    "json:5": 5,
    "json:[1, 2]": [1, 2],
    "'json:5'": "json:5",
}


@pytest.mark.parametrize("text", ENTERED)
def test_a_field_of_several_types_reads_json_by_its_marker(
    typed: FormView, text: str
) -> None:
    """Text stays text; what code has set reads back the same when the page sends what it shows."""
    value = ENTERED[text]
    typed.take({"either": text})
    assert (typed.form.args, state(typed, "either")["value"]) == (
        {"either": value},
        text,
    )
    typed.form["either"] = value
    assert state(typed, "either")["value"] == text
    typed.take({"either": text})
    assert typed.form.args == {"either": value}


def test_the_help_says_how_to_enter_another_type(
    form: Opening, typed: FormView
) -> None:
    """In fields that take text and other types; an object or a list is entered as it is."""
    several = (
        "Text is sent as text; enter json:5 for a number or json:[1, 2] for a list."
    )
    helps = {field["name"]: field["help"].rpartition("\n")[2] for field in typed.fields}
    assert [name for name, text in helps.items() if text == several] == [
        "free",
        "either",
    ]
    types: tuple[Any, ...] = (
        "object",
        "array",
        ["string", "array"],
        ["string", "object"],
    )
    view = form(
        *({"name": f"a{at}", "schema": {"type": kind}} for at, kind in enumerate(types))
    )
    help_by_hint = {field["hint"]: field["help"].strip() for field in view.fields}
    assert help_by_hint == {
        "{ … }": "",
        "[ … ]": "",
        "Text, or json:[1, 2]": "Text is sent as text; enter json:[1, 2] for a list.",
        "Text, or json:…": "Text is sent as text; enter json:… for other values.",
    }


def test_a_table_as_an_argument_is_compared_by_identity() -> None:
    """Another table is another argument; comparing their cells would take long, and has no one answer."""

    def count(table: pd.DataFrame) -> int:
        return len(table)

    function = jf.connect([count])["count"]
    table = pd.DataFrame({"a": [1]})
    view = FormView(function, function.form(table=table), lambda: None)
    ran = view.form.args
    assert not view.values(ran)["changed"]
    view.form["table"] = table.copy()
    assert view.values(ran)["changed"]


def test_null_is_carried_to_fields_that_take_it(typed: FormView) -> None:
    """The other values stay as they are."""
    typed.form.update({"maybe": None, "text": ""})
    function = jf.connect([published])["published"]
    after = FormView(function, function.form(), lambda: None, entered=typed.entered)
    after.carry()
    assert after.form.args == {"maybe": None, "text": ""}
    assert state(after, "maybe") == {"value": {"constant": "null"}, "carried": True}


def test_a_list_that_is_only_described_takes_one_value_as_a_text(form: Opening) -> None:
    """One value is sent as a text and several as an array; a declared list is always an array."""
    view = form(
        {"name": "a", "description": "A list of names."}, {"name": "b", "type": 4}
    )
    for name in "ab":
        view.take({name: ["x"]})
    assert view.form.args == {"a": "x", "b": ["x"]}
    assert state(view, "a")["value"] == ["x"]
    view.take({"a": ["x", "y"]})
    assert view.form.args["a"] == ["x", "y"]


def test_a_name_that_is_listed_twice_is_one_field(form: Opening) -> None:
    """A function without fields can be run at once."""
    view = form({"name": "a", "type": 1}, {"name": "b"}, {"name": "a", "type": 4})
    assert [(field["name"], field["control"]) for field in view.fields] == [
        ("a", "number"),
        ("b", "text"),
    ]
    view = form()
    assert (view.fields, view.values()["valid"], view.values()["fields"]) == (
        [],
        True,
        {},
    )


def test_a_value_and_the_option_that_it_begins_are_one_run(form: Opening) -> None:
    """By the words up to a space, in any case; with two such options, or as an option itself, it stays."""
    view = form({"name": "Symbol", "type": 6}, Symbol="nvra")
    listed = [row["Symbol"] for row in SYMBOLS]
    meant = {
        "nvra": "NVRA US EQUITY",
        "NVRA US": "NVRA US EQUITY",
        "kord ln equity": "KORD LN EQUITY",
    }
    for typed, whole in {**meant, "NVR": "NVR", "KORD": "KORD"}.items():
        view.take({"Symbol": NotText([typed, *listed])})
        assert view.form.args["Symbol"] == list(dict.fromkeys([whole, *listed]))
    view.take(
        {"Symbol": NotText(["MCHQ", *view.paste("Symbol", "mchq, NVRA")["values"]])}
    )
    assert view.values()["fields"]["Symbol"]["value"] == {
        "each": ["MCHQ US EQUITY", "NVRA US EQUITY"]
    }
    plain = form({"name": "Region", "schema": {"enum": ["New", "New England"]}})
    plain.take({"Region": NotText(["New", "New England"])})
    assert plain.form.runs == 2
    view.take({"Symbol": "NVRA"})
    assert view.form.args == {"Symbol": "NVRA"}  # as it was typed


def test_valid_values_of_the_same_name_carry_over(
    answering: Callable[..., Session],
) -> None:
    """They are marked until they change; the first of several is taken, and no value that the field would refuse."""
    params = [
        PANEL_NAME,
        {"name": "Symbol", "type": 6},
        {"name": "n", "schema": NUMBER},
        {"name": "kind", "type": 4},
    ]
    session = answering(Listing(*params, Universe=SYMBOLS))
    view = opened(session)
    opened(
        session,
        entered=view.entered,
        PanelName=PANEL,
        Symbol=Each(("NVRA US EQUITY", "X")),
        n="99",
    ).close()
    view.carry()
    assert view.form.args == {"PanelName": PANEL, "Symbol": "NVRA US EQUITY"}
    assert state(view, "Symbol")["carried"]
    view.take({"Symbol": "KORD US EQUITY"})
    assert "carried" not in state(view, "Symbol")


def test_optional_fields_with_a_default_are_under_more_options(form: Opening) -> None:
    """Required ones and those of a rule never are; one alone stays where it is."""
    rule = "Required if {} is not specified. If none, defaults to 'x'."
    params = [
        PANEL_NAME,
        *({"name": a, "description": rule.format(b)} for a, b in ("AB", "BA")),
    ]
    defaults = [{"name": name, "schema": NUMBER} for name in ("m", "n")]
    view = form(*params, *defaults, {"name": "j", "schema": {"type": "object"}})
    assert [field["name"] for field in view.fields if field["more"]] == ["m", "n", "j"]
    assert not any(field["more"] for field in form(*params, defaults[0]).fields)


def test_the_ends_of_a_range_stay_together(form: Opening) -> None:
    """One has a default, which would be alone under more options."""
    names = ["startDate", "end_date", "m", "n"]
    defaults = [
        {"name": name, "schema": {"type": "string", "default": "x"}}
        for name in names[1:]
    ]
    view = form({"name": names[0], "required": True}, *defaults)
    assert [field["name"] for field in view.fields if field["more"]] == ["m", "n"]


WINDOW = "It smooths the series with a window; a long one hides the season. "
HELPS = [
    (WINDOW * 9, (WINDOW * 3).strip()),
    (
        "Interpolation parameter; options are 'x', 'y'.",
        "Interpolation parameter; options are 'x', 'y'.",
    ),
    (
        "Use e.g. NVRA or i.e. 5 vs. 6 today. " * 9,
        ("Use e.g. NVRA or i.e. 5 vs. 6 today. " * 5).strip(),
    ),
    ("A word " * 50 + "ends. Then more. " * 20, "A word " * 50 + "ends."),
]


@pytest.mark.parametrize(("text", "brief"), HELPS)
def test_help_ends_with_a_whole_sentence(form: Opening, text: str, brief: str) -> None:
    """The line above Run shows the first sentences, the help box all of it."""
    entry = field(form({"name": "a", "description": text}), "a")
    assert (entry["brief"] or entry["help"], entry["help"]) == (brief, text.strip())


LINES = "\n".join(f"S{at}" for at in range(100_000))
NO_CONTROL: list[Any] = [
    ["a"] * 20_000,
    ["a" * 600_000] * 2,
    "a" * 2_000_000,
    "a\x00",
    "\x1b[1m",
    "\x7f",
    "\ud800",
]
NO_CONTROL += [["a", "b\x00"], NotText(["a", "\udfff"])]


@pytest.mark.parametrize(
    "param",
    [{"name": "a"}, {"name": "a", "type": 4}, {"name": "a", "type": 6}],
    ids=str,
)
def test_no_control_sends_other_values(form: Opening, param: dict[str, Any]) -> None:
    """Each is refused with a sentence, and the form stays as it was, also where a run carries it."""
    view = form(param, {"name": "z"}, a="before")
    for value in NO_CONTROL:
        for sent in ({"a": value}, {"z": "new", "a": value}):
            with pytest.raises(jf.ArgumentError) as refused:
                view.take(sent)
            assert all(
                len(line) < 300 and line.isprintable() for line in refused.value.lines
            ), value
        assert (view.form["a"], view.form["z"]) == ("before", None)
    shown(view)


@pytest.mark.slow
def test_no_request_names_another_field_or_pastes_without_bounds(form: Opening) -> None:
    """A field that the function doesn't have, and 100,000 lines, are refused; the time is linear."""
    view = form({"name": "Symbol", "type": 6})
    for ask in (
        lambda name, _: view.take({name: _}),
        view.options,
        view.paste,
        view.all_options,
        lambda name, _: view.variables(name),
    ):
        with pytest.raises(jf.ArgumentError, match=r"F has no parameter '\\ud800b'"):
            ask("\ud800b", "x")

    def paste(number: int) -> None:
        with pytest.raises(jf.ArgumentError, match="at most 10,000 values"):
            view.paste("Symbol", "\n".join(LINES.split("\n")[:number]))

    paste(100_000)
    assert_linear(paste, 25_000, start=12_500)
    for bad in ("a\x00b", "\ud800"):
        with pytest.raises(jf.ArgumentError, match="can't contain the character"):
            view.paste("Symbol", bad)

    def take(begin: str, repeated: str, length: int) -> None:
        view.take({"Symbol": begin + repeated * length})
        shown(view)

    for begin, repeated in (("", "x"), ("", "1"), ("$", "x"), ("", "[")):
        assert_linear(partial(take, begin, repeated), 225_000)
        take(begin, repeated, 900_000)
    view.take({"Symbol": NotText(LINES.split("\n")[:10_000])})
    shown(view)


def test_what_the_service_found_is_shown_until_the_field_changes(
    answering: Callable[..., Session],
) -> None:
    """An error of the service is shown at its field, and the view knows whether values changed since the result."""
    session = answering(
        Listing(PANEL_NAME, {"name": "Symbol", "type": 6}, Universe=SYMBOLS)
    )
    view = opened(session, PanelName=PANEL, Symbol="NVRA US EQUITY")
    ran = view.form.args
    assert not view.values(ran)["changed"]
    view.refuse({"Symbol": ["The panel has no data of it."], "": ["Something else."]})
    assert texts(view, "Symbol") == ["The panel has no data of it."]
    view.take({"Symbol": "NVRB"})
    view.refuse({"Symbol": ["Symbol 'NVRB' is not known."]})
    assert state(view, "Symbol")["errors"][0]["use"] == "NVRA US EQUITY"
    view.take({"Symbol": "KORD US EQUITY"})
    assert texts(view, "Symbol") == []
    assert view.values(ran)["changed"]
    view.preset = ("mine", view.form.args)
    assert view.values()["preset"] == "mine"
    view.take({"Symbol": None})
    assert view.values()["preset"] == ""


@pytest.mark.fault(151)
def test_parameters_may_be_named_as_what_every_object_of_a_page_has() -> None:
    """They are shown, set and sent under their names."""

    def odd(
        constructor: list[str],
        toString: str = "a",  # noqa: N803
        __proto__: int = 1,
        hasOwnProperty: bool = False,  # noqa: N803
    ) -> list[str]:
        return [*constructor, toString, str(__proto__), str(hasOwnProperty)]

    panel = jf.connect([odd]).panel("odd")
    values = {
        "constructor": ["b", "c"],
        "toString": "d",
        "__proto__": "2",
        "hasOwnProperty": "true",
    }
    for seq, (field, value) in enumerate(values.items(), 1):
        background.run(
            panel._answer(
                {
                    "v": 1,
                    "id": seq,
                    "kind": "set",
                    "seq": seq,
                    "field": field,
                    "value": value,
                }
            )
        )
    assert [field["name"] for field in json.loads(panel._view)["fields"]] == list(
        values
    )
    panel.run()
    assert list(panel.result(60)["Result"]) == ["b", "c", "d", "2", "True"]
    panel.close()

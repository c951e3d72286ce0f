"""Rows 79 and 80 of FAULTS.md: circular rules, very many options, invalid defaults."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import jupyter_funcs as jf
from tests.conftest import wait_until
from tests.panel.page import Page, messages, state

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_funcs.api import Session

DAY = "2025-01-31"
MANY = [f"Option {number:05}" for number in range(10_000)]


class Service:
    """A service with such functions, which records the runs."""

    def __init__(self, **functions: list[dict[str, Any]]) -> None:
        self.functions = functions
        self.runs: list[dict[str, Any]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("ListUserFunctions"):
            return httpx.Response(
                200,
                json=[
                    {"name": name, "params": of} for name, of in self.functions.items()
                ],
            )
        self.runs.append(json.loads(request.content))
        return httpx.Response(
            200, json=[{"A": "a1", "B": "b1"}, {"A": "a2", "B": "b2"}]
        )

    def session(self) -> Session:
        return jf.connect(
            "https://service.example",
            token="a-token-of-the-tests",
            transport=httpx.MockTransport(self),
        )


def parameter(
    name: str, description: str, code: int = 0, **more: Any
) -> dict[str, Any]:
    return {"name": name, "type": code, "description": description, **more}


@pytest.fixture
def cyclic() -> Iterator[tuple[Service, Session]]:
    """Three circular rules, over parameters that also have contradicting markers."""
    service = Service(
        F=[
            parameter("A", "[Required] Either A or B is required."),
            parameter("B", "[Optional] Either B or C is required.", required=True),
            parameter(
                "C",
                "[Required] Either C or A is required. Must be at least 10 and at most 5.",
                1,
                required=False,
            ),
        ]
    )
    session = service.session()
    yield service, session
    session.close()


@pytest.mark.fault(79)
def test_rules_in_a_circle_end_and_are_said(cyclic: tuple[Service, Session]) -> None:
    """Each is reported once, two values satisfy all three, and contradictory bounds are ignored."""
    service, session = cyclic
    with pytest.raises(jf.ArgumentError) as caught:
        session.f()
    assert 1 <= len(caught.value.lines) <= 3
    assert service.runs == []
    names = [field.rule.names if field.rule else () for field in session.f.fields]
    assert names == [("A", "B"), ("B", "C"), ("A", "C")]
    # B's flag stays, whatever its description says; markers and rules only warn.
    assert [field.required for field in session.f.fields] == [False, True, False]
    form = session.f.form(A="x", B="y")
    assert (form.errors, form.warnings) == ({}, {})
    assert len(session.f(A="x", B="y", C=7)) == 2
    assert service.runs[-1]["Args"] == {"A": "x", "B": "y", "C": "7"}
    panel = session.panel("F")
    assert json.loads(panel._values)["missing"] == ["B"]
    panel.form["B"] = "y"
    panel.form["A"] = "x"
    wait_until(lambda: json.loads(panel._values)["valid"])
    panel.run()
    assert len(panel.result(60)) == 2
    panel.close()


@pytest.mark.slow
@pytest.mark.fault(79)
def test_functions_that_list_each_others_values_are_asked_a_few_times() -> None:
    """A's values need B and B's need A, a third needs itself: typed values are accepted, and nothing loops."""
    service = Service(
        F=[
            parameter("A", "Use function 'List A' to get the list of A."),
            parameter("B", "Use function 'List B' to get the list of B."),
            parameter("C", "Use function 'F' to get the list of C."),
        ],
        **{
            "List A": [
                parameter(
                    "B",
                    "[Required] Use function 'List B' to get the list of B.",
                    required=True,
                )
            ],
            "List B": [
                parameter(
                    "A",
                    "[Required] Use function 'List A' to get the list of A.",
                    required=True,
                )
            ],
        },
    )
    session = service.session()
    panel = session.panel("F")
    assert panel.form is not None
    assert "Fill in B to see the values." in panel._options
    for value in ("a1", "nowhere", "a2"):
        panel.form["A"] = value
        panel.form["B"] = value.replace("a", "b")
        wait_until(
            lambda: (
                not any(
                    source.asking
                    for source in panel._state.chosen.inputs._sources.values()
                )
            )
        )
    assert (panel.form["A"], panel.form["B"]) == ("a2", "b2")
    assert len(service.runs) <= 20
    panel.run()
    panel.result(60)
    assert service.runs[-1]["Args"]["A"] == "a2"
    panel.close()
    session.close()


@pytest.fixture
def many() -> Iterator[tuple[Service, Session]]:
    """A choice and a list with ten thousand options."""
    service = Service(
        F=[
            parameter("Choice", "", required=True, schema={"enum": MANY}),
            parameter(
                "Items",
                "List of items.",
                4,
                schema={"type": "array", "items": {"enum": MANY}},
            ),
        ]
    )
    session = service.session()
    yield service, session
    session.close()


@pytest.mark.slow
@pytest.mark.fault(79)
def test_ten_thousand_options_are_searched_and_a_page_of_them_is_sent(
    many: tuple[Service, Session],
) -> None:
    """The browser gets a part of the list; the field says how many there are; all of them are accepted."""
    service, session = many
    assert [len(field.options) for field in session.f.fields] == [10_000, 10_000]
    panel = session.panel("F")
    page = Page(panel)
    assert len(panel._view) + len(panel._values) < 60_000
    listed = page.ask(
        "options", field="Choice", query="option 099", grouped=False, **{"from": 0}
    )
    assert listed["total"] == sum("099" in option for option in MANY)
    assert len(json.dumps(listed)) < 60_000
    assert "Option 09900" in json.dumps(listed)
    page.ask("set", field="Choice", value="option 09", seq=1)
    assert "Choice has no option" in messages(panel)["Choice"][0]
    page.ask("set", field="Choice", value="option 09999", seq=2)
    page.ask("set", field="Items", value=["Option 00007"], seq=3)
    assert panel.form.args == {"Choice": "Option 09999", "Items": ["Option 00007"]}
    panel.run()
    panel.result(60)
    assert service.runs[-1]["Args"] == {
        "Choice": "Option 09999",
        "Items": ["Option 00007"],
    }
    panel.close()


@pytest.mark.fault(79)
def test_a_wrong_one_of_ten_thousand_options_is_said_in_a_line(
    many: tuple[Service, Session],
) -> None:
    """With a few similar options; the text that a front end shows of the function is limited too."""
    service, session = many
    with pytest.raises(
        jf.ArgumentError, match=r"no option 'Option O0123'\. Did you mean 'Option \d+'"
    ) as caught:
        session.f(Choice="Option O0123")
    assert len(str(caught.value)) < 600
    assert service.runs == []
    assert len(session.f(Choice="option 00123")) == 2


@pytest.mark.fault(80)
@pytest.mark.parametrize(
    ("param", "default", "value", "sent"),
    [
        (
            parameter("unit", "Defaults to 'year'.", schema={"enum": ["day", "week"]}),
            "year",
            "week",
            "week",
        ),
        (
            parameter(
                "n",
                "Defaults to 500.",
                1,
                schema={"type": "integer", "minimum": 1, "maximum": 10},
            ),
            "500",
            7,
            "7",
        ),
        (
            parameter(
                "date",
                "Defaults to 'soon'.",
                schema={"type": "string", "format": "date"},
            ),
            "soon",
            DAY,
            DAY,
        ),
    ],
    ids=["80-option", "80-number", "80-date"],
)
def test_a_default_that_is_not_valid_is_said_and_another_value_given(
    param: dict[str, Any], default: str, value: Any, sent: str
) -> None:
    """If nothing is sent, the service uses its own default; any valid value is accepted."""
    service = Service(F=[param])
    session = service.session()
    name = param["name"]
    (field,) = session.f.fields
    assert field.default == default
    # Neither the signature nor the schema promises it.
    assert session.f.__signature__.parameters[name].default is None
    assert "default" not in session.f.json_schema()["properties"][name]
    panel = session.panel("F")
    assert f"The default, '{default}', can't be entered." in panel._view
    assert json.loads(panel._values)["valid"]
    panel.run()
    panel.result(60)
    assert service.runs[-1]["Args"] == {}
    # Passed unchanged, it is refused.
    with pytest.raises(jf.ArgumentError):
        session.f(**{name: default})
    panel.form[name] = default
    wait_until(lambda: name in messages(panel))
    panel.form[name] = value
    wait_until(lambda: messages(panel) == {})
    panel.run()
    panel.result(60)
    assert service.runs[-1]["Args"] == {name: sent}
    assert (state(panel)["state"], state(panel)["number"]) == ("done", 2)
    panel.close()
    session.close()

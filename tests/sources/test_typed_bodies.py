"""Sources send values with their types: for an operation, for a tool and on the first wire."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

import httpx
import numpy as np
import pandas as pd
import pytest

import jupyter_funcs as jf
from jupyter_funcs.catalog.fields import read_fields
from jupyter_funcs.catalog.values import Each
from jupyter_funcs.core.line import Entered
from jupyter_funcs.sources import mcp
from tests.examples import row_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_funcs.api import Session

TOKEN = "a-token-of-the-typed-bodies"
NOTHING: Any = object()
"""Nothing is sent."""
REFUSED: Any = object()

SCHEMAS: dict[str, Any] = {
    "text": {"type": "string"},
    "short": {"type": "string", "minLength": 1},
    "whole": {"type": "integer"},
    "number": {"type": "number"},
    "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    "turned": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "types": {"type": ["boolean", "string", "null"]},
    "perhaps": {"type": ["string", "null"]},
    "day": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
    "moment": {"type": ["string", "null"], "format": "date-time"},
    "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 5},
    "mixed": {"enum": [1, "1", None]},
    "choice": {"enum": ["a", None]},
    "texts": {"type": "array", "items": {"type": "string"}},
    "numbers": {"type": "array", "items": {"type": "number"}},
    "lists": {
        "anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]
    },
    "odd": {"type": "array", "items": {"type": "string"}, "default": 1},
    "shape": {
        "oneOf": [
            {"type": "object", "properties": {"radius": {"type": "number"}}},
            {
                "type": "object",
                "properties": {"side": {"type": "number"}},
                "required": ["side"],
            },
        ]
    },
    "open": {},
}

# Parameter, value, and the JSON that is sent.
BODIES: list[tuple[str, Any, Any]] = [
    *(
        (name, blank, blank)
        for name in ("text", "either", "perhaps", "open")
        for blank in ("", " ", "\t", "\n")
    ),
    *(
        (name, text, text)
        for name in ("either", "turned", "types")
        for text in ("7", "1E5", "true", "null", "3.10")
    ),
    ("either", 7, 7),
    ("turned", 0.5, 0.5),
    ("turned", Decimal("3.10"), 3.1),
    ("types", True, True),
    *(
        (name, None, None)
        for name in ("types", "perhaps", "maybe", "mixed", "choice", "lists")
    ),
    *((name, None, NOTHING) for name in ("text", "whole", "texts")),
    *((name, "", NOTHING) for name in ("whole", "number", "maybe", "choice")),
    *(("mixed", value, value) for value in (1, "1")),
    *((name, [], []) for name in ("texts", "numbers", "lists", "odd")),
    ("text", [], NOTHING),
    ("texts", ["b", "a", "", "b"], ["b", "a", "", "b"]),
    ("texts", "a", ["a"]),
    ("numbers", np.array([2.5, 1.0, 2.5]), [2.5, 1.0, 2.5]),
    ("odd", ["1"], ["1"]),
    ("whole", 2**80, 2**80),
    ("whole", "7.0", 7),
    ("whole", Decimal("1e3"), 1000),
    ("whole", np.uint64(2**64 - 1), 2**64 - 1),
    ("whole", 1.5, REFUSED),
    ("number", Fraction(1, 4), 0.25),
    ("number", Fraction(1, 3), REFUSED),
    ("number", Decimal("0.12345678901234567890123"), REFUSED),
    ("number", float("inf"), REFUSED),
    ("number", pd.array([7], dtype="Int64")[0], 7),
    *(
        ("shape", shape, shape)
        for shape in ({"radius": 1}, {"side": 2}, {"radius": 1, "side": 2})
    ),
    ("shape", {"radius": "x", "side": "y"}, REFUSED),
    ("open", 1e5, 100000.0),
    ("open", "1E5", "1E5"),
    ("open", [1, "1", None], [1, "1", None]),
    ("open", {"a": {"b": np.int64(1)}}, {"a": {"b": 1}}),
]
ENTERED: list[tuple[str, str, Any]] = [
    *(
        (name, text, text)
        for name in ("text", "either", "turned", "types", "open")
        for text in ("7", "1E5", "null")
    ),
    ("either", "json:7", 7),
    ("turned", "json:3.10", 3.1),
    ("types", "json:true", True),
    ("types", "json:null", None),
    ("perhaps", "null", "null"),
    ("perhaps", "json:null", None),
    ("day", "null", None),
    ("moment", "null", None),
    ("maybe", "null", None),
    ("maybe", "1e3", 1000),
    ("choice", "null", None),
    ("mixed", "1", "1"),
    ("mixed", "json:1", 1),
    ("text", "json:7", "json:7"),
    ("whole", "json:7", REFUSED),
    ("shape", '{"side": 1}', {"side": 1}),
    ("either", "json:", REFUSED),
    ("either", "json:[1]", REFUSED),
]


class Sent(NamedTuple):
    """A function, and how to read its request's value for a parameter."""

    function: Any
    of: Callable[[dict[str, Any], str], Any]


def document(where: str) -> dict[str, Any]:
    """Return a document with an operation that takes these parameters in its body, or in its query."""
    if where == "body":
        body = {
            "content": {
                "application/json": {
                    "schema": {"type": "object", "properties": SCHEMAS}
                }
            }
        }
        operation: dict[str, Any] = {"requestBody": body}
    else:
        operation = {
            "parameters": [
                {"name": name, "in": "query", "schema": SCHEMAS[name]}
                for name in SCHEMAS
            ]
        }
        for style, explode in (
            ("form", False),
            ("spaceDelimited", False),
            ("pipeDelimited", False),
            ("form", True),
        ):
            own = {
                "name": f"{style} {explode}",
                "in": "query",
                "style": style,
                "explode": explode,
            }
            operation["parameters"].append({**own, "schema": SCHEMAS["texts"]})
    return {"openapi": "3.1.0", "info": {}, "paths": {"/kinds": {"post": operation}}}


def connected(answer: dict[str, Any] | list[Any], **headers: str) -> Session:
    def reply(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=answer, headers=headers)

    is_document = isinstance(answer, dict)
    url = (
        "https://shop.example/openapi.json"
        if is_document
        else "https://service.example"
    )
    return jf.connect(url, token=TOKEN, transport=httpx.MockTransport(reply))


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with_body = connected(document("body"))
    yield with_body
    with_body.close()


@pytest.fixture(scope="module")
def queried() -> Iterator[Session]:
    session = connected(document("query"))
    yield session
    session.close()


def sent_by(session: Session, form: jf.Form) -> dict[str, Any]:
    function = next(iter(session))
    return session.remote.source.request(function.function, form.check())


def check(session: Session, name: str, value: Any, expected: Any) -> None:
    function = next(iter(session))
    form = function.form(**{name: value})
    if expected is REFUSED:
        assert form.errors.keys() == {name}
        return
    assert form.errors == {}
    body = sent_by(session, form)["body"] if form.args else {}
    assert json.dumps(body) == json.dumps(
        {} if expected is NOTHING else {name: expected}
    )


@pytest.mark.fault(155)
@pytest.mark.fault(156)
@pytest.mark.parametrize(("name", "value", "expected"), BODIES, ids=row_id)
def test_an_operation_gets_a_value_with_its_type(
    session: Session, name: str, value: Any, expected: Any
) -> None:
    """Null, empty texts and lists if the schema allows them; exact numbers; text where text is allowed."""
    check(session, name, value, expected)


@pytest.mark.fault(156)
@pytest.mark.parametrize(("name", "text", "expected"), ENTERED, ids=row_id)
def test_an_operation_gets_entered_text_as_its_schema_declares(
    session: Session, name: str, text: str, expected: Any
) -> None:
    """Text where text is allowed, another type after ``json:``."""
    check(session, name, Entered(text), expected)


@pytest.mark.fault(155)
def test_the_parameters_of_a_tool_are_read_alike() -> None:
    """The arguments of an MCP tool have the same types."""
    function = mcp._function(
        {"name": "kinds", "inputSchema": {"type": "object", "properties": SCHEMAS}}, "g"
    )
    assert function is not None
    fields = read_fields(function)
    tool = type("Tool", (), {"name": "kinds", "fields": fields})
    for name, value, expected in [
        *BODIES,
        *((name, Entered(text), sent) for name, text, sent in ENTERED),
    ]:
        if name == "open" and not value:  # a tool's empty schema declares nothing
            continue
        form = jf.Form(tool(), **{name: value})
        told = REFUSED if form.errors else form.args.get(name, NOTHING)
        assert repr(told) == repr(expected), (name, value)


@pytest.mark.fault(155)
@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("texts", "texts=b&texts=a&texts=&texts=b"),
        ("form False", "form False=b,a,,b"),
        ("spaceDelimited False", "spaceDelimited False=b a  b"),
        ("pipeDelimited False", "pipeDelimited False=b|a||b"),
        ("form True", "form True=b&form True=a&form True=&form True=b"),
    ],
)
def test_a_list_in_a_query_keeps_its_order_repeats_and_empty_items(
    queried: Session, name: str, query: str
) -> None:
    """In each style of OpenAPI."""
    form = next(iter(queried)).form(**{name: ["b", "a", "", "b"]})
    assert unquote(urlsplit(sent_by(queried, form)["url"]).query) == query


@pytest.mark.fault(155)
@pytest.mark.parametrize(
    ("name", "value", "query"),
    [
        ("text", " ", "text= "),
        ("text", "", "text="),
        ("either", "007", "either=007"),
        ("number", 1e22, "number=1e+22"),
        ("whole", 2**80, f"whole={2**80}"),
        ("types", True, "types=true"),
    ],
)
def test_a_value_in_a_query_is_spelt_as_json_spells_it(
    queried: Session, name: str, value: Any, query: str
) -> None:
    """White space and an empty text are sent."""
    form = next(iter(queried)).form(**{name: value})
    assert unquote(urlsplit(sent_by(queried, form)["url"]).query) == query


@pytest.mark.fault(155)
def test_without_validation_what_was_given_is_sent(session: Session) -> None:
    """Values are converted only where JSON needs it."""
    values = {
        "whole": "seven",
        "texts": "a",
        "number": np.float64(0.5),
        "maybe": "",
        "choice": 7,
        "text": None,
    }
    form = jf.Form(next(iter(session)), validate=False, **values)
    assert sent_by(session, form)["body"] == {**values, "number": 0.5}


LISTING = [
    {
        "name": "Kinds",
        "params": [
            {"name": name, "schema": schema} for name, schema in SCHEMAS.items()
        ],
    }
]
TEXTS: list[tuple[str, Any, Any]] = [
    ("text", " ", " "),
    *((name, "", NOTHING) for name in ("text", "either", "perhaps")),
    *((name, None, NOTHING) for name in ("maybe", "perhaps", "types")),
    *((name, [], NOTHING) for name in ("texts", "odd")),
    ("whole", 7, "7"),
    ("whole", "7.0", "7"),
    ("whole", 2**63, REFUSED),
    ("number", Decimal("0.50"), "0.5"),
    ("number", Decimal("0.12345678901234567890123"), "0.12345678901234567890123"),
    ("types", True, "true"),
    ("texts", ["b", "a", "b"], ["b", "a", "b"]),
    ("numbers", [2.5, 1, 2.5], ["2.5", "1", "2.5"]),
    ("either", "7", "7"),
    ("either", 7, "7"),
    ("shape", {"side": 1}, '{"side": 1}'),
]


@pytest.fixture(scope="module")
def services() -> Iterator[tuple[Session, Session]]:
    """Two services with the same listing; the second announces that it takes JSON's types."""
    sessions = connected(LISTING), connected(LISTING, **{"Funcs-Args": "json"})
    yield sessions
    for session in sessions:
        session.close()


@pytest.mark.fault(155)
@pytest.mark.parametrize(("name", "value", "expected"), TEXTS, ids=row_id)
def test_the_first_wire_takes_texts(
    services: tuple[Session, Session], name: str, value: Any, expected: Any
) -> None:
    """There, null, an empty text and an empty list aren't sent. In the form, a number is a number."""
    texts, _ = services
    form = texts.Kinds.form(**{name: value})
    if expected is REFUSED:
        assert form.errors.keys() == {name}
        return
    assert sent_by(texts, form)["Args"] == (
        {} if expected is NOTHING else {name: expected}
    )
    if name == "whole":
        assert form.args[name] == 7


@pytest.mark.fault(155)
@pytest.mark.parametrize(("name", "value", "expected"), BODIES, ids=row_id)
def test_a_service_that_takes_json_gets_it(
    services: tuple[Session, Session], name: str, value: Any, expected: Any
) -> None:
    """For the parameters that have a schema; one without is sent as text."""
    _, typed = services
    form = typed.Kinds.form(**{name: value})
    if name == "open":  # nothing is declared, and the wire may be the first
        return
    if expected is REFUSED:
        assert form.errors.keys() == {name}
        return
    sent = sent_by(typed, form)["Args"]
    assert json.dumps(sent) == json.dumps(
        {} if expected is NOTHING else {name: expected}
    )


@pytest.mark.fault(156)
def test_a_sweep_sends_each_type(session: Session) -> None:
    """A text and a number with the same spelling are two runs."""
    function = next(iter(session))
    form = function.form(either=Each(("7", 7, "7")), maybe=Each((None, 5)))
    assert form.args == {"either": ["7", 7], "maybe": [None, 5]}
    assert form.runs == 4

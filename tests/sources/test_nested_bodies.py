"""Objects in the arguments of a function: set in every way, over the wire of each source."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypedDict

import pytest
from IPython.core.completer import provisionalcompleter
from pydantic import BaseModel, Field
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

import jupyter_funcs as jf
from jupyter_funcs.catalog.values import Variable
from jupyter_funcs.cli.main import main
from tests.servers import serving
from tests.shells import shell_with

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from IPython.core.interactiveshell import InteractiveShell
    from starlette.requests import Request

    from jupyter_funcs.api import RemoteFunction, Session

ORDER = {
    "type": "object",
    "required": ["customer", "id"],
    "properties": {
        "id": {"$ref": "#/components/schemas/Id"},
        "customer": {"$ref": "#/components/schemas/Customer"},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"sku": {"type": "string"}, "count": {"type": "integer"}},
            },
        },
        "note": {"type": "string"},
    },
}
COMPONENTS = {
    "Id": {"allOf": [{"type": "integer"}, {"readOnly": True}]},
    "Customer": {
        "type": "object",
        "required": ["id", "name"],
        "properties": {
            "id": {"$ref": "#/components/schemas/Id"},
            "name": {"type": "string", "description": "Who pays."},
            "age": {"type": "integer", "minimum": 18},
            "address": {
                "type": "object",
                "properties": {"city": {"$ref": "#/components/schemas/City"}},
            },
        },
    },
    "City": {"allOf": [{"type": "string", "description": "Where it goes."}]},
}
PAGE = {
    "name": "size",
    "in": "query",
    "schema": {"allOf": [{"type": "integer", "description": "Rows of a page."}]},
}
seen: list[Any] = []


def document(_request: Request) -> JSONResponse:
    body = {"content": {"application/json": {"schema": ORDER}}}
    operation = {
        "operationId": "order",
        "parameters": [PAGE],
        "requestBody": body,
        "responses": {"200": {}},
    }
    paths = {"/orders": {"post": operation}}
    return JSONResponse(
        {"openapi": "3.0.3", "paths": paths, "components": {"schemas": COMPONENTS}}
    )


async def order(request: Request) -> JSONResponse:
    seen.append(await request.json())
    return JSONResponse([{"city": seen[-1]["customer"].get("address", {}).get("city")}])


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    app = Starlette(
        routes=[
            Route("/openapi.json", document),
            Route("/orders", order, methods=["POST"]),
        ]
    )
    with serving(app) as url:
        yield f"{url}/openapi.json"


@pytest.fixture(scope="module")
def session(address: str) -> Iterator[Session]:
    session = jf.connect(address)
    yield session
    session.close()


@pytest.fixture(scope="module")
def run(session: Session) -> RemoteFunction:
    return session["order"]


@pytest.fixture(scope="module")
def shell(session: Session) -> Iterator[InteractiveShell]:
    with shell_with(session) as shell:
        yield shell


SENT = {
    "customer": {"name": "Ann", "address": {"city": "Rome"}},
    "items": [{"sku": "a", "count": 2}],
}
DOTTED = {
    "customer.name": "Ann",
    "customer.address.city": "Rome",
    "items.0.sku": "a",
    "items.0.count": "2",
}


def last() -> Any:
    return seen[-1]


def test_what_only_a_server_sets_is_no_field_and_is_not_sent(
    run: RemoteFunction,
) -> None:
    """Also if it is referenced or required; descriptions of parts come from the reference's target."""
    described = run.describe().set_index("name")
    assert list(described.index) == [
        "size",
        "customer",
        "customer.name",
        "customer.age",
        "customer.address",
        "customer.address.city",
        "items",
        "items[].sku",
        "items[].count",
        "note",
    ]
    helps = described["help"][["size", "customer.name", "customer.address.city"]]
    assert list(helps) == ["Rows of a page.", "Who pays.", "Where it goes."]
    run(customer={"id": 1, "name": "Ann"})
    assert last() == {"customer": {"name": "Ann"}}


@pytest.mark.parametrize(
    "values",
    [SENT, DOTTED, {"customer": {"name": "Ann"}, **DOTTED}],
    ids=["whole", "dotted", "both"],
)
def test_a_call_a_form_and_a_panel_send_one_object(
    run: RemoteFunction, values: Any
) -> None:
    run(**values)
    assert last() == SENT
    form = jf.Form(run)
    for name, value in values.items():
        form[name] = value
    assert (form.args, run.request(**values)["body"]) == (SENT, SENT)
    panel = run.session.panel("order", **values)
    assert panel.form.args == SENT
    panel.close()


@pytest.mark.parametrize(
    "text",
    [
        "%funcs call order customer.name=Ann customer.address.city=Rome items.0.sku=a items.0.count=2",
        '%funcs call order customer={"name": "Ann"} customer.address.city=Rome items=[{"sku": "a", "count": 2}]',
        '%%funcs call order\ncustomer.name: Ann\ncustomer.address.city: Rome\nitems: [{"sku": "a", "count": 2}]',
        f"%%funcs call order\n{json.dumps(SENT)}",
        f"%%funcs call order customer.name=Ann\n{json.dumps(SENT)}",
    ],
    ids=["words", "JSON", "lines", "a body of JSON", "a line and a body"],
)
def test_a_magic_takes_dotted_names_and_objects(
    shell: InteractiveShell, text: str
) -> None:
    result = shell.run_cell(text)
    result.raise_error()
    assert last() == SENT


def test_a_sweep_takes_several_values_of_a_part(
    run: RemoteFunction, shell: InteractiveShell
) -> None:
    """Each run sends the whole object; the part is a column of the table."""
    cities = ["Rome", "Oslo"]
    options = run.with_options(most_runs=9, cache=False)
    frame = options.sweep(customer={"name": "Ann"}, **{"customer.address.city": cities})
    assert frame["customer.address.city"].tolist() == frame["city"].tolist() == cities
    assert sorted(body["customer"]["address"]["city"] for body in seen[-2:]) == sorted(
        cities
    )
    assert all(body["customer"]["name"] == "Ann" for body in seen[-2:])
    result = shell.run_cell(
        "%funcs sweep order customer.name=[Ann,Bob] customer.age=20 --most-runs 9 --no-cache -o swept"
    )
    result.raise_error()
    assert shell.user_ns["swept"]["customer.name"].tolist() == ["Ann", "Bob"]
    assert sorted(body["customer"]["name"] for body in seen[-2:]) == ["Ann", "Bob"]
    again = run.session.history.runs[-1]
    assert again.args == {"customer": {"age": 20}, "customer.name": ["Ann", "Bob"]}
    with pytest.raises(jf.ArgumentError, match=r"customer\.age must be at least 18"):
        options.sweep(**{"customer.name": ["a", "b"], "customer.age": 3})
    with pytest.raises(jf.ArgumentError, match=r"customer\.name is required"):
        options.sweep(**{"customer.age": [20, 30]})
    with pytest.raises(jf.ArgumentError, match=r"'customer\.name' is swept"):
        options.sweep(customer={"name": "Ann"}, **{"customer.name": ["a", "b"]})


def test_a_terminal_takes_dotted_names(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(
        [
            "call",
            "order",
            "customer.name=Ann",
            "customer.address.city=Rome",
            "--profile",
            address,
            "--format",
            "csv",
        ]
    )
    assert last() == {"customer": {"name": "Ann", "address": {"city": "Rome"}}}
    assert "Rome" in capsys.readouterr().out


def test_code_presets_and_history_hold_the_object(
    run: RemoteFunction,
    shell: InteractiveShell,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A part that is a variable or several values is written separately."""
    from jupyter_funcs.client.snippets import blocks
    from jupyter_funcs.records.presets import fill, form_values

    monkeypatch.setenv("FUNCS_PRESETS", str(tmp_path / "presets.toml"))
    form = run.form(**DOTTED)
    magic, python, curl = (block["code"] for block in blocks(run, form, "x"))
    assert "customer={'name': 'Ann', 'address': {'city': 'Rome'}}" in python.replace(
        "\n        ", ""
    ).replace("\n    ", "")
    assert json.dumps(SENT["customer"]) in curl
    shell.run_cell(magic).raise_error()
    assert last() == SENT
    form["customer.age"] = Variable("age")
    run.session.presets.save("order", "mine", form_values(form))
    other = run.form(note="x")
    assert fill(other, run.session.presets.get("order", "mine")) == []
    other.variables = {"age": 30}.copy
    assert other.args["customer"] == {
        "name": "Ann",
        "age": 30,
        "address": {"city": "Rome"},
    }
    run.session.history.again(run.session.history.runs[-1].number)
    assert last() == SENT


def test_tab_offers_parts_and_their_values(shell: InteractiveShell) -> None:
    def offered(line: str) -> list[str]:
        with provisionalcompleter():
            return [
                match.text for match in shell.Completer.completions(line, len(line))
            ]

    assert offered("%funcs call order customer.n") == ["customer.name="]
    assert "customer.address.city=" in offered("%funcs call order cust")
    assert "customer=" not in offered("%funcs call order customer.name=Ann cust")


class Place(BaseModel):
    city: str
    zip: int = 0


class Item(TypedDict):
    sku: str
    count: int


class Buyer(BaseModel):
    name: str = Field(description="Who pays.")
    place: Place | None = None


def bought(buyer: Buyer, items: list[Item] | None = None) -> list[dict[str, Any]]:
    return [{"buyer": repr(buyer), "items": repr(items)}]


def test_models_and_typed_dictionaries_of_python_functions_have_parts() -> None:
    """A model is passed unchanged; a validation error is at the part."""
    session = jf.connect([bought])
    fn = session["Bought"]
    assert [part.name for part in fn.fields[0].fields] == ["buyer.name", "buyer.place"]
    assert [part.name for part in fn.fields[1].fields] == [
        "items[].sku",
        "items[].count",
    ]
    frame = fn(
        items=[{"sku": "a", "count": "2"}],
        **{"buyer.name": "Ann", "buyer.place.city": "Rome"},
    )
    assert frame["buyer"][0] == repr(Buyer(name="Ann", place=Place(city="Rome")))
    assert frame["items"][0] == "[{'sku': 'a', 'count': 2}]"
    assert fn(buyer=Buyer(name="Bob"))["buyer"][0] == repr(Buyer(name="Bob"))
    assert jf.Form(fn, **{"buyer.place.zip": 1}).errors.keys() == {
        "buyer.name",
        "buyer.place.city",
    }
    session.close()

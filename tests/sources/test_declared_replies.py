"""A catalog's declaration of replies decides their rows, columns, dtypes and descriptions, on every path."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import warnings
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from starlette.responses import JSONResponse

import jupyter_funcs as jf
from jupyter_funcs.catalog.schemas import ReplySchemas
from jupyter_funcs.client.cache import run_keys
from jupyter_funcs.client.options import CallOptions
from jupyter_funcs.frames.frame import ListedReply
from tests.growth import assert_linear
from tests.sources.test_openapi import Server, document, param

if TYPE_CHECKING:
    import pandas as pd
    from starlette.requests import Request

TEXT: dict[str, Any] = {"type": "string"}
WHOLE: dict[str, Any] = {"type": "integer"}
SPEND = {
    "type": "object",
    "required": ["day", "spend"],
    "properties": {
        "day": {**TEXT, "format": "date", "description": "The day of the purchase."},
        "at": {**TEXT, "format": "date-time", "nullable": True},
        "spend": {"type": "number", "description": "Card spend.", "x-unit": "USD"},
        "price": {**TEXT, "format": "decimal"},
        "cards": {"type": ["integer", "null"]},
        "region": {**TEXT, "enum": ["North", "South"]},
        "final": {"type": "boolean"},
        "version": TEXT,
    },
}
DTYPES = {
    "day": "datetime64[us]",
    "at": "datetime64[us, UTC]",
    "spend": "float64",
    "price": "object",
    "cards": "Int64",
    "region": "category",
    "final": "bool",
    "version": "string",
}
ROW = {
    "version": "2024-01-01",
    "final": True,
    "region": "South",
    "cards": 3,
    "price": "12.50",
    "spend": 7,
    "at": "2024-05-06T07:08:09Z",
    "day": "2024-05-06",
}


def replying(schema: Any, reply: Any, **components: Any) -> Any:
    """Return a function whose document declares a reply, and whose server sends this one."""
    responses = {
        "200": {"description": "", "content": {"application/json": {"schema": schema}}}
    }
    operation = {
        "operationId": "run",
        "responses": responses,
        "parameters": [param("page"), param("kind")],
    }
    paths = {"/run": {"get": operation}}
    server = Server(document(paths, components={"schemas": components}))
    return serving(server, reply)


def serving(server: Server, reply: Any) -> Any:
    async def answer(request: Request) -> JSONResponse:
        return JSONResponse(reply(request) if callable(reply) else reply)

    server.app.routes[1].app = _app(answer)  # type: ignore[attr-defined]
    return server.session()["run"]


def _app(answer: Any) -> Any:
    from starlette.routing import request_response

    return request_response(answer)


def page(item: Any, **more: Any) -> dict[str, Any]:
    items = {"type": "array", "items": item}
    return {
        "type": "object",
        "properties": {"total": WHOLE, "next": TEXT, "items": items, **more},
    }


def dtypes(frame: pd.DataFrame) -> dict[str, str]:
    return {name: str(dtype) for name, dtype in frame.dtypes.items()}


def test_columns_have_the_declared_order_dtypes_and_words() -> None:
    frame = replying(
        {"type": "array", "items": SPEND}, [ROW, ROW | {"cards": None, "extra": 1}]
    )()
    assert dtypes(frame) == {**DTYPES, "extra": "Int64"}
    assert frame["price"][0] == Decimal("12.50")
    assert frame["cards"].tolist()[0] == 3
    assert [*frame["region"].cat.categories] == ["North", "South"]
    assert frame["version"][0] == "2024-01-01", "declared text stays text"
    columns = {
        "day": {"description": "The day of the purchase."},
        "spend": {"description": "Card spend.", "unit": "USD"},
    }
    assert frame.attrs["funcs"]["columns"] == columns
    assert json.loads(json.dumps(frame.attrs))["funcs"]["columns"] == columns


@pytest.mark.parametrize(
    "reply", [{"total": 0, "items": []}, {"total": 0, "items": None}, {"total": 0}, {}]
)
def test_an_empty_list_has_the_declared_columns(reply: Any) -> None:
    """Also for null or absent values, in the ways that several languages write them."""
    frame = replying(page(SPEND), reply)()
    assert (dtypes(frame), len(frame)) == (DTYPES, 0)


def test_a_column_that_no_row_has_is_there_only_if_the_schema_requires_it() -> None:
    frame = replying(page(SPEND), {"items": [{"version": "1", "day": "2024-05-06"}]})()
    assert dtypes(frame) == {
        "day": "datetime64[us]",
        "spend": "float64",
        "version": "string",
    }
    assert frame["spend"].isna().all()


ROWS = [{"n": 1}, {"n": 2}]
ITEM = {"type": "object", "properties": {"n": WHOLE}}
PEOPLE = {"type": "array", "items": {"type": "object", "properties": {"name": TEXT}}}


@pytest.mark.parametrize(
    ("schema", "reply"),
    [
        (
            page(ITEM, notes={"type": "array", "items": {}}),
            {"items": ROWS, "notes": [{"t": 1}, {"t": 2}, {"t": 3}]},
        ),
        ({"properties": {"data": page(ITEM)}}, {"data": {"items": ROWS}}),
        (page({"allOf": [{"$ref": "#/components/schemas/Item"}]}), {"items": ROWS}),
        (
            {"allOf": [{"$ref": "#/components/schemas/Page"}, page(ITEM)]},
            {"items": ROWS, "cursor": "", "people": []},
        ),
        ({"anyOf": [page(ITEM), {"type": "null"}]}, {"items": ROWS}),
        (
            {
                "type": "object",
                "nullable": True,
                "properties": {"odd name": {"type": "array", "items": ITEM}},
            },
            {"odd name": ROWS},
        ),
    ],
)
def test_the_schema_says_which_member_is_the_list(schema: Any, reply: Any) -> None:
    components = {
        "Item": ITEM,
        "Page": {"type": "object", "properties": {"cursor": TEXT}},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = replying(schema, reply, **components)()
    assert frame["n"].tolist() == [1, 2]
    assert frame.attrs["funcs"]["shape"] == "page"


def test_objects_in_a_row_have_columns_also_where_all_are_null() -> None:
    owner = {
        "type": "object",
        "nullable": True,
        "properties": {"login": TEXT, "since": {**TEXT, "format": "date"}},
    }
    schema = {
        "type": "array",
        "items": {"type": "object", "properties": {"id": WHOLE, "owner": owner}},
    }
    wanted = {"id": "int64", "owner.login": "string", "owner.since": "datetime64[us]"}
    for reply in (
        [{"owner": {"since": "2024-05-06", "login": "a"}, "id": 1}],
        [{"id": 1, "owner": None}],
    ):
        assert dtypes(replying(schema, reply)()) == wanted


@pytest.mark.parametrize("name", ["splits", "values"])
def test_a_declared_record_is_one_row_though_its_only_list_is_empty(name: str) -> None:
    numbers = {"type": "array", "items": {"type": "number"}}
    schema = {"type": "object", "properties": {"symbol": TEXT, name: numbers}}
    frame = replying(schema, {"symbol": "X", name: []})()
    assert frame.to_dict("records") == [{"symbol": "X", name: []}]


def test_a_column_of_any_value_whose_values_are_objects_is_there_by_its_parts_only() -> (
    None
):
    anything = {"anyOf": [TEXT, {"type": "object"}, {"type": "null"}]}
    item = {
        "required": ["name", "value"],
        "properties": {"name": TEXT, "value": anything},
    }
    schema = {"type": "array", "items": {"type": "object", **item}}
    objects = [{"name": "x", "value": {"a": 1, "b": {"c": 2}}}]
    assert [*replying(schema, objects)()] == ["name", "value.a", "value.b.c"]
    assert [*replying(schema, [{"name": "x"}])()] == ["name", "value"]


def test_contradicting_values_stay_as_they_came_with_one_note() -> None:
    rows = [
        ROW | {"day": 20240506, "spend": "n/a", "region": "West", "cards": 1.5},
        ROW | {"day": 20240507},
    ]
    function = replying({"type": "array", "items": SPEND}, rows)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = function()
    [note] = [str(warning.message) for warning in caught]
    assert all(f"'{name}'" in note for name in ("day", "spend", "cards", "region"))
    assert "'price'" not in note
    assert frame["day"].tolist() == [20240506, 20240507]
    assert frame["region"].tolist() == ["West", "South"]
    assert frame["spend"].tolist() == ["n/a", 7]


def test_a_users_schema_wins_over_the_declared_one() -> None:
    function = replying({"type": "array", "items": SPEND}, [ROW])
    frame = function.with_options(
        schema={"version": "datetime", "region": "str", "cards": "int32"}
    )()
    assert dtypes(frame)["version"] == "datetime64[us]"
    assert dtypes(frame)["cards"] == "int32"
    assert dtypes(frame)["region"] == "string"
    assert dtypes(frame)["day"] == "datetime64[us]"


def test_a_reply_of_another_shape_is_read_as_it_came() -> None:
    schema = {"type": "array", "items": SPEND}
    assert dtypes(replying(schema, {"message": "late"})()) == {"message": "string"}
    assert replying(page(SPEND), {"error": "late"})()["error"].tolist() == ["late"]
    assert replying(page(SPEND), [{"a": 1}])()["a"].tolist() == [1]


def test_exact_decimals_keep_every_digit() -> None:
    digits = "12345678901234567.89"
    reply = json.loads(f'[{{"n": 0.1, "d": {digits}}}]', parse_float=Decimal)
    schema = {
        "type": "array",
        "items": {
            "properties": {"d": {"type": "number", "format": "decimal"}, "n": {}}
        },
    }

    class Exact(JSONResponse):
        def render(self, content: Any) -> bytes:
            return f'[{{"n": 0.1, "d": {content[0]["d"]}}}]'.encode()

    content = {"application/json": {"schema": schema}}
    responses = {"200": {"description": "", "content": content}}
    operation = {"operationId": "run", "responses": responses}
    server = Server(document({"/run": {"get": operation}}))

    async def answer(_: Request) -> JSONResponse:
        return Exact(reply)

    server.app.routes[1].app = _app(answer)  # type: ignore[attr-defined]
    frame = server.session()["run"]()
    assert frame["d"].tolist() == [Decimal(digits)]
    assert frame["n"].tolist() == [0.1]


def test_all_pages_have_the_declared_columns() -> None:
    def reply(request: Request) -> Any:
        number = int(request.query_params.get("page") or 1)
        items = [ROW | {"cards": number}] if number < 3 else None
        return {
            "items": items,
            "total": 9,
            "next": f"?page={number + 1}" if number < 3 else "",
        }

    frame = replying(page(SPEND), reply).with_options(pages="all", cache=False)()
    assert (dtypes(frame), len(frame)) == (DTYPES, 2)
    assert frame.attrs["funcs"]["columns"]["spend"]["unit"] == "USD"
    empty = replying(
        page(SPEND), {"items": [], "total": 5, "next": "?page=2"}
    ).with_options(pages="all", cache=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert dtypes(empty()) == DTYPES


def test_a_sweep_keeps_the_declared_dtypes_and_words() -> None:
    rows = {"a": [ROW], "b": [], "c": [ROW | {"at": None, "cards": None}]}
    function = replying(
        {"type": "array", "items": SPEND},
        lambda request: rows[request.query_params["kind"]],
    )
    frame = function.with_options(progress=False).sweep(kind=["a", "b", "c"])
    assert dtypes(frame) == {"kind": "string", **DTYPES}
    assert frame.attrs["funcs"]["columns"]["spend"] == {
        "description": "Card spend.",
        "unit": "USD",
    }


def test_a_cached_result_is_the_same_until_the_schema_changes() -> None:
    pytest.importorskip("pyarrow", reason="the cache needs pyarrow")
    function = replying({"type": "array", "items": SPEND}, [ROW]).with_options(
        cache=True
    )
    first = function()
    second = function()
    assert "cached" in second.attrs["funcs"]
    assert dtypes(first) == dtypes(second) == DTYPES
    assert second["price"].tolist() == [Decimal("12.50")]
    assert first.attrs["funcs"]["columns"] == second.attrs["funcs"]["columns"]
    other = replying({"type": "array", "items": ITEM}, [ROW]).function
    assert run_keys("", function.function, CallOptions(), [{}]) != run_keys(
        "", other, CallOptions(), [{}]
    )


def test_declared_options_list_the_values_of_a_parameter() -> None:
    """Although a column of them isn't text."""
    schema = {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"code": TEXT | {"enum": ["a", "b"]}},
        },
    }
    responses = {
        "200": {"description": "", "content": {"application/json": {"schema": schema}}}
    }
    listing = {"operationId": "listCodes", "responses": responses}
    kind = param("kind", description="Use function 'listCodes' to get list of kinds.")
    run = {"operationId": "run", "responses": responses, "parameters": [kind]}
    function = serving(
        Server(document({"/codes": {"get": listing}, "/run": {"get": run}})),
        [{"code": "b"}],
    )
    lists = function.session["listCodes"]
    lists()
    field = function.fields[0]
    assert field.source == "listCodes"
    assert [choice.value for choice in function.known_choices(field, {})] == ["b"]


def test_a_function_is_pickled_with_its_schema() -> None:
    function = replying(page(SPEND), []).function
    assert pickle.loads(pickle.dumps(function)) == function


# Schemas on which no reader may fail

NODE: dict[str, Any] = {"type": "object", "properties": {"n": WHOLE}}
NODE["properties"]["next"] = {"$ref": "#/$defs/Node"}
NODE["properties"]["parts"] = {"type": "array", "items": {"$ref": "#/$defs/Node"}}
ODD: dict[str, Any] = {
    "nothing": {},
    "true": True,
    "a text": "x",
    "types of texts": {"type": "text"},
    "cycle of references": {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}},
    "cycle of parts": {
        "$ref": "#/$defs/A",
        "$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}]}},
    },
    "cycle of objects": {"$ref": "#/$defs/Node", "$defs": {"Node": NODE}},
    "cycle of alternatives": {
        "$ref": "#/$defs/A",
        "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}]}},
    },
    "lost reference": {"type": "array", "items": {"$ref": "#/$defs/Lost"}},
    "reference elsewhere": {"$ref": "https://a.example/x.json"},
    "arrays of arrays": {"type": "array", "items": {"type": "array", "items": WHOLE}},
    "free object": {"type": "object", "additionalProperties": WHOLE},
    "free objects": {"type": "array", "items": {"type": "object"}},
    "several types": {"type": ["array", "object"], "items": ITEM},
    "several alternatives": {"oneOf": [ITEM, {"type": "array", "items": ITEM}]},
    "odd members": {
        "type": "object",
        "properties": [1],
        "required": {"a": 1},
        "allOf": {},
        "anyOf": 5,
        "enum": "x",
    },
    "odd words": {
        "type": "object",
        "properties": {
            "": 1,
            "a": None,
            "b": {"enum": [{}, []], "format": 5, "unit": []},
        },
    },
    "odd lists": {
        "type": "array",
        "items": [ITEM, 5],
        "description": {},
        "nullable": "x",
    },
    "many members": {
        "type": "object",
        "properties": {str(at): TEXT for at in range(5000)},
    },
    "true in place of parts": {
        "allOf": [True, 5, None, ITEM],
        "required": [1, "n", None],
    },
}


@pytest.mark.parametrize("schema", ODD.values(), ids=ODD)
@pytest.mark.parametrize(
    "reply", [[{"n": 1}], {"n": 1}, {"items": [{"n": 1}]}, [], None, 7, [[1]], "x"]
)
def test_no_schema_makes_a_reply_unreadable(schema: Any, reply: Any) -> None:
    from jupyter_funcs.frames.frame import page_to_frame

    listed = ListedReply.read(ReplySchemas(schema).read(schema))
    data = json.dumps(reply).encode()
    frame = page_to_frame(data, {}, schema=None, lines=False, listed=listed)
    plain = page_to_frame(data, {}, schema=None, lines=False)
    assert len(frame) == len(plain)
    assert {*plain.columns} <= {*frame.columns}


def test_a_document_of_schemas_in_cycles_is_read_in_linear_time() -> None:
    def read(size: int) -> None:
        names = [f"S{at}" for at in range(size)]
        parts = {
            name: {
                letter: {"$ref": f"#/{names[(at + step) % size]}"}
                for step, letter in enumerate("abc", 1)
            }
            for at, name in enumerate(names)
        }
        schemas = ReplySchemas(
            {
                name: {"type": "object", "properties": members}
                for name, members in parts.items()
            }
        )
        for name in names:
            schemas.read({"$ref": f"#/{name}"})

    assert_linear(read, 4096, start=64)


# Functions of Python


def test_what_a_function_is_annotated_to_return_is_declared() -> None:
    def days(n: int = 1) -> list[dict[str, dt.date]]:
        return [{"day": dt.date(2024, 5, 6)}] * n

    def name() -> str:
        return "2024-05-06"

    session = jf.connect([days, name])
    assert session["name"]()["Result"].tolist() == ["2024-05-06"]
    assert session["days"]()["day"].dtype == "datetime64[us]"

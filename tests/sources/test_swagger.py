"""Swagger 2.0 documents are read like the equivalent OpenAPI 3."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import jupyter_funcs as jf
from jupyter_funcs.connection.profiles import NO_TOKEN, Connection
from jupyter_funcs.sources.openapi import read_document
from tests.sources.test_openapi import Server

if TYPE_CHECKING:
    from jupyter_funcs.catalog.listing import Catalog

HERE = Connection(
    "shop",
    "https://shop.example/api.json",
    NO_TOKEN,
    kind="openapi",
    where="https://shop.example/api.json",
)
TEXT = {"type": "string"}
LIST = {"type": "array", "items": TEXT}
ITEM = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "integer"}, "next": TEXT | {"x-nullable": True}},
}
FORM = "application/x-www-form-urlencoded"
FILES = "multipart/form-data"


def swagger(
    operation: dict[str, Any], method: str = "post", **more: Any
) -> dict[str, Any]:
    run = {"operationId": "run", "responses": {"200": {"description": ""}}, **operation}
    return {"swagger": "2.0", "paths": {"/run": {method: run}}, **more}


def openapi(
    operation: dict[str, Any], method: str = "post", **more: Any
) -> dict[str, Any]:
    return swagger(operation, method, **more) | {"openapi": "3.0.3"}


def read(document: dict[str, Any], connection: Connection = HERE) -> Catalog:
    return read_document(json.dumps(document).encode(), connection)


def parameter(name: str, where: str = "query", **more: Any) -> dict[str, Any]:
    return {"name": name, "in": where, **more}


def body(schema: Any, kind: str = "application/json", **more: Any) -> dict[str, Any]:
    return {"requestBody": {"content": {kind: {"schema": schema}}, **more}}


def form(
    *required: str, kind: str = FORM, encoding: Any = None, **properties: Any
) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    content = {kind: {"schema": schema, "encoding": encoding or {}}}
    return {"requestBody": {"required": bool(required), "content": content}}


def reply(*kinds: str) -> dict[str, Any]:
    return {
        "responses": {"200": {"content": {kind: {"schema": ITEM} for kind in kinds}}}
    }


SAME: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a parameter": (
        {"parameters": [parameter("n", type="integer", minimum=1, default=2, description="How many.", required=True)]},
        {
            "parameters": [
                parameter(
                    "n",
                    schema={"type": "integer", "minimum": 1, "default": 2},
                    description="How many.",
                    required=True,
                )
            ]
        },
    ),
    "options": (
        {"parameters": [parameter("n", **TEXT, enum=["a", "b"])]},
        {"parameters": [parameter("n", schema=TEXT | {"enum": ["a", "b"]})]},
    ),
    "a header": (
        {"parameters": [parameter("X-Names", "header", **LIST)]},
        {"parameters": [parameter("X-Names", "header", schema=LIST)]},
    ),
    "a list with commas": (
        {"parameters": [parameter("n", **LIST)]},
        {"parameters": [parameter("n", schema=LIST, style="form", explode=False)]},
    ),
    "a list of several": (
        {"parameters": [parameter("n", **LIST, collectionFormat="multi")]},
        {"parameters": [parameter("n", schema=LIST, style="form", explode=True)]},
    ),
    "a list with spaces": (
        {"parameters": [parameter("n", **LIST, collectionFormat="ssv")]},
        {"parameters": [parameter("n", schema=LIST, style="spaceDelimited", explode=False)]},
    ),
    "a list with pipes": (
        {"parameters": [parameter("n", **LIST, collectionFormat="pipes")]},
        {"parameters": [parameter("n", schema=LIST, style="pipeDelimited", explode=False)]},
    ),
    "a body": (
        {"parameters": [parameter("it", "body", schema=ITEM, required=True, description="An item.")]},
        body(ITEM, required=True, description="An item."),
    ),
    "a body of another type": (
        {"parameters": [parameter("it", "body", schema=ITEM)], "consumes": ["application/vnd.shop+json"]},
        body(ITEM, "application/vnd.shop+json"),
    ),
    "a form": (
        {"parameters": [parameter("a", "formData", **TEXT, required=True), parameter("b", "formData", type="integer")]},
        form("a", a=TEXT, b={"type": "integer"}),
    ),
    "a list in a form": (
        {"parameters": [parameter("a", "formData", **LIST, collectionFormat="pipes")], "consumes": [FILES, FORM]},
        form(a=LIST, encoding={"a": {"style": "pipeDelimited", "explode": False}}),
    ),
    "a type of replies": (
        {"produces": ["text/csv"], "responses": {"200": {"schema": ITEM}}},
        reply("text/csv"),
    ),
    "several types of replies": (
        {"produces": ["application/xml", "application/json"], "responses": {"200": {"schema": ITEM}}},
        reply("application/xml", "application/json"),
    ),
    "a file as a reply": (
        {"produces": ["application/pdf"], "responses": {"200": {"schema": {"type": "file"}}}},
        {"responses": {"200": {"content": {"application/pdf": {"schema": {"type": "string", "format": "binary"}}}}}},
    ),
    "schemes of its own": (
        {"schemes": ["https"]},
        {"servers": [{"url": "https://shop.example/v1"}]},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new"), SAME.values(), ids=SAME)
def test_an_operation_is_the_same_in_both_versions(old: Any, new: Any) -> None:
    """Its parameters with all their declarations, and the request."""
    servers = [{"url": "https://shop.example/v1"}]
    [run] = read(
        swagger(old, host="shop.example", basePath="/v1", schemes=["http", "https"])
    )
    [same] = read(openapi(new, servers=servers))
    assert run == same


def test_parts_that_are_shared_are_found() -> None:
    """Referenced parameters, responses and schemas, also of a path, and the document's media types."""
    document = swagger(
        {
            "parameters": [{"$ref": "#/parameters/N"}, {"$ref": "#/parameters/It"}],
            "responses": {"200": {"$ref": "#/responses/Items"}},
        },
        parameters={
            "N": parameter("n", type="integer"),
            "It": parameter("it", "body", schema={"$ref": "#/definitions/Item"}),
        },
        responses={
            "Items": {
                "schema": {"type": "array", "items": {"$ref": "#/definitions/Item"}}
            }
        },
        definitions={
            "Item": ITEM
            | {
                "properties": {
                    **ITEM["properties"],
                    "in": {"$ref": "#/definitions/Item"},
                }
            }
        },
        produces=["application/vnd.shop+json"],
        consumes=["application/vnd.shop+json"],
    )
    path = document["paths"]["/run"]
    path["parameters"] = [
        parameter("day", **TEXT, format="date"),
        parameter("no", "body", schema=TEXT),
    ]
    path["put"] = {"responses": {}}
    run, put = read(document)
    assert [param.name for param in run.params] == ["day", "n", "id", "next", "in"]
    assert run.params[4].schema["$ref"] == "#/$defs/Item"
    assert (run.context["accept"], run.context["content_type"]) == (
        "application/vnd.shop+json",
    ) * 2
    assert [param.name for param in put.params] == ["day", "body"]


@pytest.mark.parametrize(
    ("about", "server"),
    [
        (
            {"host": "shop.example", "basePath": "/v1/", "schemes": ["https"]},
            "https://shop.example/v1",
        ),
        (
            {"host": "shop.example", "schemes": ["http", "https", "wss"]},
            "https://shop.example",
        ),
        ({"host": "shop.example", "basePath": "v1"}, "https://shop.example/v1"),
        ({"basePath": "/v1"}, "https://shop.example/v1"),
        ({}, "https://shop.example"),
    ],
)
def test_the_server_is_made_of_host_and_path(about: Any, server: str) -> None:
    """Encrypted if possible; without a host or a scheme, those of the document's own address."""
    [run] = read(swagger({}, **about))
    assert run.context["server"] == server


def test_a_document_of_this_machine_without_schemes_is_asked_as_it_was_read() -> None:
    here = Connection("x", "http://127.0.0.1:8000/api.json", NO_TOKEN, kind="openapi")
    [run] = read(swagger({}, host="127.0.0.1:8000", basePath="/v1"), here)
    assert run.context["server"] == "http://127.0.0.1:8000/v1"


@pytest.mark.parametrize(
    ("scheme", "header"),
    [
        ({"type": "apiKey", "in": "header", "name": "X-Key"}, "X-Key"),
        ({"type": "basic"}, "Authorization"),
        (
            {
                "type": "oauth2",
                "flow": "accessCode",
                "tokenUrl": "https://x.example",
                "scopes": {},
            },
            "Authorization",
        ),
    ],
)
def test_a_security_definition_names_the_header_of_the_token(
    scheme: Any, header: str
) -> None:
    server = Server(
        swagger({}, security=[{"own": []}], securityDefinitions={"own": scheme})
    )
    server.session()["run"]()
    assert server.seen[0]["headers"][header.lower()]


def test_what_is_sent() -> None:
    """A form with its separators, a list in a path, and a body."""
    params = [
        parameter("ids", "path", required=True, **LIST, collectionFormat="pipes"),
        parameter("tab", "formData", **LIST, collectionFormat="tsv"),
        parameter("each", "formData", **LIST, collectionFormat="multi"),
        parameter("n", "formData", type="integer", format="int64"),
    ]
    document = swagger({})
    document["paths"] = {
        "/{ids}": {
            "post": {"operationId": "run", "parameters": params, "responses": {}}
        }
    }
    server = Server(document)
    run = server.session()["run"]
    run(ids=["a", "b"], tab=["c", "d"], each=["e", "f"], n=5)
    assert (server.seen[0]["path"], server.seen[0]["body"]) == (
        "/a%7Cb",
        "tab=c%09d&each=e&each=f&n=5",
    )
    with pytest.raises(jf.ArgumentError):
        run(ids=["a"], n="x")


@pytest.mark.parametrize("version", ["1.2", 1.2, "4.0", "x\x1b[31m"])
def test_other_versions_are_refused(version: Any) -> None:
    """With the version of the document, and what to do."""
    with pytest.raises(jf.ConfigError, match=r"2\.0 or 3 is needed") as caught:
        read({"swagger": version})
    assert "Convert it" in caught.value.hint
    assert str(caught.value).replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "odd",
    [
        {
            "parameters": [
                5,
                {"in": "body"},
                {"in": "formData"},
                {"in": "query"},
                {"in": []},
            ]
        },
        {
            "parameters": [parameter("a", "body", schema=[]), parameter("b", "body")],
            "consumes": [5, "application/json"],
        },
        {
            "parameters": {},
            "responses": [],
            "schemes": {},
            "produces": "text/csv",
            "consumes": None,
        },
        {"responses": {"200": {"schema": 5}, "default": None}, "produces": [{}]},
        {
            "parameters": [
                parameter("a", "formData", type=["x"], required="yes"),
                parameter("a", "formData", type="file"),
            ]
        },
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_malformed_document_is_read_as_far_as_it_goes(odd: Any) -> None:
    """Or refused like other documents."""
    try:
        read(
            swagger(
                odd,
                host=5,
                basePath=[],
                schemes={},
                definitions=[],
                securityDefinitions={"a": 5},
            )
        )
    except jf.ConfigError as error:
        assert "No operation" in error.what  # noqa: PT017 - either is fine

"""An OpenAPI document is a catalog: its operations have forms, and their runs send what it documents."""

from __future__ import annotations

import json
import pickle
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import jupyter_funcs as jf
from jupyter_funcs.api import Session
from jupyter_funcs.client import snippets
from jupyter_funcs.client.snippets import curl
from jupyter_funcs.connection.profiles import Connection
from jupyter_funcs.connection.secrets import Secret
from jupyter_funcs.connection.tokens import Constant
from jupyter_funcs.service import web
from jupyter_funcs.sources import openapi
from tests.shells import shell_with

if TYPE_CHECKING:
    from starlette.requests import Request

TOKEN = "a-token-of-the-openapi-tests"
TEXT = {"type": "string"}
FORM = "application/x-www-form-urlencoded"
JSON_REPLY = {
    "200": {"description": "", "content": {"application/json": {"schema": {}}}}
}


def param(
    name: str, where: str = "query", schema: Any = TEXT, **more: Any
) -> dict[str, Any]:
    return {
        "name": name,
        "in": where,
        "required": where == "path",
        "schema": schema,
        **more,
    }


def operation(*params: Any, body: Any = None, **more: Any) -> dict[str, Any]:
    described = {"responses": JSON_REPLY, "parameters": list(params), **more}
    if body is not None:
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": body}},
        }
    return described


def document(paths: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "openapi": "3.0.3",
        "info": {"title": "Shop", "version": "1"},
        "paths": paths or {},
        **more,
    }


class Server(httpx.AsyncBaseTransport):
    """An application behind an ASGI transport, with its document and each request that reached it."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self.seen: list[dict[str, Any]] = []
        self.origins: set[str] = set()
        self.statuses: list[int] = []
        self.reply: Any = None
        echo = Route(
            "/{rest:path}", self.echo, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]
        )
        self.app = Starlette(routes=[Route("/v1/openapi.json", self.describe), echo])
        self.inner = httpx.ASGITransport(self.app)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.origins.add(str(request.url.copy_with(raw_path=b"/")))
        return await self.inner.handle_async_request(request)

    async def describe(self, _: Request) -> Response:
        data = self.document
        return Response(
            data if isinstance(data, bytes) else json.dumps(data),
            media_type="application/json",
        )

    async def echo(self, request: Request) -> Response:
        body = await request.body()
        names = [name for name, _ in request.headers.items()]
        assert len(names) == len(set(names)), "each header is sent once"
        raw_path = request.scope["raw_path"].decode().partition("?")[0]
        query = request.scope["query_string"].decode()
        seen = {
            "method": request.method,
            "path": raw_path,
            "query": query,
            "headers": dict(request.headers),
        }
        self.seen.append(
            seen
            | {"body": json.loads(body) if body[:1] in {b"[", b"{"} else body.decode()}
        )
        status = self.statuses.pop(0) if self.statuses else 200
        if status == 200:
            return JSONResponse(self.reply or [{"path": raw_path, "n": len(self.seen)}])
        return Response(f"status {status}" * (status != 204), status)

    def session(self, *, header: str = "Authorization", **more: Any) -> Session:
        url = "https://shop.example/v1/openapi.json"
        connection = Connection(
            "shop",
            url,
            Constant(Secret(TOKEN)),
            header,
            where=url,
            kind="openapi",
            **more,
        )
        return Session(connection, self)


def served(
    described: dict[str, Any], path: str = "/run", method: str = "post", **more: Any
) -> tuple[Server, Any]:
    server = Server(
        document({path: {method: {"operationId": "run", **described}}}, **more)
    )
    return server, server.session()["run"]


LIST = {"type": "array", "items": {"type": "integer"}}
OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}}
ADDRESS = {
    "type": "object",
    "properties": {
        "zip": {"type": "integer"},
        "next": {"$ref": "#/components/schemas/Address"},
    },
}


@pytest.mark.parametrize(
    ("params", "values", "path", "query"),
    [
        ([param("q")], {"q": "a b&c=d/é"}, "/run", "q=a%20b%26c%3Dd%2F%C3%A9"),
        ([param("n", schema={"type": "integer"})], {"n": 5}, "/run", "n=5"),
        ([param("on", schema={"type": "boolean"})], {"on": True}, "/run", "on=true"),
        ([param("ids", schema=LIST)], {"ids": [1, 2]}, "/run", "ids=1&ids=2"),
        ([param("ids", schema=LIST, explode=False)], {"ids": [1, 2]}, "/run", "ids=1,2"),
        ([param("ids", schema=LIST, style="pipeDelimited", explode=False)], {"ids": [1, 2]}, "/run", "ids=1%7C2"),
        ([param("ids", schema=LIST, style="spaceDelimited", explode=False)], {"ids": [1, 2]}, "/run", "ids=1%202"),
        ([param("ids", schema=LIST, style=["odd"])], {"ids": [1, 2]}, "/run", "ids=1&ids=2"),
        ([param("o", schema=OBJECT, style="deepObject")], {"o": {"a": 1}}, "/run", "o%5Ba%5D=1"),
        ([param("o", schema=OBJECT | {"properties": {}}, style="deepObject")], {"o": {"a": [1, "b,c"]}}, "/run",
         "o%5Ba%5D=1,b%2Cc"),
        ([param("e", schema={"type": "array"}, style="deepObject")], {"e": ["a", "b"]}, "/run",
         "e%5B0%5D=a&e%5B1%5D=b"),
        ([param("o", schema={"type": "object"}, style="deepObject")], {"o": {"a": {"b": 1}}}, "/run",
         "o%5Ba%5D%5Bb%5D=1"),
        ([param("o", schema=OBJECT)], {"o": {"a": 1}}, "/run", "a=1"),
        ([param("o", schema=OBJECT, explode=False)], {"o": {"a": 1}}, "/run", "o=a,1"),
        ([{"name": "o", "in": "query", "content": {"application/json": {"schema": OBJECT}}}], {"o": {"a": 1}}, "/run",
         "o=%7B%22a%22%3A%201%7D"),
        ([param("id", "path")], {"id": "a/b ?#%2e"}, "/run/a%2Fb%20%3F%23%252e", ""),
        ([param("id", "path", LIST)], {"id": [1, 2]}, "/run/1,2", ""),
    ],
)  # fmt: skip
def test_an_address_is_written_in_the_style_of_its_parameters(
    params: Any, values: Any, path: str, query: str
) -> None:
    """Values are encoded, and can't change the requested path."""
    place = "/run/{id}" if params[0]["in"] == "path" else "/run"
    server, run = served(operation(*params), place, "get")
    run(**values)
    assert (server.seen[0]["path"], server.seen[0]["query"]) == (path, query)
    assert not server.seen[0]["body"]
    assert "content-type" not in server.seen[0]["headers"]


def test_a_body_has_the_types_of_its_schema() -> None:
    """Properties are fields, references are followed, and only what was set is sent."""
    own = {
        "to": {"$ref": "#/components/schemas/Address"},
        "id": {"type": "integer"},
        "made": TEXT | {"readOnly": True},
    }
    body = {"allOf": [{"$ref": "#/components/schemas/Base"}, {"properties": own}]}
    base = {
        "type": "object",
        "required": ["count"],
        "properties": {
            "count": {"type": "integer", "minimum": 1, "description": "How many."},
            "size": {"enum": ["s", "m"]},
            "tags": {"type": "array", "items": TEXT},
            "flag": {"type": "boolean"},
            "note": TEXT | {"nullable": True},
        },
    }
    server, run = served(
        operation(
            param("id", "path"),
            param("X-Mode", "header"),
            body=body,
            tags=["Orders"],
            summary="Order &amp; pay.",
        ),
        "/run/{id}",
        components={"schemas": {"Base": base, "Address": ADDRESS}},
    )
    assert (
        " ".join(field.name for field in run.fields)
        == "id to body.id count size tags flag note X-Mode"
    )
    assert server.session().find()["asset"].tolist() == ["Orders"]
    described = run.describe().set_index("name")
    assert dict(described["kind"])["to"] == "json"
    assert described.loc["count", "required"] == "yes"
    assert described.loc["count", "help"] == "How many."
    assert (
        run.function.group,
        run.function.description,
        run.function.changes_data,
    ) == (
        "Orders",
        "Order & pay",
        True,
    )
    sent = {"to": {"zip": 1, "next": {"zip": 2}}, "tags": ["1"], "flag": False}
    run(id="x", X_Mode="fast é", body_id=7, count="3", size="S", **sent)
    assert server.seen[0]["body"] == {"id": 7, "count": 3, "size": "s", **sent}
    assert server.seen[0]["headers"]["x-mode"] == "fast é"
    for wrong in ({"to": {"next": {"zip": "x"}}}, {"count": 0}, {"size": "xl"}):
        with pytest.raises(jf.ArgumentError):
            run(id="x", **{"count": 1, **wrong})
    assert len(server.seen) == 1
    assert pickle.loads(pickle.dumps(run.function)) == run.function


def test_references_lead_anywhere_in_the_document() -> None:
    """Also through paths and positions of lists; a broken reference makes the schema of a property unknown."""
    first = operation(
        param("day", required=True),
        body={"type": "object", "properties": {"at": ADDRESS | {"a/b": 1}}},
    )
    content = "#/paths/~1first/post/requestBody/content/application~1json/schema/properties/at"
    body = {
        "type": "object",
        "properties": {"at": {"$ref": content}, "gone": {"$ref": f"{content}/x"}},
    }
    paths = {
        "/first": {"post": first},
        "/run": {
            "post": operation({"$ref": "#/paths/~1first/post/parameters/0"}, body=body)
        },
    }
    run = Server(
        document(paths, components={"schemas": {"Address": ADDRESS}})
    ).session()["POST /run"]
    assert [(field.name, str(field.kind), field.required) for field in run.fields] == [
        ("day", "text", True),
        ("at", "json", False),
        ("gone", "json", False),
    ]
    with pytest.raises(jf.ArgumentError, match="takes a whole number, not 'x'"):
        run(day="x", at={"next": {"next": {"zip": "x"}}})


@pytest.mark.parametrize(
    ("more", "needed"),
    [({}, True), ({"required": False}, False), ({"required": True}, True)],
)
def test_a_body_needs_its_required_properties(more: Any, needed: bool) -> None:
    """Unless the whole body is optional; also for a property without a description."""
    content = {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["a", "b"],
                "properties": {"a": TEXT},
            }
        }
    }
    server, run = served(operation(requestBody={"content": content, **more}))
    assert {field.name: field.required for field in run.fields} == {
        "a": needed,
        "b": needed,
    }
    run(a="x", b={})
    assert server.seen[0]["body"] == {"a": "x", "b": {}}


def test_options_in_the_text_about_an_object_are_none_of_its_own() -> None:
    """A field of JSON takes its options from its schema only."""
    _, run = served(
        operation(
            body={
                "properties": {
                    "image": OBJECT | {"description": "Use one of 'GET /a', 'GET /b'."}
                }
            }
        )
    )
    assert run.fields[0].options == ()


def test_media_types_are_those_of_the_document() -> None:
    """For the body and the reply, instead of our own."""
    replies = {"200": {"content": {"application/vnd.shop+json": {}}}}
    for kind, sent in {
        "application/merge-patch+json": "application/merge-patch+json",
        "*/*": "application/json",
    }.items():
        server, run = served(
            operation(
                requestBody={"content": {kind: {"schema": OBJECT}}}, responses=replies
            )
        )
        run(a=1)
        headers = server.seen[0]["headers"]
        assert (headers["content-type"], headers["accept"]) == (
            sent,
            "application/vnd.shop+json",
        )


def test_a_form_is_sent_in_the_style_of_its_document() -> None:
    """If the document offers no JSON; lists repeat their name, objects follow its encoding."""
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "tags": LIST, "o": OBJECT},
        "required": ["n"],
    }
    content = {
        FORM: {"schema": schema, "encoding": {"o": {"style": "deepObject"}}},
        "text/plain": {},
    }
    server, run = served(operation(requestBody={"content": content}))
    run(n=5, tags=[1, 2], o={"a": 3})
    assert server.seen[0]["body"] == "n=5&tags=1&tags=2&o%5Ba%5D=3"
    assert server.seen[0]["headers"]["content-type"] == FORM
    assert run.request(n=1)["body"] == "n=1"
    assert curl(run, {"n": "1"}).endswith("-d n=1")
    with pytest.raises(jf.ArgumentError, match="'x'"):
        run(n="x")


def test_parts_of_parts_have_their_names_in_brackets() -> None:
    """As the servers read them whose documents say so of a form."""
    any_part: dict[str, Any] = {"o": {"type": "object"}, "items": {"type": "array"}}
    encoding = {name: {"style": "deepObject", "explode": True} for name in any_part}
    content = {FORM: {"schema": {"properties": any_part}, "encoding": encoding}}
    server, run = served(operation(requestBody={"content": content}))
    run(o={"to": {"city": "Rome"}, "tags": ["a"]}, items=[{"sku": "x", "n": 2}])
    assert unquote(server.seen[0]["body"]) == (
        "o[to][city]=Rome&o[tags][0]=a&items[0][sku]=x&items[0][n]=2"
    )


def test_a_body_that_is_no_object_is_one_field() -> None:
    """Its JSON is checked and sent as it is."""
    server, run = served(operation(body={"type": "array", "items": OBJECT}))
    run(body=[{"a": 1}])
    assert server.seen[0]["body"] == [{"a": 1}]
    with pytest.raises(jf.ArgumentError, match=r"body\.0\.a takes a whole number"):
        run(body=[{"a": "x"}])


def test_a_value_changes_neither_the_path_nor_the_headers() -> None:
    """Values that would leave their place in a path, or can't be in a header, are refused; ours aren't fields."""
    names = ["X-Mode", "Host", "Cookie", "Content-Type", "Accept", "Authorization"]
    params = [param("id", "path"), *(param(name, "header") for name in names)]
    server, run = served(operation(*params), "/run/{id}/items", "get")
    assert [field.name for field in run.fields] == ["id", "X-Mode"]
    for values in (
        {"id": ".."},
        {"id": "."},
        *({"X_Mode": wrong} for wrong in ("a\r\nX-Evil: 1", "日本", "a\x00")),
    ):
        with pytest.raises(
            jf.ArgumentError,
            match=f"{next(iter(values)).replace('_', '-')} does not take",
        ):
            run(**{"id": "x", **values})
    assert not server.seen


def test_operations_that_cannot_run_are_left_out_with_one_warning() -> None:
    """The rest stays usable, names are shown as text, and duplicate names are numbered."""
    text = {"200": {"content": {"text/html": {}}}}
    odd = {
        "/a": {
            "get": operation(operationId="a\x1b[31m\u202e"),
            "post": operation(operationId="same"),
        },
        "/b": {"post": operation(operationId="same"), "get": operation()},
        "/shop": {"get": operation() | {"responses": text}},
        "/form": {
            "post": operation()
            | {"requestBody": {"required": True, "content": {"text/plain": {}}}}
        },
        "/form2": {
            "post": operation()
            | {
                "requestBody": {
                    "required": True,
                    "content": {"multipart/form-data": {"schema": LIST}},
                }
            }
        },
        "/filled": {
            "post": operation()
            | {"requestBody": {"content": {"multipart/form-data": {"schema": OBJECT}}}},
            "get": operation()
            | {
                "requestBody": {
                    "content": {"text/plain": {"schema": {"properties": {}}}}
                }
            },
        },
        "/{gone}": {"get": operation()},
        ".evil.example/x": {"get": operation()},
        "/moved": {"get": operation() | {"responses": {"302": {}, "404": {}}}},
        "/cookie": {
            "get": operation(param("c d", "cookie", required=True) | {"required": True})
        },
        "/own": {"get": operation(servers=[{"url": "https://evil.example"}])},
        "/odd": {
            "get": 5,
            "post": operation(5, {"in": []}, body={"anyOf": 5}),
            "head": {},
        },
        "/ref": {"$ref": "https://evil.example/paths.json"},
    }
    server = Server(document(odd))
    with pytest.warns(
        UserWarning,
        match=r"Left out 6 of 17 operations: POST /form2 \(its body is 'multipart/form-data', which",
    ) as warned:
        names = server.session().names
    assert len(warned) == 1
    assert names == [
        "a\\x1b[31m\\u202e",
        "same",
        "GET /b",
        "same (2)",
        "GET /shop",
        "POST /form",
        "GET /filled",
        "POST /filled",
        "GET /{gone}",
        "GET /odd",
        "POST /odd",
    ]


@pytest.mark.parametrize(
    ("path", "names", "args", "sent"),
    [
        (
            "/v1/{+name}:run",
            ["name"],
            {"name": "a/b c/d?e#f%2F"},
            "/v1/a/b%20c/d%3Fe%23f%252F:run",
        ),
        ("/{gone}", ["gone"], {"gone": "a/b"}, "/a%2Fb"),
        ("/{n}/{+gone}", ["n", "gone"], {"gone": "a/b", "n": 1}, "/1/a/b"),
        ("/{q}", ["q", "path.q"], {"path.q": "a", "q": "b"}, "/a"),
    ],
)
def test_each_place_of_a_path_is_a_field(
    path: str, names: list[str], args: Any, sent: str
) -> None:
    """Also one without a parameter; with a plus, its value may be several segments, but not one that leads up."""
    params = [param(name, "path") for name in ("name", "n") if name in names] + [
        param("q")
    ] * ("q" in names)
    server, run = served(operation(*params), path)
    assert [field.name for field in run.fields] == names
    assert run.fields[-1].required
    run(**args)
    assert server.seen[0]["path"] == sent
    for step in ("..", ".", *(["a/../b"] if "+" in path else [])):
        with pytest.raises(jf.ArgumentError, match="it is a part of the address"):
            run(**args | {names[-1]: step})
    assert len(server.seen) == 1


def test_schemas_are_bounded() -> None:
    """Only references within the document are read; circular, remote, missing or too large ones accept any JSON."""
    many = {
        f"S{at}": {"properties": {"next": {"$ref": f"#/components/schemas/S{at + 1}"}}}
        for at in range(300)
    }
    schemas = {
        "Loop": {"$ref": "#/components/schemas/Loop"},
        "a/b c": {"type": "integer"},
        **many,
        "S300": {},
    }
    refs = {
        "loop": "#/components/schemas/Loop",
        "remote": "https://evil.example/schema.json",
        "gone": "#/components/schemas/Gone",
        "large": "#/components/schemas/S0",
        "fine": "#/components/schemas/a~1b%20c",
    }
    body = {
        "type": "object",
        "properties": {name: {"$ref": ref} for name, ref in refs.items()},
    }
    server, run = served(operation(body=body), components={"schemas": schemas})
    kinds = {field.name: str(field.kind) for field in run.fields}
    assert kinds == dict.fromkeys(refs, "json") | {"fine": "integer"}
    run(remote={"a": 1}, gone="x", fine=5)
    assert server.seen[0]["body"] == {"remote": {"a": 1}, "gone": "x", "fine": 5}
    assert server.origins == {"https://shop.example/"}


def nested(depth: int) -> Any:
    value: Any = TEXT
    for _ in range(depth):
        value = {"items": value}
    return value


@pytest.mark.parametrize(
    ("served", "message", "error"),
    [
        (b'{"openapi": "3.0.0", ', r"OpenAPI document is cut short(.|\n)*Check the document", jf.ProtocolError),
        ({"swagger": "1.2"}, r"OpenAPI \(Swagger\) 1.2; 2.0 or 3 is needed", jf.ConfigError),
        ({"a": 1}, "not an OpenAPI document", jf.ProtocolError),
        ([], "not an OpenAPI document", jf.ProtocolError),
        (document(components={"schemas": {"A": nested(120)}}), "more than 100 levels", jf.ConfigError),
        (b"[" * 200_000, "OpenAPI document", jf.ProtocolError),
        (document(servers=[{"url": "https://evil.example"}]), "allow_server", jf.ConfigError),
        (document(servers=[{"url": "http://shop.example"}]), "allow_server", jf.ConfigError),
        (document(servers=[{"url": "//evil.example"}]), "allow_server", jf.ConfigError),
        (document(servers=[{"url": "https://{h}", "variables": {"h": {"default": "x.example"}}}]), "allow_server",
         jf.ConfigError),
    ],
)  # fmt: skip
def test_a_document_that_is_none_is_refused(
    served: Any, message: str, error: type[Exception]
) -> None:
    """The error has one or two lines, and nothing is sent elsewhere."""
    server = Server(served)
    with pytest.raises(error, match=message):
        _ = server.session().names
    assert server.origins == {"https://shop.example/"}


def test_a_document_that_is_too_large_or_missing_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Reading stops at the limit; the error doesn't mention a service, which nobody requested."""
    server = Server(b"")
    server.statuses = [404]
    with pytest.raises(
        jf.ConfigError,
        match=r"^There is nothing at https://shop.example/v2/a.json \(404\)",
    ):
        _ = server.session(location="https://shop.example/v2/a.json?key=1").names
    monkeypatch.setattr(openapi, "_MAX_DOCUMENT", 1000)
    with pytest.raises(
        jf.ReplyTooLargeError, match=r"1,000\.\nNo more than this is read"
    ):
        _ = (
            Server(document({"/a": {"get": operation(description="x" * 1000)}}))
            .session()
            .names
        )


@pytest.mark.parametrize(
    ("scheme", "own", "sent"),
    [
        (None, "Authorization", ("authorization", f"Bearer {TOKEN}")),
        (
            {"type": "http", "scheme": "bearer"},
            "Authorization",
            ("authorization", f"Bearer {TOKEN}"),
        ),
        (
            {"type": "apiKey", "in": "header", "name": "X-Shop-Key"},
            "Authorization",
            ("x-shop-key", TOKEN),
        ),
        (
            {"type": "apiKey", "in": "header", "name": "X-Shop-Key"},
            "X-Api-Key",
            ("x-shop-key", TOKEN),
        ),
        (
            {"type": "apiKey", "in": "header", "name": "Host"},
            "Authorization",
            ("authorization", f"Bearer {TOKEN}"),
        ),
    ],
)
def test_the_token_goes_where_the_document_says(
    scheme: Any, own: str, sent: tuple[str, str]
) -> None:
    """As a bearer token or in the header of an API key, which isn't a field."""
    more = (
        {"components": {"securitySchemes": {"s": scheme}}, "security": [{"s": []}]}
        if scheme
        else {}
    )
    server = Server(
        document(
            {
                "/run": {
                    "get": operation(param("X-Shop-Key", "header"), operationId="run")
                }
            },
            **more,
        )
    )
    server.session(header=own)["run"]()
    assert server.seen[0]["headers"][sent[0]] == sent[1]
    assert sum(TOKEN in text for text in server.seen[0]["headers"].values()) == 1
    assert TOKEN not in server.seen[0]["query"]


def test_a_public_document_needs_no_token() -> None:
    """An address that ends in .json is a document; without a token, none is sent."""
    server = Server(document({"/run": {"get": operation(operationId="run")}}))
    run = jf.connect("https://shop.example/v1/openapi.json", transport=server)["run"]
    run()
    assert "authorization" not in server.seen[0]["headers"]
    server.statuses = [401]
    with pytest.raises(
        jf.AuthenticationError,
        match=r"The service needs a token: status 401\nConnect with token=",
    ):
        run()


def test_another_server_needs_the_users_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With it, as in a profile, operations run there; a function that names a third one sends nothing."""
    url = 'url = "https://shop.example/v1/openapi.json"'
    file = tmp_path / "profiles.toml"
    file.write_text(
        f'[profiles.shop]\nkind = "openapi"\n{url}\nallow_server = "https://api.example"'
    )
    monkeypatch.setenv("FUNCS_CONFIG", str(file))
    paths = {"/run": {"get": operation(operationId="run")}}
    server = Server(document(paths, servers=[{"url": "https://api.example/v2"}]))
    run = jf.connect("shop", transport=server)["run"]
    run()
    assert server.seen[0]["path"] == "/v2/run"
    assert server.origins == {"https://shop.example/", "https://api.example/"}
    run.function.context["server"] = "https://evil.example"
    with pytest.raises(jf.ConfigError, match="another server"):
        run()
    assert server.origins == {"https://shop.example/", "https://api.example/"}


def test_an_operation_may_have_a_server_of_its_own() -> None:
    """It runs there if the user allows it; its path's server takes precedence over the document's."""
    of_path = [{"url": "{v}", "variables": {"v": {"default": "v2"}}}]
    paths = {
        "/own": {
            "get": operation(
                operationId="own", servers=[{"url": "https://api.example"}]
            )
        },
        "/path": {"get": operation(operationId="path"), "servers": of_path},
        "/other": {"get": operation()},
    }
    server = Server(document(paths, servers=[{"url": "https://evil.example"}]))
    funcs = server.session(allow_server=("https://api.example",))
    with pytest.warns(
        UserWarning,
        match=r"Left out 1 of 3 .*: GET /other \(it runs on 'https://evil.example'\)",
    ):
        assert funcs.names == ["own", "path"]
    funcs.own()
    funcs.path()
    assert [request["path"] for request in server.seen] == ["/own", "/v1/v2/path"]
    # The code of a run allows the server too; %funcs connect can't, so the magic is left out.
    [python, curl] = snippets.blocks(funcs.own, funcs.own.form(), funcs.where)
    assert "allow_server='https://api.example')" in python["code"]
    assert curl["name"] == "curl"


def test_statuses_of_an_operation() -> None:
    """No content means no rows, a 404 is about the arguments; only requests that don't change data are retried."""
    server = Server(
        document(
            {
                "/a": {
                    "get": operation(operationId="look"),
                    "post": operation(operationId="change"),
                }
            }
        )
    )
    funcs = server.session()
    server.statuses = [204]
    assert funcs.change().empty
    server.statuses = [404]
    with pytest.raises(jf.FunctionError, match="status 404"):
        funcs.look()
    server.statuses = [503, 200]
    assert len(funcs.look()) == 1
    server.statuses = [503, 200]
    with pytest.raises(jf.FuncsError, match="503"):
        funcs.change()
    assert [request["method"] for request in server.seen] == [
        "POST",
        "GET",
        "GET",
        "GET",
        "POST",
    ]


@pytest.mark.parametrize(
    ("reply", "columns"),
    [
        ({"id": 1, "error": "none so far"}, ["id", "error"]),
        ({"body": "[1"}, ["body"]),
        ({"error": None, "body": {"a": 1}}, ["error", "body.a"]),
        ({"new": [1], "old": [1, 2]}, ["new", "old"]),
        ("[not JSON", ["Result"]),
        ("[" + "1, " * 100_000, ["Result"]),
    ],
)
def test_a_reply_is_in_no_envelope(reply: Any, columns: list[str]) -> None:
    """Only our own service wraps its results, so names such as error and body are columns like any other."""
    server, run = served(operation(), method="get")
    server.reply = reply
    frame = run()
    assert list(frame.columns) == columns
    assert len(frame) == 1


def test_the_rest_of_a_session_works_as_for_any_source() -> None:
    """A sweep, the history and the magic run an operation by its name."""
    texts = {
        "summary": "Runs.",
        "description": "This is a long text.\n\nIt has paragraphs.",
    }
    server, run = served(
        operation(param("n", schema={"type": "integer"}), **texts), method="get"
    )
    assert list(run.sweep(n=[1, 2])["n"]) == [1, 2]
    assert sorted(request["query"] for request in server.seen) == ["n=1", "n=2"]
    run(n=3)
    assert len(run.session.history) >= 1
    descriptions = run.session.find("run")["description"]
    assert list(descriptions) == ["Runs"]
    with shell_with(run.session) as shell:
        frame = shell.run_line_magic("funcs", "call run n=4 -q")
    assert frame["path"][0] == "/v1/run" or frame["path"][0] == "/run"


def test_the_document_of_our_own_service() -> None:
    """Its operations are listed, except those with other replies."""
    with warnings.catch_warnings(record=True):
        names = (
            Server(Path(web.__file__).with_name("openapi.json").read_bytes())
            .session()
            .names
        )
    assert "runFunction" in names

"""Sources of each kind whose functions say what reached them: two services, OpenAPI documents, MCP tools and Python."""

from __future__ import annotations

import datetime as dt
import enum
import json
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from decimal import Decimal  # noqa: TC003  # annotations are evaluated
from functools import partial
from pathlib import PurePosixPath  # noqa: TC003
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import httpx
import pandas as pd  # noqa: TC002
import pydantic
from typing_extensions import TypedDict  # the one of typing needs Python 3.12

import jupyter_funcs as jf
from jupyter_funcs.functions.markers import Between
from jupyter_funcs.service import embedded
from jupyter_funcs.service.builtin import companies, demo
from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine
from jupyter_funcs.service.publishing.registry import Registry, function
from tests.golden.values import told
from tests.servers import serving
from tests.service import conftest as services

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_funcs.api import Session

TOKEN = "a-token-of-the-golden-bodies"
Seen = list[str]


class Source(NamedTuple):
    """A session, and what its runs sent or received; a test empties the list first."""

    session: Session
    seen: Seen


class Recording(httpx.AsyncBaseTransport):
    """Record the requests to one path, or to all but one, and pass them on."""

    def __init__(self, seen: Seen, answer: Callable[[httpx.Request], Any]) -> None:
        self.seen = seen
        self.answer = answer

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        reply: httpx.Response = await self.answer(request)
        return reply

    def record(self, request: httpx.Request) -> None:
        """Note the method, the address, the headers that parameters make, and the body; JSON is the usual one."""
        parts = [
            request.method,
            request.url.raw_path.decode("ascii"),
            request.content.decode(),
        ]
        for name, value in sorted(request.headers.items()):
            if (
                name.startswith("x-")
                or name == "cookie"
                or (name == "content-type" and value != JSON_BODY)
            ):
                parts.append(f"({name}: {value})")
        self.seen.append(" ".join(filter(None, parts)))


# The services


@contextmanager
def demo_service() -> Iterator[Source]:
    """Take the listing of the embedded service; its runs have no rows, so that no data are generated."""
    service = embedded()
    inner = httpx.ASGITransport(service.app)
    seen: Seen = []

    async def answer(request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("/runFunction"):
            return await inner.handle_async_request(request)
        transport.record(request)
        return httpx.Response(200, json={"error": None, "body": "[]"})

    transport = Recording(seen, answer)
    session = jf.connect("http://localhost", token=service.token, transport=transport)
    yield Source(session, seen)
    session.close()


@dataclass
class Point:
    x: int
    y: float = 0


class Model(pydantic.BaseModel):
    x: int
    tags: list[str] = []


class Pair(TypedDict):
    low: int
    high: int


received: Seen = []


def arrived(arguments: dict[str, Any], **defaults: Any) -> list[dict[str, str]]:
    """Note the arguments that aren't the defaults."""
    differing = {
        name: value
        for name, value in arguments.items()
        if told(value) != told(defaults.get(name))
    }
    received.append(
        f"received: {', '.join(f'{name}={told(value)}' for name, value in differing.items())}".rstrip()
    )
    return [{"arrived": "yes"}]


@function(asset="a")
def published_kinds(
    text: str | None = None,
    whole: int | None = None,
    number: float | None = None,
    flag: bool | None = None,
    day: dt.date | None = None,
    choice: Literal["day", "week"] | None = None,
    grade: Literal[1, 2] | None = None,
    texts: list[str] | None = None,
    numbers: list[int] | None = None,
    maybe: int | None = 5,
    point: Point | None = None,
    counts: dict[str, int] | None = None,
) -> Any:
    """Note what arrived."""
    return arrived(locals(), maybe=5)


@function(asset="a")
def published_needs(
    name: str,
    count: Annotated[int, Between(1, 9)],
    wanted: list[str],
    on: bool,
    when: dt.date,
) -> Any:
    """Note what arrived."""
    return arrived(locals())


@function(asset="a")
def published_defaults(
    name: str = "x",
    count: int = 3,
    wanted: list[str] = ["p"],  # noqa: B006  # as people write it
    on: bool = True,
    when: dt.date = dt.date(2026, 1, 1),
    ratio: float = 0.5,
) -> Any:
    """Note what arrived."""
    return arrived(
        locals(),
        name="x",
        count=3,
        wanted=["p"],
        on=True,
        when=dt.date(2026, 1, 1),
        ratio=0.5,
    )


@function(asset="a")
def published_structures(
    model: Model | None = None,
    models: list[Model] | None = None,
    pair: Pair | None = None,
    matrix: list[list[float]] | None = None,
    flags: list[bool] | None = None,
    days: list[dt.date] | None = None,
    either: Point | list[Point] = Point(0),  # noqa: B008  # as people write it
) -> Any:
    """Note what arrived."""
    return arrived(locals(), either=Point(0))


@contextmanager
def published_service() -> Iterator[Source]:
    """Publish functions of one's own with ``@function``; the record has what was sent and what they received."""
    functions = [
        published_kinds,
        published_needs,
        published_defaults,
        published_structures,
    ]
    engine = DuckDBEngine(companies.reference(), demo.cards)
    wire = services.serving(Registry(functions, author="t"), engine)
    inner = wire.transport()
    seen: Seen = []

    async def answer(request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("/runFunction"):
            return await inner.handle_async_request(request)
        transport.record(request)
        received.clear()
        reply = await inner.handle_async_request(request)
        seen.extend(received)
        return reply

    transport = Recording(seen, answer)
    session = jf.connect("http://localhost", token=wire.token, transport=transport)
    yield Source(session, seen)
    session.close()


# OpenAPI documents

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
POINT = {
    "type": "object",
    "properties": {"x": WHOLE, "y": {"type": "number"}},
    "required": ["x"],
}
SCHEMAS: dict[str, Any] = {
    "text": TEXT,
    "whole": WHOLE,
    "number": {"type": "number"},
    "flag": {"type": "boolean"},
    "day": {"type": "string", "format": "date"},
    "moment": {"type": "string", "format": "date-time"},
    "choice": {"type": "string", "enum": ["day", "week"]},
    "grade": {"enum": [1, 2]},
    "texts": {"type": "array", "items": TEXT},
    "numbers": {"type": "array", "items": WHOLE},
    "maybe": {"type": ["integer", "null"], "default": 5},
    "either": {"anyOf": [WHOLE, TEXT]},
    "wording": {"anyOf": [TEXT, {"type": "number"}]},
    "point": POINT,
    "counts": {"type": "object", "additionalProperties": WHOLE},
    "anything": {},
}
"""By the names of the kinds of values."""

REPLY = {"200": {"description": "", "content": {"application/json": {"schema": {}}}}}
JSON_BODY = "application/json"
FORM_BODY = "application/x-www-form-urlencoded"
ARRAY = SCHEMAS["numbers"]


def get(*params: dict[str, Any]) -> dict[str, Any]:
    return {"get": {"parameters": list(params), "responses": REPLY}}


def post(
    schema: Any, kind: str = JSON_BODY, *, required: bool = True, **about: Any
) -> dict[str, Any]:
    body = {"required": required, "content": {kind: {"schema": schema, **about}}}
    return {"post": {"requestBody": body, "responses": REPLY}}


def param(
    name: str, where: str = "query", schema: Any = TEXT, **more: Any
) -> dict[str, Any]:
    entry = {"name": name, "in": where, **more}
    if where == "path":
        entry["required"] = True
    return entry | ({} if schema is None else {"schema": schema})


def properties(**schemas: Any) -> dict[str, Any]:
    return {"type": "object", "properties": schemas}


QUERY = {
    "/kinds": get(
        *(param(name, schema=schema or None) for name, schema in SCHEMAS.items())
    )
}
BODY = {"/kinds": post(properties(**SCHEMAS))}
STYLES = {
    "/form": get(
        param("ids", schema=ARRAY),
        param("o", schema=POINT),
        param("words", schema=SCHEMAS["texts"]),
    ),
    "/csv": get(
        param("ids", schema=ARRAY, explode=False),
        param("words", schema=SCHEMAS["texts"], explode=False),
    ),
    "/pairs": get(param("o", schema=POINT, explode=False)),
    "/pipes": get(
        param("ids", schema=SCHEMAS["texts"], style="pipeDelimited", explode=False)
    ),
    "/spaces": get(
        param("ids", schema=SCHEMAS["texts"], style="spaceDelimited", explode=False)
    ),
    "/deep": get(param("o", schema={"type": "object"}, style="deepObject")),
    "/json": get(
        {"name": "o", "in": "query", "content": {JSON_BODY: {"schema": POINT}}}
    ),
    "/json-text": get(
        {"name": "o", "in": "query", "content": {JSON_BODY: {"schema": TEXT}}}
    ),
    "/objects": get(param("several", schema={"type": "array", "items": POINT})),
    "/empty": get(
        param("q", allowEmptyValue=True), param("reserved", allowReserved=True)
    ),
    "/need": get(
        param("q", required=True),
        param("page", schema=WHOLE | {"minimum": 1, "default": 1}),
    ),
    "/simple/{id}": get(param("id", "path")),
    "/simple-ids/{ids}": get(param("ids", "path", ARRAY)),
    "/simple-object/{o}": get(param("o", "path", POINT)),
    "/exploded/{o}": get(param("o", "path", POINT, explode=True)),
    "/label/{id}": get(param("id", "path", style="label")),
    "/matrix/{id}": get(param("id", "path", style="matrix")),
    "/untyped/{id}": get(param("id", "path", None)),
    "/header": get(
        param("X-Text", "header"),
        param("X-Ids", "header", ARRAY),
        param("X-Whole", "header", WHOLE),
    ),
    "/cookie": get(param("session", "cookie"), param("q")),
    "/untyped": get(param("q", schema=None), param("r", schema=True)),
}
BODIES = {
    "/required": post(properties(a=WHOLE, b=TEXT) | {"required": ["a"]}),
    "/const": post(
        properties(kind={"const": "card"}, n={"const": 7}, level=WHOLE | {"default": 3})
    ),
    "/mixed-enum": post(properties(value={"enum": [1, "1", None, True, "auto"]})),
    "/nullable": post(
        properties(
            text={"type": ["string", "null"]},
            texts={"type": ["array", "null"], "items": TEXT},
        )
    ),
    "/one-of": post(
        properties(
            value={
                "oneOf": [WHOLE, {"type": "boolean"}, {"type": "array", "items": WHOLE}]
            }
        )
    ),
    "/nested": post(
        properties(
            order=properties(point=POINT, lines={"type": "array", "items": POINT})
        )
    ),
    "/flags": post(properties(flags={"type": "array", "items": {"type": "boolean"}})),
    "/listed": post(
        properties(
            grades={"type": "array", "items": {"enum": [1, 2]}},
            rates=ARRAY | {"uniqueItems": True},
        )
    ),
    "/matrix": post(properties(rows={"type": "array", "items": ARRAY})),
    "/anything": post({}),
    "/no-schema": {
        "post": {"requestBody": {"content": {JSON_BODY: {}}}, "responses": REPLY}
    },
    "/list": post(ARRAY),
    "/text": post(TEXT),
    "/free": post({"type": "object", "additionalProperties": True}),
    "/union": post({"oneOf": [POINT, properties(text=TEXT)]}),
    "/optional": post(properties(a=WHOLE), required=False),
    "/form": post(
        properties(
            **{
                name: SCHEMAS[name]
                for name in ("text", "whole", "flag", "texts", "point")
            }
        ),
        FORM_BODY,
    ),
    "/form-styles": post(
        properties(ids=ARRAY, o=POINT),
        FORM_BODY,
        encoding={
            "ids": {"style": "spaceDelimited", "explode": False},
            "o": {"style": "deepObject", "explode": True},
        },
    ),
    "/vendor": post(properties(a=WHOLE), "application/vnd.api+json"),
    "/several": {
        "post": {
            "requestBody": {
                "content": {
                    kind: {"schema": properties(a=WHOLE)}
                    for kind in (FORM_BODY, JSON_BODY)
                }
            },
            "responses": REPLY,
        }
    },
    "/upload": post(
        properties(file={"type": "string", "format": "binary"}), "multipart/form-data"
    ),
    "/put/{id}": {
        "put": {
            "parameters": [
                param("id", "path", WHOLE),
                param("q"),
                param("X-Mode", "header"),
            ],
            "requestBody": {
                "content": {JSON_BODY: {"schema": properties(id=TEXT, a=WHOLE)}}
            },
            "responses": REPLY,
        }
    },
}
OLDER = {
    "/nullable": post(
        properties(
            whole=WHOLE | {"nullable": True},
            choice={"enum": ["a", None], "nullable": True},
        )
    ),
    "/bounds": get(
        param(
            "n", schema=WHOLE | {"minimum": 0, "exclusiveMinimum": True, "maximum": 9}
        )
    ),
}
DOCUMENTS = {
    "openapi-query": {"openapi": "3.1.0", "paths": QUERY},
    "openapi-body": {"openapi": "3.1.0", "paths": BODY},
    "openapi-styles": {"openapi": "3.1.0", "paths": STYLES},
    "openapi-bodies": {"openapi": "3.1.0", "paths": BODIES},
    "openapi-3.0": {"openapi": "3.0.3", "paths": OLDER},
}


@contextmanager
def openapi(name: str) -> Iterator[Source]:
    """Connect to a document, whose operations are named by method and path."""
    seen: Seen = []

    async def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/openapi.json"):
            return httpx.Response(200, json=DOCUMENTS[name])
        transport.record(request)
        return httpx.Response(200, json=[{"arrived": "yes"}])

    transport = Recording(seen, answer)
    session = jf.connect(
        "https://shop.example/openapi.json", token=TOKEN, transport=transport
    )
    yield Source(session, seen)
    session.close()


# MCP tools

TOOLS = {
    "kinds": properties(**SCHEMAS),
    "needs": properties(name=TEXT, count=WHOLE)
    | {"required": ["name", "count", "unlisted"]},
    "nested": properties(order={"$ref": "#/$defs/Order"})
    | {"$defs": {"Order": properties(point=POINT, ids=ARRAY)}},
    "unions": properties(
        several={"anyOf": [ARRAY, WHOLE, {"type": "null"}]},
        mixed={"type": ["string", "integer", "boolean"]},
        pair={"type": "array", "prefixItems": [WHOLE, TEXT]},
        ref={"anyOf": [{"$ref": "#/$defs/Color"}, {"type": "null"}], "default": None},
        const={"const": 7},
    )
    | {"$defs": {"Color": {"enum": ["red", "blue"]}}},
    "whole": {"type": "object", "anyOf": [properties(a=WHOLE), properties(b=TEXT)]},
    "open": {"type": "object", "additionalProperties": True},
    "nothing": {"type": "object"},
}


@contextmanager
def mcp() -> Iterator[Source]:
    """Serve tools over HTTP that record their arguments as they arrive, before anything reads them."""
    import mcp_types
    from mcp.server.lowlevel import Server

    seen: Seen = []

    async def list_tools(*_: Any) -> Any:
        tools = [
            mcp_types.Tool(name=name, input_schema=schema)
            for name, schema in TOOLS.items()
        ]
        return mcp_types.ListToolsResult(tools=tools)

    async def call_tool(_: Any, params: Any) -> Any:
        seen.append(f"{params.name} {json.dumps(params.arguments)}")
        return mcp_types.CallToolResult(
            content=[mcp_types.TextContent(type="text", text='[{"arrived": "yes"}]')]
        )

    server = Server("golden", on_list_tools=list_tools, on_call_tool=call_tool)
    with serving(server.streamable_http_app(), lifespan="on") as url:
        session = jf.connect(f"{url}/mcp", token=TOKEN)
        yield Source(session, seen)
        session.close()


# Python functions


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


def kinds(
    text: str = "unset",
    whole: int = 0,
    number: float = 0,
    flag: bool | None = None,
    day: dt.date | None = None,
    moment: dt.datetime | None = None,
    choice: Literal["day", "week"] | None = None,
    grade: Literal[1, 2] | None = None,
    texts: list[str] | None = None,
    numbers: list[int] | None = None,
    maybe: int | None = 5,
    either: int | str = "unset",
    wording: str | float = "unset",
    point: Point | None = None,
    counts: dict[str, int] | None = None,
    anything="unset",  # noqa: ANN001  # as people write it
) -> Any:
    """Note what arrived."""
    return arrived(
        locals(),
        text="unset",
        whole=0,
        number=0,
        maybe=5,
        either="unset",
        wording="unset",
        anything="unset",
    )


def more_kinds(
    color: Color | None = None,
    colors: list[Color] | None = None,
    exact: Decimal | None = None,
    span: dt.timedelta | None = None,
    time: dt.time | None = None,
    path: PurePosixPath | None = None,
    model: Model | None = None,
    pair: Pair | None = None,
    names: set[str] | None = None,
    couple: tuple[int, str] | None = None,
    frame: pd.DataFrame | None = None,
    any_value: Any = None,
    thing: object = None,
    data: bytes | None = None,
    days: list[dt.date] | None = None,
    several: list | None = None,  # type: ignore[type-arg]
    mapping: dict | None = None,  # type: ignore[type-arg]
) -> Any:
    """Note what arrived."""
    return arrived(locals())


def guessed(count=3, ratio=0.5, name="x", on=True, items=("a",), nothing=None) -> Any:  # noqa: ANN001
    """Note what arrived."""
    return arrived(locals(), count=3, ratio=0.5, name="x", on=True, items=("a",))


def bare(value) -> Any:  # noqa: ANN001
    """Note what arrived."""
    return arrived(locals(), value="unset")


def starred(first: int, /, *rest: int, last: str = "z", **more: str) -> Any:
    """Note what arrived."""
    return arrived(locals())


@contextmanager
def python() -> Iterator[Source]:
    """Record what the functions receive."""
    session = jf.connect([kinds, more_kinds, guessed, bare, starred])
    yield Source(session, received)
    session.close()


SOURCES: dict[str, Callable[[], AbstractContextManager[Source]]] = {
    "demo": demo_service,
    "published": published_service,
    **{name: partial(openapi, name) for name in DOCUMENTS},
    "mcp": mcp,
    "python": python,
}
"""How each source is opened, by its name."""

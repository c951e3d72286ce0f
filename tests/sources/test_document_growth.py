"""A listing takes linear time: whatever its parts refer to, each is read once; and it has a deadline anyway."""

from __future__ import annotations

import gc
import json
import threading
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

import jupyter_funcs as jf
from jupyter_funcs.catalog.changes import relisted
from jupyter_funcs.catalog.fields import read_fields, schema_problems
from jupyter_funcs.catalog.listing import Catalog, Function, Param, parse_listing
from jupyter_funcs.client import client, remote
from jupyter_funcs.client.cache import run_keys
from jupyter_funcs.client.options import CallOptions
from jupyter_funcs.connection.profiles import NO_TOKEN, Connection
from jupyter_funcs.sources import mcp, openapi, openapi_schemas
from tests import growth

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXT = {"type": "string"}
HERE = Connection("document", "http://127.0.0.1:1/x.json", NO_TOKEN, kind="openapi")
OK: dict[str, Any] = {"responses": {"200": {}}}


def listed(document: dict[str, Any]) -> Callable[[], Catalog]:
    data = json.dumps({"openapi": "3.1.0", **document}).encode()

    def read() -> Catalog:
        catalog = openapi.read_document(data, HERE)
        schema_problems(catalog)
        return catalog

    return read


def ref(name: str, kind: str = "schemas") -> dict[str, str]:
    return {"$ref": f"#/components/{kind}/{name}"}


def paths(count: int, item: Any = None) -> dict[str, Any]:
    return {
        f"/p{at}": item(at) if callable(item) else item or {"get": OK}
        for at in range(count)
    }


def query(schema: Any, name: str = "q", **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema, **more}


def reading(schema: Any, count: int, **schemas: Any) -> dict[str, Any]:
    """Paths with one parameter each, with a shared schema or one per path."""

    def item(at: int) -> dict[str, Any]:
        return {
            "get": {
                **OK,
                "parameters": [query(schema(at) if callable(schema) else schema)],
            }
        }

    return {"paths": paths(count, item), "components": {"schemas": schemas}}


def posting(schema: Any, count: int, **schemas: Any) -> dict[str, Any]:
    def item(at: int) -> dict[str, Any]:
        own = {"schema": schema(at) if callable(schema) else schema}
        return {"post": {**OK, "requestBody": {"content": {"application/json": own}}}}

    return {"paths": paths(count, item), "components": {"schemas": schemas}}


def sharing(operation: dict[str, Any], count: int, **more: Any) -> dict[str, Any]:
    """Paths that all refer to one item."""
    item = {"get": {**OK, **operation}, **more}
    return {
        "paths": paths(count, ref("X", "pathItems")),
        "components": {"pathItems": {"X": item}},
    }


def components(count: int, kind: str, item: Any, **parts: Any) -> dict[str, Any]:
    return {"paths": paths(count, item), "components": {kind: parts}}


def scheme(at: int) -> dict[str, str]:
    return {"type": "apiKey", "in": "header", "name": f"X-{at}"}


def elsewhere(at: int) -> dict[str, str]:
    return {"$ref": f"https://x.example/{at}.json"}


TAKING_P = {"get": {**OK, "parameters": [ref("P", "parameters")]}}
TAKING_B = {"post": {**OK, "requestBody": ref("B", "requestBodies")}}
KINDS: dict[str, Callable[[int], dict[str, Any]]] = {
    "servers": lambda n: {
        "paths": paths(n),
        "servers": [{"url": f"https://s{at}.example"} for at in range(2 * n)] + [{"url": "/"}],
    },
    "variables of a server": lambda n: {
        "paths": paths(n),
        "servers": [
            {
                "url": "http://127.0.0.1:1/" + "".join(f"{{a{at}}}" for at in range(4 * n)),
                "variables": {f"a{at}": {"default": "x"} for at in range(4 * n)},
            }
        ],
    },
    "a long variable that a server uses again": lambda n: {
        "paths": paths(1),
        "servers": [{"url": "/" + "{a}" * 9 * n, "variables": {"a": {"default": "x" * 9 * n}}}, {"url": "/"}],
    },
    "path items": lambda n: sharing({}, n, parameters=[query(TEXT, f"a{at}") for at in range(n)]),
    "parameters of an operation": lambda n: sharing({"parameters": [query(TEXT, f"a{at}") for at in range(n)]}, n),
    "schemes": lambda n: {
        **reading(TEXT, n),
        "components": {"securitySchemes": {f"s{at}": scheme(at) for at in range(4 * n)}},
    },
    "security": lambda n: {"paths": paths(n), "security": [{f"s{at}": []} for at in range(8 * n)]},
    "responses": lambda n: components(
        n, "responses", {"get": {"responses": {"200": ref("R", "responses")}}}, R={"content": dict.fromkeys(kinds(n))}
    ),
    "responses of an item": lambda n: sharing({"responses": {str(at): {} for at in range(200, 200 + 8 * n)}}, n),
    "tags": lambda n: sharing({"tags": [0] * 99 * n}, n),
    "callbacks and links": lambda n: sharing({"callbacks": {f"c{at}": {"/x": {"get": OK}} for at in range(9 * n)}}, n),
    "long texts": lambda n: sharing({"description": "&amp; x " * 40 * n, "operationId": "o" * 99 * n}, n),
    "a long description of a parameter": lambda n: components(
        n, "parameters", TAKING_P, P=query(TEXT, description="&amp; " * 80 * n)
    ),
    "a long description of a schema": lambda n: reading(ref("A"), n, A={**TEXT, "description": "&amp; " * 80 * n}),
    "a long name": lambda n: components(n, "parameters", TAKING_P, P=query(TEXT, "\u202e" * 99 * n)),
    "a chain of references": lambda n: reading(
        lambda at: ref(f"A{at}"), n, **{f"A{at}": ref(f"A{at + 1}") for at in range(n)}
    ),
    "a long reference": lambda n: reading(ref("A"), n, A=ref("~1" * 200 * n), **{"/" * 200 * n: TEXT}),
    "options": lambda n: reading(ref("A"), n, A={"enum": list(range(20 * n))}),
    "options with a default": lambda n: reading(
        lambda at: {"default": at, **ref("A")}, n, A={"enum": list(range(20 * n))}
    ),
    "options in two lists of many parameters": lambda n: reading(
        lambda at: {"default": at, **ref("A")}, n, A={**ref("B"), "enum": numbers(n)}, B={"enum": numbers(n)[::-1]}
    ),
    "options in two lists": lambda n: reading(
        {"allOf": [{"enum": list(range(60 * n))}, {"enum": list(range(60 * n, 0, -1))}]}, 1
    ),
    "options one by one": lambda n: reading(ref("A"), n, A={"oneOf": [{"const": at} for at in range(9 * n)]}),
    "parts": lambda n: reading(ref("A"), n, A={"allOf": [{f"min{at}": 1} for at in range(9 * n)]}),
    "types": lambda n: reading(lambda at: {"default": at, **ref("A")}, n, A={"type": ["string"] * 20 * n}),
    "a default": lambda n: reading(lambda at: {"minimum": at, **ref("A")}, n, A={"default": list(range(40 * n))}),
    "examples and mappings": lambda n: reading(
        ref("A"), n, A={**TEXT, "examples": [""] * 40 * n, "discriminator": {"mapping": dict.fromkeys(kinds(n), "#/x")}}
    ),
    "bodies": lambda n: posting(ref("A"), n, A={"properties": {f"p{at}": TEXT for at in range(9 * n)}}),
    "parts of bodies": lambda n: posting(ref("A"), n, A={"allOf": [{"type": "object"}] * 9 * n}),
    "required properties": lambda n: posting(
        lambda at: {"allOf": [ref("A")], "minProperties": at}, n, A={"required": [f"p{at}" for at in range(20 * n)]}
    ),
    "media types of a body": lambda n: components(
        n, "requestBodies", TAKING_B, B={"content": dict.fromkeys(kinds(n))}
    ),
    "files": lambda n: {"paths": paths(n, lambda at: {"get": {"parameters": [elsewhere(at)]}, "put": OK})},
    "names that are equal": lambda n: {"paths": paths(9 * n, {"get": {**OK, "operationId": "same"}})},
    "names that are numbered": lambda n: {
        "paths": paths(9 * n, lambda at: {"get": {**OK, "operationId": f"same ({at // 2})" if at % 2 else "same"}})
    },
}  # fmt: skip


def numbers(n: int) -> list[int]:
    return list(range(20 * n))


def kinds(n: int) -> list[str]:
    return [f"text/x{at}" for at in range(9 * n)]


def assert_linear(work: Callable[[int], Callable[[], object]]) -> None:
    """Assert that the function that `work` returns for a size takes linear time."""
    prepared = cache(work)
    growth.assert_linear(lambda size: prepared(size)(), most=2000, start=50)


SWAGGER: dict[str, Callable[[int], dict[str, Any]]] = {
    "types of replies": lambda n: {
        "produces": kinds(n),
        "paths": paths(n, {"get": {"responses": {"200": {"$ref": "#/responses/R"}}}}),
        "responses": {"R": {"schema": TEXT}},
    },
    "path items": lambda n: {
        "paths": paths(n, {"$ref": "#/x-item"}),
        "x-item": {"get": OK, "parameters": [query(TEXT, f"a{at}") for at in range(n)]},
    },
    "bodies": lambda n: {
        "paths": paths(n, {"post": {**OK, "parameters": [{"$ref": "#/parameters/B"}]}}),
        "parameters": {
            "B": {
                "in": "body",
                "name": "b",
                "schema": {"properties": dict.fromkeys(kinds(n), TEXT)},
            }
        },
    },
}


FAST = ["security", "schemes"]
SLOW = [
    pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS if kind not in FAST
]


@pytest.mark.slow
@pytest.mark.fault(147)
@pytest.mark.parametrize("kind", [*FAST, *SLOW])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_document_takes_time_in_its_size(kind: str) -> None:
    """Servers, items, schemes, responses, texts and options that many paths share don't multiply with them."""
    assert_linear(lambda n: listed(KINDS[kind](n)))


@pytest.mark.fault(147)
@pytest.mark.slow
@pytest.mark.parametrize("kind", SWAGGER)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_swagger_document_takes_time_in_its_size(kind: str) -> None:
    """Parts that many paths share are converted once."""
    assert_linear(
        lambda n: listed({"openapi": None, "swagger": "2.0", **SWAGGER[kind](n)})
    )


def tools(count: int, **schema: Any) -> Callable[[], Catalog]:
    tool = {"name": "t", "inputSchema": {"type": "object", **schema}}
    named = [{**tool, "name": f"t{at}"} for at in range(count)]
    data = json.dumps({"server": "tools", "tools": named, "is_cut": False}).encode()

    def read() -> Catalog:
        catalog = mcp._read(None, "tools", data)
        schema_problems(catalog)
        return catalog

    return read


TOOLS: dict[str, Callable[[int], Callable[[], object]]] = {
    "required": lambda n: tools(
        1,
        required=[f"p{at}" for at in range(n)],
        properties={f"p{at}": TEXT for at in range(n)},
    ),
    "options": lambda n: tools(
        1,
        properties={f"p{at}": {"$ref": "#/$defs/A"} for at in range(n)},
        **{"$defs": {"A": {"enum": list(range(5 * n))}}},
    ),
    "unknown words": lambda n: tools(
        1,
        properties={f"p{at}": {"$ref": "#/$defs/A"} for at in range(n)},
        **{"$defs": {"A": {"type": "string", **{f"x-{at}": 1 for at in range(5 * n)}}}},
    ),
}


@pytest.mark.slow
@pytest.mark.fault(147)
@pytest.mark.parametrize("kind", TOOLS)
def test_tools_take_time_in_their_size(kind: str) -> None:
    """Definitions that the parameters of a tool share are read once."""
    assert_linear(TOOLS[kind])


CONTENTS: dict[str, Callable[[int], Callable[[], Catalog]]] = {
    "definitions of a tool": lambda n: tools(
        1,
        properties={f"p{at}": {"$ref": f"#/$defs/A{at}"} for at in range(n)},
        **{"$defs": texts(n)},
    ),
    "a long definition": lambda n: listed(
        reading(
            lambda at: {"default": at, **ref("A")}, n, A={"enum": list(range(20 * n))}
        )
    ),
    "schemas of parameters": lambda n: listed(
        components(n, "parameters", TAKING_P, P=query({"enum": list(range(20 * n))}))
    ),
}


def texts(n: int) -> dict[str, Any]:
    return {f"A{at}": TEXT for at in range(n)}


@pytest.mark.slow
@pytest.mark.fault(147)
@pytest.mark.parametrize("kind", CONTENTS)
def test_listing_again_takes_time_in_the_size_of_the_document(kind: str) -> None:
    """Comparing functions with earlier ones and hashing them for cache keys reads each shared schema once."""

    def again(n: int) -> Callable[[], object]:
        before, now = (CONTENTS[kind](n)() for _ in range(2))

        def compare() -> None:
            assert relisted(before, now) == "Listed again: nothing has changed."
            run_keys("me", now.functions[0], CallOptions(), [{}])

        return compare

    assert_linear(again)


@pytest.mark.fault(147)
def test_a_function_has_changed_if_a_shared_definition_has() -> None:
    """It is listed as changed, with another cache key for its results; another order of parameters isn't a change."""
    first, other = (
        listed(reading(ref("A"), 2, A={"enum": options}))()
        for options in (["a", "b"], ["a", "c"])
    )
    assert relisted(first, other) == "Listed again: 2 changed (GET /p0 and GET /p1)."
    keys = [
        run_keys("me", catalog.functions[0], CallOptions(), [{}])
        for catalog in (first, first, other)
    ]
    assert keys[0] == keys[1] != keys[2]
    moved = Catalog(function.changed(sort_value=7) for function in first)
    assert relisted(first, moved) == "Listed again: nothing has changed."


@pytest.mark.slow
@pytest.mark.fault(147)
def test_parameters_that_refer_to_the_same_definitions_share_them() -> None:
    """190 definitions of thousands of parameters are collected once; each parameter keeps its own keywords."""
    schemas = {
        f"A{at}": {"properties": {"next": ref(f"A{(at + 1) % 190}")}}
        for at in range(190)
    }
    catalog = listed(
        reading(lambda at: {**ref("A0"), "default": at}, 2000, **schemas)
    )()
    shared = [param.schema for function in catalog for param in function.params]
    assert [schema["default"] for schema in shared] == list(range(2000))
    assert len(shared[0]["$defs"]) == 190
    assert len({id(schema["$defs"]) for schema in shared}) == 1


@pytest.mark.fault(147)
def test_definitions_of_all_parameters_are_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If parameters refer to different definitions, those beyond a limit accept any value."""
    monkeypatch.setattr(openapi_schemas, "_MAX_ALL_DEFINITIONS", 100)
    schemas = {f"A{at}": {"not": ref(f"A{at + 1}")} for at in range(20)}
    catalog = listed(
        reading(
            lambda at: {"anyOf": [ref("A0"), ref(f"A{at}")]}, 20, **schemas, A20=TEXT
        )
    )()
    resolved = [param.schema for function in catalog for param in function.params]
    assert [schema is True for schema in resolved] == [False] * 4 + [True] * 16


@pytest.mark.slow
@pytest.mark.fault(147)
def test_the_garbage_collector_does_not_look_through_a_document_that_is_read(
    tmp_path: Path,
) -> None:
    """It would take most of the time, during which no other thread runs."""
    file = tmp_path / "document.json"
    file.write_text(json.dumps({"openapi": "3.1.0", "paths": paths(30_000)}))
    collections: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            collections.append(threading.get_ident())

    threshold = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    gc.callbacks.append(note)
    try:
        assert len(list(jf.connect(file, allow_server="http://127.0.0.1:1"))) == 30_000
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*threshold)
    assert not [thread for thread in collections if thread != threading.get_ident()]


@pytest.mark.fault(147)
def test_names_that_many_operations_share_are_searched_as_one_text() -> None:
    """A body with 300 kB of long names isn't copied for each operation."""
    names = {f"{at:03}" + "x" * 1000: TEXT for at in range(200)}
    catalog = listed(posting(ref("A"), 100, A={"properties": names}))()
    sizes = {id(text): len(text) for *_, text in catalog.search_texts}
    assert sum(sizes.values()) < 2_000_000
    assert catalog.search("post p77 000x")[0].name == "POST /p77"


@pytest.mark.fault(147)
def test_equal_names_of_a_listing_take_time_in_their_number() -> None:
    """Ten thousand functions with the same name get different names."""
    names = ["same", "same_2", "Same", "s a m e"]

    def named(n: int) -> Callable[[], object]:
        data = json.dumps(
            [{"name": names[at % 4], "params": []} for at in range(5 * n)]
        ).encode()
        return lambda: parse_listing(data)

    assert_linear(named)


@pytest.mark.fault(147)
def test_a_name_of_combining_characters_takes_time_in_its_length() -> None:
    """Python itself takes quadratic time to normalize it, and no other thread runs meanwhile."""

    def named(n: int) -> Callable[[], object]:
        data = json.dumps(
            [{"name": "a" + "\u0315\u0300" * 10 * n, "params": []}]
        ).encode()
        return lambda: parse_listing(data).search_texts

    assert_linear(named)


@pytest.mark.fault(147)
@pytest.mark.parametrize("name", ["d{}_date", "Symbol{}"])
def test_a_form_takes_time_in_its_size(name: str) -> None:
    """Parameters that share their options, and dates that may be pairs, are read once each."""
    options = {"A": {"enum": list(range(2000))}}

    def form(n: int) -> Callable[[], object]:
        schema: Any = (
            {"$ref": "#/$defs/A", "$defs": options} if name == "Symbol{}" else None
        )
        params = tuple(Param(name=name.format(at), schema=schema) for at in range(n))
        return lambda: read_fields(Function(name="F", params=params))

    assert_linear(form)


@pytest.mark.fault(147)
def test_rules_about_other_parameters_take_time_in_their_number() -> None:
    """Each of thousands of parameters is required if another one is not set."""

    def form(n: int) -> Callable[[], object]:
        texts = [f"Required if P{at + 1} is not specified." for at in range(4 * n)]
        params = tuple(
            Param(name=f"P{at}", description=text) for at, text in enumerate(texts)
        )
        return lambda: read_fields(Function(name="F", params=params))

    assert_linear(form)


@pytest.mark.slow
@pytest.mark.fault(147)
def test_a_document_is_read_within_the_deadline_of_the_listing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its own thread: others list and run meanwhile, and the caller gets the error."""
    for module in (client, remote):
        monkeypatch.setattr(module, "LIST_SECONDS", 0.5)
    threads: list[threading.Thread] = []
    released = threading.Event()
    read = openapi.read_document

    def slow(data: bytes, connection: Connection) -> Catalog:
        threads.append(threading.current_thread())
        released.wait(60)
        return read(data, connection)

    monkeypatch.setattr(openapi, "read_document", slow)
    file = tmp_path / "document.json"
    file.write_text(json.dumps({"openapi": "3.1.0", "paths": paths(1)}))
    funcs = jf.connect(file, allow_server="http://127.0.0.1:1")
    with pytest.raises(
        jf.DeadlineError, match="The listing of the functions did not finish"
    ) as failed:
        funcs.refresh()
    assert 1 <= len(str(failed.value).split("\n")) <= 3
    # On the loop, which isn't blocked.
    assert jf.connect([parse_listing]).names == ["Parse Listing"]
    assert not {threading.current_thread().name, "jupyter_funcs"} & {
        thread.name for thread in threads
    }
    released.set()
    for thread in threads:
        thread.join(60)
    assert funcs.refresh().names == ["GET /p0"]

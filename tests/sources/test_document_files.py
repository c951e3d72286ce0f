"""A document of several files is read whole, from its own folder or origin; nothing else is read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

import jupyter_funcs as jf
from jupyter_funcs.connection.profiles import NO_TOKEN, Connection
from jupyter_funcs.sources import openapi, openapi_files
from jupyter_funcs.sources.openapi import read_document
from tests import growth
from tests.faults.canary import CANARY
from tests.servers import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.requests import Request

    from jupyter_funcs.catalog.listing import Catalog

TEXT = {"type": "string"}
OK: dict[str, Any] = {"responses": {"200": {"description": ""}}}
WHOLE: dict[str, Any] = {
    "api.yaml": {
        "openapi": "3.0.3",
        "servers": [{"url": "https://api.example"}],
        "paths": {
            "/a": {"$ref": "paths/a.yml"},
            "/b": {
                "put": {"$ref": "paths/put.yml"},
                "get": {
                    **OK,
                    "operationId": "b",
                    "parameters": [{"$ref": "./shared.json#/components/parameters/Day"}],
                    "responses": {"200": {"$ref": "shared.json#/components/responses/Csv"}},
                },
                "post": {
                    **OK,
                    "operationId": "add",
                    "requestBody": {"$ref": "shared.json#/components/requestBodies/It"},
                },
            },
        },
        "components": {"schemas": {"Unit": TEXT | {"enum": ["day", "week"]}}},
    },
    "paths/a.yml": {
        "get": {
            **OK,
            "operationId": "a",
            "parameters": [
                {"name": "unit", "in": "query", "schema": {"$ref": "../api.yaml#/components/schemas/Unit"}},
                {"name": "item", "in": "query", "schema": {"$ref": "../schemas/my item.json"}},
            ],
        }
    },
    "paths/put.yml": {
        **OK,
        "operationId": "put",
        "parameters": [{"$ref": "../shared.json#/components/parameters/Day"}],
    },
    "shared.json": {
        "components": {
            "parameters": {"Day": {"name": "day", "in": "query", "schema": TEXT | {"format": "date"}}},
            "responses": {"Csv": {"content": {"text/csv": {}}}},
            "requestBodies": {"It": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/It"}}}}},
            "schemas": {"It": {"allOf": [{"$ref": "schemas/my%20item.json"}, {"properties": {"n": TEXT}}]}},
        }
    },
    "schemas/my item.json": {
        "type": "object",
        "properties": {
            "in": {"$ref": "#"},
            "unit": {"$ref": "../paths/../api.yaml#/components/schemas/Unit"},
            "it": {"$ref": "../shared.json#/components/schemas/It"},
        },
        "example": {"$ref": "not-read.json"},
        "x-more": {"$ref": "not-read.json"},
    },
}  # fmt: skip


def written(folder: Path, files: dict[str, Any]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text_of(name, content))
    return folder / next(iter(files))


def text_of(name: str, content: Any) -> str:
    if isinstance(content, str):
        return content
    return json.dumps(content) if name.endswith(".json") else yaml.safe_dump(content)


def read(path: Path) -> Catalog:
    server = "https://api.example"
    address = path.absolute().as_uri()
    connection = Connection(
        path.name,
        address,
        NO_TOKEN,
        kind="openapi",
        location=str(path),
        allow_server=(server,),
    )
    return read_document(path.read_bytes(), connection)


def referring(param: str, **files: Any) -> dict[str, Any]:
    """A document with two operations: one has a parameter from another file, the other has none."""
    paths = {"/a": {"get": {**OK, "parameters": [{"$ref": param}]}}, "/b": {"get": OK}}
    return {"api.json": {"openapi": "3.0.3", "paths": paths}, **files}


def expect_whole(catalog: Any) -> None:
    functions = {function.name: function for function in catalog}
    params = {
        name: [param.name for param in function.params]
        for name, function in functions.items()
    }
    assert params == {
        "a": ["unit", "item"],
        "b": ["day"],
        "put": ["day"],
        "add": ["n", "in", "unit", "it"],
    }
    unit, item = (param.schema for param in functions["a"].params)
    assert json.dumps(unit).count('"week"') == 1
    assert json.dumps(item).count('"week"') == 1
    assert functions["b"].context["accept"] == "text/csv"


@pytest.mark.fault(161)
def test_the_files_of_a_folder_are_read(tmp_path: Path) -> None:
    """Path items, parameters, bodies, responses and schemas, in JSON and YAML, that refer to each other."""
    expect_whole(read(written(tmp_path, WHOLE)))


@pytest.fixture(scope="module")
def origin() -> Iterator[tuple[str, list[tuple[str, str]], dict[str, Any]]]:
    """An origin that serves files, with the paths and tokens of its requests."""
    seen: list[tuple[str, str]] = []
    files: dict[str, Any] = {}

    async def answer(request: Request) -> Response:
        seen.append(
            (request.path_params["path"], request.headers.get("authorization", ""))
        )
        name = request.path_params["path"]
        if name not in files:
            return PlainTextResponse("no such file", 404)
        return Response(text_of(name, files[name]))

    with serving(Starlette(routes=[Route("/{path:path}", answer)])) as url:
        yield url, seen, files


@pytest.mark.fault(161)
def test_the_files_of_an_origin_are_read(origin: Any) -> None:
    """Each once, with the token; another origin gets neither a request nor the token."""
    url, seen, files = origin
    files |= {f"v1/{name}": content for name, content in WHOLE.items()}
    files["v1/api.yaml"] = {**WHOLE["api.yaml"], "servers": []}
    funcs = jf.connect(f"{url}/v1/api.yaml", token=CANARY)
    expect_whole(funcs[name].function for name in funcs.names)
    funcs.close()
    assert sorted(seen) == sorted((f"v1/{name}", f"Bearer {CANARY}") for name in WHOLE)


@pytest.mark.fault(161)
def test_a_file_of_another_origin_and_one_that_is_not_served_are_named(
    origin: Any,
) -> None:
    """The other origin gets neither a request nor the token."""
    url, seen, files = origin
    seen.clear()
    elsewhere = url.replace("127.0.0.1", "localhost")
    for name, ref, message in (
        ("evil.json", f"{elsewhere}/x.json#/p", "it is at another address"),
        ("gone.json", "v9/x.json#/p", "'v9/x.json', which can't be read: .*404"),
    ):
        files[name] = referring(ref)["api.json"]
        funcs = jf.connect(f"{url}/{name}", token=CANARY)
        with pytest.warns(UserWarning, match=f"its parameter refers to .*{message}"):
            assert funcs.names == ["GET /b"]
        funcs.close()
    assert [path for path, _ in seen] == ["evil.json", "gone.json", "v9/x.json"]


@pytest.mark.fault(161)
def test_what_is_there_is_listed_if_there_is_no_time_for_more_files(
    origin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of files may take longer than a listing."""
    url, seen, files = origin
    files["many.json"] = referring("v1/shared.json#/components/parameters/Day")[
        "api.json"
    ]
    seen.clear()
    monkeypatch.setattr(openapi, "_MIN_LEFT", 1e6)
    funcs = jf.connect(f"{url}/many.json", token=CANARY)
    with pytest.warns(
        UserWarning, match="can't be read: there was no time left to ask for it"
    ):
        assert funcs.names == ["GET /b"]
    funcs.close()
    assert [path for path, _ in seen] == ["many.json"]


UNREADABLE: dict[str, tuple[str, Any, str]] = {
    "missing": ("gone.yaml#/p", {}, "'gone.yaml', which can't be read: No such file or directory"),
    "outside": ("../out.json#/p", {}, "'../out.json', which can't be read: it is outside the folder of the document"),
    "outside by its address": ("file:///etc/hostname", {}, "it is outside the folder"),
    "outside by a link": ("link.json#/p", {}, "'link.json', which can't be read: it is outside the folder"),
    "outside by a linked folder": ("linked/out.json#/p", {}, "it is outside the folder"),
    "encoded": ("%2e%2e/out.json#/p", {}, "it is outside the folder"),
    "elsewhere": ("https://evil.example/x.json#/p", {}, "it is at another address"),
    "of another host": ("//evil.example/x.json", {}, "it is at another address"),
    "of no address": ("http://[", {}, "it is at another address"),
    "a folder": ("sub/", {"sub/x.json": {}}, "can't be read: "),
    "no name": ("\x00.json", {}, "can't be read: "),
    "neither JSON nor YAML": ("x.json", {"x.json": "{a: ["}, "can't be read: The file is not JSON at byte 1"),
    "too deep": ("x.json", {"x.json": "[" * 150 + "]" * 150}, "it has more than 100 levels"),
    "without that part": ("x.json#/p", {"x.json": {"q": {}}}, "'x.json#/p', which leads nowhere"),
    "an anchor": ("x.json#p", {"x.json": {"p": {}}}, "which leads nowhere"),
    "a text": ("x.json", {"x.json": '"text"'}, "'x.json#', which leads nowhere"),
    "to itself": ("x.json#/p", {"x.json": {"p": {"$ref": "#/p"}}}, "which leads nowhere"),
    "nowhere in the document": ("#/components/parameters/P", {}, "'#/components/parameters/P', which leads nowhere"),
    "nowhere, by its own name": ("api.json#/gone", {}, "refers to '#/gone', which leads nowhere"),
}  # fmt: skip


@pytest.mark.fault(161)
@pytest.mark.parametrize(
    ("ref", "files", "message"), UNREADABLE.values(), ids=UNREADABLE
)
def test_an_operation_whose_parameter_cannot_be_read_is_left_out(
    ref: str, files: Any, message: str, tmp_path: Path
) -> None:
    """The warning names the file and the reason; the other operation stays. Nothing outside the folder is opened."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "out.json").write_text(
        json.dumps({"p": {"name": "n", "in": "query", "schema": TEXT}})
    )
    (folder / "link.json").symlink_to(tmp_path / "out.json")
    (folder / "linked").symlink_to(tmp_path)
    with pytest.warns(
        UserWarning, match="Left out 1 of 2 operations: GET /a"
    ) as warned:
        catalog = read(written(folder, referring(ref, **files)))
    [warning] = [str(warning.message) for warning in warned]
    assert message in warning
    assert warning.isprintable()
    assert ("Keep the files that a document refers to in its folder" in warning) == (
        "can't be read" in warning
    )
    assert [function.name for function in catalog] == ["GET /b"]


ELSEWHERE = {"$ref": "gone.json#/x"}
PARTS: dict[str, tuple[dict[str, Any], str]] = {
    "a path item": ({"/a": ELSEWHERE}, r"/a \(its path refers to 'gone.json'"),
    "an operation": ({"/a": {"get": ELSEWHERE}}, r"GET /a \(its operation refers to"),
    "a body": (
        {"/a": {"post": {**OK, "requestBody": ELSEWHERE}}},
        r"POST /a \(its body refers to",
    ),
    "the schema of a body": (
        {
            "/a": {
                "post": {
                    **OK,
                    "requestBody": {
                        "content": {"application/json": {"schema": ELSEWHERE}}
                    },
                }
            }
        },
        r"POST /a \(its body refers to",
    ),
    "a part of a body": (
        {
            "/a": {
                "post": {
                    **OK,
                    "requestBody": {
                        "content": {
                            "application/json": {"schema": {"allOf": [ELSEWHERE]}}
                        }
                    },
                }
            }
        },
        r"POST /a \(its body refers to",
    ),
    "a parameter of a path": (
        {"/a": {"parameters": [ELSEWHERE], "get": OK}},
        r"GET /a \(its parameter refers to",
    ),
}


@pytest.mark.fault(161)
@pytest.mark.parametrize(("paths", "message"), PARTS.values(), ids=PARTS)
def test_no_form_is_without_its_fields(
    paths: Any, message: str, tmp_path: Path
) -> None:
    """An operation with an unreadable part is left out; if none is left, that is an error."""
    document = {"openapi": "3.0.3", "paths": paths | {"/b": {"get": OK}}}
    with pytest.warns(UserWarning, match=message):
        assert [
            function.name
            for function in read(written(tmp_path, {"api.json": document}))
        ] == ["GET /b"]
    del document["paths"]["/b"]  # type: ignore[attr-defined]
    with pytest.raises(jf.ConfigError, match=message) as caught:
        read(written(tmp_path, {"api.json": document}))
    assert "Keep the files" in caught.value.hint


@pytest.mark.fault(161)
def test_a_response_or_a_schema_deeper_down_is_no_reason_to_leave_out(
    tmp_path: Path,
) -> None:
    """No field is missing because of them."""
    properties = {"p": ELSEWHERE, "q": TEXT}
    run = {
        "requestBody": {
            "content": {"application/json": {"schema": {"properties": properties}}}
        }
    }
    params = [{"name": "n", "in": "query", "schema": ELSEWHERE}]
    paths = {
        "/a": {"post": {**run, "parameters": params, "responses": {"200": ELSEWHERE}}}
    }
    [function] = read(
        written(tmp_path, {"api.json": {"openapi": "3.0.3", "paths": paths}})
    )
    assert [param.name for param in function.params] == ["n", "p", "q"]


@pytest.mark.fault(161)
def test_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In number, in bytes per file and in total bytes."""
    params = {
        f"{at}.json": {"name": f"p{at}", "in": "query", "schema": TEXT}
        for at in range(5)
    }
    operations = {
        f"/{at}": {"get": {**OK, "parameters": [{"$ref": f"{at}.json"}]}}
        for at in range(5)
    }
    operations["/more"] = {"get": OK}
    path = written(
        tmp_path, {"api.json": {"openapi": "3.0.3", "paths": operations}, **params}
    )
    for name, most, message in (
        ("_MAX_FILES", 3, "the document refers to more than 3 files"),
        (
            "_MAX_BYTES",
            160,
            "the files of the document have more than|it is larger than",
        ),
        ("MAX_FILE", 50, "it is larger than"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(openapi_files, name, most)
            with pytest.warns(UserWarning, match=message):
                assert 1 <= len(read(path)) < 6


@pytest.mark.fault(161)
@pytest.mark.slow
def test_files_take_time_in_their_size(tmp_path: Path) -> None:
    """However often files refer to each other."""

    def use(size: int) -> None:
        folder = tmp_path / str(size)
        folder.mkdir(exist_ok=True)
        shared = {
            f"P{at}": {"name": f"p{at}", "in": "query", "schema": {"$ref": "#/S"}}
            for at in range(size)
        }
        refs = [
            {"get": {**OK, "parameters": [{"$ref": f"shared.json#/P{at}"}]}}
            for at in range(size)
        ]
        document = {
            "openapi": "3.0.3",
            "paths": {f"/{at}": item for at, item in enumerate(refs)},
        }
        read(
            written(folder, {"api.json": document, "shared.json": shared | {"S": TEXT}})
        )

    growth.assert_linear(use, most=20_000)

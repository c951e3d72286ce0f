"""Operations as real APIs have them: their headers, their servers' refusals, and how they run."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from email import policy
from email.parser import BytesParser
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from IPython.core.completer import provisionalcompleter
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import jupyter_funcs as jf
from jupyter_funcs.cli import mcp_server, stubs
from jupyter_funcs.cli.main import main
from jupyter_funcs.client import snippets
from jupyter_funcs.client.snippets import curl
from jupyter_funcs.core.warn import MissingRowsWarning
from jupyter_funcs.panel.panel import Panel
from jupyter_funcs.sources import openapi_requests
from tests.conftest import wait_until
from tests.panel.page import Page, messages, state
from tests.servers import serving
from tests.shells import shell_with
from tests.sources.test_openapi import document, operation, param

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.requests import Request

    from jupyter_funcs.api import RemoteFunction, Session

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


class Api:
    """A server over HTTP, with its document, its next answers, and each request that reached it."""

    def __init__(self) -> None:
        self.document: Any = document()
        self.answers: list[Response] = []
        self.seen: list[dict[str, Any]] = []
        self.keeps_body = True  # or only its size
        echo = Route("/{rest:path}", self.answer, methods=METHODS)
        self.app = Starlette(routes=[Route("/openapi.json", self.describe), echo])

    async def describe(self, _: Request) -> Response:
        return JSONResponse(self.document)

    async def answer(self, request: Request) -> Response:
        seen = {
            "method": request.method,
            "path": request.url.path,
            "query": request.url.query,
            "headers": dict(request.headers),
        }
        if self.keeps_body:
            body: Any = await request.body()
        else:
            body = 0
            async for piece in request.stream():
                body += len(piece)
        self.seen.append(seen | {"body": body})
        return (
            self.answers.pop(0)
            if self.answers
            else JSONResponse([{"n": len(self.seen)}])
        )

    def told(self, status: int, body: Any = None, **headers: str) -> None:
        """Answer the next request with this."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers.append(
            Response(json.dumps(body), status, named, "application/json")
        )


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Api, str]]:
    api = Api()
    with serving(api.app) as url:
        yield api, url


@pytest.fixture
def api(served: tuple[Api, str]) -> Api:
    api, _ = served
    api.seen.clear()
    api.answers.clear()
    return api


@pytest.fixture
def connected(api: Api, served: tuple[Api, str]) -> Iterator[Any]:
    sessions: list[Session] = []

    def connect(paths: Any, **more: Any) -> Session:
        api.document = document(paths, **more)
        sessions.append(jf.connect(f"{served[1]}/openapi.json", token=None))
        return sessions[-1]

    yield connect
    for session in sessions:
        session.close()


def running(
    connected: Any, *params: Any, method: str = "get", path: str = "/run", **more: Any
) -> RemoteFunction:
    run: RemoteFunction = connected(
        {path: {method: operation(*params, operationId="run", **more)}}
    )["run"]
    return run


# Headers


@pytest.mark.fault(160)
@pytest.mark.parametrize(
    "name",
    ["Accept-Language", "Accept-Version", "Accept-Crs", "Content-Language", "If-Match"],
)
def test_a_header_of_the_document_is_a_field(
    api: Api, connected: Any, name: str
) -> None:
    """Without a required one nothing is sent."""
    run = running(connected, param(name, "header", required=True))
    assert [(field.name, field.required) for field in run.fields] == [(name, True)]
    with pytest.raises(jf.ArgumentError, match="is required"):
        run()
    assert not api.seen
    run(**{name: "de"})
    assert api.seen[0]["headers"][name.lower()] == "de"


def test_optional_headers_come_after_what_a_form_is_for(connected: Any) -> None:
    """Also if they follow the body's parameters."""
    body = {"properties": {"name": {"type": "string"}}}
    headers = [param("X-Key", "header", required=True), param("X-Version", "header")]
    run = running(connected, *headers, param("s", "cookie"), method="post", body=body)
    names = [field.name for field in run.fields]
    assert names == ["X-Key", "name", "X-Version", "s"]


@pytest.mark.fault(160)
@pytest.mark.parametrize(
    "name",
    [
        "Accept",
        "Content-Type",
        "Authorization",
        "Host",
        "Content-Length",
        "Connection",
        "Transfer-Encoding",
        "Proxy-Authorization",
        "Accept-Encoding",
        "Cookie",
        "TE",
        "Expect",
    ],
)
def test_a_header_of_http_is_no_field(connected: Any, name: str) -> None:
    """Nor are the three headers that OpenAPI describes elsewhere, even if a document requires one."""
    assert not running(connected, param(name, "header", required=True)).fields


def test_a_cookie_of_the_document_is_a_field(api: Api, connected: Any) -> None:
    """Its value can't add another cookie, and characters that are valid in a cookie are sent unchanged."""
    run = running(
        connected,
        param("session", "cookie", required=True),
        param("n", "cookie", {"type": "integer"}),
    )
    with pytest.raises(jf.ArgumentError, match="session is required"):
        run()
    run(session="a=b; admin=1", n=2)
    assert api.seen[0]["headers"]["cookie"] == "session=a=b%3B%20admin=1; n=2"
    assert run.request(session="x")["headers"]["Cookie"] == "session=x"


NULLABLE = {"type": ["integer", "null"]}


@pytest.mark.parametrize("place", ["query", "header", "cookie"])
def test_null_is_left_out_of_what_has_none(
    api: Api, connected: Any, place: str
) -> None:
    """Servers would read it as text."""
    run = running(connected, param("n", place, NULLABLE), param("X-N", place))
    run(n=None)
    run()
    with_none, without = api.seen
    assert with_none["query"] == without["query"] == ""
    assert with_none["headers"] == without["headers"]


@pytest.mark.parametrize("kind", ["x-www-form-urlencoded", "json"])
def test_null_is_sent_in_json_only(connected: Any, kind: str) -> None:
    schema = {"type": "object", "properties": {"n": NULLABLE, "m": NULLABLE}}
    body = {"content": {f"application/{kind}": {"schema": schema}}}
    run = running(connected, method="post", requestBody=body)
    sent = {"json": {"n": None, "m": 1}}.get(kind, "m=1")
    assert run.request(n=None, m=1)["body"] == sent


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({"type": "string", "format": "date-time"}, "2020-01-01T00:00:00"),
        ({"type": "string", "format": "date"}, "2020-01-01"),
        ({"type": "string"}, "2020-01-01"),
    ],
)
@pytest.mark.parametrize(
    "midnight", [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01").to_pydatetime()]
)
def test_midnight_is_a_time_where_a_time_is_declared(
    connected: Any, schema: Any, sent: str, midnight: Any
) -> None:
    """If nothing says which, it is a date."""
    run = running(connected, method="post", body={"properties": {"at": schema}})
    assert run.request(at=midnight)["body"] == {"at": sent}


# Refusals of a server

SIZE = "must be at most 50"
REFUSALS: dict[str, tuple[int, Any]] = {
    "FastAPI": (422, {"detail": [{"type": "x", "loc": ["query", "size"], "msg": SIZE, "input": 99}]}),
    "problem details": (400, {"title": "Wrong", "errors": [{"detail": SIZE, "pointer": "#/size"}]}),
    "invalid-params": (400, {"title": "Wrong", "invalid-params": [{"name": "size", "reason": SIZE}]}),
    "ASP.NET": (400, {"title": "Wrong.", "status": 400, "traceId": "0", "errors": {"Size": [SIZE]}}),
    "param": (400, {"error": {"message": SIZE, "type": "invalid_request_error", "param": "size"}}),
    "errors": (422, {"errors": {"size": [SIZE]}}),
    "message and errors": (422, {"message": "Wrong", "errors": {"size": SIZE}}),
    "JSON:API": (422, {"errors": [{"status": "422", "detail": SIZE, "source": {"pointer": "/data/attributes/size"}}]}),
    "JSON:API parameter": (400, {"errors": [{"title": SIZE, "source": {"parameter": "size"}}]}),
    "GitHub": (422, {"message": "Wrong", "errors": [{"resource": "Run", "field": "size", "message": SIZE}]}),
    "Google": (400, {"error": {"code": 400, "message": "Wrong",
                               "details": [{"fieldViolations": [{"field": "size", "description": SIZE}]}]}}),
    "Django": (400, {"size": [SIZE]}),
    "zod": (400, {"issues": [{"code": "too_big", "path": ["body", "size"], "message": SIZE}]}),
    "our own": (422, {"error": "Wrong", "arguments": {"size": [SIZE]}}),
    "Spring": (400, {"status": 400, "error": "Bad Request", "message": "Wrong", "path": "/run",
                     "errors": [{"objectName": "run", "field": "size", "defaultMessage": SIZE, "code": "Max"}]}),
    "GitHub, a code": (422, {"message": "Wrong", "errors": [{"resource": "Run", "field": "size", "code": SIZE}]}),
    "Azure": (400, {"error": {"code": "BadArgument", "message": "Wrong",
                              "details": [{"code": "Max", "target": "size", "message": SIZE}]}}),
    "Google, the first version": (400, {"error": {"code": 400, "message": "Wrong", "errors": [
        {"domain": "global", "locationType": "parameter", "location": "size", "message": SIZE}]}}),
    "marshmallow": (422, {"code": 422, "status": "Unprocessable Entity", "errors": {"query": {"size": [SIZE]}}}),
    "Litestar": (400, {"status_code": 400, "detail": "Wrong",
                       "extra": [{"message": SIZE, "key": "size", "source": "query"}]}),
    "Prism": (422, {"title": "Wrong", "validation": [{"location": ["query", "size"], "code": "max", "message": SIZE}]}),
    "a member of no known name": (422, {"exception_message": "Wrong",
                                        "exception_detail": [{"loc": ["query", "size"], "msg": SIZE}]}),
}  # fmt: skip


@pytest.mark.parametrize("form", REFUSALS)
def test_a_refused_value_is_named_at_its_parameter(
    api: Api, connected: Any, form: str
) -> None:
    """With the server's message, whatever its format; never as raw JSON."""
    run = running(connected, param("size"), param("other"))
    status, body = REFUSALS[form]
    api.told(status, body)
    with pytest.raises(jf.ArgumentError, match=SIZE) as refused:
        run(size="99")
    assert refused.value.errors == {"size": [SIZE]}
    assert not set(str(refused.value)) & set('{}[]"')


@pytest.mark.parametrize("way", ["call", "submit", "magic", "sweep", "panel"])
def test_it_is_named_on_every_path(
    api: Api, connected: Any, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The panel marks the field, a sweep records the message, a cell raises it."""
    run = running(connected, param("size"))
    api.told(*REFUSALS["FastAPI"])
    if way == "panel":
        panel = run.panel(size="99")
        panel.run()
        with pytest.raises(jf.ArgumentError, match=SIZE):
            panel.result(30)
        wait_until(lambda: messages(panel) == {"size": [SIZE]})
        panel.close()
    elif way == "sweep":
        with pytest.warns(MissingRowsWarning, match=f"First error: size: {SIZE}"):
            frame = run.with_options(progress=False, cache=False).sweep(
                size=["99", "5"]
            )
        assert [error["error"].splitlines()[0] for error in frame.attrs["errors"]] == [
            f"size: {SIZE}"
        ]
    elif way == "magic":
        with shell_with(run.session) as shell:
            assert not shell.run_cell("%funcs call run size=99").success
        assert f"size: {SIZE}" in capsys.readouterr().out
    else:
        with pytest.raises(jf.ArgumentError, match=f"size: {SIZE}"):
            run.submit(size="99").result() if way == "submit" else run(size="99")


@pytest.mark.parametrize(
    ("loc", "errors"),
    [
        (["body", "customer", "name"], {"customer": ["name: too long"]}),
        (["body", "items", 0, "sku"], {"items": ["0.sku: too long"]}),
        (["body", "Customer"], {"customer": ["too long"]}),
        (["body", "order", "customer"], {"customer": ["too long"]}),
        (["header", "x-tenant"], {"X-Tenant": ["too long"]}),
        (["body"], {"body": ["too long"]}),
        ([], {}),
        (["body", *["a"] * 10_000], {"a.a.a.a.a.a.a.a": ["too long"]}),
    ],
)
def test_a_part_of_a_body_belongs_to_its_field(
    api: Api, connected: Any, loc: Any, errors: Any
) -> None:
    """A server's message about a part is prefixed with the path of the part."""
    body = {"properties": {"customer": {"type": "object"}, "items": {"type": "array"}}}
    run = running(connected, param("X-Tenant", "header"), method="post", body=body)
    api.told(422, {"detail": [{"loc": loc, "msg": "too long"}]})
    with pytest.raises(jf.ArgumentError, match="too long") as refused:
        run(items=[1])
    assert refused.value.errors == errors


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("must be an integer", "n: must be an integer"),
        ("The value of n must be an integer", "The value of n must be an integer"),
        ("n must be an integer", "n must be an integer"),
    ],
)
def test_the_name_of_a_refused_parameter_is_told_once(
    api: Api, connected: Any, message: str, words: str
) -> None:
    """A letter within a word isn't the name."""
    run = running(connected, param("n"))
    api.told(422, {"detail": [{"loc": ["query", "n"], "msg": message}]})
    with pytest.raises(jf.ArgumentError) as refused:
        run(n="x")
    assert refused.value.what.splitlines()[0] == words


def test_a_panel_shows_a_refusal_of_what_is_no_field(api: Api, connected: Any) -> None:
    """If no field can be marked, the message is shown as for any other failure."""
    run = running(connected, param("size"))
    api.told(422, {"detail": [{"loc": ["query", "other"], "msg": SIZE}]})
    panel = run.panel()
    panel.run()
    with pytest.raises(jf.ArgumentError, match=SIZE):
        panel.result(30)
    wait_until(lambda: state(panel)["state"] == "failed")
    assert SIZE in state(panel)["error"]["what"]
    panel.close()


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"detail": {"code": 17, "why": "no stock"}}, "code: 17. why: no stock"),
        ({"error": {"code": "E1", "message": {"text": "no stock"}}}, "text: no stock"),
        ({"error": "invalid_request", "error_description": "no stock"}, "no stock"),
        ({"messages": ["no stock", "no money"]}, "messages: no stock; no money"),
        ({"errorMessages": ["no stock"], "errors": {}}, "no stock"),
        ({"errors": {"": ["no stock"]}}, "no stock"),
        ({"": ["no stock"]}, "no stock"),
        ({"Message": "no stock"}, "no stock"),
        (
            {"order": {"lines": {"amount": ["no stock"]}}},
            "order.lines.amount: no stock",
        ),
        (
            {"error": {"code": "", "message": {"lang": "en", "value": "no stock"}}},
            "no stock",
        ),
        (
            {
                "resourceType": "OperationOutcome",
                "issue": [{"code": "invalid", "diagnostics": "no stock"}],
            },
            "no stock",
        ),
        (
            {"fault": {"faultstring": "no stock", "detail": {"errorcode": "E1"}}},
            "no stock",
        ),
        (
            {
                "message": "Wrong",
                "validation": {"body": {"keys": ["n"], "message": "no stock"}},
            },
            "Wrong. no stock",
        ),
        (
            {"message": "no stock", "validation": {"source": "query", "keys": ["n"]}},
            "no stock",
        ),
        ({"error": [["no stock"]]}, "no stock"),
        (["no stock"], "no stock"),
        ({"error": None, "x": True}, ""),
    ],
)
def test_what_has_no_known_form_is_words_too(
    api: Api, connected: Any, body: Any, text: str
) -> None:
    """Also for a failure that isn't about an argument."""
    run = running(connected)
    for status in (400, 503, 403):
        api.told(status, body, retry_after="60")
        with pytest.raises(jf.FuncsError) as refused:
            run()
        assert text in refused.value.what
        assert not set(str(refused.value)) & set('{}[]"')


@pytest.mark.parametrize("status", [402, 404, 406, 410, 412, 415, 418, 423, 451])
def test_what_a_server_says_of_an_operation_is_told_with_its_address(
    api: Api, connected: Any, status: int
) -> None:
    """The address is the document's, so no message says to check it."""
    run = running(connected)
    for body, what in (({"detail": "PNG files only"}, "PNG files only"), (None, "")):
        api.told(status, body)
        with pytest.raises(jf.FunctionError) as refused:
            run()
        assert what in refused.value.what
        assert "/run " in refused.value.hint
        assert str(status) in refused.value.hint


# Accepted operations, whose result is requested later

ROWS = [{"total": 5}]


@pytest.mark.parametrize(
    ("replies", "requested"),
    [
        ([(202, None, {"location": "/jobs/1"}), (202, None, {}), (200, ROWS, {})], ["/jobs/1"] * 2),
        ([(202, None, {"location": "/jobs/1"}), (303, None, {"location": "../results/1"}), (200, ROWS, {})],
         ["/jobs/1", "/results/1"]),
        ([(202, None, {"location": "/jobs/1"}), (202, None, {"location": "/jobs/2"}), (200, ROWS, {})],
         ["/jobs/1", "/jobs/2"]),
        ([(202, None, {"operation_location": "/status"}), (200, {"status": "Running"}, {}), (200, ROWS, {})],
         ["/status"] * 2),
        ([(202, None, {"operation_location": "/status", "location": "/results/1"}),
          (200, {"status": "In Progress"}, {}), (200, {"status": "Succeeded"}, {}), (200, ROWS, {})],
         ["/status", "/status", "/results/1"]),
        ([(202, None, {"operation_location": "/status"}),
          (200, {"status": "Succeeded", "resourceLocation": "/results/1"}, {}), (200, ROWS, {})],
         ["/status", "/results/1"]),
        ([(202, None, {"location": "/jobs/1"}), (200, {"state": "queued"}, {"retry_after": "0"}), (200, ROWS, {})],
         ["/jobs/1"] * 2),
        ([(303, None, {"location": "/results/1"}), (200, ROWS, {})], ["/results/1"]),
    ],
)  # fmt: skip
def test_the_result_of_an_accepted_operation_is_asked_for(
    api: Api,
    connected: Any,
    replies: Any,
    requested: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With GET and the operation's own headers; the operation itself is sent once."""
    monkeypatch.setattr(openapi_requests, "_MIN_PAUSE", 0.01)
    run = running(
        connected,
        param("X-Tenant", "header"),
        method="post",
        body={"properties": {"n": {}}},
    )
    for status, body, headers in replies:
        api.told(status, body, **headers)
    frame = run(X_Tenant="t", n=1)
    assert frame["total"].tolist() == [5]
    assert frame.attrs["funcs"]["attempts"] == 1
    first, *others = api.seen
    assert (first["method"], first["path"]) == ("POST", "/run")
    assert [(request["method"], request["path"]) for request in others] == [
        ("GET", path) for path in requested
    ]
    for request in others:
        assert (request["headers"]["x-tenant"], request["body"]) == ("t", b"")
        assert "content-type" not in request["headers"]


def test_what_can_be_sent_again_is_asked_again(
    api: Api, connected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A GET with the answer 202 and Retry-After; an operation that changes data isn't, and its reply is the result."""
    monkeypatch.setattr(openapi_requests, "_MIN_PAUSE", 0.01)
    paths = {
        "/run": {
            "get": operation(operationId="look"),
            "post": operation(operationId="change"),
        }
    }
    funcs = connected(paths)
    api.told(202, {"state": "busy"}, retry_after="0")
    assert funcs.look()["n"].tolist() == [2]
    api.told(202, {"state": "busy"}, retry_after="0")
    assert funcs.change()["state"].tolist() == ["busy"]
    api.told(201, {"id": 7}, location="/items/7")
    assert funcs.change()["id"].tolist() == [7]
    assert [request["method"] for request in api.seen] == ["GET", "GET", "POST", "POST"]


def test_the_result_at_another_origin_is_not_asked_for(
    api: Api, connected: Any
) -> None:
    """Then the reply to the operation is the result, with a warning."""
    run = running(connected, method="post")
    api.told(202, {"id": 7}, location="https://elsewhere.example/jobs/7")
    with pytest.warns(
        UserWarning,
        match=r"at another address, 'https://elsewhere.example/jobs/7', and wasn't asked",
    ):
        assert run()["id"].tolist() == [7]


@pytest.mark.parametrize(
    ("status", "body", "headers", "error", "message"),
    [
        (
            200,
            {"status": "Failed", "error": {"code": "X", "message": "no stock"}},
            {},
            jf.FunctionError,
            "no stock",
        ),
        (200, {"status": "Canceled"}, {}, jf.FunctionError, "status: Canceled"),
        (404, {"detail": "gone"}, {}, jf.FunctionError, "gone"),
        (429, {}, {"retry_after": "90"}, jf.RateLimitError, "no more requests"),
        (202, None, {"retry_after": "999"}, jf.DeadlineError, "to wait 999 s"),
    ],
)
def test_a_result_that_cannot_be_had_says_why(
    api: Api,
    connected: Any,
    status: int,
    body: Any,
    headers: Any,
    error: type[jf.FuncsError],
    message: str,
) -> None:
    """The operation was accepted, so nothing sends it again, not even a sweep."""
    run = running(connected, param("n"), method="post")
    for _ in range(2):
        api.told(202, None, operation_location="/status", retry_after="0")
        api.told(status, body, **headers)
    with pytest.raises(
        error, match=f"^run was accepted, but its result can't be had. .*{message}"
    ):
        run()
    with pytest.warns(MissingRowsWarning, match="1 of 1 runs"):
        run.with_options(progress=False, most_runs=5).sweep(n=["1"])
    assert [request["method"] for request in api.seen] == ["POST", "GET"] * 2


@pytest.mark.slow
def test_waiting_is_shown_and_can_be_cancelled(api: Api, connected: Any) -> None:
    """The job counts its requests; a cancel ends them."""
    run = running(connected, method="post")
    api.told(202, None, location="/jobs/1")
    for _ in range(3):
        api.told(202, None, retry_after="0")
    api.told(202, None, retry_after="60")
    job = run.submit()
    wait_until(lambda: "accepted, asked for the result 4 times" in repr(job))
    job.cancel()
    with pytest.raises(jf.RunCancelledError):
        job.result()
    panel = run.panel()
    page = Page(panel)
    api.told(202, None, location="/jobs/1", retry_after="60")
    panel.run()
    wait_until(
        lambda: any(
            "accepted, asked" in (sent.get("running") or {}).get("note", "")
            for sent in page.sent
        )
    )
    panel.cancel()
    panel.close()


# Bodies that are files or text

FILE = {"type": "string", "format": "binary"}
PARTS = {
    "type": "object",
    "required": ["file"],
    "properties": {
        "file": FILE,
        "more": {"type": "array", "items": FILE},
        "note": {"type": "string"},
        "about": {"type": "object"},
        "tags": {"type": "array", "items": {"type": "integer"}},
    },
}
MULTIPART = "multipart/form-data"
FORM = "application/x-www-form-urlencoded"


def taking(kind: str, schema: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "method": "post",
        "requestBody": {
            "required": True,
            "content": {kind: {"schema": schema, **more}},
        },
    }


def parts_of(request: dict[str, Any]) -> list[tuple[str, str | None, str, bytes]]:
    """Return the name, the name of the file, the type and the content of each part of a form."""
    head = f"Content-Type: {request['headers']['content-type']}\r\n\r\n".encode()
    message = BytesParser(policy=policy.HTTP).parsebytes(head + request["body"])
    return [
        (
            part.get_param("name", header="content-disposition"),
            part.get_filename(),
            part.get_content_type(),
            part.get_payload(decode=True),
        )
        for part in message.iter_parts()
    ]


NULL = {"type": "null"}
NULLABLE_FILES = {
    "FastAPI": {"type": "string", "contentMediaType": "application/octet-stream"},
    "binary": FILE,
}


@pytest.mark.parametrize("file", NULLABLE_FILES.values(), ids=NULLABLE_FILES)
def test_a_file_that_may_be_null_is_a_file(api: Api, connected: Any, file: Any) -> None:
    """Also one of several."""
    files = {"type": "array", "items": file}
    schema = {
        "type": "object",
        "properties": {
            "file": {"anyOf": [file, NULL]},
            "files": {"anyOf": [files, NULL]},
        },
    }
    run = running(connected, **taking(MULTIPART, schema))
    run(file=b"a", files=[b"b", b"c"])
    run(file=None)
    contents = [content for *_, content in parts_of(api.seen[0])]
    assert contents == [b"a", b"b", b"c"]
    assert b"null" not in api.seen[1]["body"]


def test_a_form_with_files_is_sent_as_its_parts(
    api: Api, connected: Any, tmp_path: Path
) -> None:
    """A file comes from its path or from bytes; a list repeats its name, an object is JSON."""
    run = running(connected, **taking(MULTIPART, PARTS))
    kinds = {
        field.name: (str(field.kind), str(field.value_kind)) for field in run.fields
    }
    assert kinds["file"] == ("file", "file")
    assert kinds["more"] == ("list", "file")
    file = tmp_path / 'a "b".csv'
    file.write_bytes(b"x,y\r\n1,2")
    run(
        file=file,
        more=[str(file), b"\x00\xff"],
        note="a\nb",
        about={"a": 1},
        tags=[1, 2],
    )
    name = "a %22b%22.csv"
    assert parts_of(api.seen[0]) == [
        ("file", name, "text/csv", b"x,y\r\n1,2"),
        ("more", name, "text/csv", b"x,y\r\n1,2"),
        ("more", "more", "application/octet-stream", b"\x00\xff"),
        ("note", None, "text/plain", b"a\nb"),
        ("about", None, "application/json", b'{"a": 1}'),
        ("tags", None, "text/plain", b"1"),
        ("tags", None, "text/plain", b"2"),
    ]
    assert int(api.seen[0]["headers"]["content-length"]) == len(api.seen[0]["body"])


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        ("application/octet-stream", None),
        ("image/png", None),
        ("image/*", "image/png"),
        ("application/pdf", None),
    ],
)
def test_a_body_that_is_a_file_is_sent_as_it_is(
    api: Api, connected: Any, tmp_path: Path, kind: str, sent: str | None
) -> None:
    """With the media type of the document, or of the file if the document allows several."""
    run = running(connected, **taking(kind, FILE))
    (tmp_path / "x.png").write_bytes(b"\x89PNG")
    run(body=str(tmp_path / "x.png"))
    run(body=b"\x89PNG")
    for request, media_type in zip(
        api.seen,
        (sent or kind, "application/octet-stream" if sent else kind),
        strict=True,
    ):
        assert (request["body"], request["headers"]["content-type"]) == (
            b"\x89PNG",
            media_type,
        )


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/xml", "text/xml", "application/soap+xml", "text/csv"],
)
def test_a_body_of_text_is_one_field(api: Api, connected: Any, kind: str) -> None:
    """Whatever its schema says: only JSON is written from properties."""
    run = running(
        connected, **taking(kind, {"type": "object", "properties": {"a": {}}})
    )
    assert [(field.name, str(field.kind)) for field in run.fields] == [("body", "text")]
    run(body="<a>1</a>\n")
    assert (api.seen[0]["body"], api.seen[0]["headers"]["content-type"]) == (
        b"<a>1</a>\n",
        kind,
    )
    run(body="é")
    assert api.seen[1]["headers"]["content-type"] == f"{kind}; charset=utf-8"
    assert "--data-raw @x" in curl(run, {"body": "@x"})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"properties": {f"Parameter{number}.Name": {} for number in range(201)}},
        None,
    ],
    ids=["text", "any names", "many names", "nothing"],
)
def test_a_form_without_fields_is_one_text(
    api: Api, connected: Any, schema: Any
) -> None:
    """As it is sent; a file is sent in a type that takes it."""
    run = running(connected, **taking(FORM, schema))
    assert [(field.name, str(field.kind)) for field in run.fields] == [("body", "text")]
    run(body="a=1&b=2")
    [request] = api.seen
    assert (request["body"], request["headers"]["content-type"]) == (b"a=1&b=2", FORM)


def test_a_file_is_sent_in_the_type_that_takes_it(api: Api, connected: Any) -> None:
    """A form that names no field for it has no place for it."""
    file = {"schema": {"type": "object", "format": "file"}}
    content = {MULTIPART: file, "application/octet-stream": file}
    run = running(
        connected, method="post", requestBody={"required": True, "content": content}
    )
    run(body=b"\x89PNG")
    assert api.seen[0]["body"] == b"\x89PNG"


WRONG_FILES: dict[str, Any] = {
    "gone.csv": "finds no file",
    ".": "can't read",
    5: "takes the path",
    "\x00": "finds no",
}


@pytest.mark.parametrize("value", WRONG_FILES)
@pytest.mark.parametrize("name", ["file", "more"])
def test_a_file_that_is_not_there_is_an_error_at_its_field(
    api: Api, connected: Any, value: Any, name: str
) -> None:
    """Before anything is sent."""
    run = running(connected, **taking(MULTIPART, PARTS))
    form = run.form(**{"file": b"x", name: [value] if name == "more" else value})
    assert WRONG_FILES[value] in form.errors[name][0]
    with pytest.raises(jf.ArgumentError, match="not run"):
        run(form)
    assert not api.seen


def test_the_content_of_a_file_is_shown_nowhere(
    api: Api, connected: Any, tmp_path: Path
) -> None:
    """A request, its code, the history and the panel have the name and the size."""
    run = running(connected, **taking(MULTIPART, PARTS))
    file = tmp_path / "a.csv"
    file.write_bytes(b"secret of the file")
    content = b"secret of the bytes"
    request = run.request(file=str(file), more=[content], note="x")
    assert request["body"] == {
        "file": {"file": str(file), "size": 18},
        "more": {"size": 19},
        "note": "x",
    }
    assert request["headers"]["Content-Type"] == MULTIPART
    form = run.form(file=str(file), more=[content])
    frame = run(form)
    panel = run.panel(file=content)
    shown = [
        repr(form),
        str(run.session.history.table()),
        str(frame.attrs),
        str(snippets.blocks(run, form, "shop")),
        panel._values,
        json.dumps(request),
        repr(panel.form),
        str(run.session.history.runs[0].args),
    ]
    assert "secret" not in " ".join(shown)
    assert str(file) in shown[3]
    assert "<19 bytes>" in shown[0]
    panel.close()


@pytest.mark.slow
def test_a_large_file_is_read_while_it_is_sent(
    api: Api, connected: Any, tmp_path: Path
) -> None:
    """Never as a whole, and from its start again if the request is sent again."""
    run = running(connected, **taking("application/octet-stream"))
    file = tmp_path / "large"
    with file.open("wb") as opened:
        opened.truncate(64 * 2**20)
    api.keeps_body = False
    try:
        tracemalloc.start()
        run(body=file)
        assert tracemalloc.get_traced_memory()[1] < 32 * 2**20
    finally:
        tracemalloc.stop()
        api.keeps_body = True
    assert api.seen[0]["body"] == 64 * 2**20


def test_a_file_is_sent_again_only_if_nothing_was_sent(
    api: Api, connected: Any, tmp_path: Path
) -> None:
    """A failure of the server isn't a reason to send it again."""
    run = running(connected, **taking("application/octet-stream"))
    (tmp_path / "x").write_bytes(b"x")
    api.told(503)
    with pytest.raises(jf.FuncsError, match="503"):
        run(body=tmp_path / "x")
    assert len(api.seen) == 1


def test_a_file_that_shrinks_meanwhile_is_named(tmp_path: Path) -> None:
    """The error says so, instead of reporting a broken connection."""
    file = tmp_path / "x"
    file.write_bytes(b"1234")
    upload = openapi_requests.Upload()
    upload.add(file)
    file.write_bytes(b"12")

    async def read() -> list[bytes]:
        return [piece async for piece in upload]

    with pytest.raises(jf.ArgumentError, match="became shorter while it was sent"):
        asyncio.run(read())
    file.unlink()
    with pytest.raises(jf.ArgumentError, match="can't be read: No such file"):
        asyncio.run(read())


@pytest.mark.parametrize(
    "way", ["magic", "command", "panel", "visitor", "assistant", "sweep"]
)
def test_a_file_is_given_by_its_path_on_every_path(
    api: Api, connected: Any, tmp_path: Path, way: str, served: tuple[Api, str]
) -> None:
    """Visitors of a panel and assistants can't choose files of this machine."""
    run = running(connected, **taking(MULTIPART, PARTS))
    file = tmp_path / "a.csv"
    file.write_bytes(b"1")
    if way == "magic":
        with shell_with(run.session) as shell:
            shell.run_line_magic("funcs", f"call run file={file} -q")
    elif way == "command":
        args = ["call", "run", f"file={file}", "--profile", f"{served[1]}/openapi.json"]
        assert main(args) == 0
    elif way == "sweep":
        run.with_options(progress=False, cache=False, most_runs=5).sweep(
            file=[str(file)]
        )
    elif way == "assistant":
        with pytest.raises(
            jf.ArgumentError, match="file would send a file of this machine"
        ):
            mcp_server._arguments(run, {"file": str(file)})
    else:
        page = Page(Panel(run.session, run, trusted=way == "panel"))
        answer = page.ask("run", seq=1, values={"file": str(file)}, confirmed=True)
        if way == "visitor":
            assert "takes a file of this machine" in str(answer)
        else:
            page.panel.result(30)
        page.panel.close()
    is_sent = way not in {"visitor", "assistant"}
    assert [parts_of(request)[0][3] for request in api.seen] == [b"1"] * is_sent


# Texts and names

PLAIN = "2*3*4, a * b * c, a<b and c>d, <id>, __name__, **kwargs"
TEXTS = {
    "<p>Gets <b>x</b>.</p><p>And <a href='https://e.org'>y</a><br/>z</p>": "Gets x.\n\nAnd y\nz",
    "The <code>a</code> &amp; **b** [doc](https://e.org)": "The `a` & b doc (https://e.org)",
    "<ul><li>one</li><li class='x'>two</li></ul>": "- one\n- two",
    "# Title\n\n\n\n*one* and ***two***": "Title\n\none and two",
    "![logo](https://e.org/x.png) <!-- hidden -->shown": "logo (https://e.org/x.png) shown",
    PLAIN: PLAIN,
    "&lt;script&gt;": "<script>",
}


@pytest.mark.parametrize("text", TEXTS)
def test_markdown_and_html_are_text(connected: Any, text: str) -> None:
    """Without emphasis and tags, for an operation and its parameters, and never as HTML."""
    run = running(connected, param("a", description=text), description=text)
    assert run.function.description == TEXTS[text].removesuffix(".")
    assert run.fields[0].help.split() == TEXTS[text].split()


def test_what_is_deprecated_says_so(connected: Any) -> None:
    """In the catalog, a table of parameters, the help, the docstring, the stubs and the panel."""
    old = param("old", deprecated=True, description="How.")
    run = running(connected, old, param("new"), deprecated=True, summary="Lists orders")
    funcs = run.session
    assert list(funcs.find()["description"]) == ["Deprecated. Lists orders"]
    described = run.describe()
    assert list(described["help"]) == ["Deprecated. How.", ""]
    assert described.note == "Deprecated."
    assert run.__doc__.startswith("Deprecated. Lists orders")
    assert "Deprecated. How." in stubs.stub(funcs)
    panel = run.panel()
    assert panel._state.chosen.inputs.fields[0]["help"] == "Deprecated. How."
    card = panel._state.header.card(run)
    assert (card["name"], card["about"]) == ("Lists orders", "Deprecated. Lists orders")
    panel.close()
    changing = running(
        connected,
        method="post",
        deprecated=True,
        body={"properties": {"a": {"deprecated": True}}},
    )
    assert changing.describe().note == "Changes data. Deprecated."
    assert changing.fields[0].help == "Deprecated."


FASTAPI = {
    "/orders": {
        "get": operation(
            operationId="list_orders_orders_get",
            summary="List Orders",
            description="All.",
        )
    },
    "/orders/{order_id}": {
        "get": operation(
            param("order_id", "path"), operationId="read_orders__order_id__get"
        ),
        "delete": operation(
            param("order_id", "path"), operationId="drop_orders__order_id__delete"
        ),
    },
    "/v2/orders/{order_id}": {
        "delete": operation(
            param("order_id", "path"), operationId="drop_v2_orders__order_id__delete"
        ),
    },
}


def test_a_name_that_a_framework_made_has_a_short_one(api: Api, connected: Any) -> None:
    """If no other function has it; the long name still works."""
    funcs = connected(FASTAPI)
    short = [
        "list_orders",
        "read",
        "drop_orders_order_id_delete",
        "drop_v2_orders_order_id_delete",
    ]
    assert list(funcs.catalog.slugs) == short
    long = "list_orders_orders_get"
    assert funcs.names[0] == long
    assert (
        funcs.list_orders
        is funcs.list_orders_orders_get
        is funcs[long]
        is funcs["list_orders"]
    )
    assert funcs.list_orders.code({}) == "funcs.list_orders()"
    with shell_with(funcs) as shell:
        for name in (long, "list_orders"):
            shell.run_line_magic("funcs", f"call {name} -q")
    assert [request["path"] for request in api.seen] == ["/orders"] * 2
    assert {run.function for run in funcs.history.runs} == {long}
    panel = funcs.panel(long)
    card = panel._state.header.card(funcs.list_orders)
    assert (card["name"], card["about"]) == ("List Orders", "All")
    panel.close()


@pytest.mark.parametrize(
    "name", ["login", "status", "find", "names", "close", "panel", "history"]
)
def test_a_name_that_the_session_uses_itself_has_an_underscore(
    api: Api, connected: Any, name: str
) -> None:
    """Tab shows it; in brackets, on a line and in the panel the name is unchanged."""
    funcs = connected({"/run": {"get": operation(operationId=name)}})
    assert funcs[name] is getattr(funcs, f"{name}_")
    assert {f"{name}_", name} <= set(dir(funcs))
    assert eval(funcs[name].code({}), {"funcs": funcs}).shape == (1, 1)  # our own code
    with shell_with(funcs) as shell:
        assert len(shell.run_line_magic("funcs", f"call {name} -q")) == 1
        shell.user_ns["funcs"] = funcs
        typed = f"funcs.{name}"
        with provisionalcompleter():
            offered = [
                completion.text
                for completion in shell.Completer.completions(typed, len(typed))
            ]
    assert any(f"{name}_" in text for text in offered)
    assert funcs.panel(name).form.function == name
    with pytest.raises(AttributeError):
        _ = funcs.gone_


def test_a_web_page_is_a_text_where_one_is_declared(api: Api, connected: Any) -> None:
    """Elsewhere it stands for a login; and what only calls itself one is read as what it is."""
    page = Response("<p>Hi</p>", 200, {}, "text/html")
    listed = Response('[{"a": 1}, {"a": 2}]', 200, {}, "text/html; charset=UTF-8")
    kinds = {"text/html; charset=UTF-8": {}}
    run = running(connected, responses={"200": {"content": kinds}})
    api.answers += [page, listed]
    frame = run.with_options(cache=False)()
    assert (frame.iloc[0, 0], frame.attrs["funcs"]["media_type"]) == (
        "<p>Hi</p>",
        "text/html",
    )
    assert list(run.with_options(cache=False)()["a"]) == [1, 2]
    kinds = {"application/json": {}, "text/html": {}}
    run = running(connected, responses={"200": {"content": kinds}})
    api.answers.append(page)
    with pytest.raises(jf.AuthenticationError, match="web page instead of data: Hi"):
        run()


def test_what_is_left_out_is_counted_and_named(connected: Any) -> None:
    """The status has the reasons, describe lists them all, and an error for a left-out operation says why."""
    moved = {"responses": {"302": {}}}
    paths = {f"/page{at}": {"get": operation() | moved} for at in range(5)}
    funcs = connected({**paths, "/run": {"get": operation(operationId="run")}})
    with pytest.warns(UserWarning, match="Left out 5 of 6"):
        assert funcs.names == ["run"]
    assert ("left out", "5: it redirects elsewhere") in funcs.status(asks=False).rows
    with shell_with(funcs) as shell:
        table = shell.run_line_magic("funcs", "describe")
    assert list(table["name"]) == [f"GET /page{at}" for at in range(5)]
    assert set(table["why"]) == {"it redirects elsewhere"}
    with pytest.raises(
        jf.NotFoundError,
        match="GET /page3 was left out of your catalog: it redirects elsewhere",
    ):
        _ = funcs["GET /page3"]

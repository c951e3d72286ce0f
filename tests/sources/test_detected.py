"""The kind of a source is detected once, from the answers of its address, and the token goes nowhere else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, cast

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import jupyter_funcs as jf
from jupyter_funcs.api import Session
from jupyter_funcs.catalog.listing import parse_listing
from jupyter_funcs.client import client
from jupyter_funcs.connection import retries
from jupyter_funcs.connection.profiles import resolve
from tests.faults.canary import CANARY
from tests.servers import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from starlette.requests import Request

    from jupyter_funcs.connection.profiles import Connection

    Connect = Callable[..., tuple[Session, "Recorded"]]

SERVICE = [{"name": "Look", "params": []}]
PATHS = {"/look": {"get": {"operationId": "Look", "responses": {"200": {}}}}}
DOCUMENT = {"openapi": "3.0.3", "paths": PATHS}
YAML = b"""openapi: 3.0.3
paths:
  /look:
    get: {operationId: Look, responses: {200: {description: fine}}}
"""
LIST = "/api/function/ListUserFunctions"


class Recorded:
    """An application that records its requests and statuses."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.seen: list[str] = []
        self.tokens: set[str] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        # The list of the test that sent the request, which may be answered during the next one.
        seen = self.seen

        async def answer(message: Any) -> None:
            if message["type"] == "http.response.start" and scope["method"] != "DELETE":
                seen.append(
                    f"{scope['method']} {scope['path']} {int(message['status'])}"
                )
            await send(message)

        if scope["type"] == "http":
            self.tokens.add(dict(scope["headers"]).get(b"authorization", b"").decode())
        await self.app(scope, receive, answer)


def mcp(path: str, **options: Any) -> Any:
    server = pytest.importorskip(
        "mcp.server", reason="the extra 'mcp' is not installed"
    ).MCPServer("Small")

    @server.tool()  # type: ignore[untyped-decorator,unused-ignore]
    def look() -> int:
        return 1

    return server.streamable_http_app(streamable_http_path=path, **options)


def small_mcp(initialized: list[Any], **replies: Any) -> Starlette:
    """An MCP server without a stream of its own; its methods return these replies, or fail."""
    info = {
        "capabilities": {},
        "serverInfo": {"name": "x", "version": "1"},
        "protocolVersion": "2025-06-18",
    }
    replies["initialize"] = info

    async def answer(request: Request) -> Response:
        if request.method == "GET" or request.url.path.endswith(LIST):
            return Response("", 405)
        call = json.loads(await request.body() or b"{}")
        if "id" not in call:
            return Response("", 202)
        method = call["method"].rpartition("/")[2]
        initialized.extend([call] * (method == "initialize"))
        failed = {"error": {"code": -32603, "message": "No luck"}}
        what = {"result": replies[method]} if method in replies else failed
        return JSONResponse(
            {"jsonrpc": "2.0", "id": call["id"], **what},
            headers={"mcp-session-id": "1"},
        )

    return Starlette(routes=[Route("/{rest:path}", answer, methods=["GET", "POST"])])


def answering(
    get: Any = None,
    post: Any = None,
    listing: Any = None,
    path: str = "/{rest:path}",
    **headers: str,
) -> Starlette:
    """Answer each kind of request with a status, or with JSON, YAML or HTML."""

    async def answer(request: Request) -> Response:
        if request.method == "GET" and request.url.path.endswith("/look"):
            return JSONResponse([{"n": 1}])
        if request.method == "GET":
            what = get
        elif request.url.path.endswith(LIST):
            what = listing
        else:
            what = post
        if what is None or isinstance(what, int):
            while what == 1 and (await request.receive())["type"] != "http.disconnect":
                pass
            return Response("no", 404 if what in {None, 1} else what, headers)
        kind = "text/html" if what == b"<html>" else "application/yaml"
        return (
            Response(what, media_type=kind)
            if isinstance(what, bytes)
            else JSONResponse(what)
        )

    return Starlette(routes=[Route(path, answer, methods=["GET", "POST"])])


def opened(url: str, token: str | None = CANARY) -> Session:
    """Connect without listing the functions in the background."""
    return Session(cast("Connection", resolve(url, token)))


# One server for all tests: starting and stopping it takes longer than a test.
board = Recorded(None)


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with serving(board) as url:
        yield url


@pytest.fixture
def connected(origin: str) -> Iterator[Connect]:
    """Connect to an application without naming its kind."""
    retries.HEALTH.clear()
    with ExitStack() as stack:

        def connect(
            app: Any, path: str = "", token: str | None = CANARY
        ) -> tuple[Session, Recorded]:
            # An MCP server's sessions begin and end with it.
            own = Recorded(app) if path == "/tools" else board
            own.app = app
            own.seen = []
            own.tokens = set()
            session = opened(
                (
                    origin
                    if own is board
                    else stack.enter_context(serving(own, lifespan="on"))
                )
                + path,
                token,
            )
            stack.callback(session.close)
            return session, own

        yield connect


KINDS: dict[str, tuple[Any, str, str, str, list[str]]] = {
    "a service": (lambda: answering(listing=SERVICE), "", "service", "Look", [f"POST {LIST} 200"]),
    "a service with a path": (lambda: answering(listing=SERVICE), "/v1", "service", "Look", [f"POST /v1{LIST} 200"]),
    "an empty service": (lambda: answering(listing=[]), "", "service", "", [f"POST {LIST} 200"]),
    "MCP with sessions": (lambda: mcp("/tools"), "/tools", "mcp", "look",
        [f"POST /tools{LIST} 404", "POST /tools 200", "POST /tools 202", "GET /tools 200", "POST /tools 200"]),
    "MCP without sessions": (lambda: mcp("/tools", stateless_http=True, json_response=True), "/tools", "mcp", "look",
        [f"POST /tools{LIST} 404", "POST /tools 200", "POST /tools 202", "POST /tools 200"]),
    "a document": (lambda: answering(DOCUMENT, 405), "/spec", "openapi", "Look",
        [f"POST /spec{LIST} 404", "POST /spec 405", "GET /spec 200"]),
    "a document in YAML": (lambda: answering(YAML, 405), "/spec", "openapi", "Look",
        [f"POST /spec{LIST} 404", "POST /spec 405", "GET /spec 200"]),
    "a document of a server with web pages": (lambda: answering(DOCUMENT, 500, b"<html>"), "", "openapi", "Look",
        [f"POST {LIST} 200", "POST / 500", "POST / 500", "GET / 200"]),
    "a document for any request": (lambda: answering(DOCUMENT, DOCUMENT, DOCUMENT), "", "openapi", "Look",
        [f"POST {LIST} 200", "POST / 200", "GET / 200"]),
    "a .json": (lambda: answering(DOCUMENT), "/a.json", "openapi", "Look", ["GET /a.json 200"]),
    "a .yaml": (lambda: answering(YAML), "/a.yaml", "openapi", "Look", ["GET /a.yaml 200"]),
    "a .YML": (lambda: answering(YAML), "/a.YML", "openapi", "Look", ["GET /a.YML 200"]),
    "a .yaml in JSON": (lambda: answering(DOCUMENT), "/a.yaml", "openapi", "Look", ["GET /a.yaml 200"]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("app", "path", "kind", "name", "seen"), KINDS.values(), ids=KINDS
)
def test_an_address_has_the_kind_that_it_answers_as(
    connected: Connect, app: Any, path: str, kind: str, name: str, seen: list[str]
) -> None:
    """Each kind is tried once, in order, up to the first that answers; then the kind is known."""
    funcs, server = connected(app(), path)
    assert funcs.names == [name] * bool(name)
    # Notifications have no order.
    assert sorted(server.seen) == sorted(seen)
    assert (funcs.kind, funcs.status().kind) == (kind, kind)
    assert server.tokens == {f"Bearer {CANARY}"}
    before = len(server.seen)
    funcs.refresh()
    assert len(server.seen) == before + 1


NOTHING: dict[str, tuple[Any, type[Exception], str, int]] = {
    "nothing there": ((), jf.ConfigError, "There is no function service at", 4),
    "no method": ((405, 405, 405), jf.ConfigError, "does not accept runs", 3),
    "not acceptable": ((406, 406, 406), jf.ProtocolError, "406", 4),
    "a bad request": ((400, 400, 400), jf.FunctionError, "no", 4),
    "web pages": (
        (b"<html>", b"<html>", b"<html>"),
        jf.AuthenticationError,
        "web page",
        4,
    ),
    "other JSON": (({}, {}, {}), jf.ProtocolError, "no list of functions", 3),
    "other YAML": ((b"a: 1", 404, 404), jf.ConfigError, "no function service", 4),
    "tools outside of MCP": (
        ({}, {}, [{"name": "a", "inputSchema": {}}]),
        jf.ProtocolError,
        "list of MCP tools",
        3,
    ),
    "a failing server": ((500, 500, 404), jf.ConfigError, "no function service", 4),
    # These end the search: a refused token, a failing service, and a document that can't be used.
    "a service, 401": ((DOCUMENT, 405, 401), jf.AuthenticationError, "", 1),
    "a service, 403": ((DOCUMENT, 405, 403), jf.PermissionDeniedError, "", 1),
    "a service, 500": ((DOCUMENT, 405, 500), jf.ServerError, "", 2),
    "MCP, 401": ((DOCUMENT, 401, 404), jf.AuthenticationError, "", 2),
    "MCP, 403": ((DOCUMENT, 403, 404), jf.PermissionDeniedError, "", 2),
    "a document, 403": ((403, 405, 404), jf.PermissionDeniedError, "", 3),
    "an old Swagger": (({"swagger": "1.2"}, 405, 404), jf.ConfigError, "", 3),
    "a server elsewhere": (
        (DOCUMENT | {"servers": [{"url": "https://a.example"}]}, 405, 404),
        jf.ConfigError,
        "",
        3,
    ),
}


@pytest.mark.parametrize(
    ("answers", "error", "message", "requests"), NOTHING.values(), ids=NOTHING
)
def test_what_is_of_no_kind_is_the_services_error(
    connected: Connect,
    answers: Any,
    error: type[Exception],
    message: str,
    requests: int,
) -> None:
    """The error says what else was tried, if anything; the next use tries again."""
    funcs, server = connected(answering(*answers))
    with pytest.raises(error, match=re.escape(message) or None) as caught:
        _ = funcs.names
    assert (
        "\nNor is it an MCP server or an OpenAPI document." in str(caught.value)
    ) is bool(message)
    assert len(str(caught.value).splitlines()) == 2 or not message
    assert (len(server.seen), funcs.kind, funcs.status().kind) == (requests, "", "")


@pytest.mark.parametrize(
    ("app", "path", "kind"),
    [
        (lambda: answering(DOCUMENT, 405), "/spec", "openapi"),
        (lambda: answering(YAML, 405), "/spec", "openapi"),
        (lambda: mcp("/tools"), "/tools", "mcp"),
        (lambda: answering(listing=SERVICE), "", ""),
        (lambda: answering({"a": 1}, b"<html>"), "", ""),
    ],
)
def test_without_a_token_an_address_may_be_for_everybody(
    connected: Connect, app: Any, path: str, kind: str
) -> None:
    """It is recognised by its answers without a request for a listing, which needs a token; the error says so."""
    funcs, server = connected(app(), path, token=None)
    if kind:
        assert (len(funcs.names), funcs.kind) == (1, kind)
    else:
        with pytest.raises(
            jf.ConfigError,
            match=r"There is no token for .*, and it isn't an MCP server or an OpenAPI",
        ):
            _ = funcs.names
    assert server.tokens == {""}
    assert not any(LIST in request for request in server.seen)


def test_an_mcp_server_that_cannot_list_is_one(connected: Connect) -> None:
    """Its own error is shown once it has answered as a server."""
    funcs, _ = connected(small_mcp([]))
    with pytest.raises(
        jf.ProtocolError, match="did not answer as an MCP server: No luck"
    ):
        _ = funcs.names


def test_an_unreachable_address_is_not_asked_again() -> None:
    """A network error is the error of the first request."""
    with pytest.raises(jf.ServiceConnectionError) as caught:
        _ = opened("http://127.0.0.1:9").names
    assert "Nor is it" not in str(caught.value)


@pytest.mark.slow
def test_an_address_that_never_answers_leaves_time_for_the_document(
    connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the listing's time."""
    monkeypatch.setattr(client, "LIST_SECONDS", 6.0)
    funcs, _ = connected(answering(DOCUMENT, 1), "/spec")
    assert funcs.names == ["Look"]


def test_a_search_costs_no_retries(connected: Connect) -> None:
    """Neither the retry budget nor the circuit breaker counts the kinds that an address isn't."""
    inner = answering(500, 500)
    asked: list[tuple[str, bool]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        # Not what the MCP library asks for, whose messages are of no fixed number under load.
        is_stream = b"event-stream" in dict(scope["headers"]).get(b"accept", b"")
        asked.append((scope["path"], is_stream))
        await inner(scope, receive, send)

    # No other test asks at this place, whose last messages may arrive late.
    funcs, _ = connected(app, "/searched")
    for _ in range(6):
        with pytest.raises(jf.ConfigError):
            _ = funcs.names
    health = retries.HEALTH[funcs.address.removesuffix("/searched")]
    assert (health.budget.left, health.breaker.is_open) == (health.budget.most, False)
    places = (f"/searched{LIST}", "/searched")
    assert [asked.count((place, False)) for place in places] == [6, 6]


def test_first_uses_at_once_search_once(connected: Connect) -> None:
    """Threads and refreshes during the search wait for its result."""
    funcs, server = connected(answering(DOCUMENT, 405), "/spec")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: funcs.refresh(), range(4)))
        assert server.seen.count(f"POST /spec{LIST} 404") == 1
        assert server.seen.count("GET /spec 200") == 4


def test_the_query_of_a_document_is_asked_for_and_not_shown() -> None:
    """So is a final slash; errors, the name and the address omit the query."""
    recorded = Recorded(answering(DOCUMENT, 405, path="/api/schema/"))
    queries: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        queries.append(scope.get("query_string", b""))
        await recorded(scope, receive, send)

    with serving(app) as url:
        funcs = opened(f"{url}/api/schema/?format=json#top")
        assert funcs.names == ["Look"]
        assert recorded.seen[-1] == "GET /api/schema/ 200"
        assert queries[-1] == b"format=json"
        assert (funcs.address, funcs.where) == (
            f"{url}/api/schema",
            f"{url}/api/schema/?format=json",
        )
        assert "format" not in f"{funcs!r}{funcs.status()!r}"
        assert opened(funcs.where).names == ["Look"]


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ([{"name": "a", "inputSchema": {}}], "a list of MCP tools"),
        ({"tools": [{"name": "a", "inputSchema": {}}]}, "a list of MCP tools"),
        (
            {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "a"}]}},
            "a JSON-RPC message",
        ),
        ([{"jsonrpc": "2.0", "id": None, "error": {}}], "a JSON-RPC message"),
        (DOCUMENT | {"tags": [{"name": "a"}]}, "an OpenAPI document"),
        ({"swagger": "2.0", "tags": [{"name": "a"}]}, "an OpenAPI document"),
    ],
)
def test_only_a_listing_is_read_as_one(reply: Any, kind: str) -> None:
    """A reply of another kind of source doesn't become functions without parameters."""
    with pytest.raises(jf.ProtocolError, match=f"The reply is {kind}, not a listing"):
        parse_listing(json.dumps(reply).encode())
    assert (
        len(
            parse_listing(
                b'[{"name": "a", "inputSchema": {}, "params": []}, {"name": "openapi"}]'
            )
        )
        == 2
    )


def test_a_kind_in_a_profile_is_not_searched_for(
    origin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the kind that it names is requested."""
    board.app = answering(DOCUMENT, 405)
    # No other test asks at this place, whose last messages may arrive late.
    url = f"{origin}/named"
    (tmp_path / "profiles.toml").write_text(
        f'[profiles.a]\nurl = "{url}"\nkind = "service"\ntoken_env = "TOKEN"\n'
        f'[profiles.b]\nurl = "{url}"\ntoken_env = "TOKEN"\n'
    )
    monkeypatch.setenv("FUNCS_CONFIG", str(tmp_path / "profiles.toml"))
    monkeypatch.setenv("TOKEN", CANARY)
    with pytest.raises(jf.ConfigError, match="no function service"):
        _ = Session(cast("Connection", resolve("a"))).names
    asked = [request for request in board.seen if "/named" in request]
    assert asked == [f"POST /named{LIST} 404"]
    assert jf.connect("b").names == ["Look"]


WITHOUT = """
import sys
sys.modules["mcp"] = sys.modules["yaml"] = None
import jupyter_funcs as jf
for where in sys.argv[1:]:
    try:
        print(jf.connect(where, token="a-token-of-this-test").names)
    except jf.FuncsError as error:
        print(error)
assert "jupyter_funcs.sources.mcp" not in sys.modules
"""


@pytest.mark.slow
def test_without_the_extras_a_document_is_still_found() -> None:
    """For a server or a document that needs an extra, the error says how to install it."""
    with (
        serving(answering(DOCUMENT)) as document,
        serving(answering(406)) as tools,
        serving(answering()) as nothing,
        serving(answering(YAML)) as yaml,
    ):
        run = [
            sys.executable,
            "-c",
            WITHOUT,
            document,
            tools,
            nothing,
            yaml,
            f"{yaml}/a.yaml",
        ]
        done = subprocess.run(
            run, capture_output=True, text=True, timeout=60, check=True
        )
    assert [
        line for line in done.stdout.splitlines() if "no function service" not in line
    ] == [
        "['Look']",
        "If it is an MCP server: pip install 'jupyter-funcs[mcp]'.",
        "Nor is it an OpenAPI document. Check the address of the service.",
        "The OpenAPI document is in YAML.",
        "pip install 'jupyter-funcs[yaml]'",
        "The OpenAPI document is in YAML.",
        "pip install 'jupyter-funcs[yaml]'",
    ]

"""An MCP server whose users log in at a provider, with a browser on this machine and the SDK's client."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

import jupyter_funcs as jf
from jupyter_funcs.connection.profiles import profiles_file
from tests.connection.test_login import keyrings as keyrings  # noqa: PLC0414  # a fixture
from tests.servers import serving

pytest.importorskip("mcp", reason="the extra 'mcp' is not installed")

from mcp.server import MCPServer  # needs the extra

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.requests import Request


def tools() -> Any:
    app = MCPServer("Guarded")

    @app.tool()
    def look() -> list[dict[str, int]]:
        """Return a row."""
        return [{"n": 1}]

    return app.streamable_http_app()


SECRET = "c4n4ry secret+/"


class Provider:
    """A provider that registers clients, and issues tokens for codes with verifiers and for refresh tokens."""

    def __init__(self) -> None:
        self.codes: dict[str, tuple[str, str]] = {}
        self.tokens: set[str] = set()
        self.refreshes: set[str] = set()
        self.grants: list[str] = []
        self.seconds = 3600
        self.refuses = False
        # How a client that is known already shows its secret; no other is registered.
        self.method = ""
        self.app = Starlette(
            routes=[
                Route("/.well-known/oauth-authorization-server", self.describe),
                Route("/register", self.register, methods=["POST"]),
                Route("/authorize", self.authorize),
                Route("/token", self.token, methods=["POST"]),
            ]
        )

    async def describe(self, request: Request) -> Response:
        url = str(request.base_url).rstrip("/")
        about = {
            "issuer": url,
            "authorization_endpoint": f"{url}/authorize",
            "token_endpoint": f"{url}/token",
            "registration_endpoint": f"{url}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": [self.method or "none"],
        }
        if self.method:
            del about["registration_endpoint"]
        return JSONResponse(about)

    async def register(self, request: Request) -> Response:
        if self.method:
            return Response(status_code=404)
        about = json.loads(await request.body())
        assert about["redirect_uris"][0].startswith("http://127.0.0.1:")
        return JSONResponse({**about, "client_id": "registered"}, 201)

    async def authorize(self, request: Request) -> Response:
        query = request.query_params
        assert query["client_id"] == ("known" if self.method else "registered")
        code = f"c4n4ry-code-{len(self.codes)}"
        self.codes[code] = query["code_challenge"], query["redirect_uri"]
        answer = {"error": "access_denied"} if self.refuses else {"code": code}
        sent = urlencode({**answer, "state": query["state"]})
        return RedirectResponse(f"{query['redirect_uri']}?{sent}")

    async def token(self, request: Request) -> Response:
        form = dict(await request.form())
        self.grants.append(str(form["grant_type"]))
        if self.method:
            basic = base64.b64encode(f"known:{quote(SECRET, safe='')}".encode())
            sent = f"client_secret_basic {request.headers.get('authorization')}"
            if self.method == "client_secret_post":
                sent = f"{self.method} {form.get('client_secret')}"
            known = {
                "client_secret_basic": f"Basic {basic.decode()}",
                "client_secret_post": SECRET,
            }
            if sent != f"{self.method} {known[self.method]}":
                return JSONResponse({"error": "invalid_client"}, 401)
        if form["grant_type"] == "refresh_token":
            is_right = str(form["refresh_token"]) in self.refreshes
        else:
            challenge, uri = self.codes.pop(str(form["code"]))
            digest = hashlib.sha256(str(form["code_verifier"]).encode()).digest()
            coded = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            is_right = (challenge, uri) == (coded, form["redirect_uri"])
        if not is_right:
            return JSONResponse({"error": "invalid_grant"}, 400)
        number = len(self.grants)
        self.tokens = {f"c4n4ry-access-{number}"}
        self.refreshes = {f"c4n4ry-refresh-{number}"}
        return JSONResponse(
            {
                "access_token": f"c4n4ry-access-{number}",
                "refresh_token": f"c4n4ry-refresh-{number}",
                "token_type": "Bearer",
                "expires_in": self.seconds,
            }
        )


class Guard:
    """Forwards requests with a token of the provider to a server, and tells others where to get one."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.provider = Provider()
        self.provider_url = ""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode(): text.decode() for name, text in scope["headers"]}
        url = f"http://{headers['host']}"
        about = f"{url}/.well-known/oauth-protected-resource"
        if scope["path"].startswith("/.well-known/oauth-protected-resource"):
            servers = [self.provider_url]
            reply = JSONResponse(
                {"resource": f"{url}/mcp", "authorization_servers": servers}
            )
            await reply(scope, receive, send)
        elif (
            headers.get("authorization", "").removeprefix("Bearer ")
            in self.provider.tokens
        ):
            await self.app(scope, receive, send)
        else:
            challenge = {"WWW-Authenticate": f'Bearer resource_metadata="{about}"'}
            await Response(status_code=401, headers=challenge)(scope, receive, send)


@pytest.fixture(scope="module")
def guarded() -> Iterator[tuple[Guard, str]]:
    guard = Guard(tools())

    async def provider(scope: Any, receive: Any, send: Any) -> None:
        await guard.provider.app(scope, receive, send)

    with serving(guard, lifespan="on") as url, serving(provider) as provider_url:
        guard.provider_url = provider_url
        yield guard, f"{url}/mcp"


@pytest.fixture
def server(
    guarded: tuple[Guard, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Guard:
    """A server with a new provider, and a profile that logs in there and stores the login."""
    guard, url = guarded
    guard.provider = Provider()
    path = tmp_path / "profiles.toml"
    path.write_text(
        f'[profiles.tools]\nkind = "mcp"\nurl = "{url}"\nlogin = true\n'
        f'[profiles.kept]\nkind = "mcp"\nurl = "{url}"\nlogin = true\nkeep = "keyring"\n'
    )
    monkeypatch.setenv("FUNCS_CONFIG", str(path))
    return guard


def test_a_login_in_the_browser_lists_and_runs(
    server: Guard, browser: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Once: the token is used for everything afterwards, and shown nowhere."""
    session = jf.connect("tools").ready()
    assert list(session.look()["n"]) == [1]
    assert list(session.look()["n"]) == [1]
    assert (len(browser), server.provider.grants) == (1, ["authorization_code"])
    assert "resource=" in browser[0]
    shown = capsys.readouterr().out
    assert "Log in in your browser" in shown
    assert "c4n4ry" not in f"{shown}{session!r}{session.status()}{vars(session)}"
    session.close()


def add_client(server: Guard, method: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Let the provider know one client, add it to the profile, and return its registered port."""
    server.provider.method = method
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    path = profiles_file()
    client = f'client_id = "known"\nclient_secret_env = "TOOLS_SECRET"\nredirect_port = {port}\n'
    path.write_text(path.read_text() + f"[profiles.kept.auth.login]\n{client}")
    monkeypatch.setenv("TOOLS_SECRET", SECRET)
    return port


@pytest.mark.usefixtures("keyrings")
@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_client_registered_beforehand_logs_in(
    method: str, server: Guard, browser: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a provider registers no clients; with its secret and port, also to renew a token."""
    server.provider.method = method
    with pytest.raises(jf.AuthenticationError) as refused:
        jf.connect("tools").ready()
    assert "client_id to [profiles.tools.auth.login]" in refused.value.hint
    port = add_client(server, method, monkeypatch)
    for _ in range(2):
        session = jf.connect("kept").ready()
        assert list(session.look()["n"]) == [1]
        session.close()
    [page] = browser
    [uri] = parse_qs(urlsplit(page).query)["redirect_uri"]
    assert uri == f"http://127.0.0.1:{port}/callback"
    assert server.provider.grants == ["authorization_code", "refresh_token"]
    monkeypatch.setenv("TOOLS_SECRET", "c4n4ry wrong")
    server.provider.tokens.clear()
    with pytest.raises(jf.AuthenticationError) as ended:
        jf.connect("kept").look()
    assert "c4n4ry" not in str(ended.value)


@pytest.mark.parametrize(
    "lines",
    [
        'login = true\nauth.login = {client_id = "a", scopes = ["b"]}',
        'login = true\nauth.other = {client_id = "a"}',
        'auth.login = {client_id = "a"}',
        'login = true\nauth.login = {token_env = "A_TOKEN"}',
    ],
)
def test_a_server_takes_no_more_than_the_client_of_its_login(
    lines: str, server: Guard
) -> None:
    """What it would not use is refused; nothing is sent."""
    path = profiles_file()
    url = "https://tools.example/mcp"
    path.write_text(f'[profiles.tools]\nkind = "mcp"\nurl = "{url}"\n{lines}\n')
    with pytest.raises(jf.ConfigError, match="takes login = true and auth"):
        jf.connect("tools")
    assert not server.provider.grants


@pytest.mark.slow
def test_a_token_that_ends_or_is_rejected_is_renewed(
    server: Guard, browser: list[str]
) -> None:
    """Without the user."""
    server.provider.seconds = 30  # less than the minimum lifetime of a token
    session = jf.connect("tools").ready()
    assert list(session.look()["n"]) == [1]
    server.provider.seconds = 3600
    assert list(session.look()["n"]) == [1]
    server.provider.tokens.clear()
    assert list(session.look()["n"]) == [1]
    assert set(server.provider.grants[1:]) == {"refresh_token"}
    assert len(browser) == 1
    session.close()


def test_a_login_that_has_ended_says_how_to_log_in(
    server: Guard, browser: list[str]
) -> None:
    """A run never opens a browser."""
    session = jf.connect("tools").ready()
    assert list(session.look()["n"]) == [1]
    server.provider.tokens.clear()
    server.provider.refreshes.clear()
    with pytest.raises(jf.AuthenticationError, match="%funcs connect tools"):
        session.look()
    assert len(browser) == 1
    session.ready()
    assert list(session.look()["n"]) == [1]
    assert len(browser) == 2
    session.close()


@pytest.mark.slow
@pytest.mark.usefixtures("server", "keyrings")
def test_a_login_is_kept_for_the_next_session(browser: list[str]) -> None:
    """In the keyring, if the profile says so."""
    for _ in range(2):
        session = jf.connect("kept").ready()
        assert list(session.look()["n"]) == [1]
        session.close()
    assert len(browser) == 1


def test_a_login_that_the_user_refuses_says_so(
    server: Guard, browser: list[str]
) -> None:
    """With the provider's error code."""
    server.provider.refuses = True
    with pytest.raises(
        jf.AuthenticationError, match="login of profile 'tools' failed: access_den"
    ):
        jf.connect("tools").ready()
    assert len(browser) == 1


@pytest.mark.usefixtures("server")
def test_a_provider_that_others_can_listen_to_gets_nothing(
    guarded: tuple[Guard, str], browser: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only this machine may be reached over http://."""
    monkeypatch.setattr(guarded[0], "provider_url", "http://login.example")
    with pytest.raises(
        jf.ConfigError, match=r"http://login\.example would send your token"
    ):
        jf.connect("tools").ready()
    assert not browser

"""Tokens of OAuth 2 and OpenID Connect providers are fetched, renewed and kept, and sent only where the user said."""

from __future__ import annotations

import base64
import hashlib
import logging
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, parse_qsl, quote_plus, urlencode, urlsplit

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

import jupyter_funcs as jf
from jupyter_funcs.cli import main
from jupyter_funcs.connection import login
from tests.connection.test_login import keyrings as keyrings  # noqa: PLC0414  # a fixture
from tests.connection.test_login import shown
from tests.servers import serving
from tests.sources.test_openapi import document, operation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.requests import Request

pytest.importorskip("authlib")

SECRET = "c4n4ry+of/my =client%26"
CLIENT = base64.b64encode(f"me:{quote_plus(SECRET)}".encode()).decode()  # RFC 6749


class Provider:
    """An identity provider: it issues tokens for a client secret, a code with its verifier, a device, or a refresh."""

    def __init__(self) -> None:
        self.codes: dict[str, tuple[str, str]] = {}
        self.tokens: set[str] = set()
        self.refreshes: set[str] = set()
        self.approved = False
        self.seconds = 3600
        self.asked: list[str] = []
        self.issuer = ""
        self.refuses = False
        self.reads_body = False
        self.forms: list[dict[str, str]] = []
        self.app = Starlette(
            routes=[
                Route("/token", self.token, methods=["POST"]),
                Route("/authorize", self.authorize),
                Route("/device", self.device, methods=["POST"]),
                Route("/.well-known/openid-configuration", self.describe),
            ]
        )

    async def describe(self, request: Request) -> Response:
        url = str(request.base_url).rstrip("/")
        named = {
            "token": "token_endpoint",
            "authorize": "authorization_endpoint",
            "device": "device_authorization_endpoint",
        }
        return JSONResponse(
            {
                "issuer": self.issuer or url,
                **{key: f"{url}/{path}" for path, key in named.items()},
            }
        )

    async def authorize(self, request: Request) -> Response:
        query = request.query_params
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        code = f"c4n4ry-code-{len(self.codes)}"
        self.codes[code] = query["code_challenge"], query["redirect_uri"]
        answer = {"code": code}
        if self.refuses:
            answer = {"error": "access_denied", "error_description": "Ask Bea."}
        answer["state"] = query["state"]
        return RedirectResponse(f"{query['redirect_uri']}?{urlencode(answer)}")

    async def device(self, _: Request) -> Response:
        about = {
            "device_code": "c4n4ry-device",
            "user_code": "ABCD-EFGH",
            "verification_uri": "https://login.example/device",
        }
        return JSONResponse({**about, "interval": 0})

    async def token(self, request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode()))
        if self.reads_body and "client_id" not in form:
            return JSONResponse({"status": 400, "message": "missing client id"}, 400)
        self.asked.append(form["grant_type"])
        self.forms.append(form)
        is_client = (
            request.headers.get("authorization") == f"Basic {CLIENT}"
            or form.get("client_id") == "me"
        )
        match form["grant_type"]:
            case "client_credentials":
                is_right = (
                    request.headers.get("authorization") == f"Basic {CLIENT}"
                    or form.get("client_secret") == SECRET
                )
            case "authorization_code":
                challenge, uri = self.codes.pop(form["code"])
                digest = hashlib.sha256(form["code_verifier"].encode()).digest()
                verified = base64.urlsafe_b64encode(digest).decode().rstrip("=")
                is_right = (verified, form["redirect_uri"]) == (challenge, uri)
            case "refresh_token":
                is_right = form["refresh_token"] in self.refreshes
                assert "scope" not in form  # less may have been granted
                self.refreshes.discard(form["refresh_token"])
            case _:
                assert form["device_code"] == "c4n4ry-device"
                if not self.approved:
                    self.approved = True
                    return JSONResponse({"error": "authorization_pending"}, 400)
                is_right = True
        if not (is_right and is_client):
            description = f"wrong {form} {request.headers.get('authorization')}"
            return JSONResponse(
                {"error": "invalid_client", "error_description": description}, 401
            )
        token = f"c4n4ry-access-{len(self.asked)}"
        refresh = f"c4n4ry-refresh-{len(self.asked)}"
        self.tokens.add(token)
        more = {}
        if form["grant_type"] != "client_credentials":
            self.refreshes.add(refresh)
            more = {"refresh_token": refresh}
        return JSONResponse(
            {
                "access_token": token,
                "token_type": "Bearer",
                "expires_in": self.seconds,
                **more,
            }
        )


class Api:
    """An API that accepts the tokens of a provider, as its document says."""

    def __init__(self) -> None:
        self.scheme: dict[str, Any] = {}
        self.provider = Provider()
        self.seen: list[str] = []
        self.scopes: list[str] = []
        self.forbids = False
        self.app = Starlette(
            routes=[Route("/openapi.json", self.describe), Route("/look", self.look)]
        )

    async def describe(self, request: Request) -> Response:
        self.seen.append(request.headers.get("authorization", ""))
        paths = {"/look": {"get": operation(operationId="look")}}
        more: dict[str, Any] = {
            "components": {"securitySchemes": {"oc": self.scheme}},
            "security": [{"oc": self.scopes}],
        }
        return JSONResponse(document(paths, **more))

    async def look(self, request: Request) -> Response:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        self.seen.append(token)
        if self.forbids:
            return JSONResponse({"error": "insufficient_scope"}, 403)
        is_right = token in self.provider.tokens
        return (
            JSONResponse([{"n": 1}], 200)
            if is_right
            else JSONResponse({"error": f"not {token}"}, 401)
        )


@pytest.fixture(scope="module")
def urls() -> Iterator[tuple[Api, str, str]]:
    api = Api()

    async def provider(scope: Any, receive: Any, send: Any) -> None:
        await api.provider.app(scope, receive, send)

    with serving(api.app) as url, serving(provider) as login_url:
        yield api, url, login_url


Connect = Any


@pytest.fixture
def connect(
    urls: tuple[Api, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Connect:
    """Return a function that connects to a profile with a client of the provider."""
    api, url, _ = urls
    api.provider = Provider()
    api.seen.clear()
    api.scopes = []
    api.forbids = False
    monkeypatch.setenv("FUNCS_CONFIG", str(tmp_path / "profiles.toml"))
    monkeypatch.setenv("CLIENT_SECRET", SECRET)

    def connected(scheme: Any, table: str) -> Any:
        api.scheme = scheme
        text = f'[profiles.shop]\nurl = "{url}/openapi.json"\n[profiles.shop.auth.oc]\nclient_id = "me"\n{table}\n'
        (tmp_path / "profiles.toml").write_text(text)
        return jf.connect("shop")

    return connected


def oauth(url: str, *flows: str) -> dict[str, Any]:
    about = {
        "tokenUrl": f"{url}/token",
        "authorizationUrl": f"{url}/authorize",
        "scopes": {},
    }
    return {
        "type": "oauth2",
        "flows": {
            flow: {**about, "deviceAuthorizationUrl": f"{url}/device"} for flow in flows
        },
    }


def secret_table(url: str) -> str:
    return f'client_secret_env = "CLIENT_SECRET"\nallow_server = "{url}"'


@pytest.mark.slow
def test_a_client_with_a_secret_gets_a_token_by_itself(
    urls: tuple[Api, str, str], connect: Connect
) -> None:
    """At the first run, for all runs; another one before it expires, and if the server rejects it."""
    api, _, login_url = urls
    funcs = connect(oauth(login_url, "clientCredentials"), secret_table(login_url))
    for _ in range(3):
        assert list(funcs.look.with_options(cache=False)()["n"]) == [1]
    assert api.provider.asked == ["client_credentials"]
    api.provider.tokens.clear()
    assert list(funcs.look.with_options(cache=False)()["n"]) == [1]
    assert api.provider.asked == ["client_credentials"] * 2
    api.provider.seconds = 30  # less than the time of a run
    api.provider.tokens.clear()
    for _ in range(2):
        assert list(funcs.look.with_options(cache=False)()["n"]) == [1]
    assert api.provider.asked == ["client_credentials"] * 4
    assert api.seen[0] == ""


def test_a_provider_may_read_a_secret_in_the_body_only(
    urls: tuple[Api, str, str], connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it refuses both, its own words say why."""
    api, _, login_url = urls
    api.provider.reads_body = True
    scheme = oauth(login_url, "clientCredentials")
    more = 'parameters = {audience = "https://shop.example"}'
    funcs = connect(scheme, f"{secret_table(login_url)}\n{more}")
    assert list(funcs.look()["n"]) == [1]
    [form] = api.provider.forms
    assert form["audience"] == "https://shop.example"
    monkeypatch.setenv("CLIENT_SECRET", "c4n4ry-wrong")
    funcs = connect(scheme, secret_table(login_url))
    with pytest.raises(jf.AuthenticationError, match="failed: invalid_client wrong"):
        funcs.look()


def test_a_refused_operation_names_its_scopes(
    urls: tuple[Api, str, str], connect: Connect
) -> None:
    """A document says which, and each operation may take others."""
    api, _, login_url = urls
    api.scopes = ["read:items", "write:items"]
    funcs = connect(oauth(login_url, "clientCredentials"), secret_table(login_url))
    funcs.ready()
    api.provider.tokens.clear()
    api.forbids = True
    with pytest.raises(jf.PermissionDeniedError) as caught:
        funcs.look()
    assert "takes 'oc' (scopes: read:items write:items)" in caught.value.hint


FLOWS = {
    "authorization code": ("authorizationCode", "browser", ""),
    "a client with a secret": (
        "authorizationCode",
        "browser",
        'client_secret_env = "CLIENT_SECRET"',
    ),
    "device": ("deviceAuthorization", "device", ""),
    "OpenID Connect": ("discovery", "browser", ""),
    "OpenID Connect by device": ("discovery", "device", 'flow = "device"'),
    "an issuer of the profile": ("issuer", "browser", ""),
}


@pytest.mark.parametrize(("flow", "by", "table"), FLOWS.values(), ids=FLOWS)
def test_a_user_logs_in_with_a_browser(
    flow: str,
    by: str,
    table: str,
    urls: tuple[Api, str, str],
    connect: Connect,
    browser: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Once; the token is renewed without the user, and no secret is shown."""
    api, _, url = urls
    table += f'\nallow_server = "{url}"' if flow != "issuer" else f'\nissuer = "{url}"'
    scheme = oauth(url, flow)
    if flow == "discovery":
        scheme = {
            "type": "openIdConnect",
            "openIdConnectUrl": f"{url}/.well-known/openid-configuration",
        }
    elif flow == "issuer":
        scheme = {"type": "http", "scheme": "bearer"}
    funcs = connect(scheme, table)
    with pytest.raises(jf.AuthenticationError, match="not logged in") as caught:
        funcs.look()
    assert "%funcs connect shop" in caught.value.hint
    assert funcs.ready() is funcs
    output = capsys.readouterr().out
    assert ("enter the code ABCD-EFGH" in output) == (by == "device")
    assert len(browser) == (by == "browser")
    look = funcs.look.with_options(cache=False)
    assert list(look()["n"]) == [1]
    api.provider.tokens.clear()
    assert list(look()["n"]) == [1]
    assert api.provider.asked[-1] == "refresh_token"
    funcs.ready()
    assert len(browser) == (by == "browser")
    api.provider.tokens.clear()
    api.provider.refreshes.clear()
    with pytest.raises(jf.AuthenticationError, match="not logged in") as caught:
        look()
    assert "c4n4ry" not in output + shown(caught.value) + str(funcs.status())


@pytest.mark.slow
def test_a_login_is_kept_in_the_keyring(
    urls: tuple[Api, str, str],
    connect: Connect,
    browser: list[str],
    keyrings: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its refresh token is, so that the next session needs no login."""
    _, _, url = urls
    table = f'keep = "keyring"\nallow_server = "{url}"'
    connect(oauth(url, "authorizationCode"), table).ready()
    assert len(browser) == 1
    assert list(connect(oauth(url, "authorizationCode"), table).look()["n"]) == [1]
    assert len(browser) == 1
    main.main(["login", "--profile", "shop"])
    assert "schemes   oc set" in capsys.readouterr().out
    [(entry, kept)] = keyrings.InMemory.kept.items()
    assert entry == (f"jupyter_funcs {url}/token", "me shop")
    assert kept.startswith("c4n4ry-refresh")


@pytest.mark.slow
def test_only_the_answer_with_the_state_of_a_login_counts(
    urls: tuple[Api, str, str], connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other pages can reach the port too; none of their requests ends the login or logs in."""
    _, _, url = urls
    statuses: list[int] = []

    def follow(opened: str) -> bool:
        query = parse_qs(urlsplit(opened).query)
        [uri] = query["redirect_uri"]
        [state] = query["state"]

        def work() -> None:
            others = (
                "?code=evil",
                "?code=evil&state=x",
                "?error=x&state=%C3%A9",
                f"/../?code=evil&state={state}",
            )
            statuses.extend(httpx.get(uri + other).status_code for other in others)
            httpx.get(opened, follow_redirects=True)

        threading.Thread(target=work).start()
        assert uri.startswith("http://127.0.0.1:")
        return True

    monkeypatch.setattr("webbrowser.open", follow)
    funcs = connect(oauth(url, "authorizationCode"), f'allow_server = "{url}"').ready()
    assert statuses == [404] * 4
    assert list(funcs.look()["n"]) == [1]


@pytest.mark.parametrize("by", ["browser", "device"])
def test_a_login_that_nobody_finishes_ends(
    by: str,
    urls: tuple[Api, str, str],
    connect: Connect,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Within the time limit, and with a reason."""
    _, _, url = urls
    monkeypatch.setattr(login, "_LOGIN_SECONDS", 0.0)
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    funcs = connect(
        oauth(url, "authorizationCode", "deviceAuthorization"),
        f'flow = "{by}"\nallow_server = "{url}"',
    )
    with pytest.raises(
        jf.AuthenticationError,
        match="no answer" if by == "browser" else "not finished in time",
    ):
        funcs.ready()


def test_a_login_that_the_user_refuses_says_so(
    urls: tuple[Api, str, str], connect: Connect, browser: list[str]
) -> None:
    """With the provider's words, in the browser as well."""
    api, _, url = urls
    api.provider.refuses = True
    funcs = connect(oauth(url, "authorizationCode"), f'allow_server = "{url}"')
    with pytest.raises(
        jf.AuthenticationError, match=r"failed: access_denied Ask Bea\."
    ):
        funcs.ready()


# Hostile documents


@pytest.mark.parametrize(
    "scheme",
    [
        oauth("https://evil.example", "clientCredentials"),
        oauth("http://api.example", "clientCredentials"),
        oauth("javascript:alert(1)//", "authorizationCode"),
        oauth("file:///etc", "deviceAuthorization"),
        {
            "type": "openIdConnect",
            "openIdConnectUrl": "https://evil.example/.well-known/openid-configuration",
        },
    ],
    ids=str,
)
def test_no_secret_and_no_browser_goes_where_only_a_document_says(
    scheme: Any, urls: tuple[Api, str, str], connect: Connect, browser: list[str]
) -> None:
    """The error says what to add if the address is trusted."""
    api, _, url = urls
    is_client = "clientCredentials" in scheme.get("flows", {})
    funcs = connect(
        scheme, secret_table(url) if is_client else f'allow_server = "{url}"'
    )
    for use in (funcs.look, funcs.ready):
        with pytest.raises(jf.ConfigError, match="The document names") as caught:
            use()
        assert "allow_server" in caught.value.hint
    assert (api.provider.asked, browser) == ([], [])


def test_a_provider_that_describes_another_one_is_refused(
    urls: tuple[Api, str, str], connect: Connect
) -> None:
    """Otherwise the codes of one could be sent to the other."""
    api, _, url = urls
    api.provider.issuer = "https://evil.example"
    funcs = connect(
        {"type": "http", "scheme": "bearer"}, f'{secret_table(url)}\nissuer = "{url}"'
    )
    with pytest.raises(jf.ConfigError, match="describes another provider"):
        funcs.look()
    assert api.provider.asked == []


def test_a_refusal_of_the_provider_is_said_without_what_was_sent(
    urls: tuple[Api, str, str],
    connect: Connect,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """With its code and message; so is an address without a provider, and one that doesn't exist."""
    _, url, login_url = urls
    monkeypatch.setenv("CLIENT_SECRET", "c4n4ry-wrong")
    with caplog.at_level(logging.DEBUG):
        funcs = connect(oauth(login_url, "clientCredentials"), secret_table(login_url))
        with pytest.raises(
            jf.AuthenticationError, match="failed: invalid_client wrong"
        ) as caught:
            funcs.look()
        for place in (url, "http://127.0.0.1:1"):
            other = connect(oauth(place, "clientCredentials"), secret_table(place))
            with pytest.raises(
                jf.ServiceConnectionError,
                match=r"login to auth\.oc of profile 'shop' failed",
            ):
                other.look()
    assert "c4n4ry" not in shown(caught.value) + caplog.text


def test_a_document_without_addresses_says_what_to_add(
    urls: tuple[Api, str, str], connect: Connect
) -> None:
    """Neither in a flow nor described."""
    funcs = connect(
        {
            "type": "oauth2",
            "flows": {"implicit": {"authorizationUrl": "https://x.example"}},
        },
        "",
    )
    with pytest.raises(jf.ConfigError, match=r"No address is known.*\nAdd issuer"):
        funcs.look()


def test_results_are_found_again_with_a_new_token(
    urls: tuple[Api, str, str], connect: Connect
) -> None:
    """For a client that acts for itself, the account is the client, whatever its token."""
    api, _, url = urls
    funcs = connect(oauth(url, "clientCredentials"), secret_table(url))
    funcs.look.with_options(cache=True)()
    api.provider.tokens.clear()
    again = connect(oauth(url, "clientCredentials"), secret_table(url))
    assert again.look.with_options(cache=True)().attrs["funcs"]["cached"]
    assert len(api.seen) == 3

"""Each scheme of a document gets its own credential, from a profile or the environment, only where it belongs."""

from __future__ import annotations

import base64
import json
import logging
import re
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import jupyter_funcs as jf
from jupyter_funcs.client.snippets import curl, python
from jupyter_funcs.connection.profiles import resolve
from tests.connection.test_login import shown
from tests.servers import serving
from tests.shells import shell_with
from tests.sources.test_openapi import Server, document, operation, param

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from starlette.requests import Request

CANARY = "c4n4ry-k3y-of-the-schemes"
OTHER = "c4n4ry-0ther-k3y"
PASSWORD = "c4n4ry pässword: 1"
BASIC = base64.b64encode(f"ann:{PASSWORD}".encode()).decode()
SCHEMES = {
    "query key": {"type": "apiKey", "in": "query", "name": "api_key"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "basic": {"type": "http", "scheme": "Basic"},
    "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "secret": {"type": "apiKey", "in": "header", "name": "X-Secret"},
    "bearer": {"type": "http", "scheme": "bearer"},
    "token": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": 'Token-based authentication with required prefix "Token"',
    },
    "mutual": {"type": "mutualTLS"},
}
# The part of a request that must have each scheme's secret.
ACCEPTS: dict[str, Callable[[Request], bool]] = {
    "query key": lambda request: request.query_params.getlist("api_key") == [CANARY],
    "cookie": lambda request: request.cookies.get("sid") == CANARY,
    "basic": lambda request: request.headers.get("authorization") == f"Basic {BASIC}",
    "key": lambda request: request.headers.get("x-key") == CANARY,
    "secret": lambda request: request.headers.get("x-secret") == OTHER,
    "bearer": lambda request: (
        request.headers.get("authorization") == f"Bearer {CANARY}"
    ),
    "token": lambda request: request.headers.get("authorization") == f"Token {CANARY}",
    "mutual": lambda _: False,
}
AUTH = {
    "query key": 'token_env = "A_KEY"',
    "cookie": 'token_env = "A_KEY"',
    "basic": 'user = "ann"\npassword_env = "A_PASSWORD"',
    "key": 'token_env = "A_KEY"',
    "secret": 'token_env = "OTHER_KEY"',
    "bearer": 'token_env = "A_KEY"',
    "token": 'token_env = "A_KEY"',
}


class Api:
    """A server whose operations need one of several alternatives of schemes; it notes the requests that reach it."""

    def __init__(self) -> None:
        self.security: list[dict[str, list[str]]] = []
        self.schemes: dict[str, Any] = SCHEMES
        self.more: dict[str, Any] = {}
        self.seen: list[str] = []
        routes = [
            Route("/openapi.json", self.describe),
            Route("/{rest:path}", self.answer, methods=["GET", "POST"]),
        ]
        self.app = Starlette(routes=routes)

    async def describe(self, request: Request) -> Response:
        self.seen.append(f"{request.url} {request.headers}")
        keys = [
            param("api_key"),
            param("q"),
            param("X-Key", "header"),
            param("lang", "cookie"),
        ]
        paths = {
            "/look": {"get": operation(*keys, operationId="look")},
            "/change": {"post": operation(operationId="change")},
        }
        parts = {"securitySchemes": self.schemes}
        return JSONResponse(
            document(paths, security=self.security, components=parts, **self.more)
        )

    async def answer(self, request: Request) -> Response:
        self.seen.append(f"{request.url} {request.headers}")
        met = [
            names
            for names in self.security
            if all(ACCEPTS[name](request) for name in names)
        ]
        if not met:
            return JSONResponse(
                {"error": f"no: {request.url} {dict(request.headers)}"}, 401
            )
        if request.query_params.get("page") == "1":
            return JSONResponse({"items": [{"n": 2}], "next": None})
        following = f"{request.url}&page=1"
        return JSONResponse(
            {
                "items": [{"n": 1}],
                "next": following if "q" in request.query_params else None,
            }
        )


api = Api()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(api.app) as url:
        yield url


@pytest.fixture
def profile(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Return a function that connects to a profile with the credentials of some schemes."""
    monkeypatch.setenv("A_KEY", CANARY)
    monkeypatch.setenv("OTHER_KEY", OTHER)
    monkeypatch.setenv("A_PASSWORD", PASSWORD)
    monkeypatch.setenv("FUNCS_CONFIG", str(tmp_path / "profiles.toml"))
    api.schemes = SCHEMES
    api.more = {}
    api.seen.clear()

    def connect(security: Any, *names: str, more: str = "", **auth: str) -> Any:
        api.security = security
        tables = {name: AUTH[name] for name in names} | auth
        text = "".join(
            f'[profiles.shop.auth."{name}"]\n{table}\n'
            for name, table in tables.items()
        )
        (tmp_path / "profiles.toml").write_text(
            f'[profiles.shop]\nurl = "{url}/openapi.json"\n{more}\n{text}', "utf-8"
        )
        return jf.connect("shop")

    return connect


class Case(NamedTuple):
    security: list[dict[str, list[str]]]
    names: tuple[str, ...]


CASES = {
    **{name: Case([{name: []}], (name,)) for name in AUTH},
    "two together": Case([{"key": [], "secret": []}], ("key", "secret")),
    "a query key and a cookie": Case(
        [{"query key": [], "cookie": []}], ("query key", "cookie")
    ),
    "the second alternative": Case(
        [{"bearer": []}, {"key": [], "secret": []}], ("key", "secret")
    ),
    "not the one that can't be met": Case([{"mutual": []}, {"basic": []}], ("basic",)),
    "an alternative without any": Case([{}, {"basic": []}], ("basic",)),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_operation_gets_the_credentials_that_it_takes(
    case: Case, profile: Callable[..., Any]
) -> None:
    """The alternative whose credentials are all set; beside the arguments, and not for the document itself."""
    funcs = profile(case.security, *case.names)
    assert list(funcs.look()["n"]) == [1]
    assert funcs.change()["n"].tolist() == [1]
    assert list(
        funcs.look.with_options(pages="all", cache=False)(q="a b", lang="en")["n"]
    ) == [
        1,
        2,
    ]
    listing, *runs = api.seen
    assert "c4n4ry" not in listing
    assert BASIC not in listing
    assert len(runs) == 4
    assert "q=a%20b" in runs[2]
    assert "lang=en" in runs[2]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_secret_is_shown_nowhere(
    case: Case,
    profile: Callable[..., Any],
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Not in errors that repeat it, nor in requests, code, status, history, attributes or logs."""
    funcs = profile(case.security, *case.names)
    with caplog.at_level(logging.DEBUG):
        with pytest.warns(UserWarning, match="more follow") as warned:
            frame = funcs.look(q="a")
        everything = [
            json.dumps(frame.attrs),
            str(warned[0].message),
            str(funcs.look.request(q="a")),
            str(funcs.status()),
            repr(funcs),
        ]
        everything += [
            python(funcs.look, {"q": "a"}, "shop"),
            curl(funcs.look, {"q": "a"}),
            str(list(funcs.history)),
        ]
        api.security = [{"mutual": []}]
        with pytest.raises(jf.AuthenticationError) as caught:
            funcs.look(q="a")
        with shell_with(funcs) as shell:
            shell.run_line_magic("funcs", "call look q=a --dry-run")
            shell.run_line_magic("funcs", "status")
    everything += [
        shown(caught.value),
        "".join(capsys.readouterr()),
        caplog.text,
        str(resolve("shop")),
    ]
    for secret in ("c4n4ry", BASIC, "p%C3%A4ssword"):
        assert not [text for text in everything if secret in text]


@pytest.mark.parametrize(
    ("security", "names", "says"),
    [
        (
            [{"basic": []}],
            (),
            r"takes 'basic'. Set user and password_env in \[profiles.shop.auth.basic\]",
        ),
        (
            [{"key": [], "secret": []}],
            ("key",),
            r"'key' and 'secret'. Set token_env in \[profiles.shop.auth.secret",
        ),
        (
            [{"key": []}, {"basic": []}],
            (),
            r"takes 'key' or 'basic'. Set token_env in \[profiles.shop.auth.key\]",
        ),
        ([{"mutual": []}], (), r"takes 'mutual'"),
        (
            [{"bearer": []}],
            ("bearer",),
            r"takes 'bearer': check the token_env of auth.bearer of profile 'shop'",
        ),
    ],
)
def test_a_refused_operation_names_its_scheme(
    security: Any,
    names: tuple[str, ...],
    says: str,
    profile: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The message says what to set; the operation is listed and runs anyway."""
    monkeypatch.setenv("A_KEY", "c4n4ry-another-key")
    funcs = profile(security, *names)
    with pytest.raises(jf.AuthenticationError) as caught:
        funcs.look()
    assert re.search(says, caught.value.hint)
    assert len(str(caught.value).splitlines()) <= 3


def test_the_status_says_which_schemes_are_set(profile: Callable[..., Any]) -> None:
    """By name, never their values."""
    funcs = profile([{"basic": []}, {"key": [], "query key": []}], "basic", "key")
    assert funcs.names == ["look", "change"]
    assert funcs.status().schemes == "basic set, key set, query key not set"
    assert "schemes   basic set" in repr(funcs.status())


@pytest.mark.parametrize("name", ["query key", "cookie", "key", "bearer", "basic"])
def test_a_single_token_is_enough_for_a_single_scheme(
    name: str, url: str, profile: Callable[..., Any]
) -> None:
    """As the `token` of `connect`; for the basic scheme it is the name and the password."""
    profile([{name: []}])
    token = f"ann:{PASSWORD}" if name == "basic" else CANARY
    if name == "basic":
        with pytest.raises(jf.ConfigError, match="contains characters"):
            jf.connect(f"{url}/openapi.json", token=token)
        return
    funcs = jf.connect(f"{url}/openapi.json", token=token)
    assert funcs.look()["n"].tolist() == [1]


def test_the_environment_has_a_credential_per_scheme(
    url: str, profile: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only for the document that it names."""
    profile([{"query key": [], "secret": []}])
    monkeypatch.setenv("FUNCS_AUTH_QUERY_KEY", CANARY)
    monkeypatch.setenv("FUNCS_AUTH_SECRET", OTHER)
    monkeypatch.setenv("FUNCS_BASE_URL", f"{url}/openapi.json")
    for funcs in (jf.connect(), jf.connect(f"{url}/openapi.json")):
        assert funcs.look()["n"].tolist() == [1]
    connection = resolve("https://other.example/openapi.json")
    assert connection is not None
    assert not connection.auth


def test_a_parameter_that_is_a_scheme_is_no_field(profile: Callable[..., Any]) -> None:
    """Wherever the key is sent: otherwise its value would be in the history."""
    assert [field.name for field in profile([{"key": []}], "key").look.fields] == [
        "q",
        "lang",
    ]


@pytest.mark.parametrize(
    "names", [("query key",), ("cookie", "key"), ("basic",), ("token",)]
)
def test_the_curl_command_has_variables_for_its_secrets(
    names: tuple[str, ...], profile: Callable[..., Any]
) -> None:
    """A shell in which the variables are set sends the same."""
    funcs = profile([{name: [] for name in names}], *names)
    command = curl(funcs.look, {"q": "a b"})
    variables = {
        "query key": CANARY,
        "cookie": CANARY,
        "key": CANARY,
        "basic": f"ann:{PASSWORD}",
        "token": CANARY,
    }
    environment = {
        f"FUNCS_AUTH_{name.upper().replace(' ', '_')}": value
        for name, value in variables.items()
    }
    done = subprocess.run(
        ["bash", "-c", f"{command} -s"],
        env={**environment, "PATH": "/usr/bin:/bin"},
        check=True,
        capture_output=True,
        timeout=60,
    )
    assert json.loads(done.stdout)["items"] == [{"n": 1}]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('token = "c4n4ry"', "the unknown key 'token'"),
        ('token_env = "A"\npassword_env = "A"', "needs one of"),
        ('user = "ann"', "needs one of"),
        ('password_env = "A_KEY"', "has a password_env and no user"),
        ('client_secret_env = "A_KEY"', "has a client_secret_env and no client_id"),
        ("token_env = 5", "has a token_env that is not text"),
        ('client_id = "x"\nflow = "password"', "has a flow of another kind"),
        ('client_id = "x"\nscopes = "a b"', "has a scopes of another kind"),
        (
            'client_id = "x"\nredirect_port = true',
            "has a redirect_port of another kind",
        ),
        ('client_id = "x"\nkeep = "file"', "has a keep of another kind"),
        ('token_env = "NOT_SET"', "is not set"),
    ],
)
def test_a_profile_that_is_wrong_says_where(
    table: str, message: str, profile: Callable[..., Any]
) -> None:
    """The message has no values of the profile: one may be a secret."""
    with pytest.raises(jf.ConfigError, match=message) as caught:
        profile([], key=table)
    assert "c4n4ry" not in str(caught.value)
    with pytest.raises(jf.ConfigError, match="auth that is not a table"):
        profile([], more="auth = 5")


def test_results_are_kept_for_each_account(
    profile: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With another key of a scheme the request is sent again."""
    funcs = profile([{"key": []}, {"secret": []}], "key", "secret")
    look = funcs.look.with_options(cache=True)
    for _ in range(2):
        look()
    runs = len(api.seen)
    monkeypatch.setenv("A_KEY", "c4n4ry-of-somebody-else")
    with pytest.raises(jf.AuthenticationError):
        look()
    assert len(api.seen) > runs


# Hostile documents


@pytest.mark.parametrize("where", ["header", "query", "cookie"])
@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "Content-Length",
        "Transfer-Encoding",
        "X\r\nX-Evil: 1",
        "Cookie",
        "Proxy-Authorization",
        "",
        "a b&c=d#",
    ],
)
def test_a_scheme_changes_nothing_but_its_own_place(
    where: str, name: str, profile: Callable[..., Any]
) -> None:
    """If a scheme's name is invalid for a header, or is one of HTTP's own, the token is sent as usual."""
    api.schemes = {"key": {"type": "apiKey", "in": where, "name": name}}
    funcs = profile([{"key": []}], key=AUTH["key"])
    with pytest.raises((jf.AuthenticationError, jf.FuncsError)):
        funcs.look(q="a")
    [request] = api.seen[1:]
    assert "x-evil" not in request.lower().replace("%0d%0ax-evil", "")
    assert request.startswith(f"{funcs.address.removesuffix('openapi.json')}look?q=a")
    assert CANARY in request


def test_a_credential_goes_to_its_own_origin_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scheme's credential goes to the server that the user allows, not to the origin of the document."""
    monkeypatch.setenv("A_KEY", CANARY)
    file = tmp_path / "profiles.toml"
    monkeypatch.setenv("FUNCS_CONFIG", str(file))
    file.write_text(
        '[profiles.shop]\nkind = "openapi"\nurl = "https://docs.example/v1/openapi.json"\n'
        'allow_server = "https://api.example"\n[profiles.shop.auth.key]\ntoken_env = "A_KEY"\n'
    )
    paths = {
        "/api": {"get": operation(operationId="api")},
        "/own": {
            "get": operation(
                operationId="own", servers=[{"url": "https://docs.example"}]
            )
        },
    }
    more = {"servers": [{"url": "https://api.example"}], "security": [{"key": []}]}
    server = Server(document(paths, components={"securitySchemes": SCHEMES}, **more))
    funcs = jf.connect("shop", transport=server)
    funcs.api()
    funcs.own()
    assert [CANARY in str(request["headers"]) for request in server.seen] == [
        True,
        False,
    ]

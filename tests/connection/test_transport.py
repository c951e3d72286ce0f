"""Each status and each broken connection is an error that says what to do and shows no token."""

from __future__ import annotations

import json
import socket
import time
import traceback
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import jupyter_funcs as jf
from tests.servers import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_funcs.api import Session

CANARY = "eyJhbGciOiJub25lIn0.Y2FuYXJ5LXRva2VuLW9mLXRoZS10ZXN0cw.c2lnbmF0dXJlLXBhcnQ"
HTML = "<html><head><style>p {}</style><title>Sign in</title></head><body><p>Please &amp; sign in</p></body></html>"


class Answers:
    """A service over real HTTP that lists one function and answers its runs from a script."""

    def __init__(self) -> None:
        self.status = 200
        self.headers: dict[str, str] = {}
        self.body = b"[]"
        self.seen: list[dict[str, Any]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        more = True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        listing = scope["path"].endswith("ListUserFunctions")
        if not listing:
            self.seen.append(
                {
                    "headers": dict(scope["headers"]),
                    "body": json.loads(body),
                    "path": scope["path"],
                }
            )
        status, headers = (200, {}) if listing else (self.status, self.headers)
        reply = b'[{"name": "F", "params": [{"name": "a"}]}]' if listing else self.body
        raw = [
            (key.encode(), value.encode())
            for key, value in {"content-type": "application/json", **headers}.items()
        ]
        await send({"type": "http.response.start", "status": status, "headers": raw})
        await send({"type": "http.response.body", "body": reply})


@pytest.fixture(scope="module")
def answers() -> Iterator[tuple[Answers, Session]]:
    """A scripted service and a session with it."""
    app = Answers()
    with serving(app) as url:
        session = jf.connect(url, token=CANARY)
        assert session.names == ["F"]
        yield app, session
        session.close()


def told(app: Answers, status: int, body: object = b"", **headers: str) -> None:
    app.status = status
    if isinstance(body, str):
        body = body.encode()
    app.body = body if isinstance(body, bytes) else json.dumps(body).encode()
    app.headers = {key.replace("_", "-"): value for key, value in headers.items()}
    app.seen.clear()


def row(number: int, *values: Any) -> Any:
    """Return a case of a row of FAULTS.md."""
    return pytest.param(
        *values,
        marks=pytest.mark.fault(number),
        id=f"{number}-{values[0]}-{len(repr(values))}",
    )


@pytest.mark.parametrize(
    ("status", "body", "headers", "error", "message", "sent"),
    [
        row(
            23,
            400,
            {"error": "Args is missing"},
            {},
            jf.FunctionError,
            "Args is missing",
            1,
        ),
        row(
            24,
            401,
            {"error": "who?"},
            {},
            jf.AuthenticationError,
            "does not accept the token: who?",
            1,
        ),
        row(26, 403, "no", {}, jf.PermissionDeniedError, "not allowed", 1),
        row(
            27,
            404,
            {"error": "no function 'F'"},
            {},
            jf.NotFoundError,
            "no function 'F'",
            1,
        ),
        row(
            27,
            404,
            "Not Found",
            {"content_type": "text/plain"},
            jf.ConfigError,
            "no function service at http:",
            1,
        ),
        row(28, 405, "", {}, jf.ConfigError, "405", 1),
        row(29, 408, "", {}, jf.DeadlineError, "408", 2),
        row(30, 409, {"message": "running"}, {}, jf.FunctionError, "running", 1),
        row(31, 413, "", {}, jf.ReplyTooLargeError, "large", 1),
        row(28, 415, "", {}, jf.ConfigError, "415", 1),
        row(
            32,
            422,
            {"error": "bad", "arguments": {"a": ["a is bad"]}},
            {},
            jf.ArgumentError,
            "bad",
            1,
        ),
        row(33, 429, "", {}, jf.RateLimitError, "in a minute", 3),
        row(34, 429, "", {"retry_after": "0"}, jf.RateLimitError, "in 0 s", 3),
        row(36, 429, "", {"retry_after": "31"}, jf.RateLimitError, "in 31 s", 1),
        row(36, 503, "", {"retry_after": "9999"}, jf.ServerError, "503", 1),
        row(36, 429, "", {"retry_after": "nan"}, jf.RateLimitError, "in a minute", 3),
        row(37, 500, {"error": "boom"}, {}, jf.ServerError, "boom", 1),
        row(
            38,
            502,
            HTML,
            {"content_type": "text/html"},
            jf.ServerError,
            "502.*Sign in Please & sign in",
            2,
        ),
        row(39, 503, "", {}, jf.ServerError, "503", 3),
        row(40, 504, "", {}, jf.DeadlineError, "may still be running", 1),
        row(45, 599, "", {}, jf.ServerError, "599", 2),
        row(
            16,
            307,
            "",
            {"location": "http://127.0.0.1:1/"},
            jf.ProtocolError,
            "redirects",
            1,
        ),
        row(45, 418, "", {}, jf.ProtocolError, "418", 1),
        row(44, 204, b"", {}, jf.ProtocolError, "204", 1),
        row(45, 206, "[]", {}, jf.ProtocolError, "206", 1),
        row(41, 200, {"error": "it failed"}, {}, jf.FunctionError, "it failed", 1),
        row(36, 429, "", {"retry_after": "-1"}, jf.RateLimitError, "in a minute", 3),
        row(36, 429, "", {"retry_after": "inf"}, jf.RateLimitError, "in a minute", 3),
        row(44, 200, " ", {}, jf.ProtocolError, "empty reply", 1),
        row(
            43,
            200,
            HTML,
            {"content_type": "text/html"},
            jf.AuthenticationError,
            "login page",
            1,
        ),
        row(
            42,
            200,
            {"error": "it failed", "body": "[1]"},
            {},
            jf.FunctionError,
            "it failed",
            1,
        ),
        row(
            48,
            200,
            '{"error": null, "body": "[{\\"a\\": 1"',
            {},
            jf.ProtocolError,
            "",
            1,
        ),
    ],
)
def test_each_status_is_an_error_that_says_what_to_do(
    answers: tuple[Answers, Session],
    status: int,
    body: object,
    headers: dict[str, str],
    error: type[Exception],
    message: str,
    sent: int,
) -> None:
    """
    Each status raises its own class in one to three lines, and the next healthy run works.

    It is sent again only where the status shows that the run did not begin, or may not have.
    """
    app, session = answers
    told(app, status, body, **headers)
    with pytest.raises(error, match=f"(?s){message}" if message else None) as caught:
        session.f(a="1")
    assert isinstance(caught.value, jf.FuncsError)
    assert 1 <= len(caught.value.lines) <= 3
    assert "<" not in str(caught.value)
    assert len(app.seen) == sent == caught.value.attempts
    assert (f"Tried {sent} times." in str(caught.value)) is (sent > 1)
    told(app, 200, [{"a": 1}])
    frame = session.f(a="1")
    assert len(frame) == frame.attrs["funcs"]["attempts"] == 1


@pytest.mark.fault(32)
def test_a_refused_argument_is_named(answers: tuple[Answers, Session]) -> None:
    """A 422 names its arguments, in the local service's form and in FastAPI's."""
    app, session = answers
    told(app, 422, {"error": "bad", "arguments": {"a": ["a is bad"], "b": "b is bad"}})
    with pytest.raises(jf.ArgumentError) as caught:
        session.f()
    assert caught.value.errors == {"a": ["a is bad"], "b": ["b is bad"]}
    told(app, 422, {"detail": [{"loc": ["body", "Args", "a"], "msg": "must be text"}]})
    with pytest.raises(jf.ArgumentError) as caught:
        session.f()
    assert caught.value.errors == {"a": ["must be text"]}


@pytest.mark.fault(47)
@pytest.mark.parametrize(
    "body",
    [
        {"error": f"bad token {CANARY}"},
        f"token {CANARY} refused",
        {"arguments": {"a": [CANARY]}, "error": CANARY},
    ],
)
@pytest.mark.parametrize("status", [200, 400, 401, 422, 500])
def test_a_token_that_is_repeated_is_not_shown(
    answers: tuple[Answers, Session], status: int, body: object
) -> None:
    """If a service repeats the token in an error, no part of it is in the error, its chain or traceback."""
    app, session = answers
    told(
        app,
        status,
        body if status != 200 else {"error": f"bad token {CANARY}", "body": None},
    )
    with pytest.raises(jf.FuncsError) as caught:
        session.f(a="1")
    shown = (
        "".join(traceback.format_exception(caught.value))
        + repr(vars(caught.value))
        + repr(caught.value.args)
    )
    for part in CANARY.split("."):
        assert part not in shown
    chain: BaseException | None = caught.value
    while chain is not None:
        assert not isinstance(chain, httpx.HTTPError)
        chain = chain.__cause__ or chain.__context__


def test_what_is_sent_is_what_the_service_takes(
    answers: tuple[Answers, Session],
) -> None:
    """A run is one POST with the bearer token, FunctionName, and Args as text."""
    app, session = answers
    told(app, 200, [])
    session.f(a=1)
    (seen,) = app.seen
    assert seen["path"] == "/api/function/runFunction"
    assert seen["body"] == {"FunctionName": "F", "Args": {"a": "1"}}
    assert seen["headers"][b"authorization"] == f"Bearer {CANARY}".encode()
    assert b"x-api-key" not in seen["headers"]


def test_an_api_key_is_sent_in_its_own_header(answers: tuple[Answers, Session]) -> None:
    """An API key is sent as X-Api-Key, without a bearer token."""
    app, session = answers
    told(app, 200, [])
    url = session.remote.transport.connection.base_url
    keyed = jf.connect(url, api_key="k-123")
    keyed.f(a="1")
    keyed.close()
    assert app.seen[0]["headers"][b"x-api-key"] == b"k-123"
    assert b"authorization" not in app.seen[0]["headers"]


def test_an_expired_token_is_not_sent(answering: Callable[..., Session]) -> None:
    """An expired JWT is an AuthenticationError before anything is sent."""
    jwt = pytest.importorskip("jwt")
    token = jwt.encode({"exp": int(time.time()) - 1}, "k" * 32)
    with pytest.raises(jf.AuthenticationError, match="expired"):
        _ = answering(lambda request: pytest.fail(str(request.url)), token=token).names


def test_nobody_listening_is_said() -> None:
    """A refused connection names the host and what to check."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(
        jf.ServiceConnectionError,
        match=rf"Cannot reach 127.0.0.1:{port}: Connection refused",
    ):
        _ = jf.connect(f"http://127.0.0.1:{port}", token=CANARY).names


def test_a_synchronous_transport_will_do() -> None:
    """Any httpx transport works, also a synchronous one."""

    class Sync(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, json=[{"name": request.url.path}])

    session = jf.connect(
        "https://service.example", token="a-token-of-the-tests", transport=Sync()
    )
    assert session.names == ["/api/function/ListUserFunctions"]


@pytest.mark.fault(100)
def test_a_service_that_fails_is_left_alone_for_all_who_go_there() -> None:
    """After five failed runs nothing is sent, also not by another session, unless forced (FAULTS 100)."""
    app = Answers()
    with serving(app) as url:
        session = jf.connect(url, token=CANARY)
        other = jf.connect(url, token="another-token")
        told(app, 500, "boom")
        assert session.names == other.names == ["F"]
        for _ in range(5):
            with pytest.raises(jf.ServerError):
                session.f()
        for funcs in (session, other):
            with pytest.raises(
                jf.CircuitOpenError, match=r"requests are paused.\nTry again in \d+ s"
            ) as caught:
                funcs.f()
            assert len(caught.value.lines) == 2
        assert len(app.seen) == 5
        told(app, 200, [{"a": 1}])
        assert len(other.f.with_options(force=True)()) == 1
        assert len(session.f()) == 1
        session.close()
        other.close()


def test_refusals_and_failed_functions_leave_no_service_alone(
    answers: tuple[Answers, Session],
) -> None:
    """A 4xx, a failed function and a cancelled run don't count as failures of the service."""
    app, session = answers
    for status, body in [
        (400, ""),
        (422, ""),
        (404, "{}"),
        (200, {"error": "failed"}),
        (403, ""),
    ] * 2:
        told(app, status, body)
        with pytest.raises(jf.FuncsError) as caught:
            session.f()
        assert not isinstance(caught.value, jf.CircuitOpenError)


@pytest.mark.parametrize("retries", [-1, 3, "two", True, 1.5, None])
def test_retries_are_a_small_number(
    answers: tuple[Answers, Session], retries: object
) -> None:
    """Anything but a number from 0 to 2 is refused, with the value."""
    with pytest.raises(
        jf.ArgumentError, match="retries takes a number from 0 to 2, not"
    ):
        answers[1].f.with_options(retries=retries)

"""The last listing of a source is kept on this machine: sent again only if it changed, and used offline."""

from __future__ import annotations

import gzip
import json
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

import jupyter_funcs as jf
from jupyter_funcs.client import client, remote
from jupyter_funcs.client.cache import LISTINGS, Cache
from jupyter_funcs.connection import transport
from jupyter_funcs.core.errors import (
    AuthenticationError,
    DeadlineError,
    FuncsError,
    PermissionDeniedError,
    ProtocolError,
    ServiceConnectionError,
)
from tests.conftest import wait_until
from tests.faults.canary import CANARY
from tests.faults.server import LISTING, Connection, Faulty, faulty, reply
from tests.servers import serving, serving_accounts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.requests import Request

    from jupyter_funcs.api import Session

AS_LISTED = r"The functions are as listed on 20\d\d-\d\d-\d\d \d\d:\d\d; %funcs refresh lists them again"


@contextmanager
def connected(where: str, token: str | None = CANARY) -> Iterator[Session]:
    session = jf.connect(where, token=token) if token else jf.connect(where)
    yield session
    session.close()


def listed(where: str, token: str | None = CANARY) -> list[str]:
    """Return the names that a new session lists, silently."""
    with warnings.catch_warnings(), connected(where, token) as session:
        warnings.simplefilter("error")
        return session.names


def files() -> list[Path]:
    folder = Cache().folder / LISTINGS
    return sorted(folder.iterdir()) if folder.exists() else []


def closed() -> tuple[Faulty, list[str]]:
    """Return a service that has listed its functions and then ended."""
    with faulty() as server:
        names = listed(server.url)
    return server, names


def test_a_service_that_cannot_be_reached_has_the_functions_of_its_last_listing() -> (
    None
):
    """A new session uses them with one warning; its forms work, and a refresh says what is wrong."""
    server, names = closed()
    with connected(server.url) as session:
        with pytest.warns(
            UserWarning, match=f"^Cannot reach 127.*{AS_LISTED}"
        ) as warned:
            assert session.names == names == ["F"]
        assert len(warned) == 1
        assert [field.name for field in session["F"].fields] == ["a"]
        with pytest.raises(ServiceConnectionError):
            session.refresh()
        with pytest.raises(ServiceConnectionError):
            session["F"](a=1)


def test_once_the_service_answers_again_its_functions_are_listed_again() -> None:
    with faulty() as server:
        listed(server.url)
        refuse = reply(b"", "503 Service Unavailable", Retry_After="60")
        server.tell(*[refuse] * 9)
        with connected(server.url) as session:
            with pytest.warns(UserWarning, match="The service failed .503"):
                assert session.names == ["F"]
            server.tell()
            wait_until(lambda: session.refresh().names == ["F"])
            assert len(server.requests) == 1


def test_the_status_of_a_service_that_cannot_be_reached_says_so() -> None:
    server, _ = closed()
    with connected(server.url) as session, pytest.warns(UserWarning, match=AS_LISTED):
        status = session.status()
    assert status.functions == 1
    assert status.answered is None
    assert "Cannot reach" in status.trouble


@pytest.mark.slow
def test_a_service_that_does_not_answer_in_time_counts_as_out_of_reach(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with faulty() as server:
        listed(server.url)
        server.otherwise = Connection.hold
        for module in (client, remote):
            monkeypatch.setattr(module, "LIST_SECONDS", 1.0)
        with connected(server.url) as session:
            assert session.listed_early(0) is None
            session._early = None  # which waits for as long as a listing may take
            with pytest.warns(UserWarning, match=AS_LISTED):
                assert session.names == ["F"]
    assert DeadlineError in transport.OUTAGES


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ("401 Unauthorized", AuthenticationError),
        ("403 Forbidden", PermissionDeniedError),
        ("404 Not Found", FuncsError),
        ("200 OK", ProtocolError),
    ],
)
def test_whatever_else_a_service_says_is_never_replaced_by_what_is_kept(
    status: str, error: type[FuncsError]
) -> None:
    with faulty() as server:
        listed(server.url)
        server.otherwise = reply(b"{}", status)
        with connected(server.url) as session, pytest.raises(error):
            _ = session.names


def test_what_is_kept_is_of_one_account_and_no_other() -> None:
    """Another token has no listing; without a listing, a 401 is raised as well."""
    server, _ = closed()
    for token in (f"{CANARY}-of-another", "a-token"):
        with (
            connected(server.url, token) as session,
            pytest.raises(ServiceConnectionError),
        ):
            _ = session.names
    assert len(files()) == 1


def test_a_user_s_own_transport_keeps_nothing(answering: Any) -> None:
    """It may contain the account."""
    import httpx

    session = answering(lambda _request: httpx.Response(200, content=LISTING))
    assert session.names == ["F"]
    assert not files()


def test_what_is_kept_shows_neither_its_address_nor_a_token() -> None:
    with faulty() as server:
        server.otherwise = reply(
            LISTING.replace(b'"F"', f'"F", "description": "{CANARY}"'.encode())
        )
        listed(server.url)
        [kept] = files()
        content = gzip.decompress(kept.read_bytes())
        assert b'"F"' in content
        for hidden in (CANARY, server.url.rpartition("/")[2]):
            assert hidden.encode() not in content
            assert hidden not in kept.name
        assert kept.stat().st_mode & 0o077 == kept.parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"F", id="no gzip"),
        pytest.param(gzip.compress(b"no reply"), id="no reply"),
        pytest.param(gzip.compress(b'{"other": 1}\n[]'), id="another version's"),
        pytest.param(gzip.compress(b"{}\n")[:-4], id="cut short"),
    ],
)
def test_what_is_kept_and_broken_counts_as_nothing(content: bytes) -> None:
    server, _ = closed()
    [kept] = files()
    kept.write_bytes(content)
    with connected(server.url) as session, pytest.raises(ServiceConnectionError):
        _ = session.names


def test_a_folder_that_cannot_be_written_fails_no_listing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FUNCS_RESULTS_DIR", str(tmp_path / "file" / "results"))
    _, names = closed()
    assert names == ["F"]


def test_the_last_hundred_are_kept_until_the_cache_is_cleared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport, "_MOST_KEPT", 2)
    with faulty() as server:
        for number in range(4):
            listed(server.url, f"{CANARY}-{number}")
            assert len(files()) == min(number + 1, 2)
        with connected(server.url) as session:
            assert session.names
            session.cache.clear()
    assert not files()


# Listings that didn't change


def test_a_service_sends_a_listing_once_and_then_only_that_it_is_the_same() -> None:
    """Also compressed, and typed arguments and Arrow replies are offered as before."""
    sent: list[tuple[int, int]] = []
    with serving_accounts() as service:

        def noted(app: Any) -> Any:
            async def wrapped(scope: Any, receive: Any, send: Any) -> None:
                async def noting(message: Any) -> None:
                    if message["type"] == "http.response.start":
                        headers = dict(message["headers"])
                        sent.append(
                            (message["status"], int(headers.get(b"content-length", 0)))
                        )
                    await send(message)

                await app(scope, receive, noting)

            return wrapped

        with serving(noted(service.app)) as url:
            token = service.auth.issue("analyst", 1)
            names = listed(url, token)
            assert listed(url, token) == names
            with connected(url, token) as session:
                assert len(session["Get Panels"]()) == 2
                assert session.remote.source.headers == {"Funcs-Args": "json"}
    (first, size), *others = sent
    assert first == 200
    assert 0 < size < 5_000
    assert (304, 0) in others
    assert sum(status == 200 for status, _ in others) == 1  # the run


DOCUMENT = {
    "openapi": "3.0.0",
    "info": {"title": "T", "version": "1"},
    "servers": [{"url": "/"}],
    "paths": {
        "/a": {"get": {"operationId": "a", "responses": {"200": {"description": "A"}}}}
    },
}


class Publisher:
    """Serves a document, with a tag while it has one, and notes the statuses of its replies."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.content = json.dumps(DOCUMENT).encode()
        routes = [Route("/api", self.answer, methods=["GET"])]
        self.app = Starlette(routes=routes)

    async def answer(self, request: Request) -> Response:
        tag = f'"{len(self.content)}"'
        is_known = request.headers.get("if-none-match") == tag
        self.statuses.append(304 if is_known else 200)
        if is_known:
            return Response(status_code=304, headers={"ETag": tag})
        return Response(
            self.content, headers={"ETag": tag}, media_type="application/json"
        )


def test_a_document_is_read_again_only_if_it_changed_and_is_there_offline() -> None:
    """The kind of its address is kept too."""
    publisher = Publisher()
    with serving(publisher.app) as url:
        where = f"{url}/api"
        assert listed(where) == listed(where) == ["a"]
        assert publisher.statuses == [200, 304]
        publisher.content = publisher.content.replace(b'"/a"', b'"/another"').replace(
            b'Id": "a"', b'Id": "b"'
        )
        assert listed(where) == listed(where) == ["b"]
        assert publisher.statuses == [200, 304, 200, 304]
    with connected(where) as session:
        with pytest.warns(UserWarning, match=AS_LISTED) as warned:
            assert session.names == ["b"]
        assert len(warned) == 1
        assert session.kind == "openapi"

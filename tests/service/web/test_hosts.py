"""The accepted host names and origins (FAULTS.md 120)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jupyter_funcs.service.web.hosts import Hosts
from tests.examples import row_id
from tests.service.conftest import LIST, RUN, Wire, assert_refused

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("localhost", None, 200),
        ("LOCALHOST.:8765", None, 200),
        ("127.0.0.1:1", None, 200),
        ("127.8.9.10", None, 200),
        ("[::1]:8765", None, 200),
        ("[::ffff:127.0.0.1]", None, 200),
        ("funcs.example", None, 200),
        ("Funcs.Example:443", None, 200),
        ("10.1.2.3", None, 200),
        ("evil.example", None, 403),
        ("localhost.evil.example", None, 403),
        ("funcs.example.evil.example", None, 403),
        ("127.0.0.1.evil.example", None, 403),
        ("funcs.example@evil.example", None, 403),
        ("localhost:8765/x", None, 403),
        ("localhost:port", None, 403),
        ("", None, 403),
        ("[::1", None, 403),
        ("::1", None, 403),
        ("[::ffff:10.0.0.1]", None, 403),
        ("192.168.0.1", None, 403),
        ("localhost", "http://localhost:3000", 200),
        ("localhost", "https://funcs.example", 200),
        ("localhost", "https://app.example", 200),
        ("localhost", "https://app.example:8443", 403),
        ("localhost", "http://app.example", 403),
        ("localhost", "https://evil.example", 403),
        ("localhost", "null", 403),
        ("localhost", "https://localhost.evil.example", 403),
        ("localhost", "https://localhost@evil.example", 403),
        ("localhost", "chrome-extension://localhost", 403),
        ("localhost", "", 403),
    ],
    ids=row_id,
)
def test_foreign_hosts_and_origins_are_403(
    publish: Callable[..., Wire], host: str, origin: str | None, status: int
) -> None:
    """FAULTS.md 120: such as DNS rebinding, where a page's own domain resolves to this machine."""
    wire = publish(
        hosts=Hosts(
            names=["funcs.example", "10.1.2.3"], origins=["https://app.example"]
        )
    )
    headers = {"Host": host} | ({} if origin is None else {"Origin": origin})
    reply = wire.request("GET", "/healthz", token=None, headers=headers)
    if status == 403:
        assert_refused(reply, 403)
    else:
        assert reply.status_code == status


def test_pages_elsewhere_may_read_answers_only_where_the_operator_says_so(
    publish: Callable[..., Wire],
) -> None:
    asks = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    asks["Access-Control-Request-Headers"] = "authorization,content-type"
    allowed = "access-control-allow-origin"
    with_origin = publish(hosts=Hosts(origins=["https://app.example"]))
    reply = with_origin.request("OPTIONS", RUN, token=None, headers=asks)
    assert (reply.status_code, reply.headers[allowed]) == (200, "https://app.example")
    assert (
        allowed
        in with_origin.post(LIST, headers={"Origin": "https://app.example"}).headers
    )
    assert (
        allowed
        not in publish().post(LIST, headers={"Origin": "http://localhost:3000"}).headers
    )

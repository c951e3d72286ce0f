"""Logins: a token for the right password, few tries with a wrong one (SERVICE.md 2)."""

from __future__ import annotations

import asyncio
import re
import time
from datetime import UTC, datetime
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any

import pytest
from starlette.datastructures import Headers

from jupyter_funcs.service.accounts import passwords
from jupyter_funcs.service.accounts.auth import UnauthorizedError
from jupyter_funcs.service.web import logins
from jupyter_funcs.service.web.hosts import Hosts
from jupyter_funcs.service.web.logins import Logins
from jupyter_funcs.service.web.middleware import BODY_LIMIT, RequestError
from jupyter_funcs.service.web.runs import Limits
from tests.examples import row_id
from tests.growth import assert_linear
from tests.service.conftest import LIST, LOGIN, Wire, assert_refused

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx


def test_a_login_gives_a_token_that_is_accepted_and_when_it_ends(
    demo_wire: Wire,
) -> None:
    demo_wire.grants.set_password("guest", "correct horse battery")
    reply = demo_wire.post(
        LOGIN, token=None, json={"email": "guest", "password": "correct horse battery"}
    )
    assert reply.status_code == 200
    assert reply.headers["cache-control"] == "no-store"
    document = reply.json()
    assert len(demo_wire.post(LIST, token=document["token"]).json()) == 6
    hours = (
        datetime.fromisoformat(document["expires"]) - datetime.now(UTC)
    ).total_seconds() / 3600
    assert 7.9 < hours <= 8.1


@pytest.mark.parametrize(
    "email", ["guest", "analyst", "nobody", "", "x" * 5000, "a\0b"], ids=row_id
)
def test_a_wrong_login_is_401_in_text_whoever_it_is(
    demo_wire: Wire, email: str
) -> None:
    """SERVICE.md 2: guest has another password, analyst has none, nobody doesn't exist."""
    demo_wire.grants.set_password("guest", "correct horse battery")
    reply = demo_wire.post(
        LOGIN, token=None, json={"email": email, "password": "wrong"}
    )
    assert reply.status_code == 401
    assert reply.headers["content-type"].startswith("text/plain")
    assert reply.text == "The email or password is wrong."


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"email": "a"},
        {"email": 1, "password": "b"},
        {"email": "a", "password": None},
    ],
    ids=row_id,
)
def test_a_login_without_both_texts_is_400(
    demo_wire: Wire, body: dict[str, Any]
) -> None:
    assert_refused(demo_wire.post(LOGIN, token=None, json=body), 400)


def test_a_login_is_bounded_in_size_and_time(demo_wire: Wire) -> None:
    """FAULTS.md 133: putting combining marks in order takes quadratic time."""
    assert_refused(
        demo_wire.post(
            LOGIN, token=None, json={"email": "a", "password": "x" * BODY_LIMIT}
        ),
        413,
    )
    demo_wire.grants.set_password("guest", "a\u0315\u0300" * 200)
    assert (
        demo_wire.post(
            LOGIN, json={"email": "guest", "password": "a\u0300\u0315" * 200}
        ).status_code
        == 200
    )
    marks = "\u0315\u0300"
    assert (
        demo_wire.post(
            LOGIN, token=None, json={"email": "guest", "password": "a" + marks * 25_000}
        ).status_code
        == 401
    )
    assert_linear(
        lambda length: passwords._bytes("a" + marks * length), 2**15, start=100
    )


@pytest.mark.parametrize(
    ("limits", "statuses"),
    [
        pytest.param(
            Limits(wrong_logins_per_name=2), [401, 401, 429, 401], id="one account"
        ),
        pytest.param(
            Limits(wrong_logins_per_address=2), [401, 401, 429, 429], id="one address"
        ),
    ],
)
def test_guessing_passwords_is_rate_limited(
    publish: Callable[..., Wire], limits: Limits, statuses: list[int]
) -> None:
    """FAULTS.md 139: by name and by email alike."""
    wire = publish(limits=limits)
    wire.grants.set_password("t", "correct horse battery")
    tries = [
        ("t", "a"),
        ("T@t.example", "b"),
        ("t", "correct horse battery"),
        ("u", "d"),
    ]
    replies = [
        wire.post(LOGIN, token=None, json={"email": name, "password": password})
        for name, password in tries
    ]
    assert [reply.status_code for reply in replies] == statuses
    assert_refused(replies[2], 429)
    assert 1 <= int(replies[2].headers["retry-after"]) <= 60


@pytest.mark.parametrize(
    "names",
    [["ann", "ANN", "\uff41nn", "a\uff4en"], ["x" * 201, "a\0", "b\n", "x" * 900_000]],
    ids=["spellings of one", "what can be no name"],
)
def test_a_name_is_the_same_however_it_is_spelt(
    publish: Callable[..., Wire], names: list[str]
) -> None:
    wire = publish(limits=Limits(wrong_logins_per_name=2))
    replies = [
        wire.post(LOGIN, token=None, json={"email": name, "password": "wrong"})
        for name in names
    ]
    assert [reply.status_code for reply in replies] == [401, 401, 429, 429]


@pytest.mark.parametrize(
    ("hosts", "last_status"),
    [
        pytest.param(Hosts(), 429, id="direct"),
        pytest.param(Hosts(behind_proxy=True), 401, id="behind a proxy"),
    ],
)
def test_only_behind_a_proxy_is_the_forwarded_address_used(
    publish: Callable[..., Wire], hosts: Hosts, last_status: int
) -> None:
    wire = publish(limits=Limits(wrong_logins_per_address=1), hosts=hosts)
    for address, status in (
        ("9.9.9.9, 1.1.1.1", 401),
        ("9.9.9.9, 2.2.2.2", last_status),
        ("8.8.8.8, 1.1.1.1", 429),
    ):
        assert tried(wire, address, "x", address).status_code == status


def tried(wire: Wire, name: str, password: str, address: str) -> httpx.Response:
    headers = {"X-Forwarded-For": address}
    return wire.post(
        LOGIN, token=None, json={"email": name, "password": password}, headers=headers
    )


@pytest.mark.slow
def test_guesses_by_strangers_delay_a_user_and_lock_nobody_out(
    publish: Callable[..., Wire], monkeypatch: pytest.MonkeyPatch
) -> None:
    """FAULTS.md 139: an IPv6 network of 64 bits counts as one, and the right password from elsewhere works."""
    monkeypatch.setattr(logins, "_DELAY_SECONDS", 0.3)
    wire = publish(
        limits=Limits(wrong_logins_per_name=3), hosts=Hosts(behind_proxy=True)
    )
    wire.grants.set_password("t", "correct horse battery")
    strangers = [
        "2001:db8::1",
        "[2001:db8::2]:99",
        '"[2001:db8:0:0:ffff::3]:1"',
        "2001:db8::4",
        "2001:db8:0:1::4",
    ]
    replies = [
        tried(wire, name, "wrong", stranger)
        for name, stranger in zip(["t", "t@t.example"] * 3, strangers, strict=False)
    ]
    assert [reply.status_code for reply in replies] == [401, 401, 401, 429, 401]
    began = time.monotonic()
    assert tried(wire, "T", "correct horse battery", "192.0.2.1").status_code == 200
    assert time.monotonic() - began > 0.3


@pytest.mark.slow
def test_one_network_leaves_others_a_place_to_log_in(
    publish: Callable[..., Wire], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logins, "_DELAY_SECONDS", 1)
    wire = publish(limits=Limits(wrong_logins_per_name=1, wrong_logins_per_address=100))
    wire.grants.set_password("t", "correct horse battery")
    service = Logins(
        wire.auth, Limits(wrong_logins_per_name=1, wrong_logins_per_address=100)
    )

    async def status(password: str, address: str) -> int:
        try:
            await service.login("t", password, address)
        except (UnauthorizedError, RequestError) as error:
            return getattr(error, "status_code", 401)
        return 200

    async def check() -> list[int]:
        # From now on, logins of this account wait.
        assert await status("wrong", "192.0.2.9") == 401
        many = [status("wrong", f"2001:db8::{at}") for at in range(20)]
        return await asyncio.gather(*many, status("correct horse battery", "192.0.2.1"))

    replies = asyncio.run(check())
    assert replies.count(503) == 12
    assert replies[-1] == 200


def test_the_memory_for_wrong_logins_is_bounded(
    publish: Callable[..., Wire], monkeypatch: pytest.MonkeyPatch
) -> None:
    """FAULTS.md 139."""
    monkeypatch.setattr(logins, "_MOST_WINDOWS", 20)
    service = Logins(publish().auth, Limits())

    async def check() -> None:
        for at in range(60):
            with pytest.raises(UnauthorizedError):
                await service.login(f"nobody {at}", "wrong", f"192.0.2.{at}")

    asyncio.run(check())
    assert len(service._storage.events) < 30


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        (["192.0.2.1"], "192.0.2.1"),
        (["6.6.6.6, 192.0.2.1"], "192.0.2.1"),
        (["6.6.6.6", "192.0.2.1"], "192.0.2.1"),
        (["192.0.2.1:4711"], "192.0.2.1"),
        ([' "192.0.2.1:4711" '], "192.0.2.1"),
        (["2001:DB8::1"], "2001:db8::1"),
        (["[2001:db8::1]"], "2001:db8::1"),
        (['"[2001:db8::1]:4711"'], "2001:db8::1"),
        (["fe80::1%eth0"], "fe80::1"),
        (["::ffff:192.0.2.1"], "192.0.2.1"),
        (["6.6.6.6, 192.0.2.1, "], "192.0.2.1"),
        (["6.6.6.6, 192.0.2.1, 10.0.0.2, 10.0.0.3:80"], "192.0.2.1"),
        (["10.0.0.2"], "10.0.0.2"),
        (["6.6.6.6, unknown, 10.0.0.2"], "10.0.0.2"),
        (["6.6.6.6, nonsense"], "10.0.0.1"),
        (["6.6.6.6, 1" * 5000], "10.0.0.1"),
        ([""], "10.0.0.1"),
        ([], "10.0.0.1"),
    ],
    ids=row_id,
)
def test_the_address_of_a_caller_is_the_last_that_no_trusted_proxy_has(
    forwarded: list[str], address: str
) -> None:
    """FAULTS.md 139: in every form of X-Forwarded-For and Forwarded, and only from a trusted proxy."""
    hosts = Hosts(behind_proxy=True, proxies=[ip_network("10.0.0.0/24")])
    plain = Headers(raw=[(b"x-forwarded-for", header.encode()) for header in forwarded])
    assert hosts.caller(plain, ("10.0.0.1", 1)) == address
    assert hosts.caller(plain, ("192.0.2.7", 1)) == "192.0.2.7"
    assert Hosts().caller(plain, ("10.0.0.1", 1)) == "10.0.0.1"
    elements = [
        re.sub(r"[^,]*[^, ][^,]*", r"proto=https;For=\g<0>", header)
        for header in forwarded
    ]
    standard = Headers(raw=[(b"forwarded", header.encode()) for header in elements])
    assert hosts.caller(standard, ("10.0.0.1", 1)) == address


@pytest.mark.parametrize(
    "headers",
    [
        {"forwarded": 'for=192.0.2.1;host="a, for=6.6.6.6"'},
        {"forwarded": 'for=192.0.2.1;host="a;for=6.6.6.6"'},
        {"forwarded": 'for=192.0.2.1;host="a, for=6.6.6.6;b=\\"c"'},
        {"forwarded": "proto=https"},
        {"forwarded": "for=192.0.2.1", "x-forwarded-for": "6.6.6.6"},
    ],
    ids=row_id,
)
def test_what_a_caller_slips_into_a_header_is_not_their_address(
    headers: dict[str, str],
) -> None:
    """FAULTS.md 139: then the proxy counts as the caller."""
    assert (
        Hosts(behind_proxy=True).caller(Headers(headers=headers), ("10.0.0.1", 1))
        == "10.0.0.1"
    )

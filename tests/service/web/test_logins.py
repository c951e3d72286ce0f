"""Logging in: a token for the right password, and not many tries for a wrong one (SERVICE.md 2)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_funcs.service.hosts import Hosts
from jupyter_funcs.service.limits import BODY_LIMIT, Limits

from .conftest import LIST, LOGIN, Wire, assert_refused

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_login_gives_a_token_that_is_accepted_and_when_it_ends(demo_wire: Wire) -> None:
    demo_wire.grants.set_password("guest", "correct horse battery")
    reply = demo_wire.post(LOGIN, token=None, json={"email": "guest", "password": "correct horse battery"})
    assert reply.status_code == 200
    assert reply.headers["cache-control"] == "no-store"
    document = reply.json()
    assert len(demo_wire.post(LIST, token=document["token"]).json()) == 6
    hours = (datetime.fromisoformat(document["expires"]) - datetime.now(UTC)).total_seconds() / 3600
    assert 7.9 < hours <= 8.1


@pytest.mark.parametrize("email", ["guest", "analyst", "nobody", "", "x" * 5000, "a\0b"])
def test_a_wrong_login_is_401_in_text_whoever_it_is(demo_wire: Wire, email: str) -> None:
    """SERVICE.md 2: guest has another password, analyst has none, nobody is not there."""
    demo_wire.grants.set_password("guest", "correct horse battery")
    reply = demo_wire.post(LOGIN, token=None, json={"email": email, "password": "wrong"})
    assert reply.status_code == 401
    assert reply.headers["content-type"].startswith("text/plain")
    assert reply.text == "The email or the password is wrong."


@pytest.mark.parametrize("body", [{}, {"email": "a"}, {"email": 1, "password": "b"}, {"email": "a", "password": None}])
def test_a_login_without_both_texts_is_400(demo_wire: Wire, body: dict[str, Any]) -> None:
    assert_refused(demo_wire.post(LOGIN, token=None, json=body), 400)


def test_a_login_is_bounded_in_size(demo_wire: Wire) -> None:
    assert_refused(demo_wire.post(LOGIN, token=None, json={"email": "a", "password": "x" * BODY_LIMIT}), 413)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        pytest.param(Limits(wrong_logins_a_name=2), [401, 401, 429, 401], id="one name"),
        pytest.param(Limits(wrong_logins_an_address=2), [401, 401, 429, 429], id="one address"),
    ],
)
def test_who_guesses_passwords_has_to_wait(publish: Callable[..., Wire], limits: Limits, said: list[int]) -> None:
    wire = publish(limits=limits)
    wire.grants.set_password("t", "correct horse battery")
    tries = [("t", "a"), ("T", "b"), ("t", "correct horse battery"), ("u", "d")]
    replies = [wire.post(LOGIN, token=None, json={"email": name, "password": given}) for name, given in tries]
    assert [reply.status_code for reply in replies] == said
    assert_refused(replies[2], 429)
    assert 1 <= int(replies[2].headers["retry-after"]) <= 60


@pytest.mark.parametrize(
    ("limit", "names"),
    [
        pytest.param(2, ["ann", "ANN", "\uff41nn", "a\uff4en"], id="spellings of one"),
        pytest.param(2, ["x" * 201, "a\0", "b\n", "x" * 900_000], id="what can be no name"),
    ],
)
def test_a_name_is_the_same_however_it_is_spelt(publish: Callable[..., Wire], limit: int, names: list[str]) -> None:
    wire = publish(limits=Limits(wrong_logins_a_name=limit))
    replies = [wire.post(LOGIN, token=None, json={"email": name, "password": "wrong"}) for name in names]
    assert [reply.status_code for reply in replies] == [401] * limit + [429] * (len(names) - limit)


@pytest.mark.parametrize(("hosts", "said"), [(Hosts(), 429), (Hosts(behind_proxy=True), 401)])
def test_only_a_proxy_is_believed_whom_a_login_comes_from(
    publish: Callable[..., Wire], hosts: Hosts, said: int
) -> None:
    wire = publish(limits=Limits(wrong_logins_an_address=1), hosts=hosts)
    for address, status in (("9.9.9.9, 1.1.1.1", 401), ("9.9.9.9, 2.2.2.2", said), ("8.8.8.8, 1.1.1.1", 429)):
        headers = {"X-Forwarded-For": address}
        reply = wire.post(LOGIN, token=None, json={"email": address, "password": "x"}, headers=headers)
        assert reply.status_code == status

"""Tokens: only those that this process signed, for itself and for a bounded time, are accepted (FAULTS.md 107-109)."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import jwt
import pytest

from jupyter_funcs.service.auth import Auth, UnauthorizedError

KEY = b"k" * 64
NOW = int(time.time())
GOOD = {"sub": "ann", "iat": NOW, "exp": NOW + 86_400, "aud": "jupyter_funcs", "iss": "jupyter_funcs.service"}


def signed(claims: dict[str, Any] | None = None, *, key: bytes | None = KEY, alg: str = "HS256", **header: Any) -> str:
    return jwt.encode(GOOD | (claims or {}), key, algorithm=alg, headers=header)


def without(name: str) -> str:
    return jwt.encode({key: value for key, value in GOOD.items() if key != name}, KEY, algorithm="HS256")


def with_payload(payload: bytes) -> str:
    """Sign a payload that PyJWT would not write."""
    return jwt.api_jws.encode(payload, KEY, algorithm="HS256", headers={"typ": "JWT"})


def tampered() -> str:
    header, payload, signature = signed().split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "==")) | {"sub": "root"}
    forged = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"{header}.{forged}.{signature}"


def test_an_issued_token_names_its_user() -> None:
    auth = Auth()
    assert auth.user(f"Bearer {auth.issue('ann', 1)}") == "ann"
    assert auth.user(f"bearer  {auth.issue('bob', 0.01)}") == "bob"


def test_a_token_signed_elsewhere_with_the_same_key_and_claims_is_accepted() -> None:
    # The control of the cases below: each differs from it in one thing.
    assert Auth(KEY).user(f"Bearer {signed()}") == "ann"


@pytest.mark.parametrize(
    "token",
    [
        pytest.param(signed({"exp": NOW - 1}), id="expired"),
        pytest.param(signed({"exp": 10**30}), id="never ends"),
        pytest.param(signed({"exp": NOW + 400 * 86400}), id="lasts too long"),
        pytest.param(signed({"exp": "soon"}), id="exp is text"),
        pytest.param(signed({"iat": NOW + 600}), id="from the future"),
        pytest.param(signed({"aud": "other"}), id="wrong aud"),
        pytest.param(signed({"iss": "other"}), id="wrong iss"),
        *(pytest.param(without(name), id=f"no {name}") for name in GOOD),
        pytest.param(signed(key=b"x" * 64), id="wrong key"),
        pytest.param(signed(alg="HS512"), id="wrong alg"),
        pytest.param(signed(key=None, alg="none"), id="none alg"),
        pytest.param(signed(typ="at+jwt"), id="wrong typ"),
        pytest.param(signed(kid="../../etc/passwd"), id="kid"),
        pytest.param(signed(jku="http://evil"), id="jku"),
        pytest.param(signed(jwk={"kty": "oct", "k": "a2tr"}), id="jwk"),
        pytest.param(with_payload(json.dumps(GOOD).encode()[:-1] + b',"sub":"root"}'), id="duplicate claims"),
        pytest.param(with_payload(b"[" * 100_000), id="depth bomb"),
        pytest.param(tampered(), id="tampered"),
        pytest.param(signed()[:-4], id="cut"),
        pytest.param("", id="empty"),
        pytest.param("é.ü.ß", id="not ASCII"),
    ],
)
def test_any_other_token_is_refused_without_a_word_about_it(token: str) -> None:
    with pytest.raises(UnauthorizedError) as caught:
        Auth(KEY).user(f"Bearer {token}")
    assert not str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("header", [None, "", "Bearer", signed(), f"Basic {signed()}", f"Token {signed()}"])
def test_a_header_that_is_no_bearer_token_is_refused(header: str | None) -> None:
    with pytest.raises(UnauthorizedError):
        Auth(KEY).user(header)


def test_each_process_has_its_own_key() -> None:
    with pytest.raises(UnauthorizedError):
        Auth().user(f"Bearer {Auth().issue('ann', 1)}")


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValueError, match="31 bytes; at least 32"):
        Auth(b"k" * 31)


@pytest.mark.parametrize("hours", [0, -1, 366 * 24 + 1])
def test_a_token_lasts_between_no_time_and_a_year(hours: float) -> None:
    with pytest.raises(ValueError, match="hours"):
        Auth().issue("ann", hours)

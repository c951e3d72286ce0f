"""Tokens: accepted only if the service signed them for itself, for a user and a limited time (FAULTS.md 107-108)."""

from __future__ import annotations

import base64
import json
import time
from typing import TYPE_CHECKING, Any

import jwt
import pytest

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.accounts.auth import LOGIN_HOURS, Auth, UnauthorizedError
from jupyter_funcs.service.accounts.grants import Grants
from jupyter_funcs.service.accounts.signing_keys import SigningKeys
from tests.examples import row_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = b"k" * 64
KEYS = SigningKeys.from_text(base64.b64encode(KEY).decode())
# The users are older than NOW; a token that is older than its user is refused.
GRANTS = Grants()
for _name in ("ann", "bob"):
    GRANTS.add_user(_name, organisation="o")
API_KEY = {_name: GRANTS.add_key(_name) for _name in ("ann", "bob")}
NOW = time.time()
END = int(NOW) + 86_400
GOOD = {
    "sub": "ann",
    "iat": NOW,
    "exp": END,
    "aud": "jupyter_funcs",
    "iss": "jupyter_funcs.service",
}


@pytest.fixture
def auth() -> Auth:
    return Auth(KEYS, GRANTS)


@pytest.fixture
def own() -> Iterator[Grants]:
    """Accounts that a test can change."""
    grants = Grants()
    grants.add_user("ann", organisation="o")
    grants.set_password("ann", "correct horse")
    yield grants
    grants.close()


def signed(
    claims: dict[str, Any] | None = None,
    *,
    key: bytes | None = KEY,
    alg: str = "HS256",
    **header: Any,
) -> str:
    return jwt.encode(GOOD | (claims or {}), key, algorithm=alg, headers=header)


def without(name: str) -> str:
    return jwt.encode(
        {key: value for key, value in GOOD.items() if key != name},
        KEY,
        algorithm="HS256",
    )


def with_payload(payload: bytes) -> str:
    """Sign a payload that PyJWT refuses to write."""
    return jwt.api_jws.encode(payload, KEY, algorithm="HS256", headers={"typ": "JWT"})


def tampered() -> str:
    header, payload, signature = signed().split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "==")) | {"sub": "root"}
    forged = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"{header}.{forged}.{signature}"


def bearer(token: str) -> str:
    return f"Bearer {token}"


def refuses(auth: Auth, authorization: str | None, api_key: str | None = None) -> bool:
    """Return whether a request is refused, without a reason in the error."""
    try:
        auth.user(authorization, api_key)
    except UnauthorizedError as error:
        return not error.args and error.__context__ is None
    return False


def test_an_issued_token_names_its_user(auth: Auth) -> None:
    assert auth.user(bearer(auth.issue("ann", 1)), None).name == "ann"
    assert auth.user(f"bearer  {auth.issue('Bob', 0.01)}", None).name == "bob"


def test_a_token_signed_elsewhere_with_the_same_key_and_claims_is_accepted(
    auth: Auth,
) -> None:
    # The control for the cases below: each differs from it in one point.
    assert auth.user(bearer(signed()), None).name == "ann"


@pytest.mark.slow
def test_a_token_expires_after_its_hours(auth: Auth) -> None:
    claims = jwt.decode(auth.issue("ann", 8), options={"verify_signature": False})
    assert isinstance(claims["exp"], int)
    assert 0 <= claims["exp"] - claims["iat"] - 8 * 3600 < 1
    token = auth.issue("ann", 1 / 3600)
    assert not refuses(auth, bearer(token))
    time.sleep(2.1)  # it ends with a whole second
    assert refuses(auth, bearer(token))


@pytest.mark.parametrize(
    "token",
    [
        pytest.param(signed({"iat": NOW - 0.01, "exp": NOW - 0.001}), id="expired"),
        pytest.param(signed({"exp": 10**30}), id="never ends"),
        pytest.param(signed({"exp": END + 400 * 86400}), id="lasts too long"),
        pytest.param(signed({"exp": "soon"}), id="exp is text"),
        pytest.param(signed({"exp": None}), id="exp is null"),
        pytest.param(
            with_payload(
                json.dumps(GOOD | {"exp": 1})
                .replace('"exp": 1', '"exp": 1e999')
                .encode()
            ),
            id="exp is infinite",
        ),
        pytest.param(
            with_payload(
                json.dumps(GOOD | {"exp": 1}).replace('"exp": 1', '"exp": NaN').encode()
            ),
            id="exp is NaN",
        ),
        pytest.param(signed({"iat": NOW + 600}), id="from the future"),
        pytest.param(signed({"iat": NOW - 600}), id="from before its user"),
        pytest.param(signed({"iat": str(NOW)}), id="iat is text"),
        pytest.param(signed({"iat": True}), id="iat is a truth value"),
        pytest.param(signed({"nbf": NOW + 600}), id="not yet"),
        pytest.param(signed({"sub": "eve"}), id="nobody's"),
        pytest.param(
            with_payload(json.dumps(GOOD | {"sub": 1}).encode()), id="sub is a number"
        ),
        pytest.param(
            with_payload(json.dumps(GOOD | {"sub": "\ud800"}).encode()),
            id="sub isn't a text",
        ),
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
        pytest.param(
            with_payload(json.dumps(GOOD).encode()[:-1] + b',"sub":"bob"}'),
            id="duplicate claims",
        ),
        pytest.param(with_payload(b"[" * 100_000), id="depth bomb"),
        pytest.param(tampered(), id="tampered"),
        pytest.param(signed()[:-4], id="cut"),
        pytest.param("", id="empty"),
        pytest.param("é.ü.ß", id="not ASCII"),
    ],
)
def test_any_other_token_is_refused_without_a_word_about_it(
    auth: Auth, token: str
) -> None:
    """FAULTS.md 107, 108."""
    assert refuses(auth, bearer(token))


@pytest.mark.parametrize(
    "header",
    [
        pytest.param("", id="empty"),
        pytest.param("Bearer", id="no token"),
        pytest.param(signed(), id="no scheme"),
        pytest.param(f"Basic {signed()}", id="Basic"),
        pytest.param(f"Token {signed()}", id="Token"),
        pytest.param("Bearer\xa0é", id="not ASCII"),
    ],
)
def test_a_header_without_a_bearer_token_is_refused(auth: Auth, header: str) -> None:
    assert refuses(auth, header)


def test_a_request_without_either_header_is_refused(auth: Auth) -> None:
    assert refuses(auth, None, None)


@pytest.mark.parametrize(
    ("authorization", "api_key", "user"),
    [
        (None, "ann", "ann"),
        ("ann", None, "ann"),
        ("ann", "ann", "ann"),
        ("ann", "bob", None),
        ("bob", "ann", None),
        ("ann", "wrong", None),
        ("wrong", "ann", None),
        ("", "ann", None),
        ("ann", "", None),
        (None, "wrong", None),
        (None, "", None),
    ],
    ids=row_id,
)
def test_a_token_and_an_api_key_must_be_from_the_same_user(
    auth: Auth, authorization: str | None, api_key: str | None, user: str | None
) -> None:
    header = bearer(signed({"sub": authorization})) if authorization else authorization
    key = API_KEY.get(api_key, "jf_1_wrong") if api_key else api_key
    if user is None:
        assert refuses(auth, header, key)
    else:
        assert auth.user(header, key).name == user


def test_a_token_of_before_a_rotation_is_accepted_until_the_overlap_ends(
    own: Grants, tmp_path: Path
) -> None:
    keys = SigningKeys.open(tmp_path / "keys.json")
    auth = Auth(keys, own)
    before = auth.issue("ann", 1)
    keys.rotate(24)
    after = auth.issue("ann", 1)
    assert not refuses(auth, bearer(before))
    assert not refuses(auth, bearer(after))
    keys.rotate(0)
    assert refuses(auth, bearer(before))
    assert refuses(auth, bearer(after))


def test_a_login_right_after_a_new_password_is_good_at_once(own: Grants) -> None:
    auth = Auth(SigningKeys.in_memory(), own)
    before = auth.login("ann", "correct horse")
    own.set_password("ann", "battery staple")
    after = auth.login("ANN", "battery staple")
    assert refuses(auth, bearer(before))
    assert auth.user(bearer(after), None).name == "ann"
    claims = jwt.decode(after, options={"verify_signature": False})
    assert claims["sub"] == "ann"
    assert 0 <= claims["exp"] - claims["iat"] - LOGIN_HOURS * 3600 < 1


@pytest.mark.parametrize("hours", [0, -1, 366 * 24 + 1, float("nan")])
def test_a_token_lasts_between_no_time_and_a_year(auth: Auth, hours: float) -> None:
    with pytest.raises(SetupError, match="more than 0 and at most 8784 hours, not"):
        auth.issue("ann", hours)

"""Authentication: bearer tokens (JWTs signed by this service) and API keys."""

from __future__ import annotations

import functools
import json
import math
import time
from typing import TYPE_CHECKING, Any

import jwt

from jupyter_funcs.service.accounts.records import folded
from jupyter_funcs.service.accounts.signing_keys import LONGEST_HOURS
from jupyter_funcs.service.messages import SetupError

if TYPE_CHECKING:
    from jupyter_funcs.service.accounts.grants import Grants
    from jupyter_funcs.service.accounts.records import User
    from jupyter_funcs.service.accounts.signing_keys import SigningKeys

LOGIN_HOURS = 8
"""How long a token from a login is valid."""

_LONGEST_TOKEN = 4096
# Whose signatures were verified; whether they are expired or revoked is checked for each request.
_MOST_TOKENS = 1024
_ALGORITHM = "HS256"
_AUDIENCE = "jupyter_funcs"
_ISSUER = "jupyter_funcs.service"
_HEADER = {"alg": _ALGORITHM, "typ": "JWT"}


class UnauthorizedError(Exception):
    """The request has no valid credentials. Its text doesn't say why; only the audit learns what was sent by whom."""

    def __init__(self, sent: str | None = None, user: str | None = None) -> None:
        self.sent = sent
        self.user = user
        super().__init__()


class Auth:
    """Issues tokens and identifies the user of a request."""

    def __init__(self, keys: SigningKeys, grants: Grants) -> None:
        self._keys = keys
        self._grants = grants

    def issue(self, user: str, hours: float) -> str:
        """Return a token for a user, valid for `hours`; raises `SetupError` unless that is between 0 and a year."""
        if not 0 < hours <= LONGEST_HOURS:
            raise SetupError(f"A token is valid for more than 0 and at most {LONGEST_HOURS} hours, not {hours:g}.")
        # Fractions of a second tell whether a token is older than a revocation within the same second.
        now = time.time()
        expires = math.ceil(now + hours * 3600)
        claims = {"sub": user, "iat": now, "exp": expires, "aud": _AUDIENCE, "iss": _ISSUER}
        return jwt.encode(claims, self._keys.signing, algorithm=_ALGORITHM, headers=_HEADER)

    def account(self, login: str) -> str:
        """Return the same text for all spellings of a user's name and email; unknown ones each have their own."""
        known = self._grants.name_of(login)
        return f"unknown {folded(login) or ''}" if known is None else f"known {known}"

    def login(self, email: str, password: str) -> str:
        """Return a token for an email or name and its password; slow. Raises `UnauthorizedError`."""
        user = self._grants.user_of_password(email, password)
        if user is None:
            raise UnauthorizedError
        return self.issue(user.name, LOGIN_HOURS)

    def user(self, authorization: str | None, api_key: str | None) -> User:
        """Return the user of a request; a token and a key sent together must be from the same user."""
        users = [self._user_of_token(authorization)] if authorization is not None else []
        if api_key is not None:
            users.append(self._grants.user_of_key(api_key))
        if not users:
            raise UnauthorizedError
        if users[0] is None or users[0] != users[-1]:
            raise UnauthorizedError("unknown token or key")
        return users[0]

    def _user_of_token(self, authorization: str) -> User | None:
        scheme, _, token = authorization.partition(" ")
        if scheme.casefold() != "bearer" or len(token) > _LONGEST_TOKEN:
            return None
        for key in self._keys.accepted:
            try:
                claims = _verified_claims(token.strip(), key)
            except (jwt.InvalidTokenError, ValueError, TypeError, ArithmeticError, RecursionError):
                continue
            user = self._grants.user(claims["sub"], claims["iat"])
            if user is None or claims["exp"] <= time.time():
                raise UnauthorizedError("revoked token" if user is None else "expired token", claims["sub"])
            return user
        return None


@functools.lru_cache(_MOST_TOKENS)
def _verified_claims(token: str, key: bytes) -> dict[str, Any]:
    # Exactly the header that this service writes: no jku, jwk, x5u or kid is ever followed.
    if jwt.get_unverified_header(token) != _HEADER:
        raise ValueError("header")
    claims: dict[str, Any] = jwt.decode(
        token,
        key,
        algorithms=[_ALGORITHM],
        audience=_AUDIENCE,
        issuer=_ISSUER,
        # `Auth` tells expired tokens from others.
        options={"require": ["exp", "iat", "aud", "iss", "sub"], "verify_exp": False},
    )
    payload = jwt.utils.base64url_decode(token.split(".")[1])
    names = [name for name, _ in json.loads(payload, object_pairs_hook=list)]
    if len(set(names)) != len(names):
        raise ValueError("claims")
    if not 0 < claims["exp"] - claims["iat"] <= LONGEST_HOURS * 3600 + 1:
        raise ValueError("lifetime")
    if not isinstance(claims["sub"], str):
        raise TypeError("sub")
    return claims

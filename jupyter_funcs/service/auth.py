"""Bearer tokens: JWTs signed by this process, with a key that never leaves its memory unless one is given."""

from __future__ import annotations

import json
import secrets
import time
from typing import Any

import jwt

_ALGORITHM = "HS256"
_AUDIENCE = "jupyter_funcs"
_ISSUER = "jupyter_funcs.service"
_HEADER = {"alg": _ALGORITHM, "typ": "JWT"}
_KEY_BYTES = 32
# A token of unbounded life is a password that cannot be changed.
_LONGEST_HOURS = 366 * 24


class UnauthorizedError(Exception):
    """There is no valid token; says nothing of what is wrong with it."""


class Auth:
    """
    Issues and checks tokens.

    Parameters
    ----------
    key
        The signing key, at least 32 bytes; a random one by default.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = secrets.token_bytes(_KEY_BYTES) if key is None else key
        if len(self._key) < _KEY_BYTES:
            raise ValueError(f"The signing key has {len(self._key)} bytes; at least {_KEY_BYTES} are needed.")

    def issue(self, user: str, hours: float) -> str:
        """Give a token for a user that ends in `hours`, at most a year's."""
        if not 0 < hours <= _LONGEST_HOURS:
            raise ValueError(f"A token lasts more than 0 and at most {_LONGEST_HOURS} hours, not {hours:g}.")
        now = int(time.time())
        claims = {"sub": user, "iat": now, "exp": now + int(hours * 3600), "aud": _AUDIENCE, "iss": _ISSUER}
        return jwt.encode(claims, self._key, algorithm=_ALGORITHM, headers=_HEADER)

    def user(self, authorization: str | None) -> str:
        """Give the user whom an ``Authorization`` header names; raises `UnauthorizedError`."""
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.casefold() != "bearer":
            raise UnauthorizedError
        try:
            return self._check(token.strip())
        except (jwt.InvalidTokenError, ValueError, TypeError, RecursionError):
            # From None: neither the token nor what is wrong with it belongs in a log.
            raise UnauthorizedError from None

    def _check(self, token: str) -> str:
        # Only the two header fields that this service writes: no jku, jwk, x5u or kid is ever followed.
        if jwt.get_unverified_header(token) != _HEADER:
            raise ValueError("header")
        claims: dict[str, Any] = jwt.decode(
            token,
            self._key,
            algorithms=[_ALGORITHM],
            audience=_AUDIENCE,
            issuer=_ISSUER,
            options={"require": ["exp", "iat", "aud", "iss", "sub"]},
        )
        payload = jwt.utils.base64url_decode(token.split(".")[1])
        names = [name for name, _ in json.loads(payload, object_pairs_hook=list)]
        if len(set(names)) != len(names):
            raise ValueError("claims")
        if claims["exp"] - claims["iat"] > _LONGEST_HOURS * 3600:
            raise ValueError("lifetime")
        return str(claims["sub"])

"""Who a request is from: a bearer token (a JWT that this service signed) or an API key."""

from __future__ import annotations

import json
import math
import time
from typing import TYPE_CHECKING, Any

import jwt

from .errors import SetupError
from .keys import LONGEST_HOURS

if TYPE_CHECKING:
    from .accounts import User
    from .grants import Grants
    from .keys import SigningKeys

LOGIN_HOURS = 8
"""How long a token lasts that a login gives."""

_ALGORITHM = "HS256"
_AUDIENCE = "jupyter_funcs"
_ISSUER = "jupyter_funcs.service"
_HEADER = {"alg": _ALGORITHM, "typ": "JWT"}


class UnauthorizedError(Exception):
    """The request is from nobody whom the service knows; says nothing of why."""


class Auth:
    """
    Issues tokens, and tells who a request is from.

    Parameters
    ----------
    keys
        What signs and verifies the tokens.
    grants
        The users.
    """

    def __init__(self, keys: SigningKeys, grants: Grants) -> None:
        self._keys = keys
        self._grants = grants

    def issue(self, user: str, hours: float) -> str:
        """Give a token for a user that ends in `hours`; raises `SetupError` for more than a year's."""
        if not 0 < hours <= LONGEST_HOURS:
            raise SetupError(f"A token lasts more than 0 and at most {LONGEST_HOURS} hours, not {hours:g}.")
        # With its fraction: a token of the very second in which a user's tokens were ended is known as older or newer.
        now = time.time()
        end = math.ceil(now + hours * 3600)
        claims = {"sub": user, "iat": now, "exp": end, "aud": _AUDIENCE, "iss": _ISSUER}
        return jwt.encode(claims, self._keys.signing, algorithm=_ALGORITHM, headers=_HEADER)

    def login(self, email: str, password: str) -> str:
        """Give a token for an email or name and its password; slow, raises `UnauthorizedError`."""
        user = self._grants.user_of_password(email, password)
        if user is None:
            raise UnauthorizedError
        return self.issue(user.name, LOGIN_HOURS)

    def user(self, authorization: str | None, api_key: str | None) -> User:
        """
        Give the user of a request.

        Parameters
        ----------
        authorization, api_key
            The headers ``Authorization`` and ``X-Api-Key``; who sends both must be the same user by both.

        Raises
        ------
        UnauthorizedError
            Neither is there, or one of them is not valid.
        """
        users = [self._of_token(authorization)] if authorization is not None else []
        if api_key is not None:
            users.append(self._grants.user_of_key(api_key))
        if not users or users[0] is None or users[0] != users[-1]:
            raise UnauthorizedError
        return users[0]

    def _of_token(self, authorization: str) -> User | None:
        scheme, _, token = authorization.partition(" ")
        if scheme.casefold() != "bearer":
            return None
        for key in self._keys.accepted:
            try:
                claims = _checked(token.strip(), key)
            except (jwt.InvalidTokenError, ValueError, TypeError, ArithmeticError, RecursionError):
                continue
            return self._grants.user(claims["sub"], claims["iat"])
        return None


def _checked(token: str, key: bytes) -> dict[str, Any]:
    # Only the two header fields that this service writes: no jku, jwk, x5u or kid is ever followed.
    if jwt.get_unverified_header(token) != _HEADER:
        raise ValueError("header")
    claims: dict[str, Any] = jwt.decode(
        token,
        key,
        algorithms=[_ALGORITHM],
        audience=_AUDIENCE,
        issuer=_ISSUER,
        options={"require": ["exp", "iat", "aud", "iss", "sub"]},
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

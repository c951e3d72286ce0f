"""Authentication: bearer tokens (JWTs signed by this service) and API keys."""

from __future__ import annotations

import base64
import functools
import hmac
import json
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.service.accounts.account_records import User, folded
from jupyter_funcs.service.accounts.signing_keys import LONGEST_HOURS, SigningKeys

if TYPE_CHECKING:
    from jupyter_funcs.service.accounts.grants import Grants

LOGIN_HOURS = 8
"""How long a token from a login is valid."""

_LONGEST_TOKEN = 4096
# Whose signatures were verified; whether they are expired or revoked is checked for each request.
_MOST_TOKENS = 1024
_AUDIENCE = "jupyter_funcs"
_ISSUER = "jupyter_funcs.service"
# Exactly this header is accepted: no other algorithm, and no jku, jwk, x5u or kid is ever followed. HMAC is in the
# standard library; packages for all algorithms take as long to import as the rest of the service.
_HEADER = {"alg": "HS256", "typ": "JWT"}


class _Claims(msgspec.Struct, frozen=True):
    sub: str
    iat: float
    exp: float
    aud: str | list[str]
    iss: str
    nbf: float = 0


class UnauthorizedError(Exception):
    """The request has no valid credentials. Its text doesn't say why; only the audit learns what was sent by whom."""

    def __init__(self, sent: str | None = None, user: str | None = None) -> None:
        self.sent = sent
        self.user = user
        super().__init__()


@dataclass(frozen=True)
class Auth:
    """Issues tokens and identifies the user of a request."""

    keys: SigningKeys
    grants: Grants

    def issue(self, user: str, hours: float) -> str:
        """Return a token for a user, valid for `hours`; raises `SetupError` unless that is between 0 and a year."""
        if not 0 < hours <= LONGEST_HOURS:
            raise SetupError(
                f"A token is valid for more than 0 and at most {LONGEST_HOURS} hours, not {hours:g}."
            )

        # Fractions of a second tell whether a token is older than a revocation within the same second.
        now = time.time()
        claims = {
            "sub": user,
            "iat": now,
            "exp": math.ceil(now + hours * 3600),
            "aud": _AUDIENCE,
            "iss": _ISSUER,
        }
        signed = b".".join(map(_base64, map(msgspec.json.encode, (_HEADER, claims))))
        return f"{signed.decode()}.{_signature(signed, self.keys.accepted[0]).decode()}"

    def account(self, login: str) -> str:
        """Return the same text for all spellings of a user's name and email; unknown ones each have their own."""
        name = self.grants.name_of(login)
        if name:
            return f"known {name}"
        return f"unknown {folded(login) or ''}"

    def login(self, email: str, password: str) -> str:
        """Return a token for an email or name and its password; slow. Raises `UnauthorizedError`."""
        user = self.grants.user_of_password(email, password)
        if not user:
            raise UnauthorizedError
        return self.issue(user.name, LOGIN_HOURS)

    def user(self, authorization: str | None, api_key: str | None) -> User:
        """Return the user of a request; a token and a key sent together must be from the same user."""
        users = []
        if authorization is not None:
            users = [self._user_of_token(authorization)]
        if api_key is not None:
            users.append(self.grants.user_of_key(api_key))
        if not users:
            raise UnauthorizedError
        if not users[0] or users[0] != users[-1]:
            raise UnauthorizedError("unknown token or key")
        return users[0]

    def _user_of_token(self, authorization: str) -> User | None:
        scheme, _, token = authorization.partition(" ")
        if scheme.casefold() != "bearer" or len(token) > _LONGEST_TOKEN:
            return None
        for key in self.keys.accepted:
            try:
                claims = _verified_claims(token.strip(), key)
            except (msgspec.MsgspecError, ValueError, RecursionError):
                continue
            user = self.grants.user(claims.sub, claims.iat)
            if not user or claims.exp <= time.time():
                raise UnauthorizedError(
                    "expired token" if user else "revoked token", claims.sub
                )
            return user

        return None


@functools.lru_cache(_MOST_TOKENS)
def _verified_claims(token: str, key: bytes) -> _Claims:
    signed, _, signature = token.encode("ascii").rpartition(b".")
    if not hmac.compare_digest(signature, _signature(signed, key)):
        raise ValueError("signature")
    header, payload = (
        base64.urlsafe_b64decode(part + b"==") for part in signed.split(b".")
    )
    if msgspec.json.decode(header) != _HEADER:
        raise ValueError("header")
    claims = msgspec.json.decode(payload, type=_Claims)
    # Of two equal names one wins silently, and another parser may take the other.
    names = [name for name, _ in json.loads(payload, object_pairs_hook=list)]
    is_for_us = _AUDIENCE in (
        [claims.aud] if isinstance(claims.aud, str) else claims.aud
    )
    # `Auth` tells expired tokens from others.
    is_valid = math.floor(max(claims.iat, claims.nbf)) <= time.time()
    is_short = 0 < claims.exp - claims.iat <= LONGEST_HOURS * 3600 + 1
    if not (
        is_for_us
        and is_valid
        and is_short
        and claims.iss == _ISSUER
        and len(set(names)) == len(names)
    ):
        raise ValueError("claims")

    return claims


def _signature(signed: bytes, key: bytes) -> bytes:
    return _base64(hmac.digest(key, signed, "sha256"))


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")

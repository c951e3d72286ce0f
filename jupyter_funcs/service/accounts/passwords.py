"""Passwords and API keys: made, hashed and compared."""

from __future__ import annotations

import functools
import hashlib
import hmac
import secrets
import unicodedata
from typing import TYPE_CHECKING

from .errors import SetupError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST = 8
"""The fewest characters of a password."""

# Hashing takes time in proportion; nobody types more.
_LONGEST = 1024
_SECRET_BYTES = 32


def hashed(password: str) -> str:
    """Give the argon2 hash of a new password; raises `SetupError` that does not show it."""
    if len(password) < SHORTEST:
        raise SetupError(f"The password has {len(password)} characters. Take one of at least {SHORTEST}.")
    plain = _bytes(password)
    if plain is None:
        raise SetupError(f"The password is no text of at most {_LONGEST} bytes. Take another one.")
    return _hasher().hash(plain)


def verified(password: str, hash_: str | None) -> tuple[bool, str | None]:
    """
    Say whether a password is the one of a hash; takes the same time where there is no hash.

    Returns
    -------
    tuple
        Whether it is, and the hash to store in place of the old one where that was made with other parameters.
    """
    from argon2.exceptions import InvalidHashError, VerificationError  # noqa: PLC0415 - a login only

    plain = _bytes(password)
    if plain is None:
        return False, None
    hasher = _hasher()
    try:
        hasher.verify(hash_ or _dummy(hasher), plain)
    except (VerificationError, InvalidHashError):
        return False, None
    if hash_ is None:
        return False, None
    return True, hasher.hash(plain) if hasher.check_needs_rehash(hash_) else None


def new_secret() -> str:
    """Give the secret part of a new API key."""
    return secrets.token_urlsafe(_SECRET_BYTES)


def secret_hash(secret: str) -> bytes:
    """
    Give what is stored of an API key.

    A single SHA-256, for there is nothing to guess in 32 random bytes: what makes argon2 slow protects passwords, and
    would cost each request a tenth of a second.
    """
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def is_secret(secret: str, hash_: bytes) -> bool:
    """Say whether a secret is the one of a hash, in a time that tells nothing."""
    return hmac.compare_digest(secret_hash(secret), hash_)


@functools.cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher  # noqa: PLC0415 - a login only

    return PasswordHasher()


def _dummy(hasher: PasswordHasher) -> str:
    """Give a hash that no password has, and that takes as long to find that out as any."""
    salt, digest = ("A" * (-(-length * 4 // 3)) for length in (hasher.salt_len, hasher.hash_len))
    cost = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    return f"$argon2{hasher.type.name.lower()}$v=19${cost}${salt}${digest}"


def _bytes(password: str) -> bytes | None:
    """Give what is hashed: composed, for keyboards differ in how they write an accented letter."""
    try:
        plain = unicodedata.normalize("NFC", password).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON may hold
        return None
    return plain if len(plain) <= _LONGEST else None

"""Create, hash and verify passwords and API keys."""

from __future__ import annotations

import functools
import hashlib
import unicodedata
from typing import TYPE_CHECKING

from jupyter_funcs.core.errors import SetupError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST = 8
"""Minimum length of a password, in characters."""

# In bytes, because the time to hash grows with the length.
_LONGEST = 1024


def hashed(password: str) -> str:
    """Return the argon2 hash of a new password; raises `SetupError` that does not show it."""
    if len(password) < SHORTEST:
        raise SetupError(
            f"The password has {len(password)} characters. Use at least {SHORTEST}."
        )

    plain = _bytes(password)
    if plain is None:
        raise SetupError(
            f"The password is not valid text of at most {_LONGEST} bytes. Choose another one."
        )

    return _hasher()[0].hash(plain)


def verified(password: str, hash_: str | None) -> tuple[bool, str | None]:
    """Return whether a password matches a hash, and a new hash if that one is outdated; no faster without a hash."""
    from argon2.exceptions import InvalidHashError, VerificationError

    plain = _bytes(password)
    if plain is None:
        return False, None
    hasher, dummy = _hasher()
    try:
        hasher.verify(hash_ or dummy, plain)
    except (VerificationError, InvalidHashError):
        return False, None

    if not hash_:
        return False, None
    return True, hasher.hash(plain) if hasher.check_needs_rehash(hash_) else None


def secret_hash(secret: str) -> bytes:
    """Return the hash of an API key's secret, which is stored in its place."""
    # One round of SHA-256 is enough for 32 random bytes; argon2 would cost each request a tenth of a second. The time
    # that it takes to compare such hashes tells nothing about the secret.
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


@functools.cache
def _hasher() -> tuple[PasswordHasher, str]:
    """Return what hashes, and a hash to verify where there is none, so that an unknown user takes as long as others."""
    from argon2 import PasswordHasher

    hasher = PasswordHasher()
    return hasher, hasher.hash(b"")


def _bytes(password: str) -> bytes | None:
    """Return the bytes to hash, in NFC because keyboards compose accented letters differently; `None` if invalid."""
    # It can't be shorter in NFC, which takes quadratic time.
    if len(password) > 2 * _LONGEST:
        return None
    try:
        plain = unicodedata.normalize("NFC", password).encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON allows
        return None

    return plain if len(plain) <= _LONGEST else None

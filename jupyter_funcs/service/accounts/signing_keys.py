"""The keys that sign tokens: the newest signs, those before it verify until their overlap has ended."""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import logging
import os
import secrets
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Iterator

log = logging.getLogger(__name__)

VARIABLE = "FUNCS_SIGNING_KEY"
"""The environment's variable for keys in base64, separated by commas: the first signs, the others verify."""

LONGEST_HOURS = 366 * 24
"""How long a token may last, and so a key be of use that signs no more: of unbounded life, it could not be changed."""

_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key; times are in seconds since 1970, `made` unknown of one from the environment, `ends` open as it signs."""

    id: str
    made: float | None
    ends: float | None
    key: bytes = field(repr=False)


class SigningKeys:
    """
    Keys from memory, a file or the environment; made by `in_memory`, `open` or `from_text`.

    A file is read again when it has changed, so that a running service follows a rotation.
    """

    def __init__(self, keys: list[SigningKey], path: Path | None = None, *, are_given: bool = False) -> None:
        self._keys = keys
        self._path = path
        self._are_given = are_given
        self._seen: tuple[int, ...] | None = None
        self._lock = threading.Lock()

    @classmethod
    def in_memory(cls) -> SigningKeys:
        """Give a new random key that ends with the process."""
        return cls([_new_key()])

    @classmethod
    def from_text(cls, text: str) -> SigningKeys:
        """
        Read keys as `FUNCS_SIGNING_KEY` holds them.

        Raises
        ------
        SetupError
            One of them is no base64 or has fewer than 32 bytes; shows none of it.
        """
        keys = []
        for number, part in enumerate(text.split(","), 1):
            key = _decoded(part.strip())
            if key is None or len(key) < _KEY_BYTES:
                length = "is no base64" if key is None else f"has {len(key)} bytes"
                raise SetupError(
                    f"Key {number} of {VARIABLE} {length}; it takes the base64 of at least {_KEY_BYTES} bytes.\n"
                    "Make one with: openssl rand -base64 32"
                )
            keys.append(SigningKey(f"{VARIABLE} {number}", None, None, key))
        return cls(keys, are_given=True)

    @classmethod
    def open(cls, path: Path) -> SigningKeys:
        """
        Read the keys of a file, which is made with a random key when it is not there.

        Raises
        ------
        SetupError
            It cannot be read or made, others may read it, or it holds no keys of at least 32 bytes.
        """
        if not path.exists():
            with _alone(path):
                if not path.exists():  # another process was first
                    _write(path, [_new_key()])
        seen = _signature(path)
        keys = cls(_read(path), path)
        keys._seen = seen
        return keys

    @property
    def signing(self) -> bytes:
        """The key that signs."""
        return self.records()[0].key

    @property
    def accepted(self) -> list[bytes]:
        """The keys that verify, the newest first."""
        return [key.key for key in self.records()]

    def records(self) -> list[SigningKey]:
        """Give the keys that verify, the newest first."""
        with self._lock:
            self._follow()
            return _living(self._keys)

    def rotate(self, overlap_hours: float) -> None:
        """
        Sign with a new key from now on; the keys before it verify for some hours more.

        Raises
        ------
        SetupError
            The overlap is out of range, the file cannot be written, or the keys come from the environment.
        """
        if not 0 <= overlap_hours <= LONGEST_HOURS:
            raise SetupError(f"An overlap lasts from 0 to {LONGEST_HOURS} hours, not {overlap_hours:g}.")
        if self._are_given:
            raise SetupError(
                f"The signing keys come from {VARIABLE}: put a new one in front of them there, and a comma between.\n"
                "Make one with: openssl rand -base64 32"
            )
        with self._lock:
            if self._path is None:
                self._keys = _rotated(self._keys, overlap_hours)
                return
            with _alone(self._path):
                keys = _rotated(_read(self._path), overlap_hours)
                _write(self._path, keys)
                self._keys, self._seen = keys, _signature(self._path)

    def _follow(self) -> None:
        """Take over what another process has written; a file that became unusable changes nothing here."""
        seen = _signature(self._path)
        if self._path is None or seen == self._seen:
            return
        self._seen = seen
        try:
            self._keys = _read(self._path)
        except SetupError as error:
            log.warning("The signing keys stay as they were: %s", error)


def _new_key() -> SigningKey:
    return SigningKey(secrets.token_hex(4), time.time(), None, secrets.token_bytes(_KEY_BYTES))


def _living(keys: list[SigningKey]) -> list[SigningKey]:
    now = time.time()
    return [key for key in keys if key.ends is None or key.ends > now]


def _rotated(keys: list[SigningKey], overlap_hours: float) -> list[SigningKey]:
    end = time.time() + overlap_hours * 3600
    ending = [
        SigningKey(key.id, key.made, end if key.ends is None else min(key.ends, end), key.key) for key in _living(keys)
    ]
    return [_new_key(), *_living(ending)]


def _signature(path: Path | None) -> tuple[int, ...] | None:
    if path is None:
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode


def _read(path: Path) -> list[SigningKey]:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read()
    except OSError as error:
        raise SetupError(f"The signing keys in {path} cannot be read: {error.strerror}.") from None
    if os.name == "posix" and mode & 0o077:
        raise SetupError(
            f"The signing keys in {path} can be read or changed by others (mode {mode & 0o777:04o}).\n"
            f"Run: chmod 600 {path}\n"
            "If others may have seen them: jupyter funcs admin signing-key rotate --overlap 0"
        )
    keys = _parsed(content)
    if not keys:
        raise SetupError(
            f"{path} holds no signing keys of at least {_KEY_BYTES} bytes.\n"
            "Put a copy of it back, or remove it for a new key: tokens issued until now end with it."
        )
    return keys


def _parsed(content: bytes) -> list[SigningKey]:
    """Give the keys of a file, none when one is not as it should be; no error of a parser's, which would hold them."""
    try:
        keys = [
            SigningKey(
                str(each["id"]),
                float(each["made"]),
                None if each["ends"] is None else float(each["ends"]),
                base64.b64decode(each["key"], validate=True),
            )
            for each in json.loads(content)["keys"]
        ]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return []
    is_whole = bool(keys) and keys[0].ends is None and all(len(key.key) >= _KEY_BYTES for key in keys)
    return keys if is_whole else []


def _write(path: Path, keys: list[SigningKey]) -> None:
    """Write the file whole or not at all, for its owner alone from the first byte on."""
    records = [asdict(key) | {"key": base64.b64encode(key.key).decode()} for key in keys]
    try:
        # The mode of a temporary file is 0600.
        descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".part", dir=path.parent)
        try:
            with os.fdopen(descriptor, "w") as file:
                json.dump({"keys": records}, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise SetupError(
            f"The signing keys cannot be written to {path}: {error.strerror}.\n"
            "See that the disk has room, and that you may write the folder."
        ) from None


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes from writing the file; a lock on its folder, which leaves nothing behind."""
    if sys.platform == "win32":
        yield
        return
    import fcntl  # noqa: PLC0415 - not on Windows

    try:
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError as error:
        raise SetupError(f"The folder of {path} cannot be opened: {error.strerror}.") from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _decoded(text: str) -> bytes | None:
    """Read base64 of either alphabet, padded or not."""
    try:
        plain = text.rstrip("=").replace("-", "+").replace("_", "/")
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None

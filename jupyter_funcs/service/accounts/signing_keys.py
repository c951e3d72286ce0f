"""The keys that sign tokens: the newest signs; older ones still verify until their overlap ends."""

from __future__ import annotations

import base64
import contextlib
import logging
import os
import secrets
import shlex
import stat
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.core.files import (
    atomic_write_bytes,
    locked_folder,
    open_regular,
    remove_abandoned,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jupyter_funcs.core.json_decoding import JsonObject

log = logging.getLogger(__name__)

VARIABLE = "FUNCS_SIGNING_KEY"
"""Environment variable with base64 keys, separated by commas: the first signs, all verify."""

LONGEST_HOURS = 366 * 24
"""The longest life of a token, and so of a key that no longer signs: unbounded, it could never be retired."""

_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key with Unix times in seconds; without `made` it is from the environment, without `ends` it still signs."""

    id: str
    made: float | None
    ends: float | None
    key: bytes = field(repr=False)

    def _asdict(self) -> JsonObject:
        """Return what may be shown."""
        return {"id": self.id, "made": self.made, "ends": self.ends}


@dataclass
class SigningKeys:
    """
    Keys from memory, a file or the environment; created by `in_memory`, `open` or `from_text`.

    A changed file is read again, so that a running service follows a rotation.
    """

    keys: list[SigningKey] = field(repr=False)
    path: Path | None = None
    seen: tuple[int, ...] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def in_memory(cls) -> SigningKeys:
        return cls([_new_key()])

    @classmethod
    def from_text(cls, text: str) -> SigningKeys:
        keys = []
        for number, part in enumerate(text.split(","), 1):
            key = _decode_base64(part.strip())
            if key is None or len(key) < _KEY_BYTES:
                length = "isn't base64" if key is None else f"has {len(key)} bytes"
                raise SetupError(
                    f"Key {number} of {VARIABLE} {length}; a key is the base64 of at least {_KEY_BYTES} bytes.\n"
                    "Create one with: openssl rand -base64 32"
                )
            keys.append(SigningKey(f"{VARIABLE} {number}", None, None, key))

        return cls(keys)

    @classmethod
    def open(cls, path: Path) -> SigningKeys:
        """Read the keys of a file; a missing one is created with a random key."""
        with _locked(path):
            remove_abandoned(path.parent.glob(f".{path.name}.*.part"))
            if not path.exists():
                _write(path, [_new_key()])
        return cls(_read(path), path)

    @property
    def accepted(self) -> list[bytes]:
        """The keys that verify, newest first; the first one signs."""
        return [key.key for key in self.records()]

    def records(self) -> list[SigningKey]:
        """Return the keys that verify, newest first."""
        with self.lock:
            # An unusable file is ignored.
            if self.path and (seen := _file_state(self.path)) != self.seen:
                self.seen = seen
                try:
                    self.keys = _read(self.path)
                except SetupError as error:
                    log.warning("The signing keys were not reloaded: %s", error)
            return _unexpired(self.keys)

    def rotate(self, overlap_hours: float) -> None:
        """Sign with a new key in the file from now on; the old ones verify for `overlap_hours` more."""
        if not 0 <= overlap_hours <= LONGEST_HOURS:
            raise SetupError(
                f"The overlap must be between 0 and {LONGEST_HOURS} hours, not {overlap_hours:g}."
            )

        if not self.path:
            raise SetupError(
                f"The signing keys come from {VARIABLE}: put a new key first there, followed by a comma.\n"
                "Create one with: openssl rand -base64 32"
            )

        end = time.time() + overlap_hours * 3600
        with _locked(self.path):
            ending = [
                replace(key, ends=min(key.ends or end, end)) for key in _read(self.path)
            ]
            _write(self.path, [_new_key(), *_unexpired(ending)])


def refuse_access_of_others(
    what: str, path: Path, status: os.stat_result, advice: str = ""
) -> None:
    """Raise `SetupError` if others may use a file or folder; `what` starts the message: ``The … is``."""
    if sys.platform == "win32":
        return
    right = "700" if stat.S_ISDIR(status.st_mode) else "600"
    if status.st_uid not in {os.geteuid(), 0}:
        why = f"owner {status.st_uid}"
        command = f"sudo chown -hR {os.geteuid()}"
    elif status.st_mode & 0o077 and not stat.S_ISLNK(status.st_mode):
        why = f"mode {status.st_mode & 0o777:04o}"
        command = f"chmod {right}"
    else:
        return

    raise SetupError(
        f"{what} accessible to other users ({why}).\nRun: {command} {shlex.quote(str(path))}{advice}"
    )


def _new_key() -> SigningKey:
    return SigningKey(
        secrets.token_hex(4), time.time(), None, secrets.token_bytes(_KEY_BYTES)
    )


def _unexpired(keys: list[SigningKey]) -> list[SigningKey]:
    return [key for key in keys if key.ends is None or key.ends > time.time()]


def _file_state(path: Path) -> tuple[int, ...] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode


def _read(path: Path) -> list[SigningKey]:
    what = f"The signing keys in {path}"
    try:
        with open_regular(path) as file:
            status = os.fstat(file.fileno())
            content = file.read()
    except OSError as error:
        raise SetupError(f"{what} cannot be read: {error.strerror}.") from None

    command = "jupyter funcs admin signing-key rotate --overlap 0"
    advice = (
        f"\nIf somebody may have read them: {command}, with this service's --config."
    )
    refuse_access_of_others(f"{what} are", path, status, advice)
    keys = _parsed(content)
    if not keys:
        raise SetupError(
            f"{path} has no valid signing keys of at least {_KEY_BYTES} bytes.\n"
            "Restore a backup, or delete it to get a new key, which invalidates all tokens issued so far."
        )

    return keys


def _parsed(content: bytes) -> list[SigningKey]:
    """Return the keys of a file; none at all if one is invalid. Never raises: an error would quote the keys."""
    try:
        keys = msgspec.json.decode(content, type=dict[str, list[SigningKey]]).get(
            "keys", []
        )
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return []

    is_valid = (
        bool(keys)
        and keys[0].ends is None
        and all(len(key.key) >= _KEY_BYTES for key in keys)
    )
    return keys if is_valid else []


def _write(path: Path, keys: list[SigningKey]) -> None:
    """Write the file atomically, readable by its owner only."""
    content = msgspec.json.format(msgspec.json.encode({"keys": keys}), indent=1)
    try:
        atomic_write_bytes(path, content, 0o600)
    except OSError as error:
        raise SetupError(
            f"The signing keys cannot be written to {path}: {error.strerror}.\n"
            "Check the free disk space, and that you have write access to the folder."
        ) from None


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other processes from writing the file, by a lock on its folder."""
    try:
        with locked_folder(path.parent):
            yield
    except OSError as error:
        raise SetupError(
            f"The folder of {path} cannot be opened: {error.strerror}."
        ) from None


def _decode_base64(text: str) -> bytes | None:
    """Decode base64 of either alphabet, padded or not."""
    try:
        plain = text.rstrip("=")
        return base64.b64decode(plain + "=" * (-len(plain) % 4), "-_", validate=True)
    except ValueError:
        return None

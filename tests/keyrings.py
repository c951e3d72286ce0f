"""Keyrings for the tests: real backends that keep passwords, are locked, hang, or write plain files."""

# ruff: noqa: ARG002 - keyring's signatures

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import ClassVar

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError


class InMemory(KeyringBackend):
    priority = 1  # type: ignore[assignment]
    kept: ClassVar[dict[tuple[str, str], str]] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.kept.pop((service, username), None) is None:
            raise PasswordDeleteError(username)


class Shared(KeyringBackend):
    """Kept for other processes, in the file that KEYRING_FILE names."""

    priority = 1  # type: ignore[assignment]

    def get_password(self, service: str, username: str) -> str | None:
        path = Path(os.environ["KEYRING_FILE"])
        passwords: dict[str, str] = (
            json.loads(path.read_text()) if path.exists() else {}
        )
        return passwords.get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        Path(os.environ["KEYRING_FILE"]).write_text(
            json.dumps({f"{service}/{username}": password})
        )

    def delete_password(self, service: str, username: str) -> None:
        Path(os.environ["KEYRING_FILE"]).unlink()


class Locked(KeyringBackend):
    priority = 1  # type: ignore[assignment]

    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("c4n4ry in an error of the keyring's own")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise KeyringLocked(password)


class Hanging(KeyringBackend):
    priority = 1  # type: ignore[assignment]
    answered: ClassVar[list[str]] = []

    def get_password(self, service: str, username: str) -> str | None:
        time.sleep(3600)
        self.answered.append(service)
        return None

    def set_password(self, service: str, username: str, password: str) -> None:
        time.sleep(3600)
        self.answered.append(service)


class PlaintextKeyring(Shared):
    """Has the same name as a backend of keyrings.alt."""

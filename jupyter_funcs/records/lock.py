"""The signatures of the functions that a notebook relies on, in a ``funcs.lock`` beside it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from jupyter_funcs.catalog.changes import Interface, changes, interface_of
from jupyter_funcs.core.errors import ConfigError
from jupyter_funcs.core.files import atomic_write_text, named_error, read_toml
from jupyter_funcs.core.text import clip, inert

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_funcs.catalog.listing import Function

NAME = "funcs.lock"
_VERSION = 1
_LARGEST = 256 * 2**10  # bytes; a larger file isn't ours
_MOST_DOTS = 100  # of a line
_LONGEST = 1000  # characters about one function
_HEAD = """\
# The functions that the notebooks in this folder rely on: each parameter with its kind, as the service listed it.
# Written by %funcs lock. Runs warn of changes since then, and %funcs lock --check fails if there are any.
"""
_REWRITE = "Fix the file, or delete it and create it again with %funcs lock."


@dataclass(frozen=True)
class Lock:
    """The contents of a lock file."""

    path: Path
    service: str
    functions: dict[str, Interface] = field(default_factory=dict)

    def drifted(self, name: str, now: Function | None) -> str:
        """Describe how a function has changed since it was locked; empty if it hasn't."""
        if now is None or now.name != name:
            return f"{clip(inert(name))} is no longer in your catalog."
        return clip(changes(name, self.functions[name], interface_of(now)), _LONGEST)

    def text(self) -> str:
        """Return the text of the file."""
        import tomlkit

        document = tomlkit.document()
        document.update({"version": _VERSION, "service": self.service})
        functions = tomlkit.table(is_super_table=True)
        for name in sorted(self.functions):
            table = tomlkit.table()
            for parameter, what in self.functions[name].items():
                row = tomlkit.inline_table()
                row.update(msgspec.to_builtins(what))
                table.append(parameter, row)
            functions.append(name, table)

        document.append("functions", functions)
        return _HEAD + tomlkit.dumps(document)


def read(folder: Path) -> Lock | None:
    """Return the lock of a folder, or ``None``."""
    path = folder / NAME
    file = read_toml(path, str(path), _REWRITE, _LARGEST, _MOST_DOTS)
    if file is None:
        return None
    document = file[1]
    version = document.get("version")
    service = document.get("service")
    if isinstance(version, int) and version > _VERSION:
        raise ConfigError(
            f"{path} was written by a newer jupyter_funcs.",
            "Upgrade jupyter_funcs, or create the file again.",
        )

    if version != _VERSION or not isinstance(service, str):
        raise ConfigError(
            f"{path} isn't a lock file: it needs version {_VERSION} and a service.",
            _REWRITE,
        )

    try:
        functions = msgspec.convert(document.get("functions", {}), dict[str, Interface])
    except msgspec.ValidationError:
        raise ConfigError(
            f"{path} isn't a lock file: every parameter in it needs a kind.", _REWRITE
        ) from None

    return Lock(path, clip(inert(service)), functions)


def write(folder: Path, service: str, functions: Iterable[Function]) -> Lock:
    """Lock functions as they are listed, in addition to those in the file."""
    path = folder / NAME
    before = read(folder)
    if before and before.service != service:
        raise ConfigError(
            f"{path} locks functions of {before.service}, not of {service}.",
            "Delete it first, or use one folder per service.",
        )

    locked = {function.name: interface_of(function) for function in functions}
    if before:
        locked = before.functions | locked
    lock = Lock(path, service, locked)
    text = lock.text()
    if len(text.encode()) > _LARGEST:
        raise ConfigError(
            f"These functions need a {NAME} of more than {_LARGEST // 2**10} KiB.",
            "Name fewer of them.",
        )

    with named_error(
        path, "Run the notebook in a folder that you can write to: %cd FOLDER."
    ):
        atomic_write_text(path, text)

    return lock


@dataclass
class LockChecker:
    """Compares each function that a session runs with the lock of the working folder, once."""

    _service: str
    _checked: set[tuple[str, str]] = field(default_factory=set)

    def check(self, function: Function) -> str:
        """Describe how a function differs from its lock, when it first runs in a folder; empty if it is not locked."""
        try:
            folder = os.getcwd()  # noqa: PTH109  # faster, for every run
        except OSError:  # the folder was deleted
            return ""

        if not self._is_first(folder, function.name):
            return ""
        try:
            lock = read(Path(folder))
        except ConfigError as error:
            return self._problem(folder, f"{error.what} Runs are not compared with it.")

        if lock and lock.service != self._service:
            return self._problem(
                folder,
                f"{lock.path} locks functions of {lock.service}: runs on {self._service} are not compared.",
            )

        if (
            lock
            and function.name in lock.functions
            and (changes := lock.drifted(function.name, function))
        ):
            return (
                f"{changes} {NAME} has the old signature; update it with %funcs lock."
            )

        return ""

    def _problem(self, folder: str, text: str) -> str:
        """Return a text that concerns all functions, once."""
        if self._is_first(folder, ""):
            return text
        return ""

    def _is_first(self, folder: str, name: str) -> bool:
        is_first = (folder, name) not in self._checked
        self._checked.add((folder, name))
        return is_first

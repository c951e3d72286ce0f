"""Lock: the signatures of the functions that a notebook relies on, in a file beside it, compared when they are run."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_funcs.drift import Parameter, Signature, changes, signature
from jupyter_funcs.errors import ConfigError
from jupyter_funcs.files import replace
from jupyter_funcs.text import clip

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_funcs.catalog import Function

NAME = "funcs.lock"
_VERSION = 1
_LARGEST = 8 * 2**20  # bytes; whatever is larger is not ours
_HEAD = """\
# The functions that the notebooks of this folder rely on, as the service listed them: each parameter with its kind.
# Written by %funcs lock; a run says what has changed since, and %funcs lock --check fails where anything has.
"""
_ANEW = "Mend it, or delete it and write it anew with %funcs lock."


@dataclass(frozen=True, slots=True)
class Lock:
    """
    What a lock file holds.

    Attributes
    ----------
    path
        The file.
    service
        Whose functions they are: an address, or ``demo``.
    functions
        The signature of each, by wire name.
    """

    path: Path
    service: str
    functions: dict[str, Signature] = field(default_factory=dict)

    def drifted(self, name: str, now: Function | None) -> str:
        """Say in what a locked function differs from the one that is listed now; empty where it is as it was."""
        if now is None or now.name != name:
            return f"{name} is not in your catalog any more."
        return changes(name, self.functions[name], signature(now))

    def text(self) -> str:
        """Give the file's text."""
        import tomlkit  # noqa: PLC0415  # only where a lock is written

        document = tomlkit.document()
        document.update({"version": _VERSION, "service": self.service})
        functions = tomlkit.table(is_super_table=True)
        for name in sorted(self.functions):
            table = tomlkit.table()
            for parameter, what in self.functions[name].items():
                row = tomlkit.inline_table()
                row.update({"kind": what.kind} | ({"required": True} if what.required else {}))
                row.update({"one_of": list(what.one_of)} if what.one_of else {})
                table.append(parameter, row)
            functions.append(name, table)
        document.append("functions", functions)
        return _HEAD + tomlkit.dumps(document)


def read(folder: Path) -> Lock | None:
    """
    Give the lock of a folder; ``None`` where there is none.

    Raises
    ------
    ConfigError
        The file cannot be read, or is no lock.
    """
    path = folder / NAME
    try:
        if path.stat().st_size > _LARGEST:
            raise ConfigError(f"{path} is no lock: it is too large.", _ANEW)
        document = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read: {clip(str(error))}.", _ANEW) from None
    version = document.get("version")
    if isinstance(version, int) and version > _VERSION:
        raise ConfigError(f"{path} is of a newer jupyter_funcs.", "Install that, or write it anew with %funcs lock.")
    if version != _VERSION or not isinstance(document.get("service"), str):
        raise ConfigError(f"{path} is no lock: it has no version {_VERSION} and no service.", _ANEW)
    try:
        functions = {name: _signature(table) for name, table in document.get("functions", {}).items()}
    except (KeyError, TypeError, AttributeError):
        raise ConfigError(f"{path} is no lock: a function in it has no parameters with a kind each.", _ANEW) from None
    return Lock(path, document["service"], functions)


def write(folder: Path, service: str, functions: Iterable[Function]) -> Lock:
    """
    Lock functions as they are listed, beside those that the file holds already.

    Raises
    ------
    ConfigError
        The file cannot be written, cannot be read, or is of another service.
    """
    path = folder / NAME
    before = read(folder)
    if before is not None and before.service != service:
        raise ConfigError(
            f"{path} is of {before.service}, and not of {service}.",
            "Delete it first, or use a folder for each service.",
        )
    held = before.functions if before is not None else {}
    made = Lock(path, service, held | {function.name: signature(function) for function in functions})
    try:
        replace(path, made.text())
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written: {error.strerror or type(error).__name__}.",
            "Run the notebook in a folder of yours: %cd FOLDER.",
        ) from None
    return made


class Watch:
    """
    What a session has compared with the locks of the folders that it was run in.

    Parameters
    ----------
    service
        Whose functions it runs: an address, or ``demo``.
    """

    def __init__(self, service: str) -> None:
        self._service = service
        self._looked_at: set[tuple[str, str]] = set()

    def look(self, function: Function) -> str:
        """Say in what a function that is run differs from its lock; each is compared once, and most are not locked."""
        try:
            folder = os.getcwd()  # noqa: PTH109  # a text, since each run asks
        except OSError:  # a folder that was deleted holds no lock
            return ""
        if (folder, function.name) in self._looked_at:
            return ""
        self._looked_at.add((folder, function.name))
        try:
            lock = read(Path(folder))
        except ConfigError as error:
            return self._once(folder, f"{error.what} Runs are not compared with it.")
        if lock is not None and lock.service != self._service:
            return self._once(folder, f"{lock.path} is of {lock.service}: runs on {self._service} are not compared.")
        if lock is None or function.name not in lock.functions:
            return ""
        said = lock.drifted(function.name, function)
        return f"{said} {NAME} has it as it was; when the notebook fits, %funcs lock writes it anew." if said else ""

    def _once(self, folder: str, said: str) -> str:
        if (folder, "") in self._looked_at:
            return ""
        self._looked_at.add((folder, ""))
        return said


def _signature(table: dict[str, Any]) -> Signature:
    return {
        name: Parameter(str(row["kind"]), bool(row.get("required", False)), tuple(map(str, row.get("one_of", ()))))
        for name, row in table.items()
    }

"""A TOML file that knows on which line each of its keys stands, so that whoever wrote it is told where to look."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    Key = Sequence[str | int]

# What tomllib appends to its messages.
_POSITION = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")

# For the mistakes that are made most.
_ADVICE = {
    "Invalid value": " Text stands in quotes; true and false are written small.",
    "Cannot overwrite a value": " A key stands there twice.",
}


@dataclass(frozen=True, slots=True)
class TomlFile:
    """
    A TOML file.

    Attributes
    ----------
    name
        The path as its reader gave it; stands first in every message.
    text
        What the file holds.
    values
        The same as Python values.
    """

    name: str
    text: str
    values: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> TomlFile:
        """Read a file; raises `SetupError` with the line of a syntax error."""
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            raise SetupError(f"{path}: there is no such file.\nGive the path of a configuration in TOML.") from None
        except OSError as error:
            raise SetupError(f"{path} cannot be read: {error.strerror}.") from None
        except UnicodeDecodeError as error:
            raise SetupError(
                f"{path} is not UTF-8 text ({error.reason} at byte {error.start}). Save it as UTF-8."
            ) from None
        try:
            return cls(str(path), text, tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            found = _POSITION.search(str(error))
            # What has no end is told by where it begins.
            line = int(found[1]) if found and found[1] else _beginning_of_last(text)
            what = _POSITION.sub("", str(error))
            raise SetupError(f"{path}, line {line}: {what}.{_ADVICE.get(what, '')}") from None
        except RecursionError:
            raise SetupError(f"{path}: lists or tables are nested too deeply.") from None

    def place(self, key: Key) -> str:
        """
        Say where a key stands: the file, and the line on which it, or what should hold it, begins.

        Parameters
        ----------
        key
            The names on the way to it, with the position in a list as a number.
        """
        line = self.line(key)
        return f"{self.name}, line {line}" if line else self.name

    def line(self, key: Key) -> int:
        """Give the line on which the statement begins that first gives a key a value; 0 for the file as a whole."""
        while key and not _has(self.values, key):
            key = key[:-1]
        if not key:
            return 0
        lines = self.text.split("\n")
        # By bisection: the key is not in the lines before `without`, and is in those before `with_`.
        without, with_ = 0, len(lines)
        while True:
            middle = (without + with_ + 1) // 2
            found = _whole(lines, range(middle, with_)) or _whole(lines, range(middle - 1, without, -1))
            if found is None:
                return without + 1
            if _has(found[1], key):
                with_ = found[0]
            else:
                without = found[0]


def _whole(lines: Sequence[str], counts: Iterable[int]) -> tuple[int, Mapping[str, Any]] | None:
    """Give the first of some counts of lines after which a statement ends, and what stands in them."""
    for count in counts:
        try:
            # Up to the middle of a statement a file is no TOML, which is how tomllib tells where statements end.
            return count, tomllib.loads("\n".join([*lines[:count], ""]))
        except tomllib.TOMLDecodeError:
            continue
    return None


def _beginning_of_last(text: str) -> int:
    lines = text.split("\n")
    found = _whole(lines, range(len(lines) - 1, 0, -1))
    return found[0] + 1 if found else 1


def _has(values: Any, key: Key) -> bool:
    for step in key:
        try:
            values = values[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True

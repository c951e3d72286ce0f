"""A TOML file that knows the line of each key, and pydantic's errors in plain English."""

from __future__ import annotations

import bisect
import contextlib
import re
import tomllib
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from pydantic import BaseModel, ValidationError

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.core.files import read_small
from jupyter_funcs.core.text import quoted, quoted_list, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pydantic_core import ErrorDetails

    from jupyter_funcs.core.json_decoding import Values

    Key = Sequence[str | int]

_MAX_PROBLEMS = 3
_ADVICE = "Enter the path of a configuration file in TOML."
# What tomllib appends to its messages.
_POSITION = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
# Hints for the most frequent syntax errors.
_HINTS = {
    "Invalid value": " Put text in quotes, and write true and false in lower case.",
    "Cannot overwrite a value": " The key appears twice.",
}
# TOML's own names for types that pydantic calls by Python's.
_TOML_TYPES = {
    "dict_type": "a table",
    "model_attributes_type": "a table",
    "model_type": "a table",
    "path_type": "a string",
    "tuple_type": "an array",
}


class TomlFile(NamedTuple):
    name: str
    text: str
    values: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> TomlFile:
        """Read a file; raises `SetupError` with the line of a syntax error."""
        try:
            text = read_small(path).decode("utf-8-sig")
        except OSError as error:
            raise SetupError(
                f"{path} cannot be read: {error.strerror}.\n{_ADVICE}"
            ) from None
        except UnicodeDecodeError as error:
            raise SetupError(
                f"{path} is not UTF-8 text ({error.reason} at byte {error.start}). Save it as UTF-8."
            ) from None

        try:
            return cls(str(path), text, tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            what, line, _ = _POSITION.split(str(error))
            # The error at the end of the file is in its last statement.
            lines = text.split("\n")
            line = line or _parsed(lines, range(len(lines) - 1, -1, -1))[0] + 1
            raise SetupError(
                f"{path}, line {line}: {what}.{_HINTS.get(what, '')}"
            ) from None
        except RecursionError:
            raise SetupError(
                f"{path}: arrays or tables are nested too deeply."
            ) from None

    def place(self, key: Key) -> str:
        """Return the file, the line and the path of a key, as in ``service.toml, line 3, server.port``."""
        line = self.line(key)
        return ", ".join(
            filter(None, (self.name, f"line {line}" if line else "", _dotted(key)))
        )

    def line(self, key: Key) -> int:
        """Return the line of a key, or of the table it would be in; 0 for the file as a whole."""
        while key and not _has(self.values, key):
            key = key[:-1]
        if not key:
            return 0
        lines = self.text.split("\n")
        counts = range(len(lines) + 1)
        # The fewest lines that have the key, once the statement that they end in is complete.
        return bisect.bisect_left(
            counts,
            x=True,
            key=lambda count: _has(_parsed(lines, counts[count:])[1], key),
        )

    def describe(self, error: ValidationError, model: type[BaseModel]) -> str:
        """Return the first problems in the file, one per line, in the order of the file."""
        problems = error.errors(include_url=False)
        for problem in problems:  # an unknown key is its own place
            problem["loc"] = tuple(step for step in problem["loc"] if step != "[key]")
        problems.sort(key=lambda problem: self.line(problem["loc"]))
        lines = [
            f"{self.place(problem['loc'])}: {_problem(problem, model)}"
            for problem in problems[:_MAX_PROBLEMS]
        ]
        more = len(problems) - _MAX_PROBLEMS
        return "\n".join(lines) + (f" (And {more} more.)" if more > 0 else "")


def _parsed(lines: Sequence[str], counts: Iterable[int]) -> tuple[int, Values]:
    """Return the first count of lines that is complete TOML, and the values in those lines."""
    for count in counts:
        # A file that is cut within a statement is not valid: this is how tomllib shows where statements end.
        with contextlib.suppress(tomllib.TOMLDecodeError):
            return count, tomllib.loads("\n".join([*lines[:count], ""]))
    raise ValueError("no count of lines is complete TOML")


def _has(values: Any, key: Key) -> bool:
    for step in key:
        try:
            values = values[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _dotted(key: Key) -> str:
    steps = (
        f"[{step}]"
        if isinstance(step, int)
        else f".{step if step.isidentifier() else quoted(step)}"
        for step in key
    )
    return "".join(steps).removeprefix(".")


def _problem(error: ErrorDetails, model: type[BaseModel]) -> str:
    kind = error["type"]
    value = error["input"]
    context = error.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown(error["loc"], model)
    if kind == "missing":
        return "this key is required."
    if kind == "value_error":
        return str(context["error"])
    if kind == "too_short":
        return "must not be empty."
    # Never a whole table or array: it may hold a password.
    shown = {
        dict: "a table",
        list: "an array",
        str: quoted(value),
        bool: str(value).lower(),
    }.get(type(value), value)
    if kind in _TOML_TYPES:
        must = f"must be {_TOML_TYPES[kind]}"
    else:
        must = error["msg"].replace("Input should", "must")

    near = ""
    if kind == "literal_error":
        near = suggestion(str(value), re.findall("'(.*?)'", context["expected"]))
    return f"{must}, not {shown}.{near}"


def _unknown(key: Key, model: type[BaseModel]) -> str:
    *parent, name = (step for step in key if isinstance(step, str))
    keys = list(_keys(model))
    for path in keys:
        if path[-1] == name:
            return f"unknown key. Did you mean {_dotted(path)}{'' if path[1:] else ', before the first [section]'}?"

    siblings = [path[-1] for path in keys if [*path[:-1]] == parent]
    return f"unknown key.{suggestion(name, siblings) or f' Valid keys are {quoted_list(siblings)}.'}"


def _keys(annotation: Any, parent: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of all keys of a model, or of the models in an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            yield (*parent, name)
            yield from _keys(field.annotation, (*parent, name))

    for argument in get_args(annotation):
        yield from _keys(argument, parent)

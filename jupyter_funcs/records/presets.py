"""Presets: values for a function's form under a name, for each profile, in a TOML file that a person may write too."""

from __future__ import annotations

import contextlib
import datetime as dt
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_funcs.config import profiles_file
from jupyter_funcs.each import Each
from jupyter_funcs.errors import ArgumentError, ConfigError, NotFoundError
from jupyter_funcs.files import alone, replace
from jupyter_funcs.text import clip, did_you_mean, listed, quote
from jupyter_funcs.toml_edit import changed
from jupyter_funcs.variables import Variable, has_variable, spelled, typed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_funcs.forms import Form

LONGEST_NAME = 80
_FILE = "jupyter_funcs_presets.toml"
_LARGEST_FILE = 1024 * 1024  # bytes; whatever is larger was not written by a person
_EACH = "each"
_HEAD = """\
# Presets of jupyter_funcs, to read and to write: [profile."Function"."Name of the preset"], and a line a value.
# "$name" is a variable of the notebook, and {each = ["a", "b"]} runs for each of them.
"""


class Presets:
    """
    The presets of one profile.

    Parameters
    ----------
    profile
        The profile's name, else the address; ``demo`` for the demo.
    path
        The file, with those of other profiles; it need not exist, nor be one that can be read or written.
    """

    def __init__(self, profile: str, path: Path) -> None:
        self.profile = profile
        self.path = path

    def names(self, function: str) -> list[str]:
        """
        Give the names of a function's presets, in the file's order.

        Raises
        ------
        ConfigError
            The file cannot be read.
        """
        return list(self._of(function))

    def get(self, function: str, name: str) -> dict[str, Any]:
        """
        Give the values of a preset, as they are set in a form.

        Raises
        ------
        NotFoundError
            The function has no preset of this name; says which it has.
        ConfigError
            The file cannot be read.
        """
        presets = self._of(function)
        if name not in presets:
            known = f"Presets are {listed(map(quote, presets), 'and')}." if presets else "It has none."
            hint = did_you_mean(name, presets) or f"{known} They are in {self.path}."
            raise NotFoundError(f"{function} has no preset {quote(name)}.", hint)
        return {parameter: _read(value) for parameter, value in presets[name].items()}

    def save(self, function: str, name: str, values: Mapping[str, Any]) -> None:
        """
        Keep values under a name, in place of those before; what else stands in the file stays as it is written there.

        Parameters
        ----------
        function
            Its wire name.
        name
            At most 80 characters.
        values
            By wire name: texts, numbers, dates, lists of them, `Variable` and `Each`.

        Raises
        ------
        ArgumentError
            The name or a value cannot be kept.
        ConfigError
            The file cannot be read or written.
        """
        name = checked(name)
        written = {parameter: _written(parameter, value) for parameter, value in values.items()}
        self._change(function, name, written)

    def remove(self, function: str, name: str) -> None:
        """
        Remove a preset; one that is gone already is no error.

        Raises
        ------
        ConfigError
            The file cannot be read or written.
        """
        if name in self._of(function):
            self._change(function, name, None)

    def _of(self, function: str) -> dict[str, dict[str, Any]]:
        found = self._read_file()[1]
        for key in (self.profile, function):
            step = found.get(key)
            found = step if isinstance(step, dict) else {}
        return {name: values for name, values in found.items() if isinstance(values, dict)}

    def _read_file(self) -> tuple[str, dict[str, Any]]:
        try:
            if self.path.stat().st_size > _LARGEST_FILE:
                wrong = "it is larger than 1 MiB"
            else:
                text = self.path.read_bytes().decode("utf-8-sig")
                return text, tomllib.loads(text)
        except FileNotFoundError:
            return "", {}
        except OSError as error:
            wrong = error.strerror or type(error).__name__
        except RecursionError:
            wrong = "it is nested too deeply"
        except ValueError as error:  # of the text's encoding, and of TOML
            wrong = str(error)
        raise ConfigError(
            f"The presets in {self.path} cannot be read: {clip(wrong)}.", "Mend the file, or set FUNCS_PRESETS."
        )

    def _change(self, function: str, name: str, values: dict[str, Any] | None) -> None:
        """Write one preset, or take it away, into what the file holds now: another notebook may have written too."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with alone(self.path.parent):
                before, known = self._read_file()
                text = changed(before or _HEAD, known, (self.profile, function, name), values)
                if text is None:
                    where = f"{self.path} is written in a way that cannot be changed here"
                    raise ConfigError(f"{where}: {quote(name)} is as it was.", "Change the file by hand.")
                replace(self.path, text)
        except OSError as error:
            said = error.strerror or type(error).__name__
            raise ConfigError(
                f"The presets in {self.path} cannot be written: {said}.", "Set FUNCS_PRESETS to a file that can be."
            ) from None

    def __repr__(self) -> str:
        """Say whose presets they are, and in which file."""
        return f"<Presets of {self.profile} in {self.path}>"


def presets_file(environment: Mapping[str, str]) -> Path:
    """Give the path of the file of presets: ``FUNCS_PRESETS``, else beside the profiles. It need not exist."""
    if path := environment.get("FUNCS_PRESETS"):
        with contextlib.suppress(RuntimeError):  # ~name, of nobody
            return Path(path).expanduser()
        return Path(path)
    return profiles_file(environment).with_name(_FILE)


def checked(name: str) -> str:
    """
    Give a preset's name without the white space around it.

    Raises
    ------
    ArgumentError
        It is no name for one.
    """
    name = name.strip()
    if not name:
        raise ArgumentError("A preset needs a name.", "Write one before Save.")
    if len(name) > LONGEST_NAME:
        said = f"A preset's name has at most {LONGEST_NAME} characters, not {len(name):,}"
        raise ArgumentError(f"{said}: {quote(name, 40)}.", "Write a shorter one.")
    if not name.isprintable():
        raise ArgumentError(f"{quote(name)} is no name for a preset: some of it cannot be seen.", "Write another one.")
    return name


def held(form: Form) -> dict[str, Any]:
    """Give what a form holds, as a preset keeps it: as it would be sent where it is valid, else as it was set."""
    args, errors = form.args, form.errors
    values: dict[str, Any] = {}
    for name, value in form.values.items():
        if has_variable(value) or name in errors or name not in args:
            values[name] = value
        else:
            values[name] = Each(tuple(args[name])) if isinstance(value, Each) else args[name]
    return values


def fill(form: Form, values: Mapping[str, Any]) -> list[str]:
    """
    Let a form hold these values and no others.

    Returns
    -------
    list of str
        The names that are no parameters of the function; their values are not set.
    """
    unknown: list[str] = []
    wanted: dict[str, Any] = {}
    for name, value in values.items():
        try:
            wanted[form.field(name).name] = value
        except ArgumentError:
            unknown.append(name)
    # In the order of the form: the valid values of a field may follow from the one before it.
    for name in form:
        before, now = form.values.get(name), wanted.get(name)
        if type(before) is not type(now) or before != now:
            form[name] = now
    return unknown


def _read(value: Any) -> Any:
    """Give a value of the file as it is set in a form."""
    if isinstance(value, str):
        return typed(value)
    if isinstance(value, list):
        return [_read(item) for item in value]
    if isinstance(value, dict) and value.keys() == {_EACH} and isinstance(value[_EACH], list):
        return Each(tuple(map(_read, value[_EACH])))
    return value


def _written(parameter: str, value: Any) -> Any:
    """Give a value of a form as the file has it."""
    if isinstance(value, Each):
        return {_EACH: [_written(parameter, item) for item in value.values]}
    if isinstance(value, (list, tuple)):
        return [_written(parameter, item) for item in value]
    if isinstance(value, (str, Variable)):
        return spelled(value)
    if type(value) in {bool, int, float, dt.date, dt.datetime}:
        return value
    what = f"{parameter} holds {quote(value, 40)} ({type(value).__name__}), which a preset cannot keep."
    raise ArgumentError(what, "Give it text, a number, a date or a list of them.")

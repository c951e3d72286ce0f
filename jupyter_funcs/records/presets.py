"""Presets: named values for a function's form, per profile, in a TOML file that users can edit."""

from __future__ import annotations

import datetime as dt
import tomllib
from typing import TYPE_CHECKING, Any

from jupyter_funcs.catalog.values import Each, Variable, has_variable, spelled, typed
from jupyter_funcs.connection.profiles import profiles_file
from jupyter_funcs.connection.secrets import redacted_values
from jupyter_funcs.core.errors import ArgumentError, ConfigError, NotFoundError
from jupyter_funcs.core.files import atomic_write_text, expanded, locked_folder, named_error, read_toml
from jupyter_funcs.core.text import did_you_mean, listed, quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from jupyter_funcs.catalog.form import Form


LONGEST_NAME = 80
_DEMO = "demo"
# Presets that come with the demo.
_TO_DATE = {"PeriodToDate": "Yes", "PoPGrowth": "Yes", "UseReportedForCurrentPeriod": "No"}
_SHIPPED = {"Get Panel FQ": {"Quarter to date vs last year": _TO_DATE}}
_FILE = "jupyter_funcs_presets.toml"
_EACH = "each"
_HEAD = """\
# Presets of jupyter_funcs. You can edit this file: [profile."Function"."Name of the preset"], then one line per value.
# "$name" is a variable of the notebook; {each = ["a", "b"]} runs once for each value.
"""


class Presets:
    """The presets of one profile (``demo`` for the demo), in a file that other profiles may share."""

    def __init__(self, profile: str, path: Path) -> None:
        self.profile = profile
        self.path = path

    def names(self, function: str) -> list[str]:
        """Return the names of a function's presets, in the file's order."""
        return list(self._of(function))

    def shipped(self, function: str) -> dict[str, dict[str, Any]]:
        """Return the presets of a function that come with the demo, by name."""
        return _SHIPPED.get(function, {}) if self.profile == _DEMO else {}

    def get(self, function: str, name: str) -> dict[str, Any]:
        """Return the values of a preset, by parameter, or raise a `NotFoundError` that lists the presets."""
        presets = {**self.shipped(function), **self._of(function)}
        if name not in presets:
            known = f"Presets are {listed(map(quote, presets), 'and')}." if presets else "It has none."
            hint = did_you_mean(name, presets) or f"{known} The presets file is {self.path}."
            raise NotFoundError(f"{function} has no preset {quote(name)}.", hint)
        return {parameter: _from_toml(value) for parameter, value in presets[name].items()}

    def save(self, function: str, name: str, values: Mapping[str, Any]) -> None:
        """Save values under a name, replacing those that are there; the rest of the file stays as it is."""
        name = check_name(name)
        self._change(function, name, {parameter: _to_toml(parameter, value) for parameter, value in values.items()})

    def remove(self, function: str, name: str) -> None:
        """Remove a preset, if it exists."""
        if name in {**self.shipped(function), **self._of(function)}:
            self._change(function, name, None)

    def _of(self, function: str) -> dict[str, dict[str, Any]]:
        found = self._read_file()[1]
        for key in (self.profile, function):
            step = found.get(key)
            found = step if isinstance(step, dict) else {}
        return {name: values for name, values in found.items() if isinstance(values, dict)}

    def _read_file(self) -> tuple[str, dict[str, Any]]:
        found = read_toml(self.path, f"The presets in {self.path}", "Fix the file, or set FUNCS_PRESETS.")
        return found or ("", {})

    def _change(self, function: str, name: str, values: dict[str, Any] | None) -> None:
        """Write one preset, or remove it, in the file as it is now: another notebook may have changed it."""
        if name in self.shipped(function):
            raise ArgumentError(f"{quote(name, 40)} comes with the demo.", "Choose another name for your own.")
        with named_error(self.path, "Set FUNCS_PRESETS to a writable file."):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with locked_folder(self.path.parent):
                before, document = self._read_file()
                text = _edited(before or _HEAD, document, (self.profile, function, name), values)
                if text is None:
                    what = f"{self.path} is written in a way that cannot be edited here"
                    raise ConfigError(f"{what}; {quote(name)} is unchanged.", "Edit the file by hand.")
                atomic_write_text(self.path, text)

    def __repr__(self) -> str:
        return f"<Presets of {self.profile} in {self.path}>"


def presets_file(environment: Mapping[str, str]) -> Path:
    """Return the path of the presets: ``FUNCS_PRESETS``, else a file beside the profiles. It need not exist."""
    if path := environment.get("FUNCS_PRESETS"):
        return expanded(path)
    return profiles_file(environment).with_name(_FILE)


def check_name(name: str) -> str:
    """Return a preset's name without surrounding spaces, or raise an `ArgumentError`."""
    name = name.strip()
    if not name:
        raise ArgumentError("A preset needs a name.", "Enter a name before you save.")
    if len(name) > LONGEST_NAME:
        what = f"A preset's name has at most {LONGEST_NAME} characters, not {len(name):,}"
        raise ArgumentError(f"{what}: {quote(name, 40)}.", "Choose a shorter name.")
    if not name.isprintable():
        raise ArgumentError(f"The name {quote(name)} has invisible characters.", "Choose another name.")
    return name


def form_values(form: Form) -> dict[str, Any]:
    """Return a form's values for a preset: valid values as they would be sent, others as entered."""
    args, errors = form.args, form.errors
    values: dict[str, Any] = {}
    for name, value in form.values.items():
        if has_variable(value) or name in errors or name not in args:
            values[name] = value
        else:
            values[name] = Each(tuple(args[name])) if isinstance(value, Each) else args[name]
    return values


def fill(form: Form, values: Mapping[str, Any], *, keep: bool = False) -> list[str]:
    """Set a form to these values, `keep` its others or clear them, and return the names that are not its fields."""
    unknown: list[str] = []
    wanted: dict[str, Any] = {}
    for name, value in values.items():
        try:
            wanted[form.field(name).name] = value
        except ArgumentError:
            unknown.append(name)
    # In the form's order, because the valid values of a field may depend on the ones before it.
    for name in [name for name in form if name in wanted or not keep]:
        before, now = form.values.get(name), wanted.get(name)
        if type(before) is not type(now) or before != now:
            form[name] = now
    return unknown


def _from_toml(value: Any) -> Any:
    if isinstance(value, str):
        return typed(value)
    if isinstance(value, list):
        return [_from_toml(item) for item in value]
    if isinstance(value, dict) and value.keys() == {_EACH} and isinstance(value[_EACH], list):
        return Each(tuple(map(_from_toml, value[_EACH])))
    return value


def _to_toml(parameter: str, value: Any) -> Any:
    if isinstance(value, Each):
        return {_EACH: [_to_toml(parameter, item) for item in value.values]}
    if isinstance(value, (list, tuple)):
        return [_to_toml(parameter, item) for item in value]
    if isinstance(value, (str, Variable)):
        return spelled(redacted_values(value))
    if type(value) in {bool, int, float, dt.date, dt.datetime}:
        return value
    what = f"A preset cannot store {parameter}: {quote(value, 40)} (a {type(value).__name__})."
    raise ArgumentError(what, "Use text, a number, a date, or a list of them.")


def _edited(
    text: str, document: dict[str, Any], keys: tuple[str, str, str], values: dict[str, Any] | None
) -> str | None:
    """Return a TOML file with one table replaced (removed for ``None``), or ``None`` if it cannot be edited."""
    # Every other preset must survive.
    expected = {at: value for at, value in _leaves(document) if at[:3] != keys}
    expected |= {} if values is None else dict(_leaves(values, *keys))
    # tomlkit can't edit some orders of tables that a person may have written; then append the table.
    for edit in (_replaced, _appended):
        try:
            edited = edit(text, keys, values)
            if dict(_leaves(tomllib.loads(edited))) == expected:
                return edited
        except Exception:  # noqa: BLE001, S112  # whatever the file has in it, and whatever tomlkit makes of that
            continue
    return None


def _leaves(value: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the values of a document with their keys; a preset without values is one, other empty tables are none."""
    if isinstance(value, dict) and (value or len(path) < 3):
        for key, item in value.items():
            yield from _leaves(item, *path, key)
    else:
        yield path, value


def _replaced(text: str, keys: tuple[str, str, str], values: dict[str, Any] | None) -> str:
    import tomlkit

    profile, function, name = keys
    document = tomlkit.parse(text)
    table: Any = document
    for key in (profile, function):
        if key not in table:
            table.append(key, tomlkit.table(is_super_table=True))
        table = table[key]
    if values is None:
        table.remove(name)
    elif name in table:  # value by value, so that comments stay
        _update(table[name], values)
    else:
        table.append(name, _update(tomlkit.table(), values).add(tomlkit.nl()))
    return tomlkit.dumps(document)


def _appended(text: str, keys: tuple[str, str, str], values: dict[str, Any] | None) -> str:
    import tomlkit

    table = _update(tomlkit.table(), values or {})
    head = ".".join(tomlkit.key(key).as_string() for key in keys)
    return f"{text.rstrip()}\n\n[{head}]\n{table.as_string()}"


def _update(table: Any, values: dict[str, Any]) -> Any:
    import tomlkit

    for parameter in [parameter for parameter in table if parameter not in values]:
        table.remove(parameter)
    for parameter, value in values.items():
        item = tomlkit.inline_table() if isinstance(value, dict) else value
        if isinstance(value, dict):
            item.update(value)
        table[parameter] = item
    return table

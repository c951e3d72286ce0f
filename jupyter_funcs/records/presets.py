"""Presets: named values for a function's form, per profile, in a TOML file that users can edit."""

from __future__ import annotations

import datetime as dt
import json
import os
import tomllib
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jupyter_funcs.catalog.fields import Kind
from jupyter_funcs.catalog.listing import Encoding
from jupyter_funcs.catalog.values import (
    Each,
    Variable,
    WrongValueError,
    accept,
    entered,
    has_variable,
    of_sent,
    spelled,
)
from jupyter_funcs.connection.profiles import profiles_file
from jupyter_funcs.connection.secrets import redacted_values
from jupyter_funcs.core.errors import ArgumentError, ConfigError, NotFoundError
from jupyter_funcs.core.files import (
    atomic_write_text,
    expanded,
    locked_folder,
    named_error,
    read_toml,
)
from jupyter_funcs.core.json_decoding import only
from jupyter_funcs.core.line import Entered, Sent, Values
from jupyter_funcs.core.text import did_you_mean, listed, plain, quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from jupyter_funcs.catalog.fields import Field
    from jupyter_funcs.catalog.form import Form


_Keys = tuple[str, str, str]  # the profile, the function and the name of a preset
LONGEST_NAME = 80
_DEMO = "demo"
# Presets that come with the demo.
_TO_DATE = {
    "PeriodToDate": "Yes",
    "PoPGrowth": "Yes",
    "UseReportedForCurrentPeriod": "No",
}
_SHIPPED = {"Get Panel FQ": {"Quarter to date vs last year": _TO_DATE}}
_FILE = "jupyter_funcs_presets.toml"
_HEAD = """\
# Presets of jupyter_funcs. You can edit this file: [profile."Function"."Name of the preset"], then one line per value.
# "$name" is a variable of the notebook; {each = ["a", "b"]} runs once for each value; {json = "null"} is JSON.
"""


@dataclass(frozen=True)
class Presets:
    """The presets of one profile (``demo`` for the demo), in a file that other profiles may share."""

    profile: str
    path: Path

    def names(self, function: str) -> list[str]:
        """Return the names of a function's presets, in the file's order."""
        return list(self._of(function))

    def shipped(self, function: str) -> dict[str, Values]:
        """Return the presets of a function that come with the demo, by name."""
        if self.profile == _DEMO:
            return _SHIPPED.get(function, {})
        return {}

    def get(self, function: str, name: str) -> Values:
        """Return the values of a preset, by parameter, or raise a `NotFoundError` that lists the presets."""
        presets = self._all(function)
        if name not in presets:
            names = "It has none."
            if presets:
                names = f"Presets are {listed(map(quote, presets), 'and')}."
            hint = (
                did_you_mean(name, presets)
                or f"{names} The presets file is {self.path}."
            )
            raise NotFoundError(f"{function} has no preset {quote(name)}.", hint)

        return {
            parameter: _from_toml(value) for parameter, value in presets[name].items()
        }

    def save(self, function: str, name: str, values: Mapping[str, Any]) -> None:
        """Save values under a name, replacing those that are there; the rest of the file stays as it is."""
        name = check_name(name)
        self._change(
            function,
            name,
            {
                parameter: _to_toml(parameter, value)
                for parameter, value in values.items()
            },
        )

    def remove(self, function: str, name: str) -> None:
        """Remove a preset, if it exists."""
        if name in self._all(function):
            self._change(function, name, None)

    def _all(self, function: str) -> dict[str, Values]:
        return self.shipped(function) | self._of(function)

    def _of(self, function: str) -> dict[str, Values]:
        profile = only(dict, self._read_file()[1].get(self.profile))
        presets = only(dict, profile.get(function))
        return {
            name: values for name, values in presets.items() if isinstance(values, dict)
        }

    def _read_file(self) -> tuple[str, Values]:
        hint = "Fix the file, or set FUNCS_PRESETS."
        return read_toml(self.path, f"The presets in {self.path}", hint) or ("", {})

    def _change(self, function: str, name: str, values: Values | None) -> None:
        """Write one preset, or remove it, in the file as it is now: another notebook may have changed it."""
        if name in self.shipped(function):
            raise ArgumentError(
                f"{quote(name, 40)} comes with the demo.",
                "Choose another name for your own.",
            )

        with named_error(self.path, "Set FUNCS_PRESETS to a writable file."):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with locked_folder(self.path.parent):
                before, document = self._read_file()
                text = _edited(
                    before or _HEAD, document, (self.profile, function, name), values
                )
                if text is None:
                    what = f"{self.path} is written in a way that cannot be edited here"
                    raise ConfigError(
                        f"{what}; {quote(name)} is unchanged.", "Edit the file by hand."
                    )
                atomic_write_text(self.path, text)

    def __repr__(self) -> str:
        return f"<Presets of {self.profile} in {self.path}>"


def presets_file() -> Path:
    """Return the path of the presets: ``FUNCS_PRESETS``, else a file beside the profiles. It need not exist."""
    if path := os.environ.get("FUNCS_PRESETS"):
        return expanded(path)
    return profiles_file().with_name(_FILE)


def check_name(name: str) -> str:
    """Return a preset's name without surrounding spaces, or raise an `ArgumentError`."""
    name = name.strip()
    if not name:
        raise ArgumentError("A preset needs a name.", "Enter a name before you save.")
    if len(name) > LONGEST_NAME:
        what = (
            f"A preset's name has at most {LONGEST_NAME} characters, not {len(name):,}"
        )
        raise ArgumentError(f"{what}: {quote(name, 40)}.", "Choose a shorter name.")

    if not name.isprintable():
        raise ArgumentError(
            f"The name {quote(name)} has invisible characters.", "Choose another name."
        )

    return name


def form_values(form: Form) -> Values:
    """Return a form's values for a preset: valid values as they would be sent as JSON, others as entered."""
    args = form.args
    errors = form.errors
    values = dict(form.entries)
    for name, value in form.entries.items():
        if has_variable(value) or name in errors or name not in args:
            continue
        field = form.field(name)
        if isinstance(value, Each):
            values[name] = Each(tuple(_jsonable(field, item) for item in args[name]))
        else:
            values[name] = _jsonable(field, args[name])

    return values


def _jsonable(field: Field, value: Any) -> Any:
    """Return a value as JSON has it; an object that JSON has no type for is itself."""
    with suppress(WrongValueError):
        return accept(replace(field, encoding=Encoding.JSON), value)
    return value


def fill(form: Form, values: Mapping[str, Any], *, keep: bool = False) -> list[str]:
    """Set a form to these values, `keep` its others or clear them, and return the names that are not its fields."""
    unknown = []
    wanted = {}
    for name, value in values.items():
        try:
            field = form.field(name)
        except ArgumentError:
            unknown.append(name)
        else:
            if field.kind is Kind.JSON:
                value = _of_record(field, value)  # noqa: PLW2901  # as it is now
            wanted[field.name] = value

    # In the form's order, because the valid values of a field may depend on the ones before it.
    for name in dict.fromkeys([*form, *wanted]):
        if name not in wanted:
            if not keep:
                del form[name]
        elif not form.is_set(name) or not _is_same(form[name], wanted[name]):
            form[name] = wanted[name]

    return unknown


def _is_same(before: Any, now: Any) -> bool:
    try:
        return type(before) is type(now) and bool(before == now)
    except Exception:  # noqa: BLE001  # a table, say, or whatever else compares its items
        return before is now


def _of_record(field: Field, value: Any) -> Any:
    """Return what a text of a JSON field contains, as 0.1.0 wrote every text, list and object; any other is itself."""
    if isinstance(value, Each):
        return Each(tuple(_of_record(field, item) for item in value.values))
    if isinstance(value, Sent):
        return of_sent(field, value)
    if isinstance(value, Entered) and _is_json(value):
        return json.loads(value)
    return value


def _is_json(text: str) -> bool:
    """Return whether a text is a text, a list or an object in JSON."""
    if not text.startswith(('"', "[", "{")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False

    return True


def _from_toml(value: Any) -> Any:
    match value:
        case str():
            return entered(value)
        case list():
            return list(map(_from_toml, value))
        case {"each": list(items), **others} if not others:
            return Each(tuple(map(_from_toml, items)))
        case {"json": str(text), **others} if not others:
            with suppress(ValueError, RecursionError):
                return json.loads(text)

    return value


def _to_toml(parameter: str, value: Any) -> Any:
    if isinstance(value, Each):
        return {"each": [_to_toml(parameter, item) for item in value.values]}
    if _needs_json(value):
        with suppress(TypeError):
            return {
                "json": json.dumps(redacted_values(plain(value)), ensure_ascii=False)
            }

    if isinstance(value, list | tuple):
        return [_to_toml(parameter, item) for item in value]
    if isinstance(value, Variable):
        return spelled(value)
    if isinstance(value, str):
        return spelled(redacted_values(value))
    if type(value) in {bool, int, float, dt.date, dt.datetime}:
        return value
    raise ArgumentError(
        f"A preset cannot store {parameter}: {quote(value, 40)} (a {type(value).__name__}).",
        "Use text, a number, a date, or a list of them.",
    )


def _needs_json(value: Any) -> bool:
    """Return whether TOML has no type for a value, or its text would be read as JSON."""
    if isinstance(value, list | tuple):
        return any(
            item is None or isinstance(item, dict | list | tuple) for item in value
        )

    return (
        value is None
        or isinstance(value, dict)
        or (isinstance(value, str) and _is_json(value))
    )


def _edited(
    text: str, document: Values, keys: _Keys, values: Values | None
) -> str | None:
    """Return a TOML file with one table replaced (removed for ``None``), or ``None`` if it cannot be edited."""
    # Every other preset must survive.
    expected = {at: value for at, value in _leaves(document) if at[:3] != keys}
    if values is not None:
        expected |= dict(_leaves(values, *keys))
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


def _replaced(text: str, keys: _Keys, values: Values | None) -> str:
    import tomlkit

    *path, name = keys
    document = tomlkit.parse(text)
    table = document
    for key in path:
        table = table.setdefault(key, tomlkit.table(is_super_table=True))
    if values is None:
        table.remove(name)
    elif name in table:  # value by value, so that comments stay
        _update(table[name], values)
    else:
        table.append(name, _update(tomlkit.table(), values).add(tomlkit.nl()))

    return tomlkit.dumps(document)


def _appended(text: str, keys: _Keys, values: Values | None) -> str:
    import tomlkit

    table = _update(tomlkit.table(), values or {})
    head = ".".join(tomlkit.key(key).as_string() for key in keys)
    return f"{text.rstrip()}\n\n[{head}]\n{table.as_string()}"


def _update(table: Any, values: Values) -> Any:
    import tomlkit

    for parameter in [parameter for parameter in table if parameter not in values]:
        table.remove(parameter)
    for parameter, value in values.items():
        if isinstance(value, dict):
            table[parameter] = tomlkit.inline_table()
            table[parameter].update(value)
        else:
            table[parameter] = value

    return table

"""A TOML file that a person writes too: one table of it changed, the rest as it was."""

from __future__ import annotations

import tomllib
from typing import Any


def changed(text: str, known: dict[str, Any], keys: tuple[str, str, str], values: dict[str, Any] | None) -> str | None:
    """
    Give a file's text with one table changed and the rest as it was written.

    Parameters
    ----------
    text, known
        What the file holds, as text and as values.
    keys
        The names on the way to the table.
    values
        What it is to hold; ``None`` takes it away.

    Returns
    -------
    str or None
        The text; ``None`` where it is written in a way that cannot be changed so.
    """
    # A person may have written tables in an order that the editor of TOML does not take; at the end one can be added.
    for edit in (_edited, _appended):
        try:
            made = edit(text, keys, values)
            # One table is never paid for with another one.
            if _pruned(tomllib.loads(made)) == _pruned(_with(known, keys, values)):
                return made
        except Exception:  # noqa: BLE001, S112  # whatever stands there, and whatever the editor makes of it
            continue
    return None


def _with(document: dict[str, Any], keys: tuple[str, str, str], values: dict[str, Any] | None) -> dict[str, Any]:
    profile, function, name = keys
    functions = document.get(profile, {})
    presets = dict(functions.get(function, {}))
    presets.pop(name, None)
    if values is not None:
        presets[name] = values
    return {**document, profile: {**functions, function: presets}}


def _pruned(document: Any) -> Any:
    """Give a document without the tables that hold none: the last one of a table takes it along."""
    if not isinstance(document, dict):
        return document
    profiles = {
        profile: {function: presets for function, presets in functions.items() if presets != {}}
        if isinstance(functions, dict)
        else functions
        for profile, functions in document.items()
    }
    return {profile: functions for profile, functions in profiles.items() if functions != {}}


def _appended(text: str, keys: tuple[str, str, str], values: dict[str, Any] | None) -> str:
    import tomlkit  # noqa: PLC0415  # only where something is saved

    table = tomlkit.table()
    _update(table, values or {})
    head = ".".join(tomlkit.key(key).as_string() for key in keys)
    return f"{text.rstrip()}\n\n[{head}]\n{table.as_string()}"


def _edited(text: str, keys: tuple[str, str, str], values: dict[str, Any] | None) -> str:
    import tomlkit  # noqa: PLC0415  # as above

    profile, function, name = keys
    document = tomlkit.parse(text)
    place: Any = document
    for key in (profile, function):
        if key not in place:
            place.append(key, tomlkit.table(is_super_table=True))
        place = place[key]
    if values is None:
        place.remove(name)
    elif name in place:  # by its values, so that a remark beside one stays
        _update(place[name], values)
    else:
        table = tomlkit.table()
        _update(table, values)
        table.add(tomlkit.nl())
        place.append(name, table)
    return tomlkit.dumps(document)


def _update(table: Any, values: dict[str, Any]) -> None:
    for parameter in [parameter for parameter in table if parameter not in values]:
        table.remove(parameter)
    for parameter, value in values.items():
        table[parameter] = _item(value)


def _item(value: Any) -> Any:
    import tomlkit  # noqa: PLC0415  # as above

    if isinstance(value, dict):
        made = tomlkit.inline_table()
        made.update({key: _item(one) for key, one in value.items()})
        return made
    return tomlkit.item(value)

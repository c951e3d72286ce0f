"""One run as a text to paste: a magic's line, a Python program, a command for the shell. None of them knows a token."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from jupyter_funcs.callables import request
from jupyter_funcs.text import json_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_funcs.callables import RemoteFunction

RUN_PATH = "/api/function/runFunction"
# What a magic reads as it stands: nothing that IPython, a quote, a list or a variable begins or ends with.
_BARE = re.compile(r"[\w.+:/@-]*\w", re.ASCII)
_PLAIN_NAME = re.compile(r"\w+", re.ASCII)
# The secret that each header takes, as the environment names it.
_SECRETS = {"Authorization": "Authorization: Bearer $FUNCS_TOKEN", "X-Api-Key": "X-Api-Key: $FUNCS_API_KEY"}
_NO_ADDRESS = "http://127.0.0.1:8765"
_SERVE = f"""\
# The demo runs inside this kernel and has no address. To give it one, in a terminal of its own:
#   jupyter funcs serve                       # {_NO_ADDRESS}
#   export FUNCS_TOKEN="$(jupyter funcs token --user analyst --hours 8)"
"""


class _Code:
    """What stands in generated code as it is, without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def magic(
    function: RemoteFunction,
    args: Mapping[str, Any],
    variables: Mapping[str, str] | None = None,
    *,
    sweeps: bool = False,
) -> str:
    """
    Give the run as ``%funcs call``; as a cell with a JSON body where a value fits into no line.

    Parameters
    ----------
    function
        What to run.
    args
        What is sent, by wire name.
    variables
        By wire name, the notebook's variables that stand for values.
    sweeps
        Whether it is ``%funcs sweep``, of the arguments that are lists of values.
    """
    command = "sweep" if sweeps else "call"
    named = _known(variables)
    words = [
        f"{_magic_name(function, name)}={f'${named[name]}' if name in named else _magic_value(value)}"
        for name, value in {**args, **named}.items()
    ]
    line = " ".join([_address(function), *words])
    if line.isprintable():
        return f"df = %funcs {command} {line}"
    # A body of JSON takes any text, and no variable.
    return f"%%funcs {command} {_address(function)} -o df\n{json_text(dict(args))}"


def python(
    function: RemoteFunction,
    args: Mapping[str, Any],
    where: str,
    variables: Mapping[str, str] | None = None,
    *,
    sweeps: bool = False,
) -> str:
    """
    Give the run as a Python program, which reads back as exactly these values.

    Parameters
    ----------
    function, args, variables, sweeps
        As of `magic`.
    where
        What `connect` takes to come back.
    """
    named = {name: _Code(variable) for name, variable in _known(variables).items()}
    connect = f"jf.connect({where!r})" if where else "jf.connect()"
    return f"import jupyter_funcs as jf\n\nfuncs = {connect}\ndf = {function.code({**args, **named}, sweeps=sweeps)}"


def curl(function: RemoteFunction, args: Mapping[str, Any]) -> str:
    """
    Give the run as a command for a POSIX shell; the token comes from the environment, as the shell runs it.

    The demo has no address: for it the text says how it gets one.

    Parameters
    ----------
    function, args
        As of `magic`.
    """
    address = function.session.address
    url = shlex.quote((address or _NO_ADDRESS).rstrip("/") + RUN_PATH)
    command = [
        f"curl -X POST {url}",
        f'-H "{_SECRETS[function.session.header]}"',
        "-H 'Content-Type: application/json'",
        f"-d {shlex.quote(json_text(request(function.name, dict(args))))}",
    ]
    return ("" if address else _SERVE) + " \\\n  ".join(command)


def _known(variables: Mapping[str, str] | None) -> dict[str, str]:
    # What a person typed behind a $ may be any text; one that names no variable must not become code.
    return {name: variable for name, variable in (variables or {}).items() if variable.isidentifier()}


def _address(function: RemoteFunction) -> str:
    """Give the name by which the catalog finds this function, and no other one of such a name."""
    catalog = function.session.listed
    found = catalog.peek(function.slug) if catalog is not None else function.function
    # A catalog that was listed anew holds the same function as another object.
    is_it = found is not None and (found.id, found.name) == (function.function.id, function.function.name)
    return function.slug if is_it else str(function.function.id)


def _magic_name(function: RemoteFunction, name: str) -> str:
    field = next((field for field in function.fields if field.name == name), None)
    if field is None or _PLAIN_NAME.fullmatch(name):
        return name
    # Another parameter may be called as this one is in Python.
    if all(other.name != field.identifier for other in function.fields):
        return field.identifier
    return _quoted(name)


def _magic_value(value: Any) -> str:
    """Give a value as a magic reads it."""
    if isinstance(value, list):
        return f"[{', '.join(map(json_text, value))}]"
    return str(value) if _BARE.fullmatch(value) else _quoted(value)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

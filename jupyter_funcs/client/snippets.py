"""A run or a sweep as text to paste: a magic, a Python program, a shell command. None of them contains a token."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as escaped

from jupyter_funcs.catalog.fields import fields_named
from jupyter_funcs.catalog.values import Each, Variable, entry_of, first_of
from jupyter_funcs.connection.replies import RUN_PATH
from jupyter_funcs.connection.tokens import BASIC
from jupyter_funcs.core.errors import FuncsError
from jupyter_funcs.core.line import LETTER_ESCAPE, in_double_quotes
from jupyter_funcs.core.text import json_text, plain, recorded
from jupyter_funcs.sources.openapi_requests import JSON_BODY
from jupyter_funcs.sources.openapi_servers import listed_places
from jupyter_funcs.sources.source import ServiceSource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_funcs.catalog.fields import Field
    from jupyter_funcs.catalog.form import Form
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.core.json_decoding import Values

_MOST_VALUES = 1_000  # of a sweep
# What a magic reads unquoted: nothing that could start or end IPython syntax, a quote, a list or a variable.
_BARE = re.compile(r"(?a)[\w.+:/@-]*\w")
_PLAIN_NAME = re.compile(r"(?a)\w[\w.]*")
_PLAIN_HEADER = re.compile(r"(?a)[\w-]+: \w* ?")
_NO_ADDRESS = "http://127.0.0.1:8765"
_SERVE = f"""\
# The demo runs inside this kernel and has no address. Serve it in another terminal:
#   jupyter funcs serve                       # {_NO_ADDRESS}
# Then, in this one:
#   export FUNCS_TOKEN="$(jupyter funcs token --user analyst --hours 8)"
"""


def blocks(
    function: RemoteCall, form: Form, where: str, result: str = "df"
) -> list[dict[str, str]]:
    """Return a form as code, with notes on where it works: a magic and Python, and curl for the first of its runs."""
    args, swept = form.args, form.swept
    if (many := sum(len(args.get(name, ())) for name in swept)) > _MOST_VALUES:
        note = (
            f"{many:,} values are too many to write out. Keep them in a variable of the notebook."
        )
        return [{"name": "python", "code": f"# {note}", "note": ""}]
    sweeps, held = bool(swept), form.entries
    alone = {
        name: first_of(one) if isinstance(one, Each) and len(one) == 1 else one
        for name, one in held.items()
    }
    named = {
        name: one
        for name, one in alone.items()
        if isinstance(one, Variable) and one.name.isidentifier()
    }
    program = python(function, {**args, **named}, where, sweeps=sweeps, result=result)
    found = [{"name": "python", "code": program, "note": "a script or a notebook"}]
    if not (where.startswith("[") or _options(function)):  # %funcs connect supports neither
        note = (
            f"a line of a notebook, after %funcs connect {where}"
            if where
            else "a line of a notebook"
        )
        found.insert(
            0,
            {
                "name": "magic",
                "code": magic(function, args, sweeps=sweeps, result=result),
                "note": note,
            },
        )
    with suppress(FuncsError):  # values that make no valid request
        note = (
            "the first of the runs, in a shell"
            if sweeps
            else "a shell; the token comes from the environment"
        )
        if command := curl(function, form.first):  # a run is a single HTTP request
            found.append({"name": "curl", "code": command, "note": note})
    return found


def magic(function: RemoteCall, args: Values, *, sweeps: bool = False, result: str = "df") -> str:
    """Return the run as ``%funcs call``, or as a cell with a JSON body if a value doesn't fit into a line."""
    command = "sweep" if sweeps else "call"
    if shown := line(function, args):
        return f"{result} = %funcs {command} {shown}"
    # A JSON body takes any text.
    return f"%%funcs {command} {_address(function)} -o {result}\n{json_text(recorded(dict(args)))}"


def line(function: RemoteCall, args: Values) -> str:
    """Return the run as the end of a line of a magic, after its subcommand; empty if a value doesn't fit into one."""
    fields = fields_named(function.fields, args)
    words = [
        f"{_magic_name(function, name)}={_magic_value(fields[name], value)}"
        for name, value in args.items()
    ]
    found = " ".join([_address(function), *words])
    return found if found.isprintable() and not LETTER_ESCAPE.search(found) else ""


def python(
    function: RemoteCall,
    args: Mapping[str, Any],
    where: str,
    *,
    sweeps: bool = False,
    result: str = "df",
) -> str:
    """Return the run as a Python program with exactly these values, or variables of the notebook."""
    call = function.code(args, sweeps=sweeps, result=result)
    return f"import jupyter_funcs as jf\n\nfuncs = {connection(where, _options(function))}\n{call}"


def _options(function: RemoteCall) -> Values:
    return function.session.remote.transport.connection.options


def connection(where: str, options: Values = MappingProxyType({})) -> str:
    """Return the code of a session, which needs no variable."""
    given = (
        where if where.startswith("[") else repr(where)
    )  # functions given in Python are in brackets, as in code
    more = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"jf.connect({given}{more})" if where else "jf.connect()"


def curl(function: RemoteCall, args: Values) -> str:
    """Return the run as a command for a POSIX shell, which reads the token from the environment; or an empty text."""
    session = function.session
    own = session.remote.transport.connection
    source = session.remote.source
    sent = source.request(function.function, dict(args))
    if isinstance(source, ServiceSource):
        url = (session.address or _NO_ADDRESS).rstrip("/") + RUN_PATH
        headers = {"Content-Type": "application/json", **source.headers}
        sent = {
            "method": "POST",
            "url": url,
            "credentials": listed_places(own),
            "headers": headers,
            "body": sent,
        }
    if "url" not in sent or function.options.pages:
        return ""
    url = shlex.quote(sent["url"])
    options = []
    for credential in sent.get("credentials", ()):
        name, prefix, variable = (
            credential["name"],
            credential["prefix"],
            f"${credential['variable']}",
        )
        match credential["in"]:
            case "query":
                separator = "&" if "?" in sent["url"] else "?"
                url += shlex.quote(f"{separator}{escaped(name)}=") + f'"{variable}"'
            case "cookie":
                options.append(f'-b {shlex.quote(f"{name}=")}"{variable}"')
            case _ if prefix == BASIC:
                options.append(f'-u "{variable}"')
            case _:
                header = f"{name}: {prefix}"
                # A document may name any header, also one with a $.
                is_plain = _PLAIN_HEADER.fullmatch(header)
                options.append(
                    f'-H "{header}{variable}"'
                    if is_plain
                    else f'-H {shlex.quote(header)}"{variable}"'
                )
    command = [f"curl -X {sent['method']} {url}", *options]
    command += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in sent["headers"].items()]
    if "body" in sent:
        body = sent["body"]
        kind = sent["headers"]["Content-Type"]
        if not JSON_BODY.fullmatch(kind):
            if not isinstance(body, str):  # it has files
                return ""
            command.append(f"{'-d' if 'form' in kind else '--data-raw'} {shlex.quote(body)}")
        else:
            command.append(f"-d {shlex.quote(json_text(body))}")
    return _SERVE * (not session.address) + " \\\n  ".join(command)


def _address(function: RemoteCall) -> str:
    """Return the slug, or the id if the slug belongs to another function; and the option for all pages."""
    catalog = function.session.listed
    found = catalog.peek(function.slug) if catalog is not None else function.function
    # After a refresh, the catalog holds the same function as another object.
    same = found is not None and (found.id, found.name) == (
        function.function.id,
        function.function.name,
    )
    name = function.slug if same else str(function.function.id)
    return f"{name} --all" if function.options.pages else name


def _magic_name(function: RemoteCall, name: str) -> str:
    return (
        name
        if _PLAIN_NAME.fullmatch(name)
        else function.python_names.get(name) or in_double_quotes(name)
    )


def _magic_value(field: Field, value: Any) -> str:
    """Return a value as a line has it; an object is a variable, named as its parameter is in Python."""
    try:
        value = plain(value)
    except TypeError:
        return f"${field.identifier}"
    if isinstance(value, list):
        return f"[{', '.join(map(json_text, value))}]"
    text = entry_of(field, value)
    return text if _BARE.fullmatch(text) else in_double_quotes(text)

"""A run or a sweep as text to paste: a magic, a Python program, a shell command. None of them contains a token."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode
from urllib.parse import quote as escaped

from jupyter_funcs.catalog.fields import fields_named
from jupyter_funcs.catalog.values import Each, Variable, entry_of, first_of
from jupyter_funcs.connection.replies import RUN_PATH
from jupyter_funcs.connection.secrets import redacted_values
from jupyter_funcs.connection.tokens import BASIC
from jupyter_funcs.core.errors import ArgumentError, FuncsError
from jupyter_funcs.core.json_decoding import as_list
from jupyter_funcs.core.line import LETTER_ESCAPE, Entered, in_double_quotes
from jupyter_funcs.core.text import json_text, plain, quote, recorded
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
    args = form.args
    if (many := sum(len(args.get(name, ())) for name in form.swept)) > _MOST_VALUES:
        note = f"{many:,} values are too many to write out. Keep them in a variable of the notebook."
        return [{"name": "python", "code": f"# {note}", "note": ""}]

    sweeps = bool(form.swept)
    command = "call"
    about = "a shell; the token comes from the environment"
    if sweeps:
        command = "sweep"
        about = "the first of the runs, in a shell"

    shown = []
    # %funcs connect supports neither.
    if not (where.startswith("[") or _options(function)):
        code = magic(function, args, command, result)
        note = "a line of a notebook"
        if where:
            note += f", after %funcs connect {where}"
        shown.append({"name": "magic", "code": code, "note": note})

    program = python(
        function, args | _variables(form), where, sweeps=sweeps, result=result
    )
    shown.append({"name": "python", "code": program, "note": "a script or a notebook"})
    with suppress(FuncsError):  # values that make no valid request
        if code := curl(function, form.first):  # a run is a single HTTP request
            shown.append({"name": "curl", "code": code, "note": about})

    return shown


def _variables(form: Form) -> dict[str, Any]:
    """Return the variables that a form holds, each as the only value of its field."""
    variables = {}
    for name, entry in form.entries.items():
        value = entry
        if isinstance(entry, Each) and len(entry) == 1:
            value = first_of(entry)
        if isinstance(value, Variable) and value.name.isidentifier():
            variables[name] = value

    return variables


def magic(
    function: RemoteCall, args: Values, command: str = "call", result: str = "df"
) -> str:
    """Return the run as ``%funcs call``, or as a cell with a JSON body if a value doesn't fit into a line."""
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
    text = " ".join([_address(function), *words])
    if text.isprintable() and not LETTER_ESCAPE.search(text):
        return text
    return ""


def link(function: RemoteCall, args: Values) -> str:
    """Return a form as ``?funcs=NAME&k=v``, without the secrets of this process; a list repeats its name."""
    fields = fields_named(function.fields, args)
    pairs = [("funcs", function.name)]
    for name, value in redacted_values(dict(args)).items():
        pairs += [(name, entry_of(fields[name], item)) for item in as_list(value)]
    return f"?{urlencode(pairs)}"


def linked(text: str) -> tuple[str, dict[str, Any]]:
    """
    Return the function's name and the values of a link, or of the query of an address that ends with one.

    Raises
    ------
    ArgumentError
        It names no function.
    """
    pairs = parse_qsl(text.partition("#")[0].rpartition("?")[2], keep_blank_values=True)
    names = [name for name, _ in pairs]
    if "funcs" not in names:
        raise ArgumentError(
            f"{quote(text)} isn't a link to a function.",
            "Copy link, in the panel's ⋯ menu, makes one: ?funcs=NAME&k=v.",
        )

    start = names.index("funcs")
    values: dict[str, Any] = {}
    for name, value in pairs[start + 1 :]:
        values.setdefault(name, []).append(Entered(value))
    return pairs[start][1], {
        name: texts if len(texts) > 1 else texts[0] for name, texts in values.items()
    }


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
    # Functions that were passed in Python are in brackets, as in code.
    if not where:
        return "jf.connect()"
    code = where
    if not where.startswith("["):
        code = repr(where)
    more = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"jf.connect({code}{more})"


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
        if credential["in"] == "query":
            separator = "?"
            if "?" in sent["url"]:
                separator = "&"
            url += shlex.quote(f"{separator}{escaped(credential['name'])}=")
            url += f'"${credential["variable"]}"'
        else:
            options.append(_secret_option(credential))

    command = [f"curl -X {sent['method']} {url}", *options]
    command += [
        f"-H {shlex.quote(f'{name}: {value}')}"
        for name, value in sent["headers"].items()
    ]
    if "body" in sent:
        body = _body_option(sent["body"], sent["headers"]["Content-Type"])
        if not body:
            return ""
        command.append(body)

    text = " \\\n  ".join(command)
    if session.address:
        return text
    return _SERVE + text


def _secret_option(credential: Values) -> str:
    name = credential["name"]
    prefix = credential["prefix"]
    variable = f'${credential["variable"]}"'
    if credential["in"] == "cookie":
        return f'-b {shlex.quote(f"{name}=")}"{variable}'
    if prefix == BASIC:
        return f'-u "{variable}'
    header = f"{name}: {prefix}"
    if _PLAIN_HEADER.fullmatch(header):
        return f'-H "{header}{variable}'
    return (
        # A document may name any header, also one with a $
        f'-H {shlex.quote(header)}"{variable}'
    )


def _body_option(body: Any, kind: str) -> str:
    """Return the option for a body; empty if it has files."""
    if JSON_BODY.fullmatch(kind):
        return f"-d {shlex.quote(json_text(body))}"
    if not isinstance(body, str):
        return ""
    if "form" in kind:
        return f"-d {shlex.quote(body)}"
    return f"--data-raw {shlex.quote(body)}"


def _address(function: RemoteCall) -> str:
    """Return the slug, or the id if the slug belongs to another function; and the option for all pages."""
    own = function.function
    catalog = function.session.listed
    other = catalog and catalog.peek(function.slug)
    name = str(own.id)
    # After a refresh, the catalog holds the same function as another object.
    if catalog is None or (other and other.id == own.id and other.name == own.name):
        name = function.slug
    if function.options.pages:
        name += " --all"
    return name


def _magic_name(function: RemoteCall, name: str) -> str:
    if _PLAIN_NAME.fullmatch(name):
        return name
    return function.python_names.get(name) or in_double_quotes(name)


def _magic_value(field: Field, value: Any) -> str:
    """Return a value as a line has it; an object is a variable, named as its parameter is in Python."""
    try:
        value = plain(value)
    except TypeError:
        return f"${field.identifier}"

    if isinstance(value, list):
        return f"[{', '.join(map(json_text, value))}]"
    text = entry_of(field, value)
    if _BARE.fullmatch(text):
        return text
    return in_double_quotes(text)

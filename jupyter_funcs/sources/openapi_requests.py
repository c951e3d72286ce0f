"""The request that runs an operation of an OpenAPI document."""

from __future__ import annotations

import asyncio
import json
import re
import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote as quote_url

from jupyter_funcs.catalog.schemas import text_of
from jupyter_funcs.connection.http import Request
from jupyter_funcs.connection.profiles import Connection, same_origin
from jupyter_funcs.connection.replies import Reply, error_text
from jupyter_funcs.connection.retries import parse_retry_after
from jupyter_funcs.core.background import loop_time
from jupyter_funcs.core.errors import ArgumentError, ConfigError, DeadlineError, FunctionError
from jupyter_funcs.core.json_decoding import only, read_object
from jupyter_funcs.core.text import folded, quote, spellings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.catalog.listing import Function
    from jupyter_funcs.core.errors import Messages
    from jupyter_funcs.core.json_decoding import Values

FORM_BODY = "application/x-www-form-urlencoded"
PLACE = re.compile(r"\{\+?([^{}]*)\}")  # with a plus, as in RFC 6570, its value may be several steps of the path
_IN_COOKIES = "!#$&'()*+/:<=>?@[]^`{|}"  # a server may not decode the value of a cookie
_OF_BODY = {"Content-Type", "Content-Length"}
_RUNNING = {
    *("accepted", "created", "notstarted", "pending", "queued", "waiting", "submitted", "started", "running"),
    *("inprogress", "processing", "creating", "updating", "deleting", "provisioning"),
}
_FAILED = {"failed", "failure", "error", "canceled", "cancelled", "aborted", "rejected"}
_MAX_STATUS = 64 * 1024  # bytes of a reply that says how far an operation is
_MIN_PAUSE, _MAX_PAUSE = 0.2, 10.0  # seconds between two such requests, if the server doesn't say more
DELIMITERS = {"pipeDelimited": "%7C", "spaceDelimited": "%20", "tabDelimited": "%09"}  # the last one of Swagger 2.0


def request_of(function: Function, args: Args, connection: Connection) -> Request:
    """Return the request that runs an operation; it goes nowhere but to the connection's own servers."""
    context = function.context
    places = {param.name: param.context for param in function.params}
    path: dict[str, str] = {}
    query: list[str] = []
    headers: dict[str, str] = {"Accept": context["accept"]}
    cookies: list[str] = []
    body: Any = {}
    form: list[str] = []
    for name, value in args.items():
        where = places[name]
        if where["in"] == "body":
            body = value if where.get("whole") else {**body, where["name"]: value}
            form += _query(where, value) if context["content_type"] == FORM_BODY else []
        elif where["in"] == "query":
            query += _query(where, value)
        elif where["in"] == "path":
            is_reserved = f"{{+{where['name']}}}" in context["path"]
            path[where["name"]] = _joined(where, value, _several if is_reserved else escaped)
        elif where["in"] == "cookie":
            cookies.append(f"{where['name']}={_joined(where, value, partial(escaped, safe=_IN_COOKIES))}")
        else:
            headers[where["name"]] = _header(name, _joined(where, value))
    if cookies:
        headers["Cookie"] = "; ".join(cookies)
    url = context["server"] + _filled(context["path"], path) + "?" * bool(query) + "&".join(query)
    if not may_ask(connection, url):
        raise ConfigError(
            f"{function.name} runs on another server than {connection.name}.", "List the functions again."
        )
    data = None
    if context["content_type"] and (context["needs_body"] or body != {}):
        headers["Content-Type"] = kind = (
            "application/json" if "*" in context["content_type"] else context["content_type"]
        )
        try:
            data = ("&".join(form) if kind == FORM_BODY else json.dumps(body, allow_nan=False)).encode()
        except ValueError:
            raise ArgumentError("JSON has no NaN and no infinity.", "Leave the value out.") from None
    return Request(context["method"], url, data, headers, context["token_header"], is_operation=True)


def at_parameters(errors: Messages, function: Function) -> Messages:
    """Return what a server says of its own names at the parameters; of a part of one, with the path of the part."""
    params = {param.name: param.context for param in function.params}
    names = spellings(params) | {context["name"]: name for name, context in params.items()}
    whole = next((name for name, context in params.items() if context.get("whole")), "")
    placed: Messages = {}
    for path, texts in errors.items():
        parts = path.split(".")
        begins = {".".join(parts[:end]): ".".join(parts[end:]) for end in range(len(parts), 0, -1)}
        spelt = {**begins, parts[-1]: ""}
        own = {names.get(part) or names.get(folded(part), ""): rest for part, rest in spelt.items()}
        own.pop("", None)
        name, rest = next(iter(own.items()), (whole or path, path if whole and path != whole else ""))
        placed.setdefault(name, []).extend(f"{rest}: {text}" if rest else text for text in texts)
    return placed


class Place(NamedTuple):
    """Where to ask next for the result of an accepted operation; nowhere if there is no link."""

    link: str = ""
    is_monitor: bool = False
    """Whether it says how far the operation is."""
    has_status: bool = False
    """Whether it does so in its body, as that of an ``Operation-Location``."""
    result: str = ""
    """Where the result is at last, if that is another place."""


def awaiting(request: Request) -> Request:
    """Return a request for what an operation leads to, with its headers but for those of a body."""
    headers = {name: text for name, text in request.headers.items() if name not in _OF_BODY}
    return request._replace(method="GET", body=None, headers=headers)


def place_after(reply: Reply, last: Place, method: str, url: str) -> Place:
    """Return where to ask after a reply of a URL; nowhere if it is the result."""
    headers = reply.headers
    location = headers.get("location", "")
    has_pause = "retry-after" in headers
    if headers.get(":status") == "303":
        return Place(location)
    if headers.get(":status") == "202":
        status = headers.get("operation-location") or headers.get("azure-asyncoperation", "")
        again = last.is_monitor or (method == "GET" and has_pause)
        link = status or location or (url if again else "")
        has_status = bool(status) or last.has_status
        return Place(link, bool(link), has_status, location if status else last.result)
    if not last.is_monitor or not (last.has_status or has_pause) or len(reply.data) > _MAX_STATUS:
        return Place()
    body = read_object(reply.data)
    state = folded(str(body.get("status") or body.get("state")))
    if state in _RUNNING:
        return last._replace(link=url)
    if not last.has_status:
        return Place()
    if state in _FAILED:
        raise FunctionError(error_text(reply.data) or f"It ended as {state}.")
    return Place(only(str, body.get("resourceLocation")) or last.result)


async def pause_before(reply: Reply, number: int, until: float) -> None:
    """Wait as long as a reply says, else longer each time."""
    asked = parse_retry_after(reply.headers, time.time())
    pause = min(_MAX_PAUSE, _MIN_PAUSE * 1.5**number) if asked is None else asked
    if pause > until - loop_time():
        what = f"The server says to wait {pause:,.0f} s, which is longer than the run may take."
        raise DeadlineError(what, "Allow more with with_options(timeout=…), and run it again if that is safe.")
    await asyncio.sleep(max(_MIN_PAUSE, pause))


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Return a path with its values, none of which may change where the path leads."""
    parts = PLACE.split(template)  # every second one is a name
    path = "".join(
        values.get(part, "") if at % 2 else escaped(part, "/:@!$&'()*+,;=%") for at, part in enumerate(parts)
    )
    name = next((name for name in parts[1::2] if values.get(name, "") in {"", ".", ".."}), None)
    if name is not None or {".", ".."} & set(path.split("/")):
        name = name or "path"
        text = f"{name} does not take {quote(values.get(name, ''))}: it is a part of the address."
        raise ArgumentError(text, errors={name: [text]})
    return path


def _query(where: Values, value: Any) -> list[str]:
    name, is_plain = where["name"], where["json"] or not isinstance(value, (list, dict))
    is_deep = where["style"] == "deepObject" and isinstance(value, dict)
    if is_plain or not (is_deep or where["explode"]):
        return [f"{escaped(name)}={_joined(where, value, escaped)}"]
    pairs = value.items() if isinstance(value, dict) else [(name, one) for one in value]
    # A list within an object has no style of its own; with commas, servers read it most often.
    texts = [
        (key, _joined(where, one, escaped) if isinstance(one, list) else escaped(text_of(one))) for key, one in pairs
    ]
    return [f"{escaped(f'{name}[{key}]' if is_deep else key)}={text}" for key, text in texts]


def _joined(where: Values, value: Any, escape: Callable[[str], str] = str) -> str:
    """Return a value as one text, of several values joined as their style says."""
    if where["json"] or not isinstance(value, (list, dict)):
        return escape(json.dumps(value) if where["json"] else text_of(value))
    if isinstance(value, dict) and where["explode"]:
        return ",".join(f"{escape(key)}={escape(text_of(one))}" for key, one in value.items())
    several = value if isinstance(value, list) else [part for pair in value.items() for part in pair]
    return DELIMITERS.get(where["style"], ",").join(escape(text_of(one)) for one in several)


def _header(name: str, text: str) -> str:
    if not all(" " <= char <= "~" or "\xa0" <= char <= "\xff" for char in text):
        said = f"{name} does not take {quote(text)}: a header has no line breaks, and Latin-1 letters only."
        raise ArgumentError(said, errors={name: [said]})
    return text.strip()


def _several(text: str) -> str:
    return escaped(text, "/:@!$&'()*+,;=")


def escaped(text: str, safe: str = "") -> str:
    return quote_url(text, safe=safe, errors="replace")


def may_ask(connection: Connection, url: str) -> bool:
    return any(one and same_origin(url, one) for one in (connection.base_url, connection.allow_server))

"""The request that runs an operation of an OpenAPI document."""

from __future__ import annotations

import asyncio
import json
import re
import time
from contextlib import contextmanager
from functools import partial
from itertools import chain
from mimetypes import guess_type
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote as quote_url

from jupyter_funcs.catalog.listing import Encoding
from jupyter_funcs.catalog.schemas import text_of
from jupyter_funcs.connection.error_bodies import error_text
from jupyter_funcs.connection.http import Request
from jupyter_funcs.connection.retries import parse_retry_after
from jupyter_funcs.core.background import loop_time
from jupyter_funcs.core.errors import (
    ArgumentError,
    ConfigError,
    DeadlineError,
    FunctionError,
)
from jupyter_funcs.core.json_decoding import as_list, only, read_object
from jupyter_funcs.core.text import folded, quote, spellings
from jupyter_funcs.sources.openapi_servers import credentials_of, may_ask

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.catalog.listing import Function, Param
    from jupyter_funcs.connection.profiles import Connection
    from jupyter_funcs.connection.replies import Reply
    from jupyter_funcs.core.errors import Messages
    from jupyter_funcs.core.json_decoding import Values

FORM_BODY = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
BOUNDARY = "; boundary="
MEDIA_TYPE = re.compile(r"[\w.+*-]+/[\w.+*-]+(?: *;[ -~]*)?", re.ASCII)
JSON_BODY = re.compile(
    r"(?:\*|text|application)/(?:\*|(?:[\w.+-]+\+)?json)(?: *;[ -~]*)?",
    re.IGNORECASE | re.ASCII,
)
TEXT_BODY = re.compile(
    r"text/[^;]*|[^;]*[/+-](?:xml|yaml|ndjson|graphql|sql|urlencoded)\b.*",
    re.IGNORECASE,
)
_PIECE = 2**18  # bytes of a file that are read at once
# With a plus, as in RFC 6570, its value may be several steps of the path.
PATH_VARIABLE = re.compile(r"\{\+?([^{}]*)\}")
_IN_COOKIES = "!#$&'()*+/:<=>?@[]^`{|}"  # a server may not decode the value of a cookie
_IN_PATHS = "/:@!$&'()*+,;="
_OF_BODY = {"Content-Type", "Content-Length"}
_RUNNING = {
    "accepted",
    "created",
    "notstarted",
    "pending",
    "queued",
    "waiting",
    "submitted",
    "started",
    "running",
    "inprogress",
    "processing",
    "creating",
    "updating",
    "deleting",
    "provisioning",
}
_FAILED = {"failed", "failure", "error", "canceled", "cancelled", "aborted", "rejected"}
_MAX_STATUS = 64 * 1024  # bytes of a reply that says how far an operation is
# Seconds between two such requests, if the server doesn't say more.
_MIN_PAUSE = 0.2
_MAX_PAUSE = 10.0
# The last one of Swagger 2.0.
DELIMITERS = {
    "pipeDelimited": "%7C",
    "spaceDelimited": "%20",
    "tabDelimited": "%09",
}


def request_of(function: Function, args: Args, connection: Connection) -> Request:
    """Return the request that runs an operation; it goes nowhere but to the connection's own servers."""
    context = function.context
    path = {}
    query = []
    headers = {"Accept": context["accept"]}
    filled = []
    for param, value in _sent(function, args):
        where = param.context
        place = where["in"]
        own_name = where["name"]
        if place == "body":
            filled.append((param, value))
        elif place == "query":
            query += _query(where, value)
        elif place == "path":
            escape = _escape_of(own_name, context["path"])
            path[own_name] = _joined(where, value, escape)
        elif place == "cookie":
            text = _joined(where, value, partial(escaped, safe=_IN_COOKIES))
            cookies = [headers.get("Cookie"), f"{own_name}={text}"]
            headers["Cookie"] = "; ".join(filter(None, cookies))
        else:
            headers[own_name] = _header(param.name, _joined(where, value))

    url = context["server"] + _filled(context["path"], path)
    url = "?".join(filter(None, [url, "&".join(query)]))
    if not may_ask(connection, url):
        raise ConfigError(
            f"{function.name} runs on another server than {connection.name}.",
            "List the functions again.",
        )

    data: bytes | Upload | None = None
    if context["content_type"] and (context["needs_body"] or filled):
        data, headers["Content-Type"] = _encoded(context["content_type"], filled)
        if isinstance(data, Upload):
            headers["Content-Length"] = str(data.size)

    credentials = credentials_of(connection, context["security"], url)
    return Request(
        context["method"], url, data, headers, credentials, is_operation=True
    )


def _sent(function: Function, args: Args) -> Iterator[tuple[Param, Any]]:
    """Yield what is sent: an address and a form have no null."""
    params = {param.name: param for param in function.params}
    is_json = JSON_BODY.fullmatch(function.context["content_type"])
    for name, value in args.items():
        where = params[name].context
        has_null = where.get("json") or (where["in"] == "body" and is_json)
        if value is not None or has_null:
            yield params[name], value


def _escape_of(name: str, path: str) -> Callable[[str], str]:
    """Return what escapes a value of a path; in ``{+name}`` it may have several parts."""
    if f"{{+{name}}}" in path:
        return partial(escaped, safe=_IN_PATHS)
    return escaped


def at_parameters(errors: Messages, function: Function) -> Messages:
    """Return what a server says of its own names at the parameters; of a part of one, with the path of the part."""
    params = {param.name: param.context for param in function.params}
    names = spellings(params) | {
        context["name"]: name for name, context in params.items()
    }
    whole = next((name for name, context in params.items() if context.get("whole")), "")
    placed: Messages = {}
    for path, texts in errors.items():
        name, rest = _parameter_at(path, names)
        if not name and whole and path != whole:
            name = whole
            rest = path
        about = rest and f"{rest}: "
        placed.setdefault(name or path, []).extend(f"{about}{text}" for text in texts)

    return placed


def _parameter_at(path: str, names: Mapping[str, str]) -> tuple[str, str]:
    """Return the parameter that a path begins or ends with, and the rest of the path; empty if there is none."""
    parts = path.split(".")
    begins = {
        ".".join(parts[:end]): ".".join(parts[end:]) for end in range(len(parts), 0, -1)
    }
    for part, rest in {**begins, parts[-1]: ""}.items():
        if name := names.get(part) or names.get(folded(part)):
            return name, rest

    return "", ""


def body_rank(kind: str) -> int:
    """Return a number for a media type of bodies, lower for those that a form fills in better."""
    fits = (
        JSON_BODY.fullmatch(kind),
        kind == MULTIPART,
        kind == FORM_BODY,
        TEXT_BODY.fullmatch(kind),
    )
    return next((rank for rank, fit in enumerate(fits) if fit), len(fits))


def _encoded(
    kind: str, filled: Sequence[tuple[Param, Any]]
) -> tuple[bytes | Upload, str]:
    """Return a body as it is sent, and its media type."""
    for param, value in filled:
        if param.context.get("whole"):
            return _whole(kind, param, value)

    if kind == MULTIPART:
        boundary = token_hex(16)
        return _form_data(filled, boundary), f"{kind}{BOUNDARY}{boundary}"
    if JSON_BODY.fullmatch(kind):
        body = {param.context["name"]: value for param, value in filled}
        return _json(body), _instead(kind, "application/json")
    pairs = chain.from_iterable(_query(param.context, value) for param, value in filled)
    return "&".join(pairs).encode(), kind


def _whole(kind: str, param: Param, value: Any) -> tuple[bytes | Upload, str]:
    """Return a body that is one value, and its media type."""
    if param.encoding is Encoding.FILE:
        file = _part(param, value)
        upload = Upload()
        upload.shown = upload.add(file.content)
        return upload, _instead(kind, file.media_type)

    if JSON_BODY.fullmatch(kind):
        return _json(value), _instead(kind, "application/json")
    text = str(value)
    if not text.isascii() and ";" not in kind:
        kind = f"{kind}; charset=utf-8"
    return text.encode(), kind


def _instead(kind: str, own: str) -> str:
    """Return a media type, or one of our own where it has a wildcard."""
    if "*" in kind:
        return own
    return kind


def _json(body: Any) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except ValueError:
        raise ArgumentError(
            "JSON has no NaN and no infinity.", "Leave the value out."
        ) from None


class _Part(NamedTuple):
    """A value of a body as it is sent: text, or a file."""

    name: str
    content: Any
    media_type: str
    is_file: bool


def _part(param: Param, value: Any) -> _Part:
    name = param.context["name"]
    media_type = param.context.get("media_type", "")
    if param.encoding is Encoding.FILE:
        media_type = (
            media_type or guess_type(str(value))[0] or "application/octet-stream"
        )
        if not isinstance(value, bytes):
            value = Path(value).expanduser()
        return _Part(name, value, media_type, is_file=True)

    text = text_of(value)
    if isinstance(value, dict | list):
        text = json.dumps(value)
        media_type = media_type or "application/json"

    return _Part(name, text.encode(), media_type, is_file=False)


def _form_data(filled: Sequence[tuple[Param, Any]], boundary: str) -> Upload:
    parts = [_part(param, item) for param, value in filled for item in as_list(value)]
    upload = Upload()
    shown: dict[str, list[Any]] = {}
    for part in parts:
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{_in_quotes(part.name)}"'
        if part.is_file:
            head += (
                f'; filename="{_in_quotes(getattr(part.content, "name", part.name))}"'
            )
        if part.media_type:
            head += f"\r\nContent-Type: {part.media_type}"
        upload.add(f"{head}\r\n\r\n".encode(errors="replace"))
        about = upload.add(part.content)
        if not part.is_file:
            about = part.content.decode()
        shown.setdefault(part.name, []).append(about)
        upload.add(b"\r\n")

    upload.add(f"--{boundary}--\r\n".encode())
    upload.shown = {
        name: several[0] if len(several) == 1 else several
        for name, several in shown.items()
    }
    return upload


def _in_quotes(name: str) -> str:
    return name.translate({ord('"'): "%22", ord("\r"): "%0D", ord("\n"): "%0A"})


class Upload:
    """A body with files, which are read while it is sent and again if it is sent again; `shown` has no content."""

    def __init__(self) -> None:
        self.size = 0
        self.shown: Any = None
        self._contents: list[tuple[bytes | Path, int]] = []

    def add(self, content: bytes | Path) -> Any:
        """Add text or a file; return what is shown of it."""
        shown = {}
        if isinstance(content, bytes):
            size = len(content)
        else:
            shown["file"] = str(content)
            with _readable(content):
                size = content.stat().st_size

        self._contents.append((content, size))
        self.size += size
        return {**shown, "size": size}

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for content, size in self._contents:
            if isinstance(content, bytes):
                yield content
                continue
            left = size
            with (
                _readable(content),
                await asyncio.to_thread(content.open, "rb") as file,
            ):
                while left and (
                    piece := await asyncio.to_thread(file.read, min(left, _PIECE))
                ):
                    left -= len(piece)
                    yield piece
            if left:
                raise ArgumentError(
                    f"{quote(content)} became shorter while it was sent.",
                    "Run it again.",
                )


@contextmanager
def _readable(content: bytes | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ArgumentError(
            f"{quote(content)} can't be read: {error.strerror}."
        ) from None


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
    headers = {
        name: text for name, text in request.headers.items() if name not in _OF_BODY
    }
    return request._replace(method="GET", body=None, headers=headers)


def place_after(reply: Reply, last: Place, method: str, url: str) -> Place:
    """Return where to ask after a reply of a URL; nowhere if it is the result."""
    headers = reply.headers
    location = headers.get("location", "")
    has_pause = "retry-after" in headers
    if headers.get(":status") == "303":
        return Place(location)
    if headers.get(":status") == "202":
        status = headers.get("operation-location") or headers.get(
            "azure-asyncoperation", ""
        )
        link = status or location
        if not link and (last.is_monitor or (method == "GET" and has_pause)):
            link = url
        if status:
            return Place(link, is_monitor=True, has_status=True, result=location)
        return last._replace(link=link, is_monitor=bool(link))

    return _place_by_status(reply, last, url)


def _place_by_status(reply: Reply, last: Place, url: str) -> Place:
    """Return where to ask after a reply that may say in its body how far the operation is."""
    has_pause = "retry-after" in reply.headers
    if (
        not last.is_monitor
        or not (last.has_status or has_pause)
        or len(reply.data) > _MAX_STATUS
    ):
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
    pause = parse_retry_after(reply.headers, time.time())
    if pause is None:
        pause = min(_MAX_PAUSE, _MIN_PAUSE * 1.5**number)
    if pause > until - loop_time():
        raise DeadlineError(
            f"The server says to wait {pause:,.0f} s, which is longer than the run may take.",
            "Allow more with with_options(timeout=…), and run it again if that is safe.",
        )

    await asyncio.sleep(max(_MIN_PAUSE, pause))


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Return a path with its values, none of which may change where the path leads."""
    parts = PATH_VARIABLE.split(template)  # every second one is a name
    names = parts[1::2]
    parts[::2] = [escaped(part, f"{_IN_PATHS}%") for part in parts[::2]]
    parts[1::2] = [values.get(name, "") for name in names]
    path = "".join(parts)
    wrong = [name for name in names if values.get(name, "") in {"", ".", ".."}]
    if wrong or {".", ".."} & set(path.split("/")):
        name = [*wrong, ""][0] or "path"
        text = f"{name} does not take {quote(values.get(name, ''))}: it is a part of the address."
        raise ArgumentError(text, errors={name: [text]})

    return path


def _query(where: Values, value: Any) -> list[str]:
    name = where["name"]
    is_plain = where["json"] or not isinstance(value, (list, dict))
    is_deep = where["style"] == "deepObject"
    if is_plain or not (is_deep or where["explode"]):
        return [f"{escaped(name)}={_joined(where, value, escaped)}"]
    if is_deep:
        pairs = _deep(name, value, has_commas=where["in"] == "query")
    elif isinstance(value, dict):
        pairs = iter(value.items())
    else:
        pairs = ((name, item) for item in value)

    sent = []
    for key, item in pairs:
        if item is None and isinstance(value, dict):
            continue
        text = escaped(text_of(item))
        # A list within an object has no style of its own; with commas, servers read it most often.
        if isinstance(item, list):
            text = _joined(where, item, escaped)
        sent.append(f"{escaped(key)}={text}")

    return sent


def _deep(name: str, value: Any, *, has_commas: bool) -> Iterator[tuple[str, Any]]:
    """Yield the parts of objects and lists with their names in brackets; in a query, a list of texts is one part."""
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in parts:
        inner = only(list, part)
        is_deep = any(isinstance(item, (list, dict)) for item in inner)
        if isinstance(part, dict) or is_deep or (inner and not has_commas):
            yield from _deep(f"{name}[{key}]", part, has_commas=has_commas)
        else:
            yield f"{name}[{key}]", part


def _joined(where: Values, value: Any, escape: Callable[[str], str] = str) -> str:
    """Return a value as one text, of several values joined as their style says."""
    if where["json"]:
        return escape(json.dumps(value))
    if not isinstance(value, (list, dict)):
        return escape(text_of(value))
    if isinstance(value, dict) and where["explode"]:
        return ",".join(
            f"{escape(key)}={escape(text_of(item))}" for key, item in value.items()
        )

    several = value
    if not isinstance(value, list):
        several = [part for pair in value.items() for part in pair]
    return DELIMITERS.get(where["style"], ",").join(
        escape(text_of(item)) for item in several
    )


def _header(name: str, text: str) -> str:
    if not all(" " <= char <= "~" or "\xa0" <= char <= "\xff" for char in text):
        why = f"{name} does not take {quote(text)}: a header has no line breaks, and Latin-1 letters only."
        raise ArgumentError(why, errors={name: [why]})
    return text.strip()


def escaped(text: str, safe: str = "") -> str:
    return quote_url(text, safe=safe, errors="replace")

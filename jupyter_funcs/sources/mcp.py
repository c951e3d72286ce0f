"""The tools of an MCP server as a source: each is a function, run by the protocol's official SDK."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_funcs.catalog.changes import drift
from jupyter_funcs.catalog.listing import (
    Catalog,
    Encoding,
    Function,
    Param,
    ReadCatalog,
)
from jupyter_funcs.catalog.schemas import definitions_of
from jupyter_funcs.connection.http import Request
from jupyter_funcs.connection.login import ServerLogin
from jupyter_funcs.connection.profiles import command_environment
from jupyter_funcs.connection.replies import Failure, Reply, too_large
from jupyter_funcs.connection.retries import Proof
from jupyter_funcs.connection.secrets import redacted_line
from jupyter_funcs.core import json_decoding
from jupyter_funcs.core.errors import (
    ArgumentError,
    ConfigError,
    FuncsError,
    FunctionError,
    NotFoundError,
    ProtocolError,
)
from jupyter_funcs.core.json_decoding import JsonObject, only, texts_in
from jupyter_funcs.core.text import folded, quote, replace_surrogates, size_text, some
from jupyter_funcs.core.warn import collect_warnings, warn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.connection.login import Redirect
    from jupyter_funcs.connection.transport import Terms, Transport
    from jupyter_funcs.core.background import Progress
    from jupyter_funcs.sources.mcp_connection import Ask, Link

T = TypeVar("T")

_MOST_TOOLS = 10_000
_MOST_PAGES = 1000
_MAX_LISTING = 64 * 2**20  # bytes
_MOST_NAMES = 5  # of tools left out, in one warning
_COMBINING = {"anyOf", "oneOf", "allOf", "$ref"}
_IN_WORDS = {"text", "resource_link"}  # blocks that are no files
_OF_A_LINK = ("name", "title", "uri", "description", "mimeType", "size")
# The parameter of a tool that doesn't declare its arguments one by one.
_WHOLE = "arguments"


class McpSource:
    """The tools of an MCP server: of a command, or at an address."""

    kind = "mcp"

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        token = transport.connection.token
        if isinstance(token, ServerLogin):
            token.fetch = self._fetch_token
        self._link: Link | None = None
        self._started_in = ""  # what `_surroundings` were when the link was made

    async def listing(self, terms: Terms, progress: Progress) -> ReadCatalog:
        link = None
        listed = b""
        if terms.kept is None or terms.kept.why is None:
            link, listed = await self._repeat(_list, terms, progress)
        # Only now, because the server may have rejected the secret before this one.
        secrets = [await self._transport.secret()]
        reply = Reply(listed, secrets, lines=False)
        if terms.kept:
            request = Request(
                "tools/list", self._transport.connection.base_url, self.identity()
            )
            answer = await terms.kept.send(request, secrets, partial(_received, reply))
            if isinstance(answer, Failure):
                raise answer.error
            reply = answer

        return partial(
            reply.read, partial(_read, link, self._transport.connection.name)
        )

    async def run(
        self, function: Function, args: Args, terms: Terms, progress: Progress
    ) -> Reply:
        arguments = self.request(function, args)["params"]["arguments"]
        data, media_type = await self._repeat(
            partial(_call, function, arguments, progress), terms, progress
        )
        progress.received = len(data)
        if len(data) > terms.max_bytes:
            raise too_large(terms.max_bytes)
        return Reply(
            data, [await self._transport.secret()], lines=False, media_type=media_type
        )

    def request(self, function: Function, args: Args) -> JsonObject:
        arguments = args
        if function.context == _WHOLE:
            arguments = args.get(_WHOLE, {})
        # A half of a surrogate pair can't be sent, and the SDK would close the connection over it.
        arguments = json.loads(
            replace_surrogates(json.dumps(arguments, ensure_ascii=False))
        )
        return {
            "method": "tools/call",
            "params": {"name": function.name, "arguments": arguments},
        }

    def identity(self, _function: Function | None = None) -> str:
        """Return a hash of the folder and the environment in which a command runs, or would be started now."""
        if self._link and self._link.is_usable:
            return self._started_in
        return self._surroundings()

    def _surroundings(self) -> str:
        if self._transport.connection.target is None:
            return ""
        folder = ""
        with suppress(OSError):  # it was deleted
            folder = os.getcwd()  # noqa: PTH109  # as the command gets it
        variables = sorted(command_environment(self._transport.connection).items())
        return hashlib.sha256(repr([folder, variables]).encode()).hexdigest()

    async def close(self) -> None:
        link = self._link
        self._link = None
        if link:
            await link.close()
        await self._transport.close()

    @property
    def is_open(self) -> bool:
        """Whether the server has answered as one."""
        return (
            self._link is not None
            and self._link.opened.done()
            and self._link.opened.exception() is None
        )

    async def _fetch_token(
        self, kept: str, redirect: Redirect | None, client: JsonObject
    ) -> tuple[str, float, str]:
        from_sdk = await _imported()
        token: tuple[str, float, str] = await from_sdk.fetch_token(
            self._transport.connection, kept, redirect, client
        )
        return token

    async def _repeat(
        self,
        work: Callable[[Link, Ask], Awaitable[T]],
        terms: Terms,
        progress: Progress,
    ) -> T:
        """Do something with an open connection, as often as its failures allow."""
        from_sdk = await _imported()
        done = 0
        while True:
            progress.attempts += 1
            link = self._link
            if link is None or not link.is_usable:
                self._started_in = self._surroundings()
                link = self._link = from_sdk.Link(self._transport)
            try:
                return await work(link, from_sdk.Ask(terms.max_bytes))
            except from_sdk.UnansweredError as unanswered:
                failure = unanswered.failure
            again = failure.proof is Proof.NOT_SENT and not done and not link.is_usable
            seconds = terms.pause(failure, done)
            done += 1
            if seconds is None and not again:
                failure.error.attempts = done
                raise failure.error
            await asyncio.sleep(seconds or 0)


async def _imported() -> Any:
    """Import what uses the SDK, in a thread, because it takes a second."""
    name = "jupyter_funcs.sources.mcp_connection"
    try:
        return await asyncio.to_thread(import_module, name)
    except ImportError:
        raise ConfigError(
            "MCP servers need another package.", "pip install 'jupyter-funcs[mcp]'"
        ) from None


async def _list(link: Link, ask: Ask) -> tuple[Link, bytes]:
    """Return the tools of all pages, for `_read`."""
    ask.max_bytes = min(ask.max_bytes, _MAX_LISTING)
    tools = []
    cursor = None
    before = link.received
    for _ in range(_MOST_PAGES):
        cursor = await link.list_tools(cursor, ask)
        tools += ask.result.get("tools", ())
        if link.received - before > _MAX_LISTING:
            raise too_large(_MAX_LISTING)
        if cursor is None or len(tools) > _MOST_TOOLS:
            break

    listed = {"server": link.server, "tools": tools, "is_cut": cursor is not None}
    return link, (await asyncio.to_thread(json.dumps, listed)).encode()


async def _received(reply: Reply, _request: Request) -> Reply:
    return reply


def _read(link: Link | None, source: str, data: bytes) -> Catalog:
    """Return the functions of listed tools; those that can't be one are left out with one warning."""
    listed = json.loads(data)
    tools = listed["tools"]
    functions = {}
    tasks = set()
    left_out = []
    for tool in tools[:_MOST_TOOLS]:
        function = _function(tool, listed["server"])
        if function is None or function.name in functions:
            left_out.append(quote(only(dict, tool).get("name", tool), 40))
        else:
            functions[function.name] = function
            if only(dict, tool.get("execution")).get("taskSupport") == "required":
                tasks.add(function.name)

    if left_out:
        names = some(left_out, _MOST_NAMES)
        warn(
            f"Left out tools of {source} that are listed twice or have no valid name and inputSchema: {names}."
        )

    if listed["is_cut"] or len(tools) > _MOST_TOOLS:
        warn(
            f"{source} lists more tools than these {len(functions):,}; the others are left out."
        )

    if link:
        link.functions = functions
        link.tasks = tasks

    return Catalog(functions.values())


def _function(tool: Any, group: str) -> Function | None:
    tool = only(dict, tool)
    name = only(str, tool.get("name"))
    schema = tool.get("inputSchema")
    if (
        not name.strip()
        or not isinstance(schema, dict)
        or schema.get("type", "object") != "object"
    ):
        return None

    is_whole = not (
        only(dict, schema.get("properties")) or _COMBINING.isdisjoint(schema)
    )
    hints = only(dict, tool.get("annotations"))
    texts = [
        only(str, tool.get("title") or hints.get("title")),
        only(str, tool.get("description")),
    ]
    if texts[1] and folded(texts[0]) == folded(name):
        del texts[0]
    return Function(
        name=name,
        description="\n\n".join(filter(None, dict.fromkeys(texts))),
        group_name=group,
        context=_WHOLE if is_whole else None,
        returns=_returned(only(dict, tool.get("outputSchema"))),
        changes_data=hints.get("readOnlyHint") is not True,
        params=tuple(_params(schema, is_whole=is_whole)),
    )


def _params(schema: JsonObject, *, is_whole: bool) -> Iterator[Param]:
    """Yield the properties of an object, and what it requires without saying more of it; or the whole of it."""
    required: JsonObject = {key: {} for key in texts_in(schema.get("required"))}
    params = required | only(dict, schema.get("properties"))
    if is_whole:
        params = {_WHOLE: schema}
    for key, own in params.items():
        if not key.strip():
            continue
        about = only(dict, own)
        declared = own
        if "'$ref'" in repr(about):
            declared = definitions_of(schema) | about
        yield Param(
            name=key,
            description=only(str, about.get("description") or about.get("title")),
            required=is_whole or key in required,
            encoding=Encoding.JSON,
            schema=declared,
        )


def _returned(schema: JsonObject) -> JsonObject | None:
    """Return the schema of a result, as `_data` returns it."""
    members = only(dict, schema.get("properties"))
    if members.keys() != {"result"}:
        return schema or None
    return only(dict, members["result"]) | definitions_of(schema)


async def _call(
    function: Function, arguments: JsonObject, progress: Progress, link: Link, ask: Ask
) -> tuple[bytes, str]:
    if link.functions is None:
        with collect_warnings([]):
            _, listed = await _list(link, type(ask)())
            await asyncio.to_thread(_read, link, link.name, listed)

    now = (link.functions or {}).get(function.name)
    if now is None:
        raise NotFoundError(
            f"{function.name} is no longer in your catalog.",
            "See %funcs find, after %funcs refresh.",
        )

    if now != function and (changed := drift(function, now)):
        raise ArgumentError(
            changed,
            f"Get it again with funcs[{quote(function.name)}], or reopen its panel.",
        )

    await link.call_tool(function.name, arguments, ask, progress)
    return await asyncio.to_thread(_data, ask.result, function.name.casefold())


def _data(result: JsonObject, name: str) -> tuple[bytes, str]:
    """Return the result of a call and its media type: what is structured in it, else its texts, with its files."""
    blocks = [
        block | only(dict, block.get("resource"))
        for block in only(list, result.get("content"))
        if isinstance(block, dict)
    ]
    texts = list(map(_text, blocks))
    if result.get("isError") is True:
        raise _refusal(redacted_line("\n".join(texts)) or "it gave no reason.", name)
    value = result.get("structuredContent")
    if not all(block.get("type") in _IN_WORDS for block in blocks):
        return _files(blocks, value)
    if value is None:
        value = _value_of(blocks, texts)
    elif isinstance(value, dict) and value.keys() == {"result"}:
        value = value["result"]  # the SDK's servers wrap what isn't an object so

    return _encoded(value), ""


def _value_of(blocks: list[JsonObject], texts: list[str]) -> Any:
    values = [
        _link(block) or _value(text) for block, text in zip(blocks, texts, strict=True)
    ]
    if len(values) == 1:
        return values[0]
    return values or None


def _refusal(text: str, name: str) -> FuncsError:
    words = text.casefold()
    if words.startswith("unknown tool") or f"tool {name} not found" in words:
        return NotFoundError(text, "See %funcs find, after %funcs refresh.")
    return FunctionError(f"The function failed: {text}", "Check its arguments first.")


def _files(blocks: list[JsonObject], value: Any) -> tuple[bytes, str]:
    """Return a file with its media type, or all files and texts; what is structured is in place of the texts."""
    from jupyter_funcs.frames.media import PARTS

    if value is not None:
        others = [block for block in blocks if block.get("type") != "text"]
        blocks = [
            {"text": _encoded(value).decode(), "mimeType": "application/json"},
            *others,
        ]

    parts = list(map(_part, blocks))
    if len(parts) > 1:
        return _encoded(parts), PARTS
    [part] = parts
    content = part["Result"].encode("utf-8", "replace")
    if part["is_file"]:
        content = base64.b64decode(content)
    return content, part["media_type"]


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _link(block: JsonObject) -> JsonObject:
    """Return what a link to a resource says; nothing of a text."""
    return {
        key: block[key] for key in _OF_A_LINK if key in block and "text" not in block
    }


def _part(block: JsonObject) -> JsonObject:
    """Return the text or the bytes of a block, its media type and its address; the text of a link is its name."""
    text = _link(block).get("name") or _text(block)
    part = {"Result": text, "media_type": "text/plain", "is_file": False}
    with suppress(ValueError):  # it isn't base64
        if base64.b64decode(data := _content(block)):
            part = {
                "Result": data,
                "media_type": "application/octet-stream",
                "is_file": True,
            }

    part["media_type"] = only(str, block.get("mimeType")) or part["media_type"]
    return part | {"uri": block.get("uri")}


def _content(block: JsonObject) -> str:
    return only(str, block.get("data", block.get("blob")))


def _text(block: JsonObject) -> str:
    """Return a text, or a line that says what else was sent."""
    if isinstance(block.get("text"), str):
        return str(block["text"])
    data = _content(block)
    size = data and size_text(len(data) * 3 // 4)
    parts = (block.get("mimeType"), block.get("uri"), size)
    return f"{block.get('type')} ({', '.join(str(part) for part in parts if part)})"


def _value(text: str) -> Any:
    """Return the object or the list that a text contains; any other text is itself."""
    if text.lstrip().startswith(("{", "[")):
        try:
            return json_decoding.decode(text, what="text of the reply")
        except ProtocolError as error:
            if isinstance(error.__cause__, RecursionError):
                raise

    return text

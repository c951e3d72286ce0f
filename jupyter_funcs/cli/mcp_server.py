"""Serve the catalog as tools of the Model Context Protocol; an assistant has the permissions of the session's user."""

from __future__ import annotations

import asyncio
import re
import zlib
from fnmatch import fnmatchcase
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from mcp import MCPError, types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from jupyter_funcs.catalog.fields import Kind
from jupyter_funcs.connection.secrets import redacted_all
from jupyter_funcs.core.errors import ArgumentError, FuncsError, NotFoundError
from jupyter_funcs.core.json_decoding import as_list, only
from jupyter_funcs.core.text import clip, inert, listed, quote, visible
from jupyter_funcs.core.warn import collect_warnings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from jupyter_funcs.api import RemoteFunction, Session
    from jupyter_funcs.client.jobs import Job
    from jupyter_funcs.core.json_decoding import JsonObject, Values

# About ten thousand tokens; assistants cut or refuse longer results.
MOST_CHARACTERS = 30_000
_LONGEST_DESCRIPTION = 800
_SYNTHETIC = " The data are synthetic."
# The names of tools and properties that assistants accept.
_ACCEPTED = re.compile(r"[A-Za-z0-9_-]{1,64}")
# The parameters that decide how many rows there are: dates, lists, and numbers named like this.
_NARROWING = {Kind.DATE, Kind.LIST}
# The keys of a schema whose texts and values an assistant sees.
_SHOWN = {"title", "description", "$comment", "enum", "examples", "default"}
_LIMIT = re.compile(r"(?i)limit|top|max|rows|count|size")


def serve(session: Session, only: Sequence[str] = (), *, reads: bool = False) -> None:
    """Serve a session's functions, or those that match a pattern, over standard input and output until that ends."""
    for pattern in only:
        if not any(_is_chosen(function, [pattern]) for function in session):
            raise ArgumentError(
                f"No function of {session.service} matches --only {quote(pattern)}.",
                "Write a name or a slug, in which * is any text. See jupyter funcs list.",
            )

    async def run() -> None:
        server = server_of(session, only, reads=reads)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    asyncio.run(run())


def server_of(
    session: Session, only: Sequence[str] = (), *, reads: bool = False
) -> Server[Any]:
    """Return the server of a session's functions; each request for the tools lists the functions again."""
    # A catalog doesn't say what a function changes; the demo's are queries.
    reads = reads or not session.address

    def tools() -> list[types.Tool]:
        return [
            tool(function, reads=reads)
            for function in session.refresh()
            if _is_chosen(function, only)
        ]

    async def list_tools(_context: object, _page: object) -> types.ListToolsResult:
        try:
            return types.ListToolsResult(tools=await asyncio.to_thread(tools))
        except FuncsError as error:
            raise MCPError(types.INTERNAL_ERROR, redacted_all(str(error))) from None

    async def call_tool(
        _context: object, request: types.CallToolRequestParams
    ) -> types.CallToolResult:
        warnings: list[UserWarning] = []
        try:
            with collect_warnings(warnings):
                function = await asyncio.to_thread(
                    _function, session, request.name, only
                )
                start = partial(
                    function.submit, **_arguments(function, request.arguments or {})
                )
                # Cancelling the request also cancels a run that is still starting.
                starting = asyncio.ensure_future(asyncio.to_thread(start))
                try:
                    frame = await (await asyncio.shield(starting))
                except asyncio.CancelledError:
                    starting.add_done_callback(_cancel)
                    raise
            note, table = await asyncio.to_thread(
                as_texts, frame, hint=_how_to_ask_for_less(function)
            )
        except FuncsError as error:
            return _result([str(error)], is_error=True)
        except Exception as error:  # noqa: BLE001  # its text may contain anything
            return _result(
                [f"The tool failed inside jupyter_funcs: {type(error).__name__}."],
                is_error=True,
            )

        return _result(
            [" ".join([note, *(f"Warning: {text}" for text in warnings)]), table]
        )

    source = f"a function of {inert(session.service)}"
    most = f"at most {MOST_CHARACTERS:,} characters"
    instructions = (
        f"Each tool runs {source} and returns its result as CSV, of which {most}."
    )
    if not reads:
        instructions += " Whether a function changes anything is not known."
    if not session.address:
        instructions += _SYNTHETIC
    return Server(
        "jupyter_funcs",
        version=version("jupyter-funcs"),
        instructions=instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _cancel(started: asyncio.Future[Job]) -> None:
    if not started.cancelled() and started.exception() is None:
        started.result().cancel()


def _result(texts: list[str], *, is_error: bool = False) -> types.CallToolResult:
    shown = map(redacted_all, texts)
    return types.CallToolResult(
        content=[types.TextContent(text=text) for text in shown], is_error=is_error
    )


def _is_chosen(function: RemoteFunction, only: Sequence[str]) -> bool:
    names = (function.slug.casefold(), function.name.casefold())
    return not only or any(
        fnmatchcase(name, pattern.casefold()) for pattern in only for name in names
    )


def _shown(text: str) -> str:
    """Return a text of the catalog without line breaks, invisible characters and tokens."""
    return redacted_all(inert(text))


def tool(function: RemoteFunction, *, reads: bool = False) -> types.Tool:
    """Return the tool of a function; `reads` says that it is known to change nothing."""
    schema = function.json_schema()
    keys = _keys(function)
    schema["title"] = _shown(schema["title"])
    schema["properties"] = {
        keys[name]: _cleaned(own) for name, own in schema["properties"].items()
    }
    schema["required"] = [keys[name] for name in schema["required"]]
    description = clip(
        _shown(function.function.about) or _shown(function.name), _LONGEST_DESCRIPTION
    )
    rules = {field.rule.names: None for field in function.fields if field.rule}
    reads = reads and not function.function.changes_data
    required = [f"Requires {listed(keys[name] for name in names)}." for names in rules]
    return types.Tool(
        name=_name(function.slug),
        title=_shown(function.name),
        description="\n".join([description, *required]),
        input_schema=schema,
        annotations=types.ToolAnnotations(
            read_only_hint=reads, destructive_hint=not reads
        ),
    )


def _cleaned(part: Any, word: str = "") -> Any:
    """Return a copy of a schema with the texts and values in it as `_shown`, also those inside an object's schema."""
    if isinstance(part, dict):
        return {key: _cleaned(value, key) for key, value in part.items()}
    if isinstance(part, list):
        return [_cleaned(item, word) for item in part]
    if isinstance(part, str) and word in _SHOWN:
        return _shown(part)
    return part


def _shown_values(schema: Values) -> dict[str, str]:
    """Map what an assistant sees of each option and default of a property to the value itself."""
    items = only(dict, schema.get("items")) or schema
    options = [
        *only(list, items.get("enum")),
        *only(list, items.get("examples")),
        *as_list(schema.get("default")),
    ]
    return {_shown(value): value for value in options if isinstance(value, str)}


def _respelled(value: Any, spellings: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_respelled(item, spellings) for item in value]
    if isinstance(value, str):
        return spellings.get(value, value)
    return value


def _name(identifier: str) -> str:
    """Return an identifier as assistants accept it: unchanged if possible, else with a stable checksum."""
    if _ACCEPTED.fullmatch(identifier):
        return identifier
    return f"{re.sub('[^A-Za-z0-9_-]', '_', identifier)[:55]}_{zlib.crc32(identifier.encode()):08x}"


def _keys(function: RemoteFunction) -> dict[str, str]:
    """Map the wire names of the parameters to the keys of a tool's schema; the two are the same where possible."""
    keys = {
        field.name: field.name
        for field in function.fields
        if _ACCEPTED.fullmatch(field.name)
    }
    for field in function.fields:
        if field.name not in keys:
            key = _name(field.identifier)
            while key in keys.values():  # another parameter has this name on the wire
                key = _name(f"{key}_")
            keys[field.name] = key

    return keys


def _function(session: Session, name: str, only: Sequence[str]) -> RemoteFunction:
    by_name = {_name(slug): slug for slug in session.catalog.slugs}
    function = session[by_name.get(name, name)]
    if not _is_chosen(function, only):
        raise NotFoundError(
            f"{function.name} isn't a tool of this server.",
            "Choose one of the tools that it lists.",
        )

    return function


def _arguments(function: RemoteFunction, arguments: Values) -> JsonObject:
    """Return arguments with the names and the options that the service knows."""
    names = {key: name for name, key in _keys(function).items()}
    properties = function.json_schema()["properties"]
    values = {names.get(key, key): value for key, value in arguments.items()}
    files = [
        field.name
        for field in function.fields
        if field.value_kind is Kind.FILE and field.name in values
    ]
    if files:
        raise ArgumentError(
            f"{listed(files, 'and')} would send a file of this machine.",
            "Ask the user to run it.",
        )

    return {
        name: _respelled(value, _shown_values(properties.get(name, {})))
        for name, value in values.items()
    }


def _how_to_ask_for_less(function: RemoteFunction) -> str:
    keys = _keys(function)
    narrowing = [
        keys[field.name]
        for field in function.fields
        if field.kind in _NARROWING
        or (field.kind is Kind.INTEGER and _LIMIT.search(field.name))
    ]
    if narrowing:
        return f"To ask for less, use the parameters {listed(dict.fromkeys(narrowing), 'and')}."
    others = ""
    if keys:
        others = f" Other values of {listed(keys.values())} may return less."
    return f"The tool has no parameter for a period, a list or a limit.{others}"


def as_texts(
    frame: pd.DataFrame, most: int = MOST_CHARACTERS, hint: str = ""
) -> list[str]:
    """Return a frame for an assistant: a note with the number of rows, and the rows as CSV; the hint if some lack."""
    total = len(frame)
    shown = min(total, most)  # each row takes one character at least
    while len(text := visible(frame.head(shown).to_csv(index=False))) > most and shown:
        shown = int(shown * min(most / len(text), 0.95))
    note = f"All rows: {total}."
    if shown < total:
        note = f"The first {shown} of {total} rows. A result has at most {most:,} characters."
        note = f"{note} {hint}".rstrip()

    if len(text) > most:
        note += " The column names are cut too."
    if frame.attrs.get("funcs", {}).get("synthetic"):
        note += _SYNTHETIC
    return [note, clip(text, most)]

"""The catalog as tools of the Model Context Protocol: an assistant calls what the session's user may, and no more."""

from __future__ import annotations

import asyncio
import re
import zlib
from typing import TYPE_CHECKING, Any

from mcp import MCPError, types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from jupyter_funcs.errors import FuncsError
from jupyter_funcs.text import clip, inert, listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from jupyter_funcs.callables import RemoteFunction
    from jupyter_funcs.jobs import Job
    from jupyter_funcs.session import Session

MOST_CHARACTERS = 30_000  # some ten thousand tokens, beyond which assistants cut a result or refuse it
_LONGEST_DESCRIPTION = 800
# What assistants take as the name of a tool or of a property.
_TAKEN = re.compile(r"[A-Za-z0-9_-]{1,64}")


def serve(session: Session) -> None:
    """Serve a session's functions over standard input and output, until the input ends."""

    async def run() -> None:
        server = server_of(session)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    asyncio.run(run())


def server_of(session: Session) -> Server[Any]:
    """Give the server of a session's functions; they are listed anew whenever the tools are."""

    async def list_tools(_context: object, _page: object) -> types.ListToolsResult:
        try:
            return types.ListToolsResult(tools=await asyncio.to_thread(_tools, session))
        except FuncsError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from None

    async def call_tool(_context: object, asked: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            # Cancelling the request cancels the run, one that is being started too.
            starting = asyncio.ensure_future(asyncio.to_thread(_start, session, asked.name, asked.arguments or {}))
            try:
                frame = await (await asyncio.shield(starting))
            except asyncio.CancelledError:
                starting.add_done_callback(_cancel)
                raise
            texts = await asyncio.to_thread(as_texts, frame)
        except FuncsError as error:
            return _result([str(error)], is_error=True)
        except Exception as error:  # noqa: BLE001  # whatever it is, its text may hold anything
            return _result([f"The tool failed inside jupyter_funcs: {type(error).__name__}."], is_error=True)
        return _result(texts)

    return Server(
        "jupyter_funcs",
        instructions=f"Each tool is a function of {inert(session.service)}, and gives a table as CSV."
        + " The data are synthetic." * session.synthetic,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _cancel(started: asyncio.Future[Job]) -> None:
    if not started.cancelled() and started.exception() is None:
        started.result().cancel()


def _result(texts: list[str], *, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text) for text in texts], is_error=is_error)


def _tools(session: Session) -> list[types.Tool]:
    return [tool(function) for function in session.refresh()]


def tool(function: RemoteFunction) -> types.Tool:
    """Give the tool of a function; every text of the catalog in it is on one line, with no hidden character."""
    schema = function.json_schema()
    # Several assistants refuse these at the top of a schema, and with it every tool: they are said in words.
    schema.pop("anyOf", None)
    schema.pop("allOf", None)
    keys = {name: key for key, name in _names(function).items()}
    schema["title"] = inert(schema["title"])
    schema["properties"] = {keys[name]: _inert(own) for name, own in schema["properties"].items()}
    schema["required"] = [keys[name] for name in schema["required"]]
    description = clip(inert(function.function.description) or inert(function.name), _LONGEST_DESCRIPTION)
    rules = {field.rule.names: None for field in function.fields if field.rule}
    given = [f"Give {listed(keys[name] for name in names)}." for names in rules]
    return types.Tool(
        name=_name(function.slug),
        title=inert(function.name),
        description="\n".join([description, *given]),
        input_schema=schema,
    )


def _inert(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "description": inert(schema["description"])} if "description" in schema else schema


def _name(identifier: str) -> str:
    """Give an identifier as assistants take names; what they do not take gets a name that stays the same."""
    if _TAKEN.fullmatch(identifier):
        return identifier
    return f"{re.sub('[^A-Za-z0-9_-]', '_', identifier)[:55]}_{zlib.crc32(identifier.encode()):08x}"


def _names(function: RemoteFunction) -> dict[str, str]:
    """Give the wire names of the parameters by their keys in the tool's schema: the same where they can be."""
    wire = dict.fromkeys(field.name for field in function.fields)
    names = {name: name for name in wire if _TAKEN.fullmatch(name)}
    for field in function.fields:
        if field.name not in names.values():
            key = _name(field.identifier)
            while key in names:  # another parameter is called what this one is called in Python
                key = _name(f"{key}_")
            names[key] = field.name
    return names


def _start(session: Session, name: str, arguments: Mapping[str, Any]) -> Job:
    by_name = {_name(slug): slug for slug in session.catalog.slugs}
    function = session[by_name.get(name, name)]
    names = _names(function)
    return function.submit(**{names.get(key, key): value for key, value in arguments.items()})


def as_texts(frame: pd.DataFrame, most: int = MOST_CHARACTERS) -> list[str]:
    """
    Give a frame as an assistant reads it: how many of its rows are there, and these as CSV.

    Parameters
    ----------
    frame
        The result of a run.
    most
        The most characters of CSV; whole rows are left out from the end until it holds.
    """
    total = shown = len(frame)
    shown = min(shown, most)  # no row is shorter than its line's end
    text = frame.head(shown).to_csv(index=False)
    while len(text) > most and shown:
        shown = int(shown * min(most / len(text), 0.95))
        text = frame.head(shown).to_csv(index=False)
    said = f"All rows: {total}."
    if shown < total:
        said = (
            f"The first {shown} of {total} rows. The rest is left out, for a result holds {most} characters at most: "
            "ask for less to see it, such as a shorter time or fewer groups."
        )
    if len(text) > most:
        said, text = f"{said} The columns' names are cut too.", clip(text, most)
    synthetic = " The data are synthetic." * bool(frame.attrs.get("funcs", {}).get("synthetic"))
    return [said + synthetic, text]

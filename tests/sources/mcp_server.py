"""A small MCP server, made with the official SDK, that returns what its tools receive."""

from __future__ import annotations

import asyncio
import base64
import datetime as dt
import json
from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context  # noqa: TC002  # the SDK evaluates the annotations
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import BaseModel, Field

app = MCPServer("Small server")
READS = ToolAnnotations(read_only_hint=True)
calls: list[str] = []
guests = asyncio.Barrier(4)


class Point(BaseModel):
    x: float
    y: float = 0


@app.tool(annotations=READS, title="What it got")
def got(  # one of each kind
    whole: int | None = None,
    number: float | None = None,
    flag: bool | None = None,
    text: str | None = None,
    choice: Literal["a", "b"] = "a",
    several: list[int] | None = None,
    point: Point | None = None,
    either: int | str | None = None,
    free: dict[str, Any] | None = None,
    top: Annotated[int, Field(ge=1, le=5)] = 2,
) -> dict[str, Any]:
    """Return the arguments as JSON."""
    arguments = {name: value for name, value in locals().items() if value is not None}
    return {"json": json.dumps(arguments, default=lambda point: point.model_dump())}


@app.tool(title="Change")
def change(name: str) -> str:
    """Change something."""
    calls.append(name)
    return f"changed {name}"


@app.tool(annotations=READS)
async def wait(seconds: float, context: Context[Any, Any]) -> float:
    await context.report_progress(1, 4, "<b>\x1b[1m waiting")
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        calls.append("cancelled")
        raise
    return seconds


@app.tool(annotations=READS)
async def meet(number: int) -> int:
    """Return a number once four requests have arrived."""
    await guests.wait()
    return number


@app.tool(annotations=READS)
def rows() -> list[dict[str, Any]]:
    return [
        {"name": "x", "code": "007", "n": 1},
        {"name": "y", "code": "1E5", "n": 2**60},
    ]


class Sale(BaseModel):
    day: dt.date
    spend: Annotated[
        float, Field(description="Card spend.", json_schema_extra={"unit": "USD"})
    ]
    kind: Literal["in shop", "online"] = "online"
    cards: int | None = None


class Sales(BaseModel):
    total: int
    sales: list[Sale]


@app.tool(annotations=READS)
def sales(count: int = 1) -> list[Sale]:
    return [Sale(day=dt.date(2024, 5, 6), spend=7)] * count


@app.tool(annotations=READS)
def page(count: int = 1) -> Sales:
    return Sales(total=count, sales=sales(count))


@app.tool(annotations=READS)
def number() -> int:
    return 7


@app.tool(annotations=READS)
def text(of: str = "done") -> str:
    return of


@app.tool(annotations=READS, structured_output=False)
def undeclared(of: str = "done"):  # noqa: ANN201  # it has no result schema
    return of


@app.tool(annotations=READS)
def nothing() -> None:
    return None


def _blob(content: bytes, uri: str, kind: str | None) -> EmbeddedResource:
    blob = base64.b64encode(content).decode()
    return EmbeddedResource(
        type="resource",
        resource=BlobResourceContents(uri=uri, blob=blob, mime_type=kind),
    )


def _text(content: str, uri: str, kind: str | None) -> EmbeddedResource:
    resource = TextResourceContents(uri=uri, text=content, mime_type=kind)
    return EmbeddedResource(type="resource", resource=resource)


PNG = b"\x89PNG\r\n\x1a\n\0\0"
IMAGE = ImageContent(
    type="image", data=base64.b64encode(PNG).decode(), mime_type="image/png"
)
LINK = ResourceLink(
    type="resource_link",
    name="Report",
    uri="file:///report.pdf",
    mime_type="application/pdf",
)
FILES: dict[str, list[Any]] = {
    "image": [IMAGE],
    "audio": [
        AudioContent(
            type="audio", data=base64.b64encode(b"RIFF").decode(), mime_type="audio/wav"
        )
    ],
    "pdf": [_blob(b"%PDF-1.7", "file:///r.pdf", "application/pdf")],
    "bytes": [_blob(b"[\0", "file:///r", None)],
    "markdown": [_text("[draft]\n# Report", "file:///r.md", "text/markdown")],
    "csv": [_text("day,n\n2026-01-02,7\n", "file:///r.csv", "text/csv")],
    "json": [_text('[{"n": 7}]', "file:///r.json", "application/json")],
    "links": [LINK, LINK],
    "text and image": [TextContent(type="text", text="Sales"), IMAGE],
    "text, file and link": [
        TextContent(type="text", text="Sales"),
        _blob(b"%PDF", "file:///r.pdf", None),
        LINK,
    ],
}


@app.tool(annotations=READS, structured_output=False)
def files(which: str):  # noqa: ANN201  # it has no result schema
    return FILES[which]


@app.tool(annotations=READS)
def rows_and_image() -> Annotated[CallToolResult, Point]:
    text = TextContent(type="text", text='{"x": 1.0, "y": 2.0}')
    return CallToolResult(
        content=[text, IMAGE], structured_content={"x": 1.0, "y": 2.0}
    )


@app.tool(annotations=READS)
def fails(text: str = "") -> str:
    raise ValueError(text or "no luck")


class Answer(BaseModel):
    name: Annotated[str, Field(title="Your name")]
    count: Annotated[int, Field(ge=1, le=5)] = 2
    colour: Literal["red", "blue"] = "red"


@app.tool(annotations=READS)
async def asks(context: Context[Any, Any]) -> str:
    """Ask the user for an answer, and return it."""
    reply = await context.elicit("Who are \x1b[1m you?", Answer)
    return " ".join(
        [reply.action, reply.data.model_dump_json() if reply.action == "accept" else ""]
    ).strip()


@app.tool(annotations=READS)
async def leads(context: Context[Any, Any]) -> str:
    """Ask the user to open a link."""
    reply = await context.elicit_url(
        "Sign in there", "https://sign.in.example/?a=1", "7"
    )
    return reply.action


@app.tool(annotations=READS)
async def appears(context: Context[Any, Any]) -> str:
    """Change the tools, and notify the client."""
    app._tool_manager._tools.pop("rows", None)
    await context.session.send_tool_list_changed()
    return "changed"


if __name__ == "__main__":
    app.run("stdio")

"""A server that breaks the protocol in the way that its argument names."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HOW = sys.argv[1]


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def write(**message: Any) -> None:
    say(json.dumps({"jsonrpc": "2.0", **message}))


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
        **more,
    }


ARGUMENTS = {
    "type": "object",
    "properties": {
        "x": True,
        "y": {"$ref": "#/$defs/none"},
        "z": {"type": "integer", "minimum": 5, "maximum": 1},
    },
    "required": ["w"],
}
ODD = [
    tool("twice"),
    tool("twice"),
    {"name": "no schema"},
    tool("no object", inputSchema={"type": "string"}),
    7,
    tool(" "),
    tool("control\x1b[31m", title="T\x00", description=8),
    tool("untyped", inputSchema={}),
    tool(
        "either",
        inputSchema={
            "oneOf": [{"type": "object", "properties": {"x": {"type": "integer"}}}]
        },
    ),
    tool("contradicts", outputSchema=5, annotations=7, inputSchema=ARGUMENTS),
]
INFO = {"capabilities": {"tools": {}}, "serverInfo": {"name": "bad", "version": "1"}}
DEEP = "[" * 10_000 + "]" * 10_000


def text(text: str, **more: Any) -> dict[str, Any]:
    return {"result": {"content": [{"type": "text", "text": text}], **more}}


# Its answers to a method that differ from a good server's.
ANSWERS: dict[tuple[str, str], dict[str, Any]] = {
    ("initialize", "old"): {"result": {"protocolVersion": "1999-01-01", **INFO}},
    ("initialize", "not a result"): {"result": {"hello": 1}},
    ("tools/list", "no tools"): {
        "error": {"code": -32601, "message": "Method not found"}
    },
    ("tools/list", "no list"): {"result": {"tools": 5}},
    ("tools/list", "endless"): {"result": {"tools": [], "nextCursor": "again"}},
    ("tools/list", "odd"): {"result": {"tools": ODD}},
    ("tools/call", "deep text"): text(DEEP),
    ("tools/call", "control"): text("bad \x1b[31m\x00 thing", isError=True),
    ("tools/call", "error"): {"error": {"code": -32603, "message": "boom \x1b[31m"}},
    ("tools/call", "environment"): text(json.dumps(dict(os.environ))),
    ("tools/call", "odd result"): {
        "result": {"content": 5, "structuredContent": [1, 2]}
    },
}

if HOW == "ends":
    sys.exit("Starting\nError: the database is gone\n  at line 5")
if HOW == "garbage and end":
    say("usage: server [-h] \x1b[31m")
    sys.exit(2)
if HOW == "garbage":
    say("Hello, I am a server!\n\n")
if HOW == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    sys.stderr.write(f"{os.getpid()} {child.pid}" + "\n")
for line in sys.stdin:
    request = json.loads(line)
    number = request.get("id")
    method = request["method"]
    if number is None:
        continue
    if method == "tools/call" and len(sys.argv) > 2:
        with Path(sys.argv[2]).open("a") as calls:
            calls.write("called\n")
    if HOW == "hangs" or (method, HOW) == ("tools/list", "hangs at list"):
        time.sleep(600)
    match method, HOW:
        case "initialize", "cut":
            say(f'{{"jsonrpc": "2.0", "id": {number}, "result": {{')
        case "tools/call", "deep":
            say(
                f'{{"jsonrpc":"2.0","id":{number},"result":{{"structuredContent":{{"a":{DEEP}}}}}}}'
            )
        case "tools/call", "another id":
            write(id=number + 1000, result={"content": []})
        case "tools/call", "no id":
            write(id=None, error={"code": -32700, "message": "Unexpected end of input"})
        case "tools/call", code if code.startswith("-"):
            words = "Connection closed" if code == "-32000" else "no luck"
            write(id=number, error={"code": int(code), "message": words})
        case "tools/call", "ends in a call":
            sys.stderr.write("Traceback\nKeyError: 'x'" + "\n")
            os._exit(3)
        case "tools/call", "closes":
            os.close(1)
            time.sleep(600)
        case "tools/list", "many":
            at = int((request.get("params") or {}).get("cursor", 0))
            tools = [tool(f"tool_{at + offset}") for offset in range(2500)]
            write(id=number, result={"tools": tools, "nextCursor": str(at + 2500)})
        case _:
            good = {
                "initialize": {"result": {"protocolVersion": "2025-06-18", **INFO}},
                "tools/list": {"result": {"tools": [tool("go")]}},
                "tools/call": text(json.dumps(request.get("params"))),
            }
            write(id=number, **ANSWERS.get((method, HOW), good[method]))
if HOW == "stubborn":
    time.sleep(600)

"""A server that breaks the protocol in the way that its argument names."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

HOW = sys.argv[1]


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def write(**message: Any) -> None:
    say(json.dumps({"jsonrpc": "2.0", **message}))


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}, **more}


ODD = [
    tool("twice"),
    tool("twice"),
    {"name": "no schema"},
    tool("no object", inputSchema={"type": "string"}),
    7,
    tool(" "),
    tool("control\x1b[31m", title="T\x00", description=8),
    tool("untyped", inputSchema={}),
    tool("either", inputSchema={"oneOf": [{"type": "object", "properties": {"x": {"type": "integer"}}}]}),
    tool(
        "contradicts",
        outputSchema=5,
        annotations=7,
        inputSchema={
            "type": "object",
            "properties": {
                "x": True,
                "y": {"$ref": "#/$defs/none"},
                "z": {"type": "integer", "minimum": 5, "maximum": 1},
            },
            "required": ["w"],
        },
    ),
]

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
    asked = json.loads(line)
    number, method = asked.get("id"), asked["method"]
    if number is None:
        continue
    if HOW == "hangs":
        time.sleep(600)
    if method == "initialize":
        info = {"capabilities": {"tools": {}}, "serverInfo": {"name": "bad", "version": "1"}}
        if HOW == "old":
            write(id=number, result={"protocolVersion": "1999-01-01", **info})
        elif HOW == "not a result":
            write(id=number, result={"hello": 1})
        elif HOW == "cut":
            say(f'{{"jsonrpc": "2.0", "id": {number}, "result": {{')
        else:
            write(id=number, result={"protocolVersion": "2025-06-18", **info})
    elif method == "tools/list":
        if HOW == "hangs at list":
            time.sleep(600)
        if HOW == "no tools":
            write(id=number, error={"code": -32601, "message": "Method not found"})
        elif HOW == "no list":
            write(id=number, result={"tools": 5})
        elif HOW == "endless":
            write(id=number, result={"tools": [], "nextCursor": "again"})
        elif HOW == "many":
            at = int((asked.get("params") or {}).get("cursor", 0))
            tools = [tool(f"tool_{at + each}") for each in range(2500)]
            write(id=number, result={"tools": tools, "nextCursor": str(at + 2500)})
        else:
            write(id=number, result={"tools": ODD if HOW == "odd" else [tool("go")]})
    elif method == "tools/call":
        if HOW == "ends in a call":
            sys.stderr.write("Traceback\nKeyError: 'x'" + "\n")
            os._exit(3)
        elif HOW == "deep":
            deep = "[" * 10_000 + "]" * 10_000
            say(f'{{"jsonrpc":"2.0","id":{number},"result":{{"structuredContent":{{"a":{deep}}}}}}}')
        elif HOW == "deep text":
            write(id=number, result={"content": [{"type": "text", "text": "[" * 10_000 + "]" * 10_000}]})
        elif HOW == "control":
            text = {"type": "text", "text": "bad \x1b[31m\x00 thing"}
            write(id=number, result={"content": [text], "isError": True})
        elif HOW == "error":
            write(id=number, error={"code": -32603, "message": "boom \x1b[31m"})
        elif HOW == "odd result":
            write(id=number, result={"content": 5, "structuredContent": [1, 2]})
        elif HOW == "closes":
            os.close(1)
            time.sleep(600)
        else:
            write(id=number, result={"content": [{"type": "text", "text": json.dumps(asked["params"])}]})
if HOW == "stubborn":
    time.sleep(600)

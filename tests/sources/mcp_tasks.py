"""An MCP server over pipes whose tools run only as tasks, which the SDK's servers don't offer."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

STEPS = 2  # looks at a task until it ends
TOOLS = ("completed", "failed", "cancelled", "input_required", "endless")
INFO = {
    "capabilities": {"tools": {}, "tasks": {}},
    "serverInfo": {"name": "tasks", "version": "1"},
}
SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}}
looks: dict[str, int] = {}
arguments: dict[str, Any] = {}


def task(name: str) -> dict[str, Any]:
    """Return the state of a task."""
    looks[name] = looks.get(name, -1) + 1
    is_over = looks[name] >= STEPS and name != "endless"
    times = {
        "createdAt": "2025-11-25T10:00:00Z",
        "lastUpdatedAt": "2025-11-25T10:00:01Z",
    }
    state = {
        "status": name if is_over else "working",
        "statusMessage": f"step {looks[name]} of {name}",
    }
    return {"taskId": name, "ttl": 60_000, "pollInterval": 10, **times, **state}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            return {"protocolVersion": "2025-11-25", **INFO}
        case "tools/list":
            execution = {"execution": {"taskSupport": "required"}}
            return {
                "tools": [
                    {"name": name, "inputSchema": SCHEMA, **execution} for name in TOOLS
                ]
            }
        case "tools/call":
            assert "task" in params
            arguments[params["name"]] = params["arguments"]
            return {"task": task(params["name"])}
        case "tasks/get":
            return task(params["taskId"])
        case "tasks/result":
            name = params["taskId"]
            content = [
                {
                    "type": "text",
                    "text": json.dumps([{"task": name, **arguments[name]}]),
                }
            ]
            return {"content": content, "isError": name == "failed"}
    Path(sys.argv[1]).write_text(method)  # tasks/cancel
    return {**task(params["taskId"]), "status": "cancelled"}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        reply = answer(request["method"], request.get("params") or {})
        sys.stdout.write(
            json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": reply}) + "\n"
        )
        sys.stdout.flush()

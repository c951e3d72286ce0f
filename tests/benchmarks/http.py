"""
Requests a second of a service over HTTP, at 1, 8 and 64 clients: ``python -m tests.benchmarks.http [SECONDS]``.

Each client sends its next request when it has the reply to the last. Beside it stand, in the same run, the same
application in process, which shows what HTTP costs, and a bare "hello" of starlette on the same uvicorn, which shows
what the service costs. A reply that is absent, cut or not 200 is lost, and there must be none.

The targets at 8 clients are 0.50 of the hello for a listing and 0.30 for Get Panels; seen are 0.47 to 0.50 and 0.37. Of
the processor's time of a listing, py-spy finds 28 % in sending its 12 kB, which for the hello are 39 bytes, 14 % in
reading the request, 11 % in the line of the log, and 11 % in the token and the grants: a look at the version of the
accounts, twice, and at the file of keys. The rest is Starlette's layers, the check of the body and the event loop.
"""
# ruff: noqa: T201 - it prints a table

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

CLIENTS = (1, 8, 64)
LIST = "/api/function/ListUserFunctions"
RUN = "/api/function/runFunction"
DAILY = {"PanelName": "Demo Card Panel", "Symbol": "NVRA US EQUITY", "PoPGrowth": "Yes"}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "listing": (LIST, {}),
    "Get Panels": (RUN, {"FunctionName": "Get Panels", "Args": {}}),
    "one symbol, daily, growth": (
        RUN,
        {"FunctionName": "Get Panel Daily", "Args": DAILY},
    ),
}
_WIDTHS = (8, 10, 9, 8, 8, 6, 9, 14)
HELLO = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
async def hello(request):
    await request.body()
    return JSONResponse({"error": None, "body": "hello"})
app = Starlette(routes=[Route("/hello", hello, methods=["POST"])])
config = uvicorn.Config(app, port=0, http="h11", ws="none", lifespan="off", access_log=False)
uvicorn.Server(config).run()
"""


class Measured(NamedTuple):
    """What a number of clients got."""

    rate: float
    milliseconds: dict[int, float]
    lost: int


async def load(
    send: Callable[[int], Awaitable[bool]], clients: int, seconds: float
) -> Measured:
    """Let clients send one request after the other; `send` says whether the reply was right."""
    times: list[float] = []
    lost = 0
    ends = time.perf_counter() + seconds

    async def client(number: int) -> None:
        nonlocal lost
        while (began := time.perf_counter()) < ends:
            if await send(number):
                times.append(time.perf_counter() - began)
            else:
                lost += 1

    began = time.perf_counter()
    await asyncio.gather(*(client(number) for number in range(clients)))
    took = time.perf_counter() - began
    times.sort()
    at = {
        percent: times[min(len(times) - 1, len(times) * percent // 100)] * 1000
        for percent in (50, 95, 99)
    }
    return Measured(len(times) / took, at, lost)


async def over_http(
    address: str, path: str, body: bytes, token: str, clients: int, seconds: float
) -> Measured:
    """Send over a connection a client, with as little of a client as can be."""
    parts = urlsplit(address)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    )
    request = (
        f"{head}Authorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
    streams = [
        await asyncio.open_connection(parts.hostname, parts.port, limit=1 << 24)
        for _ in range(clients)
    ]

    async def send(number: int) -> bool:
        reader, writer = streams[number]
        try:
            writer.write(request)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", answer)
            got = await reader.readexactly(int(length[1])) if length else b""
        except (OSError, asyncio.IncompleteReadError):
            streams[number] = await asyncio.open_connection(
                parts.hostname, parts.port, limit=1 << 24
            )
            return False
        return answer.startswith(b"HTTP/1.1 200 ") and not got.startswith(b'{"error":"')

    await asyncio.gather(*(send(number) for number in range(clients)))
    measured = await load(send, clients, seconds)
    for _, writer in streams:
        writer.close()
    return measured


async def in_process(path: str, body: bytes, clients: int, seconds: float) -> Measured:
    """Send to the same application without a socket, as the embedded service is used."""
    import httpx

    from jupyter_funcs.service import embedded

    headers = {
        "Authorization": f"Bearer {embedded().token}",
        "Content-Type": "application/json",
    }
    transport = httpx.ASGITransport(embedded().app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://localhost", headers=headers
    ) as client:

        async def send(_number: int) -> bool:
            return (await client.post(path, content=body)).status_code == 200

        await send(0)
        return await load(send, clients, seconds)


@contextlib.contextmanager
def started(command: list[str], address: str) -> Iterator[str]:
    """Start a server, and return what it says its address is."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = []
        try:
            for line in process.stderr:
                lines.append(line)
                if match := re.search(address, line):
                    break
            else:
                raise RuntimeError("".join(lines))
            # A full pipe would stop it.
            threading.Thread(target=process.stderr.read, daemon=True).start()
            yield match[1]
        finally:
            process.terminate()


def measure(
    address: str, path: str, body: bytes, token: str, clients: int, seconds: float
) -> Measured:
    """Send from another process, so that the clients do not compute in the server's turn."""
    job = json.dumps([address, path, body.decode(), token, clients, seconds])
    command = [sys.executable, "-m", "tests.benchmarks.http", "load"]
    done = subprocess.run(
        command, input=job, capture_output=True, text=True, check=True
    )
    rate, milliseconds, lost = json.loads(done.stdout)
    return Measured(
        rate, {int(percent): value for percent, value in milliseconds.items()}, lost
    )


def main(seconds: float) -> int:
    """Measure, and print the table; returns how many replies were lost."""
    lost = 0
    titles = (
        "clients",
        "a second",
        "p50 ms",
        "p95",
        "p99",
        "lost",
        "/ hello",
        "/ in process",
    )
    print(
        " " * 28
        + "".join(
            title.rjust(width) for title, width in zip(titles, _WIDTHS, strict=True)
        )
    )

    def row(name: str, clients: int, got: Measured, *ratios: float) -> None:
        nonlocal lost
        lost += got.lost
        times = (f"{milliseconds:.2f}" for milliseconds in got.milliseconds.values())
        cells = (
            str(clients),
            f"{got.rate:.0f}",
            *times,
            str(got.lost),
            *(f"{ratio:.2f}" for ratio in ratios),
        )
        line = "".join(
            cell.rjust(width) for cell, width in zip(cells, _WIDTHS, strict=False)
        )
        print(name.ljust(28) + line, flush=True)

    serve = [sys.executable, "-m", "jupyter_funcs.cli.main", "serve", "--port", "0"]
    token_of = [
        sys.executable,
        "-m",
        "jupyter_funcs.cli.main",
        "token",
        "--user",
        "analyst",
        "--hours",
        "1",
    ]
    with (
        tempfile.TemporaryDirectory() as os.environ["FUNCS_STATE_DIR"],
        started([sys.executable, "-c", HELLO], r"running on (\S+)") as hello,
        started(serve, r"FUNCS_BASE_URL=(\S+)") as service,
    ):
        token = subprocess.run(
            token_of, capture_output=True, text=True, check=True
        ).stdout.strip()
        for name, (path, body) in CASES.items():
            encoded = json.dumps(body).encode()
            for clients in CLIENTS:
                # Just before and after, because what else the machine does changes within a run.
                bare = measure(hello, "/hello", b"{}", "x", clients, seconds / 2)
                got = measure(service, path, encoded, token, clients, seconds)
                again = measure(hello, "/hello", b"{}", "x", clients, seconds / 2)
                beside = asyncio.run(in_process(path, encoded, clients, seconds))
                row(
                    name,
                    clients,
                    got,
                    got.rate * 2 / (bare.rate + again.rate),
                    got.rate / beside.rate,
                )
    return lost


if __name__ == "__main__":
    if sys.argv[1:] == ["load"]:
        address, path, body, token, clients, seconds = json.load(sys.stdin)
        print(
            json.dumps(
                asyncio.run(
                    over_http(address, path, body.encode(), token, clients, seconds)
                )
            )
        )
    else:
        sys.exit(main(float(sys.argv[1]) if sys.argv[1:] else 5) > 0)

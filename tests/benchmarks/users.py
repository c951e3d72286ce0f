"""
A published function under many users: rates and waiting times beside those of one user in the same run.

    python -m tests.benchmarks.users              # all parts, about two minutes
    python -m tests.benchmarks.users warm naps    # some of them: warm, cold, naps

Each part starts a service of its own, with two processors or more beside the client. It prints calls per second, their
ratio to one user's, and the median and the 99th percentile of the times. No test runs this.
"""
# ruff: noqa: T201 - it prints a table

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_funcs.service.accounts import state_folder
from jupyter_funcs.service.accounts.auth import Auth

if TYPE_CHECKING:
    from collections.abc import Iterator

FUNCTIONS = """
import time

import pandas as pd

from jupyter_funcs.service import function


@function
def add(a: int, b: int) -> int:
    return a + b


@function
def nap(seconds: float) -> int:
    time.sleep(seconds)
    return 1
"""
USERS = 200
SECONDS = 6
TARGETS = {16: 0.45, 64: 0.28, 200: 0.18}


class Served:
    """A service in a process of its own, and the tokens of its users."""

    def __init__(self, port: int, tokens: list[str]) -> None:
        self.port = port
        self.tokens = tokens

    async def call(self, user: int, name: str, **args: str) -> Connection:
        """Open a connection and run a function once."""
        connection = Connection(*await asyncio.open_connection("127.0.0.1", self.port))
        connection.request = request(self.tokens[user], name, args)
        await connection.run()
        return connection


class Connection:
    """One client, which sends its request again and again."""

    request: bytes

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.reader = reader
        self.writer = writer

    async def run(self) -> float:
        """Send the request and return how long the reply took, in seconds."""
        began = time.perf_counter()
        self.writer.write(self.request)
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        assert length
        body = await self.reader.readexactly(int(length[1]))
        assert b" 200 " in head[:20], (head, body)
        assert json.loads(body)["error"] is None, body
        return time.perf_counter() - began

    async def repeat(self, until: float) -> list[float]:
        """Run until a time, and return how long each run took."""
        seconds = []
        while time.perf_counter() < until:
            seconds.append(await self.run())
        return seconds


def request(token: str, name: str, args: dict[str, str]) -> bytes:
    body = json.dumps({"FunctionName": name, "Args": args})
    lines = [
        "POST /api/function/runFunction HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*lines, "", body]).encode()


@contextlib.contextmanager
def serving(**server: object) -> Iterator[Served]:
    """Serve the functions with some keys of ``[server]``."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "published").mkdir()
        (folder / "published" / "team.py").write_text(FUNCTIONS)
        keys = "".join(f"{key} = {value}\n" for key, value in server.items())
        config = folder / "service.toml"
        config.write_text(
            f'organisation = "Team"\nstate = "state"\n[server]\nport = 0\nbehind_proxy = true\n{keys}'
            '[functions]\nbuiltin = false\nfolders = ["published"]\nasset = "a"\n'
        )
        grants = state_folder.open_grants(
            state_folder.folder(folder / "state", demo=False)
        )
        grants.add_asset("a", organisation="Team", is_shared=True)
        auth = Auth(state_folder.open_keys(folder / "state"), grants)
        tokens = []
        for number in range(USERS):
            grants.add_user(f"user{number}", organisation="Team")
            tokens.append(auth.issue(f"user{number}", 8))
        grants.close()
        command = [
            sys.executable,
            "-m",
            "jupyter_funcs.cli.main",
            "serve",
            "--config",
            str(config),
        ]
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(command, stderr=log, stdout=log)
        try:
            yield Served(listening(folder / "log", process), tokens)
        finally:
            process.terminate()
            process.wait()


def listening(log: Path, process: subprocess.Popen[bytes]) -> int:
    """Wait for a service, and return its port."""
    while process.poll() is None:
        if match := re.search(r"Serving .* at \S+:(\d+)", log.read_text()):
            return int(match[1])
        time.sleep(0.1)
    raise RuntimeError(log.read_text())


async def rate(
    service: Served, users: int, connections: int = 0
) -> tuple[float, list[float]]:
    """Return the calls per second of some users, with their workers warm, and the times of the calls."""
    clients = await asyncio.gather(
        *(
            service.call(at % users, "Add", a="1", b="2")
            for at in range(connections or users)
        )
    )
    began = time.perf_counter()
    times = await asyncio.gather(
        *(client.repeat(began + SECONDS) for client in clients)
    )
    ended = time.perf_counter()
    for client in clients:
        client.writer.close()
    seconds = sorted(second for client in times for second in client)
    return len(seconds) / (ended - began), seconds


def show(
    what: str,
    calls: float,
    seconds: list[float],
    calls_of_one: float = 0,
    target: str = "",
) -> None:
    middle = statistics.median(seconds) * 1000
    last = seconds[int(len(seconds) * 0.99)] * 1000
    ratio = f"{calls / calls_of_one:6.2f}" if calls_of_one else " " * 6
    print(
        f"{what:32}{calls:9,.1f}/s{ratio}{middle:10,.1f} ms{last:10,.1f} ms  {target}",
        flush=True,
    )


def warm() -> None:
    """Compare users, each with a warm worker, with one user."""
    with serving() as service:
        calls_of_one, seconds = asyncio.run(rate(service, 1))
        show("one user", calls_of_one, seconds)
        for users, target in TARGETS.items():
            began = time.perf_counter()
            calls, seconds = asyncio.run(rate(service, users))
            started = time.perf_counter() - began - SECONDS
            show(
                f"{users} users",
                calls,
                seconds,
                calls_of_one,
                f"target {target}; started in {started:.1f} s",
            )
        show(
            "one user, 16 connections", *asyncio.run(rate(service, 1, 16)), calls_of_one
        )


def cold() -> None:
    """Fork for each call."""
    with serving(idle_workers=0) as service:
        for users in (1, 4, 16):
            show(
                f"{users} user(s), cold",
                *asyncio.run(rate(service, users)),
                target="target 40/s",
            )


def naps() -> None:
    """Compare a third user's calls beside 32 naps of two users with the same alone."""

    async def compare(service: Served) -> None:
        third = await service.call(2, "Add", a="1", b="2")
        alone = await third.repeat(time.perf_counter() + SECONDS)
        naps = [
            asyncio.create_task(service.call(at % 2, "Nap", seconds="40"))
            for at in range(64)
        ]
        await asyncio.sleep(1)
        beside = await third.repeat(time.perf_counter() + SECONDS)
        fresh = time.perf_counter()
        await service.call(3, "Add", a="1", b="2")
        fresh = time.perf_counter() - fresh
        await asyncio.sleep(5)
        calm = await third.repeat(time.perf_counter() + SECONDS)
        for what, seconds in (
            ("alone", alone),
            ("as 64 naps start", beside),
            ("beside 64 naps", calm),
        ):
            show(f"a third user, {what}", len(seconds) / SECONDS, sorted(seconds))
        print(f"a fourth user's first call beside them: {fresh * 1000:,.1f} ms")
        await asyncio.gather(*naps)

    with serving() as service:
        asyncio.run(compare(service))


def main() -> None:
    """Run the parts that are named, or all."""
    parts = {part.__name__: part for part in (warm, cold, naps)}
    print(f"{os.cpu_count()} processors; calls a second, to one user's, median, 99 %\n")
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()

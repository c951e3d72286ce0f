"""
A sweep of 500 runs that take the service 50 ms each: ``python -m tests.benchmarks.sweep [REPEATS]``.

By Little's law no client can be done before ``500 * 50 ms / in flight``; each figure is a fraction of that limit, and 1
is all of it. Beside the sweep stand, in the same run, what else a person might write: one `httpx.AsyncClient` with a
pool as large as what is in flight, aiohttp, and one request after the other; and bare sockets, which show what this
machine gives at all. The service is a process of its own that answers each request after 50 ms. aiohttp is no
dependency; without it its column is left out, with a line::

    pip install aiohttp

"bytes" is the transport alone: what is sent and what comes. "sweep" is `sweep` with ``cache=False``: each reply becomes
a frame of 50 rows, and all of them one. Beside each stands the processor's time, in milliseconds a run: it is what a
busy machine changes least. Then: what a second sweep costs of the first where the cache is on, and what stacking 10,000
blocks costs beside `pd.concat`.
"""
# ruff: noqa: T201 - it prints a table

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from tests.benchmarks.http import started

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from jupyter_funcs.catalog.form import Args

RUNS = 500
SECONDS = 0.05
IN_FLIGHT = (32, 64, 256)
RUN = "/api/function/runFunction"
TARGETS = {("bytes", 32): 0.80, ("sweep", 32): 0.60}
MOST_OF_THE_FIRST = 0.20
SEQUENTIAL = 40  # of the runs: one after the other they would take half a minute
BLOCKS = 10_000
TOKEN = "a-token-of-the-benchmark"
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
SERVICE = """
import asyncio, json, sys
seconds, rows = float(sys.argv[1]), int(sys.argv[2])
records = [{"Date": f"2025-{1 + day // 28:02d}-{1 + day % 28:02d}", "Symbol": "NVRA US EQUITY", "Spend": day * 1.37,
            "Cards": day, "Growth": None if day % 7 else 0.25} for day in range(rows)]
def reply(body):
    return b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body
few = reply(json.dumps({"error": None, "body": "7"}).encode())
many = reply(json.dumps({"error": None, "body": json.dumps(records)}).encode())
listing = reply(json.dumps([{"name": "Frames", "params": [{"name": "a"}]}]).encode())
class Service(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.buffer = transport, b""
    def data_received(self, data):
        self.buffer += data
        head, end, body = self.buffer.partition(b"\\r\\n\\r\\n")
        if not end or len(body) < int(head.lower().partition(b"content-length:")[2].split(b"\\r\\n")[0]):
            return
        self.buffer = b""
        answer = listing if b"ListUserFunctions" in head else many if b"Frames" in body else few
        asyncio.get_running_loop().call_later(seconds, self.transport.write, answer)
async def main():
    server = await asyncio.get_running_loop().create_server(Service, "127.0.0.1", 0, backlog=1024)
    print("on http://127.0.0.1:%d" % server.sockets[0].getsockname()[1], file=sys.stderr, flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


class Took(NamedTuple):
    """Seconds for all runs by the clock, and of this process's processor for each."""

    clock: float
    processor: float


class Watch:
    """Says what was taken since it was made."""

    def __init__(self) -> None:
        self._clock = time.perf_counter()
        self._processor = time.process_time()

    def took(self, runs: int = RUNS) -> Took:
        return Took(
            time.perf_counter() - self._clock,
            (time.process_time() - self._processor) / runs,
        )


def body(number: int, function: str = "Bytes") -> bytes:
    return json.dumps({"FunctionName": function, "Args": {"a": str(number)}}).encode()


async def timed(send: Callable[[int], Awaitable[object]], in_flight: int) -> Took:
    """Return what the runs take, so many at a time; connections are open before."""
    await asyncio.gather(*(send(number) for number in range(in_flight)))
    numbers = iter(range(RUNS))

    async def client() -> None:
        for number in numbers:
            await send(number)

    watch = Watch()
    await asyncio.gather(*(client() for _ in range(in_flight)))
    return watch.took()


async def bare(url: str, in_flight: int) -> Took:
    """Sockets, and nothing that looks at what comes beyond its end."""
    parts = urlsplit(url)
    free: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = (
        asyncio.Queue()
    )
    for _ in range(in_flight):
        free.put_nowait(await asyncio.open_connection(parts.hostname, parts.port))
    head = f"POST {RUN} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: "

    async def send(number: int) -> None:
        reader, writer = free.get_nowait()
        data = body(number)
        writer.write(f"{head}{len(data)}\r\n\r\n".encode() + data)
        await reader.readuntil(b"\r\n\r\n")
        await reader.readuntil(b"}")
        free.put_nowait((reader, writer))

    took = await timed(send, in_flight)
    for writer in [free.get_nowait()[1] for _ in range(in_flight)]:
        writer.close()
    return took


async def one_pool(url: str, in_flight: int) -> Took:
    """Return the time of an `httpx.AsyncClient` whose one pool is large enough."""
    import httpx

    limits = httpx.Limits(
        max_connections=in_flight, max_keepalive_connections=in_flight
    )
    async with httpx.AsyncClient(
        base_url=url, headers=HEADERS, limits=limits, timeout=60
    ) as client:
        return await timed(
            lambda number: client.post(RUN, content=body(number)), in_flight
        )


async def with_aiohttp(url: str, in_flight: int) -> Took:
    """Return what aiohttp takes."""
    import aiohttp

    connector = aiohttp.TCPConnector(limit=in_flight)
    async with aiohttp.ClientSession(
        url, headers=HEADERS, connector=connector
    ) as client:

        async def send(number: int) -> bytes:
            async with client.post(RUN, data=body(number)) as reply:
                return await reply.read()

        return await timed(send, in_flight)


async def transport(url: str, in_flight: int) -> Took:
    """Return what our transport takes, with all that it looks after, and no frames."""
    from jupyter_funcs.connection.profiles import resolve
    from jupyter_funcs.connection.retries import Purpose
    from jupyter_funcs.connection.transport import Terms, Transport

    connection = resolve(url, TOKEN)
    assert connection is not None
    ours = Transport(connection)

    async def send(number: int) -> object:
        until = asyncio.get_running_loop().time() + 60
        payload = {"FunctionName": "Bytes", "Args": {"a": str(number)}}
        return await ours.send(f"POST {RUN}", payload, Terms(Purpose.SWEEP, until))

    took = await timed(send, in_flight)
    await ours.close()
    return took


def sweeper(url: str) -> Callable[..., Took]:
    """Return a function that sweeps and returns how long it took."""
    import jupyter_funcs as jf

    function = jf.connect(url, token=TOKEN)["Frames"].with_options(progress=False)

    def sweep(in_flight: int, *, cache: bool = False, runs: int = RUNS) -> Took:
        varied = function.with_options(concurrency=in_flight, cache=cache)
        watch = Watch()
        frame = varied.sweep(a=[str(number) for number in range(runs)])
        took = watch.took(runs)
        assert not frame.attrs["errors"], frame.attrs["errors"][0]
        assert len(frame) == runs * 50
        return took

    # Opens the connections, and imports pandas.
    sweep(max(IN_FLIGHT), runs=max(IN_FLIGHT))
    return sweep


def sequential(url: str) -> float:
    """Return what a person's loop would take for all runs."""
    import httpx

    with httpx.Client(base_url=url, headers=HEADERS, timeout=60) as client:
        client.post(RUN, content=body(0))
        began = time.perf_counter()
        for number in range(SEQUENTIAL):
            client.post(RUN, content=body(number))
        return (time.perf_counter() - began) * RUNS / SEQUENTIAL


def stacking(repeats: int) -> tuple[float, float]:
    """Return the seconds of `stacked` and of `pd.concat` for so many small blocks."""
    import pandas as pd

    from jupyter_funcs.catalog.fields import Field, Kind
    from jupyter_funcs.sweeps.stacking import stacked

    block = pd.DataFrame(
        {
            "s": pd.array(["x", None] * 5, dtype="string"),
            "n": range(10),
            "f": [0.5] * 10,
        }
    )
    blocks: list[tuple[Args, pd.DataFrame]] = [
        ({"a": str(number)}, block.copy()) for number in range(BLOCKS)
    ]
    ours = []
    theirs = []
    for _ in range(repeats):
        began = time.perf_counter()
        pd.concat([frame for _, frame in blocks], ignore_index=True)
        theirs.append(time.perf_counter() - began)
        began = time.perf_counter()
        stacked(blocks, {"a": Field("a", "a", Kind.TEXT, "a", "")})
        ours.append(time.perf_counter() - began)
    return min(ours), min(theirs)


def throughput(url: str, repeats: int) -> dict[tuple[str, int], float]:
    """Print the table of clients; return the fraction of the limit by client and what is in flight."""
    sweep = sweeper(url)
    clients: dict[str, Callable[[int], Took]] = {
        "bare sockets": lambda in_flight: asyncio.run(bare(url, in_flight)),
        "bytes": lambda in_flight: asyncio.run(transport(url, in_flight)),
        "sweep": sweep,
        "one httpx pool": lambda in_flight: asyncio.run(one_pool(url, in_flight)),
        "aiohttp": lambda in_flight: asyncio.run(with_aiohttp(url, in_flight)),
    }
    if importlib.util.find_spec("aiohttp") is None:
        del clients["aiohttp"]
        print("aiohttp is not installed and is left out.\n")
    print(f"{RUNS} runs of {SECONDS * 1000:g} ms, medians of {repeats}:")
    print(
        "seconds, the fraction of Little's law, and milliseconds of the processor a run\n"
    )
    print(" " * 16 + "".join(f"{in_flight:>15} in flight" for in_flight in IN_FLIGHT))
    print(
        "limit".ljust(16)
        + "".join(
            f"{RUNS * SECONDS / in_flight:14.3f} 1.00 {'':6}" for in_flight in IN_FLIGHT
        )
    )
    measurements: dict[tuple[str, int], list[Took]] = {}
    for _ in range(repeats):
        for in_flight in IN_FLIGHT:
            for name, client in clients.items():
                measurements.setdefault((name, in_flight), []).append(client(in_flight))
    fractions = {}
    for name in clients:
        cells = ""
        for in_flight in IN_FLIGHT:
            clock, processor = map(
                statistics.median, zip(*measurements[name, in_flight], strict=True)
            )
            fractions[name, in_flight] = RUNS * SECONDS / in_flight / clock
            cells += f"{clock:14.3f} {fractions[name, in_flight]:4.2f} {processor * 1000:5.2f} "
        print(name.ljust(16) + cells)
    took = sequential(url)
    times = took / statistics.median(
        figures.clock for figures in measurements["sweep", 32]
    )
    print(
        f"{'one by one':16}{took:14.3f}      {times:.0f} times as long as a sweep of 32 at a time\n"
    )
    return fractions


def main(repeats: int = 3) -> int:
    """Print the tables; return how many targets are missed."""
    missed = 0

    def judge(name: str, value: float, target: float, *, is_kept: bool) -> None:
        nonlocal missed
        missed += not is_kept
        print(
            f"{name:56}{value:6.2f}   target {target:.2f}: {'kept' if is_kept else 'MISSED'}"
        )

    with (
        tempfile.TemporaryDirectory() as os.environ["FUNCS_RESULTS_DIR"],
        started(
            [sys.executable, "-c", SERVICE, str(SECONDS), "50"], r"on (\S+)"
        ) as url,
    ):
        fractions = throughput(url, repeats)
        for (name, in_flight), target in TARGETS.items():
            value = fractions[name, in_flight]
            judge(
                f"{name} at {in_flight}, of the limit",
                value,
                target,
                is_kept=value >= target,
            )
        for name in ("bytes", "sweep"):  # in runs a second
            value = fractions[name, 256] * 256 / (fractions[name, 64] * 64)
            judge(
                f"{name}: runs a second at 256, of those at 64",
                value,
                0.8,
                is_kept=value >= 0.8,
            )
        sweep = sweeper(url)
        first, second = (sweep(32, cache=True).clock for _ in range(2))
        name = "a second sweep, of the first, with the cache"
        judge(
            name,
            second / first,
            MOST_OF_THE_FIRST,
            is_kept=second <= first * MOST_OF_THE_FIRST,
        )
        print(f"    {first:.3f} s and {second:.3f} s")
    ours, theirs = stacking(repeats)
    judge(
        f"stacking {BLOCKS:,} blocks, of pd.concat",
        ours / theirs,
        4,
        is_kept=ours <= theirs * 4,
    )
    print(
        f"\npeak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB"
    )
    return missed


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))

"""
What the private parts of dependencies that the client uses are worth: ``python -m tests.benchmarks.private_parts``.

Each is measured with and without, in turn and in one run, so that a ratio says what going without would cost. One that
isn't worth at least a tenth has to go.
"""
# ruff: noqa: T201 - it prints a table

from __future__ import annotations

import asyncio
import contextlib
import resource
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING
from unittest import mock

from tests.benchmarks.http import HELLO, started

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 7
REQUESTS = 300
SPACES = 30_000
WHOLE = "import httpx"
WITHOUT_COMMAND_LINE = "import sys; sys.modules['httpx._main'] = None; import httpx"


def importing(code: str) -> float:
    """Return the seconds of processor time of a new process that imports httpx."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def requesting(url: str, *, looks: bool) -> float:
    """Return the seconds of requests one after the other, which look for unread bytes or need a new connection each."""
    from jupyter_funcs.connection import http
    from jupyter_funcs.connection.profiles import resolve
    from jupyter_funcs.connection.replies import Reply
    from jupyter_funcs.core.background import Progress

    connection = resolve(url, token="x")  # the server takes any
    assert connection is not None

    async def run() -> float:
        exchange = http.Exchange(connection)
        request = http.Request("POST", f"{url}/hello", {})
        began = time.perf_counter()
        for _ in range(REQUESTS):
            reply = await exchange.send(request, [], 2**20, Progress())
            assert isinstance(reply, Reply), reply
        took = time.perf_counter() - began
        await exchange.close()
        return took

    without = mock.patch.object(http, "_has_unread", return_value=True)
    with contextlib.nullcontext() if looks else without:
        return asyncio.run(run())


def reading(*, bounds: bool) -> float:
    """Return the seconds in which h11 refuses a header of many spaces, with our pattern or its own."""
    import re

    from h11 import _abnf, _readers

    from jupyter_funcs.connection.http import _bound_header_pattern

    _readers.header_field_re = re.compile(_abnf.header_field.encode())
    if bounds:
        _bound_header_pattern()
    began = time.perf_counter()
    assert not _readers.header_field_re.fullmatch(b"a:" + b" " * SPACES + b"\x00")
    return time.perf_counter() - began


def compared(
    title: str, with_it: Callable[[], float], without: Callable[[], float]
) -> None:
    """Print the medians of both, and how many times as long it takes without."""
    pairs = [(with_it(), without()) for _ in range(ROUNDS)]
    with_them, without_them = (
        statistics.median(column) for column in zip(*pairs, strict=True)
    )
    milliseconds = f"{with_them * 1000:10,.1f} ms{without_them * 1000:12,.1f} ms"
    print(f"{title:52}{milliseconds}{without_them / with_them:10.1f} x", flush=True)


def main() -> None:
    """Print a line for each private part."""
    print(f"{'medians':52}{'with it':>13}{'without':>15}{'ratio':>12}")
    compared(
        "httpx._main: import httpx, of the processor",
        lambda: importing(WITHOUT_COMMAND_LINE),
        lambda: importing(WHOLE),
    )
    with started([sys.executable, "-c", HELLO], r"running on (\S+)") as url:
        compared(
            f"httpcore, h11: {REQUESTS} requests on a kept connection",
            lambda: requesting(url, looks=True),
            lambda: requesting(url, looks=False),
        )
    compared(
        f"h11: a header of {SPACES:,} spaces",
        lambda: reading(bounds=True),
        lambda: reading(bounds=False),
    )


if __name__ == "__main__":
    main()

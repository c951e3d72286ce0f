"""The loop on which requests and workers run."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref

from jupyter_funcs.core import background


def test_a_coroutine_to_which_nobody_refers_runs_to_its_end() -> None:
    """Not even the loop does, if what it waits for refers to it alone."""
    waiting: list[weakref.ref[asyncio.Future[None]]] = []
    begun = threading.Event()
    ended = threading.Event()

    async def wait() -> None:
        answer = asyncio.get_running_loop().create_future()
        waiting.append(weakref.ref(answer))
        begun.set()
        await answer
        ended.set()

    background.start(wait())
    assert begun.wait(60)
    gc.collect()
    answer = waiting[0]()
    assert answer is not None
    background.background_loop().call_soon_threadsafe(answer.set_result, None)
    assert ended.wait(60)

"""Remote: a service as the background loop meets it, with a listing, runs, and what its listing functions give."""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from functools import partial
from typing import TYPE_CHECKING

from jupyter_funcs.callables import request
from jupyter_funcs.choices import Choices
from jupyter_funcs.deadline import clock, within
from jupyter_funcs.exchange import LIST_PATH, RUN_PATH
from jupyter_funcs.progress import MOST_KEPT, Progress
from jupyter_funcs.retries import Purpose
from jupyter_funcs.transport import Terms

if TYPE_CHECKING:
    import pandas as pd

    from jupyter_funcs.cache import Cache
    from jupyter_funcs.forms import Args
    from jupyter_funcs.options import Options
    from jupyter_funcs.reply import Reply
    from jupyter_funcs.transport import Transport

LIST_SECONDS = 20.0
_SMALL = 64 * 1024  # bytes that are read in about a millisecond


class Remote:
    """What is sent and what comes back, on the background loop; nothing of it is for a person to call."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.choices = Choices(self.run)

    async def listing(self) -> Reply:
        """Ask for the functions."""
        progress, terms = Progress(), Terms(Purpose.LISTING, until=clock() + LIST_SECONDS)
        work = self.transport.post(LIST_PATH, {}, terms, progress)
        return await within(LIST_SECONDS, work, "The listing of the functions", progress, terms.until)

    async def run(
        self, function: str, args: Args, options: Options, progress: Progress, purpose: Purpose = Purpose.RUN
    ) -> pd.DataFrame:
        """
        Run a function by its wire name, on the background loop; `progress` is told how far it has come.

        Raises
        ------
        FuncsError
            What the run failed with.
        """
        started, began = time.time(), time.monotonic()
        until = clock() + options.timeout
        terms = Terms(purpose, until, options.max_bytes, options.retries, force=options.force)
        work = self._fetch(function, args, options, progress, terms)
        frame = await within(options.timeout, work, function, progress, until)
        frame.attrs["funcs"] = {
            **frame.attrs.get("funcs", {}),
            "function": function,
            "args": {name: list(value) if isinstance(value, list) else value for name, value in args.items()},
            "time": dt.datetime.fromtimestamp(started, dt.UTC).isoformat(timespec="seconds"),
            "service": self.transport.connection.name,
            "elapsed": round(time.monotonic() - began, 3),
            "bytes": progress.received,
            "attempts": progress.attempts,
        }
        self.choices.hold(function, args, frame)
        return frame

    async def identity(self, cache: Cache) -> str:
        """Give who asks where, as the keys of the cache know it; the token's source is asked."""
        secret = await within(LIST_SECONDS, self.transport.secret(), "The token's source")
        return await asyncio.to_thread(cache.identity, self.transport.connection, secret)

    async def _fetch(
        self, function: str, args: Args, options: Options, progress: Progress, terms: Terms
    ) -> pd.DataFrame:
        from jupyter_funcs.frame import to_frame  # noqa: PLC0415  # pandas, only when there is a reply to read

        reply = await self.transport.post(RUN_PATH, request(function, args), terms, progress)
        if progress.on_answer is not None:
            progress.on_answer()
        read = partial(to_frame, schema=options.schema, lines=reply.lines)
        if len(reply.data) <= _SMALL:
            # Here: while a thread reads, this loop waits for its turn longer than the reading takes. And one at a time,
            # what is to be sent before it, so that the service is at work while replies are read.
            async with self.transport.turn:
                await asyncio.sleep(0)
                frame = reply.read(read)
        else:
            frame = await asyncio.to_thread(reply.read, read)
        if progress.keeps and progress.received <= MOST_KEPT:
            progress.reply = await asyncio.to_thread(reply.without_token)
        return frame

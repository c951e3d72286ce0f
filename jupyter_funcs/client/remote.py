"""Requests to the service on the background loop: listings, runs read into frames, choices."""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from functools import partial
from typing import TYPE_CHECKING

from jupyter_funcs.client.choices import Choices
from jupyter_funcs.connection.replies import LIST_PATH, RUN_PATH
from jupyter_funcs.connection.retries import Purpose
from jupyter_funcs.connection.secrets import redacted_values
from jupyter_funcs.connection.transport import Terms, run_body
from jupyter_funcs.core.background import loop_time, with_deadline
from jupyter_funcs.core.progress import MAX_RAW_REPLY, Progress

if TYPE_CHECKING:
    import pandas as pd

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.client.cache import Cache
    from jupyter_funcs.client.options import CallOptions
    from jupyter_funcs.connection.replies import Reply
    from jupyter_funcs.connection.transport import Transport

LIST_SECONDS = 20.0
_SMALL = 64 * 1024  # bytes; read in about a millisecond


class Remote:
    """Sends requests to the service and reads the replies into frames."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.choices = Choices(self.run)

    async def listing(self) -> Reply:
        """Ask the service for its functions."""
        progress, terms = Progress(), Terms(Purpose.LISTING, until=loop_time() + LIST_SECONDS)
        work = self.transport.post(LIST_PATH, {}, terms, progress)
        return await with_deadline(LIST_SECONDS, work, "The listing of the functions", progress, terms.until)

    async def run(
        self, function: str, args: Args, options: CallOptions, progress: Progress, purpose: Purpose = Purpose.RUN
    ) -> pd.DataFrame:
        """Run a function by its wire name, on the background loop, and report to `progress`."""
        started, began = time.time(), time.monotonic()
        until = loop_time() + options.timeout
        terms = Terms(purpose, until, options.max_bytes, options.retries, force=options.force)
        work = self._fetch(function, args, options, progress, terms)
        frame = await with_deadline(options.timeout, work, function, progress, until)
        frame.attrs["funcs"] = {
            **frame.attrs.get("funcs", {}),
            "function": function,
            "args": redacted_values(args),
            "time": dt.datetime.fromtimestamp(started, dt.UTC).isoformat(timespec="seconds"),
            "service": self.transport.connection.name,
            "elapsed": round(time.monotonic() - began, 3),
            "bytes": progress.received,
            "attempts": progress.attempts,
        }
        self.choices.hold(function, args, frame)
        return frame

    async def identity(self, cache: Cache) -> str:
        """Return the user and service for the keys of the cache; this asks the token's source."""
        secret = await with_deadline(LIST_SECONDS, self.transport.secret(), "The token's source")
        return await asyncio.to_thread(cache.identity, self.transport.connection, secret)

    async def _fetch(
        self, function: str, args: Args, options: CallOptions, progress: Progress, terms: Terms
    ) -> pd.DataFrame:
        from jupyter_funcs.frames.frame import to_frame

        reply = await self.transport.post(RUN_PATH, run_body(function, args), terms, progress)
        if progress.on_answer is not None:
            progress.on_answer()
        read = partial(to_frame, schema=options.schema, lines=reply.lines)
        if len(reply.data) <= _SMALL:
            # On the loop, because handing a small reply to a thread takes longer than reading it. One at a time and
            # after pending requests are sent, so that the service works while replies are read.
            async with self.transport.turn:
                await asyncio.sleep(0)
                frame = reply.read(read)
        else:
            frame = await asyncio.to_thread(reply.read, read)
        if progress.keep_reply and progress.received <= MAX_RAW_REPLY:
            progress.reply = await asyncio.to_thread(reply.without_token)
        return frame

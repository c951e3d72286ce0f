"""The progress of a run: bytes, attempts, and the raw reply on request."""

from __future__ import annotations

import gzip
import threading
from typing import TYPE_CHECKING

import httpx

from jupyter_funcs.client import remote
from tests.conftest import wait_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import pytest

    from jupyter_funcs.api import Session

BODY = b'[{"a": 1}, {"a": 2}]'


LISTING = [{"name": "F"}]


class Pieces(httpx.AsyncByteStream):
    def __init__(self, go_on: threading.Event) -> None:
        self._go_on = go_on

    async def __aiter__(self) -> AsyncIterator[bytes]:
        import asyncio

        yield BODY[:10]
        await asyncio.to_thread(self._go_on.wait, 20)
        yield BODY[10:]


def test_the_bytes_are_counted_as_they_come(answering: Callable[..., Session]) -> None:
    """While a reply is being received, its job knows how much has arrived."""
    go_on = threading.Event()
    reply = httpx.Response(
        200, stream=Pieces(go_on), headers=[(b"x-request-id", b"r-\x9b1")]
    )
    function = answering(lambda _: reply, listing=LISTING)["F"]
    job = function.start({})
    wait_until(lambda: job.progress.received == 10)
    go_on.set()
    frame = job.result(60)
    assert job.progress.received == len(BODY)
    assert job.progress.attempts == 1
    assert job.progress.request_id == r"r-\x9b1"
    assert job.progress.reply is None
    told = frame.attrs["funcs"]
    assert (told["bytes"], told["attempts"]) == (len(BODY), 1)
    assert told["elapsed"] >= 0


def test_a_reply_is_kept_on_demand_as_it_came_and_without_the_token(
    answering: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`keep` stores the decompressed body without the token, unless it is too large."""
    body = b'[{"a": "a-token-of-the-tests"}]'
    headers = {"content-encoding": "gzip"}
    function = answering(
        lambda _: httpx.Response(200, content=gzip.compress(body), headers=headers),
        listing=LISTING,
    )["F"]
    job = function.start({}, keep_reply=True)
    job.result(60)
    assert job.progress.reply == b'[{"a": "****"}]'
    monkeypatch.setattr(remote, "MAX_RAW_REPLY", len(body) - 1)
    job = function.start({}, keep_reply=True)
    job.result(60)
    assert job.progress.reply is None


def test_a_renewed_token_is_a_second_attempt(answering: Callable[..., Session]) -> None:
    """A request sent again with a new token counts as two."""
    tokens = iter(["old", "old", "new", "new", "new"])
    replies = {
        "Bearer old": httpx.Response(401),
        "Bearer new": httpx.Response(200, json=[]),
    }
    session = answering(
        lambda sent: replies[sent.headers["authorization"]],
        lambda: next(tokens),
        LISTING,
    )
    job = session["F"].start({})
    job.result(60)
    assert job.progress.attempts == 2

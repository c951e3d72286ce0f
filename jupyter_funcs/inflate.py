"""
Gzip, inflated step by step, so that what a reply grows to is known before it has grown.

Only the standard library's zlib, since a decoder that inflates a whole chunk of the network at once (httpx's does) may
make 64 MB of 64 kB before anyone can say stop.
"""

from __future__ import annotations

import asyncio
import zlib
from typing import TYPE_CHECKING

from jupyter_funcs.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Iterator

# The most bytes that one step gives, and that it takes.
_STEP = 2**20
_TAKEN = 2**16
_WINDOW_OF_GZIP = 16 + zlib.MAX_WBITS
_HINT = "Run it again; if it stays so, tell the operator of the service."


async def inflated(pieces: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """
    Give what gzip data hold, in pieces of at most 1 MiB, none of which is inflated before it is asked for.

    Several gzip members after each other are one stream (RFC 1952, 2.2). No data at all give none.

    Parameters
    ----------
    pieces
        The compressed bytes, cut anywhere.

    Raises
    ------
    ProtocolError
        The data are broken, end before their end mark, or are followed by what is no gzip. Byte offsets are those of
        the compressed bytes and count from 0.
    """
    stream = _Stream()
    async for piece in pieces:
        for part in stream.inflate(piece):
            yield part
            await asyncio.sleep(0)  # one piece may hold much: the loop's other work, and a cancel, come in between
    stream.end()


class _Stream:
    """Gzip members after each other, and how many of their bytes have come."""

    def __init__(self) -> None:
        self.came = 0
        self.member: zlib._Decompress | None = None

    def inflate(self, piece: bytes) -> Iterator[bytes]:
        # zlib copies what it has not taken at each step: without slices a large piece would be copied over and over.
        for start in range(0, len(piece), _TAKEN):
            yield from self.steps(piece[start : start + _TAKEN])

    def steps(self, data: bytes) -> Iterator[bytes]:
        before = self.came
        self.came += len(data)
        while data:
            if self.member is None:
                if data[:1] != b"\x1f" and self.came > len(data):
                    raise ProtocolError(
                        f"The reply goes on after its gzip data, at byte {self.came - len(data):,}.", _HINT
                    )
                self.member = zlib.decompressobj(_WINDOW_OF_GZIP)
            try:
                part = self.member.decompress(data, _STEP)
            except zlib.error as error:
                reason = str(error).rpartition(": ")[2]
                raise ProtocolError(
                    f"The reply's gzip data are broken between byte {before:,} and byte {self.came:,}: {reason}.", _HINT
                ) from error
            if part:
                yield part
            if self.member.eof:
                data, self.member = self.member.unused_data, None
            else:
                data = self.member.unconsumed_tail

    def end(self) -> None:
        if self.member is not None:
            raise ProtocolError(f"The reply is cut short: its gzip data end at byte {self.came:,}.", _HINT)

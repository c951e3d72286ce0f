"""The progress of a run, updated while it runs and read by whoever shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_RAW_REPLY = 64 * 2**20  # bytes; a larger reply isn't kept beside the frame made of it


@dataclass(slots=True, eq=False)
class Progress:
    """The progress of one run: bytes received, requests sent, what the server says, and the raw reply if wanted."""

    keep_reply: bool = False
    received: int = 0
    attempts: int = 0
    request_id: str = ""
    said: str = ""
    reply: bytes | None = None
    on_answer: Callable[[], object] | None = None


@dataclass(slots=True, eq=False)
class SweepProgress(Progress):
    """The progress of a sweep; `attempts` and `received` are totals over its runs."""

    total: int = 0
    done: int = 0
    failed: int = 0
    cached: int = 0
    oldest: float | None = None
    waiting: str = ""

"""Ending a process with all that came from it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys

import psutil

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of whatever a descendant leaves behind, so that the tree stays whole; Linux alone can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_tree(pid: int) -> None:
    """Kill a process and its descendants, none of which gets to start another meanwhile."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        process.suspend()
        kill_descendants(process)
        process.kill()


def kill_descendants(process: psutil.Process | None = None) -> None:
    """Kill the descendants of a process, by default of this one."""
    process = process or psutil.Process(os.getpid())
    seen: set[psutil.Process] = set()
    # Again until there is no other: it may have started one before it was suspended, or have adopted one.
    while children := set(process.children()) - seen:
        seen |= children
        for child in children:
            kill_tree(child.pid)

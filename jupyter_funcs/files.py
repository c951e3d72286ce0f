"""Small files that several notebooks write: whole or not at all, and by one at a time."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sys
import time
from typing import TYPE_CHECKING

from jupyter_funcs.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Seconds that one notebook waits at most for another that is writing.
_PATIENCE = 2.0


def replace(path: Path, text: str) -> None:
    """
    Write a text file in one step, as `replace_bytes` does.

    Raises
    ------
    ArgumentError
        The text is none that a file takes.
    OSError
        It cannot be written; what was there stays.
    """
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError:
        raise ArgumentError("A value holds half a character (a lone surrogate), which no file takes.") from None
    replace_bytes(path, content)


def replace_bytes(path: Path, content: bytes) -> None:
    """
    Write a file in one step, so that nobody ever reads half of it.

    A link stays one, and what it points to is replaced. What is there and is no file, as ``/dev/null`` or a pipe, is
    written to: a superuser would put a file in its place.

    Raises
    ------
    OSError
        It cannot be written; what was there stays.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with aside.open("xb") as file:
            file.write(content)
        if path.exists():
            with path.open("ab"):  # one that may not be written is not replaced either
                shutil.copymode(path, aside)
        aside.replace(path)
    finally:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Let one notebook at a time write, where the system has such a lock; one that is stuck is not waited for."""
    if sys.platform == "win32":
        yield
        return
    import fcntl  # noqa: PLC0415  # not on Windows

    place = os.open(folder, os.O_RDONLY)
    try:
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            try:
                fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.01)
            except OSError:  # a file system without locks
                break
            else:
                break
        yield
    finally:
        os.close(place)

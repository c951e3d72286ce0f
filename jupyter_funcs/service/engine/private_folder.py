"""Folders for what one process writes for a while; a process that was killed leaves them to the next one."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path


class PrivateFolder:
    """A folder of this process, whose name begins with a prefix; also removes those that ended processes have left."""

    def __init__(self, prefix: str) -> None:
        for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
            with contextlib.suppress(OSError):  # already gone, or in use
                if sys.platform != "win32" and left.lstat().st_uid == os.getuid():
                    _end(left, _locked(left))
        new = Path(tempfile.mkdtemp(prefix=f"new.{prefix}"))
        lock: int | None = None
        with contextlib.suppress(OSError):  # a file system without locks: no other process can lock the folder either
            lock = _locked(new)
        # Others find it by this name, so it is locked before.
        self.path = new.rename(new.with_name(new.name.removeprefix("new.")))
        self.close = weakref.finalize(self, _end, self.path, lock)


def remove(folder: Path) -> None:
    """Remove a folder, whatever is in it."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists() and sys.platform != "win32":  # what is too deep for Python, or can't be read
        command = 'chmod -R u+rwx "$0"; rm -rf "$0"'
        subprocess.run(["/bin/sh", "-c", command, folder], stderr=subprocess.DEVNULL, check=False)  # noqa: S603 - our own


def _locked(path: Path) -> int | None:
    """Lock a folder and return the descriptor that holds the lock; raises `OSError` if another process has it."""
    if sys.platform == "win32":
        return None
    import fcntl

    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(folder)
        raise
    return folder


def _end(path: Path, lock: int | None) -> None:
    remove(path)
    if lock is not None:
        os.close(lock)

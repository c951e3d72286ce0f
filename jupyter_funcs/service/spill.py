"""
A private folder for what queries spill, which ends with its process.

DuckDB would make one itself when it needs it, but one that everybody may read. What a killed process has left, which
may be gigabytes, goes when the next one makes its own: a living one holds a lock on its folder.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
import weakref
from pathlib import Path

_PREFIX = "jupyter_funcs.queries."
# So new a folder may be one whose process is about to lock it.
_NEW_SECONDS = 60.0


class SpillFolder:
    """
    An empty folder that nobody else may read.

    Attributes
    ----------
    path
        Where it is.
    close
        Removes it; done at the latest when nobody holds it any more, or the process ends.
    """

    def __init__(self) -> None:
        home = Path(tempfile.gettempdir())
        for left in home.glob(f"{_PREFIX}*"):
            with contextlib.suppress(OSError):  # gone, in use or of somebody else
                _remove_left(left)
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        held: int | None = None
        with contextlib.suppress(OSError):  # a file system without locks; then nobody else gets one either
            held = _locked(self.path)
        self.close = weakref.finalize(self, _remove, self.path, held)


def _locked(path: Path) -> int | None:
    """Give what holds the lock on a folder, until it is closed; raises `OSError` where another process does."""
    if sys.platform == "win32":
        return None
    import fcntl  # noqa: PLC0415 - not on Windows

    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(folder)
        raise
    return folder


def _remove_left(path: Path) -> None:
    known = path.lstat()
    if sys.platform == "win32" or known.st_uid != os.getuid() or time.time() - known.st_mtime < _NEW_SECONDS:
        return
    _remove(path, _locked(path))


def _remove(path: Path, held: int | None) -> None:
    shutil.rmtree(path, ignore_errors=True)
    if held is not None:
        os.close(held)

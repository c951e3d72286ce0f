"""The demo's numbers as a Parquet file in the user's cache."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import shutil
import tempfile
import time
from pathlib import Path

import platformdirs

log = logging.getLogger(__name__)

VERSION = 4
"""Increase this with every change to the numbers or the file, so that older files aren't used."""

# Leftovers of a killed process are removed after this time: no other process can still be writing them.
_STALE_SECONDS = 3600
_END = b"PAR1"  # of a Parquet file


def cards() -> Path:
    """Return the demo's file in the user's cache (`FUNCS_CACHE_DIR`), or a temporary one if that isn't writable."""
    home = Path(os.environ.get("FUNCS_CACHE_DIR") or platformdirs.user_cache_path("jupyter_funcs"))
    try:
        return _cached(home)
    except OSError as error:
        log.warning("The cache folder %s cannot be written (%s); using a temporary one.", home, error)
    temporary = Path(tempfile.mkdtemp(prefix="jupyter_funcs."))
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return _cached(temporary)


def _cached(home: Path) -> Path:
    """Return the file in a folder, built if need be; it is always complete, even if several processes build it."""
    path = home / f"demo-{VERSION}.parquet"
    if _is_complete(path):
        return path
    home.mkdir(parents=True, exist_ok=True)
    for left in home.glob("demo-*.part"):
        with contextlib.suppress(FileNotFoundError):  # its process has just finished
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="demo-", suffix=".part", dir=home) as work:
        built = Path(work) / path.name
        build(built)
        if not _is_complete(path):  # another process may have been first
            built.replace(path)
    return path


def _is_complete(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            file.seek(-len(_END), os.SEEK_END)
            return file.read() == _END
    except OSError:
        return False


def build(into: Path) -> None:
    """Generate the demo's numbers and write its file, which takes seconds."""
    from jupyter_funcs.service.builtin import synthesis

    synthesis.write(into)

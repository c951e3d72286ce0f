"""A folder in the user's cache that is built once and is always complete, even if several processes build it."""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger(__name__)

_MANIFEST = "manifest.json"
# Leftovers of a killed process are removed after this time: no other process can still be writing them.
_STALE_SECONDS = 3600


def cached(name: str, build: Callable[[Path], None]) -> Path:
    """Return a folder in the user's cache (`FUNCS_CACHE_DIR`), or a temporary one if that isn't writable."""
    home = Path(os.environ.get("FUNCS_CACHE_DIR") or platformdirs.user_cache_path("jupyter_funcs"))
    if _is_complete(home / name):
        return home / name
    try:
        home.mkdir(parents=True, exist_ok=True)
        for left in home.glob(f"{name}.*.part"):
            with contextlib.suppress(FileNotFoundError):  # its process has just finished
                if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                    _remove(left)
        return _built(home, name, build)
    except OSError as error:
        log.warning("The cache folder %s cannot be written (%s); using a temporary one.", home, error)
    temporary = Path(tempfile.mkdtemp(prefix="jupyter_funcs."))
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return _built(temporary, name, build)


def _built(home: Path, name: str, build: Callable[[Path], None]) -> Path:
    target = home / name
    work = Path(tempfile.mkdtemp(prefix=f"{name}.", suffix=".part", dir=home))
    aside = work.with_name(f"{work.stem}.damaged.part")
    try:
        build(work)
        sizes = {path.name: path.stat().st_size for path in work.iterdir()}
        (work / _MANIFEST).write_text(json.dumps(sizes))
        try:
            work.rename(target)
        except OSError:
            # Another process was first, or the folder there is damaged and must be replaced.
            if not _is_complete(target):
                target.rename(aside)
                work.rename(target)
    finally:
        _remove(work)
        _remove(aside)
    return target


def _is_complete(folder: Path) -> bool:
    try:
        sizes = json.loads((folder / _MANIFEST).read_text())
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError):
        return False


def _remove(path: Path) -> None:
    if path.is_file():
        path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)

"""A folder in the user's cache that is made once, whole or not at all, whoever else makes it at the same time."""

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

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger(__name__)

_MANIFEST = "manifest.json"
# What a killed process left behind is removed when no living one can still be at it.
_STALE_SECONDS = 3600


def cached(name: str, build: Callable[[Path], None]) -> Path:
    """
    Give a folder of the user's cache, made by `build` unless it is there.

    The cache is the folder `FUNCS_CACHE_DIR` of the environment, else the one that the system has for it. Where it
    cannot be written, the folder is a temporary one that ends with the process.

    Parameters
    ----------
    name
        The folder's name; carries the version of what it holds.
    build
        Writes the files into the empty folder that it is given.
    """
    home = _home()
    if _is_whole(home / name):
        return home / name
    try:
        home.mkdir(parents=True, exist_ok=True)
        _sweep(home, name)
        return _made(home, name, build)
    except OSError as error:
        log.warning("The cache folder %s cannot be written (%s); using a temporary one.", home, error)
    temporary = Path(tempfile.mkdtemp(prefix="jupyter_funcs."))
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return _made(temporary, name, build)


def _home() -> Path:
    given = os.environ.get("FUNCS_CACHE_DIR")
    if given:
        return Path(given)
    import platformdirs  # noqa: PLC0415 - needed by the first run only

    return platformdirs.user_cache_path("jupyter_funcs")


def _made(home: Path, name: str, build: Callable[[Path], None]) -> Path:
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
            # Another process was first, or what lies there is damaged and gives way.
            if not _is_whole(target):
                target.rename(aside)
                work.rename(target)
    finally:
        _remove(work)
        _remove(aside)
    return target


def _is_whole(folder: Path) -> bool:
    try:
        sizes = json.loads((folder / _MANIFEST).read_text())
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError):
        return False


def _sweep(home: Path, name: str) -> None:
    for left in home.glob(f"{name}.*.part"):
        with contextlib.suppress(FileNotFoundError):  # whoever was still at it has just ended
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                _remove(left)


def _remove(path: Path) -> None:
    if path.is_file():
        path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)

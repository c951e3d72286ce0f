"""Small files that several notebooks may write at once: reads that end, atomic writes and a lock."""

from __future__ import annotations

import errno
import glob
import os
import secrets
import shutil
import stat
import sys
import time
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from jupyter_funcs.core.errors import ArgumentError, ConfigError
from jupyter_funcs.core.text import clip, inert, quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# The user's own files, apart from profiles and presets: the variable that names each, and where it is otherwise.
_OWN = {
    "favourites.json": ("FUNCS_FAVOURITES", "user_data_path"),
    "history.sqlite": ("FUNCS_HISTORY", "user_data_path"),
    "results": ("FUNCS_RESULTS_DIR", "user_cache_path"),
}
_STALE_SECONDS = 3600.0
# Then the holder is taken to be stuck, and the file is written without the lock.
_LOCK_SECONDS = 5.0


def expanded(path: str | os.PathLike[str]) -> Path:
    """Return a path with the home folder in place of its ``~``; as it is if there is no such user or folder."""
    with suppress(RuntimeError):
        return Path(path).expanduser()
    return Path(path)


def own_path(name: str) -> Path:
    """Return the path of a file or folder in the user's folders of data and caches, which may not exist."""
    variable, usual = _OWN[name]
    if path := os.environ.get(variable):
        return expanded(path)
    from platformdirs import PlatformDirs

    folder: Path = getattr(PlatformDirs("jupyter_funcs", appauthor=False), usual)
    # Without a home folder, one named "~" in the working directory.
    if not folder.is_absolute():
        folder = Path("/nonexistent")
    return folder / name


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading; raises an OSError for a pipe or a device, whose reading might never end."""
    descriptor = os.open(
        path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def read_small(path: Path, most: int = 2**20) -> bytes:
    """Return the content of a regular file of at most `most` bytes; raises an OSError for any other."""
    with open_regular(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(
            errno.EFBIG, f"it is larger than {most // 2**10:,} KiB", str(path)
        )

    return content


def read_toml(
    path: Path, what: str, hint: str, most: int = 2**20, most_dots: int = 2**20
) -> tuple[str, dict[str, Any]] | None:
    """
    Return the text and the contents of a TOML file, or ``None`` if there is none; raises a `ConfigError`.

    Reading a key takes time that grows with the square of its dots, so those of a line may be limited.
    """
    try:
        text = read_small(path, most).decode("utf-8-sig")
        if all(line.count(".") <= most_dots for line in text.split("\n")):
            import tomllib  # only where there is a file

            return text, tomllib.loads(text)
        wrong = "a line has too many dots"
    except FileNotFoundError:
        return None
    except RecursionError:
        wrong = "it is nested too deeply"
    except (OSError, ValueError) as error:  # from reading, decoding or parsing
        wrong = clip(getattr(error, "strerror", None) or str(error))

    # Out here, because the parser's error holds what it read.
    raise ConfigError(inert(f"{what} cannot be read: {wrong}."), hint)


@contextmanager
def named_error(path: Path, hint: str, what: str = "written") -> Iterator[None]:
    """Raise a `ConfigError` that names a file or a folder in place of the system's error."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(
            f"{quote(path, 200)} can't be {what}: {reason}.", hint
        ) from None


def atomic_write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError:
        raise ArgumentError(
            "A value contains half a character (a lone surrogate), which no file can store."
        ) from None

    atomic_write_bytes(path, content)


def atomic_write_bytes(path: Path, content: bytes, mode: int = 0o666) -> None:
    """
    Write a file atomically, so that no reader ever sees half of it. A new file gets `mode`, less the umask.

    A symbolic link is kept and its target replaced. Anything but a regular file (``/dev/null``, a pipe) is written to
    directly, because a superuser would otherwise replace it by a file.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return

    remove_abandoned(path.parent.glob(f".{glob.escape(path.name)}.*.part"))
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with create_locked(temporary, mode) as file:
            if path.exists():
                # A file that is not writable must not be replaced either.
                with path.open("ab"):
                    shutil.copymode(path, temporary)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # so that it isn't empty after a power cut
            finish(file, path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def create_locked(path: Path, mode: int = 0o666) -> BinaryIO:
    """Create a file that `remove_abandoned` leaves alone until it is closed, or its process has ended."""
    while True:
        file = open(path, "xb", opener=partial(os.open, mode=mode))  # noqa: SIM115  # the caller closes it
        lock(file, waits=True)
        # Else another process has removed it before it was locked.
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()


def finish(file: BinaryIO, path: Path) -> None:
    """Give a file of `create_locked` its name, while it is locked, and close it."""
    file.flush()
    if sys.platform == "win32":  # where an open file can be neither renamed nor removed
        file.close()
    Path(file.name).replace(path)
    file.close()


def remove_abandoned(paths: Iterable[Path]) -> None:
    """Remove the unfinished files of processes that were killed; where files can't be locked, those of an hour ago."""
    for path in paths:
        with suppress(OSError):
            with open_regular(path) as file:
                age = time.time() - os.fstat(file.fileno()).st_mtime
                is_free = lock(file, waits=False)
                if is_free:
                    path.unlink()
            if is_free is None and age > _STALE_SECONDS:
                path.unlink()


def lock(file: BinaryIO | int, *, waits: bool) -> bool | None:
    """Lock a file or folder until it is closed; return False if another process has, None if it can't be locked."""
    if sys.platform == "win32":
        return None
    import fcntl

    how = fcntl.LOCK_EX
    if not waits:
        how |= fcntl.LOCK_NB
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        return False
    except OSError:
        return None

    return True


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, so that one notebook writes at a time; does nothing where files can't be locked."""
    if sys.platform == "win32":
        yield
        return

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        until = time.monotonic() + _LOCK_SECONDS
        while lock(descriptor, waits=False) is False and time.monotonic() < until:
            time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)

"""
``jupyter funcs enable``: ``%funcs`` in every notebook of an environment, without a ``%load_ext``.

IPython reads ``etc/ipython/ipython_config.json`` of the environment that it runs in, for its kernel and its terminal.
What is loaded stands there under ``extra_extensions``: a list ``extensions`` of a person's own configuration would take
the place of one that stands here. It is this module that is loaded so, and not the package: below a ``%load_ext`` of
what is loaded already IPython writes a line about ``%reload_ext``, and a notebook that works elsewhere has one.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from jupyter_funcs.errors import ConfigError
from jupyter_funcs.text import quote

_EXTENSION = __name__
_SECTION, _LIST = "InteractiveShellApp", "extra_extensions"
_YOUR_OWN = "Use an environment of your own, or write %load_ext jupyter_funcs in the notebook."


def load_ipython_extension(shell: Any) -> None:
    """Load the extension into a shell that starts; a later ``%load_ext jupyter_funcs`` does so again, and is silent."""
    from jupyter_funcs import extension  # noqa: PLC0415  # IPython, which the commands do without

    extension.of(shell).load()


def unload_ipython_extension(shell: Any) -> None:
    """Take it out of the shell."""
    from jupyter_funcs import extension  # noqa: PLC0415  # as above

    extension.of(shell).unload()


def config_file() -> Path:
    """Give the file that the IPython of this environment reads; it need not be there."""
    return Path(sys.prefix) / "etc" / "ipython" / "ipython_config.json"


def enable() -> bool:
    """
    Have IPython load the extension in this environment.

    Returns
    -------
    bool
        ``False`` when it does so already.

    Raises
    ------
    ConfigError
        The file is not to be read or written, or is no configuration.
    """
    path = config_file()
    before = _content(path)
    config = _read(path, before)
    if _EXTENSION in _listed(path, config):
        return False
    with _said(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if before is not None:
            _replace(_kept(path), before, path)
        _replace(path, _with_ours(config), path)
    return True


def disable() -> bool:
    """
    Put back what stood there before `enable`, byte for byte; what was changed since then is kept.

    Returns
    -------
    bool
        ``False`` when IPython does not load it.

    Raises
    ------
    ConfigError
        As `enable`.
    """
    path, kept = config_file(), _kept(config_file())
    now = _content(path)
    config = _read(path, now)
    if _EXTENSION not in _listed(path, config):
        return False
    before = _content(kept)
    with _said(path):
        if before is not None and now == _with_ours(_read(kept, before)):
            _replace(path, before, path)
        elif left := _without_ours(config):
            _replace(path, _written(left), path)
        else:
            path.unlink()
        kept.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # others have files there
            path.parent.rmdir()
    return True


def _kept(path: Path) -> Path:
    return path.with_name(f"{path.name}.before-{__package__}")


def _content(path: Path) -> bytes | None:
    with _said(path, "read"):
        return path.read_bytes() if path.exists() else None


def _read(path: Path, content: bytes | None) -> dict[str, Any]:
    if content is None or not content.strip():
        return {}
    try:
        config = json.loads(content)
    except ValueError as error:
        raise ConfigError(f"{quote(path, 200)} is no JSON: {error}.", "Mend it, or move it away.") from None
    if not isinstance(config, dict):
        raise ConfigError(f"{quote(path, 200)} holds no configuration.", "Mend it, or move it away.")
    return config


def _listed(path: Path, config: dict[str, Any]) -> list[Any]:
    section = config.get(_SECTION, {})
    names = section.get(_LIST, []) if isinstance(section, dict) else None
    if not isinstance(names, list):
        raise ConfigError(f"{_SECTION}.{_LIST} in {quote(path, 200)} is no list.", "Mend it, or move the file away.")
    return names


def _with_ours(config: dict[str, Any]) -> bytes:
    section = config.get(_SECTION, {})
    return _written(config | {_SECTION: section | {_LIST: [*section.get(_LIST, []), _EXTENSION]}})


def _without_ours(config: dict[str, Any]) -> dict[str, Any]:
    section = dict(config[_SECTION])
    section[_LIST] = [name for name in section[_LIST] if name != _EXTENSION]
    if not section[_LIST]:
        del section[_LIST]
    return {name: value for name, value in (config | {_SECTION: section}).items() if name != _SECTION or value}


def _written(config: dict[str, Any]) -> bytes:
    return f"{json.dumps(config, indent=2, ensure_ascii=False)}\n".encode()


def _replace(path: Path, content: bytes, like: Path) -> None:
    """Write a file whole or not at all, with the permissions of another; through a link, the file that it leads to."""
    path = path.resolve()
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        if like.exists():
            shutil.copymode(like, name)
        else:
            Path(name).chmod(0o644)  # everybody who uses the environment reads it
        Path(name).replace(path)
    except BaseException:  # an interrupt too: no half-written file stays
        Path(name).unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _said(path: Path, what: str = "written") -> Any:
    try:
        yield
    except OSError as error:
        raise ConfigError(f"{quote(path, 200)} cannot be {what}: {error.strerror}.", _YOUR_OWN) from None

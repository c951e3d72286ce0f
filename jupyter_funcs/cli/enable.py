"""
``jupyter funcs enable``: load ``%funcs`` in every notebook of an environment, without ``%load_ext``.

IPython reads ``etc/ipython/ipython_config.json`` of its environment, for kernels and terminals. The extension goes into
``extra_extensions``, because a user's own ``extensions`` list would replace one in this file.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from jupyter_funcs.core.errors import ConfigError
from jupyter_funcs.core.files import atomic_write_bytes, read_small
from jupyter_funcs.core.text import quote

_EXTENSION = "jupyter_funcs.autoload"
_SECTION, _LIST = "InteractiveShellApp", "extra_extensions"


def config_file() -> Path:
    """Return the configuration file of this environment's IPython, which may not exist."""
    return Path(sys.prefix) / "etc" / "ipython" / "ipython_config.json"


def enable() -> bool:
    """Make IPython load the extension in this environment; return whether that changed anything."""
    path = config_file()
    before = _content(path)
    config = _parsed(path, before)
    if _EXTENSION in _extensions(path, config):
        return False
    with _named_error(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if before is not None:
            atomic_write_bytes(_backup(path), before, path.stat().st_mode & 0o777)
        atomic_write_bytes(path, _enabled(config))
    return True


def disable() -> bool:
    """Restore the file as it was before `enable`, byte for byte; if it was edited since, remove only our entry."""
    path = config_file()
    backup, now = _backup(path), _content(path)
    config = _parsed(path, now)
    if _EXTENSION not in _extensions(path, config):
        return False
    before = _content(backup)
    with _named_error(path):
        if before is not None and now == _enabled(_parsed(backup, before)):
            atomic_write_bytes(path, before)
        elif rest := _disabled(config):
            atomic_write_bytes(path, _json(rest))
        else:
            path.unlink()
        backup.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # the folder may hold files of others
            path.parent.rmdir()
    return True


def _backup(path: Path) -> Path:
    return path.with_name(f"{path.name}.before-jupyter_funcs")


def _content(path: Path) -> bytes | None:
    with _named_error(path, "read"):
        return read_small(path) if path.exists() else None


def _parsed(path: Path, content: bytes | None) -> dict[str, Any]:
    if content is None or not content.strip():
        return {}
    try:
        config = json.loads(content)
    except ValueError as error:
        raise ConfigError(f"{quote(path, 200)} isn't valid JSON: {error}.", "Fix it or move it away.") from None
    if not isinstance(config, dict):
        raise ConfigError(f"{quote(path, 200)} isn't a JSON object.", "Fix it or move it away.")
    return config


def _extensions(path: Path, config: dict[str, Any]) -> list[Any]:
    section = config.get(_SECTION, {})
    names = section.get(_LIST, []) if isinstance(section, dict) else None
    if not isinstance(names, list):
        what = f"{_SECTION}.{_LIST} in {quote(path, 200)} isn't a list."
        raise ConfigError(what, "Fix it or move the file away.")
    return names


def _enabled(config: dict[str, Any]) -> bytes:
    section = config.get(_SECTION, {})
    return _json(config | {_SECTION: section | {_LIST: [*section.get(_LIST, []), _EXTENSION]}})


def _disabled(config: dict[str, Any]) -> dict[str, Any]:
    names = [name for name in config[_SECTION][_LIST] if name != _EXTENSION]
    section = {name: value for name, value in config[_SECTION].items() if name != _LIST}
    section |= {_LIST: names} if names else {}
    return {name: value for name, value in (config | {_SECTION: section}).items() if name != _SECTION or value}


def _json(config: dict[str, Any]) -> bytes:
    return f"{json.dumps(config, indent=2, ensure_ascii=False)}\n".encode()


@contextlib.contextmanager
def _named_error(path: Path, what: str = "written") -> Any:
    try:
        yield
    except OSError as error:
        hint = "Use an environment of your own, or write %load_ext jupyter_funcs in the notebook."
        raise ConfigError(f"{quote(path, 200)} can't be {what}: {error.strerror}.", hint) from None

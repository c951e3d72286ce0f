"""
``jupyter funcs enable``: load ``%funcs`` in every notebook of an environment, without ``%load_ext``.

IPython reads ``etc/ipython/ipython_config.json`` of its environment, for kernels and terminals. The extension goes into
``extra_extensions``, because a user's own ``extensions`` list would replace one in this file.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from jupyter_funcs.core.errors import ConfigError
from jupyter_funcs.core.files import atomic_write_bytes, named_error, read_small
from jupyter_funcs.core.text import quote

_EXTENSION = "jupyter_funcs.autoload"
_HINT = (
    "Use an environment of your own, or write %load_ext jupyter_funcs in the notebook."
)
_SECTION = "InteractiveShellApp"
_LIST = "extra_extensions"


def config_file() -> Path:
    """Return the configuration file of this environment's IPython, which may not exist."""
    return Path(sys.prefix) / "etc" / "ipython" / "ipython_config.json"


def enable() -> bool:
    """Make IPython load the extension in this environment; return whether that changed anything."""
    path = config_file()
    before, config, names = _read(path)
    if _EXTENSION in names:
        return False
    with named_error(path, _HINT):
        path.parent.mkdir(parents=True, exist_ok=True)
        if before is not None:
            atomic_write_bytes(_backup(path), before, path.stat().st_mode & 0o777)
        atomic_write_bytes(path, _json(_with(config, [*names, _EXTENSION])))

    return True


def disable() -> bool:
    """Restore the file as it was before `enable`, byte for byte; if it was edited since, remove only our entry."""
    path = config_file()
    now, config, names = _read(path)
    if _EXTENSION not in names:
        return False
    before, earlier, others = _read(backup := _backup(path))
    with named_error(path, _HINT):
        if before is not None and now == _json(_with(earlier, [*others, _EXTENSION])):
            atomic_write_bytes(path, before)
        elif rest := _with(config, [name for name in names if name != _EXTENSION]):
            atomic_write_bytes(path, _json(rest))
        else:
            path.unlink()
        backup.unlink(missing_ok=True)
        with suppress(OSError):  # the folder may hold files of others
            path.parent.rmdir()

    return True


def _backup(path: Path) -> Path:
    return path.with_name(f"{path.name}.before-jupyter_funcs")


def _read(path: Path) -> tuple[bytes | None, dict[str, Any], list[Any]]:
    """Return the content of a file, ``None`` if there is none, its configuration, and the extensions in it."""
    with named_error(path, _HINT, "read"):
        content = read_small(path) if path.exists() else None
    config = None
    wrong = "isn't a JSON object"
    try:
        config = json.loads(content) if content and content.strip() else {}
    except ValueError as error:
        wrong = f"isn't valid JSON: {error}"

    if isinstance(config, dict):
        section = config.get(_SECTION, {})
        names = section.get(_LIST, []) if isinstance(section, dict) else None
        if isinstance(names, list):
            return content, config, names
        wrong = f"has a {_SECTION}.{_LIST} that isn't a list"

    raise ConfigError(f"{quote(path, 200)} {wrong}.", "Fix it or move it away.")


def _with(config: dict[str, Any], names: list[Any]) -> dict[str, Any]:
    """Return a configuration with these extensions, without an empty list or section."""
    section = config.get(_SECTION, {}) | {_LIST: names}
    if not names:
        del section[_LIST]
    changed = config | {_SECTION: section}
    if not section:
        del changed[_SECTION]
    return changed


def _json(config: dict[str, Any]) -> bytes:
    return f"{json.dumps(config, indent=2, ensure_ascii=False)}\n".encode()

"""The functions a user marked as favourites, in a small file, and those used recently."""

from __future__ import annotations

import errno
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jupyter_funcs.core.files import atomic_write_text, read_small
from jupyter_funcs.core.json_decoding import read_object, texts_in

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_funcs.core.errors import Messages

_MOST_RECENT = 5
_MOST_FAVOURITES = 50


@dataclass
class Favourites:
    """The favourite and recent functions of one service, by wire name."""

    _service: str
    _path: Path
    recent: list[str] = field(default_factory=list)
    trouble: str = ""
    _names: list[str] | None = None

    @property
    def names(self) -> list[str]:
        """The favourites, in the order in which they were marked."""
        if self._names is None:
            self._names = self._read().get(self._service, [])
        return list(self._names)

    def add_recent(self, name: str) -> None:
        """Put a function first among the recent ones."""
        others = [other for other in self.recent if other != name]
        self.recent = [name, *others][:_MOST_RECENT]

    def mark(self, name: str, *, is_favourite: bool) -> None:
        """Add a function to the favourites, or remove it."""
        before = self.names
        was_lost = bool(self.trouble)
        self.trouble = ""
        # Read the file again: another notebook may have changed it.
        favourites = self._read()
        if not was_lost and not self.trouble:
            before = favourites.get(self._service, [])
        self._names = [other for other in before if other != name]
        if is_favourite:
            self._names = [*self._names, name][-_MOST_FAVOURITES:]
        if not self.trouble:
            self._write({**favourites, self._service: self._names})

    def _read(self) -> Messages:
        """Return the favourites by service; none if the file is missing, broken or not ours, or can't be read."""
        try:
            content = read_object(read_small(self._path))
        except OSError as error:
            # It must not be replaced.
            if error.errno not in {
                errno.ENOENT,
                errno.ENOTDIR,
                errno.EFBIG,
            }:
                self._lose(error)
            return {}

        return {
            service: texts_in(names)[:_MOST_FAVOURITES]
            for service, names in content.items()
            if isinstance(names, list)
        }

    def _write(self, favourites: Messages) -> None:
        text = json.dumps(
            {service: names for service, names in favourites.items() if names}, indent=1
        )
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write_text(self._path, text)
        except OSError as error:
            self._lose(error)

    def _lose(self, error: OSError) -> None:
        self.trouble = f"Favourites are lost when this kernel ends: {error.strerror or type(error).__name__}."

"""Which functions a person used lately and which they marked, by wire name; the marks are kept in a small file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from jupyter_funcs.files import replace

if TYPE_CHECKING:
    from pathlib import Path

_MOST_RECENT = 5
_MOST_FAVOURITES = 50
_LARGEST_FILE = 1024 * 1024  # bytes; whatever is larger is not ours


class Shelf:
    """
    The recent and the favourite functions of one service.

    Parameters
    ----------
    service
        The name or the address under which the favourites are kept.
    path
        The file they are kept in, with those of other services; it need not exist, nor be one that can be written.

    Attributes
    ----------
    recent
        The functions used lately, the last one first; in memory only.
    trouble
        Why the favourites are in memory only, in words; empty while they are kept.
    """

    def __init__(self, service: str, path: Path) -> None:
        self._service = service
        self._path = path
        self.recent: list[str] = []
        self.trouble = ""
        self._favourites: list[str] | None = None

    @property
    def favourites(self) -> list[str]:
        """The marked functions, in the order in which they were marked; read on first use."""
        if self._favourites is None:
            self._favourites = self._kept().get(self._service, [])
        return list(self._favourites)

    def use(self, name: str) -> None:
        """Put a function before the others that were used lately."""
        self.recent = [name, *(other for other in self.recent if other != name)][:_MOST_RECENT]

    def mark(self, name: str, *, is_favourite: bool) -> None:
        """Make a function a favourite, or one no longer."""
        # What is kept may have changed since: another notebook has its own shelf on the same file.
        kept = self._kept()
        before = self.favourites if self.trouble else kept.get(self._service, [])
        others = [other for other in before if other != name]
        self._favourites = [*others, name][-_MOST_FAVOURITES:] if is_favourite else others
        self._keep({**kept, self._service: self._favourites})

    def _kept(self) -> dict[str, list[str]]:
        """Read the file; one that is absent, broken or someone else's holds no favourites."""
        try:
            if self._path.stat().st_size > _LARGEST_FILE:
                return {}
            read = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(read, dict):
            return {}
        return {
            service: [name for name in names if isinstance(name, str)][:_MOST_FAVOURITES]
            for service, names in read.items()
            if isinstance(names, list)
        }

    def _keep(self, favourites: dict[str, list[str]]) -> None:
        written = json.dumps({service: names for service, names in favourites.items() if names}, indent=1)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            replace(self._path, written)
        except OSError as error:
            self.trouble = f"Favourites end with this kernel: {error.strerror or type(error).__name__}."
        else:
            self.trouble = ""

"""The line below a field that says where its values come from, and asks for them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets as w

from jupyter_funcs.widgets import synced

if TYPE_CHECKING:
    from jupyter_funcs.sources import Source


class SourceLine(w.Button):  # type: ignore[misc]  # ipywidgets has no types
    """
    A button that the style sheet shows as a link.

    Parameters
    ----------
    source
        What it speaks of.
    at
        The field's number in the form, for the style sheet.
    """

    def __init__(self, source: Source, at: int) -> None:
        self._source = source
        super().__init__(
            **_traits(source),
            tooltip="List them again",
            keys=synced(w.Button),
            _dom_classes=("jf-line", f"jf-at-{at}"),
        )

    def show(self) -> None:
        """Say how it stands now."""
        with self.hold_sync():  # one message
            for trait, value in _traits(self._source).items():
                setattr(self, trait, value)


def _traits(source: Source) -> dict[str, Any]:
    can_ask = not (source.asking or source.missing)
    return {"description": source.line, "disabled": not can_ask, "icon": "refresh" if can_ask else ""}

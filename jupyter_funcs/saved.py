"""What a panel leaves in the saved notebook: the last result as HTML, hidden while the panel itself is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ipywidgets as w

from jupyter_funcs import keeping
from jupyter_funcs.stored import left_html, reopen_html

if TYPE_CHECKING:
    from typing import Any

    from jupyter_funcs.outcome import Outcome
    from jupyter_funcs.parts import Parts


class Saved(w.HTML):  # type: ignore[misc]  # ipywidgets has no types
    """
    The panel's part of the saved notebook; as a widget, the style that hides it on the page of a panel that is there.

    There are two outputs: writing to the one that holds the panel's view would make the view anew, and take the focus
    from whoever types.
    """

    def __init__(self, parts: Parts) -> None:
        super().__init__(layout=parts.layout)
        self._is_put = False

    @property
    def _mark(self) -> str:
        return f"jf-left-{self.model_id}"

    def html(self, name: str, outcome: Outcome | None) -> str:
        """Say how to get the panel back, and give its last result."""
        return reopen_html(name) + ("" if outcome is None else left_html(outcome, self._mark))

    def put(self, bundle: dict[str, Any], name: str, outcome: Outcome | None) -> None:
        """Show the panel, whose mime types these are, and below it what the notebook keeps."""
        self.value = f"<style>.{self._mark} {{ display: none; }}</style>"
        keeping.show({**bundle, "text/html": reopen_html(name)})
        left = f'<div class="{self._mark}"></div>' if outcome is None else left_html(outcome, self._mark)
        keeping.leave(left, self._mark)
        self._is_put = True

    def leave(self, outcome: Outcome) -> None:
        """Let the notebook keep this result in place of the one before; any thread may."""
        if self._is_put:
            keeping.leave(left_html(outcome, self._mark), self._mark, again=True)

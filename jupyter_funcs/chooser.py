"""The catalog as a list to choose a function from, by group and by search."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from jupyter_funcs.text import clip, inert, quote

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_funcs.catalog import Catalog

    Guard = Callable[[Callable[[Any], None]], Callable[..., None]]

_MOST_LISTED = 500
_HEADING = ""  # stands for a slug; not None, which ipywidgets takes for no option at all


class Chooser(w.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """
    The catalog as a list by group, with a search above it.

    Parameters
    ----------
    catalog
        Gives the catalog as it is now.
    on_choice
        Called with the slug of the function that a person chose.
    guard
        Wraps a callback, so that what it raises is seen.
    """

    def __init__(self, catalog: Callable[[], Catalog], on_choice: Callable[[str], None], guard: Guard) -> None:
        self._catalog = catalog
        self._on_choice = on_choice
        self._chosen: str | None = None
        self._by_program = False
        wide = w.Layout(width="auto")
        self._words = w.Text(placeholder="Search functions, Enter opens", tooltip="Search functions", layout=wide)
        self._words.add_class("jf-search")
        self._list = w.Select(rows=15, index=None, layout=wide)
        self._list.add_class("jf-list")
        self._count = w.HTML()
        super().__init__([self._words, self._list, self._count], layout=w.Layout(flex="0 0 250px", margin="0 18px 0 0"))
        self._words.observe(guard(lambda _: self.list_functions()), "value")
        self._words.on_msg(guard(self._on_message))
        self._list.observe(guard(self._on_index), "index")
        self.list_functions()

    def choose(self, slug: str) -> None:
        """Mark a function as the chosen one, where the list holds it."""
        self._chosen = slug
        self._set(lambda: None)

    def list_functions(self) -> None:
        """List the functions that the search finds, below the headings of their groups."""
        catalog = self._catalog()
        found = catalog.search(self._words.value)
        groups: dict[str, list[tuple[str, str]]] = {}
        for function in found[:_MOST_LISTED]:
            # No-break spaces set the functions in below their heading.
            row = (f"\u00a0\u00a0{clip(inert(function.name), 80)}", catalog.slug(function))
            groups.setdefault(function.group, [(clip(inert(function.group), 80), _HEADING)]).append(row)
        options = [row for rows in groups.values() for row in rows]
        self._set(lambda: setattr(self._list, "options", options))
        said = f"{len(found):,} function{'s' * (len(found) != 1)}"
        if len(found) > _MOST_LISTED:
            said += f", the first {_MOST_LISTED} listed: search for more"
        if not found:
            said = f"No function has {quote(self._words.value)}." if self._words.value else "Your catalog is empty."
        self._count.value = f'<div class="jf-quiet">{html.escape(said)}</div>'

    def _set(self, change: Callable[[], None]) -> None:
        """Change the list, and put its mark where it belongs, without taking either for a choice."""
        self._by_program = True
        try:
            change()
            at = (at for at, (_, slug) in enumerate(self._list.options) if slug == self._chosen)
            self._list.index = next(at, None)
        finally:
            self._by_program = False

    def _on_message(self, message: Any) -> None:
        # Enter opens the first function found: JupyterLab takes the arrow keys of a list for itself.
        first = next((slug for _, slug in self._list.options if slug != _HEADING), None)
        if message.get("event") == "submit" and first is not None:
            self._chosen = first
            self._on_choice(first)

    def _on_index(self, change: Any) -> None:
        at, before = change["new"], change["old"]
        if self._by_program or at is None:
            return
        slug = self._list.options[at][1]
        if slug == _HEADING:  # go on in the direction of the arrow key
            upwards = before is not None and before > at > 0
            self._list.index = at - 1 if upwards else at + 1
        else:
            self._chosen = slug
            self._on_choice(slug)

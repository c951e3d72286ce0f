"""The catalog as a list to choose a function from: by group, by search, favourites and recent ones on top."""

from __future__ import annotations

import asyncio
import html
from typing import TYPE_CHECKING

import ipywidgets as w

from jupyter_funcs.catalog.listing import Catalog
from jupyter_funcs.core import background
from jupyter_funcs.core.text import clip, inert, quote
from jupyter_funcs.panel.shared.parts import Parts, Writing, hide, on_settled_enter, status_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from jupyter_funcs.catalog.listing import Function
    from jupyter_funcs.panel.shared.parts import Guard
    from jupyter_funcs.records.favourites import Favourites

# A browser is sent at most so many functions; the search is for the others.
_MOST_LISTED = 300
_MOST_ROWS = 15
_LONGEST_NAME = 80
_HEADING = ""  # stands for a slug; not None, which ipywidgets takes for no option at all
_FAVOURITES, _RECENT = "★ Favourites", "Recent"
_CHOOSE = "Choose a function to see its form."
_EMPTY = "No functions are shared with you yet. Ask for one to be shared with you, or publish one, and press Refresh."
_NOT_LISTED = "The functions could not be listed; the reason stands above. Press Refresh to try again."


class Chooser(w.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """
    The catalog as a list by group, with a search above it.

    Favourites and what was used lately stand above the groups; a search lists what it finds, names first.
    """

    def __init__(
        self,
        catalog: Callable[[], Catalog | None],
        favourites: Favourites,
        on_choice: Callable[[str], None],
        guard: Guard,
        parts: Parts,
    ) -> None:
        self._catalog = catalog
        self._favourites = favourites
        self._on_choice = on_choice
        self._chosen: str | None = None
        self._prepared: Catalog | None = None  # the catalog whose search is made ready
        self._entered: str | None = None  # the words with which Enter was pressed last
        self._section = ""  # where the chosen one was clicked: it may stand in several
        self._sections: list[str] = []  # of each row
        self._writing = Writing()
        # The CSS hides both labels from the eye and leaves them to those who listen.
        self._words = w.Text(
            description="Search functions",
            placeholder="Search functions, Enter opens",
            tooltip="Words of a name, a description or a parameter; Enter opens the first, Enter again the next",
            layout=parts.layout,
            _dom_classes=("jf-search",),
        )
        self._list = w.Select(description="Functions", index=None, layout=parts.layout, _dom_classes=("jf-list",))
        self._count = parts.html()
        below = [self._words, self._list, self._count]
        super().__init__(below, layout=parts.layout, _dom_classes=("jf-chooser",))
        self._words.observe(guard(lambda _: self.list_functions()), "value")
        on_settled_enter(self._words, guard(lambda _: self._choose_next()))
        self._list.observe(guard(self._on_index), "index")
        self.list_functions()

    @property
    def invitation(self) -> str:
        """What a person can do while nothing is chosen, in words."""
        catalog = self._catalog()
        return _NOT_LISTED if catalog is None else _CHOOSE if len(catalog) else _EMPTY

    def choose(self, slug: str | None) -> None:
        """Mark a function as the chosen one, where the list holds it."""
        self._chosen = slug
        self._mark()

    def use(self, name: str) -> None:
        """Put a function before the others that were used lately."""
        if self._favourites.recent[:1] != [name]:
            self._favourites.add_recent(name)
            self.list_functions()

    def list_functions(self) -> None:
        """List the functions that the search finds, below the headings of their groups."""
        known = self._catalog()
        catalog = Catalog(()) if known is None else known
        if catalog is not self._prepared and len(catalog) > _MOST_LISTED:
            # Else the first key stroke waits for it: 0.1 s with 10,000 functions.
            self._prepared = catalog
            background.start(asyncio.to_thread(getattr, catalog, "search_texts"))
        found = catalog.search(self._words.value)
        rows: list[tuple[str, str]] = []
        self._sections = []
        for section, functions in self._grouped(catalog, found):
            rows.append((clip(inert(section), _LONGEST_NAME), _HEADING))
            # No-break spaces set the functions in below their heading.
            rows += [(f"\u00a0\u00a0{clip(inert(each.name), _LONGEST_NAME)}", catalog.slug(each)) for each in functions]
            self._sections += [section] * (len(functions) + 1)
        with self._list.hold_sync():  # one message, and no moment in which the first row is the chosen one
            with self._writing:
                self._list.options = rows
            self._list.rows = max(2, min(_MOST_ROWS, len(rows)))
            self._mark()
        said = [self._said(known, len(found)), self._favourites.trouble]
        text = ". ".join(filter(None, said))
        self._count.value = status_html(html.escape(text))

    def _grouped(self, catalog: Catalog, found: list[Function]) -> Iterator[tuple[str, list[Function]]]:
        if not self._words.value.strip():
            favourites = self._favourites.names
            recent = [name for name in self._favourites.recent if name not in favourites]
            for section, names in ((_FAVOURITES, favourites), (_RECENT, recent)):
                # What is no longer in the catalog is kept among the favourites, and not shown.
                near = [catalog.peek(name) for name in names]
                functions = [each for each in near if each is not None and each.name in names]
                if functions:
                    yield section, functions
        groups: dict[str, list[Function]] = {}
        for function in found[:_MOST_LISTED]:
            groups.setdefault(function.group, []).append(function)
        yield from groups.items()

    def _said(self, catalog: Catalog | None, found: int) -> str:
        if not catalog:  # not listed, or empty
            return "Functions are not listed" if catalog is None else "Your catalog is empty"
        if not found:
            return f"No function has {quote(self._words.value)}"
        said = f"{found:,} function{'s' * (found != 1)}"
        return said if found <= _MOST_LISTED else f"{said}, the first {_MOST_LISTED} listed: search for more"

    def _mark(self) -> None:
        """Put the mark at the chosen function, in the section where it was clicked if it stands there."""
        places = [at for at, (_, slug) in enumerate(self._list.options) if slug == self._chosen]
        clicked = (at for at in places if self._sections[at] == self._section)
        with self._writing:
            self._list.index = next(clicked, places[0] if places else None)

    def _choose_next(self) -> None:
        """Open the first function, and with the same words the next one: JupyterLab keeps a list's arrow keys."""
        at, is_again = self._list.index, self._words.value == self._entered
        self._entered = self._words.value
        places = [place for place, (_, slug) in enumerate(self._list.options) if slug != _HEADING]
        later = [place for place in places if is_again and at is not None and place > at]
        if places:
            self._choose_at((later or places)[0])

    def _on_index(self, change: Any) -> None:
        at, before = change["new"], change["old"]
        if self._writing or at is None:
            return
        if self._list.options[at][1] == _HEADING:  # go on in the direction of the arrow key
            upwards = before is not None and before > at > 0
            self._list.index = at - 1 if upwards else at + 1
        else:
            self._choose_at(at)

    def _choose_at(self, at: int) -> None:
        self._section, slug = self._sections[at], self._list.options[at][1]
        try:
            if slug != self._chosen:  # it may stand in two sections
                self._on_choice(slug)
        finally:
            self._mark()


class Star(w.Button):  # type: ignore[misc]  # ipywidgets has no types
    """A button that makes the shown function a favourite, and says whether it is one."""

    def __init__(self, favourites: Favourites, on_change: Callable[[], None], guard: Guard, parts: Parts) -> None:
        super().__init__(layout=parts.layout, _dom_classes=("jf-star",))
        hide(self)
        self._favourites = favourites
        self._on_change = on_change
        self._name = ""
        self.on_click(guard(lambda _: self._turn()))

    def show(self, name: str) -> None:
        """Show whether this function is a favourite; no button without a name."""
        self._name = name
        is_favourite = name in self._favourites.names
        with self.hold_sync():
            self.description = "★ Favourite" if is_favourite else "☆ Favourite"
            self.tooltip = "Take it out of your favourites" if is_favourite else "Put it among your favourites"
        hide(self, hidden=not name)

    def _turn(self) -> None:
        self._favourites.mark(self._name, is_favourite=self._name not in self._favourites.names)
        self.show(self._name)
        self._on_change()

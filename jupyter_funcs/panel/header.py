"""The panel's first line: which service, who asks, how many functions, how long the token lasts; and Refresh."""

from __future__ import annotations

import asyncio
import html
import math
import re
from importlib import resources
from typing import TYPE_CHECKING

import ipywidgets as w

from jupyter_funcs.client.status import ends_in
from jupyter_funcs.core import background
from jupyter_funcs.core.errors import FuncsError
from jupyter_funcs.core.text import clip, inert, listed
from jupyter_funcs.frames.display import LABEL_WIDTH, bad_html, title_html
from jupyter_funcs.panel.chooser import Star
from jupyter_funcs.panel.preset_bar import PresetBar
from jupyter_funcs.panel.shared.parts import hide, is_hidden, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from jupyter_funcs.catalog.form import Form
    from jupyter_funcs.catalog.listing import Catalog, Function
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.client.status import Status
    from jupyter_funcs.panel.shared.outcome import PanelSession
    from jupyter_funcs.panel.shared.parts import Guard, Parts


_MOST_NAMED = 3
_LONGEST_NAME = 60


class Head(w.HBox):  # type: ignore[misc]  # ipywidgets has no types
    """The line of a connection, with a button that lists its functions again."""

    def __init__(self, session: PanelSession, on_refresh: Callable[[], None], guard: Guard, parts: Parts) -> None:
        self._session = session
        self._on_refresh = on_refresh
        self._status: Status | None = None
        self._said = ""
        self.reading: Future[None] | None = None
        self.refreshing: Future[None] | None = None
        self._line = parts.html("jf-line")
        on_click = guard(lambda _: self.refresh())
        self._button = parts.button(
            "Refresh", "jf-refresh", on_click, icon="refresh", tooltip="List the functions again"
        )
        look = parts.html()
        look.value = _look_html()
        super().__init__([look, self._line, self._button], layout=parts.layout, _dom_classes=("jf-head",))
        self._show()

    def look(self) -> None:
        """Show in the background how long the token lasts now: its source may be a command that takes seconds."""
        self._show()
        is_reading = self.reading is not None and not self.reading.done()
        # Where nothing is listed the status would list it, which just failed.
        if self._session.listed is not None and self.comm is not None and not is_reading:
            self.reading = background.start(self._look())

    def refresh(self) -> None:
        """List the functions again in the background, and say what has changed."""
        if self._button.disabled:
            return
        self._session.ready()
        self._button.disabled = True
        self._say("Listing the functions…")
        self.refreshing = background.start(self._refresh())

    def say_failed(self, error: BaseException) -> None:
        """Say why the functions could not be listed."""
        self._say(bad_html(lines_of(error)), is_html=True)

    async def _look(self) -> None:
        self._status = await asyncio.to_thread(self._session.status)
        self._show()

    async def _refresh(self) -> None:
        before = self._session.listed
        try:
            await asyncio.to_thread(self._session.refresh)
            if self.comm is None:  # closed meanwhile
                return
            self._on_refresh()
            self._say(changes(before, self._session.catalog))
        except Exception as error:  # noqa: BLE001  # an exception on the loop is seen by nobody
            self.say_failed(error)
        finally:
            self._button.disabled = False
        self.look()

    def _say(self, said: str, *, is_html: bool = False) -> None:
        self._said = said if is_html else html.escape(said)
        self._show()

    def _show(self) -> None:
        """Write the line; what is known only with the token stands there once the token is there."""
        if self.comm is None:  # closed meanwhile
            return
        session, status = self._session, self._status
        known = session.listed
        parts = [
            html.escape(clip(inert(session.service), _LONGEST_NAME)),
            '<span class="jf-badge">synthetic data</span>' if session.synthetic else "",
            html.escape(clip(inert(status.user), _LONGEST_NAME)) if status else "",
            "functions not listed" if known is None else f"{len(known):,} function{'s' * (len(known) != 1)}",
            f"token {ends_in(status.ends)}" if status and not math.isinf(status.ends) else "",
        ]
        facts = [f'<span class="jf-fact">{part}</span>' for part in parts if part]
        line = ' <span aria-hidden="true">·</span> '.join(facts)
        trouble = bad_html(status.trouble.splitlines()) if status and status.trouble else ""
        said = "<br>".join(filter(None, [trouble, self._said]))
        self._line.value = f'<div class="jf-quiet">{line}</div><div class="jf-said" role="status">{said}</div>'


def changes(before: Catalog | None, after: Catalog) -> str:
    """Say in words how one listing differs from the one before: which functions are new, gone, or otherwise."""
    if before is None:
        return ""
    was, now = _by_name(before), _by_name(after)
    added = [name for name, functions in now.items() for _ in functions[len(was.get(name, ())) :]]
    removed = [name for name, functions in was.items() for _ in functions[len(now.get(name, ())) :]]
    changed = [name for name, functions in now.items() if name in was and not _alike(functions, was[name])]
    said = [
        f"{len(names):,} {what} ({_named(names)})"
        for what, names in (("added", added), ("removed", removed), ("changed", changed))
        if names
    ]
    return f"Listed again: {', '.join(said) if said else 'nothing has changed'}."


def listed_again(function: RemoteCall) -> RemoteCall | None:
    """Give a function as it is listed now, with the same options: itself where nothing changed; ``None`` if gone."""
    catalog = function.session.listed
    if catalog is None:
        return None
    by_slug, by_name = catalog.peek(function.slug), catalog.peek(function.name)
    found = next((each for each in (by_slug, by_name) if each is not None and each.name == function.name), None)
    if found is None:
        return None
    slug = catalog.slug(found)
    if _alike([found], [function.function]) and slug == function.slug:
        return function
    now = function.session[slug].with_options()
    now.options = function.options
    return now


def taken_over(form: Form, function: RemoteCall) -> Form:
    """Give a form of a function that is listed otherwise by now, with the values of its earlier form."""
    known = {field.name for field in function.fields}
    return function.form(**{name: value for name, value in form.values.items() if name in known})


# JupyterLab and Notebook take a letter or an arrow key that is pressed on a list or a button for one of their own: two
# times D deletes the cell. They respect this attribute, which is there for such keys alone: Ctrl-S still saves.
_KEYS = (
    "if(!window.jfKeys){window.jfKeys=true;window.addEventListener('keydown',e=>{const t=e.target;"
    "if(t.closest&&t.closest('.jf-panel'))t.toggleAttribute('data-lm-suppress-shortcuts',"
    "!e.ctrlKey&&!e.metaKey&&!e.altKey&&!['Enter','Escape','Tab'].includes(e.key))},true)}"
)


def _look_html() -> str:
    css = resources.files(__package__).joinpath("panel.css").read_text("utf-8")
    style = f".jf-panel {{ --jf-label: {LABEL_WIDTH}; }}\n{re.sub(r'/[*].*?(?:[*]/|$)', '', css, flags=re.DOTALL)}"
    return f'<style onload="{html.escape(_KEYS)}">{style}</style><b class="jf-name">Functions</b>'


def _by_name(catalog: Catalog) -> dict[str, list[Function]]:
    functions: dict[str, list[Function]] = {}  # two may have one name
    for each in catalog:
        functions.setdefault(each.name, []).append(each)
    return functions


def _alike(some: list[Function], others: list[Function]) -> bool:
    """Say whether functions are the same but for their places; those of another number were added or removed."""
    return len(some) != len(others) or all(
        one == other or one == other.model_copy(update={"sort_value": one.sort_value})
        for one, other in zip(some, others, strict=True)
    )


def _named(names: list[str]) -> str:
    shown = [clip(inert(name), _LONGEST_NAME) for name in names[:_MOST_NAMED]]
    return listed([*shown, "others"] if len(names) > _MOST_NAMED else shown, "and")


_GONE = "This function is no longer in your catalog. What you entered is kept; it can come back with a Refresh."


class Heading(w.HBox):  # type: ignore[misc]  # ipywidgets has no types
    """What stands above a form."""

    def __init__(self, session: PanelSession, on_star: Callable[[], None], guard: Guard, parts: Parts) -> None:
        self._presets = session.presets
        self._guard = guard
        self._parts = parts
        self._shown: tuple[RemoteCall, Form] | None = None
        self.title = parts.html()
        self.star = Star(session.favourites, on_star, guard, parts)
        self.fold = parts.button(
            "Presets",
            "jf-open-presets",
            guard(lambda _: self._turn()),
            tooltip="Fill the form with values that were saved, or save these",
        )
        hide(self.fold)
        self.bar: PresetBar | None = None
        super().__init__([self.title, self.fold, self.star], layout=parts.layout, _dom_classes=("jf-heading",))

    def invite(self, invitation: str) -> None:
        """Say what can be done while no function is chosen."""
        self.title.value = f'<div class="jf-quiet">{html.escape(invitation)}</div>'

    def show(self, function: RemoteCall, form: Form) -> None:
        """Say which function is shown, and whether it is still listed; offer its presets where there are some."""
        about = function.function.description or ("" if function.fields else "It takes no parameters.")
        gone = "" if listed_again(function) else bad_html([_GONE])
        self.title.value = title_html(function.name, about, "changes data" * function.function.changes_data) + gone
        self.star.show(function.name)
        self._shown = function, form
        hide(self.fold, hidden=not function.fields)
        if self._has_some(function):
            self._unfold()
        elif self.bar is not None:
            hide(self.bar)

    def follow(self) -> None:
        """Show which preset the form holds by now."""
        if self.bar is not None and not is_hidden(self.bar):
            self.bar.follow()

    def _has_some(self, function: RemoteCall) -> bool:
        try:
            return bool(function.fields and self._presets.names(function.name))
        except FuncsError:  # a broken file is told of when a person asks for presets
            return False

    def _turn(self) -> None:
        if self.bar is None or is_hidden(self.bar):
            self._unfold()
        else:
            hide(self.bar)

    def _unfold(self) -> None:
        if self._shown is None:
            return
        if self.bar is None:
            self.bar = PresetBar(self._presets, *self._shown, self._guard, self._parts)
            self.children = [self.title, self.fold, self.star, self.bar]
        self.bar.show(*self._shown)
        hide(self.bar, hidden=False)

"""The reply of a run as it came: a page of it, which one, and what is searched."""

from __future__ import annotations

import asyncio
import html
from typing import TYPE_CHECKING

import ipywidgets as w

from jupyter_funcs.core import background
from jupyter_funcs.frames.display import bad_html
from jupyter_funcs.panel.result.json_view import JsonReply, path_text
from jupyter_funcs.panel.shared.parts import hide, lines_of

if TYPE_CHECKING:
    from jupyter_funcs.panel.result.json_view import Page
    from jupyter_funcs.panel.shared.outcome import Outcome
    from jupyter_funcs.panel.shared.parts import Guard, Parts

_NOT_KEPT = "The reply was not kept: those of more than 64 MiB are not. The table shows what came of it."
_NO_JSON = "There is no reply in JSON: the function returned a table."
_FROM_CACHE = "The result came from the cache, which keeps the table and not the reply."
_OF_MANY = (
    "Each of these runs had a reply of its own, and none was kept: the table shows what came of them. To see one, run "
    "the function with one value for each field."
)
# Seconds without a key stroke after which a search begins.
_PAUSE = 0.2


class JsonTab(w.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """The reply of a run as JSON."""

    def __init__(self, guard: Guard, parts: Parts) -> None:
        self._reply: JsonReply | None = None
        self._page: Page | None = None
        self._firsts: list[int] = []  # where the pages before this one began
        self._number = 0  # of the latest thing that was asked for; what is older is dropped

        layout = parts.layout
        self._words = parts.text("", "jf-json-search", placeholder="Search keys and values", continuous_update=True)
        self._place = parts.dropdown("", "jf-json-place", tooltip="What is gone through")
        self._back = parts.button(
            "Previous",
            "jf-json-back",
            guard(lambda _: self._turn_to(self._firsts[:-1])),
            icon="chevron-left",
            disabled=True,
        )
        self._next = parts.button(
            "Next",
            "jf-json-next",
            guard(lambda _: self._turn_to([*self._firsts, self._page.last if self._page else 0])),
            icon="chevron-right",
            disabled=True,
        )
        self._range, self._html = parts.html(), parts.html()
        controls = [self._words, self._place, self._back, self._next, self._range]
        self._bar = w.HBox(controls, layout=layout, _dom_classes=("jf-bar", "jf-hidden"))
        super().__init__([self._bar, self._html], layout=layout, _dom_classes=("jf-json-tab",))
        self._words.observe(guard(lambda _: self._turn_to([], _PAUSE)), "value")
        self._place.observe(guard(lambda _: self._turn_to([])), "value")

    async def show(self, outcome: Outcome | None) -> None:
        """Show a run; ``None`` empties it. On the background loop, which does all its writes."""
        self._number += 1
        number, self._reply, self._firsts = self._number, None, []
        if outcome is None or outcome.reply is None:
            said = "Run the function to see its reply." if outcome is None else _why_none(outcome)
            hide(self._bar)
            self._html.value = f'<div class="jf-empty">{said}</div>'
            return
        reply = await asyncio.to_thread(JsonReply, outcome.reply)
        if number != self._number:
            return
        options = [(f"{path_text(place)} ({count:,})", at) for at, (place, count) in enumerate(reply.places)]
        self._words.value = ""
        self._place.options = options
        self._place.index = 0
        hide(self._place, hidden=len(options) < 2)
        self._reply = reply
        await self._look_now(number)
        hide(self._bar, hidden=False)

    def _turn_to(self, firsts: list[int], pause: float = 0) -> None:
        if self._reply is not None:
            self._firsts = firsts
            self._number += 1
            background.start(self._look(self._number, pause))

    async def _look(self, number: int, pause: float = 0) -> None:
        try:
            await asyncio.sleep(pause)
            await self._look_now(number)
        except Exception as error:  # noqa: BLE001  # an exception on the loop is seen by nobody
            self._html.value = bad_html(lines_of(error))

    async def _look_now(self, number: int) -> None:
        reply, words = self._reply, self._words.value.strip()
        if reply is None or number != self._number:
            return
        first = self._firsts[-1] if self._firsts else 0
        if words:
            page = await asyncio.to_thread(reply.find, words, first, lambda: number != self._number)
        else:
            page = await asyncio.to_thread(reply.page, reply.places[self._place.index or 0][0], first)
        if number != self._number:
            return
        self._page = page
        self._back.disabled = not self._firsts
        self._next.disabled = page.last >= page.total
        span = f"{page.what} {page.first:,}–{page.last - 1:,} of {page.total:,}" if page.total else f"no {page.what}"
        self._range.value = f'<span class="jf-quiet jf-json-range" role="status">{span}</span>'
        notes = "".join(f'<div class="jf-quiet">{html.escape(said)}</div>' for said in (reply.said, page.said) if said)
        frame = 'class="jf-json jf-scroll" tabindex="0" role="region" aria-label="Reply"'
        self._html.value = f"{notes}<div {frame}>{page.html}</div>"


def _why_none(outcome: Outcome) -> str:
    if outcome.swept:
        return _OF_MANY
    about = outcome.frame.attrs.get("funcs", {})
    return _FROM_CACHE if "cached" in about else _NOT_KEPT if about.get("bytes", 1) else _NO_JSON

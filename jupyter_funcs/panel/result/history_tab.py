"""The runs of the history: run one again, fill the form with its values, or compare it with the result shown."""

from __future__ import annotations

import asyncio
import contextlib
import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import ipywidgets as w
from ipywidgets.widgets.widget_string import HTMLStyle

from jupyter_funcs import loop
from jupyter_funcs.errors import FuncsError
from jupyter_funcs.guard import lines_of
from jupyter_funcs.parts import hide
from jupyter_funcs.run_words import compared_html, line_of, run_html, trouble_with
from jupyter_funcs.view import bad_html

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from jupyter_funcs.guard import Guard
    from jupyter_funcs.outcome import Outcome
    from jupyter_funcs.run import Run
    from jupyter_funcs.session import Session

_MOST_RUNS = 500
_MOST_LINES = 8
_SECOND = 1.0


@dataclass(frozen=True, slots=True)
class HistoryKind:
    """
    What makes the tab for a panel.

    Attributes
    ----------
    session
        Whose runs they are.
    on_fill, on_again
        Called with a run whose values the form is to hold, or that is to run again.
    """

    session: Session
    on_fill: Callable[[Run], object]
    on_again: Callable[[Run], object]
    title: ClassVar[str] = "History"

    @property
    def has_some(self) -> bool:
        """Whether there may be runs to show: some of this kernel, or a file for those of earlier ones."""
        with contextlib.suppress(OSError):  # a folder that may not even be looked at
            return len(self.session.history) > 0 or self.session.history.path.exists()
        return False

    def __call__(self, guard: Guard) -> HistoryTab:
        """Make the tab."""
        return HistoryTab(guard, self)


class HistoryTab(w.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """
    The runs of a session as a list, and what can be done with the one that is chosen.

    Parameters
    ----------
    guard
        Wraps a callback, so that what it raises is seen.
    kind
        Whose runs, and what follows from a press.

    Attributes
    ----------
    comparing
        What the last press of Compare has started.
    """

    def __init__(self, guard: Guard, kind: HistoryKind) -> None:
        self._kind = kind
        self._history = kind.session.history
        self._outcome: Outcome | None = None
        self._earlier: list[Run] | None = None  # of other kernels, where they are kept
        self._runs: dict[str, Run] = {}  # by label, the newest first
        self._seen: list[tuple[str, str]] = []
        self._number = 0  # of the latest comparison; what is older is dropped
        self._busy = False  # while the list is written, which is no choice of a person
        self._watch: Future[None] | None = None
        self.comparing: Future[None] | None = None

        layout, texts, buttons = w.Layout(), HTMLStyle(), w.ButtonStyle()
        self.list = w.Select(
            description="Runs",
            options=[],
            layout=layout,
            style={"description_width": "initial"},
            _dom_classes=("jf-runs",),
        )
        self._about, self._compared = (
            w.HTML(layout=layout, style=texts, _dom_classes=(css_class,)) for css_class in ("jf-run-about", "jf-diff")
        )

        def button(text: str, css_class: str, does: Callable[[Run], object], tooltip: str) -> w.Button:
            made = w.Button(
                description=text,
                tooltip=tooltip,
                layout=layout,
                style=buttons,
                disabled=True,
                _dom_classes=(css_class,),
            )
            made.on_click(guard(lambda _: self._with_chosen(does)))
            return made

        self.again = button("Run again", "jf-again", kind.on_again, "Fill the form with its values and run")
        self.fill = button("Fill the form", "jf-fill", kind.on_fill, "Put its values into the form, and do not run")
        self.compare = button(
            "Compare with the result shown", "jf-compare", self._start, "Which rows were added, removed or changed"
        )
        self._bar = w.HBox([self.again, self.fill, self.compare], layout=layout, _dom_classes=("jf-bar",))
        super().__init__(
            [self.list, self._bar, self._about, self._compared], layout=layout, _dom_classes=("jf-history-tab",)
        )
        self.list.observe(guard(lambda _: self._choose()), "value")

    @property
    def chosen(self) -> Run | None:
        """The run that a person has chosen."""
        return self._runs.get(self.list.value or "")

    async def show(self, outcome: Outcome | None) -> None:
        """Show the runs, to be compared with this one; on the background loop, which does all its writes."""
        if outcome is not self._outcome:
            self._forget()
        self._outcome = outcome
        if self._earlier is None:
            self._earlier = []
            try:
                self._earlier = await asyncio.to_thread(lambda: self._history.earlier)
            except FuncsError as error:
                self._say(bad_html(error.lines))
        self._list()
        self._offer()
        if self._watch is None:
            self._watch = loop.start(self._follow())

    def close(self) -> None:
        """Look no more, and close the models."""
        if self._watch is not None:
            self._watch.cancel()
        super().close()

    async def _follow(self) -> None:
        """Show what is run elsewhere, too: a cell tells no panel."""
        while self.comm is not None:
            await asyncio.sleep(_SECOND)
            try:
                self._list()
            except Exception as error:  # noqa: BLE001  # an exception on the loop is seen by nobody
                self._about.value = bad_html(lines_of(error))

    def _list(self) -> None:
        runs = [*(self._earlier or ()), *self._history.runs][-_MOST_RUNS:][::-1]
        seen = [(run.label, run.status) for run in runs]
        if seen == self._seen or self.comm is None:
            return
        self._seen, chosen = seen, self.list.value
        self._runs = {run.label: run for run in runs}
        self._busy = True
        try:
            with self.list.hold_sync():
                self.list.options = [(line_of(run), run.label) for run in runs]
                self.list.rows = min(max(len(runs), 2), _MOST_LINES)
                self.list.value = chosen if chosen in self._runs else None
        finally:
            self._busy = False
        self._offer()

    def _choose(self) -> None:
        if not self._busy:
            self._forget()
            self._offer()

    def _offer(self) -> None:
        """Say what is known of the chosen run, and offer what can be done with it."""
        run = self.chosen
        hide(self.list, hidden=not self._runs)
        hide(self._bar, hidden=not self._runs)
        self.again.disabled = self.fill.disabled = run is None
        self.compare.disabled = run is None or self._outcome is None or run.status == "running"
        if not self._runs:
            self._about.value = '<div class="jf-empty">Nothing was run yet.</div>'
        elif run is None:
            self._about.value = '<div class="jf-quiet">Choose a run, here or with the arrow keys.</div>'
        else:
            self._about.value = run_html(run)

    def _with_chosen(self, does: Callable[[Run], object]) -> None:
        if (run := self.chosen) is not None:
            try:
                does(run)
            except FuncsError as error:
                self._say(bad_html(error.lines))

    def _start(self, run: Run) -> None:
        outcome = self._outcome
        if outcome is not None:
            self._number += 1
            self._say("Comparing…")
            self.comparing = loop.start(self._differ(run, outcome, self._number))

    async def _differ(self, run: Run, outcome: Outcome, number: int) -> None:
        try:
            frame: Any = await asyncio.to_thread(lambda: run.frame)
            if said := trouble_with(run, frame, outcome):
                shown = f'<div class="jf-quiet">{html.escape(said)}</div>'
            else:
                shown = await asyncio.to_thread(compared_html, run, frame, outcome)
        except Exception as error:  # noqa: BLE001  # an exception on the loop is seen by nobody
            shown = bad_html(lines_of(error))
        if number == self._number:
            self._say(shown)

    def _forget(self) -> None:
        """Take away what was said of another run, or with another result."""
        self._number += 1
        self._say("")

    def _say(self, said: str) -> None:
        self._compared.value = f'<div role="status">{said}</div>' if said else ""

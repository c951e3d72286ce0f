"""The Chart tab: a picture of the frame, and what a person can choose of it."""

from __future__ import annotations

import asyncio
import html
import importlib.util
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from jupyter_funcs.core import background
from jupyter_funcs.core.text import clip
from jupyter_funcs.frames.display import bad_html, code_html
from jupyter_funcs.frames.roles import ChartColumn, has_labels, read
from jupyter_funcs.panel.chart.code import program
from jupyter_funcs.panel.chart.plot import NO_WISH, Plot, Wish, points, suggest
from jupyter_funcs.panel.form.controls import reoffer
from jupyter_funcs.panel.shared.parts import Writing, hide, lines_of

if TYPE_CHECKING:
    from jupyter_funcs.panel.shared.outcome import Outcome
    from jupyter_funcs.panel.shared.parts import Guard, Parts

_EMPTY = "Run the function to see a chart."
_DRAWING = "Drawing the chart…"
_NO_MATPLOTLIB = "A chart needs matplotlib: <code>pip install 'jupyter-funcs[chart]'</code>, then open this tab again."
_LONGEST_OPTION = 60
# By the names of a Wish, in the order of the screen.
_LABELS = {"measure": "Measure", "colour": "Colour by", "x": "Along", "kind": "As", "every": "Points"}
_WIDTHS = ("wide", "narrow")
_KINDS = {"line": "Lines", "bar": "Bars"}


class ChartTab(w.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """A chart of a run's frame, with what it was brought together from, and the code that makes it."""

    def __init__(self, guard: Guard, parts: Parts) -> None:
        self._guard = guard
        self._outcome: Outcome | None = None
        self._columns: list[ChartColumn] = []
        self._wish = NO_WISH
        self._turn = 0  # of what was asked for last
        self._parts = parts
        self._writing = Writing()
        self._choices: dict[str, w.Dropdown] = {}
        self._row = w.HBox(layout=parts.layout, _dom_classes=("jf-chart-choices", "jf-hidden"))
        self._picture = parts.html()
        super().__init__([self._row, self._picture], layout=parts.layout, _dom_classes=("jf-chart",))
        self._say(_EMPTY)

    async def show(self, outcome: Outcome | None) -> None:
        """Show a chart of a run, with what was chosen before where the frame has it; ``None`` empties the tab."""
        self._outcome, self._columns = outcome, []
        if outcome is None:
            self._turn += 1
            self._show_choices(None)
            self._say(_EMPTY)
        elif not _has_matplotlib():
            self._show_choices(None)
            self._picture.value = f'<div class="jf-empty">{_NO_MATPLOTLIB}</div>'
        else:
            if _EMPTY in self._picture.value:  # a chart that is there stays until the new one is
                self._say(_DRAWING)
            await self._draw()

    async def _draw(self) -> None:
        """Draw in the background; of several at once only the one that was asked for last."""
        self._turn += 1
        turn, wish, outcome = self._turn, self._wish, self._outcome
        if outcome is None:
            return
        self._busy(is_busy=True)
        try:
            plot, shown = await asyncio.to_thread(self._make, turn, wish, outcome)
        except Exception as error:  # noqa: BLE001  # an exception on the loop is seen by nobody
            plot, shown = None, f'<div class="jf-empty">{bad_html(_failure(error))}</div>'
        if turn != self._turn or self.comm is None:
            return
        self._show_choices(plot)
        self._picture.value = shown
        self._busy(is_busy=False)

    def _make(self, turn: int, wish: Wish, outcome: Outcome) -> tuple[Plot | None, str]:
        """Give the plot and the HTML that shows it, or a reason that there is none."""
        if turn != self._turn:  # another one was asked for while this one waited for its thread
            return None, ""
        columns = self._columns or read(outcome.frame, outcome.function.function.description or "")
        if turn == self._turn:
            self._columns = columns
        plot = suggest(columns, wish)
        if isinstance(plot, str):
            return None, f'<div class="jf-empty">{html.escape(plot)}</div>'
        return plot, _picture(plot, outcome)

    def _busy(self, *, is_busy: bool) -> None:
        (self._picture.add_class if is_busy else self._picture.remove_class)("jf-old")

    def _say(self, text: str) -> None:
        self._busy(is_busy=False)
        self._picture.value = f'<div class="jf-empty">{html.escape(text)}</div>'

    def _show_choices(self, plot: Plot | None) -> None:
        """Show a control for all of which there is a choice, with what is drawn."""
        choices = {} if plot is None else plot.choices
        with self._writing:
            # Of one colour there is a choice, too: none.
            names = [name for name in _LABELS if len(choices.get(name, ())) > (name != "colour")]
            shown = [self._choice(name, plot) for name in names if plot is not None]
        self._row.children = shown
        hide(self._row, hidden=not shown)

    def _choice(self, name: str, plot: Plot) -> w.Dropdown:
        if name not in self._choices:
            choice = self._parts.dropdown(_LABELS[name], f"jf-chart-{name}")
            choice.observe(self._guard(lambda change: self._on_choice(name, change)), "value")
            self._choices[name] = choice
        choice = self._choices[name]
        reoffer(choice, _options(name, plot))
        choice.value = _chosen(name, plot)
        return choice

    def _on_choice(self, name: str, change: Any) -> None:
        if not self._writing and change["new"] is not None:
            self._wish = replace(self._wish, **{name: change["new"]})
            background.start(self._draw())

    def close(self) -> None:
        """Close the controls that are not on the screen, too."""
        self._turn += 1
        for choice in self._choices.values():
            choice.close()
        super().close()


def _has_matplotlib() -> bool:
    importlib.invalidate_caches()  # it may have been installed a moment ago
    return importlib.util.find_spec("matplotlib") is not None


def _picture(plot: Plot, outcome: Outcome) -> str:
    from jupyter_funcs.panel.chart.drawing import draw

    drawn = points(plot)
    caption = f'<div class="jf-quiet jf-caption" role="status">{html.escape(" ".join(drawn.notes))}</div>'
    code = program(plot, drawn, outcome.variable or "df", labelled=has_labels(outcome.frame))
    # The style sheet shows the one for which there is room.
    both = "".join(f'<div class="jf-{name}">{draw(plot, drawn, narrow=name == "narrow")}</div>' for name in _WIDTHS)
    return f'<div class="jf-picture">{both}</div>{caption}{code_html(code)}'


def _failure(error: Exception) -> list[str]:
    if isinstance(error, ImportError):
        return [
            f"matplotlib is installed but does not work: {clip(str(error))}",
            "Install it again, then restart the kernel.",
        ]
    return lines_of(error)


def _options(name: str, plot: Plot) -> list[tuple[str, str]]:
    values = list(plot.choices[name])
    if name == "kind":
        return [(_KINDS[value], value) for value in values]
    if name == "every":
        return [(f"Mean of each {value}" if value else "Every point", value) for value in values]
    return [("(none)", "")] * (name == "colour") + [(clip(value, _LONGEST_OPTION), value) for value in values]


def _chosen(name: str, plot: Plot) -> str:
    column = {"measure": plot.y, "colour": plot.colour, "x": plot.x}.get(name)
    if name in {"measure", "colour", "x"}:
        return column.name if column else "Rows" if name == "measure" else ""
    return str(getattr(plot, name))

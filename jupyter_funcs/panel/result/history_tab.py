"""The runs of the history: run one again, fill the form with its values, or compare it with the result shown."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import html
from typing import TYPE_CHECKING, Any

import ipywidgets as w
import pandas as pd

from jupyter_funcs.client.snippets import connection
from jupyter_funcs.connection.secrets import redacted_all
from jupyter_funcs.core import background
from jupyter_funcs.core.errors import ArgumentError, FuncsError
from jupyter_funcs.core.text import clip, inert, listed
from jupyter_funcs.frames.diff import CHANGE, diff
from jupyter_funcs.frames.display import bad_html, shape_text, table_html
from jupyter_funcs.panel.result.about_tab import facts_html
from jupyter_funcs.panel.shared.parts import Writing, hide, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from jupyter_funcs.panel.shared.outcome import Outcome
    from jupyter_funcs.panel.shared.parts import Guard, Parts
    from jupyter_funcs.records.history import History
    from jupyter_funcs.records.run import Run


_LONGEST_NAME, _LONGEST_VALUE = 40, 200
_MOST_ITEMS = 20


def line_of(run: Run) -> str:
    """Give a run in one line: number, time, function, what became of it, and the arguments, which may be long."""
    began = run.started.astimezone()
    when = f"{began:%H:%M:%S}" if began.date() == dt.datetime.now().astimezone().date() else f"{began:%Y-%m-%d %H:%M}"
    rows = [f"{run.rows:,} row{'s' * (run.rows != 1)}"] if run.rows is not None else []
    ended = [*rows, f"{run.elapsed:.2f} s"] if run.status == "done" else [run.status]
    failed = [inert(run.error).rstrip(".")] if run.status == "done" and run.error else []
    times = f" {run.runs:,} times" if run.is_sweep else ""
    name = f"{clip(inert(run.function), _LONGEST_NAME)}{times}"
    said = [run.label, when, name, *ended, *failed, inert(run.arguments)]
    return " · ".join(part for part in said if part)


def run_html(run: Run) -> str:
    """Give what is known of a run as a table of facts."""
    facts: list[tuple[str, str]] = [
        (f"Run {run.label}", run.function + (f", {run.runs:,} runs" if run.is_sweep else "")),
        *((f"· {name}", _value(value)) for name, value in run.args.items()),
        ("Started", f"{run.started:%Y-%m-%d %H:%M:%S} UTC"),
    ]
    if run.status == "done":
        facts.append(("Took", f"{run.elapsed:.2f} s"))
        if run.rows is not None:
            held = f", held by {run.variable}" if run.variable else ""
            facts.append(("Result", f"{run.rows:,} row{'s' * (run.rows != 1)}{held}"))
    else:
        facts.append(("Ended", run.status) if run.status != "running" else ("", "running"))
    if run.error:
        facts.append(("Error", run.error))
    return facts_html(facts)


def trouble_with(run: Run, frame: Any, outcome: Outcome) -> str:
    """Say why a run cannot be compared with the result that is shown; empty where it can."""
    if run.function != outcome.function.name:
        return f"Run {run.label} is of {run.function}, and the result shown of {outcome.function.name}."
    if frame is None:
        what = "gave no result" if run.status != "done" else "has a result that is no longer held"
        return f"Run {run.label} {what}: run it again, and compare what it gives then."
    if frame is outcome.frame:
        return f"Run {run.label} gave the result that is shown: choose another one."
    if not isinstance(frame, pd.DataFrame) or not isinstance(outcome.frame, pd.DataFrame):
        return "A dataset in a folder is not compared here: read from it what is to be compared by jf.diff."
    return ""


def compared_html(run: Run, frame: pd.DataFrame, outcome: Outcome) -> str:
    """Say how the earlier of two results differs from the later one: in numbers, and as a table of the rows."""
    is_before = run.started <= outcome.started
    shown = "the result shown"
    names = (f"run {run.label}", shown) if is_before else (shown, f"run {run.label}")
    before, after = (frame, outcome.frame) if is_before else (outcome.frame, frame)
    args = (run.args, outcome.args) if is_before else (outcome.args, run.args)
    said = [f"From {names[0]} to {names[1]}: "]
    if other := _differing(*args):
        said.append(f"other arguments ({other}); ")
    session = connection(outcome.function.session.where)  # a notebook need have none under a name of its own
    held = f"{session}.history.get({run.number if run.label == str(run.number) else run.label!r}).frame"
    pair = (held, outcome.variable or "panel.result()")
    code = f"import jupyter_funcs as jf; jf.diff({', '.join(pair if is_before else pair[::-1])})"
    try:
        changes = diff(before, after)
    except ArgumentError as error:
        hint = f"<br><code>{html.escape(code[:-1])}, keys=[…])</code> compares them by the columns that you name."
        return bad_html([error.what]) + hint
    counts = changes[CHANGE].value_counts()
    kinds = [kind for kind in ("added", "removed", "changed") if kind in counts]
    found = [f"{counts[kind]:,} {kind}" for kind in kinds]
    if not found:
        said.append(f"no difference, {shape_text(after)}.")
        return f'<div class="jf-quiet">{html.escape("".join(said))}</div>'
    rows = f"row{'s' * (counts[kinds[0]] != 1)} {kinds[0]}"  # 3 rows added, 1 removed and 2 changed
    found[0] = found[0].replace(kinds[0], rows)
    said.append(f"{listed(found, 'and')}, of {len(before):,} before and {len(after):,} after.")
    table = f'<div class="jf-scroll" tabindex="0" role="region" aria-label="Differences">{table_html(changes)}</div>'
    all_of_it = f'<div class="jf-quiet"><code>{html.escape(code)}</code> gives these as a DataFrame.</div>'
    return f"<div>{html.escape(''.join(said))}</div>{table}{all_of_it}"


def _differing(before: dict[str, Any], after: dict[str, Any]) -> str:
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return "; ".join(
        f"{clip(inert(name), _LONGEST_NAME)}: {_value(before.get(name))}, then {_value(after.get(name))}"
        for name in names
    )


def _value(value: Any) -> str:
    if value is None:
        return "not sent"
    if not isinstance(value, list):
        return clip(redacted_all(inert(str(value))), _LONGEST_VALUE)
    more = f" and {len(value) - _MOST_ITEMS:,} more" * (len(value) > _MOST_ITEMS)
    return clip(", ".join(_value(item) for item in value[:_MOST_ITEMS]), _LONGEST_VALUE) + more


_MOST_RUNS = 500
_MOST_LINES = 8
_SECOND = 1.0


def has_runs(history: History) -> bool:
    """Say whether there may be runs to show: some of this kernel, or a file for those of earlier ones."""
    with contextlib.suppress(OSError):  # a folder that may not even be looked at
        return len(history) > 0 or history.path.exists()
    return False


class HistoryTab(w.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """The runs of a session as a list, and what can be done with the one that is chosen."""

    def __init__(
        self,
        history: History,
        on_fill: Callable[[Run], object],
        on_again: Callable[[Run], object],
        guard: Guard,
        parts: Parts,
    ) -> None:
        self._history = history
        self._outcome: Outcome | None = None
        self._earlier: list[Run] | None = None  # of other kernels, where they are kept
        self._runs: dict[str, Run] = {}  # by label, the newest first
        self._seen: list[tuple[str, str]] = []
        self._number = 0  # of the latest comparison; what is older is dropped
        self._writing = Writing()
        self._watch: Future[None] | None = None
        self.comparing: Future[None] | None = None

        layout = parts.layout
        self.list = w.Select(
            description="Runs", options=[], layout=layout, style=parts.text_style, _dom_classes=("jf-runs",)
        )
        self._about, self._compared = parts.html("jf-run-about"), parts.html("jf-diff")

        def button(text: str, css_class: str, does: Callable[[Run], object], tooltip: str) -> w.Button:
            on_click = guard(lambda _: self._with_chosen(does))
            return parts.button(text, css_class, on_click, tooltip=tooltip, disabled=True)

        self.again = button("Run again", "jf-again", on_again, "Fill the form with its values and run")
        self.fill = button("Fill the form", "jf-fill", on_fill, "Put its values into the form, and do not run")
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
            self._watch = background.start(self._follow())

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
        with self._writing, self.list.hold_sync():
            self.list.options = [(line_of(run), run.label) for run in runs]
            self.list.rows = min(max(len(runs), 2), _MOST_LINES)
            self.list.value = chosen if chosen in self._runs else None
        self._offer()

    def _choose(self) -> None:
        if not self._writing:
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
            self.comparing = background.start(self._differ(run, outcome, self._number))

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

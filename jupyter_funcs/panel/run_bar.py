"""Run, Cancel and Clear, and the line that says how a run goes and ends."""

from __future__ import annotations

import html
import threading
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from jupyter_funcs.core.progress import SweepProgress
from jupyter_funcs.core.text import clip, inert, listed, size_text
from jupyter_funcs.frames.display import bad_html
from jupyter_funcs.panel.form.controls import reoffer
from jupyter_funcs.panel.shared.parts import hide, lines_of
from jupyter_funcs.sweeps.messages import going_html

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jupyter_funcs.catalog.form import Form
    from jupyter_funcs.client.jobs import Job
    from jupyter_funcs.panel.shared.parts import Guard, Parts


_NONE = ""  # not None, which ipywidgets takes for no option at all
_LONGEST = 60
_ABOUT = "Give a field several values: the function runs once for each of them, and gives one table"


class EachBar(w.HBox):  # type: ignore[misc]  # ipywidgets has no types
    """Which fields have several values."""

    def __init__(self, on_choice: Callable[[list[str]], object], guard: Guard, parts: Parts) -> None:
        self._on_choice = on_choice
        self._guard = guard
        self._parts = parts
        self._lock = threading.RLock()
        self._each: list[str] = []
        self._tags: dict[str, w.Button] = {}
        self._box = parts.dropdown("Run for each", "jf-each-field", tooltip=_ABOUT, options=[("", _NONE)])
        self._box.observe(guard(self._choose), "value")
        super().__init__([self._box], layout=parts.layout, _dom_classes=("jf-each", "jf-hidden"))

    def show(self, fields: Sequence[str], each: Sequence[str]) -> None:
        """Offer these fields, of which some have several values."""
        first = ("another field…" if each else "choose a field…", _NONE)
        with self._lock:  # a person's choice and the news of a list both show what there is
            before, self._each = self._each, list(each)
            reoffer(self._box, [first, *((_shown(name), name) for name in fields if name not in each)])
            if before != self._each:
                gone, self._tags = self._tags, {name: self._tag(name) for name in each}
                self.children = [self._box, *self._tags.values()]
                for button in gone.values():
                    button.close()
            hide(self, hidden=not fields)

    def _tag(self, name: str) -> w.Button:
        # The style sheet shows the title with a cross in place of these words, which are what is read out.
        says = f"One value for {_shown(name)} again"
        return self._parts.button(says, "jf-tag", self._guard(lambda _: self._end(name)), tooltip=_shown(name))

    def _choose(self, change: Any) -> None:
        if name := change["new"]:
            self._box.value = _NONE
            self._on_choice([*self._each, name])

    def _end(self, name: str) -> None:
        self._on_choice([other for other in self._each if other != name])
        self._box.focus()  # the button that had the keyboard is gone


def _shown(name: str) -> str:
    return clip(inert(name), _LONGEST)


class RunBar(w.HBox):  # type: ignore[misc]  # ipywidgets has no types
    """The buttons of a run."""

    def __init__(  # noqa: PLR0913, PLR0917  # what each of them does
        self,
        on_run: Callable[[], object],
        on_cancel: Callable[[], object],
        on_clear: Callable[[], object],
        on_each: Callable[[list[str]], object],
        guard: Guard,
        parts: Parts,
    ) -> None:
        def button(text: str, does: Callable[[], object], **traits: Any) -> w.Button:
            return parts.button(text, f"jf-{text.lower()}", guard(lambda _: does()), **traits)

        self.run = button("Run", on_run, icon="play", button_style="primary")
        self.cancel = button("Cancel", on_cancel, icon="stop", disabled=True)
        self.clear = button("Clear", on_clear, tooltip="Clear every field")
        self.each = EachBar(on_each, guard, parts)
        inside = [self.run, self.cancel, self.clear, self.each]
        super().__init__(inside, layout=parts.layout, _dom_classes=("jf-actions", "jf-hidden"))

    def show(self, *, running: bool, valid: bool, runs: int, fields: Sequence[str], each: Sequence[str]) -> None:
        """Offer what can be done: a run of a valid form while nothing runs, a cancel of what does, a clear."""
        self.run.disabled = running or not valid
        self.run.description = f"Run {runs:,} times" if valid and runs != 1 else "Run"
        self.cancel.disabled = not running
        self.clear.disabled = not fields
        self.each.show(fields, each)
        hide(self, hidden=False)


class StateLine(w.HTML):  # type: ignore[misc]  # as above
    """How a run goes and ends, in words; also as attributes, for tests and for any program that reads the page."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(layout=parts.layout)
        self.show("idle", "", 0)

    def show(self, state: str, said: str, number: int) -> None:
        """Say how it stands."""
        # A clock that ticks is read out by nobody; what it ends with is.
        role = 'role="timer" aria-live="off"' if state == "running" else 'role="status"'
        attributes = f'{role} data-state="{state}" data-run="{number}"'
        self.value = f'<div class="jf-status" {attributes}>{said}</div>'


def running_html(job: Job, name: str) -> str:
    """Say how far a run has come; with the function's name where another one is on the screen."""
    if isinstance(job.progress, SweepProgress):
        return going_html(job.progress, job.elapsed, name)
    received = job.progress.received
    came = f" · {size_text(received)} so far" if received else ""
    return html.escape(f"Running{f' {name}' if name else ''}… {job.elapsed:.0f} s{came}")


def problem_html(error: BaseException, request_id: str = "", cleaned: Callable[[str], str] = str) -> str:
    """Give an error in one to three lines, and below, to unfold, of which kind it is and what led to it."""
    lines = [cleaned(line) for line in lines_of(error)]
    chain: list[str] = []
    seen: BaseException | None = error
    while seen is not None and len(chain) < 10:
        chain.append(f"{type(seen).__name__}: {cleaned(' '.join(lines_of(seen)))}")
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    if request_id:
        chain.append(f"Request id: {request_id}")
    details = html.escape("\n".join(chain))
    folded = f'<details class="jf-details"><summary>Details</summary><pre>{details}</pre></details>'
    # What to do next is no alarm.
    hints = "".join(f"<br>{html.escape(line)}" for line in lines[1:])
    return bad_html(lines[:1]) + hints + folded


def refusal_html(form: Form, errors: dict[str, list[str]]) -> str:
    """Give the texts that belong to no field, and how many fields have one of their own."""
    own = {field.name for field in form.fields}
    lines = [text for name, texts in errors.items() if name not in own for text in texts]
    named = [name for name in errors if name in own]
    if named:
        lines.append(f"Not run: look at {listed(named, 'and')}.")
    return bad_html(lines)

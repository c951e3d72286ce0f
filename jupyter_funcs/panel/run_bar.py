"""Run, Cancel and Clear, and the line that says how a run goes and ends."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from jupyter_funcs.each_bar import EachBar
from jupyter_funcs.guard import lines_of
from jupyter_funcs.parts import hide
from jupyter_funcs.progress import SweepProgress
from jupyter_funcs.sweep_words import going_html
from jupyter_funcs.text import listed
from jupyter_funcs.view import bad_html

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jupyter_funcs.forms import Form
    from jupyter_funcs.guard import Guard
    from jupyter_funcs.jobs import Job
    from jupyter_funcs.parts import Parts


class RunBar(w.HBox):  # type: ignore[misc]  # ipywidgets has no types
    """
    The buttons of a run.

    Parameters
    ----------
    on_run, on_cancel, on_clear
        What they do.
    on_each
        Called with the fields that are to have several values.
    guard
        Wraps a callback, so that what it raises is seen.
    parts
        What they are made of.
    """

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
        """
        Offer what can be done: a run of a valid form while nothing runs, a cancel of what does, a clear.

        Parameters
        ----------
        running, valid
            Whether a run goes on, and whether another could.
        runs
            How many that would be.
        fields, each
            The form's fields, and those of them that have several values.
        """
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
        """
        Say how it stands.

        Parameters
        ----------
        state
            ``idle``, ``running``, ``done``, ``failed``, ``cancelled`` or ``invalid``.
        said
            The same in words, as HTML.
        number
            Of the panel's run, from 1.
        """
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


def size_text(size: int) -> str:
    """Give a number of bytes in words: ``1.2 MB``."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:,.1f} {unit}"
    return f"{size} byte{'s' * (size != 1)}"


def problem_html(error: BaseException, request_id: str = "", cleaned: Callable[[str], str] = str) -> str:
    """
    Give an error in one to three lines, and below, to unfold, of which kind it is and what led to it.

    Parameters
    ----------
    error
        What was raised.
    request_id
        What the service calls the request, where it said so.
    cleaned
        Takes the token out of a text.
    """
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


def summary_html(summary: str) -> str:
    """Say what a form lacks for a run; read out when it changes."""
    return f'<div class="jf-summary" role="status">{html.escape(summary)}</div>'


def refusal_html(form: Form, errors: dict[str, list[str]]) -> str:
    """Give the texts that belong to no field, and how many fields have one of their own."""
    own = {field.name for field in form.fields}
    lines = [text for name, texts in errors.items() if name not in own for text in texts]
    named = [name for name in errors if name in own]
    if named:
        lines.append(f"Not run: look at {listed(named, 'and')}.")
    return bad_html(lines)
